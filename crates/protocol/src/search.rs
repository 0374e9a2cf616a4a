//! What can be asked of the search, and what it answers.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::read::{self, BadRequest, bad, object};
use threadkeep_core::{Message, MessageId, TranscriptId, read_by_name};
use threadkeep_recall::{Snippet, Why};

use super::object::object as fields;
use super::vectors::{NewVectors, Vector, numbers};

/// How many hits a search gives without a limit.
const HITS: usize = 10;
/// The most that a search gives.
const MOST: u32 = 1000;

/// What a search finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "SearchKind", rename_all = "camelCase"))]
pub enum Found {
    /// A message.
    Message = 0,
    /// What a checkpoint says of the messages that it covers.
    Summary = 1,
    /// An episode.
    Episode = 2,
    /// A fact.
    Fact = 3,
}

impl Found {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Message, Self::Summary, Self::Episode, Self::Fact];

    /// Its name: `message`, `summary`, `episode` or `fact`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Summary => "summary",
            Self::Episode => "episode",
            Self::Fact => "fact",
        }
    }

    /// The kind of that [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

read_by_name!(Found, Found::from_name, "message, summary, episode or fact");

/// What is looked at. What is left out does not limit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "SearchParams")]
pub struct SearchOptions {
    /// How many hits at most; 10 by default, 1000 at most. Zero gives none.
    pub limit: usize,
    /// Only in this transcript.
    pub transcript: Option<TranscriptId>,
    /// Only on the branch that ends at this node or alias: its messages and the summaries that it can use.
    pub branch: Option<MessageId>,
    /// Only these kinds of things; none for all.
    pub kinds: Vec<Found>,
    /// Only messages of these roles; none for all.
    pub roles: Vec<String>,
    /// Only in transcripts from this kind of archive, such as `chatgpt`.
    pub source: Option<String>,
    /// From this time on, in milliseconds since 1970; to the second.
    pub since: Option<i64>,
    /// Before this time, in milliseconds since 1970; to the second.
    pub until: Option<i64>,
    /// Only calls of the tool of this name, and their results.
    pub tool: Option<String>,
    /// Of episodes and facts only what this agent sees: its own and the shared ones.
    pub agent: Option<String>,
    /// The query as a vector, for a ranking that joins both: by words and by meaning.
    pub vector: Option<Vector>,
    /// Whether all that is not indexed yet is indexed first; else one batch of it is.
    pub wait: bool,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            limit: HITS,
            transcript: None,
            branch: None,
            kinds: Vec::new(),
            roles: Vec::new(),
            source: None,
            since: None,
            until: None,
            tool: None,
            agent: None,
            vector: None,
            wait: true,
        }
    }
}

