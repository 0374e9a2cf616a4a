//! The open thread: its head, its messages, and what happens when another one, another branch or another place is asked
//! for. The messages themselves are the canvas's.

mod acts;
mod feet;
mod head;
mod heard;
mod places;
mod read;
mod state;
mod summarised;

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{KeyboardEvent, MouseEvent};

use self::head::Head;
use self::places::{Fresh, Missing};
use self::state::{Shown, Thread};
use self::summarised::Summarised;
use super::basics::{Sign, drawn};
use super::composer::Composer;
use super::dom;
use super::effects::{at_window, follow, soon};
use super::engine::State;
use super::panels::{Later, Panel};
use super::state::Page;
use super::welcome::Welcome;

impl Thread {
    /// Follows the address, the engine and the keys, and puts the canvas into `scroller`.
    fn begin(self, scroller: NodeRef<html::Div>) {
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
            if let Some(element) = scroller.get_untracked() {
                thread.mount(element.into());
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

/// The thread and what stands beside it.
#[component]
pub fn ThreadPane(page: Page) -> impl IntoView {
    let thread = Thread::new(page);
    let scroller = NodeRef::new();
    thread.begin(scroller);
    follow_marks(thread);
    thread.follow_requests();
    let is_thread = move || thread.shown.with(|shown| *shown == Shown::Thread);
    let scrolled = move |_| {
        if let Some(canvas) = thread.canvas() {
            canvas.scrolled();
            thread.look();
        }
    };
    let to_end = move |_| {
        if let Some(canvas) = thread.canvas() {
            canvas.to_end();
            thread.look();
        }
    };
    let clicked = move |event: MouseEvent| {
        if let Some(canvas) = thread.canvas() {
            canvas.clicked(event.target());
        }
    };
    // Who has neither a thread nor a model has nothing to write to yet.
    let begun = move || page.nav.route().fresh || !page.threads.none() || page.connections.in_use().is_some();
    let writes = move || {
        let shown = thread.shown.get();
        page.engine.is_open() && (shown == Shown::Thread || shown == Shown::Nothing && begun())
    };
    view! {
        <section class="pane thread" class:with-details=move || page.details.get() aria-label="Thread" data-testid="thread">
            <Show when=is_thread>
                <Head thread/>
                <Summarised thread/>
            </Show>
            <div
                class="scroller"
                class:gone=move || !is_thread()
                id="messages"
                tabindex="0"
                role="region"
                aria-label="Messages"
                data-testid="messages"
                node_ref=scroller
                on:scroll=scrolled
                on:click=clicked
            ></div>
            <Instead thread/>
            <Show when=move || thread.behind.get()>
                <div class="to-end">
                    <button type="button" data-testid="to-end" on:click=to_end><Sign name="down"/>"Latest"</button>
                </div>
            </Show>
            <Show when=writes>
                <Composer page/>
            </Show>
        </section>
        <Show when=is_thread>
            <Show when=move || !page.sides.shown().is_empty()>
                <Later page panel=Panel::Sides/>
            </Show>
        </Show>
    }
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
#[component]
fn Instead(thread: Thread) -> impl IntoView {
    let page = thread.page;
    let failed = move || matches!(page.engine.state.get(), State::Failed(_));
    let now = Memo::new(move |_| (thread.shown.get(), failed(), page.nav.route().fresh));
    move || match now.get() {
        (Shown::Thread, ..) | (Shown::Reading, true, _) => ().into_any(),
        (Shown::Reading, ..) => view! { <p class="reading" role="status">"Reading…"</p> }.into_any(),
        (Shown::Nothing, _, true) => view! { <Fresh page/> }.into_any(),
        (Shown::Nothing, ..) => view! { <Welcome page/> }.into_any(),
        (Shown::Missing, ..) => view! { <Missing page/> }.into_any(),
        (Shown::Failed(words), ..) => view! {
            <div class="message-page">
                <h2>{drawn(&words.title)}</h2>
                <p>{drawn(&words.advice)}</p>
            </div>
        }
        .into_any(),
    }
}
