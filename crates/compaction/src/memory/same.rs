//! Whether two sentences say the same, or contradict each other.
//!
//! **The same** ([`is_same`]): two sentences say the same when, without case, punctuation and empty words such as "the" and "always",
//! neither or both deny and their words are the same, in any order unless a comparing word such as "over" or "than" makes
//! the order matter; or when one has all the other's words and, of at least five, no more than a fifth in addition, none of
//! them a number. Then the known fact gains the sources, the longer wording, and confidence: a quarter of what it lacks, if a source is new.
//!
//! **Contradiction** ([`contradicts`]): a newer sentence contradicts an older one, and takes its place, when
//! 1. it has the same words (two at least), and one of them denies what the other does not: "can swim", "cannot swim"; or
//! 2. it has the same words with two of them changed over about "over", "than", "instead" or "rather": "tabs over spaces",
//!    "spaces over tabs"; or
//! 3. it is the same but for one value of up to three words, in a place that holds one value at a time: after "is", "are", "has", "=",
//!    ":", "costs" or "takes" at most three words before, where both values hold a digit, or both are days or months; or, of
//!    names, after "is" or "are" with an attribute before it ("the database is …", "the user's name is …"), or after
//!    "lives in", "works at", "named", "set to" and the like.
//!
//! Nothing else contradicts: "likes tea" and "likes coffee" both hold. What becomes of two facts of which one contradicts the other is
//! `merge`'s.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use super::Fact;
use super::words::Said;

/// How many words a sentence has at least that says the same with fewer.
const FEWEST: usize = 5;

/// How many words a sentence may have that says the same as one of `length` without having the same words.
pub(super) fn may_be_same_length(length: usize) -> RangeInclusive<usize> {
    // The fewer words are four fifths of the others at least.
    let most = if length * 5 >= FEWEST * 4 { length * 5 / 4 } else { length };
    let least = if length >= FEWEST { length * 4 / 5 } else { length };
    least..=most
}

/// Whether two sentences say the same, by the rule above.
pub fn is_same(a: &Said, b: &Said) -> bool {
    if a.denies != b.denies || ((a.compares || b.compares) && a.order != b.order) {
        return false;
    }
    if a.terms == b.terms {
        return true;
    }
    let (small, large) = if a.terms.len() < b.terms.len() { (a, b) } else { (b, a) };
    let all = large.terms.len();
    let more = |word: &&String| small.terms.binary_search(word).is_err();
    all >= FEWEST
        && small.common(large) == small.terms.len()
        && small.terms.len() * 5 >= all * 4
        && !large.terms.iter().filter(more).any(|word| has_digit(word))
}

/// Whether the newer sentence contradicts the older one, by the rule above.
pub fn contradicts(newer: &str, older: &str) -> bool {
    let (said, other) = (Said::of(newer), Said::of(older));
    denied(&said, &other) || turned(&said, &other) || (said.denies == other.denies && other_value(newer, older))
}

pub(super) fn contradicted(older: &Fact, other: &Said, newer: &str, said: &Said) -> bool {
    denied(said, other) || turned(said, other) || (said.denies == other.denies && other_value(newer, &older.fact))
}

fn denied(a: &Said, b: &Said) -> bool {
    a.denies != b.denies && a.terms.len() >= 2 && a.terms == b.terms && (!a.compares || a.order == b.order)
}

fn turned(a: &Said, b: &Said) -> bool {
    if a.denies != b.denies || a.order.len() != b.order.len() || a.terms != b.terms {
        return false;
    }
    let other: Vec<usize> = (0..a.order.len()).filter(|&at| a.order[at] != b.order[at]).collect();
    let [left, right] = other.as_slice() else { return false };
    let compares = |word: &String| matches!(word.as_str(), "over" | "than" | "instead" | "rather");
    a.order[*left] == b.order[*right] && a.order[*left..*right].iter().any(compares)
}

