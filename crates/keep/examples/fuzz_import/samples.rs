//! The files that are damaged: one or more of each format, and exports of an engine that has a bit of everything.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use pollster::block_on;
use serde_json::Value;
use threadkeep::protocol::Inbound;
use threadkeep::{Host, Keep, NewFact, Options};
use threadkeep_archive::write::Target;
use threadkeep_core::{Message, MessageId, ToolCall};
use threadkeep_store::MemoryStore;

use crate::folder::data;

/// Samples of the folder of data are at most so large, and as many of each of its folders.
const SMALL: u64 = 40_000;
const OF_A_FOLDER: usize = 2;

/// A file.
pub struct Sample {
    pub name: String,
    pub bytes: Vec<u8>,
    /// Of formats of lines: each line with a text that only it says, as it stands in an export.
    pub said: Vec<(Vec<u8>, String)>,
    /// Whether it is our own format.
    pub own: bool,
    /// Whether it holds several transcripts.
    pub many: bool,
}

impl Sample {
    fn new(name: &str, bytes: Vec<u8>) -> Self {
        let keep = empty();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        block_on(keep.import(vec![(name.to_owned(), bytes.clone())], None, |_| {})).expect("an import");
        let export = export(&keep);
        let own = text.starts_with("{\"threadkeep\"");
        let mut said = Vec::new();
        if name.ends_with(".jsonl") {
            let mut texts = Vec::new();
            export
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .for_each(|line| collect(&line, &mut texts));
            texts.retain(|text| text.len() > 5);
            for text in texts {
                let mut lines = bytes
                    .split(|byte| *byte == b'\n')
                    .filter(|line| memchr::memmem::find(line, text.as_bytes()).is_some());
                if let (Some(line), None) = (lines.next(), lines.next()) {
                    said.push((line.to_vec(), text));
                }
            }
        }
        let many = text.matches("{\"transcript\":").count() > 1;
        Self { name: name.to_owned(), bytes, said, own, many }
    }
}

/// The texts of all messages in a line of an export, as JSON has them.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(text) if name == "content" || name == "text" => {
                        let json = Value::from(text.as_str()).to_string();
                        texts.push(json[1..json.len() - 1].to_owned());
                    }
                    value => collect(value, texts),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// A clock that stands, and randomness that counts.
#[derive(Default)]
pub struct Still(Cell<u64>);

impl Host for Still {
    fn now(&self) -> i64 {
        1_700_000_000_000
    }

    fn random(&self) -> [u8; 32] {
        self.0.set(self.0.get() + 1);
        let mut bytes = [0; 32];
        for (at, chunk) in bytes.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&(self.0.get() * 4 + at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        }
        bytes
    }
}

/// An engine with nothing in it.
pub fn empty() -> Keep<MemoryStore> {
    block_on(Keep::open(MemoryStore::default(), Still::default(), Options::default())).expect("an engine")
}

/// All that an engine has, as text.
pub fn export(keep: &Keep<MemoryStore>) -> String {
    let mut text = String::new();
    block_on(keep.export(None, |piece| text.push_str(&piece))).expect("an export");
    text
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/fixtures")
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl")
}

fn sample(path: &Path, folder: &str) -> Sample {
    let name = path.file_name().expect("a file").to_string_lossy();
    Sample::new(&[folder, &name].concat(), std::fs::read(path).expect("a file"))
}

/// Every format.
pub fn archives() -> Vec<Sample> {
    let mut samples = Vec::new();
    for path in files(&fixtures()).iter().filter(|path| is_archive(path)) {
        samples.push(sample(path, ""));
    }
    for path in files(&fixtures().join("memory")) {
        samples.push(sample(&path, "memory/agents/mate/"));
    }
    for folder in data().iter().flat_map(|data| files(data)) {
        let small = |path: &&PathBuf| is_archive(path) && path.metadata().is_ok_and(|file| file.len() <= SMALL);
        for path in files(&folder).iter().filter(small).take(OF_A_FOLDER) {
            samples.push(sample(path, ""));
        }
    }
    samples
}

/// Our own exports, and those in formats of others.
pub fn exports() -> Vec<Sample> {
    let keep = empty();
    block_on(fill(&keep));
    let mut samples = vec![Sample::new("made.threadkeep.jsonl", export(&keep).into_bytes())];
    for transcript in block_on(keep.transcripts()).expect("a list") {
        let mut text = String::new();
        block_on(keep.export(Some(&transcript.id), |piece| text.push_str(&piece))).expect("an export");
        samples.push(Sample::new(&format!("one-{}.threadkeep.jsonl", samples.len()), text.into_bytes()));
    }
    for (name, target) in [("openai.jsonl", Target::OpenAiMessages), ("sharegpt.json", Target::ShareGpt)] {
        let mut text = String::new();
        block_on(keep.export_as(None, target, true, None, |piece| text.push_str(&piece))).expect("an export");
        samples.push(Sample::new(name, text.into_bytes()));
    }
    let mut memory = Vec::new();
    block_on(keep.export_memory(None, |name, text| memory.push((name, text)))).expect("an export");
    memory.retain(|(name, _)| name.ends_with("raw_traces.jsonl"));
    samples.extend(memory.into_iter().take(1).map(|(name, text)| Sample::new(&name, text.into_bytes())));
    let imported = empty();
    for name in ["claude-code.jsonl", "pi.jsonl", "chatgpt.json"] {
        let bytes = std::fs::read(fixtures().join(name)).expect("a fixture");
        block_on(imported.import(vec![(name.to_owned(), bytes)], None, |_| {})).expect("an import");
    }
    samples.push(Sample::new("imported.threadkeep.jsonl", export(&imported).into_bytes()));
    samples
}

/// A bit of everything that a log can hold.
async fn fill(keep: &Keep<MemoryStore>) {
    let id = |text: &str| MessageId::new(text).expect("an id");
    let said =
        |name: &str, count: usize| (0..count).map(|at| Message::user(format!("{name} says number {at}"))).collect();
    keep.append("main", said("main", 12)).await.expect("an append");
    keep.fork("main", "side", Some(4)).await.expect("a fork");
    let call = ToolCall::function("c1", "look", "{\"a\": 1.50}");
    let calls = Message { tool_calls: vec![call], ..Message::assistant("let me look") };
    keep.append("side", vec![calls, Message::tool("c1", "there it is")]).await.expect("an append");
    let first =
        Inbound { message_id: Some(id("m/1")), from: Some("ann".to_owned()), ..Inbound::new("the first question") };
    keep.receive(Inbound { number: Some(7), ..first }).await.expect("a message");
    keep.extend(&id("m/1"), vec![Message::assistant("a first answer")]).await.expect("growth");
    keep.extend(&id("m/1"), vec![Message::assistant("a second answer")]).await.expect("growth");
    keep.alias(&id("out/1"), &id("m/1")).await.expect("an alias");
    let next = Inbound { message_id: Some(id("m/2")), reply_to: Some(id("out/1")), ..Inbound::new("and then?") };
    keep.receive(next).await.expect("a message");
    keep.fork("main", "gone", Some(6)).await.expect("a fork");
    keep.append("gone", said("gone", 3)).await.expect("an append");
    keep.clear("gone").await.expect("a deletion");
    keep.append("main", said("later", 3)).await.expect("an append");
    keep.remember(NewFact { pinned: true, ..NewFact::new("The anchor is green.") }).await.expect("a fact");
}
