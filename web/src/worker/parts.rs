//! The parts of the module that answer the page: what reads archives, builds prompts, searches, and talks to models. The worker loads
//! each when it is first needed. Most visits read what is kept and need none of them.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::rc::Rc;

use js_sys::{Array, Reflect};
use threadkeep::agent::Later;
use threadkeep::compact::Cancel;
use threadkeep::passages::not_loaded;
use threadkeep::protocol::{ErrorReply, ImportProgress, ImportReport};
use threadkeep::{KeepError, RankPassages, Ranking, Secret, Sharing};
use threadkeep_core::TranscriptId;
use threadkeep_parts::part;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, File};

use super::{Engine, STOP, files, find, inspect, recall, remove, requests, say, sync, talk};
use crate::wire::{Find, FromWorker, Inspect, Journal, Recall, Remove, Reply, Talk, Ticket};

type Answer = Pin<Box<dyn Future<Output = Result<Reply, ErrorReply>>>>;

part! {
    /// Imports the files of a list of `{ file, path }`, and says meanwhile how far it is.
    archives: pub fn import(engine: Rc<Engine>, ticket: Ticket, list: JsValue) -> Answer {
        Box::pin(async move {
            let report = read_archives(&engine, ticket, &list).await;
            report.map(|report| Reply::Imported(Box::new(report))).map_err(|error| error.reply())
        })
    }
}

part! {
    /// Syncs.
    archives: pub fn sync(engine: Rc<Engine>, choice: String, directory: JsValue) -> Answer {
        Box::pin(async move { sync::run(engine, choice, directory).await.map(Reply::Synced) })
    }
}

part! {
    /// Answers the context inspector.
    prompts: pub fn inspect(engine: Rc<Engine>, asked: Inspect) -> Answer {
        Box::pin(async move { inspect::answer(&engine, asked).await })
    }
}

part! {
    /// Answers about requests that were sent.
    prompts: pub fn journal(engine: Rc<Engine>, asked: Journal) -> Answer {
        Box::pin(async move { requests::answer(&engine, asked).await })
    }
}

part! {
    /// Answers the search.
    search: pub fn find(engine: Rc<Engine>, asked: Find) -> Answer {
        Box::pin(async move { find::answer(&engine, asked).await })
    }
}

part! {
    /// What ranks passages for prompts.
    search: fn ranking() -> &'static dyn RankPassages {
        &Ranking
    }
}

/// Loads what ranks passages.
pub fn load_ranking() -> Later<'static, &'static dyn RankPassages> {
    Box::pin(async { ranking().await.map_err(|_| not_loaded()) })
}

part! {
    /// Writes an archive of one transcript, or of all; for others, says what looks like a secret in it.
    manage: pub fn export(
        engine: Rc<Engine>,
        transcript: Option<TranscriptId>,
        sharing: Option<Sharing>
    ) -> Pin<Box<dyn Future<Output = Result<(Blob, Vec<Secret>), ErrorReply>>>> {
        Box::pin(async move { files::export(&engine, transcript, sharing).await })
    }
}

part! {
    /// Deletes, and answers about the bin.
    manage: pub fn remove(engine: Rc<Engine>, asked: Remove) -> Answer {
        Box::pin(async move { remove::answer(&engine, asked).await.map_err(|error| error.reply()) })
    }
}

part! {
    /// Puts something from the bin back.
    archives: pub fn undelete(engine: Rc<Engine>, id: String) -> Answer {
        Box::pin(async move {
            let binned = engine.undelete(&id).await;
            binned.map(|binned| Reply::Binned(vec![binned])).map_err(|error| error.reply())
        })
    }
}

part! {
    /// Compacts, and answers about what is remembered.
    prompts: pub fn recall(engine: Rc<Engine>, asked: Recall, cancel: Cancel) -> Answer {
        Box::pin(async move { recall::answer(&engine, asked, cancel).await })
    }
}

part! {
    /// Talks to models.
    agent: pub fn talk(engine: Rc<Engine>, asked: Talk) -> Answer {
        Box::pin(async move { talk::answer(&engine, asked).await })
    }
}

async fn read_archives(engine: &Engine, ticket: Ticket, list: &JsValue) -> Result<ImportReport, KeepError> {
    let list = Array::from(list);
    let sources = list.iter().filter_map(|entry| {
        let file = Reflect::get(&entry, &"file".into()).ok()?.dyn_into::<File>().ok()?;
        let path = Reflect::get(&entry, &"path".into()).ok().and_then(|path| path.as_string());
        Some(files::Slices::new(file, path.unwrap_or_default()))
    });
    let sources: Vec<_> = sources.collect();
    STOP.set(false);
    let mut told = 0.0;
    let tell = |progress: &ImportProgress| {
        // A dozen times a second is as often as an eye can use.
        let now = js_sys::Date::now();
        if now - told >= 80.0 {
            told = now;
            say(&FromWorker::Progress { ticket, progress: progress.clone() }, None);
        }
        if STOP.get() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    engine.import(sources, None, tell).await
}
