//! What changed from one request of the journal to another. [`diff`] compares two requests that were made again, and reads no store.
//! In go their messages and ledgers. Out comes what entered, left, moved and changed, and the pieces from which [`apply`] makes the
//! second of the first.
//!
//! A message is the same one if it has the same node and the same place in its chain. What has no node is known by its rule. What only
//! one of the two chains has is the same if it says the same. All of these are looked up in hash maps. Those that moved are the ones
//! outside of the longest run of places that ascend. So n messages take n log n steps.

mod items;
mod prefix;

use std::collections::HashMap;

use threadkeep_context::Line;
use threadkeep_core::Message;
use threadkeep_json::own_text;
use threadkeep_store::Store;

use crate::journal::Rebuilt;
use crate::protocol::{ContextOptions, RequestDiff, context_params};
use crate::{Keep, KeepError};
use items::Pairs;

/// How two requests differ, and all that makes the second of the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Diff {
    /// What changed, for people and programs.
    pub report: RequestDiff,
    /// The messages of the second prompt, as pieces of the first.
    pub messages: Vec<Piece<Message>>,
    /// The lines of the second ledger, as pieces of the first.
    pub ledger: Vec<Piece<Line>>,
}

/// A piece of a list that is made of another one.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece<T> {
    /// So many elements of the other list, from a place on.
    Same {
        /// The first one's place.
        from: usize,
        /// How many.
        count: usize,
    },
    /// An element that the other list does not have.
    New(Box<T>),
}

impl<S: Store> Keep<S> {
    /// What changed from one request of the journal to another one, of the same thread or not.
    ///
    /// # Errors
    /// As [`Keep::request`].
    pub async fn diff_requests(&self, first: &str, second: &str) -> Result<Diff, KeepError> {
        let (first, second) = (self.request(first).await?, self.request(second).await?);
        let counter = self.counter(ContextOptions::from(context_params(second.options.clone())?).encoding)?;
        Ok(diff(&first, &second, &|text| u64::from(counter.count(text))))
    }
}

/// What changed from one request to another. `count` gives the tokens of a text, as the second request counts them.
pub fn diff(first: &Rebuilt, second: &Rebuilt, count: &dyn Fn(&str) -> u64) -> Diff {
    let (ours, theirs) = (texts(&first.context.messages), texts(&second.context.messages));
    let pairs = Pairs::new(first, second, (&ours, &theirs));
    let mut report = RequestDiff { options: options(first, second), ..RequestDiff::default() };
    pairs.enter(&mut report);
    report.prefix = prefix::shared(first, second, &pairs, &report.options, count);
    let lines = |rebuilt: &Rebuilt| rebuilt.context.ledger.iter().map(|line| line.to_json().to_string()).collect();
    let (lines_before, lines_after): (Vec<String>, Vec<String>) = (lines(first), lines(second));
    Diff {
        report,
        messages: pieces(&found(&ours, &theirs), &second.context.messages),
        ledger: pieces(&found(&lines_before, &lines_after), &second.context.ledger),
    }
}

/// The messages and the ledger's lines of the second request, made from the first one. `None` if the diff is of another request than
/// this.
pub fn apply(first: &Rebuilt, diff: &Diff) -> Option<(Vec<Message>, Vec<Line>)> {
    Some((patch(&first.context.messages, &diff.messages)?, patch(&first.context.ledger, &diff.ledger)?))
}

fn patch<T: Clone>(list: &[T], pieces: &[Piece<T>]) -> Option<Vec<T>> {
    let mut patched = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Same { from, count } => patched.extend_from_slice(list.get(*from..)?.get(..*count)?),
            Piece::New(new) => patched.push(T::clone(new)),
        }
    }
    Some(patched)
}

/// Messages as text: two are equal if their texts are.
fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(own_text).collect()
}

/// For each text of the second list, its place in the first one: the one after the place of the text before, if that is the same.
fn found(first: &[String], second: &[String]) -> Vec<Option<usize>> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (at, text) in first.iter().enumerate() {
        known.entry(text).or_insert(at);
    }
    let mut next = 0;
    let find = |text: &String| {
        let at = Some(next).filter(|at| first.get(*at) == Some(text)).or_else(|| known.get(text.as_str()).copied());
        next = at.map_or(next, |at| at + 1);
        at
    };
    second.iter().map(find).collect()
}

fn pieces<T: Clone>(found: &[Option<usize>], second: &[T]) -> Vec<Piece<T>> {
    let mut pieces = Vec::new();
    for (at, element) in found.iter().zip(second) {
        match (at, pieces.last_mut()) {
            (Some(at), Some(Piece::Same { from, count })) if *from + *count == *at => *count += 1,
            (Some(at), _) => pieces.push(Piece::Same { from: *at, count: 1 }),
            (None, _) => pieces.push(Piece::New(Box::new(element.clone()))),
        }
    }
    pieces
}

/// The names of the options that have other values.
fn options(first: &Rebuilt, second: &Rebuilt) -> Vec<String> {
    let all = |rebuilt: &Rebuilt| rebuilt.options.as_object().cloned().unwrap_or_default();
    let (mut ours, theirs) = (all(first), all(second));
    let mut names = Vec::new();
    for (name, value) in theirs {
        if ours.shift_remove(&name).as_ref() != Some(&value) {
            names.push(name);
        }
    }
    names.extend(ours.into_iter().map(|(name, _)| name));
    if first.pins != second.pins && !names.iter().any(|name| name == "pins") {
        names.push("pins".to_owned());
    }
    names
}
