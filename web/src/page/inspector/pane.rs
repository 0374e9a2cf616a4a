//! The inspector's pane: its controls, made once. What it says of an answer is put in by [`super::show`], by the names in
//! `data-testid`: an answer comes with every step of the slider.

use std::rc::Rc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, Node};

use super::Inspector;
use crate::format::{capital, plural};
use crate::inspect::{
    Control, Instructions, KINDS, MODES, Mark, SETTINGS, STEPS, Setting, Settings, position, read_limit, tokens,
};
use crate::page::composer;
use crate::page::dom::{self, Build as _, el};
use crate::page::engine::State;
use crate::page::side::Side;
use crate::page::state::Page;
use crate::page::view::{Slot, click, follow, markup, on, soon};

/// The side panel.
pub fn pane(page: Page) -> Node {
    let this = page.inspector;
    follow(move || {
        if let Some(thread) = page.nav.route().transcript {
            this.move_pins(&thread);
        }
    });
    // Whatever changes what there is to ask.
    follow(move || {
        let ready = matches!(page.engine.state.get(), State::Open { .. });
        page.leaf.track();
        page.tree.track();
        if ready {
            soon(move || this.ask());
        }
    });
    this.with(|inner| inner.next = Some(Rc::new(move || composer::next_request(page))));
    let settings = this.with(|inner| inner.settings);
    let entered = move |event: Event| this.entered(&event);
    let pin = move || this.pin();
    let unpin = move || {
        let pinned = this.unpin();
        let words = plural(pinned.len() as u64, "message");
        let back = move || this.pin_all(pinned.clone(), true);
        page.notices.offer("Pins removed", &format!("{words} can go out of prompts again."), "Undo", back);
    };
    let toggled = move |event: Event| {
        let Some(button) = dom::closest(event.target(), "button") else { return };
        let on = button.get_attribute("aria-pressed").as_deref() == Some("true");
        let _ = button.set_attribute("aria-pressed", if on { "false" } else { "true" });
    };
    let opened = move |event: Event| {
        if dom::closest(event.target(), "[open]").is_some() {
            this.refresh_payload();
        }
    };
    let copy = move || {
        spawn_local(async move {
            match this.payload().await {
                Ok((payload, _)) if dom::copy(&payload.text).await => {
                    page.notices.say("Copied", "The payload, as JSON.")
                }
                Ok(_) => {
                    page.notices.say("Nothing was copied", "The browser does not let this page use the clipboard.")
                }
                Err(error) => page.notices.fail(&error),
            }
        });
    };
    markup!(
        r#"
        <aside class="pane map inspector" aria-label="Context" data-testid="inspector" aria-busy="true">
            <header class="map-head">
                <h2>Context</h2>
                <button type="button" class="icon" title="Close the context inspector" aria-label="Close the context inspector" onclick={}>
                    <svg sign="close"/>
                </button>
            </header>
            <div class="inspector-body" oninput={}>
                <p class="note" role="status" data-testid="note" hidden></p>
                <section class="gauge">
                    <p class="gauge-line"><strong data-testid="tokens">–</strong> <span data-testid="of"></span></p>
                    <p class="faint" data-testid="kept"></p>
                    <div class="bar" aria-hidden="true">{}</div>
                    <input
                        type="range"
                        name="slider"
                        data-testid="budget"
                        aria-label="Budget in tokens"
                        min="0"
                        max={}
                        step="1"
                        value={}
                    />
                    <div class="field">
                        <label for="max-tokens">Budget, tokens</label>
                        <input
                            id="max-tokens"
                            name="tokens"
                            type="number"
                            min="0"
                            inputmode="numeric"
                            placeholder="no limit"
                            data-testid="max-tokens"
                            value={}
                        />
                    </div>
                    <p class="over" role="alert" data-testid="over" hidden></p>
                </section>
                <dl class="kinds" aria-label="Tokens by kind">{}</dl>
                <section aria-label="Settings">
                    {}
                </section>
                <section>
                    <details class="payload" data-testid="instructions" ontoggle={} onchange={}>
                        <summary>Instructions</summary>
                        <div class="field wide">
                            <label for="system-prompt">System prompt</label>
                            <textarea id="system-prompt" rows="3" dir="auto" placeholder="That of each thread" data-testid="system-prompt" disabled></textarea>
                        </div>
                        <div class="field">
                            <label for="mode">Mode</label>
                            <select id="mode" data-testid="mode" disabled>{}</select>
                        </div>
                        <div class="field wide">
                            <label for="persona">Persona, in the modes Agent and Run</label>
                            <textarea id="persona" rows="2" dir="auto" data-testid="persona" disabled></textarea>
                        </div>
                    </details>
                </section>
                <section>
                    <h3>Both policies</h3>
                    <div class="sides">{}</div>
                </section>
                <section>
                    <h3>Messages</h3>
                    <ul class="marks-legend" data-testid="marks">{}</ul>
                    <p class="acts-line"><button type="button" class="small" data-testid="cut" hidden onclick={}>Show where the kept part begins</button></p>
                    <p class="faint" data-testid="leaving"></p>
                    <p class="acts-line">
                        <button type="button" class="small leaving-toggle" data-testid="leaving-toggle" aria-pressed="false" hidden onclick={}>Mark them</button>
                    </p>
                </section>
                <section>
                    <h3>Selected message</h3>
                    <p class="chosen-words" dir="auto" data-testid="selected"></p>
                    <p class="faint" data-testid="why"></p>
                    <p class="faint" data-testid="survives"></p>
                    <p class="acts-line">
                        <button type="button" class="small" data-testid="pin" aria-pressed="false" hidden onclick={}>Pin</button>
                        <button type="button" class="small quiet" data-testid="unpin" hidden onclick={}></button>
                    </p>
                </section>
                <section>
                    <h3>Epochs</h3>
                    <p class="faint">Each compaction begins an epoch: prompts from then on have its summary in place of what is old.</p>
                    <p class="acts-line"><button type="button" class="small" data-testid="epochs-open" onclick={}><svg sign="epochs"/>Prompts before and after</button></p>
                </section>
                <section>
                    <details class="payload" data-testid="payload" ontoggle={}>
                        <summary>Payload for the provider</summary>
                        <p class="faint" data-testid="payload-what" hidden></p>
                        <ul class="warnings" data-testid="warnings"></ul>
                        <pre tabindex="0" data-testid="payload-text" aria-label="Payload">Reading…</pre>
                        <p class="faint" data-testid="payload-size"></p>
                    </details>
                    <p class="acts-line"><button type="button" class="small" data-testid="copy-payload" onclick={}><svg sign="copy"/>Copy the payload</button></p>
                </section>
            </div>
        </aside>"#,
        click(move || page.turn(Side::Context)),
        on(entered),
        bar("m"),
        STEPS.to_string(),
        position(settings.tokens(), this.with(|inner| inner.whole)).to_string(),
        number(settings.tokens()),
        kinds(),
        controls(&settings),
        on(move |_: Event| this.show_instructions()),
        on(move |_: Event| this.instruct(Inspector::filled())),
        choices(&MODES, 0),
        vec![side("newest", "n"), side("stable", "s")],
        legend(),
        click(move || this.show_cut()),
        on(toggled),
        click(pin),
        click(unpin),
        click(move || page.show_epochs(None)),
        on(opened),
        click(copy),
    )
}

