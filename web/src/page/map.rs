//! The map of a conversation's branches, drawn in SVG. Stretches without forks are one dot each with a count, and only
//! the part that is on the screen is drawn, so that ten thousand messages stay light.

use std::collections::HashSet;
use std::sync::Arc;

use leptos::ev;
use leptos::html;
use leptos::prelude::*;
use threadkeep::protocol::TreeNode;

use super::signs::Sign;
use super::state::Page;
use crate::pieces::role_label;
use crate::route::Route;
use crate::tree::{Map, Stretch};
use crate::wire::{Ask, Reply};
use crate::{format, window};

/// The height of a stretch's line.
const ROW: f64 = 40.0;
/// The width of a lane.
const LANE: f64 = 18.0;
/// Lanes beyond this one are drawn on it.
const LANES: usize = 12;
/// The left edge.
const LEFT: f64 = 18.0;

struct Drawn {
    nodes: Vec<TreeNode>,
    map: Map,
}

fn x(lane: usize) -> f64 {
    LEFT + lane.min(LANES) as f64 * LANE
}

fn y(row: usize) -> f64 {
    (row as f64 + 0.5) * ROW
}

/// The line from a stretch's parent to it.
fn edge(map: &Map, stretch: &Stretch) -> Option<String> {
    let parent = &map.stretches[stretch.parent?];
    let (from, to) = (x(parent.lane), x(stretch.lane));
    let (start, end) = (y(parent.row), y(stretch.row));
    Some(if (from - to).abs() < 0.5 {
        format!("M{from} {start}V{end}")
    } else {
        format!("M{from} {start}V{}Q{from} {end} {to} {end}", end - LANE)
    })
}

