//! The message store: its methods, fields, options, strategies and figures, one test each, by their names. The options and
//! results of a compaction are in `compaction_rules`, the package's surface in `npm/test`. Several defaults differ on purpose from the
//! message store's design: `docs/dev/requirements.md` lists them with their reasons.

use std::cell::RefCell;

use serde_json::json;
use threadkeep::Keep;
use threadkeep::compact::{Answer, CompactOptions, Extractive, Summariser};
use threadkeep::protocol::{ContextOptions, Counting, Recent};
use threadkeep_compaction::summary::{Material, Summary};
use threadkeep_compaction::{Policy, PolicyOptions, Reason};
use threadkeep_context::tokens::{Counter, estimate, estimate_message};
use threadkeep_core::checkpoint::{Source, Statement, Strategy};
use threadkeep_core::message::ToolCall;
use threadkeep_core::{Kind, Message, Role};
use threadkeep_store::MemoryStore;

use crate::{World, run, texts, users};

const FILLER: &str = "which is said at some length, so that a summary of it takes less room than the whole of it does";

fn turns(range: std::ops::RangeInclusive<u32>) -> Vec<Message> {
    let turn = |at| {
        [Message::user(format!("Question {at}, {FILLER}.")), Message::assistant(format!("Answer {at}, {FILLER}."))]
    };
    range.flat_map(turn).collect()
}

/// A keep with instructions and eight turns of two messages.
async fn talked() -> Keep<MemoryStore> {
    let keep = World::default().tab();
    keep.append("chat", vec![Message::system("be brief")]).await.unwrap();
    keep.append("chat", turns(1..=8)).await.unwrap();
    keep
}

fn estimated() -> CompactOptions {
    CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() }
}

async fn all(keep: &Keep<MemoryStore>) -> Vec<Message> {
    keep.get_range("chat", 0, u32::MAX).await.unwrap()
}

async fn prompt(keep: &Keep<MemoryStore>) -> Vec<String> {
    let how = ContextOptions { encoding: Counting::Estimate, ..ContextOptions::default() };
    texts(&keep.context("chat", &how).await.unwrap().messages)
}

/// Says the first two words of all that it is given, and of every second statement.
#[derive(Default)]
struct FirstWords(RefCell<u32>);

impl Summariser for FirstWords {
    fn name(&self) -> &str {
        "first-words"
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, _: &'a dyn Counter) -> Answer<'a> {
        *self.0.borrow_mut() += 1;
        let mut statements: Vec<Statement> = material.carried.to_vec();
        if material.pieces.is_empty() {
            statements = statements.into_iter().step_by(2).collect();
        }
        for piece in &material.pieces {
            let text = piece.message.text().split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            let sources = vec![Source { node: piece.node.clone(), index: piece.index }];
            statements.push(Statement { text, sources, level: 0 });
        }
        let summary = Summary { statements, episode: "They talked.".to_owned(), ..Summary::default() };
        Box::pin(std::future::ready(Ok(summary.into())))
    }
}

#[test]
fn append_adds_at_the_end_and_what_is_stored_does_not_change() {
    let keep = World::default().tab();
    run(async {
        let mut before = Vec::new();
        for round in 0..4 {
            keep.append("chat", turns(round * 3 + 1..=round * 3 + 3)).await.unwrap();
            let now = all(&keep).await;
            assert_eq!((now.len(), &now[..before.len()]), (before.len() + 6, &before[..]));
            before = now;
        }
        let nodes = keep.stored("chat", 0, u32::MAX).await.unwrap();
        assert!(keep.compact("chat", &estimated(), &Extractive).await.unwrap().checkpoint.is_some());
        assert_eq!(all(&keep).await, before);
        for (known, now) in nodes.iter().zip(keep.stored("chat", 0, u32::MAX).await.unwrap()) {
            assert_eq!((&known.node, known.created_at, &known.message), (&now.node, now.created_at, &now.message));
        }
    });
}

#[test]
fn get_recent_max_messages_gives_the_newest_in_order_and_fifty_without_limits() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", users(60)).await.unwrap();
        let get = async |max_messages| {
            texts(&keep.get_recent("chat", &Recent { max_messages, ..Recent::default() }).await.unwrap())
        };
        assert_eq!(get(Some(3)).await, ["m57", "m58", "m59"]);
        assert_eq!(get(Some(100)).await.len(), 60);
        let fifty = get(None).await;
        assert_eq!((fifty.len(), fifty[0].as_str(), fifty[49].as_str()), (50, "m10", "m59"));
    });
}

