//! Who summarises: the built-in summariser, the browser's own, or a connected model.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::asking::Asking;
use crate::page::basics::drawn;
use crate::page::browser::{self, Browser, Offer};

impl Asking {
    /// Looks whether the browser has a summariser of its own.
    pub(super) fn look(self) {
        spawn_local(async move {
            let Some(offer) = browser::offer().await else { return };
            let ready = offer.ready;
            // Who has closed the dialog meanwhile needs none, here and below.
            if self.offer.try_set_value(Some(offer)).is_none() {
                self.offered.set(Some(ready));
            }
        });
    }

    /// Asks anew with the browser's summariser, where it is there. One that must be loaded first waits for the button that says so.
    pub(super) fn take_browser(self) {
        let number = self.anew();
        self.page.engine.stop_compaction();
        let unmade = self.browser.with_value(Option::is_none);
        if unmade && self.offered.get_untracked() != Some(true) {
            self.loads.set(true);
            return self.preview();
        }
        spawn_local(async move {
            // Whoever has chosen something else meanwhile keeps that.
            if self.open_browser().await.is_some() && self.asked.try_get_value() == Some(number) {
                self.use_browser();
                self.preview();
            }
        });
    }

    /// Makes the browser's summariser, unless it is made. `None` where the dialog was closed meanwhile.
    pub(super) async fn open_browser(self) -> Option<()> {
        if self.browser.try_with_value(Option::is_none)? {
            let offer = self.offer.with_value(|offer| offer.as_ref().map(Offer::again))?;
            let tell = move |percent| _ = self.loading.try_set(Some(percent));
            let opened = offer.open(tell).await;
            if self.loading.try_set(None).is_some() {
                return None;
            }
            match opened {
                Ok(browser) => {
                    browser.serve(self.page.engine, move |part| _ = self.part.try_set(Some(part)));
                    self.browser.set_value(Some(browser));
                    self.offered.set(Some(true));
                }
                Err(why) => self.page.notices.say("The browser's summariser cannot be used", &why),
            }
        }
        Some(())
    }

    /// Takes the browser's summariser, or the built-in one where the browser's could not be made.
    pub(super) fn use_browser(self) {
        self.loads.set(false);
        let tokens = self.browser.with_value(|browser| browser.as_ref().map(Browser::tokens));
        if tokens.is_none()
            && let Some(select) = self.summariser.get_untracked()
        {
            select.set_value("0");
        }
        self.way.update(|way| way.browser = tokens);
    }
}

/// The choice of who summarises, where there is one.
#[component]
pub(super) fn Summarisers(asking: Asking) -> impl IntoView {
    let others = Memo::new(move |_| (asking.offered.get(), asking.usable().map(|one| one.model)));
    move || {
        let (offered, model) = others.get();
        if offered.is_none() && model.is_none() {
            return None;
        }
        let own = offered.map(|ready| {
            let words = if ready { "The browser's own" } else { "The browser's own (loaded first)" };
            view! { <option value="1">{words}</option> }
        });
        let model = model.map(|name| view! { <option value="2">"Your model: "{drawn(&name)}</option> });
        Some(view! {
            <div class="field">
                <label for="summariser">"Summarised by"</label>
                <select
                    id="summariser"
                    name="summariser"
                    data-testid="compact-summariser"
                    disabled=move || asking.busy.get()
                    node_ref=asking.summariser
                >
                    <option value="0">"Built in: quotes what matters"</option>
                    {own}
                    {model}
                </select>
            </div>
        })
    }
}
