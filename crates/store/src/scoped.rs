//! A scope: the part of a store whose keys begin with one prefix. [`Scoped`] is a [`Store`] that cannot name anything outside it.
//!
//! The scope `ann` has all keys that begin with `@ann/`, the name as [`escape`](crate::escape()) writes it. No key of an engine
//! begins with `@`, so engines without a scope never reach one. [`names`] lists the scopes of a store, and [`delete`] removes one.

use std::borrow::Cow;

use crate::{Commit, Record, Scan, Store, StoreError, around, escape, unescape};

/// Before the name of a scope.
const MARK: char = '@';
/// After the keys of all scopes, and before every other key of an engine.
pub const BEHIND_ALL: &str = "A";
/// The longest name of a scope, in bytes. Escaped, it makes a prefix of at most 386 characters.
pub const LONGEST: usize = 128;

/// A name that no scope can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a scope's name has 1 to {LONGEST} bytes, this one has {0}")]
pub struct BadScope(usize);

/// One scope of a store, as a [`Store`] of its own. Keys, ranges, conflicts and reports of damage are the scope's, without the prefix.
///
/// ```
/// use threadkeep_store::{Commit, MemoryStore, Scoped, Store};
///
/// # pollster::block_on(async {
/// let store = MemoryStore::new();
/// let ann = Scoped::new(store.clone(), "ann")?;
/// ann.commit(Commit { puts: vec![("key".into(), b"hers".to_vec())], ..Commit::default() }).await?;
/// assert_eq!(Scoped::new(store.clone(), "bob")?.get("key").await?, None);
/// assert_eq!(store.get("@ann/key").await?, Some(b"hers".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Scoped<S> {
    store: S,
    /// Before every key; empty without a scope.
    prefix: String,
}

impl<S> Scoped<S> {
    /// The scope `name` of `store`. It need not be made: its first record makes it.
    ///
    /// # Errors
    /// [`BadScope`] for an empty name, or one of more than [`LONGEST`] bytes.
    pub fn new(store: S, name: &str) -> Result<Self, BadScope> {
        Ok(Self { store, prefix: prefix_of(name)? })
    }

    /// All of `store`, for a program that chooses at run time whether there is a scope.
    pub fn whole(store: S) -> Self {
        Self { store, prefix: String::new() }
    }

    fn key<'a>(&self, key: &'a str) -> Cow<'a, str> {
        if self.prefix.is_empty() { key.into() } else { [&self.prefix, key].concat().into() }
    }

    fn add(&self, key: &mut String) {
        key.insert_str(0, &self.prefix);
    }

    /// An error with the key as the caller knows it.
    fn own(&self, error: StoreError) -> StoreError {
        let own = |key: String| key.strip_prefix(&self.prefix).map(str::to_owned).unwrap_or(key);
        match error {
            StoreError::Conflict { key } => StoreError::Conflict { key: own(key) },
            StoreError::Corrupt { key, why } => StoreError::Corrupt { key: own(key), why },
            other => other,
        }
    }
}

impl<S: Store> Store for Scoped<S> {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(&self.key(key)).await.map_err(|error| self.own(error))
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        if self.prefix.is_empty() {
            return self.store.scan(scan).await;
        }
        // Both bounds begin with the prefix, so everything between them does.
        let range = Scan { start: self.key(&scan.start).into(), end: self.key(&scan.end).into(), ..scan.clone() };
        let mut records = self.store.scan(&range).await.map_err(|error| self.own(error))?;
        for (key, _) in &mut records {
            key.drain(..self.prefix.len());
        }
        Ok(records)
    }

    async fn commit(&self, mut commit: Commit) -> Result<(), StoreError> {
        if !self.prefix.is_empty() {
            let Commit { absent, present, deletes, delete_ranges, puts, durability: _ } = &mut commit;
            let bounds = delete_ranges.iter_mut().flat_map(|(start, end)| [start, end]);
            let keys = [absent, present, deletes].into_iter().flatten();
            keys.chain(bounds).chain(puts.iter_mut().map(|(key, _)| key)).for_each(|key| self.add(key));
        }
        self.store.commit(commit).await.map_err(|error| self.own(error))
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}

/// The names of at most `most` scopes of a whole store, those after the scope `after`, in the order of their keys. Each costs the
/// reading of one record.
///
/// # Errors
/// The store's.
///
/// ```
/// use threadkeep_store::{Commit, MemoryStore, scoped};
/// # use threadkeep_store::Store;
/// # pollster::block_on(async {
/// let store = MemoryStore::new();
/// let puts = ["@ann/a", "@ann/b", "@bob/a", "t/x"].map(|key| (key.into(), Vec::new())).into();
/// store.commit(Commit { puts, ..Commit::default() }).await?;
/// assert_eq!(scoped::names(&store, None, 100).await?, ["ann", "bob"]);
/// assert_eq!(scoped::names(&store, Some("ann"), 100).await?, ["bob"]);
/// # Ok::<(), threadkeep_store::StoreError>(())
/// # }).unwrap();
/// ```
pub async fn names(store: &impl Store, after: Option<&str>, most: usize) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    let mut start = after.map_or_else(|| MARK.to_string(), behind);
    while names.len() < most {
        let next = Scan::range(&*start, BEHIND_ALL).limit(1);
        let Some((key, _)) = around::scan(store, &next).await?.pop() else { break };
        start = match name_of(&key) {
            Some(name) => {
                let behind = behind(&name);
                names.push(name);
                behind
            }
            // Somebody else's key.
            None => [&*key, "\0"].concat(),
        };
    }
    Ok(names)
}

