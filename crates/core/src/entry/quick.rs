//! Reads the line of a node as [`Entry::write`](super::Entry::write) writes it after an append. Such lines are nearly all of a log, and the
//! derived reader takes twice as long.
//!
//! This reader checks every byte, and takes only what the derived reader takes, too. It gives up on all else: other fields, another order,
//! spaces, numbers below zero, escapes of four digits. So the derived reader decides about each line that is unusual or damaged, and its
//! errors stay the same.

use std::ops::Range;

use threadkeep_json::Line;

use crate::messages::line::{Counts, pass};
use crate::{MessageId, Messages, Node};

/// The node of a line without its messages, and where in the line they are. Its parent is mostly `last`. `None` where the derived reader must
/// read the line.
pub(super) fn node(line: &str, last: Option<&MessageId>) -> Option<(Box<Node>, Range<usize>, Counts)> {
    let whole = line.len();
    let mut line = Line(line);
    line.skip("{\"node\":{\"id\":\"")?;
    let mut node = Box::new(Node::new(id(&mut line, None)?, None, Messages::default()));
    fill(&mut line, &mut node, last)?;
    let start = whole - line.0.len();
    let counts = pass(&mut line)?;
    let end = whole - line.0.len();
    line.skip("]")?;
    node.sealed = line.has(",\"sealed\":true");
    (line.0 == "}}").then_some((node, start..end, counts))
}

/// Reads what stands between the id of a node and its messages.
fn fill(line: &mut Line, node: &mut Node, last: Option<&MessageId>) -> Option<()> {
    if line.has(",\"parent\":\"") {
        node.parent = Some(id(line, last)?);
    }
    if line.has(",\"createdAt\":") {
        node.created_at = Some(line.number()?.try_into().ok()?);
    }
    if line.has(",\"turn\":") {
        node.turn = line.number()?.try_into().ok()?;
    }
    line.skip(",\"messages\":[")
}

