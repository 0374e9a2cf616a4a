//! Queries: words, `"phrases"`, `begin*`, and `-what` must not be there. What comes again is looked for once, and a query has at most
//! [`MOST_WORDS`] words, so that a search costs no more than so many words do, however long the query is.

use std::collections::HashSet;

use crate::forms::others;
use crate::language::Language;
use crate::times::times;
use crate::words::words;

/// A query, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// What is looked for, each thing once.
    pub clauses: Vec<Clause>,
    /// How many different words the query has. Those after the first [`MOST_WORDS`] are not looked for.
    pub words: usize,
    /// The times that the query names, each from (in) and to (out), in seconds since 1970.
    pub times: Vec<(i64, i64)>,
    language: Language,
}

/// How many words of a query are looked for. A phrase counts each of its words.
pub const MOST_WORDS: usize = 256;

/// One thing that is looked for: words in a row, most often one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Clause {
    /// The words, in order.
    pub slots: Vec<Slot>,
    /// Documents without it are not found. Phrases and beginnings are required, words are not.
    pub required: bool,
    /// Documents with it are not found.
    pub excluded: bool,
}

/// A place in a clause: a word, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The word in lower case.
    pub word: String,
    /// How many positions it lies behind the clause's first.
    pub offset: u32,
    /// Whether words that only begin so are meant too.
    pub prefix: bool,
    /// Whether forms of the word are meant that no stemmer joins, as `went` and `go` are: not in phrases, nor where it is excluded.
    pub forms: bool,
    pair: bool,
}

impl Query {
    /// Reads a query. There is none that cannot be read; a quote that does not end goes to the end.
    ///
    /// ```
    /// use threadkeep_recall::Query;
    /// let query = Query::parse("rust \"borrow checker\" life* -java");
    /// assert_eq!(query.clauses.len(), 4);
    /// assert!(!query.clauses[0].required && query.clauses[1].required && query.clauses[2].slots[0].prefix);
    /// assert!(query.clauses[3].excluded);
    /// ```
    pub fn parse(text: &str) -> Self {
        Self::parse_at(text, None)
    }

    /// [`Query::parse`] of a query that is asked at `now`, in seconds since 1970: `last week` is a time then. See [`Query::times`].
    pub fn parse_at(text: &str, now: Option<i64>) -> Self {
        let mut read = Reading::default();
        let mut rest = text;
        loop {
            rest = rest.trim_start();
            let Some(first) = rest.chars().next() else { break };
            let after =
                rest.strip_prefix('-').filter(|after| after.starts_with(|c: char| c == '"' || c.is_alphanumeric()));
            let excluded = after.is_some();
            rest = after.unwrap_or(rest);
            if let Some(quoted) = rest.strip_prefix(['"', '“', '”', '„']) {
                let end = quoted.find(['"', '“', '”']).unwrap_or(quoted.len());
                let slots = slots(&quoted[..end]);
                rest = quoted[end..].trim_start_matches(['"', '“', '”']);
                read.take(Clause { slots, required: !excluded, excluded });
                continue;
            }
            let end = rest
                .find(|c: char| c.is_whitespace() || c == '"')
                .unwrap_or(rest.len())
                .max(first.len_utf8().min(rest.len()));
            read.words(&rest[..end], excluded);
            rest = &rest[end..];
        }
        let language = Language::guess(text);
        let mut query = Self { clauses: read.clauses, words: read.seen_words, times: times(text, now), language };
        let small: Vec<&str> =
            query.clauses.iter().flat_map(|clause| &clause.slots).map(|slot| slot.word.as_str()).collect();
        let (language, count) = Language::of_stop_words(&small);
        // One small word of another language may be a word of this one: to `die hard` the first matters.
        let sure = language == Language::English || count > 1;
        let says = |clause: &Clause| {
            clause.required || clause.slots.iter().any(|slot| !(sure && language.is_stop_word(&slot.word)))
        };
        if query.clauses.iter().any(|clause| says(clause) && !clause.excluded) {
            query.clauses.retain(|clause| says(clause) || clause.excluded);
        }
        query
    }

