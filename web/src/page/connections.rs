//! The dialog of connections: what there is, which is in use, adding from presets, editing, testing, removing, and keys that are kept
//! under a passphrase. What a test finds out is the worker's business; keys are [`keys`](super::keys)'.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_provider::{Listed, PRESETS, Preset, Provider};
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, KeyboardEvent, Node};

use super::dom;
use super::keys::{Connections, KeyState};
use super::state::Page;
use super::view::{Slot, Spot, click, draw, live, markup, on, rows, soon};
use crate::connections::{CHROME, Connection, DEMO, DEMO_MODEL, Tools};
use crate::wire::{Ask, Reply, Secret, Talk, Tested};
use crate::words;

/// The shortest passphrase that is taken, in characters.
const SHORTEST: usize = 8;

/// What the dialog shows.
#[derive(Debug, Clone, PartialEq)]
enum View {
    /// The connections.
    List,
    /// One that is being written; it need not be among them yet.
    Edit(Connection),
}

/// How a test goes.
#[derive(Debug, Clone, PartialEq)]
enum Test {
    Running,
    Done(Tested),
}

#[derive(Clone, Copy)]
struct Panel {
    page: Page,
    keys: Connections,
    view: RwSignal<View>,
    /// The connection that is to be removed, once that is confirmed.
    removing: RwSignal<String>,
    /// The last test of each connection.
    tests: RwSignal<Vec<(String, Test)>>,
}

/// What a field holds.
fn value(spot: Spot) -> String {
    spot.get().map(|field| field.unchecked_into::<HtmlInputElement>().value()).unwrap_or_default()
}

