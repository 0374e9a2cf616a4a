//! An agent's memory in its JSON Lines files: told by their content, put together by their folders.

use serde_json::json;
use threadkeep_archive::{Code, assemble};
use threadkeep_compaction::memory::Memory;
use threadkeep_core::{Role, Transcript};

use crate::common::{Outcome, check, fixture, read, tree};

/// Reads files as an import does, and puts together what belongs together.
fn read_all(files: &[(&str, &[u8])]) -> Outcome {
    let mut all = Outcome::default();
    let mut parts = Vec::new();
    for (name, bytes) in files {
        let mut outcome = read(name, bytes);
        parts.append(&mut outcome.parts);
        all.skipped.append(&mut outcome.skipped);
        all.warnings.append(&mut outcome.warnings);
    }
    assemble(parts, &mut |item| all.take(item));
    all
}

fn folder(agent: &str) -> Vec<(String, Vec<u8>)> {
    let names = ["raw_traces.jsonl", "raw_traces_archive.jsonl", "episodic.jsonl", "semantic.jsonl"];
    names.iter().map(|name| (format!("memory/agents/{agent}/{name}"), fixture(&format!("memory/{name}")))).collect()
}

fn read_folder(files: &[(String, Vec<u8>)]) -> Outcome {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    read_all(&files)
}

fn facts(outcome: &Outcome) -> Vec<(String, String)> {
    let fact = |memory: &Memory| match memory {
        Memory::Fact(fact) => Some((fact.id.clone(), fact.fact.clone())),
        Memory::Episode(_) => None,
    };
    outcome.memories.iter().filter_map(fact).collect()
}

fn only(outcome: &Outcome) -> Transcript {
    assert_eq!(outcome.conversations.len(), 1, "{}", outcome.remarks());
    tree(&outcome.conversations[0])
}

#[test]
fn the_files_of_a_folder_make_one_conversation() {
    let outcome = read_folder(&folder("mate"));
    assert_eq!(outcome.remarks(), "");
    let mate = only(&outcome);
    check(
        &mate,
        r#"
        ROOT < -
        rt_001 < ROOT turn 1 | user Where is the anchor?
        rt_002 < rt_001 | assistant look#k1({"at":"bow"})
        rt_005 < rt_002 | tool at the bow ^k1
        rt_004 < rt_005 | assistant At the bow.
        rt_006 < rt_004 turn 2 | user Is it clean?
        rt_007 < rt_006 | assistant It is rusty.
        rt_008 < rt_007 turn 3 | user Paint it.
        rt_009 < rt_008 | assistant Painted.
        rt_010 < rt_009 turn 4 | user And the chain?
        leaf rt_010 of "mate"
        "#,
    );
    let [checkpoint] = mate.checkpoints().map(|(_, it)| it).collect::<Vec<_>>()[..] else { panic!("one checkpoint") };
    assert_eq!(checkpoint.statements[0].text, "The anchor lies at the bow and is rusty.");
    assert!(checkpoint.anchor.as_str().ends_with("/rt_007"));
    assert_eq!((checkpoint.covers.first_turn, checkpoint.covers.last_turn, checkpoint.covers.nodes), (1, 2, 7));
    assert_eq!(checkpoint.statements[0].sources.len(), 6);
    // Made before the turn that began after it, so that the epoch before ends there.
    let epochs = mate.epochs(&mate.info().leaf.unwrap()).unwrap();
    assert!(epochs[0].leaf.as_str().ends_with("/rt_009"));
    let id = format!("{}/sem_0001", mate.id());
    assert_eq!(facts(&outcome), [(id, "Anchors are painted green.".to_owned())]);
    assert!(outcome.memories.iter().all(|memory| match memory {
        Memory::Episode(episode) =>
            episode.transcript.as_ref() == Some(mate.id()) && checkpoint.episodes == [episode.id.clone()],
        Memory::Fact(fact) => fact.transcript.as_ref() == Some(mate.id()),
    }));
}

#[test]
fn order_and_names_of_the_files_do_not_matter() {
    let expected = read_folder(&folder("mate"));
    let mut files = folder("mate");
    files.reverse();
    let turned = read_folder(&files);
    assert_eq!(turned.conversations[0].entries, expected.conversations[0].entries);
    for (at, (name, _)) in files.iter_mut().enumerate() {
        *name = format!("memory/agents/mate/{at}");
    }
    assert_eq!(read_folder(&files).conversations[0].entries, expected.conversations[0].entries);
    // All of it in one file, and zipped or not: the folder is what tells agents apart.
    let whole: Vec<u8> = files.into_iter().flat_map(|(_, bytes)| bytes).collect();
    let outcome = read_all(&[("memory/agents/mate/all.jsonl", &whole)]);
    assert_eq!(outcome.conversations[0].entries, expected.conversations[0].entries);
    let loose = read_all(&[("all.jsonl", &whole)]);
    assert_eq!(only(&loose).nodes().len(), 10);
}

#[test]
fn agents_of_other_folders_are_others() {
    let mut files = folder("mate");
    files.extend(folder("cook"));
    let outcome = read_folder(&files);
    assert_eq!(outcome.conversations.len(), 2);
    let ids: std::collections::HashSet<String> = facts(&outcome).into_iter().map(|(id, _)| id).collect();
    // Both call their fact `sem_0001`.
    assert_eq!(ids.len(), 2);
}

