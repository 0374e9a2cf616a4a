//! What of JavaScript is needed, by hand: `web-sys` would bring the types of a whole page for these few calls.

use js_sys::{Function, Promise, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch)]
    pub fn fetch(url: &str, init: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(js_name = setTimeout)]
    pub fn set_timeout(call: &Function, ms: i32) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    pub fn clear_timeout(timer: &JsValue);

    /// `AbortController`.
    pub type AbortController;

    #[wasm_bindgen(constructor)]
    pub fn new() -> AbortController;

    #[wasm_bindgen(method, getter)]
    pub fn signal(this: &AbortController) -> JsValue;

    #[wasm_bindgen(method)]
    pub fn abort(this: &AbortController);

    /// `Response`.
    pub type JsResponse;

    #[wasm_bindgen(method, getter)]
    pub fn status(this: &JsResponse) -> u16;

    #[wasm_bindgen(method, getter)]
    pub fn headers(this: &JsResponse) -> JsValue;

    #[wasm_bindgen(method, getter)]
    pub fn body(this: &JsResponse) -> Option<ReadableStream>;

    /// `ReadableStream`.
    pub type ReadableStream;

    #[wasm_bindgen(method, js_name = getReader)]
    pub fn reader(this: &ReadableStream) -> StreamReader;

    /// `ReadableStreamDefaultReader`.
    pub type StreamReader;

    #[wasm_bindgen(method)]
    pub fn read(this: &StreamReader) -> Promise;

    /// What a reader's `read` gives.
    pub type ReadResult;

    #[wasm_bindgen(method, getter)]
    pub fn done(this: &ReadResult) -> bool;

    #[wasm_bindgen(method, getter)]
    pub fn value(this: &ReadResult) -> Option<Uint8Array>;
}
