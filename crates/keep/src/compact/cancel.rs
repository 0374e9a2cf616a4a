//! Cancelling what is under way, from beside it.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::KeepError;

/// A handle that ends a compaction or an agent's turn at once, even while a model is waited for. Clones are the same handle.
///
/// ```
/// let cancel = threadkeep::compact::Cancel::default();
/// let other = cancel.clone();
/// other.cancel();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Rc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl Cancel {
    /// Ends what was given this handle: it fails with `cancelled` and stores nothing, unless it is storing already.
    pub fn cancel(&self) {
        self.0.cancelled.set(true);
        // Taken out first: whoever is woken may look here.
        let waiting = self.0.waiting.take();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.get()
    }

    fn wait(&self, waker: &Waker) {
        let mut waiting = self.0.waiting.borrow_mut();
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }
}

/// What `work` comes to, or `cancelled` as soon as it is; `work` is dropped then.
///
/// # Errors
/// `cancelled`.
pub async fn unless<T>(
    cancel: Option<&Cancel>,
    mut work: Pin<Box<dyn Future<Output = T> + '_>>,
) -> Result<T, KeepError> {
    std::future::poll_fn(|context| {
        if let Some(cancel) = cancel {
            if cancel.is_cancelled() {
                return Poll::Ready(Err(KeepError::Cancelled));
            }
            cancel.wait(context.waker());
        }
        work.as_mut().poll(context).map(Ok)
    })
    .await
}
