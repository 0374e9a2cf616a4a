//! Compaction of the long real transcripts, where a folder of data is found: to a fifth of their tokens, then to a fifth of
//! that, on every branch. In every epoch of every branch, every provider's prompt is valid, and the originals are as they were.

use std::path::Path;

use serde_json::{Value, json};
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{ContextOptions, Counting};
use threadkeep::{Keep, KeepError};
use threadkeep_core::{Message, MessageId, Role};
use threadkeep_provider::{Provider, validate_payload};
use threadkeep_store::MemoryStore;

use crate::folder::data;
use crate::{World, chat, run};

/// Chains with fewer tokens are not long.
const LONG: u64 = 10_000;

fn how(json: Value) -> ContextOptions {
    let mut with = json!({ "encoding": "estimate" });
    with.as_object_mut().unwrap().extend(json.as_object().unwrap().clone());
    ContextOptions::from_json(&with).unwrap()
}

/// A keep with one file in it.
async fn kept(path: &Path) -> Keep<MemoryStore> {
    let keep = World::default().tab();
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    if name.ends_with(".chat.json") {
        let mut numbered = Vec::new();
        chat::messages(&serde_json::from_slice(&bytes).unwrap(), &mut numbered);
        keep.append("chat", numbered.into_iter().map(|(_, message)| message).collect()).await.unwrap();
    } else {
        keep.import(vec![(name, bytes.as_slice())], None, |_| {}).await.unwrap();
    }
    keep
}

async fn leaves(keep: &Keep<MemoryStore>) -> Vec<MessageId> {
    let mut leaves = Vec::new();
    for transcript in keep.transcripts().await.unwrap() {
        let nodes = keep.tree(&transcript.id).await.unwrap();
        let parents: Vec<usize> = nodes.iter().filter_map(|node| node.parent).map(|parent| parent as usize).collect();
        leaves
            .extend(nodes.iter().enumerate().filter(|(at, _)| !parents.contains(at)).map(|(_, node)| node.id.clone()));
    }
    leaves
}

/// What a chain is, without any checkpoint.
async fn original(keep: &Keep<MemoryStore>, leaf: &MessageId) -> Vec<Message> {
    let mut messages = Vec::new();
    for node in keep.chain(leaf).await.unwrap() {
        messages.extend(node.messages);
    }
    messages
}

/// Compacts a chain to a fifth of what a prompt of it has. Gives the tokens before, those wanted, those after, and the place
/// of the first message that stays.
async fn to_a_fifth(keep: &Keep<MemoryStore>, leaf: &MessageId) -> Option<(u64, u64, u64, usize)> {
    let before = keep.context(leaf.as_str(), &how(json!({}))).await.unwrap().figures.tokens;
    let target = before / 5;
    let options =
        CompactOptions { encoding: Counting::Estimate, target_tokens: Some(target), ..CompactOptions::default() };
    match keep.compact(leaf.as_str(), &options, &Extractive).await {
        Ok(done) => {
            done.checkpoint.as_ref()?;
            let after = keep.context(leaf.as_str(), &how(json!({}))).await.unwrap().figures.tokens;
            // It claims no more than it does. (A result that a prompt has for a call without one goes uncounted.)
            assert!(done.tokens_saved() <= before - after, "{leaf}: {} tokens saved", done.tokens_saved());
            Some((before, target, done.tokens_after, done.compacted_range.end))
        }
        // What is left is little, and a summary of it would not be smaller.
        Err(KeepError::Refused(_)) => None,
        Err(error) => panic!("{leaf}: {error}"),
    }
}

#[test]
fn every_epoch_of_every_branch_of_the_long_transcripts_is_a_valid_prompt_for_every_provider() {
    let Some(data) = data() else { return };
    let of = |folder: &str, wanted: fn(&str) -> bool| {
        let entries = std::fs::read_dir(data.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<_> = entries.filter(|path| wanted(&path.file_name().unwrap().to_string_lossy())).collect();
        paths.sort();
        paths
    };
    let mut files = of("claude-code-sessions", |name| name.ends_with(".jsonl"));
    files.extend(of("pi-sessions", |name| name.ends_with(".jsonl")));
    files.extend(of("beam", |name| name.ends_with(".chat.json")));
    let (mut long, mut reached, mut prompts) = (0, 0, 0);
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        run(async {
            let keep = kept(&path).await;
            let leaves = leaves(&keep).await;
            let mut before = Vec::new();
            for leaf in &leaves {
                before.push(original(&keep, leaf).await);
            }
            for (leaf, messages) in leaves.iter().zip(&before) {
                for round in 1..=2 {
                    let Some((before, target, after, raw)) = to_a_fifth(&keep, leaf).await else { break };
                    eprintln!("{name}: round {round}: {before} tokens to {after}, target {target}");
                    let users = messages[raw..].iter().filter(|message| message.role == Role::User).count();
                    if before >= LONG {
                        long += 1;
                        // The live turn stays whole, whatever it takes.
                        assert!(
                            after <= target || users <= 1,
                            "{name}: {leaf}: {before} tokens to {after}, not {target}"
                        );
                        reached += usize::from(after <= target);
                    }
                }
            }
            for (leaf, messages) in leaves.iter().zip(before) {
                assert_eq!(original(&keep, leaf).await, messages, "{name}: the originals of {leaf}");
                for epoch in keep.epochs(leaf.as_str()).await.unwrap() {
                    for provider in Provider::ALL {
                        for end in [leaf, &epoch.leaf] {
                            let how = how(json!({"provider": provider.name(), "epoch": epoch.name()}));
                            let reply = keep.context(end.as_str(), &how).await.unwrap();
                            let findings = validate_payload(&reply.payload, provider);
                            assert_eq!(findings, [], "{name}: {end} in {} for {provider:?}", epoch.name());
                            let sum: u64 = reply.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
                            assert_eq!(sum, reply.figures.tokens);
                            prompts += 1;
                        }
                    }
                }
            }
        });
    }
    eprintln!("{reached} of {long} compactions of long chains to a fifth or less, {prompts} prompts");
    assert!(reached >= 15 && prompts > 100, "{reached} of {long} chains, {prompts} prompts");
}
