//! One message of the thread view as elements: who, how deep, when, what. A node with its row in, an `article` out.
//! What its buttons do is [`super::canvas`]'s business; here they only carry their names.

use std::borrow::Cow;
use std::rc::Rc;

use threadkeep::protocol::{Fork, Row};
use threadkeep_core::{Kind, Message, MessageId, Role};
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::dom::{Build as _, button, el, sign};
use super::{dom, prose};
use crate::clusters;
use crate::format;
use crate::items::CLAMP;
use crate::joined::{Joined, Stretched};
use crate::pieces::{self, Card, CardKind, Piece};
use crate::wire::Node;
use crate::words::ending;

/// A place in a node: the message and the piece of it, both counted from 0.
pub type Place = (MessageId, usize, usize);

/// What the reader has opened, so that it is still open when a message is built again.
#[derive(Debug, Default)]
pub struct Opened {
    /// Cards.
    pub cards: Vec<Place>,
    /// Long texts that are shown whole.
    pub whole: Vec<Place>,
}

/// A node, and those near it, in which its calls and results meet.
#[derive(Debug)]
pub struct Stretch {
    /// All of them, in the order of the branch.
    pub nodes: Vec<Rc<Node>>,
    /// The position of the node among them.
    pub own: usize,
}

impl Stretch {
    /// The node.
    pub fn node(&self) -> &Rc<Node> {
        &self.nodes[self.own]
    }

    /// What to show of a message of the node.
    pub fn pieces(&self, message: usize) -> Vec<Piece> {
        let first = self.first();
        self.node()
            .messages
            .get(message)
            .map(|said| pieces::pieces(said, first + message, &self.joined()))
            .unwrap_or_default()
    }

    /// The place of the node's first message in the stretch.
    fn first(&self) -> usize {
        self.nodes[..self.own].iter().map(|node| node.messages.len()).sum()
    }

    fn joined(&self) -> Joined<'_> {
        let nodes = self.nodes.iter().enumerate();
        Joined::of(nodes.flat_map(|(at, node)| {
            node.messages.iter().map(move |message| Stretched { message, node: at, time: node.created_at })
        }))
    }
}

/// Everything that an article is made of.
#[derive(Debug)]
pub struct Parts<'a> {
    /// The position of the row in the outline.
    pub at: usize,
    /// The row.
    pub row: &'a Row,
    /// How many forks lead to it.
    pub level: u32,
    /// The fork to show, with the row that it belongs to.
    pub fork: Option<(usize, &'a Fork)>,
    /// The node, and those near it.
    pub stretch: &'a Stretch,
    /// What is open.
    pub opened: &'a Opened,
    /// Whether it is the last of the branch.
    pub last: bool,
}

/// Builds the article.
pub fn article(parts: &Parts<'_>) -> Element {
    let Parts { at, row, stretch, .. } = *parts;
    let (node, joined, first) = (stretch.node(), stretch.joined(), stretch.first());
    let role = if row.role.is_empty() { "none" } else { row.role.as_str() };
    let mut class = format!("message role-{} level-{}", known(role), parts.level.min(6));
    if parts.fork.is_some() {
        class.push_str(" at-fork");
    }
    if row.hidden {
        class.push_str(" hidden-node");
    }
    if parts.last {
        class.push_str(" last");
    }
    let heading = format!("m{at}");
    let made = el("article")
        .class(&class)
        .attr("data-testid", "message")
        .attr("data-node", row.id.as_str())
        .attr("data-role", &row.role)
        .attr("data-row", &at.to_string())
        .attr("aria-labelledby", &heading)
        .attr("tabindex", "-1");
    if let Some((of, fork)) = parts.fork {
        let _ = made.append_child(&arrows(of, fork, &BRANCHES));
    }
    let _ = made.append_child(&header(parts, &heading));
    let body = el("div").class("body");
    let asked = node.messages.iter().take_while(|message| message.role == Role::User).count();
    let answers = row.answers.as_ref().map(|fork| arrows(at, fork, &ANSWERS));
    for (message, said) in node.messages.iter().enumerate() {
        let speaker = said.role.as_str();
        let body = if is_unfinished(said) {
            let part = el("div").class("unfinished").attr("data-testid", "unfinished");
            let _ = body.append_child(&part);
            part
        } else {
            body.clone()
        };
        if let Some(arrows) = answers.as_ref().filter(|_| message == asked) {
            let _ = body.append_child(arrows);
        }
        if message > 0 && speaker != node.messages[message - 1].role.as_str() && !is_card_role(speaker) {
            let _ = body.append_child(
                &el("p").class(&format!("who also role-{}", known(speaker))).text(pieces::role_label(speaker)),
            );
        }
        for (piece, found) in pieces::pieces(said, first + message, &joined).iter().enumerate() {
            let place = (row.id.clone(), message, piece);
            let _ =
                body.append_child(&piece_element(found, &place, said.role.counts() && speaker == "user", parts.opened));
        }
    }
    if let Some(arrows) = answers.as_ref().filter(|_| asked == node.messages.len()) {
        let _ = body.append_child(arrows);
    }
    // What a message only calls is shown with its results.
    let calls = node.messages.iter().any(|said| !said.tool_calls.is_empty());
    if body.child_element_count() == 0 && !calls {
        let words = if node.messages.is_empty() { "This node holds no message." } else { "This message is empty." };
        let _ = body.append_child(&el("p").class("nothing").text(words));
    }
    if let Some(foot) = foot(parts) {
        let _ = body.append_child(&foot);
    }
    made.child(body)
}

