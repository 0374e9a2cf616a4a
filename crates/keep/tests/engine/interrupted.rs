//! Turns that a crash interrupted: they stay as they are until somebody asks for them, with what was said until then, and messages that
//! were sent are answered.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::cell::Cell;
use std::rc::Rc;

use threadkeep::agent::{Agent, AgentEvent, AgentOptions};
use threadkeep::mailbox::{Mail, Outgoing};
use threadkeep::model::{Answer, Call, Model};
use threadkeep::protocol::NodeInfo;
use threadkeep::{Host, Keep, Options};
use threadkeep_core::Message;
use threadkeep_core::message::Kind;
use threadkeep_provider::Delta;
use threadkeep_store::{MemoryStore, Store};

use crate::agent::until;
use crate::agent_support::{Breathing, Said, Script, agent, box_of, breath, fails, options, says, write};
use crate::{World, code, id, run, texts};

/// A turn that the program's end interrupts while the model is asked.
async fn interrupt(world: &World, text: &str, reply_to: Option<&Mail>) -> (Rc<Script>, Mail) {
    let script = Script::of([]);
    script.stalls.set(true);
    let lal = agent(&world.tab(), &script);
    let mail = write(lal.keep(), text, reply_to).await;
    assert!(until(lal.catch_up(&|_| {}), || script.asked() == 1).await.is_none());
    (script, mail)
}

async fn node(lal: &Agent<MemoryStore>, mail: &Mail) -> NodeInfo {
    lal.keep().node(&mail.message_id).await.unwrap().unwrap()
}

#[test]
fn messages_sent_after_a_thread_was_deleted_are_answered() {
    let world = World::default();
    run(async {
        let script = Script::of((0..9).map(|at| says(&format!("answer {at}"))));
        let lal = agent(&world.tab(), &script);
        for round in 0..3 {
            let mail = write(lal.keep(), "hi", None).await;
            assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1, "round {round}");
            let asked = node(&lal, &mail).await;
            // The whole thread, or its last turn.
            if round % 2 == 0 {
                lal.keep().delete_transcript(&asked.transcript).await.unwrap();
            } else {
                lal.keep().delete_branch(&asked.id).await.unwrap();
            }
        }
        lal.keep().delete_all().await.unwrap();
        let mail = write(lal.keep(), "and now?", None).await;
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1);
        assert!(node(&lal, &mail).await.sealed);
        assert_eq!(box_of(lal.keep(), "ann").await.len(), 2);
    });
}

#[test]
fn a_turn_that_was_interrupted_is_not_sent_again_when_another_thread_is_used() {
    let world = World::default();
    run(async {
        let (_, left) = interrupt(&world, "about A", None).await;
        let script = Script::of([says("about B")]);
        let lal = agent(&world.tab(), &script);
        let other = write(lal.keep(), "about B", None).await;
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1);
        assert_eq!((script.asked(), script.prompt(0).last().unwrap().as_str()), (1, "about B"));
        assert!(node(&lal, &other).await.sealed);
        // It stays, readable and marked, also for those who come later.
        for _ in 0..2 {
            let lal = agent(&world.tab(), &script);
            assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 0);
            let open = lal.interrupted().await.unwrap();
            assert_eq!(open.iter().map(|node| &node.id).collect::<Vec<_>>(), [&left.message_id]);
            assert_eq!(texts(&open[0].messages), ["about A"]);
        }
    });
}

#[test]
fn an_interrupted_turn_goes_on_once_somebody_asks_for_it() {
    let world = World::default();
    run(async {
        let (_, left) = interrupt(&world, "about A", None).await;
        let script = Script::of([says("about A, later")]);
        let lal = agent(&world.tab(), &script);
        lal.catch_up(&|_| {}).await.unwrap();
        let done = lal.resume(&left.message_id, &|_| {}).await.unwrap();
        assert!(done.sealed);
        assert_eq!(texts(&done.messages)[1], "about A, later");
        assert!(lal.interrupted().await.unwrap().is_empty());
        // Asking again changes nothing.
        assert_eq!(lal.resume(&left.message_id, &|_| {}).await.unwrap(), done);
        assert_eq!(script.asked(), 1);
        assert_eq!(box_of(lal.keep(), "ann").await.len(), 2);
        assert_eq!(code(lal.resume(&id("nowhere"), &|_| {}).await), "missing-node");
    });
}

