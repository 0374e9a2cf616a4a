//! Tool schemas in Gemini's subset.

use serde_json::{Value, json};
use threadkeep_provider::Provider::Gemini;
use threadkeep_provider::{RenderOptions, ToolSchema};

use crate::support::rendered;

/// What becomes of the schema of one parameter; `reduced` where something was left out.
fn check(given: Value, expected: Value, reduced: bool) {
    let parameters = json!({"type": "object", "properties": {"a": given}});
    let (schema, noted) = whole(parameters);
    assert_eq!(schema["properties"]["a"], expected);
    assert_eq!(noted, reduced, "{expected}");
}

fn whole(parameters: Value) -> (Value, bool) {
    let tool = ToolSchema { name: "f".into(), description: None, parameters, strict: None };
    let options = RenderOptions { tools: vec![tool], ..RenderOptions::default() };
    // Which checks that the validator finds nothing that Gemini does not know.
    let rendered = rendered(json!([{"role": "user", "content": "u"}]), Gemini, &options);
    let schema = rendered.payload["tools"][0]["functionDeclarations"][0]["parameters"].clone();
    (schema, rendered.notes.iter().any(|note| note.rule.name() == "reduced-schema"))
}

#[test]
fn types_and_their_keywords() {
    check(
        json!({"type": "string", "description": "d", "minLength": 1}),
        json!({"type": "STRING", "description": "d", "minLength": "1"}),
        false,
    );
    check(
        json!({"type": "integer", "minimum": 0, "exclusiveMaximum": 9}),
        json!({"type": "INTEGER", "minimum": 0}),
        true,
    );
    check(json!({"type": "string", "format": "date-time"}), json!({"type": "STRING", "format": "date-time"}), false);
    check(json!({"type": "string", "format": "uri"}), json!({"type": "STRING"}), true);
    check(json!({"type": ["string", "null"]}), json!({"nullable": true, "type": "STRING"}), false);
    check(json!({"type": ["string", "integer"]}), json!({"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}), false);
    check(json!({"enum": ["x", "y"]}), json!({"enum": ["x", "y"], "type": "STRING"}), false);
    check(json!({"const": "x"}), json!({"enum": ["x"], "type": "STRING"}), false);
    check(json!({"type": "integer", "enum": [1, 2]}), json!({"type": "INTEGER"}), true);
    check(json!({"type": "array"}), json!({"type": "ARRAY", "items": {"type": "STRING"}}), false);
    check(
        json!({"type": "array", "items": {"type": "number"}, "uniqueItems": true}),
        json!({"type": "ARRAY", "items": {"type": "NUMBER"}}),
        true,
    );
    check(json!({"type": "object", "additionalProperties": false}), json!({"type": "OBJECT"}), true);
    check(
        json!({"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b", "c"]}),
        json!({"type": "OBJECT", "properties": {"b": {"type": "BOOLEAN"}}, "required": ["b"]}),
        true,
    );
    check(json!(true), json!({"type": "OBJECT"}), true);
    check(json!({}), json!({"type": "OBJECT"}), false);
}

#[test]
fn alternatives() {
    check(
        json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        json!({"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]}),
        false,
    );
    check(
        json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}),
        json!({"nullable": true, "type": "STRING", "default": null}),
        false,
    );
    check(json!({"allOf": [{"type": "string", "title": "t"}]}), json!({"type": "STRING", "title": "t"}), false);
    check(
        json!({"type": "array", "items": [{"type": "string"}, {"type": "number"}]}),
        json!({"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]}}),
        true,
    );
}

#[test]
fn references_are_followed_and_circles_end() {
    let (schema, reduced) =
        whole(json!({"$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
        "type": "object", "properties": {"at": {"$ref": "#/$defs/point"}}}));
    let point = json!({"type": "OBJECT", "properties": {"x": {"type": "NUMBER"}}});
    assert_eq!(schema, json!({"type": "OBJECT", "properties": {"at": point}}));
    assert!(!reduced);
    let (schema, reduced) = whole(json!({"type": "object", "properties": {"next": {"$ref": "#"}}}));
    assert!(reduced);
    assert!(schema.to_string().len() < 1000);
    let (_, reduced) = whole(json!({"type": "object", "properties": {"x": {"$ref": "https://x.example/s"}}}));
    assert!(reduced);
}

#[test]
fn a_tool_without_parameters_has_none() {
    assert_eq!(whole(json!(null)), (Value::Null, false));
    assert_eq!(whole(json!({"type": "object", "properties": {}})), (Value::Null, false));
}
