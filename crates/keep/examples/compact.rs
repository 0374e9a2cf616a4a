//! What a compaction with the built-in summariser keeps: `cargo xtask bench compact` has an engine compact long transcripts to a
//! fifth of their tokens and prints tokens before and after and the time it took; on the BEAM chats also how much of what
//! later questions need can still be read in the prompt that the engine then builds, beside two rules at the same number of
//! tokens: the newest messages that fit (a sliding window), and the newest user messages that fit (as some agents compact).
//! Without the folder of data only a made-up history is measured. `THREADKEEP_BENCH_SMALL` measures that history and one chat.
//!
//! **Reachable.** A question of BEAM names the messages that hold its answer. Such a message is reachable when it is in the
//! prompt as it stands; or when what is quoted of it (the statements that name it as a source, together) holds every word of
//! it, or what the answer takes from it. That is the sentence of the answer (reference texts and rubric) that has most words in
//! common with the message: every number that both have must be quoted, and at least three fifths of the words that both have,
//! words of the question not counted (unless there are no others). Stop words are left out, a plural is its singular. A
//! message of which the answer takes no word is reachable only in full.
//!
//! Then the same once more with the ten messages that the engine's search finds for the question put beside each of the three
//! prompts.
//!
//! Files with an even number were looked at while this was made, those with an odd number were not.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a measurement that cannot go on should stop

#[path = "../../archive/tests/support/readers.rs"]
mod readers;

#[path = "../../archive/tests/support/beam.rs"]
mod beam;

#[path = "support/host.rs"]
mod host;

#[path = "support/reach.rs"]
mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use beam::Chat;
use host::Still;
use pollster::block_on;
use reach::{Prompt, reachable};
use threadkeep::compact::{CompactOptions, Compacted, Extractive};
use threadkeep::protocol::{ContextOptions, Found, SearchOptions};
use threadkeep::{Keep, Options};
use threadkeep_context::Action;
use threadkeep_context::tokens::{Counter, cost};
use threadkeep_core::{Message, MessageId, Role};
use threadkeep_provider::Provider;
use threadkeep_store::MemoryStore;
use threadkeep_tokens::{Bpe, Encoding};

/// How many messages a search for the question adds to each prompt.
const RETRIEVED: usize = 10;

/// The head under which a history is kept.
const HEAD: &str = "chat";

/// A history in an engine, compacted.
struct Ours {
    keep: Keep<MemoryStore>,
    /// The place of each node's message.
    places: BTreeMap<MessageId, usize>,
    prompt: Prompt,
    done: Compacted,
    milliseconds: f64,
}

fn costs(history: &[Message], counter: &dyn Counter) -> Vec<u64> {
    history.iter().map(|message| u64::from(cost(message, Provider::OpenAiChat, counter).total())).collect()
}

/// A history compacted by the engine, and what the prompt has that it builds then.
fn ours(history: &[Message], target: u64, counter: &Rc<Bpe>) -> Ours {
    block_on(async {
        let keep = Keep::open(MemoryStore::default(), Still::default(), Options::default()).await.unwrap();
        keep.add_vocabulary(Rc::clone(counter));
        let nodes = keep.append(HEAD, history.to_vec()).await.unwrap();
        let places: BTreeMap<MessageId, usize> = nodes.into_iter().map(|node| node.id).zip(0..).collect();
        let start = Instant::now();
        let options = CompactOptions { target_tokens: Some(target), ..CompactOptions::default() };
        let done = keep.compact(HEAD, &options, &Extractive).await.unwrap();
        let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
        let reply = keep.context(HEAD, &ContextOptions::default()).await.unwrap();
        let kept = reply.ledger.iter().filter(|line| line.tokens_after > 0 && line.action != Action::Injected);
        let whole = kept.filter_map(|line| places.get(line.node.as_ref()?).copied()).collect();
        let mut quoted: BTreeMap<usize, String> = BTreeMap::new();
        for statement in done.checkpoint.iter().flat_map(|checkpoint| &checkpoint.statements) {
            for source in &statement.sources {
                let text = quoted.entry(places[&source.node]).or_default();
                text.push_str(&statement.text);
                text.push('\n');
            }
        }
        let prompt = Prompt { whole, quoted, tokens: reply.figures.tokens };
        Ours { keep, places, prompt, done, milliseconds }
    })
}

