//! What the page says while no thread is open: how to begin, or how to go on.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File, Response};

use super::basics::Sign;
use super::dom;
use super::state::{Dialog, Page};
use crate::beside::Side;
use crate::connections::Connection;
use crate::format;
use crate::sentinel::Sentinel;

/// Fetches the conversation that comes with the page, as the file that it is.
async fn sample() -> Option<File> {
    let answer = JsFuture::from(window().fetch_with_str("./sample.json")).await.ok()?;
    let answer: Response = answer.dyn_into().ok()?;
    if !answer.ok() {
        return None;
    }
    let blob: Blob = JsFuture::from(answer.blob().ok()?).await.ok()?.dyn_into().ok()?;
    File::new_with_blob_sequence(&js_sys::Array::of1(&blob), "sample.json").ok()
}

/// Loads the sample, with the context inspector beside it and, where no model is connected, the offline demo to talk to.
fn try_sample(page: Page) {
    if page.connections.book.with_untracked(|book| book.in_use().is_none()) {
        page.connections.choose(Connection::demo());
    }
    page.sides.show(Side::Context);
    spawn_local(async move {
        match sample().await {
            Some(file) => {
                page.import(vec![(file, String::new())]);
                page.notices.say(
                    "This is a sample",
                    "Drag the budget: messages that would not be sent turn pale. Say something, then “Requests” shows what was sent.",
                );
            }
            None => page.notices.say("The sample could not be loaded", "Check the connection, then try again."),
        }
    });
}

/// A way to get an archive: steps, or places to look at.
fn way(title: &'static str, steps: bool, lines: &[&'static str]) -> impl IntoView + use<> {
    let lines = lines.iter().map(|line| view! { <li>{*line}</li> }).collect_view();
    let list = if steps { view! { <ol>{lines}</ol> }.into_any() } else { view! { <ul>{lines}</ul> }.into_any() };
    view! {
        <section>
            <h3>{title}</h3>
            {list}
        </section>
    }
}

/// How to get an archive, in steps.
#[component]
pub fn HowTo() -> impl IntoView {
    let last = "Drop the zip here as it is, or conversations.json from it.";
    let chatgpt =
        ["Settings → Data controls → Export data.", "A link to a zip file comes by mail within a day or so.", last];
    let claude = ["Settings → Privacy → Export data.", "A link to a zip file comes by mail.", last];
    let agents = [
        "Claude Code: the folder ~/.claude/projects.",
        "Codex: the folder ~/.codex/sessions.",
        "Gemini CLI: the folder ~/.gemini/tmp.",
        "pi: the folder ~/.pi/agent/sessions.",
    ];
    let others = [
        "Gemini: Google Takeout, My Activity, Gemini Apps, as JSON.",
        "AI Studio: the prompts in its folder of Google Drive.",
        "LibreChat, Open WebUI, SillyTavern, Chatbot UI: their own exports.",
        "OpenAI messages: a .jsonl file, one {\"messages\": […]} a line.",
        "Threadkeep's own export: restores everything as it was.",
    ];
    view! {
        <div class="how">
            {way("ChatGPT", true, &chatgpt)}
            {way("Claude", true, &claude)}
            {way("Coding agents", false, &agents)}
            {way("Others", false, &others)}
        </div>
    }
}

/// A button with a sign and words.
#[component]
fn Press(
    #[prop(optional)] class: Option<&'static str>,
    #[prop(optional)] testid: Option<&'static str>,
    sign: &'static str,
    words: &'static str,
    act: Callback<()>,
) -> impl IntoView {
    view! {
        <button type="button" class=class data-testid=testid on:click=move |_| act.run(())>
            <Sign name=sign/>
            <span>{words}</span>
        </button>
    }
}

/// The thread pane while no thread is open.
#[component]
pub fn Welcome(page: Page) -> impl IntoView {
    let none = Memo::new(move |_| page.threads.all.with(|all| all.as_ref().map(|all| all.is_empty())));
    move || {
        none.get().map(
            |none| {
                if none { view! { <Empty page/> }.into_any() } else { view! { <Choose page/> }.into_any() }
            },
        )
    }
}

/// What is said beside a list of threads.
#[component]
fn Choose(page: Page) -> impl IntoView {
    let open = move |dialog: fn() -> Dialog| Callback::new(move |()| page.dialog.set(Some(dialog())));
    view! {
        <div class="message-page choose">
            <h2>"Choose a thread"</h2>
            <p>
                "Arrow keys and " <kbd>"Enter"</kbd> " open one from the list. In a thread, " <kbd>"["</kbd> " and " <kbd>"]"</kbd>
                " turn from branch to branch."
            </p>
            <p>
                <Press class="quiet" sign="keys" words="All keys" act=open(|| Dialog::Keys)/>
                <Press class="quiet" sign="import" words="How to get an export" act=open(|| Dialog::Help)/>
            </p>
        </div>
    }
}

/// What was lost since the last visit.
#[component]
fn Loss(page: Page) -> impl IntoView {
    let lost = Memo::new(move |_| page.threads.lost.get());
    let loss = move |was: Sentinel| {
        let threads = format::plural(was.transcripts.into(), "thread");
        let messages = format::plural(was.messages, "message");
        view! {
            <div class="loss" role="alert" data-testid="loss">
                <p>
                    <Sign name="warning"/>
                    <strong>"Your threads are gone from this browser"</strong>
                </p>
                <p>
                    {format!("At your last visit there were {threads} with {messages} here. Now the database is empty: the browser removed it, or its data was cleared. Import your last export to get them back.")}
                </p>
                <button type="button" on:click=move |_| page.threads.accept_loss()>"I know"</button>
            </div>
        }
    };
    move || lost.get().map(loss)
}

/// Presses one of the inputs in the left pane.
fn pick(selector: &'static str) -> Callback<()> {
    Callback::new(move |()| {
        if let Some(input) = dom::find(selector) {
            input.click();
        }
    })
}

/// What is said while there are no threads.
#[component]
fn Empty(page: Page) -> impl IntoView {
    view! {
        <div class="message-page empty" data-testid="empty">
            <Loss page/>
            <h2>"Your conversations, and what a model gets of them"</h2>
            <p class="lead">
                "Threadkeep keeps conversations with all their branches in this browser, and shows for each message whether it is sent to a model, and why."
            </p>
            <div class="begin">
                <div class="drop-here">
                    <Sign name="import"/>
                    <p>"Drop an export here"</p>
                    <p class="faint">"Of ChatGPT, Claude and others: the zip as it came, a file, or a folder."</p>
                    <div class="choices">
                        <Press class="primary" sign="import" words="Choose files" act=pick("[data-testid=drop-input]")/>
                        <Press sign="folder" words="Choose a folder" act=pick("[data-testid=folder-input]")/>
                    </div>
                </div>
                <div class="drop-here try">
                    <Sign name="gauge"/>
                    <p>"No export at hand?"</p>
                    <p class="faint">"A sample conversation with a budget to drag, and a demo that answers without a network."</p>
                    <div class="choices">
                        <Press testid="sample" sign="play" words="Try the sample" act=Callback::new(move |()| try_sample(page))/>
                    </div>
                </div>
            </div>
            <details class="how-to">
                <summary>"How to get an export"</summary>
                <HowTo/>
            </details>
            <p class="privacy">
                <Sign name="lock"/>
                "Nothing leaves this machine but what you send to a model that you connect, and what you sync, encrypted: your threads are read, kept and shown by this browser alone."
            </p>
        </div>
    }
}
