//! Answers about the journal.

use serde::Serialize;
use serde_json::Value;
use threadkeep_core::MessageId;
use threadkeep_store::{Store, StoreError};

use crate::journal::Rebuilt;
use crate::json::{from_json, to_json};
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
                written(&self.requests_at(&at, limit, &prices.unwrap_or_default()).await?)?
            }
            JournalRequest::Costs { at, prices } => {
                written(&self.costs(at.as_deref(), &prices.unwrap_or_default()).await?)?
            }
            JournalRequest::Request { id } => self.request(&id).await?.to_json()?,
            JournalRequest::DiffRequests { first, second } => {
                written(&Box::pin(self.diff_requests(&first, &second)).await?.report)?
            }
            JournalRequest::CaseFile { id, redact } => Box::pin(self.case_file(&id, redact)).await?.into(),
        })
    }
}

impl Rebuilt {
    /// It as JSON: `{record, options, pins, context, body, differs}`.
    ///
    /// # Errors
    /// The store's, for a record that cannot be written.
    pub fn to_json(&self) -> Result<Value, KeepError> {
        Ok(serde_json::json!({
            "record": written(&self.record)?,
            "options": self.options,
            "pins": self.pins.iter().map(MessageId::as_str).collect::<Value>(),
            "context": self.context.to_json(),
            "body": self.body,
            "differs": self.differs,
        }))
    }
}

/// A value by way of its text, in which it is stored: a second writer for the same types would weigh two kilobytes.
pub(super) fn written(value: &impl Serialize) -> Result<Value, KeepError> {
    from_json(&to_json(value)?).map_err(|error| StoreError::Other(error.to_string()).into())
}
