//! Compaction over stored chains: what a checkpoint does to prompts, and that it does nothing to what is stored.

use std::cell::RefCell;

use serde_json::{Value, json};
use threadkeep::Keep;
use threadkeep::compact::{Answer, Answered, Cancel, CompactOptions, Compacted, Summariser};
use threadkeep::protocol::{ContextOptions, Counting};
use threadkeep_compaction::memory::{FactKind, Share};
use threadkeep_compaction::summary::{FoundFact, Material, Summary};
use threadkeep_compaction::{Policy, PolicyOptions, Reason};
use threadkeep_context::Action;
use threadkeep_context::tokens::{Counter, Overhead};
use threadkeep_core::checkpoint::{Source, Statement, Strategy};
use threadkeep_core::{Message, MessageId, Role};
use threadkeep_provider::{Provider, validate_payload};
use threadkeep_store::{MemoryStore, Scan, Store};

use crate::{World, code, id, inbound, run, texts};

/// Says the first words of every message, after what was said before.
#[derive(Default)]
struct FirstWords {
    limit: Option<u64>,
    asked: RefCell<Vec<usize>>,
    /// Cancels when it was asked so often.
    cancel: Option<(usize, Cancel)>,
}

impl Summariser for FirstWords {
    fn name(&self) -> &str {
        "first-words"
    }

    fn input_tokens(&self) -> Option<u64> {
        self.limit
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, _: &'a dyn Counter) -> Answer<'a> {
        self.asked.borrow_mut().push(material.pieces.len());
        if let Some((times, cancel)) = &self.cancel
            && self.asked.borrow().len() >= *times
        {
            cancel.cancel();
        }
        let mut statements = material.carried.to_vec();
        if material.pieces.is_empty() {
            // Statements of statements: every second one.
            statements = statements.into_iter().step_by(2).collect();
        }
        let mut facts = Vec::new();
        for piece in &material.pieces {
            let source = Source { node: piece.node.clone(), index: piece.index };
            let text = piece.message.text();
            let words: Vec<&str> = text.split_whitespace().take(3).collect();
            statements.push(Statement { text: words.join(" "), sources: vec![source.clone()], level: 0 });
            if text.contains("decide") {
                facts.push(FoundFact {
                    kind: FactKind::Decision,
                    fact: words.join(" "),
                    tags: Vec::new(),
                    confidence: Share::of(800),
                    salience: Share::of(500),
                    sources: vec![source],
                });
            }
        }
        let episode = format!("{} messages were exchanged.", material.pieces.len());
        let summary = Summary { statements, episode, facts, ..Summary::default() };
        Box::pin(std::future::ready(Ok(summary.into())))
    }
}

/// Answers always the same.
struct Always(Result<Vec<&'static str>, &'static str>);

impl Summariser for Always {
    fn name(&self) -> &str {
        "always"
    }

    fn summarise<'a>(&'a self, _: &'a Material<'a>, _: &'a dyn Counter) -> Answer<'a> {
        let answer = self.0.clone().map_err(str::to_owned).map(|texts| {
            let statement = |text: &&str| Statement { text: (*text).to_owned(), sources: Vec::new(), level: 0 };
            let summary = Summary { statements: texts.iter().map(statement).collect(), ..Summary::default() };
            Answered::from(summary)
        });
        Box::pin(std::future::ready(answer))
    }
}

fn estimated() -> CompactOptions {
    CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() }
}

fn options(json: Value) -> ContextOptions {
    let mut with = json!({ "encoding": "estimate" });
    with.as_object_mut().unwrap().extend(json.as_object().unwrap().clone());
    ContextOptions::from_json(&with).unwrap()
}

/// A question and its answer, long enough to be worth a summary.
fn turn(at: usize) -> Vec<Message> {
    let filler = "so that there is something to be said about it, at some length and in many words";
    vec![Message::user(format!("question {at}: {filler}")), Message::assistant(format!("answer {at}: {filler}"))]
}

fn turns(range: std::ops::Range<usize>) -> Vec<Message> {
    range.flat_map(turn).collect()
}

fn called(id: &str) -> Message {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    Message::from_json(call).unwrap()
}

async fn compacted(keep: &Keep<MemoryStore>, at: &str) -> Compacted {
    keep.compact(at, &estimated(), &FirstWords::default()).await.unwrap()
}

/// The prompts of a chain in every epoch and for every provider: valid, and accounted for. Gives that of today.
async fn prompts(keep: &Keep<MemoryStore>, at: &str) -> Vec<String> {
    for epoch in keep.epochs(at).await.unwrap() {
        for provider in Provider::ALL {
            let how = json!({"provider": provider.name(), "epoch": epoch.name()});
            for leaf in [at, epoch.leaf.as_str()] {
                let reply = keep.context(leaf, &options(how.clone())).await.unwrap();
                assert_eq!(validate_payload(&reply.payload, provider), [], "{provider:?} {}", epoch.name());
                let sum: u64 = reply.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
                assert_eq!((sum, sum), (reply.figures.tokens, reply.kinds.total()));
            }
        }
    }
    texts(&keep.context(at, &options(json!({}))).await.unwrap().messages)
}

