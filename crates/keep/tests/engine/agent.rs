//! Agents: what happens when models, tools, programs and people do what they do.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Poll;

use serde_json::{Value, json};
use threadkeep::agent::{Agent, AgentEvent, AgentOptions, By, ToolAnswer, ToolUse, Tools, TurnLimits};
use threadkeep::mailbox::Mail;
use threadkeep::model::Model;
use threadkeep::protocol::{ContextParams, Event, NodeInfo};
use threadkeep_context::{Budget, Preview};
use threadkeep_core::Message;
use threadkeep_core::message::Kind;
use threadkeep_core::read::Off;
use threadkeep_provider::{Completion, Delta, Provider, ToolSchema, Usage, validate_payload};
use threadkeep_store::MemoryStore;

use crate::agent_support::{
    Breathing, Said, Script, Toolbox, agent, box_of, breath, calls, counted, fails, from_ann, options, says, words,
    write,
};
use crate::{World, code, run, texts};

/// The same agent, opened by a program that carries on what another one began.
fn resuming(world: &World, script: &Rc<Script>, tools: &Rc<Toolbox>) -> Agent<MemoryStore> {
    let own = AgentOptions { resume: true, ..options("lal") };
    Agent::new(world.tab(), own, Rc::clone(script) as Rc<dyn Model>, tools.clone())
}

fn with_tools(world: &World, script: &Rc<Script>, tools: &Rc<Toolbox>) -> Agent<MemoryStore> {
    Agent::new(world.tab(), options("lal"), Rc::clone(script) as Rc<dyn Model>, tools.clone())
}

async fn node_of(lal: &Agent<MemoryStore>, mail: &Mail) -> NodeInfo {
    lal.keep().node(&mail.message_id).await.unwrap().unwrap()
}

fn error_of(message: &Message) -> (&str, &str) {
    match &message.kind {
        Kind::Error { code, reason } => (code, reason),
        other => panic!("no error: {other:?}"),
    }
}

/// A chain is valid for every provider, whatever happened in it.
async fn assert_valid(lal: &Agent<MemoryStore>, node: &NodeInfo) {
    for provider in Provider::ALL {
        let own = ContextParams { provider: Some(provider), ..lal.options().context.clone() };
        let options = lal.keep().options_at(node.id.as_str(), own).await.unwrap();
        let prompt = lal.keep().context(node.id.as_str(), &options).await.unwrap();
        let findings = validate_payload(&prompt.payload, provider);
        assert!(findings.is_empty(), "{findings:?}");
    }
}

/// A tool that takes a second and a half.
struct Timed(World);

impl Tools for Timed {
    fn call(&self, _: ToolUse) -> ToolAnswer<'_> {
        Box::pin(async {
            self.0.host.pass(1_500);
            Ok("done".into())
        })
    }
}

#[test]
fn how_long_a_tool_ran_is_stored_with_its_result_and_told_and_no_prompt_has_it() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let script = Script::of([calls(&[("x", "slow", json!({})), ("y", "send", json!([]))]), says("three")]);
        let lal = Agent::new(keep.clone(), options("lal"), script.clone(), Rc::new(Timed(world.clone())));
        let events = RefCell::new(Vec::new());
        let asked = write(&keep, "how long?", None).await;
        lal.catch_up(&|event| events.borrow_mut().push(event)).await.unwrap();
        let told: Vec<Option<u64>> = events
            .into_inner()
            .iter()
            .filter_map(|event| if let AgentEvent::Called { duration, .. } = event { Some(*duration) } else { None })
            .collect();
        let node = keep.node(&asked.message_id).await.unwrap().unwrap();
        let stored: Vec<Option<u64>> =
            node.messages[2..4].iter().map(|it| it.extra.get("duration")?.as_u64()).collect();
        // What was never called took no time. The test's clock ticks once when it is read.
        assert_eq!((&stored, told.len()), (&told, 2));
        assert!(told.contains(&None) && told.contains(&Some(1_501)), "{told:?}");
        assert!(!script.payloads.borrow()[1].to_string().contains("duration"));
    });
}

#[test]
fn the_event_said_has_the_usage_of_each_request_and_ended_their_sum() {
    let keep = World::default().tab();
    run(async {
        let usage = |prompt_tokens| Usage {
            prompt_tokens,
            completion_tokens: 9,
            cached_tokens: Some(4),
            cache_write_tokens: Some(3),
            cache_hour_tokens: None,
            reasoning_tokens: Some(2),
        };
        let asks = calls(&[("x", "add", json!({ "a": 1, "b": 2 }))]);
        let with = |said: Said, usage| said.map(|said| Completion { usage: Some(usage), ..said });
        let script = Script::of([with(asks, usage(10)), with(says("three"), usage(20))]);
        let events = RefCell::new(Vec::new());
        write(&keep, "1 + 2?", None).await;
        agent(&keep, &script).catch_up(&|event| events.borrow_mut().push(event)).await.unwrap();
        let events: Vec<Value> = events.borrow().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
        let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).cloned().collect::<Vec<_>>();
        let node = &events[0]["node"];
        let said = |tokens: u64| {
            json!({ "type": "said", "node": node, "promptTokens": tokens, "completionTokens": 9, "cachedTokens": 4,
                "cacheWriteTokens": 3, "reasoningTokens": 2 })
        };
        assert_eq!(of("said"), [said(10), said(20)]);
        let sum = json!({ "promptTokens": 30, "completionTokens": 18, "cachedTokens": 8, "cacheWriteTokens": 6, "reasoningTokens": 4 });
        assert_eq!(of("ended")[0]["usage"], sum);
    });
}

