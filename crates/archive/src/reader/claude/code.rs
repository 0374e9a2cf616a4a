//! Claude Code's session files: JSON Lines, each with a `uuid` and the `parentUuid` that it follows.
//!
//! The lines are gathered here and become a tree in [`assemble`]: the lines of one API message are one node, the results of
//! its calls one more, what the terminal merely showed is left out and counted. A file is one conversation; lines of several
//! sessions that no link connects are one each.

mod assemble;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::raw::{Fields, says_nothing, text_of};
use crate::report::{LeftOut, Report, short};
use crate::{Code, clean, unreadable, when};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    User,
    Assistant,
    /// Notes of the program: hooks, durations, compactions.
    System,
    /// What the terminal showed meanwhile: others may hang from it, but it says nothing.
    Progress,
    /// Anything else that has a place in the tree.
    Other,
}

/// A line that has a place in the tree.
#[derive(Debug)]
struct Line {
    uuid: String,
    parent: Option<String>,
    session: usize,
    kind: LineKind,
    /// The API message that it is part of.
    message: Option<String>,
    sidechain: bool,
    /// Written by the program in the user's name.
    meta: bool,
    /// The summary that a compaction left.
    summary: bool,
    /// Where a compaction happened, and why.
    compaction: Option<String>,
    /// The tool calls whose results were cleared there.
    clears: Vec<String>,
    /// The first line that the program kept as it was.
    keeps: Option<String>,
    error: bool,
    time: Option<i64>,
    /// How long the tool ran whose result it is, in milliseconds.
    took: Option<u64>,
    agent: Option<String>,
    model: Option<String>,
    content: Value,
    extra: Map<String, Value>,
}

impl Line {
    /// Whether it says something that a later line of the same uuid does not repeat.
    fn says_more_than(&self, later: &Self) -> bool {
        let texts = |line: &Self| match &line.content {
            Value::String(text) => vec![text.clone()],
            _ => line.blocks("text").filter_map(|block| text_of(block, "text").map(str::to_owned)).collect(),
        };
        let later = texts(later);
        texts(self).iter().any(|text| !later.iter().any(|other| other.contains(text.as_str())))
    }

    /// The blocks of a certain type.
    fn blocks<'a>(&'a self, kind: &'static str) -> impl Iterator<Item = &'a Map<String, Value>> {
        let list = self.content.as_array().into_iter().flatten().filter_map(Value::as_object);
        list.filter(move |block| text_of(block, "type") == Some(kind))
    }
}

/// What a session said of itself.
#[derive(Debug, Default)]
struct Session {
    name: String,
    custom_title: Option<String>,
    made_title: Option<String>,
    extra: Map<String, Value>,
}

/// The lines of a file so far.
#[derive(Debug, Default)]
pub(in super::super) struct Lines {
    lines: Vec<Line>,
    by_uuid: HashMap<String, usize>,
    sessions: Vec<Session>,
    by_session: HashMap<String, usize>,
    /// Titles, each for the branch that ends in this line.
    summaries: Vec<(String, String)>,
    left_out: LeftOut,
    copies: u64,
    sum: Option<Digest>,
    /// Whether a line could not be read.
    pub damaged: bool,
}

