//! What lies in a range, for reading and for deleting.

use super::handle::{Handle, Outcome};
use super::place::Place;
use super::step::Ask::{Commit, Get, Put, Scan};
use super::step::Due::{Done, Gives};
use super::step::{ALL, NOTHING, Pair, Plan, Steps, named, prefix, range};

pub(super) const start_is_in_and_end_is_out: Steps<'_> = &[
    ("filling", Put(&named(["a", "b", "c", "d"])), Done),
    ("b..d", Scan(range("b", "d")), Gives(&named(["b", "c"]))),
    ("bounds that are no keys", Scan(range("b0", "c0")), Gives(&named(["c"]))),
    ("a range of one key", Scan(range("b", "b!")), Gives(&named(["b"]))),
];

/// Who reads on from the last key of a piece asks for what comes after it: that is the key and U+0000, which no key has.
pub(super) const bounds_may_lie_right_behind_a_key: Steps<'_> = &[
    ("filling", Put(&named(["a", "a/", "b", "b0", "c"])), Done),
    ("behind a to behind b", Scan(range("a\0", "b\0")), Gives(&named(["a/", "b"]))),
    ("deleting", Commit(&Plan { delete_ranges: &[("a\0", "b\0")], ..NOTHING }), Done),
    ("what is left", Scan(ALL), Gives(&named(["a", "b0", "c"]))),
];

pub(super) const empty_and_backward_ranges_give_nothing: Steps<'_> = &[
    ("filling", Put(&named(["a", "b", "c"])), Done),
    ("b..b", Scan(range("b", "b")), Gives(&[])),
    ("b..b reversed", Scan(range("b", "b").reversed()), Gives(&[])),
    ("c..a", Scan(range("c", "a")), Gives(&[])),
    ("c..a reversed", Scan(range("c", "a").reversed()), Gives(&[])),
    ("x..y", Scan(range("x", "y")), Gives(&[])),
    ("x..y reversed", Scan(range("x", "y").reversed()), Gives(&[])),
    ("deleting empty ranges", Commit(&Plan { delete_ranges: &[("b", "b"), ("c", "a")], ..NOTHING }), Done),
    ("what is left", Scan(ALL), Gives(&named(["a", "b", "c"]))),
];

pub(super) const prefixes_do_not_spill: Steps<'_> = &[
    ("filling", Put(&named(["p/1", "p/1/x", "p/10", "p/2", "p", "p0", "q/1"])), Done),
    ("p/1/…", Scan(prefix("p/1/")), Gives(&named(["p/1/x"]))),
    ("p/…", Scan(prefix("p/")), Gives(&named(["p/1", "p/1/x", "p/10", "p/2"]))),
];

pub(super) const range_deletes_leave_their_neighbours: Steps<'_> = &[
    ("filling", Put(&named(["a", "b", "b/1", "b/2", "c", "d", "e"])), Done),
    ("deleting", Commit(&Plan { delete_ranges: &[("b/", "b/~"), ("d", "e")], ..NOTHING }), Done),
    ("what is left", Scan(ALL), Gives(&named(["a", "b", "c", "e"]))),
    ("a deleted key", Get("b/1"), Gives(&[])),
];

pub(super) async fn many_records_come_in_one_scan(place: &Place<'_>, store: &Handle, _: &Handle) -> Outcome {
    let names: Vec<_> = (0..3_000).map(|number| format!("{number:016x}")).collect();
    let records: Vec<Pair<'_>> = names.iter().map(|name| (&name[..], &b"v"[..])).collect();
    place.steps(store, &[("filling", Put(&records), Done), ("their order", Scan(ALL), Gives(&records))]).await
}
