//! Search: an index that lives in the store, follows the transcripts, and answers queries.
//!
//! Goes in: a query and options. Comes out: hits, each with the branch that holds it and a snippet. How texts are indexed and
//! ranked is `threadkeep_core::recall`'s; here is where its segments lie, and how the index comes to hold exactly the messages
//! that there are.
//!
//! **Following.** Nobody who writes messages writes to the index. A search first compares how many messages each transcript
//! has with how many of them are indexed (messages do not change, and deletion takes both away in one commit, so equal
//! counts mean equal sets) and indexes what is missing. So a crash, another tab or an import leaves nothing behind that the
//! next search would not find, and a keep that is never searched pays nothing.
//!
//! **Deletion.** A deletion removes the segments that hold anything of the transcript, in its own commit; what they held of
//! others is indexed again by the next search. It replaces the index's mark, on whose presence every commit to the index
//! is conditional: what another tab has read and not yet written can no longer be written.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use threadkeep_core::recall::{Builder, Doc, Filter, Index, NewDoc, Picked, Query, Segment, merge, snippet};
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Message, MessageId, Role, Transcript, TranscriptId};
use threadkeep_store::{Commit, Durability, Scan, Store, StoreError};
use tokio::sync::{Mutex, MutexGuard};

use crate::protocol::{Hit, IndexProgress, SearchOptions, SearchReply, SearchRequest};
use crate::{Keep, KeepError, keys};

/// A batch of new documents ends at so many, or at so many bytes of text.
const BATCH_DOCS: usize = 2048;
const BATCH_BYTES: usize = 2 << 20;
/// New documents are written when there are so many; fewer stay in memory, and are indexed again after a restart.
const WRITE_FROM: usize = 64;
/// Segments are merged up to so many documents and bytes.
const SEGMENT_DOCS: usize = 8192;
const SEGMENT_BYTES: usize = 4 << 20;
/// With so many transcripts or fewer, every search looks at all their counts; with more, what other tabs have written is
/// noticed after [`LOOK_AGAIN`] milliseconds.
const FEW: usize = 20;
const LOOK_AGAIN: i64 = 5000;
/// How often a change of the index that lost against another writer is tried again.
const TRIES: u32 = 100;
/// About how many bytes of text a snippet shows.
const SNIPPET: usize = 200;

/// The index as far as it is in memory, and whether transcripts may have changed since it was last compared with them.
#[derive(Default)]
pub(crate) struct Search {
    state: Mutex<State>,
    /// Set by every change made through this engine.
    pub(crate) stale: Cell<bool>,
}

#[derive(Default)]
struct State {
    /// The mark of the state that `segments` are of; `None` before the index was read.
    mark: Option<String>,
    segments: Vec<(String, Rc<Segment>)>,
    /// New documents that are not written yet.
    fresh: Option<Rc<Segment>>,
    index: Rc<Index>,
    /// How many documents of each transcript are indexed.
    counts: HashMap<TranscriptId, u32>,
    /// When counts were compared last, over how many transcripts with how many messages.
    looked: Option<i64>,
    transcripts: usize,
    messages: u64,
    /// Transcripts of which something is missing.
    pending: Vec<TranscriptId>,
}

impl State {
    /// Makes the index of the segments as they are now.
    fn rebuild(&mut self) {
        let all = self.segments.iter().map(|(_, segment)| segment).chain(&self.fresh);
        self.index = Rc::new(Index::new(all.cloned().collect()));
        self.counts.clear();
        for segment in self.index.segments() {
            let mut counts = vec![0; segment.owners().len()];
            segment.docs().iter().for_each(|doc| counts[doc.owner as usize] += 1);
            for (owner, count) in segment.owners().iter().zip(counts) {
                if let Ok(id) = MessageId::new(owner.as_str()) {
                    *self.counts.entry(id).or_default() += count;
                }
            }
        }
    }