#[test]
fn a_memory_that_grows_keeps_its_ids_when_turns_move_to_the_archive() {
    let whole = read_folder(&folder("mate"));
    // Before the compaction all traces were in the active file.
    let active: Vec<u8> = [fixture("memory/raw_traces_archive.jsonl"), fixture("memory/raw_traces.jsonl")].concat();
    let early = read_all(&[("memory/agents/mate/raw_traces.jsonl", &active)]);
    assert_eq!(early.conversations[0].transcript, whole.conversations[0].transcript);
    let (early, late) = (only(&early), only(&whole));
    for placed in early.nodes() {
        assert_eq!(late.get(&placed.node.id).map(|known| &known.node), Some(&placed.node));
    }
}

#[test]
fn a_working_context_alone_is_a_conversation_and_beside_traces_it_is_made_of_them() {
    let text = json!({"messages": [
        {"role": "system", "content": "Be a mate.", "toolPayload": null},
        {"role": "user", "content": "Where is it?", "toolPayload": null},
        {"role": "assistant", "content": null, "toolPayload": {"toolCalls": [{"id": "k", "name": "look", "arguments": {}}]}},
        {"role": "tool", "content": null, "toolPayload": {"toolCallId": "k", "toolName": "look", "toolResult": ["bow"], "toolError": null}}
    ]})
    .to_string();
    let alone = read_all(&[("working_context_snapshot.json", text.as_bytes())]);
    let tree = only(&alone);
    let roles: Vec<Role> = tree.nodes().flat_map(|it| it.node.messages.iter().map(|m| m.role.clone())).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool]);
    assert_eq!(tree.info().source, "memory");
    let mut files = folder("mate");
    files.push(("memory/agents/mate/working_context_snapshot.json".to_owned(), text.into_bytes()));
    let outcome = read_folder(&files);
    assert_eq!((outcome.conversations.len(), outcome.codes()), (1, (vec![Code::NotAConversation], vec![])));
}

#[test]
fn lines_that_are_none_are_named_and_the_others_come_in() {
    let good = String::from_utf8(fixture("memory/raw_traces.jsonl")).unwrap();
    let bad = [
        r#"{"id":"x","turn_id":"turn_0001","seq":1,"trace_type":"sigh","ts":1.0}"#,
        r#"{"id":"x","turn_id":"turn_0001","seq":-1,"trace_type":"user","ts":1.0}"#,
        r#"{"id":"x","turn_id":"turn_0001","seq":1,"trace_type":"user","ts":"now"}"#,
        r#"{"id":"e","summary":"s","turn_ids":["one"],"ts":1.0}"#,
        r#"{"id":"f","fact":5,"confidence":0.5,"ts":1.0}"#,
        r#"{"id":"f","fact":"x","confidence":5,"ts":1.0}"#,
    ];
    let outcome = read_all(&[("a/raw_traces.jsonl", format!("{}\n{good}", bad.join("\n")).as_bytes())]);
    assert_eq!(outcome.codes().0, [Code::BadShape; 6], "{}", outcome.remarks());
    assert_eq!(only(&outcome).nodes().len(), 4);
    // Turns without numbers stay in the order of their times; a trace that is there twice counts once.
    let odd = |id: &str, ts: &str| {
        json!({"id": id, "ts": serde_json::from_str::<serde_json::Value>(ts).unwrap(), "turn_id": "t", "seq": 1, "trace_type": "user", "content": id, "source_event": ""}).to_string()
    };
    let text = [odd("b", "2.5"), odd("a", "1.5"), odd("b", "2.5"), odd("c", "1e3")].join("\n");
    let tree = only(&read_all(&[("raw_traces.jsonl", text.as_bytes())]));
    let said: Vec<String> =
        tree.nodes().flat_map(|it| it.node.messages.iter().map(|m| m.text().into_owned())).collect();
    assert_eq!(said, ["a", "b", "c"]);
}

#[test]
fn two_traces_of_one_id_that_differ_are_both_kept() {
    let trace = |id: &str, text: &str| {
        json!({"id": id, "ts": 1.0, "turn_id": "turn_0001", "seq": 1, "trace_type": "user", "content": text, "source_event": ""}).to_string()
    };
    let text = [trace("a", "one"), trace("a", "other"), trace("a", "one")].join("\n");
    let outcome = read_all(&[("raw_traces.jsonl", text.as_bytes())]);
    let tree = only(&outcome);
    let said: Vec<String> =
        tree.nodes().flat_map(|it| it.node.messages.iter().map(|m| m.text().into_owned())).collect();
    assert_eq!((said, outcome.codes().1), (vec!["one".to_owned(), "other".to_owned()], vec![Code::DuplicateId]));
}

#[test]
fn many_episodes_take_no_longer_than_their_number() {
    let trace = |at: usize| json!({"id": format!("r{at}"), "ts": at, "turn_id": format!("turn_{at:04}"), "seq": 1, "trace_type": "user", "content": "x", "source_event": ""});
    let episode = |at: usize| json!({"id": format!("ep_{at}"), "ts": at, "turn_ids": [format!("turn_{at:04}")], "summary": "s", "tags": [], "salience": 0.5});
    let lines: Vec<String> = (1..3000).flat_map(|at| [trace(at).to_string(), episode(at).to_string()]).collect();
    let tree = only(&read_all(&[("all.jsonl", lines.join("\n").as_bytes())]));
    assert_eq!((tree.nodes().len(), tree.checkpoints().count()), (3000, 50));
    assert_eq!(tree.checkpoints().next_back().unwrap().1.statements.len(), 2999);
}
