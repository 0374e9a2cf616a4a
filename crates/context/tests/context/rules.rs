//! The rules of the designs that the engine follows, where no other file has a test for them: budgets and rendering for
//! agents, message stores, history compression, the unified log. And what fuzzing found, each under its bug's name.

use serde_json::json;
use threadkeep_context::compress::CompressOptions;
use threadkeep_context::tokens::{Counter, Estimate, estimate, estimate_message};
use threadkeep_context::{Action, Budget, FrameOptions, Material, Mode, Options, Policy, items, prompt, rule};
use threadkeep_core::{Content, Message, Part, Role};
use threadkeep_protocol::ContextOptions;
use threadkeep_provider::{Provider, RenderOptions};

use crate::common::{check, context, history, lines, rules, shown};

#[test]
fn estimate_tokens_is_a_quarter_of_the_length_rounded_up() {
    for (text, tokens) in [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("東京", 1), ("🙂🙂🙂", 2)] {
        assert_eq!(estimate(text), tokens, "{text:?}");
        assert_eq!(Estimate.count(text), tokens, "{text:?}");
    }
}

#[test]
fn count_message_tokens_adds_four_for_the_frame_and_the_calls_as_json() {
    assert_eq!(estimate_message(&Message::user("12345678")), 2 + 4);
    let mut called = Message::assistant(Content::Null);
    called.tool_calls.push(threadkeep_core::ToolCall::function("c1", "look", "{}"));
    let json = serde_json::to_string(&called.to_json()["tool_calls"][0]).unwrap();
    assert_eq!(estimate_message(&called), 4 + estimate(&json));
}

#[test]
fn trim_to_token_budget_walks_back_from_the_newest_and_stops_at_the_first_that_does_not_fit() {
    // Five tokens a message, as the counter of these tests has it, and three for the reply.
    let options = Options { budget: Budget::tokens(3 + 5 * 2), ..Options::default() };
    check("u a\na b\nu c\na d\nu e", &options, "a d\nu e");
    let options = Options { budget: Budget::tokens(3 + 5 * 2 + 4), ..Options::default() };
    check("u a\na b\nu c\na d\nu e", &options, "a d\nu e");
}

#[test]
fn max_messages_and_max_chars_of_the_unified_log() {
    let given: String = (0..200).map(|at| format!("{} message {at}\n", ["u", "a"][at % 2])).collect();
    let history = history(&(given + "u last"));
    let asked = json!({"budget": {"maxMessages": 80, "maxChars": 120_000}});
    let context = context(&items(&history), &ContextOptions::from_json(&asked).unwrap().build);
    assert_eq!(context.messages.len(), 80);
    assert_eq!(rules(&context.ledger, Action::Dropped).len(), 121);
    assert!(rules(&context.ledger, Action::Dropped).iter().all(|(_, rule)| *rule == rule::OVER_MAX_MESSAGES));
}

#[test]
fn a_result_is_never_kept_without_its_call() {
    let given = "u one\na two (c1 c2)\nt c1 x\nt c2 y\na three\nu four";
    for (limit, expected) in [(5, "a two (c1 c2)\nt c1 x\nt c2 y\na three\nu four"), (4, "a three\nu four")] {
        let budget = Budget { max_messages: Some(limit), ..Budget::default() };
        check(given, &Options { budget, ..Options::default() }, expected);
    }
}

#[test]
fn protocol_order_is_call_then_result_then_answer() {
    let given = "u go\na (c1)\na done\nt c1 x\nu next";
    check(given, &Options::default(), "u go\na (c1)\nt c1 x\na done\nu next");
}

#[test]
fn the_mode_banner_says_which_mode_is_active_and_that_history_may_have_others() {
    for mode in [Mode::Chat, Mode::Agent, Mode::Run] {
        let frame = FrameOptions { mode: Some(mode), persona: Some("Ada".into()), ..FrameOptions::default() };
        let history = history("u hi");
        let context = context(&items(&history), &Options { frame, ..Options::default() });
        let text = shown(context.messages.iter().map(|message| &**message));
        let banner = format!(
            "s MODE - active: {} - note: history may include other modes; follow current instructions.\n",
            mode.name()
        );
        assert!(text.contains(&banner), "{text}");
        assert_eq!(text.contains("Ada"), mode != Mode::Chat);
    }
}

