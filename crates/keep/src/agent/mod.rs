//! An agent whose every reply chain is a transcript of its own.
//!
//! Goes in: the messages of the agent's mailbox, a [`Model`], tools. Comes out: nodes that grow, each message durable before the next
//! step, replies in the mailbox, and [`AgentEvent`]s for whoever watches. A reply to a known message continues that message's
//! chain, anything else begins a transcript; two replies to the same message are two branches.
//!
//! Where a turn stands is read from its node alone, so a turn that a crash has ended goes on like any other, once somebody asks for it
//! ([`Agent::resume`]). [`Agent::catch_up`] looks at the messages that came since, answers those that have no answer, and answers none
//! twice. What is asked of models is `turn`'s, the tools that every agent has are `built_in`'s and `tools`', what an agent knows of its work between
//! turns is `state`'s.
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
//! # options.context.encoding = threadkeep::protocol::Counting::Estimate;
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
mod memory;
mod remember;
mod schema;
mod spoken;
mod state;
mod steps;
mod tools;
mod turn;

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use serde_json::{Map, Value};
use threadkeep_compaction::memory::RememberFrom;
use threadkeep_compaction::{Policy, PolicyOptions};
use threadkeep_core::message::ToolCall;
use threadkeep_core::node::Origin;
use threadkeep_core::{Message, MessageId, Role, TranscriptId};
use threadkeep_provider::ToolSchema;
use threadkeep_store::{Commit, Store};
use tokio::sync::Mutex;

use crate::compact::{Cancel, CompactOptions};
use crate::log::Log;
use crate::mailbox::{Mail, MailFilter, Outgoing, node_of};
use crate::model::Model;
use crate::origin::sender_line;
use crate::protocol::{ContextOptions, Inbound, NodeInfo};
use crate::{Keep, KeepError};

pub use crate::protocol::BUILT_IN;
pub use crate::protocol::{AgentEvent, Outcome};
pub use memory::{Later, Memory, Own, Search, Wanted, found};
use turn::Turn;

/// What a tool answers, once it does: a text or any JSON, or why it failed, in words for the model.
pub type ToolAnswer<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + 'a>>;

/// One call of a host's tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The node in whose turn it is called.
    pub node: MessageId,
}

/// The tools of a host, beside those that every agent has ([`BUILT_IN`]).
pub trait Tools {
    /// What they are, for the model.
    fn schemas(&self) -> Vec<ToolSchema> {
        Vec::new()
    }

    /// Whether calling a tool twice does no harm. Where a crash leaves it open whether a call was carried out, such a tool is called
    /// again; of any other the model is told that it was interrupted.
    fn repeatable(&self, _name: &str) -> bool {
        false
    }

    /// Calls a tool. Several calls of one answer run side by side. A call that is dropped was cancelled.
    fn call(&self, call: ToolUse) -> ToolAnswer<'_>;
}

/// No tools of a host's.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

impl Tools for NoTools {
    fn call(&self, call: ToolUse) -> ToolAnswer<'_> {
        Box::pin(std::future::ready(Err(["there is no tool ", &call.name].concat())))
    }
}

/// When a turn is ended though the model would go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// The most answers of the model.
    pub steps: usize,
    /// The most tokens, prompts and answers together, as the provider counts them.
    pub tokens: Option<u64>,
    /// The longest time in milliseconds. What is being said then is cut off.
    pub millis: Option<u64>,
    /// The most tool calls in one answer. An answer with more is a failure, and none of its tools is called.
    pub calls: usize,
    /// The most bytes of one call's arguments, likewise.
    pub argument_bytes: usize,
}

impl Default for TurnLimits {
    /// 50 steps, 256 calls in an answer, 4 MiB of arguments in a call.
    fn default() -> Self {
        Self { steps: 50, tokens: None, millis: None, calls: 256, argument_bytes: 4 << 20 }
    }
}

/// How an agent works.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Its name, under which it has a mailbox.
    pub name: String,
    /// Whose messages it reads as they are; those of others begin with a line that says who writes and the number.
    pub user: String,
    /// What stands at the root of each of its transcripts; nothing does where it is empty.
    pub system_prompt: String,
    /// Which of [`BUILT_IN`] it has.
    pub built_in: Vec<String>,
    /// Budget, policy and counting of its prompts. Without a budget it is that of the model.
    pub context: ContextOptions,
    /// When its history is compacted, over what is known of the model.
    pub policy: PolicyOptions,
    /// How it is compacted; `None` for never.
    pub compact: Option<CompactOptions>,
    /// When a turn is ended.
    pub limits: TurnLimits,
    /// Whether [`Agent::catch_up`] carries on turns that were interrupted. Without it they wait for [`Agent::resume`]: a model that was
    /// chosen since then is sent nothing that nobody asked for.
    pub resume: bool,
    /// Whose statements it remembers, by compactions and by its tool `remember`.
    pub remember_from: RememberFrom,
}

