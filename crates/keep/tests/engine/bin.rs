//! The bin: what was deleted and is wanted back.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::json;
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{ContextSettings, Counting, SearchOptions};
use threadkeep::{Keep, Options};
use threadkeep_compaction::memory::RememberFrom;
use threadkeep_core::{Message, MessageId, TranscriptId};
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

use crate::{World, code, run, users};

/// The lines of an export of everything.
fn export(keep: &Keep<MemoryStore>) -> Vec<String> {
    let mut file = String::new();
    run(keep.export(None, |piece| file.push_str(&piece))).unwrap();
    file.lines().map(str::to_owned).collect()
}

/// The chain up to a node, without the places of its entries in the log.
async fn chain(keep: &Keep<MemoryStore>, node: &MessageId) -> Vec<(MessageId, Option<i64>, Vec<Message>)> {
    let chain = keep.chain(node).await.unwrap().into_iter();
    chain.map(|node| (node.id, node.created_at, node.messages)).collect()
}

/// A thread with branches, a pin, settings and a compaction that remembers. Gives its id and the first node of its side branch.
async fn fill(keep: &Keep<MemoryStore>) -> (TranscriptId, MessageId) {
    let first = keep.append("main", users(3)).await.unwrap();
    for turn in 0..30 {
        let question = format!("I prefer leeks in bed {turn}. We must never water bed {turn} after noon.");
        let answer = format!("We decided to plant leeks in bed {turn}. {}", "Loam holds water. ".repeat(2_000));
        keep.append("main", vec![Message::user(question), Message::assistant(answer)]).await.unwrap();
    }
    keep.fork("main", "side", Some(2)).await.unwrap();
    let side = keep.append("side", vec![Message::user("Only the side says quince.")]).await.unwrap();
    keep.pin_node(&first[1].id, true).await.unwrap();
    let settings = ContextSettings::read(&json!({"budget": {"maxTokens": 2_000}}).to_string()).unwrap();
    keep.set_context_options(Some("main"), &settings).await.unwrap();
    let options = CompactOptions {
        encoding: Counting::Estimate,
        remember_from: RememberFrom::all(),
        ..CompactOptions::default()
    };
    assert!(keep.compact("main", &options, &Extractive).await.unwrap().checkpoint.is_some());
    (first[0].transcript.clone(), side[0].id.clone())
}

async fn hits(keep: &Keep<MemoryStore>, word: &str) -> usize {
    keep.search(word, &SearchOptions::default()).await.unwrap().hits.len()
}

#[test]
fn a_thread_comes_back_from_the_bin_as_it_was() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let (transcript, _) = fill(&keep).await;
        keep.append("other", users(2)).await.unwrap();
        let before = export(&keep);
        let binned = keep.bin(&transcript, None).await.unwrap().unwrap();
        assert_eq!((binned.messages, &binned.transcript, &binned.node), (64, &transcript, &None));
        assert!(binned.bytes > 1 << 20, "of several pieces: {} bytes", binned.bytes);
        assert_eq!((hits(&keep, "quince").await, keep.transcripts().await.unwrap().len()), (0, 1));
        assert_eq!(keep.facts(&threadkeep::MemoryFilter::default()).await.unwrap(), [], "nothing of it is remembered");
        // Another tab sees the same bin.
        let keep = world.tab();
        assert_eq!(keep.binned().await.unwrap(), std::slice::from_ref(&binned));
        assert_eq!(keep.undelete(&binned.id).await.unwrap(), binned);
        let after = export(&keep);
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after);
        }
        assert_eq!(after.len(), before.len());
        assert_eq!(hits(&keep, "quince").await, 1);
        assert_eq!(keep.binned().await.unwrap(), []);
        assert_eq!(code(keep.undelete(&binned.id).await), "bad-request");
    });
}

