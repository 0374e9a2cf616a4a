//! The memory kernel of an agent: its operations under the names that readers of such systems know, over [`Keep`].
//!
//! Goes in: what happens to an agent (user input, tool calls and results, answers, usage). Comes out: request packages for a
//! model, traces, tool interactions, bundles. The agent is a head, its working context the chain there with its newest
//! checkpoint; nothing is kept here but the settings, so that a kernel can be made anew at any time. Calling the model
//! is its user's: [`Kernel::before_invoke`] and [`Kernel::after_invoke`] stand around that.
//!
//! | name there | here |
//! |---|---|
//! | `startTurn`, `ingestUserMessage`, `ingestToolIntent`, `ingestToolResult`, `ingestAssistantResponse` | the same in snake case; a trace's source event follows from its kind |
//! | `requestCompaction`, `clearCompactionRequest`, `compaction_required` | the same; kept by [`Keep`] for the head |
//! | `getRawTail`, `getTracesForTurns`, `getToolInteractions` | the same, read from the chain with all its originals |
//! | `getWorkingContextMessages`, `resetWorkingContextSnapshot` | the same; a reset goes on from the given messages in a branch of its own |
//! | `selectCompactionWindow`, `compact(turnIds)` | the same; compaction prunes nothing, it adds a checkpoint |
//! | `build_snapshot` | the same; its messages are what a reset takes |
//! | input and tool result processors, of which memory's comes last (order 900) | [`Processor`], [`INGEST_ORDER`] |
//! | `retrieve`, `prepareRequest`, `renderPayload` | the same |
//! | `beforeInvoke`, `afterInvoke` of an extension | [`Extension`] |

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;
use threadkeep_compaction::memory::jsonl::RawTrace;
use threadkeep_compaction::memory::{BundleLimits, MemoryBundle, ToolInteraction, ToolStatus, turn_number};
use threadkeep_compaction::{Policy, Reason};
use threadkeep_core::message::ToolCall;
use threadkeep_core::node::turn_name;
use threadkeep_core::sort;
use threadkeep_core::{Content, Message, Role};
use threadkeep_provider::render;
use threadkeep_store::Store;

use crate::compact::{CompactOptions, Compacted, Summariser};
use crate::protocol::{BadRequest, ContextOptions, ContextParams, Wanted};
use crate::traces::{Snapshot, Turns};
use crate::{Keep, KeepError, MemoryFilter};

/// What stands before and behind each call of a model.
pub trait Extension {
    /// Before the call: the messages and the payload that will be sent.
    fn before_invoke(&self, _messages: &[Message], _payload: &Value) {}

    /// After the call: what was sent, what came back, and what the provider counted.
    fn after_invoke(&self, _messages: &[Message], _response: &Message, _usage: Option<&Usage>) {}
}

/// The place of memory among the [processors](Processor): what reaches it is what the model will see.
pub const INGEST_ORDER: u32 = 900;

/// What changes a message on its way into memory: cleans it up, formats it. What comes out is what is stored and sent. Its role and
/// its call must stay.
pub trait Processor {
    /// Its place: a smaller one comes first. It must be below [`INGEST_ORDER`].
    fn order(&self) -> u32;

    /// A user's input.
    fn process_input(&self, message: Message) -> Message {
        message
    }

    /// A tool's result, or why it failed.
    fn process_tool_result(&self, message: Message) -> Message {
        message
    }
}

/// What a provider counted for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// The tokens of the prompt.
    pub prompt_tokens: u64,
    /// The tokens of the answer.
    pub completion_tokens: u64,
}

/// How a kernel works.
#[derive(Debug, Clone)]
pub struct KernelOptions {
    /// Budget, provider, counting and frame of the prompts, over the settings of the agent's head.
    pub context: ContextParams,
    /// When to compact.
    pub policy: Policy,
    /// How to compact. Its `tail_turns` are also those of [`Kernel::select_compaction_window`].
    pub compact: CompactOptions,
    /// How much is retrieved for a prompt once there is a checkpoint.
    pub limits: BundleLimits,
    /// What is stored as the user's input once the last pending call of a turn has its result, such as `All tools finished. Continue.`. It opens the next
    /// turn. `None` for nothing: providers take results without more words.
    pub continuation: Option<String>,
}

