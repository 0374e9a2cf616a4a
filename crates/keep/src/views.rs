//! What a page shows: the list of transcripts, one branch as rows, a tree's map, findings, counts.

use std::collections::HashSet;

use threadkeep_core::entry::InfoPatch;
use threadkeep_core::message::Kind;
use threadkeep_core::sort;
use threadkeep_core::transcript::Placed;
use threadkeep_core::{ChainError, Entry, Message, MessageId, Node, Transcript, TranscriptId, lint};
use threadkeep_store::{Store, around};

use crate::forks::{forks, groups, new_words};
use crate::keep::Write;
use crate::log::read_record;
use crate::protocol::{LintFinding, NodeInfo, Outline, Row, Stats, TranscriptInfo, TreeNode};
use crate::route::info;
use crate::{Keep, KeepError, keys};

/// How many characters of a node's text its place on the map shows.
const WORDS: usize = 60;

impl<S: Store> Keep<S> {
    /// All transcripts, the one that changed last first. Where the record of one cannot be read, its log is.
    ///
    /// # Errors
    /// The store's.
    pub async fn transcripts(&self) -> Result<Vec<TranscriptInfo>, KeepError> {
        let mut list = Vec::new();
        for (key, bytes) in around::scan(&self.inner.store, &keys::records()).await? {
            let Some(id) = keys::record_id(&key) else { continue };
            let info = match bytes.ok().and_then(|bytes| read_record(&key, &bytes).ok()) {
                Some(record) => record.info,
                None => match self.load(&id).await? {
                    Some(log) if log.tree.root().is_some() => log.tree.info(),
                    _ => continue,
                },
            };
            list.push(TranscriptInfo { id, info });
        }
        sort::sort_by(&mut list, |a, b| (b.info.updated_at, &a.id).cmp(&(a.info.updated_at, &b.id)));
        Ok(list)
    }

    /// The roots of all transcripts, the one that changed last first.
    ///
    /// # Errors
    /// The store's.
    pub async fn roots(&self) -> Result<Vec<NodeInfo>, KeepError> {
        let mut roots = Vec::new();
        for transcript in self.transcripts().await? {
            let root = self.read(&transcript.id, |log| Ok(log.tree.root().map(|placed| info(&log.tree, placed))));
            roots.extend(root.await?.flatten());
        }
        Ok(roots)
    }

    /// One branch of a transcript, without texts. A damaged one is shown as far as it can be reached, and says so.
    ///
    /// # Errors
    /// `missing-transcript`; `missing-node` for a leaf that is not in it; the store's.
    pub async fn outline(&self, transcript: &TranscriptId, leaf: Option<&MessageId>) -> Result<Outline, KeepError> {
        let outline = self.read(transcript, |log| {
            let tree = &log.tree;
            let info = tree.info();
            let wanted = leaf.or(info.leaf.as_ref()).unwrap_or(tree.id());
            let leaf = tree.newest_leaf(wanted).ok_or_else(|| KeepError::MissingNode(wanted.clone()))?;
            let leaf = leaf.node.id.clone();
            let (chain, broken) = lenient(tree, &leaf);
            let rows = chain.into_iter().map(|placed| row(tree, placed)).collect();
            let damage = broken.map(|error| error.to_string()).or(tree.damage().first().cloned());
            Ok(Outline { transcript: TranscriptInfo { id: tree.id().clone(), info }, leaf, rows, damage })
        });
        outline.await?.ok_or_else(|| KeepError::MissingTranscript(transcript.clone()))
    }