impl Lines {
    /// Takes a line.
    pub fn line(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        self.sum = Some(self.sum.unwrap_or_else(Digest::new).with(bytes));
        let kind = fields.string("type").unwrap_or_default();
        let session = fields.string("sessionId").unwrap_or_default();
        match kind.as_str() {
            "summary" => {
                if let (Some(leaf), Some(summary)) = (fields.string("leafUuid"), fields.string("summary")) {
                    self.summaries.push((leaf, summary));
                }
                return;
            }
            "custom-title" => {
                let at = self.session(&session);
                self.sessions[at].custom_title = fields.string("customTitle").or_else(|| fields.string("title"));
                return;
            }
            "ai-title" => {
                let at = self.session(&session);
                self.sessions[at].made_title = fields.string("aiTitle").or_else(|| fields.string("title"));
                return;
            }
            _ => {}
        }
        let Some(uuid) = fields.string("uuid").filter(|uuid| !uuid.is_empty()) else {
            self.left_out.count(&kind);
            return;
        };
        if kind == "progress" {
            self.left_out.count(&kind);
        }
        let at = self.session(&session);
        let line = self.read(fields, &kind, uuid, at, place, report);
        self.remember(fields, at);
        match self.by_uuid.get(&line.uuid) {
            // Written again when it was complete: the later one counts, unless it is only the beginning of the other.
            Some(at) if self.lines[*at].says_more_than(&line) && !line.says_more_than(&self.lines[*at]) => {}
            Some(at) => {
                let before = std::mem::replace(&mut self.lines[*at], line);
                if before.says_more_than(&self.lines[*at]) {
                    let reason =
                        format!("the uuid {} occurs with two texts: the later one comes in", short(&before.uuid));
                    report.skip(place, Code::DuplicateId, reason);
                }
            }
            None => {
                self.by_uuid.insert(line.uuid.clone(), self.lines.len());
                self.lines.push(line);
            }
        }
    }

    fn session(&mut self, name: &str) -> usize {
        let next = self.sessions.len();
        let at = *self.by_session.entry(name.to_owned()).or_insert(next);
        if at == next {
            self.sessions.push(Session { name: name.to_owned(), ..Session::default() });
        }
        at
    }

    /// What every line repeats is kept once, from the first that has it.
    fn remember(&mut self, fields: &Fields, session: usize) {
        for name in ["cwd", "gitBranch", "version", "slug", "userType", "entrypoint"] {
            let extra = &mut self.sessions[session].extra;
            if !extra.contains_key(name)
                && let Some(value) = fields.value(name).filter(|value| !says_nothing(value))
            {
                extra.insert(name.to_owned(), value);
            }
        }
    }

    fn read(
        &mut self,
        fields: &Fields,
        kind: &str,
        uuid: String,
        session: usize,
        place: &str,
        report: &mut Report,
    ) -> Line {
        let flag = |name: &str| fields.get(name) == Some("true");
        let kind = match kind {
            "user" => LineKind::User,
            "assistant" => LineKind::Assistant,
            "system" => LineKind::System,
            "progress" => LineKind::Progress,
            _ => LineKind::Other,
        };
        let mut line = Line {
            uuid,
            parent: fields.string("parentUuid").or_else(|| fields.string("logicalParentUuid")),
            session,
            kind,
            message: None,
            sidechain: flag("isSidechain"),
            meta: flag("isMeta"),
            summary: flag("isCompactSummary"),
            compaction: None,
            clears: Vec::new(),
            keeps: None,
            error: flag("isApiErrorMessage"),
            time: fields.value("timestamp").as_ref().and_then(when::millis),
            took: None,
            agent: fields.string("agentId"),
            model: None,
            content: Value::Null,
            extra: Map::new(),
        };
        match kind {
            LineKind::User | LineKind::Assistant => self.said(fields, &mut line, place, report),
            LineKind::System | LineKind::Other => note(fields, &mut line),
            LineKind::Progress => {}
        }
        line
    }

