//! The store behind a JavaScript object: SQLite, Redis, Postgres, a file log, whatever its author has.
//!
//! In goes an object with four methods; out comes a [`Store`]. Everything that the object returns is checked, since
//! nobody has checked it before: what cannot be is [`StoreError::BadAdapter`] with the method's name, never a panic. Whether
//! the object keeps the [contract](crate::contract) (above all: whether its commits are atomic) no check of single answers
//! can tell; run the contract against it.
//!
//! # The object
//!
//! Each method may return its result or a promise of it, and may throw or reject. Methods are called on the object, so
//! `this` is the object. Calls may overlap. The package's types are these:
//!
//! ```ts
//! /** A place that keeps Threadkeep's data: an ordered key-value store with atomic, conditional commits. */
//! export interface StoreAdapter {
//!   /** The value under `key`; undefined (or null) when there is none. An empty value is a value. */
//!   get(key: string): MaybePromise<Uint8Array | undefined | null>;
//!   /** The records with start <= key < end, ascending (descending when `reverse`), at most `limit` of them, as one consistent reading. */
//!   scan(range: StoreScan): MaybePromise<Array<[key: string, value: Uint8Array]>>;
//!   /** Carries out all of `commit` or nothing of it, in one transaction that checks the conditions first. */
//!   commit(commit: StoreCommit): MaybePromise<void>;
//!   /** Lets go of the place. It is called once; no other method is called afterwards. */
//!   close(): MaybePromise<void>;
//! }
//!
//! type MaybePromise<T> = T | Promise<T>;
//!
//! export interface StoreScan {
//!   /** The first key that may be returned. */
//!   start: string;
//!   /** The first key that may no longer be returned. When it is not above `start`, there is nothing to return. */
//!   end: string;
//!   /** How many records at most, from the range's beginning, or from its end when `reverse`. Not set: all. Never negative, at most 2 ** 32 - 1. */
//!   limit?: number;
//!   /** From the greatest key down. */
//!   reverse: boolean;
//! }
//!
//! /** The parts happen in this order: conditions, deletes and ranges, puts (the last put of a key wins). */
//! export interface StoreCommit {
//!   /** Keys that must not exist before the commit. */
//!   absent: string[];
//!   /** Keys that must exist before the commit. */
//!   present: string[];
//!   /** Keys to remove; one that is not there is no error. */
//!   deletes: string[];
//!   /** Ranges to remove, the first key in and the second out. */
//!   deleteRanges: Array<[start: string, end: string]>;
//!   /** Records to write, over what may be there. The arrays are the adapter's to keep. */
//!   puts: Array<[key: string, value: Uint8Array]>;
//!   /** "strict": fulfil the promise when the data is on the disk. "relaxed": when the platform has taken it. */
//!   durability: "strict" | "relaxed";
//! }
//!
//! /** What `commit` throws or rejects with when a condition does not hold. Nothing of the commit may have happened then. */
//! export interface StoreConflict {
//!   code: "conflict";
//!   /** The key whose condition failed; any of them, when several did. */
//!   key: string;
//! }
//! ```
//!
//! Keys are ASCII and are compared byte by byte, which for ASCII is what `<` does to strings, `COLLATE "C"` in Postgres,
//! and the default of SQLite. Keys may be empty and as long as 2,000 characters; values may be empty and as large as
//! 8 MB and more.
//!
//! Whatever else a method throws or rejects with becomes an error of the same kind if its `code` is one of ours:
//! `"quota"`, `"unavailable"`, `"blocked"`, `"storage-gone"`, `"transient"`, `"closed"`, `"corrupt"` (with `key`) or
//! `"newer-version"` (with `found` and `supported`); else it becomes [`StoreError::Other`] with its message.

mod answer;
mod plain;

use std::cell::Cell;

use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::{Commit, Record, Scan, Store, StoreError};

pub use answer::thrown;
pub use plain::{commit_from, records, scan_from};

/// A [`Store`] that drives a JavaScript object. See the [module](self) for what the object must do.
#[derive(Debug)]
pub struct ForeignStore {
    adapter: JsValue,
    get: Function,
    scan: Function,
    commit: Function,
    close: Function,
    closed: Cell<bool>,
}

impl ForeignStore {
    /// A store over `adapter`, whose methods are looked up here and now.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadAdapter`] naming the first method that is missing or is no function.
    pub fn new(adapter: JsValue) -> Result<Self, StoreError> {
        if !adapter.is_object() && !adapter.is_function() {
            return Err(bad("get", format!("the storage adapter is no object but {}", answer::kind(&adapter))));
        }
        let method = |name: &str| {
            let found = Reflect::get(&adapter, &JsValue::from_str(name))
                .map_err(|_| bad(name, "looking the method up throws".to_owned()))?;
            found.dyn_into::<Function>().map_err(|found| {
                let what = if found.is_undefined() { "missing".to_owned() } else { answer::kind(&found) };
                bad(name, format!("a storage adapter needs this method, and it is {what}"))
            })
        };
        let (get, scan, commit, close) = (method("get")?, method("scan")?, method("commit")?, method("close")?);
        Ok(Self { adapter, get, scan, commit, close, closed: Cell::new(false) })
    }

    fn check_open(&self) -> Result<(), StoreError> {
        if self.closed.get() { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Calls a method and waits for what it promises, if it does.
    async fn call(&self, method: &Function, arguments: &Array) -> Result<JsValue, StoreError> {
        let returned = method.apply(&self.adapter, arguments).map_err(|error| answer::thrown(&error))?;
        if answer::is_there(&returned) {
            return Ok(returned);
        }
        JsFuture::from(Promise::resolve(&returned)).await.map_err(|error| answer::thrown(&error))
    }
}

impl Store for ForeignStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.check_open()?;
        let value = self.call(&self.get, &Array::of1(&JsValue::from_str(key))).await?;
        answer::value(&value)
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.check_open()?;
        if scan.start >= scan.end || scan.limit == Some(0) {
            return Ok(Vec::new());
        }
        let found = self.call(&self.scan, &Array::of1(&plain::scan(scan))).await?;
        answer::records(&found, scan)
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.check_open()?;
        self.call(&self.commit, &Array::of1(&plain::commit(&commit))).await.map(drop)
    }

    async fn close(&self) -> Result<(), StoreError> {
        if self.closed.replace(true) {
            return Ok(());
        }
        self.call(&self.close, &Array::new()).await.map(drop)
    }
}

fn bad(method: &str, why: String) -> StoreError {
    StoreError::BadAdapter { method: method.to_owned(), why }
}
