//! Real transcripts, where they are at hand: every branch, whole and cut, is valid for every provider.

use std::path::{Path, PathBuf};

use threadkeep_archive::{Input, Item};
use threadkeep_core::{Message, Transcript};
use threadkeep_provider::{Provider, RenderOptions, render, validate_payload};

use crate::folder::data;

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let archive = path.extension().is_some_and(|end| end == "json" || end == "jsonl");
        match path.is_dir() {
            true => files(&path, all),
            false if archive => all.push(path),
            false => {}
        }
    }
}

fn transcripts(path: &Path) -> Vec<Transcript> {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    let mut input = Input::new(&name, bytes.len() as u64, None);
    let mut all = Vec::new();
    while let Some(range) = input.wants() {
        input.supply(&bytes[range.start as usize..range.end as usize], &mut |item| {
            if let Item::Conversation(conversation) = item {
                let mut tree = Transcript::new(conversation.transcript.clone());
                conversation.entries.into_iter().for_each(|entry| tree.apply(entry).unwrap());
                all.push(tree);
            }
        });
    }
    all
}

#[test]
fn every_branch_of_every_archive_renders_valid() {
    let Some(data) = data() else { return };
    let mut paths = Vec::new();
    files(&data, &mut paths);
    let options = RenderOptions::default();
    let (mut branches, mut payloads) = (0, 0);
    for path in paths {
        for tree in transcripts(&path) {
            let leaves: Vec<_> =
                tree.nodes().filter(|placed| tree.children(&placed.node.id).is_ok_and(|c| c.is_empty())).collect();
            // A few branches of each tree, those that end first and last among them.
            let step = leaves.len().div_ceil(4).max(1);
            for leaf in leaves.iter().step_by(step).chain(leaves.last()) {
                let chain = tree.chain(&leaf.node.id).unwrap();
                let messages: Vec<&Message> = chain.iter().flat_map(|placed| &placed.node.messages).collect();
                branches += 1;
                let cut = messages.len() / 2;
                for list in [&messages[..], &messages[cut..], &messages[..cut]] {
                    for provider in Provider::ALL {
                        let rendered = render(list, provider, &options);
                        let found = validate_payload(&rendered.payload, provider);
                        assert!(found.is_empty(), "{} {}: {found:?}", path.display(), provider.name());
                        payloads += 1;
                    }
                }
            }
        }
    }
    println!("{branches} branches, {payloads} payloads");
    assert!(branches > 0);
}
