//! Episodes and facts as lines.

use serde_json::{Map, Value};

use super::{millis, put, seconds};
use crate::memory::{Episode, Fact, FactKind, Share, turn_number};
use threadkeep_core::checkpoint::Source;
use threadkeep_core::json::{Object, Wrong, wrong};
use threadkeep_core::node::turn_name;

/// What a line without the field is taken to say: neither sure nor unsure.
const HALF: Share = Share::of(500);

pub(super) fn episode_json(episode: &Episode) -> Value {
    let mut map = Map::new();
    put(&mut map, "id", episode.id.as_str());
    put(&mut map, "ts", seconds(episode.created_at));
    put(&mut map, "turn_ids", episode.turns.iter().map(|turn| turn_name(*turn)).collect::<Vec<_>>());
    put(&mut map, "summary", episode.summary.as_str());
    put(&mut map, "tags", episode.tags.clone());
    put(&mut map, "salience", episode.salience.to_json());
    ours(&mut map, episode.transcript.as_ref().map(|id| id.as_str()), &episode.sources, episode.pinned);
    Value::Object(map)
}

pub(super) fn fact_json(fact: &Fact) -> Value {
    let mut map = Map::new();
    put(&mut map, "id", fact.id.as_str());
    put(&mut map, "ts", seconds(fact.created_at));
    put(&mut map, "fact", fact.fact.as_str());
    put(&mut map, "tags", fact.tags.clone());
    put(&mut map, "confidence", fact.confidence.to_json());
    put(&mut map, "salience", fact.salience.to_json());
    ours(&mut map, fact.transcript.as_ref().map(|id| id.as_str()), &fact.sources, fact.pinned);
    if fact.kind != FactKind::Other {
        put(&mut map, "kind", fact.kind.name());
    }
    if let Some(newer) = &fact.superseded_by {
        put(&mut map, "superseded_by", newer.as_str());
    }
    Value::Object(map)
}

fn ours(map: &mut Map<String, Value>, transcript: Option<&str>, sources: &[Source], pinned: bool) {
    if let Some(transcript) = transcript {
        put(map, "transcript", transcript);
    }
    if !sources.is_empty() {
        let source = |source: &Source| {
            let mut map = Map::new();
            put(&mut map, "node", source.node.as_str());
            put(&mut map, "index", source.index);
            Value::Object(map)
        };
        put(map, "sources", sources.iter().map(source).collect::<Vec<_>>());
    }
    if pinned {
        put(map, "pinned", true);
    }
}

/// Reads an episode from the fields of its line.
///
/// # Errors
/// A field is missing or of another type.
pub fn read_episode(mut fields: Object) -> Result<Episode, Wrong> {
    let mut turns = Vec::new();
    for name in texts(&mut fields, "turn_ids")? {
        turns.push(turn_number(&name).ok_or_else(|| wrong("turn_ids", "a list of names such as `turn_0001`"))?);
    }
    Ok(Episode {
        id: fields.text("id")?,
        created_at: time(&mut fields)?,
        transcript: fields.maybe_id("transcript")?,
        turns,
        summary: fields.text("summary")?,
        tags: texts(&mut fields, "tags")?,
        salience: share(&mut fields, "salience")?,
        sources: sources(&mut fields)?,
        pinned: fields.flag("pinned")?,
    })
}

/// Reads a fact from the fields of its line.
///
/// # Errors
/// A field is missing or of another type.
pub fn read_fact(mut fields: Object) -> Result<Fact, Wrong> {
    let kind = fields.maybe_text("kind")?;
    let kind = FactKind::ALL.into_iter().find(|known| kind.as_deref() == Some(known.name()));
    let tags = texts(&mut fields, "tags")?;
    // The layout has no kinds; those who use it write them as tags.
    let tagged = FactKind::ALL.into_iter().find(|known| tags.iter().any(|tag| tag == known.name()));
    Ok(Fact {
        id: fields.text("id")?,
        created_at: time(&mut fields)?,
        transcript: fields.maybe_id("transcript")?,
        kind: kind.or(tagged).unwrap_or_default(),
        fact: fields.text("fact")?,
        tags,
        confidence: share(&mut fields, "confidence")?,
        salience: share(&mut fields, "salience")?,
        sources: sources(&mut fields)?,
        pinned: fields.flag("pinned")?,
        superseded_by: fields.maybe_text("superseded_by")?,
    })
}

fn time(fields: &mut Object) -> Result<i64, Wrong> {
    match fields.take("ts") {
        Value::Number(number) => millis(&number),
        _ => None,
    }
    .ok_or_else(|| wrong("ts", "a time in seconds since 1970"))
}

fn share(fields: &mut Object, name: &str) -> Result<Share, Wrong> {
    match fields.take(name) {
        Value::Null => Ok(HALF),
        value => Share::read(&value).ok_or_else(|| wrong(name, "a number from 0 to 1")),
    }
}

pub(super) fn texts(fields: &mut Object, name: &str) -> Result<Vec<String>, Wrong> {
    let mut texts = Vec::new();
    for value in fields.list(name)? {
        match value {
            Value::String(text) => texts.push(text),
            _ => return Err(wrong(name, "a list of strings")),
        }
    }
    Ok(texts)
}

fn sources(fields: &mut Object) -> Result<Vec<Source>, Wrong> {
    fields.list("sources")?.into_iter().map(Source::read).collect()
}
