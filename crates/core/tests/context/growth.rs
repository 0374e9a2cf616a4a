//! Histories of every shape take time in proportion to their length: as many messages at once
//! take about what they take in pieces, and not the sixteen times of looking through all of them for each.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use threadkeep_core::context::{Budget, Options, Prepared, TrimOptions, build, items, trim_messages};
use threadkeep_core::memory::{jsonl::traces, steps, tool_interactions};
use threadkeep_core::provider::{RenderOptions, render, validate_messages, validate_payload};
use threadkeep_core::tokens::Estimate;
use threadkeep_core::{Content, Entry, Message, MessageId, Node, Part, Provider, Role, ToolCall, Transcript, lint};

const SMALL: usize = 150;
const TIMES: usize = 16;

fn calling(ids: impl IntoIterator<Item = String>) -> Message {
    let tool_calls = ids.into_iter().map(|id| ToolCall::function(id, "f", "{}")).collect();
    Message { tool_calls, ..Message::assistant("") }
}

fn parts(role: Role, parts: impl Iterator<Item = Value>) -> Message {
    Message::new(role, Content::Parts(parts.filter_map(|part| part.as_object().cloned()).map(Part).collect()))
}

type Shape = (&'static str, fn(usize) -> Vec<Message>);

const SHAPES: [Shape; 12] = [
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

#[track_caller]
fn grows(what: &str, shape: &Shape, work: &dyn Fn(&[Message])) {
    let (small, large) = (shape.1(SMALL), shape.1(SMALL * TIMES));
    // As many messages both times: alike where each takes its own time, one to sixteen where each looks at all.
    let many = || best(&|| (0..TIMES).for_each(|_| work(&small)));
    let one = || best(&|| work(&large));
    let least = Duration::from_millis(2);
    let found = (0..3).any(|_| one() < many().max(least) * 6);
    assert!(found, "{what} of {}: {:?} in pieces and {:?} at once", shape.0, many(), one());
}

#[test]
fn rendering_and_validating_take_time_in_proportion() {
    for shape in &SHAPES {
        for provider in Provider::ALL {
            grows(&format!("rendering for {provider:?}"), shape, &|messages| {
                let messages: Vec<&Message> = messages.iter().collect();
                let rendered = render(&messages, provider, &RenderOptions::default());
                black_box(validate_payload(&rendered.payload, provider));
                black_box(validate_messages(&messages, provider));
            });
        }
    }
}

#[test]
fn contexts_and_trimming_take_time_in_proportion() {
    for shape in &SHAPES {
        grows("a context", shape, &|messages| {
            let options = Options { budget: Budget::tokens(500), provider: Provider::Anthropic, ..Options::default() };
            black_box(build(&items(messages), &options, &Estimate).ledger.len());
            black_box(trim_messages(messages, &TrimOptions::default(), &Estimate).ledger.len());
        });
    }
}

#[test]
fn traces_and_lint_take_time_in_proportion() {
    for shape in &SHAPES {
        grows("traces", shape, &|messages| {
            let id = MessageId::new("root").unwrap();
            let node = Node::new(id, None, messages.to_vec());
            let steps = steps([&node]);
            black_box((traces(&steps), tool_interactions(&steps, None)));
        });
    }
    // A comb: a leaf at each node of a long chain.
    let comb: Shape = ("a comb", |n| vec![Message::user("x"); n]);
    grows("lint", &comb, &|messages| {
        let id = |name: String| MessageId::new(name).unwrap();
        let mut tree = Transcript::new(id("n0".to_owned()));
        for at in 0..messages.len() / 2 {
            let parent = (at > 0).then(|| id(format!("n{}", at - 1)));
            let turn = vec![Message::user("go"), calling([format!("c{at}")]), Message::tool(format!("c{at}"), "1")];
            for (name, messages) in [("n", turn), ("l", vec![Message::assistant("a")])] {
                let above = if name == "n" { parent.clone() } else { Some(id(format!("n{at}"))) };
                tree.apply(Entry::Node(Box::new(Node::new(id(format!("{name}{at}")), above, messages)))).unwrap();
            }
        }
        black_box(lint::check_tree(&tree));
    });
    // The same of calls that nobody answers: each leaf ends a chain on which all calls above it wait.
    let open: Shape = ("a comb of open calls", |n| vec![Message::user("x"); n]);
    grows("lint", &open, &|messages| {
        let id = |name: String| MessageId::new(name).unwrap();
        let mut tree = Transcript::new(id("n0".to_owned()));
        for at in 0..messages.len() / 2 {
            let parent = (at > 0).then(|| id(format!("n{}", at - 1)));
            tree.apply(Entry::Node(Box::new(Node::new(
                id(format!("n{at}")),
                parent,
                vec![calling([format!("c{at}")])],
            ))))
            .unwrap();
            let leaf = Node::new(id(format!("l{at}")), Some(id(format!("n{at}"))), vec![Message::user("a")]);
            tree.apply(Entry::Node(Box::new(leaf))).unwrap();
        }
        assert_eq!(lint::check_tree(&tree).len(), messages.len() / 2, "each call once");
    });
}

#[test]
fn a_turn_costs_what_is_new() {
    // Each message of a growing history is read and grouped once, however long it is: reading all again would be 256 times.
    let shape: Shape = ("a growing history", |n| {
        (0..n).map(|at| if at % 2 == 0 { Message::user("a") } else { Message::assistant("b") }).collect()
    });
    grows("growing", &shape, &|messages| {
        let all = items(messages);
        let mut prepared = Prepared::new(&all[..1], Options::default().preparing(), &Estimate);
        for end in 2..=all.len() {
            prepared.extend(&all[..end], &Estimate);
        }
        black_box(prepared.figures());
    });
}
