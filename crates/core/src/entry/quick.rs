//! Reads the line of a node as [`Entry::write`](super::Entry::write) writes it after an append. Such lines are nearly all of a log, and the
//! derived reader takes twice as long.
//!
//! This reader checks every byte, and takes only what the derived reader takes, too. It gives up on all else: other fields, another order,
//! spaces, numbers below zero, escapes of four digits. So the derived reader decides about each line that is unusual or damaged, and its
//! errors stay the same.

use crate::json::escaped;
use crate::{Message, MessageId, Node, Role};

/// The node of a line, whose parent is mostly `last`; `None` where the derived reader must read the line.
pub(super) fn node(line: &str, last: Option<&MessageId>) -> Option<Box<Node>> {
    let mut line = Line(line);
    line.skip("{\"node\":{\"id\":\"")?;
    let mut node = Box::new(Node::new(line.id(None)?, None, Vec::new()));
    line.fill(&mut node, last).map(|()| node)
}

/// What is left of a line.
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    /// Reads what follows the id of a node.
    fn fill(&mut self, node: &mut Node, last: Option<&MessageId>) -> Option<()> {
        if self.has(",\"parent\":\"") {
            node.parent = Some(self.id(last)?);
        }
        if self.has(",\"createdAt\":") {
            node.created_at = Some(self.number()?.try_into().ok()?);
        }
        if self.has(",\"turn\":") {
            node.turn = self.number()?.try_into().ok()?;
        }
        self.skip(",\"messages\":[")?;
        if !self.has("]") {
            // Most nodes have one, for which a list would make room for four.
            node.messages.reserve_exact(1);
            loop {
                self.skip("{\"role\":\"")?;
                let role = self.plain()?;
                self.skip(",\"content\":\"")?;
                let text = self.text()?;
                node.messages.push(Message::new(Role::from(role), text));
                self.skip("}")?;
                if self.has("]") {
                    break;
                }
                self.skip(",")?;
            }
        }
        node.sealed = self.has(",\"sealed\":true");
        (self.0 == "}}").then_some(())
    }

    /// Whether `text` comes next, which is passed over then. A call each time, for a smaller module.
    #[inline(never)]
    fn has(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn skip(&mut self, text: &str) -> Option<()> {
        self.has(text).then_some(())
    }

    /// The rest of a string that was opened, up to the first byte that may not stand in it as it is.
    fn stretch(&mut self) -> Option<&'a str> {
        let (before, after) = self.0.split_at(escaped(self.0.as_bytes())?);
        self.0 = after;
        Some(before)
    }

    /// An id. If it is `known`, it is neither copied nor kept twice.
    #[inline(never)]
    fn id(&mut self, known: Option<&MessageId>) -> Option<MessageId> {
        let text = self.plain()?;
        match known {
            Some(known) if known.as_str() == text => Some(known.clone()),
            _ => MessageId::new(text).ok(),
        }
    }

    /// A string in which nothing is escaped.
    #[inline(never)]
    fn plain(&mut self) -> Option<&'a str> {
        let text = self.stretch()?;
        self.skip("\"")?;
        Some(text)
    }

    /// A string.
    #[inline(never)]
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            text.push_str(self.stretch()?);
            if self.has("\"") {
                text.shrink_to_fit();
                return Some(text);
            }
            // A control character is neither of the two.
            self.skip("\\")?;
            let mut rest = self.0.chars();
            text.push(match rest.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                same @ ('"' | '\\') => same,
                _ => return None,
            });
            self.0 = rest.as_str();
        }
    }

    /// A whole number of at most 15 digits, as it is written. What follows them is looked at next, so that no fraction passes for one.
    fn number(&mut self) -> Option<u64> {
        let end = self.0.bytes().position(|byte| !byte.is_ascii_digit())?;
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        let known = matches!(digits.as_bytes(), [b'0'] | [b'1'..=b'9', ..]) && end <= 15;
        known.then(|| digits.bytes().fold(0, |number, digit| number * 10 + u64::from(digit & 15)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Entry;

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
                Node { messages: Vec::new(), ..whole.clone() },
                Node { messages: two, ..whole.clone() },
                whole,
            ] {
                assert_eq!(super::node(&line(&node), None), Some(Box::new(node)));
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
            assert!(unusual != usual && super::node(&unusual, None).is_none(), "{unusual}");
        }
    }

    #[test]
    fn a_node_shares_the_id_of_the_one_before_it() {
        let last = id("a");
        let Ok(Entry::Node(node)) = Entry::parse_after(line(&appended("hi")).as_bytes(), Some(&last)) else {
            panic!("it is not read")
        };
        assert_eq!(node.parent.unwrap().as_str().as_ptr(), last.as_str().as_ptr());
        let other = Entry::parse_after(line(&appended("hi")).as_bytes(), Some(&id("c"))).unwrap();
        assert_eq!(other, Entry::Node(Box::new(appended("hi"))));
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
            if let Some(node) = super::node(&changed, None) {
                prop_assert_eq!(serde_json::from_str::<Entry>(&changed).unwrap(), Entry::Node(node));
            }
        }
    }
}
