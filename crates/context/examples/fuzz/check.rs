//! What must hold, whatever is tried.

use serde_json::{Value, json};
use threadkeep_context::compress::{CompressOptions, compress, compress_history};
use threadkeep_context::tokens::{Calibration, Counter, Estimate, cost, estimate_message, tools_cost};
use threadkeep_context::{
    Action, Budget, Context, Options, Prepared, Previews, Selection, TrimOptions, build, items, prepare, prompt, rule,
    trim_messages,
};
use threadkeep_core::{Content, Kind, Message, Role};
use threadkeep_protocol::{ContextOptions, trim_options};
use threadkeep_provider::{
    INTERRUPTED, NoteRule, RenderOptions, render, render_json, validate_json, validate_messages, validate_payload,
};
use threadkeep_tokens::{Bpe, Growing};

use crate::make::{any, mutate};
use crate::random::Random;
use crate::transcripts::unpaired;

/// What is tried in one step.
#[derive(Clone)]
pub struct Case {
    pub messages: Vec<Message>,
    pub options: Options,
    pub rendering: RenderOptions,
    /// Whether the JSON of messages was damaged: then they can hold anything, and only the validator judges the pairs.
    pub damaged: bool,
    /// Whether tokens are counted exactly, or estimated.
    pub exact: bool,
    /// Which of the rarer checks are made.
    pub way: u64,
}

