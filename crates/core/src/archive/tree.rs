//! From what a parser found to a log: drafts of nodes, in any order and with any parent links, become a root and its
//! descendants, parents first. Circles, missing parents and repeated ids are found here, for all formats alike.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use serde_json::{Map, Value};

use super::compacted::{self, LOOKED_THROUGH, Reach};
use super::digest::Digest;
use super::report::{Report, short};
use super::{Code, Conversation};
use crate::{Entry, InfoPatch, Message, MessageId, Node, TranscriptId};

/// A node as a parser found it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// The id that it has in the archive.
    pub local: String,
    /// The archive's id of its parent; `None` or an id that is nowhere puts it under the root.
    pub parent: Option<String>,
    /// Its children by the archive's word: their order, and a second opinion on who is whose parent.
    pub children: Vec<String>,
    /// The node; its id, parent and turn are filled in here.
    pub made: Made,
    /// Of a summary that a compaction left, the last draft that it stands for, by its place in the list.
    pub stands_to: Option<usize>,
    /// Of such a summary, the words with which the program went on, where the format has them beside it.
    pub left: Vec<String>,
}

/// What a draft brings to its node.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub created_at: Option<i64>,
    pub origin: crate::Origin,
    pub labels: crate::node::Labels,
    pub messages: Vec<Message>,
}

impl Made {
    pub fn label(&mut self, name: &str, value: &str) {
        self.labels.insert(name.to_owned(), value.to_owned());
    }
}

/// A conversation as a parser found it.
#[derive(Debug)]
pub(super) struct Tree {
    pub transcript: TranscriptId,
    pub source: &'static str,
    pub title: Option<String>,
    pub created_at: Option<i64>,
    pub updated_at: Option<i64>,
    pub extra: Map<String, Value>,
    /// What the root holds.
    pub root: Made,
    /// Archive ids that mean the root.
    pub root_names: Vec<String>,
    /// The root's children by the archive's word, which gives their order.
    pub root_children: Vec<String>,
    pub drafts: Vec<Draft>,
    /// The archive's id of the end of the chosen branch, where it says so.
    pub leaf: Option<String>,
}

impl Tree {
    pub fn new(source: &'static str, conversation: &str) -> Self {
        Self {
            transcript: MessageId::archive_root(source, conversation),
            source,
            title: None,
            created_at: None,
            updated_at: None,
            extra: Map::new(),
            root: Made::default(),
            root_names: Vec::new(),
            root_children: Vec::new(),
            drafts: Vec::new(),
            leaf: None,
        }
    }

    /// Puts the tree in order. `place` names the conversation in remarks.
    pub fn finish(mut self, place: &str, digest: u64, report: &mut Report) -> Conversation {
        self.rename_repeated(place, report);
        let parents = self.parents(place, report);
        let order = self.order(&parents);
        let root = self.transcript.clone();
        let ids: Vec<MessageId> = self.drafts.iter().map(|draft| MessageId::scoped(&root, &draft.local)).collect();

        let mut next_turn = 1;
        let mut entries = Vec::with_capacity(order.len() + 2);
        let mut node = |id: MessageId, parent: Option<MessageId>, made: Made| {
            let mut node = Node::new(id, parent, made.messages);
            (node.created_at, node.origin, node.labels) = (made.created_at, made.origin, made.labels);
            let opened = node.opened_turns();
            if opened > 0 {
                node.turn = next_turn;
                next_turn += opened;
            }
            node
        };
        let first = node(root.clone(), None, std::mem::take(&mut self.root));
        let leaf = self.choose(&ids, &parents, &order, place, report);
        // Only what was compacted is measured.
        let compacted = self.drafts.iter().any(|draft| draft.stands_to.is_some());
        let mut reaches = vec![Reach::default(); if compacted { ids.len() } else { 0 }];
        let start = if compacted { Reach::default().with(&first) } else { Reach::default() };
        entries.push(Entry::Node(Box::new(first)));
        let mut steps = ids.len() * 4 + 1000;
        // Where in `entries` a draft's node and a checkpoint are, and how many bytes may be looked through for its sources.
        let mut places = vec![0; reaches.len()];
        let mut made_at: HashMap<String, usize> = HashMap::new();
        let mut bytes = LOOKED_THROUGH;
        for at in &order {
            let up = parents[*at].node();
            let parent = up.map_or_else(|| root.clone(), |up| ids[up].clone());
            let mut made = node(ids[*at].clone(), Some(parent), std::mem::take(&mut self.drafts[*at].made));
            if compacted {
                let mut here = up.map_or_else(|| start.clone(), |up| reaches[up].clone());
                let to = self.drafts[*at].stands_to.filter(|to| is_above(*to, *at, &parents, &mut steps));
                let mut said = Vec::new();
                if to.is_some() {
                    said = compacted::statements(&made, &self.drafts[*at].left);
                }
                if let Some(to) = to.filter(|_| !said.is_empty()) {
                    let before = here.last().and_then(|id| match &entries[*made_at.get(id)?] {
                        Entry::Checkpoint(checkpoint) => Some(checkpoint),
                        _ => None,
                    });
                    // What it stands for beyond that one, newest first.
                    let up = |at: &usize| parents[*at].node();
                    let known = |at: &usize| before.is_some_and(|before| before.anchor == ids[*at]);
                    let new = std::iter::successors(Some(to), up).take_while(|at| !known(at));
                    let mut nodes: Vec<&Node> = Vec::new();
                    for at in new {
                        steps = steps.saturating_sub(1);
                        match &entries[places[at]] {
                            Entry::Node(node) if steps > 0 => nodes.push(node),
                            _ => break,
                        }
                    }
                    nodes.reverse();
                    let carried = before.map_or(&[][..], |before| &before.statements);
                    compacted::trace(&mut said, &nodes, carried, &mut bytes);
                    let ends = (&root, &ids[to]);
                    let checkpoint = Reach::checkpoint(&mut here, &reaches[to], ends, &mut made, said, self.source);
                    made_at.insert(checkpoint.id.clone(), entries.len());
                    entries.push(Entry::Checkpoint(Box::new(checkpoint)));
                }
                places[*at] = entries.len();
                reaches[*at] = here.with(&made);
            }
            entries.push(Entry::Node(Box::new(made)));
        }
        entries.push(Entry::Info(InfoPatch {
            title: self.title.filter(|title| !title.trim().is_empty()),
            source: Some(self.source.to_owned()),
            created_at: self.created_at,
            updated_at: self.updated_at,
            leaf: Some(leaf),
            extra: self.extra,
        }));
        Conversation { transcript: root, digest: Digest(digest).of_reading(), entries, seqs: None }
    }

