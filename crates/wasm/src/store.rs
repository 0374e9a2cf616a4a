//! One type for the places where data can lie, so that the engine is compiled once and not three times, and the scope in it.

use serde_json::json;
use threadkeep_store::{
    Commit, MemoryStore, Record, Scan, Scoped, Store, StoreError, foreign::ForeignStore, idb::Beginning, idb::IdbStore,
    scoped,
};
use wasm_bindgen::JsValue;

use crate::error::{keep_error, own_error};

/// A store whose kind is chosen at run time, or a scope of one.
pub(crate) type AnyStore = Scoped<Place>;

/// A whole store, whose kind is chosen at run time.
pub(crate) enum Place {
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

/// Opens a place as [`Place::open`] does, or the scope of it that is named. The word beside it says what was there.
pub(crate) async fn open(
    kind: &str,
    name: &str,
    adapter: JsValue,
    scope: Option<&str>,
) -> Result<(AnyStore, &'static str), JsValue> {
    let (place, wiped) = Place::open(kind, name, adapter).await?;
    let store = match scope {
        None => Scoped::whole(place),
        Some(scope) => Scoped::new(place, scope)
            .map_err(|error| own_error("bad-request", error.to_string(), json!({ "argument": "options.scope" })))?,
    };
    let beginning = if wiped { "wiped" } else { found(&store, scope.is_some()).await };
    Ok((store, beginning))
}

/// What there is: `existing` data, none (`created`), or `unknown` where that cannot be read. A place that was made and never written to
/// has none. What scopes have is not counted where none is named.
async fn found(store: &AnyStore, in_scope: bool) -> &'static str {
    let all = Scan::prefix("").limit(1);
    let own = if in_scope { all } else { Scan { start: scoped::BEHIND_ALL.to_owned(), ..all } };
    match store.scan(&own).await {
        Ok(first) if first.is_empty() => "created",
        Ok(_) | Err(StoreError::Corrupt { .. }) => "existing",
        Err(_) => "unknown",
    }
}

/// A store's error as JSON text.
pub(crate) fn failed(error: StoreError) -> JsValue {
    keep_error(&threadkeep::KeepError::from(error))
}

impl Place {
    /// Opens a place: `memory`, `indexeddb` (the database `name`) or `adapter` (the object `adapter`). The second says whether the
    /// browser had wiped it.
    pub(crate) async fn open(kind: &str, name: &str, adapter: JsValue) -> Result<(Self, bool), JsValue> {
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

impl Store for Place {
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
