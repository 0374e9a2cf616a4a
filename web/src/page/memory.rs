//! The memory: episodes and facts over all threads or of the open one, with their tags and sources, to be edited, pinned and
//! deleted. What is remembered, and what of it goes into prompts, is the engine's business.

use std::sync::Arc;

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep_core::MessageId;
use web_sys::KeyboardEvent;

use super::dom;
use super::state::Page;
use super::typed::{Sign, Time, drawn};
use super::view::soon;
use crate::route::Route;
use crate::wire::{Ask, Memory, Recall, Reply};
use crate::words;

/// How many sources of a record are listed.
const SOURCES: usize = 6;

#[derive(Clone, Copy)]
struct Panel {
    page: Page,
    all: RwSignal<Option<Arc<Vec<Memory>>>>,
    failed: RwSignal<Option<String>>,
    /// The record that is being edited.
    editing: RwSignal<Option<String>>,
    /// What was done last, in words, and what takes it back.
    undo: RwSignal<Option<(String, Recall)>>,
    /// Whether only what came from the open thread is shown.
    here: RwSignal<bool>,
    /// The same, as it was when that began.
    edited: StoredValue<Option<Memory>>,
    /// What the record that is being edited says meanwhile.
    overtaken: RwSignal<Option<String>>,
}

/// A row of a list.
#[derive(Clone)]
struct Row {
    key: String,
    one: Memory,
    editing: bool,
}

impl Panel {
    fn new(page: Page) -> Self {
        Self {
            page,
            all: RwSignal::new(None),
            failed: RwSignal::new(None),
            editing: RwSignal::new(None),
            undo: RwSignal::new(None),
            here: RwSignal::new(false),
            edited: StoredValue::new(None),
            overtaken: RwSignal::new(None),
        }
    }

    fn read(self) {
        spawn_local(async move {
            // Who has closed the panel meanwhile needs no answer.
            match self.page.engine.ask(Ask::Recall(Box::new(Recall::List))).await {
                Ok(Reply::Memories(all)) => {
                    self.overtaken(&all);
                    drop(self.all.try_set(Some(Arc::new(all))));
                }
                Ok(_) => {}
                Err(error) => drop(self.failed.try_set(Some(words::words(&error).title))),
            }
        });
    }

    /// Another tab may be as quick: one sees what it has written before one saves over it.
    fn overtaken(self, all: &[Memory]) {
        let Some(was) = self.edited.try_get_value().flatten() else { return };
        if let Some(words) = overtaken(&was, all) {
            drop(self.overtaken.try_set(Some(words)));
        }
    }

    fn act(self, asked: Recall) {
        spawn_local(async move {
            match self.page.engine.ask(Ask::Recall(Box::new(asked))).await {
                Ok(_) => drop(self.editing.try_set(None)),
                Err(error) => {
                    drop(self.undo.try_set(None));
                    self.page.notices.fail(&error);
                }
            }
            // Its own change comes as an event a moment later; a failure may mean that what is shown is old.
            self.read();
        });
    }

    /// The records to show, of one kind; tracks.
    fn shown(self, episodes: bool) -> Vec<Memory> {
        let thread = if self.here.get() { self.page.nav.route().transcript } else { None };
        let fits = |one: &&Memory| one.episode == episodes && (thread.is_none() || one.transcript == thread);
        self.all.with(|all| all.iter().flat_map(|all| all.iter()).filter(fits).cloned().collect())
    }

    /// The records to show, of one kind, each with its key; tracks.
    fn rows(self, episodes: bool) -> Vec<Row> {
        let editing = self.editing.get();
        let row = |one: Memory| {
            let editing = editing.as_ref() == Some(&one.id);
            Row { key: key(&one, editing), one, editing }
        };
        self.shown(episodes).into_iter().map(row).collect()
    }

    /// Deletes a record, and offers to bring it back.
    fn forget(self, id: String) {
        let all = self.all.get_untracked();
        let one = all.iter().flat_map(|all| all.iter()).find(|one| one.id == id);
        self.undo.set(one.map(|one| (format!("Deleted: {}", one.text), Recall::Unforget)));
        self.act(Recall::Forget(id));
    }

