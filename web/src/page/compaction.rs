//! Compact now: a dialog that says what it would do before it does it.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;
use web_sys::Node;

use super::state::Page;
use super::view::{click, draw, live, markup};
use crate::route::Route;
use crate::wire::{Ask, Card, Compacted, Recall, Reply};
use crate::{format, words};

/// What the dialog knows.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    Reading,
    Preview(Box<Compacted>),
    Failed(String),
}

/// The dialog's body for the branch that ends at `leaf`.
pub fn dialog(page: Page, leaf: &MessageId) -> Node {
    let known = RwSignal::new(Known::Reading);
    let busy = RwSignal::new(false);
    let asked = leaf.clone();
    spawn_local(async move {
        let asked = Recall::Compact { leaf: asked, preview: true };
        let answer = match page.engine.ask(Ask::Recall(Box::new(asked))).await {
            Ok(Reply::Compacted(done)) => Known::Preview(done),
            Ok(_) => return,
            Err(error) => {
                let words = words::words(&error);
                Known::Failed(format!("{}. {}", words.title, words.advice))
            }
        };
        // Who has closed the dialog meanwhile needs no answer.
        known.try_set(answer);
    });
    let leaf = leaf.clone();
    let compact = move || {
        busy.set(true);
        let asked = Recall::Compact { leaf: leaf.clone(), preview: false };
        let leaf = leaf.clone();
        spawn_local(async move {
            match page.engine.ask(Ask::Recall(Box::new(asked))).await {
                Ok(Reply::Compacted(done)) => compacted(page, leaf, *done),
                Ok(_) => {}
                Err(error) => page.notices.fail(&error),
            }
            page.dialog.set(None);
        });
    };
    let view = move |known: &Known| {
        Some(match known {
            Known::Reading => markup!(r#"<p role="status">Reading the thread and its token counts…</p>"#),
            Known::Failed(words) => markup!(r#"<p role="alert" data-testid="compact-failed">{}</p>"#, words.clone()),
            Known::Preview(done) => match &done.card {
                None => markup!(
                    r#"<p data-testid="compact-nothing">There is nothing to compact: the newest turns always stay as they are, and before them is nothing that is not compacted already.</p>"#
                ),
                Some(card) => preview(done, card),
            },
        })
    };
    let ready = move || matches!(known.get(), Known::Preview(done) if done.card.is_some()) && !busy.get();
    markup!(
        r#"
        {}
        <div class="choice">
            <button type="button" autofocus onclick={}>Cancel</button>
            <button type="button" class="primary" data-testid="compact-confirm" disabled={} onclick={}>Compact now</button>
        </div>"#,
        draw(move || known.get(), view),
        click(move || page.dialog.set(None)),
        live(move || !ready()),
        click(compact),
    )
}

/// It is done: the reader comes to the card.
fn compacted(page: Page, leaf: MessageId, done: Compacted) {
    let Some(card) = done.card else {
        return page.notices.say("Nothing was compacted", "Another tab was faster, or nothing was left to do.");
    };
    let words =
        format!("{} → {} tokens. Every message is still there.", format::count(done.before), format::count(done.after));
    page.notices.say("Compacted", &words);
    page.nav.go(Route { transcript: page.nav.now().transcript, leaf: Some(leaf), at: Some(card.anchor) });
}

fn preview(done: &Compacted, card: &Card) -> Node {
    let statement = |said: &crate::wire::Said| markup!(r#"<li dir="auto">{}</li>"#, said.text.clone());
    let statements: Vec<Node> = card.statements.iter().map(statement).collect();
    let warning = |warning: &String| markup!("<p>{}</p>", warning.clone());
    markup!(
        r#"
        <p>In prompts, the statements below stand in for the beginning of this branch. The messages themselves stay in the thread, unchanged.</p>
        <dl class="facts" data-testid="compact-preview">
            <div><dt>Covers</dt><dd>The first {}</dd></div>
            <div><dt>History</dt><dd><span data-testid="compact-before">{}</span> → <strong data-testid="compact-after">{}</strong> tokens</dd></div>
            <div><dt>Of that, the covered part</dt><dd>{} → {} tokens</dd></div>
            <div><dt>Remembered</dt><dd>{}</dd></div>
        </dl>
        {}
        <h3>The summary</h3>
        <div class="summary-box" tabindex="0" role="region" aria-label="The summary" data-testid="compact-statements">
            <ol class="statements">{}</ol>
        </div>"#,
        format::plural(card.messages.into(), "message"),
        format::count(done.before),
        format::count(done.after),
        format::count(card.before),
        format::count(card.after),
        format!("{} in the memory", format::plural(done.memories.into(), "new record")),
        done.warnings.iter().map(warning).collect::<Vec<Node>>(),
        statements,
    )
}
