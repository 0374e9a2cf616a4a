//! What is tried: transcripts of the shapes that agents leave behind, dressed up and damaged, and options of every kind.

use serde_json::{Map, Value, json};
use threadkeep_context::{Budget, Material};
use threadkeep_core::{Content, Kind, Message, Part, Role, ToolCall};
use threadkeep_protocol::ContextParams;
use threadkeep_provider::{Provider, RenderOptions, ToolSchema};

use crate::random::Random;
use crate::transcripts::{Choices, transcript};

const TEXTS: [&str; 12] = [
    "",
    " ",
    "\n",
    "yes",
    "naïve 東京 🙂",
    "<|endoftext|>",
    "{\"a\": [1",
    "a\u{0}b\u{301}",
    "TOOL_RESULT_PREVIEW",
    "; Defined: x = list[2]\n; Output:\nhi",
    "```lisp\n(def x 1)\n```",
    "MODE\n- active: run",
];

const PROGRAMS: [&str; 10] = [
    "(def x 1)",
    "(defn f \"doc \\\" string\" [a] (* a 2))",
    "(def xs \"All\" [1 2 3])\n(println xs)",
    "(def x",
    "\"",
    ")) (def y 2)",
    "#_(def z 1) ; (def c 2)\n(def d #{1 2})",
    "(let [q 1] (def inner q))",
    "",
    "(((((((((((((((((((((((((",
];

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

/// A transcript: one of the shared generator's, some of its messages dressed, and now and then some damaged. With it,
/// whether any was.
pub fn history(random: &mut Random) -> (Vec<Message>, bool) {
    let most = match random.below(64) {
        0 => 600,
        1..=3 => 200,
        4..=20 => 60,
        _ => 24,
    };
    let bytes: Vec<u8> = (0..random.below(most)).map(|_| random.next() as u8).collect();
    let mut messages = transcript(&mut Choices::new(&bytes));
    for message in &mut messages {
        if random.once_in(5) {
            dress(random, message);
        }
    }
    if random.once_in(3) && !messages.is_empty() {
        for _ in 0..=random.below(4) {
            edit(random, &mut messages);
        }
    }
    let damaged = random.once_in(4);
    if damaged {
        for _ in 0..=random.below(3) {
            damage(random, &mut messages);
        }
    }
    (messages, damaged)
}

fn image(random: &mut Random) -> Value {
    random.pick(&[
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}),
        json!({"type": "image_url", "image_url": {"url": "https://pictures.example/cat.jpg"}}),
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}}),
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "Qk0="}}),
        json!({"type": "input_image", "image_url": "data:image/webp;base64,UklGRg=="}),
        json!({"inlineData": {"mimeType": "image/heic", "data": "AAAA"}}),
        json!({"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/picture"}}),
        json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}}),
        json!({"type": "file", "file": {"file_id": "file-1"}}),
        json!({"type": "refusal", "refusal": "no"}),
        json!({"odd": [1, null]}),
    ])
}

fn code_turn(random: &mut Random) -> Kind {
    let mut turn = json!({"type": "code_turn", "program": random.pick(&PROGRAMS)});
    if random.once_in(2) {
        turn["output"] = random.pick(&[json!("hi"), json!(["one", "two"]), json!(""), json!([])]);
    }
    if random.once_in(3) {
        turn["status"] = random.pick(&[json!("ok"), json!("error"), json!("success")]);
    }
    if random.once_in(2) {
        let value = random.pick(&[json!([1, 2]), json!({"a": {"b": "c"}}), json!("long ".repeat(80)), Value::Null]);
        turn["definitions"] = json!([{"name": random.pick(&["x", "y", "f"]), "value": value},
            {"name": "g", "kind": "function", "doc": "does\nthings"}]);
    }
    let read = Message::from_json(json!({"role": "assistant", "content": "", "kind": turn}));
    read.map(|message| message.kind).unwrap_or_default()
}

