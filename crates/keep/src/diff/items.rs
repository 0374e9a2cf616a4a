//! The messages of two requests in pairs: the same message in both ledgers.

use std::collections::HashMap;

use threadkeep_context::{Action, Line, rule};
use threadkeep_core::MessageId;

use crate::journal::Rebuilt;
use crate::protocol::{MessageChange, MessageForm as Form, MessageState, RequestDiff};

/// A message in a ledger.
struct Item {
    /// By what it is known in both ledgers.
    key: String,
    node: Option<MessageId>,
    state: MessageState,
}

/// The messages of two requests.
pub(super) struct Pairs<'a> {
    first: Vec<Item>,
    second: Vec<Item>,
    /// For each of the second, its place among the first.
    of: Vec<Option<usize>>,
    /// For each of the first, its place among the second.
    to: Vec<Option<usize>>,
    texts: (&'a [String], &'a [String]),
}

impl<'a> Pairs<'a> {
    pub(super) fn new(first: &Rebuilt, second: &Rebuilt, texts: (&'a [String], &'a [String])) -> Self {
        let (first, second) = (items(&first.context.ledger), items(&second.context.ledger));
        let (of, to) = (vec![None; second.len()], vec![None; first.len()]);
        let mut pairs = Self { first, second, of, to, texts };
        pairs.pair(&|_, item| Some(item.key.as_str()));
        // Chains of two threads have no node in common. What one of them has alone is told by what it says.
        pairs.pair(&|texts, item| texts.get(item.state.place?).map(String::as_str));
        pairs
    }

    /// Pairs what has no pair yet, by a key of each.
    fn pair(&mut self, key: &dyn for<'b> Fn(&'b [String], &'b Item) -> Option<&'b str>) {
        let mut known: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, item) in self.first.iter().enumerate().rev().filter(|(at, _)| self.to[*at].is_none()) {
            if let Some(key) = key(self.texts.0, item) {
                known.entry(key).or_default().push(at);
            }
        }
        let mut found = Vec::new();
        for (at, item) in self.second.iter().enumerate().filter(|(at, _)| self.of[*at].is_none()) {
            let same = key(self.texts.1, item).and_then(|key| known.get_mut(key)?.pop());
            found.extend(same.map(|same| (same, at)));
        }
        for (ours, theirs) in found {
            (self.to[ours], self.of[theirs]) = (Some(theirs), Some(ours));
        }
    }

    /// Writes what changed into a report.
    pub(super) fn enter(&self, report: &mut RequestDiff) {
        let mut places = Vec::new();
        let mut both = Vec::new();
        for (theirs, ours) in self.of.iter().enumerate() {
            let change = || self.change(*ours, Some(theirs));
            let (before, after) = (ours.map(|ours| &self.first[ours].state), &self.second[theirs].state);
            match (before.filter(|before| before.form != Form::Out), after.form) {
                (None, Form::Out) => {}
                // What was never a message of its own has not come in.
                (None, Form::Summarised) => {}
                (None, _) => report.entered.push(change()),
                (Some(_), Form::Out) => {}
                (Some(before), _) => {
                    if before.form != after.form || !self.says_the_same(before, after) {
                        report.changed.push(change());
                    }
                    if let (Some(place), Some(_)) = (before.place, after.place) {
                        places.push(place);
                        both.push((*ours, theirs));
                    }
                }
            }
        }
        for (ours, theirs) in self.to.iter().enumerate() {
            let is_out = theirs.is_none_or(|theirs| self.second[theirs].state.form == Form::Out);
            if is_out && !matches!(self.first[ours].state.form, Form::Out | Form::Summarised) {
                report.left.push(self.change(Some(ours), *theirs));
            }
        }
        let ascend = ascending(&places);
        let moved = both.iter().zip(ascend).filter(|(_, stays)| !stays);
        report.moved.extend(moved.map(|((ours, theirs), _)| self.change(*ours, Some(*theirs))));
    }

    fn says_the_same(&self, before: &MessageState, after: &MessageState) -> bool {
        let text = |texts: &'a [String], state: &MessageState| texts.get(state.place?);
        text(self.texts.0, before) == text(self.texts.1, after)
    }

    fn change(&self, ours: Option<usize>, theirs: Option<usize>) -> MessageChange {
        let (before, after) = (ours.map(|at| &self.first[at]), theirs.map(|at| &self.second[at]));
        MessageChange {
            node: after.or(before).and_then(|item| item.node.clone()),
            before: before.map(|item| item.state.clone()),
            after: after.map(|item| item.state.clone()),
        }
    }

    /// The messages at a place of both prompts, each with what the other request has of it.
    pub(super) fn at(&self, place: usize) -> (Option<MessageChange>, Option<MessageChange>) {
        let find = |items: &[Item]| items.iter().position(|item| item.state.place == Some(place));
        let (ours, theirs) = (find(&self.first), find(&self.second));
        let before = ours.map(|ours| self.change(Some(ours), self.to[ours]));
        let after = theirs.map(|theirs| self.change(self.of[theirs], Some(theirs)));
        (before, after)
    }
}

