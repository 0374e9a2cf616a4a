//! The part of a thread that is on the screen: builds the blocks near the viewport, measures them, drops those that are
//! far, and keeps what the reader looks at in its place while guesses are corrected around it.
//!
//! Goes in: an outline, the scroll position, clicks and keys. Comes out: elements in the scroller, requests for the rows
//! that are missing, and [`Action`]s for what is not this module's business.

mod acts;
mod cards;
mod carried;
mod dress;
mod marks;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use leptos::task::spawn_local;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::MessageId;
use wasm_bindgen::prelude::*;
use web_sys::{Element, HtmlElement, ResizeObserver};

use super::article::{self, Opened, Parts};
use super::dom::{Build as _, el, length, sign};
use super::engine::Engine;
use super::inspector::Selected;
use crate::inspect::Marks;
use crate::items::{self, Block, Item};
use crate::window::Heights;
use crate::wire::{Ask, Branch, Carrier, Node, Reply};
use crate::{format, items::rows_of};

/// What the canvas asks of the page around it.
#[derive(Debug, Clone)]
pub enum Action {
    /// Open the branch that ends at `leaf`, and keep the row `row` where it is.
    Branch {
        /// The branch's end.
        leaf: MessageId,
        /// The row of the fork.
        row: usize,
    },
    /// Ask whether to delete a node and all that follows.
    Delete(MessageId),
    /// Something was copied, or could not be.
    Copied(bool),
    /// A message got the focus.
    Selected(Selected),
    /// Hold the prompts before and after this checkpoint against each other.
    Epochs(String),
    /// Open the memory.
    Memory,
    /// Rows could not be read.
    Failed(ErrorReply),
    /// Say something below this message. `words` are its first ones.
    Reply {
        /// The message.
        node: MessageId,
        /// Its first words.
        words: String,
    },
    /// Say this otherwise, as a branch beside it.
    Edit {
        /// The message.
        node: MessageId,
        /// What it is below; nothing at the beginning of a thread.
        parent: Option<MessageId>,
        /// What it says now.
        text: String,
    },
    /// Have this answered again, as a branch beside it.
    Again(MessageId),
    /// Go on after a failure.
    GoOn(MessageId),
    /// Carry on this interrupted turn.
    Resume(MessageId),
    /// Hold the branch that ends here against the one on the screen.
    Compare(MessageId),
}

/// What stays in its place while heights change.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Anchor {
    /// A row, and how far below the scroller's edge its top lies.
    Row(usize, f64),
    /// The end of the branch.
    End,
}

/// Where to begin to read.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// At the first message.
    Top,
    /// At this message.
    At(MessageId),
    /// Where the row is now: the fork at which another branch was chosen.
    Fork(usize),
    /// Where the reader is: the same branch, read again.
    Same,
    /// At the end.
    End,
}

struct Built {
    /// The position of the block.
    at: usize,
    element: Element,
    complete: bool,
}

struct State {
    outline: Branch,
    items: Vec<Item>,
    blocks: Vec<Block>,
    /// Where the messages of each row begin in the chain.
    places: Vec<u32>,
    heights: Heights,
    nodes: HashMap<MessageId, Rc<Node>>,
    /// What is in the document, from the top down.
    built: Vec<Built>,
    /// The first rows of the hidden runs that are open.
    unfolded: Vec<usize>,
    opened: Opened,
    anchor: Anchor,
    /// The scroll position that was set last, so that its own event is not taken for the reader's.
    set: f64,
    focus: Option<usize>,
    /// The row that somebody looked for, until it is on the screen.
    sought: Option<usize>,
    /// The statement of a card whose sources light up.
    lit: Option<cards::Lit>,
    /// The statement that is to be brought on the screen, until it is.
    led: Option<cards::Lit>,
    /// The message that the reader has selected, and what stands for it in prompts.
    chosen: Option<MessageId>,
    carrier: Option<Carrier>,
    /// The message below which something is to be said: what follows it is set back.
    target: Option<MessageId>,
    /// Nodes that have changed since they were read. They are shown until they are read again.
    stale: HashSet<MessageId>,
    asking: bool,
    /// Counts the branches shown, so that late answers for another one are dropped.
    version: u64,
}

