//! Compaction: what stands in for the old part of a chain when it outgrows its budget. The originals stay where they are.
//!
//! [`policy`] says when, [`mod@window`] which part, [`summary`] is what a summariser is given and what it gives back, [`extract`] is the one
//! that needs no model, [`model`] what a model is asked and how its answer is read, [`strategy`] says what becomes of that,
//! and [`overlay`] how a prompt is made with it. What is stored of it is a [`Checkpoint`](threadkeep_core::checkpoint::Checkpoint). [`memory`]
//! holds the episodes and facts that summarisers find. Asking a summariser and storing are the engine's.

pub mod extract;
pub mod memory;
pub mod model;
pub mod origins;
pub mod overlay;
pub mod policy;
pub mod strategy;
pub mod summary;
pub mod turn;
pub mod window;

pub use policy::{Policy, PolicyOptions, Reason, Requests};
pub use strategy::Refused;
pub use window::{Window, window};
