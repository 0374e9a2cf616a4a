//! Import: files in, conversations stored one at a time, a report out. What is there already is not stored again; a newer
//! export of a conversation adds what is new in it ([`merge`]). Nothing fails as a whole but the store.

mod beside;
mod memories;
mod merge;
mod requests;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use futures_util::future::join;
use threadkeep_archive as archive;
use threadkeep_archive::{Beside, Conversation, Format, Input, Item, Part, Skip};
use threadkeep_compaction::memory::Memory;
use threadkeep_core::sort;
use threadkeep_core::{Entry, MessageId, Transcript};
use threadkeep_store::{Commit, Durability, Store, StoreError};

use crate::keep::Write;
use crate::log::record;
use crate::protocol::{ImportProgress, ImportReport};
use crate::{Keep, KeepError, Source, keys};
use merge::Difference;

/// The conversations that the files of an import hold, and whether the import has made each.
type Held = HashMap<MessageId, bool>;

/// An import under way.
#[derive(Default)]
struct Import {
    held: Held,
    /// Stored when all files were read.
    memories: Vec<Memory>,
    /// Settings and requests, stored after that.
    beside: Vec<Beside>,
    /// The files of an agent's memory, which make sense together.
    parts: Vec<Part>,
    report: ImportReport,
    progress: ImportProgress,
    /// Whether the file was written by this keep itself, which may say everything.
    is_own: bool,
}

/// What became of one conversation.
enum Outcome {
    Added(u32),
    Updated(u32),
    Unchanged,
}

/// What a listener of an import's progress answers: nothing, to let it go on, or a [`ControlFlow`], which can end it.
pub trait Verdict {
    /// Whether the import is to end here.
    fn ends(self) -> bool;
}

impl Verdict for () {
    fn ends(self) -> bool {
        false
    }
}

impl Verdict for ControlFlow<()> {
    fn ends(self) -> bool {
        self.is_break()
    }
}

impl<S: Store> Keep<S> {
    /// Imports files: each read range by range, its format told by its content (or by `format`), one conversation in memory
    /// at a time. Every conversation is stored in one commit. When the report comes, everything in it is durable.
    ///
    /// `on_progress` hears of it several times a second and may end it: what was stored until then stays, each conversation
    /// whole, and the same import goes on from there another time.
    ///
    /// # Errors
    /// The store's only: what cannot be read is in the report. What was stored before the store failed stays.
    pub async fn import<R: Source, V: Verdict>(
        &self,
        sources: Vec<R>,
        format: Option<Format>,
        on_progress: impl FnMut(&ImportProgress) -> V,
    ) -> Result<ImportReport, KeepError> {
        self.import_as(sources, format, Import::default(), on_progress).await
    }

    /// Imports what this keep itself wrote, or another keep of the same owner: pins, origins and settings come in as they were.
    ///
    /// # Errors
    /// Those of [`Keep::import`].
    pub async fn import_own<R: Source>(&self, source: R) -> Result<ImportReport, KeepError> {
        let import = Import { is_own: true, ..Import::default() };
        self.import_as(vec![source], Some(Format::Threadkeep), import, |_| {}).await
    }

