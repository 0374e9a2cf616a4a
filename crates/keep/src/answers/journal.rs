//! Answers about the journal.

use serde_json::Value;
use threadkeep_core::MessageId;
use threadkeep_core::json::own_value;
use threadkeep_store::Store;

use crate::journal::Rebuilt;
use crate::protocol::JournalRequest;
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// Answers one request about the journal.
    ///
    /// # Errors
    /// [`KeepError`].
    pub async fn journal(&self, request: JournalRequest) -> Result<Value, KeepError> {
        Ok(match request {
            JournalRequest::Requests { at, limit, prices } => {
                let limit = limit.map(|limit| limit as usize);
                self.requests_at(&at, limit, &prices.unwrap_or_default()).await?.iter().map(own_value).collect()
            }
            JournalRequest::Costs { at, prices } => {
                own_value(&self.costs(at.as_deref(), &prices.unwrap_or_default()).await?)
            }
            JournalRequest::Request { id } => self.request(&id).await?.to_json(),
        })
    }
}

impl Rebuilt {
    /// It as JSON: `{record, options, pins, context, body, differs}`.
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "record": own_value(&self.record),
            "options": self.options,
            "pins": self.pins.iter().map(MessageId::as_str).collect::<Value>(),
            "context": self.context.to_json(),
            "body": self.body,
            "differs": self.differs,
        })
    }
}
