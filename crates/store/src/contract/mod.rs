//! The behaviours that every [`Store`] must have, as a suite that runs against any backend.
//!
//! In goes a function that opens one more handle onto the place under test; out comes a [`Report`] of what holds and what
//! does not. The suite needs no test framework, so it runs natively, in a browser, and for a backend written in JavaScript.
//! Every behaviour works below a key prefix of its own and clears it first: the place may hold other data, and a suite can
//! be run twice on it. One file holds one kind of behaviour.
//!
//! ```
//! use threadkeep_store::{MemoryStore, contract};
//!
//! # pollster::block_on(async {
//! let place = MemoryStore::new();
//! // Each call must give a new handle onto the same data, as a second tab would have it.
//! let report = contract::run_all(async || place.clone()).await;
//! report.assert_passed();
//! # });
//! ```

mod atomic;
mod bytes;
mod close;
mod conditions;
mod handle;
mod isolation;
mod order;
mod ranges;

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use self::handle::{Handle, Later};
use crate::{Commit, Record, Scan, Store, StoreError};

/// What one behaviour answers: nothing, or what went wrong in words.
type Outcome = Result<(), String>;

/// A behaviour that a backend lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The behaviour, as `file::name`.
    pub behaviour: &'static str,
    /// What was expected and what came.
    pub message: String,
}

/// What a run of the suite found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The behaviours that hold, in the order in which they ran.
    pub passed: Vec<&'static str>,
    /// The behaviours that do not.
    pub failures: Vec<Failure>,
}

impl Report {
    fn note(&mut self, behaviour: &'static str, outcome: Outcome) {
        match outcome {
            Ok(()) => self.passed.push(behaviour),
            Err(message) => self.failures.push(Failure { behaviour, message }),
        }
    }

    /// Panics with the whole report unless every behaviour holds: the last line of a test.
    ///
    /// # Panics
    ///
    /// When there is a failure, or when nothing ran at all.
    pub fn assert_passed(&self) {
        assert!(self.failures.is_empty() && !self.passed.is_empty(), "the store breaks its contract:\n{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} behaviours hold, {} do not", self.passed.len(), self.failures.len())?;
        for Failure { behaviour, message } in &self.failures {
            writeln!(f, "  {behaviour}: {message}")?;
        }
        Ok(())
    }
}

/// Carries out a behaviour at a place that is cleared before and after. The behaviour is boxed: this code is there once, and not once for each.
async fn at_a_clear(place: &Place<'_>, behaviour: Later<'_, Outcome>) -> Outcome {
    place.clear().await.map_err(|error| format!("the place cannot be cleared: {error}"))?;
    let outcome = behaviour.await;
    outcome.and(place.clear().await.map_err(|error| format!("cleaning up: {error}")))
}

/// Runs every behaviour against handles that `open` gives, one after the other.
///
/// Each call of `open` must give a new handle onto the same place; the suite closes the handles that it opens. A behaviour
/// that fails does not stop the others. Values of up to 8 MB are written, and removed again.
pub async fn run_all<S: Store + 'static>(open: impl AsyncFn() -> S) -> Report {
    let open = || -> Later<'_, Handle> { Box::pin(async { Handle::new(open().await) }) };
    let mut report = Report::default();
    macro_rules! run {
        ($($file:ident :: $name:ident),+ $(,)?) => {$(
            let prefix = concat!("contract/", stringify!($file), "/", stringify!($name), "/");
            let place = Place { prefix, open: &open };
            let outcome = at_a_clear(&place, Box::pin($file::$name(&place))).await;
            report.note(concat!(stringify!($file), "::", stringify!($name)), outcome);
        )+};
    }
    run!(
        order::keys_come_back_in_byte_order,
        order::reversed_is_the_mirror,
        order::limits_cut_at_the_right_end,
        ranges::start_is_in_and_end_is_out,
        ranges::bounds_may_lie_right_behind_a_key,
        ranges::empty_and_backward_ranges_give_nothing,
        ranges::prefixes_do_not_spill,
        ranges::range_deletes_leave_their_neighbours,
        ranges::many_records_come_in_one_scan,
        bytes::every_byte_value_survives,
        bytes::empty_values_are_values,
        bytes::large_values_survive,
        bytes::odd_keys_survive,
        atomic::all_or_nothing,
        atomic::deletes_come_before_puts,
        atomic::the_last_put_of_a_key_wins,
        atomic::an_empty_commit_does_nothing,
        atomic::relaxed_commits_are_seen_at_once,
        conditions::absent_refuses_what_is_there,
        conditions::present_refuses_what_is_not,
        conditions::conditions_look_at_what_was_before,
        conditions::a_key_that_was_deleted_is_absent,
        isolation::a_second_handle_sees_what_is_acknowledged,
        isolation::one_of_two_rivals_wins,
        isolation::overlapping_commits_all_land,
        isolation::sequence_numbers_hold_with_two_writers,
        isolation::scans_see_no_half_commit,
        close::a_closed_store_says_so,
        close::closing_one_handle_leaves_the_others,
    );
    report
}

