//! Contexts: the exact prompt of a chain for a budget, and what a budget would keep of it.
//!
//! Goes in: a leaf or a head, and options. Comes out: a prompt with its account, or (for a slider) only the decision. The
//! chain comes from the cached transcript; what was once read and counted of it is kept between calls, so that another
//! budget, policy or pin reads no text, and a chain that grew is read from where it had ended. What is kept, and why, is
//! `threadkeep_context`'s.

use std::collections::HashMap;
use std::rc::Rc;

use threadkeep_compaction::memory::{MemoryBundle, MemoryOrigin, recall};
use threadkeep_compaction::overlay;
use threadkeep_context::tokens::{Counter, Estimate, Overhead, cost};
use threadkeep_context::{
    Budget, Fit, Frame, History, Item, Material, MessageRef, Options, Plan, Policy, Prepared, Preparing, Previews,
    Replacement, System, Warning, WarningKind, chain_items, frame_figures, prepare_with, preview,
};
use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::sort;
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Message, MessageId, Role, Transcript, TranscriptId};
use threadkeep_store::Store;
use threadkeep_tokens::{Bpe, Encoding};

use crate::hash::mark;
use crate::log::Log;
use crate::passages::{Chain as Indexed, Making, Passages};
use crate::path::{End, Path, Walk};
use crate::protocol::{
    BadRequest, ContextOptions, ContextReply, Counting, FitReply, Instead, MarkRun, MemoryFilter, Recent, Wanted,
    WhatIf,
};
use crate::{Keep, KeepError};

/// The least number of prepared chains that are kept: two policies or providers side by side, each with the request before.
const LEAST: usize = 6;
/// The most of them.
const MOST: usize = 256;

/// The epoch before the first checkpoint.
const ORIGINAL: &str = "original";

/// A chain that was read and counted.
#[derive(Clone)]
struct Ready {
    transcript: TranscriptId,
    generation: String,
    path: Rc<Path>,
    /// Where on the path it ends.
    end: End,
    laid: Laid,
    preparing: Preparing,
    encoding: Counting,
    prepared: Rc<Prepared>,
}

/// What is kept between calls: vocabularies, and the chains that were used last, newest last. A server has many conversations under way:
/// the chain of each is read and counted once if all of them have room. A clone shares what was counted.
#[derive(Clone)]
pub(crate) struct PromptCache {
    vocabularies: Vec<Rc<Bpe>>,
    ready: Vec<Ready>,
    paths: Vec<Rc<Path>>,
    /// What was indexed of chains, for passages.
    pub(crate) indexed: Vec<Indexed>,
    /// How many bytes the prepared chains may take. [`LEAST`] of them stay whatever they take.
    room: usize,
}

/// Which checkpoint was laid over a chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Laid {
    /// Its id; empty for none.
    pub(crate) checkpoint: String,
    /// The place behind what it covers.
    pub(crate) end: usize,
    /// Which of that stays raw.
    pub(crate) stays: Vec<bool>,
    /// The places of the results that it cleared.
    cleared: Vec<usize>,
}

impl PromptCache {
    /// An empty one that may take about so many bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { vocabularies: Vec::new(), ready: Vec::new(), paths: Vec::new(), indexed: Vec::new(), room }
    }

    /// Makes room for one more chain: those that were used longest ago go.
    fn shrink(&mut self) {
        let mut bytes: usize = self.ready.iter().map(|ready| ready.prepared.bytes()).sum();
        let mut gone = 0;
        for ready in &self.ready {
            let left = self.ready.len() - gone;
            if left < LEAST || left < MOST && bytes <= self.room {
                break;
            }
            bytes -= ready.prepared.bytes();
            gone += 1;
        }
        self.ready.drain(..gone);
    }

    /// Lets go of the chains of a transcript: they may hold texts.
    pub(crate) fn forget(&mut self, transcript: &TranscriptId) {
        self.ready.retain(|ready| ready.transcript != *transcript);
        self.indexed.retain(|indexed| indexed.transcript != *transcript);
    }

    /// Lets go of the chains.
    pub(crate) fn clear(&mut self) {
        self.ready.clear();
        self.paths.clear();
        self.indexed.clear();
    }

    /// The path to a leaf.
    pub(crate) fn path(&mut self, log: &Log, leaf: &MessageId) -> Result<Rc<Path>, KeepError> {
        Path::of((&log.tree, log.reading), leaf, &mut self.paths, self.ready.len().max(LEAST) + 1)
    }

    /// The first messages of a path, read and counted, from the cache as far as they go.
    fn prepared<'a>(
        &mut self,
        log: &Log,
        (path, end): (&Rc<Path>, End),
        history: &dyn History<'a>,
        (laid, comes): (&Laid, &[Replacement]),
        preparing: Preparing,
        (encoding, counter): (Counting, &dyn Counter),
    ) -> Rc<Prepared> {
        let same = |ready: &Ready| {
            ready.transcript == *log.tree.id() && ready.generation == log.generation && ready.encoding == encoding
        };
        let fits = |ready: &Ready| same(ready) && ready.preparing == preparing && ready.laid == *laid;
        if let Some(at) = self.ready.iter().rposition(|ready| fits(ready) && ready.end == end) {
            self.ready[at..].rotate_left(1);
            return Rc::clone(&self.ready[self.ready.len() - 1].prepared);
        }
        let begins = |ready: &Ready| fits(ready) && ready.end.messages <= end.messages && path.goes_on(ready.end);
        let longest = if preparing.grows() {
            (0..self.ready.len()).filter(|at| begins(&self.ready[*at])).max_by_key(|at| self.ready[*at].prepared.len())
        } else {
            None
        };
        let prepared = match longest {
            Some(at) => {
                let mut prepared = self.ready.remove(at).prepared;
                Rc::make_mut(&mut prepared).grow(history, counter);
                prepared
            }
            None => {
                // Another branch, or other options: what was counted there is not counted again.
                let mut items: Vec<Item> = (0..history.len()).filter_map(|index| history.item(index)).collect();
                let near =
                    self.ready.iter().filter(|ready| same(ready) && ready.preparing.provider == preparing.provider);
                let common = |ready: &Ready| path.common(&ready.path, ready.end.messages);
                if let Some(near) = near.max_by_key(|ready| common(ready)) {
                    for (index, item) in items.iter_mut().enumerate().take(common(near)) {
                        item.cost = near.prepared.known_cost(index);
                    }
                }
                Rc::new(prepare_with(&items, comes.to_vec(), preparing.clone(), counter))
            }
        };
        self.shrink();
        self.ready.push(Ready {
            transcript: log.tree.id().clone(),
            generation: log.generation.clone(),
            path: Rc::clone(path),
            end,
            laid: laid.clone(),
            preparing,
            encoding,
            prepared: Rc::clone(&prepared),
        });
        prepared
    }
}

