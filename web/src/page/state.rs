//! What the page knows, one small struct of signals for each domain: the threads, what runs in the background, what is
//! said to the reader, which dialog is open. Components read the signals; everything that changes them is here.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::{ErrorReply, ImportProgress, ImportReport, Stats};
use threadkeep_core::{MessageId, TranscriptId};
use web_sys::File;

use super::dom;
use super::engine::{Engine, State};
use super::inspector::Inspector;
use super::keys::Connections;
use super::nav::Nav;
use super::talk::Talking;
use crate::list::Sort;
use crate::route::Route;
use crate::sentinel::{self, Sentinel};
use crate::wire::{Ask, Reply, ThreadInfo};
use crate::words::{self, Words};

/// Where the loss of the database is noticed, beside it.
const SENTINEL: &str = "threadkeep.sentinel";
const SORT: &str = "threadkeep.sort";

/// The threads: what the list shows, and counts.
#[derive(Clone, Copy)]
pub struct Threads {
    engine: Engine,
    /// All of them, newest first; none while they have not been read.
    pub all: RwSignal<Option<Arc<Vec<ThreadInfo>>>>,
    /// Counts and sizes.
    pub stats: RwSignal<Option<Stats>>,
    /// What the filter says.
    pub query: RwSignal<String>,
    /// The order.
    pub sort: RwSignal<Sort>,
    /// What was lost since the last visit.
    pub lost: RwSignal<Option<Sentinel>>,
    due: StoredValue<bool>,
    checked: StoredValue<bool>,
}

impl Threads {
    fn new(engine: Engine) -> Self {
        Self {
            engine,
            all: RwSignal::new(None),
            stats: RwSignal::new(None),
            query: RwSignal::new(String::new()),
            sort: RwSignal::new(Sort::of(&dom::remembered(SORT).unwrap_or_default())),
            lost: RwSignal::new(None),
            due: StoredValue::new(false),
            checked: StoredValue::new(false),
        }
    }

    /// Chooses the order, and remembers it.
    pub fn order(self, sort: Sort) {
        dom::remember(SORT, sort.key());
        self.sort.set(sort);
    }

    /// A thread of the list; tracks.
    pub fn find(self, id: &TranscriptId) -> Option<ThreadInfo> {
        self.all.with(|all| all.as_ref()?.iter().find(|info| info.id == *id).cloned())
    }

    /// Whether there is not one thread; tracks.
    pub fn none(self) -> bool {
        self.all.with(|all| all.as_ref().is_some_and(|all| all.is_empty()))
    }

    /// Reads the list anew, soon: changes that come close together are read once.
    pub fn refresh_soon(self, wait: Duration) {
        if self.due.get_value() {
            return;
        }
        self.due.set_value(true);
        set_timeout(
            move || {
                self.due.set_value(false);
                spawn_local(self.refresh());
            },
            wait,
        );
    }

    /// Holds the next counts against the note of what was there: the store was opened, perhaps in place of one that is gone.
    pub fn check_again(self) {
        self.checked.set_value(false);
    }

    /// Reads the list and the counts.
    pub async fn refresh(self) {
        let list = self.engine.ask(Ask::Threads).await;
        let stats = self.engine.ask(Ask::Stats).await;
        if let Ok(Reply::Threads(list)) = list {
            self.all.set(Some(Arc::new(list)));
        }
        let Ok(Reply::Stats(stats)) = stats else { return };
        let memory = matches!(self.engine.state.get_untracked(), State::Open { memory: true });
        if !memory {
            if !self.checked.get_value() {
                self.checked.set_value(true);
                self.lost.set(sentinel::lost(dom::remembered(SENTINEL).as_deref(), &stats));
            }
            if stats.transcripts > 0 {
                self.lost.set(None);
            }
            // A loss stays on record until the reader has taken note of it.
            if self.lost.get_untracked().is_none() {
                dom::remember(SENTINEL, &Sentinel::of(&stats).write());
            }
        }
        self.stats.set(Some(stats));
    }

