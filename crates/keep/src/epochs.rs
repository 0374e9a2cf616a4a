//! Epochs held against each other: what a checkpoint changed in the prompts of a chain, and what stands in them for a message
//! now. Everything here is read from prompts and their ledgers as [`Keep::context`] makes them, so it cannot say
//! anything else than they do; nothing is stored.

use serde::{Deserialize, Serialize};
use threadkeep_compaction::overlay;
use threadkeep_context::{Action, Line, MessageRef, rule};
use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::{Message, MessageId};
use threadkeep_store::Store;

use crate::compact::EpochInfo;
use crate::context::Chain;
use crate::protocol::{BadRequest, ContextOptions, ContextReply};
use crate::{Keep, KeepError};

/// What a checkpoint did to a message of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It is in both prompts.
    Stayed,
    /// It was in the prompt before, and is not in the one after.
    Left,
    /// It came in.
    Came,
}

/// A message of one of the two prompts, or of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    /// What became of it.
    pub fate: Fate,
    /// Its place in the chain; a summary has that of the first message that it stands in for.
    pub place: u32,
    /// Its node; `None` for summaries.
    pub node: Option<MessageId>,
    /// Its role.
    pub role: String,
    /// What the caller's `words` made of it; for a summary, its whole text.
    pub words: String,
    /// Whether it is the summary of a checkpoint.
    pub summary: bool,
    /// What it cost in the prompt before, in tokens; zero where it was not in it.
    pub before: u32,
    /// What it costs in the prompt after.
    pub after: u32,
}

/// What a prompt holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Its tokens.
    pub tokens: u64,
    /// The messages of the chain that are in it, a summary among them.
    pub messages: u32,
}

/// What changed in a chain's prompt when a checkpoint came into use: both prompts are of the chain as it was in that moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The chain's end in that moment.
    pub leaf: MessageId,
    /// The prompt of the epoch before; `None` for the first epoch, which has none before it.
    pub before: Option<Held>,
    /// The prompt of this epoch.
    pub after: Held,
    /// The messages that are in either, in the order of the chain. Those that are in neither have no line.
    pub lines: Vec<StepLine>,
    /// How many messages of the chain are in neither.
    pub absent: u32,
}

/// What stands for a node's messages in prompts now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Carried {
    /// The checkpoint that the chain uses, where it covers the node.
    pub checkpoint: Option<String>,
    /// How many of the node's messages stay in prompts as they are although it covers them: instructions, what is pinned, and
    /// calls that are answered behind it.
    pub raw: u32,
}

impl<S: Store> Keep<S> {
    /// What changed in the prompts of the chain that ends at `at` when the epoch of this place in [`Keep::epochs`] began. `options`
    /// are those of [`Keep::context`], `epoch` aside; `words` says a message in as many words as the caller wants.
    ///
    /// # Errors
    /// `bad-request` where the chain has no such epoch; those of [`Keep::context`].
    pub async fn epoch_step(
        &self,
        at: &str,
        place: usize,
        options: &ContextOptions,
        words: &dyn Fn(&Message) -> String,
    ) -> Result<Step, KeepError> {
        let epochs = self.epochs(at).await?;
        let Some(epoch) = epochs.get(place) else {
            let why = ["must be below ", &epochs.len().to_string()].concat();
            return Err(BadRequest { argument: "epoch".to_owned(), why }.into());
        };
        let before = place.checked_sub(1).map(|place| &epochs[place]);
        // As the chain was when this epoch began; the first one is looked at where it ends.
        let leaf = before.unwrap_or(epoch).leaf.clone();
        // Without memory: what is remembered today was not in those prompts.
        let of = |epoch: &EpochInfo| ContextOptions {
            epoch: Some(epoch.name().to_owned()),
            memory: None,
            ..options.clone()
        };
        let old = match before {
            Some(before) => Some(self.context(leaf.as_str(), &of(before)).await?),
            None => None,
        };
        let new = self.context(leaf.as_str(), &of(epoch)).await?;
        let summary = |epoch: Option<&EpochInfo>| epoch?.checkpoint.as_ref().and_then(Checkpoint::message);
        let (said, says) = (summary(before), summary(Some(epoch)));
        let (transcript, _) = self.place(leaf.as_str()).await?;
        let step = self.glance(&transcript, |log| {
            let messages = log.tree.messages(&leaf)?;
            let sides = [(old.as_ref(), said.as_ref()), (Some(&new), says.as_ref())];
            let (lines, absent) = lines(&messages, sides, words);
            let held = |reply: &ContextReply, is: fn(&StepLine) -> bool| Held {
                tokens: reply.figures.tokens,
                messages: lines.iter().filter(|line| is(line)).count() as u32,
            };
            let before = old.as_ref().map(|reply| held(reply, |line| line.fate != Fate::Came));
            let after = held(&new, |line| line.fate != Fate::Left);
            Ok(Step { leaf: leaf.clone(), before, after, lines, absent })
        });
        step.await
    }

