//! The place under test as one behaviour sees it: keys of its own, and what was found there against what was expected.

use std::fmt::Write as _;

use super::handle::{Handle, Later, Outcome};
use super::step::{Ask, CLOSING, Due, Found, NOTHING, Pair, Plan, Span, Step, Steps};
use crate::{Commit, Record, Scan, StoreError};

/// The place under test as one behaviour sees it: its own prefix, and as many handles as it likes.
pub(super) struct Place<'a> {
    pub(super) prefix: &'static str,
    pub(super) open: &'a dyn Fn() -> Later<'a, Result<Handle, String>>,
}

impl<'a> Place<'a> {
    /// One more handle.
    pub(super) fn open(&self) -> Later<'a, Result<Handle, String>> {
        (self.open)()
    }

    /// A key of this behaviour.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn keys(&self, names: &[&str]) -> Vec<String> {
        names.iter().map(|name| self.key(name)).collect()
    }

    /// The scan that `span` stands for.
    pub(super) fn scan(&self, Span { start, end, limit, reverse }: Span<'_>) -> Scan {
        let start = self.key(start);
        let scan = match end {
            Some(end) => Scan::range(start, self.key(end)),
            None => Scan::prefix(&start),
        };
        Scan { limit, reverse, ..scan }
    }

    /// The commit that `plan` stands for.
    pub(super) fn commit(&self, plan: &Plan<'_>) -> Commit {
        Commit {
            absent: self.keys(plan.absent),
            present: self.keys(plan.present),
            deletes: self.keys(plan.deletes),
            delete_ranges: plan.delete_ranges.iter().map(|(start, end)| (self.key(start), self.key(end))).collect(),
            puts: plan.puts.iter().map(|(name, value)| (self.key(name), value.to_vec())).collect(),
            durability: plan.durability,
        }
    }

    /// Records that must be the expected ones.
    pub(super) fn same(&self, what: &str, found: &[Record], expected: &[Pair<'_>]) -> Outcome {
        let is = |(key, value): &Record, (name, due): &Pair<'_>| {
            key.strip_prefix(self.prefix) == Some(*name) && value == due
        };
        let alike = found.iter().zip(expected).take_while(|(found, expected)| is(found, expected)).count();
        if alike == found.len() && alike == expected.len() {
            return Ok(());
        }
        let found: Vec<Pair<'_>> =
            found.iter().map(|(key, value)| (key.strip_prefix(self.prefix).unwrap_or(key), &value[..])).collect();
        Err(format!("{what}: expected {}, found {}", shown(expected, alike), shown(&found, alike)))
    }

    /// What was found, which must be what is due.
    pub(super) fn judge(&self, what: &str, found: Found, due: Due<'_>) -> Outcome {
        let keys = if let Due::Conflict(names) = due { self.keys(names) } else { Vec::new() };
        let expected = match (due, &found) {
            (Due::Done, Ok(_)) | (Due::Closed, Err(StoreError::Closed)) => return Ok(()),
            (Due::Conflict(_), Err(StoreError::Conflict { key })) if keys.contains(key) => return Ok(()),
            (Due::Gives(records), Ok(found)) => return self.same(what, found, records),
            (Due::Done | Due::Gives(_), Err(error)) => return Err(format!("{what}: {error}")),
            (Due::Conflict(_), _) => format!("a conflict about one of {keys:?}"),
            (Due::Closed, _) => "that the store is closed".to_owned(),
        };
        let found = found.err().map_or_else(|| "success".to_owned(), |error| error.to_string());
        Err(format!("{what}: expected {expected}, found {found}"))
    }
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

/// How many records a message shows, and how many bytes of a value.
const SHOWN: usize = 16;

/// Records as a message shows them: of many, those from the first that differs. A value that is the key's own name is left out.
fn shown(records: &[Pair<'_>], alike: usize) -> String {
    if records.is_empty() {
        return "nothing".to_owned();
    }
    let from = if records.len() > SHOWN { alike } else { 0 };
    let mut text = String::new();
    if records.len() > SHOWN {
        text = format!("{} records, from number {from} on ", records.len());
    }
    for (at, (name, value)) in records.iter().skip(from).take(SHOWN).enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        // Writing to a text cannot fail.
        let _ = write!(text, "{comma}{name:?}");
        if *value == name.as_bytes() {
            continue;
        }
        let _ = write!(text, " = {:?}", &value[..value.len().min(SHOWN)]);
        if value.len() > SHOWN {
            let sum = value.iter().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
            let _ = write!(text, "… ({} bytes, checksum {sum})", value.len());
        }
    }
    text
}
