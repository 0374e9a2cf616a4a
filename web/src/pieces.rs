//! A message as the page shows it: text, cards for tool calls and results, reasoning, errors, summaries, attachments.
//! Stored messages in, [`Piece`]s out; how they look is the page's business.

use std::borrow::Cow;

use serde_json::Value;
use threadkeep_core::{Content, Kind, Message, Part, Role, depth};

use crate::commands::{Command, command};
use crate::joined::{Answered, Joined};
use crate::markdown::{safe_link, safe_picture};
use crate::{calls, format};

/// One thing to show of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// What someone says, with markdown in it.
    Markdown(String),
    /// What someone says, to be shown exactly as it was typed.
    Plain(String),
    /// Something folded away behind one line.
    Card(Card),
    /// A failure, with what had been written until then.
    Error {
        /// Its stable word.
        code: String,
        /// What went wrong.
        reason: String,
    },
    /// Something that came with the message.
    Attachment {
        /// What it is.
        label: String,
        /// Its name or number.
        detail: String,
        /// Where it can be seen: a `data:` image, or an address to be opened on demand.
        url: Option<String>,
        /// Whether the address is an image that is shown at once.
        picture: bool,
    },
}

/// What a card holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardKind {
    /// A call of a tool.
    Call,
    /// Its result.
    Result,
    /// A result that reports a failure.
    Failure,
    /// What the model thought.
    Reasoning,
    /// Instructions.
    Instructions,
    /// A summary of earlier messages.
    Summary,
    /// The text of a file that came with the message.
    File,
}

impl CardKind {
    /// Its name in markup.
    pub fn key(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Result => "result",
            Self::Failure => "failure",
            Self::Reasoning => "reasoning",
            Self::Instructions => "instructions",
            Self::Summary => "summary",
            Self::File => "file",
        }
    }

    /// How it went with a tool, where that is to be said.
    pub fn state(self) -> Option<&'static str> {
        match self {
            Self::Call => Some("no result"),
            Self::Failure => Some("failed"),
            _ => None,
        }
    }

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Call | Self::Result | Self::Failure => "Tool",
            Self::Reasoning => "Reasoning",
            Self::Instructions => "Instructions",
            Self::Summary => "Summary of earlier messages",
            Self::File => "Attached file",
        }
    }
}

/// Something folded away.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// What it holds.
    pub kind: CardKind,
    /// The tool's name, or nothing.
    pub name: String,
    /// What it is about, on one line: what a tool was called with, else the beginning of what is in it.
    pub peek: String,
    /// The arguments of the call that a result answers, and their language.
    pub asked: Option<(String, &'static str)>,
    /// How long the call took, in milliseconds.
    pub took: Option<u64>,
    /// All of it.
    pub text: String,
    /// Whether the text is markdown; else it is shown as code in `language`.
    pub markdown: bool,
    /// The language of the text, where that is known.
    pub language: &'static str,
}

impl Card {
    /// What it is called: the tool's name, else its kind's.
    pub fn title(&self) -> &str {
        match self.kind {
            CardKind::Call | CardKind::Result | CardKind::Failure if !self.name.is_empty() => &self.name,
            kind => kind.label(),
        }
    }

    fn new(kind: CardKind, name: &str, text: String) -> Self {
        let markdown = matches!(kind, CardKind::Reasoning | CardKind::Summary);
        let telling = if kind == CardKind::Call { calls::line(&text) } else { None };
        let (text, language) = if markdown { (text, "") } else { pretty(text) };
        let peek = telling.unwrap_or_else(|| format::line(head(&text), 120));
        Self { kind, name: name.to_owned(), peek, asked: None, took: None, text, markdown, language }
    }

