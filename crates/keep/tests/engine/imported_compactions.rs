//! Compactions inside imported sessions: checkpoints like our own, in every prompt from then on.

use serde_json::{Value, json};
use threadkeep::Keep;
use threadkeep::protocol::{ContextOptions, Counting, ImportReport};
use threadkeep_compaction::overlay::CLEARED;
use threadkeep_context::MessageRef;
use threadkeep_core::Kind;
use threadkeep_provider::{Provider, validate_payload};
use threadkeep_store::MemoryStore;

use crate::folder::data;
use crate::{World, run, texts};

fn line(id: &str, parent: Option<&str>, role: &str, content: Value) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "message": {"role": role, "content": content}})
}

fn compaction(id: &str, parent: &str, summary: &str, kept: &str) -> Value {
    json!({"type": "compaction", "id": id, "parentId": parent, "summary": summary, "firstKeptEntryId": kept, "tokensBefore": 9000})
}

/// A session that was compacted twice, the second time in the middle of a turn that calls a tool.
fn session() -> Vec<Value> {
    let call = json!([{"type": "text", "text": "Looking."}, {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "log"}}]);
    let result = json!({"type": "message", "id": "r3", "parentId": "a3", "message": {"role": "toolResult", "toolCallId": "t1", "toolName": "read", "content": [{"type": "text", "text": "the log"}]}});
    vec![
        json!({"type": "session", "version": 3, "id": "boat", "cwd": "/"}),
        line("u1", None, "user", "How far is the island?".into()),
        line("a1", Some("u1"), "assistant", "Nine miles.".into()),
        line("u2", Some("a1"), "user", "Set a course.".into()),
        line("a2", Some("u2"), "assistant", "North by east.".into()),
        compaction("c1", "a2", "The island is nine miles off.", "u2"),
        line("u3", Some("c1"), "user", "What does the log say?".into()),
        line("a3", Some("u3"), "assistant", call),
        result,
        compaction("c2", "r3", "The course is north by east.", "a3"),
        line("a4", Some("c2"), "assistant", "It says nothing.".into()),
        line("u4", Some("a4"), "user", "Go on.".into()),
    ]
}

