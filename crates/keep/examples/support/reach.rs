//! What of a chat can be reached in a prompt: the evidence of a question that stands in it, or is quoted well enough.

use std::collections::{BTreeMap, BTreeSet};

use threadkeep_core::Message;

use crate::beam::Question;

/// A prompt: messages that are in it as they stand, and what is quoted of others.
#[derive(Default)]
pub struct Prompt {
    pub whole: BTreeSet<usize>,
    pub quoted: BTreeMap<usize, String>,
    pub tokens: u64,
}

fn words(text: &str) -> BTreeSet<String> {
    const STOP: &str = " the and for are was were with that this have has had you your not but from they them their its into \
        can could will would should about which what when how who did does been being than then there here also more such each \
        any all our out one two use used using may must via per both between across llm response state mention contain answer ";
    let parts = text.to_lowercase();
    let parts = parts.split(|letter: char| !letter.is_alphanumeric() && letter != '.' && letter != ',');
    let parts = parts.map(|word| word.trim_matches(['.', ','])).filter(|word| !word.is_empty());
    let keeps = |word: &&str| {
        word.starts_with(|first: char| first.is_numeric())
            || (word.chars().count() > 2 && !STOP.contains(&format!(" {word} ")))
    };
    let single = |word: &str| match word.strip_suffix('s') {
        Some(single) if single.len() > 3 && !single.ends_with('s') => single.to_owned(),
        _ => word.to_owned(),
    };
    parts.filter(keeps).map(single).collect()
}

fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_numeric())
}

/// Whether what a question needs of a message can be reached.
pub fn reachable(prompt: &Prompt, history: &[Message], at: usize, question: &Question) -> bool {
    if prompt.whole.contains(&at) {
        return true;
    }
    let Some(quoted) = prompt.quoted.get(&at) else { return false };
    let asked = words(&question.text);
    let said = words(&history[at].text());
    let sentences = question.answer.split(['\n', ';', ')']).flat_map(|part| part.split(". "));
    let mut needed = BTreeSet::new();
    for sentence in sentences {
        let shared: BTreeSet<String> = words(sentence).intersection(&said).cloned().collect();
        let new: BTreeSet<String> = shared.difference(&asked).cloned().collect();
        let shared = if new.is_empty() { shared } else { new };
        let size = |words: &BTreeSet<String>| (!words.is_subset(&asked), words.len());
        if size(&shared) > size(&needed) {
            needed = shared;
        }
    }
    let quoted = words(quoted);
    if said.is_subset(&quoted) {
        return true;
    }
    let has = needed.iter().filter(|word| quoted.contains(*word)).count();
    let numbers = needed.iter().filter(|word| is_number(word)).all(|word| quoted.contains(word));
    !needed.is_empty() && numbers && has * 5 >= needed.len() * 3
}
