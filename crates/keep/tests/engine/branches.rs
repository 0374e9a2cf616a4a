//! Heads and forks: branches share what lies above them, and the views show them.

use serde_json::json;
use threadkeep::Start;
use threadkeep::protocol::{Event, Fork};
use threadkeep_core::node::Origin;
use threadkeep_core::{Message, MessageId};

use crate::{World, code, id, inbound, run, texts, users};

#[test]
fn a_fork_shares_the_prefix_and_goes_its_own_way() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.append("main", users(4)).await.unwrap();
        keep.fork("main", "side", Some(2)).await.unwrap();
        keep.append("side", vec![Message::user("other")]).await.unwrap();
        keep.append("main", vec![Message::user("same")]).await.unwrap();
        let read = async |context| texts(&keep.get_range(context, 0, 99).await.unwrap());
        assert_eq!(read("main").await, ["m0", "m1", "m2", "m3", "same"]);
        assert_eq!(read("side").await, ["m0", "m1", "other"]);
        let stats = keep.stats().await.unwrap();
        assert_eq!((stats.transcripts, stats.messages, stats.heads), (1, 6, 2));
        assert_eq!(keep.transcripts().await.unwrap()[0].info.branches, 2);
        assert_eq!(world.tab().heads().await.unwrap().len(), 2);
    });
}

#[test]
fn forks_at_the_ends_and_at_impossible_places() {
    let keep = World::default().tab();
    run(async {
        keep.append("main", users(2)).await.unwrap();
        keep.fork("main", "whole", None).await.unwrap();
        keep.fork("main", "none", Some(0)).await.unwrap();
        assert_eq!(keep.get_count("whole").await.unwrap(), 2);
        assert_eq!(keep.get_count("none").await.unwrap(), 0);
        assert_eq!(code(keep.fork("main", "far", Some(3)).await), "bad-request");
        assert_eq!(code(keep.fork("main", "whole", None).await), "thread-taken");
        assert_eq!(code(keep.fork("nobody", "x", None).await), "missing-thread");
        keep.receive(inbound("m", None, "u")).await.unwrap();
        keep.extend(&id("m"), vec![Message::assistant("a")]).await.unwrap();
        keep.set_head("turn", &id("m")).await.unwrap();
        assert_eq!(code(keep.fork("turn", "inside", Some(1)).await), "bad-request");
    });
}

#[test]
fn another_answer_to_a_question_is_a_fork_at_the_answer_and_not_at_the_question() {
    let keep = World::default().tab();
    run(async {
        let exchange = async |node: &MessageId, words: &str| {
            keep.extend(node, vec![Message::assistant(words)]).await.unwrap();
            keep.seal(node).await.unwrap();
        };
        let first = keep.receive(inbound("q", None, "why?")).await.unwrap();
        exchange(&first.id, "a").await;
        let (transcript, parent) = (first.transcript.clone(), first.parent.clone().unwrap());
        let ask =
            async |words: &str| keep.branch(&parent, vec![Message::user(words)], Origin::default()).await.unwrap().id;
        let row = async |leaf: &MessageId| keep.outline(&transcript, Some(leaf)).await.unwrap().rows.pop().unwrap();
        let again = ask("why?").await;
        // Already while the answer is on its way.
        let fork =
            |index, previous: &MessageId| Some(Fork { index, count: 2, previous: Some(previous.clone()), next: None });
        assert_eq!(row(&again).await.answers, fork(2, &first.id));
        exchange(&again, "b").await;
        let other = ask("how?").await;
        exchange(&other, "c").await;
        let (old, new, beside) = (row(&first.id).await, row(&again).await, row(&other).await);
        assert_eq!((new.answers, old.answers.unwrap().next), (fork(2, &first.id), Some(again.clone())));
        assert_eq!(beside.answers, None);
        // Among the questions, the one that was answered twice counts once; the way back leads to its newest answer.
        assert_eq!((beside.fork, old.fork.as_ref()), (fork(2, &again), new.fork.as_ref()));
        assert_eq!(old.fork.map(|fork| (fork.index, fork.count)), Some((1, 2)));
        let drawn = keep.tree(&transcript).await.unwrap();
        let drawn: Vec<_> = drawn.iter().skip(1).map(|node| (node.role.as_str(), node.words.as_str())).collect();
        assert_eq!(drawn, [("user", "why?"), ("assistant", "b"), ("user", "how?")], "the question is drawn once");
        assert_eq!(texts(&keep.chain(&again).await.unwrap()[1].messages), ["why?", "b"]);
    });
}

#[test]
fn an_append_behind_a_node_is_a_branch_if_the_head_is_where_it_is_expected() {
    let world = World::default();
    let (here, there) = (world.tab(), world.tab());
    run(async {
        let nodes = here.append("main", users(3)).await.unwrap();
        let start = |after: usize, expect: usize| Start {
            after: Some(nodes[after].id.clone()),
            expect: Some(nodes[expect].id.clone()),
        };
        let made = there.append_from("main", vec![Message::user("other")], &start(0, 2)).await.unwrap();
        assert_eq!(made[0].parent.as_ref(), Some(&nodes[0].id));
        assert_eq!(texts(&here.get_range("main", 0, 9).await.unwrap()), ["m0", "other"]);
        assert_eq!(here.children(&nodes[0].id).await.unwrap().len(), 2);
        // The head is not where this tab thinks it is: nothing happens.
        assert_eq!(code(here.append_from("main", users(1), &start(1, 2)).await), "conflict");
        assert_eq!(here.stats().await.unwrap().messages, 4);
        let elsewhere = here.append("other", users(1)).await.unwrap();
        let foreign = Start { after: Some(elsewhere[0].id.clone()), expect: None };
        assert_eq!(code(here.append_from("main", users(1), &foreign).await), "missing-node");
        assert_eq!(code(here.append_from("nobody", users(1), &start(0, 0)).await), "missing-thread");
        assert!(here.head("nobody").await.unwrap().is_none());
    });
}

