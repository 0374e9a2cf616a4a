//! What the built-in summariser keeps: `cargo xtask bench compact` compacts long transcripts to a fifth of their tokens and
//! prints tokens before and after and the time it took; on the BEAM chats also how much of what later questions need is
//! still reachable, beside two rules at the same number of tokens: the newest messages that fit (a sliding window), and the
//! newest user messages that fit (as some agents compact). The folder of data is needed; without it nothing is measured.
//!
//! **Reachable.** A question of BEAM names the messages that hold its answer. Such a message is reachable when it is in the
//! prompt as it stands; or when what is quoted of it (the statements that name it as a source, together) holds every word of
//! it, or what the answer takes from it. That is the sentence of the answer (reference texts and rubric) that has most words in
//! common with the message: every number that both have must be quoted, and at least three fifths of the words that both have,
//! words of the question not counted (unless there are no others). Stop words are left out, a plural is its singular. A
//! message of which the answer takes no word is reachable only in full.
//!
//! Then the same once more with the ten messages that `recall` finds for the question put beside each of the three prompts.
//!
//! Files with an even number were looked at while this was made, those with an odd number were not.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a measurement that cannot go on should stop

#[path = "../tests/support/readers.rs"]
mod readers;

#[path = "../tests/support/beam.rs"]
mod beam;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use beam::{Chat, Question};
use threadkeep_core::compaction::extract::extract;
use threadkeep_core::compaction::summary::{Material, Piece, Summary};
use threadkeep_core::recall::{Builder, Filter, Index, NewDoc, Query, USER};
use threadkeep_core::tokens::{Bpe, Counter, Encoding, cost};
use threadkeep_core::{Message, MessageId, Provider, Role};

/// How many of the newest turns stay as they are, if they take no more than half of the room.
const TAIL: usize = 4;

/// How many messages a search for the question adds to each prompt.
const RETRIEVED: usize = 10;

/// A prompt: messages that are in it as they stand, and what is quoted of others.
struct Prompt {
    whole: BTreeSet<usize>,
    quoted: BTreeMap<usize, String>,
    tokens: u64,
}

struct Compacted {
    prompt: Prompt,
    summary: Summary,
    milliseconds: f64,
}

fn costs(history: &[Message], counter: &dyn Counter) -> Vec<u64> {
    history.iter().map(|message| u64::from(cost(message, Provider::OpenAiChat, counter).total())).collect()
}

/// Where the newest turns begin that stay raw.
fn tail(history: &[Message], costs: &[u64], room: u64) -> usize {
    let turns: Vec<usize> = (0..history.len()).filter(|at| history[*at].role == Role::User).collect();
    let fits = |from: &usize| costs[*from..].iter().sum::<u64>() <= room;
    turns.into_iter().rev().take(TAIL).take_while(fits).last().unwrap_or(history.len())
}

/// A history compacted by the built-in summariser: summary and tail.
fn ours(history: &[Message], costs: &[u64], target: u64, counter: &dyn Counter) -> Compacted {
    let from = tail(history, costs, target / 2);
    let ids: Vec<MessageId> = (0..from).map(|at| MessageId::new(at.to_string()).unwrap()).collect();
    let mut turn = 0;
    let pieces = ids.iter().zip(history).map(|(node, message)| {
        turn += u32::from(message.role == Role::User);
        Piece { node, index: 0, turn, message }
    });
    let kept: u64 = costs[from..].iter().sum();
    let material = Material { carried: &[], pieces: pieces.collect(), budget: (target - kept) as u32 };
    let start = Instant::now();
    let summary = extract(&material, counter);
    let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
    let mut quoted: BTreeMap<usize, String> = BTreeMap::new();
    let mut tokens = kept;
    for statement in &summary.statements {
        tokens += u64::from(counter.count(&statement.text)) + 2;
        for source in &statement.sources {
            let text = quoted.entry(source.node.as_str().parse().unwrap()).or_default();
            text.push_str(&statement.text);
            text.push('\n');
        }
    }
    Compacted { prompt: Prompt { whole: (from..history.len()).collect(), quoted, tokens }, summary, milliseconds }
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

fn words(text: &str) -> BTreeSet<String> {
    const STOP: &str = " the and for are was were with that this have has had you your not but from they them their its into \
        can could will would should about which what when how who did does been being than then there here also more such each \
        any all our out one two use used using may must via per both between across llm response state mention contain answer ";
    let parts = text.to_lowercase();
    let parts = parts.split(|letter: char| !letter.is_alphanumeric() && letter != '.' && letter != ',');
    let parts = parts.map(|word| word.trim_matches(['.', ','])).filter(|word| !word.is_empty());
    let keeps = |word: &&str| {
        word.starts_with(|first: char| first.is_numeric())
            || (word.chars().count() > 2 && !STOP.contains(&format!(" {word} ")))
    };
    let single = |word: &str| match word.strip_suffix('s') {
        Some(single) if single.len() > 3 && !single.ends_with('s') => single.to_owned(),
        _ => word.to_owned(),
    };
    parts.filter(keeps).map(single).collect()
}

fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_numeric())
}

