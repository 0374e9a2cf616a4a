//! A conversation as Markdown: a heading for each message, with its time; words as they are, since they are mostly Markdown
//! already; what was thought, called and answered by tools folded, in fences long enough for what they hold.

use serde_json::Value;
use threadkeep_core::date::readable;
use threadkeep_core::node::Node;
use threadkeep_core::transcript::{Info, Placed};
use threadkeep_core::{Kind, Message, Role};
use threadkeep_json::own_text;

use super::words;

/// The title, and where and when the conversation was held.
pub(super) fn head(info: &Info, out: &mut String) {
    let title = one_line(&info.title, 200);
    out.push_str(&["# ", if title.is_empty() { "Conversation" } else { &title }, "\n\n"].concat());
    let mut facts = Vec::new();
    if !info.source.is_empty() {
        facts.push(info.source.clone());
    }
    facts.extend(info.created_at.or(info.updated_at).map(readable));
    if info.branches > 1 {
        facts.push([&info.branches.to_string(), " branches"].concat());
    }
    if !facts.is_empty() {
        out.push_str(&["*", &facts.join(" · "), "*\n\n"].concat());
    }
}

/// Where another branch begins.
pub(super) fn branch(above: &Placed, out: &mut String) {
    let said = above.node.messages.iter().map(words).find(|words| !words.trim().is_empty()).unwrap_or_default();
    let said = one_line(&said, 60);
    let after = if said.is_empty() { String::new() } else { [", after “", &said, "”"].concat() };
    out.push_str(&["## Another branch", &after, "\n\n"].concat());
}

/// A message.
pub(super) fn message(node: &Node, message: &Message, out: &mut String) {
    let text = words(message);
    if message.role == Role::Tool {
        let what = if message.is_error { "Error" } else { "Result" };
        let of = message.name.as_deref().map(|name| [" of ", &code(name)].concat()).unwrap_or_default();
        return fold(&[what, &of].concat(), "", &text, out);
    }
    let who = match (&message.role, &message.kind) {
        (_, Kind::Summary { .. }) => "Summary",
        (Role::System | Role::Developer, _) => "System",
        (Role::User, _) => "User",
        (Role::Assistant, _) => "Assistant",
        (role, _) => role.as_str(),
    };
    out.push_str(&["### ", &one_line(who, 40)].concat());
    let name = message.name.as_deref().or(node.origin.model.as_deref().filter(|_| message.role == Role::Assistant));
    if let Some(name) = name {
        out.push_str(&[" (", &one_line(name, 80), ")"].concat());
    }
    if let Some(time) = node.created_at {
        out.push_str(&[" · ", &readable(time)].concat());
    }
    out.push_str("\n\n");
    if let Some(reasoning) = &message.reasoning {
        fold("Thought", "", reasoning, out);
    }
    if !text.trim().is_empty() {
        // A fence that was never closed would swallow what follows.
        out.push_str(text.trim_end());
        out.push('\n');
        if let Some(fence) = open_fence(&text) {
            out.push_str(&[&fence, "\n"].concat());
        }
        out.push('\n');
    }
    if let Kind::Error { code, reason } = &message.kind {
        out.push_str(&["> **", &one_line(code, 80), "**: ", &one_line(reason, 500), "\n\n"].concat());
    }
    for call in &message.tool_calls {
        let arguments = call.arguments();
        let (language, shown) = match serde_json::from_str::<Value>(arguments) {
            Ok(value) => ("json", serde_json::to_string_pretty(&value).unwrap_or_else(|_| own_text(&value))),
            Err(_) => ("", arguments.to_owned()),
        };
        fold(&["Call of ", &code(call.name())].concat(), language, &shown, out);
    }
}

/// A fold with a fence in it.
fn fold(summary: &str, language: &str, text: &str, out: &mut String) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let text = text.trim_end_matches('\n');
    let parts = [
        "<details><summary>",
        summary,
        "</summary>\n\n",
        &fence,
        language,
        "\n",
        text,
        "\n",
        &fence,
        "\n\n</details>\n\n",
    ];
    out.push_str(&parts.concat());
}

/// A name in a fold's head, where it must not become a tag.
fn code(name: &str) -> String {
    let name = one_line(name, 80).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    ["<code>", &name, "</code>"].concat()
}

/// The fence that is still open at the end of a text.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
        let Some(mark) = mark else { continue };
        let run = line.len() - line.trim_start_matches(mark).len();
        if run < 3 {
            continue;
        }
        match &open {
            None => open = Some(line[..run].to_owned()),
            Some(fence) if line.starts_with(fence.as_str()) && line[run..].trim().is_empty() => open = None,
            Some(_) => {}
        }
    }
    open
}

/// A text on one line, of at most so many characters.
fn one_line(text: &str, most: usize) -> String {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > most {
        line = line.chars().take(most.saturating_sub(1)).collect::<String>() + "…";
    }
    line
}
