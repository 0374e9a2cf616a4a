//! Connections, and what is sent.

use serde_json::{Value, json};
use threadkeep_provider::{Connection, HttpRequest, PRESETS, Preset, Provider, models_request, read_models, request};

fn connection(provider: &str, base: &str, more: Value) -> Connection {
    let mut value = json!({"provider": provider, "baseUrl": base, "model": "m-1"});
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Connection::from_json(&value).unwrap()
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
}

fn body(request: &HttpRequest) -> Value {
    serde_json::from_str(request.body.as_ref().unwrap()).unwrap()
}

#[test]
fn all_fields_are_read_and_no_others() {
    let all = json!({"id": "c1", "name": "Mine", "provider": "ollama", "baseUrl": " http://localhost:11434/ ", "model": "qwen3", "apiKey": " k-123 ",
        "headers": {"X-Team": "a b"}, "maxContextTokens": 8192, "maxOutputTokens": 1024, "timeoutMs": 5000});
    let read = Connection::from_json(&all).unwrap();
    assert_eq!((read.base_url.as_str(), read.api_key.as_ref().unwrap().reveal()), ("http://localhost:11434", "k-123"));
    assert_eq!(
        (read.max_context_tokens, read.max_output_tokens, read.timeout_ms),
        (Some(8192), Some(1024), Some(5000))
    );
    assert_eq!(read.headers, [("x-team".to_owned(), "a b".to_owned())]);
    assert_eq!(read.label(), "Mine");
    let wrong = |name: &str, value: Value| {
        let mut all = all.clone();
        all[name] = value;
        let error = Connection::from_json(&all).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        error.argument.strip_prefix("connection.").unwrap().to_owned()
    };
    assert_eq!(wrong("apikey", json!("secret-1")), "apikey");
    assert_eq!(wrong("provider", json!("moon")), "provider");
    assert_eq!(wrong("apiKey", json!("secret key")), "apiKey");
    assert_eq!(wrong("apiKey", json!(5)), "apiKey");
    assert_eq!(wrong("headers", json!({"a b": "secret"})), "headers");
    assert_eq!(wrong("headers", json!({"a": "secret\nx: y"})), "headers.a");
    assert_eq!(wrong("timeoutMs", json!(0)), "timeoutMs");
    assert_eq!(wrong("maxOutputTokens", json!(-1)), "maxOutputTokens");
    for url in [
        "localhost:1",
        "ftp://x",
        "https://u:secret@x/",
        "https://x/v1?api_key=secret",
        "https://x/?token=secret",
        "https://x/v1#a",
    ] {
        assert_eq!(wrong("baseUrl", json!(url)), "baseUrl", "{url}");
    }
    assert!(
        Connection::from_json(&json!({"provider": "ollama", "baseUrl": "http://a"})).is_err(),
        "a model is named, be it empty"
    );
    assert!(Connection::from_json(&json!([])).is_err());
    // An empty key is none.
    assert_eq!(connection("ollama", "http://a", json!({"apiKey": " "})).api_key, None);
}

#[test]
fn keys_are_shown_nowhere() {
    for provider in Provider::ALL {
        let it = connection(
            provider.name(),
            "https://example.org/v1",
            json!({"apiKey": "topsecret-1", "headers": {"x-extra": "topsecret-2"}}),
        );
        let sent = request(&it, &json!({"messages": []}));
        let listed = models_request(&it);
        assert!(sent.headers.iter().any(|(_, value)| value.contains("topsecret-1")), "it is sent");
        let shown = format!("{it:?} {sent:?} {listed:?} {} {} {}", it.to_json(), sent.url, listed.url);
        assert!(!shown.contains("topsecret"), "{shown}");
        assert_eq!(it.scrubbed("bad key topsecret-1, topsecret-2".to_owned()), "bad key …, …");
    }
}

