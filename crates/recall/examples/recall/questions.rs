//! Conversations with questions of which the evidence is known.

use std::path::Path;

use serde_json::Value;
use threadkeep_recall::{Builder, Index, Language, NewDoc, Tuning, words};

/// A message: who speaks (1 the user, 2 the assistant), what, whether another conversation begins, and when, in milliseconds since 1970.
#[derive(Clone)]
pub struct Said {
    pub role: u8,
    pub text: String,
    pub first: bool,
    pub time: i64,
}

/// A question and the places of its evidence.
pub struct Question {
    pub text: String,
    pub evidence: Vec<usize>,
}

/// Messages in order, and questions about them.
pub struct Set {
    pub messages: Vec<Said>,
    pub questions: Vec<Question>,
}

impl Set {
    /// The messages as the engine indexes them, ranked by these figures.
    pub fn index(&self, tuning: Tuning) -> Index {
        let mut builder = Builder::default();
        for (seq, said) in (0u64..).zip(&self.messages) {
            let before = seq.checked_sub(1).filter(|_| !said.first).map(|seq| (seq, 0));
            let Said { role, ref text, time, .. } = *said;
            builder.add(&NewDoc { owner: "t", seq, index: 0, role, kind: 0, time, before, text, names: &[] });
        }
        Index::tuned(vec![builder.finish().into()], tuning)
    }
}

/// The terms of a text in English.
pub fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    words(text, &mut |word| {
        let mut term = String::new();
        Language::English.term(word.text, &mut term);
        found.push(term);
    });
    found
}

/// A conversation of BEAM with the questions that name messages as their evidence.
pub fn beam(folder: &Path, number: u32) -> Option<Set> {
    let read = |what: &str| -> Option<Value> {
        let text = std::fs::read_to_string(folder.join(format!("{number}.{what}.json"))).ok()?;
        serde_json::from_str(&text).ok()
    };
    let (chat, probing) = (read("chat")?, read("probing_questions")?);
    let mut set = Set { messages: Vec::new(), questions: Vec::new() };
    let mut ids = Vec::new();
    for batch in chat.as_array()? {
        for message in batch["turns"].as_array()?.iter().flat_map(|turn| turn.as_array().into_iter().flatten()) {
            let role = if message["role"] == "user" { 1 } else { 2 };
            // The data set's marks of its own bookkeeping are no text.
            let text = message["content"].as_str()?.split("->->").next()?.trim().to_owned();
            ids.push(message["id"].as_u64()?);
            set.messages.push(Said { role, text, first: ids.len() == 1, time: 0 });
        }
    }
    for question in probing.as_object()?.values().flat_map(|kind| kind.as_array().into_iter().flatten()) {
        let mut evidence = Vec::new();
        collect(&question["source_chat_ids"], &mut evidence);
        let mut evidence: Vec<usize> =
            evidence.iter().filter_map(|id| ids.iter().position(|known| known == id)).collect();
        evidence.sort_unstable();
        evidence.dedup();
        if let Some(text) = question["question"].as_str().filter(|_| !evidence.is_empty()) {
            set.questions.push(Question { text: text.to_owned(), evidence });
        }
    }
    Some(set)
}

/// All numbers in a value, which is a list, or lists by name.
fn collect(value: &Value, ids: &mut Vec<u64>) {
    match value {
        Value::Number(_) => ids.extend(value.as_u64()),
        Value::Array(list) => list.iter().for_each(|value| collect(value, ids)),
        Value::Object(map) => map.values().for_each(|value| collect(value, ids)),
        _ => {}
    }
}

/// The users of BFCL's memory task, each with all that they said: short turns without answers.
pub fn bfcl(data: &Path) -> Vec<Set> {
    let folder = data.join("bfcl-memory");
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let (questions, answers) = (lines("questions_BFCL_v4_memory.jsonl"), lines("answers_BFCL_v4_memory.jsonl"));
    let mut sets = Vec::new();
    for user in ["customer", "finance", "healthcare", "notetaker", "student"] {
        let mut set = Set { messages: Vec::new(), questions: Vec::new() };
        for conversation in lines(&format!("memory_{user}.jsonl")) {
            let turns = conversation["question"].as_array().into_iter().flatten();
            for (at, message) in turns.flat_map(|turn| turn.as_array().into_iter().flatten()).enumerate() {
                let text = message["content"].as_str().unwrap_or_default().to_owned();
                set.messages.push(Said { role: 1, text, first: at == 0, time: 0 });
            }
        }
        for question in questions.iter().filter(|question| question["scenario"] == user) {
            let Some(answer) = answers.iter().find(|answer| answer["id"] == question["id"]) else { continue };
            let pieces: Vec<String> = answer["source"]
                .as_str()
                .unwrap_or_default()
                .split("...")
                .map(plain)
                .filter(|piece| !piece.is_empty())
                .collect();
            let holds = |said: &Said| {
                let text = plain(&said.text);
                !pieces.is_empty() && pieces.iter().all(|piece| text.contains(piece.as_str()))
            };
            let evidence: Vec<usize> =
                set.messages.iter().enumerate().filter(|(_, said)| holds(said)).map(|(at, _)| at).collect();
            if let Some(text) = question["question"][0][0]["content"].as_str().filter(|_| !evidence.is_empty()) {
                set.questions.push(Question { text: text.to_owned(), evidence });
            }
        }
        sets.push(set);
    }
    sets.retain(|set| !set.questions.is_empty());
    sets
}

/// A text in lower case, letters and digits only.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
