//! OpenAI Chat Completions and its many dialects.

use serde_json::{Value, json};
use threadkeep_provider::Provider::OpenAiChat;
use threadkeep_provider::{Finish, Usage};

use crate::support::{Read, events, next_turn, read, read_with};

/// A stream of these deltas, with a reason to end and `[DONE]`.
fn stream(deltas: &[Value], reason: &str) -> String {
    let mut values: Vec<Value> =
        deltas.iter().map(|delta| json!({"choices": [{"index": 0, "delta": delta}]})).collect();
    values.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    events(&values) + "data: [DONE]\n\n"
}

fn calls(read: &Read) -> Vec<(&str, &str)> {
    read.calls.iter().map(|(name, arguments)| (name.as_str(), arguments.as_str())).collect()
}

#[test]
fn text_and_usage_in_a_last_chunk_without_choices() {
    let mut answer = stream(
        &[json!({"role": "assistant", "content": ""}), json!({"content": "Grüße"}), json!({"content": " 👋"})],
        "stop",
    );
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 2}}});
    answer = answer.replace("data: [DONE]", &format!("data: {usage}\n\ndata: [DONE]"));
    let read = read(OpenAiChat, &answer);
    assert_eq!(read.text, "Grüße 👋");
    assert_eq!(read.completion().finish, Finish::Stop);
    assert_eq!(
        read.completion().usage,
        Some(Usage {
            prompt_tokens: 12,
            completion_tokens: 3,
            cached_tokens: Some(8),
            reasoning_tokens: Some(2),
            ..Usage::default()
        })
    );
    assert!(read.message().extra.is_empty());
    next_turn(OpenAiChat, read.message());
}

#[test]
fn of_several_usages_the_last_counts() {
    let chunk = |text: &str, n: u64| json!({"choices": [{"delta": {"content": text}}], "usage": {"prompt_tokens": 5, "completion_tokens": n}});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": null});
    let read = read(OpenAiChat, &events(&[chunk("a", 1), chunk("b", 2), end]));
    assert_eq!(read.completion().usage.unwrap().completion_tokens, 2);
}

#[test]
fn a_usage_that_cannot_be_is_not_counted_and_said_once() {
    for wrong in [json!(-3), json!("12"), json!(1e300), json!(1.5), json!([1]), json!(99_999_999_999u64)] {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": wrong, "completion_tokens": wrong}});
        let answer = stream(&[json!({"content": "fine"})], "stop")
            .replace("data: [DONE]", &format!("data: {usage}\n\ndata: [DONE]"));
        let read = read(OpenAiChat, &answer);
        assert_eq!((read.text.as_str(), read.completion().usage), ("fine", None));
        assert_eq!(read.warnings.len(), 1, "{:?}", read.warnings);
        assert!(read.warnings[0].contains("usage"));
    }
}

#[test]
fn arguments_in_pieces_of_parallel_calls() {
    let piece = |index: u64, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut call = json!({"index": index, "type": "function", "function": {"arguments": arguments}});
        if let Some(id) = id {
            call["id"] = id.into();
        }
        if let Some(name) = name {
            call["function"]["name"] = name.into();
        }
        json!({"tool_calls": [call]})
    };
    let deltas = [
        piece(0, Some("c0"), Some("add"), ""),
        piece(0, None, None, "{\"a\":"),
        piece(1, Some("c1"), Some("look"), "{}"),
        piece(0, None, None, " 1}"),
    ];
    let read = read(OpenAiChat, &stream(&deltas, "tool_calls"));
    assert_eq!(calls(&read), [("add", "{\"a\": 1}"), ("look", "{}")]);
    assert_eq!(read.completion().finish, Finish::ToolCalls);
    let ids: Vec<&str> = read.message().tool_calls.iter().map(|call| call.id()).collect();
    assert_eq!(ids, ["c0", "c1"]);
    next_turn(OpenAiChat, read.message());
}

