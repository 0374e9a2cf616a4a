//! Trees of odd shapes: combs, stars, long chains, many heads and aliases.

use std::time::Duration;

use pollster::block_on;
use threadkeep::Keep;
use threadkeep::protocol::{Inbound, NodeInfo};
use threadkeep_core::node::Origin;
use threadkeep_core::{Message, MessageId, ToolCall};
use threadkeep_store::MemoryStore;

use super::{Row, keep, timed};

pub const ROWS: &[Row] = &[
    Row {
        name: "lint on a comb",
        n: 1_000,
        run: |n| {
            let (keep, _) = comb(n);
            timed(|| block_on(keep.lint(None)).unwrap())
        },
    },
    Row { name: "outline of a comb", n: 4_000, run: outline_of_comb },
    Row { name: "children of one node, one by one", n: 500, run: |n| timed(|| star(n)) },
    Row { name: "children of one node, seen", n: 2_000, run: views_of_star },
    Row { name: "branches of one node, each outlined", n: 100, run: outlines_of_star },
    Row { name: "heads of one transcript, cleared", n: 50, run: clears },
    Row { name: "branches, chosen one by one", n: 250, run: choices },
    Row { name: "lint on a comb of open calls", n: 500, run: lint_open_calls },
    Row { name: "replies in a row", n: 500, run: replies },
    Row { name: "heads of one transcript", n: 500, run: heads },
    Row { name: "transcripts, listed", n: 250, run: transcripts },
    Row { name: "transcripts, each read by its nodes", n: 100, run: lookups },
    Row { name: "aliases of one node", n: 500, run: aliases },
    Row { name: "branches of one node, deleted one by one", n: 25, run: deletions },
    Row { name: "a long branch, deleted", n: 1_000, run: deletion },
];

fn append(keep: &Keep<MemoryStore>, head: &str, n: usize) -> Vec<NodeInfo> {
    let said = |at: usize| {
        let text = format!("line {at}");
        if at.is_multiple_of(2) { Message::user(text) } else { Message::assistant(text) }
    };
    block_on(keep.append(head, (0..n).map(said).collect())).unwrap()
}

fn branch(keep: &Keep<MemoryStore>, parent: &MessageId, text: &str) -> NodeInfo {
    block_on(keep.branch(parent, vec![Message::user(text)], Origin::default())).unwrap()
}

/// A chain of which every node has a leaf beside the next.
fn comb(n: usize) -> (Keep<MemoryStore>, Vec<NodeInfo>) {
    let keep = keep();
    let spine = append(&keep, "head", n);
    spine.iter().for_each(|node| drop(branch(&keep, &node.id, "tooth")));
    (keep, spine)
}

fn star(n: usize) -> (Keep<MemoryStore>, NodeInfo) {
    let keep = keep();
    let hub = append(&keep, "head", 1).remove(0);
    (0..n).for_each(|at| drop(branch(&keep, &hub.id, &format!("ray {at}"))));
    (keep, hub)
}

fn outline_of_comb(n: usize) -> Duration {
    let (keep, spine) = comb(n);
    let leaf = &spine[n - 1].id;
    timed(|| block_on(keep.outline(&spine[0].transcript, Some(leaf))).unwrap())
}

fn views_of_star(n: usize) -> Duration {
    let (keep, hub) = star(n);
    timed(|| {
        assert_eq!(block_on(keep.children(&hub.id)).unwrap().len(), n);
        block_on(keep.tree(&hub.transcript)).unwrap();
        block_on(keep.outline(&hub.transcript, None)).unwrap();
        block_on(keep.lint(None)).unwrap();
    })
}

fn replies(n: usize) -> Duration {
    let keep = keep();
    let mut last = block_on(keep.receive(Inbound::new("first"))).unwrap().id;
    timed(|| {
        for at in 0..n {
            let inbound = Inbound { reply_to: Some(last.clone()), ..Inbound::new(format!("reply {at}")) };
            last = block_on(keep.receive(inbound)).unwrap().id;
        }
        block_on(keep.chain(&last)).unwrap().len()
    })
}

