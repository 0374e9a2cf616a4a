//! Sessions of agents, and role play: lines that make one conversation.

use serde_json::Value;
use threadkeep_archive::Code;
use threadkeep_core::{Kind, MessageId, Role};

use crate::common::{check, extra, fixture, outline, read};

#[test]
fn codex_items_compactions_and_turns_that_were_taken_back() {
    let outcome = read("rollout.jsonl", &fixture("codex.jsonl"));
    let boat = outcome.only();
    check(
        &boat,
        r#"
        ROOT < - | system You mend boats.
        i1 < ROOT [hidden] turn 1 | user <environment_context><cwd>/boat</cwd></environment_context>
        i2 < i1 turn 2 | user Where does it leak? + <input_image>
        i5 < i2 | assistant (Look at the hull.) shell#k1({"cmd":"ls hull"}) apply_patch#k2(*** Begin)
        i7 < i5 | tool done ^k2 | tool no such hull ^k1 ERROR
        i8 < i7 | assistant At the keel.
        i9 < i8 turn 3 | user Paint it red.
        i10 < i9 | assistant Red it is.
        i11 < i8 turn 4 | user Paint it green.
        i13 < i11 | assistant <web_search_call> brush#call_i13({"colour":"green"})
        i14 < i13 | tool {"stdout":"ok","exitCode":0} ^call_i13
        i15 < i14 [compaction] turn 5 | user*! The keel leaked; paint it green.
        i16 < i15 turn 6 | user All green.
        leaf i16 of "Leaky boat"
        "#,
    );
    let id = |name: &str| MessageId::scoped(boat.id(), name);
    let node = |name: &str| &boat.get(&id(name)).unwrap().node;
    assert_eq!(node("i15").messages[0].kind, Kind::Summary { from: Some(id("i1")), to: Some(id("i14")) });
    assert_eq!(node("i5").origin.model.as_deref(), Some("gpt-5.5"));
    assert_eq!(node("i7").messages[0].name.as_deref(), Some("apply_patch"));
    assert_eq!(node("i16").messages[0].name.as_deref(), Some("/lead/painter"));
    assert_eq!(extra(&boat, "i5", "openai-responses")[0]["encrypted_content"], "gAAA");
    assert_eq!(extra(&boat, "i5", "codex")["usage"]["input_tokens"], 7);
    assert_eq!(extra(&boat, "i8", "codex")["phase"], "final_answer");
    assert_eq!(boat.info().extra["cwd"], "/boat");
    assert!(outcome.skipped.iter().all(|skip| skip.code == Code::NotAConversation), "{}", outcome.remarks());
    assert_eq!(outcome.warnings, []);
}

#[test]
fn older_codex_rollouts() {
    let outcome = read("rollout.jsonl", &fixture("codex-old.jsonl"));
    check(
        &outcome.only(),
        r#"
        ROOT < -
        i1 < ROOT turn 1 | user Count the oars.
        i2 < i1 | assistant local_shell_call#k1({"type":"exec","command":["ls"]})
        i3 < i2 | tool 4 ^k1
        i4 < i3 | assistant Four.
        leaf i4 of "Count the oars."
        "#,
    );
}

#[test]
fn a_codex_rollout_that_grows_keeps_what_was_complete() {
    let bytes = fixture("codex.jsonl");
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    // Cut between a reasoning and the calls that belong to it.
    let early = read("rollout.jsonl", &lines[..6].concat());
    let (early, late) = (early.only(), read("rollout.jsonl", &bytes).only());
    let whole: Vec<_> = early.nodes().filter(|placed| late.get(&placed.node.id).is_some()).collect();
    assert_eq!(whole.len(), early.nodes().len() - 1);
    assert!(whole.iter().all(|placed| late.get(&placed.node.id).unwrap().node.messages == placed.node.messages));
}

#[test]
fn pi_trees() {
    let outcome = read("session.jsonl", &fixture("pi.jsonl"));
    let garden = outcome.only();
    check(
        &garden,
        r#"
        ROOT < -
        u1 < ROOT turn 1 | user What grows here?
        a1 < u1 | assistant (Look first.) Looking. read#t1({"path":"beds.md"})
        r1 < a1 | tool beans + <image> ^t1
        a2 < r1 | assistant Beans.
        u2 < a2 turn 2 | user Water them.
        a3 < u2 | assistant!
        c1 < a3 [compaction] turn 3 | user*! There are beans.
        u3 < c1 turn 4 | user And peas?
        b1 < a2 turn 5 | user! Peas were asked for.
        s1 < b1 turn 6 | user* Ran `date`/```/June/```
        h1 < s1 [hidden] turn 7 | user Rain is coming.
        leaf h1 of "Garden"
        "#,
    );
    let id = |name: &str| MessageId::scoped(garden.id(), name);
    let node = |name: &str| &garden.get(&id(name)).unwrap().node;
    assert_eq!(node("c1").messages[0].kind, Kind::Summary { from: Some(id("u1")), to: Some(id("a2")) });
    assert_eq!(node("a1").origin.model.as_deref(), Some("claude-sonnet-4-5"));
    assert_eq!(node("r1").messages[0].name.as_deref(), Some("read"));
    assert_eq!(extra(&garden, "a1", "pi")["usage"]["output"], 9);
    assert_eq!(extra(&garden, "a1", "claude")["thinking"][0]["signature"], "sig");
    assert_eq!(extra(&garden, "c1", "pi")["tokensBefore"], 900);
    let reason = "Request was aborted".to_owned();
    assert_eq!(node("a3").messages[0].kind, Kind::Error { code: "ABORTED".to_owned(), reason });
}

