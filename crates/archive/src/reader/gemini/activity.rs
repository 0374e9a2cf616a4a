//! Gemini Apps in Google Takeout's activity log: a row for each prompt, with the answer as HTML. The log does not say which
//! prompts belong together, so each is a conversation of its own, known by its time and title.

use serde_json::{Map, Value};
use threadkeep_core::{Content, Message, Part};

use crate::blocks::beside;
use crate::digest::Digest;
use crate::draft::Draft;
use crate::raw::Fields;
use crate::report::Report;
use crate::tree::Tree;
use crate::{Code, Conversation, Format, clean, html, when};

/// What the log puts before a prompt, in the languages in which it was seen.
const BEFORE: [&str; 2] = ["Prompted ", "送信したメッセージ: "];

/// Reads one row; says why where it is no prompt.
pub(in super::super) fn read(fields: &Fields, place: &str, digest: u64, report: &mut Report) -> Option<Conversation> {
    let title = fields.string("title").unwrap_or_default();
    let answers: Vec<Fields> = fields
        .array("safeHtmlItem")
        .unwrap_or_default()
        .iter()
        .filter_map(|raw| Fields::parse(raw.get()).ok())
        .collect();
    let prompt = BEFORE.iter().find_map(|before| title.strip_prefix(before));
    if prompt.is_none() && answers.is_empty() {
        let reason = "something done in Gemini other than a prompt: it has no words of a conversation";
        report.skip(place, Code::NotAConversation, reason);
        return None;
    }
    let time = fields.string("time").unwrap_or_default();
    let id = Digest::new().with(time.as_bytes()).with(b"\n").with(title.as_bytes()).0;
    let mut tree = Tree::new(Format::GeminiActivity.name(), &format!("{id:016x}"));
    let created_at = fields.value("time").as_ref().and_then(when::millis);
    let prompt = prompt.unwrap_or(&title);
    tree.title = prompt.lines().next().map(|line| line.chars().take(80).collect());
    (tree.created_at, tree.updated_at) = (created_at, created_at);
    tree.extra = crate::extra(fields, &["title", "time", "safeHtmlItem"], place, report);
    let mut user = Message::user(prompt.to_owned());
    if prompt != title {
        beside(
            std::slice::from_mut(&mut user),
            "gemini-takeout",
            Map::from_iter([("title".to_owned(), title.clone().into())]),
        );
    }
    attached(fields, &mut user);
    let mut draft = Draft { local: "prompt".to_owned(), ..Draft::default() };
    draft.made.created_at = created_at;
    draft.made.messages.push(user);
    tree.drafts.push(draft);
    if !answers.is_empty() {
        let texts: Vec<String> =
            answers.iter().filter_map(|item| item.string("html")).map(|text| html::text(&text)).collect();
        let mut draft = Draft { local: "answer".to_owned(), parent: Some("prompt".to_owned()), ..Draft::default() };
        draft.made.created_at = created_at;
        draft.made.messages.push(Message::assistant(texts.join("\n\n")));
        tree.drafts.push(draft);
    }
    Some(tree.finish(place, digest, report))
}

/// Files and images that the row names become parts of the prompt.
fn attached(fields: &Fields, user: &mut Message) {
    let mut parts = vec![Part::text(user.text())];
    for name in ["attachedFiles", "imageFile"] {
        let one = fields.value(name).map(|value| if let Value::Array(list) = value { list } else { vec![value] });
        for file in one.unwrap_or_default() {
            let fields = [("type".to_owned(), "attachment".into()), ("attachment".to_owned(), file)];
            parts.push(Part(Map::from_iter(fields)));
        }
    }
    if parts.len() > 1 {
        user.content = Content::Parts(parts);
    }
}

/// Whether a row of an activity log is of Gemini (or Bard, as it was called), and not of another product.
pub(crate) fn is_gemini(fields: &Fields) -> bool {
    let names = [fields.get("header"), fields.get("products")];
    let text =
        names.into_iter().flatten().map(|raw| clean::value(raw).map_or_else(|_| String::new(), |v| v.to_string()));
    text.into_iter().any(|text| ["gemini", "bard"].iter().any(|name| text.to_lowercase().contains(name)))
}
