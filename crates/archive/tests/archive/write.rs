//! What is written for others, and read back.

use threadkeep_archive::write::{Target, Writer};
use threadkeep_core::{Entry, Message, Role, Transcript};

use crate::common::{fixture, fixtures, outline, read, tree};

/// Every fixture's trees.
fn trees(name: &str) -> Vec<Transcript> {
    read(name, &fixture(name)).conversations.iter().map(tree).collect()
}

fn written(trees: &[Transcript], target: Target, branches: bool) -> String {
    let mut text = String::new();
    let mut writer = Writer::new(target, branches);
    trees.iter().for_each(|tree| writer.transcript(tree, &mut |piece| text.push_str(&piece)));
    writer.finish(&mut |piece| text.push_str(&piece));
    text
}

fn chosen(tree: &Transcript) -> Vec<Message> {
    let leaf = tree.info().leaf.unwrap();
    tree.messages(&leaf).unwrap().into_iter().cloned().collect()
}

#[test]
fn openai_messages_come_back_as_they_were() {
    for name in &fixtures() {
        let trees = trees(name);
        let text = written(&trees, Target::OpenAiMessages, false);
        assert_eq!(text.lines().count(), trees.len(), "{name}");
        let back = read("x.jsonl", text.as_bytes());
        assert_eq!(back.remarks(), "", "{name}");
        for (given, back) in trees.iter().zip(&back.conversations) {
            let back = tree(back);
            assert_eq!(chosen(&back), chosen(given), "{name}");
            assert_eq!(back.info().title, given.info().title, "{name}");
        }
    }
}

/// What ShareGPT can say of messages.
fn plain(messages: &[Message]) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for message in messages.iter().filter(|message| message.include_in_context) {
        let role = if message.role == Role::Developer { "system" } else { message.role.as_str() };
        let parts = match &message.content {
            threadkeep_core::Content::Parts(parts) => parts
                .iter()
                .map(|p| p.as_text().map_or(format!("[{}]", p.kind()), str::to_owned))
                .collect::<Vec<_>>()
                .join("\n"),
            content => content.text().into_owned(),
        };
        if !parts.is_empty() || message.tool_calls.is_empty() {
            said.push((role.to_owned(), parts));
        }
        for call in &message.tool_calls {
            let value = |text: &str| serde_json::from_str(text).unwrap_or(serde_json::Value::String(text.to_owned()));
            said.push((role.to_owned(), format!("{} {}", call.name(), value(call.arguments()))));
        }
    }
    said
}

#[test]
fn sharegpt_comes_back_with_its_words_and_calls() {
    for name in &fixtures() {
        let trees = trees(name);
        let text = written(&trees, Target::ShareGpt, false);
        let raw: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(raw.len(), trees.len(), "{name}");
        let back = read("x.json", text.as_bytes());
        assert_eq!(back.remarks(), "", "{name}");
        for (given, back) in trees.iter().zip(&back.conversations) {
            assert_eq!(plain(&chosen(&tree(back))), plain(&chosen(given)), "{name}");
        }
    }
    assert_eq!(written(&[], Target::ShareGpt, false), "[]\n");
    assert_eq!(written(&[], Target::OpenAiMessages, false), "");
}

#[test]
fn all_branches_come_back_as_one_tree() {
    for name in ["chatgpt.json", "oasst.jsonl", "librechat.json", "gemini-cli.jsonl", "sillytavern.jsonl"] {
        for given in trees(name) {
            let text = written(std::slice::from_ref(&given), Target::OpenAiMessages, true);
            let leaves = given.nodes().filter(|placed| placed.is_leaf()).count();
            let inner = given.get(&given.info().leaf.unwrap()).is_some_and(|placed| !placed.is_leaf());
            assert_eq!(text.lines().count(), leaves + usize::from(inner), "{name}");
            let mut back: Option<Transcript> = None;
            for conversation in &read("x.jsonl", text.as_bytes()).conversations {
                let next = tree(conversation);
                match &mut back {
                    None => back = Some(next),
                    Some(tree) => {
                        assert_eq!(tree.id(), next.id(), "{name}");
                        let fresh = conversation.entries.iter().filter(|entry| match entry {
                            Entry::Node(node) => tree.get(&node.id).is_none(),
                            _ => true,
                        });
                        fresh.cloned().collect::<Vec<_>>().into_iter().for_each(|entry| tree.apply(entry).unwrap());
                    }
                }
            }
            let back = back.unwrap();
            assert_eq!(chosen(&back), chosen(&given), "{name}");
            let said = |tree: &Transcript| {
                let mut all: Vec<String> =
                    tree.nodes().flat_map(|p| &p.node.messages).map(|m| m.to_json().to_string()).collect();
                all.sort();
                all
            };
            assert_eq!(said(&back), said(&given), "{name}: {}", outline(&back));
        }
    }
}

#[test]
fn markdown_is_readable() {
    let text = written(&trees("librechat.json"), Target::Markdown, true);
    let expected = r#"# Sourdough

*librechat · 2025-03-01 08:00 UTC · 2 branches*

### System

You bake.

### User · 2025-03-01 08:00 UTC

How long must it rise?
[attachment]

### Assistant (gpt-4o) · 2025-03-01 08:00 UTC

Twelve hours.

### User · 2025-03-01 08:01 UTC

And in the fridge?

### Assistant (gpt-4o) · 2025-03-01 08:01 UTC

<details><summary>Thought</summary>

```
Cold slows it.
```

</details>

Let me look.

<details><summary>Call of <code>search</code></summary>

```json
{
  "q": "cold proof"
}
```

</details>

<details><summary>Result of <code>search</code></summary>

```
24 to 36 hours
```

</details>

### Assistant (gpt-4o) · 2025-03-01 08:01 UTC

A day and a half.

## Another branch, after “How long must it rise? [attachment]”

### Assistant (gpt-4o-mini) · 2025-03-01 08:00 UTC

The service is busy.

> **CHAT_ERROR**: The service is busy.

"#;
    assert_eq!(text, expected);
}

#[test]
fn markdown_keeps_code_whole_and_closes_what_is_open() {
    let id = threadkeep_core::MessageId::new("t").unwrap();
    let mut tree = Transcript::new(id.clone());
    let messages = vec![
        Message::user("see\n```rust\nfn main() {}"),
        Message::tool("c", "a\n````\nb"),
        Message::assistant("~~~\ncode\n~~~\ndone"),
    ];
    tree.apply(Entry::Node(Box::new(threadkeep_core::Node::new(id, None, messages)))).unwrap();
    let text = written(&[tree], Target::Markdown, false);
    assert!(text.contains("fn main() {}\n```\n\n"), "{text}");
    assert!(text.contains("\n`````\na\n````\nb\n`````\n"), "{text}");
    assert!(text.ends_with("~~~\ndone\n\n"), "{text}");
}
