//! How long an answer is waited for: from one sign of it to the next, and from the request to its end.

use std::task::Poll;

use super::http::{Http, Wait};

/// Why nobody waits any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// Nothing of the answer came for too long.
    Silent,
    /// The answer does not end.
    Endless,
}

/// The time that is left for one request.
pub(super) struct Patience<'a> {
    http: &'a dyn Http,
    silence: i64,
    heard: i64,
    end: i64,
}

impl<'a> Patience<'a> {
    /// For a request that is sent now: nothing may come for `silence` milliseconds at most, and all must be there after `whole`.
    pub(super) fn new(http: &'a dyn Http, silence: u32, whole: u64) -> Self {
        let now = http.now();
        let end = now.saturating_add(i64::try_from(whole).unwrap_or(i64::MAX));
        Self { http, silence: silence.into(), heard: now, end }
    }

    /// Something of the answer came.
    pub(super) fn heard(&mut self) {
        self.heard = self.http.now();
    }

    /// What comes, unless it comes too late.
    pub(super) async fn wait<T>(&self, mut coming: Wait<'_, T>) -> Result<T, Late> {
        let silent = self.heard.saturating_add(self.silence);
        let late = if silent <= self.end { Late::Silent } else { Late::Endless };
        let left = silent.min(self.end) - self.http.now();
        let mut limit = self.http.sleep(u32::try_from(left.max(0)).unwrap_or(u32::MAX));
        std::future::poll_fn(|context| match limit.as_mut().poll(context) {
            // A server that always has more to say does not stop the clock.
            Poll::Ready(()) if left <= 0 => Poll::Ready(Err(late)),
            timer => match coming.as_mut().poll(context) {
                Poll::Ready(come) => Poll::Ready(Ok(come)),
                Poll::Pending => timer.map(|()| Err(late)),
            },
        })
        .await
    }
}
