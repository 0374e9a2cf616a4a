//! Passages: old messages that answer the newest one, for a prompt that does not have them as they are.
//!
//! Goes in: a chain, and what a prompt is about. Comes out: stretches of messages, ranked by search, and of these what the prompt quotes
//! within its share of the budget. Only the messages before the newest one of the user are ranked, and nothing of the keep but the chain
//! counts. So all requests of a turn and its preview find the same. What a request quotes is noted by places, so that it is made again
//! without a search.

use std::rc::Rc;

use threadkeep_compaction::memory::{Share, message_said};
use threadkeep_context::material::Entry;
use threadkeep_context::tokens::{Counter, cost};
use threadkeep_context::{Action, Figures, Frame, History, Material, Options, Plan, Prepared, frame_figures};
use threadkeep_core::sort;
use threadkeep_core::{Message, Role, Transcript, TranscriptId};
use threadkeep_provider::RenderOptions;
use threadkeep_store::{Store, StoreError};

use crate::agent::Later;
use crate::log::Log;
use crate::path::{End, Path, Walk};
use crate::protocol::Wanted;
use crate::ranking::{Indexed, Passage, RankPassages, speaks};
use crate::{Keep, KeepError};

/// Of so many chains what was indexed is kept.
const CHAINS: usize = 6;
/// Of which budget passages have a share if there is none.
const UNLIMITED: u64 = 8000;
/// About how many tokens the lines around the passages take.
const AROUND: u64 = 30;
/// Where passages are from.
const SOURCE: &str = "earlier messages of this conversation";
/// What the mark of a passage begins with: no mark of a record does.
const MARK: char = '#';

impl Passage {
    /// It as a request notes it.
    fn mark(&self) -> String {
        match self.cut {
            None => format!("{MARK}{}", self.place),
            Some((from, to)) => format!("{MARK}{}:{from}-{to}", self.place),
        }
    }

    /// The passage that a request has noted; `None` for the mark of a record.
    fn noted(mark: &str) -> Option<Self> {
        let rest = mark.strip_prefix(MARK)?;
        let Some((place, cut)) = rest.split_once(':') else {
            return Some(Self { place: rest.parse().ok()?, cut: None });
        };
        let (from, to) = cut.split_once('-')?;
        Some(Self { place: place.parse().ok()?, cut: Some((from.parse().ok()?, to.parse().ok()?)) })
    }
}

/// Loads the code that ranks passages.
pub type LoadRanking = fn() -> Later<'static, &'static dyn RankPassages>;

/// Says that the code that ranks passages could not be loaded.
pub fn not_loaded() -> KeepError {
    StoreError::Unavailable("the search could not be loaded".to_owned()).into()
}

/// What was indexed of a chain.
#[derive(Clone)]
pub(crate) struct Chain {
    pub(crate) transcript: TranscriptId,
    generation: String,
    end: End,
    indexed: Rc<Indexed>,
}

/// The passages of a prompt, best first, and their share of the budget.
#[derive(Default)]
pub(crate) struct Passages {
    ranked: Vec<Passage>,
    share: Share,
}

/// A prompt that is being made.
pub(crate) struct Making<'a, 'h> {
    pub(crate) tree: &'a Transcript,
    pub(crate) prepared: &'a Prepared,
    pub(crate) history: &'a dyn History<'h>,
    pub(crate) render: &'a RenderOptions,
    pub(crate) counter: &'a dyn Counter,
}

impl<S: Store> Keep<S> {
    /// How the code is loaded that ranks passages, if the build has it in a part of its own.
    pub fn load_ranking_with(&self, load: LoadRanking) {
        self.inner.ranking.set(Some(load));
    }

    /// The code that ranks passages, if any are wanted.
    pub(crate) async fn ranking_for(&self, wanted: &Wanted) -> Result<Option<&'static dyn RankPassages>, KeepError> {
        if wanted.passages == Share::default() {
            return Ok(None);
        }
        match self.inner.ranking.get() {
            Some(load) => load().await.map(Some),
            #[cfg(not(split))]
            None => Ok(Some(&crate::ranking::Ranking)),
            #[cfg(split)]
            None => Err(not_loaded()),
        }
    }
}

impl Passages {
    /// The passages for a chain that ends with `leaf`. `now` is the time where the message does not say when it came.
    pub(crate) fn ranked(
        (path, chains): (&Rc<Path>, &mut Vec<Chain>),
        log: &Log,
        (query, now): (Option<&str>, i64),
        wanted: &Wanted,
        ranking: Option<&dyn RankPassages>,
    ) -> Self {
        let (Some(query), Some(ranking)) = (query, ranking) else { return Self::default() };
        let walk = Walk { tree: &log.tree, path, messages: path.end().messages };
        let said = |place: usize| {
            let item = walk.item(place)?;
            Some((item.message, log.tree.get(item.node?).and_then(|placed| placed.node.created_at)))
        };
        let is_asked = |place: &usize| said(*place).is_some_and(|(message, _)| asks(message));
        let end = (0..walk.messages).rev().find(is_asked).unwrap_or(walk.messages);
        let now = said(end).and_then(|(_, time)| time).unwrap_or(now);
        let mut chain = take(chains, log, path, end);
        let ranked = ranking.rank(&mut chain.indexed, &said, end, (query, Some(now)));
        chains.push(chain);
        Self { ranked, share: wanted.passages }
    }

    /// The passages that a request has noted.
    pub(crate) fn noted(marks: &[String], share: Share) -> Self {
        Self { ranked: marks.iter().filter_map(|mark| Passage::noted(mark)).collect(), share }
    }

