//! What the linter finds in a chain is mended in a branch of its own.

use threadkeep_core::{Message, ToolCall};

use crate::{World, code, id, inbound, run, texts};

fn call(id: &str) -> Message {
    Message { tool_calls: vec![ToolCall::function(id, "f", "{}")], ..Message::assistant("") }
}

#[test]
fn a_mended_chain_is_a_branch_that_the_head_follows_and_the_original_stays() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let said = [Message::user("q"), call("a"), Message::user("again"), Message::tool("x", "1")];
        let before = keep.append("main", said.to_vec()).await.unwrap();
        let leaf = &before.last().unwrap().id;
        let end = keep.mend(leaf).await.unwrap().expect("a call without a result, and a result without a call");
        assert!(keep.lint(Some(&end.id)).await.unwrap().is_empty());
        assert_eq!(keep.lint(Some(leaf)).await.unwrap().len(), 2);
        assert_eq!(keep.mend(&end.id).await.unwrap(), None);
        // Another tab sees the same: the branch begins behind the question, which both share.
        let fresh = world.tab();
        let chain = fresh.chain(&end.id).await.unwrap();
        assert!(chain[1].id == before[0].id && chain[2].id != before[1].id);
        let read = fresh.get_range("main", 0, 99).await.unwrap();
        assert_eq!(texts(&read), ["q", "", "No result of this call was stored.", "again", "1"]);
        assert!(read[2].is_error && !read[4].include_in_context);
        assert!(chain[2].turn == chain[1].turn && chain[3].turn != chain[1].turn);
        fresh.append("main", vec![Message::assistant("on")]).await.unwrap();
        assert!(
            fresh.lint(None).await.unwrap().iter().all(|finding| finding.node == before[1].id || finding.node == *leaf)
        );
    });
}

#[test]
fn a_turn_that_is_not_complete_is_not_mended() {
    let keep = World::default().tab();
    run(async {
        keep.receive(inbound("m", None, "")).await.unwrap();
        assert_eq!(code(keep.mend(&id("m")).await), "bad-request");
        keep.seal(&id("m")).await.unwrap();
        assert!(keep.mend(&id("m")).await.unwrap().is_some());
        assert_eq!(code(keep.mend(&id("nowhere")).await), "missing-node");
    });
}
