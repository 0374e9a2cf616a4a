//! Groups in every shape that agents leave behind. The names after "peers" are failures that users of others have seen.

use serde_json::json;
use threadkeep_context::tokens::Estimate;
use threadkeep_context::{Action, Budget, Options, build, items, rule};
use threadkeep_core::{Content, Message, Part, Role};

use crate::common::{Letters, check, context, history, rules};
use crate::transcripts::unpaired;

fn all() -> Options {
    Options::default()
}

fn newest(messages: u64) -> Options {
    Options { budget: Budget { max_messages: Some(messages), ..Budget::default() }, ..Options::default() }
}

#[test]
fn results_out_of_order_render_in_call_order() {
    let ledger = check(
        "u go
         a look (c1 c2 c3)
         t c3 three
         t c1 one
         t c2 two",
        &all(),
        "u go
         a look (c1 c2 c3)
         t c1 one
         t c2 two
         t c3 three",
    );
    let moved = rules(&ledger, Action::Repaired);
    assert_eq!(moved, [(3, rule::MOVED_RESULT), (4, rule::MOVED_RESULT), (2, rule::MOVED_RESULT)]);
}

#[test]
fn parallel_calls_are_kept_or_dropped_together() {
    let given = "u go
                 a look (c1 c2)
                 t c1 one
                 t c2 two
                 u next";
    let whole = given;
    check(given, &newest(5), whole);
    check(given, &newest(4), "a look (c1 c2)\nt c1 one\nt c2 two\nu next");
    check(given, &newest(3), "u next");
    check(given, &newest(1), "u next");
}

#[test]
fn a_pending_call_is_cancelled_before_a_user_message() {
    let ledger = check(
        "u go
         a (c1)
         u stop",
        &all(),
        "u go
         a (c1)
         t c1 Cancelled: the user spoke before this call had a result.
         u stop",
    );
    assert_eq!(rules(&ledger, Action::Repaired), [(2, rule::CANCELLED_CALL)]);
}

#[test]
fn a_result_that_comes_after_the_user_spoke_moves_behind_its_call() {
    let ledger = check(
        "u go
         a (c1)
         u how far are you
         t c1 done",
        &all(),
        "u go
         a (c1)
         t c1 done
         u how far are you",
    );
    assert_eq!(rules(&ledger, Action::Repaired), [(3, rule::MOVED_RESULT)]);
}

#[test]
fn an_aborted_call_gets_a_result_that_says_so() {
    let ledger = check(
        "u go
         a (c1 c2)
         t c2 two
         a well",
        &all(),
        "u go
         a (c1 c2)
         t c1 Aborted: this call has no result.
         t c2 two
         a well",
    );
    assert_eq!(rules(&ledger, Action::Repaired), [(3, rule::ABORTED_CALL)]);
}

#[test]
fn a_call_at_the_end_is_pending_in_a_live_turn_and_aborted_otherwise() {
    let given = "u go\na (c1)";
    check(given, &all(), "u go\na (c1)\nt c1 Aborted: this call has no result.");
    let live = Options { live: true, ..all() };
    check(given, &live, "u go\na (c1)\nt c1 Pending: this call is still running.");
}

#[test]
fn peers_an_orphan_result_never_reaches_a_prompt() {
    let ledger = check(
        "t c0 lost
         u go
         t c9 whose
         a yes",
        &all(),
        "u go
         a yes",
    );
    assert_eq!(rules(&ledger, Action::Repaired), [(0, rule::ORPHAN_RESULT), (2, rule::ORPHAN_RESULT)]);
    // Nor does trimming make one: the call and its results go together.
    let history = history("u go\na (c1)\nt c1 one\nu b\na c\nu d");
    for messages in 0..8 {
        let context = context(&items(&history), &newest(messages));
        assert_eq!(unpaired(context.messages.iter().map(|message| &**message)), None);
    }
}

#[test]
fn a_second_result_of_a_call_is_left_out() {
    let ledger = check(
        "u go
         a (c1)
         t c1 first
         t c1 again
         a ok",
        &all(),
        "u go
         a (c1)
         t c1 first
         a ok",
    );
    assert_eq!(rules(&ledger, Action::Repaired), [(3, rule::DUPLICATE_RESULT)]);
}

#[test]
fn a_call_id_that_is_used_again_is_another_call() {
    check(
        "u go
         a (c)
         u again
         a (c)
         t c two
         a done",
        &all(),
        "u go
         a (c)
         t c Cancelled: the user spoke before this call had a result.
         u again
         a (c)
         t c two
         a done",
    );
}

