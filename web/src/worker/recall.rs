//! The worker's part of compaction and memory: the page's questions as the engine's, and of its answers what the page shows.

use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{Counting, ErrorReply};
use threadkeep::{KeepError, MemoryFilter, NewFact};
use threadkeep_core::MessageId;
use threadkeep_core::memory::{Episode, EpisodeEdit, Fact, FactEdit};
use threadkeep_core::tokens::Encoding;

use super::{Engine, inspect};
use crate::wire::{Card, Compacted, Memory, Recall, Reply, nodes};

/// Answers a question about what is remembered.
pub async fn answer(engine: &Engine, asked: Recall) -> Result<Reply, ErrorReply> {
    if let Recall::Compact { leaf, preview } = asked {
        // Tokens are counted as the inspector counts them at first.
        inspect::fetch(engine, 0).await?;
        return compact(engine, &leaf, preview).await.map_err(|error| error.reply());
    }
    remembered(engine, asked).await.map_err(|error| error.reply())
}

async fn compact(engine: &Engine, leaf: &MessageId, preview: bool) -> Result<Reply, KeepError> {
    let options = CompactOptions { encoding: Counting::Exact(Encoding::O200k), preview, ..CompactOptions::default() };
    let done = engine.compact(leaf.as_str(), &options, &Extractive).await?;
    Ok(Reply::Compacted(Box::new(Compacted {
        card: done.checkpoint.map(Card::from),
        before: done.tokens_before,
        after: done.tokens_after,
        memories: (done.episodes.len() + done.facts.len()) as u32,
        warnings: done.warnings,
    })))
}

async fn remembered(engine: &Engine, asked: Recall) -> Result<Reply, KeepError> {
    match asked {
        Recall::List => {
            let filter = MemoryFilter { superseded: true, ..MemoryFilter::default() };
            let facts = engine.facts(&filter).await?.into_iter().map(fact);
            let episodes = engine.episodes(&filter).await?.into_iter().map(episode);
            // The newest come first.
            let mut all: Vec<Memory> = episodes.chain(facts).collect();
            all.sort_by_key(|memory| (!memory.pinned, std::cmp::Reverse(memory.created_at)));
            return Ok(Reply::Memories(all));
        }
        Recall::Edit { id, episode: true, text, tags } => {
            let edit = EpisodeEdit { summary: Some(text), tags: Some(tags), ..EpisodeEdit::default() };
            engine.edit_episode(&id, edit).await.map(drop)?;
        }
        Recall::Edit { id, text, tags, .. } => {
            let edit = FactEdit { fact: Some(text), tags: Some(tags), ..FactEdit::default() };
            engine.edit_fact(&id, edit).await.map(drop)?;
        }
        Recall::Pin { id, pinned } => engine.pin(&id, pinned).await?,
        Recall::Forget(id) => engine.forget_memory(&id).await.map(drop)?,
        Recall::Remember(text) => engine.remember(NewFact::new(text)).await.map(drop)?,
        Recall::Compact { .. } => {}
    }
    Ok(Reply::Done)
}

fn episode(one: Episode) -> Memory {
    Memory {
        id: one.id,
        episode: true,
        kind: String::new(),
        text: one.summary,
        tags: one.tags,
        transcript: one.transcript,
        sources: nodes(one.sources),
        pinned: one.pinned,
        superseded: false,
        created_at: one.created_at,
    }
}

fn fact(one: Fact) -> Memory {
    Memory {
        id: one.id,
        episode: false,
        kind: one.kind.name().to_owned(),
        text: one.fact,
        tags: one.tags,
        transcript: one.transcript,
        sources: nodes(one.sources),
        pinned: one.pinned,
        superseded: one.superseded_by.is_some(),
        created_at: one.created_at,
    }
}
