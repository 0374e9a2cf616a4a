//! What was dismissed is collected: branches and whole transcripts, on a call and after a set time, and nothing that is still needed.

use serde_json::json;
use threadkeep::Keep;
use threadkeep::agent::{Agent, AgentOptions, NoTools};
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::mailbox::{Mail, Outgoing};
use threadkeep::protocol::Counting;
use threadkeep_store::{MemoryStore, Scan, Store};

use crate::agent_support::{Script, agent, box_of, calls, options, says, write};
use crate::{World, run};

/// Ann writes `text` in answer to a message, and the agent answers. Gives her message and that answer.
async fn exchange(keep: &Keep<MemoryStore>, text: &str, to: Option<&Mail>) -> (Mail, Mail) {
    let asked = write(keep, text, to).await;
    let lal = agent(keep, &Script::of([says(&format!("about {text}"))]));
    lal.catch_up(&|_| {}).await.unwrap();
    let answer = box_of(keep, "lal").await.into_iter().find(|mail| mail.reply_to.as_ref() == Some(&asked.message_id));
    (asked, answer.unwrap())
}

/// Dismisses the messages with these ids in the agent's mailbox.
async fn dismiss(keep: &Keep<MemoryStore>, gone: &[&Mail]) {
    for mail in box_of(keep, "lal").await {
        if gone.iter().any(|gone| gone.message_id == mail.message_id) {
            keep.dismiss("lal", mail.number).await.unwrap();
        }
    }
}

/// A question with two branches below its answer, of which the left one is dismissed: question, its answer, left, right.
async fn two_branches(keep: &Keep<MemoryStore>) -> [Mail; 4] {
    let (asked, answer) = exchange(keep, "root", None).await;
    let (left, about_left) = exchange(keep, "left", Some(&answer)).await;
    let (right, _) = exchange(keep, "right", Some(&answer)).await;
    dismiss(keep, &[&left, &about_left]).await;
    [asked, answer, left, right]
}

async fn collected(keep: &Keep<MemoryStore>) -> usize {
    keep.collect_dismissed("lal", None).await.unwrap()
}

async fn is_there(keep: &Keep<MemoryStore>, mail: &Mail) -> bool {
    keep.node(&mail.message_id).await.unwrap().is_some()
}

#[test]
fn a_dismissed_branch_inside_a_living_thread_is_collected() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let [asked, _, left, right] = two_branches(&keep).await;
        assert_eq!(collected(&keep).await, 1);
        assert!(is_there(&keep, &asked).await && is_there(&keep, &right).await && !is_there(&keep, &left).await);
        let all = world.store.scan(&Scan::range("", "\u{7f}")).await.unwrap();
        assert!(!all.iter().any(|(key, bytes)| format!("{key} {}", String::from_utf8_lossy(bytes)).contains("left")));
        assert_eq!(box_of(&keep, "lal").await.len(), 4);
        assert_eq!(collected(&keep).await, 0);
        // The thread goes on, and so it does for another tab.
        let (more, _) = exchange(&keep, "more", Some(&right)).await;
        assert!(is_there(&world.tab(), &more).await && world.tab().lint(None).await.unwrap().is_empty());
    });
}

#[test]
fn several_dismissed_branches_of_one_thread_go_at_once_and_an_answer_given_again_goes_along() {
    let keep = World::default().tab();
    run(async {
        let [_, answer, left, right] = two_branches(&keep).await;
        let again = agent(&keep, &Script::of([says("")])).again(&left.message_id, None, &|_| {}).await.unwrap();
        let (third, about_third) = exchange(&keep, "third", Some(&answer)).await;
        let failure = box_of(&keep, "lal").await.into_iter().find(|mail| mail.is_error).unwrap();
        dismiss(&keep, &[&third, &about_third, &failure]).await;
        assert_eq!(collected(&keep).await, 3);
        assert!(!is_there(&keep, &third).await && is_there(&keep, &right).await);
        assert!(keep.node(&again.id).await.unwrap().is_none());
    });
}

#[test]
fn what_a_head_or_a_pin_needs_is_not_collected() {
    let keep = World::default().tab();
    run(async {
        let [.., left, _] = two_branches(&keep).await;
        keep.set_head("h", &left.message_id).await.unwrap();
        assert_eq!(collected(&keep).await, 0);
        let [.., pinned, _] = two_branches(&keep).await;
        keep.pin_node(&pinned.message_id, true).await.unwrap();
        assert_eq!(collected(&keep).await, 0);
        assert!(is_there(&keep, &left).await && is_there(&keep, &pinned).await);
        keep.pin_node(&pinned.message_id, false).await.unwrap();
        assert_eq!(collected(&keep).await, 1);
    });
}

