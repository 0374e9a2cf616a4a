//! What is said over the whole page's width: that the engine cannot go on, or that it keeps nothing.

use leptos::prelude::*;
use threadkeep::protocol::ErrorReply;

use super::basics::{Sign, drawn};
use super::engine::State;
use super::state::Page;
use crate::words::words;

/// The banner, where there is something to say.
#[component]
pub fn Banner(page: Page) -> impl IntoView {
    let state = Memo::new(move |_| page.engine.state.get());
    move || match state.get() {
        State::Failed(error) => Some(view! { <Failed page error/> }.into_any()),
        State::Open { memory: true } => Some(
            view! {
                <div class="banner calm" role="note">
                    <Sign name="warning"/>
                    <p>"Kept in memory only: all is gone when this tab closes. Export what you want to keep."</p>
                </div>
            }
            .into_any(),
        ),
        _ => None,
    }
}

#[component]
fn Failed(page: Page, error: ErrorReply) -> impl IntoView {
    let words = words(&error);
    let memory = words.memory.then(|| {
        let go_on = move |_| page.engine.restart(true);
        view! { <button type="button" data-testid="use-memory" on:click=go_on>"Go on in memory"</button> }
    });
    view! {
        <div class="banner" role="alert" data-testid="engine-failed" data-code=error.code>
            <Sign name="warning"/>
            <p>
                <strong>{words.title}". "</strong>
                {words.advice}
                <span class="technical">{drawn(&error.message)}</span>
            </p>
            <span class="banner-acts">
                {memory}
                <button
                    type="button"
                    class="primary"
                    data-testid="restart"
                    on:click=move |_| page.engine.restart(false)
                >
                    <Sign name="restart"/>
                    <span>"Restart"</span>
                </button>
            </span>
        </div>
    }
}
