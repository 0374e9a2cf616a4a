//! A segment: an immutable piece of the index, as bytes. It has a table of documents, a dictionary (sorted, in blocks of
//! 16 terms of which each says how much it shares with the one before), and for each term the documents that have it, how
//! often, and at which positions, as Rice codes.

use crate::bits::{BitReader, BitWriter, Bytes, low_bits, put, put_signed};

const MAGIC: &[u8] = b"TKS1";
const BLOCK: usize = 16;

/// The bytes are not a segment that this release wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a piece of the search index is damaged or of another release")]
pub struct Damaged;

/// Whom a document belongs to: the id of its transcript.
pub type Owner = String;

/// The role of users, whose messages may count more: see [`Tuning::user`](crate::Tuning::user).
pub const USER: u8 = 1;
/// The role of assistants, with whose messages those of users are compared.
pub const ASSISTANT: u8 = 2;

/// A document of a segment: a message, or something else that was indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doc {
    /// The number of its owner in [`Segment::owners`].
    pub owner: u32,
    /// The sequence number of its node (or a number of the caller's choosing).
    pub seq: u64,
    /// Its place in the node.
    pub index: u32,
    /// Who speaks, a number of the caller's from 0 to 7.
    pub role: u8,
    /// What it is, a number of the caller's from 0 to 3.
    pub kind: u8,
    /// When it was made, in seconds since 1970; zero where that is not known.
    pub time: i64,
    /// How many words it has.
    pub words: u32,
    /// Where the message before it is: sequence number and place.
    pub before: Option<(u64, u32)>,
}

/// A term in the dictionary: in how many documents it is, and where its postings lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub docs: u32,
    pub start: usize,
    pub end: usize,
}

/// A piece of the index.
#[derive(Debug, Clone, Default)]
pub struct Segment {
    bytes: Vec<u8>,
    owners: Vec<Owner>,
    docs: Vec<Doc>,
    /// A bit for each language of its texts.
    pub(crate) languages: u32,
    /// Where blocks of the dictionary begin, and the postings of their first terms.
    blocks: Vec<(usize, usize)>,
    /// Where the dictionary ends.
    dictionary_end: usize,
    terms: usize,
}

impl Segment {
    /// Takes the bytes of a segment.
    ///
    /// # Errors
    /// [`Damaged`].
    pub fn read(bytes: Vec<u8>) -> Result<Self, Damaged> {
        Self::parse(bytes).ok_or(Damaged)
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let mut reader = Bytes { rest: bytes.strip_prefix(MAGIC)? };
        let mut owners = Vec::new();
        for _ in 0..reader.small()? {
            let len = reader.small()? as usize;
            owners.push(String::from_utf8(reader.take(len)?.to_vec()).ok()?);
        }
        let languages = reader.small()?;
        let mut docs = Vec::new();
        for _ in 0..reader.small()? {
            let owner = reader.small()?;
            owners.get(owner as usize)?;
            for _ in 0..reader.small()? {
                docs.push(read_doc(&mut reader, owner, docs.last())?);
            }
        }
        let terms = reader.small()? as usize;
        let mut lengths = Vec::new();
        for _ in 0..terms.div_ceil(BLOCK) {
            lengths.push((reader.small()? as usize, reader.small()? as usize));
        }
        let start = bytes.len() - reader.rest.len();
        let dictionary_end = start.checked_add(lengths.iter().map(|(terms, _)| terms).sum())?;
        let (mut at, mut postings) = (start, dictionary_end);
        let mut blocks = Vec::with_capacity(lengths.len());
        for (dictionary, length) in lengths {
            blocks.push((at, postings));
            at += dictionary;
            postings += length;
        }
        (postings == bytes.len()).then_some(())?;
        Some(Self { bytes, owners, docs, languages, blocks, dictionary_end, terms })
    }

    /// Its bytes, as [`Segment::read`] takes them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its documents. Those of one owner need not be together.
    pub fn docs(&self) -> &[Doc] {
        &self.docs
    }

    /// Whose documents they are.
    pub fn owners(&self) -> &[Owner] {
        &self.owners
    }

    /// How many terms its dictionary has.
    pub fn terms(&self) -> usize {
        self.terms
    }