    /// What a tool gave back, with the call that it answers.
    fn result(kind: CardKind, message: &Message, text: String, answered: Option<Answered<'_>>) -> Self {
        let mut card = Self::new(kind, message.name.as_deref().unwrap_or_default(), text);
        let Some(Answered { call, took }) = answered else { return card };
        let asked = Self::new(CardKind::Call, call.name(), call.arguments().to_owned());
        if card.name.is_empty() {
            card.name = asked.name;
        }
        if !matches!(asked.text.trim(), "" | "{}") {
            card.peek = asked.peek;
            card.asked = Some((asked.text, asked.language));
        }
        card.took = took;
        card
    }
}

/// The name of a role on the page.
pub fn role_label(role: &str) -> &str {
    match role {
        "user" => "You",
        "assistant" => "Assistant",
        "system" => "System",
        "developer" => "Developer",
        "tool" | "function" => "Tool",
        "" => "Empty",
        other => other,
    }
}

/// What to show of a message. It is at the place `at` of the stretch that `joined` is of: a call that has its result there is shown with it.
pub fn pieces(message: &Message, at: usize, joined: &Joined<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if let Some(thought) = message.reasoning.as_deref().filter(|thought| !thought.trim().is_empty()) {
        pieces.push(Piece::Card(Card::new(CardKind::Reasoning, "", clean(thought))));
    }
    let said = said(message);
    let text = clean(depth::parse(&said).1);
    match (&message.kind, &message.role) {
        (Kind::Summary { .. }, _) => pieces.push(Piece::Card(Card::new(CardKind::Summary, "", text))),
        (_, Role::System | Role::Developer) if !text.trim().is_empty() => {
            pieces.push(Piece::Card(Card::new(CardKind::Instructions, "", text)));
        }
        (_, Role::Tool) => {
            let kind = if message.is_error { CardKind::Failure } else { CardKind::Result };
            pieces.push(Piece::Card(Card::result(kind, message, text, joined.call(at))));
        }
        (_, Role::Other(role)) if role == "function" => {
            pieces.push(Piece::Card(Card::result(CardKind::Result, message, text, joined.call(at))));
        }
        (_, Role::User) if let Some(command) = command(&text) => pieces.push(match command {
            Command::Typed(name, arguments) => Piece::Plain([name, arguments].join(" ").trim_end().to_owned()),
            Command::Printed(text) => Piece::Card(Card::new(CardKind::Result, "Output", text.to_owned())),
        }),
        (_, Role::User) if !text.trim().is_empty() && !looks_like_markdown(&text) => pieces.push(Piece::Plain(text)),
        _ if !text.trim().is_empty() => pieces.push(Piece::Markdown(text)),
        _ => {}
    }
    if let Content::Parts(parts) = &message.content {
        for part in parts {
            let inner = part.0.get("attachment").and_then(Value::as_object);
            match (part.as_text(), inner) {
                (None, inner) => pieces.push(attachment(inner.unwrap_or(&part.0))),
                (Some(text), Some(file)) => {
                    pieces.push(Piece::Card(Card::new(CardKind::File, file_name(file), text.to_owned())));
                }
                (Some(_), None) => {}
            }
        }
    }
    let named = ["/attachments", "/chatgpt/metadata/attachments"];
    for list in named.iter().filter_map(|place| extra(message, place)?.as_array()) {
        pieces.extend(list.iter().filter_map(Value::as_object).map(attachment));
    }
    for (_, call) in message.tool_calls.iter().enumerate().filter(|(place, _)| !joined.is_answered(at, *place)) {
        pieces.push(Piece::Card(Card::new(CardKind::Call, call.name(), call.arguments().to_owned())));
    }
    if let Kind::Error { code, reason } = &message.kind {
        pieces.push(Piece::Error { code: code.clone(), reason: reason.clone() });
    }
    pieces
}

/// The text of a message without that of the files that came with it.
fn said(message: &Message) -> Cow<'_, str> {
    match &message.content {
        Content::Parts(parts) if parts.iter().any(|part| part.0.contains_key("attachment")) => {
            let own = parts.iter().filter(|part| !part.0.contains_key("attachment"));
            own.filter_map(Part::as_text).collect::<Vec<_>>().join("\n").into()
        }
        _ => message.text(),
    }
}

