//! Conversations of an agent: found again by their name, answered at the same time, each in order, and nothing twice.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use threadkeep::agent::{Agent, AgentEvent, AgentOptions, Here, NoTools};
use threadkeep::mailbox::{Body, Mail, Outgoing};
use threadkeep::model::{Answer, Call, Model};
use threadkeep::{Keep, Options};
use threadkeep_core::{Message, Role};
use threadkeep_provider::Delta;
use threadkeep_store::{MemoryStore, Store};

use crate::agent_support::{Breathing, Script, box_of, breath, from_ann, options, says, write};
use crate::side_by_side::together;
use crate::{World, code, run, texts};

/// An agent without built-in tools.
fn plain() -> AgentOptions {
    AgentOptions { built_in: Vec::new(), ..options("lal") }
}

fn agent(keep: &Keep<MemoryStore>, script: &Rc<Script>) -> Agent<MemoryStore> {
    Agent::new(keep.clone(), plain(), Rc::clone(script) as Rc<dyn Model>, Rc::new(NoTools))
}

/// Ann writes to the agent in a conversation.
async fn say<S: Store>(keep: &Keep<S>, conversation: &str, text: &str) -> Mail {
    let mail = Outgoing { from: "ann".into(), to: "lal".into(), body: Body::text(text), ..Outgoing::default() };
    keep.send(Outgoing { conversation: Some(conversation.into()), ..mail }).await.unwrap()
}

/// A model that takes its time. It keeps what it was asked.
struct Slow(RefCell<Vec<String>>);

impl Slow {
    /// Waits until it was asked.
    async fn is_asked(&self) {
        while self.0.borrow().is_empty() {
            breath().await;
        }
    }
}

/// A keep, and an agent there whose model is slow.
fn slow_agent(world: &World) -> (Keep<MemoryStore>, Rc<Slow>, Agent<MemoryStore>) {
    let (keep, slow) = (world.tab(), Rc::new(Slow(RefCell::default())));
    let lal = Agent::new(keep.clone(), plain(), Rc::clone(&slow) as Rc<dyn Model>, Rc::new(NoTools));
    (keep, slow, lal)
}

impl Model for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn call<'a>(&'a self, call: Call<'a>, _: &'a dyn Fn(Delta)) -> Answer<'a> {
        let asked = call.messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
        self.0.borrow_mut().push(asked);
        Box::pin(async move {
            for _ in 0..200 {
                breath().await;
            }
            says("slowly")
        })
    }
}

/// What was said in a thread.
async fn read<S: Store>(keep: &Keep<S>, thread: &str) -> Vec<String> {
    texts(&keep.get_range(thread, 0, 1000).await.unwrap())
}

#[test]
fn a_conversation_is_found_again_by_its_name_after_a_restart() {
    let world = World::default();
    run(async {
        let script = Script::of([says("one"), says("two"), says("other")]);
        let lal = agent(&world.tab(), &script);
        let first = say(lal.keep(), "ann-42", "first").await;
        lal.catch_up(&|_| {}).await.unwrap();
        assert_eq!(read(lal.keep(), "ann-42").await, ["first", "one"]);
        let later = agent(&world.tab(), &script);
        say(later.keep(), "ann-42", "second").await;
        say(later.keep(), "ann-43", "elsewhere").await;
        later.catch_up(&|_| {}).await.unwrap();
        assert_eq!(read(later.keep(), "ann-42").await, ["first", "one", "second", "two"]);
        assert_eq!(read(later.keep(), "ann-43").await, ["elsewhere", "other"]);
        assert_eq!(later.keep().roots().await.unwrap().len(), 2);
        let kept = box_of(later.keep(), "lal").await.remove(0);
        assert_eq!((kept.message_id, kept.conversation.as_deref()), (first.message_id, Some("ann-42")));
    });
}

