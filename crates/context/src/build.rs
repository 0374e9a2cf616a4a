//! The pipeline: from a history and options to a context.
//!
//! The order is that of the data's way: compress, preview, frame, fit, validate. Each step writes into the ledger, whose sums equal
//! the context's count. Turning the messages into a provider's payload is [`provider`](threadkeep_provider)'s.

use std::borrow::Cow;

use threadkeep_core::sort;
use threadkeep_core::{Message, Role};
use threadkeep_provider::{Finding, Provider, validate_messages};

use crate::tokens::Counter;

use super::budget::{Budget, Figures, Limits, Policy};
use super::compress::{CompressOptions, decide};
use super::fit::{Fit, Plan};
use super::frame::{Frame, FrameOptions};
use super::ledger::Parts;
use super::select::leave_out_results;
use super::{
    Action, History, Item, Kinds, Ledger, Line, Prepared, Previews, Replacement, Selection, System, items, rule,
};

/// How a context is built.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Whose prompt it is.
    pub provider: Provider,
    /// How much it may hold.
    pub budget: Budget,
    /// Which of the history goes first.
    pub policy: Policy,
    /// Messages to keep, by their place in the history, beside those that are marked as pinned.
    pub pins: Vec<usize>,
    /// What stands around the history.
    pub frame: FrameOptions,
    /// How old code turns are compressed; `None`, the default, for not at all.
    pub compress: Option<CompressOptions>,
    /// When tool results are previewed.
    pub previews: Previews,
    /// Whether calls at the end that have no result are still running.
    pub live: bool,
    /// Which messages it may have.
    pub selection: Selection,
    /// What becomes of the history's own instructions, unless the frame has a system prompt: that stands in their place.
    pub system: System,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            provider: Provider::default(),
            budget: Budget::default(),
            policy: Policy::default(),
            pins: Vec::new(),
            frame: FrameOptions::default(),
            compress: None,
            previews: Previews::default(),
            live: false,
            selection: Selection::default(),
            system: System::Kept,
        }
    }
}

/// How a history is prepared. The engine keeps a prepared chain for other requests with an equal value, so all options that
/// [`prepare_with`] acts on are here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preparing {
    /// Whose messages are counted.
    pub provider: Provider,
    /// When tool results are previewed.
    pub previews: Previews,
    /// Whether calls at the end that have no result are still running. Otherwise they were aborted.
    pub live: bool,
    /// What becomes of the history's own instructions.
    pub system: System,
    /// How old code turns are compressed; `None` for not at all.
    pub compress: Option<CompressOptions>,
    /// Which messages prompts may have.
    pub selection: Selection,
}

/// How messages are trimmed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrimOptions {
    /// Whose messages are counted, and what they must begin with.
    pub provider: Provider,
    /// How much is kept.
    pub budget: Budget,
    /// Which messages go first.
    pub policy: Policy,
    /// Messages to keep, by their place in the list.
    pub pins: Vec<usize>,
    /// Whether the instructions stay or are left out.
    pub system: System,
    /// Whether the limits come before what must stay (see [`Plan::strict`]), as for `getRecent`.
    pub strict: bool,
}

/// The messages of a prompt, and the account of how they came about.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The messages, frame first; borrowed where they are the history's own.
    pub messages: Vec<Cow<'a, Message>>,
    /// What each of them costs, in tokens.
    pub costs: Vec<u32>,
    /// One line for each message of the history and of the frame, one for the tools and one for the reply. They are made when they
    /// are first read.
    pub ledger: Ledger,
    /// What the prompt holds. Its tokens are the sum of the ledger's.
    pub figures: Figures,
    /// The limits that held.
    pub limits: Limits,
    /// Whether what must stay is over them: then no model should be called.
    pub over_budget: bool,
    /// The tokens, by what they are for.
    pub kinds: Kinds,
    /// What its builder should know.
    pub warnings: Vec<&'static str>,
    /// What the provider would refuse as it is: [`render`](threadkeep_provider::render) repairs it, and says so. Empty for what
    /// was not built for a provider.
    pub findings: Vec<Finding>,
}

/// Whether a provider's prompts must begin with a user's message.
pub fn opens_with_user(provider: Provider) -> bool {
    matches!(provider, Provider::Anthropic | Provider::Gemini)
}

