//! Search: an index that lives in the store, follows the transcripts, and answers queries.
//!
//! Goes in: a query and options. Comes out: hits, each with the branch that holds it and a snippet. How texts are indexed and
//! ranked is `threadkeep_core::recall`'s; here is where its segments lie, and how the index comes to hold exactly the messages
//! that there are.
//!
//! **Following.** Nobody who writes messages writes to the index. A search first compares how many messages each transcript
//! has with how many of them are indexed (messages do not change, and deletion takes both away in one commit, so equal
//! counts mean equal sets) and indexes what is missing. So a crash, another tab or an import leaves nothing behind that the
//! next search would not find, and a keep that is never searched pays nothing.
//!
//! **Deletion.** A deletion removes the segments that hold anything of the transcript, in its own commit; what they held of
//! others is indexed again by the next search. It replaces the index's mark, on whose presence every commit to the index
//! is conditional: what another tab has read and not yet written can no longer be written.

mod batch;
mod beside;
mod state;
mod together;

use std::rc::Rc;

use threadkeep_core::recall::{Doc, Filter, Found as FoundDoc, Query, snippet};
use threadkeep_core::{MessageId, Transcript};
use threadkeep_store::Store;

use crate::log::Log;
use crate::protocol::{Found, Hit, IndexProgress, SearchOptions, SearchReply, SearchRequest};
use crate::{Keep, KeepError};

use batch::{role_number, searchable};
use beside::{REMEMBERED, Remembered, summary_hit};
pub(crate) use state::Search;
use together::{Doing, together};

/// About how many bytes of text a snippet shows.
const SNIPPET: usize = 200;
/// So many hits are read at once.
const AT_ONCE: usize = 16;

impl<S: Store> Keep<S> {
    /// Answers one request about search.
    ///
    /// # Errors
    /// [`KeepError`].
    pub async fn find_messages(&self, request: SearchRequest) -> Result<serde_json::Value, KeepError> {
        Ok(match request {
            SearchRequest::Search { query, options } => self.search(&query, &options).await?.to_json(),
            SearchRequest::IndexProgress => self.index_progress().await?.to_json(),
        })
    }

    /// Finds messages in all transcripts and branches, summaries, episodes and facts that hold: words in any of their forms, `"phrases"`, `begin*`, `-without`. The
    /// best come first. What is not indexed yet is indexed first, or (without [`SearchOptions::wait`]) one batch of it.
    ///
    /// # Errors
    /// `missing-node` for a branch that is not there; the store's.
    pub async fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchReply, KeepError> {
        let (index, remembered, progress) = {
            let mut state = self.indexed_state().await?;
            while !state.pending.is_empty() {
                self.index_batch(&mut state, !options.wait).await?;
                if !options.wait {
                    break;
                }
            }
            (Rc::clone(&state.index), Rc::clone(&state.remembered), state.progress())
        };
        let query = Query::parse(query);
        let branch = match &options.branch {
            None => None,
            Some(leaf) => {
                let seqs = |tree: &Transcript| -> Result<_, KeepError> {
                    let chain = tree.chain(leaf)?;
                    let mut seqs: Vec<u64> = chain.iter().map(|placed| placed.seq).collect();
                    seqs.extend(tree.checkpoints_on(&chain).into_iter().map(|(_, seq, _)| seq));
                    seqs.sort_unstable();
                    Ok((tree.id().clone(), seqs))
                };
                let found = self.locate(leaf, |log, _| seqs(&log.tree)).await?;
                Some(found.ok_or_else(|| KeepError::MissingNode(leaf.clone()))?.1)
            }
        };
        let of_source = match &options.source {
            None => None,
            Some(source) => {
                let all = self.transcripts().await?.into_iter();
                Some(all.filter(|known| known.info.source == *source).map(|known| known.id).collect::<Vec<_>>())
            }
        };
        let owner = |owner: &str| {
            options.transcript.as_ref().is_none_or(|wanted| wanted.as_str() == owner)
                && branch.as_ref().is_none_or(|(wanted, _)| wanted.as_str() == owner)
                && of_source.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| wanted.as_str() == owner))
        };
        let doc = |_: &str, doc: &Doc| {
            let on = |seqs: &[u64]| doc.index != REMEMBERED && seqs.binary_search(&doc.seq).is_ok();
            branch.as_ref().is_none_or(|(_, seqs)| on(seqs))
        };
        let filter = Filter {
            roles: options.roles.iter().fold(0, |roles, role| roles | 1 << role_number(role)),
            kinds: options.kinds.iter().fold(0, |kinds, kind| kinds | 1 << *kind as u8),
            since: options.since.map(|time| time.div_euclid(1000)),
            until: options.until.map(|time| time.div_euclid(1000)),
            name: options.tool.as_deref(),
            owner: Some(&owner),
            doc: Some(&doc),
        };
        let found = index.find(&query, &filter, options.limit.saturating_mul(2).saturating_add(8));
        let mut hits: Vec<Hit> = Vec::new();
        let mut found = found.iter();
        while hits.len() < options.limit && found.len() > 0 {
            let next = found.by_ref().take((options.limit - hits.len()).min(AT_ONCE));
            let read = next.map(|found| {
                Box::pin(self.hit(found, &remembered, &query)) as Doing<'_, Result<Option<Hit>, KeepError>>
            });
            for hit in together(read.collect()).await {
                // What was deleted in this moment is no hit any more.
                let Some(hit) = hit? else { continue };
                // A summary carries on the one before: of a transcript's the best is enough.
                let again = |other: &Hit| other.found == Found::Summary && other.transcript == hit.transcript;
                if hit.found != Found::Summary || !hits.iter().any(again) {
                    hits.push(hit);
                }
            }
        }
        Ok(SearchReply { hits, progress })
    }

    async fn hit(
        &self,
        found: &FoundDoc<'_>,
        remembered: &Remembered,
        query: &Query,
    ) -> Result<Option<Hit>, KeepError> {
        if found.doc.index == REMEMBERED {
            return match remembered.key(&found.doc) {
                Some(key) => self.remembered_hit(key, &found.doc, found.score, query).await,
                None => Ok(None),
            };
        }
        let Ok(transcript) = MessageId::new(found.owner) else { return Ok(None) };
        let mut hit = None;
        let mut look = |log: &Log| {
            hit = match found.doc.kind == Found::Summary as u8 {
                true => summary_hit(&log.tree, &found.doc, found.score, query),
                false => message_hit(&log.tree, &found.doc, found.score, query),
            };
        };
        self.read_with(&transcript, &mut look).await?;
        Ok(hit)
    }

    /// How far the index has come. Looks at the counts of all transcripts, and indexes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn index_progress(&self) -> Result<IndexProgress, KeepError> {
        Ok(self.indexed_state().await?.progress())
    }
}

fn message_hit(tree: &Transcript, doc: &Doc, score: f32, query: &Query) -> Option<Hit> {
    let placed = tree.nodes().find(|placed| placed.seq == doc.seq)?;
    let message = placed.node.messages.get(doc.index as usize)?;
    Some(Hit {
        found: Found::Message,
        id: None,
        transcript: Some(tree.id().clone()),
        node: Some(placed.node.id.clone()),
        index: doc.index,
        leaf: Some(tree.newest_leaf(&placed.node.id)?.node.id.clone()),
        role: message.role.as_str().to_owned(),
        created_at: placed.node.created_at,
        score,
        snippet: snippet(&searchable(message), query, SNIPPET),
        message: Some(message.clone()),
        sources: Vec::new(),
    })
}
