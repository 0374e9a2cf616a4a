//! What is remembered, kept: merging, editing, pinning, forgetting, retrieval, deletion, archives, two writers.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::Poll;

use threadkeep::protocol::Event;
use threadkeep::{Keep, MemoryFilter, NewFact, Options};
use threadkeep_compaction::memory::{
    BundleLimits, Episode, EpisodeEdit, Fact, FactEdit, FactKind, Memory, MemoryOrigin, Share,
};
use threadkeep_core::MessageId;
use threadkeep_core::checkpoint::Source;
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

use crate::{World, code, id, inbound, run};

fn dump(world: &World) -> String {
    let records = run(world.store.scan(&Scan::range("", "\u{7f}"))).unwrap();
    records.iter().map(|(key, value)| format!("{key} {}\n", String::from_utf8_lossy(value))).collect()
}

fn source(node: &str) -> Source {
    Source { node: id(node), index: 0 }
}

fn told(fact: &str, transcript: Option<&MessageId>, nodes: &[&str]) -> NewFact {
    let sources = nodes.iter().map(|node| source(node)).collect();
    NewFact { transcript: transcript.cloned(), sources, confidence: Share::of(600), ..NewFact::new(fact) }
}

fn episode(number: u32, summary: &str, transcript: Option<&MessageId>, nodes: &[&str]) -> Memory {
    Memory::Episode(Episode {
        id: format!("ep_{number:04}"),
        created_at: 1_700_000_000_000 + i64::from(number),
        transcript: transcript.cloned(),
        turns: vec![1],
        summary: summary.to_owned(),
        tags: vec![],
        salience: Share::of(500),
        sources: nodes.iter().map(|node| source(node)).collect(),
        pinned: false,
        agent: None,
        origin: None,
    })
}

async fn all(keep: &Keep<MemoryStore>) -> Vec<Fact> {
    keep.facts(&MemoryFilter { superseded: true, ..MemoryFilter::default() }).await.unwrap()
}

async fn said(keep: &Keep<MemoryStore>) -> Vec<String> {
    keep.facts(&MemoryFilter::default()).await.unwrap().into_iter().map(|fact| fact.fact).collect()
}

#[test]
fn a_fact_said_again_gains_sources_and_confidence() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let first = keep.remember(told("The user prefers dark mode.", None, &["a"])).await.unwrap();
        let again = keep.remember(told("user prefers DARK mode", None, &["b"])).await.unwrap();
        assert_eq!((again.id.clone(), again.confidence, again.sources.len()), (first.id, Share::of(700), 2));
        // From the same message it is no surer.
        let same = keep.remember(told("user prefers dark mode", None, &["b"])).await.unwrap();
        assert_eq!(same, again);
        assert_eq!(world.tab().facts(&MemoryFilter::default()).await.unwrap(), [again]);
        assert_eq!(code(keep.remember(NewFact::new(" … ")).await), "bad-request");
    });
}

#[test]
fn a_newer_fact_supersedes_what_it_contradicts_and_both_stay_with_their_sources() {
    let keep = World::default().tab();
    run(async {
        keep.remember(told("The deadline is Friday.", None, &["a"])).await.unwrap();
        let newer = keep.remember(told("The deadline is Monday.", None, &["b"])).await.unwrap();
        let facts = all(&keep).await;
        assert_eq!(facts[0].superseded_by.as_ref(), Some(&newer.id));
        assert_eq!((facts[0].sources[0].node.as_str(), facts[1].sources[0].node.as_str()), ("a", "b"));
        assert_eq!(said(&keep).await, ["The deadline is Monday."]);
        let bundle = keep.retrieve(&MemoryFilter::default(), None, BundleLimits::default()).await.unwrap();
        assert_eq!(bundle.facts, std::slice::from_ref(&newer));
        // What it superseded holds again when it is forgotten.
        assert!(!keep.forget_memory(&newer.id).await.unwrap().is_empty());
        assert!(keep.forget_memory(&newer.id).await.unwrap().is_empty());
        assert_eq!(said(&keep).await, ["The deadline is Friday."]);
    });
}

