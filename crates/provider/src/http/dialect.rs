//! Dialects: what an endpoint wants in a request's body beyond what its provider's form says. Plain data, so that the body of a request can
//! be made again where the connection is not known.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::Provider;
use super::super::json::{object, put};
use super::address::Address;
use super::connection::Connection;

/// What an endpoint wants in the body of a request that asks for a stream:
///
/// - `model`, where it is missing, and `stream` (Gemini has both in the address);
/// - OpenAI chat: `stream_options.include_usage`; and, but for OpenAI itself and OpenRouter, `max_tokens` in place of
///   `max_completion_tokens`, which most others do not know. Where a host is known to refuse fields in messages that it does not
///   know, another endpoint's `reasoning_content` and the like stay out;
/// - OpenAI Responses: `store: false`, and for models that reason `include: ["reasoning.encrypted_content"]`, so that their
///   reasoning can go back to them though nothing is kept at OpenAI;
/// - Ollama: `options.num_ctx`, where the connection says how long the context is.
///
/// ```
/// use threadkeep_provider::{Dialect, Provider};
/// let dialect = Dialect { provider: Provider::OpenAiChat, model: "m".into(), usage: true, ..Dialect::default() };
/// let body = dialect.body(&serde_json::json!({"messages": []}));
/// assert_eq!(body.to_string(), r#"{"messages":[],"model":"m","stream":true,"stream_options":{"include_usage":true}}"#);
/// assert_eq!(dialect.body(&body), body, "saying it twice changes nothing");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Dialect {
    /// Whose form the body has.
    pub provider: Provider,
    /// The model that is asked.
    pub model: String,
    /// OpenAI chat: usage has to be asked for.
    pub usage: bool,
    /// OpenAI chat: the limit of the answer is called `max_tokens`.
    pub max_tokens: bool,
    /// OpenAI chat: reasoning in messages is refused.
    pub no_reasoning: bool,
    /// OpenAI Responses: encrypted reasoning has to be asked for.
    pub encrypted: bool,
    /// Ollama: how long a context the model is loaded with, in tokens.
    pub context_tokens: Option<u64>,
}

impl Dialect {
    /// That of the endpoint of a connection.
    pub fn of(connection: &Connection) -> Self {
        Self::at(connection.provider, &connection.base_url, &connection.model, connection.max_context_tokens)
    }

    /// That of the endpoint at an address, for a model whose context is so long, if that was said.
    pub fn at(provider: Provider, base_url: &str, model: &str, max_context_tokens: Option<u64>) -> Self {
        let address = Address::read(base_url.trim());
        let is_at = |domains: &[&str]| domains.iter().any(|domain| address.is_some_and(|at| at.is_under(domain)));
        let chat = provider == Provider::OpenAiChat;
        Self {
            provider,
            model: model.to_owned(),
            // Mistral reports usage anyway, and refuses fields that it does not know.
            usage: chat && !is_at(&["mistral.ai"]),
            max_tokens: chat && !is_at(&["openai.com", "azure.com", "openrouter.ai"]),
            no_reasoning: chat && is_at(&["openai.com", "azure.com", "groq.com", "mistral.ai", "cerebras.ai"]),
            encrypted: provider == Provider::OpenAiResponses && reasons(model),
            context_tokens: max_context_tokens.filter(|_| provider == Provider::Ollama),
        }
    }

    /// The body of a request for a payload. What the payload says itself stays.
    pub fn body(&self, payload: &Value) -> Value {
        let mut body = payload.as_object().cloned().unwrap_or_default();
        if self.provider == Provider::Gemini {
            for name in ["model", "stream"] {
                body.shift_remove(name);
            }
            return Value::Object(body);
        }
        or_put(&mut body, "model", Value::String(self.model.clone()));
        put(&mut body, "stream", Value::Bool(true));
        match self.provider {
            Provider::OpenAiChat => self.chat(&mut body),
            Provider::OpenAiResponses => {
                or_put(&mut body, "store", Value::Bool(false));
                if self.encrypted {
                    or_put(&mut body, "include", Value::Array(vec!["reasoning.encrypted_content".into()]));
                }
            }
            Provider::Ollama => self.context(&mut body),
            Provider::Anthropic | Provider::Gemini => {}
        }
        Value::Object(body)
    }

    fn chat(&self, body: &mut Map<String, Value>) {
        if self.usage {
            or_put(body, "stream_options", object(&[], "include_usage", Value::Bool(true)));
        }
        if self.max_tokens
            && let Some(most) = body.shift_remove("max_completion_tokens")
        {
            or_put(body, "max_tokens", most);
        }
        if self.no_reasoning
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
    fn context(&self, body: &mut Map<String, Value>) {
        let Some(tokens) = self.context_tokens else { return };
        or_put(body, "options", Value::Object(Map::new()));
        if let Some(Value::Object(options)) = body.get_mut("options") {
            or_put(options, "num_ctx", tokens.into());
        }
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
