//! The shape of the database and the way to it from every earlier one.
//!
//! In goes an upgrade transaction with an old and a new version; out comes the database in the new shape. Only the shape
//! of the database is decided here; what keys and values mean has a version of its own, with those who write them.

use std::fmt;

use indexed_db_futures::Build;
use indexed_db_futures::database::Database;

/// The object store with all records.
pub(super) const RECORDS: &str = "records";
/// The object store of what concerns the database itself, so that no scan of the records can meet it.
pub(super) const META: &str = "meta";
/// The key in [`META`] of the mark that tells this database from a later one of the same name.
pub(super) const MARK: &str = "mark";

/// A version and how to get there.
#[derive(Clone, Copy)]
pub(super) struct Schema {
    pub(super) version: u32,
    /// Brings the database from one version to the next; called once a step.
    pub(super) step: fn(&Database, old: u32, new: u32) -> indexed_db_futures::Result<()>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.version)
    }
}

/// What this build reads and writes.
pub(super) const CURRENT: Schema = Schema { version: 1, step };

/// One step of the migration. A new version adds an arm and leaves the others as they are, so that a database of any age
/// walks the same way.
pub(super) fn step(database: &Database, old: u32, new: u32) -> indexed_db_futures::Result<()> {
    match (old, new) {
        (0, 1) => {
            database.create_object_store(RECORDS).build()?;
            database.create_object_store(META).build()?;
            Ok(())
        }
        _ => Err(js_sys::Error::new(&format!("there is no migration from version {old} to {new}")).into()),
    }
}
