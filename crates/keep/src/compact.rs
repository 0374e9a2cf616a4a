//! Compaction: a summariser's words stand in for the old part of a chain, the originals stay.
//!
//! Goes in: a leaf or a head, options, a summariser. Comes out: a checkpoint, stored in one commit with its episodes and facts, or
//! nothing where nothing was to be done. Nothing is held while the summariser works: others may append, and a call
//! that is dropped leaves nothing. Which part is covered, when, and what may stand in for it is
//! `threadkeep_core::compaction`'s.

use std::cell::Cell;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;

use threadkeep_core::compaction::checkpoint::summary_message;
use threadkeep_core::compaction::extract::extract;
use threadkeep_core::compaction::strategy::{TOP_LEVEL, check, merge, outgrown, share, tokens};
use threadkeep_core::compaction::summary::{FoundFact, Material, Piece, Statement, Summary};
use threadkeep_core::compaction::window::TAIL_TURNS;
use threadkeep_core::compaction::{
    Checkpoint, Chosen, Covers, Policy, PolicyOptions, Reason, Refused, Requests, Strategy, Window, window,
};
use threadkeep_core::context::MessageRef;
use threadkeep_core::memory::{Episode, Fact, Remembered, Source};
use threadkeep_core::tokens::{Counter, cost};
use threadkeep_core::transcript::Epoch;
use threadkeep_core::{Entry, Message, MessageId, Provider, TranscriptId};
use threadkeep_store::{Commit, Store, StoreError};

use crate::context::Chain;
use crate::keep::Write;
use crate::log::Log;
use crate::memory::{Memories, MemoryChange};
use crate::protocol::Counting;
use crate::{Keep, KeepError, keys};

/// How often a commit that lost against another writer is tried again.
const TRIES: u32 = 100;

/// What a summariser answers, once it does.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Answered, String>> + 'a>>;

/// A summary, and what is to be said of how it came about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answered {
    /// The summary.
    pub summary: Summary,
    /// What its caller should know, in words: that a model did not answer, and who did in its stead, say.
    pub warnings: Vec<String>,
}

/// Somebody who summarises: our own rules, a model, the browser.
pub trait Summariser {
    /// Its name, as checkpoints keep it, such as `extractive`.
    fn name(&self) -> &str;

    /// The most tokens of messages that it takes at once; longer material comes in several pieces, each with what was said of
    /// those before. `None` for any number.
    fn input_tokens(&self) -> Option<u64> {
        None
    }

    /// Summarises. An error is in words; nothing is stored then.
    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a>;
}

/// Our own summariser, which needs no model: it ranks what was said and quotes it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extractive;

impl Summariser for Extractive {
    fn name(&self) -> &str {
        "extractive"
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
        let summary = extract(material, counter);
        Box::pin(std::future::ready(Ok(Answered { summary, warnings: Vec::new() })))
    }
}

/// How a chain is compacted.
#[derive(Debug, Clone, Default)]
pub struct CompactOptions {
    /// The strategy; `None` for that of the checkpoint before, and [`Strategy::Summarize`] for the first.
    pub strategy: Option<Strategy>,
    /// How many turns stay raw beside the live one; `None` for [`TAIL_TURNS`].
    pub tail_turns: Option<u32>,
    /// How many messages stay raw, in place of turns; rounded up to whole turns.
    pub keep_recent: Option<u32>,
    /// How many tokens the history is to have at most afterwards, where that can be.
    pub target_tokens: Option<u64>,
    /// How many tokens the summary may have; `None` for what the target leaves, or a fifth of what it replaces, up to 8,000.
    pub summary_tokens: Option<u32>,
    /// Whose tokens are counted.
    pub provider: Provider,
    /// How.
    pub encoding: Counting,
    /// Messages that stay raw, beside those that are marked as pinned.
    pub pins: Vec<MessageRef>,
    /// Whether to say only what would be done.
    pub preview: bool,
    /// Set it to `true` to cancel: nothing is stored then.
    pub cancel: Option<Rc<Cell<bool>>>,
}

