use serde_json::json;
use threadkeep_archive::Code;
use threadkeep_core::{Content, Entry, Kind, MessageId};

use crate::common::{check, extra, fixture, ids, read, tree};

#[test]
fn a_conversation_with_branches_tools_and_thoughts() {
    let outcome = read("conversations.json", &fixture("chatgpt.json"));
    let beans = tree(&outcome.conversations[0]);
    check(
        &beans,
        r#"
        ROOT < -
        sys < ROOT [hidden] | system*
        ctx < sys [hidden] | system I keep a small garden.//Answer in metric units.
        q1 < ctx turn 1 | user When should I sow beans in Oslo?
        a1 < q1 | assistant In May.
        a1b < q1 | assistant From late May, once the soil has 10 °C.
        q2 < a1b turn 2 | user <image_asset_pointer> + What is wrong with this leaf? <script>alert(1)</script>
        think < q2 | assistant (Looking at the leaf/Yellow between the veins points to iron.)
        call < think | assistant web.search#call_call({"query":"iron chlorosis beans"})
        result < call | tool # 1 Iron in beans ^call_call
        quote < result | tool Iron (https://example.org/iron)//Iron chlorosis shows between veins. ^call_call
        py < quote | assistant python#call_py(print(7.5 > 7))
        out < py | tool True ^call_py
        recap < out | assistant* Thought for 5 seconds
        a2 < recap | assistant It lacks iron: the soil is too alkaline.
        leaf a2 of "Beans in Oslo"
        "#,
    );
    let info = beans.info();
    assert_eq!((info.created_at, info.updated_at), (Some(1760000000000), Some(1760000048500)));
    assert_eq!(info.extra, *json!({"is_archived": true, "default_model_slug": "gpt-5"}).as_object().unwrap());
    let node = |name: &str| &beans.get(&MessageId::scoped(beans.id(), name)).unwrap().node;
    assert_eq!(node("a1").origin.model.as_deref(), Some("gpt-4o"));
    assert_eq!(node("a1").created_at, Some(1760000002000));
    assert!(node("a1").messages[0].extra.is_empty(), "plain text stays lean: {:?}", node("a1").messages[0].extra);
    assert!(node("a1").sealed);
}

#[test]
fn what_is_not_mapped_is_kept() {
    let outcome = read("conversations.json", &fixture("chatgpt.json"));
    let beans = tree(&outcome.conversations[0]);
    assert_eq!(extra(&beans, "a1b", "chatgpt")["metadata"]["citations"][0]["metadata"]["title"], "Frost table");
    assert_eq!(extra(&beans, "think", "chatgpt")["content"]["thoughts"][0]["finished"], true);
    assert_eq!(extra(&beans, "quote", "chatgpt")["content"]["domain"], "example.org");
    assert_eq!(extra(&beans, "ctx", "chatgpt")["author"]["role"], "user");
    let Content::Parts(parts) =
        beans.get(&MessageId::scoped(beans.id(), "q2")).unwrap().node.messages[0].content.clone()
    else {
        panic!("parts")
    };
    let image = json!({"type": "image_asset_pointer", "asset_pointer": "file-service://file-leaf1", "size_bytes": 1234,
        "width": 64, "height": 64, "name": "leaf.png"});
    assert_eq!(serde_json::to_value(&parts[0]).unwrap(), image);
    let other = tree(&outcome.conversations[1]);
    assert_eq!(extra(&other, "n", "chatgpt")["content"]["sparkle"], 3);
}

#[test]
fn an_odd_entry_of_a_mapping_changes_nothing_of_the_others() {
    let mut value: serde_json::Value = serde_json::from_slice(&fixture("chatgpt.json")).unwrap();
    let nodes = |value: &serde_json::Value| -> Vec<Entry> {
        let mut entries = read("conversations.json", value.to_string().as_bytes()).conversations[0].entries.clone();
        entries.retain(|entry| !matches!(entry, Entry::Node(node) if node.id.as_str().ends_with("/odd")));
        entries
    };
    let before = nodes(&value);
    let mut deep = json!("deep");
    for _ in 0..130 {
        deep = json!([deep]);
    }
    let odd = [
        (json!(5), Code::BadShape),
        (json!({"message": "text", "parent": "a2"}), Code::BadShape),
        (json!({"message": {"metadata": {"deep": deep}}, "parent": "a2"}), Code::TooDeep),
    ];
    for (odd, code) in odd {
        value[0]["mapping"]["odd"] = odd;
        assert_eq!(nodes(&value), before);
        let outcome = read("conversations.json", value.to_string().as_bytes());
        let remarks = outcome.skipped.iter().chain(&outcome.warnings);
        let told = remarks.filter(|remark| remark.place.ends_with("node odd")).map(|remark| remark.code);
        assert_eq!(told.collect::<Vec<_>>(), [code]);
    }
}

#[test]
fn of_a_repeated_field_of_a_message_the_last_counts() {
    let text = r#"{"conversation_id": "c", "current_node": "m", "mapping": {"m": {"id": "m", "parent": null, "children": [],
        "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["first"]}, "note": 1, "gone": 1,
        "metadata": {"a": 1}, "gone": null, "content": {"content_type": "text", "parts": ["last"]}, "note": 2, "metadata": {"b": 2}}}}}"#;
    let chat = tree(&read("conversations.json", text.as_bytes()).conversations[0]);
    let message = &chat.get(&MessageId::scoped(chat.id(), "m")).unwrap().node.messages[0];
    assert_eq!(message.text(), "last");
    assert_eq!(extra(&chat, "m", "chatgpt"), json!({"note": 2, "metadata": {"b": 2}}));
}

