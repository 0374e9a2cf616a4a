//! Connections: what must be known to ask a provider, and what one sends to it.
//!
//! Goes in: a [`Connection`] and a payload that [`render`](super::render) made. Comes out: an [`HttpRequest`], and for whatever
//! went wrong a [`Fault`] in words a person can act on. Left to others: sending it, waiting, and reading the answer
//! ([`Reader`](super::Reader)). Keys stand in headers only, and nothing here shows them.

mod address;
mod connection;
mod dialect;
mod fault;
mod listed;
mod preset;
mod request;
mod retry;

pub use connection::{Connection, Key};
pub use dialect::Dialect;
pub use fault::Fault;
pub(super) use fault::page_text;
pub use listed::{Listed, models_request, read_models};
pub use preset::{PRESETS, Preset};
pub use request::{HttpRequest, request};
pub use retry::{Backoff, http_date};
