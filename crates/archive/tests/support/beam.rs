//! Reads the BEAM chats with their questions from the folder of data, where it is at hand.

use serde_json::Value;
use threadkeep_core::Message;

use super::readers::{chat, data};

/// A chat and what is asked about it.
pub struct Chat {
    /// Its number.
    pub name: String,
    /// What was said.
    pub messages: Vec<Message>,
    /// What is asked later.
    pub questions: Vec<Question>,
}

/// A question about a chat.
pub struct Question {
    /// What is asked.
    pub text: String,
    /// The reference answer with its rubric, as one text.
    pub answer: String,
    /// The messages that hold the answer, as places in the chat.
    pub evidence: Vec<usize>,
}

fn numbers(value: &Value, out: &mut Vec<u64>) {
    match value {
        Value::Number(number) => out.extend(number.as_u64()),
        Value::Array(list) => list.iter().for_each(|value| numbers(value, out)),
        Value::Object(map) => map.values().for_each(|value| numbers(value, out)),
        _ => {}
    }
}

fn strings(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|value| strings(value, out)),
        _ => {}
    }
}

fn question(value: &Value, ids: &[u64]) -> Question {
    const ANSWER: [&str; 8] = [
        "answer",
        "ideal_answer",
        "ideal_response",
        "ideal_summary",
        "rubric",
        "instruction_being_tested",
        "preference_being_tested",
        "expected_compliance",
    ];
    let mut answer = String::new();
    ANSWER.iter().for_each(|field| strings(&value[*field], &mut answer));
    let mut evidence = Vec::new();
    numbers(&value["source_chat_ids"], &mut evidence);
    let mut evidence: Vec<usize> = evidence.iter().filter_map(|id| ids.iter().position(|known| known == id)).collect();
    evidence.sort_unstable();
    evidence.dedup();
    Question { text: value["question"].as_str().unwrap_or_default().to_owned(), answer, evidence }
}

/// All chats, by their numbers; none where there is no folder of data.
pub fn chats() -> Vec<Chat> {
    let Some(folder) = data().map(|data| data.join("beam")) else { return Vec::new() };
    let mut chats = Vec::new();
    for number in 1..100 {
        let read = |what: &str| std::fs::read(folder.join(format!("{number}.{what}.json"))).ok();
        let (Some(chat), Some(asked)) = (read("chat"), read("probing_questions")) else { continue };
        let mut numbered = Vec::new();
        chat::messages(&serde_json::from_slice(&chat).unwrap(), &mut numbered);
        let (ids, said): (Vec<u64>, Vec<Message>) =
            numbered.into_iter().map(|(id, message)| (id.unwrap(), message)).unzip();
        let asked: Value = serde_json::from_slice(&asked).unwrap();
        let lists = asked.as_object().unwrap().values().filter_map(Value::as_array);
        let questions = lists.flatten().map(|value| question(value, &ids)).collect();
        chats.push(Chat { name: number.to_string(), messages: said, questions });
    }
    chats
}
