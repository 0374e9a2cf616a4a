//! Reads LoCoMo's samples: two people who talk over many sessions, and questions with the turns that hold the answer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use threadkeep_core::Message;

use crate::beam::{Chat, Question};

/// The samples of a file, or of all JSON files of a folder.
pub fn chats(path: &Path) -> Vec<Chat> {
    let mut files: Vec<PathBuf> = vec![path.to_owned()];
    if path.is_dir() {
        files = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "json"));
        files.sort();
    }
    let mut chats = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
        let samples = if let Value::Array(list) = value { list } else { vec![value] };
        let of_form =
            samples.iter().filter(|sample| sample["qa"].is_array() && !sample["haystack_sessions"].is_array());
        chats.extend(of_form.map(|sample| chat(sample, &file.file_stem().unwrap_or_default().to_string_lossy())));
    }
    chats
}

fn chat(sample: &Value, name: &str) -> Chat {
    let talk = if sample["conversation"].is_object() { &sample["conversation"] } else { sample };
    let mut messages = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for number in 1.. {
        let Some(session) = talk.get(format!("session_{number}")) else { break };
        for turn in session.as_array().into_iter().flatten() {
            let text = |name: &str| turn[name].as_str().unwrap_or_default();
            places.insert(text("dia_id"), messages.len());
            // A picture is there by its caption, as a model that reads the chat would have it.
            let caption = match text("blip_caption") {
                "" => String::new(),
                caption => format!(" [{caption}]"),
            };
            let said = format!("{}: {}{caption}", text("speaker"), text("text"));
            // Both are people: nobody is the assistant.
            messages.push(Message::user(said));
        }
    }
    // The fifth category asks what was never said.
    let asked = sample["qa"].as_array().into_iter().flatten().filter(|asked| asked["category"] != 5);
    let question = |asked: &Value| {
        let ids = asked["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let ids = ids.flat_map(|ids| ids.split([' ', ';', ','])).map(str::trim);
        let mut evidence: Vec<usize> = ids.filter_map(|id| places.get(id)).copied().collect();
        evidence.sort_unstable();
        evidence.dedup();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Question { text: text(&asked["question"]), answer: text(&asked["answer"]), evidence }
    };
    let questions = asked.map(question).filter(|question| !question.evidence.is_empty()).collect();
    Chat { name: name.to_owned(), messages, questions }
}
