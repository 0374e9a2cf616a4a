//! Requests and answers.

use js_sys::{Array, Object, Reflect, global};
use threadkeep::model::{Body, Http, Response, Unsent, Wait};
use threadkeep_provider::HttpRequest;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::bindings::{AbortController, JsResponse, ReadResult, StreamReader, fetch};
use crate::timer::Timer;

/// How long a server may take to show that it is there, in milliseconds.
const REACH_MS: u32 = 4_000;

/// [`Http`] over the `fetch` of wherever the module runs.
///
/// ```no_run
/// # #[cfg(target_arch = "wasm32")] {
/// use std::rc::Rc;
/// use threadkeep::model::Connected;
/// use threadkeep_provider::Connection;
/// let connection = serde_json::json!({"provider": "ollama", "baseUrl": "http://localhost:11434", "model": "qwen3"});
/// let model = Connected::new(Connection::from_json(&connection)?, Rc::new(threadkeep_fetch::Fetch));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Fetch;

impl Http for Fetch {
    fn send<'a>(&'a self, request: &'a HttpRequest) -> Wait<'a, Result<Response, Unsent>> {
        Box::pin(async move {
            let sent = Sent(AbortController::new());
            let init = Object::new();
            set(&init, "method", request.method.into());
            let headers = Object::new();
            for (name, value) in &request.headers {
                set(&headers, name, value.into());
            }
            set(&init, "headers", headers.into());
            if let Some(body) = &request.body {
                set(&init, "body", body.into());
            }
            // Prompts belong into no cache, and cookies to nobody.
            set(&init, "cache", "no-store".into());
            set(&init, "credentials", "omit".into());
            set(&init, "referrerPolicy", "no-referrer".into());
            // A server must not send the prompt and the key elsewhere; the engine says where it wanted to.
            set(&init, "redirect", "manual".into());
            set(&init, "signal", sent.0.signal());
            let promise = fetch(&request.url, &init).map_err(|error| unsent(&error))?;
            let response = JsFuture::from(promise).await.map_err(|error| unsent(&error))?;
            let response: JsResponse = response.unchecked_into();
            let mut headers = Vec::new();
            for pair in Array::from(&response.headers()).iter() {
                let pair: Array = pair.unchecked_into();
                headers
                    .push((pair.get(0).as_string().unwrap_or_default(), pair.get(1).as_string().unwrap_or_default()));
            }
            let reader = response.body().map(|body| body.reader());
            Ok(Response { status: response.status(), headers, body: Box::new(Streamed { reader, _sent: sent }) })
        })
    }

    fn sleep(&self, ms: u32) -> Wait<'_, ()> {
        Box::pin(Timer::new(ms))
    }

    fn random(&self) -> f64 {
        js_sys::Math::random()
    }

    fn now(&self) -> i64 {
        js_sys::Date::now() as i64
    }

    fn page(&self) -> Option<String> {
        // Pages and workers have an origin, also "null" (a file, a sandboxed frame); Node has none.
        Reflect::get(&global(), &"origin".into()).ok()?.as_string()
    }

    fn reaches<'a>(&'a self, origin: &'a str) -> Wait<'a, Option<bool>> {
        Box::pin(async move {
            let sent = Sent(AbortController::new());
            let init = Object::new();
            // An answer that may not be read is an answer.
            for (name, value) in
                [("mode", "no-cors"), ("cache", "no-store"), ("credentials", "omit"), ("referrerPolicy", "no-referrer")]
            {
                set(&init, name, value.into());
            }
            set(&init, "signal", sent.0.signal());
            // A page that is isolated from others may not even send such a request to many servers.
            let isolated = Reflect::get(&global(), &"crossOriginIsolated".into()).is_ok_and(|it| it.is_truthy());
            let mut answer = JsFuture::from(fetch(origin, &init).ok()?);
            let mut limit = Timer::new(REACH_MS);
            let answered = std::future::poll_fn(|context| {
                use std::pin::Pin;
                use std::task::Poll;
                match Pin::new(&mut answer).poll(context) {
                    Poll::Ready(Ok(_)) => Poll::Ready(Some(true)),
                    Poll::Ready(Err(_)) => Poll::Ready(if isolated { None } else { Some(false) }),
                    Poll::Pending => Pin::new(&mut limit).poll(context).map(|()| None),
                }
            });
            answered.await
        })
    }
}

/// A request that is aborted when it is dropped.
struct Sent(AbortController);

impl Drop for Sent {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A body that is read as it arrives.
struct Streamed {
    reader: Option<StreamReader>,
    _sent: Sent,
}

impl Body for Streamed {
    fn chunk(&mut self) -> Wait<'_, Option<Result<Vec<u8>, Unsent>>> {
        Box::pin(async move {
            let reader = self.reader.as_ref()?;
            match JsFuture::from(reader.read()).await {
                Ok(result) => {
                    let result: ReadResult = result.unchecked_into();
                    if result.done() {
                        None
                    } else {
                        Some(Ok(result.value().map(|bytes| bytes.to_vec()).unwrap_or_default()))
                    }
                }
                Err(error) => Some(Err(unsent(&error))),
            }
        })
    }
}

fn set(object: &Object, name: &str, value: JsValue) {
    // Setting a field of a plain object does not fail.
    let _ = Reflect::set(object, &name.into(), &value);
}

/// Why a promise was rejected: Node says it in the error's cause.
fn unsent(error: &JsValue) -> Unsent {
    let field =
        |value: &JsValue, name: &str| Reflect::get(value, &name.into()).ok().filter(|field| !field.is_undefined());
    let text = |value: &JsValue, name: &str| field(value, name)?.as_string().filter(|text| !text.is_empty());
    let cause = field(error, "cause");
    let cause = cause.as_ref().and_then(|cause| text(cause, "code").or_else(|| text(cause, "message")));
    Unsent { reason: cause.or_else(|| text(error, "message")).unwrap_or_default() }
}
