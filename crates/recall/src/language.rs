//! Languages: which one a text is in, told by its small words, and what remains of a word there (stemming).

use waken_snowball::SnowballEnv;
use waken_snowball::algorithms::{
    dutch_stemmer, english_stemmer, french_stemmer, german_stemmer, italian_stemmer, portuguese_stemmer,
    russian_stemmer, spanish_stemmer, swedish_stemmer,
};

use crate::fold::fold;
use crate::words::{Word, border, words};

/// How much of a text is looked at.
const SAMPLE: usize = 800;
/// No small word is longer, in bytes.
const LONGEST: usize = 5;

/// A language whose words are stemmed. Texts in others are indexed too, mostly as their words stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[allow(missing_docs)]
pub enum Language {
    #[default]
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Russian,
}

/// Small words by which languages show, in order, each with a bit for each language that has it: English the lowest, the others
/// in the order of [`Language::ALL`].
const SMALL: [(&str, u8); 113] = [
    ("and", 1),
    ("are", 1),
    ("att", 128),
    ("auf", 2),
    ("av", 128),
    ("avec", 4),
    ("ce", 4),
    ("che", 16),
    ("com", 32),
    ("come", 16),
    ("como", 8),
    ("con", 24),
    ("da", 32),
    ("dans", 4),
    ("das", 2),
    ("dat", 64),
    ("de", 108),
    ("del", 24),
    ("della", 16),
    ("dem", 2),
    ("den", 130),
    ("der", 2),
    ("des", 4),
    ("det", 128),
    ("di", 16),
    ("die", 2),
    ("do", 32),
    ("du", 4),
    ("een", 64),
    ("ein", 2),
    ("eine", 2),
    ("el", 8),
    ("em", 32),
    ("en", 200),
    ("es", 8),
    ("est", 4),
    ("et", 4),
    ("ett", 128),
    ("for", 1),
    ("för", 128),
    ("für", 2),
    ("gli", 16),
    ("have", 1),
    ("het", 64),
    ("ich", 2),
    ("ik", 64),
    ("il", 16),
    ("inte", 128),
    ("is", 65),
    ("ist", 2),
    ("it", 1),
    ("jag", 128),
    ("je", 68),
    ("la", 28),
    ("las", 8),
    ("le", 4),
    ("les", 4),
    ("los", 8),
    ("ma", 16),
    ("mas", 32),
    ("med", 128),
    ("met", 64),
    ("mi", 24),
    ("mit", 2),
    ("nicht", 2),
    ("niet", 64),
    ("no", 40),
    ("non", 16),
    ("not", 1),
    ("não", 32),
    ("o", 32),
    ("och", 128),
    ("of", 1),
    ("op", 64),
    ("os", 32),
    ("para", 40),
    ("pas", 4),
    ("per", 16),
    ("pero", 8),
    ("por", 40),
    ("pour", 4),
    ("på", 128),
    ("que", 44),
    ("qui", 4),
    ("se", 8),
    ("sie", 2),
    ("som", 128),
    ("sono", 16),
    ("sur", 4),
    ("te", 64),
    ("that", 1),
    ("the", 1),
    ("this", 1),
    ("to", 1),
    ("um", 32),
    ("uma", 32),
    ("un", 20),
    ("una", 24),
    ("und", 2),
    ("une", 4),
    ("van", 64),
    ("você", 32),
    ("von", 2),
    ("voor", 64),
    ("vous", 4),
    ("was", 1),
    ("wie", 2),
    ("with", 1),
    ("you", 1),
    ("zijn", 64),
    ("zu", 2),
    ("är", 128),
    ("è", 16),
];