#[test]
fn a_message_that_ends_its_conversation_already_does_not_wait_for_itself() {
    let world = World::default();
    run(async {
        let script = Script::of([says("an answer")]);
        let lal = agent(&world.tab(), &script);
        let mail = Outgoing { from: "ann".into(), to: "lal".into(), body: Body::text("hello"), ..Outgoing::default() };
        lal.post(Outgoing { conversation: Some("c".into()), ..mail }).await.unwrap();
        // A program that was killed in this moment has filed the message and not noted it.
        let puts = vec![("a/lal".to_owned(), b"{}".to_vec())];
        world.store.commit(threadkeep_store::Commit { puts, ..Default::default() }).await.unwrap();
        let resuming = AgentOptions { resume: true, ..plain() };
        let later = Agent::new(world.tab(), resuming, Rc::clone(&script) as Rc<dyn Model>, Rc::new(NoTools));
        later.catch_up(&|_| {}).await.unwrap();
        assert_eq!(read(later.keep(), "c").await, ["hello", "an answer"]);
    });
}

#[test]
fn two_agents_in_one_conversation_take_turns() {
    let world = World::default();
    run(async {
        let (keep, slow, lal) = slow_agent(&world);
        let quick = Script::of([says("from bea")]);
        let own = AgentOptions { name: "bea".to_owned(), ..plain() };
        let bea = Agent::new(keep.clone(), own, Rc::clone(&quick) as Rc<dyn Model>, Rc::new(NoTools));
        say(&keep, "c", "to lal").await;
        let asked = async {
            slow.is_asked().await;
            // Lal's turn is under way. The conversation's end is its node.
            let mail = Outgoing { conversation: Some("c".into()), ..from_ann("bea", "to bea") };
            keep.send(mail).await.unwrap();
            bea.catch_up(&|_| {}).await.unwrap();
        };
        let (lals, ()) = futures_util::future::join(lal.catch_up(&|_| {}), asked).await;
        lals.unwrap();
        assert_eq!(read(&keep, "c").await, ["to lal", "slowly", "to bea", "from bea"]);
        assert!(lal.interrupted().await.unwrap().is_empty() && bea.interrupted().await.unwrap().is_empty());
    });
}

#[test]
fn a_message_that_is_posted_below_a_turn_waits_until_the_turn_is_over() {
    let world = World::default();
    run(async {
        let (keep, slow, lal) = slow_agent(&world);
        say(&keep, "c", "first").await;
        let posted = async {
            slow.is_asked().await;
            lal.post(Outgoing { conversation: Some("c".into()), ..from_ann("lal", "second") }).await.unwrap()
        };
        let (done, second) = futures_util::future::join(lal.catch_up(&|_| {}), posted).await;
        done.unwrap();
        lal.resume(&second.id, &|_| {}).await.unwrap();
        assert_eq!(read(&keep, "c").await, ["first", "slowly", "second", "slowly"]);
    });
}

#[test]
fn a_turn_that_fails_does_not_hold_back_what_the_agent_has_seen() {
    let world = World::default();
    run(async {
        let (keep, slow, lal) = slow_agent(&world);
        say(&keep, "c", "gone in a moment").await;
        let deleted = async {
            slow.is_asked().await;
            let transcript = keep.head("c").await.unwrap().unwrap().transcript;
            keep.delete_transcript(&transcript).await.unwrap();
        };
        let (failed, ()) = futures_util::future::join(lal.catch_up(&|_| {}), deleted).await;
        assert_eq!(code(failed), "missing-node");
        for at in 0..3 {
            say(&keep, &format!("d{at}"), "hello").await;
            lal.catch_up(&|_| {}).await.unwrap();
        }
        let record = world.store.get("a/lal").await.unwrap().unwrap();
        let state: serde_json::Value = serde_json::from_slice(&record).unwrap();
        assert_eq!(state["seen"], 7, "{state}");
    });
}

