//! A connection, as a person or a host writes it down.

use serde_json::{Map, Value};
use threadkeep_core::json::{Object, Wrong, wrong};

use super::super::{AnswerLimits, Provider};
use super::address::Address;

/// A key for a provider. It is shown nowhere: neither by `Debug` nor in errors.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key without the white space around it, which comes with copying.
    ///
    /// # Errors
    /// It is empty, or has characters that cannot stand in a header.
    pub fn new(key: &str) -> Result<Self, Wrong> {
        let key = key.trim();
        if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(key.to_owned()))
        } else {
            Err(wrong("apiKey", "printable ASCII characters without white space"))
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
/// let connection = Connection::from_json(serde_json::json!({
///     "provider": "openai-chat", "baseUrl": "http://localhost:11434/v1", "model": "qwen3", "apiKey": "secret-1"
/// }))?;
/// assert_eq!(connection.label(), "Ollama (localhost:11434)");
/// assert!(!format!("{connection:?}").contains("secret-1"));
/// # Ok::<(), threadkeep_core::json::Wrong>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Connection {
    /// What the host calls it by.
    pub id: Option<String>,
    /// What people call it.
    pub name: Option<String>,
    /// The wire form that it speaks.
    pub provider: Provider,
    /// The address up to where the provider's own paths begin, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The model's name; empty while none is chosen.
    pub model: String,
    /// The key, where one is needed.
    pub api_key: Option<Key>,
    /// Further headers; they take the place of ours of the same name.
    pub headers: Vec<(String, String)>,
    /// How many tokens the model's context holds.
    pub max_context_tokens: Option<u64>,
    /// How many tokens an answer may take.
    pub max_output_tokens: Option<u64>,
    /// How long nothing of an answer may be heard, before its beginning and within it, in milliseconds; from 1. Comments that only
    /// keep the connection open are nothing of it.
    pub timeout_ms: Option<u32>,
    /// How large an answer may become, and how long it may take.
    pub limits: AnswerLimits,
}

/// The fields of a connection, as JSON has them.
const FIELDS: &str = "left out: a connection has id, name, provider, baseUrl, model, apiKey, headers, maxContextTokens, \
                      maxOutputTokens, timeoutMs and limits";

impl Connection {
    /// How long nothing may be heard where nobody says, in milliseconds.
    pub const TIMEOUT_MS: u32 = 60_000;

    /// Reads `{id?, name?, provider, baseUrl, model, apiKey?, headers?, maxContextTokens?, maxOutputTokens?, timeoutMs?,
    /// limits?}`, with limits as [`AnswerLimits::from_json`] reads them. An empty key is none.
    ///
    /// # Errors
    /// A field is missing, of another type, or not known. The error names the field and never what was in it.
    pub fn from_json(value: Value) -> Result<Self, Wrong> {
        let mut fields = Object::of(value, "connection")?;
        let provider = fields.text("provider")?;
        let provider = Provider::from_name(&provider)
            .ok_or_else(|| wrong("provider", "openai-chat, openai-responses, anthropic, gemini or ollama"))?;
        let base_url = fields.text("baseUrl")?.trim().trim_end_matches('/').to_owned();
        check_url(&base_url)?;
        let api_key = fields.maybe_text("apiKey")?.filter(|key| !key.trim().is_empty());
        let mut headers = Vec::new();
        for (name, value) in fields.map("headers")? {
            headers.push(header(name, &value)?);
        }
        let above_0 = |fields: &mut Object, name: &str| match fields.maybe_count(name)? {
            Some(0) => Err(wrong(name, "a whole number from 1 on")),
            count => Ok(count),
        };
        let connection = Self {
            id: fields.maybe_text("id")?,
            name: fields.maybe_text("name")?.filter(|name| !name.trim().is_empty()),
            provider,
            base_url,
            model: fields.text("model")?.trim().to_owned(),
            api_key: api_key.as_deref().map(Key::new).transpose()?,
            headers,
            max_context_tokens: above_0(&mut fields, "maxContextTokens")?,
            max_output_tokens: above_0(&mut fields, "maxOutputTokens")?,
            timeout_ms: match fields.maybe_small("timeoutMs")? {
                Some(0) => return Err(wrong("timeoutMs", "a whole number from 1 on")),
                time => time,
            },
            limits: AnswerLimits::from_json(fields.take("limits"))?,
        };
        let known = [
            "id",
            "name",
            "provider",
            "baseUrl",
            "model",
            "apiKey",
            "headers",
            "maxContextTokens",
            "maxOutputTokens",
            "timeoutMs",
            "limits",
        ];
        match fields.rest(&known).into_iter().next() {
            Some((name, _)) => Err(wrong(&name, FIELDS)),
            None => Ok(connection),
        }
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

fn check_url(url: &str) -> Result<(), Wrong> {
    let expected = "an address that begins with http:// or https://, without a name or password in it";
    let address = Address::read(url).ok_or_else(|| wrong("baseUrl", expected))?;
    // A key in an address ends up in logs.
    let secret = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        ["key", "token", "secret", "password"].iter().any(|word| name.contains(word))
    };
    match address.query.split('&').any(secret) {
        true => Err(wrong("baseUrl", "without a key in it: keys belong into apiKey or headers")),
        false => Ok(()),
    }
}

fn header(name: String, value: &Value) -> Result<(String, String), Wrong> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(wrong("headers", "an object whose names are names of headers"));
    }
    match value.as_str().map(str::trim) {
        Some(value) if value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) => {
            Ok((name.to_ascii_lowercase(), value.to_owned()))
        }
        _ => Err(wrong(&["headers.", &name].concat(), "a line of printable ASCII characters")),
    }
}
