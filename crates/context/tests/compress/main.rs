//! History compression from outside: its rules, one test each, the plain-data form, and properties.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod plain;
mod properties;
mod rules;

use serde_json::{Value, json};
use threadkeep_context::compress::{CompressOptions, Verdict, decide};
use threadkeep_core::Message;

/// What becomes of a history that is given as JSON messages.
fn verdicts(history: &[Value], options: CompressOptions) -> Vec<Verdict> {
    let messages: Vec<Message> = history.iter().cloned().map(|value| Message::from_json(value).unwrap()).collect();
    decide(&messages.iter().collect::<Vec<_>>(), &options)
}

/// The prompt's messages as `role: text`, an unchanged code turn as `whole`.
fn prompt(history: &[Value], options: CompressOptions) -> Vec<String> {
    let verdicts = verdicts(history, options);
    let texts = history.iter().zip(verdicts).map(|(value, verdict)| {
        let role = value["role"].as_str().unwrap();
        match verdict.replacement {
            Some(message) => format!("{role}: {}", message.text()),
            None if role == "assistant" && verdict.rule.is_some() => "whole".to_owned(),
            None => format!("{role}: {}", value["content"].as_str().unwrap()),
        }
    });
    texts.collect()
}

/// The rules of the code turns and their feedback.
fn rules(history: &[Value], options: CompressOptions) -> Vec<&'static str> {
    verdicts(history, options).into_iter().filter_map(|verdict| verdict.rule).collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A code turn with these fields.
fn code(program: &str, fields: Value) -> Value {
    let mut kind = json!({"type": "code_turn", "program": program, "status": "ok"});
    kind.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({"role": "assistant", "content": format!("```lisp\n{program}\n```"), "kind": kind})
}

/// A code turn that defines `name`.
fn defines(name: &str) -> Value {
    code(&format!("(def {name} (tool/get))"), json!({"definitions": [{"name": name, "value": 1}]}))
}

/// A code turn that failed.
fn fails() -> Value {
    code("(def broken (oops))", json!({"status": "error"}))
}

/// The summary of an old turn with these fields.
fn summary(program: &str, fields: Value) -> String {
    let prompt = prompt(&[code(program, fields), code("(latest)", json!({}))], CompressOptions::default());
    prompt[0].strip_prefix("assistant: ").unwrap().to_owned()
}
