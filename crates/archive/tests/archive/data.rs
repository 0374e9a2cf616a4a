//! Real archives, where they are at hand: each comes in whole, by counts that are made here from the raw JSON.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use threadkeep_archive::{Code, own};
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
                skip.code == Code::NotAConversation
                    || [Code::BadShape, Code::DuplicateId].contains(&skip.code) && name.contains("edge_cases"),
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
    let folders = ["beam", "bfcl-memory"];
    for folder in folders {
        for (name, bytes) in files(folder, |name| name.contains(".json")) {
            let outcome = read(&name, &bytes);
            assert_eq!(outcome.conversations.len(), 0, "{name}");
            assert_eq!(outcome.skipped.len(), 1, "{name}: {}", outcome.remarks());
        }
    }
}

/// Where the children of a raw message lie, the tree's nodes and its forks are these.
fn nested(value: &Value, children: &str, parent: &str, id: &str, found: &mut Vec<(String, String)>) {
    let own = value[id].as_str().unwrap();
    found.push((own.to_owned(), parent.to_owned()));
    for child in value[children].as_array().into_iter().flatten() {
        nested(child, children, own, id, found);
    }
}

/// A tree holds just these nodes under these parents, as many forks, and the words of each.
fn check_links(name: &str, tree: &Transcript, expected: &[(String, String)]) {
    let is = |placed: &&threadkeep_core::transcript::Placed| placed.node.parent.is_some();
    let found: HashSet<(String, String)> = tree
        .nodes()
        .filter(is)
        .map(|p| (local(&p.node.id).to_owned(), local(p.node.parent.as_ref().unwrap()).to_owned()))
        .collect();
    assert_eq!(found, expected.iter().cloned().collect(), "{name}");
    assert_eq!(forks_of(tree), forks(expected.iter().map(|(_, parent)| parent.clone())), "{name}");
}

fn said_by(tree: &Transcript, id: &str) -> String {
    let node = tree.nodes().find(|placed| local(&placed.node.id) == id).unwrap();
    node.node.messages.iter().map(|message| message.text().into_owned()).collect()
}

#[test]
fn every_librechat_file() {
    for (name, bytes) in files("chatgpt-librechat-openwebui", |name| name.starts_with("librechat")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        assert_eq!(outcome.remarks(), "", "{name}");
        let raw: Value = serde_json::from_slice(&bytes).unwrap();
        let tree = tree(&outcome.conversations[0]);
        let mut links = Vec::new();
        for message in raw["messages"].as_array().unwrap() {
            let parent =
                message["parentMessageId"].as_str().filter(|up| !up.starts_with("00000000-")).unwrap_or("ROOT");
            nested(message, "children", parent, "messageId", &mut links);
        }
        check_links(&name, &tree, &links);
        let mut open: Vec<&Value> = raw["messages"].as_array().unwrap().iter().collect();
        while let Some(message) = open.pop() {
            assert_eq!(
                said_by(&tree, message["messageId"].as_str().unwrap()),
                message["text"].as_str().unwrap(),
                "{name}"
            );
            open.extend(message["children"].as_array().into_iter().flatten());
        }
    }
}

