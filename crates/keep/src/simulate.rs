//! Simulation: a thread's requests, one by one, as they would have been with other options, and what a provider's cache would have had
//! of each. Nothing is sent.
//!
//! A cache holds the beginning of a prompt. The prompt is laid out as providers lay it out (tools, system, messages), and what it has in
//! common with the request before is its part from the cache, if that is long enough and not too old.

use serde_json::Value;
use threadkeep_context::MessageRef;
use threadkeep_context::tokens::cost;
use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::{MessageId, Role};
use threadkeep_provider::{CacheRule, Usage};
use threadkeep_store::Store;

use crate::compact::CompactOptions;
use crate::context::Past;
use crate::protocol::{ContextOptions, ContextReply};
use crate::{Keep, KeepError};

/// What a simulation assumes.
#[derive(Debug, Clone, Default)]
pub struct Simulation {
    /// How prompts are built. Settings do not count.
    pub options: ContextOptions,
    /// The provider's cache; without it, nothing is cached.
    pub cache: Option<CacheRule>,
    /// Tokens that stand before every prompt and are not in the thread, such as a program's own system prompt and tools.
    pub beside: u64,
    /// When the history is compacted.
    pub points: Points,
    /// How many turns stay raw then; `None` for four.
    pub keep_turns: Option<u32>,
}

/// When a simulation compacts the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Points {
    /// As it was: the stored checkpoints hold.
    #[default]
    Stored,
    /// Never: all messages are raw.
    Never,
    /// Before each request whose prompt would have more than so many tokens, by the built-in rules. Nothing is stored.
    Above(u64),
}

/// A request of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The node at which its chain ends.
    pub node: MessageId,
    /// How many messages of that node it has.
    pub messages: usize,
    /// When the answer came, in milliseconds since 1970; `None` where the thread does not say.
    pub at: Option<i64>,
    /// Its tokens as they are counted here, of which `cached_tokens` would have come from the cache. The answer is as long as it was:
    /// as the provider counted it, if an imported session tells that, else as it is counted here.
    pub usage: Usage,
    /// What the provider counted for the request that was sent, if an imported session tells it.
    pub reported: Option<Usage>,
    /// Whether the simulation compacted the history before it.
    pub compacted: bool,
    /// Whether it is over its budget.
    pub over_budget: bool,
}

/// A place at which a model was asked.
struct Asked {
    node: MessageId,
    /// How many messages of the node it has.
    messages: usize,
    /// Whether these are all of it.
    whole: bool,
    /// The tokens of the answer.
    answer: u64,
    at: Option<i64>,
    reported: Option<Usage>,
}

