//! Epochs: a slider over the checkpoints of the open branch, and for each the prompt before it, the prompt after it, and what
//! became of every message between the two. Both prompts are the engine's own, as the context inspector is set.

mod answers;
mod difference;
mod figures;
mod scrub;
mod slider;

use leptos::prelude::*;
use threadkeep_core::MessageId;

use self::difference::Difference;
use self::figures::Figures;
use self::scrub::{Scrub, Shown, View};
use self::slider::Slider;
use super::basics::{Sign, drawn};
use super::state::Page;
use crate::epochs::covered;

/// The dialog's body for the branch that ends at `leaf`, with the epoch of a checkpoint, or the last.
#[component]
pub fn EpochsDialog(page: Page, leaf: MessageId, checkpoint: Option<String>) -> impl IntoView {
    let scrub = Scrub::new(page, leaf.clone());
    scrub.read(leaf, checkpoint);
    let many = Memo::new(move |_| scrub.epochs.with(|epochs| epochs.as_ref().map(|epochs| epochs.len())));
    let slider = move || {
        match many.get()? {
        0 | 1 => Some(
            view! {
                <p data-testid="epoch-none">
                    "This branch has one epoch: nothing of it is compacted, so its prompts have every message as it is. Once it is compacted, this is where the prompts before and after are held against each other."
                </p>
            }
            .into_any(),
        ),
        _ => Some(view! { <Slider scrub/> }.into_any()),
    }
    };
    let epoch = Memo::new(move |_| scrub.epoch(scrub.at.get()));
    let facts = move || {
        let epoch = epoch.get()?;
        let words = covered(epoch.card.as_ref(), epoch.end);
        Some(view! { <p class="faint" data-testid="epoch-facts">{words}</p> })
    };
    let step = Memo::new(move |_| scrub.step.get().filter(|(at, _)| *at == scrub.at.get()).map(|(_, step)| step));
    let set = move || {
        scrub.epochs.track();
        scrub.question.with_value(|(_, words)| words.clone())
    };
    view! {
        <div class="epochs" data-testid="epochs">
            {slider}
            <p
                class="epoch-place"
                id="epoch-place"
                data-testid="epoch-place"
                hidden=move || scrub.epochs.with(Option::is_none)
            >
                {move || scrub.place()}
            </p>
            {facts}
            {move || step.get().map(|step| view! { <Figures step/> })}
            <div class="chips" role="group" aria-label="What to look at">
                <Choice scrub view=View::Difference id="epoch-difference" words="What changed"/>
                <Choice scrub view=View::Before id="epoch-before" words="Prompt before"/>
                <Choice scrub view=View::After id="epoch-after" words="Prompt after"/>
            </div>
            <div class="epoch-body"><Body scrub/></div>
            <p class="faint">"As the context inspector is set: "{set}"."</p>
        </div>
    }
}

#[component]
fn Choice(scrub: Scrub, view: View, id: &'static str, words: &'static str) -> impl IntoView {
    view! {
        <button
            type="button"
            class="chip"
            data-testid=id
            aria-pressed=move || (scrub.view.get() == view).to_string()
            disabled=move || view == View::Before && scrub.at.get() == 0
            on:click=move |_| scrub.look(view)
        >
            {words}
        </button>
    }
}

/// What is looked at.
#[component]
fn Body(scrub: Scrub) -> impl IntoView {
    let shown = Memo::new(move |_| scrub.shown.get());
    move || match shown.get() {
        Shown::Reading => {
            view! { <p class="faint" role="status">"Reading the prompts and their token counts…"</p> }.into_any()
        }
        Shown::Failed(title) => view! { <p role="alert" data-testid="epoch-failed">{drawn(&title)}</p> }.into_any(),
        Shown::Step(at, step) => view! { <Difference scrub at step/> }.into_any(),
        Shown::Payload(text, size, warnings) => view! { <Payload scrub text size warnings/> }.into_any(),
    }
}

/// A prompt, as a provider gets it.
#[component]
fn Payload(scrub: Scrub, text: String, size: String, warnings: Vec<String>) -> impl IntoView {
    let warning = |warning: &String| view! { <li>{drawn(warning)}</li> };
    view! {
        <div class="payload">
            <ul class="warnings">{warnings.iter().map(warning).collect_view()}</ul>
            <pre tabindex="0" role="region" aria-label="The prompt as the provider gets it" data-testid="epoch-payload">
                {drawn(&text)}
            </pre>
            <p class="acts-line">
                <span class="faint">{size}</span>
                " "
                <button type="button" class="small" data-testid="epoch-copy" on:click=move |_| scrub.copy()>
                    <Sign name="copy"/>
                    "Copy"
                </button>
            </p>
        </div>
    }
}
