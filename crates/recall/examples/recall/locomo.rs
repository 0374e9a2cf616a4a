//! Reads LoCoMo's samples: two people who talk over many sessions, and questions with the turns that hold the answer. A sample has `qa`
//! (`question`, `answer`, `category`, `evidence` as ids of turns) and `session_1`, `session_2`… (in `conversation` or beside `qa`) of
//! `{speaker, dia_id, text}`. For the benches of this crate and of the engine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A conversation, and what is asked about it.
pub struct Sample {
    pub turns: Vec<Turn>,
    pub asked: Vec<Asked>,
}

/// What one of the two says.
#[derive(Clone)]
pub struct Turn {
    /// With the speaker's name before it.
    pub text: String,
    /// Whether it is the first of its session.
    pub first: bool,
    /// When, in milliseconds since 1970; counted from 1970 where the session says no time.
    pub time: i64,
}

/// A question.
pub struct Asked {
    pub text: String,
    pub answer: String,
    /// Whether it asks what was never said: the fifth category. Its evidence is the turn that misleads.
    pub never_said: bool,
    /// The places of the turns that hold the answer, ascending; at least one.
    pub evidence: Vec<usize>,
}

/// The JSON values of a file, or of all JSON files of a folder: the members of a list each by itself. `each` says whether the next one of
/// the same file is wanted.
pub fn values(path: &Path, each: &mut dyn FnMut(&Path, Value) -> bool) {
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
        let mut samples = if let Value::Array(list) = value { list } else { vec![value] };
        let _ = samples.iter_mut().all(|sample| each(&file, sample.take()));
    }
}

/// The sample that a value is; `None` where it is none.
pub fn sample(value: &Value) -> Option<Sample> {
    let asked = value["qa"].as_array().filter(|_| !value["haystack_sessions"].is_array())?;
    let talk = if value["conversation"].is_object() { &value["conversation"] } else { value };
    let mut turns = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for number in 1.. {
        let Some(session) = talk.get(format!("session_{number}")) else { break };
        let time =
            said_at(talk[format!("session_{number}_date_time")].as_str().unwrap_or_default()).unwrap_or_default();
        for (at, turn) in session.as_array().into_iter().flatten().enumerate() {
            let text = |name: &str| turn[name].as_str().unwrap_or_default();
            places.insert(text("dia_id"), turns.len());
            // A picture that was shown is there by its caption, as a model that reads the chat would have it.
            let caption = match text("blip_caption") {
                "" => String::new(),
                caption => format!(" [{caption}]"),
            };
            let text = format!("{}: {}{caption}", text("speaker"), text("text"));
            turns.push(Turn { text, first: at == 0, time: time + 30_000 * at as i64 });
        }
    }
    let question = |asked: &Value| {
        let ids = asked["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let ids = ids.flat_map(|ids| ids.split([' ', ';', ','])).map(str::trim);
        let mut evidence: Vec<usize> = ids.filter_map(|id| places.get(id)).copied().collect();
        evidence.sort_unstable();
        evidence.dedup();
        let text = asked["question"].as_str().filter(|_| !evidence.is_empty())?.to_owned();
        let answer = asked["answer"].as_str().map_or_else(|| asked["answer"].to_string(), str::to_owned);
        Some(Asked { text, answer, never_said: asked["category"] == 5, evidence })
    };
    Some(Sample { asked: asked.iter().filter_map(question).collect(), turns })
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
