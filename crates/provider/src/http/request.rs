//! Requests: what is sent to a provider for a payload.

use serde_json::{Map, Value};

use super::super::Provider;
use super::super::json::{object, put, string};
use super::connection::{Connection, Key};

/// A request, ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Where to. There is no key in it.
    pub url: String,
    /// The headers, names in small letters, each once. Keys stand here.
    pub headers: Vec<(String, String)>,
    /// The body, JSON.
    pub body: Option<String>,
}

impl std::fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let size = self.body.as_ref().map_or(0, String::len);
        write!(f, "{} {} ({}; {size} bytes)", self.method, self.url, names.join(", "))
    }
}

/// The request that asks a model and wants its answer as a stream. `payload` is what [`render`](super::super::render) makes for
/// the connection's provider; what the endpoint needs beyond it is added here, where the payload does not say otherwise:
///
/// - `model`, where it is missing, and `stream` (Gemini has both in the address);
/// - OpenAI chat: `stream_options.include_usage`; and, but for OpenAI itself and OpenRouter, `max_tokens` in place of
///   `max_completion_tokens`, which most others do not know. Where a host is known to refuse fields in messages that it does not
///   know, another endpoint's `reasoning_content` and the like stay out;
/// - OpenAI Responses: `store: false`, and for models that reason `include: ["reasoning.encrypted_content"]`, so that their
///   reasoning can go back to them though nothing is kept at OpenAI;
/// - Ollama: `options.num_ctx`, where the connection says how long the context is.
pub fn request(connection: &Connection, payload: &Value) -> HttpRequest {
    let mut body = payload.as_object().cloned().unwrap_or_default();
    let provider = connection.provider;
    if provider == Provider::Gemini {
        let model = connection.model.strip_prefix("models/").unwrap_or(&connection.model);
        for name in ["model", "stream"] {
            body.shift_remove(name);
        }
        let path = ["/models/", model, ":streamGenerateContent"].concat();
        return post(connection, &path, "alt=sse", body);
    }
    or_put(&mut body, "model", Value::String(connection.model.clone()));
    put(&mut body, "stream", Value::Bool(true));
    let path = match provider {
        Provider::OpenAiChat => {
            chat(connection, &mut body);
            "/chat/completions"
        }
        Provider::OpenAiResponses => {
            or_put(&mut body, "store", Value::Bool(false));
            if reasons(&connection.model) {
                or_put(&mut body, "include", Value::Array(vec!["reasoning.encrypted_content".into()]));
            }
            "/responses"
        }
        Provider::Anthropic => "/v1/messages",
        Provider::Ollama | Provider::Gemini => {
            context(connection, &mut body);
            "/api/chat"
        }
    };
    post(connection, path, "", body)
}

/// What OpenAI chat needs.
fn chat(connection: &Connection, body: &mut Map<String, Value>) {
    let address = connection.address();
    let is_at = |domains: &[&str]| domains.iter().any(|domain| address.is_some_and(|at| at.is_under(domain)));
    // Mistral reports usage anyway, and refuses fields that it does not know.
    if !is_at(&["mistral.ai"]) {
        or_put(body, "stream_options", object(&[], "include_usage", Value::Bool(true)));
    }
    if !is_at(&["openai.com", "azure.com", "openrouter.ai"])
        && let Some(most) = body.shift_remove("max_completion_tokens")
    {
        or_put(body, "max_tokens", most);
    }
    if is_at(&["openai.com", "azure.com", "groq.com", "mistral.ai", "cerebras.ai"])
        && let Some(Value::Array(messages)) = body.get_mut("messages")
    {
        for message in messages.iter_mut().filter_map(Value::as_object_mut) {
            for name in ["reasoning_content", "reasoning", "reasoning_details"] {
                message.shift_remove(name);
            }
        }
    }
}

