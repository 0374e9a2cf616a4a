//! The map, drawn in SVG. Only the part that is on the screen is drawn, so that ten thousand messages stay light.

use leptos::prelude::*;
use threadkeep::protocol::TreeNode;

use super::plan::{Plan, ROW};
use crate::format;
use crate::page::basics::drawn;
use crate::pieces::role_label;
use crate::tree::{Map, Stretch};

/// The width of a lane.
const LANE: usize = 18;
/// Lanes beyond this one are drawn on it.
const LANES: usize = 12;
/// The left edge.
const LEFT: usize = 18;

fn x(lane: usize) -> usize {
    LEFT + lane.min(LANES) * LANE
}

fn y(row: usize) -> usize {
    row * ROW + ROW / 2
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

/// A line between two dots.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Edge {
    here: bool,
    aside: bool,
    line: String,
}

/// A dot, and what stands beside it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Dot {
    row: usize,
    lane: usize,
    node: String,
    role: String,
    words: String,
    /// How much is in it, and what follows.
    then: String,
    /// On the branch that is on the screen.
    here: bool,
    /// Where the keys are.
    active: bool,
    /// On none of the chains of the message in focus.
    aside: bool,
    /// Holds the message in focus.
    focused: bool,
}

impl Dot {
    fn new(stretch: &Stretch, node: &TreeNode) -> Self {
        let no_words = node.words.trim().is_empty();
        let count = format::plural(stretch.nodes as u64, "node");
        Self {
            row: stretch.row,
            lane: stretch.lane,
            node: node.id.to_string(),
            role: node.role.clone(),
            words: if no_words { role_label(&node.role).to_owned() } else { format::line(&node.words, 60) },
            then: match stretch.forks {
                0 | 1 => count,
                forks => format!("{count}, then {}", format::plural(forks as u64, "branch")),
            },
            here: false,
            active: false,
            aside: false,
            focused: false,
        }
    }
}

impl Plan {
    /// The lines on the screen, those of the branch on the screen on top; tracks.
    fn edges(self) -> Vec<Edge> {
        let (range, path, focus) = (self.range(), self.path.get(), self.focus.get());
        self.drawn.with(|drawn| {
            let Some(drawn) = drawn else { return Vec::new() };
            let edge = |stretch: &Stretch| {
                let parent = stretch.parent?;
                let meets = drawn.map.stretches[parent].row < range.end && stretch.row >= range.start;
                let here = path.get(stretch.row) == Some(&true);
                let aside = drawn.aside(stretch, here, focus);
                meets.then(|| Edge { here, aside, line: edge(&drawn.map, stretch, parent) })
            };
            let mut edges: Vec<Edge> = drawn.map.stretches.iter().filter_map(edge).collect();
            edges.sort_by_key(|edge| edge.here);
            edges
        })
    }

    /// The dots on the screen; tracks.
    fn dots(self) -> Vec<Dot> {
        let (range, path, active, focus) = (self.range(), self.path.get(), self.active.get(), self.focus.get());
        self.drawn.with(|drawn| {
            let Some(drawn) = drawn else { return Vec::new() };
            let dot = |at: usize| {
                let stretch = drawn.map.stretches.get(at)?;
                let here = path.get(at) == Some(&true);
                Some(Dot {
                    here,
                    active: active == at,
                    aside: drawn.aside(stretch, here, focus),
                    focused: focus.is_some_and(|focus| drawn.map.stretch(focus) == Some(at)),
                    ..Dot::new(stretch, drawn.nodes.get(stretch.named)?)
                })
            };
            range.filter_map(dot).collect()
        })
    }
}

/// The drawing.
#[component]
pub(super) fn Chart(plan: Plan) -> impl IntoView {
    let marked = move || (plan.count() > 0).then(|| format!("map-{}", plan.active.get()));
    let edge = |edge: Edge| {
        view! { <path class="edge" class:here=edge.here class:aside=edge.aside d=edge.line></path> }
    };
    view! {
        <svg
            class="map-drawing"
            role="tree"
            tabindex="0"
            aria-label="Branches; arrow keys move, Enter opens"
            aria-activedescendant=marked
            height=move || (plan.count() * ROW).to_string()
            on:keydown=move |event| plan.pressed(&event)
        >
            <g class="edges" aria-hidden="true">
                <For each=move || plan.edges() key=Clone::clone children=edge/>
            </g>
            <For each=move || plan.dots() key=Clone::clone children=move |dot| view! { <Turn plan dot/> }/>
        </svg>
    }
}

/// A dot and its words.
#[component]
fn Turn(plan: Plan, dot: Dot) -> impl IntoView {
    let Dot { row, lane, node, role, words, then, here, active, aside, focused } = dot;
    let (cx, cy) = (x(lane), y(row));
    let text = (cx + 14).to_string();
    let class = match role.as_str() {
        "user" => "dot role-user",
        "assistant" => "dot role-assistant",
        _ => "dot role-tool",
    };
    view! {
        <g
            class=class
            class:here=here
            class:active=active
            class:aside=aside
            class:focused=focused
            role="treeitem"
            id=format!("map-{row}")
            aria-level=(lane + 1).to_string()
            aria-selected=if here { "true" } else { "false" }
            data-testid="map-node"
            data-node=node
            on:click=move |_| plan.open(row)
        >
            <title>{drawn(&format!("{}: {words} ({then})", role_label(&role)))}</title>
            <rect class="hit" x="4" y=(cy - ROW / 2 + 1).to_string() width="2000" height="38" rx="6"></rect>
            <circle cx=cx.to_string() cy=cy.to_string() r="5"></circle>
            <text class="map-words" x=text.clone() y=(cy - 1).to_string()>{drawn(&words)}</text>
            <text class="map-count" x=text y=(cy + 13).to_string()>{then}</text>
        </g>
    }
}
