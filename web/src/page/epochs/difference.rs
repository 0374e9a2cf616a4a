//! What changed from one prompt to the next, drawn: stretches of messages that left, came in or stayed, and summaries.

use std::sync::Arc;

use leptos::prelude::*;
use threadkeep::epochs::{Fate, Step, StepLine};
use web_sys::Node;

use super::Scrub;
use crate::epochs::{Stretch, absent, compared, moved, shared, stretches};
use crate::format::{count, plural};
use crate::page::view::{click, draw, markup, rows};
use crate::pieces::role_label;
use crate::wire::{Card, Said};

/// A stretch of so many lines is open from the beginning.
const FEW: usize = 4;
/// How many lines of a stretch are shown at once.
const MANY: usize = 100;

impl Scrub {
    /// What became of every message between the two prompts.
    pub(super) fn difference(self, at: usize, step: &Step) -> Node {
        let card = |at: Option<usize>| untrack(|| self.epoch(at?)).and_then(|epoch| epoch.card);
        let (old, new) = (card(at.checked_sub(1)), card(Some(at)));
        let first = step.before.is_none();
        let stretch = |one: &Stretch| {
            if one.is_summary() {
                let (mine, other) = if one.fate == Fate::Left { (&old, &new) } else { (&new, &old) };
                summary(one, mine.as_ref(), other.as_ref())
            } else {
                self.stretch(one, first)
            }
        };
        let missing = (step.absent > 0).then(|| {
            markup!(r#"<li class="stretch absent" data-testid="epoch-absent">{}</li>"#, absent(step.absent, first))
        });
        markup!(
            r#"<ol class="difference" data-testid="epoch-lines">{}{}</ol>"#,
            missing,
            stretches(&step.lines).iter().map(stretch).collect::<Vec<Node>>(),
        )
    }

    /// Messages that left, came in, or stayed.
    fn stretch(self, one: &Stretch, first: bool) -> Node {
        let many = one.lines.len() as u64;
        let (sign, id) = match one.fate {
            Fate::Left => ("−", "epoch-left"),
            Fate::Came => ("+", "epoch-came"),
            Fate::Stayed => ("", "epoch-stayed"),
        };
        let class = match one.fate {
            Fate::Left => "stretch left",
            Fate::Came => "stretch came",
            Fate::Stayed => "stretch stayed",
        };
        // Those that are not shown at once are made when they are asked for.
        let lines: Arc<[StepLine]> = one.lines.into();
        let until = RwSignal::new(MANY.min(lines.len()));
        let all = lines.len();
        let shown = rows(move |row| {
            for line in &lines[..until.get()] {
                row(line.place.to_string(), &mut || self.line(line));
            }
        });
        let more = move || {
            let left = all - until.get();
            (left > 0).then(|| format!("Show {} more", count(left.min(MANY) as u64)))
        };
        let further = move |words: &Option<String>| {
            Some(markup!(
                r#"<button type="button" class="quiet small" data-testid="epoch-more" onclick={}>{}</button>"#,
                click(move || until.update(|until| *until = (*until + MANY).min(all))),
                words.clone()?,
            ))
        };
        markup!(
            r#"
            <li class={} data-testid={} data-count={} data-tokens={}>
                <details open={}>
                    <summary><b aria-hidden="true">{}</b><span>{}</span><span class="stretch-tokens">{}</span></summary>
                    <ul>{}</ul>
                    {}
                </details>
            </li>"#,
            class,
            id,
            many.to_string(),
            one.tokens.to_string(),
            one.lines.len() <= FEW,
            sign,
            moved(one.fate, many, first),
            plural(one.tokens, "token"),
            shown,
            draw(more, further),
        )
    }

    fn line(self, line: &StepLine) -> Node {
        let cost = if line.fate == Fate::Left { line.before } else { line.after };
        let words = if line.words.is_empty() { "(no text)".to_owned() } else { line.words.clone() };
        let who = role_label(&line.role).to_owned();
        let node = line.node.clone();
        let go = move || {
            if let Some(node) = &node {
                self.show(node.clone());
            }
        };
        markup!(
            r#"
            <li>
                <button type="button" class="statement" title="Show it in the thread" data-testid="epoch-line" onclick={}>
                    <span class="excerpt" dir="auto"><b>{}</b> {}</span>
                </button>
                <span class="stretch-tokens">{}</span>
            </li>"#,
            click(go),
            who,
            words,
            count(cost.into()),
        )
    }
}

/// A summary that came in, or left because another one takes its place. Statements that the other one has too are marked.
fn summary(one: &Stretch, mine: Option<&Card>, other: Option<&Card>) -> Node {
    let none: &[Said] = &[];
    let statements = mine.map_or(none, |card| &card.statements);
    let both = shared(statements, other.map_or(none, |card| &card.statements));
    let came = one.fate == Fate::Came;
    let facts = compared(&both, came, other.is_some());
    let statement = |(said, both): (&Said, &bool)| {
        let mark = if *both { Some("both") } else { None };
        markup!(r#"<li dir="auto" class={}>{}</li>"#, mark.unwrap_or_default(), said.text.clone())
    };
    let said: Vec<Node> = statements.iter().zip(&both).map(statement).collect();
    markup!(
        r#"
        <li class={} data-testid={} data-tokens={}>
            <details open={}>
                <summary><b aria-hidden="true">{}</b><span>{}</span><span class="stretch-facts">{}</span><span class="stretch-tokens">{}</span></summary>
                <ol class="statements">{}</ol>
            </details>
        </li>"#,
        if came { "stretch came summary" } else { "stretch left summary" },
        if came { "epoch-summary" } else { "epoch-old-summary" },
        one.tokens.to_string(),
        came,
        if came { "+" } else { "−" },
        if came { "The summary came in" } else { "The summary before left" },
        facts,
        plural(one.tokens, "token"),
        said,
    )
}