/// What a compaction took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// How often the summariser was asked.
    pub calls: u32,
    /// The tokens of what it was given.
    pub input_tokens: u64,
    /// The tokens of the statements and episodes that came back.
    pub output_tokens: u64,
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Compacted {
    /// The checkpoint; `None` where nothing was to be done: the chain is short, all of it is to stay, or another writer
    /// compacted it in this moment.
    pub checkpoint: Option<Checkpoint>,
    /// What stands in for the old part in prompts: one message, or none.
    pub summary_messages: Vec<Message>,
    /// The places of the messages that are covered now; `end` is out. Instructions and pinned ones in there stay in prompts.
    pub compacted_range: Range<usize>,
    /// The history's tokens before, with the checkpoint before.
    pub tokens_before: u64,
    /// Its tokens now.
    pub tokens_after: u64,
    /// What it took.
    pub cost: Spent,
    /// The episodes that came with it.
    pub episodes: Vec<Episode>,
    /// The facts that came with it.
    pub facts: Vec<Fact>,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

impl Compacted {
    /// How many tokens a prompt of the whole history has less.
    pub fn tokens_saved(&self) -> u64 {
        self.tokens_before.saturating_sub(self.tokens_after)
    }
}

/// A message that is to be summarised, held apart from its transcript.
struct Held {
    node: MessageId,
    index: u32,
    turn: u32,
    tokens: u64,
    message: Message,
}

/// A compaction that is under way.
struct Job {
    generation: String,
    /// The log's next sequence number when the window was chosen.
    seen: u64,
    window: Window,
    chosen: Chosen,
    strategy: Strategy,
    held: Vec<Held>,
    carried: Vec<Statement>,
    previous: Option<String>,
    /// The tokens of the whole history, and of what the new summary replaces.
    history: u64,
    before: u64,
    /// The most tokens of the statements.
    budget: u32,
    covers: Covers,
}

/// What the summariser made.
#[derive(Default)]
struct Made {
    statements: Vec<Statement>,
    episodes: Vec<(Range<usize>, Summary)>,
    spent: Spent,
    warnings: Vec<String>,
}

impl CompactOptions {
    fn chosen(&self) -> Chosen {
        Chosen {
            tail_turns: self.tail_turns.unwrap_or(TAIL_TURNS),
            keep_recent: self.keep_recent,
            target_tokens: self.target_tokens,
        }
    }

    fn go_on(&self) -> Result<(), KeepError> {
        match &self.cancel {
            Some(cancel) if cancel.get() => Err(KeepError::Cancelled),
            _ => Ok(()),
        }
    }

    /// The most tokens of the statements that are to replace `before` tokens beside `raw`.
    fn budget(&self, before: u64, raw: u64) -> u32 {
        let wanted = match (self.summary_tokens, self.target_tokens) {
            (Some(tokens), _) => u64::from(tokens),
            (None, Some(target)) => target.saturating_sub(raw).max(256),
            (None, None) => (before / 5).clamp(200, 8_000),
        };
        // The words around the statements take about this many.
        let room = wanted.saturating_sub(AROUND).min(before.saturating_sub(before / 4 + AROUND)).max(16);
        u32::try_from(room).unwrap_or(u32::MAX)
    }
}

const AROUND: u64 = 40;

impl<S: Store> Keep<S> {
    /// Compacts the chain that ends at `at` (a head's name, or a node or an alias of it): makes a checkpoint of its old part, and
    /// stores it in one commit with the episodes and facts that the summariser found. The originals stay as they are.
    ///
    /// # Errors
    /// `missing-node`; `vocabulary-missing`; `summary-refused` where the summary is empty, calls tools or is not smaller than what
    /// it replaces; `summariser-failed`; `cancelled`; those of a chain; the store's. Nothing was stored then.
    pub async fn compact(
        &self,
        at: &str,
        options: &CompactOptions,
        summariser: &dyn Summariser,
    ) -> Result<Compacted, KeepError> {
        let counter = self.counter(options.encoding)?;
        let (transcript, leaf) = self.place(at).await?;
        let (job, content) = self.job(&transcript, &leaf, options, counter.as_ref()).await?;
        let Some(job) = job else {
            self.settle_request(at, &content);
            return Ok(Compacted::default());
        };
        let made = self.summarised(&job, options, summariser, counter.as_ref()).await?;
        options.go_on()?;
        let message = summary_message(&made.statements, &job.covers, &job.window.anchor);
        let after =
            message.as_ref().map_or(0, |message| u64::from(cost(message, options.provider, counter.as_ref()).total()));
        if after >= job.before {
            return Err(Refused::NotSmaller { before: job.before, after }.into());
        }
        let by = if job.strategy == Strategy::SlidingWindow { job.strategy.name() } else { summariser.name() };
        let (mut done, found) = self.records(&transcript, &job, made, by, after);
        done.summary_messages = message.into_iter().collect();
        options.go_on()?;
        if options.preview {
            self.merge_facts(&transcript, &self.memories().await?, &found, &mut done);
        } else {
            if !self.store_checkpoint(&transcript, &job, &found, &mut done).await? {
                done = Compacted { warnings: done.warnings, ..Compacted::default() };
            }
            self.settle_request(at, &content);
        }
        Ok(done)
    }

    /// Chooses what is to be done, and takes it out of the transcript; gives what names the chain's content too.
    async fn job(
        &self,
        transcript: &TranscriptId,
        leaf: &MessageId,
        options: &CompactOptions,
        counter: &dyn Counter,
    ) -> Result<(Option<Job>, String), KeepError> {
        let chosen = options.chosen();
        let job = self.glance(transcript, |log| {
            let mut chain = Chain::new(&log.tree, leaf)?;
            let (pins, _) = chain.pins(&log.tree, &options.pins);
            let build = threadkeep_core::context::Options {
                provider: options.provider,
                pins: pins.clone(),
                live: true,
                ..Default::default()
            };
            let content = content(leaf, chain.items.len());
            let before = chain.lay(&log.tree, None, &pins)?;
            let prepared = {
                let shelf = &mut *self.inner.shelf.borrow_mut();
                chain.prepared(shelf, log, &build, options.encoding, counter)
            };
            let found = window(&chain.placed, &chain.items, &prepared, chain.laid.end, &chosen, &pins);
            let Some(window) = found else { return Ok((None, content)) };
            let costs = prepared.costs();
            let mut held = Vec::new();
            let mut at = window.start;
            for piece in window.pieces(&chain.items) {
                while !std::ptr::eq(chain.items[at].message, piece.message) {
                    at += 1;
                }
                held.push(Held {
                    node: piece.node.clone(),
                    index: piece.index,
                    turn: piece.turn,
                    tokens: u64::from(costs[at]),
                    message: piece.message.clone(),
                });
            }
            let carried = before.map(|before| before.statements.clone()).unwrap_or_default();
            let summary = before.and_then(Checkpoint::message);
            let replaced = window.tokens
                + summary.map_or(0, |message| u64::from(cost(&message, options.provider, counter).total()));
            let job = Job {
                generation: log.generation.clone(),
                seen: log.tree.next_seq(),
                strategy: options.strategy.or(before.map(|before| before.strategy)).unwrap_or_default(),
                held,
                carried,
                previous: before.map(|before| before.id.clone()),
                history: prepared.figures().tokens,
                before: replaced,
                budget: options.budget(replaced, window.raw),
                covers: Covers {
                    from: window.from.clone(),
                    nodes: window.nodes,
                    messages: window.end as u32,
                    first_turn: window.first_turn,
                    last_turn: window.last_turn,
                },
                chosen,
                window,
            };
            Ok((Some(job), content))
        });
        job.await
    }

    /// Has the material summarised as the strategy says.
    async fn summarised(
        &self,
        job: &Job,
        options: &CompactOptions,
        summariser: &dyn Summariser,
        counter: &dyn Counter,
    ) -> Result<Made, KeepError> {
        let mut made = Made { statements: job.carried.clone(), ..Made::default() };
        let levels = job.strategy == Strategy::Hierarchical;
        let chunks = if job.strategy == Strategy::SlidingWindow {
            Vec::new()
        } else {
            chunks(&job.held, summariser.input_tokens())
        };
        let share_of = |chunk: &Range<usize>| (job.budget / 2) / (job.held.len().max(1) as u32) * chunk.len() as u32;
        let mut fresh = 0;
        for chunk in &chunks {
            options.go_on()?;
            let pieces = job.held[chunk.clone()].iter().map(Held::piece).collect();
            let carried: &[Statement] = if levels { &[] } else { &made.statements };
            let budget = if levels { share_of(chunk).max(16) } else { job.budget };
            let material = Material { carried, pieces, budget };
            let given = job.held[chunk.clone()].iter().map(|held| held.tokens).sum::<u64>() + tokens(carried, counter);
            let Answered { summary, warnings } =
                summariser.summarise(&material, counter).await.map_err(KeepError::Summariser)?;
            check(&summary.statements)?;
            made.spent.add(given, &summary, counter);
            made.warnings.extend(warnings);
            let mut statements = summary.statements.clone();
            statements.retain(|statement| !statement.text.trim().is_empty());
            if levels {
                fresh += statements.len();
                made.statements.extend(statements);
            } else {
                made.statements = statements;
            }
            made.episodes.push((chunk.clone(), summary));
        }
        let mut fresh = made.statements.len() - fresh..made.statements.len();
        for level in (0..=TOP_LEVEL).filter(|_| levels) {
            let places = outgrown(&made.statements, level, &fresh, job.budget, counter);
            if places.is_empty() {
                fresh = 0..0;
                continue;
            }
            options.go_on()?;
            let carried: Vec<Statement> = places.iter().map(|at| made.statements[*at].clone()).collect();
            let budget = share(job.budget, level.saturating_add(1)).max(16);
            let material = Material { carried: &carried, pieces: Vec::new(), budget };
            let Answered { summary, warnings } =
                summariser.summarise(&material, counter).await.map_err(KeepError::Summariser)?;
            check(&summary.statements)?;
            made.spent.add(tokens(&carried, counter), &summary, counter);
            made.warnings.extend(warnings);
            fresh = merge(&mut made.statements, &places, summary.statements, counter).unwrap_or(0..0);
        }
        if job.strategy != Strategy::SlidingWindow {
            check(&made.statements)?;
        }
        Ok(made)
    }

    /// The records that a compaction stores, and the facts that are to be merged into what is remembered.
    fn records(
        &self,
        transcript: &TranscriptId,
        job: &Job,
        made: Made,
        by: &str,
        after: u64,
    ) -> (Compacted, Vec<FoundFact>) {
        let now = self.now();
        let (mut episodes, mut found) = (Vec::new(), Vec::new());
        for (chunk, summary) in made.episodes {
            let held = &job.held[chunk];
            found.extend(summary.facts);
            if summary.episode.trim().is_empty() {
                continue;
            }
            let mut turns: Vec<u32> = held.iter().map(|held| held.turn).filter(|turn| *turn > 0).collect();
            turns.dedup();
            episodes.push(Episode {
                id: self.minted("ep_"),
                created_at: now,
                transcript: Some(transcript.clone()),
                turns,
                summary: summary.episode,
                tags: summary.tags,
                salience: summary.salience,
                sources: held.iter().map(Held::source).collect(),
                pinned: false,
            });
        }
        let checkpoint = Checkpoint {
            id: self.minted("cp_"),
            anchor: job.window.anchor.clone(),
            covers: job.covers.clone(),
            statements: made.statements,
            episodes: episodes.iter().map(|episode| episode.id.clone()).collect(),
            facts: Vec::new(),
            strategy: job.strategy,
            summariser: by.to_owned(),
            policy: job.chosen.clone(),
            tokens_before: job.before,
            tokens_after: after,
            created_at: now,
            previous: job.previous.clone(),
        };
        let done = Compacted {
            checkpoint: Some(checkpoint),
            summary_messages: Vec::new(),
            compacted_range: 0..job.window.end,
            tokens_before: job.history,
            tokens_after: job.history - job.before + after,
            cost: made.spent,
            episodes,
            facts: Vec::new(),
            warnings: made.warnings,
        };
        (done, found)
    }

    /// Merges the found facts into what is remembered.
    fn merge_facts(&self, transcript: &TranscriptId, known: &Memories, found: &[FoundFact], done: &mut Compacted) {
        let Remembered { changed, ids } = self.merged(known, found.to_vec(), Some(transcript));
        done.facts = changed;
        if let Some(checkpoint) = &mut done.checkpoint {
            checkpoint.facts = ids.into_iter().flatten().collect();
        }
    }

    /// Stores the checkpoint with what comes with it. `false`, and nothing is stored, where its anchor is gone, or another writer
    /// has made one for the same anchor since the window was chosen.
    async fn store_checkpoint(
        &self,
        transcript: &TranscriptId,
        job: &Job,
        found: &[FoundFact],
        done: &mut Compacted,
    ) -> Result<bool, KeepError> {
        let _writing = self.writing().await;
        for _ in 0..TRIES {
            let known = self.memories().await?;
            self.merge_facts(transcript, &known, found, done);
            let Some(checkpoint) = &done.checkpoint else { return Ok(false) };
            let (episodes, facts) = (done.episodes.clone(), done.facts.clone());
            let change = MemoryChange { episodes, facts, ..MemoryChange::default() };
            let mut extra = Commit::default();
            known.commit(&change, self.random(), &mut extra)?;
            // Asked again, somebody else has written; perhaps to what is remembered, which is read again then.
            let mut asked = false;
            let written = self.write(transcript, |log: &Log| {
                let mut since = log.tree.checkpoints().filter(|(seq, _)| *seq >= job.seen);
                let overtaken = since.any(|(_, other)| other.anchor == checkpoint.anchor);
                let gone = log.generation != job.generation || log.tree.get(&checkpoint.anchor).is_none();
                if overtaken || gone || std::mem::replace(&mut asked, true) {
                    return Ok(Write::new(Vec::new(), Some(!overtaken && !gone)));
                }
                let mut write = Write::new(vec![Entry::Checkpoint(Box::new(checkpoint.clone()))], None);
                write.extra = extra.clone();
                Ok(write)
            });
            let written = match written.await {
                Err(KeepError::Store(StoreError::Conflict { key })) if keys::is_memory_mark(&key) => continue,
                written => written?,
            };
            match written {
                Some(None) => {
                    self.changed(transcript, vec![checkpoint.anchor.clone()]);
                    if let Some(event) = change.event() {
                        self.emit(&event);
                    }
                    return Ok(true);
                }
                Some(Some(true)) => {}
                Some(Some(false)) | None => return Ok(false),
            }
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    fn minted(&self, kind: &str) -> String {
        format!("{kind}{:016x}", self.random())
    }

    /// The checkpoints whose anchors are on the chain that ends at `at`, the shallowest anchor first; the last is the one that
    /// the chain uses.
    ///
    /// # Errors
    /// `missing-node`; those of a chain; the store's.
    pub async fn checkpoints(&self, at: &str) -> Result<Vec<Checkpoint>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found = self.glance(&transcript, |log| {
            let chain = log.tree.chain(&leaf)?;
            Ok(log.tree.checkpoints_on(&chain).into_iter().map(|(_, _, checkpoint)| checkpoint.clone()).collect())
        });
        found.await
    }

    /// The epochs of the chain that ends at `at`, the original one first. [`Keep::context`] with an epoch's leaf and
    /// checkpoint gives the prompt as it was then.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn epochs(&self, at: &str) -> Result<Vec<EpochInfo>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found =
            self.glance(&transcript, |log| Ok(log.tree.epochs(&leaf)?.into_iter().map(EpochInfo::from).collect()));
        found.await
    }

    /// Looks at what a response reported (`prompt_tokens` of its usage), and asks for a compaction of `at` where the policy wants
    /// one. Gives why one is pending.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn after_response(
        &self,
        at: &str,
        prompt_tokens: Option<u64>,
        policy: &Policy,
    ) -> Result<Option<Reason>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found = self.glance(&transcript, |log| {
            let mut chain = Chain::new(&log.tree, &leaf)?;
            chain.lay(&log.tree, None, &[])?;
            let uncovered = chain.items.len().saturating_sub(chain.laid.end) as u32;
            Ok((policy.reason(prompt_tokens, uncovered), content(&leaf, chain.items.len())))
        });
        let (reason, content) = found.await?;
        Ok(self.with_requests(at, |requests| {
            if let Some(reason) = reason {
                requests.request(reason, &content);
            }
            requests.pending()
        }))
    }

    /// Asks for a compaction of `at` by hand.
    pub fn request_compaction(&self, at: &str) {
        self.with_requests(at, |requests| requests.request(Reason::Manual, ""));
    }

    /// Why a compaction of `at` is pending; `None` where none is.
    pub fn compaction_required(&self, at: &str) -> Option<Reason> {
        self.with_requests(at, |requests| requests.pending())
    }

    /// Takes a request back, as if it had been carried out on what the chain is now.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn clear_compaction_request(&self, at: &str) -> Result<(), KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let length = self.glance(&transcript, |log| Ok(log.tree.messages(&leaf)?.len())).await?;
        self.settle_request(at, &content(&leaf, length));
        Ok(())
    }

    fn settle_request(&self, at: &str, content: &str) {
        self.with_requests(at, |requests| requests.settle(content));
    }

    fn with_requests<T>(&self, at: &str, act: impl FnOnce(&mut Requests) -> T) -> T {
        let all = &mut self.inner.shelf.borrow_mut().requests;
        let place = all.iter().position(|(name, _)| name == at).unwrap_or_else(|| {
            all.push((at.to_owned(), Requests::default()));
            all.len() - 1
        });
        act(&mut all[place].1)
    }
}

