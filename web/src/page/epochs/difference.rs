//! What changed from one prompt to the next, drawn: stretches of messages that left, came in or stayed, and summaries.

use std::sync::Arc;

use leptos::prelude::*;
use threadkeep::epochs::{Fate, Step, StepLine};

use super::scrub::Scrub;
use crate::epochs::{Stretch, absent, compared, moved, shared, stretches};
use crate::format::{count, plural};
use crate::page::basics::drawn;
use crate::pieces::role_label;
use crate::wire::{Card, Said};

/// A stretch of so many lines is open from the beginning.
const FEW: usize = 4;
/// How many lines of a stretch are shown at once.
const MANY: usize = 100;

/// What became of every message between the two prompts.
#[component]
pub(super) fn Difference(scrub: Scrub, at: usize, step: Arc<Step>) -> impl IntoView {
    let card = |at: Option<usize>| untrack(|| scrub.epoch(at?)).and_then(|epoch| epoch.card);
    let (old, new) = (card(at.checked_sub(1)), card(Some(at)));
    let first = step.before.is_none();
    let stretch = |one: &Stretch| {
        if one.is_summary() {
            let (mine, other) = if one.fate == Fate::Left { (&old, &new) } else { (&new, &old) };
            summary(one, mine.as_ref(), other.as_ref())
        } else {
            messages(scrub, one, first)
        }
    };
    let missing = (step.absent > 0).then(|| {
        view! { <li class="stretch absent" data-testid="epoch-absent">{absent(step.absent, first)}</li> }
    });
    view! {
        <ol class="difference" data-testid="epoch-lines">
            {missing}
            {stretches(&step.lines).iter().map(stretch).collect_view()}
        </ol>
    }
}

/// Messages that left, came in, or stayed.
fn messages(scrub: Scrub, one: &Stretch, first: bool) -> AnyView {
    let many = one.lines.len() as u64;
    let (sign, id, class) = match one.fate {
        Fate::Left => ("−", "epoch-left", "stretch left"),
        Fate::Came => ("+", "epoch-came", "stretch came"),
        Fate::Stayed => ("", "epoch-stayed", "stretch stayed"),
    };
    // Those that are not shown at once are made when they are asked for.
    let lines: Arc<[StepLine]> = one.lines.into();
    let all = lines.len();
    let until = RwSignal::new(MANY.min(all));
    let shown = move || lines.iter().take(until.get()).cloned().collect::<Vec<_>>();
    let left = move || all - until.get();
    view! {
        <li class=class data-testid=id data-count=many.to_string() data-tokens=one.tokens.to_string()>
            <details open={all <= FEW}>
                <summary>
                    <b aria-hidden="true">{sign}</b>
                    <span>{moved(one.fate, many, first)}</span>
                    <span class="stretch-tokens">{plural(one.tokens, "token")}</span>
                </summary>
                <ul>
                    <For each=shown key=|line| line.place children=move |line| view! { <Line scrub line/> }/>
                </ul>
                <Show when=move || { left() > 0 }>
                    <button
                        type="button"
                        class="quiet small"
                        data-testid="epoch-more"
                        on:click=move |_| until.update(|until| *until = (*until + MANY).min(all))
                    >
                        {move || format!("Show {} more", count(left().min(MANY) as u64))}
                    </button>
                </Show>
            </details>
        </li>
    }
    .into_any()
}

#[component]
fn Line(scrub: Scrub, line: StepLine) -> impl IntoView {
    let cost = if line.fate == Fate::Left { line.before } else { line.after };
    let words = if line.words.is_empty() { "(no text)".to_owned() } else { drawn(&line.words) };
    let node = line.node;
    let go = move |_| {
        if let Some(node) = &node {
            scrub.show(node.clone());
        }
    };
    view! {
        <li>
            <button
                type="button"
                class="statement"
                title="Show it in the thread"
                data-testid="epoch-line"
                on:click=go
            >
                <span class="excerpt" dir="auto"><b>{drawn(role_label(&line.role))}</b>" "{words}</span>
            </button>
            <span class="stretch-tokens">{count(cost.into())}</span>
        </li>
    }
}

/// A summary that came in, or left because another one takes its place. Statements that the other one has too are marked.
fn summary(one: &Stretch, mine: Option<&Card>, other: Option<&Card>) -> AnyView {
    let none: &[Said] = &[];
    let statements = mine.map_or(none, |card| &card.statements);
    let both = shared(statements, other.map_or(none, |card| &card.statements));
    let came = one.fate == Fate::Came;
    let facts = compared(&both, came, other.is_some());
    let statement = |(said, both): (&Said, &bool)| {
        view! { <li dir="auto" class=if *both { "both" } else { "" }>{drawn(&said.text)}</li> }
    };
    let (class, id, sign, words) = if came {
        ("stretch came summary", "epoch-summary", "+", "The summary came in")
    } else {
        ("stretch left summary", "epoch-old-summary", "−", "The summary before left")
    };
    view! {
        <li class=class data-testid=id data-tokens=one.tokens.to_string()>
            <details open=came>
                <summary>
                    <b aria-hidden="true">{sign}</b>
                    <span>{words}</span>
                    <span class="stretch-facts">{facts}</span>
                    <span class="stretch-tokens">{plural(one.tokens, "token")}</span>
                </summary>
                <ol class="statements">{statements.iter().zip(&both).map(statement).collect_view()}</ol>
            </details>
        </li>
    }
    .into_any()
}