/// A chain with what is to be done to it.
pub(crate) struct Chain<'a> {
    pub(crate) placed: Vec<&'a Placed>,
    pub(crate) items: Vec<Item<'a>>,
    path: Rc<Path>,
    pub(crate) laid: Laid,
    /// What stands in for messages: the summary, and marks for what was cleared.
    comes: Vec<Replacement>,
}

impl<'a> Chain<'a> {
    pub(crate) fn new(tree: &'a Transcript, leaf: &MessageId) -> Result<Self, KeepError> {
        Self::along(Path::of((tree, 0), leaf, &mut Vec::new(), 1)?, tree, leaf)
    }

    /// The chain of a path.
    fn along(path: Rc<Path>, tree: &'a Transcript, leaf: &MessageId) -> Result<Self, KeepError> {
        let (items, placed) = (chain_items(tree, leaf)?, path.nodes(tree));
        Ok(Self { items, placed, path, laid: Laid::default(), comes: Vec::new() })
    }

    /// Lays the checkpoint of an epoch over the chain: that of the id, none for `original`, and the one that the chain uses where
    /// nothing is said. Gives it.
    pub(crate) fn lay(
        &mut self,
        tree: &'a Transcript,
        epoch: Option<&str>,
        pins: &[usize],
    ) -> Result<Option<&'a Checkpoint>, KeepError> {
        let found = match epoch {
            Some(ORIGINAL) => None,
            Some(id) => {
                // One that was withdrawn, too: prompts of its time had it.
                let named = tree.checkpoint(id);
                let found = named.and_then(|it| Some((tree.place_on(&self.placed, &it.anchor)?, it)));
                Some(found.ok_or_else(|| BadRequest {
                    argument: "options.epoch".to_owned(),
                    why: "names no checkpoint of this chain; there is also original".to_owned(),
                })?)
            }
            None => tree.checkpoints_on(&self.placed).pop().map(|(place, _, checkpoint)| (place, checkpoint)),
        };
        let Some((place, checkpoint)) = found else { return Ok(None) };
        self.lay_at(place, checkpoint, pins);
        Ok(Some(checkpoint))
    }

    /// Lays a checkpoint over the chain that need not be stored. Without its anchor on the chain, nothing changes.
    pub(crate) fn lay_given(&mut self, checkpoint: &Checkpoint, pins: &[usize]) {
        if let Some(place) = self.placed.iter().position(|placed| placed.node.id == checkpoint.anchor) {
            self.lay_at(place, checkpoint, pins);
        }
    }

    fn lay_at(&mut self, place: usize, checkpoint: &Checkpoint, pins: &[usize]) {
        let end = self.placed[..checkpoint.end(place)].iter().map(|placed| placed.node.messages.len()).sum();
        let stays = overlay::stays(&self.items, end, pins);
        self.comes = overlay::lay(&mut self.items, end, checkpoint, &stays).into_iter().collect();
        let marks = overlay::clear(&self.items, checkpoint, pins);
        let cleared = marks.iter().map(|mark| mark.index).collect();
        self.comes.extend(marks);
        self.laid = Laid { checkpoint: checkpoint.id.clone(), end, stays, cleared };
    }

    /// What the chain was prepared to, from the cache as far as it goes.
    pub(crate) fn prepared(
        &self,
        cache: &mut PromptCache,
        log: &Log,
        options: &Options,
        encoding: Counting,
        counter: &dyn Counter,
    ) -> Rc<Prepared> {
        let over = (&self.laid, self.comes.as_slice());
        cache.prepared(log, (&self.path, self.path.end()), &self.items, over, options.preparing(), (encoding, counter))
    }

    /// The places of pins and of the transcript's own, and how many of the former are at no message of the chain.
    pub(crate) fn pins(&self, tree: &Transcript, pins: &[MessageRef]) -> (Vec<usize>, usize) {
        places(&self.path, tree, pins)
    }
}

