//! Transcripts made up: well-formed ones in all the shapes that agents leave behind, and lists of messages in any order.

use proptest::prelude::*;
use serde_json::{Value, json};
use threadkeep_core::{Content, Kind, Message, Part, Role, ToolCall};

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,8}( [a-z]{1,8}){0,3}",
        1 => "[ \n\t]{0,3}",
        1 => "\\PC{0,12}",
        1 => "[a-z]{1,5}[ \n]{1,2}",
        1 => Just("<|endoftext|> {\"a\": [1".to_owned()),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("read_file".to_owned()),
        Just("browser.open".to_owned()),
        "[a-z]{1,6}",
        "\\PC{0,4}",
        "[a-z]{60,70}"
    ]
}

fn image() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}})),
        Just(json!({"type": "image_url", "image_url": {"url": "https://pictures.example/cat.jpg?size=2"}})),
        Just(json!({"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}})),
        Just(json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}})),
        Just(json!({"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "Qk0="}})),
        Just(json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "not base64!"}})),
        Just(json!({"type": "image", "source": {"type": "url", "url": "https://pictures.example/dog"}})),
        Just(json!({"type": "input_image", "image_url": "data:image/webp;base64,UklGRg==", "detail": "auto"})),
        Just(json!({"inlineData": {"mimeType": "image/heic", "data": "AAAAGGZ0"}})),
        Just(json!({"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/picture"}})),
    ]
}

fn part() -> impl Strategy<Value = Value> {
    prop_oneof![
        5 => words().prop_map(|text| json!({"type": "text", "text": text})),
        3 => image(),
        1 => Just(json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}})),
        1 => Just(json!({"type": "file", "file": {"file_id": "file-1"}})),
        1 => Just(json!({"type": "input_file", "file_id": "file-1"})),
        1 => Just(json!({"type": "attachment", "attachment": {"file_name": "plan.pdf"}})),
        1 => Just(json!({"type": "refusal", "refusal": "no"})),
        1 => Just(json!({"odd": [1, null]})),
    ]
}

fn content() -> impl Strategy<Value = Content> {
    let parts = proptest::collection::vec(part(), 0..4).prop_map(|parts| {
        let map = |part: Value| if let Value::Object(map) = part { Part(map) } else { Part::text("") };
        Content::Parts(parts.into_iter().map(map).collect())
    });
    prop_oneof![5 => words().prop_map(Content::Text), 3 => parts, 1 => Just(Content::Null), 1 => Just(Content::Absent)]
}

fn arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(r#"{"path":"a.txt","deep":{"n":[1,2.5,null]}}"#.to_owned()),
        1 => Just("{}".to_owned()),
        1 => Just(String::new()),
        1 => Just(r#"{"path": "a.t"#.to_owned()),
        1 => Just("[1, 2]".to_owned()),
        1 => words(),
    ]
}

fn call_id() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "call_[a-z0-9]{6}",
        1 => "toolu_[a-zA-Z0-9]{8}",
        1 => "[a-c]{1}",
        1 => "\\PC{1,4}",
        1 => "[a-z:.]{41,90}",
    ]
}

/// How a call is written, and what answers it.
#[derive(Debug, Clone)]
struct Made {
    id: String,
    name: String,
    arguments: String,
    shape: u8,
    result: Content,
    failed: bool,
}

fn made() -> impl Strategy<Value = Made> {
    (call_id(), name(), arguments(), 0u8..8, content(), any::<bool>())
        .prop_map(|(id, name, arguments, shape, result, failed)| Made { id, name, arguments, shape, result, failed })
}

fn tool_call(made: &Made) -> ToolCall {
    let object = |value: Value| if let Value::Object(map) = value { ToolCall(map) } else { unreachable!() };
    match made.shape {
        0 => object(json!({"id": made.id, "type": "custom", "custom": {"name": made.name, "input": made.arguments}})),
        1 => object(json!({"id": made.id, "type": "function", "function": {"name": made.name, "arguments": {"a": 1}}})),
        2 => object(
            json!({"id": made.id, "type": "function", "extra_content": {"google": {"thought_signature": "c2ln"}},
            "function": {"name": made.name, "arguments": made.arguments}}),
        ),
        3 => object(json!({"id": made.id, "name": made.name, "arguments": {"a": 1}})),
        _ => ToolCall::function(&made.id, &made.name, &made.arguments),
    }
}

