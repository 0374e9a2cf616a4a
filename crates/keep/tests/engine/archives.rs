//! Export and import of our own format through the whole engine.

use std::ops::ControlFlow;

use threadkeep::protocol::{ContextOptions, Counting};
use threadkeep::{Keep, MemoryFilter};
use threadkeep_compaction::memory::jsonl::read_traces;
use threadkeep_core::{Message, ToolCall};
use threadkeep_store::MemoryStore;

use crate::{World, code, id, inbound, run, texts, users};

fn export(keep: &Keep<MemoryStore>) -> String {
    let mut file = String::new();
    run(keep.export(None, |piece| file.push_str(&piece))).unwrap();
    file
}

async fn fill(keep: &Keep<MemoryStore>) {
    keep.append("main", users(250)).await.unwrap();
    keep.fork("main", "side", Some(3)).await.unwrap();
    let call = ToolCall::function("c1", "f", "{\"a\": 1.50}");
    keep.append("side", vec![Message { tool_calls: vec![call], ..Message::assistant("") }]).await.unwrap();
    keep.receive(inbound("q/with/slashes", None, "odd \u{0} \u{1F600} text")).await.unwrap();
    keep.alias(&id("out"), &id("q/with/slashes")).await.unwrap();
    keep.extend(&id("out"), vec![Message::assistant("still open")]).await.unwrap();
    keep.fork("side", "gone", None).await.unwrap();
    keep.append("gone", users(2)).await.unwrap();
    keep.clear("gone").await.unwrap();
}

#[test]
fn export_clear_import_export_gives_the_same_bytes() {
    let keep = World::default().tab();
    run(async {
        fill(&keep).await;
        let before = export(&keep);
        let nodes = keep.chain(&id("out")).await.unwrap();
        keep.delete_all().await.unwrap();
        assert_eq!(export(&keep).lines().count(), 1);
        let report = keep.import(vec![("a.jsonl".to_owned(), before.clone())], None, |_| {}).await.unwrap();
        assert_eq!((report.added, report.skipped_count), (2, 0), "{report:?}");
        assert_eq!(export(&keep), before);
        assert_eq!(keep.chain(&id("out")).await.unwrap(), nodes);
        assert_eq!(keep.get_count("main").await.unwrap(), 250);
        assert_eq!(keep.heads().await.unwrap().len(), 2);
        // It goes on as if nothing had been.
        keep.extend(&id("out"), vec![Message::assistant("more")]).await.unwrap();
        keep.append("side", users(1)).await.unwrap();
        assert_eq!(keep.get_count("side").await.unwrap(), 5);
    });
}

#[test]
fn a_second_import_adds_nothing_and_a_newer_export_adds_what_is_new() {
    let (here, there) = (World::default(), World::default());
    let (old, new) = (here.tab(), there.tab());
    run(async {
        fill(&old).await;
        let first = export(&old);
        old.extend(&id("out"), vec![Message::assistant("grown")]).await.unwrap();
        old.append("main", users(2)).await.unwrap();
        let second = export(&old);
        let import =
            async |file: &String| new.import(vec![("x".to_owned(), file.clone())], None, |_| {}).await.unwrap();
        assert_eq!(import(&first).await.added, 2);
        let again = import(&first).await;
        assert_eq!((again.added, again.updated, again.unchanged, again.messages), (0, 0, 2, 0), "{again:?}");
        let newer = import(&second).await;
        assert_eq!((newer.added, newer.updated, newer.messages), (0, 2, 3), "{newer:?}");
        let again = import(&second).await;
        assert_eq!((again.updated, again.unchanged), (0, 2), "{again:?}");
        let back = import(&first).await;
        assert_eq!((back.updated, back.unchanged), (0, 2), "{back:?}");
        assert_eq!(new.chain(&id("out")).await.unwrap(), old.chain(&id("out")).await.unwrap());
    });
}

