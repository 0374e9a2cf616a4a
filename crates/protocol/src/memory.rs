//! What can be asked of what is remembered. The answers are records as `threadkeep_compaction::memory` writes them.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use threadkeep_compaction::memory::{
    BundleLimits, Episode, Fact, FactKind, MemoryBundle, MemoryOrigin, Share, ToolInteraction, turn_number,
};
use threadkeep_core::checkpoint::Source;
use threadkeep_core::node::turn_name;
use threadkeep_core::read::{self, BadRequest, bad, or_default};
use threadkeep_core::{MessageId, TranscriptId, read_by_name};
use threadkeep_json::own_value;

use super::Counting;

/// Which facts to give; all of those that hold without it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "FactFilter", optional_fields))]
pub struct MemoryFilter {
    /// Only those of this transcript.
    pub transcript: Option<TranscriptId>,
    /// Only those that came from this node.
    pub source: Option<MessageId>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// What this agent sees: its own records and those that all share. Without it, the records of all.
    pub agent: Option<String>,
    /// Those that another one has superseded, too.
    #[serde(deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub superseded: bool,
    /// At most so many, the newest ones.
    pub limit: Option<usize>,
}

/// Which episodes to give; all of them without it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
#[serde(deny_unknown_fields, default)]
pub struct EpisodeFilter {
    /// Only those of this transcript.
    pub transcript: Option<TranscriptId>,
    /// Only those that came from this node.
    pub source: Option<MessageId>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// What this agent sees: its own records and those that all share. Without it, the records of all.
    pub agent: Option<String>,
    /// At most so many, the newest ones.
    pub limit: Option<u32>,
}

/// A fact to be remembered: one sentence, and what is known of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct NewFact {
    /// What holds, as one sentence.
    pub fact: String,
    /// What kind of thing it says; `other` without it.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub kind: FactKind,
    /// Words to find it by.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub tags: Vec<String>,
    /// How sure it is, from 0 to 1; 1 without it.
    #[serde(default = "certain", deserialize_with = "or_certain")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub confidence: Share,
    /// How much it matters, from 0 to 1; 0.5 without it.
    #[serde(default = "middling", deserialize_with = "or_middling")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub salience: Share,
    /// The transcript that it belongs to, if any.
    pub transcript: Option<TranscriptId>,
    /// The messages that it came from, if any.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub sources: Vec<Source>,
    /// Whether it comes first in every bundle.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub pinned: bool,
    /// The agent whose memory it is; without it, all share it.
    pub agent: Option<String>,
    /// Who said it; `user` without it.
    #[serde(default = "by_user", deserialize_with = "or_by_user")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub origin: MemoryOrigin,
}

impl NewFact {
    /// A certain fact of middling weight that belongs to no transcript, and that all share.
    pub fn new(fact: impl Into<String>) -> Self {
        Self {
            fact: fact.into(),
            kind: FactKind::Other,
            tags: Vec::new(),
            confidence: certain(),
            salience: middling(),
            transcript: None,
            sources: Vec::new(),
            pinned: false,
            agent: None,
            origin: by_user(),
        }
    }
}

fn by_user() -> MemoryOrigin {
    MemoryOrigin::User
}

fn or_by_user<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MemoryOrigin, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(by_user))
}

fn certain() -> Share {
    Share::of(1000)
}

fn or_certain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(certain))
}

fn middling() -> Share {
    Share::of(500)
}

fn or_middling<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(middling))
}

/// A change of a fact; what is left out stays. Another text without a confidence is certain.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "FactEdit", optional_fields))]
pub struct EditFact {
    /// Which.
    #[cfg_attr(feature = "ts", ts(skip))]
    pub id: String,
    /// What holds.
    pub fact: Option<String>,
    /// What kind of thing it says.
    pub kind: Option<FactKind>,
    /// Words to find it by.
    pub tags: Option<Vec<String>>,
    /// How sure it is, from 0 to 1.
    pub confidence: Option<Share>,
    /// How much it matters, from 0 to 1.
    pub salience: Option<Share>,
}

/// A change of an episode; what is left out stays.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "EpisodeEdit", optional_fields))]
pub struct EditEpisode {
    /// Which.
    #[cfg_attr(feature = "ts", ts(skip))]
    pub id: String,
    /// What happened.
    pub summary: Option<String>,
    /// Words to find it by.
    pub tags: Option<Vec<String>>,
    /// How much it matters, from 0 to 1.
    pub salience: Option<Share>,
}

