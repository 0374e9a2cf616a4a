//! The head of the open thread: its title, which can be changed in place, its facts, and what can be done with it.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, KeyboardEvent, Node};

use super::Thread;
use crate::page::side::Side;
use crate::page::state::{Dialog, Page};
use crate::page::view::{Spot, click, draw, follow, live, markup, on, soon};
use crate::page::{bin, dom};
use crate::route::Route;
use crate::wire::{Ask, Removed, ThreadInfo};
use crate::{format, list};

/// The head.
pub fn head(thread: Thread) -> Node {
    let page = thread.page;
    // The list is newer than the outline once the title has changed.
    let info = move || {
        let open = thread.open.get()?;
        page.threads.find(&open.info.id).or(Some(open.info))
    };
    let title = move || info().map(|info| list::title(&info).to_owned()).unwrap_or_default();
    follow(move || document().set_title(&format!("{} · Threadkeep", title())));
    on_cleanup(|| document().set_title("Threadkeep"));
    let editing = RwSignal::new(false);
    let rename = move |text: String| {
        if !editing.get_untracked() {
            return;
        }
        editing.set(false);
        let Some(ThreadInfo { id, .. }) = untrack(info) else { return };
        if text.trim() == untrack(title) {
            return;
        }
        spawn_local(async move {
            let ask = Ask::Rename { transcript: id, title: text.trim().to_owned() };
            match page.engine.ask(ask).await {
                Ok(_) => page.threads.refresh().await,
                Err(error) => page.notices.fail(&error),
            }
        });
    };
    let field = move || {
        let input = Spot::new();
        soon(move || {
            if let Some(input) = input.get() {
                let _ = input.focus();
                input.unchecked_into::<HtmlInputElement>().select();
            }
        });
        let key = move |event: Event| match event.unchecked_ref::<KeyboardEvent>().key().as_str() {
            "Enter" => rename(dom::entered(&event)),
            "Escape" => editing.set(false),
            _ => {}
        };
        markup!(
            r#"<input class="rename" data-testid="rename-input" aria-label="Title" value={} ref={} onblur={} onkeydown={}/>"#,
            title(),
            input,
            on(move |event| rename(dom::entered(&event))),
            on(key),
        )
    };
    let name = move |editing_now: &bool| {
        Some(if *editing_now {
            field()
        } else {
            markup!(
                r#"
                <h2 dir="auto" title={} data-testid="title">{}</h2>
                <button type="button" class="icon" title="Rename" aria-label="Rename" data-testid="rename" onclick={}>
                    <svg sign="edit"/>
                </button>"#,
                live(title),
                live(title),
                click(move || editing.set(true)),
            )
        })
    };
    let check = move || Some(Dialog::Check { transcript: untrack(info)?.id, leaf: page.leaf.get_untracked()? });
    let rows = move || thread.open.with(|open| open.as_ref().map_or(0, |open| open.rows));
    let damage = move || thread.open.with(|open| open.as_ref().and_then(|open| open.damage.clone()));
    markup!(
        r#"
        <p class="for-readers phone-heading" role="heading" aria-level="1">Threadkeep</p>
        <header class="thread-head">
            <button type="button" class="icon back" title="All threads" aria-label="All threads" data-testid="back" onclick={}>
                <svg sign="back"/>
            </button>
            <div class="thread-name">
                {}
                <p class="thread-facts">{}</p>
            </div>
            <div class="thread-acts">
                {}{}{}
                <button type="button" class="icon more" title="More" aria-label="More" data-testid="more" popovertarget="thread-more">
                    <svg sign="more"/>
                </button>
                <div class="more-acts" id="thread-more" popover>{}{}{}{}</div>
            </div>
        </header>
        {}"#,
        click(move || page.nav.go(Route::default())),
        draw(move || editing.get(), name),
        draw(move || (info(), rows()), |(info, rows)| Some(facts(info.as_ref()?, *rows))),
        toggle(page, Side::Context, "inspector-toggle", "gauge", "Context", "Context: what a model would see"),
        toggle(page, Side::Requests, "requests-toggle", "rules", "Requests", "Requests: what models were sent"),
        toggle(page, Side::Map, "map-toggle", "map", "Map", "Map of the branches"),
        act("compact", "fold", "Compact this branch…", move || {
            page.dialog.set(page.leaf.get_untracked().map(Dialog::Compact));
        }),
        act("check-branch", "check", "Check this branch…", move || page.dialog.set(check())),
        act("export-thread", "export", "Export this thread", move || page.export_soon(untrack(info))),
        act("delete-thread", "trash", "Delete this thread", move || {
            if let Some(info) = untrack(info) {
                bin::delete(page, Removed { transcript: info.id, node: None });
            }
        }),
        draw(damage, |damage| Some(damaged(damage.clone()?))),
    )
}

/// A button that shows something beside the thread, or hides it.
fn toggle(
    page: Page,
    side: Side,
    id: &'static str,
    sign: &'static str,
    name: &'static str,
    about: &'static str,
) -> Node {
    markup!(
        r#"
        <button type="button" class="quiet" data-testid={} title={} aria-label={} aria-pressed={} onclick={}>
            <svg sign={}/>
            <span class="wide-only">{}</span>
        </button>"#,
        id,
        about,
        name,
        live(move || page.shows(side).to_string()),
        click(move || page.turn(side)),
        sign,
        name,
    )
}

/// A button that shows a sign, and in the menu of a phone its words too. A press there closes the menu.
fn act(id: &'static str, sign: &'static str, words: &'static str, press: impl Fn() + 'static) -> Node {
    markup!(
        r#"
        <button
            type="button"
            class="icon"
            title={}
            aria-label={}
            data-testid={}
            popovertarget="thread-more"
            popovertargetaction="hide"
            onclick={}
        >
            <svg sign={}/>
            <span class="menu-only">{}</span>
        </button>"#,
        words,
        words,
        id,
        click(press),
        sign,
        words,
    )
}

/// Where it comes from, when it changed, how much it holds.
fn facts(info: &ThreadInfo, rows: usize) -> Node {
    let branches = (info.branches > 1).then(|| {
        let branches = format::plural(info.branches.into(), "branch");
        markup!(
            r#"<span title={}>{}</span>"#,
            format!("{branches}, {} in this one", format::plural(rows as u64, "node")),
            branches,
        )
    });
    markup!(
        r#"<span class="source">{}</span>{}<span>{}</span>{}"#,
        format::source(&info.source).to_owned(),
        info.updated_at.map(dom::time),
        format::plural(info.messages.into(), "message"),
        branches,
    )
}

fn damaged(damage: String) -> Node {
    markup!(
        r#"
        <p class="damage" role="note">
            <svg sign="warning"/>
            <span>Part of this branch is missing: {}. What can still be reached is shown.</span>
        </p>"#,
        damage,
    )
}