#[test]
fn a_head_moves_between_transcripts_for_every_engine() {
    let world = World::default();
    let (here, there) = (world.tab(), world.tab());
    run(async {
        here.receive(inbound("a", None, "first")).await.unwrap();
        here.receive(inbound("b", None, "second")).await.unwrap();
        here.set_head("h", &id("a")).await.unwrap();
        assert_eq!(there.head("h").await.unwrap().unwrap().id, id("a"));
        here.set_head("h", &id("b")).await.unwrap();
        assert_eq!(there.head("h").await.unwrap().unwrap().id, id("b"));
        there.append("h", vec![Message::assistant("x")]).await.unwrap();
        assert_eq!(texts(&here.get_range("h", 0, 9).await.unwrap()), ["second", "x"]);
        assert_eq!(here.children(&id("a")).await.unwrap().len(), 0);
        assert_eq!(here.heads().await.unwrap().len(), 1);
    });
}

#[test]
fn an_outline_shows_forks_and_leads_to_the_neighbours() {
    let keep = World::default().tab();
    run(async {
        keep.receive(inbound("q", None, "question")).await.unwrap();
        for (node, text) in [("a1", "one"), ("a2", "two"), ("a3", "three")] {
            keep.receive(inbound(node, Some("q"), text)).await.unwrap();
        }
        keep.receive(inbound("b", Some("a1"), "further")).await.unwrap();
        let transcript = keep.node(&id("q")).await.unwrap().unwrap().transcript;
        let middle = keep.outline(&transcript, Some(&id("a2"))).await.unwrap();
        let fork = middle.rows.last().unwrap().fork.clone().unwrap();
        assert_eq!((fork.index, fork.count), (2, 3));
        assert_eq!((fork.previous, fork.next), (Some(id("b")), Some(id("a3"))));
        // A node in the middle is followed to its leaf; without a choice, the newest leaf is shown.
        assert_eq!(keep.outline(&transcript, Some(&id("a1"))).await.unwrap().leaf, id("b"));
        assert_eq!(keep.outline(&transcript, None).await.unwrap().leaf, id("b"));
        keep.choose(&id("a3")).await.unwrap();
        assert_eq!(keep.outline(&transcript, None).await.unwrap().leaf, id("a3"));
        let tree = keep.tree(&transcript).await.unwrap();
        assert_eq!(tree.len(), 6);
        assert!(tree.iter().enumerate().all(|(at, node)| node.parent.is_none_or(|parent| (parent as usize) < at)));
        assert_eq!(code(keep.outline(&id("none"), None).await), "missing-transcript");
    });
}

#[test]
fn titles_come_from_the_first_words_until_somebody_names_them() {
    let keep = World::default().tab();
    run(async {
        let node = keep.receive(inbound("q", None, "  How do trees grow?\nI wonder.")).await.unwrap();
        let title = async || keep.transcripts().await.unwrap()[0].info.title.clone();
        assert_eq!(title().await, "How do trees grow?");
        keep.rename(&node.transcript, "Trees".into()).await.unwrap();
        assert_eq!(title().await, "Trees");
        keep.rename(&node.transcript, String::new()).await.unwrap();
        assert_eq!(title().await, "How do trees grow?");
    });
}

#[test]
fn listeners_hear_of_each_durable_change() {
    let keep = World::default().tab();
    let heard = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let log = std::rc::Rc::clone(&heard);
    let number = keep.on_event(move |event| log.borrow_mut().push(event.clone()));
    run(async {
        keep.receive(inbound("q", None, "hi")).await.unwrap();
        keep.receive(inbound("q", None, "hi")).await.unwrap(); // seen again: no change
        keep.append("h", users(2)).await.unwrap();
        keep.off_event(number);
        keep.delete_all().await.unwrap();
    });
    let heard = heard.borrow();
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(matches!(&heard[0], Event::Changed { nodes, .. } if *nodes == [id("q")]));
    assert!(matches!(&heard[1], Event::Changed { nodes, .. } if nodes.len() == 2));
    assert!(matches!(&heard[2], Event::Head { name, node: Some(_) } if name == "h"));
}

#[test]
fn an_outline_tucks_away_what_says_nothing_to_anybody() {
    let keep = World::default().tab();
    let message = |json| Message::from_json(json).unwrap();
    run(async {
        let said = [
            json!({"role": "user", "content": "hi"}),
            json!({"role": "note", "content": "", "include_in_context": false, "x_fields": [1]}),
            json!({"role": "assistant", "content": "", "include_in_context": false, "kind": {"type": "error", "code": "LLM_ERROR", "reason": "r"}}),
            json!({"role": "note", "content": "for people", "include_in_context": false}),
            json!({"role": "assistant", "content": ""}),
        ];
        let nodes = keep.append("chat", said.map(message).into()).await.unwrap();
        let outline = keep.outline(&nodes[0].transcript, None).await.unwrap();
        let hidden: Vec<bool> = outline.rows.iter().map(|row| row.hidden).collect();
        // The root of a head's transcript holds no message.
        assert_eq!(hidden, [true, false, true, false, false, false]);
    });
}
