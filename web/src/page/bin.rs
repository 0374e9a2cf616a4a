//! Deletes into the bin, and offers Undo in a notice. The dialog lists the bin.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::Binned;

use super::basics::{Time, drawn};
use super::dom;
use super::state::Page;
use crate::removed;
use crate::route::Route;
use crate::wire::{Ask, Remove, Removed, Reply};

/// Deletes a thread, or a node of it and all that follows, into the bin.
pub fn delete(page: Page, what: Removed) {
    spawn_local(async move {
        match page.engine.ask(Ask::Remove(Remove::Bin(what.clone()))).await {
            Ok(Reply::Binned(gone)) => {
                leave(page, &what);
                if let Some(binned) = gone.first() {
                    let id = binned.id.clone();
                    page.notices.offer("Deleted", &removed::notice(binned), "Undo", move || undelete(page, id.clone()));
                }
            }
            Ok(_) => {}
            Err(error) if error.code == "quota" => page.notices.offer(
                "There is no room for the bin",
                "Nothing was deleted. What is deleted for good cannot be brought back.",
                "Delete for good",
                move || delete_for_good(page, what.clone()),
            ),
            Err(error) => page.notices.fail(&error),
        }
        page.threads.refresh().await;
    });
}

fn delete_for_good(page: Page, what: Removed) {
    spawn_local(async move {
        match page.engine.ask(Ask::Remove(Remove::Delete(what.clone()))).await {
            Ok(_) => leave(page, &what),
            Err(error) => page.notices.fail(&error),
        }
        page.threads.refresh().await;
    });
}

/// Leaves a thread that is gone.
fn leave(page: Page, what: &Removed) {
    if what.node.is_none() && page.nav.now().transcript.as_ref() == Some(&what.transcript) {
        page.nav.go(Route::default());
    }
}

/// Puts something from the bin back, and shows it.
fn undelete(page: Page, id: String) {
    spawn_local(async move {
        match page.engine.ask(Ask::Undelete(id)).await {
            Ok(Reply::Binned(back)) => {
                page.threads.refresh().await;
                if let Some(Binned { transcript, node, .. }) = back.into_iter().next() {
                    page.dialog.set(None);
                    page.nav.go(Route { leaf: node.clone(), at: node, ..Route::thread(transcript) });
                    page.notices.say("It is back", "Everything is as it was.");
                }
            }
            Ok(_) => {}
            Err(error) => page.notices.fail(&error),
        }
    });
}

/// The dialog's body: what is in the bin.
#[component]
pub fn BinDialog(page: Page) -> impl IntoView {
    let list = RwSignal::new(None::<Vec<Binned>>);
    let read = move || {
        spawn_local(async move {
            match page.engine.ask(Ask::Remove(Remove::List)).await {
                Ok(Reply::Binned(found)) => drop(list.try_set(Some(found))),
                Ok(_) => {}
                Err(error) => page.notices.fail(&error),
            }
        });
    };
    read();
    let take_out = move |ask: Remove| {
        spawn_local(async move {
            if let Err(error) = page.engine.ask(Ask::Remove(ask)).await {
                page.notices.fail(&error);
            }
            read();
        });
    };
    let row = move |binned: Binned| {
        let (back, gone) = (binned.id.clone(), binned.id.clone());
        view! {
            <li data-testid="binned">
                <div class="binned-what">
                    <p dir="auto"><strong>{drawn(&binned.title)}</strong></p>
                    <p class="faint">
                        {removed::about(&binned)}", deleted "<Time at=binned.at/>", "{removed::left(&binned, dom::now())}
                    </p>
                </div>
                <button
                    type="button"
                    class="quiet"
                    data-testid="drop-binned"
                    on:click=move |_| take_out(Remove::Drop(gone.clone()))
                >
                    "Delete for good"
                </button>
                <button type="button" data-testid="undelete" on:click=move |_| undelete(page, back.clone())>
                    "Put back"
                </button>
            </li>
        }
    };
    let empty = move || list.with(|list| list.as_ref().is_none_or(Vec::is_empty));
    let nothing = move || list.with(|list| list.as_ref().is_some_and(Vec::is_empty));
    view! {
        <p>"What you delete lies here for seven days. No prompt, no search and no memory sees it."</p>
        <Show when=nothing>
            <p class="faint" data-testid="bin-empty">"The bin is empty."</p>
        </Show>
        <ul class="binned" data-testid="bin-list">
            <For each=move || list.get().unwrap_or_default() key=|binned| binned.id.clone() children=row/>
        </ul>
        <div class="choice">
            <button
                type="button"
                class="danger"
                data-testid="empty-bin"
                disabled=empty
                on:click=move |_| take_out(Remove::Empty)
            >
                "Empty the bin"
            </button>
        </div>
    }
}
