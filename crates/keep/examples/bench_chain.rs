//! How long a chain of 10,000 messages takes to assemble from the cache, and a transcript of them to load. Run by
//! `cargo xtask bench chain`; prints rows of measure, value, target, verdict.

#[path = "support/host.rs"]
mod host;

use std::time::Instant;

use host::Still;
use threadkeep::{Keep, Options};
use threadkeep_core::{Entry, Message, MessageId, Node, Transcript};
use threadkeep_store::MemoryStore;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let small = std::env::var_os("THREADKEEP_BENCH_SMALL").is_some();
    let (messages, rounds): (usize, usize) = if small { (500, 3) } else { (10_000, 51) };
    let said = |at: usize| {
        let text = format!("Message {at}: {}", "some words that a person would write. ".repeat(12));
        if at.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) }
    };
    let name = |at: usize| MessageId::new(format!("chat/node-{at}"));
    let mut tree = Transcript::new(name(0)?);
    for at in 0..messages {
        let parent = at.checked_sub(1).map(name).transpose()?;
        tree.apply(Entry::Node(Box::new(Node::new(name(at)?, parent, vec![said(at)]))))?;
    }
    let leaf = name(messages - 1)?;
    let mut chain = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let found = std::hint::black_box(&tree).messages(&leaf)?;
        chain.push(start.elapsed().as_secs_f64() * 1e3);
        assert_eq!(std::hint::black_box(found).len(), messages);
    }
    row(&format!("chain of {messages} messages from the cache, ms"), median(chain), Some(1.0));

    pollster::block_on(async {
        let store = MemoryStore::new();
        let keep = Keep::open(store.clone(), Still::default(), Options { cache_bytes: 1 << 30 }).await?;
        let start = Instant::now();
        for batch in 0..messages / 100 {
            keep.append("chat", (0..100).map(|at| said(batch * 100 + at)).collect()).await?;
        }
        row("append in batches of 100 to memory, messages/s", messages as f64 / start.elapsed().as_secs_f64(), None);
        let mut loads = Vec::new();
        for _ in 0..rounds.min(11) {
            let fresh = Keep::open(store.clone(), Still::default(), Options::default()).await?;
            let start = Instant::now();
            assert_eq!(fresh.get_count("chat").await?, messages as u64);
            loads.push(start.elapsed().as_secs_f64() * 1e3);
        }
        row(&format!("cold load of {messages} messages from memory, ms"), median(loads), None);
        Ok(())
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn row(measure: &str, value: f64, at_most: Option<f64>) {
    let (target, verdict) = match at_most {
        Some(limit) => (format!("≤ {limit}"), if value <= limit { "met" } else { "missed" }),
        None => (String::new(), ""),
    };
    let value = if value < 10.0 { format!("{value:.3}") } else { format!("{value:.0}") };
    println!("BENCH\t{measure}\t{value}\t{target}\t{verdict}");
}