/// Gives a message one more thing that messages can have.
fn dress(random: &mut Random, message: &mut Message) {
    match random.below(16) {
        0 | 1 => {
            let mut parts = vec![Part::text(random.pick(&TEXTS))];
            parts.extend((0..=random.below(2)).map(|_| Part(object(image(random)))));
            message.content = Content::Parts(parts);
        }
        2 | 3 if message.role == Role::Assistant => message.kind = code_turn(random),
        4 if message.role == Role::Assistant => {
            message.content = ["```lisp\n", random.pick(&PROGRAMS), "\n```"].concat().into();
        }
        5 => message.kind = Kind::Error { code: "LLM_ERROR".into(), reason: random.pick(&TEXTS).into() },
        6 => message.kind = Kind::Summary { from: None, to: None },
        7 => message.name = Some(random.pick(&TEXTS).into()),
        8 => message.reasoning = Some(random.pick(&TEXTS).into()),
        9 => message.tags.push(random.pick(&["compressed-turn", "a"]).into()),
        10 => message.is_error = true,
        11 => items(random, message),
        12 => message.tool_calls.push(call(random)),
        13 => message.content = "a long output ".repeat(1 + random.below(600)).into(),
        14 => message.content = random.pick(&[Content::Null, Content::Absent, Content::Parts(Vec::new())]),
        _ => message.content = random.pick(&TEXTS).into(),
    }
}

fn call(random: &mut Random) -> ToolCall {
    let id = random.pick(&[
        "call_0",
        "c:1",
        "",
        "toolu_01",
        "an id that is much too long for any provider to take it 0123456789",
    ]);
    let name = random.pick(&["look", "browser.open", "", "東京"]);
    let arguments = random.pick(&["{}", "", "{\"a\": ", "[1]", "{\"a\":{\"b\":[1,null]}}", "text"]);
    match random.below(5) {
        0 => ToolCall(object(json!({"id": id, "type": "custom", "custom": {"name": name, "input": arguments}}))),
        1 => ToolCall(object(json!({"id": id, "name": name, "arguments": {"a": 1}}))),
        2 => ToolCall(object(json!({"id": id, "type": "function", "function": {"name": name, "arguments": {"a": 1}}}))),
        _ => ToolCall::function(id, name, arguments),
    }
}

/// A provider's own items beside a message: some that say what it says, some that say something else.
fn items(random: &mut Random, message: &mut Message) {
    let text = message.text().into_owned();
    let calls: Vec<String> = message.tool_calls.iter().map(|call| call.id().to_owned()).collect();
    let provider = random.pick(&["anthropic", "openai-responses", "gemini", "openai-chat", "claude", "ollama"]);
    let items = match random.below(4) {
        0 => json!([{"type": "thinking", "thinking": "old", "signature": "c2ln"}, {"type": "tool_use", "id": "gone"}]),
        1 => {
            let mut list = vec![json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"})];
            list.push(json!({"type": "text", "text": text}));
            list.extend(
                calls.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "look", "input": {"at": 1}})),
            );
            Value::Array(list)
        }
        2 => {
            let mut list = vec![json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA=="})];
            list.extend(calls.iter().map(|id| {
                json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "look", "arguments": "{\"at\":1}"})
            }));
            Value::Array(list)
        }
        _ => json!([{"text": text, "thoughtSignature": "c2ln"}]),
    };
    message.extra.insert(provider.into(), items);
}

/// Takes the order of the messages apart.
fn edit(random: &mut Random, messages: &mut Vec<Message>) {
    if messages.is_empty() {
        return;
    }
    let (a, b) = (random.below(messages.len()), random.below(messages.len()));
    match random.below(9) {
        0 => drop(messages.remove(a)),
        1 => messages.swap(a, b),
        2 => messages.insert(b, messages[a].clone()),
        3 => messages[a].role = Role::from(random.pick(&["critic", "function", "ipython", "", "developer", "system"])),
        4 => messages[a].tool_call_id = None,
        5 => messages[a].include_in_context = false,
        6 => messages[a].pinned = true,
        7 => {
            drop(messages[a].extra.insert("importance".to_owned(), random.pick(&[0.0, 0.2, 0.5, 0.8, 1.0, 7.0]).into()))
        }
        _ => messages.truncate(a + 1),
    }
}

