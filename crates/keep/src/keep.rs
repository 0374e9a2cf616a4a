//! The engine: finds transcripts, keeps the recent ones in memory, serialises writers, tells listeners what changed.
//!
//! Goes in: requests. Comes out: responses and, after each durable change, events. What the requests do stands in the
//! sister modules (`route`, `heads`, `views`, `remove`, `import`, `export`); here is what they share.
//!
//! **Locks.** There are four kinds, and they are taken in this order only. Whoever holds one takes none that stands before it, nor a second one of
//! its own kind.
//!
//! 1. the claim on an agent's turn: held for the whole turn. Who holds one may take that of the turn above it, and no other;
//! 2. the search's state ([`Search`]): held while the index is brought up to date;
//! 3. the writer ([`Keep::writing`]): held for one change;
//! 4. a transcript's slot ([`Slot`]): held while its log is read or written.
//!
//! Locks are handed over in the order of asking, to a future that goes on only when somebody polls it. So whoever has several
//! futures under way polls all of them, whatever it waits for: one that is not polled may hold a lock, and nobody gets it then. The
//! tests are in `tests/engine/side_by_side.rs`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;

use threadkeep_core::sort;
use threadkeep_core::{Entry, MessageId, TranscriptError, TranscriptId};
use threadkeep_store::{Commit, Durability, Store, StoreError};
use tokio::sync::{Mutex, MutexGuard};

use crate::context::PromptCache;
use crate::damage::Known;
use crate::locks::Locks;
use crate::log::Log;
use crate::memory::Memories;
use crate::passages::LoadRanking;
use crate::protocol::Event;
use crate::search::Search;
use crate::turns::{Turns, Writing};
use crate::{Host, KeepError, keys};

/// How often a write that lost against another writer is tried again. Each loss means that somebody else progressed.
const TRIES: u32 = 1000;
/// How many writes to a transcript look at the store first, after another writer was found at work there.
const RECHECKS: u32 = 100;
/// For how many ids that do not name their transcript it is noted where they lie.
const LOCATED: usize = 100_000;

/// How an engine is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The most bytes of transcripts to keep in memory, as [`threadkeep_core::Transcript::bytes`] counts them. The
    /// transcript in use stays, even if it alone is larger. What was read and counted of chains for prompts may take half as
    /// many bytes more.
    pub cache_bytes: usize,
}

impl Default for Options {
    /// 32 MiB of transcripts.
    fn default() -> Self {
        Self { cache_bytes: 32 << 20 }
    }
}

type Listener = Rc<dyn Fn(&Event)>;

/// The engine over a store. Clones are handles to the same engine; calls may overlap.
///
/// Writers are served in the order in which they called: one at a time, but for those who append at different heads. Readers of a
/// transcript wait for a write to it that is under way, so that what they see is durable.
pub struct Keep<S> {
    pub(crate) inner: Rc<Inner<S>>,
}

impl<S> Clone for Keep<S> {
    fn clone(&self) -> Self {
        Self { inner: Rc::clone(&self.inner) }
    }
}

pub(crate) struct Inner<S> {
    pub(crate) store: S,
    host: Box<dyn Host>,
    pub(crate) options: Options,
    /// Who writes when.
    turns: Turns,
    /// Who carries out the turn of which node.
    pub(crate) claims: Rc<Locks<MessageId>>,
    cache: RefCell<HashMap<TranscriptId, Rc<Slot>>>,
    /// About how many bytes the transcripts in the cache take.
    cached_bytes: Cell<usize>,
    clock: Cell<u64>,
    /// In which transcript a head points, as last seen.
    pub(crate) heads: RefCell<HashMap<String, TranscriptId>>,
    listeners: RefCell<Vec<(u64, Listener)>>,
    pub(crate) prompts: RefCell<PromptCache>,
    pub(crate) search: Search,
    /// How the code is loaded that ranks passages.
    pub(crate) ranking: Cell<Option<LoadRanking>>,
    /// Where ids lie that do not name their transcript, as last seen.
    located: RefCell<HashMap<MessageId, TranscriptId>>,
    /// What is remembered, as it was last read.
    pub(crate) memories: RefCell<Option<Rc<Memories>>>,
    pub(crate) damaged: Known,
}

