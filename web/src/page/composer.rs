//! The composer below the thread: what the reader says at the end of the branch, below any message, or in place of one, as a branch.
//! It keeps drafts, one for each place, until they are sent, and says what is missing before something can be.

use leptos::html;
use leptos::prelude::*;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::MessageId;
use web_sys::KeyboardEvent;

use super::basics::{Sign, drawn};
use super::dom;
use super::effects::{follow, soon};
use super::meter::Meter;
use super::state::{Dialog, Page, Target};
use super::talk::Lack;
use crate::connections::DEMO;
use crate::format;
use crate::wire::Talk;

/// Followed by the place.
const DRAFT: &str = "threadkeep.draft.";

/// The place while the branch is on its way to the screen. What is typed then belongs to that branch.
const READING: &str = "reading";

/// The field, and what is known of the words in it: a handle.
#[derive(Clone, Copy)]
struct Field {
    page: Page,
    area: NodeRef<html::Textarea>,
    /// The place whose draft is in the field.
    place: StoredValue<String>,
    /// Whether there is something to send.
    empty: RwSignal<bool>,
    /// Whether what is in the field is on its way into the store.
    sending: RwSignal<bool>,
    /// Whether it is to be sent once its branch is on the screen.
    wanted: StoredValue<bool>,
}

/// The place at which something would be said.
fn place(target: Option<&Target>, leaf: Option<&MessageId>) -> String {
    match (target, leaf) {
        (Some(target), _) => [if target.edit.is_some() { "edit." } else { "" }, target.node.as_str()].concat(),
        (None, Some(leaf)) => leaf.to_string(),
        (None, None) => "new".to_owned(),
    }
}

impl Field {
    fn new(page: Page) -> Self {
        Self {
            page,
            area: NodeRef::new(),
            place: StoredValue::new(String::new()),
            empty: RwSignal::new(true),
            sending: RwSignal::new(false),
            wanted: StoredValue::new(false),
        }
    }

    fn text(self) -> String {
        self.area.get_untracked().map(|area| area.value()).unwrap_or_default()
    }

    fn fill(self, text: &str) {
        if let Some(area) = self.area.get_untracked() {
            area.set_value(text);
        }
        self.empty.set(text.trim().is_empty());
    }

    fn typed(self) {
        let text = self.text();
        self.empty.set(text.trim().is_empty());
        let place = self.place.get_value();
        if place != READING {
            keep_draft(&place, &text);
            self.page.inspector.refresh_payload();
        }
    }

    /// Turns to the place that is now the reader's, sends what waited for it, and takes the focus where a message was aimed at.
    fn turn(self, target: Option<&Target>, leaf: Option<&MessageId>, reading: bool) {
        let place = if reading { READING.to_owned() } else { place(target, leaf) };
        self.turn_to(place, target);
        if !reading && self.wanted.get_value() {
            self.wanted.set_value(false);
            return self.send();
        }
        if target.is_some()
            && let Some(area) = self.area.get_untracked()
        {
            // The field is in the document; without the focus it can still be typed into.
            let _ = area.focus();
        }
    }

    fn pressed(self, event: &KeyboardEvent) {
        match event.key().as_str() {
            // While a word is being put together by an input method, Enter is the method's.
            "Enter" if !event.shift_key() && !event.is_composing() => {
                event.prevent_default();
                self.send();
            }
            "Escape" if !event.is_composing() => {
                event.prevent_default();
                event.stop_propagation();
                self.leave();
            }
            _ => {}
        }
    }

    /// The draft of the place that is now the reader's. What was typed while the place was on its way, and at the end of a branch that has
    /// grown, comes along.
    fn turn_to(self, now: String, target: Option<&Target>) {
        let was = self.place.get_value();
        if was == now {
            return;
        }
        let grown = self.page.grown_from.with_value(|old| old.as_ref().is_some_and(|old| old.as_str() == was));
        let along =
            Some(self.text()).filter(|text| (was == READING || grown) && now != READING && !text.trim().is_empty());
        // What is said otherwise begins with what it says.
        let begin = target.filter(|target| target.edit.is_some()).map(|target| target.words.clone());
        let kept = draft(&now).or(begin);
        let text = [kept.clone(), along.clone()].into_iter().flatten().collect::<Vec<_>>().join("\n");
        if along.is_some() {
            keep_draft(&was, "");
            keep_draft(&now, &text);
        }
        self.place.set_value(now);
        self.fill(&text);
    }

    fn send(self) {
        let page = self.page;
        if untrack(|| page.is_reading()) {
            return self.wanted.set_value(true);
        }
        if page.talking.running.with_untracked(Option::is_some) {
            return;
        }
        if untrack(|| page.talking.lack()).is_some() {
            return page.dialog.set(Some(Dialog::Connections));
        }
        let text = self.text().trim().to_owned();
        if text.is_empty() {
            return;
        }
        let target = page.target.get_untracked();
        let reply_to = answered(page, target.as_ref());
        // The words stay in their field, and in the draft, until they are stored.
        let place = self.place.get_value();
        keep_draft(&place, &text);
        self.sending.set(true);
        let stored = move || {
            keep_draft(&place, "");
            self.sending.try_set(false);
            if self.place.try_get_value().is_some_and(|now| now == place) {
                self.fill("");
            }
            page.target.set(None);
        };
        let done = move |result: Result<(), ErrorReply>| {
            self.sending.try_set(false);
            match result {
                Err(error) if error.code != "cancelled" => page.notices.fail(&error),
                _ => {}
            }
        };
        page.talking.say(text, reply_to, stored, done);
    }

