//! Sync with other devices: where, with which passphrase, how far it is, and what came of it. Nothing in, a dialog's body out.

use js_sys::{Function, Object, Promise, Reflect};
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::{Deserialize, Serialize};
use threadkeep::protocol::{ErrorReply, Skipped};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::basics::{Time, choices};
use super::dom;
use super::state::Page;
use crate::format;
use crate::words::words;

/// The key under which it stands where the reader syncs. Neither the passphrase nor the password is kept.
const KEPT: &str = "threadkeep.sync";

/// How the address of a WebDAV server looks.
const EXAMPLE: &str = "https://cloud.example.org/remote.php/dav/files/ann/threads/";

/// Where the reader syncs, as it is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    /// Whether with a WebDAV server.
    server: bool,
    url: String,
    user: String,
    /// What the reader calls this device.
    device: String,
    /// When the last sync ended, in milliseconds since 1970.
    last: Option<i64>,
}

impl Kept {
    fn read() -> Self {
        dom::remembered(KEPT).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn write(&self) {
        dom::remember(KEPT, &serde_json::to_string(self).unwrap_or_default());
    }
}

/// What the script answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Told {
    Report(Report),
    Error(ErrorReply),
}

#[derive(Debug, Clone, Deserialize)]
struct Device {
    id: String,
    name: String,
    at: f64,
}

#[derive(Debug, Clone, Deserialize)]
struct Apart {
    thread: String,
    other: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Traffic {
    bytes: f64,
}

/// What a sync did.
#[derive(Debug, Clone, Deserialize)]
struct Report {
    others: Vec<Device>,
    messages: u64,
    deleted: u64,
    apart: Vec<Apart>,
    sent: Traffic,
    received: Traffic,
    skipped: Vec<Skipped>,
}

impl Report {
    fn line(&self) -> String {
        let came = format!("{} came in", format::plural(self.messages, "message"));
        let gone = match self.deleted {
            0 => String::new(),
            count => format!(", {} went to the bin", format::plural(count, "message")),
        };
        let bytes = |traffic: &Traffic| format::bytes(traffic.bytes as u64);
        format!("{came}{gone}. {} read, {} written.", bytes(&self.received), bytes(&self.sent))
    }
}

/// The dialog's fields and what it shows: a handle.
#[derive(Clone, Copy)]
struct Form {
    page: Page,
    server: RwSignal<bool>,
    folder: StoredValue<Option<JsValue>, LocalStorage>,
    folder_name: RwSignal<String>,
    url: NodeRef<html::Input>,
    user: NodeRef<html::Input>,
    password: NodeRef<html::Input>,
    passphrase: NodeRef<html::Input>,
    device: NodeRef<html::Input>,
    busy: RwSignal<bool>,
    last: RwSignal<Option<i64>>,
    outcome: RwSignal<Option<Result<Report, String>>>,
}

fn value(field: NodeRef<html::Input>) -> String {
    field.get_untracked().map(|field| field.value().trim().to_owned()).unwrap_or_default()
}

/// The browser's dialog for folders, where it has one.
fn picker() -> Option<Function> {
    Reflect::get(&window(), &"showDirectoryPicker".into()).ok()?.dyn_into().ok()
}

impl Form {
    fn new(page: Page, kept: &Kept) -> Self {
        Self {
            page,
            server: RwSignal::new(kept.server || picker().is_none()),
            folder: StoredValue::new_local(None),
            folder_name: RwSignal::new(String::new()),
            url: NodeRef::new(),
            user: NodeRef::new(),
            password: NodeRef::new(),
            passphrase: NodeRef::new(),
            device: NodeRef::new(),
            busy: RwSignal::new(false),
            last: RwSignal::new(kept.last),
            outcome: RwSignal::new(None),
        }
    }

