//! Gemini CLI's sessions: one object with all messages, or (newer) a header and a line for each message. A message that is
//! written again takes the place of the first; a rewind makes a branch of what it takes back.

use std::collections::HashMap;

use serde_json::{Map, Value};
use threadkeep_core::{Kind, Message, Role};
use threadkeep_json::own_text;

use crate::blocks::{Blocks, beside, object};
use crate::digest::Digest;
use crate::draft::Draft;
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::{Report, short};
use crate::tree::Tree;
use crate::{Code, Conversation, Format, clean, when};

/// Fields of a session that have a place of their own.
const PLACED: [&str; 5] = ["sessionId", "messages", "startTime", "lastUpdated", "$set"];

/// Reads a session that is one object; says why where it cannot.
pub(in super::super) fn read(fields: &Fields, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
    let mut session = Session::default();
    session.head(fields, place, report);
    for (at, raw) in fields.array("messages").unwrap_or_default().into_iter().enumerate() {
        let what = format!("{place}{}message {}", if place.is_empty() { "" } else { ", " }, at + 1);
        if let Some(message) = object(raw.get(), &what, report) {
            session.message(message, at);
        }
    }
    session.made(place, digest, report)
}

/// A session so far.
#[derive(Debug, Default)]
struct Session {
    id: Option<String>,
    title: Option<String>,
    started: Option<i64>,
    updated: Option<i64>,
    extra: Map<String, Value>,
    drafts: Vec<Draft>,
    /// The end of the branch.
    tip: Option<String>,
}

impl Session {
    fn head(&mut self, fields: &Fields, place: &str, report: &mut Report) {
        self.id = fields.string("sessionId").or(self.id.take());
        let time = |name: &str| fields.value(name).as_ref().and_then(when::millis);
        self.started = time("startTime").or(self.started);
        self.updated = time("lastUpdated").or(self.updated);
        self.title = fields.string("summary").or(self.title.take());
        self.extra.extend(crate::extra(fields, &PLACED, place, report));
    }

    fn message(&mut self, mut map: Map<String, Value>, at: usize) {
        let id = text_of(&map, "id").map_or_else(|| format!("m{at}"), str::to_owned);
        // A session that was saved before the calls were made has the message without them: with them it is another node, so
        // that reading the later file adds them.
        let calls = map.get("toolCalls").and_then(Value::as_array).map_or(0, Vec::len);
        let local = if calls == 0 { id } else { format!("{id}+{calls}") };
        let parent = self.tip.clone();
        let mut draft = Draft { local: local.clone(), parent, ..Draft::default() };
        draft.made.created_at = map.get("timestamp").and_then(when::millis);
        draft.made.origin.model = text_of(&map, "model").map(str::to_owned);
        let kind = text_of(&map, "type").unwrap_or_default().to_owned();
        let role = match kind.as_str() {
            "user" => Role::User,
            "gemini" => Role::Assistant,
            _ => Role::System,
        };
        let shown = role == Role::System;
        draft.made.messages = said(&mut map, role, &local);
        if shown {
            // What the program told the person: no model saw it.
            draft.made.label("hidden", "true");
            draft.made.messages.iter_mut().for_each(|message| message.include_in_context = false);
            if let (true, Some(message)) = (kind == "error", draft.made.messages.first_mut()) {
                message.kind = Kind::Error { code: "CHAT_ERROR".to_owned(), reason: message.text().into_owned() };
            }
        }
        for name in ["id", "timestamp", "model", "displayContent"] {
            map.shift_remove(name);
        }
        if !shown {
            map.shift_remove("type");
        }
        beside(&mut draft.made.messages, "gemini-cli", map);
        self.tip = Some(local);
        self.drafts.push(draft);
    }

    fn made(self, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
        if self.drafts.is_empty() {
            report.skip(place, Code::Empty, "a session without messages");
            return None;
        }
        let id = self.id.unwrap_or_else(|| format!("{digest:016x}"));
        let mut tree = Tree::new(Format::GeminiCli.name(), &id);
        let first = self.drafts.iter().flat_map(|draft| &draft.made.messages).find(|m| m.role == Role::User);
        let words =
            first.map(|message| message.text().trim().lines().next().unwrap_or_default().chars().take(80).collect());
        tree.title = self.title.or(words);
        (tree.created_at, tree.updated_at) = (self.started, self.updated);
        tree.extra = self.extra;
        tree.leaf = self.tip;
        tree.drafts = self.drafts;
        Some(tree.finish(place, digest, report))
    }
}

fn said(map: &mut Map<String, Value>, role: Role, local: &str) -> Vec<Message> {
    let mut blocks = Blocks::of("gemini-cli", role, local);
    if let Some(Value::Array(thoughts)) = map.shift_remove("thoughts") {
        for thought in thoughts {
            let text = |name: &str| thought.get(name).and_then(Value::as_str).unwrap_or_default();
            let (subject, words) = (text("subject"), text("description"));
            let head = if subject.is_empty() { String::new() } else { format!("**{subject}**\n\n") };
            blocks.reasoning(&(head + words));
        }
    }
    match map.shift_remove("content").unwrap_or_default() {
        Value::Array(parts) => parts.into_iter().for_each(|part| match part {
            Value::Object(part) => super::part(part, &mut blocks),
            other => blocks.block(other),
        }),
        Value::String(text) if text.is_empty() => {}
        other => blocks.content(other),
    }
    let Some(Value::Array(calls)) = map.shift_remove("toolCalls") else { return blocks.finish() };
    // All calls, then what each gave.
    let mut results = Vec::new();
    for call in calls {
        let Value::Object(mut call) = call else { continue };
        let mut take = |name: &str| call.shift_remove(name).unwrap_or_default();
        let (id, name, result, status) = (take("id"), take("name"), take("result"), take("status"));
        blocks.tool_call(id.clone(), name.clone(), take("args"));
        results.push((id, name, result, status, take("resultDisplay")));
    }
    for (id, name, result, status, display) in results {
        let failed = status.as_str().is_some_and(|status| matches!(status, "error" | "cancelled"));
        let (content, error) = output(result, display);
        if !content.is_null() || status.is_string() {
            blocks.tool_result(id, name, content, failed || error);
        }
    }
    blocks.finish()
}