    /// The reader has taken note of the loss.
    pub fn accept_loss(self) {
        self.lost.set(None);
        dom::remember(SENTINEL, &Sentinel { transcripts: 0, messages: 0 }.write());
    }
}

/// What a notice offers to do.
#[derive(Clone)]
pub struct Act {
    /// The words of its button.
    pub label: &'static str,
    /// Does it.
    pub run: Arc<dyn Fn() + Send + Sync>,
}

/// Something said to the reader.
#[derive(Clone)]
pub struct Notice {
    /// Its number.
    pub number: u32,
    /// Whether it is about a failure.
    pub bad: bool,
    /// What it says first.
    pub title: String,
    /// What it says then.
    pub text: String,
    /// What it offers to do.
    pub act: Option<Act>,
}

/// What is said to the reader.
#[derive(Clone, Copy)]
pub struct Notices {
    /// The newest last.
    pub list: RwSignal<Vec<Notice>>,
    next: StoredValue<u32>,
}

impl Notices {
    fn new() -> Self {
        Self { list: RwSignal::new(Vec::new()), next: StoredValue::new(0) }
    }

    fn add(self, bad: bool, title: &str, text: &str, act: Option<Act>, seconds: u64) {
        let number = self.next.get_value();
        self.next.set_value(number + 1);
        let notice = Notice { number, bad, title: title.to_owned(), text: text.to_owned(), act };
        self.list.update(|list| {
            list.retain(|old| (&old.title, &old.text) != (&notice.title, &notice.text));
            list.push(notice);
            let many = list.len().saturating_sub(3);
            list.drain(..many);
        });
        set_timeout(move || self.close(number), Duration::from_secs(seconds));
    }

    /// Says something for a few seconds.
    pub fn say(self, title: &str, text: &str) {
        self.add(false, title, text, None, 6);
    }

    /// Says something for half a minute, and offers to do something about it.
    pub fn offer(self, title: &str, text: &str, label: &'static str, run: impl Fn() + Send + Sync + 'static) {
        self.add(false, title, text, Some(Act { label, run: Arc::new(run) }), 30);
    }

    /// Says what failed.
    pub fn fail(self, error: &ErrorReply) {
        let Words { title, advice, .. } = words::words(error);
        self.add(true, &title, &advice, None, 20);
    }

    /// Takes one away.
    pub fn close(self, number: u32) {
        self.list.update(|list| list.retain(|notice| notice.number != number));
    }
}

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

/// A dialog.
#[derive(Debug, Clone, PartialEq)]
pub enum Dialog {
    /// What was deleted of late.
    Bin,
    /// Delete everything?
    DeleteAll,
    /// Compact the branch that ends here?
    Compact(MessageId),
    /// The epochs of the branch that ends here.
    Epochs {
        /// The branch's end.
        leaf: MessageId,
        /// The checkpoint to begin with; the last one without it.
        checkpoint: Option<String>,
    },
    /// Two branches of a thread, side by side.
    Compare {
        /// The thread.
        transcript: TranscriptId,
        /// Their ends: of the one on the screen, and of the other.
        leaves: [MessageId; 2],
    },
    /// What is wrong with a branch.
    Check {
        /// Its thread.
        transcript: TranscriptId,
        /// Its end.
        leaf: MessageId,
    },
    /// What is remembered, at one record where its id is given.
    Memory(Option<String>),
    /// Models that one can talk to.
    Connections,
    /// Storage and privacy.
    Storage,
    /// Keys.
    Keys,
    /// How to get an export.
    Help,
}

/// Where the reader wants to say something, other than at the end of the branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The message: to reply to, or to say otherwise.
    pub node: MessageId,
    /// What is below which the words go, where the message is said otherwise.
    pub edit: Option<Option<MessageId>>,
    /// Its first words; the whole text of one that is said otherwise.
    pub words: String,
}

/// A line of a compaction card that is to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The card's checkpoint.
    pub card: String,
    /// Words that the line has; the card's first line is shown where none has them.
    pub words: Vec<String>,
}

