//! What the page says while no thread is open: how to begin, or how to go on.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File, Response};

use super::imports::PickFiles;
use super::signs::Sign;
use super::state::{Dialog, Page};
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

/// A button that imports the conversation that comes with the page.
#[component]
pub fn SampleButton() -> impl IntoView {
    let page = Page::of_context();
    let load = move |_| {
        spawn_local(async move {
            match sample().await {
                Some(file) => page.import(vec![(file, String::new())]),
                None => page.notices.say("The sample could not be loaded", "Check the connection, then try again."),
            }
        });
    };
    view! {
        <button type="button" data-testid="sample" on:click=load>
            "Load the sample conversation"
        </button>
    }
}

/// How to get an archive, in steps.
#[component]
pub fn HowTo() -> impl IntoView {
    view! {
        <div class="how">
            <section>
                <h3>"ChatGPT"</h3>
                <ol>
                    <li>"Settings → Data controls → Export data."</li>
                    <li>"A link to a zip file comes by mail within a day or so."</li>
                    <li>"Drop the zip here as it is, or conversations.json from it."</li>
                </ol>
            </section>
            <section>
                <h3>"Claude"</h3>
                <ol>
                    <li>"Settings → Privacy → Export data."</li>
                    <li>"A link to a zip file comes by mail."</li>
                    <li>"Drop the zip here as it is, or conversations.json from it."</li>
                </ol>
            </section>
            <section>
                <h3>"Others"</h3>
                <ul>
                    <li>"Claude Code: the .jsonl files in ~/.claude/projects."</li>
                    <li>"OpenAI messages: a .jsonl file, one {\"messages\": […]} a line."</li>
                    <li>"Threadkeep's own export: restores everything as it was."</li>
                </ul>
            </section>
        </div>
    }
}

/// The thread pane while no thread is open.
#[component]
pub fn Welcome() -> impl IntoView {
    let page = Page::of_context();
    let none = Memo::new(move |_| page.threads.all.with(|all| all.as_ref().map(|all| all.is_empty())));
    move || {
        let Some(none) = none.get() else { return ().into_any() };
        if none {
            view! { <Empty /> }.into_any()
        } else {
            view! {
                <div class="message-page choose">
                    <h2>"Choose a thread"</h2>
                    <p>
                        "Arrow keys and " <kbd>"Enter"</kbd> " open one from the list. In a thread, " <kbd>"["</kbd> " and "
                        <kbd>"]"</kbd> " turn from branch to branch."
                    </p>
                    <p>
                        <button type="button" class="quiet" on:click=move |_| page.dialog.set(Some(Dialog::Keys))>
                            <Sign name="keys" />
                            <span>"All keys"</span>
                        </button>
                        <button type="button" class="quiet" on:click=move |_| page.dialog.set(Some(Dialog::Help))>
                            <Sign name="import" />
                            <span>"How to get an export"</span>
                        </button>
                    </p>
                </div>
            }
                .into_any()
        }
    }
}

#[component]
fn Empty() -> impl IntoView {
    let page = Page::of_context();
    let lost = move || {
        page.threads
            .lost
            .get()
            .map(|was| {
                let words = format!(
                    "At your last visit there were {} with {} here. Now the database is empty: the browser removed it, or its data was cleared. Import your last export to get them back.",
                    format::plural(was.transcripts.into(), "thread"),
                    format::plural(was.messages, "message"),
                );
                view! {
                    <div class="loss" role="alert" data-testid="loss">
                        <p>
                            <Sign name="warning" />
                            <strong>"Your threads are gone from this browser"</strong>
                        </p>
                        <p>{words}</p>
                        <button type="button" on:click=move |_| page.threads.accept_loss()>
                            "I know"
                        </button>
                    </div>
                }
            })
    };
    view! {
        <div class="message-page empty" data-testid="empty">
            {lost}
            <h2>"Read your conversations as trees"</h2>
            <p class="lead">
                "Drop an export of ChatGPT or Claude anywhere on this page: the zip as it came, a file from it, or a folder. Every branch you ever took comes along."
            </p>
            <div class="drop-here">
                <Sign name="import" />
                <p>"Drop files here"</p>
                <div class="choices">
                    <PickFiles />
                </div>
                <p class="or">"No export at hand? " <SampleButton /></p>
            </div>
            <h3 class="how-title">"How to get an export"</h3>
            <HowTo />
            <p class="privacy">
                <Sign name="lock" />
                "Nothing leaves this machine: your threads are read, kept and shown by this browser alone."
            </p>
        </div>
    }
}
