//! The worker's part of the search: the page's question as the engine's, and of its answer what the page shows.

use threadkeep::protocol::{ErrorReply, Found as Kind, SearchOptions};

use super::Engine;
use crate::wire::{Find, Found, Hit, Reply, cut, reason};

/// How many messages the page lists.
const MESSAGES: usize = 40;
/// How many summaries and records of the memory. Many repeat a message's words: they come after all messages.
const OTHERS: usize = 10;

/// Finds messages in what is indexed, and in one batch more.
pub async fn answer(engine: &Engine, asked: Find) -> Result<Reply, ErrorReply> {
    let Find { query, role, source } = asked;
    let options = SearchOptions {
        limit: MESSAGES + 2 * OTHERS,
        roles: Some(role).filter(|role| !role.is_empty()).into_iter().collect(),
        source: Some(source).filter(|source| !source.is_empty()),
        kinds: Kind::ALL.to_vec(),
        // The page asks again for the rest, and says meanwhile how far it is.
        wait: false,
        ..SearchOptions::default()
    };
    let reply = engine.search(&query, &options).await.map_err(|error| error.reply())?;
    // What was found only for what it answers helps a model; a reader looks for the words.
    let said = reply.hits.into_iter().filter(|hit| !hit.snippet.highlights.is_empty());
    let hits = said.map(|hit| Hit {
        snippet: cut(&hit.snippet.text, &hit.snippet.highlights),
        id: hit.id,
        transcript: hit.transcript,
        leaf: hit.leaf,
        node: hit.node,
        role: hit.role,
        created_at: hit.created_at,
        why: reason(&hit.why.words, &hit.why.context, hit.why.time),
    });
    let (mut messages, mut others): (Vec<Hit>, Vec<Hit>) = hits.partition(|hit| hit.id.is_none());
    messages.truncate(MESSAGES);
    others.truncate(OTHERS);
    messages.append(&mut others);
    let found = Found { hits: messages, indexed: reply.progress.indexed, messages: reply.progress.messages };
    Ok(Reply::Found(Box::new(found)))
}