#[test]
fn calls_of_several_assistant_messages_are_answered_each_behind_its_own() {
    check(
        "u go
         a one (c1)
         a two (c2)
         t c1 1
         t c2 2",
        &all(),
        "u go
         a one (c1)
         t c1 1
         a two (c2)
         t c2 2",
    );
}

#[test]
fn a_system_message_between_call_and_result_moves_behind_them() {
    check(
        "u go
         a (c1)
         s remember
         t c1 1",
        &all(),
        "u go
         a (c1)
         t c1 1
         s remember",
    );
}

#[test]
fn calls_and_results_without_ids_pair_by_order() {
    let mut history = history("u go\na (x y)\nu end");
    history[1].tool_calls.iter_mut().for_each(|call| drop(call.0.shift_remove("id")));
    history.insert(2, Message::new(Role::Tool, "first"));
    history.insert(3, Message::new(Role::Tool, "second"));
    let context = context(&items(&history), &all());
    assert_eq!(context.messages[2].tool_call_id.as_deref(), Some("call_1_0"));
    assert_eq!(context.messages[3].tool_call_id.as_deref(), Some("call_1_1"));
    assert_eq!(unpaired(context.messages.iter().map(|message| &**message)), None);
    let repaired = rules(&context.ledger, Action::Repaired);
    assert_eq!(repaired, [(1, rule::CALL_ID), (2, rule::RESULT_ID), (3, rule::RESULT_ID)]);
}

fn parts(role: Role, parts: serde_json::Value) -> Message {
    let parts = parts.as_array().unwrap().iter().map(|part| Part(part.as_object().unwrap().clone())).collect();
    Message::new(role, Content::Parts(parts))
}

#[test]
fn peers_a_server_side_tool_group_is_never_split() {
    let call = json!({"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []});
    // In one message, and over two, as a paused turn leaves them.
    let one = vec![Message::user("go"), parts(Role::Assistant, json!([call, result, {"type": "text", "text": "a"}]))];
    let two = vec![
        Message::user("go"),
        parts(Role::Assistant, json!([{"type": "text", "text": "let me search"}, call])),
        parts(Role::Assistant, json!([result, {"type": "text", "text": "found"}])),
        Message::user("and now"),
    ];
    assert_eq!(context(&items(&one), &all()).messages.len(), 2);
    for messages in 0..5 {
        let context = context(&items(&two), &newest(messages));
        let assistants = context.messages.iter().filter(|message| message.role == Role::Assistant).count();
        assert_eq!(assistants, if messages < 3 { 0 } else { 2 }, "at {messages}");
        assert!(context.ledger.iter().all(|line| line.action != Action::Repaired));
    }
    // A turn that was paused there goes on: the server has not answered yet.
    let paused = context(&items(&two[..2]), &all());
    assert_eq!(*paused.messages[1], two[1]);
    let mut noted = Message::assistant("searching");
    noted.tool_calls.push(threadkeep_core::ToolCall::function("srv2", "web_search", "{}"));
    noted.extra.insert("claude".into(), json!({"calls": [{"id": "srv2", "type": "server_tool_use"}]}));
    let noted = [Message::user("go"), noted, Message::user("next")];
    assert_eq!(context(&items(&noted[..2]), &all()).messages.len(), 2);
    assert_eq!(context(&items(&noted), &all()).messages.len(), 4);
    // Items of OpenAI's own tools lie in their message, untouched.
    let mut search = Message::assistant("found");
    search.extra.insert("output".into(), json!([{"type": "web_search_call", "id": "ws1", "status": "completed"}]));
    assert_eq!(*context(&items(std::slice::from_ref(&search)), &all()).messages[0], search);
}

#[test]
fn results_in_the_parts_of_a_user_message_belong_to_their_calls() {
    let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "f", "input": {}}]);
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "r"});
    let history = vec![
        Message::user("go"),
        parts(Role::Assistant, call("c1")),
        Message::user("hurry"),
        parts(Role::User, json!([result("c0"), result("c1"), {"type": "text", "text": "here"}])),
        parts(Role::User, json!([result("c7")])),
    ];
    let context = context(&items(&history), &all());
    assert_eq!(unpaired(context.messages.iter().map(|message| &**message)), None);
    assert_eq!(context.messages.len(), 4);
    assert_eq!(context.messages[2].text(), "here");
    assert_eq!(context.messages[3].text(), "hurry");
    // One message that answers the calls of two.
    let history = vec![
        parts(Role::Assistant, call("c1")),
        parts(Role::Assistant, call("c2")),
        parts(Role::User, json!([result("c1"), result("c2")])),
    ];
    let context = build(&items(&history), &all(), &Estimate);
    assert_eq!(unpaired(context.messages.iter().map(|message| &**message)), None);
    assert_eq!(context.messages.len(), 4);
}

