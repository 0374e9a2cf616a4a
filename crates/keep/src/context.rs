//! Contexts: the exact prompt of a chain for a budget, and what a budget would keep of it.
//!
//! Goes in: a leaf or a head, and options. Comes out: a prompt with its account, or (for a slider) only the decision. The
//! chain comes from the cached transcript; what was once read and counted of it is kept in a small shelf, so that another
//! budget, policy or pin reads no text, and a chain that grew is read from where it had ended. What is kept, and why, is
//! `threadkeep_core::context`'s.

use std::rc::Rc;

use threadkeep_core::compaction::{Checkpoint, overlay};
use threadkeep_core::context::compress::CompressOptions;
use threadkeep_core::context::{
    Budget, Fit, Frame, Item, MessageRef, Options, Plan, Policy, Prepared, Preparing, Replacement, System, Warning,
    WarningKind, chain_items, frame_figures, prepare_with, preview,
};
use threadkeep_core::memory::bundle_messages;
use threadkeep_core::tokens::{Bpe, Counter, Encoding, Estimate};
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Message, MessageId, Role, Transcript, TranscriptId};
use threadkeep_store::Store;

use crate::log::Log;
use crate::memory::MemoryFilter;
use crate::protocol::{BadRequest, ContextOptions, ContextReply, Counting, FitReply, Instead, MarkRun, Recent, WhatIf};
use crate::{Keep, KeepError};

/// How many prepared chains are kept: two policies or providers side by side, each with the request before.
const SHELF: usize = 6;

/// A chain that was read and counted.
struct Ready {
    transcript: TranscriptId,
    generation: String,
    /// The sequence numbers of the chain's nodes, which are never used twice, and how many messages each had.
    nodes: Vec<(u64, u32)>,
    laid: Laid,
    preparing: Preparing,
    compress: Option<CompressOptions>,
    encoding: Counting,
    prepared: Rc<Prepared>,
}

/// What is kept between calls: vocabularies, and the chains that were used last, newest last.
#[derive(Default)]
pub(crate) struct Shelf {
    vocabularies: Vec<Rc<Bpe>>,
    ready: Vec<Ready>,
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

impl Shelf {
    /// Lets go of the chains.
    pub(crate) fn clear(&mut self) {
        self.ready.clear();
    }

    /// The chain of `nodes`, read and counted, from the shelf as far as it goes.
    fn prepared(
        &mut self,
        log: &Log,
        nodes: &[(u64, u32)],
        items: &mut [Item],
        (laid, comes): (&Laid, &[Replacement]),
        options: &Options,
        (encoding, counter): (Counting, &dyn Counter),
    ) -> Rc<Prepared> {
        let preparing = options.preparing();
        let same = |ready: &Ready| {
            ready.transcript == *log.tree.id() && ready.generation == log.generation && ready.encoding == encoding
        };
        let fits = |ready: &Ready| {
            same(ready) && ready.preparing == preparing && ready.compress == options.compress && ready.laid == *laid
        };
        if let Some(at) = self.ready.iter().rposition(|ready| fits(ready) && ready.nodes == nodes) {
            self.ready[at..].rotate_left(1);
            return Rc::clone(&self.ready[self.ready.len() - 1].prepared);
        }
        let begins = |ready: &Ready| fits(ready) && common(&ready.nodes, nodes) == ready.prepared.len();
        // Compression looks at the whole chain, so that growth can change its beginning.
        let longest = if options.compress.is_none() {
            (0..self.ready.len()).filter(|at| begins(&self.ready[*at])).max_by_key(|at| self.ready[*at].prepared.len())
        } else {
            None
        };
        let prepared = match longest {
            Some(at) => {
                let mut prepared = self.ready.remove(at).prepared;
                Rc::make_mut(&mut prepared).extend(items, counter);
                prepared
            }
            None => {
                // Another branch, or other options: what was counted there is not counted again.
                let near =
                    self.ready.iter().filter(|ready| same(ready) && ready.preparing.provider == preparing.provider);
                if let Some(near) = near.max_by_key(|ready| common(&ready.nodes, nodes)) {
                    for (index, item) in items.iter_mut().enumerate().take(common(&near.nodes, nodes)) {
                        item.cost = near.prepared.known_cost(index);
                    }
                }
                Rc::new(prepare_with(items, comes.to_vec(), options, counter))
            }
        };
        if self.ready.len() >= SHELF {
            self.ready.remove(0);
        }
        self.ready.push(Ready {
            transcript: log.tree.id().clone(),
            generation: log.generation.clone(),
            nodes: nodes.to_vec(),
            laid: laid.clone(),
            preparing,
            compress: options.compress,
            encoding,
            prepared: Rc::clone(&prepared),
        });
        prepared
    }
}

/// How many messages two chains have in common from their beginning.
fn common(a: &[(u64, u32)], b: &[(u64, u32)]) -> usize {
    let mut messages = 0;
    for ((seq, count), (other, others)) in a.iter().zip(b) {
        if seq != other {
            break;
        }
        messages += (*count).min(*others) as usize;
        if count != others {
            break;
        }
    }
    messages
}

/// A chain with what is to be done to it.
pub(crate) struct Chain<'a> {
    pub(crate) placed: Vec<&'a Placed>,
    pub(crate) items: Vec<Item<'a>>,
    nodes: Vec<(u64, u32)>,
    pub(crate) laid: Laid,
    /// What stands in for messages: the summary, and marks for what was cleared.
    comes: Vec<Replacement>,
}

