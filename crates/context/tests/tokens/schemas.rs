//! Tool schemas.

use serde_json::{Value, json};
use threadkeep_context::tokens::tools_cost;
use threadkeep_provider::Provider;

use crate::BPE;

fn weather() -> Value {
    json!({"type": "function", "function": {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {"type": "object", "required": ["location"], "properties": {
            "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
            "unit": {"type": "string", "description": "The unit of temperature to return", "enum": ["celsius", "fahrenheit"]}
        }}
    }})
}

/// The cookbook's example: the API reported 101 tokens for GPT-4o, for this tool, two messages and the priming.
#[test]
fn the_cookbooks_example() {
    let messages = [
        "You are a helpful assistant that can answer to questions about the weather.",
        "What's the weather like in San Francisco?",
    ];
    let texts: u32 = messages.into_iter().map(|text| BPE.count(text) + 4).sum();
    assert_eq!(tools_cost(&[weather()], Provider::OpenAiChat, &*BPE) + texts + 3, 101);
}

#[test]
fn no_tools_cost_nothing() {
    for provider in Provider::ALL {
        assert_eq!(tools_cost(&[], provider, &*BPE), 0);
    }
}

#[test]
fn forms_of_other_providers_are_read() {
    let function = weather()["function"].clone();
    let flat = tools_cost(std::slice::from_ref(&function), Provider::OpenAiChat, &*BPE);
    assert_eq!(flat, tools_cost(&[weather()], Provider::OpenAiChat, &*BPE));
    let declarations = json!({"functionDeclarations": [function, function]});
    let two = tools_cost(&[declarations], Provider::Gemini, &*BPE);
    assert_eq!(two, 2 * tools_cost(&[weather()], Provider::Gemini, &*BPE));
    let anthropic = json!({"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}});
    let schema = BPE.count(&anthropic["input_schema"].to_string());
    assert_eq!(tools_cost(&[anthropic], Provider::Anthropic, &*BPE), 346 + 8 + 2 + schema);
}

#[test]
fn nested_schemas_count_and_deep_ones_end() {
    let nest = |inner: Value| json!({"name": "f", "parameters": {"type": "object", "properties": {"a": inner}}});
    let cost = |tool: Value| tools_cost(&[tool], Provider::OpenAiResponses, &*BPE);
    let flat = cost(nest(json!({"type": "object"})));
    let object = cost(nest(json!({"type": "object", "properties": {"b": {"type": "string"}}})));
    let list = cost(nest(json!({"type": "object", "items": {"properties": {"b": {"type": "string"}}}})));
    assert!(object > flat);
    assert_eq!(object, list);
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"properties": {"x": deep}});
    }
    assert!(cost(nest(deep)) > object);
    for odd in [json!(null), json!("f"), json!({"parameters": 5}), json!({"parameters": {"properties": {"a": 5}}})] {
        assert!(cost(odd) > 0);
    }
}
