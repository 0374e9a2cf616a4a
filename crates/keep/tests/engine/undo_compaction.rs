//! An undone compaction: prompts have the originals again, and nothing that was said or sent is lost.

use serde_json::json;
use threadkeep::compact::{Answer, CompactOptions, Summariser};
use threadkeep::protocol::{ContextOptions, Counting, SearchOptions};
use threadkeep::{Keep, KeepError, MemoryFilter, NewFact};
use threadkeep_compaction::memory::{FactEdit, FactKind, Share};
use threadkeep_compaction::summary::{FoundFact, Material, Summary};
use threadkeep_context::tokens::Counter;
use threadkeep_core::Message;
use threadkeep_core::checkpoint::{Checkpoint, Source, Statement};
use threadkeep_store::MemoryStore;

use crate::{World, run, texts};

/// Says one word, which no message has, and finds a fact in each message that decides something.
struct Marmalade;

impl Summariser for Marmalade {
    fn name(&self) -> &str {
        "marmalade"
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, _: &'a dyn Counter) -> Answer<'a> {
        let statement = Statement { text: "marmalade".to_owned(), sources: Vec::new(), level: 0 };
        let deciding = material.pieces.iter().filter(|piece| piece.message.text().contains("decide"));
        let facts = deciding.map(|piece| FoundFact {
            kind: FactKind::Decision,
            fact: piece.message.text().split(':').next().unwrap_or_default().to_owned(),
            tags: Vec::new(),
            confidence: Share::of(800),
            salience: Share::of(500),
            sources: vec![Source { node: piece.node.clone(), index: piece.index }],
        });
        let (statements, facts, episode) = (vec![statement], facts.collect(), "much was said".to_owned());
        let summary = Summary { statements, facts, episode, ..Summary::default() };
        Box::pin(std::future::ready(Ok(summary.into())))
    }
}

fn turns(range: std::ops::Range<usize>) -> Vec<Message> {
    let filler = "so that there is something to be said about it, at some length and in many words";
    let turn =
        |at| [Message::user(format!("question {at}: {filler}")), Message::assistant(format!("answer {at}: {filler}"))];
    range.flat_map(turn).collect()
}

async fn compacted(keep: &Keep<MemoryStore>) -> Checkpoint {
    let how = CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() };
    keep.compact("chat", &how, &Marmalade).await.unwrap().checkpoint.unwrap()
}

async fn prompt(keep: &Keep<MemoryStore>, epoch: Option<&str>) -> Result<Vec<String>, KeepError> {
    let mut options = json!({ "encoding": "estimate" });
    if let Some(epoch) = epoch {
        options["epoch"] = epoch.into();
    }
    Ok(texts(&keep.context("chat", &ContextOptions::from_json(&options).unwrap()).await?.messages))
}

async fn exported(keep: &Keep<MemoryStore>) -> String {
    let mut file = String::new();
    keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
    // An older backup brings back what was forgotten since; that is so for any memory.
    file.lines().filter(|line| !line.starts_with("{\"episode\":")).map(|line| format!("{line}\n")).collect()
}

async fn import(keep: &Keep<MemoryStore>, file: &str) {
    let source = ("export.threadkeep.jsonl".to_owned(), file.as_bytes().to_vec());
    keep.import(vec![source], None, |_| {}).await.unwrap();
}

#[test]
fn one_after_the_other_is_undone_and_prompts_are_as_before() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        let original = prompt(&keep, None).await.unwrap();
        let first = compacted(&keep).await;
        keep.append("chat", turns(10..20)).await.unwrap();
        let between = prompt(&keep, None).await.unwrap();
        let second = compacted(&keep).await;
        let last = prompt(&keep, None).await.unwrap();

        let undone = keep.undo_compaction("chat", None).await.unwrap().unwrap();
        assert_eq!(undone.id, second.id);
        assert_eq!(prompt(&keep, None).await.unwrap(), between);
        assert_eq!(keep.checkpoints("chat").await.unwrap(), std::slice::from_ref(&first));
        // What was sent with it can be looked at still.
        assert_eq!(prompt(&keep, Some(&second.id)).await.unwrap(), last);

        assert_eq!(keep.undo_compaction("chat", Some(&second.id)).await.unwrap(), None);
        assert_eq!(keep.undo_compaction("chat", Some(&first.id)).await.unwrap().unwrap().id, first.id);
        assert_eq!(keep.undo_compaction("chat", None).await.unwrap(), None);
        let whole = prompt(&keep, None).await.unwrap();
        assert_eq!((whole.len(), &whole[..original.len()]), (40, &original[..]));
        assert_eq!(keep.epochs("chat").await.unwrap().len(), 1);

        // Another tab, which read the log before, sees it, and a compaction after it holds.
        assert_eq!(prompt(&world.tab(), None).await.unwrap(), whole);
        let third = compacted(&keep).await;
        assert_eq!(keep.checkpoints("chat").await.unwrap(), [third]);
    });
}

