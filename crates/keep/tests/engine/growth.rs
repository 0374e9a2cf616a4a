//! What one more thing costs when there are many already: bytes that are read, and what is answered. Counts, no times.

use std::cell::Cell;
use std::rc::Rc;

use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{Counting, Inbound, SearchOptions};
use threadkeep::{Keep, MemoryFilter, NewFact, Options};
use threadkeep_core::node::Origin;
use threadkeep_core::{Message, MessageId};
use threadkeep_recall::MOST_WORDS;
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

use crate::{World, id, inbound, run, texts};

/// A store that counts the bytes that are read and written.
#[derive(Clone, Default)]
struct Counted(MemoryStore, Rc<Cell<usize>>);

impl Counted {
    fn add(&self, bytes: usize) {
        self.1.set(self.1.get() + bytes);
    }
}

impl Store for Counted {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.0.get(key).await?;
        self.add(key.len() + found.as_ref().map_or(0, Vec::len));
        Ok(found)
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        let found = self.0.scan(scan).await?;
        self.add(found.iter().map(|(key, value)| key.len() + value.len()).sum());
        Ok(found)
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.add(commit.puts.iter().map(|(key, value)| key.len() + value.len()).sum());
        self.0.commit(commit).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.0.close().await
    }
}

/// An engine, and how many bytes went between it and its store.
fn counted() -> (Keep<Counted>, Rc<Cell<usize>>) {
    let (world, store) = (World::default(), Counted::default());
    let bytes = Rc::clone(&store.1);
    (run(Keep::open(store, world.host, Options::default())).unwrap(), bytes)
}

/// The bytes of each of `n` pieces of work, once so many were done before.
async fn cost(bytes: &Cell<usize>, mut work: impl AsyncFnMut(usize), before: usize, n: usize) -> usize {
    for at in 0..before {
        work(at).await;
    }
    bytes.set(0);
    for at in before..before + n {
        work(at).await;
    }
    bytes.get() / n
}

#[test]
fn one_more_fact_reads_none_of_those_that_are_known() {
    let costs = [20, 400].map(|before| {
        let (keep, bytes) = counted();
        let remember =
            async |at| drop(keep.remember(NewFact::new(format!("The user likes thing {at}."))).await.unwrap());
        run(cost(&bytes, remember, before, 10))
    });
    assert!(costs[1] < costs[0] * 2, "{costs:?} bytes");
}

#[test]
fn what_another_tab_remembered_is_read_before_a_fact_is_compared() {
    let world = World::default();
    let (one, two) = (world.tab(), world.tab());
    run(async {
        let first = one.remember(NewFact::new("The user prefers dark mode.")).await.unwrap();
        let again = two.remember(NewFact::new("user prefers DARK mode")).await.unwrap();
        assert_eq!(first.id, again.id);
        let other = two.remember(NewFact::new("The default port is 80.")).await.unwrap();
        let newer = one.remember(NewFact::new("The default port is 81.")).await.unwrap();
        let all = two.facts(&MemoryFilter { superseded: true, ..MemoryFilter::default() }).await.unwrap();
        let by = |id: &str| all.iter().find(|fact| fact.id == id).unwrap().superseded_by.clone();
        assert_eq!((by(&other.id), by(&newer.id)), (Some(newer.id.clone()), None));
        // What it superseded holds again once it is gone, whoever looks.
        assert!(!two.forget_memory(&newer.id).await.unwrap().is_empty());
        for tab in [&one, &two] {
            let facts = tab.facts(&MemoryFilter::default()).await.unwrap();
            assert_eq!(facts.iter().map(|fact| fact.id.as_str()).collect::<Vec<_>>(), [&first.id, &other.id]);
        }
        // After everything was deleted nothing of it is remembered.
        two.delete_all().await.unwrap();
        assert_eq!(one.facts(&MemoryFilter::default()).await.unwrap(), []);
        assert_ne!(one.remember(NewFact::new("The user prefers dark mode.")).await.unwrap().id, first.id);
    });
}

