//! The worker's part of compaction and memory: the page's questions as the engine's, and of its answers what the page shows.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Function, Promise};
use threadkeep::agent::Noting;
use threadkeep::compact::{Answer, Cancel, CompactOptions, EpochInfo, Extractive, ModelSummariser, Summariser};
use threadkeep::model::{Model, Summarising};
use threadkeep::protocol::{Counting, ErrorReply};
use threadkeep::{Forgotten, KeepError, MemoryFilter, NewFact};
use threadkeep_compaction::memory::{Episode, EpisodeEdit, Fact, FactEdit, RememberFrom};
use threadkeep_compaction::summary::Material;
use threadkeep_context::tokens::Counter;
use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::{Message, MessageId};
use threadkeep_tokens::Encoding;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::WorkerGlobalScope;

use super::browser::OfBrowser;
use super::{Engine, inspect, part_missing, say, shared_parts};
use crate::compare;
use crate::wire::{
    Card, Carrier, Compacted, Compared, Epoch, Finding, FromWorker, Memory, Question, Recall, Reply, Sends, Way, nodes,
};
use crate::{format, pieces};

thread_local! {
    /// What was forgotten last.
    static FORGOTTEN: RefCell<Forgotten> = RefCell::default();
}

/// How many characters of a message stand in the line of a step.
const EXCERPT: usize = 200;

/// Answers a question about compaction and what is remembered.
pub async fn answer(engine: &Rc<Engine>, asked: Recall, cancel: Cancel) -> Result<Reply, ErrorReply> {
    let answer = match asked {
        Recall::Compact { leaf, preview, way, model } => {
            // Tokens are counted as the inspector counts them at first.
            inspect::fetch(engine, 0).await?;
            let model = match model {
                Some(connection) => {
                    let model = shared_parts::model(connection).await.map_err(|_| part_missing())??;
                    // The thread's requests tell of those for its summaries, too.
                    let made = shared_parts::memory(engine.clone()).await.map_err(|_| part_missing())?.await;
                    let noting = Noting {
                        memory: made.0,
                        node: leaf.clone(),
                        agent: None,
                        encoding: Counting::Exact(Encoding::O200k),
                        days: None,
                    };
                    Some(noting.model(model))
                }
                None => None,
            };
            compact(engine, &leaf, preview, way, model, cancel).await
        }
        Recall::Epochs(leaf) => epochs(engine, &leaf).await,
        Recall::Step { question, place } => {
            inspect::fetch(engine, question.settings.encoding()).await?;
            step(engine, &question, place).await
        }
        Recall::Carried { leaf, node } => carried(engine, &leaf, node).await,
        Recall::Compare { question, other } => {
            inspect::fetch(engine, question.settings.encoding()).await?;
            compared(engine, &question, &other).await
        }
        Recall::Check(leaf) => check(engine, &leaf).await,
        Recall::Mend(leaf) => engine.mend(&leaf).await.map(|end| Reply::Mended(end.map(|node| node.id))),
        other => remembered(engine, other).await,
    };
    answer.map_err(|error| error.reply())
}

/// A summariser that says how far it is, and looks before and after its work whether somebody has cancelled. Without these
/// looks no message of the page would be heard until all is done.
struct Watched<'s> {
    inner: &'s dyn Summariser,
    done: Cell<u32>,
}

impl Summariser for Watched<'_> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn input_tokens(&self) -> Option<u64> {
        self.inner.input_tokens()
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
        let (done, now) = (self.done.get(), material.pieces.len() as u32);
        self.done.set(done + now);
        say(&FromWorker::Compacting { done, now }, None);
        Box::pin(async move {
            pause().await;
            let answer = self.inner.summarise(material, counter).await;
            pause().await;
            answer
        })
    }
}

/// What a model would be sent, for a preview, which sends nothing: the built-in summariser stands in for the model.
struct Weighed<'s> {
    asked: &'s ModelSummariser,
    sends: Cell<Sends>,
}

impl Summariser for Weighed<'_> {
    fn name(&self) -> &str {
        self.asked.name()
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
        if let Some(more) = self.asked.would_send(material, counter) {
            let Sends { requests, tokens } = self.sends.get();
            self.sends.set(Sends { requests: requests + more.requests, tokens: tokens + more.tokens });
        }
        Extractive.summarise(material, counter)
    }
}

/// Lets the messages in that have come meanwhile.
async fn pause() {
    let mut soon = |resolve: Function, _: Function| {
        let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
        if scope.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, 0).is_err() {
            drop(resolve.call0(&JsValue::UNDEFINED));
        }
    };
    drop(JsFuture::from(Promise::new(&mut soon)).await);
}

async fn compact(
    engine: &Engine,
    leaf: &MessageId,
    preview: bool,
    way: Way,
    model: Option<Rc<dyn Model>>,
    cancel: Cancel,
) -> Result<Reply, KeepError> {
    let options = CompactOptions {
        strategy: way.strategy.and_then(|at| Strategy::ALL.get(at as usize)).copied(),
        tail_turns: way.tail,
        encoding: Counting::Exact(Encoding::O200k),
        preview,
        cancel: Some(cancel),
        remember_from: if way.everybody { RememberFrom::all() } else { RememberFrom::default() },
        ..CompactOptions::default()
    };
    let browser = || way.browser.map(|tokens| ModelSummariser::new(Rc::new(OfBrowser(tokens))));
    let weighs = preview && model.is_some();
    let asked = model.map(|model| ModelSummariser::new(Rc::new(Summarising(model)))).or_else(browser);
    let sends = Cell::new(Sends { requests: 0, tokens: 0 });
    let weighed = asked.as_ref().filter(|_| weighs).map(|asked| Weighed { asked, sends });
    let inner: &dyn Summariser = match (&weighed, &asked) {
        (Some(weighed), _) => weighed,
        (None, Some(asked)) => asked,
        (None, None) => &Extractive,
    };
    let summariser = Watched { inner, done: Cell::new(0) };
    let done = engine.compact(leaf.as_str(), &options, &summariser).await?;
    Ok(Reply::Compacted(Box::new(Compacted {
        card: done.checkpoint.map(Card::from),
        before: done.tokens_before,
        after: done.tokens_after,
        memories: (done.episodes.len() + done.facts.len()) as u32,
        warnings: done.warnings,
        sends: weighed.map(|weighed| weighed.sends.get()),
    })))
}

