//! The one class: a handle on an open [`Keep`]. Every method returns a promise at once; calls may overlap.

use std::ops::ControlFlow;
use std::sync::Arc;

use js_sys::{Array, Function, Promise, Uint8Array};
use serde_json::json;
use threadkeep::{Keep, Options, Sharing};
use threadkeep_archive::Format;
use threadkeep_archive::write::Target;
use threadkeep_core::transcript::Part;
use threadkeep_core::{MessageId, Messages};
use threadkeep_parts::part;
use threadkeep_store::foreign::{commit_from, records, scan_from};
use wasm_bindgen::prelude::*;

use crate::agent::{self, AgentHandle, AgentHost};
use crate::cancel::Canceller;
use crate::error::{bad_id, bad_request, json as to_json, keep_error, own_error, part_missing, unwritten};
use crate::executor::{Answer, promise};
use crate::host::Platform;
use crate::source::{JsSource, SourceObject};
use crate::store::AnyStore;
use crate::{manage, prompt, search, store};
use threadkeep::protocol::{
    CompactionRequest, JournalRequest, MailRequest, MemoryRequest, PromptRequest, Request, SearchRequest,
    SettingsRequest, Start, WhatIfRequest,
};

/// An open keep. Rejections are the JSON text of an `ErrorReply`.
#[wasm_bindgen]
pub struct Engine {
    keep: Keep<AnyStore>,
    beginning: &'static str,
}

#[wasm_bindgen]
impl Engine {
    /// Opens a keep. `kind` is `memory`, `indexeddb` or `adapter`; `name` names the database; `cache_bytes` is how many
    /// bytes of transcripts stay in memory, the engine's default without it; `scope` is the only part of the place that the keep sees.
    /// → an `Engine`
    pub fn open(
        kind: String,
        name: String,
        adapter: JsValue,
        cache_bytes: Option<f64>,
        scope: Option<String>,
    ) -> Promise {
        promise(async move {
            let host = Platform::check()?;
            let (store, beginning) = store::open(&kind, &name, adapter, scope.as_deref()).await?;
            let mut options = Options::default();
            if let Some(bytes) = cache_bytes {
                // Saturates: beyond what a wasm module can address there is no difference.
                options.cache_bytes = bytes as usize;
            }
            let keep = Keep::open(store, host, options).await.map_err(|error| keep_error(&error))?;
            Ok(JsValue::from(Self { keep, beginning }))
        })
    }

    /// What opening found: `existing`, `created`, `wiped` or `unknown`.
    #[wasm_bindgen(getter)]
    pub fn beginning(&self) -> String {
        self.beginning.to_owned()
    }

    /// Carries out a request: the name of a method and the JSON text of its parameters, in UTF-8 (of which the platform copies a long
    /// one into the module at once; a string goes there a character at a time). → JSON text of the `Response`; of `getRange` a list of JSON texts, each a list of messages
    pub fn call(&self, method: String, params: Vec<u8>) -> Promise {
        let keep = self.keep.clone();
        promise(async move {
            let params = text(params)?;
            let prompts = [
                PromptRequest::methods(),
                MemoryRequest::methods(),
                CompactionRequest::methods(),
                SettingsRequest::methods(),
                JournalRequest::methods(),
                WhatIfRequest::methods(),
            ];
            if prompts.iter().any(|methods| methods.contains(&method.as_str())) {
                return prompt::load().await?.answer(keep, method, params).await;
            }
            if SearchRequest::methods().contains(&method.as_str()) {
                return search::answer(keep, method, params).await.map_err(|_| part_missing("search"))?.await;
            }
            if MailRequest::methods().contains(&method.as_str()) {
                return agent::answer(keep, method, params).await.map_err(|_| part_missing("agent"))?.await;
            }
            answer(keep, &method, params).await
        })
    }

