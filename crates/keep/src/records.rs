//! Records of somebody else in the same store: what an adapter of a framework keeps beside the conversations, with the same
//! guarantees. The engine never looks into them; [`Keep::delete_all`] removes them too, exports leave them out.

use threadkeep_store::{Commit, Record, Scan, Store, StoreError};

use crate::protocol::BadRequest;
use crate::{Keep, KeepError, keys};

/// How long a key of such a record may be, in bytes.
pub const LONGEST_KEY: usize = 1_000;

impl<S: Store> Keep<S> {
    /// The value under `key` among the records of `name`.
    ///
    /// # Errors
    /// A key that is none; the store's.
    pub async fn record(&self, name: &str, key: &str) -> Result<Option<Vec<u8>>, KeepError> {
        let key = inside(&keys::records_of(name), key)?;
        Ok(self.inner.store.get(&key).await?)
    }

    /// The records of `name` in a range of their keys; an empty `end` is the end of them all.
    ///
    /// # Errors
    /// The store's.
    pub async fn scan_records(&self, name: &str, range: &Scan) -> Result<Vec<Record>, KeepError> {
        let prefix = keys::records_of(name);
        let all = Scan::prefix(&prefix);
        let end = if range.end.is_empty() { all.end } else { [&prefix, range.end.as_str()].concat().min(all.end) };
        let scan = Scan { start: [&prefix, range.start.as_str()].concat(), end, ..range.clone() };
        if scan.start >= scan.end {
            return Ok(Vec::new());
        }
        let mut found = self.inner.store.scan(&scan).await?;
        for (key, _) in &mut found {
            key.drain(..prefix.len());
        }
        Ok(found)
    }

    /// Carries out a commit on the records of `name`: all of it or nothing, conditions first.
    ///
    /// # Errors
    /// A condition that does not hold, a key that is none; the store's.
    ///
    /// ```
    /// # use threadkeep::{Host, Keep, Options};
    /// # use threadkeep_store::{Commit, MemoryStore};
    /// # struct Test;
    /// # impl Host for Test {
    /// #     fn now(&self) -> i64 { 0 }
    /// #     fn random(&self) -> [u8; 32] { [7; 32] }
    /// # }
    /// # pollster::block_on(async {
    /// let keep = Keep::open(MemoryStore::new(), Test, Options::default()).await?;
    /// let commit = Commit { absent: vec!["a".into()], puts: vec![("a".into(), b"1".to_vec())], ..Commit::default() };
    /// keep.commit_records("notes", commit.clone()).await?;
    /// assert_eq!(keep.record("notes", "a").await?, Some(b"1".to_vec()));
    /// assert_eq!(keep.commit_records("notes", commit).await.unwrap_err().code(), "conflict");
    /// # Ok::<(), threadkeep::KeepError>(())
    /// # }).unwrap();
    /// ```
    pub async fn commit_records(&self, name: &str, commit: Commit) -> Result<(), KeepError> {
        let prefix = keys::records_of(name);
        let all = |keys: Vec<String>| keys.iter().map(|key| inside(&prefix, key)).collect::<Result<Vec<_>, _>>();
        let ranges = commit.delete_ranges.iter();
        let ranges = ranges.map(|(start, end)| ([&prefix, start.as_str()].concat(), [&prefix, end.as_str()].concat()));
        let puts = commit.puts.into_iter().map(|(key, value)| Ok((inside(&prefix, &key)?, value)));
        let commit = Commit {
            absent: all(commit.absent)?,
            present: all(commit.present)?,
            deletes: all(commit.deletes)?,
            delete_ranges: ranges.collect(),
            puts: puts.collect::<Result<_, KeepError>>()?,
            durability: commit.durability,
        };
        self.inner.store.commit(commit).await.map_err(|error| match error {
            StoreError::Conflict { key } => {
                StoreError::Conflict { key: key.strip_prefix(&prefix).map_or(key.clone(), str::to_owned) }.into()
            }
            other => other.into(),
        })
    }
}

/// The store's key of a record, if `key` can be one.
fn inside(prefix: &str, key: &str) -> Result<String, KeepError> {
    if key.is_empty() || key.len() > LONGEST_KEY || !key.bytes().all(|byte| (b' '..b'\x7f').contains(&byte)) {
        let why = format!("must be 1 to {LONGEST_KEY} printable ASCII characters, it is {key:?}");
        return Err(KeepError::Argument(BadRequest { argument: "key".to_owned(), why }));
    }
    Ok([prefix, key].concat())
}
