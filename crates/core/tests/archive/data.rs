//! Real archives, where they are at hand: each comes in whole, by counts that are made here from the raw JSON.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use threadkeep_core::archive::{Code, own};
use threadkeep_core::{Message, Role, Transcript};

use crate::common::{Outcome, local, read, tree};
use crate::folder::data;

fn files(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
    let Some(data) = data() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(data.join(folder)) else { return Vec::new() };
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    names.retain(|path| wanted(&name(path)));
    names.into_iter().map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
}

/// Children by parent, and what a tree's forks are by that.
fn forks(parents: impl Iterator<Item = String>) -> usize {
    let mut children: HashMap<String, usize> = HashMap::new();
    parents.for_each(|parent| *children.entry(parent).or_default() += 1);
    children.values().filter(|count| **count > 1).count()
}

fn forks_of(tree: &Transcript) -> usize {
    forks(tree.nodes().filter_map(|placed| placed.node.parent.as_ref().map(|parent| parent.to_string())))
}

/// What holds for every import: the same again, our own format and back, and turns that count up.
fn check_all(name: &str, bytes: &[u8], outcome: &Outcome) {
    assert_eq!(&read(name, bytes), outcome, "{name} reads differently the second time");
    let mut text = own::write_header();
    for conversation in &outcome.conversations {
        let tree = tree(conversation);
        let turns: Vec<u32> = tree.nodes().filter(|p| p.node.turn > 0).map(|p| p.node.turn).collect();
        assert!(turns.windows(2).all(|pair| pair[0] < pair[1]), "{name}: turns {turns:?}");
        assert!(tree.nodes().all(|placed| placed.node.sealed));
        let leaf = tree.info().leaf.unwrap();
        assert!(tree.chain(&leaf).is_ok(), "{name}: {leaf}");
        text.extend(own::write_transcript(&conversation.transcript, (0..).zip(&conversation.entries)));
    }
    if !outcome.conversations.is_empty() {
        let back = read("x", text.as_bytes());
        assert_eq!(back.remarks(), "");
        assert!(back.conversations.iter().zip(&outcome.conversations).all(|(a, b)| a.entries == b.entries));
    }
    println!("{name}: {} conversations\n{}", outcome.conversations.len(), outcome.remarks());
}

#[test]
fn every_chatgpt_file() {
    let wanted = |name: &str| name.starts_with("chatgpt") && name.ends_with(".json");
    let all =
        files("chatgpt-librechat-openwebui", wanted).into_iter().chain(files("chatgpt-claude-gemini-shapes", wanted));
    for (name, bytes) in all {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        let raw: Value = serde_json::from_slice(&bytes).unwrap();
        let Value::Array(list) = raw else {
            assert!(outcome.conversations.is_empty());
            assert!(
                outcome.skipped.iter().all(|s| matches!(s.code, Code::NotAConversation | Code::MissingFile)),
                "{name}"
            );
            continue;
        };
        let (whole, broken): (Vec<&Value>, Vec<&Value>) = list.iter().partition(|c| c["mapping"].is_object());
        assert_eq!(outcome.skipped.len(), broken.len(), "{name}: {}", outcome.remarks());
        assert_eq!(outcome.conversations.len(), whole.len(), "{name}");
        for (raw, conversation) in whole.into_iter().zip(&outcome.conversations) {
            check_chatgpt(&name, raw, &tree(conversation));
        }
    }
}

fn check_chatgpt(name: &str, raw: &Value, tree: &Transcript) {
    let mapping = raw["mapping"].as_object().unwrap();
    let is_top = |id: &str| mapping[id]["message"].is_null() && mapping[id]["parent"].is_null();
    let expected: HashSet<&str> = mapping.keys().map(String::as_str).filter(|id| !is_top(id)).collect();
    let found: HashSet<&str> = tree.nodes().skip(1).map(|placed| local(&placed.node.id)).collect();
    assert_eq!(found, expected, "{name}");
    let parent = |id: &str| {
        mapping[id]["parent"].as_str().filter(|p| mapping.contains_key(*p) && !is_top(p)).unwrap_or("ROOT").to_owned()
    };
    for placed in tree.nodes().skip(1) {
        assert_eq!(local(placed.node.parent.as_ref().unwrap()), parent(local(&placed.node.id)), "{name}");
    }
    assert_eq!(forks_of(tree), forks(expected.iter().map(|id| parent(id))), "{name}");
    assert_eq!(tree.info().title, raw["title"].as_str().unwrap());
    let chosen = raw["current_node"].as_str().unwrap();
    if mapping.contains_key(chosen) {
        assert_eq!(local(&tree.info().leaf.unwrap()), chosen, "{name}");
    }
    // Every word that a node of plain text says is there.
    for (id, entry) in mapping {
        let parts = entry["message"]["content"]["parts"].as_array().cloned().unwrap_or_default();
        for text in parts.iter().filter_map(Value::as_str) {
            let said = tree.nodes().find(|p| local(&p.node.id) == id).unwrap().node.messages[0].clone();
            let calls: String = said.tool_calls.iter().map(|call| call.arguments().to_owned()).collect();
            assert!(said.text().contains(text) || calls.contains(text), "{name}: {id} says {said:?}");
        }
    }
}

