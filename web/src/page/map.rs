//! The map of a conversation, drawn in SVG: one dot for each turn and for each branch, with a count. Only the part that is on the screen
//! is drawn, so that ten thousand messages stay light.

use std::sync::Arc;

use leptos::prelude::*;
use threadkeep::protocol::TreeNode;
use wasm_bindgen::JsCast;
use web_sys::{Event, KeyboardEvent, Node};

use super::dom;
use super::side::Side;
use super::state::Page;
use super::view::{Spot, click, draw, follow, live, markup, on, rows, soon};
use crate::pieces::role_label;
use crate::route::Route;
use crate::tree::{Map, Stretch};
use crate::wire::{Ask, Reply};
use crate::{format, window};

/// The height of a stretch's line.
const ROW: usize = 40;
/// The width of a lane.
const LANE: usize = 18;
/// Lanes beyond this one are drawn on it.
const LANES: usize = 12;
/// The left edge.
const LEFT: usize = 18;

struct Drawn {
    nodes: Vec<TreeNode>,
    map: Map,
}

fn x(lane: usize) -> usize {
    LEFT + lane.min(LANES) * LANE
}

fn y(row: usize) -> usize {
    row * ROW + ROW / 2
}

impl Drawn {
    /// For each stretch, whether it lies on the way from the root to a node; on the way to none, nothing does.
    fn path(&self, node: Option<usize>) -> Vec<bool> {
        self.map.path(node.unwrap_or(usize::MAX))
    }
}

/// The line from a stretch's parent to it.
fn edge(map: &Map, stretch: &Stretch, parent: usize) -> String {
    let parent = &map.stretches[parent];
    let (from, to) = (x(parent.lane), x(stretch.lane));
    let (start, end) = (y(parent.row), y(stretch.row));
    if from == to {
        format!("M{from} {start}V{end}")
    } else {
        format!("M{from} {start}V{}Q{from} {end} {to} {end}", end - LANE)
    }
}

