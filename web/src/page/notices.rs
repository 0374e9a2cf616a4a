//! The notices in the corner of the page.

use leptos::prelude::*;

use super::basics::{IconButton, drawn};
use super::state::{Notice, Page};

/// All that are shown.
#[component]
pub fn NoticeList(page: Page) -> impl IntoView {
    view! {
        <div class="notices" role="status" aria-live="polite" data-testid="status">
            <For
                each=move || page.notices.list.get()
                key=|notice| notice.number
                children=move |notice| view! { <One page notice/> }
            />
        </div>
    }
}

#[component]
fn One(page: Page, notice: Notice) -> impl IntoView {
    let Notice { number, bad, title, text, act } = notice;
    let text = (!text.is_empty()).then(|| view! { <p>{drawn(&text)}</p> });
    let act = act.map(|act| {
        let run = move |_| {
            page.notices.close(number);
            (act.run)();
        };
        view! { <button type="button" data-testid="notice-act" on:click=run>{act.label}</button> }
    });
    let close = move |()| page.notices.close(number);
    view! {
        <div class="notice" class:bad=bad>
            <div>
                <p class="notice-title">{drawn(&title)}</p>
                {text}
                {act}
            </div>
            <IconButton sign="close" words="Close" press=close/>
        </div>
    }
}