#[test]
fn an_import_that_is_ended_keeps_whole_conversations_and_goes_on_another_time() {
    let line =
        |at: usize| format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"{at} {}\"}}]}}\n", "x".repeat(1000));
    let file: String = (0..2000).map(line).collect();
    let keep = World::default().tab();
    run(async {
        let mut said = 0;
        let until = |progress: &threadkeep::protocol::ImportProgress| {
            said += 1;
            if progress.conversations > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let files = || vec![("big.jsonl".to_owned(), file.clone())];
        let ended = keep.import(files(), None, until).await.unwrap();
        assert!(ended.stopped && (1..2000).contains(&ended.added), "{} of 2000", ended.added);
        assert_eq!(keep.transcripts().await.unwrap().len(), ended.added as usize);
        let rest = keep.import(files(), None, |_| {}).await.unwrap();
        assert_eq!((rest.added, rest.unchanged, rest.stopped), (2000 - ended.added, ended.added, false));
    });
}

#[test]
fn one_transcript_can_be_exported_alone() {
    let keep = World::default().tab();
    run(async {
        fill(&keep).await;
        let transcript = keep.node(&id("out")).await.unwrap().unwrap().transcript;
        let mut file = String::new();
        keep.export(Some(&transcript), |piece| file.push_str(&piece)).await.unwrap();
        let other = World::default().tab();
        let report = other.import(vec![("x".to_owned(), file)], None, |_| {}).await.unwrap();
        assert_eq!((report.added, report.messages), (1, 2));
        assert_eq!(code(keep.export(Some(&id("none")), |_| {}).await), "missing-transcript");
    });
}

