//! What a message costs: the one place where the context asks for a count.

use crate::tokens::{self, Counter};
use crate::{Message, Provider};

/// What a message costs, in tokens, by what of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// What is said, and the frame around the message.
    pub text: u32,
    /// What was thought, where the provider is sent that.
    pub reasoning: u32,
    /// The calls.
    pub calls: u32,
}

impl Cost {
    /// All of it.
    pub fn total(self) -> u32 {
        self.text.saturating_add(self.reasoning).saturating_add(self.calls)
    }
}

/// Counts a message, as [`tokens::cost`](crate::tokens::cost) does.
pub fn cost(message: &Message, provider: Provider, counter: &dyn Counter) -> Cost {
    let cost = tokens::cost(message, provider, counter);
    Cost { text: cost.content.saturating_add(cost.frame), reasoning: cost.reasoning, calls: cost.tool_calls }
}
