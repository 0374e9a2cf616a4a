//! A model behind a function of JavaScript. Time limits are the TypeScript's, which has timers: it rejects when one is over.

use js_sys::{Function, Promise};
use serde_json::{Map, Value};
use threadkeep::compact::{Model, ModelRequest, Reply, input_tokens_of};
use threadkeep::protocol::CompactCall;
use threadkeep_core::Message;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

pub(super) struct JsModel {
    ask: Function,
    name: String,
    input_tokens: u32,
}

impl JsModel {
    pub(super) fn new(ask: Function, call: &CompactCall) -> Self {
        let name = call.summarizer.clone().unwrap_or_else(|| "model".to_owned());
        let input_tokens = call.input_tokens.unwrap_or_else(|| input_tokens_of(&name));
        Self { ask, name, input_tokens }
    }
}

impl Model for JsModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn input_tokens(&self) -> u32 {
        self.input_tokens
    }

    fn ask(&self, request: ModelRequest) -> Reply<'_> {
        let promised = self.ask.call1(&JsValue::UNDEFINED, &JsValue::from(written(request)));
        Box::pin(async move {
            let promise: Promise = promised.map_err(words)?.unchecked_into();
            let answer = JsFuture::from(promise).await.map_err(words)?;
            let value = answer.as_string().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            Message::from_json(value)
                .map_err(|error| ["the model's answer is no message: ", &error.to_string()].concat())
        })
    }
}

fn written(request: ModelRequest) -> String {
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| drop(map.insert(name.to_owned(), value));
    put("messages", request.messages.iter().map(Message::to_json).collect());
    put("text", request.text.into());
    put("words", request.words.into());
    put("part", request.part.into());
    put("parts", request.parts.into());
    Value::Object(map).to_string()
}

/// What was thrown, in words. The TypeScript throws texts.
fn words(error: JsValue) -> String {
    error.as_string().unwrap_or_else(|| "the model failed".to_owned())
}
