//! Gemini's three.

use threadkeep_archive::Code;

use crate::common::{check, extra, fixture, outline, read, tree};

#[test]
fn takeout_rows_are_a_conversation_each() {
    let outcome = read("MyActivity.json", &fixture("gemini-takeout.json"));
    assert_eq!(outcome.codes(), (vec![Code::NotAConversation; 2], vec![]), "{}", outcome.remarks());
    assert!(outcome.skipped[0].place.contains("Selected preferred draft"), "{}", outcome.remarks());
    let stars = tree(&outcome.conversations[0]);
    check(
        &stars,
        r#"
        ROOT < -
        prompt < ROOT turn 1 | user Which stars are up tonight? + <attachment>
        answer < prompt | assistant Look for **Orion**.//- Rigel/- Betelgeuse
        leaf answer of "Which stars are up tonight?"
        "#,
    );
    assert_eq!(stars.info().created_at, Some(1769976000000));
    assert_eq!(stars.info().extra["titleUrl"], "https://gemini.google.com/app/x");
    let moon = tree(&outcome.conversations[1]);
    assert_eq!(moon.nodes().nth(1).unwrap().node.messages[0].text(), "Gefragt: Wie weit ist der Mond?");
}

#[test]
fn ai_studio_thoughts_code_files_and_branches() {
    let outcome = read("Lamp", &fixture("ai-studio.json"));
    assert_eq!(outcome.remarks(), "");
    let lamp = outcome.only();
    check(
        &lamp,
        r#"
        ROOT < - | system You tend a lighthouse.
        u1 < ROOT turn 1 | user How many turns a minute?
        u2 < u1 turn 2 | user <attachment>
        c1 < u2 | assistant (Count them.) code_execution#call_3_1({"language":"PYTHON","code":"print(60/15)"}) | tool 4.0/ ^call_3_1
        m1 < c1 | assistant Fo + ur.
        m2 < u2 | assistant! Five
        u3 < m2 turn 3 | user <image>
        leaf u3 of "Lamp"
        "#,
    );
    assert_eq!(extra(&lamp, "m1", "ai-studio")["finishReason"], "STOP");
    assert_eq!(lamp.nodes().nth(3).unwrap().node.origin.model.as_deref(), Some("models/gemini-2.5-pro"));
}

#[test]
fn gemini_cli_sessions() {
    let outcome = read("session.json", &fixture("gemini-cli.json"));
    assert_eq!(outcome.remarks(), "");
    check(
        &outcome.only(),
        r#"
        ROOT < -
        a < ROOT turn 1 | user How many sheep are in the pen?
        b+2 < a | assistant (**Where**//The pen file.) I will look. read_file#r1({"path":"pen.txt"}) shell#r2({"command":"baa"}) | tool 7 sheep ^r1 | tool no such command ^r2 ERROR
        c < b+2 [hidden] | system* Request cancelled.
        d < c | assistant Seven.
        leaf d of "Count the sheep"
        "#,
    );
}

#[test]
fn gemini_cli_lines_are_replaced_and_taken_back() {
    let outcome = read("session.jsonl", &fixture("gemini-cli.jsonl"));
    assert_eq!(outcome.remarks(), "");
    check(
        &outcome.only(),
        r#"
        ROOT < -
        a < ROOT turn 1 | user Shear them.
        b < a | assistant Done.
        c < b turn 2 | user Dye them blue.
        d < b turn 3 | user Feed them.
        leaf d of "Shearing"
        "#,
    );
}

#[test]
fn another_message_of_a_known_id_takes_no_messages_place() {
    let text = String::from_utf8(fixture("gemini-cli.jsonl")).unwrap();
    let lines: String = text.lines().filter(|line| !line.contains("rewind")).map(|line| format!("{line}\n")).collect();
    let outcome = read("session.jsonl", lines.replace("\"c\"", "\"a\"").as_bytes());
    let said = outline(&outcome.only());
    assert!(["Shear them.", "Dye them blue.", "Feed them."].iter().all(|text| said.contains(text)), "{said}");
    assert!(outcome.codes().1.contains(&Code::DuplicateId), "{}", outcome.remarks());
}

#[test]
fn a_gemini_cli_session_that_grows_gains_its_calls() {
    let whole = String::from_utf8(fixture("gemini-cli.json")).unwrap();
    let mut early: serde_json::Value = serde_json::from_str(&whole).unwrap();
    early["messages"][1].as_object_mut().unwrap().remove("toolCalls");
    let (early, late) = (read("s.json", early.to_string().as_bytes()).only(), read("s.json", whole.as_bytes()).only());
    for placed in early.nodes() {
        assert!(late.get(&placed.node.id).is_none_or(|later| later.node.messages == placed.node.messages));
    }
    // In lines, where the later one takes the place of the first.
    let lines = "{\"sessionId\":\"g\",\"projectHash\":\"h\"}\n{\"id\":\"a\",\"type\":\"gemini\",\"content\":\"x\"}\n{\"id\":\"b\",\"type\":\"user\",\"content\":\"y\"}\n{\"id\":\"a\",\"type\":\"gemini\",\"content\":\"x\",\"toolCalls\":[{\"id\":\"k\",\"name\":\"n\",\"args\":{}}]}\n";
    let outcome = read("s.jsonl", lines.as_bytes());
    assert_eq!(outcome.remarks(), "");
    check(&outcome.only(), "ROOT < -\n a+1 < ROOT | assistant x n#k({})\n b < a+1 turn 1 | user y\n leaf b of \"y\"");
}
