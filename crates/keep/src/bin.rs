//! The bin: deleted threads and branches that can come back. A thread is exported into records beside the conversations and then deleted
//! for good, so prompts, searches and the memory know nothing of it. [`Keep::undelete`] imports that export.

use serde::{Deserialize, Serialize};
use threadkeep_core::{MessageId, Transcript, TranscriptId};
use threadkeep_store::{Commit, Scan, Store, StoreError};

use crate::host::Source;
use crate::json::{from_json, to_json};
use crate::protocol::BadRequest;
use crate::{Keep, KeepError};

/// The name of the bin's [records](Keep::record). `i/<id>` says what an entry is, `p/<id>/<number>` are the pieces of its export. An id begins
/// with the time of the deletion, so entries lie in the order of their age.
const NAME: &str = "bin";

/// How often a deletion that lost against another writer is tried again.
const TRIES: u32 = 10;

/// The length of each piece but the last, in bytes.
const PIECE: usize = 512 << 10;

/// Something in the bin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binned {
    /// Its id in the bin.
    pub id: String,
    /// The thread it was, or was in.
    pub transcript: TranscriptId,
    /// Where the deleted branch began; `None` where the whole thread was deleted.
    pub node: Option<MessageId>,
    /// The title of the thread.
    pub title: String,
    /// How many messages were deleted.
    pub messages: u64,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The length of its export in bytes.
    pub bytes: u64,
}

