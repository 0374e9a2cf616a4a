//! The linter takes time in proportion to a transcript's length.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::hint::black_box;

use threadkeep_core::{Entry, Message, MessageId, Node, Transcript, lint};

use shapes::{Shape, calling, grows};

#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "support/growth.rs"]
mod shapes;

#[test]
fn lint_takes_time_in_proportion() {
    // A comb: a leaf at each node of a long chain.
    let comb: Shape = ("a comb", |n| vec![Message::user("x"); n]);
    grows("lint", &comb, &|messages| {
        let id = |name: String| MessageId::new(name).unwrap();
        let mut tree = Transcript::new(id("n0".to_owned()));
        for at in 0..messages.len() / 2 {
            let parent = (at > 0).then(|| id(format!("n{}", at - 1)));
            let turn = vec![Message::user("go"), calling([format!("c{at}")]), Message::tool(format!("c{at}"), "1")];
            for (name, messages) in [("n", turn), ("l", vec![Message::assistant("a")])] {
                let above = if name == "n" { parent.clone() } else { Some(id(format!("n{at}"))) };
                tree.apply(Entry::Node(Box::new(Node::new(id(format!("{name}{at}")), above, messages)))).unwrap();
            }
        }
        black_box(lint::check_tree(&tree));
    });
    // The same of calls that nobody answers: each leaf ends a chain on which all calls above it wait.
    let open: Shape = ("a comb of open calls", |n| vec![Message::user("x"); n]);
    grows("lint", &open, &|messages| {
        let id = |name: String| MessageId::new(name).unwrap();
        let mut tree = Transcript::new(id("n0".to_owned()));
        for at in 0..messages.len() / 2 {
            let parent = (at > 0).then(|| id(format!("n{}", at - 1)));
            tree.apply(Entry::Node(Box::new(Node::new(
                id(format!("n{at}")),
                parent,
                vec![calling([format!("c{at}")])],
            ))))
            .unwrap();
            let leaf = Node::new(id(format!("l{at}")), Some(id(format!("n{at}"))), vec![Message::user("a")]);
            tree.apply(Entry::Node(Box::new(leaf))).unwrap();
        }
        assert_eq!(lint::check_tree(&tree).len(), messages.len() / 2, "each call once");
    });
}
