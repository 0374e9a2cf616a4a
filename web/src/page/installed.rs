//! The page as an app, as `web/public/installed.js` makes it one: a newer build waits until the reader wants it.

use js_sys::{Function, Reflect};
use leptos::prelude::window;
use wasm_bindgen::{JsCast, JsValue};

use super::effects::at_window;
use super::state::Page;

/// Says so when a newer build is stored, for as long as the page lives.
pub fn watch(page: Page) {
    at_window("newer", move |_| say(page));
    if field("newer").is_truthy() {
        say(page);
    }
}

fn say(page: Page) {
    page.notices.offer(
        "A newer version is ready",
        "It begins with the next visit, once all tabs of this page are closed, or now. Drafts are kept.",
        "Restart now",
        || {
            if let Ok(restart) = field("restart").dyn_into::<Function>() {
                // It only sends a message.
                let _ = restart.call0(&JsValue::UNDEFINED);
            }
        },
    );
}

fn field(name: &str) -> JsValue {
    Reflect::get(&window(), &name.into()).unwrap_or_default()
}
