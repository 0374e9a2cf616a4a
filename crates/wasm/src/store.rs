//! One type for the three places where data can lie, so that the engine is compiled once and not three times.

use serde_json::json;
use threadkeep_store::{
    Commit, MemoryStore, Record, Scan, Store, StoreError, foreign::ForeignStore, idb::Beginning, idb::IdbStore,
};
use wasm_bindgen::JsValue;

use crate::error::own_error;

/// A store whose kind is chosen at run time.
pub(crate) enum AnyStore {
    Memory(MemoryStore),
    Idb(IdbStore),
    Foreign(ForeignStore),
}

/// Passes one call on to whichever store it is.
macro_rules! pass {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Self::Memory($store) => $call,
            Self::Idb($store) => $call,
            Self::Foreign($store) => $call,
        }
    };
}

impl AnyStore {
    /// Opens a place: `memory`, `indexeddb` (the database `name`) or `adapter` (the object `adapter`). The word beside it
    /// says what was there.
    pub(crate) async fn open(kind: &str, name: &str, adapter: JsValue) -> Result<(Self, &'static str), JsValue> {
        let failed = |error: StoreError| {
            let error = threadkeep::KeepError::from(error);
            crate::error::keep_error(&error)
        };
        match kind {
            "memory" => Ok((Self::Memory(MemoryStore::new()), "created")),
            "indexeddb" => {
                let store = IdbStore::open(name).await.map_err(failed)?;
                let beginning = match store.beginning() {
                    Beginning::Existing => "existing",
                    Beginning::Created => "created",
                    Beginning::Wiped(_) => "wiped",
                };
                Ok((Self::Idb(store), beginning))
            }
            "adapter" => Ok((Self::Foreign(ForeignStore::new(adapter).map_err(failed)?), "unknown")),
            _ => {
                Err(own_error("bad-request", format!("there is no storage {kind:?}"), json!({ "argument": "storage" })))
            }
        }
    }
}

impl Store for AnyStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        pass!(self, store => store.get(key).await)
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        pass!(self, store => store.scan(scan).await)
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        pass!(self, store => store.commit(commit).await)
    }

    async fn close(&self) -> Result<(), StoreError> {
        pass!(self, store => store.close().await)
    }
}
