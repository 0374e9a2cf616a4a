//! Tries contexts over made-up transcripts, and whatever takes JSON over damaged JSON, until something does not hold:
//! `cargo xtask fuzz [--steps N] [--seed S] [--first N]`. A step is one context built, rendered and validated. The same seed
//! and step are the same case on every machine. A finding is printed with its seed and step, and made small first.

#![allow(clippy::expect_used)] // a program for developers that cannot go on should stop

mod check;
mod make;
mod random;
#[path = "../../../core/tests/support/transcripts.rs"]
mod transcripts;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use threadkeep_context::MessageRef;
use threadkeep_core::Message;
use threadkeep_protocol::ContextOptions;
use threadkeep_tokens::{Bpe, Encoding};

use check::{Case, check, hostile};
use random::Random;

/// How many contexts are made of one transcript.
const STEPS_A_CASE: u64 = 8;
/// After how many steps progress is printed.
const PROGRESS: u64 = 250_000;
/// Findings after which a run ends.
const ENOUGH: u64 = 20;

thread_local! {
    /// Where the last panic of this thread was.
    static PANIC: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// What is wrong with a case, panics included.
fn trouble(look: impl FnOnce() -> Result<(), (&'static str, String)>) -> Option<(&'static str, String)> {
    match catch_unwind(AssertUnwindSafe(look)) {
        Ok(found) => found.err(),
        Err(_) => Some(("panic", PANIC.with_borrow(Clone::clone))),
    }
}

/// Leaves messages out as long as the same thing stays wrong.
fn smaller(mut case: Case, rule: &str, bpe: &Bpe) -> Case {
    let mut at = 0;
    let wrong = |case: &Case| trouble(|| check(case, bpe)).is_some_and(|(other, _)| other == rule);
    while at < case.messages.len() {
        let mut less = case.clone();
        less.messages.remove(at);
        less.options.pins =
            less.options.pins.iter().filter(|pin| **pin != at).map(|pin| pin - usize::from(*pin > at)).collect();
        if wrong(&less) {
            case = less;
            at = 0;
        } else {
            at += 1;
        }
    }
    case
}

/// Runs the cases of one thread.
fn work(range: (u64, u64), seed: u64, thread: u64, threads: u64, shared: &Shared) {
    let bpe = &shared.bpe;
    let (first, end) = (range.0 / STEPS_A_CASE, range.1.div_ceil(STEPS_A_CASE));
    for number in (first..end).filter(|number| number % threads == thread) {
        if shared.found.load(Ordering::Relaxed) >= ENOUGH {
            return;
        }
        let mut random = Random::new(seed, number);
        let (messages, damaged) = make::history(&mut random);
        for nth in 0..STEPS_A_CASE {
            let step = number * STEPS_A_CASE + nth;
            let (json, memory) = make::options(&mut random, messages.len());
            // Tools are counted whatever they are; as options they must be schemas.
            let mut rest = json.clone();
            let tools = rest.as_object_mut().and_then(|options| options.shift_remove("tools"));
            let asked = ContextOptions::from_json(&rest).expect("options as they must be");
            let mut options = asked.build;
            options.frame.tools.extend(tools.iter().filter_map(Value::as_array).flatten().cloned());
            options.frame.memory = memory;
            let place = |pin: &MessageRef| if let MessageRef::Index(place) = pin { Some(*place) } else { None };
            options.pins.extend(asked.pins.iter().filter_map(place));
            let rendering = make::rendering(&mut random, options.provider);
            let case = Case {
                messages: messages.clone(),
                options,
                rendering,
                damaged,
                exact: random.once_in(16),
                way: random.next(),
            };
            if let Some((rule, _)) = trouble(|| check(&case, bpe)) {
                let case = smaller(case, rule, bpe);
                let (_, particulars) = trouble(|| check(&case, bpe)).unwrap_or((rule, String::new()));
                shared.report(seed, step, rule, &particulars, &json, &case);
            }
            if nth == 0
                && let Some((rule, particulars)) = trouble(|| hostile(&mut random, &json, &messages, bpe))
            {
                let case = Case { messages: messages.clone(), ..case_of(&messages) };
                shared.report(seed, step, rule, &particulars, &json, &case);
            }
        }
        let done = shared.done.fetch_add(STEPS_A_CASE, Ordering::Relaxed) + STEPS_A_CASE;
        if done % PROGRESS < STEPS_A_CASE {
            let speed = done as f64 / shared.start.elapsed().as_secs_f64();
            println!("{done} steps, {speed:.0} steps/s, {} findings", shared.found.load(Ordering::Relaxed));
        }
    }
}

/// A case of which only the messages matter.
fn case_of(messages: &[Message]) -> Case {
    Case {
        messages: messages.to_vec(),
        options: Default::default(),
        rendering: Default::default(),
        damaged: true,
        exact: false,
        way: 1,
    }
}

/// What the threads share.
struct Shared {
    bpe: Bpe,
    done: AtomicU64,
    found: AtomicU64,
    start: Instant,
}

impl Shared {
    fn report(&self, seed: u64, step: u64, rule: &str, particulars: &str, options: &Value, case: &Case) {
        if self.found.fetch_add(1, Ordering::Relaxed) >= ENOUGH {
            return;
        }
        let messages: Vec<Value> = case.messages.iter().map(Message::to_json).collect();
        let memory: Vec<Value> =
            case.options.frame.memory.iter().map(|it| json!([it.source, it.entries[0].text])).collect();
        let finding = json!({
            "seed": seed, "step": step, "rule": rule, "options": options, "pins": case.options.pins, "memory": memory,
            "exact": case.exact, "damaged": case.damaged, "rendering": format!("{:?}", case.rendering), "messages": messages,
        });
        println!("FINDING {rule}: {particulars}\n{finding}");
    }
}

/// The number that follows a flag.
fn number(arguments: &[String], flag: &str, default: u64) -> u64 {
    let at = arguments.iter().position(|argument| argument == flag);
    at.map_or(default, |at| arguments.get(at + 1).and_then(|text| text.parse().ok()).expect("a whole number"))
}

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first = number(&arguments, "--first", 0);
    let steps = number(&arguments, "--steps", 1_000_000);
    let seed = number(&arguments, "--seed", 1);
    let threads = number(&arguments, "--threads", 2).clamp(1, 2);
    std::panic::set_hook(Box::new(|info| PANIC.with_borrow_mut(|panic| *panic = info.to_string())));
    let shared = Shared {
        bpe: Bpe::embedded(Encoding::O200k),
        done: AtomicU64::new(0),
        found: AtomicU64::new(0),
        start: Instant::now(),
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let shared = &shared;
            scope.spawn(move || work((first, first.saturating_add(steps)), seed, thread, threads, shared));
        }
    });
    let (done, found) = (shared.done.into_inner(), shared.found.into_inner());
    let speed = done as f64 / shared.start.elapsed().as_secs_f64();
    println!(
        "context: {done} steps from {first}, seed {seed}, {speed:.0} steps/s on {threads} threads, {found} findings"
    );
    if found == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
