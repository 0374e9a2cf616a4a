//! The open thread: its head, its messages, and what happens when another one, another branch or another place is asked
//! for. The messages themselves are the canvas's.

mod acts;
mod feet;
mod head;
mod heard;
mod places;
mod read;

use leptos::prelude::*;
use threadkeep_core::MessageId;
use wasm_bindgen::prelude::*;
use web_sys::{Event, KeyboardEvent, Node};

use self::places::{fresh, missing};
use super::canvas::{Canvas, Start};
use super::engine::State;
use super::side::Side;
use super::state::Page;
use super::view::{Spot, at_window, click, draw, follow, live, markup, on, soon};
use super::{composer, dom, inspector, map, panels, welcome};
use crate::wire::ThreadInfo;
use crate::words::Words;

/// What the pane shows.
#[derive(Debug, Clone, PartialEq)]
enum Shown {
    /// Nothing is chosen.
    Nothing,
    /// Something is being read, for the first time.
    Reading,
    /// The thread.
    Thread,
    /// The address leads nowhere.
    Missing,
    /// It could not be read.
    Failed(Words),
}

/// The branch that is on the screen.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    info: ThreadInfo,
    leaf: MessageId,
    damage: Option<String>,
    rows: usize,
}

#[derive(Clone, Copy)]
struct Thread {
    page: Page,
    shown: RwSignal<Shown>,
    open: RwSignal<Option<Open>>,
    canvas: StoredValue<Option<Canvas>, LocalStorage>,
    start: StoredValue<Option<Start>>,
    /// Counts what was asked for, so that a late answer does not replace a newer one.
    asked: StoredValue<usize>,
    /// The last of these that was answered.
    answered: StoredValue<usize>,
    due: StoredValue<bool>,
    /// Whether the answer that grows is being read, and must be again.
    growing: StoredValue<(bool, bool)>,
}

impl Thread {
    fn canvas(self) -> Option<Canvas> {
        self.canvas.with_value(Clone::clone)
    }

    /// Follows the address, the engine and the keys, and puts the canvas into `scroller`.
    fn begin(self, scroller: Spot) {
        let (thread, page) = (self, self.page);
        page.talking.follow(move |step| thread.step(step));
        follow(move || {
            let aim = page.target.get().and_then(|target| target.edit.unwrap_or(Some(target.node)));
            if let Some(canvas) = thread.canvas() {
                canvas.aim(aim.as_ref());
            }
        });
        page.engine.listen(move |events| thread.heard(events));
        follow(move || {
            let route = page.nav.route();
            if page.engine.is_open() {
                soon(move || thread.follow(&route));
            }
        });
        soon(move || {
            if let Some(element) = scroller.get() {
                thread.mount(element);
            }
        });
        at_window("keydown", move |event| thread.pressed(event.unchecked_into()));
    }

    /// Keys are heard everywhere, so that one can turn branches without first stepping into the thread; those that mean something
    /// elsewhere too count only in it.
    fn pressed(self, event: KeyboardEvent) {
        let elsewhere = dom::closest(event.target(), "input, select, textarea, dialog").is_some();
        if event.ctrl_key() || event.meta_key() || event.default_prevented() || elsewhere {
            return;
        }
        let inside = dom::closest(event.target(), "[data-testid=thread]").is_some();
        if !inside && !matches!(event.key().as_str(), "j" | "k" | "[" | "]") {
            return;
        }
        if let Some(canvas) = self.canvas()
            && canvas.key(&event.key(), event.alt_key(), document().active_element())
        {
            event.prevent_default();
        }
    }
}

/// What stands beside the thread.
fn beside(page: Page, side: Side) -> Node {
    match side {
        Side::Context => inspector::pane(page),
        Side::Map => map::pane(page),
        Side::Requests => markup!(
            r#"
            <aside class="pane map requests" aria-label="Requests" data-testid="requests">
                <header class="map-head">
                    <h2>Requests</h2>
                    <button type="button" class="icon" title="Close the requests" aria-label="Close the requests" onclick={}>
                        <svg sign="close"/>
                    </button>
                </header>
                <div class="requests-body">{}</div>
            </aside>"#,
            click(move || page.turn(side)),
            panels::later(Box::new(move |panels| panels.requests(page))),
        ),
    }
}