#[test]
fn a_checkpoint_stands_in_for_the_old_turns_and_the_originals_stay() {
    let keep = World::default().tab();
    run(async {
        let mut messages = vec![Message::system("be brief")];
        messages.extend(turns(0..10));
        keep.append("chat", messages.clone()).await.unwrap();
        let before = keep.context("chat", &options(json!({}))).await.unwrap();
        let done = compacted(&keep, "chat").await;
        let checkpoint = done.checkpoint.clone().unwrap();
        // Ten turns, of which four stay: six are covered, and the instructions are no part of the summary.
        assert_eq!((checkpoint.covers.messages, checkpoint.covers.first_turn, checkpoint.covers.last_turn), (13, 1, 6));
        assert_eq!((checkpoint.statements.len(), checkpoint.statements[0].text.as_str()), (12, "question 0: so"));
        assert_eq!((checkpoint.episodes.len(), checkpoint.summariser.as_str()), (1, "first-words"));
        let after = keep.context("chat", &options(json!({}))).await.unwrap();
        assert_eq!(after.checkpoint.as_deref(), Some(checkpoint.id.as_str()));
        assert_eq!(after.messages.len(), 10);
        assert_eq!(after.messages[0].text(), "be brief");
        assert_eq!(after.messages[1], done.summary_messages[0]);
        assert_eq!(after.messages[2..], messages[13..]);
        assert_eq!(before.figures.tokens - after.figures.tokens, done.tokens_saved());
        let marks: Vec<_> = after.ledger.iter().map(|line| (line.action, line.rule)).collect();
        assert_eq!(marks[0].0, Action::Kept);
        assert!(marks[1..13].iter().all(|mark| *mark == (Action::Summarised, "checkpoint")));
        assert!(after.ledger[1].tokens_after > 0 && after.ledger[2..13].iter().all(|line| line.tokens_after == 0));
        assert_eq!(keep.get_range("chat", 0, u32::MAX).await.unwrap(), messages);
        assert_eq!(keep.context("chat", &options(json!({"epoch": "original"}))).await.unwrap().figures, before.figures);
        let wrong = keep.context("chat", &options(json!({"epoch": "cp_0"}))).await;
        assert_eq!(code(wrong), "bad-request");
        prompts(&keep, "chat").await;
        // The same again finds nothing to do.
        assert_eq!(compacted(&keep, "chat").await.checkpoint, None);
    });
}

#[test]
fn a_second_compaction_carries_the_firsts_content_on() {
    for strategy in Strategy::ALL {
        let keep = World::default().tab();
        run(async {
            keep.append("chat", turns(0..10)).await.unwrap();
            let first = compacted(&keep, "chat").await.checkpoint.unwrap();
            keep.append("chat", turns(10..20)).await.unwrap();
            let how = CompactOptions { strategy: Some(strategy), ..estimated() };
            let second = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
            let checkpoint = second.checkpoint.clone().unwrap();
            assert_eq!(checkpoint.previous.as_deref(), Some(first.id.as_str()));
            let said: Vec<_> = checkpoint.statements.iter().map(|said| said.text.as_str()).collect();
            assert_eq!(said[0], "question 0: so", "{strategy:?}");
            assert_eq!(said.contains(&"answer 15: so"), strategy != Strategy::SlidingWindow);
            assert_eq!(keep.checkpoints("chat").await.unwrap(), [first.clone(), checkpoint]);
            let epochs = keep.epochs("chat").await.unwrap();
            let ranges: Vec<_> = epochs.iter().map(|epoch| epoch.messages.clone()).collect();
            assert_eq!(ranges, [0..20, 12..40, 32..40]);
            assert_eq!(epochs[1].name(), first.id);
            prompts(&keep, "chat").await;
            assert_eq!(keep.get_count("chat").await.unwrap(), 40);
        });
    }
}

#[test]
fn sliding_window_drops_what_is_old_and_says_so() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        let how = CompactOptions { strategy: Some(Strategy::SlidingWindow), keep_recent: Some(3), ..estimated() };
        let asked = FirstWords::default();
        let done = keep.compact("chat", &how, &asked).await.unwrap();
        assert!(asked.asked.borrow().is_empty() && done.summary_messages.is_empty());
        // Three messages are rounded up to two turns.
        assert_eq!(done.compacted_range, 0..16);
        let reply = keep.context("chat", &options(json!({}))).await.unwrap();
        assert_eq!(reply.messages.len(), 4);
        assert!(reply.ledger[..16].iter().all(|line| (line.action, line.rule) == (Action::Dropped, "sliding-window")));
        prompts(&keep, "chat").await;
    });
}

