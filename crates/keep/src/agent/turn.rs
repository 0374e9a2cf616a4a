//! One turn: the loop of model and tools, from a question to the end of its answer.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;
use threadkeep_compaction::Reason;
use threadkeep_context::preview::PREVIEW;
use threadkeep_core::message::{Kind, ToolCall};
use threadkeep_core::{Message, MessageId, Role, TranscriptId, depth};
use threadkeep_provider::{Completion, Delta, Dialect, Finish, Usage, lift};
use threadkeep_store::Store;

use super::how::How;
use super::spoken::Spoken;
use super::steps::{self, Step};
use super::{Agent, AgentEvent, By, Heard, Noting, Outcome, arguments, built_in};
use crate::KeepError;
use crate::compact::{Cancel, unless};
use crate::hash::fnv;
use crate::journal::{Noted, Sending};
use crate::mailbox::{Body, Mail, Outgoing};
use crate::model::{Call, Failure};
use crate::protocol::{ContextReply, NodeInfo};

/// The code of a message that says that a turn was stopped.
const CANCELLED: &str = "cancelled";
/// The code of one that says that a limit was reached.
const LIMIT: &str = "limit";
/// The code of one that says that the spending limit was reached.
const SPENDING: &str = "spending-limit";

/// The tag of an answer that the limit on its tokens has cut off.
const CUT_OFF: &str = "cut-off";

/// How much was said in a turn.
#[derive(Clone, Copy)]
struct Said {
    messages: usize,
    answers: usize,
    calls: usize,
}

impl Said {
    fn of(messages: &[Message]) -> Self {
        Self {
            messages: messages.len(),
            answers: messages.iter().filter(|message| message.role == Role::Assistant).count(),
            calls: messages.iter().map(|message| message.tool_calls.len()).sum(),
        }
    }
}

/// A turn that is under way.
pub(super) struct Turn<'a, S: Store> {
    pub(super) agent: &'a Agent<S>,
    pub(super) node: MessageId,
    pub(super) transcript: TranscriptId,
    /// The message that it answers, where there is one.
    pub(super) mail: Option<Mail>,
    number: Option<u64>,
    parent: Option<MessageId>,
    resumed: bool,
    pub(super) cancel: Cancel,
    heard: Heard<'a>,
    began: i64,
    /// What the provider counted so far.
    usage: Cell<Option<Usage>>,
    /// The request whose answer is awaited, as the journal has it.
    noted: RefCell<Option<Noted>>,
    /// What the provider counted for it.
    counted: Cell<Option<Usage>>,
    /// The built-in tools that the conversation needs beside those that were asked for.
    pub(super) needed: RefCell<Vec<&'static str>>,
    /// What a memory service remembers that answers the message.
    recalled: Option<String>,
}

impl<'a, S: Store> Turn<'a, S> {
    pub(super) fn new(agent: &'a Agent<S>, node: &NodeInfo, resumed: bool, cancel: Cancel, heard: Heard<'a>) -> Self {
        Self {
            agent,
            node: node.id.clone(),
            transcript: node.transcript.clone(),
            mail: None,
            number: node.origin.number,
            parent: node.parent.clone(),
            resumed,
            cancel,
            heard,
            began: agent.keep.now(),
            usage: Cell::new(None),
            noted: RefCell::default(),
            counted: Cell::new(None),
            needed: RefCell::default(),
            recalled: None,
        }
    }

    /// Carries it to its end.
    pub(super) async fn run(mut self) -> Result<(), KeepError> {
        if let Some(number) = self.number {
            // Damaged, it keeps neither this turn back nor those after it: the answer is stored, and there is nobody to send it to.
            let keep = &self.agent.keep;
            self.mail = keep.if_sound(keep.mail(&self.agent.options.name, number).await)?;
        }
        // Another agent gets only what is meant for it.
        if self.mail.as_ref().is_some_and(|mail| mail.node.is_some()) {
            self.need("reply");
        }
        self.tell(AgentEvent::Began { node: self.node.clone(), resumed: self.resumed });
        self.recalled = self.recall().await;
        let mut resumed = self.resumed;
        let keep = &self.agent.keep;
        loop {
            let (step, said) =
                keep.messages_of(&self.node, |messages| (steps::next(messages), Said::of(messages))).await?;
            match step {
                Step::Done | Step::Failed => break,
                Step::Tools(open) => self.use_tools(open, resumed).await?,
                Step::Ask => self.ask(said).await?,
            }
            resumed = false;
        }
        let messages = keep.messages_of(&self.node, <[Message]>::to_vec).await?;
        self.end(&messages).await
    }