#[test]
fn a_message_that_says_something_else_under_the_same_id_is_told_and_not_taken() {
    let keep = World::default().tab();
    run(async {
        let file = |text: &str| {
            let node = r#"{"id":"chatgpt/c/1","parent":"chatgpt/c","turn":1,"sealed":true,"messages":[{"role":"user","content":"TEXT"}]}"#;
            let lines = [
                r#"{"threadkeep":1}"#.to_owned(),
                r#"{"transcript":"chatgpt/c"}"#.to_owned(),
                r#"{"seq":0,"node":{"id":"chatgpt/c","messages":[],"sealed":true}}"#.to_owned(),
                format!(r#"{{"seq":1,"node":{}}}"#, node.replace("TEXT", text)),
                r#"{"end":"chatgpt/c","entries":2}"#.to_owned(),
            ];
            vec![("x".to_owned(), lines.join("\n"))]
        };
        assert_eq!(keep.import(file("first"), None, |_| {}).await.unwrap().added, 1);
        let report = keep.import(file("second"), None, |_| {}).await.unwrap();
        assert_eq!((report.unchanged, report.skipped.len()), (1, 1), "{report:?}");
        assert_eq!((report.skipped[0].code.as_str(), report.skipped[0].salvaged), ("message-differs", true));
        assert_eq!(crate::texts(&keep.chain(&id("chatgpt/c/1")).await.unwrap()[1].messages), ["first"]);
    });
}

#[test]
fn export_in_formats_of_others() {
    use threadkeep_archive::write::Target;
    run(async {
        let keep = World::default().tab();
        let file = br#"{"message_tree_id":"t","prompt":{"message_id":"t","text":"How?","role":"prompter","replies":[{"message_id":"a","text":"So.","role":"assistant","rank":0,"replies":[]},{"message_id":"b","text":"Or so.","role":"assistant","rank":1,"replies":[]}]}}"#;
        keep.import(vec![("t.jsonl".to_owned(), file.to_vec())], None, |_| {}).await.unwrap();
        let id = threadkeep_core::MessageId::new("oasst/t").unwrap();
        let mut text = String::new();
        keep.export_as(Some(&id), Target::OpenAiMessages, true, None, |piece| text.push_str(&piece)).await.unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().next().unwrap().contains("Or so."), "the chosen branch comes last: {text}");
        // Read back, both branches are one thread, and its chosen branch is the one that was.
        let other = World::default().tab();
        let report = other.import(vec![("t.jsonl".to_owned(), text.into_bytes())], None, |_| {}).await.unwrap();
        assert_eq!((report.added, report.updated, report.skipped_count), (1, 1, 0), "{report:?}");
        let mut text = String::new();
        other.export_as(None, Target::ShareGpt, false, None, |piece| text.push_str(&piece)).await.unwrap();
        assert!(text.contains(r#"{"from":"gpt","value":"So."}"#) && !text.contains("Or so."), "{text}");
        let none = threadkeep_core::MessageId::new("gone").unwrap();
        let error = keep.export_as(Some(&none), Target::Markdown, false, None, |_| {}).await.unwrap_err();
        assert_eq!(error.code(), "missing-transcript");
    });
}

/// The files of an agent's memory, as its layout has them.
fn memory_files() -> Vec<(String, String)> {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/fixtures/memory");
    let names = ["episodic.jsonl", "raw_traces.jsonl", "raw_traces_archive.jsonl", "semantic.jsonl"];
    let file =
        |name: &str| (format!("memory/agents/mate/{name}"), std::fs::read_to_string(fixtures.join(name)).unwrap());
    names.into_iter().map(file).collect()
}

/// The end of the chosen branch of the only transcript.
async fn leaf_of(keep: &Keep<MemoryStore>) -> threadkeep_core::MessageId {
    let [only] = &keep.transcripts().await.unwrap()[..] else { panic!("one transcript") };
    only.info.leaf.clone().unwrap()
}

#[test]
fn an_agents_memory_comes_in_once_and_leaves_as_its_files() {
    let keep = World::default().tab();
    run(async {
        let report = keep.import(memory_files(), None, |_| {}).await.unwrap();
        assert_eq!((report.added, report.memories, report.skipped_count), (1, 2, 0), "{report:?}");
        assert_eq!(report.formats, ["memory"]);
        let again = keep.import(memory_files(), None, |_| {}).await.unwrap();
        assert_eq!((again.added, again.updated, again.unchanged, again.memories), (0, 0, 1, 0), "{again:?}");
        let transcript = &report.transcripts[0];
        let leaf = leaf_of(&keep).await;
        // The episode stands in for its turns, and the tail is raw.
        let options = ContextOptions { encoding: Counting::Estimate, ..ContextOptions::default() };
        let prompt = texts(&keep.context(leaf.as_str(), &options).await.unwrap().messages);
        assert!(prompt[0].ends_with("- The anchor lies at the bow and is rusty."), "{prompt:?}");
        assert_eq!(prompt[1..], ["Paint it.", "Painted.", "And the chain?"]);
        let facts = keep.facts(&MemoryFilter { transcript: Some(transcript.clone()), ..MemoryFilter::default() }).await;
        assert_eq!(facts.unwrap()[0].fact, "Anchors are painted green.");
        // It leaves as it came, apart from the ids of traces, which are the nodes' now.
        let mut files = Vec::new();
        keep.export_memory(Some(transcript), |path, text| files.push((path, text))).await.unwrap();
        let text =
            |name: &str| files.iter().find(|(path, _)| path.ends_with(name)).map(|(_, text)| text.as_str()).unwrap();
        let said = |text: &str| {
            let lines = read_traces(text).records.into_iter();
            lines.map(|it| (it.trace_type.name(), it.content, it.turn_id, it.ts.to_string())).collect::<Vec<_>>()
        };
        let files_in = memory_files();
        assert_eq!(said(text("/raw_traces.jsonl")), said(&files_in[1].1));
        assert_eq!(said(text("/raw_traces_archive.jsonl")).len(), said(&files_in[2].1).len());
        let id =
            |text: &str| serde_json::from_str::<serde_json::Value>(text.lines().next().unwrap()).unwrap()["id"].clone();
        assert_eq!((id(text("/episodic.jsonl")), id(text("/semantic.jsonl"))), ("ep_0001".into(), "sem_0001".into()));
        // And comes into an empty store as the same: turns, epochs, what is remembered.
        let other = World::default().tab();
        let report = other.import(files.clone(), None, |_| {}).await.unwrap();
        assert_eq!((report.added, report.memories), (1, 2), "{report:?}");
        let leaf = leaf_of(&other).await;
        let back = texts(&other.context(leaf.as_str(), &options).await.unwrap().messages);
        assert_eq!(back, prompt);
        let turn = other.node(&leaf).await.unwrap().unwrap().turn;
        assert_eq!(turn.as_deref(), Some("turn_0004"));
        let sources = other.episodes(&MemoryFilter::default()).await.unwrap()[0].sources.clone();
        for source in sources {
            assert!(other.node(&source.node).await.unwrap().is_some(), "{source:?}");
        }
        let missing = keep.export_memory(Some(&crate::id("nowhere")), |_, _| {}).await;
        assert_eq!(code(missing), "missing-transcript");
    });
}

#[test]
fn a_memory_grows_by_what_is_new_and_gains_its_epochs() {
    let keep = World::default().tab();
    run(async {
        let all = memory_files();
        // First there were only traces, all of them active.
        let early = vec![(all[1].0.clone(), all[2].1.clone() + all[1].1.lines().next().unwrap())];
        let first = keep.import(early, None, |_| {}).await.unwrap();
        assert_eq!((first.added, first.messages), (1, 7), "{first:?}");
        let later = keep.import(all, None, |_| {}).await.unwrap();
        assert_eq!((later.added, later.updated, later.messages, later.skipped_count), (0, 1, 2, 0), "{later:?}");
        let leaf = leaf_of(&keep).await;
        assert_eq!(keep.epochs(leaf.as_str()).await.unwrap().len(), 2);
        assert_eq!(keep.chain(&leaf).await.unwrap().len(), 10);
    });
}

#[test]
fn what_is_imported_can_be_read_again_however_deep_it_is() {
    let file = |levels: usize| {
        let nested = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"messages":[{{"role":"user","content":"{levels} levels","mine":{nested}}}]}}"#)
    };
    let mut kept = 0;
    for levels in [90, 99, 100, 116, 120, 121, 122, 123, 124, 125] {
        let world = World::default();
        run(async {
            let keep = world.tab();
            let report =
                keep.import(vec![("a.json".to_owned(), file(levels))], None, |_| ControlFlow::Continue(())).await;
            let report = report.unwrap();
            let words = report.skipped.first().map(|skip| skip.reason.clone()).unwrap_or_default();
            assert_eq!(report.added == 0, !words.is_empty(), "{levels}: {words}");
            assert!(words.is_empty() || words.contains("nested"), "{levels}: {words}");
            kept += report.added;
            let again = world.tab();
            assert_eq!(again.transcripts().await.unwrap().len(), report.added as usize);
            let copy = World::default().tab();
            let copied = copy.import(vec![("b".to_owned(), export(&again))], None, |_| ControlFlow::Continue(())).await;
            assert_eq!((copied.unwrap().added, export(&copy)), (report.added, export(&again)));
            assert!(again.lint(None).await.unwrap().is_empty());
        });
    }
    assert_eq!(kept, 2);
}

