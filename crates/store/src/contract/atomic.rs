//! A commit happens whole or not at all, and its parts in their order.

use super::handle::{Handle, Outcome};
use super::place::Place;
use super::step::Ask::{Commit, Get, Put, Scan};
use super::step::Due::{Conflict, Done, Gives};
use super::step::{ALL, NOTHING, Pair, Plan, Steps};
use crate::Durability;

const BEFORE: &[Pair<'_>] = &[("a", b"1"), ("b", b"2"), ("r/1", b"3")];
const DOOMED: Plan<'_> = Plan {
    deletes: &["c"],
    delete_ranges: &[("r/", "r/~")],
    puts: &[("x", b"x"), ("a", b"9"), ("new", b"n")],
    ..NOTHING
};
/// The condition fails in each of the three ways in which a backend may check it: on a key that is also put, on one that
/// is not, and on one that must be there.
const ALSO_PUT: Plan<'_> = Plan { absent: &["a"], ..DOOMED };
const NOT_PUT: Plan<'_> = Plan { absent: &["b"], ..DOOMED };
const NOT_THERE: Plan<'_> = Plan { absent: &["new"], present: &["nowhere"], ..DOOMED };

pub(super) const all_or_nothing: Steps<'_> = &[
    ("filling", Put(BEFORE), Done),
    ("a commit with a failing condition", Commit(&ALSO_PUT), Conflict(&["a"])),
    ("what is there afterwards", Scan(ALL), Gives(BEFORE)),
    ("a commit with a failing condition", Commit(&NOT_PUT), Conflict(&["b"])),
    ("what is there afterwards", Scan(ALL), Gives(BEFORE)),
    ("a commit with a failing condition", Commit(&NOT_THERE), Conflict(&["nowhere"])),
    ("what is there afterwards", Scan(ALL), Gives(BEFORE)),
    ("a commit after a refused one", Commit(&Plan { puts: &[("x", b"x")], deletes: &["a"], ..NOTHING }), Done),
    ("what is there at last", Scan(ALL), Gives(&[("b", b"2"), ("r/1", b"3"), ("x", b"x")])),
];

/// As a merge does it: the single entries go, one page under the first one's key comes.
const MERGE: Plan<'_> = Plan {
    deletes: &["a", "nowhere"],
    delete_ranges: &[("b", "c")],
    puts: &[("a", b"new"), ("b1", b"new")],
    ..NOTHING
};

pub(super) const deletes_come_before_puts: Steps<'_> = &[
    ("filling", Put(&[("a", b"old"), ("b", b"old")]), Done),
    ("committing", Commit(&MERGE), Done),
    ("what is there", Scan(ALL), Gives(MERGE.puts)),
];

const TWICE: Plan<'_> = Plan { absent: &["a"], puts: &[("a", b"1"), ("a", b"2")], ..NOTHING };

pub(super) const the_last_put_of_a_key_wins: Steps<'_> = &[
    ("putting a key twice", Commit(&TWICE), Done),
    ("its value", Get("a"), Gives(&[("a", b"2")])),
    ("putting over it", Put(&[("a", b"3")]), Done),
    ("its value", Get("a"), Gives(&[("a", b"3")])),
];

pub(super) const an_empty_commit_does_nothing: Steps<'_> = &[
    ("filling", Put(&[("a", b"1")]), Done),
    ("an empty commit", Commit(&NOTHING), Done),
    ("conditions alone that hold", Commit(&Plan { absent: &["b"], present: &["a"], ..NOTHING }), Done),
    ("a condition alone that fails", Commit(&Plan { absent: &["a"], ..NOTHING }), Conflict(&["a"])),
    ("what is there", Scan(ALL), Gives(&[("a", b"1")])),
];

pub(super) async fn relaxed_commits_are_seen_at_once(place: &Place<'_>, store: &Handle, _: &Handle) -> Outcome {
    for number in 0..20u8 {
        let plan = Plan { puts: &[("counter", &[number])], durability: Durability::Relaxed, ..NOTHING };
        let steps =
            [("committing", Commit(&plan), Done), ("the counter", Get("counter"), Gives(&[("counter", &[number])]))];
        place.steps(store, &steps).await?;
    }
    Ok(())
}
