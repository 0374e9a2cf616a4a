//! Models asked from a page in Chromium: what CORS allows and forbids, in words. By hand, since it needs two servers beside the browser:
//!
//! ```sh
//! node -e 'import("./tests/support/model-server.mjs").then(async (m) => { await m.startModelServer({ port: 43181 });
//!   await m.startModelServer({ port: 43182, cors: false }) })' &
//! THREADKEEP_MODEL_SERVERS=1 cargo test -p threadkeep-fetch --target wasm32-unknown-unknown --test browser
//! ```
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;
use threadkeep::model::{Call, Connected, Failure, Model};
use threadkeep_core::Message;
use threadkeep_fetch::Fetch;
use threadkeep_provider::{Completion, Connection, Delta, Provider, RenderOptions, render};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

fn no_servers() -> bool {
    let none = option_env!("THREADKEEP_MODEL_SERVERS").is_none();
    if none {
        console_log!("skipped: no servers (THREADKEEP_MODEL_SERVERS)");
    }
    none
}

async fn ask(provider: Provider, port: u16) -> (Result<Completion, Failure>, String) {
    let path = match provider {
        Provider::Gemini => "/v1beta",
        Provider::OpenAiChat | Provider::OpenAiResponses => "/v1",
        Provider::Anthropic | Provider::Ollama => "",
    };
    let base = format!("http://localhost:{port}{path}");
    let connection =
        json!({"provider": provider.name(), "baseUrl": base, "model": "test-model", "apiKey": "sk-test-3"});
    let model = Connected::new(Connection::from_json(&connection).unwrap(), Rc::new(Fetch));
    let options = RenderOptions { model: Some("test-model".to_owned()), ..RenderOptions::default() };
    let payload = render(&[&Message::user("Hello from a page")], provider, &options).payload;
    let heard = RefCell::new(String::new());
    let hear = |delta| {
        if let Delta::Text(text) = delta {
            heard.borrow_mut().push_str(&text);
        }
    };
    let result = model.call(Call { messages: &[], payload: &payload, tools: &[] }, &hear).await;
    (result, heard.into_inner())
}

#[wasm_bindgen_test]
async fn all_five_wires_from_a_page() {
    if no_servers() {
        return;
    }
    for provider in Provider::ALL {
        let (result, heard) = ask(provider, 43181).await;
        let said = result.unwrap().message.text().into_owned();
        assert_eq!(
            (said.as_str(), heard.as_str()),
            ("You said: Hello from a page", said.as_str()),
            "{}",
            provider.name()
        );
    }
}

#[wasm_bindgen_test]
async fn a_server_that_lets_no_page_read_is_told_from_one_that_is_not_there() {
    if no_servers() {
        return;
    }
    // An isolated page (the runner's, without WASM_BINDGEN_TEST_NO_ORIGIN_ISOLATION=1) cannot tell them apart.
    let isolated = js_sys::eval("crossOriginIsolated").unwrap().is_truthy();
    console_log!("isolated: {isolated}");
    for provider in Provider::ALL {
        let failure = ask(provider, 43182).await.0.unwrap_err();
        assert_eq!(failure.code, "blocked", "{failure}");
        assert!(failure.message.contains("CORS") && failure.message.contains("http://127.0.0.1:"), "{failure}");
        let failure = ask(provider, 43183).await.0.unwrap_err();
        assert_eq!(failure.code, if isolated { "blocked" } else { "unreachable" }, "{failure}");
        assert!(failure.message.contains("reached") && failure.message.contains("running"), "{failure}");
        assert!(!failure.message.contains("sk-test-3"));
    }
}
