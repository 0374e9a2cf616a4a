//! `cargo xtask bench evidence`: how much of the evidence for a question is in a prompt of 2,000 and of 8,000 tokens, for BEAM's chats and
//! LoCoMo's (`--chats PATH`). Four prompts are compared: the newest messages that fit; a summary of all; our checkpoint, which is a summary
//! and the newest turns. The fourth is that checkpoint with passages, which push out old turns.
//!
//! What counts as reachable is as in the bench `compact`. Weights were chosen on BEAM's files with odd numbers.
//! `THREADKEEP_BENCH_SMALL` measures one chat.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a measurement that cannot go on should stop

#[path = "../../../archive/tests/support/readers.rs"]
#[allow(dead_code, reason = "only what reads BEAM's chats is needed")]
mod readers;

#[path = "../../../archive/tests/support/beam.rs"]
mod beam;

#[path = "../support/host.rs"]
mod host;

#[path = "../support/reach.rs"]
#[allow(dead_code, reason = "the bench `compact` asks for the tokens, too")]
mod reach;

#[path = "../../../recall/examples/recall/bootstrap.rs"]
mod bootstrap;

#[path = "../../../recall/examples/recall/locomo.rs"]
#[allow(dead_code, reason = "when something was said is not needed")]
mod locomo;

use std::collections::BTreeMap;
use std::rc::Rc;

use beam::{Chat, Question};
use bootstrap::{interval, mean};
use host::Still;
use pollster::block_on;
use reach::{Prompt, reachable};
use threadkeep::compact::{CompactOptions, Compacted, Extractive};
use threadkeep::protocol::{ContextOptions, Wanted};
use threadkeep::{Keep, Options};
use threadkeep_compaction::memory::{BundleLimits, Share};
use threadkeep_context::{Action, Budget, rule};
use threadkeep_core::{Message, MessageId};
use threadkeep_store::MemoryStore;
use threadkeep_tokens::{Bpe, Encoding};

/// The head under which a history is kept.
const HEAD: &str = "chat";
/// The prompts that are compared.
const WAYS: [&str; 4] = ["the newest", "a summary", "our checkpoint", "with passages"];
/// The share of the budget that passages have, in thousandths.
const SHARE: u16 = 250;

/// A history in an engine, compacted or not.
struct Kept {
    keep: Keep<MemoryStore>,
    /// The place of each node's message.
    places: BTreeMap<MessageId, usize>,
    done: Compacted,
}

impl Kept {
    /// A history, compacted to so many tokens with so many raw turns, if that is wanted.
    fn new(history: &[Message], target: Option<(u64, Option<u32>)>, counter: &Rc<Bpe>) -> Self {
        block_on(async {
            let keep = Keep::open(MemoryStore::default(), Still::default(), Options::default()).await.unwrap();
            keep.add_vocabulary(Rc::clone(counter));
            let nodes = keep.append(HEAD, history.to_vec()).await.unwrap();
            let places: BTreeMap<MessageId, usize> = nodes.into_iter().map(|node| node.id).zip(0..).collect();
            let mut done = Compacted::default();
            if let Some((target, tail_turns)) = target {
                let options = CompactOptions { target_tokens: Some(target), tail_turns, ..CompactOptions::default() };
                done = keep.compact(HEAD, &options, &Extractive).await.unwrap();
            }
            Self { keep, places, done }
        })
    }

    /// What the prompt for a question has.
    fn prompt(&self, question: &str, budget: u64, share: u16) -> Prompt {
        let wanted = Wanted {
            limits: BundleLimits { episodes: 0, facts: 0 },
            query: Some(question.to_owned()),
            passages: Share::of(share),
            ..Wanted::default()
        };
        let mut options = ContextOptions { memory: Some(wanted), ..ContextOptions::default() };
        options.build.budget = Budget::tokens(budget);
        let reply = block_on(self.keep.context(HEAD, &options)).unwrap();
        assert!(reply.figures.tokens <= budget || reply.over_budget, "a prompt is over its budget");
        let mut prompt = Prompt { tokens: reply.figures.tokens, ..Prompt::default() };
        let mut summary = false;
        for line in reply.ledger.iter() {
            let place = line.node.as_ref().and_then(|node| self.places.get(node)).copied();
            match (line.action, place) {
                (Action::Summarised, _) if line.tokens_after > 0 => summary = true,
                (Action::Injected, _) => {}
                (_, Some(place)) if line.rule == rule::QUOTED => drop(prompt.quoted.insert(place, String::new())),
                (_, Some(place)) if line.tokens_after > 0 => drop(prompt.whole.insert(place)),
                _ => {}
            }
        }
        let message = reply.messages.iter().find(|message| message.text().starts_with("[Quoted from earlier"));
        let text = message.map(Message::text).unwrap_or_default();
        // What is quoted of each message stands in the order of the chat. Its first line is not indented.
        let mut quoted = prompt.quoted.values_mut();
        let mut now = None;
        for line in text.lines().filter_map(|line| line.strip_prefix("> ")) {
            if !line.starts_with("    ") {
                now = quoted.next();
            }
            if let Some(now) = &mut now {
                now.push_str(line.split_once(": ").filter(|_| now.is_empty()).map_or(line, |(_, said)| said));
                now.push('\n');
            }
        }
        assert!(quoted.next().is_none(), "each passage of the ledger is in the message");
        if summary {
            for statement in self.done.checkpoint.iter().flat_map(|checkpoint| &checkpoint.statements) {
                for source in &statement.sources {
                    let text = prompt.quoted.entry(self.places[&source.node]).or_default();
                    text.push('\n');
                    text.push_str(&statement.text);
                }
            }
        }
        prompt
    }
}

