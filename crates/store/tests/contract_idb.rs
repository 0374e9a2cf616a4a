//! The contract on IndexedDB, in a real browser.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used)] // A test that cannot go on says where.

use threadkeep_store::{IdbStore, contract};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
async fn indexed_db_keeps_the_contract_in_a_page() {
    const NAME: &str = "contract";
    IdbStore::delete(NAME).await.unwrap();
    let report = contract::run_all(async || IdbStore::open(NAME).await.unwrap()).await;
    report.assert_passed();
    IdbStore::delete(NAME).await.unwrap();
}
