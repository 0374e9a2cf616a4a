//! Models asked over Node's `fetch`, at a server of this machine that fails in every way (`tests/support/model-server.mjs`). Run by
//! `cargo test -p threadkeep-fetch --target wasm32-unknown-unknown` with wasm-bindgen's runner, which runs it in Node.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

mod support;

use std::cell::Cell;
use std::rc::Rc;

use serde_json::json;
use support::{Heard, PROVIDERS, Server, ask, connected};
use threadkeep::model::{Call, Model};
use threadkeep_provider::{Delta, Finish, Provider};
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
async fn all_five_wires_say_the_same() {
    let server = Server::start(json!({})).await;
    for provider in PROVIDERS {
        for chunk in [json!(null), json!(1), json!(17)] {
            server.next(json!({
                "text": "Grüße 👋 from Bergen.", "reasoning": "They greet me.", "chunk": chunk,
                "calls": [{"name": "add", "arguments": {"a": 1}}, {"name": "look", "arguments": "{\"q\": \"x\"}"}],
            }));
            let (result, heard) = ask(&connected(&server, provider, json!({}))).await;
            let completion = result.unwrap();
            let message = &completion.message;
            assert_eq!(message.text(), "Grüße 👋 from Bergen.", "{}", provider.name());
            assert_eq!(message.reasoning.as_deref(), Some("They greet me."), "{}", provider.name());
            let calls: Vec<_> = message.tool_calls.iter().map(|call| call.name()).collect();
            assert_eq!((calls, completion.finish), (vec!["add", "look"], Finish::ToolCalls), "{}", provider.name());
            assert_eq!(completion.usage.unwrap().prompt_tokens, 10);
            assert_eq!(heard.text(), message.text());
        }
    }
}

#[wasm_bindgen_test]
async fn whole_answers_are_read_too() {
    let server = Server::start(json!({})).await;
    for provider in PROVIDERS {
        server
            .next(json!({"text": "All at once.", "stream": false, "calls": [{"name": "add", "arguments": {"a": 1}}]}));
        let completion = ask(&connected(&server, provider, json!({}))).await.0.unwrap();
        assert_eq!(completion.message.text(), "All at once.", "{}", provider.name());
        assert_eq!(completion.message.tool_calls.len(), 1);
    }
}

#[wasm_bindgen_test]
async fn each_fault_ends_in_words_and_the_next_turn_works() {
    let server = Server::start(json!({})).await;
    let cases = [
        (json!({"fault": "status", "status": 400, "message": "bad field"}), "refused", "bad field"),
        (
            json!({"fault": "status", "status": 401, "message": "Incorrect API key provided: sk-test-1"}),
            "unauthorized",
            "key",
        ),
        (json!({"fault": "status", "status": 403}), "unauthorized", "allow"),
        (json!({"fault": "status", "status": 404, "message": "no such model"}), "not-found", "test-model"),
        (json!({"fault": "too-long"}), "too-long", "budget"),
        (json!({"fault": "html"}), "bad-answer", "Welcome to the router"),
        (json!({"fault": "garbage", "text": "One two three"}), "bad-answer", "no answer of a model"),
        (json!({"fault": "cut", "text": "One two three four five six", "after": 5}), "cut-off", "broke off"),
        (json!({"fault": "end", "text": "One two three four five six", "after": 5}), "cut-off", "broke off"),
        (json!({"fault": "stall", "text": "One two three four five six", "after": 5}), "stalled", "silent"),
        (json!({"fault": "silence"}), "stalled", "did not begin"),
        (json!({"fault": "error", "text": "One two three four five six", "after": 5}), "failed", "on the way"),
    ];
    for provider in PROVIDERS {
        for (answer, code, words) in &cases {
            server.next(answer.clone());
            let model = connected(&server, provider, json!({"timeoutMs": 300, "apiKey": "sk-test-1"}));
            let (result, heard) = ask(&model).await;
            let failure = result.unwrap_err();
            let place = format!("{} {answer}: {failure:?}", provider.name());
            assert_eq!(failure.code, *code, "{place}");
            assert!(failure.message.contains(words), "{place}");
            assert!(!failure.message.contains("sk-test-1"), "{place}");
            let partial = failure.partial.map(|message| message.text().into_owned()).unwrap_or_default();
            assert_eq!(partial, heard.text(), "what was heard is kept: {place}");
            // The next turn works.
            server.next(json!({"text": "Good day."}));
            assert_eq!(ask(&model).await.0.unwrap().message.text(), "Good day.", "{place}");
        }
    }
}

