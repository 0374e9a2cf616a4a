//! Validating: what a provider would refuse, two-sided (no call without its result, no result without its call). It reads any
//! JSON as a stranger, knows nothing of how [`render`](super::render) works, repairs nothing and never fails.
//!
//! | rule | what is wrong |
//! |---|---|
//! | `wrong-type` | a field is missing or has a type that the provider does not know |
//! | `unknown-role`, `unknown-type` | a role, or a block's, part's or item's type, that it does not know |
//! | `empty-prompt` | there is no message |
//! | `empty-content` | a message, text block or error says nothing |
//! | `first-role`, `last-role`, `alternation` | the wrong side begins, ends, or speaks twice |
//! | `late-system` | instructions inside the conversation, where the provider takes none |
//! | `unanswered-call` | a call without a result where it belongs |
//! | `orphan-result` | a result without a call |
//! | `repeated-result`, `repeated-call-id` | a second result, a second call of the same id |
//! | `repeated-item` | Responses: a second item of the same id |
//! | `misplaced-result` | a result that is not right behind its call |
//! | `misplaced-block` | a block on the side that cannot say it |
//! | `bad-id`, `bad-name`, `bad-arguments`, `bad-image` | what the provider's format for these does not allow |
//! | `nameless-call` | a call that names no tool |
//! | `unsigned-thinking`, `thinking-order` | Anthropic's thinking without its signature, or not where it must be |
//! | `lone-reasoning`, `call-without-reasoning` | Responses: a reasoning item without what followed it, and the reverse |
//! | `missing-signature` | Gemini: the first call of a step without its thought signature |
//! | `trailing-whitespace` | Anthropic: the last assistant message ends with white space |
//! | `bad-tool`, `repeated-tool`, `bad-schema` | what is wrong with the tools on offer |

mod anthropic;
mod gemini;
mod messages;
mod ollama;
mod openai_chat;
mod openai_responses;
mod tools;

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;

use super::Provider;
use super::json::{list, string};

pub use messages::validate_messages;

/// Something that a provider would refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ValidationError"))]
pub struct Finding {
    /// The place in the list of messages, from 0; `null` where the whole is meant.
    pub index: Option<usize>,
    /// The rule that is broken: a short stable word.
    pub rule: &'static str,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// Checks the body of a request (for Gemini, the SDK's arguments too).
///
/// Where one provider's endpoints differ, the stricter counts: turns must alternate for Anthropic although its own endpoint
/// joins turns of the same side, since others that serve its models do not.
///
/// ```
/// use threadkeep_provider::{Provider, validate_payload};
/// let payload = serde_json::json!({"max_tokens": 9, "messages": [{"role": "user", "content": [
///     {"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"}]}]});
/// let findings = validate_payload(&payload, Provider::Anthropic);
/// assert_eq!((findings[0].index, findings[0].rule), (Some(0), "orphan-result"));
/// ```
pub fn validate_payload(payload: &Value, provider: Provider) -> Vec<Finding> {
    let mut report = Report::default();
    if !payload.is_object() {
        report.all("wrong-type", "a payload is a JSON object");
        return report.findings;
    }
    match provider {
        Provider::OpenAiChat => openai_chat::check(payload, &mut report),
        Provider::OpenAiResponses => openai_responses::check(payload, &mut report),
        Provider::Anthropic => anthropic::check(payload, &mut report),
        Provider::Gemini => gemini::check(payload, &mut report),
        Provider::Ollama => ollama::check(payload, &mut report),
    }
    tools::check(payload, provider, &mut report);
    report.findings
}

/// Findings as they gather.
#[derive(Debug, Default)]
struct Report {
    findings: Vec<Finding>,
}

impl Report {
    /// Adds a finding at a place.
    #[inline(never)]
    fn at(&mut self, index: usize, rule: &'static str, message: &str) {
        self.add(Some(index), rule, message.to_owned());
    }

    /// Adds a finding about the whole.
    #[inline(never)]
    fn all(&mut self, rule: &'static str, message: &str) {
        self.add(None, rule, message.to_owned());
    }

