//! What can be asked of what is remembered. Goes in: a method's name and the JSON text of its parameters. Comes out: a
//! [`MemoryRequest`], which `Keep::remembering` answers with [`Response::Memory`], plain JSON: records as
//! `threadkeep_compaction::memory` writes them.

use serde_json::{Map, Value};
use threadkeep_compaction::memory::jsonl::RawTrace;
use threadkeep_compaction::memory::{
    BundleLimits, Episode, EpisodeEdit, Fact, FactEdit, FactKind, MemoryBundle, RAW_TAIL_TURNS, Share, ToolInteraction,
    turn_number,
};
use threadkeep_core::Message;
use threadkeep_core::checkpoint::Source;
use threadkeep_core::json::Wrong;
use threadkeep_core::node::turn_name;
use threadkeep_store::Store;

use super::request::{Checked, Params, bad, flag};
use super::{BadRequest, ContextOptions, Response};
use crate::traces::{Snapshot, Turns};
use crate::{Keep, KeepError, MemoryFilter, NewFact};

/// One request of what is remembered.
#[derive(Debug, Clone, PartialEq)]
pub enum MemoryRequest {
    /// Episodes, oldest first: `episodes({transcript?, source?, tag?, limit?})`. → a list of episodes
    Episodes(MemoryFilter),
    /// Facts, oldest first: `facts({transcript?, source?, tag?, superseded?, limit?})`. → a list of facts
    Facts(MemoryFilter),
    /// Remembers a fact: `remember({fact, kind?, tags?, confidence?, salience?, transcript?, sources?, pinned?})`. → the fact
    Remember(NewFact),
    /// Changes a fact: `editFact({id, fact?, kind?, tags?, confidence?, salience?})`. → the fact
    EditFact(String, FactEdit),
    /// Changes an episode: `editEpisode({id, summary?, tags?, salience?})`. → the episode
    EditEpisode(String, EpisodeEdit),
    /// Pins a record, or lets go of it: `pin({id, pinned})`. → null
    Pin(String, bool),
    /// Deletes a record, for good: `forget({id})`. → whether it was there
    Forget(String),
    /// What a prompt would get: `retrieve({query?, episodes?, facts?, transcript?, source?, tag?})`. → `{episodes, facts}`
    Retrieve(MemoryFilter, Option<String>, BundleLimits),
    /// The tool calls of a chain with their results: `toolInteractions({at, turn?})`. → a list
    ToolInteractions {
        /// A head's name, or the end of the chain: a node or an alias of it.
        at: String,
        /// Only those of this turn.
        turn: Option<u32>,
    },
    /// What was recorded at a head in some turns: `rawTraces({context, turns?, tail?, exclude?})`; without turns, the last `tail`
    /// (4) but for `exclude`. → a list of traces
    RawTraces(String, Turns),
    /// The turns that a compaction would cover: `compactionTurns({context, keepTurns?})`. → a list of names
    CompactionTurns(String, Option<u32>),
    /// The name that the next turn gets: `nextTurn({context})`. → a name
    NextTurn(String),
    /// The compaction snapshot of a head: `buildSnapshot({context, systemPrompt?, episodes?, facts?, tail?, exclude?, budget?,
    /// encoding?})`, where the two lists are of whole records. → a list of messages
    BuildSnapshot(String, MemoryBundle, Snapshot),
}

impl MemoryRequest {
    /// The methods that are read here.
    pub const METHODS: [&str; 13] = [
        "episodes",
        "facts",
        "remember",
        "editFact",
        "editEpisode",
        "pin",
        "forget",
        "retrieve",
        "toolInteractions",
        "rawTraces",
        "compactionTurns",
        "nextTurn",
        "buildSnapshot",
    ];

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep::protocol::MemoryRequest;
    /// assert!(MemoryRequest::read("remember", r#"{"fact": "Use pnpm.", "kind": "decision"}"#).is_ok());
    /// assert_eq!(MemoryRequest::read("remember", "{}").unwrap_err().argument, "fact");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        let mut params = Params::read(params)?;
        let request = match method {
            "episodes" => Self::Episodes(MemoryFilter { limit: limit(&mut params)?, ..filter(&mut params)? }),
            "facts" => {
                let superseded = flag(&mut params, "superseded")?.unwrap_or_default();
                Self::Facts(MemoryFilter { superseded, limit: limit(&mut params)?, ..filter(&mut params)? })
            }
            "remember" => Self::Remember(new_fact(&mut params)?),
            "editFact" => Self::EditFact(
                params.text("id")?,
                FactEdit {
                    fact: params.maybe_text("fact")?,
                    kind: kind(&mut params)?,
                    tags: tags(&mut params)?,
                    confidence: share(&mut params, "confidence")?,
                    salience: share(&mut params, "salience")?,
                },
            ),
            "editEpisode" => Self::EditEpisode(
                params.text("id")?,
                EpisodeEdit {
                    summary: params.maybe_text("summary")?,
                    tags: tags(&mut params)?,
                    salience: share(&mut params, "salience")?,
                },
            ),
            "pin" => Self::Pin(params.text("id")?, flag(&mut params, "pinned")?.unwrap_or(true)),
            "forget" => Self::Forget(params.text("id")?),
            "retrieve" => {
                let mut limits = BundleLimits::default();
                if let Some(count) = params.maybe_count("episodes")? {
                    limits.episodes = count as usize;
                }
                if let Some(count) = params.maybe_count("facts")? {
                    limits.facts = count as usize;
                }
                Self::Retrieve(filter(&mut params)?, params.maybe_text("query")?, limits)
            }
            "toolInteractions" => Self::ToolInteractions { at: params.text("at")?, turn: params.maybe_count("turn")? },
            "rawTraces" => Self::RawTraces(params.text("context")?, turns(&mut params)?),
            "compactionTurns" => Self::CompactionTurns(params.text("context")?, params.maybe_count("keepTurns")?),
            "nextTurn" => Self::NextTurn(params.text("context")?),
            "buildSnapshot" => {
                let bundle = MemoryBundle {
                    episodes: records(&mut params, "episodes", Episode::read)?,
                    facts: records(&mut params, "facts", Fact::read)?,
                };
                Self::BuildSnapshot(params.text("context")?, bundle, snapshot(&mut params)?)
            }
            _ => return bad("method", format!("{method:?} is not known")),
        };
        params.nothing_left()?;
        Ok(request)
    }
}