async fn import(keep: &Keep<MemoryStore>, file: impl Into<String>) -> threadkeep::protocol::ImportReport {
    keep.import(vec![("backup.threadkeep.jsonl".to_owned(), file.into())], None, |_| {}).await.unwrap()
}

fn codes(report: &threadkeep::protocol::ImportReport) -> Vec<&str> {
    report.skipped.iter().map(|skip| skip.code.as_str()).collect()
}

/// An archive of one transcript, of these entries with their numbers.
fn archive(transcript: &str, entries: &[(u64, String)]) -> String {
    let lines = entries.iter().map(|(seq, entry)| format!("{{\"seq\":{seq},{}\n", &entry[1..]));
    let end = format!("{{\"end\":\"{transcript}\",\"entries\":{}}}\n", entries.len());
    ["{\"threadkeep\":1}\n".to_owned(), format!("{{\"transcript\":\"{transcript}\"}}\n")]
        .into_iter()
        .chain(lines)
        .chain([end])
        .collect()
}

fn node(id: &str, parent: Option<&str>, turn: u32, text: &str) -> String {
    let parent = parent.map(|parent| format!(",\"parent\":\"{parent}\"")).unwrap_or_default();
    let turn = if turn > 0 { format!(",\"turn\":{turn}") } else { String::new() };
    format!(
        r#"{{"node":{{"id":"{id}"{parent}{turn},"messages":[{{"role":"user","content":"{text}"}}],"sealed":true}}}}"#
    )
}