    /// The nodes `start..end` of the chain to `leaf`, with their messages.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn rows(&self, leaf: &MessageId, start: u32, end: u32) -> Result<Vec<NodeInfo>, KeepError> {
        self.look(leaf, |tree| {
            let found = tree.get(leaf).map(|placed| tree.levels(placed, start as usize, end as usize));
            Ok(found.unwrap_or_default().into_iter().map(|placed| info(tree, placed)).collect())
        })
        .await
    }

    /// The whole tree of a transcript, parents before children.
    ///
    /// # Errors
    /// `missing-transcript`; the store's.
    pub async fn tree(&self, transcript: &TranscriptId) -> Result<Vec<TreeNode>, KeepError> {
        let nodes = self.read(transcript, |log| {
            let tree = &log.tree;
            let forked = tree.nodes().filter(|placed| placed.child_count() > 1);
            let siblings = forked.filter_map(|placed| tree.children(&placed.node.id).ok());
            let again: HashSet<u64> = siblings
                .flat_map(|siblings| groups(&siblings).into_iter().flat_map(|group| group.into_iter().skip(1)))
                .map(|placed| placed.seq)
                .collect();
            Ok(tree.nodes().map(|placed| tree_node(tree, placed, again.contains(&placed.seq))).collect())
        });
        nodes.await?.ok_or_else(|| KeepError::MissingTranscript(transcript.clone()))
    }

    /// Gives a transcript another title; an empty one brings back its first words.
    ///
    /// # Errors
    /// `missing-transcript`; the store's.
    pub async fn rename(&self, transcript: &TranscriptId, title: String) -> Result<(), KeepError> {
        self.describe(transcript, InfoPatch { title: Some(title), ..InfoPatch::default() }).await
    }

    /// Keeps `leaf` as the chosen branch of its transcript.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn choose(&self, leaf: &MessageId) -> Result<(), KeepError> {
        let transcript = self.find_or_fail(leaf).await?;
        self.describe(&transcript, InfoPatch { leaf: Some(leaf.clone()), ..InfoPatch::default() }).await
    }

    async fn describe(&self, transcript: &TranscriptId, patch: InfoPatch) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        let done = self.write(transcript, |_| Ok(Write::new(vec![Entry::Info(patch.clone())], ())));
        done.await?.ok_or_else(|| KeepError::MissingTranscript(transcript.clone()))?;
        self.changed(transcript, Vec::new());
        Ok(())
    }

    /// What is wrong with the chain to `leaf`, or with every branch of every transcript. Damage of the stored log itself is
    /// reported at the root under the rule `damage`.
    ///
    /// # Errors
    /// `missing-node`; the store's.
    pub async fn lint(&self, leaf: Option<&MessageId>) -> Result<Vec<LintFinding>, KeepError> {
        let Some(leaf) = leaf else {
            let mut findings = Vec::new();
            for transcript in self.transcripts().await? {
                findings.extend(self.read(&transcript.id, |log| Ok(lint_tree(&log.tree))).await?.unwrap_or_default());
            }
            return Ok(findings);
        };
        self.look(leaf, |tree| {
            let id = tree.resolve(leaf).ok_or_else(|| KeepError::MissingNode(leaf.clone()))?;
            Ok(lint_chain(tree, id))
        })
        .await
    }

    /// Counts and sizes.
    ///
    /// # Errors
    /// The store's.
    pub async fn stats(&self) -> Result<Stats, KeepError> {
        let transcripts = self.transcripts().await?;
        let (cached, bytes) = self.cached();
        Ok(Stats {
            transcripts: transcripts.len() as u32,
            nodes: transcripts.iter().map(|transcript| u64::from(transcript.info.nodes)).sum(),
            messages: transcripts.iter().map(|transcript| u64::from(transcript.info.messages)).sum(),
            heads: self.keys_of(&keys::heads()).await?.len() as u32,
            cached_transcripts: cached as u32,
            cached_bytes: bytes as u64,
            cache_limit: self.inner.options.cache_bytes as u64,
            damaged: self.all_damage(),
        })
    }
}

/// The chain to `leaf` as far as it can be followed, and what breaks it.
fn lenient<'a>(tree: &'a Transcript, leaf: &MessageId) -> (Vec<&'a Placed>, Option<ChainError>) {
    match tree.chain(leaf) {
        Ok(chain) => (chain, None),
        Err(broken) => {
            let rest = tree.get(leaf).map(|placed| tree.levels(placed, 0, usize::MAX));
            (rest.unwrap_or_default(), Some(broken))
        }
    }
}