/// Changes the JSON of a message somewhere; what is no message any more is left out.
fn damage(random: &mut Random, messages: &mut Vec<Message>) {
    if messages.is_empty() {
        return;
    }
    let at = random.below(messages.len());
    let mut json = messages[at].to_json();
    mutate(random, &mut json);
    match Message::from_json(json) {
        Ok(message) => messages[at] = message,
        Err(_) => drop(messages.remove(at)),
    }
}

/// Changes a value somewhere.
pub fn mutate(random: &mut Random, value: &mut Value) {
    let deeper = !random.once_in(3);
    match value {
        Value::Object(map) if deeper && !map.is_empty() => {
            let at = random.below(map.len());
            if let Some((_, inner)) = map.iter_mut().nth(at) {
                mutate(random, inner);
            }
        }
        Value::Array(list) if deeper && !list.is_empty() => {
            let at = random.below(list.len());
            mutate(random, &mut list[at]);
        }
        Value::Object(map) if random.once_in(2) && !map.is_empty() => {
            let at = random.below(map.len());
            let name = map.keys().nth(at).cloned().unwrap_or_default();
            let inner = map.shift_remove(&name).unwrap_or_default();
            if random.once_in(2) {
                map.insert(field(random), inner);
            }
        }
        Value::Array(list) if random.once_in(2) && !list.is_empty() => {
            let at = random.below(list.len());
            if random.once_in(2) {
                list.remove(at);
            } else {
                list.insert(at, list[at].clone());
            }
        }
        _ => *value = any(random, 3),
    }
}

fn field(random: &mut Random) -> String {
    const FIELDS: [&str; 36] = [
        "role",
        "content",
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
        "parts",
        "args",
        "reasoning",
        "summary",
        "input",
        "output",
        "source",
        "thinking",
        "signature",
        "kind",
        "pinned",
        "tags",
        "include_in_context",
        "is_error",
        "program",
        "definitions",
        "anthropic",
        "openai-responses",
        "gemini",
        "",
    ];
    random.pick(&FIELDS).to_owned()
}

/// Any JSON, no deeper than `depth`.
pub fn any(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => random.once_in(2).into(),
        2 => random.pick(&[json!(0), json!(-1), json!(u64::MAX), json!(0.5), json!(1e300)]),
        3 => random.pick(&TEXTS).into(),
        4 | 5 => field(random).into(),
        6 => Value::Array((0..random.below(4)).map(|_| any(random, depth - 1)).collect()),
        _ => Value::Object((0..random.below(5)).map(|_| (field(random), any(random, depth - 1))).collect()),
    }
}

/// A limit: none, nothing, about as much as the history has, or absurdly much.
fn limit(random: &mut Random, whole: u64) -> Option<u64> {
    match random.below(10) {
        0..=3 => None,
        4 => Some(0),
        5 => Some(random.next() % 8),
        6 => Some(random.pick(&[u64::from(u32::MAX), u64::MAX, u64::MAX / 2, i64::MAX as u64])),
        _ => Some(random.next() % (whole + 2)),
    }
}

// A new option is named here, above the remark if `options` chooses it.
const _: fn(ContextParams) = |params| {
    let ContextParams {
        budget,
        provider: _,
        policy: _,
        live: _,
        pins: _,
        tool_preview: _,
        include_tool_results_in_context: _,
        include_collapsed_ui_events_in_context: _,
        only: _,
        compress_history: _,
        error_window: _,
        println_history_limit: _,
        system_prompt: _,
        persona: _,
        mode: _,
        run: _,
        tools: _,
        // These change no message of the history, or are made elsewhere.
        encoding: _,
        model: _,
        memory: _,
        epoch: _,
        record: _,
        render: _,
    } = params;
    let Budget {
        max_tokens: _,
        max_context_tokens: _,
        max_output_tokens: _,
        safety_margin: _,
        max_messages: _,
        max_chars: _,
    } = budget.unwrap_or_default();
};

