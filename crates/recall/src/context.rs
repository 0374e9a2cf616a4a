//! What ranking knows of a message before any query: which messages are near it, its session, how its length damps words, and how much
//! its speaker counts. None of it is stored. It is made of the tables of documents whenever an [`Index`](crate::Index) is.

use std::collections::HashMap;

use crate::segment::{ASSISTANT, Segment, USER};
use crate::tuning::Tuning;

/// The number of no document.
pub const NONE: u32 = u32::MAX;

/// Between two messages that are farther apart, in seconds, a session ends.
const PAUSE: i64 = 12 * 60 * 60;
/// Sessions of more words have each word count less.
const LONG_SESSION: f32 = 600.0;

/// Of every document its neighbours and what does not depend on the query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context {
    /// The document before each in its session, or [`NONE`].
    pub before: Vec<u32>,
    /// The first document after each, and the next with the same one before; branches have several.
    pub after: Vec<u32>,
    pub beside: Vec<u32>,
    /// The number of each document's session, and by how much each session's length damps its words.
    pub sessions: Vec<u32>,
    pub session_damping: Vec<f32>,
    /// How many words each document has.
    pub lengths: Vec<f32>,
    /// What BM25 adds to a word's count in each document.
    pub damping: Vec<f32>,
    /// By how much each document counts more for its speaker.
    pub priors: Vec<f32>,
}

impl Context {
    /// The context of documents of which `before` is known as the log has it.
    pub fn new(segments: &[std::rc::Rc<Segment>], before: Vec<u32>, lengths: &[u32], tuning: &Tuning) -> Self {
        let mut context = Self { before, priors: priors(segments, tuning.user), ..Self::default() };
        context.end_sessions(segments);
        context.follow();
        context.number_sessions(lengths);
        context.damp(lengths, tuning);
        context
    }

    /// Nothing is near over a long pause.
    fn end_sessions(&mut self, segments: &[std::rc::Rc<Segment>]) {
        let times: Vec<i64> = segments.iter().flat_map(|segment| segment.docs()).map(|doc| doc.time).collect();
        for (before, time) in self.before.iter_mut().zip(&times) {
            let far = |other: i64| *time != 0 && other != 0 && (time - other).abs() > PAUSE;
            if *before != NONE && far(times[*before as usize]) {
                *before = NONE;
            }
        }
    }

    fn follow(&mut self) {
        self.after = vec![NONE; self.before.len()];
        self.beside = vec![NONE; self.before.len()];
        for (number, before) in self.before.iter().enumerate().rev().filter(|(_, before)| **before != NONE) {
            self.beside[number] = std::mem::replace(&mut self.after[*before as usize], number as u32);
        }
    }

    /// A document is in the session of the one before it.
    fn number_sessions(&mut self, lengths: &[u32]) {
        self.sessions = vec![NONE; self.before.len()];
        let mut words: Vec<f32> = Vec::new();
        let mut way = Vec::new();
        for number in 0..self.before.len() as u32 {
            let mut at = number;
            // No way is longer than there are documents: a damaged index may go in circles.
            while self.sessions[at as usize] == NONE
                && self.before[at as usize] != NONE
                && way.len() < self.before.len()
            {
                way.push(at);
                at = self.before[at as usize];
            }
            if self.sessions[at as usize] == NONE {
                self.sessions[at as usize] = words.len() as u32;
                words.push(lengths[at as usize] as f32);
            }
            let session = self.sessions[at as usize];
            for number in way.drain(..).filter(|number| *number != at) {
                self.sessions[number as usize] = session;
                words[session as usize] += lengths[number as usize] as f32;
            }
        }
        self.session_damping = words.into_iter().map(|words| (words / LONG_SESSION).max(1.0)).collect();
    }