#[test]
fn events_tell_what_happens_in_order() {
    let world = World::default();
    let script =
        Script::of([counted(calls(&[("x", "add", json!({ "a": 1, "b": 2 }))]), 10, 5), counted(says("three"), 20, 1)]);
    script.deltas.borrow_mut().push(Delta::Text("th".into()));
    let lal = with_tools(&world, &script, &Rc::default());
    let events = RefCell::new(Vec::new());
    run(async {
        write(lal.keep(), "add", None).await;
        lal.catch_up(&|event| events.borrow_mut().push(event)).await.unwrap();
    });
    let events = events.into_inner();
    let wanted = ["began", "asked", "delta", "said", "calling", "called", "asked", "delta", "said", "sent", "ended"];
    assert_eq!(words(&events), wanted);
    assert_eq!(serde_json::to_value(&events[3]).unwrap()["promptTokens"], 10);
    let ended = serde_json::to_value(&events[10]).unwrap();
    assert_eq!((ended["outcome"].as_str(), ended["code"].as_str()), (Some("answered"), Some("stop")));
    assert_eq!(ended["usage"], json!({ "promptTokens": 30, "completionTokens": 6 }));
    assert!(matches!(&events[5], AgentEvent::Called { result, is_error: false, .. } if result == "3"));
}

#[test]
fn parallel_calls_run_side_by_side_and_errors_go_to_the_model() {
    let world = World::default();
    let all = [
        ("a", "add", json!({ "a": 1, "b": 2 })),
        ("b", "fail", json!({})),
        ("c", "nothing", json!({})),
        ("d", "add", json!("no object")),
    ];
    let script = Script::of([calls(&all), says("done")]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let mail = write(lal.keep(), "go", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let node = node_of(&lal, &mail).await;
        let results: Vec<_> =
            node.messages[2..6].iter().map(|message| (message.is_error, message.text().into_owned())).collect();
        assert_eq!(results[0], (false, "3".into()));
        assert_eq!(results[1], (true, "it is broken".into()));
        assert!(results[2].0 && results[3].0);
        assert!(results[3].1.contains("JSON"), "{results:?}");
        assert_valid(&lal, &node).await;
    });
}

#[test]
fn calls_and_thoughts_that_a_model_writes_into_its_text_are_taken_out() {
    let world = World::default();
    let text = "<think>I must add.</think>Let me see.\n<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}</tool_call>";
    let script = Script::of([says(text), says("Five.")]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let mail = write(lal.keep(), "2 + 3?", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let node = node_of(&lal, &mail).await;
        let said = &node.messages[1];
        assert_eq!((said.text().as_ref(), said.reasoning.as_deref()), ("Let me see.", Some("I must add.")));
        assert_eq!((said.tool_calls[0].name(), texts(&node.messages)[2].as_str()), ("add", "5"));
        assert_valid(&lal, &node).await;
    });
}

#[test]
fn a_model_that_fails_becomes_a_message_that_can_be_replied_to() {
    let world = World::default();
    let script = Script::of([fails("rate-limited"), says("now it works")]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let mail = write(lal.keep(), "hi", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let node = node_of(&lal, &mail).await;
        assert_eq!(error_of(&node.messages[1]), ("rate-limited", "the model failed: rate-limited"));
        assert!(node.sealed);
        let told = box_of(lal.keep(), "ann").await.remove(1);
        assert!(told.is_error && told.body.joined().contains("No answer: the model failed"));
        let again = write(lal.keep(), "and now?", Some(&told)).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let next = node_of(&lal, &again).await;
        assert_eq!((next.parent.as_ref(), texts(&next.messages)[1].as_str()), (Some(&node.id), "now it works"));
        assert_valid(&lal, &next).await;
    });
}

#[test]
fn after_a_failure_the_model_can_go_on_without_another_question() {
    let world = World::default();
    let script = Script::of([fails("cut-off"), says("as I was saying")]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let mail = write(lal.keep(), "hi", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let node = lal.go_on(&mail.message_id, None, &|_| {}).await.unwrap();
        assert_eq!(
            (node.parent.as_ref(), texts(&node.messages)),
            (Some(&mail.message_id), vec!["as I was saying".into()])
        );
        // Whoever asked hears it, and can reply.
        let heard = box_of(lal.keep(), "ann").await.pop().unwrap();
        assert!(heard.body.joined().ends_with("as I was saying"));
        assert_eq!(lal.keep().node(&heard.message_id).await.unwrap().unwrap().id, node.id);
    });
}

#[test]
fn a_thread_goes_on_from_another_answer_in_its_commit() {
    let world = World::default();
    let script = Script::of([says("another"), says("and more")]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let keep = lal.keep();
        let nodes = keep.append("chat", vec![Message::user("question"), Message::assistant("answer")]).await.unwrap();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&seen);
        keep.on_event(move |event| {
            if let Event::Head { node: Some(node), .. } = event {
                into.borrow_mut().push(("moved", node.clone()));
            }
        });
        let hear = |event| {
            if let AgentEvent::Began { node, .. } = event {
                seen.borrow_mut().push(("began", node));
            }
        };
        let again = lal.again(&nodes[1].id, Some("chat"), &hear).await.unwrap().id;
        let further = lal.go_on(&again, Some("chat"), &hear).await.unwrap();
        assert_eq!(further.parent.as_ref(), Some(&again));
        let steps = [
            ("moved", again.clone()),
            ("began", again.clone()),
            ("moved", further.id.clone()),
            ("began", further.id.clone()),
        ];
        assert_eq!(*seen.borrow(), steps);
        assert_eq!(keep.head("chat").await.unwrap().unwrap().id, further.id);
        assert_eq!(code(lal.again(&again, Some(""), &|_| {}).await), "bad-request");
    });
}

#[test]
fn another_answer_is_a_branch_also_of_what_was_imported() {
    let world = World::default();
    let script = Script::of([says("another")]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let old = vec![Message::user("old question"), Message::assistant("old answer")];
        let nodes = lal.keep().append("thread", old).await.unwrap();
        let again = lal.again(&nodes[1].id, None, &|_| {}).await.unwrap();
        assert_eq!(again.parent.as_ref(), Some(&nodes[0].id));
        assert_eq!(script.prompt(0).last().unwrap(), "old question");
        assert_eq!(lal.keep().children(&nodes[0].id).await.unwrap().len(), 2);
    });
}

