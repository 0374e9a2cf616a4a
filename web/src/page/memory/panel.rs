//! What the panel of the memory knows, and what it asks the engine.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::page::state::Page;
use crate::wire::{Ask, Memory, Recall, Reply};
use crate::words;

#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub(super) page: Page,
    pub(super) all: RwSignal<Option<Arc<Vec<Memory>>>>,
    pub(super) failed: RwSignal<Option<String>>,
    /// The record that is being edited.
    pub(super) editing: RwSignal<Option<String>>,
    /// Words for what was done last, and what takes it back.
    pub(super) undo: RwSignal<Option<(String, Recall)>>,
    /// Whether only what came from the open thread is shown.
    pub(super) here: RwSignal<bool>,
    /// The same, as it was when that began.
    pub(super) edited: StoredValue<Option<Memory>>,
    /// What the record that is being edited says meanwhile.
    pub(super) overtaken: RwSignal<Option<String>>,
}

/// A row of a list.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) one: Memory,
    pub(super) editing: bool,
}

impl Panel {
    /// With nothing read yet.
    pub(super) fn new(page: Page) -> Self {
        Self {
            page,
            all: RwSignal::new(None),
            failed: RwSignal::new(None),
            editing: RwSignal::new(None),
            undo: RwSignal::new(None),
            here: RwSignal::new(false),
            edited: StoredValue::new(None),
            overtaken: RwSignal::new(None),
        }
    }

    /// Reads all that is remembered.
    pub(super) fn read(self) {
        spawn_local(async move {
            // Who has closed the panel meanwhile needs no answer.
            match self.page.engine.ask(Ask::Recall(Box::new(Recall::List))).await {
                Ok(Reply::Memories(all)) => {
                    self.overtaken(&all);
                    drop(self.all.try_set(Some(Arc::new(all))));
                }
                Ok(_) => {}
                Err(error) => drop(self.failed.try_set(Some(words::words(&error).title))),
            }
        });
    }

    /// Another tab may be as quick: one sees what it has written before one saves over it.
    fn overtaken(self, all: &[Memory]) {
        let Some(was) = self.edited.try_get_value().flatten() else { return };
        if let Some(words) = overtaken(&was, all) {
            drop(self.overtaken.try_set(Some(words)));
        }
    }

    /// Changes the memory, and reads it again.
    pub(super) fn act(self, asked: Recall) {
        spawn_local(async move {
            match self.page.engine.ask(Ask::Recall(Box::new(asked))).await {
                Ok(_) => drop(self.editing.try_set(None)),
                Err(error) => {
                    drop(self.undo.try_set(None));
                    self.page.notices.fail(&error);
                }
            }
            // Its own change comes as an event a moment later; a failure may mean that what is shown is old.
            self.read();
        });
    }

    /// The records to show, of one kind; tracks.
    pub(super) fn shown(self, episodes: bool) -> Vec<Memory> {
        let thread = if self.here.get() { self.page.nav.route().transcript } else { None };
        let fits = |one: &&Memory| one.episode == episodes && (thread.is_none() || one.transcript == thread);
        self.all.with(|all| all.iter().flat_map(|all| all.iter()).filter(fits).cloned().collect())
    }

    /// The records to show, of one kind, each with its key; tracks.
    pub(super) fn rows(self, episodes: bool) -> Vec<Row> {
        let editing = self.editing.get();
        let row = |one: Memory| {
            let editing = editing.as_ref() == Some(&one.id);
            Row { key: key(&one, editing), one, editing }
        };
        self.shown(episodes).into_iter().map(row).collect()
    }

    /// Deletes a record, and offers to bring it back.
    pub(super) fn forget(self, id: String) {
        let all = self.all.get_untracked();
        let one = all.iter().flat_map(|all| all.iter()).find(|one| one.id == id);
        self.undo.set(one.map(|one| (format!("Deleted: {}", one.text), Recall::Unforget)));
        self.act(Recall::Forget(id));
    }

    /// Says how memories come about, where there are none, or what failed.
    pub(super) fn note(self) -> Option<&'static str> {
        if self.failed.with(Option::is_some) {
            return Some("The memory could not be read. Close this and try again.");
        }
        if self.all.with(Option::is_none) {
            return Some("Reading…");
        }
        let none = self.shown(true).is_empty() && self.shown(false).is_empty();
        none.then_some(if self.here.get() {
            "Nothing is remembered of this thread yet. Compact it, and what happened and what was decided is kept here."
        } else {
            "Nothing is remembered yet. When a thread is compacted, what happened in it becomes an episode, and preferences, decisions and constraints become facts, each with the messages that it came from. You can also write a fact down yourself."
        })
    }
}

/// What the panel says where another has changed a record since `was`; `None` where none has.
fn overtaken(was: &Memory, all: &[Memory]) -> Option<String> {
    let now = all.iter().find(|one| one.id == was.id)?;
    let tags = if now.tags.is_empty() { String::new() } else { format!(" ({})", now.tags.join(", ")) };
    let other = (&now.text, &now.tags) != (&was.text, &was.tags);
    other.then(|| format!("Changed meanwhile, perhaps in another tab. It now says: “{}”{tags}", now.text))
}

/// A row's key: all that the row shows.
fn key(one: &Memory, editing: bool) -> String {
    if editing {
        // What is being typed stays, whatever happens to the record meanwhile.
        return format!("editing {}", one.id);
    }
    format!("{} {} {} {:?} {}", one.id, one.pinned, one.superseded, one.tags, one.text)
}
