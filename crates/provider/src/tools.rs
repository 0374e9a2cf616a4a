//! Tool schemas in each provider's form. Gemini takes a subset of OpenAPI's schemas, so a JSON Schema is brought into that;
//! the others take JSON Schema as it is.

use serde_json::{Map, Value};

use super::json::{object, put, text, texts};
use super::note::{NoteRule, Notes};
use super::{Provider, RenderOptions, ToolSchema, ids};

/// How deep references are followed; what is deeper (a schema that contains itself) becomes an object of any shape.
const DEEPEST: usize = 12;

/// The payload's `tools`; `None` for none. Notes bear the index 0, since they belong to no message.
pub(super) fn render(options: &RenderOptions, provider: Provider, notes: &mut Notes) -> Option<Value> {
    let mut names: Vec<String> = Vec::with_capacity(options.tools.len());
    let mut list = Vec::with_capacity(options.tools.len());
    for tool in &options.tools {
        let name = ids::name(&tool.name, provider).unwrap_or_else(|| tool.name.clone());
        if names.contains(&name) {
            notes.add(0, NoteRule::RepeatedTool);
            continue;
        }
        list.push(one(tool, &name, provider, notes));
        names.push(name);
    }
    if list.is_empty() {
        return None;
    }
    let list = Value::Array(list);
    Some(if provider == Provider::Gemini {
        Value::Array(vec![object(&[], "functionDeclarations", list)])
    } else {
        list
    })
}

fn one(tool: &ToolSchema, name: &str, provider: Provider, notes: &mut Notes) -> Value {
    let mut map = Map::new();
    let flat = matches!(provider, Provider::OpenAiResponses);
    if flat {
        put(&mut map, "type", text("function"));
    }
    put(&mut map, "name", text(name));
    if let Some(description) = tool.description.as_ref().filter(|description| !description.is_empty()) {
        put(&mut map, "description", text(description));
    }
    match provider {
        Provider::Gemini => {
            // Gemini refuses an object without properties here; no parameters are no field.
            let mut reader = Reader { root: &tool.parameters, reduced: false };
            let schema = reader.schema(&tool.parameters, 0);
            if schema.get("properties").is_some() {
                put(&mut map, "parameters", schema);
            }
            if reader.reduced {
                notes.add(0, NoteRule::ReducedSchema);
            }
        }
        Provider::Anthropic => {
            let mut schema = parameters(tool);
            // Not at the top, says Anthropic.
            for keyword in ["oneOf", "anyOf", "allOf"] {
                if schema.shift_remove(keyword).is_some() {
                    notes.add(0, NoteRule::ReducedSchema);
                }
            }
            put(&mut map, "input_schema", Value::Object(schema));
        }
        _ => put(&mut map, "parameters", Value::Object(parameters(tool))),
    }
    match (provider, tool.strict) {
        (Provider::OpenAiResponses, strict) => put(&mut map, "strict", Value::Bool(strict.unwrap_or(false))),
        (Provider::OpenAiChat | Provider::Anthropic, Some(strict)) => put(&mut map, "strict", Value::Bool(strict)),
        _ => {}
    }
    if matches!(provider, Provider::OpenAiChat | Provider::Ollama) {
        object(&[("type", "function")], "function", Value::Object(map))
    } else {
        Value::Object(map)
    }
}

/// The schema of a tool's arguments, which is an object's.
fn parameters(tool: &ToolSchema) -> Map<String, Value> {
    let mut schema = Map::new();
    put(&mut schema, "type", text("object"));
    match &tool.parameters {
        Value::Object(given) => {
            for (name, value) in given.iter().filter(|(name, _)| *name != "type") {
                put(&mut schema, name, value.clone());
            }
        }
        _ => put(&mut schema, "properties", Value::Object(Map::new())),
    }
    schema
}

/// Reads a JSON Schema into Gemini's subset.
struct Reader<'a> {
    /// Where references point into.
    root: &'a Value,
    /// Something was left out.
    reduced: bool,
}

