//! Undo: a head goes back to where it was before its last change. The log says where it was: each change of a head is an entry of it, and so
//! is an undo. What was appended stays in the tree.

use std::collections::HashSet;

use threadkeep_core::transcript::Placed;
use threadkeep_core::{Entry, MessageId, Transcript, TranscriptId};
use threadkeep_store::{Store, StoreError};

use crate::forks::groups;
use crate::keep::Write;
use crate::protocol::{Change, Event, NodeInfo, Undone};
use crate::route::info;
use crate::{Keep, KeepError, keys};

/// How often an undo that lost against another writer is tried again.
const TRIES: u32 = 10;

/// A stretch of the life of a head: where it points, and the sequence number from which on it does.
struct Stop {
    node: MessageId,
    seq: u64,
}

impl<S: Store> Keep<S> {
    /// Moves a head back to where it was before its last append, edit or move, and names that change. Another undo goes one change further.
    /// `None`, and nothing happens, if there is nothing to undo. A deletion is for good, and a change in another transcript is not undone.
    ///
    /// Nothing is removed: the nodes stay, and [`Keep::set_head`] to [`Undone::from`] brings them back.
    ///
    /// # Errors
    /// `missing-thread`; `damaged`; the store's.
    pub async fn undo(&self, name: &str) -> Result<Option<Undone>, KeepError> {
        let _writing = self.writing().await;
        for _ in 0..TRIES {
            let at = self.at_head(name, |tree, _| Ok((tree.id().clone(), tree.next_seq())));
            let (transcript, seen) = at.await?.ok_or_else(|| KeepError::MissingHead(name.to_owned()))?;
            let stops = self.head_stops(name, &transcript).await?;
            let [.., before, last] = &stops[..] else { return Ok(None) };
            let write = self.write(&transcript, |log| {
                if log.tree.next_seq() != seen {
                    return Ok(Write::new(Vec::new(), None));
                }
                let undone = undone(&log.tree, before, last)?;
                let back = Entry::Head { name: name.to_owned(), node: Some(before.node.clone()) };
                Ok(Write::new(vec![back.clone(), back], Some(undone)))
            });
            if let Some(undone) = write.await?.flatten() {
                self.emit(&Event::Head { name: name.to_owned(), node: Some(undone.node.clone()) });
                return Ok(Some(undone));
            }
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    /// Where a head of a transcript was, one change after the other. Changes that were undone are not among them.
    async fn head_stops(&self, name: &str, transcript: &TranscriptId) -> Result<Vec<Stop>, KeepError> {
        let (generation, root) = {
            let found = self.glance(transcript, |log| {
                let root = log.tree.root().map(|root| &root.node).filter(|root| root.messages.is_empty());
                Ok((log.generation.clone(), root.map(|root| (root.id.clone(), root.created_at))))
            });
            found.await?
        };
        let mut stops: Vec<Stop> = Vec::new();
        // Whether a head was seen; the line before, and its node if it moved this head.
        let (mut any, mut above, mut text_above, mut next) = (false, None, &[][..], 0);
        let all = self.inner.store.scan(&keys::pages(transcript, &generation, 0)).await?;
        for (key, lines) in &all {
            for text in lines.split(|byte| *byte == b'\n').filter(|text| !text.is_empty()) {
                let (seq, moved, before) = (next, above.take(), std::mem::replace(&mut text_above, text));
                next += 1;
                if !text.starts_with(b"{\"head\":") && !text.starts_with(b"{\"gone\":") {
                    continue;
                }
                let entry = Entry::parse(text);
                let entry = entry.map_err(|why| StoreError::Corrupt { key: key.clone(), why: why.to_string() })?;
                next = seq + entry.span();
                let Entry::Head { name: head, node } = entry else { continue };
                let first = !std::mem::replace(&mut any, true);
                if head != name {
                    continue;
                }
                let Some(node) = node else {
                    stops.clear();
                    continue;
                };
                if let Some((root, time)) = root.as_ref().filter(|_| first)
                    && began(before, &node, *time)
                {
                    stops.push(Stop { node: root.clone(), seq: 0 });
                }
                match stops.last() {
                    // An undo is the same entry twice: it and what it undid were no changes.
                    Some(_) if moved.as_ref() == Some(&node) => stops.truncate(stops.len().saturating_sub(2)),
                    Some(last) if last.node == node => {}
                    _ => stops.push(Stop { node: node.clone(), seq }),
                }
                above = Some(node);
            }
        }
        Ok(stops)
    }

    /// The versions of an edited message: its node, and the nodes that took its place in other branches, oldest first. They are siblings
    /// whose first messages have the same role. Of several with the same question, which differ in the answer, the oldest is there.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn history(&self, id: &MessageId) -> Result<Vec<NodeInfo>, KeepError> {
        let transcript = self.find_or_fail(id).await?;
        let found = self.glance(&transcript, |log| {
            let tree = &log.tree;
            let placed = tree.get(id).ok_or_else(|| KeepError::MissingNode(id.clone()))?;
            let siblings = match tree.parent(placed) {
                Some(parent) => tree.children(&parent.node.id)?,
                None => vec![placed],
            };
            let role = |placed: &Placed| placed.node.messages.first().map(|message| message.role.clone());
            let alike: Vec<&Placed> = siblings.into_iter().filter(|other| role(other) == role(placed)).collect();
            Ok(groups(&alike).iter().filter_map(|group| group.first().map(|placed| info(tree, placed))).collect())
        });
        found.await
    }
}

/// Whether the append that moved a head to `node`, of which `line` is the last node, began the transcript: both have one time. Before it there
/// was the root alone.
fn began(line: &[u8], node: &MessageId, time: Option<i64>) -> bool {
    let Ok(Entry::Node(last)) = Entry::parse(line) else { return false };
    last.sealed && last.id == *node && time.is_some() && last.created_at == time
}

/// What the step from `before` to `last` was.
fn undone(tree: &Transcript, before: &Stop, last: &Stop) -> Result<Undone, KeepError> {
    let (chain, old) = (tree.chain(&last.node)?, tree.chain(&before.node)?);
    let known: HashSet<&MessageId> = old.iter().map(|placed| &placed.node.id).collect();
    let new: Vec<&&Placed> = chain.iter().filter(|placed| !known.contains(&placed.node.id)).collect();
    let change = match new.first() {
        Some(first) if new.len() + old.len() == chain.len() && after(first, before) => Change::Append,
        Some(first) if after(first, before) => Change::Edit,
        _ => Change::Move,
    };
    let messages = new.iter().map(|placed| placed.node.messages.len() as u32).sum();
    Ok(Undone { change, from: last.node.clone(), node: before.node.clone(), messages })
}

/// Whether a node was made after the head came to `stop`.
fn after(placed: &Placed, stop: &Stop) -> bool {
    placed.seq >= stop.seq
}
