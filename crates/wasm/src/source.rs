//! Archives to import: JavaScript objects `{ name, size, read(offset, length) }` whose `read` promises a `Uint8Array`.

use js_sys::{Promise, Reflect, Uint8Array};
use threadkeep::Source;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// One file of an import.
    pub type SourceObject;
    #[wasm_bindgen(method, getter)]
    fn name(this: &SourceObject) -> String;
    #[wasm_bindgen(method, getter)]
    fn size(this: &SourceObject) -> f64;
    #[wasm_bindgen(method, catch)]
    fn read(this: &SourceObject, offset: f64, length: f64) -> Result<Promise, JsValue>;
}

/// A [`Source`] that asks a JavaScript object.
pub(crate) struct JsSource {
    object: SourceObject,
    name: String,
    size: u64,
}

impl JsSource {
    pub(crate) fn new(object: SourceObject) -> Self {
        let (name, size) = (object.name(), object.size());
        Self { object, name, size: size as u64 }
    }
}

impl Source for JsSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    async fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, String> {
        // Files stay far below 2^53 bytes, where f64 is exact.
        let promise = self.object.read(offset as f64, len as f64).map_err(|error| words(&error))?;
        let bytes = JsFuture::from(promise).await.map_err(|error| words(&error))?;
        match bytes.dyn_into::<Uint8Array>() {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(_) => Err("the file gave something that is not bytes".to_owned()),
        }
    }
}

/// A JavaScript error in words.
fn words(error: &JsValue) -> String {
    Reflect::get(error, &JsValue::from_str("message"))
        .ok()
        .and_then(|message| message.as_string())
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}
