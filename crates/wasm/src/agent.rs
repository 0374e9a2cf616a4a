//! Agents and mailboxes lie in a part of the module of their own, which is loaded with the first of either. Their prompts are made by the
//! part for prompts, which they reach through [`Memory`] alone.

mod connection;
mod host;
mod reading;

use std::rc::Rc;

use js_sys::{Function, Promise};
use threadkeep::Keep;
use threadkeep::agent::Memory;
use threadkeep::compact::Cancel;
use threadkeep::protocol::MailRequest;
use threadkeep_parts::part;
use wasm_bindgen::prelude::*;

use crate::cancel::Canceller;
use crate::error::{bad_request, keep_error, part_missing};
use crate::executor::{Answer, promise};
use crate::store::AnyStore;

part! {
    /// Answers a [`MailRequest`].
    agent: pub(crate) fn answer(keep: Keep<AnyStore>, method: String, params: String) -> Answer {
        Box::pin(async move {
            let request = MailRequest::read(&method, &params).map_err(bad_request)?;
            let data = keep.mailing(request).await.map_err(|error| keep_error(&error))?;
            Ok(JsValue::from([r#"{"data":"#, &data.to_string(), "}"].concat()))
        })
    }
}

part! {
    /// Makes an agent.
    agent: pub(crate) fn make(
        keep: Keep<AnyStore>,
        memory: Rc<dyn Memory>,
        params: String,
        object: AgentHost,
    ) -> Result<Rc<dyn Working>, JsValue> {
        host::make(keep, memory, &params, object)
    }
}

part! {
    /// Reads a connection.
    agent: fn read_connection(json: String) -> Result<Rc<dyn Asking>, JsValue> {
        connection::make(&json)
    }
}

part! {
    /// Begins to read an answer.
    agent: fn begin_reading(json: String) -> Result<Box<dyn Reading>, JsValue> {
        reading::make(&json)
    }
}

/// An answer under way; see [`AnswerReader`].
pub(crate) trait Reading {
    fn bytes(&mut self, bytes: &[u8], hear: &Function) -> Result<(), JsValue>;
    fn item(&mut self, json: &str, hear: &Function) -> Result<bool, JsValue>;
    fn finish(&mut self, hear: &Function) -> Result<String, JsValue>;
    fn is_over(&self) -> bool;
    fn is_whole(&self) -> bool;
}

/// Reads an answer of any provider: the JSON text of `{tools, limits?}`. → an `AnswerReader`
#[wasm_bindgen(js_name = readAnswer)]
pub fn read_answer(options: String) -> Promise {
    promise(async move {
        let reader = begin_reading(options).await.map_err(|_| part_missing("agent"))?;
        Ok(JsValue::from(AnswerReader(reader?)))
    })
}

/// Reads one answer, whose bytes or events JavaScript has. `hear` is called with the JSON text of each delta. What is thrown is the
/// JSON text of an `ErrorReply`.
#[wasm_bindgen]
pub struct AnswerReader(Box<dyn Reading>);

#[wasm_bindgen]
impl AnswerReader {
    /// Takes more bytes of a response's body.
    pub fn bytes(&mut self, bytes: &[u8], hear: &Function) -> Result<(), JsValue> {
        self.0.bytes(bytes, hear)
    }

    /// Takes an event, a chunk or a whole answer as JSON text. → whether it is of a form that is known
    pub fn item(&mut self, json: &str, hear: &Function) -> Result<bool, JsValue> {
        self.0.item(json, hear)
    }

    /// The end of what there is to read. → JSON text of `{message, usage, finish}`
    pub fn finish(&mut self, hear: &Function) -> Result<String, JsValue> {
        self.0.finish(hear)
    }

    /// Whether the provider said that nothing follows.
    #[wasm_bindgen(getter, js_name = isOver)]
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    /// Whether the answer may end here.
    #[wasm_bindgen(getter, js_name = isWhole)]
    pub fn is_whole(&self) -> bool {
        self.0.is_whole()
    }
}

/// A model; see [`ModelHandle`].
pub(crate) trait Asking {
    fn ask(&self, json: String, hear: Function, cancel: Cancel) -> Answer;
    fn models(&self) -> Answer;
}

/// A model at the end of a connection: the JSON text of `{provider, baseUrl, model, apiKey?, …}`. Nothing is sent yet. → a
/// `ModelHandle`
#[wasm_bindgen]
pub fn connect(connection: String) -> Promise {
    promise(async move {
        let read = read_connection(connection).await.map_err(|_| part_missing("agent"))?;
        Ok(JsValue::from(ModelHandle(read?)))
    })
}

/// A model at the end of a connection. Rejections are the JSON text of an `ErrorReply`, whose `details` may hold `partial`: the message as
/// far as it was said.
#[wasm_bindgen]
pub struct ModelHandle(Rc<dyn Asking>);

#[wasm_bindgen]
impl ModelHandle {
    /// Asks it: the JSON text of `{messages, payload?, tools?}`. `hear` is called with the JSON text of each delta. → JSON text of
    /// `{message, usage, finish}`
    pub fn ask(&self, json: String, hear: Function, cancel: &Canceller) -> Promise {
        promise(self.0.ask(json, hear, cancel.handle()))
    }

    /// Asks which models there are. → JSON text of a list of `{id, maxContextTokens, maxOutputTokens}`
    pub fn models(&self) -> Promise {
        promise(self.0.models())
    }
}

/// An agent; see [`AgentHandle`].
pub(crate) trait Working {
    fn catch_up(&self) -> Answer;
    fn take_turn(&self, node: String, act: Act, thread: Option<String>, hear: Function) -> Answer;
    fn interrupted(&self) -> Answer;
    fn next_request(&self, json: String) -> Answer;
    fn stop(&self, node: Option<String>);
}

/// What is done with a node.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    Again,
    GoOn,
    Resume,
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
    /// Waits until nobody else carries out this turn. Promises a function that gives the turn back, or rejects with an error that has a
    /// `code`.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn hold(this: &AgentHost, node: &str) -> Result<Promise, JsValue>;
    /// Asks a function that summarises: the JSON text of `{messages, text, words, part, parts}`. Promises the JSON text of a message, or
    /// rejects with words.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn summarise(this: &AgentHost, json: String, call: f64) -> Result<Promise, JsValue>;
    /// What a memory service remembers of a conversation that answers a query. Promises a text, which may be empty, and does not reject.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn recall(this: &AgentHost, conversation: &str, query: &str) -> Result<Promise, JsValue>;
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

    /// Answers once more what a node answered, as a branch, to which the head of `thread` moves. `hear` is called with the JSON text of each
    /// event, as `tell` is. → JSON text of the new node
    pub fn again(&self, node: String, thread: Option<String>, hear: Function) -> Promise {
        promise(self.0.take_turn(node, Act::Again, thread, hear))
    }

    /// Goes on below a node. `thread` and `hear` as above. → JSON text of the new node
    #[wasm_bindgen(js_name = goOn)]
    pub fn go_on(&self, node: String, thread: Option<String>, hear: Function) -> Promise {
        promise(self.0.take_turn(node, Act::GoOn, thread, hear))
    }

    /// Carries an interrupted turn to its end. `hear` as above. → JSON text of its node
    pub fn resume(&self, node: String, hear: Function) -> Promise {
        promise(self.0.take_turn(node, Act::Resume, None, hear))
    }

    /// The turns that were begun and did not end. → JSON text of their nodes
    pub fn interrupted(&self) -> Promise {
        promise(self.0.interrupted())
    }

    /// What a message would make it send now: the JSON text of `{text, replyTo?, conversation?}`. → JSON text of `{context, body, compacts}`
    #[wasm_bindgen(js_name = nextRequest)]
    pub fn next_request(&self, json: String) -> Promise {
        promise(self.0.next_request(json))
    }

    /// Ends the turn of a node, or all turns that are under way.
    pub fn stop(&self, node: Option<String>) {
        self.0.stop(node);
    }
}
