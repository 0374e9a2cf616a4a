//! Where a turn stands, read from what its node holds.

use std::collections::HashMap;

use threadkeep_core::message::Kind;
use threadkeep_core::{Message, Role};

use super::Pending;

/// What comes next in a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// The model is asked.
    Ask,
    /// These calls have no result yet.
    Tools(Vec<Pending>),
    /// The model has said all it wanted.
    Done,
    /// The turn ended without an answer.
    Failed,
}

/// What comes next after these messages of a turn's node.
pub(super) fn next(messages: &[Message]) -> Step {
    let Some(at) = messages.iter().rposition(|message| message.role == Role::Assistant) else { return Step::Ask };
    let last = &messages[at];
    if matches!(last.kind, Kind::Error { .. }) {
        return Step::Failed;
    }
    if last.tool_calls.is_empty() {
        // A user's words behind it want another answer.
        let asked = messages[at..].iter().any(|message| message.role == Role::User);
        return if asked { Step::Ask } else { Step::Done };
    }
    let before: usize = messages[..at].iter().map(|message| message.tool_calls.len()).sum();
    let mut results: HashMap<&str, usize> = HashMap::new();
    for id in messages[at..].iter().filter_map(|message| message.tool_call_id.as_deref()) {
        *results.entry(id).or_default() += 1;
    }
    let mut open = Vec::new();
    for (index, call) in last.tool_calls.iter().enumerate() {
        // Of two calls with one id the first result is the first one's.
        match results.get_mut(call.id()).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => open.push(Pending { ordinal: before + index, call: call.clone() }),
        }
    }
    if open.is_empty() { Step::Ask } else { Step::Tools(open) }
}

#[cfg(test)]
mod tests {
    use threadkeep_core::message::ToolCall;

    use super::*;

    fn calling(ids: &[&str]) -> Message {
        let mut message = Message::assistant("");
        message.tool_calls = ids.iter().map(|id| ToolCall::function(*id, "t", "{}")).collect();
        message
    }

    #[test]
    fn a_question_asks_and_an_answer_is_done() {
        assert_eq!(next(&[]), Step::Ask);
        assert_eq!(next(&[Message::user("a")]), Step::Ask);
        assert_eq!(next(&[Message::user("a"), Message::assistant("b")]), Step::Done);
    }

    #[test]
    fn open_calls_are_found_by_id_and_named_by_their_place() {
        let mut messages =
            vec![Message::user("a"), calling(&["x"]), Message::tool("x", "1"), calling(&["x", "y", "x"])];
        messages.push(Message::tool("x", "2"));
        let Step::Tools(open) = next(&messages) else { panic!("no open calls") };
        let named: Vec<_> = open.iter().map(|open| (open.ordinal, open.call.id())).collect();
        assert_eq!(named, [(2, "y"), (3, "x")]);
        messages.extend([Message::tool("y", "3"), Message::tool("x", "4")]);
        assert_eq!(next(&messages), Step::Ask);
    }

    #[test]
    fn a_failure_ends_the_turn() {
        let kind = Kind::Error { code: "stalled".into(), reason: "no bytes".into() };
        assert_eq!(next(&[Message::user("a"), Message { kind, ..Message::assistant("part") }]), Step::Failed);
    }
}