    /// Leaves the message that was aimed at; what was typed there is kept for the next time.
    fn leave(self) {
        let Some(target) = self.page.target.get_untracked() else { return };
        self.page.target.set(None);
        dom::focus(&["[data-node=\"", target.node.as_str(), "\"]"].concat());
    }
}

/// The message that is answered by what is said now.
fn answered(page: Page, target: Option<&Target>) -> Option<MessageId> {
    match target {
        Some(Target { edit: Some(parent), .. }) => parent.clone(),
        Some(target) => Some(target.node.clone()),
        None => page.nav.now().transcript.and_then(|_| page.leaf.get_untracked()),
    }
}

/// The question for the request that Send would send now; `None` where there are no words, or no model can be asked.
pub fn next_request(page: Page) -> Option<Talk> {
    let target = page.target.get_untracked();
    let leaf = page.leaf.get_untracked();
    let unchanged = || target.as_ref().filter(|target| target.edit.is_some()).map(|target| target.words.clone());
    let words = draft(&place(target.as_ref(), leaf.as_ref())).or_else(unchanged)?.trim().to_owned();
    page.talking.foresee(Some(words).filter(|words| !words.is_empty())?, answered(page, target.as_ref()))
}

fn session() -> Option<web_sys::Storage> {
    window().session_storage().ok()?
}

fn draft(place: &str) -> Option<String> {
    session()?.get_item(&[DRAFT, place].concat()).ok()?
}

fn keep_draft(place: &str, text: &str) {
    let Some(session) = session() else { return };
    let key = [DRAFT, place].concat();
    // A draft that finds no room is still in its field.
    let _ = if text.trim().is_empty() { session.remove_item(&key) } else { session.set_item(&key, text) };
}

/// The composer.
#[component]
pub fn Composer(page: Page) -> impl IntoView {
    let field = Field::new(page);
    let awake = RwSignal::new(false);
    follow(move || {
        let (target, leaf, reading) = (page.target.get(), page.leaf.get(), page.is_reading());
        soon(move || field.turn(target.as_ref(), leaf.as_ref(), reading));
    });
    let target = Memo::new(move |_| page.target.get());
    let hint = move || match (target.with(Option::is_some), page.leaf.get().is_some()) {
        (true, _) => "Your words go here, as a branch",
        (_, true) => "Reply…",
        _ => "Begin a conversation…",
    };
    let running = move || page.talking.running.with(Option::is_some);
    view! {
        <section class="composer" aria-label="Write" data-testid="composer">
            {move || target.get().map(|target| view! { <Aimed field target/> })}
            <div class="composer-box">
                <textarea
                    rows="1"
                    dir="auto"
                    aria-label="Your message"
                    placeholder=hint
                    readonly=move || field.sending.get()
                    data-testid="compose"
                    node_ref=field.area
                    on:focus=move |_| awake.set(true)
                    on:input=move |_| field.typed()
                    on:keydown=move |event| field.pressed(&event)
                ></textarea>
                <div class="composer-acts">
                    <Meter page awake/>
                    <button
                        type="button"
                        class="quiet small model-chip"
                        title="Models"
                        data-testid="model-chip"
                        on:click=move |_| page.dialog.set(Some(Dialog::Connections))
                    >
                        <Sign name="plug"/>
                        <span>{move || drawn(&model(page))}</span>
                    </button>
                    <Show when=running fallback=move || view! { <SendButton field/> }>
                        <StopButton page/>
                    </Show>
                </div>
            </div>
            <p class="for-readers" role="status" data-testid="talk-state">
                {move || if running() { "The model is answering." } else { "" }}
            </p>
        </section>
    }
}

/// Where the words go, other than to the end of the branch.
#[component]
fn Aimed(field: Field, target: Target) -> impl IntoView {
    let (sign, what, words) = if target.edit.is_some() {
        ("edit", "Instead of", format::line(&target.words, 90))
    } else {
        ("reply", "Reply to", target.words)
    };
    view! {
        <p class="aimed" data-testid="target">
            <Sign name=sign/>
            <span>{what}</span>
            <span class="aimed-words" dir="auto">{drawn(&words)}</span>
            <button
                type="button"
                class="icon"
                title="Leave it (Esc)"
                aria-label="Leave it"
                data-testid="target-close"
                on:click=move |_| field.leave()
            >
                <Sign name="close"/>
            </button>
        </p>
    }
}

/// The model that would answer; tracks.
fn model(page: Page) -> String {
    let lack = page.talking.lack();
    let name = page.connections.in_use().map(|one| {
        let model = if one.preset == DEMO { String::new() } else { [" · ", &one.model].concat() };
        [one.name.as_str(), &model].concat()
    });
    match (lack, name) {
        (Some(Lack::Locked), Some(name)) => [&name, " (locked)"].concat(),
        (_, Some(name)) => name,
        (_, None) => "Connect a model".to_owned(),
    }
}

/// Ends the answer that is coming in.
#[component]
fn StopButton(page: Page) -> impl IntoView {
    let stopping =
        move || page.talking.running.with(|running| running.as_ref().is_some_and(|running| running.stopping));
    view! {
        <button
            type="button"
            class="stop"
            title="Stop the answer; what is there stays"
            data-testid="stop"
            disabled=stopping
            on:click=move |_| page.talking.stop()
        >
            <Sign name="stop"/>
            <span>"Stop"</span>
        </button>
    }
}

/// Sends what is in the field, or asks for a model to send it to.
#[component]
fn SendButton(field: Field) -> impl IntoView {
    view! {
        <button
            type="button"
            class="primary send"
            title="Send (Enter)"
            aria-label="Send"
            data-testid="send"
            disabled=move || field.empty.get() && field.page.talking.lack().is_none()
            on:click=move |_| field.send()
        >
            <Sign name="send"/>
        </button>
    }
}
