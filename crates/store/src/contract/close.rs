//! What a closed handle answers, and that it is the handle that is closed and not the place.

use super::{Outcome, Place, ok, put, same};
use crate::StoreError;

pub(super) async fn a_closed_store_says_so(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    ok("filling", store.commit(put(vec![place.record("a", b"1")])).await)?;
    ok("closing", store.close().await)?;
    same("get", store.get(&place.key("a")).await.err(), Some(StoreError::Closed))?;
    same("scan", store.scan(&place.all()).await.err(), Some(StoreError::Closed))?;
    same("scan of nothing", store.scan(&place.all().limit(0)).await.err(), Some(StoreError::Closed))?;
    same("commit", store.commit(put(vec![place.record("b", b"2")])).await.err(), Some(StoreError::Closed))?;
    ok("closing twice", store.close().await)?;
    let again = place.open().await;
    let expected = vec![place.record("a", b"1")];
    same("what is there", ok("scanning", again.scan(&place.all()).await)?, expected)?;
    ok("closing", again.close().await)
}

pub(super) async fn closing_one_handle_leaves_the_others(place: &Place<'_>) -> Outcome {
    let (first, second) = (place.open().await, place.open().await);
    ok("filling", first.commit(put(vec![place.record("a", b"1")])).await)?;
    ok("closing", first.close().await)?;
    same("the other's reading", ok("getting", second.get(&place.key("a")).await)?, Some(b"1".to_vec()))?;
    ok("the other's writing", second.commit(put(vec![place.record("b", b"2")])).await)?;
    ok("closing", second.close().await)
}
