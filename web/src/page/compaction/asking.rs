//! What was chosen, what is known of it, and the question what it would do. Choosing anew asks anew.

use std::time::Duration;

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement};

use crate::connections::{CHROME, Connection, DEMO};
use crate::epochs::strategy;
use crate::page::browser::{Browser, Offer};
use crate::page::keys::KeyState;
use crate::page::state::Page;
use crate::wire::{Ask, Compacted, Recall, Reply, Way};
use crate::words;

/// The place of the strategy that a first compaction takes.
pub(super) const USUAL: usize = 1;

/// How long the dialog waits after a key before it asks.
const TYPING: Duration = Duration::from_millis(350);

/// What the dialog knows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Known {
    Reading,
    Preview(Box<Compacted>),
    Failed(String),
}

#[derive(Clone, Copy)]
pub(super) struct Asking {
    pub(super) page: Page,
    pub(super) leaf: StoredValue<MessageId>,
    pub(super) known: RwSignal<Known>,
    pub(super) way: RwSignal<Way>,
    /// Whether it is being carried out, and whether that was cancelled.
    pub(super) busy: RwSignal<bool>,
    pub(super) cancelled: RwSignal<bool>,
    /// The place of the strategy that is shown.
    pub(super) shown: RwSignal<usize>,
    pub(super) select: NodeRef<html::Select>,
    /// Whether the browser has a summariser of its own, and whether that must be loaded first.
    pub(super) offered: RwSignal<Option<bool>>,
    pub(super) offer: StoredValue<Option<Offer>, LocalStorage>,
    pub(super) browser: StoredValue<Option<Browser>, LocalStorage>,
    pub(super) summariser: NodeRef<html::Select>,
    /// The name of the model that summarises, where one of a connection does, and where it is.
    pub(super) model: RwSignal<Option<(String, String)>>,
    /// Whether the browser's summariser does, once it is loaded.
    pub(super) loads: RwSignal<bool>,
    /// How much of it is loaded, in percent.
    pub(super) loading: RwSignal<Option<u32>>,
    /// Which part of how many it is summarising.
    pub(super) part: RwSignal<Option<(u32, u32)>>,
    /// Counts what was asked, so that a late answer does not replace a newer one.
    pub(super) asked: StoredValue<u32>,
}

impl Asking {
    /// About the branch that ends at `leaf`.
    pub(super) fn new(page: Page, leaf: MessageId) -> Self {
        Self {
            page,
            leaf: StoredValue::new(leaf),
            known: RwSignal::new(Known::Reading),
            way: RwSignal::new(Way::default()),
            busy: RwSignal::new(false),
            cancelled: RwSignal::new(false),
            shown: RwSignal::new(USUAL),
            select: NodeRef::new(),
            offered: RwSignal::new(None),
            offer: StoredValue::new_local(None),
            browser: StoredValue::new_local(None),
            summariser: NodeRef::new(),
            model: RwSignal::new(None),
            loads: RwSignal::new(false),
            loading: RwSignal::new(None),
            part: RwSignal::new(None),
            asked: StoredValue::new(0),
        }
    }

    /// What the engine is asked, for a preview or for the deed.
    pub(super) fn recall(self, preview: bool) -> Ask {
        let (leaf, way) = (self.leaf.get_value(), self.way.get_untracked());
        let connections = self.page.connections;
        let model = self.model.get_untracked().and_then(|_| self.usable()).map(|one| connections.request(&one));
        Ask::Recall(Box::new(Recall::Compact { leaf, preview, way, model }))
    }

    /// The connection in use, where its model can summarise; tracks.
    pub(super) fn usable(self) -> Option<Connection> {
        let connections = self.page.connections;
        let able = |one: &Connection| {
            let open = connections.key_state(one) != KeyState::Locked;
            open && one.preset != DEMO && one.preset != CHROME
        };
        connections.in_use().filter(able)
    }

    /// What was asked before does not count any more. Gives the number of what is asked next.
    pub(super) fn anew(self) -> u32 {
        let number = self.asked.get_value() + 1;
        self.asked.set_value(number);
        self.known.set(Known::Reading);
        number
    }

    /// Asks what it would do.
    pub(super) fn preview(self) {
        let number = self.anew();
        self.page.engine.compacting.set(None);
        self.part.set(None);
        let ask = self.recall(true);
        spawn_local(async move {
            let answer = match self.page.engine.ask(ask).await {
                Ok(Reply::Compacted(done)) => Known::Preview(done),
                Ok(_) => return,
                Err(error) => Known::Failed(words::words(&error).line()),
            };
            // Who has closed the dialog meanwhile, or asked again, needs no answer.
            if self.asked.try_get_value() != Some(number) {
                return;
            }
            if let Known::Preview(done) = &answer
                && let Some(at) = done.card.as_ref().and_then(|card| strategy(&card.strategy))
            {
                self.show_strategy(at);
            }
            self.known.set(answer);
        });
    }

    /// Shows the strategy that was taken where none was chosen: that of the compaction before.
    fn show_strategy(self, at: usize) {
        self.shown.set(at);
        if let Some(select) = self.select.get_untracked() {
            select.set_value(&at.to_string());
        }
    }

    /// Something was chosen.
    pub(super) fn chosen(self, event: &Event) {
        let field = event.target().map(|target| target.unchecked_into::<HtmlInputElement>());
        let Some(field) = field else { return };
        let number = field.value().trim().parse::<u32>().ok();
        let mut wait = Duration::ZERO;
        match field.name().as_str() {
            "strategy" => {
                self.shown.set(number.map_or(USUAL, |at| at as usize));
                self.way.update(|way| way.strategy = number);
            }
            "summariser" if number == Some(1) => {
                self.model.set(None);
                return self.take_browser();
            }
            "summariser" => {
                self.loads.set(false);
                self.way.update(|way| way.browser = None);
                let model = self.usable().filter(|_| number == Some(2));
                self.model.set(model.map(|one| (one.model.clone(), one.host().to_owned())));
            }
            "everybody" => self.way.update(|way| way.everybody = field.checked()),
            _ => {
                wait = TYPING;
                self.way.update(|way| way.tail = number);
            }
        }
        // At once, so that nobody confirms this choice below the preview of the one before.
        let number = self.anew();
        let later = move || {
            if self.asked.try_get_value() == Some(number) {
                self.preview();
            }
        };
        set_timeout(later, wait);
    }

    /// Whether it can be carried out; tracks.
    pub(super) fn ready(self) -> bool {
        self.known.with(|known| matches!(known, Known::Preview(done) if done.card.is_some())) && !self.busy.get()
    }
}
