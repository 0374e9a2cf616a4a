//! What can be asked of the search, and what it answers.

use serde_json::{Number, Value};
use threadkeep_core::checkpoint::Source;
use threadkeep_core::{Message, MessageId, TranscriptId};
use threadkeep_recall::Snippet;

use super::BadRequest;
use super::object::object;
use super::request::{Checked, Params, bad};
use super::vectors::{NewVectors, Vector, vector};

/// How many hits a search gives without a limit.
const HITS: usize = 10;
/// The most that a search gives.
const MOST: u32 = 1000;

/// What was found. Its number is the index's number of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

/// What is looked at. What is left out does not limit.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            vector: None,
            wait: true,
        }
    }
}

/// One request about search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchRequest {
    /// Find messages. → [`SearchReply::to_json`]
    Search {
        /// Words, `"phrases"`, `begin*`, `-without`.
        query: String,
        /// Where.
        options: SearchOptions,
    },
    /// Which texts has a model made no vector of? → [`ToEmbed::to_json`](super::ToEmbed::to_json)
    ToEmbed {
        /// The model's name.
        model: String,
        /// How many texts at most.
        most: usize,
    },
    /// Store vectors. → `null`
    PutVectors(NewVectors),
    /// How far is the index? → [`IndexProgress::to_json`]
    IndexProgress,
}

impl SearchRequest {
    /// The methods that are read here.
    pub const METHODS: [&str; 4] = ["search", "indexProgress", "toEmbed", "putVectors"];

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep::protocol::SearchRequest;
    /// assert!(SearchRequest::read("search", r#"{"query": "luggage", "options": {"role": "user"}}"#).is_ok());
    /// assert_eq!(SearchRequest::read("search", "{}").unwrap_err().argument, "query");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        let mut params = Params::read(params)?;
        let request = match method {
            "search" => Self::Search { query: params.text("query")?, options: options(&mut params)? },
            "indexProgress" => Self::IndexProgress,
            "toEmbed" => Self::ToEmbed { model: params.text("model")?, most: params.count("most")? as usize },
            "putVectors" => Self::PutVectors(NewVectors::read(&mut params)?),
            _ => return bad("method", format!("{method:?} is not known")),
        };
        params.nothing_left()?;
        Ok(request)
    }
}

fn options(params: &mut Params) -> Checked<SearchOptions> {
    let mut options = match params.take("options") {
        None => return Ok(SearchOptions::default()),
        Some(Value::Object(options)) => Params::of(options),
        Some(_) => return bad("options", "must be an object"),
    };
    let limit = options.maybe_count("limit")?;
    if limit.is_some_and(|limit| limit > MOST) {
        return bad("limit", "must be 1000 at most");
    }
    let read = SearchOptions {
        limit: limit.map_or(HITS, |limit| limit as usize),
        transcript: options.maybe_id("transcript")?,
        branch: options.maybe_id("branch")?,
        kinds: kinds(names(&mut options, "kind")?)?,
        roles: names(&mut options, "role")?,
        source: options.maybe_text("source")?,
        since: time(&mut options, "since")?,
        until: time(&mut options, "until")?,
        tool: options.maybe_text("tool")?,
        vector: vector(&mut options)?,
        wait: match options.take("wait") {
            None => true,
            Some(Value::Bool(wait)) => wait,
            Some(_) => return bad("wait", "must be true or false"),
        },
    };
    options.nothing_left()?;
    Ok(read)
}

