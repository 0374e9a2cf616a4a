//! What comes back of a prompt: the context with its ledger, and what a budget keeps.

use serde_json::Value;
use threadkeep_context::{Action, Figures, Kinds, Ledger, Limits, Line, Policy, Prompt, Warning};
use threadkeep_core::Message;

use super::object::object;

/// What `Thread.context` gives.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "Context", rename_all = "camelCase"))]
pub struct ContextReply {
    /// The messages of the prompt, in order.
    pub messages: Vec<Message>,
    /// The request's body.
    #[cfg_attr(feature = "ts", ts(type = "Payload<P, F>"))]
    pub payload: Value,
    /// One line for each message of the chain and of the frame, one for the tools, one for what the reply begins with. Made when it is
    /// first looked at.
    #[cfg_attr(feature = "ts", ts(rename = "readonly ledger", as = "Vec<Line>"))]
    pub ledger: Ledger,
    /// What the prompt holds; its tokens are the sum of the ledger's.
    #[cfg_attr(feature = "ts", ts(flatten))]
    pub figures: Figures,
    /// The limits that held.
    #[cfg_attr(feature = "ts", ts(rename = "budget"))]
    pub limits: Limits,
    /// Whether what must stay is over them: then call no model.
    pub over_budget: bool,
    /// The tokens by what they are for.
    pub kinds: Kinds,
    /// What you should know.
    pub warnings: Vec<Warning>,
    /// The checkpoint that stands in for the old part; the ledger's lines with the rule `checkpoint` are about it.
    pub checkpoint: Option<String>,
    /// The request's id in the journal, if the option `record` was set.
    #[cfg_attr(feature = "ts", ts(optional))]
    pub request: Option<String>,
    /// The remembered records that were at hand for it, best first: a mark of each one's id.
    #[cfg_attr(feature = "ts", ts(skip))]
    pub recalled: Vec<String>,
}

impl From<Prompt<'_>> for ContextReply {
    fn from(prompt: Prompt<'_>) -> Self {
        let Prompt { context, payload, warnings } = prompt;
        Self {
            messages: context.messages.into_iter().map(std::borrow::Cow::into_owned).collect(),
            payload,
            ledger: context.ledger,
            figures: context.figures,
            limits: context.limits,
            over_budget: context.over_budget,
            kinds: context.kinds,
            warnings,
            checkpoint: None,
            request: None,
            recalled: Vec::new(),
        }
    }
}

/// The limits as JSON: `{tokens, messages, chars}`, `null` for none.
pub fn limits_json(limits: &Limits) -> Value {
    object([("tokens", limits.tokens.into()), ("messages", limits.messages.into()), ("chars", limits.chars.into())])
}

/// A warning as JSON: `{kind, rule, message, index, count}`.
pub fn warning_json(warning: &Warning) -> Value {
    object([
        ("kind", warning.kind.name().into()),
        ("rule", warning.rule.into()),
        ("message", warning.message.as_str().into()),
        ("index", warning.index.into()),
        ("count", warning.count.into()),
    ])
}

impl ContextReply {
    /// It as JSON: `{messages, payload, ledger, tokens, chars, budget, overBudget, kinds, warnings, checkpoint}`.
    pub fn to_json(&self) -> Value {
        let mut all = self.to_json_without_ledger();
        if let Value::Object(all) = &mut all {
            all.shift_insert(2, "ledger".to_owned(), self.ledger.iter().map(Line::to_json).collect());
        }
        all
    }

    /// What [`ContextReply::to_json`] writes, but for the ledger, whose lines are then not made.
    pub fn to_json_without_ledger(&self) -> Value {
        let mut all = object([
            ("messages", self.messages.iter().map(Message::to_json).collect()),
            ("payload", self.payload.clone()),
            ("tokens", self.figures.tokens.into()),
            ("chars", self.figures.chars.into()),
            ("budget", limits_json(&self.limits)),
            ("overBudget", self.over_budget.into()),
            ("kinds", self.kinds.to_json()),
            ("warnings", self.warnings.iter().map(warning_json).collect()),
            ("checkpoint", self.checkpoint.clone().into()),
        ]);
        if let Some(request) = &self.request {
            all["request"] = request.as_str().into();
        }
        all
    }
}

