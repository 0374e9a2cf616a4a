//! Other public sets of conversations with questions, from a file or a folder of JSON that is named: nothing of them is here.
//!
//! Two forms are known, each told by its fields: [`locomo`], and LongMemEval: a list of questions, each with the `haystack_sessions` of
//! `{role, content, has_answer}` that it is asked over.

use std::path::Path;

use serde_json::Value;

use crate::locomo;
use crate::questions::{Question, Said, Set};

/// The sets of a file, or of all JSON files of a folder, under the names of their forms. `each` gets one set at a time.
pub fn read(path: &Path, each: &mut dyn FnMut(&'static str, Set)) {
    locomo::values(path, &mut |file, value| {
        if value["haystack_sessions"].is_array() {
            each("LongMemEval", long_mem_eval(&value));
        } else if let Some(sample) = locomo::sample(&value) {
            of_locomo(sample, each);
        } else {
            eprintln!("{}: neither LoCoMo's form nor LongMemEval's", file.display());
            return false;
        }
        true
    });
}

/// What LoCoMo asks about what was never said is a set of its own.
fn of_locomo(sample: locomo::Sample, each: &mut dyn FnMut(&'static str, Set)) {
    // Both are people: nobody is the assistant.
    let said = |locomo::Turn { text, first, time }| Said { role: 1, text, first, time };
    let (never, asked): (Vec<_>, Vec<_>) = sample.asked.into_iter().partition(|asked| asked.never_said);
    for (name, asked) in [("LoCoMo", asked), ("LoCoMo, what was never said", never)] {
        let question = |asked: locomo::Asked| Question { text: asked.text, evidence: asked.evidence };
        let questions: Vec<_> = asked.into_iter().map(question).collect();
        if !questions.is_empty() {
            each(name, Set { messages: sample.turns.iter().cloned().map(said).collect(), questions });
        }
    }
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
