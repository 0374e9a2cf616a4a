//! A memory service beside the keep: what it remembers goes into an agent's prompts, within memory's share of the budget.

use std::pin::Pin;

/// What is remembered, once it is found.
pub type Recalled<'a> = Pin<Box<dyn Future<Output = Option<String>> + 'a>>;

/// A memory service of the host.
pub trait Service {
    /// What it remembers for a conversation that answers `query`, as a text that a prompt quotes; `None` if that is nothing, or if it
    /// fails.
    fn recall<'a>(&'a self, conversation: &'a str, query: &'a str) -> Recalled<'a>;
}
