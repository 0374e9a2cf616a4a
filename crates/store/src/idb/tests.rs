//! What can happen to a database while it is open, provoked in a real browser.
//!
//! The other tab is played by a raw connection, which does nothing by itself, or by a second [`IdbStore`]. What no page can
//! provoke (a full disk, a browser that drops a connection) is played by putting another function in the place of one of
//! the browser's, for the length of the test; so these tests run one after the other.

use std::rc::Rc;

use indexed_db_futures::Build;
use indexed_db_futures::database::Database;
use indexed_db_futures::internals::SystemRepr;
use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::IdbDatabase;

use super::schema::{self, Schema};
use super::{Beginning, IdbOptions, IdbStore, fresh_log, wait};
use crate::{Commit, Durability, Scan, Store, StoreError, contract};

wasm_bindgen_test_configure!(run_in_browser);

/// Short waits: what is blocked here stays blocked until the test lets go.
const IMPATIENT: IdbOptions = IdbOptions { blocked_wait_ms: 80, open_wait_ms: 400 };

/// The schema of a build from the future, which adds an object store.
const NEXT: Schema = Schema {
    version: 2,
    step: |database, old, new| match (old, new) {
        (1, 2) => database.create_object_store("later").build().map(drop),
        _ => schema::step(database, old, new),
    },
};

/// No database of that name, and nothing under way in the background that could meet what a test puts in the browser's
/// place.
async fn clear(name: &str) {
    IdbStore::delete(name).await.unwrap();
    fresh_log::ready().await;
}

async fn fresh(name: &str) -> IdbStore {
    clear(name).await;
    IdbStore::open_with(name, IMPATIENT).await.unwrap()
}

fn put(key: &str, value: &[u8]) -> Commit {
    Commit { puts: vec![(key.to_owned(), value.to_vec())], ..Commit::default() }
}

/// A connection that closes for nobody, like a tab of a build that does not know better.
async fn stubborn(name: &str) -> IdbDatabase {
    let database = Database::open(name).build().unwrap().await.unwrap();
    SystemRepr::into_sys(database).into()
}

/// Puts another function in the place of one of the browser's until it is dropped.
struct Instead {
    holder: JsValue,
    name: &'static str,
    original: JsValue,
}

impl Instead {
    /// `body` is the source of a function body that may call `original` and reads its arguments from `args`.
    fn of(path: &[&str], name: &'static str, body: &str) -> Self {
        let mut holder: JsValue = js_sys::global().into();
        for step in path {
            holder = Reflect::get(&holder, &JsValue::from_str(step)).unwrap();
        }
        let original = Reflect::get(&holder, &JsValue::from_str(name)).unwrap();
        let maker = Function::new_with_args("original", &format!("return function (...args) {{ {body} }}"));
        let substitute = maker.call1(&JsValue::NULL, &original).unwrap();
        Reflect::set(&holder, &JsValue::from_str(name), &substitute).unwrap();
        Self { holder, name, original }
    }
}

impl Drop for Instead {
    fn drop(&mut self) {
        let _ = Reflect::set(&self.holder, &JsValue::from_str(self.name), &self.original);
    }
}

fn run(source: &str) -> JsValue {
    Function::new_no_args(source).call0(&JsValue::NULL).unwrap()
}

#[wasm_bindgen_test]
async fn opening_tells_a_new_database_from_an_old_one() {
    let store = fresh("beginning").await;
    assert_eq!(store.beginning(), &Beginning::Created);
    store.commit(put("a", b"1")).await.unwrap();
    store.close().await.unwrap();
    let again = IdbStore::open("beginning").await.unwrap();
    assert_eq!(again.beginning(), &Beginning::Existing);
    assert_eq!(again.get("a").await, Ok(Some(b"1".to_vec())));
}

