//! Codex's rollouts: JSON Lines of `{timestamp, type, payload}`, of which the response items are the conversation.
//!
//! What the model gave at once (reasoning, words, calls) is one node, what its tools answered the next. Events repeat the
//! items and are left out, but for what only they say: the thread's name, token counts, and turns that were taken back, which
//! stay as a branch. A file is one conversation, the first that it names: a fork repeats its parent's lines.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};
use threadkeep_core::{Kind, Message, MessageId, Role};

use crate::blocks::{Blocks, beside};
use crate::digest::Digest;
use crate::draft::Draft;
use crate::items::{self, Side};
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::Report;
use crate::tree::Tree;
use crate::{Code, Format, clean, unreadable, when};

/// What the program writes in the user's name begins so.
const NOTES: [&str; 7] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<turn_aborted>",
    "<collaboration_mode",
    "<skill",
    "# AGENTS.md",
];

/// The lines of a file so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    sum: Option<Digest>,
    id: Option<String>,
    title: Option<String>,
    started: Option<i64>,
    extra: Map<String, Value>,
    system: Vec<Message>,
    drafts: Vec<Draft>,
    /// The branch: places of drafts, the newest last.
    chain: Vec<usize>,
    open: Option<Open>,
    /// Items so far.
    given: usize,
    model: Option<String>,
    /// Names of tools by the ids of their calls.
    names: HashMap<String, String>,
    /// How long tools ran whose results have not come yet, in milliseconds, by the ids of their calls.
    took: HashMap<String, u64>,
    /// Calls that came without an id and wait for their results: made-up ids and names.
    waiting: VecDeque<(String, String)>,
    /// Summaries: places of drafts, and the places of the first and the last node that each stands for.
    summaries: Vec<(usize, usize, usize)>,
    left_out: crate::report::LeftOut,
}

/// What the model gave, or its tools answered, as far as it is known.
#[derive(Debug)]
struct Open {
    side: Side,
    blocks: Blocks,
    time: Option<i64>,
    /// The number of the last item in it.
    last: usize,
    /// Reasoning in the form in which its provider takes it back.
    reasoning: Vec<Value>,
    rest: Map<String, Value>,
}

impl Lines {
    /// Takes a line.
    pub fn line(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        self.sum = Some(self.sum.unwrap_or_else(Digest::new).with(bytes));
        let time = fields.value("timestamp").as_ref().and_then(when::millis);
        let kind = fields.string("type").unwrap_or_default();
        if fields.has("payload") {
            match fields.get("payload").map(clean::value) {
                Some(Ok(Value::Object(payload))) => self.payload(&kind, payload, time, place, report),
                Some(Err(error)) => {
                    let (code, reason) = unreadable(&error);
                    report.skip(place, code, format!("its `payload` {reason}"));
                }
                _ => report.skip(place, Code::BadShape, "its `payload` must be an object"),
            }
            return;
        }
        if fields.has("record_type") {
            return self.left_out.count("state");
        }
        // Older rollouts: the items themselves, after a line about the session.
        let map = crate::whole(fields, place, report);
        let kind = if kind.is_empty() && fields.has("id") { "session_meta" } else { "response_item" };
        self.payload(kind, map, time, place, report);
    }

    fn payload(
        &mut self,
        kind: &str,
        mut payload: Map<String, Value>,
        time: Option<i64>,
        place: &str,
        report: &mut Report,
    ) {
        match (kind, text_of(&payload, "type").unwrap_or_default()) {
            ("session_meta", _) if self.id.is_none() => self.session(payload, time),
            ("turn_context", _) => {
                if let Some(model) = text_of(&payload, "model") {
                    self.model = Some(model.to_owned());
                }
                self.left_out.count(kind);
            }
            ("response_item", _) => self.item(payload, time),
            ("compacted", _) => self.compacted(payload, time, place, report),
            ("event_msg", "token_count") => {
                let usage = payload.get_mut("info").and_then(|info| info.get_mut("last_token_usage")).map(Value::take);
                let model = self.open.as_mut().filter(|open| open.side == Side::Model);
                if let (Some(usage), Some(open)) = (usage, model) {
                    open.rest.insert("usage".to_owned(), usage);
                }
            }
            ("event_msg", "exec_command_end" | "mcp_tool_call_end") => {
                self.left_out.count(kind);
                let took = payload.get("duration").and_then(|took| {
                    Some(took.get("secs")?.as_f64()? * 1000.0 + took.get("nanos")?.as_f64()? / 1_000_000.0)
                });
                if let (Some(id), Some(took)) = (text_of(&payload, "call_id"), took) {
                    let took = took.round() as u64;
                    if !self.open.as_mut().is_some_and(|open| open.blocks.took(Some(id), took)) {
                        self.took.insert(id.to_owned(), took);
                    }
                }
            }
            ("event_msg", "thread_name_updated") => {
                self.title = text_of(&payload, "thread_name").map(str::to_owned).or(self.title.take());
            }
            ("event_msg", "thread_rolled_back") => {
                self.close();
                let turns = payload.get("num_turns").and_then(Value::as_u64).unwrap_or(0);
                self.take_back(turns);
            }
            (kind, _) => self.left_out.count(kind),
        }
    }

