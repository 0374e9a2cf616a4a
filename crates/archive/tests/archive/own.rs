use proptest::prelude::*;
use serde_json::json;
use threadkeep_archive::{Code, Conversation, own};
use threadkeep_core::{Content, Entry, Message, MessageId, Node, Transcript};

use crate::common::{fixture, read};

fn write(conversations: &[Conversation]) -> String {
    let mut text = own::write_header();
    for conversation in conversations {
        let seqs = conversation.seqs.clone().unwrap_or_else(|| (0..conversation.entries.len() as u64).collect());
        text.extend(own::write_transcript(&conversation.transcript, seqs.into_iter().zip(&conversation.entries)));
    }
    text
}

#[test]
fn what_was_imported_leaves_and_comes_back_equal() {
    for name in
        ["chatgpt.json", "claude-ai.json", "claude-ai-design.json", "claude-code.jsonl", "openai-messages.jsonl"]
    {
        let first = read(name, &fixture(name)).conversations;
        let text = write(&first);
        let back = read("x.threadkeep.jsonl", text.as_bytes());
        assert_eq!(back.remarks(), "");
        assert_eq!(write(&back.conversations), text);
        for (one, other) in first.iter().zip(&back.conversations) {
            assert_eq!((&one.transcript, &one.entries), (&other.transcript, &other.entries));
        }
    }
}

fn small() -> (MessageId, Vec<Entry>) {
    let id = |name: &str| MessageId::new(name).unwrap();
    let node = |name: &str, parent: Option<&str>, text: &str| {
        let mut node = Node::new(id(name), parent.map(id), vec![Message::user(text)]);
        node.sealed = false;
        Entry::Node(Box::new(node))
    };
    let entries = vec![
        node("t", None, "hi"),
        node("a", Some("t"), "1"),
        Entry::Gone(1),
        Entry::Extend { node: id("a"), messages: vec![Message::assistant("more")], turn: 0 },
        Entry::Alias { id: id("out"), node: id("a") },
        Entry::Head { name: "main".to_owned(), node: Some(id("a")) },
        Entry::Seal { node: id("a") },
        node("b", Some("a"), "2"),
    ];
    (id("t"), entries)
}

fn small_text() -> String {
    let (id, entries) = small();
    let mut text = own::write_header();
    text.extend(own::write_transcript(&id, (0..).zip(&entries)));
    text
}

#[test]
fn deleted_entries_leave_their_numbers_unused() {
    let text = small_text();
    assert!(text.starts_with("{\"threadkeep\":1}\n{\"transcript\":\"t\"}\n{\"seq\":0,\"node\":{"), "{text}");
    assert!(text.ends_with("{\"end\":\"t\",\"entries\":7}\n"), "{text}");
    let outcome = read("x", text.as_bytes());
    assert_eq!(outcome.conversations[0].seqs.as_deref(), Some(&[0, 1, 3, 4, 5, 6, 7][..]));
    assert_eq!(write(&outcome.conversations), text);
}

#[test]
fn a_cut_anywhere_brings_what_came_before_and_is_said() {
    let text = small_text();
    let lines: Vec<&str> = text.lines().collect();
    for keep in 3..lines.len() {
        let outcome = read("x", (lines[..keep].join("\n") + "\n").as_bytes());
        assert_eq!(outcome.conversations[0].entries.len(), keep - 2);
        assert_eq!(outcome.codes(), (vec![], vec![Code::Truncated]));
    }
    let outcome = read("x", &text.as_bytes()[..text.len() - 100]);
    assert_eq!(outcome.codes(), (vec![Code::Truncated], vec![Code::Truncated]), "{}", outcome.remarks());
}

