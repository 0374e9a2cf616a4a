//! The page's thread: everything that is drawn. Components are views over the signals of [`state`]; what they decide is
//! decided by the plain modules beside this one; messages, which are many, are built by hand in [`canvas`].

mod article;
mod canvas;
mod dialogs;
mod dom;
mod engine;
mod imports;
mod map;
mod nav;
mod prose;
mod signs;
mod state;
mod storage;
mod theme;
mod thread;
mod threads;
mod welcome;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use dialogs::{Dialogs, EngineBanner};
use imports::{DropZone, ImportCard, PickButtons};
use signs::Sign;
use state::{Dialog, Page};
use thread::ThreadPane;
use threads::{ThreadsFoot, ThreadsPane};

/// Mounts the page in place of its splash.
pub fn start() {
    std::panic::set_hook(Box::new(|info| {
        web_sys::console::error_1(&info.to_string().into());
        // A page that no longer answers says so, with what little still works.
        if let Some(splash) = document().body() {
            splash.set_attribute("data-stopped", "").ok();
        }
    }));
    let Some(root) = document().get_element_by_id("app") else { return };
    root.set_text_content(None);
    mount_to(root.unchecked_into(), App).forget();
}

fn focus(selector: &str) {
    let found = document().query_selector(selector).ok().flatten();
    if let Some(element) = found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        let _ = element.focus();
    }
}

#[component]
fn App() -> impl IntoView {
    let page = Page::start();
    provide_context(page);
    // The list is read as soon as the store is open, and again after a restart.
    let open = Memo::new(move |_| matches!(page.engine.state.get(), engine::State::Open { .. }));
    Effect::new(move |_| {
        if open.get() {
            page.threads.check_again();
            leptos::task::spawn_local(page.threads.refresh());
        }
    });
    let keys = window_event_listener(ev::keydown, move |event| {
        let typing = dom::closest(event.target(), "input, select, textarea, dialog").is_some();
        if typing || event.ctrl_key() || event.meta_key() || event.alt_key() || event.default_prevented() {
            return;
        }
        match event.key().as_str() {
            "/" => focus(".filter input"),
            "?" => page.dialog.set(Some(Dialog::Keys)),
            "m" => page.show_map(!page.map.get_untracked()),
            _ => return,
        }
        event.prevent_default();
    });
    std::mem::forget(keys);
    let has_thread = move || page.nav.route().transcript.is_some();
    let blank = Memo::new(move |_| page.threads.none());
    view! {
        <a
            class="skip"
            href="#messages"
            on:click=move |event| {
                event.prevent_default();
                focus(if page.nav.now().transcript.is_some() { "#messages" } else { "#thread-list" });
            }
        >
            "Skip to the messages"
        </a>
        <EngineBanner />
        <main class="panes" class:with-thread=has_thread class:with-map=move || page.map.get() && has_thread() class:blank=blank>
            <nav class="pane threads" aria-label="Threads">
                <header class="brand">
                    <h1>
                        <a
                            href="#/"
                            on:click=move |event| {
                                event.prevent_default();
                                page.nav.go(crate::route::Route::default());
                            }
                        >
                            <img src="./icon.svg" alt="" width="20" height="20" />
                            "Threadkeep"
                        </a>
                    </h1>
                    <div class="pick">
                        <PickButtons />
                    </div>
                </header>
                <ThreadsPane />
                <footer class="foot">
                    <ThreadsFoot />
                </footer>
            </nav>
            <ThreadPane />
        </main>
        <div class="corner">
            <ImportCard />
            <Notices />
        </div>
        <DropZone />
        <Dialogs />
    }
}

#[component]
fn Notices() -> impl IntoView {
    let page = Page::of_context();
    view! {
        <div class="notices" role="status" aria-live="polite" data-testid="status">
            <For
                each=move || page.notices.list.get()
                key=|notice| notice.number
                children=move |notice| {
                    let text = (!notice.text.is_empty()).then(|| view! { <p>{notice.text}</p> });
                    view! {
                        <div class="notice" class:bad=notice.bad>
                            <div>
                                <p class="notice-title">{notice.title}</p>
                                {text}
                            </div>
                            <button
                                type="button"
                                class="icon"
                                title="Close"
                                aria-label="Close"
                                on:click=move |_| page.notices.close(notice.number)
                            >
                                <Sign name="close" />
                            </button>
                        </div>
                    }
                }
            />
        </div>
    }
}