/// The policy of a call; see [`Policy::resolve`].
pub fn policy(call: &PolicyOptions, keep: &PolicyOptions, model: Option<&str>) -> Policy {
    Policy::resolve(call, keep, model)
}

/// What names the content of a chain: it changes whenever something is added.
fn content(leaf: &MessageId, messages: usize) -> String {
    [leaf.as_str(), "#", &messages.to_string()].concat()
}

/// An epoch of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochInfo {
    /// Its checkpoint; `None` for the original one.
    pub checkpoint: Option<Checkpoint>,
    /// The places of the messages that its prompts have raw, up to those that were there when it ended.
    pub messages: Range<usize>,
    /// The node that was the chain's end then.
    pub leaf: MessageId,
}

impl EpochInfo {
    /// Its name in the option `epoch`: the checkpoint's id, or `original`.
    pub fn name(&self) -> &str {
        self.checkpoint.as_ref().map_or("original", |checkpoint| &checkpoint.id)
    }
}

impl From<Epoch<'_>> for EpochInfo {
    fn from(epoch: Epoch) -> Self {
        let (start, end) = (epoch.start, epoch.end.max(epoch.start));
        Self { checkpoint: epoch.checkpoint.cloned(), messages: start..end, leaf: epoch.leaf }
    }
}

