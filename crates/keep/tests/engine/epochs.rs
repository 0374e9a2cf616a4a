//! Epochs held against each other: the difference between two prompts accounts for both, whatever the strategy and the provider.

use serde_json::{Value, json};
use threadkeep::Keep;
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::epochs::{Carried, Fate, Step, StepLine};
use threadkeep::protocol::{ContextOptions, Counting};
use threadkeep_context::MessageRef;
use threadkeep_core::Message;
use threadkeep_core::checkpoint::{Checkpoint, Strategy};
use threadkeep_provider::Provider;
use threadkeep_store::MemoryStore;

use crate::{World, code, id, inbound, run};

fn options(with: Value) -> ContextOptions {
    let mut all = json!({ "encoding": "estimate" });
    all.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    ContextOptions::from_json(&all).unwrap()
}

/// Turns that say something a summary would keep, at some length.
fn turns(range: std::ops::Range<usize>) -> Vec<Message> {
    let filler = "There is a good deal more to be said about it, but none of that matters afterwards. ".repeat(3);
    let turn = |at: usize| {
        let question = format!("I prefer colour {at} for room {at}. {filler}");
        [Message::user(question), Message::assistant(format!("We decided to paint room {at}. {filler}"))]
    };
    range.flat_map(turn).collect()
}

async fn compacted(keep: &Keep<MemoryStore>, strategy: Strategy) -> Checkpoint {
    let how = CompactOptions { strategy: Some(strategy), encoding: Counting::Estimate, ..CompactOptions::default() };
    keep.compact("chat", &how, &Extractive).await.unwrap().checkpoint.unwrap()
}

/// A step whose figures were held against the prompts themselves.
async fn step(keep: &Keep<MemoryStore>, place: usize, with: Value) -> Step {
    let step =
        keep.epoch_step("chat", place, &options(with.clone()), &|message| message.text().into_owned()).await.unwrap();
    let epochs = keep.epochs("chat").await.unwrap();
    let prompt = async |epoch: &str| {
        let mut with = with.clone();
        with.as_object_mut().unwrap().insert("epoch".to_owned(), epoch.into());
        keep.context(step.leaf.as_str(), &options(with)).await.unwrap()
    };
    // What stands around the messages (what a reply begins with) is the same on both sides.
    let around = |tokens: u64, sum: fn(&StepLine) -> u32| {
        tokens - step.lines.iter().map(|line| u64::from(sum(line))).sum::<u64>()
    };
    let after = prompt(epochs[place].name()).await;
    assert_eq!(step.after.tokens, after.figures.tokens);
    assert_eq!(step.after.messages as usize, after.messages.len());
    if let Some(before) = step.before {
        let then = prompt(epochs[place - 1].name()).await;
        assert_eq!(before.tokens, then.figures.tokens);
        assert_eq!(before.messages as usize, then.messages.len());
        assert_eq!(around(before.tokens, |line| line.before), around(step.after.tokens, |line| line.after));
    }
    let places: Vec<u32> = step.lines.iter().map(|line| line.place).collect();
    assert!(places.is_sorted(), "{places:?}");
    for line in &step.lines {
        let there = (line.before > 0, line.after > 0);
        let first = step.before.is_none();
        assert!(
            there
                == match line.fate {
                    Fate::Stayed => (!first, true),
                    Fate::Left => (true, false),
                    Fate::Came => (false, true),
                },
            "{line:?}"
        );
        assert_eq!(line.node.is_none(), line.summary);
    }
    step
}

fn of(step: &Step, fate: Fate) -> Vec<&StepLine> {
    step.lines.iter().filter(|line| line.fate == fate).collect()
}

