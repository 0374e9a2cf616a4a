//! The messages of a chain without what [`lint`](crate::lint) finds, for a branch of their own. The originals stay where they are.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use crate::lint::says_nothing;
use crate::transcript::Placed;
use crate::{Message, Role, ToolCall};

/// The content of a result that stands in for one that is missing.
pub const NO_RESULT: &str = "No result of this call was stored.";
/// The name of a tool whose call has none.
const UNNAMED: &str = "unnamed_tool";

/// A chain's end, written anew.
#[derive(Debug, Clone, PartialEq)]
pub struct Mended {
    /// So many nodes at the chain's beginning are sound, and stay.
    pub sound: usize,
    /// The messages of each node behind them, mended.
    pub nodes: Vec<Vec<Message>>,
}

/// Mends a chain, root first: `None` where nothing is to be mended. [`lint::check`](crate::lint::check) finds only late system messages in what
/// comes out.
///
/// - A call without a result is given one that says so, marked as an error, right behind the message that calls.
/// - A result without a call, a second result, and a message that says nothing are left out of prompts (`include_in_context: false`).
/// - Of two waiting calls with one id, the later is given an id of its own; results answer the oldest call first.
/// - A call without a name is one of `unnamed_tool`.
/// - A system message inside the conversation stays: only its writer knows whether it may be a user's.
///
/// ```
/// use threadkeep_core::{mend, Entry, Message, MessageId, Node, Transcript};
/// let id = MessageId::new("r")?;
/// let mut tree = Transcript::new(id.clone());
/// let messages = vec![Message::user("2 + 2?"), Message::tool("c1", "4")];
/// tree.apply(Entry::Node(Box::new(Node::new(id.clone(), None, messages))))?;
/// let mended = mend::mend(&tree.chain(&id)?).expect("the result answers no call");
/// assert!(!mended.nodes[0][1].include_in_context);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mend(chain: &[&Placed]) -> Option<Mended> {
    let mut walk = Walk::default();
    for (at, placed) in chain.iter().enumerate() {
        walk.node(at, placed, at + 1 == chain.len());
    }
    walk.close();
    let sound = walk.first?;
    let mut nodes = walk.nodes;
    // From the last on, so that the places before it still hold.
    for (node, index, result) in walk.missing.into_iter().rev() {
        nodes[node].insert(index + 1, result);
    }
    Some(Mended { sound, nodes: nodes.split_off(sound) })
}

/// A call that waits for its result: its id, and the places of its node and its message.
type Waiting = (String, usize, usize);

#[derive(Default)]
struct Walk {
    nodes: Vec<Vec<Message>>,
    /// The first node that changes.
    first: Option<usize>,
    /// The calls that wait, by the id that they came with.
    waiting: HashMap<String, VecDeque<Waiting>>,
    /// How often each id was called.
    called: HashMap<String, usize>,
    /// The ids that were made here.
    minted: HashSet<String>,
    /// Results that are to be added behind a message of a node.
    missing: Vec<(usize, usize, Message)>,
}

impl Walk {
    fn node(&mut self, at: usize, placed: &Placed, last: bool) {
        if !placed.node.sealed && !last {
            self.changes(at);
        }
        self.nodes.push(Vec::with_capacity(placed.node.messages.len()));
        for (index, message) in placed.node.messages.iter().enumerate() {
            let mut message = message.clone();
            if message.include_in_context {
                self.message(&mut message, at, index);
            }
            self.nodes[at].push(message);
        }
    }

