//! Errors on their way out: each becomes the JSON text of an [`ErrorReply`], which the TypeScript turns into a
//! `ThreadkeepError`.

use std::cell::RefCell;

use js_sys::Function;
use serde_json::{Value, json};
use threadkeep::KeepError;
use threadkeep::protocol::ErrorReply;
use wasm_bindgen::JsValue;

use threadkeep::protocol::BadRequest;

/// The engine's error as JSON text.
pub(crate) fn keep_error(error: &KeepError) -> JsValue {
    text(&error.reply())
}

/// An error of this layer as JSON text.
pub(crate) fn own_error(code: &str, message: impl Into<String>, details: Value) -> JsValue {
    text(&ErrorReply { code: code.to_owned(), message: message.into(), details })
}

/// A part of the module that cannot be loaded. The TypeScript loads it first and knows why it could not be; this is for those
/// who use the bindings without it.
pub(crate) fn part_missing(part: &str) -> JsValue {
    own_error("init-failed", ["the part of the module for ", part, " cannot be loaded"].concat(), json!({}))
}

/// A request that is no request.
pub(crate) fn bad_request(error: BadRequest) -> JsValue {
    own_error("bad-request", error.to_string(), json!({ "argument": error.argument }))
}

/// A transcript that is no id.
pub(crate) fn bad_id(error: &threadkeep_core::IdError) -> JsValue {
    own_error("bad-request", error.to_string(), json!({ "argument": "transcript" }))
}

/// JSON text of something of ours; it has only string keys, so that this cannot fail, and if it did, the error would say so.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<JsValue, JsValue> {
    match threadkeep_json::to_text(value) {
        Ok(text) => Ok(JsValue::from(text)),
        Err(error) => Err(unwritten(&error)),
    }
}

/// An answer that cannot be written as JSON.
pub(crate) fn unwritten(error: &serde_json::Error) -> JsValue {
    own_error("internal", format!("the answer cannot be written: {error}"), json!({}))
}

fn text(reply: &ErrorReply) -> JsValue {
    JsValue::from(threadkeep_json::to_text(reply).unwrap_or_else(|_| {
        // Not reached: the reply has only string keys.
        r#"{"code":"internal","message":"an error that cannot be written","details":{}}"#.to_owned()
    }))
}

thread_local! {
    // A panic hook must be `Send`, which a function of JavaScript is not.
    static PANICKED: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Lets `panicked` hear the words of a panic, before the module traps.
pub(crate) fn hear_panics(panicked: Function) {
    PANICKED.set(Some(panicked));
    std::panic::set_hook(Box::new(|info| {
        PANICKED.with_borrow(|panicked| {
            if let Some(panicked) = panicked {
                // The module traps next whatever happens here.
                let _ = panicked.call1(&JsValue::UNDEFINED, &JsValue::from(info.to_string()));
            }
        });
    }));
}
