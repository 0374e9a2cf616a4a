//! The memory: episodes and facts over all threads or of the open one, with their tags and sources, to be edited, pinned and
//! deleted. What is remembered, and what of it goes into prompts, is the engine's business.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, KeyboardEvent, Node};

use super::dom;
use super::state::Page;
use super::view::{Spot, click, draw, follow, live, markup, on, rows, soon};
use crate::route::Route;
use crate::wire::{Ask, Memory, Recall, Reply};
use crate::words;

/// How many sources of a record are listed.
const SOURCES: usize = 6;

/// What is being done to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Editing,
    Deleting,
}

#[derive(Clone, Copy)]
struct Panel {
    page: Page,
    all: RwSignal<Option<Arc<Vec<Memory>>>>,
    failed: RwSignal<Option<String>>,
    doing: RwSignal<Option<(String, Doing)>>,
    /// Whether only what came from the open thread is shown.
    here: RwSignal<bool>,
    /// The record that is being edited, as it was when that began.
    edited: StoredValue<Option<Memory>>,
}

impl Panel {
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
        let Some(note) = dom::find("[data-testid=memory-overtaken]") else { return };
        let now = all.iter().find(|one| one.id == was.id);
        let words = match now {
            Some(now) if (&now.text, &now.tags) != (&was.text, &was.tags) => {
                let tags = if now.tags.is_empty() { String::new() } else { format!(" ({})", now.tags.join(", ")) };
                format!("Changed meanwhile, perhaps in another tab. It now says: “{}”{tags}", now.text)
            }
            _ => return,
        };
        dom::set_text(&note, &words);
        let _ = note.remove_attribute("hidden");
    }

    fn act(self, asked: Recall) {
        spawn_local(async move {
            match self.page.engine.ask(Ask::Recall(Box::new(asked))).await {
                Ok(_) => drop(self.doing.try_set(None)),
                Err(error) => self.page.notices.fail(&error),
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

    fn records(self, episodes: bool) -> crate::page::view::Slot {
        rows(move |row| {
            let doing = self.doing.get();
            for one in self.shown(episodes) {
                let mine = doing.as_ref().filter(|(id, _)| *id == one.id).map(|(_, doing)| *doing);
                let key = match mine {
                    // What is being typed stays, whatever happens to the record meanwhile.
                    Some(Doing::Editing) => format!("editing {}", one.id),
                    mine => {
                        format!("{mine:?} {} {} {} {:?} {}", one.id, one.pinned, one.superseded, one.tags, one.text)
                    }
                };
                row(key, &mut || match mine {
                    Some(Doing::Editing) => self.editor(&one),
                    mine => self.record(&one, mine.is_some()),
                });
            }
        })
    }

    fn record(self, one: &Memory, deleting: bool) -> Node {
        let tag = |tag: &String| markup!(r#"<span class="tag">{}</span>"#, tag.clone());
        let sources: Vec<Node> = match &one.transcript {
            None => Vec::new(),
            Some(thread) => one.sources.iter().take(SOURCES).enumerate().map(|(at, node)| {
                let to = Route { transcript: Some(thread.clone()), leaf: None, at: Some(node.clone()), ..Route::default() };
                let open = move || {
                    self.page.dialog.set(None);
                    self.page.nav.go(to.clone());
                };
                markup!(
                    r#"<button type="button" class="quiet small" data-testid="memory-source" onclick={}>{}</button>"#,
                    click(open),
                    if one.sources.len() == 1 { "Source".to_owned() } else { format!("Source {}", at + 1) },
                )
            }).collect(),
        };
        let said = match one.origin.as_str() {
            "user" => "Told by you",
            "model" => "Said by the model",
            "tool" => "From a tool",
            _ => "Imported",
        };
        let said = markup!(r#"<span data-testid="memory-origin">{}</span>"#, said);
        let owner = one.agent.as_ref().map(|agent| {
            markup!(r#"<span data-testid="memory-owner">{}</span>"#, ["Only for the agent ", agent.as_str()].concat())
        });
        let kind = (!matches!(one.kind.as_str(), "" | "other")).then(|| markup!("<span>{}</span>", one.kind.clone()));
        let old = one.superseded.then(|| markup!("<span>Another fact contradicts it</span>"));
        let (id, pinned) = (one.id.clone(), one.pinned);
        let pin = move || self.act(Recall::Pin { id: id.clone(), pinned: !pinned });
        let do_now = |doing: Doing| {
            let id = one.id.clone();
            click(move || self.doing.set(Some((id.clone(), doing))))
        };
        let acts = if deleting {
            let id = one.id.clone();
            markup!(
                r#"
                <span class="sure">Delete it for good?</span>
                <button type="button" class="small" onclick={}>Keep</button>
                <button type="button" class="small danger" data-testid="memory-confirm" onclick={}>Delete</button>"#,
                click(move || self.doing.set(None)),
                click(move || self.act(Recall::Forget(id.clone()))),
            )
        } else {
            markup!(
                r#"
                <button type="button" class="icon" title="Pin: always goes into prompts with memory" aria-label="Pin" data-testid="memory-pin" aria-pressed={} onclick={}>
                    <svg sign="pin"/>
                </button>
                <button type="button" class="icon" title="Edit" aria-label="Edit" data-testid="memory-edit" onclick={}>
                    <svg sign="edit"/>
                </button>
                <button type="button" class="icon" title="Delete…" aria-label="Delete…" data-testid="memory-delete" onclick={}>
                    <svg sign="trash"/>
                </button>"#,
                one.pinned.to_string(),
                click(pin),
                do_now(Doing::Editing),
                do_now(Doing::Deleting),
            )
        };
        markup!(
            r#"
            <li class="memory" class:old={} tabindex="-1" data-testid={} data-memory={}>
                <p class="memory-text" dir="auto">{}</p>
                <div class="memory-foot">
                    <p class="thread-facts">{}{}{}{}{}</p>
                    <p class="tags">{}</p>
                    <p class="memory-sources">{}</p>
                    <p class="memory-acts">{}</p>
                </div>
            </li>"#,
            one.superseded,
            if one.episode { "episode" } else { "fact" },
            one.id.clone(),
            one.text.clone(),
            kind,
            dom::time(one.created_at),
            old,
            said,
            owner,
            one.tags.iter().map(tag).collect::<Vec<Node>>(),
            sources,
            acts,
        )
    }

    fn editor(self, one: &Memory) -> Node {
        let (text, tags) = (Spot::new(), Spot::new());
        soon(move || {
            if let Some(text) = text.get() {
                let _ = text.focus();
            }
        });
        let entered = |spot: Spot| {
            // A text area has the same field.
            spot.get().map(|field| field.unchecked_into::<HtmlInputElement>().value()).unwrap_or_default()
        };
        let (id, episode) = (one.id.clone(), one.episode);
        let save = move || {
            let tags =
                entered(tags).split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
            self.act(Recall::Edit { id: id.clone(), episode, text: entered(text).trim().to_owned(), tags });
        };
        let key = move |event: Event| {
            // Escape ends the editing, not the dialog.
            if event.unchecked_ref::<KeyboardEvent>().key() == "Escape" {
                event.prevent_default();
                self.doing.set(None);
            }
        };
        self.edited.set_value(Some(one.clone()));
        markup!(
            r#"
            <li class="memory editing" onkeydown={}>
                <p class="overtaken" role="status" dir="auto" data-testid="memory-overtaken" hidden></p>
                <label><span class="for-readers">What it says</span><textarea rows="3" dir="auto" data-testid="memory-text" ref={}>{}</textarea></label>
                <label class="tags-field"><span>Tags</span><input value={} data-testid="memory-tags" ref={}/></label>
                <p class="memory-acts">
                    <button type="button" class="small" onclick={}>Cancel</button>
                    <button type="button" class="small primary" data-testid="memory-save" onclick={}>Save</button>
                </p>
            </li>"#,
            on(key),
            text,
            one.text.clone(),
            one.tags.join(", "),
            tags,
            click(move || self.doing.set(None)),
            click(save),
        )
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

/// The panel, at one record where its id is given.
pub fn panel(page: Page, at: Option<String>) -> Node {
    let panel = Panel {
        page,
        all: RwSignal::new(None),
        failed: RwSignal::new(None),
        doing: RwSignal::new(None),
        here: RwSignal::new(false),
        edited: StoredValue::new(None),
    };
    let at = StoredValue::new(at);
    follow(move || {
        if panel.all.with(Option::is_some)
            && let Some(id) = at.try_update_value(Option::take).flatten()
        {
            soon(move || sought(&id));
        }
    });
    // Whatever changes it: this dialog, a compaction, another tab.
    follow(move || {
        page.memories.track();
        panel.read();
    });
    let field = Spot::new();
    let remember = move || {
        let Some(field) = field.get() else { return };
        let field: HtmlInputElement = field.unchecked_into();
        let text = field.value().trim().to_owned();
        if !text.is_empty() {
            field.set_value("");
            panel.act(Recall::Remember(text));
        }
    };
    let key = move |event: Event| {
        if event.unchecked_ref::<KeyboardEvent>().key() == "Enter" {
            remember();
        }
    };
    let only_here = page.nav.now().transcript.is_some().then(|| {
        markup!(
            r#"
            <button type="button" class="chip" data-testid="memory-here" aria-pressed={} onclick={}>Only from this thread</button>"#,
            live(move || panel.here.get().to_string()),
            click(move || panel.here.update(|here| *here = !*here)),
        )
    });
    let section = move |title: &'static str, episodes: bool| {
        markup!(
            r#"<section hidden={}><h3>{}</h3><ul class="memories">{}</ul></section>"#,
            live(move || panel.shown(episodes).is_empty()),
            title,
            panel.records(episodes),
        )
    };
    let note = |note: &Option<&'static str>| {
        Some(markup!(r#"<p class="faint" role="status" data-testid="memory-note">{}</p>"#, (*note)?))
    };
    markup!(
        r#"
        <div class="memory-panel" data-testid="memory-panel">
            <div class="remember">
                <label><span class="for-readers">A fact to remember</span><input placeholder="Write down a fact to remember" dir="auto" data-testid="remember" ref={} onkeydown={}/></label>
                <button type="button" data-testid="remember-add" onclick={}>Remember</button>
            </div>
            <div class="chips">{}</div>
            {}{}{}
        </div>"#,
        field,
        on(key),
        click(remember),
        only_here,
        draw(move || panel.note(), note),
        section("Facts", false),
        section("Episodes", true),
    )
}
