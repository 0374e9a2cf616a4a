//! Trees of nodes: any tree, any interleaving of entries, held against plain maps.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use serde_json::json;
use threadkeep_core::transcript::{Placed, assemble, assemble_lenient};
use threadkeep_core::{ChainError, Entry, Message, MessageId, Node, Transcript, TranscriptError};

fn id(text: impl AsRef<str>) -> MessageId {
    MessageId::new(text).unwrap()
}

fn node(name: &str, parent: Option<&str>, messages: Vec<Message>) -> Entry {
    Entry::Node(Box::new(Node::new(id(name), parent.map(id), messages)))
}

#[derive(Debug, Clone)]
enum Step {
    Child { of: usize, messages: Vec<bool>, sealed: bool },
    Extend { node: usize, messages: Vec<bool> },
    Seal { node: usize },
    Alias { node: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let messages = || prop::collection::vec(any::<bool>(), 0..4);
    prop_oneof![
        3 => (any::<usize>(), messages(), any::<bool>()).prop_map(|(of, messages, sealed)| Step::Child { of, messages, sealed }),
        2 => (any::<usize>(), messages()).prop_map(|(node, messages)| Step::Extend { node, messages }),
        1 => any::<usize>().prop_map(|node| Step::Seal { node }),
        1 => any::<usize>().prop_map(|node| Step::Alias { node }),
    ]
}

fn said(at: usize, users: &[bool]) -> Vec<Message> {
    let speak = |(n, user): (usize, &bool)| {
        let text = format!("{at}.{n}");
        if *user { Message::user(text) } else { Message::assistant(text) }
    };
    users.iter().enumerate().map(speak).collect()
}

/// The model of a node: its parent, its texts, and whether it can no longer grow.
type Modelled = (Option<usize>, Vec<String>, bool);

fn texts(at: usize, users: &[bool]) -> Vec<String> {
    said(at, users).iter().map(|message| message.text().into_owned()).collect()
}

proptest! {
    #[test]
    fn any_interleaving_makes_the_tree_that_plain_maps_make(steps in prop::collection::vec(step(), 0..80)) {
        let root = node("n0", None, vec![Message::system("s")]);
        let mut tree = Transcript::new(id("n0"));
        tree.apply(root.clone()).unwrap();
        let mut model: Vec<Modelled> = vec![(None, vec!["s".to_owned()], true)];
        let mut aliases = HashMap::new();
        let mut log = vec![root];
        for (at, step) in steps.into_iter().enumerate() {
            let count = model.len();
            let name = |n: usize| id(format!("n{}", n % count));
            let entry = match &step {
                Step::Child { of, messages, sealed } => {
                    let new = Node::new(id(format!("n{count}")), Some(name(*of)), said(at, messages));
                    Entry::Node(Box::new(Node { sealed: *sealed, ..new }))
                }
                Step::Extend { node, messages } => Entry::Extend { node: name(*node), messages: said(at, messages), turn: 0 },
                Step::Seal { node } => Entry::Seal { node: name(*node) },
                Step::Alias { node } => Entry::Alias { id: id(format!("alias {at}")), node: name(*node) },
            };
            let before = tree.next_seq();
            let applied = tree.apply(entry.clone()).is_ok();
            match step {
                Step::Child { of, messages, sealed } => {
                    prop_assert!(applied);
                    model[of % count].2 = true;
                    model.push((Some(of % count), texts(at, &messages), sealed));
                }
                Step::Extend { node, messages } => {
                    prop_assert_eq!(applied, !model[node % count].2);
                    if applied { model[node % count].1.extend(texts(at, &messages)); }
                }
                Step::Seal { node } => model[node % count].2 = true,
                Step::Alias { node } => { aliases.insert(format!("alias {at}"), node % count); }
            }
            if applied { log.push(entry); }
            prop_assert_eq!(tree.next_seq(), before + u64::from(applied));
        }
        // The same tree comes from its log, read back from text.
        let mut again = Transcript::new(id("n0"));
        for (seq, entry) in (0..).zip(&log) {
            again.replay(seq, serde_json::from_str(&serde_json::to_string(entry).unwrap()).unwrap());
        }
        prop_assert!(again.damage().is_empty());
        prop_assert_eq!(again.info(), tree.info());
        for tree in [&tree, &again] {
            for at in 0..model.len() {
                let mut chain = Vec::new();
                let mut up = Some(at);
                while let Some(n) = up {
                    chain.push(model[n].1.clone());
                    up = model[n].0;
                }
                chain.reverse();
                let want = chain.concat();
                let leaf = id(format!("n{at}"));
                let got: Vec<String> = tree.messages(&leaf).unwrap().iter().map(|m| m.text().into_owned()).collect();
                prop_assert_eq!(&got, &want);
                prop_assert_eq!(tree.get(&leaf).unwrap().depth as usize, want.len() - 1);
                let children = model.iter().filter(|node| node.0 == Some(at)).count();
                prop_assert_eq!(tree.children(&leaf).unwrap().len(), children);
            }
            let leaves = (0..model.len()).filter(|at| !model.iter().any(|node| node.0 == Some(*at))).count();
            prop_assert_eq!(tree.info().branches as usize, leaves);
            for (alias, node) in &aliases {
                let alias = id(alias);
                let node = id(format!("n{node}"));
                prop_assert_eq!(tree.resolve(&alias), Some(&node));
            }
            every_part_is_what_walking_gives(tree);
        }
        let cut = again.subtree(&id(format!("n{}", model.len() / 2))).iter().map(|placed| placed.node.id.clone()).collect::<Vec<_>>();
        if cut.len() < model.len() {
            prop_assert!(again.prune(&cut.iter().collect()));
            every_part_is_what_walking_gives(&again);
        }
    }

    #[test]
    fn any_parent_links_give_a_chain_or_an_error_that_names_the_place(
        parents in prop::collection::vec(prop::option::of(0..12usize), 1..10),
        leaf in 0..12usize,
    ) {
        let name = |n: usize| id(format!("n{n}"));
        let links: Links = parents.iter().enumerate().map(|(at, parent)| (name(at), parent.map(name))).collect();
        let (chain, broken) = assemble_links(&name(leaf), &links);
        match &broken {
            None => prop_assert!(chain.first().is_some_and(|root| links[*root].is_none())),
            Some(ChainError::MissingNode(node)) => prop_assert!(!links.contains_key(node) && chain.is_empty()),
            Some(ChainError::MissingParent { node, parent }) => {
                prop_assert_eq!(links[node].as_ref(), Some(parent));
                prop_assert!(!links.contains_key(parent));
                prop_assert_eq!(chain.first(), Some(&node));
            }
            Some(ChainError::Cycle(node)) => prop_assert!(chain.contains(&node)),
        }
    }
}

type Links = HashMap<MessageId, Option<MessageId>>;

/// The chain over bare links, by the lenient reader and (which must agree) by the strict one.
fn assemble_links<'a>(leaf: &MessageId, links: &'a Links) -> (Vec<&'a MessageId>, Option<ChainError>) {
    let pairs: HashMap<&MessageId, (&'a MessageId, Option<&'a MessageId>)> =
        links.iter().map(|(id, parent)| (id, (id, parent.as_ref()))).collect();
    let (chain, broken) = assemble_lenient(leaf, |id| pairs.get(id), |pair| pair.1);
    let chain: Vec<&MessageId> = chain.into_iter().map(|pair| pair.0).collect();
    match assemble(leaf, |id| pairs.get(id), |pair| pair.1) {
        Ok(strict) => assert_eq!((strict.len(), &broken), (chain.len(), &None)),
        Err(error) => assert_eq!(Some(&error), broken.as_ref()),
    }
    (chain, broken)
}

