//! What an agent asks of its keep beside the chains: prompts, compaction, and what is remembered. Behind a trait, so that a browser can
//! load what makes prompts, what searches and the agent apart from each other.

use std::pin::Pin;
use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep_compaction::memory::{Episode, Fact, MemoryOrigin};
use threadkeep_compaction::{Policy, Reason};
use threadkeep_core::{Message, MessageId, TranscriptId};
use threadkeep_provider::Usage;
use threadkeep_store::Store;

use super::By;
use super::ToolAnswer;
use crate::compact::{CompactOptions, Compacted};
use crate::journal::SummaryRequest;
use crate::memory::Memories;
use crate::protocol::{ContextOptions, ContextReply, ContextSettings, Found, Hit, NewFact, SearchOptions};
use crate::{Coming, Keep, KeepError};

/// What is answered, once it is.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, KeepError>> + 'a>>;

/// An agent's way to prompts and memory. The methods are those of [`Keep`] of the same name; [`Own`] just calls them.
pub trait Memory {
    /// [`Keep::context`].
    fn context<'a>(&'a self, at: &'a MessageId, options: &'a ContextOptions) -> Later<'a, ContextReply>;

    /// [`Keep::context_after`].
    fn context_after<'a>(&'a self, coming: &'a Coming, options: &'a ContextOptions) -> Later<'a, ContextReply>;

    /// The settings of a conversation: those of its transcript, if it has one yet, and of its head if it has a name.
    fn settings<'a>(
        &'a self,
        transcript: Option<&'a TranscriptId>,
        conversation: Option<&'a str>,
    ) -> Later<'a, ContextSettings>;

    /// [`Keep::compact`], by whom it says.
    fn compact<'a>(&'a self, at: &'a MessageId, options: &'a CompactOptions, by: By) -> Later<'a, Compacted>;

    /// [`Keep::note_summary`].
    fn note_summary<'a>(&'a self, asked: SummaryRequest<'a>) -> Later<'a, String>;

    /// [`Keep::note_answer`].
    fn note_answer<'a>(&'a self, id: &'a str, usage: Option<Usage>, outcome: &'a str) -> Later<'a, ()>;

    /// [`Keep::after_response`].
    fn after_response<'a>(
        &'a self,
        at: &'a MessageId,
        tokens: Option<u64>,
        policy: Policy,
    ) -> Later<'a, Option<Reason>>;

    /// [`Keep::compaction_required`].
    fn compaction_required<'a>(&'a self, at: &'a MessageId) -> Later<'a, Option<Reason>>;

    /// [`Keep::clear_compaction_request`].
    fn clear_compaction_request<'a>(&'a self, at: &'a MessageId) -> Later<'a, ()>;

    /// [`Keep::tool_result`].
    fn tool_result<'a>(&'a self, at: &'a MessageId, path: &'a str) -> Later<'a, Option<Message>>;

    /// [`Keep::remember`]; gives the fact's id.
    fn remember(&self, fact: NewFact) -> Later<'_, String>;

    /// The best hits of a search, as JSON for the model.
    fn search(&self, wanted: MemoryQuery) -> ToolAnswer<'_>;
}

/// What an agent looks for with its tool `searchMemory`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryQuery {
    /// The agent: it finds its own episodes and facts and the shared ones.
    pub agent: String,
    /// The words.
    pub query: String,
    /// How many hits at most.
    pub limit: usize,
}

/// Where the tool `searchMemory` looks: the best hits.
pub type Search = Rc<dyn Fn(MemoryQuery) -> ToolAnswer<'static>>;

/// The keep itself.
pub struct Own<S> {
    keep: Keep<S>,
    search: Search,
}

impl<S: Store> Own<S> {
    /// An agent's way over a keep.
    pub fn new(keep: Keep<S>) -> Self
    where
        S: 'static,
    {
        let own = keep.clone();
        Self::searching(keep, Rc::new(move |wanted| found(own.clone(), wanted)))
    }

    /// With another way to search: where that is loaded when it is first needed, say.
    pub fn searching(keep: Keep<S>, search: Search) -> Self {
        Self { keep, search }
    }
}

