//! Cancelling what is under way, from beside it.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use tokio::sync::Notify;

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
    told: Notify,
}

impl Cancel {
    /// Ends what was given this handle: it fails with `cancelled` and stores nothing, unless it is storing already.
    pub fn cancel(&self) {
        self.0.cancelled.set(true);
        self.0.told.notify_waiters();
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.get()
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
    let Some(cancel) = cancel else { return Ok(work.await) };
    let mut told = pin!(cancel.0.told.notified());
    std::future::poll_fn(|context| {
        // Whoever is told later than it looks is woken.
        if told.as_mut().poll(context).is_ready() || cancel.is_cancelled() {
            return Poll::Ready(Err(KeepError::Cancelled));
        }
        work.as_mut().poll(context).map(Ok)
    })
    .await
}
