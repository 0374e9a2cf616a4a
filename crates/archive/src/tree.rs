//! From what a parser found to a log: drafts of nodes, in any order and with any parent links, become a root and its
//! descendants, parents first. Circles, missing parents and repeated ids are found here, for all formats alike.

use std::collections::hash_map::Entry as Slot;

use foldhash::{HashMap, HashMapExt as _, HashSet};
use serde_json::{Map, Value};
use threadkeep_core::sort;
use threadkeep_core::{Entry, InfoPatch, Message, MessageId, Node, TranscriptId};

use super::digest::Digest;
use super::draft::{Draft, Made, Parent};
use super::epochs::Epochs;
use super::report::{Report, short};
use super::{Code, Conversation};

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
    /// Whether lines between the drafts could not be read: then a note stands in for each parent that is not there.
    pub damaged: bool,
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
            damaged: false,
        }
    }

    /// Puts the tree in order. `place` names the conversation in remarks.
    pub fn finish(mut self, place: &str, digest: u64, report: &mut Report) -> Conversation {
        let root = self.transcript.clone();
        let id = |draft: &Draft| MessageId::scoped(&root, &draft.local);
        let mut ids: Vec<MessageId> = self.drafts.iter().map(id).collect();
        self.rename_repeated(&mut ids, place, report);
        if self.damaged {
            self.stand_in(place, report);
            ids.extend(self.drafts[ids.len()..].iter().map(id));
        }
        let parents = self.parents(place, report);
        let order = self.order(&parents);

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
        let compacted = self.drafts.iter().any(|draft| draft.stands_to.is_some() || !draft.clears.is_empty());
        let mut epochs = compacted.then(|| Epochs::new(&first, &ids, &parents, self.source));
        entries.push(Entry::Node(Box::new(first)));
        for at in &order {
            let parent = parents[*at].node().map_or_else(|| root.clone(), |up| ids[up].clone());
            let draft = &mut self.drafts[*at];
            let mut made = node(ids[*at].clone(), Some(parent), std::mem::take(&mut draft.made));
            if let Some(epochs) = &mut epochs {
                epochs.node(*at, draft, &mut made, &mut entries);
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

    /// A second node of the same id gets a name of its own, so that nothing said is lost. `ids` are the drafts'.
    fn rename_repeated(&mut self, ids: &mut [MessageId], place: &str, report: &mut Report) {
        // How often each id has been met.
        let mut met: HashMap<MessageId, u32> = ids.iter().map(|id| (id.clone(), 0)).collect();
        if met.len() == ids.len() {
            return;
        }
        for (draft, id) in self.drafts.iter_mut().zip(ids) {
            let own = id.clone();
            let mut count = met.get(&own).copied().unwrap_or_default() + 1;
            if count > 1 {
                let what = format!("{place}, node {}", short(&draft.local));
                let reason = "this id occurs more than once; the later node comes in under another id";
                report.warn(&what, Code::DuplicateId, reason);
                draft.local = loop {
                    let fresh = format!("{}~{count}", draft.local);
                    *id = MessageId::scoped(&self.transcript, &fresh);
                    if let Slot::Vacant(vacant) = met.entry(id.clone()) {
                        vacant.insert(1);
                        break fresh;
                    }
                    count += 1;
                };
            }
            met.insert(own, count);
        }
    }

    /// Puts a note where a parent is missing, below the message before, so that what follows an unreadable line keeps what was
    /// said until then.
    fn stand_in(&mut self, place: &str, report: &mut Report) {
        let mut known: HashSet<String> = self.drafts.iter().map(|draft| draft.local.clone()).collect();
        known.extend(self.root_names.iter().cloned());
        let mut notes = Vec::new();
        for at in 1..self.drafts.len() {
            if let Some(parent) = self.drafts[at].parent.clone()
                && known.insert(parent.clone())
            {
                let mut note = Draft { local: parent.clone(), ..Draft::default() };
                note.made.messages.push(Message::stand_in());
                // A claim only, which gives way where lines are not in their order and it would close a circle.
                self.drafts[at - 1].children.push(parent.clone());
                let what = format!("{place}, node {}", short(&parent));
                report.warn(&what, Code::Salvaged, "it could not be read; a note stands in its place");
                notes.push(note);
            }
        }
        // Drafts are known by their places in the list.
        self.drafts.extend(notes);
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
    }

    /// Opens a circle so that all of it has a place: at a claim, else at the first of its nodes in the file, which lists
    /// parents first.
    fn cut_circle(&self, circle: &[usize], parents: &mut [Parent], place: &str, report: &mut Report) {
        let claimed = circle.iter().find(|at| matches!(parents[**at], Parent::Claimed(_)));
        if let Some(at) = claimed {
            parents[*at] = Parent::Root;
        } else if let Some(at) = circle.iter().min() {
            parents[*at] = Parent::Root;
            let what = format!("{place}, node {}", short(&self.drafts[*at].local));
            report.warn(&what, Code::Cycle, "its parent links run in a circle; it comes in under the root");
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
        sort::sort_by_key(&mut order, |pair| pair.0);
        order.into_iter().map(|(_, at)| at).collect()
    }

    /// Puts siblings into the order in which the archive lists them; those that it does not list come last.
    fn as_listed(&self, listed: &[String], siblings: &mut [usize]) {
        if siblings.len() > 1 && !listed.is_empty() {
            let rank: HashMap<&str, usize> = listed.iter().enumerate().rev().map(|(n, id)| (id.as_str(), n)).collect();
            let rank = |at: usize| rank.get(self.drafts[at].local.as_str()).map_or(i64::MAX, |rank| *rank as i64);
            let mut ranked: Vec<(i64, usize)> = siblings.iter().map(|at| (rank(*at), *at)).collect();
            sort::sort_by_key(&mut ranked, |pair| pair.0);
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
