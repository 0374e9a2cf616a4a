//! A transcript's log in the store: read, caught up with, appended to.
//!
//! The newest entries lie in small pages, one for each append (the tail); when a hundred have gathered there, the next
//! append merges them into one page in the same commit. A page is entries as JSON lines, so merging only joins bytes.
//! An append is conditional on its page's key being free: of two writers with the same picture, one gets a conflict, reads
//! what the other wrote, and goes again, so sequence numbers are never used twice. A merge frees keys that were taken, so it moves a
//! marker on. An append is conditional on that marker too. So a writer whose picture is older than the last merge gets a conflict.

use std::collections::HashSet;
use std::ops::Range;
use std::string::FromUtf8Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join;
use memchr::memchr_iter;
use serde::{Deserialize, Serialize};
use threadkeep_core::transcript::Info;
use threadkeep_core::{Entry, MessageId, Transcript, TranscriptId};
use threadkeep_store::around::{self, Found};
use threadkeep_store::{Commit, Record as Stored, Store, StoreError};

use crate::drafts::take_drafts;
use crate::json::{from_json, to_json};
use crate::{KeepError, keys};

/// How many entries are merged into one page.
const PAGE_ENTRIES: u32 = 100;
/// Room for the line of a message, so that most pages of one grow once or never.
const LINE: usize = 1024;
/// No line of a node is shorter.
const SHORTEST: usize = 32;
/// A page is closed at this many bytes, however few entries it has: Chromium keeps values above 64 KiB in files of their
/// own, which makes them three to four times slower to write and twice as slow to read.
const PAGE_BYTES: usize = 56 * 1024;

/// The small record beside a log, for lists: derived from the log, rewritten with every append.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Sets this making of the transcript apart from an earlier one of the same id.
    pub generation: String,
    /// The digest of the archived conversation that was imported last, 16 hex digits; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// See [`Log::merge_marker`].
    #[serde(default, rename = "folds")]
    pub merges: u64,
    /// The summary.
    #[serde(default)]
    pub info: Info,
}

/// A page of the log.
#[derive(Debug, Clone)]
struct Page {
    /// The sequence number of its first entry.
    seq: u64,
    /// How many entries it has.
    count: u32,
    /// They, as JSON lines.
    lines: Vec<u8>,
}

/// Pages by the numbers of their first entries; only small ones are kept, to be merged.
type NewPages = Vec<(u64, Option<Page>)>;

/// Whether a page is as large as pages get.
fn is_full(count: u32, lines: &[u8]) -> bool {
    count >= PAGE_ENTRIES || lines.len() >= PAGE_BYTES
}

/// A transcript with what is needed to append to it.
#[derive(Debug)]
pub struct Log {
    /// The tree that the log makes.
    pub tree: Transcript,
    /// See [`Record::generation`].
    pub generation: String,
    /// See [`Record::digest`].
    pub digest: String,
    /// The small pages at the end.
    tail: Vec<Page>,
    /// Where the last page begins: from there the store is asked for what is new.
    last_page: u64,
    /// How often small pages were merged.
    merges: u64,
    /// Whether a deletion was among the entries that were read last.
    rewritten: bool,
    /// Why the record cannot be read, where the log was found without it. The next append writes it anew.
    pub lost_record: Option<String>,
    /// Which reading of a log this is: two have different numbers, in which nodes can have different places.
    pub reading: u64,
}

/// How many logs were made.
static READINGS: AtomicU64 = AtomicU64::new(0);

