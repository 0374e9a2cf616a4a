//! Heads, and the message store on them: append, read the newest, a range, all, count. A head is a name for a node, as a
//! branch is in git; appending moves it on. Each appended message is a sealed node of its own, so that a fork can begin at
//! any message.

use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::transcript::Part;
use threadkeep_core::{Entry, Message, MessageId, Messages, Node, Transcript, TranscriptId};
use threadkeep_store::{Store, StoreError};

use crate::draft::settle_draft;
use crate::keep::Write;
use crate::log::Log;
use crate::name::check_name;
use crate::protocol::{Appended, Event, HeadInfo, NodeInfo, Start};
use crate::route::info;
use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// The node at which a head points; `None` where there is no such head.
    ///
    /// # Errors
    /// The store's.
    pub async fn head(&self, name: &str) -> Result<Option<NodeInfo>, KeepError> {
        self.at_head(name, |tree, node| Ok(tree.get(node).map(|placed| info(tree, placed)))).await.map(Option::flatten)
    }

    /// Points a head at a node (or at what an alias stands for), making the head if it is new.
    ///
    /// # Errors
    /// `missing-node`; `bad-request` for an empty name; the store's.
    pub async fn set_head(&self, name: &str, node: &MessageId) -> Result<NodeInfo, KeepError> {
        check_name(name)?;
        let _writing = self.writing().await;
        self.move_head(name, node).await
    }

    /// [`Keep::set_head`] for a caller who holds [`Keep::writing`].
    async fn move_head(&self, name: &str, node: &MessageId) -> Result<NodeInfo, KeepError> {
        let target = self.find_or_fail(node).await?;
        let (left, strategy) = self.left_behind(name, &target).await?;
        let write = self.write(&target, |log| {
            let id = log.tree.resolve(node).ok_or_else(|| KeepError::MissingNode(node.clone()))?;
            if log.tree.heads().get(name) == Some(id) {
                return Ok(Write::new(Vec::new(), id.clone()));
            }
            let moved = Entry::Head { name: name.to_owned(), node: Some(id.clone()) };
            let mut write = Write::new(vec![moved], id.clone());
            if strategy.is_some() {
                write.entries.push(Entry::Strategy { name: name.to_owned(), strategy });
            }
            write.extra.puts.push((keys::head(name), target.as_str().as_bytes().to_vec()));
            Ok(write)
        });
        let id = write.await?.ok_or_else(|| KeepError::MissingNode(node.clone()))?;
        self.head_moved(name, left, &target, &id).await?;
        self.written(&target, &id).await
    }

    /// The transcript that a head leaves when it moves to `target`, and how it is compacted there.
    pub(crate) async fn left_behind(
        &self,
        name: &str,
        target: &TranscriptId,
    ) -> Result<(Option<TranscriptId>, Option<Strategy>), KeepError> {
        let left = self.stored_head(name).await?.filter(|before| before != target);
        let mut strategy = None;
        if let Some(before) = &left {
            self.read_with(before, &mut |log| strategy = log.tree.strategy(name)).await?;
        }
        Ok((left, strategy))
    }

    /// What comes after a head has moved to `node`: what it left forgets it, and it is told.
    pub(crate) async fn head_moved(
        &self,
        name: &str,
        left: Option<TranscriptId>,
        target: &TranscriptId,
        node: &MessageId,
    ) -> Result<(), KeepError> {
        if let Some(before) = left {
            self.leave(name, &before).await?;
        }
        self.inner.heads.borrow_mut().insert(name.to_owned(), target.clone());
        self.emit(&Event::Head { name: name.to_owned(), node: Some(node.clone()) });
        Ok(())
    }

    /// Notes in a transcript's log that a head points elsewhere now.
    async fn leave(&self, name: &str, transcript: &TranscriptId) -> Result<(), KeepError> {
        let left = self.write(transcript, |log| {
            let gone = Entry::Head { name: name.to_owned(), node: None };
            Ok(Write::new(log.tree.heads().get(name).map(|_| gone).into_iter().collect(), ()))
        });
        left.await.map(|_| ())
    }

    /// All heads, by name. Those of damaged transcripts are left out, and [`Stats::damaged`](crate::protocol::Stats::damaged) tells.
    ///
    /// # Errors
    /// The store's.
    pub async fn heads(&self) -> Result<Vec<HeadInfo>, KeepError> {
        let mut heads = Vec::new();
        for key in self.keys_of(&keys::heads()).await? {
            let Some(name) = keys::head_name(&key) else { continue };
            let found = match self.at_head(&name, |tree, node| Ok((tree.id().clone(), node.clone()))).await {
                Err(KeepError::Damaged { transcript, what }) => {
                    self.damaged(Some(transcript.clone()), format!("transcript {transcript:?}: {what}"));
                    None
                }
                Err(KeepError::Store(StoreError::Corrupt { key, why })) => self.sound(&key, Err(why)),
                found => found?,
            };
            heads.extend(found.map(|(transcript, node)| HeadInfo { name, transcript, node }));
        }
        Ok(heads)
    }

    /// Makes a second head where `name` points, or further up: `at_index` messages of the chain stay before it. Nothing
    /// is copied; the two share what lies above.
    ///
    /// # Errors
    /// `missing-thread`; `thread-taken`; `bad-request` when `at_index` is beyond the last message or inside a node that holds
    /// several; the store's.
    pub async fn fork(&self, name: &str, new: &str, at_index: Option<u32>) -> Result<NodeInfo, KeepError> {
        check_name(new)?;
        let _writing = self.writing().await;
        if self.at_head(new, |_, _| Ok(())).await?.is_some() {
            return Err(KeepError::HeadTaken(new.to_owned()));
        }
        let from = self.at_head(name, |tree, node| match at_index {
            None => Ok(node.clone()),
            Some(index) => node_before(tree, node, index as usize),
        });
        let node = from.await?.ok_or_else(|| KeepError::MissingHead(name.to_owned()))?;
        self.move_head(new, &node).await
    }

    /// Appends messages at a head, one sealed node each, in one commit. An unknown head begins a transcript of its own.
    ///
    /// # Errors
    /// `bad-request` for an empty name; `damaged`; the store's.
    pub async fn append(&self, name: &str, messages: Vec<Message>) -> Result<Vec<NodeInfo>, KeepError> {
        self.append_from(name, messages, &Start::default()).await
    }

    /// Appends messages as [`Keep::append`] does, where `start` says: the head moves to their end in the same commit, so that a branch
    /// begins whole or not at all.
    ///
    /// # Errors
    /// `missing-thread` and `missing-node` where a start is named that is not there, or in another transcript; `conflict` when the
    /// head is not where it is expected; else as [`Keep::append`].
    pub async fn append_from(
        &self,
        name: &str,
        messages: Vec<Message>,
        start: &Start,
    ) -> Result<Vec<NodeInfo>, KeepError> {
        let appended = self.append_brief(name, Messages::each(messages.clone()), start).await?;
        Ok(appended.nodes(messages))
    }

    /// Appends messages as [`Keep::append_from`] does, each of `messages` as a node, and answers without repeating them.
    ///
    /// # Errors
    /// As [`Keep::append_from`].
    pub async fn append_brief(
        &self,
        name: &str,
        messages: Vec<Messages>,
        start: &Start,
    ) -> Result<Appended, KeepError> {
        check_name(name)?;
        let _writing = self.appending(name).await;
        if messages.is_empty() {
            return Ok(Appended::default());
        }
        let (now, names) = (self.now(), self.randoms(messages.len()));
        let (transcript, appended) = self.append_at(name, start, &messages, &names, now).await?;
        self.changed(&transcript, appended.ids.clone());
        self.emit(&Event::Head { name: name.to_owned(), node: appended.ids.last().cloned() });
        Ok(appended)
    }

    /// Appends at the head and gives its transcript and the nodes. What memory knows of the head may be old: the second time
    /// the store is asked.
    async fn append_at(
        &self,
        name: &str,
        start: &Start,
        messages: &[Messages],
        names: &[u64],
        now: i64,
    ) -> Result<(TranscriptId, Appended), KeepError> {
        let missing = || KeepError::MissingHead(name.to_owned());
        for _ in 0..3 {
            let transcript = match self.head_transcript(name).await? {
                Some(transcript) => transcript,
                None if *start != Start::default() => return Err(missing()),
                None => match self.begin_head(name, messages, names, now).await? {
                    Some(begun) => return Ok(begun),
                    None => continue,
                },
            };
            let write = self.write(&transcript, |log| {
                let head = log.tree.heads().get(name).ok_or_else(missing)?;
                let after = after(start, &log.tree, name, head)?;
                let mut write = Write::new(Vec::new(), Appended::default());
                let settled = settle_draft(log, &after, &mut write.extra);
                (write.entries, write.answer) = append_entries(&log.tree, name, &after, settled, messages, names, now);
                Ok(write)
            });
            match write.await {
                Ok(Some(appended)) => return Ok((transcript, appended)),
                Ok(None) | Err(KeepError::MissingHead(_)) => drop(self.inner.heads.borrow_mut().remove(name)),
                Err(error) => return Err(error),
            }
        }
        Err(missing())
    }

    /// Begins a transcript with `messages` at a new head, in one commit. `None` where another tab began this head in the same moment: there
    /// is one to append at then.
    async fn begin_head(
        &self,
        name: &str,
        messages: &[Messages],
        names: &[u64],
        now: i64,
    ) -> Result<Option<(TranscriptId, Appended)>, KeepError> {
        let id = self.mint_root();
        let root = Node { created_at: Some(now), ..Node::new(id.clone(), None, Vec::new()) };
        let mut entries = vec![Entry::Node(Box::new(root))];
        let mut tree = Transcript::new(id.clone());
        tree.apply_all(entries.clone())?;
        let (more, appended) = append_entries(&tree, name, &id, None, messages, names, now);
        entries.extend(more);
        let mut write = Write::new(entries, appended);
        write.extra.absent.push(keys::head(name));
        write.extra.puts.push((keys::head(name), id.as_str().as_bytes().to_vec()));
        match self.begin_log(&id, write).await {
            Ok((log, appended)) => {
                self.put_back(&id, log).await;
                self.inner.heads.borrow_mut().insert(name.to_owned(), id.clone());
                Ok(Some((id, appended)))
            }
            Err(KeepError::Store(StoreError::Conflict { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The messages `start..end` at a head; `end` is out.
    ///
    /// # Errors
    /// The store's. A head that does not exist has no messages.
    pub async fn get_range(&self, name: &str, start: u32, end: u32) -> Result<Vec<Message>, KeepError> {
        self.look_at_range(name, start, end, |parts| {
            parts.into_iter().flat_map(|(messages, part)| &messages[part]).cloned().collect()
        })
        .await
    }

    /// What `look` makes of the messages `start..end` at a head, which it sees node by node without copying them; `end` is out.
    ///
    /// # Errors
    /// The store's. A head that does not exist has no messages.
    pub async fn look_at_range<T>(
        &self,
        name: &str,
        start: u32,
        end: u32,
        look: impl Fn(Vec<Part<'_>>) -> T,
    ) -> Result<T, KeepError> {
        let range = self.at_head(name, |tree, node| Ok(look(tree.messages_of(node, start as usize, end as usize)?)));
        Ok(range.await?.unwrap_or_else(|| look(Vec::new())))
    }

    /// How many messages there are at a head; zero where there is no such head.
    ///
    /// # Errors
    /// The store's.
    pub async fn get_count(&self, name: &str) -> Result<u64, KeepError> {
        let count = self.at_head(name, |tree, node| Ok(tree.message_count(node)? as u64));
        Ok(count.await?.unwrap_or_default())
    }

    /// The transcript in which a head points, from memory or from the store.
    pub(crate) async fn head_transcript(&self, name: &str) -> Result<Option<TranscriptId>, KeepError> {
        if let Some(known) = self.inner.heads.borrow().get(name) {
            return Ok(Some(known.clone()));
        }
        let Some(id) = self.stored_head(name).await? else { return Ok(None) };
        self.inner.heads.borrow_mut().insert(name.to_owned(), id.clone());
        Ok(Some(id))
    }

    /// The transcript in which the store says that a head points, whoever moved it last.
    pub(crate) async fn stored_head(&self, name: &str) -> Result<Option<TranscriptId>, KeepError> {
        self.pointer(keys::head(name), &|tree| tree.heads().contains_key(name)).await
    }

    /// Reads the tree in which a head points, with the node. What memory knows of the head may be old: when it does not
    /// hold, the store is asked.
    pub(crate) async fn at_head<T>(
        &self,
        name: &str,
        look: impl Fn(&Transcript, &MessageId) -> Result<T, KeepError>,
    ) -> Result<Option<T>, KeepError> {
        let mut answer = None;
        self.at_head_with(name, &mut |tree, node| answer = Some(look(tree, node))).await?;
        answer.transpose()
    }

    /// [`Keep::at_head`] without its types: the code is there once and not once for each reader.
    async fn at_head_with(&self, name: &str, look: &mut dyn FnMut(&Transcript, &MessageId)) -> Result<(), KeepError> {
        for _ in 0..2 {
            let Some(transcript) = self.head_transcript(name).await? else { return Ok(()) };
            let (mut found, mut damage) = (false, None);
            let mut look_there = |log: &Log| {
                // What is damaged may be where the head moved last: no messages, or older ones, would be a wrong answer.
                damage = log.tree.damage().first().cloned();
                if damage.is_none()
                    && let Some(node) = log.tree.heads().get(name)
                {
                    found = true;
                    look(&log.tree, node);
                }
            };
            self.read_with(&transcript, &mut look_there).await?;
            if let Some(what) = damage {
                return Err(KeepError::Damaged { transcript, what });
            }
            if found {
                return Ok(());
            }
            self.inner.heads.borrow_mut().remove(name);
        }
        Ok(())
    }
}

/// The node behind which messages come.
fn after(start: &Start, tree: &Transcript, name: &str, head: &MessageId) -> Result<MessageId, KeepError> {
    if start.expect.as_ref().is_some_and(|expected| expected != head) {
        return Err(KeepError::HeadMoved(name.to_owned()));
    }
    let Some(after) = &start.after else { return Ok(head.clone()) };
    let placed = tree.get(after).ok_or_else(|| KeepError::MissingNode(after.clone()))?;
    Ok(placed.node.id.clone())
}

/// The entries that append `messages` at `head`, one node each, and move the head `name` to the last; and the nodes.
/// `settled` is the entry that gives the head's node its last message first.
fn append_entries(
    tree: &Transcript,
    name: &str,
    head: &MessageId,
    settled: Option<Entry>,
    messages: &[Messages],
    names: &[u64],
    now: i64,
) -> (Vec<Entry>, Appended) {
    let mut next_turn = tree.next_turn();
    let (mut depth, mut turn) = tree.get(head).map_or((0, 0), |placed| (placed.depth, placed.turn));
    let mut parent = head.clone();
    if let Some(Entry::Extend { messages, .. }) = &settled {
        depth += messages.iter().filter(|message| message.role.counts()).count() as u32;
    }
    let mut entries = Vec::with_capacity(messages.len() + 2);
    entries.extend(settled);
    let first_seq = tree.next_seq() + entries.len() as u64;
    let mut made = Appended {
        transcript: Some(tree.id().clone()),
        parent: Some(head.clone()),
        created_at: Some(now),
        ..Appended::default()
    };
    for ((message, name), seq) in messages.iter().zip(names).zip(first_seq..) {
        let id = MessageId::mint(tree.id(), *name);
        let mut node = Node::new(id.clone(), Some(parent), message.clone());
        node.created_at = Some(now);
        if node.opened_turns() > 0 {
            (node.turn, turn) = (next_turn, next_turn);
            next_turn = next_turn.saturating_add(1);
        }
        depth += node.counted();
        made.ids.push(id.clone());
        made.seqs.push(seq);
        made.depths.push(depth);
        made.turns.push(turn);
        entries.push(Entry::Node(Box::new(node)));
        parent = id;
    }
    entries.push(Entry::Head { name: name.to_owned(), node: Some(parent) });
    (entries, made)
}

/// The node of the chain to `leaf` at whose end exactly `count` messages have passed.
fn node_before(tree: &Transcript, leaf: &MessageId, count: usize) -> Result<MessageId, KeepError> {
    let all = tree.message_count(leaf)?;
    let found = tree.node_through(leaf, count)?.filter(|placed| placed.messages_through() as usize == count);
    found.map(|placed| placed.node.id.clone()).ok_or_else(|| {
        KeepError::BadRequest(if count > all {
            format!("atIndex is {count}, but there are {all} messages")
        } else {
            format!("atIndex {count} lies inside a node that holds several messages: fork before or after it")
        })
    })
}