#[test]
fn a_cycle_is_named() {
    let links = HashMap::from([(id("a"), Some(id("b"))), (id("b"), Some(id("c"))), (id("c"), Some(id("b")))]);
    assert_eq!(assemble_links(&id("a"), &links).1, Some(ChainError::Cycle(id("b"))));
}

#[test]
fn what_cannot_happen_is_refused_and_changes_nothing() {
    let mut tree = Transcript::new(id("r"));
    tree.apply(node("r", None, vec![])).unwrap();
    tree.apply(node("a", Some("r"), vec![Message::user("hi")])).unwrap();
    tree.apply(Entry::Alias { id: id("out"), node: id("a") }).unwrap();
    let before = (tree.next_seq(), tree.info());
    let gone = TranscriptError::MissingParent { node: id("x"), parent: id("gone") };
    for (entry, want) in [
        (node("x", None, vec![]), TranscriptError::SecondRoot(id("x"))),
        (node("a", Some("r"), vec![]), TranscriptError::Taken(id("a"))),
        (node("out", Some("r"), vec![]), TranscriptError::Taken(id("out"))),
        (node("x", Some("gone"), vec![]), gone),
        (Entry::Seal { node: id("gone") }, TranscriptError::MissingNode(id("gone"))),
        (Entry::Alias { id: id("r"), node: id("a") }, TranscriptError::Taken(id("r"))),
        (Entry::Extend { node: id("a"), messages: vec![], turn: 0 }, TranscriptError::Sealed(id("a"))),
    ] {
        assert_eq!(tree.apply(entry), Err(want));
    }
    assert_eq!((tree.next_seq(), tree.info()), before);
    // In one batch, too, where the second entry depends on the first.
    assert!(tree.check(&[node("b", Some("a"), vec![]), node("c", Some("b"), vec![])]).is_ok());
    let twice = [node("b", Some("a"), vec![]), node("b", Some("a"), vec![])];
    assert_eq!(tree.check(&twice), Err(TranscriptError::Taken(id("b"))));
}

