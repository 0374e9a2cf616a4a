//! `cargo xtask bench recall`: how much of the evidence for questions a search finds, beside an independent BM25 and without each feature in
//! turn; and what an index of 100,000 messages costs. BEAM and BFCL's memory task are read from the folder of real data. `THREADKEEP_CHATS`
//! (`--chats PATH`) names a file or a folder of other sets (see `others`), with more of BEAM in its folders `beam` and `beam-1m`.
//! The argument `tune` prints BEAM's odd files under other figures: weights are chosen on these alone.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

mod bootstrap;
mod figures;
#[path = "../../../core/tests/support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "answers are for the engine's bench")]
mod locomo;
mod meaning;
mod others;
mod plain;
mod questions;
mod volume;

use std::path::Path;

use figures::{AT_10, Figures, OURS, Way, interval, mean, measure, ways};
use questions::Set;
use threadkeep_recall::Tuning;

/// The figures of each way over one set or several that are printed together.
type Sums = Vec<(&'static str, Vec<Figures>)>;

fn main() {
    // `THREADKEEP_BENCH_SMALL` runs the program once over little, to see that it runs.
    let small = std::env::var_os("THREADKEEP_BENCH_SMALL").is_some();
    let data = folder::data();
    let beam = |from: u32, to: u32, step: usize| -> Vec<Set> {
        let folder = data.iter().map(|data| data.join("beam"));
        let numbers = (from..=to).step_by(step);
        folder.flat_map(|folder| numbers.clone().filter_map(move |number| questions::beam(&folder, number))).collect()
    };
    if let Some(path) = std::env::var_os("THREADKEEP_TEXTS") {
        return meaning::write_texts(path.as_ref(), &beam(1, 20, 1), data.as_deref());
    }
    if small {
        print("BEAM, one file", &sums(&beam(1, 1, 1)), None);
    } else if std::env::args().any(|argument| argument == "tune") {
        return tune(&beam(1, 19, 2));
    } else if let Some(data) = &data {
        print("BEAM files 1, 3, 5 (weights were chosen on odd files)", &sums(&beam(1, 5, 2)), None);
        print("BEAM files 2, 4, 6 (looked at)", &sums(&beam(2, 6, 2)), None);
        print("BEAM files 1 to 6", &sums(&beam(1, 6, 1)), Some(57.0));
        print("BFCL memory (looked at)", &sums(&questions::bfcl(data)), Some(97.0));
    }
    match std::env::var_os("THREADKEEP_CHATS").filter(|_| !small) {
        Some(path) => other_sets(path.as_ref()),
        None => println!("LoCoMo and other sets: skipped (--chats PATH names their folder)"),
    }
    volume::measure(small);
}

/// The sets of a folder. A set may be too large to be held as a whole, so each of its parts is measured as it is read.
fn other_sets(path: &Path) {
    let mut known: Vec<(&str, Sums)> = Vec::new();
    others::read(path, &mut |name, set| {
        let at = known.iter().position(|(other, _)| *other == name).unwrap_or(known.len());
        if at == known.len() {
            known.push((name, Sums::new()));
        }
        add(&mut known[at].1, sums(&[set]));
    });
    let mut all = Sums::new();
    for (name, sums) in &known {
        print(&format!("{name} (looked at)"), sums, None);
        if name.starts_with("LoCoMo") {
            add(&mut all, sums.clone());
        }
    }
    if !all.is_empty() {
        print("LoCoMo, all categories together (looked at)", &all, Some(78.0));
    }
    let beam = |folder: &str, from: u32, to: u32, step: usize| -> Vec<Set> {
        (from..=to).step_by(step).filter_map(|number| questions::beam(&path.join(folder), number)).collect()
    };
    for (name, sets) in [
        ("BEAM files 7 to 19, odd (weights were chosen on odd files)", beam("beam", 7, 19, 2)),
        ("BEAM files 8 to 20, even (looked at)", beam("beam", 8, 20, 2)),
        ("BEAM's 1M tier (held out)", beam("beam-1m", 1, 35, 1)),
    ] {
        if !sets.is_empty() {
            print(name, &sums(&sets), None);
        }
    }
}

fn sums(sets: &[Set]) -> Sums {
    ways().into_iter().map(|(name, way)| (name, sets.iter().flat_map(|set| measure(set, way)).collect())).collect()
}

fn add(sums: &mut Sums, more: Sums) {
    if sums.is_empty() {
        *sums = more;
        return;
    }
    sums.iter_mut().zip(more).for_each(|((_, known), (_, more))| known.extend(more));
}

/// A table of all ways, and a line for `cargo xtask bench` with ours.
fn print(name: &str, sums: &Sums, target: Option<f64>) {
    let questions = sums.first().map_or(0, |(_, all)| all.len());
    if questions == 0 {
        println!("{name}: skipped, no data");
        return;
    }
    println!("\n{name}: {questions} questions");
    println!("{:<30} {:>6} {:>6} {:>6} {:>15} {:>6} {:>6}", "", "R@1", "R@5", "R@10", "95 of 100", "R@20", "MRR");
    // A set of which there are no vectors has no figures by them.
    for (way, all) in sums.iter().filter(|(way, all)| !way.contains("vectors") || mean(all, 4) > 0.0) {
        let at = |at: usize| format!("{:.1}", mean(all, at));
        let (low, high) = interval(all, AT_10);
        let (one, five, ten, twenty, rank) = (at(0), at(1), at(2), at(3), at(4));
        println!(
            "{way:<30} {one:>6} {five:>6} {ten:>6} {:>15} {twenty:>6} {rank:>6}",
            format!("{low:.1} to {high:.1}")
        );
        if *way == OURS {
            let plain = mean(&sums[0].1, AT_10);
            let (goal, verdict) = match target {
                Some(goal) => (format!("at least {goal} %"), if mean(all, AT_10) >= goal { "ok" } else { "missed" }),
                None => (String::new(), ""),
            };
            println!(
                "BENCH\t{name}: recall@10 of {questions} questions (plain BM25 {plain:.1} %)\t{ten} %\t{goal}\t{verdict}"
            );
        }
    }
}

/// A figure's name, what sets it, and the values that are tried.
type Knob = (&'static str, fn(&mut Tuning, f32), &'static [f32]);

const KNOBS: [Knob; 13] = [
    ("k1", |tuning, value| tuning.k1 = value, &[0.6, 0.9, 1.6, 2.0]),
    ("b", |tuning, value| tuning.b = value, &[0.3, 0.5, 0.9, 1.0]),
    ("before", |tuning, value| tuning.near[0] = value, &[0.0, 0.3, 0.5, 0.7, 1.0]),
    ("after", |tuning, value| tuning.near[1] = value, &[0.0, 0.3, 0.5, 0.7, 1.0]),
    ("second-before", |tuning, value| tuning.near[2] = value, &[0.0, 0.2, 0.3, 0.4, 0.5]),
    ("second-after", |tuning, value| tuning.near[3] = value, &[0.0, 0.1, 0.2, 0.3, 0.5]),
    ("short", |tuning, value| tuning.short = value, &[20.0, 30.0, 40.0, 60.0, 120.0]),
    ("answer", |tuning, value| tuning.answer = value as u32, &[0.0, 30.0, 100.0, 1000.0]),
    ("own", |tuning, value| tuning.own = value, &[0.0, 0.3, 0.6, 1.0]),
    ("session", |tuning, value| tuning.session = value, &[0.0, 0.3, 0.6, 1.0]),
    ("closeness", |tuning, value| tuning.closeness = value, &[0.0, 0.2, 0.4, 0.8, 1.5]),
    ("user", |tuning, value| tuning.user = value, &[1.0, 1.5, 2.0, 3.0]),
    ("time", |tuning, value| tuning.time = value, &[0.0, 0.25, 1.0]),
];

/// BEAM's odd files under one changed figure after the other. Arguments such as `own=0.6` change where it starts.
fn tune(odd: &[Set]) {
    let mut base = Tuning::default();
    for (name, value) in std::env::args().filter_map(|it| it.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())))
    {
        let knob = KNOBS.iter().find(|knob| knob.0 == name).unwrap();
        knob.1(&mut base, value.parse().unwrap());
    }
    let say = |name: &str, tuning: Tuning| {
        let way = Way::Ours { tuning, stop_words: false, forms: true };
        let all: Vec<Figures> = odd.iter().flat_map(|set| measure(set, way)).collect();
        let [one, five, ten, twenty, rank] = [0, 1, 2, 3, 4].map(|at| mean(&all, at));
        println!("{name:<20} {one:5.1} {five:5.1} {ten:5.1} {twenty:5.1} {rank:5.1}");
    };
    say("as it is", base);
    if std::env::args().any(|argument| argument == "once") {
        return;
    }
    for (name, set, values) in KNOBS {
        for value in values {
            let mut tuning = base;
            set(&mut tuning, *value);
            say(&format!("{name} {value}"), tuning);
        }
    }
}
