//! Deletion, which only the user asks for and which is for good: a head with what only it leads to, a branch, a transcript,
//! everything. Deleted entries become holes in the log (their numbers stay used); nothing of their text stays in any table.

use std::collections::HashSet;

use threadkeep_core::sort;
use threadkeep_core::{Entry, MessageId, Transcript, TranscriptId};
use threadkeep_store::{Commit, Record, Scan, Store, StoreError};

use crate::damage::pointed;
use crate::draft::drop_draft;
use crate::log::{Log, contains};
use crate::protocol::Event;
use crate::{Keep, KeepError, keys};

/// Where the branches begin that are to go, in the tree as it is now; `None` if nothing is to go any more.
pub(crate) type Tops<'a> = &'a dyn Fn(&Transcript) -> Option<Vec<MessageId>>;

/// Keys that must be there still; see [`Keep::remove`].
type Only<'a> = Option<&'a [String]>;

/// How often a deletion that lost against another writer is tried again.
const TRIES: u32 = 100;

impl<S: Store> Keep<S> {
    /// Removes a head and the nodes that only it leads to: from its node up to the last fork, other head or reply. What
    /// other branches share stays. Gives the number of removed messages; zero where there is no such head.
    ///
    /// # Errors
    /// `damaged`; the store's.
    pub async fn clear(&self, name: &str) -> Result<u64, KeepError> {
        let _writing = self.writing().await;
        let found = self.at_head(name, |tree, node| Ok((tree.id().clone(), own_branch(tree, name, node))));
        let Some((transcript, own)) = found.await? else { return Ok(0) };
        let tops = |_: &Transcript| Some(own.iter().cloned().collect());
        Ok(self.remove_head(name, &transcript, &tops).await?.unwrap_or_default())
    }

    /// Removes a head and the branches that begin at `tops`, for a caller who holds [`Keep::writing`]. `None`, and nothing is removed, if
    /// `tops` gives none any more.
    pub(crate) async fn remove_head(
        &self,
        name: &str,
        transcript: &TranscriptId,
        tops: Tops<'_>,
    ) -> Result<Option<u64>, KeepError> {
        let removed = self.remove(transcript, tops, Some(name), None).await?;
        if removed.is_some() {
            self.inner.heads.borrow_mut().remove(name);
            self.emit(&Event::Head { name: name.to_owned(), node: None });
        }
        Ok(removed)
    }

    /// Deletes a node and all that follows it; the root takes its transcript along. Heads in there move up to the node's
    /// parent. Gives the number of removed messages.
    ///
    /// # Errors
    /// `missing-node`; `damaged`; the store's.
    pub async fn delete_branch(&self, node: &MessageId) -> Result<u64, KeepError> {
        let _writing = self.writing().await;
        let transcript = self.find_or_fail(node).await?;
        Ok(self.remove(&transcript, &|_| Some(vec![node.clone()]), None, None).await?.unwrap_or_default())
    }

    /// Deletes a transcript with everything that belongs to it. Gives the number of removed messages. A damaged one can be
    /// deleted too.
    ///
    /// # Errors
    /// `missing-transcript`; the store's.
    pub async fn delete_transcript(&self, transcript: &TranscriptId) -> Result<u64, KeepError> {
        let _writing = self.writing().await;
        Ok(self.delete_locked(transcript, &|_| Some(Vec::new()), None).await?.unwrap_or_default())
    }

