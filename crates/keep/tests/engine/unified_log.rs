//! The unified log: chat, agent and run read and write one conversation, tool results and failures are messages in it, and
//! what a model is told of its mode is never stored.

use serde_json::{Value, json};
use threadkeep::protocol::ContextOptions;
use threadkeep_core::{Content, Kind, Message, Role};
use threadkeep_provider::INTERRUPTED;

use crate::{World, run, texts};

fn options(json: Value) -> ContextOptions {
    let mut with = json!({ "encoding": "estimate" });
    with.as_object_mut().unwrap().extend(json.as_object().unwrap().clone());
    ContextOptions::from_json(&with).unwrap()
}

fn exchange() -> Vec<Message> {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    vec![
        Message::user("look"),
        Message::from_json(call).unwrap(),
        Message::tool("call_1", "seen"),
        Message::assistant("It is there."),
    ]
}

#[test]
fn tool_results_are_stored_as_role_tool_with_their_tool_call_id() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", exchange()).await.unwrap();
        let stored = keep.get_range("chat", 0, 99).await.unwrap();
        assert_eq!(stored, exchange());
        assert_eq!((&stored[2].role, stored[2].tool_call_id.as_deref()), (&Role::Tool, Some("call_1")));
        assert_eq!((&stored[1].content, stored[1].tool_calls[0].id()), (&Content::Null, "call_1"));
    });
}

#[test]
fn a_reopened_conversation_still_has_its_tool_messages_and_the_next_prompt_its_history() {
    let world = World::default();
    run(async {
        world.tab().append("chat", exchange()).await.unwrap();
        let reopened = world.tab();
        reopened.append("chat", vec![Message::user("and now?")]).await.unwrap();
        let reply = reopened.context("chat", &options(json!({}))).await.unwrap();
        let roles: Vec<&str> =
            reply.payload["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
        assert_eq!(reply.payload["messages"][2]["tool_call_id"], "call_1");
    });
}

#[test]
fn a_mode_switch_from_chat_to_agent_to_run_keeps_the_history_and_changes_the_system_prompt() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", exchange()).await.unwrap();
        let mut frames = Vec::new();
        for mode in ["chat", "agent", "run"] {
            let asked = options(json!({"mode": mode, "systemPrompt": format!("rules of {mode}"), "persona": "Ada",
                "run": {"directive": "Do it.", "nodeBrief": "brief", "step": "1 of 2"}}));
            let reply = keep.context("chat", &asked).await.unwrap();
            let frame = reply.messages.iter().take_while(|message| message.role == Role::System).count();
            assert_eq!(texts(&reply.messages[frame..]), ["look", "", "seen", "It is there."]);
            let frame = texts(&reply.messages[..frame]);
            assert_eq!(frame[0], format!("rules of {mode}"));
            assert!(frame.iter().any(|text| text.contains(&format!("- active: {mode}"))), "{frame:?}");
            assert_eq!(frame.iter().any(|text| text == "Ada"), mode != "chat");
            assert_eq!(frame.iter().any(|text| text.starts_with("RUN_DIRECTIVE")), mode == "run");
            frames.push(frame);
        }
        assert!(frames[0] != frames[1] && frames[1] != frames[2]);
    });
}

#[test]
fn the_system_prompt_is_not_stored() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", exchange()).await.unwrap();
        keep.context("chat", &options(json!({"systemPrompt": "rules", "mode": "agent", "persona": "Ada"})))
            .await
            .unwrap();
        assert_eq!(keep.get_range("chat", 0, 99).await.unwrap(), exchange());
    });
}

#[test]
fn an_llm_failure_is_stored_with_its_partial_output_and_continue_resumes_from_it() {
    let world = World::default();
    run(async {
        let kind = Kind::Error { code: "LLM_ERROR".into(), reason: "timeout".into() };
        let failed = Message { kind: kind.clone(), ..Message::assistant("Roses are") };
        world.tab().append("chat", vec![Message::user("a poem"), failed.clone()]).await.unwrap();
        let keep = world.tab();
        keep.append("chat", vec![Message::user("continue")]).await.unwrap();
        assert_eq!(keep.get_range("chat", 0, 99).await.unwrap()[1], failed);
        for provider in ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"] {
            let reply = keep.context("chat", &options(json!({ "provider": provider }))).await.unwrap();
            let payload = reply.payload.to_string();
            for wanted in ["Roses are", INTERRUPTED, "continue"] {
                assert!(payload.contains(wanted), "{provider}: {payload}");
            }
            // Why it was interrupted is for the reader: a model would take it for its own words.
            assert!(!payload.contains("LLM_ERROR") && !payload.contains("timeout"), "{provider}: {payload}");
        }
    });
}

#[test]
fn a_prompt_can_be_of_one_run_and_have_collapsed_events_or_no_tool_results() {
    let world = World::default();
    run(async {
        let said = |value: Value| Message::from_json(value).unwrap();
        let log = vec![
            said(json!({"role": "user", "content": "first", "mode": "run", "runId": "one"})),
            said(json!({"role": "user", "content": "second", "mode": "run", "runId": "two"})),
            said(json!({"role": "assistant", "content": "step done", "isCollapsed": true})),
            said(json!({"role": "assistant", "content": "hidden", "includeInContext": false})),
        ];
        let log = [log, exchange(), vec![Message::user("and now?")]].concat();
        world.tab().append("chat", log.clone()).await.unwrap();
        let keep = world.tab();
        assert_eq!(keep.get_range("chat", 0, 99).await.unwrap(), log);
        let shown = async |asked: Value| texts(&keep.context("chat", &options(asked)).await.unwrap().messages);
        let rest = ["look", "", "seen", "It is there.", "and now?"];
        assert_eq!(shown(json!({})).await, [&["first", "second"], &rest[..]].concat());
        assert_eq!(shown(json!({"only": {"runId": "two"}})).await, [&["second"], &rest[..]].concat());
        assert_eq!(shown(json!({"only": {"mode": "chat"}})).await, rest);
        let all = shown(json!({"includeCollapsedUiEventsInContext": true})).await;
        assert_eq!(all, [&["first", "second", "step done"], &rest[..]].concat());
        let without = shown(json!({"includeToolResultsInContext": false})).await;
        assert!(without[4].starts_with("TOOL_RESULT left out") && without[4].ends_with("call_1.json"), "{without:?}");
        // The same keep with the default again: nothing of the other options is left in its cache.
        assert_eq!(shown(json!({})).await, [&["first", "second"], &rest[..]].concat());
        for (wrong, place) in
            [(json!({"only": {"run": 1}}), "options.only.run"), (json!({"only": {"mode": "x"}}), "options.only.mode")]
        {
            let error = ContextOptions::from_json(&wrong).unwrap_err();
            assert_eq!(error.argument, place);
        }
    });
}

#[test]
fn include_in_context_false_is_for_people_only() {
    let keep = World::default().tab();
    run(async {
        let note = Message { include_in_context: false, ..Message::assistant("switched to agent") };
        keep.append("chat", vec![Message::user("hi"), note, Message::user("there")]).await.unwrap();
        assert_eq!(keep.get_count("chat").await.unwrap(), 3);
        let reply = keep.context("chat", &options(json!({}))).await.unwrap();
        assert_eq!(texts(&reply.messages), ["hi", "there"]);
        assert!(reply.ledger.iter().any(|line| (line.index, line.rule) == (1, "not-in-context")));
    });
}