    /// Lets the reader choose a folder.
    fn choose(self) {
        let options = Object::new();
        // Setting a field of a plain object does not fail.
        let _ = Reflect::set(&options, &"mode".into(), &"readwrite".into());
        let asked = picker().and_then(|pick| pick.call1(&window(), &options).ok()?.dyn_into::<Promise>().ok());
        let Some(asked) = asked else { return };
        spawn_local(async move {
            // Refused: there is no folder, as before.
            let Ok(folder) = JsFuture::from(asked).await else { return };
            let name = Reflect::get(&folder, &"name".into()).ok().and_then(|name| name.as_string());
            self.folder.set_value(Some(folder));
            self.folder_name.set(name.unwrap_or_default());
        });
    }

    /// What is missing, in words.
    fn missing(self) -> Option<&'static str> {
        if self.server.get_untracked() {
            if value(self.url).is_empty() {
                return Some("Write the server's address.");
            }
        } else if self.folder.with_value(Option::is_none) {
            return Some("Choose a folder.");
        }
        value(self.passphrase).is_empty().then_some("Write the passphrase that all your devices have.")
    }

    /// Syncs, after the files of `remove` are deleted there.
    fn sync(self, remove: Option<String>) {
        if let Some(missing) = self.missing() {
            return self.outcome.set(Some(Err(missing.to_owned())));
        }
        let server = self.server.get_untracked();
        let mut kept =
            Kept { server, url: value(self.url), user: value(self.user), device: value(self.device), last: None };
        let choice = serde_json::json!({
            "url": kept.url,
            "user": kept.user,
            "password": value(self.password),
            "passphrase": value(self.passphrase),
            "device": if kept.device.is_empty() { "Browser" } else { &kept.device },
            "remove": remove,
        });
        let folder = if server { None } else { self.folder.get_value() };
        self.busy.set(true);
        spawn_local(async move {
            let told = match self.page.engine.sync(choice.to_string(), folder).await {
                Ok(text) => match serde_json::from_str(&text) {
                    Ok(Told::Report(report)) => Ok(report),
                    Ok(Told::Error(error)) => Err(words(&error).line()),
                    Err(_) => Err("The report of the sync cannot be read. Try again.".to_owned()),
                },
                Err(error) => Err(words(&error).line()),
            };
            if told.is_ok() {
                kept.last = Some(dom::now());
                self.last.try_set(kept.last);
            } else {
                kept.last = self.last.try_get_untracked().flatten();
            }
            kept.write();
            self.busy.try_set(false);
            self.outcome.try_set(Some(told));
        });
    }
}

/// The dialog's body.
#[component]
pub fn Sync(page: Page) -> impl IntoView {
    let kept = Kept::read();
    let form = Form::new(page, &kept);
    let places = [("folder", "A folder on this machine"), ("server", "A WebDAV server, such as Nextcloud")];
    let offered = move || places.into_iter().filter(|(name, _)| *name == "server" || picker().is_some());
    let chosen = if form.server.get_untracked() { "server" } else { "folder" };
    let submit = move |event: web_sys::SubmitEvent| {
        event.prevent_default();
        form.sync(None);
    };
    view! {
        <p>
            "The same threads on all your devices. A folder that Dropbox, Syncthing or a USB stick brings to them will do, or a server of yours. All that leaves is encrypted with a passphrase that you choose. Nobody can read it without that, and nobody can recover it."
        </p>
        <form class="sync" on:submit=submit>
            <label class="field-line">
                <span>"With"</span>
                <select
                    data-testid="sync-where"
                    on:change=move |event| form.server.set(event_target_value(&event) == "server")
                >
                    {choices(offered(), chosen)}
                </select>
            </label>
            <Place form kept=kept.clone()/>
            <Field name="Passphrase" kind="password" hint="The same on all devices" testid="sync-passphrase" element=form.passphrase/>
            <Field name="This device" hint="Browser" value=kept.device.clone() testid="sync-device" element=form.device/>
            <div class="choice">
                <button type="submit" class="first" data-testid="sync-now" disabled=move || form.busy.get()>
                    "Sync now"
                </button>
                {move || form.last.get().map(|at| view! { <span class="faint">"Last sync "<Time at/></span> })}
            </div>
        </form>
        <Outcome form/>
    }
}

