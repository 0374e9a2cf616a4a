//! Requests: what is sent to a provider for a payload.

use serde_json::Value;

use super::super::Provider;
use super::super::json::string;
use super::connection::{Connection, Key};
use super::dialect::Dialect;

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
/// the connection's provider; what the endpoint needs beyond it is its [`Dialect`]'s.
pub fn request(connection: &Connection, payload: &Value) -> HttpRequest {
    let body = Dialect::of(connection).body(payload);
    let (path, query) = match connection.provider {
        Provider::OpenAiChat => ("/chat/completions".to_owned(), ""),
        Provider::OpenAiResponses => ("/responses".to_owned(), ""),
        Provider::Anthropic => ("/v1/messages".to_owned(), ""),
        Provider::Ollama => ("/api/chat".to_owned(), ""),
        Provider::Gemini => {
            let model = connection.model.strip_prefix("models/").unwrap_or(&connection.model);
            (["/models/", model, ":streamGenerateContent"].concat(), "alt=sse")
        }
    };
    HttpRequest {
        method: "POST",
        url: url(connection, &path, query),
        headers: headers(connection, true),
        body: Some(body.to_string()),
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
