//! What is remembered, kept: episodes and facts are stored, merged, edited, pinned and deleted here. `retrieve` reads them. What to
//! remember, and how records are compared and ranked, is `threadkeep_compaction::memory`'s.
//!
//! **Two writers.** Records change, unlike the log. So every commit that writes them moves a marker, one key of a random
//! name, and is conditional on the marker that its writer has read. Of two writers with the same picture one gets a conflict,
//! reads again and goes again. Whoever writes records in a commit of its own uses [`Memories::commit`] for that, and
//! [`Keep::remembered`] after it.
//!
//! **Deletion.** With messages goes what was remembered of them, in the same commit: see `threadkeep_compaction::memory`'s
//! deletion rule. A record of a deleted transcript that other transcripts' messages carry too belongs to none from then on. A
//! fact that was superseded by one that goes holds again, unless another one superseded that.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter::successors;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use threadkeep_archive::own::write_memory;
use threadkeep_compaction::memory::{
    Episode, EpisodeEdit, Fact, FactEdit, Facts, Left, Memory, MemoryOrigin, Remembered, ToolInteraction, Whose,
    episode_without, fact_without, remember, steps, tool_interactions,
};
use threadkeep_compaction::summary::FoundFact;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::{Message, MessageId, Transcript};
use threadkeep_store::{Commit, Scan, Store, StoreError};

use crate::json::{from_json, to_json};
use crate::protocol::{BadRequest, Event, NewFact};
use crate::{Keep, KeepError, keys};

/// How often a change that lost against another writer is tried again.
const TRIES: u32 = 1000;

/// All records as the store has them, with the marker that was there before they were read. The engine keeps them as long as the marker
/// stays, so that one more record costs no reading of the others.
#[derive(Debug, Default, Clone)]
pub(crate) struct Memories {
    marker: Option<String>,
    /// All episodes, by their ids.
    pub episodes: BTreeMap<String, Episode>,
    /// All facts.
    pub facts: Facts,
    /// The facts that do not hold for an agent, by its name: each prompt asks for them, and they change with the records only.
    overruled: RefCell<HashMap<String, Rc<HashSet<String>>>>,
}

/// What becomes of records.
#[derive(Debug, Default)]
pub(crate) struct MemoryChange {
    /// Episodes to store, new or changed.
    pub episodes: Vec<Episode>,
    /// Facts to store, new or changed.
    pub facts: Vec<Fact>,
    /// Episodes to delete.
    pub gone_episodes: Vec<Episode>,
    /// Facts to delete.
    pub gone_facts: Vec<Fact>,
}

/// A change that is in a commit, to be given to [`Keep::remembered`] after it.
#[derive(Debug)]
pub(crate) struct MemoryWrite {
    change: MemoryChange,
    /// The marker before.
    before: Option<String>,
    /// The marker that takes its place; `None` where nothing changes.
    marker: Option<String>,
}

impl MemoryChange {
    fn is_empty(&self) -> bool {
        self.episodes.is_empty() && self.facts.is_empty() && self.gone_episodes.is_empty() && self.gone_facts.is_empty()
    }

    fn event(&self) -> Event {
        let episodes = self.episodes.iter().chain(&self.gone_episodes).map(|episode| episode.id.clone()).collect();
        let facts = self.facts.iter().chain(&self.gone_facts).map(|fact| fact.id.clone()).collect();
        Event::Memory { episodes, facts }
    }
}

