//! Small helpers for reading and writing JSON by hand. They are plain functions, so that each exists once in the module.

use serde_json::{Map, Value};

/// An object of these fields, in this order; the values are taken out of the list.
pub(super) fn object(fields: &mut [(&str, Value)]) -> Value {
    let mut map = Map::with_capacity(fields.len());
    for (name, value) in fields {
        map.insert((*name).to_owned(), value.take());
    }
    Value::Object(map)
}

/// Adds a field.
pub(super) fn put(map: &mut Map<String, Value>, name: &str, value: Value) {
    map.insert(name.to_owned(), value);
}

/// A string.
pub(super) fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// The string in the field `name` of an object.
pub(super) fn string<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// The string in the field `name` of a map.
pub(super) fn field<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.get(name)?.as_str()
}

/// The string in the field `type`, or `""`.
pub(super) fn kind(value: &Value) -> &str {
    string(value, "type").unwrap_or_default()
}

/// The list in the field `name`, or none.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
