//! Answers about search.

use serde_json::Value;
use threadkeep_store::Store;

use crate::protocol::SearchRequest;
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// Answers one request about search.
    ///
    /// # Errors
    /// [`KeepError`].
    pub async fn find_messages(&self, request: SearchRequest) -> Result<Value, KeepError> {
        Ok(match request {
            SearchRequest::Search { query, options } => self.search(&query, &options).await?.to_json(),
            SearchRequest::ToEmbed { model, most } => self.to_embed(&model, most as usize).await?.to_json(),
            SearchRequest::PutVectors(new) => {
                self.put_vectors(&new).await?;
                Value::Null
            }
            SearchRequest::IndexProgress => self.index_progress().await?.to_json(),
        })
    }
}
