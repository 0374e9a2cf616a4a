//! Reply chains as an agent with a mailbox lives them: routing, branches, aliases, the depth prefix, the built-in mail tools.
//! Chains without an agent are in `reply_chains`; the same behaviour on the page is in `tests/e2e/reply-chains.test.mjs`.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::rc::Rc;

use serde_json::json;
use threadkeep::agent::{Agent, BUILT_IN, NoTools};
use threadkeep::mailbox::{MailFilter, Outgoing};
use threadkeep::{Keep, Options};
use threadkeep_core::depth;
use threadkeep_store::{MemoryStore, Scan, Store};

use crate::agent_support::{Script, agent, box_of, calls, options, says, write};
use crate::{World, id, run, texts};

/// Ann asks, the agent answers: her message and its reply.
async fn exchange(
    keep: &Keep<MemoryStore>,
    lal: &Agent<MemoryStore>,
    text: &str,
    to: Option<&threadkeep::mailbox::Mail>,
) -> (threadkeep::mailbox::Mail, threadkeep::mailbox::Mail) {
    let asked = write(keep, text, to).await;
    lal.catch_up(&|_| {}).await.unwrap();
    let answer =
        box_of(keep, "ann").await.into_iter().rev().find(|mail| mail.reply_to.as_ref() == Some(&asked.message_id));
    (asked, answer.unwrap())
}

#[test]
fn a_reply_to_the_agents_message_continues_that_transcript_and_no_other() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("blue"), says("42"), says("because of the air")]);
        let lal = agent(&keep, &script);
        let (_, sky) = exchange(&keep, &lal, "what colour is the sky?", None).await;
        exchange(&keep, &lal, "what is six times seven?", None).await;
        exchange(&keep, &lal, "why?", Some(&sky)).await;
        assert_eq!(script.prompt(2)[1..], ["what colour is the sky?", "blue", "why?"]);
    });
}

#[test]
fn a_stand_alone_message_begins_a_transcript() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("a"), says("b"), says("c")]);
        let lal = agent(&keep, &script);
        exchange(&keep, &lal, "one", None).await;
        exchange(&keep, &lal, "two", None).await;
        // And so does one that replies to what the agent did not send.
        let foreign =
            Outgoing { reply_to: Some(id("never-seen")), from: "ann".into(), to: "lal".into(), ..Outgoing::default() };
        keep.send(Outgoing { body: "three".into(), ..foreign }).await.unwrap();
        lal.catch_up(&|_| {}).await.unwrap();
        assert_eq!(keep.roots().await.unwrap().len(), 3);
        for (at, text) in ["one", "two", "three"].into_iter().enumerate() {
            assert_eq!(script.prompt(at)[1..], [text]);
        }
    });
}

#[test]
fn replies_to_the_same_message_are_branches_that_share_their_beginning() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("which?"), says("left it is"), says("right it is")]);
        let lal = agent(&keep, &script);
        let (first, which) = exchange(&keep, &lal, "left or right?", None).await;
        let (left, _) = exchange(&keep, &lal, "left", Some(&which)).await;
        let (right, _) = exchange(&keep, &lal, "right", Some(&which)).await;
        assert_eq!(script.prompt(1)[1..], ["left or right?", "which?", "left"]);
        assert_eq!(script.prompt(2)[1..], ["left or right?", "which?", "right"]);
        let branches = keep.children(&first.message_id).await.unwrap();
        assert_eq!(branches.iter().map(|node| &node.id).collect::<Vec<_>>(), [&left.message_id, &right.message_id]);
        // The beginning is stored once: root, first exchange, two branches.
        assert_eq!(keep.stats().await.unwrap().nodes, 4);
    });
}

#[test]
fn the_agent_answers_with_reply_so_that_reply_to_is_set() {
    let keep = World::default().tab();
    run(async {
        let text = json!({ "messageNumber": "+1", "strings": ["here"], "edgeNames": [], "petNames": [] });
        let script = Script::of([calls(&[("c", "reply", text)]), says("I have replied.")]);
        let (asked, answer) = exchange(&keep, &agent(&keep, &script), "where?", None).await;
        assert_eq!(answer.reply_to, Some(asked.message_id));
        assert_eq!(answer.body.strings, ["[depth:2] here"]);
        // What it said at the end of the turn, after its reply, is not sent as well.
        assert_eq!(box_of(&keep, "ann").await.len(), 2);
    });
}

