//! Epochs: a slider over the checkpoints of the open branch, and for each the prompt before it, the prompt after it, and what
//! became of every message between the two. Both prompts are the engine's own, as the context inspector is set.

mod answers;
mod difference;
mod figures;
mod slider;

use std::sync::Arc;

use leptos::prelude::*;
use threadkeep::epochs::Step;
use threadkeep_core::MessageId;
use web_sys::Node;

use self::figures::{facts, figures};
use super::dom;
use super::state::Page;
use super::view::{click, draw, live, markup, soon};
use crate::route::Route;
use crate::wire::{Epoch, Question};

/// Which prompt is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Difference,
    Before,
    After,
}

/// What is shown of the epoch.
#[derive(Debug, Clone, PartialEq)]
enum Shown {
    Reading,
    Failed(String),
    Step(usize, Arc<Step>),
    /// A payload as it is shown, words about its size, and its warnings.
    Payload(String, String, Vec<String>),
}

#[derive(Clone, Copy)]
struct Scrub {
    page: Page,
    /// What is asked about, and what the inspector is set to, in words.
    question: StoredValue<(Question, String)>,
    epochs: RwSignal<Option<Arc<Vec<Epoch>>>>,
    at: RwSignal<usize>,
    view: RwSignal<View>,
    shown: RwSignal<Shown>,
    /// The step of the epoch, once it was read.
    step: RwSignal<Option<(usize, Arc<Step>)>>,
    /// Whether an answer is on its way, and whether something else was asked meanwhile.
    busy: StoredValue<bool>,
    again: StoredValue<bool>,
}

impl Scrub {
    fn epoch(self, at: usize) -> Option<Epoch> {
        self.epochs.with(|epochs| epochs.as_ref()?.get(at).cloned())
    }

    fn last(self) -> usize {
        self.epochs.with(|epochs| epochs.as_ref().map_or(0, |epochs| epochs.len().saturating_sub(1)))
    }

    /// Goes to another epoch.
    fn go(self, at: usize) {
        if at != self.at.get_untracked() {
            self.at.set(at);
            if at == 0 && self.view.get_untracked() == View::Before {
                self.view.set(View::Difference);
            }
            self.ask();
        }
    }

    fn look(self, view: View) {
        self.view.set(view);
        self.ask();
    }

    /// Shows a message in the thread.
    fn show(self, node: MessageId) {
        let route = Route { at: Some(node), ..self.page.nav.now() };
        self.page.dialog.set(None);
        self.page.nav.go(route);
    }

    fn views(self) -> Vec<Node> {
        let one = |(view, id, words): (View, &'static str, &'static str)| {
            markup!(
                r#"<button type="button" class="chip" data-testid={} aria-pressed={} disabled={} onclick={}>{}</button>"#,
                id,
                live(move || (self.view.get() == view).to_string()),
                live(move || view == View::Before && self.at.get() == 0),
                click(move || self.look(view)),
                words,
            )
        };
        [
            (View::Difference, "epoch-difference", "What changed"),
            (View::Before, "epoch-before", "Prompt before"),
            (View::After, "epoch-after", "Prompt after"),
        ]
        .map(one)
        .into()
    }

    fn body(self, shown: &Shown) -> Option<Node> {
        Some(match shown {
            Shown::Reading => {
                markup!(r#"<p class="faint" role="status">Reading the prompts and their token counts…</p>"#)
            }
            Shown::Failed(title) => markup!(r#"<p role="alert" data-testid="epoch-failed">{}</p>"#, title.clone()),
            Shown::Step(at, step) => self.difference(*at, step),
            Shown::Payload(text, size, warnings) => {
                let warning = |warning: &String| markup!("<li>{}</li>", warning.clone());
                markup!(
                    r#"
                    <div class="payload">
                        <ul class="warnings">{}</ul>
                        <pre tabindex="0" role="region" aria-label="The prompt as the provider gets it" data-testid="epoch-payload">{}</pre>
                        <p class="acts-line"><span class="faint">{}</span> <button type="button" class="small" data-testid="epoch-copy" onclick={}><svg sign="copy"/>Copy</button></p>
                    </div>"#,
                    warnings.iter().map(warning).collect::<Vec<Node>>(),
                    text.clone(),
                    size.clone(),
                    click(move || self.copy()),
                )
            }
        })
    }
}

/// The dialog's body for the branch that ends at `leaf`, with the epoch of a checkpoint, or the last.
pub fn dialog(page: Page, leaf: &MessageId, checkpoint: Option<&str>) -> Node {
    let scrub = Scrub {
        page,
        question: StoredValue::new(page.inspector.question_about(leaf.clone())),
        epochs: RwSignal::new(None),
        at: RwSignal::new(0),
        view: RwSignal::new(View::Difference),
        shown: RwSignal::new(Shown::Reading),
        step: RwSignal::new(None),
        busy: StoredValue::new(false),
        again: StoredValue::new(false),
    };
    scrub.read(leaf.clone(), checkpoint.map(str::to_owned));
    let some = move || scrub.epochs.with(|epochs| epochs.as_ref().map(|epochs| epochs.len()));
    let slider = move |some: &Option<usize>| match (*some)? {
        0 | 1 => Some(markup!(
            r#"<p data-testid="epoch-none">This branch has one epoch: nothing of it is compacted, so its prompts have every message as it is. Once it is compacted, this is where the prompts before and after are held against each other.</p>"#
        )),
        _ => {
            scrub.follow_slider();
            // It comes later than the dialog, which has given the focus to its first button.
            soon(|| dom::focus("[data-testid=epoch-slider]"));
            Some(scrub.slider())
        }
    };
    let head = |epoch: &Option<Epoch>| Some(facts(epoch.as_ref()?));
    let step = move || scrub.step.get().filter(|(at, _)| *at == scrub.at.get()).map(|(_, step)| step);
    markup!(
        r#"
        <div class="epochs" data-testid="epochs">
            {}
            <p class="epoch-place" id="epoch-place" data-testid="epoch-place" hidden={}>{}</p>
            {}{}
            <div class="chips" role="group" aria-label="What to look at">{}</div>
            <div class="epoch-body">{}</div>
            <p class="faint">As the context inspector is set: {}.</p>
        </div>"#,
        draw(some, slider),
        live(move || scrub.epochs.with(Option::is_none)),
        live(move || scrub.place()),
        draw(move || scrub.epoch(scrub.at.get()), head),
        draw(step, |step| Some(figures(step.as_ref()?))),
        scrub.views(),
        draw(move || scrub.shown.get(), move |shown| scrub.body(shown)),
        live(move || {
            scrub.epochs.track();
            scrub.question.with_value(|(_, words)| words.clone())
        }),
    )
}