    /// The terms from `block` on, with their entries.
    pub(crate) fn walk(&self, block: usize) -> Walk<'_> {
        let (at, postings) = self.blocks.get(block).copied().unwrap_or((self.dictionary_end, 0));
        let left = self.terms.saturating_sub(block * BLOCK);
        let rest = self.bytes.get(at..self.dictionary_end).unwrap_or_default();
        Walk { reader: Bytes { rest }, postings, left, count: 0, term: Vec::new(), limit: self.bytes.len() }
    }

    /// The terms from `term` on.
    pub(crate) fn walk_from(&self, term: &[u8]) -> Walk<'_> {
        let first = |block: &(usize, usize)| {
            let mut walk = Walk {
                reader: Bytes { rest: self.bytes.get(block.0..self.dictionary_end).unwrap_or_default() },
                postings: 0,
                left: 1,
                count: 0,
                term: Vec::new(),
                limit: usize::MAX,
            };
            walk.next();
            walk.term
        };
        let block = self.blocks.partition_point(|block| first(block).as_slice() <= term).saturating_sub(1);
        self.walk(block)
    }

    /// The entry of a term.
    pub(crate) fn entry(&self, term: &str) -> Option<Entry> {
        let mut walk = self.walk_from(term.as_bytes());
        while let Some(entry) = walk.next() {
            match walk.term.as_slice().cmp(term.as_bytes()) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some(entry),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }

    /// Appends the documents of an entry and how often the term is in each.
    pub(crate) fn read_docs(&self, entry: Entry, out: &mut Vec<(u32, u32)>) {
        self.decode(entry, out);
    }

    fn decode(&self, entry: Entry, out: &mut Vec<(u32, u32)>) -> BitReader<'_> {
        let mut reader = BitReader::new(self.bytes.get(entry.start..entry.end).unwrap_or_default());
        let low = low_bits(self.docs.len() as u64, entry.docs.into());
        let mut next = 0u32;
        for _ in 0..entry.docs {
            let doc = next.saturating_add(reader.rice(low));
            let often = reader.rice(0).saturating_add(1);
            let Some(known) = self.docs.get(doc as usize) else { break };
            out.push((doc, often.min(known.words.saturating_add(64))));
            next = doc + 1;
        }
        reader
    }

    /// Appends the documents and positions of an entry.
    pub(crate) fn read_positions(&self, entry: Entry, out: &mut Vec<(u32, u32)>) {
        let mut docs = Vec::new();
        let mut reader = self.decode(entry, &mut docs);
        for (doc, often) in docs {
            let low = position_bits(self.docs[doc as usize].words, often);
            let mut position = 0u32;
            for _ in 0..often {
                position = position.saturating_add(reader.rice(low));
                out.push((doc, position));
            }
        }
    }
}

/// How many low bits suit the positions of a term that is `often` among so many words.
fn position_bits(words: u32, often: u32) -> u32 {
    low_bits(words.into(), u64::from(often) + 1)
}

/// A way through a dictionary.
pub(crate) struct Walk<'a> {
    reader: Bytes<'a>,
    postings: usize,
    left: usize,
    count: usize,
    /// The term that was read last.
    pub term: Vec<u8>,
    limit: usize,
}

impl Walk<'_> {
    /// The next term's entry; the term is in [`Walk::term`] then.
    pub fn next(&mut self) -> Option<Entry> {
        self.left = self.left.checked_sub(1)?;
        let shared = if self.count.is_multiple_of(BLOCK) { 0 } else { self.reader.small()? as usize };
        self.count += 1;
        let len = self.reader.small()? as usize;
        self.term.truncate(shared);
        self.term.extend_from_slice(self.reader.take(len)?);
        let docs = self.reader.small()?;
        let start = self.postings;
        self.postings = start.checked_add(self.reader.small()? as usize).filter(|end| *end <= self.limit)?;
        Some(Entry { docs, start, end: self.postings })
    }
}

fn read_doc(reader: &mut Bytes<'_>, owner: u32, last: Option<&Doc>) -> Option<Doc> {
    let last = last.filter(|last| last.owner == owner);
    let head = reader.take(1)?[0];
    let seq = last.map_or(0, |last| last.seq).checked_add_signed(reader.signed()?)?;
    let index = if head & 0x80 == 0 { 0 } else { reader.small()? };
    let time = last.map_or(0, |last| last.time).checked_add(reader.signed()?)?;
    let words = reader.small()?;
    let before = match head >> 5 & 3 {
        0 => None,
        1 => last.map(|last| (last.seq, last.index)),
        _ => Some((seq.checked_sub(reader.number()?)?, reader.small()?)),
    };
    Some(Doc { owner, seq, index, role: head & 7, kind: head >> 3 & 3, time, words, before })
}