/// Whether what a question needs of a message can be reached.
fn reachable(prompt: &Prompt, history: &[Message], at: usize, question: &Question) -> bool {
    if prompt.whole.contains(&at) {
        return true;
    }
    let Some(quoted) = prompt.quoted.get(&at) else { return false };
    let asked = words(&question.text);
    let said = words(&history[at].text());
    let sentences = question.answer.split(['\n', ';', ')']).flat_map(|part| part.split(". "));
    let mut needed = BTreeSet::new();
    for sentence in sentences {
        let shared: BTreeSet<String> = words(sentence).intersection(&said).cloned().collect();
        let new: BTreeSet<String> = shared.difference(&asked).cloned().collect();
        let shared = if new.is_empty() { shared } else { new };
        let size = |words: &BTreeSet<String>| (!words.is_subset(&asked), words.len());
        if size(&shared) > size(&needed) {
            needed = shared;
        }
    }
    let quoted = words(quoted);
    if said.is_subset(&quoted) {
        return true;
    }
    let has = needed.iter().filter(|word| quoted.contains(*word)).count();
    let numbers = needed.iter().filter(|word| is_number(word)).all(|word| quoted.contains(word));
    !needed.is_empty() && numbers && has * 5 >= needed.len() * 3
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

/// The search over a history, the same for all three rules: over all messages, as they stand.
fn index(history: &[Message]) -> Index {
    let mut builder = Builder::default();
    for (seq, message) in (0u64..).zip(history) {
        let role = if message.role == Role::User { USER } else { USER + 1 };
        let (before, text) = (seq.checked_sub(1).map(|seq| (seq, 0)), message.text());
        builder.add(&NewDoc { owner: "t", seq, index: 0, role, kind: 0, time: 0, before, text: &text, names: &[] });
    }
    Index::of(vec![builder.finish()])
}

fn measure(chat: &Chat, share: u64, counter: &dyn Counter) -> Tally {
    let costs = costs(&chat.messages, counter);
    let before: u64 = costs.iter().sum();
    let target = before * share / 100;
    let made = ours(&chat.messages, &costs, target, counter);
    let prompts = [
        made.prompt,
        newest(&chat.messages, &costs, target, false, counter),
        newest(&chat.messages, &costs, target, true, counter),
    ];
    assert!(prompts.iter().all(|prompt| prompt.tokens <= target), "a prompt is larger than its target");
    let index = index(&chat.messages);
    let mut tally = Tally::default();
    for question in chat.questions.iter().filter(|question| !question.evidence.is_empty()) {
        let found = index.find(&Query::parse(&question.text), &Filter::default(), RETRIEVED);
        let found: BTreeSet<usize> = found.iter().map(|found| found.doc.seq as usize).collect();
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
        made.summary.statements.len(),
        made.milliseconds,
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
fn show(history: &[Message], counter: &dyn Counter) {
    let costs = costs(history, counter);
    let made = ours(history, &costs, costs.iter().sum::<u64>() / 5, counter);
    for statement in &made.summary.statements {
        let from = statement.sources.first().map_or(0, |source| source.node.as_str().parse::<usize>().unwrap());
        println!("{from:>4} {:9} {}", history[from].role.as_str(), statement.text.replace('\n', " ⏎ "));
    }
    println!("\nepisode: {}\ntags: {:?}", made.summary.episode, made.summary.tags);
    for fact in &made.summary.facts {
        println!("{:?} {} {:?}", fact.kind, fact.fact, fact.tags);
    }
}

fn main() {
    let counter = Bpe::embedded(Encoding::O200k);
    let chats = beam::chats();
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
    if chats.is_empty() {
        println!("no folder of data: nothing is measured");
        return;
    }
    for share in [20, 10] {
        let (mut even, mut odd) = (Tally::default(), Tally::default());
        for chat in &chats {
            let tally = measure(chat, share, &counter);
            let seen = chat.name.parse::<u32>().is_ok_and(|number| number % 2 == 0);
            if seen { even.add(&tally) } else { odd.add(&tally) }
        }
        report(&format!("BEAM at {share} %, files looked at"), &even);
        report(&format!("BEAM at {share} %, others"), &odd);
    }
    for (name, history) in readers::all() {
        let costs = costs(&history, &counter);
        let before: u64 = costs.iter().sum();
        let long = name.starts_with("d5-") || name.starts_with("large-session");
        if !long || before < 20_000 {
            continue;
        }
        let made = ours(&history, &costs, before / 5, &counter);
        let bytes: usize = history.iter().map(|message| message.text().len()).sum();
        let value = format!(
            "{before} tokens to {}, {} messages to {} statements, {:.1} MB in {:.0} ms",
            made.prompt.tokens,
            history.len(),
            made.summary.statements.len(),
            bytes as f64 / 1e6,
            made.milliseconds
        );
        row(name.split('.').next().unwrap_or(&name), &value, "to 20 %", Some(made.prompt.tokens * 5 <= before));
    }
}
