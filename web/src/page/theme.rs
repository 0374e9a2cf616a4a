//! Light, dark, or as the system has it: an attribute on the document, remembered.

use leptos::prelude::*;
use web_sys::Node;

use super::dom;
use super::view::{click, live, markup};

const KEY: &str = "threadkeep.theme";

/// A button that turns from the system's colours to light to dark.
pub fn button() -> Node {
    let theme = RwSignal::new(dom::remembered(KEY).unwrap_or_else(|| "auto".to_owned()));
    let turn = move || {
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
    markup!(
        r#"
        <button type="button" class="quiet" data-testid="theme" title={} aria-label={} onclick={}>
            <svg sign={}/>
            <span>Colours</span>
        </button>"#,
        live(words),
        live(words),
        click(turn),
        live(shape),
    )
}
