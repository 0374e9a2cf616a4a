//! The panels that most visits do without: compaction, epochs, memory, requests. They lie in a part of the module, which is loaded when
//! the first of them is opened; until then, and where that fails, there are words in their place.

use std::cell::Cell;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::{MessageId, TranscriptId};
use threadkeep_parts::part;
use web_sys::Node;

use super::check::Check;
use super::compare::Compare;
use super::memory::MemoryPanel;
use super::requests::Requests;
use super::state::Page;
use super::typed::mounted;
use super::view::{draw, markup};
use super::{bin, compaction, connections, epochs};
use crate::words::words;

/// What the part brings.
pub trait Panels {
    /// The body of the dialog before a compaction of the branch that ends at `leaf`.
    fn compaction(&self, page: Page, leaf: &MessageId) -> Node;
    /// The epochs of the branch that ends at `leaf`, beginning with that of a checkpoint.
    fn epochs(&self, page: Page, leaf: &MessageId, checkpoint: Option<&str>) -> Node;
    /// Two branches of a thread, side by side, by their ends.
    fn compare(&self, page: Page, transcript: &TranscriptId, leaves: [MessageId; 2]) -> Node;
    /// What is wrong with the branch that ends at `leaf`.
    fn check(&self, page: Page, transcript: &TranscriptId, leaf: &MessageId) -> Node;
    /// The models that one can talk to.
    fn connections(&self, page: Page) -> Node;
    /// The memory, at one record where its id is given.
    fn memory(&self, page: Page, at: Option<String>) -> Node;
    /// What is in the bin.
    fn bin(&self, page: Page) -> Node;
    /// The requests of the open branch.
    fn requests(&self, page: Page) -> Node;
}

/// Makes a panel of what the part brings.
pub type Make = Box<dyn Fn(&dyn Panels) -> Node>;

struct All;

impl Panels for All {
    fn compaction(&self, page: Page, leaf: &MessageId) -> Node {
        compaction::dialog(page, leaf)
    }

    fn epochs(&self, page: Page, leaf: &MessageId, checkpoint: Option<&str>) -> Node {
        epochs::dialog(page, leaf, checkpoint)
    }

    fn compare(&self, page: Page, transcript: &TranscriptId, leaves: [MessageId; 2]) -> Node {
        let transcript = transcript.clone();
        mounted(view! { <Compare page transcript leaves/> }.into_any())
    }

    fn check(&self, page: Page, transcript: &TranscriptId, leaf: &MessageId) -> Node {
        let (transcript, leaf) = (transcript.clone(), leaf.clone());
        mounted(view! { <Check page transcript leaf/> }.into_any())
    }

    fn connections(&self, page: Page) -> Node {
        connections::panel(page)
    }

    fn memory(&self, page: Page, at: Option<String>) -> Node {
        mounted(view! { <MemoryPanel page at/> }.into_any())
    }

    fn bin(&self, page: Page) -> Node {
        bin::dialog(page)
    }

    fn requests(&self, page: Page) -> Node {
        mounted(view! { <Requests page/> }.into_any())
    }
}

thread_local! {
    static PART: Cell<Option<&'static dyn Panels>> = const { Cell::new(None) };
}

part! {
    /// The way into the part.
    panels: fn enter() -> &'static dyn Panels {
        &All
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Loading,
    There,
    Missing,
}

/// What `make` makes, once the part is there.
pub fn later(make: Make) -> Node {
    let state = RwSignal::new(if PART.get().is_some() { State::There } else { State::Loading });
    if state.get_untracked() == State::Loading {
        spawn_local(async move {
            let entered = enter().await;
            let now = if entered.is_ok() { State::There } else { State::Missing };
            PART.set(entered.ok().or(PART.get()));
            // Whoever has closed the dialog meanwhile needs it no more.
            state.try_set(now);
        });
    }
    let view = move |state: &State| match state {
        State::There => PART.get().map(&make),
        State::Loading => Some(markup!(r#"<p class="faint" role="status">Loading…</p>"#)),
        State::Missing => {
            let (code, message) = ("part-missing".to_owned(), String::new());
            let words = words(&ErrorReply { code, message, details: serde_json::Value::Null });
            Some(markup!(r#"<p role="alert" data-testid="panel-missing">{}. {}</p>"#, words.title, words.advice))
        }
    };
    markup!("<div>{}</div>", draw(move || state.get(), view))
}