/// Ollama loads models with a short context unless it is told otherwise, and forgets the beginning of what is longer without a word.
fn context(connection: &Connection, body: &mut Map<String, Value>) {
    let Some(tokens) = connection.max_context_tokens else { return };
    or_put(body, "options", Value::Object(Map::new()));
    if let Some(Value::Object(options)) = body.get_mut("options") {
        or_put(options, "num_ctx", tokens.into());
    }
}

/// Whether a model of OpenAI's is one that reasons. Others refuse to be asked for encrypted reasoning.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default();
    let mut letters = name.bytes();
    let o_series = letters.next() == Some(b'o') && letters.next().is_some_and(|byte| byte.is_ascii_digit());
    let newer = name.strip_prefix("gpt-").and_then(|rest| rest.bytes().next()).is_some_and(|byte| byte >= b'5');
    (o_series || newer || name.starts_with("codex")) && !name.contains("-chat")
}

fn or_put(body: &mut Map<String, Value>, name: &str, value: Value) {
    if body.get(name).is_none_or(Value::is_null) {
        put(body, name, value);
    }
}

fn post(connection: &Connection, path: &str, query: &str, body: Map<String, Value>) -> HttpRequest {
    HttpRequest {
        method: "POST",
        url: url(connection, path, query),
        headers: headers(connection, true),
        body: Some(Value::Object(body).to_string()),
    }
}

/// The address of one of a provider's paths. People write the base with and without the version, and sometimes the whole path.
pub(super) fn url(connection: &Connection, path: &str, query: &str) -> String {
    let (base, own_query) = connection.base_url.split_once('?').unwrap_or((&connection.base_url, ""));
    let mut base = base.trim_end_matches('/');
    for end in ["/chat/completions", "/responses", "/messages", "/api/chat", "/models"] {
        base = base.strip_suffix(end).unwrap_or(base);
    }
    let bare = connection.address().is_some_and(|address| address.path.is_empty());
    let version = match connection.provider {
        Provider::Anthropic => {
            base = base.strip_suffix("/v1").unwrap_or(base);
            ""
        }
        Provider::Ollama => {
            base = base.strip_suffix("/v1").or(base.strip_suffix("/api")).unwrap_or(base);
            ""
        }
        Provider::Gemini if bare => "/v1beta",
        Provider::OpenAiChat | Provider::OpenAiResponses if bare => "/v1",
        _ => "",
    };
    let queries: Vec<&str> = [own_query, query].into_iter().filter(|query| !query.is_empty()).collect();
    let mark = if queries.is_empty() { "" } else { "?" };
    [base, version, path, mark, &queries.join("&")].concat()
}

/// The headers of a request.
pub(super) fn headers(connection: &Connection, body: bool) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: &str| {
        match headers.iter_mut().find(|(given, _)| given == name) {
            Some((_, given)) => value.clone_into(given),
            None => headers.push((name.to_owned(), value.to_owned())),
        };
    };
    if body {
        add("content-type", "application/json");
    }
    let key = connection.api_key.as_ref().map(Key::reveal);
    match (connection.provider, key) {
        (Provider::Anthropic, key) => {
            if let Some(key) = key {
                add("x-api-key", key);
            }
            add("anthropic-version", "2023-06-01");
            // Others that speak Anthropic's form may not let pages send a header that they do not know.
            if connection.address().is_some_and(|address| address.is_under("anthropic.com")) {
                add("anthropic-dangerous-direct-browser-access", "true");
            }
        }
        (Provider::Gemini, Some(key)) => add("x-goog-api-key", key),
        (_, Some(key)) => add("authorization", &["Bearer ", key].concat()),
        (_, None) => {}
    }
    for (name, value) in &connection.headers {
        add(name, value);
    }
    headers
}

/// The text of a field that may be a number, for messages.
pub(super) fn plain(value: &Value, name: &str) -> String {
    match value.get(name) {
        Some(Value::Number(number)) => number.to_string(),
        _ => string(value, name).unwrap_or_default().to_owned(),
    }
}