/// Builds the context of a history.
///
/// ```
/// use threadkeep_core::Message;
/// use threadkeep_context::{Budget, Options, build, items};
/// use threadkeep_context::tokens::Estimate;
/// let history = [Message::user("an old question"), Message::assistant("an answer"), Message::user("a new one")];
/// let options = Options { budget: Budget::tokens(12), ..Options::default() };
/// let context = build(&items(&history), &options, &Estimate);
/// assert_eq!(context.messages.len(), 1);
/// assert_eq!(context.figures.tokens, 10);
/// assert_eq!(context.ledger[0].rule, "over-max-tokens");
/// ```
pub fn build<'a>(history: &[Item<'a>], options: &Options, counter: &dyn Counter) -> Context<'a> {
    let frame = Frame::new(&options.frame, options.provider, counter);
    let prepared = prepare(history, options, counter);
    let fit = prepared.fit(&options.plan(&frame));
    let mut context = prepared.context(&history, &fit, &frame);
    context.warnings.extend(options.warnings());
    let messages: Vec<&Message> = context.messages.iter().map(|message| &**message).collect();
    context.findings = validate_messages(&messages, options.provider);
    context
}

/// Prepares a history as the options ask, for any number of budgets, policies and pins.
pub fn prepare(history: &[Item], options: &Options, counter: &dyn Counter) -> Prepared {
    prepare_with(history, None, options.preparing(), counter)
}

/// Like [`prepare`], for a history over which a checkpoint was laid: its summary, and what stands for
/// what it cleared.
pub fn prepare_with(
    history: &[Item],
    summary: impl IntoIterator<Item = Replacement>,
    preparing: Preparing,
    counter: &dyn Counter,
) -> Prepared {
    let mut replaced: Vec<Replacement> = summary.into_iter().collect();
    if let Some(compress) = &preparing.compress {
        let laid: Vec<usize> = replaced.iter().map(|other| other.index).collect();
        let messages: Vec<&Message> = history.iter().map(|item| item.message).collect();
        for (index, verdict) in decide(&messages, compress).into_iter().enumerate() {
            let free = history[index].out.is_none() && !laid.contains(&index);
            if let (Some(message), Some(rule), true) = (verdict.replacement, verdict.rule, free) {
                replaced.push(Replacement { index, message, action: Action::Compressed, rule });
            }
        }
    }
    if !preparing.selection.tool_results {
        leave_out_results(history, &mut replaced);
    }
    sort::sort_by_key(&mut replaced, |other| other.index);
    Prepared::with_replaced(history, &replaced, preparing, counter)
}

/// Trims a list of messages: the same as [`build`] without a frame and without previews.
pub fn trim_messages<'a>(messages: &'a [Message], options: &TrimOptions, counter: &dyn Counter) -> Context<'a> {
    trim(&items(messages), options, counter)
}

/// Like [`trim_messages`], for a history of which more may be known.
pub fn trim<'a>(history: &[Item<'a>], options: &TrimOptions, counter: &dyn Counter) -> Context<'a> {
    let preparing = options.preparing();
    let prepared = Prepared::new(history, preparing, counter);
    let plan = Plan {
        budget: options.budget,
        policy: options.policy,
        pins: &options.pins,
        opens_with_user: !options.strict && opens_with_user(options.provider),
        strict: options.strict,
        ..Plan::default()
    };
    let fit = prepared.fit(&plan);
    prepared.context(&history, &fit, &Frame::default())
}

impl Preparing {
    /// Whether a chain that grows leaves what was prepared as it is. Compression looks at the whole chain, so growth can change its
    /// beginning. So does a selection without tool results, which stay after the newest user message.
    pub fn grows(&self) -> bool {
        // A new field is named here: with `_` if `Facts::read` or the grouping acts on it, for they read what is new. A step of
        // `prepare_with` is not done again for what is new, so its field must be below.
        let Self { compress, selection, provider: _, previews: _, live: _, system: _ } = self;
        compress.is_none() && selection.tool_results
    }
}

impl TrimOptions {
    /// How the messages are prepared for these options.
    pub fn preparing(&self) -> Preparing {
        let previews = Previews::Never;
        let selection = Selection::all();
        Preparing { provider: self.provider, system: self.system, previews, selection, ..Preparing::default() }
    }
}

impl Options {
    /// How the history is prepared for these options.
    pub fn preparing(&self) -> Preparing {
        // A new option is named here: below if `prepare_with` acts on it, else with `_`.
        let Self { provider, previews, live, system, compress, selection, frame, budget: _, policy: _, pins: _ } = self;
        let own = frame.system_prompt.as_ref().is_some_and(|prompt| !prompt.trim().is_empty());
        Preparing {
            provider: *provider,
            previews: *previews,
            live: *live,
            system: if own { System::Replaced } else { *system },
            compress: *compress,
            selection: selection.clone(),
        }
    }

