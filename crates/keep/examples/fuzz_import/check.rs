//! What must hold, however a file is damaged.

use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use pollster::block_on;
use threadkeep::protocol::ImportReport;
use threadkeep::{Keep, KeepError, NewFact};
use threadkeep_core::Message;
use threadkeep_store::MemoryStore;

use crate::samples::{Sample, empty, export};

/// The longest that an import may take.
const LONGEST: Duration = Duration::from_secs(2);
/// The most memory of the process, in KB.
const LARGEST: u64 = 512 << 10;

thread_local! {
    /// Where the last panic was.
    pub static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What does not hold.
pub struct Wrong {
    pub rule: &'static str,
    pub particulars: String,
}

/// What a case took.
pub struct Cost {
    pub time: Duration,
    pub kilobytes: u64,
}

fn hold(holds: bool, rule: &'static str, particulars: impl FnOnce() -> String) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err(Wrong { rule, particulars: particulars() }) }
}

/// Imports a damaged copy of a sample and looks at what comes of it.
pub fn check(sample: &Sample, file: &[u8], how: &[String], thorough: bool) -> Result<Cost, Wrong> {
    let look = || look(sample, file, how, thorough);
    catch_unwind(AssertUnwindSafe(look))
        .unwrap_or_else(|_| Err(Wrong { rule: "panic", particulars: PANIC.with_borrow(Clone::clone) }))
}

fn look(sample: &Sample, file: &[u8], how: &[String], thorough: bool) -> Result<Cost, Wrong> {
    let keep = empty();
    let earlier: Vec<Message> = (0..3).map(|at| Message::user(format!("earlier {at}"))).collect();
    block_on(keep.append("earlier", earlier.clone())).expect("an append");
    block_on(keep.remember(NewFact::new("Water is wet."))).expect("a fact");
    forget_peak();
    let start = spent();
    let report = import(&keep, sample, file)?;
    let text = exported(&keep)?;
    let cost = Cost { time: spent().saturating_sub(start), kilobytes: peak() };
    hold(cost.time < LONGEST, "slow", || format!("{:?} for {} bytes", cost.time, file.len()))?;
    hold(cost.kilobytes < LARGEST, "large", || format!("{} MB", cost.kilobytes >> 10))?;
    let now = block_on(keep.get_range("earlier", 0, 10));
    hold(now.as_ref() == Ok(&earlier), "earlier", || format!("{now:?}"))?;
    hold(text.contains("Water is wet."), "earlier-fact", || text.clone())?;
    whole(sample, file, how, &text, &report)?;
    if thorough {
        again(&keep, sample, file, &text)?;
        restored(&text)?;
        healed(&keep, sample)?;
    }
    Ok(cost)
}

fn import(keep: &Keep<MemoryStore>, sample: &Sample, file: &[u8]) -> Result<ImportReport, Wrong> {
    let failed = |error: KeepError| Wrong { rule: "error", particulars: error.to_string() };
    block_on(keep.import(vec![(sample.name.clone(), file.to_vec())], None, |_| {})).map_err(failed)
}

/// All that is there can be read.
fn exported(keep: &Keep<MemoryStore>) -> Result<String, Wrong> {
    let failed = |error: KeepError| Wrong { rule: "unreadable", particulars: error.to_string() };
    for transcript in block_on(keep.transcripts()).map_err(failed)? {
        let leaf = transcript.info.leaf.unwrap_or(transcript.id);
        block_on(keep.chain(&leaf)).map_err(failed)?;
    }
    Ok(export(keep))
}

/// What no damage has touched is there: every line that is still a line.
fn whole(sample: &Sample, file: &[u8], how: &[String], text: &str, report: &ImportReport) -> Result<(), Wrong> {
    let mixed = |how: &String| ["spliced", "doubled", "nested", "zipped"].contains(&how.as_str());
    // A line among those of another transcript belongs to that.
    let ends = |bytes: &[u8]| {
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        (lines.get(1).map(|line| line.to_vec()), lines.last().map(|line| line.to_vec()))
    };
    let framed = !sample.many && ends(file) == ends(&sample.bytes);
    let mixed = |how: &String| mixed(how) || sample.own && !framed && how.starts_with("line");
    // The first line says what a file is. Of our own, any line does, but what comes after a line of a newer version is not read.
    let first = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
    let newer = || report.skipped.iter().any(|skip| skip.code == "newer-version");
    let known = if sample.own { !newer() } else { first(file) == first(&sample.bytes) };
    if how.iter().any(mixed) || !known {
        return Ok(());
    }
    let lines: HashSet<&[u8]> = file.split(|byte| *byte == b'\n').collect();
    // Nothing was said in a session of instructions.
    if !sample.own && report.skipped.iter().any(|skip| skip.code == "empty") {
        return Ok(());
    }
    // What no line can place is told: an id made up for it would be of a conversation that nobody had.
    if sample.own && report.skipped.iter().any(|skip| skip.reason.contains("do not tell which transcript")) {
        return Ok(());
    }
    // Of a line that is there twice, one damaged, nobody can say which is right: the other is told.
    if how.iter().any(|how| how == "line doubled") && report.skipped.iter().any(|skip| skip.code == "message-differs") {
        return Ok(());
    }
    let lost = sample.said.iter().find(|(line, said)| lines.contains(line.as_slice()) && !text.contains(said.as_str()));
    match lost {
        Some((_, said)) => Err(Wrong { rule: "lost", particulars: format!("{said}\n{:?}", report.skipped) }),
        None => Ok(()),
    }
}

/// The same file again adds nothing.
fn again(keep: &Keep<MemoryStore>, sample: &Sample, file: &[u8], text: &str) -> Result<(), Wrong> {
    let report = import(keep, sample, file)?;
    hold(report.messages == 0 && report.memories == 0, "again", || format!("{report:?}"))?;
    hold(export(keep) == text, "again-other", || export(keep))
}

/// The export comes back in an empty engine, byte by byte.
fn restored(text: &str) -> Result<(), Wrong> {
    let keep = empty();
    let import = block_on(keep.import(vec![("x.threadkeep.jsonl".to_owned(), text.to_owned())], None, |_| {}));
    let report = import.map_err(|error| Wrong { rule: "restored-error", particulars: error.to_string() })?;
    hold(report.skipped_count == 0, "restored-skips", || format!("{:?}", report.skipped))?;
    hold(export(&keep) == text, "restored-other", || export(&keep))
}

/// The whole file brings what was damaged.
fn healed(keep: &Keep<MemoryStore>, sample: &Sample) -> Result<(), Wrong> {
    if !sample.own {
        return Ok(());
    }
    let report = import(keep, sample, &sample.bytes)?;
    // Damage that leaves a line whole cannot be told from another text: both are told.
    if report.skipped.iter().any(|skip| ["message-differs", "id-taken"].contains(&skip.code.as_str())) {
        return Ok(());
    }
    let text = exported(keep)?;
    let lost = sample.said.iter().find(|(_, said)| !text.contains(said.as_str()));
    hold(lost.is_none(), "not-healed", || format!("{:?}\n{:?}", lost.map(|(_, said)| said), report.skipped))
}

/// The processor's time that this thread took, so that a busy machine makes nothing slow; the clock's where the system does
/// not tell.
fn spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = ran.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Lets the process count its peak of memory anew, where the system can.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The peak of memory in KB; zero where the system does not tell.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
