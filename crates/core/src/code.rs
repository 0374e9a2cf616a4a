//! A code turn: a message whose program was run, with what it defined, what it printed and how it ended.
//!
//! Goes in and comes out: the JSON object as it came, so that nothing of it is lost; the accessors read what Threadkeep
//! knows of it. What a prompt shows of an old code turn is decided in `threadkeep-context`.

use serde::Serialize;
use serde_json::{Map, Value};

/// The fields of a code turn beside `type`, as they came. All are optional:
///
/// | field | value |
/// |---|---|
/// | `program` | the program's text; without it, the fenced Lisp blocks of the message's content are the program |
/// | `definitions` | a list of `{name, kind?, docstring?, type?, value?, sample?}`; without it, they are read from the program |
/// | `output` | what `println` printed: a list with one text a call, or one text, whose lines count as one call each |
/// | `status` | `ok` or `error` |
///
/// A definition's `kind` is `function` or `data` (the default); its `value` is any JSON value, of which a summary shows the
/// type and a short sample; a host with other values gives the `type` word and the `sample` ready made.
///
/// ```
/// use threadkeep_core::{Kind, Message};
/// let json = serde_json::json!({"role": "assistant", "content": "```lisp\n(def x 1)\n```", "kind": {"type": "code_turn",
///     "program": "(def x 1)", "definitions": [{"name": "x", "value": 1}], "output": [], "status": "ok"}});
/// let message = Message::from_json(json.clone())?;
/// assert!(matches!(&message.kind, Kind::CodeTurn(turn) if turn.program() == "(def x 1)"));
/// assert_eq!(message.to_json(), json);
/// # Ok::<(), threadkeep_core::MessageError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct CodeTurn(pub Map<String, Value>);

/// A field of a code turn that has another type than [`CodeTurn`] says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place} must be {expected}")]
pub struct CodeTurnError {
    /// The field, such as `definitions[2].name`.
    pub place: String,
    /// What it must be.
    pub expected: &'static str,
}

impl CodeTurn {
    /// The turn with these fields; a `type` among them is left out. `null` counts as absent, unknown fields are kept.
    ///
    /// # Errors
    /// [`CodeTurnError`] names the first field that has another type than the table above says.
    pub fn from_map(mut fields: Map<String, Value>) -> Result<Self, CodeTurnError> {
        fields.shift_remove("type");
        check(&fields)?;
        Ok(Self(fields))
    }

    /// The program's text, or `""`.
    pub fn program(&self) -> &str {
        self.0.get("program").and_then(Value::as_str).unwrap_or_default()
    }

    /// The definitions that the host gave, as they came; `None` when they are to be read from the program.
    pub fn definitions(&self) -> Option<&[Value]> {
        self.0.get("definitions").and_then(Value::as_array).map(Vec::as_slice)
    }

