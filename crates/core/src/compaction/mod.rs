//! Compaction: what stands in for the old part of a chain when it outgrows its budget. The originals stay where they are.
//!
//! [`summary`] is what a summariser is given, and what it gives back; [`extract`] is the one that needs no model,
//! [`model`] what a model is asked and how its answer is read.

pub mod extract;
pub mod model;
pub mod summary;
