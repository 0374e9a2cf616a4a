//! The page's thread: everything that is drawn. Its parts are functions that make a [view] over the signals of
//! [`state`]; what they decide is decided by the plain modules beside this one; messages, which are many, are built by hand
//! in [`canvas`].

mod article;
mod bin;
mod browser;
mod canvas;
mod check;
mod compaction;
mod compare;
mod composer;
mod connections;
mod dialogs;
mod dom;
mod engine;
mod epochs;
mod imports;
mod inspector;
mod installed;
mod keys;
mod live;
mod map;
mod memory;
mod nav;
mod panels;
mod prose;
mod requests;
mod search;
mod side;
pub(crate) mod signs;
mod state;
mod storage;
mod talk;
mod theme;
mod thread;
mod threads;
mod typed;
mod view;
mod welcome;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{KeyboardEvent, Node};

use dom::focus;
use side::Side;
use state::{Dialog, Page};
use view::{at_window, click, follow, live, markup, on, rows};

/// Mounts the page in place of its splash.
pub fn start() {
    // What ships stops without words, and the loader says so; while it is built, the words help.
    #[cfg(debug_assertions)]
    std::panic::set_hook(Box::new(|info| web_sys::console::error_1(&info.to_string().into())));
    let Some(root) = document().get_element_by_id("app") else { return };
    root.set_text_content(None);
    let into = root.clone();
    let app = move || {
        let _ = into.append_child(&app(Page::start()));
    };
    mount_to(root.unchecked_into(), app).forget();
}

fn app(page: Page) -> Node {
    // The list is read as soon as the store is open, and again after a restart.
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
    installed::watch(page);
    at_window("resize", move |_| page.resized.update(|times| *times += 1));
    at_window("keydown", move |event| {
        let event: KeyboardEvent = event.unchecked_into();
        // Also while one types, but not below a dialog.
        let search = (event.ctrl_key() || event.meta_key()) && !event.alt_key() && event.key() == "k";
        if search && page.dialog.with_untracked(Option::is_none) {
            event.prevent_default();
            return focus(".filter input");
        }
        let typing = dom::closest(event.target(), "input, select, textarea, dialog").is_some();
        if typing || event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented() {
            return;
        }
        match event.key().as_str() {
            "/" => focus(".filter input"),
            "?" => page.dialog.set(Some(Dialog::Keys)),
            "m" => page.turn(Side::Map),
            "c" => page.turn(Side::Context),
            "q" => page.turn(Side::Requests),
            "e" if page.leaf.get_untracked().is_some() => page.show_epochs(None),
            "p" if page.side.get_untracked() == Some(Side::Context) && page.leaf.get_untracked().is_some() => {
                page.inspector.pin()
            }
            _ => return,
        }
        event.prevent_default();
    });
    let has_thread = move || {
        let route = page.nav.route();
        route.transcript.is_some() || route.fresh
    };
    let skip = move |event: web_sys::Event| {
        event.prevent_default();
        focus(if page.nav.now().transcript.is_some() { "#messages" } else { "#thread-list" });
    };
    let home = move |event: web_sys::Event| {
        event.prevent_default();
        page.nav.go(crate::route::Route::default());
    };
    markup!(
        r##"
        <a class="skip" href="#messages" onclick={}>Skip to the messages</a>
        {}
        <main class="panes" class:with-thread={} class:with-side={} class:with-inspector={} class:blank={}>
            <nav class="pane threads" aria-label="Threads">
                <header class="brand">
                    <h1>
                        <a href="#/" onclick={}><img src="./icon.svg" alt="" width="20" height="20"/>Threadkeep</a>
                    </h1>
                    <div class="brand-acts">
                        <button type="button" class="icon" title="New conversation" aria-label="New conversation" data-testid="new" onclick={}>
                            <svg sign="plus"/>
                        </button>
                        <div class="pick">{}</div>
                    </div>
                </header>
                {}
                <footer class="foot">{}</footer>
            </nav>
            {}
        </main>
        <div class="corner">{}{}</div>
        {}
        {}"##,
        on(skip),
        dialogs::engine_banner(page),
        live(has_thread),
        live(move || page.side.get().is_some_and(|side| side != Side::Context) && has_thread()),
        live(move || page.shows(Side::Context) && has_thread()),
        live(move || page.threads.none()),
        on(home),
        click(move || {
            page.nav.go(crate::route::Route { fresh: true, ..crate::route::Route::default() });
            view::soon(|| focus("[data-testid=compose]"));
        }),
        imports::pick_buttons(page),
        threads::pane(page),
        threads::foot(page),
        thread::pane(page),
        imports::card(page),
        notices(page),
        imports::drop_zone(page),
        dialogs::dialogs(page),
    )
}

fn notices(page: Page) -> Node {
    let notice = move |notice: &state::Notice| {
        let number = notice.number;
        let text = (!notice.text.is_empty()).then(|| markup!("<p>{}</p>", notice.text.clone()));
        let act = notice.act.clone().map(|act| {
            let run = move || {
                page.notices.close(number);
                (act.run)();
            };
            markup!(r#"<button type="button" data-testid="notice-act" onclick={}>{}</button>"#, click(run), act.label)
        });
        markup!(
            r#"
            <div class="notice" class:bad={}>
                <div>
                    <p class="notice-title">{}</p>
                    {}{}
                </div>
                <button type="button" class="icon" title="Close" aria-label="Close" onclick={}>
                    <svg sign="close"/>
                </button>
            </div>"#,
            notice.bad,
            notice.title.clone(),
            text,
            act,
            click(move || page.notices.close(number)),
        )
    };
    markup!(
        r#"<div class="notices" role="status" aria-live="polite" data-testid="status">{}</div>"#,
        rows(move |row| {
            for one in page.notices.list.get() {
                row(one.number.to_string(), &mut || notice(&one));
            }
        }),
    )
}