/// A request, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestPackage {
    /// The messages, in the generic form.
    pub messages: Vec<Message>,
    /// The same for the provider.
    pub payload: Value,
    /// The turn that it belongs to; none before the first.
    pub turn_id: Option<String>,
    /// Whether the history was compacted on the way.
    pub did_compact: bool,
    /// Whether it is over its budget; then do not send it.
    pub over_budget: bool,
}

/// An agent's memory. See the module.
pub struct Kernel<S> {
    keep: Keep<S>,
    agent: String,
    options: KernelOptions,
    summariser: Rc<dyn Summariser>,
    extensions: RefCell<Vec<Rc<dyn Extension>>>,
    processors: RefCell<Vec<Rc<dyn Processor>>>,
}

impl<S: Store> Kernel<S> {
    /// The memory of the agent whose head is called `agent`; it need not be there yet.
    pub fn new(
        keep: Keep<S>,
        agent: impl Into<String>,
        options: KernelOptions,
        summariser: Rc<dyn Summariser>,
    ) -> Self {
        let (extensions, processors) = Default::default();
        Self { keep, agent: agent.into(), options, summariser, extensions, processors }
    }

    /// Adds an extension; those that were added first are called first.
    pub fn add_extension(&self, extension: Rc<dyn Extension>) {
        self.extensions.borrow_mut().push(extension);
    }

    /// Adds a processor; of equal places the one that was added first comes first.
    ///
    /// # Errors
    /// `bad-request` for a place from [`INGEST_ORDER`] on: memory would not have what it makes.
    pub fn add_processor(&self, processor: Rc<dyn Processor>) -> Result<(), KeepError> {
        if processor.order() >= INGEST_ORDER {
            return Err(bad("order", "must be below 900, where memory takes what has come of the message"));
        }
        let mut processors = self.processors.borrow_mut();
        processors.push(processor);
        sort::sort_by_key(&mut processors, |processor| processor.order());
        Ok(())
    }

    /// A message as the processors leave it.
    fn processed(&self, message: Message) -> Result<Message, KeepError> {
        let before = (message.role.clone(), message.tool_call_id.clone());
        let processors = self.processors.borrow().clone();
        let message = processors.iter().fold(message, |message, it| match message.role {
            Role::User => it.process_input(message),
            Role::Tool => it.process_tool_result(message),
            _ => message,
        });
        if (&message.role, &message.tool_call_id) != (&before.0, &before.1) {
            return Err(bad("message", "must keep its role and its call: a processor changed that"));
        }
        Ok(message)
    }

    /// The name that the next turn gets: that of the user message that is ingested next, if nobody else is first.
    ///
    /// # Errors
    /// `damaged`; the store's.
    pub async fn start_turn(&self) -> Result<String, KeepError> {
        self.keep.next_turn(&self.agent).await
    }

    /// Stores a user's input, which opens a turn, as the processors leave it. Gives the turn's name.
    ///
    /// # Errors
    /// `bad-request` for a message of another role, or where a processor makes one of it; the store's.
    pub async fn ingest_user_message(&self, message: Message) -> Result<String, KeepError> {
        if message.role != Role::User {
            return Err(bad("message", "must be a user message"));
        }
        self.ingest(self.processed(message)?).await
    }

    /// Stores that the model calls tools: one message with all `calls` of one response. Calls that the chain has already are
    /// left out, so that an answer that was ingested with its calls may be told of again. Gives the turn's name.
    ///
    /// # Errors
    /// The store's.
    pub async fn ingest_tool_intent(&self, mut calls: Vec<ToolCall>) -> Result<String, KeepError> {
        let known = self.keep.tool_interactions_at(&self.agent, None).await?;
        calls.retain(|call| known.iter().all(|known| known.tool_call_id != call.id()));
        if calls.is_empty() {
            return self.current_turn().await.map(Option::unwrap_or_default);
        }
        let mut message = Message::assistant(Content::Null);
        message.tool_calls = calls;
        self.ingest(message).await
    }