/// What a search looks at. What is left out does not limit.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase", optional_fields))]
pub struct SearchParams {
    /// At most this many hits, 1000 at most; 10 without it, 0 gives none.
    #[serde(deserialize_with = "limit")]
    limit: Option<u32>,
    /// Only in this transcript.
    transcript: Option<TranscriptId>,
    /// Only on the branch that ends at this node or alias: its messages, and the summaries that it can use.
    branch: Option<MessageId>,
    /// Only this kind of thing, or one of these: `message`, `summary`, `episode`, `fact`.
    #[serde(deserialize_with = "one_or_many")]
    #[cfg_attr(feature = "ts", ts(optional, type = "SearchKind | Array<SearchKind>"))]
    kind: Option<Vec<Found>>,
    /// Only messages of this role, or of one of these.
    #[serde(deserialize_with = "one_or_many")]
    #[cfg_attr(feature = "ts", ts(optional, type = "string | Array<string>"))]
    role: Option<Vec<String>>,
    /// Only in transcripts from this kind of archive, such as `chatgpt`.
    source: Option<String>,
    /// From this time on: a date, or milliseconds since 1970; to the second.
    #[cfg_attr(feature = "ts", ts(optional, type = "number | Date"))]
    since: Option<i64>,
    /// Before this time: a date, or milliseconds since 1970; to the second.
    #[cfg_attr(feature = "ts", ts(optional, type = "number | Date"))]
    until: Option<i64>,
    /// Only calls of the tool of this name, and their results.
    tool: Option<String>,
    /// Of episodes and facts only what this agent sees: its own and those that all share. Without it, those of all.
    agent: Option<String>,
    /// The query as a vector, for a ranking by words and by meaning.
    #[cfg_attr(feature = "ts", ts(skip))]
    vector: Option<Numbers>,
    /// The name of the model that made the vector.
    #[cfg_attr(feature = "ts", ts(skip))]
    model: Option<String>,
    /// `false`: what is not indexed yet is not waited for; one batch of it is indexed. See `SearchIndex.progress`.
    wait: Option<bool>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Numbers(#[serde(deserialize_with = "numbers")] Vec<i8>);

impl From<SearchParams> for SearchOptions {
    fn from(params: SearchParams) -> Self {
        let model = params.model.unwrap_or_default();
        Self {
            limit: params.limit.map_or(HITS, |limit| limit as usize),
            transcript: params.transcript,
            branch: params.branch,
            kinds: params.kind.unwrap_or_default(),
            roles: params.role.unwrap_or_default(),
            source: params.source,
            since: params.since,
            until: params.until,
            tool: params.tool,
            agent: params.agent,
            vector: params.vector.map(|Numbers(values)| Vector { model, values }),
            wait: params.wait.unwrap_or(true),
        }
    }
}

fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(deserializer)? {
        Some(limit) if limit > MOST => {
            Err(D::Error::invalid_value(Unexpected::Unsigned(limit.into()), &"a whole number from 0 to 1000"))
        }
        limit => Ok(limit),
    }
}

/// A name, or a list of names; `null` is none.
fn one_or_many<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Vec<T>>, D::Error> {
    struct Names<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Names<T> {
        type Value = Option<Vec<T>>;

        fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
            words.write_str("a name or a list of names")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
            let name: StrDeserializer<'_, E> = name.into_deserializer();
            Ok(Some(vec![T::deserialize(name)?]))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(names)).map(Some)
        }
    }
    deserializer.deserialize_any(Names(PhantomData))
}

/// One request about search.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum SearchRequest {
    /// Find messages. → [`SearchReply::to_json`]
    Search {
        /// Words, `"phrases"`, `begin*`, `-without`.
        query: String,
        /// Where.
        #[serde(default, deserialize_with = "object")]
        #[cfg_attr(feature = "ts", ts(type = "SearchParams & { vector?: number[], model?: string }"))]
        options: SearchOptions,
    },
    /// Which texts has a model made no vector of? → [`ToEmbed::to_json`](super::ToEmbed::to_json)
    ToEmbed {
        /// The model's name.
        model: String,
        /// How many texts at most.
        most: u32,
    },
    /// Store vectors. → `null`
    PutVectors(#[cfg_attr(feature = "ts", ts(inline))] NewVectors),
    /// How far is the index? → [`IndexProgress::to_json`]
    IndexProgress,
}

impl SearchRequest {
    /// The methods that are read here.
    pub fn methods() -> &'static [&'static str] {
        read::methods::<Self>()
    }

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep_protocol::SearchRequest;
    /// assert!(SearchRequest::read("search", r#"{"query": "luggage", "options": {"role": "user"}}"#).is_ok());
    /// assert_eq!(SearchRequest::read("search", "{}").unwrap_err().argument, "query");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        match read::request(method, params)? {
            Self::PutVectors(new) if new.vectors.len() != new.places.len() => {
                bad("vectors", "must be as many as places")
            }
            request => Ok(request),
        }
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "SearchHit", rename_all = "camelCase"))]
pub struct Hit {
    /// What it is: a message, the summary of a checkpoint, an episode, or a fact.
    #[cfg_attr(feature = "ts", ts(rename = "kind"))]
    pub found: Found,
    /// The id of the checkpoint, the episode or the fact; `null` for a message.
    pub id: Option<String>,
    /// Its transcript; `null` for what is remembered apart from any.
    pub transcript: Option<TranscriptId>,
    /// Its node. Of a summary the node up to which it stands in for messages; of an episode or a fact the first message that it came from
    /// and that is still there, `null` without one.
    pub node: Option<MessageId>,
    /// Its place in the node, from 0.
    pub index: u32,
    /// The end of a branch that holds the node, the newest one.
    pub leaf: Option<MessageId>,
    /// Who speaks; of anything but a message its kind.
    pub role: String,
    /// When its node, or it itself, was made, in milliseconds since 1970, where that is known.
    pub created_at: Option<i64>,
    /// How well it fits: above zero, comparable within one search.
    pub score: f32,
    /// Why it was found: by which words, by which words of messages near it, by its time, by its meaning.
    pub why: Why,
    /// The stretch that shows why.
    #[cfg_attr(feature = "ts", ts(flatten))]
    pub snippet: Snippet,
    /// The message; of a summary the one that stands in prompts; `null` for episodes and facts.
    pub message: Option<Message>,
    /// The messages that it came from; of a summary those behind its statements with the words of the query.
    pub sources: Vec<Source>,
}

