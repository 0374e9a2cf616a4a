//! Answers to what-ifs.

use serde_json::Value;
use threadkeep_store::Store;

use super::journal::written;
use crate::protocol::WhatIfRequest;
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// Answers one what-if. Nothing is stored.
    ///
    /// # Errors
    /// [`KeepError`].
    pub async fn what_if(&self, request: WhatIfRequest) -> Result<Value, KeepError> {
        match request {
            WhatIfRequest::Simulate { at, options } => written(&self.simulations(&at, *options).await?),
            WhatIfRequest::SmallestBudget { at, node, options } => {
                Ok(self.smallest_budget(&at, &node, *options).await?.into())
            }
            WhatIfRequest::Forecast { at, options } => written(&self.forecast(&at, *options).await?),
            WhatIfRequest::ComparePolicies { at, options } => written(&self.compare_policies(&at, *options).await?),
            WhatIfRequest::CompareBranches { at, other, options } => {
                written(&self.compare_branches(&at, &other, *options).await?)
            }
        }
    }
}
