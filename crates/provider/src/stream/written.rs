//! Calls that a model wrote as text: what stands between the marks, in the forms that open models were trained on. Goes in: the
//! text between the marks. Comes out: names and arguments, or nothing where it is no call.

use serde_json::{Map, Value};

use super::super::json::{put, string};

/// A call as it was written.
pub(super) type Written = (String, String);

/// Reads calls: JSON objects (one, several, a list), Qwen's and Llama's `<function=…>`, GLM's pairs of keys and values, Mistral's
/// `name[ARGS]{…}`. `None` where it is none of these.
pub(super) fn calls(body: &str) -> Option<Vec<Written>> {
    let body = body.trim();
    let found = if body.starts_with(['{', '[']) {
        json(body)?
    } else if body.contains("<function=") {
        functions(body)
    } else if body.contains("<arg_key>") {
        pairs(body)?
    } else {
        named(body)?
    };
    let all = !found.is_empty() && found.iter().all(|(name, _)| is_name(name));
    all.then_some(found)
}

/// Whether a call's first field is one that calls have. `None` while that is not clear.
pub(super) fn begins_like_call(body: &str) -> Option<bool> {
    let mut rest = body.trim_start();
    for open in ['[', '{'] {
        if let Some(inner) = rest.strip_prefix(open) {
            rest = inner.trim_start();
        } else if open == '{' {
            return if rest.is_empty() { None } else { Some(false) };
        }
    }
    let Some(key) = rest.strip_prefix('"') else { return if rest.is_empty() { None } else { Some(false) } };
    let (key, _) = key.split_once('"')?;
    let known = [
        "name",
        "function",
        "tool",
        "tool_name",
        "action",
        "type",
        "id",
        "arguments",
        "parameters",
        "args",
        "tool_calls",
    ];
    Some(known.contains(&key))
}

fn is_name(name: &str) -> bool {
    let fits = |char: char| char.is_alphanumeric() || "_-.:/".contains(char);
    !name.is_empty() && name.len() <= 128 && name.chars().all(fits)
}

fn json(body: &str) -> Option<Vec<Written>> {
    let mut found = Vec::new();
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    for value in values.by_ref() {
        match value {
            Ok(value) => objects(&value, &mut found)?,
            Err(_) if found.is_empty() => return mended(body),
            // Words behind the calls.
            Err(_) => break,
        }
    }
    Some(found)
}

fn objects(value: &Value, found: &mut Vec<Written>) -> Option<()> {
    let list = match value {
        Value::Array(list) => list,
        one => match one.get("tool_calls").and_then(Value::as_array) {
            Some(list) => list,
            None => {
                found.push(object(one)?);
                return Some(());
            }
        },
    };
    for one in list {
        found.push(object(one)?);
    }
    Some(())
}

fn object(value: &Value) -> Option<Written> {
    let inner = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
    let name = ["name", "function", "tool_name", "tool", "action"].iter().find_map(|field| string(inner, field))?;
    let given = ["arguments", "parameters", "args", "input", "action_input"].iter().find_map(|field| inner.get(*field));
    let arguments = match given {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Some((name.to_owned(), arguments))
}

/// JSON that does not parse: braces that are missing at the end are added; otherwise the arguments are left as they came, for the
/// model to be told.
fn mended(body: &str) -> Option<Vec<Written>> {
    for end in ["}", "}}", "\"}}"] {
        if let Ok(value) = serde_json::from_str::<Value>(&[body, end].concat()) {
            return object(&value).map(|call| vec![call]);
        }
    }
    let after = |field: &str| {
        let rest = &body[body.find(field)? + field.len()..];
        rest.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let name = after("\"name\"")?.strip_prefix('"')?.split_once('"')?.0;
    let arguments = after("\"arguments\"").or_else(|| after("\"parameters\""))?;
    let arguments = arguments.strip_suffix('}').unwrap_or(arguments).trim_end();
    Some(vec![(name.to_owned(), arguments.to_owned())])
}

/// `<function=name>` with `<parameter=key>value</parameter>`, or with JSON.
fn functions(body: &str) -> Vec<Written> {
    let mut found = Vec::new();
    for part in body.split("<function=").skip(1) {
        let Some((name, rest)) = part.split_once('>') else { continue };
        let rest = rest.split("</function>").next().unwrap_or_default();
        let arguments = if rest.trim_start().starts_with('{') {
            rest.trim().to_owned()
        } else {
            let mut map = Map::new();
            for part in rest.split("<parameter=").skip(1) {
                if let Some((key, value)) = part.split_once('>') {
                    let value = value.split("</parameter>").next().unwrap_or_default();
                    put(&mut map, key.trim(), self::value(value));
                }
            }
            Value::Object(map).to_string()
        };
        found.push((name.trim().trim_matches('"').to_owned(), arguments));
    }
    found
}

/// `name`, then `<arg_key>key</arg_key><arg_value>value</arg_value>` again and again.
fn pairs(body: &str) -> Option<Vec<Written>> {
    let (name, _) = body.split_once("<arg_key>")?;
    let mut map = Map::new();
    for part in body.split("<arg_key>").skip(1) {
        let (key, rest) = part.split_once("</arg_key>")?;
        let value = rest.trim_start().strip_prefix("<arg_value>")?.split("</arg_value>").next()?;
        put(&mut map, key.trim(), self::value(value));
    }
    Some(vec![(name.trim().to_owned(), Value::Object(map).to_string())])
}

/// What is written between marks is text, without the line ends around it; lists and objects are meant as such.
fn value(text: &str) -> Value {
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let nested = text.trim_start().starts_with(['{', '[']);
    let parsed = if nested { serde_json::from_str(text).ok() } else { None };
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// `name[ARGS]{…}` or `name{…}`, one behind the other with `[TOOL_CALLS]` between.
fn named(body: &str) -> Option<Vec<Written>> {
    let mut found = Vec::new();
    for part in body.split("[TOOL_CALLS]").map(str::trim).filter(|part| !part.is_empty()) {
        let end = part.find(['[', '{'])?;
        let (name, rest) = part.split_at(end);
        let start = rest.find('{')?;
        let mut values = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<serde::de::IgnoredAny>();
        let whole = matches!(values.next(), Some(Ok(_)));
        let end = if whole { start + values.byte_offset() } else { rest.len() };
        found.push((name.trim().to_owned(), rest[start..end].to_owned()));
    }
    Some(found)
}
