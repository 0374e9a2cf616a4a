//! Imports damaged files: `cargo xtask fuzz archives` damages samples of every archive format, `cargo xtask fuzz exports` our
//! own exports. A step damages each sample once. The same seed, step and sample make the same file again. A finding is printed with
//! them, made small first, and its file is written beside the others in the system's folder for temporary files.
//!
//! A child process does the work, so that a case that takes all memory, or never ends, is a finding too.

#![allow(clippy::expect_used)] // a program for developers that cannot go on should stop

mod check;
#[path = "../../../core/tests/support/folder.rs"]
mod folder;
mod mutate;
#[path = "../../../context/examples/fuzz/random.rs"]
mod random;
mod samples;

use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use check::{Wrong, check};
use mutate::mutated;
use random::Random;
use samples::Sample;

/// Findings after which a run ends.
const ENOUGH: u64 = 10;
/// After so long without a new case, the child is taken to hang.
const HANGS: Duration = Duration::from_secs(60);
/// The most address space that a child may have, in KB.
const SPACE: u64 = 3 << 20;

/// The number that follows a flag.
fn number(arguments: &[String], flag: &str, default: u64) -> u64 {
    let at = arguments.iter().position(|argument| argument == flag);
    at.map_or(default, |at| arguments.get(at + 1).and_then(|text| text.parse().ok()).expect("a whole number"))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let target = arguments.first().cloned().unwrap_or_default();
    let mark = std::env::temp_dir()
        .join(format!("threadkeep-fuzz-{target}-{}", number(&arguments, "--parent", u64::from(std::process::id()))));
    if arguments.iter().any(|argument| argument == "--parent") {
        return work(&target, &arguments, &mark);
    }
    watch(&arguments, &mark)
}

/// Runs the child and looks after it.
fn watch(arguments: &[String], mark: &Path) -> ExitCode {
    let own = std::env::current_exe().expect("a path of its own");
    let limited = format!("ulimit -v {SPACE} 2>/dev/null; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).arg(own).args(arguments).args(["--parent", &std::process::id().to_string()]);
    let mut child = command.spawn().expect("a child process");
    let (mut seen, mut since) = (String::new(), Instant::now());
    let how = loop {
        if let Some(status) = child.try_wait().expect("a child process") {
            break if status.code().is_some_and(|code| code < 2) { None } else { Some(format!("{status}")) };
        }
        let now = std::fs::read_to_string(mark).unwrap_or_default();
        if now != seen {
            (seen, since) = (now, Instant::now());
        } else if since.elapsed() > HANGS {
            child.kill().expect("a child process");
            break Some("it does not end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    let last = std::fs::read_to_string(mark).unwrap_or_default();
    let _ = std::fs::remove_file(mark);
    let status = child.wait().expect("a child process");
    if let Some(how) = how {
        println!("FINDING the process died ({how}) at {}", last.trim());
        return ExitCode::FAILURE;
    }
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The child: all cases.
fn work(target: &str, arguments: &[String], mark: &Path) -> ExitCode {
    let samples = match target {
        "archives" => samples::archives(),
        "exports" => samples::exports(),
        other => {
            println!("cannot fuzz `{other}`: archives and exports are there");
            return ExitCode::from(1);
        }
    };
    let (first, steps, seed) =
        (number(arguments, "--first", 0), number(arguments, "--steps", 10_000), number(arguments, "--seed", 1));
    std::panic::set_hook(Box::new(|info| check::PANIC.with_borrow_mut(|panic| *panic = info.to_string())));
    let mut marks = std::fs::File::create(mark).expect("a file for marks");
    let (start, mut done, mut found) = (Instant::now(), 0_u64, 0);
    let (mut slowest, mut largest) = (Duration::ZERO, 0);
    'steps: for step in first..first.saturating_add(steps) {
        for (at, sample) in samples.iter().enumerate() {
            let words = format!("seed {seed}, step {step}, sample {}      \n", sample.name);
            marks.rewind().and_then(|()| marks.write_all(words.as_bytes())).expect("a file for marks");
            let mut random = Random::new(seed, step * 1009 + at as u64);
            let (file, how) = mutated(&mut random, sample, &samples);
            let thorough = random.once_in(4);
            match check(sample, &file, &how, thorough) {
                Ok(cost) => {
                    slowest = slowest.max(cost.time);
                    largest = largest.max(cost.kilobytes);
                }
                Err(wrong) => {
                    found += 1;
                    report(sample, step, seed, &file, &how, thorough, &wrong);
                    if found >= ENOUGH {
                        break 'steps;
                    }
                }
            }
            done += 1;
        }
        if (step + 1) % 1000 == 0 {
            println!(
                "{} steps, {done} files, {:.0} s, {found} findings",
                step + 1 - first,
                start.elapsed().as_secs_f64()
            );
        }
    }
    println!(
        "{target}: {done} files from {} samples, steps from {first}, seed {seed}, {:.0} s, slowest {:.2} s, {} MB at most, {found} findings",
        samples.len(),
        start.elapsed().as_secs_f64(),
        slowest.as_secs_f64(),
        largest / 1024,
    );
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Makes a finding small, prints it, and writes its file.
fn report(sample: &Sample, step: u64, seed: u64, file: &[u8], how: &[String], thorough: bool, wrong: &Wrong) {
    let small = smaller(sample, file, how, thorough, wrong);
    let path: PathBuf = std::env::temp_dir().join(format!("fuzz-{seed}-{step}-{}", sample.name.replace('/', "-")));
    let _ = std::fs::write(&path, &small);
    println!(
        "FINDING {}: {}\n  seed {seed}, step {step}, sample {}, {}: {} of {} bytes in {}",
        wrong.rule,
        wrong.particulars,
        sample.name,
        how.join(", "),
        small.len(),
        file.len(),
        path.display()
    );
}

/// Leaves out lines, then halves, as long as the same thing stays wrong.
fn smaller(sample: &Sample, file: &[u8], how: &[String], thorough: bool, wrong: &Wrong) -> Vec<u8> {
    let same = |file: &[u8]| check(sample, file, how, thorough).is_err_and(|other| other.rule == wrong.rule);
    let mut lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut size, until) = (lines.len() / 2, Instant::now() + Duration::from_secs(30));
    while size > 0 && Instant::now() < until {
        let mut at = 0;
        while at < lines.len() && Instant::now() < until {
            let mut less = lines.clone();
            less.drain(at..(at + size).min(lines.len()));
            if same(&less.concat()) { lines = less } else { at += size }
        }
        size /= 2;
    }
    lines.concat()
}