impl AgentOptions {
    /// An agent with all built-in tools, no system prompt of its own, the policy `stable`, memory, and compaction when it is due.
    pub fn new(name: impl Into<String>) -> Self {
        let mut context = ContextOptions::default();
        context.build.policy = threadkeep_context::Policy::Stable;
        context.memory = Some(crate::protocol::Wanted::default());
        Self {
            name: name.into(),
            user: "user".to_owned(),
            system_prompt: String::new(),
            built_in: BUILT_IN.map(str::to_owned).to_vec(),
            context,
            policy: PolicyOptions::default(),
            compact: Some(CompactOptions::default()),
            limits: TurnLimits::default(),
            resume: false,
            remember_from: RememberFrom::default(),
        }
    }
}

/// An agent. See the module. It answers one message at a time.
pub struct Agent<S: Store> {
    keep: Keep<S>,
    options: AgentOptions,
    model: Rc<dyn Model>,
    tools: Rc<dyn Tools>,
    memory: Rc<dyn Memory>,
    busy: Mutex<()>,
    current: RefCell<Cancel>,
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

    /// The same with another way to its prompts and its memory: one that has another summariser, say.
    pub fn with_memory(
        keep: Keep<S>,
        options: AgentOptions,
        model: Rc<dyn Model>,
        tools: Rc<dyn Tools>,
        memory: Rc<dyn Memory>,
    ) -> Self {
        Self { keep, options, model, tools, memory, busy: Mutex::new(()), current: RefCell::default() }
    }

    /// Its keep.
    pub fn keep(&self) -> &Keep<S> {
        &self.keep
    }

    /// Its options.
    pub fn options(&self) -> &AgentOptions {
        &self.options
    }

    /// Answers all messages that have no answer yet, oldest first. Gives how many turns it carried out. A turn that was interrupted
    /// stays as it is, unless [`AgentOptions::resume`] says otherwise; see [`Agent::interrupted`]. A model that fails is no error: the
    /// turn says so, and its sender is told.
    ///
    /// # Errors
    /// The store's. What was done until then is done, and the next call goes on from there.
    pub async fn catch_up(&self, heard: Heard<'_>) -> Result<usize, KeepError> {
        let _busy = self.busy.lock().await;
        let mut turns = 0;
        if self.options.resume {
            for node in self.interrupted().await? {
                self.carry_out(&node, true, heard).await?;
                turns += 1;
            }
        }
        loop {
            let filter = MailFilter { after: self.seen().await?, dismissed: true, limit: None };
            let new = self.keep.list_messages(&self.options.name, &filter).await?;
            if new.is_empty() {
                return Ok(turns);
            }
            for mail in new {
                let number = mail.number;
                let filed = self.file(mail).await?;
                match &filed {
                    Filed::New(node) => self.carry_out(node, false, heard).await?,
                    Filed::Begun(node) if self.options.resume => self.carry_out(node, true, heard).await?,
                    Filed::Begun(_) | Filed::Done(_) => {}
                }
                turns += usize::from(match filed {
                    Filed::New(_) => true,
                    Filed::Begun(_) => self.options.resume,
                    Filed::Done(_) => false,
                });
                self.note(Some(number), None, None).await?;
            }
        }
    }

