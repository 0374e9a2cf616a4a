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
        let (store, wiped) = Self::opened(kind, name, adapter).await?;
        let beginning = if wiped { "wiped" } else { store.found().await };
        Ok((store, beginning))
    }

    /// What there is: `existing` data, none (`created`), or `unknown` where that cannot be read. A place that was made and never written to
    /// has none.
    async fn found(&self) -> &'static str {
        match self.scan(&Scan::prefix("").limit(1)).await {
            Ok(first) if first.is_empty() => "created",
            Ok(_) | Err(StoreError::Corrupt { .. }) => "existing",
            Err(_) => "unknown",
        }
    }

    /// The store, and whether the browser had wiped it.
    async fn opened(kind: &str, name: &str, adapter: JsValue) -> Result<(Self, bool), JsValue> {
        let failed = |error: StoreError| {
            let error = threadkeep::KeepError::from(error);
            crate::error::keep_error(&error)
        };
        match kind {
            "memory" => Ok((Self::Memory(MemoryStore::new()), false)),
            "indexeddb" => {
                let store = IdbStore::open(name).await.map_err(failed)?;
                let wiped = matches!(store.beginning(), Beginning::Wiped(_));
                Ok((Self::Idb(store), wiped))
            }
            "adapter" => Ok((Self::Foreign(ForeignStore::new(adapter).map_err(failed)?), false)),
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
