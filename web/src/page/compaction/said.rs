//! What the dialog says: what the button does, how far it is, and what a compaction would do.

use leptos::prelude::*;
use web_sys::Node;

use super::{Asking, Known};
use crate::format;
use crate::page::view::{Slot, draw, markup};
use crate::wire::{Card, Compacted};

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

    /// What is being done, while it is.
    pub(super) fn progress(self) -> Slot {
        let words = move || {
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
        };
        draw(words, |words| {
            Some(markup!(
                r#"<p class="working" role="status" data-testid="compact-progress"><progress aria-hidden="true"></progress><span>{}</span></p>"#,
                words.clone()?,
            ))
        })
    }
}

/// What it would do. `unwritten` says that the summary is written after the press, by a model: its words and its size are not known.
pub(super) fn preview(done: &Compacted, card: &Card, unwritten: bool) -> Node {
    let statement = |said: &crate::wire::Said| markup!(r#"<li dir="auto">{}</li>"#, said.text.clone());
    let statements: Vec<Node> = card.statements.iter().map(statement).collect();
    let warning = |warning: &String| markup!("<p>{}</p>", warning.clone());
    let (history, covered, memories) = if unwritten {
        (String::from("?"), String::from("?"), "What the summary holds".to_owned())
    } else {
        let memories = format!("{} in the memory", format::plural(done.memories.into(), "new record"));
        (format::count(done.after), format::count(card.after), memories)
    };
    let summary = if unwritten {
        markup!(
            r#"<p class="faint" data-testid="compact-unwritten">The model writes the summary after you press the button. Nothing was sent yet.</p>"#
        )
    } else if statements.is_empty() {
        markup!(r#"<p class="faint">Nothing stands in for what leaves.</p>"#)
    } else {
        markup!(
            r#"
            <h3>The summary</h3>
            <div class="summary-box" tabindex="0" role="region" aria-label="The summary" data-testid="compact-statements">
                <ol class="statements">{}</ol>
            </div>"#,
            statements,
        )
    };
    markup!(
        r#"
        <dl class="facts" data-testid="compact-preview">
            <div><dt>Covers</dt><dd>The first {}</dd></div>
            <div><dt>History</dt><dd><span data-testid="compact-before">{}</span> → <strong data-testid="compact-after">{}</strong> tokens</dd></div>
            <div><dt>Of that, the covered part</dt><dd>{} → {} tokens</dd></div>
            <div><dt>Remembered</dt><dd>{}</dd></div>
        </dl>
        <div class="compact-warnings" data-testid="compact-warnings">{}</div>
        {}"#,
        format::plural(card.messages.into(), "message"),
        format::count(done.before),
        history,
        format::count(card.before),
        covered,
        memories,
        done.warnings.iter().map(warning).collect::<Vec<Node>>(),
        summary,
    )
}
