//! Zip archives without I/O: the reader asks for ranges of the file, inflates members in bounded pieces and pushes them
//! through a [`Reader`] each. Nothing is unpacked anywhere; names are only names.
//!
//! `rawzip` reads the zip's structure from a window of the bytes that were supplied; when it looks beyond, the window is
//! widened and it looks again.

mod member;
mod window;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder};

use super::report::{Counts, Report, short};
use super::{Code, Format, Item, Reader, plan};
use member::{Inflater, Step};
use window::Window;

/// What a zip may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The inflated size of all members together, in bytes.
    pub total: u64,
    /// How many times larger than its compressed size a member may grow, once past a megabyte.
    pub ratio: u64,
    /// How many members there may be.
    pub members: u64,
    /// How many bytes the zip's list of members may have.
    pub directory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { total: 16 << 30, ratio: 250, members: 200_000, directory: 64 << 20 }
    }
}

/// How many bytes of a member are asked for at once: so few that what they inflate to is bounded.
const CHUNK: u64 = 64 * 1024;

/// How much of the end of the file is asked for first: enough for the longest comment and a short list of members.
const TAIL: u64 = 128 * 1024;

/// Reads the conversations of a zip by asking for ranges of it.
///
/// Most callers use [`Input`](super::Input), which tells a zip from text by itself.
#[derive(Debug)]
pub struct ZipReader {
    name: String,
    len: u64,
    hint: Option<Format>,
    limits: Limits,
    counts: Counts,
    state: State,
    names: Arc<[String]>,
    /// Members still to be read, the next one last.
    queue: Vec<Member>,
    /// Inflated bytes of all members so far.
    total: u64,
    /// Compressed bytes of the members that are done or left out.
    done: u64,
}

#[derive(Debug)]
enum State {
    /// The list of members is sought in the end of the file.
    Directory(Window),
    /// The beginning of the member last in the queue is wanted.
    Header(ZipArchive<Window>),
    /// The member last in the queue is being read.
    Data(Box<Data>),
    Done,
}

#[derive(Debug)]
struct Data {
    archive: ZipArchive<Window>,
    /// Compressed bytes still to be read.
    rest: Range<u64>,
    inflater: Inflater,
    reader: Reader,
}

#[derive(Debug)]
struct Member {
    name: String,
    way: ZipArchiveEntryWayfinder,
    offset: u64,
    method: CompressionMethod,
    encrypted: bool,
    crc: u32,
    size: u64,
    packed: u64,
}

impl ZipReader {
    /// Whether the first bytes of a file are those of a zip (also of an empty one).
    pub fn is_zip(first: &[u8]) -> bool {
        first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06")
    }

    /// A zip called `name` of `len` bytes.
    pub fn new(name: &str, len: u64, hint: Option<Format>) -> Self {
        Self {
            name: name.to_owned(),
            len,
            hint,
            limits: Limits::default(),
            counts: Counts::default(),
            state: State::Directory(Window::at(len, len)),
            names: Arc::new([]),
            queue: Vec::new(),
            total: 0,
            done: 0,
        }
    }

    /// The same with other limits than the usual ones.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The range of the file to be supplied next; `None` when all is done.
    pub fn wants(&self) -> Option<Range<u64>> {
        match &self.state {
            State::Directory(window) if window.is_empty() => Some(self.len.saturating_sub(TAIL)..self.len),
            State::Directory(window) => window.missed().map(|at| at..window.start()),
            State::Header(_) => self.queue.last().map(|member| member.offset..self.len.min(member.offset + CHUNK)),
            State::Data(data) => Some(data.rest.start..data.rest.end.min(data.rest.start + CHUNK)),
            State::Done => None,
        }
    }

    /// How far it is, in bytes of the file: read so far, and in all.
    pub fn progress(&self) -> (u64, u64) {
        match &self.state {
            State::Done => (self.len, self.len),
            State::Data(data) => {
                let packed = self.queue.last().map_or(0, |member| member.packed);
                (
                    self.done.saturating_add(packed.saturating_sub(data.rest.end - data.rest.start)).min(self.len),
                    self.len,
                )
            }
            _ => (self.done.min(self.len), self.len),
        }
    }

