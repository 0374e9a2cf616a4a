//! Prompts: of a keep's chains, and without a store (counting, trimming, compressing, rendering, validating).

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Function, Int32Array, Uint32Array};
use serde_json::{Value, json};
use threadkeep::agent::{Memory, Own, ToolAnswer};
use threadkeep::compact::{Cancel, CompactOptions, Extractive, ModelSummariser, Summariser};
use threadkeep::protocol::{
    BadRequest, CompactCall, CompactionRequest, Counting, JournalRequest, MemoryRequest, PromptRequest,
    SettingsRequest, WhatIfRequest, trim_options,
};
use threadkeep::{Keep, KeepError};
use threadkeep_context::compress::CompressError;
use threadkeep_context::tokens::{Counter, Estimate, cost};
use threadkeep_context::{Item, Ledger, Line, Plan, Prepared, Preparing, compress, opens_with_user};
use threadkeep_core::Message;
use threadkeep_json::own_text;
use threadkeep_provider::{Provider, ProviderError, render_json, validate_json};
use threadkeep_tokens::{Bpe, Encoding};
use wasm_bindgen::JsValue;

use super::model::JsModel;
use super::{LedgerLines, Ledgered, Prompts, Trim};
use crate::error::{bad_request, json as to_json, keep_error};
use crate::executor::Answer;
use crate::search;
use crate::store::AnyStore;

thread_local! {
    /// The vocabularies that were loaded, for all keeps and functions of this instance.
    static VOCABULARIES: RefCell<Vec<Rc<Bpe>>> = const { RefCell::new(Vec::new()) };
}

fn bad(argument: &str, why: &str) -> JsValue {
    bad_request(BadRequest { argument: argument.to_owned(), why: why.to_owned() })
}

fn counting(name: &str) -> Result<Counting, JsValue> {
    Counting::from_name(name).ok_or_else(|| bad("encoding", "must be one of o200k_base, cl100k_base, estimate"))
}

fn provider(name: &str) -> Result<Provider, JsValue> {
    Provider::from_name(name)
        .ok_or_else(|| bad("provider", "must be one of openai-chat, openai-responses, anthropic, gemini, ollama"))
}

fn parse(argument: &str, text: &str) -> Result<Value, JsValue> {
    serde_json::from_str(text).map_err(|error| bad(argument, &["cannot be read: ", &error.to_string()].concat()))
}

fn write(value: &Value) -> String {
    value.to_string()
}

fn messages(text: &str, first: usize) -> Result<Vec<Message>, JsValue> {
    let Value::Array(list) = parse("messages", text)? else { return Err(bad("messages", "must be a list")) };
    let mut messages = Vec::with_capacity(list.len());
    for (at, value) in list.into_iter().enumerate() {
        match Message::from_json(value) {
            Ok(message) => messages.push(message),
            Err(error) => {
                let place = ["messages[", &(first + at).to_string(), "]"].concat();
                return Err(bad(&place, &["is no message: ", &error.to_string()].concat()));
            }
        }
    }
    Ok(messages)
}

fn counter(counting: Counting) -> Result<Rc<dyn Counter>, JsValue> {
    let Counting::Exact(encoding) = counting else { return Ok(Rc::new(Estimate)) };
    let found = VOCABULARIES.with_borrow(|all| all.iter().find(|bpe| bpe.encoding() == encoding).cloned());
    match found {
        Some(bpe) => Ok(bpe),
        None => Err(keep_error(&KeepError::MissingVocabulary(encoding))),
    }
}

/// All of it; it has no state of its own.
pub(super) struct Part;

impl Prompts for Part {
    fn answer(&self, keep: Keep<AnyStore>, method: String, params: String) -> Answer {
        Box::pin(async move {
            furnish(&keep);
            let method = method.as_str();
            if CompactionRequest::methods().contains(&method) {
                let request = CompactionRequest::read(method, &params).map_err(bad_request)?;
                return Ok(data(keep.compacting(request).await.map_err(|error| keep_error(&error))?));
            }
            if MemoryRequest::methods().contains(&method) {
                let request = MemoryRequest::read(method, &params).map_err(bad_request)?;
                return to_json(&keep.remembering(request).await.map_err(|error| keep_error(&error))?);
            }
            if SettingsRequest::methods().contains(&method) {
                let request = SettingsRequest::read(method, &params).map_err(bad_request)?;
                return Ok(data(keep.setting(request).await.map_err(|error| keep_error(&error))?));
            }
            if JournalRequest::methods().contains(&method) {
                let request = JournalRequest::read(method, &params).map_err(bad_request)?;
                return Ok(data(Box::pin(keep.journal(request)).await.map_err(|error| keep_error(&error))?));
            }
            if WhatIfRequest::methods().contains(&method) {
                let request = WhatIfRequest::read(method, &params).map_err(bad_request)?;
                return Ok(data(Box::pin(keep.what_if(request)).await.map_err(|error| keep_error(&error))?));
            }
            let request = PromptRequest::read(method, &params).map_err(bad_request)?;
            drop(params);
            let PromptRequest::Context { at, options } = request else {
                return to_json(&keep.prompt(request).await.map_err(|error| keep_error(&error))?);
            };
            let reply = keep.context_of(&at, *options).await.map_err(|error| keep_error(&error))?;
            let data = data(reply.to_json_without_ledger());
            let lines = LedgerLines::new(Box::new(Lines(reply.ledger)));
            Ok(Array::of2(&data, &lines.into()).into())
        })
    }