/// The side panel with the map.
pub fn pane(page: Page) -> Node {
    let drawn = RwSignal::new(None::<Arc<Drawn>>);
    let failed = RwSignal::new(false);
    let active = RwSignal::new(0_usize);
    let scroller = Spot::new();
    let asked = StoredValue::new(0_usize);
    let mut shown = None;
    follow(move || {
        let now = (page.nav.route().transcript, page.tree.get());
        // Another branch or place of the same tree changes nothing in it.
        if shown.as_ref() == Some(&now) {
            return;
        }
        let number = asked.get_value() + 1;
        asked.set_value(number);
        let (transcript, _) = now.clone();
        // Opening another thread begins at its top.
        if shown.replace(now).is_none_or(|(before, _)| before != transcript) {
            active.set(0);
            if let Some(scroller) = scroller.get() {
                scroller.set_scroll_top(0);
            }
        }
        let Some(transcript) = transcript else { return };
        leptos::task::spawn_local(async move {
            let answer = page.engine.ask(Ask::Tree(transcript)).await;
            if asked.try_get_value() != Some(number) {
                return;
            }
            match answer {
                Ok(Reply::Tree(nodes)) => {
                    let map = Map::new(&nodes);
                    drawn.set(Some(Arc::new(Drawn { nodes, map })));
                    failed.set(false);
                }
                _ => failed.set(true),
            }
        });
    });
    // The branch on the screen: its last node in the tree.
    let leaf = move || {
        let leaf = page.leaf.get()?;
        drawn.with(|drawn| drawn.as_ref()?.nodes.iter().position(|node| node.id == leaf))
    };
    // What is on the screen: from which pixel on, and how many.
    let seen = RwSignal::new((0, 900));
    let measure = move || {
        if let Some(scroller) = scroller.get() {
            seen.set((scroller.scroll_top(), scroller.client_height()));
        }
    };
    follow(move || {
        drawn.track();
        page.resized.track();
        soon(measure);
    });
    let count = move || drawn.with(|drawn| drawn.as_ref().map_or(0, |drawn| drawn.map.stretches.len()));
    let range = move || {
        let (scroll, height) = seen.get();
        window::fixed(count(), ROW as f64, scroll.into(), height.into(), 8)
    };
    let open = move |row: usize| {
        active.set(row);
        let to = drawn.with_untracked(|drawn| {
            let drawn = drawn.as_ref()?;
            let stretch = drawn.map.stretches.get(row)?;
            let at = drawn.nodes.get(stretch.named)?.id.clone();
            // A stretch of the branch on the screen is shown in it; any other opens its newest end.
            let leaf = match untrack(leaf).filter(|leaf| drawn.map.leads_to(stretch.first, *leaf)) {
                Some(leaf) => leaf,
                None => drawn.map.leaf(row)?,
            };
            Some((drawn.nodes.get(leaf)?.id.clone(), at))
        });
        if let Some((leaf, at)) = to {
            page.nav.go(Route {
                transcript: page.nav.now().transcript,
                leaf: Some(leaf),
                at: Some(at),
                ..Route::default()
            });
        }
    };
    let keys = move |event: Event| {
        let event: KeyboardEvent = event.unchecked_into();
        let last = untrack(count).saturating_sub(1);
        let now = active.get_untracked().min(last);
        let to = match event.key().as_str() {
            "ArrowDown" => (now + 1).min(last),
            "ArrowUp" => now.saturating_sub(1),
            "Home" => 0,
            "End" => last,
            "Enter" | " " => {
                event.prevent_default();
                return open(now);
            }
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        active.set(to);
        if let Some(scroller) = scroller.get() {
            dom::reveal(&scroller, to * ROW, ROW);
        }
    };
    let tally = move || {
        drawn.with(|drawn| {
            drawn.as_ref().map(|drawn| {
                let branches = format::plural(drawn.map.leaves() as u64, "branch");
                format!("{}, {branches}", format::plural(drawn.nodes.len() as u64, "node"))
            })
        })
    };
    // The node in focus: what leads to it and what follows it is its chain; all else is set back.
    let focus = move || {
        let focused = page.focused.get()?;
        drawn.with(|drawn| drawn.as_ref()?.nodes.iter().position(|node| node.id == focused))
    };
    let aside = move |drawn: &Drawn, stretch: &Stretch, here: bool, focus: Option<usize>| {
        let follows = focus.is_some_and(|focus| drawn.map.leads_to(focus, stretch.last));
        !here && !follows
    };
    // The lines, and whether each belongs to the branch on the screen.
    let lines = rows(move |row| {
        let (range, leaf, focus) = (range(), leaf(), focus());
        drawn.with(|drawn| {
            let Some(drawn) = drawn else { return };
            let path = drawn.path(leaf);
            // The branch on the screen lies on top.
            for here in [false, true] {
                for stretch in &drawn.map.stretches {
                    let Some(parent) = stretch.parent else { continue };
                    let meets = drawn.map.stretches[parent].row < range.end && stretch.row >= range.start;
                    if meets && path[stretch.row] == here {
                        let line = edge(&drawn.map, stretch, parent);
                        let aside = aside(drawn, stretch, here, focus);
                        row(format!("{here} {aside} {line}"), &mut || {
                            markup!(
                                r#"<path class="edge" class:here={} class:aside={} d={}/>"#,
                                here,
                                aside,
                                line.clone()
                            )
                        });
                    }
                }
            }
        });
    });
    let dots = rows(move |row| {
        let (range, leaf, active, focus) = (range(), leaf(), active.get(), focus());
        drawn.with(|drawn| {
            let Some(drawn) = drawn else { return };
            let path = drawn.path(leaf);
            for at in range {
                let Some(stretch) = drawn.map.stretches.get(at) else { continue };
                let Some(node) = drawn.nodes.get(stretch.named) else { continue };
                let (here, active) = (path[at], active == at);
                let aside = aside(drawn, stretch, here, focus);
                let focused = focus.is_some_and(|focus| drawn.map.stretch(focus) == Some(at));
                let key =
                    format!("{at} {here} {active} {aside} {focused} {} {} {}", stretch.nodes, stretch.forks, node.id);
                row(key, &mut || dot(stretch, node, Looks { here, active, aside, focused }, move || open(at)));
            }
        });
    });
    let failure = |failed: &bool| failed.then(|| markup!(r#"<p class="no-match">The map could not be read.</p>"#));
    markup!(
        r#"
        <aside class="pane map" aria-label="Map of the branches" data-testid="map">
            <header class="map-head">
                <h2>Map</h2>
                <span class="tally">{}</span>
                <button type="button" class="icon" title="Close the map" aria-label="Close the map" onclick={}>
                    <svg sign="close"/>
                </button>
            </header>
            <div class="map-scroller" ref={} onscroll={}>
                {}
                <svg
                    class="map-drawing"
                    role="tree"
                    tabindex="0"
                    aria-label="Branches; arrow keys move, Enter opens"
                    aria-activedescendant={}
                    height={}
                    onkeydown={}
                >
                    <g class="edges" aria-hidden="true">{}</g>
                    {}
                </svg>
            </div>
            <footer class="legend">
                <span><i class="swatch role-user"></i>You</span>
                <span><i class="swatch role-assistant"></i>Assistant</span>
                <span><i class="swatch role-tool"></i>Other</span>
                <span><i class="swatch line"></i>On the screen</span>
            </footer>
        </aside>"#,
        live(tally),
        click(move || page.turn(Side::Map)),
        scroller,
        click(measure),
        draw(move || failed.get(), failure),
        live(move || (count() > 0).then(|| format!("map-{}", active.get()))),
        live(move || (count() * ROW).to_string()),
        on(keys),
        lines,
        dots,
    )
}

/// How a dot looks.
#[derive(Clone, Copy)]
struct Looks {
    /// On the branch that is on the screen.
    here: bool,
    /// Where the keys are.
    active: bool,
    /// On none of the chains of the message in focus.
    aside: bool,
    /// Holds the message in focus.
    focused: bool,
}

fn dot(stretch: &Stretch, node: &TreeNode, looks: Looks, open: impl Fn() + 'static) -> Node {
    let Looks { here, active, aside, focused } = looks;
    let (cx, cy) = (x(stretch.lane), y(stretch.row));
    let text = cx + 14;
    let words =
        if node.words.trim().is_empty() { role_label(&node.role).to_owned() } else { format::line(&node.words, 60) };
    let count = format::plural(stretch.nodes as u64, "node");
    let then = match stretch.forks {
        0 | 1 => count,
        forks => format!("{count}, then {}", format::plural(forks as u64, "branch")),
    };
    let role = match node.role.as_str() {
        "user" => "dot role-user",
        "assistant" => "dot role-assistant",
        _ => "dot role-tool",
    };
    markup!(
        r#"
        <g
            class={}
            class:here={}
            class:active={}
            class:aside={}
            class:focused={}
            role="treeitem"
            id={}
            aria-level={}
            aria-selected={}
            data-testid="map-node"
            data-node={}
            onclick={}
        >
            <title>{}</title>
            <rect class="hit" x="4" y={} width="2000" height="38" rx="6"/>
            <circle cx={} cy={} r="5"/>
            <text class="map-words" x={} y={}>{}</text>
            <text class="map-count" x={} y={}>{}</text>
        </g>"#,
        role,
        here,
        active,
        aside,
        focused,
        format!("map-{}", stretch.row),
        (stretch.lane + 1).to_string(),
        if here { "true" } else { "false" },
        node.id.to_string(),
        click(open),
        format!("{}: {words} ({then})", role_label(&node.role)),
        (cy - ROW / 2 + 1).to_string(),
        cx.to_string(),
        cy.to_string(),
        text.to_string(),
        (cy - 1).to_string(),
        words,
        text.to_string(),
        (cy + 13).to_string(),
        then,
    )
}
