//! Messages, by what they are spent on.

use serde_json::json;
use threadkeep_context::tokens::{Cost, Counter, Estimate, Overhead, cost};
use threadkeep_core::Message;
use threadkeep_provider::Provider;
use threadkeep_tokens::Encoding;

use crate::BPE;

fn of(message: serde_json::Value, provider: Provider) -> Cost {
    cost(&Message::from_json(message).unwrap(), provider, &*BPE)
}

/// The example of OpenAI's cookbook, which the API reported as 124 tokens for GPT-4o.
#[test]
fn the_cookbooks_example() {
    let system = "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.";
    let messages = [
        json!({"role": "system", "content": system}),
        json!({"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."}),
        json!({"role": "system", "name": "example_assistant", "content": "Things working well together will increase revenue."}),
        json!({"role": "system", "name": "example_user", "content": "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."}),
        json!({"role": "system", "name": "example_assistant", "content": "Let's talk later when we're less busy about how to do better."}),
        json!({"role": "user", "content": "This late pivot means we don't have time to boil the ocean for the client deliverable."}),
    ];
    let sum: u32 = messages.into_iter().map(|message| of(message, Provider::OpenAiChat).total()).sum();
    assert_eq!(sum + Overhead::of(Provider::OpenAiChat).reply, 124);
}

/// The frame counts a role as one token, which it is in both vocabularies.
#[test]
fn roles_are_one_token() {
    for encoding in Encoding::ALL {
        let bpe = threadkeep_tokens::Bpe::embedded(encoding);
        for role in ["system", "developer", "user", "assistant", "tool"] {
            assert_eq!(bpe.count(role), 1, "{role}");
        }
    }
}

#[test]
fn each_kind_has_its_own_sum() {
    let message = json!({"role": "assistant", "content": "hello world", "reasoning": "one two three", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": "{\"q\":1}"}}]});
    let cost = of(message.clone(), Provider::Anthropic);
    let arguments = BPE.count("{\"q\":1}");
    assert_eq!(cost, Cost { content: 2, reasoning: 3, tool_calls: 1 + arguments + 12, frame: 4 });
    assert_eq!(cost.total(), 2 + 3 + 1 + arguments + 12 + 4);
    assert_eq!(of(message, Provider::OpenAiChat).reasoning, 0);
}

#[test]
fn results_and_names_add_to_the_frame() {
    let frame = |message, provider| of(message, provider).frame;
    assert_eq!(frame(json!({"role": "tool", "tool_call_id": "c", "content": "42"}), Provider::OpenAiChat), 8);
    assert_eq!(
        frame(json!({"role": "user", "name": "alice", "content": "x"}), Provider::OpenAiChat),
        4 + 1 + BPE.count("alice")
    );
    assert_eq!(frame(json!({"role": "user", "name": "alice", "content": "x"}), Provider::Gemini), 2);
}

#[test]
fn parts_are_counted_one_by_one() {
    let content = |parts| of(json!({"role": "user", "content": parts}), Provider::OpenAiChat).content;
    assert_eq!(content(json!([{"type": "text", "text": "hello"}, {"type": "text", "text": " world"}])), 2);
    assert_eq!(content(json!([])), 0);
    let picture = format!("data:image/png;base64,{}", "A".repeat(100_000));
    assert_eq!(content(json!([{"type": "image_url", "image_url": {"url": picture}}])), 1105);
    assert_eq!(content(json!([{"type": "image_url", "image_url": {"url": picture, "detail": "low"}}])), 85);
    assert_eq!(content(json!([{"type": "input_image", "image_url": picture, "detail": "low"}])), 85);
}

#[test]
fn unknown_parts_count_their_text_and_no_data() {
    let content = |part| of(json!({"role": "user", "content": [part]}), Provider::Anthropic).content;
    assert_eq!(
        content(
            json!({"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": "hello world"}]})
        ),
        3
    );
    let file = json!({"type": "document", "title": "hello", "source": {"type": "base64", "media_type": "application/pdf", "data": "A".repeat(9000)}});
    assert_eq!(content(file), 1);
    let thought = of(
        json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "one two", "signature": "A".repeat(900)}]}),
        Provider::Anthropic,
    );
    assert_eq!((thought.content, thought.reasoning), (0, 2));
}

#[test]
fn every_provider_and_counter_gives_something() {
    let message = Message::user("four");
    for provider in Provider::ALL {
        let counters: [&dyn Counter; 2] = [&*BPE, &Estimate];
        for counter in counters {
            assert_eq!(cost(&message, provider, counter).total(), 1 + Overhead::of(provider).message);
        }
    }
}
