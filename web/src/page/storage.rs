//! Storage and privacy: what is kept, how much room it takes, whether the browser may remove it, and asking it not to.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::Stats;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{StorageEstimate, StorageManager};

use super::basics::Sign;
use super::dom;
use super::state::{Dialog, Page};
use crate::format;

/// The key under which it stands that the reader was asked.
const ASKED: &str = "threadkeep.asked-to-keep";

fn manager() -> Option<StorageManager> {
    let manager = window().navigator().storage();
    // Undefined where the page was not loaded over a safe connection.
    (!manager.is_undefined()).then_some(manager)
}

async fn answer(promise: Result<js_sys::Promise, JsValue>) -> Option<bool> {
    JsFuture::from(promise.ok()?).await.ok()?.as_bool()
}

/// Asks the browser to keep the threads; `persisted` and `outcome` become what it says.
fn persist(persisted: RwSignal<Option<bool>>, outcome: RwSignal<&'static str>) {
    spawn_local(async move {
        let granted = match manager() {
            Some(manager) => answer(manager.persist()).await,
            None => None,
        };
        persisted.try_set(granted);
        outcome.try_set(match granted {
            Some(true) => "Granted: the browser keeps your threads until you delete them.",
            Some(false) => {
                "The browser said no for now. It tends to agree once you have bookmarked or installed this page, or used it for some days. Until then, keep an export."
            }
            None => "This browser cannot be asked. Keep an export.",
        });
    });
}

/// The question whether the browser shall keep the threads, below the report of an import that stored some. It is asked once; the
/// dialog has it for later.
#[component]
pub fn AskOnce(page: Page) -> impl IntoView {
    if untrack(move || page.engine.in_memory()) || dom::remembered(ASKED).is_some() {
        return None;
    }
    let (persisted, outcome) = (RwSignal::new(None), RwSignal::new(""));
    spawn_local(async move {
        if let Some(manager) = manager() {
            persisted.try_set(answer(manager.persisted()).await);
        }
    });
    let ask = move |_| {
        dom::remember(ASKED, "yes");
        persist(persisted, outcome);
    };
    Some(move || match (persisted.get(), outcome.get()) {
        (Some(false), "") => Some(
            view! {
                <div class="keep-asked" data-testid="keep-asked">
                    <p>"This browser may remove your threads when its disk runs short."</p>
                    <button type="button" on:click=ask>"Ask it to keep them"</button>
                </div>
            }
            .into_any(),
        ),
        (_, "") => None,
        (_, outcome) => Some(view! { <p class="keep-asked">{outcome}</p> }.into_any()),
    })
}

/// The report with the question was closed: it is not asked again.
pub fn asked() {
    if dom::find("[data-testid=keep-asked]").is_some() {
        dom::remember(ASKED, "yes");
    }
}

/// How much room is used, of how much.
fn space(used: Option<(u64, u64)>) -> String {
    match used {
        Some((usage, quota)) => format!("{} of {} that the browser allows", format::bytes(usage), format::bytes(quota)),
        None => "The browser does not say".to_owned(),
    }
}

/// How long the threads are kept.
fn kept(memory: bool, persisted: Option<bool>) -> &'static str {
    match (memory, persisted) {
        (true, _) => "In memory only: all is gone when this tab closes",
        (_, Some(true)) => "Until you delete them",
        (_, Some(false)) => "As long as the browser has space; when space runs short it may remove them",
        (_, None) => "The browser does not say",
    }
}

/// The threads and messages in memory.
fn cached(stats: &Stats) -> String {
    let threads = format::plural(stats.cached_transcripts.into(), "thread");
    format!("{threads}, {}", format::bytes(stats.cached_bytes))
}

/// The dialog's content: what is kept, how, for how long, and what can be done about it.
#[component]
pub fn StorageDialog(page: Page) -> impl IntoView {
    let used = RwSignal::new(None::<(u64, u64)>);
    let persisted = RwSignal::new(None::<bool>);
    let outcome = RwSignal::new("");
    spawn_local(async move {
        page.threads.refresh().await;
        let Some(manager) = manager() else { return };
        if let Ok(promise) = manager.estimate()
            && let Ok(found) = JsFuture::from(promise).await
        {
            let found: StorageEstimate = found.unchecked_into();
            if let (Some(usage), Some(quota)) = (found.get_usage(), found.get_quota()) {
                used.try_set(Some((usage as u64, quota as u64)));
            }
        }
        persisted.try_set(answer(manager.persisted()).await);
    });
    let counts = move |words: fn(&Stats) -> String| move || page.threads.stats.with(|stats| stats.as_ref().map(words));
    let memory = move || page.engine.in_memory();
    view! {
        <p class="privacy">
            <Sign name="lock"/>
            "Nothing leaves this machine but what you send to a model that you connect, and what you sync, encrypted: your threads are read, kept and shown by this browser alone. There is no server, no account and no tracking."
        </p>
        <dl class="facts">
            <div><dt>"Threads"</dt><dd>{counts(|stats| format::count(stats.transcripts.into()))}</dd></div>
            <div><dt>"Messages"</dt><dd>{counts(|stats| format::count(stats.messages))}</dd></div>
            <div><dt>"In memory"</dt><dd>{counts(cached)}</dd></div>
            <div><dt>"Space used"</dt><dd data-testid="used">{move || space(used.get())}</dd></div>
            <div><dt>"Kept"</dt><dd data-testid="persisted">{move || kept(memory(), persisted.get())}</dd></div>
        </dl>
        <Show when=move || persisted.get() != Some(true) && !memory()>
            <p>
                <button type="button" data-testid="persist" on:click=move |_| persist(persisted, outcome)>
                    "Ask the browser to keep them"
                </button>
            </p>
        </Show>
        <p role="status" class="outcome">{move || outcome.get()}</p>
        <div class="choice">
            <button
                type="button"
                class="first"
                disabled=move || page.threads.none()
                on:click=move |_| page.export_soon(None)
            >
                <Sign name="export"/>
                <span>"Export everything"</span>
            </button>
            <button
                type="button"
                data-testid="sync"
                disabled=memory
                on:click=move |_| page.dialog.set(Some(Dialog::Sync))
            >
                "Sync with other devices…"
            </button>
            <button type="button" data-testid="bin" on:click=move |_| page.dialog.set(Some(Dialog::Bin))>"Bin…"</button>
            <button
                type="button"
                class="danger"
                data-testid="delete-all"
                disabled=move || page.threads.none()
                on:click=move |_| page.dialog.set(Some(Dialog::DeleteAll))
            >
                "Delete everything…"
            </button>
        </div>
    }
}