#[test]
fn nothing_of_a_deleted_scope_comes_back_though_its_messages_waited() {
    let world = World::default();
    run(async {
        let (keep, slow, lal) = slow_agent(&world);
        say(&keep, "c", "first").await;
        say(&keep, "c", "second").await;
        let deleted = async {
            slow.is_asked().await;
            let all = vec![(String::new(), "\u{7f}".to_owned())];
            let commit = threadkeep_store::Commit { delete_ranges: all, ..Default::default() };
            world.store.commit(commit).await.unwrap();
        };
        let (failed, ()) = futures_util::future::join(lal.catch_up(&|_| {}), deleted).await;
        assert!(failed.is_err());
        let left = world.store.scan(&threadkeep_store::Scan::prefix("")).await.unwrap();
        assert!(left.is_empty(), "{:?}", left.iter().map(|(key, _)| key).collect::<Vec<_>>());
        // The scope begins anew, and its first message is answered.
        say(&keep, "c", "again").await;
        lal.catch_up(&|_| {}).await.unwrap();
        assert_eq!(read(&keep, "c").await, ["again", "slowly"]);
    });
}

#[test]
fn a_conversation_goes_on_where_its_thread_was_appended_to() {
    let world = World::default();
    run(async {
        let lal = agent(&world.tab(), &Script::of([says("yes")]));
        lal.keep().append("notes", vec![Message::user("a"), Message::assistant("b")]).await.unwrap();
        say(lal.keep(), "notes", "c").await;
        lal.catch_up(&|_| {}).await.unwrap();
        assert_eq!(read(lal.keep(), "notes").await, ["a", "b", "c", "yes"]);
    });
}

#[test]
fn a_reply_in_a_conversation_decides_the_place_and_the_conversation_moves_there() {
    let world = World::default();
    run(async {
        let script = Script::of(["one", "two", "else", "there", "here"].map(says));
        let lal = agent(&world.tab(), &script);
        let ask = async |conversation: &str, text: &str, about: Option<&Mail>| {
            let mail = Outgoing {
                from: "ann".into(),
                to: "lal".into(),
                body: Body::text(text),
                reply_to: about.map(|about| about.message_id.clone()),
                conversation: Some(conversation.into()),
                ..Outgoing::default()
            };
            let sent = lal.keep().send(mail).await.unwrap();
            lal.catch_up(&|_| {}).await.unwrap();
            sent
        };
        let first = ask("c", "first", None).await;
        ask("c", "second", None).await;
        ask("d", "other", None).await;
        // A branch of the same transcript, and then another transcript.
        ask("c", "instead", Some(&first)).await;
        assert_eq!(read(lal.keep(), "c").await, ["first", "one", "instead", "there"]);
        let elsewhere = box_of(lal.keep(), "lal").await.into_iter().find(|mail| mail.body.joined() == "other").unwrap();
        ask("c", "moved", Some(&elsewhere)).await;
        assert_eq!(read(lal.keep(), "c").await, ["other", "else", "moved", "here"]);
        assert_eq!(read(lal.keep(), "d").await, ["other", "else"]);
        // Where nobody knows the message, the conversation goes on, and that is said.
        let unknown = Mail { message_id: crate::id("gone"), ..elsewhere };
        let lost = ask("c", "lost", Some(&unknown)).await;
        let node = lal.keep().node(&lost.message_id).await.unwrap().unwrap();
        assert!(node.unknown_reply);
        assert_eq!(read(lal.keep(), "c").await.len(), 6);
    });
}

#[test]
fn a_conversation_needs_a_name_that_a_thread_can_have() {
    let world = World::default();
    run(async {
        for name in ["", &"x".repeat(513)] {
            let mail =
                Outgoing { from: "a".into(), to: "b".into(), conversation: Some(name.into()), ..Outgoing::default() };
            assert_eq!(code(world.tab().send(mail).await), "bad-request");
        }
    });
}

/// A model that answers nobody until so many ask at once.
struct Gate {
    wanted: usize,
    asked: Cell<usize>,
}

impl Model for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn call<'a>(&'a self, call: Call<'a>, _: &'a dyn Fn(Delta)) -> Answer<'a> {
        self.asked.set(self.asked.get() + 1);
        let last = call.messages.iter().next_back().map(|message| message.text().into_owned()).unwrap_or_default();
        Box::pin(async move {
            while self.asked.get() < self.wanted {
                breath().await;
            }
            says(&format!("to {last}"))
        })
    }
}

