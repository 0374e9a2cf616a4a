//! Damaged stores: what is left is shown, what is missing is named, nothing is written over it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use threadkeep::agent::{Agent, AgentOptions, NoTools};
use threadkeep::mailbox::{Body, MailFilter, Outgoing};
use threadkeep::model::Model;
use threadkeep::protocol::{Event, SearchOptions};
use threadkeep::traces::Turns;
use threadkeep::{Keep, MemoryFilter, NewFact, Options};
use threadkeep_core::Message;
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

use crate::agent_support::{Script, from_ann, options, says, write};
use crate::{TestHost, World, code, id, inbound, run, texts};

/// A transcript of five nodes, one page each, from which the third page is lost.
async fn world_with_a_lost_page() -> World {
    let world = World::default();
    let keep = world.tab();
    keep.receive(inbound("a", None, "first")).await.unwrap();
    for (node, parent) in [("b", "a"), ("c", "b"), ("d", "c")] {
        keep.receive(inbound(node, Some(parent), node)).await.unwrap();
    }
    let pages = world.store.scan(&Scan::prefix("p/")).await.unwrap();
    let lost = Commit { deletes: vec![pages[2].0.clone()], ..Commit::default() };
    world.store.commit(lost).await.unwrap();
    world
}

#[test]
fn a_lost_page_is_named_by_every_way_and_the_rest_can_be_read() {
    run(async {
        let keep = world_with_a_lost_page().await.tab();
        assert_eq!(code(keep.chain(&id("d")).await), "missing-parent");
        assert_eq!(keep.chain(&id("b")).await.unwrap().len(), 3);
        let transcript = keep.node(&id("b")).await.unwrap().unwrap().transcript;
        let outline = keep.outline(&transcript, Some(&id("d"))).await.unwrap();
        assert_eq!(outline.rows.len(), 1);
        assert!(outline.damage.unwrap().contains("\"c\""));
        let rules: Vec<String> = keep.lint(None).await.unwrap().into_iter().map(|finding| finding.rule).collect();
        assert!(rules.contains(&"damage".to_owned()) && rules.contains(&"broken-chain".to_owned()), "{rules:?}");
    });
}

#[test]
fn a_damaged_transcript_is_not_written_to_but_can_be_exported_and_deleted() {
    run(async {
        let world = world_with_a_lost_page().await;
        let keep = world.tab();
        let error = keep.extend(&id("b"), vec![Message::assistant("x")]).await.unwrap_err();
        assert_eq!(error.code(), "damaged", "{error}");
        let error = keep.receive(inbound("e", Some("d"), "x")).await.unwrap_err();
        assert_eq!(error.code(), "damaged", "{error}");
        let mut file = String::new();
        keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
        assert!(file.contains("first"));
        let transcript = keep.node(&id("b")).await.unwrap().unwrap().transcript;
        keep.delete_transcript(&transcript).await.unwrap();
        assert!(keep.transcripts().await.unwrap().is_empty());
    });
}

#[test]
fn bytes_that_are_no_entries_and_no_record_are_said() {
    run(async {
        let world = world_with_a_lost_page().await;
        let (key, _) = world.store.scan(&Scan::prefix("p/")).await.unwrap().remove(1);
        let rubbish = Commit { puts: vec![(key, b"{\"node\":\n\xff\xfe\n".to_vec())], ..Commit::default() };
        world.store.commit(rubbish).await.unwrap();
        let keep = world.tab();
        let findings = keep.lint(None).await.unwrap();
        assert!(findings.iter().any(|finding| finding.message.contains("cannot be read")), "{findings:?}");
        let (key, _) = world.store.scan(&Scan::prefix("t/")).await.unwrap().remove(0);
        let rubbish = Commit { puts: vec![(key.clone(), b"not JSON".to_vec())], ..Commit::default() };
        world.store.commit(rubbish).await.unwrap();
        // What the record said is in the log.
        let keep = world.tab();
        assert_eq!(keep.transcripts().await.unwrap().len(), 1);
        let damaged = keep.stats().await.unwrap().damaged;
        assert!(damaged.iter().any(|damage| damage.what.contains(&key)), "{damaged:?}");
    });
}

/// A store that finds some of its records damaged when it reads them, as one with checksums does.
#[derive(Clone, Default)]
struct Spoilt {
    store: MemoryStore,
    keys: Rc<RefCell<BTreeSet<String>>>,
}