    /// Deletes a transcript for a caller who holds [`Keep::writing`], as [`Keep::remove`] deletes a branch.
    pub(crate) async fn delete_locked(
        &self,
        transcript: &TranscriptId,
        tops: Tops<'_>,
        only: Only<'_>,
    ) -> Result<Option<u64>, KeepError> {
        for _ in 0..TRIES {
            self.forget(transcript);
            let log = self.load(transcript).await?;
            let log = log.ok_or_else(|| KeepError::MissingTranscript(transcript.clone()))?;
            let tree = &log.tree;
            let Some(begin) = tops(tree) else { return Ok(None) };
            if only.is_some() && begin.first() != tree.root().map(|root| &root.node.id) {
                return Ok(None);
            }
            let mut commit = Commit { present: only.unwrap_or_default().to_vec(), ..Commit::default() };
            if tree.damage().is_empty() && log.lost_record.is_none() {
                commit.absent.push(keys::page(transcript, &log.generation, tree.next_seq()));
                commit.present.push(log.merge_marker());
            } else {
                // Where its log ends nobody knows, and nobody can write to it. What names it is not all in the tree.
                self.drop_pointers(transcript, &mut commit).await?;
            }
            commit.deletes.push(keys::record(transcript));
            commit.deletes.extend(tree.nodes().filter_map(|placed| index_key(&placed.node.id, transcript)));
            commit.deletes.extend(tree.aliases().filter_map(|(id, _)| index_key(id, transcript)));
            for name in tree.heads().keys() {
                // Two tabs that moved it at once may have left it here though it points elsewhere.
                if self.stored_head(name).await?.is_some_and(|at| at != *transcript) {
                    continue;
                }
                commit.deletes.extend([keys::head(name), keys::ASKED.of(None, name), keys::settings_at(name)]);
            }
            commit.deletes.push(keys::settings_of(transcript));
            let tables = [keys::EPISODES, keys::FACTS, keys::ASKED].map(|table| table.within(transcript));
            let own = [keys::all_pages(transcript), Scan::prefix(&keys::requests_of(transcript))];
            let own = own.into_iter().chain(tables);
            commit.delete_ranges.extend(own.map(|scan| (scan.start, scan.end)));
            self.unindex(transcript, &mut commit).await?;
            self.unmail(mailed(tree, &|_| true).into_iter(), &mut commit).await?;
            self.unopen(&|id| tree.get(id).is_some(), &mut commit).await?;
            let gone = tree.nodes().map(|placed| &placed.node.id).collect();
            let forgotten = self.forget_sources(tree, &gone, true, &mut commit).await?;
            match self.inner.store.commit(commit).await {
                Err(StoreError::Conflict { .. }) if only.is_some() => return Ok(None),
                Err(StoreError::Conflict { .. }) => continue,
                done => done?,
            }
            self.inner.heads.borrow_mut().retain(|_, at| at != transcript);
            self.forget(transcript);
            self.emit(&Event::Deleted { transcript: transcript.clone(), nodes: Vec::new() });
            self.remembered(forgotten);
            return Ok(Some(tree.nodes().map(|placed| placed.node.messages.len() as u64).sum()));
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    /// Adds to a commit the deletion of all heads and ids that name `transcript`.
    async fn drop_pointers(&self, transcript: &TranscriptId, commit: &mut Commit) -> Result<(), KeepError> {
        for range in [keys::heads(), keys::indexes()] {
            let named = self.scan_whole(&range).await?.into_iter();
            commit.deletes.extend(named.filter(|(_, to)| pointed(to).as_ref() == Some(transcript)).map(|(key, _)| key));
        }
        Ok(())
    }

    /// Deletes everything.
    ///
    /// # Errors
    /// The store's.
    pub async fn delete_all(&self) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        for _ in 0..TRIES {
            let ranges = keys::ALL.iter().filter(|prefix| **prefix != keys::NUMBERS).map(|prefix| Scan::prefix(prefix));
            let delete_ranges = ranges.map(|scan| (scan.start, scan.end)).collect();
            let mut commit = Commit { delete_ranges, ..Commit::default() };
            self.leave_numbers(&mut commit).await?;
            match self.inner.store.commit(commit).await {
                Err(StoreError::Conflict { .. }) => continue,
                done => done?,
            }
            self.forget_all();
            self.emit(&Event::Cleared);
            return Ok(());
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    /// Deletes the branches that begin at `tops`, and the head `name`, if any, for a caller who holds [`Keep::writing`]. `None`, and nothing
    /// is deleted, where `tops` gives none for the tree as it is now. So it is with `only`, if one of these keys is gone, or if somebody else
    /// writes in this moment.
    pub(crate) async fn remove(
        &self,
        transcript: &TranscriptId,
        tops: Tops<'_>,
        name: Option<&str>,
        only: Only<'_>,
    ) -> Result<Option<u64>, KeepError> {
        for _ in 0..TRIES {
            let log = match self.take(transcript).await? {
                Some(log) => log,
                None if only.is_some() => return Ok(None),
                None => return Err(KeepError::MissingTranscript(transcript.clone())),
            };
            let Some(begin) = tops(&log.tree) else {
                self.put_back(transcript, log).await;
                return Ok(None);
            };
            let doomed: Vec<_> = begin.iter().flat_map(|top| log.tree.subtree(top)).collect();
            let root = doomed.first().is_some_and(|placed| placed.node.parent.is_none());
            if root {
                drop(doomed);
                drop(log);
                return self.delete_locked(transcript, tops, only).await;
            }
            if let Some(what) = log.tree.damage().first() {
                return Err(KeepError::Damaged { transcript: transcript.clone(), what: what.clone() });
            }
            let ids: Vec<MessageId> = doomed.iter().map(|placed| placed.node.id.clone()).collect();
            let messages = doomed.iter().map(|placed| placed.node.messages.len() as u64).sum();
            let parent = doomed.first().and_then(|placed| placed.node.parent.clone());
            let gone = ids.iter().collect();
            let (entries, mut extra) = self.plan_removal(&log, &ids, parent, name).await?;
            extra.present.extend_from_slice(only.unwrap_or_default());
            let forgotten = self.forget_sources(&log.tree, &gone, false, &mut extra).await?;
            self.unindex(transcript, &mut extra).await?;
            // Somebody may have appended since the log was read, perhaps to what is to go; or it was damaged, which loading it says.
            let Some(pages) = self.holed(&log, &gone, &mut extra).await? else { continue };
            let Some(pruned) = log.pruned(&pages, &gone) else { continue };
            let removed = match pruned.append_removal(&self.inner.store, entries, extra).await {
                Err(KeepError::Store(StoreError::Conflict { .. })) if only.is_some() => return Ok(None),
                Err(KeepError::Store(StoreError::Conflict { .. })) => continue,
                done => done?,
            };
            self.put_back(transcript, removed).await;
            self.emit(&Event::Deleted { transcript: transcript.clone(), nodes: ids });
            self.remembered(forgotten);
            return Ok(Some(messages));
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    /// A log's pages with holes for what is `gone`; those that were changed are put by `extra`. `None` where a line that may be about it
    /// cannot be read.
    async fn holed(
        &self,
        log: &Log,
        gone: &HashSet<&MessageId>,
        extra: &mut Commit,
    ) -> Result<Option<Vec<Record>>, KeepError> {
        let names = Names::of(gone);
        let mut pages = self.inner.store.scan(&keys::pages(log.tree.id(), &log.generation, 0)).await?;
        for (key, lines) in &mut pages {
            match with_holes(lines, gone, &names) {
                Ok(None) => {}
                Ok(Some(holes)) => {
                    lines.clone_from(&holes);
                    extra.puts.push((key.clone(), holes));
                }
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(pages))
    }

    /// The entries that say that `doomed` was deleted, and what its commit deletes beside the log: index records, heads.
    async fn plan_removal(
        &self,
        log: &Log,
        doomed: &[MessageId],
        parent: Option<MessageId>,
        name: Option<&str>,
    ) -> Result<(Vec<Entry>, Commit), KeepError> {
        let (tree, transcript) = (&log.tree, log.tree.id());
        let gone: HashSet<&MessageId> = doomed.iter().collect();
        let mut extra = Commit::default();
        extra.deletes.extend(doomed.iter().filter_map(|id| index_key(id, transcript)));
        let aliases = tree.aliases().filter(|(_, node)| gone.contains(node));
        extra.deletes.extend(aliases.filter_map(|(id, _)| index_key(id, transcript)));
        self.unmail(mailed(tree, &|id| gone.contains(id)).into_iter(), &mut extra).await?;
        self.unopen(&|id| gone.contains(id), &mut extra).await?;
        self.unnote(tree, &gone, &mut extra).await?;
        doomed.iter().for_each(|id| drop_draft(log, id, &mut extra));
        for key in self.keys_of(&keys::ASKED.within(transcript)).await? {
            if keys::asked_node(&key).is_some_and(|node| gone.contains(&node)) {
                extra.deletes.push(key);
            }
        }
        let mut entries = vec![Entry::Removed { next_turn: tree.next_turn() }];
        if let Some(name) = name {
            extra.deletes.extend([keys::head(name), keys::ASKED.of(None, name), keys::settings_at(name)]);
            entries.push(Entry::Head { name: name.to_owned(), node: None });
        }
        let moved = tree.heads().iter().filter(|(other, node)| gone.contains(node) && Some(other.as_str()) != name);
        let mut moved: Vec<_> = moved.collect();
        sort::sort(&mut moved);
        entries.extend(moved.into_iter().map(|(name, _)| Entry::Head { name: name.clone(), node: parent.clone() }));
        Ok((entries, extra))
    }
}

/// The ids of messages that may lie in mailboxes, of the nodes that `gone` says: what was received, and what was answered.
fn mailed<'a>(tree: &'a Transcript, gone: &dyn Fn(&MessageId) -> bool) -> Vec<&'a MessageId> {
    let nodes = tree.nodes().map(|placed| &placed.node).filter(|node| node.origin.number.is_some());
    let aliases = tree.aliases().filter(|(_, node)| gone(node)).map(|(id, _)| id);
    nodes.map(|node| &node.id).filter(|id| gone(id)).chain(aliases).collect()
}

/// Where the nodes begin to which only the head `name` at `node` leads; `None` when something follows its node or
/// another head is there.
pub(crate) fn own_branch(tree: &Transcript, name: &str, node: &MessageId) -> Option<MessageId> {
    let others = tree.heads().iter().filter(|(other, _)| *other != name);
    let shared: HashSet<&MessageId> = others.map(|(_, at)| at).collect();
    let mut top = tree.get(node).filter(|placed| placed.is_leaf() && !shared.contains(&placed.node.id))?;
    while let Some(up) = tree.parent(top).filter(|up| up.child_count() == 1 && !shared.contains(&up.node.id)) {
        top = up;
    }
    Some(top.node.id.clone())
}

fn index_key(id: &MessageId, transcript: &TranscriptId) -> Option<String> {
    (!id.is_at_home_in(transcript)).then(|| keys::index(id))
}

/// Finds lines that may speak of some nodes, without reading them.
struct Names(Vec<String>);

impl Names {
    /// With more ids than this, reading each line is quicker.
    const MOST: usize = 16;

    fn of(ids: &HashSet<&MessageId>) -> Self {
        let few = ids.iter().filter(|_| ids.len() <= Self::MOST);
        // As JSON has it in every line that names it.
        Self(few.filter_map(|id| threadkeep_json::to_text(id).ok()).collect())
    }

    fn may_be_in(&self, line: &[u8]) -> bool {
        self.0.is_empty() || self.0.iter().any(|name| contains(line, name))
    }
}

/// A page's lines with the entries of `gone`, whose `names` they have, taken out; `None` where it has none of them. An error where a
/// line that may be one of them cannot be read.
fn with_holes(lines: &[u8], gone: &HashSet<&MessageId>, names: &Names) -> Result<Option<Vec<u8>>, serde_json::Error> {
    if gone.is_empty() || !names.may_be_in(lines) {
        return Ok(None);
    }
    let mut kept = Vec::with_capacity(lines.len());
    let mut changed = false;
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let entry = if names.may_be_in(line) { Some(Entry::parse(line)?) } else { None };
        match entry.and_then(|entry| without(entry, gone)) {
            Some(left) => {
                changed = true;
                let mut line = String::new();
                // An entry without text always serialises; should it not, the hole is an empty line's, not the old text.
                if left.write(&mut line).is_err() {
                    line.clear();
                }
                kept.extend_from_slice(line.as_bytes());
                kept.push(b'\n');
            }
            None => kept.extend_from_slice(line),
        }
    }
    Ok(changed.then_some(kept))
}

/// What is left of an entry that speaks of `gone`; `None` where it does not.
fn without(entry: Entry, gone: &HashSet<&MessageId>) -> Option<Entry> {
    match entry {
        Entry::Node(node) | Entry::Restored(node) if gone.contains(&node.id) => Some(Entry::Gone(1)),
        Entry::Extend { node, .. } | Entry::Seal { node } | Entry::Alias { node, .. } if gone.contains(&node) => {
            Some(Entry::Gone(1))
        }
        Entry::Head { node: Some(node), .. } | Entry::Pin(node) | Entry::Unpin(node) if gone.contains(&node) => {
            Some(Entry::Gone(1))
        }
        // What it covers lies above its anchor, so that nothing of it can go without the anchor.
        Entry::Checkpoint(checkpoint) if gone.contains(&checkpoint.anchor) => Some(Entry::Gone(1)),
        Entry::Info(mut patch) if patch.leaf.as_ref().is_some_and(|leaf| gone.contains(leaf)) => {
            patch.leaf = None;
            Some(Entry::Info(patch))
        }
        _ => None,
    }
}
