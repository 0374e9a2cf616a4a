//! Episodes and facts as they are stored, with the fields of seed and JSONL layout under our names.

use serde::{Deserialize, Deserializer, Serialize};
use threadkeep_core::TranscriptId;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::read::or_default;
use threadkeep_core::read_by_name;

use super::{MemoryOrigin, Share};

/// What happened in a stretch of turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Episode {
    /// Its id, such as `ep_0001`; unique in a keep.
    pub id: String,
    /// When it was made, in milliseconds since 1970 (UTC).
    #[serde(default, deserialize_with = "or_default")]
    pub created_at: i64,
    /// The transcript that it tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptId>,
    /// The numbers of its turns.
    #[serde(default, deserialize_with = "or_default")]
    pub turns: Vec<u32>,
    /// What happened.
    pub summary: String,
    /// Words to find it by.
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    /// How much it matters, from 0 to 1.
    #[serde(default, deserialize_with = "or_default")]
    pub salience: Share,
    /// The messages that it came from.
    #[serde(default, deserialize_with = "or_default")]
    pub sources: Vec<Source>,
    /// Whether it comes first in every bundle.
    #[serde(default, deserialize_with = "or_default")]
    pub pinned: bool,
    /// The agent whose memory it is; none for what all of the keep share.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "or_default")]
    pub agent: Option<String>,
    /// The weakest origin of what it rests on. Records of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "origin")]
    pub origin: Option<MemoryOrigin>,
}

/// What kind of thing a fact says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Fact {
    /// Its id, such as `sem_0001`; unique in a keep.
    pub id: String,
    /// When it was made, in milliseconds since 1970 (UTC).
    #[serde(default, deserialize_with = "or_default")]
    pub created_at: i64,
    /// The transcript that it came from; none for what was told apart from any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptId>,
    /// What kind of thing it says.
    #[serde(default, deserialize_with = "known")]
    pub kind: FactKind,
    /// What holds, as one sentence.
    pub fact: String,
    /// Words to find it by.
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    /// How sure it is, from 0 to 1.
    #[serde(default, deserialize_with = "or_default")]
    pub confidence: Share,
    /// How much it matters, from 0 to 1.
    #[serde(default, deserialize_with = "or_default")]
    pub salience: Share,
    /// The messages that it came from. Said again, a fact gains sources.
    #[serde(default, deserialize_with = "or_default")]
    pub sources: Vec<Source>,
    /// Whether it comes first in every bundle.
    #[serde(default, deserialize_with = "or_default")]
    pub pinned: bool,
    /// The fact that contradicts it, newer or of a stronger origin; it is kept, and no longer used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The agent whose memory it is; none for what all of the keep share.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "or_default")]
    pub agent: Option<String>,
    /// The weakest origin of what it rests on. Records of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "origin")]
    pub origin: Option<MemoryOrigin>,
}

/// One record of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Memory {
    /// An episode.
    Episode(Episode),
    /// A fact.
    Fact(Fact),
}

impl Episode {
    /// Its origin, or the weakest that its sources allow where none was kept.
    pub fn worth(&self) -> MemoryOrigin {
        self.origin.unwrap_or_else(|| weakest(&self.sources, &self.tags))
    }
}

impl Fact {
    /// Its origin, or the weakest that its sources allow where none was kept.
    pub fn worth(&self) -> MemoryOrigin {
        self.origin.unwrap_or_else(|| weakest(&self.sources, &self.tags))
    }

    /// What it counts as against facts that contradict it: its [worth](Self::worth), or the user's word if it is pinned.
    pub fn strength(&self) -> MemoryOrigin {
        if self.pinned { MemoryOrigin::User } else { self.worth() }
    }
}

/// The tag of what came from a file that is no backup.
pub const IMPORTED: &str = "imported";

/// The weakest origin of a record of earlier versions. What names no sources its user wrote down, unless a file brought it. Ids of
/// imported messages have their archive in front. Any other message may have been a tool's result.
fn weakest(sources: &[Source], tags: &[String]) -> MemoryOrigin {
    let imported = |source: &Source| source.node.as_str().split('/').nth(2).is_some_and(|own| !own.starts_with('#'));
    match sources {
        _ if tags.iter().any(|tag| tag == IMPORTED) || sources.iter().any(imported) => MemoryOrigin::Import,
        [] => MemoryOrigin::User,
        _ => MemoryOrigin::Tool,
    }
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

    /// The kind of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

read_by_name!(FactKind, FactKind::from_name, "preference, decision, constraint or other");

/// An origin that a later version made is not known.
pub(super) fn origin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MemoryOrigin>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.and_then(|name| MemoryOrigin::from_name(&name)))
}

/// A kind that a later version made is another one.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FactKind, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    Ok(name.and_then(|name| FactKind::from_name(&name)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_core::MessageId;
    use threadkeep_core::read::options;

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
            agent: Some("lal".into()),
            origin: Some(MemoryOrigin::Tool),
        };
        let text = serde_json::to_string(&episode).unwrap();
        assert_eq!(serde_json::from_str::<Episode>(&text).unwrap(), episode);
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
                agent: None,
                origin: Some(MemoryOrigin::User),
            };
            let text = serde_json::to_string(&fact).unwrap();
            assert_eq!(serde_json::from_str::<Fact>(&text).unwrap(), fact);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = options::<Fact>(r#"{"id": "f", "fact": "x", "salience": 2}"#, "fact").unwrap_err();
        assert_eq!(wrong.to_string(), "fact.salience must be a number from 0 to 1");
        let wrong = options::<Episode>(r#"{"id": "e", "summary": "x", "turns": ["one"]}"#, "episode").unwrap_err();
        assert_eq!(wrong.argument, "episode.turns[0]");
    }

    #[test]
    fn a_record_of_an_earlier_version_is_shared_and_as_weak_as_its_sources_allow() {
        let worth = |rest: &str| {
            let fact: Fact = serde_json::from_str(&format!(r#"{{"id": "f", "fact": "x"{rest}}}"#)).unwrap();
            assert_eq!((fact.agent.as_ref(), fact.origin), (None, None));
            fact.worth()
        };
        assert_eq!(worth(""), MemoryOrigin::User);
        assert_eq!(worth(r#", "tags": ["imported"]"#), MemoryOrigin::Import);
        assert_eq!(worth(r#", "sources": [{"node": "m1", "index": 0}]"#), MemoryOrigin::Tool);
        let both = r#", "sources": [{"node": "m1", "index": 0}, {"node": "chatgpt/c1/m2", "index": 0}]"#;
        assert_eq!(worth(both), MemoryOrigin::Import);
        assert_eq!(worth(r##", "sources": [{"node": "chatgpt/c1/#01", "index": 0}]"##), MemoryOrigin::Tool);
        assert_eq!(worth(r#", "origin": "dream", "sources": [{"node": "m1", "index": 0}]"#), MemoryOrigin::Tool);
    }

    #[test]
    fn what_is_missing_or_made_by_a_later_version_has_its_default() {
        let fact: Fact =
            serde_json::from_str(r#"{"id": "f", "fact": "x", "kind": "dream", "tags": null, "mood": 1}"#).unwrap();
        assert_eq!((fact.kind, fact.tags, fact.salience), (FactKind::Other, Vec::<String>::new(), Share::of(0)));
        let episode: Episode =
            serde_json::from_str(r#"{"id": "e", "summary": "x", "sources": [{"node": "n"}]}"#).unwrap();
        assert_eq!((episode.created_at, episode.sources[0].index), (0, 0));
    }
}
