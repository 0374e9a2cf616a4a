//! The messages between the page and its worker: [`ToWorker`] and [`FromWorker`], as bytes of `postcard`. The files of an import
//! and the file of an export are sent beside the bytes, as the browser's own objects.
//!
//! The types are the engine's where the page shows all of them, else their part that a page shows. The bytes hold no names, so both
//! sides must be of one version. Conversation messages need names, so they are sent as JSON.

mod agent;
mod context;
mod found;
mod json;
mod memory;
mod requests;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep::epochs::Step;
use threadkeep::protocol::{
    ErrorReply, Event, ImportProgress, ImportReport, NodeInfo, Outline, Row, Stats, TranscriptInfo, TreeNode,
};
use threadkeep::{Binned, Sharing};
use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::{Message, MessageId, TranscriptId};
use threadkeep_provider::Listed;

use crate::inspect::{Instructions, Settings};

pub use agent::{Ending, Heard, Secret, Talk, Tested, Turn};
pub use context::{Fitted, Payload, Question, Run, Side, Stretch};
pub use found::{EPISODE, FACT, Find, Found, Hit, SUMMARY, cut, reason};
pub use memory::{Card, Carrier, Compacted, Compared, Epoch, Finding, Memory, Recall, Said, Sends, Way, nodes};
pub use requests::{Asked, Journal, Moved, Sent, Since, Used};

/// The number by which an answer finds its question.
pub type Ticket = u32;

/// The bytes of a message.
pub fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    // No type of the wire fails to serialise. The other side reports empty bytes.
    postcard::to_allocvec(message).unwrap_or_default()
}

/// The message of these bytes; `None` if they are no such message, or more than one.
pub fn from_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (message, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(message)
}

/// What the page asks of the engine; each is the request of that name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// All threads, newest first. → [`Reply::Threads`]
    Threads,
    /// One branch, without texts. → [`Reply::Branch`]
    Branch {
        /// The thread.
        transcript: TranscriptId,
        /// The branch's end; the chosen one without it.
        leaf: Option<MessageId>,
    },
    /// The nodes `start..end` of the branch that ends at `leaf`. → [`Reply::Nodes`]
    Rows {
        /// The branch's end.
        leaf: MessageId,
        /// The first row.
        start: u32,
        /// The row after the last.
        end: u32,
    },
    /// The whole tree, for the map. → [`Reply::Tree`]
    Tree(TranscriptId),
    /// Another title. → [`Reply::Done`]
    Rename {
        /// The thread.
        transcript: TranscriptId,
        /// Its title; an empty one brings back the first words.
        title: String,
    },
    /// Keep this end as the chosen branch. → [`Reply::Done`]
    Choose(MessageId),
    /// What is deleted, and the bin.
    Remove(Remove),
    /// Put something from the bin back where it was. → [`Reply::Binned`], that one
    Undelete(String),
    /// Counts and sizes. → [`Reply::Stats`]
    Stats,
    /// What the context inspector asks.
    Inspect(Inspect),
    /// Find messages. → [`Reply::Found`]
    Find(Find),
    /// About compaction and memory.
    Recall(Box<Recall>),
    /// About requests that were sent.
    Journal(Journal),
    /// What needs a model.
    Talk(Box<Talk>),
}

/// What is deleted, and the bin. Answered by a part of the module that is loaded with the first of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Remove {
    /// Move a thread, or a node of it and all that follows, to the bin. → [`Reply::Binned`], empty where it was gone already
    Bin(Removed),
    /// Delete it for good. → [`Reply::Number`] of messages
    Delete(Removed),
    /// Delete everything, the bin too. → [`Reply::Done`]
    All,
    /// What is in the bin, the newest first. → [`Reply::Binned`]
    List,
    /// Take one out of the bin for good. → [`Reply::Done`]
    Drop(String),
    /// Take all out of the bin for good. → [`Reply::Done`]
    Empty,
}

/// A thread, or a node of it and all that follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Removed {
    /// The thread.
    pub transcript: TranscriptId,
    /// The node; `None` for the whole thread.
    pub node: Option<MessageId>,
}

