//! An agent whose every reply chain is a transcript of its own.
//!
//! Goes in: the messages of the agent's mailbox, a [`Model`], tools. Comes out: nodes that grow, each message durable before the next
//! step, replies in the mailbox, and [`AgentEvent`]s for whoever watches. A reply to a known message continues that message's
//! chain, anything else begins a transcript; two replies to the same message are two branches. A message that names a conversation
//! continues where the head of that name points, and moves it along.
//!
//! Turns of different conversations run side by side. A turn below another turn waits for it to end. An agent claims a node before it
//! carries out the node's turn ([`Claims`]).
//!
//! Where a turn stands is read from its node alone, so a turn that a crash has ended goes on like any other, once somebody asks for it
//! ([`Agent::resume`]). [`Agent::catch_up`] looks at the messages that came since, answers those that have no answer, and answers none
//! twice. What is asked of models is `turn`'s, the tools that an agent can have are `built_in`'s and `tools`', what an agent knows of its
//! work between turns is `state`'s.
//!
//! ```
//! use std::rc::Rc;
//! use threadkeep::agent::{Agent, AgentOptions, NoTools};
//! use threadkeep::mailbox::{MailFilter, Outgoing};
//! use threadkeep::model::{Answer, Call, Model};
//! # use threadkeep::{Host, Keep, Options};
//! use threadkeep_core::Message;
//! use threadkeep_provider::{Completion, Delta, Finish};
//! # use threadkeep_store::MemoryStore;
//! # struct Test(std::cell::Cell<u8>);
//! # impl Host for Test {
//! #     fn now(&self) -> i64 { 0 }
//! #     fn random(&self) -> [u8; 32] { self.0.set(self.0.get() + 1); [self.0.get(); 32] }
//! # }
//!
//! /// A model that says what it was told; a real one sends `call.payload` to a provider.
//! struct Parrot;
//! impl Model for Parrot {
//!     fn name(&self) -> &str { "parrot" }
//!     fn call<'a>(&'a self, call: Call<'a>, _: &'a dyn Fn(Delta)) -> Answer<'a> {
//!         let said = call.messages.iter().next_back().map(|message| message.text().into_owned());
//!         let message = Message::assistant(said.unwrap_or_default());
//!         Box::pin(std::future::ready(Ok(Completion { message, usage: None, finish: Finish::Stop })))
//!     }
//! }
//!
//! # pollster::block_on(async {
//! # let keep = Keep::open(MemoryStore::new(), Test(0.into()), Options::default()).await?;
//! let mut options = AgentOptions::new("polly");
//! # options.context.encoding = Some(threadkeep::protocol::Counting::Estimate);
//! let polly = Agent::new(keep.clone(), options, Rc::new(Parrot), Rc::new(NoTools));
//! let to_polly = Outgoing { from: "user".into(), to: "polly".into(), body: "hello".into(), ..Outgoing::default() };
//! keep.send(to_polly).await?;
//! polly.catch_up(&|_| {}).await?;
//! let theirs = keep.list_messages("user", &MailFilter::default()).await?;
//! assert_eq!(theirs[1].body.joined(), "[depth:2] hello");
//! # Ok::<(), threadkeep::KeepError>(())
//! # }).unwrap();
//! ```

mod arguments;
mod built_in;
mod calls;
mod claims;
mod collect;
mod filing;
mod how;
mod inbox;
mod memory;
mod next;
mod noting;
mod options;
mod remember;
mod schema;
mod service;
mod spending;
mod spoken;
mod state;
mod steps;
mod summariser;
mod tools;
mod turn;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use threadkeep_core::message::ToolCall;
use threadkeep_core::node::Origin;
use threadkeep_core::{Message, MessageId, Role};
use threadkeep_store::Store;

use crate::compact::Cancel;
use crate::mailbox::{Mail, MailFilter, Outgoing};
use crate::model::Model;
use crate::protocol::{NodeInfo, Tool};
use crate::{Keep, KeepError};

pub use crate::protocol::BUILT_IN;
pub use crate::protocol::{AgentEvent, Outcome};
pub use claims::{Claims, Held, Here};
pub use memory::{Later, Memory, MemoryQuery, Own, Search, found};
pub use next::NextRequest;
pub use noting::Noting;
pub use options::{AgentOptions, NoTools, ToolAnswer, ToolUse, Tools, TurnLimits};
pub use service::{Recalled, Service};
pub use summariser::By;

