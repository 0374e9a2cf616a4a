//! What the engine asks of the platform: the time and random bytes, from `Date` and `crypto`.

use serde_json::json;
use threadkeep::Host;
use wasm_bindgen::prelude::*;

use crate::error::own_error;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues, catch)]
    fn get_random_values(bytes: &mut [u8]) -> Result<(), JsValue>;
}

/// The browser or Node.
pub(crate) struct Platform;

impl Platform {
    /// Looks whether the platform has what is needed, so that it is said at `open` and not later.
    pub(crate) fn check() -> Result<Self, JsValue> {
        match get_random_values(&mut [0; 32]) {
            Ok(()) => Ok(Self),
            Err(_) => Err(own_error(
                "unavailable",
                "there is no random generator here (crypto.getRandomValues): ids cannot be made",
                json!({}),
            )),
        }
    }
}

impl Host for Platform {
    fn now(&self) -> i64 {
        js_sys::Date::now() as i64
    }

    #[allow(clippy::expect_used)] // looked for at `open`; ids without randomness would be worse than a stop
    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        get_random_values(&mut bytes).expect("crypto.getRandomValues was there at open and is gone");
        bytes
    }
}
