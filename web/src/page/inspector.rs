//! The context inspector: what the reader asks about the open branch, and when. At most one question is under way; what is
//! set meanwhile is asked once it is answered, so that a slider never runs ahead of the engine. Its answers go to the
//! [pane] and, as marks, to the canvas.

mod pane;
mod show;

use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::{MessageId, TranscriptId};

use super::dom;
use super::engine::Engine;
use crate::inspect::{ENCODINGS, Marks, PROVIDERS, Settings, read_pins, write_pins};
use crate::wire::{Ask, Fitted, Inspect, Payload, Question, Reply};

pub use pane::pane;
pub use show::readable;

const OPEN: &str = "threadkeep.inspector";
const SETTINGS: &str = "threadkeep.inspector.settings";
/// Followed by the thread's id.
const PINS: &str = "threadkeep.pins.";

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
    pins: Vec<MessageId>,
    selected: Option<Selected>,
    /// The marks of the branch that was asked about.
    marks: Option<Arc<Marks>>,
    /// The place of a message that the thread is to show.
    wanted: Option<u32>,
    /// The tokens of the whole chain: the end of the slider.
    whole: u64,
    busy: bool,
    again: bool,
    /// Counts what was asked, so that the payload is fetched when the reader has stopped dragging.
    asked: u32,
}

/// The inspector. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Inspector {
    engine: Engine,
    leaf: RwSignal<Option<MessageId>>,
    /// Whether it is shown beside the thread.
    pub open: RwSignal<bool>,
    /// Counts changes of the marks, and of what the thread is to show.
    pub changed: RwSignal<u32>,
    /// Counts changes of the pins.
    pub pinned: RwSignal<u32>,
    inner: StoredValue<Inner, LocalStorage>,
}

