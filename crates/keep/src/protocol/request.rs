//! Requests from other threads and from JavaScript: a method's name and a JSON object of parameters become a [`Request`].
//! By hand and not by serde's derived code, which takes a tenth of the module for thirty-odd variants.
//!
//! Unknown methods, unknown parameters and values of the wrong type are errors that name the place.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use threadkeep_core::{Message, MessageId};

use super::{Inbound, Request};
use crate::Start;

/// Why a request cannot be carried out: the argument, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRequest {
    /// The parameter; empty for the request as a whole.
    pub argument: String,
    /// What is wrong, in words that follow the argument's name.
    pub why: String,
}

pub(super) type Checked<T> = Result<T, BadRequest>;

pub(super) fn bad<T>(argument: impl Into<String>, why: impl Into<String>) -> Checked<T> {
    Err(BadRequest { argument: argument.into(), why: why.into() })
}

impl Request {
    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep::protocol::Request;
    /// assert!(Request::read("chain", r#"{"leaf": "m1"}"#).is_ok());
    /// assert_eq!(Request::read("chain", r#"{"leaf": 3}"#).unwrap_err().argument, "leaf");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        if let Some(request) = Said::read(method, params) {
            return Ok(request);
        }
        let mut params = Params::read(params)?;
        let request = params.request(method)?;
        params.nothing_left()?;
        Ok(request)
    }

    /// Writes the request as [`Request::read`] takes it.
    ///
    /// # Errors
    /// None that a request could cause: its values can all be written.
    pub fn write(&self) -> serde_json::Result<(String, String)> {
        write(self)
    }
}

/// The parameters of the methods that bring messages, which come by the hundred: serde reads them as they are parsed. It cannot say
/// which argument is wrong, so what it does not take goes the way of all others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    context: Option<String>,
    node: Option<MessageId>,
    messages: Vec<Message>,
    after: Option<MessageId>,
    expect: Option<MessageId>,
}

impl Said {
    fn read(method: &str, params: &str) -> Option<Request> {
        if !matches!(method, "append" | "extend") {
            return None;
        }
        match (method, serde_json::from_str(params).ok()?) {
            ("append", Self { context: Some(context), node: None, messages, after, expect }) => {
                Some(Request::Append { context, messages, start: Start { after, expect } })
            }
            ("extend", Self { context: None, node: Some(node), messages, after: None, expect: None }) => {
                Some(Request::Extend { node, messages })
            }
            _ => None,
        }
    }
}

/// The method and the JSON text of the parameters.
pub(super) fn write(request: &impl Serialize) -> serde_json::Result<(String, String)> {
    let mut written = serde_json::to_value(request)?;
    let params = written["params"].take();
    let params = if params.is_null() { "{}".to_owned() } else { threadkeep_core::json::to_text(&params)? };
    Ok((written["method"].as_str().unwrap_or_default().to_owned(), params))
}

/// Takes a flag, if it is there.
pub(super) fn flag(params: &mut Params, name: &str) -> Checked<Option<bool>> {
    match params.take(name) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(flag)),
        Some(_) => bad(name, "must be true or false"),
    }
}

/// Parameters that have not been taken yet.
pub(super) struct Params(pub(super) Map<String, Value>);

impl Params {
    pub(super) fn read(params: &str) -> Checked<Self> {
        match serde_json::from_str(params) {
            Ok(Value::Object(params)) => Ok(Self(params)),
            Ok(_) => bad("", "the parameters must be an object"),
            // Deep nesting ends here too: beyond 128 levels the parser refuses.
            Err(error) => bad("", format!("the parameters cannot be read: {error}")),
        }
    }

    pub(super) fn of(params: Map<String, Value>) -> Self {
        Self(params)
    }

    fn request(&mut self, method: &str) -> Checked<Request> {
        Ok(match method {
            "receive" => Request::Receive(self.inbound()?),
            "extend" => Request::Extend { node: self.id("node")?, messages: self.messages()? },
            "seal" => Request::Seal { node: self.id("node")? },
            "alias" => Request::Alias { id: self.id("id")?, node: self.id("node")? },
            "node" => Request::Node { id: self.id("id")? },
            "children" => Request::Children { id: self.id("id")? },
            "roots" => Request::Roots,
            "chain" => Request::Chain { leaf: self.id("leaf")? },
            "depth" => Request::Depth { id: self.id("id")? },
            "head" => Request::Head { context: self.text("context")? },
            "setHead" => Request::SetHead { context: self.text("context")?, node: self.id("node")? },
            "heads" => Request::Heads,
            "fork" => Request::Fork {
                context: self.text("context")?,
                new_context: self.text("newContext")?,
                at_index: self.maybe_count("atIndex")?,
            },
            "append" => Request::Append {
                context: self.text("context")?,
                messages: self.messages()?,
                start: Start { after: self.maybe_id("after")?, expect: self.maybe_id("expect")? },
            },
            "getAll" => Request::GetAll { context: self.text("context")? },
            "getRange" => Request::GetRange {
                context: self.text("context")?,
                start: self.count("start")?,
                end: self.count("end")?,
            },
            "getCount" => Request::GetCount { context: self.text("context")? },
            "clear" => Request::Clear { context: self.text("context")? },
            "lint" => Request::Lint { leaf: self.maybe_id("leaf")? },
            "transcripts" => Request::Transcripts,
            "outline" => Request::Outline { transcript: self.id("transcript")?, leaf: self.maybe_id("leaf")? },
            "rows" => Request::Rows { leaf: self.id("leaf")?, start: self.count("start")?, end: self.count("end")? },
            "tree" => Request::Tree { transcript: self.id("transcript")? },
            "rename" => Request::Rename { transcript: self.id("transcript")?, title: self.text("title")? },
            "choose" => Request::Choose { leaf: self.id("leaf")? },
            "deleteBranch" => Request::DeleteBranch { node: self.id("node")? },
            "deleteTranscript" => Request::DeleteTranscript { transcript: self.id("transcript")? },
            "deleteAll" => Request::DeleteAll,
            "stats" => Request::Stats,
            _ => return bad("method", format!("{method:?} is not known")),
        })
    }

