//! What all views share: signs, buttons, choices, times, and text from outside.

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

/// A button that shows a sign. Its words are read to screen readers, and shown on being pointed at.
#[component]
pub fn IconButton(
    sign: &'static str,
    words: &'static str,
    #[prop(default = "icon")] class: &'static str,
    #[prop(optional)] testid: Option<&'static str>,
    #[prop(into)] press: Callback<()>,
) -> impl IntoView {
    view! {
        <button
            type="button"
            class=class
            title=words
            aria-label=words
            data-testid=testid
            on:click=move |_| press.run(())
        >
            <Sign name=sign/>
        </button>
    }
}

/// The choices of a select, by value and words; `chosen` is the value of the one that it begins with.
pub fn choices<V: Into<String>>(all: impl IntoIterator<Item = (V, &'static str)>, chosen: &str) -> AnyView {
    let one = |(value, words): (V, &'static str)| {
        let value: String = value.into();
        let selected = value == chosen;
        view! { <option value=value selected=selected>{words}</option> }
    };
    all.into_iter().map(one).collect_view().into_any()
}
