//! Two branches side by side from where they part: what each says, and how the prompts differ that a model would be sent at the end
//! of each. Two leaves in, a dialog's body out; the engine compares the prompts, with what the context inspector is set to.

use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::{MessageId, TranscriptId};
use web_sys::Node;

use super::state::Page;
use super::view::{click, draw, markup};
use crate::compare::parting;
use crate::route::Route;
use crate::wire::{Ask, Branch, Compared, Question, Recall, Reply};
use crate::{format, pieces, words};

/// The most messages of a branch that are listed.
const MOST: usize = 200;
/// How much of a message is shown, in characters.
const EXCERPT: usize = 600;

/// One of the two.
#[derive(Debug, Clone, PartialEq)]
struct Side {
    leaf: MessageId,
    /// Who says what, from where they part: the node, the role, the words.
    said: Vec<(MessageId, String, String)>,
    /// How many nodes there are from there on, and how many of them are not listed.
    nodes: usize,
    more: usize,
    /// The messages of its prompt that the other does not have, a line each.
    prompt: Vec<String>,
    tokens: u64,
}

/// Both, as far as they are read.
#[derive(Debug, Clone, PartialEq)]
struct Both {
    /// How many nodes they have in common, and the last one's words.
    shared: usize,
    last: String,
    /// How many messages both prompts begin with.
    prefix: usize,
    sides: [Side; 2],
}

