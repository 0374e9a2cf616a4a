//! What is searched beside messages: summaries, which are documents of the index as messages are, and what is remembered.
//!
//! Episodes and facts change, and are few beside messages. So they are in no stored segment: a segment of them all is
//! made in memory whenever the marker moves that every change of them moves, and a hit is read from the store again.

use std::rc::Rc;

use threadkeep_compaction::memory::{Episode, Fact};
use threadkeep_core::checkpoint::{Checkpoint, Source};
use threadkeep_core::{MessageId, Transcript};
use threadkeep_recall::{Builder, Found as FoundDoc, NewDoc, Query, snippet};
use threadkeep_store::{Store, StoreError};

use super::SNIPPET;
use super::remembered::{REMEMBERED, Remembered};
use super::state::State;
use crate::json::from_json;
use crate::protocol::{Found, Hit};
use crate::{Keep, KeepError, keys};

/// The index's number of a role for what nobody says.
const NOBODY: u8 = 5;
impl<S: Store> Keep<S> {
    /// Makes the segment of what is remembered anew, if that has changed.
    pub(super) async fn remember_all(&self, state: &mut State) -> Result<(), KeepError> {
        let marker = self.keys_of(&keys::memory_markers().limit(1)).await?.pop();
        if marker == state.remembered.marker {
            return Ok(());
        }
        let known = self.memories().await?;
        let mut builder = Builder::default();
        let (mut places, mut agents) = (Vec::new(), Vec::new());
        let mut add = |found: Found, key: String, transcript: Option<&MessageId>, time: i64, text: &str| {
            builder.add(&NewDoc {
                owner: transcript.map_or("", MessageId::as_str),
                seq: places.len() as u64,
                index: REMEMBERED,
                role: NOBODY,
                kind: found as u8,
                time,
                before: None,
                text,
                names: &[],
            });
            places.push(key);
        };
        for it in known.episodes.values() {
            let key = keys::EPISODES.of(it.transcript.as_ref(), &it.id);
            agents.push(it.agent.clone());
            add(Found::Episode, key, it.transcript.as_ref(), it.created_at, &with_tags(&it.summary, &it.tags));
        }
        for it in known.facts.iter().filter(|fact| fact.superseded_by.is_none()) {
            let key = keys::FACTS.of(it.transcript.as_ref(), &it.id);
            agents.push(it.agent.clone());
            add(Found::Fact, key, it.transcript.as_ref(), it.created_at, &with_tags(&it.fact, &it.tags));
        }
        let segment = (!builder.is_empty()).then(|| Rc::new(builder.finish()));
        state.remembered = Rc::new(Remembered { marker, keys: places, agents, segment });
        state.rebuild();
        Ok(())
    }

    /// The hit on an episode or a fact; `None` when it is not there any more.
    pub(super) async fn remembered_hit(
        &self,
        key: &str,
        found_doc: &FoundDoc<'_>,
        query: &Query,
    ) -> Result<Option<Hit>, KeepError> {
        let bytes = match self.inner.store.get(key).await {
            Err(StoreError::Corrupt { .. }) => None,
            read => read?,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let (found, id, transcript, time, text, sources) = if found_doc.doc.kind == Found::Episode as u8 {
            let Ok(it) = from_json::<Episode>(&bytes) else { return Ok(None) };
            (Found::Episode, it.id, it.transcript, it.created_at, with_tags(&it.summary, &it.tags), it.sources)
        } else {
            let Ok(it) = from_json::<Fact>(&bytes) else { return Ok(None) };
            (Found::Fact, it.id, it.transcript, it.created_at, with_tags(&it.fact, &it.tags), it.sources)
        };
        // Where the first of its messages that is still there stands.
        let mut place = None;
        if let Some(transcript) = &transcript {
            let mut look = |tree: &Transcript| {
                place = sources.iter().find_map(|source| {
                    let leaf = tree.newest_leaf(&source.node)?;
                    Some((source.node.clone(), source.index, leaf.node.id.clone()))
                });
            };
            self.read_with(transcript, &mut |log| look(&log.tree)).await?;
        }
        let (node, index, leaf) = match place {
            Some((node, index, leaf)) => (Some(node), index, Some(leaf)),
            None => (None, 0, None),
        };
        Ok(Some(Hit {
            found,
            id: Some(id),
            transcript,
            node,
            index,
            leaf,
            role: found.name().to_owned(),
            created_at: Some(time),
            score: found_doc.score,
            why: found_doc.why.clone(),
            snippet: snippet(&text, query, SNIPPET),
            message: None,
            sources,
        }))
    }
}

fn with_tags(text: &str, tags: &[String]) -> String {
    let mut all = text.to_owned();
    for tag in tags {
        all.push(if all.len() == text.len() { '\n' } else { ' ' });
        all.push_str(tag);
    }
    all
}

/// What of a checkpoint is searched: what it says.
pub(super) fn summary_text(checkpoint: &Checkpoint) -> String {
    let texts: Vec<&str> = checkpoint.statements.iter().map(|statement| statement.text.as_str()).collect();
    texts.join("\n")
}

/// A summary as a document.
pub(super) fn summary_doc<'a>(tree: &'a Transcript, seq: u64, checkpoint: &Checkpoint, text: &'a str) -> NewDoc<'a> {
    NewDoc {
        owner: tree.id().as_str(),
        seq,
        index: 0,
        role: NOBODY,
        kind: Found::Summary as u8,
        time: checkpoint.created_at,
        before: None,
        text,
        names: &[],
    }
}

/// The hit on a summary: it stands at its anchor, and its sources are those of the statements that have what was looked for.
pub(super) fn summary_hit(tree: &Transcript, found: &FoundDoc<'_>, query: &Query) -> Option<Hit> {
    let (_, checkpoint) = tree.checkpoints().find(|(seq, _)| *seq == found.doc.seq)?;
    let mut sources: Vec<Source> = Vec::new();
    for statement in &checkpoint.statements {
        if !snippet(&statement.text, query, SNIPPET).highlights.is_empty() {
            sources.extend(statement.sources.iter().cloned());
        }
    }
    sources.dedup();
    Some(Hit {
        found: Found::Summary,
        id: Some(checkpoint.id.clone()),
        transcript: Some(tree.id().clone()),
        node: Some(checkpoint.anchor.clone()),
        index: 0,
        leaf: Some(tree.newest_leaf(&checkpoint.anchor)?.node.id.clone()),
        role: Found::Summary.name().to_owned(),
        created_at: Some(checkpoint.created_at),
        score: found.score,
        why: found.why.clone(),
        snippet: snippet(&summary_text(checkpoint), query, SNIPPET),
        message: checkpoint.message(),
        sources,
    })
}
