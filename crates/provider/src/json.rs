//! Small helpers for reading and writing JSON by hand. They are plain functions, so that each exists once in the module.

use serde_json::{Map, Value};

/// An object of these fields of text, in this order.
#[inline(never)]
pub(super) fn texts(fields: &[(&str, &str)]) -> Value {
    let mut map = Map::new();
    for (name, value) in fields {
        map.insert((*name).to_owned(), text(value));
    }
    Value::Object(map)
}

/// The same, and one more field behind them.
#[inline(never)]
pub(super) fn object(fields: &[(&str, &str)], name: &str, value: Value) -> Value {
    let mut object = texts(fields);
    if let Value::Object(map) = &mut object {
        put(map, name, value);
    }
    object
}

/// Adds a field.
#[inline(never)]
pub(super) fn put(map: &mut Map<String, Value>, name: &str, value: Value) {
    map.insert(name.to_owned(), value);
}

/// A string.
#[inline(never)]
pub(super) fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// The string in the field `name` of an object.
#[inline(never)]
pub(super) fn string<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// The string in the field `name` of a map.
#[inline(never)]
pub(super) fn field<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.get(name)?.as_str()
}

/// The string in the field `type`, or `""`.
#[inline(never)]
pub(super) fn kind(value: &Value) -> &str {
    string(value, "type").unwrap_or_default()
}

/// The list in the field `name`, or none.
#[inline(never)]
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
