//! Compact now: a dialog in which one chooses how, and which says what it would do before it does it. Choosing anew asks
//! anew; what runs can be cancelled until it is stored. Choosing sends and loads nothing: the button says what it will send where, and
//! what it will load.

mod deed;
mod preview;
mod said;
mod summariser;

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, Node};

use self::preview::preview;
use super::browser::{Browser, Offer};
use super::keys::KeyState;
use super::state::Page;
use super::view::{Spot, click, draw, live, markup, on};
use crate::connections::{CHROME, Connection, DEMO};
use crate::epochs::{STRATEGIES, strategy};
use crate::wire::{Ask, Compacted, Recall, Reply, Way};
use crate::words;

/// The place of the strategy that a first compaction takes.
const USUAL: usize = 1;

/// How long the dialog waits after a key before it asks.
const TYPING: Duration = Duration::from_millis(350);

/// What the dialog knows.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    Reading,
    Preview(Box<Compacted>),
    Failed(String),
}

#[derive(Clone, Copy)]
struct Asking {
    page: Page,
    leaf: StoredValue<MessageId>,
    known: RwSignal<Known>,
    way: RwSignal<Way>,
    /// Whether it is being carried out, and whether that was cancelled.
    busy: RwSignal<bool>,
    cancelled: RwSignal<bool>,
    /// The place of the strategy that is shown.
    shown: RwSignal<usize>,
    select: Spot,
    /// Whether the browser has a summariser of its own, and whether that must be loaded first.
    offered: RwSignal<Option<bool>>,
    offer: StoredValue<Option<Offer>, LocalStorage>,
    browser: StoredValue<Option<Browser>, LocalStorage>,
    summariser: Spot,
    /// The name of the model that summarises, where one of a connection does, and where it is.
    model: RwSignal<Option<(String, String)>>,
    /// Whether the browser's summariser does, once it is loaded.
    loads: RwSignal<bool>,
    /// How much of it is loaded, in percent.
    loading: RwSignal<Option<u32>>,
    /// Which part of how many it is summarising.
    part: RwSignal<Option<(u32, u32)>>,
    /// Counts what was asked, so that a late answer does not replace a newer one.
    asked: StoredValue<u32>,
}

impl Asking {
    fn recall(self, preview: bool) -> Ask {
        let (leaf, way) = (self.leaf.get_value(), self.way.get_untracked());
        let connections = self.page.connections;
        let model = self.model.get_untracked().and_then(|_| self.usable()).map(|one| connections.request(&one));
        Ask::Recall(Box::new(Recall::Compact { leaf, preview, way, model }))
    }

    /// The connection in use, where its model can summarise; tracks.
    fn usable(self) -> Option<Connection> {
        let connections = self.page.connections;
        let able = |one: &Connection| {
            let open = connections.key_state(one) != KeyState::Locked;
            open && one.preset != DEMO && one.preset != CHROME
        };
        connections.in_use().filter(able)
    }

    /// What was asked before does not count any more. Gives the number of what is asked next.
    fn anew(self) -> u32 {
        let number = self.asked.get_value() + 1;
        self.asked.set_value(number);
        self.known.set(Known::Reading);
        number
    }

    /// Asks what it would do.
    fn preview(self) {
        let number = self.anew();
        self.page.engine.compacting.set(None);
        self.part.set(None);
        let ask = self.recall(true);
        spawn_local(async move {
            let answer = match self.page.engine.ask(ask).await {
                Ok(Reply::Compacted(done)) => Known::Preview(done),
                Ok(_) => return,
                Err(error) => {
                    let words = words::words(&error);
                    Known::Failed(format!("{}. {}", words.title, words.advice))
                }
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
        if let Some(select) = self.select.get() {
            // A select has the same field.
            select.unchecked_into::<HtmlInputElement>().set_value(&at.to_string());
        }
    }

    /// Something was chosen.
    fn chosen(self, event: &Event) {
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

    fn ready(self) -> bool {
        self.known.with(|known| matches!(known, Known::Preview(done) if done.card.is_some())) && !self.busy.get()
    }
}

/// The dialog's body for the branch that ends at `leaf`.
pub fn dialog(page: Page, leaf: &MessageId) -> Node {
    let asking = Asking {
        page,
        leaf: StoredValue::new(leaf.clone()),
        known: RwSignal::new(Known::Reading),
        way: RwSignal::new(Way::default()),
        busy: RwSignal::new(false),
        cancelled: RwSignal::new(false),
        shown: RwSignal::new(USUAL),
        select: Spot::new(),
        offered: RwSignal::new(None),
        offer: StoredValue::new_local(None),
        browser: StoredValue::new_local(None),
        summariser: Spot::new(),
        model: RwSignal::new(None),
        loads: RwSignal::new(false),
        loading: RwSignal::new(None),
        part: RwSignal::new(None),
        asked: StoredValue::new(0),
    };
    asking.preview();
    asking.look();
    // Whoever leaves does not want it any more; what is done already is not touched by it.
    on_cleanup(move || {
        page.engine.stop_compaction();
        page.engine.on_summarise(None);
    });
    let view = move |known: &Known| match known {
        Known::Reading => None,
        Known::Failed(words) => Some(markup!(r#"<p role="alert" data-testid="compact-failed">{}</p>"#, words.clone())),
        Known::Preview(done) => Some(match &done.card {
            None => markup!(
                r#"<p data-testid="compact-nothing">There is nothing to compact: the newest turns stay as they are, and before them is nothing that is not compacted already.</p>"#
            ),
            Some(card) => preview(done, card, asking.loads.get_untracked() || done.sends.is_some()),
        }),
    };
    let choice = |(at, (_, words, _)): (usize, &(&str, &'static str, &str))| {
        markup!("<option value={} selected={}>{}</option>", at.to_string(), at == USUAL, *words)
    };
    let about = move || STRATEGIES.get(asking.shown.get()).map(|(_, _, about)| *about).unwrap_or_default();
    let busy = move || asking.busy.get();
    markup!(
        r#"
        <p>Compacting changes what models get, not the thread: every message stays, and so does every prompt before.</p>
        <div class="ways" oninput={}>
            <div class="field">
                <label for="strategy">Strategy</label>
                <select id="strategy" name="strategy" data-testid="compact-strategy" aria-describedby="strategy-about" disabled={} ref={}>{}</select>
            </div>
            <p class="faint" id="strategy-about" data-testid="strategy-about">{}</p>
            {}
            <div class="field">
                <label for="tail">Turns that stay as they are</label>
                <input id="tail" name="tail" type="number" min="0" max="1000" inputmode="numeric" placeholder="4" data-testid="compact-tail" disabled={}/>
            </div>
            <label class="check"><input type="checkbox" name="everybody" data-testid="compact-everybody" disabled={}/>Remember facts from tools and imports too</label>
        </div>
        {}{}
        <div class="choice">
            <button type="button" autofocus data-testid="compact-cancel" disabled={} onclick={}>Cancel</button>
            <button type="button" class="primary" data-testid="compact-confirm" disabled={} onclick={}>{}</button>
        </div>"#,
        on(move |event| asking.chosen(&event)),
        live(busy),
        asking.select,
        STRATEGIES.iter().enumerate().map(choice).collect::<Vec<Node>>(),
        live(about),
        asking.summarisers(),
        live(busy),
        live(busy),
        asking.progress(),
        draw(move || if asking.busy.get() { Known::Reading } else { asking.known.get() }, view),
        live(move || asking.cancelled.get()),
        click(move || asking.cancel()),
        live(move || !asking.ready()),
        click(move || asking.carry_out()),
        live(move || asking.deed()),
    )
}
