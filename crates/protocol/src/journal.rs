//! The journal: which requests were sent to models, what they were made of, and what the providers counted.

use serde::{Deserialize, Serialize};
use threadkeep_core::read::{self, BadRequest, object};
use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_provider::{Price, Provider, Usage};

use super::Redaction;

/// One request about the journal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub enum JournalRequest {
    /// The requests of a chain, or of a whole transcript, oldest first. → a list of [`RequestRecord`]
    Requests {
        /// A head's name or a node, for its chain; a transcript's id, for all of it.
        at: String,
        /// How many at most, the newest.
        limit: Option<u32>,
        /// Prices of models, before those of the table.
        prices: Option<Vec<Price>>,
    },
    /// What the requests cost, by thread, day and model. → [`Costs`]
    Costs {
        /// A head's name or a node, for its chain; a transcript's id, for all of it; without it, the whole keep.
        at: Option<String>,
        /// Prices of models, before those of the table.
        prices: Option<Vec<Price>>,
    },
    /// A request as it was sent, made again. → an object
    Request {
        /// Its id.
        id: String,
    },
    /// What changed from one request to another. → a [`RequestDiff`](super::RequestDiff)
    DiffRequests {
        /// The first request's id.
        first: String,
        /// The second request's id, of any thread.
        second: String,
    },
    /// A request with everything that it was made of, as one file. → text
    CaseFile {
        /// The request's id.
        id: String,
        /// What the file hides, beside secrets.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        redact: Redaction,
    },
}

impl JournalRequest {
    /// The methods that are read here.
    pub fn methods() -> &'static [&'static str] {
        read::methods::<Self>()
    }

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        read::request(method, params)
    }
}

/// What requests took and cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Cost {
    /// How many requests.
    pub requests: u32,
    /// How many of them have no usage, or are of a model whose price is not known: they count nothing in `dollars`.
    pub unpriced: u32,
    /// The sum of what the providers counted.
    pub usage: Usage,
    /// What they cost, in US dollars.
    pub dollars: f64,
}

/// What requests took and cost, all together and by thread, day and model.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Costs {
    /// All together.
    pub total: Cost,
    /// By transcript, each with its id.
    pub threads: Vec<(String, Cost)>,
    /// By day (UTC), each such as `2026-07-24`, the first one first.
    pub days: Vec<(String, Cost)>,
    /// By model, each with its name.
    pub models: Vec<(String, Cost)>,
    /// The day of the table of prices.
    pub prices_of: &'static str,
}

/// What the journal holds of one request. The messages are in the log, the options beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct RequestRecord {
    /// Its id.
    pub id: String,
    /// When it was made, in milliseconds since 1970 (UTC).
    pub sent_at: i64,
    /// Its transcript.
    pub transcript: TranscriptId,
    /// The node at which its chain ends.
    pub node: MessageId,
    /// How many messages that node had then.
    pub messages: usize,
    /// The agent that sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The program that sent it, if it was found in an imported session: `claude-code`, `codex`, `gemini-cli` or `pi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whose form it has.
    pub provider: Provider,
    /// The model that was asked.
    pub model: String,
    /// Its tokens, as they were counted before it was sent; of another program's request, as its provider counted them.
    pub tokens: u64,
    /// What it was for, if not for an answer: `summary`, when a compaction asked the agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    /// From which the request is made again. Another program's request cannot be, and that of a compaction neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<MadeOf>,
    /// The provider's own id of it, where an imported session has it. A session that goes on in another file repeats what was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// What the provider counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What it cost, in US dollars. Not there without usage, and where the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How it ended: `stop`, `tool-calls`, `length`, `filtered`, or a failure's code; of another program's request, in its provider's
    /// words. Not there while it is open, and after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// How long it took to its end, in milliseconds. Not there while it is open, nor for another program's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
}

/// What a request was for, if not for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Purpose {
    /// A compaction's summary.
    Summary,
}

/// Of what a request was made, beside its messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct MadeOf {
    /// The checkpoint that stood in for the old part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The remembered records that were at hand for it, best first: a mark of each one's id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<String>,
    /// What a memory service had remembered for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_text: Option<String>,
    /// The name of its options, which requests that are made alike have in common.
    pub options: String,
    /// The SHA-256 of the body, 64 hex digits.
    pub hash: String,
    /// How long the body is, in bytes.
    pub bytes: u64,
    /// The version of Threadkeep that made it.
    pub version: String,
}