#[test]
fn a_branch_comes_back_from_the_bin_where_it_was() {
    let keep = World::default().tab();
    run(async {
        let (transcript, side) = fill(&keep).await;
        let whole = chain(&keep, &side).await;
        let binned = keep.bin(&transcript, Some(&side)).await.unwrap().unwrap();
        assert_eq!((binned.messages, binned.node.as_ref()), (1, Some(&side)));
        assert_eq!((hits(&keep, "quince").await, code(keep.chain(&side).await).as_str()), (0, "missing-node"));
        // What is said meanwhile stays.
        keep.append("main", vec![Message::user("Said meanwhile: medlar.")]).await.unwrap();
        keep.undelete(&binned.id).await.unwrap();
        assert_eq!(chain(&keep, &side).await, whole);
        assert_eq!((hits(&keep, "quince").await, hits(&keep, "medlar").await), (1, 1));
        assert!(keep.lint(None).await.unwrap().is_empty());
        // And a second time.
        let again = keep.bin(&transcript, Some(&side)).await.unwrap().unwrap();
        assert_eq!(keep.bin(&transcript, Some(&side)).await.unwrap(), None, "it is gone already");
        keep.undelete(&again.id).await.unwrap();
        assert_eq!(chain(&keep, &side).await, whole);
    });
}

#[test]
fn the_bin_is_emptied_by_age_by_entry_and_with_everything() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        for name in ["a", "b", "c"] {
            let node = keep.append(name, users(1)).await.unwrap().remove(0);
            keep.bin(&node.transcript, None).await.unwrap().unwrap();
        }
        let [newest, middle, oldest] = &keep.binned().await.unwrap()[..] else { panic!("three") };
        assert!(newest.at > oldest.at);
        keep.drop_binned(&newest.id).await.unwrap();
        keep.empty_bin(middle.at).await.unwrap();
        assert_eq!(keep.binned().await.unwrap(), std::slice::from_ref(middle));
        let left = keep.scan_records("bin", &Scan::prefix("")).await.unwrap();
        assert_eq!(left.len(), 2, "an entry and its one piece: {left:?}");
        keep.delete_all().await.unwrap();
        assert_eq!(world.store.scan(&Scan::prefix("")).await.unwrap().len(), 0);
    });
}

/// A store that calls `before` each commit that writes into the bin.
#[derive(Clone)]
struct Told {
    inner: MemoryStore,
    before: Rc<dyn Fn() -> Result<(), StoreError>>,
}

impl Store for Told {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(key).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.inner.scan(scan).await
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        if commit.puts.iter().any(|(key, _)| key.starts_with("x/bin/")) {
            (self.before)()?;
        }
        self.inner.commit(commit).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}

async fn told(world: &World, before: impl Fn() -> Result<(), StoreError> + 'static) -> Keep<Told> {
    let store = Told { inner: world.store.clone(), before: Rc::new(before) };
    Keep::open(store, world.host.clone(), Options::default()).await.unwrap()
}

#[test]
fn what_has_no_room_in_the_bin_is_not_deleted() {
    let world = World::default();
    run(async {
        let (transcript, _) = fill(&world.tab()).await;
        let before = export(&world.tab());
        let room = Cell::new(1_u32);
        let keep = told(&world, move || {
            let left = room.get().checked_sub(1).ok_or_else(|| StoreError::Quota("the disk is full".to_owned()))?;
            room.set(left);
            Ok(())
        });
        let keep = keep.await;
        assert_eq!(code(keep.bin(&transcript, None).await), "quota");
        assert_eq!((export(&world.tab()), keep.binned().await.unwrap()), (before, vec![]));
        assert_eq!(keep.scan_records("bin", &Scan::prefix("")).await.unwrap(), [], "no piece is left");
    });
}

#[test]
fn a_message_that_another_tab_appends_while_the_bin_is_filled_comes_back_too() {
    let world = World::default();
    run(async {
        for whole in [true, false] {
            let (transcript, side) = fill(&world.tab()).await;
            let (other, said) = (world.tab(), Cell::new(false));
            let keep = told(&world, move || {
                if !said.replace(true) {
                    run(other.append("side", vec![Message::user("In the last moment: a mulberry.")])).unwrap();
                }
                Ok(())
            });
            let keep = keep.await;
            let binned = keep.bin(&transcript, Some(&side).filter(|_| !whole)).await.unwrap().unwrap();
            assert_eq!(binned.messages, if whole { 65 } else { 2 });
            assert_eq!(hits(&world.tab(), "mulberry").await, 0);
            let keep = world.tab();
            keep.undelete(&binned.id).await.unwrap();
            assert_eq!(hits(&keep, "mulberry").await, 1);
            assert_eq!(keep.scan_records("bin", &Scan::prefix("")).await.unwrap(), []);
            keep.delete_all().await.unwrap();
        }
    });
}