/// How far the search index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct IndexProgress {
    /// Messages that are indexed.
    pub indexed: u64,
    /// Messages that there are.
    pub messages: u64,
    /// Bytes that the index takes.
    pub bytes: u64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchReply {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How much of all messages was looked at.
    pub progress: IndexProgress,
    /// What the caller should know, in words: that only the beginning of a long query was used, say.
    pub warnings: Vec<String>,
}

impl Hit {
    /// Why it was found, as JSON: `{words, context, time, meaning}`.
    pub fn why_json(&self) -> Value {
        let Why { words, context, time, meaning } = &self.why;
        fields([
            ("words", words.clone().into()),
            ("context", context.clone().into()),
            ("time", (*time).into()),
            ("meaning", short(*meaning)),
        ])
    }

    /// It as JSON: `{kind, id, transcript, node, index, leaf, role, createdAt, message, score, why: {words, context, time, meaning}, snippet,
    /// highlights: [[from, to], …], sources: [{node, index}, …]}`, the highlights in UTF-16 units of the snippet, as JavaScript counts.
    pub fn to_json(&self) -> Value {
        let text = &self.snippet.text;
        let place = |at: usize| Value::from(text.get(..at).unwrap_or_default().encode_utf16().count());
        let highlights = self.snippet.highlights.iter().map(|(from, to)| Value::Array(vec![place(*from), place(*to)]));
        let id = |id: &Option<MessageId>| id.as_ref().map(MessageId::as_str).into();
        let sources = self.sources.iter();
        let sources =
            sources.map(|source| fields([("node", source.node.as_str().into()), ("index", source.index.into())]));
        fields([
            ("kind", self.found.name().into()),
            ("id", self.id.as_deref().into()),
            ("transcript", id(&self.transcript)),
            ("node", id(&self.node)),
            ("index", self.index.into()),
            ("leaf", id(&self.leaf)),
            ("role", self.role.as_str().into()),
            ("createdAt", self.created_at.into()),
            ("message", self.message.as_ref().map_or(Value::Null, Message::to_json)),
            ("score", short(self.score)),
            ("why", self.why_json()),
            ("snippet", text.as_str().into()),
            ("highlights", highlights.collect()),
            ("sources", sources.collect()),
        ])
    }
}

/// A share or a score; more digits say nothing.
fn short(number: f32) -> Value {
    Value::from(f64::from((number * 1000.0) as u32) / 1000.0)
}

impl IndexProgress {
    /// It as JSON: `{indexed, messages, bytes}`.
    pub fn to_json(&self) -> Value {
        fields([("indexed", self.indexed.into()), ("messages", self.messages.into()), ("bytes", self.bytes.into())])
    }
}