impl<S: Store> Keep<S> {
    /// Replays a chain: for each answer in it, the request that would have been made.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn simulate(&self, at: &str, simulation: &Simulation) -> Result<Vec<Simulated>, KeepError> {
        let Simulation { options, cache, beside, .. } = simulation;
        let (asked, pins) = self.asked(at, options).await?;
        let mut all: Vec<Simulated> = Vec::new();
        let (mut before, mut given) = (Laid::default(), None);
        for asked in asked {
            let (reply, compacted) = self.asked_then(&asked, simulation, &pins, &mut given).await?;
            let laid = Laid::of(&reply.payload);
            let own = reply.figures.tokens;
            let tokens = own.saturating_add(*beside);
            let fresh = |rule: &CacheRule| match (all.last().and_then(|last| last.at), asked.at) {
                (Some(last), Some(now)) => now - last <= rule.millis,
                _ => true,
            };
            let cached = cache.filter(|_| !all.is_empty()).filter(fresh).map(|rule| {
                let common = laid.share(&before, own).saturating_add(*beside);
                if common < rule.least { 0 } else { common }
            });
            let usage = Usage {
                prompt_tokens: tokens,
                completion_tokens: asked.answer,
                cached_tokens: cache.map(|_| cached.unwrap_or(0)),
                cache_write_tokens: cache.map(|_| tokens.saturating_sub(cached.unwrap_or(0))),
                ..Usage::default()
            };
            let Asked { node, messages, at, reported, .. } = asked;
            all.push(Simulated { node, messages, at, usage, reported, compacted, over_budget: reply.over_budget });
            before = laid;
        }
        Ok(all)
    }

    /// The places of a chain at which a model was asked, and what is pinned.
    async fn asked(&self, at: &str, options: &ContextOptions) -> Result<(Vec<Asked>, Vec<MessageRef>), KeepError> {
        let counter = self.counter(options.encoding)?;
        let (transcript, leaf) = self.place(at).await?;
        let asked = self.glance(&transcript, |log| {
            let chain = log.tree.chain(&leaf)?;
            let mut asked = Vec::new();
            for pair in chain.windows(2) {
                let (up, here) = (&pair[0].node, &pair[1].node);
                let is_answer = |at: usize| here.messages[at].role == Role::Assistant;
                let reported = threadkeep_archive::reported(here).map(|told| told.usage);
                for place in (0..here.messages.len()).filter(|place| is_answer(*place)) {
                    let (node, messages) = match place {
                        0 => (up.id.clone(), up.messages.len()),
                        _ if is_answer(place - 1) => continue,
                        _ => (here.id.clone(), place),
                    };
                    let reported = reported.filter(|_| place == 0);
                    let said = || cost(&here.messages[place], options.build.provider, counter.as_ref()).total();
                    let answer = reported.map_or_else(|| u64::from(said()), |usage| usage.completion_tokens);
                    let whole = place == 0;
                    asked.push(Asked { node, messages, whole, answer, at: here.created_at, reported });
                }
            }
            let pins = log.tree.pins().map(|id| MessageRef::Node(id.as_str().to_owned())).collect();
            Ok((asked, pins))
        });
        asked.await
    }

    /// The prompt of a place, and whether a compaction came before it. `given` is the checkpoint of the last one.
    async fn asked_then(
        &self,
        asked: &Asked,
        simulation: &Simulation,
        pins: &[MessageRef],
        given: &mut Option<Checkpoint>,
    ) -> Result<(ContextReply, bool), KeepError> {
        let Simulation { options, points, keep_turns, .. } = simulation;
        let stored = *points == Points::Stored;
        let now = if stored || options.memory.is_some() {
            let own = self.context(asked.node.as_str(), options).await?;
            if stored && asked.whole {
                return Ok((own, false));
            }
            (own.checkpoint.filter(|_| stored), own.recalled)
        } else {
            (None, Vec::new())
        };
        let then = async |given: Option<&Checkpoint>| {
            let (checkpoint, memory) = (now.0.clone(), now.1.as_slice());
            let past = Past { messages: asked.messages, pins: pins.to_vec(), checkpoint, given, memory };
            self.context_then(&asked.node, options, &past).await
        };
        let reply = then(given.as_ref()).await?;
        if !matches!(points, Points::Above(most) if reply.figures.tokens > *most) {
            return Ok((reply, false));
        }
        let compact = CompactOptions {
            tail_turns: *keep_turns,
            provider: options.build.provider,
            encoding: options.encoding,
            pins: options.pins.clone(),
            ..CompactOptions::default()
        };
        let Some(made) = self.imagined_checkpoint(asked.node.as_str(), &compact, given.as_ref()).await? else {
            return Ok((reply, false));
        };
        let made = given.insert(made);
        Ok((then(Some(made)).await?, true))
    }
}

/// A prompt as a provider lays it out.
#[derive(Default)]
struct Laid(String);

impl Laid {
    fn of(payload: &Value) -> Self {
        let parts = ["tools", "system", "systemInstruction", "instructions", "messages", "contents", "input"];
        Self(parts.iter().filter_map(|part| payload.get(part)).map(Value::to_string).collect())
    }

    /// How many of this prompt's tokens it has in common with another one, from the start on. Tokens lie in it as bytes do.
    fn share(&self, other: &Self, tokens: u64) -> u64 {
        let common = self.0.bytes().zip(other.0.bytes()).take_while(|(ours, theirs)| ours == theirs).count();
        let share = common as f64 / self.0.len().max(1) as f64;
        (share * tokens as f64) as u64
    }
}
