//! The tool `remember`: a fact in the agent's own memory, with the origin that its words have.
//!
//! Words that the user said in this conversation are the user's. Words that a tool's result or an imported message of it holds are theirs.
//! Otherwise the model says them; but what it says after a tool's result in the same turn may be the tool's, and counts as such.

use serde_json::{Value, json};
use threadkeep_compaction::memory::{MemoryOrigin, is_said_in, terms};
use threadkeep_core::checkpoint::Source;
use threadkeep_core::{Message, MessageId, Role, Transcript};
use threadkeep_store::Store;

use super::tools::words;
use super::turn::Turn;
use crate::origin::origin_of;
use crate::protocol::NewFact;

/// The tool's own name.
const REMEMBER: &str = "remember";
/// Built-in tools after whose results a model's words are its own.
const SILENT: [&str; 5] = [REMEMBER, "searchMemory", "reply", "send", "dismiss"];

impl<S: Store> Turn<'_, S> {
    /// Remembers a fact, if its origin is one of those whose statements the agent remembers. What comes back is for the model.
    pub(super) async fn remember(&self, fact: String) -> Result<Value, String> {
        let keep = &self.agent.keep;
        let found = keep
            .glance(&self.transcript, |log| Ok(origin(&log.tree, &self.node, &fact, &|name| self.has_built_in(name))))
            .await;
        let (origin, source) = found.map_err(words)?;
        if !self.agent.options.remember_from.admits(origin) {
            return Err(refusal(origin).to_owned());
        }
        let new = NewFact {
            transcript: Some(self.transcript.clone()),
            sources: vec![source],
            agent: Some(self.agent.options.name.clone()),
            origin,
            ..NewFact::new(fact)
        };
        Ok(json!({ "id": self.agent.memory.remember(new).await.map_err(words)? }))
    }
}

/// The origin of a fact that is remembered in the turn of a node, and the message that it came from.
fn origin(tree: &Transcript, node: &MessageId, fact: &str, built_in: &dyn Fn(&str) -> bool) -> (MemoryOrigin, Source) {
    let asked = Source { node: node.clone(), index: 0 };
    let chain = tree.chain(node).unwrap_or_default();
    let fact = plain(fact);
    let mut quoted: Option<MemoryOrigin> = None;
    let told = if terms(&fact).is_empty() { &[] } else { chain.as_slice() };
    for placed in told.iter().rev() {
        for (index, message) in placed.node.messages.iter().enumerate() {
            if is_said_in(&fact, &[&message.text()]) {
                match origin_of(tree, &placed.node, message) {
                    MemoryOrigin::User => {
                        let source = Source { node: placed.node.id.clone(), index: index as u32 };
                        return (MemoryOrigin::User, source);
                    }
                    MemoryOrigin::Tool if message.name.as_deref() == Some(REMEMBER) && built_in(REMEMBER) => {}
                    origin => quoted = Some(quoted.map_or(origin, |known| known.min(origin))),
                }
            }
        }
    }
    let turn = chain.last().map(|placed| placed.node.messages.as_slice()).unwrap_or_default();
    let called = turn.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0);
    let told = turn[..called].iter().any(|message| tells(message, built_in)).then_some(MemoryOrigin::Tool);
    let weakest = quoted.into_iter().chain(told).min().unwrap_or(MemoryOrigin::Model);
    (weakest, asked)
}

/// Whether a message is a result that others wrote. What `searchMemory` finds counts only where the fact repeats it.
fn tells(message: &Message, built_in: &dyn Fn(&str) -> bool) -> bool {
    let tool = message.name.as_deref().unwrap_or_default();
    MemoryOrigin::of(message) == MemoryOrigin::Tool && !(SILENT.contains(&tool) && built_in(tool))
}

/// A fact without the words by which a model names its user: `The user likes tea` is what the user said as `I like tea`.
fn plain(fact: &str) -> String {
    const NAMES: [&str; 4] = ["user", "users", "user's", "user’s"];
    let said = |word: &&str| {
        let bare = word.trim_matches(|letter: char| letter.is_ascii_punctuation()).to_lowercase();
        !NAMES.contains(&bare.as_str())
    };
    fact.split_whitespace().filter(said).collect::<Vec<_>>().join(" ")
}

/// Why a fact is not remembered, for the model.
fn refusal(origin: MemoryOrigin) -> &'static str {
    match origin {
        MemoryOrigin::Tool => {
            "Not remembered: this came after a tool's result in this turn, and the user has not allowed to remember what tools say. \
             If it matters, ask the user to confirm it in their own words."
        }
        MemoryOrigin::Import => "Not remembered: the user has not allowed to remember what imported conversations say.",
        MemoryOrigin::Model => "Not remembered: the user has not allowed to remember what the model says.",
        MemoryOrigin::User => "Not remembered: this agent does not remember what its user says.",
    }
}
