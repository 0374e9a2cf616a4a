//! What two requests begin with, and why it ends.
//!
//! Providers lay a prompt out as tools, instructions and messages. So tools that differ leave nothing in common, and so do two
//! providers.

use serde_json::Value;
use threadkeep_context::rule;
use threadkeep_core::Message;
use threadkeep_provider::{Provider, RenderOptions, render};

use super::items::Pairs;
use crate::journal::Rebuilt;
use crate::protocol::{
    ContextOptions, MessageChange, MessageForm as Form, PrefixBreak as Break, PrefixEnd, SharedPrefix, context_params,
};

/// The lists of messages of the five forms.
const LISTS: [&str; 3] = ["messages", "contents", "input"];
/// What stands beside the list, and before it.
const BESIDE: [&str; 3] = ["system", "systemInstruction", "instructions"];

pub(super) fn shared(
    first: &Rebuilt,
    second: &Rebuilt,
    pairs: &Pairs,
    options: &[String],
    count: &dyn Fn(&str) -> u64,
) -> SharedPrefix {
    let (ours, theirs) = (list(&first.body), list(&second.body));
    let alike = ours.iter().zip(theirs).take_while(|(one, other)| one == other).count();
    let payload = (alike < ours.len().max(theirs.len())).then_some(alike);
    let same_tools = part(&first.body, "tools") == part(&second.body, "tools");
    if first.record.provider != second.record.provider || !same_tools {
        let why = if same_tools { Break::Rendering } else { Break::Tools };
        let option = one_of(options, if same_tools { &["provider"] } else { &["tools", "provider"] });
        return SharedPrefix {
            payload,
            end: Some(PrefixEnd { why, message: None, option }),
            ..SharedPrefix::default()
        };
    }
    let (before, after) = (&first.context.messages, &second.context.messages);
    let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let messages = written_alike(first, second, same);
    let mut tokens = 0;
    let mut next = 0;
    for line in second.context.ledger.iter() {
        let own = line.rule == rule::TOOL_SCHEMAS || line.has_message() && next < messages;
        // The records that a message quotes come after its own line.
        let quoted = line.memory.is_some() && next <= messages && next > 0;
        if own || quoted {
            tokens += u64::from(line.tokens_after);
        }
        next += usize::from(line.has_message());
    }
    let end = if messages < same {
        let option = one_of(options, &["render", "model", "provider"]);
        Some(PrefixEnd { why: Break::Rendering, message: None, option })
    } else if same < before.len().max(after.len()) {
        if let (Some(one), Some(other)) = (before.get(same), after.get(same)) {
            tokens += beginning(one, other).map_or(0, count);
        }
        Some(end(pairs.at(same), options))
    } else {
        let option = || one_of(options, &["render", "model", "provider"]);
        payload.map(|_| PrefixEnd { why: Break::Rendering, message: None, option: option() })
    };
    SharedPrefix { tokens, messages, payload, end }
}

/// The text with which both messages begin, if that is what both are sent with first.
fn beginning<'a>(one: &'a Message, other: &'a Message) -> Option<&'a str> {
    let text = |message: &'a Message| match &message.content {
        threadkeep_core::Content::Text(text) if message.reasoning.is_none() => Some(text.as_str()),
        _ => None,
    };
    let (ours, theirs) = (text(one)?, text(other)?);
    let alike = |same: &bool| *same;
    let chars = ours.chars().zip(theirs.chars()).map(|(ours, theirs)| ours == theirs).take_while(alike).count();
    let end = ours.char_indices().nth(chars).map_or(ours.len(), |(end, _)| end);
    (one.role == other.role && one.name == other.name).then(|| &ours[..end])
}