#[test]
fn get_recent_max_tokens_trims_from_the_oldest_until_it_fits() {
    let keep = World::default().tab();
    run(async {
        // 8 tokens, 104, 9, 6: a large one ends it, though what is older would fit.
        for length in [16, 400, 20, 8] {
            keep.append("chat", vec![Message::user("x".repeat(length))]).await.unwrap();
        }
        let get = async |max_tokens| {
            let recent = keep.get_recent("chat", &Recent { max_tokens: Some(max_tokens), ..Recent::default() }).await;
            recent.unwrap().iter().map(|message| message.text().len()).collect::<Vec<_>>()
        };
        assert_eq!(get(15).await, [20, 8]);
        assert_eq!(get(14).await, [8]);
        assert_eq!(get(5).await, [0; 0]);
        assert_eq!(get(15 + 103).await, [20, 8]);
        assert_eq!(get(15 + 104).await, [400, 20, 8]);
        assert_eq!(get(15 + 104 + 8).await, [16, 400, 20, 8]);
        // The number of messages is no limit then.
        keep.append("chat", users(60)).await.unwrap();
        assert_eq!(get(10_000).await.len(), 64);
    });
}

#[test]
fn get_recent_include_system_gives_the_instructions_first_or_leaves_them_out() {
    run(async {
        let keep = talked().await;
        let get = async |include_system| {
            let recent = Recent { max_messages: Some(3), include_system, ..Recent::default() };
            let recent = keep.get_recent("chat", &recent).await.unwrap();
            recent.iter().map(|message| message.role.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(get(Some(true)).await, ["system", "user", "assistant"]);
        assert_eq!(get(Some(false)).await, ["assistant", "user", "assistant"]);
        let everything = Recent { max_messages: Some(99), include_system: Some(false), ..Recent::default() };
        assert_eq!(keep.get_recent("chat", &everything).await.unwrap().len(), 16);
    });
}

#[test]
fn get_all_gives_every_message_compacted_or_not() {
    run(async {
        let keep = talked().await;
        let before = all(&keep).await;
        assert_eq!(before, [vec![Message::system("be brief")], turns(1..=8)].concat());
        assert!(keep.compact("chat", &estimated(), &Extractive).await.unwrap().checkpoint.is_some());
        assert_eq!(all(&keep).await, before);
    });
}

#[test]
fn get_range_has_its_start_and_not_its_end() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", users(5)).await.unwrap();
        let get = async |start, end| texts(&keep.get_range("chat", start, end).await.unwrap());
        assert_eq!(get(1, 3).await, ["m1", "m2"]);
        assert_eq!(get(4, 9).await, ["m4"]);
        assert_eq!((get(3, 3).await.len(), get(3, 1).await.len(), get(5, 9).await.len()), (0, 0, 0));
    });
}

#[test]
fn get_count_counts_all_messages_compacted_or_not() {
    run(async {
        let keep = talked().await;
        assert_eq!(keep.get_count("chat").await.unwrap(), 17);
        assert!(keep.compact("chat", &estimated(), &Extractive).await.unwrap().checkpoint.is_some());
        assert_eq!(keep.get_count("chat").await.unwrap(), 17);
        // One for people only counts, too.
        let note = Message { include_in_context: false, ..Message::user("a note") };
        keep.append("chat", vec![note]).await.unwrap();
        assert_eq!(keep.get_count("chat").await.unwrap(), 18);
        assert_eq!(keep.get_count("nobody").await.unwrap(), 0);
    });
}

