//! What the engine does for a message, without a store's time: appends and loads in memory, natively, through the Rust types and
//! through the JSON of the wire. Run by `cargo xtask bench memory`; prints rows of measure, value, target, verdict.
//!
//! `bench_memory NAME ROUNDS` runs one measurement that often, for a profiler.

use std::time::Instant;

use threadkeep::protocol::Request;
use threadkeep::{Host, Keep, Options};
use threadkeep_core::Message;
use threadkeep_store::MemoryStore;

const BATCH: usize = 100;
const LOADED: usize = 1_000;
const ROUNDS: usize = 41;

struct Fixed(std::cell::Cell<u64>);

impl Host for Fixed {
    fn now(&self) -> i64 {
        0
    }

    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64: ids that differ, at the price of ids from a pool.
            self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
            let mut word = self.0.get();
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes());
        }
        bytes
    }
}

const WORDS: &str =
    "the agent reads each file before it decides what to change because tests fail where parsing of dates goes wrong";

/// Messages as people and models write them: 20 to 150 words, as in `tests/bench/stores.mjs`.
fn messages(count: usize, salt: usize) -> Vec<Message> {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let said = |index: usize| {
        let length = 20 + ((index * 37 + salt * 11) % 130);
        let text: Vec<&str> = (0..length).map(|at| words[(at * 7 + index + salt) % words.len()]).collect();
        let text = text.join(" ");
        if index.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) }
    };
    (0..count).map(said).collect()
}

type Failed = Box<dyn std::error::Error>;

/// One measurement: milliseconds for a thousand messages.
struct Bench {
    store: MemoryStore,
    keep: Keep<MemoryStore>,
    round: usize,
}

impl Bench {
    fn new() -> Result<Self, Failed> {
        let store = MemoryStore::new();
        let keep = pollster::block_on(Keep::open(store.clone(), Fixed(1.into()), Options::default()))?;
        pollster::block_on(keep.append("loaded", messages(LOADED, 7)))?;
        Ok(Self { store, keep, round: 0 })
    }

    fn run(&mut self, name: &str) -> Result<f64, Failed> {
        self.round += 1;
        let head = format!("{name} {}", self.round);
        match name {
            "append-100" => {
                let batches: Vec<_> = (0..LOADED / BATCH).map(|at| messages(BATCH, self.round + at)).collect();
                timed(async {
                    for batch in batches {
                        self.keep.append(&head, batch).await?;
                    }
                    Ok(())
                })
            }
            "append-1" => {
                let batches = messages(LOADED, self.round);
                timed(async {
                    for message in batches {
                        self.keep.append(&head, vec![message]).await?;
                    }
                    Ok(())
                })
            }
            "wire-100" => {
                let asked = |at| {
                    let messages = messages(BATCH, self.round + at);
                    serde_json::json!({ "head": head, "messages": messages }).to_string()
                };
                let batches: Vec<_> = (0..LOADED / BATCH).map(asked).collect();
                timed(async {
                    for batch in batches {
                        let request = Request::read("append", &batch).map_err(|error| error.why)?;
                        let answer = serde_json::to_string(&self.keep.handle(request).await?)?;
                        std::hint::black_box(answer);
                    }
                    Ok(())
                })
            }
            "load" => {
                let fresh = pollster::block_on(Keep::open(self.store.clone(), Fixed(1.into()), Options::default()))?;
                timed(async {
                    let found = fresh.get_range("loaded", 0, u32::MAX).await?;
                    assert_eq!(std::hint::black_box(found).len(), LOADED);
                    Ok(())
                })
            }
            "wire-load" => {
                let fresh = pollster::block_on(Keep::open(self.store.clone(), Fixed(1.into()), Options::default()))?;
                timed(async {
                    let request = Request::read("getRange", r#"{"head":"loaded","start":0,"end":4294967295}"#)
                        .map_err(|error| error.why)?;
                    let answer = serde_json::to_string(&fresh.handle(request).await?)?;
                    std::hint::black_box(answer);
                    Ok(())
                })
            }
            _ => Err(format!("there is no measurement {name:?}").into()),
        }
    }
}

fn timed(work: impl Future<Output = Result<(), Failed>>) -> Result<f64, Failed> {
    let start = Instant::now();
    pollster::block_on(work)?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Name, label, messages a second that are wanted.
const MEASURED: [(&str, &str, Option<f64>); 5] = [
    ("append-100", "append 100 a commit", Some(200_000.0)),
    ("append-1", "append 1 a commit", None),
    ("wire-100", "append 100 a commit, by JSON", None),
    ("load", "load 1,000", None),
    ("wire-load", "load 1,000, by JSON", None),
];

fn main() -> Result<(), Failed> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let [name, rounds] = &asked[..] {
        let mut bench = Bench::new()?;
        for _ in 0..rounds.parse()? {
            bench.run(name)?;
        }
        return Ok(());
    }
    let mut times = [const { Vec::new() }; MEASURED.len()];
    let mut bench = Bench::new()?;
    // A small run only shows that the measurement works.
    let rounds = if std::env::var_os("THREADKEEP_BENCH_SMALL").is_some() { 1 } else { ROUNDS };
    for _ in 0..rounds {
        for ((name, ..), times) in MEASURED.iter().zip(&mut times) {
            times.push(bench.run(name)?);
        }
    }
    for ((_, label, wanted), mut times) in MEASURED.into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let rate = LOADED as f64 * 1e3 / times[times.len() / 2];
        let target = wanted.map(|wanted| format!("≥ {wanted}/s")).unwrap_or_default();
        let verdict = wanted.map_or("", |wanted| if rate >= wanted { "met" } else { "missed" });
        println!("BENCH\tin memory, natively, {label}\t{rate:.0}/s\t{target}\t{verdict}");
    }
    Ok(())
}