#[test]
fn indexes_missing_or_doubled_and_ids_missing() {
    let call = |value: Value| json!({"tool_calls": [value]});
    // No index, no ids: each name begins a call.
    let none = [
        call(json!({"function": {"name": "add", "arguments": "{\"a\""}})),
        call(json!({"function": {"arguments": ":1}"}})),
        call(json!({"function": {"name": "add", "arguments": "{\"a\":2}"}})),
    ];
    assert_eq!(calls(&read(OpenAiChat, &stream(&none, "tool_calls"))), [("add", "{\"a\":1}"), ("add", "{\"a\":2}")]);
    // The same index for all, told apart by ids.
    let doubled = [
        call(json!({"index": 0, "id": "x", "function": {"name": "add", "arguments": "{}"}})),
        call(json!({"index": 0, "id": "y", "function": {"name": "look", "arguments": "{\"q\":"}})),
        call(json!({"index": 0, "function": {"arguments": "1}"}})),
    ];
    assert_eq!(calls(&read(OpenAiChat, &stream(&doubled, "stop"))), [("add", "{}"), ("look", "{\"q\":1}")]);
    // The same index and no ids: a name behind whole arguments begins another.
    let bare = [
        call(json!({"index": 0, "function": {"name": "add", "arguments": "{}"}})),
        call(json!({"index": 0, "function": {"name": "add", "arguments": "{}"}})),
    ];
    assert_eq!(calls(&read(OpenAiChat, &stream(&bare, "stop"))), [("add", "{}"), ("add", "{}")]);
    // Several in one delta; the id twice, so that one gets another.
    let together = [json!({"tool_calls": [
        {"index": 0, "id": "same", "function": {"name": "add", "arguments": {"a": 1}}},
        {"index": 1, "id": "same", "function": {"name": "look", "arguments": null}},
    ]})];
    assert_eq!(calls(&read(OpenAiChat, &stream(&together, "stop"))), [("add", "{\"a\":1}"), ("look", "")]);
    // Id and name repeated with each piece.
    let again = [
        call(json!({"index": 0, "id": "x", "function": {"name": "add", "arguments": "{\"a\":"}})),
        call(json!({"index": 0, "id": "x", "function": {"name": "add", "arguments": "1}"}})),
    ];
    assert_eq!(calls(&read(OpenAiChat, &stream(&again, "stop"))), [("add", "{\"a\":1}")]);
    // No index, but ids that go back and forth.
    let crossed = [
        call(json!({"id": "x", "function": {"name": "add", "arguments": "{\"a\":"}})),
        call(json!({"id": "y", "function": {"name": "look", "arguments": "{}"}})),
        call(json!({"id": "x", "function": {"arguments": "1}"}})),
    ];
    assert_eq!(calls(&read(OpenAiChat, &stream(&crossed, "stop"))), [("add", "{\"a\":1}"), ("look", "{}")]);
    // The old form, and a name in pieces.
    let old = [
        json!({"function_call": {"name": "add", "arguments": "{\"a\":"}}),
        json!({"function_call": {"arguments": "1}"}}),
    ];
    assert_eq!(calls(&read(OpenAiChat, &stream(&old, "function_call"))), [("add", "{\"a\":1}")]);
    let named = [
        call(json!({"index": 0, "id": "x", "function": {"name": "lo"}})),
        call(json!({"index": 0, "function": {"name": "ok", "arguments": "{}"}})),
    ];
    assert_eq!(calls(&read(OpenAiChat, &stream(&named, "stop"))), [("look", "{}")]);
}

#[test]
fn malformed_arguments_stay_as_they_came() {
    let deltas =
        [json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": "{\"a\": oops"}}]})];
    let read = read(OpenAiChat, &stream(&deltas, "tool_calls"));
    assert_eq!(calls(&read), [("add", "{\"a\": oops")]);
    next_turn(OpenAiChat, read.message());
}

#[test]
fn reasoning_under_its_names() {
    for name in ["reasoning_content", "reasoning"] {
        let read = read(
            OpenAiChat,
            &stream(&[json!({name: "Hm, "}), json!({name: "so."}), json!({"content": "Four."})], "stop"),
        );
        assert_eq!((read.reasoning.as_str(), read.text.as_str()), ("Hm, so.", "Four."));
        assert!(read.message().extra.is_empty());
    }
    let both =
        read(OpenAiChat, &stream(&[json!({"reasoning": "Hm", "reasoning_content": "Hm", "content": null})], "stop"));
    assert_eq!(both.reasoning, "Hm");
    let parts = json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "So"}]});
    let mistral = read(OpenAiChat, &stream(&[parts], "stop"));
    assert_eq!((mistral.reasoning.as_str(), mistral.text.as_str()), ("Hm", "So"));
}

#[test]
fn reasoning_goes_back_with_the_calls_that_it_led_to() {
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": "{}"}}]});
    let read = read(OpenAiChat, &stream(&[json!({"reasoning_content": "I add."}), call], "tool_calls"));
    let payload = next_turn(OpenAiChat, read.message());
    assert_eq!(payload["messages"][1]["reasoning_content"], "I add.");
}