#[test]
fn hierarchical_merges_levels_as_they_age() {
    let keep = World::default().tab();
    run(async {
        let how = CompactOptions {
            strategy: Some(Strategy::Hierarchical),
            summary_tokens: Some(500),
            tail_turns: Some(1),
            ..estimated()
        };
        let mut levels = Vec::new();
        for round in 0..6 {
            keep.append("chat", turns(round * 8..round * 8 + 8)).await.unwrap();
            let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
            let checkpoint = done.checkpoint.unwrap();
            levels = checkpoint.statements.iter().map(|said| said.level).collect();
            // What is older is of a higher level, and comes first.
            assert!(levels.is_sorted_by(|a, b| a >= b), "{levels:?}");
            assert!(checkpoint.statements.iter().all(|said| !said.sources.is_empty()));
        }
        assert!(levels.contains(&2) && levels.contains(&0), "{levels:?}");
        prompts(&keep, "chat").await;
    });
}

#[test]
fn what_may_not_stand_in_is_refused_and_the_history_stays() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..8)).await.unwrap();
        let long = "many words ".repeat(400).leak();
        for (answer, expected) in [
            (Ok(vec![]), "summary-refused"),
            (Ok(vec!["  "]), "summary-refused"),
            (Ok(vec!["<tool_call>{\"name\": \"look\"}</tool_call>"]), "summary-refused"),
            (Ok(vec![&*long]), "summary-refused"),
            (Err("no connection"), "summariser-failed"),
        ] {
            let before = keep.context("chat", &options(json!({}))).await.unwrap();
            let failed = keep.compact("chat", &estimated(), &Always(answer)).await;
            assert_eq!(code(failed), expected);
            assert_eq!(keep.context("chat", &options(json!({}))).await.unwrap(), before);
            assert_eq!(keep.checkpoints("chat").await.unwrap(), []);
        }
    });
}

#[test]
fn a_preview_and_a_cancelled_compaction_store_nothing() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.append("chat", turns(0..12)).await.unwrap();
        let all = |store: MemoryStore| async move { store.scan(&Scan::prefix("")).await.unwrap() };
        let before = all(world.store.clone()).await;
        let preview = CompactOptions { preview: true, ..estimated() };
        let shown = keep.compact("chat", &preview, &FirstWords::default()).await.unwrap();
        assert!(shown.checkpoint.is_some() && shown.tokens_saved() > 0);
        let cancel = Cancel::default();
        let how = CompactOptions { cancel: Some(cancel.clone()), ..estimated() };
        let slow = FirstWords { limit: Some(120), cancel: Some((2, cancel)), ..FirstWords::default() };
        assert_eq!(code(keep.compact("chat", &how, &slow).await), "cancelled");
        assert_eq!(slow.asked.borrow().len(), 2);
        assert_eq!(all(world.store.clone()).await, before);
    });
}

/// claude-code#28728, codex#8632: the request that was to make room was itself too long.
#[test]
fn the_compaction_request_itself_is_never_too_long() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..40)).await.unwrap();
        let small = FirstWords { limit: Some(100), ..FirstWords::default() };
        let done = keep.compact("chat", &estimated(), &small).await.unwrap();
        let asked = small.asked.borrow().clone();
        // A message takes about 27 tokens; a turn two of them.
        assert!(asked.len() == 36 && asked.iter().all(|pieces| *pieces == 2), "{asked:?}");
        assert_eq!(asked.iter().sum::<usize>(), 72);
        assert_eq!(done.episodes.len(), 36);
        assert_eq!(done.checkpoint.unwrap().statements.len(), 72);
    });
}

/// opencode#27594: a compaction was followed by the next one at once.
#[test]
fn compaction_does_not_fire_again_at_once() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..8)).await.unwrap();
        let asked = PolicyOptions { max_context_tokens: Some(1_000), max_output_tokens: Some(0), ..Default::default() };
        let asked = PolicyOptions { safety_margin: Some(0), ..asked };
        let policy = Policy::resolve(&asked, &PolicyOptions::default(), None);
        assert_eq!(keep.after_response("chat", Some(800), &policy).await.unwrap(), None);
        assert_eq!(keep.after_response("chat", Some(801), &policy).await.unwrap(), Some(Reason::EarlyRatio));
        // It waits until it is carried out.
        assert_eq!(keep.after_response("chat", None, &policy).await.unwrap(), Some(Reason::EarlyRatio));
        assert_eq!(keep.compaction_required("chat").await.unwrap(), Some(Reason::EarlyRatio));
        assert!(compacted(&keep, "chat").await.checkpoint.is_some());
        assert_eq!(keep.compaction_required("chat").await.unwrap(), None);
        // The usage that was reported before the compaction comes again.
        assert_eq!(keep.after_response("chat", Some(1_200), &policy).await.unwrap(), None);
        keep.append("chat", turn(9)).await.unwrap();
        assert_eq!(keep.after_response("chat", Some(1_200), &policy).await.unwrap(), Some(Reason::OverBudget));
        // Only one turn more than what stays.
        assert!(compacted(&keep, "chat").await.checkpoint.is_some());
        assert_eq!(keep.compaction_required("chat").await.unwrap(), None);
        // Found unnecessary is settled too.
        keep.request_compaction("chat").await.unwrap();
        assert_eq!(keep.compaction_required("chat").await.unwrap(), Some(Reason::Manual));
        assert_eq!(compacted(&keep, "chat").await.checkpoint, None);
        assert_eq!(keep.compaction_required("chat").await.unwrap(), None);
    });
}