#[test]
fn its_summary_is_not_found_any_more() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        compacted(&keep).await;
        let options = SearchOptions::default();
        assert_eq!(keep.search("marmalade", &options).await.unwrap().hits.len(), 1);
        keep.undo_compaction("chat", None).await.unwrap();
        assert_eq!(keep.search("marmalade", &options).await.unwrap().hits.len(), 0);
    });
}

#[test]
fn it_stays_undone_through_exports_and_older_backups() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", turns(0..10)).await.unwrap();
        let checkpoint = compacted(&keep).await;
        let backup = exported(&keep).await;
        let summarised = prompt(&keep, None).await.unwrap();
        keep.undo_compaction("chat", None).await.unwrap();
        let file = exported(&keep).await;

        import(&keep, &backup).await;
        assert_eq!(keep.checkpoints("chat").await.unwrap(), []);
        assert_eq!(exported(&keep).await, file, "an older backup brings nothing back");

        // Into an empty keep, and into one that has the checkpoint.
        let (empty, older) = (World::default().tab(), World::default().tab());
        import(&older, &backup).await;
        for other in [&empty, &older] {
            import(other, &file).await;
            assert_eq!(other.checkpoints("chat").await.unwrap(), []);
            assert_eq!(prompt(other, Some(&checkpoint.id)).await.unwrap(), summarised);
            let once = exported(other).await;
            import(other, &file).await;
            assert_eq!(exported(other).await, once);
        }
        assert_eq!(exported(&empty).await, file);
    });
}

#[test]
fn a_deletion_takes_it_along() {
    let keep = World::default().tab();
    run(async {
        let nodes = keep.append("chat", turns(0..10)).await.unwrap();
        compacted(&keep).await;
        keep.undo_compaction("chat", None).await.unwrap();
        keep.delete_branch(&nodes[4].id).await.unwrap();
        assert_eq!(keep.checkpoints("chat").await.unwrap(), []);
        assert_eq!(prompt(&keep, None).await.unwrap().len(), 4);
    });
}

#[test]
fn what_it_alone_remembered_goes_and_what_was_kept_on_purpose_stays() {
    let keep = World::default().tab();
    run(async {
        let say = |what: &str| {
            Message::user(format!("we decide on {what}: {}", "and that is said at some length here".repeat(3)))
        };
        let mut messages = vec![say("tea"), say("jam"), say("toast"), say("eggs")];
        messages.extend(turns(0..8));
        keep.append("chat", messages).await.unwrap();
        let known = async || {
            let facts = keep.facts(&MemoryFilter::default()).await.unwrap().into_iter().map(|fact| fact.fact);
            let episodes = keep.episodes(&MemoryFilter::default()).await.unwrap().len();
            (facts.collect::<Vec<_>>(), episodes)
        };
        keep.remember(NewFact::new("we decide on tea")).await.unwrap();
        let before = known().await;

        compacted(&keep).await;
        assert_eq!((known().await.0.len(), known().await.1), (4, 1));
        keep.undo_compaction("chat", None).await.unwrap();
        assert_eq!(known().await, before, "the fact that was known before stays");

        let again = compacted(&keep).await;
        let all = keep.facts(&MemoryFilter::default()).await.unwrap();
        let id = |what: &str| all.iter().find(|fact| fact.fact.ends_with(what)).unwrap().id.clone();
        keep.pin(&id("jam"), true).await.unwrap();
        let edit = FactEdit { fact: Some("we decide on brown toast".to_owned()), ..FactEdit::default() };
        keep.edit_fact(&id("toast"), edit).await.unwrap();
        keep.undo_compaction("chat", Some(&again.id)).await.unwrap();
        let (mut facts, episodes) = known().await;
        facts.sort();
        assert_eq!(facts, ["we decide on brown toast", "we decide on jam", "we decide on tea"]);
        assert_eq!(episodes, 0);
    });
}