fn file(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

async fn import(keep: &Keep<MemoryStore>, text: String) -> ImportReport {
    keep.import(vec![("session.jsonl".to_owned(), text)], None, |_| {}).await.unwrap()
}

async fn export(keep: &Keep<MemoryStore>) -> String {
    let mut file = String::new();
    keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
    file
}

fn options() -> ContextOptions {
    ContextOptions { encoding: Counting::Estimate, ..ContextOptions::default() }
}

async fn prompt(keep: &Keep<MemoryStore>, at: &str, epoch: Option<&str>) -> Vec<String> {
    let options = ContextOptions { epoch: epoch.map(str::to_owned), ..options() };
    texts(&keep.context(at, &options).await.unwrap().messages)
}

#[test]
fn every_epoch_of_an_imported_session_can_be_visited() {
    let keep = World::default().tab();
    run(async {
        assert_eq!(import(&keep, file(&session())).await.skipped_count, 0);
        let epochs = keep.epochs("pi/boat/u4").await.unwrap();
        let leaves: Vec<&str> = epochs.iter().map(|epoch| epoch.leaf.as_str()).collect();
        assert_eq!(leaves, ["pi/boat/a2", "pi/boat/r3", "pi/boat/u4"]);
        // As it was before the first compaction, between the two, and after.
        let mut seen = Vec::new();
        for epoch in &epochs {
            seen.push(prompt(&keep, epoch.leaf.as_str(), Some(epoch.name())).await);
        }
        assert_eq!(seen[0], ["How far is the island?", "Nine miles.", "Set a course.", "North by east."]);
        assert!(seen[1][0].ends_with("- The island is nine miles off."), "{}", seen[1][0]);
        assert_eq!(seen[1][1..], ["Set a course.", "North by east.", "What does the log say?", "Looking.", "the log"]);
        assert!(seen[2][0].ends_with("- The course is north by east."), "{}", seen[2][0]);
        assert_eq!(seen[2][1..], ["Looking.", "the log", "It says nothing.", "Go on."]);
        // Nothing of the originals is lost, and without the checkpoints they are the prompt.
        let whole = prompt(&keep, "pi/boat/u4", Some("original")).await;
        assert_eq!(whole.len(), 9);
        assert!(whole.iter().all(|text| !text.contains("nine miles off")));
        for epoch in &epochs {
            for provider in Provider::ALL {
                let build = threadkeep_context::Options { provider, ..options().build };
                let options = ContextOptions { epoch: Some(epoch.name().to_owned()), build, ..options() };
                let reply = keep.context(epoch.leaf.as_str(), &options).await.unwrap();
                assert_eq!(validate_payload(&reply.payload, provider), [], "{provider:?} {}", epoch.name());
            }
        }
    });
}

#[test]
fn a_compaction_in_the_middle_of_the_newest_turn_leaves_its_question() {
    let keep = World::default().tab();
    run(async {
        let mut lines = session();
        lines.pop();
        assert_eq!(import(&keep, file(&lines)).await.skipped_count, 0);
        let seen = prompt(&keep, "pi/boat/a4", None).await;
        assert!(seen[0].ends_with("- The course is north by east."), "{}", seen[0]);
        // What the assistant did before the compaction is in the summary, where more follows.
        assert_eq!(seen[1..], ["What does the log say?", "Looking.", "the log", "It says nothing."]);
    });
}

#[test]
fn imported_checkpoints_come_once_and_leave_and_return_as_they_are() {
    let keep = World::default().tab();
    run(async {
        import(&keep, file(&session())).await;
        let before = keep.checkpoints("pi/boat/u4").await.unwrap();
        assert_eq!(before.len(), 2);
        let again = import(&keep, file(&session())).await;
        assert_eq!((again.added, again.updated, again.unchanged, again.skipped_count), (0, 0, 1, 0));
        // Written with other spaces, so that it is looked at node by node.
        let spaced = file(&session()).replace("\":", "\": ");
        let again = import(&keep, spaced).await;
        assert_eq!((again.added, again.updated, again.unchanged, again.skipped_count), (0, 0, 1, 0), "{again:?}");
        assert_eq!(keep.checkpoints("pi/boat/u4").await.unwrap(), before);
        let archive = export(&keep).await;
        let other = World::default().tab();
        assert_eq!(import(&other, archive.clone()).await.skipped_count, 0);
        assert_eq!(export(&other).await, archive);
        assert_eq!(other.checkpoints("pi/boat/u4").await.unwrap(), before);
        assert_eq!(other.epochs("pi/boat/u4").await.unwrap(), keep.epochs("pi/boat/u4").await.unwrap());
    });
}

#[test]
fn a_session_that_grows_has_its_checkpoints_where_they_were_made() {
    let (grown, whole) = (World::default().tab(), World::default().tab());
    run(async {
        import(&whole, file(&session())).await;
        for end in 2..=session().len() {
            import(&grown, file(&session()[..end])).await;
        }
        assert_eq!(grown.epochs("pi/boat/u4").await.unwrap(), whole.epochs("pi/boat/u4").await.unwrap());
        // Somebody went on here in the meantime, so that turns have other numbers.
        let other = World::default().tab();
        import(&other, file(&session()[..5])).await;
        other.set_head("here", &crate::id("pi/boat/a1")).await.unwrap();
        other.append("here", crate::users(2)).await.unwrap();
        import(&other, file(&session())).await;
        let covers = other.checkpoints("pi/boat/u4").await.unwrap().pop().unwrap().covers;
        let turn = other.node(&crate::id("pi/boat/u3")).await.unwrap().unwrap().turn.unwrap();
        assert_eq!(threadkeep_compaction::memory::turn_number(&turn), Some(covers.last_turn));
        assert_eq!(covers.last_turn, 6);
    });
}

#[test]
fn what_an_older_release_imported_gains_the_checkpoints_by_another_import() {
    let (keep, old) = (World::default().tab(), World::default().tab());
    run(async {
        import(&keep, file(&session())).await;
        // As it was before checkpoints came in: summaries were messages like others.
        let archive = export(&keep).await;
        let mut lines: Vec<Value> = archive.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.retain(|line| line.get("checkpoint").is_none());
        let last = lines.len() - 1;
        lines[last]["entries"] = (lines.len() - 3).into();
        let text =
            file(&lines).replace("\"include_in_context\":false,", "").replace(",\"include_in_context\":false", "");
        assert_ne!(text, file(&lines));
        assert_eq!(import(&old, text).await.skipped_count, 0);
        assert_eq!(old.checkpoints("pi/boat/u4").await.unwrap(), []);
        let report = import(&old, file(&session())).await;
        assert_eq!((report.updated, report.messages, report.skipped_count), (1, 0, 0), "{report:?}");
        let there: Vec<_> = old.checkpoints("pi/boat/u4").await.unwrap().into_iter().map(|it| it.id).collect();
        let here: Vec<_> = keep.checkpoints("pi/boat/u4").await.unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(there, here);
        let again = import(&old, file(&session())).await;
        assert_eq!((again.updated, again.unchanged), (0, 1));
        // The summaries that are messages there are in no prompt beside the checkpoints that say the same.
        for epoch in keep.epochs("pi/boat/u4").await.unwrap().iter().skip(1) {
            let here = prompt(&keep, epoch.leaf.as_str(), Some(epoch.name())).await;
            assert_eq!(prompt(&old, epoch.leaf.as_str(), Some(epoch.name())).await, here);
        }
    });
}

#[test]
fn checkpoints_that_came_in_without_sources_gain_them_by_another_import() {
    let (keep, old) = (World::default().tab(), World::default().tab());
    run(async {
        import(&keep, file(&session())).await;
        let archive = export(&keep).await;
        let mut lines: Vec<Value> = archive.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &mut lines {
            let statements = line.pointer_mut("/checkpoint/statements").and_then(Value::as_array_mut);
            for said in statements.into_iter().flatten() {
                said["sources"] = json!([]);
            }
        }
        assert_ne!(file(&lines), archive);
        import(&old, file(&lines)).await;
        let bare = old.checkpoints("pi/boat/u4").await.unwrap();
        assert!(bare.iter().flat_map(|it| &it.statements).all(|said| said.sources.is_empty()));
        let report = import(&old, file(&session())).await;
        assert_eq!((report.updated, report.messages, report.skipped_count), (1, 0, 0), "{report:?}");
        let there = keep.checkpoints("pi/boat/u4").await.unwrap();
        assert_eq!(old.checkpoints("pi/boat/u4").await.unwrap(), there);
        assert_eq!(old.epochs("pi/boat/u4").await.unwrap(), keep.epochs("pi/boat/u4").await.unwrap());
        let again = import(&old, file(&session())).await;
        assert_eq!((again.updated, again.unchanged), (0, 1));
    });
}

/// The lines of a real session.
fn real(path: &str) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(data()?.join(path)).ok()?;
    Some(serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect())
}