/// The newest messages that fit, all or only a user's. Of the first that does not fit, its end (or for a user's message its
/// beginning) fills the room, as such rules do.
fn newest(history: &[Message], costs: &[u64], target: u64, users: bool, counter: &dyn Counter) -> Prompt {
    let mut prompt = Prompt { whole: BTreeSet::new(), quoted: BTreeMap::new(), tokens: 0 };
    for at in (0..history.len()).rev().filter(|at| !users || history[*at].role == Role::User) {
        let room = target - prompt.tokens;
        if costs[at] > room {
            let text = history[at].text();
            let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
            let part =
                |count: usize| if users { words[..count].concat() } else { words[words.len() - count..].concat() };
            let most = (0..=words.len()).collect::<Vec<_>>();
            let most = most.partition_point(|count| u64::from(counter.count(&part(*count))) + 4 <= room);
            if most > 1 {
                prompt.quoted.insert(at, part(most - 1));
                prompt.tokens += u64::from(counter.count(&part(most - 1))) + 4;
            }
            break;
        }
        prompt.tokens += costs[at];
        prompt.whole.insert(at);
    }
    prompt
}

#[derive(Default, Clone, Copy)]
struct Tally {
    evidence: usize,
    reached: [usize; 3],
    /// The same with what a search for the question finds beside the prompt.
    found: [usize; 3],
    questions: usize,
    answered: [usize; 3],
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.evidence += other.evidence;
        self.questions += other.questions;
        for at in 0..3 {
            self.reached[at] += other.reached[at];
            self.found[at] += other.found[at];
            self.answered[at] += other.answered[at];
        }
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn measure(chat: &Chat, share: u64, counter: &Rc<Bpe>) -> Tally {
    let costs = costs(&chat.messages, counter.as_ref());
    let before: u64 = costs.iter().sum();
    let target = before * share / 100;
    let Ours { keep, places, prompt, done, milliseconds } = ours(&chat.messages, target, counter);
    let prompts = [
        prompt,
        newest(&chat.messages, &costs, target, false, counter.as_ref()),
        newest(&chat.messages, &costs, target, true, counter.as_ref()),
    ];
    assert!(prompts.iter().all(|prompt| prompt.tokens <= target), "a prompt is larger than its target");
    let search = SearchOptions { limit: RETRIEVED, kinds: vec![Found::Message], ..SearchOptions::default() };
    let mut tally = Tally::default();
    for question in chat.questions.iter().filter(|question| !question.evidence.is_empty()) {
        let found = block_on(keep.search(&question.text, &search)).unwrap();
        let found: BTreeSet<usize> = found.hits.iter().filter_map(|hit| Some(places[hit.node.as_ref()?])).collect();
        let mut all = [true; 3];
        for at in &question.evidence {
            tally.evidence += 1;
            for (rule, prompt) in prompts.iter().enumerate() {
                let reached = reachable(prompt, &chat.messages, *at, question);
                tally.reached[rule] += usize::from(reached);
                tally.found[rule] += usize::from(reached || found.contains(at));
                all[rule] &= reached;
            }
        }
        tally.questions += 1;
        for (answered, all) in tally.answered.iter_mut().zip(all) {
            *answered += usize::from(all);
        }
    }
    println!(
        "beam {}: {before} tokens to {:?} ({} statements) in {:.1} ms; evidence {:?} of {}",
        chat.name,
        prompts.each_ref().map(|prompt| prompt.tokens),
        done.checkpoint.map_or(0, |checkpoint| checkpoint.statements.len()),
        milliseconds,
        tally.reached,
        tally.evidence
    );
    tally
}

fn row(measure: &str, value: &str, target: &str, holds: Option<bool>) {
    let verdict = holds.map_or("", |holds| if holds { "pass" } else { "missed" });
    println!("BENCH\t{measure}\t{value}\t{target}\t{verdict}");
}

fn report(what: &str, tally: &Tally) {
    let figures = |counts: [usize; 3], all: usize| {
        let [ours, window, users] = counts.map(|count| percent(count, all));
        format!("{ours:.1} % of {all}, window {window:.1} %, user messages {users:.1} %")
    };
    let holds = |counts: [usize; 3]| Some(counts[0] > counts[1].max(counts[2]));
    let (goal, evidence) = ("ahead of both", tally.evidence);
    row(&format!("{what}: evidence reachable"), &figures(tally.reached, evidence), goal, holds(tally.reached));
    row(&format!("{what}: with a search for {RETRIEVED}"), &figures(tally.found, evidence), goal, holds(tally.found));
    row(&format!("{what}: questions with all of it"), &figures(tally.answered, tally.questions), "", None);
}

/// Shows a summary, for whoever wants to read one: `cargo run --example compact -- beam 2` or `-- d5`.
fn show(history: &[Message], counter: &Rc<Bpe>) {
    let before: u64 = costs(history, counter.as_ref()).iter().sum();
    let Ours { places, done, .. } = ours(history, before / 5, counter);
    for statement in done.checkpoint.iter().flat_map(|checkpoint| &checkpoint.statements) {
        let from = statement.sources.first().map_or(0, |source| places[&source.node]);
        println!("{from:>4} {:9} {}", history[from].role.as_str(), statement.text.replace('\n', " ⏎ "));
    }
    for episode in &done.episodes {
        println!("\nepisode: {}\ntags: {:?}", episode.summary, episode.tags);
    }
    for fact in &done.facts {
        println!("{:?} {} {:?}", fact.kind, fact.fact, fact.tags);
    }
}

/// A compaction of a history that needs no folder of data.
fn made_up(counter: &Rc<Bpe>) {
    let said = |at: usize| {
        let text = format!("We decided that service {at} listens on port {}. It was tried on day {at}.", 8000 + at);
        if at.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) }
    };
    let history: Vec<Message> = (0..200).map(said).collect();
    let before: u64 = costs(&history, counter.as_ref()).iter().sum();
    let Ours { prompt, milliseconds, .. } = ours(&history, before / 5, counter);
    let value = format!("{before} tokens to {} in {milliseconds:.0} ms", prompt.tokens);
    row("200 made-up messages", &value, "to 20 %", Some(prompt.tokens * 5 <= before));
}

