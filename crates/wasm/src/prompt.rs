//! The functions for prompts that JavaScript calls. What they do lies in a part of the module of its own ([`part`]), which is
//! loaded when a prompt is first asked for: most who keep conversations never build one. They reach it through [`Prompts`]
//! alone, so that whoever cuts the module apart finds no other way in.
//!
//! Plain data as JSON text goes in and comes out; what fails is thrown as the JSON text of an `ErrorReply`.

mod agent;
mod model;
mod part;

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Function, Promise};
use serde_json::json;
use threadkeep::Keep;
use threadkeep::compact::Cancel;
use threadkeep_parts::part;
use wasm_bindgen::prelude::*;

use crate::error::{own_error, part_missing};
use crate::executor::{Answer, promise};
use crate::store::AnyStore;

/// What the part brings. The exported functions of the same names say what each does.
pub(crate) trait Prompts {
    /// Answers a [`PromptRequest`] of a keep.
    fn answer(&self, keep: Keep<AnyStore>, method: String, params: String) -> Answer;
    /// Compacts a chain: by the function, if there is one, until it is cancelled.
    fn compact(&self, keep: Keep<AnyStore>, params: String, ask: Option<Function>, cancel: Cancel) -> Answer;
    /// An agent whose model and tools are an object's.
    fn agent(&self, keep: Keep<AnyStore>, params: String, host: AgentHost) -> Result<Rc<dyn Working>, JsValue>;
    fn load_vocabulary(&self, encoding: &str, asset: &[u8]) -> Result<(), JsValue>;
    fn count_text(&self, text: &str, encoding: &str) -> Result<u32, JsValue>;
    fn count_messages(&self, list: &str, to: &str, encoding: &str) -> Result<f64, JsValue>;
    fn compress_history(&self, turns: &str, options: &str) -> Result<String, JsValue>;
    fn render(&self, list: &str, provider: &str, options: &str) -> Result<String, JsValue>;
    fn validate(&self, value: &str, provider: &str) -> Result<String, JsValue>;
    fn trimmer(&self, options: &str) -> Result<Box<dyn Trim>, JsValue>;
}

/// An agent; see [`AgentHandle`].
pub(crate) trait Working {
    fn catch_up(&self) -> Answer;
    fn anew(&self, node: String, go_on: bool) -> Answer;
    fn stop(&self);
}

pub(crate) trait Trim {
    fn push(&mut self, list: &str) -> Result<(), JsValue>;
    fn truncate(&mut self, length: usize);
    fn fit(&self, options: &str) -> Result<Array, JsValue>;
}

#[wasm_bindgen]
extern "C" {
    /// The model and the tools of an agent.
    pub type AgentHost;
    /// Asks the model: the JSON text of `{model, provider, messages, payload, tools}`. `hear` may be called with the JSON text of
    /// `{text}`, `{reasoning}` or `{index, name, arguments}`. Promises the JSON text of `{message, usage?, finish?}`, or rejects with that
    /// of `{code, message, partial?}`.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn ask(this: &AgentHost, json: String, call: f64, hear: &Function) -> Result<Promise, JsValue>;
    /// Uses a tool: the JSON text of `{id, name, arguments, node}`. Promises JSON text, or rejects with words.
    #[wasm_bindgen(method, catch, js_name = "use")]
    pub(crate) fn use_tool(this: &AgentHost, json: String, call: f64) -> Result<Promise, JsValue>;
    /// A call is no longer waited for. Does not throw.
    #[wasm_bindgen(method)]
    pub(crate) fn end(this: &AgentHost, call: f64);
    /// Something happened: the JSON text of an event. Does not throw.
    #[wasm_bindgen(method)]
    pub(crate) fn tell(this: &AgentHost, json: String);
}

/// An agent that works in this keep.
#[wasm_bindgen]
pub struct AgentHandle(pub(crate) Rc<dyn Working>);

#[wasm_bindgen]
impl AgentHandle {
    /// Answers what has no answer yet. → how many turns were carried out
    #[wasm_bindgen(js_name = catchUp)]
    pub fn catch_up(&self) -> Promise {
        promise(self.0.catch_up())
    }

