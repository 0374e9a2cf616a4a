//! Faults in words.

use serde_json::{Value, json};
use threadkeep_provider::{Connection, Fault};

fn connection(base: &str) -> Connection {
    let value = json!({"provider": "openai-chat", "baseUrl": base, "model": "m-1", "apiKey": "sk-secret-77"});
    Connection::from_json(&value).unwrap()
}

fn status(status: u16, body: Value) -> Fault {
    let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    Fault::of_status(&connection("https://api.openai.com/v1"), status, &[], text.as_bytes(), 0)
}

#[test]
fn prompts_that_are_too_long_in_every_providers_words() {
    let cases = [
        (
            400,
            json!({"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", "code": "context_length_exceeded"}}),
        ),
        (
            400,
            json!({"error": {"message": "Your input exceeds the context window of this model. Please adjust your input and try again.", "code": "context_length_exceeded"}}),
        ),
        (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 214850 tokens > 200000 maximum"}}),
        ),
        (
            413,
            json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        ),
        (
            400,
            json!({"error": {"code": 400, "message": "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}),
        ),
        (
            400,
            json!({"error": {"code": 400, "message": "the request exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_ctx": 4096}}),
        ),
        (
            400,
            json!({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages", "type": "BadRequestError", "code": 400}),
        ),
        (
            400,
            json!({"error": "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough."}),
        ),
        (500, json!({"error": "Context size has been exceeded."})),
        (
            400,
            json!({"error": {"message": "This endpoint's maximum context length is 131072 tokens. However, you requested about 132463 tokens", "code": 400}}),
        ),
        (
            400,
            json!({"error": {"message": "max_tokens is too large: input length and `max_tokens` exceed context limit"}}),
        ),
        (422, json!({"detail": [{"msg": "prompt too long", "loc": ["body"]}]})),
    ];
    for (code, body) in cases {
        let fault = status(code, body.clone());
        assert_eq!((fault.code, fault.passes), ("too-long", false), "{body}: {fault:?}");
    }
    // Too many tokens a minute is another thing.
    let minute = status(
        429,
        json!({"error": {"message": "Rate limit reached: too many tokens per min (TPM)", "code": "rate_limit_exceeded"}}),
    );
    assert_eq!((minute.code, minute.passes), ("rate-limited", true));
}

#[test]
fn every_status_has_a_word_and_says_what_the_provider_said() {
    let error = |words: &str| json!({"error": {"message": words}});
    for (number, code, passes) in [
        (400, "refused", false),
        (401, "unauthorized", false),
        (402, "refused", false),
        (403, "unauthorized", false),
        (404, "not-found", false),
        (405, "not-found", false),
        (408, "failed", true),
        (418, "refused", false),
        (422, "refused", false),
        (429, "rate-limited", true),
        (500, "failed", true),
        (502, "failed", true),
        (503, "overloaded", true),
        (504, "failed", true),
        (529, "overloaded", true),
        (302, "bad-answer", false),
    ] {
        let fault = status(number, error("Those are its words."));
        assert_eq!((fault.code, fault.passes), (code, passes), "{number}");
        let said = fault.message.contains("Those are its words.") && fault.message.contains(&number.to_string());
        assert!(said && fault.message.starts_with("OpenAI"), "{}", fault.message);
        assert!(!fault.message.contains("..") && !fault.message.contains(" ."), "{}", fault.message);
    }
}

#[test]
fn words_wherever_they_stand() {
    let cases = [
        json!({"error": {"message": "the words"}}),
        json!({"error": "the words"}),
        json!({"message": "the words"}),
        json!({"detail": "the words"}),
        json!({"detail": [{"msg": "the words"}]}),
        json!([{"error": {"message": "the words"}}]),
        json!("the words"),
    ];
    for body in cases {
        let fault = status(400, body.clone());
        assert!(fault.message.contains("the words"), "{body}: {}", fault.message);
    }
    let upstream = json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "tools are not supported"}}});
    assert!(status(400, upstream).message.contains("tools are not supported"));
    let page = status(502, json!("<html><head><title>Bad gateway</title></head></html>"));
    assert!(page.message.contains("a web page, \"Bad gateway\""), "{}", page.message);
    assert!(status(500, json!("x".repeat(9000))).message.len() < 1000);
    assert!(!status(500, json!("")).message.contains(": ."), "{}", status(500, json!("")).message);
}