impl Inspector {
    /// An inspector of the branch that ends at `leaf`.
    pub fn new(engine: Engine, leaf: RwSignal<Option<MessageId>>) -> Self {
        let inner = Inner {
            settings: Settings::read(&dom::remembered(SETTINGS).unwrap_or_default()),
            pins: Vec::new(),
            selected: None,
            marks: None,
            wanted: None,
            whole: 0,
            busy: false,
            again: false,
            asked: 0,
        };
        Self {
            engine,
            leaf,
            open: RwSignal::new(dom::remembered(OPEN).as_deref() == Some("open")),
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

    /// Shows or hides it, and remembers that.
    pub fn show(self, open: bool) {
        self.open.set(open);
        dom::remember(OPEN, if open { "open" } else { "closed" });
        if !open {
            self.mark(None);
        }
    }

    fn set(self, settings: Settings) {
        self.with(|inner| inner.settings = settings);
        dom::remember(SETTINGS, &settings.write());
        self.ask();
    }

    /// Reads the pins of a thread.
    fn read_pins(self, thread: &TranscriptId) {
        let pins = kept_pins(thread);
        self.with(|inner| inner.pins = pins);
    }

    fn keep_pins(self, thread: &TranscriptId, pins: Vec<MessageId>) {
        let key = [PINS, thread.as_str()].concat();
        if pins.is_empty() {
            dom::forget(&key)
        } else {
            dom::remember(&key, &write_pins(&pins))
        }
        self.with(|inner| inner.pins = pins);
        self.pinned.update(|times| *times += 1);
        self.ask();
    }

    /// Pins the selected message, or unpins it.
    pub fn pin(self, thread: &TranscriptId) {
        let Some(selected) = self.selected() else { return };
        let mut pins = self.with(|inner| inner.pins.clone());
        match pins.iter().position(|pin| *pin == selected.node) {
            Some(at) => drop(pins.remove(at)),
            None => pins.push(selected.node),
        }
        self.keep_pins(thread, pins);
    }

    /// Asks the engine about what is set now; soon, where an answer is still on its way.
    pub fn ask(self) {
        self.with(|inner| inner.asked = inner.asked.wrapping_add(1));
        if !self.open.get_untracked() {
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

    fn question(self) -> Option<Question> {
        let leaf = self.leaf.get_untracked()?;
        self.with(|inner| {
            let selected = inner.selected.as_ref().map(|selected| selected.places.0);
            Some(Question { leaf, settings: inner.settings, pins: inner.pins.clone(), selected, epoch: None })
        })
    }

    /// A question about another chain, with what the reader has set, and that in words.
    pub fn question_about(self, leaf: MessageId, thread: &TranscriptId) -> (Question, String) {
        let (settings, pins) = (self.with(|inner| inner.settings), kept_pins(thread));
        let name = |list: &[(&str, &'static str)], at: u32| list.get(at as usize).map_or("", |(_, words)| *words);
        let budget = match settings.tokens() {
            Some(tokens) => format!("at most {}", crate::format::plural(tokens, "token")),
            None => "no limit of tokens".to_owned(),
        };
        let words = [name(&PROVIDERS, settings.provider()), name(&ENCODINGS, settings.encoding()), &budget].join(", ");
        (Question { leaf, settings, pins, selected: None, epoch: None }, words)
    }

    async fn step(self) {
        let Some(question) = self.question() else { return self.mark(None) };
        let settings = question.settings;
        match self.engine.ask(Ask::Inspect(Inspect::Fit(Box::new(question)))).await {
            Ok(Reply::Fitted(fitted)) => self.take(&fitted, &settings),
            Ok(_) => {}
            Err(error) => {
                if error.code == "vocabulary-missing" && self.load(settings.encoding()).await {
                    self.with(|inner| inner.again = true);
                } else if error.code != "vocabulary-missing" {
                    self.fail(&error);
                }
            }
        }
    }

    fn take(self, fitted: &Fitted, settings: &Settings) {
        if !self.open.get_untracked() {
            return;
        }
        self.with(|inner| inner.whole = fitted.whole);
        let marks = Arc::new(Marks::new(fitted));
        self.draw(fitted, settings, &marks);
        // The canvas marks what is on the screen.
        self.mark(Some(marks));
        self.refresh_payload();
    }

    /// Loads a vocabulary, and says so meanwhile. Says whether it is there now.
    async fn load(self, encoding: u32) -> bool {
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
        let words = crate::words::words(error);
        self.say(&[&words.title, ". ", &words.advice].concat(), true);
        self.mark(None);
    }

    /// The payload for what is set now.
    async fn payload(self) -> Result<Payload, ErrorReply> {
        let Some(question) = self.question() else { return Ok(Payload::default()) };
        match self.engine.ask(Ask::Inspect(Inspect::Payload(Box::new(question)))).await? {
            Reply::Payload(payload) => Ok(payload),
            _ => Ok(Payload::default()),
        }
    }

    /// Shows the payload, where it is open, when nothing more was asked for a moment.
    fn refresh_payload(self) {
        if dom::find("[data-testid=payload][open]").is_none() {
            return;
        }
        let number = self.with(|inner| inner.asked);
        let later = move || {
            if self.with(|inner| inner.asked) == number {
                spawn_local(async move {
                    let payload = self.payload().await;
                    if self.with(|inner| inner.asked) == number {
                        self.draw_payload(payload);
                    }
                });
            }
        };
        set_timeout(later, Duration::from_millis(250));
    }
}

/// What is set in the inspector.
pub fn kept_settings() -> Settings {
    Settings::read(&dom::remembered(SETTINGS).unwrap_or_default())
}

/// The pins of a thread.
pub fn kept_pins(thread: &TranscriptId) -> Vec<MessageId> {
    read_pins(&dom::remembered(&[PINS, thread.as_str()].concat()).unwrap_or_default())
}

/// Lets go of the pins of a thread that was deleted.
pub fn forget_pins(thread: &TranscriptId) {
    dom::forget(&[PINS, thread.as_str()].concat());
}

/// Lets go of all pins.
pub fn forget_all_pins() {
    dom::forget_all(PINS);
}