/// The canvas. A handle: clones are the same.
#[derive(Clone)]
pub struct Canvas {
    scroller: HtmlElement,
    canvas: Element,
    window: Element,
    engine: Engine,
    state: Rc<RefCell<Option<State>>>,
    /// Rows that arrived before their outline.
    early: Rc<RefCell<HashMap<MessageId, Rc<Node>>>>,
    act: Rc<dyn Fn(Action)>,
    observer: Rc<RefCell<Option<ResizeObserver>>>,
    version: Rc<Cell<u64>>,
    marks: Rc<RefCell<Option<Arc<Marks>>>>,
}

/// How many nodes are kept at hand, shown or not.
const KEPT: usize = 3000;

impl Canvas {
    /// A canvas in `scroller`.
    pub fn new(scroller: HtmlElement, engine: Engine, act: impl Fn(Action) + 'static) -> Self {
        let canvas = el("div").class("canvas");
        let window = el("div").class("window");
        let _ = canvas.append_child(&window);
        scroller.replace_children_with_node_1(&canvas);
        let made = Self {
            scroller,
            canvas,
            window,
            engine,
            state: Rc::default(),
            early: Rc::default(),
            act: Rc::new(act),
            observer: Rc::default(),
            version: Rc::default(),
            marks: Rc::default(),
        };
        let weak = made.clone();
        let resized = Closure::<dyn Fn()>::new(move || weak.resized());
        if let Ok(observer) = ResizeObserver::new(resized.as_ref().unchecked_ref()) {
            observer.observe(&made.scroller);
            *made.observer.borrow_mut() = Some(observer);
        }
        // Lives as long as the page: there is one canvas.
        resized.forget();
        made
    }

    /// Shows nothing.
    pub fn clear(&self) {
        self.version.set(self.version.get() + 1);
        self.early.borrow_mut().clear();
        if let Some(state) = self.state.borrow_mut().take() {
            self.drop_blocks(state.built);
        }
        length(&self.canvas, "height", 0.0);
    }

    /// Takes rows that came before their outline.
    pub fn early(&self, nodes: Vec<Node>) {
        self.early.borrow_mut().extend(nodes.into_iter().map(|node| (node.id.clone(), Rc::new(node))));
    }