#[test]
fn outgoing_messages_carry_the_depth_of_the_transcript() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("a"), says("b"), says("c")]);
        let lal = agent(&keep, &script);
        let mut last = None;
        for (at, wanted) in [2, 4, 6].into_iter().enumerate() {
            let (asked, answer) = exchange(&keep, &lal, &format!("q{at}"), last.as_ref()).await;
            let text = answer.body.joined();
            assert_eq!(depth::parse(&text).0, Some(wanted));
            // What the text says is what the tree counts.
            assert_eq!(keep.depth(&asked.message_id).await.unwrap(), wanted);
            last = Some(answer);
        }
    });
}

#[test]
fn depth_counts_users_and_assistants_and_no_tool_results() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([calls(&[("c", "listMessages", json!({}))]), says("one")]);
        let (asked, answer) = exchange(&keep, &agent(&keep, &script), "how many?", None).await;
        // The question, the call and the answer.
        assert_eq!(depth::parse(&answer.body.joined()), (Some(3), "one"));
        assert_eq!(keep.depth(&asked.message_id).await.unwrap(), 3);
    });
}

#[test]
fn a_node_has_message_id_parent_its_own_messages_and_the_inbox_number() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("ho")]);
        let (asked, _) = exchange(&keep, &agent(&keep, &script), "hi", None).await;
        let node = keep.node(&asked.message_id).await.unwrap().unwrap();
        assert_eq!(node.id, asked.message_id);
        assert_eq!(node.origin.number, Some(1));
        assert_eq!(texts(&node.messages), ["hi", "ho"]);
        let root = keep.node(node.parent.as_ref().unwrap()).await.unwrap().unwrap();
        assert_eq!(root.parent, None);
        // No system prompt was given: the root has only what the mail tools need.
        assert!(texts(&root.messages)[0].starts_with("You have a mailbox."));
    });
}

#[test]
fn the_full_transcript_is_collected_from_leaf_to_root() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("b"), says("d")]);
        let lal = agent(&keep, &script);
        let (_, first) = exchange(&keep, &lal, "a", None).await;
        let (second, _) = exchange(&keep, &lal, "c", Some(&first)).await;
        let chain = keep.chain(&second.message_id).await.unwrap();
        let all: Vec<String> = chain.iter().flat_map(|node| texts(&node.messages)).skip(1).collect();
        assert_eq!(all, ["a", "b", "c", "d"]);
    });
}

#[test]
fn nodes_are_durable_under_their_message_id_and_loaded_when_they_are_referenced() {
    let world = World::default();
    run(async {
        let keep = world.tab();
        let (asked, answer) = exchange(&keep, &agent(&keep, &Script::of([says("b")])), "a", None).await;
        // Another program: nothing is loaded until a reply references it.
        let later = world.tab();
        assert_eq!(later.stats().await.unwrap().cached_transcripts, 0);
        let script = Script::of([says("d")]);
        exchange(&later, &agent(&later, &script), "c", Some(&answer)).await;
        assert_eq!(script.prompt(0)[1..], ["a", "b", "c"]);
        assert!(later.node(&asked.message_id).await.unwrap().is_some());
    });
}

#[test]
fn an_arriving_message_is_routed_by_reply_to_through_node_and_alias() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("b"), says("d"), says("f")]);
        let lal = agent(&keep, &script);
        let (asked, answer) = exchange(&keep, &lal, "a", None).await;
        let (by_alias, _) = exchange(&keep, &lal, "c", Some(&answer)).await;
        let (by_node, _) = exchange(&keep, &lal, "e", Some(&asked)).await;
        for mail in [by_alias, by_node] {
            assert_eq!(keep.node(&mail.message_id).await.unwrap().unwrap().parent, Some(asked.message_id.clone()));
        }
    });
}

