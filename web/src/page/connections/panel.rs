//! What the dialog of connections knows: which view is open, and the tests.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::connections::Connection;
use crate::page::keys::Connections;
use crate::page::state::Page;
use crate::wire::{Ask, Reply, Secret, Talk, Tested};
use crate::words;

/// What the dialog shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum View {
    /// The connections.
    List,
    /// One that is being written; it need not be among them yet.
    Edit(Connection),
}

/// How a test goes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    Running,
    Done(Tested),
}

#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub(super) page: Page,
    pub(super) keys: Connections,
    pub(super) view: RwSignal<View>,
    /// The connection that is to be removed, once that is confirmed.
    pub(super) removing: RwSignal<String>,
    /// The last test of each connection.
    pub(super) tests: RwSignal<Vec<(String, Test)>>,
}

impl Panel {
    /// With the list.
    pub(super) fn new(page: Page) -> Self {
        Self {
            page,
            keys: page.connections,
            view: RwSignal::new(View::List),
            removing: RwSignal::new(String::new()),
            tests: RwSignal::new(Vec::new()),
        }
    }

    /// Has a connection of the list tested.
    pub(super) fn test(self, connection: &Connection) {
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

/// Has a connection tested.
pub(super) async fn tested(page: Page, secret: Secret) -> Tested {
    match page.engine.ask(Ask::Talk(Box::new(Talk::Test(secret)))).await {
        Ok(Reply::Tested(tested)) => tested,
        Ok(_) => Tested::default(),
        Err(error) => Tested { ok: false, words: words::words(&error).line() },
    }
}