    /// Has nodes that changed read again.
    pub fn forget<'a>(&self, nodes: impl IntoIterator<Item = &'a MessageId>) {
        if let Some(state) = self.state.borrow_mut().as_mut() {
            state.stale.extend(nodes.into_iter().filter(|node| state.nodes.contains_key(*node)).cloned());
        }
    }

    /// The last node of this branch that is not among the deleted ones.
    pub fn surviving(&self, deleted: &[MessageId]) -> Option<MessageId> {
        let held = self.state.borrow();
        // A branch goes as a whole, its first node first: where this branch loses something, it loses that one.
        let first = deleted.first()?;
        let rows = held.as_ref()?.outline.rows.iter();
        rows.take_while(|row| row.id != *first).last().map(|row| row.id.clone())
    }

    /// Shows a branch.
    pub fn show(&self, outline: Branch, start: &Start) {
        let version = self.version.get() + 1;
        self.version.set(version);
        let early = self.early.take();
        let mut nodes = HashMap::new();
        let (mut unfolded, mut opened, mut anchor) = (Vec::new(), Opened::default(), Anchor::Row(0, TOP));
        let (mut chosen, mut target, mut stale) = (None, None, HashSet::new());
        let (old, at_end) = (self.state.borrow_mut().take(), self.is_at_end(8));
        let mut before = None;
        if let Some(mut old) = old {
            if old.outline.thread.id == outline.thread.id {
                // Runs keep their place as long as the way to them is the same.
                let same = |at: &usize| {
                    old.outline.rows.get(*at).map(|row| &row.id) == outline.rows.get(*at).map(|row| &row.id)
                };
                unfolded = old.unfolded.iter().copied().filter(same).collect();
                opened = std::mem::take(&mut old.opened);
                target = old.target.take();
                stale = std::mem::take(&mut old.stale);
                chosen = old.chosen.take().filter(|id| outline.rows.iter().any(|row| row.id == *id));
                match start {
                    Start::Fork(row) => anchor = Anchor::Row(*row, self.offset_of(*row).unwrap_or(TOP)),
                    // Where an answer grows, its end is followed for as long as the reader is there.
                    Start::Same if at_end && self.has_tail() => anchor = Anchor::End,
                    Start::Same => anchor = old.anchor,
                    Start::Top | Start::At(_) | Start::End => {}
                }
                nodes.clone_from(&old.nodes);
                before = Some(old);
            } else {
                self.drop_blocks(old.built);
            }
        }
        stale.retain(|id| !early.contains_key(id));
        nodes.extend(early);
        if *start == Start::End {
            anchor = Anchor::End;
        }
        let mut sought = None;
        if let Start::At(id) = start
            && let Some(row) = outline.rows.iter().position(|row| row.id == *id)
        {
            anchor = Anchor::Row(row, TOP);
            sought = Some(row);
        }
        let focus = if let Start::Fork(row) = start { Some(*row) } else { sought };
        let (set, asking) = (-1.0, false);
        let mut state = State {
            places: marks::places(&outline.rows),
            outline,
            items: Vec::new(),
            blocks: Vec::new(),
            heights: Heights::default(),
            nodes,
            built: Vec::new(),
            unfolded,
            opened,
            anchor,
            set,
            focus,
            sought,
            lit: None,
            led: None,
            chosen,
            carrier: None,
            target,
            stale,
            asking,
            version,
        };
        if let Anchor::Row(row, _) = anchor {
            if row > 0 && row >= state.outline.rows.len() {
                state.anchor = Anchor::End;
            }
            unfold_for(&mut state, row);
        }
        // What is hidden cannot be measured; the page shows the scroller a moment later than it says so.
        let _ = self.scroller.class_list().remove_1("gone");
        self.lay_out(&mut state);
        if let Some(old) = before {
            self.take_over(old, &mut state);
        }
        *self.state.borrow_mut() = Some(state);
        self.update();
    }

    /// Keeps what is built where it would be built alike, so that an answer that grows makes its own block anew and no other.
    fn take_over(&self, old: State, state: &mut State) {
        for at in 0..old.blocks.len().min(state.blocks.len()) {
            if old.blocks[at].items == state.blocks[at].items
                && let Some(height) = old.heights.measured(at)
            {
                state.heights.measure([(at, height)]);
            }
        }
        let alike = old.outline.cards == state.outline.cards;
        let (keep, gone): (Vec<Built>, Vec<Built>) = (old.built.into_iter()).partition(|built| {
            alike
                && built.complete
                && same_block((&old.items, &old.blocks, &old.outline, &old.unfolded, &old.nodes), state, built.at)
        });
        self.drop_blocks(gone);
        state.built = keep;
    }

    /// Puts what is being answered below the messages, or takes it away.
    pub fn set_tail(&self, tail: Option<&Element>) {
        let there = self.canvas.next_element_sibling();
        match (there, tail) {
            (Some(there), Some(tail)) if there == *tail => return,
            (there, tail) => {
                if let Some(there) = there {
                    there.remove();
                }
                if let Some(tail) = tail {
                    // As far to the right as what it follows.
                    let held = self.state.borrow();
                    let level = held.as_ref().and_then(|state| match state.items.last()? {
                        Item::Row { level, .. } | Item::Hidden { level, .. } => Some(*level),
                    });
                    let level = level.unwrap_or_default().min(6);
                    tail.set_class_name(&format!("message role-assistant live level-{level}"));
                    let _ = self.scroller.append_child(tail);
                }
            }
        }
        self.follow_end();
    }

    fn has_tail(&self) -> bool {
        self.canvas.next_element_sibling().is_some()
    }

    /// Whether the end of all is on the screen, but for so many pixels.
    fn is_at_end(&self, about: i32) -> bool {
        let seen = self.scroller.scroll_top() + self.scroller.client_height();
        seen + about >= self.scroller.scroll_height()
    }

    /// What is below the messages has grown: its end stays on the screen where the reader is at the end.
    pub fn follow_end(&self) {
        if let Some(state) = self.state.borrow_mut().as_mut()
            && state.anchor == Anchor::End
        {
            // Who has just scrolled up is told of later: they must not be pulled back before.
            if f64::from(self.scroller.scroll_top()) < state.set - 2.0 {
                return self.notice(state);
            }
            self.scroll(state, f64::from(self.scroller.scroll_height()));
        }
    }

    /// Sets back what follows the message below which something is to be said.
    pub fn aim(&self, target: Option<&MessageId>) {
        if let Some(state) = self.state.borrow_mut().as_mut()
            && state.target.as_ref() != target
        {
            state.target = target.cloned();
            self.dress_all(state);
        }
    }

    fn lay_out(&self, state: &mut State) {
        let width = f64::from(self.scroller.client_width()).min(860.0) - 64.0;
        let letters = width / 7.6;
        state.items = items::items(&state.outline.rows, &state.unfolded);
        state.blocks = items::blocks(&state.items, &state.outline.rows, letters);
        state.heights = Heights::new(state.blocks.iter().map(|block| block.guess).collect());
    }

    fn drop_blocks(&self, built: Vec<Built>) {
        for block in built {
            if let Some(observer) = self.observer.borrow().as_ref() {
                observer.unobserve(&block.element);
            }
            block.element.remove();
        }
    }

    /// Builds what is near the viewport, drops the rest, corrects heights, and holds the anchor still.
    fn update(&self) {
        let mut held = self.state.borrow_mut();
        let Some(state) = held.as_mut() else { return };
        self.notice(state);
        self.settle(state);
        if self.reach(state) {
            self.settle(state);
        }
        if let Some(row) = state.focus
            && let Some(element) = self.row_element(row)
        {
            state.focus = None;
            focus(&element);
        }
        if let Some(row) = state.sought
            && let Some(element) = self.row_element(row)
        {
            state.sought = None;
            let _ = element.class_list().add_1("sought");
        }
        drop(held);
        self.fetch();
    }

    fn settle(&self, state: &mut State) {
        let viewport = f64::from(self.scroller.client_height()).max(200.0);
        for _ in 0..6 {
            // Where the anchor's block is far from what is built, go there first.
            if state.set < 0.0 {
                self.go(state, viewport);
            }
            let scroll = f64::from(self.scroller.scroll_top());
            let range = state.heights.visible(scroll, viewport, viewport);
            let changed = self.build(state, &range);
            self.measure(state);
            self.place(state, &range);
            let moved = self.hold(state);
            if !changed && !moved {
                break;
            }
        }
    }

    /// Scrolls to about where the anchor must be.
    fn go(&self, state: &mut State, viewport: f64) {
        let target = match state.anchor {
            Anchor::End => state.heights.total() - viewport,
            Anchor::Row(0, offset) if offset >= TOP => 0.0,
            Anchor::Row(row, offset) => {
                let item = items::item_of(&state.items, row).unwrap_or(0);
                let block = state.blocks.partition_point(|block| block.items.end <= item);
                state.heights.top(block) - offset
            }
        };
        length(&self.canvas, "height", state.heights.total());
        self.scroll(state, target);
    }

    fn scroll(&self, state: &mut State, target: f64) {
        self.scroller.set_scroll_top(target.max(0.0).round() as i32);
        state.set = f64::from(self.scroller.scroll_top());
    }

    /// Drops blocks outside `range` and builds those in it that are missing or incomplete. Says whether anything changed.
    fn build(&self, state: &mut State, range: &Range<usize>) -> bool {
        let (near, far) = std::mem::take(&mut state.built).into_iter().partition(|built| range.contains(&built.at));
        state.built = near;
        let far: Vec<Built> = far;
        let mut changed = !far.is_empty();
        self.drop_blocks(far);
        // Every block of the range is built in its turn, so its place in the range is its place in the list.
        for (place, at) in range.clone().enumerate() {
            let ready = self.ready(state, at);
            let here = state.built.get(place).filter(|built| built.at == at);
            // What is complete stays, and so does what would wait again.
            if here.is_none_or(|built| ready && !built.complete) {
                if here.is_none() {
                    let element = el("div").class("block");
                    let next = state.built.get(place).map(|built| built.element.as_ref());
                    let _ = self.window.insert_before(&element, next);
                    if let Some(observer) = self.observer.borrow().as_ref() {
                        observer.observe(&element);
                    }
                    state.built.insert(place, Built { at, element, complete: false });
                }
                self.fill(state, at, &state.built[place].element, ready);
                state.built[place].complete = ready;
                changed = true;
            }
        }
        changed
    }

    /// Whether a block holds a row that changed since it was read.
    fn is_stale(&self, state: &State, at: usize) -> bool {
        let stale = |item: &Item| match item {
            Item::Row { row, .. } => state.stale.contains(&state.outline.rows[*row].id),
            Item::Hidden { .. } => false,
        };
        !state.stale.is_empty() && state.items[state.blocks[at].items.clone()].iter().any(stale)
    }

    fn ready(&self, state: &State, at: usize) -> bool {
        let has = |item: &Item| match item {
            Item::Row { row, .. } => state.nodes.contains_key(&state.outline.rows[*row].id),
            Item::Hidden { .. } => true,
        };
        state.items[state.blocks[at].items.clone()].iter().all(has)
    }

    fn fill(&self, state: &State, at: usize, element: &Element, ready: bool) {
        element.set_text_content(None);
        if !ready {
            element.set_class_name("block waiting");
            length(element, "min-height", state.heights.height(at));
            return;
        }
        element.set_class_name("block");
        length(element, "min-height", 0.0);
        for item in &state.items[state.blocks[at].items.clone()] {
            let made = match item {
                Item::Hidden { rows, open, level } => hidden_line(rows, *open, *level),
                Item::Row { row, level } => {
                    let here = &state.outline.rows[*row];
                    let Some(node) = state.nodes.get(&here.id) else { continue };
                    let fork = items::fork(&state.outline.rows, *row, &state.unfolded);
                    let (opened, last) = (&state.opened, *row + 1 == state.outline.rows.len());
                    article::article(&Parts { at: *row, row: here, level: *level, fork, node, opened, last })
                }
            };
            self.mark_row(state, &made);
            let _ = element.append_child(&made);
            match item {
                Item::Row { row, .. } => {
                    dress::dress(state, *row, &made);
                    cards::append(state, *row..*row + 1, element);
                }
                Item::Hidden { rows, open: false, .. } => cards::append(state, rows.clone(), element),
                Item::Hidden { .. } => {}
            }
        }
    }

    fn measure(&self, state: &mut State) -> bool {
        let found = state.built.iter().map(|built| (built.at, built.element.get_bounding_client_rect().height()));
        // Nothing is that low: it is not on the screen at all, and says nothing.
        let found: Vec<(usize, f64)> = found.filter(|(_, height)| *height >= 1.0).collect();
        state.heights.measure(found)
    }

    fn place(&self, state: &State, range: &Range<usize>) {
        length(&self.canvas, "height", state.heights.total());
        length(&self.window, "top", state.heights.top(range.start));
    }

    /// Puts the anchor back where it was. Says whether the scroll position changed.
    fn hold(&self, state: &mut State) -> bool {
        let before = f64::from(self.scroller.scroll_top());
        match state.anchor {
            Anchor::End => self.scroll(state, f64::from(self.scroller.scroll_height())),
            Anchor::Row(row, offset) => {
                let Some(now) = self.offset_of(row) else {
                    if state.set < 0.0 {
                        state.set = before;
                    }
                    return false;
                };
                if (now - offset).abs() < 1.0 {
                    return false;
                }
                self.scroll(state, before + now - offset);
            }
        }
        (f64::from(self.scroller.scroll_top()) - before).abs() >= 1.0
    }

    fn row_element(&self, row: usize) -> Option<Element> {
        self.window.query_selector(&format!("[data-row=\"{row}\"]")).ok()?
    }

    fn offset_of(&self, row: usize) -> Option<f64> {
        let element = self.row_element(row)?;
        Some(element.get_bounding_client_rect().top() - self.scroller.get_bounding_client_rect().top())
    }

    /// Asks for the rows that the built blocks lack, one request at a time.
    fn fetch(&self) {
        let (leaf, range, version) = {
            let mut held = self.state.borrow_mut();
            let Some(state) = held.as_mut() else { return };
            if state.asking {
                return;
            }
            let missing = |row: &usize| {
                let id = &state.outline.rows[*row].id;
                !state.nodes.contains_key(id) || state.stale.contains(id)
            };
            let mut wanted = state
                .built
                .iter()
                .filter(|built| !built.complete || self.is_stale(state, built.at))
                .filter_map(|built| rows_of(&state.items, &state.blocks[built.at]))
                .flatten()
                .filter(missing);
            let Some(first) = wanted.next() else { return };
            let last = wanted.next_back().unwrap_or(first).min(first + 400);
            state.asking = true;
            (state.outline.leaf.clone(), first..last + 1, state.version)
        };
        let canvas = self.clone();
        spawn_local(async move {
            let ask = Ask::Rows { leaf, start: range.start as u32, end: range.end as u32 };
            let answer = canvas.engine.ask(ask).await;
            let mut held = canvas.state.borrow_mut();
            let Some(state) = held.as_mut().filter(|state| state.version == version) else { return };
            state.asking = false;
            let got = match answer {
                Ok(Reply::Nodes(nodes)) => {
                    let before = state.nodes.len();
                    let mut renewed = false;
                    for node in nodes {
                        renewed |= state.stale.remove(&node.id);
                        state.nodes.insert(node.id.clone(), Rc::new(node));
                    }
                    if renewed {
                        // Made anew one by one as they are met; the others are as they were.
                        state.built.iter_mut().for_each(|built| built.complete = false);
                    }
                    trim(state);
                    renewed || state.nodes.len() != before || before >= KEPT
                }
                Ok(_) => false,
                Err(error) => {
                    drop(held);
                    return (canvas.act)(Action::Failed(error));
                }
            };
            drop(held);
            // Nothing new means that the branch changed underneath; its event brings a new outline.
            if got {
                canvas.update();
            }
        });
    }

    /// The reader scrolled, or the page did.
    pub fn scrolled(&self) {
        self.update();
    }

    /// Where the reader has scrolled since this module last did, what is there now is what must stay.
    fn notice(&self, state: &mut State) {
        let now = f64::from(self.scroller.scroll_top());
        if state.set < 0.0 || (now - state.set).abs() < 2.0 {
            return;
        }
        let down = now > state.set;
        state.set = now;
        // Where an answer grows, the end has moved on a little since the reader scrolled there.
        if self.has_tail() && self.is_at_end(if down { 120 } else { 8 }) {
            state.anchor = Anchor::End;
            return;
        }
        if let Some((row, offset)) = self.first_visible() {
            state.anchor = Anchor::Row(row, offset);
            return;
        }
        // Only what is below the messages is on the screen: the last of them stays where it is above.
        if self.has_tail()
            && let Some(row) = state.outline.rows.len().checked_sub(1)
            && let Some(offset) = self.offset_of(row)
        {
            state.anchor = Anchor::Row(row, offset);
            return;
        }
        // Scrolled beyond what is built: the block at this place becomes the anchor.
        let block = state.heights.at(now);
        let item = state.blocks.get(block).map_or(0, |block| block.items.start);
        let first = state.items[item..].iter().find_map(|item| match item {
            Item::Row { row, .. } => Some(*row),
            Item::Hidden { .. } => None,
        });
        if let Some(row) = first {
            state.anchor = Anchor::Row(row, state.heights.top(block) - now);
        }
    }

    fn first_visible(&self) -> Option<(usize, f64)> {
        let edge = self.scroller.get_bounding_client_rect();
        let rows = self.window.query_selector_all("[data-row]").ok()?;
        for at in 0..rows.length() {
            let Some(element) = rows.get(at).and_then(|node| node.dyn_into::<Element>().ok()) else { continue };
            let rect = element.get_bounding_client_rect();
            if rect.bottom() > edge.top() + 1.0 {
                let row = element.get_attribute("data-row")?.parse().ok()?;
                return (rect.top() < edge.bottom()).then(|| (row, rect.top() - edge.top()));
            }
        }
        None
    }

    fn resized(&self) {
        // Not at once: what is built in here would be observed in here.
        let canvas = self.clone();
        leptos::prelude::request_animation_frame(move || {
            if canvas.scroller.client_height() > 0 {
                canvas.update();
            }
        });
    }

    /// Brings a row to the top, or to the end of the branch, and gives it the focus if asked.
    fn jump(&self, anchor: Anchor, with_focus: Option<usize>) {
        if let Some(state) = self.state.borrow_mut().as_mut() {
            state.anchor = anchor;
            state.set = -1.0;
            state.focus = with_focus;
            if let Anchor::Row(row, _) = anchor
                && unfold_for(state, row)
            {
                self.relay(state);
            }
        }
        self.update();
    }

    /// Lays out again after a run was opened or closed.
    fn relay(&self, state: &mut State) {
        let built = std::mem::take(&mut state.built);
        self.drop_blocks(built);
        self.lay_out(state);
    }

    /// Shows a message of this branch. `false` where it is not on it.
    pub fn reveal(&self, id: &MessageId, with_focus: bool) -> bool {
        let find = |state: &State| state.outline.rows.iter().position(|row| row.id == *id);
        let Some(row) = self.state.borrow().as_ref().and_then(find) else { return false };
        if let Some(state) = self.state.borrow_mut().as_mut() {
            state.sought = Some(row);
        }
        self.jump(Anchor::Row(row, TOP), with_focus.then_some(row));
        true
    }
}

