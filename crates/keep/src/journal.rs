//! The journal: what was sent to models. A request is kept as what it was made of: its place, its options, its checkpoint, its pins, the
//! remembered records. The texts are in the log already, so a record takes less than a kilobyte, and [`Keep::request`] makes the same
//! body again. Where it cannot, it says which part has changed.
//!
//! Records lie by day, and beside those of a day the options that they have in common. So the old go in one range, with all that only
//! they need. A record is written under the condition under which drafts are ([`draft`](crate::draft)): none outlives its node.

mod summaries;

use std::collections::HashSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use threadkeep_context::MessageRef;
use threadkeep_core::read::Off;
use threadkeep_core::sort;
use threadkeep_core::transcript::Placed;
use threadkeep_core::{Entry, MessageId, Transcript, TranscriptId};
use threadkeep_provider::{Dialect, Price, Provider, Usage};
use threadkeep_store::{Commit, Record, Scan, Store, StoreError};

use crate::context::Past;
use crate::costs::cost;
use crate::json::{from_json, to_json};
use crate::keep::Write;
use crate::protocol::{BadRequest, ContextOptions, ContextParams, ContextReply, MadeOf, RequestRecord, context_params};
use crate::{Keep, KeepError, keys};

pub use summaries::SummaryRequest;

/// Milliseconds.
const DAY: i64 = 86_400_000;

/// What a request is made of, when it is about to be sent.
pub(crate) struct Sending<'a> {
    pub(crate) node: &'a MessageId,
    pub(crate) agent: Option<&'a str>,
    /// All of its options, with nothing left to settings.
    pub(crate) params: &'a ContextParams,
    /// What the endpoint wants beside them, if that is known.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) provider: Provider,
    pub(crate) reply: &'a ContextReply,
    pub(crate) body: &'a Value,
    /// How many days requests are kept; `None` for as long as their thread.
    pub(crate) days: Option<u32>,
}

/// A request that was noted, and whose answer is awaited.
#[derive(Debug, Clone)]
pub(crate) struct Noted {
    key: String,
    pub(crate) record: RequestRecord,
}

impl Noted {
    /// What is to be written once it is known, `now`, how the request ended.
    pub(crate) fn ended(
        mut self,
        outcome: &str,
        usage: Option<Usage>,
        now: i64,
    ) -> Result<(String, Vec<u8>), KeepError> {
        self.record.outcome = Some(outcome.to_owned());
        self.record.usage = usage;
        self.record.took = now.checked_sub(self.record.sent_at).and_then(|took| took.try_into().ok());
        Ok((self.key, to_json(&self.record)?))
    }
}

/// What requests that are made alike have in common.
#[derive(Serialize, Deserialize)]
struct Common {
    options: Value,
    #[serde(default)]
    pins: Vec<MessageId>,
    #[serde(default)]
    dialect: Option<Dialect>,
}

/// What the journal has of a request that can be made again.
pub(crate) struct NotedRequest {
    pub(crate) record: RequestRecord,
    /// All of its options.
    pub(crate) options: Value,
    /// What was pinned.
    pub(crate) pins: Vec<MessageId>,
    pub(crate) dialect: Option<Dialect>,
}

/// A request as it was sent, made again.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebuilt {
    /// What the journal holds of it.
    pub record: RequestRecord,
    /// Its options, all of them.
    pub options: Value,
    /// The nodes that were pinned then.
    pub pins: Vec<MessageId>,
    /// What the endpoint wanted beside the payload, if that is known.
    pub dialect: Option<Dialect>,
    /// The prompt with its ledger.
    pub context: ContextReply,
    /// The body, as it is made now.
    pub body: Value,
    /// What has changed since, where the body is not the same: `memory` (a remembered record was deleted), `version`, or `history`.
    pub differs: Option<&'static str>,
}

