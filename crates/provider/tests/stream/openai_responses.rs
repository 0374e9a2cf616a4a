//! OpenAI Responses.

use serde_json::{Value, json};
use threadkeep_provider::Provider::OpenAiResponses;
use threadkeep_provider::{Finish, Usage};

use crate::support::{events, next_turn, read};

fn reasoning() -> Value {
    json!({"id": "rs_1", "type": "reasoning", "status": null, "summary": [{"type": "summary_text", "text": "I add."}], "encrypted_content": "gAAAA"})
}

fn said(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn called(arguments: &str) -> Value {
    json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "add", "arguments": arguments})
}

fn response(status: &str, output: &[Value]) -> Value {
    json!({"id": "resp_1", "object": "response", "status": status, "error": null, "incomplete_details": null, "output": output,
        "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 2}, "output_tokens": 6, "output_tokens_details": {"reasoning_tokens": 4}}})
}

pub fn stream() -> Vec<Value> {
    vec![
        json!({"type": "response.created", "response": response("in_progress", &[])}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"id": "rs_1", "type": "reasoning", "summary": []}}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "I "}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "add."}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning()}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Wait."}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": said("Wait.")}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": called("")}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"a\":"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "1}"}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": called("{\"a\":1}")}),
        json!({"type": "response.completed", "response": response("completed", &[reasoning(), said("Wait."), called("{\"a\":1}")])}),
    ]
}

#[test]
fn encrypted_reasoning_goes_back_with_what_followed() {
    let read = read(OpenAiResponses, &events(&stream()));
    assert_eq!((read.reasoning.as_str(), read.text.as_str()), ("I add.", "Wait."));
    assert_eq!(read.calls, [("add".to_owned(), "{\"a\":1}".to_owned())]);
    let completion = read.completion();
    assert_eq!(completion.finish, Finish::ToolCalls);
    assert_eq!(
        completion.usage,
        Some(Usage {
            prompt_tokens: 9,
            completion_tokens: 6,
            cached_tokens: Some(2),
            reasoning_tokens: Some(4),
            ..Usage::default()
        })
    );
    let payload = next_turn(OpenAiResponses, read.message());
    assert_eq!(payload["input"][1]["encrypted_content"], "gAAAA");
    assert_eq!(payload["input"][3]["call_id"], "call_1");
    assert_eq!(payload["input"][4]["type"], "function_call_output");
}

#[test]
fn reasoning_that_cannot_be_read_again_stays_behind() {
    let mut bare = reasoning();
    bare.as_object_mut().unwrap().remove("encrypted_content");
    let read = read(OpenAiResponses, &response("completed", &[bare, called("{}")]).to_string());
    assert_eq!(read.reasoning, "I add.");
    assert!(read.message().extra.is_empty());
    assert!(!next_turn(OpenAiResponses, read.message()).to_string().contains("rs_1"));
}

#[test]
fn whole_answers_and_what_was_not_streamed() {
    let whole = response("completed", &[reasoning(), said("Four.")]);
    for text in [whole.to_string(), events(&[json!({"type": "response.completed", "response": whole})])] {
        let read = read(OpenAiResponses, &text);
        assert_eq!(
            (read.text.as_str(), read.reasoning.as_str(), read.completion().finish.clone()),
            ("Four.", "I add.", Finish::Stop)
        );
        next_turn(OpenAiResponses, read.message());
    }
}

#[test]
fn incomplete_failed_and_broken() {
    let mut cut = response("incomplete", &[said("Fo")]);
    cut["incomplete_details"] = json!({"reason": "max_output_tokens"});
    assert_eq!(read(OpenAiResponses, &cut.to_string()).completion().finish, Finish::Length);
    let mut failed = response("failed", &[]);
    failed["error"] = json!({"code": "server_error", "message": "It broke."});
    let failed = read(OpenAiResponses, &events(&[json!({"type": "response.failed", "response": failed})]));
    assert_eq!((failed.fault().code, failed.fault().passes), ("failed", true));
    let limited = read(
        OpenAiResponses,
        &events(&[json!({"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": null})]),
    );
    assert_eq!(limited.fault().code, "rate-limited");
    let short = read(OpenAiResponses, &events(&stream()[..8]));
    assert_eq!((short.fault().code, short.partial.unwrap().text().into_owned()), ("cut-off", "Wait.".to_owned()));
}

#[test]
fn free_text_for_a_custom_tool() {
    let item = |input: &str| json!({"id": "ct_1", "type": "custom_tool_call", "call_id": "call_9", "name": "look", "input": input});
    let all = [
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "north"}),
        json!({"type": "response.completed", "response": response("completed", &[item("north")])}),
    ];
    let read = read(OpenAiResponses, &events(&all));
    assert_eq!(read.calls, [("look".to_owned(), "north".to_owned())]);
    let payload = next_turn(OpenAiResponses, read.message());
    assert_eq!(
        (&payload["input"][1]["type"], &payload["input"][1]["input"]),
        (&json!("custom_tool_call"), &json!("north"))
    );
}