#[test]
fn an_agent_that_is_to_resume_does_so_by_itself() {
    let world = World::default();
    run(async {
        let (_, left) = interrupt(&world, "about A", None).await;
        let script = Script::of([says("later"), says("again")]);
        // By the first look, and by one that comes after a look without the option.
        agent(&world.tab(), &script).catch_up(&|_| {}).await.unwrap();
        let own = AgentOptions { resume: true, ..options("lal") };
        let lal = Agent::new(world.tab(), own, script.clone(), Rc::new(threadkeep::agent::NoTools));
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1);
        assert!(node(&lal, &left).await.sealed);
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 0);
    });
}

#[test]
fn a_turn_that_something_follows_is_not_interrupted_any_more() {
    let world = World::default();
    run(async {
        let (_, left) = interrupt(&world, "about A", None).await;
        let script = Script::of([says("so be it")]);
        let lal = agent(&world.tab(), &script);
        let more = write(lal.keep(), "never mind", Some(&left)).await;
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1);
        assert_eq!(node(&lal, &more).await.parent.as_ref(), Some(&left.message_id));
        assert!(lal.interrupted().await.unwrap().is_empty());
        assert_eq!(code(lal.resume(&left.message_id, &|_| {}).await), "bad-request");
    });
}

#[test]
fn a_turn_that_came_back_from_the_bin_goes_on_and_belongs_to_the_agent_that_resumes_it() {
    let world = World::default();
    run(async {
        let (_, left) = interrupt(&world, "about A", None).await;
        let script = Script::of([says("about A, later")]);
        let lal = agent(&world.tab(), &script);
        let asked = node(&lal, &left).await;
        let binned = lal.keep().bin(&asked.transcript, None).await.unwrap().unwrap();
        assert!(lal.interrupted().await.unwrap().is_empty());
        lal.keep().undelete(&binned.id).await.unwrap();
        // The deletion took it from its agent, and nothing is sent unasked.
        assert!(lal.interrupted().await.unwrap().is_empty());
        assert_eq!((lal.catch_up(&|_| {}).await.unwrap(), script.asked()), (0, 0));
        // The program ends once more, while the model is asked.
        let silent = Script::of([]);
        silent.stalls.set(true);
        let earlier = agent(&world.tab(), &silent);
        assert!(until(earlier.resume(&asked.id, &|_| {}), || silent.asked() == 1).await.is_none());
        assert_eq!(lal.interrupted().await.unwrap().len(), 1);
        let other = Agent::new(world.tab(), options("kim"), script.clone(), Rc::new(threadkeep::agent::NoTools));
        assert_eq!(code(other.resume(&asked.id, &|_| {}).await), "bad-request", "it is lal's");
        let done = lal.resume(&asked.id, &|_| {}).await.unwrap();
        assert_eq!((texts(&done.messages)[1].as_str(), done.sealed), ("about A, later", true));
        assert!(lal.interrupted().await.unwrap().is_empty());
    });
}

#[test]
fn a_posted_message_is_in_its_chain_before_the_model_is_asked() {
    let world = World::default();
    run(async {
        let script = Script::of([says("yes")]);
        let lal = agent(&world.tab(), &script);
        let mail = Outgoing { from: "ann".into(), body: "are you there?".into(), ..Outgoing::default() };
        let asked = lal.post(mail).await.unwrap();
        assert_eq!((texts(&asked.messages), asked.sealed, script.asked()), (vec!["are you there?".into()], false, 0));
        // The page may be closed now: the message stays where it is, as an interrupted turn.
        let later = agent(&world.tab(), &script);
        assert_eq!(later.catch_up(&|_| {}).await.unwrap(), 0);
        assert_eq!(later.interrupted().await.unwrap()[0].id, asked.id);
        let done = lal.resume(&asked.id, &|_| {}).await.unwrap();
        assert_eq!((texts(&done.messages)[1].as_str(), done.sealed), ("yes", true));
    });
}