/// The dialog's body.
pub fn dialog(page: Page, transcript: &TranscriptId, leaves: [MessageId; 2]) -> Node {
    let both = RwSignal::new(None::<Result<Both, String>>);
    let of = transcript.clone();
    spawn_local(async move {
        let read = read(page, &of, leaves).await.map_err(|error| words::words(&error).title);
        both.try_set(Some(read));
    });
    let of = transcript.clone();
    let view = move |both: &Option<Result<Both, String>>| {
        Some(match both {
            None => markup!(r#"<p class="faint" role="status">Reading both branches…</p>"#),
            Some(Err(why)) => markup!(r#"<p role="alert">{}</p>"#, why.clone()),
            Some(Ok(both)) => shown(page, &of, both),
        })
    };
    markup!(r#"<div class="compare" data-testid="compare">{}</div>"#, draw(move || both.get(), view))
}

fn shown(page: Page, transcript: &TranscriptId, both: &Both) -> Node {
    let column = |(at, side): (usize, &Side)| {
        let to = Route { transcript: Some(transcript.clone()), leaf: Some(side.leaf.clone()), ..Route::default() };
        let open = move || {
            page.dialog.set(None);
            page.nav.go(to.clone());
        };
        let line = |(node, role, said): &(MessageId, String, String)| {
            markup!(
                r#"<li data-node={}><p class={}>{}</p><p class="compare-words" dir="auto">{}</p></li>"#,
                node.to_string(),
                format!(
                    "who role-{}",
                    if matches!(role.as_str(), "user" | "assistant" | "tool") { role } else { "other" }
                ),
                pieces::role_label(role).to_owned(),
                said.clone(),
            )
        };
        let more = (side.more > 0).then(|| {
            markup!(r#"<p class="faint">{}</p>"#, format!("and {}", format::plural(side.more as u64, "more node")))
        });
        let only = |words: &String| markup!(r#"<li dir="auto">{}</li>"#, words.clone());
        markup!(
            r#"
            <section aria-label={} data-testid="compare-side">
                <h3>{}</h3>
                <p class="thread-facts"><span data-testid="compare-tokens">{}</span><span>{}</span></p>
                <ol class="compare-said">{}</ol>
                {}
                <details class="compare-prompt">
                    <summary>{}</summary>
                    <ol>{}</ol>
                </details>
                <p><button type="button" class="small" data-testid="compare-open" onclick={}>Open this branch</button></p>
            </section>"#,
            if at == 0 { "This branch" } else { "The other branch" },
            if at == 0 { "This branch" } else { "The other branch" },
            format!("{} tokens in its prompt", format::count(side.tokens)),
            format::plural(side.nodes as u64, "node"),
            side.said.iter().map(line).collect::<Vec<Node>>(),
            more,
            format!("Only in its prompt: {}", format::plural(side.prompt.len() as u64, "message")),
            side.prompt.iter().map(only).collect::<Vec<Node>>(),
            click(open),
        )
    };
    let sides: Vec<Node> = both.sides.iter().enumerate().map(column).collect();
    let common = match both.shared {
        0 => "The branches have nothing in common.".to_owned(),
        shared => {
            format!("Both begin with the same {}; the last is: “{}”", format::plural(shared as u64, "node"), both.last)
        }
    };
    markup!(
        r#"
        <p data-testid="compare-common" dir="auto">{}</p>
        <p data-testid="compare-prefix">{}</p>
        <div class="compare-sides">{}</div>"#,
        common,
        format!("Their prompts begin with the same {}.", format::plural(both.prefix as u64, "message")),
        sides,
    )
}

async fn read(page: Page, transcript: &TranscriptId, leaves: [MessageId; 2]) -> Result<Both, ErrorReply> {
    let settings = page.inspector.ready().await;
    let mut read = Vec::new();
    for leaf in &leaves {
        let ask = Ask::Branch { transcript: transcript.clone(), leaf: Some(leaf.clone()) };
        let Reply::Branch(branch) = page.engine.ask(ask).await? else { return Err(lost()) };
        read.push(branch);
    }
    let [one, two] = &read[..] else { return Err(lost()) };
    let [leaf, other] = leaves;
    let question = Box::new(Question { leaf, settings, selected: None, epoch: None });
    let ask = Ask::Recall(Box::new(Recall::Compare { question, other }));
    let Reply::Compared(compared) = page.engine.ask(ask).await? else { return Err(lost()) };
    let ids = |branch: &Branch| branch.rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    let shared = parting(&ids(one), &ids(two));
    let Compared { begin_alike, only: [one_only, two_only], tokens: [one_tokens, two_tokens] } = *compared;
    let last = match shared.checked_sub(1) {
        Some(last) => {
            let said = said(page, one, last..shared).await?;
            said.into_iter().next_back().map(|(.., words)| format::line(&words, 120)).unwrap_or_default()
        }
        None => String::new(),
    };
    let sides =
        [side(page, one, shared, one_only, one_tokens).await?, side(page, two, shared, two_only, two_tokens).await?];
    Ok(Both { shared, last, prefix: begin_alike as usize, sides })
}

async fn side(
    page: Page,
    branch: &Branch,
    shared: usize,
    prompt: Vec<String>,
    tokens: u64,
) -> Result<Side, ErrorReply> {
    let end = branch.rows.len().min(shared + MOST);
    let said = said(page, branch, shared..end).await?;
    let nodes = branch.rows.len() - shared;
    Ok(Side { leaf: branch.leaf.clone(), said, nodes, more: branch.rows.len() - end, prompt, tokens })
}

async fn said(
    page: Page,
    branch: &Branch,
    rows: std::ops::Range<usize>,
) -> Result<Vec<(MessageId, String, String)>, ErrorReply> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ask = Ask::Rows { leaf: branch.leaf.clone(), start: rows.start as u32, end: rows.end as u32 };
    let Reply::Nodes(nodes) = page.engine.ask(ask).await? else { return Err(lost()) };
    let each = |node: &crate::wire::Node| {
        let of = node.id.clone();
        let one = move |message: &threadkeep_core::Message| {
            let words = pieces::copy_text(std::slice::from_ref(message));
            (of.clone(), message.role.as_str().to_owned(), format::line(&words, EXCERPT))
        };
        node.messages.iter().map(one).filter(|(.., words)| !words.is_empty()).collect::<Vec<_>>()
    };
    Ok(nodes.iter().flat_map(each).collect())
}

fn lost() -> ErrorReply {
    ErrorReply { code: "missing-node".to_owned(), message: String::new(), details: Value::Null }
}