/// The side panel with the map.
#[component]
pub fn MapPane() -> impl IntoView {
    let page = Page::of_context();
    let drawn = RwSignal::new(None::<Arc<Drawn>>);
    let failed = RwSignal::new(false);
    let transcript = Memo::new(move |_| page.nav.route().transcript);
    let asked = StoredValue::new(0_u32);
    Effect::new(move |_| {
        page.tree.track();
        let number = asked.get_value() + 1;
        asked.set_value(number);
        let Some(transcript) = transcript.get() else { return };
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
    // The branch on the screen: its last node in the tree, and the stretches that lead there.
    let leaf = Memo::new(move |_| {
        let leaf = page.leaf.get()?;
        drawn.with(|drawn| drawn.as_ref()?.nodes.iter().position(|node| node.id == leaf))
    });
    let path = Memo::new(move |_| {
        let leaf = leaf.get();
        drawn.with(|drawn| match (drawn, leaf) {
            (Some(drawn), Some(leaf)) => drawn.map.path(leaf),
            _ => HashSet::new(),
        })
    });
    let scroller = NodeRef::<html::Div>::new();
    let scroll = RwSignal::new(0.0);
    let height = RwSignal::new(900.0);
    let measure = move || {
        if let Some(scroller) = scroller.get_untracked() {
            scroll.set(f64::from(scroller.scroll_top()));
            height.set(f64::from(scroller.client_height()));
        }
    };
    Effect::new(move |_| {
        drawn.track();
        measure();
    });
    let resize = window_event_listener(ev::resize, move |_| measure());
    on_cleanup(move || resize.remove());
    let count = move || drawn.with(|drawn| drawn.as_ref().map_or(0, |drawn| drawn.map.stretches.len()));
    let range = Memo::new(move |_| window::fixed(count(), ROW, scroll.get(), height.get(), 8));
    let active = RwSignal::new(0_usize);
    // Opening another thread begins at its top.
    Effect::new(move |_| {
        transcript.track();
        active.set(0);
        if let Some(scroller) = scroller.get_untracked() {
            scroller.set_scroll_top(0);
        }
    });
    let open = move |row: usize| {
        active.set(row);
        let to = drawn.with_untracked(|drawn| {
            let drawn = drawn.as_ref()?;
            let stretch = drawn.map.stretches.get(row)?;
            let at = drawn.nodes.get(stretch.named)?.id.clone();
            // A stretch of the branch on the screen is shown in it; any other opens its newest end.
            let leaf = match leaf.get_untracked().filter(|leaf| drawn.map.leads_to(stretch.first, *leaf)) {
                Some(leaf) => leaf,
                None => drawn.map.leaf(row)?,
            };
            Some((drawn.nodes.get(leaf)?.id.clone(), at))
        });
        if let Some((leaf, at)) = to {
            page.nav.go(Route { transcript: transcript.get_untracked(), leaf: Some(leaf), at: Some(at) });
        }
    };
    let keys = move |event: ev::KeyboardEvent| {
        let last = count().saturating_sub(1);
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
        if let Some(scroller) = scroller.get_untracked() {
            let (top, view) = (to as f64 * ROW, f64::from(scroller.client_height()));
            let now = f64::from(scroller.scroll_top());
            if top < now {
                scroller.set_scroll_top(top as i32);
            } else if top + ROW > now + view {
                scroller.set_scroll_top((top + ROW - view) as i32);
            }
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
    let lines = move || {
        let range = range.get();
        let path = path.get();
        drawn.with(|drawn| {
            let Some(drawn) = drawn else { return Vec::new() };
            let meets = |stretch: &&Stretch| {
                stretch
                    .parent
                    .is_some_and(|parent| drawn.map.stretches[parent].row < range.end && stretch.row >= range.start)
            };
            let found: Vec<(bool, String)> = drawn
                .map
                .stretches
                .iter()
                .filter(meets)
                .filter_map(|stretch| Some((path.contains(&stretch.row), edge(&drawn.map, stretch)?)))
                .collect();
            // The branch on the screen lies on top.
            let (over, under): (Vec<_>, Vec<_>) = found.into_iter().partition(|(here, _)| *here);
            under.into_iter().chain(over).collect()
        })
    };
    let dots = move || {
        let range = range.get();
        drawn.with(|drawn| {
            let Some(drawn) = drawn else { return Vec::new() };
            range
                .filter_map(|row| {
                    let stretch = drawn.map.stretches.get(row)?;
                    let node = drawn.nodes.get(stretch.named)?;
                    Some((row, stretch.clone(), node.clone()))
                })
                .collect::<Vec<_>>()
        })
    };
    let focused = move || format!("map-{}", active.get());
    view! {
        <aside class="pane map" aria-label="Map of the branches" data-testid="map">
            <header class="map-head">
                <h2>"Map"</h2>
                <span class="tally">{tally}</span>
                <button
                    type="button"
                    class="icon"
                    title="Close the map"
                    aria-label="Close the map"
                    on:click=move |_| page.show_map(false)
                >
                    <Sign name="close" />
                </button>
            </header>
            <div class="map-scroller" node_ref=scroller on:scroll=move |_| measure()>
                <Show when=move || failed.get()>
                    <p class="no-match">"The map could not be read."</p>
                </Show>
                <svg
                    class="map-drawing"
                    role="tree"
                    tabindex="0"
                    aria-label="Branches; arrow keys move, Enter opens"
                    aria-activedescendant=move || (count() > 0).then(focused)
                    height=move || (count() as f64 * ROW).to_string()
                    on:keydown=keys
                >
                    <g class="edges" aria-hidden="true">
                        {move || {
                            lines()
                                .into_iter()
                                .map(|(here, line)| view! { <path class="edge" class:here=here d=line /> })
                                .collect_view()
                        }}
                    </g>
                    <For
                        each=dots
                        key=|(row, stretch, node)| (*row, stretch.nodes, node.id.clone())
                        children=move |(row, stretch, node)| {
                            view! {
                                <Dot
                                    row
                                    stretch
                                    node
                                    here=Signal::derive(move || path.with(|path| path.contains(&row)))
                                    active=Signal::derive(move || active.get() == row)
                                    open=Callback::new(open)
                                />
                            }
                        }
                    />
                </svg>
            </div>
            <footer class="legend">
                <span><i class="swatch role-user"></i>"You"</span>
                <span><i class="swatch role-assistant"></i>"Assistant"</span>
                <span><i class="swatch role-tool"></i>"Other"</span>
                <span><i class="swatch line"></i>"On the screen"</span>
            </footer>
        </aside>
    }
}

#[component]
fn Dot(
    row: usize,
    stretch: Stretch,
    node: TreeNode,
    here: Signal<bool>,
    active: Signal<bool>,
    open: Callback<usize>,
) -> impl IntoView {
    let (cx, cy) = (x(stretch.lane), y(row));
    let text = cx + 14.0;
    let words =
        if node.words.trim().is_empty() { role_label(&node.role).to_owned() } else { format::line(&node.words, 60) };
    let count = format::plural(stretch.nodes as u64, "node");
    let then = match stretch.forks {
        0 => String::new(),
        forks => format!(", then {}", format::plural(forks as u64, "branch")),
    };
    let label = format!("{}: {words} ({count}{then})", role_label(&node.role));
    let role = match node.role.as_str() {
        "user" => "role-user",
        "assistant" => "role-assistant",
        _ => "role-tool",
    };
    view! {
        <g
            class=format!("dot {role}")
            class:here=here
            class:active=active
            role="treeitem"
            id=format!("map-{row}")
            aria-level=(stretch.lane + 1).to_string()
            aria-selected=move || here.get().to_string()
            data-testid="map-node"
            data-node=node.id.to_string()
            on:click=move |_| open.run(row)
        >
            <title>{label}</title>
            <rect class="hit" x="4" y=(cy - ROW / 2.0 + 1.0).to_string() width="2000" height=(ROW - 2.0).to_string() rx="6" />
            <circle cx=cx.to_string() cy=cy.to_string() r="5" />
            <text class="map-words" x=text.to_string() y=(cy - 1.0).to_string()>{words}</text>
            <text class="map-count" x=text.to_string() y=(cy + 13.0).to_string()>{format!("{count}{then}")}</text>
        </g>
    }
}