    /// The places of a transcript's messages that are indexed, ascending.
    fn places(&self, transcript: &TranscriptId) -> Vec<(u64, u32)> {
        let mut places = Vec::new();
        for segment in self.index.segments() {
            let Some(owner) = segment.owners().iter().position(|owner| owner == transcript.as_str()) else { continue };
            let mine = segment.docs().iter().filter(|doc| doc.owner as usize == owner);
            places.extend(mine.map(|doc| (doc.seq, doc.index)));
        }
        places.sort_unstable();
        places
    }

    fn progress(&self) -> IndexProgress {
        let indexed = self.index.docs() as u64;
        IndexProgress {
            indexed: if self.pending.is_empty() { self.messages } else { indexed.min(self.messages) },
            messages: self.messages,
            bytes: self.index.bytes() as u64,
        }
    }
}

impl<S: Store> Keep<S> {
    /// Answers one request about search.
    ///
    /// # Errors
    /// [`KeepError`].
    pub async fn find_messages(&self, request: SearchRequest) -> Result<serde_json::Value, KeepError> {
        Ok(match request {
            SearchRequest::Search { query, options } => self.search(&query, &options).await?.to_json(),
            SearchRequest::IndexProgress => self.index_progress().await?.to_json(),
        })
    }

    /// Finds messages in all transcripts and branches: words in any of their forms, `"phrases"`, `begin*`, `-without`. The
    /// best come first. What is not indexed yet is indexed first, or (without [`SearchOptions::wait`]) one batch of it.
    ///
    /// # Errors
    /// `missing-node` for a branch that is not there; the store's.
    pub async fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchReply, KeepError> {
        let (index, progress) = {
            let mut state = self.indexed_state().await?;
            while !state.pending.is_empty() {
                self.index_batch(&mut state).await?;
                if !options.wait {
                    break;
                }
            }
            (Rc::clone(&state.index), state.progress())
        };
        let query = Query::parse(query);
        let branch = match &options.branch {
            None => None,
            Some(leaf) => {
                let seqs = |tree: &Transcript| -> Result<_, KeepError> {
                    let mut seqs: Vec<u64> = tree.chain(leaf)?.iter().map(|placed| placed.seq).collect();
                    seqs.sort_unstable();
                    Ok((tree.id().clone(), seqs))
                };
                let found = self.locate(leaf, |log, _| seqs(&log.tree)).await?;
                Some(found.ok_or_else(|| KeepError::MissingNode(leaf.clone()))?.1)
            }
        };
        let of_source = match &options.source {
            None => None,
            Some(source) => {
                let all = self.transcripts().await?.into_iter();
                Some(all.filter(|known| known.info.source == *source).map(|known| known.id).collect::<Vec<_>>())
            }
        };
        let owner = |owner: &str| {
            options.transcript.as_ref().is_none_or(|wanted| wanted.as_str() == owner)
                && branch.as_ref().is_none_or(|(wanted, _)| wanted.as_str() == owner)
                && of_source.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| wanted.as_str() == owner))
        };
        let doc = |_: &str, doc: &Doc| branch.as_ref().is_none_or(|(_, seqs)| seqs.binary_search(&doc.seq).is_ok());
        let filter = Filter {
            roles: options.roles.iter().fold(0, |roles, role| roles | 1 << role_number(role)),
            since: options.since.map(|time| time.div_euclid(1000)),
            until: options.until.map(|time| time.div_euclid(1000)),
            name: options.tool.as_deref(),
            owner: Some(&owner),
            doc: Some(&doc),
            ..Filter::default()
        };
        let mut hits = Vec::new();
        let found = index.find(&query, &filter, options.limit.saturating_add(8));
        for found in found {
            if hits.len() >= options.limit {
                break;
            }
            let Ok(transcript) = MessageId::new(found.owner) else { continue };
            let hit = self.read(&transcript, |log| Ok(hit(&log.tree, &found.doc, found.score, &query))).await?;
            // What was deleted in this moment is no hit any more.
            hits.extend(hit.flatten());
        }
        Ok(SearchReply { hits, progress })
    }

    /// How far the index has come. Looks at the counts of all transcripts, and indexes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn index_progress(&self) -> Result<IndexProgress, KeepError> {
        Ok(self.indexed_state().await?.progress())
    }

    /// The index as the store has it, compared with the transcripts.
    async fn indexed_state(&self) -> Result<MutexGuard<'_, State>, KeepError> {
        let mut state = self.inner.search.state.lock().await;
        self.sync(&mut state).await?;
        let now = self.now();
        let stale = self.inner.search.stale.replace(false) || state.transcripts <= FEW;
        if stale || state.looked.is_none_or(|looked| !(looked..looked + LOOK_AGAIN).contains(&now)) {
            let looked = self.compare(&mut state).await;
            if looked.is_err() {
                self.inner.search.stale.set(true);
            }
            looked?;
            state.looked = Some(now);
        }
        Ok(state)
    }

    /// Reads what the store has of the index, if that is not what memory has. Makes an empty one where there is none.
    async fn sync(&self, state: &mut State) -> Result<(), KeepError> {
        let store = &self.inner.store;
        for _ in 0..TRIES {
            let Some(mark) = mark(store).await? else {
                let mark = self.new_mark();
                let puts = vec![(keys::INDEX_MADE.to_owned(), Vec::new()), (mark, Vec::new())];
                let absent = vec![keys::INDEX_MADE.to_owned()];
                match store.commit(Commit { absent, puts, ..Commit::default() }).await {
                    Ok(()) | Err(StoreError::Conflict { .. }) => continue,
                    Err(error) => return Err(error.into()),
                }
            };
            if state.mark.as_ref() == Some(&mark) {
                return Ok(());
            }
            let listed = store.scan(&Scan::prefix(keys::INDEX_OWNERS)).await?;
            let ids = listed.iter().filter_map(|(key, _)| key.strip_prefix(keys::INDEX_OWNERS));
            let known = std::mem::take(&mut state.segments);
            // Reading them all takes one request.
            let all = if known.is_empty() { store.scan(&Scan::prefix(keys::INDEX_SEGMENT)).await? } else { Vec::new() };
            let mut all = all.into_iter().peekable();
            let (mut segments, mut damaged) = (Vec::new(), Vec::new());
            for id in ids {
                let key = [keys::INDEX_SEGMENT, id].concat();
                while all.next_if(|(other, _)| *other < key).is_some() {}
                if let Some((_, segment)) = known.iter().find(|(known, _)| known == id) {
                    segments.push((id.to_owned(), Rc::clone(segment)));
                    continue;
                }
                let bytes = match all.next_if(|(other, _)| *other == key) {
                    Some((_, bytes)) => Some(bytes),
                    None => store.get(&key).await?,
                };
                match bytes.map(Segment::read) {
                    Some(Ok(segment)) => segments.push((id.to_owned(), Rc::new(segment))),
                    // Gone since, or not to be read: then it is made anew.
                    _ => damaged.push(id.to_owned()),
                }
            }
            state.segments = segments;
            state.mark = Some(mark);
            state.fresh = None;
            state.looked = None;
            state.pending.clear();
            state.rebuild();
            if damaged.is_empty() || self.replace(state, &damaged, None).await? {
                return Ok(());
            }
        }
        Err(busy())
    }

    /// Compares how many messages transcripts have with how many are indexed.
    async fn compare(&self, state: &mut State) -> Result<(), KeepError> {
        let transcripts = self.transcripts().await?;
        state.transcripts = transcripts.len();
        state.messages = transcripts.iter().map(|known| u64::from(known.info.messages)).sum();
        let missing = transcripts
            .into_iter()
            .filter(|known| state.counts.get(&known.id).copied().unwrap_or_default() != known.info.messages);
        let missing: Vec<TranscriptId> = missing.map(|known| known.id).collect();
        state.pending = missing;
        Ok(())
    }

    /// Indexes the next batch of what is missing. When another tab was first, what it wrote is read instead.
    async fn index_batch(&self, state: &mut State) -> Result<(), KeepError> {
        let mut builder = Builder::default();
        while builder.len() < BATCH_DOCS && builder.text_bytes() < BATCH_BYTES {
            let Some(transcript) = state.pending.last().cloned() else { break };
            let places = state.places(&transcript);
            let mut done = true;
            self.read_with(&transcript, &mut |log| done = add_missing(&mut builder, &log.tree, &places)).await?;
            if !done {
                break;
            }
            state.pending.pop();
        }
        if builder.is_empty() {
            return Ok(());
        }
        let mut new = builder.finish();
        if let Some(fresh) = state.fresh.take() {
            new =
                merge(&[Picked { segment: &fresh, keep: &|_, _| true }, Picked { segment: &new, keep: &|_, _| true }]);
        }
        if state.pending.is_empty() && new.docs().len() < WRITE_FROM && new.bytes().len() < SEGMENT_BYTES / 64 {
            state.fresh = Some(Rc::new(new));
            state.rebuild();
            return Ok(());
        }
        // Segments not much larger than what there is to write are merged with it, so that there are never many.
        let mut smaller: Vec<&(String, Rc<Segment>)> = state.segments.iter().collect();
        smaller.sort_by_key(|(_, segment)| segment.docs().len());
        let (mut docs, mut bytes) = (new.docs().len(), new.bytes().len());
        let mut merged = Vec::new();
        for (id, segment) in smaller {
            let (more, size) = (segment.docs().len(), segment.bytes().len());
            if more > 2 * docs || docs + more > SEGMENT_DOCS || bytes + size > SEGMENT_BYTES {
                break;
            }
            (docs, bytes) = (docs + more, bytes + size);
            merged.push((id.clone(), Rc::clone(segment)));
        }
        if !merged.is_empty() {
            let all = merged.iter().map(|(_, segment)| &**segment).chain([&new]);
            let inputs: Vec<_> = all.map(|segment| Picked { segment, keep: &|_, _| true }).collect();
            new = merge(&inputs);
        }
        let old: Vec<String> = merged.into_iter().map(|(id, _)| id).collect();
        if !self.replace(state, &old, Some(new)).await? {
            self.sync(state).await?;
            self.compare(state).await?;
        }
        Ok(())
    }

    /// Puts a new segment in the place of old ones, in one commit. `false` when somebody else changed the index first.
    async fn replace(&self, state: &mut State, old: &[String], new: Option<Segment>) -> Result<bool, KeepError> {
        let Some(known) = state.mark.take() else { return Ok(false) };
        let mark = self.new_mark();
        // What is lost of it is made again.
        let mut commit = Commit { durability: Durability::Relaxed, ..Commit::default() };
        exchange_mark(&mut commit, &known, &mark);
        old.iter().for_each(|id| drop_segment(&mut commit, id));
        let id = format!("{:016x}", self.random());
        if let Some(segment) = &new {
            let owners: Vec<String> = segment
                .owners()
                .iter()
                .filter_map(|owner| MessageId::new(owner.as_str()).ok())
                .map(|owner| keys::record(&owner))
                .collect();
            commit.puts.push(([keys::INDEX_OWNERS, id.as_str()].concat(), owners.join("\n").into_bytes()));
            commit.puts.push(([keys::INDEX_SEGMENT, id.as_str()].concat(), segment.bytes().to_vec()));
        }
        match self.inner.store.commit(commit).await {
            Err(StoreError::Conflict { .. }) => return Ok(false),
            done => done?,
        }
        state.mark = Some(mark);
        state.segments.retain(|(known, _)| !old.contains(known));
        state.segments.extend(new.map(|segment| (id, Rc::new(segment))));
        state.rebuild();
        Ok(true)
    }

    fn new_mark(&self) -> String {
        format!("{}{:016x}", keys::INDEX_MARK, self.random())
    }

    /// Adds to the commit that deletes something of `transcript` what deletes it from the index.
    pub(crate) async fn unindex(&self, transcript: &TranscriptId, commit: &mut Commit) -> Result<(), KeepError> {
        let store = &self.inner.store;
        let Some(known) = mark(store).await? else {
            commit.absent.push(keys::INDEX_MADE.to_owned());
            return Ok(());
        };
        exchange_mark(commit, &known, &self.new_mark());
        let record = keys::record(transcript);
        for (key, owners) in store.scan(&Scan::prefix(keys::INDEX_OWNERS)).await? {
            if owners.split(|byte| *byte == b'\n').any(|owner| owner == record.as_bytes())
                && let Some(id) = key.strip_prefix(keys::INDEX_OWNERS)
            {
                drop_segment(commit, id);
            }
        }
        Ok(())
    }
}

