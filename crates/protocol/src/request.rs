//! What can be asked of what is kept, but for prompts, memory, search and mailboxes.

#[cfg(doc)]
use crate::Response;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use threadkeep_core::read::{self, BadRequest, Plain};
use threadkeep_core::{Message, MessageId, TranscriptId};

use super::messages;

/// An inbound message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "InboundMessage", optional_fields))]
pub struct Inbound {
    /// Its id from outside, at most 512 bytes. Without one, an id is minted. One that was seen before is not stored again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The message that it answers: a node, or an alias. Unknown or left out, it begins a transcript of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// Its sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its number in the inbox, a whole number from 0 to 2^53 - 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// What it says: text, or a list of content parts.
    #[serde(deserialize_with = "given")]
    #[cfg_attr(feature = "ts", ts(type = "ContentInput"))]
    pub content: Value,
    /// The system prompt, should it begin a transcript. It is stored at the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

impl Inbound {
    /// An inbound message that says `content` and answers nothing.
    pub fn new(content: impl Into<Value>) -> Self {
        Self {
            message_id: None,
            reply_to: None,
            from: None,
            number: None,
            content: content.into(),
            system_prompt: None,
        }
    }
}

/// Any value but `null`.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    match Plain::deserialize(deserializer)? {
        Plain(Value::Null) => Err(D::Error::custom("is missing")),
        Plain(value) => Ok(value),
    }
}

