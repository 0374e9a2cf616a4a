//! Awaiting one request of IndexedDB, and turning what the browser throws into typed errors.

use js_sys::{Error as JsError, Reflect};
use wasm_bindgen::prelude::*;
use web_sys::{DomException, IdbRequest};

use super::wait::Signal;
use crate::StoreError;
use crate::dom_error::{During, classify};

/// The result of `request` when it is done.
pub(super) async fn done(request: &IdbRequest) -> Result<JsValue, StoreError> {
    let signal = Signal::new();
    let handlers = Handlers::new(request, {
        let signal = signal.clone();
        move || {
            let _ = signal.set(());
        }
    });
    signal.await;
    drop(handlers);
    result(request)
}

/// The result of a request that is done.
pub(super) fn result(request: &IdbRequest) -> Result<JsValue, StoreError> {
    match request.error() {
        Ok(Some(error)) => Err(exception(&error)),
        Ok(None) => request.result().map_err(|error| thrown(error, During::Use)),
        Err(error) => Err(thrown(error, During::Use)),
    }
}

/// One handler for both ends of a request, taken off when this is dropped.
pub(super) struct Handlers<'a> {
    request: &'a IdbRequest,
    _handler: Closure<dyn FnMut()>,
}

impl<'a> Handlers<'a> {
    pub(super) fn new(request: &'a IdbRequest, handler: impl FnMut() + 'static) -> Self {
        let handler = Closure::new(handler);
        request.set_onsuccess(Some(handler.as_ref().unchecked_ref()));
        request.set_onerror(Some(handler.as_ref().unchecked_ref()));
        Self { request, _handler: handler }
    }
}

impl Drop for Handlers<'_> {
    fn drop(&mut self) {
        self.request.set_onsuccess(None);
        self.request.set_onerror(None);
    }
}

/// The typed error for an exception of the browser's while records are in use.
pub(super) fn exception(error: &DomException) -> StoreError {
    classify(&error.name(), &error.message(), During::Use)
}

/// The typed error for whatever was thrown.
pub(super) fn thrown(error: JsValue, during: During) -> StoreError {
    if let Some(error) = error.dyn_ref::<DomException>() {
        return classify(&error.name(), &error.message(), during);
    }
    match error.dyn_ref::<JsError>() {
        Some(error) => classify(&String::from(error.name()), &String::from(error.message()), during),
        None => StoreError::Other(describe(&error)),
    }
}

/// Some words about a value that should have been an error.
fn describe(value: &JsValue) -> String {
    let message = Reflect::get(value, &JsValue::from_str("message")).ok().and_then(|message| message.as_string());
    message.or_else(|| value.as_string()).unwrap_or_else(|| format!("{value:?}"))
}
