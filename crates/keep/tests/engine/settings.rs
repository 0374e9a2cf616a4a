//! Settings and pins: one set for the inspector, callers, compactions and agents.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep::Keep;
use threadkeep::agent::Agent;
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::mailbox::Outgoing;
use threadkeep::protocol::{
    CompactionRequest, ContextOptions, ContextParams, ContextReply, ContextSettings, Event, PromptRequest, Response,
    SettingsRequest,
};
use threadkeep_core::Message;
use threadkeep_store::{Commit, MemoryStore, Scan, Store};

use crate::agent_support::{Script, Toolbox, from_ann, options, says};
use crate::{World, code, id, run, texts, users};

fn settings(json: &Value) -> ContextSettings {
    ContextSettings::read(&json.to_string()).unwrap()
}

async fn set(keep: &Keep<MemoryStore>, at: Option<&str>, json: Value) {
    keep.set_context_options(at, &settings(&json)).await.unwrap();
}

/// The prompt of a call that says only how tokens are counted.
async fn prompt(keep: &Keep<MemoryStore>, at: &str, own: Value) -> ContextReply {
    let mut own = own;
    own["encoding"] = json!("estimate");
    let request = PromptRequest::read("context", &json!({"at": at, "options": own}).to_string()).unwrap();
    let PromptRequest::Context { at, options } = request else { panic!("a prompt") };
    let options = keep.options_at(&at, *options).await.unwrap();
    keep.context(&at, &options).await.unwrap()
}

#[test]
fn the_narrower_setting_wins_and_a_calls_own_wins_over_all() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        let first = keep.append("a", users(6)).await.unwrap();
        keep.append("b", users(6)).await.unwrap();
        let model = |reply: ContextReply| reply.payload["model"].clone();
        set(&keep, None, json!({"model": "of the keep", "budget": {"maxMessages": 5}})).await;
        set(&keep, Some(first[0].transcript.as_str()), json!({"model": "of the transcript"})).await;
        set(&keep, Some("a"), json!({"budget": {"maxMessages": 2}})).await;
        let a = prompt(&keep, "a", json!({})).await;
        assert_eq!((a.messages.len(), model(a)), (2, json!("of the transcript")));
        let b = prompt(&keep, "b", json!({})).await;
        assert_eq!((b.messages.len(), model(b)), (5, json!("of the keep")));
        // A node is at no head: its transcript counts.
        let node = prompt(&keep, first[5].id.as_str(), json!({})).await;
        assert_eq!((node.messages.len(), model(node)), (5, json!("of the transcript")));
        let own = prompt(&keep, "a", json!({"model": "own", "budget": {"maxMessages": 3}})).await;
        assert_eq!((own.messages.len(), model(own)), (3, json!("own")));
        let shown = keep.context_options(Some("a")).await.unwrap().to_json();
        assert_eq!(shown, json!({"model": "of the transcript", "budget": {"maxMessages": 2}}));
        let right_there = keep.own_context_options(Some("a")).await.unwrap().to_json();
        assert_eq!(right_there, json!({"budget": {"maxMessages": 2}}));
        // Another tab sees them, and their removal.
        let other = world.tab();
        assert_eq!(other.context_options(Some("a")).await.unwrap().to_json(), shown);
        set(&other, Some("a"), json!({})).await;
        assert_eq!(keep.own_context_options(Some("a")).await.unwrap(), ContextSettings::default());
    });
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_stored() {
    run(async {
        let keep = World::default().tab();
        let nodes = keep.append("a", users(3)).await.unwrap();
        let ask = |params: Value| SettingsRequest::read("setContextOptions", &params.to_string()).unwrap();
        let wrong = keep.setting(ask(json!({"at": "a", "options": {"budget": {"tokens": 3}}}))).await.unwrap_err();
        assert!(wrong.to_string().contains("options.budget.tokens"), "{wrong}");
        let within = keep.set_context_options(Some(nodes[1].id.as_str()), &settings(&json!({"model": "m"}))).await;
        assert_eq!(code(within), "bad-request");
        assert_eq!(keep.context_options(Some("a")).await.unwrap(), ContextSettings::default());
        // A head that is still to come has settings, too.
        set(&keep, Some("to come"), json!({"budget": {"maxMessages": 1}})).await;
        keep.append("to come", users(3)).await.unwrap();
        assert_eq!(prompt(&keep, "to come", json!({})).await.messages.len(), 1);
    });
}

