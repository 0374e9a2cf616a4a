//! Turns of an agent.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use pollster::block_on;
use threadkeep::agent::{Agent, AgentOptions, ToolAnswer, ToolUse, Tools, TurnLimits};
use threadkeep::mailbox::{MailFilter, Outgoing};
use threadkeep::model::Scripted;
use threadkeep::protocol::Counting;
use threadkeep_context::Budget;
use threadkeep_core::read::Off;
use threadkeep_provider::ToolSchema;

use super::{Row, keep, timed};

pub const ROWS: &[Row] = &[
    Row { name: "tool calls in one answer", n: 250, run: |n| turn(1, n) },
    Row { name: "steps of one turn", n: 100, run: |n| turn(n, 1) },
    Row { name: "messages to an agent", n: 100, run: messages },
    Row { name: "mails of one party, listed", n: 500, run: mails },
];

struct Echo;

impl Tools for Echo {
    fn schemas(&self) -> Vec<ToolSchema> {
        let parameters = serde_json::json!({"type": "object", "properties": {}});
        vec![ToolSchema { name: "echo".to_owned(), description: None, parameters, strict: None }]
    }

    fn call(&self, _call: ToolUse) -> ToolAnswer<'_> {
        Box::pin(async { Ok("the same".into()) })
    }
}

/// An agent whose prompts have a budget, so that they do not grow with its turns.
fn options(calls: usize) -> AgentOptions {
    let mut options = AgentOptions::new("agent");
    options.context.encoding = Some(Counting::Estimate);
    options.context.budget = Some(Budget::tokens(4_000 + 100 * calls as u64));
    options.limits = TurnLimits { steps: usize::MAX, ..TurnLimits::default() };
    options.compact = Some(Off::Off);
    options
}

fn to_agent(text: &str) -> Outgoing {
    Outgoing { from: "user".into(), to: "agent".into(), body: text.into(), ..Outgoing::default() }
}

fn turn(steps: usize, calls: usize) -> Duration {
    let keep = keep();
    let left = Cell::new(steps);
    let model = Scripted::new("scripted", move |_| {
        if left.get() == 0 {
            return Scripted::says("done");
        }
        left.set(left.get() - 1);
        let ids: Vec<String> = (0..calls).map(|at| format!("call-{}-{at}", left.get())).collect();
        let calls: Vec<(&str, &str, &str)> = ids.iter().map(|id| (id.as_str(), "echo", "{}")).collect();
        Scripted::calls("", &calls)
    });
    let agent = Agent::new(keep.clone(), options(calls), Rc::new(model), Rc::new(Echo));
    block_on(keep.send(to_agent("go"))).unwrap();
    timed(|| assert_eq!(block_on(agent.catch_up(&|_| {})).unwrap(), 1))
}

fn messages(n: usize) -> Duration {
    let keep = keep();
    let agent = Agent::new(
        keep.clone(),
        options(1),
        Rc::new(Scripted::new("scripted", |_| Scripted::says("yes"))),
        Rc::new(Echo),
    );
    for at in 0..n {
        block_on(keep.send(to_agent(&format!("message {at}")))).unwrap();
    }
    timed(|| assert_eq!(block_on(agent.catch_up(&|_| {})).unwrap(), n))
}

fn mails(n: usize) -> Duration {
    let keep = keep();
    timed(|| {
        for at in 0..n {
            block_on(keep.send(to_agent(&format!("message {at}")))).unwrap();
        }
        assert_eq!(block_on(keep.list_messages("agent", &MailFilter::default())).unwrap().len(), n);
    })
}
