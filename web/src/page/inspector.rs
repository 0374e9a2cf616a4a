//! The context inspector: what the reader asks about the open branch, and when. At most one question is under way; what is
//! set meanwhile is asked once it is answered, so that a slider never runs ahead of the engine. Its answers go to the
//! [pane] and, as marks, to the canvas.

mod pane;
mod show;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::{MessageId, TranscriptId};
use tokio::sync::Mutex;

use super::dom;
use super::engine::Engine;
use super::side::Side;
use crate::inspect::{ENCODINGS, Instructions, Marks, PROVIDERS, Settings};
use crate::wire::{Ask, Fitted, Inspect, Payload, Question, Reply, Talk};

pub use pane::pane;
pub use show::readable;

/// How tokens are counted: the place in [`ENCODINGS`].
const ENCODING: &str = "threadkeep.inspector.encoding";
/// Where settings were before keeps had them; they move over.
const OLD_SETTINGS: &str = "threadkeep.inspector.settings";
/// Likewise for pins; followed by the thread's id.
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
    /// Whether settings are not stored yet.
    unsaved: bool,
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
    side: RwSignal<Option<Side>>,
    /// Counts changes of the marks, and of what the thread is to show.
    pub changed: RwSignal<u32>,
    /// Counts changes of the pins.
    pub pinned: RwSignal<u32>,
    inner: StoredValue<Inner, LocalStorage>,
}