fn number(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The control of each setting: limits, then choices, then checks. The budget in tokens has its place beside the slider.
fn controls(settings: &Settings) -> Vec<Node> {
    let of = |kind: fn(&Control) -> bool| SETTINGS.iter().filter(move |one| kind(&one.control) && one.name != "tokens");
    of(|control| matches!(control, Control::Limit(_)))
        .chain(of(|control| matches!(control, Control::Choice(..))))
        .chain(of(|control| matches!(control, Control::Check { .. })))
        .map(|setting| control(setting, settings.get(setting.name)))
        .collect()
}

fn control(Setting { name, label, control }: &'static Setting, value: Option<u64>) -> Node {
    match control {
        Control::Limit(_) => {
            let id = ["max-", name].concat();
            markup!(
                r#"
                <div class="field">
                    <label for={}>{}</label>
                    <input id={} name={} type="number" min="0" inputmode="numeric" placeholder="none" data-testid={} value={}/>
                </div>"#,
                id.clone(),
                *label,
                id.clone(),
                *name,
                id,
                number(value),
            )
        }
        Control::Choice(list, _) => markup!(
            r#"
            <div class="field">
                <label for={}>{}</label>
                <select id={} name={} data-testid={}>{}</select>
            </div>"#,
            *name,
            *label,
            *name,
            *name,
            *name,
            choices(list, value.unwrap_or_default()),
        ),
        Control::Check { .. } => markup!(
            r#"<label class="check"><input type="checkbox" name={} data-testid={} checked={}/>{}</label>"#,
            *name,
            *name,
            value == Some(1),
            *label,
        ),
    }
}

/// A segment for each kind, and one for what is free.
fn bar(name: &str) -> Vec<Node> {
    let segment = |kind: &str| named("i", &["kind-", kind].concat(), &[name, "-", kind].concat());
    KINDS.iter().map(|(kind, _)| *kind).chain(["free"]).map(segment).collect()
}

fn kinds() -> Vec<Node> {
    let kinds = KINDS.iter().chain(&[("free", "Free")]);
    kinds.map(|(kind, words)| figure("div", "dt", "dd", "kind-", kind, words)).collect()
}

fn legend() -> Vec<Node> {
    let figure = |mark: Mark| figure("li", "span", "b", "mark-", mark.name(), &capital(mark.name()));
    Mark::ALL.into_iter().map(figure).collect()
}

/// An element with a class and a name for [`super::show`].
fn named(tag: &str, class: &str, name: &str) -> Node {
    el(tag).class(class).attr("data-testid", name).into()
}

/// A swatch with its words, and a figure to come; hidden until there is one.
fn figure(row: &str, term: &str, number: &str, prefix: &str, name: &str, words: &str) -> Node {
    let swatch = el("i").class(&["swatch ", prefix, name].concat());
    let term = el(term).child(swatch).child(dom::text(words));
    let number = named(number, "", &[prefix, name].concat());
    el(row).attr("data-testid", &["row-", name].concat()).attr("hidden", "").child(term).child(number).into()
}

fn side(name: &'static str, short: &str) -> Node {
    markup!(
        r#"
        <div class="side" data-testid={}>
            <p class="side-head"><span class="side-name" data-testid={}>{}</span> <span data-testid={}></span></p>
            <div class="bar" aria-hidden="true">{}</div>
            <p class="faint" data-testid={}></p>
        </div>"#,
        format!("side-{name}"),
        format!("{short}-name"),
        name,
        format!("{short}-kept"),
        bar(short),
        format!("{short}-shared"),
    )
}

fn choices(list: &[(&'static str, &'static str)], chosen: u64) -> Slot {
    let one = |(at, (_, words)): (usize, &(&'static str, &'static str))| {
        markup!("<option value={} selected={}>{}</option>", at.to_string(), at as u64 == chosen, *words)
    };
    Slot::Nodes(list.iter().enumerate().map(one).collect())
}

/// A field of the instructions. A text area and a select have the same value.
fn instruction(name: &str) -> Option<HtmlInputElement> {
    dom::find(&["[data-testid=instructions] [data-testid=", name, "]"].concat()).map(JsCast::unchecked_into)
}

impl Inspector {
    /// Puts instructions into their fields, which can be written in from then on.
    pub(super) fn fill(instructions: &Instructions) {
        let Instructions { system_prompt, persona, mode } = instructions;
        for (name, text) in [("system-prompt", system_prompt), ("persona", persona), ("mode", &mode.to_string())] {
            if let Some(field) = instruction(name) {
                field.set_value(text);
                field.set_disabled(false);
            }
        }
    }

    /// What is in the fields of the instructions.
    fn filled() -> Instructions {
        let text = |name: &str| instruction(name).map(|field| field.value()).unwrap_or_default();
        Instructions {
            system_prompt: text("system-prompt"),
            persona: text("persona"),
            mode: text("mode").parse().unwrap_or_default(),
        }
    }

    /// Shows what is set in the controls, where they are.
    pub fn show_settings(self) {
        let settings = self.settings();
        for Setting { name, control, .. } in &SETTINGS {
            let Some(input) = dom::find(&["[data-testid=inspector] [name=", name, "]"].concat()) else { continue };
            // A select has the same name and value.
            let input: HtmlInputElement = input.unchecked_into();
            match control {
                Control::Limit(_) => input.set_value(&number(settings.get(name))),
                Control::Choice(..) => input.set_value(&settings.get(name).unwrap_or_default().to_string()),
                Control::Check { .. } => input.set_checked(settings.get(name) == Some(1)),
            }
        }
        if let Some(slider) = dom::find("[data-testid=inspector] [name=slider]") {
            let place = position(settings.tokens(), self.with(|inner| inner.whole));
            slider.unchecked_into::<HtmlInputElement>().set_value(&place.to_string());
        }
    }

    /// Something was set: reads it, and keeps the slider and its number field true to each other.
    fn entered(self, event: &Event) {
        let Some(input) = event.target().map(|target| target.unchecked_into::<HtmlInputElement>()) else { return };
        // A select has the same name and value.
        let (name, value) = (input.name(), input.value());
        let limit = read_limit(&value);
        let now = self.with(|inner| inner.settings);
        let whole = self.with(|inner| inner.whole);
        let other = |name: &str, value: String| {
            let found = dom::find(&["[data-testid=inspector] [name=", name, "]"].concat());
            if let Some(other) = found {
                other.unchecked_into::<HtmlInputElement>().set_value(&value);
            }
        };
        if name == "slider" {
            let tokens = tokens(limit.unwrap_or_default() as u32, whole);
            other("tokens", number(tokens));
            return self.set(now.with("tokens", tokens), true);
        }
        if name == "tokens" {
            other("slider", position(limit, whole).to_string());
        }
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else { return };
        let value = match setting.control {
            Control::Limit(_) => limit,
            Control::Choice(..) => Some(limit.unwrap_or_default()),
            Control::Check { .. } => Some(input.checked().into()),
        };
        self.set(now.with(&name, value), false);
    }
}