/// The place under test as one behaviour sees it: its own prefix, and as many handles as it likes.
struct Place<'a> {
    prefix: &'static str,
    open: &'a dyn Fn() -> Later<'a, Handle>,
}

impl<'a> Place<'a> {
    /// One more handle.
    fn open(&self) -> Later<'a, Handle> {
        (self.open)()
    }

    /// A key of this behaviour.
    fn key(&self, rest: &str) -> String {
        format!("{}{rest}", self.prefix)
    }

    /// A record of this behaviour.
    fn record(&self, rest: &str, value: &[u8]) -> Record {
        (self.key(rest), value.to_vec())
    }

    /// Everything of this behaviour.
    fn all(&self) -> Scan {
        Scan::prefix(self.prefix)
    }

    /// Removes what this behaviour left, through a handle of its own.
    async fn clear(&self) -> Result<(), StoreError> {
        let Scan { start, end, .. } = self.all();
        let store = self.open().await;
        store.commit(Commit { delete_ranges: vec![(start, end)], ..Commit::default() }).await?;
        store.close().await
    }

    /// The keys of `records` without the prefix, for short messages.
    fn names(&self, records: &[Record]) -> Vec<String> {
        records.iter().map(|(key, _)| key.strip_prefix(self.prefix).unwrap_or(key).to_owned()).collect()
    }
}

/// A commit that writes `puts` and nothing else.
fn put(puts: Vec<Record>) -> Commit {
    Commit { puts, ..Commit::default() }
}

/// The value of `result`, or its error as the outcome of the behaviour.
fn ok<T>(doing: &str, result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| format!("{doing}: {error}"))
}

/// Two values that must be the same.
fn same<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, found {found:?}")) }
}

/// A result that must be a conflict about one of `keys`.
fn conflict(what: &str, result: Result<(), StoreError>, keys: &[String]) -> Outcome {
    match result {
        Err(StoreError::Conflict { key }) if keys.contains(&key) => Ok(()),
        Err(StoreError::Conflict { key }) => Err(format!("{what}: the conflict names {key:?}, not one of {keys:?}")),
        Err(error) => Err(format!("{what}: expected a conflict, found {error:?}")),
        Ok(()) => Err(format!("{what}: expected a conflict, but it was committed")),
    }
}

/// Runs futures side by side until all are done; the results in the order of the futures.
async fn together<T>(futures: Vec<Later<'_, T>>) -> Vec<T> {
    let mut slots: Vec<_> = futures.into_iter().map(|future| (future, None)).collect();
    poll_fn(move |context| {
        let mut waiting = false;
        for (future, done) in &mut slots {
            if done.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *done = Some(value),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            Poll::Pending
        } else {
            Poll::Ready(slots.iter_mut().filter_map(|(_, done)| done.take()).collect())
        }
    })
    .await
}

/// Lets every other future have its turn once.
async fn pause() {
    let mut paused = false;
    let wait = poll_fn(move |context| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    });
    pin!(wait).await;
}
