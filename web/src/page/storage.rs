//! Storage and privacy: what is kept, how much room it takes, whether the browser may remove it, and asking it not to.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::Stats;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Node, StorageEstimate, StorageManager};

use super::dom;
use super::state::{Dialog, Page};
use super::view::{Slot, click, draw, live, markup};
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
pub fn ask_once(page: Page) -> Slot {
    if page.engine.in_memory() || dom::remembered(ASKED).is_some() {
        return Slot::Nothing;
    }
    let (persisted, outcome) = (RwSignal::new(None), RwSignal::new(""));
    spawn_local(async move {
        if let Some(manager) = manager() {
            persisted.try_set(answer(manager.persisted()).await);
        }
    });
    let asked = move || {
        dom::remember(ASKED, "yes");
        persist(persisted, outcome);
    };
    let ask = move |words: &(Option<bool>, &'static str)| match words {
        (Some(false), "") => Some(markup!(
            r#"
            <div class="keep-asked" data-testid="keep-asked">
                <p>This browser may remove your threads when its disk runs short.</p>
                <button type="button" onclick={}>Ask it to keep them</button>
            </div>"#,
            click(asked),
        )),
        (_, "") => None,
        (_, outcome) => Some(markup!(r#"<p class="keep-asked">{}</p>"#, *outcome)),
    };
    draw(move || (persisted.get(), outcome.get()), ask)
}

/// The report with the question was closed: it is not asked again.
pub fn asked() {
    if dom::find("[data-testid=keep-asked]").is_some() {
        dom::remember(ASKED, "yes");
    }
}

/// The dialog's content: what is kept, how, for how long, and what can be done about it.
pub fn storage(page: Page) -> Node {
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
    let counts =
        move |words: fn(&Stats) -> String| live(move || page.threads.stats.with(|stats| stats.as_ref().map(words)));
    let memory = move || page.engine.in_memory();
    let space = move || match used.get() {
        Some((usage, quota)) => format!("{} of {} that the browser allows", format::bytes(usage), format::bytes(quota)),
        None => "The browser does not say".to_owned(),
    };
    let kept = move || match (memory(), persisted.get()) {
        (true, _) => "In memory only: all is gone when this tab closes",
        (_, Some(true)) => "Until you delete them",
        (_, Some(false)) => "As long as the browser has space; when space runs short it may remove them",
        (_, None) => "The browser does not say",
    };
    let ask = move |ask: &bool| {
        ask.then(|| {
            markup!(
                r#"
                <p>
                    <button type="button" data-testid="persist" onclick={}>Ask the browser to keep them</button>
                </p>"#,
                click(move || persist(persisted, outcome)),
            )
        })
    };
    markup!(
        r#"
        <p class="privacy">
            <svg sign="lock"/>
            Nothing leaves this machine but what you send to a model that you connect: your threads are read, kept and shown by this browser alone. There is no server, no
            account and no tracking.
        </p>
        <dl class="facts">
            <div><dt>Threads</dt><dd>{}</dd></div>
            <div><dt>Messages</dt><dd>{}</dd></div>
            <div><dt>In memory</dt><dd>{}</dd></div>
            <div><dt>Space used</dt><dd data-testid="used">{}</dd></div>
            <div><dt>Kept</dt><dd data-testid="persisted">{}</dd></div>
        </dl>
        {}
        <p role="status" class="outcome">{}</p>
        <div class="choice">
            <button type="button" class="first" disabled={} onclick={}>
                <svg sign="export"/>
                <span>Export everything</span>
            </button>
            <button type="button" data-testid="bin" onclick={}>Bin…</button>
            <button type="button" class="danger" data-testid="delete-all" disabled={} onclick={}>Delete everything…</button>
        </div>"#,
        counts(|stats| format::count(stats.transcripts.into())),
        counts(|stats| format::count(stats.messages)),
        counts(|stats| {
            let threads = format::plural(stats.cached_transcripts.into(), "thread");
            format!("{threads}, {}", format::bytes(stats.cached_bytes))
        }),
        live(space),
        live(kept),
        draw(move || persisted.get() != Some(true) && !memory(), ask),
        live(move || outcome.get()),
        live(move || page.threads.none()),
        click(move || page.export_soon(None)),
        click(move || page.dialog.set(Some(Dialog::Bin))),
        live(move || page.threads.none()),
        click(move || page.dialog.set(Some(Dialog::DeleteAll))),
    )
}
