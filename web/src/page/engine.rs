//! The page's end of the wire: starts the worker, asks, waits, notices when it stops. Requests in, answers out; changes go
//! to those who listen. What the answers mean is the others' business.

use std::rc::Rc;

use futures_channel::oneshot;
use js_sys::{Array, Object, Reflect, Uint8Array};
use leptos::prelude::*;
use threadkeep::protocol::{ErrorReply, ImportProgress, ImportReport};
use threadkeep::{Secret, Sharing};
use threadkeep_core::TranscriptId;
use wasm_bindgen::prelude::*;
use web_sys::{Blob, ErrorEvent, File, MessageEvent, Worker, WorkerOptions, WorkerType};

use crate::wire::{self, Ask, Change, FromWorker, Heard, Reply, Ticket, ToWorker};
use crate::words::CRASHED;

/// How the engine is.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Its thread is starting, or the store is being opened.
    Starting,
    /// It answers.
    Open {
        /// Whether it keeps things in memory only.
        memory: bool,
    },
    /// The store could not be opened, or the thread stopped.
    Failed(ErrorReply),
}

type Tell = Box<dyn Fn(ImportProgress)>;

/// Somebody who waits for an answer.
struct Waiting {
    ticket: Ticket,
    /// Takes the answer, and what comes beside it.
    answer: oneshot::Sender<Result<(Reply, JsValue), ErrorReply>>,
    /// Takes the progress of an import.
    tell: Option<Tell>,
}

type Listener = Rc<dyn Fn(&[Change])>;
/// Takes the number of a text, its part of how many, and the text.
type Summarise = Rc<dyn Fn(u32, (u32, u32), String)>;

#[derive(Default)]
struct Inner {
    worker: Option<Worker>,
    /// Which start of the worker this is; what an earlier one still says is not heard.
    life: u32,
    next: Ticket,
    waiting: Vec<Waiting>,
    listeners: Vec<Listener>,
    summarise: Option<Summarise>,
    heard: Option<Rc<dyn Fn(Vec<Heard>)>>,
    /// Answers of the browser's own model that are under way, each with what ends it.
    prompts: Vec<(u32, Option<JsValue>)>,
}

/// The engine, as the page sees it. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Engine {
    inner: StoredValue<Inner, LocalStorage>,
    /// How it is.
    pub state: RwSignal<State>,
    /// How far the compaction that runs is: how many messages were summarised, and how many are being summarised.
    pub compacting: RwSignal<Option<(u32, u32)>>,
    /// How far the sync that runs is: its step, how many conversations are done, and how many there are.
    pub syncing: RwSignal<Option<(String, u32, u32)>>,
}

impl Engine {
    /// Starts the worker.
    pub fn start() -> Self {
        let engine = Self {
            inner: StoredValue::new_local(Inner::default()),
            state: RwSignal::new(State::Starting),
            compacting: RwSignal::new(None),
            syncing: RwSignal::new(None),
        };
        engine.launch(false);
        engine
    }

    /// Ends the worker, if there is one, and starts another.
    pub fn restart(self, memory: bool) {
        self.inner.update_value(|inner| {
            if let Some(worker) = inner.worker.take() {
                worker.terminate();
            }
        });
        self.fail_waiting(&stopped("it was restarted"));
        self.state.set(State::Starting);
        self.launch(memory);
    }

    /// Whether it answers; tracks.
    pub fn is_open(self) -> bool {
        self.state.with(|state| matches!(state, State::Open { .. }))
    }

    /// Whether it keeps things in memory only; tracks.
    pub fn in_memory(self) -> bool {
        self.state.with(|state| matches!(state, State::Open { memory: true }))
    }