    /// Takes the bytes of the range that [`ZipReader::wants`] gave; fewer mean that the file ends there.
    pub fn supply(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Item)) {
        let Some(wanted) = self.wants() else { return };
        let short = (bytes.len() as u64) < wanted.end - wanted.start;
        match std::mem::replace(&mut self.state, State::Done) {
            State::Directory(_) if short => {
                self.say("", Code::Truncated, "the file ends before its list of members", true, sink);
            }
            State::Directory(mut window) => {
                window.prepend(bytes);
                self.directory(window, sink);
            }
            State::Header(archive) => self.header(archive, bytes, wanted.start, sink),
            State::Data(mut data) => {
                let fit = bytes.len().min((wanted.end - wanted.start) as usize);
                data.rest.start += fit as u64;
                self.data(data, &bytes[..fit], short, sink);
            }
            State::Done => {}
        }
        if let State::Done = self.state {
            let mut counts = std::mem::take(&mut self.counts);
            Report { file: &self.name, counts: &mut counts, sink }.close();
        }
    }

    /// Reports something of the zip, or of one of its members.
    fn say(&mut self, member: &str, code: Code, reason: &str, skipped: bool, sink: &mut dyn FnMut(Item)) {
        let file = if member.is_empty() { self.name.clone() } else { format!("{}/{member}", self.name) };
        let mut report = Report { file: &file, counts: &mut self.counts, sink };
        if skipped { report.skip("", code, reason) } else { report.warn("", code, reason) }
    }

    /// Looks for the list of members; asks for more of the file where it begins further up.
    fn directory(&mut self, mut window: Window, sink: &mut dyn FnMut(Item)) {
        window.forget_miss();
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let (mut window, outcome) =
            match ZipArchive::<()>::with_max_search_space(TAIL).locate_in_reader(window, &mut buffer, self.len) {
                Ok(archive) => match self.members(&archive) {
                    Ok(members) if archive.get_ref().missed().is_none() => {
                        return self.start(archive, members, sink);
                    }
                    Ok(_) => (archive.into_inner(), None),
                    Err(reason) => (archive.into_inner(), Some(reason)),
                },
                Err((window, error)) => (window, Some((Code::BadZip, error.to_string()))),
            };
        if let Some(at) = window.missed() {
            // At least another tail's worth, so that a long list takes few steps.
            window.miss_at(at.min(window.start().saturating_sub(TAIL)));
            let at = window.missed().unwrap_or(0);
            if self.len - at <= self.limits.directory {
                self.state = State::Directory(window);
                return;
            }
            let reason = format!("its list of members would have more than {} MB", self.limits.directory >> 20);
            return self.say("", Code::TooLarge, &reason, true, sink);
        }
        let (code, reason) = outcome.unwrap_or((Code::BadZip, "it cannot be read".to_owned()));
        let reason = format!("the zip is damaged or was cut off ({reason}): download it again");
        self.say("", code, &reason, true, sink);
    }

    fn members(&self, archive: &ZipArchive<Window>) -> Result<Vec<Member>, (Code, String)> {
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let mut entries = archive.entries(&mut buffer);
        let mut members = Vec::new();
        loop {
            let entry = match entries.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(members),
                Err(error) => return Err((Code::BadZip, error.to_string())),
            };
            if members.len() as u64 >= self.limits.members {
                return Err((Code::TooLarge, format!("it has more than {} members", self.limits.members)));
            }
            if entry.is_dir() {
                continue;
            }
            members.push(Member {
                name: String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned(),
                way: entry.wayfinder(),
                offset: entry.local_header_offset(),
                method: entry.compression_method(),
                encrypted: entry.flags().is_encrypted() || entry.flags().is_masked(),
                crc: entry.crc32(),
                size: entry.uncompressed_size_hint(),
                packed: entry.compressed_size_hint(),
            });
        }
    }

    /// The list is there: what is read of it, and in which order?
    fn start(&mut self, archive: ZipArchive<Window>, members: Vec<Member>, sink: &mut dyn FnMut(Item)) {
        self.names = members.iter().map(|member| member.name.clone()).collect();
        // How many members begin at each offset, and how many have each name.
        let (mut offsets, mut seen) = (HashMap::new(), HashMap::new());
        members.iter().for_each(|member| *offsets.entry(member.offset.to_string()).or_insert(0usize) += 1);
        let mut aside = 0;
        let order = plan(&self.names);
        let mut slots: Vec<Option<Member>> = members.into_iter().map(Some).collect();
        let mut queue = Vec::new();
        for at in order {
            let Some(member) = slots[at].take() else { continue };
            if is_aside(&member.name) || member.size == 0 {
                aside += 1;
                self.done = self.done.saturating_add(member.packed);
                continue;
            }
            if let Some((code, reason)) = refuse(&member, &offsets, self.len) {
                self.done = self.done.saturating_add(member.packed);
                self.say(&short(&member.name), code, &reason, true, sink);
                continue;
            }
            let count = seen.entry(member.name.clone()).or_insert(0usize);
            *count += 1;
            if *count > 1 {
                self.say(
                    &short(&member.name),
                    Code::DuplicateId,
                    "the zip has this name more than once; each is read",
                    false,
                    sink,
                );
            }
            queue.push(member);
        }
        if aside > 0 {
            let reason = format!("attached files, pages and empty files, which hold no conversations: {aside}");
            self.say("", Code::NotAConversation, &reason, true, sink);
        }
        if queue.is_empty() {
            self.say("", Code::Empty, "the zip has no member that could hold conversations", true, sink);
        }
        queue.reverse();
        self.queue = queue;
        self.next(archive);
    }

    /// On to the next member.
    fn next(&mut self, archive: ZipArchive<Window>) {
        self.state = if self.queue.is_empty() { State::Done } else { State::Header(archive) };
    }

    /// The member last in the queue is done with.
    fn pop(&mut self) {
        if let Some(member) = self.queue.pop() {
            self.done = self.done.saturating_add(member.packed);
        }
    }

    /// The beginning of a member is there: where do its data lie?
    fn header(&mut self, mut archive: ZipArchive<Window>, bytes: &[u8], at: u64, sink: &mut dyn FnMut(Item)) {
        let Some(member) = self.queue.last() else { return };
        *archive.get_mut() = Window::of(at, bytes, self.len);
        let range = archive.get_entry(member.way).map(|entry| entry.compressed_data_range());
        let place = short(&member.name);
        let rest = match range {
            Ok((start, end)) if start <= end && end <= self.len => start..end,
            Ok(_) => {
                self.pop();
                self.say(&place, Code::Truncated, "its data would lie past the end of the zip", true, sink);
                return self.next(archive);
            }
            Err(error) => {
                self.pop();
                self.say(&place, Code::BadZip, &format!("its header cannot be read ({error})"), true, sink);
                return self.next(archive);
            }
        };
        let name = format!("{}/{}", self.name, member.name);
        let reader = Reader::new(&name, self.hint).among(Arc::clone(&self.names));
        let inflater = Inflater::new(member.method == CompressionMethod::STORE, member.crc, member.size);
        let mut data = Box::new(Data { archive, rest, inflater, reader });
        // The first piece is most often here already.
        let from = data.rest.start.saturating_sub(at) as usize;
        let here = bytes.get(from..).unwrap_or_default();
        let here = &here[..here.len().min((data.rest.end - data.rest.start) as usize)];
        data.rest.start += here.len() as u64;
        if here.is_empty() && data.rest.start < data.rest.end {
            self.state = State::Data(data);
        } else {
            self.data(data, here, false, sink);
        }
    }

    /// Inflates what has come of a member.
    fn data(&mut self, mut data: Box<Data>, bytes: &[u8], short_read: bool, sink: &mut dyn FnMut(Item)) {
        let Some(member) = self.queue.last() else { return };
        let place = short(&member.name);
        let last = data.rest.start >= data.rest.end;
        let allowed = self.limits.total.saturating_sub(self.total);
        let before = data.inflater.inflated();
        let step = data.inflater.push(bytes, self.limits.ratio, allowed, &mut |piece| {
            data.reader.push(piece, sink);
            !data.reader.is_closed()
        });
        self.total += data.inflater.inflated() - before;
        let trouble = match step {
            Step::More if short_read || last => Some((Code::Truncated, "its data end too soon")),
            Step::More => {
                self.state = State::Data(data);
                return;
            }
            Step::End => data.inflater.trouble(),
            Step::Enough => None,
            Step::Bad => Some((Code::BadZip, "its compressed data are damaged")),
            Step::Bomb => Some((Code::ZipBomb, "it grows out of all proportion when it is inflated")),
            Step::Full => Some((Code::ZipBomb, "the zip's members are too large together")),
        };
        if matches!(step, Step::End | Step::Enough) {
            data.reader.finish(sink);
        } else {
            data.reader.abandon(sink);
        }
        if let Some((code, reason)) = trouble {
            let reason = format!("{reason}; what came out of it before that is in, the rest is not");
            self.say(&place, code, &reason, true, sink);
        }
        self.pop();
        self.next(data.archive);
    }
}