/// The thread and what stands beside it.
pub fn pane(page: Page) -> Node {
    let thread = Thread {
        page,
        shown: RwSignal::new(Shown::Reading),
        open: RwSignal::new(None),
        canvas: StoredValue::new_local(None),
        start: StoredValue::new(None),
        asked: StoredValue::new(0),
        answered: StoredValue::new(0),
        due: StoredValue::new(false),
        growing: StoredValue::new((false, false)),
    };
    let scroller = Spot::new();
    thread.begin(scroller);
    follow_marks(thread);
    thread.follow_requests();
    let is_thread = move || thread.shown.with(|shown| *shown == Shown::Thread);
    let scrolled = move || {
        if let Some(canvas) = thread.canvas() {
            canvas.scrolled();
        }
    };
    let clicked = move |event: Event| {
        if let Some(canvas) = thread.canvas() {
            canvas.clicked(event.target());
        }
    };
    let failed = move || matches!(page.engine.state.get(), State::Failed(_));
    // Who has neither a thread nor a model has nothing to write to yet.
    let begun = move || page.nav.route().fresh || !page.threads.none() || page.connections.in_use().is_some();
    let writes = move || {
        let shown = thread.shown.get();
        page.engine.is_open() && (shown == Shown::Thread || shown == Shown::Nothing && begun())
    };
    markup!(
        r#"
        <section class="pane thread" aria-label="Thread" data-testid="thread">
            {}
            <div
                class="scroller"
                id="messages"
                tabindex="0"
                role="region"
                aria-label="Messages"
                data-testid="messages"
                class:gone={}
                ref={}
                onscroll={}
                onclick={}
            ></div>
            {}
            {}
        </section>
        {}"#,
        draw(is_thread, move |shown| shown.then(|| head::head(thread))),
        live(move || !is_thread()),
        scroller,
        click(scrolled),
        on(clicked),
        draw(move || (thread.shown.get(), failed(), page.nav.route().fresh), move |what| instead(page, what)),
        draw(writes, move |writes| writes.then(|| composer::composer(page))),
        draw(move || page.side.get().filter(|_| is_thread()), move |side| Some(beside(page, (*side)?))),
    )
}

/// Keeps marks, the sought line and what carries a message true to the inspector and to what was searched for.
fn follow_marks(thread: Thread) {
    let page = thread.page;
    follow(move || {
        page.inspector.changed.track();
        let Some(canvas) = thread.canvas() else { return };
        canvas.mark(page.inspector.marks());
        if let Some(place) = page.inspector.wanted() {
            canvas.show_place(place);
        }
    });
    follow(move || {
        if page.card.with(Option::is_some) {
            // Where its thread is open already, nothing else brings it on the screen.
            soon(move || thread.show_line());
        }
    });
    // What carries the selected message changes with a pin on it.
    follow(move || {
        page.inspector.pinned.track();
        if let Some(canvas) = thread.canvas()
            && let Some(node) = canvas.chosen_covered()
        {
            thread.ask_carrier(canvas, node);
        }
    });
}

/// What stands in the thread's place while there is none.
fn instead(page: Page, (shown, failed, is_fresh): &(Shown, bool, bool)) -> Option<Node> {
    match shown {
        Shown::Thread => None,
        Shown::Reading if *failed => None,
        Shown::Reading => Some(markup!(r#"<p class="reading" role="status">Reading…</p>"#)),
        Shown::Nothing if *is_fresh => Some(fresh(page)),
        Shown::Nothing => Some(welcome::welcome(page)),
        Shown::Missing => Some(missing(page)),
        Shown::Failed(words) => Some(markup!(
            r#"<div class="message-page"><h2>{}</h2><p>{}</p></div>"#,
            words.title.clone(),
            words.advice.clone(),
        )),
    }
}
