//! What the engine answers, what it tells, and its errors.

#[cfg(doc)]
use crate::{ContextReply, FitReply, MemoryRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep_core::node::{Labels, Origin};
use threadkeep_core::transcript::Info;
use threadkeep_core::{Message, MessageId, TranscriptId};

use crate::Undone;

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The change that was undone; `null` if there was nothing to undo.
    Undone(Option<Undone>),
    /// What an import did.
    Import(Box<ImportReport>),
}

impl Response {
    /// The answer that is one node.
    pub fn node(node: NodeInfo) -> Self {
        Self::Node(Box::new(node))
    }
}

/// A node: what one step adds to a conversation, and where it hangs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "NodeRecord"))]
pub struct NodeInfo {
    /// Its id: yours, or 64 hex digits, or `<source>/<conversation>/<message>` for imported ones.
    pub id: MessageId,
    /// Its transcript: the id of the transcript's root.
    pub transcript: TranscriptId,
    /// Its parent; `null` for a root.
    pub parent: Option<MessageId>,
    /// Counts up within a transcript and is never used twice: the number of the log entry that began it.
    pub seq: u64,
    /// When it was made, in milliseconds since 1970 (UTC); `null` where that is not known.
    pub created_at: Option<i64>,
    /// User and assistant messages from the root to the end of this node.
    pub depth: u32,
    /// The turn at its end, `turn_0001` and on; `null` before the first.
    pub turn: Option<String>,
    /// Whether it is complete and will not grow again.
    pub sealed: bool,
    /// Where it came from.
    pub origin: Origin,
    /// Set where the message named one by `replyTo` that nobody knew: it began a transcript of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(type = "true"))]
    pub unknown_reply: bool,
    /// Names and values of the importer's choosing.
    pub labels: Labels,
    /// What it adds, in order.
    pub messages: Vec<Message>,
}

/// A thread, as lists show it: a name, and the node at which its head points, like a branch in git.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ThreadInfo"))]
pub struct HeadInfo {
    /// Its name.
    pub name: String,
    /// The transcript in which it ends.
    pub transcript: TranscriptId,
    /// The node at which it ends.
    pub node: MessageId,
}

/// A transcript, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct TranscriptInfo {
    /// Its id, which is its root's.
    pub id: TranscriptId,
    /// Title, times, counts, source, chosen leaf.
    #[serde(flatten)]
    pub info: Info,
}

/// One branch of a transcript without its texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "OutlineRow"))]
pub struct Row {
    /// The node.
    pub id: MessageId,
    /// The role of its first message, or `""` where it has none.
    pub role: String,
    /// How many messages it holds.
    pub messages: u32,
    /// How many characters of text they hold.
    pub chars: u32,
    /// User and assistant messages up to its end.
    pub depth: u32,
    /// Whether a page should tuck it away.
    pub hidden: bool,
    /// Its place among its siblings, where it has any.
    pub fork: Option<Fork>,
    /// Its place among the siblings that answer the same question otherwise, where it has any. Such a fork stands after the question, the
    /// node's first user messages; siblings with the same question count once in `fork`.
    pub answers: Option<Fork>,
}

/// A node's place among its siblings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
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

/// One node of a transcript's tree. Parents come before their children.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct TreeNode {
    /// The node.
    pub id: MessageId,
    /// Its parent; `null` for the root.
    // It crosses as the parent's position in the list, which the npm package makes an id again.
    #[cfg_attr(feature = "ts", ts(type = "string | null"))]
    pub parent: Option<u32>,
    /// The role of its first message, or `""`.
    pub role: String,
    /// Whether a page should tuck it away.
    pub hidden: bool,
    /// The first words of its text, at most 60 characters.
    pub words: String,
}

/// One finding of `Threadkeep.lint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Stats {
    /// Transcripts.
    pub transcripts: u32,
    /// Nodes in them.
    pub nodes: u64,
    /// Messages in them.
    pub messages: u64,
    /// Threads: names that point at a node.
    #[serde(rename = "threads")]
    pub heads: u32,
    /// Transcripts in the cache.
    pub cached_transcripts: u32,
    /// About how many bytes of memory they take.
    pub cached_bytes: u64,
    /// The most bytes that the cache may take.
    pub cache_limit: u64,
    /// What was found damaged since the keep was opened, and passed over. `Threadkeep.lint` reads everything, and so finds all of it.
    pub damaged: Vec<Damage>,
}

