//! What a node of a ChatGPT conversation says, as a message: the text that a person would see in `content`, thoughts in
//! `reasoning`, a call of a tool as a tool call. What that does not cover stays, as it came, under `extra["chatgpt"]`.

use foldhash::HashMap;
use serde::Deserialize;
use serde_json::{Map, Value};
use threadkeep_core::{Content, Kind, Message, Part, Role, ToolCall};
use threadkeep_json::own_text;

use crate::draft::{Draft, Made};
use crate::raw::{Fields, is_string, says_nothing, text_of};
use crate::{clean, when};

/// Metadata that says nothing beyond what every message has.
const COMMON: [&str; 11] = [
    "model_slug",
    "default_model_slug",
    "timestamp_",
    "message_type",
    "is_complete",
    "request_id",
    "turn_exchange_id",
    "parent_id",
    "is_visually_hidden_from_conversation",
    "pad",
    "message_source",
];

/// The content of most messages. Everything else is read as a [`Value`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneText {
    #[serde(rename = "content_type")]
    _content_type: TextType,
    parts: [String; 1],
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum TextType {
    Text,
}

/// Reads the message of the node `local`.
///
/// # Errors
/// Something in it is nested too deeply.
pub(super) fn read(local: &str, source: &Fields) -> Result<Made, serde_json::Error> {
    let mut made = Made { created_at: source.get("create_time").and_then(when::raw_millis), ..Made::default() };
    let metadata = source.object("metadata").unwrap_or_default();
    made.origin.model = metadata.string("model_slug");
    let author = source.object("author").unwrap_or_default();
    let mut role = Role::from(author.text("role").as_deref().unwrap_or("unknown"));
    let name = author.string("name").filter(|name| !name.is_empty());
    let weightless = source.get("weight").is_some_and(|weight| is_whole(weight, "0"));
    let concealed = metadata.get("is_visually_hidden_from_conversation") == Some("true");
    let hidden = concealed || (weightless && role != Role::Tool);
    let recipient = source.text("recipient").filter(|to| to != "all" && !to.is_empty());

    let content = source.get("content");
    let (said, content) = match content.and_then(|raw| serde_json::from_str::<OneText>(raw).ok()) {
        Some(OneText { parts: [text], .. }) => {
            (Said { content: text.into(), covered: true, ..Said::default() }, Value::Null)
        }
        None => {
            let content = content.map(clean::value).transpose()?.unwrap_or_default();
            let said = if source.has("content") { say(&content, &metadata) } else { Said::default() };
            (said, content)
        }
    };
    if said.instructions {
        role = Role::System; // the user's own standing instructions, filed under the user's name
    }
    let mut message = Message::new(role, said.content);
    message.name = name;
    message.reasoning = said.reasoning;
    if let Some(reason) = said.error {
        message.kind = Kind::Error { code: "SYSTEM_ERROR".to_owned(), reason };
        message.is_error = message.role == Role::Tool;
    }
    let mut covered = said.covered;
    if let (Role::Assistant, Some(recipient)) = (&message.role, &recipient) {
        let text = message.text().into_owned();
        let is_object = text.trim_start().starts_with('{') && serde_json::from_str::<Map<String, Value>>(&text).is_ok();
        let call = if is_object {
            ToolCall::function(call_id(local), &**recipient, text)
        } else {
            custom_call(&call_id(local), recipient, &text)
        };
        message.tool_calls = vec![call];
        message.content = Content::Null;
    } else if recipient.is_none() && said.code {
        message.content = Content::Text(format!("```{}\n{}\n```", said.language, message.text()));
        covered = true;
    }
    let empty = message.content.is_empty() && message.reasoning.is_none() && message.tool_calls.is_empty();
    message.include_in_context = !(said.for_eyes || (empty && message.role != Role::Tool));
    if hidden || (empty && message.role == Role::System) {
        made.label("hidden", "true");
    }
    let placed = Placed { local, author, metadata, content: (!covered).then_some(content), message: &message };
    let rest = rest_of(source, placed)?;
    if !rest.is_empty() {
        message.extra.insert("chatgpt".to_owned(), Value::Object(rest));
    }
    made.messages.push(message);
    Ok(made)
}

