//! What is not indexed yet becomes segments, batch by batch.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use threadkeep_core::sort;
use threadkeep_core::{Message, MessageId, Role, Transcript, TranscriptId};
use threadkeep_recall::{Builder, NewDoc, Picked, Segment, merge};
use threadkeep_store::{Commit, Durability, Store, StoreError};

use super::beside::{summary_doc, summary_text};
use super::state::{State, drop_segment, exchange_marker};
use super::together::{Doing, together};
use crate::log::Log;
use crate::protocol::Found;
use crate::{Keep, KeepError, keys};

/// A batch that is not waited for ends at so many documents.
const FEW_DOCS: usize = 2048;
/// Any ends at so many bytes of text.
const BATCH_BYTES: usize = 8 << 20;
/// New documents are written when there are so many; fewer stay in memory, and are indexed again after a restart.
const WRITE_FROM: usize = 64;
/// Segments are merged up to so many documents and bytes.
const SEGMENT_DOCS: usize = 8192;
const SEGMENT_BYTES: usize = 4 << 20;
/// Transcripts of more messages stay in memory while they are indexed.
const LONG: u32 = 1000;
/// So many transcripts are read at once.
const AHEAD: usize = 8;

impl<S: Store> Keep<S> {
    /// Indexes the next batch of what is missing, of a whole segment's size or of `few` messages. When another tab was first,
    /// what it wrote is read instead.
    pub(super) async fn index_batch(&self, state: &mut State, few: bool) -> Result<(), KeepError> {
        let most = if few { FEW_DOCS } else { SEGMENT_DOCS };
        let builder = RefCell::new(Builder::default());
        // Of what is read together, the last transcripts may pass the first limit; one that is long stops at the second.
        let room = |share: usize| {
            let builder = builder.borrow();
            builder.len() < most * share / 4 && builder.text_bytes() < BATCH_BYTES * share / 4
        };
        while room(3) && !state.pending.is_empty() {
            let next: Vec<(TranscriptId, u32)> = state.pending.iter().rev().take(AHEAD).cloned().collect();
            let read = next.iter().map(|(transcript, messages)| {
                let places = state.places(transcript);
                let (builder, room) = (&builder, &room);
                let one = async move {
                    let mut done = true;
                    let mut add = |log: &Log| done = add_missing(builder, &|| room(4), &log.tree, &places);
                    // A long one is read for several batches.
                    if *messages > LONG {
                        self.read_with(transcript, &mut add).await?;
                    } else {
                        self.pass(transcript, &mut add).await?;
                    }
                    Ok(done)
                };
                Box::pin(one) as Doing<'_, Result<bool, KeepError>>
            });
            let read = together(read.collect()).await;
            let mut left = Vec::new();
            for (transcript, done) in next.into_iter().zip(read) {
                if !done? {
                    left.push(transcript);
                }
            }
            let read = state.pending.len().saturating_sub(AHEAD);
            state.pending.truncate(read);
            state.pending.extend(left.into_iter().rev());
        }
        let builder = builder.into_inner();
        if builder.is_empty() {
            return Ok(());
        }
        let mut new = builder.finish();
        if let Some(fresh) = state.fresh.take() {
            new =
                merge(&[Picked { segment: &fresh, keep: &|_, _| true }, Picked { segment: &new, keep: &|_, _| true }]);
        }
        if state.pending.is_empty() && new.docs().len() < WRITE_FROM && new.bytes().len() < SEGMENT_BYTES / 64 {
            state.fresh = Some(Rc::new(new));
            state.rebuild();
            return Ok(());
        }
        // Segments not much larger than what there is to write are merged with it, so that there are never many.
        let mut smaller: Vec<&(String, Rc<Segment>)> = state.segments.iter().collect();
        sort::sort_by_key(&mut smaller, |(_, segment)| segment.docs().len());
        let (mut docs, mut bytes) = (new.docs().len(), new.bytes().len());
        let mut merged = Vec::new();
        for (id, segment) in smaller {
            let (more, size) = (segment.docs().len(), segment.bytes().len());
            if more > 2 * docs || docs + more > SEGMENT_DOCS || bytes + size > SEGMENT_BYTES {
                break;
            }
            (docs, bytes) = (docs + more, bytes + size);
            merged.push((id.clone(), Rc::clone(segment)));
        }
        if !merged.is_empty() {
            let all = merged.iter().map(|(_, segment)| &**segment).chain([&new]);
            let inputs: Vec<_> = all.map(|segment| Picked { segment, keep: &|_, _| true }).collect();
            new = merge(&inputs);
        }
        let old: Vec<String> = merged.into_iter().map(|(id, _)| id).collect();
        if !self.replace(state, &old, Some(new)).await? {
            self.sync(state).await?;
            self.compare(state).await?;
        }
        Ok(())
    }

