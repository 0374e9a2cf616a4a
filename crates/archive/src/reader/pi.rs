//! pi's sessions: JSON Lines, since version 2 a tree by `id` and `parentId`, before that a list. Each message is a node, a
//! compaction one that stands for what came before; other entries only hold the tree together. The last entry of the file is
//! the end of the chosen branch.

use std::collections::HashMap;

use serde_json::{Map, Value};
use threadkeep_core::{Kind, Message, MessageId, Role};

use crate::blocks::{Blocks, beside};
use crate::digest::Digest;
use crate::draft::Draft;
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::{LeftOut, Report};
use crate::tree::Tree;
use crate::{Code, Format, when};

/// The lines of a file so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    sum: Option<Digest>,
    id: Option<String>,
    title: Option<String>,
    started: Option<i64>,
    extra: Map<String, Value>,
    drafts: Vec<Draft>,
    /// Entries that are no nodes, and what they follow.
    between: HashMap<String, Option<String>>,
    /// All entries' ids, in order.
    entries: Vec<String>,
    /// Whether the session's own line came before them, which is counted among them by the first version's numbers.
    headed: bool,
    /// Compactions: places of drafts, and the first entry that each keeps.
    compactions: Vec<(usize, Option<String>)>,
    left_out: LeftOut,
    /// Whether a line could not be read.
    pub damaged: bool,
}