impl SearchReply {
    /// It as JSON: `{hits, progress, warnings}`.
    pub fn to_json(&self) -> Value {
        fields([
            ("hits", self.hits.iter().map(Hit::to_json).collect()),
            ("progress", self.progress.to_json()),
            ("warnings", self.warnings.clone().into()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;

    #[test]
    fn options_are_read() {
        let all = r#"{"query": "q", "options": {"limit": 3, "transcript": "t", "branch": "b", "role": ["user", "tool"], "kind": ["fact", "message"],
            "source": "chatgpt", "since": 1, "until": 2, "tool": "grep", "wait": false}}"#;
        let SearchRequest::Search { query, options } = SearchRequest::read("search", all).unwrap() else {
            unreachable!()
        };
        assert_eq!((query.as_str(), options.limit, options.wait), ("q", 3, false));
        assert_eq!(options.roles, ["user", "tool"]);
        assert_eq!(options.kinds, [Found::Fact, Found::Message]);
        assert_eq!((options.since, options.until), (Some(1), Some(2)));
        assert_eq!(SearchRequest::read("indexProgress", "{}").unwrap(), SearchRequest::IndexProgress);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (params, argument) in [
            ("{}", "query"),
            (r#"{"query": 3}"#, "query"),
            (r#"{"query": "a", "limit": 3}"#, "limit"),
            (r#"{"query": "a", "options": {"limit": 1001}}"#, "options.limit"),
            (r#"{"query": "a", "options": {"role": 3}}"#, "options.role"),
            (r#"{"query": "a", "options": {"kind": "tree"}}"#, "options.kind"),
            (r#"{"query": "a", "options": {"kind": [3]}}"#, "options.kind[0]"),
            (r#"{"query": "a", "options": {"since": "x"}}"#, "options.since"),
            (r#"{"query": "a", "options": {"depth": 3}}"#, "options.depth"),
            (r#"{"query": "a", "options": {"vector": []}}"#, "options.vector"),
            (r#"{"query": "a", "options": {"vector": [1, 128]}}"#, "options.vector[1]"),
            (r#"{"query": "a", "options": {"vector": [-128]}}"#, "options.vector"),
        ] {
            assert_eq!(SearchRequest::read("search", params).unwrap_err().argument, argument, "{params}");
        }
    }

    #[test]
    fn vectors_are_read_one_for_each_place() {
        let read = |params| SearchRequest::read("putVectors", params);
        let places = vec![Place { transcript: TranscriptId::new("t").unwrap(), seq: 4, index: 5 }];
        let new = NewVectors { model: "m".into(), places, vectors: vec![vec![-127, 0, 127]] };
        let one = r#"{"model": "m", "places": [["t", 4, 5]], "vectors": [[-127, 0, 127]]}"#;
        assert_eq!(read(one), Ok(SearchRequest::PutVectors(new)));
        for (params, argument) in [
            (r#"{"model": "m", "places": [], "vectors": [[1]]}"#, "vectors"),
            (r#"{"model": "m", "places": [["t", 4]], "vectors": [[1]]}"#, "places[0]"),
            (r#"{"model": "m", "places": [["", 4, 5]], "vectors": [[1]]}"#, "places[0][0]"),
            (r#"{"model": "m", "places": [["t", 4, 5]], "vectors": [[1.5]]}"#, "vectors[0][0]"),
            (r#"{"model": "m", "places": [["t", 4, 5]], "vectors": [[]]}"#, "vectors[0]"),
        ] {
            assert_eq!(read(params).unwrap_err().argument, argument, "{params}");
        }
    }

    #[test]
    fn scores_and_highlights_are_as_javascript_counts() {
        let id = MessageId::new("m").unwrap();
        let snippet = Snippet { text: "…😀 fox".into(), highlights: vec![(8, 11)] };
        let message = Message::user("fox");
        let hit = Hit {
            found: Found::Message,
            id: None,
            transcript: Some(id.clone()),
            node: Some(id.clone()),
            index: 0,
            leaf: Some(id),
            role: "user".into(),
            created_at: None,
            score: 2.5,
            why: Why::default(),
            snippet,
            message: Some(message),
            sources: Vec::new(),
        };
        let json = hit.to_json().to_string();
        assert!(json.contains(r#""score":2.5,"#) && json.contains(r#""highlights":[[4,7]]"#), "{json}");
    }
}
