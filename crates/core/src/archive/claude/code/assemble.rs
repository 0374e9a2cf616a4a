//! From the lines of Claude Code sessions to trees.
//!
//! Lines of one API message become one node, however the program chained them; the results of its calls become one node below
//! it, so that calls made in parallel are no branches. A sub-agent's lines hang from the call that started it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::super::super::Format;
use super::super::super::digest::Digest;
use super::super::super::raw::text_of;
use super::super::super::report::Report;
use super::super::super::tree::{Draft, Tree};
use super::super::Blocks;
use super::{Line, LineKind, Lines};
use crate::{Kind, Message, MessageId, Role};

/// Hands out the conversations of a file.
pub(super) fn assemble(lines: Lines, sum: Digest, report: &mut Report) {
    let parts = connected(&lines);
    let many = parts.len() > 1;
    let Lines { lines, by_uuid, sessions, summaries, .. } = lines;
    let mut lines: Vec<Option<Line>> = lines.into_iter().map(Some).collect();
    for (session, members) in parts {
        let name =
            if sessions[session].name.is_empty() { format!("{:016x}", sum.0) } else { sessions[session].name.clone() };
        let place = if many { format!("session {name}") } else { String::new() };
        let own: Vec<Line> = members.iter().filter_map(|at| lines[*at].take()).collect();
        if own.iter().all(|line| line.kind == LineKind::Progress) {
            continue;
        }
        let mut tree = Tree::new(Format::ClaudeCode.name(), &name);
        tree.extra = sessions[session].extra.clone();
        let summary = || {
            let here = |leaf: &String| by_uuid.get(leaf).is_some_and(|at| members.binary_search(at).is_ok());
            summaries.iter().rev().find(|(leaf, _)| here(leaf)).map(|(_, summary)| summary.clone())
        };
        let title = sessions[session].custom_title.clone().or_else(summary).or(sessions[session].made_title.clone());
        let only_sidechain = own.iter().all(|line| line.sidechain);
        tree.title = title.or_else(|| if only_sidechain { None } else { first_words(&own) });
        tree.created_at = own.iter().filter_map(|line| line.time).min();
        tree.updated_at = own.iter().filter_map(|line| line.time).max();
        let mut group = Group::new(own);
        group.place();
        tree.drafts = group.drafts(&tree.transcript);
        let made = tree.finish(&place, sum.with(name.as_bytes()).0, report);
        report.conversation(made);
    }
}

/// The lines that belong together, by the first of their sessions: sessions that links connect are one.
fn connected(lines: &Lines) -> BTreeMap<usize, Vec<usize>> {
    let mut of: Vec<usize> = (0..lines.sessions.len()).collect();
    fn find(of: &[usize], mut at: usize) -> usize {
        while of[at] != at {
            at = of[at];
        }
        at
    }
    for line in &lines.lines {
        if let Some(up) = line.parent.as_ref().and_then(|parent| lines.by_uuid.get(parent)) {
            let (a, b) = (find(&of, line.session), find(&of, lines.lines[*up].session));
            of[a.max(b)] = a.min(b);
        }
    }
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, line) in lines.lines.iter().enumerate() {
        parts.entry(find(&of, line.session)).or_default().push(at);
    }
    parts
}

/// The beginning of the first thing that the user really said.
fn first_words(lines: &[Line]) -> Option<String> {
    let said = |line: &&Line| line.kind == LineKind::User && !line.meta && !line.sidechain && !line.summary;
    let text = |line: &Line| match &line.content {
        Value::String(text) => Some(text.clone()),
        _ => line.blocks("text").next().and_then(|block| text_of(block, "text")).map(str::to_owned),
    };
    // What begins with a tag is a command's echo.
    let real = |text: &String| !text.trim().is_empty() && !text.trim_start().starts_with('<');
    let text = lines.iter().filter(said).filter_map(text).find(real)?;
    Some(text.trim().lines().next().unwrap_or_default().chars().take(80).collect())
}

/// The lines of one conversation, and the nodes that they become.
struct Group {
    lines: Vec<Line>,
    by_uuid: HashMap<String, usize>,
    /// Each line's node.
    node_of: Vec<Option<usize>>,
    /// Each node's lines, in the order of the file.
    nodes: Vec<Vec<usize>>,
}

impl Group {
    fn new(mut lines: Vec<Line>) -> Self {
        let by_uuid: HashMap<String, usize> =
            lines.iter().enumerate().map(|(at, line)| (line.uuid.clone(), at)).collect();
        let linked = lines.iter().any(|line| line.parent.as_ref().is_some_and(|parent| by_uuid.contains_key(parent)));
        if !linked {
            // A file without links: each line follows the one before it.
            let mut previous: Option<String> = None;
            for line in &mut lines {
                line.parent = line.parent.take().or(previous);
                previous = Some(line.uuid.clone());
            }
        }
        let node_of = vec![None; lines.len()];
        Self { lines, by_uuid, node_of, nodes: Vec::new() }
    }