impl<'a> Chain<'a> {
    pub(crate) fn new(tree: &'a Transcript, leaf: &MessageId) -> Result<Self, KeepError> {
        let placed = tree.chain(leaf)?;
        let nodes = placed.iter().map(|placed| (placed.seq, placed.node.messages.len() as u32)).collect();
        Ok(Self { items: chain_items(tree, leaf)?, placed, nodes, laid: Laid::default(), comes: Vec::new() })
    }

    /// Lays the checkpoint of an epoch over the chain: that of the id, none for `original`, and the one that the chain uses where
    /// nothing is said. Gives it.
    pub(crate) fn lay(
        &mut self,
        tree: &'a Transcript,
        epoch: Option<&str>,
        pins: &[usize],
    ) -> Result<Option<&'a Checkpoint>, KeepError> {
        let mut all = tree.checkpoints_on(&self.placed);
        match epoch {
            Some("original") => return Ok(None),
            Some(id) => {
                all.retain(|(_, _, checkpoint)| checkpoint.id == id);
                if all.is_empty() {
                    let why = "names no checkpoint of this chain; there is also original".to_owned();
                    return Err(BadRequest { argument: "options.epoch".to_owned(), why }.into());
                }
            }
            None => {}
        }
        let Some((place, _, checkpoint)) = all.pop() else { return Ok(None) };
        let end = self.nodes[..checkpoint.end(place)].iter().map(|(_, count)| *count as usize).sum();
        let stays = overlay::stays(&self.items, end, pins);
        self.comes = overlay::lay(&mut self.items, end, checkpoint, &stays).into_iter().collect();
        let marks = overlay::clear(&self.items, checkpoint, pins);
        let cleared = marks.iter().map(|mark| mark.index).collect();
        self.comes.extend(marks);
        self.laid = Laid { checkpoint: checkpoint.id.clone(), end, stays, cleared };
        Ok(Some(checkpoint))
    }

    /// What the chain was prepared to, from the shelf as far as it goes.
    pub(crate) fn prepared(
        &mut self,
        shelf: &mut Shelf,
        log: &Log,
        options: &Options,
        encoding: Counting,
        counter: &dyn Counter,
    ) -> Rc<Prepared> {
        let over = (&self.laid, self.comes.as_slice());
        shelf.prepared(log, &self.nodes, &mut self.items, over, options, (encoding, counter))
    }

    /// The nodes of the chain up to the place `end`.
    fn nodes_before(&self, end: usize) -> Vec<(u64, u32)> {
        let mut left = end as u32;
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for (seq, count) in &self.nodes {
            nodes.push((*seq, left.min(*count)));
            left -= left.min(*count);
            if left == 0 {
                break;
            }
        }
        nodes
    }

    /// The place of each node's first message, and the place behind the last.
    fn starts(&self) -> Vec<usize> {
        let mut starts = vec![0; self.placed.len() + 1];
        for (at, placed) in self.placed.iter().enumerate() {
            starts[at + 1] = starts[at] + placed.node.messages.len();
        }
        starts
    }

    /// The places of pins, and how many of them are at no message of the chain.
    pub(crate) fn pins(&self, tree: &Transcript, pins: &[MessageRef]) -> (Vec<usize>, usize) {
        let (mut places, mut lost) = (Vec::new(), 0);
        let starts = if pins.is_empty() { Vec::new() } else { self.starts() };
        for pin in pins {
            let before = places.len();
            let (id, index) = match pin {
                MessageRef::Index(place) => {
                    places.extend(Some(*place).filter(|place| *place < self.items.len()));
                    (None, None)
                }
                MessageRef::Node(id) => (Some(id), None),
                MessageRef::InNode(id, index) => (Some(id), Some(*index)),
            };
            let node = id.and_then(|id| MessageId::new(id.as_str()).ok()).and_then(|id| tree.get(&id));
            if let Some(node) = node {
                // A node's number grows from the root to the leaf.
                if let Ok(at) = self.placed.binary_search_by_key(&node.seq, |placed| placed.seq) {
                    let (start, end) = (starts[at], starts[at + 1]);
                    places.extend((start..end).filter(|place| index.is_none_or(|index| start + index == *place)));
                }
            }
            lost += usize::from(places.len() == before);
        }
        (places, lost)
    }
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
        let mut shelf = self.inner.shelf.borrow_mut();
        shelf.vocabularies.retain(|other| other.encoding() != vocabulary.encoding());
        shelf.vocabularies.push(vocabulary);
    }

    /// Whether a vocabulary is loaded.
    pub fn has_vocabulary(&self, encoding: Encoding) -> bool {
        self.inner.shelf.borrow().vocabularies.iter().any(|bpe| bpe.encoding() == encoding)
    }

    pub(crate) fn counter(&self, counting: Counting) -> Result<Rc<dyn Counter>, KeepError> {
        let Counting::Exact(encoding) = counting else { return Ok(Rc::new(Estimate)) };
        let shelf = self.inner.shelf.borrow();
        match shelf.vocabularies.iter().find(|bpe| bpe.encoding() == encoding) {
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
        let counter = self.counter(options.encoding)?;
        let memory = self.remembered_for(options, counter.as_ref()).await?;
        let (transcript, leaf) = self.place(at).await?;
        let reply = self.glance(&transcript, |log| {
            let mut chain = Chain::new(&log.tree, &leaf)?;
            let (pins, lost) = chain.pins(&log.tree, &options.pins);
            let mut build = options.with_pins(pins);
            build.frame.memory.extend(memory);
            chain.lay(&log.tree, options.epoch.as_deref(), &build.pins)?;
            let shelf = &mut *self.inner.shelf.borrow_mut();
            let prepared = chain.prepared(shelf, log, &build, options.encoding, counter.as_ref());
            let mut prompt = prepared.prompt(&chain.items, &build, &options.render, counter.as_ref());
            if lost > 0 {
                prompt.warnings.push(Warning {
                    kind: WarningKind::Option,
                    rule: "pins",
                    message: "a pin is at no message of this chain".to_owned(),
                    index: None,
                    count: lost,
                });
            }
            let mut reply = ContextReply::from(prompt);
            reply.checkpoint = Some(chain.laid.checkpoint).filter(|id| !id.is_empty());
            Ok(reply)
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
        let memory = self.remembered_for(options, counter.as_ref()).await?;
        let (transcript, leaf) = self.place(at).await?;
        let reply = self.glance(&transcript, |log| {
            let mut chain = Chain::new(&log.tree, &leaf)?;
            let mut build = options.with_pins(chain.pins(&log.tree, &options.pins).0);
            build.frame.memory.extend(memory);
            chain.lay(&log.tree, options.epoch.as_deref(), &build.pins)?;
            let (laid, comes) = (chain.laid.clone(), std::mem::take(&mut chain.comes));
            let over = (&laid, comes.as_slice());
            let shelf = &mut *self.inner.shelf.borrow_mut();
            let frame = Frame::new(&build.frame, build.provider, counter.as_ref());
            let mut ready = |nodes: &[(u64, u32)], items: &mut [Item]| {
                let prepared = shelf.prepared(log, nodes, items, over, &build, (options.encoding, counter.as_ref()));
                (prepared, frame_figures(&frame, items, &build, &options.render, counter.as_ref()))
            };
            // What led to the model's last answer comes first, so that the chain itself ends up on top of the shelf.
            let answered = chain.items.iter().rposition(|item| item.message.role == Role::Assistant);
            let before = answered.filter(|end| *end > laid.end).map(|end| {
                let nodes = chain.nodes_before(end);
                ready(&nodes, &mut chain.items[..end])
            });
            let (prepared, around) = ready(&chain.nodes, &mut chain.items);
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
                runs: runs(&prepared, &fit),
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
        let build = Options { system, preview: None, live: true, ..Options::default() };
        let found = self.glance(&transcript, |log| {
            let mut chain = Chain::new(&log.tree, &leaf)?;
            if recent.include_summary {
                chain.lay(&log.tree, None, &[])?;
            }
            let shelf = &mut *self.inner.shelf.borrow_mut();
            let prepared = chain.prepared(shelf, log, &build, Counting::Estimate, &Estimate);
            let fit = prepared.fit(&Plan { budget: recent.budget(), strict: true, ..Plan::default() });
            let mut places: Vec<usize> = prepared.kept(&fit).collect();
            places.sort_unstable();
            let message = |place: usize| match chain.comes.iter().find(|comes| comes.index == place) {
                Some(comes) => comes.message.clone(),
                None => chain.items[place].message.clone(),
            };
            Ok(places.into_iter().map(message).collect())
        });
        found.await
    }

    /// The messages for the frame with what of the memory is wanted.
    async fn remembered_for(&self, options: &ContextOptions, counter: &dyn Counter) -> Result<Vec<Message>, KeepError> {
        let Some(wanted) = &options.memory else { return Ok(Vec::new()) };
        let bundle = self.retrieve(&MemoryFilter::default(), wanted.query.as_deref(), wanted.limits).await?;
        let mut messages = bundle_messages(&bundle, None, counter);
        messages.extend(wanted.text.as_deref().filter(|text| !text.is_empty()).map(Message::system));
        Ok(messages)
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

impl ContextOptions {
    fn with_pins(&self, pins: Vec<usize>) -> Options {
        let mut build = self.build.clone();
        build.pins.extend(pins);
        build
    }
}

/// How many messages `get_recent` gives when no limit is named.
const RECENT: u32 = 50;

impl Recent {
    fn budget(&self) -> Budget {
        let unlimited = self.max_messages.is_none() && self.max_tokens.is_none();
        Budget {
            max_messages: self.max_messages.or(unlimited.then_some(RECENT)).map(u64::from),
            max_tokens: self.max_tokens.map(u64::from),
            ..Budget::default()
        }
    }
}

/// What became of each message, in the order of the chain.
fn runs(prepared: &Prepared, fit: &Fit) -> Vec<MarkRun> {
    let mut marks: Vec<_> = prepared.marks(fit).filter(|mark| !mark.injected).collect();
    marks.sort_by_key(|mark| mark.index);
    let mut runs: Vec<MarkRun> = Vec::new();
    for mark in marks {
        match runs.last_mut() {
            Some(run) if (run.action, run.rule, run.kept) == (mark.action, mark.rule, mark.kept) => run.count += 1,
            _ => runs.push(MarkRun { count: 1, action: mark.action, rule: mark.rule, kept: mark.kept }),
        }
    }
    runs
}