    /// The terms that a slot's word becomes in any of `languages` (a bit each), and in English and the query's own.
    pub fn terms(&self, slot: &Slot, languages: u32) -> Vec<String> {
        let languages = languages | 1 << self.language as u32 | 1 << Language::English as u32;
        let plain = slot.folded();
        let mut terms = Vec::new();
        if slot.forms {
            for form in others(&slot.word) {
                let mut term = String::new();
                Language::English.term(form, &mut term);
                terms.push(term);
            }
        }
        for language in Language::ALL.into_iter().filter(|language| languages & (1 << *language as u32) != 0) {
            for word in [&slot.word, &plain] {
                let mut term = String::new();
                language.term(word, &mut term);
                if !term.is_empty() && !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        terms
    }
}

/// A query that is being read.
#[derive(Default)]
struct Reading {
    clauses: Vec<Clause>,
    seen: HashSet<Clause>,
    /// How many words the clauses have that were seen, and those that are looked for.
    seen_words: usize,
    taken_words: usize,
}

impl Reading {
    /// Takes what was not there yet, as far as there is room. Of a phrase that must be there its beginning is taken; one that must not be
    /// there excludes too much without its end.
    fn take(&mut self, mut clause: Clause) {
        if clause.slots.is_empty() || self.seen.contains(&clause) {
            return;
        }
        self.seen.insert(clause.clone());
        self.seen_words += clause.slots.len();
        let room = MOST_WORDS - self.taken_words;
        if clause.slots.len() > room {
            if room == 0 || !clause.required {
                return;
            }
            clause.slots.truncate(room);
        }
        self.taken_words += clause.slots.len();
        self.clauses.push(clause);
    }

    /// What stands between two spaces: a word, the beginning of one, or an identifier of several.
    fn words(&mut self, text: &str, excluded: bool) {
        let prefix = text.ends_with('*');
        let mut slots = slots(text);
        if prefix && let Some(last) = slots.last_mut() {
            last.prefix = true;
        }
        if prefix || excluded {
            return self.take(Clause { slots, required: prefix && !excluded, excluded });
        }
        // An identifier is looked for as a whole, and by its parts.
        if slots.len() > 1 && !slots.iter().all(|slot| slot.pair) {
            self.take(Clause { slots: slots.clone(), required: false, excluded: false });
        }
        for slot in slots {
            let slots = vec![Slot { offset: 0, forms: true, ..slot }];
            self.take(Clause { slots, required: false, excluded: false });
        }
    }
}

impl Clause {
    /// What is looked for, in lower case.
    pub fn says(&self) -> String {
        let words: Vec<&str> = self.slots.iter().map(|slot| slot.word.as_str()).collect();
        words.join(" ")
    }
}

impl Slot {
    /// The word without accents: what terms that it begins begin with.
    pub fn folded(&self) -> String {
        let mut folded = String::new();
        self.word.chars().for_each(|letter| crate::fold::fold(letter, &mut folded));
        folded
    }

    /// The shorter terms that a beginning means too: words are cut to their stem, and a beginning of up to four letters more
    /// still means it.
    pub fn stems(&self) -> impl Iterator<Item = String> {
        let begin = self.folded();
        let lengths = STEM.max(begin.len().saturating_sub(ENDING))..begin.len();
        lengths.filter_map(move |len| begin.get(..len).map(str::to_owned))
    }
}

/// The shortest stem that a longer beginning means.
const STEM: usize = 4;
/// How much longer the beginning may be.
const ENDING: usize = 4;

fn slots(text: &str) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    words(text, &mut |word| {
        // Of a whole and its first part the parts are enough: they say the same, in a row.
        if slots.last().is_none_or(|last| last.offset != word.position) {
            slots.push(Slot {
                word: word.text.to_owned(),
                offset: word.position,
                prefix: false,
                forms: false,
                pair: word.pair,
            });
        }
    });
    // A run of characters without spaces ends with its last character alone, which a search for the run need not ask for;
    // alone it means all pairs that begin with it.
    let mut before: Option<(String, u32)> = None;
    slots.retain_mut(|slot| {
        let single = slot.pair && slot.word.chars().nth(1).is_none();
        let follows = |(word, offset): (String, u32)| offset + 1 == slot.offset && word.ends_with(&slot.word);
        if single && before.take().is_some_and(follows) {
            return false;
        }
        slot.prefix |= single;
        before = slot.pair.then(|| (slot.word.clone(), slot.offset));
        true
    });
    slots
}
