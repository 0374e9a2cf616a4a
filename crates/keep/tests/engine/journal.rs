//! The journal: what was sent is kept small, and made again bit by bit.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep::agent::{Agent, AgentEvent};
use threadkeep::mailbox::Outgoing;
use threadkeep::model::{Answer, Call, Model};
use threadkeep::protocol::{ContextSettings, Purpose, context_params};
use threadkeep::{Keep, NewFact};
use threadkeep_provider::{Dialect, Provider, Usage};
use threadkeep_store::{MemoryStore, Scan, Store};

use crate::agent_support::{Script, Toolbox, calls, counted, fails, from_ann, options, says};
use crate::{World, code, run};

/// A script at the end of a connection: what is sent is what the endpoint wants, too.
pub struct Endpoint(Rc<Script>, Dialect);

impl Endpoint {
    pub fn of(script: &Rc<Script>, provider: Provider) -> Self {
        Self(Rc::clone(script), endpoint(provider))
    }
}

impl Model for Endpoint {
    fn name(&self) -> &str {
        &self.1.model
    }
    fn provider(&self) -> Provider {
        self.1.provider
    }
    fn dialect(&self) -> Option<Dialect> {
        Some(self.1.clone())
    }
    fn call<'a>(&'a self, call: Call<'a>, heard: &'a dyn Fn(threadkeep_provider::Delta)) -> Answer<'a> {
        self.0.call(call, heard)
    }
}

fn endpoint(provider: Provider) -> Dialect {
    Dialect {
        provider,
        model: "gpt-5-mini".to_owned(),
        usage: provider == Provider::OpenAiChat,
        max_tokens: true,
        encrypted: provider == Provider::OpenAiResponses,
        context_tokens: Some(32_000).filter(|_| provider == Provider::Ollama),
        ..Dialect::default()
    }
}

fn lal(keep: Keep<MemoryStore>, script: &Rc<Script>, provider: Provider) -> Agent<MemoryStore> {
    let model = Endpoint::of(script, provider);
    Agent::new(keep, options("lal"), Rc::new(model), Rc::new(Toolbox::default()))
}

async fn say(keep: &Keep<MemoryStore>, lal: &Agent<MemoryStore>, conversation: &str, text: &str) {
    let mail = Outgoing { conversation: Some(conversation.to_owned()), ..from_ann("lal", text) };
    keep.send(mail).await.unwrap();
    lal.catch_up(&|_| {}).await.unwrap();
}

/// A model that calls a tool first, and then says a lot.
pub fn talkative() -> Rc<Script> {
    Script::of((0..60).map(|at| match at % 3 {
        0 => calls(&[("c1", "add", json!({"a": at, "b": 2}))]),
        _ => counted(says(&format!("Answer {at}: {}", "the boiler is in the cellar. ".repeat(40))), 100 + at, 7),
    }))
}

/// Settings that each act on prompts.
pub fn steps() -> [Value; 8] {
    [
        json!({}),
        json!({"systemPrompt": "Say little.", "mode": "agent", "persona": "You are a pirate."}),
        json!({"budget": {"maxTokens": 900}, "policy": "newest", "memory": {"passages": 0.3}}),
        json!({"budget": {"maxTokens": 700, "maxOutputTokens": 50}, "toolPreview": {"over": 1, "keep": 1}}),
        json!({"memory": {"facts": 2}, "compressHistory": true}),
        json!({"memory": false, "render": {"reasoning": false}}),
        json!({"budget": {"maxMessages": 7}}),
        json!({"budget": {"maxContextTokens": 2000}, "compaction": {"maxContextTokens": 1500, "keepTurns": 1}, "memory": {"passages": 0.2}}),
    ]
}

/// Gives a keep facts, and summaries by the rules.
pub async fn furnish(keep: &Keep<MemoryStore>) {
    let rules = ContextSettings::from_json(json!({"summarizer": "rules"})).unwrap();
    keep.set_context_options(None, &rules).await.unwrap();
    for fact in ["The boiler was set to sixty degrees.", "Ann prefers tea.", "The cat is called Tom."] {
        keep.remember(NewFact::new(fact)).await.unwrap();
    }
}

async fn set(keep: &Keep<MemoryStore>, json: Value) {
    keep.set_context_options(Some("c"), &ContextSettings::from_json(json).unwrap()).await.unwrap();
}

