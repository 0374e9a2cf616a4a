//! The answer that is being given, below the last message: words as they come, thoughts, tools at work. Events in, elements
//! out; it only ever appends, so nothing that was read moves. Once something is stored, the thread shows it, and it goes from here.

use web_sys::{Element, Node};

use super::dom::{self, Build as _, append_text, el, sign};
use crate::wire::Heard;
use crate::{calls, format};

/// What a piece of the answer is.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// What the model says. It may turn out to be thought.
    Text,
    /// What it thinks, folded away.
    Thought,
    /// A call that is being written: its place among the calls.
    Writing(u32),
    /// A call that is carried out, by its id.
    Calling(String),
    /// Why the model is asked again, or what is wrong besides.
    Note,
}

struct Piece {
    kind: Kind,
    element: Element,
    /// Where more of it goes: the last paragraph's text.
    end: Node,
    /// Whether it is stored, so that the thread can show it.
    stored: bool,
}

/// The answer.
pub struct Live {
    element: Element,
    state: Element,
    body: Element,
    pieces: Vec<Piece>,
}

impl Live {
    /// Nothing yet.
    pub fn new() -> Self {
        let state = el("span").class("fact open-turn").attr("data-testid", "live-state");
        let head = el("header").class("message-head");
        let head = head.child(el("h3").class("who").text("Assistant")).child(&state);
        let body = el("div").class("body");
        let element = el("section").class("message role-assistant live").attr("data-testid", "live");
        let element = element.attr("aria-label", "The answer that is being given").child(head).child(&body);
        Self { element, state, body, pieces: Vec::new() }
    }

    /// Its element.
    pub fn element(&self) -> &Element {
        &self.element
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.body.set_text_content(None);
        self.say("Waiting…");
    }

    /// What it is doing.
    pub fn say(&self, words: &str) {
        self.state.set_text_content(Some(words));
    }

    /// Something was heard.
    pub fn hear(&mut self, heard: &Heard) {
        match heard {
            Heard::Asked(tokens) => {
                self.say(&format!("Waiting for the model ({} tokens sent)…", format::count(*tokens)));
            }
            Heard::Text(text) => {
                self.say("Answering…");
                self.write(Kind::Text, text);
            }
            Heard::Thought(text) => {
                self.say("Thinking…");
                self.write(Kind::Thought, text);
            }
            Heard::WasThought => self.was_thought(),
            Heard::Call { at, name, arguments } => {
                self.say("Calling a tool…");
                let piece = self.piece(Kind::Writing(*at));
                if !name.is_empty() {
                    say(&piece.element, ".card-kind", name);
                }
                append_text(&piece.end, arguments);
            }
            Heard::Calling { call, name, arguments } => {
                self.say("A tool is at work…");
                let piece = self.piece(Kind::Calling(call.clone()));
                mark(&piece.element, "running");
                say(&piece.element, ".card-kind", name);
                say(&piece.element, ".card-peek", &calls::line(arguments).unwrap_or_default());
                append_text(&piece.end, arguments);
            }
            Heard::Called { call, failed, text } => {
                let piece = self.piece(Kind::Calling(call.clone()));
                piece.stored = true;
                mark(&piece.element, if *failed { "failed" } else { "done" });
                append_text(&piece.end, "\n\n");
                append_text(&piece.end, text);
            }
            Heard::Stored(_) => {
                // A tool that is still at work has no result yet.
                for piece in &mut self.pieces {
                    piece.stored |= !matches!(piece.kind, Kind::Calling(_));
                }
            }
            Heard::Compacting => self.say("Compacting the history…"),
            Heard::Retry { attempt, wait, reason } => {
                self.say("Waiting to try again…");
                self.note(&format!("{reason} Try {attempt} follows in {} s.", wait.div_ceil(1000)));
            }
            Heard::Warning(words) => self.note(words),
            Heard::Posted { .. } | Heard::Began { .. } | Heard::Ended(_) => {}
        }
    }

