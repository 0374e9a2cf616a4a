//! Reading bytes into something that a test can look at.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use threadkeep_archive::{Code, Conversation, Format, Input, Item, Skip};
use threadkeep_core::{Content, Entry, Message, MessageId, Transcript};

/// What came of a file.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    pub conversations: Vec<Conversation>,
    pub memories: Vec<threadkeep_compaction::memory::Memory>,
    pub beside: Vec<threadkeep_archive::Beside>,
    pub parts: Vec<threadkeep_archive::Part>,
    pub skipped: Vec<Skip>,
    pub warnings: Vec<Skip>,
}

impl Outcome {
    pub fn take(&mut self, item: Item) {
        match item {
            Item::Conversation(conversation) => self.conversations.push(conversation),
            Item::Memory(memory) => self.memories.push(*memory),
            Item::Beside(line) => self.beside.push(*line),
            Item::Part(part) => self.parts.push(*part),
            Item::Skipped(skip) => self.skipped.push(skip),
            Item::Warning(skip) => self.warnings.push(skip),
        }
    }

    /// The remarks' codes, in order: skipped, then warnings.
    pub fn codes(&self) -> (Vec<Code>, Vec<Code>) {
        let codes = |skips: &[Skip]| skips.iter().map(|skip| skip.code).collect();
        (codes(&self.skipped), codes(&self.warnings))
    }

    /// The only conversation, as a tree.
    pub fn only(&self) -> Transcript {
        assert_eq!(self.conversations.len(), 1, "{:?} {:?}", self.skipped, self.warnings);
        tree(&self.conversations[0])
    }

    /// Every remark, one a line.
    pub fn remarks(&self) -> String {
        let line = |kind: &str, skip: &Skip| format!("{kind} {}: {}: {}\n", skip.code, skip.place, skip.reason);
        let skipped = self.skipped.iter().map(|skip| line("skipped", skip));
        skipped.chain(self.warnings.iter().map(|skip| line("warning", skip))).collect()
    }
}

/// Reads a file as the engine does, range by range.
pub fn read(name: &str, bytes: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut input = Input::new(name, bytes.len() as u64, None);
    while let Some(range) = input.wants() {
        input.supply(&bytes[range.start as usize..range.end as usize], &mut |item| outcome.take(item));
    }
    outcome
}

/// Applies a log; every entry must be possible.
pub fn tree(conversation: &Conversation) -> Transcript {
    let mut tree = Transcript::new(conversation.transcript.clone());
    for entry in &conversation.entries {
        tree.apply(entry.clone()).unwrap_or_else(|error| panic!("{}: {error}", conversation.transcript));
    }
    tree
}

pub fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all fixtures but those of a memory, which are a folder. A name begins with that of its format.
pub fn fixtures() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The format of a fixture: the longest name with which its own begins.
pub fn format_of(fixture: &str) -> Format {
    let named = Format::all().filter(|format| fixture.starts_with(format.name()));
    named.max_by_key(|format| format.name().len()).unwrap_or_else(|| panic!("{fixture} is named after no format"))
}

/// Compares a file with what it should be. `UPDATE=1` writes it.
#[track_caller]
pub fn golden(path: &Path, expected: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let how = "`UPDATE=1 cargo test -p threadkeep-archive --test archive` writes it; read the difference";
    assert!(found == expected, "{} is not as expected. {how}.\nexpected:\n{expected}", path.display());
}

/// The part of an id that the archive gave.
pub fn local(id: &MessageId) -> &str {
    let mut slashes = id.as_str().match_indices('/');
    slashes.next();
    slashes.next().map_or("ROOT", |(at, _)| &id.as_str()[at + 1..])
}

/// A tree as text: a line a node with its parent, labels, turn and messages; then the chosen leaf.
pub fn outline(tree: &Transcript) -> String {
    let mut out = String::new();
    for placed in tree.nodes() {
        let node = &placed.node;
        let parent = node.parent.as_ref().map_or("-", local);
        let labels: Vec<&str> = node.labels.iter().map(|(name, _)| name).collect();
        write!(out, "{} < {parent}", local(&node.id)).unwrap();
        if !labels.is_empty() {
            write!(out, " [{}]", labels.join(" ")).unwrap();
        }
        if node.turn > 0 {
            write!(out, " turn {}", node.turn).unwrap();
        }
        for message in &node.messages {
            write!(out, " | {}", said(message)).unwrap();
        }
        out.push('\n');
    }
    let info = tree.info();
    writeln!(out, "leaf {} of {:?}", info.leaf.as_ref().map_or("-", local), info.title).unwrap();
    out
}

fn said(message: &Message) -> String {
    let mut text = message.role.as_str().to_owned();
    if !message.include_in_context {
        text.push('*');
    }
    if message.kind != threadkeep_core::Kind::Plain {
        text.push('!');
    }
    if let Some(reasoning) = &message.reasoning {
        write!(text, " ({reasoning})").unwrap();
    }
    match &message.content {
        Content::Parts(parts) => {
            let parts: Vec<String> =
                parts.iter().map(|part| part.as_text().map_or(format!("<{}>", part.kind()), str::to_owned)).collect();
            write!(text, " {}", parts.join(" + ")).unwrap();
        }
        content if !content.is_empty() => write!(text, " {}", content.text()).unwrap(),
        _ => {}
    }
    for call in &message.tool_calls {
        write!(text, " {}#{}({})", call.name(), call.id(), call.arguments()).unwrap();
    }
    if let Some(id) = &message.tool_call_id {
        write!(text, " ^{id}").unwrap();
    }
    if message.is_error {
        text.push_str(" ERROR");
    }
    text.replace('\n', "/")
}

/// Holds a tree against its outline; indentation before lines does not count.
#[track_caller]
pub fn check(tree: &Transcript, expected: &str) {
    let expected: String =
        expected.lines().map(str::trim).filter(|line| !line.is_empty()).map(|l| format!("{l}\n")).collect();
    let found = outline(tree);
    assert!(found == expected, "expected:\n{expected}\nfound:\n{found}");
}

/// The extra field of a node's first message.
pub fn extra(tree: &Transcript, name: &str, field: &str) -> serde_json::Value {
    let id = MessageId::scoped(tree.id(), name);
    let placed = tree.get(&id).unwrap_or_else(|| panic!("no node {name}"));
    placed.node.messages[0].extra.get(field).cloned().unwrap_or_default()
}

/// All ids of a conversation's nodes.
pub fn ids(conversation: &Conversation) -> Vec<MessageId> {
    let id = |entry: &Entry| if let Entry::Node(node) = entry { Some(node.id.clone()) } else { None };
    conversation.entries.iter().filter_map(id).collect()
}