#[wasm_bindgen_test]
async fn a_wiped_database_is_noticed() {
    clear("wiped").await;
    // Chromium says so in the upgrade event when it has thrown a damaged database away.
    let say = "const request = original.apply(this, args); \
               request.addEventListener('upgradeneeded', (event) => { \
                 Object.defineProperty(event, 'dataLoss', { value: 'total' }); \
                 Object.defineProperty(event, 'dataLossMessage', { value: 'corruption' }); }); \
               return request;";
    let instead = Instead::of(&["IDBFactory", "prototype"], "open", say);
    let store = IdbStore::open("wiped").await.unwrap();
    drop(instead);
    assert_eq!(store.beginning(), &Beginning::Wiped("total: corruption".to_owned()));
}

#[wasm_bindgen_test]
async fn an_opening_that_fails_once_is_tried_again() {
    clear("retried").await;
    // An aborted upgrade is the failure that a page can bring about.
    let fail_once = "const request = original.apply(this, args); \
                     if ((globalThis.tries = (globalThis.tries ?? 0) + 1) === 1) \
                       request.addEventListener('upgradeneeded', (event) => { event.stopImmediatePropagation(); \
                       request.transaction.abort(); }, true); \
                     return request;";
    let instead = Instead::of(&["IDBFactory", "prototype"], "open", fail_once);
    let store = IdbStore::open("retried").await.unwrap();
    drop(instead);
    assert_eq!(run("return globalThis.tries").as_f64(), Some(2.0));
    assert_eq!(store.beginning(), &Beginning::Created);
}

#[wasm_bindgen_test]
async fn an_older_database_is_upgraded_with_its_data() {
    let old = fresh("upgrade").await;
    old.commit(put("a", b"1")).await.unwrap();
    old.close().await.unwrap();
    let new = IdbStore::open_schema("upgrade", IMPATIENT, NEXT).await.unwrap();
    assert_eq!(new.beginning(), &Beginning::Existing);
    assert_eq!(new.get("a").await, Ok(Some(b"1".to_vec())));
    new.close().await.unwrap();
    let raw = stubborn("upgrade").await;
    assert_eq!((raw.version(), raw.object_store_names().length()), (2.0, 3));
    raw.close();
}

