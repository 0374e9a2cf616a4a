//! What is remembered.

use std::time::Duration;

use pollster::block_on;
use threadkeep::{Keep, MemoryFilter, NewFact};
use threadkeep_compaction::memory::BundleLimits;
use threadkeep_store::{Commit, MemoryStore, Scan};

use super::{Row, keep, timed};

pub const ROWS: &[Row] = &[
    Row {
        name: "facts that are remembered",
        n: 500,
        run: |n| remember(n, |at| format!("The port of service {at} in the old house is {at}.")),
    },
    Row { name: "facts with one text", n: 1_000, run: |n| remember(n, |_| "The user prefers dark mode.".to_owned()) },
    Row {
        name: "facts that supersede one another",
        n: 500,
        run: |n| remember(n, |at| format!("The default port is {at}.")),
    },
    Row { name: "facts of the same few words", n: 500, run: |n| remember(n, shuffled) },
    Row { name: "facts that are pinned and let go", n: 500, run: pins },
    Row { name: "facts that are forgotten", n: 2_000, run: forget },
    Row { name: "facts, retrieved for a long question", n: 2_000, run: retrieve },
    Row { name: "records of an adapter", n: 5_000, run: records },
];

fn filled(n: usize) -> (Keep<MemoryStore>, Vec<String>) {
    let keep = keep();
    let tell = |at| block_on(keep.remember(NewFact::new(format!("The user likes thing {at}.")))).unwrap().id;
    let ids = (0..n).map(tell).collect();
    (keep, ids)
}

fn shuffled(at: usize) -> String {
    const WORDS: [&str; 12] =
        ["amber", "brook", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "larch"];
    let chosen = WORDS.iter().enumerate().filter(|(bit, _)| (at + 1).wrapping_mul(2_654_435_761) >> (bit + 8) & 1 == 1);
    chosen.map(|(_, word)| *word).collect::<Vec<_>>().join(" ") + " holds"
}

fn remember(n: usize, text: impl Fn(usize) -> String) -> Duration {
    let keep = keep();
    timed(|| (0..n).for_each(|at| drop(block_on(keep.remember(NewFact::new(text(at)))).unwrap())))
}

fn pins(n: usize) -> Duration {
    let (keep, ids) = filled(n);
    timed(|| {
        for id in &ids {
            block_on(keep.pin(id, true)).unwrap();
            block_on(keep.pin(id, false)).unwrap();
        }
    })
}

fn forget(n: usize) -> Duration {
    let (keep, ids) = filled(n);
    timed(|| ids.iter().for_each(|id| assert!(!block_on(keep.forget_memory(id)).unwrap().is_empty())))
}

fn retrieve(n: usize) -> Duration {
    let (keep, _) = filled(n);
    let question: String = (0..n).map(|at| format!("thing {at} or word{at}? ")).collect();
    timed(|| block_on(keep.retrieve(&MemoryFilter::default(), Some(&question), BundleLimits::default())).unwrap())
}

fn records(n: usize) -> Duration {
    let keep = keep();
    timed(|| {
        for at in 0..n {
            let puts = vec![(format!("key-{at:08}"), b"{}".to_vec())];
            block_on(keep.commit_records("adapter", Commit { puts, ..Commit::default() })).unwrap();
            block_on(keep.record("adapter", &format!("key-{at:08}"))).unwrap().unwrap();
        }
        assert_eq!(block_on(keep.scan_records("adapter", &Scan::prefix("key-"))).unwrap().len(), n);
    })
}