fn main() {
    let counter = Rc::new(Bpe::embedded(Encoding::O200k));
    let mut chats = beam::chats();
    if let Some(name) = std::env::args().nth(1) {
        match chats.iter().find(|chat| name == chat.name) {
            Some(chat) => show(&chat.messages, &counter),
            None => {
                readers::all().iter().filter(|(found, _)| found.contains(&name)).take(1).for_each(|(name, history)| {
                    println!("{name}");
                    show(history, &counter);
                })
            }
        }
        return;
    }
    let small = std::env::var_os("THREADKEEP_BENCH_SMALL").is_some();
    if small || chats.is_empty() {
        made_up(&counter);
    }
    if small {
        chats.truncate(1);
    }
    if chats.is_empty() {
        row("BEAM chats", "none at hand: set THREADKEEP_DATA", "", None);
        return;
    }
    for share in [20, 10] {
        let (mut even, mut odd) = (Tally::default(), Tally::default());
        for chat in &chats {
            let tally = measure(chat, share, &counter);
            let seen = chat.name.parse::<u32>().is_ok_and(|number| number % 2 == 0);
            if seen { even.add(&tally) } else { odd.add(&tally) }
        }
        if small {
            even.add(&odd);
            report(&format!("BEAM at {share} %, one file"), &even);
            continue;
        }
        report(&format!("BEAM at {share} %, files looked at"), &even);
        report(&format!("BEAM at {share} %, others"), &odd);
    }
    for (name, history) in if small { Vec::new() } else { readers::all() } {
        let before: u64 = costs(&history, counter.as_ref()).iter().sum();
        let long = name.starts_with("d5-") || name.starts_with("large-session");
        if !long || before < 20_000 {
            continue;
        }
        let Ours { prompt, done, milliseconds, .. } = ours(&history, before / 5, &counter);
        let bytes: usize = history.iter().map(|message| message.text().len()).sum();
        let value = format!(
            "{before} tokens to {}, {} messages to {} statements, {:.1} MB in {milliseconds:.0} ms",
            prompt.tokens,
            history.len(),
            done.checkpoint.map_or(0, |checkpoint| checkpoint.statements.len()),
            bytes as f64 / 1e6,
        );
        row(name.split('.').next().unwrap_or(&name), &value, "to 20 %", Some(prompt.tokens * 5 <= before));
    }
}