/// Rule 3: the same but for one value, in a place that holds one at a time.
fn other_value(newer: &str, older: &str) -> bool {
    let (a, b) = (tokens(newer), tokens(older));
    let same = |(a, b): (&&str, &&str)| a.to_lowercase() == b.to_lowercase();
    let front = a.iter().zip(&b).take_while(|pair| same((pair.0, pair.1))).count();
    let rest = a.len().min(b.len()) - front;
    let back = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|pair| same((pair.0, pair.1))).count();
    let (before, one, two) = (&a[..front], &a[front..a.len() - back], &b[front..b.len() - back]);
    if !(1..=3).contains(&one.len()) || !(1..=3).contains(&two.len()) {
        return false;
    }
    let before: Vec<String> = before.iter().map(|word| word.to_lowercase()).collect();
    holds_one(&before).any(|kind| kind.takes(one) && kind.takes(two))
}

/// What can stand in a place that holds one value at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Value {
    Number,
    Day,
    Name,
}

impl Value {
    fn takes(self, run: &[&str]) -> bool {
        match self {
            Self::Number => run.iter().any(|word| has_digit(word)),
            Self::Day => run.iter().any(|word| is_day_or_month(word)),
            Self::Name => run.iter().all(|word| word.chars().next().is_some_and(|c| !c.is_lowercase())),
        }
    }
}

/// The kinds of values of which one at a time stands after `before` (in lower case).
fn holds_one(before: &[String]) -> impl Iterator<Item = Value> {
    let near = &before[before.len().saturating_sub(3)..];
    let near = near.iter().rposition(|word| is_one_of(HOLDS, word)).map(|at| before.len() - near.len() + at);
    let last = before.len().checked_sub(1);
    let attribute = near.filter(|at| Some(*at) == last && is_one_of("is are = :", &before[*at]));
    let attribute = attribute.and_then(|at| before.get(at.checked_sub(1)?));
    let placed = last.is_some_and(|last| {
        is_one_of("named called =", &before[last])
            || last >= 1
                && PLACES.iter().any(|(verb, word)| before[last - 1] == *verb && is_one_of(word, &before[last]))
    });
    let named = placed || attribute.is_some_and(|word| is_one_of(ATTRIBUTES, word));
    let counted = near.is_some_and(|at| at > 0);
    let kinds = [(counted, Value::Number), (counted, Value::Day), (named, Value::Name)];
    kinds.into_iter().filter(|(holds, _)| *holds).map(|(_, kind)| kind)
}

/// A value in a place that holds one at a time. Sentences of which one contradicts the other by rule 3 have a key in common.
pub(super) struct Place {
    /// What stands around the value, and what kind of value it is.
    pub(super) key: u64,
    /// The value's first word.
    pub(super) first: u64,
    /// Its last.
    pub(super) last: u64,
}

/// All values of a sentence that stand in places which hold one at a time.
pub(super) fn places(text: &str) -> Vec<Place> {
    let words = tokens(text);
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let hashes: Vec<u64> = lower.iter().map(hash).collect();
    // What stands before each place, and behind it.
    let step = |sum: u64, word: &u64| hash((sum, word));
    let mut behind = vec![0; words.len() + 1];
    for at in (0..words.len()).rev() {
        behind[at] = step(behind[at + 1], &hashes[at]);
    }
    let (mut found, mut front) = (Vec::new(), 0);
    for start in 0..words.len() {
        for kind in holds_one(&lower[..start]) {
            for end in start + 1..=words.len().min(start + 3) {
                if kind.takes(&words[start..end]) {
                    let key = hash((front, behind[end], kind));
                    found.push(Place { key, first: hashes[start], last: hashes[end - 1] });
                }
            }
        }
        front = step(front, &hashes[start]);
    }
    found
}

/// Words after which one value stands at a time.
const HOLDS: &str = "is are has have = : costs takes";
/// Verbs and the words behind them that are followed by one name at a time.
const PLACES: [(&str, &str); 8] = [
    ("lives", "in"),
    ("live", "in"),
    ("based", "in at"),
    ("born", "in on"),
    ("works", "at for"),
    ("work", "at for"),
    ("set", "to"),
    ("changed", "to"),
];
/// What a thing has one of.
const ATTRIBUTES: &str = "address backend birthday birthplace boss branch city company country database db deadline default \
    editor email employer encoding engine format framework home hometown host hostname job language library licence \
    license location manager model name nickname owner password phone port provider region server shell status surname \
    timezone title tool url username version zone";

