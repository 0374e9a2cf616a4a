//! Light, dark, or as the system has it: an attribute on the document, remembered.

use leptos::prelude::*;

use super::basics::Sign;
use super::dom;

const KEY: &str = "threadkeep.theme";

/// A button that turns from the system's colours to light to dark.
#[component]
pub fn Colours() -> impl IntoView {
    let theme = RwSignal::new(dom::remembered(KEY).unwrap_or_else(|| "auto".to_owned()));
    let turn = move |_| {
        let next = match theme.get_untracked().as_str() {
            "auto" => "light",
            "light" => "dark",
            _ => "auto",
        };
        dom::remember(KEY, next);
        if let Some(root) = document().document_element() {
            let _ = root.set_attribute("data-theme", next);
        }
        theme.set(next.to_owned());
    };
    let words = move || match theme.get().as_str() {
        "light" => "Colours: light",
        "dark" => "Colours: dark",
        _ => "Colours: as the system has them",
    };
    let shape = move || match theme.get().as_str() {
        "light" => "sun",
        "dark" => "moon",
        _ => "auto",
    };
    view! {
        <button type="button" class="quiet" data-testid="theme" title=words aria-label=words on:click=turn>
            {move || view! { <Sign name=shape()/> }}
            <span>"Colours"</span>
        </button>
    }
}
