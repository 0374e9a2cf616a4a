//! `cargo xtask bench recall`: how much of the evidence for questions a search finds (BEAM and BFCL's memory task, where the
//! folder of real data is), beside a plain BM25 over stems in the same run; and what an index of 100,000 messages costs.
//! With `tune`, prints the odd files of BEAM under other figures: the even ones are held out. The path in `THREADKEEP_CHATS` names a file
//! or a folder of another set (see `others`), which is measured too, and never tuned to.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

#[path = "../../../core/tests/support/folder.rs"]
mod folder;
mod others;
mod plain;
mod questions;
mod volume;

use questions::Set;
use threadkeep_recall::{Filter, Index, Query, Tuning};

fn main() {
    // `THREADKEEP_BENCH_SMALL` runs the program once over little, to see that it runs.
    let small = std::env::var_os("THREADKEEP_BENCH_SMALL").is_some();
    if let Some(data) = folder::data().filter(|_| small) {
        print("BEAM, one file", &questions::beam(&data, 1).iter().collect::<Vec<_>>(), None);
    } else if let Some(data) = folder::data() {
        let beam: Vec<Set> = (1..=6).filter_map(|number| questions::beam(&data, number)).collect();
        if std::env::args().any(|argument| argument == "tune") {
            return tune(&beam);
        }
        let odd: Vec<&Set> = beam.iter().step_by(2).collect();
        let even: Vec<&Set> = beam.iter().skip(1).step_by(2).collect();
        print("BEAM odd files (dev)", &odd, None);
        print("BEAM even files (held out)", &even, None);
        print("BEAM all", &beam.iter().collect::<Vec<_>>(), Some(45.0));
        let bfcl = questions::bfcl(&data);
        print("BFCL memory", &bfcl.iter().collect::<Vec<_>>(), None);
    }
    if let Some(path) = std::env::var_os("THREADKEEP_CHATS") {
        // By their names, one sum each: a set may be too large to be held as a whole.
        let mut sums: Vec<(&str, Sums)> = Vec::new();
        others::read(path.as_ref(), &mut |name, set| {
            let at = sums.iter().position(|(known, _)| *known == name).unwrap_or(sums.len());
            if at == sums.len() {
                sums.push((name, Sums::default()));
            }
            sums[at].1.add(&[&set]);
        });
        for (name, sums) in &sums {
            sums.print(name, None);
        }
    }
    volume::measure(small);
}

fn print(name: &str, sets: &[&Set], target: Option<f64>) {
    let mut sums = Sums::default();
    sums.add(sets);
    sums.print(name, target);
}

/// What was found of the evidence among the first 5, 10 and 20: by ours, by ours where no message counts for what it answers or for
/// its answer, and by the plain one.
#[derive(Default)]
struct Sums {
    questions: usize,
    ours: [f64; 3],
    alone: [f64; 3],
    plain: [f64; 3],
}

impl Sums {
    fn add(&mut self, sets: &[&Set]) {
        let questions: usize = sets.iter().map(|set| set.questions.len()).sum();
        if questions == 0 {
            return;
        }
        let ours = recall(sets, &Tuning::default());
        let alone = recall(sets, &Tuning { context: 0.0, answer: 0.0, ..Tuning::default() });
        let plain = recall_of(sets, &|set| {
            let index = plain::Plain::of(set);
            Box::new(move |question: &str| index.find(question, 20))
        });
        for at in 0..3 {
            self.ours[at] += ours[at] * questions as f64;
            self.alone[at] += alone[at] * questions as f64;
            self.plain[at] += plain[at] * questions as f64;
        }
        self.questions += questions;
    }

    fn print(&self, name: &str, target: Option<f64>) {
        let mean = |sums: [f64; 3]| sums.map(|sum| sum / self.questions.max(1) as f64);
        let (ours, alone, plain) = (mean(self.ours), mean(self.alone), mean(self.plain));
        for (at, k) in [5, 10, 20].into_iter().enumerate() {
            let (goal, verdict) = match target.filter(|_| k == 10) {
                Some(goal) => (format!("at least {goal} %"), if ours[at] >= goal { "ok" } else { "missed" }),
                None => (String::new(), ""),
            };
            println!(
                "BENCH\t{name}: recall@{k} of {} questions (plain BM25 {:.1} %, ours without context {:.1} %)\t{:.1} %\t{goal}\t{verdict}",
                self.questions, plain[at], alone[at], ours[at]
            );
        }
    }
}

type Searcher<'a> = Box<dyn Fn(&str) -> Vec<usize> + 'a>;

/// The mean share of the evidence among the first 5, 10 and 20, in percent.
fn recall_of<'a>(sets: &[&'a Set], searcher: &dyn Fn(&'a Set) -> Searcher<'a>) -> [f64; 3] {
    let (mut sums, mut count) = ([0.0; 3], 0.0);
    for set in sets {
        let search = searcher(set);
        for question in &set.questions {
            let found = search(&question.text);
            for (sum, k) in sums.iter_mut().zip([5, 10, 20]) {
                let hit = question.evidence.iter().filter(|at| found[..found.len().min(k)].contains(at)).count();
                *sum += hit as f64 / question.evidence.len() as f64;
            }
            count += 1.0;
        }
    }
    sums.map(|sum| 100.0 * sum / count)
}

fn recall(sets: &[&Set], tuning: &Tuning) -> [f64; 3] {
    recall_of(sets, &|set| {
        let index: Index = set.index();
        let tuning = *tuning;
        Box::new(move |question: &str| {
            let found = index.find_with(&Query::parse(question), &Filter::default(), 20, &tuning);
            found.iter().map(|found| found.doc.seq as usize).collect()
        })
    })
}

/// The odd files under one changed figure after the other.
fn tune(beam: &[Set]) {
    let odd: Vec<&Set> = beam.iter().step_by(2).collect();
    let base = Tuning::default();
    let mut tries = vec![("as it is".to_owned(), base)];
    for k1 in [0.6, 0.9, 1.2, 1.6, 2.0] {
        tries.push((format!("k1 {k1}"), Tuning { k1, ..base }));
    }
    for b in [0.3, 0.5, 0.75, 0.9, 1.0] {
        tries.push((format!("b {b}"), Tuning { b, ..base }));
    }
    for context in [0.0, 0.2, 0.4, 0.6] {
        for short in [30, 60, 120] {
            tries.push((format!("context {context} up to {short}"), Tuning { context, short, ..base }));
        }
    }
    for answer in [0.0, 0.1, 0.2, 0.3, 0.5] {
        tries.push((format!("answer {answer}"), Tuning { answer, ..base }));
    }
    for user in [1.0, 1.2, 1.5, 2.0] {
        tries.push((format!("user {user}"), Tuning { user, ..base }));
    }
    for (name, tuning) in tries {
        let [five, ten, twenty] = recall(&odd, &tuning);
        println!("{name:<24} {five:5.1} {ten:5.1} {twenty:5.1}");
    }
}
