use serde_json::json;
use threadkeep_archive::Code;
use threadkeep_core::{Kind, MessageId};

use crate::common::{check, extra, fixture, read, tree};

#[test]
fn claude_ai_blocks_attachments_and_branches() {
    let outcome = read("conversations.json", &fixture("claude-ai.json"));
    assert_eq!(outcome.codes(), (vec![Code::Empty], vec![]));
    let ferry = tree(&outcome.conversations[0]);
    check(
        &ferry,
        r#"
        ROOT < -
        m1 < ROOT turn 1 | user Read my notes and plan the ferry. + notes.txt://Ferry at 8, bring bikes. + <attachment>
        m2 < m1 | assistant (They want the early one.) Let me look it up. search#call_m2_1({"q":"ferry 8:00"}) weather#call_m2_2({}) | tool Departs 08:05 ^call_m2_1 | tool ^call_m2_2 ERROR | assistant Take the 08:05.
        m2b < m1 | assistant Take the 09:30.
        m3 < m2 turn 2 | user And back? + <widget_from_the_future>
        leaf m3 of "Ferry timetable"
        "#,
    );
    assert_eq!(extra(&ferry, "m2", "claude")["thinking"][0]["signature"], "sig==");
    let last = ferry.get(&MessageId::scoped(ferry.id(), "m2")).unwrap().node.messages.last().unwrap();
    assert_eq!(last.extra["claude"]["citations"][0]["details"]["url"], "https://example.org");
}

#[test]
fn claude_ai_without_parents_is_a_plain_list() {
    let outcome = read("conversations.json", &fixture("claude-ai.json"));
    check(
        &tree(&outcome.conversations[1]),
        r#"
        ROOT < -
        o1 < ROOT turn 1 | user Hello
        o2 < o1 | assistant Hello to you
        leaf o2 of "Older shape"
        "#,
    );
}

#[test]
fn the_chosen_leaf_of_a_single_conversation_counts() {
    let mut value: serde_json::Value = serde_json::from_slice(&fixture("claude-ai.json")).unwrap();
    let mut one = value[0].take();
    one["current_leaf_message_uuid"] = json!("m2b");
    let outcome = read("chat.json", one.to_string().as_bytes());
    assert_eq!(outcome.only().info().leaf.unwrap().as_str(), "claude-ai/22222222-0000-4000-8000-000000000001/m2b");
}

#[test]
fn design_chats() {
    let outcome = read("design_chats/1.json", &fixture("claude-ai-design.json"));
    check(
        &outcome.only(),
        r#"
        ROOT < -
        d0 < ROOT turn 1 | user Make a poster. + palette.md://Green and white.
        d1 < d0 | assistant Starting. write_file#t1({"path":"poster.html"}) | tool done ^t1 | assistant*!
        leaf d1 of "Poster"
        "#,
    );
    assert_eq!(outcome.only().info().extra["project"]["name"], "Village fair");
}