fn keys(world: &World) -> Vec<String> {
    run(world.store.scan(&Scan::prefix("j/"))).unwrap().into_iter().map(|(key, _)| key).collect()
}

/// Every request of `c` is made again as it was sent, by a keep that was opened anew.
async fn all_are_as_sent(world: &World, script: &Script) {
    let keep = world.tab();
    let all = keep.requests("c", None).await.unwrap();
    let sent = script.payloads.borrow().clone();
    assert_eq!(all.len(), sent.len());
    for (record, sent) in all.iter().zip(&sent) {
        let again = keep.request(&record.id).await.unwrap();
        assert_eq!(again.body.to_string(), sent.to_string(), "{}", record.id);
        assert_eq!((again.differs, &again.record), (None, record));
        assert_eq!(again.context.figures.tokens, record.tokens);
        assert!(serde_json::to_string(record).unwrap().len() < 1024, "{record:?}");
    }
}

#[test]
fn every_request_is_made_again_bit_by_bit_whatever_came_after() {
    for provider in Provider::ALL {
        let world = World::default();
        let script = talkative();
        let keep = world.tab();
        let lal = lal(world.tab(), &script, provider);
        run(async {
            furnish(&keep).await;
            for (at, step) in steps().into_iter().enumerate() {
                set(&keep, step).await;
                say(&keep, &lal, "c", &format!("What of the boiler, number {at}?")).await;
                say(&keep, &lal, "c", "And Ann?").await;
                let end = keep.head("c").await.unwrap().unwrap();
                keep.pin_node(&end.id, at % 2 == 0).await.unwrap();
                // What is pinned now was not then, and the other way round.
                let first = keep.chain(&end.id).await.unwrap()[1].id.clone();
                keep.pin_node(&first, at % 3 == 1).await.unwrap();
                if at == 3 {
                    // What is remembered later is not in earlier requests.
                    keep.remember(NewFact::new("The boiler was sold.")).await.unwrap();
                }
            }
            all_are_as_sent(&world, &script).await;
            let all = keep.requests("c", None).await.unwrap();
            assert!(
                all.iter().any(|record| record.made_of.as_ref().is_some_and(|it| it.checkpoint.is_some())),
                "a compaction is among them"
            );
            assert!(all.iter().any(|record| record.made_of.as_ref().is_some_and(|it| !it.memory.is_empty())));
            let newest = keep.requests("c", Some(2)).await.unwrap();
            assert_eq!(newest, all[all.len() - 2..]);
        });
    }
}

#[test]
fn a_record_says_what_the_provider_counted_and_how_it_ended() {
    run(async {
        let world = World::default();
        let usage = Usage { prompt_tokens: 90, completion_tokens: 3, cached_tokens: Some(64), ..Usage::default() };
        let cached = says("yes").map(|completion| threadkeep_provider::Completion { usage: Some(usage), ..completion });
        let script = Script::of([calls(&[("c1", "add", json!({"a": 1, "b": 2}))]), cached, fails("overloaded")]);
        let keep = world.tab();
        let lal = lal(world.tab(), &script, Provider::Anthropic);
        let asked = RefCell::new(Vec::new());
        for text in ["one", "two"] {
            let mail = Outgoing { conversation: Some("c".to_owned()), ..from_ann("lal", text) };
            keep.send(mail).await.unwrap();
            let hear = |event| {
                if let AgentEvent::Asked { request, .. } = event {
                    asked.borrow_mut().push(request.unwrap());
                }
            };
            lal.catch_up(&hear).await.unwrap();
        }
        let all = keep.requests("c", None).await.unwrap();
        let ended: Vec<_> = all.iter().map(|record| (record.outcome.as_deref().unwrap(), record.usage)).collect();
        assert!(all.iter().all(|record| record.took.is_some_and(|took| took > 0)), "the clock of these tests moves on");
        assert_eq!(ended, [("tool-calls", None), ("stop", Some(usage)), ("overloaded", None)]);
        assert_eq!(all.iter().map(|record| record.id.clone()).collect::<Vec<_>>(), asked.take());
        let transcript = all[0].transcript.clone();
        assert_eq!(keep.requests(transcript.as_str(), None).await.unwrap(), all);
        assert_eq!(keep.requests(all[0].node.as_str(), None).await.unwrap(), all[..2]);
    });
}