impl Language {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Swedish,
        Self::Russian,
    ];

    /// The language that `text` seems to be in; English where nothing tells.
    pub fn guess(text: &str) -> Self {
        let mut guess = Guess::of(text);
        words(&text[..guess.until], &mut |word| guess.see(&word));
        guess.best()
    }

    /// Appends the term that a word (in lower case) becomes: its stem, without accents.
    pub fn term(self, word: &str, term: &mut String) {
        if word.len() < 3 || !word.chars().all(char::is_alphabetic) {
            word.chars().for_each(|letter| fold(letter, term));
            return;
        }
        let mut env = SnowballEnv::create(word);
        match self {
            Self::English => english_stemmer::stem(&mut env),
            Self::German => german_stemmer::stem(&mut env),
            Self::French => french_stemmer::stem(&mut env),
            Self::Spanish => spanish_stemmer::stem(&mut env),
            Self::Italian => italian_stemmer::stem(&mut env),
            Self::Portuguese => portuguese_stemmer::stem(&mut env),
            Self::Dutch => dutch_stemmer::stem(&mut env),
            Self::Swedish => swedish_stemmer::stem(&mut env),
            Self::Russian => russian_stemmer::stem(&mut env),
        };
        let before = term.len();
        env.current.chars().for_each(|letter| fold(letter, term));
        if term.len() == before {
            term.push_str(word);
        }
    }
}

/// Small words are counted to tell a text's language, by whoever goes through its words anyway.
pub(crate) struct Guess {
    /// Where the sample ends.
    until: usize,
    /// Whether words that end there may be cut.
    cut: bool,
    seen: [u32; 8],
    cyrillic: u32,
}

impl Guess {
    /// A guess of the language of `text`.
    pub fn of(text: &str) -> Self {
        let until = border(text, SAMPLE);
        Self { until, cut: until < text.len(), seen: [0; 8], cyrillic: 0 }
    }

    /// Looks at a word of the text.
    pub fn see(&mut self, word: &Word<'_>) {
        if word.end > self.until || self.cut && word.end == self.until {
            return;
        }
        if word.text.starts_with(|c| ('а'..='я').contains(&c)) {
            self.cyrillic += 1;
        } else if word.text.len() <= LONGEST
            && let Ok(at) = SMALL.binary_search_by(|(small, _)| (*small).cmp(word.text))
        {
            for (language, count) in self.seen.iter_mut().enumerate() {
                *count += u32::from(SMALL[at].1 >> language & 1);
            }
        }
    }

    /// The language that has the most of the words that were seen; English where nothing tells.
    pub fn best(&self) -> Language {
        let mut best = (Language::English, self.seen[0]);
        for (language, count) in Language::ALL.iter().zip(self.seen) {
            if count > best.1 {
                best = (*language, count);
            }
        }
        if self.cyrillic > best.1 { Language::Russian } else { best.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(language: Language, word: &str) -> String {
        let mut term = String::new();
        language.term(word, &mut term);
        term
    }

    #[test]
    fn words_are_stemmed_and_folded() {
        assert_eq!(term(Language::English, "connections"), "connect");
        assert_eq!(term(Language::German, "häuser"), "haus");
        assert_eq!(term(Language::French, "préférée"), term(Language::French, "préférer"));
        assert_eq!(term(Language::Russian, "книгами"), term(Language::Russian, "книга"));
        assert_eq!(term(Language::English, "c3po"), "c3po");
        assert_eq!(term(Language::English, "ab"), "ab");
    }

    #[test]
    fn languages_are_told_apart() {
        for (text, language) in [
            ("What is the best way to do that?", Language::English),
            ("Wie komme ich mit der Bahn zu dem Hotel und ist das weit?", Language::German),
            ("Je voudrais savoir pourquoi le train est en retard dans les gares", Language::French),
            ("¿Cuál es el mejor libro para aprender a tocar una guitarra con los niños?", Language::Spanish),
            ("Vorrei sapere che cosa non funziona per il mio progetto, sono bloccato", Language::Italian),
            ("Você não sabe o que fazer com uma lista do projeto em português", Language::Portuguese),
            ("Ik weet niet wat het is, maar dat is een van de problemen met voor", Language::Dutch),
            ("Jag vet inte vad det är som är fel på den och att det", Language::Swedish),
            ("Почему поезд опаздывает сегодня?", Language::Russian),
            ("fn main() {}", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(Language::guess(text), language, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_word_has_a_term(word in "\\PC{0,20}|[a-zäöüßéèêçñãõàòåøа-яё]{0,20}") {
            for language in Language::ALL {
                let term = term(language, &word.to_lowercase());
                assert!(word.is_empty() || term.len() <= 4 * word.len());
            }
        }
    }
}
