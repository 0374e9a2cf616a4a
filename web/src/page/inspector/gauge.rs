//! The elements that [`super::show`] fills with figures: the meter, tokens by kind, both policies, marks.

use leptos::prelude::*;

use super::Inspector;
use super::controls::Limit;
use crate::format::capital;
use crate::inspect::{KINDS, Mark, STEPS, position};

/// The meter: how full the budget is, and the slider that sets it.
#[component]
pub(super) fn Gauge(inspector: Inspector) -> impl IntoView {
    let budget = inspector.with(|inner| inner.settings.tokens());
    let at = position(budget, inspector.with(|inner| inner.whole));
    view! {
        <section class="gauge">
            <p class="gauge-line"><strong data-testid="tokens">"–"</strong>" "<span data-testid="of"></span></p>
            <p class="faint" data-testid="kept"></p>
            <Bar short="m"/>
            <input
                type="range"
                name="slider"
                data-testid="budget"
                aria-label="Budget in tokens"
                min="0"
                max=STEPS.to_string()
                step="1"
                value=at.to_string()
            />
            <Limit name="tokens" label="Budget, tokens" value=budget placeholder="no limit"/>
            <p class="acts-line">
                <button type="button" class="small" data-testid="undo-settings" hidden on:click=move |_| inspector.undo()>
                    "Undo the last change of a setting"
                </button>
            </p>
            <p class="over" role="alert" data-testid="over" hidden></p>
        </section>
    }
}

/// A segment for each kind, and one for what is free.
#[component]
fn Bar(short: &'static str) -> impl IntoView {
    let segment = |kind: &str| view! { <i class=["kind-", kind].concat() data-testid=[short, "-", kind].concat()></i> };
    let kinds = KINDS.iter().map(|(kind, _)| *kind).chain(["free"]);
    view! { <div class="bar" aria-hidden="true">{kinds.map(segment).collect_view()}</div> }
}

/// A figure for each kind, hidden until there is one.
#[component]
pub(super) fn Kinds() -> impl IntoView {
    let row = |(kind, words): &(&'static str, &'static str)| {
        let name = ["kind-", kind].concat();
        view! {
            <div data-testid=["row-", kind].concat() hidden>
                <dt><i class=["swatch ", &name].concat()></i>{*words}</dt>
                <dd data-testid=name></dd>
            </div>
        }
    };
    KINDS.iter().chain(&[("free", "Free")]).map(row).collect_view()
}

/// A figure for each mark, hidden until there is one.
#[component]
pub(super) fn Legend() -> impl IntoView {
    let row = |mark: Mark| {
        let name = ["mark-", mark.name()].concat();
        view! {
            <li data-testid=["row-", mark.name()].concat() hidden>
                <span><i class=["swatch ", &name].concat()></i>{capital(mark.name())}</span>
                <b data-testid=name></b>
            </li>
        }
    };
    Mark::ALL.into_iter().map(row).collect_view()
}

/// Both policies, drawn on one scale.
#[component]
pub(super) fn Policies() -> impl IntoView {
    let side = |(name, short): (&'static str, &'static str)| {
        let of = |what: &str| [short, what].concat();
        view! {
            <div class="side" data-testid=["side-", name].concat()>
                <p class="side-head">
                    <span class="side-name" data-testid=of("-name")>{name}</span>
                    " "
                    <span data-testid=of("-kept")></span>
                </p>
                <Bar short/>
                <p class="faint" data-testid=of("-shared")></p>
            </div>
        }
    };
    view! { <div class="sides">{[("newest", "n"), ("stable", "s")].map(side).collect_view()}</div> }
}
