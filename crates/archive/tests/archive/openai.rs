use serde_json::json;
use threadkeep_archive::Code;
use threadkeep_core::Message;

use crate::common::{fixture, ids, read, tree};

#[test]
fn messages_come_back_as_they_were() {
    let bytes = fixture("openai-messages.jsonl");
    let outcome = read("openai-messages.jsonl", &bytes);
    assert_eq!(outcome.codes(), (vec![], vec![]), "{}", outcome.remarks());
    assert_eq!(outcome.conversations.len(), 3);
    for (line, conversation) in bytes.split(|b| *b == b'\n').zip(&outcome.conversations) {
        let given: serde_json::Value = serde_json::from_slice(line).unwrap();
        let tree = tree(conversation);
        let info = tree.info();
        let back: Vec<_> = tree.messages(&info.leaf.unwrap()).unwrap().into_iter().map(Message::to_json).collect();
        assert_eq!(json!(back), given["messages"]);
    }
    assert_eq!(outcome.conversations[1].transcript.as_str(), "openai-messages/with-an-id");
    let first = tree(&outcome.conversations[0]);
    assert_eq!(first.root().unwrap().node.messages[0].text(), "Be brief.");
    assert_eq!(first.info().extra["source"], "bench");
}

#[test]
fn bare_lists_and_lists_of_lists() {
    let chat = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]);
    let bare = read("x.json", chat.to_string().as_bytes());
    let lists = read("x.json", json!([chat, [{"role": "user", "content": "ho"}]]).to_string().as_bytes());
    let lines = read("x.jsonl", format!("{chat}\n{chat}\n").as_bytes());
    let by_line =
        read("y.jsonl", b"{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"hello\"}\n");
    let object = read("x.json", json!({"messages": chat}).to_string().as_bytes());
    let traj = read("x.json", json!([{"task_id": 3, "reward": 1.0, "traj": chat}]).to_string().as_bytes());
    for other in [&lists, &by_line, &object, &traj, &lines] {
        assert_eq!(ids(&other.conversations[0]), ids(&bare.conversations[0]), "{}", other.remarks());
    }
    assert_eq!((lists.conversations.len(), lines.conversations.len()), (2, 2));
    assert_eq!(lines.conversations[0], lines.conversations[1]);
    assert_eq!(tree(&traj.conversations[0]).info().extra["task_id"], 3);
}

fn line(texts: &[&str]) -> String {
    let role = |at: usize| ["user", "assistant"][at % 2];
    let messages: Vec<_> =
        texts.iter().enumerate().map(|(at, text)| json!({"role": role(at), "content": text})).collect();
    format!("{}\n", json!({ "messages": messages }))
}

#[test]
fn without_ids_a_longer_version_is_the_same_conversation() {
    let outcome =
        read("x.jsonl", (line(&["q", "a"]) + &line(&["q", "a", "r"]) + &line(&["q", "a", "r", "b"])).as_bytes());
    let [one, two, three] = outcome.conversations.as_slice() else { panic!("{}", outcome.remarks()) };
    assert_eq!((&one.transcript, &two.transcript), (&two.transcript, &three.transcript));
    assert_eq!(ids(three)[..ids(two).len()], ids(two));
    assert_eq!(ids(two)[..ids(one).len()], ids(one));
}

#[test]
fn without_ids_those_that_only_begin_alike_stay_apart() {
    let outcome = read("x.jsonl", (line(&["q", "a", "r"]) + &line(&["q", "a", "s"]) + &line(&["q", "c"])).as_bytes());
    let mut transcripts: Vec<_> = outcome.conversations.iter().map(|c| c.transcript.clone()).collect();
    transcripts.dedup();
    assert_eq!(transcripts.len(), 3);
    // Edited later, nothing has another text under the same id.
    let edited = read("x.jsonl", line(&["q", "a", "r2", "b"]).as_bytes());
    assert_eq!(edited.conversations[0].transcript, outcome.conversations[0].transcript);
    let shared = ids(&edited.conversations[0]).iter().filter(|id| ids(&outcome.conversations[0]).contains(id)).count();
    assert_eq!(shared, 3, "root, q and a");
}

#[test]
fn odd_messages_come_in_with_what_is_odd_beside_them() {
    let file = json!({"messages": [
        {"role": "user", "content": ["a", "b"]},
        {"role": "user", "content": 5, "name": ["x"]},
        {"content": "no role"},
        "nothing",
        {"role": "assistant", "content": "ok", "tool_calls": {"bad": 1}}]});
    let outcome = read("x.json", file.to_string().as_bytes());
    assert_eq!(outcome.codes(), (vec![Code::BadShape; 2], vec![Code::BadShape; 3]), "{}", outcome.remarks());
    let tree = outcome.only();
    let texts: Vec<_> = tree.nodes().flat_map(|p| &p.node.messages).map(|m| m.text().into_owned()).collect();
    assert_eq!(texts, ["a\nb", "5", "ok"]);
    let last = tree.nodes().next_back().unwrap();
    assert_eq!(last.node.messages[0].extra["openai"]["tool_calls"]["bad"], 1);
}

#[test]
fn the_times_of_messages_are_read_in_every_form_and_nonsense_is_reported_with_its_place() {
    let at = |created: serde_json::Value| json!({"id": "m", "role": "user", "createdAt": created, "content": "hi"});
    let messages = json!([
        at(json!("2024-12-01T10:00:00Z")),
        at(json!("2024-12-01T12:00:00.250+02:00")),
        at(json!(1_733_047_200_500_i64)),
        {"role": "assistant", "content": "stored", "timestamp": "2024-12-01T10:00:01.000Z", "tokens": 6},
        at(json!("the other day")),
        at(json!({"seconds": 5})),
        at(json!("2024-02-30T10:00:00Z")),
        at(serde_json::Value::Null),
    ]);
    let outcome = read("messages.json", messages.to_string().as_bytes());
    let tree = outcome.only();
    let times: Vec<_> = tree.nodes().skip(1).map(|placed| placed.node.created_at).collect();
    let first = 1_733_047_200_000;
    assert_eq!(times[..4], [Some(first), Some(first + 250), Some(first + 500), Some(first + 1_000)]);
    assert_eq!(times[4..], [None; 4]);
    // The messages are there all the same, with what they came with.
    let back: Vec<_> = tree.nodes().skip(1).map(|placed| placed.node.messages[0].to_json()).collect();
    assert_eq!(json!(back), messages);
    let told: Vec<_> = outcome.warnings.iter().map(|told| (told.code, told.place.as_str())).collect();
    let bad = |place| (Code::BadShape, place);
    assert_eq!(
        told,
        [bad("messages.json, message 5"), bad("messages.json, message 6"), bad("messages.json, message 7")],
        "{}",
        outcome.remarks()
    );
    assert!(outcome.warnings[0].reason.starts_with("its createdAt is no time"), "{}", outcome.remarks());
    assert!(outcome.skipped.is_empty());
}