/// What was shown before: items, blocks, the branch, what is unfolded, and the nodes.
type Before<'a> = (&'a [Item], &'a [Block], &'a Branch, &'a [usize], &'a HashMap<MessageId, Rc<Node>>);

/// Whether a block would be built as it was.
fn same_block((items, blocks, outline, unfolded, nodes): Before<'_>, state: &State, at: usize) -> bool {
    let (Some(old), Some(new)) = (blocks.get(at), state.blocks.get(at)) else { return false };
    if old.items != new.items || items[old.items.clone()] != state.items[new.items.clone()] {
        return false;
    }
    let (before, now) = (&outline.rows, &state.outline.rows);
    items[old.items.clone()].iter().all(|item| match item {
        Item::Hidden { .. } => true,
        Item::Row { row, .. } => {
            let same = before[*row] == now[*row] && (*row + 1 == before.len()) == (*row + 1 == now.len());
            let node = |nodes: &HashMap<MessageId, Rc<Node>>| nodes.get(&now[*row].id).map(Rc::as_ptr);
            same && node(nodes) == node(&state.nodes)
                && items::fork(before, *row, unfolded) == items::fork(now, *row, &state.unfolded)
        }
    })
}

/// How far below the edge a message comes to lie that is jumped to.
const TOP: f64 = 16.0;

