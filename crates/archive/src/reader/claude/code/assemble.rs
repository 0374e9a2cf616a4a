//! From the lines of Claude Code sessions to trees.
//!
//! Lines of one API message become one node, however the program chained them; the results of its calls become one node below
//! it, so that calls made in parallel are no branches. A sub-agent's lines hang from the call that started it.

use std::collections::HashMap;

use serde_json::Value;
use threadkeep_core::{Kind, Message, MessageId, Role};

use super::{Line, LineKind, Lines, Session};
use crate::Format;
use crate::blocks::Blocks;
use crate::digest::Digest;
use crate::draft::Draft;
use crate::raw::text_of;
use crate::report::Report;
use crate::tree::Tree;

/// Hands out the conversations of a file.
pub(super) fn assemble(lines: Lines, sum: Digest, report: &mut Report) {
    let (parts, titles) = connected(&lines);
    let many = parts.iter().filter(|members| !members.is_empty()).count() > 1;
    let Lines { lines, sessions, damaged, .. } = lines;
    let mut lines: Vec<Option<Line>> = lines.into_iter().map(Some).collect();
    for (session, (members, summary)) in parts.into_iter().zip(titles).enumerate() {
        let own: Vec<Line> = members.iter().filter_map(|at| lines[*at].take()).collect();
        if own.iter().all(|line| line.kind == LineKind::Progress) {
            continue;
        }
        let Session { name, custom_title, made_title, extra } = &sessions[session];
        let name = if name.is_empty() { format!("{:016x}", sum.0) } else { name.clone() };
        let place = if many { format!("session {name}") } else { String::new() };
        let mut tree = Tree::new(Format::ClaudeCode.name(), &name);
        tree.extra = extra.clone();
        tree.damaged = damaged;
        let title = custom_title.clone().or(summary).or(made_title.clone());
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

/// The lines that belong together, under the first of their sessions: sessions that links connect are one. And the last
/// title that was given to any line of them.
fn connected(lines: &Lines) -> (Vec<Vec<usize>>, Vec<Option<String>>) {
    let mut of: Vec<usize> = (0..lines.sessions.len()).collect();
    fn find(of: &mut [usize], mut at: usize) -> usize {
        while of[at] != at {
            of[at] = of[of[at]];
            at = of[at];
        }
        at
    }
    for line in &lines.lines {
        if let Some(up) = line.parent.as_ref().and_then(|parent| lines.by_uuid.get(parent)) {
            let (a, b) = (find(&mut of, line.session), find(&mut of, lines.lines[*up].session));
            of[a.max(b)] = a.min(b);
        }
    }
    let mut parts = vec![Vec::new(); of.len()];
    for (at, line) in lines.lines.iter().enumerate() {
        parts[find(&mut of, line.session)].push(at);
    }
    let mut titles = vec![None; of.len()];
    for (leaf, summary) in &lines.summaries {
        if let Some(at) = lines.by_uuid.get(leaf) {
            titles[find(&mut of, lines.lines[*at].session)] = Some(summary.clone());
        }
    }
    (parts, titles)
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
    /// What lies above each line.
    ups: Vec<Up>,
    /// Each line's node.
    node_of: Vec<Option<usize>>,
    /// Each node's lines, in the order of the file.
    nodes: Vec<Vec<usize>>,
}

/// What lies above a line, past those that say nothing.
#[derive(Debug, Clone, Copy)]
enum Up {
    /// This line.
    Line(usize),
    /// Nothing: it is a beginning.
    Top,
    /// What this line names as its parent, which is nowhere.
    Nowhere(usize),
}

fn ups(lines: &[Line], by_uuid: &HashMap<String, usize>) -> Vec<Up> {
    let mut ups: Vec<Option<Up>> = vec![None; lines.len()];
    for start in 0..lines.len() {
        // Up through progress lines, then the same answer for all of them.
        let (mut at, mut way) = (start, Vec::new());
        let found = loop {
            if let Some(known) = ups[at] {
                break known;
            }
            way.push(at);
            // Until the answer is known: a circle of progress lines ends here.
            ups[at] = Some(Up::Top);
            let Some(parent) = &lines[at].parent else { break Up::Top };
            match by_uuid.get(parent) {
                None => break Up::Nowhere(at),
                Some(up) if lines[*up].kind != LineKind::Progress => break Up::Line(*up),
                Some(up) => at = *up,
            }
        };
        way.into_iter().for_each(|at| ups[at] = Some(found));
    }
    ups.into_iter().map(|up| up.unwrap_or(Up::Top)).collect()
}

/// So many compactions, at most, are asked what they kept.
const KEEPING: usize = 1000;

/// So many lines up, at most, lies the beginning of an API message.
const NEAR: usize = 1000;

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
        // A compaction whose link leads nowhere (its history went on in another file, or an older program left the link out) stands
        // behind what the file has before it.
        let mut previous: Option<usize> = None;
        for at in 0..lines.len() {
            let known = lines[at].parent.as_ref().is_some_and(|parent| by_uuid.contains_key(parent));
            if let (Some(previous), false) = (previous, known)
                && (lines[at].compaction.is_some() || lines[at].summary)
            {
                lines[at].parent = Some(lines[previous].uuid.clone());
            }
            if !lines[at].sidechain && lines[at].kind != LineKind::Progress {
                previous = Some(at);
            }
        }
        let ups = ups(&lines, &by_uuid);
        let node_of = vec![None; lines.len()];
        Self { lines, ups, node_of, nodes: Vec::new() }
    }

    /// The line above, past those that say nothing. An id that is nowhere comes back as it is.
    fn above(&self, at: usize) -> Result<Option<usize>, String> {
        match &self.ups[at] {
            Up::Line(up) => Ok(Some(*up)),
            Up::Nowhere(line) => Err(self.lines[*line].parent.clone().unwrap_or_default()),
            Up::Top => Ok(None),
        }
    }

    /// Gives every line that says something its node.
    fn place(&mut self) {
        let mut called: HashMap<String, usize> = HashMap::new();
        // For each node that made calls: the node of their results. And the calls that are answered.
        let mut results: Vec<Option<usize>> = Vec::new();
        let mut done: HashMap<String, usize> = HashMap::new();
        for at in 0..self.lines.len() {
            let node = match self.lines[at].kind {
                LineKind::Progress => continue,
                LineKind::Assistant => self.same_message(at),
                LineKind::User => {
                    let ids: Vec<String> = answered(&self.lines[at]);
                    let owner = ids.iter().find_map(|id| called.get(id)).copied();
                    owner.and_then(|owner| {
                        results.resize_with(results.len().max(owner + 1), || None);
                        let node = *results[owner].get_or_insert(self.nodes.len());
                        // The same call answered twice is another branch.
                        let fresh = !ids.iter().any(|id| done.contains_key(id));
                        done.extend(ids.into_iter().map(|id| (id, at)));
                        fresh.then_some(node)
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
        for _ in 0..NEAR {
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
        let keeps = self.keeps();
        let nodes = std::mem::take(&mut self.nodes);
        let mut drafts: Vec<Draft> = Vec::with_capacity(nodes.len());
        for (members, parent) in nodes.into_iter().zip(parents) {
            drafts.push(self.draft(&members, parent, &names));
        }
        cover(&mut drafts, &keeps, transcript);
        drafts
    }

    /// The nodes of the compactions that kept something of what was before them, with the first node that each kept.
    fn keeps(&self) -> HashMap<usize, usize> {
        let mut keeps = HashMap::new();
        let asked = self.lines.iter().enumerate().filter_map(|(at, line)| Some((at, line.keeps.as_ref()?)));
        for (at, kept) in asked.take(KEEPING) {
            let kept = self.lines.iter().position(|line| line.uuid == *kept).and_then(|at| self.node_of[at]);
            if let (Some(node), Some(kept)) = (self.node_of[at], kept) {
                keeps.insert(node, kept);
            }
        }
        keeps
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

    fn call_names(&self) -> Names {
        let calls = self.lines.iter().flat_map(|line| line.blocks("tool_use"));
        let mut names = Names::default();
        for call in calls {
            if let (Some(id), Some(name)) = (text_of(call, "id"), text_of(call, "name")) {
                names.by_call.insert(id.to_owned(), names.list.len());
                names.list.push(name.to_owned());
            }
        }
        names
    }

    /// One node from its lines.
    fn draft(&mut self, members: &[usize], parent: Option<String>, names: &Names) -> Draft {
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
        draft.clears.clone_from(&first.clears);
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
            if let Some(took) = line.took {
                blocks.took(None, took);
            }
            extra.extend(std::mem::take(&mut line.extra));
        }
        let mut messages = blocks.finish();
        if kind == LineKind::User {
            // Results first, as providers want them, whatever was said in between.
            let (results, said): (Vec<_>, Vec<_>) =
                messages.into_iter().partition(|message| message.role == Role::Tool);
            messages = results.into_iter().chain(said).collect();
        }
        for message in &mut messages {
            if message.name.is_none() && message.role == Role::Tool {
                message.name = message.tool_call_id.as_ref().and_then(|id| names.get(id));
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

/// The tools' names by their calls' ids.
#[derive(Default)]
struct Names {
    by_call: HashMap<String, usize>,
    list: Vec<String>,
}

impl Names {
    fn get(&self, id: &str) -> Option<String> {
        self.by_call.get(id).map(|at| self.list[*at].clone())
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

/// Says of each summary what it stands for: from the last summary before it, or the beginning, to the boundary, or to what was kept
/// before that.
fn cover(drafts: &mut [Draft], keeps: &HashMap<usize, usize>, transcript: &MessageId) {
    let index: HashMap<String, usize> =
        drafts.iter().enumerate().map(|(at, draft)| (draft.local.clone(), at)).collect();
    let is_summary = |draft: &Draft| draft.made.messages.iter().any(|m| matches!(m.kind, Kind::Summary { .. }));
    let is_boundary = |draft: &Draft| draft.made.labels.get("compaction").is_some();
    // Each stretch of history is walked once, as a rule; files that are made to take long are not followed to the end.
    let mut steps = drafts.len() * 4 + 1000;
    for at in 0..drafts.len() {
        if !is_summary(&drafts[at]) {
            continue;
        }
        let up = |draft: &Draft| draft.parent.as_ref().and_then(|parent| index.get(parent)).copied();
        let (mut from, mut to, mut last) = (None, None, None);
        let mut kept = None;
        let mut here = up(&drafts[at]);
        while let Some(now) = here.filter(|_| steps > 0) {
            steps -= 1;
            if is_boundary(&drafts[now]) {
                kept = kept.or_else(|| keeps.get(&now).copied().filter(|_| to.is_none()));
            } else if kept == Some(now) {
                // It and what follows it stay as they are.
                (to, last, kept) = (None, None, None);
            } else {
                let id = MessageId::scoped(transcript, &drafts[now].local);
                to.get_or_insert_with(|| id.clone());
                last.get_or_insert(now);
                from = Some(id);
                if is_summary(&drafts[now]) {
                    break;
                }
            }
            here = up(&drafts[now]);
        }
        drafts[at].stands_to = last;
        for message in &mut drafts[at].made.messages {
            if let Kind::Summary { .. } = message.kind {
                message.kind = Kind::Summary { from: from.clone(), to: to.clone() };
            }
        }
    }
}