fn number(argument: &str, name: Option<&str>) -> Checked<u32> {
    match name.and_then(turn_number) {
        Some(turn) => Ok(turn),
        None => bad(argument, "must name turns as turn_0001 does"),
    }
}

fn exclude(params: &mut Params) -> Checked<Option<u32>> {
    params.maybe_text("exclude")?.map(|name| number("exclude", Some(&name))).transpose()
}

fn limit(params: &mut Params) -> Checked<Option<usize>> {
    Ok(params.maybe_count("limit")?.map(|limit| limit as usize))
}

fn records<T>(params: &mut Params, name: &str, read: fn(Value) -> Result<T, Wrong>) -> Checked<Vec<T>> {
    let list = match params.take(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list.into_iter().map(read).collect::<Result<_, _>>(),
        Some(_) => return bad(name, "must be a list of records"),
    };
    list.or_else(|wrong| bad(name, ["must be a list of records: ", &wrong.to_string()].concat()))
}

fn snapshot(params: &mut Params) -> Checked<Snapshot> {
    let mut shared = Map::new();
    shared.extend(params.take("encoding").map(|encoding| ("encoding".to_owned(), encoding)));
    Ok(Snapshot {
        system_prompt: params.maybe_text("systemPrompt")?,
        tail_turns: params.maybe_count("tail")?.map_or(RAW_TAIL_TURNS, |tail| tail as usize),
        exclude: exclude(params)?,
        budget: params.maybe_count("budget")?,
        encoding: ContextOptions::from_json(&Value::Object(shared))?.encoding,
    })
}

fn turns(params: &mut Params) -> Checked<Turns> {
    let exclude = exclude(params)?;
    let tail = params.maybe_count("tail")?;
    match params.take("turns") {
        None => Ok(Turns::Tail { turns: tail.map_or(RAW_TAIL_TURNS, |tail| tail as usize), exclude }),
        Some(Value::Array(list)) if tail.is_none() && exclude.is_none() => {
            list.iter().map(|name| number("turns", name.as_str())).collect::<Checked<_>>().map(Turns::These)
        }
        Some(_) => bad("turns", "must be a list of names, without tail and exclude"),
    }
}

fn filter(params: &mut Params) -> Checked<MemoryFilter> {
    Ok(MemoryFilter {
        transcript: params.maybe_id("transcript")?,
        source: params.maybe_id("source")?,
        tag: params.maybe_text("tag")?,
        superseded: false,
        limit: None,
    })
}

fn new_fact(params: &mut Params) -> Checked<NewFact> {
    let mut new = NewFact::new(params.text("fact")?);
    new.kind = kind(params)?.unwrap_or_default();
    new.tags = tags(params)?.unwrap_or_default();
    new.confidence = share(params, "confidence")?.unwrap_or(new.confidence);
    new.salience = share(params, "salience")?.unwrap_or(new.salience);
    new.transcript = params.maybe_id("transcript")?;
    new.pinned = flag(params, "pinned")?.unwrap_or_default();
    match params.take("sources") {
        None => {}
        Some(Value::Array(list)) => {
            for value in list {
                match Source::read(value) {
                    Ok(source) => new.sources.push(source),
                    Err(wrong) => return bad("sources", format!("must be a list of {{node, index}}: {wrong}")),
                }
            }
        }
        Some(_) => return bad("sources", "must be a list of {node, index}"),
    }
    Ok(new)
}

fn kind(params: &mut Params) -> Checked<Option<FactKind>> {
    let Some(name) = params.maybe_text("kind")? else { return Ok(None) };
    match FactKind::ALL.into_iter().find(|kind| kind.name() == name) {
        None => bad("kind", "must be preference, decision, constraint or other"),
        kind => Ok(kind),
    }
}

