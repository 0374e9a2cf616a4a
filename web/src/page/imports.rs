//! Files in: the drop zone that is the whole window, the pickers, and how far an import is. What it did is told in [`report`].

mod files;
pub mod report;

use leptos::html;
use leptos::prelude::*;
use threadkeep::protocol::ImportProgress;
use wasm_bindgen::prelude::*;
use web_sys::{DragEvent, Event};

use self::files::{carried, dropped, listed, take_files};
use self::report::Failure;
use super::basics::{Sign, drawn};
use super::effects::at_window;
use super::panels::{Later, Panel};
use super::state::Page;
use crate::format;

/// What is shown while files are over the window. Listens for them as long as the page lives.
#[component]
pub fn DropZone(page: Page) -> impl IntoView {
    let over = RwSignal::new(0_usize);
    let hear = move |event: Event| {
        let event: DragEvent = event.unchecked_into();
        let files = carried(&event);
        if files.is_some() {
            event.prevent_default();
        }
        match (event.type_().as_str(), files) {
            ("dragenter", Some(_)) => over.update(|over| *over += 1),
            ("dragover", Some(files)) => files.set_drop_effect("copy"),
            ("dragleave", _) => over.update(|over| *over = over.saturating_sub(1)),
            ("drop", files) => {
                over.set(0);
                if let Some(files) = files {
                    dropped(page, &files);
                }
            }
            _ => {}
        }
    };
    for event in ["dragenter", "dragover", "dragleave", "drop"] {
        at_window(event, hear);
    }
    take_files(page);
    view! {
        <Show when=move || { over.get() > 0 }>
            <div class="drop-zone" aria-hidden="true">
                <p><Sign name="import"/>"Drop to import"</p>
            </div>
        </Show>
    }
}

/// The buttons that pick files or a folder, and their inputs.
#[component]
pub fn PickButtons(page: Page) -> impl IntoView {
    let (files, folder) = (NodeRef::<html::Input>::new(), NodeRef::<html::Input>::new());
    let pick = |input: NodeRef<html::Input>| {
        if let Some(input) = input.get_untracked() {
            input.click();
        }
    };
    let picked = move |input: NodeRef<html::Input>| {
        if let Some(input) = input.get_untracked() {
            let list = listed(input.files());
            // The same file can be picked again.
            input.set_value("");
            page.import(list);
        }
    };
    view! {
        <button type="button" class="primary" data-testid="pick-files" on:click=move |_| pick(files)>"Import"</button>
        <button
            type="button"
            class="folder"
            title="Import a folder"
            aria-label="Import a folder"
            data-testid="pick-folder"
            on:click=move |_| pick(folder)
        >
            <Sign name="folder"/>
        </button>
        <input
            type="file"
            multiple
            hidden
            aria-label="Files to import"
            accept=".json,.jsonl,.zip,.ndjson,application/json,application/zip"
            data-testid="drop-input"
            node_ref=files
            on:change=move |_| picked(files)
        />
        <input
            type="file"
            prop:webkitdirectory=true
            hidden
            aria-label="Folder to import"
            data-testid="folder-input"
            node_ref=folder
            on:change=move |_| picked(folder)
        />
    }
}

/// How far the import is, or what the last one did, in a corner of the page.
#[component]
pub fn Card(page: Page) -> impl IntoView {
    let imports = page.imports;
    let now = Memo::new(move |_| (imports.progress.with(Option::is_some), imports.failure.get(), imports.report.get()));
    move || match now.get() {
        (true, ..) => Some(view! { <Progress page/> }.into_any()),
        (_, Some(error), _) => Some(view! { <Failure page error/> }.into_any()),
        (.., report) => report.map(|report| view! { <Later page panel=Panel::Report(report)/> }.into_any()),
    }
}

#[component]
fn Progress(page: Page) -> impl IntoView {
    let of = move |words: fn(&ImportProgress) -> String| {
        move || page.imports.progress.with(|now| now.as_ref().map(words).unwrap_or_default())
    };
    let read = of(|now| {
        let bytes = format::bytes(now.bytes.min(now.total_bytes.max(now.bytes)));
        format!("{bytes} of {}", format::bytes(now.total_bytes))
    });
    let found = of(|now| {
        let conversations = format::plural(now.conversations.into(), "conversation");
        format!("{conversations}, {}", format::plural(now.messages.into(), "message"))
    });
    view! {
        <section class="import-card" aria-label="Import" data-testid="import-progress">
            <header>
                <h2>"Importing…"</h2>
                <span class="tally">{of(|now| format!("{} %", format::percent(now.bytes, now.total_bytes)))}</span>
                <button
                    type="button"
                    class="quiet"
                    data-testid="stop-import"
                    on:click=move |_| page.engine.stop_import()
                >
                    "Stop"
                </button>
            </header>
            <progress
                max="100"
                value=of(|now| format::percent(now.bytes, now.total_bytes).to_string())
                aria-label="How much has been read"
            ></progress>
            <p class="import-file" dir="auto">{of(|now| drawn(&format::line(&now.file, 80)))}</p>
            <p class="import-facts">
                <span>{read}</span>
                <span>{found}</span>
            </p>
        </section>
    }
}