/// Everything that components share.
#[derive(Clone, Copy)]
pub struct Page {
    /// The engine.
    pub engine: Engine,
    /// The address.
    pub nav: Nav,
    /// The threads.
    pub threads: Threads,
    /// What is said.
    pub notices: Notices,
    /// Imports.
    pub imports: Imports,
    /// The open dialog.
    pub dialog: RwSignal<Option<Dialog>>,
    /// Whether the map is shown beside the thread.
    pub map: RwSignal<bool>,
    /// The context inspector.
    pub inspector: Inspector,
    /// The models that one can talk to.
    pub connections: Connections,
    /// Talking to one of them.
    pub talking: Talking,
    /// Where the reader wants to say something.
    pub target: RwSignal<Option<Target>>,
    /// Counts changes of the window's size.
    pub resized: RwSignal<usize>,
    /// Counts changes to the open thread's tree.
    pub tree: RwSignal<usize>,
    /// The thread that is on the screen.
    pub thread: RwSignal<Option<TranscriptId>>,
    /// The end of the branch that is on the screen.
    pub leaf: RwSignal<Option<MessageId>>,
    /// Where that branch ended before it grew to its end.
    pub grown_from: StoredValue<Option<MessageId>>,
    /// The message in focus.
    pub focused: RwSignal<Option<MessageId>>,
    /// Counts changes of what is remembered.
    pub memories: RwSignal<usize>,
    /// The line of a card that the thread is to show, until it does.
    pub card: RwSignal<Option<Line>>,
}

const MAP: &str = "threadkeep.map";

impl Page {
    /// Starts everything.
    pub fn start() -> Self {
        let engine = Engine::start();
        let map = match dom::remembered(MAP).as_deref() {
            Some(kept) => kept == "open",
            None => window().inner_width().ok().and_then(|width| width.as_f64()).is_some_and(|width| width >= 1500.0),
        };
        let leaf = RwSignal::new(None);
        let connections = Connections::start();
        let inspector = Inspector::new(engine, leaf);
        Self {
            engine,
            nav: Nav::start(),
            threads: Threads::new(engine),
            notices: Notices::new(),
            imports: Imports {
                progress: RwSignal::new(None),
                report: RwSignal::new(None),
                failure: RwSignal::new(None),
                waiting: StoredValue::new_local(Vec::new()),
            },
            dialog: RwSignal::new(None),
            // One of both has the place beside the thread.
            map: RwSignal::new(map && !inspector.open.get_untracked()),
            inspector,
            connections,
            talking: Talking::start(engine, connections, inspector),
            target: RwSignal::new(None),
            resized: RwSignal::new(0),
            tree: RwSignal::new(0),
            thread: RwSignal::new(None),
            leaf,
            grown_from: StoredValue::new(None),
            focused: RwSignal::new(None),
            memories: RwSignal::new(0),
            card: RwSignal::new(None),
        }
    }

    /// Whether what the address names is still on its way to the screen; tracks.
    pub fn is_reading(self) -> bool {
        let route = self.nav.route();
        let other = |leaf| self.leaf.with(|shown| shown.as_ref() != Some(leaf));
        route.transcript != self.thread.get() || route.leaf.as_ref().is_some_and(other)
    }

    /// Shows or hides the map, and remembers it where there is room for both.
    pub fn show_map(self, open: bool) {
        self.map.set(open);
        dom::remember(MAP, if open { "open" } else { "closed" });
        if open {
            self.inspector.show(false);
        }
    }

    /// Shows or hides the context inspector, in the map's place.
    pub fn show_inspector(self, open: bool) {
        if open {
            self.show_map(false);
        }
        self.inspector.show(open);
    }

    /// Shows the epochs of the branch that is on the screen, beginning with a checkpoint's.
    pub fn show_epochs(self, checkpoint: Option<String>) {
        if let Some(leaf) = self.leaf.get_untracked() {
            self.dialog.set(Some(Dialog::Epochs { leaf, checkpoint }));
        }
    }

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
        match self.engine.export(transcript.map(|info| info.id)).await {
            Ok(blob) => {
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
