//! Several futures side by side, and what each comes to as it comes.

use std::pin::Pin;
use std::task::Poll;

/// Futures that run side by side.
pub(super) struct Joined<'a, T>(Vec<Pin<Box<dyn Future<Output = T> + 'a>>>);

impl<'a, T> Joined<'a, T> {
    pub(super) fn new(all: Vec<Pin<Box<dyn Future<Output = T> + 'a>>>) -> Self {
        Self(all)
    }

    /// What the next that is ready comes to; `None` once there are no more.
    pub(super) async fn next(&mut self) -> Option<T> {
        if self.0.is_empty() {
            return None;
        }
        std::future::poll_fn(|context| {
            for at in 0..self.0.len() {
                if let Poll::Ready(value) = self.0[at].as_mut().poll(context) {
                    drop(self.0.remove(at));
                    return Poll::Ready(Some(value));
                }
            }
            Poll::Pending
        })
        .await
    }
}
