//! JSON objects of known fields.

use serde_json::{Map, Value};

pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(Map::from_iter(fields.map(|(name, value)| (name.to_owned(), value))))
}
