//! The map of a conversation: one dot for each turn and for each branch, with a count.

mod chart;
mod plan;

use leptos::prelude::*;

use self::chart::Chart;
use self::plan::Plan;
use super::state::Page;
use crate::format;

/// What stands beside the thread: the map.
#[component]
pub fn MapPane(page: Page) -> impl IntoView {
    let plan = Plan::start(page);
    let tally = move || {
        plan.drawn.with(|drawn| {
            let drawn = drawn.as_ref()?;
            let branches = format::plural(drawn.map.leaves() as u64, "branch");
            Some(format!("{}, {branches}", format::plural(drawn.nodes.len() as u64, "node")))
        })
    };
    view! {
        <div class="side-body" role="tabpanel" aria-label="Map of the branches" data-testid="map">
            <p class="tally">{tally}</p>
            <div class="map-scroller" node_ref=plan.scroller on:scroll=move |_| plan.measure()>
                <Show when=move || plan.failed.get()>
                    <p class="no-match">"The map could not be read."</p>
                </Show>
                <Chart plan/>
            </div>
            <footer class="legend">
                <span><i class="swatch role-user"></i>"You"</span>
                <span><i class="swatch role-assistant"></i>"Assistant"</span>
                <span><i class="swatch role-tool"></i>"Other"</span>
                <span><i class="swatch line"></i>"On the screen"</span>
            </footer>
        </div>
    }
}
