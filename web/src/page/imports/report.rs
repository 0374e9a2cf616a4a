//! What an import did: the figures, and what came in with something missing or was left out.

use std::sync::Arc;

use leptos::prelude::*;
use threadkeep::protocol::{ErrorReply, ImportReport, Skipped};

use crate::page::basics::{IconButton, drawn};
use crate::page::state::{Dialog, Page};
use crate::page::storage::{self, AskOnce};
use crate::route::Route;
use crate::words::words;
use crate::{format, list};

/// Why an import failed. It is in what loads first: often no part can be loaded either.
#[component]
pub fn Failure(page: Page, error: ErrorReply) -> impl IntoView {
    let words = words(&error);
    view! {
        <section class="import-card" role="alert" data-testid="import-failed">
            <header><h2>{drawn(&words.title)}</h2><Close page/></header>
            <p>{drawn(&words.advice)}</p>
        </section>
    }
}

#[component]
fn Close(page: Page) -> impl IntoView {
    let close = move |()| {
        storage::asked();
        page.imports.report.set(None);
        page.imports.failure.set(None);
    };
    view! {
        <IconButton sign="close" words="Close" testid="close-report" press=close/>
    }
}

/// Whether nothing came of the import.
fn nothing(report: &ImportReport) -> bool {
    report.added == 0 && report.updated == 0 && report.unchanged == 0
}

fn title(report: &ImportReport) -> &'static str {
    match (nothing(report), report.added + report.updated) {
        _ if report.stopped => "Import stopped",
        (true, _) => "Nothing was imported",
        (false, 0) => "Everything was here already",
        _ => "Imported",
    }
}

/// From which formats how much was stored.
fn stored(report: &ImportReport) -> String {
    let formats: Vec<&str> = report.formats.iter().map(|name| format::source(name)).collect();
    let formats = if formats.is_empty() { String::new() } else { format!("From {}. ", formats.join(", ")) };
    let further = if report.stopped { " Import the same files again to go on from here." } else { "" };
    format!("{formats}{} stored.{further}", format::plural(report.messages.into(), "message"))
}

/// What an import did.
#[component]
pub fn Report(page: Page, report: Arc<ImportReport>) -> impl IntoView {
    let figure = |id: &'static str, count: u32, name: &'static str| {
        view! { <div><dd data-testid=id>{format::count(count.into())}</dd><dt>{name}</dt></div> }
    };
    let advice = (nothing(&report) && report.skipped_count == 0 && !report.stopped).then(|| {
        let help = move |_| page.dialog.set(Some(Dialog::Help));
        view! {
            <p>"No conversation was found in these files. "{threadkeep::Format::readable()}</p>
            <p class="import-acts">
                <button type="button" class="quiet" on:click=help>"How to get an export"</button>
            </p>
        }
    });
    let first = report.transcripts.first().cloned().filter(|_| report.transcripts.len() > 1);
    let open = first.map(|first| {
        let name = page.threads.find(&first).map(|info| list::title(&info).to_owned()).unwrap_or_default();
        let open = move |_| page.nav.go(Route::thread(first.clone()));
        view! { <button type="button" class="quiet" title=name on:click=open>"Open the first"</button> }
    });
    view! {
        <section class="import-card" role="status" data-testid="report">
            <header><h2>{title(&report)}</h2><Close page/></header>
            <dl class="figures">
                {figure("report-added", report.added, "added")}
                {figure("report-updated", report.updated, "updated")}
                {figure("report-unchanged", report.unchanged, "unchanged")}
                {figure("report-skipped", report.skipped_count, "remarks")}
            </dl>
            <p>{stored(&report)}</p>
            {advice}
            {(!report.skipped.is_empty()).then(|| view! { <Remarks report=report.clone()/> })}
            <p class="import-acts">{open}</p>
            {(report.messages > 0).then(|| view! { <AskOnce page/> })}
        </section>
    }
}

/// How many entries were left out, and how many came in with something missing.
fn remarked(report: &ImportReport) -> String {
    let lost = report.skipped.iter().filter(|skipped| !skipped.salvaged).count();
    match (lost, report.skipped.len() - lost) {
        (0, kept) => format!("{} came in with something missing", format::plural(kept as u64, "entry")),
        (lost, 0) => format!("{} left out", format::plural(lost as u64, "entry")),
        (lost, kept) => format!(
            "{} left out, {} with something missing",
            format::plural(lost as u64, "entry"),
            format::count(kept as u64)
        ),
    }
}

#[component]
fn Remarks(report: Arc<ImportReport>) -> impl IntoView {
    let more = u64::from(report.skipped_count).saturating_sub(report.skipped.len() as u64);
    let row = |Skipped { place, reason, code, salvaged }: &Skipped| {
        let kind = if *salvaged { "Came in, with something missing:" } else { "Left out:" };
        view! {
            <li data-code=code.clone()>
                <p class="place" dir="auto">{drawn(place)}</p>
                <p><span class="kind" class:kept=*salvaged>{kind}</span>" "{drawn(reason)}</p>
            </li>
        }
    };
    view! {
        <details class="remarks" data-testid="report-remarks">
            <summary>{remarked(&report)}</summary>
            <ul>{report.skipped.iter().map(row).collect_view()}</ul>
            {(more > 0).then(|| view! { <p>"and "{format::count(more)}" more"</p> })}
        </details>
    }
}