#[test]
fn a_caller_can_have_its_own_requests_noted() {
    run(async {
        let world = World::default();
        let keep = world.tab();
        keep.append("c", crate::users(6)).await.unwrap();
        set(&keep, json!({"budget": {"maxMessages": 3}, "journal": false})).await;
        let ask = async |options: Value| {
            let params = context_params(options).unwrap();
            keep.context_of("c", params).await.unwrap()
        };
        let own = json!({"encoding": "estimate", "provider": "anthropic", "model": "m", "pins": [0], "record": true});
        let reply = ask(own).await;
        let id = reply.request.clone().unwrap();
        assert_eq!(ask(json!({"encoding": "estimate"})).await.request, None);
        keep.append("c", crate::users(3)).await.unwrap();
        let open = keep.requests("c", None).await.unwrap();
        assert_eq!((open.len(), open[0].outcome.as_deref(), open[0].usage), (1, None, None));
        assert_eq!(open[0].took, None);
        let usage = Usage { prompt_tokens: 12, completion_tokens: 3, cache_write_tokens: Some(9), ..Usage::default() };
        keep.note_answer(&id, Some(usage), "stop").await.unwrap();
        let again = world.tab().request(&id).await.unwrap();
        assert_eq!((again.body, again.differs, again.record.usage), (reply.payload, None, Some(usage)));
        assert_eq!(again.context.messages, reply.messages);
        let over = ask(json!({"encoding": "estimate", "budget": {"maxTokens": 1}, "record": true})).await;
        assert!(over.over_budget && over.request.is_none(), "what is not sent is not noted");
        keep.delete_transcript(&open[0].transcript).await.unwrap();
        assert_eq!(code(keep.note_answer(&id, None, "stop").await), "bad-request");
        assert_eq!(keys(&world), [""; 0]);
    });
}

#[test]
fn a_request_whose_memory_was_deleted_says_so() {
    run(async {
        let world = World::default();
        let script = Script::of([says("hot"), says("hotter")]);
        let keep = world.tab();
        let fact = keep.remember(NewFact::new("The boiler was set to sixty degrees.")).await.unwrap();
        let lal = lal(world.tab(), &script, Provider::OpenAiChat);
        say(&keep, &lal, "c", "How hot is the boiler?").await;
        all_are_as_sent(&world, &script).await;
        keep.forget_memory(&fact.id).await.unwrap();
        let id = keep.requests("c", None).await.unwrap()[0].id.clone();
        let again = keep.request(&id).await.unwrap();
        assert_eq!(again.differs, Some("memory"));
        assert!(!again.body.to_string().contains("sixty"), "what was deleted is gone");
    });
}

#[test]
fn requests_go_with_their_nodes() {
    run(async {
        let world = World::default();
        let script = Script::of((0..9).map(|at| says(&at.to_string())));
        let keep = world.tab();
        let lal = lal(world.tab(), &script, Provider::OpenAiChat);
        for (conversation, text) in [("c", "one"), ("c", "two"), ("d", "three")] {
            say(&keep, &lal, conversation, text).await;
        }
        let all = keep.requests("c", None).await.unwrap();
        keep.delete_branch(&all[1].node).await.unwrap();
        assert_eq!(keep.requests("c", None).await.unwrap(), all[..1]);
        assert_eq!(code(keep.request(&all[1].id).await), "bad-request");
        keep.delete_transcript(&all[0].transcript).await.unwrap();
        let left = keep.requests("d", None).await.unwrap();
        assert_eq!(left.len(), 1);
        assert!(keys(&world).iter().all(|key| key.contains(left[0].transcript.as_str())), "{:?}", keys(&world));
        keep.delete_all().await.unwrap();
        assert_eq!(keys(&world), [""; 0]);
        for unknown in ["", "x", "a:b", "a:0000000000000000000", &left[0].id] {
            assert_eq!(code(keep.request(unknown).await), "bad-request", "{unknown}");
        }
    });
}