    fn compact(&self, keep: Keep<AnyStore>, params: String, ask: Option<Function>, cancel: Cancel) -> Answer {
        Box::pin(async move {
            furnish(&keep);
            let call = CompactCall::read(&params).map_err(bad_request)?;
            drop(params);
            let options = keep.compact_options(&call).await.map_err(|error| keep_error(&error))?;
            let options = CompactOptions { cancel: Some(cancel), ..options };
            let summariser: Box<dyn Summariser> = match ask {
                None => Box::new(Extractive),
                Some(ask) => {
                    let asked = ModelSummariser::new(Rc::new(JsModel::new(ask, &call)));
                    Box::new(if call.fallback == Some(false) { asked.strict() } else { asked })
                }
            };
            let done = keep.compact(&call.at, &options, &*summariser).await;
            Ok(data(done.map_err(|error| keep_error(&error))?.to_json()))
        })
    }

    fn memory(&self, keep: Keep<AnyStore>) -> Rc<dyn Memory> {
        furnish(&keep);
        let own = keep.clone();
        // Search lies in a part of its own, which is loaded when it is first asked for.
        let search = move |wanted| -> ToolAnswer<'static> {
            let keep = own.clone();
            Box::pin(async move {
                let found = search::found(keep, wanted).await;
                found.map_err(|_| "the search could not be loaded".to_owned())?.await
            })
        };
        Rc::new(Own::searching(keep, Rc::new(search)))
    }

    fn load_vocabulary(&self, encoding: &str, asset: &[u8]) -> Result<(), JsValue> {
        let Some(encoding) = Encoding::from_name(encoding) else {
            return Err(bad("encoding", "must be o200k_base or cl100k_base"));
        };
        if VOCABULARIES.with_borrow(|all| all.iter().any(|bpe| bpe.encoding() == encoding)) {
            return Ok(());
        }
        let bpe = Bpe::load(encoding, asset).map_err(|error| bad("source", &error.to_string()))?;
        VOCABULARIES.with_borrow_mut(|all| all.push(Rc::new(bpe)));
        Ok(())
    }

    fn count_text(&self, text: &str, encoding: &str) -> Result<u32, JsValue> {
        Ok(counter(counting(encoding)?)?.count(text))
    }

    fn count_messages(&self, list: &str, to: &str, encoding: &str) -> Result<f64, JsValue> {
        let (provider, counter) = (provider(to)?, counter(counting(encoding)?)?);
        let each = |message: &Message| u64::from(cost(message, provider, counter.as_ref()).total());
        // Below 2^53: it is a count of what lies in this memory.
        Ok(messages(list, 0)?.iter().map(each).sum::<u64>() as f64)
    }

    fn compress_history(&self, turns: &str, options: &str) -> Result<String, JsValue> {
        let compressed = compress::compress_history(parse("turns", turns)?, &parse("options", options)?);
        compressed.map(|compressed| write(&compressed)).map_err(|error| match &error {
            CompressError::Value { place, expected } => bad(place, &["must be ", expected].concat()),
            CompressError::UnknownOption { name } => bad(&["options.", name].concat(), "is not known here"),
        })
    }

    fn render(&self, list: &str, provider: &str, options: &str) -> Result<String, JsValue> {
        let rendered = render_json(&parse("messages", list)?, provider, &parse("options", options)?);
        rendered.map(|rendered| write(&rendered)).map_err(|error| provider_error(&error))
    }

    fn validate(&self, value: &str, provider: &str) -> Result<String, JsValue> {
        let said = validate_json(&parse("payload", value)?, provider);
        said.map(|said| write(&said)).map_err(|error| provider_error(&error))
    }

    fn replay_case(&self, file: &str) -> Result<String, JsValue> {
        let replay = VOCABULARIES.with_borrow(|all| threadkeep::replay_case(file, all));
        Ok(own_text(&replay.map_err(|error| keep_error(&error))?))
    }

    fn trimmer(&self, options: &str) -> Result<Box<dyn Trim>, JsValue> {
        Ok(Box::new(Trimming::new(options)?))
    }
}