    /// Says how memories come about, where there are none, or what failed.
    fn note(self) -> Option<&'static str> {
        if self.failed.with(Option::is_some) {
            return Some("The memory could not be read. Close this and try again.");
        }
        if self.all.with(Option::is_none) {
            return Some("Reading…");
        }
        let none = self.shown(true).is_empty() && self.shown(false).is_empty();
        none.then_some(if self.here.get() {
            "Nothing is remembered of this thread yet. Compact it, and what happened and what was decided is kept here."
        } else {
            "Nothing is remembered yet. When a thread is compacted, what happened in it becomes an episode, and preferences, decisions and constraints become facts, each with the messages that it came from. You can also write a fact down yourself."
        })
    }
}

/// What the panel says where another has changed a record since `was`; `None` where none has.
fn overtaken(was: &Memory, all: &[Memory]) -> Option<String> {
    let now = all.iter().find(|one| one.id == was.id)?;
    let tags = if now.tags.is_empty() { String::new() } else { format!(" ({})", now.tags.join(", ")) };
    let other = (&now.text, &now.tags) != (&was.text, &was.tags);
    other.then(|| format!("Changed meanwhile, perhaps in another tab. It now says: “{}”{tags}", now.text))
}

/// A row's key: all that the row shows.
fn key(one: &Memory, editing: bool) -> String {
    if editing {
        // What is being typed stays, whatever happens to the record meanwhile.
        return format!("editing {}", one.id);
    }
    format!("{} {} {} {:?} {}", one.id, one.pinned, one.superseded, one.tags, one.text)
}

/// Who said it.
fn origin(one: &Memory) -> &'static str {
    match one.origin.as_str() {
        "user" => "Told by you",
        "model" => "Said by the model",
        "tool" => "From a tool",
        _ => "Imported",
    }
}

/// The tags of a field, in which they are separated by commas.
fn tags(field: &str) -> Vec<String> {
    field.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect()
}

/// Brings a record on the screen.
fn sought(id: &str) {
    let record = dom::find(&["[data-memory=\"", id, "\"]"].concat());
    if let (Some(record), Some(dialog)) = (record, dom::find("[data-testid=dialog]")) {
        let above = record.get_bounding_client_rect().top() - dialog.get_bounding_client_rect().top();
        dialog.set_scroll_top(dialog.scroll_top() + above as i32 - 80);
        let _ = record.class_list().add_1("sought");
        let _ = record.focus();
    }
}

/// Facts or episodes.
#[component]
fn Section(panel: Panel, title: &'static str, episodes: bool) -> impl IntoView {
    view! {
        <section hidden=move || panel.shown(episodes).is_empty()>
            <h3>{title}</h3>
            <ul class="memories">
                <For
                    each=move || panel.rows(episodes)
                    key=|row| row.key.clone()
                    children=move |Row { one, editing, .. }| {
                        if editing {
                            view! { <Editor panel one/> }.into_any()
                        } else {
                            view! { <Record panel one/> }.into_any()
                        }
                    }
                />
            </ul>
        </section>
    }
}

/// One record.
#[component]
fn Record(panel: Panel, one: Memory) -> impl IntoView {
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
        <button
            type="button"
            class="icon"
            title="Edit"
            aria-label="Edit"
            data-testid="memory-edit"
            on:click=move |_| panel.editing.set(Some(id.get_value()))
        >
            <Sign name="edit"/>
        </button>
        <button
            type="button"
            class="icon"
            title="Delete"
            aria-label="Delete"
            data-testid="memory-delete"
            on:click=move |_| panel.forget(id.get_value())
        >
            <Sign name="trash"/>
        </button>
    }
}

/// Says what was done, and takes it back.
#[component]
fn Undo(panel: Panel, said: String, back: Recall) -> impl IntoView {
    let undo = move |_| {
        panel.undo.set(None);
        panel.act(back.clone());
    };
    view! {
        <p class="memory-done" role="status" data-testid="memory-done">
            <span dir="auto">{drawn(&said)}</span>
            <button type="button" class="small" data-testid="memory-undo" on:click=undo>"Undo"</button>
        </p>
    }
}

