//! Damaged, malicious and strange input: a clear remark, and the rest comes in.

use serde_json::json;
use threadkeep_archive::Code;
use threadkeep_core::MessageId;

use crate::common::{Outcome, check, outline, read, tree};

fn text(role: &str, text: &str) -> serde_json::Value {
    json!({"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}})
}

fn chat(id: &str, mapping: serde_json::Value) -> String {
    json!({"title": "t", "conversation_id": id, "mapping": mapping}).to_string()
}

fn one(mapping: serde_json::Value) -> Outcome {
    read("c.json", format!("[{}]", chat("c", mapping)).as_bytes())
}

#[test]
fn wrong_types_anywhere_cost_only_what_they_touch() {
    let good = chat("good", json!({"a": {"parent": null, "message": text("user", "hi")}}));
    for (bad, conversations) in [
        ("5".to_owned(), 1),
        ("null".to_owned(), 1),
        ("[]".to_owned(), 1),
        (r#"{"mapping":[],"id":"x"}"#.to_owned(), 1),
        (r#"{"mapping":{},"id":7}"#.to_owned(), 1),
        (r#"{"mapping":{"a":5,"b":[],"c":null},"id":"x"}"#.to_owned(), 2),
        (r#"{"mapping":{"a":{"parent":7,"children":"x","message":"y"}},"id":"x"}"#.to_owned(), 2),
        (r#"{"mapping":{"a":{"message":{"author":5,"content":7,"metadata":[],"weight":"w","recipient":{}}}},"id":"x"}"#.to_owned(), 2),
        (r#"{"mapping":{"a":{"message":{"content":{"content_type":"text","parts":{"x":1}}}}},"id":"x","title":5,"create_time":"?","current_node":[]}"#.to_owned(), 2),
        (r#"{"mapping":{"a":{"message":{"content":{"content_type":"thoughts","thoughts":[5,"x",{"content":7}]}}}},"id":"x"}"#.to_owned(), 2),
    ] {
        let outcome = read("c.json", format!("[{good},{bad}]").as_bytes());
        assert_eq!(outcome.conversations.len(), conversations, "{bad}: {}", outcome.remarks());
        outcome.conversations.iter().for_each(|c| drop(tree(c)));
    }
    for bad in [
        r#"{"uuid":"x","chat_messages":[5,null,"x",{"sender":7,"content":5,"attachments":5,"files":[1]},{"uuid":7,"content":[[],5,{"type":9}]}]}"#,
        r#"{"uuid":"x","chat_messages":[{"content":[{"type":"tool_use","input":5,"name":{}},{"type":"tool_result","content":5}]}]}"#,
        r#"{"uuid":"x","messages":[5,{"role":"user","content":[1,{"type":"tool_call"}]},{"content":{"contentBlocks":5,"attachments":[5]}}]}"#,
        r#"{"type":"user","uuid":"u","parentUuid":5,"sessionId":[],"message":5,"timestamp":{}}"#,
        r#"{"type":"assistant","uuid":"u","parentUuid":"u","message":{"id":5,"content":[{"type":"tool_use","id":[],"input":5}]}}"#,
        r#"{"conversationId":"c","messages":[5,{"messageId":5,"parentMessageId":[],"text":7,"content":[5,{"type":"text"},{"type":"think","think":{}},{"type":"tool_call","tool_call":{"id":5,"args":[],"output":{}}},{"type":"tool_call"}],"files":[5,{}],"model":5,"createdAt":{}},{"children":[[],{"children":5}]}]}"#,
        r#"{"conversationId":5,"messages":{}}"#,
        r#"{"id":5,"title":[],"chat":{"params":5,"history":{"currentId":[],"messages":{"a":5,"b":{"role":7,"parentId":5,"childrenIds":[5],"content":{"x":1},"output":[5,{"type":"function_call"},{"type":"function_call_output","output":{"content":5}},{"type":"reasoning","summary":5,"content":[5]}],"files":[5],"error":5}}}}}"#,
        r#"{"id":"x","chat":{"history":5}}"#,
        r#"{"id":"x","chat":{"history":{"messages":{"a":{"role":"assistant","content":"<details type=\"tool_calls\" name=\"x\" arguments=\"&quot;\"><summary></details><details type=\"x"}}}}}"#,
        r#"{"id":[],"conversations":[{"from":5,"value":5},5,{"from":"function_call","value":"{\"name\":5}"},{"value":null}]}"#,
        r#"{"message_tree_id":"t","prompt":{"text":5,"role":5,"message_id":[],"rank":"x","replies":[5,{"rank":1e99,"replies":{}}]}}"#,
        r#"{"message_tree_id":"t","prompt":5}"#,
        r#"{"version":4,"folders":[],"history":[5,{"messages":5},{"id":{},"messages":[5,{"role":5}],"model":5,"prompt":5}]}"#,
        r#"{"header":"Gemini","products":5,"title":5,"time":5,"safeHtmlItem":[5,{"html":5}],"attachedFiles":5}"#,
        r#"{"chunkedPrompt":{"chunks":[5,{"isThought":true,"role":"model","parts":5},{"id":5,"role":5,"text":5,"executableCode":5,"codeExecutionResult":[5],"inlineFile":5,"branchParent":5},{"role":"model","parts":[5,{"functionCall":5},{"functionResponse":{"response":5}}]}]},"systemInstruction":{"text":5},"runSettings":5}"#,
        r#"{"sessionId":5,"messages":[5,{"id":5,"type":5,"content":5,"thoughts":[5],"toolCalls":[5,{"id":5,"result":[5,{"functionResponse":{}}],"status":5}]}]}"#,
        "{\"sessionId\":\"s\",\"projectHash\":5}\n{\"$rewindTo\":\"x\"}\n{\"$set\":{\"sessionId\":5}}\n{\"type\":5}\n{}\n",
        "{\"type\":\"session_meta\",\"payload\":{\"id\":5,\"instructions\":[]}}\n{\"type\":\"response_item\",\"payload\":5}\n{\"type\":\"response_item\",\"payload\":{\"type\":\"function_call\",\"call_id\":5,\"arguments\":5}}\n{\"type\":\"compacted\",\"payload\":{\"message\":5}}\n{\"type\":\"event_msg\",\"payload\":{\"type\":\"thread_rolled_back\",\"num_turns\":18446744073709551615}}\n{\"type\":\"response_item\",\"payload\":{\"type\":\"x_output\",\"output\":{\"type\":5}}}\n",
        "{\"type\":\"session\",\"version\":3}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"b\",\"message\":5}\n{\"type\":\"x\",\"id\":\"b\",\"parentId\":\"c\"}\n{\"type\":\"x\",\"id\":\"c\",\"parentId\":\"b\"}\n{\"type\":\"compaction\",\"summary\":5,\"firstKeptEntryIndex\":1e99,\"firstKeptEntryId\":\"b\"}\n{\"type\":\"message\",\"message\":{\"role\":5,\"content\":[5,{\"type\":\"toolCall\"},{\"type\":\"thinking\",\"thinkingSignature\":5}]}}\n",
        "{\"user_name\":5,\"character_name\":5,\"chat_metadata\":5}\n{\"is_user\":5,\"mes\":5,\"swipe_id\":1e99,\"swipes\":[5,{}],\"swipe_info\":[5],\"extra\":5}\n{\"mes\":null,\"swipes\":{}}\n{\"x\":1}\n",
        r#"{"messages":[5,{"role":5},{"role":"user","content":{"x":1},"name":5,"tool_calls":[1]}]}"#,
    ] {
        let outcome = read("c.jsonl", bad.as_bytes());
        outcome.conversations.iter().for_each(|c| drop(tree(c)));
        assert!(outcome.conversations.len() == 1 || !outcome.skipped.is_empty(), "{bad}");
    }
}

#[test]
fn ten_thousand_levels_cost_the_message_that_has_them() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let file = format!(
        r#"[{{"id":"c","mapping":{{"a":{{"parent":null,"message":{}}},"b":{{"parent":"a","message":{{"metadata":{deep}}}}},"c":{{"parent":"b","message":{}}}}}}},{deep},{}]"#,
        text("user", "hi"),
        text("assistant", "ho"),
        chat("d", json!({"x": {"message": text("user", "next")}})),
    );
    let outcome = read("c.json", file.as_bytes());
    assert_eq!(outcome.conversations.len(), 2, "{}", outcome.remarks());
    assert_eq!(outcome.warnings[0].code, Code::TooDeep);
    assert!(outcome.warnings[0].reason.contains("128 levels"), "{}", outcome.warnings[0]);
    check(
        &tree(&outcome.conversations[0]),
        "ROOT < -\n a < ROOT turn 1 | user hi\n b < a [hidden]\n c < b | assistant ho\n leaf c of \"hi\"",
    );
    let whole = read("c.json", deep.as_bytes());
    assert_eq!(whole.conversations.len(), 0);
    assert_eq!(whole.skipped.len(), 1, "{}", whole.remarks());
    let open = read("c.json", "{\"a\":".repeat(100_000).as_bytes());
    assert_eq!(open.codes().0, [Code::Truncated]);
}

#[test]
fn circles_are_opened_at_their_first_node_and_lose_nothing() {
    let outcome = one(json!({
        "top": {"parent": null, "children": ["ok"]},
        "ok": {"parent": "top", "message": text("user", "fine")},
        "x": {"parent": "y", "children": ["y"], "message": text("user", "x")},
        "y": {"parent": "x", "children": ["x"], "message": text("user", "y")},
        "self": {"parent": "self", "message": text("user", "self")},
        "tail": {"parent": "y", "message": text("user", "below the circle")}}));
    assert_eq!(outcome.codes(), (vec![], vec![Code::Cycle; 2]), "{}", outcome.remarks());
    let places: Vec<&str> = outcome.warnings.iter().map(|skip| skip.place.rsplit(' ').next().unwrap()).collect();
    assert_eq!(places, ["x", "self"]);
    check(
        &outcome.only(),
        "ROOT < -\n ok < ROOT turn 1 | user fine\n x < ROOT turn 2 | user x\n y < x turn 3 | user y\n tail < y turn 4 | user below the circle\n self < ROOT turn 5 | user self\n leaf self of \"t\"",
    );
}

#[test]
fn parents_are_believed_before_children() {
    let outcome = one(json!({
        "top": {"parent": null, "children": ["a", "b"]},
        "a": {"parent": "top", "children": ["b", "c", "c"], "message": text("user", "a")},
        "b": {"parent": "top", "message": text("user", "b")},
        "c": {"children": ["a"], "message": text("user", "c")},
        "d": {"parent": "gone", "message": text("user", "d")}}));
    assert_eq!(outcome.codes(), (vec![], vec![Code::MissingParent]), "{}", outcome.remarks());
    check(
        &outcome.only(),
        "ROOT < -\n a < ROOT turn 1 | user a\n c < a turn 2 | user c\n b < ROOT turn 3 | user b\n d < ROOT turn 4 | user d\n leaf d of \"t\"",
    );
    // Children alone make the tree where there are no parents, and a circle of claims is opened.
    let claims = one(json!({
        "a": {"children": ["b"], "message": text("user", "a")},
        "b": {"children": ["a", "c"], "message": text("user", "b")},
        "c": {"message": text("user", "c")}}));
    assert_eq!(claims.codes(), (vec![], vec![]), "{}", claims.remarks());
    assert_eq!(claims.only().nodes().len(), 4);
    assert_eq!(claims.only().info().branches, 1);
}

#[test]
fn the_same_id_twice_loses_nothing() {
    let twice = r#"[{"id":"c","mapping":{"a":{"message":{"author":{"role":"user"},"content":{"parts":["one"]}}},"a":{"message":{"author":{"role":"user"},"content":{"parts":["two"]}}}}}]"#;
    let outcome = read("c.json", twice.as_bytes());
    assert_eq!(outcome.codes(), (vec![], vec![Code::DuplicateId]));
    let found = outline(&outcome.only());
    assert!(found.contains("one") && found.contains("two"), "{found}");
    // Ids that differ in the archive and would not here.
    let clash = one(json!({"a/b": {"message": text("user", "one")}, "a%2Fb": {"message": text("user", "two")}}));
    assert_eq!(clash.codes(), (vec![], vec![Code::DuplicateId]));
    assert_eq!(clash.only().nodes().len(), 3);
    let conversations =
        read("c.json", format!("[{0},{0}]", chat("c", json!({"a": {"message": text("user", "hi")}}))).as_bytes());
    assert_eq!(conversations.conversations.len(), 2);
    assert_eq!(conversations.conversations[0], conversations.conversations[1]);
}

#[test]
fn long_and_odd_ids_are_ids() {
    let long = "x".repeat(2000);
    let outcome = read("c.json", format!("[{}]", chat(&long, json!({&long: {"message": text("user", "hi")}, "": {"parent": &long, "message": text("user", "\u{0}\u{feff}")}}))).as_bytes());
    let tree = outcome.only();
    assert_eq!(tree.nodes().len(), 3);
    assert!(tree.nodes().all(|placed| placed.node.id.home().as_ref() == Some(tree.id())));
    assert_eq!(read("c.json", format!("[{}]", chat("", json!({}))).as_bytes()).only().id().as_str(), "chatgpt/");
}

#[test]
fn broken_text_is_mended_and_said() {
    let check = |content: &[u8], expected: &str, code: Code| {
        let file = [br#"{"messages":[{"role":"user","content":""#, content, br#""}]}"#].concat();
        let outcome = read("c.json", &file);
        assert_eq!(outcome.codes(), (vec![], vec![code]), "{}", outcome.remarks());
        assert_eq!(
            outcome
                .only()
                .root()
                .map(|_| outline(&outcome.only()))
                .unwrap()
                .lines()
                .nth(1)
                .unwrap()
                .split_once(" | user ")
                .unwrap()
                .1,
            expected
        );
    };
    check(br"a\ud800b", "a\u{fffd}b", Code::BadText);
    check(br"\udc00\ud83d\ude00", "\u{fffd}😀", Code::BadText);
    check(b"a\xff\xfeb", "a\u{fffd}\u{fffd}b", Code::BadText);
    check(b"a\tb\nc", "a\tb/c", Code::BadJson);
    let fine = read("c.json", br#"{"messages":[{"role":"user","content":"\ud83d\ude00\u0000"}]}"#);
    assert_eq!(fine.codes(), (vec![], vec![]));
    assert!(outline(&fine.only()).contains("😀\0"));
}

#[test]
fn numbers_and_words_that_are_no_json() {
    let outcome = read("c.json", br#"[{"id":"c","update_time":NaN,"create_time":1e400,"score":-Infinity,"mapping":{"a":{"message":{"author":{"role":"user"},"create_time":99999999999999999999,"weight":1e999,"content":{"parts":["hi"]}}}}}]"#);
    let tree = outcome.only();
    assert_eq!((tree.info().created_at, tree.info().updated_at), (None, None));
    let node = &tree.get(&MessageId::scoped(tree.id(), "a")).unwrap().node;
    assert_eq!((node.created_at, node.messages[0].text().as_ref()), (None, "hi"));
}

#[test]
fn script_stays_text() {
    let words = "<script>alert('x')</script> javascript:alert(1) </textarea>";
    let outcome = one(json!({"<b>": {"message": text("user", words)}}));
    assert!(outline(&outcome.only()).contains(words));
}

#[test]
fn a_cut_file_brings_what_is_whole() {
    let whole = format!(
        "[{},{}]",
        chat("a", json!({"x": {"message": text("user", "1")}})),
        chat("b", json!({"x": {"message": text("user", "2")}}))
    );
    let second = whole.find(",{\"title").unwrap();
    for cut in 1..whole.len() {
        let outcome = read("c.json", &whole.as_bytes()[..cut]);
        let expected = usize::from(cut >= second) + usize::from(cut == whole.len() - 1);
        assert_eq!(outcome.conversations.len(), expected, "cut at {cut}: {}", outcome.remarks());
        assert_eq!(outcome.codes().0, [Code::Truncated], "cut at {cut}");
    }
}

#[test]
fn a_broken_line_costs_only_itself() {
    let good = |id: &str| format!("{}\n", json!({"id": id, "messages": [{"role": "user", "content": "hi"}]}));
    let file = good("a")
        + "{\"messages\":[{\"role\":\"user\",\"content\":\"cut\n"
        + &good("b")
        + "}}}]\n\"text\"\n"
        + &good("c");
    let outcome = read("c.jsonl", file.as_bytes());
    assert_eq!(outcome.conversations.len(), 3, "{}", outcome.remarks());
    let lines: Vec<&str> = outcome.skipped.iter().map(|skip| skip.place.as_str()).collect();
    assert_eq!(lines, ["c.jsonl, line 2", "c.jsonl, line 4", "c.jsonl, line 5"], "{}", outcome.remarks());
}

#[test]
fn a_million_bad_entries_make_a_short_report() {
    let file = format!("[{}{}]", "5,".repeat(100_000), chat("c", json!({"x": {"message": text("user", "1")}})));
    assert!(read("c.json", file.as_bytes()).skipped.len() < 5);
    let file = format!("[{}{}]", chat("c", json!({"x": {"message": text("user", "1")}})), ",5".repeat(100_000));
    let outcome = read("c.json", file.as_bytes());
    assert_eq!(outcome.skipped.len(), 201);
    assert!(outcome.skipped[200].reason.starts_with("99800 more"), "{}", outcome.skipped[200]);
}

#[test]
fn a_wide_and_a_long_conversation_take_no_longer_than_their_size() {
    let mut mapping = serde_json::Map::new();
    for at in 0..20_000 {
        let parent = if at == 0 { json!(null) } else { json!(format!("n{}", at - 1)) };
        mapping.insert(format!("n{at}"), json!({"parent": parent, "message": text("user", "x")}));
    }
    assert_eq!(one(mapping.into()).only().nodes().len(), 20_001);
    let children: Vec<String> = (0..20_000).map(|at| format!("n{at}")).collect();
    let mut mapping = serde_json::Map::from_iter([("top".to_owned(), json!({"children": children}))]);
    for id in children {
        mapping.insert(id, json!({"parent": "top", "message": text("user", "x")}));
    }
    assert_eq!(one(mapping.into()).only().nodes().len(), 20_001);
}

#[test]
fn files_that_are_made_to_take_long_do_not() {
    const MANY: usize = 10_000;
    let tops: serde_json::Map<_, _> =
        (0..MANY).map(|at| (format!("t{at}"), json!({"children": [format!("c{at}")]}))).collect();
    assert_eq!(one(tops.into()).only().nodes().len(), 1);
    let same = format!(r#"[{{"id":"c","mapping":{{{}"b":null}}}}]"#, r#""a":{"message":{}},"#.repeat(MANY));
    assert_eq!(read("c.json", same.as_bytes()).only().nodes().len(), MANY + 1);
    let block = |kind: &str, at: usize| json!({"type": kind, "id": format!("i{at}"), "tool_use_id": format!("i{at}"), "name": "n", "content": ""});
    let uses = (0..MANY).map(|at| block("tool_use", at));
    let blocks: Vec<_> = uses.chain((0..MANY).rev().map(|at| block("tool_result", at))).collect();
    let claude = json!({"uuid": "u", "chat_messages": [{"uuid": "m", "sender": "assistant", "content": blocks}]});
    assert_eq!(read("c.json", claude.to_string().as_bytes()).only().info().messages as usize, MANY + 1);
    let line = |at: usize, parent: usize, kind: &str, session: usize, content: &serde_json::Value| {
        let message = json!({"id": "m", "role": kind, "content": content});
        format!(
            "{}\n",
            json!({"type": kind, "uuid": format!("u{at}"), "parentUuid": format!("u{parent}"), "sessionId": format!("s{session}"), "message": message})
        )
    };
    // A chain of progress lines written from its end; many results of one call; every line in a session of its own.
    let progress: String = (1..MANY).map(|at| line(at, at - 1, "progress", 0, &json!(""))).collect();
    let below: String = (MANY..2 * MANY).map(|at| line(at, MANY - 1, "user", 0, &json!("x"))).collect();
    let outcome = read("c.jsonl", (below + &progress + &line(0, MANY * 9, "user", 0, &json!("top"))).as_bytes());
    assert_eq!(outcome.only().nodes().len(), MANY + 2);
    let calls: Vec<_> = (0..MANY).map(|at| block("tool_use", at)).collect();
    let answers: String = (1..MANY).map(|at| line(at, at - 1, "user", 0, &json!([block("tool_result", at)]))).collect();
    let outcome = read("c.jsonl", (line(0, MANY, "assistant", 0, &json!(calls)) + &answers).as_bytes());
    assert_eq!(outcome.only().nodes().len(), 3);
    let sessions: String = (1..MANY).rev().map(|at| line(at, at - 1, "user", at, &json!("x"))).collect();
    assert_eq!(read("c.jsonl", sessions.as_bytes()).only().nodes().len(), MANY);
}

#[test]
fn circles_repeated_ids_and_missing_parents_in_other_formats() {
    let pi = "{\"type\":\"session\",\"version\":3,\"id\":\"p\"}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"b\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"b\"}}\n{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"gone\",\"message\":{\"role\":\"user\",\"content\":\"c\"}}\n{\"type\":\"message\",\"id\":\"c\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"d\"}}\n";
    let outcome = read("p.jsonl", pi.as_bytes());
    assert_eq!(
        outcome.codes(),
        (vec![], vec![Code::DuplicateId, Code::MissingParent, Code::Cycle]),
        "{}",
        outcome.remarks()
    );
    assert_eq!(outcome.only().nodes().len(), 5);
    let chat = json!({"conversationId": "c", "messages": [
        {"messageId": "a", "parentMessageId": "b", "isCreatedByUser": true, "text": "a"},
        {"messageId": "b", "parentMessageId": "a", "isCreatedByUser": true, "text": "b"},
        {"messageId": "c", "parentMessageId": "gone", "isCreatedByUser": true, "text": "c"},
        {"messageId": "c", "parentMessageId": null, "isCreatedByUser": true, "text": "d"}]});
    let outcome = read("c.json", chat.to_string().as_bytes());
    assert_eq!(
        outcome.codes(),
        (vec![], vec![Code::DuplicateId, Code::MissingParent, Code::Cycle]),
        "{}",
        outcome.remarks()
    );
    let message = |id: &str, parent: &str| json!({"id": id, "parentId": parent, "role": "user", "content": id});
    let history = json!({"currentId": "nowhere", "messages": {"a": message("a", "b"), "b": message("b", "a"), "c": message("c", "gone")}});
    let outcome = read("w.json", json!([{"id": "w", "chat": {"history": history}}]).to_string().as_bytes());
    assert_eq!(
        outcome.codes(),
        (vec![], vec![Code::MissingParent, Code::Cycle, Code::MissingLeaf]),
        "{}",
        outcome.remarks()
    );
}

#[test]
fn long_sessions_take_no_longer_than_their_size() {
    const MANY: usize = 10_000;
    let codex: String = (0..MANY)
        .map(|at| {
            let item = match at % 3 {
                0 => json!({"type": "tool_call", "name": format!("n{at}")}),
                1 => json!({"type": "message", "role": "user", "content": "x"}),
                _ => json!({"type": "reasoning", "summary": []}),
            };
            format!("{}\n", json!({"type": "response_item", "payload": item}))
                + &format!("{}\n", json!({"type": "compacted", "payload": {"message": "s"}}))
        })
        .collect();
    assert!(read("c.jsonl", codex.as_bytes()).only().nodes().len() > MANY);
    let head = json!({"type": "session", "id": "p", "version": 3});
    // Entries that are no nodes, each after the next one; compactions that all keep the same entry.
    let between = |at: usize| json!({"type": "label", "id": format!("l{at}"), "parentId": format!("l{}", at + 1)});
    let below = |at: usize| json!({"type": "message", "id": format!("m{at}"), "parentId": format!("l{at}"), "message": {"role": "user", "content": "x"}});
    let compaction =
        |at: usize| json!({"type": "compaction", "id": format!("c{at}"), "summary": "s", "firstKeptEntryId": "m0"});
    let all = std::iter::once(head)
        .chain((0..MANY).map(between))
        .chain((0..MANY).map(below))
        .chain((0..MANY).map(compaction));
    let pi: String = all.map(|line| format!("{line}\n")).collect();
    assert_eq!(read("p.jsonl", pi.as_bytes()).only().nodes().len(), 2 * MANY + 1);
    let silly: String = (0..MANY)
        .map(|at| format!("{}\n", json!({"is_user": at % 2 == 0, "mes": at.to_string(), "swipes": ["a", "b"]})))
        .collect();
    assert_eq!(read("s.jsonl", silly.as_bytes()).only().nodes().len(), 2 * MANY + 1);
    let line = |at: usize| {
        format!(
            "{}\n{}\n",
            json!({"id": format!("m{at}"), "type": "user", "content": "x"}),
            json!({"$rewindTo": format!("m{}", at / 2)})
        )
    };
    let gemini: String = std::iter::once("{\"sessionId\":\"g\",\"projectHash\":\"h\"}\n".to_owned())
        .chain((0..MANY).map(line))
        .collect();
    assert_eq!(read("g.jsonl", gemini.as_bytes()).only().nodes().len(), MANY + 1);
}

#[test]
fn a_lost_quote_costs_no_other_conversation() {
    let chats: Vec<String> = ["one", "two", "three"]
        .map(|id| chat(id, json!({"a": {"parent": null, "message": text("user", id)}, "b": {"parent": "a", "message": text("assistant", "[so] {it} is")}})))
        .into();
    let share = ["one", "two", "three"]
        .map(|id| json!({"id": id, "conversations": [{"from": "human", "value": id}, {"from": "gpt", "value": "[so] {it} is"}]}).to_string());
    for [first, second, third] in [[&chats[0], &chats[1], &chats[2]], [&share[0], &share[1], &share[2]]] {
        for (quote, _) in second.match_indices('"') {
            let mut damaged = second.clone();
            damaged.remove(quote);
            let outcome = read("c.json", format!("[{first},{damaged}, {third}]").as_bytes());
            let said: String = outcome.conversations.iter().map(|made| outline(&tree(made))).collect();
            for text in ["user one", "user three"] {
                assert!(said.contains(text), "{text} is lost without the quote {quote}: {said}\n{}", outcome.remarks());
            }
        }
    }
}
