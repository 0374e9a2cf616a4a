//! The contract suite of stores, for adapters written in JavaScript. It lies in a part of the module of its own: only tests load it.

use js_sys::{Function, Promise};
use serde_json::json;
use threadkeep::KeepError;
use threadkeep_parts::part;
use threadkeep_store::contract::{self, Failure};
use threadkeep_store::{ForeignStore, Store, StoreError, foreign};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::error::{json as to_json, keep_error, part_missing};
use crate::executor::{Answer, promise};

/// Runs the suite against the adapters that `open` gives, or promises: each call a new handle onto the same place.
/// → JSON text of `{passed, failures: [{behaviour, message}]}`
#[wasm_bindgen(js_name = checkStore)]
pub fn check_store(open: Function) -> Promise {
    promise(async move { run(open).await.map_err(|_| part_missing("contract"))?.await })
}

part! {
    /// The suite.
    contract: fn run(open: Function) -> Answer {
        Box::pin(async move {
            // A place that cannot be opened at all is one error, not as many as there are behaviours.
            let failed = |error| keep_error(&KeepError::from(error));
            opened(&open).await.map_err(failed)?.close().await.map_err(failed)?;
            let report = contract::try_run_all(async || opened(&open).await).await;
            let failure = |Failure { behaviour, message }: &Failure| json!({ "behaviour": behaviour, "message": message });
            let failures: Vec<_> = report.failures.iter().map(failure).collect();
            to_json(&json!({ "passed": report.passed, "failures": failures }))
        })
    }
}

/// One more handle.
async fn opened(open: &Function) -> Result<ForeignStore, StoreError> {
    let given = open.call0(&JsValue::UNDEFINED).map_err(|error| foreign::thrown(&error))?;
    let adapter = JsFuture::from(Promise::resolve(&given)).await.map_err(|error| foreign::thrown(&error))?;
    ForeignStore::new(adapter)
}
