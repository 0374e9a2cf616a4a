//! Compactions that other programs made: the summary that one left, wherever it stands in a tree, becomes a checkpoint anchored at
//! the last node that it stands for. The node of the summary stays where it was, out of prompts, for the checkpoint says the same;
//! so every prompt from then on is what the program's was, and the originals are there for whoever looks behind it. No format says
//! from which messages a summary's sentences came: that is found by the words that they share.
//!
//! Claude Code also clears the results of single tool calls and leaves all else (`microcompact_boundary`): a checkpoint that says which,
//! and covers what the one before it covers.

use std::collections::HashSet;

use threadkeep_compaction::summary::{Material, Piece};
use threadkeep_compaction::{origins, overlay};
use threadkeep_context::tokens::estimate_message;
use threadkeep_core::checkpoint::{Checkpoint, Chosen, Covers, Source, Statement, Strategy, summary_message};
use threadkeep_core::{Kind, Message, MessageId, Node, Role};

use super::digest::Digest;

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
#[derive(Debug, Clone, Default)]
pub(super) struct Last {
    id: String,
    /// The last one that left a summary: itself, or one before it.
    summary_of: Option<String>,
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
            reach.last_turn = reach.last_turn.max(node.turn.saturating_add(node.opened_turns().saturating_sub(1)));
        }
        let counted = node.messages.iter().filter(|message| message.include_in_context);
        reach.tokens += counted.map(|message| u64::from(estimate_message(message))).sum::<u64>();
        reach
    }

    /// The checkpoint that was made last on the way, and the last that has a summary.
    pub fn last(&self) -> [Option<&str>; 2] {
        let last = self.last.as_ref();
        [last.map(|last| last.id.as_str()), last.and_then(|last| last.summary_of.as_deref())]
    }

    /// The checkpoint of tool results that were cleared, which leaves all else as `before` has it, the last that has a summary. `node` says
    /// that they were, `here` leads to its parent, the anchor; `tokens` is what they cost until then and from then on.
    pub fn clearing(
        here: &mut Self,
        (root, anchor): (&MessageId, &MessageId),
        node: &Node,
        cleared: Vec<Source>,
        tokens: (u64, u64),
        before: Option<&Checkpoint>,
        by: &str,
    ) -> Checkpoint {
        let none = Covers { from: root.clone(), nodes: 0, messages: 0, first_turn: 0, last_turn: 0 };
        let last = here.last.take().unwrap_or_default();
        let id = format!("cp_{:016x}", Digest::new().with(node.id.as_str().as_bytes()).0);
        let checkpoint = Checkpoint {
            id: id.clone(),
            anchor: anchor.clone(),
            covers: before.map_or(none, |before| before.covers.clone()),
            statements: before.map_or_else(Vec::new, |before| before.statements.clone()),
            episodes: Vec::new(),
            facts: Vec::new(),
            strategy: Strategy::Summarize,
            summariser: by.to_owned(),
            policy: Chosen::default(),
            tokens_before: tokens.0,
            tokens_after: tokens.1,
            created_at: node.created_at.unwrap_or_default(),
            cleared,
            previous: Some(last.id.clone()).filter(|id| !id.is_empty()),
            cost: None,
            warnings: Vec::new(),
        };
        here.last = Some(Last { id, ..last });
        checkpoint
    }

    /// The checkpoint that the summary in `node` makes, with what it says, which stands for everything from `root` to `anchor`: `here`
    /// leads to the node's parent, `there` to the anchor.
    pub fn checkpoint(
        here: &mut Self,
        there: &Self,
        (root, anchor): (&MessageId, &MessageId),
        node: &mut Node,
        statements: Vec<Statement>,
        by: &str,
    ) -> Checkpoint {
        let is_summary = |message: &&mut Message| matches!(message.kind, Kind::Summary { .. });
        let name = Digest::new().with(node.id.as_str().as_bytes());
        let by = (by, node.created_at.unwrap_or_default());
        let (checkpoint, last) = there.stands(name, (root, anchor), statements, by, here.last.as_ref());
        here.last = Some(last);
        node.messages
            .change(|all| all.iter_mut().filter(is_summary).for_each(|message| message.include_in_context = false));
        checkpoint
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
            cleared: Vec::new(),
            previous: before.map(|last| last.id.clone()),
            cost: None,
            warnings: Vec::new(),
        };
        (checkpoint, Last { summary_of: Some(id.clone()), id, tokens: self.tokens, summary: after })
    }
}

/// What the summary in a node says: `left`, where the program wrote down with what it went on, else its own words. Empty where it
/// says nothing.
pub(super) fn statements(node: &Node, left: &[String]) -> Vec<Statement> {
    let mut statements = Vec::new();
    for text in left {
        paragraphs(text, &mut statements);
    }
    if statements.is_empty() {
        for message in node.messages.iter().filter(|message| matches!(message.kind, Kind::Summary { .. })) {
            paragraphs(&message.text(), &mut statements);
        }
    }
    statements
}

/// The results of tool calls, of those ids, in a node: where they are, and what they cost before and after they were cleared.
pub(super) fn cleared_in(node: &Node, ids: &mut HashSet<String>, found: &mut Vec<Source>, tokens: &mut (u64, u64)) {
    let mut cleared = Message { role: Role::Tool, ..Message::user(overlay::CLEARED) };
    for (index, message) in (0u32..).zip(&node.messages) {
        if message.role == Role::Tool && message.tool_call_id.as_ref().is_some_and(|id| ids.remove(id)) {
            found.push(Source { node: node.id.clone(), index });
            cleared.tool_call_id.clone_from(&message.tool_call_id);
            cleared.name.clone_from(&message.name);
            tokens.0 += u64::from(estimate_message(message));
            tokens.1 += u64::from(estimate_message(&cleared));
        }
    }
}

/// What is looked through for where statements came from, in bytes: at most so much of one conversation. Real sessions have a
/// few megabytes between two compactions; in files that are made to take long, the rest goes without.
pub(super) const LOOKED_THROUGH: usize = 256 << 20;

/// Says of statements which messages they came from, as far as words tell: `nodes` are those that they newly stand for, oldest first,
/// `carried` what was said before them. `left` is how many bytes may still be looked through.
pub(super) fn trace(statements: &mut [Statement], nodes: &[&Node], carried: &[Statement], left: &mut usize) {
    let mut material = Material { carried, ..Material::default() };
    for node in nodes {
        for (index, message) in (0u32..).zip(&node.messages) {
            let instructs = matches!(message.role, Role::System | Role::Developer);
            if message.include_in_context && !instructs {
                *left = left.saturating_sub(message.text().len());
                material.pieces.push(Piece { node: &node.id, index, turn: node.turn, message });
            }
        }
    }
    if *left > 0 {
        origins::trace(statements, &material);
    }
}

/// The paragraphs of a text as statements: what stands between empty lines, fences whole.
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
