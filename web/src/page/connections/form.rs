//! A connection that is being written: what stands in its fields, what is tested and asked of the server meanwhile, and saving it with its
//! key.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_provider::{Listed, Preset};

use super::panel::{Panel, Test, View, tested};
use crate::connections::{Connection, Tools};
use crate::page::keys::KeyState;
use crate::wire::{Ask, Reply, Secret, Talk};
use crate::words;

/// The shortest passphrase that is taken, in characters.
const SHORTEST: usize = 8;

/// What a field holds.
pub(super) fn value(field: NodeRef<html::Input>) -> String {
    field.get_untracked().map(|field| field.value()).unwrap_or_default()
}

/// What is chosen.
fn chosen(field: NodeRef<html::Select>) -> String {
    field.get_untracked().map(|field| field.value()).unwrap_or_default()
}

/// Whether it is ticked.
pub(super) fn checked(field: NodeRef<html::Input>) -> bool {
    field.get_untracked().is_some_and(|field| field.checked())
}

/// The fields, the tick and the choices of the form.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub(super) name: NodeRef<html::Input>,
    pub(super) url: NodeRef<html::Input>,
    pub(super) provider: NodeRef<html::Select>,
    pub(super) key: NodeRef<html::Input>,
    pub(super) keep: NodeRef<html::Input>,
    pub(super) passphrase: NodeRef<html::Input>,
    pub(super) model: NodeRef<html::Input>,
    pub(super) tools: NodeRef<html::Select>,
    pub(super) context: NodeRef<html::Input>,
    pub(super) output: NodeRef<html::Input>,
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
    /// Over a connection as it is.
    pub(super) fn new(panel: Panel, one: &Connection) -> Self {
        let preset = Preset::named(&one.preset);
        let fields = Fields {
            name: NodeRef::new(),
            url: NodeRef::new(),
            provider: NodeRef::new(),
            key: NodeRef::new(),
            keep: NodeRef::new(),
            passphrase: NodeRef::new(),
            model: NodeRef::new(),
            tools: NodeRef::new(),
            context: NodeRef::new(),
            output: NodeRef::new(),
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

    /// Gives the first field that wants something the focus.
    pub(super) fn focus_first(self) {
        let first = if self.custom {
            self.fields.url
        } else if self.preset.is_some_and(|preset| preset.key) {
            self.fields.key
        } else {
            self.fields.model
        };
        if let Some(first) = first.get_untracked() {
            let _ = first.focus();
        }
    }

    /// What stands in the fields, and the key that was typed.
    fn read(self) -> (Connection, String) {
        let Fields { name, url, provider, key, model, tools, context, output, .. } = self.fields;
        let count = |field| value(field).trim().parse().ok().filter(|count| *count > 0);
        let mut now = Connection {
            name: value(name).trim().to_owned(),
            model: value(model).trim().to_owned(),
            base_url: value(url).trim().trim_end_matches('/').to_owned(),
            max_context_tokens: count(context),
            max_output_tokens: count(output),
            tools: Tools::named(&chosen(tools)),
            ..self.was.get_value()
        };
        if self.custom {
            now.provider = chosen(provider);
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

    /// Has it tested as it is written now.
    pub(super) fn try_it(self) {
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
                Err(error) => words::words(&error).line(),
            };
            self.said.try_set(words);
        });
    }

    /// A model was named: what the server says of its context is better than a guess.
    pub(super) fn chosen_model(self) {
        let entered = value(self.fields.model);
        let size = self.models.with_untracked(|all| all.iter().find(|one| one.id == entered)?.max_context_tokens);
        if let (Some(size), Some(field)) = (size, self.fields.context.get_untracked()) {
            field.set_value(&size.to_string());
        }
    }

    /// Saves it, unless something is missing.
    pub(super) fn save(self) {
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

    /// Goes back to the list.
    pub(super) fn cancel(self) {
        self.panel.view.set(View::List);
    }
}