/// claude-code#9796: instructions were lost.
#[test]
fn instructions_survive_every_compaction() {
    let keep = World::default().tab();
    run(async {
        let mut messages = vec![Message::system("never touch the database")];
        messages.extend(turns(0..4));
        messages.push(Message::new(threadkeep_core::Role::Developer, "answer in French"));
        messages.extend(turns(4..12));
        keep.append("chat", messages).await.unwrap();
        compacted(&keep, "chat").await.checkpoint.unwrap();
        let said = prompts(&keep, "chat").await;
        assert_eq!(said[0], "never touch the database");
        assert!(said.contains(&"answer in French".to_owned()));
        // A frame's own system prompt does not take the summary away.
        let framed = keep.context("chat", &options(json!({"systemPrompt": "be kind"}))).await.unwrap();
        assert!(framed.messages.iter().any(|message| message.text().starts_with("Previous conversation summary")));
    });
}

/// codex#21468: the user was not shown what the model was told instead of the history.
#[test]
fn the_summary_is_shown_to_its_user() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..8)).await.unwrap();
        let done = compacted(&keep, "chat").await;
        let checkpoint = keep.checkpoints("chat").await.unwrap().pop().unwrap();
        let reply = keep.context("chat", &options(json!({}))).await.unwrap();
        assert_eq!(checkpoint.message().as_ref(), done.summary_messages.first());
        assert_eq!(checkpoint.message().unwrap(), reply.messages[0]);
        for said in &checkpoint.statements {
            assert!(reply.messages[0].text().contains(&said.text));
        }
    });
}

/// codex#26889, claude-code#44598: what the user pinned was summarised away.
#[test]
fn what_is_pinned_stays_raw_with_its_tool_group() {
    let keep = World::default().tab();
    run(async {
        let mut messages = turns(0..2);
        let mut rule = Message::user("always run the tests");
        rule.pinned = true;
        messages.push(rule);
        messages.push(called("call_1"));
        let mut seen = Message::tool("call_1", "all 12 tests pass");
        seen.pinned = true;
        messages.push(seen);
        messages.push(Message::assistant("they pass"));
        messages.extend(turns(2..10));
        keep.append("chat", messages).await.unwrap();
        let done = compacted(&keep, "chat").await;
        let said = prompts(&keep, "chat").await;
        assert!(said[0].starts_with("Previous conversation summary"));
        assert_eq!(said[1..4], ["always run the tests", "", "all 12 tests pass"]);
        let statements = done.checkpoint.unwrap().statements;
        assert!(statements.iter().all(|said| !said.text.contains("always run")));
        // A pin that is given with the prompt brings back what the checkpoint covers.
        let back = keep.context("chat", &options(json!({"pins": [0]}))).await.unwrap();
        assert!(texts(&back.messages).contains(&turn(0)[0].text().into_owned()));
        assert_eq!(back.ledger[0].action, Action::Pinned);
        let sum: u64 = back.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
        assert_eq!(sum, back.figures.tokens);
    });
}

/// openclaw#8525, claude-code#8484: a result whose call was compacted away made every later request fail.
#[test]
fn no_orphan_result_after_compaction() {
    let keep = World::default().tab();
    run(async {
        let mut messages = turns(0..2);
        // The result comes after the user has spoken again: the turn of the call cannot end before that.
        messages.extend([Message::user("look at it"), called("late"), Message::user("and hurry, please, hurry")]);
        messages.push(Message::tool("late", "seen at last"));
        messages.push(Message::assistant("I have seen it"));
        messages.extend(turns(2..6));
        keep.append("chat", messages).await.unwrap();
        // Five turns would leave the call on one side and its result on the other.
        for tail in [5, 6, 4] {
            let how = CompactOptions { tail_turns: Some(tail), ..estimated() };
            let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
            let end = done.compacted_range.end;
            assert!(end <= 4 || end >= 9, "{tail}: {end}");
            let said = prompts(&keep, "chat").await;
            assert_eq!(said.contains(&"seen at last".to_owned()), end < 9);
        }
    });
}

/// claude-code#56515: the call and the result of a server's tool were torn apart.
#[test]
fn server_side_tool_groups_are_not_split() {
    let keep = World::default().tab();
    run(async {
        let search = json!({"role": "assistant", "content": [
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}]});
        let found = json!({"role": "user", "content": [
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}]});
        let mut messages = turns(0..4);
        messages.push(Message::user("search for it"));
        messages.push(Message::from_json(search).unwrap());
        messages.push(Message::from_json(found).unwrap());
        messages.push(Message::assistant("nothing found"));
        messages.extend(turns(4..5));
        keep.append("chat", messages).await.unwrap();
        for tail in [1, 2] {
            let how = CompactOptions { tail_turns: Some(tail), ..estimated() };
            let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
            // The message with the result is no turn's beginning, so that no window ends before it.
            assert!([0, 8, 12].contains(&done.compacted_range.end), "{:?}", done.compacted_range);
            prompts(&keep, "chat").await;
        }
    });
}

