//! The wasm-bindgen surface under the npm package `threadkeep`: one class, [`Engine`], that takes the engine's requests as
//! JSON text and answers with JSON text, and a few pure functions. Names, types, defaults and argument checks that users
//! meet are the TypeScript's in `npm/`; what a request does is `threadkeep`'s.
//!
//! Nothing runs when the module is instantiated. The TypeScript calls [`start`] once, with the two functions that
//! [`executor`] and the panic hook need, and [`executor::run_tasks`] whenever there is work; a trap in there is caught on
//! the JavaScript side, so that a bug ends in an error with words and never in a promise that hangs.

// All but the pure functions needs a JavaScript host; natively there is nothing of it to compile.
mod agent;
mod cancel;
mod contract;
mod engine;
mod error;
mod executor;
mod host;
mod manage;
mod memory;
mod prompt;
mod pure;
mod scopes;
mod search;
mod source;
mod store;

pub use agent::{AgentHandle, AgentHost, AnswerReader, ModelHandle, connect, read_answer};
pub use cancel::Canceller;
pub use contract::check_store;
pub use engine::Engine;
pub use executor::run_tasks;
pub use manage::load_manage;
pub use prompt::{
    Trimmer, compress_history, count_messages, count_text, load_prompts, load_vocabulary, render, validate,
};
pub use pure::{read_depth, version, write_depth};
pub use scopes::Scopes;
pub use source::SourceObject;

/// Gets the module ready: `schedule()` is called when [`run_tasks`] should be called soon, `panicked(words)` when the
/// module is about to trap because of a bug. Calling it again replaces both.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn start(schedule: js_sys::Function, panicked: js_sys::Function) {
    executor::set_scheduler(schedule);
    error::hear_panics(panicked);
}
