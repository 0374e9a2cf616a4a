//! The worker's part of the context inspector: questions of the page as options of the engine, and the vocabularies, which
//! are fetched when they are first needed.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use js_sys::{Function, Promise, Reflect, Uint8Array};
use threadkeep::KeepError;
use threadkeep::agent::built_in_tools;
use threadkeep::protocol::{ContextOptions, Counting, ErrorReply, WhatIf};
use threadkeep_context::Policy;
use threadkeep_core::MessageId;
use threadkeep_core::read::Off;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::Engine;
use crate::inspect::{Instructions, Settings, counting, read_pins};
use crate::wire::{Fitted, Inspect, Payload, Question, Reply};

/// How many tokens more the page asks about.
const MORE: u64 = 1000;

/// From how many messages on a step of the slider takes long enough to be noticed.
const LONG: usize = 1000;

/// Whether a long chain was decided upon a few times.
static WARM: AtomicBool = AtomicBool::new(false);

/// The engine's options for what the reader has set.
pub async fn options(engine: &Engine, question: &Question) -> Result<ContextOptions, KeepError> {
    let mut own = question.settings.options();
    own.epoch.clone_from(&question.epoch);
    if own.epoch.is_some() {
        // What is remembered today was not in the prompts of an epoch.
        own.memory = Some(Off::Off);
    }
    if !question.tools.is_empty() {
        own.tools = Some(built_in_tools(&question.tools));
    }
    engine.options_at(question.leaf.as_str(), own).await
}

/// Answers a question of the inspector.
pub async fn answer(engine: &Engine, asked: Inspect) -> Result<Reply, ErrorReply> {
    let answer = match asked {
        Inspect::Fit(question) => fit(engine, *question).await.map(|fitted| Reply::Fitted(Box::new(fitted))),
        Inspect::Payload(question) => payload(engine, &question).await.map(Reply::Payload),
        // Its failures are the network's.
        Inspect::Vocabulary(encoding) => return fetch(engine, encoding).await.map(|()| Reply::Done),
        Inspect::Settings(old) => settings(engine, &old).await.map(Reply::Settings),
        Inspect::Set(settings) => set(engine, settings).await.map(|()| Reply::Done),
        Inspect::Instructions => {
            let stored = engine.own_context_options(None).await;
            stored.map(|stored| Reply::Instructions(Instructions::of(&stored)))
        }
        Inspect::Instruct(instructions) => instruct(engine, &instructions).await.map(|()| Reply::Done),
        Inspect::Pin { nodes, old } => pin(engine, nodes, &old).await.map(|()| Reply::Done),
    };
    answer.map_err(|error| error.reply())
}

/// What is stored, after the settings of an older version of the page are.
async fn settings(engine: &Engine, old: &str) -> Result<Settings, KeepError> {
    if !old.is_empty() {
        let old = Settings::read(old);
        return set(engine, old).await.map(|()| old);
    }
    Ok(Settings::of(&engine.own_context_options(None).await?))
}

async fn pin(engine: &Engine, nodes: Vec<(MessageId, bool)>, old: &str) -> Result<(), KeepError> {
    for (node, pinned) in nodes.into_iter().chain(read_pins(old).into_iter().map(|node| (node, true))) {
        match engine.pin_node(&node, pinned).await {
            // Somebody deleted it, and its pin with it.
            Ok(()) | Err(KeepError::MissingNode(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Stores what the reader has set.
async fn set(engine: &Engine, settings: Settings) -> Result<(), KeepError> {
    let before = engine.own_context_options(None).await?;
    engine.set_context_options(None, &settings.stored(&before)?).await
}

/// Stores what stands before each prompt.
async fn instruct(engine: &Engine, instructions: &Instructions) -> Result<(), KeepError> {
    let before = engine.own_context_options(None).await?;
    engine.set_context_options(None, &instructions.stored(&before)?).await
}

/// What a budget keeps, and what the other policy would.
async fn fit(engine: &Engine, question: Question) -> Result<Fitted, KeepError> {
    let what_if = WhatIf {
        survives: question.selected.map(|at| at as usize),
        more: Some(MORE),
        costs: false,
        policy: Some(if question.settings.stable() { Policy::Newest } else { Policy::Stable }),
    };
    let mut options = options(engine, &question).await?;
    let reply = engine.fit(question.leaf.as_str(), &options, what_if).await?;
    if reply.length > LONG && !WARM.swap(true, Relaxed) {
        // What has run a few times the browser compiles anew, to something several times as quick. It does so now, while
        // the pane opens, rather than in the first steps of the slider.
        options.build.budget.max_tokens = Some(reply.whole.tokens / 2);
        for _ in 0..3 {
            engine.fit(question.leaf.as_str(), &options, what_if).await?;
        }
    }
    let pins = engine.pins(question.leaf.as_str()).await?;
    Ok(Fitted::new(question.leaf, &reply, pins))
}

/// The payload as text.
async fn payload(engine: &Engine, question: &Question) -> Result<Payload, KeepError> {
    let reply = engine.context(question.leaf.as_str(), &options(engine, question).await?).await?;
    Ok(Payload {
        text: reply.payload.to_string(),
        warnings: reply.warnings.into_iter().map(|warning| warning.message).collect(),
    })
}

/// Fetches a vocabulary and gives it to the engine.
pub async fn fetch(engine: &Engine, encoding: u32) -> Result<(), ErrorReply> {
    let Counting::Exact(encoding) = counting(encoding) else { return Ok(()) };
    if engine.has_vocabulary(encoding) {
        return Ok(());
    }
    let bytes = download(encoding.name()).await.map_err(|error| ErrorReply {
        code: "vocabulary-unreachable".to_owned(),
        message: error.dyn_into::<js_sys::Error>().map(|error| String::from(error.message())).unwrap_or_default(),
        details: serde_json::Value::Null,
    })?;
    engine.load_vocabulary(encoding, &bytes).map_err(|error| error.reply())
}

/// The asset, unpacked. The worker's loader does that: what only joins the browser's own parts is shorter there.
async fn download(name: &str) -> Result<Vec<u8>, JsValue> {
    let loader: Function = Reflect::get(&js_sys::global(), &"vocabulary".into())?.dyn_into()?;
    let promise: Promise = loader.call1(&JsValue::UNDEFINED, &name.into())?.dyn_into()?;
    Ok(Uint8Array::new(&JsFuture::from(promise).await?).to_vec())
}