/// pi#8667: on another branch of the tree the old compaction point lay between a call and its result.
#[test]
fn an_old_compaction_point_inside_a_call_and_its_result_on_another_branch() {
    let keep = World::default().tab();
    run(async {
        let mut messages = turns(0..3);
        messages.extend([Message::user("look"), called("call_9")]);
        let nodes = keep.append("chat", messages).await.unwrap();
        keep.fork("chat", "other", None).await.unwrap();
        // Here the user goes on without waiting, and the chain is compacted up to there.
        keep.append("chat", turns(3..8)).await.unwrap();
        let done = compacted(&keep, "chat").await.checkpoint.unwrap();
        let asked = nodes.last().unwrap().id.clone();
        // There the result comes, behind the anchor, and a turn that could not have been one here.
        keep.append("other", vec![Message::tool("call_9", "there it is"), Message::assistant("I see")]).await.unwrap();
        let how = CompactOptions { tail_turns: Some(5), ..estimated() };
        assert_eq!(keep.compact("chat", &how, &FirstWords::default()).await.unwrap().checkpoint, None);
        assert_ne!(done.anchor, asked);
        for provider in Provider::ALL {
            let reply = keep.context("other", &options(json!({"provider": provider.name()}))).await.unwrap();
            assert!(texts(&reply.messages).contains(&"there it is".to_owned()));
        }
        prompts(&keep, "other").await;
    });
}

#[test]
fn an_anchor_before_a_late_result_leaves_its_call_raw() {
    let keep = World::default().tab();
    run(async {
        let mut messages = turns(0..3);
        messages.extend([Message::user("look"), called("call_9")]);
        keep.append("chat", messages).await.unwrap();
        keep.fork("chat", "other", None).await.unwrap();
        // The window ends behind the open call: on this branch its result never came.
        keep.append("chat", turns(3..4)).await.unwrap();
        let how = CompactOptions { tail_turns: Some(1), ..estimated() };
        let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
        assert_eq!(done.compacted_range, 0..8);
        // On the other branch it is behind the anchor.
        keep.append("other", vec![Message::tool("call_9", "there it is"), Message::user("and?")]).await.unwrap();
        let said = prompts(&keep, "other").await;
        assert!(said[0].starts_with("Previous conversation summary"));
        assert_eq!(said[1..], ["", "there it is", "and?"]);
    });
}

#[test]
fn a_prompt_that_ends_at_the_anchor_holds_the_newest_question() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..4)).await.unwrap();
        keep.append("chat", [vec![Message::user("the capital?")], turns(4..5)].concat()).await.unwrap();
        let how = CompactOptions { tail_turns: Some(0), ..estimated() };
        let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
        assert_eq!(done.compacted_range, 0..9);
        // Asked again at the question that is the anchor, and answered there a second time.
        keep.fork("chat", "asked", Some(9)).await.unwrap();
        let said = prompts(&keep, "asked").await;
        assert!(said[0].starts_with("Previous conversation summary"));
        assert_eq!(said[1..], ["the capital?"]);
        keep.append("asked", vec![Message::assistant("Paris")]).await.unwrap();
        assert_eq!(prompts(&keep, "asked").await[1..], ["the capital?", "Paris"]);
        // A message of white space is no question.
        keep.fork("chat", "blank", Some(9)).await.unwrap();
        keep.append("blank", vec![Message::user(" ")]).await.unwrap();
        assert_eq!(prompts(&keep, "blank").await[1..], ["the capital?"]);
        // With the next question it is old.
        keep.append("asked", vec![Message::user("and its river?")]).await.unwrap();
        assert_eq!(prompts(&keep, "asked").await[1..], ["Paris", "and its river?"]);
    });
}

#[test]
fn a_prompt_that_ends_at_an_answered_anchor_ends_with_the_answer() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..5)).await.unwrap();
        let how = CompactOptions { tail_turns: Some(1), ..estimated() };
        let done = keep.compact("chat", &how, &FirstWords::default()).await.unwrap();
        assert_eq!(done.compacted_range, 0..8);
        keep.fork("chat", "answered", Some(8)).await.unwrap();
        let last: Vec<String> = turn(3).iter().map(|message| message.text().into_owned()).collect();
        assert_eq!(prompts(&keep, "answered").await[1..], last);
    });
}

