//! Requests of the journal that a file of our own format has. Each belongs to a node of a conversation in the same file, and comes in once: its
//! id says when it was made and of which node. What is there is never replaced.
//!
//! From a file that is no backup, a request comes in without its agent. So no file can use up what an agent may spend.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use threadkeep_archive::{Beside, own};
use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_provider::Usage;
use threadkeep_store::{Scan, Store};

use super::Held;
use crate::journal::{common_options, day, hex, sent_at};
use crate::json::{from_json, to_json};
use crate::keep::Write;
use crate::log::Log;
use crate::protocol::{ImportReport, RequestRecord};
use crate::{Keep, KeepError, keys};

/// So many tokens no request has: a larger figure is wrong.
const MOST: u64 = 1 << 53;

/// A request of a file.
struct Told<'a> {
    place: &'a str,
    record: RequestRecord,
    /// The first digits of the last part of its id: the time and a random number.
    stamp: String,
}

impl<S: Store> Keep<S> {
    pub(super) async fn take_requests(
        &self,
        lines: &[Beside],
        is_backup: bool,
        held: &Held,
        report: &mut ImportReport,
    ) -> Result<(), KeepError> {
        let mut options: HashMap<String, Vec<u8>> = HashMap::new();
        let mut told: HashMap<TranscriptId, Vec<Told>> = HashMap::new();
        let mut order: Vec<TranscriptId> = Vec::new();
        for Beside { place, line } in lines {
            if let Some(common) = line.get(own::OPTIONS) {
                match options_of(common, line.get("name")) {
                    Ok((name, bytes)) => drop(options.insert(name, bytes)),
                    Err(why) => report.skip(place, "bad-request", why, false),
                }
            } else if let Some(request) = line.get(own::REQUEST) {
                match request_of(request, place, held) {
                    Ok(request) => {
                        let id = request.record.transcript.clone();
                        if !told.contains_key(&id) {
                            order.push(id.clone());
                        }
                        told.entry(id).or_default().push(request);
                    }
                    Err(why) => report.skip(place, "bad-request", why, false),
                }
            }
        }
        for id in order {
            let told = told.remove(&id).unwrap_or_default();
            self.store_requests(&id, told, &options, is_backup, report).await?;
        }
        Ok(())
    }

    async fn store_requests(
        &self,
        id: &TranscriptId,
        told: Vec<Told<'_>>,
        options: &HashMap<String, Vec<u8>>,
        is_backup: bool,
        report: &mut ImportReport,
    ) -> Result<(), KeepError> {
        let _writing = self.writing().await;
        let known: HashSet<String> = self.keys_of(&Scan::prefix(&keys::requests_of(id))).await?.into_iter().collect();
        let mut wrong = Vec::new();
        let stored = self.write(id, |log| {
            wrong.clear();
            let mut write = Write::new(Vec::new(), 0);
            let mut seen = known.clone();
            for Told { place, record, stamp } in &told {
                match here(log, record, stamp, options, is_backup, &seen) {
                    Ok(Some((puts, key))) => {
                        write.answer += 1;
                        seen.insert(key);
                        seen.extend(puts.iter().map(|(key, _)| key.clone()));
                        write.extra.puts.extend(puts);
                    }
                    Ok(None) => {}
                    Err(why) => wrong.push((*place, why)),
                }
            }
            Ok(write)
        });
        report.requests += stored.await?.unwrap_or(0);
        for (place, why) in wrong {
            report.skip(place, "bad-request", why, false);
        }
        Ok(())
    }
}

/// What is to be stored of a request, with its key; `None` if it is there already. Its id has the number that the node has here.
#[expect(clippy::type_complexity, reason = "records with their keys, as commits take them")]
fn here(
    log: &Log,
    record: &RequestRecord,
    stamp: &str,
    options: &HashMap<String, Vec<u8>>,
    is_backup: bool,
    known: &HashSet<String>,
) -> Result<Option<(Vec<(String, Vec<u8>)>, String)>, String> {
    let id = &record.transcript;
    let placed = log.tree.get(&record.node).ok_or("it is of a node that is not here")?;
    if record.messages > placed.node.messages.len() {
        return Err("it has more messages than its node".to_owned());
    }
    let stamp = format!("{stamp}{:x}", placed.seq);
    let (day, mut puts) = (day(record.sent_at), Vec::new());
    let key = keys::request(id, day, &stamp);
    if known.contains(&key) {
        return Ok(None);
    }
    if let Some(made_of) = &record.made_of {
        let at = keys::request_options(id, day, &made_of.options);
        if !known.contains(&at) {
            let bytes = options.get(&made_of.options).ok_or("its options are missing in the file")?;
            puts.push((at, bytes.clone()));
        }
    }
    let agent = record.agent.clone().filter(|_| is_backup);
    let record = RequestRecord { id: [id.as_str(), ":", &stamp].concat(), agent, cost: None, ..record.clone() };
    puts.push((key.clone(), to_json(&record).map_err(|error| error.to_string())?));
    Ok(Some((puts, key)))
}

/// Options that requests have in common, and their name, which is the hash of their text.
fn options_of(common: &Value, name: Option<&Value>) -> Result<(String, Vec<u8>), String> {
    let bytes = to_json(common).map_err(|error| error.to_string())?;
    let own = hex(&bytes)[..32].to_owned();
    if name.and_then(Value::as_str) != Some(&own) {
        return Err("the name of options is not the hash of their text".to_owned());
    }
    common_options(&bytes)?;
    Ok((own, bytes))
}

/// A request that a file tells of, as far as that can be checked without its conversation.
fn request_of<'a>(request: &Value, place: &'a str, held: &Held) -> Result<Told<'a>, String> {
    let text = to_json(request).map_err(|error| error.to_string())?;
    let record: RequestRecord = from_json(&text).map_err(|error| format!("a request cannot be read: {error}"))?;
    if !held.contains_key(&record.transcript) {
        return Err("a request of a transcript that the file does not have".to_owned());
    }
    let stamp = record.id.strip_prefix(record.transcript.as_str()).and_then(|rest| rest.strip_prefix(':'));
    let stamp = stamp.filter(|stamp| stamp.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    let head = stamp.and_then(|stamp| stamp.get(..19)).filter(|head| sent_at(head) == Some(record.sent_at));
    let Some(head) = head else { return Err("the id of a request is not of its transcript and its time".to_owned()) };
    if record.program.is_some() || record.made_of.is_some() == record.purpose.is_some() {
        return Err("a request must be one that can be made again, or one of a compaction".to_owned());
    }
    let Usage {
        prompt_tokens,
        completion_tokens,
        cached_tokens,
        cache_write_tokens,
        cache_hour_tokens,
        reasoning_tokens,
    } = record.usage.unwrap_or_default();
    let parts = [cached_tokens, cache_write_tokens, cache_hour_tokens, reasoning_tokens].into_iter().flatten();
    if parts.chain([record.tokens, prompt_tokens, completion_tokens]).any(|tokens| tokens > MOST) {
        return Err(format!("a request has more than {MOST} tokens"));
    }
    let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if record.made_of.as_ref().is_some_and(|made_of| !is_hash(&made_of.hash)) {
        return Err("the hash of a request must be 64 hex digits".to_owned());
    }
    MessageId::new(record.node.as_str()).map_err(|error| error.to_string())?;
    let stamp = head.to_owned();
    Ok(Told { place, record, stamp })
}
