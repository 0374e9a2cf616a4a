//! A model behind a connection: a provider's endpoint, asked with the platform's `fetch`.

use std::rc::Rc;

use js_sys::Function;
use serde_json::{Value, json};
use threadkeep::compact::{Cancel, unless};
use threadkeep::model::{Call, Connected, Failure, Model};
use threadkeep_core::Message;
use threadkeep_core::read::options;
use threadkeep_fetch::Fetch;
use threadkeep_json::own_value;
use threadkeep_provider::{Completion, Connection, Delta, RenderOptions, ToolSchema, render};
use wasm_bindgen::JsValue;

use super::Asking;
use crate::error::{bad_request, keep_error, own_error};
use crate::executor::Answer;

/// Reads a connection; see [`Connection::from_json`].
pub(super) fn make(json: &str) -> Result<Rc<dyn Asking>, JsValue> {
    // What is read may hold a key: the error names the field, and never what was in it.
    let connection: Connection = options(json, "connection").map_err(bad_request)?;
    Ok(Rc::new(Endpoint(Rc::new(Connected::new(connection, Rc::new(Fetch))))))
}

struct Endpoint(Rc<Connected>);

impl Asking for Endpoint {
    fn ask(&self, json: String, hear: Function, cancel: Cancel) -> Answer {
        let model = Rc::clone(&self.0);
        Box::pin(async move {
            let Asked { messages, payload, tools } =
                read(&json).ok_or_else(|| own_error("bad-request", "no request", json!({})))?;
            let payload = payload.unwrap_or_else(|| {
                let options = RenderOptions {
                    model: Some(model.name().to_owned()),
                    max_output_tokens: model.connection().max_output_tokens,
                    tools: tools.clone(),
                    stream: Some(true),
                    ..RenderOptions::default()
                };
                render(&messages.iter().collect::<Vec<_>>(), model.provider(), &options).payload
            });
            // The TypeScript hands in a function that does not throw.
            let heard =
                |delta: Delta| drop(hear.call1(&JsValue::UNDEFINED, &JsValue::from(written(&delta).to_string())));
            let call = Call { messages: &messages, payload: &payload, tools: &tools };
            let answer = unless(Some(&cancel), model.call(call, &heard)).await.map_err(|error| keep_error(&error))?;
            Ok(JsValue::from(completed(&answer.map_err(failed)?).to_string()))
        })
    }

    fn models(&self) -> Answer {
        let model = Rc::clone(&self.0);
        Box::pin(async move {
            let listed = model.models().await.map_err(failed)?;
            let shown = listed.iter().map(|listed| {
                json!({
                    "id": listed.id,
                    "maxContextTokens": listed.max_context_tokens,
                    "maxOutputTokens": listed.max_output_tokens,
                })
            });
            Ok(JsValue::from(shown.collect::<Value>().to_string()))
        })
    }
}

struct Asked {
    messages: Vec<Message>,
    payload: Option<Value>,
    tools: Vec<ToolSchema>,
}

fn read(json: &str) -> Option<Asked> {
    let mut value: Value = serde_json::from_str(json).ok()?;
    let Value::Array(messages) = value["messages"].take() else { return None };
    let messages = messages.into_iter().map(|message| Message::from_json(message).ok()).collect::<Option<_>>()?;
    let tools = value["tools"].as_array().into_iter().flatten().enumerate();
    let tools = tools.map(|(at, tool)| ToolSchema::from_json(tool, at).ok()).collect::<Option<_>>()?;
    Some(Asked { messages, payload: Some(value["payload"].take()).filter(Value::is_object), tools })
}

pub(super) fn written(delta: &Delta) -> Value {
    match delta {
        // Among the pieces of one answer there is no turn, and so no other call.
        Delta::ToolCall { index, name, arguments } => json!({ "index": index, "name": name, "arguments": arguments }),
        other => own_value(other),
    }
}

pub(super) fn completed(answer: &Completion) -> Value {
    let mut completed = json!({ "message": answer.message.to_json(), "finish": answer.finish.name() });
    if let Some(usage) = answer.usage {
        completed["usage"] = own_value(&usage);
    }
    completed
}

pub(super) fn failed(failure: Failure) -> JsValue {
    let partial = failure.partial.as_ref().map(Message::to_json);
    own_error(&failure.code, failure.message, json!({ "partial": partial }))
}