#[test]
fn what_an_older_version_left_open_is_interrupted_too() {
    let world = World::default();
    run(async {
        let (_, left) = interrupt(&world, "about A", None).await;
        let mut commit = threadkeep_store::Commit::default();
        let marks = threadkeep_store::Scan::prefix("a/");
        commit.delete_ranges.push((marks.start, marks.end));
        let state = format!(r#"{{"seen": 1, "open": ["{}"]}}"#, left.message_id.as_str());
        commit.puts.push(("a/lal".to_owned(), state.into_bytes()));
        world.store.commit(commit).await.unwrap();
        let lal = agent(&world.tab(), &Script::of([]));
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 0);
        assert_eq!(lal.interrupted().await.unwrap()[0].id, left.message_id);
        lal.keep().delete_transcript(&node(&lal, &left).await.transcript).await.unwrap();
        let left_over = world.store.scan(&threadkeep_store::Scan::prefix("a/")).await.unwrap();
        assert!(left_over.iter().all(|(key, _)| key == "a/lal"), "{left_over:?}");
    });
}

/// A clock that stands still until it is moved, and no timers: what waits for a time goes on with the next piece.
#[derive(Clone, Default)]
struct Clock(Rc<Cell<i64>>, crate::TestHost);

impl Host for Clock {
    fn now(&self) -> i64 {
        self.0.get()
    }

    fn random(&self) -> [u8; 32] {
        self.1.random()
    }
}

/// Says its pieces, half a second after each other, and then what comes of them; or never, without that.
struct Talker {
    clock: Clock,
    pieces: Vec<Delta>,
    then: Option<Said>,
    said: Cell<usize>,
}

impl Model for Talker {
    fn name(&self) -> &str {
        "talker"
    }

    fn call<'a>(&'a self, _: Call<'a>, heard: &'a dyn Fn(Delta)) -> Answer<'a> {
        Box::pin(async move {
            for piece in &self.pieces {
                self.clock.0.set(self.clock.0.get() + 500);
                heard(piece.clone());
                self.said.set(self.said.get() + 1);
                // The store takes a few moments.
                for _ in 0..20 {
                    breath().await;
                }
            }
            match &self.then {
                Some(said) => said.clone(),
                None => std::future::pending().await,
            }
        })
    }
}

struct Talk {
    store: MemoryStore,
    clock: Clock,
}

impl Talk {
    fn new() -> Self {
        Self { store: MemoryStore::new(), clock: Clock::default() }
    }

    fn tab(&self) -> Keep<Breathing> {
        run(Keep::open(Breathing(self.store.clone(), false), self.clock.clone(), Options::default())).unwrap()
    }

    fn agent(&self, pieces: &[Delta], then: Option<Said>) -> (Agent<Breathing>, Rc<Talker>) {
        let said = Cell::new(0);
        let talker = Rc::new(Talker { clock: self.clock.clone(), pieces: pieces.to_vec(), then, said });
        (Agent::new(self.tab(), options("lal"), talker.clone(), Rc::new(threadkeep::agent::NoTools)), talker)
    }

    /// A turn that ends with the program after all pieces were said.
    async fn interrupt(&self, pieces: &[Delta]) -> Mail {
        let (lal, talker) = self.agent(pieces, None);
        let mail = write(lal.keep(), "tell me", None).await;
        let waits = Cell::new(0);
        let all = || {
            waits.set(waits.get() + usize::from(talker.said.get() == pieces.len()));
            waits.get() > 40
        };
        assert!(until(lal.catch_up(&|_| {}), all).await.is_none());
        mail
    }

    async fn drafts(&self) -> usize {
        let all = self.store.scan(&threadkeep_store::Scan::prefix("p/")).await.unwrap();
        all.iter().filter(|(key, _)| key.rsplit('/').next().is_some_and(|last| last.starts_with('y'))).count()
    }
}

fn text(text: &str) -> Delta {
    Delta::Text(text.into())
}

fn unfinished(message: &Message) -> bool {
    matches!(&message.kind, Kind::Error { code, .. } if code == "unfinished")
}

#[test]
fn what_was_said_before_a_crash_is_there_afterwards_and_is_replaced_by_the_whole_answer() {
    let talk = Talk::new();
    run(async {
        let pieces: Vec<Delta> = (0..10).map(|at| text(&format!("word {at} "))).collect();
        let mail = talk.interrupt(&[&[Delta::Reasoning("hm".into())], &pieces[..]].concat()).await;
        // At most a second behind: two pieces of half a second each.
        let keep = talk.tab();
        let left = keep.node(&mail.message_id).await.unwrap().unwrap();
        assert!(!left.sealed && left.messages.len() == 2 && unfinished(&left.messages[1]));
        let said = left.messages[1].text().into_owned();
        assert!(said.starts_with("word 0 ") && said.contains("word 7 "), "{said}");
        assert_eq!(left.messages[1].reasoning.as_deref(), Some("hm"));
        // No history: what is counted, and sent, is what was really said.
        assert_eq!(keep.stats().await.unwrap().messages, 2);
        let (lal, talker) = talk.agent(&[text("whole ")], Some(says("the whole answer")));
        let done = lal.resume(&mail.message_id, &|_| {}).await.unwrap();
        assert_eq!(talker.said.get(), 1);
        assert_eq!(texts(&done.messages), ["tell me", "the whole answer"]);
        assert_eq!((keep.node(&mail.message_id).await.unwrap().unwrap(), talk.drafts().await), (done, 0));
    });
}