#[test]
fn the_loop_appends_answers_and_results_until_no_tool_is_called() {
    let keep = World::default().tab();
    run(async {
        let add = |a: i64| json!({ "a": a, "b": 1 });
        let script = Script::of([calls(&[("x", "add", add(1))]), calls(&[("y", "add", add(2))]), says("2 and 3")]);
        let (asked, _) = exchange(&keep, &agent(&keep, &script), "count", None).await;
        let node = keep.node(&asked.message_id).await.unwrap().unwrap();
        let roles: Vec<&str> = node.messages.iter().map(|message| message.role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool", "assistant"]);
        assert_eq!(texts(&node.messages)[2..], ["2", "", "3", "2 and 3"]);
        // Each call of the model had all that was there until then.
        assert_eq!((0..3).map(|at| script.prompt(at).len()).collect::<Vec<_>>(), [2, 4, 6]);
        assert!(node.sealed);
    });
}

#[test]
fn an_outbound_id_becomes_an_alias_of_the_inbound_node() {
    let keep = World::default().tab();
    run(async {
        let (asked, answer) = exchange(&keep, &agent(&keep, &Script::of([says("b")])), "a", None).await;
        assert_ne!(answer.message_id, asked.message_id);
        let through = keep.node(&answer.message_id).await.unwrap().unwrap();
        assert_eq!(through, keep.node(&asked.message_id).await.unwrap().unwrap());
    });
}

#[test]
fn an_own_message_that_answers_nothing_begins_a_conversation_of_its_own() {
    let keep = World::default().tab();
    run(async {
        let text = json!({ "recipientName": "bob", "strings": ["lunch?"], "edgeNames": [], "petNames": [] });
        let script = Script::of([calls(&[("c", "send", text)]), says("I asked Bob."), says("great")]);
        let lal = agent(&keep, &script);
        exchange(&keep, &lal, "ask Bob for lunch", None).await;
        let invitation = box_of(&keep, "bob").await.remove(0);
        assert_eq!((invitation.reply_to, invitation.body.joined()), (None, "lunch?".into()));
        // The agent said it, and no user.
        let node = keep.node(&invitation.message_id).await.unwrap().unwrap();
        assert_eq!(node.messages[0].role.as_str(), "assistant");
        keep.reply("bob", 1, "yes".into()).await.unwrap();
        lal.catch_up(&|_| {}).await.unwrap();
        // What Ann said is not in it; what was said to Bob is.
        let prompt = script.prompt(2);
        assert_eq!(prompt[prompt.len() - 2..], ["lunch?".to_owned(), "[message 4 from bob]\nyes".to_owned()]);
        assert!(prompt.iter().all(|text| !text.contains("ask Bob")));
    });
}

#[test]
fn the_reply_tool_requires_message_number_strings_edge_names_and_pet_names() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("b")]);
        exchange(&keep, &agent(&keep, &script), "a", None).await;
        let payload = script.payloads.borrow()[0].clone();
        let tools = payload["tools"].as_array().unwrap();
        let reply = tools.iter().find(|tool| tool["function"]["name"] == "reply").unwrap();
        let parameters = &reply["function"]["parameters"];
        assert_eq!(parameters["required"], json!(["messageNumber", "strings", "edgeNames", "petNames"]));
        assert_eq!(parameters["properties"]["messageNumber"]["type"], "string");
    });
}

#[test]
fn list_messages_shows_message_id_and_reply_to() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("b"), calls(&[("c", "listMessages", json!({}))]), says("done")]);
        let lal = agent(&keep, &script);
        let (first, answer) = exchange(&keep, &lal, "a", None).await;
        let (asked, _) = exchange(&keep, &lal, "list", Some(&answer)).await;
        let node = keep.node(&asked.message_id).await.unwrap().unwrap();
        let listed: serde_json::Value = serde_json::from_str(&node.messages[2].text()).unwrap();
        assert_eq!(listed[0]["messageId"], json!(first.message_id));
        assert_eq!(listed[1]["replyTo"], json!(first.message_id));
        assert_eq!(listed[2]["replyTo"], json!(answer.message_id));
    });
}

#[test]
fn the_system_prompt_says_reply_to_respond_and_send_to_begin() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("b")]);
        exchange(&keep, &agent(&keep, &script), "a", None).await;
        let system = script.prompt(0)[0].clone();
        assert!(system.contains("use reply()") && system.contains("Use send() only to begin a new conversation"));
    });
}

