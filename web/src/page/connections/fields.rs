//! Fields of a connection's form: the wire form, the key, the model, tools and limits.

use leptos::prelude::*;
use threadkeep_provider::Provider;
use web_sys::Node;

use super::checked;
use super::editor::{Fields, Form};
use crate::connections::{Connection, Tools};
use crate::page::keys::KeyState;
use crate::page::view::{click, draw, markup, on, rows};

impl Form {
    /// Which wire form a server of the reader's own speaks.
    pub(super) fn wire_field(self, one: &Connection) -> Node {
        let option = |wire: Provider| {
            let name = wire.name();
            markup!("<option value={} selected={}>{}</option>", name, name == one.provider, wire_name(wire))
        };
        markup!(
            r#"<label class="field-line"><span>Speaks</span><select data-testid="connection-provider" ref={}>{}</select></label>"#,
            self.fields.provider,
            Provider::ALL.map(option).to_vec(),
        )
    }

    /// The key, and whether it is kept under a passphrase.
    pub(super) fn key_fields(self, one: &Connection) -> Node {
        let Self { state, keeping, fields: Fields { key, keep, .. }, .. } = self;
        let forget = (state != KeyState::None).then(|| {
            markup!(
                r#"<button type="button" class="quiet small" data-testid="key-forget" onclick={}>Forget the key</button>"#,
                click(move || self.forget()),
            )
        });
        let placeholder = match state {
            KeyState::None if self.preset.is_some_and(|preset| preset.key) => "Needed",
            KeyState::None => "Only if the server wants one",
            KeyState::Locked => "Kept and locked; type to replace it",
            _ => "There is one; type to replace it",
        };
        markup!(
            r#"
            <label class="field-line"><span>Key</span><input type="password" autocomplete="off" placeholder={} data-testid="connection-secret" ref={}/></label>
            <div class="field-line">
                <span></span>
                <div>
                    <label class="tick"><input type="checkbox" checked={} data-testid="connection-keep" ref={} onchange={}/><span>Keep the key in this browser, under a passphrase</span></label>
                    {}
                </div>
            </div>
            {}"#,
            placeholder,
            key,
            one.sealed.is_some(),
            keep,
            on(move |_| keeping.set(checked(keep))),
            forget,
            draw(move || keeping.get(), move |keeping| keeping.then(|| self.passphrase_field())),
        )
    }

    fn passphrase_field(self) -> Node {
        let locked = self.state == KeyState::Locked;
        markup!(
            r#"
            <label class="field-line"><span>Passphrase</span><input type="password" autocomplete="off" placeholder={} data-testid="connection-passphrase" ref={}/></label>
            <p class="faint">The key is encrypted with it (PBKDF2, AES-GCM) and kept in this browser. You are asked for it once a visit. It cannot be recovered.</p>"#,
            if locked { "Only needed with a new key" } else { "At least 8 characters" },
            self.fields.passphrase,
        )
    }

    /// The model, with those that the server names.
    pub(super) fn model_field(self, one: &Connection) -> Node {
        let options = rows(move |row| {
            for one in self.models.get() {
                row(one.id.clone(), &mut || markup!("<option value={}></option>", one.id.clone()));
            }
        });
        markup!(
            r#"
            <div class="field-line">
                <label for="connection-model">Model</label>
                <div class="with-button">
                    <input id="connection-model" list="connection-models" value={} autocomplete="off" data-testid="connection-model" ref={} onchange={}/>
                    <datalist id="connection-models">{}</datalist>
                    <button type="button" data-testid="connection-models" onclick={}>List models</button>
                </div>
            </div>"#,
            one.model.clone(),
            self.fields.model,
            on(move |event| self.chosen_model(&event)),
            options,
            click(move || self.look()),
        )
    }

    /// What few change: tools and limits.
    pub(super) fn more_fields(self, one: &Connection) -> Node {
        let number = |count: Option<u32>| count.map(|count| count.to_string()).unwrap_or_default();
        let option = |(tools, name, words): (Tools, &'static str, &'static str)| {
            markup!("<option value={} selected={}>{}</option>", name, tools == one.tools, words)
        };
        markup!(
            r#"
            <details class="more-fields">
                <summary>Tools and limits</summary>
                <label class="field-line"><span>Tools</span><select data-testid="connection-tools" ref={}>{}</select></label>
                <label class="field-line"><span>Context, tokens</span><input inputmode="numeric" value={} placeholder="By the model's name" data-testid="connection-context" ref={}/></label>
                <label class="field-line"><span>Answer, tokens</span><input inputmode="numeric" value={} placeholder="By the model's name" data-testid="connection-output" ref={}/></label>
            </details>"#,
            self.fields.tools,
            Tools::ALL.map(option).to_vec(),
            number(one.max_context_tokens),
            self.fields.context,
            number(one.max_output_tokens),
            self.fields.output,
        )
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