    /// Puts into the frame the best passages that the share has room for, of messages that the prompt does not have as they are. Gives
    /// their marks.
    pub(crate) fn enter(self, making: &Making, build: &mut Options) -> Vec<String> {
        if self.ranked.is_empty() {
            return Vec::new();
        }
        let own = std::mem::take(&mut build.frame.memory);
        let frame = Frame::new(&build.frame, build.provider, making.counter);
        let bare = frame_figures(&frame, making.history, build, making.render, making.counter);
        let plan = |figures: Figures| Plan { frame: bare.plus(figures), ..build.plan(&frame) };
        let before = making.figures(&own, build);
        let least = making.prepared.least(&plan(before));
        let limits = build.budget.limits();
        let free = |limit: Option<u64>, used: u64| limit.map_or(u64::MAX, |limit| limit.saturating_sub(used));
        let share = limits.tokens.unwrap_or(UNLIMITED) * u64::from(self.share.thousandths()) / 1000;
        let tokens = share.min(free(limits.tokens, least.tokens));
        let chars = free(limits.chars, least.chars).min(8 * tokens);
        let full = own.is_empty() && limits.messages.is_some_and(|most| most <= least.messages);
        let mut chosen: Vec<(Passage, Entry)> = Vec::new();
        if !(full || limits.underflow) {
            // Messages that the whole share pushes out may be quoted.
            let kept = making.kept(&plan(before.plus(Figures { tokens, messages: u64::from(own.is_empty()), chars })));
            let mut room = tokens.saturating_sub(AROUND);
            for passage in self.ranked {
                let Some(entry) = making.entry(&passage, &kept, build) else { continue };
                let cost = u64::from(making.counter.count(&entry.quoted()));
                if cost <= room {
                    room -= cost;
                    chosen.push((passage, entry));
                }
            }
        }
        let mut memory = own.clone();
        while !chosen.is_empty() {
            let mut entries: Vec<Entry> = chosen.iter().map(|(_, entry)| entry.clone()).collect();
            sort::sort_by_key(&mut entries, |entry| entry.place);
            memory = own.iter().cloned().chain([Material { source: SOURCE.to_owned(), entries }]).collect();
            let now = making.figures(&memory, build);
            let taken = now.minus(before);
            if taken.tokens > tokens || taken.chars > chars {
                chosen.pop();
            } else {
                // The share was not needed in full, and some of them are in the prompt after all.
                let (kept, count) = (making.kept(&plan(now)), chosen.len());
                chosen.retain(|(passage, _)| kept.get(passage.place) != Some(&true));
                if chosen.len() == count {
                    break;
                }
            }
            memory.clone_from(&own);
        }
        build.frame.memory = memory;
        chosen.into_iter().map(|(passage, _)| passage.mark()).collect()
    }
}

impl Making<'_, '_> {
    /// What the message takes that quotes these.
    fn figures(&self, memory: &[Material], build: &Options) -> Figures {
        let Some(message) = Material::message(memory) else { return Figures::default() };
        let tokens = u64::from(cost(&message, build.provider, self.counter).total());
        Figures { tokens, messages: 1, chars: message.text().encode_utf16().count() as u64 }
    }

    /// Which messages a prompt has as they are. The summary has the place of the first message that it covers.
    fn kept(&self, plan: &Plan) -> Vec<bool> {
        let fit = self.prepared.fit(plan);
        let mut kept = vec![false; self.history.len()];
        let there = self.prepared.marks(&fit).filter(|mark| mark.kept && mark.action != Action::Summarised);
        for mark in there.filter(|mark| !mark.injected) {
            if let Some(kept) = kept.get_mut(mark.index) {
                *kept = true;
            }
        }
        kept
    }

    /// A passage as it is quoted; `None` if its message is there already, or may not be in prompts.
    fn entry(&self, passage: &Passage, kept: &[bool], build: &Options) -> Option<Entry> {
        let item = self.history.item(passage.place).filter(|_| kept.get(passage.place) == Some(&false))?;
        if !speaks(item.message) || !build.selection.admits(item.message) {
            return None;
        }
        let text = item.message.text();
        let said = match passage.cut {
            None => text.into_owned(),
            Some((from, to)) => {
                let (before, after) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
                [before, text.get(from..to)?, after].concat()
            }
        };
        let made = self.tree.get(item.node?).and_then(|placed| placed.node.created_at);
        let text = message_said(made, item.message, &said);
        Some(Entry { record: Some(item.node?.as_str().to_owned()), text, place: Some(passage.place) })
    }
}

/// What was indexed of a chain, up to at most `end`, is taken out of the list; a new one where there is none.
fn take(all: &mut Vec<Chain>, log: &Log, path: &Path, end: usize) -> Chain {
    let here = |chain: &Chain| chain.transcript == *log.tree.id() && chain.generation == log.generation;
    let begins = |chain: &Chain| here(chain) && chain.end.messages <= end && path.goes_on(chain.end);
    let found = (0..all.len()).filter(|at| begins(&all[*at])).max_by_key(|at| all[*at].end.messages);
    let known = found.map(|at| all.remove(at).indexed);
    all.drain(..(all.len() + 1).saturating_sub(CHAINS));
    let (transcript, generation) = (log.tree.id().clone(), log.generation.clone());
    Chain { transcript, generation, end: path.end_before(end), indexed: known.unwrap_or_default() }
}

/// Whether a message is one of the user's that a prompt may have.
fn asks(message: &Message) -> bool {
    message.include_in_context && message.role == Role::User && speaks(message)
}
