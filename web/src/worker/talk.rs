//! The worker's part of talking to models: tests of connections, and turns of the agent. A question with its connection in; an answer
//! out, and meanwhile what is heard, in batches of a frame at most. How models are asked is the engine's business; keys go into
//! requests and nowhere else.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Function, Promise, Reflect};
use serde_json::Value;
use threadkeep::KeepError;
use threadkeep::agent::{Agent, AgentEvent, AgentOptions, BUILT_IN, By, NextRequest, NoTools, Outcome};
use threadkeep::mailbox::{Body, Outgoing};
use threadkeep::model::{Call, Http};
use threadkeep::protocol::{Counting, ErrorReply, NodeInfo};
use threadkeep_core::Message;
use threadkeep_fetch::Fetch;
use threadkeep_provider::{Delta, Finish, RenderOptions, render};
use threadkeep_tokens::Encoding;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::connected::{Ready, ready};
use super::{Engine, Place, part_missing, say, shared_parts};
use crate::inspect::AGENT;
use crate::wire::{Ending, FromWorker, Heard, Payload, Reply, Talk, Tested, Turn};

/// How long what is heard waits for company, in milliseconds: about a frame.
const FRAME: u32 = 16;
/// The most tokens of a test's answer: enough for a model that thinks first.
const TEST_TOKENS: u64 = 256;

type Stop = Rc<dyn Fn()>;

thread_local! {
    /// Ends the turn that runs.
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
    /// Whether the turn that was asked for last is to end, or not to begin.
    static STOPPED: Cell<bool> = const { Cell::new(false) };
    /// What was heard and not yet sent.
    static HEARD: RefCell<Vec<AgentEvent>> = const { RefCell::new(Vec::new()) };
    /// Whether something sends it.
    static SENDING: Cell<bool> = const { Cell::new(false) };
}

/// Ends the turn that runs, or that waits for another tab's.
pub fn stop() {
    STOPPED.set(true);
    // A copy, since stopping may end the turn at once.
    let stop = STOP.with_borrow(Option::clone);
    if let Some(stop) = stop {
        stop();
    }
}

/// Answers a question that needs a model.
pub async fn answer(engine: &Engine, asked: Talk) -> Result<Reply, ErrorReply> {
    match asked {
        Talk::Test(secret) => Ok(Reply::Tested(match ready(&secret) {
            Ok(ready) => test(&ready).await,
            Err(error) => {
                Tested { ok: false, words: ["The connection is not complete: ", &error.message, "."].concat() }
            }
        })),
        Talk::Models(secret) => {
            let ready = ready(&secret)?;
            let Some(connected) = ready.connected else { return Ok(Reply::Models(Vec::new())) };
            let failed = |failure: threadkeep::model::Failure| ErrorReply {
                code: "model-failed".to_owned(),
                message: failure.message,
                details: Value::Null,
            };
            connected.models().await.map(Reply::Models).map_err(failed)
        }
        Talk::Next { connection, content, reply_to } => {
            let agent = agent(engine, ready(&connection)?).await?;
            let mail = Outgoing { body: Body::text(content), reply_to, ..Outgoing::default() };
            agent.next_request(&mail).await.map(|next| Reply::Payload(payload(&next))).map_err(|error| error.reply())
        }
        Talk::Turn { connection, turn } => {
            STOPPED.set(false);
            let agent = agent(engine, ready(&connection)?).await?;
            let result = take_turn(engine, agent, turn).await;
            STOP.set(None);
            flush().await;
            result.map(|()| Reply::Done).map_err(|error| error.reply())
        }
    }
}

