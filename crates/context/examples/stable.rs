//! What the stable policy gains: `cargo xtask bench stable` replays long transcripts under one budget and prints how many
//! leading tokens stay the same between consecutive requests and how many are kept, against a plain sliding window. Once with
//! a request for each turn (a user's message and all that follows), once with one for each answer of the model. Only requests
//! at which something has to go are counted. The transcripts are those of the data folder; without it nothing is measured.
//!
//! A request can have no more unchanged tokens than the budget. Where a window moves rarely by itself, as between an agent's
//! calls, that leaves less than a factor of two to gain for any policy; the bound is printed beside the factor.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a measurement that cannot go on should stop

#[path = "../../archive/tests/support/readers.rs"]
mod readers;

use threadkeep_context::tokens::{Cost, Estimate, cost};
use threadkeep_context::{Budget, Item, Options, Plan, Policy, Prepared, Previews, items};
use threadkeep_core::{Message, Role};

const BUDGETS: [u64; 5] = [4_000, 8_000, 16_000, 32_000, 64_000];

/// What came of a replay: sums over its requests.
#[derive(Debug, Default, Clone, Copy)]
struct Replay {
    requests: u64,
    /// The budgets.
    room: u64,
    kept: u64,
    shared: u64,
    moves: u64,
}

impl Replay {
    /// The next request, as the places and costs of its messages.
    fn request(&mut self, room: Option<u64>, last: &mut Vec<(usize, u32)>, next: Vec<(usize, u32)>) {
        if let Some(room) = room {
            self.requests += 1;
            self.room += room;
            self.kept += next.iter().map(|(_, cost)| u64::from(*cost)).sum::<u64>();
            let same = last.iter().zip(&next).take_while(|(a, b)| a == b).map(|(_, (_, cost))| u64::from(*cost));
            self.shared += same.sum::<u64>();
            self.moves += u64::from(last.iter().zip(&next).any(|(a, b)| a != b));
        }
        *last = next;
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.room += other.room;
        self.kept += other.kept;
        self.shared += other.shared;
        self.moves += other.moves;
    }
}

/// The newest messages that fit, as libraries trim: no groups, nothing that stays.
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

/// Behind which messages there is a request.
fn ends(history: &[Message], by_turn: bool) -> Vec<usize> {
    let request = |end: &usize| {
        let next = history.get(*end).map(|message| &message.role);
        let last = &history[end - 1].role;
        if by_turn {
            *last == Role::User
        } else {
            *last != Role::Assistant && next.is_none_or(|role| *role == Role::Assistant)
        }
    };
    (1..=history.len()).filter(request).collect()
}

/// Replays a transcript under one budget: a sliding window, the policy `newest`, the policy `stable`.
fn replay(given: &[Item], costs: &[u32], ends: &[usize], budget: u64) -> [Replay; 3] {
    let options = Options { previews: Previews::Never, ..Options::default() };
    let mut found = [Replay::default(); 3];
    let mut last = [Vec::new(), Vec::new(), Vec::new()];
    let mut prepared = Prepared::new(&[], options.preparing(), &Estimate);
    for end in ends {
        let full = costs[..*end].iter().map(|cost| u64::from(*cost)).sum::<u64>() > budget;
        prepared.extend(&given[..*end], &Estimate);
        found[0].request(full.then_some(budget), &mut last[0], sliding(&costs[..*end], budget));
        for (at, policy) in [(1, Policy::Newest), (2, Policy::Stable)] {
            let fit = prepared.fit(&Plan { budget: Budget::tokens(budget), policy, ..Plan::default() });
            assert!(!full || fit.over_budget || fit.figures.tokens <= budget);
            let kept = prepared.marks(&fit).filter(|mark| mark.kept);
            found[at].request(
                full.then_some(budget),
                &mut last[at],
                kept.map(|mark| (mark.index, mark.tokens_after)).collect(),
            );
        }
    }
    found
}

