//! What can be asked of the engine from outside its thread, and what it answers: plain data, the same for the page's
//! worker and for the npm package. Requests of what is kept ([`Request`], answered by `Keep::handle`) and of prompts
//! made from it ([`PromptRequest`], answered by `Keep::prompt`), and one enum of responses. They are two since a browser loads
//! what makes prompts only when it is first asked for one. As JSON a request is `{"method": "chain", "params": {"leaf": "…"}}`, a response
//! `{"type": "nodes", "data": […]}`, an error an [`ErrorReply`]. Unknown methods and unknown parameters are errors.

mod append;
mod compact;
mod context;
mod mail;
mod memory;
mod object;
mod prompt;
mod read;
mod request;
mod search;
mod vectors;

use serde::Serialize;
use serde_json::Value;
use threadkeep_core::node::{Labels, Origin};
use threadkeep_core::transcript::Info;
use threadkeep_core::{Message, MessageId, TranscriptId};

use crate::Start;

pub use append::Appended;
pub use compact::{CompactCall, CompactionRequest, checkpoint_json};
pub use context::{
    ContextOptions, ContextReply, Counting, FitReply, Instead, MarkRun, Wanted, WhatIf, limits_json, trim_options,
    warning_json,
};
pub use mail::{AgentCall, MailRequest};
pub use memory::{MemoryRequest, bundle_json, interaction_json};
pub use prompt::{PromptRequest, Recent};
pub use read::Read;
pub use request::BadRequest;
pub use search::{Found, Hit, IndexProgress, SearchOptions, SearchReply, SearchRequest};
pub use vectors::{NewVectors, Place, ToEmbed, Vector};

