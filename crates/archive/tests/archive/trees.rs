//! The formats of chat programs and of data sets: nodes, branches, the chosen one, and what messages say.

use threadkeep_archive::Code;

use crate::common::{check, extra, fixture, read, tree};

#[test]
fn librechat_nested_messages() {
    let outcome = read("chat.json", &fixture("librechat.json"));
    let chat = outcome.only();
    check(
        &chat,
        r#"
        ROOT < - | system You bake.
        q1 < ROOT turn 1 | user How long must it rise? + <attachment>
        a1 < q1 | assistant Twelve hours.
        a1b < q1 | assistant! The service is busy.
        q2 < a1 turn 2 | user And in the fridge?
        a2 < q2 | assistant (Cold slows it.) Let me look. search#t1({"q":"cold proof"}) | tool 24 to 36 hours ^t1 | assistant A day and a half.
        leaf a2 of "Sourdough"
        "#,
    );
    assert_eq!(
        chat.get(&threadkeep_core::MessageId::scoped(chat.id(), "a1b")).unwrap().node.origin.model.as_deref(),
        Some("gpt-4o-mini")
    );
    assert_eq!(extra(&chat, "q1", "librechat")["tokenCount"], 7);
    assert_eq!(outcome.remarks(), "");
}

#[test]
fn librechat_flat_messages_with_and_without_links() {
    let linked = br#"{"conversationId":"c","title":"T","recursive":false,"messages":[{"messageId":"a","parentMessageId":null,"isCreatedByUser":true,"text":"1"},{"messageId":"b","parentMessageId":"a","isCreatedByUser":false,"text":"2"},{"messageId":"c","parentMessageId":"a","isCreatedByUser":false,"text":"3"}]}"#;
    check(
        &read("c.json", linked).only(),
        "ROOT < -\n a < ROOT turn 1 | user 1\n b < a | assistant 2\n c < a | assistant 3\n leaf c of \"T\"",
    );
    let bare = br#"{"conversationId":"c","messages":[{"messageId":"a","sender":"User","text":"1"},{"sender":"Bot","text":"2"},5]}"#;
    let outcome = read("c.json", bare);
    assert_eq!(outcome.codes(), (vec![Code::BadShape], vec![]), "{}", outcome.remarks());
    check(&outcome.only(), "ROOT < -\n a < ROOT turn 1 | user 1\n m1 < a | assistant 2\n leaf m1 of \"1\"");
}

#[test]
fn open_webui_history_and_older_lists() {
    let outcome = read("chats.json", &fixture("open-webui.json"));
    assert_eq!(outcome.remarks(), "");
    let first = tree(&outcome.conversations[0]);
    check(
        &first,
        r#"
        ROOT < - | system Be kind to bees.
        m1 < ROOT turn 1 | user When do they swarm? + <image_url> + <attachment>
        m2 < m1 | assistant (Spring & early summer.) In May.
        m3 < m1 | assistant In June.
        m4 < m3 turn 2 | user Check the weather.
        m5 < m4 | assistant (A tool helps.) weather#w1({"day":1}) | tool warm ^w1 | assistant Warm: keep watch.
        leaf m4 of "Beehive"
        "#,
    );
    assert_eq!(first.info().extra["meta"]["tags"][0], "garden");
    assert_eq!(extra(&first, "m2", "open-webui")["usage"]["total"], 5);
    check(
        &tree(&outcome.conversations[1]),
        r#"
        ROOT < -
        o1 < ROOT turn 1 | user hi
        o2 < o1 | assistant clock#k({}) | tool noon ^k | assistant! It is noon.
        leaf o2 of "Old"
        "#,
    );
}

#[test]
fn sharegpt_turns() {
    let outcome = read("data.json", &fixture("sharegpt.json"));
    assert_eq!(outcome.remarks(), "");
    let said = |at: usize| {
        let tree = tree(&outcome.conversations[at]);
        let leaf = tree.info().leaf.unwrap();
        let line = |m: &threadkeep_core::Message| {
            let calls: Vec<_> =
                m.tool_calls.iter().map(|call| format!("{}{}", call.name(), call.arguments())).collect();
            format!("{} {}{}", m.role.as_str(), m.text(), calls.join(" "))
        };
        tree.messages(&leaf).unwrap().into_iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(
        said(0),
        [
            "system Answer in verse.",
            "user Why is the sea salty?",
            "assistant Rivers bring it stone by stone.",
            "assistant rhyme{\"word\":\"stone\"}",
            "tool alone",
        ]
    );
    assert_eq!(said(1), ["system Be brief.", "user Tea?", "assistant Yes."]);
    assert_eq!(outcome.conversations[0].transcript.as_str(), "sharegpt/s1");
    let lines = read("data.jsonl", br#"{"conversations":[{"from":"human","value":"Tea?"},{"from":"gpt"},5]}"#);
    assert_eq!(lines.codes(), (vec![Code::BadShape; 2], vec![]), "{}", lines.remarks());
}

#[test]
fn oasst_trees_and_their_best_branch() {
    let outcome = read("trees.jsonl", &fixture("oasst.jsonl"));
    assert_eq!(outcome.remarks(), "");
    let first = tree(&outcome.conversations[0]);
    check(
        &first,
        r#"
        ROOT < -
        t1 < ROOT turn 1 | user How do owls hunt?
        r0 < t1 | assistant Mostly at night, by ear.
        r1 < t1 | assistant By ear.
        f1 < r1 turn 2 | user In the dark too?
        leaf r0 of "How do owls hunt?"
        "#,
    );
    assert_eq!(extra(&first, "r1", "oasst")["rank"], 1);
    assert_eq!(outcome.conversations.len(), 2);
}

#[test]
fn ten_thousand_levels_of_replies_are_read() {
    let deep = (0..10_000).fold(String::new(), |text, at| {
        text + &format!(r#"{{"message_id":"m{at}","text":"x","role":"assistant","replies":["#)
    });
    let file = format!(r#"{{"message_tree_id":"d","prompt":{deep}{}}}"#, "]}".repeat(10_000));
    assert_eq!(read("x.jsonl", file.as_bytes()).only().nodes().len(), 10_001);
    let nested = deep.replace("message_id", "messageId").replace("replies", "children");
    let file = format!(r#"{{"conversationId":"d","messages":[{nested}{}]}}"#, "]}".repeat(10_000));
    assert_eq!(read("x.json", file.as_bytes()).only().nodes().len(), 10_001);
}

#[test]
fn chatbot_ui_history() {
    let outcome = read("history.json", &fixture("chatbot-ui.json"));
    assert_eq!(outcome.codes(), (vec![Code::Empty], vec![]), "{}", outcome.remarks());
    let tree = outcome.only();
    assert_eq!(tree.root().unwrap().node.messages[0].text(), "Be a sailor.");
    assert_eq!((tree.id().as_str(), tree.info().title.as_str()), ("chatbot-ui/h1", "Knots"));
    assert_eq!(tree.nodes().next_back().unwrap().node.origin.model.as_deref(), Some("gpt-4"));
}
