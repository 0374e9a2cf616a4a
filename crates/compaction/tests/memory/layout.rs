//! The JSON Lines layout: what is written is read, whatever it holds; what is no record is named.

use proptest::prelude::*;
use threadkeep_compaction::memory::jsonl::{
    messages, read_episodes, read_facts, read_traces, read_working_context, traces, write_episodes, write_facts,
    write_traces, write_working_context,
};
use threadkeep_compaction::memory::{Episode, Fact, FactKind, MemoryOrigin, Share, steps};
use threadkeep_core::checkpoint::Source;
use threadkeep_core::message::ToolCall;
use threadkeep_core::{Message, Role};

use crate::{calling, chain, id};

fn share() -> impl Strategy<Value = Share> {
    (0..=1000u16).prop_map(Share::of)
}

fn sources() -> impl Strategy<Value = Vec<Source>> {
    prop::collection::vec(("[a-z]{1,5}", 0..9u32), 0..3)
        .prop_map(|all| all.into_iter().map(|(node, index)| Source { node: id(&node), index }).collect())
}

prop_compose! {
    fn episodes()(
        name in "[ -~]{1,12}", created_at in -9_000_000_000_000..9_000_000_000_000i64, home in prop::option::of("[a-z]{1,4}"),
        turns in prop::collection::vec(1..20_000u32, 0..4), summary in "\\PC{0,40}", tags in prop::collection::vec("\\PC{0,8}", 0..3),
        salience in share(), sources in sources(), pinned: bool, agent in prop::option::of("\\PC{0,8}"), origin in 0..4usize,
    ) -> Episode {
        let (transcript, origin) = (home.map(|home| id(&home)), Some(MemoryOrigin::ALL[origin]));
        Episode { id: name, created_at, transcript, turns, summary, tags, salience, sources, pinned, agent, origin }
    }
}

prop_compose! {
    fn facts()(
        name in "[ -~]{1,12}", created_at in -9_000_000_000_000..9_000_000_000_000i64, home in prop::option::of("[a-z]{1,4}"),
        kind in 0..4usize, fact in "\\PC{0,40}", tags in prop::collection::vec("[a-z ]{0,8}", 0..3),
        confidence in share(), salience in share(), sources in sources(), pinned: bool, superseded_by in prop::option::of("[a-z]{1,4}"),
        agent in prop::option::of("\\PC{0,8}"), origin in 0..4usize,
    ) -> Fact {
        let (kind, transcript, origin) = (FactKind::ALL[kind], home.map(|home| id(&home)), Some(MemoryOrigin::ALL[origin]));
        Fact {
            id: name, created_at, transcript, kind, fact, tags, confidence, salience, sources, pinned, superseded_by, agent, origin,
        }
    }
}

/// Messages as the layout can say them: an assistant's calls have arguments in JSON, a tool's answer has its name.
fn said() -> impl Strategy<Value = Vec<Message>> {
    let one = (0..4u8, "\\PC{0,20}", 0..3usize, any::<bool>()).prop_map(|(role, text, calls, flag)| match role {
        0 => vec![Message::user(text)],
        1 => vec![Message::assistant(text)],
        2 => vec![Message { tags: vec!["final".into()], ..Message::user(text) }],
        _ => {
            let all: Vec<ToolCall> = (0..=calls)
                .map(|at| ToolCall::function(format!("c{at}"), "tool", format!("{{\"at\":{at}}}")))
                .collect();
            let answers = all.iter().map(|call| Message {
                name: Some("tool".into()),
                is_error: flag,
                ..Message::tool(call.id(), text.clone())
            });
            let answers: Vec<Message> = answers.collect();
            let mut asking = Message { tool_calls: all, ..Message::assistant(text.clone()) };
            if text.is_empty() {
                asking.content = threadkeep_core::Content::Null;
            }
            [vec![asking], answers].concat()
        }
    });
    prop::collection::vec(one, 0..6).prop_map(|all| {
        let all: Vec<Message> = all.concat();
        [vec![Message::user("begin")], all].concat()
    })
}

