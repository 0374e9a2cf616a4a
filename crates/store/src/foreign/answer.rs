//! Checking what a JavaScript adapter returns and throws.
//!
//! In go values of any kind; out come records in the promised order, or a typed error that says what is wrong with them.

use js_sys::{Array, Error as JsError, Reflect, Symbol, Uint8Array};
use wasm_bindgen::prelude::*;

use super::bad;
use crate::{Record, Scan, StoreError};

/// Whether a method has answered at once: what it returned is no promise, and nothing that could pretend to be one.
pub(super) fn is_there(returned: &JsValue) -> bool {
    returned.is_undefined() || returned.is_instance_of::<Array>() || returned.is_instance_of::<Uint8Array>()
}

/// The answer of `get`.
pub(super) fn value(value: &JsValue) -> Result<Option<Vec<u8>>, StoreError> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    match bytes(value) {
        Some(bytes) => Ok(Some(bytes)),
        None => Err(bad("get", format!("expected a Uint8Array or undefined, got {}", kind(value)))),
    }
}

/// The answer of `scan`: records of the range, in the order asked for, no more than asked for.
pub(super) fn records(found: &JsValue, scan: &Scan) -> Result<Vec<Record>, StoreError> {
    let wrong = |why: String| bad("scan", why);
    if !Array::is_array(found) {
        return Err(wrong(format!("expected an array of [key, value], got {}", kind(found))));
    }
    let found: &Array = found.unchecked_ref();
    let length = found.length() as usize;
    if scan.limit.is_some_and(|limit| length > limit) {
        return Err(wrong(format!("{length} records came where the limit is {}", scan.limit.unwrap_or_default())));
    }
    let mut records: Vec<Record> = Vec::new();
    for (index, pair) in found.iter().enumerate() {
        let (key, value) = record(&pair).map_err(|why| wrong(format!("record {index}: {why}")))?;
        if key < scan.start || key >= scan.end {
            return Err(wrong(format!("record {index}: the key {key:?} is outside the range")));
        }
        if let Some((last, _)) = records.last() {
            let ordered = if scan.reverse { key < *last } else { key > *last };
            if !ordered {
                return Err(wrong(format!("record {index}: the key {key:?} cannot come after {last:?}")));
            }
        }
        records.push((key, value));
    }
    Ok(records)
}

fn record(pair: &JsValue) -> Result<Record, String> {
    if !Array::is_array(pair) {
        return Err(format!("expected [key, value], got {}", kind(pair)));
    }
    let pair: &Array = pair.unchecked_ref();
    let (key, value) = (pair.get(0), pair.get(1));
    let key = key.as_string().ok_or_else(|| format!("the key is no string but {}", kind(&key)))?;
    let value = bytes(&value).ok_or_else(|| format!("the value is no Uint8Array but {}", kind(&value)))?;
    Ok((key, value))
}

/// The bytes of a `Uint8Array`, or of a Node `Buffer`, which is one.
fn bytes(value: &JsValue) -> Option<Vec<u8>> {
    if let Some(array) = value.dyn_ref::<Uint8Array>() {
        return Some(array.to_vec());
    }
    // One of another realm (a test runner's sandbox, a frame) is no instance of ours, but bears its name.
    let name = value.is_object().then(|| Reflect::get(value, &Symbol::to_string_tag()).ok()?.as_string()).flatten();
    let is_view = js_sys::ArrayBuffer::is_view(value);
    (is_view && name.as_deref() == Some("Uint8Array")).then(|| Uint8Array::new(value).to_vec())
}

/// What an adapter threw, or rejected with, as an error of the same kind.
pub fn thrown(error: &JsValue) -> StoreError {
    let read = |name: &str| {
        let has_properties = error.is_object() || error.is_function();
        has_properties.then(|| Reflect::get(error, &JsValue::from_str(name)).ok()).flatten().unwrap_or_default()
    };
    let text = |name: &str| read(name).as_string();
    let number = |name: &str| read(name).as_f64().unwrap_or_default() as u32;
    let message = text("message").or_else(|| error.as_string()).unwrap_or_else(|| kind(error));
    match text("code").as_deref() {
        Some("conflict") => match text("key") {
            Some(key) => StoreError::Conflict { key },
            None => bad("commit", "a conflict must name its `key`".to_owned()),
        },
        Some("quota") => StoreError::Quota(message),
        Some("unavailable") => StoreError::Unavailable(message),
        Some("blocked") => StoreError::Blocked(message),
        Some("storage-gone") => StoreError::Gone(message),
        Some("transient") => StoreError::Transient(message),
        Some("closed") => StoreError::Closed,
        Some("corrupt") => StoreError::Corrupt { key: text("key").unwrap_or_default(), why: message },
        Some("newer-version") => StoreError::NewerVersion { found: number("found"), supported: number("supported") },
        _ => StoreError::Other(match error.dyn_ref::<JsError>() {
            Some(error) => format!("{}: {message}", String::from(error.name())),
            None => message,
        }),
    }
}

/// What kind of value this is, in the words of somebody who has to find it.
pub(super) fn kind(value: &JsValue) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    if Array::is_array(value) {
        return format!("an array of {}", value.unchecked_ref::<Array>().length());
    }
    match value.js_typeof().as_string().as_deref() {
        Some("undefined") => "undefined".to_owned(),
        Some("object") => {
            let name = Reflect::get(value, &Symbol::to_string_tag()).ok().and_then(|name| name.as_string());
            name.map_or_else(|| "an object".to_owned(), |name| format!("an object ({name})"))
        }
        Some(other) => format!("a {other}"),
        None => "something strange".to_owned(),
    }
}
