//! Reads real transcripts from the folder of data, where it is at hand.

use std::path::{Path, PathBuf};

use serde_json::Value;
use threadkeep_archive::{Input, Item as Read};
use threadkeep_context::chain_items;
use threadkeep_core::{Content, Message, Part, Role, ToolCall, Transcript};

pub use folder::data;

#[path = "../../../core/tests/support/chat.rs"]
pub mod chat;
#[path = "../../../core/tests/support/folder.rs"]
mod folder;

fn files(folder: &str, ends: &str) -> Vec<(String, Vec<u8>)> {
    let Some(entries) = data().and_then(|data| std::fs::read_dir(data.join(folder)).ok()) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.retain(|path| name(path).ends_with(ends));
    paths.into_iter().map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
}

/// All branches of all conversations in an archive.
fn archive(name: &str, bytes: &[u8]) -> Vec<Vec<Message>> {
    let mut chains = Vec::new();
    let mut input = Input::new(name, bytes.len() as u64, None);
    while let Some(range) = input.wants() {
        input.supply(&bytes[range.start as usize..range.end as usize], &mut |item| {
            let Read::Conversation(conversation) = item else { return };
            let mut tree = Transcript::new(conversation.transcript.clone());
            conversation.entries.iter().for_each(|entry| tree.apply(entry.clone()).unwrap());
            for leaf in tree.nodes().filter(|placed| placed.is_leaf()) {
                let items = chain_items(&tree, &leaf.node.id).unwrap();
                chains.push(items.into_iter().map(|item| item.message.clone()).collect());
            }
        });
    }
    chains
}

/// A session of the pi agent: its messages, with results and calls in our form, aborted ones as they are.
fn pi(bytes: &[u8]) -> Vec<Message> {
    let mut history = Vec::new();
    for line in std::str::from_utf8(bytes).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let said = &line["message"];
        let mut texts = Vec::new();
        let mut calls = Vec::new();
        for block in said["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") => texts.push(Part::text(block["text"].as_str().unwrap())),
                Some("toolCall") => calls.push(ToolCall::function(
                    block["id"].as_str().unwrap(),
                    block["name"].as_str().unwrap(),
                    block["arguments"].to_string(),
                )),
                _ => {}
            }
        }
        let role = match said["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("toolResult") => Role::Tool,
            _ => continue,
        };
        let mut message = Message::new(role, if texts.is_empty() { Content::Null } else { Content::Parts(texts) });
        message.tool_calls = calls;
        message.tool_call_id = said["toolCallId"].as_str().map(str::to_owned);
        history.push(message);
    }
    history
}

/// A tree of the OASST set: all ways from its prompt to a leaf.
fn oasst(node: &Value, before: &[Message], out: &mut Vec<Vec<Message>>) {
    let role = if node["role"] == "prompter" { Role::User } else { Role::Assistant };
    let mut chain = before.to_vec();
    chain.push(Message::new(role, node["text"].as_str().unwrap_or_default()));
    let replies = node["replies"].as_array().map_or(&[][..], Vec::as_slice);
    if replies.is_empty() {
        out.push(chain);
    } else {
        replies.iter().for_each(|reply| oasst(reply, &chain, out));
    }
}

/// Every transcript at hand, with its name.
pub fn all() -> Vec<(String, Vec<Message>)> {
    let mut found = Vec::new();
    let archives = [
        ("claude-code-sessions", ".jsonl"),
        ("tau-bench", ".json"),
        ("swe-agent", ".traj"),
        ("chatgpt-librechat-openwebui", ".json"),
        ("chatgpt-claude-gemini-shapes", ".json"),
        ("claude-ai-samples", ".json"),
    ];
    for (folder, ends) in archives {
        for (name, bytes) in files(folder, ends) {
            let chains = archive(&name, &bytes).into_iter().enumerate();
            found.extend(chains.map(|(at, chain)| (format!("{name} {at}"), chain)));
        }
    }
    for (name, bytes) in files("pi-sessions", ".jsonl") {
        found.push((name, pi(&bytes)));
    }
    for (name, bytes) in files("oasst-trees", ".jsonl") {
        for line in std::str::from_utf8(&bytes).unwrap().lines().filter(|line| !line.is_empty()) {
            let tree: Value = serde_json::from_str(line).unwrap();
            let mut chains = Vec::new();
            oasst(&tree["prompt"], &[], &mut chains);
            found.extend(chains.into_iter().map(|chain| (name.clone(), chain)));
        }
    }
    for (name, bytes) in files("beam", ".chat.json") {
        let mut numbered = Vec::new();
        chat::messages(&serde_json::from_slice(&bytes).unwrap(), &mut numbered);
        found.push((format!("beam {name}"), numbered.into_iter().map(|(_, message)| message).collect()));
    }
    found
}
