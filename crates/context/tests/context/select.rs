//! Which messages of a log prompts may have: filters, collapsed events, tool results.

use proptest::prelude::*;
use serde_json::{Value, json};
use threadkeep_context::tokens::Estimate;
use threadkeep_context::{Frame, Mode, Only, Options, Prepared, Selection, build, items, rule, trim_messages};
use threadkeep_core::Message;

use crate::common::{check_rendered, context, history, rules, shown};
use crate::transcripts::{Choices, transcript};

/// A history, with a field more in the message at each place.
fn tagged(text: &str, fields: &[(usize, &str, Value)]) -> Vec<Message> {
    let mut history = history(text);
    for (place, field, value) in fields {
        history[*place].extra.insert((*field).to_owned(), value.clone());
    }
    history
}

fn with(selection: Selection) -> Options {
    Options { selection, ..Options::default() }
}

fn only(only: Only) -> Options {
    with(Selection { only, ..Selection::default() })
}

fn prompt(history: &[Message], options: &Options) -> (String, Vec<(usize, &'static str)>) {
    let items = items(history);
    let context = context(&items, options);
    check_rendered(&context, options.provider);
    let shown = shown(context.messages.iter().map(|message| &**message));
    (shown, rules(&context.ledger, threadkeep_context::Action::Dropped))
}

#[test]
fn a_filter_leaves_out_other_modes_runs_and_workflows_and_keeps_what_names_none() {
    let fields = [
        (1, "mode", json!("run")),
        (1, "runId", json!("one")),
        (1, "workflowId", json!("w")),
        (2, "mode", json!("run")),
        (2, "runId", json!("two")),
        (3, "mode", json!("chat")),
    ];
    let history = tagged("u plain\nu one\nu two\nu chat", &fields);
    let run = Only { mode: Some(Mode::Run), ..Only::default() };
    assert_eq!(prompt(&history, &only(run.clone())), ("u plain\nu one\nu two\n".into(), vec![(3, rule::FILTERED)]));
    let one = Only { run_id: Some("one".into()), ..run };
    let both = vec![(2, rule::FILTERED), (3, rule::FILTERED)];
    assert_eq!(prompt(&history, &only(one)), ("u plain\nu one\n".into(), both));
    let other = Only { workflow_id: Some("v".into()), ..Only::default() };
    assert_eq!(prompt(&history, &only(other)), ("u plain\nu two\nu chat\n".into(), vec![(1, rule::FILTERED)]));
    assert_eq!(prompt(&history, &only(Only::default())).1, []);
}

#[test]
fn a_filtered_call_takes_its_result_along_and_an_equal_id_of_another_run_stays() {
    let text = "u go\na (c)\nt c first\na (c)\nt c second\nu next";
    let fields = [(1, "runId", json!("one")), (2, "runId", json!("two")), (3, "runId", json!("two"))];
    let history = tagged(text, &fields);
    let two = Only { run_id: Some("two".into()), ..Only::default() };
    let out = vec![(1, rule::FILTERED), (2, rule::FILTERED)];
    assert_eq!(prompt(&history, &only(two)), ("u go\na (c)\nt c second\nu next\n".into(), out));
    // The result says another run than its call: it goes with the call.
    let one = Only { run_id: Some("one".into()), ..Only::default() };
    let out = vec![(3, rule::FILTERED), (4, rule::FILTERED)];
    assert_eq!(prompt(&history, &only(one)), ("u go\na (c)\nt c first\nu next\n".into(), out));
}

#[test]
fn collapsed_events_are_left_out_unless_they_are_asked_for() {
    let folded = (0..6).map(|place| (place, "isCollapsed", json!(true))).collect::<Vec<_>>();
    let history = tagged("u go\na (c)\nt c x\na log of the run\nnote moved\nu next\na open", &folded);
    let (shown, out) = prompt(&history, &Options::default());
    assert_eq!(shown, "u go\na (c)\nt c x\nu next\na open\n");
    assert_eq!(out, [(3, rule::COLLAPSED), (4, rule::COLLAPSED)]);
    let all = prompt(&history, &with(Selection { collapsed: true, ..Selection::default() }));
    assert!(all.0.contains("a log of the run") && all.1.is_empty(), "{all:?}");
    // Who trims a list means its messages.
    assert_eq!(trim_messages(&history, &Default::default(), &Estimate).messages.len(), history.len());
}

#[test]
fn without_tool_results_each_call_keeps_the_path_of_its_result_until_the_user_spoke() {
    let text = "u go\na (c)\nt c long ago\n* t d pinned\na done\nu next\na (e)\nt e new";
    let mut history = history(text);
    history[1].tool_calls.push(threadkeep_core::ToolCall::function("d", "f", "{}"));
    let options = with(Selection { tool_results: false, ..Selection::default() });
    let (shown, out) = prompt(&history, &options);
    let path = "t c TOOL_RESULT left out of this prompt. Full output: @state/logs/tool-results/c.json";
    assert_eq!(shown, format!("u go\na (c d)\n{path}\nt d pinned\na done\nu next\na (e)\nt e new\n"));
    assert!(out.is_empty());
    let all = items(&history);
    let found = context(&all, &options);
    assert!(found.ledger.iter().any(|line| (line.index, line.rule) == (2, rule::RESULT_LEFT_OUT)));
    let grown = [history.clone(), crate::common::history("a fine\nu third")].concat();
    assert!(!prompt(&grown, &options).0.contains("t e new"));
    assert!(!options.preparing().grows(), "a prepared chain would show the old results");
}

proptest! {
    #[test]
    fn a_filtered_history_that_grew_is_one_that_came_at_once(
        bytes in prop::collection::vec(any::<u8>(), 0..300), tags in prop::collection::vec(0u8..6, 1..9), cut: u8,
    ) {
        let mut history = transcript(&mut Choices::new(&bytes));
        for (message, tag) in history.iter_mut().zip(tags.iter().cycle()) {
            match tag {
                0 => drop(message.extra.insert("isCollapsed".into(), true.into())),
                1 | 2 => drop(message.extra.insert("runId".into(), json!(if *tag == 1 { "one" } else { "two" }))),
                _ => {}
            }
        }
        let options = only(Only { run_id: Some("one".into()), ..Only::default() });
        let all = items(&history);
        let frame = Frame::new(&options.frame, options.provider, &Estimate);
        let whole = build(&all, &options, &Estimate);
        let end = usize::from(cut) * all.len() / 256;
        let mut grown = Prepared::new(&all[..end], options.preparing(), &Estimate);
        grown.extend(&all, &Estimate);
        let fit = grown.fit(&options.plan(&frame));
        let grown = grown.context(&all.as_slice(), &fit, &frame);
        prop_assert_eq!(grown.ledger.to_vec(), whole.ledger.to_vec());
        crate::common::check_sums(&whole);
        check_rendered(&whole, options.provider);
        for message in &whole.messages {
            prop_assert_ne!(message.extra.get("runId").filter(|_| message.tool_call_id.is_none()), Some(&json!("two")));
        }
    }
}
