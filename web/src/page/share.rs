//! Sharing a thread: what looks like a secret in it, what of that is replaced, and the file. A thread in, a dialog's body out.

use std::collections::BTreeSet;

use js_sys::Array;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::ErrorReply;
use threadkeep::{Personal, Secret, Sharing};
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use super::state::Page;
use super::{dom, script};
use crate::format;
use crate::list::title;
use crate::route::Route;
use crate::wire::ThreadInfo;
use crate::words::words;

/// The most finds that are listed. All others are replaced.
const MOST: usize = 200;

/// What is looked for on request, in words.
const PERSONAL: [(Personal, &str); 3] = [
    (Personal::Emails, "E-mail addresses"),
    (Personal::Phones, "Phone numbers with +"),
    (Personal::Cards, "Card numbers"),
];

/// A file for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One HTML file, which any browser opens.
    Page,
    /// Lines that Threadkeep imports.
    Lines,
}

/// What the reader has chosen: a handle.
#[derive(Clone, Copy)]
struct Choice {
    page: Page,
    thread: StoredValue<ThreadInfo>,
    /// What was found.
    found: RwSignal<Option<Result<Vec<Secret>, String>>>,
    /// The finds that stay as they are.
    left: RwSignal<BTreeSet<usize>>,
    /// What of [`PERSONAL`] is looked for.
    also: RwSignal<BTreeSet<usize>>,
}

impl Choice {
    /// The lines for others, and what was found in them.
    async fn export(self) -> Result<(Blob, Vec<Secret>), ErrorReply> {
        let sharing = Sharing {
            also: self.also.try_get_untracked().unwrap_or_default().iter().map(|at| PERSONAL[*at].0).collect(),
            leave: self.left.try_get_untracked().unwrap_or_default().into_iter().collect(),
        };
        let id = self.thread.try_with_value(|info| info.id.clone());
        self.page.engine.export(id, Some(sharing)).await
    }

    /// Looks for secrets; what stays is chosen anew.
    fn search(self) {
        self.found.set(None);
        self.left.set(BTreeSet::new());
        let also = self.also.get_untracked();
        spawn_local(async move {
            let found = self.export().await.map(|(_, found)| found).map_err(|error| words(&error).line());
            // Another search may be on its way by now.
            if self.also.try_get_untracked() == Some(also) {
                self.found.try_set(Some(found));
            }
        });
    }

    /// Whether these are the finds that the reader has looked through.
    fn is_shown(self, found: &[Secret]) -> bool {
        let place = |one: &Secret| (one.kind.clone(), one.preview.clone(), one.node.clone(), one.field.clone());
        self.found.with_untracked(|shown| {
            let Some(Ok(shown)) = shown else { return false };
            shown.iter().map(place).eq(found.iter().map(place))
        })
    }

    /// Makes the file and offers it for saving.
    async fn save(self, kind: Kind) {
        let page = self.page;
        let name = self.thread.with_value(|info| format::file_name(title(info)));
        let lines = match self.export().await {
            // What stays is known by its number.
            Ok((_, found)) if !self.is_shown(&found) => {
                self.search();
                return page.notices.say("Nothing was saved", "The thread has changed. Look through the list again.");
            }
            Ok((lines, _)) => lines,
            Err(error) => return page.notices.fail(&error),
        };
        let (blob, ending) = match kind {
            Kind::Lines => (Some(lines), ".threadkeep.jsonl"),
            Kind::Page => (page_of(&lines).await, ".html"),
        };
        let Some(blob) = blob else {
            return page.notices.say("Nothing was saved", "The script that makes the page could not be loaded.");
        };
        let name = [&name, ending].concat();
        dom::save(&blob, &name);
        page.dialog.set(None);
        page.notices.say("Saved", &format!("{name}, {}.", format::bytes(blob.size() as u64)));
    }
}

/// The page with these lines.
async fn page_of(lines: &Blob) -> Option<Blob> {
    let lines = JsFuture::from(lines.text()).await.ok()?.as_string()?;
    let html = script::call("share", "html", &[("lines", &lines)]).await.ok()?;
    Blob::new_with_str_sequence(&Array::of1(&html.into())).ok()
}

