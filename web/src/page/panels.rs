//! What most visits do without: the bodies of dialogs, what stands beside the thread, and what an import did. It lies in a part of the
//! module, which is loaded when the first of it is shown. Until then there are words in its place, and also where it cannot be loaded.

use std::cell::Cell;
use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::{ErrorReply, ImportReport};
use threadkeep_parts::part;

use super::bin::BinDialog;
use super::check::Check;
use super::compaction::CompactionDialog;
use super::compare::Compare;
use super::connections::ConnectionsPanel;
use super::deletion::DeleteAll;
use super::epochs::EpochsDialog;
use super::imports::report::Report;
use super::memory::MemoryPanel;
use super::palette::PalettePanel;
use super::share::Share;
use super::shortcuts::Shortcuts;
use super::side::Frames;
use super::state::{Dialog, Page};
use super::storage::StorageDialog;
use super::sync::Sync;
use super::welcome::HowTo;
use crate::words::words;

/// What is loaded later.
#[derive(Debug, Clone)]
pub enum Panel {
    /// A dialog's body.
    Dialog(Dialog),
    /// What stands beside the thread.
    Sides,
    /// What an import did.
    Report(Arc<ImportReport>),
}

/// Makes a panel.
type Make = fn(Page, Panel) -> AnyView;

part! {
    /// The way into the part.
    panels: fn enter() -> Make {
        make
    }
}

fn make(page: Page, panel: Panel) -> AnyView {
    match panel {
        Panel::Dialog(dialog) => body(page, dialog),
        Panel::Sides => view! { <Frames page/> }.into_any(),
        Panel::Report(report) => view! { <Report page report/> }.into_any(),
    }
}

fn body(page: Page, dialog: Dialog) -> AnyView {
    match dialog {
        Dialog::Bin => view! { <BinDialog page/> }.into_any(),
        Dialog::DeleteAll => view! { <DeleteAll page/> }.into_any(),
        Dialog::Compact(leaf) => view! { <CompactionDialog page leaf/> }.into_any(),
        Dialog::Epochs { leaf, checkpoint } => view! { <EpochsDialog page leaf checkpoint/> }.into_any(),
        Dialog::Compare { transcript, leaves } => view! { <Compare page transcript leaves/> }.into_any(),
        Dialog::Check { transcript, leaf } => view! { <Check page transcript leaf/> }.into_any(),
        Dialog::Share(thread) => view! { <Share page thread=*thread/> }.into_any(),
        Dialog::Memory(at) => view! { <MemoryPanel page at/> }.into_any(),
        Dialog::Connections => view! { <ConnectionsPanel page/> }.into_any(),
        Dialog::Storage => view! { <StorageDialog page/> }.into_any(),
        Dialog::Sync => view! { <Sync page/> }.into_any(),
        Dialog::Palette => view! { <PalettePanel page/> }.into_any(),
        Dialog::Keys => view! { <Shortcuts/> }.into_any(),
        Dialog::Help => view! { <HowTo/> }.into_any(),
    }
}

thread_local! {
    static PART: Cell<Option<Make>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
enum State {
    Loading,
    There(Make),
    Missing,
}

/// A panel, once the part is there.
#[component]
pub fn Later(page: Page, panel: Panel) -> impl IntoView {
    let state = RwSignal::new(PART.get().map_or(State::Loading, State::There));
    if matches!(state.get_untracked(), State::Loading) {
        spawn_local(async move {
            let now = enter().await.map_or(State::Missing, State::There);
            if let State::There(make) = now {
                PART.set(Some(make));
            }
            // Who has closed it meanwhile needs it no more.
            state.try_set(now);
        });
    }
    move || match state.get() {
        State::There(make) => untrack(|| make(page, panel.clone())),
        State::Loading => instead(&panel, view! { <p class="faint" role="status">"Loading…"</p> }.into_any()),
        State::Missing => {
            let (code, message) = ("part-missing".to_owned(), String::new());
            let words = words(&ErrorReply { code, message, details: serde_json::Value::Null });
            instead(&panel, view! { <p role="alert" data-testid="panel-missing">{words.line()}</p> }.into_any())
        }
    }
}

/// Words in the place of a panel.
fn instead(panel: &Panel, words: AnyView) -> AnyView {
    match panel {
        Panel::Dialog(_) => words,
        Panel::Sides => view! { <aside class="pane beside">{words}</aside> }.into_any(),
        Panel::Report(_) => view! { <section class="import-card">{words}</section> }.into_any(),
    }
}