#[test]
fn settings_say_how_long_requests_are_kept() {
    run(async {
        let world = World::default();
        let script = Script::of((0..9).map(|at| says(&at.to_string())));
        let keep = world.tab();
        let lal = lal(world.tab(), &script, Provider::OpenAiChat);
        set(&keep, json!({"journal": false})).await;
        say(&keep, &lal, "c", "unseen").await;
        assert_eq!(keep.requests("c", None).await.unwrap(), []);
        set(&keep, json!({"journal": {"days": 2}})).await;
        say(&keep, &lal, "c", "old").await;
        world.host.pass(24 * 3_600_000);
        say(&keep, &lal, "c", "newer").await;
        assert_eq!(keep.requests("c", None).await.unwrap().len(), 2);
        world.host.pass(2 * 24 * 3_600_000);
        say(&keep, &lal, "c", "newest").await;
        let left = keep.requests("c", None).await.unwrap();
        assert_eq!(left.len(), 2, "the one of three days before is gone, with its options");
        assert_eq!(keys(&world).len(), 4);
        assert_eq!(code(ContextSettings::from_json(json!({"journal": {"day": 2}})).map_err(Into::into)), "bad-request");
    });
}

/// Imports one file, and gives the requests of all that came in.
async fn reported(name: &str, bytes: Vec<u8>) -> Vec<threadkeep::protocol::RequestRecord> {
    let keep = World::default().tab();
    keep.import(vec![(name.to_owned(), bytes)], None, |_| {}).await.unwrap();
    let mut all = Vec::new();
    for thread in keep.transcripts().await.unwrap() {
        all.extend(keep.requests(thread.id.as_str(), None).await.unwrap());
    }
    all
}