/// Asks for one word.
async fn test(ready: &Ready) -> Tested {
    let message = Message::user("This is a test of the connection. Answer with one short sentence.");
    let options = RenderOptions {
        model: Some(ready.model.name().to_owned()),
        max_output_tokens: Some(TEST_TOKENS),
        stream: Some(true),
        ..RenderOptions::default()
    };
    let payload = render(&[&message], ready.model.provider(), &options).payload;
    let began = Fetch.now();
    let first = Cell::new(None);
    let heard = |_: Delta| {
        if first.get().is_none() {
            first.set(Some(Fetch.now() - began));
        }
    };
    let call = Call { messages: std::slice::from_ref(&message), payload: &payload, tools: &[] };
    match ready.model.call(call, &heard).await {
        Ok(done) => {
            let said = done.message.text();
            let said = crate::format::line(said.trim(), 160);
            let what = match (said.is_empty(), done.finish) {
                (false, _) => format!("it says “{said}”"),
                (true, Finish::Length) => "it thought until the test's room was used up, and works".to_owned(),
                (true, _) => "it answered without words".to_owned(),
            };
            let time = first.get().unwrap_or_default();
            Tested {
                ok: true,
                words: format!("It works: {} began to answer after {time} ms; {what}", ready.model.name()),
            }
        }
        Err(failure) => Tested { ok: false, words: failure.message },
    }
}

/// A request that is foreseen, for the reader.
fn payload(next: &NextRequest) -> Payload {
    let mut warnings: Vec<String> = next.context.warnings.iter().map(|warning| warning.message.clone()).collect();
    if next.compacts {
        warnings.insert(0, "The history is compacted first. The request is then shorter.".to_owned());
    } else if next.context.over_budget {
        warnings.insert(0, "This is over the budget, so nothing would be sent.".to_owned());
    }
    Payload { text: next.body.to_string(), warnings }
}

/// The page's agent, with the model of a connection.
async fn agent(engine: &Engine, ready: Ready) -> Result<Agent<Place>, ErrorReply> {
    let (memory, exact) = shared_parts::memory(Rc::new(engine.clone())).await.map_err(|_| part_missing())?.await;
    let mut options = AgentOptions::new(AGENT);
    options.built_in = ready.tools.of(&BUILT_IN);
    options.policy.max_context_tokens = ready.max_context_tokens;
    options.policy.max_output_tokens = ready.max_output_tokens;
    // Exact counts where the vocabulary can be had; an estimate is better than no answer.
    options.context.encoding = Some(if exact { Counting::Exact(Encoding::O200k) } else { Counting::Estimate });
    let mut agent = Agent::<Place>::with_memory(engine.clone(), options, ready.model, Rc::new(NoTools), memory);
    // The press that sends a message sends its history to this model, so it may summarise that too. The demo cannot.
    if ready.connected.is_none() {
        agent = agent.summarised_by(By::Rules);
    }
    Ok(agent)
}

async fn take_turn(engine: &Engine, agent: Agent<Place>, turn: Turn) -> Result<(), KeepError> {
    let agent = Rc::new(agent);
    let ends = Rc::clone(&agent);
    STOP.set(Some(Rc::new(move || ends.stop())));
    if STOPPED.get() {
        return Err(KeepError::Cancelled);
    }
    let heard = engine.clone();
    let hear = move |event: AgentEvent| hear(&heard, event);
    // What the reader says is stored before anything waits: for another tab's turn, or for the model.
    let turn = match turn {
        Turn::Say { content, reply_to } => {
            let from = agent.options().user.clone();
            let said = Outgoing { from, body: Body::text(content), reply_to, ..Outgoing::default() };
            let NodeInfo { transcript, id: node, .. } = agent.post(said).await?;
            say(&FromWorker::Heard(vec![Heard::Posted { transcript, node: node.clone() }]), None);
            Turn::Resume(node)
        }
        turn => turn,
    };
    let _alone = Alone::begin().await;
    if STOPPED.get() {
        return Err(KeepError::Cancelled);
    }
    match turn {
        Turn::Say { .. } => Ok(()),
        Turn::Again(node) => agent.again(&node, None, &hear).await.map(drop),
        Turn::GoOn(node) => agent.go_on(&node, None, &hear).await.map(drop),
        Turn::Resume(node) => agent.resume(&node, &hear).await.map(drop),
    }
}

