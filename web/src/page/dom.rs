//! Elements by hand, for what is built often and thrown away soon: the messages of a thread. Everything here sets text as
//! text and attributes by name; nothing parses markup.

use leptos::prelude::{document, window};
use wasm_bindgen::prelude::*;
use web_sys::{CharacterData, Element, HtmlElement, Node};

use crate::clusters;

/// A new element.
pub fn el(tag: &str) -> Element {
    // The names are ours and valid.
    document().create_element(tag).unwrap_or_else(|error| wasm_bindgen::throw_val(error))
}

/// Building an element in one expression.
pub trait Build: Sized {
    /// With these classes.
    fn class(self, classes: &str) -> Self;
    /// With an attribute.
    fn attr(self, name: &str, value: &str) -> Self;
    /// With nothing but this text in it.
    fn text(self, text: &str) -> Self;
    /// With one more child.
    fn child(self, child: impl AsRef<Node>) -> Self;
}

impl Build for Element {
    fn class(self, classes: &str) -> Self {
        self.set_class_name(classes);
        self
    }

    fn attr(self, name: &str, value: &str) -> Self {
        // Fails only for names that are no names.
        let _ = self.set_attribute(name, value);
        self
    }

    fn text(self, text: &str) -> Self {
        set_text(&self, text);
        self
    }

    fn child(self, child: impl AsRef<Node>) -> Self {
        // Fails only where an element would hold itself.
        let _ = self.append_child(child.as_ref());
        self
    }
}

/// A text node.
pub fn text(text: &str) -> Node {
    document().create_text_node(&clusters::drawn(text)).into()
}

/// Makes this text all that is in a node.
pub fn set_text(node: &Node, text: &str) {
    node.set_text_content(Some(&clusters::drawn(text)));
}

/// Puts more text at the end of a text node.
pub fn append_text(end: &Node, text: &str) {
    let Some(data) = end.dyn_ref::<CharacterData>() else { return };
    // A code point takes one or two of these units.
    let tail = clusters::MOST as u32 * 2;
    let before = data.substring_data(data.length().saturating_sub(tail), tail).unwrap_or_default();
    // Appending does not fail.
    let _ = data.append_data(&clusters::continued(&before, text));
}

/// A button that [delegation](super::canvas) acts on.
pub fn button(action: &str, label: &str, class: &str) -> Element {
    el("button")
        .attr("type", "button")
        .attr("data-do", action)
        .attr("title", label)
        .attr("aria-label", label)
        .class(class)
}

/// A new element of a drawing.
fn svg(tag: &str) -> Element {
    document()
        .create_element_ns(Some("http://www.w3.org/2000/svg"), tag)
        .unwrap_or_else(|error| wasm_bindgen::throw_val(error))
}

/// One of the page's signs, as an SVG element that is hidden from screen readers: what it means is said beside it.
pub fn sign(name: &str) -> Element {
    let made = svg("svg").attr("viewBox", "0 0 16 16").attr("class", "sign").attr("aria-hidden", "true");
    made.child(svg("path").attr("d", super::signs::path(name)))
}

/// Gives the first element that fits `selector` the focus.
pub fn focus(selector: &str) {
    if let Some(element) = find(selector) {
        let _ = element.focus();
    }
}

/// The first element that fits `selector`.
pub fn find(selector: &str) -> Option<HtmlElement> {
    document().query_selector(selector).ok().flatten()?.dyn_into().ok()
}

/// The nearest element around `target`, itself included, that fits `selector`.
pub fn closest(target: Option<web_sys::EventTarget>, selector: &str) -> Option<Element> {
    target?.dyn_into::<Element>().ok()?.closest(selector).ok()?
}

/// Sets one style property, which the content policy allows where a style attribute is not.
pub fn style(element: &Element, property: &str, value: &str) {
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let _ = element.style().set_property(property, value);
    }
}

/// Sets a length in pixels. Whole ones, since printing floats would be 20 kB of the page.
pub fn length(element: &Element, property: &str, pixels: f64) {
    style(element, property, &px(pixels));
}

/// A length as style sheets write it.
pub fn px(pixels: f64) -> String {
    format!("{}px", pixels.round() as i64)
}

