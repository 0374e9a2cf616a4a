//! Reply chains: where an inbound message goes, how a node grows and ends, and by which other ids it is known.

use serde_json::Value;
use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::node::{Origin, turn_name};
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Entry, Message, MessageId, Node, Role, Transcript, TranscriptError, TranscriptId};
use threadkeep_store::{Commit, Store, StoreError};

use crate::draft::{drop_draft, settle_draft};
use crate::keep::{Write, taken};
use crate::log::Log;
use crate::name::check_name;
use crate::protocol::{Event, Inbound, NodeInfo};
use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// Routes an inbound message. A known `replyTo` (a node, or an outbound message that is an alias of one) makes it a
    /// child of that node; an unknown one or none begins a transcript, whose root holds the system prompt. A message that
    /// was received before gives the node that it made then. [`NodeInfo::unknown_reply`] says whether a `replyTo` was not known. The new node is unsealed: [`Keep::extend`] adds the answer.
    ///
    /// # Errors
    /// `bad-request` for content that is neither text nor a list of parts; `id-taken` where another message has the id (from
    /// an import, say): nothing is stored, so receive it under an id of its own; the store's.
    pub async fn receive(&self, inbound: Inbound) -> Result<NodeInfo, KeepError> {
        self.receive_as(inbound, Arrival::of(Role::User)).await
    }

    /// [`Keep::receive`] for a message that arrives as `arrival` says.
    ///
    /// # Errors
    /// `conflict` if the head that it continues is not where it was seen; else as [`Keep::receive`].
    pub(crate) async fn receive_as(&self, mut inbound: Inbound, arrival: Arrival) -> Result<NodeInfo, KeepError> {
        let Arrival { role, extra, head, above } = arrival;
        let empty = inbound.content.is_null();
        let content = std::mem::take(&mut inbound.content);
        let fields = [("role".to_owned(), role.as_str().into()), ("content".to_owned(), content)];
        let message = Message::from_json(Value::Object(fields.into_iter().collect()))?;
        if empty {
            return Err(KeepError::BadRequest("a message's \"content\" must be text or a list of parts".to_owned()));
        }
        let _writing = self.writing().await;
        if let Some(id) = &inbound.message_id
            && let Some(seen) = self.node(id).await?
        {
            return if self.is_delivery(&seen, id, &message, &inbound).await? {
                Ok(seen)
            } else {
                Err(TranscriptError::Taken(id.clone()).into())
            };
        }
        let parent = match &inbound.reply_to {
            Some(id) => self.find(id).await?.map(|transcript| (transcript, id.clone())),
            None => None,
        };
        let unknown_reply = inbound.reply_to.is_some() && parent.is_none();
        let (parent, mut head) = self.below_head(parent, head, above).await?;
        let node = Node {
            created_at: Some(self.now()),
            origin: Origin { from: inbound.from, number: inbound.number, unknown_reply, ..Origin::default() },
            sealed: false,
            ..Node::new(MessageId::mint_root([0; 24]), None, vec![message])
        };
        let transcript = match &parent {
            Some((transcript, _)) => transcript.clone(),
            None => self.mint_root(),
        };
        let id = inbound.message_id.unwrap_or_else(|| MessageId::mint(&transcript, self.random()));
        let stored = match parent {
            Some((_, parent)) => {
                if let Some(head) = &mut head {
                    (head.left, head.strategy) = self.left_behind(&head.name, &transcript).await?;
                }
                self.answer(&transcript, &id, &parent, &node, &extra, head.as_ref()).await
            }
            None => {
                let node = Node { id: id.clone(), ..node };
                self.begin(&transcript, inbound.system_prompt, node, extra, head.as_ref()).await
            }
        };
        match stored {
            // Another tab received the same message in this moment.
            Err(KeepError::Transcript(TranscriptError::Taken(_))) => {
                self.node(&id).await?.ok_or_else(|| KeepError::MissingNode(id.clone()))
            }
            stored => {
                stored?;
                self.changed(&transcript, vec![id.clone()]);
                if let Some(Moving { name, left, .. }) = head {
                    self.head_moved(&name, left, &transcript, &id).await?;
                }
                self.written(&transcript, &id).await
            }
        }
    }

    /// The place of a message that arrives at a head: where that points, unless it answers a known message. `above` is where the head was
    /// seen.
    async fn below_head(
        &self,
        parent: Option<(TranscriptId, MessageId)>,
        head: Option<String>,
        above: Option<MessageId>,
    ) -> Result<(Option<(TranscriptId, MessageId)>, Option<Moving>), KeepError> {
        let Some(name) = head else { return Ok((parent, None)) };
        check_name(&name)?;
        let mut moving = Moving { name, continues: false, left: None, strategy: None };
        if parent.is_some() {
            return Ok((parent, Some(moving)));
        }
        let at = self.head(&moving.name).await?;
        if at.as_ref().map(|at| &at.id) != above.as_ref() {
            return Err(KeepError::HeadMoved(moving.name));
        }
        moving.continues = true;
        Ok((at.map(|at| (at.transcript, at.id)), Some(moving)))
    }

    /// Whether `seen`, which is known by the id of an inbound message, is that message, delivered before. An id alone does not
    /// say so: an imported file can hold any.
    async fn is_delivery(
        &self,
        seen: &NodeInfo,
        id: &MessageId,
        message: &Message,
        inbound: &Inbound,
    ) -> Result<bool, KeepError> {
        if seen.id != *id {
            // An outbound message of this side that comes back, perhaps with its depth in front.
            let text = message.text();
            return Ok(seen.messages.iter().any(|said| !said.text().is_empty() && text.ends_with(&*said.text())));
        }
        let first = seen.messages.first();
        if first.is_none_or(|first| (&first.role, &first.content) != (&message.role, &message.content))
            || (&seen.origin.from, seen.origin.number) != (&inbound.from, inbound.number)
        {
            return Ok(false);
        }
        let Some(reply_to) = &inbound.reply_to else { return Ok(true) };
        let parent = self.node(reply_to).await?;
        Ok(parent.is_none_or(|parent| Some(parent.id) == seen.parent))
    }

    /// Begins a branch below `parent`: an unsealed node with these messages (none, where an answer is to come without
    /// another question), which [`Keep::extend`] lets grow.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn branch(
        &self,
        parent: &MessageId,
        messages: Vec<Message>,
        origin: Origin,
    ) -> Result<NodeInfo, KeepError> {
        self.branch_with(parent, messages, origin, None, &|_| Commit::default()).await
    }

    /// [`Keep::branch`], with the move of `head` to the new node, and what `extra` makes of its id, in the same commit.
    ///
    /// # Errors
    /// `bad-request` for a head's name that is none; else as [`Keep::branch`].
    pub(crate) async fn branch_with(
        &self,
        parent: &MessageId,
        messages: Vec<Message>,
        origin: Origin,
        head: Option<&str>,
        extra: &dyn Fn(&MessageId) -> Commit,
    ) -> Result<NodeInfo, KeepError> {
        head.map_or(Ok(()), check_name)?;
        let _writing = self.writing().await;
        let transcript = self.find_or_fail(parent).await?;
        let head = match head {
            Some(name) => {
                let (left, strategy) = self.left_behind(name, &transcript).await?;
                Some(Moving { name: name.to_owned(), continues: false, left, strategy })
            }
            None => None,
        };
        let id = MessageId::mint(&transcript, self.random());
        let node =
            Node { created_at: Some(self.now()), origin, sealed: false, ..Node::new(id.clone(), None, messages) };
        self.answer(&transcript, &id, parent, &node, &extra(&id), head.as_ref()).await?;
        self.changed(&transcript, vec![id.clone()]);
        if let Some(Moving { name, left, .. }) = head {
            self.head_moved(&name, left, &transcript, &id).await?;
        }
        self.written(&transcript, &id).await
    }

    async fn answer(
        &self,
        transcript: &TranscriptId,
        id: &MessageId,
        parent: &MessageId,
        node: &Node,
        extra: &Commit,
        head: Option<&Moving>,
    ) -> Result<(), KeepError> {
        let placed = self.write(transcript, |log| {
            let parent = log.tree.resolve(parent).ok_or_else(|| KeepError::MissingNode(parent.clone()))?;
            if let Some(head) = head.filter(|head| head.continues)
                && log.tree.heads().get(&head.name) != Some(parent)
            {
                return Err(KeepError::HeadMoved(head.name.clone()));
            }
            let turn = if node.opened_turns() > 0 { log.tree.next_turn() } else { 0 };
            let node = Node { id: id.clone(), parent: Some(parent.clone()), turn, ..node.clone() };
            let mut extra = extra.clone();
            let mut entries: Vec<Entry> = settle_draft(log, parent, &mut extra).into_iter().collect();
            entries.push(Entry::Node(Box::new(node)));
            if let Some(head) = head {
                head.to(id, transcript, &mut entries, &mut extra);
            }
            Ok(Write { extra, ..Write::new(entries, ()) }.indexed(id, transcript))
        });
        placed.await?.ok_or_else(|| KeepError::MissingTranscript(transcript.clone()))
    }

    async fn begin(
        &self,
        transcript: &TranscriptId,
        system: Option<String>,
        node: Node,
        mut extra: Commit,
        head: Option<&Moving>,
    ) -> Result<(), KeepError> {
        let system: Vec<_> = system.into_iter().map(Message::system).collect();
        let root = Node { created_at: Some(self.now()), ..Node::new(transcript.clone(), None, system) };
        let id = node.id.clone();
        let turn = node.opened_turns().min(1);
        let node = Node { parent: Some(transcript.clone()), turn, ..node };
        let mut entries = vec![Entry::Node(Box::new(root)), Entry::Node(Box::new(node))];
        if let Some(head) = head {
            head.to(&id, transcript, &mut entries, &mut extra);
            extra.absent.push(keys::head(&head.name));
        }
        let write = Write { extra, ..Write::new(entries, ()) }.indexed(&id, transcript);
        let begun = self.begin_log(transcript, write).await;
        let (log, ()) = begun.map_err(|error| match (error, head) {
            // Somebody else began this conversation in the same moment.
            (KeepError::Store(StoreError::Conflict { key }), Some(head)) if key == keys::head(&head.name) => {
                KeepError::HeadMoved(head.name.clone())
            }
            (error, _) => error,
        })?;
        self.put_back(transcript, log).await;
        Ok(())
    }

    /// Stores a transcript that is not there yet. Memory does not have it then: an import brings thousands.
    pub(crate) async fn begin_log<T>(&self, id: &TranscriptId, write: Write<T>) -> Result<(Log, T), KeepError> {
        let mut log = Log::new(id.clone(), self.generation());
        let named = write.named();
        log.digest = write.digest.unwrap_or_default();
        let log = log.append(&self.inner.store, write.entries, write.extra).await.map_err(taken)?;
        self.seen(named, id);
        Ok((log, write.answer))
    }

    /// Lets an unsealed node grow, durably, by whole messages. Gives the node as it is now, with the messages that were added: a
    /// turn of a thousand steps would else be answered with a thousand messages after each. [`Keep::node`] gives all.
    ///
    /// # Errors
    /// `missing-node`; `sealed` when the node is complete or something follows it; the store's.
    pub async fn extend(&self, node: &MessageId, messages: Vec<Message>) -> Result<NodeInfo, KeepError> {
        let _writing = self.writing().await;
        let opened = messages.iter().any(|message| message.role == Role::User);
        let entries = |tree: &Transcript, id: &MessageId| {
            if messages.is_empty() {
                return Vec::new();
            }
            let turn = if opened { tree.next_turn() } else { 0 };
            vec![Entry::Extend { node: id.clone(), messages: messages.clone(), turn }]
        };
        let (transcript, id) = self.change_node(node, entries).await?;
        self.written_with(&transcript, &id, |all| &all[all.len().saturating_sub(messages.len())..]).await
    }

    /// [`Keep::extend`] for a caller who does not want to see the node: reading it back takes longer with each message.
    /// `beside` is what else is written in the same commit.
    pub(crate) async fn grow(
        &self,
        node: &MessageId,
        message: Message,
        beside: Option<(String, Vec<u8>)>,
    ) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        let transcript = self.find_or_fail(node).await?;
        let write = self.write(&transcript, |log| {
            let id = log.tree.resolve(node).ok_or_else(|| KeepError::MissingNode(node.clone()))?;
            let entries = vec![Entry::Extend { node: id.clone(), messages: vec![message.clone()], turn: 0 }];
            log.tree.check(&entries)?;
            let mut write = Write::new(entries, ());
            drop_draft(log, id, &mut write.extra);
            write.extra.puts.extend(beside.clone());
            Ok(write)
        });
        write.await?.ok_or_else(|| KeepError::MissingNode(node.clone()))?;
        self.changed(&transcript, vec![node.clone()]);
        Ok(())
    }

    /// Completes a node: it grows no more. Sealing twice is no error.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn seal(&self, node: &MessageId) -> Result<NodeInfo, KeepError> {
        let _writing = self.writing().await;
        let entries = |tree: &Transcript, id: &MessageId| match tree.get(id) {
            Some(placed) if placed.node.sealed => Vec::new(),
            _ => vec![Entry::Seal { node: id.clone() }],
        };
        let (transcript, id) = self.change_node(node, entries).await?;
        self.written(&transcript, &id).await
    }

    async fn change_node(
        &self,
        node: &MessageId,
        entries: impl Fn(&Transcript, &MessageId) -> Vec<Entry>,
    ) -> Result<(TranscriptId, MessageId), KeepError> {
        let transcript = self.find_or_fail(node).await?;
        let write = self.write(&transcript, |log| {
            let id = log.tree.resolve(node).ok_or_else(|| KeepError::MissingNode(node.clone()))?;
            let entries = entries(&log.tree, id);
            log.tree.check(&entries)?;
            let changes = !entries.is_empty();
            let mut write = Write::new(entries, (id.clone(), changes));
            if changes {
                drop_draft(log, id, &mut write.extra);
            }
            Ok(write)
        });
        let (id, changes) = write.await?.ok_or_else(|| KeepError::MissingNode(node.clone()))?;
        if changes {
            self.changed(&transcript, vec![id.clone()]);
        }
        Ok((transcript, id))
    }

    /// Lets the outbound message `id` stand for `node`: a reply to it continues that node's chain. A pointer, never a copy.
    /// Setting the same alias again is no error.
    ///
    /// # Errors
    /// `missing-node`; `id-taken` when `id` is a node or stands for another one; the store's.
    pub async fn alias(&self, id: &MessageId, node: &MessageId) -> Result<NodeInfo, KeepError> {
        let _writing = self.writing().await;
        let transcript = self.find_or_fail(node).await?;
        if let Some(other) = self.find(id).await?
            && other != transcript
        {
            return Err(TranscriptError::Taken(id.clone()).into());
        }
        let write = self.write(&transcript, |log| {
            let target = log.tree.resolve(node).ok_or_else(|| KeepError::MissingNode(node.clone()))?;
            if log.tree.alias(id) == Some(target) {
                return Ok(Write::new(Vec::new(), target.clone()));
            }
            let entries = vec![Entry::Alias { id: id.clone(), node: target.clone() }];
            log.tree.check(&entries)?;
            Ok(Write::new(entries, target.clone()).indexed(id, &transcript))
        });
        let target = write.await?.ok_or_else(|| KeepError::MissingNode(node.clone()))?;
        self.changed(&transcript, vec![target.clone()]);
        self.written(&transcript, &target).await
    }

    /// The node `id`, or the one that the alias `id` stands for; `None` where neither is known.
    ///
    /// # Errors
    /// The store's.
    pub async fn node(&self, id: &MessageId) -> Result<Option<NodeInfo>, KeepError> {
        let found = self.locate(id, |log, id| Ok(log.tree.get(id).map(|placed| info(&log.tree, placed)))).await?;
        Ok(found.and_then(|(_, node)| node))
    }

    /// A node as it is after a write to it.
    pub(crate) async fn written(&self, transcript: &TranscriptId, id: &MessageId) -> Result<NodeInfo, KeepError> {
        self.written_with(transcript, id, |all| all).await
    }

    /// The same with those of its messages that `some` chooses.
    async fn written_with(
        &self,
        transcript: &TranscriptId,
        id: &MessageId,
        some: impl Fn(&[Message]) -> &[Message],
    ) -> Result<NodeInfo, KeepError> {
        let mut node = None;
        let mut look = |log: &Log| {
            let placed = log.tree.get(id);
            node = placed.map(|placed| info_with(&log.tree, placed, some(&placed.node.messages).to_vec()));
        };
        self.peek(transcript, &mut look).await?;
        node.ok_or_else(|| KeepError::MissingNode(id.clone()))
    }

    /// A node's children, oldest first.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn children(&self, id: &MessageId) -> Result<Vec<NodeInfo>, KeepError> {
        self.look(id, |tree| Ok(tree.children(id)?.into_iter().map(|placed| info(tree, placed)).collect())).await
    }

    /// The nodes from the root to `leaf`, both in.
    ///
    /// # Errors
    /// `missing-node`; `missing-parent` with the place where the chain breaks; the store's.
    pub async fn chain(&self, leaf: &MessageId) -> Result<Vec<NodeInfo>, KeepError> {
        self.look(leaf, |tree| Ok(tree.chain(leaf)?.into_iter().map(|placed| info(tree, placed)).collect())).await
    }

    /// User and assistant messages from the root to the end of this node.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn depth(&self, id: &MessageId) -> Result<u32, KeepError> {
        let depth = |tree: &Transcript| tree.get(id).map(|placed| placed.depth);
        self.look(id, |tree| depth(tree).ok_or_else(|| KeepError::MissingNode(id.clone()))).await
    }

    /// Reads the tree that holds `id`, which must be known.
    pub(crate) async fn look<T>(
        &self,
        id: &MessageId,
        look: impl Fn(&Transcript) -> Result<T, KeepError>,
    ) -> Result<T, KeepError> {
        let found = self.locate(id, |log, _| look(&log.tree)).await?;
        found.map(|(_, answer)| answer).ok_or_else(|| KeepError::MissingNode(id.clone()))
    }

    pub(crate) fn changed(&self, transcript: &TranscriptId, nodes: Vec<MessageId>) {
        self.emit(&Event::Changed { transcript: transcript.clone(), nodes });
    }
}