/// Polls `work` until `enough`, and drops it.
pub(crate) async fn until<T>(work: impl Future<Output = T>, enough: impl Fn() -> bool) -> Option<T> {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if enough() => Poll::Ready(None),
        Poll::Pending => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

#[test]
fn stopping_while_the_model_speaks_keeps_what_was_said_and_the_next_turn_works() {
    let world = World::default();
    let script = Script::of([says("fresh")]);
    script.stalls.set(true);
    script.deltas.borrow_mut().extend([Delta::Reasoning("hm".into()), Delta::Text("half a".into())]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let mail = write(lal.keep(), "hi", None).await;
        let asked = Cell::new(false);
        let heard = |event: AgentEvent| {
            if matches!(event, AgentEvent::Delta { delta: Delta::Text(_), .. }) {
                asked.set(true);
                lal.stop();
            }
        };
        lal.catch_up(&heard).await.unwrap();
        assert!(asked.get());
        let node = node_of(&lal, &mail).await;
        assert_eq!(error_of(&node.messages[1]), ("cancelled", "stopped"));
        assert_eq!((texts(&node.messages)[1].as_str(), node.messages[1].reasoning.as_deref()), ("half a", Some("hm")));
        assert!(node.sealed);
        assert_valid(&lal, &node).await;
        // Nobody is told of what they stopped themselves.
        assert_eq!(box_of(lal.keep(), "ann").await.len(), 1);
        script.stalls.set(false);
        let next = write(lal.keep(), "again", Some(&mail)).await;
        lal.catch_up(&|_| {}).await.unwrap();
        assert_eq!(texts(&node_of(&lal, &next).await.messages)[1], "fresh");
    });
}

#[test]
fn stopping_while_tools_run_gives_every_call_a_result() {
    let world = World::default();
    let script = Script::of([calls(&[("a", "add", json!({ "a": 1, "b": 1 })), ("b", "wait", json!({}))])]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let mail = write(lal.keep(), "hi", None).await;
        let heard = |event: AgentEvent| {
            if matches!(event, AgentEvent::Called { .. }) {
                lal.stop();
            }
        };
        lal.catch_up(&heard).await.unwrap();
        let node = node_of(&lal, &mail).await;
        assert_eq!(texts(&node.messages)[2..4], ["2", "cancelled"]);
        assert_eq!(error_of(&node.messages[4]).0, "cancelled");
        assert_valid(&lal, &node).await;
    });
}

#[test]
fn limits_on_steps_tokens_and_time_end_a_turn_with_words() {
    let over_and_over =
        || (0..10).map(|at| counted(calls(&[(&format!("c{at}"), "add", json!({ "a": 1, "b": 1 }))]), 90, 10));
    let cases = [
        (TurnLimits { steps: 3, ..TurnLimits::default() }, "3 answers", 3),
        (TurnLimits { tokens: Some(200), ..TurnLimits::default() }, "200 tokens", 2),
        (TurnLimits { millis: Some(1), ..TurnLimits::default() }, "1 milliseconds", 0),
    ];
    for (limits, wanted, asked) in cases {
        let world = World::default();
        let script = Script::of(over_and_over());
        let mut own = options("lal");
        own.limits = limits;
        let lal = Agent::new(world.tab(), own, script.clone(), Rc::new(Toolbox::default()));
        run(async {
            let mail = write(lal.keep(), "go", None).await;
            lal.catch_up(&|_| {}).await.unwrap();
            let node = node_of(&lal, &mail).await;
            let (code, reason) = error_of(node.messages.last().unwrap());
            assert_eq!(code, "limit");
            assert!(reason.contains(wanted), "{reason}");
            assert_eq!(script.asked(), asked, "{wanted}");
            assert_valid(&lal, &node).await;
        });
    }
}

#[test]
fn a_tool_is_not_called_without_an_argument_that_it_needs() {
    let world = World::default();
    let script = Script::of([
        calls(&[
            ("a", "greet", json!({})),
            ("b", "greet", json!({ "name": 5 })),
            ("c", "greet", json!({ "name": "Bo" })),
        ]),
        calls(&[("d", "reply", json!({ "messageNumber": 1 })), ("e", "send", json!({ "strings": ["hi"] }))]),
        calls(&[("f", "searchMemory", json!({})), ("g", "remember", json!({})), ("h", "dismiss", json!({}))]),
        calls(&[("i", "send", json!({ "recipientName": "bo" })), ("j", "readToolResult", json!({ "offset": 1 }))]),
        says("done"),
    ]);
    let tools = Rc::new(Greeter::default());
    let lal = Agent::new(world.tab(), options("lal"), script.clone(), tools.clone());
    run(async {
        let mail = write(lal.keep(), "go", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let node = node_of(&lal, &mail).await;
        let results: Vec<_> = node.messages.iter().filter(|message| message.tool_call_id.is_some()).collect();
        let said = |at: usize| (results[at].is_error, results[at].text().into_owned());
        assert_eq!(said(0), (true, "the argument \"name\" is missing".into()));
        assert_eq!(said(1), (true, "\"name\" must be a text, it is 5".into()));
        assert_eq!((said(2), tools.0.borrow().as_slice()), ((false, "hello Bo".into()), &["Bo".to_owned()][..]));
        for (at, name) in [
            (3, "strings"),
            (4, "recipientName"),
            (5, "query"),
            (6, "fact"),
            (7, "messageNumber"),
            (8, "strings"),
            (9, "path"),
        ] {
            let (is_error, text) = said(at);
            assert!(is_error && text.contains(name), "{at}: {text}");
        }
        // Nothing was sent but the answer.
        assert_eq!(box_of(lal.keep(), "ann").await.len(), 2);
    });
}

/// A tool that greets whom it is told to.
#[derive(Default)]
struct Greeter(RefCell<Vec<String>>);

impl threadkeep::agent::Tools for Greeter {
    fn schemas(&self) -> Vec<threadkeep_provider::ToolSchema> {
        vec![threadkeep_provider::ToolSchema {
            name: "greet".into(),
            description: None,
            parameters: json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } }),
            strict: None,
        }]
    }

    fn call(&self, call: threadkeep::agent::ToolUse) -> threadkeep::agent::ToolAnswer<'_> {
        let name = call.arguments["name"].as_str().unwrap().to_owned();
        self.0.borrow_mut().push(name.clone());
        Box::pin(std::future::ready(Ok(["hello ", &name].concat().into())))
    }
}

