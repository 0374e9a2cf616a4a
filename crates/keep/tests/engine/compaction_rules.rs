//! The rules, options and results of a compaction, one test each. The policy that requests one has its tests with the policy; the
//! kernel's operations have theirs in `kernel`.

use std::cell::RefCell;

use threadkeep::Keep;
use threadkeep::compact::{Answer, CompactOptions, Compacted, Extractive, Summariser};
use threadkeep::protocol::{CompactCall, ContextOptions, Counting};
use threadkeep_compaction::extract::extract;
use threadkeep_compaction::memory::FactKind;
use threadkeep_compaction::summary::Material;
use threadkeep_compaction::{Policy, PolicyOptions, Reason};
use threadkeep_context::tokens::Counter;
use threadkeep_core::Message;
use threadkeep_core::checkpoint::Strategy;
use threadkeep_store::MemoryStore;

use crate::{World, run, texts};

fn estimated() -> CompactOptions {
    CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() }
}

const FILLER: &str = "which is said at some length, so that a summary of it takes less room than the whole of it does";

/// A system prompt and eight turns of two messages; the first two say what lasts.
async fn talked(keep: &Keep<MemoryStore>) -> Vec<Message> {
    let mut messages = vec![Message::system("be brief")];
    for at in 1..=8 {
        let said = match at {
            1 => "I prefer answers in French.",
            2 => "We decided to use PostgreSQL for the ledger.",
            _ => "Please go on.",
        };
        messages.push(Message::user(format!("{said} Question {at}, {FILLER}.")));
        messages.push(Message::assistant(format!("Answer {at}, {FILLER}.")));
    }
    keep.append("chat", messages.clone()).await.unwrap();
    messages
}

async fn compacted(keep: &Keep<MemoryStore>, options: &CompactOptions) -> Compacted {
    keep.compact("chat", options, &Extractive).await.unwrap()
}

async fn prompt(keep: &Keep<MemoryStore>, json: serde_json::Value) -> Vec<String> {
    texts(&keep.context("chat", &ContextOptions::from_json(&json).unwrap()).await.unwrap().messages)
}

fn estimate() -> serde_json::Value {
    serde_json::json!({ "encoding": "estimate" })
}

/// The extractive summariser, with an eye on what it is given.
#[derive(Default)]
struct Watched(RefCell<Vec<String>>);

impl Summariser for Watched {
    fn name(&self) -> &str {
        "watched"
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
        self.0.borrow_mut().extend(material.pieces.iter().map(|piece| piece.message.text().into_owned()));
        Box::pin(std::future::ready(Ok(extract(material, counter).into())))
    }
}

#[test]
fn a_compaction_is_requested_when_a_response_reports_a_prompt_over_the_budget() {
    let keep = World::default().tab();
    let asked =
        PolicyOptions { compaction_ratio: Some(threadkeep_compaction::memory::Share::of(1000)), ..Default::default() };
    let policy = Policy::resolve(&asked, &PolicyOptions::default(), None);
    run(async {
        talked(&keep).await;
        let budget = policy.input_budget();
        assert_eq!(keep.after_response("chat", Some(budget), &policy).await.unwrap(), None);
        assert_eq!(keep.after_response("chat", Some(budget + 1), &policy).await.unwrap(), Some(Reason::OverBudget));
    });
}

#[test]
fn the_working_context_is_system_then_messages_since_the_compaction_then_the_input() {
    let keep = World::default().tab();
    run(async {
        let messages = talked(&keep).await;
        assert_eq!(prompt(&keep, estimate()).await, texts(&messages));
        compacted(&keep, &estimated()).await.checkpoint.unwrap();
        keep.append("chat", vec![Message::user("the input")]).await.unwrap();
        let now = prompt(&keep, estimate()).await;
        assert_eq!(now[0], "be brief");
        assert!(now[1].starts_with("Previous conversation summary"));
        assert_eq!(now[2..10], texts(&messages)[9..]);
        assert_eq!(now[10..], ["the input"]);
    });
}

