//! What is being said: the message that an unsealed node gets next, as far as it has come. It is stored in pieces beside the log while a
//! model answers, so that a crash or a reload leaves a readable answer.
//!
//! A draft is no history. The commit that stores the whole message deletes it, and only that: the log stays what was really said. When
//! something else follows the node instead, the draft becomes its last message in the same commit. A piece is stored under the
//! condition that nobody has written to the transcript since its writer has read it, as an append is. So none comes back after the
//! message was stored, or the node deleted.

use serde_json::json;
use threadkeep_core::{Entry, Message, MessageId};
use threadkeep_store::{Commit, Scan, Store};

use crate::json::to_json;
use crate::keep::Write;
use crate::log::Log;
use crate::{Keep, KeepError, keys};

/// More of what is being said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Piece {
    /// More text.
    pub text: String,
    /// More of what the model thinks.
    pub reasoning: String,
    /// Its number, from 0. Number 0 takes the place of all pieces before it.
    pub number: u32,
}

impl<S: Store> Keep<S> {
    /// Stores a piece of what is being said in a node.
    ///
    /// # Errors
    /// `missing-node`, also where the node cannot grow any more; the store's.
    pub(crate) async fn store_piece(&self, node: &MessageId, piece: &Piece) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        let transcript = self.find_or_fail(node).await?;
        let value = to_json(&json!({ "text": piece.text, "reasoning": piece.reasoning }))?;
        let written = self.write(&transcript, |log| {
            let growing = log.tree.get(node).is_some_and(|placed| !placed.node.sealed && placed.is_leaf());
            if !growing {
                return Err(KeepError::MissingNode(node.clone()));
            }
            let mut write = Write::new(Vec::new(), ());
            if piece.number == 0 {
                write.extra.delete_ranges.push(range(log, node));
            }
            let key = keys::draft(&transcript, &log.generation, node, piece.number);
            write.extra.puts.push((key, value.clone()));
            Ok(write)
        });
        written.await?.ok_or_else(|| KeepError::MissingNode(node.clone()))
    }
}

impl<S: Store> Keep<S> {
    /// What is being said in a node, as it was last stored.
    pub(crate) async fn draft(&self, node: &MessageId) -> Result<Option<Message>, KeepError> {
        Ok(self.locate(node, |log, id| Ok(log.tree.draft(id).cloned())).await?.and_then(|(_, draft)| draft))
    }

    /// What `look` makes of the messages of a node that are whole.
    pub(crate) async fn messages_of<T>(
        &self,
        node: &MessageId,
        look: impl Fn(&[Message]) -> T,
    ) -> Result<T, KeepError> {
        let found = self.locate(node, |log, id| Ok(log.tree.get(id).map(|placed| look(&placed.node.messages))));
        found.await?.and_then(|(_, seen)| seen).ok_or_else(|| KeepError::MissingNode(node.clone()))
    }
}

/// Adds to a commit that a node's draft goes, if it has one.
pub(crate) fn drop_draft(log: &Log, node: &MessageId, commit: &mut Commit) {
    if log.tree.draft(node).is_some() {
        commit.delete_ranges.push(range(log, node));
    }
}

/// The entry by which a node's draft becomes its last message, before something else follows the node. Adds to the commit that the draft
/// goes.
pub(crate) fn settle_draft(log: &Log, node: &MessageId, commit: &mut Commit) -> Option<Entry> {
    let placed = log.tree.get(node).filter(|placed| !placed.node.sealed && placed.is_leaf())?;
    let message = log.tree.draft(&placed.node.id)?.clone();
    drop_draft(log, &placed.node.id, commit);
    Some(Entry::Extend { node: placed.node.id.clone(), messages: vec![message], turn: 0 })
}

fn range(log: &Log, node: &MessageId) -> (String, String) {
    let pieces = Scan::prefix(&keys::drafts(log.tree.id(), &log.generation, node));
    (pieces.start, pieces.end)
}
