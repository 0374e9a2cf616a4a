//! The worker's part of the context inspector: questions of the page as options of the engine, and the vocabularies, which
//! are fetched when they are first needed.

use js_sys::{Function, Promise, Reflect, Uint8Array};
use threadkeep::KeepError;
use threadkeep::protocol::{ContextOptions, Counting, ErrorReply, WhatIf};
use threadkeep_core::Provider;
use threadkeep_core::context::compress::CompressOptions;
use threadkeep_core::context::{Budget, MessageRef, Policy, Preview};
use threadkeep_core::tokens::Encoding;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::Engine;
use crate::wire::{Fitted, Inspect, Payload, Question, Reply, Side};

/// How many tokens more the page asks about.
const MORE: u64 = 1000;

/// The way to count at this place of [`ENCODINGS`](crate::inspect::ENCODINGS).
fn counting(at: u32) -> Counting {
    match at {
        0 => Counting::Exact(Encoding::O200k),
        1 => Counting::Exact(Encoding::Cl100k),
        _ => Counting::Estimate,
    }
}

fn options(question: &Question) -> ContextOptions {
    let settings = &question.settings;
    let mut options = ContextOptions::default();
    let build = &mut options.build;
    build.provider = Provider::ALL.get(settings.provider as usize).copied().unwrap_or_default();
    build.budget = Budget {
        max_tokens: settings.tokens,
        max_messages: settings.messages,
        max_chars: settings.chars,
        ..Budget::default()
    };
    build.policy = policy(settings.stable);
    build.preview = settings.preview.then(Preview::default);
    build.compress = settings.compress.then(CompressOptions::default);
    options.encoding = counting(settings.encoding);
    options.pins = question.pins.iter().map(|pin| MessageRef::Node(pin.to_string())).collect();
    options
}

fn policy(stable: bool) -> Policy {
    if stable { Policy::Stable } else { Policy::Newest }
}

/// Answers a question of the inspector.
pub async fn answer(engine: &Engine, asked: Inspect) -> Result<Reply, ErrorReply> {
    let answer = match asked {
        Inspect::Fit(question) => fit(engine, *question).await.map(|fitted| Reply::Fitted(Box::new(fitted))),
        Inspect::Payload(question) => payload(engine, &question).await.map(Reply::Payload),
        // Its failures are the network's.
        Inspect::Vocabulary(encoding) => return fetch(engine, encoding).await.map(|()| Reply::Done),
    };
    answer.map_err(|error| error.reply())
}

/// What a budget keeps, and what the other policy would.
async fn fit(engine: &Engine, question: Question) -> Result<Fitted, KeepError> {
    let mut options = options(&question);
    let leaf = question.leaf.as_str();
    let what_if = WhatIf { survives: question.selected.map(|at| at as usize), more: Some(MORE), costs: false };
    let mut sides = Vec::new();
    let mut chosen = None;
    // The chosen policy comes last: the engine then has its counts uppermost.
    for stable in [!question.settings.stable, question.settings.stable] {
        options.build.policy = policy(stable);
        let reply = engine.fit(leaf, &options, what_if).await?;
        sides.push(Side::new(&reply));
        chosen = Some(reply);
    }
    if !question.settings.stable {
        sides.reverse();
    }
    let leaf = question.leaf.clone();
    chosen.map(|reply| Fitted::new(leaf, &reply, sides)).ok_or(KeepError::MissingNode(question.leaf))
}

/// The payload as text.
async fn payload(engine: &Engine, question: &Question) -> Result<Payload, KeepError> {
    let reply = engine.context(question.leaf.as_str(), &options(question)).await?;
    Ok(Payload {
        text: reply.payload.to_string(),
        warnings: reply.warnings.into_iter().map(|warning| warning.message).collect(),
    })
}

/// Fetches a vocabulary and gives it to the engine.
async fn fetch(engine: &Engine, encoding: u32) -> Result<(), ErrorReply> {
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
