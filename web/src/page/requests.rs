//! The requests of the open branch: what each took and cost, where a compaction lies between two, and for one of them the body as it was
//! sent, with what changed since the one before.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::basics::{Sign, Time, drawn};
use super::effects::soon;
use super::state::Page;
use super::{copied, dom};
use crate::route::Route;
use crate::wire::{Ask, Asked, Journal, Moved, Reply, Sent, Since};
use crate::{format, requests, words};

/// The most requests that are listed, the newest.
const MOST: usize = 500;

/// A line of the list, with the older request beside it.
#[derive(Clone)]
struct Line {
    asked: Asked,
    /// The newest older one whose body is known.
    before: Option<String>,
    /// Whether a compaction lies between it and the older one.
    compacted: bool,
}

impl Line {
    /// All that the line shows.
    fn key(&self) -> String {
        format!("{:?} {:?}", self.asked, self.before)
    }
}

/// The lines, the newest first.
fn lines(all: &[Asked]) -> Vec<Line> {
    let mut known: Option<&Asked> = None;
    let mut lines = Vec::new();
    for asked in all {
        lines.push(Line {
            asked: asked.clone(),
            before: known.map(|older| older.id.clone()),
            compacted: known.is_some_and(|older| requests::is_compacted(older, asked)),
        });
        known = Some(asked).filter(|asked| asked.known).or(known);
    }
    lines.reverse();
    lines.truncate(MOST);
    lines
}

/// What the pane holds: a handle.
#[derive(Clone, Copy)]
struct Pane {
    page: Page,
    all: RwSignal<Option<Result<Vec<Asked>, String>>>,
    /// The request whose body is shown.
    open: RwSignal<Option<String>>,
    /// Counts what was asked, so that a late answer does not replace a newer one.
    asked: StoredValue<u32>,
}

impl Pane {
    fn read(self) {
        let Some(leaf) = self.page.leaf.get_untracked() else { return };
        let number = self.asked.get_value() + 1;
        self.asked.set_value(number);
        spawn_local(async move {
            let answer = match self.page.engine.ask(Ask::Journal(Journal::List(leaf))).await {
                Ok(Reply::Requests(all)) => Ok(all),
                Ok(_) => return,
                Err(error) => Err(words::words(&error).title),
            };
            // Who has closed the pane meanwhile needs no answer.
            if self.asked.try_get_value() == Some(number) {
                self.all.set(Some(answer));
            }
        });
    }

    fn lines(self) -> Vec<Line> {
        self.all.with(|all| match all {
            Some(Ok(all)) => lines(all),
            _ => Vec::new(),
        })
    }

    /// Shows the request that somebody looked for.
    fn reveal(self, id: &str) {
        let Some(line) = dom::find(&["[data-request=\"", id, "\"]"].concat()) else { return };
        self.page.request.set(None);
        if line.query_selector("[data-testid=request-open]").is_ok_and(|press| press.is_some()) {
            self.open.set(Some(id.to_owned()));
        }
        line.scroll_into_view();
        if let Some(line) = line.dyn_ref::<HtmlElement>() {
            // The line is there for as long as the pane is; without the focus it is still on the screen.
            let _ = line.focus();
        }
    }

    /// What stands in place of the list, or above it.
    fn summary(self) -> String {
        self.all.with(|all| match all {
            None => "Reading…".to_owned(),
            Some(Err(why)) => why.clone(),
            Some(Ok(all)) if all.is_empty() => {
                "No request was sent from this branch yet. Each one that is sent is listed here, with what it took and cost.".to_owned()
            }
            Some(Ok(all)) => {
                let words = requests::total(all.iter());
                let more = all.len().saturating_sub(MOST);
                if more == 0 { words } else { format!("{words}. The newest {MOST} are listed.") }
            }
        })
    }
}

/// The pane.
#[component]
pub fn Requests(page: Page) -> impl IntoView {
    let pane = Pane { page, all: RwSignal::new(None), open: RwSignal::new(None), asked: StoredValue::new(0) };
    Effect::new(move || {
        page.leaf.track();
        page.tree.track();
        pane.read();
    });
    Effect::new(move || {
        pane.all.track();
        if let Some(id) = page.request.get() {
            // Once its line is there.
            soon(move || pane.reveal(&id));
        }
    });
    view! {
        <div class="side-body requests" role="tabpanel" aria-label="Requests" data-testid="requests">
            <div class="requests-body">
                <p class="requests-total" role="status" data-testid="requests-total">{move || pane.summary()}</p>
                <ol class="requests-list" data-testid="requests-list">
                    <For each=move || pane.lines() key=Line::key children=move |line| view! { <Request pane line/> }/>
                </ol>
            </div>
        </div>
    }
}

