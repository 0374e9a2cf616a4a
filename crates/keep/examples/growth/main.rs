//! What grows faster than its input: `cargo xtask bench growth` does each piece of work with n, 2n and 4n things and prints the three
//! times and by how much the time grew for each doubling. Work that is linear doubles; work that is quadratic grows fourfold.
//!
//! Each row makes its input first, which is not timed. Its smallest size is doubled until it takes [`LONG_ENOUGH`]: short times are noise.
//! `cargo xtask bench growth` runs all rows; `-- name` runs those whose names contain it. `THREADKEEP_BENCH_SMALL` runs each row once with
//! a few things, and judges nothing.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a measurement that cannot go on should stop

mod agent;
mod archive;
mod chain;
mod memory;
mod search;
mod tree;

#[path = "../support/host.rs"]
mod host;

use std::time::Duration;

use host::Still;
use pollster::block_on;
use threadkeep::{Keep, Options};
use threadkeep_store::MemoryStore;

/// How much a time may grow for each doubling: twice, and three quarters for noise, for caches and for what sorting costs. Quadratic
/// work takes four times as long.
const TARGET: f64 = 2.75;
/// How long the smallest size of a row takes, at least, unless [`LARGEST`] times the row's own number is not enough.
const LONG_ENOUGH: Duration = Duration::from_millis(25);
/// How much larger than its own number a row's smallest size may become.
const LARGEST: usize = 32;

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

/// How long `work` takes of this thread's time on a processor: others on the machine make long work wait more often than short work,
/// which would look like growth.
pub fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let before = processor();
    std::hint::black_box(work());
    processor().saturating_sub(before)
}

/// How long this thread has had a processor.
#[cfg(unix)]
fn processor() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// How long the program runs, where the system's clock of a thread is not at hand.
#[cfg(not(unix))]
fn processor() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
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
        let (own, mut n) = (*n, *n);
        while n < own * LARGEST && run(n) < LONG_ENOUGH {
            n *= 2;
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