    /// Stores what a tool gave back, or why it failed, as the processors leave it. It belongs to the turn of its call, even if
    /// it comes late. Where it was the last that its turn waited for, [`KernelOptions::continuation`] is stored behind it.
    ///
    /// # Errors
    /// `bad-request` where a processor makes another call's of it; the store's.
    pub async fn ingest_tool_result(
        &self,
        tool_call_id: &str,
        tool_name: &str,
        result: Result<Value, String>,
    ) -> Result<String, KeepError> {
        let (said, is_error) = match result {
            Ok(Value::String(text)) => (text, false),
            Ok(value) => (value.to_string(), false),
            Err(error) => (error, true),
        };
        let name = Some(tool_name.to_owned()).filter(|name| !name.is_empty());
        let message = Message { is_error, name, ..Message::tool(tool_call_id, said) };
        let message = self.processed(message)?;
        let waits = |it: &ToolInteraction| it.status == ToolStatus::Pending;
        let waited = match self.options.continuation {
            Some(_) => {
                let before = self.get_tool_interactions(None).await?;
                before.iter().any(|it| it.tool_call_id == tool_call_id && waits(it))
            }
            None => false,
        };
        self.ingest(message).await?;
        let all = self.get_tool_interactions(None).await?;
        let own = all.iter().rev().find(|it| it.tool_call_id == tool_call_id);
        // Calls of an earlier turn may never be answered.
        let goes_on = own.is_some_and(|own| all.iter().any(|it| it.turn == own.turn && waits(it)));
        if let Some(words) = self.options.continuation.as_ref().filter(|_| waited && !goes_on) {
            self.ingest(Message::user(words.clone())).await?;
        }
        Ok(own.map_or_else(String::new, |it| turn_name(it.turn)))
    }

    /// Stores a model's answer, with its calls if it has some. Gives the turn's name.
    ///
    /// # Errors
    /// `bad-request` for a message of another role; the store's.
    pub async fn ingest_assistant_response(&self, response: Message) -> Result<String, KeepError> {
        if response.role != Role::Assistant {
            return Err(bad("response", "must be an assistant message"));
        }
        self.ingest(response).await
    }

    async fn ingest(&self, message: Message) -> Result<String, KeepError> {
        let nodes = self.keep.append(&self.agent, vec![message]).await?;
        Ok(nodes.into_iter().next_back().and_then(|node| node.turn).unwrap_or_default())
    }

    /// The turn at the end of the chain; none before the first.
    ///
    /// # Errors
    /// `damaged`; the store's.
    pub async fn current_turn(&self) -> Result<Option<String>, KeepError> {
        Ok(self.keep.head(&self.agent).await?.and_then(|node| node.turn))
    }

    /// Asks for a compaction before the next request; an agent without a head has nothing to compact.
    ///
    /// # Errors
    /// The store's.
    pub async fn request_compaction(&self) -> Result<(), KeepError> {
        match self.keep.head(&self.agent).await? {
            None => Ok(()),
            Some(_) => self.keep.request_compaction(&self.agent).await,
        }
    }

    /// Takes that back.
    ///
    /// # Errors
    /// As [`Keep::clear_compaction_request`].
    pub async fn clear_compaction_request(&self) -> Result<(), KeepError> {
        self.keep.clear_compaction_request(&self.agent).await
    }

    /// Why a compaction is pending; none where none is.
    ///
    /// # Errors
    /// The store's.
    pub async fn compaction_required(&self) -> Result<Option<Reason>, KeepError> {
        match self.keep.head(&self.agent).await? {
            None => Ok(None),
            Some(_) => self.keep.compaction_required(&self.agent).await,
        }
    }

    /// The traces of the last `tail_turns` turns, oldest first, without those of the turn `exclude` (the current one).
    ///
    /// # Errors
    /// `bad-request` for what is no turn's name; the store's.
    pub async fn get_raw_tail(&self, tail_turns: usize, exclude: Option<&str>) -> Result<Vec<RawTrace>, KeepError> {
        let exclude = exclude.map(number).transpose()?;
        self.keep.raw_traces(&self.agent, &Turns::Tail { turns: tail_turns, exclude }).await
    }

    /// The traces of these turns, in order. Compacted turns have theirs still.
    ///
    /// # Errors
    /// `bad-request` for what is no turn's name; the store's.
    pub async fn get_traces_for_turns(&self, turn_ids: &[String]) -> Result<Vec<RawTrace>, KeepError> {
        let wanted = turn_ids.iter().map(|name| number(name)).collect::<Result<Vec<u32>, _>>()?;
        self.keep.raw_traces(&self.agent, &Turns::These(wanted)).await
    }

