//! What stands beside the thread: one of three panels, which this browser remembers.

use leptos::prelude::window;

use super::dom;

const SIDE: &str = "threadkeep.side";

/// What stands beside the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The context inspector.
    Context,
    /// The requests of the branch.
    Requests,
    /// The map of the branches.
    Map,
}

impl Side {
    const NAMES: [(&str, Option<Self>); 4] =
        [("context", Some(Self::Context)), ("requests", Some(Self::Requests)), ("map", Some(Self::Map)), ("", None)];

    /// What this browser remembers; at first the map, where there is room.
    pub fn remembered() -> Option<Self> {
        let roomy =
            || window().inner_width().ok().and_then(|width| width.as_f64()).is_some_and(|width| width >= 1500.0);
        match dom::remembered(SIDE) {
            Some(kept) => Self::NAMES.iter().find(|(name, _)| *name == kept).and_then(|(_, side)| *side),
            None => roomy().then_some(Self::Map),
        }
    }

    /// Has this browser remember it.
    pub fn remember(side: Option<Self>) {
        let name = Self::NAMES.iter().find(|(_, named)| *named == side);
        dom::remember(SIDE, name.map_or("", |(name, _)| name));
    }
}
