//! The worker's part of the context inspector: questions of the page as options of the engine, and the vocabularies, which
//! are fetched when they are first needed.

use js_sys::{Array, Function, Reflect, Uint8Array};
use threadkeep::KeepError;
use threadkeep::protocol::{ContextOptions, Counting, ErrorReply, WhatIf};
use threadkeep_core::Provider;
use threadkeep_core::context::compress::CompressOptions;
use threadkeep_core::context::{Budget, MessageRef, Policy, Preview};
use threadkeep_core::tokens::Encoding;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, DedicatedWorkerGlobalScope, Response};

use super::Engine;
use crate::wire::{Fitted, Payload, Question, Side};

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

/// What a budget keeps, and what the other policy would.
pub async fn fit(engine: &Engine, question: Question) -> Result<Fitted, KeepError> {
    let mut options = options(&question);
    let leaf = question.leaf.as_str();
    let what_if = WhatIf { survives: question.selected.map(|at| at as usize), more: Some(MORE), costs: false };
    let reply = engine.fit(leaf, &options, what_if).await?;
    options.build.policy = policy(!question.settings.stable);
    let other = engine.fit(leaf, &options, WhatIf::default()).await?;
    let mut sides = vec![Side::new(&reply), Side::new(&other)];
    if question.settings.stable {
        sides.reverse();
    }
    Ok(Fitted::new(question.leaf, &reply, sides))
}

/// The payload as text.
pub async fn payload(engine: &Engine, question: &Question) -> Result<Payload, KeepError> {
    let reply = engine.context(question.leaf.as_str(), &options(question)).await?;
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

/// The asset, unpacked.
async fn download(name: &str) -> Result<Vec<u8>, JsValue> {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let address = ["./vocabulary/", name, ".gz"].concat();
    let response: Response = JsFuture::from(scope.fetch_with_str(&address)).await?.dyn_into()?;
    if !response.ok() {
        return Err(js_sys::Error::new(&["status ", &response.status().to_string()].concat()).into());
    }
    let blob: Blob = JsFuture::from(response.blob()?).await?.dyn_into()?;
    let start = JsFuture::from(blob.slice_with_i32_and_i32(0, 2)?.array_buffer()).await?;
    // Some servers say that it is packed, and then the browser has unpacked it already.
    let packed = Uint8Array::new(&start).to_vec() == [0x1f, 0x8b];
    let buffer = if packed {
        // Not among the typed bindings that are stable.
        let opener: Function = Reflect::get(&scope, &"DecompressionStream".into())?.dyn_into()?;
        let opener = Reflect::construct(&opener, &Array::of1(&"gzip".into()))?;
        let opened = blob.stream().pipe_through(opener.unchecked_ref());
        let opened = Response::new_with_opt_readable_stream(Some(&opened))?;
        JsFuture::from(opened.array_buffer()?).await?
    } else {
        JsFuture::from(blob.array_buffer()).await?
    };
    Ok(Uint8Array::new(&buffer).to_vec())
}