/// An inbound message, to be routed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inbound {
    /// Its id from outside; without one, an id is minted. An id that was seen before is not stored again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The message that it answers. Known (as a node or an alias): it becomes a child of that node. Unknown or none: it
    /// begins a transcript of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// Its sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its number in the inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// What it says: text, or a list of content parts.
    pub content: Value,
    /// The system prompt of the transcript, should it begin one. It is stored at the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "method", content = "params", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Request {
    /// Route an inbound message. → [`Response::Node`]
    Receive(Inbound),
    /// Let an unsealed node grow. → [`Response::Node`]
    Extend {
        /// The node or an alias of it.
        node: MessageId,
        /// What it grows by.
        messages: Vec<Message>,
    },
    /// Complete a node. → [`Response::Node`]
    Seal {
        /// The node or an alias of it.
        node: MessageId,
    },
    /// Let the outbound message `id` stand for `node`, so that replies to it find the chain. → [`Response::Node`]
    Alias {
        /// The outbound message's id.
        id: MessageId,
        /// The node that answered with it.
        node: MessageId,
    },
    /// One node. → [`Response::MaybeNode`]
    Node {
        /// The node or an alias of it.
        id: MessageId,
    },
    /// A node's children, oldest first. → [`Response::Nodes`]
    Children {
        /// The node or an alias of it.
        id: MessageId,
    },
    /// The roots of all transcripts, newest first. → [`Response::Nodes`]
    Roots,
    /// The nodes from the root to `leaf`, both in. → [`Response::Nodes`]
    Chain {
        /// The node or an alias of it.
        leaf: MessageId,
    },
    /// User and assistant messages in the chain that ends here. → [`Response::Number`]
    Depth {
        /// The node or an alias of it.
        id: MessageId,
    },
    /// Where a head points. → [`Response::MaybeNode`]
    Head {
        /// The head's name: a thread's, in npm.
        context: String,
    },
    /// Points a head at a node, making it if it is new. → [`Response::Node`]
    SetHead {
        /// The head's name.
        context: String,
        /// The node or an alias of it.
        node: MessageId,
    },
    /// All heads. → [`Response::Heads`]
    Heads,
    /// Makes a second head at the first one's node, or further up. → [`Response::Node`]
    Fork {
        /// The head to fork.
        context: String,
        /// The new head's name, which must be free.
        new_context: String,
        /// How many of the messages the fork keeps; all without it. A position inside a node that holds several
        /// messages is an error.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_index: Option<u32>,
    },
    /// Appends messages at a head, one sealed node each; an unknown head begins a transcript. → [`Response::Nodes`]
    Append {
        /// The head's name.
        context: String,
        /// The messages, in order.
        messages: Vec<Message>,
        /// Where they begin, if not at the head.
        #[serde(flatten)]
        start: Start,
    },
    /// All messages at a head. → [`Response::Messages`]
    GetAll {
        /// The head's name.
        context: String,
    },
    /// The messages `start..end` at a head; `end` is out, and what lies beyond the last is left out. → [`Response::Messages`]
    GetRange {
        /// The head's name.
        context: String,
        /// The first index.
        start: u32,
        /// The index after the last.
        end: u32,
    },
    /// How many messages there are at a head; 0 where there is none. → [`Response::Number`]
    GetCount {
        /// The head's name.
        context: String,
    },
    /// Removes a head and the nodes that only it leads to, for good. → [`Response::Number`] of removed messages
    Clear {
        /// The head's name.
        context: String,
    },
    /// What is wrong with one chain, or with everything. → [`Response::Lint`]
    Lint {
        /// The end of the chain; all transcripts without it.
        #[serde(skip_serializing_if = "Option::is_none")]
        leaf: Option<MessageId>,
    },
    /// All transcripts, newest first. → [`Response::Transcripts`]
    Transcripts,
    /// One branch of a transcript as a list of rows, without its texts. → [`Response::Outline`]
    Outline {
        /// The transcript.
        transcript: TranscriptId,
        /// The end of the branch; the chosen one without it. A node in the middle is followed to its newest leaf.
        #[serde(skip_serializing_if = "Option::is_none")]
        leaf: Option<MessageId>,
    },
    /// The nodes `start..end` of the chain that ends at `leaf`, with their messages. → [`Response::Nodes`]
    Rows {
        /// The end of the branch.
        leaf: MessageId,
        /// The first row.
        start: u32,
        /// The row after the last.
        end: u32,
    },
    /// The whole tree of a transcript, for its map. → [`Response::Tree`]
    Tree {
        /// The transcript.
        transcript: TranscriptId,
    },
    /// Gives a transcript another title. → [`Response::Done`]
    Rename {
        /// The transcript.
        transcript: TranscriptId,
        /// The title; an empty one brings back the first words.
        title: String,
    },
    /// Keeps `leaf` as the chosen branch of its transcript. → [`Response::Done`]
    Choose {
        /// The end of the branch.
        leaf: MessageId,
    },
    /// Deletes a node and all that follows it, for good. → [`Response::Number`] of removed messages
    DeleteBranch {
        /// The first node to go.
        node: MessageId,
    },
    /// Deletes a transcript, for good. → [`Response::Number`] of removed messages
    DeleteTranscript {
        /// The transcript.
        transcript: TranscriptId,
    },
    /// Deletes everything, for good. → [`Response::Done`]
    DeleteAll,
    /// Counts and sizes. → [`Response::Stats`]
    Stats,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "camelCase")]
pub enum Response {
    /// It is done and durable.
    Done,
    /// A count.
    Number(u64),
    /// A node.
    Node(Box<NodeInfo>),
    /// A node, or `null` where there is none of that id.
    MaybeNode(Option<Box<NodeInfo>>),
    /// Nodes, in order.
    Nodes(Vec<NodeInfo>),
    /// Messages, in order.
    Messages(Vec<Message>),
    /// Heads, by name.
    Heads(Vec<HeadInfo>),
    /// Transcripts, newest first.
    Transcripts(Vec<TranscriptInfo>),
    /// One branch.
    Outline(Box<Outline>),
    /// One tree.
    Tree(Vec<TreeNode>),
    /// What is wrong.
    Lint(Vec<LintFinding>),
    /// A prompt, as [`ContextReply::to_json`] writes it.
    Context(Value),
    /// A decision, as [`FitReply::to_json`] writes it.
    Fit(Value),
    /// What is remembered, as [`MemoryRequest`] says.
    Memory(Value),
    /// Counts and sizes.
    Stats(Stats),
    /// What an import did.
    Import(Box<ImportReport>),
}