    /// Adds a finding about something with a name or id.
    #[inline(never)]
    fn about(&mut self, index: usize, rule: &'static str, name: &str, message: &str) {
        let name: String = name.chars().take(80).collect();
        self.add(Some(index), rule, [&name, ": ", message].concat());
    }

    /// Adds a finding where it belongs by the order of the places: almost always at the end.
    fn add(&mut self, index: Option<usize>, rule: &'static str, message: String) {
        let mut at = self.findings.len();
        while at > 0 && self.findings[at - 1].index > index {
            at -= 1;
        }
        self.findings.insert(at, Finding { index, rule, message });
    }
}

const UNANSWERED: &str = "the call has no result right behind it: add one, if only to say that it was cancelled";
const ORPHAN: &str = "the result answers no call: take it out, or keep the call that it answers";
const REPEATED: &str = "the call has a result already: take one of them out";
const MISPLACED: &str = "the result must stand right behind the message with its call, before anything else";
const REPEATED_ID: &str = "two calls share this id: give each its own";
const EMPTY_PROMPT: &str = "there is no message: add one of the user's";

/// Calls that wait for their results right behind them, by id.
#[derive(Debug, Default)]
struct Waiting<'a> {
    open: Vec<(&'a str, usize, bool)>,
    /// Where in `open` each id is.
    places: HashMap<&'a str, usize>,
    /// All calls so far.
    seen: HashSet<&'a str>,
}

impl<'a> Waiting<'a> {
    fn call(&mut self, id: &'a str, at: usize, report: &mut Report) {
        if self.places.contains_key(id) {
            report.about(at, "repeated-call-id", id, REPEATED_ID);
            return;
        }
        self.places.insert(id, self.open.len());
        self.open.push((id, at, false));
        self.seen.insert(id);
    }

    fn result(&mut self, id: &str, at: usize, report: &mut Report) {
        match self.places.get(id).and_then(|place| self.open.get_mut(*place)) {
            Some((.., answered)) if *answered => report.about(at, "repeated-result", id, REPEATED),
            Some((.., answered)) => *answered = true,
            None if self.seen.contains(id) => report.about(at, "misplaced-result", id, MISPLACED),
            None => report.about(at, "orphan-result", id, ORPHAN),
        }
    }

    /// The place for results is over.
    fn close(&mut self, report: &mut Report) {
        self.places.clear();
        for (id, at, answered) in self.open.drain(..) {
            if !answered {
                report.about(at, "unanswered-call", id, UNANSWERED);
            }
        }
    }
}

/// The list of messages under `name`; reports where there is none.
fn messages<'a>(payload: &'a Value, name: &str, report: &mut Report) -> &'a [Value] {
    match payload.get(name) {
        Some(Value::Array(list)) if list.is_empty() => report.all("empty-prompt", EMPTY_PROMPT),
        Some(Value::Array(_)) => {}
        _ => report.all("wrong-type", &[name, " must be a list of messages"].concat()),
    }
    list(payload, name)
}

/// The string under `name`, if it is there and not empty.
fn filled<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    string(value, name).filter(|text| !text.is_empty())
}

/// Whether `text` has 1 to `most` characters, all letters, digits, `_` or `-`.
fn is_plain(text: &str, most: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=most).contains(&text.len()) && text.bytes().all(plain)
}

/// Whether `data` looks like base64.
fn is_base64(data: &str) -> bool {
    let taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    !data.is_empty() && data.bytes().all(taken)
}

/// Whether `url` is one that OpenAI fetches or a `data:` URL of an image in base64.
fn is_image_url(url: &str) -> bool {
    let inline = || url.strip_prefix("data:image/")?.split_once(";base64,").map(|(_, data)| is_base64(data));
    url.starts_with("https://") || url.starts_with("http://") || inline() == Some(true)
}

/// The number of a Gemini model's generation; 0 where it cannot be told.
fn gemini_generation(payload: &Value) -> u32 {
    let model = string(payload, "model").unwrap_or_default();
    let Some(at) = model.find("gemini-") else { return 0 };
    let digits: String = model[at + 7..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}