#[test]
fn claude_code_regroups_lines_and_keeps_history_before_compactions() {
    let outcome = read("session.jsonl", &fixture("claude-code.jsonl"));
    let session = outcome.only();
    check(
        &session,
        r#"
            ROOT < -
            meta1 < ROOT [hidden] turn 1 | user <local-command-caveat>Caveat</local-command-caveat>
            u1 < meta1 turn 2 | user Fix the bilge pump test
            a1 < u1 | assistant (Two files to read.) Reading both. Read#t1({"path":"pump.rs"}) Read#t2({"path":"test.rs"})
            r1 < a1 | tool fn pump() {} ^t1 | tool #[test] ^t2 ERROR
            a5 < r1 | assistant Task#t3({"prompt":"Look for leaks","description":"leaks"})
            s1 < a5 [sidechain] turn 3 | user Look for leaks
            s2 < s1 [sidechain] | assistant No leaks.
            r3 < a5 | tool No leaks. ^t3
            a6 < r3 | assistant Fixed.
            cb < a6 [compaction hidden] | system* Conversation compacted
            cs < cb turn 4 | user*! This session is continued. The pump test was fixed.
            u2 < cs turn 5 | user Now the anchor
            a7 < u2 | assistant Half an answer no more.
            u2b < cs turn 6 | user Rather the sail
            orphan < ROOT turn 7 | user Who am I?
            leaf orphan of "Bilge pump"
            "#,
    );
    let summary = &session.get(&MessageId::scoped(session.id(), "cs")).unwrap().node.messages[0];
    let id = |name: &str| Some(MessageId::scoped(session.id(), name));
    assert_eq!(summary.kind, Kind::Summary { from: id("meta1"), to: id("a6") });
    assert_eq!(extra(&session, "a1", "claude")["thinking"][0]["signature"], "sig1");
    assert_eq!(extra(&session, "a1", "claude")["stop_reason"], "tool_use");
    let node = |name: &str| &session.get(&MessageId::scoped(session.id(), name)).unwrap().node;
    assert_eq!(node("a1").origin.model.as_deref(), Some("claude-opus-4-6"));
    assert_eq!(node("s2").origin.agent.as_deref(), Some("agent-7"));
    assert_eq!(node("r1").messages[0].name.as_deref(), Some("Read"));
    let (skipped, warnings) = outcome.codes();
    assert_eq!(warnings, [Code::MissingParent], "{}", outcome.remarks());
    assert!(skipped.iter().all(|code| *code == Code::NotAConversation), "{}", outcome.remarks());
}

#[test]
fn claude_code_files_without_links_read_from_top_to_bottom() {
    let line = |uuid: &str, role: &str, text: &str| json!({"type": role, "uuid": uuid, "parentUuid": null, "sessionId": "s", "message": {"role": role, "content": text}});
    let file = format!("{}\n{}\n{}\n", line("1", "user", "a"), line("2", "assistant", "b"), line("3", "user", "c"));
    let outcome = read("x.jsonl", file.as_bytes());
    check(
        &outcome.only(),
        "ROOT < -\n 1 < ROOT turn 1 | user a\n 2 < 1 | assistant b\n 3 < 2 turn 2 | user c\n leaf 3 of \"a\"",
    );
}

#[test]
fn sessions_in_one_file_are_one_each_unless_links_connect_them() {
    let line = |uuid: &str, parent: Option<&str>, session: &str| {
        let message = json!({"role": "user", "content": uuid});
        json!({"type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": session, "message": message})
    };
    let lines = [line("1", None, "s"), line("2", Some("1"), "s"), line("3", None, "t"), line("4", Some("2"), "u")];
    let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let outcome = read("x.jsonl", file.as_bytes());
    let names: Vec<&str> = outcome.conversations.iter().map(|c| c.transcript.as_str()).collect();
    assert_eq!(names, ["claude-code/s", "claude-code/t"]);
    assert_eq!(tree(&outcome.conversations[0]).nodes().len(), 4);
}

#[test]
fn one_uuid_with_two_texts_is_told() {
    let line = |text: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    };
    let outcome = read("s.jsonl", (line("the first text") + &line("another text")).as_bytes());
    assert_eq!(outcome.codes().0, [Code::DuplicateId], "{}", outcome.remarks());
    // Written again when it was complete.
    let outcome = read("s.jsonl", (line("the first") + &line("the first text")).as_bytes());
    assert_eq!(outcome.remarks(), "");
}

#[test]
fn what_follows_an_unreadable_line_keeps_what_was_said_before() {
    let line = |at: usize| {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"u{}\"", at - 1) };
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{at}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":\"m{at}\"}}}}\n"
        )
    };
    let file: String = (0..6).map(|at| if at == 3 { line(at).replacen('{', "", 1) } else { line(at) }).collect();
    let outcome = read("s.jsonl", file.as_bytes());
    let tree = outcome.only();
    let leaf = tree.info().leaf.unwrap();
    let said: Vec<String> = tree.messages(&leaf).unwrap().iter().map(|it| it.text().into_owned()).collect();
    assert_eq!(said, ["m0", "m1", "m2", "", "m4", "m5"], "{}", outcome.remarks());
    assert!(outcome.codes().1.contains(&Code::Salvaged), "{}", outcome.remarks());
}
