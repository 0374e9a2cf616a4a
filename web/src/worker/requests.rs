//! The worker's part of the journal of requests: its records as lines, and one request made again, with what changed in it.

use threadkeep::protocol::{ErrorReply, MessageChange, MessageForm, MessageState, PrefixBreak, RequestDiff};
use threadkeep::{KeepError, Rebuilt};
use threadkeep_core::Message;

use super::{Engine, inspect};
use crate::inspect::ENCODINGS;
use crate::wire::{Asked, Journal, Moved, Reply, Sent, Since};
use crate::{format, pieces};

/// How many characters of a message stand in a line.
const EXCERPT: usize = 160;
/// The most messages of a kind of change that are listed.
const MOST: usize = 100;

/// Answers a question about requests.
pub async fn answer(engine: &Engine, asked: Journal) -> Result<Reply, ErrorReply> {
    match asked {
        Journal::List(leaf) => {
            let all = engine.requests(leaf.as_str(), None).await.map_err(|error| error.reply())?;
            Ok(Reply::Requests(all.into_iter().map(Asked::from).collect()))
        }
        Journal::Sent { id, before } => {
            let mut found = sent(engine, &id, before.as_deref()).await;
            if let Err(KeepError::MissingVocabulary(_)) = found {
                // It was counted with one of these.
                for place in 0..ENCODINGS.len() {
                    inspect::fetch(engine, place as u32).await?;
                }
                found = sent(engine, &id, before.as_deref()).await;
            }
            found.map(|sent| Reply::Sent(Box::new(sent))).map_err(|error| error.reply())
        }
    }
}

async fn sent(engine: &Engine, id: &str, before: Option<&str>) -> Result<Sent, KeepError> {
    let second = engine.request(id).await?;
    let since = match before {
        Some(before) => {
            let (first, diff) = (engine.request(before).await?, engine.diff_requests(before, id).await?);
            Some(since(&first, &second, diff.report))
        }
        None => None,
    };
    Ok(Sent {
        body: second.body.to_string(),
        readable: serde_json::to_string_pretty(&second.body).unwrap_or_default(),
        differs: second.differs.map(str::to_owned),
        since,
    })
}

fn since(first: &Rebuilt, second: &Rebuilt, report: RequestDiff) -> Since {
    let line = |what: &'static str| {
        move |change: MessageChange| {
            let place = |state: &Option<MessageState>| state.as_ref().and_then(|state| state.place);
            let after = place(&change.after).and_then(|at| second.context.messages.get(at));
            let said = after.or_else(|| place(&change.before).and_then(|at| first.context.messages.get(at)));
            let state = change.after.as_ref().or(change.before.as_ref());
            Moved {
                what: match &change.after {
                    Some(state) if what == "changed" => form(state.form).to_owned(),
                    _ => what.to_owned(),
                },
                words: said.map(words).unwrap_or_default(),
                tokens: state.map_or(0, |state| state.tokens),
                node: change.node,
            }
        }
    };
    let RequestDiff { entered, left, moved, changed, options, prefix } = report;
    let lists = [(entered, "came in"), (left, "went out"), (moved, "moved"), (changed, "changed")];
    Since {
        prefix: prefix.tokens,
        end: prefix.end.map(|end| end_words(end.why, end.option.as_deref())).unwrap_or_default(),
        options,
        changes: lists.into_iter().flat_map(|(list, what)| list.into_iter().take(MOST).map(line(what))).collect(),
    }
}

/// Who says what.
fn words(message: &Message) -> String {
    let said = pieces::copy_text(std::slice::from_ref(message));
    format!("{}: {}", pieces::role_label(message.role.as_str()), format::line(&said, EXCERPT))
}

/// The form that a message has now.
fn form(form: MessageForm) -> &'static str {
    match form {
        MessageForm::Whole => "whole now",
        MessageForm::Preview => "a preview now",
        MessageForm::Compressed => "compressed now",
        MessageForm::Summary => "another summary",
        MessageForm::Summarised => "summarised now",
        MessageForm::Out => "out now",
    }
}

/// Why the common beginning ends.
fn end_words(why: PrefixBreak, option: Option<&str>) -> String {
    let words = match why {
        PrefixBreak::Entered => "a message came in",
        PrefixBreak::Left => "a message went out",
        PrefixBreak::Moved => "a message moved",
        PrefixBreak::Changed => "a message has other words",
        PrefixBreak::Tools => "the tools are others",
        PrefixBreak::Rendering => "the same messages are written otherwise",
    };
    match option {
        Some(option) => format!("{words}, since the setting “{option}” changed"),
        None => words.to_owned(),
    }
}
