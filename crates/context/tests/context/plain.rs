//! Options and contexts as JSON.

use serde_json::json;
use threadkeep_context::{
    Budget, Mode, Only, OptionError, Policy, Preview, Previews, Selection, System, build, items, pins,
};
use threadkeep_core::MessageId;
use threadkeep_protocol::{ContextOptions, Counting, trim_options};
use threadkeep_provider::Provider;

use crate::common::{Letters, history};

#[test]
fn every_option_of_context_is_read() {
    let asked = ContextOptions::from_json(&json!({
        "provider": "anthropic", "encoding": "cl100k_base", "model": "m", "policy": "stable", "pins": [3, "n", {"node": "n", "index": 1}],
        "budget": {"maxTokens": 1, "maxContextTokens": 2, "maxOutputTokens": 3, "safetyMargin": 4, "maxMessages": 5, "maxChars": 6},
        "mode": "run", "systemPrompt": "s", "persona": "p", "run": {"directive": "d", "nodeBrief": "b", "step": {"n": 1}},
        "compressHistory": true, "printlnHistoryLimit": 7, "errorWindow": 2, "toolPreview": {"over": 9},
        "includeToolResultsInContext": false, "includeCollapsedUiEventsInContext": true,
        "only": {"mode": "run", "runId": "r", "workflowId": "w"},
        "memory": {"facts": 3}, "tools": [{"name": "t"}], "epoch": "e", "live": true,
    }))
    .unwrap();
    let options = &asked.build;
    assert_eq!((options.provider, options.policy), (Provider::Anthropic, Policy::Stable));
    let budget = Budget {
        max_tokens: Some(1),
        max_context_tokens: Some(2),
        max_output_tokens: Some(3),
        safety_margin: Some(4),
        max_messages: Some(5),
        max_chars: Some(6),
    };
    assert_eq!(options.budget, budget);
    assert_eq!(options.frame.mode, Some(Mode::Run));
    assert_eq!(options.frame.run.as_ref().unwrap().step.as_deref(), Some("{\"n\":1}"));
    assert_eq!(options.previews, Previews::Over(Preview { over: 9, keep: 500 }));
    let only = Only { mode: Some(Mode::Run), run_id: Some("r".into()), workflow_id: Some("w".into()) };
    assert_eq!(options.selection, Selection { tool_results: false, collapsed: true, only });
    let compress = options.compress.unwrap();
    assert_eq!((compress.println_history_limit, compress.error_window), (7, 2));
    assert_eq!((asked.pins.len(), asked.encoding.name(), asked.epoch.as_deref()), (3, "cl100k_base", Some("e")));
    assert!(options.live);
    // Compression is off unless it is asked for.
    assert_eq!(ContextOptions::from_json(&json!({"errorWindow": 2})).unwrap().build.compress, None);
    let none = ContextOptions::from_json(&json!({"budget": null, "toolPreview": null})).unwrap();
    assert_eq!(none, Default::default());
}

#[test]
fn unknown_and_wrong_options_are_named() {
    let error = |value| ContextOptions::from_json(&value).unwrap_err().to_string();
    for (given, said) in [
        (json!({"budgets": 1}), "budgets"),
        (json!({"budget": {"maxToken": 1}}), "budget.maxToken"),
        (json!({"budget": {"maxTokens": -1}}), "budget.maxTokens must be a whole number"),
        (json!({"budget": {"maxTokens": 1.5}}), "budget.maxTokens"),
        (json!({"policy": "oldest"}), "policy must be newest or stable"),
        (json!({"provider": "x"}), "provider"),
        (json!({"mode": 1}), "mode"),
        (json!({"pins": [null]}), "pins[0]"),
        (json!({"pins": [{"node": "n"}]}), "pins[0]"),
        (json!({"toolPreview": true}), "toolPreview"),
        (json!({"toolPreview": {"of": 1}}), "toolPreview.of"),
        (json!({"run": {"steps": 1}}), "run.steps"),
        (json!({"memory": true}), "memory"),
        (json!([]), "options must be an object"),
    ] {
        assert!(error(given.clone()).contains(said), "{given}: {}", error(given.clone()));
    }
    let (options, encoding) =
        trim_options(r#"{"budget": {"maxMessages": 0}, "pins": [1], "includeSystem": false, "encoding": "estimate"}"#)
            .unwrap();
    assert_eq!((options.system, options.pins, encoding), (System::Excluded, vec![1], Counting::Estimate));
    let wrong = |text| trim_options(text).unwrap_err().argument;
    assert_eq!(wrong(r#"{"mode": "chat"}"#), "options.mode");
    assert_eq!(wrong(r#"{"pins": ["n"]}"#), "options.pins[0]");
    assert_eq!(wrong(r#"{"encoding": "e"}"#), "options.encoding");
}

#[test]
fn pins_are_found_by_place_and_by_node() {
    let messages = history("u a\na b\nu c");
    let (first, second) = (MessageId::new("n1").unwrap(), MessageId::new("n2").unwrap());
    let mut items = items(&messages);
    for (at, node) in [&first, &second, &second].into_iter().enumerate() {
        items[at].node = Some(node);
    }
    let found = |value| pins(&ContextOptions::from_json(&json!({ "pins": value })).unwrap().pins, &items);
    assert_eq!(found(json!([2, "n2", {"node": "n2", "index": 1}])), Ok(vec![2, 1, 2, 2]));
    assert_eq!(found(json!([0, 3])), Err(OptionError::Pin { at: 1 }));
    assert_eq!(found(json!(["n3"])), Err(OptionError::Pin { at: 0 }));
    let budget = Budget { max_messages: Some(2), ..Budget::default() };
    let context = build(&items, &threadkeep_context::Options { budget, pins: vec![0], ..Default::default() }, &Letters);
    assert_eq!(
        context.to_json(),
        json!({
            "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "c"}],
            "ledger": [
                {"node": "n1", "index": 0, "action": "pinned", "rule": "pinned", "tokensBefore": 5, "tokensAfter": 5},
                {"node": "n2", "index": 1, "action": "dropped", "rule": "over-max-messages", "tokensBefore": 5, "tokensAfter": 0},
                {"node": "n2", "index": 2, "action": "kept", "rule": "newest-user", "tokensBefore": 5, "tokensAfter": 5},
                {"index": 3, "action": "injected", "rule": "reply", "tokensBefore": 0, "tokensAfter": 3},
            ],
            "tokens": 13, "budget": null, "overBudget": false, "warnings": [],
            "kinds": {"system": 0, "user": 10, "assistant": 0, "reasoning": 0, "calls": 0, "results": 0, "injected": 3, "tools": 0, "memory": 0},
            "figures": {"tokens": 13, "messages": 2, "chars": 2},
            "limits": {"tokens": null, "messages": 2, "chars": null},
        })
    );
}
