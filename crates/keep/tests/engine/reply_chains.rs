//! Where inbound messages go: children, new roots, aliases, messages seen again.

use threadkeep::protocol::Inbound;
use threadkeep_core::Message;

use crate::{World, code, id, inbound, run, texts};

#[test]
fn a_stand_alone_message_begins_a_transcript_with_the_system_prompt_at_its_root() {
    let keep = World::default().tab();
    run(async {
        let question = Inbound { system_prompt: Some("be brief".into()), ..inbound("m1", None, "hi") };
        let node = keep.receive(question).await.unwrap();
        assert_eq!(node.id.as_str(), "m1");
        assert!(!node.sealed);
        assert_eq!((node.depth, node.turn.as_deref()), (1, Some("turn_0001")));
        let chain = keep.chain(&id("m1")).await.unwrap();
        assert_eq!(chain.len(), 2);
        assert_eq!(texts(&chain[0].messages), ["be brief"]);
        assert_eq!(chain[0].id, node.transcript);
        assert_eq!(chain[0].id.as_str().len(), 64);
    });
}

#[test]
fn an_unknown_reply_to_begins_a_transcript_too() {
    let keep = World::default().tab();
    run(async {
        keep.receive(inbound("m1", Some("never seen"), "hi")).await.unwrap();
        keep.receive(inbound("m2", None, "ho")).await.unwrap();
        assert_eq!(keep.roots().await.unwrap().len(), 2);
    });
}

#[test]
fn a_reply_to_an_alias_continues_the_chain_of_the_node_it_stands_for() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.receive(inbound("in-1", None, "question")).await.unwrap();
        keep.extend(&id("in-1"), vec![Message::assistant("answer")]).await.unwrap();
        keep.seal(&id("in-1")).await.unwrap();
        keep.alias(&id("out-1"), &id("in-1")).await.unwrap();
        keep.alias(&id("out-1"), &id("in-1")).await.unwrap(); // seen twice
        // Another engine, whose memory is empty, finds it in the store.
        let later = world.tab();
        let reply = later.receive(inbound("in-2", Some("out-1"), "and then?")).await.unwrap();
        assert_eq!(reply.parent, Some(id("in-1")));
        assert_eq!(reply.depth, 3);
        assert_eq!(reply.turn.as_deref(), Some("turn_0002"));
        assert_eq!(later.node(&id("out-1")).await.unwrap().unwrap().id, id("in-1"));
        // An alias of an alias points at the node, and so does a reply to the node's own id.
        later.alias(&id("out-1b"), &id("out-1")).await.unwrap();
        let sibling = later.receive(inbound("in-3", Some("out-1b"), "other way")).await.unwrap();
        assert_eq!(sibling.parent, Some(id("in-1")));
        assert_eq!(later.children(&id("in-1")).await.unwrap().len(), 2);
    });
}

#[test]
fn a_message_seen_again_gives_its_node_and_stores_nothing() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let first = keep.receive(inbound("m1", None, "hi")).await.unwrap();
        keep.extend(&id("m1"), vec![Message::assistant("ho")]).await.unwrap();
        let again = world.tab().receive(inbound("m1", None, "hi")).await.unwrap();
        assert_eq!(again.id, first.id);
        assert_eq!(again.messages.len(), 2);
        assert_eq!(keep.stats().await.unwrap().transcripts, 1);
    });
}

#[test]
fn minted_ids_are_64_hex_digits_and_are_found_without_an_index() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let node = keep.receive(Inbound::new("hi")).await.unwrap();
        assert_eq!(node.id.as_str().len(), 64);
        assert!(node.id.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(node.id, node.transcript);
        assert!(world.tab().node(&node.id).await.unwrap().is_some());
    });
}

#[test]
fn a_sealed_node_and_one_with_children_do_not_grow() {
    let keep = World::default().tab();
    run(async {
        keep.receive(inbound("m1", None, "hi")).await.unwrap();
        keep.receive(inbound("m2", Some("m1"), "more")).await.unwrap();
        assert_eq!(code(keep.extend(&id("m1"), vec![Message::assistant("late")]).await), "sealed");
        keep.seal(&id("m2")).await.unwrap();
        keep.seal(&id("m2")).await.unwrap(); // twice is no error
        assert_eq!(code(keep.extend(&id("m2"), vec![Message::assistant("late")]).await), "sealed");
        assert_eq!(keep.extend(&id("m2"), vec![]).await.unwrap().messages, []);
    });
}

#[test]
fn an_unsealed_turn_is_readable_after_a_crash() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.receive(inbound("m1", None, "hi")).await.unwrap();
        keep.extend(&id("m1"), vec![Message::assistant("step one")]).await.unwrap();
        drop(keep); // nothing is closed, sealed or flushed
        let node = world.tab().node(&id("m1")).await.unwrap().unwrap();
        assert_eq!(texts(&node.messages), ["hi", "step one"]);
        assert!(!node.sealed);
    });
}

#[test]
fn errors_name_what_is_missing() {
    let keep = World::default().tab();
    run(async {
        let nothing = id("nothing");
        assert_eq!(keep.node(&nothing).await.unwrap(), None);
        assert_eq!(code(keep.chain(&nothing).await), "missing-node");
        assert_eq!(code(keep.children(&nothing).await), "missing-node");
        assert_eq!(code(keep.depth(&nothing).await), "missing-node");
        assert_eq!(code(keep.extend(&nothing, vec![]).await), "missing-node");
        assert_eq!(code(keep.alias(&id("a"), &nothing).await), "missing-node");
        assert_eq!(code(keep.receive(Inbound::new(5)).await), "bad-request");
        assert_eq!(code(keep.receive(Inbound::new(serde_json::Value::Null)).await), "bad-request");
        keep.receive(inbound("m1", None, "hi")).await.unwrap();
        keep.receive(inbound("m2", None, "ho")).await.unwrap();
        assert_eq!(code(keep.alias(&id("m2"), &id("m1")).await), "id-taken");
        let error = keep.chain(&nothing).await.unwrap_err().reply();
        assert_eq!(error.details["node"], "nothing");
    });
}
