//! The replay of a case file: its prompt made again, and the first difference.

use std::rc::Rc;

use serde_json::Value;
use threadkeep_compaction::memory::MemoryBundle;
use threadkeep_context::MessageRef;
use threadkeep_context::tokens::{Counter, Estimate};
use threadkeep_core::Entry;
use threadkeep_tokens::Bpe;

use super::{read, text, wrong};
use crate::KeepError;
use crate::context::{Found, Past, PromptCache, prompt_in};
use crate::journal::{VERSION, hex};
use crate::json::to_json;
use crate::log::Log;
use crate::protocol::{CASE_VERSION, CaseDifference, CaseFile, CaseReplay, ContextOptions, Counting, context_params};

/// A prompt that was made of a case.
pub(super) struct Made {
    pub(super) context: Value,
    pub(super) body: Option<Value>,
}

/// Makes the prompt of a case file again and compares it with the one in the file. It needs no store. `vocabularies` must have the one by
/// which the case was counted, unless it was estimated.
///
/// ```
/// let error = threadkeep::replay_case("{}", &[]).unwrap_err();
/// assert_eq!(error.reply().code, "bad-request");
/// ```
///
/// # Errors
/// `bad-request` for a file that is no case, or of a newer version; `vocabulary-missing`; those of a chain.
pub fn replay_case(file: &str, vocabularies: &[Rc<Bpe>]) -> Result<CaseReplay, KeepError> {
    let mut case = read(file)?;
    if case.threadkeep_case != CASE_VERSION {
        let why = format!("is of version {}, and this release reads {CASE_VERSION}", case.threadkeep_case);
        return Err(wrong("threadkeepCase", why));
    }
    let options = ContextOptions::from(context_params(case.options.clone())?);
    let made = match options.encoding {
        Counting::Exact(encoding) => {
            let found = vocabularies.iter().find(|bpe| bpe.encoding() == encoding);
            make(&case, found.ok_or(KeepError::MissingVocabulary(encoding))?.as_ref())?
        }
        _ => make(&case, &Estimate)?,
    };
    let body = |body: &Option<Value>| body.clone().unwrap_or_default();
    let found = differ("context", &case.context, &made.context)
        .or_else(|| differ("body", &body(&case.body), &body(&made.body)));
    let difference = match found {
        Some((path, recorded, rebuilt)) => {
            let ledger_line = differing_line(&case.context["ledger"], &made.context["ledger"]);
            Some(CaseDifference { path, recorded, rebuilt, ledger_line })
        }
        None => {
            let (path, now) = ("hash".to_owned(), hash(&case)?);
            let (recorded, rebuilt) = (case.hash.as_str().into(), now.as_str().into());
            (now != case.hash).then_some(CaseDifference { path, recorded, rebuilt, ledger_line: None })
        }
    };
    let version = case.version.clone();
    let rebuilt = difference.is_some().then(|| {
        (case.context, case.body, case.version) = (made.context, made.body, VERSION.to_owned());
        case.hash = hash(&case)?;
        Ok::<_, KeepError>(text(&to_json(&case)?))
    });
    Ok(CaseReplay { equal: difference.is_none(), version, difference, rebuilt: rebuilt.transpose()? })
}

/// The prompt of a case.
pub(super) fn make(case: &CaseFile, counter: &dyn Counter) -> Result<Made, KeepError> {
    let options = ContextOptions::from(context_params(case.options.clone())?);
    let mut log = Log::new(case.transcript.clone(), String::new());
    for (at, line) in case.log.iter().enumerate() {
        let place = format!("log[{at}]");
        let Value::Object(mut kind) = line.clone() else { return Err(wrong(&place, "must be an object")) };
        kind.shift_remove("seq");
        let entry = Entry::parse(Value::Object(kind).to_string().as_bytes()).map_err(|error| wrong(&place, error))?;
        log.tree.apply(entry).map_err(|error| wrong(&place, error))?;
    }
    let placed = log.tree.get(&case.node).ok_or_else(|| KeepError::MissingNode(case.node.clone()))?;
    let past = Past {
        messages: placed.node.messages.len(),
        pins: case.pins.iter().map(|id| MessageRef::Node(id.as_str().to_owned())).collect(),
        checkpoint: case.checkpoint.clone(),
        memory: &case.recalled,
        given: None,
    };
    let bundle = MemoryBundle { episodes: case.episodes.clone(), facts: case.facts.clone() };
    let memory = options.memory.as_ref().map(|wanted| Found::then(bundle, wanted, &case.recalled)).unwrap_or_default();
    let cache = &mut PromptCache::new(0);
    let reply = prompt_in(cache, &log, &case.node, &options, memory, Some(&past), counter)?;
    let mut context = reply.to_json();
    if let Value::Object(fields) = &mut context {
        // The payload has them.
        fields.shift_remove("messages");
    }
    Ok(Made { context, body: case.dialect.as_ref().map(|dialect| dialect.body(&reply.payload)) })
}

/// The hash of a case without its hash.
pub(super) fn hash(case: &CaseFile) -> Result<String, KeepError> {
    let case = CaseFile { hash: String::new(), ..case.clone() };
    Ok(hex(text(&to_json(&case)?).as_bytes()))
}

/// The first place at which two values differ, with both.
fn differ(path: &str, recorded: &Value, rebuilt: &Value) -> Option<(String, Value, Value)> {
    if recorded == rebuilt {
        return None;
    }
    let inside = match (recorded, rebuilt) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
            let at = |map: &serde_json::Map<String, Value>, name: &str| map.get(name).cloned().unwrap_or_default();
            let mut found = names.map(|name| (format!("{path}.{name}"), at(ours, name), at(theirs, name)));
            found.find(|(_, ours, theirs)| ours != theirs)
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            let at = |list: &[Value], at: usize| list.get(at).cloned().unwrap_or_default();
            let longest = ours.len().max(theirs.len());
            let mut found = (0..longest).map(|place| (format!("{path}[{place}]"), at(ours, place), at(theirs, place)));
            found.find(|(_, ours, theirs)| ours != theirs)
        }
        _ => None,
    };
    match inside {
        Some((path, recorded, rebuilt)) => differ(&path, &recorded, &rebuilt),
        None => Some((path.to_owned(), recorded.clone(), rebuilt.clone())),
    }
}

/// The first line of two ledgers that differs.
fn differing_line(recorded: &Value, rebuilt: &Value) -> Option<usize> {
    let lines = |ledger: &Value| ledger.as_array().map_or(0, Vec::len);
    (0..lines(recorded).max(lines(rebuilt))).find(|at| recorded.get(*at) != rebuilt.get(*at))
}