    /// What is to be kept, with that frame.
    pub fn plan(&self, frame: &Frame) -> Plan<'_> {
        Plan {
            budget: self.budget,
            policy: self.policy,
            pins: &self.pins,
            frame: frame.figures(),
            opens_with_user: opens_with_user(self.provider),
            ..Plan::default()
        }
    }

    /// What the options ask for that has no effect or cannot be.
    pub fn warnings(&self) -> Vec<&'static str> {
        use super::Mode;
        let mut warnings = Vec::new();
        if self.budget.limits().underflow {
            warnings.push("maxOutputTokens and safetyMargin leave nothing of maxContextTokens for input");
        }
        if self.frame.persona.is_some() && !matches!(self.frame.mode, Some(Mode::Agent | Mode::Run)) {
            warnings.push("persona is only used in the modes agent and run");
        }
        if self.frame.run.is_some() && self.frame.mode != Some(Mode::Run) {
            warnings.push("run is only used in the mode run");
        }
        warnings
    }
}

impl Prepared {
    /// Puts the prompt together: the frame, and what `fit` keeps of the history. `history` is the one that was prepared; only what is
    /// kept is looked at.
    pub fn context<'a>(&self, history: &dyn History<'a>, fit: &Fit, frame: &Frame) -> Context<'a> {
        let mut messages: Vec<Cow<'a, Message>> = Vec::new();
        let mut costs = Vec::new();
        let mut parts = Parts {
            entries: self.groups.entries.clone(),
            fit: Some(fit.clone()),
            history: self.len(),
            quoted: frame.quoted.clone(),
            ..Parts::default()
        };
        let memory = frame.parts.iter().position(|(_, rule, _)| *rule == rule::MEMORY).unwrap_or(frame.parts.len());
        let (first, memory) = frame.parts.split_at(memory);
        for (message, rule, cost) in first {
            parts.head.push(Line::injected(0, rule, cost.total()));
            messages.push(Cow::Owned(message.clone()));
            costs.push(cost.total());
        }
        if frame.tools() > 0 {
            parts.head.push(Line::injected(0, rule::TOOL_SCHEMAS, frame.tools()));
        }
        // What is remembered changes with the user's input. Before the newest one, it leaves the prompt's beginning as it was.
        let newest = self.groups.newest_user.filter(|group| fit.keeps(*group));
        // Where the user says nothing it comes before all but instructions: the end may be a turn that its server goes on with.
        let place = newest.map_or(0, |group| self.groups.list[group as usize].first as usize);
        let instructs = |message: &Message| newest.is_none() && matches!(message.role, Role::System | Role::Developer);
        let mut memory = memory.iter();
        let mut put = |messages: &mut Vec<Cow<'a, Message>>, costs: &mut Vec<u32>, index: usize| {
            let lines = memory.by_ref().flat_map(|(message, rule, cost)| {
                messages.push(Cow::Owned(message.clone()));
                costs.push(cost.total());
                frame.lines(index, rule, cost.total())
            });
            lines.collect::<Vec<Line>>()
        };
        for (at, entry) in self.in_prompt(fit) {
            let message = match self.made(entry, fit) {
                Some(made) => Cow::Owned(made.clone()),
                None => match history.item(entry.index as usize) {
                    Some(item) => Cow::Borrowed(item.message),
                    None => continue,
                },
            };
            if at >= place && !instructs(&message) {
                let lines = put(&mut messages, &mut costs, entry.index as usize);
                parts.inside.extend(lines.into_iter().map(|line| (at, line)));
            }
            let mark = self.mark(entry, fit);
            parts.kept.push((at, mark));
            messages.push(message);
            costs.push(mark.tokens_after);
        }
        parts.tail = put(&mut messages, &mut costs, self.len());
        if frame.reply() > 0 {
            parts.tail.push(Line::injected(self.len(), rule::REPLY, frame.reply()));
        }
        let mut kinds = self.kinds(fit);
        frame.add_kinds(&mut kinds);
        Context {
            messages,
            costs,
            ledger: Ledger::new(parts),
            figures: fit.figures,
            limits: fit.limits,
            over_budget: fit.over_budget,
            kinds,
            warnings: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The places in the history of the messages that `fit` keeps, as they stand in the prompt; what is put in is not there.
    pub fn kept<'a>(&'a self, fit: &'a Fit) -> impl Iterator<Item = usize> + 'a {
        self.in_prompt(fit).filter(|(_, entry)| !entry.injected).map(|(_, entry)| entry.index as usize)
    }
}