/// The folder, or the server with a user.
#[component]
fn Place(form: Form, kept: Kept) -> impl IntoView {
    let name = move || match form.folder_name.get() {
        name if name.is_empty() => "Choose a folder…".to_owned(),
        name => ["Folder ", &name].concat(),
    };
    view! {
        <Show
            when=move || form.server.get()
            fallback=move || {
                view! {
                    <div class="field-line">
                        <span>"Folder"</span>
                        <button type="button" data-testid="sync-folder" on:click=move |_| form.choose()>
                            {name}
                        </button>
                    </div>
                }
            }
        >
            <Field name="Address" kind="url" hint=EXAMPLE value=kept.url.clone() testid="sync-url" element=form.url/>
            <Field name="User" value=kept.user.clone() testid="sync-user" element=form.user/>
            <Field name="Password" kind="password" testid="sync-password" element=form.password/>
            <p class="faint">"The server must let this page ask it (CORS). Password and passphrase are not kept."</p>
        </Show>
    }
}

/// A field with its name.
#[component]
fn Field(
    name: &'static str,
    #[prop(default = "text")] kind: &'static str,
    #[prop(optional)] hint: &'static str,
    #[prop(optional)] value: String,
    testid: &'static str,
    element: NodeRef<html::Input>,
) -> impl IntoView {
    // The browser keeps no password here, and proposes no other.
    let autocomplete = if kind == "password" { "off" } else { "on" };
    view! {
        <label class="field-line">
            <span>{name}</span>
            <input
                type=kind
                autocomplete=autocomplete
                placeholder=hint
                value=value
                data-testid=testid
                node_ref=element
            />
        </label>
    }
}

/// How far it is, or what came of it.
#[component]
fn Outcome(form: Form) -> impl IntoView {
    let progress = move || match form.page.engine.syncing.get() {
        Some((step, done, total)) => {
            let what = match step.as_str() {
                "receiving" => "Taking in",
                "sending" => "Sending",
                _ => "Reading",
            };
            format!("{what}: {done} of {}…", format::plural(total.into(), "thread"))
        }
        None => "Asking…".to_owned(),
    };
    move || {
        if form.busy.get() {
            return view! { <p role="status" data-testid="sync-progress">{progress}</p> }.into_any();
        }
        match form.outcome.get() {
            None => ().into_any(),
            Some(Err(why)) => view! { <p role="alert" data-testid="sync-error">{why}</p> }.into_any(),
            Some(Ok(report)) => view! { <Done form report/> }.into_any(),
        }
    }
}

#[component]
fn Done(form: Form, report: Report) -> impl IntoView {
    let apart = |Apart { thread, other }: &Apart| {
        view! { <li>{format!("“{thread}” went on on two devices. The other way is “{other}”.")}</li> }
    };
    let skipped = |Skipped { place, reason, .. }: &Skipped| view! { <li>{format!("{place}: {reason}")}</li> };
    let device = move |Device { id, name, at }: &Device| {
        let (id, label) = (id.clone(), ["Remove ", name].concat());
        view! {
            <li>
                <span>{name.clone()}" "<span class="faint"><Time at=*at as i64/></span></span>
                <button
                    type="button"
                    class="quiet small"
                    aria-label=label
                    title="Delete its files there. Its threads stay on the devices that have them."
                    on:click=move |_| form.sync(Some(id.clone()))
                >
                    "Remove"
                </button>
            </li>
        }
    };
    view! {
        <p role="status" data-testid="sync-done">{report.line()}</p>
        <ul class="sync-told">{report.apart.iter().map(apart).collect_view()} {report.skipped.iter().map(skipped).collect_view()}</ul>
        <h3>"Other devices"</h3>
        {if report.others.is_empty() {
            view! { <p class="faint">"None yet. Open this dialog on another device, with the same place and passphrase."</p> }.into_any()
        } else {
            view! { <ul class="sync-devices" data-testid="sync-devices">{report.others.iter().map(device).collect_view()}</ul> }.into_any()
        }}
    }
}
