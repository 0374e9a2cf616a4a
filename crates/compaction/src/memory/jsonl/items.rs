//! Episodes and facts as lines.

use std::ops::Not;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use threadkeep_core::TranscriptId;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::node::turn_name;

use super::{millis, seconds};
use crate::memory::{Episode, Fact, FactKind, Share, turn_number};

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
        }
    }
}

impl From<&Episode> for EpisodeLine {
    fn from(episode: &Episode) -> Self {
        let Episode { id, created_at, transcript, turns, summary, tags, salience, sources, pinned } = episode.clone();
        let turn_ids = turns.into_iter().map(Turn).collect();
        Self { id, ts: Time(created_at), turn_ids, summary, tags, salience, transcript, sources, pinned }
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
        }
    }
}

impl From<&Fact> for FactLine {
    fn from(fact: &Fact) -> Self {
        let Fact { id, created_at, transcript, kind, fact, tags, confidence, salience, sources, pinned, superseded_by } =
            fact.clone();
        let kind = (kind != FactKind::Other).then(|| kind.name().to_owned());
        let ts = Time(created_at);
        Self { id, ts, fact, tags, confidence, salience, transcript, sources, pinned, kind, superseded_by }
    }
}