#[test]
fn what_was_forgotten_comes_back_as_it_was() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let older = keep.remember(told("The deadline is Friday.", None, &["a"])).await.unwrap();
        let newer = keep.remember(told("The deadline is Monday.", None, &["b"])).await.unwrap();
        keep.restore(vec![episode(1, "The parser was written.", None, &[])]).await.unwrap();
        let before = (all(&keep).await, keep.episodes(&MemoryFilter::default()).await.unwrap());
        for id in [newer.id.as_str(), older.id.as_str(), "ep_0001"] {
            let forgotten = keep.forget_memory(id).await.unwrap();
            assert!(!forgotten.is_empty());
            assert!(!dump(&world).contains(&format!("\"{id}\"")) || id == newer.id, "{id} is gone");
            assert!(keep.unforget_memory(&forgotten).await.unwrap());
            // Also for another tab, and only once.
            let other = world.tab();
            assert_eq!((all(&other).await, other.episodes(&MemoryFilter::default()).await.unwrap()), before, "{id}");
            assert!(!keep.unforget_memory(&forgotten).await.unwrap());
        }
        // What was changed meanwhile stays changed.
        let forgotten = keep.forget_memory(&newer.id).await.unwrap();
        let edit = FactEdit { fact: Some("The deadline is Sunday.".into()), ..FactEdit::default() };
        keep.edit_fact(&older.id, edit).await.unwrap();
        assert!(keep.unforget_memory(&forgotten).await.unwrap());
        let facts = all(&keep).await;
        assert_eq!(facts.iter().find(|fact| fact.id == older.id).unwrap().fact, "The deadline is Sunday.");
        keep.forget_memory(&older.id).await.unwrap();
        let none = keep.forget_memory("sem_9999").await.unwrap();
        assert!(none.is_empty() && !keep.unforget_memory(&none).await.unwrap());
    });
}

#[test]
fn users_edit_pin_and_delete() {
    let world = World::default();
    let keep = world.tab();
    let events: Rc<RefCell<Vec<Event>>> = Rc::default();
    let heard = Rc::clone(&events);
    keep.on_event(move |event| heard.borrow_mut().push(event.clone()));
    run(async {
        let fact = keep.remember(told("The database is Postgres", None, &["a"])).await.unwrap();
        keep.restore(vec![episode(1, "The parser was written.", None, &[])]).await.unwrap();
        let edit = FactEdit {
            fact: Some("The database is SQLite".into()),
            kind: Some(FactKind::Decision),
            ..FactEdit::default()
        };
        let edited = keep.edit_fact(&fact.id, edit).await.unwrap();
        assert_eq!((edited.confidence, edited.kind), (Share::of(1000), FactKind::Decision));
        let edit = EpisodeEdit { summary: Some("The lexer was written.".into()), ..EpisodeEdit::default() };
        keep.edit_episode("ep_0001", edit).await.unwrap();
        keep.pin(&fact.id, true).await.unwrap();
        keep.pin("ep_0001", true).await.unwrap();
        // A pinned fact is not replaced by what somebody finds.
        keep.remember(told("The database is MySQL", None, &["b"])).await.unwrap();
        let other = world.tab();
        let facts = all(&other).await;
        assert!(facts[0].pinned && facts[0].superseded_by.is_none() && facts[0].fact == "The database is SQLite");
        assert_eq!(other.episodes(&MemoryFilter::default()).await.unwrap()[0].summary, "The lexer was written.");
        assert!(!dump(&world).contains("Postgres"));
        for id in [fact.id.as_str(), facts[1].id.as_str(), "ep_0001"] {
            assert!(!keep.forget_memory(id).await.unwrap().is_empty());
        }
        assert!(!dump(&world).contains("SQLite") && !dump(&world).contains("lexer"));
        assert_eq!(code(keep.pin("ep_0001", true).await), "missing-memory");
        assert_eq!(code(keep.edit_fact("x", FactEdit::default()).await), "missing-memory");
        assert_eq!(
            code(keep.edit_fact(&fact.id, FactEdit { fact: Some(" ".into()), ..FactEdit::default() }).await),
            "bad-request"
        );
        let events = events.borrow();
        assert_eq!(events.len(), 10, "{events:?}");
        assert_eq!(events[0], Event::Memory { episodes: vec![], facts: vec![fact.id.clone()] });
        assert_eq!(events[3], Event::Memory { episodes: vec!["ep_0001".into()], facts: vec![] });
    });
}

