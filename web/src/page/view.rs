//! Views: [`markup!`] with slots in, elements out, and what keeps them true to the signals that they show. A slot is a
//! fixed value, a value or a part that follows signals, a list, a listener, or a handle to the element.
//!
//! Signals, memos, effects and their owners are Leptos'; its typed views are not used, since each compiles to code of its
//! own: here one small reader makes all of them. Text is set as text, attributes by name; no markup reaches the browser.

use std::borrow::Cow;

use js_sys::Function;
use leptos::prelude::*;
use leptos::reactive::effect::RenderEffect;
use wasm_bindgen::prelude::*;
use web_sys::{Element, Event, HtmlElement, Node};

use super::dom;
use crate::markup::{Token, Tokens, words};

/// Words or an attribute's value; `None` is an attribute that is not there.
pub type Value = Option<Cow<'static, str>>;

/// What [`draw`] calls when its part must be made anew, with what makes it.
type Redraw<'a> = dyn FnMut(&mut dyn FnMut() -> Option<Node>) + 'a;
/// What [`rows`] calls for each row, with its key and what makes it.
type Visit<'a> = dyn FnMut(String, &mut dyn FnMut() -> Node) + 'a;

/// What stands for a `{}`.
#[derive(Default)]
pub enum Slot {
    /// Nothing.
    #[default]
    Nothing,
    /// Words, or an attribute's value.
    Value(Value),
    /// Elements.
    Nodes(Vec<Node>),
    /// Words or an attribute's value, read again when the signals in it change: [`live`].
    Live(Box<dyn FnMut() -> Value>),
    /// A part that is made anew when what it shows has changed: [`draw`].
    Draw(Box<dyn FnMut(&mut Redraw<'_>)>),
    /// A list of elements with keys: [`rows`].
    Rows(Box<dyn FnMut(&mut Visit<'_>)>),
    /// A listener, at an attribute `on…`: [`on`].
    On(Function),
    /// A handle that is given the element, at the attribute `ref`.
    Here(Spot),
}

impl From<&'static str> for Slot {
    fn from(words: &'static str) -> Self {
        Self::Value(words.into_value())
    }
}

impl From<String> for Slot {
    fn from(words: String) -> Self {
        Self::Value(words.into_value())
    }
}

impl From<bool> for Slot {
    fn from(there: bool) -> Self {
        Self::Value(there.into_value())
    }
}

impl From<Node> for Slot {
    fn from(node: Node) -> Self {
        Self::Nodes(vec![node])
    }
}

impl From<Option<Node>> for Slot {
    fn from(node: Option<Node>) -> Self {
        node.map_or(Self::Nothing, Self::from)
    }
}

impl From<Vec<Node>> for Slot {
    fn from(nodes: Vec<Node>) -> Self {
        Self::Nodes(nodes)
    }
}

impl From<Spot> for Slot {
    fn from(spot: Spot) -> Self {
        Self::Here(spot)
    }
}

/// What can be an attribute's value: text, or whether the attribute is there.
pub trait IntoValue {
    /// As a value.
    fn into_value(self) -> Value;
}

impl IntoValue for &'static str {
    fn into_value(self) -> Value {
        Some(Cow::Borrowed(self))
    }
}

impl IntoValue for String {
    fn into_value(self) -> Value {
        Some(Cow::Owned(self))
    }
}

impl IntoValue for bool {
    fn into_value(self) -> Value {
        self.then_some(Cow::Borrowed(""))
    }
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn into_value(self) -> Value {
        self.and_then(IntoValue::into_value)
    }
}

/// A value that follows the signals that `read` reads.
pub fn live<T: IntoValue>(mut read: impl FnMut() -> T + 'static) -> Slot {
    Slot::Live(Box::new(move || read().into_value()))
}

/// A part that is made by `view` from what `read` gives, and made anew when that has changed. Only what `read` reads is
/// followed; what `view` makes is cleaned up before it is called again.
pub fn draw<T: PartialEq + 'static>(
    read: impl Fn() -> T + 'static,
    view: impl Fn(&T) -> Option<Node> + 'static,
) -> Slot {
    let mut shown = None;
    Slot::Draw(Box::new(move |redraw| {
        let now = read();
        if shown.as_ref() != Some(&now) {
            redraw(&mut || view(&now));
            shown = Some(now);
        }
    }))
}

/// A list that fills its element. `each` calls what it is given with every row's key, which must say all that the row
/// shows, and with what makes the row; rows whose keys were there before are kept. What `each` reads is followed.
pub fn rows(each: impl FnMut(&mut Visit<'_>) + 'static) -> Slot {
    Slot::Rows(Box::new(each))
}

/// A listener. It hears nothing more once the part of the page that it belongs to is gone: a browser tells an element that it removes
/// that the focus is lost, and then the signals and values of that part are gone already.
pub fn on(hear: impl Fn(Event) + 'static) -> Slot {
    let alive = Alive::now();
    Slot::On(listener(Box::new(move |event| {
        if alive.is_it() {
            hear(event);
        }
    })))
}

/// A click, where nothing but that it happened is of interest.
pub fn click(act: impl Fn() + 'static) -> Slot {
    on(move |_| act())
}

fn listener(hear: Box<dyn Fn(Event)>) -> Function {
    // The browser frees it together with the element that it listens to.
    Closure::wrap(hear).into_js_value().unchecked_into()
}

/// Listens at the window for as long as the page lives.
pub fn at_window(event: &str, hear: impl Fn(Event) + 'static) {
    // Fails only for what cannot listen.
    let _ = window().add_event_listener_with_callback(event, &listener(Box::new(hear)));
}

/// A handle to an element of a view: `ref={}` in its markup. Copies are the same.
#[derive(Clone, Copy)]
pub struct Spot(StoredValue<Option<HtmlElement>, LocalStorage>);

impl Spot {
    /// A handle to nothing yet.
    pub fn new() -> Self {
        Self(StoredValue::new_local(None))
    }

    /// The element, once it is made; it may not be in the document yet.
    pub fn get(self) -> Option<HtmlElement> {
        self.0.try_get_value().flatten()
    }
}

/// Calls `act` now, and again whenever signals that it read have changed, until the part that this belongs to is gone.
pub fn follow(act: impl FnMut() + 'static) {
    follow_boxed(Box::new(act));
}

fn follow_boxed(mut act: Box<dyn FnMut()>) {
    let effect = RenderEffect::new(move |_| act());
    on_cleanup(move || drop(effect));
}

/// Calls `act` in a moment, when what is being made now is in the document; not if the part of the page that asked for it is gone
/// by then, since its signals and values are gone as well.
pub fn soon(act: impl FnOnce() + 'static) {
    let alive = Alive::now();
    leptos::task::spawn_local(async move {
        if alive.is_it() {
            act();
        }
    });
}

/// Whether the part of the page that is being made now is still there. What belongs to no part always is.
#[derive(Clone, Copy)]
struct Alive(Option<StoredValue<()>>);

impl Alive {
    fn now() -> Self {
        Self(Owner::current().map(|_| StoredValue::new(())))
    }

    fn is_it(self) -> bool {
        self.0.is_none_or(|part| part.try_get_value().is_some())
    }
}

/// The elements of a markup: `markup!("<p title={}>{}</p>", title, live(words))`. One element is itself, several are a
/// fragment. A slot that is missing or too many, and an element that does not end, are errors of the compiler.
macro_rules! markup {
    ($text:literal $(, $slot:expr)* $(,)?) => {{
        const SLOTS: usize = $crate::markup::slots($text);
        let mut slots: [$crate::page::view::Slot; SLOTS] = [$($crate::page::view::Slot::from($slot)),*];
        $crate::page::view::build($text, &mut slots)
    }};
}
pub(super) use markup;

/// Makes the elements of a markup; see [`markup!`]. `<svg sign="close"/>` is one of the page's signs.
pub fn build(text: &'static str, slots: &mut [Slot]) -> Node {
    let root: Node = document().create_document_fragment().into();
    let mut slots = slots.iter_mut().map(std::mem::take);
    let mut open: Vec<Element> = Vec::new();
    for token in Tokens::new(text) {
        let parent = open.last().map_or(&root, AsRef::as_ref);
        match token {
            Token::Open(tag) => {
                let drawing = matches!(tag, "svg" | "g" | "path") || open.last().is_some_and(dom::is_drawing);
                open.push(if drawing { dom::svg(tag) } else { dom::el(tag) });
            }
            Token::Attribute(name, value) => {
                if let Some(element) = open.last() {
                    set(element, name, Some(value));
                }
            }
            Token::AttributeSlot(name) => {
                if let (Some(element), Some(slot)) = (open.last(), slots.next()) {
                    attribute(element, name, slot);
                }
            }
            Token::Words(raw) => {
                let words = words(raw);
                if !words.is_empty() {
                    append(parent, &dom::text(&words));
                }
            }
            Token::Slot => child(parent, slots.next().unwrap_or_default()),
            Token::Close => {
                if let Some(element) = open.pop() {
                    append(open.last().map_or(&root, AsRef::as_ref), &element);
                }
            }
        }
    }
    match root.first_child() {
        Some(only) if only.next_sibling().is_none() => {
            let _ = root.remove_child(&only);
            only
        }
        _ => root,
    }
}

fn append(parent: &Node, child: &Node) {
    // Fails only where an element would hold itself.
    let _ = parent.append_child(child);
}

/// Sets or removes an attribute; `class:name` and `style:name` are one class and one style property.
fn set(element: &Element, name: &str, value: Option<&str>) {
    match (name.split_once(':'), value) {
        (Some(("class", class)), _) => {
            let _ = element.class_list().toggle_with_force(class, value.is_some());
        }
        (Some((_, property)), _) => dom::style(element, property, value.unwrap_or_default()),
        (None, Some(value)) if name == "sign" => dom::draw_sign(element, value),
        (None, Some(value)) => {
            // Fails only for names that are no names.
            let _ = element.set_attribute(name, value);
        }
        (None, None) => {
            let _ = element.remove_attribute(name);
        }
    }
}

fn attribute(element: &Element, name: &'static str, slot: Slot) {
    match slot {
        Slot::Value(Some(value)) => set(element, name, Some(&value)),
        Slot::Live(read) => {
            let element = element.clone();
            let mut there = None;
            follow_value(read, move |value| {
                // What was never there need not be removed.
                if value.is_some() || there.is_some() {
                    set(&element, name, value);
                }
                there = Some(());
            });
        }
        Slot::On(hear) => {
            let _ = element.add_event_listener_with_callback(name.trim_start_matches("on"), &hear);
        }
        Slot::Here(spot) => spot.0.set_value(element.clone().dyn_into().ok()),
        Slot::Value(None) | Slot::Nothing | Slot::Nodes(_) | Slot::Draw(_) | Slot::Rows(_) => {}
    }
}

fn follow_value(mut read: Box<dyn FnMut() -> Value>, mut show: impl FnMut(Option<&str>) + 'static) {
    let mut shown = None;
    follow(move || {
        let now = read();
        if shown.as_ref() != Some(&now) {
            show(now.as_deref());
            shown = Some(now);
        }
    });
}

fn child(parent: &Node, slot: Slot) {
    match slot {
        Slot::Value(Some(words)) => append(parent, &dom::text(&words)),
        Slot::Nodes(nodes) => nodes.iter().for_each(|node| append(parent, node)),
        Slot::Live(read) => {
            let made = dom::text("");
            append(parent, &made);
            follow_value(read, move |words| dom::set_text(&made, words.unwrap_or_default()));
        }
        Slot::Draw(step) => part(parent, step),
        Slot::Rows(each) => list(parent.clone(), each),
        Slot::Value(None) | Slot::Nothing | Slot::On(_) | Slot::Here(_) => {}
    }
}

/// A part between two empty texts, which stay where it is while it comes and goes.
fn part(parent: &Node, mut step: Box<dyn FnMut(&mut Redraw<'_>)>) {
    let (start, end) = (dom::text(""), dom::text(""));
    append(parent, &start);
    append(parent, &end);
    // What the part follows belongs to it, and ends when it is made anew.
    let owner = Owner::new();
    follow(move || {
        step(&mut |view| {
            let made = untrack(|| owner.with_cleanup(view));
            let Some(parent) = end.parent_node() else { return };
            while let Some(old) = start.next_sibling().filter(|old| *old != end) {
                let _ = parent.remove_child(&old);
            }
            if let Some(made) = made {
                let _ = parent.insert_before(&made, Some(&end));
            }
        });
    });
}

fn list(parent: Node, mut each: Box<dyn FnMut(&mut Visit<'_>)>) {
    let mut shown: Vec<(String, Node, Owner)> = Vec::new();
    // What a row follows and holds belongs to the row, and stays as long as the row does.
    let outer = Owner::current().unwrap_or_default();
    follow(move || {
        let mut old = std::mem::take(&mut shown);
        each(&mut |key, make| {
            let kept = old.iter().position(|(before, ..)| *before == key);
            let (node, owner) = match kept {
                Some(at) => {
                    let (_, node, owner) = old.swap_remove(at);
                    (node, owner)
                }
                None => {
                    let owner = outer.child();
                    (untrack(|| owner.with(make)), owner)
                }
            };
            shown.push((key, node, owner));
        });
        for (_, gone, owner) in old {
            owner.cleanup();
            let _ = parent.remove_child(&gone);
        }
        // From the last to the first, so that each knows what it stands before.
        let mut next: Option<&Node> = None;
        for (_, node, _) in shown.iter().rev() {
            let in_place = node.parent_node().is_some() && node.next_sibling().as_ref() == next;
            if !in_place {
                let _ = parent.insert_before(node, next);
            }
            next = Some(node);
        }
    });
}
