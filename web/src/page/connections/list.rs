//! The list of connections: which is in use, what can be done with each, adding from presets, and unlocking kept keys.

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_provider::PRESETS;
use web_sys::Node;

use super::{Panel, View, on_enter, outcome, value};
use crate::connections::{CHROME, Connection, DEMO};
use crate::page::browser;
use crate::page::keys::KeyState;
use crate::page::view::{Spot, click, draw, live, markup, rows};

impl Panel {
    /// A connection of the list.
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
            move || held(connection.is_inside(), self.keys.key_state(&connection))
        };
        let place = connection.place();
        let (of, asked, one) = (id.clone(), id, one.clone());
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
            draw(
                move || self.removing.with(|removing| *removing == asked),
                move |removing| Some(self.acts(&one, *removing))
            ),
            draw(test, outcome),
        )
    }

    /// What can be done with a connection, or whether it is to be removed.
    fn acts(self, one: &Connection, removing: bool) -> Node {
        let (id, again, edited) = (one.id.clone(), one.clone(), one.clone());
        if removing {
            return markup!(
                r#"
                <span class="sure">Remove it, and its key?</span>
                <button type="button" class="small" onclick={}>Keep</button>
                <button type="button" class="small danger" data-testid="connection-confirm" onclick={}>Remove</button>"#,
                click(move || self.removing.set(String::new())),
                click(move || self.keys.remove(&id)),
            );
        }
        let edit = (!one.is_inside()).then(|| {
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
    }

    /// The field for the passphrase of kept keys.
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

    /// The connections, and what can be added.
    pub(super) fn list(self) -> Node {
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
                    click(move || self.view.set(View::Edit(Connection::of_preset(preset, new_id())))),
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
            browsers.try_set(browser::language_model().await);
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
                click(move || self.add(Connection::chrome())),
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
            click(move || self.add(Connection::demo())),
        )
    }
}

/// Says where the key of a connection is.
fn held(inside: bool, state: KeyState) -> &'static str {
    match (inside, state) {
        (true, _) => "needs no key",
        (_, KeyState::None) => "no key",
        (_, KeyState::Memory) => "key in memory",
        (_, KeyState::Kept) => "key kept, unlocked",
        (_, KeyState::Locked) => "key kept, locked",
    }
}

/// An id that no other connection has; it names nothing outside of this page.
fn new_id() -> String {
    let id: String = (js_sys::Math::random() * 1e15).to_string();
    id.replace('.', "")
}
