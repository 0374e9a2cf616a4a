//! Turns that alternate, for Anthropic and Gemini: whatever comes from the same side is one message.

use serde_json::Value;

/// Turns as they gather.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Whether the assistant speaks, and what.
    pub list: Vec<(bool, Vec<Value>)>,
    /// Whether there is thinking in the last turn.
    pub thinks: bool,
}

impl Turns {
    /// Adds a block to the side's turn, which begins a new one only after the other side's.
    pub fn push(&mut self, assistant: bool, block: Value) {
        self.turn(assistant).push(block);
    }

    /// The side's turn, to add to.
    pub fn turn(&mut self, assistant: bool) -> &mut Vec<Value> {
        if self.list.last().is_none_or(|(side, _)| *side != assistant) {
            self.list.push((assistant, Vec::new()));
            self.thinks = false;
        }
        let last = self.list.len() - 1;
        &mut self.list[last].1
    }

    /// Whether the assistant speaks last.
    pub fn ends_with_assistant(&self) -> bool {
        self.list.last().is_some_and(|(side, _)| *side)
    }
}
