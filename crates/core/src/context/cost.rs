//! What a message costs: the one place where the context asks for a count.

use crate::tokens::Counter;
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

/// Counts a message.
pub fn cost(message: &Message, provider: Provider, counter: &dyn Counter) -> Cost {
    let reasons = matches!(provider, Provider::Anthropic | Provider::OpenAiResponses | Provider::Ollama);
    let mut cost = Cost { text: 4 + counter.count(&message.text()), ..Cost::default() };
    if let Some(name) = &message.name {
        cost.text = cost.text.saturating_add(counter.count(name));
    }
    if let Some(reasoning) = message.reasoning.as_ref().filter(|_| reasons) {
        cost.reasoning = counter.count(reasoning);
    }
    for call in &message.tool_calls {
        let call = counter.count(call.name()).saturating_add(counter.count(call.arguments())).saturating_add(4);
        cost.calls = cost.calls.saturating_add(call);
    }
    cost
}

/// Counts the schemas of tools.
pub fn tools_cost(tools: &[serde_json::Value], counter: &dyn Counter) -> u32 {
    let cost = |tool: &serde_json::Value| counter.count(&tool.to_string());
    tools.iter().map(cost).fold(0, u32::saturating_add)
}
