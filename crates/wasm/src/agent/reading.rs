//! An answer of a model that a function of JavaScript asked: its bytes or its events are read here, as those of connections are.

use js_sys::Function;
use serde::Deserialize;
use threadkeep::model::Failure;
use threadkeep_core::Message;
use threadkeep_core::read::{object, options};
use threadkeep_provider::{AnswerLimits, Delta, Fault, Reader, ReaderOptions};
use wasm_bindgen::JsValue;

use super::Reading;
use super::connection::{completed, failed, written};
use crate::error::bad_request;

/// Reads `{tools, limits?}`: the names of the tools that were offered, and how large the answer may become.
pub(super) fn make(json: &str) -> Result<Box<dyn Reading>, JsValue> {
    #[derive(Deserialize)]
    struct Options {
        tools: Vec<String>,
        #[serde(default, deserialize_with = "object")]
        limits: AnswerLimits,
    }
    let Options { tools, limits } = options(json, "model").map_err(bad_request)?;
    let ids = [js_sys::Date::now().to_string(), js_sys::Math::random().to_string()].join("/");
    Ok(Box::new(Answer(Reader::any(ReaderOptions { tools, ids, who: "The model".to_owned(), limits }))))
}

struct Answer(Reader);

impl Reading for Answer {
    fn bytes(&mut self, bytes: &[u8], hear: &Function) -> Result<(), JsValue> {
        self.0.push(bytes, &heard(hear)).map_err(|fault| self.broken(fault))
    }

    fn item(&mut self, json: &str, hear: &Function) -> Result<bool, JsValue> {
        self.0.item(json, &heard(hear)).map_err(|fault| self.broken(fault))
    }

    fn finish(&mut self, hear: &Function) -> Result<String, JsValue> {
        let completion = self.0.finish(&heard(hear)).map_err(|fault| self.broken(fault))?;
        Ok(completed(&completion).to_string())
    }

    fn is_over(&self) -> bool {
        self.0.is_over()
    }

    fn is_whole(&self) -> bool {
        self.0.is_whole()
    }
}

impl Answer {
    fn broken(&mut self, fault: Fault) -> JsValue {
        let partial: Option<Message> = self.0.partial();
        failed(Failure { code: fault.code.to_owned(), message: fault.message, partial })
    }
}

/// The TypeScript hands in a function that does not throw.
fn heard(hear: &Function) -> impl Fn(Delta) + '_ {
    |delta| drop(hear.call1(&JsValue::UNDEFINED, &JsValue::from(written(&delta).to_string())))
}
