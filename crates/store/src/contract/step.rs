//! What the behaviours are made of: steps, each one call of the store with what is due from it. A step is plain borrowed
//! data, and [`Place::step`](super::place::Place::step) carries out all of them, so a behaviour costs little more than its keys and values.
//!
//! All keys of a step lack the behaviour's prefix.

use crate::{Durability, Record, StoreError};

/// What a step is about, for its message; what it asks of the store; and what is due.
pub(super) type Step<'a> = (&'a str, Ask<'a>, Due<'a>);

/// Steps that one handle carries out one after the other.
pub(super) type Steps<'a> = &'a [Step<'a>];

/// What a call of the store finds, whichever it is. A commit finds no records, and `get` at most one.
pub(super) type Found = Result<Vec<Record>, StoreError>;

/// A record in borrowed form: its key and its value.
pub(super) type Pair<'a> = (&'a str, &'a [u8]);

/// A call of the store.
#[derive(Clone, Copy)]
pub(super) enum Ask<'a> {
    /// A commit that writes these records and nothing else.
    Put(&'a [Pair<'a>]),
    Commit(&'a Plan<'a>),
    Get(&'a str),
    Scan(Span<'a>),
    Close,
}

/// What must come of a call.
#[derive(Clone, Copy)]
pub(super) enum Due<'a> {
    /// Success, whatever it finds.
    Done,
    /// These records and no others, in this order.
    Gives(&'a [Pair<'a>]),
    /// A conflict about one of these keys.
    Conflict(&'a [&'a str]),
    /// That the store is closed.
    Closed,
}

/// A [`Commit`](crate::Commit) in borrowed form.
pub(super) struct Plan<'a> {
    pub(super) absent: &'a [&'a str],
    pub(super) present: &'a [&'a str],
    pub(super) deletes: &'a [&'a str],
    pub(super) delete_ranges: &'a [(&'a str, &'a str)],
    pub(super) puts: &'a [Pair<'a>],
    pub(super) durability: Durability,
}

/// A plan without conditions and changes.
pub(super) const NOTHING: Plan<'_> =
    Plan { absent: &[], present: &[], deletes: &[], delete_ranges: &[], puts: &[], durability: Durability::Strict };

/// A [`Scan`](crate::Scan) in borrowed form.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    pub(super) start: &'a str,
    /// `None` for every key that begins with `start`.
    pub(super) end: Option<&'a str>,
    pub(super) limit: Option<usize>,
    pub(super) reverse: bool,
}

/// Everything of the behaviour.
pub(super) const ALL: Span<'_> = prefix("");

/// Every key that begins with `start`.
pub(super) const fn prefix(start: &str) -> Span<'_> {
    Span { start, end: None, limit: None, reverse: false }
}

/// The keys of `start..end`.
pub(super) const fn range<'a>(start: &'a str, end: &'a str) -> Span<'a> {
    Span { end: Some(end), ..prefix(start) }
}

impl Span<'_> {
    pub(super) const fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub(super) const fn reversed(self) -> Self {
        Self { reverse: true, ..self }
    }
}

/// Records whose value is their own key, so that one under a wrong key is noticed.
pub(super) const fn named<'a, const N: usize>(keys: [&'a str; N]) -> [Pair<'a>; N] {
    let mut pairs: [Pair<'_>; N] = [("", b""); N];
    let mut at = 0;
    while at < N {
        pairs[at] = (keys[at], keys[at].as_bytes());
        at += 1;
    }
    pairs
}

/// The same records from the last to the first.
pub(super) const fn mirrored<const N: usize>(mut pairs: [Pair<'_>; N]) -> [Pair<'_>; N] {
    let mut at = 0;
    while at < N / 2 {
        (pairs[at], pairs[N - 1 - at]) = (pairs[N - 1 - at], pairs[at]);
        at += 1;
    }
    pairs
}

/// The last step of every handle.
pub(super) const CLOSING: Step<'_> = ("closing", Ask::Close, Due::Done);
