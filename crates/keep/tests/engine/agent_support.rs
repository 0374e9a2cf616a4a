//! Models and tools for tests of agents: a model that follows a script, and what watches them.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Poll;

use serde_json::{Value, json};
use threadkeep::Keep;
use threadkeep::agent::{Agent, AgentEvent, AgentOptions, BUILT_IN, ToolAnswer, ToolUse, Tools};
use threadkeep::mailbox::{Mail, MailFilter, Outgoing};
use threadkeep::model::{Answer, Call, Failure, Model};
use threadkeep::protocol::Counting;
use threadkeep_core::Message;
use threadkeep_core::message::ToolCall;
use threadkeep_provider::{Completion, Delta, Finish, ToolSchema, Usage};
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

/// What a model says next.
pub(crate) type Said = Result<Completion, Failure>;

/// An answer of text.
pub(crate) fn says(text: &str) -> Said {
    Ok(Completion { message: Message::assistant(text), usage: None, finish: Finish::Stop })
}

/// An answer that calls tools: ids, names and arguments.
pub(crate) fn calls(all: &[(&str, &str, Value)]) -> Said {
    let mut message = Message::assistant("");
    message.tool_calls =
        all.iter().map(|(id, name, arguments)| ToolCall::function(*id, *name, arguments.to_string())).collect();
    Ok(Completion { message, usage: None, finish: Finish::ToolCalls })
}

/// The same, with what the provider counted.
pub(crate) fn counted(said: Said, prompt_tokens: u64, completion_tokens: u64) -> Said {
    said.map(|completion| Completion {
        usage: Some(Usage { prompt_tokens, completion_tokens, ..Usage::default() }),
        ..completion
    })
}

pub(crate) fn fails(code: &str) -> Said {
    Err(Failure { code: code.into(), message: format!("the model failed: {code}"), partial: None })
}

/// A model that says what its script says, and keeps what it was sent.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) next: RefCell<VecDeque<Said>>,
    pub(crate) prompts: RefCell<Vec<Vec<Message>>>,
    pub(crate) payloads: RefCell<Vec<Value>>,
    /// Pieces that are heard before each answer.
    pub(crate) deltas: RefCell<Vec<Delta>>,
    /// Whether answers never come.
    pub(crate) stalls: Cell<bool>,
}

impl Script {
    pub(crate) fn of(said: impl IntoIterator<Item = Said>) -> Rc<Self> {
        Rc::new(Self { next: RefCell::new(said.into_iter().collect()), ..Self::default() })
    }

    /// The texts of one of the prompts.
    pub(crate) fn prompt(&self, at: usize) -> Vec<String> {
        self.prompts.borrow()[at].iter().map(|message| message.text().into_owned()).collect()
    }

    pub(crate) fn asked(&self) -> usize {
        self.prompts.borrow().len()
    }
}

impl Model for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(Delta)) -> Answer<'a> {
        self.prompts.borrow_mut().push(call.messages.to_vec());
        self.payloads.borrow_mut().push(call.payload.clone());
        Box::pin(async move {
            self.deltas.borrow().iter().cloned().for_each(heard);
            if self.stalls.get() {
                std::future::pending::<()>().await;
            }
            self.next.borrow_mut().pop_front().unwrap_or_else(|| says("there is nothing more in the script"))
        })
    }
}

/// A tool `add` that adds, `fail` that fails, and `wait` that never answers; and how often each was called.
#[derive(Default)]
pub(crate) struct Toolbox {
    pub(crate) used: RefCell<Vec<ToolUse>>,
    pub(crate) repeatable: Cell<bool>,
}

impl Tools for Toolbox {
    fn schemas(&self) -> Vec<ToolSchema> {
        let schema = |name: &str| ToolSchema {
            name: name.into(),
            description: None,
            parameters: json!({ "type": "object", "properties": {} }),
            strict: None,
        };
        ["add", "fail", "wait"].map(schema).to_vec()
    }

    fn repeatable(&self, _name: &str) -> bool {
        self.repeatable.get()
    }

    fn call(&self, call: ToolUse) -> ToolAnswer<'_> {
        self.used.borrow_mut().push(call.clone());
        Box::pin(async move {
            match call.name.as_str() {
                "add" => {
                    let number =
                        |name: &str| call.arguments.get(name).and_then(Value::as_i64).ok_or("a and b are needed");
                    Ok((number("a")? + number("b")?).into())
                }
                "wait" => std::future::pending().await,
                _ => Err("it is broken".to_owned()),
            }
        })
    }
}

/// The options of the tests' agent, which has all built-in tools and counts without a vocabulary.
pub(crate) fn options(name: &str) -> AgentOptions {
    let mut options = AgentOptions::new(name);
    options.user = "ann".to_owned();
    options.built_in = BUILT_IN.map(str::to_owned).to_vec();
    options.context.encoding = Some(Counting::Estimate);
    options
}

pub(crate) fn agent(keep: &Keep<MemoryStore>, script: &Rc<Script>) -> Agent<MemoryStore> {
    Agent::new(keep.clone(), options("lal"), Rc::clone(script) as Rc<dyn Model>, Rc::new(Toolbox::default()))
}

/// A message of Ann's.
pub(crate) fn from_ann(to: &str, text: &str) -> Outgoing {
    Outgoing { from: "ann".into(), to: to.into(), body: text.into(), ..Outgoing::default() }
}

/// Ann writes to the agent.
pub(crate) async fn write<S: Store>(keep: &Keep<S>, text: &str, reply_to: Option<&Mail>) -> Mail {
    let reply_to = reply_to.map(|mail| mail.message_id.clone());
    keep.send(Outgoing { reply_to, ..from_ann("lal", text) }).await.unwrap()
}

/// All of Ann's mailbox.
pub(crate) async fn box_of<S: Store>(keep: &Keep<S>, party: &str) -> Vec<Mail> {
    keep.list_messages(party, &MailFilter { dismissed: true, ..MailFilter::default() }).await.unwrap()
}

/// What the agent did, as short words.
pub(crate) fn words(events: &[AgentEvent]) -> Vec<String> {
    let kind = |event: &AgentEvent| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
    events.iter().map(kind).collect()
}

/// Lets others go first.
pub(crate) async fn breath() {
    let mut first = true;
    std::future::poll_fn(|context| {
        if std::mem::take(&mut first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// A store in which every commit takes a moment before and after it, so that a program can end in between; and so does every read, if
/// it is to.
#[derive(Clone)]
pub(crate) struct Breathing(pub(crate) MemoryStore, pub(crate) bool);

impl Breathing {
    async fn read(&self) {
        if self.1 {
            breath().await;
        }
    }
}

impl Store for Breathing {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.read().await;
        self.0.get(key).await
    }
    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.read().await;
        self.0.scan(scan).await
    }
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        breath().await;
        let done = self.0.commit(commit).await;
        breath().await;
        done
    }
    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