#[test]
fn filters_choose_by_transcript_source_and_tag() {
    let keep = World::default().tab();
    run(async {
        let (t, u) = (id("t"), id("u"));
        let tagged = NewFact { tags: vec!["testing".into()], ..told("Use vitest", Some(&t), &["a"]) };
        keep.remember(tagged).await.unwrap();
        keep.remember(told("Use pnpm", Some(&u), &["b"])).await.unwrap();
        keep.remember(NewFact::new("Be brief")).await.unwrap();
        let facts = async |filter: MemoryFilter| {
            keep.facts(&filter).await.unwrap().into_iter().map(|fact| fact.fact).collect::<Vec<_>>()
        };
        let none = MemoryFilter::default;
        assert_eq!(facts(none()).await, ["Use vitest", "Use pnpm", "Be brief"]);
        assert_eq!(facts(MemoryFilter { transcript: Some(u), ..none() }).await, ["Use pnpm"]);
        assert_eq!(facts(MemoryFilter { source: Some(id("a")), ..none() }).await, ["Use vitest"]);
        assert_eq!(facts(MemoryFilter { tag: Some("testing".into()), ..none() }).await, ["Use vitest"]);
    });
}

/// A question, two branches; what the branch `secret` said is in no other message.
async fn tree(keep: &Keep<MemoryStore>) -> MessageId {
    keep.receive(inbound("q", None, "Shall we deploy on Friday?")).await.unwrap();
    keep.receive(inbound("s", Some("q"), "The password is zebra. We deploy on Friday.")).await.unwrap();
    keep.receive(inbound("k", Some("q"), "We deploy on Friday.")).await.unwrap();
    keep.node(&id("q")).await.unwrap().unwrap().transcript
}

#[test]
fn a_deleted_branch_takes_what_was_remembered_of_it() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let t = tree(&keep).await;
        keep.remember(told("The password is zebra", Some(&t), &["s"])).await.unwrap();
        let both = keep.remember(told("We deploy on Friday.", Some(&t), &["s", "k"])).await.unwrap();
        // Two sources, but only the one that goes says all of its words.
        keep.remember(told("The zebra is deployed", Some(&t), &["k", "s"])).await.unwrap();
        keep.remember(NewFact::new("Be brief")).await.unwrap();
        let memories = vec![
            episode(1, "The password is zebra. We deploy on Friday!", Some(&t), &["s", "k"]),
            episode(2, "A zebra was the password.", Some(&t), &["s"]),
            episode(3, "We deploy on Friday?", Some(&t), &["k"]),
        ];
        assert_eq!(keep.restore(memories).await.unwrap(), 3);
        keep.delete_branch(&id("s")).await.unwrap();
        assert!(!dump(&world).contains("zebra"), "{}", dump(&world));
        let facts = world.tab().facts(&MemoryFilter::default()).await.unwrap();
        assert_eq!(facts.iter().map(|fact| fact.fact.as_str()).collect::<Vec<_>>(), [both.fact.as_str(), "Be brief"]);
        assert_eq!(facts[0].sources, [source("k")]);
        let episodes = keep.episodes(&MemoryFilter::default()).await.unwrap();
        assert_eq!(episodes[0].summary, "We deploy on Friday!");
        assert_eq!((episodes.len(), episodes[0].sources.as_slice()), (2, &[source("k")][..]));
    });
}