#[test]
fn fifty_conversations_are_answered_at_the_same_time() {
    let world = World::default();
    let store = Breathing(world.store.clone(), true);
    let keep = run(Keep::open(store, world.host.clone(), Options::default())).unwrap();
    let gate = Rc::new(Gate { wanted: 50, asked: Cell::new(0) });
    let lal = Agent::new(keep.clone(), plain(), Rc::clone(&gate) as Rc<dyn Model>, Rc::new(NoTools));
    run(async {
        for at in 0..50 {
            say(&keep, &format!("c{at}"), &format!("question {at}")).await;
        }
    });
    let done = together(vec![Box::pin(async { assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 50) })]);
    assert_eq!(done, Some(()));
    run(async {
        for at in 0..50 {
            let said = [format!("question {at}"), format!("to question {at}")];
            assert_eq!(read(&keep, &format!("c{at}")).await, said);
        }
    });
}

#[test]
fn messages_of_one_conversation_are_answered_one_after_the_other() {
    let world = World::default();
    let script = Script::of(["one", "two", "three"].map(says));
    let lal = agent(&world.tab(), &script);
    run(async {
        for text in ["1", "2", "3"] {
            say(lal.keep(), "c", text).await;
        }
        let events = RefCell::new(Vec::new());
        let heard = |event: AgentEvent| match event {
            AgentEvent::Began { .. } => events.borrow_mut().push("began"),
            AgentEvent::Ended { .. } => events.borrow_mut().push("ended"),
            _ => {}
        };
        assert_eq!(lal.catch_up(&heard).await.unwrap(), 3);
        assert_eq!(events.into_inner(), ["began", "ended", "began", "ended", "began", "ended"]);
        assert_eq!(read(lal.keep(), "c").await, ["1", "one", "2", "two", "3", "three"]);
    });
}

#[test]
fn a_reply_to_a_turn_that_is_under_way_waits_for_its_end() {
    let world = World::default();
    run(async {
        let script = Script::of([says("late"), says("then")]);
        script.stalls.set(true);
        let lal = agent(&world.tab(), &script);
        let first = write(lal.keep(), "first", None).await;
        let one = async { lal.catch_up(&|_| {}).await.unwrap() };
        let two = async {
            while script.asked() == 0 {
                breath().await;
            }
            // It answers what is not yet answered itself.
            let second = write(lal.keep(), "second", Some(&first)).await;
            let catching = async { lal.catch_up(&|_| {}).await.unwrap() };
            let freeing = async {
                for _ in 0..50 {
                    breath().await;
                }
                assert_eq!(script.asked(), 1, "the second waits");
                script.stalls.set(false);
                lal.stop_turn(&first.message_id);
            };
            futures_util::future::join(catching, freeing).await;
            second
        };
        let (_, second) = futures_util::future::join(one, two).await;
        let second = lal.keep().node(&second.message_id).await.unwrap().unwrap();
        assert_eq!((second.parent.as_ref(), second.sealed), (Some(&first.message_id), true));
        assert!(lal.keep().node(&first.message_id).await.unwrap().unwrap().sealed);
    });
}

#[test]
fn a_stop_of_one_turn_leaves_the_others() {
    let world = World::default();
    run(async {
        let gate = Rc::new(Gate { wanted: 3, asked: Cell::new(0) });
        let lal = Agent::new(world.tab(), plain(), Rc::clone(&gate) as Rc<dyn Model>, Rc::new(NoTools));
        let first = say(lal.keep(), "a", "first").await;
        say(lal.keep(), "b", "second").await;
        let stopping = async {
            while gate.asked.get() < 2 {
                breath().await;
            }
            lal.stop_turn(&first.message_id);
            gate.asked.set(3);
        };
        let catching = async { lal.catch_up(&|_| {}).await.unwrap() };
        let (turns, ()) = futures_util::future::join(catching, stopping).await;
        assert_eq!(turns, 2);
        assert_eq!(read(lal.keep(), "b").await, ["second", "to second"]);
        let cut = lal.keep().node(&first.message_id).await.unwrap().unwrap();
        assert!(cut.sealed && cut.messages.len() == 2);
        assert_eq!(cut.messages[1].role, Role::Assistant);
        assert_ne!(read(lal.keep(), "a").await, ["first", "to first"]);
    });
}

