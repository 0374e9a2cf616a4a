//! Files in: the drop zone that is the whole window, the pickers, how far an import is, and what it did.

use std::sync::Arc;

use js_sys::{Array, Function, Promise};
use leptos::ev;
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::{ImportProgress, ImportReport, Skipped};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{DataTransfer, File, FileList, FileSystemDirectoryEntry, FileSystemEntry, FileSystemFileEntry};

use super::signs::Sign;
use super::state::{Dialog, Page};
use crate::route::Route;
use crate::words;
use crate::{format, list};

/// Folders deeper than this are not entered.
const DEEPEST: usize = 12;
/// More files than this are not taken at once.
const MOST: usize = 20_000;

fn listed(files: Option<FileList>) -> Vec<(File, String)> {
    let Some(files) = files else { return Vec::new() };
    let path = |file: &File| {
        let path = js_sys::Reflect::get(file, &"webkitRelativePath".into()).ok();
        path.and_then(|path| path.as_string()).unwrap_or_default()
    };
    (0..files.length()).filter_map(|at| files.get(at)).map(|file| (file.clone(), path(&file))).collect()
}

/// Two shortcuts of the browser's older interfaces: a call with callbacks as a future.
async fn called(call: impl Fn(Function, Function)) -> Result<JsValue, JsValue> {
    let mut run = |resolve: Function, reject: Function| call(resolve, reject);
    JsFuture::from(Promise::new(&mut run)).await
}

async fn entries(roots: Vec<FileSystemEntry>) -> Vec<(File, String)> {
    let mut found = Vec::new();
    let mut todo: Vec<(FileSystemEntry, usize)> = roots.into_iter().rev().map(|entry| (entry, 0)).collect();
    while let Some((entry, depth)) = todo.pop() {
        if found.len() >= MOST {
            break;
        }
        if entry.is_file() {
            let path = entry.full_path().trim_start_matches('/').to_owned();
            let entry: FileSystemFileEntry = entry.unchecked_into();
            let file = called(|resolve, reject| entry.file_with_callback_and_callback(&resolve, &reject)).await;
            if let Ok(file) = file.and_then(|file| file.dyn_into::<File>()) {
                found.push((file, path));
            }
            continue;
        }
        if !entry.is_directory() || depth >= DEEPEST {
            continue;
        }
        let reader = entry.unchecked_into::<FileSystemDirectoryEntry>().create_reader();
        // A folder is read in parts, until a part is empty.
        loop {
            let part = called(|resolve, reject| {
                let _ = reader.read_entries_with_callback_and_callback(&resolve, &reject);
            });
            let Ok(part) = part.await else { break };
            let part = Array::from(&part);
            if part.length() == 0 {
                break;
            }
            todo.extend(part.iter().map(|entry| (entry.unchecked_into::<FileSystemEntry>(), depth + 1)));
        }
    }
    found
}

fn dropped(page: Page, transfer: &DataTransfer) {
    let items = transfer.items();
    let entry = |at: u32| items.get(at).and_then(|item| item.webkit_get_as_entry().ok().flatten());
    // Entries and files are only there during the event: take both before waiting.
    let roots: Vec<FileSystemEntry> = (0..items.length()).filter_map(entry).collect();
    let plain = listed(transfer.files());
    spawn_local(async move {
        let found = if roots.is_empty() { plain } else { entries(roots).await };
        if found.is_empty() {
            page.notices.say("There is no file in that", "Drop the zip file, conversations.json, or a folder.");
        }
        page.import(found);
    });
}

/// What is shown while files are over the window. Listens for them as long as the page lives.
#[component]
pub fn DropZone() -> impl IntoView {
    let page = Page::of_context();
    let over = RwSignal::new(0_i32);
    let has_files = |event: &ev::DragEvent| {
        event
            .data_transfer()
            .is_some_and(|transfer| transfer.types().iter().any(|kind| kind.as_string().as_deref() == Some("Files")))
    };
    let listeners = [
        window_event_listener(ev::dragenter, move |event| {
            if has_files(&event) {
                event.prevent_default();
                over.update(|over| *over += 1);
            }
        }),
        window_event_listener(ev::dragover, move |event| {
            if has_files(&event) {
                event.prevent_default();
                if let Some(transfer) = event.data_transfer() {
                    transfer.set_drop_effect("copy");
                }
            }
        }),
        window_event_listener(ev::dragleave, move |_| over.update(|over| *over = (*over - 1).max(0))),
        window_event_listener(ev::drop, move |event| {
            over.set(0);
            if let Some(transfer) = event.data_transfer().filter(|_| has_files(&event)) {
                event.prevent_default();
                dropped(page, &transfer);
            }
        }),
    ];
    on_cleanup(move || listeners.into_iter().for_each(WindowListenerHandle::remove));
    view! {
        <Show when=move || { over.get() > 0 }>
            <div class="drop-zone" aria-hidden="true">
                <p>
                    <Sign name="import" />
                    "Drop to import"
                </p>
            </div>
        </Show>
    }
}

