//! Acts that follow signals, come a moment later, or hear the whole window.

use leptos::prelude::*;
use leptos::reactive::effect::RenderEffect;
use web_sys::Event;

/// Calls `act` now, and again whenever signals that it read have changed, until the part of the page that this belongs to is gone.
pub fn follow(act: impl FnMut() + 'static) {
    follow_boxed(Box::new(act));
}

fn follow_boxed(mut act: Box<dyn FnMut()>) {
    let effect = RenderEffect::new(move |_| act());
    on_cleanup(move || drop(effect));
}

/// Calls `act` in a moment, when what is being made now is in the document. If the part of the page that asked for it is gone by then,
/// nothing is called: its signals and values are gone as well.
pub fn soon(act: impl FnOnce() + 'static) {
    // What belongs to no part is always there.
    let part = Owner::current().map(|_| StoredValue::new(()));
    leptos::task::spawn_local(async move {
        if part.is_none_or(|part| part.try_get_value().is_some()) {
            act();
        }
    });
}

/// Listens at the window for as long as the page lives.
pub fn at_window(event: &str, hear: impl Fn(Event) + 'static) {
    // Dropped, the handle leaves the listener where it is.
    drop(window_event_listener_untyped(event, hear));
}