#[test]
fn an_answer_with_too_many_calls_or_too_long_arguments_is_a_failure_and_calls_nothing() {
    let many: Vec<(String, serde_json::Value)> =
        (0..257).map(|at| (format!("c{at}"), json!({ "a": 1, "b": 1 }))).collect();
    let many: Vec<_> = many.iter().map(|(id, arguments)| (id.as_str(), "add", arguments.clone())).collect();
    let long = [("c", "add", json!({ "a": "x".repeat(4 << 20) }))];
    for (all, words) in [(&many[..], "257 tools in one answer; 256 are allowed"), (&long[..], "4194304 are allowed")] {
        let world = World::default();
        let (script, tools) = (Script::of([calls(all)]), Rc::new(Toolbox::default()));
        let lal = with_tools(&world, &script, &tools);
        run(async {
            let mail = write(lal.keep(), "go", None).await;
            lal.catch_up(&|_| {}).await.unwrap();
            let node = node_of(&lal, &mail).await;
            let (code, reason) = error_of(&node.messages[1]);
            assert_eq!(code, "bad-answer");
            assert!(reason.contains(words), "{reason}");
            assert!(node.messages[1].tool_calls.is_empty() && tools.used.borrow().is_empty());
            assert_valid(&lal, &node).await;
        });
    }
}

#[test]
fn a_prompt_that_cannot_fit_is_not_sent() {
    let world = World::default();
    let script = Script::of([]);
    let mut own = options("lal");
    own.context.budget = Some(Budget::tokens(20));
    let lal = Agent::new(world.tab(), own, script.clone(), Rc::new(Toolbox::default()));
    run(async {
        let mail = write(lal.keep(), &"word ".repeat(200), None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let node = node_of(&lal, &mail).await;
        let (code, reason) = error_of(&node.messages[1]);
        assert_eq!(code, "over-budget");
        assert!(reason.contains("20 tokens are allowed"), "{reason}");
        assert_eq!(script.asked(), 0);
    });
}

#[test]
fn history_is_compacted_when_the_providers_count_says_so_and_it_is_told() {
    let world = World::default();
    let long = "We decided to use the blue paint for the north wall because it dries faster. ".repeat(20);
    let script = Script::of((0..12).map(|at| counted(says(&format!("{at} {long}")), 5_000, 500)));
    let mut own = options("lal");
    own.policy.max_context_tokens = Some(6_000);
    own.policy.max_output_tokens = Some(1_000);
    let lal = Agent::new(world.tab(), own, script.clone(), Rc::new(Toolbox::default())).summarised_by(By::Rules);
    let events = RefCell::new(Vec::new());
    run(async {
        let mut last: Option<Mail> = None;
        for at in 0..8 {
            write(lal.keep(), &format!("question {at}: {long}"), last.as_ref()).await;
            lal.catch_up(&|event| events.borrow_mut().push(event)).await.unwrap();
            last = box_of(lal.keep(), "ann").await.pop();
        }
        let leaf = last.unwrap().message_id;
        let made = lal.keep().checkpoints(leaf.as_str()).await.unwrap();
        assert!(!made.is_empty());
        let compacted: Vec<_> = events
            .borrow()
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Compacted { checkpoint: Some(_), tokens_before, tokens_after, .. } => {
                    Some((*tokens_before, *tokens_after))
                }
                _ => None,
            })
            .collect();
        assert_eq!(compacted.len(), made.len());
        assert!(compacted.iter().all(|(before, after)| after < before));
        // The originals are all there.
        assert_eq!(lal.keep().depth(&leaf).await.unwrap(), 16);
        assert!(script.prompt(7).len() < 16);
    });
}

#[test]
fn a_history_that_was_cut_is_compacted_though_no_provider_counts() {
    let world = World::default();
    let long = "We decided to use the blue paint for the north wall because it dries faster. ".repeat(40);
    let made = |limit: Option<u64>| {
        let script = Script::of((0..8).map(|at| says(&format!("{at} {long}"))));
        let mut own = options(&format!("lal-{limit:?}"));
        own.policy.max_context_tokens = Some(5_000);
        own.policy.max_output_tokens = Some(1_000);
        own.context.budget = limit.map(Budget::tokens);
        let lal = Agent::new(world.tab(), own, script, Rc::new(Toolbox::default())).summarised_by(By::Rules);
        run(async {
            let mut last: Option<threadkeep_core::MessageId> = None;
            for at in 0..8 {
                let asked = threadkeep::mailbox::Outgoing {
                    from: "ann".into(),
                    to: lal.options().name.clone(),
                    body: format!("question {at}: {long}").as_str().into(),
                    reply_to: last.take(),
                    ..Default::default()
                };
                last = Some(lal.keep().send(asked).await.unwrap().message_id);
                lal.catch_up(&|_| {}).await.unwrap();
            }
            lal.keep().checkpoints(last.unwrap().as_str()).await.unwrap().len()
        })
    };
    assert!(made(None) > 0);
    assert_eq!(made(Some(2_000)), 0, "a budget of the agent's own is a wish to cut");
}