impl Inspector {
    /// An inspector of the branch that ends at `leaf`.
    pub fn new(engine: Engine, leaf: RwSignal<Option<MessageId>>, side: RwSignal<Option<Side>>) -> Self {
        let inner = Inner {
            settings: Settings::default(),
            loaded: false,
            unsaved: false,
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
            side,
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
        self.side.get_untracked() == Some(Side::Context)
    }

    /// It is no longer shown: its marks leave the thread.
    pub fn closed(self) {
        self.mark(None);
    }

    /// What the reader has set, as far as it was read.
    fn settings(self) -> Settings {
        self.with(|inner| inner.settings)
    }

    /// Takes what the reader has set, and stores it: at once, or when the slider has been still for a moment.
    fn set(self, settings: Settings, dragged: bool) {
        let number = self.with(|inner| {
            (inner.settings, inner.unsaved) = (settings, true);
            inner.asked.wrapping_add(1)
        });
        dom::remember(ENCODING, &settings.encoding().to_string());
        let save = move || {
            if self.with(|inner| inner.asked) == number {
                spawn_local(self.save());
            }
        };
        self.ask();
        if dragged { set_timeout(save, Duration::from_millis(250)) } else { save() }
    }

    /// Reads the stored settings, unless that was done. It needs a part of the module that most pages load later.
    pub async fn ready(self) -> Settings {
        if !self.with(|inner| std::mem::replace(&mut inner.loaded, true)) {
            self.load().await;
        }
        self.settings()
    }

    /// Stores what is not stored yet: what is shown is what the agent sends.
    pub async fn save(self) {
        let saving = self.with(|inner| Arc::clone(&inner.saving));
        let _alone = saving.lock().await;
        let settings = self.ready().await;
        if self.with(|inner| std::mem::take(&mut inner.unsaved))
            && let Err(error) = self.engine.ask(Ask::Inspect(Inspect::Set(settings))).await
        {
            self.with(|inner| inner.unsaved = true);
            self.fail(&error);
        }
        if let Some(instructions) = self.with(|inner| inner.instructions.take())
            && let Err(error) = self.engine.ask(Ask::Inspect(Inspect::Instruct(instructions.clone()))).await
        {
            self.with(|inner| {
                inner.instructions.get_or_insert(instructions);
            });
            self.fail(&error);
        }
    }

    /// Reads what is stored, and shows it. On the first start with keeps that have settings, what this browser has moves over.
    async fn load(self) {
        let old = dom::remembered(OLD_SETTINGS).unwrap_or_default();
        let before = self.settings();
        let Ok(Reply::Settings(stored)) = self.engine.ask(Ask::Inspect(Inspect::Settings(old))).await else { return };
        dom::forget(OLD_SETTINGS);
        let encoding = dom::remembered(ENCODING).and_then(|place| place.parse().ok());
        let stored = stored.with("encoding", encoding.or(stored.get("encoding")));
        dom::remember(ENCODING, &stored.encoding().to_string());
        // The reader may have gone on meanwhile, and what was read is older then.
        let newer = |inner: &Inner| inner.unsaved || inner.settings != before;
        if !self.with(|inner| newer(inner) || std::mem::replace(&mut inner.settings, stored) == stored) {
            self.show_settings();
        }
    }

    /// Shows what is stored of the instructions, where they are open. What the reader writes meanwhile stays.
    fn show_instructions(self) {
        if dom::find("[data-testid=instructions][open]").is_none() {
            return;
        }
        spawn_local(async move {
            let saving = self.with(|inner| Arc::clone(&inner.saving));
            let _alone = saving.lock().await;
            match self.engine.ask(Ask::Inspect(Inspect::Instructions)).await {
                Ok(Reply::Instructions(instructions)) => {
                    let writing = dom::find("[data-testid=instructions] :is(textarea, select):focus").is_some();
                    if !writing && self.with(|inner| inner.instructions.is_none()) {
                        Self::fill(&instructions);
                    }
                }
                Ok(_) => {}
                Err(error) => self.fail(&error),
            }
        });
    }

    /// Takes instructions, stores them, and shows what becomes of the prompt.
    fn instruct(self, instructions: Instructions) {
        self.with(|inner| inner.instructions = Some(instructions));
        spawn_local(async move {
            self.save().await;
            self.ask();
        });
    }

    /// Reads the settings again: somebody changed them.
    pub fn reload(self) {
        self.show_instructions();
        if self.with(|inner| inner.loaded && !inner.unsaved) {
            self.with(|inner| inner.loaded = false);
            self.ask();
        }
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
        if let Err(error) = self.engine.ask(Ask::Inspect(Inspect::Pin { nodes, old })).await {
            self.fail(&error);
        }
        self.pinned.update(|times| *times += 1);
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

    fn question(self) -> Option<Question> {
        let leaf = self.leaf.get_untracked()?;
        self.with(|inner| {
            let selected = inner.selected.as_ref().map(|selected| selected.places.0);
            Some(Question { leaf, settings: inner.settings, selected, epoch: None })
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
        (Question { leaf, settings, selected: None, epoch: None }, words)
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
        let words = crate::words::words(error);
        self.say(&[&words.title, ". ", &words.advice].concat(), true);
        self.mark(None);
    }

    /// The request that Send would send; where there is none, the branch as it stands, for what is set now. The second says which it is.
    async fn payload(self) -> Result<(Payload, bool), ErrorReply> {
        let next = self.with(|inner| inner.next.clone()).and_then(|next| next());
        let is_next = next.is_some();
        let ask = match (next, self.question()) {
            (Some(talk), _) => {
                self.save().await;
                Ask::Talk(Box::new(talk))
            }
            (None, Some(question)) => Ask::Inspect(Inspect::Payload(Box::new(question))),
            (None, None) => return Ok((Payload::default(), false)),
        };
        match self.engine.ask(ask).await? {
            Reply::Payload(payload) => Ok((payload, is_next)),
            _ => Ok((Payload::default(), is_next)),
        }
    }

    /// Shows the payload, where it is open, when nothing has changed for a moment.
    pub fn refresh_payload(self) {
        if dom::find("[data-testid=payload][open]").is_none() {
            return;
        }
        let number = self.with(|inner| {
            inner.payloads = inner.payloads.wrapping_add(1);
            inner.payloads
        });
        let is_newest = move || self.with(|inner| inner.payloads) == number;
        let later = move || {
            if is_newest() {
                spawn_local(async move {
                    let payload = self.payload().await;
                    if is_newest() {
                        self.draw_payload(payload);
                    }
                });
            }
        };
        set_timeout(later, Duration::from_millis(250));
    }
}

/// Lets go of the pins that an older version of the page kept in this browser: those of a thread that was deleted, or all for no name.
pub fn forget_pins(thread: &str) {
    dom::forget_all(&[OLD_PINS, thread].concat());
}
