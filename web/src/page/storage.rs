//! Storage and privacy: what is kept, how much room it takes, whether the browser may remove it, and asking it not to.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{StorageEstimate, StorageManager};

use super::engine::State;
use super::signs::Sign;
use super::state::{Dialog, Page};
use crate::format;

fn manager() -> Option<StorageManager> {
    let manager = window().navigator().storage();
    // Undefined where the page was not loaded over a safe connection.
    (!manager.is_undefined()).then_some(manager)
}

async fn answer(promise: Result<js_sys::Promise, JsValue>) -> Option<bool> {
    JsFuture::from(promise.ok()?).await.ok()?.as_bool()
}

/// The dialog's content: what is kept, how, for how long, and what can be done about it.
#[component]
pub fn Storage() -> impl IntoView {
    let page = Page::of_context();
    let used = RwSignal::new(None::<(f64, f64)>);
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
                used.try_set(Some((usage, quota)));
            }
        }
        persisted.try_set(answer(manager.persisted()).await);
    });
    let persist = move |_| {
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
    };
    let counts = move || {
        page.threads.stats.get().map(|stats| {
            [
                ("Threads", format::count(stats.transcripts.into())),
                ("Messages", format::count(stats.messages)),
                (
                    "In memory",
                    format!(
                        "{}, {}",
                        format::plural(stats.cached_transcripts.into(), "thread"),
                        format::bytes(stats.cached_bytes)
                    ),
                ),
            ]
            .map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> })
            .collect_view()
        })
    };
    let memory = move || matches!(page.engine.state.get(), State::Open { memory: true });
    let space = move || match used.get() {
        Some((usage, quota)) => {
            format!("{} of {} that the browser allows", format::bytes(usage as u64), format::bytes(quota as u64))
        }
        None => "The browser does not say".to_owned(),
    };
    let kept = move || match (memory(), persisted.get()) {
        (true, _) => "In memory only: all is gone when this tab closes",
        (_, Some(true)) => "Until you delete them",
        (_, Some(false)) => "As long as the browser has space; when space runs short it may remove them",
        (_, None) => "The browser does not say",
    };
    view! {
        <p class="privacy">
            <Sign name="lock" />
            "Nothing leaves this machine: your threads are read, kept and shown by this browser alone. There is no server, no account and no tracking."
        </p>
        <dl class="facts">
            {counts}
            <div>
                <dt>"Space used"</dt>
                <dd data-testid="used">{space}</dd>
            </div>
            <div>
                <dt>"Kept"</dt>
                <dd data-testid="persisted">{kept}</dd>
            </div>
        </dl>
        <Show when=move || persisted.get() != Some(true) && !memory()>
            <p>
                <button type="button" data-testid="persist" on:click=persist>
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
                on:click=move |_| {
                    spawn_local(async move {
                        page.export(None).await;
                    });
                }
            >
                <Sign name="export" />
                <span>"Export everything"</span>
            </button>
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
