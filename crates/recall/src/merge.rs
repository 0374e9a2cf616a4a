//! Several segments become one, without what was deleted.

use crate::build::segment;
use crate::segment::{Doc, Owner, Segment, Writer};

/// A segment, and which of its documents stay.
pub struct Picked<'a> {
    /// The segment.
    pub segment: &'a Segment,
    /// Whether a document stays.
    pub keep: &'a dyn Fn(&Segment, &Doc) -> bool,
}

/// One segment of what stays of others, in their order. Terms that only deleted documents had are gone with them.
pub fn merge(inputs: &[Picked<'_>]) -> Segment {
    let mut owners: Vec<Owner> = Vec::new();
    let mut docs: Vec<Doc> = Vec::new();
    let mut languages = 0;
    // The new numbers of each segment's documents.
    let mut numbers: Vec<Vec<Option<u32>>> = Vec::new();
    for input in inputs {
        languages |= input.segment.languages;
        let mut known: Vec<Option<u32>> = vec![None; input.segment.owners().len()];
        let mut mine = Vec::with_capacity(input.segment.docs().len());
        for doc in input.segment.docs() {
            if !(input.keep)(input.segment, doc) {
                mine.push(None);
                continue;
            }
            let name = &input.segment.owners()[doc.owner as usize];
            let owner = *known[doc.owner as usize].get_or_insert_with(|| {
                owners.iter().position(|owner| owner == name).unwrap_or_else(|| {
                    owners.push(name.clone());
                    owners.len() - 1
                }) as u32
            });
            mine.push(Some(docs.len() as u32));
            docs.push(Doc { owner, ..*doc });
        }
        numbers.push(mine);
    }
    let mut writer = Writer::new(&owners, &docs, languages);
    let mut walks: Vec<_> = inputs.iter().map(|input| input.segment.walk(0)).collect();
    let mut heads: Vec<_> = walks.iter_mut().map(|walk| walk.next()).collect();
    let (mut read, mut hits) = (Vec::new(), Vec::new());
    loop {
        let least =
            walks.iter().zip(&heads).filter(|(_, head)| head.is_some()).map(|(walk, _)| walk.term.as_slice()).min();
        let Some(term) = least.map(<[u8]>::to_vec) else { break };
        hits.clear();
        for (at, walk) in walks.iter_mut().enumerate() {
            let Some(entry) = heads[at].filter(|_| walk.term == term) else { continue };
            read.clear();
            inputs[at].segment.read_positions(entry, &mut read);
            hits.extend(read.iter().filter_map(|(doc, position)| Some((numbers[at][*doc as usize]?, *position))));
            heads[at] = walk.next();
        }
        if !hits.is_empty() {
            writer.term(&term, &hits);
        }
    }
    segment(writer)
}