#[test]
fn one_more_compaction_reads_none_of_those_before() {
    let costs = [4, 40].map(|before| {
        let (keep, bytes) = counted();
        let options = CompactOptions { encoding: Counting::Estimate, tail_turns: Some(1), ..CompactOptions::default() };
        let compact = async |at| {
            let said = |part: usize| {
                let text =
                    format!("We decided in step {at} that part {part} of the work is done by somebody else, and why.");
                [Message::user(text.clone()), Message::assistant(text)]
            };
            keep.append("chat", (0..4).flat_map(said).collect()).await.unwrap();
            assert!(keep.compact("chat", &options, &Extractive).await.unwrap().checkpoint.is_some());
        };
        run(cost(&bytes, compact, before, 4))
    });
    assert!(costs[1] < costs[0] * 3, "{costs:?} bytes");
}

#[test]
fn a_node_that_grows_is_answered_with_what_was_added() {
    let keep = World::default().tab();
    run(async {
        keep.receive(inbound("m", None, "go")).await.unwrap();
        for at in 0..50 {
            let step = vec![Message::assistant(format!("step {at}")), Message::assistant(format!("more of {at}"))];
            let grown = keep.extend(&id("m"), step).await.unwrap();
            assert_eq!(texts(&grown.messages), [format!("step {at}"), format!("more of {at}")]);
            assert_eq!(grown.depth, 3 + 2 * at);
        }
        assert_eq!(keep.node(&id("m")).await.unwrap().unwrap().messages.len(), 101);
    });
}

#[test]
fn a_query_of_too_many_words_says_that_only_its_beginning_was_used() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", vec![Message::user("The luggage is in Oslo.")]).await.unwrap();
        let words = |n: usize| (0..n).map(|at| format!("word{at}x ")).collect::<String>();
        for (query, warns) in [
            ("luggage ".repeat(5000), false),
            ("\"in Oslo\" ".repeat(5000), false),
            (words(MOST_WORDS - 1) + "luggage", false),
            ("luggage ".to_owned() + &words(3000), true),
        ] {
            let found = keep.search(&query, &SearchOptions::default()).await.unwrap();
            assert_eq!((found.hits.len(), found.warnings.len()), (1, usize::from(warns)), "{:?}", found.warnings);
        }
    });
}

#[test]
fn an_id_that_names_no_transcript_is_found_wherever_it_lies() {
    let world = World::default();
    let keep = world.tab_with(Options { cache_bytes: 4_000 });
    run(async {
        // More transcripts than the cache holds, under ids from outside.
        for at in 0..40 {
            keep.receive(inbound(&format!("in-{at}"), None, "hello")).await.unwrap();
            keep.alias(&id(&format!("out-{at}")), &id(&format!("in-{at}"))).await.unwrap();
        }
        for at in 0..40 {
            let reply = Inbound { reply_to: Some(id(&format!("out-{at}"))), ..Inbound::new("again") };
            let reply = keep.receive(reply).await.unwrap();
            assert_eq!(reply.parent, Some(id(&format!("in-{at}"))));
        }
        // One that was deleted and came again under the same id is another transcript.
        let before = keep.node(&id("in-3")).await.unwrap().unwrap();
        world.tab().delete_transcript(&before.transcript).await.unwrap();
        let after = keep.receive(inbound("in-3", None, "anew")).await.unwrap();
        assert_ne!(after.transcript, before.transcript);
        assert_eq!(keep.node(&id("in-3")).await.unwrap().unwrap().transcript, after.transcript);
    });
}

/// Branches of one node, each a node of its own.
async fn star(keep: &Keep<Counted>, n: usize) -> Vec<MessageId> {
    let hub = keep.append("main", vec![Message::user("hub")]).await.unwrap().remove(0);
    let mut rays = Vec::new();
    for at in 0..n {
        let said = vec![Message::user(format!("ray {at}"))];
        rays.push(keep.branch(&hub.id, said, Origin::default()).await.unwrap().id);
    }
    rays
}

#[test]
fn branches_that_are_deleted_one_by_one_read_the_log_once_each() {
    let (keep, bytes) = counted();
    run(async {
        let rays = star(&keep, 300).await;
        bytes.set(0);
        let mut size = 0;
        keep.export(None, |piece| size += piece.len()).await.unwrap();
        bytes.set(0);
        for ray in &rays[..10] {
            assert_eq!(keep.delete_branch(ray).await.unwrap(), 1);
        }
        let each = bytes.get() / 10;
        assert!(each < size * 3 / 2, "{each} bytes went to and from the store for each, and the log has {size}");
    });
}