    /// What [`Engine::call`] does for the method `append`, but for what whoever asks has or can tell: the messages and what
    /// all nodes have in common. → JSON text of an `Appended`
    pub fn append(&self, params: Vec<u8>) -> Promise {
        let keep = self.keep.clone();
        promise(async move {
            let params = Arc::new(text(params)?);
            // Texts are copied to the log as they came.
            let (rest, quick) = beside_messages(&params).unzip();
            let rest = rest.as_deref().unwrap_or(&params);
            let Request::Append { head, messages, after, expect } =
                Request::read("append", rest).map_err(bad_request)?
            else {
                return Err(own_error("internal", "append was read as another method", json!({})));
            };
            let each = quick.unwrap_or_else(|| Messages::each(messages));
            let appended = keep.append_brief(&head, each, &Start { after, expect }).await;
            to_json(&appended.map_err(|error| keep_error(&error))?)
        })
    }

    /// Compacts a chain: the JSON text of a `CompactCall`. `ask` is a model, if one is to summarise: it is called with the JSON text of
    /// `{messages, text, words, part, parts}`, and promises the JSON text of the message with which the model answers, or
    /// rejects with words. → JSON text of what was done
    pub fn compact(&self, params: String, ask: Option<Function>, cancel: &Canceller) -> Promise {
        let (keep, cancel) = (self.keep.clone(), cancel.handle());
        promise(async move { prompt::load().await?.compact(keep, params, ask, cancel).await })
    }

    /// An agent in this keep: the JSON text of its parameters, and its model and tools. → an `AgentHandle`
    pub fn agent(&self, params: String, host: AgentHost) -> Promise {
        let keep = self.keep.clone();
        promise(async move {
            let memory = prompt::load().await?.memory(keep.clone());
            let made = agent::make(keep, memory, params, host).await.map_err(|_| part_missing("agent"))?;
            Ok(JsValue::from(AgentHandle(made?)))
        })
    }

    /// Imports what another keep of the same owner exported, trusted like what is here. → JSON text of the `ImportReport`
    #[wasm_bindgen(js_name = importOwn)]
    pub fn import_own(&self, source: SourceObject) -> Promise {
        let keep = self.keep.clone();
        promise(async move { own(keep, source).await.map_err(|_| part_missing("archives"))?.await })
    }

    /// Imports archives, of the format named or of the one that is found. `progress` is called with the JSON text of an
    /// `ImportProgress`, and ends the import by answering `true`. → JSON text of the `ImportReport`
    #[wasm_bindgen(js_name = importArchives)]
    pub fn import_archives(
        &self,
        sources: Vec<SourceObject>,
        format: Option<String>,
        progress: Option<Function>,
    ) -> Promise {
        let keep = self.keep.clone();
        promise(async move {
            let importing = import(keep, sources, format, progress).await;
            importing.map_err(|_| part_missing("archives"))?.await
        })
    }

    /// Writes everything, or one transcript, in Threadkeep's own format: `sink` is called with piece after piece of text. With `leave`,
    /// the numbers of the finds that stay, it is threads alone, without secrets; `also` names what else is looked for, with spaces between.
    /// → the JSON text of a list of [`Secret`](threadkeep::Secret)s with `leave`, an empty list without, after the last piece
    #[wasm_bindgen(js_name = exportArchive)]
    pub fn export_archive(
        &self,
        transcript: Option<String>,
        leave: Option<Vec<u32>>,
        also: &str,
        sink: Function,
    ) -> Promise {
        let (keep, sharing) = (self.keep.clone(), manage::sharing(leave, also));
        promise(async move { manage::load().await?.export(keep, transcript, sharing, sink).await })
    }