/// A node, as the outside sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// The node's id.
    pub id: MessageId,
    /// Its transcript.
    pub transcript: TranscriptId,
    /// Its parent; `null` for a root.
    pub parent: Option<MessageId>,
    /// The number of the log entry that began it; counts up within a transcript and is never used twice.
    pub seq: u64,
    /// When it was made, in milliseconds since 1970 (UTC), where that is known.
    pub created_at: Option<i64>,
    /// User and assistant messages from the root to its end.
    pub depth: u32,
    /// The name of the turn at its end, `turn_0001` and on; `null` before the first.
    pub turn: Option<String>,
    /// Whether it is complete.
    pub sealed: bool,
    /// Where it came from.
    pub origin: Origin,
    /// Whether it answers a message that nobody knew, and so began a transcript.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown_reply: bool,
    /// The host's or importer's labels.
    pub labels: Labels,
    /// What it adds.
    pub messages: Vec<Message>,
}

/// A head, as the outside sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadInfo {
    /// Its name.
    #[serde(rename = "name")]
    pub context: String,
    /// The transcript in which it points.
    pub transcript: TranscriptId,
    /// The node at which it points.
    pub node: MessageId,
}

/// A transcript, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptInfo {
    /// Its id, which is its root's.
    pub id: TranscriptId,
    /// Title, times, counts, source, chosen leaf.
    #[serde(flatten)]
    pub info: Info,
}

/// One branch of a transcript without its texts: what a page needs to lay out and navigate it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outline {
    /// The transcript.
    pub transcript: TranscriptInfo,
    /// The end of this branch.
    pub leaf: MessageId,
    /// Its nodes from the root on.
    pub rows: Vec<Row>,
    /// What is wrong with the chain, where its parents are damaged; the rows are what can still be reached.
    pub damage: Option<String>,
}

/// One node of an [`Outline`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The node.
    pub id: MessageId,
    /// The role of its first message, or `""` where it has none.
    pub role: String,
    /// How many messages it holds.
    pub messages: u32,
    /// How many characters of text they hold, for guessing its height.
    pub chars: u32,
    /// User and assistant messages up to its end.
    pub depth: u32,
    /// Whether a page should tuck it away.
    pub hidden: bool,
    /// Where its siblings begin otherwise: which of them this is and where the others lead. Siblings with the same question count once.
    pub fork: Option<Fork>,
    /// Where siblings answer the same question otherwise: which of the answers this is and where the others lead. It stands after the
    /// question, the row's first user messages.
    pub answers: Option<Fork>,
}

/// A node's place among its siblings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fork {
    /// Its place, from 1.
    pub index: u32,
    /// How many there are.
    pub count: u32,
    /// The leaf to open for the sibling before, if there is one.
    pub previous: Option<MessageId>,
    /// The leaf to open for the sibling after, if there is one.
    pub next: Option<MessageId>,
}

/// One node of a tree's map. Parents come before their children.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// The node.
    pub id: MessageId,
    /// The position of its parent in the list; `null` for the root.
    pub parent: Option<u32>,
    /// The role of its first message, or `""`.
    pub role: String,
    /// Whether a page should tuck it away.
    pub hidden: bool,
    /// The first words of its text, at most 60 characters.
    pub words: String,
}

/// One finding of the linter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LintFinding {
    /// The transcript.
    pub transcript: TranscriptId,
    /// The node.
    pub node: MessageId,
    /// The place of the message in the node; `null` where the node as a whole is meant.
    pub index: Option<u32>,
    /// The rule, a stable word such as `unanswered-call`.
    pub rule: String,
    /// The finding in words.
    pub message: String,
}

