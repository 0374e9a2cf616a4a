//! Our tokenizer for `tests/bench/tokens.mjs`: text comes in through a buffer that JavaScript writes UTF-8 into, as in the
//! npm package, so that the measurement has the way across the border in it.

use threadkeep_tokens::{Bpe, Encoding};
use wasm_bindgen::prelude::*;

/// A loaded vocabulary with its buffer.
#[wasm_bindgen]
pub struct TokenBench {
    bpe: Bpe,
    buffer: Vec<u8>,
}

#[wasm_bindgen]
impl TokenBench {
    /// Loads the unpacked asset of `o200k_base` or `cl100k_base`.
    ///
    /// # Errors
    /// Another name, or another asset.
    #[wasm_bindgen(constructor)]
    pub fn new(encoding: &str, asset: &[u8]) -> Result<TokenBench, JsError> {
        let encoding = Encoding::from_name(encoding).ok_or_else(|| JsError::new("no such encoding"))?;
        Ok(Self { bpe: Bpe::load(encoding, asset)?, buffer: Vec::new() })
    }

    /// Makes room for `bytes` bytes; returns where.
    pub fn room(&mut self, bytes: usize) -> *const u8 {
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        self.buffer.as_ptr()
    }

    /// The count of the first `bytes` bytes in the buffer; `undefined` when they are no UTF-8.
    pub fn count(&self, bytes: usize) -> Option<u32> {
        let text = std::str::from_utf8(self.buffer.get(..bytes)?).ok()?;
        Some(self.bpe.count(text))
    }
}
