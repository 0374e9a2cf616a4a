//! Two branches side by side from where they part: what each says, and how the prompts differ that a model would be sent at the end
//! of each. Two leaves in, a dialog's body out; the engine compares the prompts, with what the context inspector is set to.

use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;
use threadkeep::protocol::ErrorReply;
use threadkeep_core::{MessageId, TranscriptId};

use super::basics::drawn;
use super::state::Page;
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
#[component]
pub fn Compare(page: Page, transcript: TranscriptId, leaves: [MessageId; 2]) -> impl IntoView {
    let both = RwSignal::new(None::<Result<Both, String>>);
    let of = transcript.clone();
    spawn_local(async move {
        let read = read(page, &of, leaves).await.map_err(|error| words::words(&error).title);
        both.try_set(Some(read));
    });
    view! {
        <div class="compare" data-testid="compare">
            {move || match both.get() {
                None => view! { <p class="faint" role="status">"Reading both branches…"</p> }.into_any(),
                Some(Err(why)) => view! { <p role="alert">{why}</p> }.into_any(),
                Some(Ok(both)) => view! { <Sides page transcript=transcript.clone() both/> }.into_any(),
            }}
        </div>
    }
}

/// What both have in common, and each from there on.
#[component]
fn Sides(page: Page, transcript: TranscriptId, both: Both) -> impl IntoView {
    let common = match both.shared {
        0 => "The branches have nothing in common.".to_owned(),
        shared => {
            format!("Both begin with the same {}; the last is: “{}”", format::plural(shared as u64, "node"), both.last)
        }
    };
    let prefix = format!("Their prompts begin with the same {}.", format::plural(both.prefix as u64, "message"));
    let [this, other] = both.sides;
    let of = transcript.clone();
    view! {
        <p data-testid="compare-common" dir="auto">{drawn(&common)}</p>
        <p data-testid="compare-prefix">{prefix}</p>
        <div class="compare-sides">
            <Column page transcript=of side=this title="This branch"/>
            <Column page transcript side=other title="The other branch"/>
        </div>
    }
}

/// One of the branches.
#[component]
fn Column(page: Page, transcript: TranscriptId, side: Side, title: &'static str) -> impl IntoView {
    let to = Route { transcript: Some(transcript), leaf: Some(side.leaf.clone()), ..Route::default() };
    let open = move |_| {
        page.dialog.set(None);
        page.nav.go(to.clone());
    };
    let more = (side.more > 0).then(|| {
        view! { <p class="faint">{format!("and {}", format::plural(side.more as u64, "more node"))}</p> }
    });
    let only = format!("Only in its prompt: {}", format::plural(side.prompt.len() as u64, "message"));
    view! {
        <section aria-label=title data-testid="compare-side">
            <h3>{title}</h3>
            <p class="thread-facts">
                <span data-testid="compare-tokens">
                    {format!("{} tokens in its prompt", format::count(side.tokens))}
                </span>
                <span>{format::plural(side.nodes as u64, "node")}</span>
            </p>
            <ol class="compare-said">{side.said.into_iter().map(said_line).collect_view()}</ol>
            {more}
            <details class="compare-prompt">
                <summary>{only}</summary>
                <ol>
                    {side.prompt.iter().map(|words| view! { <li dir="auto">{drawn(words)}</li> }).collect_view()}
                </ol>
            </details>
            <p>
                <button type="button" class="small" data-testid="compare-open" on:click=open>"Open this branch"</button>
            </p>
        </section>
    }
}

fn said_line((node, role, said): (MessageId, String, String)) -> impl IntoView {
    let class = match role.as_str() {
        "user" => "who role-user",
        "assistant" => "who role-assistant",
        "tool" => "who role-tool",
        _ => "who role-other",
    };
    view! {
        <li data-node=node.to_string()>
            <p class=class>{drawn(pieces::role_label(&role))}</p>
            <p class="compare-words" dir="auto">{drawn(&said)}</p>
        </li>
    }
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
    let question = Box::new(Question { leaf, settings, selected: None, epoch: None, tools: page.inspector.tools() });
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
