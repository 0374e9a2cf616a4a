//! Memory: its rules, one test each; retrieval; the JSON Lines layout.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod agent_memory;
mod growth;
mod layout;
mod retrieval;
#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../../../core/tests/support/growth.rs"]
mod shapes;

use threadkeep_compaction::memory::{Episode, Fact, FactKind, MemoryOrigin, Share};
use threadkeep_core::checkpoint::Source;
use threadkeep_core::message::ToolCall;
use threadkeep_core::{Message, MessageId, Node};

fn id(text: &str) -> MessageId {
    MessageId::new(text).unwrap()
}

fn episode(number: u32, summary: &str) -> Episode {
    Episode {
        id: format!("ep_{number:04}"),
        created_at: 1_738_100_500_000 + i64::from(number),
        transcript: None,
        turns: vec![number],
        summary: summary.to_owned(),
        tags: vec![],
        salience: Share::of(500),
        sources: vec![],
        pinned: false,
        agent: None,
        origin: None,
    }
}

fn fact(number: u32, text: &str) -> Fact {
    Fact {
        id: format!("sem_{number:04}"),
        created_at: 1_738_100_501_000 + i64::from(number),
        transcript: None,
        kind: FactKind::Other,
        fact: text.to_owned(),
        tags: vec![],
        confidence: Share::of(500),
        salience: Share::of(500),
        sources: vec![Source { node: id("n"), index: 0 }],
        pinned: false,
        superseded_by: None,
        agent: None,
        origin: Some(MemoryOrigin::User),
    }
}

fn calling(call: &str, tool: &str, arguments: &str) -> Message {
    Message { tool_calls: vec![ToolCall::function(call, tool, arguments)], ..Message::assistant("") }
}

/// A chain of one node a message.
fn chain(messages: Vec<Message>) -> Vec<Node> {
    let mut turn = 0;
    let mut nodes = Vec::new();
    for (at, message) in messages.into_iter().enumerate() {
        let opens = message.role == threadkeep_core::Role::User;
        turn += u32::from(opens);
        let mut node = Node::new(id(&format!("n{at}")), None, vec![message]);
        node.turn = if opens { turn } else { 0 };
        node.created_at = Some(1_738_100_000_120 + 10 * at as i64);
        nodes.push(node);
    }
    nodes
}