    fn launch(self, memory: bool) {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = match Worker::new_with_options("./worker-loader.js", &options) {
            Ok(worker) => worker,
            Err(_) => return self.state.set(State::Failed(stopped("this browser does not start module workers"))),
        };
        let mut life = 0;
        self.inner.update_value(|inner| {
            inner.life += 1;
            life = inner.life;
        });
        let current = move || self.inner.with_value(|inner| inner.life == life);
        let heard = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            if current() {
                self.hear(&event.data(), memory);
            }
        });
        worker.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        let failed = Closure::<dyn Fn(ErrorEvent)>::new(move |event: ErrorEvent| {
            if current() {
                event.prevent_default();
                let error = stopped(&event.message());
                self.fail_waiting(&error);
                self.state.set(State::Failed(error));
            }
        });
        worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
        // A worker is started once, or after a failure: what its listeners take is little.
        heard.forget();
        failed.forget();
        self.inner.update_value(|inner| inner.worker = Some(worker));
    }

    fn fail_waiting(self, error: &ErrorReply) {
        let mut waiting = Vec::new();
        self.inner.update_value(|inner| std::mem::swap(&mut waiting, &mut inner.waiting));
        for one in waiting {
            // Whoever no longer waits is not missed, here and below.
            drop(one.answer.send(Err(error.clone())));
        }
    }

    /// Gives an answer to the question of this ticket.
    fn answered(self, ticket: Ticket, answer: Result<(Reply, JsValue), ErrorReply>) {
        let mut taken = None;
        self.inner.update_value(|inner| {
            let place = inner.waiting.iter().position(|one| one.ticket == ticket);
            taken = place.map(|place| inner.waiting.swap_remove(place));
        });
        if let Some(one) = taken {
            drop(one.answer.send(answer));
        }
    }

    fn hear(self, data: &JsValue, memory: bool) {
        let parts: &Array = data.unchecked_ref();
        let bytes: Uint8Array = parts.get(0).unchecked_into();
        let Some(message) = wire::from_bytes(&bytes.to_vec()) else {
            let words = "an answer of the engine cannot be read: the page and its worker are of different versions";
            return self.state.set(State::Failed(stopped(words)));
        };
        match message {
            FromWorker::Listening => drop(self.say(&ToWorker::Open { memory }, None)),
            FromWorker::Opened { memory } => self.state.set(State::Open { memory }),
            FromWorker::Failed(error) => self.state.set(State::Failed(error)),
            FromWorker::Answer { ticket, reply } => self.answered(ticket, Ok((reply, parts.get(1)))),
            FromWorker::Error { ticket, error } => {
                if matches!(error.code.as_str(), "storage-gone" | "closed") {
                    self.state.set(State::Failed(error.clone()));
                }
                self.answered(ticket, Err(error));
            }
            FromWorker::Progress { ticket, progress } => self.inner.with_value(|inner| {
                if let Some(tell) =
                    inner.waiting.iter().find_map(|one| one.tell.as_ref().filter(|_| one.ticket == ticket))
                {
                    tell(progress);
                }
            }),
            FromWorker::Summarise { number, part, parts, text } => {
                match self.inner.with_value(|inner| inner.summarise.clone()) {
                    Some(summarise) => summarise(number, (part, parts), text),
                    None => self.summarised(number, Err("the browser's summariser is gone".to_owned())),
                }
            }
            FromWorker::Heard(heard) => {
                let listener = self.inner.with_value(|inner| inner.heard.clone());
                if let Some(listener) = listener {
                    listener(heard);
                }
            }
            FromWorker::Prompt { number, messages } => {
                self.inner.update_value(|inner| inner.prompts.push((number, None)));
                let tell = move |piece| drop(self.say(&ToWorker::Prompted { number, piece }, None));
                let held = move |held| {
                    self.inner.update_value(|inner| {
                        if let Some(prompt) = inner.prompts.iter_mut().find(|(own, _)| *own == number) {
                            prompt.1 = Some(held);
                        }
                    });
                };
                super::browser::prompt(messages, Box::new(held), Rc::new(tell));
            }
            FromWorker::StopPrompt(number) => {
                let mut stopped = None;
                self.inner.update_value(|inner| {
                    let place = inner.prompts.iter().position(|(own, _)| *own == number);
                    stopped = place.and_then(|place| inner.prompts.swap_remove(place).1);
                });
                if let Some(held) = stopped {
                    super::browser::stop(&held);
                }
            }
            FromWorker::Syncing { step, done, total } => self.syncing.set(Some((step, done, total))),
            FromWorker::Compacting { done, now } => self.compacting.set(Some((done, now))),
            FromWorker::Changes(changes) => {
                let listeners = self.inner.with_value(|inner| inner.listeners.clone());
                for listener in listeners {
                    listener(&changes);
                }
            }
        }
    }

    fn say(self, message: &ToWorker, beside: Option<JsValue>) -> Result<(), ErrorReply> {
        let bytes = Uint8Array::from(&wire::to_bytes(message)[..]);
        let parts = Array::of2(&bytes.into(), &beside.unwrap_or(JsValue::NULL));
        self.inner.with_value(|inner| match &inner.worker {
            Some(worker) => worker.post_message(&parts).map_err(|_| stopped("it takes no messages")),
            None => Err(stopped("it is not there")),
        })
    }

    fn ticket(self) -> Ticket {
        let mut ticket = 0;
        self.inner.update_value(|inner| {
            inner.next = inner.next.wrapping_add(1);
            ticket = inner.next;
        });
        ticket
    }

    /// Says what has a ticket, and waits for its answer and for what comes beside it.
    async fn request(
        self,
        ticket: Ticket,
        message: ToWorker,
        beside: Option<JsValue>,
        tell: Option<Tell>,
    ) -> Result<(Reply, JsValue), ErrorReply> {
        let (sender, answer) = oneshot::channel();
        self.inner.update_value(|inner| inner.waiting.push(Waiting { ticket, answer: sender, tell }));
        self.say(&message, beside)?;
        answer.await.unwrap_or_else(|_| Err(stopped("it was restarted")))
    }

    /// Asks the engine.
    ///
    /// # Errors
    /// The engine's; [`CRASHED`] where it stopped before it could answer.
    pub async fn ask(self, ask: Ask) -> Result<Reply, ErrorReply> {
        let ticket = self.ticket();
        Ok(self.request(ticket, ToWorker::Ask { ticket, ask }, None, None).await?.0)
    }

    /// Imports files, each with its path in the folder that was dropped, or nothing.
    ///
    /// # Errors
    /// The engine's.
    pub async fn import(self, files: Vec<(File, String)>, tell: Tell) -> Result<ImportReport, ErrorReply> {
        let list = Array::new();
        for (file, path) in files {
            let entry = Object::new();
            // Setting a field of a plain object does not fail.
            let _ = Reflect::set(&entry, &"file".into(), &file);
            let _ = Reflect::set(&entry, &"path".into(), &path.into());
            list.push(&entry);
        }
        let ticket = self.ticket();
        match self.request(ticket, ToWorker::Import { ticket }, Some(list.into()), Some(tell)).await? {
            (Reply::Imported(report), _) => Ok(*report),
            _ => Err(stopped("the report did not arrive")),
        }
    }

    /// Syncs with a folder, or with a server; see [`ToWorker::Sync`].
    ///
    /// # Errors
    /// The engine's.
    pub async fn sync(self, choice: String, directory: Option<JsValue>) -> Result<String, ErrorReply> {
        let ticket = self.ticket();
        let answer = self.request(ticket, ToWorker::Sync { ticket, choice }, directory, None).await;
        self.syncing.set(None);
        match answer? {
            (Reply::Synced(report), _) => Ok(report),
            _ => Err(stopped("the report did not arrive")),
        }
    }

    /// Ends the import that runs. Its report comes all the same.
    pub fn stop_import(self) {
        // Where the engine is gone, so is the import.
        drop(self.say(&ToWorker::StopImport, None));
    }

    /// Gives up the compaction that runs, or its preview. Nothing is stored then; it answers with `cancelled`.
    pub fn stop_compaction(self) {
        // Where the engine is gone, so is the compaction.
        drop(self.say(&ToWorker::StopCompaction, None));
    }

    /// Ends the agent's turn that runs. What it has until then stays.
    pub fn stop_turn(self) {
        // Where the engine is gone, so is the turn.
        drop(self.say(&ToWorker::StopTurn, None));
    }

    /// Calls `heard` with what happens in the agent's turns, for as long as the page lives.
    pub fn on_heard(self, heard: impl Fn(Vec<Heard>) + 'static) {
        self.inner.update_value(|inner| inner.heard = Some(Rc::new(heard)));
    }

    /// Calls `summarise` with the texts for the browser's summariser; [`Self::summarised`] takes what it answers.
    pub fn on_summarise(self, summarise: Option<Summarise>) {
        self.inner.update_value(|inner| inner.summarise = summarise);
    }

    /// The browser's summariser has answered.
    pub fn summarised(self, number: u32, answer: Result<String, String>) {
        // Where the engine is gone, nobody waits.
        drop(self.say(&ToWorker::Summarised { number, answer }, None));
    }

    /// Makes a file of one transcript, or of all. For others it has no secrets, and what was found is said.
    ///
    /// # Errors
    /// The engine's.
    pub async fn export(
        self,
        transcript: Option<TranscriptId>,
        sharing: Option<Sharing>,
    ) -> Result<(Blob, Vec<Secret>), ErrorReply> {
        let ticket = self.ticket();
        let asked = ToWorker::Export { ticket, transcript, sharing };
        match self.request(ticket, asked, None, None).await? {
            (Reply::Exported(found), blob) => {
                Ok((blob.dyn_into().map_err(|_| stopped("the file did not arrive"))?, found))
            }
            _ => Err(stopped("the file did not arrive")),
        }
    }

    /// Calls `listener` with what changes, here or in another tab, for as long as the page lives.
    pub fn listen(self, listener: impl Fn(&[Change]) + 'static) {
        self.inner.update_value(|inner| inner.listeners.push(Rc::new(listener)));
    }
}

fn stopped(why: &str) -> ErrorReply {
    ErrorReply {
        code: CRASHED.to_owned(),
        message: format!("the engine stopped: {why}"),
        details: serde_json::Value::Null,
    }
}