fn share(params: &mut Params, name: &str) -> Checked<Option<Share>> {
    let Some(value) = params.take(name) else { return Ok(None) };
    match Share::read(&value) {
        None => bad(name, "must be a number from 0 to 1"),
        share => Ok(share),
    }
}

fn tags(params: &mut Params) -> Checked<Option<Vec<String>>> {
    let tags = match params.take("tags") {
        None => return Ok(None),
        Some(Value::Array(list)) => list.iter().map(|tag| tag.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    if tags.is_none() { bad("tags", "must be a list of strings") } else { Ok(tags) }
}

impl<S: Store> Keep<S> {
    /// Answers one request of what is remembered. A response to a change means that the change is durable.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was stored then.
    pub async fn remembering(&self, request: MemoryRequest) -> Result<Response, KeepError> {
        let answer = match request {
            MemoryRequest::Episodes(filter) => json(&self.episodes(&filter).await?),
            MemoryRequest::Facts(filter) => json(&self.facts(&filter).await?),
            MemoryRequest::Remember(new) => json(&self.remember(new).await?),
            MemoryRequest::EditFact(id, edit) => json(&self.edit_fact(&id, edit).await?),
            MemoryRequest::EditEpisode(id, edit) => json(&self.edit_episode(&id, edit).await?),
            MemoryRequest::Pin(id, pinned) => {
                self.pin(&id, pinned).await?;
                Value::Null
            }
            MemoryRequest::Forget(id) => self.forget_memory(&id).await?.into(),
            MemoryRequest::Retrieve(filter, query, limits) => {
                bundle_json(&self.retrieve(&filter, query.as_deref(), limits).await?)
            }
            MemoryRequest::ToolInteractions { at, turn } => {
                self.tool_interactions(&at, turn).await?.into_iter().map(interaction_json).collect()
            }
            MemoryRequest::RawTraces(context, turns) => {
                self.raw_traces(&context, &turns).await?.iter().map(RawTrace::to_json).collect()
            }
            MemoryRequest::CompactionTurns(context, tail) => self.compaction_turns(&context, tail).await?.into(),
            MemoryRequest::NextTurn(context) => self.next_turn(&context).await?.into(),
            MemoryRequest::BuildSnapshot(context, bundle, how) => {
                self.build_snapshot(&context, &bundle, &how).await?.iter().map(Message::to_json).collect()
            }
        };
        Ok(Response::Memory(answer))
    }
}

fn json(value: &impl serde::Serialize) -> Value {
    // Records have string keys only, the one thing that serialising can fail on.
    serde_json::to_value(value).unwrap_or_default()
}

/// A bundle as JSON: `{episodes, facts}`.
pub fn bundle_json(bundle: &MemoryBundle) -> Value {
    let mut map = Map::new();
    map.insert("episodes".to_owned(), json(&bundle.episodes));
    map.insert("facts".to_owned(), json(&bundle.facts));
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
        let some = r#"{"id": "sem_1", "fact": "f", "at": "main", "context": "main"}"#;
        for method in MemoryRequest::METHODS {
            let wrong = MemoryRequest::read(method, r#"{"nonsense": 1}"#).unwrap_err();
            assert!(
                ["nonsense", "fact", "id", "at", "context"].contains(&wrong.argument.as_str()),
                "{method}: {wrong:?}"
            );
            assert_ne!(MemoryRequest::read(method, some).err().map(|it| it.argument), Some("method".to_owned()));
        }
        let read = MemoryRequest::read("pin", r#"{"id": "a"}"#).unwrap();
        assert_eq!(read, MemoryRequest::Pin("a".into(), true));
        let read = MemoryRequest::read("retrieve", r#"{"query": "tea", "facts": 0}"#).unwrap();
        let limits = BundleLimits { episodes: 3, facts: 0 };
        assert_eq!(read, MemoryRequest::Retrieve(MemoryFilter::default(), Some("tea".into()), limits));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (method, params, argument) in [
            ("recall", "{}", "method"),
            ("remember", r#"{"fact": "f", "kind": "wish"}"#, "kind"),
            ("remember", r#"{"fact": "f", "confidence": 1.5}"#, "confidence"),
            ("remember", r#"{"fact": "f", "tags": [1]}"#, "tags"),
            ("remember", r#"{"fact": "f", "sources": [{"index": 1}]}"#, "sources"),
            ("facts", r#"{"superseded": 1}"#, "superseded"),
            ("episodes", r#"{"superseded": true}"#, "superseded"),
            ("retrieve", r#"{"facts": -1}"#, "facts"),
            ("editFact", r#"{"fact": "f"}"#, "id"),
            ("rawTraces", r#"{"context": "c", "turns": ["1"]}"#, "turns"),
            ("rawTraces", r#"{"context": "c", "turns": [], "tail": 1}"#, "turns"),
            ("rawTraces", r#"{"context": "c", "exclude": "first"}"#, "exclude"),
        ] {
            assert_eq!(MemoryRequest::read(method, params).unwrap_err().argument, argument, "{method} {params}");
        }
    }
}