    /// Lengths count the words that messages near it give a message as they count for it.
    fn damp(&mut self, lengths: &[u32], tuning: &Tuning) {
        self.lengths = lengths.iter().map(|length| *length as f32).collect();
        let mut all = Vec::with_capacity(lengths.len());
        for number in 0..lengths.len() as u32 {
            all.push(self.gather(number, &self.lengths, tuning));
        }
        let mean = (all.iter().map(|length| f64::from(*length)).sum::<f64>() / all.len().max(1) as f64).max(1.0) as f32;
        let damp = |length: f32| tuning.k1 * (1.0 - tuning.b + tuning.b * length / mean);
        self.damping = all.into_iter().map(damp).collect();
    }

    /// A figure of a document with those of the documents near it, each weighted. Of several after it the greatest counts.
    #[inline]
    pub fn gather(&self, number: u32, figures: &[f32], tuning: &Tuning) -> f32 {
        let share = |number: u32| (tuning.short / self.lengths[number as usize].max(1.0)).min(1.0);
        let given = |number: u32| {
            let figure = figures[number as usize];
            if figure > 0.0 { figure * share(number) } else { 0.0 }
        };
        let [one_before, one_after, two_before, two_after] = tuning.near;
        let mut sum = 0.0;
        let before = self.before[number as usize];
        if before != NONE {
            sum += one_before * given(before);
            let second = self.before[before as usize];
            if second != NONE {
                sum += two_before * given(second);
            }
        }
        let (mut first, mut second) = (0f32, 0f32);
        for after in self.followers(number) {
            first = first.max(given(after));
            for next in self.followers(after) {
                second = second.max(given(next));
            }
        }
        sum += one_after * first + two_after * second;
        figures[number as usize] + if sum > 0.0 { sum * share(number) } else { 0.0 }
    }

    /// Calls `visit` with a document, and with those near it; `true` for those right after it.
    pub fn visit(&self, number: u32, visit: &mut dyn FnMut(u32, bool)) {
        visit(number, false);
        let mut before = number;
        for _ in 0..2 {
            before = self.before[before as usize];
            if before == NONE {
                break;
            }
            visit(before, false);
        }
        for after in self.followers(number) {
            visit(after, true);
            self.followers(after).for_each(|next| visit(next, false));
        }
    }

    /// The documents right after one.
    pub fn followers(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let known = |number: u32| (number != NONE).then_some(number);
        std::iter::successors(known(self.after[number as usize]), move |at| known(self.beside[*at as usize]))
    }
}

/// By how much each document counts more for its speaker: a user's more where the transcript's assistants are wordier, since people
/// look for what they said and assistants repeat it. From 1 where both talk alike up to `most`, which is 2 from a ratio of 3 on.
fn priors(segments: &[std::rc::Rc<Segment>], most: f32) -> Vec<f32> {
    // Words and messages of users, and of assistants.
    let mut spoken: HashMap<&str, [u64; 4]> = HashMap::new();
    for segment in segments {
        let mut own = vec![[0u64; 4]; segment.owners().len()];
        for doc in segment.docs().iter().filter(|doc| doc.words > 0 && (doc.role == USER || doc.role == ASSISTANT)) {
            let at = if doc.role == USER { 0 } else { 2 };
            own[doc.owner as usize][at] += u64::from(doc.words);
            own[doc.owner as usize][at + 1] += 1;
        }
        for (owner, own) in segment.owners().iter().zip(own) {
            let sums = spoken.entry(owner).or_default();
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
    }
    let mut all = Vec::new();
    for segment in segments {
        let prior = |owner: &String| {
            let [words, messages, theirs, answers] = spoken[owner.as_str()].map(|count| count as f32);
            let ratio = if words > 0.0 && answers > 0.0 { theirs * messages / (answers * words) } else { 1.0 };
            (1.0 + (ratio - 1.0) / 2.0).clamp(1.0, most.max(1.0))
        };
        let priors: Vec<f32> = segment.owners().iter().map(prior).collect();
        all.extend(segment.docs().iter().map(|doc| if doc.role == USER { priors[doc.owner as usize] } else { 1.0 }));
    }
    all
}
