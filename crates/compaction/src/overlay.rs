//! The overlay: a checkpoint laid over a chain. The messages that it covers leave the prompt, its summary comes in, and what
//! must stay raw does: instructions, what is pinned, the newest question, and calls whose results lie behind the anchor on this chain.

use std::collections::HashSet;
use std::ops::Range;

use threadkeep_context::{Action, Item, Replacement, rule};
use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::sort;
use threadkeep_core::{Content, Kind, Message, MessageId, Role};

use super::turn::opens_turn;

/// The ids of the calls that a message makes, and of those that it answers.
fn calls_and_answers(message: &Message) -> (Vec<&str>, Vec<&str>) {
    let mut calls: Vec<&str> = message.tool_calls.iter().map(threadkeep_core::ToolCall::id).collect();
    let mut answers: Vec<&str> = Vec::new();
    if message.role == Role::Tool {
        answers.extend(message.tool_call_id.as_deref());
    } else if let Content::Parts(parts) = &message.content {
        for part in parts {
            let text = |field: &str| part.0.get(field).and_then(serde_json::Value::as_str);
            if part.kind().ends_with("tool_use") {
                calls.extend(text("id"));
            } else if part.kind().ends_with("tool_result") {
                answers.extend(text("tool_use_id"));
            }
        }
    }
    calls.retain(|id| !id.is_empty());
    answers.retain(|id| !id.is_empty());
    (calls, answers)
}

/// What of the newest turn lies before `end`, if no turn begins after it. A chain that ends there was left at that turn: all of it
/// counts. If the turn goes on after `end`, a program compacted in the middle of it: its steps may be many, and the question alone counts.
fn newest_turn(items: &[Item], end: usize) -> Range<usize> {
    let (covered, after) = items.split_at(end);
    let opens = |item: &Item| opens_turn(item.message);
    match covered.iter().rposition(opens) {
        Some(question) if after.is_empty() => question..end,
        Some(question) if !after.iter().any(opens) => question..question + 1,
        _ => 0..0,
    }
}

/// Which of the messages before `end` stay raw although they are covered: instructions, what is marked as pinned or is among
/// `pins` (places), what is covered of the [newest turn](newest_turn), and calls that are answered behind `end`; a call always
/// with its results and these with their call. `items` are the whole chain.
pub fn stays(items: &[Item], end: usize, pins: &[usize]) -> Vec<bool> {
    let end = end.min(items.len());
    let mut stays: Vec<bool> = items[..end].iter().map(|item| item.message.pinned).collect();
    for pin in pins {
        if let Some(stays) = stays.get_mut(*pin) {
            *stays = true;
        }
    }
    stays[newest_turn(items, end)].fill(true);
    let mut needed: Vec<&str> = Vec::new();
    let mut called: Vec<&str> = Vec::new();
    for item in &items[end..] {
        let (calls, answers) = calls_and_answers(item.message);
        called.extend(calls);
        needed.extend(answers);
    }
    if !called.is_empty() {
        sort::sort(&mut called);
        needed.retain(|id| called.binary_search(id).is_err());
    }
    for (_, item) in stays.iter().zip(items).filter(|(stays, _)| **stays) {
        let (calls, answers) = calls_and_answers(item.message);
        needed.extend(calls);
        needed.extend(answers);
    }
    while !needed.is_empty() {
        sort::sort(&mut needed);
        needed.dedup();
        let mut more: Vec<&str> = Vec::new();
        for (stays, item) in stays.iter_mut().zip(items).filter(|(stays, _)| !**stays) {
            let (calls, answers) = calls_and_answers(item.message);
            if calls.iter().chain(&answers).any(|id| needed.binary_search(id).is_ok()) {
                *stays = true;
                more.extend(calls);
                more.extend(answers);
            }
        }
        needed = more;
    }
    for (stays, item) in stays.iter_mut().zip(items) {
        *stays |= matches!(item.message.role, Role::System | Role::Developer);
    }
    stays
}

/// What stands in prompts for a tool result that was cleared.
pub const CLEARED: &str = "[This result was cleared from the context to save space.]";

/// What comes in for the tool results that a checkpoint says were cleared, where they are in the prompt and not at `pins`.
pub fn clear(items: &[Item], checkpoint: &Checkpoint, pins: &[usize]) -> Vec<Replacement> {
    let mut replaced = Vec::new();
    let cleared: HashSet<(&MessageId, u32)> =
        checkpoint.cleared.iter().map(|source| (&source.node, source.index)).collect();
    let pins: HashSet<usize> = pins.iter().copied().collect();
    let mut within = 0;
    for (index, item) in items.iter().enumerate().filter(|_| !cleared.is_empty()) {
        within = if index > 0 && items[index - 1].node == item.node { within + 1 } else { 0 };
        let free = item.out.is_none() && item.message.include_in_context && item.message.role == Role::Tool;
        let pinned = item.message.pinned || pins.contains(&index);
        if free && !pinned && item.node.is_some_and(|node| cleared.contains(&(node, within))) {
            let message = Message {
                content: Content::Text(CLEARED.to_owned()),
                extra: serde_json::Map::new(),
                ..item.message.clone()
            };
            replaced.push(Replacement { index, message, action: Action::Compressed, rule: rule::CLEARED });
        }
    }
    replaced
}

/// Lays a checkpoint over the items of a chain on which its anchor is: `end` is the place behind the last message that it covers.
/// Gives the message that comes in, in the place of the first that leaves; the ledger has one line for both.
pub fn lay<'a>(items: &mut [Item<'a>], end: usize, checkpoint: &Checkpoint, stays: &[bool]) -> Option<Replacement> {
    let message = checkpoint.message();
    let out = match message {
        Some(_) => (Action::Summarised, rule::CHECKPOINT),
        None => (Action::Dropped, rule::SLIDING_WINDOW),
    };
    let mut place = None;
    for (at, item) in items.iter_mut().enumerate().take(end) {
        if item.message.include_in_context && !stays.get(at).copied().unwrap_or_default() {
            place = place.or(Some(at));
            item.out = Some(out);
        }
    }
    // Where an archive came in before its compactions did, the summary that its program left is a message behind what it stands
    // for. The checkpoint says the same.
    let (covered, behind) = items.split_at_mut(end.min(items.len()));
    let mut nodes: Option<HashSet<&MessageId>> = None;
    for item in behind {
        if let Kind::Summary { to: Some(to), .. } = &item.message.kind
            && item.message.include_in_context
            && nodes.get_or_insert_with(|| covered.iter().filter_map(|covered| covered.node).collect()).contains(to)
        {
            item.out = Some(out);
        }
    }
    let (index, message) = (place?, message?);
    items[index].out = None;
    Some(Replacement { index, message, action: Action::Summarised, rule: rule::CHECKPOINT })
}
