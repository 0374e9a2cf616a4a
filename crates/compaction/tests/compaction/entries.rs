//! Checkpoints as entries of a log: read, replayed, found by their anchors.

use serde_json::{Value, json};
use threadkeep_core::checkpoint::{Checkpoint, Chosen, Covers, Source, Spent, Statement, Strategy, summary_message};
use threadkeep_core::{Entry, Message, MessageId, Node, Transcript, TranscriptError};
use threadkeep_provider::{Provider, RenderOptions, render, validate_payload};

pub fn id(text: &str) -> MessageId {
    MessageId::new(text).unwrap()
}

fn checkpoint(name: &str, anchor: &str) -> Checkpoint {
    Checkpoint {
        id: name.to_owned(),
        anchor: id(anchor),
        covers: Covers { from: id("r"), nodes: 2, messages: 3, first_turn: 1, last_turn: 1 },
        statements: vec![Statement {
            text: "it \"was\"\nsaid".into(),
            sources: vec![Source { node: id("a"), index: 1 }],
            level: 2,
        }],
        episodes: vec!["ep_1".into()],
        facts: vec!["sem_1".into(), "sem_2".into()],
        strategy: Strategy::Hierarchical,
        summariser: "extractive".into(),
        policy: Chosen { tail_turns: 4, keep_recent: Some(9), target_tokens: Some(5_000_000_000) },
        tokens_before: 5_000_000_001,
        tokens_after: 7,
        created_at: 1_700_000_000_000,
        cleared: Vec::new(),
        previous: Some("cp_0".into()),
        cost: Some(Spent { calls: 2, input_tokens: 5_000_000_002, output_tokens: 9 }),
        warnings: vec!["the model was late".into()],
    }
}

fn entry(name: &str, anchor: &str) -> Entry {
    Entry::Checkpoint(Box::new(checkpoint(name, anchor)))
}

fn tree() -> Transcript {
    let mut tree = Transcript::new(id("r"));
    for (name, parent) in [("r", None), ("a", Some("r")), ("b", Some("a")), ("c", Some("a")), ("d", Some("c"))] {
        let node = Node::new(id(name), parent.map(id), vec![Message::user("hi")]);
        tree.apply(Entry::Node(Box::new(node))).unwrap();
    }
    tree
}

#[test]
fn a_checkpoint_reads_what_it_writes() {
    let written = serde_json::to_string(&entry("cp_1", "a")).unwrap();
    assert_eq!(serde_json::from_str::<Entry>(&written).unwrap(), entry("cp_1", "a"));
    let why = |damaged: &Value| serde_json::from_value::<Checkpoint>(damaged.clone()).unwrap_err().to_string();
    let mut damaged = serde_json::to_value(checkpoint("cp_1", "a")).unwrap();
    damaged["strategy"] = json!("guess");
    assert!(why(&damaged).contains("expected sliding-window, summarize or hierarchical"), "{}", why(&damaged));
    damaged["strategy"] = json!("summarize");
    damaged["statements"][0]["level"] = json!(256);
    assert!(why(&damaged).contains("`256`, expected u8"), "{}", why(&damaged));
    damaged["statements"] = json!([]);
    damaged["cost"] = json!({"calls": 1});
    assert!(why(&damaged).contains("`inputTokens`"), "{}", why(&damaged));
}

#[test]
fn a_checkpoint_from_before_costs_and_warnings_were_noted_reads_without_them() {
    let mut old = serde_json::to_value(checkpoint("cp_1", "a")).unwrap();
    let fields = old.as_object_mut().unwrap();
    assert!(fields.remove("cost").is_some() && fields.remove("warnings").is_some());
    let read = serde_json::from_value::<Checkpoint>(old.clone()).unwrap();
    assert_eq!((read.cost, read.warnings.len()), (None, 0));
    // And is written as it was: its bytes do not change.
    assert_eq!(serde_json::to_value(&read).unwrap(), old);
}

