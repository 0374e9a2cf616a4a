//! The address bar: what is open lives in the URL's fragment, so that back, forward, reload and links work.

use leptos::prelude::*;
use wasm_bindgen::JsValue;

use crate::route::Route;

/// The address. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Nav {
    route: RwSignal<Route>,
}

impl Nav {
    /// Reads the address, and follows it from now on.
    pub fn start() -> Self {
        let read = || Route::parse(&window().location().hash().unwrap_or_default());
        let route = RwSignal::new(read());
        // Both come with back and forward; only `hashchange` comes when an address is typed.
        for event in ["hashchange", "popstate"] {
            let listener = window_event_listener_untyped(event, move |_| {
                let now = read();
                if route.get_untracked() != now {
                    route.set(now);
                }
            });
            // It listens for as long as the page lives.
            std::mem::forget(listener);
        }
        Self { route }
    }

    /// What is open. Tracks.
    pub fn route(self) -> Route {
        self.route.get()
    }

    /// What is open, without tracking.
    pub fn now(self) -> Route {
        self.route.get_untracked()
    }

    /// Opens something; back leads to where the reader was.
    pub fn go(self, to: Route) {
        if self.now() == to {
            // The same address again: whoever shows it may scroll back to its place.
            self.route.notify();
            return;
        }
        if let Ok(history) = window().history() {
            let _ = history.push_state_with_url(&JsValue::NULL, "", Some(&to.fragment()));
        }
        self.route.set(to);
    }

    /// Says the same place more exactly, without a step back.
    pub fn replace(self, to: Route) {
        if self.now() == to {
            return;
        }
        if let Ok(history) = window().history() {
            let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&to.fragment()));
        }
        self.route.set(to);
    }
}
