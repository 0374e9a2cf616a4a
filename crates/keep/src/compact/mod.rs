//! Compaction: a summariser's words stand in for the old part of a chain, the originals stay.
//!
//! Goes in: a leaf or a head, options, a summariser. Comes out: a checkpoint, stored in one commit with its episodes and facts, or
//! nothing where nothing was to be done. Nothing is held while the summariser works: others may append, and a call
//! that is dropped leaves nothing. Which part is covered, when, and what may stand in for it is
//! `threadkeep_compaction`'s.

mod cancel;
mod epochs;
mod imagined;
mod job;
mod model;
mod record;
mod requests;
mod sources;
mod stored;
mod summarise;
mod summariser;
mod undo;

use std::ops::Range;

use threadkeep_compaction::memory::{Episode, Fact, RememberFrom};
use threadkeep_compaction::window::TAIL_TURNS;
use threadkeep_context::MessageRef;
use threadkeep_core::Message;
pub use threadkeep_core::checkpoint::Spent;
use threadkeep_core::checkpoint::{Checkpoint, Chosen, Strategy};
use threadkeep_provider::Provider;
use threadkeep_store::Store;

use crate::protocol::Counting;
use crate::{Keep, KeepError};

pub use cancel::{Cancel, unless};
pub use epochs::EpochInfo;
pub use model::{INPUT_TOKENS, Model, ModelRequest, ModelSummariser, Reply, input_tokens_of};
pub use requests::policy;
pub use stored::{Covered, Stored};
pub use summariser::{Answer, Answered, Extractive, Sending, Summariser};

/// How often a commit that lost against another writer is tried again.
const TRIES: u32 = 100;

/// How a chain is compacted.
#[derive(Debug, Clone, Default)]
pub struct CompactOptions {
    /// The strategy; `None` for that of the head, else of the checkpoint before, and [`Strategy::Summarize`] for the first.
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
    /// Whether to say only what would be done. No model is asked: [`Compacted::would_send`] says what it would be asked.
    pub preview: bool,
    /// A handle to cancel it with: nothing is stored then, and a request for it stays pending.
    pub cancel: Option<Cancel>,
    /// The agent that owns the episodes and facts; `None` for what all share.
    pub agent: Option<String>,
    /// Whose statements become episodes and facts.
    pub remember_from: RememberFrom,
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
    /// In a preview with a model: what it would be sent. The summary is not known then, so that there is no checkpoint, and
    /// `tokens_after` counts a summary of the size that would be asked for.
    pub would_send: Option<Sending>,
}

impl Compacted {
    /// How many tokens a prompt of the whole history has less.
    pub fn tokens_saved(&self) -> u64 {
        self.tokens_before.saturating_sub(self.tokens_after)
    }
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
            Some(cancel) if cancel.is_cancelled() => Err(KeepError::Cancelled),
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
        let place = self.request_place(at).await?;
        options.go_on()?;
        let (job, content) = self.job(&place, at, options, None, counter.as_ref()).await?;
        let Some(job) = job else {
            if !options.preview {
                self.settle_request(&place.key, &content).await?;
            }
            return Ok(Compacted::default());
        };
        if options.preview
            && let Some(sending) = job.would_send(summariser, counter.as_ref())
        {
            return Ok(Compacted {
                compacted_range: 0..job.window.end,
                tokens_before: job.history,
                tokens_after: job.rest + u64::from(job.budget),
                would_send: Some(sending),
                ..Compacted::default()
            });
        }
        let transcript = &place.transcript;
        let (mut done, found) = self.drawn_up(transcript, &job, options, summariser, counter.as_ref()).await?;
        if options.preview {
            self.merge_facts(transcript, &*self.memories().await?, &found, options, &mut done);
        } else if !self.store_checkpoint(transcript, &job, &found, options, &mut done).await? {
            self.settle_request(&place.key, &content).await?;
            done = Compacted { warnings: done.warnings, ..Compacted::default() };
        }
        Ok(done)
    }
}