#[test]
fn clear_removes_one_conversation_with_its_checkpoints_and_no_other() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        for context in ["chat", "other"] {
            keep.append(context, turns(1..=8)).await.unwrap();
            assert!(keep.compact(context, &estimated(), &Extractive).await.unwrap().checkpoint.is_some());
        }
        keep.request_compaction("chat").await.unwrap();
        assert_eq!(keep.clear("chat").await.unwrap(), 16);
        let fresh = world.tab();
        assert_eq!((fresh.get_count("chat").await.unwrap(), fresh.get_count("other").await.unwrap()), (0, 16));
        assert_eq!(fresh.checkpoints("other").await.unwrap().len(), 1);
        assert_eq!(fresh.episodes(&Default::default()).await.unwrap().len(), 1);
        // What comes after begins anew: no checkpoint stands in for anything.
        keep.append("chat", turns(1..=2)).await.unwrap();
        assert_eq!(keep.checkpoints("chat").await.unwrap(), []);
        assert_eq!(keep.compaction_required("chat").await.unwrap(), None);
        // The same holds for a branch that shares its beginning.
        keep.fork("other", "branch", Some(4)).await.unwrap();
        keep.append("branch", turns(9..=9)).await.unwrap();
        keep.request_compaction("branch").await.unwrap();
        assert_eq!(keep.clear("branch").await.unwrap(), 2);
        keep.fork("other", "branch", None).await.unwrap();
        assert_eq!(keep.compaction_required("branch").await.unwrap(), None);
        assert_eq!(keep.get_count("other").await.unwrap(), 16);
    });
}

#[test]
fn a_stored_message_has_id_index_timestamp_tokens_and_tags() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let tagged = Message { tags: vec!["plan".to_owned()], ..Message::user("And the rope?") };
        let given = [turns(1..=1), vec![tagged]].concat();
        let nodes = keep.append("chat", given.clone()).await.unwrap();
        let stored = world.tab().stored("chat", 0, u32::MAX).await.unwrap();
        assert_eq!(stored.len(), 3);
        for (at, stored) in stored.iter().enumerate() {
            assert_eq!((&stored.node, stored.part, stored.index), (&nodes[at].id, 0, at));
            assert_eq!((stored.created_at, &stored.message), (nodes[at].created_at, &given[at]));
            assert!(stored.created_at.is_some());
            assert_eq!(stored.tokens, estimate_message(&given[at]));
        }
        // "And the rope?" has 13 characters.
        assert_eq!((stored[2].tokens, stored[2].message.tags.as_slice()), (4 + 4, &["plan".to_owned()][..]));
        assert_ne!(stored[0].node, stored[1].node);
        // The index is that of the conversation, whichever part of it is asked for.
        let part = keep.stored("chat", 1, 2).await.unwrap();
        assert_eq!((part.len(), part[0].index), (1, 1));
        assert_eq!(keep.stored("nobody", 0, 9).await.unwrap(), []);
    });
}

#[test]
fn a_pinned_node_that_a_checkpoint_covers_is_stored_as_not_covered() {
    run(async {
        let keep = talked().await;
        let pinned = keep.stored("chat", 3, 4).await.unwrap().remove(0).node;
        keep.pin_node(&pinned, true).await.unwrap();
        keep.compact("chat", &estimated(), &Extractive).await.unwrap();
        let stored = keep.stored("chat", 2, 5).await.unwrap();
        assert_eq!(stored.iter().map(|stored| stored.covered.is_some()).collect::<Vec<_>>(), [true, false, true]);
    });
}

