//! A chain mended in a branch of its own.

use threadkeep_core::transcript::Placed;
use threadkeep_core::{Entry, Message, MessageId, Node, Transcript, mend};
use threadkeep_store::Store;

use crate::keep::Write;
use crate::protocol::NodeInfo;
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// Mends the chain to `leaf` in a branch of its own ([`mend::mend`] says how), and gives its end: `None` where nothing is to be mended. The
    /// originals stay. The heads at `leaf` move to the new end. The root, which is empty in all conversations that begin here, stays as it is.
    ///
    /// # Errors
    /// `missing-node`; `bad-request` when the turn at the end is not complete; the store's.
    pub async fn mend(&self, leaf: &MessageId) -> Result<Option<NodeInfo>, KeepError> {
        let _writing = self.writing().await;
        let transcript = self.find_or_fail(leaf).await?;
        let now = self.now();
        let write = self.write(&transcript, |log| {
            let leaf = log.tree.resolve(leaf).ok_or_else(|| KeepError::MissingNode(leaf.clone()))?;
            let nodes = self.mended(&log.tree, leaf, now)?;
            let end = nodes.last().map(|node| node.id.clone());
            let mut heads = Vec::new();
            let mut entries: Vec<Entry> = nodes.into_iter().map(|node| Entry::Node(Box::new(node))).collect();
            if end.is_some() {
                let here = log.tree.heads().iter().filter(|(_, node)| *node == leaf);
                heads.extend(here.map(|(name, _)| name.clone()));
                threadkeep_core::sort::sort(&mut heads);
                entries.extend(heads.iter().map(|name| Entry::Head { name: name.clone(), node: end.clone() }));
            }
            Ok(Write::new(entries, (end, heads)))
        });
        let (end, heads) = write.await?.ok_or_else(|| KeepError::MissingNode(leaf.clone()))?;
        let Some(end) = end else { return Ok(None) };
        for name in heads {
            self.head_moved(&name, None, &transcript, &end).await?;
        }
        self.changed(&transcript, vec![end.clone()]);
        self.written(&transcript, &end).await.map(Some)
    }

    /// The nodes of the new branch; none where nothing is to be mended.
    fn mended(&self, tree: &Transcript, leaf: &MessageId, now: i64) -> Result<Vec<Node>, KeepError> {
        let chain = tree.chain(leaf)?;
        let Some(mended) = mend::mend(&chain) else { return Ok(Vec::new()) };
        if chain.last().is_some_and(|placed| !placed.node.sealed) {
            let why = "the last turn is not complete: wait for its end, or seal it";
            return Err(KeepError::BadRequest(why.to_owned()));
        }
        let sound = mended.sound.max(1);
        let mut parent = chain[sound - 1].node.id.clone();
        let mut next_turn = tree.next_turn();
        let names = self.randoms(chain.len() - sound);
        let rest = mended.nodes.into_iter().skip(sound - mended.sound).zip(&chain[sound..]).zip(names);
        let node = |((messages, placed), name): ((Vec<Message>, &&Placed), u64)| {
            let id = MessageId::mint(tree.id(), name);
            let mut node = Node::new(id.clone(), Some(std::mem::replace(&mut parent, id)), messages);
            (node.created_at, node.labels) = (Some(now), placed.node.labels.clone());
            let opened = node.opened_turns();
            if opened > 0 {
                node.turn = next_turn;
                next_turn = next_turn.saturating_add(opened);
            }
            node
        };
        Ok(rest.map(node).collect())
    }
}
