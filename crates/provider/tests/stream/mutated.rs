//! Answers that are not as they should be in any way: events lost, doubled, swapped, values replaced, bytes changed. Reading them
//! never panics, does not depend on how they were cut, and what is read can be sent back.

use proptest::prelude::*;
use serde_json::{Value, json};
use threadkeep_provider::Provider;

use crate::support::{next_turn_of_anything, read_by, tries};
use crate::{anthropic, openai_responses};

/// A full answer of each wire, as a list of values.
fn answer(provider: Provider) -> Vec<Value> {
    match provider {
        Provider::Anthropic => anthropic::thoughtful(),
        Provider::OpenAiResponses => openai_responses::stream(),
        Provider::OpenAiChat => {
            let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
            vec![
                chunk(json!({"role": "assistant", "content": ""})),
                chunk(
                    json!({"reasoning_content": "Hm", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Hm"}]}),
                ),
                chunk(json!({"content": "<think>So</think> I "})),
                chunk(json!({"content": "add. <tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>"})),
                chunk(
                    json!({"tool_calls": [{"index": 0, "id": "c0", "type": "function", "function": {"name": "add", "arguments": ""}}]}),
                ),
                chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"a\": 1"}}]})),
                chunk(
                    json!({"tool_calls": [{"index": 1, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}),
                ),
                chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]})),
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 1}}}),
            ]
        }
        Provider::Gemini => {
            let chunk = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
            vec![
                chunk(json!([{"text": "Hm", "thought": true}])),
                chunk(json!([{"text": "I add."}])),
                chunk(
                    json!([{"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "c2ln"}, {"functionCall": {"name": "look", "args": {}}}]),
                ),
                json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}),
            ]
        }
        Provider::Ollama => vec![
            json!({"message": {"role": "assistant", "content": "", "thinking": "Hm"}, "done": false}),
            json!({"message": {"role": "assistant", "content": "I add."}, "done": false}),
            json!({"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}, "done": false}),
            json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4}),
        ],
    }
}

/// A change to a list of events.
#[derive(Debug, Clone)]
enum Change {
    Drop(prop::sample::Index),
    Double(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    /// Another value in place of one somewhere inside.
    Replace(prop::sample::Index, Vec<prop::sample::Index>, Value),
}

fn values() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(7),
        json!(1e99),
        json!(18_446_744_073_709_551_615u64),
        json!(""),
        json!("x"),
        json!("{"),
        json!("tool_use"),
        json!("text"),
        json!("reasoning"),
        json!("error"),
        json!("length"),
        json!([]),
        json!({}),
        json!([null]),
        json!({"text": 5}),
        json!({"type": "tool_use", "id": "c", "name": "add", "input": []}),
        json!(["a", {"name": "add"}]),
    ])
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let index = any::<prop::sample::Index>;
    let change = prop_oneof![
        1 => index().prop_map(Change::Drop),
        1 => index().prop_map(Change::Double),
        1 => (index(), index()).prop_map(|(a, b)| Change::Swap(a, b)),
        4 => (index(), prop::collection::vec(index(), 1..6), values()).prop_map(|(at, path, value)| Change::Replace(at, path, value)),
    ];
    prop::collection::vec(change, 0..5)
}

fn apply(events: &mut Vec<Value>, change: &Change) {
    if events.is_empty() {
        return;
    }
    let count = events.len();
    match change {
        Change::Drop(at) => {
            events.remove(at.index(count));
        }
        Change::Double(at) => {
            let at = at.index(count);
            events.insert(at, events[at].clone());
        }
        Change::Swap(a, b) => events.swap(a.index(count), b.index(count)),
        Change::Replace(at, path, value) => {
            replace(&mut events[at.index(count)], path, value);
        }
    }
}

fn replace(place: &mut Value, path: &[prop::sample::Index], value: &Value) {
    let Some((step, rest)) = path.split_first() else {
        *place = value.clone();
        return;
    };
    match place {
        Value::Object(map) if !map.is_empty() => {
            let at = step.index(map.len());
            replace(map.values_mut().nth(at).unwrap(), rest, value);
        }
        Value::Array(list) if !list.is_empty() => {
            let at = step.index(list.len());
            replace(&mut list[at], rest, value);
        }
        other => *other = value.clone(),
    }
}

fn check(provider: Provider, bytes: &[u8]) -> Result<(), TestCaseError> {
    let tools = ["add", "look"];
    let whole = read_by(provider, bytes, usize::MAX, &tools);
    for size in [1, 9] {
        prop_assert_eq!(read_by(provider, bytes, size, &tools), whole.clone());
    }
    match &whole.result {
        Ok(completion) => next_turn_of_anything(provider, &completion.message),
        Err(fault) => prop_assert!(!fault.message.is_empty() && !fault.code.is_empty()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(tries(1500))]

    #[test]
    fn events_that_went_astray(which in 0..5usize, changes in changes()) {
        let provider = Provider::ALL[which];
        let mut events = answer(provider);
        for change in &changes {
            apply(&mut events, change);
        }
        let text: String = if provider == Provider::Ollama {
            events.iter().map(|event| format!("{event}\n")).collect()
        } else {
            events.iter().map(|event| format!("data: {event}\n\n")).collect()
        };
        check(provider, text.as_bytes())?;
    }

    #[test]
    fn bytes_that_went_astray(which in 0..5usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 0..4)) {
        let provider = Provider::ALL[which];
        let mut bytes: Vec<u8> = answer(provider).iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        check(provider, &bytes)?;
    }
}
