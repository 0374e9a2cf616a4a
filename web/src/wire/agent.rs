//! What page and worker say about talking to a model: the page sends what is said, together with the connection and its key;
//! the worker sends back what is heard, in batches.

use serde::{Deserialize, Serialize};
use threadkeep_core::{MessageId, TranscriptId};

/// A connection with its key, as JSON. It is shown nowhere, not even by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What the page asks that needs a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Talk {
    /// Whether a connection works. → [`Reply::Tested`](super::Reply::Tested)
    Test(Secret),
    /// Which models a connection has. → [`Reply::Models`](super::Reply::Models)
    Models(Secret),
    /// The request that a message would bring about. → [`Reply::Payload`](super::Reply::Payload)
    Next {
        /// The connection.
        connection: Secret,
        /// The words.
        content: String,
        /// The message that they answer; a new conversation without it.
        reply_to: Option<MessageId>,
    },
    /// A turn of the agent. What happens comes as [`Heard`]. → [`Reply::Done`](super::Reply::Done) once it is over
    Turn {
        /// The connection.
        connection: Secret,
        /// What is to be answered.
        turn: Turn,
    },
}

/// What a turn of the agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Turn {
    /// Something new that the user says.
    Say {
        /// The words.
        content: String,
        /// The message that they answer; a new conversation without it.
        reply_to: Option<MessageId>,
    },
    /// The message before this answer once more, as another branch.
    Again(MessageId),
    /// What was broken off here.
    GoOn(MessageId),
    /// A turn that was interrupted goes on.
    Resume(MessageId),
}

/// How a test of a connection went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tested {
    /// Whether it works.
    pub ok: bool,
    /// What happened, and what to do about it.
    pub words: String,
}

/// Something that happens in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Heard {
    /// What the user says is durable, in this node of this thread. The model has not been asked yet.
    Posted {
        /// The thread.
        transcript: TranscriptId,
        /// The turn's node.
        node: MessageId,
    },
    /// A turn has begun, and what is answered is durable.
    Began {
        /// The thread.
        transcript: TranscriptId,
        /// The turn's node.
        node: MessageId,
    },
    /// More of what the model says.
    Text(String),
    /// More of what it thinks.
    Thought(String),
    /// The text heard so far was thought.
    WasThought,
    /// More of a call: its place in the answer, the tool's name, more of its arguments.
    Call {
        /// Its place among the calls of this answer.
        at: u32,
        /// The tool's name, as far as it is known.
        name: String,
        /// More of the arguments.
        arguments: String,
    },
    /// A tool is at work.
    Calling {
        /// The call's id.
        call: String,
        /// The tool's name.
        name: String,
        /// The arguments.
        arguments: String,
    },
    /// A tool is done; its result is durable.
    Called {
        /// The call's id.
        call: String,
        /// Whether the tool failed.
        failed: bool,
        /// What it said.
        text: String,
    },
    /// What was heard until now is durable in this node: its messages hold it from now on.
    Stored(MessageId),
    /// The history is being compacted before the model is asked; over once something else is heard.
    Compacting,
    /// The model is being asked, with so many tokens.
    Asked(u64),
    /// The model is asked again after a failure that passes.
    Retry {
        /// Which try comes next, from 2.
        attempt: u32,
        /// How long is waited before, in milliseconds.
        wait: u32,
        /// Why.
        reason: String,
    },
    /// Something that does not end the turn.
    Warning(String),
    /// The turn is over.
    Ended(Ending),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// The last node of the turn, where it got so far.
    pub node: Option<MessageId>,
    /// A stable word for what failed; `cancelled` where the reader stopped it, empty where it went well.
    pub code: String,
    /// What failed, in words.
    pub words: String,
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use threadkeep_provider::Listed;

    use super::*;
    use crate::wire::{from_bytes, to_bytes};

    fn same<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(all: impl IntoIterator<Item = T>) {
        for one in all {
            assert_eq!(from_bytes::<T>(&to_bytes(&one)), Some(one));
        }
    }

    #[test]
    fn talk_is_heard_on_the_other_side() {
        let (id, connection) = (MessageId::new("m").unwrap(), Secret("{}".into()));
        let turn = |turn| Talk::Turn { connection: connection.clone(), turn };
        same([
            Talk::Test(connection.clone()),
            Talk::Models(connection.clone()),
            turn(Turn::Say { content: "hi".into(), reply_to: Some(id.clone()) }),
            turn(Turn::Again(id.clone())),
            turn(Turn::GoOn(id.clone())),
            turn(Turn::Resume(id.clone())),
        ]);
        let ending = Ending { node: Some(id.clone()), code: "cut-off".into(), words: "w".into() };
        same([
            Heard::Posted { transcript: id.clone(), node: id.clone() },
            Heard::Began { transcript: id.clone(), node: id.clone() },
            Heard::Text("t".into()),
            Heard::Thought("t".into()),
            Heard::WasThought,
            Heard::Call { at: 1, name: "n".into(), arguments: "{".into() },
            Heard::Calling { call: "c".into(), name: "n".into(), arguments: "{}".into() },
            Heard::Called { call: "c".into(), failed: true, text: "r".into() },
            Heard::Asked(1 << 40),
            Heard::Stored(id),
            Heard::Compacting,
            Heard::Retry { attempt: 2, wait: 500, reason: "busy".into() },
            Heard::Warning("w".into()),
            Heard::Ended(ending),
        ]);
        same([Tested { ok: true, words: "w".into() }]);
        same([Listed { id: "m".into(), max_context_tokens: Some(8192), max_output_tokens: None }]);
    }

    #[test]
    fn a_key_is_not_shown_by_debug() {
        let asked = Talk::Test(Secret(r#"{"apiKey":"sk-1"}"#.into()));
        assert!(!format!("{asked:?}").contains("sk-1"));
    }
}