    /// Puts a new segment in the place of old ones, in one commit. `false` when somebody else changed the index first.
    pub(super) async fn replace(
        &self,
        state: &mut State,
        old: &[String],
        new: Option<Segment>,
    ) -> Result<bool, KeepError> {
        let Some(known) = state.marker.take() else { return Ok(false) };
        let marker = self.new_marker();
        // What is lost of it is made again.
        let mut commit = Commit { durability: Durability::Relaxed, ..Commit::default() };
        exchange_marker(&mut commit, &known, &marker);
        old.iter().for_each(|id| drop_segment(&mut commit, id));
        let id = format!("{:016x}", self.random());
        if let Some(segment) = &new {
            let owners: Vec<String> = segment
                .owners()
                .iter()
                .filter_map(|owner| MessageId::new(owner.as_str()).ok())
                .map(|owner| keys::record(&owner))
                .collect();
            commit.puts.push(([keys::INDEX_OWNERS, id.as_str()].concat(), owners.join("\n").into_bytes()));
            commit.puts.push(([keys::INDEX_SEGMENT, id.as_str()].concat(), segment.bytes().to_vec()));
        }
        match self.inner.store.commit(commit).await {
            Err(StoreError::Conflict { .. }) => return Ok(false),
            done => done?,
        }
        // The vectors that are in memory are those of the new state, too.
        if state.vectors.marker() == Some(&known) {
            Rc::make_mut(&mut state.vectors).moved(&marker);
        }
        state.marker = Some(marker);
        state.segments.retain(|(known, _)| !old.contains(known));
        state.segments.extend(new.map(|segment| (id, Rc::new(segment))));
        state.rebuild();
        Ok(true)
    }
}

/// Adds the messages and summaries of a transcript that are not at `places` (ascending) to a batch. `false` when it became full before
/// the end.
fn add_missing(builder: &RefCell<Builder>, room: &dyn Fn() -> bool, tree: &Transcript, places: &[(u64, u32)]) -> bool {
    // The tools' names, by the ids of their calls.
    let mut calls: HashMap<&str, &str> = HashMap::new();
    // The place of the last message of each node's chain.
    let mut last: Vec<Option<(u64, u32)>> = Vec::new();
    for placed in tree.nodes() {
        let mut before = tree.parent_index(placed).and_then(|parent| last.get(parent as usize).copied().flatten());
        for (index, message) in (0u32..).zip(&placed.node.messages) {
            calls.extend(message.tool_calls.iter().map(|call| (call.id(), call.name())));
            let place = (placed.seq, index);
            if places.binary_search(&place).is_err() {
                if !room() {
                    return false;
                }
                let mut names: Vec<&str> = message.tool_calls.iter().map(|call| call.name()).collect();
                if message.role == Role::Tool {
                    let answered = message.tool_call_id.as_deref().and_then(|id| calls.get(id).copied());
                    names.extend(message.name.as_deref().or(answered));
                }
                names.retain(|name| !name.is_empty());
                builder.borrow_mut().add(&NewDoc {
                    owner: tree.id().as_str(),
                    seq: placed.seq,
                    index,
                    role: role_number(message.role.as_str()),
                    kind: Found::Message as u8,
                    time: placed.node.created_at.unwrap_or_default(),
                    before,
                    text: &searchable(message),
                    names: &names,
                });
            }
            before = Some(place);
        }
        last.push(before);
    }
    for (seq, checkpoint) in tree.checkpoints() {
        if places.binary_search(&(seq, 0)).is_err() {
            if !room() {
                return false;
            }
            builder.borrow_mut().add(&summary_doc(tree, seq, checkpoint, &summary_text(checkpoint)));
        }
    }
    true
}

/// What of a message is searched: its text, and what it asks tools.
pub(super) fn searchable(message: &Message) -> String {
    let mut text = message.text().into_owned();
    for call in &message.tool_calls {
        for piece in [call.name(), call.arguments()] {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(piece);
        }
    }
    text
}

/// The index's number of a role.
pub(super) fn role_number(role: &str) -> u8 {
    match role {
        "system" | "developer" => 0,
        "user" => threadkeep_recall::USER,
        "assistant" => 2,
        "tool" => 3,
        _ => 4,
    }
}
