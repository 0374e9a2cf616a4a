//! Compaction: what stands in for the old part of a chain when it outgrows its budget. The originals stay where they are.
//!
//! [`summary`] is what a summariser is given, and what it gives back.

pub mod summary;
