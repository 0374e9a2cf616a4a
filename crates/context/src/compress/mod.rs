//! History compression: old code turns become what they defined and printed.
//!
//! Goes in: messages, by reference, and two numbers. Comes out: for each message what takes its place in the prompt, if
//! anything does, and by what rule. The messages themselves, which are the trace, are never touched. Whether to compress at
//! all is left to the caller; so are all other ways to make a prompt smaller.
//!
//! # What is a code turn
//! An assistant message of kind [`Kind::CodeTurn`], or a plain one that is nothing but fenced Lisp blocks (with prose beside
//! them nobody has said that the program was run). It failed if its status says `error`, or if it has no status and the
//! message after it is marked as an error.
//!
//! # What becomes of it
//! The first line that applies:
//!
//! | rule | which turn | becomes |
//! |---|---|---|
//! | `latest-turn` | the last one: the model just wrote it | stays whole |
//! | `error-turn` | it failed: the model must see what is broken | stays whole |
//! | `before-error` | one of the [`CompressOptions::error_window`] turns before a failed one | stays whole |
//! | `pinned` | a pinned message | stays whole |
//! | `tool-calls` | it holds tool calls, whose results follow | stays whole |
//! | `compressed-turn` | any other | a new assistant message with the summary as its content |
//! | `moved-output` | the user message after a compressed turn, where it begins with what the turn printed | the rest of it |
//!
//! # The summary
//! ```text
//! ; Function: fetch-users - "Fetches users by category"
//! ; Defined: users - "Active users" = list[5], sample: %{name: "Alice", email: "..."}
//! ; Output:
//! Found 5 users
//! ```
//! - A turn that printed shows its output and no samples; a turn that did not print shows samples. This holds also where the
//!   output has become too old to be shown.
//! - **Definitions accumulate over the summaries**: each summary shows what its own turn defined, but for names that a newer
//!   summary shows. So every name stands once, where it was last defined, and all summaries together are what is in memory.
//!   Turns that stay whole show their definitions as code and do not count; those of a failed turn are not in memory.
//! - **Outputs** are counted over all code turns, newest first; those beyond [`CompressOptions::println_history_limit`] are
//!   left out of the summaries.
//! - The user message after a turn (feedback: what was printed, and a line about the turns left) is not compressed; but what
//!   the summary stands for is not said twice: if it begins with all the printed texts, line by line, and goes on with
//!   something else, only that is left of it. (Outputs too old for the summary thereby leave the prompt altogether.)
//! - How long a summary gets depends on what was learned, not on the program: one definition a line with a bounded
//!   sample, docstrings and output as they are. A short program may have a longer summary, which then says more.
//!
//! A compressed message carries the tag [`COMPRESSED_TAG`] and is no code turn any more, so that compressing twice is
//! compressing once.

mod definitions;
mod fence;
mod json;
mod line;
mod reader;
mod sample;
mod summary;

use std::borrow::Cow;

use definitions::Definition;
use serde_json::{Map, Value};
use threadkeep_core::{CodeTurn, Content, Kind, Message, Role};

use crate::rule;

pub use json::{CompressError, Compressed, compress_history};

/// The tag of a message that is a summary of a code turn.
pub const COMPRESSED_TAG: &str = "compressed-turn";

/// How much of the history stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase", optional_fields))]
pub struct CompressOptions {
    /// How many printed texts the summaries show at most, the newest ones; 15 without it, and zero shows none.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub println_history_limit: usize,
    /// How many turns before a failed one stay whole, beside the failed one itself; 1 without it.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub error_window: usize,
}

impl Default for CompressOptions {
    fn default() -> Self {
        Self { println_history_limit: 15, error_window: 1 }
    }
}

/// What becomes of one message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// What takes its place; `None` when it stays as it is.
    pub replacement: Option<Message>,
    /// The rule that decided, a word of the table [above](self); `None` for what is neither a code turn nor its feedback.
    pub rule: Option<&'static str>,
}

/// What takes the place of each message, `None` for what stays as it is.
///
/// ```
/// use threadkeep_core::Message;
/// use threadkeep_context::compress::{CompressOptions, compress};
/// let old = Message::assistant("```lisp\n(def limit \"How many\" 5)\n(defn double [x] (* 2 x))\n```");
/// let new = Message::assistant("```lisp\n(println (double limit))\n```");
/// let history = [&Message::user("Double it"), &old, &Message::user("Turn 2 of 5"), &new];
/// let replaced = compress(&history, &CompressOptions::default());
/// let summary = replaced[1].as_ref().map(|message| message.text().into_owned());
/// assert_eq!(summary.as_deref(), Some("; Function: double\n; Defined: limit - \"How many\" = integer, sample: 5"));
/// assert!(replaced[0].is_none() && replaced[2].is_none() && replaced[3].is_none());
/// ```
pub fn compress(messages: &[&Message], options: &CompressOptions) -> Vec<Option<Message>> {
    decide(messages, options).into_iter().map(|verdict| verdict.replacement).collect()
}

