//! Where turns begin.

use threadkeep_core::{Content, Kind, Message, Role};
use threadkeep_provider::INTERRUPTED;

/// Whether a message begins a turn: the user says something in it. White space is nothing.
pub fn opens_turn(message: &Message) -> bool {
    let said = |text: &str| !text.trim().is_empty() && text != INTERRUPTED;
    let speaks = match &message.content {
        Content::Text(text) => said(text),
        Content::Parts(parts) => {
            parts.iter().any(|part| !part.kind().ends_with("tool_result") && part.as_text().is_none_or(said))
        }
        Content::Absent | Content::Null => false,
    };
    message.role == Role::User && message.include_in_context && speaks && !matches!(message.kind, Kind::Summary { .. })
}
