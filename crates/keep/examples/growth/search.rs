//! Queries that say the same again and again.

use std::time::Duration;

use pollster::block_on;
use threadkeep::protocol::SearchOptions;
use threadkeep_core::Message;

use super::{Row, keep, timed};

pub const ROWS: &[Row] = &[
    Row { name: "a phrase repeated in a query", n: 100, run: |n| query(&"\"lost luggage\" ".repeat(n)) },
    Row { name: "an identifier repeated in a query", n: 100, run: |n| query(&"lost_luggage ".repeat(n)) },
    Row { name: "a beginning repeated in a query", n: 100, run: |n| query(&"lug* ".repeat(n)) },
    Row { name: "one phrase of one word", n: 50, run: |n| query(&format!("\"{}\"", "luggage ".repeat(n))) },
    Row {
        name: "different words in a query",
        n: 250,
        run: |n| query(&(0..n).map(|at| format!("word{at} ")).collect::<String>()),
    },
    Row {
        name: "different beginnings in a query",
        n: 50,
        run: |n| query(&(0..n).map(|at| format!("lug{at}* ")).collect::<String>()),
    },
    Row { name: "one long run of Chinese", n: 1_000, run: |n| query(&"我喜欢喝茶".repeat(n)) },
    Row { name: "messages that are found, to the last", n: 250, run: found },
    Row { name: "transcripts of one source, searched", n: 500, run: sources },
];

/// Searches a few hundred messages.
fn query(text: &str) -> Duration {
    let keep = keep();
    let said = |at: usize| Message::user(format!("The lost_luggage of {at} was luggage luggage in Oslo. 我喜欢喝茶"));
    block_on(keep.append("head", (0..300).map(said).collect())).unwrap();
    block_on(keep.search("warm", &SearchOptions::default())).unwrap();
    timed(|| block_on(keep.search(text, &SearchOptions::default())).unwrap())
}

fn found(n: usize) -> Duration {
    let keep = keep();
    block_on(keep.append("head", (0..n).map(|at| Message::user(format!("The penguin {at}"))).collect())).unwrap();
    block_on(keep.search("warm", &SearchOptions::default())).unwrap();
    timed(|| {
        let all = SearchOptions { limit: 1_000, ..SearchOptions::default() };
        assert_eq!(block_on(keep.search("penguin", &all)).unwrap().hits.len(), n.min(1_000));
    })
}

fn sources(n: usize) -> Duration {
    let keep = keep();
    for at in 0..n {
        block_on(keep.append(&format!("head-{at}"), vec![Message::user(format!("The penguin {at}"))])).unwrap();
    }
    let of = SearchOptions { source: Some(String::new()), ..SearchOptions::default() };
    block_on(keep.search("penguin", &of)).unwrap();
    timed(|| assert!(!block_on(keep.search("penguin", &of)).unwrap().hits.is_empty()))
}