/// The id of the call that a node makes: the same at every import.
fn call_id(local: &str) -> String {
    format!("call_{local}")
}

/// A call whose input is free text rather than JSON.
fn custom_call(id: &str, name: &str, input: &str) -> ToolCall {
    let custom = Map::from_iter([("name".to_owned(), name.into()), ("input".to_owned(), input.into())]);
    ToolCall(Map::from_iter([
        ("id".to_owned(), id.into()),
        ("type".to_owned(), "custom".into()),
        ("custom".to_owned(), Value::Object(custom)),
    ]))
}

/// What a content object says.
#[derive(Default)]
struct Said {
    content: Content,
    reasoning: Option<String>,
    error: Option<String>,
    /// Code, of this language.
    code: bool,
    language: String,
    /// Standing instructions of the user.
    instructions: bool,
    /// Shown to people only; no model read it.
    for_eyes: bool,
    /// Nothing of the original is left to keep.
    covered: bool,
}

fn say(content: &Value, metadata: &Fields) -> Said {
    let Value::Object(content) = content else {
        let text = content.as_str().unwrap_or_default();
        return Said { content: text.into(), covered: content.is_string() || content.is_null(), ..Said::default() };
    };
    let text = |name: &str| text_of(content, name).unwrap_or_default();
    let keys = |known: &[&str]| content.iter().all(|(key, value)| known.contains(&key.as_str()) || says_nothing(value));
    match text("content_type") {
        "text" => {
            let (content_, plain) = parts(content, metadata);
            Said { content: content_, covered: plain && keys(&["content_type", "parts"]), ..Said::default() }
        }
        "multimodal_text" => {
            let (content_, _) = parts(content, metadata);
            Said { content: content_, covered: keys(&["content_type", "parts"]), ..Said::default() }
        }
        "code" => {
            let language = text("language").replace("unknown", "");
            let covered =
                keys(&["content_type", "text"]) || keys(&["content_type", "text", "language"]) && language.is_empty();
            Said { content: text("text").into(), code: true, language, covered, ..Said::default() }
        }
        "execution_output" => {
            Said { content: text("text").into(), covered: keys(&["content_type", "text"]), ..Said::default() }
        }
        "tether_quote" | "sonic_webpage" => Said { content: quote(content).into(), ..Said::default() },
        "tether_browsing_display" => {
            let shown = [text("result"), text("summary")].into_iter().find(|text| !text.is_empty()).unwrap_or_default();
            let covered = keys(&["content_type", "result"]);
            Said { content: shown.into(), covered, ..Said::default() }
        }
        "thoughts" => {
            let thoughts = thoughts(content);
            Said {
                content: Content::Null,
                reasoning: Some(thoughts).filter(|text| !text.is_empty()),
                ..Said::default()
            }
        }
        "reasoning_recap" => {
            let covered = keys(&["content_type", "content"]);
            Said { content: text("content").into(), for_eyes: true, covered, ..Said::default() }
        }
        "user_editable_context" => {
            let both = [text("user_profile"), text("user_instructions")];
            let both: Vec<&str> = both.into_iter().filter(|text| !text.trim().is_empty()).collect();
            Said { content: both.join("\n\n").into(), instructions: true, ..Said::default() }
        }
        "model_editable_context" => Said { content: text("model_set_context").into(), ..Said::default() },
        "system_error" => {
            let reason = [text("text"), text("name")].into_iter().find(|text| !text.is_empty()).unwrap_or("unknown");
            Said { content: text("text").into(), error: Some(reason.to_owned()), ..Said::default() }
        }
        _ => Said { content: any_text(content, metadata), ..Said::default() },
    }
}

