//! Changes, told on: those made here to this page and to the other tabs, those made in other tabs to this page. Changes
//! that come close together travel together.

use std::cell::RefCell;

use js_sys::Uint8Array;
use threadkeep::protocol::Event;
use wasm_bindgen::prelude::*;
use web_sys::{BroadcastChannel, MessageEvent, WorkerGlobalScope};

use super::say;
use crate::wire::{self, Change, FromWorker};

/// How long changes wait for company, in milliseconds.
const WAIT: i32 = 40;

thread_local! {
    static CHANNEL: RefCell<Option<BroadcastChannel>> = const { RefCell::new(None) };
    static WAITING: RefCell<Vec<Change>> = const { RefCell::new(Vec::new()) };
}

/// Begins to hear the other tabs. Doing so twice is harmless.
pub fn listen() {
    CHANNEL.with_borrow_mut(|slot| {
        if slot.is_some() {
            return;
        }
        let Ok(channel) = BroadcastChannel::new("threadkeep") else { return };
        let hear = Closure::<dyn Fn(MessageEvent)>::new(|event: MessageEvent| {
            // Another tab may be of another version: what cannot be read is passed over.
            let bytes = event.data().dyn_into::<Uint8Array>().map(|bytes| bytes.to_vec());
            if let Some(changes) = wire::from_bytes(&bytes.unwrap_or_default()) {
                // The engine looks at the store with every reading, so only the page must be told.
                say(&FromWorker::Changes(changes), None);
            }
        });
        channel.set_onmessage(Some(hear.as_ref().unchecked_ref()));
        hear.forget();
        *slot = Some(channel);
    });
}

/// Notes a change that was made here.
pub fn changed(event: &Event) {
    let Some(change) = Change::of(event) else { return };
    let first = WAITING.with_borrow_mut(|waiting| {
        waiting.push(change);
        waiting.len() == 1
    });
    if !first {
        return;
    }
    let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
    let send = Closure::once_into_js(send);
    if scope.set_timeout_with_callback_and_timeout_and_arguments_0(send.unchecked_ref(), WAIT).is_err() {
        self::send();
    }
}

fn send() {
    let changes = WAITING.take();
    CHANNEL.with_borrow(|channel| {
        if let Some(channel) = channel {
            // Other tabs that miss a change read it with their next look.
            let _ = channel.post_message(&Uint8Array::from(&wire::to_bytes(&changes)[..]));
        }
    });
    say(&FromWorker::Changes(changes), None);
}