/// A request that was made before, as the chain, the pins and the memory were then.
pub(crate) struct Past<'a> {
    /// How many messages the node at the end had.
    pub(crate) messages: usize,
    /// What was pinned.
    pub(crate) pins: Vec<MessageRef>,
    /// The checkpoint that stood in for the old part.
    pub(crate) checkpoint: Option<String>,
    /// A checkpoint that is not stored, in place of that one.
    pub(crate) given: Option<&'a Checkpoint>,
    /// The marks of the remembered records that were at hand, best first.
    pub(crate) memory: &'a [String],
}

/// The places on a path of pins and of the transcript's own, and how many of the former are at none.
fn places(path: &Path, tree: &Transcript, pins: &[MessageRef]) -> (Vec<usize>, usize) {
    let (mut all, lost) = places_of(path, tree, pins);
    let own = tree.pins().filter_map(|id| path.range(tree.get(id)?.seq));
    all.extend(own.flat_map(|(start, end)| start..end));
    (all, lost)
}

/// The places on a path of pins, and how many are at none.
fn places_of(path: &Path, tree: &Transcript, pins: &[MessageRef]) -> (Vec<usize>, usize) {
    let (mut places, mut lost) = (Vec::new(), 0);
    for pin in pins {
        let before = places.len();
        let (id, index) = match pin {
            MessageRef::Index(place) => {
                places.extend(Some(*place).filter(|place| *place < path.end().messages));
                (None, None)
            }
            MessageRef::Node(id) => (Some(id), None),
            MessageRef::InNode(id, index) => (Some(id), Some(*index)),
        };
        let node = id.and_then(|id| MessageId::new(id.as_str()).ok()).and_then(|id| tree.get(&id));
        if let Some((start, end)) = node.and_then(|node| path.range(node.seq)) {
            places.extend((start..end).filter(|place| index.is_none_or(|index| start + index == *place)));
        }
        lost += usize::from(places.len() == before);
    }
    (places, lost)
}

/// A path with the checkpoint that is laid over it: the messages as prompts see them.
enum Held<'a> {
    /// No checkpoint is in the way: messages are looked up as they are needed.
    Plain(Rc<Path>),
    Laid(Box<Chain<'a>>),
}

impl<'a> Held<'a> {
    fn new(
        cache: &mut PromptCache,
        log: &'a Log,
        leaf: &MessageId,
        options: &ContextOptions,
    ) -> Result<(Self, Options, usize), KeepError> {
        let path = cache.path(log, leaf)?;
        let (pins, lost) = places(&path, &log.tree, &options.pins);
        let build = with_pins(options, pins);
        let held = Self::along(path, log, leaf, options.epoch.as_deref(), &build.pins)?;
        Ok((held, build, lost))
    }

    /// The same for a request that was made before.
    fn then(
        cache: &mut PromptCache,
        log: &'a Log,
        leaf: &MessageId,
        options: &ContextOptions,
        past: &Past,
    ) -> Result<(Self, Options, usize), KeepError> {
        let path = cache.path(log, leaf)?;
        let (own, lost) = places_of(&path, &log.tree, &options.pins);
        let (pinned, _) = places_of(&path, &log.tree, &past.pins);
        let build = with_pins(options, own.into_iter().chain(pinned).collect());
        if let Some(given) = past.given {
            let mut chain = Chain::along(path, &log.tree, leaf)?;
            chain.lay_given(given, &build.pins);
            return Ok((Self::Laid(Box::new(chain)), build, lost));
        }
        let epoch = past.checkpoint.as_deref().unwrap_or(ORIGINAL);
        let held = Self::along(path, log, leaf, Some(epoch), &build.pins)?;
        Ok((held, build, lost))
    }

    /// A path as the prompts of an epoch see it: see [`Chain::lay`].
    fn along(
        path: Rc<Path>,
        log: &'a Log,
        leaf: &MessageId,
        epoch: Option<&str>,
        pins: &[usize],
    ) -> Result<Self, KeepError> {
        let on_it = |checkpoint: &Checkpoint| log.tree.get(&checkpoint.anchor).and_then(|at| path.range(at.seq));
        let any = log.tree.checkpoints().any(|(_, checkpoint)| on_it(checkpoint).is_some());
        if epoch == Some(ORIGINAL) || !any && epoch.is_none() {
            return Ok(Self::Plain(path));
        }
        let mut chain = Chain::along(path, &log.tree, leaf)?;
        chain.lay(&log.tree, epoch, pins)?;
        Ok(Self::Laid(Box::new(chain)))
    }

