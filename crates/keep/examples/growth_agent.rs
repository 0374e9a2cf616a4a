//! How an agent's turn grows: tool calls in one answer, and steps of one turn, at n, 2n and 4n. Prints the milliseconds of each, and how much the
//! last took of what four times the first would be: about 1 is linear.
//!
//! `cargo run --release --example growth_agent [-- calls steps]`

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use serde_json::json;
use threadkeep::agent::{Agent, AgentOptions, ToolAnswer, ToolUse, Tools};
use threadkeep::mailbox::Outgoing;
use threadkeep::model::{Answer, Call, Model};
use threadkeep::protocol::Counting;
use threadkeep::{Host, Keep, Options};
use threadkeep_core::Message;
use threadkeep_core::message::ToolCall;
use threadkeep_core::provider::{Completion, Delta, Finish};
use threadkeep_store::MemoryStore;

struct Here(Cell<u64>);

impl Host for Here {
    fn now(&self) -> i64 {
        1_700_000_000_000
    }

    fn random(&self) -> [u8; 32] {
        let mut bytes = [7; 32];
        self.0.set(self.0.get() + 1);
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.0.get().wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        }
        bytes
    }
}

/// Answers with so many calls, so often, and then with words.
struct Caller {
    calls: usize,
    steps: usize,
    asked: Cell<usize>,
}

impl Model for Caller {
    fn name(&self) -> &str {
        "caller"
    }

    fn call<'a>(&'a self, _: Call<'a>, _: &'a dyn Fn(Delta)) -> Answer<'a> {
        let step = self.asked.replace(self.asked.get() + 1);
        let mut message = Message::assistant(if step < self.steps { "" } else { "done" });
        if step < self.steps {
            let call = |at| ToolCall::function(format!("call_{step}_{at}"), "look", r#"{"at": 1}"#);
            message.tool_calls = (0..self.calls).map(call).collect();
        }
        Box::pin(std::future::ready(Ok(Completion { message, usage: None, finish: Finish::Stop })))
    }
}

struct Looks;

impl Tools for Looks {
    fn call(&self, _: ToolUse) -> ToolAnswer<'_> {
        Box::pin(std::future::ready(Ok(json!("nothing to be seen"))))
    }
}

/// Carries out one turn of so many steps with so many calls each; gives the milliseconds.
fn turn(steps: usize, calls: usize) -> f64 {
    pollster::block_on(async {
        let keep = Keep::open(MemoryStore::new(), Here(Cell::new(0)), Options::default()).await.unwrap();
        let mut options = AgentOptions::new("lal");
        options.context.encoding = Counting::Estimate;
        (options.limits.steps, options.limits.calls) = (steps + 1, calls);
        let model = Rc::new(Caller { calls, steps, asked: Cell::new(0) });
        let agent = Agent::new(keep.clone(), options, model, Rc::new(Looks));
        let mail = Outgoing { from: "user".into(), to: "lal".into(), body: "go".into(), ..Outgoing::default() };
        keep.send(mail).await.unwrap();
        let began = Instant::now();
        assert_eq!(agent.catch_up(&|_| {}).await.unwrap(), 1);
        began.elapsed().as_secs_f64() * 1000.0
    })
}

fn row(name: &str, n: usize, measure: impl Fn(usize) -> f64) {
    let times: Vec<f64> = [n, 2 * n, 4 * n].into_iter().map(measure).collect();
    let growth = times[2] / (4.0 * times[0]);
    println!("{name:32} n = {n:5}  {:9.1} {:9.1} {:9.1} ms  growth {growth:.2}", times[0], times[1], times[2]);
}

fn main() {
    let mut given = std::env::args().skip(1).map(|count| count.parse::<usize>().unwrap());
    let (calls, steps) = (given.next().unwrap_or(1000), given.next().unwrap_or(250));
    row("tool calls in one answer", calls, |n| turn(1, n));
    row("steps of one turn", steps, |n| turn(n, 1));
}