/// A model that counts how often it was asked each question.
#[derive(Default)]
struct Counting(RefCell<Vec<String>>);

impl Model for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(Delta)) -> Answer<'a> {
        let last = call.messages.iter().next_back().map(|message| message.text().into_owned()).unwrap_or_default();
        Box::pin(async move {
            heard(Delta::Text("…".into()));
            for _ in 0..last.len() % 7 {
                breath().await;
            }
            self.0.borrow_mut().push(last.clone());
            says(&format!("to {last}"))
        })
    }
}

/// Two programs answer the messages of one mailbox, and end at any moment; others go on.
fn programs(seed: u64) -> usize {
    let world = World::default();
    let store = Breathing(world.store.clone(), true);
    let open = || run(Keep::open(store.clone(), world.host.clone(), Options::default())).unwrap();
    let (claims, model) = (Here::default(), Rc::new(Counting::default()));
    let start = |keep: &Keep<Breathing>| {
        let own = AgentOptions { resume: true, ..plain() };
        Agent::new(keep.clone(), own, Rc::clone(&model) as Rc<dyn Model>, Rc::new(NoTools))
            .claiming(Rc::new(claims.clone()))
    };
    let ann = open();
    run(async {
        for round in 0..4 {
            for at in 0..6 {
                say(&ann, &format!("c{at}"), &format!("question {round} of {at}")).await;
            }
        }
    });
    let random = Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let next = |most: u64| {
        let mut x = random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        random.set(x);
        x % most
    };
    let kills = Cell::new(0);
    let program = async || {
        loop {
            let keep = open();
            let lal = start(&keep);
            let mut life = 20 + next(500);
            let mut work = Box::pin(lal.catch_up(&|_| {}));
            let done = poll_fn(|context| {
                life -= 1;
                if life == 0 {
                    return Poll::Ready(None);
                }
                context.waker().wake_by_ref();
                work.as_mut().poll(context).map(Some)
            });
            match done.await {
                Some(done) => {
                    done.unwrap();
                    return;
                }
                None => kills.set(kills.get() + 1),
            }
        }
    };
    assert_eq!(together(vec![Box::pin(program()), Box::pin(program())]), Some(()));
    run(async {
        let answers = box_of(&ann, "ann").await.into_iter().filter(|mail| mail.from == "lal").count();
        assert_eq!(answers, 24, "seed {seed}, {} kills", kills.get());
        for at in 0..6 {
            let wanted: Vec<String> = (0..4)
                .flat_map(|round| {
                    let asked = format!("question {round} of {at}");
                    let said = format!("to {asked}");
                    [asked, said]
                })
                .collect();
            assert_eq!(read(&ann, &format!("c{at}")).await, wanted, "seed {seed}, {} kills", kills.get());
        }
        assert_eq!(ann.roots().await.unwrap().len(), 6, "seed {seed}");
    });
    kills.get()
}

#[test]
fn two_programs_that_end_at_any_moment_answer_every_message_once_and_in_order() {
    let kills: usize = (1..=20).map(programs).sum();
    assert!(kills >= 20, "{kills} kills");
}

#[test]
fn records_of_mail_without_a_conversation_are_read() {
    let world = World::default();
    run(async {
        let store: &MemoryStore = &world.store;
        let record = br#"{"number":1,"messageId":"m","from":"ann","to":"lal","strings":["hi"],"edgeNames":[],"petNames":[],"date":7}"#;
        let puts =
            vec![("b/lal/n/0000000000000001".to_owned(), record.to_vec()), ("b/lal/i/m".to_owned(), b"1".to_vec())];
        store.commit(threadkeep_store::Commit { puts, ..Default::default() }).await.unwrap();
        let mail = world.tab().mail("lal", 1).await.unwrap().unwrap();
        assert_eq!((mail.body.joined().as_str(), mail.conversation), ("hi", None));
    });
}