fn checked(spot: Spot) -> bool {
    spot.get().is_some_and(|field| field.unchecked_into::<HtmlInputElement>().checked())
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

/// A new connection of a preset.
fn of_preset(preset: &Preset) -> Connection {
    Connection {
        id: new_id(),
        preset: preset.id.to_owned(),
        name: if preset.is_custom() { String::new() } else { preset.name.to_owned() },
        provider: preset.provider.name().to_owned(),
        base_url: preset.base_url.to_owned(),
        ..Connection::default()
    }
}

/// The browser's own model.
fn chrome() -> Connection {
    let (id, name) = (CHROME.to_owned(), "Chrome's built-in model".to_owned());
    Connection {
        preset: id.clone(),
        provider: id.clone(),
        model: "built-in".to_owned(),
        id,
        name,
        ..Connection::default()
    }
}

fn demo() -> Connection {
    let name = "Offline demo (scripted)".to_owned();
    let text = DEMO_MODEL.to_owned();
    Connection {
        id: DEMO.to_owned(),
        preset: DEMO.to_owned(),
        name,
        provider: text.clone(),
        model: text,
        ..Connection::default()
    }
}

/// An id that no other connection has; it names nothing outside of this page.
fn new_id() -> String {
    let id: String = (js_sys::Math::random() * 1e15).to_string();
    id.replace('.', "")
}

impl Panel {
    /// Saves a connection without a key: it is complete as it is.
    fn add(self, connection: Connection) {
        let id = connection.id.clone();
        self.keys.change(|book| {
            book.put(connection);
            book.chosen = id;
        });
    }

    fn test(self, connection: &Connection) {
        let (id, secret) = (connection.id.clone(), self.keys.request(connection));
        let set = move |id: &str, test: Test| {
            // Who has closed the dialog needs no answer.
            self.tests.try_update(|tests| {
                tests.retain(|(of, _)| of != id);
                tests.push((id.to_owned(), test));
            });
        };
        set(&id, Test::Running);
        spawn_local(async move {
            set(&id, Test::Done(tested(self.page, secret).await));
        });
    }

    fn entry(self, one: &Connection) -> Node {
        let (id, connection) = (one.id.clone(), one.clone());
        let chosen = {
            let id = id.clone();
            move || self.keys.book.with(|book| book.chosen == id)
        };
        let choose = {
            let id = id.clone();
            move || self.keys.change(|book| book.chosen.clone_from(&id))
        };
        let key = {
            let connection = connection.clone();
            move || match (connection.is_inside(), self.keys.key_state(&connection)) {
                (true, _) => "needs no key",
                (_, KeyState::None) => "no key",
                (_, KeyState::Memory) => "key in memory",
                (_, KeyState::Kept) => "key kept, unlocked",
                (_, KeyState::Locked) => "key kept, locked",
            }
        };
        let place = match connection.preset.as_str() {
            DEMO => "no model: it answers from a script".to_owned(),
            CHROME => "in this browser".to_owned(),
            _ => [
                if connection.model.is_empty() { "no model chosen" } else { &connection.model },
                " at ",
                connection.host(),
            ]
            .concat(),
        };
        let acts = {
            let id = id.clone();
            let connection = connection.clone();
            move |removing: &bool| {
                let (id, again, edited) = (id.clone(), connection.clone(), connection.clone());
                Some(if *removing {
                    markup!(
                        r#"
                        <span class="sure">Remove it, and its key?</span>
                        <button type="button" class="small" onclick={}>Keep</button>
                        <button type="button" class="small danger" data-testid="connection-confirm" onclick={}>Remove</button>"#,
                        click(move || self.removing.set(String::new())),
                        click(move || self.keys.remove(&id)),
                    )
                } else {
                    let edit = (!connection.is_inside()).then(|| {
                        markup!(
                            r#"
                            <button type="button" class="icon" title="Edit" aria-label="Edit" data-testid="connection-edit" onclick={}>
                                <svg sign="edit"/>
                            </button>"#,
                            click(move || self.view.set(View::Edit(edited.clone()))),
                        )
                    });
                    markup!(
                        r#"
                        <button type="button" class="small" data-testid="connection-test" onclick={}>Test</button>
                        {}
                        <button type="button" class="icon" title="Remove…" aria-label="Remove…" data-testid="connection-remove" onclick={}>
                            <svg sign="trash"/>
                        </button>"#,
                        click(move || self.test(&again)),
                        edit,
                        click(move || self.removing.set(id.clone())),
                    )
                })
            }
        };
        let (of, asked) = (id.clone(), id.clone());
        let test =
            move || self.tests.with(|tests| tests.iter().find(|(id, _)| *id == of).map(|(_, test)| test.clone()));
        markup!(
            r#"
            <li class="connection" class:chosen={} data-testid="connection">
                <label>
                    <input type="radio" name="connection" checked={} data-testid="connection-use" onchange={}/>
                    <span class="connection-name" dir="auto">{}</span>
                    <span class="thread-facts"><span>{}</span><span data-testid="connection-key">{}</span></span>
                </label>
                <p class="memory-acts">{}</p>
                {}
            </li>"#,
            live(chosen.clone()),
            chosen(),
            click(choose),
            connection.name.clone(),
            place,
            live(key),
            draw(move || self.removing.with(|removing| *removing == asked), acts),
            draw(test, outcome),
        )
    }

    fn unlock(self, locked: bool) -> Option<Node> {
        if !locked {
            return None;
        }
        let (field, said) = (Spot::new(), RwSignal::new(String::new()));
        let unlock = move || {
            let passphrase = value(field);
            if passphrase.is_empty() {
                return;
            }
            said.set("Unlocking…".to_owned());
            spawn_local(async move {
                let words = match self.keys.unlock(&passphrase).await {
                    Ok(0) => "That is not the passphrase that the keys were kept under.".to_owned(),
                    Ok(_) => String::new(),
                    Err(why) => why,
                };
                said.try_set(words);
            });
        };
        Some(markup!(
            r#"
            <div class="unlock" role="group" aria-label="Locked keys">
                <svg sign="lock"/>
                <label><span>Passphrase of your kept keys</span><input type="password" autocomplete="off" data-testid="unlock-passphrase" ref={} onkeydown={}/></label>
                <button type="button" class="primary" data-testid="unlock" onclick={}>Unlock</button>
                <p role="status" data-testid="unlock-said">{}</p>
            </div>"#,
            field,
            on_enter(unlock),
            click(unlock),
            live(move || said.get()),
        ))
    }

    fn list(self) -> Node {
        let each = rows(move |row| {
            for one in self.keys.book.get().list {
                let key = format!("{one:?}");
                row(key, &mut || self.entry(&one));
            }
        });
        let presets: Vec<Node> = PRESETS
            .iter()
            .map(|preset| {
                markup!(
                    r#"<button type="button" data-testid={} onclick={}>{}</button>"#,
                    format!("preset-{}", preset.id),
                    click(move || self.view.set(View::Edit(of_preset(preset)))),
                    preset.name,
                )
            })
            .collect();
        let none = move || self.keys.book.with(|book| book.list.is_empty());
        let note = |none: &bool| {
            none.then(|| {
                markup!(
                    r#"<p class="faint" data-testid="connections-none">None yet. Add one to talk to a model; reading needs none.</p>"#
                )
            })
        };
        let browsers = RwSignal::new(None::<String>);
        spawn_local(async move {
            browsers.try_set(super::browser::language_model().await);
        });
        let has_chrome = move || self.keys.book.with(|book| book.find(CHROME).is_some());
        let own = move |found: &Option<String>| {
            let found = found.as_deref()?;
            let words = if found == "available" {
                "Chrome's built-in model"
            } else {
                "Chrome's built-in model (must be loaded)"
            };
            Some(markup!(
                r#"<button type="button" data-testid="preset-chrome" disabled={} onclick={}>{}</button>"#,
                live(has_chrome),
                click(move || self.add(chrome())),
                words,
            ))
        };
        let has_demo = move || self.keys.book.with(|book| book.find(DEMO).is_some());
        markup!(
            r#"
            {}{}
            <ul class="connections" aria-label="Your connections">{}</ul>
            <h3>Add a connection</h3>
            <div class="presets">
                {}{}
                <button type="button" data-testid="preset-demo" disabled={} onclick={}>Offline demo (scripted)</button>
            </div>
            <p class="privacy">
                <svg sign="lock"/>
                <span>What you say goes from this browser straight to the model that you choose, and nowhere else. Keys stay in this
                page's memory until you close it, unless you keep them under a passphrase.</span>
            </p>"#,
            draw(move || self.keys.locked() > 0, move |locked| self.unlock(*locked)),
            draw(none, note),
            each,
            presets,
            draw(move || browsers.get(), own),
            live(has_demo),
            click(move || self.add(demo())),
        )
    }

    fn editor(self, one: &Connection) -> Node {
        let was = one.clone();
        let new = self.keys.book.with_untracked(|book| book.find(&one.id).is_none());
        let preset = Preset::named(&one.preset);
        let custom = preset.is_none_or(Preset::is_custom);
        let (name, url, model, key) = (Spot::new(), Spot::new(), Spot::new(), Spot::new());
        let (provider, keep, passphrase, context, output) =
            (Spot::new(), Spot::new(), Spot::new(), Spot::new(), Spot::new());
        let tools = Spot::new();
        let said = RwSignal::new(String::new());
        let busy = RwSignal::new(false);
        let state = self.keys.key_state(one);
        let keeping = RwSignal::new(one.sealed.is_some());
        let test = RwSignal::new(None::<Test>);
        let models = RwSignal::new(Vec::<Listed>::new());
        // What stands in the fields, and the key that was typed.
        let read = {
            let was = was.clone();
            move || {
                let count = |spot| value(spot).trim().parse().ok().filter(|count| *count > 0);
                let base_url = value(url).trim().trim_end_matches('/').to_owned();
                let named = value(name).trim().to_owned();
                let mut now = Connection {
                    name: named,
                    model: value(model).trim().to_owned(),
                    base_url,
                    max_context_tokens: count(context),
                    max_output_tokens: count(output),
                    tools: Tools::named(&value(tools)),
                    ..was.clone()
                };
                if custom {
                    now.provider = value(provider);
                }
                if now.name.is_empty() {
                    now.name = if now.host().is_empty() { "Connection".to_owned() } else { now.host().to_owned() };
                }
                (now, value(key).trim().to_owned())
            }
        };
        // With the key that was typed, else with the one that is held.
        let secret = {
            let read = read.clone();
            move || {
                let (now, typed) = read();
                if typed.is_empty() { self.keys.request(&now) } else { Secret(now.request(Some(&typed))) }
            }
        };
        let try_it = {
            let secret = secret.clone();
            move || {
                let secret = secret();
                test.set(Some(Test::Running));
                spawn_local(async move {
                    let done = tested(self.page, secret).await;
                    test.try_set(Some(Test::Done(done)));
                });
            }
        };
        let look = move || {
            let secret = secret();
            said.set("Asking the server for its models…".to_owned());
            spawn_local(async move {
                let asked = Ask::Talk(Box::new(Talk::Models(secret)));
                let words = match self.page.engine.ask(asked).await {
                    Ok(Reply::Models(list)) if list.is_empty() => {
                        "The server names no models: write the name down.".to_owned()
                    }
                    Ok(Reply::Models(list)) => {
                        let words = format!("{} to choose from.", crate::format::plural(list.len() as u64, "model"));
                        models.try_set(list);
                        words
                    }
                    Ok(_) => String::new(),
                    Err(error) => in_words(&error),
                };
                said.try_set(words);
            });
        };
        let chosen_model = move |event: Event| {
            // What the server says of a model's context is better than a guess.
            let entered = dom::entered(&event);
            let size = models.with_untracked(|all| all.iter().find(|one| one.id == entered)?.max_context_tokens);
            if let (Some(size), Some(field)) = (size, context.get()) {
                field.unchecked_into::<HtmlInputElement>().set_value(&size.to_string());
            }
        };
        let save = move || {
            let (mut now, typed) = read();
            if let Some(missing) = missing(&now) {
                return said.set(missing.to_owned());
            }
            let (wants, words) = (checked(keep), value(passphrase));
            let must_seal = wants && (now.sealed.is_none() || !typed.is_empty());
            if must_seal && words.chars().count() < SHORTEST {
                return said.set(format!("The passphrase must have at least {SHORTEST} characters."));
            }
            busy.set(true);
            spawn_local(async move {
                if !typed.is_empty() {
                    self.keys.hold(&now.id, Some(typed));
                }
                if !wants {
                    now.sealed = None;
                } else if must_seal {
                    said.try_set("Encrypting the key…".to_owned());
                    match self.keys.seal(&now.id, &words).await {
                        Ok(sealed) => now.sealed = sealed,
                        Err(why) => {
                            busy.try_set(false);
                            said.try_set(why);
                            return;
                        }
                    }
                }
                self.keys.change(|book| {
                    if new {
                        book.chosen.clone_from(&now.id);
                    }
                    book.put(now);
                });
                self.view.try_set(View::List);
            });
        };
        let id = one.id.clone();
        let forget = move || {
            self.keys.change(|book| {
                if let Some(one) = book.list.iter_mut().find(|one| one.id == id) {
                    one.sealed = None;
                }
            });
            self.keys.hold(&id, None);
            let now = self.keys.book.with_untracked(|book| book.find(&id).cloned());
            self.view.set(now.map_or(View::List, View::Edit));
        };
        let forget = (state != KeyState::None).then(|| {
            markup!(
                r#"<button type="button" class="quiet small" data-testid="key-forget" onclick={}>Forget the key</button>"#,
                click(forget),
            )
        });
        let (title, help) = about(one);
        let help = (!help.trim().is_empty()).then(|| markup!(r#"<p class="faint">{}</p>"#, help.trim().to_owned()));
        let placeholder = match state {
            KeyState::None if preset.is_some_and(|preset| preset.key) => "Needed",
            KeyState::None => "Only if the server wants one",
            KeyState::Locked => "Kept and locked; type to replace it",
            _ => "There is one; type to replace it",
        };
        let wire = custom.then(|| {
            let option = |one: Provider| {
                let name = one.name();
                markup!("<option value={} selected={}>{}</option>", name, name == was.provider, wire_name(one))
            };
            markup!(
                r#"<label class="field-line"><span>Speaks</span><select data-testid="connection-provider" ref={}>{}</select></label>"#,
                provider,
                Provider::ALL.map(option).to_vec(),
            )
        });
        let options = rows(move |row| {
            for one in models.get() {
                row(one.id.clone(), &mut || markup!("<option value={}></option>", one.id.clone()));
            }
        });
        let secret_field = move |keeping_now: &bool| {
            keeping_now.then(|| {
                let text = if state == KeyState::Locked { "Only needed with a new key" } else { "At least 8 characters" };
                markup!(
                    r#"
                    <label class="field-line"><span>Passphrase</span><input type="password" autocomplete="off" placeholder={} data-testid="connection-passphrase" ref={}/></label>
                    <p class="faint">The key is encrypted with it (PBKDF2, AES-GCM) and kept in this browser. You are asked for it once a visit. It cannot be recovered.</p>"#,
                    text,
                    passphrase,
                )
            })
        };
        soon(move || {
            let first = if custom {
                url
            } else if preset.is_some_and(|preset| preset.key) {
                key
            } else {
                model
            };
            if let Some(first) = first.get() {
                let _ = first.focus();
            }
        });
        let escape = move |event: Event| {
            // Escape ends the editing, not the dialog.
            if event.unchecked_ref::<KeyboardEvent>().key() == "Escape" {
                event.prevent_default();
                self.view.set(View::List);
            }
        };
        let number = |count: Option<u32>| count.map(|count| count.to_string()).unwrap_or_default();
        markup!(
            r#"
            <div class="connection-form" role="group" aria-label={} onkeydown={}>
                <h3>{}</h3>
                {}
                <label class="field-line"><span>Name</span><input value={} autocomplete="off" dir="auto" data-testid="connection-name" ref={}/></label>
                <label class="field-line"><span>Address</span><input type="url" inputmode="url" value={} placeholder="https://…" autocomplete="off" data-testid="connection-url" ref={}/></label>
                {}
                <label class="field-line"><span>Key</span><input type="password" autocomplete="off" placeholder={} data-testid="connection-secret" ref={}/></label>
                <div class="field-line">
                    <span></span>
                    <div>
                        <label class="tick"><input type="checkbox" checked={} data-testid="connection-keep" ref={} onchange={}/><span>Keep the key in this browser, under a passphrase</span></label>
                        {}
                    </div>
                </div>
                {}
                <div class="field-line">
                    <label for="connection-model">Model</label>
                    <div class="with-button">
                        <input id="connection-model" list="connection-models" value={} autocomplete="off" data-testid="connection-model" ref={} onchange={}/>
                        <datalist id="connection-models">{}</datalist>
                        <button type="button" data-testid="connection-models" onclick={}>List models</button>
                    </div>
                </div>
                <details class="more-fields">
                    <summary>Tools and limits</summary>
                    <label class="field-line"><span>Tools</span><select data-testid="connection-tools" ref={}>{}</select></label>
                    <label class="field-line"><span>Context, tokens</span><input inputmode="numeric" value={} placeholder="By the model's name" data-testid="connection-context" ref={}/></label>
                    <label class="field-line"><span>Answer, tokens</span><input inputmode="numeric" value={} placeholder="By the model's name" data-testid="connection-output" ref={}/></label>
                </details>
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
            wire,
            placeholder,
            key,
            one.sealed.is_some(),
            keep,
            on(move |_| keeping.set(checked(keep))),
            forget,
            draw(move || keeping.get(), secret_field),
            one.model.clone(),
            model,
            on(chosen_model),
            options,
            click(look),
            tools,
            Tools::ALL
                .map(|(tools, name, words)| markup!(
                    "<option value={} selected={}>{}</option>",
                    name,
                    tools == one.tools,
                    words
                ))
                .to_vec(),
            number(one.max_context_tokens),
            context,
            number(one.max_output_tokens),
            output,
            live(move || said.get()),
            draw(move || test.get(), outcome),
            click(try_it),
            click(move || self.view.set(View::List)),
            live(move || busy.get()),
            click(save),
        )
    }
}

/// What a connection still lacks.
fn missing(connection: &Connection) -> Option<&'static str> {
    let url = &connection.base_url;
    if !(url.starts_with("https://") || url.starts_with("http://")) || connection.host().is_empty() {
        return Some("The address must begin with https:// or http://.");
    }
    if connection.host().contains('@') {
        return Some("The address must not hold a name or password.");
    }
    connection.model.is_empty().then_some("Choose a model, or write down its name.")
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

fn on_enter(act: impl Fn() + 'static) -> Slot {
    on(move |event| {
        if event.unchecked_ref::<KeyboardEvent>().key() == "Enter" {
            event.prevent_default();
            act();
        }
    })
}

fn in_words(error: &threadkeep::protocol::ErrorReply) -> String {
    let words = words::words(error);
    [words.title.as_str(), ". ", &words.advice].concat()
}

/// Has a connection tested.
async fn tested(page: Page, secret: Secret) -> Tested {
    match page.engine.ask(Ask::Talk(Box::new(Talk::Test(secret)))).await {
        Ok(Reply::Tested(tested)) => tested,
        Ok(_) => Tested::default(),
        Err(error) => Tested { ok: false, words: in_words(&error) },
    }
}

fn outcome(test: &Option<Test>) -> Option<Node> {
    let (class, words) = match test.as_ref()? {
        Test::Running => ("tested", "Asking the model for a word…".to_owned()),
        Test::Done(tested) => (if tested.ok { "tested good" } else { "tested bad" }, tested.words.clone()),
    };
    Some(markup!(r#"<p class={} role="status" data-testid="connection-result">{}</p>"#, class, words))
}

/// The dialog.
pub fn panel(page: Page) -> Node {
    let panel = Panel {
        page,
        keys: page.connections,
        view: RwSignal::new(View::List),
        removing: RwSignal::new(String::new()),
        tests: RwSignal::new(Vec::new()),
    };
    let view = move |view: &View| {
        Some(match view {
            View::List => panel.list(),
            View::Edit(connection) => panel.editor(connection),
        })
    };
    markup!(
        r#"<div class="connections-panel" data-testid="connections">{}</div>"#,
        draw(move || panel.view.get(), view)
    )
}
