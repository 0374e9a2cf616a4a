//! What one can ask of rendering, and reading that from JSON.

use serde_json::{Map, Value};

use super::ProviderError;

/// How messages are rendered.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase", optional_fields))]
pub struct RenderOptions {
    /// The model's name. Without one the payload has no `model`, which every provider but Gemini wants in the body.
    pub model: Option<String>,
    /// How many tokens the answer may take. Anthropic requires it, and gets 4,096 without one.
    pub max_output_tokens: Option<u64>,
    /// The tools that the model may call.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub tools: Vec<ToolSchema>,
    /// Whether the answer shall come as a stream; without it, the payload does not say. Gemini decides it by the address.
    pub stream: Option<bool>,
    /// Whether reasoning and the provider's own items go along (they do by default). Without them, everything is written anew
    /// from what the messages say.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub reasoning: bool,
    /// Whether a prompt for Anthropic or Gemini may end with the assistant, for the model to go on from there. Many models
    /// refuse that, so by default a user message is put at the end.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub prefill: bool,
    /// For Gemini: the form of the SDK's `generateContent` arguments (`model`, `contents`, `config`) instead of the request
    /// body's. The others are the same in both.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub sdk: bool,
}

impl RenderOptions {
    /// What Anthropic's `max_tokens` is where nobody says.
    pub const MAX_TOKENS: u64 = 4096;
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            model: None,
            max_output_tokens: None,
            tools: Vec::new(),
            stream: None,
            reasoning: true,
            prefill: false,
            sdk: false,
        }
    }
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: Option<String>,
    /// The JSON Schema of its arguments: an object's. [`Value::Null`] for none.
    pub parameters: Value,
    /// Whether OpenAI and Anthropic shall hold the model to the schema; without it, their default (for OpenAI Responses
    /// `false`, since its own default rewrites schemas).
    pub strict: Option<bool>,
}

threadkeep_core::in_typescript!(ToolSchema, "ToolSchema");

impl ToolSchema {
    /// It as `{name, description, parameters}`, which [`ToolSchema::from_json`] reads.
    pub fn to_json(&self) -> Value {
        let fields = [
            ("name", self.name.as_str().into()),
            ("description", self.description.as_deref().into()),
            ("parameters", self.parameters.clone()),
        ];
        Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
    }

    /// Reads `{name, description?, parameters?, strict?}`, bare or as OpenAI's `{type: "function", function: {…}}`;
    /// Anthropic's and MCP's names for the parameters (`input_schema`, `inputSchema`) are known too.
    ///
    /// # Errors
    /// [`ProviderError::Option`] for anything else; `at` is the tool's place in its list.
    pub fn from_json(value: &Value, at: usize) -> Result<Self, ProviderError> {
        let wrong = |expected| ProviderError::Option { option: ["tools[", &at.to_string(), "]"].concat(), expected };
        let mut map = value.as_object().ok_or_else(|| wrong("an object"))?;
        if map.get("type").and_then(Value::as_str) == Some("function")
            && let Some(inner) = map.get("function").and_then(Value::as_object)
        {
            map = inner;
        }
        let mut tool = Self { name: String::new(), description: None, parameters: Value::Null, strict: None };
        for (name, value) in map {
            match (name.as_str(), value) {
                ("name", Value::String(name)) => tool.name.clone_from(name),
                ("description", Value::String(text)) => tool.description = Some(text.clone()),
                ("parameters" | "input_schema" | "inputSchema", Value::Object(_)) => tool.parameters = value.clone(),
                ("strict", Value::Bool(strict)) => tool.strict = Some(*strict),
                ("type", Value::String(kind)) if kind == "function" || kind == "custom" => {}
                ("description" | "parameters" | "input_schema" | "inputSchema" | "strict", Value::Null) => {}
                _ => return Err(wrong("{ name, description?, parameters?, strict? }, the parameters a JSON Schema")),
            }
        }
        if tool.name.is_empty() { Err(wrong("named")) } else { Ok(tool) }
    }
}

impl RenderOptions {
    /// Reads `{model?, maxOutputTokens?, tools?, stream?, reasoning?, prefill?, sdk?}`; null is nothing given.
    ///
    /// # Errors
    /// [`ProviderError::UnknownOption`] for another name, [`ProviderError::Option`] for another type.
    pub fn from_json(value: &Value) -> Result<Self, ProviderError> {
        let empty = Map::new();
        let map = match value {
            Value::Null => &empty,
            Value::Object(map) => map,
            _ => return Err(ProviderError::Option { option: "options".to_owned(), expected: "an object" }),
        };
        let mut options = Self::default();
        for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let wrong = |expected| ProviderError::Option { option: name.clone(), expected };
            let flag = || value.as_bool().ok_or_else(|| wrong("true or false"));
            match name.as_str() {
                "model" => options.model = Some(value.as_str().ok_or_else(|| wrong("text"))?.to_owned()),
                "maxOutputTokens" => {
                    options.max_output_tokens = Some(value.as_u64().ok_or_else(|| wrong("a whole number from 0 on"))?);
                }
                "stream" => options.stream = Some(flag()?),
                "reasoning" => options.reasoning = flag()?,
                "prefill" => options.prefill = flag()?,
                "sdk" => options.sdk = flag()?,
                "tools" => {
                    let list = value.as_array().ok_or_else(|| wrong("a list"))?;
                    let tools = list.iter().enumerate().map(|(at, tool)| ToolSchema::from_json(tool, at));
                    options.tools = tools.collect::<Result<_, _>>()?;
                }
                _ => return Err(ProviderError::UnknownOption(name.clone())),
            }
        }
        Ok(options)
    }
}