    /// The line above, past those that say nothing. An id that is nowhere comes back as it is.
    fn above(&self, at: usize) -> Result<Option<usize>, String> {
        let mut at = at;
        let mut steps = 0;
        loop {
            let Some(parent) = &self.lines[at].parent else { return Ok(None) };
            let Some(up) = self.by_uuid.get(parent) else { return Err(parent.clone()) };
            steps += 1;
            if self.lines[*up].kind != LineKind::Progress {
                return Ok(Some(*up));
            }
            if steps > self.lines.len() {
                return Ok(None); // progress lines in a circle
            }
            at = *up;
        }
    }

    /// Gives every line that says something its node.
    fn place(&mut self) {
        let mut called: HashMap<String, usize> = HashMap::new();
        let mut results: HashMap<usize, (usize, HashSet<String>)> = HashMap::new();
        for at in 0..self.lines.len() {
            let node = match self.lines[at].kind {
                LineKind::Progress => continue,
                LineKind::Assistant => self.same_message(at),
                LineKind::User => {
                    let ids: Vec<String> = answered(&self.lines[at]);
                    let owner = ids.iter().find_map(|id| called.get(id)).copied();
                    owner.and_then(|owner| {
                        let (node, seen) = results.entry(owner).or_insert((self.nodes.len(), HashSet::new()));
                        // The same call answered twice is another branch.
                        let fresh = ids.iter().all(|id| seen.insert(id.clone()));
                        fresh.then_some(*node)
                    })
                }
                _ => None,
            };
            let node = node.unwrap_or(self.nodes.len());
            if node == self.nodes.len() {
                self.nodes.push(Vec::new());
            }
            self.nodes[node].push(at);
            self.node_of[at] = Some(node);
            for block in self.lines[at].blocks("tool_use") {
                if let Some(id) = text_of(block, "id") {
                    called.insert(id.to_owned(), node);
                }
            }
        }
    }

    /// The node of the API message that this line continues, if it does: one further up, past its own results.
    fn same_message(&self, at: usize) -> Option<usize> {
        let message = self.lines[at].message.as_ref()?;
        let mut here = at;
        for _ in 0..self.lines.len() {
            here = self.above(here).ok()??;
            let line = &self.lines[here];
            match line.kind {
                LineKind::Assistant if line.message.as_ref() == Some(message) => return self.node_of[here],
                LineKind::User if !answered(line).is_empty() => {}
                _ => return None,
            }
        }
        None
    }

    /// The nodes, in the order of their first lines.
    fn drafts(mut self, transcript: &MessageId) -> Vec<Draft> {
        let started = self.started();
        let names = self.call_names();
        let mut parents = Vec::with_capacity(self.nodes.len());
        for (node, members) in self.nodes.iter().enumerate() {
            let first = members[0];
            let local = |at: usize| self.node_of[at].map(|node| self.lines[self.nodes[node][0]].uuid.clone());
            // A node may begin below a line of its own: then the first that leads elsewhere counts.
            let mut parent = None;
            for at in members {
                match self.above(*at) {
                    Ok(Some(up)) if self.node_of[up] == Some(node) => {}
                    Ok(Some(up)) => parent = local(up),
                    Ok(None) => {}
                    Err(missing) => parent = Some(missing),
                }
                if parent.is_some() {
                    break;
                }
            }
            if parent.is_none() && self.lines[first].sidechain {
                let up = prompt(&self.lines[first]).and_then(|text| started.get(text)).filter(|up| **up != node);
                parent = up.map(|up| self.lines[self.nodes[*up][0]].uuid.clone());
            }
            parents.push(parent);
        }
        let nodes = std::mem::take(&mut self.nodes);
        let mut drafts: Vec<Draft> = Vec::with_capacity(nodes.len());
        for (members, parent) in nodes.into_iter().zip(parents) {
            drafts.push(self.draft(&members, parent, &names));
        }
        cover(&mut drafts, transcript);
        drafts
    }

    /// The nodes that started sub-agents, by the prompts that they gave them.
    fn started(&self) -> HashMap<String, usize> {
        let mut started = HashMap::new();
        for (at, line) in self.lines.iter().enumerate() {
            for block in line.blocks("tool_use") {
                let prompt = block.get("input").and_then(|input| input.get("prompt")).and_then(Value::as_str);
                if let (Some(prompt), Some(node)) = (prompt, self.node_of[at]) {
                    started.insert(prompt.to_owned(), node);
                }
            }
        }
        started
    }