#[test]
fn a_message_seen_again_is_not_answered_twice() {
    let world = World::default();
    let script = Script::of([says("once")]);
    run(async {
        let lal = with_tools(&world, &script, &Rc::default());
        write(lal.keep(), "hi", None).await;
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1);
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 0);
        // Nor by another program, even if it lost count.
        let later = with_tools(&world, &script, &Rc::default());
        let puts = vec![("a/lal".to_owned(), b"{}".to_vec())];
        use threadkeep_store::Store;
        world.store.commit(threadkeep_store::Commit { puts, ..Default::default() }).await.unwrap();
        assert_eq!(later.catch_up(&|_| {}).await.unwrap(), 0);
        assert_eq!(script.asked(), 1);
        assert_eq!(box_of(later.keep(), "ann").await.len(), 2);
    });
}

#[test]
fn dismissed_before_it_was_answered_needs_no_answer() {
    let world = World::default();
    let script = Script::of([]);
    run(async {
        let lal = with_tools(&world, &script, &Rc::default());
        write(lal.keep(), "never mind", None).await;
        lal.keep().dismiss("lal", 1).await.unwrap();
        assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 0);
    });
}

#[test]
fn a_tool_that_a_crash_interrupted_is_not_called_again_unless_that_does_no_harm() {
    for repeatable in [false, true] {
        let world = World::default();
        run(async {
            let tools = Rc::new(Toolbox::default());
            let script = Script::of([calls(&[("a", "wait", json!({})), ("b", "add", json!({ "a": 1, "b": 1 }))])]);
            let mail = {
                let lal = with_tools(&world, &script, &tools);
                let mail = write(lal.keep(), "go", None).await;
                let both = || tools.used.borrow().len() == 2;
                assert!(until(lal.catch_up(&|_| {}), both).await.is_none());
                mail
            };
            // Another program, over the same store.
            let tools = Rc::new(Toolbox { repeatable: Cell::new(repeatable), ..Toolbox::default() });
            let script = Script::of([says("so be it")]);
            let lal = resuming(&world, &script, &tools);
            if repeatable {
                let asked = || !tools.used.borrow().is_empty();
                assert!(until(lal.catch_up(&|_| {}), asked).await.is_none());
                assert_eq!(tools.used.borrow()[0].name, "wait");
                return;
            }
            lal.catch_up(&|_| {}).await.unwrap();
            let node = node_of(&lal, &mail).await;
            let results = texts(&node.messages);
            assert_eq!(results[2], "2");
            assert!(results[3].starts_with("interrupted"), "{results:?}");
            assert_eq!(results[4], "so be it");
            assert!(tools.used.borrow().is_empty());
            assert_valid(&lal, &node).await;
        });
    }
}