/// What to retrieve for a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "RetrieveOptions", optional_fields))]
pub struct Retrieve {
    /// The current input.
    pub query: Option<String>,
    /// The most episodes, default 3. Zero means none.
    pub episodes: Option<u32>,
    /// The most facts, default 20. Zero means none.
    pub facts: Option<u32>,
    /// Only those of this transcript.
    pub transcript: Option<TranscriptId>,
    /// Only those that came from this node.
    pub source: Option<MessageId>,
    /// Only those with this tag.
    pub tag: Option<String>,
    /// Whose prompt: this agent's own records come along with those that all share. Without it, only the shared ones.
    pub agent: Option<String>,
}

impl Retrieve {
    /// How many records at most.
    pub fn limits(&self) -> BundleLimits {
        let most = |count: Option<u32>, other| count.map_or(other, |count| count as usize);
        let other = BundleLimits::default();
        BundleLimits { episodes: most(self.episodes, other.episodes), facts: most(self.facts, other.facts) }
    }

    /// Which records.
    pub fn filter(&self) -> MemoryFilter {
        let (transcript, source, tag) = (self.transcript.clone(), self.source.clone(), self.tag.clone());
        MemoryFilter { transcript, source, tag, agent: self.agent.clone(), ..MemoryFilter::default() }
    }
}

/// A turn's number, which JSON has as its name: `turn_0001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnName(
    /// The number, from 1.
    pub u32,
);

impl TurnName {
    fn from_name(name: &str) -> Option<Self> {
        turn_number(name).map(Self)
    }
}

threadkeep_core::in_typescript!(TurnName, "string");

read_by_name!(TurnName, TurnName::from_name, "the name of a turn, such as turn_0001");

/// What was recorded at a head: in some turns, or in the last ones.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct RawTraces {
    /// The head's name.
    pub head: String,
    /// These turns, without `tail` and `exclude`.
    pub turns: Option<Vec<TurnName>>,
    /// So many of the last turns; 4 without it.
    pub tail: Option<u32>,
    /// A turn that does not count among them: the current one, say.
    pub exclude: Option<TurnName>,
}

/// A compaction snapshot: what is remembered, and the last turns.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct BuildSnapshot {
    /// The head's name.
    pub head: String,
    /// The episodes, as whole records.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub episodes: Vec<Episode>,
    /// The facts, as whole records.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub facts: Vec<Fact>,
    /// The system prompt, if there is one.
    pub system_prompt: Option<String>,
    /// How many of the last turns; 4 without it.
    pub tail: Option<u32>,
    /// A turn that does not count among them: the current one, say.
    pub exclude: Option<TurnName>,
    /// The most tokens of all but the system prompt; `None` for any number.
    pub budget: Option<u32>,
    /// How they are counted.
    #[serde(default, deserialize_with = "or_default")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub encoding: Counting,
}

/// One request of what is remembered.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub enum MemoryRequest {
    /// Episodes, oldest first. → a list of episodes
    Episodes(EpisodeFilter),
    /// Facts, oldest first. → a list of facts
    Facts(MemoryFilter),
    /// Remembers a fact. → the fact
    Remember(NewFact),
    /// Changes a fact. → the fact
    EditFact(#[cfg_attr(feature = "ts", ts(type = "{ id: string } & FactEdit"))] EditFact),
    /// Changes an episode. → the episode
    EditEpisode(#[cfg_attr(feature = "ts", ts(type = "{ id: string } & EpisodeEdit"))] EditEpisode),
    /// Pins a record, or lets go of it. → null
    Pin {
        /// The record.
        id: String,
        /// `false` lets go of it.
        pinned: Option<bool>,
    },
    /// Deletes a record, for good. → whether it was there
    Forget {
        /// The record.
        id: String,
    },
    /// What a prompt would get. → `{episodes, facts}`
    Retrieve(Retrieve),
    /// The tool calls of a chain with their results. → a list
    ToolInteractions {
        /// A head's name, or the end of the chain: a node or an alias of it.
        at: String,
        /// Only those of this turn.
        turn: Option<u32>,
    },
    /// What was recorded at a head in some turns. → a list of traces
    RawTraces(#[cfg_attr(feature = "ts", ts(inline))] RawTraces),
    /// The turns that a compaction would cover. → a list of names
    CompactionTurns {
        /// The head's name.
        head: String,
        /// How many of the last turns stay.
        keep_turns: Option<u32>,
    },
    /// The name that the next turn gets. → a name
    NextTurn {
        /// The head's name.
        head: String,
    },
    /// The compaction snapshot of a head. → a list of messages
    BuildSnapshot(#[cfg_attr(feature = "ts", ts(inline))] Box<BuildSnapshot>),
}

impl MemoryRequest {
    /// The methods that are read here.
    pub fn methods() -> &'static [&'static str] {
        read::methods::<Self>()
    }

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep_protocol::MemoryRequest;
    /// assert!(MemoryRequest::read("remember", r#"{"fact": "Use pnpm.", "kind": "decision"}"#).is_ok());
    /// assert_eq!(MemoryRequest::read("remember", "{}").unwrap_err().argument, "fact");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        match read::request(method, params)? {
            Self::RawTraces(RawTraces { turns: Some(_), tail, exclude, .. }) if tail.is_some() || exclude.is_some() => {
                bad("turns", "must stand without tail and exclude")
            }
            request => Ok(request),
        }
    }
}