impl Lines {
    /// Takes a line.
    pub fn line(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        self.sum = Some(self.sum.unwrap_or_else(Digest::new).with(bytes));
        let mut map = crate::whole(fields, place, report);
        let kind = text_of(&map, "type").unwrap_or_default().to_owned();
        if kind == "session" {
            return self.session(map);
        }
        let id = match text_of(&map, "id").filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => format!("e{}", self.entries.len()),
        };
        let parent = match map.get("parentId") {
            Some(parent) => parent.as_str().map(str::to_owned),
            // A list: each entry follows the one before it.
            None => self.entries.last().cloned(),
        };
        let mut draft = Draft { local: id.clone(), parent: parent.clone(), ..Draft::default() };
        draft.made.created_at = map.get("timestamp").and_then(when::millis);
        let made = match kind.as_str() {
            "message" => match map.shift_remove("message") {
                Some(Value::Object(message)) => Some(said(message, &mut draft)),
                _ => {
                    report.warn(place, Code::BadShape, "its `message` must be an object; the entry comes in empty");
                    Some(vec![Message::new(Role::Other("unknown".to_owned()), "")])
                }
            },
            "compaction" | "branch_summary" => {
                let text = text_of(&map, "summary").unwrap_or_default().to_owned();
                let mut message = Message::user(text);
                map.shift_remove("summary");
                if kind == "compaction" {
                    let kept = map.get("firstKeptEntryIndex").and_then(Value::as_u64);
                    let place = |at: u64| usize::try_from(at).ok()?.checked_sub(usize::from(self.headed));
                    let kept = kept.and_then(|at| self.entries.get(place(at)?)).cloned();
                    let kept = text_of(&map, "firstKeptEntryId").map(str::to_owned).or(kept);
                    self.compactions.push((self.drafts.len(), kept));
                    draft.made.label("compaction", "pi");
                }
                message.kind = Kind::Summary { from: None, to: None };
                map.retain(|name, _| !matches!(name.as_str(), "type" | "id" | "parentId" | "timestamp"));
                beside(std::slice::from_mut(&mut message), "pi", map);
                Some(vec![message])
            }
            "custom_message" => {
                if map.get("display") != Some(&Value::Bool(true)) {
                    draft.made.label("hidden", "true");
                }
                map.retain(|name, _| !matches!(name.as_str(), "type" | "id" | "parentId" | "timestamp"));
                map.insert("role".to_owned(), "custom".into());
                Some(said(map, &mut draft))
            }
            "session_info" => {
                self.title = text_of(&map, "name").map(str::to_owned).or(self.title.take());
                None
            }
            _ => {
                self.left_out.count(&kind);
                None
            }
        };
        match made {
            Some(messages) => {
                draft.made.messages = messages;
                self.drafts.push(draft);
            }
            None => drop(self.between.insert(id.clone(), parent)),
        }
        self.entries.push(id);
    }

    fn session(&mut self, mut map: Map<String, Value>) {
        if self.id.is_some() {
            return self.left_out.count("session");
        }
        self.headed = true;
        self.id = text_of(&map, "id").map(str::to_owned);
        self.started = map.get("timestamp").and_then(when::millis);
        map.retain(|name, value| !matches!(name.as_str(), "type" | "id" | "timestamp") && !says_nothing(value));
        self.extra = map;
    }

    /// The nearest node at or above an entry. What leads there is remembered for the next who asks; a circle of entries that
    /// are no nodes leads nowhere.
    fn node(&mut self, entry: Option<String>) -> Option<String> {
        let (mut at, mut way) = (entry, Vec::new());
        let found = loop {
            let id = at?;
            match self.between.get_mut(&id) {
                Some(up) => {
                    at = up.take();
                    way.push(id);
                    if at.is_none() {
                        break None;
                    }
                }
                None => break Some(id),
            }
        };
        for id in way {
            self.between.insert(id, found.clone());
        }
        found
    }

    /// The file ends: hands out what its lines make.
    pub fn finish(&mut self, report: &mut Report) {
        let mut lines = std::mem::take(self);
        let Some(sum) = lines.sum else { return };
        lines.left_out.report("which show what the program did and say nothing", report);
        if lines.drafts.is_empty() {
            report.skip("", Code::Empty, "a session without messages");
            return;
        }
        for at in 0..lines.drafts.len() {
            let parent = lines.drafts[at].parent.take();
            lines.drafts[at].parent = lines.node(parent);
        }
        let last = lines.entries.last().cloned();
        let leaf = lines.node(last);
        let id = lines.id.take().unwrap_or_else(|| format!("{:016x}", sum.0));
        let mut tree = Tree::new(Format::Pi.name(), &id);
        lines.cover(&tree.transcript);
        let mut asked = lines.drafts.iter().flat_map(|draft| &draft.made.messages).filter(|m| m.role == Role::User);
        let words = asked.find(|message| !message.text().trim().is_empty() && message.kind == Kind::Plain);
        let words = words.map(|m| m.text().trim().lines().next().unwrap_or_default().chars().take(80).collect());
        tree.title = lines.title.or(words);
        tree.created_at = lines.started;
        tree.updated_at = lines.drafts.iter().filter_map(|draft| draft.made.created_at).max();
        tree.extra = lines.extra;
        tree.damaged = lines.damaged;
        tree.leaf = leaf;
        tree.drafts = lines.drafts;
        let made = tree.finish("", sum.0, report);
        report.conversation(made);
    }

    /// Says of each compaction what it stands for: from the compaction before it, or the beginning, to the last node before
    /// those that it keeps.
    fn cover(&mut self, transcript: &MessageId) {
        let index: HashMap<String, usize> =
            self.drafts.iter().enumerate().rev().map(|(at, draft)| (draft.local.clone(), at)).collect();
        // Each stretch of history is walked once, as a rule; files that are made to take long are not followed to the end.
        let mut steps = self.drafts.len() * 4 + 1000;
        for (at, kept) in std::mem::take(&mut self.compactions) {
            // An entry that is no node is kept with what follows it; the node above it is not.
            let above = kept.as_ref().is_some_and(|id| self.between.contains_key(id));
            let kept = self.node(kept).and_then(|id| index.get(&id)).copied();
            let up = |at: usize| self.drafts[at].parent.as_ref().and_then(|parent| index.get(parent)).copied();
            let is_compaction = |at: usize| self.drafts[at].made.labels.get("compaction").is_some();
            let mut to = if above { kept } else { kept.and_then(up) };
            to = to.or_else(|| if kept.is_none() { up(at) } else { None });
            // What is kept must lie above, or it says nothing.
            if to == Some(at) {
                to = up(at);
            }
            let (mut from, mut here) = (None, to);
            while let Some(now) = here.filter(|_| steps > 0) {
                steps -= 1;
                from = Some(now);
                here = if is_compaction(now) { None } else { up(now) };
            }
            let id = |at: usize| MessageId::scoped(transcript, &self.drafts[at].local);
            let kind = Kind::Summary { from: from.map(id), to: to.map(id) };
            self.drafts[at].stands_to = to;
            if let Some(message) = self.drafts[at].made.messages.first_mut() {
                message.kind = kind;
            }
        }
    }
}