#[test]
fn messages_without_the_fields_of_the_log_load_with_their_defaults() {
    let message = Message::from_json(json!({"role": "user", "content": "hi", "createdAt": "x"})).unwrap();
    assert!(message.include_in_context && !message.pinned && !message.is_error);
    assert!(message.tool_calls.is_empty() && message.tool_call_id.is_none());
    assert_eq!(message.to_json(), json!({"role": "user", "content": "hi", "createdAt": "x"}));
}

/// A quote as `check` shows it.
fn quoted(source: &str, text: &str) -> String {
    Material::new(source, text).quoted().replace('\n', " ")
}

#[test]
fn the_order_of_a_snapshot_is_system_prompt_memory_recent_turns() {
    let frame = FrameOptions {
        system_prompt: Some("rules".into()),
        memory: vec![Material::new("a", "[MEMORY:EPISODIC]"), Material::new("b", "[MEMORY:SEMANTIC]")],
        ..FrameOptions::default()
    };
    let options = Options { frame, ..Options::default() };
    // What is remembered is material: it stands in the user's role, by the newest input.
    let memory = format!("{} {}", quoted("a", "[MEMORY:EPISODIC]"), quoted("b", "[MEMORY:SEMANTIC]"));
    let expected = format!("s rules\nu one\na two\nu {memory}\nu three");
    check("u one\na two\nu three", &options, &expected);
}

#[test]
fn the_order_of_a_snapshot_holds_where_the_history_has_the_system_prompt() {
    let frame = FrameOptions { memory: vec![Material::new("a", "[MEMORY:SEMANTIC]")], ..FrameOptions::default() };
    let options = Options { frame, ..Options::default() };
    let memory = quoted("a", "[MEMORY:SEMANTIC]");
    check("s rules\nu one\na two", &options, &format!("s rules\nu {memory}\nu one\na two"));
    check("s rules", &options, &format!("s rules\nu {memory}"));
}

#[test]
fn early_trigger_a_share_of_the_input_budget_is_a_budget() {
    // `compaction_ratio * input_budget`: what the context holds can be held against any share of the limit.
    let window = Budget {
        max_context_tokens: Some(1_000),
        max_output_tokens: Some(100),
        safety_margin: Some(100),
        ..Budget::default()
    };
    assert_eq!(window.limits().tokens, Some(800));
    let history = [Message::user("x".repeat(650))];
    let context = context(&items(&history), &Options { budget: window, ..Options::default() });
    assert!(!context.over_budget);
    assert!(context.figures.tokens * 10 > context.limits.tokens.unwrap() * 8);
}

#[test]
fn building_changes_no_history() {
    let before = history("s rules\nu one\na two (c1)\nu three");
    let after = before.clone();
    for provider in Provider::ALL {
        for policy in [Policy::Newest, Policy::Stable] {
            let options = Options { provider, policy, budget: Budget::tokens(30), ..Options::default() };
            prompt(&items(&after), &options, &RenderOptions::default(), &Estimate);
        }
    }
    assert_eq!(before, after);
}

fn turns() -> Vec<Message> {
    let code = |program: &str, output: &str| {
        let kind = json!({"type": "code_turn", "program": program, "status": "ok", "output": output,
            "definitions": [{"name": &program[5..6], "value": [1, 2]}]});
        let content = format!("```lisp\n{program}\n```");
        Message::from_json(json!({"role": "assistant", "content": content, "kind": kind})).unwrap()
    };
    vec![
        Message::user("find it"),
        code("(def x (tool/get))", ""),
        Message::user("Turn 2 of 5"),
        code("(def y (tool/get))", "seen"),
        Message::user("Turn 3 of 5"),
        code("(def z (tool/get))", ""),
    ]
}