#[test]
fn branches_share_a_checkpoint_exactly_when_its_anchor_is_on_them() {
    let keep = World::default().tab();
    run(async {
        let nodes = keep.append("chat", turns(0..10)).await.unwrap();
        let done = compacted(&keep, "chat").await;
        let end = done.compacted_range.end as u32;
        let anchor = done.checkpoint.clone().unwrap().anchor;
        assert_eq!(nodes[end as usize - 1].id, anchor);
        let uses = async |context: &str| {
            keep.append(context, vec![Message::user("and now?")]).await.unwrap();
            prompts(&keep, context).await;
            keep.context(context, &options(json!({}))).await.unwrap()
        };
        keep.fork("chat", "before", Some(end - 1)).await.unwrap();
        keep.fork("chat", "at", Some(end)).await.unwrap();
        keep.fork("chat", "after", Some(end + 2)).await.unwrap();
        assert_eq!(uses("before").await.checkpoint, None);
        let (at, after) = (uses("at").await, uses("after").await);
        let id = Some(done.checkpoint.unwrap().id);
        assert_eq!((at.checkpoint.clone(), after.checkpoint.clone()), (id.clone(), id));
        assert_eq!(at.messages[0], after.messages[0]);
        assert_eq!((at.messages.len(), after.messages.len()), (2, 4));
        // A checkpoint of one branch only: the others go on as they were.
        keep.append("after", turns(20..28)).await.unwrap();
        let own = compacted(&keep, "after").await.checkpoint.unwrap();
        assert_eq!(keep.context("after", &options(json!({}))).await.unwrap().checkpoint, Some(own.id));
        assert_eq!(keep.context("at", &options(json!({}))).await.unwrap(), at);
        for context in ["chat", "before", "at", "after"] {
            prompts(&keep, context).await;
        }
    });
}

#[test]
fn a_checkpoint_is_made_while_another_tab_appends() {
    struct Meanwhile<'a>(&'a Keep<MemoryStore>, Vec<Message>);
    impl Summariser for Meanwhile<'_> {
        fn name(&self) -> &str {
            "meanwhile"
        }
        fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
            Box::pin(async move {
                self.0.append("chat", self.1.clone()).await.map_err(|error| error.to_string())?;
                FirstWords::default().summarise(material, counter).await
            })
        }
    }
    let world = World::default();
    let (one, two) = (world.tab(), world.tab());
    run(async {
        one.append("chat", turns(0..10)).await.unwrap();
        assert_eq!(two.get_count("chat").await.unwrap(), 20);
        let done = one.compact("chat", &estimated(), &Meanwhile(&two, turns(10..12))).await.unwrap();
        let checkpoint = done.checkpoint.unwrap();
        for tab in [&one, &two] {
            assert_eq!(tab.get_count("chat").await.unwrap(), 24);
            let reply = tab.context("chat", &options(json!({}))).await.unwrap();
            assert_eq!(reply.checkpoint.as_deref(), Some(checkpoint.id.as_str()));
            assert_eq!(reply.messages.len(), 1 + 12);
            prompts(tab, "chat").await;
        }
        // Two that compact the same at once make one checkpoint.
        struct Rival<'a>(&'a Keep<MemoryStore>);
        impl Summariser for Rival<'_> {
            fn name(&self) -> &str {
                "rival"
            }
            fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
                Box::pin(async move {
                    compacted(self.0, "chat").await;
                    FirstWords::default().summarise(material, counter).await
                })
            }
        }
        let lost = one.compact("chat", &estimated(), &Rival(&two)).await.unwrap();
        assert_eq!(lost.checkpoint, None);
        assert_eq!(one.checkpoints("chat").await.unwrap().len(), 2);
    });
}

#[test]
fn a_compaction_that_is_dropped_half_way_leaves_nothing() {
    struct Never;
    impl Summariser for Never {
        fn name(&self) -> &str {
            "never"
        }
        fn summarise<'a>(&'a self, _: &'a Material<'a>, _: &'a dyn Counter) -> Answer<'a> {
            Box::pin(std::future::pending())
        }
    }
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        let before = world.store.scan(&Scan::prefix("")).await.unwrap();
        {
            let how = estimated();
            let mut waiting = Box::pin(keep.compact("chat", &how, &Never));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(waiting.as_mut().poll(&mut context).is_pending());
            // Nothing is held meanwhile.
            assert_eq!(keep.get_count("chat").await.unwrap(), 20);
        }
        assert_eq!(world.store.scan(&Scan::prefix("")).await.unwrap(), before);
        assert!(compacted(&keep, "chat").await.checkpoint.is_some());
    });
}

