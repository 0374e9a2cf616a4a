//! The dialog of connections: what there is, which is in use, adding from presets, editing, testing, removing, and keys that are kept
//! under a passphrase. What a test finds out is the worker's business; keys are [`keys`](super::keys)'.

mod editor;
mod fields;
mod list;

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{HtmlInputElement, KeyboardEvent, Node};

use super::keys::Connections;
use super::state::Page;
use super::view::{Slot, Spot, draw, markup, on};
use crate::connections::Connection;
use crate::wire::{Ask, Reply, Secret, Talk, Tested};
use crate::words;

/// What the dialog shows.
#[derive(Debug, Clone, PartialEq)]
enum View {
    /// The connections.
    List,
    /// One that is being written; it need not be among them yet.
    Edit(Connection),
}

/// How a test goes.
#[derive(Debug, Clone, PartialEq)]
enum Test {
    Running,
    Done(Tested),
}

#[derive(Clone, Copy)]
struct Panel {
    page: Page,
    keys: Connections,
    view: RwSignal<View>,
    /// The connection that is to be removed, once that is confirmed.
    removing: RwSignal<String>,
    /// The last test of each connection.
    tests: RwSignal<Vec<(String, Test)>>,
}

/// What a field holds.
fn value(spot: Spot) -> String {
    spot.get().map(|field| field.unchecked_into::<HtmlInputElement>().value()).unwrap_or_default()
}

fn checked(spot: Spot) -> bool {
    spot.get().is_some_and(|field| field.unchecked_into::<HtmlInputElement>().checked())
}

impl Panel {
    /// Saves a connection without a key: it is complete as it is.
    fn add(self, connection: Connection) {
        self.keys.choose(connection);
    }

    fn test(self, connection: &Connection) {
        let (id, secret) = (connection.id.clone(), self.keys.request(connection));
        let set = move |id: &str, test: Test| {
            // Who has closed the dialog needs no answer.
            self.tests.try_update(|tests| {
                tests.retain(|(of, _)| of != id);
                tests.push((id.to_owned(), test));
            });
        };
        set(&id, Test::Running);
        spawn_local(async move {
            set(&id, Test::Done(tested(self.page, secret).await));
        });
    }
}

fn on_enter(act: impl Fn() + 'static) -> Slot {
    on(move |event| {
        if event.unchecked_ref::<KeyboardEvent>().key() == "Enter" {
            event.prevent_default();
            act();
        }
    })
}

fn in_words(error: &threadkeep::protocol::ErrorReply) -> String {
    let words = words::words(error);
    [words.title.as_str(), ". ", &words.advice].concat()
}

/// Has a connection tested.
async fn tested(page: Page, secret: Secret) -> Tested {
    match page.engine.ask(Ask::Talk(Box::new(Talk::Test(secret)))).await {
        Ok(Reply::Tested(tested)) => tested,
        Ok(_) => Tested::default(),
        Err(error) => Tested { ok: false, words: in_words(&error) },
    }
}

fn outcome(test: &Option<Test>) -> Option<Node> {
    let (class, words) = match test.as_ref()? {
        Test::Running => ("tested", "Asking the model for a word…".to_owned()),
        Test::Done(tested) => (if tested.ok { "tested good" } else { "tested bad" }, tested.words.clone()),
    };
    Some(markup!(r#"<p class={} role="status" data-testid="connection-result">{}</p>"#, class, words))
}

/// The dialog.
pub fn panel(page: Page) -> Node {
    let panel = Panel {
        page,
        keys: page.connections,
        view: RwSignal::new(View::List),
        removing: RwSignal::new(String::new()),
        tests: RwSignal::new(Vec::new()),
    };
    let view = move |view: &View| {
        Some(match view {
            View::List => panel.list(),
            View::Edit(connection) => panel.editor(connection),
        })
    };
    markup!(
        r#"<div class="connections-panel" data-testid="connections">{}</div>"#,
        draw(move || panel.view.get(), view)
    )
}