    fn path(&self) -> &Rc<Path> {
        match self {
            Self::Plain(path) => path,
            Self::Laid(chain) => &chain.path,
        }
    }

    /// What was laid over it, and what comes in.
    fn over(&self) -> (Laid, &[Replacement]) {
        match self {
            Self::Plain(_) => (Laid::default(), &[]),
            Self::Laid(chain) => (chain.laid.clone(), &chain.comes),
        }
    }

    /// Looks at the first `messages` of it.
    fn with<T>(&self, log: &'a Log, messages: usize, look: impl FnOnce(&dyn History<'a>) -> T) -> T {
        match self {
            Self::Plain(path) => look(&Walk { tree: &log.tree, path, messages }),
            Self::Laid(chain) => look(&&chain.items[..messages.min(chain.items.len())]),
        }
    }
}

/// The prompt of a chain in a log: of the whole chain now, or of what there was of it. It reads no store.
pub(crate) fn prompt_in(
    cache: &mut PromptCache,
    log: &Log,
    leaf: &MessageId,
    options: &ContextOptions,
    memory: Found,
    past: Option<&Past<'_>>,
    counter: &dyn Counter,
) -> Result<ContextReply, KeepError> {
    let mut recalled = memory.marks();
    let (held, mut build, lost) = match past {
        None => Held::new(cache, log, leaf, options)?,
        Some(past) => Held::then(cache, log, leaf, options, past)?,
    };
    let (laid, comes) = held.over();
    let whole = held.path().end();
    let start = log.tree.get(leaf).and_then(|placed| held.path().range(placed.seq)).map_or(0, |(start, _)| start);
    let end = past.map_or(whole, |past| held.path().end_before(whole.messages.min(start + past.messages)));
    held.with(log, end.messages, |history| {
        let by = (options.encoding, counter);
        let prepared = cache.prepared(log, (held.path(), end), history, (&laid, comes), build.preparing(), by);
        let making = Making { tree: &log.tree, prepared: &prepared, history, render: &options.render, counter };
        let (left_out, quoted) = memory.enter(&making, &mut build);
        recalled.extend(quoted);
        let mut prompt = prepared.prompt(history, &build, &options.render, counter);
        if lost > 0 {
            prompt.warnings.push(option("pins", "a pin is at no message of this chain", lost));
        }
        if left_out > 0 {
            let words = "remembered records are left out: memory has a quarter of the budget, or memory.maxTokens";
            prompt.warnings.push(option("memory", words, left_out));
        }
        let mut reply = ContextReply::from(prompt);
        reply.checkpoint = Some(laid.checkpoint.clone()).filter(|id| !id.is_empty());
        reply.recalled = recalled;
        Ok(reply)
    })
}

impl<S: Store> Keep<S> {
    /// Loads a vocabulary: the asset `o200k_base.gz` or `cl100k_base.gz`, unpacked. Loading it again does nothing.
    ///
    /// # Errors
    /// `bad-request` when the bytes are not that encoding's.
    pub fn load_vocabulary(&self, encoding: Encoding, asset: &[u8]) -> Result<(), KeepError> {
        if !self.has_vocabulary(encoding) {
            let bpe = Bpe::load(encoding, asset).map_err(|error| KeepError::BadRequest(error.to_string()))?;
            self.add_vocabulary(Rc::new(bpe));
        }
        Ok(())
    }

    /// Takes a vocabulary that is loaded already, for several keeps to share. It takes the place of one that is there.
    pub fn add_vocabulary(&self, vocabulary: Rc<Bpe>) {
        let mut cache = self.inner.prompts.borrow_mut();
        cache.vocabularies.retain(|other| other.encoding() != vocabulary.encoding());
        cache.vocabularies.push(vocabulary);
    }

    /// Whether a vocabulary is loaded.
    pub fn has_vocabulary(&self, encoding: Encoding) -> bool {
        self.inner.prompts.borrow().vocabularies.iter().any(|bpe| bpe.encoding() == encoding)
    }

    pub(crate) fn counter(&self, counting: Counting) -> Result<Rc<dyn Counter>, KeepError> {
        let Counting::Exact(encoding) = counting else { return Ok(Rc::new(Estimate)) };
        let cache = self.inner.prompts.borrow();
        match cache.vocabularies.iter().find(|bpe| bpe.encoding() == encoding) {
            Some(bpe) => Ok(Rc::<Bpe>::clone(bpe)),
            None => Err(KeepError::MissingVocabulary(encoding)),
        }
    }