impl Held {
    fn piece(&self) -> Piece<'_> {
        Piece { node: &self.node, index: self.index, turn: self.turn, message: &self.message }
    }

    fn source(&self) -> Source {
        Source { node: self.node.clone(), index: self.index }
    }
}

impl Spent {
    fn add(&mut self, given: u64, summary: &Summary, counter: &dyn Counter) {
        self.calls += 1;
        self.input_tokens += given;
        self.output_tokens += tokens(&summary.statements, counter) + u64::from(counter.count(&summary.episode));
    }
}

/// Cuts what is to be summarised into pieces of at most `limit` tokens: between turns where that can be, else before
/// a message that is no tool's result. A message that is larger alone stays alone.
fn chunks(held: &[Held], limit: Option<u64>) -> Vec<Range<usize>> {
    let limit = limit.unwrap_or(u64::MAX);
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < held.len() {
        let (mut end, mut sum) = (start, 0);
        while end < held.len() && (end == start || held[end].tokens <= limit - sum) {
            sum = held[end].tokens.saturating_add(sum).min(limit);
            end += 1;
        }
        if end < held.len() {
            let turns = (start + 1..=end).rev().find(|at| held[*at].turn != held[*at - 1].turn);
            let free = |at: &usize| held[*at].message.role != threadkeep_core::Role::Tool;
            end = turns.or_else(|| (start + 1..=end).rev().find(free)).unwrap_or(end);
        }
        chunks.push(start..end);
        start = end;
    }
    chunks
}
