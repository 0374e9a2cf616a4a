//! Answers about settings and pins.

use serde_json::Value;
use threadkeep_core::MessageId;
use threadkeep_store::Store;

use crate::protocol::{ContextSettings, SettingsRequest};
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// Answers one request about settings and pins. A response to a change means that the change is durable.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was stored then.
    pub async fn setting(&self, request: SettingsRequest) -> Result<Value, KeepError> {
        Ok(match request {
            SettingsRequest::ContextOptions { at, own: true } => {
                self.own_context_options(at.as_deref()).await?.to_json()
            }
            SettingsRequest::ContextOptions { at, own: false } => self.context_options(at.as_deref()).await?.to_json(),
            SettingsRequest::SetContextOptions { at, options } => {
                let settings = ContextSettings::from_json(options)?;
                self.set_context_options(at.as_deref(), &settings).await?;
                Value::Null
            }
            SettingsRequest::PinNode { node, pinned } => {
                self.pin_node(&node, pinned).await?;
                Value::Null
            }
            SettingsRequest::Pins { at } => self.pins(&at).await?.iter().map(MessageId::as_str).collect(),
        })
    }
}