#[test]
fn a_chain_uses_the_deepest_and_of_one_anchor_the_newest() {
    let mut tree = tree();
    for (name, anchor) in [("cp_1", "a"), ("cp_2", "c"), ("cp_3", "a"), ("cp_4", "c")] {
        tree.apply(entry(name, anchor)).unwrap();
    }
    let used = |leaf: &str| tree.checkpoint_of(&tree.chain(&id(leaf)).unwrap()).map(|found| found.id.as_str());
    assert_eq!([used("r"), used("b"), used("c"), used("d")], [None, Some("cp_3"), Some("cp_4"), Some("cp_4")]);
    // cp_3 was made for a shallower anchor than the one in use, so that no prompt of this chain used it.
    let epochs = tree.epochs(&id("d")).unwrap();
    let names: Vec<_> = epochs.iter().map(|epoch| epoch.checkpoint.map(|found| found.id.as_str())).collect();
    assert_eq!(names, [None, Some("cp_1"), Some("cp_2"), Some("cp_4")]);
}

#[test]
fn an_anchor_that_is_not_there_is_refused_and_passed_over_in_a_damaged_log() {
    let mut tree = tree();
    assert_eq!(tree.apply(entry("cp_1", "gone")), Err(TranscriptError::MissingNode(id("gone"))));
    let seq = tree.next_seq();
    tree.replay(seq, entry("cp_1", "gone"));
    assert_eq!((tree.damage().len(), tree.checkpoints().count(), tree.next_seq()), (1, 0, seq + 1));
}

/// The role is the same for all: `user`. As instructions, a summary would have to stand before everything else, and would lend
/// authority to what tools and strangers said.
#[test]
fn the_summary_is_valid_for_all_providers_wherever_it_stands() {
    let covers = Covers { from: id("r"), nodes: 2, messages: 3, first_turn: 1, last_turn: 1 };
    let said = checkpoint("cp_1", "a").statements;
    let summary = summary_message(&said, &covers, &id("a")).unwrap();
    assert!(summary.text().ends_with(":\n- it \"was\"\n  said"));
    let histories = [
        vec![summary.clone(), Message::user("go on")],
        vec![Message::system("be brief"), summary.clone(), Message::user("go on")],
        vec![Message::user("pinned"), summary.clone(), Message::user("go on"), Message::assistant("yes")],
        vec![Message::assistant("pinned"), summary, Message::user("go on")],
    ];
    for provider in Provider::ALL {
        for history in &histories {
            let messages: Vec<&Message> = history.iter().collect();
            let rendered = render(&messages, provider, &RenderOptions::default());
            assert_eq!(validate_payload(&rendered.payload, provider), [], "{provider:?}");
        }
    }
}

#[test]
fn a_strategy_belongs_to_a_head_that_is_there() {
    let entry = |strategy| Entry::Strategy { name: "main".into(), strategy };
    for chosen in [Some(Strategy::Hierarchical), None] {
        let written = serde_json::to_string(&entry(chosen)).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&written).unwrap(), entry(chosen));
    }
    assert!(serde_json::from_value::<Entry>(json!({"strategy": {"context": "main", "strategy": "guess"}})).is_err());
    let mut tree = tree();
    let head = |node: Option<&str>| Entry::Head { name: "main".into(), node: node.map(id) };
    // Without the head it says nothing; logs of before have heads without one.
    tree.apply(entry(Some(Strategy::Hierarchical))).unwrap();
    tree.apply(head(Some("a"))).unwrap();
    assert_eq!(tree.strategy("main"), None);
    tree.apply(entry(Some(Strategy::SlidingWindow))).unwrap();
    tree.apply(entry(Some(Strategy::Hierarchical))).unwrap();
    tree.apply(head(Some("d"))).unwrap();
    assert_eq!((tree.strategy("main"), tree.strategy("other")), (Some(Strategy::Hierarchical), None));
    // It goes with the head.
    tree.apply(head(None)).unwrap();
    tree.apply(head(Some("d"))).unwrap();
    assert_eq!(tree.strategy("main"), None);
}