    /// The prompt of the chain that ends at `at` (a head's name, or a node or an alias of it) for a budget, with an
    /// account of every message. The same input gives the same prompt; nothing is stored.
    ///
    /// A prompt that is over its budget is no error: [`ContextReply::over_budget`] says so. Text is read once; another budget
    /// for the same chain is decided from the counts that were kept.
    ///
    /// # Errors
    /// `missing-node` where there is neither such a head nor such a node; `vocabulary-missing`; those of a chain; the store's.
    pub async fn context(&self, at: &str, options: &ContextOptions) -> Result<ContextReply, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let memory = self.remembered_for(&transcript, &leaf, options).await?;
        Box::pin(self.prompt_of(&transcript, &leaf, options, memory, None)).await
    }

    /// The prompt of a request that was made before.
    pub(crate) async fn context_then(
        &self,
        node: &MessageId,
        options: &ContextOptions,
        past: &Past<'_>,
    ) -> Result<ContextReply, KeepError> {
        let (transcript, leaf) = self.place(node.as_str()).await?;
        let memory = self.remembered_then(options, past.memory).await?;
        Box::pin(self.prompt_of(&transcript, &leaf, options, memory, Some(past))).await
    }

    /// A prompt with this memory: of the whole chain now, or of what there was of it.
    async fn prompt_of(
        &self,
        transcript: &TranscriptId,
        leaf: &MessageId,
        options: &ContextOptions,
        memory: Found,
        past: Option<&Past<'_>>,
    ) -> Result<ContextReply, KeepError> {
        let counter = self.counter(options.encoding)?;
        let reply = self.glance(transcript, |log| {
            let cache = &mut *self.inner.prompts.borrow_mut();
            prompt_in(cache, log, leaf, options, memory, past, counter.as_ref())
        });
        reply.await
    }

    /// What a budget keeps of a chain, without putting the prompt together: for a slider that is being dragged. The options
    /// are those of [`Keep::context`]. The chain is walked once, however much is asked.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn fit(&self, at: &str, options: &ContextOptions, what_if: WhatIf) -> Result<FitReply, KeepError> {
        let counter = self.counter(options.encoding)?;
        let (transcript, leaf) = self.place(at).await?;
        let memory = self.remembered_for(&transcript, &leaf, options).await?;
        let reply = self.glance(&transcript, |log| {
            let cache = &mut *self.inner.prompts.borrow_mut();
            let (held, mut build, _) = Held::new(cache, log, &leaf, options)?;
            let (laid, comes) = held.over();
            let (path, end, counter) = (held.path(), held.path().end(), counter.as_ref());
            let mut ready = |end: End, build: &Options, history: &dyn History| {
                cache.prepared(
                    log,
                    (path, end),
                    history,
                    (&laid, comes),
                    build.preparing(),
                    (options.encoding, counter),
                )
            };
            // What led to the model's last answer comes first, so that the chain itself ends up on top of the cache.
            let answered = held.with(log, end.messages, |history| {
                let is = |index: &usize| history.item(*index).is_some_and(|item| item.message.role == Role::Assistant);
                (0..end.messages).rev().find(is)
            });
            let earlier = answered.filter(|end| *end > laid.end);
            let earlier =
                earlier.map(|end| held.with(log, end, |history| (end, ready(path.end_before(end), &build, history))));
            let prepared = held.with(log, end.messages, |history| ready(end, &build, history));
            held.with(log, end.messages, |history| {
                let making = Making { tree: &log.tree, prepared: &prepared, history, render: &options.render, counter };
                memory.enter(&making, &mut build);
            });
            let frame = Frame::new(&build.frame, build.provider, counter);
            let around = |messages: usize| {
                held.with(log, messages, |history| frame_figures(&frame, history, &build, &options.render, counter))
            };
            let before = earlier.map(|(end, prepared)| (prepared, around(end)));
            let around = around(end.messages);
            let figures = frame.figures();
            let decide = |policy: Policy| {
                let plan = Plan { frame: around, policy, ..build.plan(&frame) };
                let fit = prepared.fit(&plan);
                let mut kinds = prepared.kinds(&fit);
                frame.add_kinds(&mut kinds);
                kinds.injected += around.minus(figures).tokens;
                let shared = before.as_ref().map(|(before, around)| {
                    let then = before.fit(&Plan { frame: *around, ..plan.clone() });
                    figures.tokens - u64::from(frame.reply()) + prepared.shared(&fit, before, &then)
                });
                (plan, fit, kinds, shared)
            };
            let instead = what_if.policy.map(|policy| {
                let (_, fit, kinds, shared) = decide(policy);
                let kept = prepared.kept(&fit).count();
                Instead { policy, figures: fit.figures, kept, over_budget: fit.over_budget, kinds, shared }
            });
            let (plan, fit, kinds, shared) = decide(build.policy);
            Ok(FitReply {
                runs: runs(&prepared, &fit, &frame),
                length: prepared.len(),
                figures: fit.figures,
                whole: prepared.figures(),
                limits: fit.limits,
                over_budget: fit.over_budget,
                kinds,
                frame: around.tokens,
                shared,
                smallest_budget: what_if.survives.and_then(|index| prepared.smallest_budget(&plan, index)),
                pushed_out: what_if.more.map(|tokens| prepared.pushed_out(&plan, tokens)).unwrap_or_default(),
                costs: if what_if.costs { prepared.costs() } else { Vec::new() },
                instead,
                checkpoint: Some(laid.checkpoint.clone()).filter(|id| !id.is_empty()),
            })
        });
        reply.await
    }

    /// The message with the full output that a preview in a prompt of this chain names by its path
    /// (`@state/logs/tool-results/<call id>.json`); `None` for any other path.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn tool_result(&self, at: &str, path: &str) -> Result<Option<Message>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found = self.glance(&transcript, |log| {
            let messages = log.tree.messages(&leaf)?;
            Ok(preview::find(path, messages.into_iter()).cloned())
        });
        found.await
    }

    /// The newest messages at a head, in order, within the limits, tool calls with their results. See [`Recent`].
    ///
    /// # Errors
    /// The store's. A head that does not exist has no messages.
    pub async fn get_recent(&self, context: &str, recent: &Recent) -> Result<Vec<Message>, KeepError> {
        let place = self.at_head(context, |tree, node| Ok((tree.id().clone(), node.clone())));
        let Some((transcript, leaf)) = place.await? else { return Ok(Vec::new()) };
        let system = match recent.include_system {
            None => System::Plain,
            Some(true) => System::Kept,
            Some(false) => System::Excluded,
        };
        let build = Options { system, previews: Previews::Never, live: true, ..Options::default() };
        let found = self.glance(&transcript, |log| {
            let cache = &mut *self.inner.prompts.borrow_mut();
            let path = cache.path(log, &leaf)?;
            let held = Held::along(path, log, &leaf, (!recent.include_summary).then_some(ORIGINAL), &[])?;
            let (laid, comes) = held.over();
            let end = held.path().end();
            held.with(log, end.messages, |history| {
                let by = (Counting::Estimate, &Estimate as &dyn Counter);
                let prepared = cache.prepared(log, (held.path(), end), history, (&laid, comes), build.preparing(), by);
                let fit = prepared.fit(&Plan { budget: budget(recent), strict: true, ..Plan::default() });
                let mut places: Vec<usize> = prepared.kept(&fit).collect();
                sort::sort(&mut places);
                let message = |place: usize| match comes.iter().find(|comes| comes.index == place) {
                    Some(comes) => Some(comes.message.clone()),
                    None => history.item(place).map(|item| item.message.clone()),
                };
                Ok(places.into_iter().filter_map(message).collect())
            })
        });
        found.await
    }

    /// What of the memory is wanted, and found: about the newest user message of the chain, unless the options say about what.
    async fn remembered_for(
        &self,
        transcript: &TranscriptId,
        leaf: &MessageId,
        options: &ContextOptions,
    ) -> Result<Found, KeepError> {
        let Some(wanted) = &options.memory else { return Ok(Found::default()) };
        let ranking = self.ranking_for(wanted).await?;
        let asked = self.glance(transcript, |log| {
            let query = wanted.query.clone().or_else(|| newest_said(&log.tree, leaf));
            let cache = &mut *self.inner.prompts.borrow_mut();
            let (path, asked) = (cache.path(log, leaf)?, (query.as_deref(), self.now()));
            let passages = Passages::ranked((&path, &mut cache.indexed), log, asked, wanted, ranking);
            Ok((query, passages))
        });
        let (query, passages) = asked.await?;
        Ok(Found { passages, ..self.remembered_about(query.as_deref(), wanted).await? })
    }

    /// What of the memory is wanted, and found, about these words.
    pub(crate) async fn remembered_about(&self, query: Option<&str>, wanted: &Wanted) -> Result<Found, KeepError> {
        let filter = MemoryFilter { agent: wanted.agent.clone(), ..MemoryFilter::default() };
        let bundle = self.retrieve(&filter, query, wanted.limits).await?;
        Ok(Found::of(bundle, wanted))
    }

    /// What of these remembered records is still there, in their order.
    async fn remembered_then(&self, options: &ContextOptions, marks: &[String]) -> Result<Found, KeepError> {
        let Some(wanted) = &options.memory else { return Ok(Found::default()) };
        Ok(Found::then(self.bundle_then(marks).await?, wanted, marks))
    }

    /// The remembered records of these marks that are still there, in their order.
    pub(crate) async fn bundle_then(&self, marks: &[String]) -> Result<MemoryBundle, KeepError> {
        let mut bundle = MemoryBundle::default();
        if !marks.is_empty() {
            let known = self.memories().await?;
            let episodes: HashMap<String, _> = known.episodes.values().map(|it| (mark(&it.id), it)).collect();
            let facts: HashMap<String, _> = known.facts.iter().map(|it| (mark(&it.id), it)).collect();
            bundle.episodes = marks.iter().filter_map(|mark| Some((*episodes.get(mark)?).clone())).collect();
            bundle.facts = marks.iter().filter_map(|mark| Some((*facts.get(mark)?).clone())).collect();
        }
        Ok(bundle)
    }

    /// Reads a transcript that was just found, without asking the store again.
    pub(crate) async fn glance<T>(
        &self,
        transcript: &TranscriptId,
        look: impl FnOnce(&Log) -> Result<T, KeepError>,
    ) -> Result<T, KeepError> {
        let (mut look, mut answer) = (Some(look), None);
        self.peek(transcript, &mut |log| answer = look.take().map(|look| look(log))).await?;
        answer.unwrap_or_else(|| Err(KeepError::MissingTranscript(transcript.clone())))
    }

    /// The transcript and the node that a head's name, a node's id or an alias stands for; a head comes first.
    pub(crate) async fn place(&self, at: &str) -> Result<(TranscriptId, MessageId), KeepError> {
        let head = self.at_head(at, |tree, node| Ok((tree.id().clone(), node.clone())));
        if let Some(found) = head.await? {
            return Ok(found);
        }
        let id = MessageId::new(at)?;
        let found = self.locate(&id, |_, node| Ok(node.clone())).await?;
        found.ok_or(KeepError::MissingNode(id))
    }
}