    /// What was printed, one text a `println`.
    pub fn output(&self) -> Vec<&str> {
        match self.0.get("output") {
            Some(Value::String(text)) => text.lines().collect(),
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the program failed; `None` when the turn does not say.
    pub fn failed(&self) -> Option<bool> {
        self.0.get("status").and_then(Value::as_str).map(|status| status == "error")
    }
}

fn check(fields: &Map<String, Value>) -> Result<(), CodeTurnError> {
    let fault = |place: &str, expected| Err(CodeTurnError { place: place.to_owned(), expected });
    let given = |field| fields.get(field).filter(|value| !value.is_null());
    if given("program").is_some_and(|program| !program.is_string()) {
        return fault("program", "a string");
    }
    if given("status").is_some_and(|status| status != "ok" && status != "error") {
        return fault("status", "\"ok\" or \"error\"");
    }
    match given("output") {
        None | Some(Value::String(_)) => {}
        Some(Value::Array(texts)) if texts.iter().all(Value::is_string) => {}
        Some(_) => return fault("output", "a string or a list of strings"),
    }
    let definitions = match given("definitions") {
        None => return Ok(()),
        Some(Value::Array(definitions)) => definitions,
        Some(_) => return fault("definitions", "a list of objects"),
    };
    for (index, definition) in definitions.iter().enumerate() {
        let fault = |field: &str, expected| fault(&format!("definitions[{index}]{field}"), expected);
        let Some(definition) = definition.as_object() else { return fault("", "an object") };
        if definition.get("name").and_then(Value::as_str).is_none_or(|name| name.trim().is_empty()) {
            return fault(".name", "a string that is not blank");
        }
        let given = |field| definition.get(field).filter(|value| !value.is_null());
        if given("kind").is_some_and(|kind| kind != "function" && kind != "data") {
            return fault(".kind", "\"function\" or \"data\"");
        }
        for (field, place) in [("docstring", ".docstring"), ("type", ".type"), ("sample", ".sample")] {
            if given(field).is_some_and(|value| !value.is_string()) {
                return fault(place, "a string");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Message};
    use serde_json::json;

    fn message(kind: &Value) -> Message {
        let value = json!({"role": "assistant", "content": "```lisp\n(f)\n```", "kind": kind, "tags": ["a"]});
        let message = Message::from_json(value.clone()).unwrap();
        assert_eq!(message.to_json(), value);
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
        message
    }

    #[test]
    fn code_turns_come_back_equal() {
        for kind in [
            json!({"type": "code_turn"}),
            json!({"type": "code_turn", "program": "(def x 1)", "definitions": [], "output": [], "status": "ok"}),
            json!({"type": "code_turn", "program": null, "definitions": null, "output": null, "status": "error"}),
            json!({"type": "code_turn", "turn": 7, "output": "a\nb", "definitions": [
                {"name": "f", "kind": "function", "docstring": "d", "arity": 2},
                {"name": "x", "kind": "data", "docstring": null, "type": "tensor", "sample": "[…]", "value": {"a": 0.1}}]}),
        ] {
            let message = message(&kind);
            assert!(matches!(message.kind, Kind::CodeTurn(_)), "{kind}");
            assert!(message.extra.is_empty());
        }
    }

    #[test]
    fn what_is_no_code_turn_of_ours_stays_untyped() {
        for kind in [
            json!({"type": "code_turn", "program": 1}),
            json!({"type": "code_turn", "status": "failed"}),
            json!({"type": "code_turn", "output": [1]}),
            json!({"type": "code_turn", "definitions": {}}),
            json!({"type": "code_turn", "definitions": [{"name": "x"}, {"name": " "}]}),
        ] {
            assert_eq!(message(&kind).kind, Kind::Plain, "{kind}");
        }
    }

    #[test]
    fn errors_name_the_place() {
        let check = |fields: Value, expected: &str| {
            let Value::Object(fields) = fields else { panic!("an object") };
            assert_eq!(CodeTurn::from_map(fields).unwrap_err().to_string(), expected);
        };
        check(json!({"program": []}), "program must be a string");
        check(json!({"status": true}), r#"status must be "ok" or "error""#);
        check(json!({"output": {}}), "output must be a string or a list of strings");
        check(json!({"definitions": "x"}), "definitions must be a list of objects");
        check(json!({"definitions": [1]}), "definitions[0] must be an object");
        check(json!({"definitions": [{"name": "a"}, {}]}), "definitions[1].name must be a string that is not blank");
        check(
            json!({"definitions": [{"name": "a", "kind": "x"}]}),
            r#"definitions[0].kind must be "function" or "data""#,
        );
        check(json!({"definitions": [{"name": "a", "type": 1}]}), "definitions[0].type must be a string");
    }

    #[test]
    fn what_it_says() {
        let turn = CodeTurn::from_map(json!({"output": "a\n\nb\n"}).as_object().unwrap().clone()).unwrap();
        assert_eq!((turn.program(), turn.definitions(), turn.failed()), ("", None, None));
        assert_eq!(turn.output(), ["a", "", "b"]);
    }
}
