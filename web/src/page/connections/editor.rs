//! The form of a connection: its fields, what is tested and asked of the server while one writes, and saving it with its key.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_provider::{Listed, Preset};
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, KeyboardEvent, Node};

use super::{Panel, Test, View, checked, in_words, outcome, tested, value};
use crate::connections::{CHROME, Connection, DEMO, Tools};
use crate::page::dom;
use crate::page::keys::KeyState;
use crate::page::view::{Spot, click, draw, live, markup, on, soon};
use crate::wire::{Ask, Reply, Secret, Talk};

/// The shortest passphrase that is taken, in characters.
const SHORTEST: usize = 8;

impl Panel {
    /// The form for a connection; it need not be among them yet.
    pub(super) fn editor(self, one: &Connection) -> Node {
        let form = Form::new(self, one);
        soon(move || form.focus_first());
        form.view(one)
    }
}

/// The fields, the tick and the choices of the form.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub(super) name: Spot,
    pub(super) url: Spot,
    pub(super) provider: Spot,
    pub(super) key: Spot,
    pub(super) keep: Spot,
    pub(super) passphrase: Spot,
    pub(super) model: Spot,
    pub(super) tools: Spot,
    pub(super) context: Spot,
    pub(super) output: Spot,
}

/// A connection that is being written.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) panel: Panel,
    /// The connection as it was when that began.
    pub(super) was: StoredValue<Connection>,
    pub(super) new: bool,
    pub(super) preset: Option<&'static Preset>,
    /// Whether the reader says which wire form it speaks.
    pub(super) custom: bool,
    pub(super) state: KeyState,
    pub(super) fields: Fields,
    pub(super) said: RwSignal<String>,
    pub(super) busy: RwSignal<bool>,
    pub(super) keeping: RwSignal<bool>,
    pub(super) test: RwSignal<Option<Test>>,
    /// The models that the server names.
    pub(super) models: RwSignal<Vec<Listed>>,
}

impl Form {
    fn new(panel: Panel, one: &Connection) -> Self {
        let preset = Preset::named(&one.preset);
        let fields = Fields {
            name: Spot::new(),
            url: Spot::new(),
            provider: Spot::new(),
            key: Spot::new(),
            keep: Spot::new(),
            passphrase: Spot::new(),
            model: Spot::new(),
            tools: Spot::new(),
            context: Spot::new(),
            output: Spot::new(),
        };
        Self {
            panel,
            was: StoredValue::new(one.clone()),
            new: panel.keys.book.with_untracked(|book| book.find(&one.id).is_none()),
            preset,
            custom: preset.is_none_or(Preset::is_custom),
            state: panel.keys.key_state(one),
            fields,
            said: RwSignal::new(String::new()),
            busy: RwSignal::new(false),
            keeping: RwSignal::new(one.sealed.is_some()),
            test: RwSignal::new(None),
            models: RwSignal::new(Vec::new()),
        }
    }

    fn focus_first(self) {
        let first = if self.custom {
            self.fields.url
        } else if self.preset.is_some_and(|preset| preset.key) {
            self.fields.key
        } else {
            self.fields.model
        };
        if let Some(first) = first.get() {
            let _ = first.focus();
        }
    }

    /// What stands in the fields, and the key that was typed.
    fn read(self) -> (Connection, String) {
        let Fields { name, url, provider, key, model, tools, context, output, .. } = self.fields;
        let count = |spot| value(spot).trim().parse().ok().filter(|count| *count > 0);
        let mut now = Connection {
            name: value(name).trim().to_owned(),
            model: value(model).trim().to_owned(),
            base_url: value(url).trim().trim_end_matches('/').to_owned(),
            max_context_tokens: count(context),
            max_output_tokens: count(output),
            tools: Tools::named(&value(tools)),
            ..self.was.get_value()
        };
        if self.custom {
            now.provider = value(provider);
        }
        if now.name.is_empty() {
            now.name = if now.host().is_empty() { "Connection".to_owned() } else { now.host().to_owned() };
        }
        (now, value(key).trim().to_owned())
    }

    /// What a request carries: with the key that was typed, else with the one that is held.
    fn secret(self) -> Secret {
        let (now, typed) = self.read();
        if typed.is_empty() { self.panel.keys.request(&now) } else { Secret(now.request(Some(&typed))) }
    }

    fn try_it(self) {
        let secret = self.secret();
        self.test.set(Some(Test::Running));
        spawn_local(async move {
            let done = tested(self.panel.page, secret).await;
            self.test.try_set(Some(Test::Done(done)));
        });
    }