/// The real Claude Code session, in which results were cleared once, compacted twice as the program does it: at its end, and after one more turn.
fn claude_code() -> Option<Vec<Value>> {
    let mut lines = real("claude-code-sessions/d5-99f72ee73a-0.jsonl")?;
    let is_main = |line: &&Value| line["uuid"].is_string() && line["isSidechain"] != true;
    let mut last = lines.iter().rfind(is_main)?["uuid"].as_str()?.to_owned();
    let session = lines.iter().rfind(is_main)?["sessionId"].clone();
    for at in 0..2 {
        let [boundary, summary, asked, answered] = ["b", "s", "u", "a"].map(|name| format!("{name}-{at}"));
        let said = |uuid: &str, parent: &str, role: &str, text: &str| json!({"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": session, "timestamp": format!("2026-03-0{}T00:00:00Z", at + 1), "message": {"role": role, "content": text}});
        lines.push(json!({"type": "system", "subtype": "compact_boundary", "uuid": boundary, "parentUuid": null, "logicalParentUuid": last, "sessionId": session, "content": "Conversation compacted", "compactMetadata": {"trigger": "auto", "preTokens": 155000}}));
        let words =
            "The token usage of each session is added to the metadata of its commit.\n\nThe tests were run again.";
        let mut summary_line = said(&summary, &boundary, "user", words);
        summary_line["isCompactSummary"] = true.into();
        lines.push(summary_line);
        lines.push(said(&asked, &summary, "user", "Go on with the strategy."));
        lines.push(said(&answered, &asked, "assistant", "The strategy adds the token usage to the commit."));
        last = answered;
    }
    Some(lines)
}