/// The mark of the index's state; `None` where there is no index.
async fn mark(store: &impl Store) -> Result<Option<String>, KeepError> {
    Ok(store.scan(&Scan::prefix(keys::INDEX_MARK).limit(1)).await?.pop().map(|(key, _)| key))
}

fn exchange_mark(commit: &mut Commit, known: &str, new: &str) {
    commit.present.push(known.to_owned());
    commit.deletes.push(known.to_owned());
    commit.puts.push((new.to_owned(), Vec::new()));
}

fn drop_segment(commit: &mut Commit, id: &str) {
    commit.deletes.push([keys::INDEX_OWNERS, id].concat());
    commit.deletes.push([keys::INDEX_SEGMENT, id].concat());
}

fn busy() -> KeepError {
    StoreError::Transient("other writers were always first".to_owned()).into()
}

/// Adds the messages of a transcript that are not at `places` (ascending) to a batch. `false` when it became full before
/// the end.
fn add_missing(builder: &mut Builder, tree: &Transcript, places: &[(u64, u32)]) -> bool {
    // The tools' names, by the ids of their calls.
    let mut calls: HashMap<&str, &str> = HashMap::new();
    for placed in tree.nodes() {
        let mut before = last_before(tree, placed);
        for (index, message) in (0u32..).zip(&placed.node.messages) {
            calls.extend(message.tool_calls.iter().map(|call| (call.id(), call.name())));
            let place = (placed.seq, index);
            if places.binary_search(&place).is_err() {
                if builder.len() >= BATCH_DOCS || builder.text_bytes() >= BATCH_BYTES {
                    return false;
                }
                let mut names: Vec<&str> = message.tool_calls.iter().map(|call| call.name()).collect();
                if message.role == Role::Tool {
                    let answered = message.tool_call_id.as_deref().and_then(|id| calls.get(id).copied());
                    names.extend(message.name.as_deref().or(answered));
                }
                names.retain(|name| !name.is_empty());
                builder.add(&NewDoc {
                    owner: tree.id().as_str(),
                    seq: placed.seq,
                    index,
                    role: role_number(message.role.as_str()),
                    kind: 0,
                    time: placed.node.created_at.unwrap_or_default(),
                    before,
                    text: &searchable(message),
                    names: &names,
                });
            }
            before = Some(place);
        }
    }
    true
}

