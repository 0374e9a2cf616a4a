//! Archive formats: bytes in, conversations and a report out.
//!
//! Goes in: the bytes of a file, in pieces of any size, or ranges of a zip as they are asked for. Comes out: one [`Item`]
//! after another: a [`Conversation`] ready to be stored, or what was skipped or salvaged, with its place and the reason.
//! Nothing fails as a whole: a file that cannot be read is one skip that says what to do. Reading files, storing and
//! leaving out what is there already are the engine's.
//!
//! One conversation is held at a time. [`Input`] takes a file as it is, zip or text; [`Reader`] takes text that is pushed.
//! [`own`] is our own format, which is also written; [`mod@write`] writes some of the others. [`plan`] puts the files of a folder in order. [`secret`]
//! finds what should not leave with a file.
//!
//! ```
//! use threadkeep_archive::{Item, Reader};
//! let file = br#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]}"#;
//! let mut titles = Vec::new();
//! let mut reader = Reader::new("chat.jsonl", None);
//! let mut sink = |item: Item| if let Item::Conversation(chat) = item { titles.push(chat.transcript) };
//! reader.push(file, &mut sink);
//! reader.finish(&mut sink);
//! assert_eq!(titles.len(), 1);
//! ```

mod agent;
mod attachment;
mod blocks;
mod clean;
mod compacted;
mod digest;
mod draft;
mod epochs;
mod format;
mod html;
mod input;
mod items;
mod list;
mod manifest;
mod nested;
pub mod own;
mod plan;
mod raw;
mod reader;
mod report;
pub mod secret;
pub mod share;
mod sniff;
mod split;
mod tree;
mod usage;
mod when;
pub mod write;
pub mod zip;

pub use agent::{Part, assemble};
pub use format::Format;
pub use input::Input;
pub use plan::plan;
pub use reader::Reader;
pub use usage::{Reported, reported};

use serde_json::{Map, Value};

use threadkeep_compaction::memory::Memory;
use threadkeep_core::{Entry, TranscriptId};

/// What a reader hands out.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A conversation that can be stored.
    Conversation(Conversation),
    /// An episode or a fact, as it was.
    Memory(Box<Memory>),
    /// Settings, or a request of the journal, as our own format has them. Nothing of it was checked.
    Beside(Box<Beside>),
    /// What a file of an agent's memory holds: to be kept for [`assemble`], which is called with all of them at the end.
    Part(Box<Part>),
    /// Something that was left out.
    Skipped(Skip),
    /// Something that came in, but not quite as it was: mended, or with a piece missing.
    Warning(Skip),
}

/// One conversation of an archive, as the log that makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Its id: the same at every import.
    pub transcript: TranscriptId,
    /// A digest of its bytes in the archive and of the way they are read: the same digest gives the same entries, so an
    /// unchanged conversation need not be compared node by node at a second import.
    pub digest: u64,
    /// Its log. From other programs' formats: the root first, parents before children, all sealed, compactions as
    /// [`Entry::Checkpoint`] before the nodes of their summaries, then one [`Entry::Info`]. From our own: the log as it was.
    pub entries: Vec<Entry>,
    /// The sequence number of each entry, ascending; only our own format knows them.
    pub seqs: Option<Vec<u64>>,
}

/// A line of our own format that is no part of a log and no memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// The file and the line.
    pub place: String,
    /// The line.
    pub line: Value,
}

