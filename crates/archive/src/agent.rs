//! An agent's memory in the JSON Lines layout of [`jsonl`](threadkeep_compaction::memory::jsonl): raw traces, what was archived of them, episodes, facts,
//! the working context. The files of one folder belong together, so each is handed out as a [`Part`] and [`assemble`] makes
//! conversations of all parts at the end of an import.
//!
//! A trace keeps its place by its turn and its number in it, whichever file it lies in. Each episode is a checkpoint at the end of the
//! turns that it is of: from there on it stood in prompts for them.

use std::collections::{HashMap, HashSet};

use threadkeep_compaction::memory::jsonl::{
    RawTrace, Told, read_episode, read_fact, read_trace, read_working_context, told,
};
use threadkeep_compaction::memory::{Episode, Fact, Memory, turn_number};
use threadkeep_core::checkpoint::{Source, Statement};
use threadkeep_core::node::LAST_TURN;
use threadkeep_core::sort;
use threadkeep_core::{Entry, MessageId, Node};
use threadkeep_json::own_text;

use super::compacted::{Last, Reach};
use super::digest::Digest;
use super::draft::Draft;
use super::list::{Known, List};
use super::raw::Fields;
use super::report::{Counts, Report};
use super::tree::Tree;
use super::{Code, Conversation, Format, Item};

/// What one file of an agent's memory holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Part {
    /// The file.
    file: String,
    traces: Vec<RawTrace>,
    episodes: Vec<Episode>,
    facts: Vec<Fact>,
    /// The messages of a working context, as text.
    working: Option<String>,
    sum: Option<u64>,
}

/// Whether an object is a line of one of the files, or the working context.
pub(super) fn is_line(fields: &Fields) -> bool {
    let all = |names: &[&str]| names.iter().all(|name| fields.has(name));
    all(&["trace_type", "turn_id", "seq"])
        || all(&["id", "summary", "turn_ids"])
        || all(&["id", "fact"]) && ["confidence", "salience"].iter().any(|name| fields.has(name))
        || fields.first_of("messages").is_some_and(|message| message.has("role") && message.has("toolPayload"))
}

impl Part {
    /// Takes a line.
    pub(super) fn line(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        self.sum = Some(Digest(self.sum.unwrap_or_else(|| Digest::new().0)).with(bytes).0);
        if fields.has("messages") {
            self.working = Some(String::from_utf8_lossy(bytes).into_owned());
            return;
        }
        let (trace, fact) = (fields.has("trace_type"), fields.has("fact"));
        let map = super::whole(fields, place, report);
        let line = own_text(&map);
        let read = if trace {
            read_trace(&line).map(|trace| self.traces.push(trace))
        } else if fact {
            read_fact(&line).map(|fact| self.facts.push(fact))
        } else {
            read_episode(&line).map(|episode| self.episodes.push(episode))
        };
        if let Err(wrong) = read {
            report.skip(place, Code::BadShape, wrong.to_string());
        }
    }

    /// The file ends: what it held, if anything.
    pub(super) fn finish(&mut self, report: &mut Report) {
        let mut part = std::mem::take(self);
        if part.sum.is_some() {
            part.file = report.file.to_owned();
            report.part(part);
        }
    }

    /// The folder that it lies in.
    fn folder(&self) -> &str {
        self.file.rfind(['/', '\\']).map_or("", |at| &self.file[..at])
    }
}

/// The conversations and records that the parts of an import make: those of one folder are one agent's.
///
/// ```
/// use threadkeep_archive::{Item, Reader, assemble};
/// let line = br#"{"id":"t1","ts":1.0,"turn_id":"turn_0001","seq":1,"trace_type":"user","content":"Hello","source_event":"E"}"#;
/// let mut parts = Vec::new();
/// let mut sink = |item: Item| if let Item::Part(part) = item { parts.push(*part) };
/// let mut reader = Reader::new("memory/agents/mate/raw_traces.jsonl", None);
/// reader.push(line, &mut sink);
/// reader.finish(&mut sink);
/// let mut made = 0;
/// assemble(parts, &mut |item| made += usize::from(matches!(item, Item::Conversation(_))));
/// assert_eq!(made, 1);
/// ```
pub fn assemble(parts: Vec<Part>, sink: &mut dyn FnMut(Item)) {
    let mut agents: Vec<(String, Part)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for part in parts {
        let folder = part.folder().to_owned();
        let at = *places.entry(folder.clone()).or_insert(agents.len());
        if at == agents.len() {
            agents.push((folder, Part::default()));
        }
        let all = &mut agents[at].1;
        all.file = part.file;
        all.traces.extend(part.traces);
        all.episodes.extend(part.episodes);
        all.facts.extend(part.facts);
        all.working = part.working.or(all.working.take());
        let sum = Digest(all.sum.unwrap_or_else(|| Digest::new().0));
        all.sum = Some(sum.with(&part.sum.unwrap_or_default().to_le_bytes()).0);
    }
    for (folder, agent) in agents {
        let file = agent.file.clone();
        let mut counts = Counts::default();
        let mut report = Report { file: &file, counts: &mut counts, sink: &mut *sink };
        self::agent(&folder, agent, &mut report);
        report.close();
    }
}