impl Memories {
    /// Adds a change to a commit, on the condition that nobody has written records since these were read. `random` names the
    /// new marker. The commit then fails with a conflict on a key for which [`keys::is_memory_mark`] holds.
    pub(crate) fn commit(
        &self,
        change: MemoryChange,
        random: u64,
        commit: &mut Commit,
    ) -> Result<MemoryWrite, KeepError> {
        let before = self.marker.clone();
        if change.is_empty() {
            return Ok(MemoryWrite { change, before, marker: None });
        }
        match &before {
            Some(marker) => {
                commit.present.push(marker.clone());
                commit.deletes.push(marker.clone());
            }
            None => {
                commit.absent.push(keys::MEMORY.to_owned());
                commit.puts.push((keys::MEMORY.to_owned(), Vec::new()));
            }
        }
        let marker = keys::memory_mark(random);
        commit.puts.push((marker.clone(), Vec::new()));
        let of_episode = |episode: &Episode| keys::EPISODES.of(episode.transcript.as_ref(), &episode.id);
        let of_fact = |fact: &Fact| keys::FACTS.of(fact.transcript.as_ref(), &fact.id);
        commit.deletes.extend(change.gone_episodes.iter().map(of_episode));
        commit.deletes.extend(change.gone_facts.iter().map(of_fact));
        for episode in &change.episodes {
            commit.puts.push((of_episode(episode), to_json(episode)?));
        }
        for fact in &change.facts {
            commit.puts.push((of_fact(fact), to_json(fact)?));
        }
        Ok(MemoryWrite { change, before, marker: Some(marker) })
    }

    fn apply(&mut self, write: MemoryWrite) {
        let MemoryWrite { change, marker, .. } = write;
        self.marker = marker;
        self.overruled.take();
        for gone in &change.gone_episodes {
            self.episodes.remove(&gone.id);
        }
        for gone in &change.gone_facts {
            self.facts.remove(&gone.id);
        }
        self.episodes.extend(change.episodes.into_iter().map(|episode: Episode| (episode.id.clone(), episode)));
        change.facts.into_iter().for_each(|fact| self.facts.insert(fact));
    }

    pub(crate) fn episode(&self, id: &str) -> Result<&Episode, KeepError> {
        self.episodes.get(id).ok_or_else(|| KeepError::MissingMemory(id.to_owned()))
    }

    pub(crate) fn fact(&self, id: &str) -> Result<&Fact, KeepError> {
        self.facts.get(id).ok_or_else(|| KeepError::MissingMemory(id.to_owned()))
    }

    /// The ids of the facts that do not hold for an agent: see [`Facts::overruled_for`].
    pub(crate) fn overruled_for(&self, agent: &str) -> Rc<HashSet<String>> {
        let mut all = self.overruled.borrow_mut();
        let found = all.entry(agent.to_owned()).or_insert_with(|| {
            let ids = self.facts.overruled_for(agent);
            Rc::new(ids.into_iter().map(str::to_owned).collect())
        });
        Rc::clone(found)
    }

    /// The facts that those of the ids `gone` superseded, as they are once those are gone. They hold again, unless a fact that stays
    /// superseded the one that goes.
    pub(crate) fn revived<'a>(&'a self, gone: &'a HashSet<&str>) -> impl Iterator<Item = Fact> + 'a {
        let superseded = gone.iter().flat_map(|id| self.facts.superseded_by(id));
        let superseded = superseded.filter(|id| !gone.contains(id.as_str())).filter_map(|id| self.facts.get(id));
        let next = |fact: &Fact| self.facts.get(fact.superseded_by.as_ref()?);
        superseded.map(move |fact| {
            // A file may bring facts that supersede each other in a circle.
            let mut further = successors(next(fact), |fact| next(fact)).take(gone.len() + 1);
            let stays = further.find(|it| !gone.contains(it.id.as_str())).filter(|it| it.id != fact.id);
            Fact { superseded_by: stays.map(|it| it.id.clone()), ..fact.clone() }
        })
    }
}