impl Spoilt {
    fn check(&self, key: &str) -> Result<(), StoreError> {
        let damaged = self.keys.borrow().contains(key);
        let why = "its CRC-32 is not what was written".to_owned();
        if damaged { Err(StoreError::Corrupt { key: key.to_owned(), why }) } else { Ok(()) }
    }

    /// Damages the records whose keys begin like this; says how many.
    async fn spoil(&self, prefix: &str) -> usize {
        let found = self.store.scan(&Scan::prefix(prefix)).await.unwrap();
        self.keys.borrow_mut().extend(found.iter().map(|(key, _)| key.clone()));
        found.len()
    }
}

impl Store for Spoilt {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.check(key)?;
        self.store.get(key).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        let found = self.store.scan(scan).await?;
        found.iter().try_for_each(|(key, _)| self.check(key))?;
        Ok(found)
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        for key in commit.puts.iter().map(|(key, _)| key).chain(&commit.deletes) {
            self.keys.borrow_mut().remove(key);
        }
        self.store.commit(commit).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}

/// Two conversations at heads, one with an outside id, a fact and a mail.
async fn spoilt() -> (Spoilt, impl Fn() -> Keep<Spoilt>) {
    let (store, host) = (Spoilt::default(), TestHost::default());
    let of = store.clone();
    let open = move || run(Keep::open(of.clone(), host.clone(), Options::default())).unwrap();
    let keep = open();
    keep.append("good", vec![Message::user("a sound heliotrope")]).await.unwrap();
    keep.append("bad", vec![Message::user("a spoilt heliotrope")]).await.unwrap();
    keep.append("bad", vec![Message::user("and another")]).await.unwrap();
    keep.receive(inbound("outside", None, "first")).await.unwrap();
    keep.remember(NewFact::new("likes rye")).await.unwrap();
    keep.remember(NewFact::new("has a cat")).await.unwrap();
    (store, open)
}

#[test]
fn calls_over_the_whole_keep_pass_over_a_damaged_page_and_say_so() {
    run(async {
        let (store, open) = spoilt().await;
        let bad = open().head("bad").await.unwrap().unwrap().transcript;
        assert!(store.spoil(&format!("p/{bad}/")).await > 1);
        let keep = open();
        let heard = Rc::new(RefCell::new(Vec::new()));
        let hear = Rc::clone(&heard);
        keep.on_event(move |event| {
            if let Event::Damage { damage } = event {
                hear.borrow_mut().push(damage.clone());
            }
        });
        assert_eq!(keep.roots().await.unwrap().len(), 2);
        assert_eq!(keep.heads().await.unwrap().iter().map(|head| head.name.as_str()).collect::<Vec<_>>(), ["good"]);
        let hits = keep.search("heliotrope", &SearchOptions::default()).await.unwrap().hits;
        assert_eq!(hits.len(), 1);
        let mut file = String::new();
        keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
        assert!(file.contains("a sound heliotrope") && !file.contains("a spoilt heliotrope"), "{file}");
        let findings = keep.lint(None).await.unwrap();
        assert!(findings.iter().any(|finding| finding.rule == "damage" && finding.transcript == bad), "{findings:?}");
        let known = keep.stats().await.unwrap().damaged;
        assert!(known.iter().any(|damage| damage.transcript.as_ref() == Some(&bad)), "{known:?}");
        assert_eq!(heard.borrow().len(), known.len(), "each is told of once");
        // A call for what is damaged does not give half of it.
        assert_eq!(code(keep.get_range("bad", 0, 9).await), "damaged");
        keep.delete_transcript(&bad).await.unwrap();
        assert!(
            store
                .store
                .scan(&Scan::prefix(""))
                .await
                .unwrap()
                .iter()
                .all(|(key, value)| { !key.contains(bad.as_str()) && *value != bad.as_str().as_bytes() })
        );
        assert_eq!(keep.get_count("bad").await.unwrap(), 0);
        assert_eq!(keep.get_count("good").await.unwrap(), 1);
        keep.append("bad", vec![Message::user("anew")]).await.unwrap();
    });
}

