//! The tools on offer: names, that none is there twice, and schemas.

use serde_json::Value;

use super::super::Provider;
use super::super::json::{kind, list, string};
use super::{Report, gemini, is_plain};

/// What Gemini knows of schemas.
const GEMINI: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

#[inline(never)]
pub(super) fn check(payload: &Value, provider: Provider, report: &mut Report) {
    let holder = payload.get("config").filter(|_| provider == Provider::Gemini).unwrap_or(payload);
    match holder.get("tools") {
        None | Some(Value::Null | Value::Array(_)) => {}
        Some(_) => report.all("wrong-type", "tools must be a list"),
    }
    let mut names: Vec<&str> = Vec::new();
    for tool in list(holder, "tools") {
        match provider {
            Provider::Gemini => {
                for declaration in list(tool, "functionDeclarations") {
                    one(declaration, provider, &mut names, report);
                    if let Some(schema) = declaration.get("parameters") {
                        schema_of_gemini(schema, 0, report);
                    }
                }
            }
            // Tools of another type are the provider's own.
            Provider::OpenAiChat | Provider::Ollama if kind(tool) == "function" => {
                one(tool.get("function").unwrap_or(&Value::Null), provider, &mut names, report);
            }
            Provider::OpenAiResponses if kind(tool) == "function" => {
                one(tool, provider, &mut names, report);
                if tool.get("parameters").is_none() {
                    report.all("bad-tool", "a function has parameters, be they null");
                }
            }
            Provider::Anthropic if matches!(kind(tool), "" | "custom") => {
                one(tool, provider, &mut names, report);
                let schema = tool.get("input_schema").unwrap_or(&Value::Null);
                if string(schema, "type") != Some("object") {
                    report.all("bad-schema", "input_schema is a schema of type object");
                } else if ["oneOf", "anyOf", "allOf"].iter().any(|name| schema.get(name).is_some()) {
                    report.all("bad-schema", "input_schema takes no oneOf, anyOf or allOf at its top");
                }
            }
            _ if kind(tool).is_empty() => report.all("bad-tool", "a tool is an object with a type"),
            _ => {}
        }
    }
}

fn one<'a>(tool: &'a Value, provider: Provider, names: &mut Vec<&'a str>, report: &mut Report) {
    let name = string(tool, "name").unwrap_or_default();
    let fits = match provider {
        Provider::OpenAiChat | Provider::OpenAiResponses => is_plain(name, 64),
        Provider::Anthropic => is_plain(name, 128),
        Provider::Gemini => gemini::is_name(name),
        Provider::Ollama => !name.is_empty(),
    };
    if !fits {
        report.all("bad-tool", "a tool's name is missing, too long, or has characters that the provider does not take");
    }
    if names.contains(&name) {
        report.all("repeated-tool", &[name, ": two tools share this name"].concat());
    }
    names.push(name);
}

fn schema_of_gemini(schema: &Value, depth: usize, report: &mut Report) {
    // Deeper than any schema that the API takes.
    if depth > 64 {
        return report.all("bad-schema", "a schema is nested too deeply");
    }
    let Value::Object(map) = schema else { return report.all("bad-schema", "a schema is an object") };
    for (name, value) in map {
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values().for_each(|property| schema_of_gemini(property, depth + 1, report));
            }
            ("items", items) => schema_of_gemini(items, depth + 1, report),
            ("anyOf", Value::Array(list)) => list.iter().for_each(|one| schema_of_gemini(one, depth + 1, report)),
            ("type", Value::String(_)) => {}
            ("type" | "properties" | "anyOf", _) => report.all("bad-schema", "type is one word for Gemini"),
            (name, _) if GEMINI.contains(&name) => {}
            (name, _) => report.all("bad-schema", &[name, ": Gemini knows no such keyword in a schema"].concat()),
        }
    }
}
