//! What a compaction would do, in figures and with its summary.

use leptos::prelude::*;

use crate::format;
use crate::page::basics::drawn;
use crate::wire::{Card, Compacted, Said};

/// What it would do. `unwritten` says that the summary is written after the press, by a model: its words and its size are not known.
#[component]
pub(super) fn Preview(done: Compacted, card: Card, unwritten: bool) -> impl IntoView {
    let (history, covered, memories) = if unwritten {
        (String::from("?"), String::from("?"), "What the summary holds".to_owned())
    } else {
        let memories = format!("{} in the memory", format::plural(done.memories.into(), "new record"));
        (format::count(done.after), format::count(card.after), memories)
    };
    let warning = |warning: &String| view! { <p>{drawn(warning)}</p> };
    view! {
        <dl class="facts" data-testid="compact-preview">
            <div><dt>"Covers"</dt><dd>"The first "{format::plural(card.messages.into(), "message")}</dd></div>
            <div>
                <dt>"History"</dt>
                <dd>
                    <span data-testid="compact-before">{format::count(done.before)}</span>
                    " → "
                    <strong data-testid="compact-after">{history}</strong>
                    " tokens"
                </dd>
            </div>
            <div>
                <dt>"Of that, the covered part"</dt>
                <dd>{format::count(card.before)}" → "{covered}" tokens"</dd>
            </div>
            <div><dt>"Remembered"</dt><dd>{memories}</dd></div>
        </dl>
        <div class="compact-warnings" data-testid="compact-warnings">
            {done.warnings.iter().map(warning).collect_view()}
        </div>
        {summary(&card, unwritten)}
    }
}

fn summary(card: &Card, unwritten: bool) -> AnyView {
    if unwritten {
        return view! {
            <p class="faint" data-testid="compact-unwritten">
                "The model writes the summary after you press the button. Nothing was sent yet."
            </p>
        }
        .into_any();
    }
    if card.statements.is_empty() {
        return view! { <p class="faint">"Nothing stands in for what leaves."</p> }.into_any();
    }
    let statement = |said: &Said| view! { <li dir="auto">{drawn(&said.text)}</li> };
    view! {
        <h3>"The summary"</h3>
        <div
            class="summary-box"
            tabindex="0"
            role="region"
            aria-label="The summary"
            data-testid="compact-statements"
        >
            <ol class="statements">{card.statements.iter().map(statement).collect_view()}</ol>
        </div>
    }
    .into_any()
}
