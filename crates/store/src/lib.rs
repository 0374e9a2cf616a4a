//! What Threadkeep asks of a place that keeps bytes: an ordered key-value store with atomic, conditional commits.
//!
//! Goes in: keys (ASCII text, compared byte by byte) and values (bytes). Comes out: the same, in key order. A backend is
//! a page of code: `get`, `scan`, `commit`, `close`. It knows nothing of messages; what the keys mean is `threadkeep`'s.
//! One contract-test suite runs against every backend and is public for those who write their own.

pub mod around;
pub mod contract;
#[cfg(any(feature = "browser", test))]
mod dom_error;
mod escape;
#[cfg(feature = "browser")]
pub mod foreign;
#[cfg(feature = "browser")]
pub mod idb;
pub mod memory;
pub mod scoped;

pub use escape::{escape, unescape};
#[cfg(feature = "browser")]
pub use foreign::ForeignStore;
#[cfg(feature = "browser")]
pub use idb::IdbStore;
pub use memory::MemoryStore;
pub use scoped::{BadScope, Scoped};

/// One record: its key and its value.
pub type Record = (String, Vec<u8>);

/// A range of keys to read: `start` is in, `end` is out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The first key that may be returned.
    pub start: String,
    /// The first key that may no longer be returned.
    pub end: String,
    /// How many records at most; `None` for all. Zero gives none.
    pub limit: Option<usize>,
    /// From the greatest key down instead of from the least up.
    pub reverse: bool,
}

impl Scan {
    /// Every key that begins with `prefix`, ascending. Keys are ASCII, so the range ends before `prefix` + DEL.
    pub fn prefix(prefix: &str) -> Self {
        Self { start: prefix.to_owned(), end: format!("{prefix}\u{7f}"), limit: None, reverse: false }
    }

    /// The range `start..end`, ascending.
    pub fn range(start: impl Into<String>, end: impl Into<String>) -> Self {
        Self { start: start.into(), end: end.into(), limit: None, reverse: false }
    }

    /// The same range, at most `limit` records.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The same range from its end.
    pub fn reversed(self) -> Self {
        Self { reverse: true, ..self }
    }
}

/// When a commit counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When it is on the disk: what a user has been told is saved.
    #[default]
    Strict,
    /// When the platform has taken it: for what can be made again, such as an import in progress.
    Relaxed,
}

/// A set of changes that happen together or not at all. Conditions are checked in the same transaction, first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commit {
    /// Keys that must not exist, or nothing happens and the answer is [`StoreError::Conflict`].
    pub absent: Vec<String>,
    /// Keys that must exist, or nothing happens and the answer is [`StoreError::Conflict`].
    pub present: Vec<String>,
    /// Keys to remove; a key that is not there is no error. Deletes come before puts.
    pub deletes: Vec<String>,
    /// Ranges to remove, `start` in and `end` out.
    pub delete_ranges: Vec<(String, String)>,
    /// Records to write, over what may be there.
    pub puts: Vec<Record>,
    /// When the commit counts as done.
    pub durability: Durability,
}

/// What can go wrong with a store, sorted by what the caller can do about it. Codes are stable ([`StoreError::code`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A condition of the commit did not hold: somebody else wrote first. Read again and retry.
    #[error("another writer was first: the condition on {key:?} does not hold")]
    Conflict {
        /// The key whose condition failed.
        key: String,
    },
    /// Somebody else has the place open. Close it there and try again.
    #[error("{0}")]
    Blocked(String),
    /// The disk or the origin's quota is full. Nothing of the commit was written.
    #[error("the storage quota is used up: free space or export and delete old threads ({0})")]
    Quota(String),
    /// There is no storage here: private browsing, storage switched off, or no such interface.
    #[error("storage is not available here (private browsing, or storage is switched off): {0}")]
    Unavailable(String),
    /// The place was deleted or taken away while it was open.
    #[error("{0}")]
    Gone(String),
    /// The data was written by a newer version of Threadkeep; it was left untouched.
    #[error(
        "the data has schema version {found}, this build reads up to {supported}: update Threadkeep; nothing was changed"
    )]
    NewerVersion {
        /// The schema version that was found.
        found: u32,
        /// The newest that this build reads.
        supported: u32,
    },
    /// Stored bytes that cannot be what was written.
    #[error("the stored record {key:?} is damaged: {why}")]
    Corrupt {
        /// The damaged record's key.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// A storage adapter written in JavaScript that does not do what a storage adapter must.
    #[error("the storage adapter's `{method}` does not keep its promise: {why}")]
    BadAdapter {
        /// The method at fault.
        method: String,
        /// What was expected and what came.
        why: String,
    },
    /// Something that may pass: a dropped connection, an aborted transaction. Trying again may help.
    #[error("the storage failed for the moment, try again: {0}")]
    Transient(String),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// A backend's own failure, in its words.
    #[error("the storage failed: {0}")]
    Other(String),
}

impl StoreError {
    /// A database that another tab holds open in an older version.
    pub fn blocked() -> Self {
        let why =
            "another tab holds the database open in an older version: close the other tabs of this page and try again";
        Self::Blocked(why.to_owned())
    }

    /// A database that was deleted or closed from outside.
    pub fn gone() -> Self {
        Self::Gone("the database was deleted or closed from outside: reopen it".to_owned())
    }

    /// The stable code of this error, as JavaScript sees it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "conflict",
            Self::Blocked(_) => "blocked",
            Self::Quota(_) => "quota",
            Self::Unavailable(_) => "unavailable",
            Self::Gone(_) => "storage-gone",
            Self::NewerVersion { .. } => "newer-version",
            Self::Corrupt { .. } => "corrupt",
            Self::BadAdapter { .. } => "bad-adapter",
            Self::Transient(_) => "transient",
            Self::Closed => "closed",
            Self::Other(_) => "storage",
        }
    }
}

/// An ordered key-value store. Every backend of Threadkeep is one.
///
/// Methods take `&self`: calls may overlap, and each `commit` is atomic and isolated from the others. Futures need not be
/// `Send`, since the browser's are not.
#[allow(async_fn_in_trait)]
pub trait Store {
    /// The value under `key`, or `None`.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// The records of a range, in key order (or reversed), at most `limit` of them, as one consistent reading.
    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError>;

    /// Carries out all of `commit` or nothing of it, in one transaction that checks the conditions first.
    async fn commit(&self, commit: Commit) -> Result<(), StoreError>;

    /// Lets go of the place. Later calls answer [`StoreError::Closed`]. Closing twice is no error.
    async fn close(&self) -> Result<(), StoreError>;
}