/// Where an append begins; at the head without either.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "AppendOptions", optional_fields))]
pub struct Start {
    /// The node or alias after which the messages come, in the head's transcript: a branch, if that is not the head's node.
    pub after: Option<MessageId>,
    /// The node at which the head must point; otherwise nothing happens, and the error is `conflict`.
    pub expect: Option<MessageId>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub enum Request {
    /// Route an inbound message. → [`Response::Node`]
    Receive(Inbound),
    /// Let an unsealed node grow. → [`Response::Node`]
    Extend {
        /// The node or an alias of it.
        node: MessageId,
        /// What it grows by.
        #[serde(deserialize_with = "messages::read")]
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
        head: String,
    },
    /// Points a head at a node, making it if it is new. → [`Response::Node`]
    SetHead {
        /// The head's name.
        head: String,
        /// The node or an alias of it.
        node: MessageId,
    },
    /// All heads. → [`Response::Heads`]
    Heads,
    /// Makes a second head at the first one's node, or further up. → [`Response::Node`]
    Fork {
        /// The head to fork.
        head: String,
        /// The new head's name, which must be free.
        new_head: String,
        /// How many of the messages the fork keeps; all without it. A position inside a node that holds several
        /// messages is an error.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_index: Option<u32>,
    },
    /// Appends messages at a head, one sealed node each; an unknown head begins a transcript. → [`Response::Nodes`]
    Append {
        /// The head's name.
        head: String,
        /// The messages, in order.
        #[serde(deserialize_with = "messages::read")]
        messages: Vec<Message>,
        /// See [`Start::after`].
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<MessageId>,
        /// See [`Start::expect`].
        #[serde(skip_serializing_if = "Option::is_none")]
        expect: Option<MessageId>,
    },
    /// The messages `start..end` at a head; `end` is out, and what lies beyond the last is left out. → [`Response::Messages`]
    GetRange {
        /// The head's name.
        head: String,
        /// The first index.
        start: u32,
        /// The index after the last.
        end: u32,
    },
    /// How many messages there are at a head; 0 where there is none. → [`Response::Number`]
    GetCount {
        /// The head's name.
        head: String,
    },
    /// Moves a head back to where it was before its last change. → [`Response::Undone`]
    Undo {
        /// The head's name.
        head: String,
    },
    /// The versions of an edited message, oldest first. → [`Response::Nodes`]
    History {
        /// The node of one of them, or an alias of it.
        id: MessageId,
    },
    /// Removes a head and the nodes that only it leads to, for good. → [`Response::Number`] of removed messages
    Clear {
        /// The head's name.
        head: String,
    },
    /// Removes the heads whose time to live is over, as [`Request::Clear`] does. → [`Response::Heads`], those that went
    Expire,
    /// What is wrong with one chain, or with everything. → [`Response::Lint`]
    Lint {
        /// The end of the chain; all transcripts without it.
        #[serde(skip_serializing_if = "Option::is_none")]
        leaf: Option<MessageId>,
    },
    /// Mends one chain in a branch of its own. → [`Response::MaybeNode`], the branch's end; `None` where nothing is to be mended
    Mend {
        /// The end of the chain.
        leaf: MessageId,
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

impl Request {
    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep_protocol::Request;
    /// assert!(Request::read("chain", r#"{"leaf": "m1"}"#).is_ok());
    /// assert_eq!(Request::read("chain", r#"{"leaf": 3}"#).unwrap_err().argument, "leaf");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        read::request(method, params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of every kind, in the protocol's own JSON.
    const REQUESTS: &str = r#"
        {"method": "receive", "params": {"messageId": "m", "replyTo": "r", "from": "f", "number": 7, "content": [{"type": "text"}], "systemPrompt": "s"}}
        {"method": "receive", "params": {"content": "hi"}}
        {"method": "extend", "params": {"node": "n", "messages": [{"role": "user", "content": "a", "x": 1}]}}
        {"method": "seal", "params": {"node": "n"}}
        {"method": "alias", "params": {"id": "i", "node": "n"}}
        {"method": "node", "params": {"id": "i"}}
        {"method": "children", "params": {"id": "i"}}
        {"method": "roots"}
        {"method": "chain", "params": {"leaf": "l"}}
        {"method": "depth", "params": {"id": "i"}}
        {"method": "head", "params": {"head": "c"}}
        {"method": "setHead", "params": {"head": "c", "node": "n"}}
        {"method": "heads"}
        {"method": "fork", "params": {"head": "c", "newHead": "d", "atIndex": 4}}
        {"method": "fork", "params": {"head": "c", "newHead": "d"}}
        {"method": "append", "params": {"head": "c", "messages": []}}
        {"method": "append", "params": {"head": "c", "messages": [], "after": "n", "expect": "m"}}
        {"method": "getRange", "params": {"head": "c", "start": 0, "end": 4294967295}}
        {"method": "getCount", "params": {"head": "c"}}
        {"method": "undo", "params": {"head": "c"}}
        {"method": "history", "params": {"id": "n"}}
        {"method": "clear", "params": {"head": "c"}}
        {"method": "expire"}
        {"method": "lint", "params": {}}
        {"method": "lint", "params": {"leaf": "l"}}
        {"method": "mend", "params": {"leaf": "l"}}
        {"method": "transcripts"}
        {"method": "outline", "params": {"transcript": "t"}}
        {"method": "outline", "params": {"transcript": "t", "leaf": "l"}}
        {"method": "rows", "params": {"leaf": "l", "start": 1, "end": 2}}
        {"method": "tree", "params": {"transcript": "t"}}
        {"method": "rename", "params": {"transcript": "t", "title": ""}}
        {"method": "choose", "params": {"leaf": "l"}}
        {"method": "deleteBranch", "params": {"node": "n"}}
        {"method": "deleteTranscript", "params": {"transcript": "t"}}
        {"method": "deleteAll"}
        {"method": "stats"}"#;

    #[test]
    fn it_reads_what_the_protocol_writes() {
        let mut read = Vec::new();
        for line in REQUESTS.lines().filter(|line| !line.trim().is_empty()) {
            let json: Value = serde_json::from_str(line).unwrap();
            let params = json.get("params").cloned().unwrap_or_else(|| serde_json::json!({}));
            let method = json["method"].as_str().unwrap();
            let request = Request::read(method, &params.to_string()).unwrap();
            let written = match serde_json::to_value(&request).unwrap() {
                Value::Object(map) => map[method].to_string(),
                name => {
                    assert_eq!(name, method);
                    "{}".to_owned()
                }
            };
            assert_eq!(Request::read(method, &written).unwrap(), request);
            read.push(method.to_owned());
        }
        read.dedup();
        assert_eq!(read, read::methods::<Request>());
    }

    #[test]
    fn messages_are_the_same_as_those_that_are_read_field_by_field() {
        let params = r#"{"head": "c", "after": null, "expect": "e", "messages": [
            {"content": "a", "role": "user", "x": 1.50, "x": {"b": [1e300]}},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}], "pinned": true},
            {"role": "tool", "content": [{"type": "text", "text": "\u00e9\ud83d\ude00"}], "name": null, "tags": ["t"]}]}"#;
        let mut value: Value = serde_json::from_str(params).unwrap();
        let Value::Array(list) = value["messages"].take() else { panic!("a list") };
        let messages = list.into_iter().map(|message| Message::from_json(message).unwrap()).collect();
        let expect = Some(MessageId::new("e").unwrap());
        let append = Request::Append { head: "c".to_owned(), messages, after: None, expect };
        assert_eq!(Request::read("append", params).unwrap(), append);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (method, params, argument) in [
            ("frobnicate", "{}", "method"),
            ("chain", "[]", ""),
            ("chain", "{", ""),
            ("chain", "{}", "leaf"),
            ("chain", r#"{"leaf": null}"#, "leaf"),
            ("chain", r#"{"leaf": 3}"#, "leaf"),
            ("chain", r#"{"leaf": ""}"#, "leaf"),
            ("chain", r#"{"leaf": "a", "root": "b"}"#, "root"),
            ("getRange", r#"{"head": "c", "start": -1, "end": 2}"#, "start"),
            ("getRange", r#"{"head": "c", "start": 1, "end": 4294967296}"#, "end"),
            ("append", r#"{"head": "c", "messages": [{"role": "user"}, {"content": "b"}]}"#, "messages[1]"),
            ("append", r#"{"head": "c", "messages": {}}"#, "messages"),
            ("append", r#"{"head": "c", "messages": [], "node": "n"}"#, "node"),
            ("append", r#"{"messages": []}"#, "head"),
            ("extend", r#"{"node": "n", "messages": [], "after": "a"}"#, "after"),
            ("receive", r#"{"content": "a", "number": 1.5}"#, "number"),
            ("receive", r#"{"replyTo": "a"}"#, "content"),
        ] {
            assert_eq!(Request::read(method, params).unwrap_err().argument, argument, "{method} {params}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = format!(r#"{{"content": {}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        assert!(Request::read("receive", &deep).unwrap_err().why.contains("recursion"));
    }
}
