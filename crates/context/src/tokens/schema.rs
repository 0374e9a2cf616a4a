//! What tool schemas cost.

use serde_json::Value;

use super::{Counter, Overhead};
use threadkeep_provider::Provider;

/// What one tool takes beside its texts, where its schema goes to the model as JSON.
const TOOL: u32 = 8;

/// The figures of OpenAI's cookbook for GPT-4o.
mod cookbook {
    pub(super) const FUNCTION: u32 = 7;
    pub(super) const PROPERTIES: u32 = 3;
    pub(super) const PROPERTY: u32 = 3;
    pub(super) const ENUM: i32 = -3;
    pub(super) const ITEM: u32 = 3;
}

/// How deep a schema is followed.
const DEEPEST: u32 = 32;

/// Counts tools: JSON objects with a name, a description and a schema, in any provider's form. No tools cost nothing.
///
/// For OpenAI by the rule of its cookbook, carried on into nested objects and lists, of which the cookbook does not speak;
/// for the others by the schema's JSON text and an estimate for what is around it; plus [`Overhead::tools`] once.
pub fn tools_cost(tools: &[Value], provider: Provider, counter: &dyn Counter) -> u32 {
    if tools.is_empty() {
        return 0;
    }
    tools.iter().map(|tool| tool_cost(tool, provider, counter)).fold(Overhead::of(provider).tools, u32::saturating_add)
}

fn tool_cost(tool: &Value, provider: Provider, counter: &dyn Counter) -> u32 {
    if let Some(Value::Array(declarations)) = tool.get("functionDeclarations") {
        return declarations.iter().map(|tool| tool_cost(tool, provider, counter)).fold(0, u32::saturating_add);
    }
    let tool = tool.get("function").unwrap_or(tool);
    let word = |field: &str| tool.get(field).and_then(Value::as_str).unwrap_or_default();
    let (name, description) = (word("name"), word("description"));
    let schema = ["parameters", "input_schema", "parametersJsonSchema"].into_iter().find_map(|field| tool.get(field));
    match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses => {
            let line = [name, ":", without_stop(description)].concat();
            let properties = schema.map_or(0, |schema| properties(schema, counter, 0));
            cookbook::FUNCTION.saturating_add(counter.count(&line)).saturating_add(properties)
        }
        Provider::Anthropic | Provider::Gemini | Provider::Ollama => {
            let schema = schema.map_or(0, |schema| counter.count(&schema.to_string()));
            let words = counter.count(name).saturating_add(counter.count(description));
            TOOL.saturating_add(words).saturating_add(schema)
        }
    }
}

fn properties(schema: &Value, counter: &dyn Counter, depth: u32) -> u32 {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return 0 };
    if properties.is_empty() || depth > DEEPEST {
        return 0;
    }
    let costs = properties.iter().map(|(name, property)| property_cost(name, property, counter, depth));
    costs.fold(cookbook::PROPERTIES, u32::saturating_add)
}

fn property_cost(name: &str, property: &Value, counter: &dyn Counter, depth: u32) -> u32 {
    let word = |field: &str| property.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut sum = 0_u32;
    if let Some(items) = property.get("enum").and_then(Value::as_array) {
        for item in items {
            let tokens = item.as_str().map_or_else(|| counter.count(&item.to_string()), |item| counter.count(item));
            sum = sum.saturating_add(cookbook::ITEM).saturating_add(tokens);
        }
        sum = sum.saturating_add_signed(cookbook::ENUM);
    }
    let line = [name, ":", word("type"), ":", without_stop(word("description"))].concat();
    let inside = [Some(property), property.get("items")];
    let inner = inside.into_iter().flatten().map(|schema| properties(schema, counter, depth + 1));
    inner.fold(sum.saturating_add(cookbook::PROPERTY).saturating_add(counter.count(&line)), u32::saturating_add)
}

/// The description without its full stop, as OpenAI's way of writing tools has it.
fn without_stop(description: &str) -> &str {
    description.strip_suffix('.').unwrap_or(description)
}
