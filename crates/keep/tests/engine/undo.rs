//! Undo of a head's changes, and the versions of an edited message.

use threadkeep::protocol::{Change, Undone};
use threadkeep::{Keep, Start};
use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::{Message, MessageId};
use threadkeep_store::MemoryStore;

use crate::{World, code, id, inbound, run, texts, users};

async fn said(keep: &Keep<MemoryStore>) -> Vec<String> {
    texts(&keep.get_range("a", 0, u32::MAX).await.unwrap())
}

async fn say(keep: &Keep<MemoryStore>, text: &str, after: Option<&MessageId>) -> MessageId {
    let start = Start { after: after.cloned(), expect: None };
    keep.append_from("a", vec![Message::user(text)], &start).await.unwrap().remove(0).id
}

async fn undo(keep: &Keep<MemoryStore>) -> Option<(Change, u32)> {
    keep.undo("a").await.unwrap().map(|undone| (undone.change, undone.messages))
}

#[test]
fn undo_takes_back_one_change_after_the_other_and_names_it() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        assert_eq!(code(keep.undo("a").await), "missing-thread");
        let one = say(&keep, "one", None).await;
        keep.append("a", users(2)).await.unwrap();
        say(&keep, "two", Some(&one)).await;
        keep.set_strategy("a", Some(Strategy::Hierarchical)).await.unwrap();
        keep.set_head("a", &one).await.unwrap();
        assert_eq!(said(&keep).await, ["one"]);
        // Another engine, after a merge of pages, knows as much.
        keep.append("other", users(1)).await.unwrap();
        let keep = world.tab();
        assert_eq!((undo(&keep).await, said(&keep).await), (Some((Change::Move, 0)), vec!["one".into(), "two".into()]));
        assert_eq!(
            (undo(&keep).await, said(&keep).await),
            (Some((Change::Edit, 1)), vec!["one".into(), "m0".into(), "m1".into()])
        );
        assert_eq!((undo(&keep).await, said(&keep).await), (Some((Change::Append, 2)), vec!["one".to_owned()]));
        assert_eq!((undo(&keep).await, said(&keep).await), (Some((Change::Append, 1)), vec![]));
        for _ in 0..2 {
            assert_eq!(undo(&keep).await, None, "nothing to undo is an answer");
        }
        assert_eq!(keep.strategy("a").await.unwrap(), Some(Strategy::Hierarchical));
        assert!(keep.lint(None).await.unwrap().is_empty());
    });
}

#[test]
fn what_was_undone_stays_in_the_tree_and_changes_after_an_undo_can_be_undone() {
    run(async {
        let keep = World::default().tab();
        let one = say(&keep, "one", None).await;
        let two = say(&keep, "two", None).await;
        let undone = Undone { change: Change::Append, from: two.clone(), node: one.clone(), messages: 1 };
        assert_eq!(keep.undo("a").await.unwrap(), Some(undone));
        // Again: a move to where it was.
        keep.set_head("a", &two).await.unwrap();
        assert_eq!(said(&keep).await, ["one", "two"]);
        assert_eq!(undo(&keep).await, Some((Change::Append, 1)));
        say(&keep, "three", None).await;
        assert_eq!(said(&keep).await, ["one", "three"]);
        assert_eq!((undo(&keep).await, said(&keep).await), (Some((Change::Append, 1)), vec!["one".to_owned()]));
        assert_eq!((undo(&keep).await, said(&keep).await), (Some((Change::Append, 1)), vec![]));
        assert_eq!(undo(&keep).await, None);
    });
}

#[test]
fn many_changes_are_undone_over_merged_pages_and_holes() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        let mut nodes = Vec::new();
        for at in 0..230 {
            nodes.push(say(&keep, &at.to_string(), None).await);
        }
        keep.set_head("b", &nodes[100]).await.unwrap();
        keep.delete_branch(&nodes[220]).await.unwrap();
        // A deletion is for good.
        assert_eq!(said(&keep).await.len(), 220);
        let keep = world.tab();
        for left in (0..220).rev() {
            assert_eq!((undo(&keep).await, said(&keep).await.len()), (Some((Change::Append, 1)), left));
        }
        assert_eq!((undo(&keep).await, keep.get_count("b").await.unwrap()), (None, 101));
    });
}

#[test]
fn a_fork_and_a_head_that_came_from_elsewhere_have_nothing_to_undo_before_their_first_change() {
    run(async {
        let keep = World::default().tab();
        say(&keep, "one", None).await;
        keep.fork("a", "b", None).await.unwrap();
        assert_eq!(keep.undo("b").await.unwrap(), None);
        keep.append("b", users(1)).await.unwrap();
        assert_eq!(keep.undo("b").await.unwrap().map(|undone| undone.change), Some(Change::Append));
        assert_eq!(keep.undo("b").await.unwrap(), None);
        keep.receive(inbound("q", None, "elsewhere")).await.unwrap();
        keep.set_head("a", &id("q")).await.unwrap();
        assert_eq!(undo(&keep).await, None);
        assert_eq!(said(&keep).await, ["elsewhere"]);
    });
}

#[test]
fn the_history_of_a_message_is_its_versions_oldest_first_with_their_times() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        let one = say(&keep, "one", None).await;
        let first = say(&keep, "first", None).await;
        keep.append("a", vec![Message::assistant("an answer")]).await.unwrap();
        world.host.pass(1_000);
        let second = say(&keep, "second", Some(&one)).await;
        let third = say(&keep, "third", Some(&one)).await;
        keep.append_from(
            "a",
            vec![Message::assistant("no version")],
            &Start { after: Some(one.clone()), expect: None },
        )
        .await
        .unwrap();
        for any in [&first, &second, &third] {
            let versions = keep.history(any).await.unwrap();
            assert_eq!(versions.iter().map(|node| &node.id).collect::<Vec<_>>(), [&first, &second, &third]);
            let times: Vec<i64> = versions.iter().map(|node| node.created_at.unwrap()).collect();
            assert!(times[0] + 1_000 <= times[1] && times[1] < times[2], "{times:?}");
        }
        assert_eq!(keep.history(&one).await.unwrap().len(), 1);
        assert_eq!(code(keep.history(&id("nobody")).await), "missing-node");
    });
}