fn write_doc(out: &mut Vec<u8>, doc: &Doc, last: Option<&Doc>) {
    let last = last.filter(|last| last.owner == doc.owner);
    // What lies behind its follower (no log has that) is left out.
    let before = doc.before.filter(|(seq, _)| *seq <= doc.seq);
    let follows = before.is_some() && before == last.map(|last| (last.seq, last.index));
    let link = if follows { 1 } else { u8::from(before.is_some()) * 2 };
    out.push(doc.role & 7 | (doc.kind & 3) << 3 | link << 5 | u8::from(doc.index > 0) << 7);
    put_signed(out, doc.seq.wrapping_sub(last.map_or(0, |last| last.seq)) as i64);
    if doc.index > 0 {
        put(out, doc.index.into());
    }
    put_signed(out, doc.time.wrapping_sub(last.map_or(0, |last| last.time)));
    put(out, doc.words.into());
    if let Some((seq, index)) = before.filter(|_| !follows) {
        put(out, doc.seq - seq);
        put(out, index.into());
    }
}

/// Writes a segment: the table of documents first, then terms in ascending order.
pub(crate) struct Writer<'a> {
    docs: &'a [Doc],
    head: Vec<u8>,
    dictionary: Vec<u8>,
    postings: BitWriter,
    blocks: Vec<(usize, usize)>,
    terms: usize,
    last: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub fn new(owners: &[Owner], docs: &'a [Doc], languages: u32) -> Self {
        let mut head = MAGIC.to_vec();
        put(&mut head, owners.len() as u64);
        for owner in owners {
            put(&mut head, owner.len() as u64);
            head.extend_from_slice(owner.as_bytes());
        }
        put(&mut head, languages.into());
        put(&mut head, docs.chunk_by(|a, b| a.owner == b.owner).count() as u64);
        for run in docs.chunk_by(|a, b| a.owner == b.owner) {
            put(&mut head, run[0].owner.into());
            put(&mut head, run.len() as u64);
            let mut last = None;
            for doc in run {
                write_doc(&mut head, doc, last);
                last = Some(doc);
            }
        }
        Self {
            docs,
            head,
            dictionary: Vec::new(),
            postings: BitWriter::default(),
            blocks: Vec::new(),
            terms: 0,
            last: Vec::new(),
        }
    }

    /// Writes a term; `hits` are documents and positions, ascending, at least one.
    pub fn term(&mut self, term: &[u8], hits: &[(u32, u32)]) {
        let start = self.postings.out.len();
        let docs = hits.chunk_by(|a, b| a.0 == b.0);
        let count = docs.clone().count();
        let low = low_bits(self.docs.len() as u64, count as u64);
        let mut next = 0;
        for hits in docs.clone() {
            self.postings.rice(hits[0].0 - next, low);
            self.postings.rice(hits.len() as u32 - 1, 0);
            next = hits[0].0 + 1;
        }
        for hits in docs {
            let low = position_bits(self.docs[hits[0].0 as usize].words, hits.len() as u32);
            let mut last = 0;
            for (_, position) in hits {
                self.postings.rice(position - last, low);
                last = *position;
            }
        }
        self.postings.end();
        if self.terms.is_multiple_of(BLOCK) {
            self.blocks.push((self.dictionary.len(), start));
            self.last.clear();
        } else {
            let shared = self.last.iter().zip(term).take_while(|(a, b)| a == b).count();
            put(&mut self.dictionary, shared as u64);
            self.last.truncate(shared);
        }
        let rest = &term[self.last.len()..];
        put(&mut self.dictionary, rest.len() as u64);
        self.dictionary.extend_from_slice(rest);
        put(&mut self.dictionary, count as u64);
        put(&mut self.dictionary, (self.postings.out.len() - start) as u64);
        self.last.clear();
        self.last.extend_from_slice(term);
        self.terms += 1;
    }

    /// The segment's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        put(&mut self.head, self.terms as u64);
        self.blocks.push((self.dictionary.len(), self.postings.out.len()));
        for pair in self.blocks.windows(2) {
            put(&mut self.head, (pair[1].0 - pair[0].0) as u64);
            put(&mut self.head, (pair[1].1 - pair[0].1) as u64);
        }
        self.head.append(&mut self.dictionary);
        self.head.append(&mut self.postings.out);
        self.head
    }
}