/// The real pi session, a list as its first version wrote it, compacted twice, each time so that the last entries stay: from a
/// tool's result on, whose call is covered.
fn pi() -> Option<Vec<Value>> {
    let mut lines = real("pi-sessions/large-session.jsonl")?;
    let is_result = |line: &Value| line["message"]["role"] == "toolResult";
    let results: Vec<usize> = (0..lines.len()).filter(|at| is_result(&lines[*at])).collect();
    for kept in [results[results.len() / 2], results[results.len() - 3]] {
        let words = "The session was about the code.\n\nTests were run after each change.";
        lines
            .push(json!({"type": "compaction", "summary": words, "firstKeptEntryIndex": kept, "tokensBefore": 155000}));
        for (role, text) in [("user", "Go on with the change."), ("assistant", "Changed.")] {
            lines.push(json!({"type": "message", "message": {"role": role, "content": text}}));
        }
    }
    Some(lines)
}

#[test]
fn cleared_results_are_out_of_prompts_until_a_compaction_of_our_own_covers_them() {
    use threadkeep::compact::{CompactOptions, Extractive};
    let Some(lines) = real("claude-code-sessions/d5-99f72ee73a-0.jsonl") else { return };
    let keep = World::default().tab();
    run(async {
        import(&keep, file(&lines)).await;
        let leaf = keep.transcripts().await.unwrap().remove(0).info.leaf.unwrap();
        let [made] = &keep.checkpoints(leaf.as_str()).await.unwrap()[..] else { panic!("one checkpoint") };
        assert_eq!((made.cleared.len(), made.statements.len(), made.covers.messages), (11, 0, 0));
        assert!(made.tokens_before > 10 * made.tokens_after, "{} {}", made.tokens_before, made.tokens_after);
        // Without previews, which make long results short by themselves.
        let bare = || {
            let build =
                threadkeep_context::Options { previews: threadkeep_context::Previews::Never, ..options().build };
            ContextOptions { build, ..options() }
        };
        let original = ContextOptions { epoch: Some("original".to_owned()), ..bare() };
        let whole = keep.context(leaf.as_str(), &original).await.unwrap().figures.tokens;
        let now = keep.context(leaf.as_str(), &bare()).await.unwrap();
        assert_eq!(now.ledger.iter().filter(|line| line.rule == "cleared").count(), 11);
        assert_eq!(whole - now.figures.tokens, made.tokens_before - made.tokens_after);
        for source in &made.cleared {
            let carried = keep.carried(leaf.as_str(), &source.node, &[]).await.unwrap();
            assert_eq!(carried.checkpoint.as_ref(), Some(&made.id));
            // Pinned, it stays.
            let mut pinned = bare();
            pinned.pins = vec![MessageRef::InNode(source.node.to_string(), source.index as usize)];
            let pinned = keep.context(leaf.as_str(), &pinned).await.unwrap();
            assert_eq!(pinned.ledger.iter().filter(|line| line.rule == "cleared").count(), 10);
        }
        // Ours is used although its anchor may lie above, and has the originals before it.
        let target_tokens = Some(now.figures.tokens / 5);
        let compact = CompactOptions { encoding: Counting::Estimate, target_tokens, ..CompactOptions::default() };
        let done = keep.compact(leaf.as_str(), &compact, &Extractive).await.unwrap().checkpoint.unwrap();
        assert_eq!((done.previous.as_ref(), done.cleared.len()), (Some(&made.id), 0));
        let after = keep.context(leaf.as_str(), &bare()).await.unwrap();
        assert_eq!(after.checkpoint.as_ref(), Some(&done.id));
        assert!(after.figures.tokens < now.figures.tokens / 2, "{} {}", after.figures.tokens, now.figures.tokens);
        let epochs = keep.epochs(leaf.as_str()).await.unwrap();
        let names: Vec<&str> = epochs.iter().map(|epoch| epoch.name()).collect();
        assert_eq!(names, ["original", made.id.as_str(), done.id.as_str()]);
        // It goes out and comes back.
        let archive = export(&keep).await;
        let other = World::default().tab();
        import(&other, archive.clone()).await;
        assert_eq!(export(&other).await, archive);
    });
}