    /// What the model would be sent now, in the generic form.
    ///
    /// # Errors
    /// As [`Keep::context`]. An agent without a head has no messages.
    pub async fn get_working_context_messages(&self) -> Result<Vec<Message>, KeepError> {
        if self.keep.head(&self.agent).await?.is_none() {
            return Ok(Vec::new());
        }
        let options = self.keep.options_at(&self.agent, self.options.context.clone()).await?;
        Ok(self.keep.context(&self.agent, &options).await?.messages)
    }

    /// Goes on from these messages instead of the history: a branch of its own, beside which the history stays.
    ///
    /// # Errors
    /// The store's.
    pub async fn reset_working_context_snapshot(&self, messages: Vec<Message>) -> Result<(), KeepError> {
        let root = self.keep.at_head(&self.agent, |tree, _| Ok(tree.root().map(|root| root.node.id.clone()))).await?;
        if let Some(root) = root.flatten() {
            self.keep.set_head(&self.agent, &root).await?;
        }
        self.keep.append(&self.agent, messages).await.map(drop)
    }

    /// The agent's tool calls with their results; those of one turn where it is given.
    ///
    /// # Errors
    /// `bad-request` for what is no turn's name; the store's.
    pub async fn get_tool_interactions(&self, turn_id: Option<&str>) -> Result<Vec<ToolInteraction>, KeepError> {
        self.keep.tool_interactions_at(&self.agent, turn_id.map(number).transpose()?).await
    }

    /// The turns that a compaction would cover now: whole turns, oldest first, without those of the raw tail, the live
    /// turn (the newest, until it is answered), and what a checkpoint covers already.
    ///
    /// # Errors
    /// As [`Keep::checkpoints`].
    pub async fn select_compaction_window(&self) -> Result<Vec<String>, KeepError> {
        self.keep.compaction_turns(&self.agent, self.options.compact.tail_turns).await
    }

    /// Compacts now, as the options say.
    ///
    /// # Errors
    /// As [`Keep::compact`].
    pub async fn compact(&self) -> Result<Compacted, KeepError> {
        self.keep.compact(&self.agent, &self.options.compact, &*self.summariser).await
    }

    /// Compacts these turns now. Since a summary stands in for the beginning of a history, they must be the oldest that no checkpoint
    /// covers, and not the newest turn: the first few that [`Kernel::select_compaction_window`] would give for a tail of none. A
    /// turn into which a tool group of a later one reaches stays raw.
    ///
    /// # Errors
    /// `bad-request` for other turns, or none; as [`Keep::compact`].
    pub async fn compact_turns(&self, turn_ids: &[String]) -> Result<Compacted, KeepError> {
        let wrong = || bad("turnIds", "must be the oldest turns that are not covered, without the newest");
        let all = self.keep.compaction_turns(&self.agent, Some(0)).await?;
        if turn_ids.is_empty() || !all.starts_with(turn_ids) {
            return Err(wrong());
        }
        // One more where the newest turn is answered, so that it counts among the tail.
        let mut tail = (all.len() - turn_ids.len()) as u32;
        if self.keep.compaction_turns(&self.agent, Some(tail)).await?.len() > turn_ids.len() {
            tail += 1;
        }
        let options = CompactOptions {
            tail_turns: Some(tail),
            keep_recent: None,
            target_tokens: None,
            agent: Some(self.agent.clone()),
            ..self.options.compact.clone()
        };
        self.keep.compact(&self.agent, &options, &*self.summariser).await
    }

    /// The compaction snapshot as messages: the system prompt, then what is remembered with the last `tail_turns` turns but for
    /// the turn `exclude` (the current one), as one message. It is what [`Kernel::reset_working_context_snapshot`] takes;
    /// nothing is stored here.
    ///
    /// # Errors
    /// `bad-request` for what is no turn's name; `vocabulary-missing` with a `budget`; those of a chain; the store's.
    pub async fn build_snapshot(
        &self,
        system_prompt: Option<&str>,
        bundle: &MemoryBundle,
        tail_turns: usize,
        exclude: Option<&str>,
        budget: Option<u32>,
    ) -> Result<Vec<Message>, KeepError> {
        let how = Snapshot {
            system_prompt: system_prompt.map(str::to_owned),
            tail_turns,
            exclude: exclude.map(number).transpose()?,
            budget,
            encoding: self.options.context.encoding.unwrap_or_default(),
        };
        self.keep.build_snapshot(&self.agent, bundle, &how).await
    }