/// What the context inspector asks. Answered by a part of the module that is loaded with the first of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Inspect {
    /// What a budget keeps of a chain. → [`Reply::Fitted`]
    Fit(Box<Question>),
    /// The provider's payload of a chain for a budget. → [`Reply::Payload`]
    Payload(Box<Question>),
    /// Fetch the vocabulary of this place in [`ENCODINGS`](crate::inspect::ENCODINGS). → [`Reply::Done`]
    Vocabulary(u32),
    /// The settings of the whole keep, after those that an older version of the page kept as this text are stored. → [`Reply::Settings`]
    Settings(String),
    /// Store these in their place. → [`Reply::Done`]
    Set(Settings),
    /// The system prompt, the mode and the persona of the whole keep. → [`Reply::Instructions`]
    Instructions,
    /// Store these in their place. → [`Reply::Done`]
    Instruct(Instructions),
    /// Pin nodes (`true`), or remove their pins. → [`Reply::Done`]
    Pin {
        /// The nodes.
        nodes: Vec<(MessageId, bool)>,
        /// Those that an older version of the page kept as this text.
        old: String,
    },
}

/// What the engine answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done and durable.
    Done,
    /// A count.
    Number(u64),
    /// What stands before each prompt.
    Instructions(Instructions),
    /// The threads, newest first.
    Threads(Vec<ThreadInfo>),
    /// One branch.
    Branch(Box<Branch>),
    /// Nodes, in order.
    Nodes(Vec<Node>),
    /// One tree.
    Tree(Vec<TreeNode>),
    /// Counts and sizes.
    Stats(Stats),
    /// What is, or was, in the bin.
    Binned(Vec<Binned>),
    /// What an import did.
    Imported(Box<ImportReport>),
    /// What a sync did, or why it failed: JSON, as `run` in `npm/src/sync/page.ts` says.
    Synced(String),
    /// A file was made, which comes beside this; for others, what looks like a secret in it.
    Exported(Vec<threadkeep::Secret>),
    /// What a budget keeps.
    Fitted(Box<Fitted>),
    /// What the reader has set in the inspector.
    Settings(Settings),
    /// A provider's payload.
    Payload(Payload),
    /// What was found.
    Found(Box<Found>),
    /// Episodes and facts.
    Memories(Vec<Memory>),
    /// What a compaction did, or would do.
    Compacted(Box<Compacted>),
    /// The epochs of a branch.
    Epochs(Vec<Epoch>),
    /// What changed in a prompt.
    Step(Box<Step>),
    /// What stands for a message.
    Carrier(Box<Carrier>),
    /// How two prompts differ.
    Compared(Box<Compared>),
    /// What is wrong with a branch.
    Checked(Vec<Finding>),
    /// The end of the mended branch; `None` where nothing was to be mended.
    Mended(Option<MessageId>),
    /// How the test of a connection went.
    Tested(Tested),
    /// The requests of a branch, oldest first.
    Requests(Vec<Asked>),
    /// A request as it was sent.
    Sent(Box<Sent>),
    /// The models that a connection has.
    Models(Vec<Listed>),
}

/// A thread as the list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadInfo {
    /// Its id.
    pub id: TranscriptId,
    /// Its title; may be empty.
    pub title: String,
    /// The kind of archive that it came from; empty for what began here.
    pub source: String,
    /// When it last changed, in milliseconds since 1970.
    pub updated_at: Option<i64>,
    /// How many messages it holds.
    pub messages: u32,
    /// How many of its branches end in a leaf of their own.
    pub branches: u32,
    /// The models that answered.
    pub models: Vec<String>,
    /// How many images its messages have.
    pub images: u32,
    /// The end of the chosen branch.
    pub leaf: Option<MessageId>,
}

impl From<TranscriptInfo> for ThreadInfo {
    fn from(TranscriptInfo { id, info }: TranscriptInfo) -> Self {
        Self {
            id,
            title: info.title,
            source: info.source,
            updated_at: info.updated_at,
            messages: info.messages,
            branches: info.branches,
            models: info.models,
            images: info.images,
            leaf: info.leaf,
        }
    }
}

/// A node as a thread shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its id.
    pub id: MessageId,
    /// When it was made, in milliseconds since 1970, where that is known.
    pub created_at: Option<i64>,
    /// The name of the turn at its end.
    pub turn: Option<String>,
    /// Whether it is complete.
    pub sealed: bool,
    /// Its sender.
    pub from: Option<String>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The agent that wrote it, where a sub-agent did.
    pub agent: Option<String>,
    /// What it adds.
    #[serde(with = "json")]
    pub messages: Vec<Message>,
}