/// Scrolls no more than needed to bring what lies `top` pixels below the first, `height` high, on the screen.
pub fn reveal(scroller: &Element, top: usize, height: usize) {
    let (top, bottom) = (top as i32, (top + height) as i32);
    let (now, view) = (scroller.scroll_top(), scroller.client_height());
    if top < now {
        scroller.set_scroll_top(top);
    } else if bottom > now + view {
        scroller.set_scroll_top(bottom - view);
    }
}

/// A time as the page shows it: how long ago, and exactly on being asked.
pub fn time(time: i64) -> Node {
    let made = el("time").attr("datetime", &machine(time)).attr("title", &exact(time));
    made.text(&crate::format::ago(time, now())).into()
}

/// Puts a text on the clipboard; `false` where the browser does not allow it.
pub async fn copy(text: &str) -> bool {
    let clipboard = window().navigator().clipboard();
    // Undefined where the page was not loaded over a safe connection.
    if clipboard.is_undefined() {
        return false;
    }
    wasm_bindgen_futures::JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// Offers a file for saving.
pub fn save(blob: &web_sys::Blob, name: &str) {
    let Ok(url) = web_sys::Url::create_object_url_with_blob(blob) else { return };
    let link = el("a").attr("href", &url).attr("download", name);
    if let Some(link) = link.dyn_ref::<HtmlElement>() {
        link.click();
    }
    // The browser needs the address until it has begun to save.
    let free = Closure::once_into_js(move || {
        let _ = web_sys::Url::revoke_object_url(&url);
    });
    let _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(free.unchecked_ref(), 60_000);
}

/// What the browser keeps under `key` beside the database; `None` where there is nothing or it is not allowed.
pub fn remembered(key: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(key).ok()?
}

/// Keeps a short text beside the database, where that is allowed.
pub fn remember(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(key, value);
    }
}

/// Lets go of what is kept under `key`.
pub fn forget(key: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.remove_item(key);
    }
}

/// Lets go of all that is kept under keys that begin so.
pub fn forget_all(prefix: &str) {
    let Ok(Some(storage)) = window().local_storage() else { return };
    // From the last on, since those after a removed one move up.
    for at in (0..storage.length().unwrap_or_default()).rev() {
        if let Ok(Some(key)) = storage.key(at)
            && key.starts_with(prefix)
        {
            let _ = storage.remove_item(&key);
        }
    }
}

/// Now, in milliseconds since 1970.
pub fn now() -> i64 {
    js_sys::Date::now() as i64
}

/// A time in the reader's own time zone: `12 Mar 2024, 14:05`.
pub fn exact(time: i64) -> String {
    let date = js_sys::Date::new(&JsValue::from_f64(time as f64));
    if date.get_time().is_nan() {
        return String::new();
    }
    crate::format::moment(date.get_full_year(), date.get_month(), date.get_date(), date.get_hours(), date.get_minutes())
}

/// The reader's own time zone.
pub struct Local;

impl Local {
    /// The first moment of a day; of a time that is no date, the time itself.
    fn begins(year: u32, month: u32, day: i32, time: i64) -> i64 {
        let begins = js_sys::Date::new_with_year_month_day(year, month as i32, day).get_time();
        if begins.is_nan() { time } else { begins as i64 }
    }
}

impl crate::list::Calendar for Local {
    fn day(&self, time: i64) -> i64 {
        let date = js_sys::Date::new(&JsValue::from_f64(time as f64));
        Self::begins(date.get_full_year(), date.get_month(), date.get_date() as i32, time)
    }

    fn month(&self, time: i64) -> (i64, u32, u32) {
        let date = js_sys::Date::new(&JsValue::from_f64(time as f64));
        let (year, month) = (date.get_full_year(), date.get_month());
        (Self::begins(year, month, 1, time), year, month)
    }
}

/// The same time for machines, as `datetime` attributes want it.
pub fn machine(time: i64) -> String {
    let date = js_sys::Date::new(&JsValue::from_f64(time as f64));
    if date.get_time().is_nan() { String::new() } else { date.to_iso_string().into() }
}
