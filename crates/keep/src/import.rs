//! Import: files in, conversations stored one at a time, a report out. What is there already is not stored again; a newer
//! export of a conversation adds what is new in it. Nothing fails as a whole but the store.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use threadkeep_core::archive::{self, Conversation, Format, Input, Item, Skip};
use threadkeep_core::compaction::Checkpoint;
use threadkeep_core::entry::InfoPatch;
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Entry, Kind, Message, MessageId, Transcript};
use threadkeep_store::{Commit, Durability, Store, StoreError};

use crate::keep::Write;
use crate::log::record;
use crate::protocol::{ImportProgress, ImportReport, Skipped};
use crate::{Keep, KeepError, Source, keys};

/// How many transcripts and how many skips a report lists.
const LISTED: usize = 1000;

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
        mut on_progress: impl FnMut(&ImportProgress) -> V,
    ) -> Result<ImportReport, KeepError> {
        let names: Arc<[String]> = sources.iter().map(|source| source.name().to_owned()).collect();
        let mut progress =
            ImportProgress { total_bytes: sources.iter().map(Source::size).sum(), ..ImportProgress::default() };
        let mut report = ImportReport::default();
        let (mut memories, mut parts) = (Vec::new(), Vec::new());
        let mut sources: Vec<Option<R>> = sources.into_iter().map(Some).collect();
        'files: for at in archive::plan(&names) {
            let Some(mut source) = sources[at].take() else { continue };
            progress.file = source.name().to_owned();
            let before = progress.bytes;
            let mut input = Input::new(source.name(), source.size(), format).among(Arc::clone(&names));
            while let Some(range) = input.wants() {
                let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
                let bytes = match source.read(range.start, len).await {
                    Ok(bytes) => bytes,
                    Err(why) => {
                        report.skip(source.name(), "unreadable", format!("the file cannot be read: {why}"), false);
                        // The file ends here; what was read of it comes in.
                        Vec::new()
                    }
                };
                let mut items = Vec::new();
                input.supply(&bytes, &mut |item| items.push(item));
                drop(bytes);
                for item in items {
                    match item {
                        Item::Memory(memory) => memories.push(*memory),
                        Item::Part(part) => parts.push(*part),
                        item => self.take_item(item, &mut report, &mut progress).await?,
                    }
                }
                progress.bytes = before + input.progress().0;
                report.stopped = on_progress(&progress).ends();
                if report.stopped {
                    break 'files;
                }
            }
            progress.bytes = before + source.size();
            report.stopped = on_progress(&progress).ends();
            if report.stopped {
                break;
            }
        }
        // An agent's files make sense together; half of them would make another conversation.
        if !report.stopped && !parts.is_empty() {
            let mut items = Vec::new();
            archive::assemble(parts, &mut |item| items.push(item));
            for item in items {
                match item {
                    Item::Memory(memory) => memories.push(*memory),
                    item => self.take_item(item, &mut report, &mut progress).await?,
                }
            }
        }
        if !memories.is_empty() {
            report.memories = self.restore(memories).await?;
        }
        let stamp = (keys::IMPORTED.to_owned(), self.now().to_string().into_bytes());
        self.inner.store.commit(Commit { puts: vec![stamp], ..Commit::default() }).await?;
        Ok(report)
    }

    async fn take_item(
        &self,
        item: Item,
        report: &mut ImportReport,
        progress: &mut ImportProgress,
    ) -> Result<(), KeepError> {
        let conversation = match item {
            Item::Conversation(conversation) => conversation,
            Item::Skipped(skip) => {
                report.note(&skip, false);
                return Ok(());
            }
            Item::Warning(skip) => {
                report.note(&skip, true);
                return Ok(());
            }
            // Kept for the end of the import.
            Item::Memory(_) | Item::Part(_) => return Ok(()),
        };
        progress.conversations += 1;
        let id = conversation.transcript.clone();
        let source = source_of(&conversation.entries);
        match self.store_conversation(conversation, report).await {
            Ok(Outcome::Added(messages)) => {
                report.added += 1;
                report.stored(&id, messages, progress);
                self.changed(&id, Vec::new());
            }
            Ok(Outcome::Updated(messages)) => {
                report.updated += 1;
                report.stored(&id, messages, progress);
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
        let is_new = known.is_none();
        let entries = self.free_heads(entries(conversation), &id, report).await?;
        if is_new { self.add(&id, entries, digest).await } else { self.merge(&id, entries, digest, report).await }
    }

    /// Stores a conversation that is new here.
    async fn add(&self, id: &MessageId, entries: Vec<Entry>, digest: String) -> Result<Outcome, KeepError> {
        let messages = entries.iter().map(messages_in).sum();
        let mut write = indexed(Write::new(Vec::new(), Outcome::Added(messages)), &entries, id);
        write.entries = entries;
        write.digest = Some(digest);
        write.extra.durability = Durability::Relaxed;
        self.begin_log(id, write).await
    }

    /// Adds to a transcript what a newer export of it has more.
    async fn merge(
        &self,
        id: &MessageId,
        entries: Vec<Entry>,
        digest: String,
        report: &mut ImportReport,
    ) -> Result<Outcome, KeepError> {
        let mut incoming = Transcript::new(id.clone());
        for (seq, entry) in (0..).zip(entries) {
            incoming.replay(seq, entry);
        }
        let mut differing = 0;
        let write = self.write(id, |log| {
            let fresh = difference(&log.tree, &incoming);
            differing = log.tree.nodes().filter(|known| says_otherwise(known, &incoming)).count();
            let messages = fresh.iter().map(messages_in).sum();
            let unchanged = fresh.is_empty();
            let outcome = if unchanged { Outcome::Unchanged } else { Outcome::Updated(messages) };
            let mut write = indexed(Write::new(Vec::new(), outcome), &fresh, id);
            write.entries = fresh;
            write.digest = Some(digest.clone());
            write.extra.durability = Durability::Relaxed;
            Ok(write)
        });
        let outcome = write.await?.ok_or_else(|| KeepError::MissingTranscript(id.clone()))?;
        if differing > 0 {
            let reason = format!(
                "{differing} of its messages say something else in this file than what is stored under the same ids: \
                 what is stored stays, since messages do not change; delete the thread first to take this file's instead"
            );
            report.skip(id.as_str(), "message-differs", reason, true);
        }
        if matches!(outcome, Outcome::Unchanged) {
            self.remember_digest(id, digest).await?;
        }
        Ok(outcome)
    }

    /// Keeps the digest of an archive that brought nothing new, so that the next import need not look again.
    async fn remember_digest(&self, id: &MessageId, digest: String) -> Result<(), KeepError> {
        let Some(mut log) = self.load(id).await? else { return Ok(()) };
        log.digest = digest;
        self.forget(id);
        let absent = vec![keys::page(id, &log.generation, log.tree.next_seq())];
        let present = vec![log.must_be_there()];
        let puts = vec![(keys::record(id), log.record()?)];
        let commit = Commit { absent, present, puts, durability: Durability::Relaxed, ..Commit::default() };
        match self.inner.store.commit(commit).await {
            // Somebody appended in this moment; the next import will look again.
            Err(StoreError::Conflict { .. }) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Leaves out heads whose names are taken by another transcript, and says so.
    async fn free_heads(
        &self,
        mut entries: Vec<Entry>,
        id: &MessageId,
        report: &mut ImportReport,
    ) -> Result<Vec<Entry>, KeepError> {
        let mut taken = HashSet::new();
        for entry in &entries {
            let Entry::Head { context, .. } = entry else { continue };
            let at = self.at_head(context, |tree, _| Ok(tree.id().clone())).await?;
            if at.is_some_and(|at| at != *id) && taken.insert(context.clone()) {
                let reason = format!("there is a head {context:?} in another transcript already: it stays there");
                report.skip(id.as_str(), "head-taken", reason, true);
            }
        }
        for entry in &mut entries {
            if matches!(entry, Entry::Head { context, .. } if taken.contains(context)) {
                *entry = Entry::Gone;
            }
        }
        Ok(entries)
    }
}

/// The log of a conversation, with holes where its numbers have gaps.
fn entries(conversation: Conversation) -> Vec<Entry> {
    let Some(seqs) = conversation.seqs else { return conversation.entries };
    let mut entries = Vec::with_capacity(conversation.entries.len());
    for (seq, entry) in seqs.into_iter().zip(conversation.entries) {
        // Holes cost memory; an archive that claims a billion of them gets its numbers closed up instead.
        let gap = usize::try_from(seq).unwrap_or(usize::MAX).saturating_sub(entries.len());
        entries.extend(std::iter::repeat_n(Entry::Gone, if gap > 1_000_000 { 0 } else { gap }));
        entries.push(entry);
    }
    entries
}

/// The entries that bring `tree` to where `incoming` is: nodes that it lacks, growth of unsealed ones, aliases, heads that
/// are new, and the chosen branch when there is anything to choose anew.
fn difference(tree: &Transcript, incoming: &Transcript) -> Vec<Entry> {
    let mut turn = tree.next_turn();
    let mut fresh = Vec::new();
    // The turns of nodes that come in, where they get other numbers here.
    let mut turns: HashMap<&MessageId, u32> = HashMap::new();
    // One that came in before it was known what such a summary came from is told anew.
    let sourced = |checkpoint: &Checkpoint| checkpoint.statements.iter().any(|said| !said.sources.is_empty());
    let known = |new: &Checkpoint| tree.checkpoint(&new.id).is_some_and(|known| sourced(known) || !sourced(new));
    let mut checkpoints = incoming.checkpoints().filter(|(_, checkpoint)| !known(checkpoint)).peekable();
    for placed in incoming.nodes() {
        // Each comes where it was made, since that says to which prompts it belongs.
        while let Some((_, checkpoint)) = checkpoints.next_if(|(seq, _)| *seq < placed.seq) {
            fresh.push(numbered(checkpoint, tree, incoming, &turns));
        }
        let node = &placed.node;
        match tree.get(&node.id) {
            None => {
                let mut node = node.clone();
                let opened = node.opened_turns();
                node.turn = if opened > 0 { turn } else { 0 };
                turn += opened;
                turns.insert(&placed.node.id, node.turn);
                fresh.push(Entry::Node(Box::new(node)));
            }
            Some(known) if !known.node.sealed && known.is_leaf() => {
                let have = known.node.messages.len();
                if node.messages.len() > have && node.messages[..have] == known.node.messages {
                    let messages = node.messages[have..].to_vec();
                    let opened = messages.iter().filter(|m| m.role == threadkeep_core::Role::User).count() as u32;
                    let first = if opened > 0 { turn } else { 0 };
                    turn += opened;
                    fresh.push(Entry::Extend { node: node.id.clone(), messages, turn: first });
                }
                if node.sealed {
                    fresh.push(Entry::Seal { node: node.id.clone() });
                }
            }
            Some(_) => {}
        }
    }
    fresh.extend(checkpoints.map(|(_, checkpoint)| numbered(checkpoint, tree, incoming, &turns)));
    let mut aliases: Vec<_> = incoming.aliases().filter(|(id, _)| tree.resolve(id).is_none()).collect();
    aliases.sort();
    fresh.extend(aliases.into_iter().map(|(id, node)| Entry::Alias { id: id.clone(), node: node.clone() }));
    let mut heads: Vec<_> = incoming.heads().iter().filter(|(name, _)| !tree.heads().contains_key(*name)).collect();
    heads.sort();
    for (name, node) in heads {
        fresh.push(Entry::Head { context: name.clone(), node: Some(node.clone()) });
        let strategy = incoming.strategy(name);
        fresh.extend(strategy.map(|strategy| Entry::Strategy { context: name.clone(), strategy: Some(strategy) }));
    }
    if !fresh.is_empty() {
        let info = incoming.info();
        fresh.push(Entry::Info(InfoPatch { leaf: info.leaf, updated_at: info.updated_at, ..InfoPatch::default() }));
    }
    fresh
}

/// A checkpoint that comes in, with the numbers that the turns which it covers have here.
fn numbered(
    checkpoint: &Checkpoint,
    tree: &Transcript,
    incoming: &Transcript,
    turns: &HashMap<&MessageId, u32>,
) -> Entry {
    let mut checkpoint = checkpoint.clone();
    let (mut first, mut last) = (u32::MAX, 0);
    for placed in incoming.chain(&checkpoint.anchor).unwrap_or_default() {
        let node = &placed.node;
        let turn = turns.get(&node.id).copied().or_else(|| tree.get(&node.id).map(|known| known.node.turn));
        if let Some(turn) = turn.filter(|turn| *turn > 0) {
            first = first.min(turn);
            last = last.max(turn + node.opened_turns().saturating_sub(1));
        }
    }
    // What covers no more than the one before it has the numbers of that.
    if last > 0 && checkpoint.cleared.is_empty() {
        (checkpoint.covers.first_turn, checkpoint.covers.last_turn) = (first, last);
    }
    Entry::Checkpoint(Box::new(checkpoint))
}

/// Whether the node of the same id in `incoming` says something that neither is in `known` nor can be added to it.
fn says_otherwise(known: &Placed, incoming: &Transcript) -> bool {
    let Some(other) = incoming.get(&known.node.id) else { return false };
    let (have, there) = (&known.node.messages, &other.node.messages);
    let is_summary = |message: &Message| matches!(message.kind, Kind::Summary { .. });
    // A summary says the same whether it stands in prompts itself or a checkpoint in its stead.
    let same = |ours: &Message, theirs: &Message| {
        ours == theirs || is_summary(ours) && is_summary(theirs) && ours.content == theirs.content
    };
    let differs = have.iter().zip(there).any(|(ours, theirs)| !same(ours, theirs));
    differs || (known.node.sealed && there.len() > have.len())
}

/// Adds the index records and heads that imported entries need.
fn indexed<T>(mut write: Write<T>, entries: &[Entry], transcript: &MessageId) -> Write<T> {
    let mut heads: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        match entry {
            Entry::Node(node) => write = write.indexed(&node.id, transcript),
            Entry::Alias { id, .. } => write = write.indexed(id, transcript),
            Entry::Head { context, node } => drop(heads.insert(context.clone(), usize::from(node.is_some()))),
            _ => {}
        }
    }
    let id = transcript.as_str().as_bytes();
    for (context, here) in heads {
        if here == 1 {
            write.extra.puts.push((keys::head(&context), id.to_vec()));
        }
    }
    write
}

fn messages_in(entry: &Entry) -> u32 {
    match entry {
        Entry::Node(node) => node.messages.len() as u32,
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

impl ImportReport {
    fn stored(&mut self, id: &MessageId, messages: u32, progress: &mut ImportProgress) {
        self.messages += messages;
        progress.messages += messages;
        if self.transcripts.len() < LISTED {
            self.transcripts.push(id.clone());
        }
    }

    fn note(&mut self, skip: &Skip, salvaged: bool) {
        self.skip(&skip.place, skip.code.as_str(), skip.reason.clone(), salvaged);
    }

    fn skip(&mut self, place: &str, code: &str, reason: String, salvaged: bool) {
        self.skipped_count += 1;
        if self.skipped.len() < LISTED {
            self.skipped.push(Skipped { place: place.to_owned(), reason, code: code.to_owned(), salvaged });
        }
    }
}