    /// Answers once more what a node answered, as a branch. → JSON text of the new node
    pub fn again(&self, node: String) -> Promise {
        promise(self.0.anew(node, false))
    }

    /// Goes on below a node. → JSON text of the new node
    #[wasm_bindgen(js_name = goOn)]
    pub fn go_on(&self, node: String) -> Promise {
        promise(self.0.anew(node, true))
    }

    /// Ends the turn that is under way.
    pub fn stop(&self) {
        self.0.stop();
    }
}

thread_local! {
    static PART: Cell<Option<&'static dyn Prompts>> = const { Cell::new(None) };
}

part! {
    /// The way into the part.
    prompts: fn enter() -> &'static dyn Prompts {
        &part::Part
    }
}

/// Loads the part, unless it is there.
pub(crate) async fn load() -> Result<&'static dyn Prompts, JsValue> {
    let prompts = enter().await.map_err(|_| part_missing("prompts"))?;
    PART.set(Some(prompts));
    Ok(prompts)
}

fn part() -> Result<&'static dyn Prompts, JsValue> {
    PART.get().ok_or_else(|| own_error("not-initialised", "the part for prompts is not loaded yet", json!({})))
}

/// Loads what the functions for prompts need. → `undefined`
#[wasm_bindgen(js_name = loadPrompts)]
pub fn load_prompts() -> Promise {
    promise(async { load().await.map(|_| JsValue::UNDEFINED) })
}

/// Loads a vocabulary: the asset `<encoding>.gz`, unpacked. Loading it again does nothing.
#[wasm_bindgen(js_name = loadVocabulary)]
pub fn load_vocabulary(encoding: &str, asset: &[u8]) -> Result<(), JsValue> {
    part()?.load_vocabulary(encoding, asset)
}

/// The tokens of a text.
#[wasm_bindgen(js_name = countText)]
pub fn count_text(text: &str, encoding: &str) -> Result<u32, JsValue> {
    part()?.count_text(text, encoding)
}

/// The tokens of messages as a provider is sent them.
#[wasm_bindgen(js_name = countMessages)]
pub fn count_messages(list: &str, to: &str, encoding: &str) -> Result<f64, JsValue> {
    part()?.count_messages(list, to, encoding)
}

/// Compresses a history of code turns.
#[wasm_bindgen(js_name = compressHistory)]
pub fn compress_history(turns: &str, options: &str) -> Result<String, JsValue> {
    part()?.compress_history(turns, options)
}

/// Renders messages for a provider.
#[wasm_bindgen]
pub fn render(list: &str, provider: &str, options: &str) -> Result<String, JsValue> {
    part()?.render(list, provider, options)
}

/// Validates messages (a list) or a payload (an object).
#[wasm_bindgen]
pub fn validate(value: &str, provider: &str) -> Result<String, JsValue> {
    part()?.validate(value, provider)
}

/// A list of messages, read and counted once, to be trimmed again and again. The messages stay with JavaScript: what goes
/// back are their places.
#[wasm_bindgen]
pub struct Trimmer(Box<dyn Trim>);

#[wasm_bindgen]
impl Trimmer {
    /// An empty list, for options of `trimMessages` of which provider, encoding and includeSystem hold for good.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<Self, JsValue> {
        part()?.trimmer(options).map(Self)
    }

    /// Appends messages, as JSON text of a list.
    pub fn push(&mut self, list: &str) -> Result<(), JsValue> {
        self.0.push(list)
    }

    /// Forgets all messages from the place `length` on; the counts of the others stay.
    pub fn truncate(&mut self, length: usize) {
        self.0.truncate(length)
    }

    /// Trims by the options of `trimMessages`. → a list of four:
    /// JSON text `{made, rules, tokens, chars, budget, overBudget, kinds}`;
    /// the prompt: for each message its place in the list, or `-1 - n` for the message `made[n]`;
    /// the ledger, five numbers a line: place, action, rule (of `rules`), tokens before and after.
    pub fn fit(&self, options: &str) -> Result<Array, JsValue> {
        self.0.fit(options)
    }
}
