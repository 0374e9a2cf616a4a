//! How long decisions about 10,000 messages take: `cargo run --release -p threadkeep-context --example decide`.

use std::hint::black_box;
use std::time::Instant;

use threadkeep_context::tokens::{Estimate, cost};
use threadkeep_context::{Budget, Options, Plan, Policy, Prepared, items, prepare};
use threadkeep_core::{Message, ToolCall};

fn history() -> Vec<Message> {
    let mut history = vec![Message::system("be brief")];
    for at in 0.. {
        if history.len() >= 10_000 {
            break;
        }
        if at % 5 == 0 {
            history.push(Message::user(format!("please do step {at} of the plan that we made yesterday")));
        }
        let mut call = Message::assistant("I will look at it.");
        for n in 0..1 + at % 3 {
            let arguments = format!("{{\"path\":\"src/file{at}.rs\",\"from\":{n}}}");
            call.tool_calls.push(ToolCall::function(format!("call_{at}_{n}"), "read", arguments));
        }
        history.push(call);
        for n in 0..1 + at % 3 {
            history.push(Message::tool(format!("call_{at}_{n}"), "a line of the file\n".repeat(20 + at * 7 % 100)));
        }
    }
    history
}

/// Prints the median of some runs.
fn time(what: &str, mut run: impl FnMut()) {
    let mut times: Vec<_> = (0..51)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("{what}: {:?}", times[times.len() / 2]);
}

fn main() {
    let history = history();
    let mut given = items(&history);
    let options = Options::default();
    time("prepare from bare text (estimate)", || drop(black_box(prepare(&given, &options, &Estimate))));
    for item in &mut given {
        item.cost = Some(cost(item.message, options.provider, &Estimate));
    }
    time("prepare with known counts", || drop(black_box(prepare(&given, &options, &Estimate))));
    let prepared = prepare(&given, &options, &Estimate);
    let whole = prepared.figures();
    println!("{} messages, {} groups, {} tokens", prepared.len(), prepared.groups(), whole.tokens);
    let mut grown: Prepared = prepare(&given[..given.len() - 1], &options, &Estimate);
    time("extend by one message", || grown.extend(&given, &Estimate));
    let mut tokens = 0;
    for policy in [Policy::Newest, Policy::Stable] {
        let mut plan = || {
            tokens = (tokens + 9_973) % whole.tokens;
            Plan { budget: Budget::tokens(tokens), policy, ..Plan::default() }
        };
        time(&format!("{}: fit", policy.name()), || drop(black_box(prepared.fit(&plan()))));
        time(&format!("{}: fit, marks and kinds (a slider's step)", policy.name()), || {
            let fit = prepared.fit(&plan());
            let kept = prepared.marks(&fit).filter(|mark| mark.kept).count();
            black_box((kept, prepared.kinds(&fit)));
        });
        time(&format!("{}: whole context with ledger", policy.name()), || {
            let fit = prepared.fit(&plan());
            drop(black_box(prepared.context(&given, &fit, &Default::default())));
        });
        time(&format!("{}: smallest budget of a message", policy.name()), || {
            black_box(prepared.smallest_budget(&plan(), 5_000));
        });
        time(&format!("{}: pushed out by 1,000 tokens", policy.name()), || {
            drop(black_box(prepared.pushed_out(&plan(), 1_000)));
        });
    }
}