fn focus(element: &Element) {
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let how = js_sys::Object::new();
        let _ = js_sys::Reflect::set(&how, &"preventScroll".into(), &JsValue::TRUE);
        // `focus` with options is not among the typed bindings of every version.
        if let Ok(call) = js_sys::Reflect::get(element, &"focus".into())
            && let Some(call) = call.dyn_ref::<js_sys::Function>()
        {
            let _ = call.call1(element, &how);
        }
    }
}

/// Opens the run that hides a row. Says whether there was one.
fn unfold_for(state: &mut State, row: usize) -> bool {
    let rows = &state.outline.rows;
    // The first row of a thread is often hidden; opening at the top does not mean to unfold it.
    if row == 0 || !rows.get(row).is_some_and(|row| row.hidden) {
        return false;
    }
    let run = rows[..row].iter().rposition(|row| !row.hidden).map_or(0, |before| before + 1);
    let closed = !state.unfolded.contains(&run);
    if closed {
        state.unfolded.push(run);
    }
    closed
}

/// Lets go of nodes far from what is built, when there are many.
fn trim(state: &mut State) {
    if state.nodes.len() <= KEPT {
        return;
    }
    let mut all = std::mem::take(&mut state.nodes);
    for built in &state.built {
        let Some(rows) = rows_of(&state.items, &state.blocks[built.at]) else { continue };
        let near = rows.start.saturating_sub(300)..(rows.end + 300).min(state.outline.rows.len());
        for row in &state.outline.rows[near] {
            if let Some(node) = all.remove(&row.id) {
                state.nodes.insert(row.id.clone(), node);
            }
        }
    }
}

fn hidden_line(rows: &Range<usize>, open: bool, level: u32) -> Element {
    let words = format!("{} hidden", format::plural(rows.len() as u64, "message"));
    let line = el("button")
        .attr("type", "button")
        .class("hidden-line")
        .attr("data-testid", "hidden")
        .attr("data-do", "hidden")
        .attr("data-start", &rows.start.to_string())
        .attr("aria-expanded", if open { "true" } else { "false" });
    el("div")
        .class(&format!("hidden-run level-{}", level.min(6)))
        .child(line.child(sign("eye")).child(el("span").text(&words)).child(sign("down")))
}
