//! The contract on the memory store, and on stores with one fault each: the suite must find every fault.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // A test that cannot go on says where.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use threadkeep_store::{Commit, MemoryStore, Record, Scan, Scoped, Store, StoreError, contract};

#[test]
fn memory_keeps_the_contract() {
    let place = MemoryStore::new();
    let report = pollster::block_on(contract::run_all(async || place.clone()));
    report.assert_passed();
    assert!(report.passed.len() >= 28, "{report}");
}

#[test]
fn a_scope_keeps_the_contract_beside_others() {
    let place = MemoryStore::new();
    pollster::block_on(async {
        let other = Scoped::new(place.clone(), "contract").unwrap();
        other.commit(Commit { puts: vec![("contract/x".to_owned(), vec![1])], ..Commit::default() }).await.unwrap();
        let before = place.scan(&Scan::range("", "~")).await.unwrap();
        contract::run_all(async || Scoped::new(place.clone(), "ann/ü").unwrap()).await.assert_passed();
        contract::run_all(async || Scoped::whole(place.clone())).await.assert_passed();
        assert_eq!(place.scan(&Scan::range("", "~")).await.unwrap(), before, "nothing else was touched");
    });
}

#[test]
fn the_suite_can_run_twice_and_beside_other_data() {
    let place = MemoryStore::new();
    let other = vec![("contract".to_owned(), vec![1]), ("contract0".to_owned(), vec![2]), ("t/x".to_owned(), vec![3])];
    pollster::block_on(async {
        place.commit(Commit { puts: other.clone(), ..Commit::default() }).await.unwrap();
        for _ in 0..2 {
            contract::run_all(async || place.clone()).await.assert_passed();
        }
        assert_eq!(place.scan(&Scan::range("", "~")).await.unwrap(), other, "the suite cleans up after itself");
    });
}

/// One way to be wrong, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Unsorted,
    EndIsIn,
    StartIsOut,
    LimitFromTheWrongEnd,
    ZeroIsAll,
    LosesEmptyValues,
    CutsLargeValues,
    WritesBeforeConditions,
    WritesInSteps,
    ConditionsInAStepOfTheirOwn,
    IgnoresPresent,
    IgnoresAbsent,
    NamesNoKey,
    PutsBeforeDeletes,
    ConditionsAfterDeletes,
    RangesSpill,
    StaysOpen,
    ClosesForAll,
    DropsTheSecondPut,
}

/// A store that gives others their turn before each operation, as one that does I/O would, and has one fault.
struct Faulty {
    inner: MemoryStore,
    fault: Fault,
    closed: Cell<bool>,
    all_closed: std::rc::Rc<Cell<bool>>,
}

