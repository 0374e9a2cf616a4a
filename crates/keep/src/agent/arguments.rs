//! The arguments of tool calls, read as tolerantly as models write them.

use serde_json::{Map, Value};

/// The arguments of a call: an object, in a fence, as a JSON text within a JSON text, or nothing at all. An error is in words for
/// the model.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, String> {
    let mut text = text.trim();
    if let Some(inner) = text.strip_prefix("```") {
        let inner = inner.split_once('\n').map_or(inner, |(_, rest)| rest);
        text = inner.trim_end().strip_suffix("```").unwrap_or(inner).trim();
    }
    if text.is_empty() || text == "null" {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::String(inner)) if inner != text => object(&inner),
        Ok(_) => Err("the arguments must be a JSON object".to_owned()),
        Err(error) => {
            Err(format!("the arguments are not valid JSON ({error}): send the call again with a JSON object"))
        }
    }
}

/// A message's number: `5`, `"5"`, `"+5"` (SmallCaps), `"#5"`, `"5n"`; `None` where it is left out.
pub(super) fn number(map: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    let wrong = || format!("\"{name}\" must be a message number such as 5 or \"+5\"");
    match map.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => {
            let digits = text.trim().trim_start_matches(['+', '#']).trim_end_matches('n');
            digits.parse().map(Some).map_err(|_| wrong())
        }
        Some(Value::Number(number)) => {
            let text = number.to_string();
            let whole = text.strip_suffix(".0").unwrap_or(&text);
            whole.parse().map(Some).map_err(|_| wrong())
        }
        Some(_) => Err(wrong()),
    }
}

/// A list of texts: a list, one text alone, or a list as JSON text; empty where it is left out. What is in the list and no text is
/// written as one.
pub(super) fn texts(map: &Map<String, Value>, name: &str) -> Result<Vec<String>, String> {
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match map.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list.iter().map(written).collect()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Array(list)) => Ok(list.iter().map(written).collect()),
            _ => Ok(vec![text.clone()]),
        },
        Some(_) => Err(format!("\"{name}\" must be a list of strings")),
    }
}

/// A text that must be there.
pub(super) fn text(map: &Map<String, Value>, names: &[&str]) -> Result<String, String> {
    let found = names.iter().find_map(|name| map.get(*name)?.as_str()).filter(|text| !text.trim().is_empty());
    found.map(str::to_owned).ok_or_else(|| format!("\"{}\" must be a text", names[0]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn numbers_come_as_models_write_them() {
        for value in [json!(5), json!("5"), json!("+5"), json!(" #5 "), json!("5n"), json!(5.0)] {
            assert_eq!(number(&map(json!({ "n": value })), "n"), Ok(Some(5)), "{value}");
        }
        assert_eq!(number(&map(json!({ "n": "" })), "n"), Ok(None));
        for value in [json!("five"), json!(-1), json!([5]), json!(5.5)] {
            assert!(number(&map(json!({ "n": value })), "n").is_err(), "{value}");
        }
    }

    #[test]
    fn objects_come_in_fences_in_texts_and_not_at_all() {
        let wanted = map(json!({ "a": 1 }));
        for text in ["{\"a\": 1}", "```json\n{\"a\": 1}\n```", "\"{\\\"a\\\": 1}\""] {
            assert_eq!(object(text), Ok(wanted.clone()), "{text}");
        }
        assert_eq!(object("  "), Ok(Map::new()));
        assert!(object("{\"a\": ").unwrap_err().contains("not valid JSON"));
        assert!(object("[1]").is_err());
    }

    #[test]
    fn lists_of_texts_come_as_texts_too() {
        assert_eq!(texts(&map(json!({ "s": "hi" })), "s"), Ok(vec!["hi".to_owned()]));
        assert_eq!(texts(&map(json!({ "s": "[\"a\", \"b\"]" })), "s"), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(texts(&map(json!({ "s": ["a", 3] })), "s"), Ok(vec!["a".to_owned(), "3".to_owned()]));
        assert!(texts(&map(json!({ "s": 3 })), "s").is_err());
    }
}
