//! Agents: the model and the tools are functions of a JavaScript object, the loop is the engine's.
//!
//! The object has `ask(json, call, hear)` (a model request), `use(json, call)` (a tool), `end(call)` (a call is no longer waited for) and
//! `tell(json)` (an event), `hold(node)` (the claim on a turn), `summarise(json, call)` (a request of the summariser). What they take and promise is said at each. Time limits and signals are the TypeScript's.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use js_sys::{Function, Promise};
use serde::Deserialize;
use serde_json::{Value, json};
use threadkeep::agent::{
    Agent, AgentOptions, By, Claims, Held, Later, Memory, Recalled, Service, ToolAnswer, ToolUse, Tools,
};
use threadkeep::compact::{self, ModelRequest, Reply, input_tokens_of};
use threadkeep::mailbox::{Body, Outgoing};
use threadkeep::model::{Answer as ModelAnswer, Call, Failure, Model};
use threadkeep::protocol::{AgentCall, AgentEndpoint, AgentEvent, AgentMessage, Summarizer};
use threadkeep::{Keep, KeepError};
use threadkeep_core::{Message, MessageId};
use threadkeep_json::own_text;
use threadkeep_provider::{Completion, Delta, Dialect, Finish, Provider, ToolSchema, Usage};
use threadkeep_store::StoreError;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::{Act, AgentHost, Working};
use crate::error::{bad_request, json as to_json, keep_error, own_error};
use crate::executor::Answer;
use crate::store::AnyStore;

/// What is common to the model and the tools of one agent.
struct Host {
    object: AgentHost,
    calls: Cell<f64>,
}

impl Host {
    fn tell(&self, event: &AgentEvent) {
        self.object.tell(own_text(event));
    }

    fn number(&self) -> f64 {
        self.calls.set(self.calls.get() + 1.0);
        self.calls.get()
    }
}

/// Says that a call is no longer waited for, unless it was answered.
struct Waiting {
    host: Rc<Host>,
    call: f64,
    answered: bool,
}

impl Waiting {
    fn answered(mut self) {
        self.answered = true;
    }

    /// The text that the host's promise gives. An error is the text that it threw, or else `failed`.
    async fn text(self, promised: Result<Promise, JsValue>, failed: &'static str) -> Result<String, String> {
        let words = |error: JsValue| error.as_string().unwrap_or_else(|| failed.to_owned());
        let answer = JsFuture::from(promised.map_err(words)?).await;
        self.answered();
        Ok(answer.map_err(words)?.as_string().unwrap_or_default())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.answered {
            self.host.object.end(self.call);
        }
    }
}

struct JsModel {
    host: Rc<Host>,
    name: String,
    provider: Provider,
    dialect: Option<Dialect>,
}

/// What is known of how a model's requests are written. Where a client of the host's sends them, usage must be asked for: none comes with
/// a stream of OpenAI chat otherwise.
fn dialect(name: &str, provider: Provider, endpoint: Option<AgentEndpoint>) -> Option<Dialect> {
    match endpoint {
        Some(AgentEndpoint { base_url, model, max_context_tokens }) => {
            Some(Dialect::at(provider, &base_url, &model, max_context_tokens))
        }
        None if provider == Provider::OpenAiChat => {
            Some(Dialect { provider, model: name.to_owned(), usage: true, ..Dialect::default() })
        }
        None => None,
    }
}

/// Deltas on their way from JavaScript, which calls whenever it likes, to the agent, which hears them when it is polled.
#[derive(Default)]
struct Stream {
    waiting: RefCell<Vec<Delta>>,
    waker: RefCell<Option<Waker>>,
}

impl Model for JsModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> Provider {
        self.provider
    }

    fn dialect(&self) -> Option<Dialect> {
        self.dialect.clone()
    }

    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(Delta)) -> ModelAnswer<'a> {
        let request = json!({
            "model": self.name,
            "provider": self.provider.name(),
            "messages": call.messages.iter().map(Message::to_json).collect::<Value>(),
            "payload": call.payload,
            "tools": call.tools.iter().map(ToolSchema::to_json).collect::<Value>(),
        });
        let number = self.host.number();
        let stream = Rc::new(Stream::default());
        let into = Rc::clone(&stream);
        let hear = Closure::<dyn Fn(String)>::new(move |text: String| {
            into.waiting.borrow_mut().extend(delta(&text));
            let waker = into.waker.take();
            waker.into_iter().for_each(Waker::wake);
        });
        let function: &Function = hear.as_ref().unchecked_ref();
        let promised = self.host.object.ask(request.to_string(), number, function);
        let waiting = Waiting { host: Rc::clone(&self.host), call: number, answered: false };
        Box::pin(async move {
            let mut answer = Box::pin(JsFuture::from(promised.map_err(|error| failure(&error))?));
            let answer = std::future::poll_fn(|context| {
                *stream.waker.borrow_mut() = Some(context.waker().clone());
                let done = answer.as_mut().poll(context);
                // Taken out first: whoever hears it may call JavaScript.
                let deltas = stream.waiting.take();
                deltas.into_iter().for_each(heard);
                done
            });
            let answer = answer.await;
            waiting.answered();
            drop(hear);
            let text = answer.map_err(|error| failure(&error))?.as_string().unwrap_or_default();
            completion(&text).ok_or_else(|| Failure {
                code: "bad-answer".to_owned(),
                message: "the model's function answered with no message".to_owned(),
                partial: None,
            })
        })
    }
}

