//! How fast a ChatGPT export comes in, natively and into memory, in bytes a second. Run by `cargo xtask bench import`; prints rows
//! of measure, value, target, verdict.
//!
//! `bench_import FILE ROUNDS` imports a file that often, for a profiler; `tests/e2e/generate.mjs` makes large ones.

#[path = "support/host.rs"]
mod host;

use std::time::Instant;

use host::Still;
use pollster::block_on;
use serde_json::{Value, json};
use threadkeep::{Keep, Options};
use threadkeep_store::MemoryStore;

/// What the messages say, over and over: words, marks that JSON escapes, and letters of more than a byte.
const TEXT: &str = "Careful søster crooked silver ledger bright copper compass, \"hollow often\" saffron garden thread.\n\n\
    - Mends slowly cinder engine under remembers again; garden because crooked often façade.\n";
/// Messages of a conversation.
const MESSAGES: usize = 64;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let [name, rounds] = &asked[..] {
        let file = std::fs::read(name)?;
        for _ in 0..rounds.parse()? {
            println!("{:.3} s", import(&keep()?, &file)?.0);
        }
        return Ok(());
    }
    // A small run only shows that the measurement works.
    let small = std::env::var_os("THREADKEEP_BENCH_SMALL").is_some();
    let (conversations, rounds) = if small { (5, 1) } else { (200, 9) };
    let file = archive(conversations).into_bytes();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let keep = keep()?;
        for (times, expected) in [(&mut first, [conversations, 0]), (&mut again, [0, conversations])] {
            let (seconds, found) = import(&keep, &file)?;
            assert_eq!(found, expected);
            times.push(seconds);
        }
    }
    let size = file.len() as f64 / 1e6;
    for (what, mut times) in [("new", first), ("unchanged", again)] {
        times.sort_by(f64::total_cmp);
        let rate = size / times[times.len() / 2];
        println!("BENCH\tChatGPT export of {size:.0} MB, {conversations} conversations, {what}\t{rate:.0} MB/s\t\t");
    }
    Ok(())
}

/// An empty engine in memory.
fn keep() -> Result<Keep<MemoryStore>, Failed> {
    Ok(block_on(Keep::open(MemoryStore::new(), Still::default(), Options::default()))?)
}

/// Seconds, and how many conversations were new and unchanged.
fn import(keep: &Keep<MemoryStore>, file: &[u8]) -> Result<(f64, [usize; 2]), Failed> {
    let source = ("conversations.json".to_owned(), file);
    let start = Instant::now();
    let report = block_on(keep.import(vec![source], None, |_| ()))?;
    Ok((start.elapsed().as_secs_f64(), [report.added as usize, report.unchanged as usize]))
}

/// An export of so many conversations.
fn archive(conversations: usize) -> String {
    let all: Vec<Value> = (0..conversations).map(conversation).collect();
    Value::Array(all).to_string()
}

/// A conversation as ChatGPT writes it: an empty root, then questions and answers by turns.
fn conversation(at: usize) -> Value {
    let id = |node: usize| format!("a11ce000-{at:04}-4000-8000-{node:012}");
    let node = |node: usize| {
        let role = if node % 2 == 1 { "user" } else { "assistant" };
        let said = TEXT.repeat(1 + (node * 7 + at) % 12);
        let message = json!({
            "id": id(node), "author": {"role": role, "name": null, "metadata": {}},
            "create_time": 1_600_000_000 + at * 7_200 + node * 17, "update_time": null,
            "content": {"content_type": "text", "parts": [said]},
            "status": "finished_successfully", "end_turn": true, "weight": 1.0,
            "metadata": {"model_slug": "gpt-4o", "finish_details": {"type": "stop"}},
            "recipient": "all", "channel": null,
        });
        let (message, parent) = if node == 0 { (Value::Null, None) } else { (message, Some(id(node - 1))) };
        let children: Vec<String> = (node < MESSAGES).then(|| id(node + 1)).into_iter().collect();
        (id(node), json!({"id": id(node), "message": message, "parent": parent, "children": children}))
    };
    let mapping: serde_json::Map<String, Value> = (0..=MESSAGES).map(node).collect();
    json!({
        "title": format!("Conversation {at}"), "create_time": 1_600_000_000 + at * 7_200, "mapping": mapping,
        "current_node": id(MESSAGES), "conversation_id": id(0), "moderation_results": [], "gizmo_id": null,
        "is_archived": false, "default_model_slug": "gpt-4o", "id": id(0),
    })
}
