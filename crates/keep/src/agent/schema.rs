//! The arguments of a call, held against the tool's JSON Schema, before the tool is called. What is wrong is said in words that a model
//! can act on. Of JSON Schema it knows what tools use: types, `properties`, `required`, `additionalProperties`, `items`, `enum`, `const`,
//! bounds, `anyOf`, `oneOf` and `allOf`. Other keywords allow everything.

use serde_json::{Map, Value};

/// How many characters of a wrong value are shown.
const SHOWN: usize = 80;

/// The arguments as the schema wants them. Numbers and truth values may come as text, and what may be left out may be null, since
/// models write both.
pub(super) fn fit(arguments: Map<String, Value>, schema: &Value) -> Result<Map<String, Value>, String> {
    match fit_value(Value::Object(arguments), schema, "")? {
        Value::Object(map) => Ok(map),
        _ => Err("the arguments must be a JSON object".to_owned()),
    }
}

fn fit_value(value: Value, schema: &Value, path: &str) -> Result<Value, String> {
    let Some(rules) = schema.as_object() else {
        return if *schema == Value::Bool(false) { Err(wrong(path, "left out", &value)) } else { Ok(value) };
    };
    let mut value = of_type(value, rules, path)?;
    if let Some(allowed) = rules.get("enum").and_then(Value::as_array)
        && !allowed.contains(&value)
    {
        let all: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return Err(wrong(path, &["one of ", &all.join(", ")].concat(), &value));
    }
    if let Some(only) = rules.get("const")
        && *only != value
    {
        return Err(wrong(path, &only.to_string(), &value));
    }
    value = match value {
        Value::Object(map) => Value::Object(object(map, rules, path)?),
        Value::Array(list) => Value::Array(array(list, rules, path)?),
        plain => {
            bounds(&plain, rules, path)?;
            plain
        }
    };
    for part in list(rules, "allOf") {
        value = fit_value(value, part, path)?;
    }
    for name in ["anyOf", "oneOf"] {
        let ways = list(rules, name);
        if ways.is_empty() {
            continue;
        }
        let mut fits = ways.iter().map(|way| fit_value(value.clone(), way, path));
        let first = fits.next();
        value = match first {
            Some(Err(why)) => fits.find_map(Result::ok).ok_or(why)?,
            Some(Ok(fit)) => fit,
            None => value,
        };
    }
    Ok(value)
}

/// The value, if it is of a type that is wanted, or can be read as one.
fn of_type(value: Value, rules: &Map<String, Value>, path: &str) -> Result<Value, String> {
    let types: Vec<&str> = match rules.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(some)) => some.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(value),
    };
    if types.iter().any(|wanted| is(&value, wanted)) {
        return Ok(value);
    }
    if let Value::String(text) = &value
        && let Ok(read) = serde_json::from_str::<Value>(text.trim())
        && (read.is_number() || read.is_boolean())
        && types.iter().any(|wanted| is(&read, wanted))
    {
        return Ok(read);
    }
    let names: Vec<&str> = types.iter().map(|wanted| in_words(wanted)).collect();
    Err(wrong(path, &names.join(" or "), &value))
}

fn is(value: &Value, wanted: &str) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    }
}

fn in_words(wanted: &str) -> &str {
    match wanted {
        "object" => "an object",
        "array" => "a list",
        "string" => "a text",
        "boolean" => "true or false",
        "number" => "a number",
        "integer" => "a whole number",
        other => other,
    }
}

fn object(map: Map<String, Value>, rules: &Map<String, Value>, path: &str) -> Result<Map<String, Value>, String> {
    let empty = Map::new();
    let properties = rules.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = list(rules, "required").iter().filter_map(Value::as_str).collect();
    let missing: Vec<String> =
        required.iter().filter(|name| !map.contains_key(**name)).map(|name| quoted(&at(path, name))).collect();
    match &missing[..] {
        [] => {}
        [one] => return Err(["the argument ", one, " is missing"].concat()),
        some => return Err(["the arguments ", &some.join(", "), " are missing"].concat()),
    }
    let mut fitting = Map::new();
    for (name, value) in map {
        let path = at(path, &name);
        let value = match (properties.get(&name), rules.get("additionalProperties")) {
            // Models fill in what they do not need.
            (Some(rule), _) if value.is_null() && !required.contains(&name.as_str()) => {
                if fit_value(Value::Null, rule, &path).is_err() {
                    continue;
                }
                value
            }
            (Some(rule), _) => fit_value(value, rule, &path)?,
            (None, Some(Value::Bool(false))) => {
                let known: Vec<String> = properties.keys().map(|name| quoted(name)).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(["there is no argument ", &quoted(&path), "; there are: ", &known].concat());
            }
            (None, Some(rule)) => fit_value(value, rule, &path)?,
            (None, None) => value,
        };
        fitting.insert(name, value);
    }
    Ok(fitting)
}

fn array(items: Vec<Value>, rules: &Map<String, Value>, path: &str) -> Result<Vec<Value>, String> {
    let count = items.len() as f64;
    within(count, rules, ("minItems", "maxItems"), path, "items")?;
    let Some(rule) = rules.get("items") else { return Ok(items) };
    let one = |(index, item)| fit_value(item, rule, &format!("{path}[{index}]"));
    items.into_iter().enumerate().map(one).collect()
}

