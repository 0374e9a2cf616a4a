//! Files that a browser hands over: picked, dropped, of a folder, or opened by another program with this page.

use js_sys::{Array, Function, Promise};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    DataTransfer, DragEvent, File, FileList, FileSystemDirectoryEntry, FileSystemEntry, FileSystemFileEntry,
};

use crate::page::state::Page;

/// Folders deeper than this are not entered.
const DEEPEST: usize = 12;
/// More files than this are not taken at once.
const MOST: usize = 20_000;

/// Files of a picker, each with its path in the folder that was picked, or nothing.
pub(super) fn listed(files: Option<FileList>) -> Vec<(File, String)> {
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

/// Imports what a drop brings.
pub(super) fn dropped(page: Page, transfer: &DataTransfer) {
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
pub(super) fn take_files(page: Page) {
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
pub(super) fn carried(event: &DragEvent) -> Option<DataTransfer> {
    let files =
        |transfer: &DataTransfer| transfer.types().iter().any(|kind| kind.as_string().as_deref() == Some("Files"));
    event.data_transfer().filter(files)
}