    fn session(&mut self, mut meta: Map<String, Value>, time: Option<i64>) {
        let id = meta.shift_remove("id").filter(|id| id.as_str().is_some_and(|id| !id.is_empty()));
        self.id = id.as_ref().and_then(Value::as_str).map(str::to_owned);
        self.started = meta.shift_remove("timestamp").as_ref().and_then(when::millis).or(time);
        for name in ["base_instructions", "instructions"] {
            let text = match meta.shift_remove(name) {
                Some(Value::Object(mut map)) => map.shift_remove("text"),
                other => other,
            };
            if let Some(Value::String(text)) = text.filter(|text| !says_nothing(text)) {
                self.system.push(Message::system(text));
            }
        }
        meta.retain(|name, value| name != "type" && name != "dynamic_tools" && !says_nothing(value));
        self.extra = meta;
    }

    /// Takes an item of a response.
    fn item(&mut self, mut item: Map<String, Value>, time: Option<i64>) {
        let kind = text_of(&item, "type").unwrap_or("message").to_owned();
        let time = item.get("timestamp").and_then(when::millis).or(time);
        for name in ["internal_chat_message_metadata_passthrough", "metadata", "timestamp"] {
            item.shift_remove(name);
        }
        let role = text_of(&item, "role").map(Role::from);
        let side = match kind.as_str() {
            "message" if role == Some(Role::Assistant) => Side::Model,
            "message" | "agent_message" => Side::None,
            _ => match items::side(&kind) {
                Side::None => return self.left_out.count(&kind),
                side => side,
            },
        };
        self.given += 1;
        if side == Side::None {
            self.close();
            return self.said(item, role, time);
        }
        if self.open.as_ref().is_none_or(|open| open.side != side) {
            self.close();
        }
        self.pair(&mut item, &kind, side);
        let seed = format!("i{}", self.given);
        let open = self.open.get_or_insert_with(|| Open {
            side,
            blocks: Blocks::of("codex", Role::Assistant, &seed),
            time,
            last: 0,
            reasoning: Vec::new(),
            rest: Map::new(),
        });
        open.last = self.given;
        match kind.as_str() {
            "reasoning" if !says_nothing(item.get("encrypted_content").unwrap_or(&Value::Null)) => {
                if item.contains_key("id") {
                    open.reasoning.push(Value::Object(item.clone()));
                } else {
                    open.blocks.keep("reasoning", Value::Object(item.clone()));
                }
            }
            "message" => {
                let of_message = |name: &str| !matches!(name, "type" | "role" | "content");
                let rest = item.iter().filter(|(name, value)| of_message(name) && !says_nothing(value));
                open.rest.extend(rest.map(|(name, value)| (name.clone(), value.clone())));
            }
            _ => {}
        }
        let id = text_of(&item, "call_id").filter(|_| side == Side::Tool).map(str::to_owned);
        let took = id.as_ref().and_then(|id| self.took.remove(id).or_else(|| seconds(item.get("output")?)));
        items::add(item, &mut open.blocks);
        if let Some(took) = took {
            open.blocks.took(id.as_deref(), took);
        }
    }

