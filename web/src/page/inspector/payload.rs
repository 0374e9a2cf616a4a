//! The payload that a provider would get: asked for where it is open, when nothing has changed for a moment.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use threadkeep::protocol::ErrorReply;

use super::Inspector;
use crate::page::dom;
use crate::wire::{Ask, Inspect, Payload, Reply};

impl Inspector {
    /// The request that Send would send; where there is none, the branch as it stands, for what is set now. The second says which it is. `None`: no
    /// branch is open, and nothing is typed.
    pub(super) async fn payload(self) -> Result<Option<(Payload, bool)>, ErrorReply> {
        let next = self.with(|inner| inner.next.clone()).and_then(|next| next());
        let is_next = next.is_some();
        let ask = match (next, self.question()) {
            (Some(talk), _) => {
                self.save().await;
                Ask::Talk(Box::new(talk))
            }
            (None, Some(question)) => Ask::Inspect(Inspect::Payload(Box::new(question))),
            (None, None) => return Ok(None),
        };
        match self.engine.ask(ask).await? {
            Reply::Payload(payload) => Ok(Some((payload, is_next))),
            _ => Ok(None),
        }
    }

    /// Shows the payload, where it is open, when nothing has changed for a moment.
    pub fn refresh_payload(self) {
        if dom::find("[data-testid=payload][open]").is_none() {
            return;
        }
        let number = self.with(|inner| {
            inner.payloads = inner.payloads.wrapping_add(1);
            inner.payloads
        });
        let is_newest = move || self.with(|inner| inner.payloads) == number;
        let later = move || {
            if is_newest() {
                spawn_local(async move {
                    let payload = self.payload().await;
                    if is_newest() {
                        self.draw_payload(payload);
                    }
                });
            }
        };
        set_timeout(later, Duration::from_millis(250));
    }
}