/// How a message arrives, beside what it says.
pub(crate) struct Arrival {
    /// Who says it.
    pub role: Role,
    /// What else is in the commit of a new node.
    pub extra: Commit,
    /// The head that moves to the node, and that the message continues where it answers nothing that is known.
    pub head: Option<String>,
    /// Where that head was seen.
    pub above: Option<MessageId>,
}

impl Arrival {
    /// A message that arrives at no head.
    pub(crate) fn of(role: Role) -> Self {
        Self { role, extra: Commit::default(), head: None, above: None }
    }
}

/// A head that moves to a new node in the node's commit.
struct Moving {
    name: String,
    /// Whether the node comes where the head points.
    continues: bool,
    /// The transcript that it leaves, and how it is compacted.
    left: Option<TranscriptId>,
    strategy: Option<Strategy>,
}

impl Moving {
    fn to(&self, node: &MessageId, transcript: &TranscriptId, entries: &mut Vec<Entry>, extra: &mut Commit) {
        entries.push(Entry::Head { name: self.name.clone(), node: Some(node.clone()) });
        if self.strategy.is_some() {
            entries.push(Entry::Strategy { name: self.name.clone(), strategy: self.strategy });
        }
        extra.puts.push((keys::head(&self.name), transcript.as_str().as_bytes().to_vec()));
    }
}

/// A node as the outside sees it.
pub(crate) fn info(tree: &Transcript, placed: &Placed) -> NodeInfo {
    let node = &placed.node;
    info_with(tree, placed, node.messages.iter().chain(tree.draft(&node.id)).cloned().collect())
}

fn info_with(tree: &Transcript, placed: &Placed, messages: Vec<Message>) -> NodeInfo {
    let node = &placed.node;
    NodeInfo {
        id: node.id.clone(),
        transcript: tree.id().clone(),
        parent: node.parent.clone(),
        seq: placed.seq,
        created_at: node.created_at,
        depth: placed.depth,
        turn: (placed.turn > 0).then(|| turn_name(placed.turn)),
        sealed: node.sealed,
        origin: node.origin.clone(),
        unknown_reply: node.origin.unknown_reply,
        labels: node.labels.clone(),
        messages,
    }
}
