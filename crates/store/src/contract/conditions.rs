//! The conditions of a commit: what they refuse, what they name, and at which moment they look.

use super::step::Ask::{Commit, Get, Put, Scan};
use super::step::Due::{Conflict, Done, Gives};
use super::step::{ALL, NOTHING, Plan, Steps};

const MINE: Plan<'_> = Plan { absent: &["page"], puts: &[("page", b"mine")], ..NOTHING };

pub(super) const absent_refuses_what_is_there: Steps<'_> = &[
    ("the first writer", Commit(&MINE), Done),
    ("the same again", Commit(&MINE), Conflict(&["page"])),
    // A key that is guarded and not written, and one whose value is empty: empty is there.
    ("an empty value", Put(&[("guard", b"")]), Done),
    (
        "a guard",
        Commit(&Plan { absent: &["other", "guard"], puts: &[("other", b"never"), ("page", b"never")], ..NOTHING }),
        Conflict(&["guard"]),
    ),
    ("what is there", Scan(ALL), Gives(&[("guard", b""), ("page", b"mine")])),
];

pub(super) const present_refuses_what_is_not: Steps<'_> = &[
    ("nothing there", Commit(&Plan { present: &["first"], puts: &[("page", b"1")], ..NOTHING }), Conflict(&["first"])),
    ("making it", Put(&[("first", b"")]), Done),
    ("an empty value is present", Commit(&Plan { present: &["first"], puts: &[("page", b"2")], ..NOTHING }), Done),
    (
        "one of two there",
        Commit(&Plan { present: &["first", "second"], puts: &[("page", b"3")], ..NOTHING }),
        Conflict(&["second"]),
    ),
    ("the page", Get("page"), Gives(&[("page", b"2")])),
];

pub(super) const conditions_look_at_what_was_before: Steps<'_> = &[
    ("filling", Put(&[("a", b"1"), ("b", b"1")]), Done),
    // The commit's own deletes must not make room for its own condition, nor its puts fulfil one.
    (
        "absent and deleted at once",
        Commit(&Plan { absent: &["a"], deletes: &["a"], puts: &[("a", b"2")], ..NOTHING }),
        Conflict(&["a"]),
    ),
    (
        "absent and in a deleted range",
        Commit(&Plan { absent: &["b"], delete_ranges: &[("a", "c")], puts: &[("b", b"2")], ..NOTHING }),
        Conflict(&["b"]),
    ),
    (
        "present and put at once",
        Commit(&Plan { present: &["new"], puts: &[("new", b"2")], ..NOTHING }),
        Conflict(&["new"]),
    ),
    (
        "present and deleted at once",
        Commit(&Plan { present: &["a"], deletes: &["a"], puts: &[("c", b"3")], ..NOTHING }),
        Done,
    ),
    ("what is there", Scan(ALL), Gives(&[("b", b"1"), ("c", b"3")])),
];

pub(super) const a_key_that_was_deleted_is_absent: Steps<'_> = &[
    ("the first", Commit(&Plan { absent: &["a"], puts: &[("a", b"1")], ..NOTHING }), Done),
    ("deleting", Commit(&Plan { deletes: &["a"], ..NOTHING }), Done),
    ("the second", Commit(&Plan { absent: &["a"], puts: &[("a", b"2")], ..NOTHING }), Done),
    ("its value", Get("a"), Gives(&[("a", b"2")])),
];