#[test]
fn a_damaged_log_is_read_as_far_as_it_goes_and_says_what_is_missing() {
    let mut tree = Transcript::new(id("r"));
    tree.replay(0, node("r", None, vec![Message::system("s")]));
    tree.replay(2, node("b", Some("a"), vec![Message::user("hi")])); // entry 1, which made "a", is lost
    tree.skip(3, "not JSON");
    tree.replay(4, node("c", Some("b"), vec![Message::assistant("ho")]));
    assert_eq!(tree.next_seq(), 5);
    assert_eq!(tree.damage().len(), 3, "{:?}", tree.damage());
    assert!(tree.damage()[0].contains("1..2"));
    let error = tree.chain(&id("c")).unwrap_err();
    assert_eq!(error, ChainError::MissingParent { node: id("b"), parent: id("a") });
    let (chain, broken) = assemble_lenient(&id("c"), |id| tree.get(id), |placed| placed.node.parent.as_ref());
    assert_eq!((chain.len(), broken), (2, Some(error)));
}

#[test]
fn models_and_images_are_named_and_taken_back() {
    let picture = json!({"role": "user", "content": [
        {"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}, {"type": "input_image"}]});
    let picture = Message::from_json(picture).unwrap();
    let by = |name: &str, parent: &str, model: &str| {
        let mut node = Node::new(id(name), Some(id(parent)), vec![Message::assistant("a picture")]);
        node.origin.model = Some(model.to_owned());
        Entry::Node(Box::new(node))
    };
    let mut tree = Transcript::new(id("r"));
    tree.apply(node("r", None, vec![picture.clone()])).unwrap();
    tree.apply(by("a", "r", "gpt-4o")).unwrap();
    let told = |tree: &Transcript| (tree.info().models, tree.info().images);
    let before = (vec!["gpt-4o".to_owned()], 2);
    assert_eq!(told(&tree), before);

    let more = vec![by("b", "a", "claude"), by("c", "b", "gpt-4o"), node("d", Some("c"), vec![picture.clone()])];
    let back = tree.before(&more).unwrap();
    tree.apply_all(more).unwrap();
    assert_eq!(told(&tree), (vec!["gpt-4o".to_owned(), "claude".to_owned()], 4));
    let mut pruned = tree.clone();
    assert!(pruned.prune(&HashSet::from([&id("b"), &id("c"), &id("d")])));
    assert_eq!(told(&pruned), before);
    tree.take_back(back);
    assert_eq!(told(&tree), before);

    let mut open = Node::new(id("e"), Some(id("a")), vec![Message::user("and this?")]);
    open.sealed = false;
    tree.apply(Entry::Node(Box::new(open))).unwrap();
    tree.apply(Entry::Extend { node: id("e"), messages: vec![picture], turn: 2 }).unwrap();
    assert_eq!(tree.info().images, 4);
}

#[test]
fn turns_are_numbered_and_belong_to_what_follows() {
    let mut tree = Transcript::new(id("r"));
    let with_turn = |name: &str, parent: Option<&str>, turn, messages| {
        Entry::Node(Box::new(Node { turn, sealed: false, ..Node::new(id(name), parent.map(id), messages) }))
    };
    tree.apply(with_turn("r", None, 0, vec![Message::system("s")])).unwrap();
    let two = vec![Message::user("1"), Message::assistant("x"), Message::user("2")];
    tree.apply(with_turn("a", Some("r"), 1, two)).unwrap();
    assert_eq!((tree.get(&id("r")).unwrap().turn, tree.get(&id("a")).unwrap().turn, tree.next_turn()), (0, 2, 3));
    tree.apply(Entry::Extend { node: id("a"), messages: vec![Message::user("3")], turn: 3 }).unwrap();
    tree.apply(with_turn("b", Some("a"), 0, vec![Message::assistant("y")])).unwrap();
    assert_eq!((tree.get(&id("a")).unwrap().turn, tree.get(&id("b")).unwrap().turn, tree.next_turn()), (3, 3, 4));
}

/// Everything that is said about a tree, and about the nodes in it.
fn seen(tree: &Transcript) -> String {
    let placed: Vec<_> = tree.nodes().map(|placed| format!("{placed:?}")).collect();
    let mut heads: Vec<_> = tree.heads().iter().collect();
    heads.sort();
    let known: Vec<_> = tree.nodes().map(|placed| tree.get(&placed.node.id).map(|found| found.seq)).collect();
    let numbers = (tree.next_seq(), tree.next_turn(), tree.bytes());
    format!("{:?} {numbers:?} {heads:?} {placed:?} {known:?} {:?}", tree.info(), tree.get(&id("new0")).is_some())
}

proptest! {
    /// Who loses to another writer takes back what it had applied, and catches up.
    #[test]
    fn entries_are_taken_back_without_a_trace(
        places in prop::collection::vec((any::<usize>(), any::<bool>()), 1..12),
        news in prop::collection::vec((any::<usize>(), any::<bool>()), 1..6),
    ) {
        let mut tree = Transcript::new(id("root"));
        let mut names = vec!["root".to_owned()];
        let mut add = |tree: &Transcript, kind: &str, at: usize, of: usize, moved: bool| {
            let parent = (tree.next_seq() > 0 || at > 0).then(|| names[of % names.len()].clone());
            let name = if parent.is_none() { "root".to_owned() } else { format!("{kind}{at}") };
            let mut one = Node::new(id(&name), parent.map(id), vec![Message::user("hi"), Message::assistant("ho")]);
            (one.turn, one.created_at) = (tree.next_turn() + at as u32, Some(1_000 - at as i64));
            let mut entries = vec![Entry::Node(Box::new(one))];
            if moved {
                entries.push(Entry::Head { name: format!("head{}", of % 3), node: Some(id(&name)) });
            }
            if name != "root" {
                names.push(name);
            }
            entries
        };
        for (at, (of, moved)) in places.into_iter().enumerate() {
            for entry in add(&tree, "old", at, of, moved) {
                tree.apply(entry).unwrap();
            }
        }
        let entries: Vec<_> =
            news.into_iter().enumerate().flat_map(|(at, (of, moved))| add(&tree, "new", at, of, moved)).collect();
        let expected = seen(&tree);
        let before = tree.before(&entries).unwrap();
        let mut again = tree.clone();
        for tree in [&mut tree, &mut again] {
            for entry in entries.clone() {
                tree.apply(entry).unwrap();
            }
        }
        prop_assert_ne!(seen(&tree), expected.clone());
        tree.take_back(before);
        prop_assert_eq!(seen(&tree), expected);
        for entry in entries {
            tree.apply(entry).unwrap();
        }
        prop_assert_eq!(seen(&tree), seen(&again));
    }
}

#[test]
fn what_changes_older_nodes_is_not_taken_back() {
    let tree = Transcript::new(id("root"));
    assert!(tree.before(&[node("root", None, vec![])]).is_some());
    for entry in [Entry::Seal { node: id("root") }, Entry::Head { name: "main".to_owned(), node: None }, Entry::Gone(1)]
    {
        assert!(tree.before(&[entry]).is_none());
    }
}

/// What is found by climbing is what walking finds, for every node of a tree and for parts of its chain of all lengths.
fn every_part_is_what_walking_gives(tree: &Transcript) {
    let ids = |nodes: &[&Placed]| nodes.iter().map(|placed| placed.node.id.clone()).collect::<Vec<_>>();
    for leaf in tree.nodes() {
        let mut walked = vec![leaf];
        while let Some(up) = tree.parent(walked[walked.len() - 1]) {
            walked.push(up);
        }
        walked.reverse();
        let id = &leaf.node.id;
        let messages: Vec<&Message> = walked.iter().flat_map(|placed| &placed.node.messages).collect();
        assert_eq!(ids(&tree.chain(id).unwrap()), ids(&walked));
        assert_eq!(tree.message_count(id).unwrap(), messages.len());
        for start in (0..messages.len() + 2).step_by(3) {
            let through = |end: usize| walked[..end].iter().map(|placed| placed.node.messages.len()).sum::<usize>();
            let last = (1..=walked.len()).rev().find(|end| through(*end) <= start).map(|end| walked[end - 1].seq);
            assert_eq!(tree.node_through(id, start).unwrap().map(|placed| placed.seq), last);
            for end in [start, start + 1, start + 7, usize::MAX] {
                let part = |all: usize| start.min(all)..end.min(all);
                assert_eq!(ids(&tree.levels(leaf, start, end)), ids(&walked[part(walked.len())]));
                assert_eq!(tree.message_range(id, start, end).unwrap(), &messages[part(messages.len())]);
            }
        }
    }
}