    fn inbound(&mut self) -> Checked<Inbound> {
        Ok(Inbound {
            message_id: self.maybe_id("messageId")?,
            reply_to: self.maybe_id("replyTo")?,
            from: self.maybe_text("from")?,
            number: match self.take("number") {
                None => None,
                Some(number) => match number.as_u64() {
                    Some(number) => Some(number),
                    None => return bad("number", "must be a whole number from 0 on"),
                },
            },
            content: match self.take("content") {
                Some(content) => content,
                None => return bad("content", "is missing"),
            },
            system_prompt: self.maybe_text("systemPrompt")?,
        })
    }

    fn messages(&mut self) -> Checked<Vec<Message>> {
        let Some(Value::Array(values)) = self.take("messages") else {
            return bad("messages", "must be an array of messages");
        };
        let mut messages = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            match Message::from_json(value) {
                Ok(message) => messages.push(message),
                Err(error) => return bad(format!("messages[{index}]"), format!("is no message: {error}")),
            }
        }
        Ok(messages)
    }

    /// A parameter's value; `null` counts as left out.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn maybe_text(&mut self, name: &str) -> Checked<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => bad(name, "must be a string"),
        }
    }

    pub(super) fn maybe_id(&mut self, name: &str) -> Checked<Option<MessageId>> {
        match self.maybe_text(name)?.map(MessageId::new).transpose() {
            Ok(id) => Ok(id),
            Err(error) => bad(name, format!("is no id: {error}")),
        }
    }

    pub(super) fn maybe_count(&mut self, name: &str) -> Checked<Option<u32>> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_u64().map(u32::try_from) {
                Some(Ok(count)) => Ok(Some(count)),
                _ => bad(name, "must be a whole number from 0 to 4294967295"),
            },
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Checked<String> {
        self.maybe_text(name).and_then(|text| text.map_or_else(|| bad(name, "is missing"), Ok))
    }

    fn id(&mut self, name: &str) -> Checked<MessageId> {
        self.maybe_id(name).and_then(|id| id.map_or_else(|| bad(name, "is missing"), Ok))
    }

    pub(super) fn count(&mut self, name: &str) -> Checked<u32> {
        self.maybe_count(name).and_then(|count| count.map_or_else(|| bad(name, "is missing"), Ok))
    }

    pub(super) fn nothing_left(&self) -> Checked<()> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => bad(name.as_str(), "is not known here"),
        }
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
        {"method": "head", "params": {"context": "c"}}
        {"method": "setHead", "params": {"context": "c", "node": "n"}}
        {"method": "heads"}
        {"method": "fork", "params": {"context": "c", "newContext": "d", "atIndex": 4}}
        {"method": "fork", "params": {"context": "c", "newContext": "d"}}
        {"method": "append", "params": {"context": "c", "messages": []}}
        {"method": "append", "params": {"context": "c", "messages": [], "after": "n", "expect": "m"}}
        {"method": "getAll", "params": {"context": "c"}}
        {"method": "getRange", "params": {"context": "c", "start": 0, "end": 4294967295}}
        {"method": "getCount", "params": {"context": "c"}}
        {"method": "clear", "params": {"context": "c"}}
        {"method": "lint", "params": {}}
        {"method": "lint", "params": {"leaf": "l"}}
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
        for line in REQUESTS.lines().filter(|line| !line.trim().is_empty()) {
            let json: Value = serde_json::from_str(line).unwrap();
            let params = json.get("params").cloned().unwrap_or_else(|| serde_json::json!({}));
            let request = Request::read(json["method"].as_str().unwrap(), &params.to_string()).unwrap();
            let (method, written) = request.write().unwrap();
            assert_eq!(method, json["method"].as_str().unwrap());
            assert_eq!(Request::read(&method, &written).unwrap(), request);
        }
    }

    #[test]
    fn messages_are_the_same_whether_serde_reads_them_or_the_reader_of_all_other_parameters() {
        let params = r#"{"context": "c", "after": null, "expect": "e", "messages": [
            {"content": "a", "role": "user", "x": 1.50, "x": {"b": [1e400]}},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}], "pinned": true},
            {"role": "tool", "content": [{"type": "text", "text": "\u00e9\ud83d\ude00"}], "name": null, "tags": ["t"]}]}"#;
        let by_serde = Said::read("append", params).unwrap();
        assert_eq!(Params::read(params).unwrap().request("append").unwrap(), by_serde);
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
            ("getRange", r#"{"context": "c", "start": -1, "end": 2}"#, "start"),
            ("getRange", r#"{"context": "c", "start": 1, "end": 4294967296}"#, "end"),
            ("append", r#"{"context": "c", "messages": [{"role": "user"}, {"content": "b"}]}"#, "messages[1]"),
            ("append", r#"{"context": "c", "messages": {}}"#, "messages"),
            ("append", r#"{"context": "c", "messages": [], "node": "n"}"#, "node"),
            ("append", r#"{"messages": []}"#, "context"),
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
