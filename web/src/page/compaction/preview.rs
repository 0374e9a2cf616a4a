//! What a compaction would do, in figures and with its summary.

use web_sys::Node;

use crate::format;
use crate::page::view::markup;
use crate::wire::{Card, Compacted};

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