impl<S: Store> Memory for Own<S> {
    fn context<'a>(&'a self, at: &'a MessageId, options: &'a ContextOptions) -> Later<'a, ContextReply> {
        Box::pin(self.keep.context(at.as_str(), options))
    }

    fn context_after<'a>(&'a self, coming: &'a Coming, options: &'a ContextOptions) -> Later<'a, ContextReply> {
        Box::pin(self.keep.context_after(coming, options))
    }

    fn settings<'a>(
        &'a self,
        transcript: Option<&'a TranscriptId>,
        conversation: Option<&'a str>,
    ) -> Later<'a, ContextSettings> {
        Box::pin(self.keep.settings_for(transcript, conversation))
    }

    fn compact<'a>(&'a self, at: &'a MessageId, options: &'a CompactOptions, by: By) -> Later<'a, Compacted> {
        Box::pin(async move { self.keep.compact(at.as_str(), options, &*by.summariser()).await })
    }

    fn note_summary<'a>(&'a self, asked: SummaryRequest<'a>) -> Later<'a, String> {
        Box::pin(self.keep.note_summary(asked))
    }

    fn note_answer<'a>(&'a self, id: &'a str, usage: Option<Usage>, outcome: &'a str) -> Later<'a, ()> {
        Box::pin(self.keep.note_answer(id, usage, outcome))
    }

    fn after_response<'a>(
        &'a self,
        at: &'a MessageId,
        tokens: Option<u64>,
        policy: Policy,
    ) -> Later<'a, Option<Reason>> {
        Box::pin(async move { self.keep.after_response(at.as_str(), tokens, &policy).await })
    }

    fn compaction_required<'a>(&'a self, at: &'a MessageId) -> Later<'a, Option<Reason>> {
        Box::pin(self.keep.compaction_required(at.as_str()))
    }

    fn clear_compaction_request<'a>(&'a self, at: &'a MessageId) -> Later<'a, ()> {
        Box::pin(self.keep.clear_compaction_request(at.as_str()))
    }

    fn tool_result<'a>(&'a self, at: &'a MessageId, path: &'a str) -> Later<'a, Option<Message>> {
        Box::pin(self.keep.tool_result(at.as_str(), path))
    }

    fn remember(&self, fact: NewFact) -> Later<'_, String> {
        Box::pin(async move { Ok(self.keep.remember(fact).await?.id) })
    }

    fn search(&self, wanted: MemoryQuery) -> ToolAnswer<'_> {
        (self.search)(wanted)
    }
}

/// How long a model's query may be, in characters.
const LONGEST_QUERY: usize = 1_000;

/// The best hits of a search in a keep, as JSON for a model. A query of more than 1,000 characters is refused, with words that a model
/// can act on.
pub fn found<S: Store + 'static>(keep: Keep<S>, wanted: MemoryQuery) -> ToolAnswer<'static> {
    Box::pin(async move {
        let MemoryQuery { agent, query, limit } = wanted;
        let length = query.chars().count();
        if length > LONGEST_QUERY {
            let why = format!("The query has {length} characters, at most {LONGEST_QUERY} are allowed.");
            return Err(why + " Give only the words that matter.");
        }
        let options = SearchOptions { limit, agent: Some(agent), ..SearchOptions::default() };
        let found = keep.search(&query, &options).await.map_err(|error| error.to_string())?;
        let known = keep.memories().await.map_err(|error| error.to_string())?;
        Ok(found.hits.iter().map(|hit| shown(hit, &known)).collect())
    })
}

/// A hit for the model. Of what is remembered it says who said it.
fn shown(hit: &Hit, known: &Memories) -> Value {
    let id = hit.id.as_deref().unwrap_or_default();
    let origin = match hit.found {
        Found::Fact => known.facts.get(id).map(Fact::worth),
        Found::Episode => known.episodes.get(id).map(Episode::worth),
        Found::Message | Found::Summary => None,
    };
    json!({
        "origin": origin.map(MemoryOrigin::name),
        "kind": hit.found.name(),
        "role": hit.role,
        "text": hit.snippet.text,
        "why": hit.why_json(),
        "transcript": hit.transcript.as_ref().map(MessageId::as_str),
        "node": hit.node.as_ref().map(MessageId::as_str),
    })
}