    /// What a user's or assistant's line says.
    fn said(&mut self, fields: &Fields, line: &mut Line, place: &str, report: &mut Report) {
        let copy = fields.get("toolUseResult");
        self.copies += u64::from(copy.is_some());
        line.took = fields.object("toolUseResult").and_then(|copy| {
            let number = |name| copy.value(name)?.as_f64();
            let millis = ["durationMs", "totalDurationMs"].into_iter().find_map(number);
            let millis = millis.or_else(|| Some(number("durationSeconds")? * 1000.0))?;
            Some(millis.round() as u64)
        });
        let mut message = match fields.get("message").map(clean::value) {
            Some(Ok(Value::Object(message))) => message,
            Some(Ok(text @ Value::String(_))) => Map::from_iter([("content".to_owned(), text)]),
            Some(Err(error)) => {
                let (code, reason) = unreadable(&error);
                report.warn(place, code, format!("its `message` {reason}; the line comes in empty"));
                return;
            }
            _ => {
                report.warn(place, Code::BadShape, "its `message` is missing or no object; the line comes in empty");
                return;
            }
        };
        line.message = text_of(&message, "id").map(str::to_owned);
        line.model = text_of(&message, "model").filter(|model| *model != "<synthetic>").map(str::to_owned);
        line.content = match message.shift_remove("content") {
            Some(content) => content,
            None => {
                report.warn(
                    place,
                    Code::BadShape,
                    "its message has no `content`; what the tool gave beside it is taken",
                );
                copy.and_then(|raw| clean::value(raw).ok()).filter(Value::is_string).unwrap_or_default()
            }
        };
        for name in ["usage", "stop_reason", "stop_sequence"] {
            if let Some(value) = message.shift_remove(name).filter(|value| !says_nothing(value)) {
                line.extra.insert(name.to_owned(), value);
            }
        }
        for name in ["requestId", "permissionMode", "isVisibleInTranscriptOnly", "sourceToolUseID", "thinkingMetadata"]
        {
            if let Some(value) = fields.value(name).filter(|value| !says_nothing(value)) {
                line.extra.insert(name.to_owned(), value);
            }
        }
    }

    /// The file ends: hands out what its lines make.
    pub fn finish(&mut self, report: &mut Report) {
        let lines = std::mem::take(self);
        let Some(sum) = lines.sum else { return };
        lines.left_out.report("which show what the program did and say nothing", report);
        if lines.copies > 0 {
            let reason =
                format!("copies of tool results (`toolUseResult`, {}): the results themselves are in", lines.copies);
            report.skip("", Code::NotAConversation, reason);
        }
        if lines.lines.iter().all(|line| line.kind == LineKind::Progress) {
            report.skip("", Code::Empty, "a session without messages");
            return;
        }
        assemble::assemble(lines, sum, report);
    }
}

/// What a line of another type than a message's says.
fn note(fields: &Fields, line: &mut Line) {
    line.content = fields.value("content").unwrap_or_default();
    if fields.string("subtype").is_some_and(|kind| kind.ends_with("compact_boundary")) {
        let data = ["compactMetadata", "microcompactMetadata"].iter().find_map(|name| fields.object(name));
        let trigger = data.as_ref().and_then(|data| data.string("trigger"));
        line.compaction = Some(trigger.unwrap_or_else(|| "unknown".to_owned()));
        let kept = |name: &str| data.as_ref().and_then(|data| data.object(name));
        let first = || match kept("preservedMessages")?.value("uuids")? {
            Value::Array(list) => list.first()?.as_str().map(str::to_owned),
            _ => None,
        };
        line.keeps = kept("preservedSegment").and_then(|kept| kept.string("headUuid")).or_else(first);
        let clears = data.as_ref().and_then(|data| data.value("compactedToolIds"));
        if let Some(Value::Array(clears)) = clears {
            line.clears.extend(clears.iter().filter_map(Value::as_str).map(str::to_owned));
        }
    }
    let known = ["uuid", "parentUuid", "sessionId", "timestamp", "content", "isSidechain", "isMeta", "agentId"];
    let repeated = ["cwd", "gitBranch", "version", "slug", "userType", "entrypoint"];
    for (name, raw) in &fields.0 {
        if known.contains(&name.as_ref()) || repeated.contains(&name.as_ref()) {
            continue;
        }
        if let Some(value) = clean::value(raw.get()).ok().filter(|value| !says_nothing(value)) {
            line.extra.insert(name.clone().into_owned(), value);
        }
    }
}