#[test]
fn the_memory_bundle_stands_by_the_newest_input_and_not_before_the_raw_tail() {
    let keep = World::default().tab();
    run(async {
        talked(&keep).await;
        compacted(&keep, &estimated()).await.checkpoint.unwrap();
        let with =
            serde_json::json!({"encoding": "estimate", "memory": {"query": "ledger"}, "systemPrompt": "be brief"});
        let now = prompt(&keep, with).await;
        let place = |part: &str| now.iter().position(|text| text.contains(part)).unwrap();
        // The bundle is material by the newest input: it is no part of the prompt's beginning, which stays the same.
        assert!(place("be brief") < place("Please go on. Question 5"), "{now:?}");
        assert!(place("Please go on. Question 5") < place("[Quoted from memory."), "{now:?}");
    });
}

#[test]
fn four_to_six_raw_turns_are_kept_as_asked_and_four_by_default() {
    for (asked, first_raw) in [(None, 5), (Some(4), 5), (Some(5), 4), (Some(6), 3)] {
        let keep = World::default().tab();
        run(async {
            talked(&keep).await;
            let done = compacted(&keep, &CompactOptions { tail_turns: asked, ..estimated() }).await;
            assert_eq!(done.checkpoint.unwrap().covers.last_turn, first_raw - 1);
            let now = prompt(&keep, estimate()).await;
            let raw = now.iter().find(|text| text.contains("Question") && !text.starts_with("Previous")).unwrap();
            assert!(raw.contains(&format!("Question {first_raw},")), "{raw}");
        });
    }
}

#[test]
fn older_turns_become_an_episode_and_facts_are_taken_from_them() {
    let keep = World::default().tab();
    run(async {
        talked(&keep).await;
        let done = compacted(&keep, &estimated()).await;
        assert_eq!(done.episodes.len(), 1);
        assert_eq!(done.episodes[0].turns, [1, 2, 3, 4]);
        let kinds: Vec<FactKind> = done.facts.iter().map(|fact| fact.kind).collect();
        assert!(kinds.contains(&FactKind::Preference) && kinds.contains(&FactKind::Decision), "{:?}", done.facts);
    });
}

#[test]
fn a_compaction_has_an_episode_facts_a_raw_tail_covered_messages_and_a_new_base() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let messages = talked(&keep).await;
        let done = compacted(&keep, &estimated()).await;
        let checkpoint = done.checkpoint.unwrap();
        // 1 and 2: stored with it, and named by it.
        let again = world.tab();
        let episodes = again.episodes(&Default::default()).await.unwrap();
        let facts = again.facts(&Default::default()).await.unwrap();
        assert_eq!(episodes.iter().map(|it| it.id.clone()).collect::<Vec<_>>(), checkpoint.episodes);
        let sorted = |mut ids: Vec<String>| {
            ids.sort();
            ids
        };
        let ids = facts.iter().map(|it| it.id.clone()).collect();
        assert_eq!(sorted(ids), sorted(checkpoint.facts.clone()));
        // 3: the tail is raw. 4: what is covered leaves the prompt, and stays stored. 5: the summary is the new base.
        let now = prompt(&keep, estimate()).await;
        assert_eq!(now[2..], texts(&messages)[9..]);
        assert_eq!(again.get_range("chat", 0, u32::MAX).await.unwrap(), messages);
        assert_eq!(now[1], checkpoint.message().unwrap().text());
    });
}

#[test]
fn a_compaction_selects_its_window_asks_the_summariser_and_stores() {
    let keep = World::default().tab();
    run(async {
        let messages = talked(&keep).await;
        let watched = Watched::default();
        let done = keep.compact("chat", &estimated(), &watched).await.unwrap();
        // The window: all beyond the tail, without instructions, which stay.
        assert_eq!(*watched.0.borrow(), texts(&messages)[1..9]);
        assert_eq!(done.checkpoint.unwrap().summariser, "watched");
        // The second time only what is new.
        watched.0.borrow_mut().clear();
        let more: Vec<Message> = (9..=10)
            .flat_map(|at| [Message::user(format!("Question {at}, {FILLER}.")), Message::assistant("Fine.")])
            .collect();
        keep.append("chat", more).await.unwrap();
        keep.compact("chat", &estimated(), &watched).await.unwrap().checkpoint.unwrap();
        assert_eq!(*watched.0.borrow(), texts(&messages)[9..13]);
    });
}

#[test]
fn whole_turns_are_covered_and_the_current_one_is_not_in_the_tail() {
    let keep = World::default().tab();
    run(async {
        talked(&keep).await;
        // A turn that is going on: four more stay raw beside it.
        keep.append("chat", vec![Message::user("And now?")]).await.unwrap();
        let covers = compacted(&keep, &estimated()).await.checkpoint.unwrap().covers;
        assert_eq!((covers.first_turn, covers.last_turn, covers.messages), (1, 4, 9));
    });
}

