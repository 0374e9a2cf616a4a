//! The prompt that a message would bring about, before anybody sends it. The message is added to a copy of the tree, from which the
//! prompt is made as ever. Nothing is stored.

use threadkeep_core::{Entry, Message, MessageId, Node};
use threadkeep_store::{Commit, Store};

use crate::context::{Found, newest_said, prompt_in};
use crate::draft::settle_draft;
use crate::log::Log;
use crate::passages::Passages;
use crate::protocol::{ContextOptions, ContextReply};
use crate::{Keep, KeepError};

/// A message that may come next.
#[derive(Debug, Clone, PartialEq)]
pub struct Coming {
    /// The node that it would follow; `None` where it would begin a transcript.
    pub above: Option<MessageId>,
    /// The system prompt of the transcript that it would begin.
    pub system: Option<String>,
    /// The message.
    pub message: Message,
}

impl<S: Store> Keep<S> {
    /// The prompt of the chain that would end with a message, if that came now. Nothing is stored.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn context_after(&self, coming: &Coming, options: &ContextOptions) -> Result<ContextReply, KeepError> {
        let counter = self.counter(options.encoding)?;
        // Whether the tree is as it is stored, but for what comes.
        let mut stored = false;
        let (log, leaf) = match &coming.above {
            Some(above) => {
                let (transcript, above) = self.place(above.as_str()).await?;
                let id = MessageId::mint(&transcript, self.random());
                let log = self.glance(&transcript, |log| {
                    let settled = settle_draft(log, &above, &mut Commit::default());
                    stored = settled.is_none();
                    let node = coming.node(id.clone(), Some(above.clone()), log.tree.next_turn());
                    log.imagine(settled.into_iter().chain([node]).collect())
                });
                (log.await?, id)
            }
            None => {
                let root = self.mint_root();
                let id = MessageId::mint(&root, self.random());
                let system: Vec<_> = coming.system.iter().map(|text| Message::system(text.as_str())).collect();
                let first = Entry::Node(Box::new(Node::new(root.clone(), None, system)));
                let node = coming.node(id.clone(), Some(root.clone()), 1);
                (Log::new(root, String::new()).imagine(vec![first, node])?, id)
            }
        };
        let (mut memory, mut query, mut ranking) = (Found::default(), None, None);
        if let Some(wanted) = &options.memory {
            query = wanted.query.clone().or_else(|| newest_said(&log.tree, &leaf));
            memory = self.remembered_about(query.as_deref(), wanted).await?;
            ranking = self.ranking_for(wanted).await?;
        }
        // The cache would have chains of nodes that never come.
        let mut cache = self.inner.prompts.borrow().clone();
        if let Some(wanted) = &options.memory {
            let (path, asked) = (cache.path(&log, &leaf)?, (query.as_deref(), self.now()));
            memory.passages = Passages::ranked((&path, &mut cache.indexed), &log, asked, wanted, ranking);
            if stored {
                // What comes is not among what was indexed.
                self.inner.prompts.borrow_mut().indexed.clone_from(&cache.indexed);
            }
        }
        prompt_in(&mut cache, &log, &leaf, options, memory, None, &*counter)
    }
}

impl Coming {
    fn node(&self, id: MessageId, parent: Option<MessageId>, turn: u32) -> Entry {
        let node = Node::new(id, parent, vec![self.message.clone()]);
        Entry::Node(Box::new(Node { turn, sealed: false, ..node }))
    }
}
