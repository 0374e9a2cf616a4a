//! Which results of a stretch of a branch belong to which calls, so that both are shown as one. Messages in, pairs out.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use threadkeep_core::message::{DURATION, ToolCall};
use threadkeep_core::{Message, Role};

/// A message of the stretch.
#[derive(Debug, Clone, Copy)]
pub struct Stretched<'a> {
    /// The message.
    pub message: &'a Message,
    /// The position of its node in the branch.
    pub node: usize,
    /// When the node was made. That is the time of its first message.
    pub time: Option<i64>,
}

/// The call that a result answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answered<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// How long it took, in milliseconds: as the agent measured it, else from one node to the other.
    pub took: Option<u64>,
}

/// The pairs of a stretch. Messages are named by their places in it.
#[derive(Debug, Default)]
pub struct Joined<'a> {
    /// By the place of the result.
    calls: HashMap<usize, Answered<'a>>,
    /// Places of messages, and of calls in them.
    answered: HashSet<(usize, usize)>,
}

impl<'a> Joined<'a> {
    /// Joins each result with the last call of its id that has none yet.
    pub fn of(messages: impl IntoIterator<Item = Stretched<'a>>) -> Self {
        let mut open: HashMap<&str, (usize, usize, Stretched<'a>)> = HashMap::new();
        let mut joined = Self::default();
        let mut before = None;
        for (at, here) in messages.into_iter().enumerate() {
            let is_first = before.replace(here.node) != Some(here.node);
            for (place, call) in here.message.tool_calls.iter().enumerate() {
                open.insert(call.id(), (at, place, here));
            }
            let id = here.message.tool_call_id.as_deref().filter(|id| !id.is_empty());
            let Some((asked, place, caller)) = id.filter(|_| is_result(here.message)).and_then(|id| open.remove(id))
            else {
                continue;
            };
            joined.answered.insert((asked, place));
            let call = &caller.message.tool_calls[place];
            joined.calls.insert(at, Answered { call, took: took(&caller, &here, is_first) });
        }
        joined
    }

    /// The call that the message at a place answers.
    pub fn call(&self, at: usize) -> Option<Answered<'a>> {
        self.calls.get(&at).copied()
    }

    /// Whether a call of the message at a place has its result in the stretch.
    pub fn is_answered(&self, at: usize, call: usize) -> bool {
        self.answered.contains(&(at, call))
    }
}

fn is_result(message: &Message) -> bool {
    message.role == Role::Tool || matches!(&message.role, Role::Other(role) if role == "function")
}

fn took(caller: &Stretched<'_>, result: &Stretched<'_>, is_first: bool) -> Option<u64> {
    let measured = result.message.extra.get(DURATION).and_then(Value::as_u64);
    let between = || u64::try_from(result.time? - caller.time?).ok().filter(|_| is_first);
    measured.or_else(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn calling(ids: &[&str]) -> Message {
        let calls: Vec<Value> = (ids.iter())
            .map(|id| json!({"id": id, "type": "function", "function": {"name": id, "arguments": "{}"}}))
            .collect();
        Message::from_json(json!({"role": "assistant", "tool_calls": calls})).unwrap()
    }

    fn stretch(messages: &[Message]) -> impl Iterator<Item = Stretched<'_>> {
        let times = [Some(1_000), Some(2_200), None];
        (messages.iter().enumerate()).map(move |(node, message)| Stretched { message, node, time: times[node.min(2)] })
    }

    #[test]
    fn each_result_has_its_call_and_what_it_took() {
        let timed = json!({"role": "tool", "tool_call_id": "b", "content": "y", "duration": 30});
        let messages = [calling(&["a", "b", "c"]), Message::tool("a", "x"), Message::from_json(timed).unwrap()];
        let joined = Joined::of(stretch(&messages));
        let found = |at| joined.call(at).map(|found| (found.call.id().to_owned(), found.took));
        assert_eq!(found(1), Some(("a".to_owned(), Some(1_200))));
        assert_eq!(found(2), Some(("b".to_owned(), Some(30))));
        assert_eq!([0, 1, 2].map(|call| joined.is_answered(0, call)), [true, true, false]);
    }

    #[test]
    fn an_id_that_comes_again_is_answered_again() {
        let messages = [calling(&["a"]), Message::tool("a", "x"), calling(&["a"]), Message::tool("a", "y")];
        let joined = Joined::of(stretch(&messages));
        assert!(joined.is_answered(0, 0) && joined.is_answered(2, 0));
        let twice = [calling(&["a"]), Message::tool("a", "x"), Message::tool("a", "y"), Message::tool("", "z")];
        let joined = Joined::of(stretch(&twice));
        assert!(joined.call(1).is_some() && joined.call(2).is_none() && joined.call(3).is_none());
    }

    #[test]
    fn a_message_of_somebody_else_answers_no_call() {
        let said = json!({"role": "user", "tool_call_id": "a", "content": "x"});
        let messages = [calling(&["a"]), Message::from_json(said).unwrap()];
        let joined = Joined::of(stretch(&messages));
        assert!(joined.call(1).is_none() && !joined.is_answered(0, 0));
    }
}
