//! The inspector's pane. What it says of an answer is put in by [`super::show`], by the names in `data-testid`: an answer comes with every
//! step of the slider.

use std::rc::Rc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use web_sys::Event;

use super::Inspector;
use super::controls::{Controls, InstructionFields};
use super::gauge::{Gauge, Kinds, Legend, Policies};
use super::show::NOTHING_TO_SEND;
use crate::format::plural;
use crate::page::basics::Sign;
use crate::page::composer;
use crate::page::copied;
use crate::page::dom;
use crate::page::effects::{follow, soon};
use crate::page::engine::State;
use crate::page::state::Page;

/// What stands beside the thread: the context of the open branch.
#[component]
pub fn Pane(page: Page) -> impl IntoView {
    let inspector = page.inspector;
    begin(page);
    let (settings, unfolded) = inspector.with(|inner| (inner.settings, inner.unfolded));
    let folded = move |event: Event| {
        let open = dom::closest(event.target(), "details").is_some_and(|details| details.has_attribute("open"));
        inspector.with(|inner| inner.unfolded = open);
    };
    view! {
        <div class="side-body inspector" role="tabpanel" aria-label="Context" data-testid="inspector" aria-busy="true">
            <div class="inspector-body" on:input=move |event| inspector.entered(&event)>
                <p class="note" role="status" data-testid="note" hidden></p>
                <Gauge inspector/>
                <dl class="kinds" aria-label="Tokens by kind"><Kinds/></dl>
                <Messages inspector/>
                <Chosen page/>
                <section>
                    <details class="payload" data-testid="settings" open=unfolded on:toggle=folded>
                        <summary>"Settings"</summary>
                        <Controls settings/>
                    </details>
                </section>
                <section><InstructionFields inspector/></section>
                <section>
                    <h3>"Both policies"</h3>
                    <Policies/>
                </section>
                <section>
                    <h3>"Epochs"</h3>
                    <p class="faint">
                        "Each compaction begins an epoch: prompts from then on have its summary in place of what is old."
                    </p>
                    <p class="acts-line">
                        <button
                            type="button"
                            class="small"
                            data-testid="epochs-open"
                            on:click=move |_| page.show_epochs(None)
                        >
                            <Sign name="epochs"/>
                            "Prompts before and after"
                        </button>
                    </p>
                </section>
                <PayloadSection page/>
            </div>
        </div>
    }
}

/// Follows whatever changes what there is to ask.
fn begin(page: Page) {
    let inspector = page.inspector;
    follow(move || {
        if let Some(thread) = page.nav.route().transcript {
            inspector.move_pins(&thread);
        }
    });
    follow(move || {
        let ready = matches!(page.engine.state.get(), State::Open { .. });
        page.leaf.track();
        page.tree.track();
        page.connections.in_use();
        if ready {
            soon(move || inspector.ask());
        }
    });
    on_cleanup(move || inspector.closed());
    inspector.with(|inner| inner.next = Some(Rc::new(move || composer::next_request(page))));
}

/// What became of the messages, and what would leave next.
#[component]
fn Messages(inspector: Inspector) -> impl IntoView {
    let marked = RwSignal::new(false);
    view! {
        <section>
            <h3>"Messages"</h3>
            <ul class="marks-legend" data-testid="marks"><Legend/></ul>
            <p class="acts-line">
                <button type="button" class="small" data-testid="cut" hidden on:click=move |_| inspector.show_cut()>
                    "Show where the kept part begins"
                </button>
            </p>
            <p class="faint" data-testid="leaving"></p>
            <p class="acts-line">
                <button
                    type="button"
                    class="small leaving-toggle"
                    data-testid="leaving-toggle"
                    aria-pressed=move || marked.get().to_string()
                    hidden
                    on:click=move |_| marked.update(|marked| *marked = !*marked)
                >
                    "Mark them"
                </button>
            </p>
        </section>
    }
}

/// The selected message, and the pins.
#[component]
fn Chosen(page: Page) -> impl IntoView {
    let inspector = page.inspector;
    let unpin = move |_| {
        let pinned = inspector.unpin();
        let words = plural(pinned.len() as u64, "message");
        let back = move || inspector.pin_all(pinned.clone(), true);
        page.notices.offer("Pins removed", &format!("{words} can go out of prompts again."), "Undo", back);
    };
    view! {
        <section>
            <h3>"Selected message"</h3>
            <p class="chosen-words" dir="auto" data-testid="selected"></p>
            <p class="faint" data-testid="why"></p>
            <p class="faint" data-testid="survives"></p>
            <p class="acts-line">
                <button
                    type="button"
                    class="small"
                    data-testid="pin"
                    aria-pressed="false"
                    hidden
                    on:click=move |_| inspector.pin()
                >
                    "Pin"
                </button>
                <button type="button" class="small quiet" data-testid="unpin" hidden on:click=unpin></button>
            </p>
        </section>
    }
}

/// What a provider would get.
#[component]
fn PayloadSection(page: Page) -> impl IntoView {
    let inspector = page.inspector;
    let copy = move |_| {
        spawn_local(async move {
            match inspector.payload().await {
                Ok(None) => page.notices.say("Nothing was copied", NOTHING_TO_SEND),
                Ok(Some((payload, _))) => copied::copy(page.notices, "The payload, as JSON.", payload.text).await,
                Err(error) => page.notices.fail(&error),
            }
        });
    };
    view! {
        <section>
            <details class="payload" data-testid="payload" on:toggle=move |_| inspector.refresh_payload()>
                <summary>"Payload for the provider"</summary>
                <p class="faint" data-testid="payload-what" hidden></p>
                <ul class="warnings" data-testid="warnings"></ul>
                <pre tabindex="0" data-testid="payload-text" aria-label="Payload">"Reading…"</pre>
                <p class="faint" data-testid="payload-size"></p>
            </details>
            <p class="acts-line">
                <button type="button" class="small" data-testid="copy-payload" on:click=copy>
                    <Sign name="copy"/>
                    "Copy the payload"
                </button>
            </p>
        </section>
    }
}
