//! What all views share: signs, times, and text from outside.

use leptos::prelude::*;

use super::dom;
use crate::clusters;

/// Text as the page draws it.
pub fn drawn(text: &str) -> String {
    clusters::drawn(text).into_owned()
}

/// One of the page's signs, hidden from screen readers: what it means is said beside it.
#[component]
pub fn Sign(name: &'static str) -> impl IntoView {
    view! {
        <svg viewBox="0 0 16 16" class="sign" aria-hidden="true">
            <path d=super::signs::path(name)></path>
        </svg>
    }
}

/// A time: how long ago, and exactly on being asked.
#[component]
pub fn Time(at: i64) -> impl IntoView {
    view! {
        <time datetime=dom::machine(at) title=dom::exact(at)>{crate::format::ago(at, dom::now())}</time>
    }
}