#[test]
fn what_a_message_that_nobody_has_read_answers_is_not_collected() {
    let keep = World::default().tab();
    run(async {
        let [.., left, _] = two_branches(&keep).await;
        // To this agent, or to another one that works in the same thread.
        for to in ["lal", "bob"] {
            if to == "bob" {
                let bob =
                    Agent::new(keep.clone(), options("bob"), Script::of([says("yes")]), std::rc::Rc::new(NoTools));
                keep.send(Outgoing {
                    from: "ann".into(),
                    to: "bob".into(),
                    body: "there?".into(),
                    ..Outgoing::default()
                })
                .await
                .unwrap();
                bob.catch_up(&|_| {}).await.unwrap();
            }
            let pending = Outgoing {
                from: "ann".into(),
                to: to.into(),
                body: "and".into(),
                reply_to: Some(left.message_id.clone()),
                ..Outgoing::default()
            };
            let pending = keep.send(pending).await.unwrap();
            assert_eq!(collected(&keep).await, 0, "{to}");
            let number = keep.mail_of(to, &pending.message_id).await.unwrap().unwrap().number;
            keep.dismiss(to, number).await.unwrap();
        }
        assert_eq!(collected(&keep).await, 1);
    });
}

#[test]
fn what_two_agents_said_goes_once_both_have_dismissed_it() {
    let keep = World::default().tab();
    run(async {
        let send = json!({ "recipientName": "bob", "strings": ["and you?"] });
        let lal = agent(&keep, &Script::of([calls(&[("s", "send", send)]), says("done"), says("")]));
        let reply = json!({ "strings": ["fine"] });
        let script = Script::of([calls(&[("r", "reply", reply)]), says("")]);
        let bob = Agent::new(keep.clone(), options("bob"), script, std::rc::Rc::new(NoTools));
        write(&keep, "ask bob", None).await;
        for _ in 0..2 {
            lal.catch_up(&|_| {}).await.unwrap();
            bob.catch_up(&|_| {}).await.unwrap();
        }
        let dismiss_all = async |party: &str| {
            for mail in box_of(&keep, party).await {
                keep.dismiss(party, mail.number).await.unwrap();
            }
        };
        dismiss_all("lal").await;
        // Ann's question goes, and what lal made of bob's answer. Lal's message to bob stays, and what he made of it.
        assert_eq!((collected(&keep).await, keep.roots().await.unwrap().len()), (2, 2));
        dismiss_all("bob").await;
        assert_eq!((collected(&keep).await, keep.roots().await.unwrap().len()), (2, 0));
    });
}

#[test]
fn a_checkpoint_of_what_stays_keeps_all_that_it_covers() {
    let keep = World::default().tab();
    run(async {
        let [asked, answer, left, right] = two_branches(&keep).await;
        let (_, long) = exchange(&keep, &"a long question of many words ".repeat(40), Some(&right)).await;
        let (right, _) = exchange(&keep, "and now?", Some(&long)).await;
        let options = CompactOptions { tail_turns: Some(0), encoding: Counting::Estimate, ..CompactOptions::default() };
        let made = keep.compact(right.message_id.as_str(), &options, &Extractive).await.unwrap();
        assert!(made.checkpoint.is_some());
        dismiss(&keep, &[&asked, &answer]).await;
        assert_eq!(collected(&keep).await, 1);
        assert!(!is_there(&keep, &left).await && is_there(&keep, &asked).await);
        assert_eq!(keep.checkpoints(right.message_id.as_str()).await.unwrap().len(), 1);
    });
}

#[test]
fn a_turn_that_has_not_ended_is_not_collected() {
    let keep = World::default().tab();
    run(async {
        let asked = write(&keep, "q", None).await;
        let lal = agent(&keep, &Script::of([]));
        let post = Outgoing {
            message_id: Some(asked.message_id.clone()),
            from: "ann".into(),
            body: "q".into(),
            ..Outgoing::default()
        };
        lal.post(post).await.unwrap();
        dismiss(&keep, &[&asked]).await;
        assert_eq!(collected(&keep).await, 0);
        assert_eq!(lal.interrupted().await.unwrap().len(), 1);
    });
}

#[test]
fn an_agent_collects_what_was_dismissed_after_a_set_time() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let [asked, _, left, _] = two_branches(&keep).await;
        let options = AgentOptions { collect_after: Some(60_000), ..options("lal") };
        let lal = Agent::new(keep.clone(), options, Script::of([]), std::rc::Rc::new(NoTools));
        lal.catch_up(&|_| {}).await.unwrap();
        world.host.pass(59_000);
        lal.catch_up(&|_| {}).await.unwrap();
        assert!(is_there(&keep, &left).await);
        world.host.pass(2_000);
        lal.catch_up(&|_| {}).await.unwrap();
        assert!(!is_there(&keep, &left).await && is_there(&keep, &asked).await);
    });
}
