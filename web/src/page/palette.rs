//! What Ctrl+K opens: a field that leads to every act of the page, every setting, every thread and every message. An act is a button
//! that is on the page, pressed from here; so whatever gets a button can be reached, and what cannot be done now is not offered.

use std::time::Duration;

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use super::basics::{Time, drawn};
use super::dialogs;
use super::dom;
use super::effects::soon;
use super::search::Search;
use super::state::{Dialog, Page};
use crate::beside::Side;
use crate::inspect::SETTINGS;
use crate::list::{self, Filter, Sort};
use crate::route::Route;
use crate::wire::{Hit, ThreadInfo};
use crate::{format, pieces};

/// Where the buttons are that can be pressed from here.
const BUTTONS: &str = ".brand-acts button, .foot button, .thread-name button, .thread-acts button, .tabs button";
/// How long it takes until a dialog is closed and what was asked for is drawn.
const MOMENT: Duration = Duration::from_millis(30);
/// How many threads are listed.
const THREADS: usize = 8;

/// What a line leads to.
#[derive(Clone)]
enum Way {
    /// A button of the page, by its name in tests: it may be made anew meanwhile.
    Press(String),
    /// A dialog.
    Open(Dialog),
    /// A control of the context panel, by its name in tests.
    Set(String),
    Thread(ThreadInfo),
    /// A hit, by its position.
    Hit(usize, Hit),
}

/// A line: what it says, and where it leads.
#[derive(Clone)]
struct Line {
    name: String,
    about: String,
    way: Way,
}

/// The palette. A handle: copies are the same.
#[derive(Clone, Copy)]
struct Palette {
    page: Page,
    query: RwSignal<String>,
    search: Search,
    /// The line that the keys are at.
    active: RwSignal<usize>,
    /// What the page could do when the palette was opened.
    acts: StoredValue<Vec<Line>>,
}

/// The acts that have a button now.
fn presses() -> Vec<Line> {
    let mut lines = Vec::new();
    let Ok(found) = document().query_selector_all(BUTTONS) else { return lines };
    for button in (0..found.length()).filter_map(|at| found.item(at)?.dyn_into::<HtmlElement>().ok()) {
        let attribute = |name: &str| button.get_attribute(name).filter(|text| !text.is_empty());
        let Some(id) = attribute("data-testid").filter(|_| !button.has_attribute("disabled")) else { continue };
        // The menu of a phone leads to what is listed anyway, and the way back is no act.
        if matches!(id.as_str(), "more" | "back") {
            continue;
        }
        let name = attribute("aria-label").unwrap_or_else(|| button.text_content().unwrap_or_default());
        let about = attribute("title").filter(|title| *title != name).unwrap_or_default();
        lines.push(Line { name, about, way: Way::Press(id) });
    }
    lines
}

/// The settings of the open branch.
fn settings() -> impl Iterator<Item = Line> {
    let id = |name: &str| match SETTINGS.iter().find(|one| one.name == name).map(|one| one.is_limit()) {
        Some(true) => ["max-", name].concat(),
        _ => name.to_owned(),
    };
    let line = |name: &str, id: String| Line { name: name.to_owned(), about: "Setting".to_owned(), way: Way::Set(id) };
    let instructions = [("System prompt", "system-prompt"), ("Mode", "mode"), ("Persona", "persona")];
    SETTINGS
        .iter()
        .map(move |one| line(one.label, id(one.name)))
        .chain(instructions.map(|(name, id)| line(name, id.to_owned())))
}

impl Palette {
    fn start(page: Page) -> Self {
        let query = RwSignal::new(String::new());
        let search = Search::start(page, query, Memo::new(|_| String::new()));
        let mut acts = presses();
        let dialog = |dialog: Dialog| Line {
            name: dialogs::title(&dialog).to_owned(),
            about: String::new(),
            way: Way::Open(dialog),
        };
        acts.extend([Dialog::Bin, Dialog::Help].map(dialog));
        if page.leaf.get_untracked().is_some() {
            acts.extend(settings());
        }
        Self { page, query, search, active: RwSignal::new(0), acts: StoredValue::new(acts) }
    }

    /// What fits the words: acts, threads, then messages; tracks.
    fn lines(self) -> Vec<Line> {
        let query = self.query.get();
        let words: Vec<String> = query.split_whitespace().map(format::lower).collect();
        let fits = |line: &&Line| {
            let text = format::lower(&[&line.name, " ", &line.about].concat());
            words.iter().all(|word| text.contains(word.as_str()))
        };
        let mut lines: Vec<Line> = self.acts.with_value(|acts| acts.iter().filter(fits).cloned().collect());
        self.page.threads.all.with(|all| {
            let all = all.as_ref().map_or(&[][..], |all| all);
            let found = list::arrange(all, &query, &Filter::default(), Sort::Newest);
            lines.extend(found.into_iter().take(THREADS).map(|at| {
                let info = all[at].clone();
                let about = format::source(&info.source).to_owned();
                Line { name: list::title(&info).to_owned(), about, way: Way::Thread(info) }
            }));
        });
        lines.extend(self.search.hits().into_iter().enumerate().map(|(at, hit)| {
            let (name, about) = (hit.snippet.concat(), self.search.title(&hit));
            Line { name, about, way: Way::Hit(at, hit) }
        }));
        lines
    }

