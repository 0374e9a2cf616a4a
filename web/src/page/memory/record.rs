//! A record: what it says, where it is from, and what can be done to it.

use leptos::prelude::*;
use threadkeep_core::MessageId;

use super::panel::Panel;
use crate::page::basics::{IconButton, Sign, Time, drawn};
use crate::route::Route;
use crate::wire::{Memory, Recall};

/// How many sources of a record are listed.
const SOURCES: usize = 6;

/// Who said it.
fn origin(one: &Memory) -> &'static str {
    match one.origin.as_str() {
        "user" => "Told by you",
        "model" => "Said by the model",
        "tool" => "From a tool",
        _ => "Imported",
    }
}

/// One record.
#[component]
pub(super) fn Record(panel: Panel, one: Memory) -> impl IntoView {
    let kind = (!matches!(one.kind.as_str(), "" | "other")).then(|| view! { <span>{drawn(&one.kind)}</span> });
    let old = one.superseded.then(|| view! { <span>"Another fact contradicts it"</span> });
    let owner = one.agent.as_ref().map(|agent| {
        view! { <span data-testid="memory-owner">{drawn(&["Only for the agent ", agent.as_str()].concat())}</span> }
    });
    let tag = |tag: &String| view! { <span class="tag">{drawn(tag)}</span> };
    view! {
        <li
            class="memory"
            class:old=one.superseded
            tabindex="-1"
            data-testid=if one.episode { "episode" } else { "fact" }
            data-memory=one.id.clone()
        >
            <p class="memory-text" dir="auto">{drawn(&one.text)}</p>
            <div class="memory-foot">
                <p class="thread-facts">
                    {kind}
                    <Time at=one.created_at/>
                    {old}
                    <span data-testid="memory-origin">{origin(&one)}</span>
                    {owner}
                </p>
                <p class="tags">{one.tags.iter().map(tag).collect_view()}</p>
                <p class="memory-sources">{sources(panel, &one)}</p>
                <p class="memory-acts">
                    <Acts panel id=one.id.clone() pinned=one.pinned/>
                </p>
            </div>
        </li>
    }
}

/// The ways to the messages that a record came from.
fn sources(panel: Panel, one: &Memory) -> impl IntoView + use<> {
    let source = |(at, node): (usize, &MessageId)| {
        let to = Route { transcript: one.transcript.clone(), at: Some(node.clone()), ..Route::default() };
        let open = move |_| {
            panel.page.dialog.set(None);
            panel.page.nav.go(to.clone());
        };
        let name = if one.sources.len() == 1 { "Source".to_owned() } else { format!("Source {}", at + 1) };
        view! { <button type="button" class="quiet small" data-testid="memory-source" on:click=open>{name}</button> }
    };
    let most = if one.transcript.is_some() { SOURCES } else { 0 };
    one.sources.iter().take(most).enumerate().map(source).collect_view()
}

/// What can be done to a record.
#[component]
fn Acts(panel: Panel, id: String, pinned: bool) -> impl IntoView {
    let id = StoredValue::new(id);
    view! {
        <button
            type="button"
            class="icon"
            title="Pin: always goes into prompts with memory"
            aria-label="Pin"
            data-testid="memory-pin"
            aria-pressed=if pinned { "true" } else { "false" }
            on:click=move |_| panel.act(Recall::Pin { id: id.get_value(), pinned: !pinned })
        >
            <Sign name="pin"/>
        </button>
        <IconButton sign="edit" words="Edit" testid="memory-edit" press=move |()| panel.editing.set(Some(id.get_value()))/>
        <IconButton sign="trash" words="Delete" testid="memory-delete" press=move |()| panel.forget(id.get_value())/>
    }
}
