//! The bin: what its reader deleted and may want back. A thread is exported into records beside the conversations and then deleted for
//! good, so prompts, searches and the memory know nothing of it. Restoring is the import of that export.

use serde::{Deserialize, Serialize};
use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_store::{Commit, Scan, Store};

use crate::host::Source;
use crate::json::{from_json, to_json};
use crate::protocol::BadRequest;
use crate::{Keep, KeepError};

/// The name of the bin's [records](Keep::record). `i/<id>` says what an entry is, `p/<id>/<number>` are the pieces of its export. An id begins
/// with the time of the deletion, so entries lie in the order of their age.
const NAME: &str = "bin";

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
        if let Some(node) = node
            && self.find(node).await?.is_none()
        {
            return Ok(None);
        }
        let title = self.glance(transcript, |log| Ok(log.tree.info().title)).await?;
        let at = self.now().max(0);
        let id = format!("{at:015}-{:016x}", self.random());
        let bytes = match self.put_pieces(&id, transcript).await {
            Ok(bytes) => bytes,
            Err(error) => {
                // Best before the error: a full store can always delete.
                drop(self.drop_pieces(&id).await);
                return Err(error);
            }
        };
        let mut binned =
            Binned { id, transcript: transcript.clone(), node: node.cloned(), title, messages: 0, at, bytes };
        // Before the deletion: what is deleted is in the bin, whatever happens between them.
        self.put_binned(&binned).await?;
        let deleted = match node {
            Some(node) => self.delete_branch(node).await,
            None => self.delete_transcript(transcript).await,
        };
        match deleted {
            Ok(messages) => {
                binned.messages = messages;
                self.put_binned(&binned).await?;
                Ok(Some(binned))
            }
            Err(error) => {
                drop(self.drop_binned(&binned.id).await);
                Err(error)
            }
        }
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
        let ranges = ['i', 'p'].map(|kind| (format!("{kind}/"), key(kind, &end)));
        self.commit_records(NAME, Commit { delete_ranges: ranges.to_vec(), ..Commit::default() }).await
    }

    async fn put_binned(&self, binned: &Binned) -> Result<(), KeepError> {
        let puts = vec![(key('i', &binned.id), to_json(binned)?)];
        self.commit_records(NAME, Commit { puts, ..Commit::default() }).await
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
        Ok(piece.get(inside..).unwrap_or_default().iter().take(len).copied().collect())
    }
}