/// What a call gave: the response that the model got, else what was shown.
fn output(result: Value, display: Value) -> (Value, bool) {
    let (mut texts, mut rest, mut failed) = (Vec::new(), Vec::new(), false);
    let list = match result {
        Value::Array(list) => list,
        Value::Null => vec![],
        other => return (other, false),
    };
    for mut part in list {
        match part.get_mut("functionResponse").and_then(|response| response.get_mut("response")).map(Value::take) {
            Some(response) => {
                let (output, error) = super::response(response);
                failed |= error;
                texts.push(if let Value::String(text) = output { text } else { own_text(&output) });
            }
            None if !says_nothing(&part) => rest.push(part),
            None => {}
        }
    }
    match (texts.is_empty(), rest.is_empty()) {
        (true, true) if display.is_string() => (display, false),
        (true, true) => (Value::Null, false),
        (false, true) => (texts.join("\n").into(), failed),
        _ => {
            let text = |text: String| serde_json::json!({"type": "text", "text": text});
            (Value::Array(texts.into_iter().map(text).chain(rest).collect()), failed)
        }
    }
}

/// The lines of a session so far.
#[derive(Debug, Default)]
pub(in super::super) struct Lines {
    sum: Option<Digest>,
    session: Session,
    /// The messages' places, by id.
    by_id: HashMap<String, usize>,
    given: usize,
}

impl Lines {
    /// Takes a line: the header, a change of it, a message or a rewind.
    pub fn line(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        self.sum = Some(self.sum.unwrap_or_else(Digest::new).with(bytes));
        if let Some(to) = fields.string("$rewindTo") {
            match self.by_id.get(&to) {
                Some(at) => self.session.tip = self.session.drafts[*at].parent.clone(),
                None => {
                    let reason = format!("it goes back to {:?}, which is not there", short(&to));
                    report.warn(place, Code::MissingParent, reason);
                }
            }
            return;
        }
        if let Some(set) = fields.object("$set") {
            return self.session.head(&set, place, report);
        }
        if fields.has("sessionId") && !fields.has("type") {
            return self.session.head(fields, place, report);
        }
        if !fields.has("type") {
            return report.skip(place, Code::BadShape, "a line of a kind that is not known");
        }
        let mut map = Map::new();
        for (name, raw) in &fields.0 {
            match clean::value(raw.get()) {
                Ok(value) => drop(map.insert(name.clone().into_owned(), value)),
                Err(error) => {
                    let (code, reason) = crate::unreadable(&error);
                    report.warn(place, code, format!("its field `{}` {reason} and is left out", short(name)));
                }
            }
        }
        self.given += 1;
        let (tip, next) = (self.session.tip.clone(), self.session.drafts.len());
        let id = text_of(&map, "id").map(str::to_owned);
        self.session.message(map, self.given);
        let id = id.unwrap_or_else(|| self.session.drafts[next].local.clone());
        let at = *self.by_id.entry(id).or_insert(next);
        if at == next {
            return;
        }
        let Some(mut draft) = self.session.drafts.pop() else { return };
        if !says_all_of(&draft, &self.session.drafts[at]) {
            let what = format!("{place}, message {}", short(&draft.local));
            report.warn(
                &what,
                Code::DuplicateId,
                "this id occurs more than once; the later message comes in under another id",
            );
            draft.local = format!("{}~{}", draft.local, self.given);
            self.session.tip = Some(draft.local.clone());
            return self.session.drafts.push(draft);
        }
        // Written again when it was complete: the later one counts.
        let first = std::mem::take(&mut self.session.drafts[at]);
        let (old, new) = (Some(first.local), Some(draft.local.clone()));
        draft.parent = first.parent;
        self.session.drafts[at] = draft;
        self.session.tip = if tip == old { new.clone() } else { tip };
        if old != new {
            self.session.drafts[at..]
                .iter_mut()
                .filter(|below| below.parent == old)
                .for_each(|b| b.parent.clone_from(&new));
        }
    }

    /// The file ends: hands out what its lines make.
    pub fn finish(&mut self, report: &mut Report) {
        let lines = std::mem::take(self);
        let Some(sum) = lines.sum else { return };
        if let Some(made) = lines.session.made("", sum.0, report) {
            report.conversation(made);
        }
    }
}

/// Whether a message that was written again says what it said before, and maybe more. Results change while a tool runs.
fn says_all_of(later: &Draft, first: &Draft) -> bool {
    let said = |message: &&Message| message.role != Role::Tool && !message.text().trim().is_empty();
    first.made.messages.iter().filter(said).all(|first| {
        let more = |later: &Message| later.role == first.role && later.text().starts_with(first.text().trim_end());
        later.made.messages.iter().any(more)
    })
}
