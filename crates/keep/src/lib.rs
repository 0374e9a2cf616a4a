//! The engine of Threadkeep (under construction).

pub mod protocol;
