//! What the page knows, one small struct of signals for each domain: the threads, what runs in the background, what is
//! said to the reader, which dialog is open. Components read the signals; everything that changes them is here.

mod imports;
mod notices;
mod threads;

use leptos::prelude::*;
use threadkeep_core::{MessageId, TranscriptId};

use super::dom;
use super::engine::Engine;
use super::inspector::Inspector;
use super::keys::Connections;
use super::nav::Nav;
use super::sides::Sides;
use super::talk::Talking;
use crate::beside::Side;
use crate::wire::ThreadInfo;

pub use imports::Imports;
pub use notices::{Notice, Notices};
pub use threads::Threads;

/// Where this browser remembers that details of messages are shown.
const DETAILS: &str = "threadkeep.details";

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
    /// A thread to be shared.
    Share(Box<ThreadInfo>),
    /// What is remembered, at one record where its id is given.
    Memory(Option<String>),
    /// Models that one can talk to.
    Connections,
    /// Storage and privacy.
    Storage,
    /// Sync with other devices.
    Sync,
    /// Where to?
    Palette,
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
    /// What stands beside the thread.
    pub sides: Sides,
    /// Whether each message says how deep in its reply chain it is, in which turn, and its id.
    pub details: RwSignal<bool>,
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
    /// The request that the list of requests is to show, until it does.
    pub request: RwSignal<Option<String>>,
}

impl Page {
    /// Starts everything.
    pub fn start() -> Self {
        let engine = Engine::start();
        let resized = RwSignal::new(0);
        let sides = Sides::start(resized);
        let leaf = RwSignal::new(None);
        let connections = Connections::start();
        let inspector = Inspector::new(engine, leaf, sides, connections);
        Self {
            engine,
            nav: Nav::start(),
            threads: Threads::new(engine),
            notices: Notices::new(),
            imports: Imports::new(),
            dialog: RwSignal::new(None),
            sides,
            details: RwSignal::new(dom::remembered(DETAILS).is_some()),
            inspector,
            connections,
            talking: Talking::start(engine, connections, inspector),
            target: RwSignal::new(None),
            resized,
            tree: RwSignal::new(0),
            thread: RwSignal::new(None),
            leaf,
            grown_from: StoredValue::new(None),
            focused: RwSignal::new(None),
            memories: RwSignal::new(0),
            card: RwSignal::new(None),
            request: RwSignal::new(None),
        }
    }

    /// Whether what the address names is still on its way to the screen; tracks.
    pub fn is_reading(self) -> bool {
        let route = self.nav.route();
        let other = |leaf| self.leaf.with(|shown| shown.as_ref() != Some(leaf));
        route.transcript != self.thread.get() || route.leaf.as_ref().is_some_and(other)
    }

    /// Shows or hides the details of each message, and remembers that.
    pub fn turn_details(self) {
        let shown = !self.details.get_untracked();
        if shown {
            dom::remember(DETAILS, "shown")
        } else {
            dom::forget(DETAILS)
        }
        self.details.set(shown);
    }

    /// Shows a request in the list beside the thread.
    pub fn show_request(self, id: String) {
        self.request.set(Some(id));
        self.sides.show(Side::Requests);
    }

    /// Shows the epochs of the branch that is on the screen, beginning with a checkpoint's.
    pub fn show_epochs(self, checkpoint: Option<String>) {
        if let Some(leaf) = self.leaf.get_untracked() {
            self.dialog.set(Some(Dialog::Epochs { leaf, checkpoint }));
        }
    }
}
