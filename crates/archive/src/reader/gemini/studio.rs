//! AI Studio's prompts: a list of chunks, a thought before each answer. Where a chunk names the chunk that it branches from, it
//! hangs there; a branch of another prompt names that prompt, which is another file.

use std::collections::HashMap;

use serde_json::{Map, Value};
use threadkeep_core::{Kind, Message, Role};

use super::super::openai::own_id;
use crate::blocks::{Blocks, beside, object};
use crate::draft::Draft;
use crate::list::{Known, List};
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::Report;
use crate::{Code, Conversation, Format, when};

/// Fields of a prompt that have a place of their own.
const PLACED: [&str; 7] =
    ["id", "displayName", "title", "createTime", "updateTime", "chunkedPrompt", "systemInstruction"];

/// Reads one prompt; says why where it cannot.
pub(in super::super) fn read(
    fields: &Fields,
    place: &str,
    digest: u64,
    known: &mut Known,
    report: &mut Report,
) -> Option<Conversation> {
    let chunks = fields.object("chunkedPrompt").and_then(|prompt| prompt.array("chunks"));
    let Some(chunks) = chunks else {
        report.skip(place, Code::BadShape, "the prompt's `chunkedPrompt` has no list of `chunks`");
        return None;
    };
    let mut list = List::default();
    if let Some(Value::Object(system)) = fields.value("systemInstruction") {
        let mut blocks = Blocks::of("ai-studio", Role::System, "system");
        add(system, &mut blocks);
        blocks.finish().into_iter().filter(|m| !m.content.is_empty()).for_each(|message| list.message(message, None));
    }
    let model = fields.object("runSettings").and_then(|settings| settings.string("model"));
    let chunks: Vec<(usize, Map<String, Value>)> = chunks
        .iter()
        .enumerate()
        .filter_map(|(at, raw)| {
            let what = format!("{place}{}chunk {}", if place.is_empty() { "" } else { ", " }, at + 1);
            object(raw.get(), &what, report).map(|chunk| (at, chunk))
        })
        .collect();
    let ids: HashMap<String, usize> =
        chunks.iter().filter_map(|(at, chunk)| Some((text_of(chunk, "id")?.to_owned(), *at))).collect();
    // A thought waits for what is said next.
    let mut thoughts: Vec<Map<String, Value>> = Vec::new();
    let mut chunks = chunks.into_iter().peekable();
    while let Some((at, chunk)) = chunks.next() {
        let goes_on = chunks.peek().is_some_and(|(_, next)| text_of(next, "role") == text_of(&chunk, "role"));
        if chunk.get("isThought") == Some(&Value::Bool(true)) && goes_on {
            thoughts.push(chunk);
            continue;
        }
        let parent = chunk.get("branchParent").and_then(|parent| parent.get("id")?.as_str());
        let mut draft = Draft {
            local: text_of(&chunk, "id").unwrap_or_default().to_owned(),
            parent: parent.filter(|parent| ids.contains_key(*parent)).map(str::to_owned),
            ..Draft::default()
        };
        draft.made.created_at = chunk.get("createTime").and_then(when::millis);
        if text_of(&chunk, "role") == Some("model") {
            draft.made.origin.model.clone_from(&model);
        }
        draft.made.messages = said(at, std::mem::take(&mut thoughts), chunk);
        list.node(draft);
    }
    let id = own_id(fields);
    let mut tree = list.tree(Format::AiStudio, id, place, known, report)?;
    tree.title = fields.string("displayName").or_else(|| fields.string("title"));
    let time = |name: &str| fields.value(name).as_ref().and_then(when::millis);
    (tree.created_at, tree.updated_at) = (time("createTime"), time("updateTime"));
    tree.extra = crate::extra(fields, &PLACED, place, report);
    Some(tree.finish(place, digest, report))
}

fn said(at: usize, thoughts: Vec<Map<String, Value>>, mut chunk: Map<String, Value>) -> Vec<Message> {
    let role = match text_of(&chunk, "role") {
        Some("model") => Role::Assistant,
        Some(role) => Role::from(role),
        None => Role::Other("unknown".to_owned()),
    };
    let error = text_of(&chunk, "errorMessage").map(str::to_owned);
    let mut blocks = Blocks::of("ai-studio", role, &at.to_string());
    for mut thought in thoughts {
        add(content(&mut thought), &mut blocks);
        thought.retain(|name, value| name == "thoughtSignatures" && !says_nothing(value));
        if !thought.is_empty() {
            blocks.keep("thoughts", Value::Object(thought));
        }
    }
    add(content(&mut chunk), &mut blocks);
    let mut messages = blocks.finish();
    for name in ["id", "role", "createTime", "isThought"] {
        chunk.shift_remove(name);
    }
    if let (Some(reason), Some(message)) = (error, messages.last_mut()) {
        message.kind = Kind::Error { code: "CHAT_ERROR".to_owned(), reason };
        chunk.shift_remove("errorMessage");
    }
    beside(&mut messages, "ai-studio", chunk);
    messages
}

/// Adds what a chunk says: its parts, or itself.
fn add(mut chunk: Map<String, Value>, blocks: &mut Blocks) {
    let thought = chunk.get("isThought") == Some(&Value::Bool(true));
    let parts = chunk.shift_remove("parts");
    // Newer files write the text twice: whole, and in parts.
    match parts {
        Some(Value::Array(parts)) if !parts.is_empty() => {
            chunk.shift_remove("text");
            for part in parts {
                let Value::Object(mut part) = part else { continue };
                if thought {
                    part.insert("thought".to_owned(), Value::Bool(true));
                }
                super::part(part, blocks);
            }
        }
        _ if thought => drop(chunk.insert("thought".to_owned(), Value::Bool(true))),
        _ => {}
    }
    super::part(chunk, blocks);
}

/// Takes the fields that say something; what describes them stays.
fn content(chunk: &mut Map<String, Value>) -> Map<String, Value> {
    const SAYS: [&str; 6] = ["text", "parts", "isThought", "executableCode", "codeExecutionResult", "functionCall"];
    let says = |name: &str| SAYS.contains(&name) || name == "functionResponse" || super::FILES.contains(&name);
    let (content, rest) = std::mem::take(chunk).into_iter().partition(|(name, _)| says(name));
    *chunk = rest;
    content
}