    /// Writes everything, or one transcript, in a format of others: `openai-messages`, `sharegpt`, `markdown` (all `branches` or the chosen
    /// ones) or `memory`. `sink` is called with piece after piece of text, and with the file's path where there are several.
    /// `leave`, `also` → as [`Engine::export_archive`]; `memory` takes none
    #[wasm_bindgen(js_name = exportAs)]
    pub fn export_as(
        &self,
        format: String,
        transcript: Option<String>,
        branches: bool,
        leave: Option<Vec<u32>>,
        also: &str,
        sink: Function,
    ) -> Promise {
        let (keep, sharing) = (self.keep.clone(), manage::sharing(leave, also));
        promise(async move {
            let exporting = export_other(keep, format, transcript, branches, sharing, sink).await;
            exporting.map_err(|_| part_missing("archives"))?.await
        })
    }

    /// The value under a key of the records of `name`. → a `Uint8Array`, or `undefined`
    pub fn record(&self, name: String, key: String) -> Promise {
        let keep = self.keep.clone();
        promise(async move {
            let found = keep.record(&name, &key).await.map_err(|error| keep_error(&error))?;
            Ok(found.map_or(JsValue::UNDEFINED, |value| Uint8Array::from(value.as_slice()).into()))
        })
    }

    /// The records of `name` in a range, as an adapter's `scan` gets it; an empty `end` is the end of them all. → a list of `[key, value]`
    #[wasm_bindgen(js_name = scanRecords)]
    pub fn scan_records(&self, name: String, range: JsValue) -> Promise {
        let keep = self.keep.clone();
        promise(async move {
            let found = keep.scan_records(&name, &scan_from(&range)).await.map_err(|error| keep_error(&error))?;
            Ok(records(&found).into())
        })
    }

