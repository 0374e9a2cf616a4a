//! Collects what was said about dismissed messages: whole transcripts, and branches of transcripts that go on.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use threadkeep_core::{MessageId, Node, Transcript, TranscriptId};
use threadkeep_store::{Scan, Store};

use super::Agent;
use crate::mailbox::{MailFilter, node_of};
use crate::{Keep, KeepError, keys};

impl<S: Store> Agent<S> {
    /// Collects what was dismissed long enough ago, if the options say how long that is. The mailbox is read once in that time, and
    /// not for each message.
    pub(super) async fn collect_if_due(&self) -> Result<(), KeepError> {
        let Some(after) = self.options.collect_after else { return Ok(()) };
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let now = self.keep.now();
        if self.collected.get().is_some_and(|last| now.saturating_sub(last) < after) {
            return Ok(());
        }
        self.collected.set(Some(now));
        self.keep.collect_dismissed(&self.options.name, Some(now.saturating_sub(after))).await.map(drop)
    }
}

impl<S: Store> Keep<S> {
    /// Deletes, for good, the branches that came about through the mailbox of `party` and of which all its messages are dismissed; with
    /// `until`, dismissed at that time or before. A transcript of which nothing is left goes whole. What another agent made of the same
    /// messages goes along, if that agent has dismissed them too.
    ///
    /// A branch stays if one of these holds:
    /// - a head points into it, or one of its nodes is pinned;
    /// - one of its nodes was not made by the mailbox, but by an import, say;
    /// - a turn in it has not ended;
    /// - a message refers to it that is not dismissed, of this mailbox or of an agent's.
    ///
    /// Everything above what stays, stays. So does a transcript that is damaged or that somebody else writes to: the next call
    /// looks at it again. Gives how many branches and transcripts were deleted.
    ///
    /// # Errors
    /// The store's. What was deleted until then is.
    pub async fn collect_dismissed(&self, party: &str, until: Option<i64>) -> Result<usize, KeepError> {
        // Read first: a message that comes later changes one of them, and nothing is deleted then.
        let mut marks = self.keys_of(&Scan::prefix(keys::NUMBERS)).await?;
        marks.retain(|key| keys::is_number_mark(key));
        let mut done: HashMap<TranscriptId, HashSet<MessageId>> = HashMap::new();
        let mut numbers: HashMap<String, HashSet<u64>> = HashMap::new();
        let (mut mine, mut needed) = (HashSet::new(), HashSet::new());
        let all = MailFilter { dismissed: true, ..MailFilter::default() };
        let others = self.agents().await?.into_iter().filter(|agent| agent != party);
        for whose in std::iter::once(party.to_owned()).chain(others) {
            for mail in self.list_messages(&whose, &all).await? {
                let own = node_of(&mail.message_id, &whose).ok();
                if mail.dismissed.is_none_or(|at| until.is_some_and(|until| at > until)) {
                    needed.extend(own.into_iter().chain([mail.message_id]).chain(mail.reply_to));
                    continue;
                }
                numbers.entry(whose.clone()).or_default().insert(mail.number);
                for id in own.into_iter().chain([mail.message_id.clone()]) {
                    let Some(transcript) = self.find(&id).await? else { continue };
                    // Of what others have dismissed, what they said to this party and heard from it.
                    if whose == party {
                        mine.insert(mail.message_id.clone());
                    }
                    if mine.contains(&mail.message_id) || done.contains_key(&transcript) {
                        done.entry(transcript).or_default().insert(id);
                    }
                    break;
                }
            }
        }
        let (mut deleted, made) = (0, Cell::new(0));
        for (transcript, ids) in done {
            let again = |node: &Node| {
                let of_agent = node.origin.agent.as_ref().and_then(|agent| numbers.get(agent));
                of_agent.is_some_and(|all| node.origin.number.is_some_and(|number| all.contains(&number)))
            };
            let tops = |tree: &Transcript| {
                let ids: HashSet<&MessageId> = ids.iter().filter_map(|id| tree.resolve(id)).collect();
                let tops = collectable(tree, &|node| ids.contains(&node.id) || again(node), &needed);
                made.set(tops.len());
                (!tops.is_empty()).then_some(tops)
            };
            let _writing = self.writing().await;
            if self.remove(&transcript, &tops, None, Some(&marks)).await?.is_some() {
                deleted += made.get();
            }
        }
        Ok(deleted)
    }
}

/// Where the branches begin in which every node is done with and nothing is needed.
fn collectable(tree: &Transcript, is_done: &dyn Fn(&Node) -> bool, needed: &HashSet<MessageId>) -> Vec<MessageId> {
    if !tree.damage().is_empty() {
        return Vec::new();
    }
    let needed = needed.iter().filter_map(|id| tree.resolve(id));
    let held: HashSet<&MessageId> = tree.heads().values().chain(tree.pins()).chain(needed).collect();
    let mut stays: HashSet<&MessageId> = HashSet::new();
    // From the leaves up: what is above something that stays, stays.
    for placed in tree.nodes().rev() {
        let node = &placed.node;
        let instructions = node.parent.is_none() && node.origin.from.is_none();
        if stays.contains(&node.id) || held.contains(&node.id) || !node.sealed || !(instructions || is_done(node)) {
            stays.insert(&node.id);
            stays.extend(&node.parent);
        }
    }
    let gone = tree.nodes().map(|placed| &placed.node).filter(|node| !stays.contains(&node.id));
    let tops = gone.filter(|node| node.parent.as_ref().is_none_or(|parent| stays.contains(parent)));
    tops.map(|node| node.id.clone()).collect()
}
