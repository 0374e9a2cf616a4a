//! Reading what a model answered: bare JSON, JSON in a fence, JSON among words; fields under several names, lists of texts
//! where objects were asked for, numbers as texts. What is not there is made up for where it can be: a statement without
//! sources gets the message that it has most words in common with.

use serde_json::{Map, Value};

use super::ModelAnswerError;
use crate::extract::{Places, sentences};
use crate::memory::{FactKind, Share};
use crate::summary::{FoundFact, Material, Summary};
use threadkeep_core::checkpoint::{Source, Statement};
use threadkeep_core::{Content, Message};

type Object = Map<String, Value>;

/// The names of the fields, the one that is asked for first.
const EPISODE: &[&str] = &["episodic_summary", "episodicSummary", "episode", "summary"];
const STATEMENTS: &[&str] = &["statements", "key_points", "keyPoints", "points"];
const FACTS: &[&str] = &["semantic_facts", "semanticFacts", "facts"];
const TEXT: &[&str] = &["text", "statement", "fact", "sentence", "summary", "content"];
const SOURCES: &[&str] = &["sources", "source", "messages", "source_ids", "refs"];
const KIND: &[&str] = &["kind", "type", "category"];
/// How many braces are tried as the beginning of the object.
const TRIES: usize = 64;

/// Reads a model's answer to any of the [prompts](super::prompt) made from `material`; the numbers in it are the same in all.
/// A statement that rests on carried ones is a level above them, and has their sources.
///
/// # Errors
/// [`ModelAnswerError`]: it calls tools, says nothing, or holds no JSON object with a summary.
///
/// ```
/// use threadkeep_compaction::model::parse;
/// use threadkeep_compaction::summary::{Material, Piece};
/// use threadkeep_core::{Message, MessageId};
/// let (node, message) = (MessageId::new("n1")?, Message::user("Use tabs."));
/// let pieces = vec![Piece { node: &node, index: 0, turn: 1, message: &message }];
/// let material = Material { carried: &[], pieces, budget: 100 };
/// let answer = Message::assistant("Here: {\"statements\": [{\"text\": \"Tabs are used.\", \"sources\": [1]}]}");
/// assert_eq!(parse(&answer, &material)?.statements[0].text, "Tabs are used.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse(answer: &Message, material: &Material) -> Result<Summary, ModelAnswerError> {
    let in_parts = match &answer.content {
        Content::Parts(parts) => parts.iter().any(|part| part.kind().ends_with("tool_use")),
        _ => false,
    };
    if !answer.tool_calls.is_empty() || in_parts {
        return Err(ModelAnswerError::ToolCalls);
    }
    let text = answer.text();
    if text.trim().is_empty() {
        return Err(ModelAnswerError::Empty);
    }
    let object = find(&text).ok_or(ModelAnswerError::NoJson)?;
    let mut reading = Reading { material, places: None };
    let summary = reading.summary(&object);
    if summary.statements.is_empty() { Err(ModelAnswerError::Empty) } else { Ok(summary) }
}

/// The first object in a text that has one of the fields.
fn find(text: &str) -> Option<Object> {
    for (at, _) in text.match_indices('{').take(TRIES) {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        if let Some(Ok(Value::Object(object))) = values.next()
            && [EPISODE, STATEMENTS, FACTS].iter().any(|names| field(&object, names).is_some())
        {
            return Some(object);
        }
    }
    None
}

fn field<'o>(object: &'o Object, names: &[&str]) -> Option<&'o Value> {
    names.iter().find_map(|name| object.get(*name)).filter(|value| !value.is_null())
}

struct Reading<'m> {
    material: &'m Material<'m>,
    /// Where words are; made when the first statement has no sources.
    places: Option<Places>,
}

