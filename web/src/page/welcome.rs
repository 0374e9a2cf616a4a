//! What the page says while no thread is open: how to begin, or how to go on.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File, Node, Response};

use super::dom;
use super::side::Side;
use super::state::{Dialog, Page};
use super::view::{Slot, click, draw, markup};
use crate::connections::Connection;
use crate::format;

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
    if page.side.get_untracked() != Some(Side::Context) {
        page.turn(Side::Context);
    }
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

/// How to get an archive, in steps.
pub fn how_to() -> Node {
    markup!(
        r#"
        <div class="how">
            <section>
                <h3>ChatGPT</h3>
                <ol>
                    <li>Settings → Data controls → Export data.</li>
                    <li>A link to a zip file comes by mail within a day or so.</li>
                    <li>Drop the zip here as it is, or conversations.json from it.</li>
                </ol>
            </section>
            <section>
                <h3>Claude</h3>
                <ol>
                    <li>Settings → Privacy → Export data.</li>
                    <li>A link to a zip file comes by mail.</li>
                    <li>Drop the zip here as it is, or conversations.json from it.</li>
                </ol>
            </section>
            <section>
                <h3>Coding agents</h3>
                <ul>
                    <li>Claude Code: the folder ~/.claude/projects.</li>
                    <li>Codex: the folder ~/.codex/sessions.</li>
                    <li>Gemini CLI: the folder ~/.gemini/tmp.</li>
                    <li>pi: the folder ~/.pi/agent/sessions.</li>
                </ul>
            </section>
            <section>
                <h3>Others</h3>
                <ul>
                    <li>Gemini: Google Takeout, My Activity, Gemini Apps, as JSON.</li>
                    <li>AI Studio: the prompts in its folder of Google Drive.</li>
                    <li>LibreChat, Open WebUI, SillyTavern, Chatbot UI: their own exports.</li>
                    <li>OpenAI messages: a .jsonl file, one {"messages": […]} a line.</li>
                    <li>Threadkeep's own export: restores everything as it was.</li>
                </ul>
            </section>
        </div>"#
    )
}

/// The thread pane while no thread is open.
pub fn welcome(page: Page) -> Node {
    let none = move || page.threads.all.with(|all| all.as_ref().map(|all| all.is_empty()));
    let view = move |none: &Option<bool>| Some(if (*none)? { empty(page) } else { choose(page) });
    markup!("{}", draw(none, view))
}

fn choose(page: Page) -> Node {
    markup!(
        r#"
        <div class="message-page choose">
            <h2>Choose a thread</h2>
            <p>Arrow keys and <kbd>Enter</kbd> open one from the list. In a thread, <kbd>[</kbd> and <kbd>]</kbd> turn from branch to branch.</p>
            <p>
                <button type="button" class="quiet" onclick={}><svg sign="keys"/><span>All keys</span></button>
                <button type="button" class="quiet" onclick={}><svg sign="import"/><span>How to get an export</span></button>
            </p>
        </div>"#,
        click(move || page.dialog.set(Some(Dialog::Keys))),
        click(move || page.dialog.set(Some(Dialog::Help))),
    )
}

/// What was lost since the last visit.
fn loss(page: Page) -> Slot {
    let view = move |was: &Option<crate::sentinel::Sentinel>| {
        let was = was.as_ref()?;
        Some(markup!(
            r#"
            <div class="loss" role="alert" data-testid="loss">
                <p>
                    <svg sign="warning"/>
                    <strong>Your threads are gone from this browser</strong>
                </p>
                <p>
                    At your last visit there were {} with {} here. Now the database is empty: the browser removed it, or its
                    data was cleared. Import your last export to get them back.
                </p>
                <button type="button" onclick={}>I know</button>
            </div>"#,
            format::plural(was.transcripts.into(), "thread"),
            format::plural(was.messages, "message"),
            click(move || page.threads.accept_loss()),
        ))
    };
    draw(move || page.threads.lost.get(), view)
}

fn empty(page: Page) -> Node {
    // The same as pressing the ones in the left pane, which have the inputs.
    let pick = |selector: &'static str| {
        click(move || {
            if let Some(input) = dom::find(selector) {
                input.click();
            }
        })
    };
    markup!(
        r#"
        <div class="message-page empty" data-testid="empty">
            {}
            <h2>Your conversations, and what a model gets of them</h2>
            <p class="lead">
                Threadkeep keeps conversations with all their branches in this browser, and shows for each message whether it is sent
                to a model, and why.
            </p>
            <div class="begin">
                <div class="drop-here">
                    <svg sign="import"/>
                    <p>Drop an export here</p>
                    <p class="faint">Of ChatGPT, Claude and others: the zip as it came, a file, or a folder.</p>
                    <div class="choices">
                        <button type="button" class="primary" onclick={}><svg sign="import"/><span>Choose files</span></button>
                        <button type="button" onclick={}><svg sign="folder"/><span>Choose a folder</span></button>
                    </div>
                </div>
                <div class="drop-here try">
                    <svg sign="gauge"/>
                    <p>No export at hand?</p>
                    <p class="faint">A sample conversation with a budget to drag, and a demo that answers without a network.</p>
                    <div class="choices">
                        <button type="button" data-testid="sample" onclick={}><svg sign="play"/><span>Try the sample</span></button>
                    </div>
                </div>
            </div>
            <details class="how-to">
                <summary>How to get an export</summary>
                {}
            </details>
            <p class="privacy">
                <svg sign="lock"/>
                Nothing leaves this machine but what you send to a model that you connect: your threads are read, kept and shown by
                this browser alone.
            </p>
        </div>"#,
        loss(page),
        pick("[data-testid=drop-input]"),
        pick("[data-testid=folder-input]"),
        click(move || try_sample(page)),
        how_to(),
    )
}
