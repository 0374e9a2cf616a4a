//! The message store on heads: append, recent, range, all, count.

use threadkeep::protocol::Recent;
use threadkeep::{Options, Start};
use threadkeep_core::Message;

use crate::{World, code, run, texts, users};

fn recent(messages: Option<u32>, tokens: Option<u32>, system: Option<bool>) -> Recent {
    Recent { max_messages: messages, max_tokens: tokens, include_system: system, ..Recent::default() }
}

#[test]
fn what_is_appended_comes_back_in_order_by_every_way() {
    let keep = World::default().tab();
    run(async {
        for message in users(7) {
            keep.append("chat", vec![message]).await.unwrap();
        }
        keep.append("chat", users(300)).await.unwrap();
        assert_eq!(keep.get_count("chat").await.unwrap(), 307);
        let all = texts(&keep.get_range("chat", 0, u32::MAX).await.unwrap());
        assert_eq!(all[..8], ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m0"]);
        assert_eq!(texts(&keep.get_range("chat", 2, 4).await.unwrap()), ["m2", "m3"]);
        assert_eq!(keep.get_range("chat", 4, 4).await.unwrap().len(), 0);
        assert_eq!(keep.get_range("chat", 9, 4).await.unwrap().len(), 0);
        assert_eq!(keep.get_range("chat", 306, 999).await.unwrap().len(), 1);
    });
}

#[test]
fn an_append_answers_with_the_nodes_that_a_later_reading_gives() {
    let keep = World::default().tab();
    run(async {
        let talk = || vec![Message::system("s"), Message::user("a"), Message::assistant("b"), Message::tool("c", "d")];
        let first = keep.append("chat", talk()).await.unwrap();
        let second = keep.append("chat", talk()).await.unwrap();
        // A branch behind the first user message, whose turn it continues.
        let behind = Start { after: Some(first[1].id.clone()), expect: None };
        let branch = keep.append_from("chat", talk(), &behind).await.unwrap();
        let read = keep.chain(&second[3].id).await.unwrap();
        assert_eq!(read[1..], [first.clone(), second].concat());
        let read = keep.chain(&branch[3].id).await.unwrap();
        assert_eq!(read[1..], [first[..2].to_vec(), branch].concat());
    });
}

#[test]
fn a_head_that_does_not_exist_has_no_messages() {
    let keep = World::default().tab();
    run(async {
        assert_eq!(keep.get_count("none").await.unwrap(), 0);
        assert!(keep.get_recent("none", &Recent::default()).await.unwrap().is_empty());
        assert!(keep.get_range("none", 0, 5).await.unwrap().is_empty());
        assert_eq!(keep.clear("none").await.unwrap(), 0);
        assert!(keep.head("none").await.unwrap().is_none());
        assert!(keep.append("none", vec![]).await.unwrap().is_empty());
        assert_eq!(keep.get_count("none").await.unwrap(), 0);
        assert_eq!(code(keep.append("", users(1)).await), "bad-request");
        assert_eq!(code(keep.append(&"x".repeat(513), users(1)).await), "bad-request");
    });
}

#[test]
fn recent_keeps_the_newest_within_both_limits_and_zero_means_zero() {
    let keep = World::default().tab();
    run(async {
        let mut messages = vec![Message::system("you are terse")];
        messages.extend(users(100));
        keep.append("chat", messages).await.unwrap();
        let get = async |options| texts(&keep.get_recent("chat", &options).await.unwrap());
        assert_eq!(get(recent(None, None, None)).await.len(), 50);
        assert_eq!(get(recent(Some(2), None, None)).await, ["m98", "m99"]);
        assert_eq!(get(recent(Some(0), None, None)).await.len(), 0);
        assert_eq!(get(recent(None, Some(0), None)).await.len(), 0);
        // Each "mNN" is one token, and four for its frame.
        assert_eq!(get(recent(None, Some(15), None)).await, ["m97", "m98", "m99"]);
        assert_eq!(get(recent(None, Some(14), None)).await, ["m98", "m99"]);
        assert_eq!(get(recent(Some(1), Some(15), None)).await, ["m99"]);
        assert_eq!(get(recent(Some(999), None, None)).await.len(), 101);
        assert_eq!(get(recent(Some(999), None, Some(false))).await.len(), 100);
        assert_eq!(get(recent(Some(2), None, Some(true))).await, ["you are terse", "m99"]);
        assert_eq!(get(recent(Some(0), None, Some(true))).await.len(), 0);
        assert_eq!(get(recent(None, Some(8), Some(true))).await, ["you are terse"]);
    });
}

#[test]
fn a_tiny_cache_and_a_fresh_engine_read_the_same() {
    let world = World::default();
    let keep = world.tab_with(Options { cache_bytes: 1 });
    run(async {
        for round in 0..3 {
            for context in ["a", "b", "c"] {
                keep.append(context, vec![Message::user(format!("{context}{round}"))]).await.unwrap();
            }
        }
        assert!(keep.stats().await.unwrap().cached_transcripts <= 1);
        let fresh = world.tab();
        for context in ["a", "b", "c"] {
            let want: Vec<String> = (0..3).map(|round| format!("{context}{round}")).collect();
            assert_eq!(texts(&keep.get_range(context, 0, 9).await.unwrap()), want);
            assert_eq!(texts(&fresh.get_range(context, 0, 9).await.unwrap()), want);
        }
    });
}

#[test]
fn sequence_numbers_count_up_and_pages_are_folded() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let mut last = None;
        for message in users(450) {
            let node = keep.append("chat", vec![message]).await.unwrap().remove(0);
            assert!(Some(node.seq) > last);
            last = Some(node.seq);
        }
        use threadkeep_store::{Scan, Store};
        let pages = world.store.scan(&Scan::prefix("p/")).await.unwrap().len();
        assert!(pages < 120, "{pages} pages for 450 appends: the tail is not folded");
        assert_eq!(world.tab().get_count("chat").await.unwrap(), 450);
    });
}