/// The parts of a text; and whether they are nothing but text.
fn parts(content: &Map<String, Value>, metadata: &Fields) -> (Content, bool) {
    let Some(Value::Array(parts)) = content.get("parts") else {
        return (text_of(content, "text").unwrap_or_default().into(), !content.contains_key("parts"));
    };
    let attachments = metadata.value("attachments").unwrap_or_default();
    let names = attachment_names(&attachments);
    let mut plain = true;
    let mut list: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Value::String(text) => list.push(Part::text(text.as_str())),
            Value::Object(object) => {
                plain = false;
                list.push(object_part(object, &names));
            }
            Value::Null => {}
            other => {
                plain = false;
                list.push(Part::text(own_text(other)));
            }
        }
    }
    match list.as_slice() {
        [] => ("".into(), plain),
        [one] if plain => (one.as_text().unwrap_or_default().into(), true),
        _ => (Content::Parts(list), plain),
    }
}

/// A part that is no string: a transcript of speech is text, anything else keeps its fields under its own type.
fn object_part(object: &Map<String, Value>, names: &[(&str, &str)]) -> Part {
    let kind = text_of(object, "content_type").or_else(|| text_of(object, "type")).unwrap_or("unknown");
    let mut part = Map::new();
    let speech = kind == "audio_transcription" || kind == "text";
    part.insert("type".to_owned(), if speech { "text".into() } else { kind.into() });
    for (name, value) in object {
        if name != "type" && name != "content_type" || speech && name == "content_type" {
            part.insert(name.clone(), value.clone());
        }
    }
    let pointer = text_of(object, "asset_pointer").unwrap_or_default();
    let file = pointer.rsplit('/').next().unwrap_or_default();
    if let Some((_, name)) = names.iter().find(|(id, _)| *id == file) {
        part.entry("name").or_insert_with(|| (*name).into());
    }
    Part(part)
}

fn attachment_names(attachments: &Value) -> Vec<(&str, &str)> {
    fn named(item: &Value) -> Option<(&str, &str)> {
        Some((item.get("id")?.as_str()?, item.get("name")?.as_str()?))
    }
    attachments.as_array().into_iter().flatten().filter_map(named).collect()
}

fn quote(content: &Map<String, Value>) -> String {
    let text = |name: &str| text_of(content, name).unwrap_or_default();
    let title = if text("title").is_empty() { text("domain") } else { text("title") };
    let head = match (title, text("url")) {
        ("", url) => url.to_owned(),
        (title, "") => title.to_owned(),
        (title, url) => format!("{title} ({url})"),
    };
    let body = if text("text").is_empty() { text("snippet") } else { text("text") };
    [head.as_str(), body].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn thoughts(content: &Map<String, Value>) -> String {
    let one = |thought: &Value| {
        let text = |name: &str| thought.get(name).and_then(Value::as_str).unwrap_or_default();
        let both = [text("summary"), text("content")];
        let both: Vec<&str> = both.into_iter().filter(|text| !text.trim().is_empty()).collect();
        if both.is_empty() { thought.as_str().unwrap_or_default().to_owned() } else { both.join("\n") }
    };
    let list = content.get("thoughts").and_then(Value::as_array);
    let list = list.into_iter().flatten().map(one).filter(|text| !text.is_empty());
    list.collect::<Vec<_>>().join("\n\n")
}

/// The readable text of a content type that is not known.
fn any_text(content: &Map<String, Value>, metadata: &Fields) -> Content {
    if content.get("parts").is_some_and(Value::is_array) {
        return parts(content, metadata).0;
    }
    let names = ["text", "content", "result", "output_str", "output", "message", "summary", "title"];
    let found = names.iter().filter_map(|name| text_of(content, name)).find(|text| !text.is_empty());
    found.unwrap_or_default().into()
}

/// Whether raw JSON is the number `whole`, be it written with decimals. By its text, since nothing else here needs floats.
fn is_whole(raw: &str, whole: &str) -> bool {
    raw.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('.').is_some_and(|it| it.trim_end_matches('0').is_empty())
    })
}

/// What was made of a message so far.
struct Placed<'a> {
    local: &'a str,
    author: Fields<'a>,
    metadata: Fields<'a>,
    /// Unless the message covers it.
    content: Option<Value>,
    message: &'a Message,
}