use filing::Filed;
use inbox::{Inbox, Taken};
use turn::Turn;

/// Those built-in tools that have one of these names, as [`ContextParams`](crate::protocol::ContextParams) have tools: a prompt that counts them
/// says what an agent would send.
pub fn built_in_tools(names: &[String]) -> Vec<Tool> {
    built_in::schemas(&|name| names.iter().any(|own| own == name)).iter().map(Tool::of).collect()
}

/// An agent. See the module. It answers different conversations at the same time, and the messages of one in order.
pub struct Agent<S: Store> {
    keep: Keep<S>,
    options: AgentOptions,
    model: Rc<dyn Model>,
    tools: Rc<dyn Tools>,
    memory: Rc<dyn Memory>,
    claims: Rc<dyn Claims>,
    summariser: Option<By>,
    service: Option<Rc<dyn Service>>,
    inbox: Inbox,
    collected: Cell<Option<i64>>,
    /// What ends the turns that are under way.
    running: RefCell<HashMap<MessageId, Cancel>>,
}

/// Whoever hears what an agent does.
pub type Heard<'a> = &'a dyn Fn(AgentEvent);

impl<S: Store> Agent<S> {
    /// An agent over `keep`.
    pub fn new(keep: Keep<S>, options: AgentOptions, model: Rc<dyn Model>, tools: Rc<dyn Tools>) -> Self
    where
        S: 'static,
    {
        let memory = Rc::new(Own::new(keep.clone()));
        Self::with_memory(keep, options, model, tools, memory)
    }

    /// The same with another way to its prompts and its memory.
    pub fn with_memory(
        keep: Keep<S>,
        options: AgentOptions,
        model: Rc<dyn Model>,
        tools: Rc<dyn Tools>,
        memory: Rc<dyn Memory>,
    ) -> Self {
        let claims = Rc::new(Here::of(&keep));
        let (inbox, collected, running) = (Inbox::default(), Cell::default(), RefCell::default());
        Self { keep, options, model, tools, memory, claims, summariser: None, service: None, inbox, collected, running }
    }

    /// The same with histories that are summarised by this one. Without it, the settings choose between the rules and its own model.
    #[must_use]
    pub fn summarised_by(self, summariser: By) -> Self {
        Self { summariser: Some(summariser), ..self }
    }

    /// The same with claims that it shares with all other agents over the same store, of whatever name: two agents can meet in one
    /// conversation. Without it, agents share the claims of their keep.
    #[must_use]
    pub fn claiming(self, claims: Rc<dyn Claims>) -> Self {
        Self { claims, ..self }
    }

    /// The same with a memory service, whose memories go into the prompts of conversations.
    #[must_use]
    pub fn with_service(self, service: Rc<dyn Service>) -> Self {
        Self { service: Some(service), ..self }
    }

    /// Its keep.
    pub fn keep(&self) -> &Keep<S> {
        &self.keep
    }

    /// Its options.
    pub fn options(&self) -> &AgentOptions {
        &self.options
    }