/// What was skipped or mended, where and why, in words for the person who imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The file and the place in it, such as `conversations.json, conversation 17 "Trip"`.
    pub place: String,
    /// A short stable word for the reason.
    pub code: Code,
    /// The reason, and what to do about it where something can be done.
    pub reason: String,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+) => {
        /// Why something was skipped or mended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// The word that reports use: stable over releases.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

codes! {
    /// The file or the member holds no conversations, and that is as it should be.
    NotAConversation = "not-a-conversation",
    /// Nothing that is known.
    UnknownFormat = "unknown-format",
    /// Written by a newer release.
    NewerVersion = "newer-version",
    /// Not valid JSON.
    BadJson = "bad-json",
    /// Valid JSON, but not the fields or types that the format needs.
    BadShape = "bad-shape",
    /// Nested too deeply.
    TooDeep = "too-deep",
    /// Larger than the limit.
    TooLarge = "too-large",
    /// The file ends too soon.
    Truncated = "truncated",
    /// An empty file or conversation.
    Empty = "empty",
    /// Parent links run in a circle.
    Cycle = "cycle",
    /// Something could not be read, and a note stands in its place, so that what follows it comes in.
    Salvaged = "salvaged",
    /// A parent that is not there.
    MissingParent = "missing-parent",
    /// The same id twice.
    DuplicateId = "duplicate-id",
    /// An id that cannot be one.
    BadId = "bad-id",
    /// The chosen branch is not there.
    MissingLeaf = "missing-leaf",
    /// Bytes that are not UTF-8, or half of a surrogate pair: shown as U+FFFD.
    BadText = "bad-text",
    /// A tool call without a result, or the reverse, where the format promises both.
    Unpaired = "unpaired",
    /// A file that the archive names is not there.
    MissingFile = "missing-file",
    /// A zip that is damaged.
    BadZip = "bad-zip",
    /// Something that is encrypted: a zip member, or what a provider sealed for itself.
    Encrypted = "encrypted",
    /// A zip member compressed in a way that cannot be read.
    Compression = "compression",
    /// A zip that would grow out of all proportion.
    ZipBomb = "zip-bomb",
    /// A checksum that does not match.
    Checksum = "checksum",
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// All fields of a line, as they came. What cannot be read is reported and left out.
fn whole(fields: &raw::Fields, place: &str, report: &mut report::Report) -> Map<String, Value> {
    let mut map = Map::new();
    for (name, raw) in &fields.0 {
        match clean::value(raw.get()) {
            Ok(value) => drop(map.insert(name.clone().into_owned(), value)),
            Err(error) => {
                let (code, reason) = unreadable(&error);
                report.warn(place, code, format!("its field `{}` {reason} and is left out", report::short(name)));
            }
        }
    }
    map
}

/// The fields of a conversation that have no place of their own, as they came. What says nothing is left out, and so is
/// what would make a list of conversations heavy; that is reported.
fn extra(fields: &raw::Fields, placed: &[&str], place: &str, report: &mut report::Report) -> Map<String, Value> {
    const LIMIT: usize = 32 * 1024;
    let mut extra = Map::new();
    for (name, raw) in &fields.0 {
        if placed.contains(&name.as_ref()) {
            continue;
        }
        let size = raw.get().len();
        if size > LIMIT {
            let reason = format!(
                "its field `{}` ({} KB), which is not part of the messages, is left out",
                report::short(name),
                size / 1024
            );
            report.warn(place, Code::TooLarge, reason);
            continue;
        }
        match clean::value(raw.get()) {
            Ok(value) if raw::says_nothing(&value) => {}
            Ok(value) => {
                extra.insert(name.clone().into_owned(), value);
            }
            Err(error) => {
                let (code, reason) = unreadable(&error);
                report.warn(place, code, format!("its field `{}` {reason} and is left out", report::short(name)));
            }
        }
    }
    extra
}

/// Why a piece of JSON cannot be read, as the end of a sentence that begins with it.
fn unreadable(error: &serde_json::Error) -> (Code, String) {
    let text = error.to_string();
    if text.starts_with("recursion limit") {
        return (Code::TooDeep, "is nested more than 128 levels deep, which is not read".to_owned());
    }
    if error.is_eof() {
        return (Code::BadJson, "is not complete JSON".to_owned());
    }
    (Code::BadJson, format!("is not valid JSON ({text})"))
}
