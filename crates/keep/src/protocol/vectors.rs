//! Vectors, which the caller's model makes: of which texts they are wanted, and how they come in. Numbers come as signed bytes; the
//! scale is the caller's, and each vector may have its own, since only angles count.

use serde_json::Value;
use threadkeep_core::TranscriptId;
use threadkeep_recall::LONGEST_VECTOR;

use super::object::object;
use super::request::{Checked, Params, bad};

/// A vector, and the name of the model that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// The model's name, which may be empty.
    pub model: String,
    /// The numbers.
    pub values: Vec<i8>,
}

/// Where an indexed text is: a message, or a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its transcript.
    pub transcript: TranscriptId,
    /// The sequence number of its node, or of a checkpoint's entry.
    pub seq: u64,
    /// Its place in the node.
    pub index: u32,
}

/// Texts of which there is no vector yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToEmbed {
    /// The texts.
    pub texts: Vec<String>,
    /// Where each of them is.
    pub places: Vec<Place>,
    /// How many others have none, either.
    pub left: u64,
}

/// Vectors to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVectors {
    /// The name of the model that made them.
    pub model: String,
    /// Whose they are.
    pub places: Vec<Place>,
    /// One for each place, all of the same length.
    pub vectors: Vec<Vec<i8>>,
}

impl ToEmbed {
    /// It as JSON: `{texts, places: [[transcript, seq, index], …], left}`.
    pub fn to_json(&self) -> Value {
        let place =
            |place: &Place| Value::Array(vec![place.transcript.as_str().into(), place.seq.into(), place.index.into()]);
        object([
            ("texts", self.texts.iter().map(|text| Value::from(text.as_str())).collect()),
            ("places", self.places.iter().map(place).collect()),
            ("left", self.left.into()),
        ])
    }
}

impl NewVectors {
    pub(super) fn read(params: &mut Params) -> Checked<Self> {
        let model = params.text("model")?;
        let (Some(Value::Array(places)), Some(Value::Array(vectors))) = (params.take("places"), params.take("vectors"))
        else {
            return bad("vectors", "must be a list, and so must places");
        };
        let places: Option<Vec<Place>> = places.iter().map(place).collect();
        let vectors: Option<Vec<Vec<i8>>> = vectors.iter().map(numbers).collect();
        match (places, vectors) {
            (Some(places), Some(vectors)) if places.len() == vectors.len() => Ok(Self { model, places, vectors }),
            _ => bad("vectors", "must be lists of whole numbers from -127 to 127, one for each place"),
        }
    }
}

fn place(value: &Value) -> Option<Place> {
    let [transcript, seq, index] = value.as_array()?.as_slice() else { return None };
    Some(Place {
        transcript: TranscriptId::new(transcript.as_str()?).ok()?,
        seq: seq.as_u64()?,
        index: index.as_u64()?.try_into().ok()?,
    })
}

fn numbers(value: &Value) -> Option<Vec<i8>> {
    let values = value.as_array()?;
    let one = |value: &Value| value.as_i64().filter(|value| (-127..=127).contains(value)).map(|value| value as i8);
    if values.is_empty() || values.len() > LONGEST_VECTOR { None } else { values.iter().map(one).collect() }
}

/// The options `vector` and `model`, which come together.
pub(super) fn vector(options: &mut Params) -> Checked<Option<Vector>> {
    let model = options.maybe_text("model")?.unwrap_or_default();
    match options.take("vector") {
        None => Ok(None),
        Some(value) => match numbers(&value) {
            Some(values) => Ok(Some(Vector { model, values })),
            None => bad("vector", "must be a list of whole numbers from -127 to 127"),
        },
    }
}