    /// Sends this agent a message and begins its turn, without asking the model: the message is in both mailboxes and in its chain.
    /// [`Agent::resume`] answers it. Messages that came before it and have no turn yet get one too.
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
                self.file(mail).await?;
            }
        }
        let number = last.number;
        let filed = self.file(last).await?;
        self.note(Some(number), None, None).await?;
        match filed {
            Filed::New(node) | Filed::Begun(node) => Ok(node),
            Filed::Done(node) => node.ok_or_else(missing),
        }
    }

    /// Its [`Keep::interrupted_turns`].
    ///
    /// # Errors
    /// The store's.
    pub async fn interrupted(&self) -> Result<Vec<NodeInfo>, KeepError> {
        self.keep.interrupted_turns(&self.options.name).await
    }

    /// Carries a turn to its end: one of [`Agent::post`], or one that was interrupted. A turn that has ended meanwhile stays as it is.
    ///
    /// # Errors
    /// `missing-node`; `bad-request` for a node that is no turn of this agent, or that something follows; the store's.
    pub async fn resume(&self, node: &MessageId, heard: Heard<'_>) -> Result<NodeInfo, KeepError> {
        let _busy = self.busy.lock().await;
        let known = self.known(node).await?;
        if known.sealed {
            return Ok(known);
        }
        if !self.interrupted().await?.iter().any(|open| open.id == known.id) {
            let why =
                ["the turn ", known.id.as_str(), " cannot go on: it is none of this agent's, or something follows it"];
            return Err(KeepError::BadRequest(why.concat()));
        }
        let begun = known.messages.iter().any(|message| message.role != Role::User);
        self.carry_out(&known, begun, heard).await?;
        self.known(&known.id).await
    }

    /// Answers once more what `node` answered, as a branch beside it: the same question to the same parent. Of a node without a question (a
    /// single imported answer, say) the answer comes below its parent.
    ///
    /// # Errors
    /// `missing-node`; `bad-request` for the beginning of a transcript without a question; the store's.
    pub async fn again(&self, node: &MessageId, heard: Heard<'_>) -> Result<NodeInfo, KeepError> {
        let old = self.known(node).await?;
        let asked = old.messages.iter().take_while(|message| message.role == Role::User).cloned();
        let asked: Vec<Message> = asked.collect();
        match old.parent {
            Some(parent) => self.begin(&parent, asked, old.origin, heard).await,
            None if !asked.is_empty() => self.begin(&old.id, Vec::new(), Origin::default(), heard).await,
            None => Err(KeepError::BadRequest("there is no question above this message".to_owned())),
        }
    }

    /// Lets the model go on below `node`, without another question: after a failure, or where a turn was ended by a limit.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn go_on(&self, node: &MessageId, heard: Heard<'_>) -> Result<NodeInfo, KeepError> {
        let old = self.known(node).await?;
        self.begin(&old.id, Vec::new(), old.origin, heard).await
    }

    /// Ends the turn that is under way, if one is: what was said stays, marked as cut off, and the transcript is valid. The next message is
    /// answered as ever.
    pub fn stop(&self) {
        self.current.borrow().cancel();
    }

    async fn known(&self, node: &MessageId) -> Result<NodeInfo, KeepError> {
        self.keep.node(node).await?.ok_or_else(|| KeepError::MissingNode(node.clone()))
    }

    async fn begin(
        &self,
        parent: &MessageId,
        messages: Vec<Message>,
        origin: Origin,
        heard: Heard<'_>,
    ) -> Result<NodeInfo, KeepError> {
        let _busy = self.busy.lock().await;
        let origin = Origin { agent: Some(self.options.name.clone()), ..origin };
        let node = self.keep.branch_with(parent, messages, origin, &|id| self.opening(id)).await?;
        self.carry_out(&node, false, heard).await?;
        self.known(&node.id).await
    }

    /// Gives a message of the mailbox its place in a chain.
    async fn file(&self, mail: Mail) -> Result<Filed, KeepError> {
        if mail.from == self.options.name {
            self.observe(&mail).await?;
            return Ok(Filed::Done(None));
        }
        // Failures of others want no answer, or two agents would tell each other of theirs for ever.
        if mail.is_error {
            return Ok(Filed::Done(None));
        }
        let id = self.inbound_id(&mail).await?;
        match self.keep.node(&id).await? {
            Some(node) if node.sealed => Ok(Filed::Done(Some(node))),
            Some(node) => {
                self.note(None, Some(&node.id), None).await?;
                Ok(Filed::Begun(node))
            }
            None if mail.dismissed.is_some() => Ok(Filed::Done(None)),
            None => {
                let opening = self.opening(&id);
                Ok(Filed::New(self.keep.receive_as(self.inbound(&mail, id), Role::User, opening).await?))
            }
        }
    }

    async fn carry_out(&self, node: &NodeInfo, resumed: bool, heard: Heard<'_>) -> Result<(), KeepError> {
        let cancel = Cancel::default();
        *self.current.borrow_mut() = cancel.clone();
        Turn::new(self, node, resumed, cancel, heard).run().await?;
        self.note(None, None, Some(&node.id)).await
    }

    /// Sees a message of its own: whoever replies to it finds the chain in which it was said. One that answers nothing begins a
    /// transcript, which such a reply continues.
    async fn observe(&self, mail: &Mail) -> Result<(), KeepError> {
        let id = &mail.message_id;
        if self.keep.node(id).await?.is_some() {
            return Ok(());
        }
        let Some(reply_to) = &mail.reply_to else {
            let said = Inbound {
                message_id: Some(id.clone()),
                from: Some(mail.from.clone()),
                system_prompt: self.system_prompt(),
                ..Inbound::new(mail.body.joined())
            };
            let node = self.keep.receive_as(said, Role::Assistant, Commit::default()).await?;
            return self.keep.seal(&node.id).await.map(drop);
        };
        let node = mail.node.as_ref().unwrap_or(reply_to);
        if self.keep.node(node).await?.is_some() {
            self.keep.alias(id, node).await?;
        }
        Ok(())
    }

    /// The id of the node in which a message is answered: the message's own, unless that is a node, or stands for one, of another agent,
    /// the one that sent it.
    async fn inbound_id(&self, mail: &Mail) -> Result<MessageId, KeepError> {
        // What an imported file holds under the id of a message is not that message.
        let mine = |node: &NodeInfo, id: &MessageId| {
            let said = node.messages.first().map(Message::text).unwrap_or_default();
            let origin = (node.origin.number, node.origin.from.as_ref());
            node.id == *id && origin == (Some(mail.number), Some(&mail.from)) && said.ends_with(&mail.body.joined())
        };
        let mut id = mail.message_id.clone();
        if mail.node.is_some() {
            id = node_of(&id, &self.options.name)?;
        }
        while self.keep.node(&id).await?.is_some_and(|known| !mine(&known, &id)) {
            id = node_of(&id, &self.options.name)?;
        }
        Ok(id)
    }

    fn inbound(&self, mail: &Mail, id: MessageId) -> Inbound {
        let mut text = mail.body.joined();
        if mail.from != self.options.user {
            text.insert_str(0, &sender_line(mail.number, &mail.from));
        }
        Inbound {
            message_id: Some(id),
            reply_to: mail.reply_to.clone(),
            from: Some(mail.from.clone()),
            number: Some(mail.number),
            system_prompt: self.system_prompt(),
            ..Inbound::new(text)
        }
    }

    /// The agent's own instructions, and those of its mailbox; `None` where there are neither.
    fn system_prompt(&self) -> Option<String> {
        let mail = self.options.built_in.iter().any(|name| name == "reply").then_some(built_in::ABOUT_MAIL);
        let own = Some(self.options.system_prompt.as_str()).filter(|own| !own.trim().is_empty());
        let parts: Vec<&str> = own.into_iter().chain(mail).collect();
        if parts.is_empty() { None } else { Some(parts.join("\n\n")) }
    }

    /// What holds for its model: the table, and over that the agent's own figures.
    fn policy(&self) -> Policy {
        Policy::resolve(&self.options.policy, &PolicyOptions::default(), Some(self.model.name()))
    }
}

