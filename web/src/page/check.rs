//! What is wrong with a branch for a model, and the press that mends it in a branch of its own. A leaf in, a dialog's body out.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::{MessageId, TranscriptId};

use super::basics::drawn;
use super::state::Page;
use crate::format;
use crate::route::Route;
use crate::wire::{Ask, Finding, Recall, Reply};
use crate::words::words;

/// The most findings that are listed.
const MOST: usize = 100;

/// The dialog's body.
#[component]
pub fn Check(page: Page, transcript: TranscriptId, leaf: MessageId) -> impl IntoView {
    let found = RwSignal::new(None::<Result<Vec<Finding>, String>>);
    let asked = Ask::Recall(Box::new(Recall::Check(leaf.clone())));
    spawn_local(async move {
        let read = match page.engine.ask(asked).await {
            Ok(Reply::Checked(findings)) => Ok(findings),
            Ok(_) => Ok(Vec::new()),
            Err(error) => Err(words(&error).title),
        };
        found.try_set(Some(read));
    });
    let view = move || match found.get() {
        None => view! { <p class="faint" role="status">"Checking the branch…"</p> }.into_any(),
        Some(Err(why)) => view! { <p role="alert">{why}</p> }.into_any(),
        Some(Ok(found)) if found.is_empty() => view! {
            <p data-testid="check-sound">
                "Nothing is wrong: every tool call has its result, and no message is empty."
            </p>
        }
        .into_any(),
        Some(Ok(found)) => {
            let (transcript, leaf) = (transcript.clone(), leaf.clone());
            view! { <Findings page transcript leaf found/> }.into_any()
        }
    };
    view! { <div data-testid="check">{view}</div> }
}

/// What was found, and the press that mends it.
#[component]
fn Findings(page: Page, transcript: TranscriptId, leaf: MessageId, found: Vec<Finding>) -> impl IntoView {
    let many = format::plural(found.len() as u64, "thing");
    let more = found.len().checked_sub(MOST + 1).map(|more| {
        view! { <p class="faint">{format!("and {}", format::plural(more as u64 + 1, "more finding"))}</p> }
    });
    let route = Route { transcript: Some(transcript.clone()), leaf: Some(leaf.clone()), ..Route::default() };
    let line = |finding: Finding| {
        let to = Route { at: Some(finding.node), ..route.clone() };
        let open = move |_| {
            page.dialog.set(None);
            page.nav.go(to.clone());
        };
        view! {
            <li>
                <span>{drawn(&format::capital(&finding.words))}</span>
                " "
                <button type="button" class="quiet small" data-testid="check-show" on:click=open>"Show"</button>
            </li>
        }
    };
    let mend = move |_| spawn_local(mended(page, transcript.clone(), leaf.clone()));
    view! {
        <p>{format!("{many} in this branch that a model may stumble over:")}</p>
        <ul class="check-found">{found.into_iter().take(MOST).map(line).collect_view()}</ul>
        {more}
        <p class="faint">
            "Mending copies the branch from the first finding on. What is left out of prompts stays on the screen, and this branch stays as it is."
        </p>
        <p>
            <button type="button" data-testid="check-mend" on:click=mend>"Mend in a new branch"</button>
        </p>
    }
}

async fn mended(page: Page, transcript: TranscriptId, leaf: MessageId) {
    let end = match page.engine.ask(Ask::Recall(Box::new(Recall::Mend(leaf)))).await {
        Ok(Reply::Mended(Some(end))) => end,
        Ok(_) => {
            return page.notices.say("Nothing was mended", "Only the writer of what is left can say what it means.");
        }
        Err(error) => return page.notices.fail(&error),
    };
    // The branch that is shown when the thread is opened again.
    if let Err(error) = page.engine.ask(Ask::Choose(end.clone())).await {
        page.notices.fail(&error);
    }
    page.dialog.set(None);
    page.nav.go(Route { transcript: Some(transcript), leaf: Some(end), ..Route::default() });
    page.notices.say("Mended in a new branch", "The branch as it was is beside it: switch where they part.");
}
