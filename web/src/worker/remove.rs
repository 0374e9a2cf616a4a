//! Deletions, and the bin.

use threadkeep::KeepError;

use super::Engine;
use crate::wire::{Remove, Removed, Reply};

/// Answers a question about the bin, or deletes.
pub async fn answer(engine: &Engine, asked: Remove) -> Result<Reply, KeepError> {
    Ok(match asked {
        Remove::Bin(Removed { transcript, node }) => {
            Reply::Binned(engine.bin(&transcript, node.as_ref()).await?.into_iter().collect())
        }
        Remove::Delete(Removed { node: Some(node), .. }) => Reply::Number(engine.delete_branch(&node).await?),
        Remove::Delete(Removed { transcript, node: None }) => {
            Reply::Number(engine.delete_transcript(&transcript).await?)
        }
        Remove::All => engine.delete_all().await.map(|()| Reply::Done)?,
        Remove::List => Reply::Binned(engine.binned().await?),
        Remove::Drop(id) => engine.drop_binned(&id).await.map(|()| Reply::Done)?,
        Remove::Empty => engine.empty_bin(i64::MAX).await.map(|()| Reply::Done)?,
    })
}
