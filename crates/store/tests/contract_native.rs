//! The contract on the memory store, and on stores with one fault each: the suite must find every fault.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)] // A test that cannot go on says where.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use threadkeep_store::{Commit, Durability, MemoryStore, Record, Scan, Scoped, Store, StoreError, contract};

#[test]
fn memory_keeps_the_contract() {
    let place = MemoryStore::new();
    let report = pollster::block_on(contract::run_all(async || place.clone()));
    report.assert_passed();
    assert!(report.passed.len() >= 29, "{report}");
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    IgnoresReverse,
    CutsBoundsAtControls,
    TurnsBackwardRangesRound,
    PrefixesWithoutTheirSlash,
    PagesOfAThousand,
    ValuesAreText,
    CutsLongKeys,
    SkipsEmptyCommits,
    LosesRelaxed,
    RemembersDeleted,
    ReadsFromACache,
    LosesOverlapping,
}

/// A store that gives others their turn before each operation, as one that does I/O would, and has one fault.
struct Faulty {
    inner: MemoryStore,
    fault: Fault,
    closed: Cell<bool>,
    cache: RefCell<HashMap<String, Option<Vec<u8>>>>,
    shared: Rc<Shared>,
}

/// What all handles of one faulty store share.
#[derive(Default)]
struct Shared {
    closed: Cell<bool>,
    deleted: RefCell<HashSet<String>>,
    writing: Cell<usize>,
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
    /// `commit` as a store with this fault takes it down.
    fn changed(&self, mut commit: Commit) -> Commit {
        match self.fault {
            Fault::IgnoresPresent => commit.present.clear(),
            Fault::IgnoresAbsent => commit.absent.clear(),
            Fault::RangesSpill => {
                for (_, end) in &mut commit.delete_ranges {
                    end.push('\0');
                }
            }
            Fault::DropsTheSecondPut => {
                let mut seen = HashSet::new();
                commit.puts.retain(|(key, _)| seen.insert(key.clone()));
            }
            Fault::ValuesAreText => {
                for (_, value) in &mut commit.puts {
                    *value = String::from_utf8_lossy(value).into_owned().into_bytes();
                }
            }
            Fault::CutsLongKeys => commit.puts.iter_mut().for_each(|(key, _)| key.truncate(1_000)),
            _ => {}
        }
        commit
    }

    /// Carries `commit` out, in steps that a store with this fault takes.
    async fn in_wrong_steps(&self, mut commit: Commit) -> Result<(), StoreError> {
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
            _ => {}
        }
        self.inner.commit(commit).await
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.closed.get() || self.shared.closed.get() { Err(StoreError::Closed) } else { Ok(()) }
    }
}

