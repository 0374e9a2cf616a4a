//! What is to be done: the window, with its messages taken out of the transcript, so that nothing is held while they are summarised.

use std::collections::BTreeMap;

use threadkeep_compaction::memory::MemoryOrigin;
use threadkeep_compaction::summary::Piece;
use threadkeep_compaction::{Window, window};
use threadkeep_context::tokens::{Counter, cost};
use threadkeep_context::{Action, Options, Prepared, rule};
use threadkeep_core::checkpoint::{Checkpoint, Chosen, Covers, Source, Statement, Strategy};
use threadkeep_core::{Message, MessageId};
use threadkeep_store::Store;

use super::CompactOptions;
use super::requests::{Place, content, settled};
use crate::context::Chain;
use crate::origin::{carried_origins, origin_of};
use crate::{Keep, KeepError};

/// A message that is to be summarised, held apart from its transcript.
pub(super) struct Held {
    pub(super) node: MessageId,
    pub(super) index: u32,
    pub(super) turn: u32,
    pub(super) tokens: u64,
    pub(super) message: Message,
    pub(super) origin: MemoryOrigin,
}

/// A compaction that is under way.
pub(super) struct Job {
    pub(super) generation: String,
    /// The log's next sequence number when the window was chosen.
    pub(super) seen: u64,
    pub(super) window: Window,
    pub(super) chosen: Chosen,
    pub(super) strategy: Strategy,
    pub(super) held: Vec<Held>,
    pub(super) carried: Vec<Statement>,
    /// The origins of what those rest on.
    pub(super) carried_origins: BTreeMap<Source, MemoryOrigin>,
    pub(super) previous: Option<String>,
    /// The tokens of the whole history, of what the new summary replaces, and of the history without that.
    pub(super) history: u64,
    pub(super) before: u64,
    pub(super) rest: u64,
    /// The most tokens of the statements.
    pub(super) budget: u32,
    pub(super) covers: Covers,
    /// What says, once it is stored, that the request for this was carried out.
    pub(super) settled: (String, Vec<u8>),
}

impl<S: Store> Keep<S> {
    /// Chooses what is to be done, and takes it out of the transcript; gives what names the chain's content too.
    /// `given` takes the place of the stored checkpoints: another one, or none.
    pub(super) async fn job(
        &self,
        place: &Place,
        at: &str,
        options: &CompactOptions,
        given: Option<Option<&Checkpoint>>,
        counter: &dyn Counter,
    ) -> Result<(Option<Job>, String), KeepError> {
        let chosen = options.chosen();
        let job = self.glance(&place.transcript, |log| {
            let mut chain = Chain::new(&log.tree, &place.leaf)?;
            let (pins, _) = chain.pins(&log.tree, &options.pins);
            let build = Options { provider: options.provider, pins: pins.clone(), live: true, ..Default::default() };
            let content = content(&place.leaf, chain.items.len());
            let before = match given {
                None => chain.lay(&log.tree, None, &pins)?,
                Some(given) => given.inspect(|given| chain.lay_given(given, &pins)),
            };
            let prepared = {
                let cache = &mut *self.inner.prompts.borrow_mut();
                chain.prepared(cache, log, &build, options.encoding, counter)
            };
            let found = window(&chain.placed, &chain.items, &prepared, chain.laid.end, &chosen, &pins);
            let Some(window) = found else { return Ok((None, content)) };
            let costs = prepared.costs();
            let rest = without(&chain, &window, &prepared, &build, counter);
            let mut held = Vec::new();
            let mut next = window.start;
            for piece in window.pieces(&chain.items) {
                while !std::ptr::eq(chain.items[next].message, piece.message) {
                    next += 1;
                }
                held.push(Held {
                    node: piece.node.clone(),
                    index: piece.index,
                    turn: piece.turn,
                    tokens: u64::from(costs[next]),
                    message: piece.message.clone(),
                    origin: log
                        .tree
                        .get(piece.node)
                        .map_or(MemoryOrigin::Import, |placed| origin_of(&log.tree, &placed.node, piece.message)),
                });
            }
            let carried = before.map(|before| before.statements.clone()).unwrap_or_default();
            let summary = before.and_then(Checkpoint::message);
            let replaced = window.tokens
                + summary.map_or(0, |message| u64::from(cost(&message, options.provider, counter).total()));
            let own = if place.is_head { log.tree.strategy(at) } else { None };
            let job = Job {
                generation: log.generation.clone(),
                seen: log.tree.next_seq(),
                strategy: options.strategy.or(own).or(before.map(|before| before.strategy)).unwrap_or_default(),
                settled: settled(&place.key, &content)?,
                held,
                carried_origins: carried_origins(&log.tree, &carried),
                carried,
                previous: before.map(|before| before.id.clone()),
                history: prepared.figures().tokens,
                before: replaced,
                rest,
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
}

/// The tokens of a history without what a window covers. Counted as a prompt is, since with calls that nobody answered go the
/// results that prompts have for them.
fn without(chain: &Chain, window: &Window, prepared: &Prepared, build: &Options, counter: &dyn Counter) -> u64 {
    let mut items = chain.items.clone();
    for (at, item) in items.iter_mut().enumerate() {
        item.cost = prepared.known_cost(at).filter(|_| item.out.is_none());
        if let Some(stays) = window.stays.get(at) {
            item.out = if *stays { None } else { Some((Action::Summarised, rule::CHECKPOINT)) };
        }
    }
    Prepared::new(&items, build.preparing(), counter).figures().tokens
}

impl Held {
    pub(super) fn piece(&self) -> Piece<'_> {
        Piece { node: &self.node, index: self.index, turn: self.turn, message: &self.message }
    }

    pub(super) fn source(&self) -> Source {
        Source { node: self.node.clone(), index: self.index }
    }
}