#[test]
fn errors_unknown_types_and_a_missing_leaf() {
    let outcome = read("conversations.json", &fixture("chatgpt.json"));
    assert_eq!(outcome.codes(), (vec![Code::BadShape], vec![Code::MissingLeaf]));
    assert_eq!(outcome.skipped[0].place, "conversations.json, conversation 2 \"Lost one\"");
    assert!(outcome.skipped[0].reason.contains("`mapping`"));
    let other = tree(&outcome.conversations[1]);
    check(
        &other,
        r#"
        ROOT < -
        u < ROOT turn 1 | user Draw a hedgehog
        e < u | tool! The image tool is busy. ERROR
        n < e | assistant A hedgehog, in words.
        leaf n of "Hedgehog"
        "#,
    );
    let kind = &other.get(&MessageId::scoped(other.id(), "e")).unwrap().node.messages[0].kind;
    assert!(matches!(kind, Kind::Error { reason, .. } if reason == "The image tool is busy."));
}

#[test]
fn ids_and_digests_are_the_same_at_every_import_and_in_every_wrapping() {
    let bytes = fixture("chatgpt.json");
    let first = read("conversations.json", &bytes);
    assert_eq!(read("conversations.json", &bytes), first);
    let wrapped = [b"{\"exported\": [1], \"conversations\": ", bytes.as_slice(), b", \"more\": {}}"].concat();
    let again = read("conversations.json", &wrapped);
    assert_eq!(again.conversations, first.conversations);
    // Reformatted, it has another digest and the same ids.
    let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let compact = read("conversations-000.json", value.to_string().as_bytes());
    assert_ne!(compact.conversations[0].digest, first.conversations[0].digest);
    assert_eq!(compact.conversations[0].entries, first.conversations[0].entries);
    // One conversation alone, and one a line.
    let one = read("chat.json", value[0].to_string().as_bytes());
    assert_eq!(ids(&one.conversations[0]), ids(&first.conversations[0]));
    let lines = read("chats.jsonl", format!("{}\n{}\n", value[0], value[2]).as_bytes());
    assert_eq!(lines.conversations.len(), 2);
}

#[test]
fn a_longer_export_keeps_the_ids_of_the_shorter_one() {
    let mut value: serde_json::Value = serde_json::from_slice(&fixture("chatgpt.json")).unwrap();
    let before = ids(&read("a.json", value.to_string().as_bytes()).conversations[0]);
    let mapping = &mut value[0]["mapping"];
    mapping["a2"]["children"] = json!(["q3"]);
    mapping["q3"] = json!({"id": "q3", "parent": "a2", "children": [], "message": {
        "id": "q3", "author": {"role": "user"}, "create_time": 1760000060.0, "content": {"content_type": "text", "parts": ["Thanks"]}}});
    let after = ids(&read("a.json", value.to_string().as_bytes()).conversations[0]);
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.len(), before.len() + 1);
}

#[test]
fn siblings_come_in_the_order_of_the_archive_and_nodes_by_time() {
    let file = json!([{"id": "c", "mapping": {
        "b": {"parent": "r", "children": [], "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["b"]}}},
        "a": {"parent": "r", "children": [], "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["a"]}}},
        "r": {"parent": null, "children": ["a", "b"], "message": null}}}]);
    let outcome = read("x.json", file.to_string().as_bytes());
    check(&outcome.only(), "ROOT < -\n a < ROOT turn 1 | user a\n b < ROOT turn 2 | user b\n leaf b of \"a\"");
    assert!(matches!(outcome.conversations[0].entries.last(), Some(Entry::Info(_))));
}