/// Returns what is wrong: a word for the rule, then the particulars.
type Found = Result<(), (&'static str, String)>;

fn hold(holds: bool, rule: &'static str, particulars: impl FnOnce() -> String) -> Found {
    if holds { Ok(()) } else { Err((rule, particulars())) }
}

/// Says something of its own to the model: then it counts as the user's newest message.
fn speaks(message: &Message) -> bool {
    let says = match &message.content {
        Content::Text(text) => !text.trim().is_empty() && text != INTERRUPTED,
        Content::Absent | Content::Null => message.extra.get("refusal").is_some(),
        Content::Parts(parts) if parts.iter().all(|part| part.as_text().is_some_and(|text| text.trim().is_empty())) => {
            false
        }
        Content::Parts(parts) => parts.iter().any(|part| !part.kind().ends_with("tool_result")),
    };
    // What failed on the user's side is a mark in the prompt, and no input.
    let told = matches!(message.kind, Kind::Summary { .. } | Kind::Error { .. });
    !told && message.role == Role::User && message.include_in_context && says
}

/// Has results in its parts: whoever says so, it belongs to the calls.
fn answers(message: &Message) -> bool {
    matches!(&message.content, Content::Parts(parts) if parts.iter().any(|part| part.kind().ends_with("tool_result")))
}

/// Has a call of the server's whose result is not with it: what stands between the two in a prompt (results of the client's
/// tools) is taken for the turn's end when the prompt is read again.
fn waits(message: &Message) -> bool {
    let Content::Parts(parts) = &message.content else { return false };
    let of = |ending: &str| parts.iter().filter(|part| part.kind().ends_with(ending)).count();
    of("server_tool_use") > of("_tool_result")
}

/// Makes the context of a case and looks at it.
pub fn check(case: &Case, bpe: &Bpe) -> Found {
    let counter: &dyn Counter = if case.exact { bpe } else { &Estimate };
    let items = items(&case.messages);
    let context = build(&items, &case.options, counter);
    sums(&context)?;
    let limits = case.options.budget.limits();
    hold(limits.hold(context.figures) != context.over_budget, "over-budget", || format!("{:?}", context.figures))?;
    kept(case, &context)?;
    let messages: Vec<&Message> = context.messages.iter().map(|message| &**message).collect();
    if let Some(wrong) = unpaired(messages.iter().copied()).filter(|_| !case.damaged) {
        return Err(("pairs", wrong));
    }
    let rendered = render(&messages, case.options.provider, &case.rendering);
    let findings = validate_payload(&rendered.payload, case.options.provider);
    hold(findings.is_empty(), "invalid-payload", || format!("{findings:?}\n{:#}", rendered.payload))?;
    if case.way.is_multiple_of(32) {
        let again = build(&items, &case.options, counter);
        hold(again.messages == context.messages && again.ledger == context.ledger, "not-the-same-twice", String::new)?;
        let messages: Vec<&Message> = again.messages.iter().map(|message| &**message).collect();
        let again = render(&messages, case.options.provider, &case.rendering);
        // As text: the order of the fields counts.
        let [first, second] = [&rendered, &again].map(|rendered| rendered.payload.to_string());
        hold(first == second, "not-the-same-twice", String::new)?;
    }
    match case.way / 32 % 16 {
        0 | 1 => whole(case, counter),
        2 => grown(case, counter),
        3 => strict(case, counter),
        4 => compressed(case),
        5 if !case.damaged && !case.messages.iter().any(waits) => twice(case, &context, counter),
        _ => Ok(()),
    }
}

/// The ledger, the kinds and the messages say the same count.
fn sums(context: &Context) -> Found {
    let total = context.figures.tokens;
    let ledger: u64 = context.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
    hold(ledger == total, "ledger-sum", || format!("{ledger} is not {total}"))?;
    hold(context.kinds.total() == total, "kinds-sum", || format!("{:?} is not {total}", context.kinds))?;
    let beside = context.ledger.iter().filter(|line| [rule::TOOL_SCHEMAS, rule::REPLY].contains(&line.rule));
    let beside: u64 = beside.map(|line| u64::from(line.tokens_after)).sum();
    let costs: u64 = context.costs.iter().map(|cost| u64::from(*cost)).sum();
    hold(costs + beside == total, "costs-sum", || format!("{costs} and {beside} are not {total}"))?;
    let all = context.messages.len();
    hold(all as u64 == context.figures.messages && all == context.costs.len(), "messages-sum", || all.to_string())
}

/// What must stay is there, what must not is not, and every message has its line.
fn kept(case: &Case, context: &Context) -> Found {
    let lines = || context.ledger.iter().filter(|line| line.tokens_before > 0);
    hold(lines().count() == case.messages.len(), "a-line-for-each", || lines().count().to_string())?;
    let line = |index: usize| lines().find(|line| line.index == index);
    if let Some(newest) = case.messages.iter().rposition(speaks) {
        let there = line(newest).is_some_and(|line| line.tokens_after > 0);
        hold(there, "newest-user", || format!("message {newest}: {:?}", line(newest)))?;
    }
    let over = [rule::OVER_MAX_TOKENS, rule::OVER_MAX_MESSAGES, rule::OVER_MAX_CHARS];
    let cut = [over.as_slice(), &[rule::STABLE_CUT, rule::LESS_IMPORTANT]].concat();
    for (at, message) in case.messages.iter().enumerate() {
        let Some(line) = line(at) else { return Err(("a-line-for-each", at.to_string())) };
        let stays = message.pinned
            || case.options.pins.contains(&at)
            || matches!(message.role, Role::System | Role::Developer) && !answers(message);
        hold(!stays || line.action != Action::Dropped || !cut.contains(&line.rule), "must-stay", || {
            format!("{line:?}")
        })?;
        hold(message.include_in_context || line.tokens_after == 0, "hidden", || format!("{line:?}"))?;
    }
    Ok(())
}

/// The same with rendering inside, which may add words of its own.
fn whole(case: &Case, counter: &dyn Counter) -> Found {
    let prompt = prompt(&items(&case.messages), &case.options, &case.rendering, counter);
    let context = &prompt.context;
    let ledger: u64 = context.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
    hold(ledger == context.figures.tokens, "prompt-ledger-sum", || format!("{ledger}, {:?}", context.figures))?;
    hold(context.kinds.total() == context.figures.tokens, "prompt-kinds-sum", || format!("{:?}", context.kinds))?;
    let held = case.options.budget.limits().hold(context.figures);
    let beside = [rule::TOOL_SCHEMAS, rule::REPLY, NoteRule::Opening.name(), NoteRule::Closing.name()];
    let sent = context.ledger.iter().filter(|line| line.tokens_after > 0 && !beside.contains(&line.rule)).count();
    hold(sent == context.messages.len(), "not-sent", || format!("{sent} of {}", context.messages.len()))?;
    let silent = |message: &&Message| {
        render(&[*message], case.options.provider, &case.rendering)
            .notes
            .iter()
            .any(|note| note.rule == NoteRule::EmptyMessage)
    };
    let messages: Vec<&Message> = context.messages.iter().map(|message| &**message).collect();
    hold(!case.way.is_multiple_of(4) || !messages.iter().any(silent), "silent-message", || {
        format!("{:?}", messages.iter().find(|m| silent(m)))
    })?;
    hold(held != context.over_budget, "prompt-over-budget", || format!("{:?}", context.figures))?;
    let findings = validate_payload(&prompt.payload, case.options.provider);
    hold(findings.is_empty(), "prompt-invalid-payload", || format!("{findings:?}\n{:#}", prompt.payload))
}

/// A history that grew is prepared as one that came at once.
fn grown(case: &Case, counter: &dyn Counter) -> Found {
    // Compressing looks at the whole history, and results that are left out follow the newest user message. Neither grows.
    let mut options = Options { compress: None, ..case.options.clone() };
    options.selection.tool_results = true;
    let items = items(&case.messages);
    let whole = prepare(&items, &options, counter);
    let mut grown = Prepared::new(&items[..case.way as usize % (items.len() + 1)], options.preparing(), counter);
    grown.extend(&items, counter);
    let plan = options.plan(&Default::default());
    let (a, b) = (whole.fit(&plan), grown.fit(&plan));
    let same = a == b && whole.marks(&a).eq(grown.marks(&b));
    hold(same, "grown", || format!("{a:?}\n{b:?}"))
}

/// Strict trimming is never over its budget.
fn strict(case: &Case, counter: &dyn Counter) -> Found {
    let Options { provider, budget, policy, pins, .. } = case.options.clone();
    // Nothing at all is still over a budget that is less than nothing, and the reply is counted though nothing is said.
    if budget.limits().underflow {
        return Ok(());
    }
    let options = TrimOptions { provider, budget, policy, pins, strict: true, ..TrimOptions::default() };
    let context = trim_messages(&case.messages, &options, counter);
    sums(&context)?;
    let within = budget.limits().hold(context.figures) && !context.over_budget;
    hold(within, "strict-over-budget", || format!("{:?}", context.figures))?;
    match unpaired(context.messages.iter().map(|message| &**message)) {
        Some(wrong) if !case.damaged => Err(("strict-pairs", wrong)),
        _ => Ok(()),
    }
}

/// Compressing twice is compressing once.
fn compressed(case: &Case) -> Found {
    let options = CompressOptions { println_history_limit: case.way as usize % 5, error_window: case.way as usize % 2 };
    let once = |messages: &[Message]| -> Vec<Message> {
        let list: Vec<&Message> = messages.iter().collect();
        let replaced = compress(&list, &options);
        replaced.into_iter().zip(messages).map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect()
    };
    let first = once(&case.messages);
    let second = once(&first);
    hold(first == second, "compressed-twice", String::new)
}

/// A prompt that is made into a prompt again stays as it is.
fn twice(case: &Case, context: &Context, counter: &dyn Counter) -> Found {
    let messages: Vec<Message> = context.messages.iter().map(|message| message.clone().into_owned()).collect();
    let options = Options {
        budget: Budget::default(),
        frame: Default::default(),
        compress: None,
        previews: Previews::Never,
        pins: Vec::new(),
        // A result that came late moves to its call, before the newest user message.
        selection: Selection::all(),
        ..case.options.clone()
    };
    let again = build(&items(&messages), &options, counter);
    let same = again.messages.iter().map(|message| &**message).eq(messages.iter());
    hold(same, "trimmed-again", || {
        let show = |list: &[Message]| list.iter().map(Message::to_json).collect::<Vec<_>>();
        let again: Vec<Message> = again.messages.iter().map(|message| message.clone().into_owned()).collect();
        json!({"before": show(&messages), "after": show(&again)}).to_string()
    })
}

/// Whatever comes from outside, no function panics, and errors are errors.
pub fn hostile(random: &mut Random, options: &Value, messages: &[Message], bpe: &Bpe) -> Found {
    let mut options = options.clone();
    mutate(random, &mut options);
    let _ = ContextOptions::from_json(&options);
    let _ = trim_options(&options.to_string());
    let value = if messages.is_empty() || random.once_in(2) {
        any(random, 6)
    } else {
        let mut list = Value::Array(messages.iter().map(Message::to_json).collect());
        mutate(random, &mut list);
        list
    };
    let provider = random.pick(&threadkeep_provider::Provider::ALL);
    let mut payload = value.clone();
    if let Ok(rendered) = render_json(&value, provider.name(), &Value::Null) {
        let findings = validate_payload(&rendered["payload"], provider);
        hold(findings.is_empty(), "json-invalid-payload", || format!("{findings:?}\n{value}"))?;
        payload = rendered["payload"].clone();
        mutate(random, &mut payload);
    }
    validate_payload(&payload, provider);
    let _ = validate_json(&payload, provider.name());
    let _ =
        validate_json(&json!({"messages": value, "contents": value, "input": value, "tools": value}), provider.name());
    let _ = compress_history(value.clone(), &Value::Null);
    tools_cost(std::slice::from_ref(&value), provider, &Estimate);
    let read = Calibration::from_json(&value).to_json();
    hold(Calibration::from_json(&read).to_json() == read, "calibration-json", || read.to_string())?;
    if let Ok(message) = Message::from_json(value.clone()) {
        hold(message.to_json() == value, "message-json", || value.to_string())?;
        validate_messages(&[&message, &message], provider);
        render(&[&message, &message], provider, &RenderOptions::default());
        cost(&message, provider, &Estimate);
        estimate_message(&message);
    }
    if random.once_in(8) {
        let text = value.to_string();
        let mut growing = Growing::new();
        let mut rest = text.as_str();
        while let Some((at, _)) = rest.char_indices().nth(1 + random.below(12)) {
            growing.push(bpe, &rest[..at]);
            rest = &rest[at..];
        }
        let count = growing.push(bpe, rest);
        hold(count == bpe.count(&text), "growing", || text)?;
    }
    Ok(())
}
