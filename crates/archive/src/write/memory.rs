//! A transcript as the files of an agent's memory: what is not compacted yet, what is, episodes, facts, and the messages that a model would
//! be sent next.

use threadkeep_compaction::memory::jsonl::{
    EPISODIC, RAW_TRACES, RAW_TRACES_ARCHIVE, SEMANTIC, WORKING_CONTEXT, traces, write_episodes, write_facts,
    write_traces, write_working_context,
};
use threadkeep_compaction::memory::{Episode, Fact, Step, steps};
use threadkeep_compaction::overlay;
use threadkeep_context::chain_items;
use threadkeep_core::{Kind, Message, Transcript};

/// The files of the chosen branch, with their names; those that would be empty are left out. `tree` is none for what is remembered of no
/// transcript.
pub fn memory_files(
    tree: Option<&Transcript>,
    mut episodes: Vec<Episode>,
    mut facts: Vec<Fact>,
) -> Vec<(&'static str, String)> {
    let mut files = Vec::new();
    if let Some(tree) = tree {
        let leaf = tree.info().leaf;
        // The tree's own leaves have chains.
        let chain = leaf.as_ref().and_then(|leaf| tree.chain(leaf).ok()).unwrap_or_default();
        let found = tree.checkpoints_on(&chain).pop();
        let end = found.as_ref().map_or(0, |(place, _, checkpoint)| {
            chain[..checkpoint.end(*place)].iter().map(|placed| placed.node.messages.len()).sum::<usize>()
        });
        // A summary for which a checkpoint stands was not said by anybody.
        let said = |step: &Step| step.message.include_in_context || !matches!(step.message.kind, Kind::Summary { .. });
        let mut steps = steps(chain.iter().map(|placed| &placed.node));
        let covered = steps[..end].iter().filter(|step| said(step)).count();
        steps.retain(said);
        let mut all = traces(&steps);
        let active = all.split_off(traces(&steps[..covered]).len());
        files.push((RAW_TRACES, write_traces(&active)));
        files.push((RAW_TRACES_ARCHIVE, write_traces(&all)));
        let mut items = leaf.as_ref().and_then(|leaf| chain_items(tree, leaf).ok()).unwrap_or_default();
        let summary = found.and_then(|(_, _, checkpoint)| {
            let stays = overlay::stays(&items, end, &[]);
            overlay::lay(&mut items, end, checkpoint, &stays)
        });
        let mut working: Vec<Message> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match &summary {
                Some(summary) if summary.index == at => working.push(summary.message.clone()),
                _ if item.out.is_none() && item.message.include_in_context => working.push(item.message.clone()),
                _ => {}
            }
        }
        if !working.is_empty() {
            files.push((WORKING_CONTEXT, write_working_context(&working) + "\n"));
        }
        // Imported ids have their transcript in front, which the folder says here.
        let front = [tree.id().as_str(), "/"].concat();
        let plain = |id: &mut String| {
            if let Some(own) = id.strip_prefix(&front) {
                *id = own.to_owned();
            }
        };
        episodes.iter_mut().for_each(|episode| plain(&mut episode.id));
        for fact in &mut facts {
            plain(&mut fact.id);
            fact.superseded_by.iter_mut().for_each(plain);
        }
    }
    files.push((EPISODIC, write_episodes(&episodes)));
    files.push((SEMANTIC, write_facts(&facts)));
    files.retain(|(_, text)| !text.is_empty());
    files
}
