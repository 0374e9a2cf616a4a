//! What an import remembers: episodes and facts of a file come in, as far as they are new, and as far as the file may say so.

use std::collections::HashSet;

use threadkeep_compaction::memory::{IMPORTED, Memory, MemoryOrigin};
use threadkeep_store::Store;

use super::Held;
use crate::memory::Memories;
use crate::protocol::ImportReport;
use crate::{Keep, KeepError, keys};

impl<S: Store> Keep<S> {
    /// Stores what is remembered. A file that holds all conversations and records of this keep (`is_backup`) restores it: then pins and origins come back. From any other file, records come in unpinned, with the tag [`IMPORTED`], and as
    /// imports, whatever the file says. So no file gets into every prompt or speaks for the user.
    pub(super) async fn take_memories(
        &self,
        mut memories: Vec<Memory>,
        is_backup: bool,
        report: &mut ImportReport,
    ) -> Result<(), KeepError> {
        let known = self.memories().await?;
        if !is_backup {
            let unpinned = set_apart(&known, &mut memories);
            if unpinned > 0 {
                let reason = format!(
                    "{unpinned} pinned facts or episodes come in unpinned, with the tag `{IMPORTED}`, since this file is no \
                     backup of all that is here. Pin those that are to be in every prompt"
                );
                report.skip("memory", "unpinned", reason, true);
            }
        }
        let differing = differing(&known, &memories);
        if differing > 0 {
            let reason = format!(
                "{differing} facts or episodes say something else in this file than what is stored under the same ids: \
                 what is stored stays"
            );
            report.skip("memory", "memory-differs", reason, true);
        }
        report.memories = self.restore(memories).await?;
        Ok(())
    }

    /// Whether the files of an import hold all that this keep holds.
    pub(super) async fn is_backup(&self, memories: &[Memory], held: &Held) -> Result<bool, KeepError> {
        let known = &self.memories().await?;
        let ids: HashSet<&str> = memories.iter().map(id).collect();
        if !known_ids(known).all(|id| ids.contains(id)) {
            return Ok(false);
        }
        let records = self.keys_of(&keys::records()).await?;
        Ok(records.iter().filter_map(|key| keys::record_id(key)).all(|id| held.contains_key(&id)))
    }
}

/// Unpins and marks the records that are new; gives how many were pinned.
fn set_apart(known: &Memories, memories: &mut [Memory]) -> u32 {
    let known: HashSet<&str> = known_ids(known).collect();
    let mut unpinned = 0;
    for memory in memories {
        if known.contains(id(memory)) {
            continue;
        }
        let (pinned, tags, origin) = match memory {
            Memory::Episode(it) => (&mut it.pinned, &mut it.tags, &mut it.origin),
            Memory::Fact(it) => (&mut it.pinned, &mut it.tags, &mut it.origin),
        };
        *origin = Some(MemoryOrigin::Import);
        unpinned += u32::from(std::mem::replace(pinned, false));
        if !tags.iter().any(|tag| tag == IMPORTED) {
            tags.push(IMPORTED.to_owned());
        }
    }
    unpinned
}

/// How many records of the same ids differ in what they say.
fn differing(known: &Memories, memories: &[Memory]) -> usize {
    let differs = |memory: &&Memory| match memory {
        Memory::Episode(it) => match known.episodes.get(&it.id) {
            Some(known) => known.summary != it.summary,
            None => known.facts.get(&it.id).is_some(),
        },
        Memory::Fact(it) => match known.facts.get(&it.id) {
            Some(known) => known.fact != it.fact,
            None => known.episodes.contains_key(&it.id),
        },
    };
    memories.iter().filter(differs).count()
}

fn id(memory: &Memory) -> &str {
    match memory {
        Memory::Episode(it) => &it.id,
        Memory::Fact(it) => &it.id,
    }
}

fn known_ids(known: &Memories) -> impl Iterator<Item = &str> {
    let episodes = known.episodes.keys().map(String::as_str);
    episodes.chain(known.facts.iter().map(|it| it.id.as_str()))
}
