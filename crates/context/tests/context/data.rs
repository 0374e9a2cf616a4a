//! Real transcripts, where they are at hand: every prompt at fifty budgets, both policies and all five providers, rendered,
//! validated and recounted. Nothing is sampled; the chains are shared out among the machine's cores.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::Value;
use threadkeep_context::tokens::{Estimate, cost};
use threadkeep_context::{
    Action, Budget, Context, Frame, FrameOptions, Item, Line, Options, Policy, Prepared, Prompt, WarningKind, items,
    opens_with_user, prepare, rule,
};
use threadkeep_core::{Content, Message, Part, Role, ToolCall};
use threadkeep_provider::{NoteRule, Provider, RenderOptions, validate_payload};

use crate::readers::all;
use crate::transcripts::unpaired;

const BUDGETS: u64 = 50;

/// What came of the prompts that one thread built.
#[derive(Default)]
struct Tally {
    prompts: u64,
    over_budget: u64,
    /// By provider and by how many tenths of the whole the prompt has: that budgets were of all sizes.
    tenths: BTreeMap<(&'static str, u64), u64>,
}

/// One transcript, prepared for one provider.
struct Case<'a> {
    name: &'a str,
    history: &'a [Message],
    items: &'a [Item<'a>],
    options: Options,
    prepared: Prepared,
    /// The place of the user's newest message.
    newest: Option<usize>,
}

fn spoken(message: &Message) -> bool {
    message.role == Role::User && message.include_in_context
}

/// The texts of a message, as a provider must see them.
fn texts(message: &Message) -> Vec<&str> {
    let all: Vec<&str> = match &message.content {
        Content::Text(text) => vec![text],
        Content::Parts(parts) => parts.iter().filter_map(Part::as_text).collect(),
        _ => Vec::new(),
    };
    all.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect()
}

/// Whether a payload says something somewhere; the newest is looked at first.
fn says(payload: &Value, what: &str) -> bool {
    match payload {
        Value::String(text) => text.contains(what),
        Value::Array(list) => list.iter().rev().any(|value| says(value, what)),
        Value::Object(map) => map.values().rev().any(|value| says(value, what)),
        _ => false,
    }
}

impl Case<'_> {
    fn check(&self, prompt: &Prompt) {
        let context = &prompt.context;
        let place = || {
            format!("{}, {:?}, {:?} {:?}", self.name, self.options.provider, self.options.policy, self.options.budget)
        };
        check_ledger(context);
        self.check_payload(prompt, &place);
        self.check_budget(prompt, &place);
        let messages = || context.messages.iter().map(|message| &**message);
        if let Some(wrong) = unpaired(messages()) {
            panic!("{wrong}: {}", place());
        }
        if let Some(newest) = self.newest {
            let line = context.ledger.iter().find(|line| line.index == newest && line.tokens_before > 0).unwrap();
            assert!(line.tokens_after > 0, "the newest user message is gone: {line:?}: {}", place());
            for text in texts(&self.history[newest]) {
                assert!(says(&prompt.payload, text), "the payload does not say {text:?}: {}", place());
            }
        }
        let first = self.history.iter().find(|message| message.role != Role::System);
        if opens_with_user(self.options.provider) && first.is_some_and(spoken) {
            let first = messages().find(|message| !matches!(message.role, Role::System | Role::Developer));
            assert_eq!(first.map(|message| &message.role), Some(&Role::User), "{}", place());
        }
        let counted = context.ledger.iter().filter(|line| line.tokens_before > 0).count();
        assert_eq!(counted, self.items.len(), "not a line for each message: {}", place());
    }

    /// The validator, which shares no code with the renderer, has nothing to say; nor has the renderer had a pair to mend.
    fn check_payload(&self, prompt: &Prompt, place: &dyn Fn() -> String) {
        let findings = validate_payload(&prompt.payload, self.options.provider);
        // Where the user never spoke, a budget of nothing leaves nothing to say.
        let nothing = prompt.context.messages.is_empty() && self.newest.is_none();
        assert!(findings.is_empty() || nothing, "{findings:?}: {}\n{:#}", place(), prompt.payload);
        let invalid = prompt.warnings.iter().any(|warning| warning.kind == WarningKind::Invalid);
        assert_eq!(invalid, !findings.is_empty(), "{}", place());
        // Calls in a foreign form, as parts of the content, are not rendered as calls.
        let foreign = |message: &Message| match &message.content {
            Content::Parts(parts) => parts.iter().any(|part| part.kind().contains("tool_")),
            _ => false,
        };
        if !prompt.context.messages.iter().any(|message| foreign(message)) {
            let mended =
                [NoteRule::UnansweredCall, NoteRule::OrphanResult, NoteRule::RepeatedResult, NoteRule::MovedResult];
            let mended = mended.map(NoteRule::name);
            let found = prompt.warnings.iter().find(|warning| mended.contains(&warning.rule));
            assert!(found.is_none(), "{found:?}: {}", place());
        }
    }

    /// What the prompt holds, counted anew from its messages, is what it says, and within the budget unless it says so.
    fn check_budget(&self, prompt: &Prompt, place: &dyn Fn() -> String) {
        let context = &prompt.context;
        let words = [NoteRule::Opening.name(), NoteRule::Closing.name()];
        let beside = |line: &&Line| {
            [rule::TOOL_SCHEMAS, rule::REPLY].contains(&line.rule)
                || line.action == Action::Injected && words.contains(&line.rule)
        };
        let added = prompt.warnings.iter().filter(|warning| words.contains(&warning.rule)).count() as u64;
        let beside: u64 = context.ledger.iter().filter(beside).map(|line| u64::from(line.tokens_after)).sum();
        let counted = |message: &Message| u64::from(cost(message, self.options.provider, &Estimate).total());
        let tokens = beside + context.messages.iter().map(|message| counted(message)).sum::<u64>();
        let messages = context.messages.len() as u64 + added;
        let length = |text: &str| text.encode_utf16().count() as u64;
        let call = |call: &ToolCall| length(call.name()) + length(call.arguments());
        let chars = |message: &Message| {
            texts(message).into_iter().map(length).sum::<u64>() + message.tool_calls.iter().map(call).sum::<u64>()
        };
        let chars: u64 = context.messages.iter().map(|message| chars(message)).sum();
        assert_eq!((tokens, messages), (context.figures.tokens, context.figures.messages), "{}", place());
        assert!(chars <= context.figures.chars, "{}", place());
        let limits = self.options.budget.limits();
        let within = |limit: Option<u64>, figure: u64| limit.is_none_or(|limit| figure <= limit);
        let holds = within(limits.tokens, tokens)
            && within(limits.messages, messages)
            && within(limits.chars, context.figures.chars);
        assert_eq!(holds, !context.over_budget, "{}", place());
    }
}

