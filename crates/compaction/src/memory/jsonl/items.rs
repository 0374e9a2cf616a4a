//! Episodes and facts as lines.

use std::ops::Not;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use threadkeep_core::TranscriptId;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::node::turn_name;

use super::{millis, seconds};
use crate::memory::record::origin;
use crate::memory::{Episode, Fact, FactKind, MemoryOrigin, Share, turn_number};

/// What a line without the field is taken to say: neither sure nor unsure.
const HALF: Share = Share::of(500);

/// An episode as a line has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct EpisodeLine {
    id: String,
    ts: Time,
    #[serde(default)]
    turn_ids: Vec<Turn>,
    summary: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default = "half", deserialize_with = "salience")]
    salience: Share,
    #[serde(skip_serializing_if = "Option::is_none")]
    transcript: Option<TranscriptId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<Source>,
    #[serde(default, skip_serializing_if = "Not::not")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, deserialize_with = "origin", skip_serializing_if = "Option::is_none")]
    origin: Option<MemoryOrigin>,
}

/// A fact as a line has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FactLine {
    id: String,
    ts: Time,
    fact: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default = "half", deserialize_with = "confidence")]
    confidence: Share,
    #[serde(default = "half", deserialize_with = "salience")]
    salience: Share,
    #[serde(skip_serializing_if = "Option::is_none")]
    transcript: Option<TranscriptId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<Source>,
    #[serde(default, skip_serializing_if = "Not::not")]
    pinned: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, deserialize_with = "origin", skip_serializing_if = "Option::is_none")]
    origin: Option<MemoryOrigin>,
}

/// A time in milliseconds since 1970; in a line, in seconds.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(into = "Number")]
struct Time(i64);

/// A turn's number; in a line, its name.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Turn(u32);

/// Reads an episode from a line.
///
/// # Errors
/// It is no JSON, or a field is missing or of another type.
pub fn read_episode(line: &str) -> Result<Episode, serde_json::Error> {
    serde_json::from_str::<EpisodeLine>(line).map(Episode::from)
}

/// Reads a fact from a line.
///
/// # Errors
/// It is no JSON, or a field is missing or of another type.
pub fn read_fact(line: &str) -> Result<Fact, serde_json::Error> {
    serde_json::from_str::<FactLine>(line).map(Fact::from)
}

/// The origin of a line without one: nobody knows who said it.
const UNKNOWN: MemoryOrigin = MemoryOrigin::Import;

fn half() -> Share {
    HALF
}

fn salience<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
    Share::deserialize(deserializer).map_err(|_| D::Error::custom("`salience` must be a number from 0 to 1"))
}

fn confidence<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
    Share::deserialize(deserializer).map_err(|_| D::Error::custom("`confidence` must be a number from 0 to 1"))
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let millis = Number::deserialize(deserializer).ok().and_then(|seconds| millis(&seconds));
        millis.map(Self).ok_or_else(|| D::Error::custom("`ts` must be a time in seconds since 1970"))
    }
}

impl From<Time> for Number {
    fn from(time: Time) -> Self {
        seconds(time.0)
    }
}

impl TryFrom<String> for Turn {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        turn_number(&name).map(Self).ok_or("`turn_ids` must be a list of names such as `turn_0001`")
    }
}

impl From<Turn> for String {
    fn from(turn: Turn) -> Self {
        turn_name(turn.0)
    }
}

impl From<EpisodeLine> for Episode {
    fn from(line: EpisodeLine) -> Self {
        Self {
            id: line.id,
            created_at: line.ts.0,
            transcript: line.transcript,
            turns: line.turn_ids.into_iter().map(|turn| turn.0).collect(),
            summary: line.summary,
            tags: line.tags,
            salience: line.salience,
            sources: line.sources,
            pinned: line.pinned,
            agent: line.agent,
            origin: line.origin.or(Some(UNKNOWN)),
        }
    }
}

impl From<Episode> for EpisodeLine {
    fn from(episode: Episode) -> Self {
        let origin = Some(episode.worth()).filter(|origin| *origin != UNKNOWN);
        Self {
            id: episode.id,
            ts: Time(episode.created_at),
            turn_ids: episode.turns.into_iter().map(Turn).collect(),
            summary: episode.summary,
            tags: episode.tags,
            salience: episode.salience,
            transcript: episode.transcript,
            sources: episode.sources,
            pinned: episode.pinned,
            agent: episode.agent,
            origin,
        }
    }
}

impl From<FactLine> for Fact {
    fn from(line: FactLine) -> Self {
        let kind = line.kind.and_then(|name| FactKind::from_name(&name));
        // The layout has no kinds; those who use it write them as tags.
        let tagged = FactKind::ALL.into_iter().find(|known| line.tags.iter().any(|tag| tag == known.name()));
        Self {
            id: line.id,
            created_at: line.ts.0,
            transcript: line.transcript,
            kind: kind.or(tagged).unwrap_or_default(),
            fact: line.fact,
            tags: line.tags,
            confidence: line.confidence,
            salience: line.salience,
            sources: line.sources,
            pinned: line.pinned,
            superseded_by: line.superseded_by,
            agent: line.agent,
            origin: line.origin.or(Some(UNKNOWN)),
        }
    }
}

impl From<Fact> for FactLine {
    fn from(fact: Fact) -> Self {
        let origin = Some(fact.worth()).filter(|origin| *origin != UNKNOWN);
        Self {
            id: fact.id,
            ts: Time(fact.created_at),
            fact: fact.fact,
            tags: fact.tags,
            confidence: fact.confidence,
            salience: fact.salience,
            transcript: fact.transcript,
            sources: fact.sources,
            pinned: fact.pinned,
            kind: (fact.kind != FactKind::Other).then(|| fact.kind.name().to_owned()),
            superseded_by: fact.superseded_by,
            agent: fact.agent,
            origin,
        }
    }
}