fn heads(n: usize) -> Duration {
    let keep = keep();
    append(&keep, "head", 10);
    timed(|| {
        (0..n).for_each(|at| drop(block_on(keep.fork("head", &format!("fork-{at}"), Some(5))).unwrap()));
        assert_eq!(block_on(keep.heads()).unwrap().len(), n + 1);
        block_on(keep.stats()).unwrap();
    })
}

fn transcripts(n: usize) -> Duration {
    let keep = keep();
    timed(|| {
        (0..n).for_each(|at| drop(append(&keep, &format!("head-{at}"), 2)));
        assert_eq!(block_on(keep.transcripts()).unwrap().len(), n);
        assert_eq!(block_on(keep.roots()).unwrap().len(), n);
        block_on(keep.stats()).unwrap();
        block_on(keep.heads()).unwrap();
    })
}

fn lookups(n: usize) -> Duration {
    let keep = keep();
    let nodes: Vec<NodeInfo> = (0..n).flat_map(|at| append(&keep, &format!("head-{at}"), 2)).collect();
    timed(|| {
        for node in &nodes {
            assert!(block_on(keep.node(&node.id)).unwrap().is_some());
            block_on(keep.depth(&node.id)).unwrap();
        }
    })
}

fn aliases(n: usize) -> Duration {
    let keep = keep();
    let node = append(&keep, "head", 1).remove(0);
    timed(|| {
        for at in 0..n {
            block_on(keep.alias(&MessageId::new(format!("out-{at}")).unwrap(), &node.id)).unwrap();
        }
    })
}

fn deletions(n: usize) -> Duration {
    let keep = keep();
    let hub = append(&keep, "head", 1).remove(0);
    let rays: Vec<NodeInfo> = (0..n).map(|at| branch(&keep, &hub.id, &format!("ray {at}"))).collect();
    timed(|| rays.iter().for_each(|ray| assert_eq!(block_on(keep.delete_branch(&ray.id)).unwrap(), 1)))
}

fn deletion(n: usize) -> Duration {
    let keep = keep();
    let nodes = append(&keep, "head", n);
    for at in 0..n {
        block_on(keep.fork("head", &format!("fork-{at}"), Some(at as u32 + 1))).unwrap();
    }
    timed(|| block_on(keep.delete_branch(&nodes[1].id)).unwrap())
}

fn outlines_of_star(n: usize) -> Duration {
    let (keep, hub) = star(n);
    let rays = block_on(keep.children(&hub.id)).unwrap();
    timed(|| rays.iter().for_each(|ray| drop(block_on(keep.outline(&hub.transcript, Some(&ray.id))).unwrap())))
}

fn clears(n: usize) -> Duration {
    let keep = keep();
    append(&keep, "head", 10);
    for at in 0..n {
        block_on(keep.fork("head", &format!("fork-{at}"), Some(5))).unwrap();
        append(&keep, &format!("fork-{at}"), 2);
    }
    timed(|| (0..n).for_each(|at| assert_eq!(block_on(keep.clear(&format!("fork-{at}"))).unwrap(), 2)))
}

fn choices(n: usize) -> Duration {
    let (keep, hub) = star(n);
    let rays = block_on(keep.children(&hub.id)).unwrap();
    timed(|| rays.iter().for_each(|ray| block_on(keep.choose(&ray.id)).unwrap()))
}

/// A chain of calls that are never answered, each with a leaf beside the next.
fn lint_open_calls(n: usize) -> Duration {
    let keep = keep();
    let asked = |at: usize| {
        let mut call = Message::assistant("");
        call.tool_calls = vec![ToolCall::function(format!("call-{at}"), "read", "{}")];
        call
    };
    let spine = block_on(keep.append("head", (0..n).map(asked).collect())).unwrap();
    spine.iter().for_each(|node| drop(branch(&keep, &node.id, "tooth")));
    timed(|| block_on(keep.lint(None)).unwrap())
}
