//! Ollama: NDJSON.

use serde_json::{Value, json};
use threadkeep_provider::Provider::Ollama;
use threadkeep_provider::{Finish, Usage};

use crate::support::{next_turn, read, read_with};

fn lines(messages: &[Value], end: Value) -> String {
    let mut all = String::new();
    for message in messages {
        all.push_str(&json!({"model": "m", "message": message, "done": false}).to_string());
        all.push('\n');
    }
    all + &end.to_string() + "\n"
}

fn end(reason: &str) -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason, "prompt_eval_count": 26, "eval_count": 298})
}

#[test]
fn thinking_text_and_calls() {
    let messages = [
        json!({"role": "assistant", "content": "", "thinking": "Hm, "}),
        json!({"role": "assistant", "content": "", "thinking": "so."}),
        json!({"role": "assistant", "content": "I \"add\" {"}),
        json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"index": 0, "name": "add", "arguments": {"a": 1}}}]}),
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": "call_x", "function": {"name": "add", "arguments": {"a": 2}}}]}),
    ];
    let read = read(Ollama, &lines(&messages, end("stop")));
    assert_eq!((read.reasoning.as_str(), read.text.as_str()), ("Hm, so.", "I \"add\" {"));
    assert_eq!(read.calls.len(), 2);
    assert_eq!(read.message().tool_calls[1].id(), "call_x");
    let completion = read.completion();
    assert_eq!(
        (completion.finish.clone(), completion.usage),
        (
            Finish::ToolCalls,
            Some(Usage { prompt_tokens: 26, completion_tokens: 298, cached_tokens: None, ..Usage::default() })
        )
    );
    let payload = next_turn(Ollama, read.message());
    assert_eq!(payload["messages"][1]["thinking"], "Hm, so.");
    assert_eq!(payload["messages"][1]["tool_calls"][1]["function"]["arguments"], json!({"a": 2}));
}

#[test]
fn a_prompt_that_was_not_counted_is_no_prompt_of_nothing() {
    let done = json!({"message": {"content": "x"}, "done": true, "eval_count": 3});
    assert_eq!(read(Ollama, &done.to_string()).completion().usage, None);
}

#[test]
fn cut_lengths_errors_and_lines_that_broke() {
    let messages = [json!({"content": "One "}), json!({"content": "two"})];
    let whole = lines(&messages, end("length"));
    assert_eq!(read(Ollama, &whole).completion().finish, Finish::Length);
    let cut = read(Ollama, &whole[..whole.find("two").unwrap()]);
    assert_eq!((cut.fault().code, cut.partial.unwrap().text().into_owned()), ("cut-off", "One ".to_owned()));
    let error = lines(&messages[..1], json!({"error": "model runner has unexpectedly stopped"}));
    let error = read(Ollama, &error);
    assert_eq!(error.fault().code, "failed");
    assert!(error.fault().message.contains("unexpectedly stopped"));
    for garbage in ["{oops\n", "\"oops\n", "oops\n", "{\"a\": \"b\n"] {
        let broken = whole.replacen('\n', &format!("\n{garbage}"), 1);
        let broken = read(Ollama, &broken);
        assert_eq!(
            (broken.fault().code, broken.partial.unwrap().text().into_owned()),
            ("bad-answer", "One ".to_owned()),
            "{garbage}"
        );
    }
}

#[test]
fn calls_in_the_text() {
    let messages =
        [json!({"content": "<tool_call>{\"name\": \"add\","}), json!({"content": " \"arguments\": {}}</tool_call>"})];
    let read = read_with(Ollama, &lines(&messages, end("stop")), &["add"]);
    assert_eq!(read.calls, [("add".to_owned(), "{}".to_owned())]);
    next_turn(Ollama, read.message());
}
