//! The frame of the panels beside the thread: tabs, the edge by which they are made wider, and the button that closes one. What they show is
//! a part of the page that is loaded later.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{KeyboardEvent, PointerEvent};

use super::basics::IconButton;
use super::dom;
use super::effects::{follow, soon};
use super::inspector::Pane;
use super::map::MapPane;
use super::requests::Requests;
use super::sides::{Sides, is_rtl, set_width, test_id, window_width};
use super::state::Page;
use crate::beside::{self, Side};

/// How far a key moves the edge, in pixels.
const STEP: u32 = 16;

/// The panels. They stay where they are while what they show changes.
#[component]
pub fn Frames(page: Page) -> impl IntoView {
    let sides = page.sides;
    let count = Memo::new(move |_| sides.shown().len());
    move || (0..count.get()).map(|at| view! { <Frame page at/> }).collect_view()
}

/// The panel `at`.
#[component]
fn Frame(page: Page, at: usize) -> impl IntoView {
    let sides = page.sides;
    let side = Memo::new(move |_| sides.shown().get(at).copied());
    let name = move || side.get().map_or("", Side::name);
    if let Some(side) = side.get_untracked() {
        sides.drawn(side);
    }
    view! {
        <aside class="pane beside" aria-label=name data-side=move || side.get().map(Side::key)>
            {(at == 0).then(|| view! { <Edge sides/> })}
            <header class="beside-head">
                <Tabs sides at/>
                <Show when=move || sides.can_split()>
                    <IconButton sign="compare" words="Open a second panel" testid="split" press=move |()| sides.split()/>
                </Show>
                <IconButton sign="close" words="Close this panel" testid="close-side" press=move |()| sides.close(at)/>
            </header>
            {move || side.get().map(|side| body(page, side))}
        </aside>
    }
}

fn body(page: Page, side: Side) -> AnyView {
    match side {
        Side::Context => view! { <Pane page/> }.into_any(),
        Side::Requests => view! { <Requests page/> }.into_any(),
        Side::Map => view! { <MapPane page/> }.into_any(),
    }
}

/// One tab for each side. The arrow keys go from one to the next.
#[component]
fn Tabs(sides: Sides, at: usize) -> impl IntoView {
    let chosen = move || sides.shown().get(at).copied();
    let key = move |event: KeyboardEvent| {
        let last = Side::ALL.len() - 1;
        let Some(now) = untrack(chosen).and_then(|side| Side::ALL.iter().position(|one| *one == side)) else { return };
        let to = match event.key().as_str() {
            "ArrowRight" => (now + 1) % Side::ALL.len(),
            "ArrowLeft" => now.checked_sub(1).unwrap_or(last),
            "Home" => 0,
            "End" => last,
            _ => return,
        };
        event.prevent_default();
        let Some(tabs) = dom::closest(event.target(), "[role=tablist]") else { return };
        sides.choose(at, Side::ALL[to]);
        soon(move || {
            if let Ok(Some(tab)) = tabs.query_selector("[aria-selected=true]") {
                let _ = tab.unchecked_into::<web_sys::HtmlElement>().focus();
            }
        });
    };
    let tab = move |side: Side| {
        let selected = move || chosen() == Some(side);
        view! {
            <button
                type="button"
                role="tab"
                class="tab"
                data-testid=test_id(side)
                aria-selected=move || selected().to_string()
                tabindex=move || if selected() { "0" } else { "-1" }
                on:click=move |_| sides.choose(at, side)
            >
                {side.name()}
            </button>
        }
    };
    view! {
        <div class="tabs" role="tablist" aria-label="Beside the thread" on:keydown=key>
            {Side::ALL.map(tab).collect_view()}
        </div>
    }
}

/// The edge between the thread and the panels: dragged, or moved with the arrow keys; a double click gives the width back that it had at first.
#[component]
fn Edge(sides: Sides) -> impl IntoView {
    let width = RwSignal::new(0_u32);
    let edge = NodeRef::<leptos::html::Div>::new();
    let measure = move || {
        if let Some(panel) = edge.get_untracked().and_then(|edge| edge.parent_element()) {
            width.set(panel.client_width() as u32);
        }
    };
    follow(move || {
        sides.shown();
        soon(measure);
    });
    let set = move |wanted: Option<u32>| {
        set_width(wanted);
        measure();
    };
    let grab = |event: PointerEvent| {
        if let Some(edge) = dom::closest(event.target(), ".edge-of-panels") {
            // Without it the edge follows for as long as the pointer is over it.
            let _ = edge.set_pointer_capture(event.pointer_id());
            event.prevent_default();
        }
    };
    let drag = move |event: PointerEvent| {
        if event.buttons() & 1 == 1 {
            let at = f64::from(event.client_x());
            let from_end = if is_rtl() { at } else { window_width() - at };
            set(Some(beside::width(from_end, untrack(|| sides.shown().len()))));
        }
    };
    let key = move |event: KeyboardEvent| {
        let now = width.get_untracked();
        let wider = match event.key().as_str() {
            "ArrowLeft" => !is_rtl(),
            "ArrowRight" => is_rtl(),
            _ => return,
        };
        event.prevent_default();
        set(Some(beside::width(if wider { now + STEP } else { now.saturating_sub(STEP) }.into(), 1)));
    };
    let (least, greatest) = beside::WIDTHS;
    view! {
        <div
            class="edge-of-panels"
            role="separator"
            tabindex="0"
            title="Drag to make the panel wider or narrower"
            aria-label="Width of the panel"
            aria-orientation="vertical"
            aria-valuenow=move || width.get().to_string()
            aria-valuemin=least.to_string()
            aria-valuemax=greatest.to_string()
            data-testid="panel-edge"
            node_ref=edge
            on:pointerdown=grab
            on:pointermove=drag
            on:keydown=key
            on:dblclick=move |_| set(None)
        ></div>
    }
}
