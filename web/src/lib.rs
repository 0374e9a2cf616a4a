//! Threadkeep's page and its worker.
//!
//! Two threads: `page` draws and asks, `worker` holds the engine and the store, [`wire`] is what they say to each other.
//! The page never touches IndexedDB. The other modules are plain functions on plain data: they decide what is shown, in
//! which order, how far apart, and run under native tests; only `page` and `worker` need a browser.

pub mod along;
pub mod beside;
pub mod calls;
pub mod clusters;
pub mod commands;
pub mod compare;
pub mod connections;
pub mod epochs;
pub mod format;
pub mod inspect;
pub mod items;
pub mod joined;
pub mod list;
pub mod markdown;
pub mod pieces;
pub mod removed;
pub mod requests;
pub mod route;
pub mod sentinel;
pub mod tree;
pub mod window;
pub mod wire;
pub mod words;

pub mod page;
pub mod worker;

/// Starts what belongs to the thread that this module was loaded in.
pub fn start() {
    use wasm_bindgen::JsCast as _;
    if js_sys::global().is_instance_of::<web_sys::DedicatedWorkerGlobalScope>() {
        worker::start();
    } else {
        page::start();
    }
}
