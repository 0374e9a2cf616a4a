//! Messages as they are stored at a head, each with its place, its time, about what it costs, and whether a checkpoint stands in
//! for it. Nothing of that is stored with the message: a checkpoint of tomorrow covers what was written today.

use std::ops::Range;

use threadkeep_context::tokens::estimate_message;
use threadkeep_core::{Message, MessageId};
use threadkeep_store::Store;

use crate::context::Chain;
use crate::{Keep, KeepError};

/// A message with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The node that holds it. What was appended at a head has a node of its own.
    pub node: MessageId,
    /// Its place in the node, from 0.
    pub part: u32,
    /// Its place in the chain, from 0.
    pub index: usize,
    /// When its node was made, in milliseconds since 1970 (UTC), where that is known.
    pub created_at: Option<i64>,
    /// About how many tokens it takes: four characters each, and four more.
    pub tokens: u32,
    /// What stands in for it in prompts, if anything does.
    pub covered: Option<Covered>,
    /// The message.
    pub message: Message,
}

/// What stands in for a message: the checkpoint that the chain uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    /// Its id.
    pub checkpoint: String,
    /// The places of the messages that it covers; `end` is out.
    pub range: Range<usize>,
}

impl<S: Store> Keep<S> {
    /// The messages `start..end` at a head with what is known of each; `end` is out. Instructions, pinned messages and calls that
    /// are answered later stay in prompts though a checkpoint covers their place: nothing stands in for them.
    ///
    /// # Errors
    /// `damaged`; those of a chain; the store's. A head that does not exist has no messages.
    pub async fn stored(&self, name: &str, start: u32, end: u32) -> Result<Vec<Stored>, KeepError> {
        let found = self.at_head(name, |tree, leaf| {
            let mut chain = Chain::new(tree, leaf)?;
            let (pins, _) = chain.pins(tree, &[]);
            chain.lay(tree, None, &pins)?;
            let laid = &chain.laid;
            let mut all = Vec::new();
            let mut index = 0;
            for placed in &chain.placed {
                for (part, message) in (0..).zip(&placed.node.messages) {
                    let stands_in =
                        index < laid.end && message.include_in_context && laid.stays.get(index) == Some(&false);
                    let covered = || Covered { checkpoint: laid.checkpoint.clone(), range: 0..laid.end };
                    if (start as usize..end as usize).contains(&index) {
                        all.push(Stored {
                            node: placed.node.id.clone(),
                            part,
                            index,
                            created_at: placed.node.created_at,
                            tokens: estimate_message(message),
                            covered: stands_in.then(covered),
                            message: message.clone(),
                        });
                    }
                    index += 1;
                }
            }
            Ok(all)
        });
        Ok(found.await?.unwrap_or_default())
    }
}
