//! What is wrong with a chain that can be assembled: tool calls without results, results without calls, turns that never
//! ended. Findings are for people and tests; nothing is repaired here.

use std::collections::HashMap;

use crate::sort;
use crate::transcript::Placed;
use crate::{Message, MessageId, Role, Transcript};

/// One finding, at one message or at a node as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The node.
    pub node: MessageId,
    /// The message's place in the node; `None` where the node as a whole is meant.
    pub index: Option<usize>,
    /// The rule that it breaks.
    pub rule: Rule,
}

/// What a sound chain keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Every tool call has a result before the next user message or the end of the chain.
    UnansweredCall,
    /// Every tool result answers a call that stands before it.
    OrphanResult,
    /// A call is answered once.
    RepeatedResult,
    /// The ids of the calls that wait at the same time differ.
    RepeatedCallId,
    /// A tool call names its tool.
    NamelessCall,
    /// A user or assistant message says, calls or thinks something.
    EmptyMessage,
    /// Instructions stand before the conversation.
    LateSystem,
    /// A node that something follows is sealed.
    Unsealed,
}

impl Rule {
    /// The rule's stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnansweredCall => "unanswered-call",
            Self::OrphanResult => "orphan-result",
            Self::RepeatedResult => "repeated-result",
            Self::RepeatedCallId => "repeated-call-id",
            Self::NamelessCall => "nameless-call",
            Self::EmptyMessage => "empty-message",
            Self::LateSystem => "late-system",
            Self::Unsealed => "unsealed",
        }
    }

    /// What is wrong, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::UnansweredCall => {
                "a tool call has no result: a provider refuses the prompt unless the call is repaired"
            }
            Self::OrphanResult => {
                "a tool result answers no call before it: a provider refuses the prompt that holds it"
            }
            Self::RepeatedResult => "a tool call is answered more than once",
            Self::RepeatedCallId => "two waiting tool calls share one id, so that results cannot be told apart",
            Self::NamelessCall => "a tool call names no tool",
            Self::EmptyMessage => "the message says nothing, calls nothing and thinks nothing",
            Self::LateSystem => "a system message stands inside the conversation: not every provider accepts that",
            Self::Unsealed => "the turn was never completed, but the conversation went on after it",
        }
    }
}

/// Checks a chain, root first. Messages that prompts leave out (`include_in_context: false`) are passed over.
///
/// ```
/// use threadkeep_core::{lint, Entry, Message, MessageId, Node, Transcript};
/// let id = MessageId::new("r")?;
/// let mut tree = Transcript::new(id.clone());
/// tree.apply(Entry::Node(Box::new(Node::new(id.clone(), None, vec![Message::tool("c1", "42")]))))?;
/// let findings = lint::check(&tree.chain(&id)?);
/// assert_eq!(findings[0].rule.name(), "orphan-result");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(chain: &[&Placed]) -> Vec<Finding> {
    let mut walk = Walk::default();
    for (at, placed) in chain.iter().enumerate() {
        walk.enter(placed, at + 1 == chain.len());
    }
    walk.findings
}

/// Checks all chains of a tree. What branches share is looked at once; findings at it can come more than once.
pub fn check_tree(tree: &Transcript) -> Vec<Finding> {
    enum Visit<'a> {
        Enter(&'a Placed),
        Leave(usize, bool),
    }
    let mut walk = Walk::default();
    let roots = tree.nodes().rev().filter(|placed| tree.parent(placed).is_none());
    let mut open: Vec<Visit> = roots.map(Visit::Enter).collect();
    while let Some(visit) = open.pop() {
        match visit {
            Visit::Enter(placed) => {
                open.push(Visit::Leave(walk.calls.undo.len(), walk.spoken));
                walk.enter(placed, placed.is_leaf());
                open.extend(tree.children(&placed.node.id).into_iter().flatten().rev().map(Visit::Enter));
            }
            Visit::Leave(mark, spoken) => {
                walk.calls.back_to(mark);
                walk.spoken = spoken;
            }
        }
    }
    walk.findings
}

