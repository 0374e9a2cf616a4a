//! The context inspector: what the reader asks about the open branch, and when. At most one question is under way; what is
//! set meanwhile is asked once it is answered, so that a slider never runs ahead of the engine. Its answers go to the
//! [pane] and, as marks, to the canvas.

mod controls;
mod gauge;
mod pane;
mod payload;
mod show;
mod stored;

use std::rc::Rc;
use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::{BUILT_IN, ErrorReply};
use threadkeep_core::{MessageId, TranscriptId};
use tokio::sync::Mutex;

use super::dom;
use super::engine::Engine;
use super::keys::Connections;
use super::sides::Sides;
use crate::along::along;
use crate::beside::Side;
use crate::inspect::{ENCODINGS, Instructions, Marks, PROVIDERS, Settings};
use crate::wire::{Ask, Fitted, Inspect, Question, Reply, Talk};

pub use pane::Pane;
pub use show::readable;

/// Where pins were before logs had them, followed by the thread's id; they move over.
const OLD_PINS: &str = "threadkeep.pins.";

/// The message that the reader has selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// Its node.
    pub node: MessageId,
    /// The places of the node's messages in the chain: the first, and the one after the last.
    pub places: (u32, u32),
    /// Who it is from, and its first words.
    pub words: String,
}

/// What the inspector holds. One struct and one signal: each type in a signal of its own is a kilobyte of the page.
struct Inner {
    settings: Settings,
    /// Whether the stored settings were read.
    loaded: bool,
    /// Whether the settings are unfolded, also when the pane is drawn anew.
    unfolded: bool,
    /// Whether settings are not stored yet.
    unsaved: bool,
    /// What is stored, and what was before it since the page was opened, the newest last.
    stored: Settings,
    earlier: Vec<Settings>,
    /// Instructions that are not stored yet.
    instructions: Option<Instructions>,
    /// Held while something is stored or read, so that what is sent next comes after it.
    saving: Arc<Mutex<()>>,
    /// The pinned nodes of the branch.
    pins: Vec<MessageId>,
    /// What is to be pinned (`true`) or unpinned.
    pinning: Vec<(MessageId, bool)>,
    /// Pins of the open thread as an older version of the page kept them.
    old_pins: String,
    selected: Option<Selected>,
    /// The marks of the branch that was asked about.
    marks: Option<Arc<Marks>>,
    /// The place of a message that the thread is to show.
    wanted: Option<u32>,
    /// The tokens of the whole chain: the end of the slider.
    whole: u64,
    busy: bool,
    again: bool,
    /// Counts what was asked, so that settings are stored when the reader has stopped dragging.
    asked: u32,
    /// Counts reasons to show the payload anew, so that it is fetched when there were none for a moment.
    payloads: u32,
    /// The question for the request that Send would send, if it would send one.
    next: Option<Rc<dyn Fn() -> Option<Talk>>>,
}

/// The inspector. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Inspector {
    engine: Engine,
    leaf: RwSignal<Option<MessageId>>,
    sides: Sides,
    connections: Connections,
    /// Counts changes of the marks, and of what the thread is to show.
    pub changed: RwSignal<u32>,
    /// Counts changes of the pins.
    pub pinned: RwSignal<u32>,
    inner: StoredValue<Inner, LocalStorage>,
}

impl Inspector {
    /// An inspector of the branch that ends at `leaf`.
    pub fn new(engine: Engine, leaf: RwSignal<Option<MessageId>>, sides: Sides, connections: Connections) -> Self {
        let inner = Inner {
            settings: Settings::default(),
            loaded: false,
            unfolded: false,
            unsaved: false,
            stored: Settings::default(),
            earlier: Vec::new(),
            instructions: None,
            saving: Arc::default(),
            pins: Vec::new(),
            pinning: Vec::new(),
            old_pins: String::new(),
            selected: None,
            marks: None,
            wanted: None,
            whole: 0,
            busy: false,
            again: false,
            asked: 0,
            payloads: 0,
            next: None,
        };
        Self {
            engine,
            leaf,
            sides,
            connections,
            changed: RwSignal::new(0),
            pinned: RwSignal::new(0),
            inner: StoredValue::new_local(inner),
        }
    }

