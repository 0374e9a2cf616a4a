//! Payloads that were valid until something was taken out, put in twice, moved or changed: the validator finds it, under the
//! right rule.

use proptest::prelude::*;
use serde_json::{Value, json};
use threadkeep_core::Message;
use threadkeep_provider::{Provider, RenderOptions, render, validate_payload};

use crate::generate::well_formed;
use crate::support::tries;

/// Where the payload's list is.
fn list_of(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAiResponses => "input",
        Provider::Gemini => "contents",
        _ => "messages",
    }
}

/// Where results are: the place in the list, and in the blocks of that place for those who have blocks.
fn results(payload: &Value, provider: Provider) -> Vec<(usize, Option<usize>)> {
    let list = payload[list_of(provider)].as_array().unwrap();
    let mut found = Vec::new();
    for (at, entry) in list.iter().enumerate() {
        match provider {
            Provider::OpenAiChat | Provider::Ollama if entry["role"] == "tool" => found.push((at, None)),
            Provider::OpenAiResponses if entry["type"] == "function_call_output" => found.push((at, None)),
            Provider::Anthropic | Provider::Gemini => {
                let blocks = entry[if provider == Provider::Gemini { "parts" } else { "content" }].as_array().unwrap();
                let is_result = |block: &Value| block["type"] == "tool_result" || !block["functionResponse"].is_null();
                found.extend(blocks.iter().enumerate().filter(|(_, b)| is_result(b)).map(|(n, _)| (at, Some(n))));
            }
            _ => {}
        }
    }
    found
}

/// The list that holds a result, and the result's place in it.
fn holder(payload: &mut Value, provider: Provider, place: (usize, Option<usize>)) -> (&mut Vec<Value>, usize) {
    let list = payload[list_of(provider)].as_array_mut().unwrap();
    match place {
        (at, None) => (list, at),
        (at, Some(n)) => {
            let name = if provider == Provider::Gemini { "parts" } else { "content" };
            (list[at][name].as_array_mut().unwrap(), n)
        }
    }
}

fn rules(payload: &Value, provider: Provider) -> Vec<&'static str> {
    validate_payload(payload, provider).iter().map(|finding| finding.rule).collect()
}