/// Something that is stored and cannot be read. Calls over the whole keep pass over it; a call for that one thing fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Damage {
    /// The transcript to which it belongs; `null` if that is not known. `Transcript.delete` deletes a damaged one, too.
    pub transcript: Option<TranscriptId>,
    /// What it is, and why it cannot be read.
    pub what: String,
}

/// How far an import is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
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
    /// Requests of the journal that were stored.
    pub requests: u32,
    /// Places whose settings were stored: the keep, transcripts and threads.
    pub settings: u32,
    /// The transcripts that were added or updated, in the order of the archive; the first 1,000.
    pub transcripts: Vec<TranscriptId>,
    /// What was left out or came in damaged; the first 1,000.
    pub skipped: Vec<Skipped>,
    /// How many were left out or came in damaged in all.
    pub skipped_count: u32,
    /// Whether it was ended before all was read. Only in `details.report` of the error `cancelled` can it be true.
    pub stopped: bool,
}

/// So many things are listed in an [`ImportReport`]; all are counted.
const LISTED: usize = 1000;

impl ImportReport {
    /// Adds a transcript that was stored, with so many of its messages.
    pub fn stored(&mut self, id: &TranscriptId, messages: u32) {
        self.messages += messages;
        if self.transcripts.len() < LISTED {
            self.transcripts.push(id.clone());
        }
    }

    /// Adds what was left out, or came in damaged (`salvaged`).
    pub fn skip(&mut self, place: &str, code: &str, reason: String, salvaged: bool) {
        self.skipped_count += 1;
        if self.skipped.len() < LISTED {
            self.skipped.push(Skipped { place: place.to_owned(), reason, code: code.to_owned(), salvaged });
        }
    }
}

/// One thing that an import left out, or took with something missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Skipped {
    /// Where: file, conversation, line or node.
    pub place: String,
    /// Why, and what to do about it.
    pub reason: String,
    /// A stable word for the reason, such as `not-a-conversation`. `salvaged`: a message could not be read, and a note stands in its place
    /// until a whole copy of the file is imported. `message-differs`, `memory-differs`: the same id says something else here.
    /// `branch-differs`: a thread's head or the shown branch is elsewhere here, and stays. `thread-taken`, `id-taken`: the name is used in
    /// another transcript. `unpinned`: facts of a file that is no backup of this keep come in unpinned, with the tag `imported`.
    /// `settings-left`: settings, or some of their options, were not taken. `settings-speak`: settings that were taken have words for the model
    /// or tools. `bad-settings`, `bad-request`: a line of settings or of the journal is wrong.
    pub code: String,
    /// Whether the thing came in all the same, with something missing.
    pub salvaged: bool,
}