#[test]
fn settings_are_deleted_with_what_they_are_for() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        let left = async || world.store.scan(&Scan::prefix("o/")).await.unwrap().len();
        let nodes = keep.append("a", users(2)).await.unwrap();
        keep.append("b", users(2)).await.unwrap();
        let transcript = nodes[0].transcript.clone();
        for at in [None, Some("a"), Some("b"), Some(transcript.as_str())] {
            set(&keep, at, json!({"systemPrompt": "secret"})).await;
        }
        assert_eq!(left().await, 4);
        keep.clear("b").await.unwrap();
        assert_eq!(left().await, 3);
        keep.delete_transcript(&transcript).await.unwrap();
        assert_eq!(left().await, 1);
        keep.delete_all().await.unwrap();
        assert_eq!(left().await, 0);
    });
}

#[test]
fn settings_that_cannot_be_read_are_named_and_can_be_set_anew() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        keep.append("a", users(2)).await.unwrap();
        let puts = vec![("o/k".to_owned(), br#"{"policy": "none of ours"}"#.to_vec())];
        world.store.commit(Commit { puts, ..Commit::default() }).await.unwrap();
        let error = keep.context_options(Some("a")).await.unwrap_err();
        assert_eq!(error.reply().code, "corrupt");
        assert!(error.to_string().contains("o/k") && error.to_string().contains("options.policy"), "{error}");
        set(&keep, None, json!({"policy": "newest"})).await;
        assert_eq!(keep.context_options(Some("a")).await.unwrap().to_json(), json!({"policy": "newest"}));
    });
}

#[test]
fn an_agent_sends_what_the_settings_of_its_conversation_say() {
    let world = World::default();
    let script = Script::of((0..9).map(|at| says(&format!("answer {at}"))));
    let lal = Agent::new(world.tab(), options("lal"), Rc::clone(&script) as _, Rc::new(Toolbox::default()));
    let keep = world.tab();
    let say = async |text: &str| {
        let mail = Outgoing { conversation: Some("c".into()), ..from_ann("lal", text) };
        keep.send(mail).await.unwrap();
        lal.catch_up(&|_| {}).await.unwrap();
    };
    run(async {
        say("first").await;
        let words = [("mode", json!("agent")), ("persona", json!("You are a pirate."))];
        set(&keep, None, words.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()).await;
        set(&keep, Some("c"), json!({"systemPrompt": "Say little."})).await;
        say("second").await;
        let sent = script.prompt(1).join("\n");
        assert!(sent.contains("You are a pirate.") && sent.contains("Say little."), "{sent}");
        let chain = keep.chain(&keep.head("c").await.unwrap().unwrap().id).await.unwrap();
        let first = chain[1].id.clone();
        // The frame has three messages, and the newest stays.
        set(&keep, Some("c"), json!({"budget": {"maxMessages": 4}})).await;
        say("third").await;
        assert!(!script.prompt(2).iter().any(|text| text.ends_with("first")), "{:?}", script.prompt(2));
        keep.pin_node(&first, true).await.unwrap();
        set(&keep, Some("c"), json!({"budget": {"maxMessages": 6}})).await;
        say("fourth").await;
        assert_eq!(script.prompt(3)[3..], ["first", "answer 0", "fourth"]);
    });
}

