//! What made other programs' requests fail for good: each has its test here, under the report's name.

use serde_json::{Value, json};
use threadkeep_provider::{Provider, RenderOptions, validate_messages, validate_payload};

use crate::support::{broken, call, messages, rendered};

/// Renders for every provider (which checks that the payload is valid) and gives the notes of each, by rule.
fn notes(list: &Value) -> Vec<Vec<&'static str>> {
    let options = RenderOptions::default();
    let all = Provider::ALL.into_iter().map(|provider| rendered(list.clone(), provider, &options).notes);
    all.map(|notes| notes.iter().map(|note| note.rule.name()).collect()).collect()
}

/// The rules that messages break, the same for every provider.
fn rules(list: &Value) -> Vec<&'static str> {
    let messages = messages(list.clone());
    let messages: Vec<_> = messages.iter().collect();
    let found = Provider::ALL.map(|provider| validate_messages(&messages, provider));
    assert!(found.iter().all(|rules| rules.iter().map(|f| f.rule).eq(found[0].iter().map(|f| f.rule))), "{found:?}");
    found[0].iter().map(|finding| finding.rule).collect()
}

#[test]
fn openclaw_8525_an_orphan_result_after_compaction() {
    let list = json!([
        {"role": "user", "content": "(summary of what was before)"},
        {"role": "tool", "tool_call_id": "toolu_gone", "name": "read", "content": "the file"},
        {"role": "user", "content": "go on"},
    ]);
    assert_eq!(rules(&list), ["orphan-result"]);
    assert!(notes(&list).iter().all(|notes| notes.contains(&"orphan-result")));
    let payload = rendered(list, Provider::Anthropic, &RenderOptions::default()).payload;
    let said: Vec<&str> =
        payload["messages"][0]["content"].as_array().unwrap().iter().filter_map(|b| b["text"].as_str()).collect();
    assert_eq!(
        said,
        ["(summary of what was before)", "<tool_result name=\"read\">", "the file", "</tool_result>", "go on"]
    );
}

#[test]
fn claude_code_8484_an_orphan_result_makes_every_later_request_fail() {
    // The first message kept is the result of a call that is gone, and the next call has lost its result.
    let list = json!([
        {"role": "tool", "tool_call_id": "toolu_1", "content": "old"},
        {"role": "assistant", "content": "Next.", "tool_calls": [call("toolu_2", "ls", "{}")]},
        {"role": "user", "content": "and now?"},
    ]);
    assert_eq!(rules(&list), ["orphan-result", "unanswered-call"]);
    assert!(notes(&list).iter().all(|notes| notes.contains(&"orphan-result") && notes.contains(&"unanswered-call")));
}

#[test]
fn claude_code_56515_server_side_tool_groups_split() {
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}});
    let hits = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let said = json!({"type": "text", "text": "Found."});
    let user = json!({"role": "user", "content": "u"});
    let turn = |blocks: Value| json!({"messages": [user, {"role": "assistant", "content": blocks}, user]});
    assert_eq!(broken(Provider::Anthropic, turn(json!([search, hits, said]))), "");
    assert_eq!(broken(Provider::Anthropic, turn(json!([search, said]))), "1 unanswered-call");
    assert_eq!(broken(Provider::Anthropic, turn(json!([hits, said]))), "1 orphan-result");
    // A response's own blocks that were split come back whole or not at all.
    for blocks in [json!([search, said]), json!([hits, said])] {
        let list = json!([user, {"role": "assistant", "content": "Found.", "anthropic": blocks}, user]);
        let payload = rendered(list, Provider::Anthropic, &RenderOptions::default()).payload;
        assert_eq!(payload["messages"][1]["content"], json!([said]));
    }
}