async fn epochs(engine: &Engine, leaf: &MessageId) -> Result<Reply, KeepError> {
    let epoch = |epoch: EpochInfo| Epoch {
        card: epoch.checkpoint.map(Card::from),
        start: epoch.messages.start as u32,
        end: epoch.messages.end as u32,
    };
    Ok(Reply::Epochs(engine.epochs(leaf.as_str()).await?.into_iter().map(epoch).collect()))
}

async fn step(engine: &Engine, question: &Question, place: u32) -> Result<Reply, KeepError> {
    let words = |message: &Message| format::line(&pieces::copy_text(std::slice::from_ref(message)), EXCERPT);
    let options = inspect::options(engine, question).await?;
    let step = engine.epoch_step(question.leaf.as_str(), place as usize, &options, &words).await?;
    Ok(Reply::Step(Box::new(step)))
}

async fn carried(engine: &Engine, leaf: &MessageId, node: MessageId) -> Result<Reply, KeepError> {
    let carried = engine.carried(leaf.as_str(), &node, &[]).await?;
    let filter = MemoryFilter { source: Some(node), ..MemoryFilter::default() };
    let facts = engine.facts(&filter).await?.into_iter().map(fact);
    let memories = facts.chain(engine.episodes(&filter).await?.into_iter().map(episode)).collect();
    Ok(Reply::Carrier(Box::new(Carrier { checkpoint: carried.checkpoint, raw: carried.raw, memories })))
}

async fn compared(engine: &Engine, question: &Question, other: &MessageId) -> Result<Reply, KeepError> {
    let options = question.settings.options();
    let found = engine.compare_branches(question.leaf.as_str(), other.as_str(), options).await?;
    let lines = |messages: &[Message]| messages.iter().map(compare::line).collect();
    Ok(Reply::Compared(Box::new(Compared {
        begin_alike: found.prompts.begin_alike as u32,
        only: [lines(&found.prompts.only_here), lines(&found.prompts.only_there)],
        tokens: [found.tokens_here, found.tokens_there],
    })))
}

async fn check(engine: &Engine, leaf: &MessageId) -> Result<Reply, KeepError> {
    let found = engine.lint(Some(leaf)).await?.into_iter();
    Ok(Reply::Checked(found.map(|finding| Finding { node: finding.node, words: finding.message }).collect()))
}

async fn remembered(engine: &Engine, asked: Recall) -> Result<Reply, KeepError> {
    match asked {
        Recall::List => {
            let filter = MemoryFilter { superseded: true, ..MemoryFilter::default() };
            let facts = engine.facts(&filter).await?.into_iter().map(fact);
            let episodes = engine.episodes(&filter).await?.into_iter().map(episode);
            // The newest come first.
            let mut all: Vec<Memory> = episodes.chain(facts).collect();
            all.sort_by_key(|memory| (!memory.pinned, std::cmp::Reverse(memory.created_at)));
            return Ok(Reply::Memories(all));
        }
        Recall::Edit { id, episode: true, text, tags } => {
            let edit = EpisodeEdit { summary: Some(text), tags: Some(tags), ..EpisodeEdit::default() };
            engine.edit_episode(&id, edit).await.map(drop)?;
        }
        Recall::Edit { id, text, tags, .. } => {
            let edit = FactEdit { fact: Some(text), tags: Some(tags), ..FactEdit::default() };
            engine.edit_fact(&id, edit).await.map(drop)?;
        }
        Recall::Pin { id, pinned } => engine.pin(&id, pinned).await?,
        Recall::Forget(id) => FORGOTTEN.set(engine.forget_memory(&id).await?),
        Recall::Unforget => engine.unforget_memory(&FORGOTTEN.take()).await.map(drop)?,
        Recall::Remember(text) => engine.remember(NewFact::new(text)).await.map(drop)?,
        Recall::UndoCompaction { leaf, checkpoint } => {
            engine.undo_compaction(leaf.as_str(), Some(&checkpoint)).await.map(drop)?;
        }
        // Answered before.
        Recall::Compact { .. }
        | Recall::Epochs(_)
        | Recall::Step { .. }
        | Recall::Carried { .. }
        | Recall::Compare { .. }
        | Recall::Check(_)
        | Recall::Mend(_) => {}
    }
    Ok(Reply::Done)
}

fn episode(one: Episode) -> Memory {
    Memory {
        origin: one.worth().name().to_owned(),
        agent: one.agent,
        id: one.id,
        episode: true,
        kind: String::new(),
        text: one.summary,
        tags: one.tags,
        transcript: one.transcript,
        sources: nodes(one.sources),
        pinned: one.pinned,
        superseded: false,
        created_at: one.created_at,
    }
}

fn fact(one: Fact) -> Memory {
    Memory {
        origin: one.worth().name().to_owned(),
        agent: one.agent,
        id: one.id,
        episode: false,
        kind: one.kind.name().to_owned(),
        text: one.fact,
        tags: one.tags,
        transcript: one.transcript,
        sources: nodes(one.sources),
        pinned: one.pinned,
        superseded: one.superseded_by.is_some(),
        created_at: one.created_at,
    }
}
