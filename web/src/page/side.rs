//! The frame of the panels beside the thread: tabs, the edge by which they are made wider, and the button that closes one. What they show is
//! a part of the page that is loaded later.

use std::time::Duration;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent, PointerEvent};

use super::basics::IconButton;
use super::dom;
use super::effects::{follow, soon};
use super::inspector::Pane;
use super::map::MapPane;
use super::requests::Requests;
use super::state::Page;
use crate::beside::{self, Beside, Side};

const SHOWN: &str = "threadkeep.side";
const WIDTH: &str = "threadkeep.side.width";
/// How far a key moves the edge, in pixels.
const STEP: u32 = 16;
/// The custom property that has the width of a panel.
const PROPERTY: &str = "--beside";

/// What stands beside the thread, which this browser remembers. A handle: copies are the same.
#[derive(Clone, Copy)]
pub struct Sides {
    panels: RwSignal<Beside>,
    /// How many panels there is room for.
    room: Memo<usize>,
    /// Whether the tab of a panel that was opened by a press is still to get the focus.
    focus: StoredValue<bool>,
}

fn window_width() -> f64 {
    window().inner_width().ok().and_then(|width| width.as_f64()).unwrap_or_default()
}

impl Sides {
    /// What this browser remembers; at first the map, where there is room. `resized` counts changes of the window's size.
    pub fn start(resized: RwSignal<usize>) -> Self {
        let panels = match dom::remembered(SHOWN) {
            Some(kept) => Beside::read(&kept),
            None if window_width() >= 1500.0 => Beside::one(Side::Map),
            None => Beside::default(),
        };
        if let Some(width) = dom::remembered(WIDTH).and_then(|width| width.parse().ok()) {
            widen(width);
        }
        let room = Memo::new(move |_| {
            resized.track();
            beside::room(window_width() as u32)
        });
        Self { panels: RwSignal::new(panels), room, focus: StoredValue::new(false) }
    }

    /// What the panels show; tracks.
    pub fn shown(self) -> Vec<Side> {
        self.panels.get().shown(self.room.get()).collect()
    }

    /// Whether a panel shows this; tracks.
    pub fn shows(self, side: Side) -> bool {
        self.panels.get().shows(side, self.room.get())
    }

    fn set(self, panels: Beside) {
        dom::remember(SHOWN, &panels.write());
        self.panels.set(panels);
    }

    fn now(self) -> (Beside, usize) {
        (self.panels.get_untracked(), self.room.get_untracked())
    }

    /// Shows this, or closes the panel that does.
    pub fn turn(self, side: Side) {
        let (panels, room) = self.now();
        self.set(panels.turned(side, room));
    }

    /// Shows this, unless it is shown.
    pub fn show(self, side: Side) {
        if !untrack(|| self.shows(side)) {
            self.turn(side);
        }
    }

    /// Shows this, and gives its tab the focus.
    pub fn open(self, side: Side) {
        self.focus.set_value(true);
        self.show(side);
    }

    fn choose(self, at: usize, side: Side) {
        self.set(self.now().0.chosen(at, side));
    }

    fn split(self) {
        self.set(self.now().0.split());
    }

    fn close(self, at: usize) {
        let (panels, room) = self.now();
        self.set(panels.closed(at, room));
    }

    /// Whether there is room for a second panel beside the only one; tracks.
    fn can_split(self) -> bool {
        self.room.get() > 1 && self.shown().len() == 1
    }
}

fn root() -> Option<Element> {
    document().document_element()
}

/// Makes each panel so wide.
fn widen(width: u32) {
    if let Some(root) = root() {
        dom::length(&root, PROPERTY, width.into());
    }
}

/// The name of a side's tab, and of the button that opens it, in tests.
pub fn test_id(side: Side) -> &'static str {
    match side {
        Side::Context => "inspector-toggle",
        Side::Requests => "requests-toggle",
        Side::Map => "map-toggle",
    }
}

/// The tab or the button of a side gets the focus, whichever there is once the panels are drawn.
fn focus_on(side: Side) {
    let focus = move || dom::focus(&["[data-testid=", test_id(side), "]"].concat());
    // The panel that asks for it may be gone by then.
    set_timeout(focus, Duration::ZERO);
}

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
    let close = move |()| {
        let closed = side.get_untracked();
        sides.close(at);
        if let Some(closed) = closed {
            focus_on(closed);
        }
    };
    if sides.focus.get_value()
        && let Some(side) = side.get_untracked()
    {
        sides.focus.set_value(false);
        focus_on(side);
    }
    view! {
        <aside class="pane beside" aria-label=name data-side=move || side.get().map(Side::key)>
            {(at == 0).then(|| view! { <Edge sides/> })}
            <header class="beside-head">
                <Tabs sides at/>
                <Show when=move || sides.can_split()>
                    <IconButton sign="compare" words="Open a second panel" testid="split" press=move |()| sides.split()/>
                </Show>
                <IconButton sign="close" words="Close this panel" testid="close-side" press=close/>
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
        sides.room.track();
        soon(measure);
    });
    let set = move |wanted: u32| {
        widen(wanted);
        measure();
        dom::remember(WIDTH, &wanted.to_string());
    };
    let is_rtl = || root().and_then(|root| root.get_attribute("dir")).is_some_and(|dir| dir == "rtl");
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
            set(beside::width(from_end, untrack(|| sides.shown().len())));
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
        set(beside::width(if wider { now + STEP } else { now.saturating_sub(STEP) }.into(), 1));
    };
    let reset = move |_| {
        dom::forget(WIDTH);
        if let Some(root) = root() {
            dom::style(&root, PROPERTY, "");
        }
        measure();
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
            on:dblclick=reset
        ></div>
    }
}
