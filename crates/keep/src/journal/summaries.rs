//! Requests for summaries in the journal: what a compaction asked an agent's model, and what the provider counted. Their bodies are not
//! kept. The checkpoint says what came of them.

use threadkeep_context::tokens::{Overhead, cost};
use threadkeep_core::{Message, MessageId};
use threadkeep_provider::Provider;
use threadkeep_store::Store;

use super::{day, forget_old, record_of};
use crate::json::to_json;
use crate::keep::Write;
use crate::protocol::{Counting, Purpose, RequestRecord};
use crate::{Keep, KeepError, keys};

/// A request for a summary, when it is about to be sent.
#[derive(Debug, Clone, Copy)]
pub struct SummaryRequest<'a> {
    /// The node at which the chain ends that is compacted.
    pub node: &'a MessageId,
    /// Whose model is asked.
    pub agent: Option<&'a str>,
    /// The model's name.
    pub model: &'a str,
    /// In which form it is asked.
    pub provider: Provider,
    /// How tokens are counted.
    pub encoding: Counting,
    /// The request.
    pub messages: &'a [Message],
    /// How many days requests are kept; `None` for as long as their thread.
    pub days: Option<u32>,
}

impl<S: Store> Keep<S> {
    /// Notes a request for a summary, and gives its id. [`Keep::note_answer`] adds what the provider counted.
    ///
    /// # Errors
    /// `missing-node`; `vocabulary-missing`; the store's.
    pub async fn note_summary(&self, asked: SummaryRequest<'_>) -> Result<String, KeepError> {
        let counter = self.counter(asked.encoding)?;
        let tokens = |message| u64::from(cost(message, asked.provider, &*counter).total());
        let tokens = asked.messages.iter().map(tokens).sum::<u64>() + u64::from(Overhead::of(asked.provider).reply);
        let _writing = self.writing().await;
        let transcript = self.find_or_fail(asked.node).await?;
        let (now, random) = (self.now().max(0), self.random());
        let missing = || KeepError::MissingNode(asked.node.clone());
        let written = self.write(&transcript, |log| {
            let placed = log.tree.get(asked.node).ok_or_else(missing)?;
            let (stamp, record) = record_of(&transcript, placed, now, random);
            let record = RequestRecord {
                agent: asked.agent.map(str::to_owned),
                provider: asked.provider,
                model: asked.model.to_owned(),
                tokens,
                purpose: Some(Purpose::Summary),
                ..record
            };
            let mut write = Write::new(Vec::new(), record.id.clone());
            write.extra.puts.push((keys::request(&transcript, day(now), &stamp), to_json(&record)?));
            forget_old(&transcript, now, asked.days, &mut write.extra);
            Ok(write)
        });
        written.await?.ok_or_else(missing)
    }
}
