//! Turns that a crash interrupted: they stay as they are until somebody asks for them, and messages that were sent are answered.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::rc::Rc;

use threadkeep::agent::{Agent, AgentOptions};
use threadkeep::mailbox::{Mail, Outgoing};
use threadkeep::protocol::NodeInfo;
use threadkeep_store::{MemoryStore, Store};

use crate::agent::until;
use crate::agent_support::{Script, agent, box_of, options, says, write};
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