#[test]
fn a_step_says_what_left_what_came_in_and_what_stayed() {
    let keep = World::default().tab();
    run(async {
        let mut messages = vec![Message::system("be brief")];
        messages.extend(turns(0..10));
        keep.append("chat", messages.clone()).await.unwrap();
        let first = compacted(&keep, Strategy::Summarize).await;
        keep.append("chat", turns(10..20)).await.unwrap();
        let second = compacted(&keep, Strategy::Hierarchical).await;
        for provider in Provider::ALL {
            let with = json!({"provider": provider.name()});
            let original = step(&keep, 0, with.clone()).await;
            assert_eq!((original.before, original.lines.len(), original.absent), (None, 21, 0));
            assert!(original.lines.iter().all(|line| line.fate == Fate::Stayed && line.before == 0));

            // The first checkpoint, as the chain was then: ten turns, of which four stay.
            let made = step(&keep, 1, with.clone()).await;
            let left: Vec<u32> = of(&made, Fate::Left).iter().map(|line| line.place).collect();
            assert_eq!(left, (1..13).collect::<Vec<u32>>());
            let came = of(&made, Fate::Came);
            assert_eq!((came.len(), came[0].place, came[0].summary), (1, 1, true));
            assert_eq!(came[0].words, first.message().unwrap().text());
            let stayed = of(&made, Fate::Stayed);
            assert_eq!((stayed.len(), stayed[0].words.as_str(), stayed[0].role.as_str()), (9, "be brief", "system"));

            // The second takes the first one's summary away with the messages.
            let again = step(&keep, 2, with).await;
            let summaries: Vec<_> = again.lines.iter().filter(|line| line.summary).collect();
            assert_eq!((summaries[0].fate, summaries[1].fate, summaries.len()), (Fate::Left, Fate::Came, 2));
            assert_eq!(summaries[1].words, second.message().unwrap().text());
            assert_eq!((of(&again, Fate::Left).len(), again.absent), (1 + 20, 12));
        }
        let none = keep.epoch_step("chat", 3, &options(json!({})), &|_| String::new()).await;
        assert_eq!(code(none), "bad-request");
    });
}

#[test]
fn a_step_under_a_budget_and_of_a_sliding_window() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        compacted(&keep, Strategy::SlidingWindow).await;
        let window = step(&keep, 1, json!({})).await;
        assert_eq!((of(&window, Fate::Left).len(), of(&window, Fate::Came).len()), (12, 0));
        keep.append("chat", turns(10..20)).await.unwrap();
        compacted(&keep, Strategy::Summarize).await;
        // What has room only now comes in, and what has none in either prompt has no line.
        let narrow = step(&keep, 2, json!({"budget": {"maxTokens": 600}})).await;
        assert!(narrow.absent > 12, "{}", narrow.absent);
        assert!(narrow.before.unwrap().tokens <= 600 && narrow.after.tokens <= 600);
    });
}

#[test]
fn what_stands_for_a_message_now() {
    let keep = World::default().tab();
    run(async {
        let asked = "What is to be done with it? ".repeat(20);
        keep.receive(inbound("q0", None, &asked)).await.unwrap();
        let mut last = "q0".to_owned();
        for at in 1..10 {
            keep.extend(&id(&last), vec![Message::assistant(format!("We decided to take path {at}. {asked}"))])
                .await
                .unwrap();
            last = format!("q{at}");
            keep.receive(inbound(&last, Some(&format!("q{}", at - 1)), &asked)).await.unwrap();
        }
        let how = CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() };
        assert_eq!(keep.carried("q9", &id("q0"), &[]).await.unwrap(), Carried::default());
        let made = keep.compact("q9", &how, &Extractive).await.unwrap().checkpoint.unwrap();
        let carried = |raw| Carried { checkpoint: Some(made.id.clone()), raw };
        assert_eq!(keep.carried("q9", &id("q1"), &[]).await.unwrap(), carried(0));
        assert_eq!(keep.carried("q9", &made.anchor, &[]).await.unwrap(), carried(0));
        assert_eq!(keep.carried("q9", &id("q9"), &[]).await.unwrap(), Carried::default());
        let pins = [MessageRef::Node("q1".to_owned())];
        let pinned = keep.carried("q9", &id("q1"), &pins).await.unwrap();
        assert!(pinned.raw > 0, "{pinned:?}");
        assert_eq!(code(keep.carried("q1", &id("q9"), &[]).await), "missing-node");
    });
}