/// Messages in a row to which the same was done for the same reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkRun {
    /// How many.
    pub count: u32,
    /// What was done.
    pub action: Action,
    /// The rule that decided.
    pub rule: &'static str,
    /// Whether the prompt has them.
    pub kept: bool,
}

/// What a budget keeps of a chain, without the messages: what one step of a slider needs.
#[derive(Debug, Clone, PartialEq)]
pub struct FitReply {
    /// What became of each message of the chain, in its order; the counts add up to [`Self::length`].
    pub runs: Vec<MarkRun>,
    /// How many messages the chain has.
    pub length: usize,
    /// What the prompt holds.
    pub figures: Figures,
    /// What all of the chain would hold, without the frame.
    pub whole: Figures,
    /// The limits that held.
    pub limits: Limits,
    /// Whether what must stay is over them.
    pub over_budget: bool,
    /// The tokens, by what they are for.
    pub kinds: Kinds,
    /// The tokens of the frame and the tools.
    pub frame: u64,
    /// How many tokens at the beginning, the frame's included, the request before had too: the one that led to the last
    /// answer of the model, with the same options. `None` where there was none.
    pub shared: Option<u64>,
    /// For [`WhatIf::survives`](super::WhatIf::survives): the smallest `maxTokens` at which the message is in a prompt that is not over its budget.
    pub smallest_budget: Option<u64>,
    /// For [`WhatIf::more`](super::WhatIf::more): the places of the messages that would be pushed out.
    pub pushed_out: Vec<usize>,
    /// For [`WhatIf::costs`](super::WhatIf::costs): what each message costs in a prompt that has it.
    pub costs: Vec<u32>,
    /// The checkpoint that stands in for the old part.
    pub checkpoint: Option<String>,
    /// For [`WhatIf::policy`](super::WhatIf::policy): what that policy would keep.
    pub instead: Option<Instead>,
}

/// What another policy would keep of a chain, under the same budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instead {
    /// Which.
    pub policy: Policy,
    /// What its prompt would hold.
    pub figures: Figures,
    /// How many messages of the chain would be in it.
    pub kept: usize,
    /// Whether what must stay is over the limits.
    pub over_budget: bool,
    /// The tokens, by what they are for.
    pub kinds: Kinds,
    /// As [`FitReply::shared`].
    pub shared: Option<u64>,
}

impl FitReply {
    /// It as JSON: `{runs: [[count, action, rule, kept], …], length, tokens, messages, chars, whole: {tokens, messages,
    /// chars}, budget, overBudget, kinds, frame, shared, smallestBudget, pushedOut, costs, instead: {policy, tokens,
    /// messages, chars, kept, overBudget, kinds, shared}, checkpoint}`.
    pub fn to_json(&self) -> Value {
        let run = |run: &MarkRun| {
            Value::Array(vec![run.count.into(), run.action.name().into(), run.rule.into(), run.kept.into()])
        };
        object([
            ("runs", self.runs.iter().map(run).collect()),
            ("length", self.length.into()),
            ("tokens", self.figures.tokens.into()),
            ("messages", self.figures.messages.into()),
            ("chars", self.figures.chars.into()),
            (
                "whole",
                object([
                    ("tokens", self.whole.tokens.into()),
                    ("messages", self.whole.messages.into()),
                    ("chars", self.whole.chars.into()),
                ]),
            ),
            ("budget", limits_json(&self.limits)),
            ("overBudget", self.over_budget.into()),
            ("kinds", self.kinds.to_json()),
            ("frame", self.frame.into()),
            ("shared", self.shared.into()),
            ("smallestBudget", self.smallest_budget.into()),
            ("pushedOut", self.pushed_out.iter().copied().collect()),
            ("costs", self.costs.iter().copied().collect()),
            ("checkpoint", self.checkpoint.clone().into()),
            ("instead", self.instead.as_ref().map_or(Value::Null, Instead::to_json)),
        ])
    }
}

impl Instead {
    fn to_json(&self) -> Value {
        object([
            ("policy", self.policy.name().into()),
            ("tokens", self.figures.tokens.into()),
            ("messages", self.figures.messages.into()),
            ("chars", self.figures.chars.into()),
            ("kept", self.kept.into()),
            ("overBudget", self.over_budget.into()),
            ("kinds", self.kinds.to_json()),
            ("shared", self.shared.into()),
        ])
    }
}