/// The options of a context as a caller from JavaScript writes them, but for the memory, which is material.
pub fn options(random: &mut Random, messages: usize) -> (Value, Vec<Material>) {
    let whole = messages as u64 * 12 + 40;
    let mut options = Map::new();
    let mut budget = Map::new();
    let limits = [
        ("maxTokens", whole),
        ("maxContextTokens", whole * 2),
        ("maxOutputTokens", whole / 4),
        ("safetyMargin", whole / 8),
        ("maxMessages", messages as u64 + 2),
        ("maxChars", whole * 4),
    ];
    for (name, whole) in limits {
        if let Some(limit) = limit(random, whole) {
            budget.insert(name.into(), limit.into());
        }
    }
    options.insert("budget".into(), Value::Object(budget));
    options.insert("provider".into(), random.pick(&Provider::ALL).name().into());
    options.insert("policy".into(), random.pick(&["newest", "stable"]).into());
    options.insert("live".into(), random.once_in(3).into());
    if random.once_in(3) && messages > 0 {
        let pins = (0..random.below(3)).map(|_| Value::from(random.below(messages)));
        options.insert("pins".into(), pins.collect());
    }
    if random.once_in(2) {
        let preview =
            [json!(false), json!({"over": 0, "keep": 0}), json!({"over": 10, "keep": 4}), json!({"keep": 9000})];
        options.insert("toolPreview".into(), random.pick(&preview));
    }
    if random.once_in(3) {
        options.insert("compressHistory".into(), true.into());
        options.insert("errorWindow".into(), random.below(3).into());
        options.insert("printlnHistoryLimit".into(), random.pick(&[0, 1, 15, usize::MAX]).into());
    }
    if random.once_in(3) {
        options.insert("includeToolResultsInContext".into(), random.once_in(2).into());
        options.insert("includeCollapsedUiEventsInContext".into(), random.once_in(2).into());
        let only = [json!({}), json!({"mode": "run"}), json!({"runId": "a", "workflowId": "a"})];
        options.insert("only".into(), random.pick(&only));
    }
    let mut memory = Vec::new();
    if random.once_in(3) {
        options.insert("systemPrompt".into(), random.pick(&TEXTS).into());
        options.insert("persona".into(), random.pick(&TEXTS).into());
        options.insert("mode".into(), random.pick(&["chat", "agent", "run"]).into());
        options.insert("run".into(), json!({"directive": random.pick(&TEXTS), "nodeBrief": "brief", "step": {"n": 1}}));
        if random.once_in(2) {
            options.insert("tools".into(), json!([{"name": "look", "parameters": any(random, 2)}]));
        }
        memory.extend((0..random.below(3)).map(|_| Material::new(random.pick(&TEXTS), random.pick(&TEXTS))));
    }
    (Value::Object(options), memory)
}

/// How to render.
pub fn rendering(random: &mut Random, provider: Provider) -> RenderOptions {
    let tool = |name: &str| ToolSchema {
        name: name.to_owned(),
        description: Some("reads".to_owned()),
        parameters: json!({"type": "object", "properties": {"path": {"type": ["string", "null"]}}}),
        strict: None,
    };
    RenderOptions {
        model: (!random.once_in(4)).then(|| random.pick(&["gemini-3-pro", "gemini-2.5-pro", "m"]).to_owned()),
        max_output_tokens: random.once_in(2).then_some(100),
        tools: if random.once_in(8) { vec![tool("look"), tool("read.file"), tool("look")] } else { Vec::new() },
        stream: random.once_in(3).then_some(true),
        reasoning: !random.once_in(6),
        // Gemini takes no prompt that ends with the model.
        prefill: random.once_in(8) && provider != Provider::Gemini,
        sdk: random.once_in(2),
    }
}
