//! Context: from a chain of messages and a budget to the exact prompt, with an account of every message.

pub mod compress;
mod ledger;

pub use ledger::{Action, Line};