    /// What the memory service remembers, if there is one. A stop ends the search.
    async fn recall(&self) -> Option<String> {
        let mail = self.mail.as_ref()?;
        let (conversation, query) = (mail.conversation.as_deref(), mail.body.joined());
        unless(Some(&self.cancel), Box::pin(self.agent.recall(conversation, &query))).await.ok().flatten()
    }

    pub(super) fn tell(&self, event: AgentEvent) {
        (self.heard)(event);
    }

    pub(super) async fn add(&self, message: Message) -> Result<(), KeepError> {
        self.agent.keep.grow(&self.node, message, None).await
    }

    /// Stores how a request ended: what was answered, and in the journal what that cost.
    async fn answered(&self, message: Message, outcome: &str, usage: Option<Usage>) -> Result<(), KeepError> {
        let now = self.agent.keep.now();
        let noted = self.noted.take().map(|noted| noted.ended(outcome, usage, now)).transpose()?;
        self.agent.keep.grow(&self.node, message, noted).await
    }

    /// Ends the turn with a message that says why there is no (whole) answer.
    async fn fail(&self, code: &str, reason: String, partial: Message) -> Result<(), KeepError> {
        let kind = Kind::Error { code: code.to_owned(), reason };
        let mut partial = partial;
        if partial.text().is_empty()
            && partial.reasoning.is_none()
            && let Some(draft) = self.agent.keep.draft(&self.node).await?
        {
            // What was said before an interruption stays, where nothing else was said since.
            partial = draft;
        }
        // Calls that will not be carried out would be calls without results.
        self.answered(Message { kind, tool_calls: Vec::new(), ..partial }, code, self.counted.take()).await
    }

    /// Which limit is reached, in words.
    fn over_limit(&self, steps: usize) -> Option<String> {
        let limits = &self.agent.options.limits;
        if steps >= limits.steps {
            return Some(format!("the turn was ended after {steps} answers of the model, its limit"));
        }
        let used = self.usage.get().unwrap_or_default();
        let used = used.prompt_tokens.saturating_add(used.completion_tokens);
        if let Some(most) = limits.tokens.filter(|most| used >= *most) {
            return Some(format!("the turn was ended after {used} tokens; its limit is {most}"));
        }
        let late = limits.millis.filter(|_| self.is_late())?;
        Some(format!("the turn was ended after {late} milliseconds, its limit"))
    }

    /// Which limit an answer is over, in words.
    fn too_much(&self, message: &Message) -> Option<String> {
        let limits = &self.agent.options.limits;
        let calls = message.tool_calls.len();
        if calls > limits.calls {
            return Some(format!("the model called {calls} tools in one answer; {} are allowed", limits.calls));
        }
        let long = message.tool_calls.iter().find(|call| call.arguments().len() > limits.argument_bytes)?;
        let (name, bytes, most) = (long.name(), long.arguments().len(), limits.argument_bytes);
        Some(format!("the model called {name} with {bytes} bytes of arguments; {most} are allowed"))
    }

    fn is_late(&self) -> bool {
        let spent = u64::try_from(self.agent.keep.now() - self.began).unwrap_or_default();
        self.agent.options.limits.millis.is_some_and(|most| spent >= most)
    }

