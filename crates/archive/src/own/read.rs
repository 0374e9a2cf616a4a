//! Reads our own format line by line. A transcript is gathered until its last line, or until the next begins; then
//! [`settle`](super::settle) makes its log. A line that cannot be read is looked at for what it was, so that the entries
//! after it keep their place.

use serde_json::{Map, Value};
use threadkeep_compaction::memory::Memory;
use threadkeep_core::read::{BadRequest, options};
use threadkeep_core::{Entry, MessageId, TranscriptId};
use threadkeep_json::own_text;

use super::super::digest::{Digest, Sum};
use super::super::raw::Fields;
use super::super::report::{Report, short};
use super::super::{Code, Conversation};
use super::settle::{LAST_SEQ, Line, Lost, What, settle};
use super::{OPTIONS, REQUEST, SETTINGS, VERSION};

/// So many entries say of which transcript they are, beside its first and last line.
const WITNESSES: usize = 3;

/// The kinds of lines that are remembered, and how they are read.
type ReadMemory = fn(&str) -> Result<Memory, BadRequest>;
const MEMORIES: [(&str, ReadMemory); 2] = [
    ("episode", |text| options(text, "episode").map(Memory::Episode)),
    ("fact", |text| options(text, "fact").map(Memory::Fact)),
];

/// The kinds of lines about settings and the journal.
const BESIDE: [&str; 3] = [SETTINGS, OPTIONS, REQUEST];

/// Whether an object is a line of our format, should the file's first line be damaged.
pub(in super::super) fn is_line(fields: &Fields) -> bool {
    let opens = fields.0.len() == 1 && fields.string("transcript").is_some();
    let is_entry = |kind: &str| fields.object(kind).is_some_and(|entry| entry.has("id") || entry.has("node"));
    opens || fields.0.len() == 2 && fields.has("seq") && ["node", "extend"].into_iter().any(is_entry)
}

/// What was read of a file so far.
#[derive(Debug, Default)]
pub(in super::super) struct Reading {
    refused: bool,
    open: Option<Open>,
    /// What the open one seems to have ended, though its own last line or the open one's first line is missing. It can turn out to be
    /// the same transcript: one damaged number, or a first or last line in its midst, is enough to make it seem so.
    before: Option<Open>,
}

/// A transcript that is being read.
#[derive(Debug)]
struct Open {
    /// What its first line says; `None` where that could not be read.
    transcript: Option<TranscriptId>,
    /// What its last line says.
    ended: Option<TranscriptId>,
    /// How many entries its last line says it has.
    count: Option<u64>,
    /// Whether its last line was the line before this one. If entries follow that go on in its numbers, it was moved.
    closed: bool,
    /// The highest number so far.
    highest: u64,
    lines: Vec<Line>,
    lost: Vec<Lost>,
    sum: Sum,
    place: String,
}

impl Reading {
    /// Takes a line.
    pub fn line(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        if self.refused {
            return;
        }
        if fields.has("threadkeep") {
            return self.header(fields, report);
        }
        if fields.has("transcript") {
            return self.begin(fields, bytes, place, report);
        }
        for (kind, read) in MEMORIES {
            if fields.has(kind) {
                self.finish(report);
                match read(fields.get(kind).unwrap_or("null")) {
                    Ok(memory) => report.memory(memory),
                    Err(wrong) => report.skip(place, Code::BadShape, wrong.to_string()),
                }
                return;
            }
        }
        if BESIDE.iter().any(|kind| fields.has(kind)) {
            self.finish(report);
            let names = BESIDE.iter().chain(&["of", "head", "name"]).filter(|name| fields.has(name));
            let read = names.map(|name| Some(((*name).to_owned(), fields.value(name)?))).collect::<Option<Map<_, _>>>();
            match read {
                Some(line) => report.beside(place, Value::Object(line)),
                None => report.skip(place, Code::BadShape, "settings or a request that cannot be read"),
            }
            return;
        }
        if fields.has("seq") {
            self.entry(fields, bytes, place, report);
        } else if fields.has("end") {
            self.end(fields, bytes);
        } else {
            let place = self.open.as_ref().map_or_else(|| place.to_owned(), |open| open.within(place));
            report.skip(&place, Code::BadShape, "a line of a kind that this release does not know");
        }
    }