/// Notes what is heard; the first after a pause is sent at once, what follows within a frame together.
fn hear(engine: &Engine, event: AgentEvent) {
    HEARD.with_borrow_mut(|heard| match (heard.last_mut(), event) {
        (
            Some(AgentEvent::Delta { delta: Delta::Text(before), .. }),
            AgentEvent::Delta { delta: Delta::Text(more), .. },
        )
        | (
            Some(AgentEvent::Delta { delta: Delta::Reasoning(before), .. }),
            AgentEvent::Delta { delta: Delta::Reasoning(more), .. },
        ) => before.push_str(&more),
        (_, event) => heard.push(event),
    });
    if SENDING.replace(true) {
        return;
    }
    let engine = engine.clone();
    spawn_local(async move {
        loop {
            let events = HEARD.take();
            if events.is_empty() {
                break;
            }
            let mut heard = Vec::with_capacity(events.len());
            for event in events {
                told(&engine, event, &mut heard).await;
            }
            say(&FromWorker::Heard(heard), None);
            Fetch.sleep(FRAME).await;
        }
        SENDING.set(false);
    });
}

/// Waits until all that was heard is sent, so that the answer comes after it.
async fn flush() {
    while SENDING.get() {
        Fetch.sleep(FRAME).await;
    }
}

/// What the page is told of an event.
async fn told(engine: &Engine, event: AgentEvent, heard: &mut Vec<Heard>) {
    let told = match event {
        AgentEvent::Began { node, .. } => match engine.node(&node).await {
            Ok(Some(info)) => Heard::Began { transcript: info.transcript, node },
            _ => return,
        },
        AgentEvent::Asked { tokens, .. } => Heard::Asked(tokens),
        AgentEvent::Delta { delta, .. } => match delta {
            Delta::Text(text) => Heard::Text(text),
            Delta::Reasoning(text) => Heard::Thought(text),
            Delta::WasReasoning => Heard::WasThought,
            Delta::ToolCall { index, name, arguments } => Heard::Call { at: index as u32, name, arguments },
            Delta::Retry { attempt, wait, reason } => Heard::Retry { attempt, wait, reason },
            Delta::Warning(words) => Heard::Warning(words),
        },
        AgentEvent::Said { node, .. } => Heard::Stored(node),
        AgentEvent::Calling { call, name, arguments, .. } => Heard::Calling { call, name, arguments },
        AgentEvent::Called { node, call, result, is_error, .. } => {
            heard.push(Heard::Called { call, failed: is_error, text: result });
            Heard::Stored(node)
        }
        AgentEvent::Compacting { .. } => Heard::Compacting,
        AgentEvent::Compacted { error, .. } => match error {
            Some(error) => Heard::Warning(["The history could not be compacted: ", &error, "."].concat()),
            None => return,
        },
        AgentEvent::Sent { .. } => return,
        AgentEvent::Ended { node, outcome, reason, .. } => {
            let code = if outcome == Outcome::Answered { "" } else { outcome.name() };
            let ending = Ending { node: Some(node), code: code.to_owned(), words: reason.unwrap_or_default() };
            Heard::Ended(ending)
        }
    };
    heard.push(told);
}

/// This tab's turn among all tabs; over when it is dropped.
struct Alone(Option<Function>);

impl Alone {
    async fn begin() -> Self {
        let begin = || -> Result<Promise, JsValue> {
            let turn: Function = Reflect::get(&js_sys::global(), &"turn".into())?.dyn_into()?;
            turn.call0(&JsValue::UNDEFINED)?.dyn_into()
        };
        match begin() {
            Ok(promise) => Self(JsFuture::from(promise).await.ok().and_then(|end| end.dyn_into().ok())),
            // Without it, only two tabs that answer at once are a problem.
            Err(_) => Self(None),
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if let Some(end) = &self.0 {
            // Resolving a promise does not fail.
            drop(end.call0(&JsValue::UNDEFINED));
        }
    }
}
