//! What the map knows: the tree, what is on the screen, and where the keys are. Reading, and going to a branch.

use std::ops::Range;
use std::sync::Arc;

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::TreeNode;
use threadkeep_core::{MessageId, TranscriptId};
use web_sys::KeyboardEvent;

use crate::page::dom;
use crate::page::effects::{follow, soon};
use crate::page::state::Page;
use crate::route::Route;
use crate::tree::{Map, Stretch};
use crate::window;
use crate::wire::{Ask, Reply};

/// The height of a stretch's line.
pub(super) const ROW: usize = 40;

/// The tree of a conversation, and its map.
pub(super) struct Drawn {
    pub(super) nodes: Vec<TreeNode>,
    pub(super) map: Map,
}

impl Drawn {
    /// Whether a stretch is set back: it is neither `here`, on the branch on the screen, nor follows the node in focus.
    pub(super) fn aside(&self, stretch: &Stretch, here: bool, focus: Option<usize>) -> bool {
        !here && !focus.is_some_and(|focus| self.map.leads_to(focus, stretch.last))
    }
}

/// A handle: copies are the same.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) page: Page,
    pub(super) drawn: RwSignal<Option<Arc<Drawn>>>,
    pub(super) failed: RwSignal<bool>,
    /// The row that the keys are at.
    pub(super) active: RwSignal<usize>,
    pub(super) scroller: NodeRef<html::Div>,
    /// The last node of the branch on the screen, as a place in the tree.
    pub(super) leaf: Memo<Option<usize>>,
    /// The node in focus. What leads to it and what follows it is its chain; all else is set back.
    pub(super) focus: Memo<Option<usize>>,
    /// For each stretch, whether it lies on the way from the root to the leaf.
    pub(super) path: Memo<Arc<Vec<bool>>>,
    /// What is on the screen: from which pixel on, and how many.
    seen: RwSignal<(i32, i32)>,
    /// Counts what was asked for, so that a late answer does not replace a newer one.
    asked: StoredValue<usize>,
}

impl Plan {
    /// Begins to follow the address and the tree.
    pub(super) fn start(page: Page) -> Self {
        let drawn = RwSignal::new(None::<Arc<Drawn>>);
        let place = move |node: RwSignal<Option<MessageId>>| {
            Memo::new(move |_| {
                let node = node.get()?;
                drawn.with(|drawn| drawn.as_ref()?.nodes.iter().position(|one| one.id == node))
            })
        };
        let leaf = place(page.leaf);
        let path = Memo::new(move |_| {
            // On the way to none, nothing lies.
            let leaf = leaf.get().unwrap_or(usize::MAX);
            Arc::new(drawn.with(|drawn| drawn.as_ref().map(|drawn| drawn.map.path(leaf)).unwrap_or_default()))
        });
        let plan = Self {
            page,
            drawn,
            leaf,
            focus: place(page.focused),
            path,
            failed: RwSignal::new(false),
            active: RwSignal::new(0),
            scroller: NodeRef::new(),
            seen: RwSignal::new((0, 900)),
            asked: StoredValue::new(0),
        };
        // Another branch or place of the same tree changes nothing in it.
        let tree = Memo::new(move |_| (page.nav.route().transcript, page.tree.get()));
        let mut shown = None;
        follow(move || {
            let (transcript, _) = tree.get();
            // Opening another thread begins at its top.
            if shown.replace(transcript.clone()) != Some(transcript.clone()) {
                plan.to_top();
            }
            plan.read(transcript);
        });
        follow(move || {
            plan.drawn.track();
            page.resized.track();
            soon(move || plan.measure());
        });
        plan
    }

    fn to_top(self) {
        self.active.set(0);
        if let Some(scroller) = self.scroller.get_untracked() {
            scroller.set_scroll_top(0);
        }
    }

    fn read(self, transcript: Option<TranscriptId>) {
        let number = self.asked.get_value() + 1;
        self.asked.set_value(number);
        let Some(transcript) = transcript else { return };
        spawn_local(async move {
            let answer = self.page.engine.ask(Ask::Tree(transcript)).await;
            if self.asked.try_get_value() != Some(number) {
                return;
            }
            match answer {
                Ok(Reply::Tree(nodes)) => {
                    let map = Map::new(&nodes);
                    self.drawn.set(Some(Arc::new(Drawn { nodes, map })));
                    self.failed.set(false);
                }
                _ => self.failed.set(true),
            }
        });
    }

    /// Looks what is on the screen.
    pub(super) fn measure(self) {
        if let Some(scroller) = self.scroller.get_untracked() {
            self.seen.set((scroller.scroll_top(), scroller.client_height()));
        }
    }

    /// How many stretches there are; tracks.
    pub(super) fn count(self) -> usize {
        self.drawn.with(|drawn| drawn.as_ref().map_or(0, |drawn| drawn.map.stretches.len()))
    }

    /// The rows on the screen, and some around them; tracks.
    pub(super) fn range(self) -> Range<usize> {
        let (scroll, height) = self.seen.get();
        window::fixed(self.count(), ROW as f64, scroll.into(), height.into(), 8)
    }

    /// Opens a row's branch at it.
    pub(super) fn open(self, row: usize) {
        self.active.set(row);
        let to = self.drawn.with_untracked(|drawn| {
            let drawn = drawn.as_ref()?;
            let stretch = drawn.map.stretches.get(row)?;
            let at = drawn.nodes.get(stretch.named)?.id.clone();
            // A stretch of the branch on the screen is shown in it; any other opens its newest end.
            let leaf = match self.leaf.get_untracked().filter(|leaf| drawn.map.leads_to(stretch.first, *leaf)) {
                Some(leaf) => leaf,
                None => drawn.map.leaf(row)?,
            };
            Some((drawn.nodes.get(leaf)?.id.clone(), at))
        });
        if let Some((leaf, at)) = to {
            let transcript = self.page.nav.now().transcript;
            self.page.nav.go(Route { transcript, leaf: Some(leaf), at: Some(at), ..Route::default() });
        }
    }

    /// Arrow keys move, Enter opens.
    pub(super) fn pressed(self, event: &KeyboardEvent) {
        let last = untrack(|| self.count()).saturating_sub(1);
        let now = self.active.get_untracked().min(last);
        let to = match event.key().as_str() {
            "ArrowDown" => (now + 1).min(last),
            "ArrowUp" => now.saturating_sub(1),
            "Home" => 0,
            "End" => last,
            "Enter" | " " => {
                event.prevent_default();
                return self.open(now);
            }
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        self.active.set(to);
        if let Some(scroller) = self.scroller.get_untracked() {
            dom::reveal(&scroller, to * ROW, ROW);
        }
    }
}