impl<S: Store> Keep<S> {
    /// Notes a request that is about to be sent.
    pub(crate) async fn note_request(&self, sending: Sending<'_>) -> Result<Noted, KeepError> {
        let _writing = self.writing().await;
        let transcript = self.find_or_fail(sending.node).await?;
        let now = self.now().max(0);
        let random = self.random();
        let text = sending.body.to_string();
        let mut options = own_options(sending.params)?;
        // It differs from request to request, unlike the rest.
        let memory_text =
            options.get_mut("memory").and_then(Value::as_object_mut).and_then(|it| it.shift_remove("text"));
        let missing = || KeepError::MissingNode(sending.node.clone());
        let written = self.write(&transcript, |log| {
            let placed = log.tree.get(sending.node).ok_or_else(missing)?;
            let (stamp, record) = record_of(&transcript, placed, now, random);
            let mut pins: Vec<MessageId> = log.tree.pins().cloned().collect();
            sort::sort(&mut pins);
            let common = Common { options: options.clone(), pins, dialect: sending.dialect.clone() };
            let common = to_json(&common)?;
            let made_of = MadeOf {
                checkpoint: sending.reply.checkpoint.clone(),
                memory: sending.reply.recalled.clone(),
                memory_text: memory_text.as_ref().and_then(Value::as_str).map(str::to_owned),
                options: hex(&common)[..32].to_owned(),
                hash: hex(text.as_bytes()),
                bytes: text.len() as u64,
                version: VERSION.to_owned(),
            };
            let shared = keys::request_options(&transcript, day(now), &made_of.options);
            let record = RequestRecord {
                agent: sending.agent.map(str::to_owned),
                provider: sending.provider,
                model: sending.params.model.clone().unwrap_or_default(),
                tokens: sending.reply.figures.tokens,
                made_of: Some(made_of),
                ..record
            };
            let key = keys::request(&transcript, day(now), &stamp);
            let mut write = Write::new(Vec::<Entry>::new(), ());
            write.extra.puts.push((shared, common));
            write.extra.puts.push((key.clone(), to_json(&record)?));
            forget_old(&transcript, now, sending.days, &mut write.extra);
            Ok(Write { answer: Noted { key, record }, entries: write.entries, extra: write.extra, digest: None })
        });
        written.await?.ok_or_else(missing)
    }