impl<S: Store> Keep<S> {
    /// Deletes a transcript, or from `node` on, and keeps it in the bin. `None`, and nothing is deleted, where there is no such node
    /// any more.
    ///
    /// A message that still waits for its answer waits no more after it was restored, and heads that were moved up stay there.
    ///
    /// # Errors
    /// `missing-transcript`; `damaged`; the store's, as when there is no room for the bin. Nothing was deleted then.
    pub async fn bin(&self, transcript: &TranscriptId, node: Option<&MessageId>) -> Result<Option<Binned>, KeepError> {
        let _writing = self.writing().await;
        let at = self.now().max(0);
        let id = format!("{at:015}-{:016x}", self.random());
        for _ in 0..TRIES {
            let seen = self.glance(transcript, |log| Ok(seen(&log.tree, node))).await?;
            let Some((next_seq, title, messages)) = seen else { return Ok(None) };
            let mut binned = Binned {
                id: id.clone(),
                transcript: transcript.clone(),
                node: node.cloned(),
                title,
                messages,
                at,
                bytes: 0,
            };
            match self.move_to_bin(&mut binned, next_seq).await {
                Ok(true) => return Ok(Some(binned)),
                // Another tab has written meanwhile, and the copy may lack that.
                Ok(false) => self.drop_binned(&id).await?,
                Err(error) => {
                    // Best before the error: a full store can always delete.
                    drop(self.drop_binned(&id).await);
                    return Err(error);
                }
            }
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    /// Copies into the bin, and deletes if nothing was written since `next_seq`; `false`, and nothing is deleted, if something was. What is
    /// deleted is in the bin, whatever happens between the two.
    async fn move_to_bin(&self, binned: &mut Binned, next_seq: u64) -> Result<bool, KeepError> {
        binned.bytes = self.put_pieces(&binned.id, &binned.transcript).await?;
        let puts = vec![(key('i', &binned.id), to_json(binned)?)];
        self.commit_records(NAME, Commit { puts, ..Commit::default() }).await?;
        let as_seen = |tree: &Transcript| tree.next_seq() == next_seq;
        let removed = match &binned.node {
            Some(node) => {
                let tops = |tree: &Transcript| as_seen(tree).then(|| vec![node.clone()]);
                self.remove(&binned.transcript, &tops, None, None).await?
            }
            None => {
                let tops = |tree: &Transcript| as_seen(tree).then(Vec::new);
                self.delete_locked(&binned.transcript, &tops, None).await?
            }
        };
        Ok(removed.is_some())
    }

    /// What is in the bin, the newest first. An entry that cannot be read is left out.
    ///
    /// # Errors
    /// The store's.
    pub async fn binned(&self) -> Result<Vec<Binned>, KeepError> {
        let found = self.scan_records(NAME, &Scan::prefix("i/").reversed()).await?;
        Ok(found.iter().filter_map(|(_, value)| from_json(value).ok()).collect())
    }

    /// Puts something from the bin back where it was, and takes it out of the bin.
    ///
    /// # Errors
    /// An `id` that is not in the bin; the store's.
    pub async fn undelete(&self, id: &str) -> Result<Binned, KeepError> {
        let missing = || BadRequest { argument: "id".to_owned(), why: "is not in the bin (any more)".to_owned() };
        let info = self.record(NAME, &key('i', id)).await?;
        let binned: Binned = info.and_then(|info| from_json(&info).ok()).ok_or_else(missing)?;
        let pieces = Pieces { keep: self, id, size: binned.bytes };
        self.import_own(pieces).await?;
        self.drop_binned(id).await?;
        Ok(binned)
    }

    /// Takes one entry out of the bin for good.
    ///
    /// # Errors
    /// The store's.
    pub async fn drop_binned(&self, id: &str) -> Result<(), KeepError> {
        let commit = Commit { deletes: vec![key('i', id)], ..Commit::default() };
        self.commit_records(NAME, commit).await?;
        self.drop_pieces(id).await
    }

    /// Takes out of the bin for good what was deleted before `until`, in milliseconds since 1970.
    ///
    /// # Errors
    /// The store's.
    pub async fn empty_bin(&self, until: i64) -> Result<(), KeepError> {
        let end = format!("{:015}", until.max(0));
        let old = Scan { end: key('i', &end), ..Scan::prefix("i/").limit(1) };
        // Mostly there is nothing, and a look is quicker than a commit.
        if self.scan_records(NAME, &old).await?.is_empty() {
            return Ok(());
        }
        let ranges = ['i', 'p'].map(|kind| (format!("{kind}/"), key(kind, &end)));
        self.commit_records(NAME, Commit { delete_ranges: ranges.to_vec(), ..Commit::default() }).await
    }

    /// Writes the export of a transcript; gives its length.
    async fn put_pieces(&self, id: &str, transcript: &TranscriptId) -> Result<u64, KeepError> {
        let mut export = Vec::new();
        self.export(Some(transcript), |text| export.extend_from_slice(text.as_bytes())).await?;
        for (number, piece) in export.chunks(PIECE).enumerate() {
            let puts = vec![(piece_key(id, number as u64), piece.to_vec())];
            self.commit_records(NAME, Commit { puts, ..Commit::default() }).await?;
        }
        Ok(export.len() as u64)
    }

    async fn drop_pieces(&self, id: &str) -> Result<(), KeepError> {
        let all = Scan::prefix(&format!("{}/", key('p', id)));
        self.commit_records(NAME, Commit { delete_ranges: vec![(all.start, all.end)], ..Commit::default() }).await
    }
}

/// Where a log ends, its title, and how many messages a deletion takes away; `None` where `node` is not there.
fn seen(tree: &Transcript, node: Option<&MessageId>) -> Option<(u64, String, u64)> {
    let gone = match node {
        Some(node) => tree.subtree(node),
        None => tree.nodes().collect(),
    };
    let messages = gone.iter().map(|placed| placed.node.messages.len() as u64).sum();
    (node.is_none() || !gone.is_empty()).then(|| (tree.next_seq(), tree.info().title, messages))
}

fn key(kind: char, id: &str) -> String {
    format!("{kind}/{id}")
}

fn piece_key(id: &str, number: u64) -> String {
    format!("{}/{number:08}", key('p', id))
}

/// An export in the bin, read piece by piece.
struct Pieces<'k, S: Store> {
    keep: &'k Keep<S>,
    id: &'k str,
    size: u64,
}

impl<S: Store> Source for Pieces<'_, S> {
    fn name(&self) -> &str {
        self.id
    }

    fn size(&self) -> u64 {
        self.size
    }

    async fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, String> {
        let (number, inside) = (offset / PIECE as u64, (offset % PIECE as u64) as usize);
        let piece = self.keep.record(NAME, &piece_key(self.id, number)).await.map_err(|error| error.to_string())?;
        let piece = piece.ok_or_else(|| "a piece of it is missing".to_owned())?;
        let rest = piece.get(inside..).unwrap_or_default();
        Ok(rest[..rest.len().min(len)].to_vec())
    }
}
