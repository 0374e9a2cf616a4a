//! One commit, one transaction.
//!
//! In goes a [`Commit`], made ready before there is a transaction; out comes whether the browser has taken all of it. All
//! requests are sent at once and none is awaited: the browser carries them out in order. A condition on a key that is
//! also written is the browser's own (`add` fails on a key that is there, and the transaction with it); the others are
//! look-ups at the head of the queue, and the transaction is only told to finish when the last of them has held.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use js_sys::{Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{Event, IdbDatabase, IdbKeyRange, IdbObjectStore, IdbRequest, IdbTransaction, IdbTransactionMode};

use super::read::range;
use super::request;
use super::schema::RECORDS;
use super::wait::Signal;
use crate::dom_error::During;
use crate::{Commit, Durability, StoreError};

#[wasm_bindgen]
extern "C" {
    /// `IDBTransaction` with `commit`, which is in the standard and in every browser, but marked deprecated in web-sys;
    /// and with an `objectStore` that takes a string which is in JavaScript already.
    type FinishingTransaction;

    #[wasm_bindgen(catch, method, structural, js_name = objectStore)]
    fn object_store(this: &FinishingTransaction, name: &JsValue) -> Result<IdbObjectStore, JsValue>;

    #[wasm_bindgen(catch, method, structural)]
    fn commit(this: &FinishingTransaction) -> Result<(), JsValue>;

    /// `IDBDatabase` with the third argument of `transaction`, which web-sys has only behind its unstable flag.
    type DurableDatabase;

    #[wasm_bindgen(catch, method, structural, js_name = transaction)]
    fn durable_transaction(
        this: &DurableDatabase,
        store: &JsValue,
        mode: IdbTransactionMode,
        options: &Object,
    ) -> Result<IdbTransaction, JsValue>;
}

/// A commit in the browser's terms.
pub(super) struct Prepared {
    /// Conditions that need a look-up: the key, and whether it must be there.
    checks: Vec<(String, bool)>,
    deletes: Vec<JsValue>,
    delete_ranges: Vec<IdbKeyRange>,
    puts: Vec<Put>,
    durability: Durability,
}

struct Put {
    key: String,
    value: Uint8Array,
    /// Whether the key must not have been there.
    fresh: bool,
}

impl Prepared {
    pub(super) fn new(commit: Commit) -> Result<Self, StoreError> {
        let Commit { absent, present, deletes, delete_ranges, puts, durability } = commit;
        let mut ranges = Vec::with_capacity(delete_ranges.len());
        for (start, end) in &delete_ranges {
            ranges.extend(range(start, end)?);
        }
        // `add` sees what the commit's own deletes have left, a condition looks at what was before them.
        let deleted: HashSet<&str> = deletes.iter().map(String::as_str).collect();
        let removed = |key: &str| {
            let in_range = |(start, end): &(String, String)| start.as_str() <= key && key < end.as_str();
            deleted.contains(key) || delete_ranges.iter().any(in_range)
        };
        let written: HashSet<&str> = puts.iter().map(|(key, _)| key.as_str()).collect();
        let mut by_add: HashSet<&str> = HashSet::new();
        let mut checks = Vec::new();
        for key in &absent {
            if written.contains(key.as_str()) && !removed(key) {
                by_add.insert(key);
            } else {
                checks.push((key.clone(), false));
            }
        }
        checks.extend(present.into_iter().map(|key| (key, true)));
        let puts = puts
            .iter()
            // Only the first put of a key can add it, the next ones go over it.
            .map(|(key, value)| Put {
                fresh: by_add.remove(key.as_str()),
                key: key.clone(),
                value: Uint8Array::from(value.as_slice()),
            })
            .collect();
        let deletes = deletes.iter().map(|key| JsValue::from_str(key)).collect();
        Ok(Self { checks, deletes, delete_ranges: ranges, puts, durability })
    }
}

/// Begins the transaction of a commit. An error means that nothing was sent.
pub(super) fn begin(database: &IdbDatabase, prepared: &Prepared) -> Result<IdbTransaction, StoreError> {
    PARTS.with(|parts| {
        let options = match prepared.durability {
            Durability::Strict => &parts.strict,
            Durability::Relaxed => &parts.relaxed,
        };
        database
            .unchecked_ref::<DurableDatabase>()
            .durable_transaction(&parts.records, IdbTransactionMode::Readwrite, options)
            .map_err(thrown)
    })
}

/// What every transaction is begun with. Made once: a string costs a decoding each time it crosses to JavaScript, and a
/// single append is quick enough for that to show.
struct Parts {
    records: JsValue,
    strict: Object,
    relaxed: Object,
}

thread_local! {
    static PARTS: Parts = Parts {
        records: JsValue::from_str(RECORDS),
        strict: durability("strict"),
        relaxed: durability("relaxed"),
    };
}

fn durability(name: &str) -> Object {
    let options = Object::new();
    // A plain new object takes every property.
    let _ = Reflect::set(&options, &JsValue::from_str("durability"), &JsValue::from_str(name));
    options
}

/// Sends the whole commit and waits until the transaction is over.
pub(super) async fn run(transaction: IdbTransaction, prepared: &Prepared) -> Result<(), StoreError> {
    let mut running = Running::new(transaction);
    if let Err(error) = running.send(prepared) {
        running.abort();
        return Err(error);
    }
    match running.ended.clone().await {
        Ended::Complete => Ok(()),
        Ended::Aborted => Err(running.why(prepared)),
    }
}

fn thrown(error: JsValue) -> StoreError {
    request::thrown(error, During::Use)
}

