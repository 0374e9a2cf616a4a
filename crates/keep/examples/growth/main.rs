//! What grows faster than its input: `cargo xtask bench growth` does each piece of work with n, 2n and 4n things and prints the three
//! times and by how much the time grew for each doubling. Work that is linear doubles; work that is quadratic grows fourfold.
//!
//! Each row makes its input first, which is not timed. `cargo xtask bench growth` runs all rows; `-- name` runs those whose names
//! contain it, for whoever tries a change. `THREADKEEP_BENCH_SMALL` runs each row once with a few things, and judges nothing.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a measurement that cannot go on should stop

mod agent;
mod archive;
mod chain;
mod memory;
mod search;
mod tree;

#[path = "../support/host.rs"]
mod host;

use std::time::{Duration, Instant};

use host::Still;
use pollster::block_on;
use threadkeep::{Keep, Options};
use threadkeep_store::MemoryStore;

/// How much a time may grow for each doubling: twice, and half a time for noise and for what sorting costs.
const TARGET: f64 = 2.5;

/// How often each size is measured; the quickest counts, since others on the machine only make it slower.
const ROUNDS: usize = 3;

/// One piece of work.
pub struct Row {
    /// What is done, with what.
    pub name: &'static str,
    /// How many things the smallest run has.
    pub n: usize,
    /// Does it with so many things, and says how long it took.
    pub run: fn(usize) -> Duration,
}

/// An engine on an empty store in memory.
pub fn keep() -> Keep<MemoryStore> {
    block_on(Keep::open(MemoryStore::default(), Still::default(), Options { cache_bytes: 1 << 30 })).unwrap()
}

/// How long `work` takes. Where the system says how long a thread had the processor, that is taken: others on the machine make
/// long work wait more often than short work, which would look like growth.
pub fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let (start, before) = (Instant::now(), processor());
    std::hint::black_box(work());
    match (before, processor()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => start.elapsed(),
    }
}

/// How long this thread has had the processor, on Linux.
fn processor() -> Option<Duration> {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(said.split_whitespace().next()?.parse().ok()?))
}

fn main() {
    let small = std::env::var_os("THREADKEEP_BENCH_SMALL").is_some();
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let groups = [agent::ROWS, chain::ROWS, memory::ROWS, archive::ROWS, search::ROWS, tree::ROWS];
    for Row { name, n, run } in groups.into_iter().flatten().filter(|row| row.name.contains(&wanted)) {
        if small {
            println!("BENCH\t{name}, 8\t{:.1} ms\t\t", milliseconds(run(8)));
            continue;
        }
        // Sizes take turns, so that a slow moment of the machine is no growth.
        let mut best = [f64::INFINITY; 3];
        for _ in 0..ROUNDS {
            for (best, times) in best.iter_mut().zip([1, 2, 4]) {
                *best = best.min(milliseconds(run(n * times)));
            }
        }
        let growth = (best[2] / best[0]).sqrt();
        let [one, two, four] = best;
        let verdict = if growth <= TARGET { "pass" } else { "missed" };
        println!(
            "BENCH\t{name}: {n}, {}, {}\t{one:.1}, {two:.1}, {four:.1} ms: {growth:.2} × a doubling\t≤ {TARGET} ×\t{verdict}",
            2 * n,
            4 * n
        );
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