    /// A prompt with a call's own options over the settings of its chain; noted in the journal if the option `record` says so.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn context_of(&self, at: &str, own: ContextParams) -> Result<ContextReply, KeepError> {
        if own.record {
            return Box::pin(self.recorded_context(at, own)).await;
        }
        self.context(at, &self.options_at(at, own).await?).await
    }

    /// A prompt for a request of the caller's own, noted in the journal: [`ContextReply::request`] is its id. Settings say nothing of
    /// whether, since this call does.
    ///
    /// # Errors
    /// As [`Keep::context`]; a prompt over its budget is not noted.
    async fn recorded_context(&self, at: &str, own: ContextParams) -> Result<ContextReply, KeepError> {
        let settings = self.context_options(Some(at)).await?;
        let days = journal_days(&settings).flatten();
        let params = ContextParams { record: false, ..settings.under(own) };
        let options = ContextOptions::from(params.clone());
        let (_, node) = self.place(at).await?;
        // Of that node, wherever the head is by now.
        let mut reply = self.context(node.as_str(), &options).await?;
        if !reply.over_budget {
            let provider = options.build.provider;
            let (params, dialect, agent) = (&params, None, None);
            let sending =
                Sending { node: &node, agent, params, dialect, provider, reply: &reply, body: &reply.payload, days };
            reply.request = Some(self.note_request(sending).await?.record.id);
        }
        Ok(reply)
    }

    /// Notes how a request ended, and what the provider counted.
    ///
    /// # Errors
    /// `bad-request` for an id of no request; `corrupt`; the store's.
    pub async fn note_answer(&self, id: &str, usage: Option<Usage>, outcome: &str) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        let (key, record) = self.found(id).await?;
        let transcript = record.transcript.clone();
        let noted = Noted { key, record }.ended(outcome, usage, self.now())?;
        let written = self.write(&transcript, |_| {
            let mut write = Write::new(Vec::new(), ());
            write.extra.puts.push(noted.clone());
            // It may have been deleted meanwhile.
            write.extra.present.push(noted.0.clone());
            Ok(write)
        });
        written.await?.ok_or_else(|| unknown().into())
    }

    /// The requests of a chain (`at` is a head's name or a node), or of a whole transcript (its id), oldest first; the newest `limit`.
    /// Those that other programs sent stand among them, as far as imported sessions tell of them. Their cost is of the table's prices.
    ///
    /// # Errors
    /// `missing-node`; `corrupt`; the store's.
    pub async fn requests(&self, at: &str, limit: Option<usize>) -> Result<Vec<RequestRecord>, KeepError> {
        self.requests_at(at, limit, &[]).await
    }

    /// As [`Keep::requests`], with prices of one's own.
    ///
    /// # Errors
    /// As [`Keep::requests`].
    pub async fn requests_at(
        &self,
        at: &str,
        limit: Option<usize>,
        prices: &[Price],
    ) -> Result<Vec<RequestRecord>, KeepError> {
        let (transcript, leaf) = self.place(at).await?;
        let whole = transcript.as_str() == at && !self.is_head(&transcript, at).await?;
        let mut all = self.requests_of(&transcript, (!whole).then_some(&leaf)).await?;
        let surplus = limit.map_or(0, |limit| all.len().saturating_sub(limit));
        all.drain(..surplus);
        all.iter_mut().for_each(|record| record.cost = cost(record, prices));
        Ok(all)
    }

    /// The requests of a transcript, or of its chain to a leaf, oldest first.
    pub(crate) async fn requests_of(
        &self,
        transcript: &TranscriptId,
        leaf: Option<&MessageId>,
    ) -> Result<Vec<RequestRecord>, KeepError> {
        let noted = self.noted(transcript).await?;
        let of = self.glance(transcript, |log| {
            let nodes: Vec<&Placed> = match leaf {
                Some(leaf) => log.tree.chain(leaf)?,
                None => log.tree.nodes().collect(),
            };
            let seqs: HashSet<u64> = nodes.iter().map(|placed| placed.seq).collect();
            Ok((seqs, reported(&log.tree, &nodes)))
        });
        let (seqs, mut all) = of.await?;
        for (key, bytes) in &noted {
            if keys::request_seq(key).is_some_and(|seq| seqs.contains(&seq)) {
                all.push(read(key, bytes)?);
            }
        }
        sort::sort_by_key(&mut all, |record| record.sent_at);
        Ok(all)
    }

    /// All records of a transcript with their keys, oldest first.
    pub(crate) async fn noted(&self, transcript: &TranscriptId) -> Result<Vec<Record>, KeepError> {
        let mut stored = self.scan_whole(&Scan::prefix(&keys::requests_of(transcript))).await?;
        stored.retain(|(key, _)| keys::request_seq(key).is_some());
        Ok(stored)
    }

    /// A request as it was sent, made again from what the keep holds.
    ///
    /// # Errors
    /// `bad-request` for an id of no request; `vocabulary-missing`; `corrupt`; the store's.
    pub async fn request(&self, id: &str) -> Result<Rebuilt, KeepError> {
        let NotedRequest { record, options, pins, dialect } = self.noted_request(id).await?;
        let made_of = record.made_of.as_ref().ok_or_else(unknown)?;
        let params = context_params(options.clone()).map_err(|error| corrupt(id, error.to_string()))?;
        let past = Past {
            messages: record.messages,
            pins: pins.iter().map(|id| MessageRef::Node(id.as_str().to_owned())).collect(),
            checkpoint: made_of.checkpoint.clone(),
            given: None,
            memory: &made_of.memory,
        };
        let context = self.context_then(&record.node, &ContextOptions::from(params), &past).await?;
        let body = dialect.as_ref().map_or_else(|| context.payload.clone(), |dialect| dialect.body(&context.payload));
        let differs = match hex(body.to_string().as_bytes()) == made_of.hash {
            true => None,
            false if context.recalled != made_of.memory => Some("memory"),
            false if made_of.version != VERSION => Some("version"),
            false => Some("history"),
        };
        Ok(Rebuilt { record, options, pins, dialect, context, body, differs })
    }

    /// What the journal has of a request that can be made again.
    pub(crate) async fn noted_request(&self, id: &str) -> Result<NotedRequest, KeepError> {
        let (key, mut record) = self.found(id).await?;
        record.cost = cost(&record, &[]);
        if record.purpose.is_some() {
            return Err(not_kept("names a request of a compaction: its body is not kept"));
        }
        let made_of = record.made_of.as_ref().ok_or_else(|| corrupt(&key, "it does not say of what".to_owned()))?;
        let key = keys::request_options(&record.transcript, day(record.sent_at), &made_of.options);
        let common: Option<Vec<u8>> = self.inner.store.get(&key).await?;
        let lost = || corrupt(&key, "the options of a request are missing".to_owned());
        let Common { mut options, pins, dialect } = read(&key, &common.ok_or_else(lost)?)?;
        if let (Some(text), Some(memory)) =
            (&made_of.memory_text, options.get_mut("memory").and_then(Value::as_object_mut))
        {
            memory.insert("text".to_owned(), text.as_str().into());
        }
        Ok(NotedRequest { record, options, pins, dialect })
    }

    /// A request's key and what is kept of it.
    async fn found(&self, id: &str) -> Result<(String, RequestRecord), KeepError> {
        let (transcript, stamp) = id.rsplit_once(':').ok_or_else(unknown)?;
        if stamp.starts_with(REPORTED) {
            return Err(not_kept("names a request that another program sent: its body is not known"));
        }
        let transcript = TranscriptId::new(transcript).map_err(|_| unknown())?;
        let sent_at = sent_at(stamp).ok_or_else(unknown)?;
        let key = keys::request(&transcript, day(sent_at), stamp);
        match self.inner.store.get(&key).await? {
            Some(bytes) => Ok((key.clone(), read(&key, &bytes)?)),
            None => Err(unknown().into()),
        }
    }

    /// Adds to a commit that the requests of these nodes go.
    pub(crate) async fn unnote(
        &self,
        tree: &Transcript,
        gone: &HashSet<&MessageId>,
        commit: &mut Commit,
    ) -> Result<(), KeepError> {
        let gone: HashSet<u64> = gone.iter().filter_map(|id| tree.get(id)).map(|placed| placed.seq).collect();
        let noted = self.keys_of(&Scan::prefix(&keys::requests_of(tree.id()))).await?.into_iter();
        commit.deletes.extend(noted.filter(|key| keys::request_seq(key).is_some_and(|seq| gone.contains(&seq))));
        Ok(())
    }
}