fn is_one_of(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

fn has_digit(word: &str) -> bool {
    word.chars().any(char::is_numeric)
}

fn is_day_or_month(word: &str) -> bool {
    let word = word.to_lowercase();
    is_one_of(
        "monday tuesday wednesday thursday friday saturday sunday january february march april june july august \
         september october november december",
        &word,
    )
}

/// The words as they are written, without the punctuation around them; `=` and `:` are words of their own.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for word in text.split_whitespace() {
        let colon = word.len() > 1 && word.ends_with(':');
        let around =
            |c: char| c.is_ascii_punctuation() && !matches!(c, '=' | '/' | '-' | '_' | '~' | '#' | '@' | '$' | '%');
        let bare = word.trim_matches(around);
        if !bare.is_empty() {
            tokens.push(bare);
        }
        if colon {
            tokens.push(":");
        }
    }
    tokens
}

/// A number for a value, the same in every run.
pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_order_case_and_punctuation_is_the_same() {
        let same = |a: &str, b: &str| is_same(&Said::of(a), &Said::of(b));
        assert!(same("The user prefers dark mode.", "user prefers DARK mode"));
        assert!(same("Dark mode is preferred", "preferred: dark mode!"));
        assert!(same("Always use pnpm, please", "use pnpm"));
        assert!(same(
            "The build script must run the linter first",
            "The build script must run the linter first everywhere"
        ));
        assert!(!same("The user prefers tabs over spaces", "The user prefers spaces over tabs"));
        assert!(!same("The user likes tea", "The user doesn't like tea"));
        assert!(!same("The user likes tea", "The user likes coffee"));
        assert!(!same("The build script must run the linter", "The build script must run the linter 3"));
        assert!(!same("Use vitest", "Use vitest later"));
    }

    #[test]
    fn what_denies_or_names_another_value_contradicts() {
        for (newer, older) in [
            ("The user cannot swim", "The user can swim."),
            ("The user no longer works at night", "The user works at night"),
            ("Don't commit to main", "Commit to main"),
            ("The user prefers spaces over tabs", "The user prefers tabs over spaces"),
            ("The deadline is Monday.", "The deadline is Friday."),
            ("The default port is 9090", "The default port is 8080"),
            ("Port: 9090", "Port: 8080"),
            ("The user's name is Bo", "The user's name is Anna Lee"),
            ("The database is SQLite", "The database is Postgres"),
            ("The user lives in Rome", "the user lives in Oslo"),
            ("The user has 3 cats", "The user has 2 cats"),
            ("The meeting with Bo is at 11:00", "The meeting with Bo is at 10:00"),
        ] {
            assert!(contradicts(newer, older), "{newer} / {older}");
            assert!(contradicts(older, newer), "{older} / {newer}");
        }
    }

    #[test]
    fn what_can_both_hold_does_not_contradict() {
        for (newer, older) in [
            ("The user likes tea", "The user likes coffee"),
            ("The user is German", "The user is Catholic"),
            ("The parser is fast", "The parser is written in Rust"),
            ("The user visited Rome", "The user visited Oslo"),
            ("Version 2 is fast", "Version 3 is fast"),
            ("The user has a meeting at 10", "The user has a meeting at 11"),
            ("The user bought 2 apples", "The user bought 3 apples"),
            ("PR #12 is merged", "PR #13 is merged"),
            ("No", "Yes"),
            ("", "The user can swim"),
            ("The project uses npm", "The project uses Yarn"),
            ("The user prefers dark mode", "The user prefers short answers"),
            ("is 3", "is 4"),
        ] {
            assert!(!contradicts(newer, older), "{newer} / {older}");
        }
    }
}
