//! A commit happens whole or not at all, and its parts in their order.

use super::{Outcome, Place, conflict, ok, put, same};
use crate::{Commit, Durability};

pub(super) async fn all_or_nothing(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    let before = vec![place.record("a", b"1"), place.record("b", b"2"), place.record("r/1", b"3")];
    ok("filling", store.commit(put(before.clone())).await)?;
    // The condition fails in each of the three ways in which a backend may check it: on a key that is also put, on one
    // that is not, and on one that must be there.
    for (absent, present) in [(vec!["a"], vec![]), (vec!["b"], vec![]), (vec!["new"], vec!["nowhere"])] {
        let keys = |names: Vec<&str>| names.into_iter().map(|name| place.key(name)).collect::<Vec<_>>();
        let commit = Commit {
            absent: keys(absent.clone()),
            present: keys(present.clone()),
            deletes: vec![place.key("c")],
            delete_ranges: vec![(place.key("r/"), place.key("r/~"))],
            puts: vec![place.record("x", b"x"), place.record("a", b"9"), place.record("new", b"n")],
            durability: Durability::Strict,
        };
        let culprits = if present.is_empty() { keys(absent) } else { keys(present) };
        conflict("a commit with a failing condition", store.commit(commit).await, &culprits)?;
        same("what is there afterwards", ok("scanning", store.scan(&place.all()).await)?, before.clone())?;
    }
    let commit = Commit { puts: vec![place.record("x", b"x")], deletes: vec![place.key("a")], ..Commit::default() };
    ok("a commit after a refused one", store.commit(commit).await)?;
    let left = ok("scanning", store.scan(&place.all()).await)?;
    same("what is there at last", place.names(&left), ["b", "r/1", "x"].map(str::to_owned).to_vec())?;
    ok("closing", store.close().await)
}

pub(super) async fn deletes_come_before_puts(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    ok("filling", store.commit(put(vec![place.record("a", b"old"), place.record("b", b"old")])).await)?;
    // As a fold does it: the single entries go, one page under the first one's key comes.
    let commit = Commit {
        deletes: vec![place.key("a"), place.key("nowhere")],
        delete_ranges: vec![(place.key("b"), place.key("c"))],
        puts: vec![place.record("a", b"new"), place.record("b1", b"new")],
        ..Commit::default()
    };
    ok("committing", store.commit(commit).await)?;
    let expected = vec![place.record("a", b"new"), place.record("b1", b"new")];
    same("what is there", ok("scanning", store.scan(&place.all()).await)?, expected)?;
    ok("closing", store.close().await)
}

pub(super) async fn the_last_put_of_a_key_wins(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    let commit = Commit {
        absent: vec![place.key("a")],
        puts: vec![place.record("a", b"1"), place.record("a", b"2")],
        ..Commit::default()
    };
    ok("putting a key twice", store.commit(commit).await)?;
    same("its value", ok("getting", store.get(&place.key("a")).await)?, Some(b"2".to_vec()))?;
    ok("putting over it", store.commit(put(vec![place.record("a", b"3")])).await)?;
    same("its value", ok("getting", store.get(&place.key("a")).await)?, Some(b"3".to_vec()))?;
    ok("closing", store.close().await)
}

pub(super) async fn an_empty_commit_does_nothing(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    ok("filling", store.commit(put(vec![place.record("a", b"1")])).await)?;
    ok("an empty commit", store.commit(Commit::default()).await)?;
    let only_conditions = Commit { absent: vec![place.key("b")], present: vec![place.key("a")], ..Commit::default() };
    ok("conditions alone that hold", store.commit(only_conditions).await)?;
    let refused = Commit { absent: vec![place.key("a")], ..Commit::default() };
    conflict("a condition alone that fails", store.commit(refused).await, &[place.key("a")])?;
    same("what is there", ok("scanning", store.scan(&place.all()).await)?, vec![place.record("a", b"1")])?;
    ok("closing", store.close().await)
}

pub(super) async fn relaxed_commits_are_seen_at_once(place: &Place<'_>) -> Outcome {
    let store = place.open().await;
    for number in 0..20u8 {
        let commit = Commit { durability: Durability::Relaxed, ..put(vec![place.record("counter", &[number])]) };
        ok("committing", store.commit(commit).await)?;
        same("the counter", ok("getting", store.get(&place.key("counter")).await)?, Some(vec![number]))?;
    }
    ok("closing", store.close().await)
}
