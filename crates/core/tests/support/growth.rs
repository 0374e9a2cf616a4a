//! Histories of every shape take time in proportion to their length: as many messages at once
//! take about what they take in pieces, and not the sixteen times of looking through all of them for each.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use threadkeep_core::{Content, Message, Part, Role, ToolCall};

const SMALL: usize = 150;
const TIMES: usize = 16;

/// A message that makes these calls.
pub fn calling(ids: impl IntoIterator<Item = String>) -> Message {
    let tool_calls = ids.into_iter().map(|id| ToolCall::function(id, "f", "{}")).collect();
    Message { tool_calls, ..Message::assistant("") }
}

fn parts(role: Role, parts: impl Iterator<Item = Value>) -> Message {
    Message::new(role, Content::Parts(parts.filter_map(|part| part.as_object().cloned()).map(Part).collect()))
}

/// A name, and a history of so many messages.
pub type Shape = (&'static str, fn(usize) -> Vec<Message>);

/// The shapes that agents leave behind, and some that only faults do.
pub const SHAPES: [Shape; 12] = [
    ("alternating roles", |n| {
        (0..n).map(|at| if at % 2 == 0 { Message::user("a") } else { Message::assistant("b") }).collect()
    }),
    ("one side only", |n| (0..n).map(|_| Message::assistant("b")).collect()),
    ("repeated ids", |n| (0..n / 2).flat_map(|_| [calling(["x".to_owned()]), Message::tool("x", "1")]).collect()),
    ("repeated ids that are cut off", |n| (0..n).map(|_| calling(["x".repeat(80)])).collect()),
    ("calls without results", |n| (0..n).map(|at| calling([format!("c{at}")])).collect()),
    ("one message with all calls", |n| vec![Message::user("go"), calling((0..n).map(|at| format!("c{at}")))]),
    ("one message with all calls, answered", |n| {
        let results = (0..n).map(|at| Message::tool(format!("c{at}"), "1"));
        std::iter::once(calling((0..n).map(|at| format!("c{at}")))).chain(results).collect()
    }),
    ("results without ids", |n| {
        std::iter::once(calling((0..n).map(|at| format!("c{at}"))))
            .chain((0..n).map(|_| Message::tool("", "1")))
            .collect()
    }),
    ("one call with all results", |n| {
        std::iter::once(calling(["x".to_owned()])).chain((0..n).map(|_| Message::tool("x", "1"))).collect()
    }),
    ("results of nothing", |n| (0..n).map(|at| Message::tool(format!("c{at}"), "1")).collect()),
    ("late results", |n| {
        let calls = (0..n).map(|at| calling([format!("c{at}")]));
        calls.chain((0..n).map(|at| Message::tool(format!("c{at}"), "1"))).collect()
    }),
    ("one message with all results as parts", |n| {
        let calls = (0..n).map(|at| calling([format!("c{at}")]));
        let results = (0..n).map(|at| json!({"type": "tool_result", "tool_use_id": format!("c{at}"), "content": "1"}));
        calls.chain([parts(Role::User, results)]).collect()
    }),
];

/// The time that this thread has had of a processor, where the system tells; others run beside it.
fn spent() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn best(work: &dyn Fn()) -> Duration {
    let time = || {
        let (start, before) = (Instant::now(), spent());
        work();
        spent().zip(before).map_or_else(|| start.elapsed(), |(after, before)| after - before)
    };
    (0..4).map(|_| time()).min().unwrap_or_default()
}

/// Fails if `work` takes far longer for one long history than for as many messages in short ones.
#[track_caller]
pub fn grows(what: &str, shape: &Shape, work: &dyn Fn(&[Message])) {
    let (small, large) = (shape.1(SMALL), shape.1(SMALL * TIMES));
    // As many messages both times: alike where each takes its own time, one to sixteen where each looks at all.
    let many = || best(&|| (0..TIMES).for_each(|_| work(&small)));
    let one = || best(&|| work(&large));
    let least = Duration::from_millis(2);
    let found = (0..3).any(|_| one() < many().max(least) * 6);
    assert!(found, "{what} of {}: {:?} in pieces and {:?} at once", shape.0, many(), one());
}
