//! Compactions that other programs made: the summary that one left, wherever it stands in a tree, becomes a checkpoint anchored at
//! the last node that it stands for. The node of the summary stays where it was, out of prompts, for the checkpoint says the same;
//! so every prompt from then on is what the program's was, and the originals are there for whoever looks behind it.

use super::digest::Digest;
use crate::compaction::checkpoint::summary_message;
use crate::compaction::summary::Statement;
use crate::compaction::{Checkpoint, Chosen, Covers, Strategy};
use crate::tokens::estimate_message;
use crate::{Kind, Message, MessageId, Node};

/// How far it is from the root to a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    nodes: u32,
    messages: u32,
    first_turn: u32,
    last_turn: u32,
    /// About what its messages cost.
    tokens: u64,
    /// The last checkpoint that was made on the way.
    last: Option<Last>,
}

/// A compaction that was before.
#[derive(Debug, Clone)]
pub(super) struct Last {
    id: String,
    /// What was covered by it, and what its summary costs.
    tokens: u64,
    summary: u64,
}

impl Reach {
    /// One node further.
    pub fn with(&self, node: &Node) -> Self {
        let mut reach = self.clone();
        reach.nodes += 1;
        reach.messages += node.messages.len() as u32;
        if node.turn > 0 {
            reach.first_turn = if reach.first_turn == 0 { node.turn } else { reach.first_turn };
            reach.last_turn = reach.last_turn.max(node.turn + node.opened_turns() - 1);
        }
        let counted = node.messages.iter().filter(|message| message.include_in_context);
        reach.tokens += counted.map(|message| u64::from(estimate_message(message))).sum::<u64>();
        reach
    }

    /// The checkpoint that the summary in `node` makes, which stands for everything from `root` to `anchor`: `here` leads to the
    /// node's parent, `there` to the anchor. `None` where the summary says nothing.
    pub fn checkpoint(
        here: &mut Self,
        there: &Self,
        root: &MessageId,
        anchor: &MessageId,
        node: &mut Node,
        by: &str,
    ) -> Option<Checkpoint> {
        let is_summary = |message: &&mut Message| matches!(message.kind, Kind::Summary { .. });
        let mut statements = Vec::new();
        for message in node.messages.iter_mut().filter(is_summary) {
            paragraphs(&message.text(), &mut statements);
        }
        if statements.is_empty() {
            return None;
        }
        let name = Digest::new().with(node.id.as_str().as_bytes());
        let by = (by, node.created_at.unwrap_or_default());
        let (checkpoint, last) = there.stands(name, (root, anchor), statements, by, here.last.as_ref());
        here.last = Some(last);
        for message in node.messages.iter_mut().filter(is_summary) {
            message.include_in_context = false;
        }
        Some(checkpoint)
    }

    /// The checkpoint that stands for what leads from the root to the anchor, with its id by a digest, by whom and when it was made, and
    /// what was compacted before it.
    pub fn stands(
        &self,
        name: Digest,
        (root, anchor): (&MessageId, &MessageId),
        statements: Vec<Statement>,
        (by, created_at): (&str, i64),
        before: Option<&Last>,
    ) -> (Checkpoint, Last) {
        let covers = Covers {
            from: root.clone(),
            nodes: self.nodes,
            messages: self.messages,
            first_turn: self.first_turn,
            last_turn: self.last_turn,
        };
        let summary = summary_message(&statements, &covers, anchor);
        let after = summary.map_or(0, |message| u64::from(estimate_message(&message)));
        let (covered, carried) = before.map_or((0, 0), |last| (last.tokens, last.summary));
        let id = format!("cp_{:016x}", name.0);
        let checkpoint = Checkpoint {
            id: id.clone(),
            anchor: anchor.clone(),
            covers,
            statements,
            episodes: Vec::new(),
            facts: Vec::new(),
            strategy: Strategy::Summarize,
            summariser: by.to_owned(),
            policy: Chosen::default(),
            tokens_before: self.tokens.saturating_sub(covered) + carried,
            tokens_after: after,
            created_at,
            previous: before.map(|last| last.id.clone()),
            cost: None,
            warnings: Vec::new(),
        };
        (checkpoint, Last { id, tokens: self.tokens, summary: after })
    }
}

/// The paragraphs of a text as statements: what stands between empty lines, fences whole. Which messages each came from,
/// nobody noted.
fn paragraphs(text: &str, statements: &mut Vec<Statement>) {
    let mut paragraph = String::new();
    let mut fenced = false;
    for line in text.lines().chain([""]) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if !line.trim().is_empty() || fenced {
            paragraph.push_str(line.trim_end());
            paragraph.push('\n');
        } else if !paragraph.trim().is_empty() {
            let text = std::mem::take(&mut paragraph).trim().to_owned();
            statements.push(Statement { text, sources: Vec::new(), level: 0 });
        }
    }
    // A fence that was never closed.
    if !paragraph.trim().is_empty() {
        statements.push(Statement { text: paragraph.trim().to_owned(), sources: Vec::new(), level: 0 });
    }
}
