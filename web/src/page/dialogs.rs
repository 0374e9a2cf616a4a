//! Dialogs: the frame of the open one, with its title. Their bodies are panels.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlDialogElement, MouseEvent};

use super::basics::IconButton;
use super::effects::soon;
use super::panels::{Later, Panel};
use super::state::{Dialog, Page};

/// The open dialog, if there is one.
#[component]
pub fn Dialogs(page: Page) -> impl IntoView {
    let open = Memo::new(move |_| page.dialog.get());
    move || open.get().map(|dialog| view! { <Modal page dialog/> })
}

/// The title of a dialog.
pub fn title(dialog: &Dialog) -> &'static str {
    match dialog {
        Dialog::Bin => "Bin",
        Dialog::DeleteAll => "Delete everything?",
        Dialog::Compact(_) => "Compact this branch?",
        Dialog::Epochs { .. } => "Epochs",
        Dialog::Compare { .. } => "Two branches",
        Dialog::Check { .. } => "Check this branch",
        Dialog::Share(_) => "Share this thread",
        Dialog::Memory(_) => "Memory",
        Dialog::Connections => "Models",
        Dialog::Storage => "Storage and privacy",
        Dialog::Sync => "Sync with other devices",
        Dialog::Palette => "Go to",
        Dialog::Keys => "Keys",
        Dialog::Help => "How to get an export",
    }
}

#[component]
fn Modal(page: Page, dialog: Dialog) -> impl IntoView {
    let element = NodeRef::<html::Dialog>::new();
    soon(move || {
        if let Some(dialog) = element.get_untracked() {
            // Fails only for one that is open already.
            let _ = dialog.show_modal();
        }
    });
    let clicked = move |event: MouseEvent| {
        // A click on the backdrop is one on the dialog itself.
        if event.target().is_some_and(|target| target.has_type::<HtmlDialogElement>()) {
            page.dialog.set(None);
        }
    };
    view! {
        <dialog
            node_ref=element
            aria-labelledby="dialog-title"
            data-testid="dialog"
            on:close=move |_| page.dialog.set(None)
            on:click=clicked
        >
            <div class="dialog">
                <header>
                    <h2 id="dialog-title">{title(&dialog)}</h2>
                    <IconButton sign="close" words="Close" press=move |()| page.dialog.set(None)/>
                </header>
                <div>
                    <Later page panel=Panel::Dialog(dialog)/>
                </div>
            </div>
        </dialog>
    }
}
