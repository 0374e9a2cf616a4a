//! What the dialog says: what the button does, and how far it is.

use leptos::prelude::*;

use super::asking::{Asking, Known};
use crate::format;
use crate::page::basics::drawn;

impl Asking {
    /// What the button does: what it sends and where, what it loads.
    pub(super) fn deed(self) -> String {
        let sends = self.known.with(|known| match known {
            Known::Preview(done) => done.sends,
            _ => None,
        });
        match (sends, self.model.get()) {
            (Some(sends), Some((name, host))) => {
                let tokens = format::plural(sends.tokens, "token");
                let requests =
                    if sends.requests > 1 { format!(" in {} requests", sends.requests) } else { String::new() };
                format!("Send about {tokens}{requests} to {name} at {host}, and compact")
            }
            _ if self.loads.get() => "Download the browser's summariser, and compact".to_owned(),
            _ => "Compact now".to_owned(),
        }
    }

    /// What is being done, while it is; tracks.
    fn under_way(self) -> Option<String> {
        let busy = self.busy.get();
        let reading = self.known.with(|known| *known == Known::Reading);
        if !busy && !reading {
            return None;
        }
        Some(if self.cancelled.get() {
            "Cancelling…".to_owned()
        } else if let Some(percent) = self.loading.get() {
            format!("Loading the browser's summariser, {percent}%…")
        } else if let Some((part, parts)) = self.part.get() {
            format!("The browser is summarising part {} of {}…", part + 1, parts)
        } else {
            match self.page.engine.compacting.get() {
                Some(_) if busy && self.model.with(Option::is_some) => {
                    let (name, _) = self.model.get().unwrap_or_default();
                    format!("{name} is summarising…")
                }
                None => "Reading the thread and its token counts…".to_owned(),
                Some((0, now)) => format!("Summarising {}…", format::plural(now.into(), "message")),
                Some((done, now)) => {
                    format!(
                        "Summarising {} more, {} are done…",
                        format::plural(now.into(), "message"),
                        format::count(done.into())
                    )
                }
            }
        })
    }
}

/// What is being done, while it is.
#[component]
pub(super) fn Progress(asking: Asking) -> impl IntoView {
    let words = Memo::new(move |_| asking.under_way());
    view! {
        <Show when=move || words.with(Option::is_some)>
            <p class="working" role="status" data-testid="compact-progress">
                <progress aria-hidden="true"></progress>
                <span>{move || words.get().map(|words| drawn(&words))}</span>
            </p>
        </Show>
    }
}