/// Removes all records of a scope of a whole store, in one commit. A writer whose commit has a condition on one of them gets a conflict.
///
/// # Errors
/// The store's.
pub async fn delete(store: &impl Store, name: &str) -> Result<(), StoreError> {
    let range = (format!("{MARK}{}/", escape(name)), behind(name));
    store.commit(Commit { delete_ranges: vec![range], ..Commit::default() }).await
}

fn prefix_of(name: &str) -> Result<String, BadScope> {
    if name.is_empty() || name.len() > LONGEST {
        return Err(BadScope(name.len()));
    }
    Ok(format!("{MARK}{}/", escape(name)))
}

/// The first key after those of a scope: `0` follows `/`.
fn behind(name: &str) -> String {
    format!("{MARK}{}0", escape(name))
}

/// The scope of a key.
fn name_of(key: &str) -> Option<String> {
    let (written, _) = key.strip_prefix(MARK)?.split_once('/')?;
    unescape(written).filter(|name| escape(name) == written && prefix_of(name).is_ok())
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::MemoryStore;

    fn put(keys: &[&str]) -> Commit {
        let puts = keys.iter().map(|key| ((*key).to_owned(), key.as_bytes().to_vec())).collect();
        Commit { puts, ..Commit::default() }
    }

    #[test]
    fn a_name_has_1_to_128_bytes() {
        let check = |name: &str| Scoped::new(MemoryStore::new(), name).map(drop).map_err(|error| error.to_string());
        assert_eq!(check("a"), Ok(()));
        assert_eq!(check(&"a".repeat(128)), Ok(()));
        assert_eq!(check(&"ä".repeat(64)), Ok(()));
        assert_eq!(check(""), Err("a scope's name has 1 to 128 bytes, this one has 0".to_owned()));
        assert_eq!(check(&"ä".repeat(65)), Err("a scope's name has 1 to 128 bytes, this one has 130".to_owned()));
        assert_eq!(prefix_of(&"/".repeat(128)).map(|prefix| prefix.len()), Ok(386));
    }

    #[test]
    fn conflicts_and_damage_name_the_key_without_the_prefix() {
        pollster::block_on(async {
            let ann = Scoped::new(MemoryStore::new(), "ann").unwrap();
            let commit = Commit { present: vec!["a".into()], ..Commit::default() };
            assert_eq!(ann.commit(commit).await, Err(StoreError::Conflict { key: "a".into() }));
        });
        let ann = Scoped::new(MemoryStore::new(), "ann").unwrap();
        let damage = |key: &str| StoreError::Corrupt { key: key.into(), why: "bits".into() };
        assert_eq!(ann.own(damage("@ann/t/x")), damage("t/x"));
        assert_eq!(ann.own(damage("elsewhere")), damage("elsewhere"));
    }

    #[test]
    fn names_skip_the_keys_of_others_and_the_data_of_scopes() {
        let store = MemoryStore::new();
        pollster::block_on(async {
            let keys =
                ["", "@", "@no", "@%2/x", "@A%3a/x", "@%C3%A4/x", "@ann", "@b/x", "@b/y", "@b-c/x", "@b0/x", "t/x"];
            store.commit(put(&keys)).await.unwrap();
            assert_eq!(names(&store, None, 100).await.unwrap(), ["A:", "b-c", "b", "b0"]);
            assert_eq!(names(&store, None, 2).await.unwrap(), ["A:", "b-c"]);
            assert_eq!(names(&store, Some("b-c"), 100).await.unwrap(), ["b", "b0"]);
            assert_eq!(names(&store, Some("zz"), 100).await.unwrap(), [""; 0]);
        });
    }

    proptest! {
        #[test]
        fn a_scope_reaches_no_other_whatever_its_name(
            all in proptest::collection::btree_set("[ab/@0.%ä-]{1,4}", 2..8),
            (start, end) in ("[ -~]{0,3}", "[ -~]{0,3}"),
            reverse: bool,
        ) {
            let store = MemoryStore::new();
            pollster::block_on(async {
                store.commit(put(&["a", "p/x", "t/x"])).await.unwrap();
                let open = |name: &String| Scoped::new(store.clone(), name).unwrap();
                for name in &all {
                    let own = |key: &str| (key.to_owned(), name.as_bytes().to_vec());
                    open(name).commit(Commit { puts: vec![own(""), own("a"), own("p/x"), own("~")], ..Commit::default() }).await.unwrap();
                }
                for name in &all {
                    let found = open(name).scan(&Scan { start: start.clone(), end: end.clone(), limit: None, reverse }).await.unwrap();
                    for (key, value) in found {
                        prop_assert!(start <= key && key < end && value == name.as_bytes());
                    }
                    prop_assert_eq!(open(name).scan(&Scan::prefix("")).await.unwrap().len(), 4);
                }
                let mut listed = names(&store, None, 100).await.unwrap();
                listed.sort();
                prop_assert_eq!(listed, all.iter().cloned().collect::<Vec<_>>());
                // Deletions, of a range and of a whole scope, leave the others as they are.
                let first = all.first().unwrap();
                let everything = Commit { delete_ranges: vec![(String::new(), "\u{7f}".into())], ..Commit::default() };
                open(first).commit(everything).await.unwrap();
                for name in all.iter().skip(1) {
                    prop_assert_eq!(open(name).scan(&Scan::prefix("")).await.unwrap().len(), 4);
                    delete(&store, name).await.unwrap();
                }
                let left: Vec<_> = store.scan(&Scan::prefix("")).await.unwrap().into_iter().map(|(key, _)| key).collect();
                prop_assert_eq!(left, ["a", "p/x", "t/x"]);
                Ok(())
            })?;
        }
    }
}
