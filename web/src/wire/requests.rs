//! What the page asks of the journal of requests, and what it shows of the answers.

use serde::{Deserialize, Serialize};
use threadkeep::protocol::{Purpose, RequestRecord};
use threadkeep_core::MessageId;

/// What is asked. Answered by the part of the module that builds prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Journal {
    /// The requests of the branch that ends here, oldest first. → [`Reply::Requests`](super::Reply::Requests)
    List(MessageId),
    /// One request as it was sent. → [`Reply::Sent`](super::Reply::Sent)
    Sent {
        /// Its id.
        id: String,
        /// The request to compare it with.
        before: Option<String>,
    },
}

/// A request as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Its id.
    pub id: String,
    /// The node at which its messages ended.
    pub node: MessageId,
    /// When it was sent, in milliseconds since 1970.
    pub sent_at: i64,
    /// The model.
    pub model: String,
    /// The program that sent it, where an imported session tells of it.
    pub program: Option<String>,
    /// Whether it was for a compaction's summary.
    pub summary: bool,
    /// Its tokens, as they were counted before it was sent.
    pub tokens: u64,
    /// What the provider counted.
    pub usage: Option<Used>,
    /// What it cost, in millionths of a US dollar, where the model's price is known.
    pub micros: Option<u64>,
    /// How it ended; `None` while it is open.
    pub outcome: Option<String>,
    /// How long it took, in milliseconds, where that is known.
    pub took: Option<u64>,
    /// The checkpoint that stood in it for what is old.
    pub checkpoint: Option<String>,
    /// Whether its body can be made again.
    pub known: bool,
}

/// Tokens as a provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Used {
    /// The prompt, with what came from a cache.
    pub input: u64,
    /// What of it came from a cache.
    pub cached: u64,
    /// The answer.
    pub output: u64,
}

impl From<RequestRecord> for Asked {
    fn from(record: RequestRecord) -> Self {
        let made_of = record.made_of;
        Self {
            id: record.id,
            node: record.node,
            sent_at: record.sent_at,
            model: record.model,
            program: record.program,
            summary: record.purpose == Some(Purpose::Summary),
            tokens: record.tokens,
            usage: record.usage.map(|usage| Used {
                input: usage.prompt_tokens,
                cached: usage.cached_tokens.unwrap_or_default(),
                output: usage.completion_tokens,
            }),
            micros: record.cost.map(|dollars| (dollars * 1e6).round() as u64),
            outcome: record.outcome,
            took: record.took,
            known: made_of.is_some() && record.purpose.is_none(),
            checkpoint: made_of.and_then(|made_of| made_of.checkpoint),
        }
    }
}

/// A request as it was sent, and what changed in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The body, byte for byte.
    pub body: String,
    /// The body as people read it.
    pub readable: String,
    /// What has changed since, where the body cannot be made as it was: `memory`, `version` or `history`.
    pub differs: Option<String>,
    /// What changed from the request before.
    pub since: Option<Since>,
}

/// What changed from one request to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// How many tokens both begin with.
    pub prefix: u64,
    /// Why the common beginning ends; empty where both are the same.
    pub end: String,
    /// The options with other values.
    pub options: Vec<String>,
    /// The messages that came in, went out, moved or have another form.
    pub changes: Vec<Moved>,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Its node, where it has one.
    pub node: Option<MessageId>,
    /// What came about: `came in`, `went out`, …
    pub what: String,
    /// Who says what.
    pub words: String,
    /// Its tokens.
    pub tokens: u32,
}