    /// Reads or changes what it holds.
    fn with<T: Default>(self, act: impl FnOnce(&mut Inner) -> T) -> T {
        let mut result = T::default();
        self.inner.update_value(|inner| result = act(inner));
        result
    }

    /// The marks to show in the thread.
    pub fn marks(self) -> Option<Arc<Marks>> {
        self.with(|inner| inner.marks.clone())
    }

    fn mark(self, marks: Option<Arc<Marks>>) {
        self.with(|inner| inner.marks = marks);
        self.changed.update(|times| *times += 1);
    }

    /// The place that the thread is to show, once.
    pub fn wanted(self) -> Option<u32> {
        self.with(|inner| inner.wanted.take())
    }

    /// Asks the thread to show where the kept part begins.
    fn show_cut(self) {
        self.with(|inner| inner.wanted = inner.marks.as_ref().and_then(|marks| marks.cut()));
        self.changed.update(|times| *times += 1);
    }

    /// The selected message.
    pub fn selected(self) -> Option<Selected> {
        self.with(|inner| inner.selected.clone())
    }

    /// Selects a message, or none.
    pub fn select(self, selected: Option<Selected>) {
        self.with(|inner| inner.selected = selected);
        self.ask();
    }

    /// Whether it is shown beside the thread.
    fn is_open(self) -> bool {
        untrack(|| self.sides.shows(Side::Context))
    }

    /// It is no longer shown: its marks leave the thread.
    fn closed(self) {
        self.mark(None);
    }

    /// What the reader has set, as far as it was read.
    fn settings(self) -> Settings {
        self.with(|inner| inner.settings)
    }

    /// Moves the pins of a thread that this browser has into its log.
    fn move_pins(self, thread: &TranscriptId) {
        let key = [OLD_PINS, thread.as_str()].concat();
        self.with(|inner| inner.old_pins = dom::remembered(&key).unwrap_or_default());
        dom::forget(&key);
    }

    /// Pins the selected message, or unpins it.
    pub fn pin(self) {
        let Some(Selected { node, .. }) = self.selected() else { return };
        let pinned = !self.with(|inner| inner.pins.contains(&node));
        self.pin_all(vec![node], pinned);
    }

    /// Pins a message or removes its pin, whether the inspector is shown or not.
    pub async fn pin_at_once(self, node: MessageId, pinned: bool) -> Result<(), ErrorReply> {
        self.send_pins(vec![(node, pinned)], String::new()).await?;
        self.ask();
        Ok(())
    }

    /// Removes all pins of the branch. Gives the nodes that had one.
    fn unpin(self) -> Vec<MessageId> {
        let pinned = self.with(|inner| inner.pins.clone());
        self.pin_all(pinned.clone(), false);
        pinned
    }

    fn pin_all(self, nodes: Vec<MessageId>, pinned: bool) {
        self.with(|inner| inner.pinning.extend(nodes.into_iter().map(|node| (node, pinned))));
        self.ask();
    }

    /// Stores what the reader has pinned and unpinned since the last question.
    async fn store_pins(self) {
        let (nodes, old) = self.with(|inner| (std::mem::take(&mut inner.pinning), std::mem::take(&mut inner.old_pins)));
        if nodes.is_empty() && old.is_empty() {
            return;
        }
        if let Err(error) = self.send_pins(nodes, old).await {
            self.fail(&error);
        }
    }

    async fn send_pins(self, nodes: Vec<(MessageId, bool)>, old: String) -> Result<(), ErrorReply> {
        let sent = self.engine.ask(Ask::Inspect(Inspect::Pin { nodes, old })).await;
        // What failed may have been stored in part.
        self.pinned.update(|times| *times += 1);
        sent.map(drop)
    }

    /// Asks the engine about what is set now; soon, where an answer is still on its way.
    pub fn ask(self) {
        self.with(|inner| inner.asked = inner.asked.wrapping_add(1));
        if !self.is_open() {
            return;
        }
        if self.with(|inner| inner.busy) {
            return self.with(|inner| inner.again = true);
        }
        self.busy_now(true);
        spawn_local(async move {
            loop {
                self.with(|inner| inner.again = false);
                self.step().await;
                if !self.with(|inner| inner.again) {
                    break;
                }
            }
            self.busy_now(false);
        });
    }

