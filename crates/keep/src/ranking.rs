//! Ranks the messages of a chain for what a prompt is about. [`Ranking`] is code of search, which a browser loads when it is first needed.

use std::rc::Rc;

use threadkeep_compaction::memory::MemoryOrigin;
use threadkeep_context::importance;
use threadkeep_core::message::Kind;
use threadkeep_core::sort;
use threadkeep_core::{Message, Role};
use threadkeep_recall::{ASSISTANT, Builder, Filter, Index, NewDoc, Picked, Query, USER, merge, stretch};

/// The most passages of a prompt: a request notes each.
pub(crate) const MOST: usize = 32;
/// Of longer messages, in bytes, the stretch of about this length is quoted that has most of the query.
const LONG: usize = 800;
/// So many are ranked for each that is given: some are in the prompt anyway.
const MORE: usize = 2;
/// How much more the newest message counts than the first, and the most important than the least.
const RECENT: f32 = 0.05;
const IMPORTANT: f32 = 0.5;

/// A stretch of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The message's place in the chain.
    pub place: usize,
    /// What of its text it is, from (in) and to (out) in bytes; `None` for all.
    pub cut: Option<(usize, usize)>,
}

/// A message of a chain by its place, and when it came.
pub type Said<'a> = dyn Fn(usize) -> Option<(&'a Message, Option<i64>)> + 'a;

/// Ranks the messages of a chain. It is a trait since its code is that of search, which a browser loads when it is first needed.
pub trait RankPassages {
    /// The best passages among the first `end` messages for words that came at `now`, best first. `known` is what was indexed of the chain.
    fn rank(&self, known: &mut Rc<Indexed>, said: &Said, end: usize, asked: (&str, Option<i64>)) -> Vec<Passage>;
}

/// What was indexed of a chain.
#[derive(Debug, Clone, Default)]
pub struct Indexed {
    index: Index,
    /// How many messages of the chain were looked at, and the place of the last one that is indexed.
    messages: usize,
    last: Option<u64>,
}

/// The ranking of search.
pub struct Ranking;

impl RankPassages for Ranking {
    fn rank(
        &self,
        known: &mut Rc<Indexed>,
        said: &Said,
        end: usize,
        (words, now): (&str, Option<i64>),
    ) -> Vec<Passage> {
        if known.messages < end {
            Rc::make_mut(known).grow(said, end);
        }
        let mut query = Query::parse_at(words, now.map(|now| now.div_euclid(1000)));
        // What somebody says is no query: quotes demand nothing, and a dash excludes nothing.
        query.clauses.iter_mut().for_each(|clause| (clause.required, clause.excluded) = (false, false));
        let mut found = known.index.find(&query, &Filter::default(), MORE * MOST);
        for found in &mut found {
            let important =
                said(found.doc.seq as usize).and_then(|(message, _)| importance(message)).unwrap_or(0.5) as f32;
            found.score *= 1.0 + RECENT * found.doc.seq as f32 / end as f32 + IMPORTANT * (important - 0.5);
        }
        sort::sort_by(&mut found, |a, b| b.score.total_cmp(&a.score));
        let passage = |found: &threadkeep_recall::Found| {
            let place = found.doc.seq as usize;
            let text = said(place)?.0.text();
            let cut = (text.len() > LONG).then(|| stretch(&text, &query, LONG));
            Some(Passage { place, cut: cut.filter(|cut| *cut != (0, text.len())) })
        };
        found.iter().filter_map(passage).collect()
    }
}

impl Indexed {
    /// Indexes the messages from where it ends up to `end`. Segments of about one size become one, so that there are never many.
    fn grow(&mut self, said: &Said, end: usize) {
        let mut builder = Builder::default();
        for place in self.messages..end {
            let Some((message, time)) = said(place).filter(|(message, _)| speaks(message)) else { continue };
            let seq = place as u64;
            builder.add(&NewDoc {
                owner: "",
                seq,
                index: 0,
                role: if message.role == Role::User { USER } else { ASSISTANT },
                kind: 0,
                time: time.unwrap_or_default(),
                before: self.last.replace(seq).map(|seq| (seq, 0)),
                text: &message.text(),
                names: &[],
            });
        }
        self.messages = end;
        let mut segments = self.index.segments().to_vec();
        segments.push(Rc::new(builder.finish()));
        while let [.., first, second] = segments.as_slice()
            && first.docs().len() <= 2 * second.docs().len()
        {
            let both = [first, second].map(|segment| Picked { segment, keep: &|_, _| true });
            let merged = Rc::new(merge(&both));
            segments.truncate(segments.len() - 2);
            segments.push(merged);
        }
        self.index = Index::new(segments);
    }
}

/// Whether somebody says something in a message: the user or the model, no tool and no summary.
pub(crate) fn speaks(message: &Message) -> bool {
    matches!(message.role, Role::User | Role::Assistant)
        && matches!(message.kind, Kind::Plain)
        && MemoryOrigin::of(message) != MemoryOrigin::Tool
        && !message.text().trim().is_empty()
}