fn row(tree: &Transcript, placed: &Placed) -> Row {
    let node = &placed.node;
    let (fork, answers) = forks(tree, placed);
    let chars: usize = node.messages.iter().map(|message| message.text().chars().count()).sum();
    Row {
        id: node.id.clone(),
        role: role(&node.messages),
        messages: node.messages.len() as u32,
        chars: u32::try_from(chars).unwrap_or(u32::MAX),
        depth: placed.depth,
        hidden: hidden(node),
        fork,
        answers,
    }
}

/// A node's place on the map. What an older sibling asks already is not shown again: `again` says that there is one.
fn tree_node(tree: &Transcript, placed: &Placed, again: bool) -> TreeNode {
    let messages = new_words(&placed.node, again);
    let words = messages.iter().map(|message| message.text()).find(|text| !text.trim().is_empty());
    TreeNode {
        id: placed.node.id.clone(),
        parent: tree.parent_index(placed),
        role: role(messages),
        hidden: hidden(&placed.node),
        words: words.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ").chars().take(WORDS).collect(),
    }
}

fn role(messages: &[Message]) -> String {
    messages.first().map(|message| message.role.as_str().to_owned()).unwrap_or_default()
}

/// Whether a page should tuck the node away: it is labelled so, or there is nothing in it.
fn hidden(node: &Node) -> bool {
    node.messages.iter().all(says_nothing) || node.labels.get("hidden").is_some_and(|value| value == "true")
}

/// Whether nobody would read the message, neither people nor models: it only carries fields of others, such as the AI SDK's.
fn says_nothing(message: &Message) -> bool {
    let said = !message.content.is_empty() || message.reasoning.is_some() || !message.tool_calls.is_empty();
    !said && !message.include_in_context && message.kind == Kind::Plain
}

/// What is wrong at a node of a tree, or at the message at a place in it.
fn finding(
    tree: &Transcript,
    node: &MessageId,
    index: Option<usize>,
    rule: &str,
    message: impl ToString,
) -> LintFinding {
    LintFinding {
        transcript: tree.id().clone(),
        node: node.clone(),
        index: index.map(|index| index as u32),
        rule: rule.to_owned(),
        message: message.to_string(),
    }
}

/// A chain that cannot be followed from `leaf` to its root.
fn broken(tree: &Transcript, leaf: &MessageId, error: &ChainError) -> LintFinding {
    finding(tree, leaf, None, "broken-chain", error)
}

/// What the linter found.
fn found(tree: &Transcript, found: lint::Finding) -> LintFinding {
    finding(tree, &found.node, found.index, found.rule.name(), found.rule.words())
}

fn lint_tree(tree: &Transcript) -> Vec<LintFinding> {
    // A chain is broken where its first node names a parent that is missing.
    let tops = tree.nodes().filter(|placed| tree.parent(placed).is_none() && placed.node.parent.is_some());
    let leaves = tops.flat_map(|top| tree.subtree(&top.node.id)).filter(|placed| placed.is_leaf());
    let broken = leaves.filter_map(|leaf| {
        let error = tree.chain(&leaf.node.id).err()?;
        Some(broken(tree, &leaf.node.id, &error))
    });
    let rest = lint::check_tree(tree).into_iter().map(|one| found(tree, one));
    let mut findings: Vec<LintFinding> = broken.chain(rest).collect();
    // Branches share their beginning, and with it the findings there.
    let mut seen = HashSet::new();
    findings.retain(|finding| seen.insert(format!("{}\n{:?}\n{}", finding.node, finding.index, finding.rule)));
    let damage = tree.damage().iter().map(|what| finding(tree, tree.id(), None, "damage", what));
    damage.chain(findings).collect()
}

fn lint_chain(tree: &Transcript, leaf: &MessageId) -> Vec<LintFinding> {
    let (chain, error) = lenient(tree, leaf);
    let broken = error.map(|error| broken(tree, leaf, &error));
    broken.into_iter().chain(lint::check(&chain).into_iter().map(|one| found(tree, one))).collect()
}
