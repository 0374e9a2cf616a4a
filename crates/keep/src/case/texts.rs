//! Texts of a case, replaced by texts that say nothing. Marks and spaces stay. Each word becomes letters of the same length in UTF-16, and of
//! as many tokens where there are such letters. So lines, previews and limits in characters stay what they were, and counts nearly so.

use std::collections::HashMap;

use serde_json::{Map, Value};
use threadkeep_context::tokens::Counter;

/// Fields whose strings are no texts: ids, names that link one thing to another, and words of the format.
const KEPT: [&str; 18] = [
    "role",
    "type",
    "id",
    "name",
    "tool_call_id",
    "callId",
    "node",
    "parent",
    "anchor",
    "from",
    "to",
    "code",
    "agent",
    "transcript",
    "origin",
    "strategy",
    "supersededBy",
    "mediaType",
];
/// Options that are texts.
const OPTIONS: [&str; 6] = ["systemPrompt", "persona", "text", "query", "description", "run"];
/// A word of few tokens, and letters of which each takes about one.
const PLAIN: &str = "internationalization";
const DENSE: &str = "q7z9x4j2k8w5";

/// Replaces the texts of a case file.
pub(super) fn replace(case: &mut Value, counter: &dyn Counter) {
    let mut words = Words { counter, known: HashMap::new() };
    let Value::Object(fields) = case else { return };
    for (name, value) in fields.iter_mut() {
        match (name.as_str(), value) {
            ("log", Value::Array(lines)) => lines.iter_mut().for_each(|line| words.line(line)),
            ("episodes" | "facts", value) => words.all(value),
            ("options", value) => words.options(value),
            ("record", Value::Object(record)) => {
                if let Some(made_of) = record.get_mut("madeOf").and_then(Value::as_object_mut) {
                    made_of.shift_remove("memoryText");
                }
            }
            _ => {}
        }
    }
}

struct Words<'a> {
    counter: &'a dyn Counter,
    /// What stands for words: by how long they are, their tokens, and whether a space comes before.
    known: HashMap<(usize, u32, bool), String>,
}

impl Words<'_> {
    fn line(&mut self, line: &mut Value) {
        if let Some(node) = line.get_mut("node").and_then(Value::as_object_mut) {
            // No prompt has them.
            node.shift_remove("labels");
            node.shift_remove("origin");
            node.get_mut("messages").into_iter().for_each(|messages| self.all(messages));
        }
        line.get_mut("checkpoint").into_iter().for_each(|checkpoint| self.all(checkpoint));
    }

    /// All texts of a value.
    fn all(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.all(value)),
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    match value {
                        Value::String(text) if name == "arguments" => *text = self.json(text),
                        Value::String(_) if KEPT.contains(&name.as_str()) => {}
                        // The kind of a fact is one of a few words.
                        Value::String(_) if name == "kind" => {}
                        value => self.all(value),
                    }
                }
            }
            _ => {}
        }
    }

    fn options(&mut self, value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(|value| self.options(value)),
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    if OPTIONS.contains(&name.as_str()) && !matches!(value, Value::Array(_)) {
                        self.all(value);
                    } else {
                        self.options(value);
                    }
                }
            }
            _ => {}
        }
    }

    /// A text that may be the JSON of arguments.
    fn json(&mut self, text: &str) -> String {
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(fields) => {
                let mut value = Value::Object(fields);
                self.all(&mut value);
                value.to_string()
            }
            Err(_) => self.text(text),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let length = rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
            if length == 0 {
                out.push(letter);
                rest = &rest[letter.len_utf8()..];
                continue;
            }
            let word = self.word(&rest[..length], out.ends_with(' '));
            out.push_str(&word);
            rest = &rest[length..];
        }
        out
    }

    fn word(&mut self, word: &str, spaced: bool) -> String {
        let long = word.encode_utf16().count();
        let spell = |word: &str| if spaced { [" ", word].concat() } else { word.to_owned() };
        let tokens = self.counter.count(&spell(word));
        if let Some(known) = self.known.get(&(long, tokens, spaced)) {
            return known.clone();
        }
        let mut best = (u32::MAX, String::new());
        // A long run of letters is no word: a few shares of it are enough to try.
        for plain in (0..=long).rev().step_by((long / 24).max(1)) {
            let letters = PLAIN.chars().cycle().take(plain).chain(DENSE.chars().cycle().take(long - plain));
            let other: String = letters.collect();
            let off = self.counter.count(&spell(&other)).abs_diff(tokens);
            if off < best.0 {
                best = (off, other);
            }
            if off == 0 {
                break;
            }
        }
        self.known.insert((long, tokens, spaced), best.1.clone());
        best.1
    }
}