#[test]
fn keep_recent_messages_stay_in_whole_turns() {
    for (asked, end) in [(0, 15), (1, 15), (2, 15), (3, 13), (10, 7)] {
        let keep = World::default().tab();
        run(async {
            talked(&keep).await;
            let how = CompactOptions { keep_recent: Some(asked), ..estimated() };
            assert_eq!(compacted(&keep, &how).await.compacted_range, 0..end, "{asked}");
        });
    }
}

#[test]
fn keep_recent_begins_at_1_and_an_error_names_it() {
    let read = |keep_recent: &str| CompactCall::read(&format!(r#"{{"at": "main", "keepRecent": {keep_recent}}}"#));
    assert_eq!(read("1").unwrap().keep_recent, Some(1));
    assert_eq!(read("null").unwrap().keep_recent, None);
    assert_eq!(CompactCall::read(r#"{"at": "main"}"#).unwrap().keep_recent, None);
    let error = read("0").unwrap_err();
    assert!(error.argument.ends_with("keepRecent"), "{error}");
    assert!(error.to_string().contains("from 1 on"), "{error}");
}

#[test]
fn target_tokens_bounds_the_compacted_history() {
    for target in [600, 900] {
        let keep = World::default().tab();
        run(async {
            talked(&keep).await;
            talked(&keep).await;
            talked(&keep).await;
            let done = compacted(&keep, &CompactOptions { target_tokens: Some(target), ..estimated() }).await;
            assert!(done.tokens_before > target && done.tokens_after <= target, "{target}: {}", done.tokens_after);
        });
    }
}

#[test]
fn the_strategies_are_sliding_window_summarize_and_hierarchical() {
    for strategy in Strategy::ALL {
        let keep = World::default().tab();
        run(async {
            let messages = talked(&keep).await;
            let watched = Watched::default();
            let how = CompactOptions { strategy: Some(strategy), ..estimated() };
            let done = keep.compact("chat", &how, &watched).await.unwrap();
            let sliding = strategy == Strategy::SlidingWindow;
            assert_eq!(done.summary_messages.is_empty(), sliding);
            assert_eq!(watched.0.borrow().is_empty(), sliding);
            assert_eq!(done.checkpoint.unwrap().strategy, strategy);
            assert_eq!(keep.get_range("chat", 0, u32::MAX).await.unwrap(), messages);
        });
    }
    assert_eq!(Strategy::default(), Strategy::Summarize);
}

#[test]
fn a_result_has_summary_messages_compacted_range_and_tokens_saved() {
    let keep = World::default().tab();
    run(async {
        talked(&keep).await;
        let done = compacted(&keep, &estimated()).await;
        assert_eq!(done.compacted_range, 0..9);
        assert_eq!(done.summary_messages.len(), 1);
        assert!(done.summary_messages[0].text().starts_with("Previous conversation summary"));
        assert!(done.tokens_saved() > 0);
        assert_eq!(done.tokens_saved(), done.tokens_before - done.tokens_after);
        // The figures are those of prompts.
        let reply = keep.context("chat", &ContextOptions::from_json(&estimate()).unwrap()).await.unwrap();
        let around = 3;
        assert!(
            reply.figures.tokens.abs_diff(done.tokens_after) <= around,
            "{} {}",
            reply.figures.tokens,
            done.tokens_after
        );
    });
}

#[test]
fn the_compaction_threshold_requests_a_compaction_once_there_are_more_messages() {
    let keep = World::default().tab();
    let asked = PolicyOptions { compaction_threshold: Some(17), ..PolicyOptions::default() };
    let policy = Policy::resolve(&asked, &PolicyOptions::default(), None);
    run(async {
        talked(&keep).await;
        assert_eq!(keep.after_response("chat", None, &policy).await.unwrap(), None);
        keep.append("chat", vec![Message::user("one more")]).await.unwrap();
        assert_eq!(keep.after_response("chat", None, &policy).await.unwrap(), Some(Reason::Messages));
        // Those that are covered no longer count.
        compacted(&keep, &estimated()).await.checkpoint.unwrap();
        keep.append("chat", vec![Message::assistant("fine")]).await.unwrap();
        assert_eq!(keep.after_response("chat", None, &policy).await.unwrap(), None);
    });
}