#[test]
fn every_claude_ai_file() {
    let all = files("claude-ai-samples", |name| name.ends_with(".json"));
    let more = files("chatgpt-claude-gemini-shapes", |name| name.starts_with("claude"));
    for (name, bytes) in all.into_iter().chain(more) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        let raw: Value = serde_json::from_slice(&bytes).unwrap();
        let list = if let Value::Array(list) = raw { list } else { vec![raw] };
        let messages =
            |c: &Value| c["chat_messages"].as_array().or_else(|| c["messages"].as_array()).map_or(0, Vec::len);
        let whole: Vec<&Value> = list.iter().filter(|c| messages(c) > 0).collect();
        assert_eq!(outcome.conversations.len(), whole.len(), "{name}: {}", outcome.remarks());
        for (raw, conversation) in whole.into_iter().zip(&outcome.conversations) {
            let tree = tree(conversation);
            assert_eq!(tree.nodes().len(), messages(raw) + 1, "{name}");
            for message in raw["chat_messages"].as_array().into_iter().flatten() {
                let node = tree.nodes().find(|p| local(&p.node.id) == message["uuid"].as_str().unwrap()).unwrap();
                let said: String = node.node.messages.iter().map(|m| m.text().into_owned()).collect();
                for block in message["content"].as_array().into_iter().flatten() {
                    assert!(block["text"].as_str().is_none_or(|text| said.contains(text)), "{name}: {block}");
                }
                if let Some(parent) = message["parent_message_uuid"].as_str() {
                    let up = local(node.node.parent.as_ref().unwrap());
                    assert!(up == parent || up == "ROOT" && parent.starts_with("00000000-"), "{name}");
                }
            }
            if let Some(leaf) = raw["current_leaf_message_uuid"].as_str() {
                let there = raw["chat_messages"].as_array().unwrap().iter().any(|m| m["uuid"] == leaf);
                assert!(!there || local(&tree.info().leaf.unwrap()) == leaf, "{name}");
            }
        }
    }
}

#[test]
fn every_claude_code_file() {
    for (name, bytes) in files("claude-code-sessions", |name| name.ends_with(".jsonl")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        let lines = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>().map(Result::unwrap);
        let lines: Vec<Value> = lines.filter(|line| line["uuid"].is_string()).collect();
        let of = |kind: &str| lines.iter().filter(move |line| line["type"] == kind).collect::<Vec<_>>();
        let trees: Vec<Transcript> = outcome.conversations.iter().map(tree).collect();
        let said: Vec<&Message> = trees.iter().flat_map(|tree| tree.nodes()).flat_map(|p| &p.node.messages).collect();
        // One assistant message for each API message.
        let api: HashSet<&str> = of("assistant").iter().filter_map(|line| line["message"]["id"].as_str()).collect();
        assert_eq!(said.iter().filter(|m| m.role == Role::Assistant).count(), api.len(), "{name}");
        // Every call and every result, each result with its call.
        let blocks = |kind: &'static str| {
            let blocks = lines.iter().flat_map(|line| line["message"]["content"].as_array().into_iter().flatten());
            blocks.filter(move |block| block["type"] == kind).cloned().collect::<Vec<Value>>()
        };
        let calls: HashSet<&str> = said.iter().flat_map(|m| &m.tool_calls).map(|call| call.id()).collect();
        let (uses, results) = (blocks("tool_use"), blocks("tool_result"));
        assert_eq!(calls, uses.iter().map(|b| b["id"].as_str().unwrap()).collect(), "{name}");
        let answers: Vec<&str> = said.iter().filter_map(|m| m.tool_call_id.as_deref()).collect();
        assert_eq!(answers.len(), results.len(), "{name}");
        // Every word of the user and of the model.
        let everything: String = said.iter().map(|m| m.text().into_owned() + "\n").collect();
        for line in of("user").into_iter().chain(of("assistant")) {
            let content = &line["message"]["content"];
            let texts = content
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|block| block["text"].as_str())
                .chain(content.as_str());
            texts.for_each(|text| assert!(everything.contains(text), "{name}: {text:?}"));
        }
        // Parallel calls and progress are no branches; these files have no others.
        assert_eq!(trees.iter().map(forks_of).sum::<usize>(), 0, "{name}");
        for skip in &outcome.skipped {
            assert!(
                skip.code == Code::NotAConversation || skip.code == Code::BadShape && name.contains("edge_cases"),
                "{skip}"
            );
        }
    }
}

#[test]
fn every_file_of_openai_messages() {
    let all = files("tau-bench", |name| name.ends_with(".json"));
    for (name, bytes) in all.into_iter().chain(files("swe-agent", |name| name.ends_with(".traj"))) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        assert!(outcome.skipped.is_empty(), "{}", outcome.remarks());
        let raw: Value = serde_json::from_slice(&bytes).unwrap();
        let list = if let Value::Array(list) = raw { list } else { vec![raw] };
        assert_eq!(outcome.conversations.len(), list.len(), "{name}");
        for (raw, conversation) in list.iter().zip(&outcome.conversations) {
            let tree = tree(conversation);
            let leaf = tree.info().leaf.unwrap();
            let back: Vec<Value> = tree.messages(&leaf).unwrap().into_iter().map(Message::to_json).collect();
            let given = raw["traj"].as_array().or_else(|| raw["history"].as_array()).unwrap();
            assert_eq!(&back, given, "{name}");
        }
    }
}

#[test]
fn every_other_file_is_named_or_refused_in_one_remark() {
    let folders =
        ["codex-rollouts", "gemini-cli-sessions", "oasst-trees", "pi-sessions", "sharegpt", "beam", "bfcl-memory"];
    for folder in folders {
        for (name, bytes) in files(folder, |name| name.contains(".json")) {
            let outcome = read(&name, &bytes);
            assert_eq!(outcome.conversations.len(), 0, "{name}");
            assert_eq!(outcome.skipped.len(), 1, "{name}: {}", outcome.remarks());
        }
    }
}
