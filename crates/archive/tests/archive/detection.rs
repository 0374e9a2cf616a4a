//! What a file is comes from its content; what cannot be imported is said in one remark.

use threadkeep_archive::{Code, Format, Input, Item};

use crate::common::{fixture, fixtures, format_of, read, tree};

#[track_caller]
fn check(name: &str, text: &str, code: Code, words: &str) {
    let outcome = read(name, text.as_bytes());
    assert!(outcome.conversations.is_empty(), "{:?}", outcome.conversations);
    assert_eq!(outcome.codes(), (vec![code], vec![]), "{}", outcome.remarks());
    let skip = &outcome.skipped[0];
    assert!(skip.reason.contains(words), "{skip}");
    assert!(skip.place.starts_with(name), "{skip}");
}

#[test]
fn names_do_not_matter() {
    for name in ["conversations.json", "x.jsonl", "photo.png", "no-extension", "data.txt"] {
        assert_eq!(read(name, &fixture("chatgpt.json")).conversations.len(), 2, "{name}");
        assert_eq!(read(name, &fixture("claude-ai.json")).conversations.len(), 2, "{name}");
        assert_eq!(read(name, &fixture("claude-code.jsonl")).conversations.len(), 1, "{name}");
        assert_eq!(read(name, &fixture("openai-messages.jsonl")).conversations.len(), 3, "{name}");
    }
}

#[test]
fn every_format_is_told_by_its_content() {
    for name in &fixtures() {
        let source = format_of(name).name();
        for file in ["f", "f.txt", name] {
            let outcome = read(file, &fixture(name));
            assert!(!outcome.conversations.is_empty(), "{name} as {file}: {}", outcome.remarks());
            for conversation in &outcome.conversations {
                assert_eq!(tree(conversation).info().source, source, "{name} as {file}");
            }
        }
    }
}

#[test]
fn members_of_exports_without_conversations_are_quiet() {
    let quiet = |name: &str, text: &str| check(name, text, Code::NotAConversation, "");
    quiet("user.json", r#"{"id":"user-1","email":"a@example.org","chatgpt_plus_user":true,"phone_number":null}"#);
    quiet("users.json", r#"[{"uuid":"u","full_name":"K","email_address":"k@example.org"}]"#);
    quiet(
        "message_feedback.json",
        r#"[{"id":"1","conversation_id":"c","rating":"thumbs_up","create_time":"t"},{"id":"2","conversation_id":"c","rating":"thumbs_up"}]"#,
    );
    quiet("shared_conversations.json", r#"[{"id":"1","conversation_id":"c","title":"t","is_anonymous":true}]"#);
    quiet("conversation_asset_file_names.json", r#"{"file-1.dat":"a.png"}"#);
    quiet("memories.json", r#"[{"conversations_memory":"x","account_uuid":"a"}]"#);
    quiet("projects.json", r#"[{"uuid":"p","name":"n","description":"d","is_private":true}]"#);
    quiet("group_chats.json", r#"{"chats":[]}"#);
    quiet("chat.html", "<html><body>chat</body></html>");
    quiet("image", "\u{89}PNG".replace('\u{89}', "GIF8").as_str());
    quiet("file-1.dat", "anything at all");
}

#[test]
fn unknown_files_say_what_is_expected() {
    check("x.json", r#"{"a":1}"#, Code::UnknownFormat, "a ChatGPT export, a Claude.ai export");
    check("x.json", r#"[{"a":1},{"b":2},{"c":3}]"#, Code::UnknownFormat, "expected");
    check("x.json", "[1,2,3]", Code::UnknownFormat, "expected");
    check("notes.txt", "Dear diary", Code::UnknownFormat, "not JSON");
    check("x.gz", "\u{1f}\u{8b}".replace('\u{8b}', "x").as_str(), Code::UnknownFormat, "");
    check("x.json", "", Code::Empty, "no conversations");
    check("x.json", "  \n ", Code::Empty, "no conversations");
    check("x.json", "[]", Code::Empty, "no conversations");
}

#[test]
fn a_hint_counts_where_the_content_does_not_tell() {
    let text = br#"{"id":"c","title":"no mapping"}"#;
    let mut items = Vec::new();
    let mut input = Input::new("x", text.len() as u64, Some(Format::ChatGpt));
    input.supply(text, &mut |item| items.push(item));
    assert!(matches!(&items[..], [Item::Skipped(skip)] if skip.reason.contains("`mapping`")), "{items:?}");
}

#[test]
fn a_manifest_is_held_against_the_files_that_are_there() {
    let text = br#"{"version":2,"manifest_file":"export_manifest.json","export_files":[{"path":"conversations-000.json"},{"path":"conversations-404.json"},{"path":"file-1.dat"}],
        "logical_files":{"conversations.json":{"files":["conversations-000.json","conversations-404.json"],"sharded":true}}}"#;
    let names: std::sync::Arc<[String]> =
        ["d/export_manifest.json".to_owned(), "d/conversations-000.json".to_owned()].into();
    let mut skips = Vec::new();
    let mut input = Input::new("d/export_manifest.json", text.len() as u64, None).among(names);
    input.supply(text, &mut |item| {
        if let Item::Skipped(skip) = item {
            skips.push(skip)
        }
    });
    let codes: Vec<_> = skips.iter().map(|skip| skip.code).collect();
    assert_eq!(codes, [Code::NotAConversation, Code::MissingFile, Code::MissingFile]);
    assert!(skips[1].place.ends_with("conversations-404.json"), "{}", skips[1]);
    assert!(skips[2].reason.ends_with(": 1"), "{}", skips[2]);
}

#[test]
fn byte_order_marks_line_ends_and_other_encodings() {
    let chat = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(read("x.json", format!("\u{feff}{chat}").as_bytes()).conversations.len(), 1);
    assert_eq!(read("x.jsonl", format!("\u{feff}{chat}\r\n\r\n{chat}\r\n").as_bytes()).conversations.len(), 2);
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(chat.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let outcome = read("x.json", &utf16);
    assert!(outcome.skipped[0].reason.contains("UTF-16"), "{}", outcome.remarks());
}