    /// Asks the model once, and stores what it says.
    async fn ask(&self, before: Said) -> Result<(), KeepError> {
        // Limits first: whoever keeps the time stops the turn when it is over.
        if let Some(reason) = self.over_limit(before.answers) {
            return self.fail(LIMIT, reason, Message::assistant("")).await;
        }
        if self.cancel.is_cancelled() {
            return self.fail(CANCELLED, "stopped".to_owned(), Message::assistant("")).await;
        }
        let mut how = self.how().await?;
        self.compact_if_due(&how).await?;
        let mut prompt = self.agent.memory.context(&self.node, &how.options).await?;
        if prompt.over_budget && self.compact(&how).await? {
            prompt = self.agent.memory.context(&self.node, &how.options).await?;
        }
        if shows_previews(&prompt) && self.need(built_in::READ) {
            how = self.how().await?;
            prompt = self.agent.memory.context(&self.node, &how.options).await?;
        }
        if prompt.over_budget {
            let budget = prompt.limits.tokens.map_or_else(|| "its budget".to_owned(), |most| format!("{most} tokens"));
            let reason = format!(
                "the prompt needs {} tokens, and {budget} are allowed: nothing was sent",
                prompt.figures.tokens
            );
            return self.fail("over-budget", reason, Message::assistant("")).await;
        }
        if let Some(reason) = self.over_spending(prompt.figures.tokens, how.journal.is_some()).await? {
            return self.fail(SPENDING, reason, Message::assistant("")).await;
        }
        let dialect = self.agent.model.dialect();
        let body = body_of(dialect.as_ref(), &prompt);
        let request = self.note(&how, &prompt, dialect, &body).await?;
        self.tell(AgentEvent::Asked { node: self.node.clone(), tokens: prompt.figures.tokens, request });
        let spoken = Spoken::default();
        let heard = |delta: Delta| {
            spoken.hear(&delta);
            if self.is_late() {
                self.cancel.cancel();
            }
            self.tell(AgentEvent::Delta { node: self.node.clone(), delta });
        };
        let call = Call { messages: &prompt.messages, payload: &body, tools: &how.schemas };
        let answer = unless(Some(&self.cancel), self.agent.model.call(call, &heard));
        let answer = spoken.storing(&self.agent.keep, &self.node, answer).await;
        let partial = || spoken.message();
        match answer {
            Err(KeepError::Cancelled) => match self.over_limit(0) {
                Some(reason) => self.fail(LIMIT, reason, partial()).await,
                None => self.fail(CANCELLED, "stopped".to_owned(), partial()).await,
            },
            Err(error) => Err(error),
            Ok(Err(failure)) => {
                let Failure { code, message, partial: said } = failure;
                self.fail(&code, message, said.unwrap_or_else(partial)).await
            }
            Ok(Ok(completion)) => {
                let tokens = tokens_of(&prompt, completion.usage, &how);
                self.said(completion, tokens, &before, &how).await
            }
        }
    }

    /// Notes a request in the journal before it is sent. Gives its id there.
    async fn note(
        &self,
        how: &How,
        prompt: &ContextReply,
        dialect: Option<Dialect>,
        body: &Value,
    ) -> Result<Option<String>, KeepError> {
        let Some(days) = how.journal else { return Ok(None) };
        let agent = Some(self.agent.options.name.as_str());
        let provider = how.options.build.provider;
        let sending =
            Sending { node: &self.node, agent, params: &how.params, dialect, provider, reply: prompt, body, days };
        let noted = self.agent.keep.note_request(sending).await?;
        let id = noted.record.id.clone();
        self.noted.replace(Some(noted));
        Ok(Some(id))
    }

    /// Stores an answer, and asks for a compaction if its prompt had too many `tokens`.
    async fn said(&self, completion: Completion, tokens: u64, before: &Said, how: &How) -> Result<(), KeepError> {
        let Completion { mut message, usage, finish } = completion;
        if let Some(usage) = usage {
            self.usage.set(Some(self.usage.get().unwrap_or_default().plus(usage)));
        }
        self.counted.set(usage);
        // A connection has done so already; a host's function may know nothing of it.
        let tools: Vec<String> = how.schemas.iter().map(|schema| schema.name.clone()).collect();
        lift(&mut message, &tools, &format!("{} {}", self.node, before.messages));
        if finish == Finish::Length {
            message.tags.push(CUT_OFF.to_owned());
        }
        if let Some(reason) = self.too_much(&message) {
            return self.fail("bad-answer", reason, message).await;
        }
        for (index, call) in message.tool_calls.iter_mut().enumerate() {
            if call.id().is_empty() {
                *call = ToolCall::function(format!("call_{}", before.calls + index), call.name(), call.arguments());
            }
        }
        if message.tool_calls.is_empty() && message.text().trim().is_empty() {
            let reason = match finish {
                Finish::Length => "the model used up its tokens before it said anything",
                Finish::Filtered => "the provider held the answer back",
                _ => "the model said nothing",
            };
            return self.fail("bad-answer", reason.to_owned(), message).await;
        }
        self.answered(message, finish.name(), self.counted.take()).await?;
        self.agent.memory.after_response(&self.node, Some(tokens), how.policy).await?;
        self.tell(AgentEvent::said(self.node.clone(), usage));
        Ok(())
    }

