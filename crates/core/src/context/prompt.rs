//! The end of the pipeline: a context becomes a provider's payload, and the validator, which knows nothing of the renderer,
//! looks at it.
//!
//! Goes in: a prepared history and options. Comes out: a [`Prompt`]. Whatever rendering changed is a warning, and a line of the
//! ledger where it changed what is said; whatever the validator still finds is a warning of the kind
//! [`WarningKind::Invalid`]. Nothing is passed over in silence.

use serde_json::Value;

use crate::provider::{CLOSING, Note, NoteRule, OPENING, RenderOptions, render, validate_payload};
use crate::tokens::{Cost, Counter, cost};
use crate::{Message, Provider, Role};

use super::facts::characters;
use super::{Action, Context, Figures, Fit, Frame, Item, Line, Options, Plan, Prepared, prepare, rule};

/// A prompt, ready to be sent.
#[derive(Debug, Clone)]
pub struct Prompt<'a> {
    /// The messages and the account of them.
    pub context: Context<'a>,
    /// The request's body.
    pub payload: Value,
    /// What its builder should know.
    pub warnings: Vec<Warning>,
}

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningKind {
    /// An option has no effect, or cannot be kept to.
    Option,
    /// The payload says something otherwise than the messages do.
    Changed,
    /// The provider will probably refuse the payload.
    Invalid,
}

impl WarningKind {
    /// Its name: `option`, `changed` or `invalid`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::Changed => "changed",
            Self::Invalid => "invalid",
        }
    }
}

/// Something that whoever builds a prompt should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// A short stable word: of an option, of [`NoteRule::name`], of [`validate_payload`]'s table, or `lost-character`.
    pub rule: &'static str,
    /// It in words.
    pub message: String,
    /// The first place that it is about: of the prompt's messages, or (for `invalid`) of the payload's list of messages.
    pub index: Option<usize>,
    /// At how many places it is so.
    pub count: usize,
}

/// Builds a prompt from a history. Use [`prepare`] and [`Prepared::prompt`] where the same history is used again.
///
/// ```
/// use threadkeep_core::context::{Options, items, prompt};
/// use threadkeep_core::provider::RenderOptions;
/// use threadkeep_core::tokens::Estimate;
/// use threadkeep_core::{Message, Provider};
/// let history = [Message::user("hi"), Message::assistant("hello")];
/// let options = Options { provider: Provider::Anthropic, ..Options::default() };
/// let prompt = prompt(&items(&history), &options, &RenderOptions::default(), &Estimate);
/// assert_eq!(prompt.payload["messages"][2]["content"][0]["text"], "Continue.");
/// let sum: u64 = prompt.context.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
/// assert_eq!(prompt.context.figures.tokens, sum);
/// ```
pub fn prompt<'a>(
    history: &[Item<'a>],
    options: &Options,
    rendering: &RenderOptions,
    counter: &dyn Counter,
) -> Prompt<'a> {
    prepare(history, options, counter).prompt(history, options, rendering, counter)
}

/// The frame, with room for the user message that rendering puts at the end of a history which ends with the assistant.
pub fn frame_figures(
    frame: &Frame,
    history: &[Item],
    options: &Options,
    rendering: &RenderOptions,
    counter: &dyn Counter,
) -> Figures {
    let figures = frame.figures();
    if closes(history, options.provider, rendering) {
        figures.plus(added(CLOSING, options.provider, counter))
    } else {
        figures
    }
}

/// Whether a user message will follow the history.
fn closes(history: &[Item], provider: Provider, rendering: &RenderOptions) -> bool {
    let spoken =
        |item: &&Item| item.message.include_in_context && !matches!(item.message.role, Role::System | Role::Developer);
    let last = history.iter().rev().find(spoken).map(|item| item.message);
    matches!(provider, Provider::Anthropic | Provider::Gemini)
        && !rendering.prefill
        && last.is_some_and(|last| last.role == Role::Assistant && last.tool_calls.is_empty())
}

fn added(text: &str, provider: Provider, counter: &dyn Counter) -> Figures {
    let message = Message::user(text);
    Figures { tokens: u64::from(cost(&message, provider, counter).total()), messages: 1, chars: characters(&message) }
}