/// Members that hold no conversations by what they are: attached files, and what a file system left.
fn is_aside(name: &str) -> bool {
    const ENDS: [&str; 24] = [
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".webp",
        ".svg",
        ".heic",
        ".bmp",
        ".ico",
        ".wav",
        ".mp3",
        ".m4a",
        ".ogg",
        ".opus",
        ".mp4",
        ".mov",
        ".webm",
        ".pdf",
        ".html",
        ".htm",
        ".css",
        ".js",
        ".dat",
        ".ds_store",
    ];
    let lower = name.to_ascii_lowercase();
    lower.starts_with("__macosx/") || ENDS.iter().any(|end| lower.ends_with(end))
}

/// Why a member is not opened.
fn refuse(member: &Member, offsets: &HashMap<String, usize>, len: u64) -> Option<(Code, String)> {
    if member.offset >= len {
        return Some((Code::Truncated, "its data would lie past the end of the zip".to_owned()));
    }
    if member.encrypted || member.method == CompressionMethod::AES {
        return Some((
            Code::Encrypted,
            "it is encrypted: unpack the zip with its password and import the files".to_owned(),
        ));
    }
    if !matches!(member.method, CompressionMethod::STORE | CompressionMethod::DEFLATE) {
        let reason =
            format!("it is compressed by {}, which is not read: unpack the zip and import the files", member.method);
        return Some((Code::Compression, reason));
    }
    if offsets.get(&member.offset.to_string()).is_some_and(|count| *count > 1) {
        return Some((Code::ZipBomb, "several members share the same data".to_owned()));
    }
    None
}
