//! Other public sets of conversations with questions, from a file or a folder of JSON that is named: nothing of them is here.
//!
//! Two forms are known, each told by its fields. LoCoMo: a list of samples, or one in each file, with `qa` (`question`, `category`,
//! `evidence` as ids of turns) and `session_1`, `session_2`… (in `conversation` or beside `qa`) of `{speaker, dia_id, text}`.
//! LongMemEval: a list of questions, each with the `haystack_sessions` of `{role, content, has_answer}` that it is asked over.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::questions::{Question, Said, Set};

/// The sets of a file, or of all JSON files of a folder, under the names of their forms. `each` gets one set at a time.
pub fn read(path: &Path, each: &mut dyn FnMut(&'static str, Set)) {
    let mut files: Vec<PathBuf> = vec![path.to_owned()];
    if path.is_dir() {
        files = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "json"));
        files.sort();
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            eprintln!("{}: not JSON", file.display());
            continue;
        };
        drop(text);
        let samples = if let Value::Array(list) = value { list } else { vec![value] };
        for mut sample in samples {
            let sample = sample.take();
            if sample["haystack_sessions"].is_array() {
                each("LongMemEval", long_mem_eval(&sample));
            } else if sample["qa"].is_array() {
                for (name, set) in locomo(&sample) {
                    each(name, set);
                }
            } else {
                eprintln!("{}: neither LoCoMo's form nor LongMemEval's", file.display());
                break;
            }
        }
    }
}

/// A LoCoMo sample: two people who talk, over many sessions. Its fifth category asks what was never said, with the turn that
/// misleads as its evidence: that is a set of its own.
fn locomo(sample: &Value) -> Vec<(&'static str, Set)> {
    let talk = if sample["conversation"].is_object() { &sample["conversation"] } else { sample };
    let mut messages = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for number in 1.. {
        let Some(session) = talk.get(format!("session_{number}")) else { break };
        let time =
            said_at(talk[format!("session_{number}_date_time")].as_str().unwrap_or_default()).unwrap_or_default();
        for (at, turn) in session.as_array().into_iter().flatten().enumerate() {
            let text = |name: &str| turn[name].as_str().unwrap_or_default();
            places.insert(text("dia_id"), messages.len());
            // A picture that was shown is there by its caption, as a model that reads the chat would have it.
            let caption = match text("blip_caption") {
                "" => String::new(),
                caption => format!(" [{caption}]"),
            };
            let text = format!("{}: {}{caption}", text("speaker"), text("text"));
            // Both are people: nobody is the assistant.
            messages.push(Said { role: 1, text, first: at == 0, time: time + 30_000 * at as i64 });
        }
    }
    let mut sets = [("LoCoMo", Vec::new()), ("LoCoMo, what was never said", Vec::new())];
    for asked in sample["qa"].as_array().into_iter().flatten() {
        let ids = asked["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let ids = ids.flat_map(|ids| ids.split([' ', ';', ','])).map(str::trim);
        let mut evidence: Vec<usize> = ids.filter_map(|id| places.get(id)).copied().collect();
        evidence.sort_unstable();
        evidence.dedup();
        if let Some(text) = asked["question"].as_str().filter(|_| !evidence.is_empty()) {
            let set = &mut sets[usize::from(asked["category"] == 5)];
            set.1.push(Question { text: text.to_owned(), evidence });
        }
    }
    let sets = sets.into_iter().filter(|(_, questions)| !questions.is_empty());
    sets.map(|(name, questions)| (name, Set { messages: messages.clone(), questions })).collect()
}

/// What `1:56 pm on 8 May, 2023` is, in milliseconds since 1970.
fn said_at(text: &str) -> Option<i64> {
    let mut words = text.split([' ', ',', ':']).filter(|word| !word.is_empty());
    let (hour, minute): (i64, i64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let hour = hour % 12 + if words.next()? == "pm" { 12 } else { 0 };
    let (day, month, year) = (words.nth(1)?.parse::<i64>().ok()?, words.next()?, words.next()?.parse::<i64>().ok()?);
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = 1 + months.iter().position(|name| month.starts_with(name))? as i64;
    // Days from 1970 by the count of March as the first month.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60_000)
}

/// One question of LongMemEval, over sessions of its own.
fn long_mem_eval(sample: &Value) -> Set {
    let mut set = Set { messages: Vec::new(), questions: Vec::new() };
    let mut evidence = Vec::new();
    for session in sample["haystack_sessions"].as_array().into_iter().flatten() {
        for (at, turn) in session.as_array().into_iter().flatten().enumerate() {
            if turn["has_answer"] == true {
                evidence.push(set.messages.len());
            }
            let role = if turn["role"] == "user" { 1 } else { 2 };
            let text = turn["content"].as_str().unwrap_or_default().to_owned();
            set.messages.push(Said { role, text, first: at == 0, time: 0 });
        }
    }
    if let Some(text) = sample["question"].as_str().filter(|_| !evidence.is_empty()) {
        set.questions.push(Question { text: text.to_owned(), evidence });
    }
    set
}