#[test]
fn an_agents_own_options_win_over_the_settings() {
    let world = World::default();
    let script = Script::of((0..2).map(|at| says(&format!("answer {at}"))));
    let mut own = options("lal");
    own.context.system_prompt = Some("Own words.".to_owned());
    let lal = Agent::new(world.tab(), own, Rc::clone(&script) as _, Rc::new(Toolbox::default()));
    run(async {
        let keep = world.tab();
        set(&keep, None, json!({"systemPrompt": "Words of the keep.", "memory": false})).await;
        keep.send(from_ann("lal", "hello")).await.unwrap();
        lal.catch_up(&|_| {}).await.unwrap();
        let sent = script.prompt(0).join("\n");
        assert!(sent.contains("Own words.") && !sent.contains("Words of the keep."), "{sent}");
    });
}

#[test]
fn compactions_follow_the_settings() {
    run(async {
        let keep = World::default().tab();
        for at in 0..12 {
            let said =
                ["The boiler of the house was set to sixty degrees on Monday, as agreed. ".repeat(4), at.to_string()];
            keep.append("a", vec![Message::user(said.concat()), Message::assistant("I see.")]).await.unwrap();
        }
        set(&keep, None, json!({"provider": "anthropic", "compaction": {"keepTurns": 2, "compactionThreshold": 4}}))
            .await;
        let after = async |policy: Value| {
            let params = json!({"at": "a", "promptTokens": 10, "policy": policy}).to_string();
            keep.compacting(CompactionRequest::read("afterResponse", &params).unwrap()).await.unwrap()
        };
        assert_eq!(after(json!({"compactionThreshold": 400})).await, Value::Null, "the call's own figure");
        assert_eq!(after(json!({})).await, json!("messages"));
        set(&keep, Some("a"), json!({"compaction": {"keepTurns": 2, "strategy": "sliding-window"}})).await;
        let call = |more: Value| {
            let mut call = json!({"at": "a", "encoding": "estimate"});
            call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            threadkeep::protocol::CompactCall::read(&call.to_string()).unwrap()
        };
        let how = keep.compact_options(&call(json!({}))).await.unwrap();
        assert_eq!((how.tail_turns, how.provider), (Some(2), threadkeep_provider::Provider::Anthropic));
        assert_eq!(keep.compact_options(&call(json!({"keepTurns": 1}))).await.unwrap().tail_turns, Some(1));
        let done = keep.compact("a", &how, &Extractive).await.unwrap();
        assert_eq!((done.compacted_range, done.checkpoint.unwrap().strategy.name()), (0..20, "sliding-window"));
        set(&keep, Some("a"), json!({"compaction": false})).await;
        keep.clear_compaction_request("a").await.unwrap();
        assert_eq!(after(json!({"compactionThreshold": 1})).await, Value::Null, "compaction is off");
    });
}

#[test]
fn a_strategy_that_is_chosen_for_a_thread_is_one_of_its_settings() {
    run(async {
        let keep = World::default().tab();
        keep.append("a", users(3)).await.unwrap();
        set(&keep, Some("a"), json!({"compaction": {"keepTurns": 2}})).await;
        let strategy = threadkeep_core::checkpoint::Strategy::Hierarchical;
        keep.set_strategy("a", Some(strategy)).await.unwrap();
        let shown = keep.context_options(Some("a")).await.unwrap().to_json();
        assert_eq!(shown, json!({"compaction": {"keepTurns": 2, "strategy": "hierarchical"}}));
        // The last word holds, whichever way it was said.
        set(&keep, Some("a"), json!({"compaction": {"strategy": "sliding-window"}})).await;
        assert_eq!(keep.strategy("a").await.unwrap().unwrap().name(), "sliding-window");
        keep.set_strategy("a", None).await.unwrap();
        assert_eq!(keep.strategy("a").await.unwrap(), None);
    });
}

