//! A record while it is being edited.

use leptos::html;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::panel::Panel;
use crate::page::basics::drawn;
use crate::wire::{Memory, Recall};

/// The tags of a field, in which they are separated by commas.
fn tags(field: &str) -> Vec<String> {
    field.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect()
}

/// The fields of the record.
#[component]
pub(super) fn Editor(panel: Panel, one: Memory) -> impl IntoView {
    let text = NodeRef::<html::Textarea>::new();
    let field = NodeRef::<html::Input>::new();
    text.on_load(|text| drop(text.focus()));
    panel.overtaken.set(None);
    panel.edited.set_value(Some(one.clone()));
    let Memory { id, episode, text: words, tags: labels, .. } = one;
    let before = Recall::Edit { id: id.clone(), episode, text: words.clone(), tags: labels.clone() };
    let said = format!("Changed. Before: {words}");
    let save = move |_| {
        let (Some(text), Some(field)) = (text.get_untracked(), field.get_untracked()) else { return };
        let (text, tags) = (text.value().trim().to_owned(), tags(&field.value()));
        panel.undo.set(Some((said.clone(), before.clone())));
        panel.act(Recall::Edit { id: id.clone(), episode, text, tags });
    };
    let key = move |event: KeyboardEvent| {
        // Escape ends the editing, not the dialog.
        if event.key() == "Escape" {
            event.prevent_default();
            panel.editing.set(None);
        }
    };
    view! {
        <li class="memory editing" on:keydown=key>
            <p
                class="overtaken"
                role="status"
                dir="auto"
                data-testid="memory-overtaken"
                hidden=move || panel.overtaken.with(Option::is_none)
            >
                {move || panel.overtaken.get().map(|words| drawn(&words))}
            </p>
            <label>
                <span class="for-readers">"What it says"</span>
                <textarea rows="3" dir="auto" data-testid="memory-text" node_ref=text>{words}</textarea>
            </label>
            <label class="tags-field">
                <span>"Tags"</span>
                <input value=labels.join(", ") data-testid="memory-tags" node_ref=field/>
            </label>
            <p class="memory-acts">
                <button type="button" class="small" on:click=move |_| panel.editing.set(None)>"Cancel"</button>
                <button type="button" class="small primary" data-testid="memory-save" on:click=save>"Save"</button>
            </p>
        </li>
    }
}