    /// Looks at a line that could not be read, which was reported already.
    pub fn unreadable(&mut self, bytes: &[u8]) {
        if let Some(open) = self.open.as_mut().filter(|open| !open.closed) {
            open.sum = open.sum.with(bytes);
            let next = open.lines.last().map_or(0, |line| line.seq + 1);
            open.lost.push(Lost::peek(bytes).unwrap_or(Lost { seq: next, what: What::Unknown }));
        }
    }

    fn header(&mut self, fields: &Fields, report: &mut Report) {
        let version = fields.value("threadkeep").as_ref().and_then(Value::as_u64);
        if version.is_none_or(|version| version == 0 || version > VERSION) {
            let version = fields.get("threadkeep").unwrap_or("null");
            let reason =
                format!("an archive of version {version}; this release reads up to {VERSION}: update Threadkeep");
            report.skip("", Code::NewerVersion, reason);
            self.refused = true;
        }
    }

    fn begin(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        let id = fields.string("transcript").unwrap_or_default();
        match MessageId::new(&id) {
            Ok(transcript) => {
                let place = format!("transcript {}", short(&id));
                if let Some(open) = self.open.as_mut().filter(|open| !open.closed)
                    && open.transcript.as_ref().is_none_or(|known| *known == transcript)
                {
                    // The line comes late, or again.
                    (open.transcript, open.place) = (Some(transcript), place);
                    return;
                }
                if self.open.as_ref().is_some_and(|open| !open.closed) {
                    self.leave(report);
                } else {
                    self.finish(report);
                }
                self.open = Some(Open {
                    transcript: Some(transcript),
                    sum: Sum::default().with(bytes),
                    place,
                    ..Open::unnamed()
                });
            }
            Err(error) => report.skip(place, Code::BadId, error.to_string()),
        }
    }

    fn entry(&mut self, fields: &Fields, bytes: &[u8], place: &str, report: &mut Report) {
        let read = read_entry(fields);
        if let (Some(open), Ok(line)) = (&self.open, &read)
            && open.is_left_by(line)
        {
            self.leave(report);
        }
        let open = self.open.get_or_insert_with(Open::unnamed);
        open.sum = open.sum.with(bytes);
        open.closed = false;
        match read {
            Ok(line) => {
                open.highest = open.highest.max(line.seq);
                open.lines.push(line);
            }
            Err((seq, why)) => {
                report.skip(&open.within(place), Code::BadShape, why);
                let known = || seq.map(|seq| Lost { seq, what: What::Unknown });
                open.lost.extend(seq.and_then(|_| Lost::peek(bytes)).or_else(known));
            }
        }
    }

    fn end(&mut self, fields: &Fields, bytes: &[u8]) {
        let Some(open) = &mut self.open else { return };
        open.sum = open.sum.with(bytes);
        open.ended = fields.string("end").and_then(|id| MessageId::new(id).ok());
        open.count = fields.value("entries").as_ref().and_then(Value::as_u64);
        open.closed = true;
    }

    /// A line comes that seems to be of another transcript.
    fn leave(&mut self, report: &mut Report) {
        let Some(open) = self.open.take() else { return };
        self.before = Some(match self.before.take() {
            Some(before) if open.goes_on(&before) => before.and(open),
            Some(before) => {
                before.emit(report);
                open
            }
            None => open,
        });
    }

    /// The file ends, or the next transcript begins.
    pub fn finish(&mut self, report: &mut Report) {
        self.leave(report);
        if let Some(open) = self.before.take() {
            open.emit(report);
        }
    }
}

impl Open {
    /// A transcript whose first line could not be read.
    fn unnamed() -> Self {
        let place = "a transcript whose first line cannot be read".to_owned();
        Self {
            transcript: None,
            ended: None,
            count: None,
            closed: false,
            highest: 0,
            lines: Vec::new(),
            lost: Vec::new(),
            sum: Sum::default(),
            place,
        }
    }

    /// Whether it is the rest of the transcript before. Then its own first line is missing; or the one before has no last line, and the
    /// last line here names that one.
    fn goes_on(&self, before: &Self) -> bool {
        let named = before.transcript();
        self.transcript.is_none() && self.transcript() == named
            || before.ended.is_none() && self.ended.is_some() && self.ended == named
    }

    fn and(mut self, rest: Self) -> Self {
        self.lines.extend(rest.lines);
        self.lost.extend(rest.lost);
        self.sum = self.sum.with(&rest.sum.0.to_le_bytes());
        self.highest = self.highest.max(rest.highest);
        self.closed = rest.closed;
        self.ended = rest.ended.or(self.ended);
        self.count = rest.count.or(self.count);
        self
    }

