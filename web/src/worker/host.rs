//! What the engine takes from the browser: the time and random bytes.

use std::pin::Pin;

use threadkeep::Host;
use threadkeep::model::Http;
use threadkeep_fetch::Fetch;
use wasm_bindgen::JsCast;
use web_sys::WorkerGlobalScope;

/// The browser, as the engine sees it.
#[derive(Debug)]
pub struct Browser;

impl Host for Browser {
    fn now(&self) -> i64 {
        // Whole milliseconds, far below the 2^53 that a double holds exactly.
        js_sys::Date::now() as i64
    }

    fn sleep(&self, millis: u32) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(Fetch.sleep(millis))
    }

    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
        let filled = scope.crypto().and_then(|crypto| crypto.get_random_values_with_u8_array(&mut bytes));
        if let Err(error) = filled {
            // Ids that can be guessed are worse than none.
            wasm_bindgen::throw_val(error);
        }
        bytes
    }
}