impl Store for Faulty {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.check()?;
        yielding().await;
        let value = self.inner.get(key).await?;
        Ok(match self.fault {
            Fault::ReadsFromACache => self.cache.borrow_mut().entry(key.to_owned()).or_insert(value).clone(),
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
            Fault::IgnoresReverse => scan.reverse = false,
            Fault::CutsBoundsAtControls => {
                scan.start = scan.start.trim_end_matches('\0').to_owned();
                scan.end = scan.end.trim_end_matches('\0').to_owned();
            }
            Fault::TurnsBackwardRangesRound if scan.end < scan.start => std::mem::swap(&mut scan.start, &mut scan.end),
            Fault::PrefixesWithoutTheirSlash => scan.start = scan.start.trim_end_matches('/').to_owned(),
            Fault::PagesOfAThousand => scan.limit = Some(scan.limit.unwrap_or(1_000).min(1_000)),
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

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.check()?;
        self.cache.borrow_mut().clear();
        self.shared.writing.set(self.shared.writing.get() + 1);
        let alone = self.shared.writing.get() == 1;
        yielding().await;
        self.shared.writing.set(self.shared.writing.get() - 1);
        match self.fault {
            Fault::LosesOverlapping if !alone => Ok(()),
            Fault::LosesRelaxed if commit.durability == Durability::Relaxed => Ok(()),
            Fault::SkipsEmptyCommits
                if commit.puts.is_empty() && commit.deletes.is_empty() && commit.delete_ranges.is_empty() =>
            {
                Ok(())
            }
            Fault::RemembersDeleted => {
                let deleted = &self.shared.deleted;
                if let Some(key) = commit.absent.iter().find(|key| deleted.borrow().contains(*key)) {
                    return Err(StoreError::Conflict { key: key.clone() });
                }
                deleted.borrow_mut().extend(commit.deletes.iter().cloned());
                self.inner.commit(commit).await
            }
            _ => self.in_wrong_steps(self.changed(commit)).await,
        }
    }

    async fn close(&self) -> Result<(), StoreError> {
        match self.fault {
            Fault::StaysOpen => {}
            Fault::ClosesForAll => self.shared.closed.set(true),
            _ => self.closed.set(true),
        }
        Ok(())
    }
}

fn run(fault: Fault) -> contract::Report {
    let place = MemoryStore::new();
    let shared = Rc::new(Shared::default());
    pollster::block_on(contract::run_all(async || {
        // A place that one handle has closed is opened again by the next.
        if fault == Fault::ClosesForAll {
            shared.closed.set(false);
        }
        Faulty {
            inner: place.clone(),
            fault,
            closed: Cell::new(false),
            cache: RefCell::default(),
            shared: shared.clone(),
        }
    }))
}

#[test]
fn a_store_that_waits_keeps_the_contract() {
    run(Fault::None).assert_passed();
}

/// Each fault with a behaviour that finds it.
const FINDS: &[(Fault, &str)] = &[
    (Fault::Unsorted, "order::keys_come_back_in_byte_order"),
    (Fault::IgnoresReverse, "order::reversed_is_the_mirror"),
    (Fault::LimitFromTheWrongEnd, "order::limits_cut_at_the_right_end"),
    (Fault::ZeroIsAll, "order::limits_cut_at_the_right_end"),
    (Fault::EndIsIn, "ranges::start_is_in_and_end_is_out"),
    (Fault::StartIsOut, "ranges::start_is_in_and_end_is_out"),
    (Fault::CutsBoundsAtControls, "ranges::bounds_may_lie_right_behind_a_key"),
    (Fault::TurnsBackwardRangesRound, "ranges::empty_and_backward_ranges_give_nothing"),
    (Fault::PrefixesWithoutTheirSlash, "ranges::prefixes_do_not_spill"),
    (Fault::RangesSpill, "ranges::range_deletes_leave_their_neighbours"),
    (Fault::PagesOfAThousand, "ranges::many_records_come_in_one_scan"),
    (Fault::ValuesAreText, "bytes::every_byte_value_survives"),
    (Fault::LosesEmptyValues, "bytes::empty_values_are_values"),
    (Fault::CutsLargeValues, "bytes::large_values_survive"),
    (Fault::CutsLongKeys, "bytes::odd_keys_survive"),
    (Fault::WritesBeforeConditions, "atomic::all_or_nothing"),
    (Fault::PutsBeforeDeletes, "atomic::deletes_come_before_puts"),
    (Fault::DropsTheSecondPut, "atomic::the_last_put_of_a_key_wins"),
    (Fault::SkipsEmptyCommits, "atomic::an_empty_commit_does_nothing"),
    (Fault::LosesRelaxed, "atomic::relaxed_commits_are_seen_at_once"),
    (Fault::IgnoresAbsent, "conditions::absent_refuses_what_is_there"),
    (Fault::NamesNoKey, "conditions::absent_refuses_what_is_there"),
    (Fault::IgnoresPresent, "conditions::present_refuses_what_is_not"),
    (Fault::ConditionsAfterDeletes, "conditions::conditions_look_at_what_was_before"),
    (Fault::RemembersDeleted, "conditions::a_key_that_was_deleted_is_absent"),
    (Fault::ReadsFromACache, "isolation::a_second_handle_sees_what_is_acknowledged"),
    (Fault::ConditionsInAStepOfTheirOwn, "isolation::one_of_two_rivals_wins"),
    (Fault::LosesOverlapping, "isolation::overlapping_commits_all_land"),
    (Fault::ConditionsInAStepOfTheirOwn, "isolation::sequence_numbers_hold_with_two_writers"),
    (Fault::WritesInSteps, "isolation::scans_see_no_half_commit"),
    (Fault::StaysOpen, "close::a_closed_store_says_so"),
    (Fault::ClosesForAll, "close::closing_one_handle_leaves_the_others"),
];

#[test]
fn every_fault_is_found_where_it_lies() {
    let mut reports = HashMap::new();
    for (fault, behaviour) in FINDS {
        let report = reports.entry(*fault).or_insert_with(|| run(*fault));
        assert!(
            report.failures.iter().any(|failure| failure.behaviour == *behaviour),
            "{fault:?} should break {behaviour}, but:\n{report}"
        );
    }
}

#[test]
fn every_behaviour_finds_a_fault() {
    for behaviour in run(Fault::None).passed {
        assert!(FINDS.iter().any(|(_, found)| *found == behaviour), "no broken store shows that {behaviour} can fail");
    }
}