#[test]
fn claude_code_56515_server_side_tools_of_an_archive() {
    // As the Claude readers leave them: the call and its result are messages of their own.
    let hit = json!({"type": "web_search_result", "url": "https://x.example", "title": "X", "encrypted_content": "e"});
    let list = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "Searching.", "tool_calls": [call("srvtoolu_1", "web_search", "{\"query\":\"x\"}")],
            "claude": {"calls": [{"id": "srvtoolu_1", "type": "server_tool_use"}]}},
        {"role": "tool", "tool_call_id": "srvtoolu_1", "content": [hit], "claude": {"type": "web_search_tool_result"}},
        {"role": "assistant", "content": "Found."},
        {"role": "user", "content": "thanks"},
    ]);
    let payload = rendered(list.clone(), Provider::Anthropic, &RenderOptions::default()).payload;
    let blocks = json!([{"type": "text", "text": "Searching."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [hit]},
        {"type": "text", "text": "Found."}]);
    assert_eq!(payload["messages"][1]["content"], blocks);
    // Nobody else could make anything of it.
    for provider in [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Gemini, Provider::Ollama] {
        let rendered = rendered(list.clone(), provider, &RenderOptions::default());
        assert!(!rendered.payload.to_string().contains("srvtoolu_1"));
        assert_eq!(rendered.notes.iter().map(|note| note.rule.name()).collect::<Vec<_>>(), ["foreign-item"]);
    }
}

#[test]
fn pi_8667_an_old_compaction_point_inside_a_pair_on_another_branch() {
    let branch = |start: usize| {
        let list = json!([
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": "", "tool_calls": [call("a", "f", "{}"), call("b", "f", "{}")]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "next"},
        ]);
        Value::Array(list.as_array().unwrap()[start..].to_vec())
    };
    assert_eq!(rules(&branch(2)), ["orphan-result", "orphan-result"]);
    assert_eq!(rules(&branch(3)), ["orphan-result"]);
    for start in 0..6 {
        // Rendering checks that every cut is valid.
        notes(&branch(start));
    }
}

#[test]
fn a_dropped_call_whose_reasoning_item_stays() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"});
    let called = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"});
    let user = json!({"role": "user", "content": "u"});
    assert_eq!(broken(Provider::OpenAiResponses, json!({"input": [user, item, user]})), "1 lone-reasoning");
    // The call was taken out of the message, its items stayed beside it.
    let list = json!([user, {"role": "assistant", "content": "", "openai-responses": [item, called]}, user]);
    let payload = rendered(list, Provider::OpenAiResponses, &RenderOptions::default()).payload;
    assert_eq!(payload, json!({"input": [user, user]}));
    // And where the reasoning is all that is left.
    let list = json!([user, {"role": "assistant", "content": null, "openai-responses": [item]}, user]);
    let payload = rendered(list, Provider::OpenAiResponses, &RenderOptions::default()).payload;
    assert_eq!(payload, json!({"input": [user, user]}));
}

#[test]
fn a_user_who_speaks_while_a_tool_is_pending() {
    let list = json!([
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "tool_calls": [call("c1", "f", "{}")]},
        {"role": "user", "content": "never mind"},
        {"role": "tool", "tool_call_id": "c1", "content": "late"},
    ]);
    assert_eq!(rules(&list), ["unanswered-call", "misplaced-result"]);
    assert!(notes(&list).iter().all(|notes| notes == &["moved-result"]));
}

#[test]
fn what_is_broken_never_hides_behind_another_provider() {
    // A payload of one provider's is no payload of another's.
    let list = crate::support::weather();
    for from in Provider::ALL {
        let payload = rendered(list.clone(), from, &RenderOptions::default()).payload;
        for to in Provider::ALL {
            let same = from == to;
            assert_eq!(validate_payload(&payload, to).is_empty(), same, "{} as {}", from.name(), to.name());
        }
    }
}

#[test]
fn items_do_not_outlive_a_change_of_their_message() {
    let user = json!({"role": "user", "content": "u"});
    let items = json!([{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Half an\nanswer", "annotations": []}]}]);
    let turn =
        |content: &str| json!([user, {"role": "assistant", "content": content, "openai-responses": items}, user]);
    let input = |content: &str| {
        rendered(turn(content), Provider::OpenAiResponses, &RenderOptions::default()).payload["input"].take()
    };
    assert_eq!(input("Half an answer"), json!([user, items[0], items[1], user]));
    let changed = "Half an answer\n\nLLM_ERROR\n- reason: timeout";
    assert_eq!(input(changed), json!([user, {"role": "assistant", "content": changed}, user]));
}
