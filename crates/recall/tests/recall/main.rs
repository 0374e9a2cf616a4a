//! The search index against a naive reading of the same texts, and what its users rely on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod languages;
mod naive;
mod ranking;
mod reference;
mod search;
mod vectors;