    /// Pairs calls and results: by their ids, else in order.
    fn pair(&mut self, item: &mut Map<String, Value>, kind: &str, side: Side) {
        let id = text_of(item, "call_id").map(str::to_owned);
        if side == Side::Tool {
            if id.is_none() {
                let name = text_of(item, "name");
                let at = self.waiting.iter().position(|(_, call)| name.is_none_or(|name| name == call)).unwrap_or(0);
                if let Some((id, _)) = self.waiting.remove(at) {
                    item.insert("call_id".to_owned(), id.into());
                }
            } else if let Some(name) =
                id.as_ref().and_then(|id| self.names.get(id)).filter(|_| !item.contains_key("name"))
            {
                item.insert("name".to_owned(), name.as_str().into());
            }
            return;
        }
        let function = item.get("function").and_then(|function| function.get("name")).and_then(Value::as_str);
        let name = text_of(item, "name").or(function).unwrap_or(kind).to_owned();
        match id.or_else(|| text_of(item, "id").filter(|_| kind != "tool_call").map(str::to_owned)) {
            Some(id) => drop(self.names.insert(id, name)),
            None if kind == "tool_call" => {
                let id = format!("call_i{}", self.given);
                item.insert("call_id".to_owned(), id.as_str().into());
                self.waiting.push_back((id, name));
            }
            None => {}
        }
    }

    /// Adds what the user, the program or another agent said.
    fn said(&mut self, mut item: Map<String, Value>, role: Option<Role>, time: Option<i64>) {
        let role = role.unwrap_or(Role::User);
        let mut blocks = Blocks::of("codex", role.clone(), "");
        items::content(item.shift_remove("content").unwrap_or_default(), &mut blocks);
        let mut messages = blocks.finish();
        if let (Some(Value::String(author)), Some(message)) = (item.shift_remove("author"), messages.first_mut()) {
            message.name = Some(author);
        }
        item.shift_remove("type");
        item.shift_remove("role");
        let mut draft = Draft::default();
        draft.made.created_at = time;
        let note = messages.first().is_some_and(|message| is_note(&message.text()));
        if role != Role::User || note {
            draft.made.label("hidden", "true");
        }
        beside(&mut messages, "codex", item);
        draft.made.messages = messages;
        self.add(draft, self.given);
    }

    /// A compaction: what it left stands for all that came before. Where it wrote down the history with which it went on, that is what
    /// stands in prompts, as far as it can be read.
    fn compacted(&mut self, mut payload: Map<String, Value>, time: Option<i64>, place: &str, report: &mut Report) {
        self.close();
        self.given += 1;
        let mut text = match payload.shift_remove("message") {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let mut left = standing(&payload);
        let sealed = payload.get("replacement_history").map_or(0, sealed);
        if text.trim().is_empty() {
            text = left.join("\n\n");
        } else if !left.is_empty() && !left.iter().any(|words| words.contains(text.trim())) {
            left.push(text.trim().to_owned());
        }
        if sealed > 0 {
            let stands = match (text.trim().is_empty(), self.chain.is_empty()) {
                (true, _) => "nothing of it can be read, so prompts go on with the history itself",
                (false, true) => "what can be read of it comes in",
                (false, false) => "what can be read of it stands for the history before it",
            };
            let reason = format!(
                "its compaction left {sealed} encrypted {} can read: {stands}",
                if sealed == 1 {
                    "item, which only the provider that wrote it"
                } else {
                    "items, which only the provider that wrote them"
                }
            );
            report.warn(place, Code::Encrypted, reason);
        }
        let mut message = Message::user(text);
        message.kind = Kind::Summary { from: None, to: None };
        beside(std::slice::from_mut(&mut message), "codex", payload);
        let mut draft = Draft::default();
        draft.made.created_at = time;
        draft.made.label("compaction", "codex");
        draft.made.messages.push(message);
        draft.left = left;
        let to = self.chain.last().copied();
        let from = self.summaries.last().map(|(at, ..)| *at).or(self.chain.first().copied());
        if let (Some(from), Some(to)) = (from, to) {
            self.summaries.push((self.drafts.len(), from, to));
        }
        self.add(draft, self.given);
    }

    /// Ends what the model gave or its tools answered.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let mut messages = open.blocks.finish();
        if open.side == Side::Tool {
            messages.retain(|message| message.role == Role::Tool || !message.content.is_empty());
        }
        beside(&mut messages, "codex", open.rest);
        if let (Some(message), false) = (messages.first_mut(), open.reasoning.is_empty()) {
            message.extra.insert("openai-responses".to_owned(), Value::Array(open.reasoning));
        }
        let mut draft = Draft::default();
        draft.made.created_at = open.time;
        if open.side == Side::Model {
            draft.made.origin.model.clone_from(&self.model);
        }
        draft.made.messages = messages;
        self.add(draft, open.last);
    }

    /// Adds a node to the branch. It bears the number of its last item, so that one that has grown is another.
    fn add(&mut self, mut draft: Draft, last: usize) {
        draft.local = format!("i{last}");
        draft.parent = self.chain.last().map(|at| self.drafts[*at].local.clone());
        self.chain.push(self.drafts.len());
        self.drafts.push(draft);
    }