/// A name, or a list of names.
fn names(options: &mut Params, name: &str) -> Checked<Vec<String>> {
    let read = match options.take(name) {
        None => Some(Vec::new()),
        Some(Value::String(one)) => Some(vec![one]),
        Some(Value::Array(all)) => all.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    read.map_or_else(|| bad(name, "must be a name or a list of names"), Ok)
}

fn kinds(names: Vec<String>) -> Checked<Vec<Found>> {
    let kind = |name: &String| Found::ALL.into_iter().find(|kind| kind.name() == name.as_str());
    let kinds: Option<Vec<Found>> = names.iter().map(kind).collect();
    kinds.map_or_else(|| bad("kind", "must be message, summary, episode or fact"), Ok)
}

fn time(options: &mut Params, name: &str) -> Checked<Option<i64>> {
    match options.take(name) {
        None => Ok(None),
        Some(value) => match value.as_i64() {
            Some(time) => Ok(Some(time)),
            None => bad(name, "must be a whole number of milliseconds since 1970"),
        },
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// What it is.
    pub found: Found,
    /// The id of a checkpoint, an episode or a fact; `None` for a message.
    pub id: Option<String>,
    /// Its transcript; `None` for what is remembered apart from any.
    pub transcript: Option<TranscriptId>,
    /// Its node: a message's own, a summary's anchor, of what is remembered the first source that is still there.
    pub node: Option<MessageId>,
    /// Its place in the node, from 0.
    pub index: u32,
    /// The end of a branch that holds the node, the newest one.
    pub leaf: Option<MessageId>,
    /// Who speaks; for anything but a message, what it is.
    pub role: String,
    /// When its node was made, or it itself, in milliseconds since 1970, where that is known.
    pub created_at: Option<i64>,
    /// How well it fits; above zero, comparable within one search.
    pub score: f32,
    /// The stretch that shows why.
    pub snippet: Snippet,
    /// The message; of a summary, the one that stands in prompts. What is remembered has none.
    pub message: Option<Message>,
    /// The messages that it came from; of a summary, those that its statements with the query's words came from.
    pub sources: Vec<Source>,
}

/// How far the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexProgress {
    /// How many messages are indexed.
    pub indexed: u64,
    /// How many there are.
    pub messages: u64,
    /// How many bytes the index takes.
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
    /// It as JSON: `{kind, id, transcript, node, index, leaf, role, createdAt, message, score, snippet, highlights: [[from, to],
    /// …], sources: [{node, index}, …]}`, the highlights in UTF-16 units of the snippet, as JavaScript counts.
    pub fn to_json(&self) -> Value {
        let text = &self.snippet.text;
        let place = |at: usize| Value::from(text.get(..at).unwrap_or_default().encode_utf16().count());
        let highlights = self.snippet.highlights.iter().map(|(from, to)| Value::Array(vec![place(*from), place(*to)]));
        // Thousandths, so that no code for printing floats is needed.
        let score = (self.score * 1000.0) as u64;
        let score = Number::from_string_unchecked(format!("{}.{:03}", score / 1000, score % 1000));
        let id = |id: &Option<MessageId>| id.as_ref().map(MessageId::as_str).into();
        let sources = self.sources.iter();
        let sources =
            sources.map(|source| object([("node", source.node.as_str().into()), ("index", source.index.into())]));
        object([
            ("kind", self.found.name().into()),
            ("id", self.id.as_deref().into()),
            ("transcript", id(&self.transcript)),
            ("node", id(&self.node)),
            ("index", self.index.into()),
            ("leaf", id(&self.leaf)),
            ("role", self.role.as_str().into()),
            ("createdAt", self.created_at.into()),
            ("message", self.message.as_ref().map_or(Value::Null, Message::to_json)),
            ("score", Value::Number(score)),
            ("snippet", text.as_str().into()),
            ("highlights", highlights.collect()),
            ("sources", sources.collect()),
        ])
    }
}

impl IndexProgress {
    /// It as JSON: `{indexed, messages, bytes}`.
    pub fn to_json(&self) -> Value {
        object([("indexed", self.indexed.into()), ("messages", self.messages.into()), ("bytes", self.bytes.into())])
    }
}

impl SearchReply {
    /// It as JSON: `{hits, progress, warnings}`.
    pub fn to_json(&self) -> Value {
        object([
            ("hits", self.hits.iter().map(Hit::to_json).collect()),
            ("progress", self.progress.to_json()),
            ("warnings", self.warnings.clone().into()),
        ])
    }
}

#[cfg(test)]
mod tests {
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
            (r#"{"query": "a", "options": {"limit": 1001}}"#, "limit"),
            (r#"{"query": "a", "options": {"role": 3}}"#, "role"),
            (r#"{"query": "a", "options": {"kind": "tree"}}"#, "kind"),
            (r#"{"query": "a", "options": {"kind": [3]}}"#, "kind"),
            (r#"{"query": "a", "options": {"since": "x"}}"#, "since"),
            (r#"{"query": "a", "options": {"depth": 3}}"#, "depth"),
        ] {
            assert_eq!(SearchRequest::read("search", params).unwrap_err().argument, argument, "{params}");
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
            snippet,
            message: Some(message),
            sources: Vec::new(),
        };
        let json = hit.to_json().to_string();
        assert!(json.contains(r#""score":2.500"#) && json.contains(r#""highlights":[[4,7]]"#), "{json}");
    }
}
