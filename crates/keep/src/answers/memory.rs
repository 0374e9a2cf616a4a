//! Answers about what is remembered.

use serde_json::Value;
use threadkeep_compaction::memory::{EpisodeEdit, FactEdit, MemoryBundle, RAW_TAIL_TURNS};
use threadkeep_core::Message;
use threadkeep_json::own_value;
use threadkeep_store::Store;

use crate::protocol::{
    BuildSnapshot, EditEpisode, EditFact, EpisodeFilter, MemoryFilter, MemoryRequest, RawTraces, Response, TurnName,
    bundle_json, interaction_json,
};
use crate::traces::{Snapshot, Turns};
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// Answers one request of what is remembered. A response to a change means that the change is durable.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was stored then.
    pub async fn remembering(&self, request: MemoryRequest) -> Result<Response, KeepError> {
        let answer = match request {
            MemoryRequest::Episodes(EpisodeFilter { transcript, source, tag, agent, limit }) => {
                let limit = limit.map(|limit| limit as usize);
                let filter = MemoryFilter { transcript, source, tag, agent, superseded: false, limit };
                own_value(&self.episodes(&filter).await?)
            }
            MemoryRequest::Facts(filter) => own_value(&self.facts(&filter).await?),
            MemoryRequest::Remember(new) => own_value(&self.remember(new).await?),
            MemoryRequest::EditFact(EditFact { id, fact, kind, tags, confidence, salience }) => {
                own_value(&self.edit_fact(&id, FactEdit { fact, kind, tags, confidence, salience }).await?)
            }
            MemoryRequest::EditEpisode(EditEpisode { id, summary, tags, salience }) => {
                own_value(&self.edit_episode(&id, EpisodeEdit { summary, tags, salience }).await?)
            }
            MemoryRequest::Pin { id, pinned } => {
                self.pin(&id, pinned.unwrap_or(true)).await?;
                Value::Null
            }
            MemoryRequest::Forget { id } => (!self.forget_memory(&id).await?.is_empty()).into(),
            MemoryRequest::Retrieve(asked) => {
                bundle_json(&self.retrieve(&asked.filter(), asked.query.as_deref(), asked.limits()).await?)
            }
            MemoryRequest::ToolInteractions { at, turn } => {
                self.tool_interactions(&at, turn).await?.into_iter().map(interaction_json).collect()
            }
            MemoryRequest::RawTraces(asked) => {
                let (head, turns) = turns(asked);
                own_value(&self.raw_traces(&head, &turns).await?)
            }
            MemoryRequest::CompactionTurns { head, keep_turns } => {
                self.compaction_turns(&head, keep_turns).await?.into()
            }
            MemoryRequest::NextTurn { head } => self.next_turn(&head).await?.into(),
            MemoryRequest::BuildSnapshot(asked) => {
                let BuildSnapshot { head, episodes, facts, system_prompt, tail, exclude, budget, encoding } = *asked;
                let (tail_turns, exclude) = (last(tail), exclude.map(|TurnName(turn)| turn));
                let how = Snapshot { system_prompt, tail_turns, exclude, budget, encoding };
                let snapshot = self.build_snapshot(&head, &MemoryBundle { episodes, facts }, &how).await?;
                snapshot.iter().map(Message::to_json).collect()
            }
        };
        Ok(Response::Memory(answer))
    }
}

/// How many of the last turns.
fn last(tail: Option<u32>) -> usize {
    tail.map_or(RAW_TAIL_TURNS, |tail| tail as usize)
}

fn turns(asked: RawTraces) -> (String, Turns) {
    let RawTraces { head, turns, tail, exclude } = asked;
    let turns = match turns {
        Some(these) => Turns::These(these.into_iter().map(|TurnName(turn)| turn).collect()),
        None => Turns::Tail { turns: last(tail), exclude: exclude.map(|TurnName(turn)| turn) },
    };
    (head, turns)
}
