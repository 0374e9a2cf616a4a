//! Compression of plain data, for hosts that hold JSON.
//!
//! Goes in: a list of turns or messages and an object of options, both as JSON. Comes out: the messages of the prompt, and
//! the rule for each. What to compress is decided in the parent module.

use serde::Serialize;
use serde_json::{Map, Value};
use threadkeep_core::code::CodeTurnError;
use threadkeep_core::{CodeTurn, Kind, Message, MessageError};
use threadkeep_json::own_value;

use super::{CompressOptions, decide, fence};

/// Why [`compress_history`] refused its arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompressError {
    /// A value has the wrong type or range.
    #[error("{place} must be {expected}")]
    Value {
        /// Where it is, such as `turns[3].definitions[0].name` or `options.errorWindow`.
        place: String,
        /// What it must be.
        expected: &'static str,
    },
    /// There is no such option.
    #[error("there is no option {name:?}")]
    UnknownOption {
        /// Its name.
        name: String,
    },
}

/// A history whose old code turns became summaries. Both lists are as long as the turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Compressed {
    /// What a prompt shows.
    pub messages: Vec<Message>,
    /// The rule for each: `compressed-turn`, `latest-turn`, `error-turn`, …; `null` for what is no code turn.
    pub rules: Vec<Option<&'static str>>,
}

/// Compresses a history of code turns: a [`Compressed`] as JSON, `{"messages": […], "rules": […]}`, both as long as `turns`.
///
/// `turns` is a list of messages, or of turns as a trace holds them: objects with the fields of [`CodeTurn`] beside others,
/// without a `role`. A turn becomes an assistant message; its content is the field `content`, what the model wrote, or
/// else the program in a fenced block. `options` has `printlnHistoryLimit` and `errorWindow`, whole numbers from zero up; `null`
/// stands for no options. A rule is a word of the table in [the module](super), or `null`. Messages that stay whole come back as
/// they are, so that the function may be applied to its own result.
///
/// ```
/// use serde_json::{Value, json};
/// use threadkeep_context::compress::compress_history;
/// let turns = json!([
///     {"turn": 1, "program": "(def x (tool/count))", "definitions": [{"name": "x", "value": [1, 2]}], "output": ""},
///     {"turn": 2, "program": "(return x)"}]);
/// let result = compress_history(turns, &Value::Null)?;
/// assert_eq!(result["messages"][0]["content"], "; Defined: x = list[2], sample: 1");
/// assert_eq!(result["messages"][1]["content"], "```lisp\n(return x)\n```");
/// assert_eq!(result["rules"], json!(["compressed-turn", "latest-turn"]));
/// # Ok::<(), threadkeep_context::compress::CompressError>(())
/// ```
///
/// # Errors
/// [`CompressError::Value`] names the first place that has the wrong type or range, [`CompressError::UnknownOption`] the first
/// option that there is not.
pub fn compress_history(turns: Value, options: &Value) -> Result<Value, CompressError> {
    let options = read_options(options)?;
    let Value::Array(turns) = turns else { return Err(wrong("turns".to_owned(), "a list")) };
    let mut messages = Vec::with_capacity(turns.len());
    for (index, turn) in turns.into_iter().enumerate() {
        messages.push(read_turn(index, turn)?);
    }
    let verdicts = decide(&messages.iter().collect::<Vec<_>>(), &options);
    let rules = verdicts.iter().map(|verdict| verdict.rule).collect();
    let chosen = verdicts.into_iter().zip(messages).map(|(verdict, whole)| verdict.replacement.unwrap_or(whole));
    Ok(own_value(&Compressed { messages: chosen.collect(), rules }))
}

fn wrong(place: String, expected: &'static str) -> CompressError {
    CompressError::Value { place, expected }
}

fn read_options(options: &Value) -> Result<CompressOptions, CompressError> {
    let mut read = CompressOptions::default();
    let fields = match options {
        Value::Null => return Ok(read),
        Value::Object(fields) => fields,
        _ => return Err(wrong("options".to_owned(), "an object")),
    };
    for (name, value) in fields {
        let field = match name.as_str() {
            "printlnHistoryLimit" => &mut read.println_history_limit,
            "errorWindow" => &mut read.error_window,
            _ => return Err(CompressError::UnknownOption { name: name.clone() }),
        };
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        *field = number.ok_or_else(|| wrong(format!("options.{name}"), "a whole number from zero up"))?;
    }
    Ok(read)
}

/// A message, or the message of a turn as a trace holds it.
fn read_turn(index: usize, turn: Value) -> Result<Message, CompressError> {
    let place = |field: &str| format!("turns[{index}]{field}");
    let code = |under: &str, fields: Map<String, Value>| {
        let wrong = |CodeTurnError { place: field, expected }| wrong(place(&format!(".{under}{field}")), expected);
        CodeTurn::from_map(fields).map_err(wrong)
    };
    let Value::Object(mut fields) = turn else { return Err(wrong(place(""), "an object")) };
    if !fields.contains_key("role") {
        if !fields.contains_key("program") {
            return Err(wrong(place(""), "a message with a role, or a turn with a program"));
        }
        let content = match fields.shift_remove("content") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => return Err(wrong(place(".content"), "a string")),
        };
        let code = code("", fields)?;
        let content = content.unwrap_or_else(|| fence::fence(code.program()));
        return Ok(Message { kind: Kind::CodeTurn(code), ..Message::assistant(content) });
    }
    let message = Message::from_json(Value::Object(fields)).map_err(|error| match error {
        MessageError::NotAnObject => wrong(place(""), "an object"),
        MessageError::Field { field, expected } => wrong(place(&format!(".{field}")), expected),
    })?;
    // A kind that could not be read stays among the other fields; here that is a mistake rather than somebody else's data.
    if let Some(Value::Object(kind)) = message.extra.get("kind").filter(|kind| kind["type"] == "code_turn") {
        code("kind.", kind.clone())?;
    }
    Ok(message)
}
