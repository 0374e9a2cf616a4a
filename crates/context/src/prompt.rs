//! The end of the pipeline: a context becomes a provider's payload, and the validator, which knows nothing of the renderer,
//! looks at it.
//!
//! Goes in: a prepared history and options. Comes out: a [`Prompt`]. Whatever rendering changed is a warning, and a line of the
//! ledger where it changed what is said; whatever the validator still finds is a warning of the kind
//! [`WarningKind::Invalid`]. Nothing is passed over in silence.

use serde_json::Value;
use threadkeep_core::{Message, Role};
use threadkeep_provider::{
    CLOSING, Note, NoteRule, OPENING, Provider, RenderOptions, partial, render, validate_payload,
};

use crate::tokens::{Cost, Counter, cost};

use super::facts::characters;
use super::{Action, Context, Figures, Fit, Frame, History, Item, Kinds, Line, Options, Plan, Prepared, prepare, rule};

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
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase"))]
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
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "ContextWarning"))]
pub struct Warning {
    /// `option`: an option has no effect. `changed`: the payload says something otherwise than the messages do. `invalid`: the provider
    /// will probably refuse the payload.
    #[cfg_attr(feature = "ts", ts(inline))]
    pub kind: WarningKind,
    /// A short stable word.
    pub rule: &'static str,
    /// It in words.
    pub message: String,
    /// The first place that it is about, in `messages` (for `invalid`, in the payload's list); `null` for the whole.
    pub index: Option<usize>,
    /// At how many places it is so.
    pub count: usize,
}

/// Builds a prompt from a history. Use [`prepare`] and [`Prepared::prompt`] where the same history is used again.
///
/// ```
/// use threadkeep_context::{Options, items, prompt};
/// use threadkeep_provider::{Provider, RenderOptions};
/// use threadkeep_context::tokens::Estimate;
/// use threadkeep_core::Message;
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
    prepare(history, options, counter).prompt(&history, options, rendering, counter)
}

