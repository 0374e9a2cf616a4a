//! Documents become a segment.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::language::Language;
use super::segment::{Doc, Owner, Segment, Writer};
use super::words::words;

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

type Words = HashMap<String, u32, BuildHasherDefault<Fnv>>;

/// The hash FNV-1a: words are short, and whoever writes texts to slow his own index down may.
#[derive(Clone, Copy)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Gathers documents for a [`Segment`].
///
/// ```
/// use threadkeep_core::recall::{Builder, Index, Filter, NewDoc, Query};
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
    /// The number of the term that a word becomes in a language, so that each word is stemmed once.
    words: Words,
    terms: Words,
    /// Term, document, position, in order of documents.
    hits: Vec<(u32, u32, u32)>,
    bytes: usize,
}

/// What a term begins with that is a name, not a word: no word has it.
pub(super) const NAME: char = '\u{1}';

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
        let language = Language::guess(new.text);
        self.languages |= 1 << language as u32;
        self.bytes += new.text.len();
        let number = self.docs.len() as u32;
        let (mut key, mut count) = (String::new(), 0);
        let Self { words: known, terms, hits, .. } = self;
        words(new.text, &mut |word| {
            count = word.position + 1;
            key.clear();
            key.push(char::from(b'a' + language as u8));
            key.push_str(word.text);
            let term = match known.get(key.as_str()) {
                Some(term) => *term,
                None => {
                    let mut text = String::new();
                    language.term(word.text, &mut text);
                    let term = term_number(terms, text);
                    known.insert(key.clone(), term);
                    term
                }
            };
            hits.push((term, number, word.position));
        });
        let mut names = new.names.to_vec();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let mut text = String::from(NAME);
            text.push_str(name);
            hits.push((term_number(terms, text), number, 0));
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
        let mut terms: Vec<(String, u32)> = self.terms.into_iter().filter(|(term, _)| !term.is_empty()).collect();
        terms.sort_unstable();
        // Sorted by counting: where the hits of a term end, then each hit to its place.
        let mut ends = vec![0usize; terms.len().max(self.hits.iter().map(|hit| hit.0 as usize + 1).max().unwrap_or(0))];
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
        for (term, number) in terms {
            let number = number as usize;
            let start = number.checked_sub(1).map_or(0, |before| ends[before]);
            writer.term(term.as_bytes(), &sorted[start..ends[number]]);
        }
        segment(writer)
    }
}

/// The segment that was written.
pub(super) fn segment(writer: Writer<'_>) -> Segment {
    // What was just written can be read: the format's tests hold one against the other. Were it not so, an empty segment
    // would leave its documents to be indexed again.
    Segment::read(writer.finish()).unwrap_or_default()
}

fn term_number(terms: &mut Words, text: String) -> u32 {
    let next = terms.len() as u32;
    *terms.entry(text).or_insert(next)
}