    /// Answers all messages that have no answer yet: those of one conversation in order, others at the same time. Gives how many turns it
    /// carried out. Then it collects what was dismissed, if [`AgentOptions::collect_after`] says so. A turn that was interrupted stays as it
    /// is, unless [`AgentOptions::resume`] says otherwise; see [`Agent::interrupted`]. A model that fails is no error: the turn says so, and its sender is told.
    ///
    /// # Errors
    /// The store's, when all turns that could go on are over. The next call goes on from there.
    pub async fn catch_up(&self, heard: Heard<'_>) -> Result<usize, KeepError> {
        let mut turns = 0;
        loop {
            let mut working: FuturesUnordered<Later<'_, bool>> = FuturesUnordered::new();
            for node in if self.options.resume { self.interrupted().await? } else { Vec::new() } {
                if !self.running.borrow().contains_key(&node.id) {
                    working.push(Box::pin(async move { Ok(self.resumed(&node, true, heard).await?.is_some()) }));
                }
            }
            let filter = MailFilter { after: self.seen().await?, dismissed: true, limit: None };
            let mut others = Vec::new();
            for mail in self.keep.list_messages(&self.options.name, &filter).await? {
                match self.inbox.take(&mail) {
                    Some(taken) => working.push(Box::pin(self.handle(mail, taken, heard))),
                    None => others.push(mail.number),
                }
            }
            if working.is_empty() && !self.inbox.is_busy(&others) {
                self.collect_if_due().await?;
                return Ok(turns);
            }
            let mut failed = None;
            // To their end, also if one fails: a turn that is not polled may hold a lock of the engine.
            while let Some(done) = working.next().await {
                match done {
                    Ok(carried_out) => turns += usize::from(carried_out),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            self.inbox.over(&others).await;
        }
    }

    /// Gives a message its place and carries its turn out. Gives whether there was one.
    async fn handle(&self, mail: Mail, taken: Taken<'_>, heard: Heard<'_>) -> Result<bool, KeepError> {
        taken.first().await;
        let (_held, filed) = self.claim_and_file(mail, heard).await?;
        if let Filed::Gone = filed {
            taken.done();
            return Ok(false);
        }
        self.note(Some(taken.filed()), None, None).await?;
        let carried_out = match &filed {
            Filed::New(node) => {
                self.carry_out(node, false, heard).await?;
                true
            }
            Filed::Begun(node) if self.options.resume => {
                self.carry_out(node, true, heard).await?;
                true
            }
            Filed::Begun(_) | Filed::Done(_) | Filed::Gone => false,
        };
        taken.done();
        Ok(carried_out)
    }

    /// Sends this agent a message and begins its turn, without asking the model: the message is in both mailboxes and in its chain.
    /// [`Agent::resume`] answers it. Messages that came before it and have no turn yet get one too. A turn above it that is under way is
    /// waited for.
    ///
    /// # Errors
    /// `bad-request` for a sender without a name; `missing-node` where the message was deleted in the same moment; the store's.
    pub async fn post(&self, mail: Outgoing) -> Result<NodeInfo, KeepError> {
        let name = &self.options.name;
        let sent = self.keep.send(Outgoing { to: name.clone(), ..mail }).await?;
        let missing = || KeepError::MissingNode(sent.message_id.clone());
        let last = self.keep.mail_of(name, &sent.message_id).await?.ok_or_else(missing)?;
        let filter = MailFilter { after: self.seen().await?, dismissed: true, limit: None };
        for mail in self.keep.list_messages(name, &filter).await? {
            if mail.number < last.number {
                self.file_now(&mail).await?;
            }
        }
        let number = last.number;
        let filed = self.file_now(&last).await?;
        self.note(Some(number), None, None).await?;
        match filed {
            Filed::New(node) | Filed::Begun(node) => Ok(node),
            Filed::Done(node) => node.ok_or_else(missing),
            Filed::Gone => Err(missing()),
        }
    }

    /// Its [`Keep::interrupted_turns`].
    ///
    /// # Errors
    /// The store's.
    pub async fn interrupted(&self) -> Result<Vec<NodeInfo>, KeepError> {
        self.keep.interrupted_turns(&self.options.name).await
    }

    /// Carries a turn to its end: one of [`Agent::post`], or one that was interrupted. One that no agent has, as after an import, becomes
    /// this agent's. One that is under way is waited for, and one that has ended stays as it is.
    ///
    /// # Errors
    /// `missing-node`; `bad-request` for another agent's turn, or a node that something follows; the store's.
    pub async fn resume(&self, node: &MessageId, heard: Heard<'_>) -> Result<NodeInfo, KeepError> {
        let known = self.known(node).await?;
        if !known.sealed && self.resumed(&known, false, heard).await?.is_none() {
            let now = self.known(&known.id).await?;
            if now.sealed {
                return Ok(now);
            }
            let why = ["the turn ", known.id.as_str(), " cannot go on: it is another agent's, or something follows it"];
            return Err(KeepError::BadRequest(why.concat()));
        }
        self.known(&known.id).await
    }

    /// Claims a turn and carries it to its end; `None` if it is not interrupted (any more).
    async fn resumed(&self, node: &NodeInfo, again: bool, heard: Heard<'_>) -> Result<Option<()>, KeepError> {
        let _held = self.claims.hold(&node.id).await?;
        let Some(open) = self.keep.interrupted_turn(&self.options.name, &node.id).await? else { return Ok(None) };
        let begun = open.messages.iter().any(|message| message.role != Role::User);
        self.carry_out(&open, again || begun, heard).await.map(Some)
    }

    /// Answers once more what `node` answered, as a branch beside it: the same question to the same parent. Of a node without a question (a
    /// single imported answer, say) the answer comes below its parent. The head of `thread`, where one is named, moves to the new node in the
    /// node's commit; other heads stay.
    ///
    /// # Errors
    /// `missing-node`; `bad-request` for the beginning of a transcript without a question, or a thread's name that is none; the store's.
    pub async fn again(&self, node: &MessageId, thread: Option<&str>, heard: Heard<'_>) -> Result<NodeInfo, KeepError> {
        let old = self.known(node).await?;
        let asked = old.messages.iter().take_while(|message| message.role == Role::User).cloned();
        let asked: Vec<Message> = asked.collect();
        match old.parent {
            Some(parent) => self.begin(&parent, asked, old.origin, thread, heard).await,
            None if !asked.is_empty() => self.begin(&old.id, Vec::new(), Origin::default(), thread, heard).await,
            None => Err(KeepError::BadRequest("there is no question above this message".to_owned())),
        }
    }

    /// Lets the model go on below `node`, without another question: after a failure, or where a turn was ended by a limit. A turn of
    /// `node` that is under way is waited for. The head of `thread` moves as with [`Agent::again`].
    ///
    /// # Errors
    /// `missing-node`; `bad-request` for a thread's name that is none; the store's.
    pub async fn go_on(&self, node: &MessageId, thread: Option<&str>, heard: Heard<'_>) -> Result<NodeInfo, KeepError> {
        let old = self.known(node).await?;
        self.begin(&old.id, Vec::new(), old.origin, thread, heard).await
    }

    /// Ends all turns that are under way: what was said stays, marked as cut off, and the transcripts are valid. The next message is
    /// answered as ever.
    pub fn stop(&self) {
        let running: Vec<Cancel> = self.running.borrow().values().cloned().collect();
        running.iter().for_each(Cancel::cancel);
    }

    /// Ends the turn of this node as [`Agent::stop`] does, if it is under way.
    pub fn stop_turn(&self, node: &MessageId) {
        let running = self.running.borrow().get(node).cloned();
        if let Some(cancel) = running {
            cancel.cancel();
        }
    }

    async fn known(&self, node: &MessageId) -> Result<NodeInfo, KeepError> {
        self.keep.node(node).await?.ok_or_else(|| KeepError::MissingNode(node.clone()))
    }

    async fn begin(
        &self,
        parent: &MessageId,
        messages: Vec<Message>,
        origin: Origin,
        thread: Option<&str>,
        heard: Heard<'_>,
    ) -> Result<NodeInfo, KeepError> {
        let above = self.known(parent).await?;
        let above = if above.sealed { None } else { Some(self.claims.hold(&above.id).await?) };
        let origin = Origin { agent: Some(self.options.name.clone()), ..origin };
        let node = self.keep.branch_with(parent, messages, origin, thread, &|id| self.opening(id)).await?;
        drop(above);
        let _held = self.claims.hold(&node.id).await?;
        self.carry_out(&node, false, heard).await?;
        self.known(&node.id).await
    }

    /// Carries a turn out. The caller holds the claim on it.
    async fn carry_out(&self, node: &NodeInfo, resumed: bool, heard: Heard<'_>) -> Result<(), KeepError> {
        let cancel = Cancel::default();
        let _running = Running::new(&self.running, &node.id, cancel.clone());
        Turn::new(self, node, resumed, cancel, heard).run().await?;
        self.note(None, None, Some(&node.id)).await
    }
}

/// A turn that is under way, until it is dropped.
struct Running<'a>(&'a RefCell<HashMap<MessageId, Cancel>>, &'a MessageId);

impl<'a> Running<'a> {
    fn new(all: &'a RefCell<HashMap<MessageId, Cancel>>, node: &'a MessageId, cancel: Cancel) -> Self {
        all.borrow_mut().insert(node.clone(), cancel);
        Self(all, node)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().remove(self.1);
    }
}

/// A call as the model made it, and its place among the calls of the turn, which names it for good: models use ids again.
#[derive(Debug, Clone, PartialEq)]
struct Pending {
    ordinal: usize,
    call: ToolCall,
}