proptest! {
    #[test]
    fn episodes_turn_back(all in prop::collection::vec(episodes(), 0..4)) {
        let text = write_episodes(&all);
        let read = read_episodes(&text);
        prop_assert_eq!(&read.bad, &[]);
        prop_assert_eq!(&read.records, &all);
        prop_assert_eq!(write_episodes(&read.records), text);
    }

    #[test]
    fn facts_turn_back(all in prop::collection::vec(facts(), 0..4)) {
        let read = read_facts(&write_facts(&all));
        prop_assert_eq!(read.bad, []);
        // A fact without a kind of its own takes one that stands among its tags.
        for (read, wrote) in read.records.iter().zip(&all) {
            let tagged = read.kind != wrote.kind && wrote.kind == FactKind::Other;
            prop_assert!(read == wrote || tagged, "{:?} {:?}", read, wrote);
        }
    }

    #[test]
    fn messages_and_traces_turn_back(all in said()) {
        let nodes = chain(all.clone());
        let lines = traces(&steps(&nodes));
        let text = write_traces(&lines);
        let read = read_traces(&text);
        prop_assert_eq!(&read.bad, &[]);
        prop_assert_eq!(&read.records, &lines);
        let made: Vec<Message> = messages(&read.records).into_iter().map(|it| it.2).collect();
        prop_assert_eq!(made, all);
    }

    #[test]
    fn the_working_context_turns_back(all in said()) {
        let plain: Vec<Message> = all.into_iter().map(|message| Message { tags: vec![], ..message }).collect();
        let text = write_working_context(&plain);
        let read = read_working_context(&text).unwrap();
        prop_assert_eq!(write_working_context(&read), text);
        for (read, wrote) in read.iter().zip(&plain) {
            prop_assert_eq!((&read.role, read.text(), &read.tool_calls), (&wrote.role, wrote.text(), &wrote.tool_calls));
            prop_assert_eq!((&read.tool_call_id, read.is_error), (&wrote.tool_call_id, wrote.is_error));
        }
    }

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,80}") {
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        prop_assert!(read_traces(&text).bad.len() <= lines);
        let _ = (read_episodes(&text), read_facts(&text), read_working_context(&text));
    }
}

#[test]
fn unknown_fields_of_a_trace_come_back_in_their_order() {
    let line = "{\"id\":\"a\",\"ts\":1.2345678,\"turn_id\":\"turn_0001\",\"seq\":1,\"trace_type\":\"user\",\"content\":\"x\",\
                \"source_event\":\"E\",\"zebra\":[1.5],\"correlation_id\":\"k\",\"tool_result_ref\":\"f\"}\n";
    let read = read_traces(line);
    assert_eq!(write_traces(&read.records), line);
    assert_eq!(read.records[0].millis(), Some(1234));
}

#[test]
fn lines_that_are_no_records_are_named_and_the_others_come_in() {
    let good = r#"{"id":"ep","ts":1.0,"turn_ids":[],"summary":"s","tags":[],"salience":0.5}"#;
    let text = [
        "\u{feff}",
        good,
        "\n\n{\n",
        "[]\n",
        &good.replace("1.0", "\"x\""),
        "\n",
        &good.replace("[],\"summary\"", "[\"one\"],\"summary\""),
        "\n",
        &good.replace("0.5", "5"),
        "\n",
        good,
    ]
    .concat();
    let read = read_episodes(&text);
    assert_eq!(read.records.len(), 2);
    assert_eq!(read.bad.iter().map(|bad| bad.0).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    assert!(
        read.bad[2].1.contains("`ts`") && read.bad[3].1.contains("`turn_ids`") && read.bad[4].1.contains("`salience`")
    );
}

#[test]
fn media_become_parts_and_turn_back() {
    let line = concat!(
        r#"{"id":"n0/0","ts":0.0,"turn_id":"turn_0001","seq":1,"trace_type":"user","content":"see","source_event":"LLMUserMessageReadyEvent","media":{"images":["https://example.org/a.png"],"audio":[],"video":[]}}"#,
        "\n"
    );
    let made = messages(&read_traces(line).records);
    let json = made[0].2.to_json();
    assert_eq!(json["content"][1]["image_url"]["url"], "https://example.org/a.png");
    let nodes = chain(vec![made[0].2.clone()]);
    let again = traces(&steps(&nodes));
    assert_eq!(again[0].more["media"]["images"][0], "https://example.org/a.png");
    assert_eq!(again[0].content, "see");
}

#[test]
fn calls_of_one_message_come_together_and_those_of_two_do_not() {
    let two = Message {
        tool_calls: vec![ToolCall::function("a", "x", "{}"), ToolCall::function("b", "y", "{}")],
        ..Message::assistant("Both.")
    };
    let all = vec![Message::user("go"), two, calling("c", "z", "{}"), Message::tool("a", "1")];
    let made: Vec<Message> = messages(&traces(&steps(&chain(all)))).into_iter().map(|it| it.2).collect();
    assert_eq!(made.iter().map(|message| message.tool_calls.len()).collect::<Vec<_>>(), [0, 2, 1, 0]);
    assert_eq!((&made[3].role, made[3].name.as_deref()), (&Role::Tool, Some("x")));
}