/// The newest words of the user on the chain that ends at a node.
pub(crate) fn newest_said(tree: &Transcript, leaf: &MessageId) -> Option<String> {
    let mut next = tree.get(tree.resolve(leaf)?);
    while let Some(placed) = next {
        let said = placed
            .node
            .messages
            .iter()
            .rev()
            .filter(|message| message.include_in_context && MemoryOrigin::of(message) == MemoryOrigin::User);
        if let Some(text) = said.map(|message| message.text()).find(|text| !text.trim().is_empty()) {
            return Some(text.into_owned());
        }
        next = placed.node.parent.as_ref().and_then(|parent| tree.get(parent));
    }
    None
}

/// What was remembered for a prompt.
#[derive(Default)]
pub(crate) struct Found {
    bundle: MemoryBundle,
    /// What a memory service of the caller's remembers.
    text: Option<String>,
    /// The most tokens it may take, where that was said.
    most: Option<u64>,
    /// Old messages.
    pub(crate) passages: Passages,
}

impl Found {
    pub(crate) fn of(bundle: MemoryBundle, wanted: &Wanted) -> Self {
        let text = wanted.text.clone().filter(|text| !text.trim().is_empty());
        Self { bundle, text, most: wanted.max_tokens, passages: Passages::default() }
    }