/// What one agent's files make.
fn agent(folder: &str, mut agent: Part, report: &mut Report) {
    let name = folder.rsplit(['/', '\\']).next().unwrap_or_default();
    let sum = Digest(agent.sum.unwrap_or_default());
    in_order(&mut agent.traces);
    let transcript = match agent.traces.first() {
        None => None,
        Some(first) => {
            // Agents of different projects are called alike; what was traced first tells them apart.
            let first = Digest::new().with(first.id.as_bytes()).with(first.ts.to_string().as_bytes()).0;
            let id = [name, if name.is_empty() { "" } else { "-" }, &format!("{first:016x}")].concat();
            Some(MessageId::archive_root(Format::Memory.name(), &id))
        }
    };
    let all = told(&agent.traces);
    scope(&mut agent, transcript.as_ref(), name, &all);
    if let Some(text) = agent.working.take() {
        if transcript.is_some() {
            let reason = "the working context: it is made of the traces and of what is remembered, and is made anew when asked for";
            report.skip("", Code::NotAConversation, reason);
        } else {
            working(&text, sum, report);
        }
    }
    if let Some(transcript) = transcript {
        let made = conversation(transcript, name, all, &agent.episodes, sum, report);
        report.conversation(made);
    }
    for episode in agent.episodes {
        report.memory(Memory::Episode(episode));
    }
    for fact in agent.facts {
        report.memory(Memory::Fact(fact));
    }
}

/// Each trace once, by turn and number; those of turns without a number come last, in the order of their times. Two that have
/// one id and differ are two: the [tree](Tree::finish) gives the later one another id.
fn in_order(traces: &mut Vec<RawTrace>) {
    let mut known = HashSet::new();
    traces.retain(|trace| known.insert(own_text(trace)));
    let key = |trace: &RawTrace| match turn_number(&trace.turn_id) {
        Some(turn) => (turn, 0, trace.seq),
        None => (u32::MAX, trace.millis().unwrap_or_default(), trace.seq),
    };
    sort::sort_by_key(traces, key);
}

/// Records belong to the transcript that the traces make: their sources are named by its nodes, and ids such as `ep_0001`, which
/// are unique among one agent's only, get its name in front.
fn scope(agent: &mut Part, transcript: Option<&MessageId>, name: &str, all: &[Told]) {
    let known: HashSet<&str> = all.iter().map(|told| told.id.as_str()).collect();
    let front = transcript.map_or(name, MessageId::as_str);
    let named = |id: &mut String| {
        let hex = id.split_once('_').map_or("", |(_, hex)| hex);
        let minted = hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !minted && !front.is_empty() {
            *id = [front, "/", id].concat();
        }
    };
    let found = |sources: &mut Vec<Source>| {
        let Some(transcript) = transcript else { return };
        for source in sources {
            // As our own traces name messages, and the first call of one that only calls.
            let place = [source.node.as_str(), "/", &source.index.to_string()].concat();
            let local = if known.contains(place.as_str()) { place } else { place + "/0" };
            if known.contains(local.as_str()) {
                *source = Source { node: MessageId::scoped(transcript, &local), index: 0 };
            }
        }
    };
    for episode in &mut agent.episodes {
        named(&mut episode.id);
        found(&mut episode.sources);
        episode.transcript = transcript.cloned().or(episode.transcript.take());
    }
    for fact in &mut agent.facts {
        named(&mut fact.id);
        fact.superseded_by.iter_mut().for_each(named);
        found(&mut fact.sources);
        fact.transcript = transcript.cloned().or(fact.transcript.take());
    }
}

/// A working context alone: a list of messages.
fn working(text: &str, sum: Digest, report: &mut Report) {
    let messages = match read_working_context(text) {
        Ok(messages) => messages,
        Err(wrong) => return report.skip("", Code::BadShape, wrong.to_string()),
    };
    let mut list = List::default();
    for message in messages {
        list.message(message, None);
    }
    if let Some(tree) = list.tree(Format::Memory, None, "", &mut Known::default(), report) {
        let made = tree.finish("", sum.0, report);
        report.conversation(made);
    }
}

