//! Compact now: a dialog in which one chooses how, and which says what it would do before it does it. What runs can be cancelled until
//! it is stored. Choosing sends and loads nothing: the button says what it will send where, and what it will load.

mod asking;
mod deed;
mod preview;
mod said;
mod summariser;
mod undo;

use leptos::prelude::*;
use threadkeep_core::MessageId;

use self::asking::{Asking, Known, USUAL};
use self::preview::Preview;
use self::said::Progress;
use self::summariser::Summarisers;
pub use self::undo::undo;
use super::basics::{choices, drawn};
use super::state::Page;
use crate::epochs::STRATEGIES;

/// The dialog's body for the branch that ends at `leaf`.
#[component]
pub fn CompactionDialog(page: Page, leaf: MessageId) -> impl IntoView {
    let asking = Asking::new(page, leaf);
    asking.preview();
    asking.look();
    // Whoever leaves does not want it any more; what is done already is not touched by it.
    on_cleanup(move || {
        page.engine.stop_compaction();
        page.engine.on_summarise(None);
    });
    let shown = Memo::new(move |_| if asking.busy.get() { Known::Reading } else { asking.known.get() });
    view! {
        <p>"Compacting changes what models get, not the thread: every message stays, and so does every prompt before."</p>
        <Ways asking/>
        <Progress asking/>
        {move || shown.with(|known| foretold(asking, known))}
        <div class="choice">
            <button
                type="button"
                autofocus
                data-testid="compact-cancel"
                disabled=move || asking.cancelled.get()
                on:click=move |_| asking.cancel()
            >
                "Cancel"
            </button>
            <button
                type="button"
                class="primary"
                data-testid="compact-confirm"
                disabled=move || !asking.ready()
                on:click=move |_| asking.carry_out()
            >
                {move || drawn(&asking.deed())}
            </button>
        </div>
    }
}

/// What it would do, once that is known.
fn foretold(asking: Asking, known: &Known) -> Option<AnyView> {
    match known {
        Known::Reading => None,
        Known::Failed(words) => {
            Some(view! { <p role="alert" data-testid="compact-failed">{drawn(words)}</p> }.into_any())
        }
        Known::Preview(done) => Some(match done.card.clone() {
            None => view! {
                <p data-testid="compact-nothing">
                    "There is nothing to compact: the newest turns stay as they are, and before them is nothing that is not compacted already."
                </p>
            }
            .into_any(),
            Some(card) => {
                let unwritten = asking.loads.get_untracked() || done.sends.is_some();
                view! { <Preview done=(**done).clone() card unwritten/> }.into_any()
            }
        }),
    }
}

/// How: the strategy, who summarises, what stays.
#[component]
fn Ways(asking: Asking) -> impl IntoView {
    let busy = move || asking.busy.get();
    let about = move || STRATEGIES.get(asking.shown.get()).map(|(_, _, about)| *about).unwrap_or_default();
    let strategies = STRATEGIES.iter().enumerate().map(|(at, (_, words, _))| (at.to_string(), *words));
    view! {
        <div class="ways" on:input=move |event| asking.chosen(&event)>
            <div class="field">
                <label for="strategy">"Strategy"</label>
                <select
                    id="strategy"
                    name="strategy"
                    data-testid="compact-strategy"
                    aria-describedby="strategy-about"
                    disabled=busy
                    node_ref=asking.select
                >
                    {choices(strategies, &USUAL.to_string())}
                </select>
            </div>
            <p class="faint" id="strategy-about" data-testid="strategy-about">{about}</p>
            <Summarisers asking/>
            <div class="field">
                <label for="tail">"Turns that stay as they are"</label>
                <input
                    id="tail"
                    name="tail"
                    type="number"
                    min="0"
                    max="1000"
                    inputmode="numeric"
                    placeholder="4"
                    data-testid="compact-tail"
                    disabled=busy
                />
            </div>
            <label class="check">
                <input type="checkbox" name="everybody" data-testid="compact-everybody" disabled=busy/>
                "Remember facts from tools and imports too"
            </label>
        </div>
    }
}
