//! The server of the tests, and a model that asks it.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Function, JSON, Promise, Reflect};
use serde_json::{Value, json};
use threadkeep::model::{Call, Connected, Failure, Http as _, Model};
use threadkeep_core::Message;
use threadkeep_fetch::Fetch;
use threadkeep_provider::{Completion, Connection, Delta, Provider, RenderOptions, ToolSchema, render};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

pub const PROVIDERS: [Provider; 5] = Provider::ALL;

/// A server that runs in this process.
pub struct Server(JsValue);

impl Server {
    pub async fn start(options: Value) -> Self {
        let file = concat!("file://", env!("CARGO_MANIFEST_DIR"), "/../../tests/support/model-server.mjs");
        let source = format!("return import({file:?}).then((module) => module.startModelServer({options}))");
        let started = Function::new_no_args(&source).call0(&JsValue::NULL).unwrap();
        Self(JsFuture::from(started.unchecked_into::<Promise>()).await.unwrap())
    }

    pub fn next(&self, answer: Value) {
        let answer = JSON::parse(&answer.to_string()).unwrap();
        self.call("next", &answer);
    }

    pub fn base_url(&self, provider: Provider) -> String {
        self.call("baseUrl", &provider.name().into()).as_string().unwrap()
    }

    pub async fn close(&self) {
        JsFuture::from(self.call("close", &JsValue::UNDEFINED).unchecked_into::<Promise>()).await.unwrap();
    }

    /// Waits until the server has seen the last request go.
    pub async fn until_aborted(&self) {
        let requests = Reflect::get(&self.0, &"requests".into()).unwrap();
        let last = js_sys::Array::from(&requests).pop();
        while !Reflect::get(&last, &"aborted".into()).unwrap().is_truthy() {
            Fetch.sleep(5).await;
        }
    }

    fn call(&self, name: &str, argument: &JsValue) -> JsValue {
        let method: Function = Reflect::get(&self.0, &name.into()).unwrap().unchecked_into();
        method.call1(&self.0, argument).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.call("close", &JsValue::UNDEFINED);
    }
}

/// A model at the server, with these fields more.
pub fn connected(server: &Server, provider: Provider, more: Value) -> Connected {
    let mut connection =
        json!({"provider": provider.name(), "baseUrl": server.base_url(provider), "model": "test-model"});
    for (name, value) in more.as_object().unwrap() {
        connection[name] = value.clone();
    }
    Connected::new(Connection::from_json(&connection).unwrap(), Rc::new(Fetch))
}

pub fn tools() -> Vec<ToolSchema> {
    let tool =
        |name: &str| ToolSchema { name: name.to_owned(), description: None, parameters: Value::Null, strict: None };
    vec![tool("add"), tool("look")]
}

pub fn payload(model: &Connected) -> Value {
    let options = RenderOptions {
        model: Some(model.name().to_owned()),
        tools: tools(),
        stream: Some(true),
        ..RenderOptions::default()
    };
    render(&[&Message::user("Hello?")], model.provider(), &options).payload
}

/// Everything that was heard.
#[derive(Default)]
pub struct Heard(RefCell<Vec<Delta>>);

impl Heard {
    pub fn push(&self, delta: Delta) {
        self.0.borrow_mut().push(delta);
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for delta in self.0.borrow().iter() {
            match delta {
                Delta::Text(more) => text.push_str(more),
                Delta::WasReasoning => text.clear(),
                _ => {}
            }
        }
        text
    }

    pub fn retries(&self) -> Vec<(u32, u32)> {
        let deltas = self.0.borrow();
        let retry =
            |delta: &Delta| if let Delta::Retry { attempt, wait, .. } = delta { Some((*attempt, *wait)) } else { None };
        deltas.iter().filter_map(retry).collect()
    }

    pub fn warnings(&self) -> usize {
        self.0.borrow().iter().filter(|delta| matches!(delta, Delta::Warning(_))).count()
    }
}

/// Asks for one answer.
pub async fn ask(model: &Connected) -> (Result<Completion, Failure>, Heard) {
    let heard = Heard::default();
    let (payload, tools) = (payload(model), tools());
    let call = Call { messages: &[], payload: &payload, tools: &tools };
    let result = model.call(call, &|delta| heard.push(delta)).await;
    (result, heard)
}