fn measure(transcripts: &[&(String, Vec<Message>)], by_turn: bool) -> [Replay; 3] {
    let mut sums = [Replay::default(); 3];
    for (name, history) in transcripts {
        let mut given = items(history);
        for item in &mut given {
            item.cost = Some(cost(item.message, Options::default().provider, &Estimate));
        }
        let costs: Vec<u32> = given.iter().map(|item| item.cost.map_or(0, Cost::total)).collect();
        let whole: u64 = costs.iter().map(|cost| u64::from(*cost)).sum();
        let ends = ends(history, by_turn);
        if whole < 16_000 || ends.len() < 10 {
            continue;
        }
        for budget in BUDGETS.into_iter().filter(|budget| budget * 2 < whole) {
            let found = replay(&given, &costs, &ends, budget);
            let n = found[0].requests.max(1);
            let each = |read: fn(&Replay) -> u64| found.map(|replay| read(&replay) / n);
            println!(
                "{name:.34}: {whole} tokens, {n} requests at {budget}: unchanged {:?}, kept {:?}, cut moved {:?} times",
                each(|replay| replay.shared),
                each(|replay| replay.kept),
                found.map(|replay| replay.moves)
            );
            sums.iter_mut().zip(&found).for_each(|(sum, one)| sum.add(one));
        }
    }
    sums
}

fn row(measure: &str, value: &str, target: &str, holds: Option<bool>) {
    let verdict = holds.map_or("", |holds| if holds { "pass" } else { "missed" });
    println!("BENCH\t{measure}\t{value}\t{target}\t{verdict}");
}

fn report(what: &str, [window, newest, stable]: &[Replay; 3], target: bool) {
    if window.requests == 0 {
        return;
    }
    let ratio = |a: u64, b: u64| a as f64 / b.max(1) as f64;
    let (gain, kept) = (ratio(stable.shared, window.shared), ratio(stable.kept, window.kept));
    let most = ratio(window.room, window.shared);
    let anew = |replay: &Replay| (replay.kept - replay.shared) / replay.requests;
    let (at_least, no_less) = if target { ("≥ 2 ×", "≥ 80 %") } else { ("", "") };
    println!("{what}: the three in order: {:?}", [window, newest, stable]);
    let value = format!("{gain:.2} × a sliding window's (bound {most:.2})");
    row(&format!("{what}: leading tokens unchanged"), &value, at_least, target.then_some(gain >= 2.0));
    row(&format!("{what}: tokens kept"), &format!("{:.1} %", kept * 100.0), no_less, target.then_some(kept >= 0.8));
    let value = format!("{}, a sliding window {}", anew(stable), anew(window));
    row(&format!("{what}: tokens read anew a request"), &value, "", None);
}

/// A history that needs no folder of data, for a small run.
fn made_up() -> Vec<Message> {
    let said = |at: usize| {
        let text = format!("Message {at}: {}", "some words that a person would write. ".repeat(20));
        if at.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) }
    };
    (0..200).map(said).collect()
}

fn main() {
    let mut transcripts = readers::all();
    if std::env::var_os("THREADKEEP_BENCH_SMALL").is_some() {
        transcripts = vec![("beam made up".to_owned(), made_up()), ("an agent, made up".to_owned(), made_up())];
    }
    // Chats are no agents: they are beside them to show that the policy was not made for one kind.
    let (chats, agents): (Vec<_>, Vec<_>) = transcripts.iter().partition(|(name, _)| name.starts_with("beam "));
    let mut found = Vec::new();
    for (kind, transcripts, by_turn, target) in [
        ("agents, a request a turn", &agents, true, true),
        ("agents, a request an answer", &agents, false, false),
        ("long chats, a request a turn", &chats, true, true),
    ] {
        println!("# {kind}: sliding window, newest, stable");
        found.push((kind, measure(transcripts, by_turn), target));
    }
    if found.iter().all(|(_, [window, ..], _)| window.requests == 0) {
        row("long transcripts", "none at hand: set THREADKEEP_DATA", "", None);
    }
    found.iter().for_each(|(kind, sums, target)| report(kind, sums, *target));
}