/// A way down a tree, and what was found on it.
#[derive(Default)]
struct Walk<'a> {
    findings: Vec<Finding>,
    calls: Calls<'a>,
    spoken: bool,
}

impl<'a> Walk<'a> {
    /// Goes on to a node; `last` where the chain ends with it.
    fn enter(&mut self, placed: &'a Placed, last: bool) {
        let Self { findings, calls, spoken } = self;
        let node = &placed.node;
        if !node.sealed && !last {
            findings.push(Finding { node: node.id.clone(), index: None, rule: Rule::Unsealed });
        }
        for (index, message) in node.messages.iter().enumerate().filter(|(_, message)| message.include_in_context) {
            let place = (&node.id, index);
            let mut report = |rule| findings.push(Finding { node: place.0.clone(), index: Some(place.1), rule });
            match message.role {
                Role::System | Role::Developer if *spoken => report(Rule::LateSystem),
                Role::System | Role::Developer => {}
                _ => *spoken = true,
            }
            if message.role.counts() && says_nothing(message) {
                report(Rule::EmptyMessage);
            }
            calls.read(message, place, &mut report);
            if message.role == Role::User {
                calls.close(findings);
            }
        }
        // An open turn may still be answered.
        if last && node.sealed {
            calls.close(findings);
        }
    }
}

pub(crate) fn says_nothing(message: &Message) -> bool {
    let thinks = message.reasoning.as_ref().is_some_and(|text| !text.is_empty());
    // A failure says why in its kind.
    let fails = matches!(message.kind, crate::message::Kind::Error { .. });
    message.content.is_empty() && message.tool_calls.is_empty() && !thinks && !fails && message.extra.is_empty()
}

/// The calls on a way down a tree, root first. Each is reported once, however many branches leave it unanswered.
#[derive(Default)]
struct Calls<'a> {
    all: Vec<Call<'a>>,
    /// The newest call of each id: its place in `all`, and whether it was answered.
    newest: HashMap<&'a str, (usize, bool)>,
    /// Places of those that may wait for an answer: all that wait and were not reported, and others.
    waiting: Vec<usize>,
    /// How many of all can be answered no more.
    closed: usize,
    /// How each change is taken back.
    undo: Vec<Undo<'a>>,
}

struct Call<'a> {
    node: &'a MessageId,
    index: usize,
    waits: bool,
    reported: bool,
}

enum Undo<'a> {
    /// What an id stood for before.
    Newest(&'a str, Option<(usize, bool)>),
    /// One more call.
    Called,
    /// This one waited.
    Waited(usize),
    /// So many were closed.
    Closed(usize),
}

impl<'a> Calls<'a> {
    fn set(&mut self, id: &'a str, call: (usize, bool)) {
        let before = self.newest.insert(id, call);
        self.undo.push(Undo::Newest(id, before));
    }

    fn waits_no_more(&mut self, at: usize) {
        if std::mem::take(&mut self.all[at].waits) {
            self.undo.push(Undo::Waited(at));
        }
    }

    /// Takes back all changes but the first so many. What was reported stays so.
    fn back_to(&mut self, mark: usize) {
        for undo in self.undo.split_off(mark.min(self.undo.len())).into_iter().rev() {
            match undo {
                Undo::Newest(id, Some(before)) => drop(self.newest.insert(id, before)),
                Undo::Newest(id, None) => drop(self.newest.remove(id)),
                Undo::Called => drop(self.all.pop()),
                Undo::Waited(at) => {
                    self.all[at].waits = true;
                    self.waiting.push(at);
                }
                Undo::Closed(closed) => self.closed = closed,
            }
        }
    }