#[test]
fn a_reply_to_an_older_message_is_threaded_there_and_continues_the_turn_that_said_it() {
    let keep = World::default().tab();
    run(async {
        // To an older message than the one that is being answered.
        let older = json!({ "messageNumber": 1, "strings": "late answer" });
        let script = Script::of([says("soon"), calls(&[("c", "reply", older)]), says("and this one too")]);
        let lal = agent(&keep, &script);
        let (first, _) = exchange(&keep, &lal, "one", None).await;
        let (second, answer) = exchange(&keep, &lal, "two", None).await;
        assert_eq!(answer.body.joined(), "[depth:3] and this one too");
        let late =
            box_of(&keep, "ann").await.into_iter().find(|mail| mail.body.joined().contains("late answer")).unwrap();
        assert_eq!(late.reply_to, Some(first.message_id));
        // It was said in the second turn: a reply to it goes on there.
        assert_eq!(keep.node(&late.message_id).await.unwrap().unwrap().id, second.message_id);
    });
}

#[test]
fn two_conversations_go_on_side_by_side() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of((0..6).map(|at| says(&format!("a{at}"))));
        let lal = agent(&keep, &script);
        let (_, a) = exchange(&keep, &lal, "chain a", None).await;
        let (_, b) = exchange(&keep, &lal, "chain b", None).await;
        exchange(&keep, &lal, "more of a", Some(&a)).await;
        exchange(&keep, &lal, "more of b", Some(&b)).await;
        assert_eq!(script.prompt(2)[1..], ["chain a", "a0", "more of a"]);
        assert_eq!(script.prompt(3)[1..], ["chain b", "a1", "more of b"]);
    });
}

#[test]
fn the_cache_stays_bounded_and_evicted_transcripts_are_loaded_again() {
    let world = World::default();
    run(async {
        let keep = world.tab_with(Options { cache_bytes: 4_000 });
        let script = Script::of((0..60).map(|at| says(&format!("answer {at} {}", "x".repeat(200)))));
        let lal = agent(&keep, &script);
        let mut first = None;
        for at in 0..30 {
            let (_, answer) = exchange(&keep, &lal, &format!("q{at}"), None).await;
            first.get_or_insert(answer);
        }
        let stats = keep.stats().await.unwrap();
        assert!(stats.cached_bytes <= 4_000 && stats.cached_transcripts < 30, "{stats:?}");
        exchange(&keep, &lal, "back to the first", first.as_ref()).await;
        assert_eq!(script.prompt(30)[1], "q0");
    });
}

#[test]
fn the_depth_prefix_stands_before_replies_only() {
    let keep = World::default().tab();
    run(async {
        let none = json!({ "messageNumber": 1, "strings": [], "edgeNames": [], "petNames": [] });
        let other = json!({ "recipientName": "bob", "strings": ["no depth here"] });
        let script = Script::of([calls(&[("r", "reply", none), ("s", "send", other)]), says("")]);
        exchange(&keep, &agent(&keep, &script), "a", None).await;
        assert_eq!(box_of(&keep, "ann").await[1].body.strings, ["[depth:2]"]);
        assert_eq!(box_of(&keep, "bob").await[0].body.strings, ["no depth here"]);
    });
}

#[test]
fn transcripts_of_dismissed_messages_can_be_collected() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let script = Script::of((0..3).map(|at| says(&format!("a{at}"))));
        let lal = agent(&keep, &script);
        let (done, answer) = exchange(&keep, &lal, "done with", None).await;
        exchange(&keep, &lal, "to stay", None).await;
        let (more, _) = exchange(&keep, &lal, "more", Some(&answer)).await;
        assert_eq!(keep.collect_dismissed("lal", None).await.unwrap(), 0);
        let mut last = 0;
        for mail in box_of(&keep, "lal").await {
            let about = [Some(&mail.message_id), mail.reply_to.as_ref()];
            if mail.message_id == more.message_id {
                last = mail.number;
            } else if [&done, &more, &answer].iter().any(|gone| about.contains(&Some(&gone.message_id))) {
                keep.dismiss("lal", mail.number).await.unwrap();
            }
        }
        // One of its messages is not dismissed yet.
        assert_eq!(keep.collect_dismissed("lal", None).await.unwrap(), 0);
        keep.dismiss("lal", last).await.unwrap();
        assert_eq!(keep.collect_dismissed("lal", None).await.unwrap(), 1);
        assert_eq!(keep.roots().await.unwrap().len(), 1);
        assert!(keep.node(&done.message_id).await.unwrap().is_none());
        // Nothing of it stays in any table, its messages in mailboxes neither.
        let store = records(&world).await;
        assert!(store.iter().all(|record| !record.contains("done with")));
        assert!(store.iter().any(|record| record.contains("to stay")));
    });
}