#[test]
fn real_sessions_of_three_programs_have_valid_prompts_in_every_epoch() {
    let sessions = [
        ("claude-code", 3, claude_code()),
        ("codex", 6, real("codex-rollouts/agent-sessions-small.jsonl")),
        ("pi", 2, pi()),
    ];
    for (program, compactions, lines) in sessions {
        let Some(lines) = lines else { return };
        let keep = World::default().tab();
        run(async {
            import(&keep, file(&lines)).await;
            let transcript = keep.transcripts().await.unwrap().remove(0);
            let leaf = transcript.info.leaf.unwrap();
            let checkpoints = keep.checkpoints(leaf.as_str()).await.unwrap();
            assert_eq!(checkpoints.len(), compactions, "{program}");
            assert!(checkpoints.iter().all(|it| it.summariser == program && it.tokens_after > 0), "{program}");
            let epochs = keep.epochs(leaf.as_str()).await.unwrap();
            assert_eq!(epochs.len(), compactions + 1, "{program}");
            for epoch in &epochs {
                for provider in Provider::ALL {
                    let build = threadkeep_context::Options { provider, ..options().build };
                    let options = ContextOptions { epoch: Some(epoch.name().to_owned()), build, ..options() };
                    let reply = keep.context(epoch.leaf.as_str(), &options).await.unwrap();
                    assert_eq!(
                        validate_payload(&reply.payload, provider),
                        [],
                        "{program} {provider:?} {}",
                        epoch.name()
                    );
                    let summaries = reply.messages.iter().filter(|it| matches!(it.kind, Kind::Summary { .. }));
                    let says = epoch.checkpoint.as_ref().is_some_and(|it| !it.statements.is_empty());
                    assert_eq!(summaries.count(), usize::from(says), "{program} {}", epoch.name());
                    // What was cleared is: the calls stay, with a mark for what they gave.
                    let marks = reply.messages.iter().filter(|it| it.text() == CLEARED).count();
                    let cleared = epoch.checkpoint.as_ref().map_or(0, |it| it.cleared.len());
                    assert_eq!(marks, cleared, "{program} {}", epoch.name());
                }
            }
            // Both ways: from what a summary says to messages that it covers, and from such a message to the checkpoint.
            let last = checkpoints.last().unwrap();
            for said in &last.statements {
                assert!(!said.sources.is_empty(), "{program}: {}", said.text);
                for source in &said.sources {
                    let carried = keep.carried(leaf.as_str(), &source.node, &[]).await.unwrap();
                    assert_eq!(carried.checkpoint.as_ref(), Some(&last.id), "{program}: {}", said.text);
                }
            }
        });
    }
}

#[test]
fn our_own_compaction_goes_on_from_an_imported_one() {
    use threadkeep::compact::{CompactOptions, Extractive};
    let keep = World::default().tab();
    run(async {
        import(&keep, file(&session())).await;
        keep.set_head("main", &crate::id("pi/boat/u4")).await.unwrap();
        for at in 0..6 {
            let long = format!("We pass buoy number {at}, and the wind turns to the west of it. ").repeat(20);
            keep.append("main", vec![threadkeep_core::Message::user(long)]).await.unwrap();
            keep.append("main", vec![threadkeep_core::Message::assistant("Noted.")]).await.unwrap();
        }
        let options = CompactOptions { encoding: Counting::Estimate, tail_turns: Some(2), ..CompactOptions::default() };
        let done = keep.compact("main", &options, &Extractive).await.unwrap();
        let made = done.checkpoint.unwrap();
        let imported = keep.checkpoints("main").await.unwrap();
        assert_eq!(made.previous.as_deref(), Some(imported[1].id.as_str()));
        assert!(made.statements.iter().any(|said| said.text.contains("north by east")), "{:?}", made.statements);
    });
}
