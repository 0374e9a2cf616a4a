//! What can be asked of prompts: requests that read a chain and keep what a budget holds. Nothing here changes anything.

use serde::Serialize;
use serde_json::Value;

use super::BadRequest;
use super::request::{Checked, Params, bad, flag, write};

/// Which of the newest messages to give. Zero means zero; a limit that is left out does not limit, except that
/// `maxMessages` is 50 when both are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recent {
    /// At most this many messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_messages: Option<u32>,
    /// At most this many tokens, estimated at four characters a token and four more a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// `true`: the leading system messages come first, inside the limits. `false`: system messages are left out. Left out:
    /// system messages are messages like others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_system: Option<bool>,
    /// Whether the newest checkpoint's summary comes in for what it covers, as in prompts. Otherwise all messages are the originals.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include_summary: bool,
}

/// A request for a prompt, or for what would be in one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "method", content = "params", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PromptRequest {
    /// The newest messages at a head, in order. → [`Response::Messages`](super::Response::Messages)
    GetRecent {
        /// The head's name.
        context: String,
        /// The limits.
        options: Recent,
    },
    /// The prompt of a chain for a budget. → [`Response::Context`](super::Response::Context)
    Context {
        /// A head's name, or the end of the chain: a node or an alias of it.
        at: String,
        /// As [`ContextOptions::from_json`](super::ContextOptions::from_json) reads them.
        options: Value,
    },
    /// What a budget keeps of a chain, without the prompt. → [`Response::Fit`](super::Response::Fit)
    Fit {
        /// A head's name, or the end of the chain: a node or an alias of it.
        at: String,
        /// As [`ContextOptions::from_json`](super::ContextOptions::from_json) reads them.
        options: Value,
        /// As [`WhatIf::from_json`](super::WhatIf::from_json) reads it; null for nothing.
        what_if: Value,
    },
    /// The full output of a tool that a preview names. → [`Response::Messages`](super::Response::Messages), one or none
    ToolResult {
        /// A head's name, or the end of the chain: a node or an alias of it.
        at: String,
        /// The path in the preview.
        path: String,
    },
}

impl PromptRequest {
    /// The methods that are read here and not by [`Request::read`](super::Request::read).
    pub const METHODS: [&str; 4] = ["getRecent", "context", "fit", "toolResult"];

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep::protocol::PromptRequest;
    /// assert!(PromptRequest::read("context", r#"{"at": "main", "options": {"policy": "stable"}}"#).is_ok());
    /// assert_eq!(PromptRequest::read("context", "{}").unwrap_err().argument, "at");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        let mut params = Params::read(params)?;
        let request = match method {
            "getRecent" => Self::GetRecent { context: params.text("context")?, options: recent(&mut params)? },
            "context" => Self::Context { at: params.text("at")?, options: params.take("options").unwrap_or_default() },
            "fit" => Self::Fit {
                at: params.text("at")?,
                options: params.take("options").unwrap_or_default(),
                what_if: params.take("whatIf").unwrap_or_default(),
            },
            "toolResult" => Self::ToolResult { at: params.text("at")?, path: params.text("path")? },
            _ => return bad("method", format!("{method:?} is not known")),
        };
        params.nothing_left()?;
        Ok(request)
    }

    /// Writes the request as [`PromptRequest::read`] takes it.
    ///
    /// # Errors
    /// None that a request could cause: its values can all be written.
    pub fn write(&self) -> serde_json::Result<(String, String)> {
        write(self)
    }
}

fn recent(params: &mut Params) -> Checked<Recent> {
    let mut options = match params.take("options") {
        None => return Ok(Recent::default()),
        Some(Value::Object(options)) => Params::of(options),
        Some(_) => return bad("options", "must be an object"),
    };
    let recent = Recent {
        max_messages: options.maybe_count("maxMessages")?,
        max_tokens: options.maybe_count("maxTokens")?,
        include_system: flag(&mut options, "includeSystem")?,
        include_summary: flag(&mut options, "includeSummary")?.unwrap_or_default(),
    };
    options.nothing_left()?;
    Ok(recent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of every kind, in the protocol's own JSON.
    const REQUESTS: &str = r#"
        {"method": "getRecent", "params": {"context": "c", "options": {"maxMessages": 0, "maxTokens": 9, "includeSystem": false, "includeSummary": true}}}
        {"method": "getRecent", "params": {"context": "c"}}
        {"method": "context", "params": {"at": "c", "options": {"policy": "stable"}}}
        {"method": "context", "params": {"at": "c"}}
        {"method": "fit", "params": {"at": "c", "options": {"budget": {"maxTokens": 9}}, "whatIf": {"more": 4}}}
        {"method": "toolResult", "params": {"at": "c", "path": "p"}}"#;

    #[test]
    fn it_reads_what_the_protocol_writes() {
        let mut methods = Vec::new();
        for line in REQUESTS.lines().filter(|line| !line.trim().is_empty()) {
            let json: Value = serde_json::from_str(line).unwrap();
            let method = json["method"].as_str().unwrap();
            let request = PromptRequest::read(method, &json["params"].to_string()).unwrap();
            let (written_method, written) = request.write().unwrap();
            assert_eq!(written_method, method);
            assert_eq!(PromptRequest::read(method, &written).unwrap(), request);
            methods.push(written_method);
        }
        methods.dedup();
        assert_eq!(methods, PromptRequest::METHODS);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (method, params, argument) in [
            ("chain", "{}", "method"),
            ("context", "[]", ""),
            ("context", r#"{"at": 3}"#, "at"),
            ("context", r#"{"at": "a", "budget": 3}"#, "budget"),
            ("getRecent", r#"{"context": "c", "options": {"max": 2}}"#, "max"),
            ("toolResult", r#"{"at": "a"}"#, "path"),
        ] {
            assert_eq!(PromptRequest::read(method, params).unwrap_err().argument, argument, "{method} {params}");
        }
    }
}