    /// What a request had, by its marks.
    pub(crate) fn then(bundle: MemoryBundle, wanted: &Wanted, marks: &[String]) -> Self {
        Self { passages: Passages::noted(marks, wanted.passages), ..Self::of(bundle, wanted) }
    }

    /// The marks of the records, best first.
    fn marks(&self) -> Vec<String> {
        let episodes = self.bundle.episodes.iter().map(|it| mark(&it.id));
        episodes.chain(self.bundle.facts.iter().map(|it| mark(&it.id))).collect()
    }

    /// Puts into the frame what memory has room for: a quarter of the budget unless more was asked for, and never more than what must
    /// stay leaves. Whole records go, those ranked least first. Then come passages. Gives how many records are left out, and the marks
    /// of the passages.
    fn enter(mut self, making: &Making, build: &mut Options) -> (usize, Vec<String>) {
        let passages = std::mem::take(&mut self.passages);
        let left_out = self.enter_records(making, build);
        (left_out, passages.enter(making, build))
    }

    fn enter_records(self, making: &Making, build: &mut Options) -> usize {
        if self.bundle.is_empty() && self.text.is_none() {
            return 0;
        }
        let Making { prepared, history, render, counter, .. } = *making;
        let limits = build.budget.limits();
        let frame = Frame::new(&build.frame, build.provider, counter);
        let around = frame_figures(&frame, history, build, render, counter);
        let least = prepared.least(&Plan { frame: around, ..build.plan(&frame) });
        let room = |limit: Option<u64>, most: Option<u64>, used: u64| {
            let share = most.or(limit.map(|limit| limit / 4));
            let free = limit.map(|limit| limit.saturating_sub(used));
            share.into_iter().chain(free).min()
        };
        let closed = limits.underflow || limits.messages.is_some_and(|messages| messages <= least.messages);
        let tokens = if closed { Some(0) } else { room(limits.tokens, self.most, least.tokens) };
        let chars = room(limits.chars, None, least.chars);
        let fits = |material: &[Material]| {
            let Some(message) = Material::message(material) else { return true };
            let cost = u64::from(cost(&message, build.provider, counter).total());
            let long = message.text().encode_utf16().count() as u64;
            tokens.is_none_or(|most| cost <= most) && chars.is_none_or(|most| long <= most)
        };
        let all = self.bundle.episodes.len() + self.bundle.facts.len() + usize::from(self.text.is_some());
        // The marks around the message count too.
        let marks = Overhead::of(build.provider).message;
        let budget = tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX).saturating_sub(marks));
        let recalled = recall(&self.bundle, budget, counter);
        let mut material: Vec<Material> = recalled.material.into_iter().collect();
        let mut kept = self.bundle.episodes.len() + self.bundle.facts.len() - recalled.left_out;
        if !fits(&material) {
            (kept, material) = (0, Vec::new());
        }
        if let Some(text) = self.text {
            material.push(Material::new("a memory service", text));
            if fits(&material) {
                kept += 1;
            } else {
                material.pop();
            }
        }
        build.frame.memory = material;
        all - kept
    }
}

