//! The wire of the context inspector: a question about a chain and a budget, and an answer without texts, short enough for
//! every step of a slider: what became of the messages comes as runs of equal ones.

use serde::{Deserialize, Serialize};
use threadkeep::protocol::FitReply;
use threadkeep_context::{Action, Kinds, Policy};
use threadkeep_core::MessageId;

use crate::inspect::{Mark, Settings};

/// What the inspector asks about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The end of the chain.
    pub leaf: MessageId,
    /// What the reader has set.
    pub settings: Settings,
    /// The message (its place in the chain) whose smallest budget is asked for.
    pub selected: Option<u32>,
    /// Whose prompt: a checkpoint's id or `original`; `None` for the checkpoint that the chain uses.
    pub epoch: Option<String>,
    /// The names of the built-in tools that the model in use is offered.
    pub tools: Vec<String>,
}

/// Messages in a row to which the same was done by the same rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// How many.
    pub count: u32,
    /// The place in [`Mark::ALL`].
    pub mark: u32,
    /// The place in [`Fitted::rules`].
    pub rule: u32,
}

/// Messages in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The place of the first in the chain.
    pub start: u32,
    /// How many.
    pub count: u32,
}

/// What one policy keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Side {
    /// Tokens by kind, in the order of [`KINDS`](crate::inspect::KINDS).
    pub kinds: Vec<u64>,
    /// Tokens of the prompt.
    pub tokens: u64,
    /// How many messages of the chain are in it.
    pub kept: u32,
    /// How many tokens at the beginning the request before had too.
    pub shared: Option<u64>,
    /// Whether what must stay is over the budget.
    pub over: bool,
}

/// What a budget keeps of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The end of the chain.
    pub leaf: MessageId,
    /// The rules that the runs name.
    pub rules: Vec<String>,
    /// What became of each message, in the order of the chain.
    pub runs: Vec<Run>,
    /// Messages of the prompt.
    pub messages: u64,
    /// Characters of the prompt.
    pub chars: u64,
    /// Tokens of the whole chain, with what stands around it.
    pub whole: u64,
    /// The policies `newest` and `stable`.
    pub sides: Vec<Side>,
    /// The smallest budget at which the selected message survives.
    pub survives: Option<u64>,
    /// What the next 1,000 tokens would push out.
    pub leaving: Vec<Stretch>,
    /// The pinned nodes of the chain.
    pub pins: Vec<MessageId>,
}

/// An empty one, for tests to fill.
#[cfg(test)]
impl Default for Fitted {
    fn default() -> Self {
        Self {
            leaf: MessageId::mint_root([0; 24]),
            rules: Vec::new(),
            runs: Vec::new(),
            messages: 0,
            chars: 0,
            whole: 0,
            sides: Vec::new(),
            survives: None,
            leaving: Vec::new(),
            pins: Vec::new(),
        }
    }
}

/// A provider's payload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Payload {
    /// As JSON text, as it would be sent.
    pub text: String,
    /// What whoever sends it should know.
    pub warnings: Vec<String>,
}

impl Side {
    fn new(kinds: &Kinds, tokens: u64, kept: u32, shared: Option<u64>, over: bool) -> Self {
        let kinds = vec![
            kinds.system,
            kinds.user,
            kinds.assistant,
            kinds.reasoning,
            kinds.calls,
            kinds.results,
            kinds.injected,
            kinds.tools,
            kinds.memory,
        ];
        Self { kinds, tokens, kept, shared, over }
    }
}

impl Fitted {
    /// Of the engine's answer about the chosen policy and the other one.
    pub fn new(leaf: MessageId, reply: &FitReply, pins: Vec<MessageId>) -> Self {
        let mut rules: Vec<&str> = Vec::new();
        let mut runs = Vec::with_capacity(reply.runs.len());
        for run in &reply.runs {
            let rule = rules.iter().position(|rule| *rule == run.rule).unwrap_or_else(|| {
                rules.push(run.rule);
                rules.len() - 1
            });
            // What a summary stands for is not in the prompt itself, and yet is not just gone.
            let there = run.kept || run.action == Action::Summarised;
            let name = if there { run.action.name() } else { "dropped" };
            let mark = Mark::ALL.iter().position(|mark| mark.name() == name).unwrap_or_default();
            runs.push(Run { count: run.count, mark: mark as u32, rule: rule as u32 });
        }
        let mut leaving: Vec<Stretch> = Vec::new();
        for place in &reply.pushed_out {
            let place = *place as u32;
            match leaving.last_mut() {
                Some(last) if last.start + last.count == place => last.count += 1,
                _ => leaving.push(Stretch { start: place, count: 1 }),
            }
        }
        let kept = reply.runs.iter().filter(|run| run.kept).map(|run| run.count).sum();
        let mut sides = vec![Side::new(&reply.kinds, reply.figures.tokens, kept, reply.shared, reply.over_budget)];
        if let Some(other) = &reply.instead {
            let kept = other.kept as u32;
            let side = Side::new(&other.kinds, other.figures.tokens, kept, other.shared, other.over_budget);
            sides.insert(usize::from(other.policy == Policy::Stable), side);
        }
        Self {
            leaf,
            rules: rules.into_iter().map(str::to_owned).collect(),
            runs,
            messages: reply.figures.messages,
            chars: reply.figures.chars,
            whole: reply.whole.tokens.saturating_add(reply.frame),
            sides,
            survives: reply.smallest_budget,
            leaving,
            pins,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{from_bytes, to_bytes};
    use super::*;

    #[test]
    fn an_answer_about_ten_thousand_messages_is_short() {
        let run = |mark| Run { count: 5_000, mark, rule: mark };
        let fitted = Fitted {
            rules: vec!["newest".into(), "over-max-tokens".into()],
            runs: vec![run(6), run(0)],
            sides: vec![Side { kinds: vec![100_000; 8], ..Side::default() }; 2],
            leaving: vec![Stretch { start: 5_000, count: 30 }],
            ..Fitted::default()
        };
        let bytes = to_bytes(&fitted);
        assert!(bytes.len() < 300, "{}", bytes.len());
        assert_eq!(from_bytes(&bytes), Some(fitted));
    }
}