/// A bundle as JSON: `{episodes, facts}`.
pub fn bundle_json(bundle: &MemoryBundle) -> Value {
    let mut map = Map::new();
    map.insert("episodes".to_owned(), own_value(&bundle.episodes));
    map.insert("facts".to_owned(), own_value(&bundle.facts));
    Value::Object(map)
}

/// A tool call with its result as JSON: `{toolCallId, turnId, toolName, arguments, result, error, status}`.
pub fn interaction_json(interaction: ToolInteraction) -> Value {
    let mut map = Map::new();
    let mut put = |name: &str, value: Value| drop(map.insert(name.to_owned(), value));
    put("toolCallId", interaction.tool_call_id.into());
    put("turnId", if interaction.turn > 0 { turn_name(interaction.turn).into() } else { Value::Null });
    put("toolName", interaction.tool_name.into());
    put("arguments", interaction.arguments);
    put("result", interaction.result.unwrap_or_default());
    put("error", interaction.error.into());
    put("status", interaction.status.name().into());
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_read() {
        let some = r#"{"id": "sem_1", "fact": "f", "at": "main", "head": "main"}"#;
        for method in MemoryRequest::methods() {
            let wrong = MemoryRequest::read(method, r#"{"nonsense": 1}"#).unwrap_err();
            assert!(["nonsense", "fact", "id", "at", "head"].contains(&wrong.argument.as_str()), "{method}: {wrong:?}");
            assert_ne!(MemoryRequest::read(method, some).err().map(|it| it.argument), Some("method".to_owned()));
        }
        let read = MemoryRequest::read("pin", r#"{"id": "a"}"#).unwrap();
        assert_eq!(read, MemoryRequest::Pin { id: "a".into(), pinned: None });
        let read = MemoryRequest::read("retrieve", r#"{"query": "tea", "facts": 0}"#).unwrap();
        let MemoryRequest::Retrieve(asked) = read else { panic!("another request") };
        assert_eq!(asked.limits(), BundleLimits { episodes: 3, facts: 0 });
        assert_eq!((asked.query.as_deref(), asked.filter()), (Some("tea"), MemoryFilter::default()));
        let read = MemoryRequest::read("remember", r#"{"fact": "f", "salience": null, "confidence": 0.25}"#).unwrap();
        assert_eq!(read, MemoryRequest::Remember(NewFact { confidence: Share::of(250), ..NewFact::new("f") }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (method, params, argument) in [
            ("recall", "{}", "method"),
            ("remember", r#"{"fact": "f", "kind": "wish"}"#, "kind"),
            ("remember", r#"{"fact": "f", "confidence": 1.5}"#, "confidence"),
            ("remember", r#"{"fact": "f", "tags": [1]}"#, "tags[0]"),
            ("remember", r#"{"fact": "f", "sources": [{"index": 1}]}"#, "sources[0].node"),
            ("facts", r#"{"superseded": 1}"#, "superseded"),
            ("episodes", r#"{"superseded": true}"#, "superseded"),
            ("retrieve", r#"{"facts": -1}"#, "facts"),
            ("editFact", r#"{"fact": "f"}"#, "id"),
            ("rawTraces", r#"{"head": "c", "turns": ["1"]}"#, "turns[0]"),
            ("rawTraces", r#"{"head": "c", "turns": [], "tail": 1}"#, "turns"),
            ("rawTraces", r#"{"head": "c", "exclude": "first"}"#, "exclude"),
            ("buildSnapshot", r#"{"head": "c", "facts": [{"id": "f"}]}"#, "facts[0].fact"),
            ("buildSnapshot", r#"{"head": "c", "encoding": "words"}"#, "encoding"),
        ] {
            assert_eq!(MemoryRequest::read(method, params).unwrap_err().argument, argument, "{method} {params}");
        }
    }
}
