//! The worker's thread: the engine over the browser's store, behind the messages of [`crate::wire`].
//!
//! Goes in: bytes of [`ToWorker`], files beside an import. Comes out: bytes of [`FromWorker`], the file of an export
//! beside its answer. Changes made here are told to the other tabs, and theirs to this page. What things mean is the
//! engine's business.

mod browser;
mod chrome;
mod connected;
mod demo;
mod files;
mod find;
mod host;
mod inspect;
mod parts;
mod recall;
mod remove;
mod requests;
mod shared_parts;
mod sync;
mod tabs;
mod talk;

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;

use js_sys::{Array, Uint8Array};
use threadkeep::compact::Cancel;
use threadkeep::protocol::{ErrorReply, Event};
use threadkeep::{Keep, KeepError, Options, Sharing};
use threadkeep_core::TranscriptId;
use threadkeep_store::idb::IdbStore;
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

use crate::removed;
use crate::wire::{self, Ask, Branch, FromWorker, Recall, Reply, Ticket, ToWorker};

/// The name of the database.
const DATABASE: &str = "threadkeep";

/// Where this worker keeps things: on the disk, or in memory where the disk cannot be had and the reader agreed.
#[derive(Debug)]
enum Place {
    Disk(IdbStore),
    Memory(MemoryStore),
}

impl Store for Place {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            Self::Disk(store) => store.get(key).await,
            Self::Memory(store) => store.get(key).await,
        }
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        match self {
            Self::Disk(store) => store.scan(scan).await,
            Self::Memory(store) => store.scan(scan).await,
        }
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        match self {
            Self::Disk(store) => store.commit(commit).await,
            Self::Memory(store) => store.commit(commit).await,
        }
    }

    async fn close(&self) -> Result<(), StoreError> {
        match self {
            Self::Disk(store) => store.close().await,
            Self::Memory(store) => store.close().await,
        }
    }
}

type Engine = Keep<Place>;

thread_local! {
    /// Whether the import that runs is to end.
    static STOP: Cell<bool> = const { Cell::new(false) };
    /// Ends the compaction that began last.
    static CANCEL: RefCell<Cancel> = RefCell::default();
    static ENGINE: RefCell<Option<Rc<Engine>>> = const { RefCell::new(None) };
}

/// Begins to listen. Called once, when the worker's module has been loaded.
pub fn start() {
    // The page hears of the stop itself as an error of its worker; the text is for the console.
    #[cfg(debug_assertions)]
    std::panic::set_hook(Box::new(|info| wasm_bindgen::throw_str(&info.to_string())));
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let listen = Closure::<dyn Fn(MessageEvent)>::new(|event: MessageEvent| hear(&event.data()));
    scope.set_onmessage(Some(listen.as_ref().unchecked_ref()));
    // The listener lives as long as the worker.
    listen.forget();
    say(&FromWorker::Listening, None);
}

/// One message: an array of bytes and, for an import, a list of files with their paths.
fn hear(data: &JsValue) {
    let parts: &Array = data.unchecked_ref();
    let bytes: Uint8Array = parts.get(0).unchecked_into();
    let Some(message) = wire::from_bytes(&bytes.to_vec()) else { return warn("a message of the page cannot be read") };
    match message {
        ToWorker::Open { memory } => spawn_local(open(memory)),
        ToWorker::Ask { ticket, ask } => spawn_local(serve(ticket, Work::Ask(ask))),
        ToWorker::Import { ticket } => spawn_local(serve(ticket, Work::Import(parts.get(1)))),
        ToWorker::StopImport => STOP.set(true),
        ToWorker::StopCompaction => stop_compaction(),
        ToWorker::StopTurn => talk::stop(),
        ToWorker::Prompted { number, piece } => chrome::heard(number, piece),
        ToWorker::Summarised { number, answer } => browser::answered(number, answer),
        ToWorker::Sync { ticket, choice } => spawn_local(serve(ticket, Work::Sync(choice, parts.get(1)))),
        ToWorker::Export { ticket, transcript, sharing } => {
            spawn_local(serve(ticket, Work::Export(transcript, sharing)));
        }
    }
}

/// What has a ticket, and gets an answer.
enum Work {
    Ask(Ask),
    Import(JsValue),
    Sync(String, JsValue),
    Export(Option<TranscriptId>, Option<Sharing>),
}

async fn serve(ticket: Ticket, work: Work) {
    let mut beside = None;
    let result = match (engine(), work) {
        (Err(error), _) => Err(error),
        (Ok(engine), Work::Ask(Ask::Inspect(asked))) => loaded(parts::inspect(engine, asked)).await,
        (Ok(engine), Work::Ask(Ask::Find(asked))) => loaded(parts::find(engine, asked)).await,
        (Ok(engine), Work::Ask(Ask::Recall(asked))) => {
            // Before anything is loaded: loads may end in another order than they were asked for.
            let cancel = matches!(*asked, Recall::Compact { .. }).then(begin_compaction).unwrap_or_default();
            loaded(parts::recall(engine, *asked, cancel)).await
        }
        (Ok(engine), Work::Ask(Ask::Journal(asked))) => loaded(parts::journal(engine, asked)).await,
        (Ok(engine), Work::Ask(Ask::Remove(asked))) => loaded(parts::remove(engine, asked)).await,
        (Ok(engine), Work::Ask(Ask::Undelete(id))) => loaded(parts::undelete(engine, id)).await,
        (Ok(engine), Work::Ask(Ask::Talk(asked))) => loaded(parts::talk(engine, *asked)).await,
        (Ok(engine), Work::Ask(ask)) => answer(&engine, ask).await.map_err(|error| error.reply()),
        (Ok(engine), Work::Import(list)) => loaded(parts::import(engine, ticket, list)).await,
        (Ok(engine), Work::Sync(choice, directory)) => loaded(parts::sync(engine, choice, directory)).await,
        (Ok(engine), Work::Export(transcript, sharing)) => {
            loaded(parts::export(engine, transcript, sharing)).await.map(|(blob, found)| {
                beside = Some(blob.into());
                Reply::Exported(found)
            })
        }
    };
    let answer = match result {
        Ok(reply) => FromWorker::Answer { ticket, reply },
        Err(error) => FromWorker::Error { ticket, error },
    };
    say(&answer, beside);
}