#[test]
fn reasoning_details_go_back_joined_and_in_order() {
    let detail = |value: Value| json!({"reasoning": "x", "reasoning_details": [value]});
    let deltas = [
        detail(json!({"type": "reasoning.text", "index": 0, "text": "I ", "format": "f"})),
        detail(json!({"type": "reasoning.text", "index": 0, "text": "think."})),
        detail(json!({"type": "reasoning.text", "index": 0, "signature": "sig"})),
        detail(json!({"type": "reasoning.encrypted", "index": 1, "data": "abc"})),
        json!({"content": "So."}),
    ];
    let payload = next_turn(OpenAiChat, read(OpenAiChat, &stream(&deltas, "stop")).message());
    let expected = json!([
        {"type": "reasoning.text", "index": 0, "text": "I think.", "format": "f", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "abc"},
    ]);
    assert_eq!(payload["messages"][1]["reasoning_details"], expected);
}

#[test]
fn a_google_signature_stays_with_its_call() {
    let extra = json!({"google": {"thought_signature": "sig"}});
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": "{}"}, "extra_content": extra}]});
    let read = read(OpenAiChat, &stream(&[call], "tool_calls"));
    assert_eq!(read.message().tool_calls[0].0["extra_content"], extra);
}

#[test]
fn reasons_to_end() {
    let text = [json!({"content": "x"})];
    for (reason, finish) in [
        ("length", Finish::Length),
        ("content_filter", Finish::Filtered),
        ("eos", Finish::Stop),
        ("moon", Finish::Other("moon".to_owned())),
    ] {
        assert_eq!(read(OpenAiChat, &stream(&text, reason)).completion().finish, finish);
    }
    let refusal = read(OpenAiChat, &stream(&[json!({"refusal": "No."})], "stop"));
    assert_eq!((refusal.text.as_str(), refusal.completion().finish.clone()), ("No.", Finish::Filtered));
}

#[test]
fn whole_answers_of_servers_that_do_not_stream() {
    let whole = json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "I add.",
            "reasoning_content": "Hm", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}]}}],
        "usage": {"prompt_tokens": 4, "completion_tokens": 2},
    });
    for text in [whole.to_string(), format!("{whole:#}\n")] {
        let read = read(OpenAiChat, &text);
        assert_eq!((read.text.as_str(), read.reasoning.as_str(), calls(&read)), ("I add.", "Hm", vec![("add", "{}")]));
        assert!(read.completion().usage.is_some());
    }
}

#[test]
fn streams_that_are_not_quite_right() {
    // No `[DONE]`, no empty lines between, comments, other fields, carriage returns, no last line end.
    let chunk =
        |text: &str, end: Option<&str>| json!({"choices": [{"delta": {"content": text}, "finish_reason": end}]});
    let ragged = format!(
        ": hello\r\rid: 7\rdata:{}\r\r\n\ndata: {}\ndata: {}",
        chunk("a", None),
        chunk("b", None),
        chunk("c", Some("stop"))
    );
    assert_eq!(read(OpenAiChat, &ragged).text, "abc");
    let marked = format!("\u{feff}data: {}\n\ndata: [DONE]", chunk("a", None));
    assert_eq!(read(OpenAiChat, &marked).text, "a");
    // A second choice is nobody's.
    let two = events(&[json!({"choices": [{"index": 1, "delta": {"content": "no"}}]}), chunk("yes", Some("stop"))]);
    assert_eq!(read(OpenAiChat, &two).text, "yes");
}

#[test]
fn a_stream_that_breaks_off_keeps_what_was_said() {
    let whole = stream(&[json!({"reasoning": "Hm"}), json!({"content": "One "}), json!({"content": "two"})], "stop");
    let cut = &whole[..whole.find("two").unwrap() + 2];
    let read = read(OpenAiChat, cut);
    assert_eq!(read.fault().code, "cut-off");
    let partial = read.partial.unwrap();
    assert_eq!((partial.text().as_ref(), partial.reasoning.as_deref()), ("One ", Some("Hm")));
    assert!(!read.result.unwrap_err().passes);
}

#[test]
fn calls_that_broke_off_are_not_kept() {
    let whole = stream(
        &[json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": "{\"a\""}}]})],
        "stop",
    );
    let read = read(OpenAiChat, &whole[..whole.find("finish_reason").unwrap()]);
    assert_eq!((read.fault().code, &read.partial), ("cut-off", &None));
    assert!(!read.fault().passes, "something was heard");
}

#[test]
fn tools_that_are_written_into_the_text() {
    let deltas = [
        json!({"content": "<think>\nI add.\n</th"}),
        json!({"content": "ink>\n\n<tool_call>\n{\"name\": \"add\", \"argum"}),
        json!({"content": "ents\": {\"a\": 1}}\n</tool_call>"}),
    ];
    let read = read_with(OpenAiChat, &stream(&deltas, "stop"), &["add"]);
    assert_eq!((read.reasoning.as_str(), calls(&read)), ("\nI add.\n", vec![("add", "{\"a\":1}")]));
    assert_eq!(read.completion().finish, Finish::ToolCalls);
    next_turn(OpenAiChat, read.message());
}
