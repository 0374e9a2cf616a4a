//! Documents become a segment.

use crate::language::Guess;
use crate::segment::{Doc, Owner, Segment, Writer};
use crate::table::Table;
use crate::words::words;
use threadkeep_core::sort;

/// A document to be indexed.
#[derive(Debug, Clone, Copy)]
pub struct NewDoc<'a> {
    /// Whom it belongs to: the id of its transcript.
    pub owner: &'a str,
    /// The sequence number of its node.
    pub seq: u64,
    /// Its place in the node.
    pub index: u32,
    /// Who speaks, from 0 to 7.
    pub role: u8,
    /// What it is, from 0 to 3.
    pub kind: u8,
    /// When it was made, in milliseconds since 1970; zero where that is not known.
    pub time: i64,
    /// Where the message before it is: sequence number and place.
    pub before: Option<(u64, u32)>,
    /// What it says.
    pub text: &'a str,
    /// Names by which it can be filtered: of the tools that it calls.
    pub names: &'a [&'a str],
}

/// Gathers documents for a [`Segment`].
///
/// ```
/// use threadkeep_recall::{Builder, Index, Filter, NewDoc, Query};
/// let mut builder = Builder::default();
/// let doc = NewDoc { owner: "t", seq: 0, index: 0, role: 1, kind: 0, time: 0, before: None, text: "Where is the lost luggage?", names: &[] };
/// builder.add(&doc);
/// let index = Index::of(vec![builder.finish()]);
/// let found = index.find(&Query::parse("loss of \"lost luggage\""), &Filter::default(), 10);
/// assert_eq!(found.len(), 1);
/// ```
#[derive(Default)]
pub struct Builder {
    owners: Vec<Owner>,
    docs: Vec<Doc>,
    languages: u32,
    /// The words of each language, and the numbers of the terms that they become, so that each is stemmed once.
    words: Table,
    term_of: Vec<u32>,
    terms: Table,
    /// The words of one document, one behind the other, and of each where it ends and its position.
    text: String,
    found: Vec<(u32, u32)>,
    /// Term, document, position, in order of documents.
    hits: Vec<(u32, u32, u32)>,
    bytes: usize,
}

/// What a term begins with that is a name, not a word: no word has it.
pub(crate) const NAME: char = '\u{1}';

impl Builder {
    /// Adds a document.
    pub fn add(&mut self, new: &NewDoc<'_>) {
        let owner = match self.owners.iter().rposition(|owner| owner == new.owner) {
            Some(known) => known,
            None => {
                self.owners.push(new.owner.to_owned());
                self.owners.len() - 1
            }
        };
        let number = self.docs.len() as u32;
        self.bytes += new.text.len();
        let Self { words: known, term_of, terms, text, found, hits, .. } = self;
        text.clear();
        found.clear();
        let mut guess = Guess::of(new.text);
        let mut count = 0;
        words(new.text, &mut |word| {
            guess.see(&word);
            count = word.position + 1;
            text.push_str(word.text);
            found.push((text.len() as u32, word.position));
        });
        let language = guess.best();
        self.languages |= 1 << language as u32;
        let (mut start, mut term) = (0, String::new());
        for (end, position) in found.iter() {
            let word = &text[start..*end as usize];
            start = *end as usize;
            let at = known.number(language as u8, word) as usize;
            if at == term_of.len() {
                term.clear();
                language.term(word, &mut term);
                term_of.push(terms.number(0, &term));
            }
            hits.push((term_of[at], number, *position));
        }
        let mut names = new.names.to_vec();
        sort::sort(&mut names);
        names.dedup();
        for name in names {
            let mut text = String::from(NAME);
            text.push_str(name);
            hits.push((terms.number(0, &text), number, 0));
        }
        self.docs.push(Doc {
            owner: owner as u32,
            seq: new.seq,
            index: new.index,
            role: new.role & 7,
            kind: new.kind & 3,
            time: new.time.div_euclid(1000),
            words: count,
            before: new.before.filter(|(seq, _)| *seq <= new.seq),
        });
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.docs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    /// How many bytes of text they have.
    pub fn text_bytes(&self) -> usize {
        self.bytes
    }

    /// The segment of all documents.
    pub fn finish(self) -> Segment {
        let mut terms: Vec<u32> = (0..self.terms.len() as u32).collect();
        sort::sort_by(&mut terms, |a, b| self.terms.text(*a).cmp(self.terms.text(*b)));
        // Sorted by counting: where the hits of a term end, then each hit to its place.
        let mut ends = vec![0usize; self.terms.len()];
        self.hits.iter().for_each(|hit| ends[hit.0 as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        let mut sorted = vec![(0, 0); self.hits.len()];
        for (term, doc, position) in self.hits {
            sorted[ends[term as usize]] = (doc, position);
            ends[term as usize] += 1;
        }
        let mut writer = Writer::new(&self.owners, &self.docs, self.languages);
        for number in terms {
            let text = self.terms.text(number);
            let start = (number as usize).checked_sub(1).map_or(0, |before| ends[before]);
            // A combining mark that stands alone is a word, but no term.
            if !text.is_empty() {
                writer.term(text.as_bytes(), &sorted[start..ends[number as usize]]);
            }
        }
        segment(writer)
    }
}

/// The segment that was written.
pub(crate) fn segment(writer: Writer<'_>) -> Segment {
    // What was just written can be read: the format's tests hold one against the other. Were it not so, an empty segment
    // would leave its documents to be indexed again.
    Segment::read(writer.finish()).unwrap_or_default()
}