#[test]
fn pins_stay_in_prompts_and_out_of_summaries_in_every_tab_and_after_an_import() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        let long = |at| Message::user(format!("{at}: {}", "The roof of the barn was painted blue in May. ".repeat(9)));
        let nodes = keep.append("a", (0..10).map(long).collect()).await.unwrap();
        let pinned = nodes[1].id.clone();
        keep.pin_node(&pinned, true).await.unwrap();
        keep.pin_node(&pinned, true).await.unwrap();
        let words = nodes[1].messages[0].text().into_owned();
        let few = json!({"budget": {"maxMessages": 2}});
        let other = world.tab();
        assert!(texts(&prompt(&other, "a", few.clone()).await.messages).contains(&words));
        assert_eq!(other.pins("a").await.unwrap(), std::slice::from_ref(&pinned));
        // A fork has them, and so has an export.
        keep.fork("a", "b", Some(4)).await.unwrap();
        assert_eq!(keep.pins("b").await.unwrap(), std::slice::from_ref(&pinned));
        keep.fork("a", "c", Some(1)).await.unwrap();
        assert!(keep.pins("c").await.unwrap().is_empty());
        let mut file = String::new();
        keep.export(None, |piece| file.push_str(&piece)).await.unwrap();
        let copy = World::default().tab();
        copy.import(vec![("a.jsonl".to_owned(), file.clone())], None, |_| {}).await.unwrap();
        assert_eq!(copy.pins("a").await.unwrap(), std::slice::from_ref(&pinned));
        // Who removed a pin does not get it back by an old file.
        copy.pin_node(&pinned, false).await.unwrap();
        copy.import(vec![("a.jsonl".to_owned(), file.clone())], None, |_| {}).await.unwrap();
        assert!(copy.pins("a").await.unwrap().is_empty());
        let estimated = CompactOptions {
            encoding: threadkeep::protocol::Counting::Estimate,
            tail_turns: Some(1),
            ..CompactOptions::default()
        };
        keep.compact("a", &estimated, &Extractive).await.unwrap();
        assert!(texts(&prompt(&keep, "a", json!({})).await.messages).contains(&words));
        // A deleted node takes its pin along.
        assert_eq!(code(keep.pin_node(&id("nobody"), true).await), "missing-node");
        keep.delete_branch(&pinned).await.unwrap();
        assert!(keep.pins("a").await.unwrap().is_empty() && world.tab().pins("a").await.unwrap().is_empty());
    });
}

#[test]
fn a_fit_shows_what_a_prompt_has() {
    run(async {
        let keep = World::default().tab();
        keep.append("a", users(10)).await.unwrap();
        set(&keep, Some("a"), json!({"budget": {"maxMessages": 3}})).await;
        let params = json!({"at": "a", "options": {"encoding": "estimate"}}).to_string();
        let Response::Fit(fit) = keep.prompt(PromptRequest::read("fit", &params).unwrap()).await.unwrap() else {
            panic!("a fit")
        };
        assert_eq!(fit["messages"], json!(3));
        let bare = keep.context("a", &ContextOptions::from(ContextParams::default())).await;
        assert_eq!(code(bare), "vocabulary-missing", "Rust callers say all of it themselves");
    });
}

#[test]
fn other_tabs_hear_of_settings_and_pins() {
    run(async {
        let keep = World::default().tab();
        let heard = Rc::new(std::cell::RefCell::new(Vec::new()));
        let into = Rc::clone(&heard);
        let nodes = keep.append("a", users(1)).await.unwrap();
        keep.on_event(move |event| into.borrow_mut().push(event.clone()));
        set(&keep, Some("a"), json!({"model": "m"})).await;
        keep.pin_node(&nodes[0].id, true).await.unwrap();
        let [Event::Settings { at }, Event::Changed { nodes: changed, .. }] = &heard.borrow()[..] else {
            panic!("{heard:?}")
        };
        assert_eq!((at.as_deref(), changed), (Some("a"), &vec![nodes[0].id.clone()]));
    });
}