/// Reasoning and provider items beside an assistant message.
fn dress(message: &mut Message, dress: u8, calls: &[Made]) {
    let text = message.text().into_owned();
    let call = |made: &Made| ToolCall::function(&made.id, "f", "{}");
    match dress {
        0 => message.reasoning = Some("let me think".to_owned()),
        1 => {
            let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eA=="}, {"type": "thinking", "thinking": "unsigned", "signature": ""}]);
            message.extra.insert("claude".to_owned(), json!({ "thinking": thinking }));
            message.reasoning = Some("hm".to_owned());
        }
        2 => {
            let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA=="});
            message.extra.insert("openai-responses".to_owned(), json!([item]));
        }
        3 => {
            let mut items =
                vec![json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA=="})];
            if !text.is_empty() {
                items.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}));
            }
            message.tool_calls = calls.iter().map(call).collect();
            items.extend(calls.iter().map(|made| {
                json!({"type": "function_call", "id": format!("fc_{}", made.id), "call_id": made.id, "name": "f", "arguments": "{}"})
            }));
            message.extra.insert("openai-responses".to_owned(), json!(items));
        }
        4 => {
            let mut blocks = vec![json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"})];
            blocks.push(json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}));
            blocks.push(json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}));
            if !text.is_empty() {
                blocks.push(json!({"type": "text", "text": text}));
            }
            message.tool_calls = calls.iter().map(call).collect();
            blocks
                .extend(calls.iter().map(|made| json!({"type": "tool_use", "id": made.id, "name": "f", "input": {}})));
            message.extra.insert("anthropic".to_owned(), json!(blocks));
        }
        5 => {
            let mut parts = vec![json!({"text": "hm", "thought": true})];
            if !text.is_empty() {
                parts.push(json!({"text": text, "thoughtSignature": "c2ln"}));
            }
            message.tool_calls = calls.iter().map(call).collect();
            parts.extend(calls.iter().enumerate().map(|(n, _)| match n {
                0 => json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}),
                _ => json!({"functionCall": {"name": "f", "args": {}}}),
            }));
            message.extra.insert("gemini".to_owned(), json!(parts));
        }
        6 => {
            let items = json!([{"type": "thinking", "thinking": "old", "signature": "c2ln"}, {"type": "tool_use", "id": "gone"}]);
            for provider in ["anthropic", "openai-responses", "gemini"] {
                message.extra.insert(provider.to_owned(), items.clone());
            }
        }
        7 => {
            let own = json!({"reasoning_content": "hm", "role": "system"});
            message.extra.insert("openai-chat".to_owned(), own);
        }
        _ => {}
    }
}

/// One exchange: a user, then an assistant who calls tools and says something.
fn turn() -> impl Strategy<Value = Vec<Message>> {
    let steps =
        proptest::collection::vec((content(), proptest::collection::vec(made(), 0..4), 0u8..12, any::<u8>()), 0..4);
    (content(), steps, content(), 0u8..10).prop_map(|(said, steps, answer, odd)| {
        let mut messages = vec![Message::user(said)];
        for (text, mut calls, dressed, order) in steps {
            // Within a message, ids differ.
            for n in 0..calls.len() {
                if calls[..n].iter().any(|other| other.id == calls[n].id) {
                    calls[n].id.push_str(&n.to_string());
                }
            }
            let mut message = Message::assistant(text);
            message.tool_calls = calls.iter().map(tool_call).collect();
            dress(&mut message, dressed, &calls);
            messages.push(message);
            if order % 2 == 1 {
                calls.reverse();
            }
            for made in &calls {
                let mut result = Message::tool(&made.id, made.result.clone());
                result.is_error = made.failed;
                messages.push(result);
            }
        }
        match odd {
            0 => messages.push(Message {
                kind: Kind::Error { code: "LLM_ERROR".into(), reason: "lost".into() },
                ..Message::assistant("")
            }),
            1 => messages.push(Message::system("from now on in French")),
            2 => messages.push(Message { name: Some("Ada L.".into()), ..Message::user("and I") }),
            _ => messages.push(Message::assistant(answer)),
        }
        messages
    })
}

/// What a well-behaved agent leaves behind: every call answered right behind it.
pub fn well_formed() -> impl Strategy<Value = Vec<Message>> {
    let system = proptest::collection::vec(words().prop_map(Message::system), 0..3);
    (system, proptest::collection::vec(turn(), 0..5)).prop_map(|(mut messages, turns)| {
        messages.extend(turns.into_iter().flatten());
        messages
    })
}

/// Messages in any order, cut anywhere, with results that are lost, doubled and out of place.
pub fn anything() -> impl Strategy<Value = Vec<Message>> {
    let edits = proptest::collection::vec((0u8..6, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..8);
    (well_formed(), edits).prop_map(|(mut messages, edits)| {
        for (edit, a, b) in edits {
            if messages.is_empty() {
                break;
            }
            let (a, b) = (a.index(messages.len()), b.index(messages.len()));
            match edit {
                0 => drop(messages.remove(a)),
                1 => messages.swap(a, b),
                2 => messages.insert(b, messages[a].clone()),
                3 => messages[a].role = Role::Other(["critic", "function", "ipython"][b % 3].into()),
                4 => messages[a].tool_call_id = None,
                _ => messages[a].include_in_context = false,
            }
        }
        messages
    })
}

/// Any JSON.
pub fn json() -> impl Strategy<Value = Value> {
    let fields = [
        "messages",
        "contents",
        "input",
        "role",
        "content",
        "parts",
        "type",
        "text",
        "tool_calls",
        "id",
        "function",
        "name",
        "arguments",
        "tool_call_id",
        "tool_use",
        "tool_result",
        "tool_use_id",
        "call_id",
        "functionCall",
        "functionResponse",
        "response",
        "args",
        "user",
        "assistant",
        "model",
        "tool",
        "system",
        "reasoning",
        "summary",
        "tools",
        "parameters",
        "properties",
        "items",
        "config",
        "images",
        "output",
        "source",
        "thinking",
        "signature",
        "function_call",
        "",
    ];
    let word = prop::sample::select(fields.to_vec()).prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}