impl<S: Store> Keep<S> {
    /// The tool calls of the chain that ends at `at` (a head's name, or a node or an alias of it), with their results; those
    /// of one turn where it is given.
    ///
    /// # Errors
    /// `missing-node`; those of a chain; the store's.
    pub async fn tool_interactions(&self, at: &str, turn: Option<u32>) -> Result<Vec<ToolInteraction>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let found = self.glance(&transcript, |log| {
            let chain = log.tree.chain(&leaf)?;
            Ok(tool_interactions(&steps(chain.iter().map(|placed| &placed.node)), turn))
        });
        found.await
    }

    /// Remembers a fact: a new one, or more sources and confidence for one that says the same. What it contradicts is superseded. Gives
    /// the fact as it is now. Facts of other owners stay as they are. What contradicts a fact of a stronger origin is stored as superseded.
    ///
    /// # Errors
    /// `bad-request` for one without words; the store's.
    pub async fn remember(&self, new: NewFact) -> Result<Fact, KeepError> {
        let (pinned, transcript, agent, origin) = (new.pinned, new.transcript, new.agent, new.origin);
        let found = FoundFact {
            kind: new.kind,
            fact: new.fact,
            tags: new.tags,
            confidence: new.confidence,
            salience: new.salience,
            sources: new.sources,
        };
        let mut answer = None;
        let mut plan = |known: &Memories| {
            let whose = Whose { agent: agent.as_deref(), transcript: transcript.as_ref() };
            let done = self.merged(known, vec![(found.clone(), origin)], whose);
            let id = done.ids.into_iter().next().flatten();
            let why = || BadRequest { argument: "fact".to_owned(), why: "says nothing".to_owned() };
            let id = id.ok_or_else(why)?;
            let mut facts = done.changed;
            let at = facts.iter().position(|fact| fact.id == id).unwrap_or(facts.len());
            if at == facts.len() {
                facts.push(known.fact(&id)?.clone());
            }
            let changed = pinned && !facts[at].pinned;
            facts[at].pinned |= pinned;
            answer = Some(facts[at].clone());
            if known.facts.get(&id) == Some(&facts[at]) && !changed {
                facts.remove(at);
            }
            Ok(MemoryChange { facts, ..MemoryChange::default() })
        };
        self.change(&mut plan).await?;
        // The plan has answered, or `change` has failed.
        answer.ok_or_else(|| KeepError::MissingMemory(String::new()))
    }

    /// Merges found facts into `known`, with ids of this engine's making.
    pub(crate) fn merged(&self, known: &Memories, found: Vec<(FoundFact, MemoryOrigin)>, whose: Whose) -> Remembered {
        let mut next_id = || format!("sem_{:016x}", self.random());
        remember(&known.facts, found, whose, self.now(), &mut next_id)
    }

    /// Changes a fact as its user says. Gives the fact as it is now.
    ///
    /// # Errors
    /// `missing-memory`; `bad-request` for an empty text; the store's.
    pub async fn edit_fact(&self, id: &str, edit: FactEdit) -> Result<Fact, KeepError> {
        not_empty("fact", edit.fact.as_deref())?;
        let mut answer = Vec::new();
        let mut plan = |known: &Memories| {
            let mut fact = known.fact(id)?.clone();
            edit.clone().apply(&mut fact);
            answer = vec![fact.clone()];
            Ok(MemoryChange { facts: vec![fact], ..MemoryChange::default() })
        };
        self.change(&mut plan).await?;
        answer.pop().ok_or_else(|| KeepError::MissingMemory(id.to_owned()))
    }

    /// Changes an episode as its user says. Gives the episode as it is now.
    ///
    /// # Errors
    /// `missing-memory`; `bad-request` for an empty text; the store's.
    pub async fn edit_episode(&self, id: &str, edit: EpisodeEdit) -> Result<Episode, KeepError> {
        not_empty("summary", edit.summary.as_deref())?;
        let mut answer = Vec::new();
        let mut plan = |known: &Memories| {
            let mut episode = known.episode(id)?.clone();
            edit.clone().apply(&mut episode);
            answer = vec![episode.clone()];
            Ok(MemoryChange { episodes: vec![episode], ..MemoryChange::default() })
        };
        self.change(&mut plan).await?;
        answer.pop().ok_or_else(|| KeepError::MissingMemory(id.to_owned()))
    }

    /// Pins an episode or a fact, or lets go of it: what is pinned comes first in every bundle.
    ///
    /// # Errors
    /// `missing-memory`; the store's.
    pub async fn pin(&self, id: &str, pinned: bool) -> Result<(), KeepError> {
        let mut plan = |known: &Memories| {
            let mut change = MemoryChange::default();
            match known.episode(id) {
                Ok(episode) => change.episodes.push(Episode { pinned, ..episode.clone() }),
                Err(_) => change.facts.push(Fact { pinned, ..known.fact(id)?.clone() }),
            }
            Ok(change)
        };
        self.change(&mut plan).await
    }

    /// Stores records as they are, where there is none of their id yet: what an archive brings. Gives how many were new.
    ///
    /// # Errors
    /// The store's.
    pub async fn restore(&self, memories: Vec<Memory>) -> Result<u32, KeepError> {
        let mut new = 0;
        let mut plan = |known: &Memories| {
            let mut ids = HashSet::new();
            let mut is_new = |id| !known.episodes.contains_key(id) && known.facts.get(id).is_none() && ids.insert(id);
            let mut change = MemoryChange::default();
            for memory in &memories {
                match memory {
                    Memory::Episode(episode) if is_new(episode.id.as_str()) => change.episodes.push(episode.clone()),
                    Memory::Fact(fact) if is_new(fact.id.as_str()) => change.facts.push(fact.clone()),
                    _ => {}
                }
            }
            new = (change.episodes.len() + change.facts.len()) as u32;
            Ok(change)
        };
        self.change(&mut plan).await?;
        Ok(new)
    }

    /// Commits what `plan` makes of the records; when another writer was first, reads them again and asks `plan` again.
    pub(crate) async fn change(
        &self,
        plan: &mut dyn FnMut(&Memories) -> Result<MemoryChange, KeepError>,
    ) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        for _ in 0..TRIES {
            let known = self.memories().await?;
            let change = plan(&known)?;
            if change.is_empty() {
                return Ok(());
            }
            let mut commit = Commit::default();
            let write = known.commit(change, self.random(), &mut commit)?;
            match self.inner.store.commit(commit).await {
                Err(StoreError::Conflict { .. }) => continue,
                done => done?,
            }
            drop(known);
            self.remembered(write);
            return Ok(());
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    /// Takes note of a change that is durable now, and tells of it.
    pub(crate) fn remembered(&self, write: MemoryWrite) {
        if write.marker.is_none() {
            return;
        }
        let event = write.change.event();
        // What was read since is not what the change was made of, and is read again.
        let known = self.inner.memories.take().filter(|known| known.marker == write.before);
        let known = known.map(|mut known| {
            Rc::make_mut(&mut known).apply(write);
            known
        });
        *self.inner.memories.borrow_mut() = known;
        self.emit(&event);
    }

    /// All records, with the marker for changing them.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn memories(&self) -> Result<Rc<Memories>, KeepError> {
        // The marker is read first: what is written after that moves it.
        let marker = self.keys_of(&keys::memory_markers()).await?.into_iter().next();
        let before = self.inner.memories.borrow().clone();
        // Without a marker nothing was ever remembered, or all of it was deleted: that can be kept as well.
        if let Some(before) = before.filter(|before| before.marker == marker) {
            return Ok(before);
        }
        let mut known = Memories { marker, ..Memories::default() };
        let episodes = self.remembered_in(&keys::EPISODES.all()).await?;
        known.episodes.extend(episodes.into_iter().map(|episode: Episode| (episode.id.clone(), episode)));
        for fact in self.remembered_in(&keys::FACTS.all()).await? {
            known.facts.insert(fact);
        }
        let known = Rc::new(known);
        *self.inner.memories.borrow_mut() = Some(Rc::clone(&known));
        Ok(known)
    }

    /// The records of a range that can be read; the others are damage.
    async fn remembered_in<T: DeserializeOwned>(&self, range: &Scan) -> Result<Vec<T>, KeepError> {
        let records = self.scan_whole(range).await?;
        let read = |(key, bytes): (String, Vec<u8>)| self.sound(&key, from_json(&bytes));
        Ok(records.into_iter().filter_map(read).collect())
    }

    /// The episodes and facts of two ranges as lines of our own format.
    pub(crate) async fn archive_lines(&self, episodes: &Scan, facts: &Scan) -> Result<String, KeepError> {
        let episodes = self.remembered_in(episodes).await?.into_iter().map(Memory::Episode);
        let facts = self.remembered_in(facts).await?.into_iter().map(Memory::Fact);
        Ok(episodes.chain(facts).map(|memory| write_memory(&memory)).collect())
    }

    /// Adds to `commit` what the deletion of the nodes `gone` of `tree` means for what is remembered; of all of `tree` where
    /// `whole`. Gives the change, for [`Keep::remembered`] after the commit.
    pub(crate) async fn forget_sources(
        &self,
        tree: &Transcript,
        gone: &HashSet<&MessageId>,
        whole: bool,
        commit: &mut Commit,
    ) -> Result<MemoryWrite, KeepError> {
        let known = self.memories().await?;
        let is_gone = |source: &Source| gone.contains(&source.node) || (whole && source.node.is_at_home_in(tree.id()));
        let mut change = MemoryChange::default();
        for episode in known.episodes.values() {
            let mut left = episode.clone();
            let texts = self.texts_of(&episode.sources, &is_gone, tree).await?;
            let kept = episode_without(&mut left, &is_gone, &|source| texts.get(source).cloned());
            let homeless = whole && episode.transcript.as_ref() == Some(tree.id());
            match kept {
                Left::None => change.gone_episodes.push(episode.clone()),
                Left::All if !homeless => {}
                _ if homeless && left.sources.is_empty() => change.gone_episodes.push(episode.clone()),
                _ if homeless => {
                    change.gone_episodes.push(episode.clone());
                    change.episodes.push(Episode { transcript: None, turns: Vec::new(), ..left });
                }
                _ => change.episodes.push(left),
            }
        }
        for fact in known.facts.iter() {
            let mut left = fact.clone();
            let texts = self.texts_of(&fact.sources, &is_gone, tree).await?;
            let kept = fact_without(&mut left, &is_gone, &|source| texts.get(source).cloned());
            let homeless = whole && fact.transcript.as_ref() == Some(tree.id());
            match kept {
                Left::None => change.gone_facts.push(fact.clone()),
                Left::All if !homeless => {}
                _ if homeless && left.sources.is_empty() => change.gone_facts.push(fact.clone()),
                _ if homeless => {
                    change.gone_facts.push(fact.clone());
                    change.facts.push(Fact { transcript: None, ..left });
                }
                _ => change.facts.push(left),
            }
        }
        let places = change.facts.iter().enumerate().map(|(place, fact)| (fact.id.clone(), place));
        let places: HashMap<String, usize> = places.collect();
        let gone = change.gone_facts.iter().map(|fact| fact.id.as_str()).filter(|id| !places.contains_key(*id));
        let revived: Vec<Fact> = known.revived(&gone.collect()).collect();
        for fact in revived {
            match places.get(&fact.id) {
                Some(place) => change.facts[*place].superseded_by = fact.superseded_by,
                None => change.facts.push(fact),
            }
        }
        known.commit(change, self.random(), commit)
    }

    /// The texts of those of `sources` that stay, where some go.
    async fn texts_of(
        &self,
        sources: &[Source],
        is_gone: &dyn Fn(&Source) -> bool,
        tree: &Transcript,
    ) -> Result<BTreeMap<Source, String>, KeepError> {
        let mut texts = BTreeMap::new();
        if !sources.iter().any(is_gone) {
            return Ok(texts);
        }
        for source in sources.iter().filter(|source| !is_gone(source)) {
            let read = |tree: &Transcript| {
                let node = tree.get(tree.resolve(&source.node)?)?;
                node.node.messages.get(source.index as usize).map(everything_said)
            };
            let text = match read(tree) {
                Some(text) => Some(text),
                None => self.locate(&source.node, |log, _| Ok(read(&log.tree))).await?.and_then(|(_, text)| text),
            };
            texts.extend(text.map(|text| (source.clone(), text)));
        }
        Ok(texts)
    }
}

/// A message's text with what its calls say.
pub(crate) fn everything_said(message: &Message) -> String {
    let mut text = message.text().into_owned();
    for call in &message.tool_calls {
        text.push_str(&[" ", call.name(), " ", call.arguments()].concat());
    }
    text
}

fn not_empty(argument: &str, text: Option<&str>) -> Result<(), KeepError> {
    match text {
        Some(text) if text.trim().is_empty() => {
            Err(BadRequest { argument: argument.to_owned(), why: "must not be empty".to_owned() }.into())
        }
        _ => Ok(()),
    }
}
