//! Epochs: a slider over the checkpoints of the open branch, and for each the prompt before it, the prompt after it, and what
//! became of every message between the two. Both prompts are the engine's own, as the context inspector is set.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::epochs::{Fate, Held, Step, StepLine};
use threadkeep_core::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, Node};

use super::dom::{self, Build as _};
use super::inspector;
use super::state::Page;
use super::view::{click, draw, follow, live, markup, on, rows, soon};
use crate::epochs::{Stretch, made_by, shared, stretches, tokens};
use crate::format::{count, plural};
use crate::pieces::role_label;
use crate::route::Route;
use crate::wire::{Ask, Card, Epoch, Inspect, Question, Recall, Reply, Said};
use crate::words;

/// A stretch of so many lines is open from the beginning.
const FEW: usize = 4;
/// How many lines of a stretch are shown at once.
const MANY: usize = 100;

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
    /// Reads the epochs, and shows that of a checkpoint, or the last.
    fn read(self, leaf: MessageId, checkpoint: Option<String>) {
        spawn_local(async move {
            let inspector = self.page.inspector;
            inspector.ready().await;
            let epochs = self.page.engine.ask(Ask::Recall(Box::new(Recall::Epochs(leaf.clone())))).await;
            // The dialog may be closed by now.
            drop(self.question.try_set_value(inspector.question_about(leaf)));
            match epochs {
                Ok(Reply::Epochs(epochs)) => {
                    // Who has closed the dialog meanwhile needs no answer, here and below.
                    if self.at.try_get_untracked().is_none() {
                        return;
                    }
                    let wanted = checkpoint.and_then(|id| {
                        epochs.iter().position(|epoch| epoch.card.as_ref().is_some_and(|card| card.id == id))
                    });
                    self.at.set(wanted.unwrap_or(epochs.len().saturating_sub(1)));
                    self.epochs.set(Some(Arc::new(epochs)));
                    self.ask();
                }
                Ok(_) => {}
                Err(error) => drop(self.shown.try_set(Shown::Failed(words::words(&error).title))),
            }
        });
    }

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

    /// Asks for what is chosen now. One question at a time: what is chosen meanwhile is asked when the answer has come.
    fn ask(self) {
        if self.busy.get_value() {
            return self.again.set_value(true);
        }
        self.busy.set_value(true);
        spawn_local(async move {
            loop {
                let (Some(at), Some(view)) = (self.at.try_get_untracked(), self.view.try_get_untracked()) else {
                    return;
                };
                let shown = self.answer(at, view).await;
                if self.at.try_get_untracked().is_none() {
                    return;
                }
                if self.again.get_value() {
                    self.again.set_value(false);
                    continue;
                }
                self.shown.set(shown);
                return self.busy.set_value(false);
            }
        });
    }

    async fn answer(self, at: usize, view: View) -> Shown {
        // What is asked is taken now: who closes the dialog meanwhile takes it away.
        let question = self.question.with_value(|(question, _)| question.clone());
        let payload = (view != View::Difference).then(|| self.payload_question(at, view));
        let step = match self.step.get_untracked().filter(|(known, _)| *known == at) {
            Some((_, step)) => step,
            None => {
                let ask = Ask::Recall(Box::new(Recall::Step { question: Box::new(question), place: at as u32 }));
                match self.page.engine.ask(ask).await {
                    Ok(Reply::Step(step)) => Arc::new(*step),
                    Ok(_) => return Shown::Reading,
                    Err(error) => return Shown::Failed(words::words(&error).title),
                }
            }
        };
        drop(self.step.try_set(Some((at, Arc::clone(&step)))));
        let Some(question) = payload else { return Shown::Step(at, step) };
        match self.payload(Question { leaf: step.leaf.clone(), ..question }).await {
            Ok((text, warnings)) => {
                let (text, size) = inspector::readable(&text);
                Shown::Payload(text, size, warnings)
            }
            Err(failed) => Shown::Failed(failed),
        }
    }

    /// The question for the payload of one side of a step.
    fn payload_question(self, at: usize, view: View) -> Question {
        let place = if view == View::Before { at.saturating_sub(1) } else { at };
        let card = self.epochs.with_untracked(|epochs| epochs.as_ref()?.get(place)?.card.clone());
        let epoch = Some(card.map_or_else(|| "original".to_owned(), |card| card.id));
        Question { epoch, ..self.question.with_value(|(question, _)| question.clone()) }
    }

    /// The payload, as it would be sent.
    async fn payload(self, question: Question) -> Result<(String, Vec<String>), String> {
        match self.page.engine.ask(Ask::Inspect(Inspect::Payload(Box::new(question)))).await {
            Ok(Reply::Payload(payload)) => Ok((payload.text, payload.warnings)),
            Ok(_) => Err(String::new()),
            Err(error) => Err(words::words(&error).title),
        }
    }

    fn copy(self) {
        let (Some((at, step)), view) = (self.step.get_untracked(), self.view.get_untracked()) else { return };
        let notices = self.page.notices;
        let question = Question { leaf: step.leaf.clone(), ..self.payload_question(at, view) };
        spawn_local(async move {
            match self.payload(question).await {
                Ok((text, _)) if dom::copy(&text).await => notices.say("Copied", "The prompt, as JSON."),
                Ok(_) => notices.say("Nothing was copied", "The browser does not let this page use the clipboard."),
                Err(failed) => notices.say("Nothing was copied", &failed),
            }
        });
    }

    /// Shows a message in the thread.
    fn show(self, node: MessageId) {
        let route = Route { at: Some(node), ..self.page.nav.now() };
        self.page.dialog.set(None);
        self.page.nav.go(route);
    }

    /// The slider's place in words.
    fn place(self) -> String {
        let at = self.at.get();
        let of = format!("Epoch {} of {}", at + 1, self.last() + 1);
        match self.epoch(at).and_then(|epoch| epoch.card) {
            Some(card) => format!("{of}: checkpoint of {}", dom::exact(card.created_at)),
            None => format!("{of}: the original, without a checkpoint"),
        }
    }

    fn slider(self) -> Node {
        let moved = move |event: Event| {
            if let Ok(at) = dom::entered(&event).parse() {
                self.go(at);
            }
        };
        let step = move |forward: bool| {
            let at = self.at.get_untracked();
            self.go(if forward { (at + 1).min(untrack(|| self.last())) } else { at.saturating_sub(1) });
        };
        let stops = (0..=untrack(|| self.last())).map(|at| markup!("<option value={}></option>", at.to_string()));
        markup!(
            r#"
            <div class="scrub">
                <button type="button" class="icon" title="Earlier epoch" aria-label="Earlier epoch" data-testid="epoch-earlier" disabled={} onclick={}>
                    <svg sign="left"/>
                </button>
                <input type="range" list="epoch-stops" aria-label="Epoch" aria-describedby="epoch-place" data-testid="epoch-slider" min="0" max={} step="1" value={} aria-valuetext={} oninput={}/>
                <datalist id="epoch-stops">{}</datalist>
                <button type="button" class="icon" title="Later epoch" aria-label="Later epoch" data-testid="epoch-later" disabled={} onclick={}>
                    <svg sign="right"/>
                </button>
            </div>"#,
            live(move || self.at.get() == 0),
            click(move || step(false)),
            untrack(|| self.last()).to_string(),
            untrack(|| self.at.get()).to_string(),
            live(move || self.place()),
            on(moved),
            stops.collect::<Vec<Node>>(),
            live(move || self.at.get() == self.last()),
            click(move || step(true)),
        )
    }

    /// The buttons step past the slider, which must follow.
    fn follow_slider(self) {
        follow(move || {
            let at = self.at.get().to_string();
            if let Some(slider) = dom::find("[data-testid=epoch-slider]") {
                let slider: HtmlInputElement = slider.unchecked_into();
                if slider.value() != at {
                    slider.set_value(&at);
                }
            }
        });
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

    fn difference(self, at: usize, step: &Step) -> Node {
        let card = |at: Option<usize>| untrack(|| self.epoch(at?)).and_then(|epoch| epoch.card);
        let (old, new) = (card(at.checked_sub(1)), card(Some(at)));
        let first = step.before.is_none();
        let stretch = |one: &Stretch| {
            if one.is_summary() {
                let (mine, other) = if one.fate == Fate::Left { (&old, &new) } else { (&new, &old) };
                summary(one, mine.as_ref(), other.as_ref())
            } else {
                self.stretch(one, first)
            }
        };
        let absent = (step.absent > 0).then(|| {
            let what = plural(step.absent.into(), "message");
            let verb = if step.absent == 1 { "is" } else { "are" };
            let words = if first { "not in the prompt" } else { "in neither prompt" };
            markup!(
                r#"<li class="stretch absent" data-testid="epoch-absent">{}</li>"#,
                format!("{what} {verb} {words}")
            )
        });
        markup!(
            r#"<ol class="difference" data-testid="epoch-lines">{}{}</ol>"#,
            absent,
            stretches(&step.lines).iter().map(stretch).collect::<Vec<Node>>(),
        )
    }

    /// Messages that left, came in, or stayed.
    fn stretch(self, one: &Stretch, first: bool) -> Node {
        let many = one.lines.len() as u64;
        let (sign, id, verb) = match one.fate {
            Fate::Left => ("−", "epoch-left", "left"),
            Fate::Came => ("+", "epoch-came", "came in"),
            Fate::Stayed if first => {
                ("", "epoch-stayed", if many == 1 { "is in the prompt" } else { "are in the prompt" })
            }
            Fate::Stayed => ("", "epoch-stayed", "stayed"),
        };
        let class = match one.fate {
            Fate::Left => "stretch left",
            Fate::Came => "stretch came",
            Fate::Stayed => "stretch stayed",
        };
        // Those that are not shown at once are made when they are asked for.
        let lines: Arc<[StepLine]> = one.lines.into();
        let until = RwSignal::new(MANY.min(lines.len()));
        let all = lines.len();
        let shown = rows(move |row| {
            for line in &lines[..until.get()] {
                row(line.place.to_string(), &mut || self.line(line));
            }
        });
        let more = move || {
            let left = all - until.get();
            (left > 0).then(|| format!("Show {} more", count(left.min(MANY) as u64)))
        };
        let further = move |words: &Option<String>| {
            Some(markup!(
                r#"<button type="button" class="quiet small" data-testid="epoch-more" onclick={}>{}</button>"#,
                click(move || until.update(|until| *until = (*until + MANY).min(all))),
                words.clone()?,
            ))
        };
        markup!(
            r#"
            <li class={} data-testid={} data-count={} data-tokens={}>
                <details open={}>
                    <summary><b aria-hidden="true">{}</b><span>{}</span><span class="stretch-tokens">{}</span></summary>
                    <ul>{}</ul>
                    {}
                </details>
            </li>"#,
            class,
            id,
            many.to_string(),
            one.tokens.to_string(),
            one.lines.len() <= FEW,
            sign,
            format!("{} {verb}", plural(many, "message")),
            plural(one.tokens, "token"),
            shown,
            draw(more, further),
        )
    }

    fn line(self, line: &StepLine) -> Node {
        let cost = if line.fate == Fate::Left { line.before } else { line.after };
        let words = if line.words.is_empty() { "(no text)".to_owned() } else { line.words.clone() };
        let who = role_label(&line.role).to_owned();
        let node = line.node.clone();
        let go = move || {
            if let Some(node) = &node {
                self.show(node.clone());
            }
        };
        markup!(
            r#"
            <li>
                <button type="button" class="statement" title="Show it in the thread" data-testid="epoch-line" onclick={}>
                    <span class="excerpt" dir="auto"><b>{}</b> {}</span>
                </button>
                <span class="stretch-tokens">{}</span>
            </li>"#,
            click(go),
            who,
            words,
            count(cost.into()),
        )
    }
}

