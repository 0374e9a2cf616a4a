//! Several things at once: their requests to the store are under way together, so that waiting for one is waiting for all.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Something that will be done.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What comes of each, in their order.
pub async fn together<T>(doing: Vec<Doing<'_, T>>) -> Vec<T> {
    let mut all: Vec<(Option<Doing<'_, T>>, Option<T>)> = doing.into_iter().map(|one| (Some(one), None)).collect();
    poll_fn(|context| {
        let mut pending = false;
        for (doing, done) in &mut all {
            if let Some(one) = doing {
                match one.as_mut().poll(context) {
                    Poll::Ready(result) => (*doing, *done) = (None, Some(result)),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    all.into_iter().filter_map(|(_, done)| done).collect()
}