/// What changed. Sent after the change is durable.
///
/// - `changed`: a transcript was made or gained something, or its title or chosen leaf changed. `nodes` are new or grew.
/// - `deleted`: nodes of a transcript were deleted, or (with an empty list) all of it.
/// - `head`: the head of a thread was made, moved or removed (`node` is `null` then).
/// - `memory`: episodes or facts were made, changed or deleted.
/// - `mail`: a message came into the mailbox of `party`, or one in it was dismissed.
/// - `cleared`: everything was deleted.
/// - `damage`: something that is stored cannot be read, and was passed over. Sent once for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "Change"))]
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
        name: String,
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
    /// Settings were stored or removed.
    Settings {
        /// The head or the transcript; `null` for the whole keep.
        at: Option<String>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorReply {
    /// A stable word: `missing-node`, `conflict`, `bad-request`, …
    pub code: String,
    /// What is wrong, where, and what to do.
    pub message: String,
    /// Names and figures that belong to it.
    pub details: Value,
}

#[cfg(test)]
mod tests {
    use threadkeep_core::{Message, MessageId, Node};

    use super::*;
    use crate::Change;

    #[test]
    fn what_is_written_is_read() {
        let id = MessageId::new("t").unwrap();
        let events = [
            Event::Changed { transcript: id.clone(), nodes: vec![id.clone()] },
            Event::Deleted { transcript: id.clone(), nodes: vec![] },
            Event::Head { name: "h".into(), node: None },
            Event::Head { name: "h".into(), node: Some(id.clone()) },
            Event::Cleared,
            Event::Memory { episodes: vec!["e".into()], facts: vec![] },
            Event::Mail { party: "a".into(), number: 7 },
            Event::Settings { at: None },
            Event::Settings { at: Some("h".into()) },
            Event::Damage { damage: Damage { transcript: None, what: "bits".into() } },
            Event::Damage { damage: Damage { transcript: Some(id.clone()), what: "bits".into() } },
        ];
        for event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
        }
        let extra = serde_json::from_str(r#"{"score": [1.50, 2e-7]}"#).unwrap();
        let info = threadkeep_core::Info { title: "a".into(), created_at: Some(-5), extra, ..Default::default() };
        let Node { origin, labels, messages, .. } =
            serde_json::from_str(r#"{"id":"n","messages":[{"role":"user","content":"a"}],"labels":{"a":"b"},"origin":{"number":3,"model":"m"}}"#)
                .unwrap();
        let node = NodeInfo {
            id: id.clone(),
            transcript: id.clone(),
            parent: None,
            seq: 4,
            created_at: Some(5),
            depth: 6,
            turn: Some("turn_0001".into()),
            sealed: true,
            origin,
            unknown_reply: true,
            labels,
            messages: messages.into_vec(),
        };
        let fork = Some(Fork { index: 1, count: 2, previous: None, next: Some(id.clone()) });
        let answers = Some(Fork { index: 2, count: 3, previous: Some(id.clone()), next: None });
        let row =
            Row { id: id.clone(), role: "user".into(), messages: 1, chars: 2, depth: 3, hidden: true, fork, answers };
        let answers = [
            Response::Done,
            Response::Number(7),
            Response::MaybeNode(None),
            Response::Nodes(vec![]),
            Response::Undone(None),
            Response::Undone(Some(Undone { change: Change::Edit, from: id.clone(), node: id.clone(), messages: 2 })),
            Response::Transcripts(vec![TranscriptInfo { id: id.clone(), info: info.clone() }]),
            Response::Stats(Stats {
                nodes: 5,
                damaged: vec![Damage { transcript: Some(id.clone()), what: "bits".into() }],
                ..Stats::default()
            }),
            Response::Node(Box::new(node.clone())),
            Response::Nodes(vec![node.clone(), node]),
            Response::Messages(vec![Message::user("a")]),
            Response::Heads(vec![HeadInfo { name: "h".into(), transcript: id.clone(), node: id.clone() }]),
            Response::Outline(Box::new(Outline {
                transcript: TranscriptInfo { id: id.clone(), info },
                leaf: id.clone(),
                rows: vec![row],
                damage: Some("d".into()),
            })),
            Response::Tree(vec![TreeNode {
                id: id.clone(),
                parent: Some(3),
                role: "user".into(),
                hidden: true,
                words: "w".into(),
            }]),
            Response::Lint(vec![LintFinding {
                transcript: id.clone(),
                node: id.clone(),
                index: Some(1),
                rule: "r".into(),
                message: "m".into(),
            }]),
            Response::Import(Box::new(ImportReport {
                formats: vec!["chatgpt".into()],
                added: 1,
                memories: 2,
                transcripts: vec![id],
                skipped: vec![Skipped { place: "p".into(), reason: "r".into(), code: "c".into(), salvaged: true }],
                skipped_count: 9,
                ..ImportReport::default()
            })),
        ];
        for answer in answers {
            let text = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<Response>(&text).unwrap(), answer);
        }
        for wrong in [r#"{"type":"x"}"#, r#"{"type":"number","data":"a"}"#, r#"{"data":1}"#] {
            assert!(serde_json::from_str::<Response>(wrong).is_err());
        }
        assert!(serde_json::from_str::<Event>(r#"{"type":"changed"}"#).is_err());
    }
}
