//! A chain as turns: one user message and all that follows it until the next. Goes in: a chain of nodes. Comes out: its
//! messages with their turns, the last few turns, and tool calls paired with their results. Nothing is stored here.

use std::collections::HashMap;

use serde_json::Value;
use threadkeep_core::node::turn_name;
use threadkeep_core::{Content, Message, MessageId, Node, Role};

use crate::summary::Piece;

/// A message of a chain, with its place and its turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    /// Its node.
    pub node: &'a MessageId,
    /// Its place in the node, from 0.
    pub index: u32,
    /// Its turn, from 1; zero before the first. A tool's result belongs to the turn of its call, even if it came later.
    pub turn: u32,
    /// When its node was made, in milliseconds since 1970 (UTC), where that is known.
    pub created_at: Option<i64>,
    /// The message.
    pub message: &'a Message,
}

impl<'a> From<Step<'a>> for Piece<'a> {
    fn from(step: Step<'a>) -> Self {
        Self { node: step.node, index: step.index, turn: step.turn, message: step.message }
    }
}

/// The messages of a chain, from its root on, with their turns.
///
/// ```
/// use threadkeep_compaction::memory::steps;
/// use threadkeep_core::{Message, MessageId, Node};
/// let messages = vec![Message::system("be brief"), Message::user("hi"), Message::assistant("hello")];
/// let node = Node { turn: 1, ..Node::new(MessageId::new("a")?, None, messages) };
/// assert_eq!(steps([&node]).iter().map(|step| step.turn).collect::<Vec<_>>(), [0, 1, 1]);
/// # Ok::<(), threadkeep_core::IdError>(())
/// ```
pub fn steps<'a>(chain: impl IntoIterator<Item = &'a Node>) -> Vec<Step<'a>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut turn = 0_u32;
    // The turn in which each id was last called.
    let mut turns: HashMap<&str, u32> = HashMap::new();
    for node in chain {
        // A node's number is that of its first user message's turn; each further one opens the next.
        let mut next = if node.turn > 0 { node.turn } else { turn.saturating_add(1) };
        for (index, message) in (0..).zip(&node.messages) {
            if message.role == Role::User {
                turn = next;
                next = next.saturating_add(1);
            }
            let called = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool);
            let called = called.and_then(|id| turns.get(id).copied());
            turns.extend(message.tool_calls.iter().map(|call| (call.id(), called.unwrap_or(turn))));
            steps.push(Step {
                node: &node.id,
                index,
                turn: called.unwrap_or(turn),
                created_at: node.created_at,
                message,
            });
        }
    }
    steps
}

/// The number of a turn's name: 1 for `turn_0001`. `None` for anything else.
pub fn turn_number(name: &str) -> Option<u32> {
    let number: u32 = name.strip_prefix("turn_")?.parse().ok()?;
    (turn_name(number) == name).then_some(number)
}

/// A turn with its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// Its messages, in order.
    pub messages: Vec<&'a Message>,
}

/// The last `tail` turns of a chain, oldest first, without the turn `exclude` (the current one, whose input the prompt
/// holds anyway). What prompts do not contain is left out. Seed and default: 4.
pub fn raw_tail<'a>(steps: &[Step<'a>], tail: usize, exclude: Option<u32>) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    let mut places: HashMap<u32, usize> = HashMap::new();
    for step in steps {
        if step.turn == 0 || Some(step.turn) == exclude || !step.message.include_in_context {
            continue;
        }
        match places.get(&step.turn).and_then(|place| turns.get_mut(*place)) {
            Some(turn) => turn.messages.push(step.message),
            None => {
                places.insert(step.turn, turns.len());
                turns.push(Turn { number: step.turn, messages: vec![step.message] });
            }
        }
    }
    turns.split_off(turns.len().saturating_sub(tail))
}

/// How many turns stay as they are by default.
pub const RAW_TAIL_TURNS: usize = 4;

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum ToolStatus {
    /// There is no result yet.
    Pending,
    /// There is a result.
    Success,
    /// It failed.
    Error,
}