#[test]
fn a_covered_message_names_the_range_and_the_checkpoint_that_stands_for_it() {
    run(async {
        let keep = talked().await;
        keep.append("chat", vec![Message::user("Live?")]).await.unwrap();
        let flags = async || {
            let stored = keep.stored("chat", 0, u32::MAX).await.unwrap();
            stored.iter().map(|stored| stored.covered.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(flags().await, [false; 18]);
        let first = keep.compact("chat", &estimated(), &Extractive).await.unwrap();
        // Instructions stay in prompts, so that nothing stands in for them.
        let expected: Vec<bool> = (0..18).map(|at| (1..first.compacted_range.end).contains(&at)).collect();
        assert_eq!((flags().await, first.compacted_range.clone()), (expected, 0..9));
        let covered = keep.stored("chat", 3, 4).await.unwrap().remove(0).covered.unwrap();
        assert_eq!((covered.range, Some(covered.checkpoint)), (0..9, first.checkpoint.map(|it| it.id)));
        // A second checkpoint takes over what the first one covered.
        keep.append("chat", turns(9..=14)).await.unwrap();
        let second = keep.compact("chat", &estimated(), &Extractive).await.unwrap();
        let covered = keep.stored("chat", 3, 4).await.unwrap().remove(0).covered.unwrap();
        assert_eq!(
            (covered.range, Some(covered.checkpoint)),
            (second.compacted_range, second.checkpoint.map(|it| it.id))
        );
        // A branch that forks before the anchor has them raw.
        keep.fork("chat", "early", Some(5)).await.unwrap();
        assert!(keep.stored("early", 0, 9).await.unwrap().iter().all(|stored| stored.covered.is_none()));
    });
}

#[test]
fn sliding_window_keeps_the_newest_messages_and_asks_no_summariser() {
    run(async {
        let keep = talked().await;
        let asked = FirstWords::default();
        let how = CompactOptions { strategy: Some(Strategy::SlidingWindow), keep_recent: Some(4), ..estimated() };
        let done = keep.compact("chat", &how, &asked).await.unwrap();
        assert_eq!((*asked.0.borrow(), done.summary_messages.len(), done.compacted_range), (0, 0, 0..13));
        let messages = all(&keep).await;
        let expected = [texts(&messages[..1]), texts(&messages[13..])].concat();
        assert_eq!(prompt(&keep).await, expected);
        // Where there are no more than the window, nothing is done.
        let keep = talked().await;
        let how = CompactOptions { keep_recent: Some(17), ..how };
        assert_eq!(keep.compact("chat", &how, &asked).await.unwrap().checkpoint, None);
    });
}

#[test]
fn summarize_replaces_old_messages_by_a_previous_conversation_summary() {
    run(async {
        let keep = talked().await;
        let how = CompactOptions { strategy: Some(Strategy::Summarize), keep_recent: Some(4), ..estimated() };
        let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
        assert_eq!(done.compacted_range, 0..13);
        let now = prompt(&keep).await;
        assert_eq!((now.len(), now[0].as_str()), (2 + 4, "be brief"));
        assert!(now[1].starts_with("Previous conversation summary") && now[1].contains("Question 1,"), "{}", now[1]);
        assert_eq!(now[2..], texts(&all(&keep).await)[13..]);
    });
}

#[test]
fn hierarchical_has_levels_by_age_and_the_newest_in_full() {
    let keep = World::default().tab();
    run(async {
        let how = CompactOptions {
            strategy: Some(Strategy::Hierarchical),
            summary_tokens: Some(300),
            keep_recent: Some(2),
            ..estimated()
        };
        let mut levels = Vec::new();
        for round in 0..6 {
            keep.append("chat", turns(round * 8 + 1..=round * 8 + 8)).await.unwrap();
            let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
            levels = done.checkpoint.unwrap().statements.iter().map(|said| said.level).collect::<Vec<_>>();
            // What is older was summarised more often.
            assert!(levels.is_sorted_by(|a, b| a >= b), "{levels:?}");
        }
        assert!(levels.contains(&2) && levels.contains(&0), "{levels:?}");
        let now = prompt(&keep).await;
        assert_eq!((now.len(), &now[1..]), (3, &texts(&turns(48..=48))[..]));
    });
}

#[test]
fn the_estimate_is_a_quarter_of_the_characters_rounded_up() {
    for (text, tokens) in [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("12345678", 2), ("123456789", 3)] {
        assert_eq!(estimate(text), tokens, "{text:?}");
    }
    // Characters as JavaScript counts them.
    assert_eq!((estimate("ääää"), estimate("😀😀😀")), (1, 2));
}

#[test]
fn the_estimate_of_a_message_adds_four_for_the_frame_and_the_calls_as_json() {
    let mut message = Message::assistant("fives");
    assert_eq!(estimate_message(&message), 2 + 4);
    let call = ToolCall::function("c1", "list", r#"{"path":"src"}"#);
    let json = serde_json::to_string(&call).unwrap();
    message.tool_calls = vec![call.clone(), call];
    assert_eq!(estimate_message(&message), 2 + 4 + 2 * estimate(&json));
}

#[test]
fn a_triggered_compaction_can_keep_20_messages_within_half_a_budget() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(1..=60)).await.unwrap();
        let asked = PolicyOptions { compaction_threshold: Some(100), ..PolicyOptions::default() };
        let policy = Policy::resolve(&asked, &PolicyOptions::default(), None);
        assert_eq!(keep.after_response("chat", None, &policy).await.unwrap(), Some(Reason::Messages));
        let how = CompactOptions { keep_recent: Some(20), target_tokens: Some(4_000 / 2), ..estimated() };
        let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
        assert_eq!((done.compacted_range.clone(), keep.get_count("chat").await.unwrap()), (0..100, 120));
        assert!(done.tokens_before > 2_000 && done.tokens_after <= 2_000, "{}", done.tokens_after);
    });
}

