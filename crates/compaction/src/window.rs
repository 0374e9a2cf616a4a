//! The window: which part of a chain a compaction covers. Whole turns, oldest first; the last ones stay raw, the live one always.

use threadkeep_context::{Item, Prepared};
use threadkeep_core::checkpoint::Chosen;
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Message, MessageId, Role};

use super::overlay::stays;
use super::summary::Piece;
use super::turn::opens_turn;

/// How many turns stay raw, where nothing else is said.
pub const TAIL_TURNS: u32 = 4;

/// What a compaction covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The last node that is covered.
    pub anchor: MessageId,
    /// The first.
    pub from: MessageId,
    /// How many nodes from the root to the anchor.
    pub nodes: u32,
    /// The first message that no checkpoint covers yet.
    pub start: usize,
    /// The place behind the last message that is covered.
    pub end: usize,
    /// The first turn that is covered, by this checkpoint or one before; zero where there is none.
    pub first_turn: u32,
    /// The last.
    pub last_turn: u32,
    /// What the newly covered messages cost in a prompt, in tokens.
    pub tokens: u64,
    /// What stays raw costs: the tail, and of the covered part what stays in spite of it.
    pub raw: u64,
    /// For each message before `end`, whether it stays raw in spite of being covered.
    pub stays: Vec<bool>,
}

/// Whether nothing more is to come in the newest turn: the model has answered, and its node is sealed.
fn is_answered(chain: &[&Placed], items: &[Item]) -> bool {
    let last = items.iter().rev().map(|item| item.message).find(|message| message.include_in_context);
    let answers = |message: &Message| message.role == Role::Assistant && message.tool_calls.is_empty();
    chain.last().is_some_and(|placed| placed.node.sealed) && last.is_some_and(answers)
}

/// Chooses the window of a chain of which `start` messages are covered already. `items` are the chain's and `prepared` is what
/// they were prepared to, so that tool groups and costs are known. `None` where nothing can be covered: a chain that is
/// short, or all of whose turns are to stay raw.
///
/// The tail is `tail_turns` whole turns, and beside them the live turn: the newest one, unless it was answered and its node
/// is sealed. `keep_recent` counts messages in place of turns, and is rounded up to whole turns. Under a `target_tokens` of which
/// the tail takes more than two thirds, further turns are covered, but never the newest.
pub fn window(
    chain: &[&Placed],
    items: &[Item],
    prepared: &Prepared,
    start: usize,
    chosen: &Chosen,
    pins: &[usize],
) -> Option<Window> {
    let turns: Vec<usize> =
        items.iter().enumerate().filter(|(_, item)| opens_turn(item.message)).map(|(at, _)| at).collect();
    let newest = *turns.last()?;
    let live = u32::from(!is_answered(chain, items));
    let kept = (chosen.tail_turns.saturating_add(live)).max(1) as usize;
    let preferred = match chosen.keep_recent {
        Some(count) => items.len().saturating_sub(count as usize).min(newest),
        None => turns[turns.len().saturating_sub(kept)],
    };
    // The ends of nodes at which a turn begins and over which no group reaches, with the first node that ends there.
    let mut last_of = vec![0; prepared.groups()];
    for at in 0..items.len() {
        if let Some(group) = prepared.group(at) {
            last_of[group] = at;
        }
    }
    let (mut candidates, mut end, mut reach) = (Vec::new(), 0, 0);
    for (place, placed) in chain.iter().enumerate() {
        let from = end;
        end += placed.node.messages.len();
        for at in from..end {
            reach = prepared.group(at).map_or(reach, |group| reach.max(last_of[group]));
        }
        let new = end > start && end > from;
        if new && reach < end && turns.binary_search(&end).is_ok() {
            candidates.push((end, place));
        }
    }
    let costs: Vec<u64> = prepared.costs().into_iter().map(u64::from).collect();
    let raw = |end: usize| costs[end..].iter().sum::<u64>();
    let mut at = candidates.iter().rposition(|(end, _)| *end <= preferred);
    if let Some(target) = chosen.target_tokens {
        let full = |at: usize| raw(candidates[at].0) > target - target / 3;
        while at.map_or(!candidates.is_empty() && raw(0) > target, |at| at + 1 < candidates.len() && full(at)) {
            at = Some(at.map_or(0, |at| at + 1));
        }
    }
    let (end, place) = candidates[at?];
    let stays = stays(items, end, pins);
    let covered = |at: &usize| !stays[*at];
    let tokens = (start..end).filter(covered).map(|at| costs[at]).sum();
    // Where all of it stays raw, there is nothing to gain.
    if tokens == 0 {
        return None;
    }
    let own: u64 = (0..end).filter(|at| !covered(at)).map(|at| costs[at]).sum();
    let covered_turns = items[..end].iter().map(|item| item.turn).filter(|turn| *turn > 0);
    Some(Window {
        anchor: chain[place].node.id.clone(),
        from: chain[0].node.id.clone(),
        nodes: place as u32 + 1,
        start,
        end,
        first_turn: covered_turns.clone().min().unwrap_or_default(),
        last_turn: covered_turns.max().unwrap_or_default(),
        tokens,
        raw: raw(end) + own,
        stays,
    })
}

impl Window {
    /// The messages that are to be summarised: those that are newly covered and leave the prompt.
    pub fn pieces<'a>(&self, items: &[Item<'a>]) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut index = 0;
        for (at, item) in items.iter().enumerate().take(self.end) {
            index = if at > 0 && items[at - 1].node == item.node { index + 1 } else { 0 };
            if at >= self.start
                && item.message.include_in_context
                && !self.stays[at]
                && let Some(node) = item.node
            {
                pieces.push(Piece { node, index, turn: item.turn, message: item.message });
            }
        }
        pieces
    }
}
