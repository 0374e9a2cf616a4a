//! Languages: which one a text is in, told by its small words, and what remains of a word there (stemming).

use waken_snowball::SnowballEnv;
use waken_snowball::algorithms::{
    dutch_stemmer, english_stemmer, french_stemmer, german_stemmer, italian_stemmer, portuguese_stemmer,
    russian_stemmer, spanish_stemmer, swedish_stemmer,
};

use super::fold::fold;
use super::words::{border, words};

/// How much of a text is looked at.
const SAMPLE: usize = 1500;

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

/// Small words by which a language shows, between spaces.
const SMALL: [(Language, &str); 8] = [
    (Language::English, " the and is of to that it for you with are this was have not "),
    (Language::German, " der die und das ist nicht ein eine ich sie mit für den dem auf wie zu von "),
    (Language::French, " le les des est et une un dans que pour pas qui je vous avec sur du la de ce "),
    (Language::Spanish, " el los las que es una por con para del en como pero mi la de no se "),
    (Language::Italian, " il che di una per non sono con del della è gli come ma la un mi "),
    (Language::Portuguese, " o os não uma para com que por do da em você mas um de no "),
    (Language::Dutch, " de het een en van niet dat ik je met voor op zijn is te "),
    (Language::Swedish, " och att det är en som på för inte jag med av ett den "),
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
        let sample = &text[..border(text, SAMPLE)];
        let mut seen = [0u32; SMALL.len()];
        let mut cyrillic = 0;
        let mut padded = String::new();
        words(sample, &mut |word| {
            if word.text.starts_with(|c| ('а'..='я').contains(&c)) {
                cyrillic += 1;
            } else if word.text.len() <= 8 && !word.pair {
                padded.clear();
                padded.push(' ');
                padded.push_str(word.text);
                padded.push(' ');
                for ((_, list), count) in SMALL.iter().zip(&mut seen) {
                    *count += u32::from(list.contains(padded.as_str()));
                }
            }
        });
        let mut best = (Self::English, seen[0]);
        for ((language, _), count) in SMALL.iter().zip(seen) {
            if count > best.1 {
                best = (*language, count);
            }
        }
        if cyrillic > best.1 { Self::Russian } else { best.0 }
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
