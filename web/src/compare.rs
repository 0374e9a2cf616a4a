//! Where two branches part, and a message of a prompt as one line. Lists and messages in, places and words out.

use threadkeep_core::{Message, MessageId};

use crate::format;

/// How many nodes two branches have in common, from the root on.
pub fn parting(one: &[MessageId], two: &[MessageId]) -> usize {
    one.iter().zip(two).take_while(|(one, two)| one == two).count()
}

/// Who says what, shortened, and how many tools are called.
pub fn line(message: &Message) -> String {
    let calls = match message.tool_calls.len() {
        0 => String::new(),
        calls => format!(" ({})", format::plural(calls as u64, "tool call")),
    };
    format!("{}: {}{calls}", message.role.as_str(), format::line(&message.text(), 160))
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_core::{Content, ToolCall};

    #[test]
    fn branches_part_after_their_last_common_node() {
        let ids = |names: &str| names.split(' ').map(|name| MessageId::new(name).unwrap()).collect::<Vec<_>>();
        assert_eq!(parting(&ids("a b c"), &ids("a b d e")), 2);
        assert_eq!(parting(&ids("a"), &ids("a b")), 1);
        assert_eq!(parting(&ids("a"), &ids("b")), 0);
    }

    #[test]
    fn a_line_says_who_speaks_what_is_said_and_what_is_called() {
        assert_eq!(line(&Message::user("a\nb")), "user: a b");
        let calls = vec![ToolCall::function("1", "f", "{}"), ToolCall::function("2", "f", "{}")];
        let calls = Message { tool_calls: calls, ..Message::assistant(Content::Null) };
        assert_eq!(line(&calls), "assistant:  (2 tool calls)");
    }
}