#[wasm_bindgen_test]
async fn a_new_database_walks_through_every_version() {
    IdbStore::delete("walk").await.unwrap();
    let store = IdbStore::open_schema("walk", IMPATIENT, NEXT).await.unwrap();
    assert_eq!(store.beginning(), &Beginning::Created);
    store.commit(put("a", b"1")).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_failing_migration_changes_nothing() {
    let old = fresh("failing").await;
    old.commit(put("a", b"1")).await.unwrap();
    old.close().await.unwrap();
    const NOWHERE: Schema = Schema { version: 3, ..NEXT };
    // The step from 1 to 2 is made and taken back with the one from 2 to 3, which there is not.
    let _quiet = Instead::of(&[], "onerror", "return true");
    let error = IdbStore::open_schema("failing", IMPATIENT, NOWHERE).await.unwrap_err();
    assert!(error.to_string().contains("no migration from version 2 to 3"), "{error}");
    let store = IdbStore::open("failing").await.unwrap();
    assert_eq!(store.get("a").await, Ok(Some(b"1".to_vec())));
}

#[wasm_bindgen_test]
async fn newer_data_is_refused_and_left_alone() {
    IdbStore::delete("newer").await.unwrap();
    let new = IdbStore::open_schema("newer", IMPATIENT, NEXT).await.unwrap();
    new.commit(put("a", b"1")).await.unwrap();
    let refused = IdbStore::open("newer").await.unwrap_err();
    assert_eq!(refused, StoreError::NewerVersion { found: 2, supported: 1 });
    // The newer build was not disturbed: its connection still works.
    assert_eq!(new.get("a").await, Ok(Some(b"1".to_vec())));
    new.close().await.unwrap();
    assert_eq!(IdbStore::open("newer").await.unwrap_err(), StoreError::NewerVersion { found: 2, supported: 1 });
}

#[wasm_bindgen_test]
async fn a_database_of_somebody_else_is_refused_and_left_alone() {
    IdbStore::delete("foreign").await.unwrap();
    let theirs = Database::open("foreign")
        .with_version(1u8)
        .with_on_upgrade_needed(|_, transaction| transaction.db().create_object_store("theirs").build().map(drop))
        .build()
        .unwrap();
    theirs.await.unwrap().close();
    let error = IdbStore::open("foreign").await.unwrap_err();
    assert!(matches!(&error, StoreError::Other(words) if words.contains("not one of Threadkeep's")), "{error:?}");
    let raw = stubborn("foreign").await;
    assert!(raw.object_store_names().contains("theirs"));
    raw.close();
}

#[wasm_bindgen_test]
async fn an_upgrade_waits_for_no_handle_of_ours() {
    let old = fresh("versionchange").await;
    old.commit(put("a", b"1")).await.unwrap();
    // A stubborn holder would block this; ours lets go within the event.
    let new = IdbStore::open_schema("versionchange", IMPATIENT, NEXT).await.unwrap();
    assert_eq!(new.get("a").await, Ok(Some(b"1".to_vec())));
    let refused = StoreError::NewerVersion { found: 2, supported: 1 };
    assert_eq!(old.get("a").await, Err(refused.clone()));
    assert_eq!(old.commit(put("a", b"old")).await, Err(refused));
    assert_eq!(new.get("a").await, Ok(Some(b"1".to_vec())));
}

#[wasm_bindgen_test]
async fn commits_under_way_are_finished_before_an_upgrade() {
    let old = fresh("under-way").await;
    let old = Rc::new(old);
    let results = Rc::new(std::cell::RefCell::new(Vec::new()));
    for number in 0..20u8 {
        let (old, results) = (Rc::clone(&old), Rc::clone(&results));
        spawn_local(async move {
            let result = old.commit(put(&format!("{number:02}"), &[number])).await;
            results.borrow_mut().push((number, result));
        });
    }
    wait::sleep(1).await;
    let new = IdbStore::open_schema("under-way", IMPATIENT, NEXT).await.unwrap();
    while results.borrow().len() < 20 {
        wait::sleep(5).await;
    }
    for (number, result) in results.take() {
        let found = new.get(&format!("{number:02}")).await.unwrap();
        assert_eq!(found.is_some(), result.is_ok(), "{number} was answered with {result:?}");
    }
}

#[wasm_bindgen_test]
async fn a_blocked_upgrade_is_answered_in_time_and_does_no_harm() {
    let old = fresh("blocked").await;
    old.commit(put("a", b"1")).await.unwrap();
    old.close().await.unwrap();
    let holder = stubborn("blocked").await;
    let refused = IdbStore::open_schema("blocked", IMPATIENT, NEXT).await.unwrap_err();
    assert_eq!(refused, StoreError::blocked());
    // When the holder lets go at last, the browser opens what nobody waits for any more. If that were left open, it
    // would block the deletion.
    holder.close();
    wait::sleep(200).await;
    let new = IdbStore::open_schema("blocked", IMPATIENT, NEXT).await.unwrap();
    assert_eq!(new.get("a").await, Ok(Some(b"1".to_vec())));
    new.close().await.unwrap();
    IdbStore::delete("blocked").await.unwrap();
}

#[wasm_bindgen_test]
async fn an_upgrade_that_is_held_up_for_a_moment_goes_through() {
    let old = fresh("patience").await;
    old.close().await.unwrap();
    let holder = stubborn("patience").await;
    spawn_local(async move {
        wait::sleep(60).await;
        holder.close();
    });
    let patient = IdbOptions { blocked_wait_ms: 10_000, ..IdbOptions::default() };
    IdbStore::open_schema("patience", patient, NEXT).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_deletion_that_is_held_up_is_answered_in_time() {
    let store = fresh("held").await;
    store.close().await.unwrap();
    let holder = stubborn("held").await;
    assert_eq!(super::connection::delete("held", IMPATIENT).await, Err(StoreError::blocked()));
    // The deletion is pending now: the browser lets nobody open the database and says nothing.
    let error = IdbStore::open_with("held", IMPATIENT).await.unwrap_err();
    assert_eq!(error.code(), "transient", "{error}");
    holder.close();
    let store = IdbStore::open("held").await.unwrap();
    assert_eq!(store.scan(&Scan::range("", "~")).await, Ok(Vec::new()));
}

#[wasm_bindgen_test]
async fn a_database_deleted_underfoot_is_gone_and_stays_gone() {
    let store = fresh("deleted").await;
    store.commit(put("a", b"1")).await.unwrap();
    IdbStore::delete("deleted").await.unwrap();
    assert_eq!(store.get("a").await, Err(StoreError::gone()));
    assert_eq!(store.commit(put("a", b"2")).await, Err(StoreError::gone()));
    let next = IdbStore::open("deleted").await.unwrap();
    assert_eq!(next.beginning(), &Beginning::Created);
    next.commit(put("b", b"1")).await.unwrap();
    // What the old handle was told is lost does not come back as somebody else's empty database.
    assert_eq!(store.get("b").await, Err(StoreError::gone()));
    store.close().await.unwrap();
    assert_eq!(store.get("b").await, Err(StoreError::Closed));
}

#[wasm_bindgen_test]
async fn a_database_that_vanishes_without_a_word_is_gone() {
    let store = fresh("vanished").await;
    store.commit(put("a", b"1")).await.unwrap();
    let State { connection } = drop_connection(&store);
    drop(connection);
    IdbStore::delete("vanished").await.unwrap();
    assert_eq!(store.get("a").await, Err(StoreError::gone()));
    // And nothing was made in its place.
    let names =
        JsFuture::from(Promise::from(run("return indexedDB.databases().then((all) => all.map((one) => one.name))")));
    let names: js_sys::Array = names.await.unwrap().unchecked_into();
    assert!(!names.includes(&"vanished".into(), 0));
}

#[wasm_bindgen_test]
async fn a_database_exchanged_for_another_is_gone() {
    let store = fresh("exchanged").await;
    store.commit(put("a", b"1")).await.unwrap();
    drop(drop_connection(&store).connection);
    IdbStore::delete("exchanged").await.unwrap();
    let other = IdbStore::open("exchanged").await.unwrap();
    other.commit(put("a", b"other")).await.unwrap();
    assert_eq!(store.commit(put("a", b"2")).await, Err(StoreError::gone()));
    assert_eq!(other.get("a").await, Ok(Some(b"other".to_vec())));
}

/// The connection of a store after the browser has dropped it without an event, as Safari does.
struct State {
    connection: Rc<super::Connection>,
}

fn drop_connection(store: &IdbStore) -> State {
    let super::State::Open(connection) = store.state.borrow().clone() else { panic!("the store is not open") };
    connection.database().close();
    State { connection }
}

#[wasm_bindgen_test]
async fn a_dropped_connection_is_opened_again() {
    let store = fresh("dropped").await;
    store.commit(put("a", b"1")).await.unwrap();
    drop_connection(&store);
    assert_eq!(store.get("a").await, Ok(Some(b"1".to_vec())));
    drop_connection(&store);
    let records = store.scan(&Scan::range("", "~").reversed().limit(1)).await;
    assert_eq!(records, Ok(vec![("a".to_owned(), b"1".to_vec())]));
    drop_connection(&store);
    let next = Commit { absent: vec!["b".to_owned()], present: vec!["a".to_owned()], ..put("b", b"2") };
    store.commit(next).await.unwrap();
    assert_eq!(store.get("b").await, Ok(Some(b"2".to_vec())));
}

#[wasm_bindgen_test]
async fn a_connection_that_cannot_be_opened_again_is_transient_and_recovers() {
    let store = fresh("transient").await;
    store.commit(put("a", b"1")).await.unwrap();
    drop_connection(&store);
    let refuse = "const request = original.apply(this, ['transient-never', 1]); \
                  globalThis.opened = (globalThis.opened ?? 0) + 1; \
                  request.addEventListener('upgradeneeded', (event) => { event.stopImmediatePropagation(); \
                  request.transaction.abort(); }, true); return request;";
    let instead = Instead::of(&["IDBFactory", "prototype"], "open", refuse);
    let error = store.get("a").await.unwrap_err();
    let opened = run("return globalThis.opened").as_f64();
    drop(instead);
    assert_eq!(error.code(), "transient", "{error}");
    assert_eq!(opened, Some(super::REOPEN_PAUSES_MS.len() as f64), "a bounded number of tries");
    assert_eq!(store.get("a").await, Ok(Some(b"1".to_vec())));
}

#[wasm_bindgen_test]
async fn a_used_up_quota_is_told_and_nothing_is_written() {
    let store = fresh("quota").await;
    store.commit(put("a", b"1")).await.unwrap();
    // As the browser does it: the transaction is aborted when it is to be written, and only its own error says why.
    let full = "const transaction = original.apply(this, args); if (args[1] === 'readwrite') { \
                Object.defineProperty(transaction, 'error', { value: new DOMException('the disk is full', 'QuotaExceededError') }); \
                Object.defineProperty(transaction, 'commit', { value() { this.abort(); } }); } return transaction;";
    let instead = Instead::of(&["IDBDatabase", "prototype"], "transaction", full);
    let error = store.commit(put("a", b"2")).await.unwrap_err();
    drop(instead);
    assert!(matches!(&error, StoreError::Quota(words) if words.contains("the disk is full")), "{error:?}");
    assert_eq!(store.get("a").await, Ok(Some(b"1".to_vec())));
    store.commit(put("a", b"3")).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_put_that_throws_takes_the_commit_down() {
    let store = fresh("throwing").await;
    store.commit(put("a", b"1")).await.unwrap();
    let throwing = "if (args[1] === 'b') throw new DOMException('The serialized value is too large', 'UnknownError'); \
                    return original.apply(this, args);";
    let instead = Instead::of(&["IDBObjectStore", "prototype"], "put", throwing);
    let commit = Commit { puts: vec![("a".into(), vec![2]), ("b".into(), vec![2])], ..Commit::default() };
    let error = store.commit(commit).await.unwrap_err();
    drop(instead);
    assert_eq!(error.code(), "storage", "{error}");
    assert_eq!(store.scan(&Scan::range("", "~")).await, Ok(vec![("a".to_owned(), b"1".to_vec())]));
}

#[wasm_bindgen_test]
async fn no_storage_is_said_so() {
    clear("unavailable").await;
    let refused = "throw new DOMException('access is denied in this context', 'SecurityError')";
    let instead = Instead::of(&["IDBFactory", "prototype"], "open", refused);
    assert_eq!(IdbStore::open("unavailable").await.unwrap_err().code(), "unavailable");
    drop(instead);
    // Without the interface altogether.
    run("globalThis.saved = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB'); \
         Object.defineProperty(globalThis, 'indexedDB', { value: undefined, configurable: true })");
    let (open, delete) = (IdbStore::open("unavailable").await, IdbStore::delete("unavailable").await);
    run("Object.defineProperty(globalThis, 'indexedDB', globalThis.saved)");
    assert_eq!(open.unwrap_err().code(), "unavailable");
    assert_eq!(delete.unwrap_err().code(), "unavailable");
    IdbStore::open("unavailable").await.unwrap();
}

#[wasm_bindgen_test]
async fn what_is_no_bytes_is_corrupt() {
    let store = fresh("corrupt").await;
    let raw = stubborn("corrupt").await;
    let transaction = raw.transaction_with_str_and_mode("records", web_sys::IdbTransactionMode::Readwrite).unwrap();
    transaction.object_store("records").unwrap().put_with_key(&"text".into(), &"bad".into()).unwrap();
    raw.close();
    let corrupt = StoreError::Corrupt { key: "bad".to_owned(), why: "the value is not bytes".to_owned() };
    assert_eq!(store.get("bad").await, Err(corrupt.clone()));
    assert_eq!(store.scan(&Scan::range("a", "c")).await, Err(corrupt.clone()));
    assert_eq!(store.scan(&Scan::range("a", "c").reversed().limit(1)).await, Err(corrupt));
}

#[wasm_bindgen_test]
async fn durability_and_conditions_reach_the_browser() {
    let store = fresh("durability").await;
    let note = "(globalThis.noted ??= []).push(args[2]?.durability); return original.apply(this, args)";
    let instead = Instead::of(&["IDBDatabase", "prototype"], "transaction", note);
    store.commit(put("a", b"1")).await.unwrap();
    store.commit(Commit { durability: Durability::Relaxed, ..put("a", b"2") }).await.unwrap();
    drop(instead);
    assert_eq!(run("return globalThis.noted.join()").as_string().as_deref(), Some("strict,relaxed"));
}

#[wasm_bindgen_test]
async fn a_commit_that_nobody_waits_for_is_taken_back_or_whole() {
    let store = fresh("cancelled").await;
    for round in 0..10 {
        let names = [format!("{round}/a"), format!("{round}/b")];
        let commit = Commit {
            present: vec!["nowhere".to_owned()],
            puts: names.iter().map(|name| (name.clone(), vec![1])).collect(),
            ..Commit::default()
        };
        {
            // Polled once, so that it is sent, and dropped: its condition is no longer looked after.
            let mut sent = Box::pin(store.commit(commit));
            std::future::poll_fn(|context| {
                let _ = sent.as_mut().poll(context);
                std::task::Poll::Ready(())
            })
            .await;
        }
        assert_eq!(store.get(&names[0]).await, Ok(None), "a commit whose condition does not hold");
    }
}

#[wasm_bindgen_test]
async fn a_cancelled_opening_leaves_nothing_open() {
    IdbStore::delete("abandoned").await.unwrap();
    {
        let mut opening = Box::pin(IdbStore::open("abandoned"));
        std::future::poll_fn(|context| {
            let _ = opening.as_mut().poll(context);
            std::task::Poll::Ready(())
        })
        .await;
    }
    wait::sleep(100).await;
    super::connection::delete("abandoned", IMPATIENT).await.unwrap();
}

#[wasm_bindgen_test]
async fn the_contract_holds_in_an_upgraded_database() {
    fresh("contract-upgraded").await.close().await.unwrap();
    let open = async || IdbStore::open_schema("contract-upgraded", IMPATIENT, NEXT).await.unwrap();
    contract::run_all(open).await.assert_passed();
}

/// Notes what is asked of the browser, in order: which databases are opened and deleted, and which transactions begun.
fn noting() -> [Instead; 3] {
    run("globalThis.asked = []");
    let note = |word: &str| format!("globalThis.asked.push('{word} ' + args[0]); return original.apply(this, args)");
    [
        Instead::of(&["IDBFactory", "prototype"], "open", &note("open")),
        Instead::of(&["IDBFactory", "prototype"], "deleteDatabase", &note("delete")),
        Instead::of(
            &["IDBDatabase", "prototype"],
            "transaction",
            "if (args[1] === 'readwrite') globalThis.asked.push('write'); return original.apply(this, args)",
        ),
    ]
}

fn asked() -> String {
    run("return globalThis.asked.join()").as_string().unwrap()
}

#[wasm_bindgen_test]
async fn the_first_commit_and_no_reading_waits_for_a_new_log() {
    let store = Rc::new(fresh("new-log").await);
    store.commit(put("a", b"1")).await.unwrap();
    fresh_log::forget();
    let noting = noting();
    // The deletion is answered when the test says so.
    let held = "const request = original.apply(this, args), answer = { error: null, result: undefined }; \
                request.onsuccess = () => globalThis.answer = () => answer.onsuccess(); return answer;";
    let holding = Instead::of(&["IDBFactory", "prototype"], "deleteDatabase", held);
    let done = Rc::new(std::cell::Cell::new(false));
    spawn_local({
        let (store, done) = (Rc::clone(&store), Rc::clone(&done));
        async move {
            store.commit(put("a", b"2")).await.unwrap();
            done.set(true);
        }
    });
    while run("return globalThis.answer").is_undefined() {
        wait::sleep(1).await;
    }
    let other = IdbStore::open("new-log").await.unwrap();
    assert_eq!(other.get("a").await, Ok(Some(b"1".to_vec())), "reading does not wait");
    wait::sleep(50).await;
    assert!(!done.get() && !asked().contains("write"), "nothing is written before: {}", asked());
    run("globalThis.answer()");
    other.commit(put("b", b"3")).await.unwrap();
    drop((holding, noting));
    assert!(done.get());
    let moved = format!("open {0},delete {0},open new-log,write,write", fresh_log::SCRATCH);
    assert_eq!(asked(), moved, "once for all that are open");
    let names = run("return indexedDB.databases().then((all) => all.map((one) => one.name).join())");
    let names = JsFuture::from(Promise::from(names)).await.unwrap().as_string().unwrap();
    assert!(!names.contains(fresh_log::SCRATCH), "nothing is left behind: {names}");
}

#[wasm_bindgen_test]
async fn commits_that_wait_for_a_new_log_keep_their_order() {
    let store = Rc::new(fresh("new-log-order").await);
    fresh_log::forget();
    let order = Rc::new(std::cell::RefCell::new(Vec::new()));
    for number in 0..5u8 {
        let (store, order) = (Rc::clone(&store), Rc::clone(&order));
        spawn_local(async move {
            store.commit(put("same", &[number])).await.unwrap();
            order.borrow_mut().push(number);
        });
    }
    while order.borrow().len() < 5 {
        wait::sleep(5).await;
    }
    assert_eq!(order.take(), [0, 1, 2, 3, 4]);
    assert_eq!(store.get("same").await, Ok(Some(vec![4])));
}

#[wasm_bindgen_test]
async fn without_a_new_log_commits_go_on() {
    let store = fresh("no-new-log").await;
    fresh_log::forget();
    let refuse = "globalThis.refused = (globalThis.refused ?? 0) + 1; \
                  throw new DOMException('there is no room for a database', 'QuotaExceededError')";
    let instead = Instead::of(&["IDBFactory", "prototype"], "open", refuse);
    store.commit(put("a", b"1")).await.unwrap();
    store.commit(put("a", b"2")).await.unwrap();
    drop(instead);
    assert_eq!(run("return globalThis.refused").as_f64(), Some(1.0), "the next try is some time later");
    assert_eq!(store.get("a").await, Ok(Some(b"2".to_vec())));
    fresh_log::forget();
}

#[wasm_bindgen_test]
async fn a_browser_without_that_log_is_left_alone() {
    let store = fresh("other-browser").await;
    fresh_log::forget();
    run("globalThis.loss = Object.getOwnPropertyDescriptor(IDBVersionChangeEvent.prototype, 'dataLoss'); \
         delete IDBVersionChangeEvent.prototype.dataLoss");
    let noting = noting();
    store.commit(put("a", b"1")).await.unwrap();
    drop(noting);
    run("Object.defineProperty(IDBVersionChangeEvent.prototype, 'dataLoss', globalThis.loss)");
    assert_eq!(asked(), "write");
    fresh_log::forget();
}
