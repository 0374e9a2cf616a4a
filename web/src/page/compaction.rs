//! Compact now: a dialog in which one chooses how, and which says what it would do before it does it. Choosing anew asks
//! anew; what runs can be cancelled until it is stored. Choosing sends and loads nothing: the button says what it will send where, and
//! what it will load.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, Node};

use super::browser::{self, Browser, Offer};
use super::keys::KeyState;
use super::state::Page;
use super::view::{Slot, Spot, click, draw, live, markup, on};
use crate::connections::{CHROME, Connection, DEMO};
use crate::epochs::{STRATEGIES, strategy};
use crate::route::Route;
use crate::wire::{Ask, Card, Compacted, Recall, Reply, Way};
use crate::{format, words};

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

    /// Asks what it would do.
    fn preview(self) {
        let number = self.asked.get_value() + 1;
        self.asked.set_value(number);
        self.known.set(Known::Reading);
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

    /// Looks whether the browser has a summariser of its own.
    fn look(self) {
        spawn_local(async move {
            let Some(offer) = browser::offer().await else { return };
            let ready = offer.ready;
            // Who has closed the dialog meanwhile needs none, here and below.
            if self.offer.try_set_value(Some(offer)).is_none() {
                self.offered.set(Some(ready));
            }
        });
    }

    /// Asks anew with the browser's summariser, where it is there. One that must be loaded first waits for the button that says so.
    fn take_browser(self) {
        // What was asked before is of no interest any more.
        self.asked.update_value(|asked| *asked += 1);
        self.page.engine.stop_compaction();
        self.known.set(Known::Reading);
        let unmade = self.browser.with_value(Option::is_none);
        if unmade && self.offered.get_untracked() != Some(true) {
            self.loads.set(true);
            return self.preview();
        }
        spawn_local(async move {
            if self.open_browser().await.is_some() {
                self.preview();
            }
        });
    }

    /// Makes the browser's summariser, unless it is made. `None` where the dialog was closed meanwhile.
    async fn open_browser(self) -> Option<()> {
        if self.browser.try_with_value(Option::is_none)? {
            let offer = self.offer.with_value(|offer| offer.as_ref().map(Offer::again))?;
            let tell = move |percent| _ = self.loading.try_set(Some(percent));
            let opened = offer.open(tell).await;
            if self.loading.try_set(None).is_some() {
                return None;
            }
            match opened {
                Ok(browser) => {
                    browser.serve(self.page.engine, move |part| _ = self.part.try_set(Some(part)));
                    self.browser.set_value(Some(browser));
                    self.offered.set(Some(true));
                }
                Err(why) => {
                    if let Some(select) = self.summariser.get() {
                        select.unchecked_into::<HtmlInputElement>().set_value("0");
                    }
                    self.page.notices.say("The browser's summariser cannot be used", &why);
                }
            }
        }
        self.loads.set(false);
        let tokens = self.browser.with_value(|browser| browser.as_ref().map(Browser::tokens));
        self.way.update(|way| way.browser = tokens);
        Some(())
    }

    /// The choice of who summarises, where there is one.
    fn summarisers(self) -> Slot {
        let view = move |(offered, model): &(Option<bool>, Option<String>)| {
            let option = |value: &'static str, words: String| markup!("<option value={}>{}</option>", value, words);
            let own = offered.map(|ready| if ready { "The browser's own" } else { "The browser's own (loaded first)" });
            let mut options = vec![option("0", "Built in: quotes what matters".to_owned())];
            options.extend(own.map(|words| option("1", words.to_owned())));
            options.extend(model.as_ref().map(|name| option("2", ["Your model: ", name].concat())));
            if options.len() == 1 {
                return None;
            }
            Some(markup!(
                r#"
                <div class="field">
                    <label for="summariser">Summarised by</label>
                    <select id="summariser" name="summariser" data-testid="compact-summariser" disabled={} ref={}>{}</select>
                </div>"#,
                live(move || self.busy.get()),
                self.summariser,
                options,
            ))
        };
        draw(move || (self.offered.get(), self.usable().map(|one| one.model)), view)
    }

    fn carry_out(self) {
        self.busy.set(true);
        self.page.engine.compacting.set(None);
        self.part.set(None);
        let (leaf, page) = (self.leaf.get_value(), self.page);
        spawn_local(async move {
            if self.loads.try_get_untracked() == Some(true) {
                if self.open_browser().await.is_none() {
                    return;
                }
                if self.browser.with_value(Option::is_none) {
                    // It cannot be had. What the built-in one would do is not what was asked for.
                    self.busy.set(false);
                    return self.preview();
                }
            }
            // Cancelled in the same moment, it was never asked.
            if self.cancelled.try_get_untracked() != Some(false) {
                return page.dialog.set(None);
            }
            match page.engine.ask(self.recall(false)).await {
                Ok(Reply::Compacted(done)) => compacted(page, leaf, *done),
                Ok(_) => {}
                Err(error) if error.code == "cancelled" => {
                    page.notices.say("Cancelled", "Nothing was stored. Prompts are as they were.");
                }
                Err(error) => page.notices.fail(&error),
            }
            // Unless the reader has closed it.
            if self.busy.try_get_untracked().is_some() {
                page.dialog.set(None);
            }
        });
    }

    /// Cancels what is carried out, or else leaves.
    fn cancel(self) {
        if self.busy.get_untracked() {
            self.cancelled.set(true);
            self.page.engine.stop_compaction();
        } else {
            self.page.dialog.set(None);
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
        let way = self.way.get_untracked();
        let later = move || {
            if self.way.try_get_untracked() == Some(way) && !self.busy.get_untracked() {
                self.preview();
            }
        };
        set_timeout(later, wait);
    }

    fn ready(self) -> bool {
        self.known.with(|known| matches!(known, Known::Preview(done) if done.card.is_some())) && !self.busy.get()
    }

    /// What the button does: what it sends and where, what it loads.
    fn deed(self) -> String {
        let sends = self.known.with(|known| match known {
            Known::Preview(done) => done.sends,
            _ => None,
        });
        match (sends, self.model.get()) {
            (Some(sends), Some((name, host))) => {
                let tokens = format::plural(sends.tokens, "token");
                let requests =
                    if sends.requests > 1 { format!(" in {} requests", sends.requests) } else { String::new() };
                format!("Send about {tokens}{requests} to {name} at {host}, and compact")
            }
            _ if self.loads.get() => "Download the browser's summariser, and compact".to_owned(),
            _ => "Compact now".to_owned(),
        }
    }

    /// What is being done, while it is.
    fn progress(self) -> Slot {
        let words = move || {
            let busy = self.busy.get();
            let reading = self.known.with(|known| *known == Known::Reading);
            if !busy && !reading {
                return None;
            }
            Some(if self.cancelled.get() {
                "Cancelling…".to_owned()
            } else if let Some(percent) = self.loading.get() {
                format!("Loading the browser's summariser, {percent}%…")
            } else if let Some((part, parts)) = self.part.get() {
                format!("The browser is summarising part {} of {}…", part + 1, parts)
            } else {
                match self.page.engine.compacting.get() {
                    Some(_) if busy && self.model.with(Option::is_some) => {
                        let (name, _) = self.model.get().unwrap_or_default();
                        format!("{name} is summarising…")
                    }
                    None => "Reading the thread and its token counts…".to_owned(),
                    Some((0, now)) => format!("Summarising {}…", format::plural(now.into(), "message")),
                    Some((done, now)) => {
                        format!(
                            "Summarising {} more, {} are done…",
                            format::plural(now.into(), "message"),
                            format::count(done.into())
                        )
                    }
                }
            })
        };
        draw(words, |words| {
            Some(markup!(
                r#"<p class="working" role="status" data-testid="compact-progress"><progress aria-hidden="true"></progress><span>{}</span></p>"#,
                words.clone()?,
            ))
        })
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

/// It is done: the reader comes to the card.
fn compacted(page: Page, leaf: MessageId, done: Compacted) {
    let Some(card) = done.card else {
        return page.notices.say("Nothing was compacted", "Another tab was faster, or nothing was left to do.");
    };
    let words =
        format!("{} → {} tokens. Every message is still there.", format::count(done.before), format::count(done.after));
    page.notices.say("Compacted", &words);
    for warning in &done.warnings {
        page.notices.say("About the summary", warning);
    }
    page.nav.go(Route {
        transcript: page.nav.now().transcript,
        leaf: Some(leaf),
        at: Some(card.anchor),
        ..Route::default()
    });
}

/// What it would do. `unwritten` says that the summary is written after the press, by a model: its words and its size are not known.
fn preview(done: &Compacted, card: &Card, unwritten: bool) -> Node {
    let statement = |said: &crate::wire::Said| markup!(r#"<li dir="auto">{}</li>"#, said.text.clone());
    let statements: Vec<Node> = card.statements.iter().map(statement).collect();
    let warning = |warning: &String| markup!("<p>{}</p>", warning.clone());
    let (history, covered, memories) = if unwritten {
        (String::from("?"), String::from("?"), "What the summary holds".to_owned())
    } else {
        let memories = format!("{} in the memory", format::plural(done.memories.into(), "new record"));
        (format::count(done.after), format::count(card.after), memories)
    };
    let summary = if unwritten {
        markup!(
            r#"<p class="faint" data-testid="compact-unwritten">The model writes the summary after you press the button. Nothing was sent yet.</p>"#
        )
    } else if statements.is_empty() {
        markup!(r#"<p class="faint">Nothing stands in for what leaves.</p>"#)
    } else {
        markup!(
            r#"
            <h3>The summary</h3>
            <div class="summary-box" tabindex="0" role="region" aria-label="The summary" data-testid="compact-statements">
                <ol class="statements">{}</ol>
            </div>"#,
            statements,
        )
    };
    markup!(
        r#"
        <dl class="facts" data-testid="compact-preview">
            <div><dt>Covers</dt><dd>The first {}</dd></div>
            <div><dt>History</dt><dd><span data-testid="compact-before">{}</span> → <strong data-testid="compact-after">{}</strong> tokens</dd></div>
            <div><dt>Of that, the covered part</dt><dd>{} → {} tokens</dd></div>
            <div><dt>Remembered</dt><dd>{}</dd></div>
        </dl>
        <div class="compact-warnings" data-testid="compact-warnings">{}</div>
        {}"#,
        format::plural(card.messages.into(), "message"),
        format::count(done.before),
        history,
        format::count(card.before),
        covered,
        memories,
        done.warnings.iter().map(warning).collect::<Vec<Node>>(),
        summary,
    )
}