    /// The thread shows what is stored: it goes from here.
    pub fn drop_stored(&mut self) {
        self.pieces.retain(|piece| {
            if piece.stored {
                piece.element.remove();
            }
            !piece.stored
        });
    }

    fn piece(&mut self, kind: Kind) -> &mut Piece {
        // Text goes on where text ended; whatever has a name of its own is found by it.
        let last = self.pieces.len().saturating_sub(1);
        let flows = matches!(kind, Kind::Text | Kind::Thought);
        let found = self.pieces.iter().enumerate();
        let mut found = found.filter(|(at, piece)| piece.kind == kind && !piece.stored && (!flows || *at == last));
        let at = match found.next() {
            Some((at, _)) => at,
            None => {
                let (element, end) = made(&kind);
                let _ = self.body.append_child(&element);
                self.pieces.push(Piece { kind, element, end, stored: false });
                self.pieces.len() - 1
            }
        };
        &mut self.pieces[at]
    }

    /// Appends words. A paragraph has an element of its own, so that a new word lays out that one alone.
    fn write(&mut self, kind: Kind, text: &str) {
        let piece = self.piece(kind);
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("\n\n") {
            append_text(&piece.end, before);
            let paragraph = el("p");
            piece.end = dom::text("");
            let _ = paragraph.append_child(&piece.end);
            if let Some(into) = piece.element.query_selector(".words").ok().flatten() {
                let _ = into.append_child(&paragraph);
            }
            rest = after.trim_start_matches('\n');
        }
        append_text(&piece.end, rest);
    }

    fn was_thought(&mut self) {
        let said: Vec<usize> = (0..self.pieces.len())
            .filter(|at| self.pieces[*at].kind == Kind::Text && !self.pieces[*at].stored)
            .collect();
        for at in said {
            let text = self.pieces[at].element.text_content().unwrap_or_default();
            let (element, end) = made(&Kind::Thought);
            append_text(&end, &text);
            let _ = self.body.replace_child(&element, &self.pieces[at].element);
            self.pieces[at] = Piece { kind: Kind::Thought, element, end, stored: false };
        }
    }

    fn note(&mut self, words: &str) {
        let element = el("p").class("live-note").text(words);
        let _ = self.body.append_child(&element);
        self.pieces.push(Piece { kind: Kind::Note, end: element.clone().into(), element, stored: false });
    }
}

fn mark(element: &Element, state: &str) {
    let _ = element.set_attribute("data-state", state);
    say(element, ".card-state", state);
}

/// Puts words into a part of a card's line.
fn say(element: &Element, part: &str, words: &str) {
    if let Some(part) = element.query_selector(part).ok().flatten() {
        dom::set_text(&part, words);
    }
}

fn made(kind: &Kind) -> (Element, Node) {
    let end = dom::text("");
    let element = match kind {
        Kind::Text => {
            let words = el("div").class("prose plain words").attr("dir", "auto").attr("data-testid", "live-text");
            el("div").child(words.child(el("p").child(&end)))
        }
        Kind::Thought => {
            let line = el("summary").child(sign("thought")).child(el("span").class("card-kind").text("Reasoning"));
            let words = el("div").class("prose plain words card-body").attr("dir", "auto").child(el("p").child(&end));
            el("details").class("card card-reasoning").child(line.child(sign("down"))).child(words)
        }
        Kind::Writing(_) | Kind::Calling(_) | Kind::Note => {
            let line = el("summary").child(sign("tool")).child(el("span").class("card-kind").text("Tool"));
            let line = line.child(el("span").class("card-peek").attr("dir", "auto"));
            let line = line.child(el("span").class("card-state").text("…"));
            let text = el("pre").class("card-body").attr("dir", "auto").child(&end);
            let made = el("details").class("card card-call").attr("data-testid", "live-tool");
            made.child(line.child(sign("down"))).child(text)
        }
    };
    (element, end)
}