/// An id. If it is `known`, it is neither copied nor kept twice.
#[inline(never)]
fn id(line: &mut Line, known: Option<&MessageId>) -> Option<MessageId> {
    let text = line.plain()?;
    match known {
        Some(known) if known.as_str() == text => Some(known.clone()),
        _ => MessageId::new(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{Entry, Message, Role};

    fn id(text: &str) -> MessageId {
        MessageId::new(text).unwrap()
    }

    fn appended(text: &str) -> Node {
        let message = Message::new(Role::User, text);
        Node { created_at: Some(1_700_000_000_000), turn: 7, ..Node::new(id("b"), Some(id("a")), vec![message]) }
    }

    fn line(node: &Node) -> String {
        let mut line = String::new();
        Entry::Node(Box::new(node.clone())).write(&mut line).unwrap();
        line
    }

    /// The node of a line, which is a page by itself.
    fn quickly(line: &str, last: Option<&MessageId>) -> Option<Node> {
        super::node(line, last)?;
        match Entry::parse_in(&Arc::new(line.to_owned()), 0..line.len(), last) {
            Ok(Entry::Node(node)) => Some(*node),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nodes_as_appends_write_them_are_read_quickly() {
        let long = "x\u{e9}\u{1f600} ".repeat(40);
        for text in ["", "hi", "a \"word\"\n\tand \\ more\r", &long, &format!("{long}\n{long}\"")] {
            let whole = appended(text);
            let two = vec![Message::assistant(text), Message::new(Role::Other("critic".to_owned()), "no")];
            for node in [
                Node { parent: None, ..whole.clone() },
                Node { created_at: None, ..whole.clone() },
                Node { turn: 0, sealed: false, ..whole.clone() },
                Node { messages: Messages::default(), ..whole.clone() },
                Node { messages: two.into(), ..whole.clone() },
                whole,
            ] {
                assert_eq!(quickly(&line(&node), None), Some(node));
            }
        }
    }

    #[test]
    fn what_is_unusual_is_left_to_the_derived_reader() {
        let usual = line(&appended("hi"));
        for (part, instead) in [
            ("1700000000000", "17e11"),
            ("1700000000000", "01700000000000"),
            ("1700000000000", "1700000000000.0"),
            ("1700000000000", "-1"),
            ("1700000000000", "18446744073709551615"),
            ("\"turn\":7", "\"turn\":4294967296"),
            ("\"turn\":7", "\"turn\":+7"),
            ("\"id\":\"b\"", "\"id\":\"\""),
            ("\"id\":\"b\"", "\"id\":\"\\u0062\""),
            ("hi", "\\u0000"),
            ("hi", "\u{1}"),
            ("hi\"", "hi"),
            ("\"hi\"", "null"),
            ("\"sealed\":true}", "\"sealed\":true} "),
        ] {
            let unusual = usual.replace(part, instead);
            assert!(unusual != usual && quickly(&unusual, None).is_none(), "{unusual}");
        }
    }

    #[test]
    fn a_node_shares_the_id_of_the_one_before_it() {
        let last = id("a");
        let node = quickly(&line(&appended("hi")), Some(&last)).unwrap();
        assert_eq!(node.parent.unwrap().as_str().as_ptr(), last.as_str().as_ptr());
        assert_eq!(quickly(&line(&appended("hi")), Some(&id("c"))), Some(appended("hi")));
    }

    #[test]
    fn messages_of_a_list_stay_text_each_by_itself() {
        let said =
            [Message::user("a \"word\"\n"), Message::assistant(""), Message::new(Role::Other("b".to_owned()), "é")];
        let json = serde_json::to_string(&said).unwrap();
        let page = Arc::new(format!("{{\"head\":\"a \\\"b\\\"\",\"messages\":{json},\"after\":1}}"));
        let (each, place) = Messages::each_in(&page).unwrap();
        assert_eq!(
            [&page[..place.start], &page[place.end..]].concat(),
            r#"{"head":"a \"b\"","messages":[],"after":1}"#
        );
        assert!(each.iter().all(|one| one.unread().is_some()));
        let nodes = each.iter().map(|one| line(&Node::new(id("b"), None, one.clone())));
        assert!(nodes.eq(said.iter().map(|one| line(&Node::new(id("b"), None, vec![one.clone()])))));
        assert_eq!(each.iter().map(|one| one[0].clone()).collect::<Vec<_>>(), said);
        assert!(each.iter().all(|one| one.unread().is_none()));
        for list in
            ["[]", "[{}]", r#"[{"role":"user","content":"\u0000"}]"#, r#"[{"role":"user","content":"a","name":"b"}]"#]
        {
            let page = Arc::new(format!("{{\"head\":\"a\",\"messages\":{list}}}"));
            assert!(Messages::each_in(&page).is_none(), "{list}");
        }
    }

    #[test]
    fn a_part_of_unread_messages_is_written_and_changed_as_one_of_read_ones() {
        let said = vec![Message::user("a"), Message::assistant("b\n"), Message::user("c")];
        let node = Node { messages: said.clone().into(), ..appended("") };
        let unread = || quickly(&line(&node), None).unwrap().messages;
        for part in [0..0, 0..2, 1..3, 0..3] {
            let [mut a, mut b] = [String::new(), String::new()];
            unread().write(part.clone(), &mut a).unwrap();
            node.messages.write(part, &mut b).unwrap();
            assert_eq!(a, b);
        }
        let mut changed = unread();
        changed.change(|all| all.truncate(1));
        assert_eq!((changed.len(), changed.into_vec()), (1, said[..1].to_vec()));
    }

    proptest! {
        #[test]
        fn what_is_read_quickly_is_what_the_derived_reader_reads(
            text in "(.|[\"\\\\\\n\\x00-\\x22]){0,80}",
            at in any::<prop::sample::Index>(),
            cut in 0..3_usize,
            put in "[\"\\\\{}\\[\\],:0-9a-z\\x00-\\x22.+-]{0,3}",
        ) {
            let mut changed: Vec<char> = line(&appended(&text)).chars().collect();
            let at = at.index(changed.len());
            let end = changed.len().min(at + cut);
            changed.splice(at..end, put.chars());
            let changed: String = changed.into_iter().collect();
            if let Some(node) = quickly(&changed, None) {
                // As long as nobody has looked at its messages.
                let counts = (node.messages.len(), node.counted(), node.opened_turns());
                let mut text = String::new();
                node.messages.write(0..counts.0, &mut text).unwrap();
                let unread = line(&node);
                let Ok(Entry::Node(derived)) = serde_json::from_str(&changed) else { panic!("no node: {changed}") };
                prop_assert_eq!(counts, (derived.messages.len(), derived.counted(), derived.opened_turns()));
                prop_assert_eq!(format!("[{text}]"), serde_json::to_string(&derived.messages).unwrap());
                prop_assert_eq!(unread, line(&derived));
                prop_assert_eq!(&*derived, &node);
            }
        }
    }
}
