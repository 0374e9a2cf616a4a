//! The figures of an epoch: how large both prompts are, as bars on one scale, and what is known of the checkpoint.

use threadkeep::epochs::{Fate, Held, Step};
use web_sys::Node;

use crate::epochs::{covered, tokens};
use crate::format::plural;
use crate::page::dom::{self, Build as _};
use crate::page::view::markup;
use crate::wire::Epoch;

/// The figures of both prompts, and a bar for each on one scale.
pub(super) fn figures(step: &Step) -> Node {
    let (left, came, stayed) =
        (tokens(&step.lines, Fate::Left), tokens(&step.lines, Fate::Came), tokens(&step.lines, Fate::Stayed));
    let stayed_before: u64 =
        step.lines.iter().filter(|line| line.fate == Fate::Stayed).map(|line| u64::from(line.before)).sum();
    let whole = step.before.map_or(0, |held| held.tokens).max(step.after.tokens).max(1);
    let side = |id: &'static str, title: &'static str, held: Held, parts: [(&str, u64); 3]| {
        let bar = parts.iter().map(|(class, tokens)| {
            let part = dom::el("i").class(class);
            dom::style(&part, "flex-grow", &tokens.to_string());
            part.into()
        });
        markup!(
            r#"
            <div class="side">
                <p><span>{}</span> <strong data-testid={}>{}</strong> <span class="faint">{}</span></p>
                <div class="bar" aria-hidden="true">{}</div>
            </div>"#,
            title,
            id,
            plural(held.tokens, "token"),
            plural(held.messages.into(), "message"),
            bar.collect::<Vec<Node>>(),
        )
    };
    let before = step.before.map(|held| {
        let parts = [("stays", stayed_before), ("leaves", left), ("free", whole.saturating_sub(stayed_before + left))];
        side("epoch-tokens-before", "Before", held, parts)
    });
    let parts = [("comes", came), ("stays", stayed), ("free", whole.saturating_sub(stayed + came))];
    let title = if step.before.is_some() { "After" } else { "Prompt" };
    markup!(
        r#"<div class="epoch-figures" data-testid="epoch-figures">{}{}</div>"#,
        before,
        side("epoch-tokens-after", title, step.after, parts),
    )
}

/// What is known of the checkpoint: when it was made and how, and what it covers.
pub(super) fn facts(epoch: &Epoch) -> Node {
    markup!(r#"<p class="faint" data-testid="epoch-facts">{}</p>"#, covered(epoch.card.as_ref(), epoch.end))
}