/// A transcript of user messages, each the parent of the next, with a head that follows them.
fn long_text(count: usize) -> String {
    let root = MessageId::mint_root([7; 24]);
    let mut entries = vec![Entry::Node(Box::new(Node::new(root.clone(), None, vec![Message::system("be brief")])))];
    let mut parent = root.clone();
    for at in 1..=count {
        let id = MessageId::mint(&root, (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut node = Node::new(id.clone(), Some(parent), vec![Message::user(format!("message {at}"))]);
        node.turn = at as u32;
        entries.push(Entry::Node(Box::new(node)));
        entries.push(Entry::Head { name: "main".to_owned(), node: Some(id.clone()) });
        parent = id;
    }
    let mut text = own::write_header();
    text.extend(own::write_transcript(&root, (0..).zip(&entries)));
    text
}

/// What the chain at the head `main` says.
fn said_at_main(conversation: &Conversation) -> Vec<String> {
    let tree = crate::common::tree(conversation);
    let messages = tree.messages(&tree.heads()["main"]).unwrap();
    messages
        .iter()
        .map(|message| if message.stands_in() { "?".to_owned() } else { message.text().into_owned() })
        .collect()
}

#[test]
fn what_hangs_from_an_unreadable_message_comes_below_a_note() {
    let text = long_text(50);
    let whole = said_at_main(&read("x.jsonl", text.as_bytes()).conversations[0]);
    for (name, damage) in [("no JSON", "\"id\":\""), ("no id", "\"id\"")] {
        for line in [2, 3, 5, 49] {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            assert!(lines[line].contains("\"node\":{\"id\""), "{}", lines[line]);
            lines[line] = lines[line].replacen(damage, if name == "no id" { "\"di\"" } else { "\"id\":" }, 1);
            let outcome = read("x.jsonl", (lines.join("\n") + "\n").as_bytes());
            let mut expected = whole.clone();
            expected[(line - 1) / 2] = "?".to_owned();
            assert_eq!(said_at_main(&outcome.conversations[0]), expected, "{name}, {line}: {}", outcome.remarks());
            assert!(outcome.codes().1.contains(&Code::Salvaged), "{}", outcome.remarks());
        }
    }
}

#[test]
fn no_flipped_bit_costs_more_than_its_own_line() {
    let text = long_text(6);
    let whole = said_at_main(&read("x.jsonl", text.as_bytes()).conversations[0]);
    let header = text.lines().next().unwrap().len();
    for bit in 0..8 * text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        // Another version cannot be told from a damaged one.
        if bit / 8 <= header && read("x.jsonl", &bytes).codes().0 == [Code::NewerVersion] {
            continue;
        }
        let outcome = read("x.jsonl", &bytes);
        assert_eq!(outcome.conversations.len(), 1, "bit {bit}: {}", outcome.remarks());
        let tree = crate::common::tree(&outcome.conversations[0]);
        let leaf = tree.newest_leaf(tree.root().map(|root| &root.node.id).unwrap()).unwrap();
        let said: Vec<String> = tree.messages(&leaf.node.id).unwrap().iter().map(|it| it.text().into_owned()).collect();
        let lost: Vec<&String> = whole.iter().filter(|text| !said.contains(text)).collect();
        // A line break that goes takes the two lines beside it.
        assert!(lost.len() <= 1, "bit {bit} costs {lost:?}: {}", outcome.remarks());
    }
}

#[test]
fn lines_in_another_order_come_in_whole() {
    let text = long_text(9);
    let lines: Vec<&str> = text.lines().collect();
    for (one, other) in [(2, 3), (2, 15), (4, 9), (8, 16)] {
        let mut moved = lines.clone();
        moved.swap(one, other);
        let outcome = read("x.jsonl", moved.join("\n").as_bytes());
        assert_eq!(write(&outcome.conversations), text, "{one}, {other}: {}", outcome.remarks());
    }
    let twice: String = lines.iter().flat_map(|line| [line, "\n", line, "\n"]).collect();
    assert_eq!(write(&read("x.jsonl", twice.as_bytes()).conversations[..1]), text);
}

#[test]
fn a_root_that_cannot_be_read_leaves_its_conversation_and_none_that_is_empty() {
    let text = long_text(3);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[2] = "{\"seq\":0,\"node\":{\"id\":\"";
    let outcome = read("x.jsonl", lines.join("\n").as_bytes());
    assert_eq!(said_at_main(&outcome.conversations[0]), ["?", "message 1", "message 2", "message 3"]);
    let only_root = [lines[0], lines[1], lines[2], "{\"end\":\"x\",\"entries\":1}"].join("\n");
    let outcome = read("x.jsonl", only_root.as_bytes());
    assert_eq!(outcome.conversations.len(), 0, "{}", outcome.remarks());
    // Only what is said of it is left: that is no conversation.
    let described = [lines[0], lines[1], lines[2], "{\"seq\":1,\"info\":{\"title\":\"x\"}}"].join("\n");
    let outcome = read("x.jsonl", described.as_bytes());
    assert_eq!(
        (outcome.conversations.len(), outcome.codes().0.last()),
        (0, Some(&Code::Empty)),
        "{}",
        outcome.remarks()
    );
}

/// What all nodes of a transcript say.
fn said(conversation: &Conversation) -> Vec<String> {
    let tree = crate::common::tree(conversation);
    tree.nodes().flat_map(|placed| &placed.node.messages).map(|message| message.text().into_owned()).collect()
}

#[test]
fn growth_of_a_node_whose_id_is_damaged_is_kept() {
    let text = small_text().replace("\"seq\":3", "\"seq\":2").replace("\"id\":\"a\"", "\"id\":\"4294967296\"");
    let outcome = read("x.jsonl", text.as_bytes());
    // A note stands for the parent of the last node.
    assert_eq!(said(&outcome.conversations[0]), ["hi", "1", "more", "", "2"], "{}", outcome.remarks());
    // The last node is closed: it cannot be the one that grew.
    let closed = text.replace("{\"id\":\"4294967296\"", "{\"sealed\":true,\"id\":\"4294967296\"");
    let outcome = read("x.jsonl", closed.as_bytes());
    assert_eq!(said(&outcome.conversations[0]), ["hi", "1", "more", "2"], "{}", outcome.remarks());
}

#[test]
fn a_root_that_nothing_names_gets_the_id_of_its_transcript() {
    let text = small_text().replace("{\"id\":\"t\"", "{\"id\":\"x\"");
    let alone: String = text.lines().take(3).map(|line| format!("{line}\n")).collect();
    let outcome = read("x.jsonl", (alone + "{\"end\":\"t\",\"entries\":1}\n").as_bytes());
    let tree = outcome.only();
    assert_eq!(tree.root().map(|root| root.node.id.as_str()), Some("t"), "{}", outcome.remarks());
}

#[test]
fn a_hole_between_two_transcripts_costs_no_message_of_either() {
    let one = read("x.jsonl", long_text(3).as_bytes()).conversations;
    let other = read("claude-code.jsonl", &fixture("claude-code.jsonl")).conversations;
    let text = write(&[one, other].concat());
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().position(|line| line.starts_with("{\"end\"")).unwrap();
    let whole: Vec<String> = read("x.jsonl", text.as_bytes()).conversations.iter().flat_map(said).collect();
    // Without the last line of the one, and the first and the root of the other.
    for gone in [2, 3] {
        let holed = [&lines[..end], &lines[end + gone..]].concat().join("\n");
        let outcome = read("x.jsonl", holed.as_bytes());
        let now: Vec<String> = outcome.conversations.iter().flat_map(said).collect();
        let lost: Vec<&String> = whole.iter().filter(|text| !now.contains(text)).collect();
        assert_eq!((outcome.conversations.len(), lost), (2, vec![]), "{gone}: {}", outcome.remarks());
    }
}

#[test]
fn a_last_line_that_was_moved_or_doubled_ends_nothing() {
    let text = long_text(3);
    let whole = said(&read("x.jsonl", text.as_bytes()).conversations[0]);
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.len() - 1;
    for at in 3..end {
        let doubled = [&lines[..at], &lines[end..], &lines[at..]].concat();
        let moved = [&lines[..at], &lines[end..], &lines[at..end]].concat();
        for damaged in [doubled, moved] {
            let outcome = read("x.jsonl", damaged.join("\n").as_bytes());
            assert_eq!(outcome.conversations.len(), 1, "line {at}: {}", outcome.remarks());
            assert_eq!(said(&outcome.conversations[0]), whole, "line {at}: {}", outcome.remarks());
        }
    }
}

#[test]
fn a_message_below_a_root_names_its_transcript() {
    let root = MessageId::mint_root([7; 24]);
    let text = small_text().replace("\"t\"", &format!("\"{root}\"")).replace("\"a\"", "\"m/1\"");
    // The first line, the root and the last line are missing.
    let lines: Vec<&str> = text.lines().collect();
    let damaged = [&lines[..1], &lines[3..lines.len() - 1]].concat().join("\n");
    let outcome = read("x.jsonl", damaged.as_bytes());
    assert_eq!(outcome.conversations.first().map(|it| &it.transcript), Some(&root), "{}", outcome.remarks());
}

#[test]
fn a_root_that_was_moved_and_whose_id_is_damaged_stays_with_its_transcript() {
    let text = long_text(3);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[2] = lines[2].replacen("0707", "0706", 1);
    lines.swap(2, 5);
    let outcome = read("x.jsonl", lines.join("\n").as_bytes());
    assert_eq!(outcome.conversations.len(), 1, "{}", outcome.remarks());
}

#[test]
fn growth_that_comes_first_gets_no_roots_number() {
    let text = small_text().replace("\"seq\":3", "\"seq\":2");
    let lines: Vec<&str> = text.lines().collect();
    // The root and what follows the growth are missing, and the growth comes before its node.
    let damaged = [lines[0], lines[1], lines[4], lines[3], lines[7], lines[8]].join("\n");
    let outcome = read("x.jsonl", damaged.as_bytes());
    let said = said(&outcome.conversations[0]);
    assert!(["1", "more"].iter().all(|text| said.iter().any(|said| said == text)), "{said:?} {}", outcome.remarks());
}

#[test]
fn a_line_whose_number_is_taken_comes_after_all_others() {
    let text = small_text();
    let line = r#"{"seq":1,"node":{"id":"c","parent":"a","messages":[{"role":"user","content":"3"}]}}"#;
    let outcome = read("x.jsonl", text.replace("{\"seq\":5", &format!("{line}\n{{\"seq\":5")).as_bytes());
    assert_eq!(said(&outcome.conversations[0]), ["hi", "1", "more", "2", "3"], "{}", outcome.remarks());
    assert_eq!(outcome.conversations[0].seqs.as_deref(), Some(&[0, 1, 3, 4, 5, 6, 7, 8][..]));
}

/// The lines of [`small_text`] in another order, some of them changed.
fn rearranged(order: &[usize], change: impl Fn(usize, &str) -> String) -> String {
    let text = small_text();
    let lines: Vec<&str> = text.lines().collect();
    order.iter().map(|at| change(*at, lines[*at]) + "\n").collect()
}

#[test]
fn growth_that_comes_after_its_message_was_answered_is_kept_below_it() {
    // The growth was moved behind the answer, and the number that would tell its place is damaged.
    let text = rearranged(&[0, 1, 2, 3, 5, 6, 7, 8, 4, 9], |at, line| match at {
        4 => line.replace("\"seq\":3", "\"seq\":9"),
        _ => line.to_owned(),
    });
    let outcome = read("x.jsonl", text.as_bytes());
    assert_eq!(said(&outcome.conversations[0]), ["hi", "1", "2", "more"], "{}", outcome.remarks());
    let tree = crate::common::tree(&outcome.conversations[0]);
    let more = tree.nodes().last().unwrap();
    assert_eq!(more.node.parent.as_ref().map(MessageId::as_str), Some("a"), "{}", outcome.remarks());
    // What it grew by next comes after that.
    let grown = text.replace(
        "{\"end\"",
        r#"{"seq":10,"extend":{"node":"a","messages":[{"role":"user","content":"and more"}],"turn":0}}
{"end""#,
    );
    let outcome = read("x.jsonl", grown.as_bytes());
    let tree = crate::common::tree(&outcome.conversations[0]);
    assert_eq!(tree.nodes().last().unwrap().node.messages.len(), 2, "{}", outcome.remarks());
}

#[test]
fn a_message_that_comes_after_its_note_takes_the_notes_place() {
    // The growth and the answer speak of the message before it comes.
    let text = rearranged(&[0, 1, 2, 4, 8, 3, 9], |_, line| line.to_owned());
    let outcome = read("x.jsonl", text.as_bytes());
    let tree = crate::common::tree(&outcome.conversations[0]);
    let chain = tree.messages(&MessageId::new("b").unwrap()).unwrap();
    let said: Vec<_> = chain.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(said, ["hi", "1", "more", "2"], "{}", outcome.remarks());
    // The same when its number says that it comes late.
    let text = rearranged(&[0, 1, 2, 4, 8, 3, 9], |at, line| match at {
        3 => line.replace("\"seq\":1", "\"seq\":12"),
        _ => line.to_owned(),
    });
    let outcome = read("x.jsonl", text.as_bytes());
    let tree = crate::common::tree(&outcome.conversations[0]);
    let chain = tree.messages(&MessageId::new("b").unwrap()).unwrap();
    let late: Vec<_> = chain.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(late, said, "{}", outcome.remarks());
    assert!(!outcome.remarks().contains("UNREADABLE"), "{}", outcome.remarks());
}

#[test]
fn two_messages_of_one_id_are_both_kept() {
    let line = r#"{"seq":9,"node":{"id":"a","parent":"t","messages":[{"role":"user","content":"one"}]}}"#;
    let text = small_text().replace("{\"end\"", &format!("{line}\n{{\"end\""));
    let outcome = read("x.jsonl", text.as_bytes());
    assert_eq!(said(&outcome.conversations[0]), ["hi", "1", "more", "2", "one"], "{}", outcome.remarks());
    assert_eq!(outcome.codes().1, [Code::Truncated, Code::DuplicateId], "{}", outcome.remarks());
    // One that occurs again as it was comes once.
    let outcome = read("x.jsonl", text.replace("\"one\"", "\"1\"").as_bytes());
    assert_eq!(said(&outcome.conversations[0]), ["hi", "1", "more", "2"], "{}", outcome.remarks());
}

#[test]
fn a_number_that_is_too_high_leaves_the_rest_with_its_transcript() {
    // After the last line, which was moved, the numbers seem to begin again.
    let text = rearranged(&[0, 1, 2, 3, 9, 4, 7, 8, 9], |at, line| match at {
        3 => line.replace("\"seq\":1", "\"seq\":4294967295"),
        _ => line.to_owned(),
    });
    let outcome = read("x.jsonl", text.as_bytes());
    assert_eq!(outcome.conversations.len(), 1, "{}", outcome.remarks());
    let said = said(&outcome.conversations[0]);
    assert!(
        ["hi", "1", "more", "2"].iter().all(|text| said.iter().any(|said| said == text)),
        "{said:?} {}",
        outcome.remarks()
    );
}

#[test]
fn a_first_line_that_occurs_again_with_a_damaged_id_begins_nothing() {
    let text = rearranged(&[0, 1, 2, 3, 1, 4, 7, 8, 9], |_, line| line.to_owned());
    let (before, after) = text.split_at(text.rfind("{\"transcript\"").unwrap());
    let outcome = read("x.jsonl", (before.to_owned() + &after.replacen("\"t\"", "\"u\"", 1)).as_bytes());
    assert_eq!(outcome.conversations.len(), 1, "{}", outcome.remarks());
    assert_eq!(said(&outcome.conversations[0]), ["hi", "1", "more", "2"], "{}", outcome.remarks());
}

#[test]
fn only_a_root_has_the_number_0() {
    let text = rearranged(&[0, 1, 3, 8, 9], |_, line| line.replace("\"seq\":1", "\"seq\":0"));
    let outcome = read("x.jsonl", text.as_bytes());
    let tree = crate::common::tree(&outcome.conversations[0]);
    // A note stands for the root, so that the whole file can bring it.
    assert_eq!(tree.root().map(|root| root.node.id.as_str()), Some("t"), "{}", outcome.remarks());
    assert_eq!(said(&outcome.conversations[0]), ["", "1", "2"], "{}", outcome.remarks());
}

#[test]
fn a_message_that_names_itself_as_its_parent_comes_below_the_last() {
    let text = small_text()
        .replace("\"id\":\"b\",\"parent\":\"a\"", "\"id\":\"b\",\"parent\":\"b\"")
        .replace("\"seq\":7", "\"seq\":9");
    let outcome = read("x.jsonl", text.as_bytes());
    assert_eq!(said(&outcome.conversations[0]), ["hi", "1", "more", "2"], "{}", outcome.remarks());
}

#[test]
fn numbers_that_could_not_have_come_about_give_way() {
    let line = |seq: u64, turn: u64| {
        format!(
            r#"{{"seq":{seq},"node":{{"id":"t{seq}","parent":"t","turn":{turn},"messages":[{{"role":"user","content":"x"}}]}}}}"#
        )
    };
    let root = r#"{"seq":0,"node":{"id":"t","messages":[],"sealed":true}}"#;
    let file = [
        "{\"threadkeep\":1}",
        "{\"transcript\":\"t\"}",
        root,
        &line(1, 7),
        &line(2, 4_294_967_295),
        &line(u64::MAX, 9),
    ];
    let outcome = read("x.jsonl", (file.join("\n") + "\n{\"end\":\"t\",\"entries\":4}").as_bytes());
    let tree = outcome.only();
    let turns: Vec<u32> = tree.nodes().map(|placed| placed.turn).collect();
    assert_eq!((turns, tree.next_turn()), (vec![0, 7, 8], 9), "{}", outcome.remarks());
    assert_eq!(outcome.codes(), (vec![Code::BadShape], vec![Code::Truncated, Code::BadShape]), "{}", outcome.remarks());
}

#[test]
fn newer_versions_and_strangers_are_refused_in_words() {
    let newer = small_text().replace("{\"threadkeep\":1}", "{\"threadkeep\":2}");
    let outcome = read("x", newer.as_bytes());
    assert_eq!((outcome.conversations.len(), outcome.codes().0), (0, vec![Code::NewerVersion]));
    assert!(outcome.skipped[0].reason.contains("version 2"));
    let odd = "{\"threadkeep\":1}\n{\"seq\":0}\n{\"transcript\":\"\"}\n{\"transcript\":\"t\"}\n{\"seq\":\"x\",\"seal\":{}}\n{\"seq\":1,\"dance\":{}}\n{\"what\":1}\n{\"end\":\"t\",\"entries\":0}\n";
    let outcome = read("x", odd.as_bytes());
    use Code::{BadId, BadShape, Empty};
    assert_eq!(outcome.codes().0, [BadShape, BadId, BadShape, BadShape, BadShape, Empty], "{}", outcome.remarks());
}

/// Any step that a log can take; which nodes it speaks of is decided when it is applied.
#[derive(Debug, Clone)]
enum Step {
    Node(usize, Vec<Message>, bool, String),
    Extend(usize, Vec<Message>),
    Seal(usize),
    Alias(usize, String),
    Gone,
}

fn message() -> impl Strategy<Value = Message> {
    let number = prop_oneof![
        any::<f64>().prop_map(|n| json!(n)),
        any::<u64>().prop_map(|n| json!(n)),
        any::<i64>().prop_map(|n| json!(n))
    ];
    let content = prop_oneof![
        any::<String>().prop_map(Content::from),
        Just(Content::Null),
        Just(Content::Absent),
        any::<String>().prop_map(|text| Content::Parts(vec![threadkeep_core::Part::text(text)])),
    ];
    (content, any::<String>(), any::<Option<String>>(), number).prop_map(|(content, odd, reasoning, number)| {
        let mut message = Message::new(odd.as_str().into(), content);
        message.reasoning = reasoning;
        message.extra.insert(format!("x{odd}"), json!({"n": number, &odd: [null, odd]}));
        message
    })
}

fn step() -> impl Strategy<Value = Step> {
    let messages = || prop::collection::vec(message(), 0..3);
    prop_oneof![
        4 => (any::<usize>(), messages(), any::<bool>(), any::<String>()).prop_map(|(up, m, s, l)| Step::Node(up, m, s, l)),
        2 => (any::<usize>(), messages()).prop_map(|(node, m)| Step::Extend(node, m)),
        1 => any::<usize>().prop_map(Step::Seal),
        1 => (any::<usize>(), any::<String>()).prop_map(|(node, alias)| Step::Alias(node, alias)),
        1 => Just(Step::Gone),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_log_comes_back_byte_by_byte(steps in prop::collection::vec(step(), 0..30), name in "\\PC{1,40}") {
        let id = MessageId::archive_root("test", &name);
        let mut tree = Transcript::new(id.clone());
        let mut nodes = vec![id.clone()];
        let mut log = vec![Entry::Node(Box::new(Node::new(id.clone(), None, vec![])))];
        tree.apply(log[0].clone()).unwrap();
        for step in steps {
            let at = |n: usize| nodes[n % nodes.len()].clone();
            let entry = match step {
                Step::Node(up, messages, sealed, label) => {
                    let mut node = Node::new(MessageId::mint(&id, nodes.len() as u64), Some(at(up)), messages);
                    node.sealed = sealed;
                    node.labels.insert(label.clone(), label);
                    Entry::Node(Box::new(node))
                }
                Step::Extend(node, messages) => Entry::Extend { node: at(node), messages, turn: 0 },
                Step::Seal(node) => Entry::Seal { node: at(node) },
                Step::Alias(node, alias) => match MessageId::new(&alias) {
                    Ok(alias) => Entry::Alias { id: alias, node: at(node) },
                    Err(_) => continue,
                },
                Step::Gone => Entry::Gone(1),
            };
            if tree.apply(entry.clone()).is_ok() {
                if let Entry::Node(node) = &entry {
                    nodes.push(node.id.clone());
                }
                log.push(entry);
            }
        }
        let mut text = own::write_header();
        text.extend(own::write_transcript(&id, (0..).zip(&log)));
        let outcome = read("x", text.as_bytes());
        prop_assert_eq!(outcome.remarks(), "");
        let kept: Vec<Entry> = log.into_iter().filter(|entry| *entry != Entry::Gone(1)).collect();
        prop_assert_eq!(&outcome.conversations[0].entries, &kept);
        prop_assert_eq!(write(&outcome.conversations), text);
    }
}