#[test]
fn target_tokens_covers_more_turns_if_those_that_stay_are_too_long() {
    run(async {
        let keep = talked().await;
        let mut last = 0;
        for target in [4_000, 300, 240, 180] {
            let how = CompactOptions { target_tokens: Some(target), preview: true, ..estimated() };
            let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
            assert!(done.tokens_after <= target, "{target}: {}", done.tokens_after);
            assert!(done.compacted_range.end >= last, "{target}");
            last = done.compacted_range.end;
        }
        // Without need the four turns stay, and the newest always does.
        let end = async |target_tokens| {
            let how = CompactOptions { target_tokens, preview: true, ..estimated() };
            keep.compact("chat", &how, &FirstWords::default()).await.unwrap().compacted_range.end
        };
        assert_eq!((end(None).await, end(Some(4_000)).await, end(Some(1)).await), (9, 9, 15));
        assert!((10..=15).contains(&last), "{last}");
    });
}

#[test]
fn the_result_is_empty_if_there_is_nothing_to_compact() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(1..=4)).await.unwrap();
        let done = keep.compact("chat", &estimated(), &FirstWords::default()).await.unwrap();
        assert_eq!((done.summary_messages.len(), done.compacted_range.clone(), done.tokens_saved()), (0, 0..0, 0));
        assert_eq!(keep.checkpoints("chat").await.unwrap(), []);
    });
}

#[test]
fn max_messages_and_max_tokens_bound_the_working_context() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(1..=100)).await.unwrap();
        for (limit, most) in
            [(json!({"maxMessages": 50}), (50, u64::MAX)), (json!({"maxTokens": 4000}), (usize::MAX, 4000))]
        {
            let how = ContextOptions::from_json(&json!({"encoding": "estimate", "budget": limit})).unwrap();
            let reply = keep.context("chat", &how).await.unwrap();
            assert!(reply.messages.len() <= most.0 && reply.figures.tokens <= most.1 && !reply.over_budget);
            // As much as fits, and the newest.
            assert!(reply.messages.len() == 50 || reply.figures.tokens > 3_900, "{}", reply.figures.tokens);
            assert_eq!(reply.messages.last(), turns(100..=100).last());
        }
    });
}

#[test]
fn without_limits_the_working_context_is_whole_and_not_4000_tokens() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(1..=100)).await.unwrap();
        let how = ContextOptions::from_json(&json!({"encoding": "estimate"})).unwrap();
        let reply = keep.context("chat", &how).await.unwrap();
        assert!(reply.messages.len() == 200 && reply.figures.tokens > 4_000 && !reply.over_budget);
    });
}

