//! The part of a thread that is on the screen: builds the blocks near the viewport, measures them, drops those that are
//! far, and keeps what the reader looks at in its place while guesses are corrected around it.
//!
//! Goes in: an outline, the scroll position, clicks and keys. Comes out: elements in the scroller, requests for the rows
//! that are missing, and [`Action`]s for what is not this module's business.

mod acts;
mod build;
mod cards;
mod carried;
mod dress;
mod feet;
mod fetch;
mod marks;
mod scroll;
mod show;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use threadkeep::protocol::ErrorReply;
use threadkeep_core::MessageId;
use wasm_bindgen::prelude::*;
use web_sys::{Element, HtmlElement, ResizeObserver};

use super::article::Opened;
use super::dom::{Build as _, el, length};
use super::engine::Engine;
use super::inspector::Selected;
use crate::inspect::Marks;
use crate::items::{Block, Item};
use crate::requests::Foot;
use crate::window::Heights;
use crate::wire::{Branch, Carrier, Node};

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
    /// Undo the compaction of this checkpoint.
    UndoCompaction(String),
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
    /// Keep this in each prompt (`true`), or no longer.
    Pin(MessageId, bool),
    /// Have this answered again, as a branch beside it.
    Again(MessageId),
    /// Go on after a failure.
    GoOn(MessageId),
    /// Carry on this interrupted turn.
    Resume(MessageId),
    /// Hold the branch that ends here against the one on the screen.
    Compare(MessageId),
    /// Show the request with this id.
    Request(String),
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
    /// What stands below answers.
    feet: Rc<RefCell<HashMap<MessageId, Foot>>>,
}

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
            feet: Rc::default(),
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

    /// Sets back what follows the message below which something is to be said.
    pub fn aim(&self, target: Option<&MessageId>) {
        if let Some(state) = self.state.borrow_mut().as_mut()
            && state.target.as_ref() != target
        {
            state.target = target.cloned();
            self.dress_all(state);
        }
    }
}

/// How far below the edge a message comes to lie that is jumped to.
const TOP: f64 = 16.0;
