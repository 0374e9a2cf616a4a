//! Two engines over one store, as two tabs: nothing is lost, nothing torn, no number used twice.

use std::collections::HashSet;

use threadkeep::{Keep, Options};
use threadkeep_core::Message;
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

use crate::{World, id, inbound, run, users};

#[test]
fn interleaved_appends_to_one_head_all_arrive_in_sequence() {
    let world = World::default();
    let (a, b) = (world.tab(), world.tab());
    run(async {
        for round in 0..300 {
            a.append("chat", vec![Message::user(format!("a{round}"))]).await.unwrap();
            b.append("chat", vec![Message::user(format!("b{round}"))]).await.unwrap();
        }
        let fresh = world.tab();
        let head = fresh.head("chat").await.unwrap().unwrap();
        let chain = fresh.chain(&head.id).await.unwrap();
        assert_eq!(chain.len(), 601); // and the root
        let seqs: HashSet<u64> = chain.iter().map(|node| node.seq).collect();
        assert_eq!(seqs.len(), 601);
        assert!(fresh.lint(None).await.unwrap().is_empty());
        assert_eq!(a.get_count("chat").await.unwrap(), 600);
    });
}

#[test]
fn calls_that_overlap_in_one_engine_keep_their_order() {
    let keep = World::default().tab();
    run(async {
        let appends: Vec<_> = users(200).into_iter().map(|message| keep.append("chat", vec![message])).collect();
        let mut set = futures_join(appends).await;
        assert!(set.drain(..).all(|result| result.is_ok()));
        let texts = crate::texts(&keep.get_range("chat", 0, 999).await.unwrap());
        assert_eq!(texts, (0..200).map(|at| format!("m{at}")).collect::<Vec<_>>());
    });
}

/// Polls all futures until all are done, in order, as `Promise.all` would.
async fn futures_join<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut waiting = false;
        for (future, output) in &mut futures {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
    futures.into_iter().filter_map(|(_, output)| output).collect()
}

#[test]
fn two_tabs_begin_the_same_head_and_receive_the_same_message() {
    let world = World::default();
    let (a, b) = (world.tab(), world.tab());
    run(async {
        a.append("new", users(1)).await.unwrap();
        b.append("new", users(1)).await.unwrap();
        assert_eq!(a.get_count("new").await.unwrap(), 2);
        a.receive(inbound("m", None, "x")).await.unwrap();
        b.receive(inbound("m", None, "x")).await.unwrap();
        assert_eq!(a.stats().await.unwrap().transcripts, 2);
        a.extend(&id("m"), vec![Message::assistant("1")]).await.unwrap();
        b.extend(&id("m"), vec![Message::assistant("2")]).await.unwrap();
        assert_eq!(a.node(&id("m")).await.unwrap().unwrap().messages.len(), 3);
    });
}

/// A store in which somebody else writes while a transcript is read from its beginning, every time.
struct Busy {
    store: MemoryStore,
    other: Keep<MemoryStore>,
}

impl Store for Busy {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.get(key).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        let found = self.store.scan(scan).await?;
        if scan.start.starts_with("p/") && (scan.start.ends_with('/') || scan.start.ends_with("/0000000000000000")) {
            self.other.append("chat", users(1)).await.unwrap();
        }
        Ok(found)
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.store.commit(commit).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}

/// Two tabs with 5,000 appends each: the one that had to read the transcript anew came too late every time, and gave up with
/// "other writers were always first".
#[test]
fn a_writer_that_reads_longer_than_the_other_writes_still_gets_its_turn() {
    let world = World::default();
    let other = world.tab();
    run(async {
        other.append("chat", users(250)).await.unwrap();
        let busy = Busy { store: world.store.clone(), other };
        let slow = Keep::open(busy, world.host.clone(), Options::default()).await.unwrap();
        for round in 0..50 {
            slow.append("chat", vec![Message::user(format!("slow {round}"))]).await.unwrap();
            world.tab().append("chat", users(1)).await.unwrap();
        }
        let texts = crate::texts(&slow.get_range("chat", 0, 9999).await.unwrap());
        let own: Vec<_> = texts.iter().filter(|text| text.starts_with("slow")).collect();
        assert_eq!(own.len(), 50);
        assert!(slow.lint(None).await.unwrap().is_empty());
    });
}

/// The other's fold freed the key of the page that the idle one was about to write, so that its write passed for the first
/// at that number, and either was lost.
#[test]
fn a_writer_that_was_idle_while_pages_were_folded_overwrites_nothing() {
    run(async {
        for idle in 0..130 {
            let world = World::default();
            let (a, b) = (world.tab(), world.tab());
            a.append("chat", users(1)).await.unwrap();
            for _ in 0..idle {
                b.append("chat", users(1)).await.unwrap();
            }
            a.append("chat", users(1)).await.unwrap();
            let fresh = world.tab();
            assert_eq!(fresh.get_count("chat").await.unwrap(), idle + 2);
            assert!(fresh.lint(None).await.unwrap().is_empty());
        }
    });
}

#[test]
fn a_head_that_two_tabs_move_stays_behind_in_no_transcript() {
    let world = World::default();
    let (a, b) = (world.tab(), world.tab());
    run(async {
        let [first, second, third] = ["first", "second", "third"].map(|name| a.append(name, users(1)));
        let nodes = [first.await.unwrap(), second.await.unwrap(), third.await.unwrap()];
        let [first, second, third] = nodes.map(|mut nodes| nodes.remove(0));
        a.set_head("main", &first.id).await.unwrap();
        assert_eq!(b.head("main").await.unwrap().unwrap().id, first.id);
        a.set_head("main", &second.id).await.unwrap();
        // What this tab knows of the head is old.
        b.set_head("main", &third.id).await.unwrap();
        for tab in [&a, &b, &world.tab()] {
            assert_eq!(tab.head("main").await.unwrap().unwrap().id, third.id);
        }
        a.delete_transcript(&second.transcript).await.unwrap();
        for tab in [&a, &b, &world.tab()] {
            assert_eq!(
                tab.head("main").await.unwrap().unwrap().id,
                third.id,
                "it points elsewhere than into what was deleted"
            );
        }
    });
}

#[test]
fn a_head_is_moved_back_by_a_tab_that_has_not_seen_it_move() {
    let world = World::default();
    let (a, b) = (world.tab(), world.tab());
    run(async {
        let old = a.append("main", users(1)).await.unwrap().remove(0);
        assert_eq!(b.head("main").await.unwrap().unwrap().id, old.id);
        a.append("main", users(1)).await.unwrap();
        // In this tab's memory the head is there already.
        b.set_head("main", &old.id).await.unwrap();
        for tab in [&a, &b, &world.tab()] {
            assert_eq!(tab.head("main").await.unwrap().unwrap().id, old.id);
        }
    });
}