/// The messages of a ledger, in its order.
fn items(ledger: &[Line]) -> Vec<Item> {
    let mut items = Vec::with_capacity(ledger.len());
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut next = 0;
    for line in ledger.iter().filter(|line| line.memory.is_none()) {
        let place = line.has_message().then_some(next);
        next += usize::from(place.is_some());
        let node = line.node.clone().filter(|_| line.tokens_before > 0);
        if place.is_none() && node.is_none() {
            continue;
        }
        let mut add = |node: Option<MessageId>, form, place: Option<usize>, rule| {
            // The place of memory changes from request to request.
            let known_by = if node.is_some() { "" } else { rule };
            let key = match line.node.as_ref().filter(|_| form != Form::Summary) {
                Some(node) => format!("{}\n{}\n{known_by}", node.as_str(), line.index),
                None => known_by.to_owned(),
            };
            let count = known.entry(key.clone()).or_default();
            *count += 1;
            let tokens = if place.is_some() { line.tokens_after } else { 0 };
            let key = format!("{key}\n{count}");
            items.push(Item { key, node, state: MessageState { form, place, rule, tokens } });
        };
        match (line.action, place) {
            // The line is of the summary, and of the first message that it covers.
            (Action::Summarised, Some(_)) => {
                add(None, Form::Summary, place, rule::CHECKPOINT);
                if node.is_some() {
                    add(node, Form::Summarised, None, line.rule);
                }
            }
            (Action::Summarised, None) => add(node, Form::Summarised, None, line.rule),
            (Action::Previewed, Some(_)) => add(node, Form::Preview, place, line.rule),
            (Action::Compressed, _) => add(node, Form::Compressed, place, line.rule),
            (_, Some(_)) => add(node, Form::Whole, place, line.rule),
            (_, None) => add(node, Form::Out, None, line.rule),
        }
    }
    items
}

/// Which elements of a list are in one of its longest runs that ascend.
fn ascending(list: &[usize]) -> Vec<bool> {
    // Of the runs of each length, the end of the one that ends lowest; and for each element the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(list.len());
    for (at, value) in list.iter().enumerate() {
        let length = ends.partition_point(|end| list[*end] < *value);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut stays = vec![false; list.len()];
    let mut next = ends.last().copied();
    while let Some(at) = next {
        stays[at] = true;
        next = before[at];
    }
    stays
}

#[cfg(test)]
mod tests {
    use super::ascending;

    #[test]
    fn the_longest_run_stays() {
        let stays = |list: &[usize]| ascending(list).into_iter().map(u8::from).collect::<Vec<_>>();
        assert!(stays(&[]).is_empty());
        assert_eq!(stays(&[0, 1, 2]), [1, 1, 1]);
        assert_eq!(stays(&[3, 0, 1, 2]), [0, 1, 1, 1]);
        assert_eq!(stays(&[1, 2, 3, 0]), [1, 1, 1, 0]);
        assert_eq!(stays(&[2, 1, 0]).into_iter().sum::<u8>(), 1);
    }
}
