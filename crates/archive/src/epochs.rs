//! The checkpoints of a tree while its log is written, node by node, parents first: what leads to each node is measured, and where a
//! draft says that something was compacted there, its checkpoint is put before its node. What one says is [`compacted`]'s.

use std::collections::{HashMap, HashSet};

use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::{Entry, MessageId, Node};

use super::compacted::{self, LOOKED_THROUGH, Reach};
use super::draft::{Draft, Parent};

/// What is known so far.
pub(super) struct Epochs<'t> {
    root: MessageId,
    ids: &'t [MessageId],
    parents: &'t [Parent],
    by: &'t str,
    /// How far it is to the root itself, and to each draft.
    start: Reach,
    reaches: Vec<Reach>,
    /// Where in the log the drafts' nodes are, and the checkpoints.
    places: Vec<usize>,
    made_at: HashMap<String, usize>,
    /// Each stretch of history is walked a few times at most; files that are made to take long are not followed to the end.
    steps: usize,
    /// How many bytes may still be looked through for sources.
    bytes: usize,
}

impl<'t> Epochs<'t> {
    /// Of drafts with these ids and parents, under `root`; `by` is whose sessions they are.
    pub fn new(root: &Node, ids: &'t [MessageId], parents: &'t [Parent], by: &'t str) -> Self {
        Self {
            root: root.id.clone(),
            ids,
            parents,
            by,
            start: Reach::default().with(root),
            reaches: vec![Reach::default(); ids.len()],
            places: vec![0; ids.len()],
            made_at: HashMap::new(),
            steps: ids.len() * 4 + 1000,
            bytes: LOOKED_THROUGH,
        }
    }

    /// Appends the checkpoints of the draft at `at`, whose node comes next in the log.
    pub fn node(&mut self, at: usize, draft: &mut Draft, node: &mut Node, log: &mut Vec<Entry>) {
        let up = self.parents[at].node();
        let mut here = up.map_or_else(|| self.start.clone(), |up| self.reaches[up].clone());
        let made = match (draft.stands_to, up) {
            (Some(to), _) => self.summarised(at, to, &draft.left, node, &mut here, log),
            (None, Some(up)) if !draft.clears.is_empty() => {
                self.cleared(up, std::mem::take(&mut draft.clears), node, &mut here, log)
            }
            _ => None,
        };
        if let Some(made) = made {
            self.made_at.insert(made.id.clone(), log.len());
            log.push(Entry::Checkpoint(Box::new(made)));
        }
        self.places[at] = log.len();
        self.reaches[at] = here.with(node);
    }

    /// The checkpoint of a summary that stands for all up to the draft `to`.
    fn summarised(
        &mut self,
        at: usize,
        to: usize,
        left: &[String],
        node: &mut Node,
        here: &mut Reach,
        log: &[Entry],
    ) -> Option<Checkpoint> {
        if !self.is_above(to, at) {
            return None;
        }
        let mut said = compacted::statements(node, left);
        if said.is_empty() {
            return None;
        }
        let before = self.checkpoint(here.last()[1], log);
        // What it stands for beyond that one, newest first.
        let mut nodes: Vec<&Node> = Vec::new();
        let mut above = Some(to);
        while let Some(at) = above.filter(|_| self.steps > 0) {
            self.steps -= 1;
            if before.is_some_and(|before| before.anchor == self.ids[at]) {
                break;
            }
            if let Entry::Node(node) = &log[self.places[at]] {
                nodes.push(node);
            }
            above = self.parents[at].node();
        }
        nodes.reverse();
        compacted::trace(&mut said, &nodes, before.map_or(&[][..], |before| &before.statements), &mut self.bytes);
        Some(Reach::checkpoint(here, &self.reaches[to], (&self.root, &self.ids[to]), node, said, self.by))
    }

    /// The checkpoint of the results of those calls, which were cleared behind the draft `anchor`; `None` where none of them is there.
    fn cleared(
        &mut self,
        anchor: usize,
        calls: Vec<String>,
        node: &Node,
        here: &mut Reach,
        log: &[Entry],
    ) -> Option<Checkpoint> {
        let mut calls: HashSet<String> = calls.into_iter().collect();
        let (mut cleared, mut tokens) = (Vec::new(), (0, 0));
        let mut above = Some(anchor);
        while let Some(at) = above.filter(|_| self.steps > 0 && !calls.is_empty()) {
            self.steps -= 1;
            if let Entry::Node(node) = &log[self.places[at]] {
                compacted::cleared_in(node, &mut calls, &mut cleared, &mut tokens);
            }
            above = self.parents[at].node();
        }
        if cleared.is_empty() {
            return None;
        }
        // What was cleared since the last summary stays so.
        let [last, before] = here.last().map(|id| self.checkpoint(id, log));
        for known in last.map_or(&[][..], |last| &last.cleared) {
            if !cleared.contains(known) {
                cleared.push(known.clone());
            }
        }
        let ends = (&self.root, &self.ids[anchor]);
        Some(Reach::clearing(here, ends, node, cleared, tokens, before, self.by))
    }

    /// The checkpoint of that id in the log so far.
    fn checkpoint<'a>(&self, id: Option<&str>, log: &'a [Entry]) -> Option<&'a Checkpoint> {
        match &log[*self.made_at.get(id?)?] {
            Entry::Checkpoint(checkpoint) => Some(checkpoint),
            _ => None,
        }
    }

    /// Whether a draft lies above another. Where it cannot be followed to the end, the answer is no.
    fn is_above(&mut self, above: usize, below: usize) -> bool {
        let mut here = self.parents[below].node();
        while let Some(now) = here.filter(|_| self.steps > 0) {
            self.steps -= 1;
            if now == above {
                return true;
            }
            here = self.parents[now].node();
        }
        false
    }
}
