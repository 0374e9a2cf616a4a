//! A sync: the script that does it (`npm/src/sync/page.ts`) asks, and the engine answers. A question is JSON, and so is its answer.

use std::rc::Rc;

use js_sys::{Function, Object, Promise, Reflect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use threadkeep::KeepError;
use threadkeep::protocol::{ContextSettings, ErrorReply, MemoryFilter};
use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_store::Commit;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, future_to_promise};

use super::{Engine, say};
use crate::wire::FromWorker;

/// The records in which a keep notes what it knows of remotes.
const RECORDS: &str = "threadkeep.sync";

/// What the script asks: the calls of `SyncKeep` in `npm/src/sync/keep.ts`.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "camelCase")]
enum Question {
    Record { key: String },
    Commit { puts: Vec<(String, String)>, deletes: Vec<String> },
    Transcripts,
    Threads,
    Exported { transcript: TranscriptId },
    Import { text: String },
    Damaged,
    Way { node: MessageId },
    End { thread: String },
    MoveTo { thread: String, node: MessageId },
    Strategy { thread: String },
    SetStrategy { thread: String, strategy: Option<Strategy> },
    Settings { at: Option<String> },
    SetSettings { at: Option<String>, settings: Map<String, Value> },
    Rename { transcript: TranscriptId, title: String },
    Pin { node: MessageId, pinned: bool },
    DeleteBranch { node: MessageId },
    DeleteTranscript { transcript: TranscriptId },
    Episodes,
    Facts,
    Forget { id: String },
}

/// Syncs, or removes a device, as `choice` says; gives the script's report.
pub async fn run(engine: Rc<Engine>, choice: String, directory: JsValue) -> Result<String, ErrorReply> {
    let ask = Closure::<dyn FnMut(String) -> Promise>::new(move |question: String| {
        let engine = Rc::clone(&engine);
        future_to_promise(async move {
            let error = |error: ErrorReply| JsValue::from(text(&error));
            answer(&engine, &question).await.map(JsValue::from).map_err(error)
        })
    });
    let tell = Closure::<dyn FnMut(String, f64, f64)>::new(|step: String, done: f64, total: f64| {
        say(&FromWorker::Syncing { step, done: done as u32, total: total as u32 }, None);
    });
    let given = Object::new();
    for (name, value) in
        [("ask", ask.as_ref()), ("tell", tell.as_ref()), ("choice", &choice.into()), ("directory", &directory)]
    {
        Reflect::set(&given, &name.into(), value).map_err(not_loaded)?;
    }
    let told = script(&given).await.map_err(not_loaded)?;
    told.as_string().ok_or_else(|| not_loaded(JsValue::UNDEFINED))
}

/// Loads the script and runs it.
async fn script(given: &Object) -> Result<JsValue, JsValue> {
    let load: Function = Reflect::get(&js_sys::global(), &"sync".into())?.dyn_into()?;
    let script = JsFuture::from(load.call0(&JsValue::UNDEFINED)?.dyn_into::<Promise>()?).await?;
    let run: Function = Reflect::get(&script, &"run".into())?.dyn_into()?;
    JsFuture::from(run.call1(&script, given)?.dyn_into::<Promise>()?).await
}

fn not_loaded(_: JsValue) -> ErrorReply {
    let message = "the script that syncs could not be loaded: check the network, and try again".to_owned();
    ErrorReply { code: "part-missing".into(), message, details: Value::Null }
}

fn text(value: &impl Serialize) -> String {
    // No answer fails to serialise. The script reports an empty text.
    serde_json::to_string(value).unwrap_or_default()
}

async fn answer(engine: &Engine, question: &str) -> Result<String, ErrorReply> {
    let question = serde_json::from_str(question).map_err(|error| ErrorReply {
        code: "bad-request".into(),
        message: error.to_string(),
        details: Value::Null,
    })?;
    asked(engine, question).await.map_err(|error| error.reply())
}

async fn asked(engine: &Engine, question: Question) -> Result<String, KeepError> {
    let done = |(): ()| text(&());
    Ok(match question {
        Question::Record { key } => {
            let found = engine.record(RECORDS, &key).await?;
            text(&found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        }
        Question::Commit { puts, deletes } => {
            let puts = puts.into_iter().map(|(key, text)| (key, text.into_bytes())).collect();
            engine.commit_records(RECORDS, Commit { puts, deletes, ..Commit::default() }).await.map(done)?
        }
        Question::Transcripts => text(&engine.transcripts().await?),
        Question::Threads => text(&engine.heads().await?),
        Question::Exported { transcript } => {
            let mut lines = String::new();
            engine.export(Some(&transcript), |piece| lines.push_str(&piece)).await?;
            text(&lines)
        }
        Question::Import { text: lines } => text(&engine.import_own(("sync".to_owned(), lines.into_bytes())).await?),
        Question::Damaged => text(&!engine.stats().await?.damaged.is_empty()),
        Question::Way { node } => match engine.node(&node).await? {
            None => text(&()),
            Some(_) => {
                let chain = engine.chain(&node).await?;
                text(&chain.iter().map(|node| &node.id).collect::<Vec<_>>())
            }
        },
        Question::End { thread } => text(&engine.head(&thread).await?.map(|node| node.id)),
        Question::MoveTo { thread, node } => engine.set_head(&thread, &node).await.map(|_| text(&()))?,
        Question::Strategy { thread } => text(&engine.strategy(&thread).await?),
        Question::SetStrategy { thread, strategy } => engine.set_strategy(&thread, strategy).await.map(done)?,
        Question::Settings { at } => text(&engine.own_context_options(at.as_deref()).await?.to_json()),
        Question::SetSettings { at, settings } => {
            let settings = ContextSettings::from_json(Value::Object(settings))?;
            engine.set_context_options(at.as_deref(), &settings).await.map(done)?
        }
        Question::Rename { transcript, title } => engine.rename(&transcript, title).await.map(done)?,
        Question::Pin { node, pinned } => engine.pin_node(&node, pinned).await.map(done)?,
        // What another device deleted can be taken back here, too.
        Question::DeleteBranch { node } => match engine.node(&node).await? {
            None => text(&0),
            Some(found) => text(&engine.bin(&found.transcript, Some(&node)).await?.map_or(0, |binned| binned.messages)),
        },
        Question::DeleteTranscript { transcript } => {
            text(&engine.bin(&transcript, None).await?.map_or(0, |binned| binned.messages))
        }
        Question::Episodes => text(&engine.episodes(&MemoryFilter::default()).await?),
        Question::Facts => text(&engine.facts(&MemoryFilter { superseded: true, ..MemoryFilter::default() }).await?),
        Question::Forget { id } => engine.forget_memory(&id).await.map(|_| text(&()))?,
    })
}