impl From<NodeInfo> for Node {
    fn from(node: NodeInfo) -> Self {
        let NodeInfo { id, created_at, turn, sealed, origin, messages, .. } = node;
        Self { id, created_at, turn, sealed, from: origin.from, model: origin.model, agent: origin.agent, messages }
    }
}

/// One branch of a thread without its texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// The thread.
    pub thread: ThreadInfo,
    /// The branch's end.
    pub leaf: MessageId,
    /// Its nodes from the root on.
    pub rows: Vec<Row>,
    /// What is missing, where the chain is damaged.
    pub damage: Option<String>,
    /// The compactions on it, the shallowest first.
    pub cards: Vec<Card>,
    /// Its pinned nodes.
    pub pins: Vec<MessageId>,
}

impl Branch {
    /// The branch with the compactions and the pins on it.
    pub fn new(outline: Outline, checkpoints: Vec<Checkpoint>, pins: Vec<MessageId>) -> Self {
        let Outline { transcript, leaf, rows, damage } = outline;
        let cards = checkpoints.into_iter().map(Into::into).collect();
        Self { thread: transcript.into(), leaf, rows, damage, cards, pins }
    }
}

/// What changed, here or in another tab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A thread is new, or gained something, or its title or chosen branch changed.
    Changed {
        /// The thread.
        transcript: TranscriptId,
        /// The nodes that are new or grew.
        nodes: Vec<MessageId>,
    },
    /// Nodes of a thread were deleted, or (with an empty list) all of it.
    Deleted {
        /// The thread.
        transcript: TranscriptId,
        /// The deleted nodes.
        nodes: Vec<MessageId>,
    },
    /// Everything was deleted.
    Cleared,
    /// Episodes or facts are new, changed or gone.
    Memory,
    /// Settings changed.
    Settings,
}

impl Change {
    /// What a page must know of an event; `None` if it shows nothing of it.
    pub fn of(event: &Event) -> Option<Self> {
        match event.clone() {
            Event::Changed { transcript, nodes } => Some(Self::Changed { transcript, nodes }),
            Event::Deleted { transcript, nodes } => Some(Self::Deleted { transcript, nodes }),
            Event::Cleared => Some(Self::Cleared),
            Event::Memory { .. } => Some(Self::Memory),
            Event::Settings { .. } => Some(Self::Settings),
            Event::Head { .. } | Event::Mail { .. } | Event::Damage { .. } => None,
        }
    }
}

/// An error without its details: the page has its own words for each code.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ErrorReply")]
struct Failure {
    code: String,
    message: String,
    #[serde(skip)]
    details: Value,
}

/// From the page to its worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Open the store. The first thing that is said, and said again after a failure.
    Open {
        /// Keep everything in memory instead of on the disk, because the disk cannot be had.
        memory: bool,
    },
    /// Ask the engine.
    Ask {
        /// The ticket of the answer.
        ticket: Ticket,
        /// What is asked.
        ask: Ask,
    },
    /// Import the files that come beside this text.
    Import {
        /// The ticket of the answer and of the progress.
        ticket: Ticket,
    },
    /// End the import that runs; it answers with what was done.
    StopImport,
    /// Give up the compaction that runs, or its preview; it answers with `cancelled`, unless it was done already.
    StopCompaction,
    /// A piece of what the browser's own model says: more text, its end, or why there is none.
    Prompted {
        /// The number of the question.
        number: u32,
        /// The piece.
        piece: Result<Option<String>, String>,
    },
    /// End the agent's turn that runs; what it has until then stays.
    StopTurn,
    /// What the browser's own summariser has answered, or why it has not.
    Summarised {
        /// The number of the question.
        number: u32,
        /// The answer.
        answer: Result<String, String>,
    },
    /// Sync with the folder that comes beside this, or with a server.
    Sync {
        /// The ticket of the answer.
        ticket: Ticket,
        /// Where, and with which passphrase: JSON, as `Choice` in `npm/src/sync/page.ts` says.
        choice: String,
    },
    /// Make a file of one transcript, or of all.
    Export {
        /// The ticket of the answer.
        ticket: Ticket,
        /// The transcript; all without it.
        transcript: Option<TranscriptId>,
        /// What is looked for and what stays, where the file is for others.
        sharing: Option<Sharing>,
    },
}

