//! Damaged stores: what is left is shown, what is missing is named, nothing is written over it.

use threadkeep_core::Message;
use threadkeep_store::{Commit, Scan, Store};

use crate::{World, code, id, inbound, run};

/// A transcript of five nodes, one page each, from which the third page is lost.
async fn world_with_a_lost_page() -> World {
    let world = World::default();
    let keep = world.tab();
    keep.receive(inbound("a", None, "first")).await.unwrap();
    for (node, parent) in [("b", "a"), ("c", "b"), ("d", "c")] {
        keep.receive(inbound(node, Some(parent), node)).await.unwrap();
    }
    let pages = world.store.scan(&Scan::prefix("p/")).await.unwrap();
    let lost = Commit { deletes: vec![pages[2].0.clone()], ..Commit::default() };
    world.store.commit(lost).await.unwrap();
    world
}

#[test]
fn a_lost_page_is_named_by_every_way_and_the_rest_can_be_read() {
    run(async {
        let keep = world_with_a_lost_page().await.tab();
        assert_eq!(code(keep.chain(&id("d")).await), "missing-parent");
        assert_eq!(keep.chain(&id("b")).await.unwrap().len(), 3);
        let transcript = keep.node(&id("b")).await.unwrap().unwrap().transcript;
        let outline = keep.outline(&transcript, Some(&id("d"))).await.unwrap();
        assert_eq!(outline.rows.len(), 1);
        assert!(outline.damage.unwrap().contains("\"c\""));
        let rules: Vec<String> = keep.lint(None).await.unwrap().into_iter().map(|finding| finding.rule).collect();
        assert!(rules.contains(&"damage".to_owned()) && rules.contains(&"broken-chain".to_owned()), "{rules:?}");
    });
}

#[test]
fn a_damaged_transcript_is_not_written_to_but_can_be_exported_and_deleted() {
    run(async {
        let world = world_with_a_lost_page().await;
        let keep = world.tab();
        let error = keep.extend(&id("b"), vec![Message::assistant("x")]).await.unwrap_err();
        assert_eq!(error.code(), "damaged", "{error}");
        let error = keep.receive(inbound("e", Some("d"), "x")).await.unwrap_err();
        assert_eq!(error.code(), "damaged", "{error}");
        let mut file = String::new();
        keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
        assert!(file.contains("first"));
        let transcript = keep.node(&id("b")).await.unwrap().unwrap().transcript;
        keep.delete_transcript(&transcript).await.unwrap();
        assert!(keep.transcripts().await.unwrap().is_empty());
    });
}

#[test]
fn bytes_that_are_no_entries_and_no_record_are_said() {
    run(async {
        let world = world_with_a_lost_page().await;
        let (key, _) = world.store.scan(&Scan::prefix("p/")).await.unwrap().remove(1);
        let rubbish = Commit { puts: vec![(key, b"{\"node\":\n\xff\xfe\n".to_vec())], ..Commit::default() };
        world.store.commit(rubbish).await.unwrap();
        let keep = world.tab();
        let findings = keep.lint(None).await.unwrap();
        assert!(findings.iter().any(|finding| finding.message.contains("cannot be read")), "{findings:?}");
        let (key, _) = world.store.scan(&Scan::prefix("t/")).await.unwrap().remove(0);
        let rubbish = Commit { puts: vec![(key.clone(), b"not JSON".to_vec())], ..Commit::default() };
        world.store.commit(rubbish).await.unwrap();
        let error = world.tab().transcripts().await.unwrap_err().reply();
        assert_eq!((error.code.as_str(), error.details["key"].as_str()), ("corrupt", Some(key.as_str())));
    });
}
