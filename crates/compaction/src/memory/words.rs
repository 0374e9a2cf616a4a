//! Texts as words, for comparing what is remembered: which words a sentence has, whether it denies them, whether their
//! order matters. Goes in: text in any language. Comes out: [`terms`], or a [`Said`]. No dictionary: what is here is cut
//! for short sentences and errs on the side of calling them different.

use threadkeep_core::sort;

/// Words that carry nothing on their own: two sentences that differ in them only say the same.
const EMPTY: [&str; 20] = [
    "a", "also", "alway", "am", "an", "and", "are", "be", "been", "being", "did", "do", "doe", "is", "it", "of",
    "please", "that", "the", "thi",
];
/// Words that deny, as [`each_word`] gives them.
const DENYING: [&str; 17] = [
    "jamai", "kein", "keine", "keinen", "never", "nicht", "nie", "niemal", "no", "nobody", "none", "nor", "not",
    "nothing", "nunca", "pa", "without",
];
/// Contracted denials as they are left without their apostrophe, with what they deny.
const CONTRACTED: [(&str, &str); 19] = [
    ("arent", ""),
    ("cannot", "can"),
    ("cant", "can"),
    ("couldnt", "could"),
    ("didnt", ""),
    ("doesnt", ""),
    ("dont", ""),
    ("hadnt", "had"),
    ("hasnt", "ha"),
    ("havent", "have"),
    ("isnt", ""),
    ("mustnt", "must"),
    ("neednt", "need"),
    ("shant", "shall"),
    ("shouldnt", "should"),
    ("wasnt", "wa"),
    ("werent", "were"),
    ("wont", "will"),
    ("wouldnt", "would"),
];
/// Words on whose two sides not the same may stand.
const COMPARING: [&str; 14] = [
    "above", "after", "before", "below", "but", "except", "from", "if", "instead", "over", "rather", "than", "to",
    "unless",
];

/// Calls `each` with every word: letters and digits, in lower case, apostrophes left out, a plural's last `s` cut off. Of
/// scripts that do not part words by spaces, with every two neighbouring characters.
pub fn each_word(text: &str, each: &mut dyn FnMut(&str)) {
    let mut word = String::new();
    // The last character, if it was of such a script, and whether it is in a pair already.
    let mut before: Option<(char, bool)> = None;
    for letter in text.chars().chain([' ']) {
        if spaceless(letter) {
            end_word(&mut word, each);
            if let Some((before, _)) = before {
                word.extend([before, letter]);
                each(&word);
                word.clear();
            }
            before = Some((letter, before.is_some()));
            continue;
        }
        if let Some((alone, false)) = before.take() {
            word.push(alone);
            each(&word);
            word.clear();
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        } else if !matches!(letter, '\'' | '’') {
            end_word(&mut word, each);
        }
    }
}

fn end_word(word: &mut String, each: &mut dyn FnMut(&str)) {
    if !word.is_empty() {
        let plural = word.len() > 2 && word.ends_with('s') && !word.ends_with("ss");
        each(if plural { &word[..word.len() - 1] } else { word });
        word.clear();
    }
}

/// Whether a character belongs to a script without spaces between words: kana, Chinese characters, Hangul.
fn spaceless(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

fn is_in(words: &[&str], word: &str) -> bool {
    words.contains(&word)
}

/// The words of a text that carry something, each once, sorted.
///
/// ```
/// use threadkeep_compaction::memory::terms;
/// assert_eq!(terms("The tests: a test of Tests!"), ["test"]);
/// assert_eq!(terms("東京都"), ["京都", "東京"]);
/// ```
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_word(text, &mut |word| {
        if !is_in(&EMPTY, word) {
            terms.push(word.to_owned());
        }
    });
    sort::sort(&mut terms);
    terms.dedup();
    terms
}

/// Whether all words of `part` are in one of `texts`: then it says no word that they do not.
pub fn is_said_in(part: &str, texts: &[&str]) -> bool {
    let wanted = terms(part);
    texts.iter().any(|text| {
        let there = terms(text);
        wanted.iter().all(|word| there.binary_search(word).is_ok())
    })
}

/// A sentence, ready to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its words that carry something and do not deny, in order.
    pub order: Vec<String>,
    /// The same, each once, sorted.
    pub terms: Vec<String>,
    /// Whether it denies them: it has an odd number of denying words.
    pub denies: bool,
    /// Whether the order of its words matters.
    pub compares: bool,
}

impl Said {
    /// Reads a sentence.
    pub fn of(text: &str) -> Self {
        let (mut order, mut denies, mut compares) = (Vec::<String>::new(), false, false);
        let mut after_no = false;
        each_word(text, &mut |word| {
            let contracted = CONTRACTED.iter().find(|(short, _)| *short == word);
            let longer = std::mem::take(&mut after_no) && word == "longer";
            let denying = contracted.is_some() || is_in(&DENYING, word);
            denies ^= denying;
            after_no = word == "no";
            let word = match contracted {
                Some((_, base)) => base,
                None if denying || longer => "",
                None => word,
            };
            if !word.is_empty() && !is_in(&EMPTY, word) {
                compares |= is_in(&COMPARING, word);
                order.push(word.to_owned());
            }
        });
        let mut terms = order.clone();
        sort::sort(&mut terms);
        terms.dedup();
        Self { order, terms, denies, compares }
    }

    /// How many words it has in common with another.
    pub fn common(&self, other: &Self) -> usize {
        self.terms.iter().filter(|word| other.terms.binary_search(word).is_ok()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_case_punctuation_and_plural() {
        let mut words = Vec::new();
        each_word("Don't  STOP: the buses, 3.5 naïve glass", &mut |word| words.push(word.to_owned()));
        assert_eq!(words, ["dont", "stop", "the", "buse", "3", "5", "naïve", "glass"]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(terms("我喜欢茶 tea"), ["tea", "喜欢", "我喜", "欢茶"]);
        assert_eq!(terms("茶, a 茶b"), ["b", "茶"]);
        assert!(is_said_in("喜欢茶", &["我喜欢茶"]) && !is_said_in("喜欢咖啡", &["我喜欢茶"]));
    }

    #[test]
    fn denial_is_told_from_what_it_denies() {
        let (yes, no) = (Said::of("The user can swim."), Said::of("the user can't swim"));
        assert_eq!(yes.terms, no.terms);
        assert!(!yes.denies && no.denies);
        assert!(Said::of("He does not never smoke").terms.contains(&"smoke".to_owned()));
        assert!(!Said::of("not never").denies);
        assert_eq!(Said::of("The user no longer works nights").terms, Said::of("The user works nights").terms);
    }

    #[test]
    fn any_text_can_be_read() {
        for text in ["", "   ", "'’'", "\u{0}", "ａｂ 한국어 𠀀"] {
            let said = Said::of(text);
            assert!(said.terms.len() <= said.order.len());
        }
    }
}