/// The share of a question's evidence that each prompt has, from 0 to 1.
fn shares(chat: &Chat, question: &Question, prompts: &[Prompt; 4]) -> [f64; 4] {
    prompts.each_ref().map(|prompt| {
        let has = |at: &&usize| reachable(prompt, &chat.messages, **at, question);
        question.evidence.iter().filter(has).count() as f64 / question.evidence.len() as f64
    })
}

fn measure(chat: &Chat, budget: u64, counter: &Rc<Bpe>) -> Vec<[f64; 4]> {
    let share = std::env::var("SHARE").map_or(SHARE, |it| it.parse().unwrap());
    let kept =
        [None, Some((budget, Some(0))), Some((budget, None))].map(|target| Kept::new(&chat.messages, target, counter));
    let asked = chat.questions.iter().filter(|question| !question.evidence.is_empty());
    let of = |question: &Question| {
        let prompt = |way: usize| kept[way.min(2)].prompt(&question.text, budget, if way == 3 { share } else { 0 });
        shares(chat, question, &[0, 1, 2, 3].map(prompt))
    };
    asked.map(of).collect()
}

fn report(name: &str, chats: &[&Chat], target: Option<f64>, counter: &Rc<Bpe>) {
    for budget in [2000, 8000] {
        let all: Vec<[f64; 4]> = chats.iter().flat_map(|chat| measure(chat, budget, counter)).collect();
        if all.is_empty() {
            println!("{name}: skipped, no data");
            return;
        }
        let column = |way: usize| all.iter().map(|shares| shares[way]).collect::<Vec<f64>>();
        println!("\n{name}, {budget} tokens: {} questions", all.len());
        for (way, label) in WAYS.iter().enumerate() {
            let (low, high) = interval(&column(way));
            println!("{label:<16} {:5.1} % ({low:.1} to {high:.1})", mean(&column(way)));
        }
        let gained: Vec<f64> = all.iter().map(|shares| shares[3] - shares[2]).collect();
        let ((low, high), gain) = (interval(&gained), mean(&gained));
        println!("{:<16} {gain:+5.1} ({low:+.1} to {high:+.1})", "passages add");
        let [newest, summary, checkpoint, passages] = [0, 1, 2, 3].map(|way| mean(&column(way)));
        let goal = target.filter(|_| budget == 8000);
        println!(
            "BENCH\t{name}: evidence in {budget} tokens (newest {newest:.1}, summary {summary:.1}, checkpoint {checkpoint:.1} %)\t{passages:.1} %\t{}\t{}",
            goal.map_or(String::new(), |goal| format!("{goal} points over the checkpoint")),
            goal.map_or("", |goal| if gain >= goal { "ok" } else { "missed" }),
        );
    }
}

fn main() {
    let counter = Rc::new(Bpe::embedded(Encoding::O200k));
    let mut beam = beam::chats();
    if std::env::var_os("THREADKEEP_BENCH_SMALL").is_some() {
        beam.truncate(1);
        if beam.is_empty() {
            beam.push(made_up());
        }
        return report("one chat", &beam.iter().collect::<Vec<_>>(), None, &counter);
    }
    let number = |chat: &&Chat| chat.name.parse::<u32>().unwrap_or_default();
    let odd: Vec<&Chat> = beam.iter().filter(|chat| number(chat) % 2 == 1).collect();
    report("BEAM, odd files (weights were chosen on these)", &odd, None, &counter);
    if std::env::args().any(|argument| argument == "tune") {
        return;
    }
    let even: Vec<&Chat> = beam.iter().filter(|chat| number(chat) % 2 == 0).collect();
    report("BEAM, even files", &even, None, &counter);
    report("BEAM", &beam.iter().collect::<Vec<_>>(), Some(15.0), &counter);
    match std::env::var_os("THREADKEEP_CHATS") {
        Some(path) => {
            let mut chats = Vec::new();
            locomo::values(path.as_ref(), &mut |file, value| {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                chats.extend(locomo::sample(&value).map(|sample| of_locomo(sample, &name)));
                true
            });
            report("LoCoMo", &chats.iter().collect::<Vec<_>>(), Some(15.0), &counter);
        }
        None => println!("LoCoMo: skipped (--chats PATH names its folder)"),
    }
}

/// A sample as a chat. Both are people: nobody is the assistant.
fn of_locomo(sample: locomo::Sample, name: &str) -> Chat {
    let asked = sample.asked.into_iter().filter(|asked| !asked.never_said);
    let question = |asked: locomo::Asked| Question { text: asked.text, answer: asked.answer, evidence: asked.evidence };
    Chat {
        name: name.to_owned(),
        messages: sample.turns.into_iter().map(|turn| Message::user(turn.text)).collect(),
        questions: asked.map(question).collect(),
    }
}

/// A chat that needs no folder of data.
fn made_up() -> Chat {
    let said = |at: usize| {
        let text = format!("We decided that service {at} listens on port {}. It was tried on day {at}.", 8000 + at);
        if at.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) }
    };
    let question = |at: usize| Question {
        text: format!("On which port does service {at} listen?"),
        answer: format!("On port {}.", 8000 + at),
        evidence: vec![at],
    };
    let (messages, questions) = ((0..400).map(said).collect(), (0..400).step_by(40).map(question).collect());
    Chat { name: "made up".to_owned(), messages, questions }
}