#[test]
fn requests_of_imported_sessions_are_listed_once_each_with_their_usage() {
    run(async {
        let block = |uuid: &str, parent: &str, content: Value| {
            let usage = json!({"input_tokens": 3, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50,
                "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 40}, "output_tokens": 12});
            let message = json!({"id": "msg_1", "role": "assistant", "model": "claude-opus-4-6", "content": [content], "usage": usage, "stop_reason": "tool_use"});
            json!({"type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "requestId": "req_1", "timestamp": "2026-01-01T00:00:02Z", "message": message})
        };
        let asked = json!({"type": "user", "uuid": "u", "parentUuid": null, "sessionId": "s", "timestamp": "2026-01-01T00:00:01Z",
            "message": {"role": "user", "content": "Look."}});
        let lines = [
            asked,
            block("a", "u", json!({"type": "text", "text": "Looking."})),
            block("b", "a", json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {}})),
            // The same answer once more, on a branch of its own.
            block("c", "u", json!({"type": "text", "text": "Looking."})),
        ];
        let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let keep = World::default().tab();
        keep.import(vec![("session.jsonl".to_owned(), file.as_bytes().to_vec())], None, |_| {}).await.unwrap();
        let thread = keep.transcripts().await.unwrap().remove(0).id;
        let found = keep.requests(thread.as_str(), None).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        let one = &found[0];
        let usage = Usage {
            prompt_tokens: 953,
            completion_tokens: 12,
            cached_tokens: Some(900),
            cache_write_tokens: Some(50),
            cache_hour_tokens: Some(40),
            reasoning_tokens: None,
        };
        assert_eq!((one.usage, one.tokens), (Some(usage), 953));
        assert_eq!((one.program.as_deref(), one.provider), (Some("claude-code"), Provider::Anthropic));
        assert_eq!((one.model.as_str(), one.outcome.as_deref()), ("claude-opus-4-6", Some("tool_use")));
        let text = |id: &str| format!("{}:{id}", thread.as_str());
        assert!(one.node.as_str().ends_with('u') && one.sent_at == 1_767_225_602_000, "{one:?}");
        let why = keep.request(&one.id).await.unwrap_err();
        assert_eq!((why.code(), why.to_string().contains("another program")), ("bad-request", true), "{why}");
        assert_eq!(code(keep.request(&text("x")).await), "bad-request");

        let codex = include_bytes!("../../../archive/fixtures/codex.jsonl").to_vec();
        let gemini = include_bytes!("../../../archive/fixtures/gemini-cli.json").to_vec();
        let pi = include_bytes!("../../../archive/fixtures/pi.jsonl").to_vec();
        for (name, end, bytes) in [("codex", "jsonl", codex), ("gemini-cli", "json", gemini), ("pi", "jsonl", pi)] {
            let found = reported(&format!("{name}.{end}"), bytes).await;
            assert!(!found.is_empty(), "{name}");
            assert!(found.iter().all(|it| it.program.as_deref() == Some(name) && it.usage.is_some()), "{found:?}");
        }
    });
}

#[test]
fn usage_of_real_sessions_of_claude_code_is_what_their_lines_say() {
    let Some(data) = crate::folder::data() else { return };
    run(async {
        let mut requests = 0;
        for entry in std::fs::read_dir(data.join("claude-code-sessions")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|it| it != "jsonl") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let mut said = std::collections::BTreeMap::new();
            for line in bytes.split(|byte| *byte == b'\n') {
                let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
                let usage = &line["message"]["usage"];
                let Some(id) = line["requestId"].as_str().filter(|_| usage.is_object()) else { continue };
                let count = |name: &str| usage[name].as_u64().unwrap_or(0);
                let input =
                    count("input_tokens") + count("cache_read_input_tokens") + count("cache_creation_input_tokens");
                said.insert(id.to_owned(), (input, count("cache_read_input_tokens"), count("output_tokens")));
            }
            let total = |all: &mut dyn Iterator<Item = (u64, u64, u64)>| {
                all.fold((0, 0, 0, 0), |sum, it| (sum.0 + 1, sum.1 + it.0, sum.2 + it.1, sum.3 + it.2))
            };
            let found = reported(&path.display().to_string(), bytes).await;
            let of = |it: &Usage| (it.prompt_tokens, it.cached_tokens.unwrap_or(0), it.completion_tokens);
            let have = total(&mut found.iter().filter_map(|it| it.usage.as_ref().map(of)));
            assert_eq!(have, total(&mut said.into_values()), "{}", path.display());
            requests += found.len();
        }
        eprintln!("{requests} requests");
        assert!(requests > 100);
    });
}

/// A line of a Claude Code session: an answer of this model, with 1,000,000 tokens read from the cache.
fn answered(session: &str, request: &str, model: &str, day: u32) -> String {
    let usage = json!({"input_tokens": 0, "cache_read_input_tokens": 1_000_000, "output_tokens": 0});
    let message = json!({"id": request, "role": "assistant", "model": model, "content": "Yes.", "usage": usage});
    let line = json!({"type": "assistant", "uuid": format!("{session}-{request}"), "sessionId": session, "requestId": request,
        "timestamp": format!("2026-01-{day:02}T00:00:00Z"), "message": message});
    format!("{line}\n")
}

#[test]
fn costs_are_summed_by_thread_day_and_model_and_what_sessions_repeat_counts_once() {
    run(async {
        let keep = World::default().tab();
        let first = answered("s", "r1", "claude-opus-4-6", 1) + &answered("s", "r2", "claude-haiku-4-5", 2);
        // The second session goes on from the first, and repeats what was said there.
        let second = answered("t", "r1", "claude-opus-4-6", 1) + &answered("t", "r3", "house-model", 2);
        for file in [first, second] {
            let report =
                keep.import(vec![("session.jsonl".to_owned(), file.into_bytes())], None, |_| {}).await.unwrap();
            assert_eq!(report.added, 1);
        }
        let costs = keep.costs(None, &[]).await.unwrap();
        assert_eq!(
            (costs.total.requests, costs.total.unpriced, costs.total.usage.cached_tokens),
            (3, 1, Some(3_000_000))
        );
        // 50 cents and 10 cents for a million cached tokens.
        assert!((costs.total.dollars - 0.6).abs() < 1e-9, "{costs:?}");
        let dollars = |sums: &[(String, threadkeep::protocol::Cost)]| {
            sums.iter().map(|(name, sum)| (name.clone(), (sum.dollars * 1000.0).round())).collect::<Vec<_>>()
        };
        let named = |name: &str, sum: f64| (name.to_owned(), sum);
        assert_eq!(dollars(&costs.days), [named("2026-01-01", 500.0), named("2026-01-02", 100.0)]);
        let models = [named("claude-haiku-4-5", 100.0), named("claude-opus-4-6", 500.0), named("house-model", 0.0)];
        assert_eq!(dollars(&costs.models), models);
        let (threads, each) = (costs.threads.len(), costs.threads.iter().map(|(_, sum)| sum.requests).sum::<u32>());
        assert_eq!((threads, each), (2, 3));

        let own = |model: &str, input| threadkeep_provider::Price {
            model: model.to_owned(),
            input,
            output: 1.0,
            ..threadkeep_provider::Price::default()
        };
        let prices = [own("house-model", 3.0), own("claude-opus-4-6", 7.0)];
        let costs = keep.costs(None, &prices).await.unwrap();
        assert_eq!((costs.total.unpriced, (costs.total.dollars * 10.0).round()), (0, 101.0));

        // Of one thread, all that it holds; each request says what it cost.
        let id = costs.threads.iter().map(|(id, _)| id).find(|id| id.ends_with('t')).unwrap();
        assert_eq!(keep.costs(Some(id), &[]).await.unwrap().total.requests, 2);
        let listed: Vec<_> = keep.requests(id, None).await.unwrap().into_iter().map(|it| it.cost).collect();
        assert_eq!(listed, [Some(0.5), None]);
        assert_eq!(code(keep.costs(Some("nowhere"), &[]).await), "missing-node");
    });
}

#[test]
fn costs_of_a_real_pi_session_are_what_pi_says() {
    let Some(data) = crate::folder::data() else { return };
    run(async {
        let path = data.join("pi-sessions/large-session.jsonl");
        let bytes = std::fs::read(&path).unwrap();
        let mut said = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
            let (message, cost) = (&line["message"], line["message"]["usage"]["cost"]["total"].as_f64());
            if let (Some("claude-sonnet-4-5"), Some(cost)) =
                (message["model"].as_str(), cost.filter(|cost| *cost > 0.0))
            {
                said.push(cost);
            }
        }
        let found = reported(&path.display().to_string(), bytes).await;
        let mut ours: Vec<f64> =
            found.iter().filter(|it| it.model == "claude-sonnet-4-5").filter_map(|it| it.cost).collect();
        for costs in [&mut said, &mut ours] {
            costs.sort_by(f64::total_cmp);
        }
        assert_eq!(ours.len(), said.len());
        let off = ours.iter().zip(&said).map(|(ours, said)| (ours - said).abs()).fold(0.0, f64::max);
        let sum = |costs: &[f64]| costs.iter().sum::<f64>();
        eprintln!("{} requests, {:.4} dollars by pi, {:.4} here", said.len(), sum(&said), sum(&ours));
        assert!(said.len() > 50 && off < 1e-9, "{off}");
    });
}