#[test]
fn records_pointers_and_facts_that_are_damaged_are_read_around_or_made_up_for() {
    run(async {
        let (store, open) = spoilt().await;
        let before = open().transcripts().await.unwrap();
        let whole = export(&open()).await;
        // Everything but the pages is made of them.
        let spoilt = store.spoil("t/").await + store.spoil("h/").await + store.spoil("i/").await;
        assert!(spoilt > 5, "{spoilt}");
        assert_eq!(open().transcripts().await.unwrap(), before);
        assert_eq!(texts(&open().get_range("bad", 0, 9).await.unwrap()), ["a spoilt heliotrope", "and another"]);
        assert_eq!(open().node(&id("outside")).await.unwrap().unwrap().messages[0].text(), "first");
        let keep = open();
        assert_eq!(keep.heads().await.unwrap().len(), 2);
        assert_eq!(export(&keep).await, whole);
        assert!(!keep.stats().await.unwrap().damaged.is_empty());
        // An append writes the record anew.
        let bad = keep.head("bad").await.unwrap().unwrap().transcript;
        keep.append("bad", vec![Message::user("and on")]).await.unwrap();
        assert!(!store.keys.borrow().contains(&format!("t/{bad}")));
        assert_eq!(open().get_count("bad").await.unwrap(), 3);

        let facts = store.store.scan(&Scan::prefix("f/")).await.unwrap();
        assert_eq!(store.spoil(&facts[0].0).await, 1);
        let keep = open();
        assert_eq!(keep.facts(&MemoryFilter::default()).await.unwrap().len(), 1);
        let known = keep.stats().await.unwrap().damaged;
        assert!(known.iter().any(|damage| damage.what.contains(&facts[0].0)), "{known:?}");
        keep.remember(NewFact::new("sings")).await.unwrap();
    });
}

async fn export(keep: &Keep<Spoilt>) -> String {
    let mut file = String::new();
    keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
    file
}

#[test]
fn a_damaged_mail_keeps_no_other_mail_back() {
    run(async {
        let (store, open) = spoilt().await;
        let keep = open();
        for text in ["one", "two", "three"] {
            let body = Body { strings: vec![text.to_owned()], ..Body::default() };
            keep.send(Outgoing { from: "a".to_owned(), to: "b".to_owned(), body, ..Outgoing::default() })
                .await
                .unwrap();
        }
        let mails = store.store.scan(&Scan::prefix("b/b/n/")).await.unwrap();
        assert_eq!((mails.len(), store.spoil(&mails[1].0).await), (3, 1));
        let keep = open();
        let listed = keep.list_messages("b", &MailFilter::default()).await.unwrap();
        assert_eq!(listed.iter().map(|mail| mail.number).collect::<Vec<_>>(), [1, 3]);
        let mut followed = keep.follow_messages("b", 0);
        assert_eq!((followed.next().await.unwrap().number, followed.next().await.unwrap().number), (1, 3));
        assert!(keep.stats().await.unwrap().damaged[0].what.contains(&mails[1].0));
    });
}

/// The agent `lal` over a store that finds damage.
fn lal(keep: &Keep<Spoilt>, script: &Rc<Script>) -> Agent<Spoilt> {
    let options = AgentOptions { resume: true, ..options("lal") };
    Agent::new(keep.clone(), options, Rc::clone(script) as Rc<dyn Model>, Rc::new(NoTools))
}

#[test]
fn an_agent_leaves_out_a_damaged_mail_and_answers_the_next() {
    // In the middle, where the store finds it and where only the engine does, and at the end.
    for (damaged, by_store) in [(1, true), (1, false), (2, true), (2, false)] {
        run(async {
            let (store, open) = spoilt().await;
            for text in ["one", "two", "three"] {
                write(&open(), text, None).await;
            }
            let (key, _) = store.store.scan(&Scan::prefix("b/lal/n/")).await.unwrap().swap_remove(damaged);
            if by_store {
                store.spoil(&key).await;
            } else {
                let puts = vec![(key.clone(), b"no mail".to_vec())];
                store.store.commit(Commit { puts, ..Commit::default() }).await.unwrap();
            }
            let (keep, script) = (open(), Script::of([says("a"), says("b"), says("c")]));
            let lal = lal(&keep, &script);
            assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 2);
            assert_eq!((lal.catch_up(&|_| {}).await.unwrap(), script.asked()), (0, 2));
            let damage = keep.stats().await.unwrap().damaged;
            assert!(damage.len() == 1 && damage[0].what.contains(&key), "{damage:?}");
            write(&keep, "four", None).await;
            assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1);
        });
    }
}