    /// Carries out a commit, as an adapter's `commit` gets it, on the records of `name`. → `undefined`
    #[wasm_bindgen(js_name = commitRecords)]
    pub fn commit_records(&self, name: String, commit: JsValue) -> Promise {
        let (keep, commit) = (self.keep.clone(), commit_from(&commit));
        promise(async move {
            keep.commit_records(&name, commit).await.map_err(|error| keep_error(&error))?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Lets `listener` be called with the JSON text of each `Event`, after the change is durable.
    #[wasm_bindgen(js_name = onEvent)]
    pub fn on_event(&self, listener: Function) {
        self.keep.on_event(move |event| {
            if let Ok(event) = to_json(event) {
                // The TypeScript hands in a function that does not throw.
                let _ = listener.call1(&JsValue::UNDEFINED, &event);
            }
        });
    }

    /// Lets go of the storage. → `undefined`
    pub fn close(&self) -> Promise {
        let keep = self.keep.clone();
        promise(async move {
            keep.close().await.map_err(|error| keep_error(&error))?;
            Ok(JsValue::UNDEFINED)
        })
    }
}

part! {
    /// Imports; what reads archives is loaded when it is first needed.
    archives: fn import(
        keep: Keep<AnyStore>,
        sources: Vec<SourceObject>,
        format: Option<String>,
        progress: Option<Function>,
    ) -> Answer {
        Box::pin(async move {
            let format = format.map(|format| read_format(&format)).transpose()?;
            let sources = sources.into_iter().map(JsSource::new).collect();
            let report = keep
                .import(sources, format, |state| {
                    let (Some(progress), Ok(state)) = (&progress, to_json(state)) else { return ControlFlow::Continue(()) };
                    // The TypeScript hands in a function that does not throw.
                    match progress.call1(&JsValue::UNDEFINED, &state) {
                        Ok(answer) if answer.is_truthy() => ControlFlow::Break(()),
                        _ => ControlFlow::Continue(()),
                    }
                })
                .await
                .map_err(|error| keep_error(&error))?;
            to_json(&report)
        })
    }
}

part! {
    /// Imports of the same owner.
    archives: fn own(keep: Keep<AnyStore>, source: SourceObject) -> Answer {
        Box::pin(async move {
            let report = keep.import_own(JsSource::new(source)).await.map_err(|error| keep_error(&error))?;
            to_json(&report)
        })
    }
}

part! {
    /// Writes formats of others.
    archives: fn export_other(
        keep: Keep<AnyStore>,
        format: String,
        transcript: Option<String>,
        branches: bool,
        sharing: Option<Sharing>,
        sink: Function,
    ) -> Answer {
        Box::pin(async move {
            let transcript = transcript.map(|id| MessageId::new(id).map_err(|error| bad_id(&error))).transpose()?;
            // The TypeScript hands in a function that does not throw.
            let write = |piece: String, path: JsValue| drop(sink.call2(&JsValue::UNDEFINED, &JsValue::from(piece), &path));
            let whole = |piece| write(piece, JsValue::UNDEFINED);
            let found = match Target::from_name(&format) {
                Some(target) => {
                    keep.export_as(transcript.as_ref(), target, branches, sharing.as_ref(), whole).await
                }
                None if format == Format::Memory.name() => {
                    let write = |path, text| write(text, JsValue::from(path));
                    keep.export_memory(transcript.as_ref(), write).await.map(|()| Vec::new())
                }
                None => return Err(no_format(&format)),
            };
            to_json(&found.map_err(|error| keep_error(&error))?)
        })
    }
}

/// The parameters of an append without its messages, and these, if all are as most are.
fn beside_messages(params: &Arc<String>) -> Option<(String, Vec<Messages>)> {
    let (each, place) = Messages::each_in(params)?;
    Some(([params.get(..place.start)?, params.get(place.end..)?].concat(), each))
}

/// The JSON text of parameters.
fn text(params: Vec<u8>) -> Result<String, JsValue> {
    String::from_utf8(params).map_err(|error| own_error("bad-request", error.to_string(), json!({})))
}

/// Adds to conversations, reads and lists them; the part [`manage`] does the rest. → as [`Engine::call`]
async fn answer(keep: Keep<AnyStore>, method: &str, params: String) -> Result<JsValue, JsValue> {
    let request = Request::read(method, &params).map_err(bad_request)?;
    drop(params);
    let (head, start, end) = match request {
        Request::GetRange { head, start, end } => (head, start, end),
        request => match keep.talk(request).await {
            Ok(answer) => return to_json(&answer.map_err(|error| keep_error(&error))?),
            Err(request) => return manage::load().await?.answer(keep, request).await,
        },
    };
    // Written where they are, since they may be thousands.
    let written = keep.look_at_range(&head, start, end, pieces).await;
    written.map_err(|error| keep_error(&error))?
}

/// A text of so many bytes is handed over, and the next one begun. V8 keeps strings above 128 KB apart from all others, and takes as long to
/// make room for one as to parse it. A character outside Latin-1 doubles a string.
const PIECE: usize = 48 << 10;

/// Messages as a list of texts. Each is the JSON of some of them, in order.
fn pieces(parts: Vec<Part<'_>>) -> Result<JsValue, JsValue> {
    let pieces = Array::new();
    let mut text = String::with_capacity(PIECE + PIECE / 4);
    for (messages, part) in parts {
        if part.is_empty() {
            continue;
        }
        text.push(if text.is_empty() { '[' } else { ',' });
        messages.write(part, &mut text).map_err(|error| unwritten(&error))?;
        if text.len() >= PIECE {
            hand_over(&mut text, &pieces);
        }
    }
    if !text.is_empty() {
        hand_over(&mut text, &pieces);
    }
    Ok(pieces.into())
}

fn hand_over(text: &mut String, pieces: &Array) {
    text.push(']');
    pieces.push(&JsValue::from_str(text));
    text.clear();
}

fn read_format(name: &str) -> Result<Format, JsValue> {
    Format::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Format::all().map(Format::name).collect();
        let message = format!("options.format must be one of {}; it is {name:?}", names.join(", "));
        own_error("bad-request", message, json!({ "argument": "options.format" }))
    })
}

fn no_format(name: &str) -> JsValue {
    own_error("bad-request", format!("there is no format {name:?}"), json!({ "argument": "format" }))
}
