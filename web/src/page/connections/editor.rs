//! The form of a connection.

use leptos::prelude::*;
use threadkeep_provider::Preset;
use web_sys::KeyboardEvent;

use super::fields::{KeyFields, ModelField, MoreFields, WireField};
use super::form::Form;
use super::outcome::Outcome;
use super::panel::Panel;
use crate::connections::{CHROME, Connection, DEMO};
use crate::page::basics::drawn;
use crate::page::effects::soon;

/// The form for a connection; it need not be among them yet.
#[component]
pub(super) fn Editor(panel: Panel, one: Connection) -> impl IntoView {
    let form = Form::new(panel, &one);
    soon(move || form.focus_first());
    let (title, help) = about(&one);
    let help = help.trim();
    let help = (!help.is_empty()).then(|| view! { <p class="faint">{help.to_owned()}</p> });
    let escape = move |event: KeyboardEvent| {
        // Escape ends the editing, not the dialog.
        if event.key() == "Escape" {
            event.prevent_default();
            form.cancel();
        }
    };
    let test = Memo::new(move |_| form.test.get());
    view! {
        <div class="connection-form" role="group" aria-label=title on:keydown=escape>
            <h3>{title}</h3>
            {help}
            <label class="field-line">
                <span>"Name"</span>
                <input
                    value=one.name.clone()
                    autocomplete="off"
                    dir="auto"
                    data-testid="connection-name"
                    node_ref=form.fields.name
                />
            </label>
            <label class="field-line">
                <span>"Address"</span>
                <input
                    type="url"
                    inputmode="url"
                    value=one.base_url.clone()
                    placeholder="https://…"
                    autocomplete="off"
                    data-testid="connection-url"
                    node_ref=form.fields.url
                />
            </label>
            {form.custom.then(|| view! { <WireField form wire=one.provider.clone()/> })}
            <KeyFields form kept=one.sealed.is_some()/>
            <ModelField form model=one.model.clone()/>
            <MoreFields form one/>
            <p role="status" class="outcome" data-testid="connection-said">{move || drawn(&form.said.get())}</p>
            <Outcome test/>
            <div class="choice">
                <button type="button" class="first" data-testid="connection-try" on:click=move |_| form.try_it()>
                    "Test"
                </button>
                <button type="button" on:click=move |_| form.cancel()>"Cancel"</button>
                <button
                    type="button"
                    class="primary"
                    data-testid="connection-save"
                    disabled=move || form.busy.get()
                    on:click=move |_| form.save()
                >
                    "Save"
                </button>
            </div>
        </div>
    }
}

/// The words of a preset: what people call it, and how it is got going.
fn about(connection: &Connection) -> (&'static str, String) {
    match (connection.preset.as_str(), Preset::named(&connection.preset)) {
        (DEMO, _) => ("Offline demo (scripted)", String::new()),
        (CHROME, _) => ("Chrome's built-in model", String::new()),
        (_, Some(preset)) => {
            let origin = window().location().origin().unwrap_or_default();
            (preset.name, [preset.hint, " ", &preset.browser_help(&origin)].concat())
        }
        _ => ("Another endpoint", String::new()),
    }
}