fn bounds(value: &Value, rules: &Map<String, Value>, path: &str) -> Result<(), String> {
    match value {
        Value::String(text) => {
            within(text.chars().count() as f64, rules, ("minLength", "maxLength"), path, "characters")
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            let bound = |name: &str| rules.get(name).and_then(Value::as_f64);
            let low = bound("minimum").is_some_and(|least| number < least)
                || bound("exclusiveMinimum").is_some_and(|least| number <= least);
            let high = bound("maximum").is_some_and(|most| number > most)
                || bound("exclusiveMaximum").is_some_and(|most| number >= most);
            match (low, high) {
                (true, _) => Err(wrong(path, "larger", value)),
                (_, true) => Err(wrong(path, "smaller", value)),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn within(
    count: f64,
    rules: &Map<String, Value>,
    (least, most): (&str, &str),
    path: &str,
    what: &str,
) -> Result<(), String> {
    let bound = |name: &str| rules.get(name).and_then(Value::as_f64);
    if let Some(least) = bound(least).filter(|least| count < *least) {
        return Err(format!("{} has {count} {what}, at least {least} are needed", quoted(path)));
    }
    if let Some(most) = bound(most).filter(|most| count > *most) {
        return Err(format!("{} has {count} {what}, at most {most} are allowed", quoted(path)));
    }
    Ok(())
}

fn list<'a>(rules: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    rules.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn at(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { [path, ".", name].concat() }
}

fn quoted(name: &str) -> String {
    if name.is_empty() { "the arguments".to_owned() } else { ["\"", name, "\""].concat() }
}

fn wrong(path: &str, wanted: &str, value: &Value) -> String {
    let text = value.to_string();
    let shown: String = text.chars().take(SHOWN).collect();
    let dots = if shown.len() < text.len() { "…" } else { "" };
    [&quoted(path), " must be ", wanted, ", it is ", &shown, dots].concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: Value, schema: Value) -> Result<Value, String> {
        fit(arguments.as_object().unwrap().clone(), &schema).map(Value::Object)
    }

    #[test]
    fn what_is_missing_is_named() {
        let schema =
            json!({ "type": "object", "required": ["town", "day"], "properties": { "town": { "type": "string" } } });
        assert_eq!(check(json!({}), schema.clone()), Err("the arguments \"town\", \"day\" are missing".into()));
        assert_eq!(check(json!({ "day": 1 }), schema.clone()), Err("the argument \"town\" is missing".into()));
        assert_eq!(check(json!({ "day": 1, "town": "x" }), schema), Ok(json!({ "day": 1, "town": "x" })));
        let inner = json!({ "properties": { "a": { "type": "object", "required": ["b"] } } });
        assert_eq!(check(json!({ "a": {} }), inner), Err("the argument \"a.b\" is missing".into()));
    }

    #[test]
    fn types_and_bounds_are_held() {
        let of = |rule: Value| json!({ "properties": { "x": rule } });
        for (value, rule, words) in [
            (json!(5), json!({ "type": "string" }), "\"x\" must be a text, it is 5"),
            (json!("five"), json!({ "type": "integer" }), "a whole number"),
            (json!(5.5), json!({ "type": "integer" }), "a whole number"),
            (json!([]), json!({ "type": ["string", "null"] }), "a text or null"),
            (json!("c"), json!({ "enum": ["a", "b"] }), "one of \"a\", \"b\""),
            (json!(1), json!({ "const": 2 }), "must be 2"),
            (json!(0), json!({ "type": "number", "minimum": 1 }), "larger"),
            (json!(9), json!({ "exclusiveMaximum": 9 }), "smaller"),
            (json!(""), json!({ "minLength": 1 }), "at least 1"),
            (json!([1, "a"]), json!({ "items": { "type": "integer" } }), "\"x[1]\" must be"),
            (json!([1, 2]), json!({ "maxItems": 1 }), "at most 1"),
            (json!(true), json!({ "anyOf": [{ "type": "string" }, { "type": "number" }] }), "a text"),
            (
                json!({ "z": 1 }),
                json!({ "type": "object", "additionalProperties": false }),
                "there is no argument \"x.z\"",
            ),
            (json!("word ".repeat(99)), json!({ "type": "object" }), "…"),
        ] {
            let said = check(json!({ "x": value }), of(rule)).unwrap_err();
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn values_come_as_models_write_them() {
        let schema = json!({ "required": ["n"], "properties": {
            "n": { "type": "integer" }, "b": { "type": "boolean" }, "s": { "type": "string" },
            "o": { "oneOf": [{ "type": "string" }, { "type": "array" }] }, "null": { "type": ["string", "null"] },
        } });
        let given = json!({ "n": "5", "b": "true", "s": null, "o": [1], "null": null, "more": {} });
        assert_eq!(check(given, schema), Ok(json!({ "n": 5, "b": true, "o": [1], "null": null, "more": {} })));
        assert_eq!(check(json!({ "x": 1 }), json!({})), Ok(json!({ "x": 1 })));
        assert_eq!(check(json!({ "x": 1 }), Value::Null), Ok(json!({ "x": 1 })));
    }
}