#[test]
fn the_live_turn_is_never_covered() {
    let keep = World::default().tab();
    run(async {
        // A node that grows: the question and the answer so far are one node, which is unsealed.
        keep.receive(inbound("a", None, "first question")).await.unwrap();
        keep.extend(&id("a"), vec![Message::assistant("first answer, and a few words more")]).await.unwrap();
        keep.receive(inbound("b", Some("a"), "second question")).await.unwrap();
        keep.extend(&id("b"), vec![called("call_1")]).await.unwrap();
        let how = CompactOptions { tail_turns: Some(0), ..estimated() };
        let short = Always(Ok(vec!["a question was answered"]));
        let done = keep.compact("b", &how, &short).await;
        // The header alone takes more than what little there is.
        assert_eq!(code(done), "summary-refused");
        let long = "the third answer goes on and on, and says what could be said in fewer words ".repeat(9);
        keep.extend(&id("b"), vec![Message::tool("call_1", "seen"), Message::assistant(long)]).await.unwrap();
        let nothing = keep.compact("b", &CompactOptions { tail_turns: Some(1), ..estimated() }, &short).await.unwrap();
        assert_eq!(nothing.checkpoint, None);
        keep.receive(inbound("c", Some("b"), "third question")).await.unwrap();
        let done = keep.compact("c", &how, &short).await.unwrap().checkpoint.unwrap();
        assert_eq!(done.anchor, id("b"));
        // The raw tail has the live turn's question.
        assert_eq!(prompts(&keep, "c").await[1..], ["third question"]);
    });
}

#[test]
fn a_deleted_branch_takes_its_checkpoints_along() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let secret = "swordfish";
        let mut messages = turns(0..2);
        let nodes = keep.append("chat", messages.clone()).await.unwrap();
        messages = vec![Message::user(format!("{secret} is what we decide on, {}", "and more ".repeat(30)))];
        let deleted = keep.append("chat", messages).await.unwrap();
        keep.append("chat", turns(3..10)).await.unwrap();
        keep.set_head("main", &nodes[3].id).await.unwrap();
        let done = compacted(&keep, "chat").await;
        assert!(done.checkpoint.unwrap().statements.iter().any(|said| said.text.contains(secret)));
        keep.delete_branch(&deleted[0].id).await.unwrap();
        for tab in [&keep, &world.tab()] {
            assert_eq!(tab.checkpoints("main").await.unwrap(), []);
        }
        let pages = world.store.scan(&Scan::prefix("p/")).await.unwrap();
        assert!(!pages.is_empty());
        assert!(pages.iter().all(|(_, lines)| !String::from_utf8_lossy(lines).contains(secret)));
    });
}

#[test]
fn checkpoints_are_exported_and_come_back() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        compacted(&keep, "chat").await;
        let mut file = String::new();
        keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
        let other = World::default().tab();
        let source = ("export.threadkeep.jsonl".to_owned(), file.clone().into_bytes());
        other.import(vec![source], None, |_| {}).await.unwrap();
        assert_eq!(other.checkpoints("chat").await.unwrap(), keep.checkpoints("chat").await.unwrap());
        let (mine, theirs) = (prompts(&keep, "chat").await, prompts(&other, "chat").await);
        assert_eq!(mine, theirs);
        let mut again = String::new();
        other.export(None, |piece| again.push_str(&piece)).await.unwrap();
        assert_eq!(again, file);
    });
}

#[test]
fn a_target_covers_as_many_turns_as_it_takes() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..40)).await.unwrap();
        let whole = keep.context("chat", &options(json!({}))).await.unwrap().figures.tokens;
        let how = CompactOptions { target_tokens: Some(200), ..estimated() };
        let short = Always(Ok(vec!["forty questions were asked and answered"]));
        let done = keep.compact("chat", &how, &short).await.unwrap();
        assert!(done.tokens_after <= 200 && done.tokens_before + 3 == whole, "{} of {whole}", done.tokens_after);
        assert_eq!(keep.context("chat", &options(json!({}))).await.unwrap().figures.tokens, done.tokens_after + 3);
        let checkpoint = done.checkpoint.unwrap();
        assert_eq!(checkpoint.policy.target_tokens, Some(200));
        assert!(checkpoint.covers.last_turn >= 37);
        prompts(&keep, "chat").await;
    });
}

#[test]
fn a_prepared_chain_grows_under_its_checkpoint() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        compacted(&keep, "chat").await;
        for at in 10..14 {
            let warm = keep.context("chat", &options(json!({}))).await.unwrap();
            let fit = keep.fit("chat", &options(json!({})), Default::default()).await.unwrap();
            assert_eq!((fit.figures, fit.checkpoint.clone()), (warm.figures, warm.checkpoint.clone()));
            assert_eq!(fit.runs.iter().map(|run| run.count as usize).sum::<usize>(), fit.length);
            keep.append("chat", turn(at)).await.unwrap();
        }
        let stable = json!({"policy": "stable", "budget": {"maxTokens": 400}});
        let reply = keep.context("chat", &options(stable)).await.unwrap();
        assert!(reply.figures.tokens <= 400 && reply.messages[0].text().starts_with("Previous"));
    });
}

#[test]
fn ids_are_strings_of_their_kinds() {
    let keep = World::default().tab();
    run(async {
        let mut messages = turns(0..8);
        messages[0] = Message::user("we decide to use tabs, which is long enough to be worth the words of a summary");
        keep.append("chat", messages).await.unwrap();
        let done = compacted(&keep, "chat").await;
        let checkpoint = done.checkpoint.unwrap();
        let named = |id: &str, kind: &str| id.strip_prefix(kind).is_some_and(|rest| rest.len() == 16);
        assert!(named(&checkpoint.id, "cp_") && named(&checkpoint.episodes[0], "ep_"));
        assert!(named(&checkpoint.facts[0], "sem_"), "{:?}", checkpoint.facts);
        assert_eq!(done.episodes[0].turns, [1, 2, 3, 4]);
        let chain: Vec<MessageId> = keep
            .chain(&keep.head("chat").await.unwrap().unwrap().id)
            .await
            .unwrap()
            .into_iter()
            .map(|node| node.id)
            .collect();
        assert!(done.episodes[0].sources.iter().all(|source| chain.contains(&source.node)));
    });
}

