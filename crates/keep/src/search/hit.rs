//! What was found, read from the store: a hit is never made of what the index says alone.

use threadkeep_core::{Entry, MessageId, Node, Transcript, TranscriptId};
use threadkeep_recall::{Found as FoundDoc, Query, snippet};
use threadkeep_store::{Scan, Store, around};

use super::SNIPPET;
use super::batch::searchable;
use super::beside::summary_hit;
use super::remembered::{REMEMBERED, Remembered};
use crate::log::{Log, lines_of, numbered, record};
use crate::protocol::{Found, Hit};
use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// The hit on a document that was found; `None` when it is not there any more.
    pub(super) async fn hit(
        &self,
        found: &FoundDoc<'_>,
        remembered: &Remembered,
        query: &Query,
    ) -> Result<Option<Hit>, KeepError> {
        if found.doc.index == REMEMBERED {
            return match remembered.key(&found.doc) {
                Some(key) => self.remembered_hit(key, found, query).await,
                None => Ok(None),
            };
        }
        let Ok(transcript) = MessageId::new(found.owner) else { return Ok(None) };
        if found.doc.kind == Found::Message as u8
            && !self.holds(&transcript)
            && let Some(hit) = self.page_hit(&transcript, found, query).await?
        {
            return Ok(Some(hit));
        }
        let mut hit = None;
        let mut look = |log: &Log| {
            hit = match found.doc.kind == Found::Summary as u8 {
                true => summary_hit(&log.tree, found, query),
                false => tree_hit(&log.tree, found, query),
            };
        };
        self.read_with(&transcript, &mut look).await?;
        Ok(hit)
    }

    /// The hit on a message of a transcript of one branch, of two pages of its log: the one that has the message, and the last,
    /// which has the leaf. `None` where these do not tell; then the whole transcript has to be read.
    async fn page_hit(
        &self,
        transcript: &TranscriptId,
        found: &FoundDoc<'_>,
        query: &Query,
    ) -> Result<Option<Hit>, KeepError> {
        let store = &self.inner.store;
        // Whatever cannot be read here, the log as a whole tells around it.
        let Ok(Some(record)) = record(store, transcript).await else { return Ok(None) };
        if record.info.branches != 1 {
            return Ok(None);
        }
        let pages = keys::pages(transcript, &record.generation, 0);
        let last = Scan { limit: Some(1), reverse: true, ..pages };
        let Some((mut key, Ok(last))) = around::scan(store, &last).await?.pop() else { return Ok(None) };
        // Most transcripts have one page.
        let mut other = None;
        if keys::page_seq(&key).is_none_or(|first| first > found.doc.seq) {
            let end = keys::page(transcript, &record.generation, found.doc.seq + 1);
            let holding = Scan { end, limit: Some(1), reverse: true, ..keys::pages(transcript, &record.generation, 0) };
            let Some((own, Ok(page))) = around::scan(store, &holding).await?.pop() else { return Ok(None) };
            (key, other) = (own, Some(page));
        }
        let holding = other.as_ref().unwrap_or(&last);
        let node = |line: &[u8]| match Entry::parse(line) {
            Ok(Entry::Node(node)) => Some(*node),
            _ => None,
        };
        let first = keys::page_seq(&key).unwrap_or(u64::MAX);
        let line = numbered(holding, first).find(|(seq, _)| *seq == found.doc.seq).map(|(_, line)| line);
        let newest = lines_of(&last).collect::<Vec<_>>().into_iter().rev().find_map(node);
        let (Some(own), Some(leaf)) = (line.and_then(node), newest) else {
            return Ok(None);
        };
        Ok(message_hit(transcript, &own, &leaf.id, found, query))
    }
}

fn tree_hit(tree: &Transcript, found: &FoundDoc<'_>, query: &Query) -> Option<Hit> {
    let node = &tree.at_seq(found.doc.seq)?.node;
    message_hit(tree.id(), node, &tree.newest_leaf(&node.id)?.node.id, found, query)
}

fn message_hit(
    transcript: &TranscriptId,
    node: &Node,
    leaf: &MessageId,
    found: &FoundDoc<'_>,
    query: &Query,
) -> Option<Hit> {
    let message = node.messages.get(found.doc.index as usize)?;
    Some(Hit {
        found: Found::Message,
        id: None,
        transcript: Some(transcript.clone()),
        node: Some(node.id.clone()),
        index: found.doc.index,
        leaf: Some(leaf.clone()),
        role: message.role.as_str().to_owned(),
        created_at: node.created_at,
        score: found.score,
        why: found.why.clone(),
        snippet: snippet(&searchable(message), query, SNIPPET),
        message: Some(message.clone()),
        sources: Vec::new(),
    })
}
