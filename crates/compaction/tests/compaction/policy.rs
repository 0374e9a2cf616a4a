//! When a history is compacted: the figures of the memory design and of the message store.

use threadkeep_compaction::memory::Share;
use threadkeep_compaction::policy::{MODELS, model_limits};
use threadkeep_compaction::{Policy, PolicyOptions, Reason, Requests};
use threadkeep_core::checkpoint::Strategy;

fn policy(context: u64, output: u64, margin: u64) -> Policy {
    let call = PolicyOptions {
        max_context_tokens: Some(context),
        max_output_tokens: Some(output),
        safety_margin: Some(margin),
        ..PolicyOptions::default()
    };
    Policy::resolve(&call, &PolicyOptions::default(), None)
}

#[test]
fn the_input_budget_is_context_less_output_less_margin() {
    assert_eq!(policy(200_000, 8_000, 2_000).input_budget(), 190_000);
    assert_eq!(policy(1_000, 8_000, 2_000).input_budget(), 0);
}

#[test]
fn an_unknown_model_has_200000_tokens() {
    let policy = Policy::resolve(&PolicyOptions::default(), &PolicyOptions::default(), Some("nobody-knows-it"));
    assert_eq!((policy.max_context_tokens, policy.compaction_ratio), (200_000, Share::of(800)));
}

#[test]
fn each_input_of_the_budget_can_be_configured() {
    let none = PolicyOptions::default();
    let before = Policy::resolve(&none, &none, None).input_budget();
    let budget = |call: &PolicyOptions, keep: &PolicyOptions| Policy::resolve(call, keep, None).input_budget();
    for (options, expected) in [
        (PolicyOptions { max_context_tokens: Some(300_000), ..none }, before + 100_000),
        (PolicyOptions { max_output_tokens: Some(9_000), ..none }, before - 1_000),
        (PolicyOptions { safety_margin: Some(0), ..none }, before + 1_000),
    ] {
        assert_eq!((budget(&options, &none), budget(&none, &options)), (expected, expected));
    }
    let early = PolicyOptions { compaction_ratio: Some(Share::of(100)), ..none };
    assert_eq!(Policy::resolve(&early, &none, None).reason(Some(before / 5), 1), Some(Reason::EarlyRatio));
    assert_eq!(Policy::resolve(&none, &none, None).reason(Some(before / 5), 1), None);
}

#[test]
fn the_context_of_a_model_is_its_metadata() {
    let none = PolicyOptions::default();
    for (model, context) in
        [("gpt-4o", 128_000), ("claude-sonnet-5", 1_000_000), ("anthropic/claude-opus-4-5", 200_000)]
    {
        let policy = Policy::resolve(&none, &none, Some(model));
        assert_eq!(policy.max_context_tokens, context, "{model}");
        assert_eq!(policy.reason(Some(policy.input_budget() + 1), 1), Some(Reason::OverBudget));
    }
}

#[test]
fn the_trigger_is_on_reported_prompt_tokens() {
    let policy = policy(1_100, 50, 50);
    assert_eq!(policy.reason(Some(800), 9), None);
    assert_eq!(policy.reason(Some(801), 9), Some(Reason::EarlyRatio));
    assert_eq!(policy.reason(Some(1_000), 9), Some(Reason::EarlyRatio));
    assert_eq!(policy.reason(Some(1_001), 9), Some(Reason::OverBudget));
    assert_eq!(policy.reason(None, 9), None);
}

#[test]
fn precedence_is_call_then_keep_then_model_then_default() {
    let call = PolicyOptions { safety_margin: Some(1), ..PolicyOptions::default() };
    let keep =
        PolicyOptions { safety_margin: Some(2), compaction_ratio: Some(Share::of(500)), ..PolicyOptions::default() };
    let policy = Policy::resolve(&call, &keep, Some("gpt-4o-2024-11-20"));
    assert_eq!(policy.safety_margin, 1);
    assert_eq!(policy.compaction_ratio, Share::of(500));
    assert_eq!((policy.max_context_tokens, policy.max_output_tokens), (128_000, 16_384));
}

#[test]
fn the_longest_beginning_of_a_models_name_counts() {
    assert_eq!(model_limits("gpt-4.1-mini"), Some((1_047_576, 32_768)));
    assert_eq!(model_limits("gpt-4"), Some((8_192, 2_048)));
    assert_eq!(model_limits("openai/gpt-5.1"), Some((400_000, 128_000)));
    assert_eq!(model_limits("claude-opus-4-1-20250805"), Some((200_000, 32_000)));
    assert_eq!(model_limits("claude-opus-4-8"), Some((1_000_000, 128_000)));
    assert_eq!(model_limits("gpt-5.4-mini-2026-03-17"), Some((400_000, 128_000)));
    // Llama 3 itself had 8,192: it is not taken for its successors.
    assert_eq!((model_limits("llama3:8b"), model_limits("llama3.1:8b")), (None, Some((131_072, 32_768))));
    assert!(MODELS.is_sorted_by_key(|(begin, ..)| begin));
    assert!(MODELS.iter().all(|(_, context, output)| output < context));
}

#[test]
fn the_compaction_threshold_counts_messages() {
    let call = PolicyOptions { compaction_threshold: Some(100), ..PolicyOptions::default() };
    let policy = Policy::resolve(&call, &PolicyOptions::default(), None);
    assert_eq!(policy.reason(None, 100), None);
    assert_eq!(policy.reason(None, 101), Some(Reason::Messages));
}

#[test]
fn a_request_waits_and_never_fires_twice_on_the_same_content() {
    let mut requests = Requests::default();
    assert!(requests.request(Reason::EarlyRatio, "a"));
    assert!(requests.request(Reason::OverBudget, "b"));
    assert_eq!(requests.pending(), Some(Reason::EarlyRatio));
    requests.settle("b");
    assert!(!requests.request(Reason::OverBudget, "b"));
    // By hand it can be asked for all the same.
    assert!(requests.request(Reason::Manual, "b"));
    requests.settle("b");
    assert!(requests.request(Reason::OverBudget, "c"));
}

#[test]
fn strategies_have_their_names() {
    for (strategy, name) in Strategy::ALL.into_iter().zip(["sliding-window", "summarize", "hierarchical"]) {
        assert_eq!((strategy.name(), Strategy::from_name(name)), (name, Some(strategy)));
        assert_eq!(serde_json::to_value(strategy).unwrap(), name);
    }
}

#[test]
fn a_request_reads_what_it_writes() {
    let read = serde_json::from_value::<Requests>;
    let mut requests = Requests::default();
    for step in 0..5 {
        match step {
            1 | 4 => assert!(requests.request(Reason::ALL[step - 1], "a")),
            2 => requests.settle("a"),
            3 => requests.settle("b"),
            _ => {}
        }
        assert_eq!(read(serde_json::to_value(&requests).unwrap()).unwrap(), requests);
    }
    assert_eq!(serde_json::to_value(&requests).unwrap(), serde_json::json!({"pending": "manual", "settled": "b"}));
    let error = read(serde_json::json!({"pending": "boredom"})).unwrap_err().to_string();
    assert!(error.contains("unknown variant `boredom`, expected one of `over-budget`"), "{error}");
    assert!(read(serde_json::json!([])).is_err());
}