    /// Asks the server for its models.
    pub(super) fn look(self) {
        let secret = self.secret();
        self.said.set("Asking the server for its models…".to_owned());
        spawn_local(async move {
            let asked = Ask::Talk(Box::new(Talk::Models(secret)));
            let words = match self.panel.page.engine.ask(asked).await {
                Ok(Reply::Models(list)) if list.is_empty() => {
                    "The server names no models: write the name down.".to_owned()
                }
                Ok(Reply::Models(list)) => {
                    let words = format!("{} to choose from.", crate::format::plural(list.len() as u64, "model"));
                    self.models.try_set(list);
                    words
                }
                Ok(_) => String::new(),
                Err(error) => in_words(&error),
            };
            self.said.try_set(words);
        });
    }

    /// A model was named: what the server says of its context is better than a guess.
    pub(super) fn chosen_model(self, event: &Event) {
        let entered = dom::entered(event);
        let size = self.models.with_untracked(|all| all.iter().find(|one| one.id == entered)?.max_context_tokens);
        if let (Some(size), Some(field)) = (size, self.fields.context.get()) {
            field.unchecked_into::<HtmlInputElement>().set_value(&size.to_string());
        }
    }

    fn save(self) {
        let (now, typed) = self.read();
        if let Some(missing) = now.missing() {
            return self.said.set(missing.to_owned());
        }
        let passphrase = checked(self.fields.keep).then(|| value(self.fields.passphrase));
        let must_seal = now.sealed.is_none() || !typed.is_empty();
        if must_seal && passphrase.as_ref().is_some_and(|words| words.chars().count() < SHORTEST) {
            return self.said.set(format!("The passphrase must have at least {SHORTEST} characters."));
        }
        self.busy.set(true);
        spawn_local(async move {
            if let Err(why) = self.store(now, typed, passphrase, must_seal).await {
                self.busy.try_set(false);
                self.said.try_set(why);
            }
        });
    }

    /// Keeps the connection and its key, which is sealed where there is a passphrase.
    async fn store(
        self,
        mut now: Connection,
        typed: String,
        passphrase: Option<String>,
        must_seal: bool,
    ) -> Result<(), String> {
        let Self { panel, new, .. } = self;
        if !typed.is_empty() {
            panel.keys.hold(&now.id, Some(typed));
        }
        match passphrase {
            None => now.sealed = None,
            Some(words) if must_seal => {
                self.said.try_set("Encrypting the key…".to_owned());
                now.sealed = panel.keys.seal(&now.id, &words).await?;
            }
            Some(_) => {}
        }
        panel.keys.change(|book| {
            if new {
                book.chosen.clone_from(&now.id);
            }
            book.put(now);
        });
        panel.view.try_set(View::List);
        Ok(())
    }

    /// Lets go of the key.
    pub(super) fn forget(self) {
        let Panel { keys, view, .. } = self.panel;
        let id = self.was.with_value(|was| was.id.clone());
        keys.change(|book| {
            if let Some(one) = book.list.iter_mut().find(|one| one.id == id) {
                one.sealed = None;
            }
        });
        keys.hold(&id, None);
        let now = keys.book.with_untracked(|book| book.find(&id).cloned());
        view.set(now.map_or(View::List, View::Edit));
    }

    fn cancel(self) {
        self.panel.view.set(View::List);
    }

    fn view(self, one: &Connection) -> Node {
        let Fields { name, url, .. } = self.fields;
        let (title, help) = about(one);
        let help = (!help.trim().is_empty()).then(|| markup!(r#"<p class="faint">{}</p>"#, help.trim().to_owned()));
        let escape = move |event: Event| {
            // Escape ends the editing, not the dialog.
            if event.unchecked_ref::<KeyboardEvent>().key() == "Escape" {
                event.prevent_default();
                self.cancel();
            }
        };
        markup!(
            r#"
            <div class="connection-form" role="group" aria-label={} onkeydown={}>
                <h3>{}</h3>
                {}
                <label class="field-line"><span>Name</span><input value={} autocomplete="off" dir="auto" data-testid="connection-name" ref={}/></label>
                <label class="field-line"><span>Address</span><input type="url" inputmode="url" value={} placeholder="https://…" autocomplete="off" data-testid="connection-url" ref={}/></label>
                {}{}{}{}
                <p role="status" class="outcome" data-testid="connection-said">{}</p>
                {}
                <div class="choice">
                    <button type="button" class="first" data-testid="connection-try" onclick={}>Test</button>
                    <button type="button" onclick={}>Cancel</button>
                    <button type="button" class="primary" data-testid="connection-save" disabled={} onclick={}>Save</button>
                </div>
            </div>"#,
            title,
            on(escape),
            title,
            help,
            one.name.clone(),
            name,
            one.base_url.clone(),
            url,
            self.custom.then(|| self.wire_field(one)),
            self.key_fields(one),
            self.model_field(one),
            self.more_fields(one),
            live(move || self.said.get()),
            draw(move || self.test.get(), outcome),
            click(move || self.try_it()),
            click(move || self.cancel()),
            live(move || self.busy.get()),
            click(move || self.save()),
        )
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
