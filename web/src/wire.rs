//! What the page and its worker say to each other: JSON texts of the two enums here. Files go beside the text of an
//! import and the finished export beside its answer, as the browser's own objects, which are never copied into JSON.

use serde::{Deserialize, Serialize};
use threadkeep::protocol::{ErrorReply, Event, ImportProgress, ImportReport, Request, Response};
use threadkeep_core::TranscriptId;

/// The number by which an answer finds its question.
pub type Ticket = u32;

/// From the page to its worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
        request: Request,
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
#[serde(rename_all = "camelCase")]
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
        result: Result<Response, ErrorReply>,
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
    Events(Vec<Event>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let id = TranscriptId::new("t").unwrap();
        let said = [
            ToWorker::Open { memory: false },
            ToWorker::Ask { ticket: 7, request: Request::Tree { transcript: id.clone() } },
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
            FromWorker::Answer { ticket: 7, result: Ok(Response::Number(3)) },
            FromWorker::Answer { ticket: 7, result: Err(error) },
            FromWorker::Events(vec![Event::Cleared, Event::Deleted { transcript: id, nodes: vec![] }]),
        ];
        for one in heard {
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<FromWorker>(&text).unwrap(), one);
        }
    }
}