impl Reader<'_> {
    fn schema(&mut self, given: &Value, depth: usize) -> Value {
        let mut map = Map::new();
        self.read(given, depth, &mut map);
        if map.get("type").is_none() && map.get("anyOf").is_none() {
            let kind = if map.get("properties").is_some() || map.get("enum").is_none() { "OBJECT" } else { "STRING" };
            put(&mut map, "type", text(kind));
        }
        self.tidy(&mut map);
        Value::Object(map)
    }

    fn read(&mut self, given: &Value, depth: usize, map: &mut Map<String, Value>) {
        let Value::Object(given) = given else {
            // `true` and `false` are schemas too.
            self.reduced |= !given.is_null();
            return;
        };
        if depth > DEEPEST {
            self.reduced = true;
            return;
        }
        for (name, value) in given {
            match (name.as_str(), value) {
                ("title" | "description" | "pattern", Value::String(_))
                | ("minimum" | "maximum", Value::Number(_))
                | ("nullable", Value::Bool(_))
                | ("default" | "example", _) => put(map, name, value.clone()),
                ("format", Value::String(_)) => put(map, name, value.clone()),
                // 64-bit integers are text in Google's JSON.
                (
                    "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties",
                    Value::Number(n),
                ) if n.is_u64() => put(map, name, Value::String(n.to_string())),
                ("type", _) => self.kinds(value, given, depth, map),
                ("enum", Value::Array(values)) => self.values(values, map),
                ("const", value) => self.values(std::slice::from_ref(value), map),
                ("items", _) => {
                    let items = match value {
                        // A list of schemas is a tuple's.
                        Value::Array(list) => self.any(list, depth),
                        one => self.schema(one, depth + 1),
                    };
                    put(map, "items", items);
                }
                ("properties", Value::Object(properties)) => {
                    let mut made = Map::with_capacity(properties.len());
                    for (name, property) in properties {
                        let property = self.schema(property, depth + 1);
                        put(&mut made, name, property);
                    }
                    if !made.is_empty() {
                        put(map, "properties", Value::Object(made));
                    }
                }
                ("required" | "propertyOrdering", Value::Array(_)) => put(map, name, value.clone()),
                ("anyOf" | "oneOf", Value::Array(list)) => self.alternatives(list, depth, map),
                ("allOf", Value::Array(list)) => {
                    for one in list {
                        self.read(one, depth + 1, map);
                    }
                    self.reduced |= list.len() > 1;
                }
                ("$ref", Value::String(reference)) => match reference.strip_prefix('#') {
                    Some(pointer) => match self.root.pointer(pointer) {
                        Some(target) => {
                            let target = target.clone();
                            self.read(&target, depth + 1, map);
                        }
                        None => self.reduced = true,
                    },
                    None => self.reduced = true,
                },
                ("$defs" | "definitions" | "$schema" | "$id" | "$comment", _) => {}
                _ => self.reduced = true,
            }
        }
    }

    /// `type`: one word, or several of which one may be `null`.
    fn kinds(&mut self, value: &Value, given: &Map<String, Value>, depth: usize, map: &mut Map<String, Value>) {
        let one = |word: &str| {
            let words = ["string", "number", "integer", "boolean", "array", "object", "null"];
            words.iter().find(|known| known.eq_ignore_ascii_case(word)).map(|known| known.to_ascii_uppercase())
        };
        let words: Vec<&str> = match value {
            Value::String(word) => vec![word],
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let mut kinds: Vec<String> = words.into_iter().filter_map(one).collect();
        if kinds.len() > 1 {
            let before = kinds.len();
            kinds.retain(|kind| kind != "NULL");
            if kinds.len() < before {
                put(map, "nullable", Value::Bool(true));
            }
        }
        match kinds.as_slice() {
            [] => self.reduced = true,
            [one] => put(map, "type", text(one)),
            several if !given.contains_key("anyOf") && !given.contains_key("oneOf") => {
                let each = |kind: &String| {
                    let mut one = Map::from_iter([("type".to_owned(), text(kind))]);
                    if let ("ARRAY", Some(items)) = (kind.as_str(), given.get("items")) {
                        let items = self.schema(items, depth + 1);
                        put(&mut one, "items", items);
                    }
                    self.tidy(&mut one);
                    Value::Object(one)
                };
                let list = several.iter().map(each).collect();
                put(map, "anyOf", Value::Array(list));
            }
            _ => {}
        }
    }

    /// `enum`: Gemini's are text.
    fn values(&mut self, values: &[Value], map: &mut Map<String, Value>) {
        let some = values.iter().filter(|value| !value.is_null());
        let texts: Vec<Value> = some.clone().filter(|value| value.is_string()).cloned().collect();
        if texts.len() < values.len() && values.iter().any(Value::is_null) {
            put(map, "nullable", Value::Bool(true));
        }
        if texts.len() == some.count() && !texts.is_empty() {
            put(map, "enum", Value::Array(texts));
        } else {
            self.reduced = true;
        }
    }

    /// `anyOf`, and `oneOf` as such; an alternative that is only null makes the rest nullable.
    fn alternatives(&mut self, list: &[Value], depth: usize, map: &mut Map<String, Value>) {
        let null =
            |one: &Value| one.get("type").and_then(Value::as_str).is_some_and(|word| word.eq_ignore_ascii_case("null"));
        let rest: Vec<&Value> = list.iter().filter(|one| !null(one)).collect();
        if rest.len() < list.len() {
            put(map, "nullable", Value::Bool(true));
        }
        match rest.as_slice() {
            [] => {}
            [one] => self.read(one, depth + 1, map),
            several => {
                let list = several.iter().map(|one| self.schema(one, depth + 1)).collect();
                put(map, "anyOf", Value::Array(list));
            }
        }
    }

    fn any(&mut self, list: &[Value], depth: usize) -> Value {
        self.reduced = true;
        let mut map = Map::new();
        self.alternatives(list, depth, &mut map);
        if map.is_empty() {
            put(&mut map, "type", text("STRING"));
        }
        self.tidy(&mut map);
        Value::Object(map)
    }

    /// Takes out what does not go together.
    fn tidy(&mut self, map: &mut Map<String, Value>) {
        let kind = map.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut drop = |map: &mut Map<String, Value>, name: &str| {
            if map.shift_remove(name).is_some() {
                self.reduced = true;
            }
        };
        let formats: &[&str] = match kind.as_str() {
            "STRING" => &["enum", "date-time"],
            "NUMBER" => &["float", "double"],
            "INTEGER" => &["int32", "int64"],
            _ => &[],
        };
        if map.get("format").and_then(Value::as_str).is_some_and(|format| !formats.contains(&format)) {
            drop(map, "format");
        }
        if kind != "STRING" {
            drop(map, "enum");
        }
        if kind == "ARRAY" && map.get("items").is_none() {
            put(map, "items", texts(&[("type", "STRING")]));
        }
        let known = map.get("properties").and_then(Value::as_object).cloned();
        for name in ["required", "propertyOrdering"] {
            let Some(Value::Array(names)) = map.get_mut(name) else { continue };
            let before = names.len();
            let is_known = |name: &str| known.as_ref().is_some_and(|known| known.contains_key(name));
            names.retain(|name| name.as_str().is_some_and(is_known));
            let left = names.len();
            if left == 0 {
                map.shift_remove(name);
            }
            self.reduced |= left < before;
        }
    }
}
