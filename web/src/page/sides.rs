//! What stands beside the thread, as this browser remembers it: which panels, how wide, and what opens and closes them.

use std::time::Duration;

use leptos::prelude::*;
use web_sys::Element;

use super::dom;
use crate::beside::{self, Beside, Side};

const SHOWN: &str = "threadkeep.side";
const WIDTH: &str = "threadkeep.side.width";
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

/// The width of the window in CSS pixels.
pub fn window_width() -> f64 {
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

    /// Shows this in the panel `at`.
    pub fn choose(self, at: usize, side: Side) {
        self.set(self.now().0.chosen(at, side));
    }

    /// Opens a second panel.
    pub fn split(self) {
        self.set(self.now().0.split());
    }

    /// Closes the panel `at`, and gives the focus to the button that opens it again.
    pub fn close(self, at: usize) {
        let (panels, room) = self.now();
        self.set(panels.closed(at, room));
        if let Some(closed) = panels.shown(room).nth(at) {
            focus_on(closed);
        }
    }

    /// The panel that shows `side` is drawn: its tab gets the focus, if a press has opened it.
    pub fn drawn(self, side: Side) {
        if self.focus.get_value() {
            self.focus.set_value(false);
            focus_on(side);
        }
    }

    /// Whether there is room for a second panel beside the only one; tracks.
    pub fn can_split(self) -> bool {
        self.room.get() > 1 && self.shown().len() == 1
    }
}

fn root() -> Option<Element> {
    document().document_element()
}

/// Whether the page is laid out from right to left.
pub fn is_rtl() -> bool {
    root().and_then(|root| root.get_attribute("dir")).is_some_and(|dir| dir == "rtl")
}

fn widen(width: u32) {
    if let Some(root) = root() {
        dom::length(&root, PROPERTY, width.into());
    }
}

/// Makes each panel so wide, and remembers it; as wide as usual for nothing.
pub fn set_width(width: Option<u32>) {
    match width {
        Some(width) => {
            widen(width);
            dom::remember(WIDTH, &width.to_string());
        }
        None => {
            dom::forget(WIDTH);
            if let Some(root) = root() {
                dom::style(&root, PROPERTY, "");
            }
        }
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