/// What a message says.
fn said(mut message: Map<String, Value>, draft: &mut Draft) -> Vec<Message> {
    let who = text_of(&message, "role").unwrap_or("unknown").to_owned();
    if let Some(time) = message.shift_remove("timestamp").as_ref().and_then(when::millis) {
        draft.made.created_at.get_or_insert(time);
    }
    message.shift_remove("role");
    let role = match who.as_str() {
        "assistant" => Role::Assistant,
        "user" | "custom" | "hookMessage" | "bashExecution" | "branchSummary" | "compactionSummary" => Role::User,
        "toolResult" => Role::Tool,
        other => Role::from(other),
    };
    let mut blocks = Blocks::of("pi", role.clone(), &draft.local);
    let mut own = Vec::new();
    let content = message.shift_remove("content").unwrap_or_default();
    match who.as_str() {
        "toolResult" => {
            let failed = message.shift_remove("isError") == Some(Value::Bool(true));
            let mut take = |name: &str| message.shift_remove(name).unwrap_or_default();
            blocks.tool_result(take("toolCallId"), take("toolName"), content, failed);
        }
        "bashExecution" => {
            let text = |name: &str| text_of(&message, name).unwrap_or_default();
            blocks.text(format!("Ran `{}`\n```\n{}\n```", text("command"), text("output")));
        }
        "branchSummary" | "compactionSummary" => blocks.content(message.shift_remove("summary").unwrap_or_default()),
        _ => match content {
            Value::Array(parts) => parts.into_iter().for_each(|part| add(part, &message, &mut own, &mut blocks)),
            other => blocks.content(other),
        },
    }
    let mut messages = blocks.finish();
    draft.made.origin.model = text_of(&message, "model").map(str::to_owned);
    message.shift_remove("model");
    let Some(first) = messages.first_mut() else { return messages };
    let stopped = text_of(&message, "stopReason").unwrap_or_default();
    if role == Role::Assistant && matches!(stopped, "error" | "aborted") {
        let code = if stopped == "error" { "LLM_ERROR" } else { "ABORTED" };
        let reason = text_of(&message, "errorMessage").unwrap_or(stopped).to_owned();
        first.kind = Kind::Error { code: code.to_owned(), reason };
    }
    if message.get("excludeFromContext") == Some(&Value::Bool(true)) {
        first.include_in_context = false;
    }
    for (name, item) in own {
        match name {
            // What its provider takes back.
            "claude" => {
                let claude = first.extra.entry(name).or_insert_with(|| serde_json::json!({"thinking": []}));
                if let Some(Value::Array(list)) = claude.get_mut("thinking") {
                    list.push(item);
                }
            }
            _ => {
                if let Value::Array(list) = first.extra.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
                    list.push(item);
                }
            }
        }
    }
    beside(&mut messages, "pi", message);
    messages
}

/// Adds a part of what was said; a thought that is signed is kept in its provider's form too.
fn add(part: Value, message: &Map<String, Value>, own: &mut Vec<(&'static str, Value)>, blocks: &mut Blocks) {
    let Value::Object(mut part) = part else { return blocks.block(part) };
    match text_of(&part, "type").unwrap_or_default() {
        "thinking" => {
            let signature = part.shift_remove("thinkingSignature").unwrap_or_default();
            let text = text_of(&part, "thinking").unwrap_or_default();
            blocks.reasoning(text);
            let api = text_of(message, "api").unwrap_or_default();
            let Value::String(signature) = signature else { return };
            if signature.is_empty() {
                return;
            }
            if api.starts_with("anthropic") {
                let block = serde_json::json!({"type": "thinking", "thinking": text, "signature": signature});
                own.push(("claude", block));
            } else if let Ok(item @ Value::Object(_)) = serde_json::from_str(&signature) {
                own.push(("openai-responses", item));
            } else {
                blocks.keep("signatures", signature.into());
            }
        }
        "toolCall" => {
            let fields = [("arguments", "input"), ("type", "type")];
            for (from, to) in fields {
                let value = part.shift_remove(from).unwrap_or_default();
                part.insert(to.to_owned(), if to == "type" { "tool_use".into() } else { value });
            }
            blocks.block(Value::Object(part));
        }
        "text" => {
            part.retain(|name, value| name == "text" || !says_nothing(value));
            if let Some(signature) = part.shift_remove("textSignature") {
                blocks.keep("signatures", signature);
            }
            blocks.block(Value::Object(part));
        }
        _ => blocks.part(part),
    }
}