/// One request, and below it a mark where a compaction lies before it.
#[component]
fn Request(pane: Pane, line: Line) -> impl IntoView {
    let Line { asked, before, compacted } = line;
    let facts = requests::facts(&asked);
    let id = StoredValue::new(asked.id.clone());
    let is_open = move || pane.open.with(|open| *open == Some(id.get_value()));
    let turn = move |_| {
        let now = (!is_open()).then(|| id.get_value());
        pane.open.set(now);
    };
    let body = move || is_open().then(|| view! { <Body pane id=id.get_value() before=before.clone()/> });
    let press = asked.known.then(|| {
        view! {
            <button
                type="button"
                class="quiet small"
                data-testid="request-open"
                aria-expanded=move || if is_open() { "true" } else { "false" }
                on:click=turn
            >
                {move || if is_open() { "Hide what was sent" } else { "What was sent" }}
            </button>
        }
    });
    view! {
        <li class="request" data-testid="request" data-request=asked.id.clone() tabindex="-1">
            <p class="request-head">
                <strong dir="auto">{drawn(&asked.model)}</strong>
                <span class="request-cost" data-testid="request-cost">{asked.micros.map(format::dollars)}</span>
            </p>
            <p data-testid="request-figures">{requests::figures(&asked)}</p>
            <p class="request-foot">
                <span class="thread-facts">
                    <Time at=asked.sent_at/>
                    {facts.into_iter().map(|fact| view! { <span>{drawn(&fact)}</span> }).collect_view()}
                </span>
                <ToMessage pane node=asked.node/>
                {press}
            </p>
            {body}
        </li>
        {compacted.then(|| view! { <li class="request-mark" data-testid="request-compacted"><Sign name="fold"/>"Compacted here"</li> })}
    }
}

/// The way to a message of the branch.
#[component]
fn ToMessage(pane: Pane, node: MessageId) -> impl IntoView {
    let page = pane.page;
    let open = move |_| {
        page.nav.go(Route { leaf: page.leaf.get_untracked(), at: Some(node.clone()), ..page.nav.now() });
    };
    view! { <button type="button" class="quiet small" data-testid="request-show" on:click=open>"Show"</button> }
}

/// What was sent, and what changed since the request before.
#[component]
fn Body(pane: Pane, id: String, before: Option<String>) -> impl IntoView {
    let sent = RwSignal::new(None::<Result<Sent, String>>);
    let engine = pane.page.engine;
    spawn_local(async move {
        let answer = match engine.ask(Ask::Journal(Journal::Sent { id, before })).await {
            Ok(Reply::Sent(found)) => Ok(*found),
            Ok(_) => return,
            Err(error) => Err(words::words(&error).line()),
        };
        sent.try_set(Some(answer));
    });
    move || match sent.get() {
        None => view! { <p class="faint" role="status">"Reading…"</p> }.into_any(),
        Some(Err(why)) => view! { <p role="alert" data-testid="request-failed">{drawn(&why)}</p> }.into_any(),
        Some(Ok(sent)) => view! { <Made pane sent/> }.into_any(),
    }
}

/// A request that was made again.
#[component]
fn Made(pane: Pane, sent: Sent) -> impl IntoView {
    let Sent { body, readable, differs, since } = sent;
    let size = format::bytes(body.len() as u64);
    let differs = differs.map(|differs| {
        let why = match differs.as_str() {
            "memory" => "a record that it remembered is deleted",
            "version" => "another version of Threadkeep sent it",
            _ => "messages of its branch are deleted or changed",
        };
        view! { <p class="request-differs" role="note" data-testid="request-differs">{format!("This is not exactly what was sent: {why}.")}</p> }
    });
    let copy = move |_| {
        let body = body.clone();
        spawn_local(copied::copy(pane.page.notices, "The request's body, as JSON.", body));
    };
    view! {
        <div class="request-body" data-testid="request-body">
            {differs}
            {since.map(|since| view! { <Changes pane since/> })}
            <pre tabindex="0" aria-label="What was sent" data-testid="request-text">{readable}</pre>
            <p class="request-foot">
                <span class="faint">{size}</span>
                <button type="button" class="small" data-testid="request-copy" on:click=copy><Sign name="copy"/>"Copy"</button>
            </p>
        </div>
    }
}

/// What changed since the request before.
#[component]
fn Changes(pane: Pane, since: Since) -> impl IntoView {
    let Since { prefix, end, options, changes } = since;
    let begin = if end.is_empty() {
        "It is the same as the request before.".to_owned()
    } else {
        format!(
            "Its first {} are those of the request before, which a provider can take from its cache. Then {end}.",
            format::plural(prefix, "token")
        )
    };
    let options = (!options.is_empty()).then(|| {
        view! { <p data-testid="request-options">{format!("Settings that changed: {}.", options.join(", "))}</p> }
    });
    let change = move |Moved { node, what, words, tokens }: Moved| {
        let show = node.map(|node| view! { <ToMessage pane node/> });
        view! {
            <li data-testid="request-change">
                <span class="change-what">{format::capital(&what)}</span>
            " "
                <span dir="auto">{drawn(&words)}</span>
            " "
                <span class="faint">{format::plural(tokens.into(), "token")}</span>
                {show}
            </li>
        }
    };
    view! {
        <p data-testid="request-prefix">{begin}</p>
        {options}
        <ul class="request-changes">{changes.into_iter().map(change).collect_view()}</ul>
    }
}