#[test]
fn what_a_deleted_fact_superseded_holds_again() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let t = tree(&keep).await;
        keep.remember(told("The deadline is Friday", Some(&t), &["k"])).await.unwrap();
        keep.remember(told("The deadline is Monday", Some(&t), &["s"])).await.unwrap();
        assert_eq!(said(&keep).await, ["The deadline is Monday"]);
        keep.delete_branch(&id("s")).await.unwrap();
        assert_eq!(said(&keep).await, ["The deadline is Friday"]);
        assert!(!dump(&world).contains("Monday"));
    });
}

#[test]
fn what_a_deleted_fact_superseded_stays_superseded_by_the_one_that_superseded_that() {
    let keep = World::default().tab();
    run(async {
        let t = tree(&keep).await;
        let friday = keep.remember(told("The deadline is Friday", Some(&t), &["s"])).await.unwrap();
        let model = NewFact { origin: MemoryOrigin::Model, ..NewFact::new("The deadline is Monday") };
        assert_eq!(keep.remember(model).await.unwrap().superseded_by, Some(friday.id.clone()));
        let tuesday = keep.remember(told("The deadline is Tuesday", Some(&t), &["k"])).await.unwrap();
        keep.delete_branch(&id("s")).await.unwrap();
        assert_eq!(said(&keep).await, ["The deadline is Tuesday"]);
        keep.forget_memory(&tuesday.id).await.unwrap();
        assert_eq!(said(&keep).await, ["The deadline is Monday"]);
    });
}

#[test]
fn a_deleted_transcript_takes_its_memories_and_leaves_what_others_say_too() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let t = tree(&keep).await;
        keep.receive(inbound("other", None, "We deploy on Friday, I think.")).await.unwrap();
        let u = keep.node(&id("other")).await.unwrap().unwrap().transcript;
        keep.remember(told("We deploy on Friday", Some(&t), &["k"])).await.unwrap();
        keep.remember(told("We deploy on Friday", Some(&u), &["other"])).await.unwrap();
        keep.remember(told("The password is zebra", Some(&t), &["s"])).await.unwrap();
        keep.remember(told("Zebra is a word", Some(&u), &["other", "s"])).await.unwrap();
        keep.remember(told("told about t", Some(&t), &[])).await.unwrap();
        keep.restore(vec![episode(1, "zebra", Some(&t), &["s"])]).await.unwrap();
        keep.delete_transcript(&t).await.unwrap();
        let left = dump(&world);
        assert!(!left.to_lowercase().contains("zebra") && !left.contains(t.as_str()), "{left}");
        let facts = all(&keep).await;
        assert_eq!((facts.len(), facts[0].fact.as_str()), (1, "We deploy on Friday"));
        assert_eq!((facts[0].transcript.as_ref(), facts[0].sources.as_slice()), (None, &[source("other")][..]));
        keep.delete_all().await.unwrap();
        assert_eq!(dump(&world), "");
        assert_eq!(all(&keep).await, []);
        keep.remember(NewFact::new("Be brief")).await.unwrap();
        assert_eq!(said(&world.tab()).await, ["Be brief"]);
    });
}

#[test]
fn memories_survive_an_archive_to_the_byte() {
    let world = World::default();
    let keep = world.tab();
    let export = |keep: &Keep<MemoryStore>, only: Option<&MessageId>| {
        let mut text = String::new();
        run(keep.export(only, |piece| text.push_str(&piece))).unwrap();
        text
    };
    let (t, text) = run(async {
        let t = tree(&keep).await;
        keep.remember(told("The deadline is Friday", Some(&t), &["k"])).await.unwrap();
        keep.remember(told("The deadline is Monday", Some(&t), &["s"])).await.unwrap();
        keep.remember(NewFact { pinned: true, ..NewFact::new("Be brief") }).await.unwrap();
        keep.restore(vec![episode(1, "It began.", Some(&t), &["q"])]).await.unwrap();
        (t, export(&keep, None))
    });
    let fresh = World::default().tab();
    let file = vec![("all.threadkeep.jsonl".to_owned(), text.clone().into_bytes())];
    let report = run(fresh.import(file.clone(), None, |_| {})).unwrap();
    assert_eq!((report.memories, report.skipped_count), (4, 0), "{report:?}");
    assert_eq!(export(&fresh, None), text);
    assert_eq!(run(fresh.import(file, None, |_| {})).unwrap().memories, 0);
    assert_eq!(export(&fresh, None), text);
    // One transcript goes with its own.
    let one = export(&keep, Some(&t));
    assert!(one.contains("Monday") && one.contains("It began.") && !one.contains("Be brief"));
    // A line that is no record is named, and the rest comes in.
    let damaged = text.replace("\"summary\":\"It began.\"", "\"summary\":7");
    let file = vec![("all.threadkeep.jsonl".to_owned(), damaged.into_bytes())];
    let report = run(World::default().tab().import(file, None, |_| {})).unwrap();
    assert_eq!((report.memories, report.skipped_count), (3, 1), "{report:?}");
    assert!(report.skipped[0].reason.contains("summary"), "{report:?}");
}

