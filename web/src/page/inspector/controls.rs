//! The inspector's controls: one for each setting, and the instructions. Reading what was set, and showing what is stored.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement};

use super::Inspector;
use crate::inspect::{Control, Instructions, MODES, SETTINGS, Setting, Settings, position, read_limit, tokens};
use crate::page::basics::choices;
use crate::page::dom;

/// A number as a field holds it; nothing for no limit.
pub(super) fn number(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The control of each setting: limits, then choices, then checks. The budget in tokens has its place beside the slider.
#[component]
pub(super) fn Controls(settings: Settings) -> impl IntoView {
    let of = |kind: fn(&Control) -> bool| SETTINGS.iter().filter(move |one| kind(&one.control) && one.name != "tokens");
    of(|control| matches!(control, Control::Limit(_)))
        .chain(of(|control| matches!(control, Control::Choice(..))))
        .chain(of(|control| matches!(control, Control::Check { .. })))
        .map(|setting| control(setting, settings.get(setting.name)))
        .collect_view()
}

fn control(Setting { name, label, control }: &'static Setting, value: Option<u64>) -> AnyView {
    match control {
        Control::Limit(_) => view! { <Limit name label value placeholder="none"/> }.into_any(),
        Control::Choice(list, _) => view! {
            <div class="field">
                <label for=*name>{*label}</label>
                <select id=*name name=*name data-testid=*name>{listed(list, value.unwrap_or_default())}</select>
            </div>
        }
        .into_any(),
        Control::Check { .. } => view! {
            <label class="check">
                <input type="checkbox" name=*name data-testid=*name checked=value == Some(1)/>
                {*label}
            </label>
        }
        .into_any(),
    }
}

/// A limit; nothing in it for none.
#[component]
pub(super) fn Limit(
    name: &'static str,
    label: &'static str,
    value: Option<u64>,
    placeholder: &'static str,
) -> impl IntoView {
    let id = ["max-", name].concat();
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <input
                id=id.clone()
                name=name
                type="number"
                min="0"
                inputmode="numeric"
                placeholder=placeholder
                data-testid=id
                value=number(value)
            />
        </div>
    }
}

/// The choices of a list, each by its place in it.
fn listed(list: &[(&'static str, &'static str)], chosen: u64) -> AnyView {
    let one = |(at, (_, words)): (usize, &(&'static str, &'static str))| (at.to_string(), *words);
    choices(list.iter().enumerate().map(one), &chosen.to_string())
}

/// The system prompt, the mode and the persona. They are read when they are opened, and can be written in from then on.
#[component]
pub(super) fn InstructionFields(inspector: Inspector) -> impl IntoView {
    view! {
        <details
            class="payload"
            data-testid="instructions"
            on:toggle=move |_| inspector.show_instructions()
            on:change=move |_| inspector.instruct(Inspector::filled())
        >
            <summary>"Instructions"</summary>
            <div class="field wide">
                <label for="system-prompt">"System prompt"</label>
                <textarea
                    id="system-prompt"
                    rows="3"
                    dir="auto"
                    placeholder="That of each thread"
                    data-testid="system-prompt"
                    disabled
                ></textarea>
            </div>
            <div class="field">
                <label for="mode">"Mode"</label>
                <select id="mode" data-testid="mode" disabled>{listed(&MODES, 0)}</select>
            </div>
            <div class="field wide">
                <label for="persona">"Persona, in the modes Agent and Run"</label>
                <textarea id="persona" rows="2" dir="auto" data-testid="persona" disabled></textarea>
            </div>
        </details>
    }
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
    pub(super) fn entered(self, event: &Event) {
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