/// The ledger of a prompt, until somebody reads it.
struct Lines(Ledger);

impl Ledgered for Lines {
    fn lines(&self) -> String {
        Value::Array(self.0.iter().map(Line::to_json).collect()).to_string()
    }
}

/// An answer as JSON text `{data}`.
fn data(value: Value) -> JsValue {
    JsValue::from([r#"{"data":"#, &write(&value), "}"].concat())
}

/// Hands a keep what was loaded since it was last asked, and says how it finds what loads later.
pub(super) fn furnish(keep: &Keep<AnyStore>) {
    keep.load_ranking_with(search::load_ranking);
    VOCABULARIES.with_borrow(|all| {
        for bpe in all.iter().filter(|bpe| !keep.has_vocabulary(bpe.encoding())) {
            keep.add_vocabulary(Rc::clone(bpe));
        }
    });
}

fn provider_error(error: &ProviderError) -> JsValue {
    let argument = match error {
        ProviderError::UnknownOption(name) | ProviderError::Option { option: name, .. } => ["options.", name].concat(),
        ProviderError::Message { index, .. } => ["messages[", &index.to_string(), "]"].concat(),
        _ => error.argument().to_owned(),
    };
    crate::error::own_error("bad-request", error.to_string(), json!({ "argument": argument }))
}

/// A list of messages, read and counted once, to be trimmed again and again. The messages stay with JavaScript: what goes
/// back are their places.
struct Trimming {
    messages: Vec<Message>,
    prepared: Prepared,
    preparing: Preparing,
    counter: Rc<dyn Counter>,
}

impl Trimming {
    /// An empty list, for options of `trimMessages` of which provider, encoding and includeSystem hold for good.
    fn new(options: &str) -> Result<Self, JsValue> {
        let (options, counting) = trim_options(options).map_err(bad_request)?;
        let preparing = options.preparing();
        let counter = counter(counting)?;
        let prepared = Prepared::new(&[], preparing.clone(), counter.as_ref());
        Ok(Self { messages: Vec::new(), prepared, preparing, counter })
    }
}

impl Trim for Trimming {
    fn push(&mut self, list: &str) -> Result<(), JsValue> {
        self.messages.append(&mut messages(list, self.messages.len())?);
        let items: Vec<Item> = self.messages.iter().map(Item::new).collect();
        self.prepared.extend(&items, self.counter.as_ref());
        Ok(())
    }

    fn truncate(&mut self, length: usize) {
        let known: Vec<_> = (0..length).map(|index| self.prepared.known_cost(index)).collect();
        self.messages.truncate(length);
        let items: Vec<Item> =
            self.messages.iter().zip(known).map(|(message, cost)| Item { cost, ..Item::new(message) }).collect();
        self.prepared = Prepared::new(&items, self.preparing.clone(), self.counter.as_ref());
    }

    fn fit(&self, options: &str) -> Result<Array, JsValue> {
        let (options, _) = trim_options(options).map_err(bad_request)?;
        let plan = Plan {
            budget: options.budget,
            policy: options.policy,
            pins: &options.pins,
            opens_with_user: opens_with_user(self.preparing.provider),
            ..Plan::default()
        };
        let fit = self.prepared.fit(&plan);
        let (mut rules, mut made): (Vec<&str>, Vec<Value>) = (Vec::new(), Vec::new());
        let mut order = Vec::with_capacity(self.messages.len());
        let mut ledger = Vec::with_capacity(self.messages.len() * 5);
        for (mark, shown) in self.prepared.shown(&fit) {
            let rule = match rules.iter().rposition(|rule| *rule == mark.rule) {
                Some(rule) => rule,
                None => {
                    rules.push(mark.rule);
                    rules.len() - 1
                }
            };
            // JavaScript has the same list of actions.
            let action = mark.action as u32;
            ledger.extend([mark.index as u32, action, rule as u32, mark.tokens_before, mark.tokens_after]);
            match shown {
                _ if !mark.kept => {}
                Some(message) => {
                    order.push(-1 - made.len() as i32);
                    made.push(message.to_json());
                }
                None => order.push(mark.index as i32),
            }
        }
        let said = json!({
            "made": made,
            "rules": rules,
            "tokens": fit.figures.tokens,
            "chars": fit.figures.chars,
            "budget": threadkeep::protocol::limits_json(&fit.limits),
            "overBudget": fit.over_budget,
            "kinds": self.prepared.kinds(&fit).to_json(),
        });
        let order = Int32Array::from(order.as_slice());
        let ledger = Uint32Array::from(ledger.as_slice());
        Ok(Array::of3(&JsValue::from(write(&said)), &order.into(), &ledger.into()))
    }
}