/// A record while it is being edited.
#[component]
fn Editor(panel: Panel, one: Memory) -> impl IntoView {
    let text = NodeRef::<html::Textarea>::new();
    let field = NodeRef::<html::Input>::new();
    text.on_load(|text| drop(text.focus()));
    panel.overtaken.set(None);
    panel.edited.set_value(Some(one.clone()));
    let Memory { id, episode, text: words, tags: labels, .. } = one;
    let before = Recall::Edit { id: id.clone(), episode, text: words.clone(), tags: labels.clone() };
    let said = format!("Changed. Before: {words}");
    let save = move |_| {
        let (Some(text), Some(field)) = (text.get_untracked(), field.get_untracked()) else { return };
        let (text, tags) = (text.value().trim().to_owned(), tags(&field.value()));
        panel.undo.set(Some((said.clone(), before.clone())));
        panel.act(Recall::Edit { id: id.clone(), episode, text, tags });
    };
    let key = move |event: KeyboardEvent| {
        // Escape ends the editing, not the dialog.
        if event.key() == "Escape" {
            event.prevent_default();
            panel.editing.set(None);
        }
    };
    view! {
        <li class="memory editing" on:keydown=key>
            <p
                class="overtaken"
                role="status"
                dir="auto"
                data-testid="memory-overtaken"
                hidden=move || panel.overtaken.with(Option::is_none)
            >
                {move || panel.overtaken.get().map(|words| drawn(&words))}
            </p>
            <label>
                <span class="for-readers">"What it says"</span>
                <textarea rows="3" dir="auto" data-testid="memory-text" node_ref=text>{words}</textarea>
            </label>
            <label class="tags-field">
                <span>"Tags"</span>
                <input value=labels.join(", ") data-testid="memory-tags" node_ref=field/>
            </label>
            <p class="memory-acts">
                <button type="button" class="small" on:click=move |_| panel.editing.set(None)>"Cancel"</button>
                <button type="button" class="small primary" data-testid="memory-save" on:click=save>"Save"</button>
            </p>
        </li>
    }
}

/// A field for a fact to remember.
#[component]
fn Remember(panel: Panel) -> impl IntoView {
    let field = NodeRef::<html::Input>::new();
    let remember = move || {
        let Some(field) = field.get_untracked() else { return };
        let text = field.value().trim().to_owned();
        if !text.is_empty() {
            field.set_value("");
            panel.act(Recall::Remember(text));
        }
    };
    let key = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            remember();
        }
    };
    view! {
        <div class="remember">
            <label>
                <span class="for-readers">"A fact to remember"</span>
                <input
                    placeholder="Write down a fact to remember"
                    dir="auto"
                    data-testid="remember"
                    node_ref=field
                    on:keydown=key
                />
            </label>
            <button type="button" data-testid="remember-add" on:click=move |_| remember()>"Remember"</button>
        </div>
    }
}

/// The panel, at one record where its id is given.
#[component]
pub fn MemoryPanel(page: Page, at: Option<String>) -> impl IntoView {
    let panel = Panel::new(page);
    let at = StoredValue::new(at);
    Effect::new(move || {
        if panel.all.with(Option::is_some)
            && let Some(id) = at.try_update_value(Option::take).flatten()
        {
            soon(move || sought(&id));
        }
    });
    // Whatever changes it: this dialog, a compaction, another tab.
    Effect::new(move || {
        page.memories.track();
        panel.read();
    });
    let only_here = page.nav.now().transcript.is_some().then(|| {
        view! {
            <button
                type="button"
                class="chip"
                data-testid="memory-here"
                aria-pressed=move || if panel.here.get() { "true" } else { "false" }
                on:click=move |_| panel.here.update(|here| *here = !*here)
            >
                "Only from this thread"
            </button>
        }
    });
    let note =
        move || panel.note().map(|note| view! { <p class="faint" role="status" data-testid="memory-note">{note}</p> });
    view! {
        <div class="memory-panel" data-testid="memory-panel">
            <Remember panel/>
            <div class="chips">{only_here}</div>
            {move || panel.undo.get().map(|(said, back)| view! { <Undo panel said back/> })}
            {move || note()}
            <Section panel title="Facts" episodes=false/>
            <Section panel title="Episodes" episodes=true/>
        </div>
    }
}