impl Reading<'_> {
    fn summary(&mut self, object: &Object) -> Summary {
        let episode = field(object, EPISODE).map(words).unwrap_or_default();
        let mut statements: Vec<Statement> = Vec::new();
        for value in list(field(object, STATEMENTS)) {
            let text = words(value);
            if !text.is_empty() && !statements.iter().any(|known| known.text == text) {
                let (sources, level) = self.sources(value, &text);
                statements.push(Statement { text, sources, level });
            }
        }
        let mut facts: Vec<FoundFact> = Vec::new();
        for value in list(field(object, FACTS)) {
            let fact = words(value);
            if fact.is_empty() || facts.iter().any(|known| known.fact == fact) {
                continue;
            }
            let fields = value.as_object();
            let field = |names: &[&str]| fields.and_then(|fields| field(fields, names));
            facts.push(FoundFact {
                kind: kind(field(KIND)),
                tags: tags(field(&["tags"])),
                confidence: share(field(&["confidence"]), 700),
                salience: share(field(&["salience", "importance"]), 500),
                sources: self.sources(value, &fact).0,
                fact,
            });
        }
        if statements.is_empty() {
            // Some models tell the story and leave out the list, others give facts alone.
            sentences(&episode, &mut |text| {
                let (sources, level) = self.sources(&Value::Null, text);
                statements.push(Statement { text: text.to_owned(), sources, level });
            });
        }
        if statements.is_empty() {
            let statement =
                |fact: &FoundFact| Statement { text: fact.fact.clone(), sources: fact.sources.clone(), level: 0 };
            statements.extend(facts.iter().map(statement));
        }
        let salience = share(field(object, &["salience"]), 500);
        Summary { statements, episode, tags: tags(field(object, &["tags"])), salience, facts }
    }

    /// The sources that a statement names, and its level; those that do not exist are left out.
    fn sources(&mut self, value: &Value, text: &str) -> (Vec<Source>, u8) {
        let mut found: Vec<Source> = Vec::new();
        let mut level = 0;
        let mut add = |source: Source| {
            if !found.contains(&source) {
                found.push(source);
            }
        };
        for value in list(value.as_object().and_then(|fields| field(fields, SOURCES))) {
            let label = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => continue,
            };
            let number = label
                .trim_matches(|letter: char| letter != '-' && !letter.is_ascii_digit())
                .parse::<usize>()
                .unwrap_or(0);
            let at = number.wrapping_sub(1);
            if label.trim_start_matches('[').starts_with(['c', 'C']) {
                if let Some(carried) = self.material.carried.get(at) {
                    level = level.max(carried.level.saturating_add(1));
                    carried.sources.iter().cloned().for_each(&mut add);
                }
            } else if let Some(piece) = self.material.pieces.get(at) {
                add(Source { node: piece.node.clone(), index: piece.index });
            }
        }
        if !found.is_empty() {
            return (found, level);
        }
        let places = self.places.get_or_insert_with(|| Places::of(self.material));
        let at = places.nearest(text, 1).unwrap_or(0);
        match self.material.pieces.get(at) {
            Some(piece) => (vec![Source { node: piece.node.clone(), index: piece.index }], 0),
            None => {
                let carried = self.material.carried.get(at - self.material.pieces.len());
                carried.map_or((Vec::new(), 0), |carried| (carried.sources.clone(), carried.level.saturating_add(1)))
            }
        }
    }
}

/// A list, or one thing as a list of one.
fn list(value: Option<&Value>) -> &[Value] {
    match value {
        None => &[],
        Some(Value::Array(list)) => list,
        Some(one) => std::slice::from_ref(one),
    }
}

/// What a value says: a text, the text of an object, or the texts of a list.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Object(fields) => match field(fields, TEXT) {
            Some(Value::String(text)) => text.trim().to_owned(),
            _ => String::new(),
        },
        Value::Array(list) => {
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).map(str::trim).collect();
            texts.join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn tags(value: Option<&Value>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for tag in list(value).iter().filter_map(Value::as_str) {
        let tag = tag.trim().to_lowercase();
        if !tag.is_empty() && found.len() < 8 && !found.contains(&tag) {
            found.push(tag);
        }
    }
    found
}

fn share(value: Option<&Value>, default: u16) -> Share {
    let word = match value {
        Some(value @ Value::Number(_)) => return Share::read(value).unwrap_or(Share::of(default)),
        Some(Value::String(word)) => word.trim(),
        _ => "",
    };
    match word {
        "high" | "certain" => Share::of(900),
        "medium" => Share::of(600),
        "low" => Share::of(300),
        // A number as text.
        _ => serde_json::from_str(word).ok().and_then(|value| Share::read(&value)).unwrap_or(Share::of(default)),
    }
}

fn kind(value: Option<&Value>) -> FactKind {
    let word = value.and_then(Value::as_str).unwrap_or_default().to_lowercase();
    let known = [
        ("prefer", FactKind::Preference),
        ("deci", FactKind::Decision),
        ("constraint", FactKind::Constraint),
        ("rule", FactKind::Constraint),
        ("require", FactKind::Constraint),
        ("instruct", FactKind::Constraint),
    ];
    known.into_iter().find(|(part, _)| word.contains(part)).map_or(FactKind::Other, |(_, kind)| kind)
}
