//! Short ways to write histories and to look at contexts.

use threadkeep_context::tokens::Counter;
use threadkeep_context::{Action, Context, Item, Line, Options, Prompt, build, items, rule};
use threadkeep_core::{Content, Message, Role, ToolCall};
use threadkeep_provider::{NoteRule, Provider, RenderOptions, render, validate_payload};

/// Counts characters, so that a message's cost can be seen: one each.
pub struct Letters;

impl Counter for Letters {
    fn count(&self, text: &str) -> u32 {
        text.chars().count() as u32
    }
}

/// A history as text: a line a message, its role's first letter, then what it says. `a one (c1 c2)` calls, `t c1 text`
/// answers, `- ` before it hides it, `* ` pins it.
pub fn history(text: &str) -> Vec<Message> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(message).collect()
}

fn message(line: &str) -> Message {
    if let Some(line) = line.strip_prefix("- ") {
        return Message { include_in_context: false, ..message(line) };
    }
    if let Some(line) = line.strip_prefix("* ") {
        return Message { pinned: true, ..message(line) };
    }
    let (role, said) = line.split_once(' ').unwrap_or((line, ""));
    match role {
        "s" => Message::system(said),
        "u" => Message::user(said),
        "t" => {
            let (id, said) = said.split_once(' ').unwrap_or((said, ""));
            Message::tool(id, said)
        }
        "a" => {
            let (said, calls) = said.strip_suffix(')').and_then(|said| said.split_once('(')).unwrap_or((said, ""));
            let mut message = Message::assistant(said.trim());
            for id in calls.split_whitespace() {
                message.tool_calls.push(ToolCall::function(id, "f", "{}"));
            }
            message
        }
        other => Message::new(Role::from(other), said),
    }
}

/// A prompt as [`history`] writes it.
pub fn shown<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let line = |message: &Message| {
        let calls: Vec<&str> = message.tool_calls.iter().map(ToolCall::id).collect();
        let id = message.tool_call_id.clone().map(|id| format!("{id} ")).unwrap_or_default();
        let calls = if calls.is_empty() { String::new() } else { format!(" ({})", calls.join(" ")) };
        let line = format!("{} {id}{}{calls}", &message.role.as_str()[..1], message.text());
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    messages.into_iter().map(|message| line(message) + "\n").collect()
}

/// Lines without their indentation.
pub fn lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// The context of a history, and what it shows.
pub fn context<'a>(items: &[Item<'a>], options: &Options) -> Context<'a> {
    let context = build(items, options, &Letters);
    check_sums(&context);
    context
}

/// Builds the context of a history and holds its messages against `expected`.
#[track_caller]
pub fn check(given: &str, options: &Options, expected: &str) -> Vec<Line> {
    let history = history(given);
    let context = context(&items(&history), options);
    let found = shown(context.messages.iter().map(|message| &**message));
    assert!(found == lines(expected), "expected:\n{}\nfound:\n{found}", lines(expected));
    context.ledger.to_vec()
}

/// The rules by which the messages with these actions came to be, with their places.
pub fn rules(ledger: &[Line], action: Action) -> Vec<(usize, &'static str)> {
    ledger.iter().filter(|line| line.action == action).map(|line| (line.index, line.rule)).collect()
}

/// Renders a context for its provider: what comes out is valid, and rendering had no pairs to mend.
#[track_caller]
pub fn check_rendered(context: &Context, provider: Provider) {
    let messages: Vec<&Message> = context.messages.iter().map(|message| &**message).collect();
    let options = RenderOptions { model: Some("m".into()), ..RenderOptions::default() };
    let rendered = render(&messages, provider, &options);
    let findings = validate_payload(&rendered.payload, provider);
    let found = || findings.iter().map(|finding| format!("{finding:?}\n")).collect::<String>();
    assert!(findings.is_empty() || context.messages.is_empty(), "{provider:?}:\n{}{:#}", found(), rendered.payload);
    // Calls in a foreign form, as parts of the content, are not rendered as calls.
    let foreign = |message: &&Message| match &message.content {
        Content::Parts(parts) => parts.iter().any(|part| part.kind().contains("tool_")),
        _ => false,
    };
    if messages.iter().any(foreign) {
        return;
    }
    let mended = [NoteRule::UnansweredCall, NoteRule::OrphanResult, NoteRule::RepeatedResult, NoteRule::MovedResult];
    let notes: Vec<_> = rendered.notes.iter().filter(|note| mended.contains(&note.rule)).collect();
    assert!(notes.is_empty(), "{provider:?}: {notes:?}");
}

/// What must hold of every prompt: the ledger says what is sent, and nothing that is not sent has tokens.
#[track_caller]
pub fn check_prompt(prompt: &Prompt) {
    let context = &prompt.context;
    let ledger: u64 = context.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
    assert_eq!(ledger, context.figures.tokens, "the ledger's sum is not the count");
    assert_eq!(context.kinds.total(), context.figures.tokens, "the kinds' sum is not the count");
    let empty = prompt.warnings.iter().filter(|warning| warning.rule == NoteRule::EmptyMessage.name());
    let left: usize = empty.map(|warning| warning.count).sum();
    let gone = context.ledger.iter().filter(|line| line.rule == rule::EMPTY_MESSAGE);
    assert!(gone.clone().all(|line| line.tokens_after == 0), "what is not sent has tokens");
    assert!(gone.count() >= left, "a message that is not sent has no line that says so");
    let words = [rule::TOOL_SCHEMAS, rule::REPLY, NoteRule::Opening.name(), NoteRule::Closing.name()];
    let sent = context.ledger.iter().filter(|line| line.tokens_after > 0 && !words.contains(&line.rule)).count();
    assert_eq!(sent, context.messages.len(), "not one line with tokens for each message that is sent");
}

/// What must hold of every context.
#[track_caller]
pub fn check_sums(context: &Context) {
    let ledger: u64 = context.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
    assert_eq!(ledger, context.figures.tokens, "the ledger's sum is not the count");
    assert_eq!(context.kinds.total(), context.figures.tokens, "the kinds' sum is not the count");
    let beside = context.ledger.iter().filter(|line| [rule::TOOL_SCHEMAS, rule::REPLY].contains(&line.rule));
    let beside: u64 = beside.map(|line| u64::from(line.tokens_after)).sum();
    let costs: u64 = context.costs.iter().map(|cost| u64::from(*cost)).sum();
    assert_eq!(costs + beside, context.figures.tokens, "the messages' sum is not the count");
    assert_eq!(context.messages.len() as u64, context.figures.messages);
    assert_eq!(context.costs.len(), context.messages.len());
}
