//! Vectors beside the index: which documents have none, storing what the caller's model made, and finding by it.
//!
//! A block holds vectors of one transcript, as signed bytes, under `s/v/<transcript>/<random>`. A deletion removes the blocks of its
//! transcript in its own commit, and every commit of vectors replaces the index's marker on whose presence it is conditional, as
//! the index's own do: so no vector of a deleted message stays, and other tabs notice new ones.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use threadkeep_core::MessageId;
use threadkeep_recall::{Block, Doc, NO_DOC};
use threadkeep_store::{Commit, Scan, Store, StoreError, around};

use super::batch::searchable;
use super::beside::summary_text;
use super::remembered::REMEMBERED;
use super::state::{State, busy, exchange_marker};
use super::vector_set::Vectors;
use crate::log::Log;
use crate::protocol::{BadRequest, NewVectors, Place, ToEmbed};
use crate::{Keep, KeepError, keys};

/// How many hits of each ranking are joined, at least.
pub(super) const JOINED: usize = 100;
/// How much of a text is given to the model, in bytes: most take 512 tokens, or some thousand.
const TEXT: usize = 8000;
const TRIES: u32 = 100;

impl<S: Store> Keep<S> {
    /// Reads the vectors of a model as the store has them, and finds out whose they are.
    pub(super) async fn sync_vectors(&self, state: &mut State, model: &str) -> Result<(), KeepError> {
        let State { index, vectors, marker, made, .. } = state;
        let vectors = Rc::make_mut(vectors);
        if vectors.model != model {
            *vectors = Vectors { model: model.to_owned(), ..Vectors::default() };
        }
        if vectors.marker.is_none() || vectors.marker != *marker {
            let known: HashMap<String, Rc<Block>> = std::mem::take(&mut vectors.blocks).into_iter().collect();
            for (key, bytes) in around::scan(&self.inner.store, &Scan::prefix(keys::VECTORS)).await? {
                let bytes = bytes.unwrap_or_default();
                let block = match known.get(&key) {
                    Some(block) => Rc::clone(block),
                    // What cannot be read is as if it were not there, and made again.
                    None => match Block::read(&bytes) {
                        Ok(block) if block.model == model => Rc::new(block),
                        _ => continue,
                    },
                };
                vectors.blocks.push((key, block));
            }
            vectors.marker = marker.clone();
            vectors.made = 0;
        }
        if vectors.made != *made {
            vectors.lined = index.line_up(vectors.blocks());
            vectors.made = *made;
        }
        Ok(())
    }

    /// Texts that a model has made no vector of yet, the newest first, at most `most`.
    ///
    /// # Errors
    /// The store's.
    pub async fn to_embed(&self, model: &str, most: usize) -> Result<ToEmbed, KeepError> {
        let (places, left) = {
            let mut state = self.indexed_state().await?;
            self.index_all(&mut state).await?;
            self.sync_vectors(&mut state, model).await?;
            let (listed, count) =
                state.index.without_vector(&state.vectors.lined, most, &|doc: &Doc| doc.index != REMEMBERED);
            let place = |(owner, doc): (&str, Doc)| {
                let transcript = MessageId::new(owner).ok()?;
                Some(Place { transcript, seq: doc.seq, index: doc.index })
            };
            let left = count - listed.len();
            (listed.into_iter().filter_map(place).collect::<Vec<_>>(), left as u64)
        };
        let mut asked = ToEmbed { texts: Vec::new(), places: Vec::new(), left };
        for place in places {
            let mut text = None;
            let mut look = |log: &Log| {
                let node = log.tree.at_seq(place.seq);
                let message = node.and_then(|placed| placed.node.messages.get(place.index as usize));
                let summary = || log.tree.checkpoints().find(|(seq, _)| *seq == place.seq);
                text = match message {
                    Some(message) => Some(searchable(message)),
                    None => summary().map(|(_, checkpoint)| summary_text(checkpoint)),
                };
            };
            self.read_with(&place.transcript, &mut look).await?;
            if let Some(mut text) = text {
                let end = (0..=TEXT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
                text.truncate(end);
                asked.texts.push(text);
                asked.places.push(place);
            }
        }
        Ok(asked)
    }

    /// Stores vectors. Those of documents that are not there any more are passed over.
    ///
    /// # Errors
    /// `bad-request` for vectors of another length than the model's others; the store's.
    pub async fn put_vectors(&self, new: &NewVectors) -> Result<(), KeepError> {
        let NewVectors { model, places, vectors } = new;
        for _ in 0..TRIES {
            let mut state = self.indexed_state().await?;
            self.index_all(&mut state).await?;
            self.sync_vectors(&mut state, model).await?;
            let length = state.vectors.blocks().next().map(|block| block.length).or(vectors.first().map(Vec::len));
            if let Some(length) = length
                && let Some(other) = vectors.iter().find(|vector| vector.len() != length)
            {
                return Err(KeepError::Argument(BadRequest {
                    argument: "vectors".to_owned(),
                    why: format!("must have {length} numbers as the others of the model, not {}", other.len()),
                }));
            }
            let mut blocks: Vec<Block> = Vec::new();
            let mut block_of: HashMap<&str, usize> = HashMap::new();
            for (place, vector) in places.iter().zip(vectors) {
                let owner = place.transcript.as_str();
                let at = *block_of.entry(owner).or_insert(blocks.len());
                if at == blocks.len() {
                    let model = model.clone();
                    blocks.push(Block { owner: owner.to_owned(), model, length: vector.len(), ..Block::default() });
                }
                blocks[at].places.push((place.seq, place.index));
                blocks[at].values.extend(vector.iter().map(|value| *value as u8));
            }
            // A vector of a message that was deleted meanwhile would outlive it.
            let lined = state.index.line_up(&blocks);
            let has: HashSet<u32> = state.vectors.lined.iter().copied().collect();
            let mut lined = lined.iter();
            for block in &mut blocks {
                let (places, values) = (std::mem::take(&mut block.places), std::mem::take(&mut block.values));
                for ((place, vector), number) in places.into_iter().zip(values.chunks(block.length)).zip(lined.by_ref())
                {
                    if *number != NO_DOC && !has.contains(number) {
                        block.places.push(place);
                        block.values.extend_from_slice(vector);
                    }
                }
            }
            blocks.retain(|block| !block.places.is_empty());
            let Some(known) = state.marker.clone().filter(|_| !blocks.is_empty()) else { return Ok(()) };
            let marker = self.new_marker();
            let mut commit = Commit::default();
            exchange_marker(&mut commit, &known, &marker);
            let mut stored = Vec::new();
            for block in blocks {
                let Ok(transcript) = MessageId::new(block.owner.as_str()) else { continue };
                let key = format!("{}{:016x}", keys::vectors(&transcript), self.random());
                commit.puts.push((key.clone(), block.write()));
                stored.push((key, Rc::new(block)));
            }
            match self.inner.store.commit(commit).await {
                Err(StoreError::Conflict { .. }) => continue,
                done => done?,
            }
            state.marker = Some(marker.clone());
            let vectors = Rc::make_mut(&mut state.vectors);
            vectors.marker = Some(marker);
            vectors.blocks.extend(stored);
            vectors.made = 0;
            return Ok(());
        }
        Err(busy())
    }

    /// Indexes all that is not indexed yet.
    pub(super) async fn index_all(&self, state: &mut State) -> Result<(), KeepError> {
        while !state.pending.is_empty() {
            self.index_batch(state, false).await?;
        }
        Ok(())
    }
}
