//! Conversations that are plain lists without node ids: OpenAI chat messages, ShareGPT, AI Studio, Chatbot UI.
//!
//! A node's id is made of its position and all that was said up to there: a longer version of the same conversation gives the
//! same ids as far as they agree, and another ending becomes a branch. Leading system messages are the root. Without an id of
//! its own, a conversation is known by what it says up to the first answer.

use std::collections::HashMap;

use threadkeep_core::{Message, Role};

use super::digest::Digest;
use super::draft::{Draft, Made};
use super::report::Report;
use super::tree::Tree;
use super::{Code, Format};

/// The conversations of a file that have no ids: what they begin with, and for each of those how the threads end so far.
#[derive(Debug, Default)]
pub(super) struct Known {
    beginnings: HashMap<String, usize>,
    threads: Vec<Vec<(u64, usize)>>,
}

impl Known {
    /// The number of the thread, among those that begin alike, that `chain` (a digest for each prefix) continues or begins.
    fn thread(&mut self, key: u64, chain: &[u64]) -> usize {
        let at = *self.beginnings.entry(format!("{key:016x}")).or_insert(self.threads.len());
        if at == self.threads.len() {
            self.threads.push(Vec::new());
        }
        let threads = &mut self.threads[at];
        let last = (chain.last().copied().unwrap_or_default(), chain.len());
        let same = |(end, len): &(u64, usize)| *len > 0 && chain.get(len - 1) == Some(end);
        let at = threads.iter().position(same).unwrap_or(threads.len());
        if at == threads.len() {
            threads.push(last);
        } else {
            threads[at] = last;
        }
        at + 1
    }
}

/// What is said, in order.
#[derive(Debug, Default)]
pub(super) struct List {
    nodes: Vec<Draft>,
}

impl List {
    /// Adds a message.
    pub fn message(&mut self, message: Message, created_at: Option<i64>) {
        self.node(Draft { made: Made { created_at, messages: vec![message], ..Made::default() }, ..Draft::default() });
    }

    /// Adds a node. Without an id it gets one; without a parent it follows the one before it.
    pub fn node(&mut self, draft: Draft) {
        self.nodes.push(draft);
    }

    /// The conversation that they make, in `format`; `id` where the archive has one. Says so where nothing was said.
    pub fn tree(
        self,
        format: Format,
        id: Option<String>,
        place: &str,
        known: &mut Known,
        report: &mut Report,
    ) -> Option<Tree> {
        if self.nodes.is_empty() {
            report.skip(place, Code::Empty, "a conversation without messages");
            return None;
        }
        let mut chain = Vec::with_capacity(self.nodes.len());
        let mut sum = Digest::new();
        for message in self.nodes.iter().map(|node| &node.made.messages) {
            for message in message {
                sum = sum.with(threadkeep_json::own_text(message).as_bytes());
            }
            chain.push(sum.0);
        }
        let says = |node: &Draft, role: &Role| node.made.messages.first().is_some_and(|message| message.role == *role);
        let id = id.unwrap_or_else(|| {
            let first_answer = self.nodes.iter().position(|node| says(node, &Role::Assistant));
            let key = chain[first_answer.unwrap_or(chain.len() - 1)];
            match known.thread(key, &chain) {
                1 => format!("{key:016x}"),
                n => format!("{key:016x}~{n}"),
            }
        });
        let mut tree = Tree::new(format.name(), &id);
        let mut previous = None;
        for (at, mut draft) in self.nodes.into_iter().enumerate() {
            let instructs = says(&draft, &Role::System) || says(&draft, &Role::Developer);
            if previous.is_none() && draft.local.is_empty() && instructs {
                tree.root.created_at = draft.made.created_at;
                tree.root.messages.append(&mut draft.made.messages);
                continue;
            }
            if draft.local.is_empty() {
                draft.local = format!("{at}-{:016x}", chain[at]);
            }
            draft.parent = draft.parent.or(previous);
            previous = Some(draft.local.clone());
            tree.drafts.push(draft);
        }
        tree.leaf = previous;
        Some(tree)
    }
}
