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
use crate::inspect::{ENCODINGS, Marks, Settings, read_pins, write_pins};
use crate::wire::{Ask, Fitted, Payload, Question, Reply};

pub use pane::pane;

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

/// The inspector. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Inspector {
    engine: Engine,
    leaf: RwSignal<Option<MessageId>>,
    /// Whether it is shown beside the thread.
    pub open: RwSignal<bool>,
    /// The marks of the branch that was asked about.
    pub marks: RwSignal<Option<Arc<Marks>>>,
    /// The selected message.
    pub selected: RwSignal<Option<Selected>>,
    /// The place of a message that the thread is to show.
    pub wanted: RwSignal<Option<u32>>,
    pins: RwSignal<Vec<MessageId>>,
    settings: StoredValue<Settings>,
    /// The tokens of the whole chain: the end of the slider.
    whole: StoredValue<u64>,
    busy: StoredValue<bool>,
    again: StoredValue<bool>,
    /// Counts what was asked, so that the payload is fetched when the reader has stopped dragging.
    asked: StoredValue<u32>,
}

impl Inspector {
    /// An inspector of the branch that ends at `leaf`.
    pub fn new(engine: Engine, leaf: RwSignal<Option<MessageId>>) -> Self {
        Self {
            engine,
            leaf,
            open: RwSignal::new(dom::remembered(OPEN).as_deref() == Some("open")),
            marks: RwSignal::new(None),
            selected: RwSignal::new(None),
            wanted: RwSignal::new(None),
            pins: RwSignal::new(Vec::new()),
            settings: StoredValue::new(Settings::read(&dom::remembered(SETTINGS).unwrap_or_default())),
            whole: StoredValue::new(0),
            busy: StoredValue::new(false),
            again: StoredValue::new(false),
            asked: StoredValue::new(0),
        }
    }

    /// Shows or hides it, and remembers that.
    pub fn show(self, open: bool) {
        self.open.set(open);
        dom::remember(OPEN, if open { "open" } else { "closed" });
        if !open {
            self.marks.set(None);
        }
    }

    fn set(self, settings: Settings) {
        self.settings.set_value(settings);
        dom::remember(SETTINGS, &settings.write());
        self.ask();
    }

    /// Reads the pins of a thread.
    fn read_pins(self, thread: &TranscriptId) {
        let kept = dom::remembered(&[PINS, thread.as_str()].concat()).unwrap_or_default();
        self.pins.set(read_pins(&kept));
    }

    fn keep_pins(self, thread: &TranscriptId, pins: Vec<MessageId>) {
        let key = [PINS, thread.as_str()].concat();
        if pins.is_empty() {
            dom::forget(&key)
        } else {
            dom::remember(&key, &write_pins(&pins))
        }
        self.pins.set(pins);
        self.ask();
    }

    /// Pins the selected message, or unpins it.
    pub fn pin(self, thread: &TranscriptId) {
        let Some(selected) = self.selected.get_untracked() else { return };
        let mut pins = self.pins.get_untracked();
        match pins.iter().position(|pin| *pin == selected.node) {
            Some(at) => drop(pins.remove(at)),
            None => pins.push(selected.node),
        }
        self.keep_pins(thread, pins);
    }

    /// Asks the engine about what is set now; soon, where an answer is still on its way.
    pub fn ask(self) {
        self.asked.update_value(|asked| *asked = asked.wrapping_add(1));
        if !self.open.get_untracked() {
            return;
        }
        if self.busy.get_value() {
            return self.again.set_value(true);
        }
        self.busy_now(true);
        spawn_local(async move {
            loop {
                self.again.set_value(false);
                self.step().await;
                if !self.again.get_value() {
                    break;
                }
            }
            self.busy_now(false);
        });
    }

    fn question(self) -> Option<Question> {
        Some(Question {
            leaf: self.leaf.get_untracked()?,
            settings: self.settings.get_value(),
            pins: self.pins.get_untracked(),
            selected: self.selected.get_untracked().map(|selected| selected.places.0),
        })
    }

    async fn step(self) {
        let Some(question) = self.question() else { return self.marks.set(None) };
        let settings = question.settings;
        match self.engine.ask(Ask::Fit(Box::new(question))).await {
            Ok(Reply::Fitted(fitted)) => self.take(&fitted, &settings),
            Ok(_) => {}
            Err(error) => {
                if error.code == "vocabulary-missing" && self.load(settings.encoding).await {
                    self.again.set_value(true);
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
        self.whole.set_value(fitted.whole);
        let marks = Arc::new(Marks::new(fitted));
        self.draw(fitted, settings, &marks);
        // The canvas marks what is on the screen.
        self.marks.set(Some(marks));
        self.refresh_payload();
    }

    /// Loads a vocabulary, and says so meanwhile. Says whether it is there now.
    async fn load(self, encoding: u32) -> bool {
        let name = ENCODINGS.get(encoding as usize).map_or("", |(name, _)| name);
        self.say(&["Loading the vocabulary ", name, "…"].concat(), false);
        match self.engine.ask(Ask::Vocabulary(encoding)).await {
            Ok(_) => {
                self.say("", false);
                true
            }
            Err(error) => {
                let words = "could not be loaded. Without it, tokens can only be estimated.";
                self.say(&["The vocabulary ", name, " ", words, " (", &error.message, ")"].concat(), true);
                self.marks.set(None);
                false
            }
        }
    }

    fn fail(self, error: &ErrorReply) {
        let words = crate::words::words(error);
        self.say(&[&words.title, ". ", &words.advice].concat(), true);
        self.marks.set(None);
    }

    /// The payload for what is set now.
    async fn payload(self) -> Result<Payload, ErrorReply> {
        let Some(question) = self.question() else { return Ok(Payload::default()) };
        match self.engine.ask(Ask::Payload(Box::new(question))).await? {
            Reply::Payload(payload) => Ok(payload),
            _ => Ok(Payload::default()),
        }
    }

    /// Shows the payload, where it is open, when nothing more was asked for a moment.
    fn refresh_payload(self) {
        if dom::find("[data-testid=payload][open]").is_none() {
            return;
        }
        let number = self.asked.get_value();
        let later = move || {
            if self.asked.get_value() == number {
                spawn_local(async move {
                    let payload = self.payload().await;
                    if self.asked.get_value() == number {
                        self.draw_payload(payload);
                    }
                });
            }
        };
        set_timeout(later, Duration::from_millis(250));
    }
}

/// Lets go of the pins of a thread that was deleted.
pub fn forget_pins(thread: &TranscriptId) {
    dom::forget(&[PINS, thread.as_str()].concat());
}

/// Lets go of all pins.
pub fn forget_all_pins() {
    dom::forget_all(PINS);
}