    fn call_names(&self) -> HashMap<String, String> {
        let calls = self.lines.iter().flat_map(|line| line.blocks("tool_use"));
        calls.filter_map(|call| Some((text_of(call, "id")?.to_owned(), text_of(call, "name")?.to_owned()))).collect()
    }

    /// One node from its lines.
    fn draft(&mut self, members: &[usize], parent: Option<String>, names: &HashMap<String, String>) -> Draft {
        let first = &self.lines[members[0]];
        let mut draft = Draft { local: first.uuid.clone(), parent, ..Draft::default() };
        let made = &mut draft.made;
        (made.created_at, made.origin.agent) = (first.time, first.agent.clone());
        made.origin.model = members.iter().find_map(|at| self.lines[*at].model.clone());
        let (kind, summary, error) = (first.kind, first.summary, first.error);
        if first.sidechain {
            made.label("sidechain", "true");
        }
        if first.meta || matches!(kind, LineKind::System | LineKind::Other) {
            made.label("hidden", "true");
        }
        if let Some(trigger) = &first.compaction {
            made.label("compaction", trigger);
        }
        let role = match kind {
            LineKind::User => Role::User,
            LineKind::Assistant => Role::Assistant,
            _ => Role::System,
        };
        let mut blocks = Blocks::new(role, &draft.local);
        let mut extra = serde_json::Map::new();
        for at in members {
            let line = &mut self.lines[*at];
            blocks.content(std::mem::take(&mut line.content));
            extra.extend(std::mem::take(&mut line.extra));
        }
        let mut messages = blocks.finish();
        if kind == LineKind::User {
            // Results first, as providers want them, whatever was said in between.
            messages.sort_by_key(|message| message.role != Role::Tool);
        }
        for message in &mut messages {
            if message.name.is_none() && message.role == Role::Tool {
                message.name = message.tool_call_id.as_ref().and_then(|id| names.get(id)).cloned();
            }
            if !matches!(kind, LineKind::User | LineKind::Assistant) {
                message.include_in_context = false;
            }
        }
        if let Some(message) = messages.first_mut() {
            finish_message(message, summary, error, extra);
        }
        made.messages = messages;
        draft
    }
}

fn finish_message(message: &mut Message, summary: bool, error: bool, extra: serde_json::Map<String, Value>) {
    if summary {
        message.kind = Kind::Summary { from: None, to: None };
    }
    if error {
        message.kind = Kind::Error { code: "API_ERROR".to_owned(), reason: message.text().into_owned() };
    }
    if !extra.is_empty() {
        let own = message.extra.entry("claude").or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Value::Object(own) = own {
            own.extend(extra);
        }
    }
}

/// The calls that a user's line answers.
fn answered(line: &Line) -> Vec<String> {
    line.blocks("tool_result").filter_map(|block| text_of(block, "tool_use_id")).map(str::to_owned).collect()
}

/// What a sub-agent was told.
fn prompt(line: &Line) -> Option<&str> {
    match &line.content {
        Value::String(text) => Some(text),
        _ => line.blocks("text").next().and_then(|block| text_of(block, "text")),
    }
}

/// Says of each summary what it stands for: from the last summary before it, or the beginning, to the boundary.
fn cover(drafts: &mut [Draft], transcript: &MessageId) {
    let index: HashMap<String, usize> =
        drafts.iter().enumerate().map(|(at, draft)| (draft.local.clone(), at)).collect();
    let is_summary = |draft: &Draft| draft.made.messages.iter().any(|m| matches!(m.kind, Kind::Summary { .. }));
    let is_boundary = |draft: &Draft| draft.made.labels.contains_key("compaction");
    for at in 0..drafts.len() {
        if !is_summary(&drafts[at]) {
            continue;
        }
        let up = |draft: &Draft| draft.parent.as_ref().and_then(|parent| index.get(parent)).copied();
        let (mut from, mut to) = (None, None);
        let mut here = up(&drafts[at]);
        for _ in 0..drafts.len() {
            let Some(now) = here else { break };
            if !is_boundary(&drafts[now]) {
                let id = MessageId::scoped(transcript, &drafts[now].local);
                to.get_or_insert_with(|| id.clone());
                from = Some(id);
                if is_summary(&drafts[now]) {
                    break;
                }
            }
            here = up(&drafts[now]);
        }
        for message in &mut drafts[at].made.messages {
            if let Kind::Summary { .. } = message.kind {
                message.kind = Kind::Summary { from: from.clone(), to: to.clone() };
            }
        }
    }
}