#[test]
fn a_turn_whose_mail_or_note_is_damaged_goes_on_and_so_do_those_after_it() {
    for damaged in ["b/lal/n/", "a/"] {
        run(async {
            let (store, open) = spoilt().await;
            let (keep, script) = (open(), Script::of([says("a"), says("b")]));
            let begun = lal(&keep, &script).post(from_ann("lal", "one")).await.unwrap();
            assert!(store.spoil(damaged).await > 0);
            let (keep, heard) = (open(), RefCell::new(Vec::new()));
            let lal = lal(&keep, &script);
            write(&keep, "two", None).await;
            assert_eq!(lal.catch_up(&|event| heard.borrow_mut().push(event)).await.unwrap(), 2, "{damaged}");
            let node = keep.node(&begun.id).await.unwrap().unwrap();
            assert_eq!((node.sealed, texts(&node.messages)), (true, vec!["one".to_owned(), "a".to_owned()]));
            assert!(!keep.stats().await.unwrap().damaged.is_empty());
            assert_eq!((lal.catch_up(&|_| {}).await.unwrap(), script.asked()), (0, 2));
        });
    }
}

#[test]
fn a_turn_number_that_is_stored_already_is_named_or_passed_over() {
    for (number, fits) in
        [("500000000", true), ("2147483649", false), ("4294967295", false), ("18446744073709551615", false)]
    {
        let world = World::default();
        run(async {
            world.tab().append("main", crate::users(3)).await.unwrap();
            let pages = world.store.scan(&Scan::prefix("p/")).await.unwrap();
            let mut changed = 0;
            let puts = pages.into_iter().map(|(key, value)| {
                let text = String::from_utf8(value).unwrap();
                changed += text.matches("\"turn\":2").count();
                (key, text.replace("\"turn\":2", &format!("\"turn\":{number}")).into_bytes())
            });
            let puts = puts.collect();
            world.store.commit(Commit { puts, ..Commit::default() }).await.unwrap();
            assert_eq!(changed, 1);
            let keep = world.tab();
            let all = Turns::Tail { turns: usize::MAX, exclude: None };
            assert_eq!(keep.transcripts().await.unwrap().len(), 1, "{number}");
            let (mut file, mut files) = (String::new(), 0);
            keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
            keep.export_memory(None, |_, _| files += 1).await.unwrap();
            assert!(file.contains("m0"), "{number}: {files} files, {file}");
            if fits {
                assert_eq!(keep.raw_traces("main", &all).await.unwrap().len(), 3);
                keep.append("main", crate::users(1)).await.unwrap();
                assert_eq!(keep.next_turn("main").await.unwrap(), "turn_500000002");
                return;
            }
            assert_eq!(code(keep.raw_traces("main", &all).await), "damaged", "{number}");
            assert_eq!(code(keep.append("main", crate::users(1)).await), "damaged", "{number}");
            let findings = keep.lint(None).await.unwrap();
            assert!(findings.iter().any(|finding| finding.rule == "damage"), "{number}: {findings:?}");
            // What was exported comes in elsewhere, with numbers that can be.
            let again = World::default().tab();
            let files = vec![("export.jsonl".to_owned(), file.into_bytes())];
            again.import(files, None, |_| {}).await.unwrap();
            assert!(again.raw_traces("main", &all).await.unwrap().len() >= 2, "{number}");
            again.append("main", crate::users(1)).await.unwrap();
        });
    }
}

#[test]
fn a_mailbox_whose_stored_number_is_the_last_there_is_says_so() {
    let world = World::default();
    run(async {
        let mail = |to: &str| Outgoing { from: "a".into(), to: to.into(), body: "hi".into(), ..Outgoing::default() };
        world.tab().send(mail("b")).await.unwrap();
        let marks = world.store.scan(&Scan::prefix("n/b/")).await.unwrap();
        let (key, _) = marks.last().unwrap();
        let last = format!("n/b/{:016x}", u64::MAX);
        assert_eq!(last.len(), key.len(), "{key}");
        let commit = Commit { puts: vec![(last, Vec::new())], deletes: vec![key.clone()], ..Commit::default() };
        world.store.commit(commit).await.unwrap();
        let error = world.tab().send(mail("b")).await.unwrap_err();
        assert!(error.to_string().contains("is the most"), "{error}");
        world.tab().send(mail("c")).await.unwrap();
    });
}
