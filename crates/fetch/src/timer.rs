//! Waiting, by `setTimeout`. A timer that is dropped is cleared, so that it keeps no Node process alive.

use std::pin::Pin;
use std::task::{Context, Poll};

use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use crate::bindings::{clear_timeout, set_timeout};

/// Is over after a while.
pub(crate) struct Timer {
    id: JsValue,
    over: JsFuture,
}

impl Timer {
    /// A timer of so many milliseconds; 24 days are the most.
    pub(crate) fn new(ms: u32) -> Self {
        let mut id = JsValue::UNDEFINED;
        let ms = i32::try_from(ms).unwrap_or(i32::MAX);
        let over = Promise::new(&mut |resolve, _| id = set_timeout(&resolve, ms));
        Self { id, over: JsFuture::from(over) }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.over).poll(context).map(|_| ())
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.id);
    }
}
