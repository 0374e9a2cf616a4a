//! Case files: a request with everything that it was made of, as one JSON file, and its replay without a store.
//!
//! The prompt in a file is always made from the content of that file. So a file whose secrets or texts were replaced replays equal to
//! itself. [`replay_case`] reads a file and nothing else: no store, no clock, no settings.

mod replay;
mod texts;

use serde_json::{Map, Value};
use threadkeep_archive::secret;
use threadkeep_context::tokens::Counter;
use threadkeep_core::{Entry, MessageId, Transcript};
use threadkeep_store::Store;

pub use replay::replay_case;

use crate::journal::{NotedRequest, VERSION, own_options};
use crate::json::{from_json, to_json};
use crate::protocol::{
    BadRequest, CASE_VERSION, CaseFile, ContextOptions, ContextParams, RedactedTexts, Redaction, context_params,
};
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// The case file of a request in the journal, as JSON text. API keys and tokens in it are replaced.
    ///
    /// # Errors
    /// As [`Keep::request`].
    pub async fn case_file(&self, id: &str, redaction: Redaction) -> Result<String, KeepError> {
        let NotedRequest { record, options, pins, dialect } = self.noted_request(id).await?;
        let made_of = record.made_of.clone();
        let (checkpoint, recalled) = made_of.map(|it| (it.checkpoint, it.memory)).unwrap_or_default();
        let messages = record.messages;
        let case = CaseFile {
            transcript: record.transcript.clone(),
            node: record.node.clone(),
            record: Some(record),
            options,
            pins,
            checkpoint,
            dialect,
            recalled,
            ..empty()?
        };
        self.case_with(case, messages, redaction).await
    }

    /// The case file of a chain's prompt with these options, over what is stored for the chain. `at` is a head's name or a node.
    ///
    /// # Errors
    /// As [`Keep::context`].
    pub async fn case_of(&self, at: &str, own: ContextParams, redaction: Redaction) -> Result<String, KeepError> {
        let settings = self.context_options(Some(at)).await?;
        let params = ContextParams { record: false, ..settings.under(own) };
        let (transcript, node) = self.place(at).await?;
        let reply = self.context(node.as_str(), &ContextOptions::from(params.clone())).await?;
        let of_node = |tree: &Transcript| {
            let mut pins: Vec<MessageId> = tree.pins().cloned().collect();
            threadkeep_core::sort::sort(&mut pins);
            (pins, tree.get(&node).map_or(0, |placed| placed.node.messages.len()))
        };
        let (pins, messages) = self.glance(&transcript, |log| Ok(of_node(&log.tree))).await?;
        let case = CaseFile {
            transcript,
            node,
            options: own_options(&params)?,
            pins,
            checkpoint: reply.checkpoint,
            recalled: reply.recalled,
            ..empty()?
        };
        self.case_with(case, messages, redaction).await
    }

    /// Adds what the keep has for a case, replaces what is to be hidden, and makes its prompt.
    async fn case_with(&self, mut case: CaseFile, messages: usize, redaction: Redaction) -> Result<String, KeepError> {
        let memory = self.bundle_then(&case.recalled).await?;
        (case.episodes, case.facts) = (memory.episodes, memory.facts);
        let entries = self.glance(&case.transcript, |log| chain(&log.tree, &case.node, messages)).await?;
        let line = |(seq, entry): (usize, Entry)| {
            let Value::Object(kind) = value(&entry)? else { return Err(wrong("log", "has an entry of no kind")) };
            let mut line = Map::from_iter([("seq".to_owned(), seq.into())]);
            line.extend(kind);
            Ok(Value::Object(line))
        };
        case.log = entries.into_iter().enumerate().map(line).collect::<Result<_, KeepError>>()?;
        let params = context_params(case.options.clone())?;
        let counter = self.counter(ContextOptions::from(params).encoding)?;
        let mut case = hidden(case, redaction, counter.as_ref())?;
        let made = replay::make(&case, counter.as_ref())?;
        (case.context, case.body) = (made.context, made.body);
        case.hash = replay::hash(&case)?;
        Ok(text(&to_json(&case)?))
    }
}

/// The entries that make a chain anew, its last node with so many messages, and the checkpoints and pins on it.
fn chain(tree: &Transcript, leaf: &MessageId, messages: usize) -> Result<Vec<Entry>, KeepError> {
    let placed = tree.chain(leaf)?;
    let mut entries = Vec::with_capacity(placed.len());
    for at in &placed {
        let mut node = at.node.clone();
        if node.id == *leaf {
            node.messages.change(|all| all.truncate(messages));
        }
        entries.push(Entry::Node(Box::new(node)));
    }
    let mut checkpoints = tree.checkpoints_on(&placed);
    threadkeep_core::sort::sort_by_key(&mut checkpoints, |(_, seq, _)| *seq);
    entries.extend(checkpoints.into_iter().map(|(_, _, checkpoint)| Entry::Checkpoint(Box::new(checkpoint.clone()))));
    Ok(entries)
}

/// The case with other content where that is secret.
fn hidden(case: CaseFile, redaction: Redaction, counter: &dyn Counter) -> Result<CaseFile, KeepError> {
    let mut all = value(&case)?;
    let mut secrets = 0;
    secret::hide(&mut all, &[], &mut |_| {
        secrets += 1;
        true
    });
    if redaction.texts == Some(RedactedTexts::Replaced) {
        texts::replace(&mut all, counter);
    }
    let case: CaseFile = read(&all.to_string())?;
    Ok(CaseFile { secrets, texts: redaction.texts, ..case })
}

/// A case of nothing.
fn empty() -> Result<CaseFile, KeepError> {
    let id = MessageId::new("none")?;
    Ok(CaseFile {
        threadkeep_case: CASE_VERSION,
        version: VERSION.to_owned(),
        record: None,
        transcript: id.clone(),
        node: id,
        options: Value::Null,
        pins: Vec::new(),
        checkpoint: None,
        dialect: None,
        recalled: Vec::new(),
        episodes: Vec::new(),
        facts: Vec::new(),
        log: Vec::new(),
        secrets: 0,
        texts: None,
        context: Value::Null,
        body: None,
        hash: String::new(),
    })
}

/// A value by way of its text, as it is stored.
fn value(of: &impl serde::Serialize) -> Result<Value, KeepError> {
    from_json(&to_json(of)?).map_err(|error| wrong("case", error))
}

fn read(text: &str) -> Result<CaseFile, KeepError> {
    from_json(text.as_bytes()).map_err(|error| wrong("file", error))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A mistake in a case file.
fn wrong(argument: &str, why: impl ToString) -> KeepError {
    BadRequest { argument: argument.to_owned(), why: why.to_string() }.into()
}