#[test]
fn addresses_with_and_without_what_belongs_to_them() {
    let cases = [
        ("openai-chat", "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("openai-chat", "https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
        ("openai-chat", "http://localhost:1234/v1/chat/completions", "http://localhost:1234/v1/chat/completions"),
        (
            "openai-chat",
            "https://x.example/openai/deployments/d?api-version=1",
            "https://x.example/openai/deployments/d/chat/completions?api-version=1",
        ),
        ("openai-responses", "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
        ("anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.deepseek.com/anthropic", "https://api.deepseek.com/anthropic/v1/messages"),
        (
            "gemini",
            "https://generativelanguage.googleapis.com",
            "https://generativelanguage.googleapis.com/v1beta/models/m-1:streamGenerateContent?alt=sse",
        ),
        (
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            "https://generativelanguage.googleapis.com/v1beta/models/m-1:streamGenerateContent?alt=sse",
        ),
        ("ollama", "http://localhost:11434", "http://localhost:11434/api/chat"),
        ("ollama", "http://localhost:11434/v1", "http://localhost:11434/api/chat"),
        ("ollama", "http://localhost:11434/api", "http://localhost:11434/api/chat"),
    ];
    for (provider, base, expected) in cases {
        assert_eq!(request(&connection(provider, base, json!({})), &json!({})).url, expected);
    }
    let listed = [
        ("openai-chat", "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/models"),
        ("anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1/models?limit=1000"),
        (
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000",
        ),
        ("ollama", "http://localhost:11434", "http://localhost:11434/api/tags"),
    ];
    for (provider, base, expected) in listed {
        let request = models_request(&connection(provider, base, json!({})));
        assert_eq!((request.url.as_str(), request.method, &request.body), (expected, "GET", &None));
    }
}

#[test]
fn each_provider_gets_its_key_as_it_wants_it() {
    let key = json!({"apiKey": "k"});
    let sent = |provider: &str, base: &str| request(&connection(provider, base, key.clone()), &json!({}));
    assert_eq!(header(&sent("openai-chat", "https://a.example"), "authorization"), Some("Bearer k"));
    let anthropic = sent("anthropic", "https://api.anthropic.com");
    assert_eq!(header(&anthropic, "x-api-key"), Some("k"));
    assert_eq!(header(&anthropic, "anthropic-version"), Some("2023-06-01"));
    assert_eq!(header(&anthropic, "anthropic-dangerous-direct-browser-access"), Some("true"));
    assert_eq!(header(&sent("anthropic", "https://a.example"), "anthropic-dangerous-direct-browser-access"), None);
    assert_eq!(header(&sent("gemini", "https://a.example"), "x-goog-api-key"), Some("k"));
    assert_eq!(header(&sent("ollama", "https://ollama.com"), "authorization"), Some("Bearer k"));
    // One's own headers count.
    let own =
        connection("openai-chat", "https://a.example", json!({"apiKey": "k", "headers": {"Authorization": "Basic x"}}));
    let own = request(&own, &json!({}));
    assert_eq!(own.headers.iter().filter(|(name, _)| name == "authorization").count(), 1);
    assert_eq!(header(&own, "authorization"), Some("Basic x"));
}

#[test]
fn bodies_have_what_streaming_needs() {
    let payload = json!({"max_completion_tokens": 7, "messages": [{"role": "assistant", "content": "x", "reasoning_content": "y"}]});
    let sent = |provider: &str, base: &str| body(&request(&connection(provider, base, json!({})), &payload));
    let openai = sent("openai-chat", "https://api.openai.com/v1");
    assert_eq!(
        (&openai["model"], &openai["stream"], &openai["stream_options"]),
        (&json!("m-1"), &json!(true), &json!({"include_usage": true}))
    );
    assert_eq!((openai["max_completion_tokens"].as_u64(), openai.get("max_tokens")), (Some(7), None));
    assert_eq!(openai["messages"][0].get("reasoning_content"), None, "OpenAI refuses what it does not know");
    let local = sent("openai-chat", "http://localhost:8080/v1");
    assert_eq!((local["max_tokens"].as_u64(), local.get("max_completion_tokens")), (Some(7), None));
    assert_eq!(local["messages"][0]["reasoning_content"], "y");
    let gemini = body(&request(
        &connection("gemini", "https://a.example", json!({})),
        &json!({"contents": [], "stream": true, "model": "x"}),
    ));
    assert_eq!(gemini, json!({"contents": []}));
    assert_eq!(body(&request(&connection("ollama", "http://a", json!({})), &json!({})))["stream"], true);
    assert_eq!(
        sent("openai-chat", "https://api.mistral.ai/v1").get("stream_options"),
        None,
        "Mistral refuses what it does not know"
    );
    let ollama = connection("ollama", "http://a", json!({"maxContextTokens": 16384}));
    let ollama = body(&request(&ollama, &json!({"options": {"num_predict": 5}})));
    assert_eq!(ollama["options"], json!({"num_predict": 5, "num_ctx": 16384}));
    let responses = |model: &str, payload: Value| {
        let it = connection("openai-responses", "https://api.openai.com/v1", json!({"model": model}));
        body(&request(&it, &payload))
    };
    let encrypted = json!(["reasoning.encrypted_content"]);
    for model in ["o4-mini", "gpt-5", "gpt-5.1-mini", "openai/o3"] {
        let sent = responses(model, json!({}));
        assert_eq!((&sent["store"], &sent["include"]), (&json!(false), &encrypted), "{model}");
    }
    for model in ["gpt-4.1", "gpt-4o", "gpt-5-chat-latest", "omni"] {
        assert_eq!(responses(model, json!({})).get("include"), None, "{model}");
    }
    assert_eq!(
        responses("gpt-5", json!({"store": true, "model": "other"}))["store"],
        true,
        "what the payload says counts"
    );
}

#[test]
fn presets_are_recognised() {
    let of = |provider: &str, base: &str| Preset::of(&connection(provider, base, json!({}))).id;
    for preset in PRESETS.iter().filter(|preset| !preset.is_custom()) {
        assert_eq!(of(preset.provider.name(), preset.base_url), preset.id);
        assert_eq!(Preset::named(preset.id), Some(preset));
        assert!(preset.key == preset.base_url.starts_with("https://"), "{}", preset.id);
    }
    assert_eq!(of("openai-chat", "http://localhost:11434/v1"), "ollama");
    assert_eq!(of("openai-responses", "https://api.openai.com/v1"), "openai");
    assert_eq!(of("openai-chat", "https://notopenai.com"), "custom");
    assert_eq!(of("gemini", "http://localhost:8080"), "custom");
    let help = Preset::named("ollama").unwrap().browser_help("https://page.example");
    assert!(help.contains("OLLAMA_ORIGINS=https://page.example") && !help.contains("{origin}"), "{help}");
    assert_eq!(connection("openai-chat", "http://localhost:1234/v1", json!({})).label(), "LM Studio (localhost:1234)");
    assert_eq!(connection("openai-chat", "https://api.openai.com/v1", json!({})).label(), "OpenAI");
    assert_eq!(connection("openai-chat", "https://my.example/v1", json!({})).label(), "my.example");
}

#[test]
fn lists_of_models_in_every_shape() {
    let ids = |value: Value| read_models(&value).into_iter().map(|listed| listed.id).collect::<Vec<_>>();
    assert_eq!(ids(json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}]})), ["a", "b"]);
    assert_eq!(ids(json!({"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}]})), ["qwen3:8b"]);
    assert_eq!(ids(json!([{"id": "a"}])), ["a"]);
    let gemini = json!({"models": [
        {"name": "models/gemini-x", "inputTokenLimit": 1000, "outputTokenLimit": 50, "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]}]});
    let gemini = read_models(&gemini);
    assert_eq!(
        (gemini.len(), gemini[0].id.as_str(), gemini[0].max_context_tokens, gemini[0].max_output_tokens),
        (1, "gemini-x", Some(1000), Some(50))
    );
    assert_eq!(read_models(&json!({"data": [{"id": "m", "context_length": 9}]}))[0].max_context_tokens, Some(9));
    assert_eq!(ids(json!({"error": "no"})), [""; 0]);
    assert_eq!(ids(json!({"data": [5, {}, {"id": ""}]})), [""; 0]);
}