#[test]
fn an_answer_that_was_asked_for_again_is_carried_to_its_end_after_a_crash() {
    let world = World::default();
    run(async {
        let script = Script::of([says("first")]);
        let lal = with_tools(&world, &script, &Rc::default());
        let mail = write(lal.keep(), "hi", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        script.stalls.set(true);
        let twice = || script.asked() == 2;
        assert!(until(lal.again(&mail.message_id, None, &|_| {}), twice).await.is_none());
        let later = resuming(&world, &Script::of([says("second")]), &Rc::default());
        assert_eq!(later.catch_up(&|_| {}).await.unwrap(), 1);
        let root = node_of(&later, &mail).await.parent.unwrap();
        let answers = later.keep().children(&root).await.unwrap();
        assert_eq!(
            answers.iter().map(|node| texts(&node.messages)[1].clone()).collect::<Vec<_>>(),
            ["first", "second"]
        );
        assert!(answers.iter().all(|node| node.sealed));
    });
}

#[test]
fn agents_side_by_side_have_transcripts_of_their_own() {
    let world = World::default();
    let keep = world.tab();
    let scripts = [Script::of([says("from a"), says("a again")]), Script::of([says("from b")])];
    let named = |name: &str, script: &Rc<Script>| {
        Agent::new(keep.clone(), options(name), script.clone(), Rc::new(Toolbox::default()))
    };
    let (a, b) = (named("a", &scripts[0]), named("b", &scripts[1]));
    run(async {
        keep.send(from_ann("a", "hi")).await.unwrap();
        keep.send(from_ann("b", "hi")).await.unwrap();
        a.catch_up(&|_| {}).await.unwrap();
        b.catch_up(&|_| {}).await.unwrap();
        let all: Vec<String> = box_of(&keep, "ann").await.iter().map(|mail| mail.body.joined()).collect();
        assert_eq!(all[2..], ["[depth:2] from a", "[depth:2] from b"]);
    });
}

/// Ann tells `a` to ask `b`. Then both look into their mailboxes this many times.
async fn ann_has_a_ask_b(a: &Agent<MemoryStore>, b: &Agent<MemoryStore>, times: usize) {
    a.keep().send(from_ann("a", "ask b")).await.unwrap();
    for _ in 0..times {
        a.catch_up(&|_| {}).await.unwrap();
        b.catch_up(&|_| {}).await.unwrap();
    }
}

#[test]
fn agents_of_one_keep_answer_each_other_with_reply_and_come_to_an_end() {
    let world = World::default();
    let keep = world.tab();
    let ask = json!({ "recipientName": "b", "strings": ["What is the weather?"] });
    let scripts = [
        Script::of([calls(&[("s", "send", ask)]), says("I have asked."), says("Rain, it says."), says("not asked")]),
        Script::of([calls(&[("r", "reply", json!({ "strings": ["Rain."] }))]), says("Told."), says("not asked")]),
    ];
    let named = |name: &str, script: &Rc<Script>| {
        Agent::new(keep.clone(), options(name), script.clone(), Rc::new(Toolbox::default()))
    };
    let (a, b) = (named("a", &scripts[0]), named("b", &scripts[1]));
    run(async {
        ann_has_a_ask_b(&a, &b, 4).await;
        // It says who writes, and each has the conversation in a transcript of its own.
        assert_eq!(scripts[1].prompt(0).last().unwrap(), "[message 1 from a]\nWhat is the weather?");
        let heard = scripts[0].prompt(2);
        assert_eq!(
            heard[heard.len() - 2..],
            ["What is the weather?".to_owned(), "[message 4 from b]\n[depth:2] Rain.".to_owned()]
        );
        assert_eq!((scripts[0].asked(), scripts[1].asked()), (3, 2), "nobody goes on for ever");
        assert_eq!(keep.roots().await.unwrap().len(), 3);
        // What is deleted goes from the mailboxes of both.
        for root in keep.roots().await.unwrap() {
            keep.delete_transcript(&root.id).await.unwrap();
        }
        for party in ["a", "b", "ann"] {
            assert!(box_of(&keep, party).await.is_empty(), "{party}");
        }
    });
}

#[test]
fn memory_can_be_searched_and_added_to() {
    let world = World::default();
    let fact = json!({ "fact": "Ann takes her tea without milk." });
    let script = Script::of([
        calls(&[("r", "remember", fact), ("s", "searchMemory", json!({ "query": "tea" }))]),
        calls(&[("s", "searchMemory", json!({ "query": "milk", "limit": "3" }))]),
        says("noted"),
    ]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let mail = write(lal.keep(), "I take my tea without milk", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let facts = lal.keep().facts(&threadkeep::MemoryFilter::default()).await.unwrap();
        assert_eq!(facts[0].fact, "Ann takes her tea without milk.");
        let node = node_of(&lal, &mail).await;
        let found: serde_json::Value = serde_json::from_str(&node.messages[5].text()).unwrap();
        assert!(found[0]["text"].as_str().unwrap().contains("milk"), "{found}");
    });
}

#[test]
fn a_result_of_which_a_prompt_shows_the_beginning_can_be_read_whole() {
    let world = World::default();
    let path = "@state/logs/tool-results/long.json";
    let script = Script::of([
        calls(&[("long", "listMessages", json!({}))]),
        calls(&[("read", "readToolResult", json!({ "path": path, "offset": "100", "length": 50_000 }))]),
        calls(&[("none", "readToolResult", json!({ "path": "@state/logs/tool-results/other.json" }))]),
        says("read"),
    ]);
    let mut own = options("lal");
    own.context.tool_preview = Some(Off::On(Preview::default()));
    let lal = Agent::new(world.tab(), own, Rc::clone(&script) as Rc<dyn Model>, Rc::<Toolbox>::default());
    run(async {
        let mail = write(lal.keep(), &format!("{} the end", "word ".repeat(8_000)), None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let shown = script.prompt(1).pop().unwrap();
        assert!(shown.contains(path) && !shown.contains("the end"), "only the beginning is shown");
        let node = node_of(&lal, &mail).await;
        let read: serde_json::Value = serde_json::from_str(&node.messages[4].text()).unwrap();
        let whole = node.messages[2].text().into_owned();
        assert!(read["text"].as_str().unwrap().contains("the end"));
        assert_eq!(read["characters"], whole.chars().count());
        assert_eq!(read["text"].as_str().unwrap(), whole.chars().skip(100).take(50_000).collect::<String>());
        assert!(node.messages[6].is_error && node.messages[6].text().contains("there is no tool result"));
    });
}

#[test]
fn an_answer_that_says_nothing_is_a_failure_with_words() {
    let world = World::default();
    let script = Script::of([says("  ")]);
    let lal = with_tools(&world, &script, &Rc::default());
    run(async {
        let mail = write(lal.keep(), "hi", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        assert_eq!(error_of(&node_of(&lal, &mail).await.messages[1]), ("bad-answer", "the model said nothing"));
        assert_eq!(code(lal.again(&crate::id("nowhere"), None, &|_| {}).await), "missing-node");
    });
}

/// A model for long sessions: what it says depends on its prompt alone, so that it says the same after a crash. It calls as many tools as
/// the message wants, one answer after the other or several at once, and then answers.
struct Steady;

impl Model for Steady {
    fn name(&self) -> &str {
        "steady"
    }

    fn call<'a>(
        &'a self,
        call: threadkeep::model::Call<'a>,
        heard: &'a dyn Fn(Delta),
    ) -> threadkeep::model::Answer<'a> {
        use threadkeep_core::Role;
        let last = call.messages.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
        let asked = call.messages[last].text().into_owned();
        let done = call.messages[last..].iter().filter(|message| message.role == Role::Tool).count();
        let wanted: usize = asked.rsplit("tools ").next().and_then(|count| count.parse().ok()).unwrap_or(0);
        let said: Said = if done < wanted {
            let now = if wanted - done >= 3 { 2 } else { 1 };
            let all: Vec<_> = (0..now).map(|at| (format!("c{}", done + at), json!({ "a": done, "b": at }))).collect();
            let all: Vec<_> = all.iter().map(|(id, arguments)| (id.as_str(), "add", arguments.clone())).collect();
            calls(&all)
        } else {
            says(&format!("answer to {asked} after {} messages", call.messages.len()))
        };
        Box::pin(async move {
            heard(Delta::Text("…".into()));
            breath().await;
            said
        })
    }
}

/// Tools that take a moment.
struct Slow;

impl threadkeep::agent::Tools for Slow {
    fn call(&self, call: threadkeep::agent::ToolUse) -> threadkeep::agent::ToolAnswer<'_> {
        Box::pin(async move {
            breath().await;
            Ok(format!("{}+{}", call.arguments["a"], call.arguments["b"]).into())
        })
    }
}