    /// What stands in the prompts of the chain that ends at `at` for the messages of a node of it. `pins` stay raw, beside
    /// those that are marked as pinned.
    ///
    /// # Errors
    /// `missing-node` where there is no such chain, or the node is not on it; those of a chain; the store's.
    pub async fn carried(&self, at: &str, node: &MessageId, pins: &[MessageRef]) -> Result<Carried, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found = self.glance(&transcript, |log| {
            let chain = Chain::new(&log.tree, &leaf)?;
            let here =
                log.tree.get(node).and_then(|node| chain.placed.iter().position(|placed| placed.seq == node.seq));
            let Some(here) = here else { return Err(KeepError::MissingNode(node.clone())) };
            let mut all = log.tree.checkpoints_on(&chain.placed);
            let Some((_, _, last)) = all.last() else { return Ok(Carried::default()) };
            let messages = chain.placed[here].node.messages.len() as u32;
            let cleared = last.cleared.iter().filter(|source| source.node == *node).count() as u32;
            if cleared > 0 {
                return Ok(Carried { checkpoint: Some(last.id.clone()), raw: messages.saturating_sub(cleared) });
            }
            // One that cleared results says nothing new of what was covered before.
            all.retain(|(_, _, checkpoint)| checkpoint.cleared.is_empty());
            let Some((anchor, _, checkpoint)) = all.pop().filter(|(anchor, ..)| here <= *anchor) else {
                return Ok(Carried::default());
            };
            let end = |place: usize| chain.placed[..place].iter().map(|placed| placed.node.messages.len()).sum();
            let stays = overlay::stays(&chain.items, end(anchor + 1), &chain.pins(&log.tree, pins).0);
            let raw = stays[end(here)..end(here + 1)].iter().filter(|stays| **stays).count() as u32;
            Ok(Carried { checkpoint: Some(checkpoint.id.clone()), raw })
        });
        found.await
    }
}

/// One side of a step: its prompt, and the summary that is in it.
type Side<'a> = (Option<&'a ContextReply>, Option<&'a Message>);

/// The lines of a step over the messages of its chain, and how many of these are in neither prompt.
fn lines(messages: &[&Message], [old, new]: [Side<'_>; 2], words: &dyn Fn(&Message) -> String) -> (Vec<StepLine>, u32) {
    let (old_lines, new_lines) = (by_place(old.0, messages.len()), by_place(new.0, messages.len()));
    let (mut lines, mut absent) = (Vec::new(), 0);
    for (place, (message, (before, after))) in messages.iter().zip(old_lines.into_iter().zip(new_lines)).enumerate() {
        let node = before.or(after).and_then(|line| line.node.clone());
        let cost = |line: Option<&Line>| line.map_or(0, |line| line.tokens_after);
        let mut add = |fate, summary: Option<&Message>, before, after| {
            let shown = summary.unwrap_or(message);
            let words = if summary.is_some() { shown.text().into_owned() } else { words(shown) };
            let role = shown.role.as_str().to_owned();
            let node = node.clone().filter(|_| summary.is_none());
            let (place, summary) = (place as u32, summary.is_some());
            lines.push(StepLine { fate, place, node, role, words, summary, before, after });
        };
        let (was, is) = (summed(before), summed(after));
        let (raw_before, raw_after) = (if was { 0 } else { cost(before) }, if is { 0 } else { cost(after) });
        if let Some(summary) = old.1.filter(|_| was) {
            add(Fate::Left, Some(summary), cost(before), 0);
        }
        if let Some(summary) = new.1.filter(|_| is) {
            add(Fate::Came, Some(summary), 0, cost(after));
        }
        let fate = match (raw_before > 0, raw_after > 0) {
            (true, false) => Fate::Left,
            // The first epoch has nothing before it.
            (false, true) if old.0.is_some() => Fate::Came,
            (_, true) => Fate::Stayed,
            (false, false) => {
                absent += 1;
                continue;
            }
        };
        add(fate, None, raw_before, raw_after);
    }
    (lines, absent)
}

/// The line of each message of the chain.
fn by_place(reply: Option<&ContextReply>, length: usize) -> Vec<Option<&Line>> {
    let mut found = vec![None; length];
    for line in reply.iter().flat_map(|reply| &reply.ledger) {
        // What the frame or a repair put in names no node.
        if let Some(slot) = found.get_mut(line.index).filter(|_| line.node.is_some()) {
            *slot = Some(line);
        }
    }
    found
}

/// Whether the line is that of a summary which is in the prompt.
fn summed(line: Option<&Line>) -> bool {
    line.is_some_and(|line| line.action == Action::Summarised && line.rule == rule::CHECKPOINT && line.tokens_after > 0)
}