/// How a transaction ended.
#[derive(Debug)]
enum Ended {
    Complete,
    Aborted,
}

/// What the look-ups have found so far.
#[derive(Debug)]
struct Checking {
    requests: Vec<(IdbRequest, bool)>,
    held: usize,
    /// The index of the condition that failed.
    failed: Option<usize>,
}

/// A transaction under way, with its handlers. Dropped before its end, it is aborted: with its conditions no longer
/// looked after, it must not come to a commit.
struct Running {
    transaction: IdbTransaction,
    ended: Signal<Ended>,
    checking: Rc<RefCell<Checking>>,
    /// The requests of fresh keys, in the order of the fresh puts.
    adds: Vec<IdbRequest>,
    _on_end: Closure<dyn FnMut(Event)>,
    _on_check: Option<Closure<dyn FnMut()>>,
}

impl Running {
    fn new(transaction: IdbTransaction) -> Self {
        let ended = Signal::new();
        let on_end = Closure::new({
            let ended = ended.clone();
            move |event: Event| {
                // `abort` bubbles and `complete` does not; asking for the event's name would cost a string.
                let _ = ended.set(if event.bubbles() { Ended::Aborted } else { Ended::Complete });
            }
        });
        transaction.set_oncomplete(Some(on_end.as_ref().unchecked_ref()));
        transaction.set_onabort(Some(on_end.as_ref().unchecked_ref()));
        let checking = Rc::new(RefCell::new(Checking { requests: Vec::new(), held: 0, failed: None }));
        Self { transaction, ended, checking, adds: Vec::new(), _on_end: on_end, _on_check: None }
    }

    fn send(&mut self, prepared: &Prepared) -> Result<(), StoreError> {
        let transaction: &FinishingTransaction = self.transaction.unchecked_ref();
        let store = PARTS.with(|parts| transaction.object_store(&parts.records)).map_err(thrown)?;
        self.send_checks(&store, prepared)?;
        for key in &prepared.deletes {
            store.delete(key).map_err(thrown)?;
        }
        for range in &prepared.delete_ranges {
            store.delete(range).map_err(thrown)?;
        }
        for put in &prepared.puts {
            let key = JsValue::from_str(&put.key);
            if put.fresh {
                self.adds.push(store.add_with_key(&put.value, &key).map_err(thrown)?);
            } else {
                store.put_with_key(&put.value, &key).map_err(thrown)?;
            }
        }
        if prepared.checks.is_empty() {
            finish(&self.transaction);
        }
        Ok(())
    }

    /// Sends the look-ups. Their answers come before those of the writes, which are already under way by then.
    fn send_checks(&mut self, store: &IdbObjectStore, prepared: &Prepared) -> Result<(), StoreError> {
        if prepared.checks.is_empty() {
            return Ok(());
        }
        let on_check = Closure::new({
            let (checking, transaction) = (Rc::clone(&self.checking), self.transaction.clone());
            move || check(&transaction, &mut checking.borrow_mut())
        });
        for (key, wanted) in &prepared.checks {
            // The key alone: the value may be large.
            let request = store.get_key(&JsValue::from_str(key)).map_err(thrown)?;
            request.set_onsuccess(Some(on_check.as_ref().unchecked_ref()));
            self.checking.borrow_mut().requests.push((request, *wanted));
        }
        self._on_check = Some(on_check);
        Ok(())
    }

    fn abort(&self) {
        // Fails only for a transaction that is over.
        let _ = self.transaction.abort();
    }

    /// Why the transaction was aborted.
    fn why(&self, prepared: &Prepared) -> StoreError {
        let failed = self.checking.borrow().failed;
        if let Some((key, _)) = failed.and_then(|index| prepared.checks.get(index)) {
            return StoreError::Conflict { key: key.clone() };
        }
        // Of all requests only the one that failed bears its own error; the others were aborted with it.
        let fresh = prepared.puts.iter().filter(|put| put.fresh);
        for (put, request) in fresh.zip(&self.adds) {
            if let Ok(Some(error)) = request.error()
                && error.name() == "ConstraintError"
            {
                return StoreError::Conflict { key: put.key.clone() };
            }
        }
        // That the quota is used up is said here and nowhere else.
        match self.transaction.error() {
            Some(error) => request::exception(&error),
            None => StoreError::Transient("the browser ended the transaction".to_owned()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.transaction.set_oncomplete(None);
        self.transaction.set_onabort(None);
        for (request, _) in &self.checking.borrow().requests {
            request.set_onsuccess(None);
        }
        if !self.ended.is_set() {
            self.abort();
        }
    }
}

/// The next look-up has its answer (they come in the order of the requests): the first that does not hold ends the
/// transaction, the last that holds lets it finish.
fn check(transaction: &IdbTransaction, checking: &mut Checking) {
    let Some((request, wanted)) = checking.requests.get(checking.held) else { return };
    let there = request.result().is_ok_and(|found| !found.is_undefined());
    if checking.failed.is_some() {
        // Over already.
    } else if there == *wanted {
        checking.held += 1;
        if checking.held == checking.requests.len() {
            finish(transaction);
        }
    } else {
        checking.failed = Some(checking.held);
        let _ = transaction.abort();
    }
}

/// Tells the browser that nothing more will come, which saves a round trip. Without this the transaction finishes by
/// itself; and a request that still fails takes it down either way.
fn finish(transaction: &IdbTransaction) {
    let _ = transaction.unchecked_ref::<FinishingTransaction>().commit();
}
