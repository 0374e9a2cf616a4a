//! Deletion: what the user asked for is gone from every table, and nothing else is.

use threadkeep::Keep;
use threadkeep_core::node::Origin;
use threadkeep_core::{Message, MessageId};
use threadkeep_store::{MemoryStore, Scan, Store};

use crate::{World, code, id, inbound, run, texts, users};

/// Everything in the store, as text.
fn dump(world: &World) -> String {
    let records = run(world.store.scan(&Scan::range("", "\u{7f}"))).unwrap();
    records.iter().map(|(key, value)| format!("{key} {}\n", String::from_utf8_lossy(value))).collect()
}

async fn tree(keep: &Keep<MemoryStore>) {
    keep.receive(inbound("q", None, "question")).await.unwrap();
    keep.receive(inbound("secret-a", Some("q"), "secret one")).await.unwrap();
    keep.extend(&id("secret-a"), vec![Message::assistant("secret two")]).await.unwrap();
    keep.alias(&id("secret-out"), &id("secret-a")).await.unwrap();
    keep.receive(inbound("secret-b", Some("secret-out"), "secret three")).await.unwrap();
    keep.receive(inbound("c", Some("q"), "kept")).await.unwrap();
}

#[test]
fn a_deleted_branch_is_gone_from_every_table_and_its_siblings_stay() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    run(async {
        tree(&keep).await;
        keep.choose(&id("secret-b")).await.unwrap();
        other.chain(&id("secret-b")).await.unwrap(); // the other tab holds it in memory
        assert_eq!(keep.delete_branch(&id("secret-out")).await.unwrap(), 3);
        assert!(!dump(&world).contains("secret"), "{}", dump(&world));
        for keep in [&keep, &other, &world.tab()] {
            assert_eq!(code(keep.chain(&id("secret-b")).await), "missing-node");
            assert_eq!(keep.chain(&id("c")).await.unwrap().len(), 3);
        }
        // Numbers of deleted nodes and turns are not used again.
        let next = other.receive(inbound("d", Some("c"), "next")).await.unwrap();
        assert_eq!(next.turn.as_deref(), Some("turn_0005"));
        assert_eq!(world.tab().chain(&id("d")).await.unwrap().len(), 4);
        assert!(world.tab().lint(None).await.unwrap().iter().all(|finding| finding.rule != "damage"));
    });
}

#[test]
fn a_writer_who_holds_a_deleted_branch_does_not_bring_it_back() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    run(async {
        keep.append("main", users(3)).await.unwrap();
        keep.fork("main", "side", Some(1)).await.unwrap();
        keep.append("side", vec![Message::user("secret")]).await.unwrap();
        for message in users(60) {
            other.append("main", vec![message]).await.unwrap(); // its memory holds the pages, to fold them later
        }
        keep.clear("side").await.unwrap();
        for message in users(120) {
            other.append("main", vec![message]).await.unwrap();
        }
        assert!(!dump(&world).contains("secret"));
        assert_eq!(world.tab().get_count("main").await.unwrap(), 183);
    });
}

#[test]
fn clear_takes_what_only_its_head_leads_to() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.append("main", users(4)).await.unwrap();
        keep.fork("main", "side", Some(2)).await.unwrap();
        keep.append("side", users(3)).await.unwrap();
        assert_eq!(keep.clear("side").await.unwrap(), 3);
        assert_eq!(keep.get_count("side").await.unwrap(), 0);
        assert_eq!(keep.get_count("main").await.unwrap(), 4);
        keep.fork("main", "also", None).await.unwrap();
        assert_eq!(keep.clear("main").await.unwrap(), 0); // the other head still leads there
        assert_eq!(texts(&keep.get_range("also", 0, 9).await.unwrap()).len(), 4);
        assert_eq!(keep.clear("also").await.unwrap(), 4);
        let stats = keep.stats().await.unwrap();
        assert_eq!((stats.transcripts, stats.heads), (0, 0));
        // The name is free again.
        keep.append("also", users(1)).await.unwrap();
        assert_eq!(keep.get_count("also").await.unwrap(), 1);
    });
}