    /// The best of what this agent and all share remember for the input, if there is one.
    ///
    /// # Errors
    /// `corrupt`; the store's.
    pub async fn retrieve(
        &self,
        max_episodic: usize,
        max_semantic: usize,
        input: Option<&str>,
    ) -> Result<MemoryBundle, KeepError> {
        let limits = BundleLimits { episodes: max_episodic, facts: max_semantic };
        let filter = MemoryFilter { agent: Some(self.agent.clone()), ..MemoryFilter::default() };
        self.keep.retrieve(&filter, input, limits).await
    }

    /// Prepares the next request: compacts if that was asked for, then stores the input, then renders. `system_prompt` stands
    /// in the place of the instructions with which the history begins.
    ///
    /// # Errors
    /// Those of the steps. An input that was stored stays stored.
    pub async fn prepare_request(
        &self,
        input: Option<Message>,
        system_prompt: Option<&str>,
    ) -> Result<RequestPackage, KeepError> {
        let mut did_compact = false;
        if self.compaction_required().await?.is_some() {
            did_compact = self.compact().await?.checkpoint.is_some();
        }
        let input = input.map(|message| self.processed(message)).transpose()?;
        let query = input.as_ref().map(|message| message.text().into_owned());
        if let Some(message) = input {
            self.ingest(message).await?;
        }
        let own = self.options.context.clone();
        let system_prompt = system_prompt.map(str::to_owned).or(own.system_prompt);
        let mut options = self.keep.options_at(&self.agent, ContextParams { system_prompt, ..own }).await?;
        if !self.keep.checkpoints(&self.agent).await?.is_empty() {
            let limits = self.options.limits;
            let wanted = options.memory.get_or_insert_with(|| Wanted { limits, ..Wanted::default() });
            wanted.query = wanted.query.take().or(query);
            wanted.agent = Some(self.agent.clone());
        }
        let reply = self.keep.context(&self.agent, &options).await?;
        Ok(RequestPackage {
            messages: reply.messages,
            payload: reply.payload,
            turn_id: self.current_turn().await?,
            did_compact,
            over_budget: reply.over_budget,
        })
    }

    /// The payload of messages for the provider.
    pub fn render_payload(&self, messages: &[Message]) -> Value {
        let messages: Vec<&Message> = messages.iter().collect();
        let options = ContextOptions::from(self.options.context.clone());
        render(&messages, options.build.provider, &options.render).payload
    }

    /// Calls the extensions before a model is called with `package`.
    pub fn before_invoke(&self, package: &RequestPackage) {
        for extension in self.listening() {
            extension.before_invoke(&package.messages, &package.payload);
        }
    }

    /// After the model has answered: stores the answer, asks for a compaction where the usage says so, calls the extensions. Gives why a
    /// compaction is pending.
    ///
    /// # Errors
    /// `bad-request` for a message of another role; the store's.
    pub async fn after_invoke(
        &self,
        package: &RequestPackage,
        response: Message,
        usage: Option<&Usage>,
    ) -> Result<Option<Reason>, KeepError> {
        self.ingest_assistant_response(response.clone()).await?;
        let tokens = usage.map(|usage| usage.prompt_tokens);
        let reason = self.keep.after_response(&self.agent, tokens, &self.options.policy).await?;
        for extension in self.listening() {
            extension.after_invoke(&package.messages, &response, usage);
        }
        Ok(reason)
    }

    fn listening(&self) -> Vec<Rc<dyn Extension>> {
        self.extensions.borrow().clone()
    }
}

impl<S: Store> Keep<S> {
    /// The tool calls at a head; none where there is no such head.
    async fn tool_interactions_at(&self, name: &str, turn: Option<u32>) -> Result<Vec<ToolInteraction>, KeepError> {
        match self.head(name).await? {
            None => Ok(Vec::new()),
            Some(_) => self.tool_interactions(name, turn).await,
        }
    }
}

fn number(name: &str) -> Result<u32, KeepError> {
    turn_number(name).ok_or_else(|| bad("turnId", "must be a turn's name such as turn_0001"))
}

fn bad(argument: &str, why: &str) -> KeepError {
    BadRequest { argument: argument.to_owned(), why: why.to_owned() }.into()
}
