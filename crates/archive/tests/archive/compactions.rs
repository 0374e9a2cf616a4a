//! Compactions that other programs made come in as checkpoints, anchored at the last node that they stand for.

use serde_json::{Value, json};
use threadkeep_core::checkpoint::Checkpoint;
use threadkeep_core::{Entry, Transcript};

use crate::common::{fixture, local, read, tree};

/// The checkpoints of a tree, oldest first.
fn checkpoints(tree: &Transcript) -> Vec<&Checkpoint> {
    tree.checkpoints().map(|(_, checkpoint)| checkpoint).collect()
}

fn texts(checkpoint: &Checkpoint) -> Vec<&str> {
    checkpoint.statements.iter().map(|statement| statement.text.as_str()).collect()
}

fn lines(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

#[test]
fn a_claude_code_summary_is_anchored_before_its_boundary() {
    let session = read("session.jsonl", &fixture("claude-code.jsonl")).only();
    let [checkpoint] = checkpoints(&session)[..] else { panic!("one checkpoint") };
    assert_eq!(local(&checkpoint.anchor), "a6");
    assert_eq!(texts(checkpoint), ["This session is continued. The pump test was fixed."]);
    let covers = &checkpoint.covers;
    // The sub-agent's branch is not on the chain.
    assert_eq!((local(&covers.from), covers.nodes, covers.messages), ("ROOT", 8, 8));
    assert_eq!((covers.first_turn, covers.last_turn, checkpoint.previous.as_deref()), (1, 2, None));
    assert_eq!(checkpoint.summariser, "claude-code");
    assert!(checkpoint.tokens_before > 0 && checkpoint.tokens_after > 0);
}

#[test]
fn a_codex_compaction_covers_what_came_before_it() {
    let boat = read("rollout.jsonl", &fixture("codex.jsonl")).only();
    let [checkpoint] = checkpoints(&boat)[..] else { panic!("one checkpoint") };
    assert_eq!((local(&checkpoint.anchor), checkpoint.summariser.as_str()), ("i14", "codex"));
    // The history with which it went on, and the summary where that does not hold it.
    assert_eq!(texts(checkpoint), ["Where does it leak?", "The keel leaked; paint it green."]);
    // The turn that was taken back is on a branch of its own.
    assert_eq!((checkpoint.covers.nodes, checkpoint.covers.first_turn, checkpoint.covers.last_turn), (9, 1, 4));
}

#[test]
fn a_codex_compaction_without_a_summary_gives_the_words_of_its_replacement() {
    let message = |role: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let item = |item: Value| json!({"type": "response_item", "payload": item});
    let compacted =
        |items: Value| json!({"type": "compacted", "payload": {"message": "", "replacement_history": items}});
    let file = |history: Value| {
        lines(&[
            json!({"type": "session_meta", "payload": {"id": "s"}}),
            item(message("user", "Row.")),
            item(message("assistant", "Rowed.")),
            compacted(history),
            item(message("user", "Further.")),
        ])
    };
    let words = json!([
        message("developer", "rules"),
        message("user", "<environment_context>x</environment_context>"),
        message("user", "Row."),
        message("user", "Rowing was done.")
    ]);
    let said = read("r.jsonl", &file(words)).only();
    assert_eq!(texts(checkpoints(&said)[0]), ["Row.", "Rowing was done."]);
    assert_eq!(sources(checkpoints(&said)[0]), [vec!["i1"], vec!["i1"]]);
    // Encrypted, or nothing at all: what came before stays in prompts.
    let sealed = json!([{"type": "compaction", "encrypted_content": "gAAA"}]);
    for (silent, remarks) in [(sealed.clone(), 1), (json!([]), 0), (Value::Null, 0)] {
        let outcome = read("r.jsonl", &file(silent));
        assert_eq!(outcome.warnings.len(), remarks);
        let tree = outcome.only();
        assert_eq!(checkpoints(&tree), [] as [&Checkpoint; 0]);
        assert!(tree.messages(&tree.info().leaf.unwrap()).unwrap().iter().any(|message| message.text() == "Rowed."));
    }
    assert_eq!(
        read("r.jsonl", &file(sealed)).remarks(),
        "warning encrypted: r.jsonl, line 4: its compaction left 1 encrypted item, which only the provider that wrote it can \
         read: nothing of it can be read, so prompts go on with the history itself\n"
    );
    // Encrypted in part: what can be read stands, and what cannot is said.
    let part =
        json!([message("user", "Row."), message("user", "Row."), {"type": "compaction", "encrypted_content": "gAAA"}]);
    let outcome = read("r.jsonl", &file(part));
    assert_eq!(outcome.warnings.len(), 1);
    assert!(outcome.warnings[0].reason.ends_with("what can be read of it stands for the history before it"));
    assert_eq!(texts(checkpoints(&outcome.only())[0]), ["Row."]);
}

/// The nodes that each statement came from.
fn sources(checkpoint: &Checkpoint) -> Vec<Vec<&str>> {
    checkpoint.statements.iter().map(|said| said.sources.iter().map(|source| local(&source.node)).collect()).collect()
}

#[test]
fn imported_statements_lead_to_the_messages_that_they_came_from() {
    let session = [
        json!({"type": "session", "version": 3, "id": "p", "cwd": "/"}),
        pi(
            "message",
            "u1",
            None,
            json!({"message": {"role": "user", "content": "The parser drops the last line of a file."}}),
        ),
        pi(
            "message",
            "a1",
            Some("u1"),
            json!({"message": {"role": "assistant", "content": "The loop ended one byte early; fixed in split.rs."}}),
        ),
        pi(
            "message",
            "u2",
            Some("a1"),
            json!({"message": {"role": "user", "content": "Use tabs everywhere, never spaces."}}),
        ),
        pi("message", "a2", Some("u2"), json!({"message": {"role": "assistant", "content": "Understood."}})),
        pi(
            "compaction",
            "c1",
            Some("a2"),
            json!({"summary": "The parser dropped the last line of each file. A loop in split.rs ended one byte early.\n\nTabs are used everywhere.\n\nUnrelated gibberish.", "firstKeptEntryId": "a2"}),
        ),
        pi(
            "message",
            "u3",
            Some("c1"),
            json!({"message": {"role": "user", "content": "Release version nine on Friday."}}),
        ),
        pi("message", "a3", Some("u3"), json!({"message": {"role": "assistant", "content": "Planned."}})),
        pi(
            "compaction",
            "c2",
            Some("a3"),
            json!({"summary": "Tabs are used everywhere.\n\nVersion nine is released on Friday.", "firstKeptEntryId": "a3"}),
        ),
    ];
    let tree = read("s.jsonl", &lines(&session)).only();
    let [first, second] = checkpoints(&tree)[..] else { panic!("two checkpoints") };
    assert_eq!(sources(first), [vec!["u1", "a1"], vec!["u2"], vec![]]);
    // What the first summary said is carried on with what that came from.
    assert_eq!(sources(second), [vec!["u2"], vec!["u3"]]);
    assert_eq!(second.statements.iter().map(|said| said.level).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_pi_compaction_is_anchored_before_what_it_keeps() {
    let garden = read("session.jsonl", &fixture("pi.jsonl")).only();
    let [checkpoint] = checkpoints(&garden)[..] else { panic!("one checkpoint") };
    assert_eq!((local(&checkpoint.anchor), checkpoint.summariser.as_str()), ("a2", "pi"));
    assert_eq!(texts(checkpoint), ["There are beans."]);
    let old = read("session.jsonl", &fixture("pi-old.jsonl")).only();
    assert_eq!(local(&checkpoints(&old)[0].anchor), "e0");
}

#[test]
fn what_a_pi_compaction_keeps_begins_where_the_program_says() {
    let anchors = |first: Value| {
        let mut compaction = pi("compaction", "c", Some("m"), json!({"summary": "Talk."}));
        compaction.as_object_mut().unwrap().extend(first.as_object().unwrap().clone());
        let all = [
            json!({"type": "session", "version": 3, "id": "p", "cwd": "/"}),
            says("u1", None, "user"),
            says("a1", Some("u1"), "assistant"),
            pi("thinking_level_change", "t", Some("a1"), json!({"thinkingLevel": "low"})),
            says("u2", Some("t"), "user"),
            says("a2", Some("u2"), "assistant"),
            pi("model_change", "m", Some("a2"), json!({"modelId": "x"})),
            compaction,
        ];
        let tree = read("s.jsonl", &lines(&all)).only();
        checkpoints(&tree).iter().map(|it| local(&it.anchor).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(anchors(json!({"firstKeptEntryId": "u2"})), ["a1"]);
    // An entry that says nothing is kept with what follows it.
    assert_eq!(anchors(json!({"firstKeptEntryId": "t"})), ["a1"]);
    // The first version's numbers count the session's own line.
    assert_eq!(anchors(json!({"firstKeptEntryIndex": 4})), ["a1"]);
    assert_eq!(anchors(json!({"firstKeptEntryIndex": 3})), ["a1"]);
    assert_eq!(anchors(json!({"firstKeptEntryIndex": 2})), ["u1"]);
    assert_eq!(anchors(json!({"firstKeptEntryIndex": 1})), [] as [&str; 0]);
}

fn pi(kind: &str, id: &str, parent: Option<&str>, more: Value) -> Value {
    let mut line = json!({"type": kind, "id": id, "parentId": parent});
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line
}

fn says(id: &str, parent: Option<&str>, role: &str) -> Value {
    pi("message", id, parent, json!({"message": {"role": role, "content": format!("{role} {id}")}}))
}

/// Two compactions one after the other, and a branch from within what the second stands for.
fn twice() -> Vec<Value> {
    vec![
        json!({"type": "session", "version": 3, "id": "p", "cwd": "/"}),
        says("u1", None, "user"),
        says("a1", Some("u1"), "assistant"),
        says("u2", Some("a1"), "user"),
        says("a2", Some("u2"), "assistant"),
        pi(
            "compaction",
            "c1",
            Some("a2"),
            json!({"summary": "First.\n\nAnd:\n- this\n```\na\n\nb\n```", "firstKeptEntryId": "u2"}),
        ),
        says("u3", Some("c1"), "user"),
        says("a3", Some("u3"), "assistant"),
        says("u4", Some("a3"), "user"),
        says("a4", Some("u4"), "assistant"),
        pi("compaction", "c2", Some("a4"), json!({"summary": "Second.", "firstKeptEntryId": "u4"})),
        says("u5", Some("c2"), "user"),
        says("b4", Some("u3"), "user"),
    ]
}

#[test]
fn every_compaction_of_a_session_is_an_epoch() {
    let tree = read("s.jsonl", &lines(&twice())).only();
    let [first, second] = checkpoints(&tree)[..] else { panic!("two checkpoints") };
    assert_eq!((local(&first.anchor), local(&second.anchor)), ("a1", "a3"));
    assert_eq!(texts(first), ["First.", "And:\n- this\n```\na\n\nb\n```"]);
    assert_eq!((first.previous.as_deref(), second.previous.as_deref()), (None, Some(first.id.as_str())));
    let leaf = |name: &str| threadkeep_core::MessageId::scoped(tree.id(), name);
    let epochs = tree.epochs(&leaf("u5")).unwrap();
    let ends: Vec<(&str, usize)> = epochs.iter().map(|epoch| (local(&epoch.leaf), epoch.start)).collect();
    // The original one ends before the first summary, the next one before the second.
    assert_eq!(ends, [("a2", 0), ("a4", 2), ("u5", 7)]);
    // A branch from before what the second stands for uses the first.
    let other = tree.chain(&leaf("b4")).unwrap();
    assert_eq!(tree.checkpoint_of(&other).map(|checkpoint| &checkpoint.id), Some(&first.id));
}

#[test]
fn summaries_that_stand_for_nothing_here_stay_messages() {
    let kept = |first: &str| {
        let mut all = twice();
        all[5]["firstKeptEntryId"] = first.into();
        all.truncate(6);
        read("s.jsonl", &lines(&all)).only()
    };
    // All of it is kept, or what is kept lies nowhere above.
    let whole = kept("u1");
    assert_eq!(checkpoints(&whole), [] as [&Checkpoint; 0]);
    let summary = whole.nodes().next_back().unwrap();
    assert!(summary.node.messages[0].include_in_context);
    // An empty summary too.
    let mut empty = twice();
    empty[5]["summary"] = " ".into();
    let tree = read("s.jsonl", &lines(&empty)).only();
    assert_eq!(checkpoints(&tree).iter().map(|it| local(&it.anchor)).collect::<Vec<_>>(), ["a3"]);
    // A session that begins with the summary of another file's history has nothing to cover.
    let summary = json!({"type": "user", "uuid": "s", "parentUuid": null, "sessionId": "x", "isCompactSummary": true, "message": {"role": "user", "content": "Before."}});
    let next = json!({"type": "user", "uuid": "n", "parentUuid": "s", "sessionId": "x", "message": {"role": "user", "content": "On."}});
    let tree = read("s.jsonl", &lines(&[summary, next])).only();
    assert_eq!(checkpoints(&tree), [] as [&Checkpoint; 0]);
    assert!(tree.nodes().all(|placed| placed.node.messages.iter().all(|message| message.include_in_context)));
}

#[test]
fn a_claude_code_boundary_without_a_link_stands_behind_what_the_file_has_before_it() {
    let line = |uuid: &str, parent: Option<&str>, role: &str| json!({"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "x", "message": {"role": role, "content": uuid}});
    let boundary = |logical: Option<&str>| json!({"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": null, "logicalParentUuid": logical, "sessionId": "x", "content": "Conversation compacted"});
    let mut summary = line("s", Some("b"), "user");
    summary["isCompactSummary"] = true.into();
    for logical in [None, Some("elsewhere"), Some("a")] {
        let file = [
            line("u", None, "user"),
            line("a", Some("u"), "assistant"),
            boundary(logical),
            summary.clone(),
            line("n", Some("s"), "user"),
        ];
        let outcome = read("s.jsonl", &lines(&file));
        assert_eq!(outcome.remarks(), "");
        let tree = outcome.only();
        let [checkpoint] = checkpoints(&tree)[..] else { panic!("one checkpoint") };
        assert_eq!((local(&checkpoint.anchor), checkpoint.covers.nodes), ("a", 3));
    }
}

#[test]
fn what_claude_code_kept_of_the_history_stays_behind_its_summary() {
    let line = |uuid: &str, parent: Option<&str>, role: &str| json!({"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "x", "message": {"role": role, "content": uuid}});
    let anchors = |kept: Value| {
        let mut data = json!({"trigger": "auto", "preTokens": 9});
        data.as_object_mut().unwrap().extend(kept.as_object().unwrap().clone());
        let mut summary = line("s", Some("b"), "user");
        summary["isCompactSummary"] = true.into();
        let file = [
            line("u1", None, "user"),
            line("a1", Some("u1"), "assistant"),
            line("u2", Some("a1"), "user"),
            line("a2", Some("u2"), "assistant"),
            json!({"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": null, "logicalParentUuid": "a2", "sessionId": "x", "content": "Conversation compacted", "compactMetadata": data}),
            summary,
            line("u3", Some("s"), "user"),
        ];
        let tree = read("s.jsonl", &lines(&file)).only();
        checkpoints(&tree).iter().map(|it| local(&it.anchor).to_owned()).collect::<Vec<_>>()
    };
    let segment = |head: &str| json!({"preservedSegment": {"headUuid": head, "anchorUuid": "s", "tailUuid": "a2"}});
    assert_eq!(anchors(json!({})), ["a2"]);
    assert_eq!(anchors(segment("u2")), ["a1"]);
    assert_eq!(anchors(segment("a2")), ["u2"]);
    assert_eq!(anchors(json!({"preservedMessages": {"anchorUuid": "s", "uuids": ["u2", "a2"]}})), ["a1"]);
    // All of it was kept; or what is nowhere.
    assert_eq!(anchors(segment("u1")), [] as [&str; 0]);
    assert_eq!(anchors(segment("elsewhere")), ["a2"]);
}

#[test]
fn results_that_claude_code_cleared_are_a_checkpoint_that_covers_nothing_more() {
    let line = |uuid: &str, parent: Option<&str>, role: &str, content: Value| json!({"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "x", "message": {"role": role, "content": content}});
    let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "Read", "input": {"file": id}}]);
    let result = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": format!("what {id} holds, at length")}]);
    let micro = |uuid: &str, parent: &str, ids: Value| json!({"type": "system", "subtype": "microcompact_boundary", "uuid": uuid, "parentUuid": parent, "sessionId": "x", "content": "Context microcompacted", "microcompactMetadata": {"trigger": "auto", "preTokens": 9, "compactedToolIds": ids}});
    let mut summary = line("s", Some("b"), "user", "It was read.".into());
    summary["isCompactSummary"] = true.into();
    let file = [
        line("u", None, "user", "Read both.".into()),
        line("a1", Some("u"), "assistant", call("t1")),
        line("r1", Some("a1"), "user", result("t1")),
        line("a2", Some("r1"), "assistant", call("t2")),
        line("r2", Some("a2"), "user", result("t2")),
        micro("m1", "r2", json!(["t1", "elsewhere"])),
        line("a3", Some("m1"), "assistant", call("t3")),
        line("r3", Some("a3"), "user", result("t3")),
        micro("m2", "r3", json!(["t2"])),
        line("a4", Some("m2"), "assistant", "Read.".into()),
        json!({"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": null, "logicalParentUuid": "a4", "sessionId": "x", "content": "Conversation compacted"}),
        summary,
        line("a5", Some("s"), "assistant", call("t5")),
        line("r5", Some("a5"), "user", result("t5")),
        micro("m3", "r5", json!(["t5"])),
        line("a6", Some("m3"), "assistant", "Done.".into()),
        micro("m4", "a6", json!(["nowhere"])),
    ];
    let tree = read("s.jsonl", &lines(&file)).only();
    let found = checkpoints(&tree);
    let cleared: Vec<Vec<&str>> =
        found.iter().map(|it| it.cleared.iter().map(|source| local(&source.node)).collect()).collect();
    // The second adds to the first; a summary begins anew.
    assert_eq!(cleared, [vec!["r1"], vec!["r2", "r1"], vec![], vec!["r5"]]);
    let anchors: Vec<&str> = found.iter().map(|it| local(&it.anchor)).collect();
    assert_eq!(anchors, ["r2", "r3", "a4", "r5"]);
    assert_eq!(
        found.iter().map(|it| it.covers.nodes).collect::<Vec<_>>(),
        [0, 0, found[2].covers.nodes, found[2].covers.nodes]
    );
    assert_eq!(found.iter().map(|it| it.statements.len()).collect::<Vec<_>>(), [0, 0, 1, 1]);
    let previous: Vec<Option<&str>> = found.iter().map(|it| it.previous.as_deref()).collect();
    assert_eq!(previous[1..], [Some(found[0].id.as_str()), Some(found[1].id.as_str()), Some(found[2].id.as_str())]);
    assert!(found[0].tokens_before > 0 && found[0].tokens_after > 0);
    // Each is an epoch, and a summary covers what results were cleared before it.
    let leaf = tree.info().leaf.unwrap();
    let epochs = tree.epochs(&leaf).unwrap();
    let ids: Vec<Option<&str>> = epochs.iter().map(|epoch| epoch.checkpoint.map(|it| it.id.as_str())).collect();
    assert_eq!(ids[1..], found.iter().map(|it| Some(it.id.as_str())).collect::<Vec<_>>());
    assert_eq!(ids[0], None);
    assert_eq!(tree.checkpoint_of(&tree.chain(&leaf).unwrap()).map(|it| &it.id), Some(&found[3].id));
}

#[test]
fn the_same_bytes_give_the_same_checkpoints_and_a_longer_file_gives_them_the_same_ids() {
    let all = twice();
    let whole = read("s.jsonl", &lines(&all));
    assert_eq!(read("s.jsonl", &lines(&all)), whole);
    let early = read("s.jsonl", &lines(&all[..7])).only();
    let whole = tree(&whole.conversations[0]);
    assert_eq!(checkpoints(&early)[0], checkpoints(&whole)[0]);
    // A checkpoint comes before the node of its summary, which is out of prompts from then on.
    let log = read("s.jsonl", &lines(&all)).conversations.remove(0).entries;
    let at = log.iter().position(|entry| matches!(entry, Entry::Checkpoint(_))).unwrap();
    let Entry::Node(summary) = &log[at + 1] else { panic!("a node follows") };
    assert!(!summary.messages[0].include_in_context);
}

#[test]
fn ids_do_not_depend_on_the_way_of_reading() {
    // They were given out before compactions came in, and must stay what they were.
    let file =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":\"hello\"}]}\n";
    let ids: Vec<String> = crate::common::ids(&read("chat.jsonl", file.as_bytes()).conversations[0])
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(ids, KNOWN);
}

const KNOWN: [&str; 3] = [
    "openai-messages/7704e1b37befd060",
    "openai-messages/7704e1b37befd060/0-878467f3d36f6955",
    "openai-messages/7704e1b37befd060/1-7704e1b37befd060",
];
