//! What the stable policy gains: replays long agent transcripts under one budget and prints how many leading tokens stay
//! the same between consecutive requests and how many are kept, for a plain sliding window and for both policies; once with
//! a request for each turn of the user, once with one for each answer of the model. Only requests at which something has to
//! go are counted. `cargo run --release -p threadkeep-core --example stable`; the transcripts are those of the data folder.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a measurement that cannot go on should stop

#[path = "../tests/support/readers.rs"]
mod readers;

use threadkeep_core::context::{Budget, Item, Options, Plan, Policy, Prepared, items};
use threadkeep_core::tokens::{Cost, Estimate, cost};
use threadkeep_core::{Message, Role};

/// What came of a replay.
#[derive(Debug, Default, Clone, Copy)]
struct Replay {
    requests: u64,
    kept: u64,
    shared: u64,
    moves: u64,
}

impl Replay {
    /// The next request, as the costs and places of its messages.
    fn request(&mut self, full: bool, last: &mut Vec<(usize, u32)>, next: Vec<(usize, u32)>) {
        if !full {
            *last = next;
            return;
        }
        self.requests += 1;
        self.kept += next.iter().map(|(_, cost)| u64::from(*cost)).sum::<u64>();
        let same = last.iter().zip(&next).take_while(|(a, b)| a == b).map(|(_, (_, cost))| u64::from(*cost));
        self.shared += same.sum::<u64>();
        self.moves += u64::from(last.iter().zip(&next).any(|(a, b)| a != b));
        *last = next;
    }
}

/// The newest messages that fit, as seed designs and libraries trim: no groups, nothing that stays.
fn sliding(costs: &[u32], limit: u64) -> Vec<(usize, u32)> {
    let mut sum = 0;
    let fits = |(_, cost): &(usize, &u32)| {
        sum += u64::from(**cost);
        sum <= limit
    };
    let mut kept: Vec<(usize, u32)> =
        costs.iter().enumerate().rev().take_while(fits).map(|(at, cost)| (at, *cost)).collect();
    kept.reverse();
    kept
}

fn ends(history: &[Message], by_turn: bool) -> Vec<usize> {
    let request = |end: &usize| {
        let next = history.get(*end).map(|message| &message.role);
        let last = &history[end - 1].role;
        if by_turn {
            *last == Role::User
        } else {
            *last != Role::Assistant && next.is_none_or(|r| *r == Role::Assistant)
        }
    };
    (1..=history.len()).filter(request).collect()
}

fn main() {
    let transcripts = readers::all();
    for (title, by_turn) in [("a request a turn", true), ("a request an answer", false)] {
        println!("# {title}");
        measure(&transcripts, by_turn);
    }
}

fn measure(transcripts: &[(String, Vec<Message>)], by_turn: bool) {
    let options = Options { preview: None, ..Options::default() };
    let mut sums = [Replay::default(); 3];
    for (name, history) in transcripts {
        let mut given = items(history);
        for item in &mut given {
            item.cost = Some(cost(item.message, options.provider, &Estimate));
        }
        let costs: Vec<u32> = given.iter().map(|item| item.cost.map_or(0, Cost::total)).collect();
        let whole: u64 = costs.iter().map(|cost| u64::from(*cost)).sum();
        let ends = ends(history, by_turn);
        if whole < 16_000 || ends.len() < 10 {
            continue;
        }
        for budget in [4_000, 8_000, 16_000, 32_000, 64_000].into_iter().filter(|budget| budget * 2 < whole) {
            let mut found = [Replay::default(); 3];
            let mut last = [Vec::new(), Vec::new(), Vec::new()];
            let mut prepared = Prepared::new(&[], options.preparing(), &Estimate);
            for end in &ends {
                let full = costs[..*end].iter().map(|cost| u64::from(*cost)).sum::<u64>() > budget;
                let grown: &[Item] = &given[..*end];
                prepared.extend(grown, &Estimate);
                found[0].request(full, &mut last[0], sliding(&costs[..*end], budget));
                for (at, policy) in [(1, Policy::Newest), (2, Policy::Stable)] {
                    let fit = prepared.fit(&Plan { budget: Budget::tokens(budget), policy, ..Plan::default() });
                    let kept = prepared.marks(&fit).filter(|mark| mark.kept);
                    found[at].request(full, &mut last[at], kept.map(|mark| (mark.index, mark.tokens_after)).collect());
                }
            }
            let n = found[0].requests;
            let each = |read: fn(&Replay) -> u64| found.map(|replay| read(&replay) / n);
            println!(
                "{name:.34}: {whole} tokens, {n} requests at {budget}: shared {:?}, kept {:?}, cut moved {:?}",
                each(|r| r.shared),
                each(|r| r.kept),
                found.map(|r| r.moves)
            );
            for (sum, one) in sums.iter_mut().zip(found) {
                sum.requests += one.requests;
                sum.kept += one.kept;
                sum.shared += one.shared;
                sum.moves += one.moves;
            }
        }
    }
    if sums[0].requests == 0 {
        return;
    }
    for (at, name) in [(0, "sliding window"), (1, "newest")] {
        println!(
            "stable against {name}: shared x{:.2}, kept {:.1}%",
            sums[2].shared as f64 / sums[at].shared as f64,
            sums[2].kept as f64 * 100.0 / sums[at].kept as f64
        );
    }
}