    /// The built-in tools that the model in use is offered.
    pub fn tools(self) -> Vec<String> {
        let in_use = untrack(|| self.connections.in_use());
        in_use.map(|connection| connection.tools.of(&BUILT_IN)).unwrap_or_default()
    }

    /// What comes along in the next request of the branch, as Context counts it; `None` where it cannot be counted.
    pub async fn along(self) -> Option<Vec<String>> {
        self.ready().await;
        let leaf = self.leaf.get_untracked()?;
        for _ in 0..2 {
            let (question, _) = self.question_about(leaf.clone());
            let settings = question.settings;
            match self.engine.ask(Ask::Inspect(Inspect::Fit(Box::new(question)))).await {
                Ok(Reply::Fitted(fitted)) => return Some(along(&fitted, &settings)),
                Err(error) if error.code == "vocabulary-missing" => {
                    self.engine.ask(Ask::Inspect(Inspect::Vocabulary(settings.encoding()))).await.ok()?;
                }
                _ => return None,
            }
        }
        None
    }

    fn question(self) -> Option<Question> {
        let leaf = self.leaf.get_untracked()?;
        let tools = self.tools();
        self.with(|inner| {
            let selected = inner.selected.as_ref().map(|selected| selected.places.0);
            Some(Question { leaf, settings: inner.settings, selected, epoch: None, tools })
        })
    }

    /// A question about another chain, with what the reader has set, and that in words.
    pub fn question_about(self, leaf: MessageId) -> (Question, String) {
        let settings = self.settings();
        let name = |list: &[(&str, &'static str)], at: u32| list.get(at as usize).map_or("", |(_, words)| *words);
        let budget = match settings.tokens() {
            Some(tokens) => format!("at most {}", crate::format::plural(tokens, "token")),
            None => "no limit of tokens".to_owned(),
        };
        let words = [name(&PROVIDERS, settings.provider()), name(&ENCODINGS, settings.encoding()), &budget].join(", ");
        (Question { leaf, settings, selected: None, epoch: None, tools: self.tools() }, words)
    }

    async fn step(self) {
        self.ready().await;
        self.store_pins().await;
        let Some(question) = self.question() else { return self.mark(None) };
        let settings = question.settings;
        match self.engine.ask(Ask::Inspect(Inspect::Fit(Box::new(question)))).await {
            Ok(Reply::Fitted(fitted)) => self.take(&fitted, &settings),
            Ok(_) => {}
            Err(error) => {
                if error.code == "vocabulary-missing" && self.fetch(settings.encoding()).await {
                    self.with(|inner| inner.again = true);
                } else if error.code != "vocabulary-missing" {
                    self.fail(&error);
                }
            }
        }
    }

    fn take(self, fitted: &Fitted, settings: &Settings) {
        if !self.is_open() {
            return;
        }
        self.with(|inner| {
            inner.whole = fitted.whole;
            inner.pins.clone_from(&fitted.pins);
        });
        let marks = Arc::new(Marks::new(fitted));
        self.draw(fitted, settings, &marks);
        // The canvas marks what is on the screen.
        self.mark(Some(marks));
        self.refresh_payload();
    }

    /// Loads a vocabulary, and says so meanwhile. Says whether it is there now.
    async fn fetch(self, encoding: u32) -> bool {
        let name = ENCODINGS.get(encoding as usize).map_or("", |(name, _)| name);
        self.say(&["Loading the vocabulary ", name, "…"].concat(), false);
        match self.engine.ask(Ask::Inspect(Inspect::Vocabulary(encoding))).await {
            Ok(_) => {
                self.say("", false);
                true
            }
            Err(error) => {
                let words = "could not be loaded. Without it, tokens can only be estimated.";
                self.say(&["The vocabulary ", name, " ", words, " (", &error.message, ")"].concat(), true);
                self.mark(None);
                false
            }
        }
    }

    fn fail(self, error: &ErrorReply) {
        self.say(&crate::words::words(error).line(), true);
        self.mark(None);
    }
}

/// Lets go of the pins that an older version of the page kept in this browser: those of a thread that was deleted, or all for no name.
pub fn forget_pins(thread: &str) {
    dom::forget_all(&[OLD_PINS, thread].concat());
}
