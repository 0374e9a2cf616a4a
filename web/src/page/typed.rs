//! Where Leptos' `view!` and `markup!` meet: a typed view as a node, and a node within a typed view.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

use super::dom;
use crate::clusters;

/// The elements of a typed view, which stay true to their signals for as long as the part of the page that they are made in.
pub fn mounted(view: AnyView) -> Node {
    let root: Node = document().create_document_fragment().into();
    let mut state = view.build();
    // Only what nodes can do is asked of it.
    state.mount(root.unchecked_ref::<Element>(), None);
    StoredValue::new_local(state);
    match root.first_child() {
        Some(only) if only.next_sibling().is_none() => {
            let _ = root.remove_child(&only);
            only
        }
        _ => root,
    }
}

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