#[test]
fn an_answer_is_written_about_once_a_second_and_leaves_nothing_beside_it() {
    let talk = Talk::new();
    run(async {
        let pieces: Vec<Delta> = (0..40).map(|at| text(&format!("{at} "))).collect();
        let (lal, _) = talk.agent(&pieces, Some(says("all of it")));
        let mail = write(lal.keep(), "tell me", None).await;
        let most = Cell::new(0);
        let heard = |_| most.set(most.get().max(run(talk.drafts())));
        lal.catch_up(&heard).await.unwrap();
        // 40 pieces in 20 seconds.
        assert!((10..=20).contains(&most.get()), "{} pieces", most.get());
        assert_eq!(talk.drafts().await, 0);
        assert_eq!(texts(&lal.keep().node(&mail.message_id).await.unwrap().unwrap().messages)[1], "all of it");
    });
}

#[test]
fn an_unfinished_answer_stays_where_another_message_follows_and_where_going_on_fails() {
    let talk = Talk::new();
    let pieces = [text("half "), text("an "), text("answer "), text("and more")];
    run(async {
        let mail = talk.interrupt(&pieces).await;
        let (lal, _) = talk.agent(&[], Some(says("go on then")));
        write(lal.keep(), "and?", Some(&mail)).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let kept = lal.keep().node(&mail.message_id).await.unwrap().unwrap();
        assert!(unfinished(&kept.messages[1]) && kept.messages[1].text().starts_with("half an "));
        assert_eq!((kept.messages.len(), talk.drafts().await), (2, 0));
        assert_eq!(talk.tab().stats().await.unwrap().messages, 5);

        let mail = talk.interrupt(&pieces).await;
        let (lal, _) = talk.agent(&[], Some(fails("unreachable")));
        let done = lal.resume(&mail.message_id, &|_| {}).await.unwrap();
        assert!(matches!(&done.messages[1].kind, Kind::Error { code, .. } if code == "unreachable"));
        assert!(done.messages[1].text().starts_with("half an ") && done.sealed && done.messages.len() == 2);
    });
}

#[test]
fn a_deleted_turn_leaves_nothing_of_its_unfinished_answer() {
    let talk = Talk::new();
    let pieces = [text("secret "), text("secret "), text("secret "), text("secret")];
    run(async {
        for whole in [false, true] {
            let mail = talk.interrupt(&pieces).await;
            assert!(talk.drafts().await > 0);
            let keep = talk.tab();
            if whole {
                keep.delete_transcript(&keep.node(&mail.message_id).await.unwrap().unwrap().transcript).await.unwrap();
            } else {
                keep.delete_branch(&mail.message_id).await.unwrap();
            }
            let left = talk.store.scan(&threadkeep_store::Scan::range("", "~")).await.unwrap();
            assert!(left.iter().all(|(_, value)| !String::from_utf8_lossy(value).contains("secret")));
        }
        // Nor does one come back that is deleted while its answer goes on.
        let (lal, _) = talk.agent(&pieces, Some(says("secret")));
        let mail = write(lal.keep(), "tell me", None).await;
        let other = talk.tab();
        let deleted = Cell::new(false);
        let heard = |event: AgentEvent| {
            if matches!(event, AgentEvent::Delta { .. }) && !deleted.replace(true) {
                run(other.delete_branch(&mail.message_id)).unwrap();
            }
        };
        assert_eq!(code(lal.catch_up(&heard).await), "missing-node");
        let left = talk.store.scan(&threadkeep_store::Scan::range("", "~")).await.unwrap();
        assert!(left.iter().all(|(_, value)| !String::from_utf8_lossy(value).contains("secret")));
    });
}
