//! Interrupted replies: what a provider is told of a message that records a failure.
//!
//! The model's voice carries what the model wrote, and nothing else: a model that reads an error text as its own words repeats
//! it. [`INTERRUPTED`], on the user's side, says that the reply broke off. It is the same for every cause. The code and the reason stay
//! with the stored message, for the reader.

use std::sync::LazyLock;

use threadkeep_core::{Content, Kind, Message, Part, Role};

/// The mark behind an interrupted reply.
pub const INTERRUPTED: &str = "[The previous reply was interrupted.]";

static MARK: LazyLock<Message> = LazyLock::new(|| Message::user(INTERRUPTED));

/// The mark as a message of the user's side.
pub fn interruption() -> &'static Message {
    &MARK
}

/// What the model itself wrote of an interrupted reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partial<'a> {
    /// Nothing.
    Nothing,
    /// The content as it is.
    Content,
    /// This text.
    Text(&'a str),
}

/// What the model wrote of a reply that was interrupted; `None` for any other message.
pub fn partial(message: &Message) -> Option<Partial<'_>> {
    if message.role != Role::Assistant {
        return None;
    }
    if let Content::Text(text) = &message.content
        && let Some(own) = before_error_text(text)
    {
        return Some(if own.trim().is_empty() { Partial::Nothing } else { Partial::Text(own) });
    }
    let Kind::Error { reason, .. } = &message.kind else { return None };
    let own = match &message.content {
        Content::Absent | Content::Null => false,
        // Archives keep the provider's error where the answer would have been.
        Content::Text(text) => !text.trim().is_empty() && text.trim() != reason.trim(),
        Content::Parts(parts) => {
            let silent = |part: &Part| part.as_text().is_some_and(|text| text.trim().is_empty());
            !parts.iter().all(silent) && message.text().trim() != reason.trim()
        }
    };
    Some(if own { Partial::Content } else { Partial::Nothing })
}

/// What stands before the error text that prompts once ended an interrupted reply with. Messages taken from such prompts were stored.
fn before_error_text(text: &str) -> Option<&str> {
    let is_error = |rest: &str| rest.starts_with("- code: ") || rest.starts_with("- reason: ");
    if text.strip_prefix("LLM_ERROR\n").is_some_and(is_error) {
        return Some("");
    }
    let whole = text.strip_suffix("\n- note: the answer above is incomplete")?;
    whole
        .match_indices("\n\nLLM_ERROR\n")
        .filter(|(at, found)| is_error(&whole[at + found.len()..]))
        .last()
        .map(|(at, _)| &whole[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(content: &str, reason: &str) -> Message {
        Message { kind: Kind::Error { code: "cancelled".into(), reason: reason.into() }, ..Message::assistant(content) }
    }

    #[test]
    fn only_what_the_model_wrote_is_its_own() {
        assert_eq!(partial(&failed("Roses are", "stopped")), Some(Partial::Content));
        assert_eq!(partial(&failed(" ", "stopped")), Some(Partial::Nothing));
        assert_eq!(partial(&failed("API Error: 529", "API Error: 529")), Some(Partial::Nothing));
        assert_eq!(partial(&Message::assistant("LLM_ERROR is a word")), None);
        assert_eq!(partial(&Message { role: Role::User, ..failed("hi", "stopped") }), None);
    }

    #[test]
    fn error_texts_that_were_stored_are_taken_off() {
        let text = "Half\n\nLLM_ERROR\n- code: cancelled\n- reason: a\nb\n- note: the answer above is incomplete";
        assert_eq!(partial(&Message::assistant(text)), Some(Partial::Text("Half")));
        assert_eq!(partial(&Message::assistant("LLM_ERROR\n- reason: timeout")), Some(Partial::Nothing));
        assert_eq!(partial(&Message::assistant("It says:\n\nLLM_ERROR\n- reason: x\nDo you see?")), None);
    }
}
