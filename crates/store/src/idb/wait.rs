//! Waiting for the browser: a one-shot signal that an event handler sets and a future awaits, and a timer.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use js_sys::Function;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    // Of the global object, be it a window's or a worker's.
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(handler: &Function, milliseconds: i32) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(handle: &JsValue);
}

#[derive(Debug)]
struct Slot<T> {
    value: Option<T>,
    set: bool,
    waker: Option<Waker>,
}

/// A value that is set once, by an event handler, and awaited by one future. Clones share it.
#[derive(Debug)]
pub(super) struct Signal<T>(Rc<RefCell<Slot<T>>>);

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Signal<T> {
    pub(super) fn new() -> Self {
        Self(Rc::new(RefCell::new(Slot { value: None, set: false, waker: None })))
    }

    /// Sets the value; the first one stays. Gives it back if there was one already.
    pub(super) fn set(&self, value: T) -> Result<(), T> {
        let mut slot = self.0.borrow_mut();
        if slot.set {
            return Err(value);
        }
        slot.set = true;
        slot.value = Some(value);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
        Ok(())
    }

    /// Whether a value was set, taken or not.
    pub(super) fn is_set(&self) -> bool {
        self.0.borrow().set
    }
}

impl<T> Future for Signal<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut slot = self.0.borrow_mut();
        match slot.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Calls `then` after `milliseconds`, unless it is dropped before.
#[derive(Debug)]
pub(super) struct Timer {
    handle: JsValue,
    _handler: Closure<dyn FnMut()>,
}

impl Timer {
    pub(super) fn new(milliseconds: i32, then: impl FnOnce() + 'static) -> Self {
        let handler = Closure::once(then);
        let handle = set_timeout(handler.as_ref().unchecked_ref(), milliseconds);
        Self { handle, _handler: handler }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.handle);
    }
}

/// Waits for `milliseconds`; with zero, until what is in the event queue has had its turn.
pub(super) async fn sleep(milliseconds: i32) {
    let signal = Signal::new();
    let done = signal.clone();
    let _timer = Timer::new(milliseconds, move || {
        let _ = done.set(());
    });
    signal.await;
}
