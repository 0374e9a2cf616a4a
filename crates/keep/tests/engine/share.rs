//! Exports for others: threads without secrets, and without what is their owner's.

use threadkeep::{Keep, KeepError, NewFact, Personal, Secret, Sharing};
use threadkeep_archive::secret::find;
use threadkeep_archive::write::Target;
use threadkeep_core::{Message, MessageId};
use threadkeep_store::MemoryStore;

use crate::folder::data;
use crate::{World, run};

const KEY: &str = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// A thread with secrets in its title, a text, a call's arguments, a result and another branch; memory and settings with the same.
async fn told(keep: &Keep<MemoryStore>) -> Result<MessageId, KeepError> {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"sh","arguments":"{\"run\":\"git\\nghp_KEY\"}"}}]}"#;
    let call: Message = serde_json::from_str(&call.replace("KEY", KEY)).unwrap();
    let result = format!(r#"{{"role":"tool","tool_call_id":"c","content":"postgres://ann:{KEY}@db/app"}}"#);
    let said = vec![
        Message::user(format!("my key is ghp_{KEY}, write to ann@example.com")),
        call,
        serde_json::from_str(&result).unwrap(),
        Message::assistant("Done."),
    ];
    let nodes = keep.append("chat", said).await?;
    keep.fork("chat", "other", Some(0)).await?;
    keep.append("other", vec![Message::assistant(format!("It was sk-ant-api03-{KEY}"))]).await?;
    let root = nodes[0].transcript.clone();
    keep.rename(&root, format!("About ghp_{KEY}")).await?;
    let fact = NewFact { transcript: Some(root.clone()), ..NewFact::new(format!("the key is ghp_{KEY}")) };
    keep.remember(fact).await?;
    Ok(root)
}

async fn shared(keep: &Keep<MemoryStore>, root: &MessageId, sharing: &Sharing) -> (String, Vec<Secret>) {
    let mut text = String::new();
    let found = keep.export_shared(Some(root), sharing, |piece| text.push_str(&piece)).await.unwrap();
    (text, found)
}

#[test]
fn a_shared_thread_has_no_secret_and_comes_in_as_a_whole_tree() {
    run(async {
        let keep = World::default().tab();
        let root = told(&keep).await.unwrap();
        let (text, found) = shared(&keep, &root, &Sharing::default()).await;
        assert!(!text.contains(KEY), "{text}");
        let kinds: Vec<_> = found.iter().map(|one| one.kind.as_str()).collect();
        let expected = ["GitHub token", "GitHub token", "password in a URL", "Anthropic key", "GitHub token"];
        assert_eq!(kinds, expected);
        assert!(found.iter().all(|one| one.replaced && one.transcript.as_ref() == Some(&root)), "{found:?}");
        assert!(found[0].node.is_some() && found[4].node.is_none());
        assert_eq!(
            (found[1].field.as_str(), found[4].field.as_str()),
            ("node.messages.0.tool_calls.0.function.arguments", "info.title")
        );
        for owned in ["\"fact\"", "\"settings\"", "\"request\""] {
            assert!(!text.contains(owned), "{owned} is its owner's");
        }
        // The original is as it was.
        let mut own = String::new();
        keep.export(Some(&root), |piece| own.push_str(&piece)).await.unwrap();
        assert_eq!(own.matches(KEY).count(), 6);
        let other = World::default().tab();
        let report = other.import(vec![("shared".to_owned(), text)], None, |_| {}).await.unwrap();
        assert_eq!((report.added, report.skipped.len()), (1, 0), "{report:?}");
        let [before, after] = [keep.tree(&root).await.unwrap(), other.tree(&root).await.unwrap()];
        assert_eq!(before.len(), after.len());
        assert!(before.iter().zip(&after).all(|(a, b)| (&a.id, &a.parent) == (&b.id, &b.parent)));
    });
}

#[test]
fn finds_that_are_none_stay_and_what_is_personal_goes_on_request() {
    run(async {
        let keep = World::default().tab();
        let root = told(&keep).await.unwrap();
        let (text, found) = shared(&keep, &root, &Sharing { also: vec![Personal::Emails], leave: vec![0, 3] }).await;
        assert_eq!(found[1].kind, "e-mail address");
        assert!(!text.contains("ann@example") && text.contains("xxx@xxxxxxx.xxx"), "{text}");
        assert_eq!(found.iter().filter(|one| !one.replaced).count(), 2);
        assert_eq!(text.matches(KEY).count(), 2);
    });
}

#[test]
fn other_formats_are_shared_without_secrets_too() {
    run(async {
        let keep = World::default().tab();
        let root = told(&keep).await.unwrap();
        for target in [Target::Markdown, Target::OpenAiMessages, Target::ShareGpt] {
            let mut text = String::new();
            let sharing = Sharing::default();
            let write = |piece: String| text.push_str(&piece);
            let found = keep.export_as(Some(&root), target, true, Some(&sharing), write).await.unwrap();
            assert_eq!(found.len(), 5, "{target:?}");
            assert!(!text.contains(KEY) && text.contains("my key is ghp_xxxx"), "{text}");
        }
    });
}

#[test]
fn hardly_anything_in_real_sessions_looks_like_a_secret() {
    let Some(data) = data() else { return };
    let (mut lines, mut found) = (0, Vec::new());
    let mut folders = vec![data];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                // Lines of code stand in strings of JSON.
                lines += text.matches("\\n").count() + text.lines().count();
                found.extend(
                    find(&text, &[]).into_iter().map(|one| format!("{}: {}", one.kind, &text[one.start..one.end])),
                );
            }
        }
    }
    eprintln!("{} finds in {lines} lines: {found:?}", found.len());
    assert!(found.len() * 10_000 <= lines, "more than one line in 10,000: {found:?}");
}