/// What ends the prefix at a place where the messages differ.
fn end((before, after): (Option<MessageChange>, Option<MessageChange>), options: &[String]) -> PrefixEnd {
    let there = |change: &MessageChange| change.after.as_ref().is_some_and(|state| state.place.is_some());
    let here = |change: &MessageChange| change.before.as_ref().is_some_and(|state| state.place.is_some());
    let in_summary = |change: &MessageChange| change.after.as_ref().is_some_and(|it| it.form == Form::Summarised);
    let (why, message) = match (before, after) {
        (Some(before), Some(after)) if before == after => (Break::Changed, Some(after)),
        (Some(before), _) if in_summary(&before) => (Break::Changed, Some(before)),
        (Some(before), _) if !there(&before) => (Break::Left, Some(before)),
        (_, Some(after)) if !here(&after) => (Break::Entered, Some(after)),
        (before, after) => (Break::Moved, after.or(before)),
    };
    let rules = [message.as_ref().and_then(|it| it.after.as_ref()), message.as_ref().and_then(|it| it.before.as_ref())];
    let by_rule = rules.iter().flatten().find_map(|state| one_of(options, options_of(state.rule)));
    // A message that came in at the end did not need one.
    let cut = || if why == Break::Entered { None } else { one_of(options, &["budget", "policy"]) };
    PrefixEnd { why, message, option: by_rule.or_else(cut) }
}

/// The options that a rule of the ledger acts on.
fn options_of(name: &str) -> &'static [&'static str] {
    match name {
        rule::SYSTEM_PROMPT | rule::REPLACED_BY_FRAME | rule::SYSTEM => &["systemPrompt"],
        rule::PERSONA => &["persona", "mode"],
        rule::MODE_BANNER => &["mode"],
        rule::RUN_DIRECTIVE | rule::NODE_BRIEF | rule::STEP_CONTEXT => &["run", "mode"],
        rule::MEMORY => &["memory"],
        rule::TOOL_RESULT_PREVIEW => &["toolPreview", "budget"],
        rule::RESULT_LEFT_OUT => &["includeToolResultsInContext"],
        rule::COLLAPSED => &["includeCollapsedUiEventsInContext"],
        rule::FILTERED => &["only"],
        rule::COMPRESSED_TURN | rule::MOVED_OUTPUT => &["compressHistory", "printlnHistoryLimit", "errorWindow"],
        rule::PINNED => &["pins"],
        rule::PENDING_CALL | rule::ABORTED_CALL => &["live"],
        rule::CHECKPOINT | rule::SLIDING_WINDOW => &["epoch"],
        rule::OVER_MAX_TOKENS | rule::OVER_MAX_MESSAGES | rule::OVER_MAX_CHARS => &["budget"],
        rule::IMPORTANT | rule::LESS_IMPORTANT => &["policy", "budget"],
        rule::STABLE | rule::STABLE_CUT | rule::NEWEST | rule::OPENS_TURN => &["policy", "budget"],
        _ => &[],
    }
}

/// The first of these names that is among the options.
fn one_of(options: &[String], names: &[&str]) -> Option<String> {
    names.iter().find(|name| options.iter().any(|option| option == *name)).map(|name| (*name).to_owned())
}

/// How many of the messages with which both begin are written alike. Only options of writing can make that fewer.
fn written_alike(first: &Rebuilt, second: &Rebuilt, same: usize) -> usize {
    let options = |rebuilt: &Rebuilt| rebuilt.options.get("render").cloned();
    if first.dialect == second.dialect && options(first) == options(second) {
        return same;
    }
    let forms = [first, second].map(form);
    let alike = |count: usize| {
        let messages: Vec<&Message> = second.context.messages[..count].iter().collect();
        let [one, other] = [(first, &forms[0]), (second, &forms[1])].map(|(rebuilt, (provider, options))| {
            let payload = render(&messages, *provider, options).payload;
            rebuilt.dialect.as_ref().map_or_else(|| payload.clone(), |dialect| dialect.body(&payload))
        });
        list(&one) == list(&other) && BESIDE.iter().all(|name| part(&one, name) == part(&other, name))
    };
    if alike(same) {
        return same;
    }
    let (mut least, mut most) = (0, same);
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        if alike(middle) { least = middle } else { most = middle - 1 }
    }
    least
}

/// How a request is written, with nothing after an answer at its end.
fn form(rebuilt: &Rebuilt) -> (Provider, RenderOptions) {
    let options = context_params(rebuilt.options.clone()).map(ContextOptions::from).unwrap_or_default();
    (options.build.provider, RenderOptions { prefill: true, tools: Default::default(), ..options.render })
}

/// The messages of a body.
fn list(body: &Value) -> &[Value] {
    LISTS.iter().find_map(|name| body.get(name)?.as_array()).map_or(&[], Vec::as_slice)
}

/// A part of a body. The arguments of Gemini's SDK have it one level down.
fn part<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    body.get(name).or_else(|| body.get("config")?.get(name))
}