    /// Takes back the last turns: what follows hangs from what was before them.
    fn take_back(&mut self, turns: u64) {
        // A branch has no more turns than nodes, whatever the line says.
        for _ in 0..turns.min(self.chain.len() as u64) {
            while let Some(at) = self.chain.pop() {
                let made = &self.drafts[at].made;
                let asks = made.messages.first().is_some_and(|message| message.role == Role::User);
                if asks && made.labels.get("hidden").is_none() {
                    break;
                }
            }
        }
    }

    /// The file ends: hands out what its lines make.
    pub fn finish(&mut self, report: &mut Report) {
        let mut lines = std::mem::take(self);
        let Some(sum) = lines.sum else { return };
        lines.close();
        lines.left_out.report("which show what the program did, or repeat what was said", report);
        if lines.drafts.is_empty() {
            report.skip("", Code::Empty, "a session without messages");
            return;
        }
        let id = lines.id.unwrap_or_else(|| format!("{:016x}", sum.0));
        let mut tree = Tree::new(Format::Codex.name(), &id);
        for (at, from, to) in lines.summaries {
            let id = |at: usize| Some(MessageId::scoped(&tree.transcript, &lines.drafts[at].local));
            let kind = Kind::Summary { from: id(from), to: id(to) };
            lines.drafts[at].made.messages[0].kind = kind;
            lines.drafts[at].stands_to = Some(to);
        }
        let asked = lines.drafts.iter().filter(|draft| draft.made.labels.get("hidden").is_none());
        let mut asked = asked.flat_map(|draft| &draft.made.messages).filter(|m| m.role == Role::User);
        let words = asked.find(|message| !message.text().trim().is_empty());
        let words = words.map(|m| m.text().trim().lines().next().unwrap_or_default().chars().take(80).collect());
        tree.title = lines.title.or(words);
        tree.created_at = lines.started;
        tree.updated_at = lines.drafts.iter().filter_map(|draft| draft.made.created_at).max();
        tree.extra = lines.extra;
        tree.root.messages = lines.system;
        tree.leaf = lines.chain.last().map(|at| lines.drafts[*at].local.clone());
        tree.drafts = lines.drafts;
        let made = tree.finish("", sum.0, report);
        report.conversation(made);
    }
}

/// The history with which a compaction went on, message by message, without the program's notes; what is said twice, once.
fn standing(payload: &Map<String, Value>) -> Vec<String> {
    let items = payload.get("replacement_history").and_then(Value::as_array).into_iter().flatten();
    let mut said: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for item in items.filter_map(Value::as_object) {
        let role = text_of(item, "role").unwrap_or_default();
        if !matches!(role, "user" | "assistant") {
            continue;
        }
        let mut blocks = Blocks::of("codex", Role::User, "");
        items::content(item.get("content").cloned().unwrap_or_default(), &mut blocks);
        for message in blocks.finish() {
            let text = message.text().trim().to_owned();
            if !text.is_empty() && !is_note(&text) && known.insert(text.clone()) {
                said.push(text);
            }
        }
    }
    said
}

/// How many items of a history hold something that is encrypted for its provider.
fn sealed(history: &Value) -> usize {
    let says = |value: &Value| value.get("encrypted_content").is_some_and(|value| !says_nothing(value));
    let parts =
        |item: &Value| item.get("content").and_then(Value::as_array).is_some_and(|parts| parts.iter().any(says));
    history.as_array().into_iter().flatten().filter(|item| says(item) || parts(item)).count()
}

/// How long a command ran, in milliseconds. Its output says so in words for the model.
fn seconds(output: &Value) -> Option<u64> {
    let text = output.as_str().or_else(|| output.get("content")?.as_str())?;
    let seconds = if text.starts_with('{') && text.contains("duration_seconds") {
        serde_json::from_str::<Value>(text).ok()?.get("metadata")?.get("duration_seconds")?.as_f64()?
    } else {
        let line = text.lines().take(5).find_map(|line| line.strip_prefix("Wall time: ")?.strip_suffix(" seconds"));
        line?.parse().ok()?
    };
    Some((seconds * 1000.0).round() as u64)
}

/// Whether the program wrote a text in the user's name.
fn is_note(text: &str) -> bool {
    NOTES.iter().any(|note| text.trim_start().starts_with(note))
}