    fn read(&mut self, message: &'a Message, place: (&'a MessageId, usize), report: &mut impl FnMut(Rule)) {
        for call in &message.tool_calls {
            if call.name().is_empty() {
                report(Rule::NamelessCall);
            }
            let at = self.all.len();
            if let Some((old, answered)) = self.newest.get(call.id()).copied() {
                if !answered && old >= self.closed {
                    report(Rule::RepeatedCallId);
                }
                self.waits_no_more(old);
            }
            self.set(call.id(), (at, false));
            self.all.push(Call { node: place.0, index: place.1, waits: true, reported: false });
            self.waiting.push(at);
            self.undo.push(Undo::Called);
        }
        if message.role == Role::Tool {
            let known = message.tool_call_id.as_deref().and_then(|id| Some((id, *self.newest.get(id)?)));
            match known {
                None => report(Rule::OrphanResult),
                Some((_, (at, answered))) if answered || at < self.closed => report(Rule::RepeatedResult),
                Some((id, (at, _))) => {
                    self.set(id, (at, true));
                    self.waits_no_more(at);
                }
            }
        }
    }

    /// Reports what is still unanswered, in the order of the chain.
    fn close(&mut self, findings: &mut Vec<Finding>) {
        let mut waiting = std::mem::take(&mut self.waiting);
        sort::sort(&mut waiting);
        for at in waiting {
            // Taken back since, or answered: the way back makes it wait again.
            let Some(call) = self.all.get_mut(at).filter(|call| call.waits && !call.reported) else { continue };
            call.reported = true;
            findings.push(Finding { node: call.node.clone(), index: Some(call.index), rule: Rule::UnansweredCall });
        }
        self.undo.push(Undo::Closed(self.closed));
        self.closed = self.all.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Node, ToolCall};

    fn call(id: &str) -> Message {
        Message { tool_calls: vec![ToolCall::function(id, "f", "{}")], ..Message::assistant(crate::Content::Null) }
    }

    fn rules(messages: Vec<Message>) -> Vec<&'static str> {
        let id = MessageId::new("r").unwrap();
        let mut tree = Transcript::new(id.clone());
        tree.apply(Entry::Node(Box::new(Node::new(id.clone(), None, messages)))).unwrap();
        check(&tree.chain(&id).unwrap()).iter().map(|finding| finding.rule.name()).collect()
    }

    #[test]
    fn sound_chains_have_no_findings() {
        assert!(rules(vec![]).is_empty());
        assert!(rules(vec![Message::system("s"), Message::user("u"), call("a"), Message::tool("a", "1")]).is_empty());
    }

    #[test]
    fn each_rule_fires() {
        assert_eq!(rules(vec![Message::user("u"), call("a")]), ["unanswered-call"]);
        assert_eq!(
            rules(vec![call("a"), Message::user("u"), Message::tool("a", "1")]),
            ["unanswered-call", "repeated-result"]
        );
        assert_eq!(rules(vec![Message::tool("a", "1")]), ["orphan-result"]);
        assert_eq!(rules(vec![call("a"), call("a"), Message::tool("a", "1")]), ["repeated-call-id"]);
        assert_eq!(rules(vec![Message::user("")]), ["empty-message"]);
        let kind = crate::message::Kind::Error { code: "stalled".into(), reason: "nothing came".into() };
        assert!(rules(vec![Message::user("u"), Message { kind, ..Message::assistant("") }]).is_empty());
        assert_eq!(rules(vec![Message::user("u"), Message::system("s")]), ["late-system"]);
        let nameless = Message { tool_calls: vec![ToolCall::function("a", "", "")], ..Message::assistant("x") };
        assert_eq!(rules(vec![nameless, Message::tool("a", "")]), ["nameless-call"]);
    }

    #[test]
    fn an_open_turn_may_still_be_answered() {
        let id = MessageId::new("r").unwrap();
        let mut tree = Transcript::new(id.clone());
        let node = Node { sealed: false, ..Node::new(id.clone(), None, vec![call("a")]) };
        tree.apply(Entry::Node(Box::new(node))).unwrap();
        assert!(check(&tree.chain(&id).unwrap()).is_empty());
    }
}