/// Carries out 200 turns over 20 chains with 30 forks and 500 tool calls. After each of `kills` polls the program ends, and another goes on.
/// Gives what the transcripts say, each branch, and how often something was marked interrupted.
fn session(kills: &[usize]) -> (Vec<String>, Vec<String>, usize, usize) {
    let world = World::default();
    let store = Breathing(world.store.clone(), false);
    let open =
        || run(threadkeep::Keep::open(store.clone(), world.host.clone(), threadkeep::Options::default())).unwrap();
    let make = |keep: &threadkeep::Keep<Breathing>| {
        let own = AgentOptions { resume: true, ..options("lal") };
        Agent::new(keep.clone(), own, Rc::new(Steady), Rc::new(Slow))
    };
    let (mut keep, mut kills) = (open(), kills.iter().copied());
    let mut lal = make(&keep);
    let (mut polls, mut next) = (0_usize, kills.next());
    let mut answers: Vec<Vec<Mail>> = vec![Vec::new(); 20];
    run(async {
        let (mut tools, mut forks) = (0, 0);
        for turn in 0..200_usize {
            let chain = turn % 20;
            let fork = forks < 30 && turn >= 40 && turn % 5 == 1;
            let to = if fork { answers[chain].first() } else { answers[chain].last() }.cloned();
            forks += usize::from(fork);
            let wanted = if turn % 2 == 0 { 2 } else { 3 };
            tools += wanted;
            let asked = write(&keep, &format!("turn {turn} tools {wanted}"), to.as_ref()).await;
            loop {
                let mut work = Box::pin(lal.catch_up(&|_| {}));
                let done = std::future::poll_fn(|context| {
                    polls += 1;
                    if next == Some(polls) {
                        return Poll::Ready(false);
                    }
                    work.as_mut().poll(context).map(|done| done.is_ok())
                });
                if done.await {
                    break;
                }
                drop(work);
                // What was in memory is gone; what was stored is there.
                next = kills.next();
                keep = open();
                lal = make(&keep);
            }
            let all = box_of(&keep, "ann").await;
            let mine: Vec<_> = all.iter().filter(|mail| mail.reply_to.as_ref() == Some(&asked.message_id)).collect();
            assert_eq!(mine.len(), 1, "turn {turn} has {} answers", mine.len());
            answers[chain].push(mine[0].clone());
        }
        assert_eq!((tools, forks), (500, 30));
        let (mut said, mut plain, mut interrupted) = (Vec::new(), Vec::new(), 0);
        for root in keep.roots().await.unwrap() {
            let mut stack = vec![(root.id, String::new())];
            while let Some((at, before)) = stack.pop() {
                let node = keep.node(&at).await.unwrap().unwrap();
                assert!(node.sealed || node.parent.is_none());
                let marked = node.messages.iter().any(|message| message.text().starts_with("interrupted"));
                interrupted += usize::from(marked);
                let own: Vec<String> = node
                    .messages
                    .iter()
                    .map(|message| format!("{}: {}", message.role.as_str(), message.text()))
                    .collect();
                let all = format!("{before}\n{}", own.join("\n"));
                for child in keep.children(&at).await.unwrap() {
                    stack.push((child.id, all.clone()));
                }
                if !marked {
                    plain.push(own.join("\n"));
                }
                let prompt = keep.context(at.as_str(), &lal.options().context.clone().into()).await.unwrap();
                let findings = validate_payload(&prompt.payload, Provider::OpenAiChat);
                assert!(findings.is_empty() || node.parent.is_none(), "{findings:?}");
                said.push(all);
            }
        }
        said.sort();
        plain.sort();
        (said, plain, interrupted, polls)
    })
}

#[test]
fn a_session_of_200_turns_that_is_killed_at_20_moments_ends_as_one_that_is_not() {
    let (undisturbed, nodes, none, polls) = session(&[]);
    assert_eq!((undisturbed.len(), none), (220, 0));
    let mut killed = 0;
    for round in 0..3_u64 {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(round + 1);
        let mut moments: Vec<usize> = (0..20)
            .map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                1 + (random % polls as u64) as usize
            })
            .collect();
        moments.sort_unstable();
        moments.dedup();
        killed += moments.len();
        let (disturbed, plain, interrupted, _) = session(&moments);
        assert_eq!(disturbed.len(), undisturbed.len());
        // Node by node the same, but for those that are marked.
        let strange: Vec<_> = plain.iter().filter(|node| nodes.binary_search(node).is_err()).collect();
        assert!(strange.is_empty(), "{strange:#?}");
        assert!(interrupted <= moments.len());
        if interrupted == 0 {
            assert_eq!(disturbed, undisturbed);
        }
    }
    assert!(killed >= 57, "{killed}");
}

/// What a turn ended with: outcome and code.
fn ended(lal: &Agent<MemoryStore>) -> (String, String) {
    let events = RefCell::new(Vec::new());
    run(async {
        write(lal.keep(), "hi", None).await;
        lal.catch_up(&|event| events.borrow_mut().push(event)).await.unwrap();
    });
    let last = serde_json::to_value(events.borrow().last().unwrap()).unwrap();
    (last["outcome"].as_str().unwrap().to_owned(), last["code"].as_str().unwrap().to_owned())
}

#[test]
fn the_end_of_a_turn_says_why_in_a_stable_code() {
    let cut = says("so far")
        .map(|said| threadkeep_provider::Completion { finish: threadkeep_provider::Finish::Length, ..said });
    for (said, wanted) in [
        (says("yes"), ("answered", "stop")),
        (cut, ("answered", "length")),
        (says(" "), ("failed", "bad-answer")),
        (fails("rate-limited"), ("failed", "rate-limited")),
    ] {
        let world = World::default();
        let (outcome, code) = ended(&with_tools(&world, &Script::of([said]), &Rc::default()));
        assert_eq!((outcome.as_str(), code.as_str()), wanted);
    }
    let world = World::default();
    let own = AgentOptions { limits: TurnLimits { steps: 0, ..TurnLimits::default() }, ..options("lal") };
    let lal = Agent::new(world.tab(), own, Script::of([]), Rc::new(Toolbox::default()));
    assert_eq!(ended(&lal), ("limited".to_owned(), "limit".to_owned()));
}

