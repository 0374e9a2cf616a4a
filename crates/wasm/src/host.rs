//! What the engine asks of the platform: the time and random bytes, from `Date` and `crypto`.

use std::cell::RefCell;
use std::pin::Pin;

use serde_json::json;
use threadkeep::Host;
use threadkeep::model::Http;
use threadkeep_fetch::Fetch;
use wasm_bindgen::prelude::*;

use crate::error::own_error;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues, catch)]
    fn get_random_values(bytes: &mut [u8]) -> Result<(), JsValue>;
}

/// How many bytes are fetched at a time: a call out takes longer than all that is done for a message besides (in Node about
/// 15 microseconds), and each message of a batch has an id.
const POOL: usize = 2048;

/// The browser or Node.
pub(crate) struct Platform {
    /// Random bytes, and how many of them are left. What was handed out is overwritten.
    pool: RefCell<([u8; POOL], usize)>,
}

impl Platform {
    /// Looks whether the platform has what is needed, so that it is said at `open` and not later.
    pub(crate) fn check() -> Result<Self, JsValue> {
        match get_random_values(&mut [0; 32]) {
            Ok(()) => Ok(Self { pool: RefCell::new(([0; POOL], 0)) }),
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

    fn sleep(&self, millis: u32) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(Fetch.sleep(millis))
    }

    #[allow(clippy::expect_used)] // looked for at `open`; ids without randomness would be worse than a stop
    fn random(&self) -> [u8; 32] {
        let mut pool = self.pool.borrow_mut();
        let (bytes, left) = &mut *pool;
        if *left < 32 {
            get_random_values(bytes).expect("crypto.getRandomValues was there at open and is gone");
            *left = POOL;
        }
        let mut taken = [0; 32];
        *left -= 32;
        taken.copy_from_slice(&bytes[*left..*left + 32]);
        bytes[*left..*left + 32].fill(0);
        taken
    }
}