/// A piece of an answer, as a model's function tells it: the fields of one kind of piece. One struct, since an untagged enum takes 2 KB more.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Piece {
    text: Option<String>,
    reasoning: Option<String>,
    warning: Option<String>,
    was_reasoning: bool,
    retry: Option<String>,
    attempt: u32,
    wait: u32,
    index: Option<usize>,
    name: String,
    arguments: String,
}

fn delta(text: &str) -> Option<Delta> {
    Some(match serde_json::from_str(text).ok()? {
        Piece { text: Some(text), .. } => Delta::Text(text),
        Piece { reasoning: Some(reasoning), .. } => Delta::Reasoning(reasoning),
        Piece { warning: Some(warning), .. } => Delta::Warning(warning),
        Piece { was_reasoning: true, .. } => Delta::WasReasoning,
        Piece { retry: Some(reason), attempt, wait, .. } => Delta::Retry { attempt, wait, reason },
        Piece { index, name, arguments, .. } => Delta::ToolCall { index: index?, name, arguments },
    })
}

/// What the model's function answered.
#[derive(Deserialize)]
struct Answered {
    message: Message,
    usage: Option<Usage>,
    finish: Option<String>,
}

fn completion(text: &str) -> Option<Completion> {
    let Answered { message, usage, finish } = serde_json::from_str(text).ok()?;
    Some(Completion { message, usage, finish: finish.map_or(Finish::Stop, |name| Finish::from_name(&name)) })
}

/// Reads the JSON text of a failure that was thrown; any other text is the failure in words.
fn failure(thrown: &JsValue) -> Failure {
    let text = thrown.as_string().unwrap_or_else(|| "the model failed".to_owned());
    serde_json::from_str(&text).unwrap_or_else(|_| Failure { code: "failed".to_owned(), message: text, partial: None })
}

struct JsTools {
    host: Rc<Host>,
    schemas: Vec<ToolSchema>,
    repeatable: Vec<String>,
}

impl Tools for JsTools {
    fn schemas(&self) -> Vec<ToolSchema> {
        self.schemas.clone()
    }

    fn repeatable(&self, name: &str) -> bool {
        self.repeatable.iter().any(|known| known == name)
    }

    fn call(&self, call: ToolUse) -> ToolAnswer<'_> {
        let ToolUse { id, name, arguments, node } = call;
        if !self.schemas.iter().any(|tool| tool.name == name) {
            return Box::pin(std::future::ready(Err(["there is no tool ", &name].concat())));
        }
        let number = self.host.number();
        let written = json!({ "id": id, "name": name, "arguments": arguments, "node": node.as_str() });
        let promised = self.host.object.use_tool(written.to_string(), number);
        let waiting = Waiting { host: Rc::clone(&self.host), call: number, answered: false };
        Box::pin(async move {
            let text = waiting.text(promised, "the tool failed").await?;
            Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
        })
    }
}

/// The claims on turns, among all who have the same data open.
struct JsClaims(Rc<Host>);

impl Claims for JsClaims {
    fn hold<'a>(&'a self, turn: &'a MessageId) -> Later<'a, Held> {
        let promised = self.0.object.hold(turn.as_str());
        Box::pin(async move {
            let end = JsFuture::from(promised.map_err(|error| unclaimed(&error))?).await;
            let end: Function = end.map_err(|error| unclaimed(&error))?.unchecked_into();
            Ok(Held::new(move || {
                // It does not throw.
                let _ = end.call0(&JsValue::UNDEFINED);
            }))
        })
    }
}

fn unclaimed(error: &JsValue) -> KeepError {
    let read = |name: &str| js_sys::Reflect::get(error, &JsValue::from(name)).ok().and_then(|text| text.as_string());
    match read("code").as_deref() {
        Some("closed") => StoreError::Closed.into(),
        _ => StoreError::Transient(read("message").unwrap_or_else(|| "the turn cannot be claimed".to_owned())).into(),
    }
}

/// The memory service of the host.
struct JsService(Rc<Host>);

impl Service for JsService {
    fn recall<'a>(&'a self, conversation: &'a str, query: &'a str) -> Recalled<'a> {
        let promised = self.0.object.recall(conversation, query);
        Box::pin(async move {
            let text = JsFuture::from(promised.ok()?).await.ok()?.as_string()?;
            Some(text).filter(|text| !text.is_empty())
        })
    }
}

/// A function that summarises.
struct JsSummarizer {
    host: Rc<Host>,
    name: String,
    input_tokens: u32,
}

impl compact::Model for JsSummarizer {
    fn name(&self) -> &str {
        &self.name
    }

    fn input_tokens(&self) -> u32 {
        self.input_tokens
    }

