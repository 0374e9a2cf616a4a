//! What changed from one request of the journal to another.

use serde::Serialize;
use threadkeep_core::MessageId;

/// How two requests differ. Nothing is listed if both have the same messages in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct RequestDiff {
    /// The messages that only the second request has, in its order.
    pub entered: Vec<MessageChange>,
    /// The messages that only the first request has, in its order.
    pub left: Vec<MessageChange>,
    /// The messages that both have, and that come earlier or later among the others in the second request.
    pub moved: Vec<MessageChange>,
    /// The messages that both have in another form or with other words, and those that a summary stands for in one of the two.
    pub changed: Vec<MessageChange>,
    /// The names of the options with other values, `pins` also for other pinned nodes. A provider's cache is of one model: if `model` is
    /// among them, nothing comes from the cache.
    pub options: Vec<String>,
    /// What both begin with.
    pub prefix: SharedPrefix,
}

/// What two requests begin with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct SharedPrefix {
    /// Its tokens, as the second request counts them: the tools, the whole messages, and the text with which the first message that differs
    /// begins in both. It is 0 if the tools or the providers differ.
    pub tokens: u64,
    /// How many messages of `Context.messages` it has.
    pub messages: usize,
    /// The number of the first message that differs in the list of the payload (`messages`, `contents` or `input`), from 0. Not there
    /// if the lists are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<usize>,
    /// Why it ends there. Not there if both are the same to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<PrefixEnd>,
}

/// Why the common beginning of two requests ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct PrefixEnd {
    /// What came about there. `tools`: the tools are others. `rendering`: the messages are the same, and are written otherwise.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub why: PrefixBreak,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageChange>,
    /// The option that caused it, if one with another value did. Otherwise the history did: it grew, or it was compacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
}

/// What ends the common beginning of two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase"))]
pub enum PrefixBreak {
    /// A message came in.
    Entered,
    /// A message went out.
    Left,
    /// A message comes earlier or later.
    Moved,
    /// A message has another form or other words.
    Changed,
    /// The tools are others.
    Tools,
    /// The same messages are written otherwise.
    Rendering,
}

/// What became of a message from one request to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct MessageChange {
    /// Its node. Not there for what the history does not have: the system prompt of the options, memory, a summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<MessageId>,
    /// How it stood in the first request. Not there if that does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<MessageState>,
    /// How it stands in the second request. Not there if that does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<MessageState>,
}

/// How a message stands in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct MessageState {
    /// `whole`, `preview`, `compressed`, `summary` (it is the summary), `summarised` (a summary stands for it) or `out`.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub form: MessageForm,
    /// Its place in `Context.messages`. Not there if it is not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    /// The rule of the ledger that decided.
    pub rule: &'static str,
    /// Its tokens.
    pub tokens: u32,
}

/// The form of a message in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase"))]
pub enum MessageForm {
    /// As it is.
    Whole,
    /// The beginning of a large tool result.
    Preview,
    /// In short, or in what another one says.
    Compressed,
    /// The summary of a compaction.
    Summary,
    /// In the summary.
    Summarised,
    /// Not in the prompt.
    Out,
}