#[test]
fn what_was_found_comes_back_with_the_memory_option() {
    let keep = World::default().tab();
    run(async {
        let mut messages = turns(0..8);
        messages[0] = Message::user("we decide tabs, which is long enough to be worth the words of a summary");
        keep.append("chat", messages).await.unwrap();
        compacted(&keep, "chat").await;
        let with = json!({"memory": {"episodes": 0, "query": "tabs"}});
        let reply = keep.context("chat", &options(with.clone())).await.unwrap();
        let line = reply.ledger.iter().find(|line| line.rule == "memory").unwrap();
        assert!(line.tokens_after > 0);
        // A user message before the newest one quotes it.
        let at = reply.messages.iter().position(|message| message.text().contains("[Quoted from memory.")).unwrap();
        assert!(reply.messages[at].text().contains("we decide tabs"));
        assert_eq!(reply.messages[at].role, Role::User);
        assert_eq!(at + 3, reply.messages.len());
        assert_eq!(keep.fit("chat", &options(with), Default::default()).await.unwrap().figures, reply.figures);
        let none = keep.context("chat", &options(json!({"memory": {"episodes": 0, "facts": 0}}))).await.unwrap();
        assert!(none.ledger.iter().all(|line| line.rule != "memory"));
    });
}

/// The built-in summariser, end to end.
#[test]
fn the_built_in_summariser_makes_a_checkpoint() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..30)).await.unwrap();
        for strategy in [Strategy::Summarize, Strategy::Hierarchical] {
            let how = CompactOptions { strategy: Some(strategy), ..estimated() };
            let done = keep.compact("chat", &how, &threadkeep::compact::Extractive).await.unwrap();
            assert_eq!(done.checkpoint.unwrap().summariser, "extractive");
            assert!(done.tokens_after < done.tokens_before);
            prompts(&keep, "chat").await;
            keep.append("chat", turns(30..60)).await.unwrap();
        }
    });
}

#[test]
fn the_tokens_after_are_those_of_the_prompt_though_covered_calls_were_never_answered() {
    let keep = World::default().tab();
    run(async {
        for at in 0..4 {
            keep.append("chat", turn(at)).await.unwrap();
            keep.append("chat", vec![called(&format!("c{at}"))]).await.unwrap();
        }
        keep.append("chat", turns(4..9)).await.unwrap();
        let bare = async || {
            let reply = keep.context("chat", &options(json!({}))).await.unwrap();
            // Without what every reply begins with.
            reply.figures.tokens - u64::from(Overhead::of(Provider::OpenAiChat).reply)
        };
        let before = bare().await;
        let done = compacted(&keep, "chat").await;
        assert_eq!((done.tokens_before, done.tokens_after), (before, bare().await));
        // A second one, over the first.
        keep.append("chat", turns(9..14)).await.unwrap();
        let before = bare().await;
        let done = compacted(&keep, "chat").await;
        assert_eq!((done.tokens_before, done.tokens_after), (before, bare().await));
    });
}

#[test]
fn what_a_compaction_took_and_warned_of_is_stored_with_its_checkpoint() {
    struct Warns;
    impl Summariser for Warns {
        fn name(&self) -> &str {
            "warns"
        }
        fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
            Box::pin(async move {
                let mut answered = FirstWords::default().summarise(material, counter).await?;
                answered.warnings.push("https://example.org/v1?key=secret did not answer. Why?".to_owned());
                Ok(answered)
            })
        }
    }
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        let done = keep.compact("chat", &estimated(), &Warns).await.unwrap();
        let [stored] = &world.tab().checkpoints("chat").await.unwrap()[..] else { panic!("one checkpoint") };
        assert!(done.cost.calls == 1 && done.cost.input_tokens > done.cost.output_tokens);
        assert_eq!(stored.cost, Some(done.cost));
        assert_eq!(done.warnings, ["https://example.org/v1?key=secret did not answer. Why?"]);
        // Stored without what may be a key.
        assert_eq!(stored.warnings, ["https://example.org/v1 did not answer. Why?"]);
        // It comes along in an archive.
        let mut text = String::new();
        keep.export(None, |piece| text.push_str(&piece)).await.unwrap();
        let again = World::default().tab();
        again.import(vec![("all.threadkeep.jsonl".to_owned(), text.into_bytes())], None, |_| {}).await.unwrap();
        assert_eq!(again.checkpoints("chat").await.unwrap(), std::slice::from_ref(stored));
    });
}