/// The account adds up, also where rendering had to add a message of its own.
fn check_ledger(context: &Context) {
    let ledger: u64 = context.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
    assert_eq!(ledger, context.figures.tokens, "the ledger's sum is not the count");
    assert_eq!(context.kinds.total(), context.figures.tokens, "the kinds' sum is not the count");
    assert_eq!(context.costs.len(), context.messages.len());
}

fn check_transcript(name: &str, history: &[Message], tally: &mut Tally) {
    let items = items(history);
    let rendering = RenderOptions { model: Some("m".into()), ..RenderOptions::default() };
    for (place, provider) in Provider::ALL.into_iter().enumerate() {
        let mut options = Options { provider, ..Options::default() };
        options.frame = FrameOptions { system_prompt: (place == 1).then(|| "Help.".into()), ..Default::default() };
        let frame = Frame::new(&options.frame, provider, &Estimate);
        let prepared = prepare(&items, &options, &Estimate);
        let whole = prepared.figures();
        let newest = history.iter().rposition(spoken);
        let mut case = Case { name, history, items: &items, options, prepared, newest };
        for step in 0..BUDGETS {
            case.options.budget = Budget::default();
            match step % 3 {
                0 => case.options.budget.max_tokens = Some(whole.tokens * step / (BUDGETS - 2)),
                1 => case.options.budget.max_messages = Some(whole.messages * step / (BUDGETS - 2)),
                _ => case.options.budget.max_chars = Some(whole.chars * step / (BUDGETS - 2)),
            }
            for policy in [Policy::Newest, Policy::Stable] {
                case.options.policy = policy;
                let fit = case.prepared.fit(&case.options.plan(&frame));
                assert_eq!(case.options.budget.limits().hold(fit.figures), !fit.over_budget, "{name}");
                let prompt = case.prepared.prompt(&items, &case.options, &rendering, &Estimate);
                case.check(&prompt);
                tally.prompts += 1;
                tally.over_budget += u64::from(prompt.context.over_budget);
                let tenth = prompt.context.figures.tokens * 10 / whole.tokens.max(1);
                *tally.tenths.entry((provider.name(), tenth.min(10))).or_default() += 1;
            }
        }
    }
}

#[test]
fn every_transcript_is_sound_at_fifty_budgets() {
    let transcripts = all();
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut tally = Tally::default();
        while let Some((name, history)) = transcripts.get(next.fetch_add(1, Relaxed)) {
            check_transcript(name, history, &mut tally);
        }
        tally
    };
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let prompts: u64 = tallies.iter().map(|tally| tally.prompts).sum();
    let over: u64 = tallies.iter().map(|tally| tally.over_budget).sum();
    // Every budget, both policies, every provider, every transcript: none was left out.
    assert_eq!(prompts, transcripts.len() as u64 * BUDGETS * 2 * Provider::ALL.len() as u64);
    let mut tenths: BTreeMap<_, u64> = BTreeMap::new();
    tallies.iter().flat_map(|tally| &tally.tenths).for_each(|(key, n)| *tenths.entry(*key).or_default() += n);
    let messages: usize = transcripts.iter().map(|(_, history)| history.len()).sum();
    println!(
        "{} transcripts, {messages} messages: {prompts} prompts, {over} of them say that they are over",
        transcripts.len()
    );
    println!("by provider and tenths of the whole: {tenths:?}");
}