/// A summary that came in, or left because another one takes its place. Statements that the other one has too are marked.
fn summary(one: &Stretch, mine: Option<&Card>, other: Option<&Card>) -> Node {
    let none: &[Said] = &[];
    let statements = mine.map_or(none, |card| &card.statements);
    let both = shared(statements, other.map_or(none, |card| &card.statements));
    let came = one.fate == Fate::Came;
    let kept = both.iter().filter(|both| **both).count();
    let facts = match (came, other.is_some()) {
        (true, false) => String::new(),
        (true, true) => {
            format!("{} from the summary before, {} new", count(kept as u64), count((both.len() - kept) as u64))
        }
        (false, _) => {
            format!("{} of {} are in the new one", count(kept as u64), plural(both.len() as u64, "statement"))
        }
    };
    let statement = |(said, both): (&Said, &bool)| {
        let mark = if *both { Some("both") } else { None };
        markup!(r#"<li dir="auto" class={}>{}</li>"#, mark.unwrap_or_default(), said.text.clone())
    };
    let said: Vec<Node> = statements.iter().zip(&both).map(statement).collect();
    markup!(
        r#"
        <li class={} data-testid={} data-tokens={}>
            <details open={}>
                <summary><b aria-hidden="true">{}</b><span>{}</span><span class="stretch-facts">{}</span><span class="stretch-tokens">{}</span></summary>
                <ol class="statements">{}</ol>
            </details>
        </li>"#,
        if came { "stretch came summary" } else { "stretch left summary" },
        if came { "epoch-summary" } else { "epoch-old-summary" },
        one.tokens.to_string(),
        came,
        if came { "+" } else { "−" },
        if came { "The summary came in" } else { "The summary before left" },
        facts,
        plural(one.tokens, "token"),
        said,
    )
}

/// The figures of both prompts, and a bar for each on one scale.
fn figures(step: &Step) -> Node {
    let (left, came, stayed) =
        (tokens(&step.lines, Fate::Left), tokens(&step.lines, Fate::Came), tokens(&step.lines, Fate::Stayed));
    let stayed_before: u64 =
        step.lines.iter().filter(|line| line.fate == Fate::Stayed).map(|line| u64::from(line.before)).sum();
    let whole = step.before.map_or(0, |held| held.tokens).max(step.after.tokens).max(1);
    let side = |id: &'static str, title: &'static str, held: Held, parts: [(&str, u64); 3]| {
        let bar = parts.iter().map(|(class, tokens)| {
            let part = dom::el("i").class(class);
            dom::style(&part, "flex-grow", &tokens.to_string());
            part.into()
        });
        markup!(
            r#"
            <div class="side">
                <p><span>{}</span> <strong data-testid={}>{}</strong> <span class="faint">{}</span></p>
                <div class="bar" aria-hidden="true">{}</div>
            </div>"#,
            title,
            id,
            plural(held.tokens, "token"),
            plural(held.messages.into(), "message"),
            bar.collect::<Vec<Node>>(),
        )
    };
    let before = step.before.map(|held| {
        let parts = [("stays", stayed_before), ("leaves", left), ("free", whole.saturating_sub(stayed_before + left))];
        side("epoch-tokens-before", "Before", held, parts)
    });
    let parts = [("comes", came), ("stays", stayed), ("free", whole.saturating_sub(stayed + came))];
    let title = if step.before.is_some() { "After" } else { "Prompt" };
    markup!(
        r#"<div class="epoch-figures" data-testid="epoch-figures">{}{}</div>"#,
        before,
        side("epoch-tokens-after", title, step.after, parts),
    )
}

/// What is known of the checkpoint: when it was made and how, and what it covers.
fn facts(epoch: &Epoch) -> Node {
    let words = match &epoch.card {
        Some(card) => format!(
            "{}. It covers the first {}; its prompts have what follows as it is.",
            made_by(card),
            plural(card.messages.into(), "message")
        ),
        None => format!("All {} as they are.", plural(epoch.end.into(), "message")),
    };
    markup!(r#"<p class="faint" data-testid="epoch-facts">{}</p>"#, words)
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
