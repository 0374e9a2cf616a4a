//! `compress_history`: JSON in, JSON out.

use super::*;
use threadkeep_context::compress::{CompressError, compress_history};

fn refused(turns: Value, options: Value, expected: &str) {
    assert_eq!(compress_history(turns, &options).unwrap_err().to_string(), expected);
}

#[test]
fn a_trace_becomes_the_messages_of_the_prompt() {
    let trace = json!([
        {"turn": 1, "program": "(def x (f))\n(println x)", "output": "1\n2", "definitions": [{"name": "x", "value": 1.5}]},
        {"turn": 2, "program": "(oops \"```\")", "status": "error"},
        {"turn": 3, "program": "(return x)", "content": "Done:\n```lisp\n(return x)\n```"}]);
    let result = compress_history(trace.clone(), &json!({"printlnHistoryLimit": 1, "errorWindow": 0})).unwrap();
    let contents: Vec<_> =
        result["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect();
    let expected =
        ["; Defined: x = float\n; Output:\n2", "````lisp\n(oops \"```\")\n````", "Done:\n```lisp\n(return x)\n```"];
    assert_eq!(contents, expected);
    assert_eq!(result["rules"], json!(["compressed-turn", "error-turn", "latest-turn"]));
    let usual = compress_history(trace, &json!(null)).unwrap();
    assert_eq!(usual["rules"], json!(["before-error", "error-turn", "latest-turn"]));
    assert_eq!(
        result["messages"][1]["kind"],
        json!({"type": "code_turn", "turn": 2, "program": "(oops \"```\")", "status": "error"})
    );
}

#[test]
fn messages_come_back_as_they_are() {
    let history =
        json!([user("task"), defines("a"), {"role": "user", "content": null, "x": [1]}, fails(), defines("b")]);
    let result = compress_history(history.clone(), &json!({"errorWindow": 1})).unwrap();
    assert_eq!(result["messages"], history);
    assert_eq!(result["rules"], json!([null, "before-error", null, "error-turn", "latest-turn"]));
    assert!(result.to_string().starts_with(r#"{"messages":[{"role":"user","content":"task"}"#));
    assert!(result.to_string().ends_with(r#"],"rules":[null,"before-error",null,"error-turn","latest-turn"]}"#));
}

#[test]
fn twice_is_once() {
    let trace = json!([{"program": "(def x 1)", "output": ["```lisp\n(def y 1)\n```"]}, {"program": "(def z 1)"}, user("go on")]);
    let once = compress_history(trace, &Value::Null).unwrap();
    let twice = compress_history(once["messages"].clone(), &Value::Null).unwrap();
    assert_eq!(once["messages"], twice["messages"]);
    assert_eq!(twice["rules"], json!([null, "latest-turn", null]));
}

#[test]
fn unknown_options_are_refused() {
    let error = compress_history(json!([]), &json!({"println_history_limit": 3})).unwrap_err();
    assert_eq!(error, CompressError::UnknownOption { name: "println_history_limit".to_owned() });
    assert_eq!(error.to_string(), r#"there is no option "println_history_limit""#);
}

#[test]
fn errors_name_the_place() {
    for (options, place) in [
        (json!({"errorWindow": -1}), "options.errorWindow must be a whole number from zero up"),
        (json!({"printlnHistoryLimit": 1.5}), "options.printlnHistoryLimit must be a whole number from zero up"),
        (json!({"printlnHistoryLimit": null}), "options.printlnHistoryLimit must be a whole number from zero up"),
        (json!([]), "options must be an object"),
    ] {
        refused(json!([]), options, place);
    }
    for (turns, place) in [
        (json!({}), "turns must be a list"),
        (json!([user("x"), 1]), "turns[1] must be an object"),
        (json!([{"turn": 1}]), "turns[0] must be a message with a role, or a turn with a program"),
        (json!([{"program": 1}]), "turns[0].program must be a string"),
        (json!([{"program": "", "content": 1}]), "turns[0].content must be a string"),
        (
            json!([{"program": "", "definitions": [{}]}]),
            "turns[0].definitions[0].name must be a string that is not blank",
        ),
        (json!([{"role": 1}]), "turns[0].role must be a string"),
        (json!([{"role": "user", "content": 1}]), "turns[0].content must be text, null or a list of objects"),
        (
            json!([{"role": "assistant", "kind": {"type": "code_turn", "status": 1}}]),
            r#"turns[0].kind.status must be "ok" or "error""#,
        ),
    ] {
        refused(turns, Value::Null, place);
    }
}
