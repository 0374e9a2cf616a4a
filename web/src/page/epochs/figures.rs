//! The figures of an epoch: how large both prompts are, as bars on one scale.

use std::sync::Arc;

use leptos::prelude::*;
use threadkeep::epochs::{Fate, Held, Step};

use crate::epochs::tokens;
use crate::format::plural;

/// The figures of both prompts, and a bar for each on one scale.
#[component]
pub(super) fn Figures(step: Arc<Step>) -> impl IntoView {
    let of = |fate| tokens(&step.lines, fate);
    let (left, came, stayed) = (of(Fate::Left), of(Fate::Came), of(Fate::Stayed));
    let stays = step.lines.iter().filter(|line| line.fate == Fate::Stayed);
    let stayed_before: u64 = stays.map(|line| u64::from(line.before)).sum();
    let whole = step.before.map_or(0, |held| held.tokens).max(step.after.tokens).max(1);
    let before = step.before.map(|held| {
        let parts = [("stays", stayed_before), ("leaves", left), ("free", whole.saturating_sub(stayed_before + left))];
        side("epoch-tokens-before", "Before", held, parts)
    });
    let parts = [("comes", came), ("stays", stayed), ("free", whole.saturating_sub(stayed + came))];
    let title = if step.before.is_some() { "After" } else { "Prompt" };
    view! {
        <div class="epoch-figures" data-testid="epoch-figures">
            {before}
            {side("epoch-tokens-after", title, step.after, parts)}
        </div>
    }
}

fn side(id: &'static str, title: &'static str, held: Held, parts: [(&'static str, u64); 3]) -> impl IntoView {
    let part = |(class, tokens): (&'static str, u64)| view! { <i class=class style:flex-grow=tokens.to_string()></i> };
    view! {
        <div class="side">
            <p>
                <span>{title}</span>
                " "
                <strong data-testid=id>{plural(held.tokens, "token")}</strong>
                " "
                <span class="faint">{plural(held.messages.into(), "message")}</span>
            </p>
            <div class="bar" aria-hidden="true">{parts.map(part).collect_view()}</div>
        </div>
    }
}
