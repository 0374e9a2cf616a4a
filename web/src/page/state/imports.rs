//! Imports and exports: files that go into the engine and come out of it.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::{ErrorReply, ImportProgress, ImportReport};
use web_sys::File;

use super::Page;
use crate::page::dom;
use crate::page::engine::State;
use crate::route::Route;
use crate::wire::ThreadInfo;

/// The import that runs, and the report of the last.
#[derive(Clone, Copy)]
pub struct Imports {
    /// How far the running one is.
    pub progress: RwSignal<Option<ImportProgress>>,
    /// What the last one did.
    pub report: RwSignal<Option<Arc<ImportReport>>>,
    /// Why the last one failed.
    pub failure: RwSignal<Option<ErrorReply>>,
    /// Files that came before the engine was ready, or while others were read. Each has its path in its folder, or nothing.
    waiting: StoredValue<Vec<(File, String)>, LocalStorage>,
}

impl Imports {
    pub(super) fn new() -> Self {
        Self {
            progress: RwSignal::new(None),
            report: RwSignal::new(None),
            failure: RwSignal::new(None),
            waiting: StoredValue::new_local(Vec::new()),
        }
    }
}

impl Page {
    /// Imports files, and opens the thread if there is just one. Files that come too early wait for their turn.
    pub fn import(self, files: Vec<(File, String)>) {
        if files.is_empty() {
            return;
        }
        let Imports { progress, report, failure, waiting } = self.imports;
        let running = progress.with_untracked(Option::is_some);
        if running || !matches!(self.engine.state.get_untracked(), State::Open { .. }) {
            waiting.update_value(|waiting| waiting.extend(files));
            let why = if running {
                "They are imported after those before them."
            } else {
                "They are imported once the store is open."
            };
            return self.notices.say("Your files wait", why);
        }
        report.set(None);
        failure.set(None);
        let total_bytes = files.iter().map(|(file, _)| file.size() as u64).sum();
        progress.set(Some(ImportProgress { total_bytes, ..ImportProgress::default() }));
        spawn_local(async move {
            let tell = move |now: ImportProgress| {
                progress.set(Some(ImportProgress { total_bytes: now.total_bytes.max(total_bytes), ..now }));
            };
            let result = self.engine.import(files, Box::new(tell)).await;
            progress.set(None);
            self.threads.refresh().await;
            match result {
                Ok(done) => {
                    if let [only] = &done.transcripts[..] {
                        self.nav.go(Route::thread(only.clone()));
                    }
                    report.set(Some(Arc::new(done)));
                }
                Err(error) => failure.set(Some(error)),
            }
            self.import_waiting();
        });
    }

    /// Imports the files that have waited.
    pub fn import_waiting(self) {
        let files = self.imports.waiting.try_update_value(std::mem::take).unwrap_or_default();
        self.import(files);
    }

    /// [Exports](Self::export), for a button.
    pub fn export_soon(self, transcript: Option<ThreadInfo>) {
        spawn_local(async move {
            self.export(transcript).await;
        });
    }

    /// Offers the export of one thread, or of all, for saving. Says whether there was one.
    pub async fn export(self, transcript: Option<ThreadInfo>) -> bool {
        let name = match &transcript {
            Some(info) => format!("{}.threadkeep.jsonl", crate::format::file_name(crate::list::title(info))),
            None => "threads.threadkeep.jsonl".to_owned(),
        };
        match self.engine.export(transcript.map(|info| info.id), None).await {
            Ok((blob, _)) => {
                dom::save(&blob, &name);
                let size = crate::format::bytes(blob.size() as u64);
                self.notices.say("Exported", &format!("{name}, {size}. Drop it onto this page to restore it."));
                true
            }
            Err(error) => {
                self.notices.fail(&error);
                false
            }
        }
    }
}
