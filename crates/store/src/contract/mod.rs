//! The behaviours that every [`Store`] must have, as a suite that runs against any backend.
//!
//! In goes a function that opens one more handle onto the place under test; out comes a [`Report`] of what holds and what
//! does not. The suite needs no test framework, so it runs natively, in a browser, and for a backend written in JavaScript.
//! Every behaviour works below a key prefix of its own and clears it first: the place may hold other data, and a suite can
//! be run twice on it. One file holds one kind of behaviour, as lists of steps or as code.
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

#![allow(non_upper_case_globals)] // A behaviour has the name that reports give it, whether it is a constant or a function.

mod atomic;
mod bytes;
mod close;
mod conditions;
mod handle;
mod isolation;
mod order;
mod place;
mod ranges;
mod step;

use std::fmt;

use self::handle::{Handle, Later, Outcome};
use self::place::Place;
use self::step::{Ask, CLOSING, Due, NOTHING, Plan, Steps};
use crate::{Store, StoreError};

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

/// What a behaviour is made of.
enum Behaviour {
    /// Steps of one handle.
    Steps(Steps<'static>),
    /// Code with two handles, where steps do not suffice.
    Code(for<'a> fn(&'a Place<'_>, &'a Handle, &'a Handle) -> Later<'a, Outcome>),
}

/// The table of all behaviours, with their names in reports and the prefixes of their keys.
macro_rules! behaviours {
    (@steps $behaviour:path) => { Behaviour::Steps($behaviour) };
    (@code $behaviour:path) => { Behaviour::Code(|place, first, second| Box::pin($behaviour(place, first, second))) };
    ($($kind:ident $file:ident :: $name:ident)+) => {
        &[$((
            concat!(stringify!($file), "::", stringify!($name)),
            concat!("contract/", stringify!($file), "/", stringify!($name), "/"),
            behaviours!(@$kind $file::$name),
        )),+]
    };
}

const BEHAVIOURS: &[(&str, &str, Behaviour)] = behaviours! {
    steps order::keys_come_back_in_byte_order
    steps order::reversed_is_the_mirror
    steps order::limits_cut_at_the_right_end
    steps ranges::start_is_in_and_end_is_out
    steps ranges::bounds_may_lie_right_behind_a_key
    steps ranges::empty_and_backward_ranges_give_nothing
    steps ranges::prefixes_do_not_spill
    steps ranges::range_deletes_leave_their_neighbours
    code ranges::many_records_come_in_one_scan
    steps bytes::every_byte_value_survives
    steps bytes::empty_values_are_values
    code bytes::large_values_survive
    code bytes::odd_keys_survive
    steps atomic::all_or_nothing
    steps atomic::deletes_come_before_puts
    steps atomic::the_last_put_of_a_key_wins
    steps atomic::an_empty_commit_does_nothing
    code atomic::relaxed_commits_are_seen_at_once
    steps conditions::absent_refuses_what_is_there
    steps conditions::present_refuses_what_is_not
    steps conditions::conditions_look_at_what_was_before
    steps conditions::a_key_that_was_deleted_is_absent
    code isolation::a_second_handle_sees_what_is_acknowledged
    code isolation::one_of_two_rivals_wins
    code isolation::overlapping_commits_all_land
    code isolation::sequence_numbers_hold_with_two_writers
    code isolation::scans_see_no_half_commit
    code close::a_closed_store_says_so
    code close::closing_one_handle_leaves_the_others
};

impl Behaviour {
    /// Carries the behaviour out and closes what it opened.
    async fn at(&self, place: &Place<'_>) -> Outcome {
        match self {
            Self::Steps(steps) => place.alone(steps).await,
            Self::Code(code) => {
                let (first, second) = (place.open().await?, place.open().await?);
                code(place, &first, &second).await?;
                place.step(&first, CLOSING).await?;
                place.step(&second, CLOSING).await
            }
        }
    }
}

/// Removes what a behaviour left.
const CLEAR: Ask<'_> = Ask::Commit(&Plan { delete_ranges: &[("", "\u{7f}")], ..NOTHING });

/// Runs every behaviour against handles that `open` gives, one after the other.
///
/// Each call of `open` must give a new handle onto the same place; the suite closes the handles that it opens. A behaviour
/// that fails does not stop the others. Values of up to 8 MB are written, and removed again.
pub async fn run_all<S: Store + 'static>(open: impl AsyncFn() -> S) -> Report {
    try_run_all(async || Ok(open().await)).await
}

/// [`run_all`] for a place that may fail to open. A behaviour that gets no handle fails with that error.
pub async fn try_run_all<S: Store + 'static>(open: impl AsyncFn() -> Result<S, StoreError>) -> Report {
    let open = || -> Later<'_, Result<Handle, String>> {
        Box::pin(async { open().await.map(Handle::new).map_err(|error| format!("opening: {error}")) })
    };
    run(&open).await
}

/// [`try_run_all`] behind a pointer.
async fn run<'a>(open: &'a dyn Fn() -> Later<'a, Result<Handle, String>>) -> Report {
    let mut report = Report::default();
    for (name, prefix, behaviour) in BEHAVIOURS {
        let place = Place { prefix, open };
        let outcome = match place.alone(&[("the place cannot be cleared", CLEAR, Due::Done)]).await {
            // Cleared after a failure, too, which is then the outcome.
            Ok(()) => behaviour.at(&place).await.and(place.alone(&[("cleaning up", CLEAR, Due::Done)]).await),
            failed => failed,
        };
        report.note(name, outcome);
    }
    report
}
