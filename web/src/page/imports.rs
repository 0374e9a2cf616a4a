//! Files in: the drop zone that is the whole window, the pickers, how far an import is, and what it did.

use std::sync::Arc;

use js_sys::{Array, Function, Promise};
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::{ErrorReply, ImportProgress, ImportReport, Skipped};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    DataTransfer, DragEvent, Event, File, FileList, FileSystemDirectoryEntry, FileSystemEntry, FileSystemFileEntry,
    HtmlInputElement, Node,
};

use super::state::{Dialog, Page};
use super::storage;
use super::view::{Slot, Spot, at_window, click, draw, live, markup};
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
    bring(page, roots, listed(transfer.files()));
}

/// Imports what was dropped: the files of the entries, else the plain files.
fn bring(page: Page, roots: Vec<FileSystemEntry>, plain: Vec<(File, String)>) {
    spawn_local(async move {
        let found = if roots.is_empty() { plain } else { entries(roots).await };
        if found.is_empty() {
            page.notices.say("There is no file in that", "Drop the zip file, conversations.json, or a folder.");
        }
        page.import(found);
    });
}

/// Imports what was dropped before the page was there, and from now on what other programs open with it; its loader hands them over.
fn take_files(page: Page) {
    let field = |of: &JsValue, name: &str| js_sys::Reflect::get(of, &name.into()).unwrap_or_default();
    let Ok(take) = field(&window(), "takeFiles").dyn_into::<Function>() else { return };
    let come = Closure::<dyn Fn(JsValue)>::new(move |found: JsValue| {
        let roots = Array::from(&field(&found, "entries")).iter().map(JsCast::unchecked_into).collect();
        let files = Array::from(&field(&found, "files"));
        bring(page, roots, files.iter().map(|file| (file.unchecked_into(), String::new())).collect());
    });
    // Fails only where the loader does, which says so itself.
    let _ = take.call1(&JsValue::UNDEFINED, &come.into_js_value());
}

/// The files of a drag, if it is one of files.
fn carried(event: &DragEvent) -> Option<DataTransfer> {
    let files =
        |transfer: &DataTransfer| transfer.types().iter().any(|kind| kind.as_string().as_deref() == Some("Files"));
    event.data_transfer().filter(files)
}

/// What is shown while files are over the window. Listens for them as long as the page lives.
pub fn drop_zone(page: Page) -> Slot {
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
    let view = |over: &bool| {
        over.then(|| {
            markup!(
                r#"
                <div class="drop-zone" aria-hidden="true">
                    <p><svg sign="import"/>Drop to import</p>
                </div>"#
            )
        })
    };
    draw(move || over.get() > 0, view)
}

/// The buttons that pick files or a folder, and their inputs.
pub fn pick_buttons(page: Page) -> Node {
    let (files, folder) = (Spot::new(), Spot::new());
    let pick = |input: Spot| {
        click(move || {
            if let Some(input) = input.get() {
                input.click();
            }
        })
    };
    let picked = move |input: Spot| {
        click(move || {
            if let Some(input) = input.get() {
                let input: HtmlInputElement = input.unchecked_into();
                let list = listed(input.files());
                // The same file can be picked again.
                input.set_value("");
                page.import(list);
            }
        })
    };
    markup!(
        r#"
        <button type="button" class="primary" data-testid="pick-files" onclick={}>Import</button>
        <button type="button" class="folder" title="Import a folder" aria-label="Import a folder" data-testid="pick-folder" onclick={}>
            <svg sign="folder"/>
        </button>
        <input
            type="file"
            multiple
            hidden
            aria-label="Files to import"
            accept=".json,.jsonl,.zip,.ndjson,application/json,application/zip"
            data-testid="drop-input"
            ref={}
            onchange={}
        />
        <input
            type="file"
            webkitdirectory
            hidden
            aria-label="Folder to import"
            data-testid="folder-input"
            ref={}
            onchange={}
        />"#,
        pick(files),
        pick(folder),
        files,
        picked(files),
        folder,
        picked(folder),
    )
}

/// How far the import is, or what the last one did, in a corner of the page.
pub fn card(page: Page) -> Slot {
    let imports = page.imports;
    let now = move || (imports.progress.with(Option::is_some), imports.failure.get(), imports.report.get());
    let view = move |now: &(bool, Option<ErrorReply>, Option<Arc<ImportReport>>)| match now {
        (true, ..) => Some(progress(page)),
        (_, Some(error), _) => Some(failed(page, error)),
        (.., report) => report.as_ref().map(|report| done(page, report)),
    };
    draw(now, view)
}

fn failed(page: Page, error: &ErrorReply) -> Node {
    let words = words::words(error);
    markup!(
        r#"
        <section class="import-card" role="alert" data-testid="import-failed">
            <header><h2>{}</h2>{}</header>
            <p>{}</p>
        </section>"#,
        words.title,
        close_card(page),
        words.advice,
    )
}

