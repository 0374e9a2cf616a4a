//! Models at the end of connections, with everything that can happen on the way: an [`Http`](threadkeep::model::Http) that does
//! what a script says, and whose time passes only when somebody waits.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test that cannot go on should stop
#![allow(clippy::result_large_err)] // a failure holds what was said until then

mod faults;
mod script;
mod scripted;
mod stream;