/// Every record of the store, as text.
async fn records(world: &World) -> Vec<String> {
    let all = world.store.scan(&Scan::range("", "\u{7f}")).await.unwrap();
    all.into_iter().map(|(key, bytes)| format!("{key} {}", String::from_utf8_lossy(&bytes))).collect()
}

#[test]
fn branches_store_their_common_beginning_once() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let script = Script::of([says("b"), says("d"), says("f")]);
        let lal = agent(&keep, &script);
        let (_, answer) = exchange(&keep, &lal, "only-once", None).await;
        exchange(&keep, &lal, "c", Some(&answer)).await;
        exchange(&keep, &lal, "e", Some(&answer)).await;
        let pages = records(&world).await.into_iter().filter(|record| record.starts_with("p/"));
        assert_eq!(pages.map(|page| page.matches("only-once").count()).sum::<usize>(), 1);
    });
}

#[test]
fn a_node_is_found_by_its_message_id() {
    let keep = World::default().tab();
    run(async {
        let (asked, _) = exchange(&keep, &agent(&keep, &Script::of([says("b")])), "a", None).await;
        assert_eq!(keep.node(&asked.message_id).await.unwrap().unwrap().id, asked.message_id);
    });
}

#[test]
fn another_answer_is_a_new_node_at_the_same_parent() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("b"), says("other b")]);
        let lal = agent(&keep, &script);
        let (asked, _) = exchange(&keep, &lal, "a", None).await;
        let again = lal.again(&asked.message_id, None, &|_| {}).await.unwrap();
        assert_eq!(texts(&again.messages), ["a", "other b"]);
        let first = keep.node(&asked.message_id).await.unwrap().unwrap();
        assert_eq!((again.parent, texts(&first.messages)), (first.parent, vec!["a".into(), "b".into()]));
    });
}

#[test]
fn another_engine_finds_nodes_by_inbound_and_outbound_id() {
    let world = World::default();
    run(async {
        let keep = world.tab();
        let (asked, answer) = exchange(&keep, &agent(&keep, &Script::of([says("b")])), "a", None).await;
        let later = world.tab();
        for id in [&asked.message_id, &answer.message_id] {
            assert_eq!(texts(&later.node(id).await.unwrap().unwrap().messages), ["a", "b"]);
        }
    });
}

#[test]
fn the_reply_tool_without_a_number_answers_the_message_at_hand() {
    let keep = World::default().tab();
    run(async {
        let text = json!({ "strings": ["without a number"] });
        let script = Script::of([says("first"), calls(&[("c", "reply", text)]), says("done")]);
        let lal = agent(&keep, &script);
        exchange(&keep, &lal, "before", None).await;
        let (asked, answer) = exchange(&keep, &lal, "a", None).await;
        assert_eq!(answer.reply_to, Some(asked.message_id));
        assert!(answer.body.joined().ends_with("without a number"));
        assert_eq!((answer.from.as_str(), answer.to.as_str()), ("lal", "ann"));
    });
}

#[test]
fn own_messages_make_aliases_also_when_they_are_seen_later() {
    let world = World::default();
    run(async {
        let keep = world.tab();
        let asked = write(&keep, "a", None).await;
        let node = keep.receive(threadkeep::protocol::Inbound {
            message_id: Some(asked.message_id.clone()),
            ..threadkeep::protocol::Inbound::new("a")
        });
        node.await.unwrap();
        keep.seal(&asked.message_id).await.unwrap();
        // Somebody else sent in the agent's name, as a host may; the agent sees it when it looks.
        let said = keep.reply("lal", 1, "from elsewhere".into()).await.unwrap();
        assert!(keep.node(&said.message_id).await.unwrap().is_none());
        agent(&keep, &Script::of([])).catch_up(&|_| {}).await.unwrap();
        assert_eq!(keep.node(&said.message_id).await.unwrap().unwrap().id, asked.message_id);
    });
}

