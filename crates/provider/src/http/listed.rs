//! Which models an endpoint has.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::Provider;
use super::super::json::{list, string};
use super::connection::Connection;
use super::request::{HttpRequest, headers, url};

/// A model that an endpoint has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ListedModel", rename_all = "camelCase"))]
pub struct Listed {
    /// Its name, as a connection wants it.
    pub id: String,
    /// How many tokens its context holds; `null` where the endpoint does not say.
    pub max_context_tokens: Option<u64>,
    /// How many tokens an answer may take; `null` likewise.
    pub max_output_tokens: Option<u64>,
}

/// The request that asks an endpoint for its models.
pub fn models_request(connection: &Connection) -> HttpRequest {
    let (path, query) = match connection.provider {
        Provider::OpenAiChat | Provider::OpenAiResponses => ("/models", ""),
        Provider::Anthropic => ("/v1/models", "limit=1000"),
        Provider::Gemini => ("/models", "pageSize=1000"),
        Provider::Ollama => ("/api/tags", ""),
    };
    HttpRequest { method: "GET", url: url(connection, path, query), headers: headers(connection, false), body: None }
}

/// Reads the answer: the models that can converse, in the endpoint's order. Anything else gives none.
pub fn read_models(answer: &Value) -> Vec<Listed> {
    let lists = [list(answer, "data"), list(answer, "models"), answer.as_array().map_or(&[], Vec::as_slice)];
    let entries = lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default();
    entries.iter().filter_map(listed).collect()
}

fn listed(entry: &Value) -> Option<Listed> {
    // Gemini lists what embeds and draws too.
    let methods = list(entry, "supportedGenerationMethods");
    if !methods.is_empty() && !methods.iter().any(|method| method == "generateContent") {
        return None;
    }
    let name = ["id", "model", "name"].iter().find_map(|name| string(entry, name)).or(entry.as_str())?;
    let id = name.strip_prefix("models/").unwrap_or(name);
    let count = |names: &[&str]| names.iter().find_map(|name| entry.get(*name)?.as_u64()).filter(|count| *count > 0);
    (!id.is_empty()).then(|| Listed {
        id: id.to_owned(),
        max_context_tokens: count(&[
            "context_length",
            "max_model_len",
            "inputTokenLimit",
            "max_input_tokens",
            "max_context_length",
            "context_window",
        ]),
        max_output_tokens: count(&["outputTokenLimit", "max_output_tokens", "max_tokens"]),
    })
}
