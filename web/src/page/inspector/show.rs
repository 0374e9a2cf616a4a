//! What the inspector says of an answer: texts and widths put into the elements of its pane, by name and only where they
//! differ. No signals: an answer comes with every step of the slider.

use threadkeep::protocol::ErrorReply;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlInputElement};

use super::Inspector;
use crate::format::{count, plural};
use crate::inspect::{KINDS, Mark, Marks, Settings, position};
use crate::page::dom::{self, Build as _, el};
use crate::wire::{Fitted, Payload, Side};

/// How many characters of a payload are shown; copying takes all.
const SHOWN: usize = 20_000;

/// Said where no branch is open yet, and nothing is typed.
pub(super) const NOTHING_TO_SEND: &str = "There is no request yet: the conversation is still being read.";

/// The pane.
struct Face(Element);

impl Face {
    fn find() -> Option<Self> {
        dom::find("[data-testid=inspector]").map(|pane| Self(pane.into()))
    }

    fn at(&self, name: &str) -> Option<Element> {
        self.0.query_selector(&["[data-testid=", name, "]"].concat()).ok().flatten()
    }

    /// Puts a text in, and hides what has none.
    fn text(&self, name: &str, text: &str) {
        let Some(element) = self.at(name) else { return };
        if element.text_content().as_deref() != Some(text) {
            dom::set_text(&element, text);
        }
        self.there(&element, !text.is_empty());
    }

    fn there(&self, element: &Element, there: bool) {
        if element.has_attribute("hidden") == there {
            // Fails only for names that are no names.
            let _ = element.toggle_attribute_with_force("hidden", !there);
        }
    }

    fn row(&self, name: &str, there: bool) {
        if let Some(element) = self.at(name) {
            self.there(&element, there);
        }
    }

    /// The widths of a bar: what is kept by kind, and what is free of `room`.
    fn bar(&self, short: &str, side: &Side, room: u64) {
        let set = |kind: &str, tokens: u64| {
            if let Some(segment) = self.at(&[short, "-", kind].concat()) {
                dom::style(&segment, "flex-grow", &tokens.to_string());
            }
        };
        for ((kind, _), tokens) in KINDS.iter().zip(&side.kinds) {
            set(kind, *tokens);
        }
        set("free", room.saturating_sub(side.tokens));
    }
}

fn tokens(number: u64) -> String {
    plural(number, "token")
}

impl Inspector {
    /// Says something above everything else, or nothing.
    pub(super) fn say(self, text: &str, bad: bool) {
        let Some(face) = Face::find() else { return };
        face.text("note", text);
        if let Some(note) = face.at("note") {
            let _ = note.class_list().toggle_with_force("bad", bad);
        }
    }

    /// Says to readers and tests whether an answer is on its way.
    pub(super) fn busy_now(self, busy: bool) {
        self.with(|inner| inner.busy = busy);
        if let Some(face) = Face::find() {
            let _ = face.0.set_attribute("aria-busy", if busy { "true" } else { "false" });
        }
    }

    /// Shows an answer.
    pub(super) fn draw(self, fitted: &Fitted, settings: &Settings, marks: &Marks) {
        let Some(face) = Face::find() else { return };
        let [newest, stable] = &fitted.sides[..] else { return };
        let side = if settings.stable() { stable } else { newest };
        face.text("note", "");
        face.text("tokens", &count(side.tokens));
        let of = match settings.tokens() {
            Some(limit) => format!("of {}", tokens(limit)),
            None => "tokens, no limit".to_owned(),
        };
        face.text("of", &of);
        let all = u64::from(marks.len());
        let kept = format!("{} of {} in the prompt", count(side.kept.into()), plural(all, "message"));
        face.text("kept", &kept);
        face.text("over", &over(fitted, settings, side));
        // Both policies are drawn on one scale.
        let room = settings.tokens().unwrap_or(0).min(fitted.whole).max(newest.tokens).max(stable.tokens);
        for (short, side) in [("m", side), ("n", newest), ("s", stable)] {
            face.bar(short, side, room);
        }
        for ((kind, _), tokens) in KINDS.iter().zip(&side.kinds) {
            face.row(&["row-", kind].concat(), *tokens > 0);
            face.text(&["kind-", kind].concat(), &count(*tokens));
        }
        let free = settings.tokens().map(|limit| limit.saturating_sub(side.tokens));
        face.row("row-free", free.is_some());
        face.text("kind-free", &free.map(count).unwrap_or_default());
        for (short, side, chosen) in [("n", newest, !settings.stable()), ("s", stable, settings.stable())] {
            let over = if side.over { ", over budget" } else { "" };
            let kept = format!("{}, {}{over}", plural(side.kept.into(), "message"), tokens(side.tokens));
            face.text(&[short, "-kept"].concat(), &kept);
            let shared = match side.shared {
                Some(shared) => format!("Begins with {} of the last request", tokens(shared)),
                None => "There was no request before".to_owned(),
            };
            face.text(&[short, "-shared"].concat(), &shared);
            if let Some(name) = face.at(&[short, "-name"].concat()) {
                let _ = name.class_list().toggle_with_force("chosen", chosen);
            }
        }
        for (mark, number) in Mark::ALL.into_iter().zip(marks.counts()) {
            face.row(&["row-", mark.name()].concat(), number > 0);
            face.text(&["mark-", mark.name()].concat(), &count(number.into()));
        }
        face.row("cut", marks.cut().is_some());
        let leaving: u64 = fitted.leaving.iter().map(|stretch| u64::from(stretch.count)).sum();
        let words = match leaving {
            0 => "The next 1,000 tokens would push nothing out.".to_owned(),
            some => format!("The next 1,000 tokens would push out {}.", plural(some, "message")),
        };
        face.text("leaving", &words);
        face.row("leaving-toggle", leaving > 0);
        self.draw_undo();
        self.draw_selected(&face, fitted, marks);
        self.draw_slider(&face, settings, side.kept);
    }