/// From the worker to its page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The worker listens.
    Listening,
    /// The store is open.
    Opened {
        /// Whether it is only in memory.
        memory: bool,
    },
    /// The store could not be opened.
    Failed(#[serde(with = "Failure")] ErrorReply),
    /// The answer to what had a ticket. The file of an export comes beside it.
    Answer {
        /// The ticket of the question.
        ticket: Ticket,
        /// What the engine said: to an import, [`Reply::Imported`]; to an export, [`Reply::Done`].
        reply: Reply,
    },
    /// What had a ticket failed.
    Error {
        /// The ticket of the question.
        ticket: Ticket,
        /// Why.
        #[serde(with = "Failure")]
        error: ErrorReply,
    },
    /// How far an import is.
    Progress {
        /// The ticket of the import.
        ticket: Ticket,
        /// How far.
        progress: ImportProgress,
    },
    /// How far a sync is.
    Syncing {
        /// What it does.
        step: String,
        /// How many conversations are done.
        done: u32,
        /// How many there are.
        total: u32,
    },
    /// What changed, here or in another tab, in order.
    Changes(Vec<Change>),
    /// What happened in the agent's turn, in order.
    Heard(Vec<Heard>),
    /// A conversation for the browser's own model, which workers have not.
    Prompt {
        /// The number of the question.
        number: u32,
        /// The messages, as JSON.
        messages: String,
    },
    /// Nobody waits for that answer any more.
    StopPrompt(u32),
    /// How far a compaction is.
    Compacting {
        /// How many messages were summarised.
        done: u32,
        /// How many are being summarised now.
        now: u32,
    },
    /// A text for the browser's own summariser, which workers have not.
    Summarise {
        /// The number of the question.
        number: u32,
        /// Which of the questions for this summary it is, from 0.
        part: u32,
        /// How many there are.
        parts: u32,
        /// The text.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::json;
    use threadkeep::protocol::{Damage, Fork, Skipped};

    use super::*;

    fn thread() -> ThreadInfo {
        ThreadInfo {
            id: TranscriptId::new("t").unwrap(),
            title: "Ünder\u{0}".into(),
            source: "chatgpt".into(),
            updated_at: Some(-7),
            messages: 300,
            branches: u32::MAX,
            models: vec!["gpt-4o".into()],
            images: 2,
            leaf: Some(MessageId::new("l").unwrap()),
        }
    }

    fn same<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(all: Vec<T>) {
        for one in all {
            let bytes = to_bytes(&one);
            assert_eq!(from_bytes::<T>(&bytes).as_ref(), Some(&one));
            for end in 0..bytes.len() {
                assert!(from_bytes::<T>(&bytes[..end]).is_none(), "{one:?} cut at {end}");
            }
            assert!(from_bytes::<T>(&[&bytes[..], &[0]].concat()).is_none(), "{one:?} goes on");
            // Another version's bytes are some message or none, and no panic.
            for (at, byte) in (0..bytes.len()).flat_map(|at| [0, 0x7f, 0x80, 0xff].map(|byte| (at, byte))) {
                let mut changed = bytes.clone();
                changed[at] = byte;
                drop(from_bytes::<T>(&changed));
            }
        }
    }

    #[test]
    fn what_is_said_is_heard() {
        let (id, leaf) = (TranscriptId::new("t").unwrap(), MessageId::new("l").unwrap());
        let asks = [
            Ask::Threads,
            Ask::Branch { transcript: id.clone(), leaf: None },
            Ask::Rows { leaf: leaf.clone(), start: 0, end: 400 },
            Ask::Tree(id.clone()),
            Ask::Rename { transcript: id.clone(), title: "x".into() },
            Ask::Choose(leaf.clone()),
            Ask::Remove(Remove::Bin(Removed { transcript: id.clone(), node: Some(leaf.clone()) })),
            Ask::Remove(Remove::All),
            Ask::Undelete("1-a".into()),
            Ask::Journal(Journal::List(leaf.clone())),
            Ask::Journal(Journal::Sent { id: "t:1".into(), before: Some("t:0".into()) }),
            Ask::Stats,
        ];
        let mut said: Vec<_> = asks.into_iter().map(|ask| ToWorker::Ask { ticket: 7, ask }).collect();
        said.extend([
            ToWorker::Open { memory: false },
            ToWorker::Import { ticket: 8 },
            ToWorker::StopImport,
            ToWorker::StopCompaction,
            ToWorker::Summarised { number: 3, answer: Ok("{}".into()) },
            ToWorker::Summarised { number: 4, answer: Err("gone".into()) },
            ToWorker::Export { ticket: 9, transcript: Some(id), sharing: Some(Sharing::default()) },
        ]);
        same(said);
    }

    #[test]
    fn what_is_answered_is_heard() {
        let (id, leaf) = (TranscriptId::new("t").unwrap(), MessageId::new("l").unwrap());
        let fork = Fork { index: 1, count: 2, previous: None, next: Some(leaf.clone()) };
        let row = Row {
            id: leaf.clone(),
            role: "user".into(),
            messages: 1,
            chars: 5,
            depth: 2,
            hidden: true,
            fork: Some(fork.clone()),
            answers: Some(fork),
        };
        let fields = json!({"role": "assistant", "content": [{"type": "text", "text": "a"}], "x": {"y": [1, -2.5]}});
        let node = Node {
            id: leaf.clone(),
            created_at: Some(1),
            turn: Some("turn_0001".into()),
            sealed: true,
            from: None,
            model: Some("m".into()),
            agent: None,
            messages: vec![Message::user("hi"), Message::tool("c", "x"), Message::from_json(fields).unwrap()],
        };
        let tree =
            TreeNode { id: leaf.clone(), parent: Some(3), role: String::new(), hidden: false, words: "w".into() };
        let stats = Stats {
            transcripts: 1,
            nodes: 2,
            messages: 3,
            heads: 4,
            cached_transcripts: 5,
            cached_bytes: 6,
            cache_limit: 7,
            damaged: vec![Damage { transcript: Some(leaf.clone()), what: "w".into() }],
        };
        let branch = Branch {
            thread: thread(),
            leaf: leaf.clone(),
            rows: vec![row],
            damage: Some("d".into()),
            cards: Vec::new(),
            pins: vec![MessageId::new("m").unwrap()],
        };
        let skipped = Skipped { place: "p".into(), reason: "r".into(), code: "c".into(), salvaged: true };
        let report =
            ImportReport { transcripts: vec![id.clone()], skipped: vec![skipped], added: 9, ..Default::default() };
        let replies = [
            Reply::Done,
            Reply::Number(u64::MAX),
            Reply::Threads(vec![thread(), thread()]),
            Reply::Branch(Box::new(branch)),
            Reply::Nodes(vec![node]),
            Reply::Tree(vec![tree]),
            Reply::Stats(stats),
            Reply::Imported(Box::new(report)),
            Reply::Exported(vec![threadkeep::Secret {
                kind: "k".into(),
                preview: "p".into(),
                transcript: Some(id.clone()),
                node: None,
                field: "f".into(),
                replaced: true,
            }]),
        ];
        let error = ErrorReply { code: "quota".into(), message: "full".into(), details: Value::Null };
        let progress = ImportProgress { file: "f".into(), bytes: 1 << 40, ..Default::default() };
        let mut heard: Vec<_> = replies.into_iter().map(|reply| FromWorker::Answer { ticket: 7, reply }).collect();
        heard.extend([
            FromWorker::Listening,
            FromWorker::Opened { memory: true },
            FromWorker::Failed(error.clone()),
            FromWorker::Error { ticket: 7, error },
            FromWorker::Progress { ticket: 8, progress },
            FromWorker::Changes(vec![
                Change::Cleared,
                Change::Memory,
                Change::Changed { transcript: id.clone(), nodes: vec![leaf] },
                Change::Deleted { transcript: id, nodes: vec![] },
            ]),
            FromWorker::Compacting { done: 200, now: 40 },
            FromWorker::Summarise { number: 3, part: 0, parts: 2, text: "t".into() },
        ]);
        same(heard);
    }
}