/// Counts and sizes.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Transcripts.
    pub transcripts: u32,
    /// Nodes in them.
    pub nodes: u64,
    /// Messages in them.
    pub messages: u64,
    /// Heads.
    #[serde(rename = "threads")]
    pub heads: u32,
    /// Transcripts in the cache.
    pub cached_transcripts: u32,
    /// About how many bytes of memory they take.
    pub cached_bytes: u64,
    /// The most bytes that the cache may take.
    pub cache_limit: u64,
    /// What was found damaged since the keep was opened, and passed over.
    pub damaged: Vec<Damage>,
}

/// Something that is stored and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Damage {
    /// The transcript to which it belongs, if that is known.
    pub transcript: Option<TranscriptId>,
    /// What it is, and why it cannot be read.
    pub what: String,
}

/// How far an import is.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportProgress {
    /// The file that is being read.
    pub file: String,
    /// Bytes read so far, over all files.
    pub bytes: u64,
    /// Bytes in all; 0 where that is not known.
    pub total_bytes: u64,
    /// Conversations found so far.
    pub conversations: u32,
    /// Messages stored so far.
    pub messages: u32,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// The formats that were found.
    pub formats: Vec<String>,
    /// Conversations that are new here.
    pub added: u32,
    /// Conversations that were here and gained something.
    pub updated: u32,
    /// Conversations that were here already, with nothing new.
    pub unchanged: u32,
    /// Messages that were stored.
    pub messages: u32,
    /// Episodes and facts that were stored.
    pub memories: u32,
    /// The transcripts that were added or updated, in the order of the archive; the first 1,000.
    pub transcripts: Vec<TranscriptId>,
    /// What was left out or came in damaged, each with its place and its reason; the first 1,000.
    pub skipped: Vec<Skipped>,
    /// How many were left out or came in damaged in all.
    pub skipped_count: u32,
    /// Whether it was ended before all was read. What was stored until then stays.
    pub stopped: bool,
}

/// One thing that an import left out, or took with something missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// Where: file, conversation, line or node.
    pub place: String,
    /// Why, and what to do about it.
    pub reason: String,
    /// A stable word for the reason, such as `not-a-conversation`.
    pub code: String,
    /// Whether the thing came in all the same, with something missing.
    pub salvaged: bool,
}

/// What changed. Sent after the change is durable.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// A transcript was made or gained something, or its title or chosen leaf changed.
    Changed {
        /// The transcript.
        transcript: TranscriptId,
        /// The nodes that are new or grew.
        nodes: Vec<MessageId>,
    },
    /// Nodes of a transcript were deleted, or (with an empty list) all of it.
    Deleted {
        /// The transcript.
        transcript: TranscriptId,
        /// The deleted nodes.
        nodes: Vec<MessageId>,
    },
    /// A head was made, moved or removed.
    Head {
        /// The head's name.
        #[serde(rename = "name")]
        context: String,
        /// Where it points now; `null` when it was removed.
        node: Option<MessageId>,
    },
    /// Episodes or facts were made, changed or deleted.
    Memory {
        /// The episodes.
        episodes: Vec<String>,
        /// The facts.
        facts: Vec<String>,
    },
    /// A mailbox has another message, or one of its messages was dismissed.
    Mail {
        /// Whose mailbox.
        party: String,
        /// The message's number.
        number: u64,
    },
    /// Everything was deleted.
    Cleared,
    /// Something that is stored cannot be read, and was passed over.
    Damage {
        /// What it is.
        damage: Damage,
    },
}

/// An error as the outside sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorReply {
    /// A stable word: `missing-node`, `conflict`, `bad-request`, …
    pub code: String,
    /// What is wrong, where, and what to do.
    pub message: String,
    /// Names and figures that belong to it.
    pub details: Value,
}
