//! Where two branches part, and where their prompts do. Lists in, places out.

use serde_json::Value;
use threadkeep_core::MessageId;

use crate::format;

/// How many nodes two branches have in common, from the root on.
pub fn parting(one: &[MessageId], two: &[MessageId]) -> usize {
    one.iter().zip(two).take_while(|(one, two)| one == two).count()
}

/// How many messages two prompts (payloads with `messages`) begin with alike, and what each has after that, a line a message.
pub fn prompts(one: &Value, two: &Value) -> (usize, [Vec<String>; 2]) {
    let list = |payload: &'_ Value| payload.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    let (one, two) = (list(one), list(two));
    let same = one.iter().zip(&two).take_while(|(one, two)| one == two).count();
    let lines = |all: &[Value]| all[same..].iter().map(line).collect();
    (same, [lines(&one), lines(&two)])
}

fn line(message: &Value) -> String {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    let words = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    let calls = message.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
    let calls = if calls > 0 { format!(" ({})", format::plural(calls as u64, "tool call")) } else { String::new() };
    format!("{role}: {}{calls}", format::line(&words, 160))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn branches_part_after_their_last_common_node() {
        let ids = |names: &str| names.split(' ').map(|name| MessageId::new(name).unwrap()).collect::<Vec<_>>();
        assert_eq!(parting(&ids("a b c"), &ids("a b d e")), 2);
        assert_eq!(parting(&ids("a"), &ids("a b")), 1);
        assert_eq!(parting(&ids("a"), &ids("b")), 0);
    }

    #[test]
    fn prompts_part_at_the_first_other_message() {
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        let one =
            json!({"messages": [said("system", "s"), said("user", "a"), {"role": "assistant", "tool_calls": [1, 2]}]});
        let two =
            json!({"messages": [said("system", "s"), {"role": "user", "content": [{"type": "text", "text": "b"}]}]});
        let (same, only) = prompts(&one, &two);
        assert_eq!(same, 1);
        assert_eq!(
            only,
            [vec!["user: a".to_owned(), "assistant:  (2 tool calls)".to_owned()], vec!["user: b".to_owned()]]
        );
        assert_eq!(prompts(&Value::Null, &one).0, 0);
    }
}
