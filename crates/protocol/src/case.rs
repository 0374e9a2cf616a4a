//! Case files: one request with everything that it was made of, so that another machine can make it again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep_compaction::memory::{Episode, Fact};
use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_provider::Dialect;

use super::RequestRecord;

/// The version of the format that is written and read.
pub const CASE_VERSION: u32 = 1;

/// What a case file hides. API keys and tokens are always replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "CaseRedaction", optional_fields))]
pub struct Redaction {
    /// `replaced`: other words stand for all texts. Each has the length of the original, and as many tokens where that is possible.
    pub texts: Option<RedactedTexts>,
}

/// What becomes of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum RedactedTexts {
    /// Other words of the same length stand for them.
    Replaced,
}

/// A case file: a request, what it was made of, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseFile {
    /// The version of the format: 1.
    pub threadkeep_case: u32,
    /// The version of Threadkeep that wrote the file.
    pub version: String,
    /// What the journal has of the request; `null` for a prompt that was not sent.
    pub record: Option<RequestRecord>,
    /// The transcript.
    pub transcript: TranscriptId,
    /// The node at which the chain ends. It has the messages that it had then.
    pub node: MessageId,
    /// All options of the prompt, with nothing left to settings.
    pub options: Value,
    /// The nodes that were pinned.
    pub pins: Vec<MessageId>,
    /// The checkpoint that stood in for the old part.
    pub checkpoint: Option<String>,
    /// What the endpoint wants beside the options.
    pub dialect: Option<Dialect>,
    /// The marks of the remembered records, best first.
    pub recalled: Vec<String>,
    /// The remembered episodes.
    pub episodes: Vec<Episode>,
    /// The remembered facts.
    pub facts: Vec<Fact>,
    /// The chain and its checkpoints, as lines of our own archive format: `{"seq": 0, "node": {…}}`.
    pub log: Vec<Value>,
    /// How many secrets were replaced.
    pub secrets: u32,
    /// What became of texts; `null` if they are the original ones.
    pub texts: Option<RedactedTexts>,
    /// The prompt, with payload and ledger, as `context` gives it, without its messages. With replaced content, it is made of that.
    pub context: Value,
    /// The body for the endpoint, where it is not the payload.
    pub body: Option<Value>,
    /// The SHA-256 of the fields above as JSON text, 64 hex digits.
    pub hash: String,
}

/// What came of a replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct CaseReplay {
    /// Whether the same prompt was made, and nothing in the file was changed.
    pub equal: bool,
    /// The version of Threadkeep that wrote the file.
    pub version: String,
    /// The first difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<CaseDifference>,
    /// The file with the prompt as it is made now. Not there if it is equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<String>,
}

/// Where a prompt that was made again differs from the one in the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct CaseDifference {
    /// The path in the file, such as `context.payload.messages[3].content`; `hash` if the file was changed, but not its prompt.
    pub path: String,
    /// What the file says; `null` if it has nothing there.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    pub recorded: Value,
    /// What was made; `null` if there is nothing.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    pub rebuilt: Value,
    /// The first line of the ledger that differs, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger_line: Option<usize>,
}