impl Prepared {
    /// Decides, puts the prompt together, renders and validates it. `history` is what was prepared with the same options.
    pub fn prompt<'a>(
        &self,
        history: &[Item<'a>],
        options: &Options,
        rendering: &RenderOptions,
        counter: &dyn Counter,
    ) -> Prompt<'a> {
        let frame = Frame::new(&options.frame, options.provider, counter);
        let around = frame_figures(&frame, history, options, rendering, counter);
        let fit = self.fit(&Plan { frame: around, ..options.plan(&frame) });
        let mut context = self.context(history, &fit, &frame);
        context.figures = context.figures.minus(around).plus(frame.figures());
        let mut warnings: Vec<Warning> = options.warnings().into_iter().map(of_option).collect();
        let rendered = {
            let messages: Vec<&Message> = context.messages.iter().map(|message| &**message).collect();
            render(&messages, options.provider, rendering)
        };
        for note in &rendered.notes {
            enter(&mut context, note, options.provider, counter);
            gather(&mut warnings, WarningKind::Changed, note.rule.name(), note.rule.words(), Some(note.index));
        }
        for (index, _) in context.messages.iter().enumerate().filter(|(_, message)| lost(message)) {
            gather(&mut warnings, WarningKind::Changed, "lost-character", LOST, Some(index));
        }
        context.over_budget = !context.limits.hold(context.figures);
        for finding in validate_payload(&rendered.payload, options.provider) {
            gather(&mut warnings, WarningKind::Invalid, finding.rule, &finding.message, finding.index);
        }
        Prompt { context, payload: rendered.payload, warnings }
    }

    /// What a message of the history costs as it is stored, by what of it, where no prompt shows it otherwise.
    pub fn known_cost(&self, index: usize) -> Option<Cost> {
        self.facts.list.get(index).filter(|fact| fact.made == super::facts::NONE).map(|fact| fact.cost)
    }

    /// What became of each message, in the order of the prompt, with the message that it shows instead of the history's own,
    /// if it does.
    pub fn shown<'a>(&'a self, fit: &'a Fit) -> impl Iterator<Item = (super::Mark, Option<&'a Message>)> + 'a {
        self.entries(fit).map(|(entry, mark)| (mark, self.made(entry)))
    }

    /// What each message of the history costs in a prompt that has it, in tokens; zero for what no prompt has.
    pub fn costs(&self) -> Vec<u32> {
        let mut costs = vec![0; self.len()];
        for entry in self.groups.entries.iter().filter(|entry| !entry.injected) {
            if let Some(cost) = costs.get_mut(entry.index as usize) {
                *cost = entry.cost.total();
            }
        }
        costs
    }

    /// How many tokens of the history at the beginning of this prompt are those of `before`, another decision, over the same
    /// history or over what it was earlier.
    pub fn shared(&self, fit: &Fit, before: &Self, then: &Fit) -> u64 {
        let ours = self.marks(fit).filter(|mark| mark.kept);
        let theirs = before.marks(then).filter(|mark| mark.kept);
        let same = ours.zip(theirs).take_while(|(a, b)| {
            let looks = |mark: &super::Mark| {
                let made = matches!(mark.action, Action::Compressed | Action::Previewed | Action::Repaired);
                (mark.index, mark.injected, mark.tokens_after, made.then_some(mark.rule))
            };
            looks(a) == looks(b)
        });
        same.map(|(mark, _)| u64::from(mark.tokens_after)).sum()
    }
}

/// Said of a message that holds U+FFFD.
const LOST: &str = "a character was cut or could not be read before the message was stored: U+FFFD stands in its place";

/// Whether a character of the message was lost.
fn lost(message: &Message) -> bool {
    let has = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
    has(&message.text()) || message.tool_calls.iter().any(|call| has(call.arguments()))
}

/// Writes into the ledger what a note says.
fn enter(context: &mut Context, note: &Note, provider: Provider, counter: &dyn Counter) {
    let text = match note.rule {
        NoteRule::Opening => OPENING,
        NoteRule::Closing => CLOSING,
        NoteRule::UnansweredCall
        | NoteRule::OrphanResult
        | NoteRule::RepeatedResult
        | NoteRule::MovedResult
        | NoteRule::EmptyMessage
        | NoteRule::UnknownRole
        | NoteRule::LateSystem => {
            let shown =
                |line: &&mut Line| line.tokens_after > 0 && ![rule::TOOL_SCHEMAS, rule::REPLY].contains(&line.rule);
            let line = context.ledger.iter_mut().filter(shown).nth(note.index);
            if let Some(line) = line.filter(|line| line.action == Action::Kept) {
                (line.action, line.rule) = (Action::Repaired, note.rule.name());
            }
            return;
        }
        _ => return,
    };
    let figures = added(text, provider, counter);
    let tokens = figures.tokens as u32;
    let first = note.rule == NoteRule::Opening;
    let history = context.ledger.iter().position(|line| line.action != Action::Injected);
    // What the reply begins with stays last.
    let end = context.ledger.len() - usize::from(context.ledger.last().is_some_and(|line| line.rule == rule::REPLY));
    let at = if first { history.unwrap_or(end) } else { end };
    let index = if first { 0 } else { context.ledger[..end].iter().map(|line| line.index + 1).max().unwrap_or(0) };
    let (action, rule) = (Action::Injected, note.rule.name());
    context.ledger.insert(at, Line { node: None, index, action, rule, tokens_before: 0, tokens_after: tokens });
    context.figures = context.figures.plus(figures);
    context.kinds.injected += figures.tokens;
}

fn of_option(message: &'static str) -> Warning {
    // The first word names the option.
    let rule = message.split(' ').next().unwrap_or_default();
    Warning { kind: WarningKind::Option, rule, message: message.to_owned(), index: None, count: 1 }
}

/// Adds a warning, or another place to one that is there.
fn gather(warnings: &mut Vec<Warning>, kind: WarningKind, rule: &'static str, words: &str, index: Option<usize>) {
    if let Some(known) = warnings.iter_mut().find(|known| known.kind == kind && known.rule == rule) {
        known.count += 1;
        return;
    }
    warnings.push(Warning { kind, rule, message: words.to_owned(), index, count: 1 });
}
