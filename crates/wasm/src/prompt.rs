//! The functions for prompts that JavaScript calls. What they do lies in a part of the module of its own ([`part`]), which is
//! loaded when a prompt is first asked for: most who keep conversations never build one. They reach it through [`Prompts`]
//! alone, so that whoever cuts the module apart finds no other way in.
//!
//! Plain data as JSON text goes in and comes out; what fails is thrown as the JSON text of an `ErrorReply`.

mod model;
mod part;

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Function, Promise};
use serde_json::json;
use threadkeep::Keep;
use threadkeep::agent::Memory;
use threadkeep::compact::Cancel;
use threadkeep_parts::part;
use wasm_bindgen::prelude::*;

use crate::error::{own_error, part_missing};
use crate::executor::{Answer, promise};
use crate::store::AnyStore;

/// What the part brings. The exported functions of the same names say what each does.
pub(crate) trait Prompts {
    /// Answers a [`PromptRequest`] of a keep. A prompt comes as a list of two: JSON text without the ledger, and its [`LedgerLines`].
    fn answer(&self, keep: Keep<AnyStore>, method: String, params: String) -> Answer;
    /// Compacts a chain: by the function, if there is one, until it is cancelled.
    fn compact(&self, keep: Keep<AnyStore>, params: String, ask: Option<Function>, cancel: Cancel) -> Answer;
    /// A keep's prompts and memory, for an agent in it.
    fn memory(&self, keep: Keep<AnyStore>) -> Rc<dyn Memory>;
    fn load_vocabulary(&self, encoding: &str, asset: &[u8]) -> Result<(), JsValue>;
    fn count_text(&self, text: &str, encoding: &str) -> Result<u32, JsValue>;
    fn count_messages(&self, list: &str, to: &str, encoding: &str) -> Result<f64, JsValue>;
    fn compress_history(&self, turns: &str, options: &str) -> Result<String, JsValue>;
    fn render(&self, list: &str, provider: &str, options: &str) -> Result<String, JsValue>;
    fn validate(&self, value: &str, provider: &str) -> Result<String, JsValue>;
    fn replay_case(&self, file: &str) -> Result<String, JsValue>;
    fn trimmer(&self, options: &str) -> Result<Box<dyn Trim>, JsValue>;
}

pub(crate) trait Ledgered {
    fn lines(&self) -> String;
}

/// The ledger of a prompt. Its lines are made when they are read: there is one for each message of the history.
#[wasm_bindgen]
pub struct LedgerLines(Box<dyn Ledgered>);

impl LedgerLines {
    pub(crate) fn new(ledger: Box<dyn Ledgered>) -> Self {
        Self(ledger)
    }
}

#[wasm_bindgen]
impl LedgerLines {
    /// The lines, as JSON text of a list.
    pub fn read(&self) -> String {
        self.0.lines()
    }
}

pub(crate) trait Trim {
    fn push(&mut self, list: &str) -> Result<(), JsValue>;
    fn truncate(&mut self, length: usize);
    fn fit(&self, options: &str) -> Result<Array, JsValue>;
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

/// Makes the prompt of a case file again. → JSON text of a `CaseReplay`
#[wasm_bindgen(js_name = replayCase)]
pub fn replay_case(file: &str) -> Result<String, JsValue> {
    part()?.replay_case(file)
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