impl<S: Store> Keep<S> {
    /// Deletes, for good, the transcripts that came about through the mailbox of `party` and of which all its messages are dismissed.
    /// A transcript in which anything else lies (an import, say) stays. Gives how many were deleted.
    ///
    /// # Errors
    /// The store's. What was deleted until then is.
    pub async fn collect_dismissed(&self, party: &str) -> Result<usize, KeepError> {
        let all = MailFilter { dismissed: true, ..MailFilter::default() };
        let (mut done, mut open): (Vec<TranscriptId>, Vec<TranscriptId>) = (Vec::new(), Vec::new());
        for mail in self.list_messages(party, &all).await? {
            let own = node_of(&mail.message_id, party).ok();
            let mut found = None;
            for id in own.iter().chain([&mail.message_id]) {
                if found.is_none() {
                    found = self.node(id).await?;
                }
            }
            let Some(node) = found else { continue };
            let list = if mail.dismissed.is_some() { &mut done } else { &mut open };
            if !list.contains(&node.transcript) {
                list.push(node.transcript);
            }
        }
        done.retain(|transcript| !open.contains(transcript));
        let mut deleted = 0;
        for transcript in done {
            let from_mail = |log: &Log| {
                let mut nodes = log.tree.nodes().map(|placed| &placed.node);
                Ok(nodes.all(|node| node.parent.is_none() || node.origin.from.is_some()))
            };
            if self.read(&transcript, from_mail).await? == Some(true) {
                self.delete_transcript(&transcript).await?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }
}

/// Where a message of the mailbox is.
enum Filed {
    /// In a new node, which has no answer yet.
    New(NodeInfo),
    /// In a node whose turn was begun before and has not ended.
    Begun(NodeInfo),
    /// In a node whose turn is over, or nowhere: it wants no answer.
    Done(Option<NodeInfo>),
}

/// A call as the model made it, and its place among the calls of the turn, which names it for good: models use ids again.
#[derive(Debug, Clone, PartialEq)]
struct Pending {
    ordinal: usize,
    call: ToolCall,
}
