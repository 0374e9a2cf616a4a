//! What is wrong with a branch for a model, and the press that mends it in a branch of its own. A leaf in, a dialog's body out.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::{MessageId, TranscriptId};
use web_sys::Node;

use super::state::Page;
use super::view::{click, draw, markup};
use crate::format;
use crate::route::Route;
use crate::wire::{Ask, Finding, Recall, Reply};
use crate::words::words;

/// The most findings that are listed.
const MOST: usize = 100;

/// The dialog's body.
pub fn dialog(page: Page, transcript: &TranscriptId, leaf: &MessageId) -> Node {
    let found = RwSignal::new(None::<Result<Vec<Finding>, String>>);
    let (transcript, leaf) = (transcript.clone(), leaf.clone());
    let asked = Ask::Recall(Box::new(Recall::Check(leaf.clone())));
    spawn_local(async move {
        let read = match page.engine.ask(asked).await {
            Ok(Reply::Checked(findings)) => Ok(findings),
            Ok(_) => Ok(Vec::new()),
            Err(error) => Err(words(&error).title),
        };
        found.try_set(Some(read));
    });
    let view = move |found: &Option<Result<Vec<Finding>, String>>| {
        Some(match found {
            None => markup!(r#"<p class="faint" role="status">Checking the branch…</p>"#),
            Some(Err(why)) => markup!(r#"<p role="alert">{}</p>"#, why.clone()),
            Some(Ok(found)) if found.is_empty() => markup!(
                r#"<p data-testid="check-sound">Nothing is wrong: every tool call has its result, and no message is empty.</p>"#
            ),
            Some(Ok(found)) => list(page, &transcript, &leaf, found),
        })
    };
    markup!(r#"<div data-testid="check">{}</div>"#, draw(move || found.get(), view))
}

fn list(page: Page, transcript: &TranscriptId, leaf: &MessageId, found: &[Finding]) -> Node {
    let line = |finding: &Finding| {
        let to = Route {
            transcript: Some(transcript.clone()),
            leaf: Some(leaf.clone()),
            at: Some(finding.node.clone()),
            ..Route::default()
        };
        let open = move || {
            page.dialog.set(None);
            page.nav.go(to.clone());
        };
        markup!(
            r#"<li><span>{}</span> <button type="button" class="quiet small" data-testid="check-show" onclick={}>Show</button></li>"#,
            format::capital(&finding.words),
            click(open),
        )
    };
    let more = found.len().checked_sub(MOST + 1).map(|more| {
        markup!(r#"<p class="faint">{}</p>"#, format!("and {}", format::plural(more as u64 + 1, "more finding")))
    });
    let (at, thread) = (leaf.clone(), transcript.clone());
    let mend = move || {
        let (at, thread) = (at.clone(), thread.clone());
        spawn_local(async move { mended(page, thread, at).await });
    };
    markup!(
        r#"
        <p>{}</p>
        <ul class="check-found">{}</ul>
        {}
        <p class="faint">Mending copies the branch from the first finding on. What is left out of prompts stays on the screen, and this branch stays as it is.</p>
        <p><button type="button" data-testid="check-mend" onclick={}>Mend in a new branch</button></p>"#,
        format!("{} in this branch that a model may stumble over:", format::plural(found.len() as u64, "thing")),
        found.iter().take(MOST).map(line).collect::<Vec<Node>>(),
        more,
        click(mend),
    )
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
