//! Times to live of heads.

use serde_json::json;
use threadkeep::Keep;
use threadkeep::protocol::ContextSettings;
use threadkeep_core::Message;
use threadkeep_store::MemoryStore;

use crate::{World, run, users};

async fn set(keep: &Keep<MemoryStore>, at: Option<&str>, ttl: serde_json::Value) {
    keep.set_context_options(at, &ContextSettings::from_json(json!({ "ttl": ttl })).unwrap()).await.unwrap();
}

async fn expired(keep: &Keep<MemoryStore>) -> Vec<String> {
    keep.expire().await.unwrap().into_iter().map(|head| head.name).collect()
}

async fn count(keep: &Keep<MemoryStore>, head: &str) -> u64 {
    keep.get_count(head).await.unwrap()
}

#[test]
fn a_head_expires_by_its_own_time_to_live_before_that_of_the_keep() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        for head in ["usual", "short", "long", "never"] {
            keep.append(head, users(2)).await.unwrap();
        }
        world.host.pass(1_000_000);
        assert_eq!(expired(&keep).await, [""; 0], "without a time to live nothing expires");
        set(&keep, None, json!(2_000)).await;
        set(&keep, Some("short"), json!(500)).await;
        set(&keep, Some("long"), json!(9_000)).await;
        set(&keep, Some("never"), json!(false)).await;
        assert_eq!(expired(&keep).await, ["short"]);
        // It is stored: another engine knows it.
        let again = world.tab();
        world.host.pass(1_100_000);
        assert_eq!(expired(&again).await, ["usual"]);
        assert_eq!((count(&again, "short").await, count(&again, "usual").await), (0, 0));
        assert_eq!((count(&again, "long").await, count(&again, "never").await), (2, 2));
        world.host.pass(9_000_000);
        assert_eq!(expired(&again).await, ["long"]);
        assert_eq!((expired(&again).await, count(&again, "never").await), (vec![], 2));
        assert_eq!(again.transcripts().await.unwrap().len(), 1, "the others left nothing");
    });
}

#[test]
fn a_new_message_prolongs_a_heads_time_and_what_others_share_stays() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        keep.append("a", users(2)).await.unwrap();
        keep.fork("a", "b", None).await.unwrap();
        set(&keep, Some("a"), json!(10)).await;
        world.host.pass(8_000);
        keep.append("a", vec![Message::assistant("3")]).await.unwrap();
        world.host.pass(8_000);
        assert_eq!(expired(&keep).await, [""; 0]);
        world.host.pass(3_000);
        assert_eq!(expired(&keep).await, ["a"]);
        assert_eq!((count(&keep, "a").await, count(&keep, "b").await), (0, 2));
        // The setting went with its head.
        keep.append("a", users(1)).await.unwrap();
        world.host.pass(20_000);
        assert_eq!(expired(&keep).await, [""; 0]);
    });
}

#[test]
fn a_head_that_got_a_message_elsewhere_does_not_expire() {
    run(async {
        let world = World::default();
        let (here, there) = (world.tab(), world.tab());
        here.append("a", users(1)).await.unwrap();
        set(&here, Some("a"), json!(10)).await;
        world.host.pass(11_000);
        there.append("a", users(1)).await.unwrap();
        assert_eq!((expired(&here).await, count(&here, "a").await), (vec![], 2));
    });
}