    async fn import_as<R: Source, V: Verdict>(
        &self,
        sources: Vec<R>,
        format: Option<Format>,
        mut import: Import,
        mut on_progress: impl FnMut(&ImportProgress) -> V,
    ) -> Result<ImportReport, KeepError> {
        let names: Arc<[String]> = sources.iter().map(|source| source.name().to_owned()).collect();
        import.progress.total_bytes = sources.iter().map(Source::size).sum();
        let mut sources: Vec<Option<R>> = sources.into_iter().map(Some).collect();
        'files: for at in archive::plan(&names) {
            let Some(mut source) = sources[at].take() else { continue };
            import.progress.file = source.name().to_owned();
            let before = import.progress.bytes;
            let mut input = Input::new(source.name(), source.size(), format).among(Arc::clone(&names));
            let mut slice = read(&mut source, &input).await;
            while let Some(bytes) = slice {
                let bytes = bytes.unwrap_or_else(|why| {
                    let reason = format!("the file cannot be read: {why}");
                    import.report.skip(source.name(), "unreadable", reason, false);
                    // The file ends here; what was read of it comes in.
                    Vec::new()
                });
                let mut items = Vec::new();
                input.supply(&bytes, &mut |item| items.push(item));
                drop(bytes);
                // The next slice comes while what this one held is stored.
                let (next, stored) = join(read(&mut source, &input), self.take_items(items, &mut import)).await;
                stored?;
                slice = next;
                import.progress.bytes = before + input.progress().0;
                import.report.stopped = on_progress(&import.progress).ends();
                if import.report.stopped {
                    break 'files;
                }
            }
            import.progress.bytes = before + source.size();
            import.report.stopped = on_progress(&import.progress).ends();
            if import.report.stopped {
                break;
            }
        }
        // An agent's files make sense together; half of them would make another conversation.
        if !import.report.stopped && !import.parts.is_empty() {
            let mut items = Vec::new();
            archive::assemble(std::mem::take(&mut import.parts), &mut |item| items.push(item));
            self.take_items(items, &mut import).await?;
        }
        let Import { held, memories, beside, mut report, is_own, .. } = import;
        let asks = !memories.is_empty() || !beside.is_empty();
        let is_backup = is_own || asks && self.is_backup(&memories, &held).await?;
        if !memories.is_empty() {
            self.take_memories(memories, is_backup, &mut report).await?;
        }
        if !beside.is_empty() {
            self.take_beside(beside, is_backup, &held, &mut report).await?;
        }
        let stamp = (keys::IMPORTED.to_owned(), self.now().to_string().into_bytes());
        self.inner.store.commit(Commit { puts: vec![stamp], ..Commit::default() }).await?;
        Ok(report)
    }

    async fn take_items(&self, items: Vec<Item>, import: &mut Import) -> Result<(), KeepError> {
        for item in items {
            match item {
                Item::Conversation(conversation) => self.take_conversation(conversation, import).await?,
                Item::Memory(memory) => import.memories.push(*memory),
                Item::Beside(line) => import.beside.push(*line),
                Item::Part(part) => import.parts.push(*part),
                Item::Skipped(skip) => note(&mut import.report, &skip, false),
                Item::Warning(skip) => note(&mut import.report, &skip, true),
            }
        }
        Ok(())
    }

    async fn take_conversation(&self, conversation: Conversation, import: &mut Import) -> Result<(), KeepError> {
        let Import { held, report, progress, .. } = import;
        progress.conversations += 1;
        let id = conversation.transcript.clone();
        let made = *held.entry(id.clone()).or_default();
        let source = source_of(&conversation.entries);
        match self.store_conversation(conversation, made, report).await {
            Ok(Outcome::Added(messages)) => {
                held.insert(id.clone(), true);
                report.added += 1;
                report.stored(&id, messages);
                progress.messages += messages;
                self.changed(&id, Vec::new());
            }
            Ok(Outcome::Updated(messages)) => {
                report.updated += 1;
                report.stored(&id, messages);
                progress.messages += messages;
                self.changed(&id, Vec::new());
            }
            Ok(Outcome::Unchanged) => report.unchanged += 1,
            // The conversation's own fault; the store's ends the import.
            Err(error @ (KeepError::Transcript(_) | KeepError::Damaged { .. })) => {
                report.skip(id.as_str(), error.code(), error.to_string(), false);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if !report.formats.contains(&source) {
            report.formats.push(source);
        }
        Ok(())
    }

    async fn store_conversation(
        &self,
        conversation: Conversation,
        made: bool,
        report: &mut ImportReport,
    ) -> Result<Outcome, KeepError> {
        let _writing = self.writing().await;
        let id = conversation.transcript.clone();
        let digest = format!("{:016x}", conversation.digest);
        let known = match record(&self.inner.store, &id).await {
            Ok(record) => record.map(|record| record.digest),
            // Which digest it had nobody knows; its log tells what is new.
            Err(KeepError::Store(StoreError::Corrupt { .. })) => Some(String::new()),
            Err(error) => return Err(error),
        };
        if known.as_ref() == Some(&digest) {
            return Ok(Outcome::Unchanged);
        }
        let mut entries = entries(conversation);
        self.leave_taken_heads(&mut entries, &id, report).await?;
        if known.is_none() {
            self.add(&id, entries, digest).await
        } else {
            self.merge(&id, entries, digest, made, report).await
        }
    }

    /// Stores a conversation that is new here.
    async fn add(&self, id: &MessageId, entries: Vec<Entry>, digest: String) -> Result<Outcome, KeepError> {
        let messages = entries.iter().map(messages_in).sum();
        let mut write = indexed(Write::new(Vec::new(), Outcome::Added(messages)), &entries, id);
        write.entries = entries;
        write.digest = Some(digest);
        write.extra.durability = Durability::Relaxed;
        let (_, outcome) = self.begin_log(id, write).await?;
        Ok(outcome)
    }

    /// Adds to a transcript what a newer export of it has more.
    async fn merge(
        &self,
        id: &MessageId,
        entries: Vec<Entry>,
        digest: String,
        made: bool,
        report: &mut ImportReport,
    ) -> Result<Outcome, KeepError> {
        let mut incoming = Transcript::new(id.clone());
        for entry in entries {
            incoming.replay(incoming.next_seq(), entry);
        }
        let mut found = Difference::default();
        let write = self.write(id, |log| {
            found = Difference::between(&log.tree, &incoming, made);
            let fresh = std::mem::take(&mut found.entries);
            let messages = fresh.iter().map(messages_in).sum();
            let outcome = if fresh.is_empty() { Outcome::Unchanged } else { Outcome::Updated(messages) };
            let mut write = indexed(Write::new(Vec::new(), outcome), &fresh, id);
            write.entries = fresh;
            write.digest = Some(digest.clone());
            write.extra.durability = Durability::Relaxed;
            Ok(write)
        });
        let outcome = write.await?.ok_or_else(|| KeepError::MissingTranscript(id.clone()))?;
        let Difference { differing, diverged, restored, .. } = found;
        if differing > 0 {
            let reason = format!(
                "{differing} of its messages say something else in this file than what is stored under the same ids: \
                 what is stored stays, since messages do not change; delete the thread first to take this file's instead"
            );
            report.skip(id.as_str(), "message-differs", reason, true);
        }
        for what in diverged {
            let reason = format!(
                "{what} is at the end of one branch here, and of another one in this file: it stays where it is. The \
                 messages of both branches are here"
            );
            report.skip(id.as_str(), "branch-differs", reason, true);
        }
        if restored > 0 {
            // The index has the notes that stood in for the messages.
            self.index_anew(id).await?;
        }
        if matches!(outcome, Outcome::Unchanged) {
            self.remember_digest(id, digest).await?;
        }
        Ok(outcome)
    }

    async fn index_anew(&self, id: &MessageId) -> Result<(), KeepError> {
        loop {
            let mut commit = Commit::default();
            self.unindex(id, &mut commit).await?;
            match self.inner.store.commit(commit).await {
                Err(StoreError::Conflict { .. }) => continue,
                done => return Ok(done?),
            }
        }
    }

    /// Lets go of heads whose names are taken by another transcript, and says so. The log stays as it is; one more entry says
    /// that each such head left.
    async fn leave_taken_heads(
        &self,
        entries: &mut Vec<Entry>,
        id: &MessageId,
        report: &mut ImportReport,
    ) -> Result<(), KeepError> {
        let mut heads: HashMap<String, bool> = HashMap::new();
        for entry in entries.iter() {
            if let Entry::Head { name, node } = entry {
                heads.insert(name.clone(), node.is_some());
            }
        }
        let mut heads: Vec<String> = heads.into_iter().filter_map(|(name, here)| here.then_some(name)).collect();
        sort::sort(&mut heads);
        for name in heads {
            let Some(at) = self.stored_head(&name).await?.filter(|at| at != id) else { continue };
            // One that moved away from here is where it belongs.
            let left = self.read(id, |log| Ok(log.tree.heads().contains_key(&name))).await?;
            if left != Some(true) {
                let reason = format!("there is a thread {name:?} in transcript {at} already: it stays there");
                report.skip(id.as_str(), "thread-taken", reason, true);
            }
            entries.push(Entry::Head { name, node: None });
        }
        Ok(())
    }
}

/// The range of a file that its reader wants next; `None` when the reader is done.
async fn read(source: &mut impl Source, input: &Input) -> Option<Result<Vec<u8>, String>> {
    let range = input.wants()?;
    let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    Some(source.read(range.start, len).await)
}

/// The log of a conversation, with a hole where its numbers have a gap.
fn entries(conversation: Conversation) -> Vec<Entry> {
    let Some(seqs) = conversation.seqs else { return conversation.entries };
    let mut entries = Vec::with_capacity(conversation.entries.len());
    let mut next = 0;
    for (seq, entry) in seqs.into_iter().zip(conversation.entries) {
        if seq > next {
            entries.push(Entry::Gone(seq - next));
        }
        next = seq.max(next) + entry.span();
        entries.push(entry);
    }
    entries
}

/// Adds the index records and heads that imported entries need.
fn indexed<T>(mut write: Write<T>, entries: &[Entry], transcript: &MessageId) -> Write<T> {
    let mut heads: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        match entry {
            Entry::Node(node) => write = write.indexed(&node.id, transcript),
            Entry::Alias { id, .. } => write = write.indexed(id, transcript),
            Entry::Head { name, node } => drop(heads.insert(name.clone(), usize::from(node.is_some()))),
            _ => {}
        }
    }
    let id = transcript.as_str().as_bytes();
    for (name, here) in heads {
        if here == 1 {
            write.extra.puts.push((keys::head(&name), id.to_vec()));
        }
    }
    write
}

fn messages_in(entry: &Entry) -> u32 {
    match entry {
        Entry::Node(node) | Entry::Restored(node) => node.messages.len() as u32,
        Entry::Extend { messages, .. } => messages.len() as u32,
        _ => 0,
    }
}

fn source_of(entries: &[Entry]) -> String {
    let source = entries.iter().find_map(|entry| match entry {
        Entry::Info(patch) => patch.source.clone(),
        _ => None,
    });
    source.unwrap_or_else(|| "threadkeep".to_owned())
}

fn note(report: &mut ImportReport, skip: &Skip, salvaged: bool) {
    report.skip(&skip.place, skip.code.as_str(), skip.reason.clone(), salvaged);
}