    /// Offers to take the last change of the settings back, where there is one.
    pub(super) fn draw_undo(self) {
        if let Some(face) = Face::find() {
            face.row("undo-settings", self.can_undo());
        }
    }

    fn draw_selected(self, face: &Face, fitted: &Fitted, marks: &Marks) {
        let pins = self.with(|inner| inner.pins.clone());
        let unpin =
            if pins.is_empty() { String::new() } else { format!("Remove {}", plural(pins.len() as u64, "pin")) };
        face.text("unpin", &unpin);
        let Some(selected) = self.selected() else {
            face.text("selected", "None. Click a message, or step through them with j and k.");
            for name in ["why", "survives"] {
                face.text(name, "");
            }
            return face.row("pin", false);
        };
        face.text("selected", &selected.words);
        let (start, end) = selected.places;
        let why = marks.of(start..end).map(|marked| format!("{}: {}.", marked.name, marked.why));
        face.text("why", &why.unwrap_or_default());
        let survives = match fitted.survives {
            Some(budget) => format!("It survives at a budget of {} or more.", tokens(budget)),
            None => "No budget of tokens brings it in.".to_owned(),
        };
        face.text("survives", &survives);
        let pinned = pins.contains(&selected.node);
        if let Some(pin) = face.at("pin") {
            let _ = pin.set_attribute("aria-pressed", if pinned { "true" } else { "false" });
        }
        face.text("pin", if pinned { "Unpin this message" } else { "Pin this message" });
    }

    /// The slider stays where the reader has put it, unless the chain it measures has another length.
    fn draw_slider(self, face: &Face, settings: &Settings, kept: u32) {
        let Ok(Some(slider)) = face.0.query_selector("[name=slider]") else { return };
        let slider: HtmlInputElement = slider.unchecked_into();
        let at = position(settings.tokens(), self.with(|inner| inner.whole));
        if slider.value().parse::<u32>().is_ok_and(|now| now.abs_diff(at) > 8) {
            slider.set_value(&at.to_string());
        }
        let budget = settings.tokens().map_or("no limit".to_owned(), tokens);
        let _ = slider.set_attribute("aria-valuetext", &format!("{budget}, {} kept", plural(kept.into(), "message")));
    }

    /// Shows a payload.
    pub(super) fn draw_payload(self, payload: Result<Option<(Payload, bool)>, ErrorReply>) {
        let Some(face) = Face::find() else { return };
        let (payload, is_next) = match payload {
            Ok(Some(payload)) => payload,
            Ok(None) => return face.text("payload-text", NOTHING_TO_SEND),
            Err(error) => return face.text("payload-text", &crate::words::words(&error).title),
        };
        let what = if is_next {
            "The request that Send sends now, byte for byte."
        } else {
            "The branch as it stands. Type a message to see the request that Send would send."
        };
        face.text("payload-what", what);
        let (text, size) = readable(&payload.text);
        face.text("payload-text", &text);
        face.text("payload-size", &size);
        if let Some(list) = face.at("warnings") {
            list.set_text_content(None);
            for warning in &payload.warnings {
                let _ = list.append_child(&el("li").text(warning));
            }
        }
    }
}

/// A payload as it is shown: its beginning, as people read JSON, and words about its size.
pub fn readable(json: &str) -> (String, String) {
    let mut text = indented(json);
    let mut end = text.len().min(SHOWN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut size = crate::format::bytes(json.len() as u64);
    if end < text.len() {
        size.push_str(", of which this is the beginning. Copying takes all.");
        text.truncate(end);
    }
    (text, size)
}

/// JSON as people read it. Only for the eye: what is copied is as the provider gets it.
fn indented(json: &str) -> String {
    let value = js_sys::JSON::parse(json);
    let text =
        value.and_then(|value| js_sys::JSON::stringify_with_replacer_and_space(&value, &JsValue::NULL, &2.into()));
    text.map_or_else(|_| json.to_owned(), String::from)
}

/// What is over the budget, and by how much; nothing where all is well.
fn over(fitted: &Fitted, settings: &Settings, side: &Side) -> String {
    if !side.over {
        return String::new();
    }
    let mut parts = Vec::new();
    for (noun, limit, figure) in [
        ("token", settings.tokens(), side.tokens),
        ("message", settings.get("messages"), fitted.messages),
        ("character", settings.get("chars"), fitted.chars),
    ] {
        if let Some(limit) = limit.filter(|limit| *limit < figure) {
            parts.push(format!(
                "{}, {} over the limit of {}",
                plural(figure, noun),
                count(figure - limit),
                count(limit)
            ));
        }
    }
    format!(
        "Over budget. What must stay (instructions, pins, the newest user message, open tool calls) takes {}.",
        parts.join("; ")
    )
}