/// The code of what was stored of an answer while it came. It is not shown below the live answer, which has more of it.
const UNFINISHED: &str = "unfinished";

fn is_unfinished(message: &Message) -> bool {
    matches!(&message.kind, Kind::Error { code, .. } if code == UNFINISHED)
}

/// What can be done about an answer that failed or was interrupted.
fn foot(parts: &Parts<'_>) -> Option<Element> {
    let act = |action: &str, words: &str, shape: &str| {
        let made =
            el("button").attr("type", "button").attr("data-do", action).attr("data-testid", action).class("small");
        made.child(sign(shape)).child(el("span").text(words))
    };
    let node = parts.stretch.node();
    if parts.last && !node.sealed {
        let line = el("p").class("error-acts interrupted").attr("data-testid", "interrupted");
        let line = line.child(el("span").text("This answer was interrupted, or another tab is writing it."));
        return Some(line.child(act("resume", "Resume", "play")));
    }
    let last = node.messages.last().filter(|last| !is_unfinished(last));
    let failed = matches!(last.map(|last| &last.kind), Some(Kind::Error { .. }));
    let acts = el("p").class("error-acts");
    failed.then(|| acts.child(act("again", "Try again", "again")).child(act("go-on", "Continue", "play")))
}

fn is_card_role(role: &str) -> bool {
    matches!(role, "tool" | "function" | "system" | "developer")
}

fn known(role: &str) -> &str {
    match role {
        "user" | "assistant" | "system" | "tool" => role,
        "developer" => "system",
        "function" => "tool",
        _ => "other",
    }
}

