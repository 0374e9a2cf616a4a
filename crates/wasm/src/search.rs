//! Search lies in a part of the module of its own, which is loaded with the first search.

use serde_json::{Map, Value};
use threadkeep::agent::{Later, MemoryQuery, ToolAnswer};
use threadkeep::passages::not_loaded;
use threadkeep::protocol::SearchRequest;
use threadkeep::{Keep, RankPassages, Ranking};
use threadkeep_parts::part;

use crate::error::{bad_request, json, keep_error};
use crate::executor::Answer;
use crate::store::AnyStore;

part! {
    /// What an agent finds with its tool.
    search: pub(crate) fn found(keep: Keep<AnyStore>, wanted: MemoryQuery) -> ToolAnswer<'static> {
        threadkeep::agent::found(keep, wanted)
    }
}

part! {
    /// What ranks passages for prompts.
    search: fn ranking() -> &'static dyn RankPassages {
        &Ranking
    }
}

/// Loads what ranks passages.
pub(crate) fn load_ranking() -> Later<'static, &'static dyn RankPassages> {
    Box::pin(async { ranking().await.map_err(|_| not_loaded()) })
}

part! {
    /// Answers a [`SearchRequest`].
    search: pub(crate) fn answer(keep: Keep<AnyStore>, method: String, params: String) -> Answer {
        Box::pin(async move {
            let request = SearchRequest::read(&method, &params).map_err(bad_request)?;
            let data = keep.find_messages(request).await.map_err(|error| keep_error(&error))?;
            json(&Value::Object(Map::from_iter([("type".to_owned(), method.into()), ("data".to_owned(), data)])))
        })
    }
}