/// What the message does not cover.
fn rest_of(source: &Fields, placed: Placed) -> Result<Map<String, Value>, serde_json::Error> {
    let Placed { local, author, metadata, mut content, message } = placed;
    let mut rest = Map::new();
    for (at, (name, raw)) in source.0.iter().enumerate() {
        let raw = raw.get();
        if is_empty(raw) {
            continue;
        }
        let value = match &**name {
            "create_time" | "end_turn" => continue,
            "id" if is_string(raw, local) => continue,
            "status" if is_string(raw, "finished_successfully") => continue,
            "recipient" if is_string(raw, "all") || raw.starts_with('"') && !message.tool_calls.is_empty() => continue,
            "weight" if is_whole(raw, "1") => continue,
            // Of a repeated field the last counts.
            name if source.0[at + 1..].iter().any(|(later, _)| later == name) => continue,
            "content" => content.take().unwrap_or_default(),
            "author" if raw.starts_with('{') => {
                // What is left of a system message's author is its role: it may stand for the user's instructions.
                let known = |name: &str, _: &str| name == "name" || name == "role" && message.role != Role::System;
                let left = left_of(&author, known)?;
                let bare = left.len() == 1 && text_of(&left, "role") == Some(message.role.as_str());
                if bare { Value::Null } else { Value::Object(left) }
            }
            "metadata" if raw.starts_with('{') => Value::Object(left_of(&metadata, is_common)?),
            _ => clean::value(raw)?,
        };
        if !says_nothing(&value) {
            rest.insert(name.clone().into_owned(), value);
        }
    }
    Ok(rest)
}

/// The fields that say something, but for those that are `known`.
fn left_of(fields: &Fields, known: impl Fn(&str, &str) -> bool) -> Result<Map<String, Value>, serde_json::Error> {
    let mut left = Map::new();
    for (name, raw) in fields.0.iter().map(|(name, raw)| (name, raw.get())) {
        if is_empty(raw) || known(name, raw) {
            continue;
        }
        let value = clean::value(raw)?;
        if !says_nothing(&value) {
            left.insert(name.clone().into_owned(), value);
        }
    }
    Ok(left)
}

/// Whether raw JSON says nothing, as it is mostly written: it need not be read to be left out.
fn is_empty(raw: &str) -> bool {
    matches!(raw, "null" | "false" | "\"\"" | "[]" | "{}")
}

/// Whether a field of the metadata says nothing beyond what every message has.
fn is_common(name: &str, raw: &str) -> bool {
    let is_stop = || Fields::parse(raw).is_ok_and(|details| details.text("type").as_deref() == Some("stop"));
    COMMON.contains(&name) || name == "finish_details" && is_stop()
}

/// Gives tool messages the ids of the calls that they answer. The export has none, so the nearest call above counts: one to a
/// tool of that name (`browser` answers `browser.open` too) before any other.
pub(super) fn pair(drafts: &mut [Draft]) {
    let is_tool = |draft: &Draft| draft.made.messages.first().is_some_and(|message| message.role == Role::Tool);
    if !drafts.iter().any(is_tool) {
        return;
    }
    let index: HashMap<&str, usize> = drafts.iter().enumerate().map(|(at, draft)| (draft.local.as_str(), at)).collect();
    let tools = (0..drafts.len()).filter(|at| is_tool(&drafts[*at]));
    let answers: Vec<(usize, Option<String>)> = tools.map(|at| (at, answered(at, drafts, &index))).collect();
    for (at, call) in answers {
        drafts[at].made.messages[0].tool_call_id = call;
    }
}

/// The call that the tool message of a draft answers.
fn answered(at: usize, drafts: &[Draft], index: &HashMap<&str, usize>) -> Option<String> {
    let family = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let up = |at: usize| drafts[at].parent.as_deref().and_then(|parent| index.get(parent)).copied();
    let name = drafts[at].made.messages.first()?.name.as_deref();
    let (mut above, mut any) = (up(at), None);
    // A user's message ends the search, and so does a circle of links.
    for _ in 0..1000 {
        let Some(here) = above else { break };
        let Some(message) = drafts[here].made.messages.first() else { break };
        if message.role == Role::User {
            break;
        }
        if let Some(call) = message.tool_calls.first() {
            if name.is_none_or(|name| family(name) == family(call.name())) {
                return Some(call.id().to_owned());
            }
            any.get_or_insert_with(|| call.id().to_owned());
        }
        above = up(here);
    }
    any
}