/// The conversation of the traces, with a checkpoint for each episode.
fn conversation(
    transcript: MessageId,
    name: &str,
    all: Vec<Told>,
    episodes: &[Episode],
    sum: Digest,
    report: &mut Report,
) -> Conversation {
    let mut tree = Tree::new(Format::Memory.name(), "");
    tree.transcript = transcript.clone();
    tree.title = Some(name.to_owned());
    let mut turns: HashMap<MessageId, u32> = HashMap::new();
    let mut previous = None;
    for told in all {
        let mut draft = Draft { local: told.id, parent: previous, ..Draft::default() };
        draft.made.created_at = told.created_at;
        draft.made.messages.push(told.message);
        if let Some(turn) = turn_number(&told.turn_id) {
            turns.insert(MessageId::scoped(&transcript, &draft.local), turn);
        }
        previous = Some(draft.local.clone());
        tree.drafts.push(draft);
    }
    tree.leaf = previous;
    tree.created_at = tree.drafts.iter().filter_map(|draft| draft.made.created_at).min();
    tree.updated_at = tree.drafts.iter().filter_map(|draft| draft.made.created_at).max();
    let mut made = tree.finish("", sum.0, report);
    number(&mut made.entries, &turns);
    compactions(&mut made, &turns, episodes);
    made
}

/// Gives turns the numbers that they have in the traces, where these count up.
fn number(entries: &mut [Entry], turns: &HashMap<MessageId, u32>) {
    let named = |node: &Node| turns.get(&node.id).copied().filter(|turn| node.turn > 0 && *turn <= LAST_TURN);
    let opening =
        |entry: &Entry| if let Entry::Node(node) = entry { (node.turn > 0).then(|| named(node)) } else { None };
    let all: Vec<Option<u32>> = entries.iter().filter_map(opening).collect();
    if all.iter().all(Option::is_some) && all.windows(2).all(|pair| pair[0] < pair[1]) {
        for entry in entries {
            if let Entry::Node(node) = entry
                && let Some(turn) = named(node)
            {
                node.turn = turn;
            }
        }
    }
}

/// How many episodes are epochs of their own, the newest; those before are carried on in words.
const EPOCHS: usize = 50;

/// Puts a checkpoint for each episode into the log: anchored at the end of its turns, and made before the first turn that began
/// after it.
fn compactions(made: &mut Conversation, turns: &HashMap<MessageId, u32>, episodes: &[Episode]) {
    let mut dated: Vec<(u32, &Episode)> =
        episodes.iter().filter_map(|it| Some((*it.turns.iter().max()?, it))).collect();
    dated.retain(|(_, episode)| !episode.summary.trim().is_empty());
    sort::sort_by_key(&mut dated, |(last, episode)| (*last, episode.created_at));
    let first = dated.len().saturating_sub(EPOCHS);
    let statement =
        |episode: &Episode, sources| Statement { text: episode.summary.trim().to_owned(), sources, level: 0 };
    let mut said: Vec<Statement> = dated[..first].iter().map(|(_, episode)| statement(episode, Vec::new())).collect();
    let (mut after, mut before): (usize, Option<Last>) = (0, None);
    for (last, episode) in &dated[first..] {
        let (mut reach, mut anchor, mut place) = (Reach::default(), None, None);
        let mut sources = Vec::new();
        for (at, entry) in made.entries.iter().enumerate() {
            let Entry::Node(node) = entry else { continue };
            reach = reach.with(node);
            let Some(turn) = turns.get(&node.id) else { continue };
            let later = node.created_at.is_none_or(|time| time >= episode.created_at);
            if turn <= last {
                anchor = Some((node.id.clone(), reach.clone()));
            } else if at >= after && later && node.turn > 0 {
                place = place.or(Some(at));
            }
            if episode.turns.contains(turn) {
                sources.push(Source { node: node.id.clone(), index: 0 });
            }
        }
        let Some((anchor, reach)) = anchor else { continue };
        said.push(statement(episode, sources));
        let name = Digest::new().with(made.transcript.as_str().as_bytes()).with(episode.id.as_bytes());
        let by = (Format::Memory.name(), episode.created_at);
        let (mut checkpoint, done) = reach.stands(name, (&made.transcript, &anchor), said.clone(), by, before.as_ref());
        checkpoint.episodes.push(episode.id.clone());
        before = Some(done);
        // What was said before is carried on in words; where it came from, its own checkpoint knows.
        said.iter_mut().for_each(|statement| statement.sources.clear());
        let place = place.unwrap_or(made.entries.len() - 1);
        made.entries.insert(place, Entry::Checkpoint(Box::new(checkpoint)));
        after = place + 1;
    }
}