#[test]
fn older_pi_sessions_are_lists() {
    let outcome = read("session.jsonl", &fixture("pi-old.jsonl"));
    let session = outcome.only();
    check(
        &session,
        "ROOT < -\n e0 < ROOT turn 1 | user Dig.\n e2 < e0 | assistant Dug.\n e3 < e2 [compaction] turn 2 | user*! A hole.\n leaf e3 of \"Dig.\"",
    );
    let id = |name: &str| Some(MessageId::scoped(session.id(), name));
    let last = session.nodes().next_back().unwrap();
    assert_eq!(last.node.messages[0].kind, Kind::Summary { from: id("e0"), to: id("e0") });
}

#[test]
fn sillytavern_swipes_are_branches() {
    let outcome = read("chat.jsonl", &fixture("sillytavern.jsonl"));
    assert_eq!(outcome.remarks(), "");
    let chat = outcome.only();
    // Ids end in digests of what was said; here they are left out.
    let text = outline(&chat);
    let plain: Vec<String> = text
        .lines()
        .map(|line| {
            line.split(' ')
                .map(|word| word.split_once('-').filter(|(_, sum)| sum.len() == 16).map_or(word, |(name, _)| name))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(
        plain,
        [
            "ROOT < -",
            "0.0 < ROOT | assistant Ahoy!",
            "1.0 < 0.0 turn 1 | user Where to?",
            "2.0 < 1.0 | assistant South!",
            "2.1 < 1.0 | assistant (The wind is fair.) North, then!",
            "2.2 < 1.0 | assistant East!",
            "3.0 < 2.1 turn 2 | user Aye.",
            "4.0 < 3.0 [hidden] | assistant* Chat saved.",
            "leaf 4.0 of \"Captain\"",
        ]
    );
    assert_eq!(chat.id().as_str(), "sillytavern/i-1");
    assert_eq!(chat.info().created_at, Some(1720101930120));
    let north = chat.nodes().find(|placed| placed.node.messages.iter().any(|m| m.text() == "North, then!")).unwrap();
    assert_eq!(north.node.origin.model.as_deref(), Some("m-2"));
    assert_eq!(north.node.messages[0].name.as_deref(), Some("Captain"));
    assert_eq!(north.node.created_at, Some(1720102020000));
    // Swiped to another answer later: nothing that was there has another text.
    let swiped = String::from_utf8(fixture("sillytavern.jsonl")).unwrap();
    let swiped = swiped.replace("\"mes\":\"North, then!\",\"swipe_id\":1", "\"mes\":\"South!\",\"swipe_id\":0");
    let swiped = read("chat.jsonl", swiped.as_bytes()).only();
    for placed in swiped.nodes().filter(|placed| placed.node.parent.is_some()) {
        let known = chat.get(&placed.node.id);
        assert!(known.is_none_or(|known| known.node.messages[0].text() == placed.node.messages[0].text()));
    }
    assert!(chat.nodes().any(
        |placed| placed.node.messages.iter().any(|m| m.text() == "South!") && swiped.get(&placed.node.id).is_some()
    ));
}

/// The durations of a conversation's tool results, in milliseconds.
fn durations(outcome: &crate::common::Outcome) -> Vec<Option<u64>> {
    let boat = outcome.only();
    let messages = boat.nodes().flat_map(|placed| &placed.node.messages);
    let results = messages.filter(|message| message.role == Role::Tool);
    results.map(|result| result.extra.get("duration").and_then(Value::as_u64)).collect()
}

#[test]
fn how_long_a_tool_ran_comes_from_codex_events_and_outputs() {
    let lines = [
        r#"{"type":"session_meta","payload":{"id":"took"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"Time them."}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"a"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":"mcp","arguments":"{}","call_id":"b"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":"exec","arguments":"{}","call_id":"d"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","name":"plan","arguments":"{}","call_id":"e"}}"#,
        r#"{"type":"event_msg","payload":{"type":"exec_command_end","call_id":"a","duration":{"secs":1,"nanos":250000000}}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"one"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"b","output":"two"}}"#,
        // The event may come after the result.
        r#"{"type":"event_msg","payload":{"type":"mcp_tool_call_end","call_id":"b","duration":{"secs":0,"nanos":7000000}}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.4}}"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"d","output":"Exit code: 0\nWall time: 2.5 seconds\nOutput:\ny"}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"e","output":"Wall time: some seconds"}}"#,
    ];
    let outcome = read("rollout.jsonl", lines.join("\n").as_bytes());
    assert_eq!(durations(&outcome), [Some(1250), Some(7), Some(400), Some(2500), None]);
}

#[test]
fn how_long_a_tool_ran_comes_from_claude_codes_copies_of_results() {
    let took = [
        r#"{"durationMs":339}"#,
        r#"{"totalDurationMs":4000,"content":[]}"#,
        r#"{"durationSeconds":1.5}"#,
        r#""text""#,
    ];
    let line = |at: usize, copy: &str| {
        let (call, above) = (format!("c{at}"), if at == 0 { "null".to_owned() } else { format!("\"r{}\"", at - 1) });
        [
            format!(
                r#"{{"type":"assistant","uuid":"a{at}","parentUuid":{above},"sessionId":"s","message":{{"id":"m{at}","role":"assistant","content":[{{"type":"tool_use","id":"{call}","name":"Glob","input":{{}}}}]}}}}"#
            ),
            format!(
                r#"{{"type":"user","uuid":"r{at}","parentUuid":"a{at}","sessionId":"s","toolUseResult":{copy},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{call}","content":"found"}}]}}}}"#
            ),
        ]
        .join("\n")
    };
    let lines: Vec<String> = took.iter().enumerate().map(|(at, copy)| line(at, copy)).collect();
    let outcome = read("session.jsonl", lines.join("\n").as_bytes());
    assert_eq!(durations(&outcome), [Some(339), Some(4000), Some(1500), None]);
}