#[test]
fn peers_a_dropped_call_takes_its_reasoning_along() {
    let mut history = history("u go\na\na (c1)\nt c1 one\nu next\na\nu last");
    history[1].reasoning = Some("I should look".into());
    history[5].reasoning = Some("and then nothing followed".into());
    // Reasoning in a message of its own is in the group of what follows it.
    let whole = context(&items(&history), &all());
    assert_eq!(rules(&whole.ledger, Action::Repaired), [(5, rule::REASONING_ALONE)]);
    for messages in 0..8 {
        let context = context(&items(&history), &newest(messages));
        let has = |wanted: fn(&Message) -> bool| context.messages.iter().any(|message| wanted(message));
        assert_eq!(has(|m| m.reasoning.is_some()), has(|m| !m.tool_calls.is_empty()), "at {messages}");
    }
}

#[test]
fn a_call_in_the_old_form_is_kept_with_its_result() {
    let mut history = history("function lost\nu go\na\nfunction 42\na yes\nu b");
    history[2].extra.insert("function_call".into(), json!({"name": "f", "arguments": "{}"}));
    for messages in 0..8 {
        let context = context(&items(&history), &newest(messages));
        let has = |role: &str| context.messages.iter().any(|message| message.role.as_str() == role);
        let called = context.messages.iter().any(|message| message.extra.contains_key("function_call"));
        assert_eq!(has("function"), called, "at {messages}");
        assert_eq!(rules(&context.ledger, Action::Repaired), [(0, rule::ORPHAN_RESULT)]);
    }
}

#[test]
fn empty_answers_are_left_out() {
    let ledger = check("u go\na\nu again\na yes", &all(), "u go\nu again\na yes");
    assert_eq!(rules(&ledger, Action::Repaired), [(1, rule::EMPTY_MESSAGE)]);
}

#[test]
fn include_in_context_false_stays_out() {
    let ledger = check("u go\n- a only for people\n- u nor this\na yes", &all(), "u go\na yes");
    let out = rules(&ledger, Action::Dropped);
    assert_eq!(out, [(1, rule::NOT_IN_CONTEXT), (2, rule::NOT_IN_CONTEXT)]);
    // A hidden call takes its result along.
    check("u go\n- a (c1)\nt c1 one\na yes", &all(), "u go\na yes");
}

#[test]
fn calls_answered_over_several_nodes_are_one_group() {
    use threadkeep_core::{Entry, MessageId, Node, Transcript};
    let id = |name: &str| MessageId::new(name).unwrap();
    let mut tree = Transcript::new(id("n0"));
    for (at, message) in history("u go\na (c1 c2)\nt c2 two\nt c1 one\na done").into_iter().enumerate() {
        let parent = at.checked_sub(1).map(|up| id(&format!("n{up}")));
        let mut node = Node::new(id(&format!("n{at}")), parent, vec![message]);
        node.turn = u32::from(at == 0);
        tree.apply(Entry::Node(Box::new(node))).unwrap();
    }
    let items = threadkeep_context::chain_items(&tree, &id("n4")).unwrap();
    assert!(items.iter().all(|item| item.turn == 1));
    let context = build(&items, &all(), &Letters);
    let nodes: Vec<&str> = context.ledger.iter().filter_map(|line| Some(line.node.as_ref()?.as_str())).collect();
    assert_eq!(nodes, ["n0", "n1", "n3", "n2", "n4"]);
}

#[test]
fn peers_a_summary_between_a_call_and_its_result_splits_nothing() {
    use threadkeep_core::Kind;
    for role in [Role::System, Role::User, Role::Assistant] {
        let mut history = history("u go\na (c1)\nt c1 one\nu next\na done\nu more");
        let mut summary = Message::new(role.clone(), "Summary: it went on.");
        summary.kind = Kind::Summary { from: None, to: None };
        history.insert(2, summary);
        for messages in 0..9 {
            let context = context(&items(&history), &newest(messages));
            assert_eq!(unpaired(context.messages.iter().map(|message| &**message)), None, "{role:?} at {messages}");
        }
    }
}