#[test]
fn requests_of_compactions_are_in_the_journal_with_what_they_took() {
    let world = World::default();
    let long = "We decided to use the blue paint for the north wall because it dries faster. ".repeat(20);
    let summary = counted(says(r#"{"statements": ["The north wall is painted blue."]}"#), 3_000, 20);
    let answers = (0..5).map(|at| counted(says(&format!("{at} {long}")), 5_500, 500));
    let script = Script::of(answers.chain([summary, counted(says("short"), 900, 5), fails("overloaded")]));
    let mut own = options("lal");
    own.policy.max_context_tokens = Some(6_000);
    own.policy.max_output_tokens = Some(1_000);
    let model = Endpoint::of(&script, Provider::Anthropic);
    let lal = Agent::new(world.tab(), own, Rc::new(model), Rc::new(Toolbox::default()));
    let keep = world.tab();
    run(async {
        for at in 0..6 {
            say(&keep, &lal, "c", &format!("question {at}: {long}")).await;
        }
        let all = keep.requests("c", None).await.unwrap();
        let [one] = &all.iter().filter(|record| record.purpose.is_some()).collect::<Vec<_>>()[..] else {
            panic!("{all:?}")
        };
        assert_eq!((one.purpose, one.made_of.as_ref()), (Some(Purpose::Summary), None));
        assert_eq!((one.model.as_str(), one.agent.as_deref()), ("gpt-5-mini", Some("lal")));
        assert_eq!((one.outcome.as_deref(), one.usage.unwrap().prompt_tokens), (Some("stop"), 3_000));
        assert!(one.tokens > 1_000, "{}", one.tokens);
        assert_eq!(code(keep.request(&one.id).await), "bad-request");
        let costs = keep.costs(Some("c"), &[]).await.unwrap();
        assert_eq!((costs.total.requests, costs.total.usage.prompt_tokens), (7, 5 * 5_500 + 3_000 + 900));
        // One that fails is there too; the rules make the summary.
        let end = keep.head("c").await.unwrap().unwrap();
        keep.request_compaction(end.id.as_str()).await.unwrap();
        say(&keep, &lal, "c", "and now?").await;
        let last = keep.requests("c", None).await.unwrap();
        let failed = last.iter().rev().find(|record| record.purpose.is_some()).unwrap();
        assert_eq!((failed.outcome.as_deref(), failed.usage), (Some("overloaded"), None));
        // They go with their thread.
        keep.delete_transcript(&end.transcript).await.unwrap();
        assert_eq!(keys(&world), [""; 0]);
    });
}