#[test]
fn the_depth_is_a_text_prefix_in_the_first_string() {
    let keep = World::default().tab();
    run(async {
        let text = json!({ "strings": ["one ", " two"], "edgeNames": ["thing"], "petNames": ["my-thing"] });
        let script = Script::of([calls(&[("c", "reply", text)]), says("done")]);
        let (_, answer) = exchange(&keep, &agent(&keep, &script), "a", None).await;
        assert_eq!(answer.body.strings, ["[depth:2] one ", " two"]);
        assert_eq!(answer.body.joined(), "[depth:2] one @thing two");
    });
}

#[test]
fn the_outbound_id_is_captured_by_following_ones_own_messages() {
    let keep = World::default().tab();
    run(async {
        let (_, answer) = exchange(&keep, &agent(&keep, &Script::of([says("b")])), "a", None).await;
        let mut followed = keep.follow_messages("lal", 0);
        assert_eq!(followed.next().await.unwrap().from, "ann");
        let own = followed.next().await.unwrap();
        assert_eq!((own.from.as_str(), own.message_id), ("lal", answer.message_id));
    });
}

#[test]
fn a_small_cache_holds_the_transcript_that_was_used_last() {
    let world = World::default();
    run(async {
        let keep = world.tab_with(Options { cache_bytes: 1_000 });
        let script = Script::of((0..5).map(|_| says(&"y".repeat(600))));
        let lal = agent(&keep, &script);
        for at in 0..5 {
            exchange(&keep, &lal, &format!("q{at}"), None).await;
        }
        assert_eq!(keep.stats().await.unwrap().cached_transcripts, 1);
    });
}

#[test]
fn the_transcript_is_assembled_for_every_model_call() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([calls(&[("x", "add", json!({ "a": 1, "b": 2 }))]), says("3")]);
        exchange(&keep, &agent(&keep, &script), "add", None).await;
        assert_eq!(script.asked(), 2);
        assert_eq!(script.prompt(1)[1..], ["add", "", "3"]);
    });
}

#[test]
fn one_node_holds_a_message_and_everything_its_loop_produced() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([calls(&[("x", "add", json!({ "a": 1, "b": 2 }))]), says("3")]);
        let (asked, _) = exchange(&keep, &agent(&keep, &script), "add", None).await;
        assert_eq!(keep.chain(&asked.message_id).await.unwrap().len(), 2);
        assert_eq!(keep.node(&asked.message_id).await.unwrap().unwrap().messages.len(), 4);
    });
}

#[test]
fn an_alias_is_a_pointer_and_no_duplicate() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let (asked, answer) = exchange(&keep, &agent(&keep, &Script::of([says("said-once")])), "a", None).await;
        let pages = records(&world).await.into_iter().filter(|record| record.starts_with("p/"));
        assert_eq!(pages.map(|page| page.matches("said-once").count()).sum::<usize>(), 1);
        assert_eq!(keep.node(&answer.message_id).await.unwrap().unwrap().id, asked.message_id);
    });
}

#[test]
fn an_agent_without_mail_tools_and_without_a_system_prompt_sends_none() {
    let keep = World::default().tab();
    run(async {
        let script = Script::of([says("b")]);
        let mut own = options("lal");
        own.built_in.retain(|name| !BUILT_IN[..4].contains(&name.as_str()));
        let lal = Agent::new(keep.clone(), own, script.clone(), Rc::new(NoTools));
        exchange(&keep, &lal, "a", None).await;
        assert_eq!(script.prompt(0)[0], "a");
        let filter = MailFilter { limit: Some(1), ..MailFilter::default() };
        assert_eq!(keep.list_messages("ann", &filter).await.unwrap()[0].body.joined(), "[depth:2] b");
    });
}
