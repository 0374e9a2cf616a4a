//! Copies what a model gets, without what looks like a secret: it mostly goes into a report or a question to others.

use leptos::task::spawn_local;
use threadkeep::masked;

use super::dom;
use super::state::Notices;
use crate::format;

/// Copies a text, and says so: `what` is a sentence.
pub async fn copy(notices: Notices, what: &str, text: String) {
    let (masked, secrets) = masked(&text);
    if !dom::copy(&masked).await {
        return notices.say("Nothing was copied", "The browser does not let this page use the clipboard.");
    }
    if secrets == 0 {
        return notices.say("Copied", what);
    }
    let many = format!("{what} Masked in it: {}.", format::plural(secrets as u64, "secret"));
    notices.offer("Copied", &many, "Copy with them", move || {
        let text = text.clone();
        spawn_local(async move {
            if dom::copy(&text).await {
                notices.say("Copied", "With secrets.");
            }
        });
    });
}
