//! Runs the engine's futures. They could run under `wasm_bindgen_futures::spawn_local`, but a panic in there is thrown
//! into a microtask that nobody can catch: the promise hangs, and Node ends the process. Here JavaScript calls
//! [`run_tasks`] itself and so catches what comes out of it.
//!
//! Goes in: futures. Comes out: promises. Left to JavaScript: calling `run_tasks` soon after it was asked to.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;

use crate::memory::grow_ahead;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// What a promise will settle with: a value, or the JSON text of an `ErrorReply`.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<JsValue, JsValue>>>>;

#[derive(Default)]
struct Executor {
    scheduler: RefCell<Option<Function>>,
    /// Whether `run_tasks` has been asked for and has not begun yet.
    asked: Cell<bool>,
    ready: RefCell<VecDeque<u64>>,
    /// Those that wait; few at a time.
    tasks: RefCell<Vec<(Task, Arc<Alarm>)>>,
    next: Cell<u64>,
}

thread_local! {
    static EXECUTOR: Executor = Executor::default();
}

/// Wakes one task. It holds a number and not the task, since wakers must be `Send` and tasks are not.
struct Alarm {
    task: u64,
    rung: AtomicBool,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::Relaxed) {
            EXECUTOR.with(|executor| executor.enqueue(self.task));
        }
    }
}

impl Executor {
    fn enqueue(&self, task: u64) {
        self.ready.borrow_mut().push_back(task);
        self.ask();
    }

    fn ask(&self) {
        if self.asked.replace(true) {
            return;
        }
        // Cloned, so that nothing is borrowed while JavaScript runs.
        let scheduler = self.scheduler.borrow().clone();
        if let Some(scheduler) = scheduler {
            // Scheduling a microtask does not throw; if it did, there would be nobody to tell.
            let _ = scheduler.call0(&JsValue::UNDEFINED);
        }
    }

    fn spawn(&self, task: Task) {
        let id = self.next.get();
        self.next.set(id + 1);
        let alarm = Arc::new(Alarm { task: id, rung: AtomicBool::new(true) });
        self.tasks.borrow_mut().push((task, alarm));
        self.enqueue(id);
    }

    fn run(&self) {
        self.asked.set(false);
        grow_ahead();
        // Only what is ready now: a task that wakes itself waits for the next microtask, behind the others.
        let ready = self.ready.borrow().len();
        for _ in 0..ready {
            let Some(id) = self.ready.borrow_mut().pop_front() else { break };
            // Taken out while it runs, so that it may spawn others.
            let at = self.tasks.borrow().iter().position(|(_, alarm)| alarm.task == id);
            let Some((mut task, alarm)) = at.map(|at| self.tasks.borrow_mut().swap_remove(at)) else { continue };
            alarm.rung.store(false, Ordering::Relaxed);
            let waker = Waker::from(Arc::clone(&alarm));
            if task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                self.tasks.borrow_mut().push((task, alarm));
            }
        }
        if !self.ready.borrow().is_empty() {
            self.ask();
        }
    }
}

pub(crate) fn set_scheduler(scheduler: Function) {
    EXECUTOR.with(|executor| *executor.scheduler.borrow_mut() = Some(scheduler));
}

/// Gives every task that has been woken its turn.
#[wasm_bindgen(js_name = runTasks)]
pub fn run_tasks() {
    EXECUTOR.with(Executor::run);
}

/// A promise that settles as `future` does.
pub(crate) fn promise(future: impl Future<Output = Result<JsValue, JsValue>> + 'static) -> Promise {
    let mut future = Some(future);
    Promise::new(&mut |resolve, reject| {
        // The promise's constructor calls this once.
        let Some(future) = future.take() else { return };
        let task = Box::pin(async move {
            let (settle, value) = match future.await {
                Ok(value) => (resolve, value),
                Err(reason) => (reject, reason),
            };
            // A promise's own functions do not throw.
            let _ = settle.call1(&JsValue::UNDEFINED, &value);
        });
        EXECUTOR.with(|executor| executor.spawn(task));
    })
}