/// Begins the last part of the id of a request that another program sent. No time in hex digits does.
const REPORTED: char = 'n';

/// The requests whose answers are among these nodes of an imported session. The session is in the log, so nothing else is stored of
/// them: a request goes with its answer, and comes along wherever the log does.
fn reported(tree: &Transcript, nodes: &[&Placed]) -> Vec<RequestRecord> {
    let mut known = HashSet::new();
    let record = |placed: &&Placed| {
        let told = threadkeep_archive::reported(&placed.node)?;
        if told.request.as_ref().is_some_and(|request| !known.insert(request.clone())) {
            return None;
        }
        let asked = &tree.parent(placed)?.node;
        let time = placed.node.created_at.or(asked.created_at).or(tree.info().created_at);
        Some(RequestRecord {
            id: format!("{}:{REPORTED}{:x}", tree.id(), placed.seq),
            sent_at: time.unwrap_or_default(),
            transcript: tree.id().clone(),
            node: asked.id.clone(),
            messages: asked.messages.len(),
            agent: None,
            program: Some(told.program.to_owned()),
            provider: told.provider,
            model: placed.node.origin.model.clone().unwrap_or_default(),
            tokens: told.usage.prompt_tokens,
            purpose: None,
            made_of: None,
            provider_id: told.request,
            usage: Some(told.usage),
            cost: None,
            outcome: told.outcome,
            took: None,
        })
    };
    nodes.iter().filter_map(record).collect()
}