    /// How the next request is made.
    async fn how(&self) -> Result<How, KeepError> {
        let agent = self.agent;
        let conversation = self.mail.as_ref().and_then(|mail| mail.conversation.as_deref());
        let settings = agent.memory.settings(Some(&self.transcript), conversation).await?;
        let schemas = agent.schemas(&self.needed.borrow());
        Ok(How::of(agent, &settings, schemas, self.recalled.as_deref(), &self.cancel))
    }

    /// Compacts where that was asked for: here, or by the turn before.
    async fn compact_if_due(&self, how: &How) -> Result<(), KeepError> {
        let memory = &self.agent.memory;
        let mut due: Option<Reason> = memory.compaction_required(&self.node).await?;
        if let Some(parent) = &self.parent
            && let Some(reason) = memory.compaction_required(parent).await?
        {
            due = Some(reason);
            memory.clear_compaction_request(parent).await?;
        }
        if due.is_some() {
            self.compact(how).await?;
        }
        Ok(())
    }

    /// Compacts the history; gives whether that came to something. What goes wrong is told, and the turn goes on without.
    async fn compact(&self, how: &How) -> Result<bool, KeepError> {
        let Some(options) = &how.compact else { return Ok(false) };
        self.tell(AgentEvent::Compacting { node: self.node.clone() });
        let by = self.noting(self.affordable(options, how).await?, how);
        let done = self.agent.memory.compact(&self.node, options, by).await;
        let node = self.node.clone();
        let (checkpoint, (tokens_before, tokens_after), error) = match done {
            Ok(done) => (done.checkpoint.map(|made| made.id), (done.tokens_before, done.tokens_after), None),
            Err(error @ KeepError::Store(_)) => return Err(error),
            Err(error) => {
                // Otherwise it would be tried again with every step.
                self.agent.memory.clear_compaction_request(&self.node).await?;
                (None, (0, 0), Some(error.to_string()))
            }
        };
        let made = checkpoint.is_some();
        self.tell(AgentEvent::Compacted { node, checkpoint, tokens_before, tokens_after, error });
        Ok(made)
    }

    /// A summariser with its requests in the journal, if the settings want that.
    fn noting(&self, by: By, how: &How) -> By {
        let Some(days) = how.journal else { return by };
        by.noting(Noting {
            memory: Rc::clone(&self.agent.memory),
            node: self.node.clone(),
            agent: Some(self.agent.options.name.clone()),
            encoding: how.options.encoding,
            days,
        })
    }

    /// Sends a message of this turn, once however often it is tried: its id is made of the turn and `what`.
    pub(super) async fn deliver(
        &self,
        what: &str,
        mut body: Body,
        about: Option<&Mail>,
        to: Option<String>,
    ) -> Result<Mail, KeepError> {
        let (keep, name) = (&self.agent.keep, &self.agent.options.name);
        let mut to = to.unwrap_or_default();
        if let Some(about) = about {
            to.clone_from(if about.from == *name { &about.to } else { &about.from });
            depth::write(&mut body.strings, keep.depth(&self.node).await?);
        }
        let sent = keep.send(Outgoing {
            from: name.clone(),
            to,
            body,
            reply_to: about.map(|mail| mail.message_id.clone()),
            message_id: Some(MessageId::mint(&self.transcript, mixed(&self.node, what))),
            node: Some(self.node.clone()),
            is_error: what == "failure",
            conversation: None,
        });
        let sent = sent.await?;
        self.agent.observe(&sent).await?;
        self.tell(AgentEvent::Sent { mail: Box::new(sent.clone()) });
        Ok(sent)
    }

