//! The JSON Lines layout of agent memory: `raw_traces.jsonl`, `raw_traces_archive.jsonl`, `episodic.jsonl`, `semantic.jsonl`, and
//! the working context's messages. Goes in: text. Comes out: records, and for each line that is none, why; and the way back. No files are
//! touched here.
//!
//! The fields and their order are the layout's. Our own fields follow them: `transcript`, `sources`, `pinned`, `kind`, `superseded_by`, `agent`
//! and `origin`. A field that says nothing is left out. Fields that we do not know come back from a trace as they came.

mod items;
mod trace;
mod working;

use serde::Serialize;
use serde_json::{Map, Number, Value};

use threadkeep_json::own_text;

use crate::memory::{Episode, Fact};

use items::{EpisodeLine, FactLine};
pub use items::{read_episode, read_fact};
pub use trace::{RawTrace, Told, TraceType, messages, read_trace, told, traces};
pub use working::{read_working_context, write_working_context};

/// The file of the traces that have not been compacted.
pub const RAW_TRACES: &str = "raw_traces.jsonl";
/// The file of the traces that have been.
pub const RAW_TRACES_ARCHIVE: &str = "raw_traces_archive.jsonl";
/// The file of episodes.
pub const EPISODIC: &str = "episodic.jsonl";
/// The file of facts.
pub const SEMANTIC: &str = "semantic.jsonl";
/// The file of the working context.
pub const WORKING_CONTEXT: &str = "working_context_snapshot.json";

/// What a text holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines<T> {
    /// Its records, in order.
    pub records: Vec<T>,
    /// Lines that are none: their number from 1, and why.
    pub bad: Vec<(usize, String)>,
}

/// Reads raw traces.
pub fn read_traces(text: &str) -> Lines<RawTrace> {
    read(text, read_trace)
}

/// Reads episodes.
pub fn read_episodes(text: &str) -> Lines<Episode> {
    read(text, read_episode)
}

/// Reads facts.
pub fn read_facts(text: &str) -> Lines<Fact> {
    read(text, read_fact)
}

/// Writes raw traces.
pub fn write_traces(traces: &[RawTrace]) -> String {
    write(traces)
}

/// Writes episodes.
///
/// ```
/// use threadkeep_compaction::memory::jsonl::{read_episodes, write_episodes};
/// let line = "{\"id\":\"ep_0001\",\"ts\":1738100500.0,\"turn_ids\":[\"turn_0001\"],\"summary\":\"…\",\"tags\":[],\"salience\":0.7}\n";
/// assert_eq!(write_episodes(&read_episodes(line).records), line);
/// ```
pub fn write_episodes(episodes: &[Episode]) -> String {
    write(episodes.iter().cloned().map(EpisodeLine::from))
}

/// Writes facts.
pub fn write_facts(facts: &[Fact]) -> String {
    write(facts.iter().cloned().map(FactLine::from))
}

fn write(lines: impl IntoIterator<Item = impl Serialize>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&own_text(&line));
        text.push('\n');
    }
    text
}

fn read<T>(text: &str, record: fn(&str) -> Result<T, serde_json::Error>) -> Lines<T> {
    let mut lines = Lines { records: Vec::new(), bad: Vec::new() };
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        if line.trim().is_empty() {
            continue;
        }
        match record(line) {
            Ok(read) => lines.records.push(read),
            Err(error) => lines.bad.push((number, error.to_string())),
        }
    }
    lines
}

/// A time in milliseconds as epoch seconds with a fraction: `1738100500.0`.
pub fn seconds(millis: i64) -> Number {
    // A thousandth of a whole number is always finite.
    Number::from_f64(millis as f64 / 1000.0).unwrap_or_else(|| 0.into())
}

/// Epoch seconds as milliseconds; digits beyond the third behind the point are cut off. `None` for what is no such time.
pub fn millis(seconds: &Number) -> Option<i64> {
    if let Some(whole) = seconds.as_i64() {
        return whole.checked_mul(1000);
    }
    let millis = seconds.as_f64()? * 1000.0;
    // A little more, since the double of a time may lie a little below it: by less than a thousandth until the year 30,000.
    let millis = (millis + 0.001_f64.copysign(millis)).trunc();
    (millis.abs() < i64::MAX as f64).then_some(millis as i64)
}

fn put(map: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    map.insert(name.to_owned(), value.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_turn_back() {
        for time in [0, 1, 10, 120, 999, 1000, 1_738_100_000_120, -1, -1500] {
            assert_eq!(millis(&seconds(time)), Some(time));
        }
        assert_eq!(seconds(1_738_100_000_120).to_string(), "1738100000.12");
        assert_eq!(millis(&serde_json::from_str("1738100000").unwrap()), Some(1_738_100_000_000));
        assert_eq!(millis(&serde_json::from_str("1e300").unwrap()), None);
        assert_eq!(millis(&serde_json::from_str("99999999999999999999.5").unwrap()), None);
    }
}
