//! All segments together: what a query is asked of.

use std::rc::Rc;

use crate::context::{Context, NONE};
use crate::segment::Segment;
use crate::tuning::Tuning;
use threadkeep_core::sort;

/// Segments, and what must be known of all of them to rank: how many documents there are, how long they are, which
/// message comes before which. What it finds does not depend on how documents are spread over segments.
#[derive(Debug, Clone, Default)]
pub struct Index {
    segments: Vec<Rc<Segment>>,
    /// The number of each segment's first document.
    pub(crate) bases: Vec<u32>,
    /// How many words each document has.
    pub(crate) lengths: Vec<u32>,
    pub(crate) languages: u32,
    pub(crate) context: Context,
    pub(crate) tuning: Tuning,
}

impl Index {
    /// An index of segments.
    pub fn new(segments: Vec<Rc<Segment>>) -> Self {
        Self::tuned(segments, Tuning::default())
    }

    /// [`Index::new`] with other figures of the ranking.
    pub fn tuned(segments: Vec<Rc<Segment>>, tuning: Tuning) -> Self {
        let mut index = Self { segments, tuning, ..Self::default() };
        let mut docs = 0;
        for segment in &index.segments {
            index.bases.push(docs);
            docs += segment.docs().len() as u32;
            index.lengths.extend(segment.docs().iter().map(|doc| doc.words));
            index.languages |= segment.languages;
        }
        let before = index.link(docs as usize);
        index.context = Context::new(&index.segments, before, &index.lengths, &tuning);
        index
    }

    /// An index of segments that nobody else holds.
    pub fn of(segments: Vec<Segment>) -> Self {
        Self::new(segments.into_iter().map(Rc::new).collect())
    }

    /// Its segments.
    pub fn segments(&self) -> &[Rc<Segment>] {
        &self.segments
    }

    /// How many documents it has.
    pub fn docs(&self) -> usize {
        self.lengths.len()
    }

    /// How many bytes its segments take.
    pub fn bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.bytes().len()).sum()
    }

    /// Finds out which document comes before which. Most often it is the one before in the same segment.
    fn link(&self, docs: usize) -> Vec<u32> {
        let mut before = vec![NONE; docs];
        // Owner, sequence number, place of what is looked for, and who looks.
        let mut wanted: Vec<(&str, u64, u32, u32)> = Vec::new();
        for (segment, base) in self.segments.iter().zip(&self.bases) {
            let docs = segment.docs();
            for (at, doc) in docs.iter().enumerate() {
                let Some((seq, index)) = doc.before else { continue };
                let number = base + at as u32;
                match at.checked_sub(1).map(|at| docs[at]) {
                    Some(last) if (last.owner, last.seq, last.index) == (doc.owner, seq, index) => {
                        before[number as usize] = number - 1;
                    }
                    _ => wanted.push((&segment.owners()[doc.owner as usize], seq, index, number)),
                }
            }
        }
        sort::sort(&mut wanted);
        for (segment, base) in self.segments.iter().zip(&self.bases) {
            let of = |owner: &String| {
                let start = wanted.partition_point(|other| other.0 < owner.as_str());
                let end = wanted.partition_point(|other| other.0 <= owner.as_str());
                &wanted[start..end]
            };
            let of: Vec<_> = segment.owners().iter().map(of).collect();
            for (at, doc) in segment.docs().iter().enumerate() {
                let mine = of[doc.owner as usize];
                let from = mine.partition_point(|other| (other.1, other.2) < (doc.seq, doc.index));
                for (.., number) in mine[from..].iter().take_while(|other| (other.1, other.2) == (doc.seq, doc.index)) {
                    before[*number as usize] = base + at as u32;
                }
            }
        }
        before
    }
}
