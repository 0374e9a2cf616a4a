//! The order in which records come back.

use super::step::Ask::{Put, Scan};
use super::step::Due::{Done, Gives};
use super::step::{ALL, Pair, Step, Steps, mirrored, named, range};

// Written shuffled: what comes back must be in the order of the bytes, which is not that of the alphabet.
// In three commits, so that the order cannot be that of one list.
const FIRST: Step<'_> = ("filling", Put(&named(["b", "a/2", "Z", "a", "a!"])), Done);
const SECOND: Step<'_> = ("filling", Put(&named(["0010", "~", "a/10", " ", "0009"])), Done);
const THIRD: Step<'_> = ("filling", Put(&named(["ab", "_"])), Done);

const SORTED: [Pair<'_>; 12] = named([" ", "0009", "0010", "Z", "_", "a", "a!", "a/10", "a/2", "ab", "b", "~"]);
const MIRRORED: [Pair<'_>; 12] = mirrored(SORTED);

/// The first `limit` of `records`.
const fn first<'a>(limit: usize, records: &'a [Pair<'a>; 12]) -> &'a [Pair<'a>] {
    records.split_at(limit).0
}

pub(super) const keys_come_back_in_byte_order: Steps<'_> =
    &[FIRST, SECOND, THIRD, ("the keys", Scan(ALL), Gives(&SORTED))];

pub(super) const reversed_is_the_mirror: Steps<'_> =
    &[FIRST, SECOND, THIRD, ("the mirror", Scan(ALL.reversed()), Gives(&MIRRORED))];

pub(super) const limits_cut_at_the_right_end: Steps<'_> = &[
    FIRST,
    SECOND,
    THIRD,
    ("the first 0", Scan(ALL.limit(0)), Gives(&[])),
    ("the last 0", Scan(ALL.limit(0).reversed()), Gives(&[])),
    ("the first 1", Scan(ALL.limit(1)), Gives(first(1, &SORTED))),
    ("the last 1", Scan(ALL.limit(1).reversed()), Gives(first(1, &MIRRORED))),
    ("the first 5", Scan(ALL.limit(5)), Gives(first(5, &SORTED))),
    ("the last 5", Scan(ALL.limit(5).reversed()), Gives(first(5, &MIRRORED))),
    ("the first 12, all", Scan(ALL.limit(12)), Gives(&SORTED)),
    ("the last 12, all", Scan(ALL.limit(12).reversed()), Gives(&MIRRORED)),
    ("the first 13, one too many", Scan(ALL.limit(13)), Gives(&SORTED)),
    ("the last 13, one too many", Scan(ALL.limit(13).reversed()), Gives(&MIRRORED)),
    ("as many as a number can say", Scan(ALL.limit(usize::MAX)), Gives(&SORTED)),
    ("as many as a number can say, from the end", Scan(ALL.limit(usize::MAX).reversed()), Gives(&MIRRORED)),
    ("the last two of a range", Scan(range("a", "b").limit(2).reversed()), Gives(&named(["ab", "a/2"]))),
];