#[test]
fn keys_in_a_servers_words_are_not_shown() {
    let fault = status(401, json!({"error": {"message": "Incorrect API key provided: sk-secret-77."}}));
    assert!(!fault.message.contains("sk-secret-77") && fault.message.contains("key"), "{}", fault.message);
}

#[test]
fn accounts_that_are_used_up_do_not_pass() {
    let used = status(
        429,
        json!({"error": {"message": "You exceeded your current quota, please check your plan and billing details.", "code": "insufficient_quota"}}),
    );
    assert_eq!((used.code, used.passes), ("rate-limited", false));
    assert!(used.message.contains("credit"));
    // Gemini says "quota" for a minute's limit too, with a delay.
    let minute = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}});
    let minute = status(429, minute);
    assert_eq!((minute.passes, minute.wait), (true, Some(34_500)));
    let key = json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}});
    assert_eq!(status(400, key).code, "unauthorized");
}

#[test]
fn a_missing_model_says_which_and_how_to_get_it() {
    let ollama =
        Connection::from_json(&json!({"provider": "ollama", "baseUrl": "http://localhost:11434", "model": "qwen3"}))
            .unwrap();
    let fault = Fault::of_status(&ollama, 404, &[], br#"{"error":"model 'qwen3' not found"}"#, 0);
    assert!(
        fault.message.contains("ollama pull qwen3") && fault.message.contains("http://localhost:11434"),
        "{}",
        fault.message
    );
}

#[test]
fn nobody_answers() {
    let local =
        Connection::from_json(&json!({"provider": "ollama", "baseUrl": "http://localhost:11434", "model": "m"}))
            .unwrap();
    let fault = Fault::unsent(&local, None, None, "ECONNREFUSED");
    assert_eq!((fault.code, fault.passes), ("unreachable", false));
    assert!(fault.message.contains("ECONNREFUSED") && fault.message.contains("ollama serve"), "{}", fault.message);
    assert!(Fault::unsent(&connection("https://a.example"), None, None, "").passes, "a network may come back");
    // In a page it is told apart from CORS where that can be.
    let page = Some("https://page.example");
    let cors = Fault::unsent(&local, page, Some(true), "Failed to fetch");
    assert_eq!(cors.code, "blocked");
    assert!(cors.message.contains("OLLAMA_ORIGINS=https://page.example"), "{}", cors.message);
    let gone = Fault::unsent(&local, page, Some(false), "Failed to fetch");
    assert_eq!(gone.code, "unreachable");
    assert!(gone.message.contains("local network"), "{}", gone.message);
    let either = Fault::unsent(&local, page, None, "Failed to fetch");
    assert!(
        either.code == "blocked" && either.message.contains("CORS") && either.message.contains("running"),
        "{}",
        either.message
    );
    let studio =
        Connection::from_json(&json!({"provider": "openai-chat", "baseUrl": "http://localhost:1234/v1", "model": "m"}))
            .unwrap();
    assert!(Fault::unsent(&studio, page, Some(true), "").message.contains("--cors"));
    let own = Fault::unsent(&connection("https://my.example/v1"), page, Some(true), "");
    assert!(own.message.contains("Access-Control-Allow-Origin: https://page.example"), "{}", own.message);
}

#[test]
fn a_page_over_https_calls_plain_http_only_on_this_machine() {
    let page = Some("https://page.example");
    let mixed = Fault::unsent(&connection("http://192.168.1.5:8000/v1"), page, Some(false), "");
    assert_eq!(mixed.code, "blocked");
    assert!(mixed.message.contains("https") && mixed.message.contains("http://192.168.1.5:8000"), "{}", mixed.message);
    assert_eq!(Fault::unsent(&connection("http://127.0.0.1:8000/v1"), page, Some(false), "").code, "unreachable");
    assert_eq!(
        Fault::unsent(&connection("http://192.168.1.5:8000/v1"), Some("http://page.example"), Some(false), "").code,
        "unreachable"
    );
}