/// The frame, with room for the user message that rendering puts at the end of a history which ends with the assistant.
pub fn frame_figures(
    frame: &Frame,
    history: &dyn History,
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
fn closes(history: &dyn History, provider: Provider, rendering: &RenderOptions) -> bool {
    if !matches!(provider, Provider::Anthropic | Provider::Gemini) || rendering.prefill {
        return false;
    }
    let spoken =
        |message: &&Message| message.include_in_context && !matches!(message.role, Role::System | Role::Developer);
    let mut messages = (0..history.len()).rev().filter_map(|index| history.item(index)).map(|item| item.message);
    // An interrupted reply is followed by its mark.
    let answers =
        |last: &Message| last.role == Role::Assistant && last.tool_calls.is_empty() && partial(last).is_none();
    messages.find(spoken).is_some_and(answers)
}

fn added(text: &str, provider: Provider, counter: &dyn Counter) -> Figures {
    let message = Message::user(text);
    Figures { tokens: u64::from(cost(&message, provider, counter).total()), messages: 1, chars: characters(&message) }
}

impl Prepared {
    /// Decides, puts the prompt together, renders and validates it. `history` is what was prepared with the same options.
    pub fn prompt<'a>(
        &self,
        history: &dyn History<'a>,
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
        for (place, mark) in context.ledger.parts.kept.iter().enumerate() {
            if mark.1.action == Action::Previewed {
                let index = context.messages.len() - context.ledger.parts.kept.len() + place;
                let words =
                    "a large tool result is shown by its beginning and the path of the whole: toolResult() gives it";
                gather(&mut warnings, WarningKind::Changed, rule::TOOL_RESULT_PREVIEW, words, Some(index));
            }
        }
        for note in rendered.notes.iter().rev() {
            enter(&mut context, note, options.provider, counter);
        }
        for note in &rendered.notes {
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
        self.entries(fit).map(|(entry, mark)| (mark, self.made(entry, fit)))
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
        NoteRule::EmptyMessage => return leave_out(context, note),
        NoteRule::UnansweredCall
        | NoteRule::OrphanResult
        | NoteRule::RepeatedResult
        | NoteRule::MovedResult
        | NoteRule::UnknownRole
        | NoteRule::LateSystem => {
            if let Place::Kept(at) = place(context, note.index) {
                let mark = &mut context.ledger.change().kept[at].1;
                if mark.action == Action::Kept {
                    (mark.action, mark.rule) = (Action::Repaired, note.rule.name());
                }
            }
            return;
        }
        _ => return,
    };
    let figures = added(text, provider, counter);
    let parts = context.ledger.change();
    if note.rule == NoteRule::Opening {
        parts.head.push(Line::injected(0, note.rule.name(), figures.tokens as u32));
    } else {
        let reply = parts.tail.last().is_some_and(|line| line.rule == rule::REPLY);
        let at = parts.tail.len() - usize::from(reply);
        let index = parts.history;
        parts.tail.insert(at, Line::injected(index, note.rule.name(), figures.tokens as u32));
    }
    context.figures = context.figures.plus(figures);
    context.kinds.injected += figures.tokens;
}

/// Where the line of a prompt's message is.
enum Place {
    Head(usize),
    Kept(usize),
    /// What is remembered: it stands inside the history, or at its end.
    Memory,
    Nowhere,
}

/// Where the line of the message at `index` in the prompt is.
fn place(context: &Context, index: usize) -> Place {
    let parts = &context.ledger.parts;
    let beside = [rule::TOOL_SCHEMAS, rule::REPLY, NoteRule::Opening.name(), NoteRule::Closing.name()];
    // Of the message that quotes what is remembered, the first line counts.
    let spoken = |line: &&Line| !beside.contains(&line.rule) && line.memory.is_none();
    let head = parts.head.iter().filter(spoken).count();
    if index < head {
        return Place::Head(index);
    }
    // What stands inside the history stands before the first entry from its place on.
    let mut left = index - head;
    let inside =
        parts.inside.first().map_or(parts.kept.len(), |(at, _)| parts.kept.partition_point(|(place, _)| place < at));
    if left < inside {
        return Place::Kept(left);
    }
    left -= inside;
    let messages = parts.inside.iter().map(|(_, line)| line).filter(spoken).count();
    if left < messages {
        return Place::Memory;
    }
    left -= messages;
    if inside + left < parts.kept.len() {
        return Place::Kept(inside + left);
    }
    left -= parts.kept.len() - inside;
    if left < parts.tail.iter().filter(spoken).count() { Place::Memory } else { Place::Nowhere }
}

/// Takes a message out of the prompt that says nothing to its provider: what is not sent costs nothing.
fn leave_out(context: &mut Context, note: &Note) {
    let place = place(context, note.index);
    let Some(cost) = context.costs.get(note.index).copied() else { return };
    let message = context.messages.remove(note.index);
    context.costs.remove(note.index);
    let gone = Figures { tokens: u64::from(cost), messages: 1, chars: characters(&message) };
    context.figures = context.figures.minus(gone);
    let parts = context.ledger.change();
    let mut kinds = Kinds::default();
    match place {
        Place::Kept(at) => {
            let (entry, mark) = &mut parts.kept[at];
            if let Some(entry) = parts.entries.get(*entry) {
                let shown = if mark.action == Action::Previewed { None } else { Some(entry.cost) };
                entry.add_kinds(shown.unwrap_or(Cost { content: cost, ..Cost::default() }), &mut kinds);
            }
            (mark.action, mark.rule, mark.tokens_after, mark.kept) = (Action::Repaired, rule::EMPTY_MESSAGE, 0, false);
        }
        Place::Head(at) => kinds.system = u64::from(std::mem::take(&mut parts.head[at].tokens_after)),
        // What is remembered always says something.
        Place::Memory | Place::Nowhere => {}
    }
    context.kinds = context.kinds.minus(kinds);
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
