//! Episodes and facts as they are stored, with the fields of seed and JSONL layout under our names.

use serde::Serialize;
use serde_json::Value;

use super::Share;
use threadkeep_core::TranscriptId;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::json::{Object, Wrong, wrong};

/// What happened in a stretch of turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Episode {
    /// Its id, such as `ep_0001`; unique in a keep.
    pub id: String,
    /// When it was made, in milliseconds since 1970 (UTC).
    pub created_at: i64,
    /// The transcript that it tells of, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptId>,
    /// The numbers of the turns that it tells of, ascending.
    pub turns: Vec<u32>,
    /// What happened.
    pub summary: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// How much it matters.
    pub salience: Share,
    /// The messages that it came from.
    pub sources: Vec<Source>,
    /// Whether the user wants it in every bundle.
    pub pinned: bool,
}

/// What kind of thing a fact says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FactKind {
    /// What somebody likes or wants.
    Preference,
    /// What was decided.
    Decision,
    /// What must or must not be.
    Constraint,
    /// Anything else that holds.
    #[default]
    Other,
}

/// What holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fact {
    /// Its id, such as `sem_0001`; unique in a keep.
    pub id: String,
    /// When it was made, in milliseconds since 1970 (UTC).
    pub created_at: i64,
    /// The transcript that it came from; none for what its user told apart from any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptId>,
    /// What kind of thing it says.
    pub kind: FactKind,
    /// What holds, as one sentence.
    pub fact: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// How sure it is.
    pub confidence: Share,
    /// How much it matters.
    pub salience: Share,
    /// The messages that it came from. Said again, a fact gains sources.
    pub sources: Vec<Source>,
    /// Whether the user wants it in every bundle.
    pub pinned: bool,
    /// The newer fact that contradicts it; it is kept, and no longer used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// One record of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Memory {
    /// An episode.
    Episode(Episode),
    /// A fact.
    Fact(Fact),
}

impl FactKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Preference, Self::Decision, Self::Constraint, Self::Other];

    /// Its name: `preference`, `decision`, `constraint` or `other`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Decision => "decision",
            Self::Constraint => "constraint",
            Self::Other => "other",
        }
    }
}

impl Episode {
    /// Reads what it writes.
    ///
    /// # Errors
    /// A field is missing or of another type.
    pub fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "episode")?;
        Ok(Self {
            id: fields.text("id")?,
            created_at: fields.maybe_time("createdAt")?.unwrap_or_default(),
            transcript: fields.maybe_id("transcript")?,
            turns: list(&mut fields, "turns", turn)?,
            summary: fields.text("summary")?,
            tags: list(&mut fields, "tags", text)?,
            salience: share(&mut fields, "salience")?,
            sources: list(&mut fields, "sources", |value| Source::read(value).ok())?,
            pinned: fields.take("pinned") == Value::Bool(true),
        })
    }
}

impl Fact {
    /// Reads what it writes.
    ///
    /// # Errors
    /// A field is missing or of another type.
    pub fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "fact")?;
        let kind = fields.maybe_text("kind")?;
        let kind = FactKind::ALL.into_iter().find(|known| kind.as_deref() == Some(known.name()));
        Ok(Self {
            id: fields.text("id")?,
            created_at: fields.maybe_time("createdAt")?.unwrap_or_default(),
            transcript: fields.maybe_id("transcript")?,
            kind: kind.unwrap_or_default(),
            fact: fields.text("fact")?,
            tags: list(&mut fields, "tags", text)?,
            confidence: share(&mut fields, "confidence")?,
            salience: share(&mut fields, "salience")?,
            sources: list(&mut fields, "sources", |value| Source::read(value).ok())?,
            pinned: fields.take("pinned") == Value::Bool(true),
            superseded_by: fields.maybe_text("supersededBy")?,
        })
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn turn(value: Value) -> Option<u32> {
    value.as_u64().and_then(|turn| turn.try_into().ok())
}

fn share(fields: &mut Object, name: &str) -> Result<Share, Wrong> {
    match fields.take(name) {
        Value::Null => Ok(Share::default()),
        value => Share::read(&value).ok_or_else(|| wrong(name, "a number from 0 to 1")),
    }
}

/// A list; nothing for a field that is not there.
fn list<T>(fields: &mut Object, name: &str, read: impl Fn(Value) -> Option<T>) -> Result<Vec<T>, Wrong> {
    match fields.take(name) {
        Value::Null => Ok(Vec::new()),
        Value::Array(values) => {
            let read: Option<Vec<T>> = values.into_iter().map(read).collect();
            read.ok_or_else(|| wrong(name, "a list whose entries are all of their kind"))
        }
        _ => Err(wrong(name, "a list")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_core::MessageId;

    fn source(node: &str) -> Source {
        Source { node: MessageId::new(node).unwrap(), index: 2 }
    }

    #[test]
    fn episodes_and_facts_read_what_they_write() {
        let episode = Episode {
            id: "ep_0001".into(),
            created_at: 1_738_100_500_000,
            transcript: Some(MessageId::new("t").unwrap()),
            turns: vec![1, 2],
            summary: "The parser was written.".into(),
            tags: vec!["parser".into()],
            salience: Share::of(700),
            sources: vec![source("a")],
            pinned: true,
        };
        assert_eq!(Episode::read(serde_json::to_value(&episode).unwrap()), Ok(episode));
        for kind in FactKind::ALL {
            let fact = Fact {
                id: "sem_0001".into(),
                created_at: 0,
                transcript: None,
                kind,
                fact: "Use vitest.".into(),
                tags: Vec::new(),
                confidence: Share::of(800),
                salience: Share::of(1000),
                sources: vec![source("a"), source("b")],
                pinned: false,
                superseded_by: Some("sem_0002".into()),
            };
            assert_eq!(Fact::read(serde_json::to_value(&fact).unwrap()), Ok(fact));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = Fact::read(serde_json::json!({"id": "f", "fact": "x", "salience": 2})).unwrap_err();
        assert_eq!(wrong.field, "salience");
        let wrong = Episode::read(serde_json::json!({"id": "e", "summary": "x", "turns": ["one"]})).unwrap_err();
        assert_eq!(wrong.field, "turns");
    }
}
