//! Vectors, which the caller's model makes: of which texts they are wanted, and how they come in. Numbers come as signed bytes; the
//! scale is the caller's, and each vector may have its own, since only angles count.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use threadkeep_core::TranscriptId;
use threadkeep_json::own_value;
use threadkeep_recall::LONGEST_VECTOR;

/// A vector, and the name of the model that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// The model's name, which may be empty.
    pub model: String,
    /// The numbers.
    pub values: Vec<i8>,
}

/// Where an indexed text is: a message, or a summary. As JSON `[transcript, seq, index]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(TranscriptId, u64, u32)", into = "(TranscriptId, u64, u32)")]
pub struct Place {
    /// Its transcript.
    pub transcript: TranscriptId,
    /// The sequence number of its node, or of a checkpoint's entry.
    pub seq: u64,
    /// Its place in the node.
    pub index: u32,
}

threadkeep_core::in_typescript!(Place, "[string, number, number]");

/// Texts of which there is no vector yet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ToEmbed {
    /// The texts.
    pub texts: Vec<String>,
    /// Where each of them is.
    pub places: Vec<Place>,
    /// How many others have none, either.
    pub left: u64,
}

/// Vectors to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct NewVectors {
    /// The name of the model that made them.
    pub model: String,
    /// Whose they are.
    pub places: Vec<Place>,
    /// One for each place, all of the same length.
    #[serde(deserialize_with = "all")]
    pub vectors: Vec<Vec<i8>>,
}

impl From<(TranscriptId, u64, u32)> for Place {
    fn from((transcript, seq, index): (TranscriptId, u64, u32)) -> Self {
        Self { transcript, seq, index }
    }
}

impl From<Place> for (TranscriptId, u64, u32) {
    fn from(place: Place) -> Self {
        (place.transcript, place.seq, place.index)
    }
}

impl ToEmbed {
    /// It as JSON: `{texts, places: [[transcript, seq, index], …], left}`.
    pub fn to_json(&self) -> Value {
        own_value(self)
    }
}

/// The numbers of one vector.
#[derive(Deserialize)]
#[serde(transparent)]
struct Numbers(#[serde(deserialize_with = "numbers")] Vec<i8>);

/// The numbers of a vector.
pub(super) fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i8>, D::Error> {
    let values = Vec::deserialize(deserializer)?;
    if values.is_empty() || values.len() > LONGEST_VECTOR || values.contains(&i8::MIN) {
        let why = format!("must be a list of 1 to {LONGEST_VECTOR} whole numbers from -127 to 127");
        return Err(D::Error::custom(why));
    }
    Ok(values)
}

fn all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<i8>>, D::Error> {
    Ok(Vec::deserialize(deserializer)?.into_iter().map(|Numbers(values)| values).collect())
}
