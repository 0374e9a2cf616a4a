//! Reading around damage: a scan that goes on where one record cannot be read.

use crate::{Scan, Store, StoreError};

/// A key, and its value or why that cannot be read.
pub type Found = (String, Result<Vec<u8>, String>);

/// After a damaged record so few are read at once, and then twice as many each time.
const FEW: usize = 16;

/// The records of a range, as [`Store::scan`] gives them. A record that the store calls damaged does not end the scan: it is
/// among the others, with the reason instead of the value. A store names it by the `key` of [`StoreError::Corrupt`].
///
/// One reading where nothing is damaged. Around damage there are several, so that this is no consistent reading then.
///
/// # Errors
/// The store's: all but [`StoreError::Corrupt`] with a key of the range.
///
/// ```
/// # use threadkeep_store::{Commit, MemoryStore, Scan, Store, around};
/// # pollster::block_on(async {
/// let store = MemoryStore::new();
/// store.commit(Commit { puts: vec![("a".into(), b"1".to_vec())], ..Commit::default() }).await?;
/// assert_eq!(around::scan(&store, &Scan::prefix("")).await?, [("a".to_owned(), Ok(b"1".to_vec()))]);
/// # Ok::<(), threadkeep_store::StoreError>(())
/// # }).unwrap();
/// ```
pub async fn scan(store: &impl Store, range: &Scan) -> Result<Vec<Found>, StoreError> {
    let mut found: Vec<Found> = Vec::new();
    let mut rest = range.clone();
    // How many at once; all of them before the first damage.
    let mut step = usize::MAX;
    loop {
        let left = range.limit.map_or(usize::MAX, |limit| limit - found.len());
        if left == 0 {
            return Ok(found);
        }
        let asked = step.min(left);
        rest.limit = (asked != usize::MAX).then_some(asked);
        match store.scan(&rest).await {
            Ok(records) => {
                let more = records.len() == asked;
                if let Some((key, _)) = records.last() {
                    rest = beyond(&rest, key);
                }
                found.extend(records.into_iter().map(|(key, value)| (key, Ok(value))));
                if !more {
                    return Ok(found);
                }
                step = step.saturating_mul(2);
            }
            Err(StoreError::Corrupt { key, why }) if (&rest.start..&rest.end).contains(&&key) => {
                // What comes before it may be damaged, too: another is named then.
                let before = Scan { limit: range.limit.map(|_| left), ..before(&rest, &key) };
                found.extend(Box::pin(scan(store, &before)).await?);
                if range.limit.is_none_or(|limit| found.len() < limit) {
                    rest = beyond(&rest, &key);
                    found.push((key, Err(why)));
                }
                step = FEW;
            }
            Err(error) => return Err(error),
        }
    }
}

/// What of a range is read after `key`.
fn beyond(range: &Scan, key: &str) -> Scan {
    if range.reverse {
        Scan { end: key.to_owned(), ..range.clone() }
    } else {
        Scan { start: after(key), ..range.clone() }
    }
}

/// What of a range is read before `key`.
fn before(range: &Scan, key: &str) -> Scan {
    if range.reverse {
        Scan { start: after(key), ..range.clone() }
    } else {
        Scan { end: key.to_owned(), ..range.clone() }
    }
}

/// The least key that is greater than `key`.
fn after(key: &str) -> String {
    [key, "\0"].concat()
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{Commit, MemoryStore, Record};

    /// A store some of whose records are damaged; a reading names one of them.
    struct Damaged {
        store: MemoryStore,
        keys: BTreeSet<String>,
        /// Whether it is the last of a range and not the first.
        last: bool,
    }

    impl Store for Damaged {
        async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
            self.store.get(key).await
        }

        async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
            let found = self.store.scan(scan).await?;
            let mut damaged = found.iter().filter(|(key, _)| self.keys.contains(key));
            match if self.last { damaged.next_back() } else { damaged.next() } {
                Some((key, _)) => Err(StoreError::Corrupt { key: key.clone(), why: "bits".to_owned() }),
                None => Ok(found),
            }
        }

        async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
            self.store.commit(commit).await
        }

        async fn close(&self) -> Result<(), StoreError> {
            self.store.close().await
        }
    }

    proptest! {
        #[test]
        fn a_reading_around_damage_gives_every_key_of_the_range_in_order(
            damaged in proptest::collection::btree_set(0u8..100, 0..40),
            (from, to) in (0u8..100, 0u8..100),
            limit in proptest::option::of(0usize..110),
            reverse: bool,
            last: bool,
        ) {
            let key = |number: u8| format!("{number:02}");
            let store = MemoryStore::new();
            let puts = (0..100).map(|number| (key(number), vec![number])).collect();
            pollster::block_on(store.commit(Commit { puts, ..Commit::default() })).unwrap();
            let range = Scan { start: key(from), end: key(to), limit, reverse };
            let keys = damaged.iter().map(|number| key(*number)).collect();
            let found = pollster::block_on(scan(&Damaged { store, keys, last }, &range)).unwrap();
            let mut expected: Vec<Found> = (from..to)
                .map(|number| (key(number), if damaged.contains(&number) { Err("bits".to_owned()) } else { Ok(vec![number]) }))
                .collect();
            if reverse {
                expected.reverse();
            }
            expected.truncate(limit.unwrap_or(usize::MAX));
            prop_assert_eq!(found, expected);
        }
    }
}
