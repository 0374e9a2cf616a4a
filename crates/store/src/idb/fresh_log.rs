//! Moves the browser to a new log before anything of ours is written behind the end of an old one.
//!
//! Chromium keeps all databases of an origin in one LevelDB, whose log it goes on with after a restart. A kill can leave
//! half a record at that log's end. What is written behind it then makes the half record look like a damaged one, and at
//! the next start Chromium throws everything away. So once in the life of a page or worker, as soon as a database is open,
//! an empty database is created and deleted: deleting makes Chromium compact the range of its keys, and compacting begins
//! with a new log and puts what was in the old one into a table. Reading waits for none of this, the first commit does.
//!
//! What remains: Chromium itself writes a few bytes at opening, and this some hundred. They do no harm as long as they are
//! fewer than the half record lacks. If they are not, or if the kill fell between the pieces of a record that crosses one
//! of the log's blocks, a second kill in the few hundredths of a second before the table is written still costs everything.
//!
//! Browsers whose storage is not LevelDB are left alone. Two tabs that do this at once do it twice, which does no harm.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use js_sys::{Date, Object, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{IdbDatabase, IdbRequest};

use super::request;
use super::wait::{self, Signal, Timer};

#[wasm_bindgen]
extern "C" {
    /// `IDBFactory`, directly: there is nothing here to upgrade, watch or migrate.
    type Factory;

    #[wasm_bindgen(catch, method, structural)]
    fn open(this: &Factory, name: &str) -> Result<IdbRequest, JsValue>;

    #[wasm_bindgen(catch, method, structural, js_name = deleteDatabase)]
    fn delete(this: &Factory, name: &str) -> Result<IdbRequest, JsValue>;
}

/// The database that is created and deleted. All databases of an origin share the log, so one name does for all.
pub(super) const SCRATCH: &str = "threadkeep-new-log";

/// How long the browser may take, in milliseconds, before commits go on without.
const PATIENCE_MS: i32 = 5_000;

/// How long commits wait after the deletion was answered, in milliseconds. The new log is there about one millisecond
/// after the answer and the table some ten to forty; nothing tells when.
const SETTLE_MS: i32 = 100;

/// How long after a failure, in milliseconds, until the next commit tries again.
const RETRY_MS: f64 = 60_000.0;

/// How far the move to a new log is.
#[derive(Clone, Copy)]
enum State {
    /// It is still to be made, but not before this time, in milliseconds since 1970.
    Due(f64),
    UnderWay,
    Done,
}

thread_local! {
    static STATE: Cell<State> = const { Cell::new(State::Due(0.0)) };
    /// Commits that wait for the end of what is under way.
    static WAITING: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

/// Starts the move to a new log, unless it was made or is being made.
pub(super) fn begin() {
    let State::Due(time) = STATE.get() else { return };
    if Date::now() < time {
        return;
    }
    if !is_leveldb() {
        STATE.set(State::Done);
        return;
    }
    STATE.set(State::UnderWay);
    let made = Signal::new();
    spawn_local({
        let made = made.clone();
        async move {
            let _ = made.set(make_and_delete().await.is_some());
        }
    });
    spawn_local(async move {
        let _timer = Timer::new(PATIENCE_MS, {
            let made = made.clone();
            move || {
                let _ = made.set(false);
            }
        });
        if made.await {
            wait::sleep(SETTLE_MS).await;
            STATE.set(State::Done);
        } else {
            // Whatever it was (the quota, a tab that holds the scratch database), it must not keep anybody from writing.
            // The danger is only that of a browser which was killed in mid-write before; a later commit tries again.
            STATE.set(State::Due(Date::now() + RETRY_MS));
        }
        for waker in WAITING.take() {
            waker.wake();
        }
    });
}

/// Waits until commits may be sent. Those that wait go on in their order.
pub(super) async fn ready() {
    begin();
    poll_fn(|context| match STATE.get() {
        State::UnderWay => {
            WAITING.with_borrow_mut(|waiting| waiting.push(context.waker().clone()));
            Poll::Pending
        }
        State::Due(_) | State::Done => Poll::Ready(()),
    })
    .await;
}

/// Forgets that the move was made, as a new page does not know of it.
#[cfg(test)]
#[cfg(target_arch = "wasm32")]
pub(super) fn forget() {
    STATE.set(State::Due(0.0));
}

/// Whether this is the browser that keeps IndexedDB in LevelDB: the one that can say in an event that it threw data away.
fn is_leveldb() -> bool {
    get(&get(&js_sys::global(), "IDBVersionChangeEvent"), "prototype")
        .dyn_ref::<Object>()
        .is_some_and(|prototype| Reflect::has(prototype, &JsValue::from_str("dataLoss")).unwrap_or(false))
}

/// A property; undefined where there is none.
fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

/// Creates and deletes the scratch database; `None` if the browser refuses.
async fn make_and_delete() -> Option<()> {
    let factory: Factory = get(&js_sys::global(), "indexedDB").unchecked_into();
    let database = request::done(&factory.open(SCRATCH).ok()?).await.ok()?;
    database.unchecked_into::<IdbDatabase>().close();
    // Should it be gone already, another tab has deleted it since it was opened here, which is as good.
    request::done(&factory.delete(SCRATCH).ok()?).await.ok()?;
    Some(())
}