/// A transcript's place in the cache.
#[derive(Default)]
pub(crate) struct Slot {
    log: Mutex<Option<Log>>,
    used: Cell<u64>,
    bytes: Cell<usize>,
    /// For how many more writes another writer is to be expected.
    rechecks: Cell<u32>,
}

impl<S: Store> Keep<S> {
    /// An engine over `store`. Reads nothing yet.
    ///
    /// # Errors
    /// None today; opening may come to read the store.
    pub async fn open(store: S, host: impl Host + 'static, options: Options) -> Result<Self, KeepError> {
        Ok(Self {
            inner: Rc::new(Inner {
                store,
                host: Box::new(host),
                turns: Turns::default(),
                claims: Rc::default(),
                cache: RefCell::default(),
                cached_bytes: Cell::new(0),
                clock: Cell::new(0),
                heads: RefCell::default(),
                listeners: RefCell::default(),
                prompts: RefCell::new(PromptCache::new(options.cache_bytes / 2)),
                options,
                search: Search::default(),
                ranking: Cell::default(),
                located: RefCell::default(),
                memories: RefCell::default(),
                damaged: Known::default(),
            }),
        })
    }

    /// Lets go of the store. Later calls fail with the code `closed`.
    ///
    /// # Errors
    /// The store's own.
    pub async fn close(&self) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        self.clear_cache();
        self.inner.prompts.borrow_mut().clear();
        self.inner.memories.take();
        self.inner.located.take();
        Ok(self.inner.store.close().await?)
    }

    /// Calls `listener` after each durable change made through this engine, until the number that comes back is given to
    /// [`Keep::off_event`]. Changes by other tabs reach their own engines; pass them on between tabs where that is wanted.
    pub fn on_event(&self, listener: impl Fn(&Event) + 'static) -> u64 {
        let number = self.tick();
        self.inner.listeners.borrow_mut().push((number, Rc::new(listener)));
        number
    }

    /// Stops calling a listener.
    pub fn off_event(&self, number: u64) {
        self.inner.listeners.borrow_mut().retain(|(other, _)| *other != number);
    }

    pub(crate) fn now(&self) -> i64 {
        self.inner.host.now()
    }

    /// 64 random bits.
    pub(crate) fn random(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.inner.host.random();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// As often as `count` 64 random bits, for which the host is asked no more often than must be.
    pub(crate) fn randoms(&self, count: usize) -> Vec<u64> {
        let mut all = Vec::with_capacity(count + 3);
        while all.len() < count {
            let bytes = self.inner.host.random();
            let eights = bytes.chunks_exact(8).filter_map(|eight| eight.try_into().ok());
            all.extend(eights.map(u64::from_le_bytes));
        }
        all.truncate(count);
        all
    }

    pub(crate) fn sleep(&self, millis: u32) -> Pin<Box<dyn Future<Output = ()>>> {
        self.inner.host.sleep(millis)
    }

    pub(crate) fn mint_root(&self) -> TranscriptId {
        let mut bytes = [0; 24];
        bytes.copy_from_slice(&self.inner.host.random()[..24]);
        MessageId::mint_root(bytes)
    }

    pub(crate) fn generation(&self) -> String {
        format!("{:016x}", self.random())
    }

    pub(crate) fn emit(&self, event: &Event) {
        self.inner.search.stale.set(true);
        let listeners: Vec<Listener> = self.inner.listeners.borrow().iter().map(|(_, call)| Rc::clone(call)).collect();
        for listener in listeners {
            listener(event);
        }
    }

    fn tick(&self) -> u64 {
        self.inner.clock.set(self.inner.clock.get() + 1);
        self.inner.clock.get()
    }

    /// Waits until all writers who called before are done. Hold it while writing; nobody else writes meanwhile.
    pub(crate) async fn writing(&self) -> Writing<'_> {
        self.inner.turns.alone().await
    }

    /// Waits until those are done who called before and write at the head `name`, or write alone. Hold it while appending there; others
    /// append at other heads meanwhile.
    pub(crate) async fn appending(&self, name: &str) -> Writing<'_> {
        self.inner.turns.at(name).await
    }

    pub(crate) fn slot(&self, id: &TranscriptId) -> Rc<Slot> {
        let slot = Rc::clone(self.inner.cache.borrow_mut().entry(id.clone()).or_default());
        slot.used.set(self.tick());
        slot
    }

    /// Forgets all that memory holds of a transcript, for good.
    pub(crate) fn forget(&self, id: &TranscriptId) {
        self.evict(id);
        self.inner.prompts.borrow_mut().forget(id);
    }

    /// Takes a transcript out of the cache.
    fn evict(&self, id: &TranscriptId) {
        if let Some(slot) = self.inner.cache.borrow_mut().remove(id) {
            self.inner.cached_bytes.set(self.inner.cached_bytes.get().saturating_sub(slot.bytes.get()));
        }
    }

    fn clear_cache(&self) {
        self.inner.cache.borrow_mut().clear();
        self.inner.cached_bytes.set(0);
    }

    pub(crate) fn forget_all(&self) {
        self.clear_cache();
        self.inner.prompts.borrow_mut().clear();
        self.inner.heads.borrow_mut().clear();
        self.inner.memories.take();
        self.inner.located.take();
    }

    /// How many transcripts the cache holds, and about how many bytes they take.
    pub(crate) fn cached(&self) -> (usize, usize) {
        let cache = self.inner.cache.borrow();
        (cache.values().filter(|slot| slot.bytes.get() > 0).count(), self.inner.cached_bytes.get())
    }

    /// Evicts what was used longest ago once the cache is over its limit. What is in use stays. An eighth of the limit becomes free, so
    /// that transcripts which come one by one do not each look for one that goes.
    fn shrink(&self) {
        let limit = self.inner.options.cache_bytes;
        if self.inner.cached_bytes.get() <= limit {
            return;
        }
        let idle = |slot: &Rc<Slot>| Rc::strong_count(slot) == 1 && slot.used.get() < self.inner.clock.get();
        let mut oldest: Vec<(u64, TranscriptId)> = {
            let cache = self.inner.cache.borrow();
            let idle = cache.iter().filter(|(_, slot)| idle(slot) && slot.bytes.get() > 0);
            idle.map(|(id, slot)| (slot.used.get(), id.clone())).collect()
        };
        sort::sort(&mut oldest);
        for (_, id) in oldest {
            if self.inner.cached_bytes.get() <= limit - limit / 8 {
                break;
            }
            self.evict(&id);
        }
    }

    /// Reads a transcript as the store has it now: from memory, after asking the store for what is new, or loaded whole.
    /// `Ok(None)` where there is no such transcript.
    pub(crate) async fn read<T>(
        &self,
        id: &TranscriptId,
        look: impl FnOnce(&Log) -> Result<T, KeepError>,
    ) -> Result<Option<T>, KeepError> {
        let (mut look, mut answer) = (Some(look), None);
        self.read_with(id, &mut |log| answer = look.take().map(|look| look(log))).await?;
        answer.transpose()
    }

    /// [`Keep::read`] without its types: the code is there once and not once for each reader.
    pub(crate) async fn read_with(&self, id: &TranscriptId, look: &mut dyn FnMut(&Log)) -> Result<(), KeepError> {
        let slot = self.slot(id);
        let mut held = slot.log.lock().await;
        match held.take() {
            Some(log) => self.refresh(&mut held, log).await?,
            None => *held = self.load(id).await?,
        }
        if let Some(log) = held.as_ref() {
            look(log);
        }
        self.settle(id, &slot, held);
        Ok(())
    }

    /// Whether memory has something of a transcript.
    pub(crate) fn holds(&self, id: &TranscriptId) -> bool {
        self.inner.cache.borrow().contains_key(id)
    }

    /// Reads a transcript for somebody who goes through all of them: what memory does not have, it does not keep.
    pub(crate) async fn pass(&self, id: &TranscriptId, look: &mut dyn FnMut(&Log)) -> Result<(), KeepError> {
        if self.holds(id) {
            return self.read_with(id, look).await;
        }
        if let Some(log) = self.load(id).await? {
            look(&log);
        }
        Ok(())
    }

    /// Reads a transcript as memory has it, just after a write to it, without asking the store again.
    pub(crate) async fn peek(&self, id: &TranscriptId, look: &mut dyn FnMut(&Log)) -> Result<(), KeepError> {
        let slot = self.slot(id);
        let mut held = slot.log.lock().await;
        if held.is_none() {
            *held = self.load(id).await?;
        }
        if let Some(log) = held.as_ref() {
            look(log);
        }
        self.settle(id, &slot, held);
        Ok(())
    }

    /// Takes a transcript out of memory, as the store has it now, for somebody who changes it as a whole.
    pub(crate) async fn take(&self, id: &TranscriptId) -> Result<Option<Log>, KeepError> {
        let slot = self.slot(id);
        let mut held = slot.log.lock().await;
        match held.take() {
            Some(log) => self.refresh(&mut held, log).await?,
            None => *held = self.load(id).await?,
        }
        let log = held.take();
        self.settle(id, &slot, held);
        Ok(log)
    }

    /// Puts what [`Keep::take`] gave into memory again, after it was changed in the store, too.
    pub(crate) async fn put_back(&self, id: &TranscriptId, log: Log) {
        let slot = self.slot(id);
        let mut held = slot.log.lock().await;
        *held = Some(log);
        self.settle(id, &slot, held);
    }

    /// Puts `log`, which was taken out of its slot, back as the store has it now. Should the call be dropped in between,
    /// nothing half-read stays behind.
    async fn refresh(&self, held: &mut Option<Log>, mut log: Log) -> Result<(), KeepError> {
        *held = match log.catch_up(&self.inner.store).await? {
            true => Some(log),
            false => self.load(log.tree.id()).await?,
        };
        Ok(())
    }

    fn settle(&self, id: &TranscriptId, slot: &Rc<Slot>, held: MutexGuard<'_, Option<Log>>) {
        let bytes = held.as_ref().map_or(0, |log| log.tree.bytes());
        let before = slot.bytes.replace(bytes);
        // What was forgotten meanwhile is not counted any more.
        if self.inner.cache.borrow().get(id).is_some_and(|own| Rc::ptr_eq(own, slot)) {
            self.inner.cached_bytes.set((self.inner.cached_bytes.get() + bytes).saturating_sub(before));
        }
        let empty = held.is_none();
        drop(held);
        if empty && Rc::strong_count(slot) == 2 {
            self.evict(id);
        }
        self.shrink();
    }

    /// Appends to a transcript what `plan` makes of it, in one commit, and gives `plan`'s answer. When another writer was
    /// first, the transcript is read again and `plan` asked again. An empty list of entries writes nothing to the log; records beside
    /// it are written on the same conditions.
    ///
    /// The caller holds [`Keep::writing`] or [`Keep::appending`]. `Ok(None)` where there is no such transcript.
    pub(crate) async fn write<T>(
        &self,
        id: &TranscriptId,
        mut plan: impl FnMut(&Log) -> Result<Write<T>, KeepError>,
    ) -> Result<Option<T>, KeepError> {
        let mut answer = None;
        let mut keep_answer = |log: &Log| {
            let Write { entries, extra, digest, answer: given } = plan(log)?;
            answer = Some(given);
            Ok(Write { entries, extra, digest, answer: () })
        };
        let written = self.write_with(id, &mut keep_answer).await?;
        Ok(written.and(answer))
    }

    /// [`Keep::write`] without its types: the code is there once and not once for each writer.
    async fn write_with(
        &self,
        id: &TranscriptId,
        plan: &mut dyn FnMut(&Log) -> Result<Write<()>, KeepError>,
    ) -> Result<Option<()>, KeepError> {
        let slot = self.slot(id);
        let mut held = slot.log.lock().await;
        if held.is_none() {
            *held = self.load(id).await?;
        }
        for _ in 0..TRIES {
            // While somebody else writes here too, what is in memory is old more often than not. Reading a long transcript
            // anew takes longer than the other's next write, so that whoever does only that comes too late for ever.
            if slot.rechecks.get() > 0
                && let Some(log) = held.take()
            {
                slot.rechecks.set(slot.rechecks.get() - 1);
                self.refresh(&mut held, log).await?;
            }
            let Some(mut log) = held.take() else {
                self.settle(id, &slot, held);
                return Ok(None);
            };
            let write = match plan(&log) {
                Ok(write) if !write.entries.is_empty() || !write.extra.puts.is_empty() => write,
                nothing => {
                    // The plan may fail, or find nothing to do, because memory is behind the store; then it deserves a second look.
                    let before = log.state();
                    self.refresh(&mut held, log).await?;
                    if held.as_ref().is_some_and(|log| log.state() == before) {
                        self.settle(id, &slot, held);
                        return nothing.map(|_| Some(()));
                    }
                    continue;
                }
            };
            if write.entries.is_empty() {
                match self.inner.store.commit(log.beside(write.extra)).await {
                    // What lies beside the log is read, not made here.
                    Ok(()) => self.refresh(&mut held, log).await?,
                    Err(StoreError::Conflict { .. }) => {
                        self.refresh(&mut held, log).await?;
                        continue;
                    }
                    Err(error) => {
                        *held = Some(log);
                        self.settle(id, &slot, held);
                        return Err(error.into());
                    }
                }
                self.settle(id, &slot, held);
                return Ok(Some(()));
            }
            let named = write.named();
            let digest = write.digest.map(|new| std::mem::replace(&mut log.digest, new));
            match log.append_or_return(&self.inner.store, write.entries, write.extra).await {
                Ok(log) => {
                    *held = Some(log);
                    self.settle(id, &slot, held);
                    self.seen(named, id);
                    return Ok(Some(()));
                }
                Err((KeepError::Store(StoreError::Conflict { key }), back))
                    if keys::index_id(&key).is_none() && !keys::is_memory_mark(&key) =>
                {
                    slot.rechecks.set(RECHECKS);
                    *held = match back {
                        // The next round begins with catching up.
                        Some(mut log) => {
                            log.digest = digest.unwrap_or(log.digest);
                            Some(log)
                        }
                        None => self.load(id).await?,
                    };
                }
                Err((error, _)) => {
                    self.settle(id, &slot, held);
                    return Err(taken(error));
                }
            }
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    /// Keeps the digest of an archive that brought nothing new to a transcript, so that the next import need not look again.
    pub(crate) async fn remember_digest(&self, id: &TranscriptId, digest: String) -> Result<(), KeepError> {
        let slot = self.slot(id);
        let mut held = slot.log.lock().await;
        // Taken out, so that nothing half-done stays behind should the call be dropped.
        let log = match held.take() {
            Some(log) => Some(log),
            None => self.load(id).await?,
        };
        let Some(mut log) = log else { return Ok(()) };
        log.digest = digest;
        let absent = vec![keys::page(id, &log.generation, log.tree.next_seq())];
        let present = vec![log.merge_marker()];
        let puts = vec![(keys::record(id), log.record()?)];
        let commit = Commit { absent, present, puts, durability: Durability::Relaxed, ..Commit::default() };
        match self.inner.store.commit(commit).await {
            Ok(()) => *held = Some(log),
            // Somebody appended in this moment; the next import will look again.
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.settle(id, &slot, held);
        Ok(())
    }

    /// Reads the tree that holds `id`, as a node or an alias; `None` where no transcript does.
    pub(crate) async fn locate<T>(
        &self,
        id: &MessageId,
        mut look: impl FnMut(&Log, &MessageId) -> Result<T, KeepError>,
    ) -> Result<Option<(TranscriptId, T)>, KeepError> {
        let mut answer = None;
        let found = self.locate_with(id, &mut |log, id| answer = Some(look(log, id))).await?;
        Ok(found.zip(answer.transpose()?))
    }

    /// [`Keep::locate`] without its types: the code is there once and not once for each reader.
    async fn locate_with(
        &self,
        id: &MessageId,
        look: &mut dyn FnMut(&Log, &MessageId),
    ) -> Result<Option<TranscriptId>, KeepError> {
        let in_memory = self.in_memory(id);
        // The last candidate costs a question to the store, so it is asked for only when the others fail.
        let home = id.home().filter(|home| in_memory.as_ref() != Some(home));
        for candidate in [in_memory, home, None].into_iter().enumerate() {
            let candidate = if candidate.0 == 2 { self.indexed(id).await? } else { candidate.1 };
            let Some(transcript) = candidate else { continue };
            let mut found = false;
            let mut look_there = |log: &Log| {
                if let Some(id) = log.tree.resolve(id) {
                    found = true;
                    look(log, id);
                }
            };
            self.read_with(&transcript, &mut look_there).await?;
            if found {
                if !id.is_at_home_in(&transcript) {
                    self.seen([id.clone()], &transcript);
                }
                return Ok(Some(transcript));
            }
        }
        Ok(None)
    }

    /// The transcript that holds `id`. From memory it may be old: a write to it, which is checked against the store, will
    /// tell.
    pub(crate) async fn find(&self, id: &MessageId) -> Result<Option<TranscriptId>, KeepError> {
        if let Some(transcript) = self.in_memory(id) {
            return Ok(Some(transcript));
        }
        self.locate_with(id, &mut |_, _| {}).await
    }

    /// Like [`Keep::find`], with an error where there is none.
    pub(crate) async fn find_or_fail(&self, id: &MessageId) -> Result<TranscriptId, KeepError> {
        self.find(id).await?.ok_or_else(|| KeepError::MissingNode(id.clone()))
    }

    /// The transcript in memory that holds `id`: the one that the id names, or where it was seen last.
    fn in_memory(&self, id: &MessageId) -> Option<TranscriptId> {
        let holds = |transcript: &TranscriptId| {
            let cache = self.inner.cache.borrow();
            let log = cache.get(transcript)?.log.try_lock().ok()?;
            log.as_ref()?.tree.resolve(id).map(drop)
        };
        let seen = self.inner.located.borrow().get(id).cloned();
        id.home().into_iter().chain(seen).find(|transcript| holds(transcript).is_some())
    }

    /// Notes where ids lie that do not name their transcript.
    pub(crate) fn seen(&self, ids: impl IntoIterator<Item = MessageId>, transcript: &TranscriptId) {
        let mut located = self.inner.located.borrow_mut();
        // A note only saves a question to the store.
        if located.len() > LOCATED {
            located.clear();
        }
        located.extend(ids.into_iter().map(|id| (id, transcript.clone())));
    }

    /// The transcript that the store's index names for `id`.
    async fn indexed(&self, id: &MessageId) -> Result<Option<TranscriptId>, KeepError> {
        self.pointer(keys::index(id), &|tree| tree.resolve(id).is_some()).await
    }
}

/// Says in words that an id is taken, where that is why a commit's condition failed.
pub(crate) fn taken(error: KeepError) -> KeepError {
    match &error {
        KeepError::Store(StoreError::Conflict { key }) => match keys::index_id(key) {
            Some(id) => TranscriptError::Taken(id).into(),
            None => error,
        },
        _ => error,
    }
}

/// What a writer wants to append.
pub(crate) struct Write<T> {
    /// The entries; none writes nothing to the log.
    pub entries: Vec<Entry>,
    /// What else is in the same commit: index records, heads, conditions.
    pub extra: Commit,
    /// The digest of the imported conversation, when that changes.
    pub digest: Option<String>,
    /// What the caller gets.
    pub answer: T,
}

impl<T> Write<T> {
    pub(crate) fn new(entries: Vec<Entry>, answer: T) -> Self {
        Self { entries, extra: Commit::default(), digest: None, answer }
    }

    /// The ids of which it writes index records.
    pub(crate) fn named(&self) -> Vec<MessageId> {
        self.extra.puts.iter().filter_map(|(key, _)| keys::index_id(key)).collect()
    }

    /// The same with an index record for `id`, where the id does not itself name the transcript.
    pub(crate) fn indexed(mut self, id: &MessageId, transcript: &TranscriptId) -> Self {
        if !id.is_at_home_in(transcript) {
            self.extra.absent.push(keys::index(id));
            self.extra.puts.push((keys::index(id), transcript.as_str().as_bytes().to_vec()));
        }
        self
    }
}