#[test]
fn heads_in_a_deleted_branch_move_up() {
    let keep = World::default().tab();
    run(async {
        keep.append("main", users(3)).await.unwrap();
        let second = keep.chain(&keep.head("main").await.unwrap().unwrap().id).await.unwrap()[2].id.clone();
        keep.delete_branch(&second).await.unwrap();
        assert_eq!(texts(&keep.get_range("main", 0, 9).await.unwrap()), ["m0"]);
        keep.append("main", vec![Message::user("on")]).await.unwrap();
        assert_eq!(texts(&keep.get_range("main", 0, 9).await.unwrap()), ["m0", "on"]);
    });
}

#[test]
fn a_deleted_transcript_leaves_nothing_and_its_ids_are_free() {
    let world = World::default();
    let (keep, other) = (world.tab(), world.tab());
    run(async {
        tree(&keep).await;
        keep.append("h", users(1)).await.unwrap();
        other.chain(&id("c")).await.unwrap();
        let transcript = keep.node(&id("q")).await.unwrap().unwrap().transcript;
        assert_eq!(keep.delete_transcript(&transcript).await.unwrap(), 5);
        assert!(!dump(&world).contains(transcript.as_str()));
        assert_eq!(code(other.chain(&id("c")).await), "missing-node");
        assert_eq!(code(other.extend(&id("c"), vec![Message::assistant("late")]).await), "missing-node");
        assert_eq!(code(keep.delete_transcript(&transcript).await), "missing-transcript");
        other.receive(inbound("c", None, "anew")).await.unwrap();
        assert_eq!(keep.chain(&id("c")).await.unwrap().len(), 2);
        keep.delete_all().await.unwrap();
        assert_eq!(dump(&world), "");
        assert_eq!(other.transcripts().await.unwrap().len(), 0);
        assert_eq!(other.get_count("h").await.unwrap(), 0);
    });
}

/// All that a tab shows of a keep's one transcript, but for what a cache holds.
async fn shown(keep: &Keep<MemoryStore>, transcript: &MessageId) -> String {
    let mut leaves = Vec::new();
    for node in keep.tree(transcript).await.unwrap() {
        leaves.push((keep.node(&node.id).await.unwrap(), keep.outline(transcript, Some(&node.id)).await.unwrap()));
    }
    let heads = keep.heads().await.unwrap();
    let infos = keep.transcripts().await.unwrap();
    format!("{leaves:#?}\n{heads:#?}\n{infos:#?}\n{:#?}", keep.lint(None).await.unwrap())
}

#[test]
fn after_deletions_memory_shows_what_the_store_holds() {
    let mut seed = 11_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for round in 0..30 {
        let world = World::default();
        let (keep, other) = (world.tab(), world.tab());
        run(async {
            let mut nodes = vec![keep.append("main", users(1)).await.unwrap().remove(0)];
            let transcript = nodes[0].transcript.clone();
            for step in 0..60 {
                let at = nodes[random(nodes.len())].id.clone();
                match random(if step < 20 { 7 } else { 12 }) {
                    0..=2 => nodes.push(keep.branch(&at, users(1 + random(2)), Origin::default()).await.unwrap()),
                    3 => drop(keep.extend(&at, vec![Message::assistant(format!("more {step}"))]).await),
                    4 => drop(keep.alias(&id(&format!("out-{round}-{step}")), &at).await.unwrap()),
                    5 => drop(keep.set_head(&format!("head-{}", random(4)), &at).await.unwrap()),
                    6 if random(4) == 0 => keep.choose(&at).await.unwrap(),
                    6 => drop(other.seal(&at).await.unwrap()),
                    7 => drop(keep.clear(&format!("head-{}", random(4))).await.unwrap()),
                    8 => drop(keep.append("main", users(1)).await.unwrap()),
                    _ if at == nodes[0].id || at == transcript => {}
                    _ => {
                        keep.delete_branch(&at).await.unwrap();
                        assert_eq!(shown(&keep, &transcript).await, shown(&world.tab(), &transcript).await);
                    }
                }
                let mut left = Vec::new();
                for node in nodes {
                    left.extend(keep.node(&node.id).await.unwrap());
                }
                nodes = left;
            }
            assert_eq!(shown(&keep, &transcript).await, shown(&world.tab(), &transcript).await, "round {round}");
            assert_eq!(shown(&other, &transcript).await, shown(&world.tab(), &transcript).await, "round {round}");
        });
    }
}