    fn ask(&self, request: ModelRequest) -> Reply<'_> {
        let number = self.host.number();
        let written = json!({
            "messages": request.messages.iter().map(Message::to_json).collect::<Value>(),
            "text": request.text, "words": request.words, "part": request.part, "parts": request.parts,
        });
        let promised = self.host.object.summarise(written.to_string(), number);
        let waiting = Waiting { host: Rc::clone(&self.host), call: number, answered: false };
        Box::pin(async move {
            let text = waiting.text(promised, "the summariser failed").await?;
            let message = serde_json::from_str::<Message>(&text);
            message.map_err(|error| ["the model's answer is no message: ", &error.to_string()].concat())
        })
    }
}

/// An agent whose model and tools are the object's. See [`AgentCall`] for the parameters.
pub(super) fn make(
    keep: Keep<AnyStore>,
    memory: Rc<dyn Memory>,
    params: &str,
    object: AgentHost,
) -> Result<Rc<dyn Working>, JsValue> {
    let call = AgentCall::read(params).map_err(bad_request)?;
    let host = Rc::new(Host { object, calls: Cell::new(0.0) });
    let options = AgentOptions::from(&call);
    let (summarizer, service) = (call.summarizer, call.service);
    let (name, provider, endpoint) =
        call.model.map(|model| (model.name, model.provider, model.endpoint)).unwrap_or_default();
    let (name, provider) = (name.unwrap_or_default(), provider.unwrap_or_default());
    options.check_spending(&name).map_err(bad_request)?;
    let dialect = dialect(&name, provider, endpoint);
    let model = Rc::new(JsModel { host: Rc::clone(&host), name, provider, dialect });
    let repeatable = call.tools.iter().filter(|tool| tool.repeatable).map(|tool| tool.schema.name.clone()).collect();
    let schemas = call.tools.into_iter().map(|tool| tool.schema).collect();
    let tools = Rc::new(JsTools { host: Rc::clone(&host), schemas, repeatable });
    let agent = Agent::with_memory(keep, options, model, tools, memory);
    let agent = agent.claiming(Rc::new(JsClaims(Rc::clone(&host))));
    let agent = match summarizer {
        Some(Summarizer::Function { name, input_tokens }) => {
            let input_tokens = input_tokens.unwrap_or_else(|| input_tokens_of(&name));
            agent.summarised_by(By::Asked(Rc::new(JsSummarizer { host: Rc::clone(&host), name, input_tokens })))
        }
        Some(Summarizer::Rules) => agent.summarised_by(By::Rules),
        None => agent,
    };
    let agent = if service { agent.with_service(Rc::new(JsService(Rc::clone(&host)))) } else { agent };
    Ok(Rc::new(JsAgent { agent: Rc::new(agent), host }))
}

struct JsAgent {
    agent: Rc<Agent<AnyStore>>,
    host: Rc<Host>,
}

impl Working for JsAgent {
    fn catch_up(&self) -> Answer {
        let (agent, host) = (Rc::clone(&self.agent), Rc::clone(&self.host));
        Box::pin(async move {
            let turns = agent.catch_up(&|event| host.tell(&event)).await;
            Ok(JsValue::from(turns.map_err(|error| keep_error(&error))? as f64))
        })
    }

    fn take_turn(&self, node: String, act: Act, thread: Option<String>, hear: Function) -> Answer {
        let (agent, host) = (Rc::clone(&self.agent), Rc::clone(&self.host));
        Box::pin(async move {
            let wrong = |error: threadkeep_core::IdError| {
                own_error("bad-request", error.to_string(), json!({ "argument": "nodeId" }))
            };
            let node = MessageId::new(&node).map_err(wrong)?;
            let heard = |event: AgentEvent| {
                let text = own_text(&event);
                let heard = JsValue::from(&text);
                host.object.tell(text);
                // It does not throw.
                let _ = hear.call1(&JsValue::UNDEFINED, &heard);
            };
            let done = match act {
                Act::Again => agent.again(&node, thread.as_deref(), &heard).await,
                Act::GoOn => agent.go_on(&node, thread.as_deref(), &heard).await,
                Act::Resume => agent.resume(&node, &heard).await,
            };
            to_json(&done.map_err(|error| keep_error(&error))?)
        })
    }

    fn interrupted(&self) -> Answer {
        let agent = Rc::clone(&self.agent);
        Box::pin(async move { to_json(&agent.interrupted().await.map_err(|error| keep_error(&error))?) })
    }

    fn next_request(&self, json: String) -> Answer {
        let agent = Rc::clone(&self.agent);
        Box::pin(async move {
            let AgentMessage { text, reply_to, conversation } = AgentMessage::read(&json).map_err(bad_request)?;
            let mail = Outgoing { body: Body::text(text), reply_to, conversation, ..Outgoing::default() };
            let next = agent.next_request(&mail).await.map_err(|error| keep_error(&error))?;
            Ok(JsValue::from(next.to_json().to_string()))
        })
    }

    fn stop(&self, node: Option<String>) {
        match node.map(|node| MessageId::new(&node)) {
            Some(Ok(node)) => self.agent.stop_turn(&node),
            // No turn has an id that is none.
            Some(Err(_)) => {}
            None => self.agent.stop(),
        }
    }
}
