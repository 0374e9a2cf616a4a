//! The threads as the list shows them, with their counts, their order and the note of a loss.

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::Stats;
use threadkeep_core::TranscriptId;

use crate::list::{Filter, Sort};
use crate::page::dom;
use crate::page::engine::{Engine, State};
use crate::sentinel::{self, Sentinel};
use crate::wire::{Ask, Reply, ThreadInfo};

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
    /// What kind of threads is listed.
    pub filter: RwSignal<Filter>,
    /// The order.
    pub sort: RwSignal<Sort>,
    /// What was lost since the last visit.
    pub lost: RwSignal<Option<Sentinel>>,
    due: StoredValue<bool>,
    checked: StoredValue<bool>,
}

impl Threads {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            all: RwSignal::new(None),
            stats: RwSignal::new(None),
            query: RwSignal::new(String::new()),
            filter: RwSignal::new(Filter::default()),
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