impl ToolStatus {
    /// Its name: `PENDING`, `SUCCESS` or `ERROR`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Success => "SUCCESS",
            Self::Error => "ERROR",
        }
    }
}

/// A tool call with its result: a view of a chain, never stored.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase"))]
pub struct ToolInteraction {
    /// The id that ties the two together.
    pub tool_call_id: String,
    /// Its turn, such as `turn_0001`; `null` before the first.
    #[cfg_attr(feature = "ts", ts(rename = "turnId", type = "string | null"))]
    pub turn: u32,
    /// The tool.
    pub tool_name: String,
    /// JSON where the model wrote JSON, else its text; `null` where only the result is there.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    pub arguments: Value,
    /// What it gave back.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    pub result: Option<Value>,
    /// Why it failed.
    pub error: Option<String>,
    /// How far it is.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub status: ToolStatus,
}

/// The tool calls of a chain, in the order of the calls; those of one turn only where `turn` is given. A result without a
/// call stands for itself; of several results of one call the first counts.
///
/// ```
/// use threadkeep_compaction::memory::{ToolStatus, steps, tool_interactions};
/// use threadkeep_core::message::ToolCall;
/// use threadkeep_core::{Message, MessageId, Node};
/// let call = ToolCall::function("c1", "list", r#"{"path":"src"}"#);
/// let calling = Message { tool_calls: vec![call], ..Message::assistant("") };
/// let node = Node::new(MessageId::new("a")?, None, vec![Message::user("go"), calling, Message::tool("c1", "app.ts")]);
/// let all = tool_interactions(&steps([&node]), None);
/// assert_eq!((all[0].status, &all[0].arguments["path"]), (ToolStatus::Success, &"src".into()));
/// # Ok::<(), threadkeep_core::IdError>(())
/// ```
pub fn tool_interactions(steps: &[Step], turn: Option<u32>) -> Vec<ToolInteraction> {
    let mut all: Vec<ToolInteraction> = Vec::new();
    // The newest of each id.
    let mut newest: HashMap<&str, usize> = HashMap::new();
    for step in steps {
        for call in &step.message.tool_calls {
            newest.insert(call.id(), all.len());
            all.push(ToolInteraction {
                tool_call_id: call.id().to_owned(),
                turn: step.turn,
                tool_name: call.name().to_owned(),
                arguments: arguments(call.arguments()),
                result: None,
                error: None,
                status: ToolStatus::Pending,
            });
        }
        if step.message.role != Role::Tool {
            continue;
        }
        let id = step.message.tool_call_id.as_deref().unwrap_or_default();
        match newest.get(id).and_then(|place| all.get_mut(*place)) {
            Some(open) if open.status == ToolStatus::Pending => answer(open, step.message),
            Some(_) => {}
            None => {
                let mut alone = ToolInteraction {
                    tool_call_id: id.to_owned(),
                    turn: step.turn,
                    tool_name: step.message.name.clone().unwrap_or_default(),
                    arguments: Value::Null,
                    result: None,
                    error: None,
                    status: ToolStatus::Pending,
                };
                answer(&mut alone, step.message);
                newest.insert(id, all.len());
                all.push(alone);
            }
        }
    }
    all.retain(|interaction| turn.is_none_or(|turn| interaction.turn == turn));
    all
}

fn answer(interaction: &mut ToolInteraction, message: &Message) {
    if message.is_error {
        interaction.error = Some(message.text().into_owned());
        interaction.status = ToolStatus::Error;
    } else {
        interaction.result = Some(content(&message.content));
        interaction.status = ToolStatus::Success;
    }
}

/// Arguments as JSON, where they are JSON.
pub(super) fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Content as JSON.
pub(super) fn content(content: &Content) -> Value {
    match content {
        Content::Absent | Content::Null => Value::Null,
        Content::Text(text) => text.as_str().into(),
        Content::Parts(parts) => parts.iter().map(|part| Value::Object(part.0.clone())).collect(),
    }
}
