//! The list of connections: which is in use, what can be done with each, adding from presets, and unlocking kept keys.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_provider::{PRESETS, Preset};
use web_sys::KeyboardEvent;

use super::form::value;
use super::outcome::Outcome;
use super::panel::{Panel, View};
use crate::connections::{CHROME, Connection, DEMO};
use crate::page::basics::{IconButton, Sign, drawn};
use crate::page::browser;
use crate::page::keys::KeyState;

/// The connections, and what can be added.
#[component]
pub(super) fn List(panel: Panel) -> impl IntoView {
    let keys = panel.keys;
    view! {
        <Show when=move || { keys.locked() > 0 }>
            <Unlock panel/>
        </Show>
        <Show when=move || keys.book.with(|book| book.list.is_empty())>
            <p class="faint" data-testid="connections-none">
                "None yet. Add one to talk to a model; reading needs none."
            </p>
        </Show>
        <ul class="connections" aria-label="Your connections">
            <For
                each=move || keys.book.get().list
                key=|one| format!("{one:?}")
                children=move |one| view! { <Entry panel one/> }
            />
        </ul>
        <h3>"Add a connection"</h3>
        <Presets panel/>
        <p class="privacy">
            <Sign name="lock"/>
            <span>
                "What you say goes from this browser straight to the model that you choose, and nowhere else. Keys stay in this page's memory until you close it, unless you keep them under a passphrase."
            </span>
        </p>
    }
}

/// What can be added.
#[component]
fn Presets(panel: Panel) -> impl IntoView {
    let keys = panel.keys;
    let preset = |preset: &'static Preset| {
        let add = move |_| panel.view.set(View::Edit(Connection::of_preset(preset, new_id())));
        view! {
            <button type="button" data-testid=format!("preset-{}", preset.id) on:click=add>{preset.name}</button>
        }
    };
    let browsers = RwSignal::new(None::<String>);
    spawn_local(async move {
        browsers.try_set(browser::language_model().await);
    });
    let own = move || {
        let words = match browsers.get()?.as_str() {
            "available" => "Chrome's built-in model",
            _ => "Chrome's built-in model (must be loaded)",
        };
        Some(view! {
            <button
                type="button"
                data-testid="preset-chrome"
                disabled=move || keys.book.with(|book| book.find(CHROME).is_some())
                on:click=move |_| keys.choose(Connection::chrome())
            >
                {words}
            </button>
        })
    };
    view! {
        <div class="presets">
            {PRESETS.iter().map(preset).collect_view()}
            {own}
            <button
                type="button"
                data-testid="preset-demo"
                disabled=move || keys.book.with(|book| book.find(DEMO).is_some())
                on:click=move |_| keys.choose(Connection::demo())
            >
                "Offline demo (scripted)"
            </button>
        </div>
    }
}

/// A connection of the list.
#[component]
fn Entry(panel: Panel, one: Connection) -> impl IntoView {
    let keys = panel.keys;
    let connection = StoredValue::new(one.clone());
    let is_it = move |id: &str| connection.with_value(|one| one.id == id);
    let chosen = Memo::new(move |_| keys.book.with(|book| is_it(&book.chosen)));
    let choose = move |_| keys.change(|book| book.chosen = connection.with_value(|one| one.id.clone()));
    let key = move || connection.with_value(|one| held(one.is_inside(), keys.key_state(one)));
    let test = Memo::new(move |_| {
        panel.tests.with(|tests| tests.iter().find(|(id, _)| is_it(id)).map(|(_, test)| test.clone()))
    });
    let removing = Memo::new(move |_| panel.removing.with(|id| is_it(id)));
    view! {
        <li class="connection" class:chosen=move || chosen.get() data-testid="connection">
            <label>
                <input
                    type="radio"
                    name="connection"
                    checked=chosen.get_untracked()
                    data-testid="connection-use"
                    on:change=choose
                />
                <span class="connection-name" dir="auto">{drawn(&one.name)}</span>
                <span class="thread-facts">
                    <span>{drawn(&one.place())}</span>
                    <span data-testid="connection-key">{key}</span>
                </span>
            </label>
            <p class="memory-acts">
                {move || {
                    let one = connection.get_value();
                    if removing.get() {
                        view! { <Sure panel id=one.id/> }.into_any()
                    } else {
                        view! { <Acts panel one/> }.into_any()
                    }
                }}
            </p>
            <Outcome test/>
        </li>
    }
}

/// The question before a connection is removed.
#[component]
fn Sure(panel: Panel, id: String) -> impl IntoView {
    view! {
        <span class="sure">"Remove it, and its key?"</span>
        <button type="button" class="small" on:click=move |_| panel.removing.set(String::new())>"Keep"</button>
        <button
            type="button"
            class="small danger"
            data-testid="connection-confirm"
            on:click=move |_| panel.keys.remove(&id)
        >
            "Remove"
        </button>
    }
}

/// What can be done with a connection.
#[component]
fn Acts(panel: Panel, one: Connection) -> impl IntoView {
    let (id, edited) = (one.id.clone(), one.clone());
    let edit = (!one.is_inside()).then(|| {
        view! {
            <IconButton sign="edit" words="Edit" testid="connection-edit" press=move |()| panel.view.set(View::Edit(edited.clone()))/>
        }
    });
    view! {
        <button type="button" class="small" data-testid="connection-test" on:click=move |_| panel.test(&one)>
            "Test"
        </button>
        {edit}
        <IconButton sign="trash" words="Remove…" testid="connection-remove" press=move |()| panel.removing.set(id.clone())/>
    }
}

/// The field for the passphrase of kept keys.
#[component]
fn Unlock(panel: Panel) -> impl IntoView {
    let field = NodeRef::<html::Input>::new();
    let said = RwSignal::new(String::new());
    let unlock = move || {
        let passphrase = value(field);
        if passphrase.is_empty() {
            return;
        }
        said.set("Unlocking…".to_owned());
        spawn_local(async move {
            let words = match panel.keys.unlock(&passphrase).await {
                Ok(0) => "That is not the passphrase that the keys were kept under.".to_owned(),
                Ok(_) => String::new(),
                Err(why) => why,
            };
            said.try_set(words);
        });
    };
    let entered = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            unlock();
        }
    };
    view! {
        <div class="unlock" role="group" aria-label="Locked keys">
            <Sign name="lock"/>
            <label>
                <span>"Passphrase of your kept keys"</span>
                <input
                    type="password"
                    autocomplete="off"
                    data-testid="unlock-passphrase"
                    node_ref=field
                    on:keydown=entered
                />
            </label>
            <button type="button" class="primary" data-testid="unlock" on:click=move |_| unlock()>"Unlock"</button>
            <p role="status" data-testid="unlock-said">{move || drawn(&said.get())}</p>
        </div>
    }
}

/// Says where the key of a connection is.
fn held(inside: bool, state: KeyState) -> &'static str {
    match (inside, state) {
        (true, _) => "needs no key",
        (_, KeyState::None) => "no key",
        (_, KeyState::Memory) => "key in memory",
        (_, KeyState::Kept) => "key kept, unlocked",
        (_, KeyState::Locked) => "key kept, locked",
    }
}

/// An id that no other connection has; it names nothing outside of this page.
fn new_id() -> String {
    let id: String = (js_sys::Math::random() * 1e15).to_string();
    id.replace('.', "")
}