fn close_card(page: Page) -> Node {
    let close = move || {
        storage::asked();
        page.imports.report.set(None);
        page.imports.failure.set(None);
    };
    markup!(
        r#"
        <button type="button" class="icon" title="Close" aria-label="Close" data-testid="close-report" onclick={}>
            <svg sign="close"/>
        </button>"#,
        click(close),
    )
}

fn progress(page: Page) -> Node {
    let of = move |words: fn(&ImportProgress) -> String| {
        live(move || page.imports.progress.with(|now| now.as_ref().map(words)))
    };
    markup!(
        r#"
        <section class="import-card" aria-label="Import" data-testid="import-progress">
            <header>
                <h2>Importing…</h2>
                <span class="tally">{}</span>
                <button type="button" class="quiet" data-testid="stop-import" onclick={}>Stop</button>
            </header>
            <progress max="100" value={} aria-label="How much has been read"></progress>
            <p class="import-file" dir="auto">{}</p>
            <p class="import-facts">
                <span>{}</span>
                <span>{}</span>
            </p>
        </section>"#,
        of(|now| format!("{} %", format::percent(now.bytes, now.total_bytes))),
        click(move || page.engine.stop_import()),
        of(|now| format::percent(now.bytes, now.total_bytes).to_string()),
        of(|now| format::line(&now.file, 80)),
        of(|now| {
            let bytes = format::bytes(now.bytes.min(now.total_bytes.max(now.bytes)));
            format!("{bytes} of {}", format::bytes(now.total_bytes))
        }),
        of(|now| {
            let conversations = format::plural(now.conversations.into(), "conversation");
            format!("{conversations}, {}", format::plural(now.messages.into(), "message"))
        }),
    )
}

fn done(page: Page, report: &ImportReport) -> Node {
    let nothing = report.added == 0 && report.updated == 0 && report.unchanged == 0;
    let title = match (nothing, report.added + report.updated) {
        _ if report.stopped => "Import stopped",
        (true, _) => "Nothing was imported",
        (false, 0) => "Everything was here already",
        _ => "Imported",
    };
    let formats: Vec<&str> = report.formats.iter().map(|name| format::source(name)).collect();
    let formats = if formats.is_empty() { String::new() } else { format!("From {}. ", formats.join(", ")) };
    let further = if report.stopped { " Import the same files again to go on from here." } else { "" };
    let stored = format!("{formats}{} stored.{further}", format::plural(report.messages.into(), "message"));
    let advice = (nothing && report.skipped_count == 0 && !report.stopped).then(|| {
        markup!(
            r#"
            <p>No conversation was found in these files. {}</p>
            <p class="import-acts">
                <button type="button" class="quiet" onclick={}>How to get an export</button>
            </p>"#,
            threadkeep::Format::readable(),
            click(move || page.dialog.set(Some(Dialog::Help))),
        )
    });
    let first = report.transcripts.first().cloned().filter(|_| report.transcripts.len() > 1);
    let open = first.map(|first| {
        let name = page.threads.find(&first).map(|info| list::title(&info).to_owned()).unwrap_or_default();
        markup!(
            r#"<button type="button" class="quiet" title={} onclick={}>Open the first</button>"#,
            name,
            click(move || page.nav.go(Route::thread(first.clone()))),
        )
    });
    markup!(
        r#"
        <section class="import-card" role="status" data-testid="report">
            <header><h2>{}</h2>{}</header>
            <dl class="figures">
                <div><dd data-testid="report-added">{}</dd><dt>added</dt></div>
                <div><dd data-testid="report-updated">{}</dd><dt>updated</dt></div>
                <div><dd data-testid="report-unchanged">{}</dd><dt>unchanged</dt></div>
                <div><dd data-testid="report-skipped">{}</dd><dt>remarks</dt></div>
            </dl>
            <p>{}</p>
            {}
            {}
            <p class="import-acts">{}</p>
            {}
        </section>"#,
        title,
        close_card(page),
        format::count(report.added.into()),
        format::count(report.updated.into()),
        format::count(report.unchanged.into()),
        format::count(report.skipped_count.into()),
        stored,
        advice,
        (!report.skipped.is_empty()).then(|| remarks(report)),
        open,
        if report.messages > 0 { storage::ask_once(page) } else { Slot::Nothing },
    )
}

fn remarks(report: &ImportReport) -> Node {
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
    let row = |Skipped { place, reason, code, salvaged }: &Skipped| {
        markup!(
            r#"
            <li data-code={}>
                <p class="place" dir="auto">{}</p>
                <p><span class="kind" class:kept={}>{}</span> {}</p>
            </li>"#,
            code.clone(),
            place.clone(),
            *salvaged,
            if *salvaged { "Came in, with something missing:" } else { "Left out:" },
            reason.clone(),
        )
    };
    markup!(
        r#"
        <details class="remarks" data-testid="report-remarks">
            <summary>{}</summary>
            <ul>{}</ul>
            {}
        </details>"#,
        words,
        report.skipped.iter().map(row).collect::<Vec<_>>(),
        (more > 0).then(|| markup!("<p>{}</p>", format!("and {} more", format::count(more)))),
    )
}