/// The record of a request that is about to be sent for a node, as far as it is alike for all, and the last part of its id.
fn record_of(transcript: &TranscriptId, placed: &Placed, now: i64, random: u64) -> (String, RequestRecord) {
    let stamp = format!("{now:011x}{:08x}{:x}", random & 0xffff_ffff, placed.seq);
    let record = RequestRecord {
        id: [transcript.as_str(), ":", &stamp].concat(),
        sent_at: now,
        transcript: transcript.clone(),
        node: placed.node.id.clone(),
        messages: placed.node.messages.len(),
        agent: None,
        provider: Provider::default(),
        program: None,
        model: String::new(),
        tokens: 0,
        purpose: None,
        made_of: None,
        provider_id: None,
        usage: None,
        cost: None,
        outcome: None,
        took: None,
    };
    (stamp, record)
}

/// Adds to a commit that the requests before so many days go.
fn forget_old(transcript: &TranscriptId, now: i64, days: Option<u32>, commit: &mut Commit) {
    if let Some(days) = days {
        let oldest = day(now).saturating_sub(u64::from(days));
        commit.delete_ranges.push(keys::requests_before(transcript, oldest));
    }
}

fn not_kept(why: &str) -> KeepError {
    BadRequest { argument: "id".to_owned(), why: why.to_owned() }.into()
}

fn unknown() -> BadRequest {
    BadRequest { argument: "id".to_owned(), why: "names no request".to_owned() }
}

/// Who makes prompts: another version may make others of the same.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether settings want requests to be noted, and for how many days.
pub(crate) fn journal_days(settings: &crate::protocol::ContextSettings) -> Option<Option<u32>> {
    match settings.journal {
        Some(Off::Off) => None,
        Some(Off::On(journal)) => Some(journal.days),
        None => Some(None),
    }
}

/// When a request was made, from the last part of its id.
pub(crate) fn sent_at(stamp: &str) -> Option<i64> {
    i64::from_str_radix(stamp.get(..11)?, 16).ok()
}

/// Checks options that requests have in common, which come from elsewhere.
pub(crate) fn common_options(bytes: &[u8]) -> Result<(), String> {
    let common: Common = from_json(bytes).map_err(|error| format!("options of requests cannot be read: {error}"))?;
    context_params(common.options).map(|_| ()).map_err(|error| error.to_string())
}

pub(crate) fn day(millis: i64) -> u64 {
    u64::try_from(millis / DAY).unwrap_or_default()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Options as JSON, without those that say nothing.
pub(crate) fn own_options(params: &ContextParams) -> Result<Value, KeepError> {
    let mut options: Value = from_json(&to_json(params)?).map_err(|error| corrupt("options", error.to_string()))?;
    bare(&mut options);
    Ok(options)
}

fn bare(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        // A tool's schema is as it was given.
        fields.iter_mut().filter(|(name, _)| *name != "tools").for_each(|(_, value)| bare(value));
    }
}

pub(crate) fn read<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, KeepError> {
    from_json(bytes).map_err(|error| corrupt(key, error.to_string()))
}

fn corrupt(key: &str, why: String) -> KeepError {
    StoreError::Corrupt { key: key.to_owned(), why }.into()
}