#[test]
fn compress_history_is_off_by_default() {
    assert_eq!(Options::default().compress, None);
    assert_eq!(ContextOptions::from_json(&json!({})).unwrap().build.compress, None);
    let on = ContextOptions::from_json(&json!({"compressHistory": true})).unwrap().build.compress;
    assert_eq!(on, Some(CompressOptions { println_history_limit: 15, error_window: 1 }));
    let history = turns();
    let plain = context(&items(&history), &Options::default());
    assert!(plain.messages.iter().zip(&history).all(|(found, given)| **found == *given));
}

#[test]
fn println_history_limit_is_used_only_with_compress_history() {
    let asked = ContextOptions::from_json(&json!({"printlnHistoryLimit": 3})).unwrap();
    assert_eq!(asked.build.compress, None);
}

#[test]
fn compression_timing_a_turn_is_compressed_when_the_next_one_has_begun() {
    let history = turns();
    let options = Options { compress: Some(CompressOptions::default()), ..Options::default() };
    let compressed = |length: usize| rules(&context(&items(&history[..length]), &options).ledger, Action::Compressed);
    // While a turn is the latest it is whole, whatever feedback follows; from the next one on it is a summary.
    assert_eq!(compressed(2), []);
    assert_eq!(compressed(3), []);
    assert_eq!(compressed(4), [(1, "compressed-turn")]);
    assert_eq!(compressed(5), [(1, "compressed-turn")]);
    assert_eq!(compressed(6), [(1, "compressed-turn"), (3, "compressed-turn")]);
}

#[test]
fn the_trace_holds_the_full_programs_and_both_views_come_from_it() {
    let history = turns();
    let trace = history.clone();
    let options = Options { compress: Some(CompressOptions::default()), ..Options::default() };
    let summaries = context(&items(&history), &options);
    assert_eq!(summaries.messages[1].text(), "; Defined: x = list[2], sample: 1");
    assert_eq!(summaries.messages[3].text(), "; Defined: y = list[2]\n; Output:\nseen");
    assert_eq!(history, trace);
    let whole = context(&items(&history), &Options::default());
    assert_eq!(whole.messages[1].text(), "```lisp\n(def x (tool/get))\n```");
}

#[test]
fn tool_results_are_values_not_output() {
    // What a tool gave is a sample of what was defined by it, cut short; it is no output.
    let mut history = turns();
    let kind = json!({"type": "code_turn", "program": "(def reviews (tool/search))", "status": "ok",
        "definitions": [{"name": "reviews", "value": "Customer Review Summary for Electronics: ".repeat(20)}]});
    history[1] = Message::from_json(json!({"role": "assistant", "content": "", "kind": kind})).unwrap();
    let options = Options { compress: Some(CompressOptions::default()), ..Options::default() };
    let context = context(&items(&history), &options);
    let summary = context.messages[1].text();
    assert!(summary.starts_with("; Defined: reviews = string, sample: \"Customer Review Summary"), "{summary}");
    assert!(summary.len() < 200 && !summary.contains("; Output:"), "{summary}");
}

#[test]
fn fuzz_a_result_part_without_an_id_is_not_the_users_newest_message() {
    let mut history = history("u the question\nu");
    let part = json!({"type": "tool_result", "content": "lost"});
    history[1].content = Content::Parts(vec![Part(part.as_object().unwrap().clone())]);
    let budget = Budget { max_messages: Some(0), ..Budget::default() };
    let context = context(&items(&history), &Options { budget, ..Options::default() });
    let line = context.ledger.iter().find(|line| line.index == 0).unwrap();
    assert_eq!((line.rule, line.action), (rule::NEWEST_USER, Action::Kept));
    assert_eq!(context.messages[0].role, Role::User);
    assert_eq!(lines(&shown(context.messages.iter().map(|message| &**message))), "u the question\n");
}
