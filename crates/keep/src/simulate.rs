//! Simulation: a thread's requests, one by one, as they would have been with other options, and what a provider's cache would have had
//! of each. Nothing is sent.
//!
//! A cache holds the beginning of a prompt. The prompt is laid out as providers lay it out (tools, system, messages), and what it has in
//! common with the request before is its part from the cache, if that is long enough and not too old.

use serde_json::Value;
use threadkeep_core::{MessageId, Role};
use threadkeep_provider::{CacheRule, Usage};
use threadkeep_store::Store;

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
    /// Its tokens as they are counted here, of which `cached_tokens` would have come from the cache. The answer is as long as it was,
    /// where that is known.
    pub usage: Usage,
    /// What the provider counted for the request that was sent, if an imported session tells it.
    pub reported: Option<Usage>,
}

/// A place at which a model was asked.
struct Asked {
    node: MessageId,
    /// `None` for all messages of the node.
    messages: Option<usize>,
    /// How many messages the node has.
    above: usize,
    at: Option<i64>,
    reported: Option<Usage>,
}

impl<S: Store> Keep<S> {
    /// Replays a chain: for each answer in it, the request that would have been made.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn simulate(&self, at: &str, simulation: &Simulation) -> Result<Vec<Simulated>, KeepError> {
        let Simulation { options, cache, beside } = simulation;
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
                        0 => (up.id.clone(), None),
                        _ if is_answer(place - 1) => continue,
                        _ => (here.id.clone(), Some(place)),
                    };
                    let reported = reported.filter(|_| place == 0);
                    let above = up.messages.len();
                    asked.push(Asked { node, messages, above, at: here.created_at, reported });
                }
            }
            Ok(asked)
        });
        let mut all: Vec<Simulated> = Vec::new();
        let mut before = Laid::default();
        for asked in asked.await? {
            let (reply, messages) = self.asked_then(&asked, options).await?;
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
                completion_tokens: asked.reported.map_or(0, |usage| usage.completion_tokens),
                cached_tokens: cache.map(|_| cached.unwrap_or(0)),
                cache_write_tokens: cache.map(|_| tokens.saturating_sub(cached.unwrap_or(0))),
                ..Usage::default()
            };
            all.push(Simulated { node: asked.node, messages, at: asked.at, usage, reported: asked.reported });
            before = laid;
        }
        Ok(all)
    }

    /// The prompt of a place, and how many messages of its node it has.
    async fn asked_then(&self, asked: &Asked, options: &ContextOptions) -> Result<(ContextReply, usize), KeepError> {
        let whole = self.context(asked.node.as_str(), options).await?;
        match asked.messages {
            None => Ok((whole, asked.above)),
            Some(messages) => {
                let past =
                    Past { messages, pins: Vec::new(), checkpoint: whole.checkpoint.clone(), memory: &whole.recalled };
                Ok((self.context_then(&asked.node, options, &past).await?, messages))
            }
        }
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