async fn yielding() {
    let mut first = true;
    poll_fn(|context| {
        if std::mem::take(&mut first) {
            context.waker().wake_by_ref();
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
}

impl Faulty {
    fn check(&self) -> Result<(), StoreError> {
        if self.closed.get() || self.all_closed.get() { Err(StoreError::Closed) } else { Ok(()) }
    }
}

impl Store for Faulty {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.check()?;
        yielding().await;
        let value = self.inner.get(key).await?;
        Ok(match self.fault {
            Fault::LosesEmptyValues => value.filter(|value| !value.is_empty()),
            Fault::CutsLargeValues => value.map(|value| value.into_iter().take(1 << 20).collect()),
            _ => value,
        })
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.check()?;
        yielding().await;
        let mut scan = scan.clone();
        match self.fault {
            Fault::EndIsIn => scan.end.push('\0'),
            Fault::StartIsOut => scan.start.push('\0'),
            Fault::ZeroIsAll if scan.limit == Some(0) => scan.limit = None,
            Fault::LimitFromTheWrongEnd if scan.reverse => {
                let limit = scan.limit.unwrap_or(usize::MAX);
                let mut found = self.inner.scan(&Scan { reverse: false, ..scan }).await?;
                found.truncate(limit);
                found.reverse();
                return Ok(found);
            }
            _ => {}
        }
        let mut found = self.inner.scan(&scan).await?;
        if self.fault == Fault::Unsorted && found.len() > 2 {
            found.swap(0, 1);
        }
        Ok(found)
    }

    async fn commit(&self, mut commit: Commit) -> Result<(), StoreError> {
        self.check()?;
        yielding().await;
        match self.fault {
            Fault::WritesBeforeConditions => {
                let first: Vec<_> = commit.puts.iter().take(1).cloned().collect();
                let conditions = Commit { puts: Vec::new(), ..commit.clone() };
                let result = self.inner.commit(conditions).await;
                self.inner.commit(Commit { puts: first, ..Commit::default() }).await?;
                result?;
            }
            Fault::WritesInSteps if commit.puts.len() > 1 => {
                let rest = commit.puts.split_off(1);
                self.inner.commit(commit).await?;
                yielding().await;
                return self.inner.commit(Commit { puts: rest, ..Commit::default() }).await;
            }
            Fault::ConditionsInAStepOfTheirOwn => {
                let conditions = Commit { absent: commit.absent, present: commit.present, ..Commit::default() };
                self.inner.commit(conditions).await?;
                yielding().await;
                commit.absent = Vec::new();
                commit.present = Vec::new();
            }
            Fault::IgnoresPresent => commit.present.clear(),
            Fault::IgnoresAbsent => commit.absent.clear(),
            Fault::NamesNoKey => {
                return self.inner.commit(commit).await.map_err(|error| match error {
                    StoreError::Conflict { .. } => StoreError::Conflict { key: String::new() },
                    error => error,
                });
            }
            Fault::PutsBeforeDeletes => {
                let conditions = Commit { absent: commit.absent, present: commit.present, ..Commit::default() };
                self.inner.commit(conditions).await?;
                self.inner.commit(Commit { puts: commit.puts, ..Commit::default() }).await?;
                commit = Commit { deletes: commit.deletes, delete_ranges: commit.delete_ranges, ..Commit::default() };
            }
            Fault::ConditionsAfterDeletes => {
                let deletes = Commit {
                    deletes: std::mem::take(&mut commit.deletes),
                    delete_ranges: std::mem::take(&mut commit.delete_ranges),
                    ..Commit::default()
                };
                self.inner.commit(deletes).await?;
            }
            Fault::RangesSpill => {
                for (_, end) in &mut commit.delete_ranges {
                    end.push('\0');
                }
            }
            Fault::DropsTheSecondPut => {
                let mut seen = std::collections::HashSet::new();
                commit.puts.retain(|(key, _)| seen.insert(key.clone()));
            }
            _ => {}
        }
        self.inner.commit(commit).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        match self.fault {
            Fault::StaysOpen => {}
            Fault::ClosesForAll => self.all_closed.set(true),
            _ => self.closed.set(true),
        }
        Ok(())
    }
}

fn run(fault: Fault) -> contract::Report {
    let place = MemoryStore::new();
    let all_closed = std::rc::Rc::new(Cell::new(false));
    pollster::block_on(contract::run_all(async || {
        // A place that one handle has closed is opened again by the next.
        if fault == Fault::ClosesForAll {
            all_closed.set(false);
        }
        Faulty { inner: place.clone(), fault, closed: Cell::new(false), all_closed: all_closed.clone() }
    }))
}

#[test]
fn a_store_that_waits_keeps_the_contract() {
    run(Fault::None).assert_passed();
}

#[test]
fn every_fault_is_found_where_it_lies() {
    let finds = [
        (Fault::Unsorted, "order::keys_come_back_in_byte_order"),
        (Fault::EndIsIn, "ranges::start_is_in_and_end_is_out"),
        (Fault::StartIsOut, "ranges::start_is_in_and_end_is_out"),
        (Fault::LimitFromTheWrongEnd, "order::limits_cut_at_the_right_end"),
        (Fault::ZeroIsAll, "order::limits_cut_at_the_right_end"),
        (Fault::LosesEmptyValues, "bytes::empty_values_are_values"),
        (Fault::CutsLargeValues, "bytes::large_values_survive"),
        (Fault::WritesBeforeConditions, "atomic::all_or_nothing"),
        (Fault::WritesInSteps, "isolation::scans_see_no_half_commit"),
        (Fault::ConditionsInAStepOfTheirOwn, "isolation::sequence_numbers_hold_with_two_writers"),
        (Fault::ConditionsInAStepOfTheirOwn, "isolation::one_of_two_rivals_wins"),
        (Fault::IgnoresPresent, "conditions::present_refuses_what_is_not"),
        (Fault::IgnoresAbsent, "conditions::absent_refuses_what_is_there"),
        (Fault::NamesNoKey, "conditions::absent_refuses_what_is_there"),
        (Fault::PutsBeforeDeletes, "atomic::deletes_come_before_puts"),
        (Fault::ConditionsAfterDeletes, "conditions::conditions_look_at_what_was_before"),
        (Fault::RangesSpill, "ranges::range_deletes_leave_their_neighbours"),
        (Fault::StaysOpen, "close::a_closed_store_says_so"),
        (Fault::ClosesForAll, "close::closing_one_handle_leaves_the_others"),
        (Fault::DropsTheSecondPut, "atomic::the_last_put_of_a_key_wins"),
    ];
    for (fault, behaviour) in finds {
        let report = run(fault);
        assert!(
            report.failures.iter().any(|failure| failure.behaviour == behaviour),
            "{fault:?} should break {behaviour}, but:\n{report}"
        );
    }
}