    fn changes(&mut self, at: usize) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
    }

    fn message(&mut self, message: &mut Message, at: usize, index: usize) {
        if message.role == Role::User {
            self.close();
        }
        let mut leave_out = message.role.counts() && says_nothing(message);
        for call in &mut message.tool_calls {
            if call.name().is_empty() {
                *call = ToolCall::function(call.id(), UNNAMED, call.arguments());
                self.changes(at);
            }
            let came_with = call.id().to_owned();
            let waits = self.waiting.get(&came_with).is_some_and(|waiting| !waiting.is_empty());
            if waits || self.minted.contains(&came_with) {
                call.0.insert("id".to_owned(), Value::String(self.another(&came_with)));
                self.changes(at);
            }
            *self.called.entry(call.id().to_owned()).or_default() += 1;
            self.waiting.entry(came_with).or_default().push_back((call.id().to_owned(), at, index));
        }
        if message.role == Role::Tool {
            let id = message.tool_call_id.clone().unwrap_or_default();
            match self.waiting.get_mut(&id).and_then(VecDeque::pop_front) {
                Some((named, ..)) if named == id => {}
                Some((named, ..)) => {
                    message.tool_call_id = Some(named);
                    self.changes(at);
                }
                None => leave_out = true,
            }
        }
        if leave_out {
            message.include_in_context = false;
            self.changes(at);
        }
    }

    /// An id that no call has yet.
    fn another(&mut self, id: &str) -> String {
        loop {
            let count = self.called.entry(id.to_owned()).or_default();
            *count += 1;
            let named = format!("{id}-{count}");
            if !self.called.contains_key(&named) {
                self.minted.insert(named.clone());
                return named;
            }
        }
    }

    /// No result comes any more for what waits.
    fn close(&mut self) {
        let mut left: Vec<Waiting> = std::mem::take(&mut self.waiting).into_values().flatten().collect();
        crate::sort::sort_by(&mut left, |a, b| (a.1, a.2, &a.0).cmp(&(b.1, b.2, &b.0)));
        for (id, at, index) in left {
            self.changes(at);
            self.missing.push((at, index, Message { is_error: true, ..Message::tool(id, NO_RESULT) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, MessageId, Node, Transcript, lint};

    fn call(ids: &[&str]) -> Message {
        let tool_calls = ids.iter().map(|id| ToolCall::function(*id, "f", "{}")).collect();
        Message { tool_calls, ..Message::assistant(crate::Content::Null) }
    }

    /// A chain of one node for each list of messages.
    fn tree(nodes: &[Vec<Message>]) -> (Transcript, MessageId) {
        let mut tree = Transcript::new(MessageId::new("0").unwrap());
        let mut last = None;
        for (number, messages) in nodes.iter().enumerate() {
            let id = MessageId::new(number.to_string()).unwrap();
            tree.apply(Entry::Node(Box::new(Node::new(id.clone(), last, messages.clone())))).unwrap();
            last = Some(id);
        }
        (tree, last.unwrap())
    }

    fn mended(nodes: &[Vec<Message>]) -> Option<Mended> {
        let (tree, leaf) = tree(nodes);
        mend(&tree.chain(&leaf).unwrap())
    }

    #[test]
    fn a_sound_chain_stays() {
        assert_eq!(
            mended(&[vec![Message::system("s"), Message::user("u"), call(&["a"]), Message::tool("a", "1")]]),
            None
        );
    }

    #[test]
    fn a_call_without_a_result_is_given_one_behind_its_message() {
        let nodes =
            [vec![Message::user("u")], vec![call(&["a", "b"]), Message::tool("b", "2")], vec![Message::user("v")]];
        let mended = mended(&nodes).unwrap();
        assert_eq!(mended.sound, 1);
        assert_eq!(mended.nodes[0][1].tool_call_id.as_deref(), Some("a"));
        assert!(mended.nodes[0][1].is_error && mended.nodes[0][2] == nodes[1][1]);
        assert_eq!(mended.nodes[1], nodes[2]);
    }

    #[test]
    fn two_calls_with_one_id_are_each_answered_by_their_result() {
        let mended = mended(&[vec![call(&["a", "a"]), Message::tool("a", "1"), Message::tool("a", "2")]]).unwrap();
        let ids: Vec<_> = mended.nodes[0][0].tool_calls.iter().map(|call| call.id().to_owned()).collect();
        let answered: Vec<_> = mended.nodes[0][1..].iter().filter_map(|result| result.tool_call_id.clone()).collect();
        assert_eq!(ids, answered);
        assert_ne!(ids[0], ids[1]);
    }

    /// Chains made at random, in which every rule is broken: nothing is found in what was mended, and no message is lost.
    #[test]
    fn nothing_is_found_in_a_mended_chain() {
        let mut state = 7u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut broken, mut rules) = (0, std::collections::BTreeSet::new());
        for _ in 0..3_000 {
            let nodes: Vec<Vec<Message>> = (0..=random(5))
                .map(|_| {
                    (0..random(4))
                        .map(|_| {
                            let id = ["a", "b", "a-2"][random(3) as usize];
                            match random(7) {
                                0 => Message::user(["u", ""][random(2) as usize]),
                                1 => Message::assistant("x"),
                                2 => call(&[id]),
                                3 => call(&[id, "a"]),
                                4 => Message {
                                    tool_calls: vec![ToolCall::function(id, "", "{}")],
                                    ..Message::assistant("")
                                },
                                _ => Message::tool(id, "1"),
                            }
                        })
                        .collect()
                })
                .collect();
            let (before, leaf) = tree(&nodes);
            let found = lint::check(&before.chain(&leaf).unwrap());
            rules.extend(found.iter().map(|finding| finding.rule));
            let mended = mend(&before.chain(&leaf).unwrap());
            assert_eq!(mended.is_some(), !found.is_empty(), "{nodes:?}");
            let Some(mended) = mended else { continue };
            broken += 1;
            let mut after = nodes[..mended.sound].to_vec();
            after.extend(mended.nodes.clone());
            assert_eq!(after.len(), nodes.len());
            for (old, new) in nodes.iter().zip(&after) {
                let stays = new.iter().filter(|message| message.text() != NO_RESULT);
                assert_eq!(old.len(), stays.count(), "{nodes:?}");
            }
            let (after, leaf) = tree(&after);
            assert_eq!(lint::check(&after.chain(&leaf).unwrap()), [], "{nodes:?}");
        }
        assert!(broken > 1_000 && rules.len() == 6, "{broken} {rules:?}");
    }
}
