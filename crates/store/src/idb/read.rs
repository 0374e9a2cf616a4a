//! Reading records: one request for a key, two for a range.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{IdbCursorDirection, IdbCursorWithValue, IdbDatabase, IdbKeyRange, IdbObjectStore, IdbRequest};

use super::request::{self, Handlers};
use super::schema::RECORDS;
use super::wait::Signal;
use crate::dom_error::During;
use crate::{Record, Scan, StoreError};

fn thrown(error: JsValue) -> StoreError {
    request::thrown(error, During::Use)
}

fn records(database: &IdbDatabase) -> Result<IdbObjectStore, StoreError> {
    database.transaction_with_str(RECORDS).and_then(|transaction| transaction.object_store(RECORDS)).map_err(thrown)
}

/// The keys from `start` (in) to `end` (out); `None` for a range that holds no key, which the browser refuses to make.
pub(super) fn range(start: &str, end: &str) -> Result<Option<IdbKeyRange>, StoreError> {
    if start >= end {
        return Ok(None);
    }
    let (start, end) = (JsValue::from_str(start), JsValue::from_str(end));
    IdbKeyRange::bound_with_lower_open_and_upper_open(&start, &end, false, true).map(Some).map_err(thrown)
}

pub(super) async fn get(database: &IdbDatabase, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let request = records(database)?.get(&JsValue::from_str(key)).map_err(thrown)?;
    let value = request::done(&request).await?;
    if value.is_undefined() { Ok(None) } else { bytes(key, &value).map(Some) }
}

pub(super) async fn scan(database: &IdbDatabase, scan: &Scan) -> Result<Vec<Record>, StoreError> {
    let Some(range) = range(&scan.start, &scan.end)? else { return Ok(Vec::new()) };
    // The interface counts in 32 bits and takes zero for "all".
    let limit = scan.limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    match limit {
        Some(0) => Ok(Vec::new()),
        Some(limit) if scan.reverse => walk_back(&records(database)?, &range, limit).await,
        limit => {
            let mut found = all(&records(database)?, &range, limit).await?;
            if scan.reverse {
                found.reverse();
            }
            Ok(found)
        }
    }
}

/// The records of `range` in two requests of one transaction, so that keys and values belong together.
async fn all(store: &IdbObjectStore, range: &IdbKeyRange, limit: Option<u32>) -> Result<Vec<Record>, StoreError> {
    let (keys, values) = match limit {
        Some(limit) => {
            (store.get_all_keys_with_key_and_limit(range, limit), store.get_all_with_key_and_limit(range, limit))
        }
        None => (store.get_all_keys_with_key(range), store.get_all_with_key(range)),
    };
    let (keys, values) = (keys.map_err(thrown)?, values.map_err(thrown)?);
    // Requests are answered in their order: the second answer comes when both are there.
    let values = request::done(&values).await;
    let keys: Array = request::result(&keys)?.unchecked_into();
    let values: Array = values?.unchecked_into();
    (0..keys.length()).map(|index| record(&keys.get(index), &values.get(index))).collect()
}

/// The last `limit` records of `range`, from the last one down. There is no request for that in every browser, so a cursor
/// walks: one round trip a record, which is why nobody should ask it for many.
async fn walk_back(store: &IdbObjectStore, range: &IdbKeyRange, limit: u32) -> Result<Vec<Record>, StoreError> {
    let request: IdbRequest =
        store.open_cursor_with_range_and_direction(range, IdbCursorDirection::Prev).map_err(thrown)?;
    let signal: Signal<Result<Vec<Record>, StoreError>> = Signal::new();
    let handlers = Handlers::new(&request, {
        let (request, signal) = (request.clone(), signal.clone());
        let mut found = Vec::new();
        move || {
            // The transaction is only alive inside the event, so each step is taken here and not in a future.
            let step = step_back(&request, &mut found, limit);
            match step {
                Ok(true) => {}
                Ok(false) => drop(signal.set(Ok(std::mem::take(&mut found)))),
                Err(error) => drop(signal.set(Err(error))),
            }
        }
    });
    let found = signal.await;
    drop(handlers);
    found
}

/// Takes the record at which the cursor stands and moves on; whether there is more to come.
fn step_back(request: &IdbRequest, found: &mut Vec<Record>, limit: u32) -> Result<bool, StoreError> {
    let Ok(cursor) = request::result(request)?.dyn_into::<IdbCursorWithValue>() else { return Ok(false) };
    found.push(record(&cursor.key().map_err(thrown)?, &cursor.value().map_err(thrown)?)?);
    if found.len() >= limit as usize {
        return Ok(false);
    }
    cursor.continue_().map_err(thrown)?;
    Ok(true)
}

fn record(key: &JsValue, value: &JsValue) -> Result<Record, StoreError> {
    let key = key
        .as_string()
        .ok_or_else(|| StoreError::Corrupt { key: format!("{key:?}"), why: "the key is not a string".to_owned() })?;
    let value = bytes(&key, value)?;
    Ok((key, value))
}

fn bytes(key: &str, value: &JsValue) -> Result<Vec<u8>, StoreError> {
    let array = value
        .dyn_ref::<Uint8Array>()
        .ok_or_else(|| StoreError::Corrupt { key: key.to_owned(), why: "the value is not bytes".to_owned() })?;
    Ok(array.to_vec())
}
