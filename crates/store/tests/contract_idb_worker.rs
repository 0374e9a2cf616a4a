//! The contract on IndexedDB, in a dedicated worker: where the engine runs.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used)] // A test that cannot go on says where.

use threadkeep_store::{IdbStore, contract};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
async fn indexed_db_keeps_the_contract_in_a_worker() {
    const NAME: &str = "contract-worker";
    IdbStore::delete(NAME).await.unwrap();
    let report = contract::run_all(async || IdbStore::open(NAME).await.unwrap()).await;
    report.assert_passed();
    IdbStore::delete(NAME).await.unwrap();
}
