//! What can be asked of prompts: requests that read a chain and keep what a budget holds. Nothing here changes anything.

use serde::Deserialize;
use threadkeep_core::read::{self, BadRequest, object, or_default};

use super::{ContextParams, WhatIf};

/// Which of the newest messages to give, tool calls with their results. Zero means zero.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "RecentOptions", optional_fields))]
pub struct Recent {
    /// At most this many messages; 50 when `maxTokens` is left out too.
    pub max_messages: Option<u32>,
    /// At most this many tokens, estimated at four characters a token and four more a message.
    pub max_tokens: Option<u32>,
    /// `true`: the leading system messages come first, inside the limits. `false`: system messages are left out. Left out:
    /// system messages are messages like others.
    pub include_system: Option<bool>,
    /// `true`: the summary of the newest checkpoint stands in for what it covers, as in prompts. Otherwise all messages are the originals,
    /// compacted or not.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub include_summary: bool,
}

/// A request for a prompt, or for what would be in one. `at` is a head's name, or the end of the chain: a node or an alias of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub enum PromptRequest {
    /// The newest messages at a head, in order. → [`Response::Messages`](super::Response::Messages)
    GetRecent {
        /// The head's name.
        head: String,
        /// The limits.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        options: Recent,
    },
    /// The prompt of a chain for a budget. → [`Response::Context`](super::Response::Context)
    Context {
        /// The chain.
        at: String,
        /// How it is built, over what is stored for the chain.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<ContextParams>"))]
        options: Box<ContextParams>,
    },
    /// What a budget keeps of a chain, without the prompt. → [`Response::Fit`](super::Response::Fit)
    Fit {
        /// The chain.
        at: String,
        /// How it is built, over what is stored for the chain.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<ContextParams>"))]
        options: Box<ContextParams>,
        /// Further questions.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>", inline))]
        what_if: WhatIf,
    },
    /// The full output of a tool that a preview names. → [`Response::Messages`](super::Response::Messages), one or none
    ToolResult {
        /// The chain.
        at: String,
        /// The path in the preview.
        path: String,
    },
}

impl PromptRequest {
    /// The methods that are read here and not by [`Request::read`](super::Request::read).
    pub fn methods() -> &'static [&'static str] {
        read::methods::<Self>()
    }

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep_protocol::PromptRequest;
    /// assert!(PromptRequest::read("context", r#"{"at": "main", "options": {"policy": "stable"}}"#).is_ok());
    /// assert_eq!(PromptRequest::read("context", "{}").unwrap_err().argument, "at");
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
    use threadkeep_context::{Budget, Policy};

    #[test]
    fn every_method_is_read() {
        let recent =
            Recent { max_messages: Some(0), max_tokens: Some(9), include_system: Some(false), include_summary: true };
        let stable = Box::new(ContextParams { policy: Some(Policy::Stable), ..ContextParams::default() });
        let nine = Budget { max_tokens: Some(9), ..Budget::default() };
        let small = Box::new(ContextParams { budget: Some(nine), ..ContextParams::default() });
        let at = || "c".to_owned();
        let mut methods = Vec::new();
        for (method, params, request) in [
            (
                "getRecent",
                r#"{"head": "c", "options": {"maxMessages": 0, "maxTokens": 9, "includeSystem": false, "includeSummary": true}}"#,
                PromptRequest::GetRecent { head: at(), options: recent },
            ),
            ("getRecent", r#"{"head": "c"}"#, PromptRequest::GetRecent { head: at(), options: Recent::default() }),
            (
                "context",
                r#"{"at": "c", "options": {"policy": "stable"}}"#,
                PromptRequest::Context { at: at(), options: stable },
            ),
            (
                "context",
                r#"{"at": "c", "options": null}"#,
                PromptRequest::Context { at: at(), options: Box::default() },
            ),
            (
                "fit",
                r#"{"at": "c", "options": {"budget": {"maxTokens": 9}}, "whatIf": {"more": 4}}"#,
                PromptRequest::Fit { at: at(), options: small, what_if: WhatIf { more: Some(4), ..WhatIf::default() } },
            ),
            ("toolResult", r#"{"at": "c", "path": "p"}"#, PromptRequest::ToolResult { at: at(), path: "p".to_owned() }),
        ] {
            assert_eq!(PromptRequest::read(method, params), Ok(request), "{method} {params}");
            methods.push(method);
        }
        methods.dedup();
        assert_eq!(methods, PromptRequest::methods());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (method, params, argument) in [
            ("chain", "{}", "method"),
            ("context", "[]", ""),
            ("context", r#"{"at": 3}"#, "at"),
            ("context", r#"{"at": "a", "budget": 3}"#, "budget"),
            ("getRecent", r#"{"head": "c", "options": {"max": 2}}"#, "options.max"),
            ("fit", r#"{"at": "a", "whatIf": {"more": 9007199254740992}}"#, "whatIf.more"),
            ("context", r#"{"at": "a", "options": {"budget": {"tokens": 9}}}"#, "options.budget.tokens"),
            ("toolResult", r#"{"at": "a"}"#, "path"),
        ] {
            assert_eq!(PromptRequest::read(method, params).unwrap_err().argument, argument, "{method} {params}");
        }
    }
}
