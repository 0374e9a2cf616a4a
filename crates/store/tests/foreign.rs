//! The store behind a JavaScript object: the contract through a well-made one, typed errors from ill-made ones.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used)] // A test that cannot go on says where.

use threadkeep_store::{Commit, ForeignStore, Scan, Store, StoreError, contract};
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen(module = "/tests/adapter.js")]
extern "C" {
    #[wasm_bindgen(js_name = mapAdapter)]
    fn map_adapter(name: &str, asynchronous: bool) -> JsValue;
    #[wasm_bindgen(js_name = adapterOf)]
    fn adapter_of(get: &str, scan: &str, commit: &str, close: &str) -> JsValue;
    fn evaluate(source: &str) -> JsValue;
}

#[wasm_bindgen_test]
async fn an_adapter_with_promises_keeps_the_contract() {
    contract::run_all(async || ForeignStore::new(map_adapter("promises", true)).unwrap()).await.assert_passed();
}

#[wasm_bindgen_test]
async fn an_adapter_without_promises_keeps_the_contract() {
    contract::run_all(async || ForeignStore::new(map_adapter("plain", false)).unwrap()).await.assert_passed();
}

#[wasm_bindgen_test]
fn a_missing_method_is_named() {
    #[track_caller]
    fn check(source: &str, named: &str) {
        match ForeignStore::new(evaluate(source)) {
            Err(StoreError::BadAdapter { method, .. }) => assert_eq!(method, named, "{source}"),
            other => panic!("{source} gave {other:?}"),
        }
    }
    check("{}", "get");
    check("undefined", "get");
    check("null", "get");
    check("'redis://'", "get");
    check("{ get() {} }", "scan");
    check("{ get() {}, scan: 7 }", "scan");
    check("{ get() {}, scan() {}, commit: null }", "commit");
    check("{ get() {}, scan() {}, commit() {} }", "close");
    check("{ get() {}, get scan() { throw new Error('no') } }", "scan");
}

#[wasm_bindgen_test]
async fn rubbish_from_get_is_a_typed_error() {
    for source in
        ["return 'text'", "return [1, 2]", "return {}", "return 7", "return new Uint16Array(4)", "return true"]
    {
        let store = ForeignStore::new(adapter_of(source, "", "", "")).unwrap();
        let error = store.get("key").await.unwrap_err();
        assert!(matches!(&error, StoreError::BadAdapter { method, .. } if method == "get"), "{source}: {error:?}");
        assert_eq!(error.code(), "bad-adapter");
    }
}

#[wasm_bindgen_test]
async fn rubbish_from_scan_is_a_typed_error() {
    let sources = [
        ("return undefined", "expected an array"),
        ("return 'ab'", "expected an array"),
        ("return { length: 2 }", "expected an array"),
        ("return ['b']", "record 0"),
        ("return [null]", "record 0"),
        ("return [[]]", "the key is no string"),
        ("return [[1, new Uint8Array()]]", "the key is no string"),
        ("return [['b', 'text']]", "the value is no Uint8Array"),
        ("return [['b', undefined]]", "the value is no Uint8Array"),
        ("return [['c', new Uint8Array()], ['b', new Uint8Array()]]", "cannot come after"),
        ("return [['b', new Uint8Array()], ['b', new Uint8Array()]]", "cannot come after"),
        ("return [['z', new Uint8Array()]]", "outside the range"),
        ("return [['a', new Uint8Array()]]", "outside the range"),
        ("return ['b', 'c', 'd', 'e'].map((key) => [key, new Uint8Array()])", "limit"),
    ];
    for (source, words) in sources {
        let store = ForeignStore::new(adapter_of("", source, "", "")).unwrap();
        let error = store.scan(&Scan::range("b", "x").limit(3)).await.unwrap_err();
        assert!(matches!(&error, StoreError::BadAdapter { method, .. } if method == "scan"), "{source}: {error:?}");
        assert!(error.to_string().contains(words), "{source}: {error}");
    }
    // The same order is right one way and wrong the other.
    let down = "return [['c', new Uint8Array()], ['b', new Uint8Array()]]";
    let store = ForeignStore::new(adapter_of("", down, "", "")).unwrap();
    assert_eq!(store.scan(&Scan::range("b", "x").reversed()).await.unwrap().len(), 2);
}

#[wasm_bindgen_test]
async fn what_an_adapter_throws_keeps_its_meaning() {
    let cases = [
        ("throw Object.assign(new Error('x'), { code: 'conflict', key: 'k' })", "conflict"),
        ("return Promise.reject({ code: 'conflict', key: 'k' })", "conflict"),
        ("throw { code: 'conflict' }", "bad-adapter"),
        ("throw Object.assign(new Error('full'), { code: 'quota' })", "quota"),
        ("throw { code: 'unavailable' }", "unavailable"),
        ("throw { code: 'blocked' }", "blocked"),
        ("throw { code: 'storage-gone' }", "storage-gone"),
        ("throw { code: 'transient' }", "transient"),
        ("throw { code: 'closed' }", "closed"),
        ("throw { code: 'corrupt', key: 'k', message: 'torn' }", "corrupt"),
        ("throw { code: 'newer-version', found: 9, supported: 1 }", "newer-version"),
        ("throw new TypeError('what')", "storage"),
        ("throw Object.assign(new Error('no route'), { code: 'ECONNREFUSED' })", "storage"),
        ("throw undefined", "storage"),
        ("return Promise.reject(null)", "storage"),
        ("return Promise.reject('words')", "storage"),
        ("throw 7", "storage"),
        ("throw new Proxy({}, { get() { throw 1 } })", "storage"),
    ];
    for (source, code) in cases {
        let store = ForeignStore::new(adapter_of("", "", source, "")).unwrap();
        let error = store.commit(Commit::default()).await.unwrap_err();
        assert_eq!(error.code(), code, "{source}: {error}");
    }
    let store = ForeignStore::new(adapter_of("throw new RangeError('too far')", "", "", "")).unwrap();
    assert_eq!(store.get("k").await, Err(StoreError::Other("RangeError: too far".to_owned())));
}

#[wasm_bindgen_test]
async fn bytes_of_another_realm_are_bytes() {
    let source = "if (!globalThis.realm) { const frame = document.createElement('iframe'); document.body.append(frame); \
                  globalThis.realm = frame.contentWindow; } return new globalThis.realm.Uint8Array([1, 2, 3])";
    let store = ForeignStore::new(adapter_of(source, "", "", "")).unwrap();
    assert_eq!(store.get("k").await, Ok(Some(vec![1, 2, 3])));
}

#[wasm_bindgen_test]
async fn close_is_called_once_and_nothing_after_it() {
    let adapter = map_adapter("closing", true);
    let store = ForeignStore::new(adapter.clone()).unwrap();
    store.close().await.unwrap();
    store.close().await.unwrap();
    assert_eq!(store.get("k").await, Err(StoreError::Closed));
    assert_eq!(js_sys::Reflect::get(&adapter, &"closed".into()).unwrap().as_f64(), Some(1.0));
}