impl Log {
    /// A log that is not stored yet.
    pub fn new(id: TranscriptId, generation: String) -> Self {
        Self {
            tree: Transcript::new(id),
            generation,
            digest: String::new(),
            tail: Vec::new(),
            last_page: 0,
            merges: 0,
            rewritten: false,
            lost_record: None,
            reading: READINGS.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// A copy in which `entries` have happened, for a look at what would be. Only its tree is good for anything: it cannot be stored.
    ///
    /// # Errors
    /// Those of [`Transcript::apply_all`].
    pub fn imagine(&self, entries: Vec<Entry>) -> Result<Self, KeepError> {
        let mut tree = self.tree.clone();
        tree.apply_all(entries)?;
        let reading = self.reading;
        Ok(Self { tree, reading, ..Self::new(self.tree.id().clone(), self.generation.clone()) })
    }

    /// Reads a transcript; `None` where there is none. Damage is kept in the tree, never passed over in silence. A record that cannot be
    /// read is made up for: all that it says is in the pages and their keys, but for the digest.
    pub async fn load(store: &impl Store, id: &TranscriptId) -> Result<Option<Self>, KeepError> {
        // Asked for side by side: what is far away is waited for once.
        let (known, found) = join(record(store, id), around::scan(store, &keys::all_pages(id))).await;
        let (mut log, found) = match known {
            Ok(None) => return Ok(None),
            Ok(Some(Record { generation, digest, merges, info })) => {
                let mut found = of_generation(found?, &generation);
                if found.is_empty() {
                    // It was made anew between the two answers.
                    found = of_generation(around::scan(store, &keys::all_pages(id)).await?, &generation);
                }
                // The marker was read in the same moment as the pages, the record perhaps after a later merge.
                let merges = merged(&found).unwrap_or(merges);
                let mut log = Self { digest, merges, ..Self::new(id.clone(), generation) };
                // A record may say any number, so the pages must have room for the nodes.
                let bytes: usize = found.iter().filter_map(|(_, lines)| lines.as_ref().ok()).map(Vec::len).sum();
                log.tree.reserve((info.nodes as usize).min(bytes / SHORTEST));
                (log, found)
            }
            Err(KeepError::Store(StoreError::Corrupt { key, why })) if key == keys::record(id) => {
                let found = found?;
                let generation =
                    found.first().and_then(|(key, _)| keys::generation(key)).unwrap_or_default().to_owned();
                let found = of_generation(found, &generation);
                let merges = merged(&found).unwrap_or_default();
                (Self { merges, lost_record: Some(why), ..Self::new(id.clone(), generation) }, found)
            }
            Err(error) => return Err(error),
        };
        let end = keys::pages(id, &log.generation, 0).end;
        let (pages, behind): (Vec<_>, Vec<_>) = found.into_iter().partition(|(key, _)| *key < end);
        // A draft that cannot be read is no history, and will be said anew.
        let mut drafts = behind.into_iter().filter_map(|(key, value)| Some((key, value.ok()?))).collect();
        take_drafts(&mut drafts, &mut log.tree);
        for (key, lines) in pages {
            match (lines, keys::page_seq(&key)) {
                (Ok(lines), Some(seq)) => log.read_page(seq, lines),
                (Err(why), Some(seq)) => log.tree.skip(seq, format_args!("{key:?}: {why}")),
                (_, None) => {}
            }
        }
        Ok(Some(log))
    }

    /// Takes in what others have appended. `false` when the log can no longer be caught up with (it was deleted, made anew,
    /// or rewritten by a deletion in a page that was merged since): then it must be loaded afresh.
    pub async fn catch_up(&mut self, store: &impl Store) -> Result<bool, KeepError> {
        let from = |seq| keys::pages_and_merges(self.tree.id(), &self.generation, seq);
        // What is damaged is read around, and said, by loading.
        let Some(mut pages) = undamaged(store.scan(&from(self.last_page)).await)? else { return Ok(false) };
        let begins = |pages: &[Stored]| pages.first().and_then(|(key, _)| keys::page_seq(key));
        if begins(&pages) != Some(self.last_page) {
            // Somebody may have merged the tail into one page, which then begins where the tail did.
            let Some(tail) = self.tail.first().map(|page| page.seq) else { return Ok(false) };
            let Some(more) = undamaged(store.scan(&from(tail)).await)? else { return Ok(false) };
            pages = more;
            if begins(&pages) != Some(tail) {
                return Ok(false);
            }
            self.last_page = tail;
        }
        // The marker of the last merge lies behind all pages, and was read in the same moment.
        let Some(merges) = pages.pop().and_then(|(key, _)| keys::merges(&key)) else { return Ok(false) };
        self.merges = merges;
        take_drafts(&mut pages, &mut self.tree);
        self.rewritten = false;
        if pages.len() > 1 || self.grew(&pages[0].1) {
            self.read(pages);
        }
        // A deletion rewrote pages that are remembered here for merging.
        Ok(!self.rewritten && self.tree.damage().is_empty())
    }

    /// What tells two readings of a log apart.
    pub fn state(&self) -> (String, u64) {
        (self.generation.clone(), self.tree.next_seq())
    }

    fn grew(&self, page: &[u8]) -> bool {
        let end =
            numbered(page, self.last_page).last().map_or(self.last_page, |(seq, line)| seq.saturating_add(span(line)));
        end > self.tree.next_seq()
    }

    /// Applies the entries of `pages` that are new, and remembers the tail.
    fn read(&mut self, pages: Vec<Stored>) {
        for (key, lines) in pages {
            if let Some(seq) = keys::page_seq(&key) {
                self.read_page(seq, lines);
            }
        }
    }

    /// Applies the entries of the page that begins with the entry `seq`.
    fn read_page(&mut self, seq: u64, lines: Vec<u8>) {
        let page = String::from_utf8(lines).map(Arc::new);
        let lines = page.as_ref().map_or_else(FromUtf8Error::as_bytes, |page| page.as_bytes());
        let (mut count, mut next) = (0, seq);
        for place in places_of(lines) {
            let (at, line) = (next, &lines[place.clone()]);
            next = next.saturating_add(span(line));
            count += 1;
            if at >= self.tree.next_seq() {
                let last = self.tree.nodes().next_back().map(|placed| &placed.node.id);
                let entry = match &page {
                    Ok(page) => Entry::parse_in(page, place, last),
                    Err(_) => Entry::parse(line),
                };
                match entry {
                    Ok(entry) => {
                        self.rewritten |= matches!(entry, Entry::Removed { .. });
                        self.tree.replay(at, entry);
                    }
                    Err(error) => self.tree.skip(at, error),
                }
            }
        }
        let small = !is_full(count, lines);
        self.note_page(seq, small.then(|| Page { seq, count, lines: lines.to_vec() }));
    }

    /// Keeps a small page for merging; a full page ends the tail before it.
    fn note_page(&mut self, seq: u64, small: Option<Page>) {
        self.last_page = self.last_page.max(seq);
        self.tail.retain(|page| page.seq < seq);
        match small {
            Some(page) => self.tail.push(page),
            None => self.tail.clear(),
        }
    }

    /// Appends `entries` in one commit, together with what `extra` holds. Gives the log back; on an error it is lost, since
    /// it may no longer be what is stored.
    pub async fn append(self, store: &impl Store, entries: Vec<Entry>, extra: Commit) -> Result<Self, KeepError> {
        self.append_or_return(store, entries, extra).await.map_err(|(error, _)| error)
    }

    /// [`Log::append`], which after a conflict gives the log back as it was, where it can: behind what is stored, but good to
    /// catch up from. That is far quicker than reading a long log anew, and who is slow to try again loses again.
    pub async fn append_or_return(
        mut self,
        store: &impl Store,
        entries: Vec<Entry>,
        extra: Commit,
    ) -> Result<Self, (KeepError, Option<Self>)> {
        let before = self.tree.before(&entries);
        let merge = self.must_merge();
        let (commit, new) = self.apply(entries, merge, extra).map_err(|error| (error, None))?;
        match store.commit(commit).await {
            Ok(()) => {
                if merge {
                    self.tail.clear();
                }
                for (seq, small) in new {
                    self.note_page(seq, small);
                }
                Ok(self)
            }
            Err(error @ StoreError::Conflict { .. }) => {
                let back = before.map(|before| {
                    self.tree.take_back(before);
                    self.merges -= u64::from(merge);
                    self
                });
                Err((error.into(), back))
            }
            Err(error) => Err((error.into(), None)),
        }
    }

    /// Lets `entries` happen in the tree, and gives the commit that makes them happen in the store, and the numbers of its new
    /// pages, with those that are small.
    fn apply(&mut self, entries: Vec<Entry>, merge: bool, extra: Commit) -> Result<(Commit, NewPages), KeepError> {
        if let Some(what) = self.tree.damage().first() {
            return Err(KeepError::Damaged { transcript: self.tree.id().clone(), what: what.clone() });
        }
        let first = self.tree.next_seq();
        let new = pages(first, &entries)?;
        self.tree.apply_all(entries)?;
        let seen = self.merge_marker();
        self.merges += u64::from(merge);
        let mut commit = self.plan(first, seen, merge, extra)?;
        let (id, generation) = (self.tree.id(), &self.generation);
        let mut noted = Vec::with_capacity(new.len());
        for page in new {
            noted.push((page.seq, (!is_full(page.count, &page.lines)).then(|| page.clone())));
            commit.puts.push((keys::page(id, generation, page.seq), page.lines));
        }
        Ok((commit, noted))
    }

    /// The log without the nodes `gone`, of which `pages`, all there are, have holes already. `None` where `pages` are not those of this
    /// log: somebody has appended to it since it was read.
    pub fn pruned(mut self, pages: &[Stored], gone: &HashSet<&MessageId>) -> Option<Self> {
        let (last, lines) = pages.last()?;
        let last = keys::page_seq(last)?;
        let end = numbered(lines, last).last().map_or(last, |(seq, line)| seq.saturating_add(span(line)));
        if end != self.tree.next_seq() {
            return None;
        }
        // A node that was restored hung elsewhere before.
        let restored = pages.iter().any(|(_, lines)| contains(lines, "{\"restored\":"));
        if restored || !self.tree.prune(gone) {
            let (digest, merges) = (std::mem::take(&mut self.digest), self.merges);
            self = Self { digest, merges, ..Self::new(self.tree.id().clone(), self.generation.clone()) };
            self.read(pages.to_vec());
        }
        self.reading = READINGS.fetch_add(1, Ordering::Relaxed);
        self.last_page = last;
        self.tail = tail_of(pages);
        Some(self)
    }

    /// [`Log::append`] of a deletion: it merges nothing, since it writes the pages that it has made holes in.
    pub async fn append_removal(
        mut self,
        store: &impl Store,
        entries: Vec<Entry>,
        extra: Commit,
    ) -> Result<Self, KeepError> {
        let mut tail = std::mem::take(&mut self.tail);
        let mut log = self.append(store, entries, extra).await?;
        tail.append(&mut log.tail);
        log.tail = tail;
        Ok(log)
    }

    fn must_merge(&self) -> bool {
        let gathered: u32 = self.tail.iter().map(|page| page.count).sum();
        let bytes: usize = self.tail.iter().map(|page| page.lines.len()).sum();
        // A record that somebody wrote may say any number of merges.
        self.merges < u64::MAX && self.tail.len() > 1 && (gathered >= PAGE_ENTRIES || bytes >= PAGE_BYTES)
    }

    /// The key that must exist when something is written, besides that of the next page, which must not: it is gone when
    /// the transcript is, and when somebody has merged pages, perhaps the next one among them.
    pub fn merge_marker(&self) -> String {
        keys::merge_marker(self.tree.id(), &self.generation, self.merges)
    }

    /// A commit that writes nothing to the log, on the conditions of an append: nobody has written to it since it was read.
    pub fn beside(&self, extra: Commit) -> Commit {
        let mut commit = extra;
        commit.absent.push(keys::page(self.tree.id(), &self.generation, self.tree.next_seq()));
        commit.present.push(self.merge_marker());
        commit
    }

    /// The commit of an append at `first` by a writer who has `seen` the last merge, but for its new pages.
    fn plan(&self, first: u64, seen: String, merge: bool, extra: Commit) -> Result<Commit, KeepError> {
        let id = self.tree.id();
        let page = |seq| keys::page(id, &self.generation, seq);
        let mut commit = extra;
        commit.absent.push(page(first));
        if first == 0 {
            commit.absent.push(keys::record(id));
            commit.puts.push((seen, Vec::new()));
        } else {
            if merge {
                commit.deletes.push(seen.clone());
                commit.puts.push((self.merge_marker(), Vec::new()));
            }
            commit.present.push(seen);
        }
        if merge {
            let lines = self.tail.iter().map(|page| &*page.lines).collect::<Vec<_>>().concat();
            commit.puts.push((page(self.tail[0].seq), lines));
            commit.deletes.extend(self.tail[1..].iter().map(|small| page(small.seq)));
        }
        commit.puts.push((keys::record(id), self.record()?));
        Ok(commit)
    }

    /// The bytes of the record as it is now.
    pub fn record(&self) -> Result<Vec<u8>, KeepError> {
        let (generation, digest) = (self.generation.clone(), self.digest.clone());
        to_json(&Record { generation, digest, merges: self.merges, info: self.tree.info() })
    }
}

/// Whether a text occurs in lines. The standard library's search: memchr's own, for so rare an act, would be 10 KB of the npm module.
pub fn contains(lines: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(lines).contains(text)
}

/// Those records of a transcript that are of one generation.
fn of_generation(mut found: Vec<Found>, generation: &str) -> Vec<Found> {
    found.retain(|(key, _)| keys::generation(key) == Some(generation));
    found
}

/// How often pages were merged, by the marker that lies behind them.
fn merged(found: &[Found]) -> Option<u64> {
    found.iter().filter_map(|(key, _)| keys::merges(key)).next_back()
}

/// What a reading gave; `None` where it failed because a record is damaged.
fn undamaged(read: Result<Vec<Stored>, StoreError>) -> Result<Option<Vec<Stored>>, StoreError> {
    match read {
        Ok(records) => Ok(Some(records)),
        Err(StoreError::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The small pages at the end of all pages.
fn tail_of(pages: &[Stored]) -> Vec<Page> {
    let page = |(key, lines): &Stored| {
        let count = lines_of(lines).count() as u32;
        Some(Page { seq: keys::page_seq(key)?, count, lines: lines.clone() })
    };
    let small = |page: &Page| page.count < PAGE_ENTRIES && page.lines.len() < PAGE_BYTES;
    let mut tail: Vec<Page> = pages.iter().rev().map_while(page).take_while(small).collect();
    tail.reverse();
    tail
}

/// The record of a transcript; `None` where there is none.
pub async fn record(store: &impl Store, id: &TranscriptId) -> Result<Option<Record>, KeepError> {
    let key = keys::record(id);
    let Some(bytes) = store.get(&key).await? else { return Ok(None) };
    read_record(&key, &bytes).map(Some)
}

/// Reads a record's bytes.
pub fn read_record(key: &str, bytes: &[u8]) -> Result<Record, KeepError> {
    let corrupt = |error: serde_json::Error| StoreError::Corrupt { key: key.to_owned(), why: error.to_string() };
    Ok(from_json(bytes).map_err(corrupt)?)
}

/// Entries as pages.
fn pages(first: u64, entries: &[Entry]) -> Result<Vec<Page>, KeepError> {
    let mut pages = Vec::new();
    let (mut begins, mut count, mut lines) = (first, 0, String::with_capacity(LINE));
    let mut next = first;
    for entry in entries {
        if is_full(count, lines.as_bytes()) {
            let full = std::mem::replace(&mut lines, String::with_capacity(LINE));
            pages.push(Page { seq: std::mem::replace(&mut begins, next), count, lines: full.into_bytes() });
            count = 0;
        }
        entry.write(&mut lines).map_err(|error| StoreError::Other(error.to_string()))?;
        lines.push('\n');
        count += 1;
        next = next.saturating_add(entry.span());
    }
    if count > 0 {
        pages.push(Page { seq: begins, count, lines: lines.into_bytes() });
    }
    Ok(pages)
}

/// The lines of a page that begins with the entry `first`, each with the number of its entry.
pub(crate) fn numbered(page: &[u8], first: u64) -> impl Iterator<Item = (u64, &[u8])> {
    let mut next = first;
    lines_of(page).map(move |line| {
        let seq = next;
        next = next.saturating_add(span(line));
        (seq, line)
    })
}

/// How many numbers the entry of a line takes: a line can stand for a whole range of deleted entries.
fn span(line: &[u8]) -> u64 {
    let count = line.strip_prefix(b"{\"gone\":").and_then(|rest| rest.strip_suffix(b"}"));
    let count = count.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
    count.unwrap_or(1).max(1)
}

/// The lines of a page.
pub(crate) fn lines_of(page: &[u8]) -> impl Iterator<Item = &[u8]> {
    places_of(page).map(|place| &page[place])
}

/// Where in a page its lines are.
fn places_of(page: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let ends = memchr_iter(b'\n', page).chain([page.len()]);
    let mut start = 0;
    ends.map(move |end| std::mem::replace(&mut start, end + 1)..end).filter(|place| !place.is_empty())
}