/// A warning about an option.
fn option(rule: &'static str, words: &str, count: usize) -> Warning {
    Warning { kind: WarningKind::Option, rule, message: words.to_owned(), index: None, count }
}

fn with_pins(options: &ContextOptions, pins: Vec<usize>) -> Options {
    let mut build = options.build.clone();
    build.pins.extend(pins);
    build
}

/// How many messages `get_recent` gives when no limit is named.
const RECENT: u32 = 50;

fn budget(recent: &Recent) -> Budget {
    let unlimited = recent.max_messages.is_none() && recent.max_tokens.is_none();
    Budget {
        max_messages: recent.max_messages.or(unlimited.then_some(RECENT)).map(u64::from),
        max_tokens: recent.max_tokens.map(u64::from),
        ..Budget::default()
    }
}

/// What became of each message, in the order of the chain.
fn runs(prepared: &Prepared, fit: &Fit, frame: &Frame) -> Vec<MarkRun> {
    let mut marks: Vec<_> = prepared.marks(fit).filter(|mark| !mark.injected).collect();
    sort::sort_by_key(&mut marks, |mark| mark.index);
    let mut runs: Vec<MarkRun> = Vec::new();
    for mark in marks {
        let rule = if mark.kept { mark.rule } else { frame.rule(mark.index, mark.rule) };
        match runs.last_mut() {
            Some(run) if (run.action, run.rule, run.kept) == (mark.action, rule, mark.kept) => run.count += 1,
            _ => runs.push(MarkRun { count: 1, action: mark.action, rule, kept: mark.kept }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use threadkeep_store::MemoryStore;

    use super::*;
    use crate::Host;

    /// Its random bytes are numbers that count up.
    struct Numbers(Cell<u64>);

    impl Host for Numbers {
        fn now(&self) -> i64 {
            0
        }

        fn random(&self) -> [u8; 32] {
            let mut bytes = [0; 32];
            for eight in bytes.chunks_mut(8) {
                self.0.set(self.0.get() + 1);
                eight.copy_from_slice(&self.0.get().to_le_bytes());
            }
            bytes
        }
    }

    fn keep(cache_bytes: usize) -> Keep<MemoryStore> {
        let options = crate::Options { cache_bytes };
        pollster::block_on(Keep::open(MemoryStore::new(), Numbers(Cell::new(0)), options)).unwrap()
    }

    /// Lets each of so many conversations go on by one message and have its newest read, in turn.
    fn go_on(keep: &Keep<MemoryStore>, conversations: usize) {
        let recent = Recent { max_messages: Some(2), ..Recent::default() };
        for at in 0..conversations {
            let context = format!("c{at}");
            pollster::block_on(keep.append(&context, vec![Message::user("again")])).unwrap();
            let found = pollster::block_on(keep.get_recent(&context, &recent)).unwrap();
            assert!(found.len() <= 2 && found.last().unwrap().text() == "again");
        }
    }

    fn lengths(keep: &Keep<MemoryStore>) -> Vec<usize> {
        keep.inner.prompts.borrow().ready.iter().map(|ready| ready.prepared.len()).collect()
    }

    #[test]
    fn each_of_fifty_conversations_at_once_is_read_from_where_it_ended() {
        let keep = keep(1 << 20);
        for _ in 0..3 {
            go_on(&keep, 50);
        }
        assert_eq!(lengths(&keep), [3; 50]);
        assert_eq!(keep.inner.prompts.borrow().paths.len(), 50);
    }

    #[test]
    fn a_deleted_conversation_leaves_no_prepared_chain() {
        let keep = keep(1 << 20);
        go_on(&keep, 3);
        let gone = pollster::block_on(keep.head("c1")).unwrap().unwrap().transcript;
        pollster::block_on(keep.delete_transcript(&gone)).unwrap();
        let left: Vec<bool> = keep.inner.prompts.borrow().ready.iter().map(|ready| ready.transcript == gone).collect();
        assert_eq!(left, [false, false]);
    }

    #[test]
    fn without_a_cache_six_prepared_chains_stay() {
        let keep = keep(0);
        go_on(&keep, 50);
        assert_eq!((lengths(&keep).len(), keep.inner.prompts.borrow().paths.len()), (LEAST, LEAST + 1));
    }
}
