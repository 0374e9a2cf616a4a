//! What the page and its worker say to each other: JSON texts of the enums here. Files go beside the text of an import and
//! the finished export beside its answer, as the browser's own objects, which are never copied into JSON.
//!
//! These are the engine's own requests and answers, cut down to what a page uses and tagged so that reading them takes
//! little code: the page must stay small, and each side carries a reader for everything that it could be told.

use serde::{Deserialize, Serialize};
use threadkeep::protocol::{
    ErrorReply, Event, ImportProgress, ImportReport, NodeInfo, Outline, Row, Stats, TranscriptInfo, TreeNode,
};
use threadkeep_core::{MessageId, TranscriptId};

/// The number by which an answer finds its question.
pub type Ticket = u32;

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
    /// Delete a node and all that follows. → [`Reply::Number`] of messages
    DeleteBranch(MessageId),
    /// Delete a thread. → [`Reply::Number`] of messages
    DeleteThread(TranscriptId),
    /// Delete everything. → [`Reply::Done`]
    DeleteAll,
    /// Counts and sizes. → [`Reply::Stats`]
    Stats,
}

/// What the engine answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// It is done and durable.
    Done,
    /// A count.
    Number(u64),
    /// The threads, newest first.
    Threads(Vec<ThreadInfo>),
    /// One branch.
    Branch(Box<Branch>),
    /// Nodes, in order.
    Nodes(Vec<NodeInfo>),
    /// One tree.
    Tree(Vec<TreeNode>),
    /// Counts and sizes.
    Stats(Stats),
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
            leaf: info.leaf,
        }
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
}

impl From<Outline> for Branch {
    fn from(outline: Outline) -> Self {
        Self {
            thread: outline.transcript.into(),
            leaf: outline.leaf,
            rows: outline.rows,
            damage: outline.damage,
        }
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
}

impl Change {
    /// What a page must know of an event; `None` for what concerns it not.
    pub fn of(event: &Event) -> Option<Self> {
        match event.clone() {
            Event::Changed { transcript, nodes } => Some(Self::Changed { transcript, nodes }),
            Event::Deleted { transcript, nodes } => Some(Self::Deleted { transcript, nodes }),
            Event::Cleared => Some(Self::Cleared),
            Event::Head { .. } => None,
        }
    }
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
    /// Make a file of one transcript, or of all.
    Export {
        /// The ticket of the answer.
        ticket: Ticket,
        /// The transcript; all without it.
        transcript: Option<TranscriptId>,
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
    Failed(ErrorReply),
    /// The answer to [`ToWorker::Ask`].
    Answer {
        /// The ticket of the question.
        ticket: Ticket,
        /// What the engine said.
        result: Result<Reply, ErrorReply>,
    },
    /// How far an import is.
    Progress {
        /// The ticket of the import.
        ticket: Ticket,
        /// How far.
        progress: ImportProgress,
    },
    /// The end of an import.
    Imported {
        /// The ticket of the import.
        ticket: Ticket,
        /// What it did.
        result: Result<ImportReport, ErrorReply>,
    },
    /// The end of an export; the file comes beside this text.
    Exported {
        /// The ticket of the export.
        ticket: Ticket,
        /// Nothing, or why there is no file.
        result: Result<(), ErrorReply>,
    },
    /// What changed, here or in another tab, in order.
    Changes(Vec<Change>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let id = TranscriptId::new("t").unwrap();
        let said = [
            ToWorker::Open { memory: false },
            ToWorker::Ask { ticket: 7, ask: Ask::Tree(id.clone()) },
            ToWorker::Ask { ticket: 7, ask: Ask::Branch { transcript: id.clone(), leaf: None } },
            ToWorker::Import { ticket: 8 },
            ToWorker::Export { ticket: 9, transcript: Some(id.clone()) },
        ];
        for one in said {
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<ToWorker>(&text).unwrap(), one);
        }
        let error = ErrorReply { code: "quota".into(), message: "full".into(), details: serde_json::Value::Null };
        let heard = [
            FromWorker::Listening,
            FromWorker::Failed(error.clone()),
            FromWorker::Answer { ticket: 7, result: Ok(Reply::Number(3)) },
            FromWorker::Answer { ticket: 7, result: Err(error) },
            FromWorker::Changes(vec![Change::Cleared, Change::Deleted { transcript: id, nodes: vec![] }]),
        ];
        for one in heard {
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<FromWorker>(&text).unwrap(), one);
        }
    }
}