    fn within(&self, place: &str) -> String {
        format!("{}, {}", self.place, if place.is_empty() { "line 1" } else { place })
    }

    /// Whether a line is of another transcript, whose first line is missing. Its number goes back then. Also, the last line of this one
    /// was read; or the line and its parent name a transcript that neither the first nor the last line here names.
    fn is_left_by(&self, line: &Line) -> bool {
        if line.seq > self.highest || self.closed {
            return self.closed && line.seq <= self.highest;
        }
        let (Some(first), Some(last), Entry::Node(node)) = (self.lines.first(), self.lines.last(), &line.entry) else {
            return false;
        };
        let is_root = |line: &Line| matches!(&line.entry, Entry::Node(node) if node.parent.is_none());
        let named = match &node.parent {
            // If there is no root yet, this is the one, with a damaged id.
            None => Some(node.id.clone()).filter(|_| is_root(first)),
            Some(parent) => node.id.home().filter(|home| parent.home().as_ref() == Some(home)),
        };
        let here = [self.transcript.clone(), transcript_of(first), transcript_of(last)];
        named.is_some() && !here.contains(&named)
    }

    /// Which transcript it is: what most of those say who name it, since any of them can be damaged. The first line counts
    /// where they are at odds.
    fn transcript(&self) -> Option<TranscriptId> {
        let named = self.transcript.iter().chain(&self.ended).cloned();
        let all: Vec<TranscriptId> = named.chain(self.lines.iter().filter_map(transcript_of).take(WITNESSES)).collect();
        let votes = |id: &TranscriptId| all.iter().filter(|other| *other == id).count();
        let most = all.iter().map(votes).max()?;
        all.iter().find(|id| votes(id) == most).cloned()
    }

    fn emit(self, report: &mut Report) {
        let read = self.lines.len();
        if !self.closed && self.ended.is_none() {
            let reason = format!("its last line is missing; {read} entries could be read");
            report.warn(&self.place, Code::Truncated, reason);
        } else if let Some(count) = self.count.filter(|count| *count != read as u64) {
            let reason = format!("{read} of its {count} entries could be read");
            report.warn(&self.place, Code::Truncated, reason);
        }
        let says = |line: &Line| matches!(line.entry, Entry::Node(_) | Entry::Extend { .. });
        if !self.lines.iter().any(says) {
            report.skip(&self.place, Code::Empty, "a transcript without a message that can be read");
            return;
        }
        let Some(transcript) = self.transcript() else {
            let reason = format!("its {} entries do not tell which transcript they are of", self.lines.len());
            report.skip(&self.place, Code::BadShape, reason);
            return;
        };
        let log = settle(&transcript, self.lines, self.lost, &self.place, report);
        let (seqs, entries) = log.into_iter().unzip();
        report.conversation(Conversation {
            transcript,
            digest: Digest(self.sum.0).of_reading(),
            entries,
            seqs: Some(seqs),
        });
    }
}

/// An entry, or its number, if that can be read, and what is wrong with it.
fn read_entry(fields: &Fields) -> Result<Line, (Option<u64>, String)> {
    let seq = fields.value("seq").as_ref().and_then(Value::as_u64).filter(|seq| *seq <= LAST_SEQ);
    let seq = seq.ok_or_else(|| (None, format!("an entry's `seq` must be a whole number up to {LAST_SEQ}")))?;
    let kinds: Vec<_> = fields.0.iter().filter(|(name, _)| name != "seq").collect();
    let [(kind, raw)] = kinds.as_slice() else { return Err((Some(seq), format!("entry {seq} is not of one kind"))) };
    let entry = Entry::parse(format!("{{{}:{}}}", own_text(kind), raw.get()).as_bytes());
    let entry = entry.map_err(|error| (Some(seq), format!("entry {seq} cannot be read: {error}")))?;
    Ok(Line { seq, entry })
}

/// The transcript that an entry names: a root has its id, and most other ids hold it.
fn transcript_of(line: &Line) -> Option<TranscriptId> {
    let home = |id: &MessageId| id.home().filter(|home| home != id);
    match &line.entry {
        Entry::Node(node) if node.parent.is_none() => Some(node.id.clone()),
        Entry::Node(node) => home(&node.id).or_else(|| home(node.parent.as_ref()?)).or_else(|| {
            // An id of this form is a root's that we made.
            node.parent.clone().filter(|parent| parent.as_str().len() == 64 && parent.home().as_ref() == Some(parent))
        }),
        _ => None,
    }
}
