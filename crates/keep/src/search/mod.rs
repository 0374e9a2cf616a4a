//! Search: an index that lives in the store, follows the transcripts, and answers queries.
//!
//! Goes in: a query and options. Comes out: hits, each with the branch that holds it and a snippet. How texts are indexed and
//! ranked is `threadkeep_recall`'s; here is where its segments lie, and how the index comes to hold exactly the messages
//! that there are.
//!
//! **Following.** Nobody who writes messages writes to the index. A search first compares how many messages each transcript
//! has with how many of them are indexed (messages do not change, and deletion takes both away in one commit, so equal
//! counts mean equal sets) and indexes what is missing. So a crash, another tab or an import leaves nothing behind that the
//! next search would not find, and a keep that is never searched pays nothing.
//!
//! **Deletion.** A deletion removes the segments that hold anything of the transcript, in its own commit; what they held of
//! others is indexed again by the next search. It replaces the index's marker, on whose presence every commit to the index
//! is conditional: what another tab has read and not yet written can no longer be written.

mod batch;
mod beside;
mod hit;
mod remembered;
mod state;
mod sync;
mod together;
mod vector_set;
mod vectors;

use std::collections::HashSet;
use std::rc::Rc;

use threadkeep_core::Transcript;
use threadkeep_core::sort;
use threadkeep_recall::{Doc, Filter, MOST_WORDS, Query, fuse};
use threadkeep_store::Store;

use crate::protocol::{Found, Hit, IndexProgress, SearchOptions, SearchReply};
use crate::{Keep, KeepError};

use batch::role_number;
use remembered::REMEMBERED;
pub(crate) use state::Search;
use state::State;
use together::{Doing, together};
use vectors::JOINED;

/// About how many bytes of text a snippet shows.
const SNIPPET: usize = 200;
/// So many hits are read at once.
const AT_ONCE: usize = 16;

impl<S: Store> Keep<S> {
    /// Finds messages in all transcripts and branches, summaries, episodes and facts that hold: words in any of their forms, `"phrases"`, `begin*`, `-without`. The
    /// best come first. Of a query of more than [`MOST_WORDS`] different words the first are used, and a warning says so. What is not indexed yet is indexed first, or (without [`SearchOptions::wait`]) one batch of it.
    ///
    /// # Errors
    /// `missing-node` for a branch that is not there; the store's.
    pub async fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchReply, KeepError> {
        let query = Query::parse_at(query, Some(self.now().div_euclid(1000)));
        let branch = match &options.branch {
            None => None,
            Some(leaf) => {
                let seqs = |tree: &Transcript| -> Result<_, KeepError> {
                    let chain = tree.chain(leaf)?;
                    let mut seqs: Vec<u64> = chain.iter().map(|placed| placed.seq).collect();
                    seqs.extend(tree.checkpoints_on(&chain).into_iter().map(|(_, seq, _)| seq));
                    sort::sort(&mut seqs);
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
                Some(all.filter(|known| known.info.source == *source).map(|known| known.id).collect::<HashSet<_>>())
            }
        };
        let one_of = options.transcript.is_some() || of_source.is_some();
        let owner = |owner: &str| {
            options.transcript.as_ref().is_none_or(|wanted| wanted.as_str() == owner)
                && branch.as_ref().is_none_or(|(wanted, _)| wanted.as_str() == owner)
                && of_source.as_ref().is_none_or(|wanted| wanted.contains(owner))
        };
        let (index, remembered, vectors, progress) = {
            let mut state = self.indexed_state().await?;
            while !state.pending.is_empty() {
                self.index_batch(&mut state, !options.wait).await?;
                if !options.wait {
                    break;
                }
            }
            if let Some(vector) = &options.vector {
                self.sync_vectors(&mut state, &vector.model).await?;
            }
            let State { index, remembered, vectors, .. } = &*state;
            (Rc::clone(index), Rc::clone(remembered), Rc::clone(vectors), state.progress())
        };
        let doc = |_: &str, doc: &Doc| {
            let on = |seqs: &[u64]| doc.index != REMEMBERED && seqs.binary_search(&doc.seq).is_ok();
            let own = |agent: &String| doc.index != REMEMBERED || remembered.is_seen_by(agent, doc);
            branch.as_ref().is_none_or(|(_, seqs)| on(seqs)) && options.agent.as_ref().is_none_or(own)
        };
        let filter = Filter {
            roles: options.roles.iter().fold(0, |roles, role| roles | 1 << role_number(role)),
            kinds: options.kinds.iter().fold(0, |kinds, kind| kinds | 1 << *kind as u8),
            since: options.since.map(|time| time.div_euclid(1000)),
            until: options.until.map(|time| time.div_euclid(1000)),
            name: options.tool.as_deref(),
            // What does not limit is not asked of a hundred thousand documents.
            owner: (one_of || branch.is_some()).then_some(&owner as _),
            doc: (branch.is_some() || options.agent.is_some()).then_some(&doc as _),
        };
        let most = options.limit.saturating_mul(2).saturating_add(8);
        let found = match &options.vector {
            None => index.find(&query, &filter, most),
            Some(vector) => {
                let near = vectors.nearest(&index, &vector.values, &query, &filter, most.max(JOINED));
                fuse(index.find(&query, &filter, most.max(JOINED)), near, most)
            }
        };
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
        let mut warnings = Vec::new();
        if query.words > MOST_WORDS {
            warnings.push(format!("The query has {} words. The search used the first {MOST_WORDS}.", query.words));
        }
        Ok(SearchReply { hits, progress, warnings })
    }

    /// How far the index has come. Looks at the counts of all transcripts, and indexes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn index_progress(&self) -> Result<IndexProgress, KeepError> {
        Ok(self.indexed_state().await?.progress())
    }
}
