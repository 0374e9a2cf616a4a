//! Cancelling what takes long.

use threadkeep::compact::Cancel;
use wasm_bindgen::prelude::*;

/// Ends a compaction, or a question to a model, that is under way.
#[wasm_bindgen]
#[derive(Default)]
pub struct Canceller(Cancel);

impl Canceller {
    pub(crate) fn handle(&self) -> Cancel {
        self.0.clone()
    }
}

#[wasm_bindgen]
impl Canceller {
    /// For one of either.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends it: it rejects with `cancelled`, unless it is storing already.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