/// What the arrows of a fork lead between: its name in markup, and in words.
type Between = (&'static str, &'static str, &'static str);

const BRANCHES: Between = ("branches", "Branch", "branch");
const ANSWERS: Between = ("answers", "Answer", "answer");

fn arrows(of: usize, fork: &Fork, (between, name, what): &Between) -> Element {
    let arrow = |action: &str, words: &str, shape: &str, leads: bool| {
        let label = format!("{words} {what}");
        let made = button(action, &label, "arrow").child(sign(shape));
        let made = made.attr("data-of", &of.to_string()).attr("data-between", between);
        let made = made.attr("data-testid", &format!("fork-{action}"));
        if leads { made } else { made.attr("disabled", "") }
    };
    let words = format!("{name} {} of {}", fork.index, fork.count);
    let label = el("span")
        .class("fork-label")
        .attr("data-testid", "fork-label")
        .attr("title", &words)
        .text(&format!("{}/{}", fork.index, fork.count));
    el("div")
        .class("fork")
        .attr("role", "group")
        .attr("aria-label", &words)
        .attr("data-testid", "fork")
        .attr("data-between", between)
        .child(arrow("previous", "Previous", "left", fork.previous.is_some()))
        .child(label)
        .child(arrow("next", "Next", "right", fork.next.is_some()))
        .child(arrow("compare", "Compare with the neighbouring", "compare", true))
}

fn header(parts: &Parts<'_>, id: &str) -> Element {
    let Parts { row, stretch, .. } = *parts;
    let node = stretch.node();
    let name = match (&node.from, row.role.as_str()) {
        (Some(from), "user") if !matches!(from.as_str(), "" | "user") => from.as_str(),
        (_, role) => pieces::role_label(role),
    };
    let header = el("header").class("message-head").child(el("h3").class("who").attr("id", id).text(name));
    let mut facts: Vec<Element> = Vec::new();
    if let Some(model) = node.model.as_deref().filter(|model| !model.is_empty()) {
        facts.push(el("span").class("fact model").attr("title", "Model").text(model));
    }
    if let Some(agent) = node.agent.as_deref().filter(|agent| !agent.is_empty()) {
        facts.push(el("span").class("fact model").attr("title", "Agent").text(agent));
    }
    if row.hidden {
        facts.push(el("span").class("fact").text("hidden"));
    }
    if !node.sealed {
        facts.push(el("span").class("fact open-turn").attr("title", "This turn can still grow").text("open"));
    }
    for fact in facts {
        let _ = header.append_child(&fact);
    }
    if row.depth > 0 && !is_card_role(&row.role) {
        let words = format!("{} up to here", format::plural(row.depth.into(), "user and assistant message"));
        let badge = el("span").class("depth").attr("data-testid", "depth");
        let text = format!("depth {}", row.depth);
        // What the text itself says must be what the tree counts.
        let badge = match pieces::depth_said(&node.messages, row.depth) {
            Some((said, counted)) if said != counted => {
                let words = format!("The text says depth {said}, but the tree counts {counted}");
                badge.class("depth mismatch").attr("title", &words).text(&format!("{text} ≠ {said}"))
            }
            _ => badge.attr("title", &words).text(&text),
        };
        let _ = header.append_child(&badge);
    }
    if let Some(turn) = node.turn.as_deref().filter(|_| row.role == "user") {
        let _ = header.append_child(&el("span").class("fact turn").text(&format::turn(turn)));
    }
    if let Some(time) = node.created_at {
        let when: Element = dom::time(time).unchecked_into();
        let _ = header.append_child(&when.class("fact"));
    }
    let id = el("code").class("fact node-id").attr("title", "Id").attr("data-testid", "node-id").text(row.id.as_str());
    let _ = header.append_child(&id);
    let mut acts = el("span").class("acts");
    let offer = |action: &str, label: &str, shape: &str| {
        button(action, label, "icon").attr("data-testid", action).child(sign(shape))
    };
    if !is_card_role(&row.role) {
        acts = acts.child(offer("reply", "Reply here", "reply"));
    }
    if node.messages.first().is_some_and(|first| first.role == Role::User) {
        acts = acts.child(offer("edit", "Edit and send as a branch", "edit"));
    }
    if node.messages.iter().any(|message| message.role == Role::Assistant) {
        acts = acts.child(offer("again", "Answer again, as a branch", "again"));
    }
    let acts = acts
        .child(
            button("pin", "Pin: each prompt of this branch has it", "icon")
                .attr("data-testid", "pin-message")
                .child(sign("pin")),
        )
        .child(button("copy", "Copy this message", "icon").child(sign("copy")))
        .child(button("delete", "Delete from here on…", "icon").child(sign("trash")));
    header.child(acts)
}

fn piece_element(piece: &Piece, place: &Place, breaks: bool, opened: &Opened) -> Element {
    match piece {
        Piece::Markdown(text) | Piece::Plain(text) => {
            let plain = matches!(piece, Piece::Plain(_));
            let whole = opened.whole.contains(place);
            let text = if whole { clusters::spread(text) } else { Cow::Borrowed(text.as_str()) };
            let shown = if whole { None } else { pieces::clamp(&text, CLAMP) };
            let made = el("div").class(if plain { "prose plain" } else { "prose" }).attr("dir", "auto");
            if plain {
                dom::set_text(&made, shown.unwrap_or(&text));
            } else {
                prose::fill(&made, shown.unwrap_or(&text), breaks);
            }
            let words = match shown {
                Some(_) => format!("Show all {} characters", format::count(text.chars().count() as u64)),
                None if clusters::is_cut(&text) => "Show all combining marks".to_owned(),
                None => return made,
            };
            let more = placed(el("button").attr("type", "button").attr("data-do", "whole").class("more"), place);
            el("div").child(made).child(more.text(&words))
        }
        Piece::Card(card) => card_element(card, place, opened.cards.contains(place)),
        // Somebody stopped it: that is no failure.
        Piece::Error { code, .. } if code == "cancelled" => {
            let line = el("p").class("stopped").attr("role", "note").child(sign("stop"));
            line.child(el("span").text("Stopped. What was said until then stays."))
        }
        Piece::Error { code, .. } if code == UNFINISHED => {
            let line = el("p").class("stopped").attr("role", "note").child(sign("stop"));
            line.child(el("span").text("Not finished. This is what had arrived."))
        }
        Piece::Error { code, reason } => {
            let head = el("p").class("error-head").child(sign("warning"));
            let head = head.child(el("strong").text(ending(code))).child(el("code").text(code));
            el("div")
                .class("error-card")
                .attr("role", "note")
                .child(head)
                .child(el("p").attr("dir", "auto").text(reason))
        }
        Piece::Attachment { label, detail, url, picture } => match url {
            Some(url) if *picture => {
                el("p").child(el("img").attr("src", url).attr("alt", label).attr("loading", "lazy").class("picture"))
            }
            Some(url) => {
                let link = el("a").attr("href", url).attr("target", "_blank").attr("rel", "noopener noreferrer");
                let link = link.text(if detail.is_empty() { url } else { detail });
                attachment(label).child(link)
            }
            None => attachment(label).child(el("span").text(detail)),
        },
    }
}

fn attachment(label: &str) -> Element {
    el("p").class("attachment").child(sign("clip")).child(el("strong").text(label))
}

fn placed(element: Element, place: &Place) -> Element {
    element.attr("data-message", &place.1.to_string()).attr("data-piece", &place.2.to_string())
}

fn card_element(card: &Card, place: &Place, open: bool) -> Element {
    let shape = match card.kind {
        CardKind::Call => "tool",
        CardKind::Result if card.asked.is_some() => "tool",
        CardKind::Result => "result",
        CardKind::Failure => "warning",
        CardKind::Reasoning => "thought",
        CardKind::Instructions | CardKind::Summary => "rules",
        CardKind::File => "clip",
    };
    let part = |class: &str, text: &str| el("span").class(class).text(text);
    let mut line = el("summary").child(sign(shape)).child(part("card-kind", card.title()).attr("dir", "auto"));
    if !card.name.is_empty() && card.title() != card.name {
        line = line.child(el("code").class("card-name").text(&card.name));
    }
    line = line.child(part("card-peek", &card.peek).attr("dir", "auto"));
    if let Some(state) = card.kind.state() {
        line = line.child(part("card-state", state));
    }
    if let Some(took) = card.took {
        line = line.child(part("card-size", &format::took(took)).attr("title", "From the call to its result"));
    }
    let line = line.child(part("card-size", &format::bytes(card.text.len() as u64))).child(sign("down"));
    let made = placed(el("details").class(&format!("card card-{}", card.kind.key())).attr("data-card", ""), place);
    let made = made.child(line);
    if open {
        fill_card(&made, card);
        return made.attr("open", "");
    }
    made
}

/// Puts into a card what is in it, once.
pub fn fill_card(details: &Element, card: &Card) {
    if details.child_element_count() > 1 {
        return;
    }
    if let Some((asked, language)) = &card.asked {
        let part = |words: &str| el("p").class("card-part").text(words);
        let _ = details.append_child(&part("Called with"));
        let _ = details.append_child(&el("div").class("card-body").child(prose::code(language, asked)));
        let _ = details.append_child(&part("Result"));
    }
    let inner = if card.text.trim().is_empty() {
        el("p").class("nothing card-body").text("There is nothing in it.")
    } else if card.markdown {
        let inner = el("div").class("prose card-body").attr("dir", "auto");
        prose::fill(&inner, &card.text, false);
        inner
    } else {
        el("div").class("card-body").child(prose::code(card.language, &card.text))
    };
    let _ = details.append_child(&inner);
}