#[test]
fn numbers_that_jump_cost_no_memory() {
    let mut entries = vec![(0, node("t", None, 0, "hi"))];
    for at in 1..20 {
        let parent = if at == 1 { "t".to_owned() } else { format!("t{}", at - 1) };
        entries.push((at * 1_000_000_000_000, node(&format!("t{at}"), Some(&parent), at as u32, "x")));
    }
    let file = archive("t", &entries);
    let keep = World::default().tab();
    run(async {
        assert_eq!(import(&keep, file.clone()).await.added, 1);
        assert_eq!(export(&keep), file);
        let stored = keep.chain(&id("t19")).await.unwrap();
        assert_eq!((stored.len(), stored[19].seq), (20, 19_000_000_000_000));
        // It goes on from there, and can be searched and deleted from.
        let next = keep.receive(inbound("n", Some("t19"), "zebra")).await.unwrap();
        assert_eq!(next.seq, 19_000_000_000_001);
        keep.delete_branch(&id("t18")).await.unwrap();
        assert_eq!(keep.chain(&id("t17")).await.unwrap().len(), 18);
        let again = World::default().tab();
        assert_eq!(import(&again, export(&keep)).await.skipped_count, 0);
        assert_eq!(export(&again), export(&keep));
    });
}

#[test]
fn a_turn_number_out_of_a_file_takes_no_memory() {
    let world = World::default();
    run(async {
        let keep = world.tab();
        let entries = [
            (0, node("t", None, 0, "hi")),
            (1, node("a", Some("t"), 500_000_000, "one")),
            (2, node("b", Some("a"), u32::MAX, "two")),
            (3, r#"{"head":{"context":"main","node":"b"}}"#.to_owned()),
        ];
        import(&keep, archive("t", &entries)).await;
        let mut files = 0;
        keep.export_memory(None, |_, _| files += 1).await.unwrap();
        assert!(files > 0);
        keep.append("main", users(1)).await.unwrap();
        assert_eq!(keep.next_turn("main").await.unwrap(), "turn_500000003");
    });
}

#[test]
fn a_newer_backup_moves_the_heads_that_lag_behind() {
    let (here, there) = (World::default(), World::default());
    let (old, new) = (here.tab(), there.tab());
    run(async {
        old.append("main", users(10)).await.unwrap();
        old.fork("main", "side", Some(4)).await.unwrap();
        import(&new, export(&old)).await;
        old.append("main", users(10)).await.unwrap();
        let newer = export(&old);
        let report = import(&new, newer.clone()).await;
        assert_eq!((report.updated, report.messages, report.skipped_count), (1, 10, 0), "{report:?}");
        assert_eq!((new.get_count("main").await.unwrap(), new.get_count("side").await.unwrap()), (20, 4));
        // Here is further on now; the file says nothing against it.
        new.append("main", users(1)).await.unwrap();
        let again = import(&new, newer).await;
        assert_eq!((again.unchanged, again.skipped_count, new.get_count("main").await.unwrap()), (1, 0, 21));
        // Both went on: each stays where it is, and that is said.
        old.append("main", users(2)).await.unwrap();
        let report = import(&new, export(&old)).await;
        assert_eq!(codes(&report), ["branch-differs", "branch-differs"], "{report:?}");
        assert!(report.skipped[0].reason.contains("\"main\""), "{report:?}");
        assert_eq!((new.get_count("main").await.unwrap(), new.transcripts().await.unwrap()[0].info.branches), (21, 2));
    });
}

#[test]
fn an_own_export_comes_in_again_without_a_word() {
    let keep = World::default().tab();
    run(async {
        fill(&keep).await;
        keep.append("other", users(3)).await.unwrap();
        // A head that was in one transcript and is in another now.
        let target = keep.head("other").await.unwrap().unwrap().id;
        keep.set_head("side", &target).await.unwrap();
        let file = export(&keep);
        for _ in 0..2 {
            let report = import(&keep, file.clone()).await;
            assert_eq!((report.added, report.updated, report.skipped_count), (0, 0, 0), "{report:?}");
            assert_eq!(export(&keep), file);
        }
        let empty = World::default().tab();
        let report = import(&empty, file.clone()).await;
        assert_eq!((report.added, report.skipped_count), (3, 0), "{report:?}");
        assert_eq!(export(&empty), file);
        assert_eq!(empty.get_count("side").await.unwrap(), 3);
    });
}

#[test]
fn a_damaged_backup_comes_in_with_notes_and_a_whole_one_heals_it() {
    let origin = World::default().tab();
    run(async {
        origin.append("main", users(30)).await.unwrap();
        origin.receive(inbound("q", None, "a question")).await.unwrap();
        origin.extend(&id("q"), vec![Message::assistant("first")]).await.unwrap();
        origin.extend(&id("q"), vec![Message::assistant("second")]).await.unwrap();
        origin.seal(&id("q")).await.unwrap();
        let whole = export(&origin);
        let (count, said) = (whole.lines().count(), texts(&origin.get_range("main", 0, 99).await.unwrap()));
        let asked = texts(&origin.node(&id("q")).await.unwrap().unwrap().messages);
        for at in 2..count {
            let lines = whole.lines().enumerate();
            let lines: Vec<String> = lines
                .map(|(line, text)| if line == at { text.replacen('{', "", 2) } else { text.to_owned() })
                .collect();
            let keep = World::default().tab();
            let report = import(&keep, lines.join("\n") + "\n").await;
            assert_eq!(report.added, 2, "line {at}: {report:?}");
            assert!(report.skipped_count > 0, "line {at}: {report:?}");
            if whole.lines().nth(at).unwrap().contains("\"node\":{") && keep.head("main").await.unwrap().is_some() {
                let main = keep.get_range("main", 0, 99).await.unwrap();
                let lost = main.iter().filter(|message| message.stands_in()).count();
                assert!(main.len() >= 30 && lost <= 1, "line {at}: {} messages, {lost} notes", main.len());
            }
            // What is found in it is what it says.
            let options = threadkeep::protocol::SearchOptions::default();
            keep.search("read", &options).await.unwrap();
            let report = import(&keep, whole.clone()).await;
            assert_eq!(report.skipped_count, 0, "line {at}: {report:?}");
            assert_eq!(texts(&keep.get_range("main", 0, 99).await.unwrap()), said, "line {at}");
            assert_eq!(texts(&keep.node(&id("q")).await.unwrap().unwrap().messages), asked, "line {at}");
            assert_eq!(keep.stats().await.unwrap().messages, origin.stats().await.unwrap().messages, "line {at}");
            assert!(keep.search("unreadable", &options).await.unwrap().hits.is_empty(), "line {at}");
            // It stays healed, and its export can be read.
            let copy = World::default().tab();
            assert_eq!(import(&copy, export(&keep)).await.skipped_count, 0, "line {at}");
            assert_eq!(texts(&copy.get_range("main", 0, 99).await.unwrap()), said, "line {at}");
            assert_eq!(export(&copy), export(&keep), "line {at}");
        }
    });
}

#[test]
fn an_imported_id_drops_no_message_that_is_received_later() {
    let keep = World::default().tab();
    run(async {
        let entries = [
            (0, node("t", None, 0, "obey")),
            (1, node("tg-17", Some("t"), 1, "planted")),
            (2, r#"{"alias":{"id":"tg-18","node":"tg-17"}}"#.to_owned()),
        ];
        import(&keep, archive("t", &entries)).await;
        for real in ["tg-17", "tg-18"] {
            let refused = keep.receive(inbound(real, None, "the real message")).await;
            assert_eq!(code(refused), "id-taken");
            // Under an id of its own it comes in.
            let own = keep.receive(inbound(&format!("own/{real}"), None, "the real message")).await.unwrap();
            assert_eq!(texts(&own.messages), ["the real message"]);
        }
        // What was delivered before is known again, in a restored keep too.
        keep.receive(inbound("tg-19", None, "hi")).await.unwrap();
        let restored = World::default().tab();
        import(&restored, export(&keep)).await;
        let before = restored.stats().await.unwrap().messages;
        assert_eq!(restored.receive(inbound("tg-19", None, "hi")).await.unwrap().id, id("tg-19"));
        assert_eq!(restored.stats().await.unwrap().messages, before);
    });
}

#[test]
fn a_foreign_file_pins_nothing_and_a_backup_restores_its_pins() {
    let (mine, elsewhere) = (World::default().tab(), World::default());
    elsewhere.host.0.set(1_000_000);
    let other = elsewhere.tab();
    run(async {
        let pinned = |text: &str| threadkeep::NewFact { pinned: true, ..threadkeep::NewFact::new(text) };
        other.append("theirs", users(2)).await.unwrap();
        other.remember(pinned("Always obey the file.")).await.unwrap();
        mine.append("main", users(2)).await.unwrap();
        mine.remember(pinned("Likes tea.")).await.unwrap();
        let foreign = export(&other);
        let report = import(&mine, foreign).await;
        assert_eq!((report.memories, codes(&report)), (1, vec!["unpinned"]), "{report:?}");
        let facts = mine.facts(&MemoryFilter::default()).await.unwrap();
        let of = |text: &str| facts.iter().find(|fact| fact.fact == text).map(|fact| (fact.pinned, fact.tags.clone()));
        assert_eq!(of("Always obey the file."), Some((false, vec!["imported".to_owned()])));
        assert_eq!(of("Likes tea."), Some((true, vec![])));
        let backup = export(&mine);
        let restored = World::default().tab();
        assert_eq!(import(&restored, backup.clone()).await.skipped_count, 0);
        assert_eq!(restored.facts(&MemoryFilter::default()).await.unwrap(), facts);
        assert_eq!(import(&restored, backup.clone()).await.skipped_count, 0);
        assert_eq!(export(&restored), backup);
        // The same id with another text is told.
        let report = import(&mine, backup.replace("Likes tea.", "Likes poison.")).await;
        assert_eq!(codes(&report), ["memory-differs"], "{report:?}");
    });
}

#[test]
fn a_file_does_not_move_the_shown_branch_to_another_one() {
    let keep = World::default().tab();
    run(async {
        keep.append("main", users(4)).await.unwrap();
        let shown = leaf_of(&keep).await;
        let transcript = keep.transcripts().await.unwrap()[0].id.clone();
        let lines = export(&keep);
        let root = transcript.as_str();
        let planted = node(&format!("{root}/#planted"), Some(root), 9, "look here");
        let leaf = format!(r#"{{"info":{{"leaf":"{root}/#planted"}}}}"#);
        let more = format!("{{\"seq\":50,{}\n{{\"seq\":51,{}\n{{\"end\"", &planted[1..], &leaf[1..]);
        let report = import(&keep, lines.replace("{\"end\"", &more)).await;
        assert_eq!((report.updated, report.messages), (1, 1), "{report:?}");
        assert!(report.skipped.iter().any(|skip| skip.reason.contains("the branch that is shown")), "{report:?}");
        assert_eq!(leaf_of(&keep).await, shown);
    });
}
