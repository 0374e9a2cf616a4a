//! Summarisers: what the built-in one keeps, what a model is asked and how its answer is read.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test that cannot go on should stop

mod carried;
mod common;
mod data;
mod keeps;
mod model;
mod properties;
#[path = "../../../archive/tests/support/readers.rs"]
mod readers;
mod tools;