/// What a part of the module answers, once it is loaded.
async fn loaded<T, E>(
    part: impl Future<Output = Result<Pin<Box<dyn Future<Output = Result<T, ErrorReply>>>>, E>>,
) -> Result<T, ErrorReply> {
    match part.await {
        Ok(answer) => answer.await,
        Err(_) => Err(part_missing()),
    }
}

/// What ends the compaction that begins now. One that still runs is of no use any more.
fn begin_compaction() -> Cancel {
    stop_compaction();
    let cancel = Cancel::default();
    CANCEL.set(cancel.clone());
    cancel
}

/// Ends the compaction that runs, if one does.
fn stop_compaction() {
    CANCEL.with_borrow(Cancel::cancel);
}

async fn answer(engine: &Engine, ask: Ask) -> Result<Reply, KeepError> {
    Ok(match ask {
        Ask::Threads => Reply::Threads(engine.transcripts().await?.into_iter().map(Into::into).collect()),
        Ask::Branch { transcript, leaf } => {
            let outline = engine.outline(&transcript, leaf.as_ref()).await?;
            // A damaged branch is shown as far as it can be, without them.
            let checkpoints = engine.checkpoints(outline.leaf.as_str()).await.unwrap_or_default();
            let pins = engine.pins(outline.leaf.as_str()).await.unwrap_or_default();
            Reply::Branch(Box::new(Branch::new(outline, checkpoints, pins)))
        }
        Ask::Rows { leaf, start, end } => {
            Reply::Nodes(engine.rows(&leaf, start, end).await?.into_iter().map(Into::into).collect())
        }
        Ask::Tree(transcript) => Reply::Tree(engine.tree(&transcript).await?),
        Ask::Rename { transcript, title } => engine.rename(&transcript, title).await.map(|()| Reply::Done)?,
        Ask::Choose(leaf) => engine.choose(&leaf).await.map(|()| Reply::Done)?,
        Ask::Stats => Reply::Stats(engine.stats().await?),
        // Answered where they are heard, since they take a part of the module.
        Ask::Inspect(_)
        | Ask::Find(_)
        | Ask::Recall(_)
        | Ask::Journal(_)
        | Ask::Talk(_)
        | Ask::Remove(_)
        | Ask::Undelete(_) => Reply::Done,
    })
}

async fn open(memory: bool) {
    let place =
        if memory { Ok(Place::Memory(MemoryStore::new())) } else { IdbStore::open(DATABASE).await.map(Place::Disk) };
    let opened: Result<Engine, KeepError> = match place {
        Ok(place) => Keep::open(place, host::Browser, Options::default()).await,
        Err(error) => Err(error.into()),
    };
    match opened {
        Ok(engine) => {
            engine.load_ranking_with(parts::load_ranking);
            engine.on_event(|event: &Event| tabs::changed(event));
            let engine = Rc::new(engine);
            ENGINE.with_borrow_mut(|slot| *slot = Some(engine.clone()));
            if !memory {
                tabs::listen();
            }
            say(&FromWorker::Opened { memory }, None);
            // What cannot be taken out of the bin today is tomorrow.
            drop(engine.empty_bin(js_sys::Date::now() as i64 - removed::STAY).await);
        }
        Err(error) => say(&FromWorker::Failed(error.reply()), None),
    }
}

fn engine() -> Result<Rc<Engine>, ErrorReply> {
    ENGINE.with_borrow(|slot| slot.clone()).ok_or_else(|| ErrorReply {
        code: "closed".into(),
        message: "the store is not open".into(),
        details: serde_json::Value::Null,
    })
}

/// The failure to load a part of the module. The console has the reason.
fn part_missing() -> ErrorReply {
    let message = "a part of the page could not be loaded".to_owned();
    ErrorReply { code: "part-missing".to_owned(), message, details: serde_json::Value::Null }
}

/// Sends one message to the page, with an object of the browser's beside it.
fn say(message: &FromWorker, beside: Option<JsValue>) {
    let bytes = Uint8Array::from(&wire::to_bytes(message)[..]);
    let parts = Array::of2(&bytes.into(), &beside.unwrap_or(JsValue::NULL));
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    // Fails only for what cannot be cloned; bytes and blobs can.
    if let Err(error) = scope.post_message(&parts) {
        wasm_bindgen::throw_val(error);
    }
}

fn warn(text: &str) {
    web_sys::console::warn_1(&text.into());
}
