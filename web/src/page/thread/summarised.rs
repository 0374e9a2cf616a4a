//! Above a compacted thread: how many messages a summary stands for in prompts, and the ways to both.

use leptos::prelude::*;

use super::state::Thread;
use crate::format;
use crate::page::basics::Sign;
use crate::page::canvas::Canvas;

/// The note, where the branch on the screen was compacted.
#[component]
pub fn Summarised(thread: Thread) -> impl IntoView {
    let covered = Memo::new(move |_| thread.open.with(|open| open.as_ref()?.covered));
    let press = move |act: fn(&Canvas)| {
        move |_| {
            if let Some(canvas) = thread.canvas() {
                act(&canvas);
            }
        }
    };
    move || {
        let messages = format::count(covered.get()?.into());
        Some(view! {
            <div class="covered-note" role="note" data-testid="summarised">
                <Sign name="fold"/>
                <span>"Messages 1 to "{messages}" are summarised."</span>
                <button type="button" class="quiet small" data-testid="to-summary" on:click=press(Canvas::to_summary)>
                    "Read the summary"
                </button>
                <button type="button" class="quiet small" data-testid="to-start" on:click=press(Canvas::originals)>
                    "Go to the start"
                </button>
            </div>
        })
    }
}
