//! A connection, as a person or a host writes it down.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use threadkeep_core::read::{self, BadRequest, bad, maybe_above_0, object};

use super::super::{AnswerLimits, Provider};
use super::address::Address;

/// A key for a provider. It is shown nowhere: neither by `Debug` nor in errors.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

threadkeep_core::in_typescript!(Key, "string");

impl Key {
    /// A key without the white space around it, which comes with copying.
    ///
    /// # Errors
    /// It is empty, or has characters that cannot stand in a header.
    pub fn new(key: &str) -> Result<Self, BadRequest> {
        let key = key.trim();
        if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(key.to_owned()))
        } else {
            bad("apiKey", "must be printable ASCII characters without white space")
        }
    }

    /// The key itself, for a header.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// How to ask a model: where it is, how it is spoken to, and with which key.
///
/// ```
/// use threadkeep_provider::Connection;
/// let connection = Connection::from_json(&serde_json::json!({
///     "provider": "openai-chat", "baseUrl": "http://localhost:11434/v1", "model": "qwen3", "apiKey": "secret-1"
/// }))?;
/// assert_eq!(connection.label(), "Ollama (localhost:11434)");
/// assert!(!format!("{connection:?}").contains("secret-1"));
/// # Ok::<(), threadkeep_core::read::BadRequest>(())
/// ```
#[derive(Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Connection {
    /// What the host calls it by.
    #[cfg_attr(feature = "ts", ts(skip))]
    pub id: Option<String>,
    /// What to call it in messages.
    #[serde(default, deserialize_with = "name")]
    pub name: Option<String>,
    /// Whose form it speaks. Everything that is compatible with OpenAI's chat is `openai-chat`: Ollama, llama.cpp, vLLM, LM Studio,
    /// OpenRouter.
    #[cfg_attr(feature = "ts", ts(type = "P"))]
    pub provider: Provider,
    /// The address below which the provider's paths lie, such as `https://api.openai.com/v1` or `http://localhost:11434/v1`.
    #[serde(deserialize_with = "address")]
    pub base_url: String,
    /// The model's name there; empty while none is chosen.
    #[serde(deserialize_with = "model")]
    pub model: String,
    /// The key, where one is needed. It is in memory alone, and in no error.
    #[serde(default, deserialize_with = "key")]
    pub api_key: Option<Key>,
    /// Further headers of each request; they take the place of ours of the same name.
    #[serde(default, deserialize_with = "headers")]
    #[cfg_attr(feature = "ts", ts(as = "Option<Headers>"))]
    pub headers: Vec<(String, String)>,
    /// The model's context, in tokens, where it is no known one.
    #[serde(default, deserialize_with = "maybe_above_0")]
    pub max_context_tokens: Option<u64>,
    /// The most tokens of an answer.
    #[serde(default, deserialize_with = "maybe_above_0")]
    pub max_output_tokens: Option<u64>,
    /// How long nothing of an answer may be heard, before its beginning and within it, in milliseconds, from 1; 60,000 without it.
    /// Comments that only keep the connection open do not count.
    #[serde(default, deserialize_with = "maybe_above_0")]
    pub timeout_ms: Option<u32>,
    /// How large an answer may become, and how long it may take.
    #[serde(default, deserialize_with = "object")]
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub limits: AnswerLimits,
}

impl Connection {
    /// How long nothing may be heard where nobody says, in milliseconds.
    pub const TIMEOUT_MS: u32 = 60_000;

    /// Reads a connection. An empty key is none.
    ///
    /// # Errors
    /// A field is missing, of another type, or not known. The error names the field and never what was in it.
    pub fn from_json(value: &Value) -> Result<Self, BadRequest> {
        read::options(&value.to_string(), "connection")
    }

    /// The same as JSON without the key and the values of headers, which may be keys too: for showing and for exports.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut text = |name: &str, value: &Option<String>| {
            if let Some(value) = value {
                map.insert(name.to_owned(), Value::String(value.clone()));
            }
        };
        text("id", &self.id);
        text("name", &self.name);
        text("provider", &Some(self.provider.name().to_owned()));
        text("baseUrl", &Some(self.base_url.clone()));
        text("model", &Some(self.model.clone()));
        let numbers = [
            ("maxContextTokens", self.max_context_tokens),
            ("maxOutputTokens", self.max_output_tokens),
            ("timeoutMs", self.timeout_ms.map(u64::from)),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                map.insert(name.to_owned(), number.into());
            }
        }
        Value::Object(map)
    }

    /// Whether it is on this machine.
    pub fn is_local(&self) -> bool {
        self.address().is_some_and(|address| address.is_local())
    }

    /// `scheme://host:port`, for messages, and to see whether anyone is there.
    pub fn origin(&self) -> String {
        self.address().map_or_else(String::new, |address| address.origin())
    }

    /// Takes the key and the values of headers out of a text that a server wrote: some repeat what they were sent.
    pub fn scrubbed(&self, mut text: String) -> String {
        let key = self.api_key.as_ref().map(Key::reveal);
        let values = self.headers.iter().map(|(_, value)| value.as_str());
        for secret in values.chain(key).filter(|secret| secret.len() >= 4) {
            let bare = secret.strip_prefix("Bearer ").unwrap_or(secret);
            if text.contains(bare) {
                text = text.replace(bare, "…");
            }
        }
        text
    }

    pub(super) fn authority(&self) -> &str {
        self.address().map_or("", |address| address.authority)
    }

    pub(super) fn address(&self) -> Option<Address<'_>> {
        Address::read(&self.base_url)
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // By hand, since headers hold keys too.
        write!(f, "Connection({})", self.to_json())
    }
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|name| !name.trim().is_empty()))
}

fn model<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|name| name.trim().to_owned())
}

fn key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Key>, D::Error> {
    let key = Option::<String>::deserialize(deserializer)?.filter(|key| !key.trim().is_empty());
    key.map(|key| Key::new(&key).map_err(|wrong| D::Error::custom(wrong.why))).transpose()
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let url = String::deserialize(deserializer)?.trim().trim_end_matches('/').to_owned();
    let Some(address) = Address::read(&url) else {
        let expected = "must be an address that begins with http:// or https://, without a name or password in it";
        return Err(D::Error::custom(expected));
    };
    // A key in an address ends up in logs.
    let secret = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        ["key", "token", "secret", "password"].iter().any(|word| name.contains(word))
    };
    match address.query.split('&').any(secret) {
        true => Err(D::Error::custom("must be without a key in it: keys belong into apiKey or headers")),
        false => Ok(url),
    }
}

/// The value of a header.
struct Line(String);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let text = text.trim();
        match text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
            true => Ok(Self(text.to_owned())),
            false => Err(D::Error::custom("must be a line of printable ASCII characters")),
        }
    }
}

/// Headers, in their order.
struct Headers(Vec<(String, String)>);

threadkeep_core::in_typescript!(Headers, "Readonly<Record<string, string>>");

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lines;
        impl<'de> Visitor<'de> for Lines {
            type Value = Headers;

            fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
                words.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
                let mut headers = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name.is_empty() || !name.bytes().all(plain) {
                        return Err(A::Error::custom("must be an object whose names are names of headers"));
                    }
                    let Line(value) = map.next_value()?;
                    headers.push((name.to_ascii_lowercase(), value));
                }
                Ok(Headers(headers))
            }
        }
        deserializer.deserialize_map(Lines)
    }
}

fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map_or_else(Vec::new, |Headers(headers)| headers))
}