/// The dialog's body.
#[component]
pub fn Share(page: Page, thread: ThreadInfo) -> impl IntoView {
    let choice = Choice {
        page,
        thread: StoredValue::new(thread),
        found: RwSignal::new(None),
        left: RwSignal::new(BTreeSet::new()),
        also: RwSignal::new(BTreeSet::new()),
    };
    choice.search();
    let kind = move |(at, (_, name)): (usize, (Personal, &'static str))| {
        let changed = move |is_in| {
            choice.also.update(|also| change(also, at, is_in));
            choice.search();
        };
        view! { <Tick name=name.to_owned() on=false changed/> }
    };
    let found = move || match choice.found.get() {
        None => view! { <p class="faint">"Looking for secrets…"</p> }.into_any(),
        Some(Err(why)) => view! { <p role="alert">{why}</p> }.into_any(),
        Some(Ok(found)) if found.is_empty() => view! { <p>"Nothing in it looks like a secret."</p> }.into_any(),
        Some(Ok(found)) => view! { <FoundList choice found/> }.into_any(),
    };
    view! {
        <p>
            "The file has all branches of this thread. Memory, settings and requests stay here. What looks like a secret is replaced. Pictures are not searched."
        </p>
        <fieldset class="look-for">
            <legend>"Look for these, too"</legend>
            {PERSONAL.into_iter().enumerate().map(kind).collect_view()}
        </fieldset>
        <div data-testid="share-found" aria-live="polite">{found}</div>
        <div class="choice">
            <Save choice kind=Kind::Lines id="share-lines" words="Save for Threadkeep" about="Threadkeep can import it"/>
            <Save choice kind=Kind::Page id="share-page" words="Save as a page" about="Any browser opens it, without a network"/>
        </div>
    }
}

/// A button that saves the file.
#[component]
fn Save(choice: Choice, kind: Kind, id: &'static str, words: &'static str, about: &'static str) -> impl IntoView {
    let busy = RwSignal::new(false);
    let unready = move || busy.get() || !matches!(choice.found.get(), Some(Ok(_)));
    let save = move |_| {
        busy.set(true);
        spawn_local(async move {
            choice.save(kind).await;
            busy.try_set(false);
        });
    };
    view! {
        <button
            type="button"
            class:first=kind == Kind::Lines
            class:primary=kind == Kind::Page
            title=about
            data-testid=id
            disabled=unready
            on:click=save
        >
            {words}
        </button>
    }
}

/// A box to tick, with its name.
#[component]
fn Tick(name: String, on: bool, changed: impl Fn(bool) + 'static) -> impl IntoView {
    view! {
        <label class="check">
            <input type="checkbox" checked=on on:change=move |event| changed(event_target_checked(&event))/>
            <span>{name}</span>
        </label>
    }
}

fn change(set: &mut BTreeSet<usize>, at: usize, is_in: bool) {
    if is_in {
        set.insert(at);
    } else {
        set.remove(&at);
    }
}

/// What was found. A tick says that it is replaced.
#[component]
fn FoundList(choice: Choice, found: Vec<Secret>) -> impl IntoView {
    let many = format::plural(found.len() as u64, "find");
    let more = found.len().checked_sub(MOST + 1).map(|more| {
        view! { <p class="faint">{format!("and {} more, which are replaced", format::count(more as u64 + 1))}</p> }
    });
    let row = move |(at, secret): (usize, Secret)| {
        let name = [&format::capital(&secret.kind), ": ", &secret.preview].concat();
        let changed = move |replaced: bool| choice.left.update(|left| change(left, at, !replaced));
        let show = secret.node.map(|node| {
            let transcript = choice.thread.with_value(|info| Some(info.id.clone()));
            let to = Route { transcript, at: Some(node), ..Route::default() };
            let open = move |_| {
                choice.page.dialog.set(None);
                choice.page.nav.go(to.clone());
            };
            view! { <button type="button" class="quiet small" on:click=open>"Show"</button> }
        });
        view! { <li><Tick name on=true changed/>{show}</li> }
    };
    view! {
        <p>{format!("{many} that may be secret. Those with a tick are replaced:")}</p>
        <ul class="check-found">{found.into_iter().take(MOST).enumerate().map(row).collect_view()}</ul>
        {more}
    }
}
