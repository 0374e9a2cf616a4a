//! Everything that a call can answer instead of a result, with the stable code that JavaScript sees.

use serde_json::{Map, Value};
use threadkeep_compaction::Refused;
use threadkeep_core::{ChainError, IdError, MessageError, MessageId, TranscriptError};
use threadkeep_store::StoreError;
use threadkeep_tokens::Encoding;

use crate::protocol::{BadRequest, ErrorReply};

/// Why a call failed. Nothing of it was stored, unless the variant says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No node or alias of this id is known.
    #[error("no node or alias {0:?}")]
    MissingNode(MessageId),
    /// No transcript of this id is known.
    #[error("no transcript {0:?}")]
    MissingTranscript(MessageId),
    /// No head of this name is known.
    #[error("no thread {0:?}")]
    MissingHead(String),
    /// There is a head of this name already.
    #[error("there is a thread {0:?} already: choose another name, or clear that one first")]
    HeadTaken(String),
    /// A head is not where it was expected.
    #[error("the head of the thread {0:?} has moved: another writer was first. Read it and try again")]
    HeadMoved(String),
    /// The tree does not allow it.
    #[error(transparent)]
    Transcript(TranscriptError),
    /// The chain is broken.
    #[error(transparent)]
    Chain(ChainError),
    /// What is stored of a transcript is damaged, so that it cannot be written to. It can still be read and exported.
    #[error("transcript {transcript:?} is damaged ({what}): it can be read and exported, but not continued")]
    Damaged {
        /// The transcript.
        transcript: MessageId,
        /// The first damage.
        what: String,
    },
    /// Tokens cannot be counted like this yet: load the vocabulary, or estimate.
    #[error("the vocabulary {} is not loaded", .0.name())]
    MissingVocabulary(Encoding),
    /// What a summariser made may not stand in for the history, which stays as it was.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The summariser failed, in its own words.
    #[error("the summariser failed: {0}")]
    Summariser(String),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// There is no episode or fact of that id.
    #[error("no episode or fact {0}")]
    MissingMemory(String),
    /// A mailbox has no message of that number.
    #[error("{party:?} has no message {number}")]
    MissingMail {
        /// Whose mailbox.
        party: String,
        /// The number.
        number: u64,
    },
    /// An argument is wrong.
    #[error("{} {}", .0.argument, .0.why)]
    Argument(BadRequest),
    /// The request makes no sense; the message says which part and what it should be.
    #[error("{0}")]
    BadRequest(String),
}

impl KeepError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::MissingNode(_) | Self::Chain(ChainError::MissingNode(_)) => "missing-node",
            Self::Transcript(TranscriptError::MissingNode(_)) => "missing-node",
            Self::MissingTranscript(_) => "missing-transcript",
            Self::MissingHead(_) => "missing-thread",
            Self::HeadTaken(_) => "thread-taken",
            Self::HeadMoved(_) => "conflict",
            Self::Transcript(TranscriptError::MissingParent { .. }) => "missing-parent",
            Self::Transcript(TranscriptError::Taken(_)) => "id-taken",
            Self::Transcript(TranscriptError::Sealed(_)) => "sealed",
            Self::Transcript(TranscriptError::SecondRoot(_)) => "second-root",
            Self::Chain(ChainError::MissingParent { .. }) => "missing-parent",
            Self::Chain(ChainError::Cycle(_)) => "cycle",
            Self::Damaged { .. } => "damaged",
            Self::MissingVocabulary(_) => "vocabulary-missing",
            Self::Refused(_) => "summary-refused",
            Self::Summariser(_) => "summariser-failed",
            Self::Cancelled => "cancelled",
            Self::MissingMemory(_) => "missing-memory",
            Self::MissingMail { .. } => "missing-mail",
            Self::Transcript(TranscriptError::TooDeep(_)) | Self::Argument(_) | Self::BadRequest(_) => "bad-request",
        }
    }

    /// The error as it crosses to JavaScript or out of the worker.
    pub fn reply(&self) -> ErrorReply {
        let details = match self {
            Self::MissingNode(node) => details(&[("node", node.as_str())]),
            Self::MissingTranscript(transcript) => details(&[("transcript", transcript.as_str())]),
            Self::MissingHead(name) | Self::HeadTaken(name) | Self::HeadMoved(name) => details(&[("name", name)]),
            Self::Transcript(error) => match error {
                TranscriptError::MissingNode(node)
                | TranscriptError::Taken(node)
                | TranscriptError::Sealed(node)
                | TranscriptError::SecondRoot(node)
                | TranscriptError::TooDeep(node) => details(&[("node", node.as_str())]),
                TranscriptError::MissingParent { node, parent } => {
                    details(&[("node", node.as_str()), ("parent", parent.as_str())])
                }
            },
            Self::Chain(error) => match error {
                ChainError::MissingNode(node) | ChainError::Cycle(node) => details(&[("node", node.as_str())]),
                ChainError::MissingParent { node, parent } => {
                    details(&[("node", node.as_str()), ("parent", parent.as_str())])
                }
            },
            Self::Damaged { transcript, what } => details(&[("transcript", transcript.as_str()), ("damage", what)]),
            Self::MissingMemory(id) => details(&[("id", id)]),
            Self::MissingMail { party, number } => details(&[("party", party), ("number", &number.to_string())]),
            Self::Argument(wrong) => details(&[("argument", &wrong.argument)]),
            Self::MissingVocabulary(encoding) => details(&[("encoding", encoding.name())]),
            Self::Store(StoreError::Conflict { key } | StoreError::Corrupt { key, .. }) => details(&[("key", key)]),
            Self::Store(StoreError::NewerVersion { found, supported }) => {
                let versions = [("found", found), ("supported", supported)];
                Value::Object(versions.into_iter().map(|(name, &version)| (name.to_owned(), version.into())).collect())
            }
            Self::Refused(refused) => details(&[("reason", refused.name())]),
            Self::Store(_) | Self::BadRequest(_) | Self::Summariser(_) | Self::Cancelled => details(&[]),
        };
        ErrorReply { code: self.code().to_owned(), message: self.to_string(), details }
    }
}

/// An error's details as JSON.
fn details(fields: &[(&str, &str)]) -> Value {
    let mut map = Map::new();
    for (name, text) in fields {
        map.insert((*name).to_owned(), Value::String((*text).to_owned()));
    }
    Value::Object(map)
}

impl From<TranscriptError> for KeepError {
    fn from(error: TranscriptError) -> Self {
        Self::Transcript(error)
    }
}

impl From<ChainError> for KeepError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}

impl From<BadRequest> for KeepError {
    fn from(error: BadRequest) -> Self {
        if error.argument.is_empty() { Self::BadRequest(error.why) } else { Self::Argument(error) }
    }
}

impl From<IdError> for KeepError {
    fn from(error: IdError) -> Self {
        Self::BadRequest(error.to_string())
    }
}

impl From<MessageError> for KeepError {
    fn from(error: MessageError) -> Self {
        Self::BadRequest(error.to_string())
    }
}