#[test]
fn without_keep_recent_four_turns_stay_and_not_ten_messages() {
    let keep = World::default().tab();
    run(async {
        // Turns of four messages: four turns are sixteen.
        for at in 1..=8 {
            keep.append("chat", [turns(at..=at), vec![Message::assistant("One"), Message::assistant("more")]].concat())
                .await
                .unwrap();
        }
        let preview = CompactOptions { preview: true, ..estimated() };
        let done = keep.compact("chat", &preview, &Extractive).await.unwrap();
        assert_eq!(done.compacted_range, 0..16);
        // Ten are had by asking, in whole turns: twelve.
        let ten = CompactOptions { keep_recent: Some(10), ..preview };
        assert_eq!(keep.compact("chat", &ten, &Extractive).await.unwrap().compacted_range, 0..20);
    });
}

#[test]
fn no_threshold_of_100_messages_applies_unless_it_is_set_since_tokens_decide() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", users(101)).await.unwrap();
        let none = PolicyOptions::default();
        // The provider's token count alone asks for a compaction: a hundred short messages are few for a model of today.
        let policy = Policy::resolve(&none, &none, None);
        assert_eq!(keep.after_response("chat", Some(1_000), &policy).await.unwrap(), None);
        let keep_option = PolicyOptions { compaction_threshold: Some(100), ..none };
        let policy = Policy::resolve(&none, &keep_option, None);
        assert_eq!(keep.after_response("chat", Some(1_000), &policy).await.unwrap(), Some(Reason::Messages));
    });
}

#[test]
fn get_recent_gives_originals_after_a_compaction_and_the_summary_if_asked() {
    run(async {
        let keep = talked().await;
        let done = keep.compact("chat", &estimated(), &Extractive).await.unwrap();
        let get = async |max_messages, max_tokens, include_summary| {
            let recent = Recent { max_messages, max_tokens, include_summary, ..Recent::default() };
            keep.get_recent("chat", &recent).await.unwrap()
        };
        assert_eq!(get(None, None, false).await, all(&keep).await);
        // As a prompt has it: instructions, the summary, the raw tail.
        let working = get(None, None, true).await;
        assert_eq!((working.len(), &working[1]), (1 + 1 + 8, &done.summary_messages[0]));
        assert_eq!((&working[0].role, &working[2..]), (&Role::System, &turns(5..=8)[..]));
        // Inside the limits, and before what is raw.
        let three = get(Some(3), None, true).await;
        assert_eq!((three.len(), &three[0]), (3, &done.summary_messages[0]));
        let cost = |messages: &[Message]| messages.iter().map(estimate_message).sum::<u32>();
        for budget in (0..cost(&working) + 9).step_by(7) {
            let some = get(None, Some(budget), true).await;
            assert!(cost(&some) <= budget);
            let has = some.iter().any(|message| matches!(message.kind, Kind::Summary { .. }));
            assert_eq!(has, budget >= cost(&done.summary_messages), "{budget}");
        }
    });
}

#[test]
fn the_summary_is_a_user_message_since_a_system_message_would_give_it_authority() {
    run(async {
        let keep = talked().await;
        let done = keep.compact("chat", &estimated(), &Extractive).await.unwrap();
        let [summary] = &done.summary_messages[..] else { panic!("one message") };
        assert_eq!(summary.role, Role::User);
        assert!(summary.text().contains("not the user's words"));
        // Its kind says what it stands for, in place of the fields `compacted` and `compactedRange`.
        let stored = keep.stored("chat", 0, u32::MAX).await.unwrap();
        let Kind::Summary { from: Some(from), to: Some(to) } = &summary.kind else { panic!("{:?}", summary.kind) };
        assert_eq!(to, &stored[done.compacted_range.end - 1].node);
        assert_eq!(keep.chain(from).await.unwrap().len(), 1);
    });
}