/// A store that lets others go first before each of its operations, as a browser's does.
#[derive(Clone, Default)]
struct Slow(MemoryStore);

async fn others_first() {
    let mut waited = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Store for Slow {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        others_first().await;
        self.0.get(key).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        others_first().await;
        self.0.scan(scan).await
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        others_first().await;
        self.0.commit(commit).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.0.close().await
    }
}

/// Two engines over one slow store.
fn tabs(world: &World) -> (Keep<Slow>, Keep<Slow>) {
    let tab = || run(Keep::open(Slow(world.store.clone()), world.host.clone(), Options::default())).unwrap();
    (tab(), tab())
}

#[test]
fn two_tabs_remember_at_once_and_neither_loses_anything() {
    let world = World::default();
    let (one, two) = tabs(&world);
    run(async {
        for number in 0..20 {
            let node = format!("n{number}");
            let a = one.remember(told("Use pnpm", None, &[&node]));
            let b = two.remember(told("use PNPM", None, &[&format!("m{number}")]));
            let (a, b) = both(a, b).await;
            assert_eq!(a.unwrap().id, b.unwrap().id);
        }
        let facts = all(&world.tab()).await;
        assert_eq!((facts.len(), facts[0].sources.len()), (1, 40));
        // Two edits of different fields at once: both are there.
        let id = facts[0].id.clone();
        let kind = FactEdit { kind: Some(FactKind::Decision), ..FactEdit::default() };
        let (pinned, edited) = both(one.pin(&id, true), two.edit_fact(&id, kind)).await;
        pinned.unwrap();
        edited.unwrap();
        let facts = all(&world.tab()).await;
        assert!(facts[0].pinned && facts[0].kind == FactKind::Decision);
    });
}

#[test]
fn an_edit_does_not_bring_back_what_another_tab_deletes() {
    // Whoever lets the other go first how often: every order is tried.
    for wait in 0..12 {
        let world = World::default();
        let (one, two) = tabs(&world);
        run(async {
            let t = tree(&world.tab()).await;
            let fact = world.tab().remember(told("The password is zebra", Some(&t), &["s"])).await.unwrap();
            let edit = async {
                for _ in 0..wait {
                    others_first().await;
                }
                let salience = FactEdit { salience: Some(Share::of(900)), ..FactEdit::default() };
                one.edit_fact(&fact.id, salience).await
            };
            let (edited, deleted) = both(edit, two.delete_branch(&id("s"))).await;
            deleted.unwrap();
            assert!(edited.is_ok() || code(edited) == "missing-memory");
            assert!(!dump(&world).contains("zebra"), "after {wait}: {}", dump(&world));
        });
    }
}

/// Runs two futures in turns.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(|context| {
        if first.is_none()
            && let Poll::Ready(done) = a.as_mut().poll(context)
        {
            first = Some(done);
        }
        if second.is_none()
            && let Poll::Ready(done) = b.as_mut().poll(context)
        {
            second = Some(done);
        }
        if first.is_some() && second.is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (first.unwrap(), second.unwrap())
}