    /// Answers, where the model has not done so itself, and completes the node.
    async fn end(&self, messages: &[Message]) -> Result<(), KeepError> {
        let last = messages.iter().rev().find(|message| message.role == Role::Assistant);
        let failure = last.and_then(|message| match &message.kind {
            Kind::Error { code, reason } => Some((code.as_str(), reason.clone())),
            _ => None,
        });
        let outcome = match &failure {
            None => Outcome::Answered,
            Some((CANCELLED, _)) => Outcome::Cancelled,
            Some((LIMIT | SPENDING, _)) => Outcome::Limited,
            Some(_) => Outcome::Failed,
        };
        // Another agent gets what is meant for it, with `reply`: two that answered each other's last words would never end.
        if let Some(mail) = self.mail.clone().filter(|mail| mail.node.is_none()) {
            let text = last.map(|message| message.text().into_owned()).unwrap_or_default();
            let failed: HashSet<&str> = messages
                .iter()
                .filter(|message| message.is_error)
                .filter_map(|message| message.tool_call_id.as_deref())
                .collect();
            let mut calls = messages.iter().flat_map(|message| &message.tool_calls);
            let replied = calls.any(|call| self.replies(call, &mail) && !failed.contains(call.id()));
            match &failure {
                None if !replied && !text.trim().is_empty() => {
                    self.deliver("answer", Body::text(text), Some(&mail), None).await?;
                }
                Some((_, reason)) if outcome != Outcome::Cancelled => {
                    let text = ["No answer: ", reason].concat();
                    self.deliver("failure", Body::text(text), Some(&mail), None).await?;
                }
                _ => {}
            }
        }
        self.agent.keep.seal(&self.node).await?;
        let cut_off = last.is_some_and(|message| message.tags.iter().any(|tag| tag == CUT_OFF));
        let code = match &failure {
            Some((code, _)) => (*code).to_owned(),
            None => if cut_off { "length" } else { "stop" }.to_owned(),
        };
        let reason = failure.map(|(_, reason)| reason);
        let (node, usage) = (self.node.clone(), self.usage.get());
        self.tell(AgentEvent::Ended { node, outcome, code, usage, reason });
        Ok(())
    }

    /// Whether a call is a reply to the message that the turn answers.
    fn replies(&self, call: &ToolCall, mail: &Mail) -> bool {
        let to = || arguments::number(&arguments::object(call.arguments()).ok()?, "messageNumber").ok();
        call.name() == "reply"
            && self.has_built_in("reply")
            && to().is_some_and(|number| number.is_none_or(|number| number == mail.number))
    }
}

/// The tokens of a prompt, as the provider counts them if it does. A prompt that was cut says nothing of how long the history is: without
/// a budget of its own, that counts as more than any model takes.
fn tokens_of(prompt: &ContextReply, usage: Option<Usage>, how: &How) -> u64 {
    if !how.has_budget && prompt.ledger.is_cut() {
        return u64::MAX;
    }
    let counted = prompt.figures.tokens;
    let counted = || how.known.as_ref().map_or(counted, |known| known.scale(counted));
    usage.map_or_else(counted, |usage| usage.prompt_tokens)
}

/// The body of a request: the payload, with what the endpoint wants beside it.
pub(super) fn body_of(dialect: Option<&Dialect>, prompt: &ContextReply) -> Value {
    dialect.map_or_else(|| prompt.payload.clone(), |dialect| dialect.body(&prompt.payload))
}

/// Whether a prompt shows only the beginning of a tool's result.
pub(super) fn shows_previews(prompt: &ContextReply) -> bool {
    prompt.messages.iter().any(|message| message.role == Role::Tool && message.text().starts_with(PREVIEW))
}

/// A number made of a node and what is said in its turn. Zero is a root's.
fn mixed(node: &MessageId, what: &str) -> u64 {
    fnv(node.as_str().bytes().chain([0]).chain(what.bytes())).max(1)
}