#[test]
fn every_open_webui_and_chatbot_ui_file() {
    for (name, bytes) in files("chatgpt-librechat-openwebui", |name| name.starts_with("openwebui")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        assert_eq!(outcome.remarks(), "", "{name}");
        let raw: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(outcome.conversations.len(), raw.len());
        for (raw, conversation) in raw.iter().zip(&outcome.conversations) {
            let (tree, history) = (tree(conversation), &raw["chat"]["history"]);
            let message =
                |m: &Value| (m["id"].as_str().unwrap().to_owned(), m["parentId"].as_str().unwrap_or("ROOT").to_owned());
            let links: Vec<_> = history["messages"].as_object().unwrap().values().map(message).collect();
            check_links(&name, &tree, &links);
            assert_eq!(local(&tree.info().leaf.unwrap()), history["currentId"].as_str().unwrap());
        }
    }
    for (name, bytes) in files("chatgpt-librechat-openwebui", |name| name.starts_with("chatbotui")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        let raw: Value = serde_json::from_slice(&bytes).unwrap();
        for (raw, conversation) in raw["history"].as_array().unwrap().iter().zip(&outcome.conversations) {
            let tree = tree(conversation);
            let said: Vec<String> = tree.nodes().skip(1).map(|p| p.node.messages[0].text().into_owned()).collect();
            let given: Vec<&str> =
                raw["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap()).collect();
            assert_eq!(said, given, "{name}");
        }
    }
}

#[test]
fn every_oasst_tree_and_sharegpt_conversation() {
    for (name, bytes) in files("oasst-trees", |name| name.ends_with("_tree.jsonl")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        let lines = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>().map(Result::unwrap);
        let (mut nodes, mut branching) = (0, 0);
        for (raw, conversation) in lines.zip(&outcome.conversations) {
            let mut links = Vec::new();
            nested(&raw["prompt"], "replies", "ROOT", "message_id", &mut links);
            let tree = tree(conversation);
            check_links(&name, &tree, &links);
            nodes += links.len();
            branching += forks_of(&tree);
            // Down the best ranks.
            let mut at = &raw["prompt"];
            let rank = |reply: &&Value| reply["rank"].as_i64().unwrap_or(i64::MAX);
            while let Some(next) = at["replies"].as_array().unwrap().iter().min_by_key(rank) {
                at = next;
            }
            assert_eq!(local(&tree.info().leaf.unwrap()), at["message_id"].as_str().unwrap());
            assert_eq!(said_by(&tree, at["message_id"].as_str().unwrap()), at["text"].as_str().unwrap());
        }
        println!("{name}: {nodes} nodes, {branching} forks");
    }
    for (name, bytes) in files("sharegpt", |name| name.ends_with(".json")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        assert_eq!(outcome.remarks(), "", "{name}");
        let raw: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(outcome.conversations.len(), raw.len());
        for (raw, conversation) in raw.iter().zip(&outcome.conversations) {
            let tree = tree(conversation);
            let said: Vec<String> = tree.nodes().skip(1).map(|p| p.node.messages[0].text().into_owned()).collect();
            let given: Vec<&str> =
                raw["conversations"].as_array().unwrap().iter().map(|t| t["value"].as_str().unwrap()).collect();
            assert_eq!(said, given, "{name}");
        }
    }
}

#[test]
fn every_gemini_file() {
    for (name, bytes) in files("gemini-cli-sessions", |name| name.ends_with(".json")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        assert_eq!(outcome.remarks(), "", "{name}");
        let raw: Value = serde_json::from_slice(&bytes).unwrap();
        let messages = raw["messages"].as_array().unwrap();
        let tree = tree(&outcome.conversations[0]);
        assert_eq!(tree.nodes().len(), messages.len() + 1, "{name}");
        assert_eq!(forks_of(&tree), 0);
        let said: Vec<&Message> = tree.nodes().flat_map(|p| &p.node.messages).collect();
        let calls: Vec<&str> = said.iter().flat_map(|m| &m.tool_calls).map(|call| call.id()).collect();
        let given = messages.iter().flat_map(|m| m["toolCalls"].as_array().into_iter().flatten());
        assert_eq!(calls, given.map(|call| call["id"].as_str().unwrap()).collect::<Vec<_>>(), "{name}");
        let answers: Vec<&str> = said.iter().filter_map(|m| m.tool_call_id.as_deref()).collect();
        assert_eq!(answers, calls, "{name}");
        for message in messages {
            let calls = message["toolCalls"].as_array().map_or(0, Vec::len);
            let id = message["id"].as_str().unwrap();
            let id = &if calls == 0 { id.to_owned() } else { format!("{id}+{calls}") };
            let text = message["content"].as_str().unwrap();
            assert!(said_by(&tree, id).contains(text), "{name}: {id}");
        }
    }
    for (name, bytes) in files("polylogue-fixtures", |name| name.starts_with("gemini")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        assert_eq!(outcome.remarks(), "", "{name}");
        let raw: Value = serde_json::from_slice(&bytes).unwrap();
        let chunks = raw["chunkedPrompt"]["chunks"].as_array().unwrap();
        let tree = tree(&outcome.conversations[0]);
        let thoughts = chunks.iter().filter(|chunk| chunk["isThought"] == true).count();
        assert_eq!(tree.nodes().len(), chunks.len() - thoughts + 1, "{name}");
        let branches: HashSet<&str> = chunks.iter().filter_map(|c| c["branchParent"]["id"].as_str()).collect();
        assert_eq!(forks_of(&tree), branches.len(), "{name}");
        let everything: String = tree
            .nodes()
            .flat_map(|p| &p.node.messages)
            .map(|m| m.text().into_owned() + m.reasoning.as_deref().unwrap_or(""))
            .collect();
        assert!(chunks.iter().filter_map(|c| c["text"].as_str()).all(|text| everything.contains(text)), "{name}");
    }
    for (name, bytes) in files("chatgpt-claude-gemini-shapes", |name| name.starts_with("gemini")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        let raw: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
        let prompts = raw
            .iter()
            .filter(|row| row["safeHtmlItem"].is_array() || row["title"].as_str().unwrap().starts_with("Prompted "));
        assert_eq!(outcome.conversations.len(), prompts.count(), "{name}");
        assert_eq!(outcome.skipped.len(), raw.len() - outcome.conversations.len(), "{name}");
    }
}

/// The lines of a file as values.
fn lines(bytes: &[u8]) -> Vec<Value> {
    serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().map(Result::unwrap).collect()
}

#[test]
fn every_codex_file() {
    let all = files("codex-rollouts", |name| name.ends_with(".jsonl"));
    for (name, bytes) in all.into_iter().chain(files("polylogue-fixtures", |name| name.starts_with("codex"))) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        assert!(outcome.skipped.iter().all(|skip| skip.code == Code::NotAConversation), "{name}");
        let lines = lines(&bytes);
        let tree = tree(&outcome.conversations[0]);
        assert_eq!(tree.id().as_str(), format!("codex/{}", lines[0]["payload"]["id"].as_str().unwrap()));
        let said: Vec<&Message> = tree.nodes().flat_map(|p| &p.node.messages).collect();
        let items: Vec<&Value> = lines.iter().filter(|l| l["type"] == "response_item").map(|l| &l["payload"]).collect();
        let of = |end: &str| items.iter().filter(|i| i["type"].as_str().unwrap().ends_with(end)).count();
        // What providers ran themselves has no result of its own: it is part of what was said.
        let hosted = items.iter().filter(|i| i["type"] == "web_search_call" || i["type"] == "image_generation_call");
        let calls = said.iter().map(|m| m.tool_calls.len()).sum::<usize>();
        assert_eq!(calls, of("_call") - hosted.count(), "{name}");
        assert_eq!(said.iter().filter(|m| m.role == Role::Tool).count(), of("_output") + of("_result"), "{name}");
        let users = items.iter().filter(|i| i["role"] == "user" || i["type"] == "agent_message").count();
        let compactions = lines.iter().filter(|l| l["type"] == "compacted").count();
        assert_eq!(said.iter().filter(|m| m.role == Role::User).count(), users + compactions, "{name}");
        // Each that says something stands for all before it.
        let summaries = lines.iter().filter(|l| l["type"] == "compacted").map(|l| &l["payload"]);
        let says = |payload: &&Value| {
            let history = payload["replacement_history"].as_array().into_iter().flatten();
            let mut parts = history.flat_map(|item| item["content"].as_array().into_iter().flatten());
            payload["message"] != "" || parts.any(|part| part["text"].as_str().is_some_and(|text| !text.is_empty()))
        };
        let made: Vec<_> = tree.checkpoints().map(|(_, checkpoint)| checkpoint).collect();
        assert_eq!(made.len(), summaries.clone().filter(says).count(), "{name}");
        for (payload, checkpoint) in summaries.filter(says).zip(&made) {
            let said: Vec<&str> = checkpoint.statements.iter().map(|statement| statement.text.as_str()).collect();
            let said = said.join("\n\n");
            assert!(said.contains(payload["message"].as_str().unwrap().trim()), "{name}");
            // What the program went on with is there, and none of it twice.
            let history = payload["replacement_history"].as_array().into_iter().flatten();
            let history = history.filter(|item| item["role"] == "user" || item["role"] == "assistant");
            for part in history.flat_map(|item| item["content"].as_array().into_iter().flatten()) {
                let text = part["text"].as_str().unwrap_or_default().trim();
                assert!(said.contains(text) || text.starts_with('<'), "{name}: {text}");
            }
        }
        let sealed =
            lines.iter().filter(|l| l["type"] == "compacted" && l.to_string().contains("\"encrypted_content\""));
        assert_eq!(outcome.warnings.iter().filter(|w| w.code == Code::Encrypted).count(), sealed.count(), "{name}");
        assert!(made.windows(2).all(|pair| pair[0].covers.nodes < pair[1].covers.nodes), "{name}");
        let epochs = tree.epochs(&tree.info().leaf.unwrap()).unwrap();
        assert_eq!(epochs.len(), made.len() + 1, "{name}");
        let everything: String = said.iter().map(|m| m.text().into_owned() + "\n").collect();
        for item in items.iter().filter(|item| item["type"] == "message") {
            let texts = item["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
            texts.for_each(|text| assert!(everything.contains(text), "{name}: {text}"));
        }
        assert_eq!(forks_of(&tree), 0, "{name}");
    }
}

#[test]
fn every_pi_file() {
    for (name, bytes) in files("pi-sessions", |name| name.ends_with(".jsonl")) {
        let outcome = read(&name, &bytes);
        check_all(&name, &bytes, &outcome);
        assert!(outcome.skipped.iter().all(|skip| skip.code == Code::NotAConversation), "{name}");
        let lines = lines(&bytes);
        let messages: Vec<&Value> =
            lines.iter().filter(|line| line["type"] == "message").map(|line| &line["message"]).collect();
        let tree = tree(&outcome.conversations[0]);
        assert_eq!(tree.nodes().len(), messages.len() + 1, "{name}");
        assert_eq!(forks_of(&tree), 0, "{name}");
        for (raw, placed) in messages.iter().zip(tree.nodes().skip(1)) {
            let said = &placed.node.messages[0];
            let parts = raw["content"].as_array().unwrap();
            let of = |kind: &'static str| parts.iter().filter(move |part| part["type"] == kind);
            let texts: Vec<&str> = of("text").map(|part| part["text"].as_str().unwrap()).collect();
            assert_eq!(said.text(), texts.join("\n"), "{name}");
            let calls: Vec<&str> = of("toolCall").map(|part| part["id"].as_str().unwrap()).collect();
            assert_eq!(said.tool_calls.iter().map(|call| call.id()).collect::<Vec<_>>(), calls, "{name}");
            assert_eq!(said.tool_call_id.as_deref(), raw["toolCallId"].as_str(), "{name}");
            assert_eq!(said.extra.get("pi").map_or(&Value::Null, |pi| &pi["usage"]), &raw["usage"], "{name}");
        }
    }
}
