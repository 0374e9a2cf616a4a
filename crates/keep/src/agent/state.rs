//! What an agent knows of its work between two turns: how far it is with its mailbox, and which turns were begun and have not ended.
//!
//! The number only saves looking: what has an answer is found to have one. A begun turn has a key of its own, written in the commit
//! that stores its node, so that two tabs that work for one agent do not overwrite each other's.

use serde::{Deserialize, Serialize};
use threadkeep_core::MessageId;
use threadkeep_core::sort;
use threadkeep_store::{Commit, Scan, Store, StoreError};

use super::Agent;
use crate::json::{from_json, to_json};
use crate::protocol::NodeInfo;
use crate::{Keep, KeepError, keys};

/// The record of an agent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Progress {
    /// The number of the last message of its mailbox that needs no more looking at.
    seen: u64,
    /// The turns that were begun and have not ended, as older versions note them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open: Vec<MessageId>,
}

impl<S: Store> Agent<S> {
    /// The number of the last message of its mailbox that needs no more looking at.
    pub(super) async fn seen(&self) -> Result<u64, KeepError> {
        self.keep.seen_by(&self.options.name).await
    }

    /// Notes that messages up to `number` need no more looking at, and which turn has begun or ended.
    pub(super) async fn note(
        &self,
        number: Option<u64>,
        began: Option<&MessageId>,
        ended: Option<&MessageId>,
    ) -> Result<(), KeepError> {
        let name = &self.options.name;
        let mut commit = Commit::default();
        if let Some(number) = number
            && number > self.seen().await?
        {
            commit.puts.push((keys::agent(name), to_json(&Progress { seen: number, open: Vec::new() })?));
            // Of a mailbox that was deleted meanwhile nothing is noted: it begins anew at 1.
            commit.present.push(keys::mail(name, number));
        }
        commit.puts.extend(began.map(|node| (keys::open_turn(name, node), Vec::new())));
        commit.deletes.extend(ended.map(|node| keys::open_turn(name, node)));
        if commit == Commit::default() {
            return Ok(());
        }
        match self.keep.inner.store.commit(commit).await {
            Err(StoreError::Conflict { .. }) => Ok(()),
            done => Ok(done?),
        }
    }

    /// What the commit that stores a turn's node must say.
    pub(super) fn opening(&self, node: &MessageId) -> Commit {
        Commit { puts: vec![(keys::open_turn(&self.options.name, node), Vec::new())], ..Commit::default() }
    }
}

impl<S: Store> Keep<S> {
    /// The turns of an agent that were begun and did not end, because the program ended before, and that can go on: nothing follows
    /// them. Oldest first. A turn that another program carries out in this moment is among them.
    ///
    /// # Errors
    /// The store's.
    pub async fn interrupted_turns(&self, agent: &str) -> Result<Vec<NodeInfo>, KeepError> {
        self.divide_state(agent).await?;
        let mut open = Vec::new();
        for key in self.keys_of(&Scan::prefix(&keys::open_turns(agent))).await? {
            let Some(node) = keys::open_turn_node(&key) else { continue };
            match self.growing(&node).await? {
                Some(node) => open.push(node),
                // It has ended, or cannot go on any more.
                None => self.inner.store.commit(Commit { deletes: vec![key], ..Commit::default() }).await?,
            }
        }
        sort::sort_by(&mut open, |a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(open)
    }

    /// The turn of this node, if it can go on: one of the agent's [`Keep::interrupted_turns`], or one that no agent has, as after an import
    /// or from the bin. That is the agent's from now on.
    pub(crate) async fn interrupted_turn(&self, agent: &str, node: &MessageId) -> Result<Option<NodeInfo>, KeepError> {
        self.divide_state(agent).await?;
        let own = keys::open_turn(agent, node);
        // Their names say all.
        let keys = self.keys_of(&Scan::prefix(keys::AGENTS)).await?;
        let owners: Vec<&String> = keys.iter().filter(|key| keys::open_turn_node(key).as_ref() == Some(node)).collect();
        if !owners.is_empty() && !owners.contains(&&own) {
            return Ok(None);
        }
        let turn = self.growing(node).await?;
        if turn.is_some() && owners.is_empty() {
            self.inner.store.commit(Commit { puts: vec![(own, Vec::new())], ..Commit::default() }).await?;
        }
        Ok(turn)
    }

    /// How far the agent of that name is with its mailbox; zero for nobody.
    pub(crate) async fn seen_by(&self, agent: &str) -> Result<u64, KeepError> {
        // Should it be damaged, everything is looked at again: what has an answer is found to have one.
        Ok(self.agent_state(agent).await?.unwrap_or_default().seen)
    }

    /// Everybody of whom there is such a record.
    pub(crate) async fn agents(&self) -> Result<Vec<String>, KeepError> {
        let records = self.keys_of(&Scan::prefix(keys::AGENTS)).await?;
        let mut names: Vec<String> = records.iter().filter_map(|key| keys::agent_name(key)).collect();
        names.dedup();
        Ok(names)
    }

    /// Adds to a commit that deletes nodes what agents know of them.
    pub(crate) async fn unopen(&self, gone: &dyn Fn(&MessageId) -> bool, commit: &mut Commit) -> Result<(), KeepError> {
        for key in self.keys_of(&Scan::prefix(keys::AGENTS)).await? {
            if keys::open_turn_node(&key).is_some_and(|node| gone(&node)) {
                commit.deletes.push(key);
            }
        }
        Ok(())
    }

    /// Gives the turns that an older version has listed in the agent's record keys of their own.
    async fn divide_state(&self, agent: &str) -> Result<(), KeepError> {
        let Progress { seen, open } = self.agent_state(agent).await?.unwrap_or_default();
        if open.is_empty() {
            return Ok(());
        }
        let mut puts = vec![(keys::agent(agent), to_json(&Progress { seen, open: Vec::new() })?)];
        puts.extend(open.iter().map(|node| (keys::open_turn(agent, node), Vec::new())));
        Ok(self.inner.store.commit(Commit { puts, ..Commit::default() }).await?)
    }

    async fn agent_state(&self, agent: &str) -> Result<Option<Progress>, KeepError> {
        let bytes = self.if_sound(self.inner.store.get(&keys::agent(agent)).await.map_err(KeepError::from))?;
        Ok(bytes.and_then(|bytes| from_json(&bytes).ok()))
    }

    /// A node that can grow: it is not sealed, and nothing follows it.
    async fn growing(&self, id: &MessageId) -> Result<Option<NodeInfo>, KeepError> {
        let found = self.locate(id, |log, id| {
            let growing = log.tree.get(id).filter(|placed| !placed.node.sealed && placed.is_leaf());
            Ok(growing.map(|placed| crate::route::info(&log.tree, placed)))
        });
        Ok(found.await?.and_then(|(_, node)| node))
    }
}
