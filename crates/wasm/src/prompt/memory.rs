//! The prompts and the memory of a keep, for an agent in it. Search lies in another part, which is loaded when it is first asked for.

use serde_json::{Map, Value, json};
use threadkeep::Keep;
use threadkeep::NewFact;
use threadkeep::agent::{Later, Memory, Own, ToolAnswer};
use threadkeep::compact::{CompactOptions, Compacted};
use threadkeep::protocol::{ContextOptions, ContextReply};
use threadkeep_core::compaction::{Policy, Reason};
use threadkeep_core::{Message, MessageId};

use super::part::lend;
use crate::search;
use crate::store::AnyStore;

pub(super) struct Parted {
    keep: Keep<AnyStore>,
    own: Own<AnyStore>,
}

impl Parted {
    pub(super) fn new(keep: Keep<AnyStore>) -> Self {
        Self { own: Own::new(keep.clone()), keep }
    }
}

impl Memory for Parted {
    fn context<'a>(&'a self, at: &'a MessageId, options: &'a ContextOptions) -> Later<'a, ContextReply> {
        lend(&self.keep);
        self.own.context(at, options)
    }

    fn compact<'a>(&'a self, at: &'a MessageId, options: &'a CompactOptions) -> Later<'a, Compacted> {
        lend(&self.keep);
        self.own.compact(at, options)
    }

    fn after_response<'a>(
        &'a self,
        at: &'a MessageId,
        tokens: Option<u64>,
        policy: Policy,
    ) -> Later<'a, Option<Reason>> {
        self.own.after_response(at, tokens, policy)
    }

    fn compaction_required<'a>(&'a self, at: &'a MessageId) -> Later<'a, Option<Reason>> {
        self.own.compaction_required(at)
    }

    fn clear_compaction_request<'a>(&'a self, at: &'a MessageId) -> Later<'a, ()> {
        self.own.clear_compaction_request(at)
    }

    fn tool_result<'a>(&'a self, at: &'a MessageId, path: &'a str) -> Later<'a, Option<Message>> {
        self.own.tool_result(at, path)
    }

    fn remember(&self, fact: NewFact) -> Later<'_, String> {
        self.own.remember(fact)
    }

    fn search(&self, query: String, limit: usize) -> ToolAnswer<'_> {
        let params = json!({ "query": query, "limit": limit }).to_string();
        Box::pin(async move {
            let failed = |_| "the search could not be carried out".to_owned();
            let answer = search::answer(self.keep.clone(), "search".to_owned(), params);
            let answer =
                answer.await.map_err(|_| "the search could not be loaded".to_owned())?.await.map_err(failed)?;
            let mut value: Value = serde_json::from_str(&answer.as_string().unwrap_or_default()).unwrap_or_default();
            let hits = value["data"].take();
            let hit = |hit: &Value| {
                let mut shown = Map::new();
                for (name, from) in [
                    ("kind", "kind"),
                    ("role", "role"),
                    ("text", "snippet"),
                    ("transcript", "transcript"),
                    ("node", "node"),
                ] {
                    shown.insert(name.to_owned(), hit[from].clone());
                }
                Value::Object(shown)
            };
            Ok(hits.as_array().into_iter().flatten().map(hit).collect())
        })
    }
}