/// Like [`compress`], with the rule for each code turn.
pub fn decide(messages: &[&Message], options: &CompressOptions) -> Vec<Verdict> {
    let mut verdicts = vec![Verdict::default(); messages.len()];
    let turns = turns(messages);
    let mut names = Map::new();
    let mut outputs_left = options.println_history_limit;
    let mut next_failed = None;
    // From the newest turn to the oldest, since newer definitions and outputs go first.
    for (place, turn) in turns.iter().enumerate().rev() {
        let message = messages[turn.index];
        let older = turn.output.len().saturating_sub(outputs_left);
        outputs_left = outputs_left.saturating_sub(turn.output.len());
        let rule = if place + 1 == turns.len() {
            "latest-turn"
        } else if turn.failed {
            "error-turn"
        } else if next_failed.is_some_and(|failed: usize| failed - place <= options.error_window) {
            "before-error"
        } else if message.pinned {
            "pinned"
        } else if !message.tool_calls.is_empty() {
            "tool-calls"
        } else {
            let definitions = newest(turn.definitions(), &mut names);
            let summary = summary::summary(&definitions, turn.output.is_empty(), &turn.output[older..]);
            verdicts[turn.index].replacement = Some(summarised(message, summary));
            if let Some((index, rest)) = turn.feedback.and_then(|index| Some((index, rest(messages[index], turn)?))) {
                let replacement = Message { content: rest.into(), ..messages[index].clone() };
                verdicts[index] = Verdict { replacement: Some(replacement), rule: Some(rule::MOVED_OUTPUT) };
            }
            rule::COMPRESSED_TURN
        };
        verdicts[turn.index].rule = Some(rule);
        if turn.failed {
            next_failed = Some(place);
        }
    }
    verdicts
}

/// A code turn among the messages.
struct Turn<'a> {
    index: usize,
    /// What the host says of it; `None` for a plain message of Lisp blocks.
    fields: Option<&'a CodeTurn>,
    /// Its program.
    program: Cow<'a, str>,
    output: Vec<&'a str>,
    failed: bool,
    /// The index of the user message after it.
    feedback: Option<usize>,
}

impl Turn<'_> {
    fn definitions(&self) -> Vec<Definition> {
        let given = self.fields.and_then(definitions::given);
        given.unwrap_or_else(|| definitions::read_from(&self.program))
    }
}

/// The code turns among `messages`, oldest first.
fn turns<'a>(messages: &[&'a Message]) -> Vec<Turn<'a>> {
    let mut turns = Vec::new();
    for (index, &message) in messages.iter().enumerate() {
        if message.role != Role::Assistant || !message.include_in_context || is_compressed(message) {
            continue;
        }
        let (fields, program) = match &message.kind {
            Kind::CodeTurn(turn) if turn.program().is_empty() => {
                (Some(turn), fence::fenced(&message.text()).program.into())
            }
            Kind::CodeTurn(turn) => (Some(turn), turn.program().into()),
            Kind::Plain if fence::begins(&message.text()) => match fence::fenced(&message.text()) {
                fenced if fenced.nothing_else => (None, fenced.program.into()),
                _ => continue,
            },
            _ => continue,
        };
        let next = (index + 1..messages.len()).find(|&next| messages[next].include_in_context);
        let failed = fields.and_then(CodeTurn::failed);
        turns.push(Turn {
            index,
            fields,
            program,
            output: fields.map(CodeTurn::output).unwrap_or_default(),
            failed: failed.unwrap_or_else(|| next.is_some_and(|next| messages[next].is_error)),
            feedback: next.filter(|&next| messages[next].role == Role::User && !messages[next].pinned),
        });
    }
    turns
}

fn is_compressed(message: &Message) -> bool {
    message.tags.iter().any(|tag| tag == COMPRESSED_TAG)
}

/// The last definition of each name that is not among `names`, in the order of the program; the names are added.
fn newest(mut definitions: Vec<Definition>, names: &mut Map<String, Value>) -> Vec<Definition> {
    definitions.reverse();
    definitions.retain(|definition| names.insert(definition.name.clone(), Value::Null).is_none());
    definitions.reverse();
    definitions
}

/// The message that stands for a code turn. What belongs to the old content only (reasoning, the provider's own items) is
/// not in it.
fn summarised(message: &Message, summary: String) -> Message {
    let mut tags = message.tags.clone();
    tags.push(COMPRESSED_TAG.to_owned());
    Message { name: message.name.clone(), tags, ..Message::assistant(summary) }
}

/// What feedback says after all that the turn printed; `None` when it does not begin with it, or says nothing else.
fn rest(feedback: &Message, turn: &Turn<'_>) -> Option<String> {
    let Content::Text(text) = &feedback.content else { return None };
    let mut rest = text.trim_start_matches('\n');
    for printed in &turn.output {
        rest = rest.strip_prefix(printed.trim_end_matches('\n'))?.strip_prefix('\n')?;
    }
    let rest = rest.trim_start_matches('\n');
    (!turn.output.is_empty() && !rest.trim().is_empty()).then(|| rest.to_owned())
}