/// The button of the empty page: the same as pressing the one in the left pane, which has the inputs.
#[component]
pub fn PickFiles() -> impl IntoView {
    let pick = |selector: &'static str| {
        let input = document().query_selector(selector).ok().flatten();
        if let Some(input) = input.and_then(|input| input.dyn_into::<web_sys::HtmlElement>().ok()) {
            input.click();
        }
    };
    view! {
        <button type="button" class="primary" on:click=move |_| pick("[data-testid=drop-input]")>
            <Sign name="import" />
            <span>"Choose files"</span>
        </button>
        <button type="button" on:click=move |_| pick("[data-testid=folder-input]")>
            <Sign name="folder" />
            <span>"Choose a folder"</span>
        </button>
    }
}

/// The buttons that pick files or a folder, and their inputs.
#[component]
pub fn PickButtons() -> impl IntoView {
    let page = Page::of_context();
    let files = NodeRef::<html::Input>::new();
    let folder = NodeRef::<html::Input>::new();
    folder.on_load(|input| {
        let _ = input.set_attribute("webkitdirectory", "");
    });
    let picked = move |input: NodeRef<html::Input>| {
        if let Some(input) = input.get_untracked() {
            let list = listed(input.files());
            // The same file can be picked again.
            input.set_value("");
            page.import(list);
        }
    };
    let pick = |input: NodeRef<html::Input>| {
        if let Some(input) = input.get_untracked() {
            input.click();
        }
    };
    view! {
        <button type="button" class="primary" data-testid="pick-files" on:click=move |_| pick(files)>
            "Import"
        </button>
        <button
            type="button"
            class="folder"
            title="Import a folder"
            aria-label="Import a folder"
            data-testid="pick-folder"
            on:click=move |_| pick(folder)
        >
            <Sign name="folder" />
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
pub fn ImportCard() -> impl IntoView {
    let page = Page::of_context();
    let imports = page.imports;
    let running = Memo::new(move |_| imports.progress.with(Option::is_some));
    move || {
        if running.get() {
            let progress = Signal::derive(move || imports.progress.get().unwrap_or_default());
            return view! { <Progress progress /> }.into_any();
        }
        if let Some(error) = imports.failure.get() {
            let words = words::words(&error);
            return view! {
                <section class="import-card" role="alert" data-testid="import-failed">
                    <header>
                        <h2>{words.title}</h2>
                        <CloseCard />
                    </header>
                    <p>{words.advice}</p>
                </section>
            }
            .into_any();
        }
        match imports.report.get() {
            Some(report) => view! { <Report report /> }.into_any(),
            None => ().into_any(),
        }
    }
}

#[component]
fn CloseCard() -> impl IntoView {
    let page = Page::of_context();
    let close = move |_| {
        page.imports.report.set(None);
        page.imports.failure.set(None);
    };
    view! {
        <button type="button" class="icon" title="Close" aria-label="Close" data-testid="close-report" on:click=close>
            <Sign name="close" />
        </button>
    }
}

#[component]
fn Progress(progress: Signal<ImportProgress>) -> impl IntoView {
    let percent = move || progress.with(|now| format::percent(now.bytes, now.total_bytes));
    let bytes = move || {
        progress.with(|now| {
            format!(
                "{} of {}",
                format::bytes(now.bytes.min(now.total_bytes.max(now.bytes))),
                format::bytes(now.total_bytes)
            )
        })
    };
    let found = move || {
        progress.with(|now| {
            format!(
                "{}, {}",
                format::plural(now.conversations.into(), "conversation"),
                format::plural(now.messages.into(), "message")
            )
        })
    };
    view! {
        <section class="import-card" aria-label="Import" data-testid="import-progress">
            <header>
                <h2>"Importing…"</h2>
                <span class="tally">{move || format!("{} %", percent())}</span>
            </header>
            <progress max="100" prop:value=move || percent().to_string() aria-label="How much has been read"></progress>
            <p class="import-file" dir="auto">{move || progress.with(|now| format::line(&now.file, 80))}</p>
            <p class="import-facts">
                <span>{bytes}</span>
                <span>{found}</span>
            </p>
        </section>
    }
}

#[component]
fn Report(report: Arc<ImportReport>) -> impl IntoView {
    let page = Page::of_context();
    let nothing = report.added == 0 && report.updated == 0 && report.unchanged == 0;
    let title = match (nothing, report.added + report.updated) {
        (true, _) => "Nothing was imported",
        (false, 0) => "Everything was here already",
        _ => "Imported",
    };
    let formats: Vec<String> = report.formats.iter().map(|name| format::source(name).to_owned()).collect();
    let formats = if formats.is_empty() { String::new() } else { format!("From {}. ", formats.join(", ")) };
    let stored = format!("{formats}{} stored.", format::plural(report.messages.into(), "message"));
    let advice = (nothing && report.skipped_count == 0).then(|| {
        view! {
            <p>
                "No conversation was found in these files. Threadkeep reads exports of ChatGPT and Claude, Claude Code's JSONL, OpenAI messages as JSONL, and its own export."
            </p>
            <p class="import-acts">
                <button type="button" class="quiet" on:click=move |_| page.dialog.set(Some(Dialog::Help))>
                    "How to get an export"
                </button>
            </p>
        }
    });
    let first = report.transcripts.first().cloned().filter(|_| report.transcripts.len() > 1);
    let open = first.map(|first| {
        let name = page.threads.find(&first).map(|info| list::title(&info).to_owned()).unwrap_or_default();
        view! {
            <button type="button" class="quiet" title=name on:click=move |_| page.nav.go(Route::thread(first.clone()))>
                "Open the first"
            </button>
        }
    });
    let figure = |count: u32, noun: &'static str, id: &'static str| {
        view! {
            <div>
                <dd data-testid=id>{format::count(count.into())}</dd>
                <dt>{noun}</dt>
            </div>
        }
    };
    view! {
        <section class="import-card" role="status" data-testid="report">
            <header>
                <h2>{title}</h2>
                <CloseCard />
            </header>
            <dl class="figures">
                {figure(report.added, "added", "report-added")} {figure(report.updated, "updated", "report-updated")}
                {figure(report.unchanged, "unchanged", "report-unchanged")}
                {figure(report.skipped_count, "remarks", "report-skipped")}
            </dl>
            <p>{stored}</p>
            {advice}
            {(!report.skipped.is_empty()).then(|| view! { <Remarks report=Arc::clone(&report) /> })}
            <p class="import-acts">{open}</p>
        </section>
    }
}

#[component]
fn Remarks(report: Arc<ImportReport>) -> impl IntoView {
    let more = u64::from(report.skipped_count).saturating_sub(report.skipped.len() as u64);
    let lost = report.skipped.iter().filter(|skipped| !skipped.salvaged).count();
    let words = match (lost, report.skipped.len() - lost) {
        (0, kept) => format!("{} came in with something missing", format::plural(kept as u64, "entry")),
        (lost, 0) => format!("{} left out", format::plural(lost as u64, "entry")),
        (lost, kept) => format!(
            "{} left out, {} with something missing",
            format::plural(lost as u64, "entry"),
            format::count(kept as u64)
        ),
    };
    let rows = report
        .skipped
        .iter()
        .map(|Skipped { place, reason, code, salvaged }| {
            let kind = if *salvaged { "Came in, with something missing:" } else { "Left out:" };
            view! {
                <li data-code=code.clone()>
                    <p class="place" dir="auto">{place.clone()}</p>
                    <p>
                        <span class="kind" class:kept=*salvaged>{kind}</span>
                        " "
                        {reason.clone()}
                    </p>
                </li>
            }
        })
        .collect_view();
    view! {
        <details class="remarks" data-testid="report-remarks">
            <summary>{words}</summary>
            <ul>{rows}</ul>
            {(more > 0).then(|| view! { <p>{format!("and {} more", format::count(more))}</p> })}
        </details>
    }
}