#[test]
fn a_default_agent_sends_a_hello_with_little_beside_it() {
    let world = World::default();
    let script = Script::of([says("Hello.")]);
    let mut own = AgentOptions::new("agent");
    own.context.encoding = Some(threadkeep::protocol::Counting::Estimate);
    let agent = Agent::new(world.tab(), own, Rc::clone(&script) as Rc<dyn Model>, Rc::new(threadkeep::agent::NoTools));
    let asked = Cell::new(0);
    run(async {
        let hello = threadkeep::mailbox::Outgoing {
            from: "user".into(),
            to: "agent".into(),
            body: "hello".into(),
            ..Default::default()
        };
        agent.keep().send(hello).await.unwrap();
        let heard = |event: AgentEvent| {
            if let AgentEvent::Asked { tokens, .. } = event {
                asked.set(tokens);
            }
        };
        agent.catch_up(&heard).await.unwrap();
    });
    assert!(asked.get() <= 61, "{} tokens", asked.get());
    assert_eq!(script.prompt(0), ["hello"]);
    assert!(script.payloads.borrow()[0].get("tools").is_none());
}

#[test]
fn a_tool_that_reads_results_is_offered_once_a_prompt_shows_only_the_beginning_of_one() {
    let world = World::default();
    let long = "word ".repeat(8_000);
    let path = "@state/logs/tool-results/long.json";
    let script = Script::of([
        calls(&[("long", "echo", json!({}))]),
        calls(&[("read", "readToolResult", json!({ "path": path, "offset": 39_990 }))]),
        says("read"),
        calls(&[("long", "echo", json!({}))]),
        says("whole"),
    ]);
    struct Echo(String);
    impl threadkeep::agent::Tools for Echo {
        fn schemas(&self) -> Vec<threadkeep_provider::ToolSchema> {
            let parameters = json!({ "type": "object", "properties": {} });
            vec![threadkeep_provider::ToolSchema { name: "echo".into(), description: None, parameters, strict: None }]
        }
        fn call(&self, _: threadkeep::agent::ToolUse) -> threadkeep::agent::ToolAnswer<'_> {
            Box::pin(std::future::ready(Ok(self.0.clone().into())))
        }
    }
    let offered = |at: usize| -> Vec<String> {
        let payload = script.payloads.borrow()[at].clone();
        let names = payload["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    let agent = |most: u64| {
        let own = AgentOptions { built_in: Vec::new(), ..options("lal") };
        let mut own = AgentOptions { compact: Some(Off::Off), ..own };
        own.context.budget = Some(Budget::tokens(most));
        Agent::new(world.tab(), own, Rc::clone(&script) as Rc<dyn Model>, Rc::new(Echo(long.clone())))
    };
    run(async {
        let lal = agent(2_000);
        let mail = write(lal.keep(), "go", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        let node = node_of(&lal, &mail).await;
        assert!(script.prompt(1).last().unwrap().contains(path));
        assert_eq!((offered(0), offered(1)), (vec!["echo".to_owned()], vec!["readToolResult".into(), "echo".into()]));
        assert!(texts(&node.messages)[4].contains("word"), "{:?}", texts(&node.messages)[4]);
        // It fits: it is whole, and nothing reads it.
        let lal = agent(100_000);
        write(lal.keep(), "go", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        assert_eq!((script.prompt(4).last().unwrap(), offered(4)), (&long, vec!["echo".to_owned()]));
    });
}

/// A host's tool with the name of a built-in one.
struct OwnReply;

impl Tools for OwnReply {
    fn schemas(&self) -> Vec<ToolSchema> {
        vec![ToolSchema {
            name: "reply".into(),
            description: None,
            parameters: json!({ "type": "object" }),
            strict: None,
        }]
    }

    fn call(&self, call: ToolUse) -> ToolAnswer<'_> {
        Box::pin(std::future::ready(Ok(json!({ "noted": call.arguments }))))
    }
}

#[test]
fn a_tool_of_the_host_with_the_name_of_a_built_in_one_is_the_hosts() {
    let world = World::default();
    let script = Script::of([calls(&[("r", "reply", json!({ "to": "the form" }))]), says("It is noted.")]);
    let own = AgentOptions { built_in: Vec::new(), ..options("lal") };
    let lal = Agent::new(world.tab(), own, Rc::clone(&script) as Rc<dyn Model>, Rc::new(OwnReply));
    run(async {
        write(lal.keep(), "note it", None).await;
        lal.catch_up(&|_| {}).await.unwrap();
        assert_eq!(script.prompt(1).last().unwrap(), r#"{"noted":{"to":"the form"}}"#);
        assert!(box_of(lal.keep(), "ann").await.iter().any(|mail| mail.body.joined().ends_with("It is noted.")));
    });
}

#[test]
fn an_agent_without_built_in_tools_can_reply_to_another_agent() {
    let world = World::default();
    let keep = world.tab();
    let ask = json!({ "recipientName": "b", "strings": ["What is the weather?"] });
    let scripts = [
        Script::of([calls(&[("s", "send", ask)]), says("I have asked."), says("Rain, it says.")]),
        Script::of([calls(&[("r", "reply", json!({ "strings": ["Rain."] }))]), says("Told.")]),
    ];
    let a = Agent::new(keep.clone(), options("a"), scripts[0].clone(), Rc::new(Toolbox::default()));
    let own = AgentOptions { built_in: Vec::new(), ..options("b") };
    let b = Agent::new(keep.clone(), own, scripts[1].clone(), Rc::new(Toolbox::default()));
    run(async {
        ann_has_a_ask_b(&a, &b, 3).await;
        assert_eq!(scripts[0].prompt(2).last().unwrap(), "[message 4 from b]\n[depth:2] Rain.");
    });
}
