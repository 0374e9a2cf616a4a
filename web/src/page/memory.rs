//! The memory: episodes and facts over all threads or of the open one, with their tags and sources, to be edited, pinned and
//! deleted. What is remembered, and what of it goes into prompts, is the engine's business.

mod editor;
mod panel;
mod record;

use leptos::html;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use self::editor::Editor;
use self::panel::{Panel, Row};
use self::record::Record;
use super::basics::drawn;
use super::dom;
use super::effects::soon;
use super::state::Page;
use crate::wire::Recall;

/// Brings a record on the screen.
fn sought(id: &str) {
    let record = dom::find(&["[data-memory=\"", id, "\"]"].concat());
    if let (Some(record), Some(dialog)) = (record, dom::find("[data-testid=dialog]")) {
        let above = record.get_bounding_client_rect().top() - dialog.get_bounding_client_rect().top();
        dialog.set_scroll_top(dialog.scroll_top() + above as i32 - 80);
        let _ = record.class_list().add_1("sought");
        let _ = record.focus();
    }
}

/// Facts or episodes.
#[component]
fn Section(panel: Panel, title: &'static str, episodes: bool) -> impl IntoView {
    view! {
        <section hidden=move || panel.shown(episodes).is_empty()>
            <h3>{title}</h3>
            <ul class="memories">
                <For
                    each=move || panel.rows(episodes)
                    key=|row| row.key.clone()
                    children=move |Row { one, editing, .. }| {
                        if editing {
                            view! { <Editor panel one/> }.into_any()
                        } else {
                            view! { <Record panel one/> }.into_any()
                        }
                    }
                />
            </ul>
        </section>
    }
}

/// Says what was done, and takes it back.
#[component]
fn Undo(panel: Panel, said: String, back: Recall) -> impl IntoView {
    let undo = move |_| {
        panel.undo.set(None);
        panel.act(back.clone());
    };
    view! {
        <p class="memory-done" role="status" data-testid="memory-done">
            <span dir="auto">{drawn(&said)}</span>
            <button type="button" class="small" data-testid="memory-undo" on:click=undo>"Undo"</button>
        </p>
    }
}

/// A field for a fact to remember.
#[component]
fn Remember(panel: Panel) -> impl IntoView {
    let field = NodeRef::<html::Input>::new();
    let remember = move || {
        let Some(field) = field.get_untracked() else { return };
        let text = field.value().trim().to_owned();
        if !text.is_empty() {
            field.set_value("");
            panel.act(Recall::Remember(text));
        }
    };
    let key = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            remember();
        }
    };
    view! {
        <div class="remember">
            <label>
                <span class="for-readers">"A fact to remember"</span>
                <input
                    placeholder="Write down a fact to remember"
                    dir="auto"
                    data-testid="remember"
                    node_ref=field
                    on:keydown=key
                />
            </label>
            <button type="button" data-testid="remember-add" on:click=move |_| remember()>"Remember"</button>
        </div>
    }
}

/// The panel, at one record where its id is given.
#[component]
pub fn MemoryPanel(page: Page, at: Option<String>) -> impl IntoView {
    let panel = Panel::new(page);
    let at = StoredValue::new(at);
    Effect::new(move || {
        if panel.all.with(Option::is_some)
            && let Some(id) = at.try_update_value(Option::take).flatten()
        {
            soon(move || sought(&id));
        }
    });
    // Whatever changes it: this dialog, a compaction, another tab.
    Effect::new(move || {
        page.memories.track();
        panel.read();
    });
    let only_here = page.nav.now().transcript.is_some().then(|| {
        view! {
            <button
                type="button"
                class="chip"
                data-testid="memory-here"
                aria-pressed=move || if panel.here.get() { "true" } else { "false" }
                on:click=move |_| panel.here.update(|here| *here = !*here)
            >
                "Only from this thread"
            </button>
        }
    });
    let note =
        move || panel.note().map(|note| view! { <p class="faint" role="status" data-testid="memory-note">{note}</p> });
    view! {
        <div class="memory-panel" data-testid="memory-panel">
            <Remember panel/>
            <div class="chips">{only_here}</div>
            {move || panel.undo.get().map(|(said, back)| view! { <Undo panel said back/> })}
            {note}
            <Section panel title="Facts" episodes=false/>
            <Section panel title="Episodes" episodes=true/>
        </div>
    }
}
