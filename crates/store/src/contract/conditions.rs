//! The conditions of a commit: what they refuse, what they name, and at which moment they look.

use super::{Outcome, Place, conflict, ok, put, same};
use crate::Commit;

pub(super) async fn absent_refuses_what_is_there(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    let first = Commit { absent: vec![place.key("page")], ..put(vec![place.record("page", b"mine")]) };
    ok("the first writer", store.commit(first.clone()).await)?;
    conflict("the same again", store.commit(first).await, &[place.key("page")])?;
    // A key that is guarded and not written, and one whose value is empty: empty is there.
    ok("an empty value", store.commit(put(vec![place.record("guard", b"")])).await)?;
    let guarded = Commit {
        absent: vec![place.key("other"), place.key("guard")],
        ..put(vec![place.record("other", b"never"), place.record("page", b"never")])
    };
    conflict("a guard", store.commit(guarded).await, &[place.key("guard")])?;
    let expected = vec![place.record("guard", b""), place.record("page", b"mine")];
    same("what is there", ok("scanning", store.scan(&place.all()).await)?, expected)?;
    ok("closing", store.close().await)
}

pub(super) async fn present_refuses_what_is_not(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    let commit = |names: &[&str], value: &[u8]| Commit {
        present: names.iter().map(|name| place.key(name)).collect(),
        ..put(vec![place.record("page", value)])
    };
    conflict("nothing there", store.commit(commit(&["first"], b"1")).await, &[place.key("first")])?;
    ok("making it", store.commit(put(vec![place.record("first", b"")])).await)?;
    ok("an empty value is present", store.commit(commit(&["first"], b"2")).await)?;
    let both = store.commit(commit(&["first", "second"], b"3")).await;
    conflict("one of two there", both, &[place.key("second")])?;
    same("the page", ok("getting", store.get(&place.key("page")).await)?, Some(b"2".to_vec()))?;
    ok("closing", store.close().await)
}

pub(super) async fn conditions_look_at_what_was_before(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    ok("filling", store.commit(put(vec![place.record("a", b"1"), place.record("b", b"1")])).await)?;
    // The commit's own deletes must not make room for its own condition, nor its puts fulfil one.
    let deletes =
        Commit { absent: vec![place.key("a")], deletes: vec![place.key("a")], ..put(vec![place.record("a", b"2")]) };
    conflict("absent and deleted at once", store.commit(deletes).await, &[place.key("a")])?;
    let ranges = Commit {
        absent: vec![place.key("b")],
        delete_ranges: vec![(place.key("a"), place.key("c"))],
        ..put(vec![place.record("b", b"2")])
    };
    conflict("absent and in a deleted range", store.commit(ranges).await, &[place.key("b")])?;
    let puts = Commit { present: vec![place.key("new")], ..put(vec![place.record("new", b"2")]) };
    conflict("present and put at once", store.commit(puts).await, &[place.key("new")])?;
    let replaced =
        Commit { present: vec![place.key("a")], deletes: vec![place.key("a")], ..put(vec![place.record("c", b"3")]) };
    ok("present and deleted at once", store.commit(replaced).await)?;
    let expected = vec![place.record("b", b"1"), place.record("c", b"3")];
    same("what is there", ok("scanning", store.scan(&place.all()).await)?, expected)?;
    ok("closing", store.close().await)
}

pub(super) async fn a_key_that_was_deleted_is_absent(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    let fresh = |value: &[u8]| Commit { absent: vec![place.key("a")], ..put(vec![place.record("a", value)]) };
    ok("the first", store.commit(fresh(b"1")).await)?;
    ok("deleting", store.commit(Commit { deletes: vec![place.key("a")], ..Commit::default() }).await)?;
    ok("the second", store.commit(fresh(b"2")).await)?;
    same("its value", ok("getting", store.get(&place.key("a")).await)?, Some(b"2".to_vec()))?;
    ok("closing", store.close().await)
}