#[wasm_bindgen_test]
async fn what_passes_is_tried_again() {
    let server = Server::start(json!({})).await;
    for provider in PROVIDERS {
        server.next(json!({"fault": "status", "status": 429, "retryAfterMs": 5}));
        server.next(json!({"fault": "status", "status": 503, "retryAfter": 0.01}));
        server.next(json!({"fault": "status", "status": 529, "retryAfter": 0}));
        server.next(json!({"text": "At last."}));
        let (result, heard) = ask(&connected(&server, provider, json!({}))).await;
        assert_eq!(result.unwrap().message.text(), "At last.");
        assert_eq!(heard.retries(), [(2, 5), (3, 10), (4, 0)]);
    }
    // Four times, and no more.
    let provider = Provider::OpenAiChat;
    for _ in 0..4 {
        server.next(json!({"fault": "status", "status": 500, "retryAfter": 0}));
    }
    let failure = ask(&connected(&server, provider, json!({}))).await.0.unwrap_err();
    assert_eq!(failure.code, "failed");
    assert!(failure.message.contains("4 times"), "{failure}");
    // Whoever wants an hour gets none.
    server.next(json!({"fault": "status", "status": 429, "retryAfter": 3600}));
    let (result, heard) = ask(&connected(&server, provider, json!({}))).await;
    let failure = result.unwrap_err();
    assert!(
        failure.code == "rate-limited" && failure.message.contains("60 min") && heard.retries().is_empty(),
        "{failure}"
    );
}

#[wasm_bindgen_test]
async fn wrong_usage_and_malformed_arguments_are_no_failures() {
    let server = Server::start(json!({})).await;
    for provider in PROVIDERS {
        for usage in ["negative", "text", "absurd"] {
            server.next(json!({"text": "Fine.", "usage": usage}));
            let (result, heard) = ask(&connected(&server, provider, json!({}))).await;
            let completion = result.unwrap();
            assert_eq!((completion.message.text().as_ref(), completion.usage), ("Fine.", None));
            assert_eq!(heard.warnings(), 1, "{} {usage}", provider.name());
        }
        server.next(json!({"fault": "arguments", "calls": [{"name": "add", "arguments": {"a": 1}}]}));
        let completion = ask(&connected(&server, provider, json!({}))).await.0.unwrap();
        let arguments = completion.message.tool_calls[0].arguments();
        assert!(arguments.contains("oops"), "{} {arguments}", provider.name());
    }
}

#[wasm_bindgen_test]
async fn nobody_there() {
    let server = Server::start(json!({})).await;
    let model = connected(&server, Provider::Ollama, json!({}));
    server.close().await;
    let failure = ask(&model).await.0.unwrap_err();
    assert_eq!(failure.code, "unreachable");
    assert!(failure.message.contains("ECONNREFUSED") && failure.message.contains("running"), "{failure}");
}

#[wasm_bindgen_test]
async fn dropping_the_answer_ends_the_request() {
    let server = Server::start(json!({})).await;
    server.next(json!({"text": "One two three four", "delay": 40}));
    let model = connected(&server, Provider::OpenAiChat, json!({}));
    let payload = support::payload(&model);
    let begun = Rc::new(Cell::new(false));
    let seen = begun.clone();
    let heard = move |delta: Delta| seen.set(seen.get() | matches!(delta, Delta::Text(_)));
    let call = Call { messages: &[], payload: &payload, tools: &[] };
    let mut answer = model.call(call, &heard);
    // Until the first word is heard.
    std::future::poll_fn(|context| {
        assert!(answer.as_mut().poll(context).is_pending());
        if begun.get() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    drop(answer);
    server.until_aborted().await;
}

#[wasm_bindgen_test]
async fn models_are_listed_and_keys_asked_for() {
    let server = Server::start(json!({"key": "sk-test-2"})).await;
    for provider in PROVIDERS {
        let model = connected(&server, provider, json!({"apiKey": "sk-test-2"}));
        let listed: Vec<_> = model.models().await.unwrap().into_iter().map(|listed| listed.id).collect();
        assert_eq!(listed, ["test-model", "small-model"], "{}", provider.name());
        let failure = connected(&server, provider, json!({"apiKey": "sk-wrong"})).models().await.unwrap_err();
        assert_eq!(failure.code, "unauthorized", "{}", provider.name());
        assert_eq!(ask(&connected(&server, provider, json!({}))).await.0.unwrap_err().code, "unauthorized");
    }
}

#[wasm_bindgen_test]
fn the_heard_are_told_apart() {
    // The helper that the other tests rely on.
    let heard = Heard::default();
    heard.push(Delta::Text("a".into()));
    heard.push(Delta::WasReasoning);
    heard.push(Delta::Text("b".into()));
    assert_eq!(heard.text(), "b");
}
