//! What needs no store: the depth prefix, secrets in a text, and the version.

use threadkeep_core::depth;
use wasm_bindgen::prelude::*;

/// The version of this build, which the TypeScript compares with its own.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// A text with its secrets masked. It is here so that the code that finds them is in the module itself: its parts have less room.
#[wasm_bindgen(js_name = maskSecrets)]
pub fn mask_secrets(text: &str) -> String {
    threadkeep::masked(text).0
}

/// A reply's strings with the prefix `[depth:N] ` before the first; `["[depth:N]"]` for none.
#[wasm_bindgen(js_name = writeDepth)]
pub fn write_depth(mut strings: Vec<String>, depth: u32) -> Vec<String> {
    depth::write(&mut strings, depth);
    strings
}

/// The depth in front of `text`, or `undefined`; where it ends and the text goes on, [`depth::parse`] decides, and the
/// second number is how many UTF-16 units the prefix takes (it is ASCII, so as many as bytes).
#[wasm_bindgen(js_name = readDepth)]
pub fn read_depth(text: &str) -> Vec<u32> {
    match depth::parse(text) {
        (Some(depth), rest) => vec![depth, (text.len() - rest.len()) as u32],
        (None, _) => Vec::new(),
    }
}
