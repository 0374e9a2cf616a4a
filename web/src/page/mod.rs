//! The page's thread: everything that is drawn. Its parts are components over the signals of [`state`]; what they decide is decided by
//! the plain modules beside this one. Messages are many, and are built by hand in [`canvas`].

mod article;
mod banner;
mod basics;
mod bin;
mod browser;
mod canvas;
mod check;
mod compaction;
mod compare;
mod composer;
mod connections;
mod copied;
mod deletion;
mod dialogs;
mod dom;
mod effects;
mod engine;
mod epochs;
mod imports;
mod inspector;
mod installed;
mod keys;
mod live;
mod map;
mod memory;
mod meter;
mod nav;
mod notices;
mod palette;
mod panels;
mod prose;
mod requests;
mod script;
mod search;
mod share;
mod shortcuts;
mod side;
mod sides;
pub(crate) mod signs;
mod state;
mod storage;
mod sync;
mod talk;
mod theme;
mod thread;
mod threads;
mod welcome;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{KeyboardEvent, MouseEvent};

use banner::Banner;
use basics::IconButton;
use dialogs::Dialogs;
use dom::focus;
use effects::{at_window, follow, soon};
use imports::{Card, DropZone, PickButtons};
use notices::NoticeList;
use state::{Dialog, Page};
use thread::ThreadPane;
use threads::{Foot, Pane};

use crate::beside::Side;
use crate::route::Route;

/// Mounts the page in place of its splash.
pub fn start() {
    // What ships stops without words, and the loader says so; while it is built, the words help.
    #[cfg(debug_assertions)]
    std::panic::set_hook(Box::new(|info| web_sys::console::error_1(&info.to_string().into())));
    let Some(root) = document().get_element_by_id("app") else { return };
    root.set_text_content(None);
    let app = || view! { <App page=Page::start()/> };
    mount_to(root.unchecked_into(), app).forget();
}

/// Reads the list as soon as the store is open, and again after a restart.
fn follow_engine(page: Page) {
    let mut was_open = false;
    follow(move || {
        let open = page.engine.is_open();
        if open && !was_open {
            page.threads.check_again();
            page.import_waiting();
            leptos::task::spawn_local(page.threads.refresh());
        }
        was_open = open;
    });
}

/// Keys that mean the same all over the page.
fn pressed(page: Page, event: &KeyboardEvent) {
    // Also while one types, but not below a dialog.
    let palette = (event.ctrl_key() || event.meta_key()) && !event.alt_key() && event.key() == "k";
    if palette && page.dialog.with_untracked(Option::is_none) {
        event.prevent_default();
        return page.dialog.set(Some(Dialog::Palette));
    }
    let typing = dom::closest(event.target(), "input, select, textarea, dialog").is_some();
    if typing || event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented() {
        return;
    }
    match event.key().as_str() {
        "/" => focus(".filter input"),
        "?" => page.dialog.set(Some(Dialog::Keys)),
        "m" => page.sides.turn(Side::Map),
        "c" => page.sides.turn(Side::Context),
        "q" => page.sides.turn(Side::Requests),
        "e" if page.leaf.get_untracked().is_some() => page.show_epochs(None),
        "p" if untrack(|| page.sides.shows(Side::Context)) && page.leaf.get_untracked().is_some() => {
            page.inspector.pin()
        }
        _ => return,
    }
    event.prevent_default();
}

#[component]
fn App(page: Page) -> impl IntoView {
    follow_engine(page);
    installed::watch(page);
    at_window("resize", move |_| page.resized.update(|times| *times += 1));
    at_window("keydown", move |event| pressed(page, event.unchecked_ref()));
    let has_thread = move || {
        let route = page.nav.route();
        route.transcript.is_some() || route.fresh
    };
    let at_least = move |panels| has_thread() && page.sides.shown().len() >= panels;
    let skip = move |event: MouseEvent| {
        event.prevent_default();
        focus(if page.nav.now().transcript.is_some() { "#messages" } else { "#thread-list" });
    };
    let home = move |event: MouseEvent| {
        event.prevent_default();
        page.nav.go(Route::default());
    };
    let begin = move |()| {
        page.nav.go(Route { fresh: true, ..Route::default() });
        soon(|| focus("[data-testid=compose]"));
    };
    view! {
        <a class="skip" href="#messages" on:click=skip>"Skip to the messages"</a>
        <Banner page/>
        <main
            class="panes"
            class:with-thread=has_thread
            class:with-side=move || at_least(1)
            class:with-two=move || at_least(2)
            class:with-inspector=move || at_least(1) && page.sides.shows(Side::Context)
            class:blank=move || page.threads.none()
        >
            <nav class="pane threads" aria-label="Threads">
                <header class="brand">
                    <h1>
                        <a href="#/" on:click=home>
                            <img src="./icon.svg" alt="" width="20" height="20"/>
                            "Threadkeep"
                        </a>
                    </h1>
                    <div class="brand-acts">
                        <IconButton sign="plus" words="New conversation" testid="new" press=begin/>
                        <div class="pick"><PickButtons page/></div>
                    </div>
                </header>
                <Pane page/>
                <footer class="foot"><Foot page/></footer>
            </nav>
            <ThreadPane page/>
        </main>
        <div class="corner">
            <Card page/>
            <NoticeList page/>
        </div>
        <DropZone page/>
        <Dialogs page/>
    }
}
