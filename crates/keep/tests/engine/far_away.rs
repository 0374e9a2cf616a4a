//! Stores that are far away: how often an answer waits for one, and what happens there meanwhile.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use threadkeep::{Keep, Options};
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

use crate::{World, id, run, users};

/// A store on a server. What is asked for side by side comes back after one trip.
struct Far {
    store: MemoryStore,
    trips: Rc<Cell<u32>>,
    /// How many bytes the ranges have brought.
    bytes: Rc<Cell<usize>>,
    /// Whether somebody is on the way.
    under_way: Cell<bool>,
    /// What somebody else does while the first record of a transcript is on the way.
    meanwhile: RefCell<Option<Keep<MemoryStore>>>,
}

impl Far {
    fn new(world: &World) -> (Self, Rc<Cell<u32>>) {
        let (store, trips) = (world.store.clone(), Rc::<Cell<u32>>::default());
        let far = Self {
            store,
            trips: trips.clone(),
            bytes: Rc::default(),
            under_way: Cell::default(),
            meanwhile: RefCell::default(),
        };
        (far, trips)
    }

    async fn trip(&self) {
        let mut there = false;
        poll_fn(|context| {
            if there {
                self.under_way.set(false);
                return Poll::Ready(());
            }
            there = true;
            if !self.under_way.replace(true) {
                self.trips.set(self.trips.get() + 1);
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl Store for Far {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.trip().await;
        let other = if key.starts_with("t/") { self.meanwhile.take() } else { None };
        if let Some(other) = other {
            // The pages come before the record.
            self.trip().await;
            other.delete_transcript(&id("chatgpt/c")).await.unwrap();
            import(&other, "made anew").await;
        }
        self.store.get(key).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.trip().await;
        let records = self.store.scan(scan).await?;
        self.bytes.set(self.bytes.get() + records.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
        Ok(records)
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.trip().await;
        self.store.commit(commit).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}

/// Imports the transcript `chatgpt/c` with one message.
async fn import(keep: &Keep<MemoryStore>, text: &str) {
    let lines = [
        r#"{"threadkeep":1}"#,
        r#"{"transcript":"chatgpt/c"}"#,
        r#"{"seq":0,"node":{"id":"chatgpt/c","messages":[],"sealed":true}}"#,
        r#"{"seq":1,"node":{"id":"chatgpt/c/1","parent":"chatgpt/c","messages":[{"role":"user","content":"TEXT"}]}}"#,
        r#"{"end":"chatgpt/c","entries":2}"#,
    ];
    let file = lines.join("\n").replace("TEXT", text);
    assert_eq!(keep.import(vec![("x".to_owned(), file)], None, |_| {}).await.unwrap().added, 1);
}

#[test]
fn a_conversation_that_is_not_in_memory_is_there_after_two_trips() {
    let world = World::default();
    run(async {
        world.tab().append("main", users(250)).await.unwrap();
        let (far, trips) = Far::new(&world);
        let keep = Keep::open(far, world.host.clone(), Options::default()).await.unwrap();
        trips.set(0);
        assert_eq!(keep.get_range("main", 0, 300).await.unwrap().len(), 250);
        // Where the head points, and the transcript.
        assert_eq!(trips.get(), 2);
    });
}

#[test]
fn the_cache_evicts_the_transcript_that_was_used_longest_ago() {
    let world = World::default();
    run(async {
        let (far, _) = Far::new(&world);
        let bytes = far.bytes.clone();
        let keep = Keep::open(far, world.host.clone(), Options { cache_bytes: 80_000 }).await.unwrap();
        for at in 0..20 {
            for message in users(10) {
                keep.append(&format!("c{at}"), vec![message]).await.unwrap();
            }
        }
        let cached = keep.stats().await.unwrap().cached_transcripts;
        assert!((3..20).contains(&cached), "{cached}");
        let reading = async |name: &str| {
            bytes.set(0);
            assert_eq!(keep.get_count(name).await.unwrap(), 10);
            bytes.get()
        };
        // What is in memory is not read again; the store is asked only for what is new.
        let (late, early) = (reading("c18").await, reading("c0").await);
        assert!(late < early / 2, "{late} {early}");
    });
}

#[test]
fn a_transcript_that_is_made_anew_between_its_pages_and_its_record_is_read_anew() {
    let world = World::default();
    run(async {
        import(&world.tab(), "as it was").await;
        let (far, _) = Far::new(&world);
        far.meanwhile.replace(Some(world.tab()));
        let keep = Keep::open(far, world.host.clone(), Options::default()).await.unwrap();
        let node = keep.node(&id("chatgpt/c/1")).await.unwrap().unwrap();
        assert_eq!(node.messages[0].text(), "made anew");
    });
}