    /// A second node of the same id gets a name of its own, so that nothing said is lost.
    fn rename_repeated(&mut self, place: &str, report: &mut Report) {
        let id = |local: &str| MessageId::scoped(&self.transcript, local);
        // How often each id has been met.
        let mut met: HashMap<MessageId, u32> = self.drafts.iter().map(|draft| (id(&draft.local), 0)).collect();
        for draft in &mut self.drafts {
            let own = id(&draft.local);
            let mut count = met.get(&own).copied().unwrap_or_default() + 1;
            if count > 1 {
                let what = format!("{place}, node {}", short(&draft.local));
                let reason = "this id occurs more than once; the later node comes in under another id";
                report.warn(&what, Code::DuplicateId, reason);
                let fresh = loop {
                    let fresh = format!("{}~{count}", draft.local);
                    if let Slot::Vacant(vacant) = met.entry(id(&fresh)) {
                        vacant.insert(1);
                        break fresh;
                    }
                    count += 1;
                };
                draft.local = fresh;
            }
            met.insert(own, count);
        }
    }

    /// Each draft's place: its parent link where that leads somewhere, else the node that claims it as a child.
    fn parents(&self, place: &str, report: &mut Report) -> Vec<Parent> {
        let index: HashMap<&str, usize> =
            self.drafts.iter().enumerate().rev().map(|(at, draft)| (draft.local.as_str(), at)).collect();
        let mut claimed: HashMap<&str, usize> = HashMap::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            for child in &draft.children {
                claimed.entry(child.as_str()).or_insert(at);
            }
        }
        let mut parents: Vec<Parent> = Vec::with_capacity(self.drafts.len());
        for (at, draft) in self.drafts.iter().enumerate() {
            let by_link = draft.parent.as_deref().and_then(|parent| index.get(parent));
            let by_claim = || claimed.get(draft.local.as_str()).filter(|up| **up != at);
            let is_root = draft.parent.as_ref().is_some_and(|parent| self.root_names.contains(parent));
            parents.push(match (by_link, is_root) {
                (Some(up), _) => Parent::Node(*up),
                (None, true) => Parent::Root,
                (None, false) => match by_claim() {
                    Some(up) => Parent::Claimed(*up),
                    None => {
                        if let Some(parent) = &draft.parent {
                            let what = format!("{place}, node {}", short(&draft.local));
                            let reason =
                                format!("its parent {:?} is not there; it comes in under the root", short(parent));
                            report.warn(&what, Code::MissingParent, reason);
                        }
                        Parent::Root
                    }
                },
            });
        }
        self.cut_circles(&mut parents, place, report);
        parents
    }

    fn cut_circles(&self, parents: &mut [Parent], place: &str, report: &mut Report) {
        // 0: not seen, 1: on the present way, 2: done.
        let mut state = vec![0u8; parents.len()];
        for start in 0..parents.len() {
            let mut way = Vec::new();
            let mut at = start;
            while state[at] == 0 {
                state[at] = 1;
                way.push(at);
                match parents[at].node() {
                    Some(up) => at = up,
                    None => break,
                }
            }
            let closed = state[at] == 1 && parents[at].node().is_some();
            if let Some(begin) = way.iter().position(|node| closed && *node == at) {
                self.cut_circle(&way[begin..], parents, place, report);
            }
            way.iter().for_each(|node| state[*node] = 2);
        }
        for at in 0..parents.len() {
            if parents[at].node().is_some_and(|up| matches!(parents[up], Parent::Cut)) {
                parents[at] = Parent::Root;
                let what = format!("{place}, node {}", short(&self.drafts[at].local));
                report.warn(
                    &what,
                    Code::MissingParent,
                    "its parent is in a circle of links; it comes in under the root",
                );
            }
        }
    }

    /// A circle that only a claim closes is opened there; of any other, no node has a place.
    fn cut_circle(&self, circle: &[usize], parents: &mut [Parent], place: &str, report: &mut Report) {
        let only_claimed = circle.iter().find(|at| matches!(parents[**at], Parent::Claimed(_)));
        if let Some(at) = only_claimed {
            parents[*at] = Parent::Root;
            return;
        }
        for at in circle {
            parents[*at] = Parent::Cut;
            let what = format!("{place}, node {}", short(&self.drafts[*at].local));
            report.skip(&what, Code::Cycle, "its parent links run in a circle, so it has no place in the tree");
        }
    }

    /// Parents before children, older before newer; among equals as the archive orders children.
    fn order(&self, parents: &[Parent]) -> Vec<usize> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
        let mut roots = Vec::new();
        for (at, parent) in parents.iter().enumerate() {
            match parent {
                Parent::Node(up) | Parent::Claimed(up) => children[*up].push(at),
                Parent::Root => roots.push(at),
                Parent::Cut => {}
            }
        }
        for (at, below) in children.iter_mut().enumerate() {
            self.as_listed(&self.drafts[at].children, below);
        }
        self.as_listed(&self.root_children, &mut roots);
        let mut order = Vec::with_capacity(parents.len());
        let mut open: Vec<(usize, i64)> = roots.into_iter().rev().map(|at| (at, i64::MIN)).collect();
        while let Some((at, above)) = open.pop() {
            let time = above.max(self.drafts[at].made.created_at.unwrap_or(i64::MIN));
            order.push((time, at));
            open.extend(children[at].iter().rev().map(|child| (*child, time)));
        }
        // A child is never older than its parent here and comes after it, so a stable sort keeps parents first.
        sort(&mut order);
        order.into_iter().map(|(_, at)| at).collect()
    }

    /// Puts siblings into the order in which the archive lists them; those that it does not list come last.
    fn as_listed(&self, listed: &[String], siblings: &mut [usize]) {
        if siblings.len() > 1 && !listed.is_empty() {
            let rank: HashMap<&str, usize> = listed.iter().enumerate().rev().map(|(n, id)| (id.as_str(), n)).collect();
            let rank = |at: usize| rank.get(self.drafts[at].local.as_str()).map_or(i64::MAX, |rank| *rank as i64);
            let mut ranked: Vec<(i64, usize)> = siblings.iter().map(|at| (rank(*at), *at)).collect();
            sort(&mut ranked);
            siblings.iter_mut().zip(ranked).for_each(|(place, (_, at))| *place = at);
        }
    }

    /// The end of the chosen branch, else the newest leaf.
    fn choose(
        &self,
        ids: &[MessageId],
        parents: &[Parent],
        order: &[usize],
        place: &str,
        report: &mut Report,
    ) -> MessageId {
        if let Some(leaf) = &self.leaf {
            if self.root_names.contains(leaf) {
                return self.transcript.clone();
            }
            let found = order.iter().find(|at| self.drafts[**at].local == *leaf);
            if let Some(at) = found {
                return ids[*at].clone();
            }
            let reason = format!(
                "the chosen branch ends in {:?}, which is not there; the newest is chosen instead",
                short(leaf)
            );
            report.warn(place, Code::MissingLeaf, reason);
        }
        let mut is_leaf = vec![true; parents.len()];
        for at in order {
            if let Some(up) = parents[*at].node() {
                is_leaf[up] = false;
            }
        }
        let aside = |at: &usize| self.drafts[*at].made.labels.get("sidechain").is_some();
        let newest = |aside_too: bool| order.iter().rev().find(|at| is_leaf[**at] && (aside_too || !aside(at)));
        newest(false).or_else(|| newest(true)).map_or_else(|| self.transcript.clone(), |at| ids[*at].clone())
    }
}

/// Whether a draft lies above another. Each stretch is walked once, as a rule; files that are made to take long are not followed to
/// the end: then the answer is no.
fn is_above(above: usize, below: usize, parents: &[Parent], steps: &mut usize) -> bool {
    let mut here = parents[below].node();
    while let Some(now) = here.filter(|_| *steps > 0) {
        *steps -= 1;
        if now == above {
            return true;
        }
        here = parents[now].node();
    }
    false
}

/// By the first of each pair; equals keep their order. One function, so that the sort is compiled once.
fn sort(pairs: &mut [(i64, usize)]) {
    pairs.sort_by_key(|pair| pair.0);
}

#[derive(Debug, Clone, Copy)]
enum Parent {
    Root,
    Node(usize),
    /// No link of its own leads anywhere, but this node calls it a child.
    Claimed(usize),
    /// In a circle: left out.
    Cut,
}

impl Parent {
    fn node(self) -> Option<usize> {
        match self {
            Self::Node(up) | Self::Claimed(up) => Some(up),
            Self::Root | Self::Cut => None,
        }
    }
}
