//! Queries: words, `"phrases"`, `begin*`, and `-what` must not be there.

use crate::language::Language;
use crate::words::words;

/// A query, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// What is looked for.
    pub clauses: Vec<Clause>,
    language: Language,
}

/// One thing that is looked for: words in a row, most often one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// The words, in order.
    pub slots: Vec<Slot>,
    /// Documents without it are not found. Phrases and beginnings are required, words are not.
    pub required: bool,
    /// Documents with it are not found.
    pub excluded: bool,
}

/// A place in a clause: a word, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The word in lower case.
    pub word: String,
    /// How many positions it lies behind the clause's first.
    pub offset: u32,
    /// Whether words that only begin so are meant too.
    pub prefix: bool,
    pair: bool,
}

/// English words that say nothing of what is looked for. They count in phrases, and where a query has no others.
const EMPTY: &str = " a about am an and any are as at be been but by can could did do does during for from had has have how i if in into is it its \
    me my of on or our please should so some tell that the their them then there these they this those to us was we were what \
    when where which who why will with would you your ";

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
        let mut query = Self { clauses: Vec::new(), language: Language::guess(text) };
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
                if !slots.is_empty() {
                    query.clauses.push(Clause { slots, required: !excluded, excluded });
                }
                continue;
            }
            let end = rest
                .find(|c: char| c.is_whitespace() || c == '"')
                .unwrap_or(rest.len())
                .max(first.len_utf8().min(rest.len()));
            query.words(&rest[..end], excluded);
            rest = &rest[end..];
        }
        let says = |clause: &Clause| clause.required || clause.slots.iter().any(|slot| !is_empty(&slot.word));
        if query.clauses.iter().any(|clause| says(clause) && !clause.excluded) {
            query.clauses.retain(|clause| says(clause) || clause.excluded);
        }
        query
    }

    /// What stands between two spaces: a word, the beginning of one, or an identifier of several.
    fn words(&mut self, text: &str, excluded: bool) {
        let prefix = text.ends_with('*');
        let mut slots = slots(text);
        if prefix && let Some(last) = slots.last_mut() {
            last.prefix = true;
        }
        if prefix || excluded {
            if !slots.is_empty() {
                self.clauses.push(Clause { slots, required: prefix && !excluded, excluded });
            }
            return;
        }
        // An identifier is looked for as a whole, and by its parts.
        if slots.len() > 1 && !slots.iter().all(|slot| slot.pair) {
            self.clauses.push(Clause { slots: slots.clone(), required: false, excluded: false });
        }
        for mut slot in slots {
            slot.offset = 0;
            let clause = Clause { slots: vec![slot], required: false, excluded: false };
            if !self.clauses.contains(&clause) {
                self.clauses.push(clause);
            }
        }
    }

    /// The terms that a slot's word becomes in any of `languages` (a bit each), and in English and the query's own.
    pub fn terms(&self, slot: &Slot, languages: u32) -> Vec<String> {
        let languages = languages | 1 << self.language as u32 | 1 << Language::English as u32;
        let plain = slot.folded();
        let mut terms = Vec::new();
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

impl Slot {
    /// The word without accents: what terms that it begins begin with.
    pub fn folded(&self) -> String {
        let mut folded = String::new();
        self.word.chars().for_each(|letter| crate::fold::fold(letter, &mut folded));
        folded
    }

    /// Whether the slot is a beginning, and `term` begins so. A beginning may be longer than the stem that words were cut
    /// to: four letters more still mean it.
    pub fn begins(&self, term: &str) -> bool {
        let folded = self.folded();
        self.prefix
            && (term.starts_with(folded.as_str())
                || folded.starts_with(term) && term.len() >= STEM && folded.len() - term.len() <= ENDING)
    }
}

/// The shortest stem that a longer beginning means.
pub(crate) const STEM: usize = 4;
/// How much longer the beginning may be.
pub(crate) const ENDING: usize = 4;

fn slots(text: &str) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    words(text, &mut |word| {
        // Of a whole and its first part the parts are enough: they say the same, in a row.
        if slots.last().is_none_or(|last| last.offset != word.position) {
            slots.push(Slot { word: word.text.to_owned(), offset: word.position, prefix: false, pair: word.pair });
        }
    });
    // A run of characters without spaces ends with its last character alone, which a search for the run need not ask for;
    // alone it means all pairs that begin with it.
    let mut at = 0;
    while at < slots.len() {
        let single = slots[at].pair && slots[at].word.chars().nth(1).is_none();
        let follows = at > 0
            && slots[at - 1].pair
            && slots[at - 1].offset + 1 == slots[at].offset
            && slots[at - 1].word.ends_with(&slots[at].word);
        if single && follows {
            slots.remove(at);
        } else {
            slots[at].prefix |= single;
            at += 1;
        }
    }
    slots
}

fn is_empty(word: &str) -> bool {
    EMPTY.split(' ').any(|empty| empty == word)
}