fn each(
    messages: &[Message],
    check: impl Fn(Provider, Value, (usize, Option<usize>)) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let list: Vec<&Message> = messages.iter().collect();
    for provider in Provider::ALL {
        let payload = render(&list, provider, &RenderOptions::default()).payload;
        for place in results(&payload, provider) {
            check(provider, payload.clone(), place)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(tries(48))]

    #[test]
    fn a_result_that_is_dropped_leaves_an_unanswered_call(messages in well_formed()) {
        each(&messages, |provider, mut payload, place| {
            let (list, at) = holder(&mut payload, provider, place);
            list.remove(at);
            let rules = rules(&payload, provider);
            prop_assert!(rules.contains(&"unanswered-call"), "{}: {rules:?} {payload:#}", provider.name());
            Ok(())
        })?;
    }

    #[test]
    fn a_result_that_is_doubled_is_repeated(messages in well_formed()) {
        each(&messages, |provider, mut payload, place| {
            let (list, at) = holder(&mut payload, provider, place);
            list.insert(at, list[at].clone());
            let rules = rules(&payload, provider);
            prop_assert!(rules.contains(&"repeated-result"), "{}: {rules:?} {payload:#}", provider.name());
            Ok(())
        })?;
    }

    #[test]
    fn a_result_of_no_call_is_an_orphan(messages in well_formed()) {
        each(&messages, |provider, mut payload, place| {
            let (list, at) = holder(&mut payload, provider, place);
            let mut stray = list[at].clone();
            for name in ["tool_call_id", "call_id", "tool_use_id", "tool_name"] {
                if stray.get(name).is_some() {
                    stray[name] = json!("nobodys");
                }
            }
            if let Some(response) = stray.get_mut("functionResponse") {
                *response = json!({"name": "nobodys", "id": "nobodys", "response": {}});
            }
            list.insert(at + 1, stray);
            let rules = rules(&payload, provider);
            prop_assert!(rules.contains(&"orphan-result"), "{}: {rules:?} {payload:#}", provider.name());
            Ok(())
        })?;
    }

    #[test]
    fn a_result_moved_to_the_end_is_found(messages in well_formed()) {
        each(&messages, |provider, mut payload, place| {
            let end = payload[list_of(provider)].as_array().unwrap().len();
            let last = match provider {
                // Responses may stand anywhere behind their calls.
                Provider::OpenAiResponses => return Ok(()),
                Provider::Anthropic | Provider::Gemini => end,
                _ => end - 1,
            };
            if place.0 + 1 >= last {
                return Ok(());
            }
            let (list, at) = holder(&mut payload, provider, place);
            let moved = list.remove(at);
            let moved = match provider {
                Provider::Anthropic => json!({"role": "user", "content": [moved]}),
                Provider::Gemini => json!({"role": "user", "parts": [moved]}),
                _ => moved,
            };
            let all = payload[list_of(provider)].as_array_mut().unwrap();
            // Behind a turn of the other side, where it is the only thing that is wrong.
            if !matches!(provider, Provider::OpenAiChat | Provider::Ollama) {
                let said = json!({"role": "assistant", "content": "x"});
                all.push(if provider == Provider::Gemini { json!({"role": "model", "parts": [{"text": "x"}]}) } else { said });
            } else {
                all.push(json!({"role": "user", "content": "x"}));
            }
            all.push(moved);
            let rules = rules(&payload, provider);
            prop_assert!(rules.contains(&"unanswered-call"), "{}: {rules:?} {payload:#}", provider.name());
            let other = ["misplaced-result", "orphan-result"];
            prop_assert!(rules.iter().any(|rule| other.contains(rule)), "{}: {rules:?} {payload:#}", provider.name());
            Ok(())
        })?;
    }

    #[test]
    fn a_call_that_is_dropped_leaves_an_orphan(messages in well_formed()) {
        each(&messages, |provider, mut payload, place| {
            let at = match provider {
                Provider::OpenAiResponses => {
                    let list = payload["input"].as_array().unwrap();
                    let id = &list[place.0]["call_id"];
                    list.iter().position(|item| item["call_id"] == *id).unwrap()
                }
                _ => {
                    let list = payload[list_of(provider)].as_array().unwrap();
                    let speaks = |entry: &Value| entry["role"] == "assistant" || entry["role"] == "model";
                    list[..place.0].iter().rposition(speaks).unwrap()
                }
            };
            payload[list_of(provider)].as_array_mut().unwrap().remove(at);
            let rules = rules(&payload, provider);
            // Without ids, a result of the same tool's looks like a second one of the call before.
            let found = rules.contains(&"orphan-result") || provider == Provider::Ollama && rules.contains(&"repeated-result");
            prop_assert!(found, "{}: {rules:?} {payload:#}", provider.name());
            Ok(())
        })?;
    }

    #[test]
    fn turns_that_change_places_are_found(messages in well_formed(), at in any::<prop::sample::Index>()) {
        let list: Vec<&Message> = messages.iter().collect();
        for provider in [Provider::Anthropic, Provider::Gemini] {
            let mut payload = render(&list, provider, &RenderOptions::default()).payload;
            let turns = payload[list_of(provider)].as_array_mut().unwrap();
            if turns.len() < 2 {
                continue;
            }
            let at = at.index(turns.len() - 1);
            turns.swap(at, at + 1);
            let rules = rules(&payload, provider);
            let expected = ["first-role", "last-role", "alternation"];
            prop_assert!(rules.iter().any(|rule| expected.contains(rule)), "{}: {rules:?} {payload:#}", provider.name());
        }
    }
}