/// A value among the fields that the message only carries, by its path.
fn extra<'a>(message: &'a Message, path: &str) -> Option<&'a Value> {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    let first = message.extra.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}

fn file_name(file: &serde_json::Map<String, Value>) -> &str {
    let names = ["file_name", "filename", "name", "title", "asset_pointer", "file_id", "id"];
    let texts = names.into_iter().filter_map(|name| file.get(name)?.as_str());
    texts.into_iter().find(|name| !name.is_empty()).unwrap_or_default()
}

/// The depth that the text of a node's messages says (`[depth:N]`), and the one that the tree counts for that message. `depth` is
/// the tree's for the end of the node.
pub fn depth_said(messages: &[Message], depth: u32) -> Option<(u32, u32)> {
    let spoken = messages.iter().rev().filter(|message| message.role.counts());
    for (after, message) in (0..).zip(spoken) {
        if let (Some(said), _) = depth::parse(&message.text()) {
            return Some((said, depth.saturating_sub(after)));
        }
    }
    None
}

/// The text that copying a message gives: what was said, and calls and results as they stand.
pub fn copy_text(messages: &[Message]) -> String {
    let one = |message: &Message| {
        let mut parts = vec![depth::parse(&message.text()).1.trim_end().to_owned()];
        parts.extend(message.tool_calls.iter().map(|call| format!("{}({})", call.name(), call.arguments())));
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    };
    messages.iter().map(one).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn attachment(part: &serde_json::Map<String, Value>) -> Piece {
    let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
    let inner = |key: &str, field: &str| {
        part.get(key).and_then(|inner| inner.get(field)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let kind = [text("type"), text("content_type"), text("file_type")].into_iter().find(|kind| !kind.is_empty());
    let kind = kind.unwrap_or("attachment");
    let mut url = inner("image_url", "url");
    if url.is_empty() && inner("source", "type") == "base64" {
        url = format!("data:{};base64,{}", inner("source", "media_type"), inner("source", "data"));
    }
    let picture = safe_picture(&url);
    let label = match kind {
        "image_url" | "image" | "input_image" | "image_asset_pointer" => "Image".to_owned(),
        "input_audio" | "audio" | "audio_asset_pointer" => "Audio".to_owned(),
        "video" | "video_container_asset_pointer" => "Video".to_owned(),
        "file" | "input_file" | "document" => "File".to_owned(),
        other => format::capital(&other.replace(['_', '-'], " ")),
    };
    let detail = file_name(part);
    let detail = if detail.is_empty() { inner("file", "filename") } else { detail.to_owned() };
    let shown = picture.is_some();
    Piece::Attachment { label, detail, url: picture.or_else(|| safe_link(&url)), picture: shown }
}

/// The beginning of a long text, enough for one line.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(400).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// JSON laid out over lines, where the text is JSON and not too long to do so.
fn pretty(text: String) -> (String, &'static str) {
    let trimmed = text.trim_start();
    if text.len() > 200_000 || !(trimmed.starts_with('{') || trimmed.starts_with('[')) {
        return (text, "");
    }
    match serde_json::from_str::<Value>(trimmed) {
        Ok(value) if value.is_object() || value.is_array() => {
            (serde_json::to_string_pretty(&value).unwrap_or(text), "json")
        }
        _ => (text, ""),
    }
}

/// Whether what a person typed is better shown as markdown than letter by letter.
fn looks_like_markdown(text: &str) -> bool {
    text.contains("```")
        || text.contains("](http")
        || text.contains("**")
        || text.contains("://")
        || text.lines().any(|line| line.trim_start().starts_with("|-") || line.trim_start().starts_with("| -"))
}

/// Text without the marks that ChatGPT leaves for its own page: citations between private letters.
pub fn clean(text: &str) -> String {
    const OPEN: char = '\u{e200}';
    const CLOSE: char = '\u{e201}';
    if !text.contains(OPEN) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        out.push_str(&rest[..start]);
        let inner = &rest[start + OPEN.len_utf8()..];
        match inner.find(CLOSE) {
            // A mark is short; a lone opening letter must not swallow the message.
            Some(end) if end <= 400 => rest = &inner[end + CLOSE.len_utf8()..],
            _ => rest = inner,
        }
    }
    out.push_str(rest);
    out
}

/// Cuts a text that is too long to show at once at the end of a line near `limit` characters; `None` where it is short.
pub fn clamp(text: &str, limit: usize) -> Option<&str> {
    if text.len() <= limit {
        return None;
    }
    let end = text.char_indices().nth(limit).map(|(at, _)| at)?;
    let cut = text[..end].rfind('\n').filter(|cut| *cut > end / 2).unwrap_or(end);
    // An open code fence would swallow what follows; the renderer closes it at the end of the text by itself.
    Some(&text[..cut])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joined::Stretched;
    use serde_json::json;

    fn of(value: Value) -> Vec<Piece> {
        pieces(&Message::from_json(value).unwrap(), 0, &Joined::default())
    }

    fn card(piece: &Piece) -> &Card {
        let Piece::Card(card) = piece else { panic!("{piece:?}") };
        card
    }

    #[test]
    fn a_command_of_a_session_is_shown_as_it_was_typed() {
        let shown = |text: &str| of(json!({"role": "user", "content": text}));
        let typed = "<command-name>/model</command-name><command-args>opus</command-args>";
        assert_eq!(shown(typed), [Piece::Plain("/model opus".into())]);
        let printed = shown("<local-command-stdout>Bye!</local-command-stdout>");
        assert_eq!((card(&printed[0]).title(), card(&printed[0]).text.as_str()), ("Output", "Bye!"));
    }

    #[test]
    fn people_are_shown_as_they_typed_and_models_as_markdown() {
        assert_eq!(of(json!({"role": "user", "content": "a * b\n# c"})), [Piece::Plain("a * b\n# c".into())]);
        assert_eq!(of(json!({"role": "user", "content": "```\nx\n```"})), [Piece::Markdown("```\nx\n```".into())]);
        assert_eq!(of(json!({"role": "assistant", "content": "[depth:3] *b*"})), [Piece::Markdown("*b*".into())]);
        assert!(of(json!({"role": "assistant", "content": "  "})).is_empty());
        assert!(of(json!({"role": "assistant"})).is_empty());
    }

    #[test]
    fn calls_and_results_are_cards() {
        let called = of(json!({"role": "assistant", "content": null, "reasoning": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}));
        assert_eq!(card(&called[0]).kind, CardKind::Reasoning);
        let call = card(&called[1]);
        assert_eq!((call.kind, call.name.as_str(), call.language), (CardKind::Call, "f", "json"));
        assert_eq!(call.text, "{\n  \"a\": 1\n}");
        assert_eq!(call.peek, "1");
        let failed = of(json!({"role": "tool", "tool_call_id": "c1", "content": "no", "is_error": true}));
        assert_eq!(card(&failed[0]).kind, CardKind::Failure);
    }

    #[test]
    fn a_call_and_its_result_are_one_card() {
        let call = json!({"role": "assistant", "content": "Now:", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"path\":\"a.rs\"}"}},
            {"id": "c2", "type": "function", "function": {"name": "wait", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": "c1", "content": "fn a() {}", "duration": 1200});
        let messages = [call, result].map(|message| Message::from_json(message).unwrap());
        let stretch = messages.iter().map(|message| Stretched { message, node: 0, time: None });
        let joined = Joined::of(stretch);
        let called = pieces(&messages[0], 0, &joined);
        assert_eq!(called.len(), 2, "the text, and the call without a result: {called:?}");
        assert_eq!(card(&called[1]).name, "wait");
        let found = pieces(&messages[1], 1, &joined);
        let found = card(&found[0]);
        assert_eq!((found.kind, found.name.as_str(), found.peek.as_str()), (CardKind::Result, "look", "a.rs"));
        assert_eq!(found.asked.as_ref().unwrap().0, "{\n  \"path\": \"a.rs\"\n}");
        assert_eq!((found.text.as_str(), found.took), ("fn a() {}", Some(1200)));
    }

    #[test]
    fn errors_summaries_and_instructions() {
        let failed = of(json!({"role": "assistant", "content": "half",
            "kind": {"type": "error", "code": "LLM_ERROR", "reason": "down"}}));
        assert_eq!(failed[0], Piece::Markdown("half".into()));
        assert_eq!(failed[1], Piece::Error { code: "LLM_ERROR".into(), reason: "down".into() });
        let summary = of(json!({"role": "user", "content": "so far", "kind": {"type": "summary"}}));
        assert_eq!(card(&summary[0]).kind, CardKind::Summary);
        assert_eq!(card(&of(json!({"role": "system", "content": "be brief"}))[0]).kind, CardKind::Instructions);
    }

    #[test]
    fn attachments_never_load_from_elsewhere() {
        let found = of(json!({"role": "user", "content": [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "https://t.example/p.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": "AAAA"}},
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}]}));
        let seen: Vec<(bool, Option<&str>)> = found[1..]
            .iter()
            .map(|piece| match piece {
                Piece::Attachment { picture, url, .. } => (*picture, url.as_deref()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            seen,
            [
                (false, Some("https://t.example/p.png")),
                (true, Some("data:image/png;base64,AAAA")),
                (false, None),
                (false, None)
            ]
        );
    }

    #[test]
    fn attached_files_stand_apart_from_what_is_said() {
        let found = of(json!({"role": "user", "content": [
            {"type": "text", "text": "read this"},
            {"type": "text", "text": "a.txt:\n\nlong", "attachment": {"file_name": "a.txt"}},
            {"type": "attachment", "attachment": {"file_name": "b.pdf"}}],
            "chatgpt": {"metadata": {"attachments": [{"id": "file-1", "name": "c.csv"}]}}}));
        assert_eq!(found[0], Piece::Plain("read this".into()));
        assert_eq!((card(&found[1]).kind, card(&found[1]).name.as_str()), (CardKind::File, "a.txt"));
        let names: Vec<&str> = found[2..]
            .iter()
            .map(
                |piece| {
                    if let Piece::Attachment { detail, .. } = piece { detail.as_str() } else { panic!("{piece:?}") }
                },
            )
            .collect();
        assert_eq!(names, ["b.pdf", "c.csv"]);
    }

    #[test]
    fn marks_of_other_pages_are_left_out() {
        assert_eq!(clean("a\u{e200}cite\u{e202}turn0\u{e201}b"), "ab");
        assert_eq!(clean("a\u{e200}b"), "ab");
        assert_eq!(clean("plain"), "plain");
    }

    #[test]
    fn long_texts_are_cut_at_a_line() {
        assert_eq!(clamp("short", 10), None);
        assert_eq!(clamp("aaaa\nbbbb", 6), Some("aaaa"));
        assert_eq!(clamp(&"é".repeat(20), 10), Some("é".repeat(10).as_str()));
        assert_eq!(clamp("éééééé", 10), None);
    }

    #[test]
    fn a_depth_in_the_text_is_held_against_the_trees() {
        let plain = [Message::user("hi"), Message::assistant("there")];
        assert_eq!(depth_said(&plain, 2), None);
        let said = [Message::user("hi"), Message::assistant("[depth:2] there"), Message::tool("c", "x")];
        assert_eq!(depth_said(&said, 2), Some((2, 2)));
        let earlier = [Message::assistant("[depth:7] so"), Message::user("on")];
        assert_eq!(depth_said(&earlier, 5), Some((7, 4)), "the user's message comes after it");
    }

    #[test]
    fn copying_gives_the_words() {
        let messages = [Message::user("[depth:1] hi"), Message::assistant(""), Message::assistant("there")];
        assert_eq!(copy_text(&messages), "hi\n\nthere");
    }
}
