//! A chain that grows, is compacted, and becomes payloads and traces.

use std::time::Duration;

use pollster::block_on;
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{ContextOptions, Counting, Recent};
use threadkeep::traces::Turns;
use threadkeep_core::{Message, ToolCall};
use threadkeep_provider::{Provider, RenderOptions, render};

use super::{Row, keep, timed};

pub const ROWS: &[Row] = &[
    Row { name: "render with repeated call ids", n: 500, run: render_repeated },
    Row { name: "raw traces of a head", n: 1_000, run: raw_traces },
    Row { name: "messages that extend one node", n: 500, run: extend },
    Row { name: "compactions of one head", n: 25, run: compact },
    Row { name: "appends at a head, one by one", n: 500, run: appends },
    Row { name: "appends at a head without a user", n: 1_000, run: |n| silent(n) },
    Row { name: "context of a chain", n: 2_000, run: context },
    Row { name: "a long head, read in windows from its start", n: 1_000, run: windows },
    Row { name: "a long head, counted after each append", n: 250, run: counted },
    Row { name: "branches of a long head, begun at each of its messages", n: 250, run: forks },
    Row { name: "messages at a head, read from the store", n: 4_000, run: reads },
];

/// A question with its answer, long enough to be summarised.
fn exchange(at: usize) -> Vec<Message> {
    let asked = format!("We decided that service {at} listens on port {at}. Please note that for day {at}.");
    vec![
        Message::user(asked),
        Message::assistant(format!("Service {at} listens on port {at}. It was noted for day {at}.")),
    ]
}

fn calls(n: usize, id: impl Fn(usize) -> String) -> Vec<Message> {
    let mut messages = vec![Message::user("go")];
    for at in 0..n {
        let mut call = Message::assistant("");
        call.tool_calls = vec![ToolCall::function(id(at), "read", "{}")];
        messages.push(call);
        let mut result = Message::tool(id(at), format!("result {at}"));
        result.name = Some("read".to_owned());
        messages.push(result);
    }
    messages
}

fn render_repeated(n: usize) -> Duration {
    let messages = calls(n, |_| "call_1".to_owned());
    let messages: Vec<&Message> = messages.iter().collect();
    timed(|| render(&messages, Provider::Anthropic, &RenderOptions::default()))
}

fn raw_traces(n: usize) -> Duration {
    let keep = keep();
    let mut messages = calls(n, |at| format!("call_{at}"));
    messages.extend((0..n).flat_map(exchange));
    block_on(keep.append("head", messages)).unwrap();
    let all = Turns::Tail { turns: usize::MAX, exclude: None };
    timed(|| assert!(block_on(keep.raw_traces("head", &all)).unwrap().len() > n))
}

fn extend(n: usize) -> Duration {
    let keep = keep();
    let first = block_on(keep.receive(threadkeep::protocol::Inbound::new("go"))).unwrap();
    timed(|| {
        for at in 0..n {
            block_on(keep.extend(&first.id, vec![Message::assistant(format!("step {at}"))])).unwrap();
        }
    })
}

fn compact(n: usize) -> Duration {
    let keep = keep();
    let options = CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() };
    timed(|| {
        for at in 0..n {
            block_on(keep.append("head", (0..8).flat_map(|part| exchange(8 * at + part)).collect())).unwrap();
            let done = block_on(keep.compact("head", &options, &Extractive)).unwrap();
            assert!(done.checkpoint.is_some());
        }
    })
}

fn appends(n: usize) -> Duration {
    let keep = keep();
    timed(|| {
        for message in (0..n).flat_map(exchange) {
            block_on(keep.append("head", vec![message])).unwrap();
        }
    })
}

fn silent(n: usize) -> Duration {
    let keep = keep();
    timed(|| {
        for at in 0..n {
            block_on(keep.append("head", vec![Message::assistant(format!("line {at}"))])).unwrap();
        }
    })
}

fn context(n: usize) -> Duration {
    let keep = keep();
    block_on(keep.append("head", (0..n).flat_map(exchange).collect())).unwrap();
    let options = ContextOptions { encoding: Counting::Estimate, ..ContextOptions::default() };
    timed(|| block_on(keep.context("head", &options)).unwrap())
}

fn reads(n: usize) -> Duration {
    let keep = keep();
    block_on(keep.append("head", (0..n).flat_map(exchange).collect())).unwrap();
    timed(|| {
        block_on(keep.get_recent("head", &Recent { max_messages: Some(u32::MAX), ..Recent::default() })).unwrap();
        block_on(keep.get_range("head", 0, u32::MAX)).unwrap();
        block_on(keep.stored("head", 0, u32::MAX)).unwrap();
        block_on(keep.checkpoints("head")).unwrap();
        block_on(keep.epochs("head")).unwrap();
    })
}

fn windows(n: usize) -> Duration {
    let keep = keep();
    let nodes = block_on(keep.append("head", (0..n).flat_map(exchange).collect())).unwrap();
    let leaf = &nodes[nodes.len() - 1].id;
    timed(|| {
        for start in (0..2 * n).step_by(10) {
            let (from, most) = (start as u32, 10.min(2 * n - start));
            assert_eq!(block_on(keep.get_range("head", from, from + 10)).unwrap().len(), most);
            assert_eq!(block_on(keep.rows(leaf, from + 1, from + 11)).unwrap().len(), most);
        }
    })
}

fn counted(n: usize) -> Duration {
    let keep = keep();
    timed(|| {
        for at in 0..2 * n {
            block_on(keep.append("head", exchange(at))).unwrap();
            assert_eq!(block_on(keep.get_count("head")).unwrap(), 2 * (at as u64 + 1));
            let newest = Recent { max_messages: Some(4), ..Recent::default() };
            block_on(keep.get_recent("head", &newest)).unwrap();
        }
    })
}

fn forks(n: usize) -> Duration {
    let keep = keep();
    block_on(keep.append("head", (0..n).flat_map(exchange).collect())).unwrap();
    timed(|| {
        (0..2 * n)
            .for_each(|at| drop(block_on(keep.fork("head", &format!("fork-{at}"), Some(at as u32 + 1))).unwrap()));
    })
}
