//! [`Http`](threadkeep::model::Http) over `fetch`, as browsers (pages and workers) and Node have it.
//!
//! Goes in: a request. Comes out: the status, and the body piece by piece as it arrives. What is dropped is aborted. What to send,
//! how to read it, and when to try again is `threadkeep::model`'s and `threadkeep_provider`'s.

mod bindings;
mod fetch;
mod timer;

pub use fetch::Fetch;