    /// Closes the palette and does what a line says.
    fn go(self, way: Way) {
        let page = self.page;
        page.dialog.set(None);
        match way {
            Way::Press(id) => soon_in_page(move || press(&id)),
            Way::Open(dialog) => page.dialog.set(Some(dialog)),
            Way::Set(id) => {
                page.sides.show(Side::Context);
                show_control(id, 40);
            }
            Way::Thread(info) => page.nav.go(Route::thread(info.id)),
            Way::Hit(at, _) => self.search.open(at),
        }
    }

    fn key(self, event: &KeyboardEvent, lines: Vec<Line>) {
        let last = lines.len().saturating_sub(1);
        let now = self.active.get_untracked().min(last);
        let to = match event.key().as_str() {
            "ArrowDown" => (now + 1).min(last),
            "ArrowUp" => now.saturating_sub(1),
            "Enter" => {
                event.prevent_default();
                if let Some(line) = lines.into_iter().nth(now) {
                    self.go(line.way);
                }
                return;
            }
            _ => return,
        };
        event.prevent_default();
        self.active.set(to);
        soon(move || {
            if let (Some(list), Some(line)) = (dom::find("#ways"), dom::find(&format!("#way-{to}"))) {
                dom::reveal(&list, line.offset_top() as usize, line.offset_height() as usize);
            }
        });
    }
}

/// Calls `act` once the dialog is closed, whose close gives the focus back.
fn soon_in_page(act: impl FnOnce() + 'static) {
    set_timeout(act, MOMENT);
}

fn by_test_id(id: &str) -> Option<HtmlElement> {
    dom::find(&["[data-testid=\"", id, "\"]"].concat())
}

fn press(id: &str) {
    if let Some(button) = by_test_id(id) {
        button.click();
        let _ = button.focus();
    }
}

/// Unfolds what a control of the context panel is in, and gives the control the focus. It tries so many times, until the control is there
/// and what is set was read.
fn show_control(id: String, times: usize) {
    let look = move || {
        let control = by_test_id(&id);
        if let Some(Ok(Some(folded))) = control.as_ref().map(|control| control.closest("details")) {
            let _ = folded.set_attribute("open", "");
        }
        match control.filter(|control| !control.has_attribute("disabled")) {
            Some(control) => drop(control.focus()),
            None if times > 0 => show_control(id, times - 1),
            None => {}
        }
    };
    set_timeout(look, MOMENT);
}

/// The dialog's body.
#[component]
pub fn PalettePanel(page: Page) -> impl IntoView {
    let palette = Palette::start(page);
    let field = NodeRef::<html::Input>::new();
    soon(move || {
        if let Some(field) = field.get_untracked() {
            let _ = field.focus();
        }
    });
    let typed = move |text: String| {
        palette.query.set(text);
        palette.active.set(0);
    };
    let lines = Memo::new_with_compare(move |_| palette.lines(), |_, _| true);
    let rows = move || {
        let active = palette.active.get();
        lines
            .get()
            .into_iter()
            .enumerate()
            .map(|(at, line)| view! { <Row palette at line active=at == active/> })
            .collect_view()
    };
    view! {
        <div class="palette">
            <input
                type="text"
                role="combobox"
                placeholder="An act, a setting, a thread, or words of a message"
                aria-label="Go to"
                aria-expanded="true"
                aria-controls="ways"
                aria-activedescendant=move || format!("way-{}", palette.active.get())
                autocomplete="off"
                spellcheck="false"
                data-testid="palette"
                node_ref=field
                on:input=move |event| typed(event_target_value(&event))
                on:keydown=move |event| palette.key(&event, lines.get_untracked())
            />
            <div class="ways" id="ways" role="listbox" aria-label="Where to" data-testid="ways">
                {rows}
                <Show when=move || lines.with(Vec::is_empty)>
                    <p class="no-match">"Nothing matches."</p>
                </Show>
            </div>
        </div>
    }
}

#[component]
fn Row(palette: Palette, at: usize, line: Line, active: bool) -> impl IntoView {
    let Line { name, about, way } = line;
    let kind = match &way {
        Way::Thread(_) => "Thread".to_owned(),
        Way::Hit(_, hit) => pieces::role_label(&hit.role).to_owned(),
        _ => String::new(),
    };
    let time = match &way {
        Way::Thread(info) => info.updated_at,
        Way::Hit(_, hit) => hit.created_at,
        _ => None,
    };
    let way = StoredValue::new(way);
    view! {
        <div
            class="way"
            class:active=active
            role="option"
            id=format!("way-{at}")
            data-testid="way"
            aria-selected=active.to_string()
            on:click=move |_| palette.go(way.get_value())
        >
            <span class="way-name" dir="auto">{drawn(&name)}</span>
            <span class="thread-facts">
                {(!kind.is_empty()).then(|| view! { <span>{kind}</span> })}
                {(!about.is_empty()).then(|| view! { <span class="source">{drawn(&about)}</span> })}
                {time.map(|at| view! { <Time at/> })}
            </span>
        </div>
    }
}
