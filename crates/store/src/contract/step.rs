//! What the behaviours are made of: steps, each one call of the store with what is due from it. A step is plain borrowed
//! data, and [`Place::step`] carries out all of them, so a behaviour costs little more than its keys and values.
//!
//! All keys of a step lack the behaviour's prefix.

use super::Outcome;
use super::handle::{Handle, Later};
use super::place::Place;
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

impl Place<'_> {
    /// Calls the store.
    pub(super) fn ask<'a>(&'a self, store: &'a Handle, ask: Ask<'a>) -> Later<'a, Found> {
        Box::pin(async move {
            let commit = match ask {
                Ask::Put(puts) => self.commit(&Plan { puts, ..NOTHING }),
                Ask::Commit(plan) => self.commit(plan),
                Ask::Get(key) => {
                    let key = self.key(key);
                    let value = store.get(&key).await?;
                    return Ok(value.map(|value| (key, value)).into_iter().collect());
                }
                Ask::Scan(span) => return store.scan(&self.scan(span)).await,
                Ask::Close => return store.close().await.map(|()| Vec::new()),
            };
            store.commit(commit).await.map(|()| Vec::new())
        })
    }

    /// Carries out one step.
    pub(super) fn step<'a>(&'a self, store: &'a Handle, (what, ask, due): Step<'a>) -> Later<'a, Outcome> {
        Box::pin(async move { self.judge(what, self.ask(store, ask).await, due) })
    }

    /// Carries out steps one after the other, until one fails.
    pub(super) fn steps<'a>(&'a self, store: &'a Handle, steps: Steps<'a>) -> Later<'a, Outcome> {
        Box::pin(async move {
            for step in steps {
                self.step(store, *step).await?;
            }
            Ok(())
        })
    }

    /// Carries out steps on a handle of their own, and closes it.
    pub(super) fn alone<'a>(&'a self, steps: Steps<'a>) -> Later<'a, Outcome> {
        Box::pin(async move {
            let store = self.open().await?;
            self.steps(&store, steps).await?;
            self.step(&store, CLOSING).await
        })
    }
}

/// The last step of every handle.
pub(super) const CLOSING: Step<'_> = ("closing", Ask::Close, Due::Done);
