//! Fields of a connection's form: the wire form, the key, the model, tools and limits.

use leptos::prelude::*;
use threadkeep_provider::Provider;

use super::form::{Form, checked};
use crate::connections::{Connection, Tools};
use crate::page::basics::choices;
use crate::page::keys::KeyState;

/// Which wire form a server of the reader's own speaks.
#[component]
pub(super) fn WireField(form: Form, wire: String) -> impl IntoView {
    let wires = Provider::ALL.map(|one| (one.name(), wire_name(one)));
    view! {
        <label class="field-line">
            <span>"Speaks"</span>
            <select data-testid="connection-provider" node_ref=form.fields.provider>
                {choices(wires, &wire)}
            </select>
        </label>
    }
}

/// The key, and whether it is `kept` under a passphrase.
#[component]
pub(super) fn KeyFields(form: Form, kept: bool) -> impl IntoView {
    let forget = (form.state != KeyState::None).then(|| {
        view! {
            <button type="button" class="quiet small" data-testid="key-forget" on:click=move |_| form.forget()>
                "Forget the key"
            </button>
        }
    });
    let placeholder = match form.state {
        KeyState::None if form.preset.is_some_and(|preset| preset.key) => "Needed",
        KeyState::None => "Only if the server wants one",
        KeyState::Locked => "Kept and locked; type to replace it",
        _ => "There is one; type to replace it",
    };
    view! {
        <label class="field-line">
            <span>"Key"</span>
            <input
                type="password"
                autocomplete="off"
                placeholder=placeholder
                data-testid="connection-secret"
                node_ref=form.fields.key
            />
        </label>
        <div class="field-line">
            <span></span>
            <div>
                <label class="tick">
                    <input
                        type="checkbox"
                        checked=kept
                        data-testid="connection-keep"
                        node_ref=form.fields.keep
                        on:change=move |_| form.keeping.set(checked(form.fields.keep))
                    />
                    <span>"Keep the key in this browser, under a passphrase"</span>
                </label>
                {forget}
            </div>
        </div>
        <Show when=move || form.keeping.get()>
            <Passphrase form/>
        </Show>
    }
}

#[component]
fn Passphrase(form: Form) -> impl IntoView {
    let locked = form.state == KeyState::Locked;
    view! {
        <label class="field-line">
            <span>"Passphrase"</span>
            <input
                type="password"
                autocomplete="off"
                placeholder=if locked { "Only needed with a new key" } else { "At least 8 characters" }
                data-testid="connection-passphrase"
                node_ref=form.fields.passphrase
            />
        </label>
        <p class="faint">
            "The key is encrypted with it (PBKDF2, AES-GCM) and kept in this browser. You are asked for it once a visit. It cannot be recovered."
        </p>
    }
}

/// The model, with those that the server names.
#[component]
pub(super) fn ModelField(form: Form, model: String) -> impl IntoView {
    view! {
        <div class="field-line">
            <label for="connection-model">"Model"</label>
            <div class="with-button">
                <input
                    id="connection-model"
                    list="connection-models"
                    value=model
                    autocomplete="off"
                    data-testid="connection-model"
                    node_ref=form.fields.model
                    on:change=move |_| form.chosen_model()
                />
                <datalist id="connection-models">
                    <For
                        each=move || form.models.get()
                        key=|one| one.id.clone()
                        children=|one| view! { <option value=one.id></option> }
                    />
                </datalist>
                <button type="button" data-testid="connection-models" on:click=move |_| form.look()>
                    "List models"
                </button>
            </div>
        </div>
    }
}

/// What few change: tools and limits.
#[component]
pub(super) fn MoreFields(form: Form, one: Connection) -> impl IntoView {
    let number = |count: Option<u32>| count.map(|count| count.to_string()).unwrap_or_default();
    let tools = Tools::ALL.map(|(_, name, words)| (name, words));
    let chosen = Tools::ALL.iter().find(|(tools, ..)| *tools == one.tools).map_or("", |(_, name, _)| *name);
    let limit = |name: &'static str, id: &'static str, count: Option<u32>, field| {
        view! {
            <label class="field-line">
                <span>{name}</span>
                <input
                    inputmode="numeric"
                    value=number(count)
                    placeholder="By the model's name"
                    data-testid=id
                    node_ref=field
                />
            </label>
        }
    };
    view! {
        <details class="more-fields">
            <summary>"Tools and limits"</summary>
            <label class="field-line">
                <span>"Tools"</span>
                <select data-testid="connection-tools" node_ref=form.fields.tools>
                    {choices(tools, chosen)}
                </select>
            </label>
            {limit("Context, tokens", "connection-context", one.max_context_tokens, form.fields.context)}
            {limit("Answer, tokens", "connection-output", one.max_output_tokens, form.fields.output)}
        </details>
    }
}

fn wire_name(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAiChat => "OpenAI Chat Completions",
        Provider::OpenAiResponses => "OpenAI Responses",
        Provider::Anthropic => "Anthropic Messages",
        Provider::Gemini => "Gemini",
        Provider::Ollama => "Ollama",
    }
}