/// The place of the last message before a node.
fn last_before(tree: &Transcript, placed: &Placed) -> Option<(u64, u32)> {
    let mut up = tree.parent(placed);
    while let Some(parent) = up {
        if let Some(last) = parent.node.messages.len().checked_sub(1) {
            return Some((parent.seq, last as u32));
        }
        up = tree.parent(parent);
    }
    None
}

/// What of a message is searched: its text, and what it asks tools.
fn searchable(message: &Message) -> String {
    let mut text = message.text().into_owned();
    for call in &message.tool_calls {
        for piece in [call.name(), call.arguments()] {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(piece);
        }
    }
    text
}

/// The index's number of a role.
fn role_number(role: &str) -> u8 {
    match role {
        "system" | "developer" => 0,
        "user" => threadkeep_core::recall::USER,
        "assistant" => 2,
        "tool" => 3,
        _ => 4,
    }
}

fn hit(tree: &Transcript, doc: &Doc, score: f32, query: &Query) -> Option<Hit> {
    let placed = tree.nodes().find(|placed| placed.seq == doc.seq)?;
    let message = placed.node.messages.get(doc.index as usize)?;
    Some(Hit {
        transcript: tree.id().clone(),
        node: placed.node.id.clone(),
        index: doc.index,
        leaf: tree.newest_leaf(&placed.node.id)?.node.id.clone(),
        role: message.role.as_str().to_owned(),
        created_at: placed.node.created_at,
        score,
        snippet: snippet(&searchable(message), query, SNIPPET),
        message: message.clone(),
    })
}
