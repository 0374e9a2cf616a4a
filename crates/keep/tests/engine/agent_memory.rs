//! Agent memory as an agent lives through it: traces, turns, working context, compaction, episodes, facts and their files.
//! The kernel's operations one by one are in `kernel`; the rules of a compaction without a kernel are in `compaction_rules`.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep::compact::{Answer, Answered, CompactOptions, Summariser, policy};
use threadkeep::kernel::{Kernel, KernelOptions, Processor, Usage};
use threadkeep::protocol::{ContextOptions, ContextParams, Counting};
use threadkeep::{Keep, MemoryFilter, NewFact, Options};
use threadkeep_compaction::PolicyOptions;
use threadkeep_compaction::memory::{BundleLimits, FactKind, RememberFrom, Share};
use threadkeep_compaction::summary::{FoundFact, Material, Summary};
use threadkeep_context::tokens::Counter;
use threadkeep_core::checkpoint::{Source, Statement};
use threadkeep_core::message::ToolCall;
use threadkeep_core::{Message, MessageId, Role};
use threadkeep_provider::{Provider, validate_payload};
use threadkeep_store::{Commit, MemoryStore, Record, Scan, Store, StoreError};

use crate::{World, run};

/// Says what it was given: one statement, one episode and one fact a call.
#[derive(Default)]
struct Scribe {
    given: RefCell<Vec<Vec<(u32, String)>>>,
}

impl Summariser for Scribe {
    fn name(&self) -> &str {
        "scribe"
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, _: &'a dyn Counter) -> Answer<'a> {
        let given: Vec<_> =
            material.pieces.iter().map(|piece| (piece.turn, piece.message.text().into_owned())).collect();
        self.given.borrow_mut().push(given);
        let number = self.given.borrow().len();
        let sources: Vec<Source> =
            material.pieces.iter().map(|it| Source { node: it.node.clone(), index: it.index }).collect();
        let fact = FoundFact {
            kind: FactKind::Decision,
            fact: format!("Harbour {number} is chosen."),
            tags: vec!["harbour".to_owned()],
            confidence: Share::of(800),
            salience: Share::of(700),
            sources: sources.clone(),
        };
        let summary = Summary {
            statements: vec![Statement { text: format!("Stretch {number} was sailed."), sources, level: 0 }],
            episode: format!("Episode {number}: the crew sailed on."),
            tags: vec!["voyage".to_owned()],
            salience: Share::of(600),
            facts: vec![fact],
        };
        Box::pin(std::future::ready(Ok(Answered { summary, ..Answered::default() })))
    }
}

struct Agent {
    world: World,
    kernel: Kernel<MemoryStore>,
    scribe: Rc<Scribe>,
}

/// An agent whose model takes 1,000 tokens in all and answers in 100, with 100 to spare: a budget of 800.
fn agent(world: &World, name: &str) -> Agent {
    let limits = PolicyOptions {
        max_context_tokens: Some(1000),
        max_output_tokens: Some(100),
        safety_margin: Some(100),
        ..PolicyOptions::default()
    };
    let options = KernelOptions {
        context: ContextParams { encoding: Some(Counting::Estimate), ..ContextParams::default() },
        policy: policy(&limits, &PolicyOptions::default(), None),
        // What the scribe finds rests on the tool's results, too.
        compact: CompactOptions {
            encoding: Counting::Estimate,
            remember_from: RememberFrom::all(),
            ..CompactOptions::default()
        },
        limits: BundleLimits::default(),
        continuation: None,
    };
    let scribe = Rc::new(Scribe::default());
    let kernel = Kernel::new(world.tab(), name, options, Rc::clone(&scribe) as Rc<dyn Summariser>);
    Agent { world: world.clone(), kernel, scribe }
}

impl Agent {
    /// One turn of some length, with a tool in it.
    async fn turn(&self, number: u32) {
        let ask = format!("Question {number}: how do we come to island {number}, past the reef and before the tide?");
        self.kernel.ingest_user_message(Message::user(ask)).await.unwrap();
        let id = format!("c{number}");
        self.kernel.ingest_tool_intent(vec![ToolCall::function(&id, "look_at_chart", "{}")]).await.unwrap();
        self.kernel.ingest_tool_result(&id, "look_at_chart", Ok(json!({"depth": number}))).await.unwrap();
        let answer = format!("Answer {number}: by the northern channel, with the wind behind us.");
        self.kernel.ingest_assistant_response(Message::assistant(answer)).await.unwrap();
    }

    async fn turns(&self, numbers: std::ops::RangeInclusive<u32>) {
        for number in numbers {
            self.turn(number).await;
        }
    }

    /// The model answers what it is sent, and reports so many tokens.
    async fn answer(&self, input: &str, prompt_tokens: Option<u64>) -> Vec<Message> {
        let package = self.kernel.prepare_request(Some(Message::user(input)), Some("Be a pilot.")).await.unwrap();
        let usage = prompt_tokens.map(|prompt_tokens| Usage { prompt_tokens, completion_tokens: 5 });
        self.kernel.after_invoke(&package, Message::assistant("Aye."), usage.as_ref()).await.unwrap();
        package.messages
    }

    async fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        self.world.tab().export_memory(None, |path, text| files.push((path, text))).await.unwrap();
        files
    }
}

fn none() -> MemoryFilter {
    MemoryFilter::default()
}

fn said(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.text().into_owned()).collect()
}

/// The lines of the file that ends so.
fn lines(files: &[(String, String)], name: &str) -> Vec<Value> {
    let of = files.iter().filter(|(path, _)| path.ends_with(&format!("/{name}")));
    of.flat_map(|(_, text)| text.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn compact_makes_episodes_and_facts_and_takes_old_turns_out_of_the_working_context() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=7).await;
        let before = said(&it.kernel.get_working_context_messages().await.unwrap());
        let done = it.kernel.compact().await.unwrap();
        assert_eq!((done.episodes.len(), done.episodes[0].turns.as_slice()), (1, &[1, 2, 3][..]));
        assert_eq!((done.facts.len(), done.facts[0].fact.as_str()), (1, "Harbour 1 is chosen."));
        let after = said(&it.kernel.get_working_context_messages().await.unwrap());
        assert!(before.iter().any(|text| text.starts_with("Question 3:")));
        assert!(after.iter().all(|text| !text.starts_with("Question 3:")), "{after:?}");
        assert!(after.iter().any(|text| text.starts_with("Question 4:")));
        // What was pruned there is kept as it was.
        let turns: Vec<String> = (1..=3).map(|number| format!("turn_{number:04}")).collect();
        assert_eq!(it.kernel.get_traces_for_turns(&turns).await.unwrap().len(), 12);
    });
}

#[test]
fn records_name_their_turns_and_carry_tags_salience_and_confidence() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=6).await;
        it.kernel.compact().await.unwrap();
        let files = it.files().await;
        let [episode] = &lines(&files, "episodic.jsonl")[..] else { panic!("one episode") };
        assert_eq!(episode["turn_ids"], json!(["turn_0001", "turn_0002"]));
        assert_eq!((&episode["tags"], &episode["salience"]), (&json!(["voyage"]), &json!(0.6)));
        let [fact] = &lines(&files, "semantic.jsonl")[..] else { panic!("one fact") };
        assert_eq!((&fact["confidence"], &fact["salience"]), (&json!(0.8), &json!(0.7)));
        for record in [episode, fact] {
            assert!(record["id"].is_string() && record["ts"].is_f64(), "{record}");
        }
    });
}

#[test]
fn the_store_adds_items_and_lists_them_by_kind_up_to_a_limit() {
    let it = agent(&World::default(), "pilot");
    run(async {
        let keep = it.world.tab();
        for at in 0..5 {
            keep.remember(NewFact::new(format!("Rule {at} is kept on board number {at}."))).await.unwrap();
        }
        it.turns(1..=6).await;
        it.kernel.compact().await.unwrap();
        it.turns(7..=12).await;
        it.kernel.compact().await.unwrap();
        // Oldest first, and of too many the newest.
        let (facts, episodes) = (keep.facts(&none()).await.unwrap(), keep.episodes(&none()).await.unwrap());
        assert_eq!((facts.len(), episodes.len()), (7, 2));
        assert!(facts[0].fact.starts_with("Rule 0") && facts[6].fact == "Harbour 2 is chosen.");
        for limit in 0..9 {
            let filter = MemoryFilter { limit: Some(limit), ..none() };
            assert_eq!(keep.facts(&filter).await.unwrap(), facts[7 - limit.min(7)..]);
            assert_eq!(keep.episodes(&filter).await.unwrap(), episodes[2 - limit.min(2)..]);
        }
        // Raw traces are listed by turns.
        assert_eq!(it.kernel.get_raw_tail(2, None).await.unwrap().len(), 8);
    });
}

#[test]
fn raw_traces_are_listed_and_pruned_ones_read_from_the_archive() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=7).await;
        let listed: Vec<Value> = it
            .kernel
            .get_raw_tail(99, None)
            .await
            .unwrap()
            .iter()
            .map(|trace| serde_json::to_value(trace).unwrap())
            .collect();
        assert_eq!(lines(&it.files().await, "raw_traces.jsonl"), listed);
        assert!(lines(&it.files().await, "raw_traces_archive.jsonl").is_empty());
        let pruned = it.kernel.select_compaction_window().await.unwrap();
        it.kernel.compact().await.unwrap();
        // Pruned from the active file into the archive, and listed by the engine all the same.
        let archived: Vec<Value> = it
            .kernel
            .get_traces_for_turns(&pruned)
            .await
            .unwrap()
            .iter()
            .map(|trace| serde_json::to_value(trace).unwrap())
            .collect();
        assert_eq!(archived.len(), 12);
        assert_eq!(lines(&it.files().await, "raw_traces_archive.jsonl"), archived);
        assert_eq!(lines(&it.files().await, "raw_traces.jsonl"), listed[12..]);
    });
}

#[test]
fn the_base_folder_of_exported_files_is_memory_and_files_of_any_folder_are_read() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=6).await;
        it.kernel.compact().await.unwrap();
        let files = it.files().await;
        assert!(files.iter().all(|(path, _)| path.starts_with("memory/agents/")));
        // A browser has no environment: whoever writes the files chooses the folder, and any is read.
        let mut read = Vec::new();
        for base in ["memory", "/srv/agent-memory", "C:\\data", "."] {
            let moved = files.iter().map(|(path, text)| (path.replacen("memory", base, 1), text.clone().into_bytes()));
            let keep = World::default().tab();
            let report = keep.import(moved.collect::<Vec<_>>(), None, |_| {}).await.unwrap();
            // The working context is made of the rest, and so passed over.
            assert_eq!((report.added, report.memories, report.skipped_count), (1, 2, 1), "{base}: {report:?}");
            let facts = keep.facts(&none()).await.unwrap().into_iter().map(|fact| fact.fact);
            read.push((report.messages, facts.collect::<Vec<_>>()));
        }
        read.dedup();
        assert_eq!(read.len(), 1);
    });
}

#[test]
fn each_agent_has_its_files_in_a_folder_of_its_own() {
    let world = World::default();
    let (one, two) = (agent(&world, "pilot"), agent(&world, "cook"));
    run(async {
        one.turns(1..=6).await;
        two.turn(1).await;
        one.kernel.compact().await.unwrap();
        let files = one.files().await;
        let id = |name: &'static str| {
            let tab = world.tab();
            async move { tab.head(name).await.unwrap().unwrap().transcript.to_string() }
        };
        let mut folders: Vec<&str> = files.iter().map(|(path, _)| path.rsplit_once('/').unwrap().0).collect();
        folders.dedup();
        let mut expected = [id("pilot").await, id("cook").await].map(|id| format!("memory/agents/{id}"));
        expected.sort();
        assert_eq!(folders, expected);
        let pilot = format!("memory/agents/{}/", id("pilot").await);
        let mut names: Vec<&str> = files.iter().filter_map(|(path, _)| path.strip_prefix(&pilot)).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "episodic.jsonl",
                "raw_traces.jsonl",
                "raw_traces_archive.jsonl",
                "semantic.jsonl",
                "working_context_snapshot.json"
            ]
        );
    });
}

#[test]
fn raw_trace_files_only_grow() {
    let it = agent(&World::default(), "pilot");
    run(async {
        let (mut active, mut archive) = (String::new(), String::new());
        for number in 1..=14 {
            it.turn(number).await;
            let compacted = number % 6 == 0 && it.kernel.compact().await.unwrap().checkpoint.is_some();
            let files = it.files().await;
            let text = |name: &str| {
                files.iter().find(|(path, _)| path.ends_with(name)).map(|(_, text)| text.clone()).unwrap_or_default()
            };
            let (now, archived) = (text("/raw_traces.jsonl"), text("/raw_traces_archive.jsonl"));
            // What was archived stays; both together only grow at their end, though a compaction moves the border.
            assert!(archived.starts_with(&archive), "turn {number}");
            let (before, after) = (archive + &active, archived.clone() + &now);
            assert!(after.len() > before.len() && after.starts_with(&before), "turn {number}");
            assert_eq!(compacted, archived.len() + active.len() > before.len(), "turn {number}");
            (active, archive) = (now, archived);
        }
        assert!(!archive.is_empty());
    });
}

#[test]
fn without_a_trigger_nothing_is_compacted() {
    let it = agent(&World::default(), "pilot");
    run(async {
        // However long the history grows: without a trigger nothing is consolidated.
        it.turns(1..=20).await;
        for number in 0..3 {
            it.answer(&format!("Aside {number}."), Some(10)).await;
        }
        let keep = it.world.tab();
        assert_eq!(keep.checkpoints("pilot").await.unwrap(), []);
        assert!(it.scribe.given.borrow().is_empty());
        assert_eq!(keep.episodes(&Default::default()).await.unwrap(), []);
    });
}

#[test]
fn every_request_has_its_working_context_and_after_a_compaction_what_is_remembered() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=7).await;
        assert!(said(&it.answer("Before.", Some(10)).await).iter().all(|text| !text.contains("[Quoted from memory.")));
        it.kernel.request_compaction().await.unwrap();
        for number in 0..3 {
            let sent = said(&it.answer(&format!("After {number}."), Some(10)).await);
            let memory: Vec<&String> = sent.iter().filter(|text| text.contains("[Quoted from memory.")).collect();
            assert_eq!(memory.len(), 1, "{sent:?}");
            assert!(memory[0].contains("Episode 1: the crew sailed on.") && memory[0].contains("Harbour 1 is chosen."));
        }
        assert_eq!(it.scribe.given.borrow().len(), 1);
    });
}

#[test]
fn the_working_context_is_system_history_tools_and_the_input() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turn(1).await;
        let sent = it.answer("And then?", None).await;
        let roles: Vec<&str> = sent.iter().map(|message| message.role.as_str()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
        assert_eq!((sent[0].text(), sent[5].text()), ("Be a pilot.".into(), "And then?".into()));
        assert_eq!(sent[2].tool_calls[0].id(), sent[3].tool_call_id.as_deref().unwrap());
    });
}

#[test]
fn between_compactions_the_working_context_only_grows() {
    let it = agent(&World::default(), "pilot");
    run(async {
        let mut before = Vec::new();
        for number in 1..=6 {
            let sent = it.answer(&format!("Question {number}?"), Some(10)).await;
            assert_eq!(sent[..before.len()], before[..], "turn {number}");
            assert_eq!(sent.len(), (before.len() + 2).max(2));
            before = sent;
        }
    });
}

#[test]
fn a_compaction_resets_the_working_context_to_system_memory_and_raw_tail_and_turns_append_again() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=7).await;
        it.kernel.request_compaction().await.unwrap();
        let sent = it.answer("Now?", Some(10)).await;
        let texts = said(&sent);
        let at = |part: &str| {
            texts.iter().position(|text| text.contains(part)).unwrap_or_else(|| panic!("{part}: {texts:?}"))
        };
        assert_eq!((sent[0].role.clone(), at("Be a pilot.")), (Role::System, 0));
        assert!(at("Stretch 1 was sailed.") < at("Question 4:") && at("Question 4:") < at("Question 7:"));
        // What is remembered is material by the newest input.
        let memory = at("[Quoted from memory.");
        assert_eq!((sent[memory].role.clone(), memory), (Role::User, texts.len() - 2));
        assert!(texts.iter().all(|text| !text.contains("Question 3:")));
        assert_eq!(at("Now?"), texts.len() - 1);
        let next = it.answer("And now?", Some(10)).await;
        assert_eq!(next[..memory], sent[..memory]);
        let rest = said(&next[memory..]);
        assert_eq!(rest[..2], ["Now?", "Aye."]);
        assert!(rest[2].contains("[Quoted from memory.") && rest[3..] == ["And now?"]);
    });
}

#[test]
fn one_working_context_is_rendered_for_every_provider() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=7).await;
        it.kernel.compact().await.unwrap();
        it.kernel.ingest_user_message(Message::user("Now?")).await.unwrap();
        for provider in Provider::ALL {
            let build = threadkeep_context::Options { provider, ..Default::default() };
            let options = ContextOptions { encoding: Counting::Estimate, build, ..ContextOptions::default() };
            let reply = it.world.tab().context("pilot", &options).await.unwrap();
            assert_eq!(validate_payload(&reply.payload, provider), [], "{provider:?}");
            let text = reply.payload.to_string();
            assert!(text.contains("Stretch 1 was sailed.") && text.contains("look_at_chart"), "{provider:?}");
        }
    });
}

#[test]
fn a_compaction_writes_episode_fact_tail_archive_and_snapshot_files() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=7).await;
        let done = it.kernel.compact().await.unwrap();
        let files = it.files().await;
        // An episode, facts, the raw tail, the pruned rest, a new base for the working context.
        assert_eq!(lines(&files, "episodic.jsonl")[0]["summary"], done.episodes[0].summary);
        assert_eq!(lines(&files, "semantic.jsonl")[0]["fact"], done.facts[0].fact);
        let turns = |name: &str| {
            let mut turns: Vec<String> =
                lines(&files, name).iter().map(|line| line["turn_id"].as_str().unwrap().to_owned()).collect();
            turns.dedup();
            turns
        };
        assert_eq!(turns("raw_traces.jsonl"), ["turn_0004", "turn_0005", "turn_0006", "turn_0007"]);
        assert_eq!(turns("raw_traces_archive.jsonl"), ["turn_0001", "turn_0002", "turn_0003"]);
        let [snapshot] = &lines(&files, "working_context_snapshot.json")[..] else { panic!("one snapshot") };
        let messages = snapshot["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 1 + 4 * 4);
        assert!(messages[0]["content"].as_str().unwrap().contains("Stretch 1 was sailed."));
    });
}

#[test]
fn the_summariser_gets_the_turns_of_the_window_whole_and_nothing_else() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=7).await;
        let window = it.kernel.select_compaction_window().await.unwrap();
        it.kernel.compact().await.unwrap();
        let given = it.scribe.given.borrow();
        let [pieces] = &given[..] else { panic!("asked once") };
        let mut turns: Vec<String> = pieces.iter().map(|(turn, _)| format!("turn_{turn:04}")).collect();
        assert_eq!(turns.len(), 4 * window.len());
        turns.dedup();
        assert_eq!(turns, window);
    });
}

#[test]
fn without_reported_usage_no_compaction_is_requested() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=12).await;
        it.answer("Is this too long?", None).await;
        assert_eq!(it.kernel.compaction_required().await.unwrap(), None);
        it.answer("And this?", Some(801)).await;
        assert_eq!(it.kernel.compaction_required().await.unwrap().map(|reason| reason.name()), Some("over-budget"));
    });
}

#[test]
fn a_request_shows_4_raw_turns_3_episodes_and_20_facts_by_default() {
    let it = agent(&World::default(), "pilot");
    run(async {
        let keep = it.world.tab();
        for at in 0..30 {
            keep.remember(NewFact::new(format!("Locker {at} holds rope number {at}."))).await.unwrap();
        }
        for round in 0..5 {
            it.turns(round * 6 + 1..=round * 6 + 6).await;
            assert!(it.kernel.compact().await.unwrap().checkpoint.is_some());
        }
        assert_eq!(keep.episodes(&Default::default()).await.unwrap().len(), 5);
        let sent = said(&it.answer("Where is the rope?", Some(10)).await);
        let memory = sent.iter().find(|text| text.contains("[Quoted from memory.")).unwrap();
        let (episodes, facts): (Vec<&str>, Vec<&str>) =
            memory.lines().filter(|line| line.starts_with("> 20")).partition(|line| line.contains(", summary, "));
        assert_eq!((episodes.len(), facts.len()), (3, 20), "{memory}");
        let raw: Vec<&String> = sent.iter().filter(|text| text.starts_with("Question ")).collect();
        assert_eq!(raw.len(), 4, "{raw:?}");
        assert!(raw[0].starts_with("Question 27:"));
    });
}

#[test]
fn turns_count_up_for_each_agent_and_go_on_after_a_restart() {
    let world = World::default();
    let (one, two) = (agent(&world, "pilot"), agent(&world, "cook"));
    run(async {
        one.turns(1..=3).await;
        assert_eq!(two.kernel.start_turn().await.unwrap(), "turn_0001");
        assert_eq!(two.kernel.ingest_user_message(Message::user("Soup?")).await.unwrap(), "turn_0001");
        let again = agent(&world, "pilot");
        assert_eq!(again.kernel.ingest_user_message(Message::user("And?")).await.unwrap(), "turn_0004");
        // A deleted turn's number is not used again.
        let tab = world.tab();
        let last = tab.head("pilot").await.unwrap().unwrap().id;
        tab.delete_branch(&last).await.unwrap();
        assert_eq!(again.kernel.ingest_user_message(Message::user("Well?")).await.unwrap(), "turn_0005");
    });
}

#[test]
fn the_answer_is_ingested_without_any_processor() {
    struct Upper;
    impl Processor for Upper {
        fn order(&self) -> u32 {
            0
        }
        fn process_input(&self, message: Message) -> Message {
            let content = message.text().to_uppercase().into();
            Message { content, ..message }
        }
    }
    let it = agent(&World::default(), "pilot");
    it.kernel.add_processor(Rc::new(Upper)).unwrap();
    run(async {
        it.answer("Ready?", None).await;
        let traces = it.kernel.get_raw_tail(1, None).await.unwrap();
        let last = traces.last().unwrap();
        assert_eq!((last.trace_type.name(), last.content.as_str()), ("assistant", "Aye."));
        assert_eq!(
            (last.source_event.as_str(), last.turn_id.as_str()),
            ("LLMCompleteResponseReceivedEvent", "turn_0001")
        );
    });
}

#[test]
fn pruning_keeps_every_trace_once_and_leaves_no_tombstones() {
    let it = agent(&World::default(), "pilot");
    run(async {
        it.turns(1..=7).await;
        let ids = |files: &[(String, String)]| {
            let all = [lines(files, "raw_traces_archive.jsonl"), lines(files, "raw_traces.jsonl")].concat();
            all.into_iter().map(|line| (line["id"].to_string(), line["content"].to_string())).collect::<Vec<_>>()
        };
        let before = ids(&it.files().await);
        let seq = |id: MessageId| {
            let tab = it.world.tab();
            async move { tab.node(&id).await.unwrap().unwrap() }
        };
        let leaf = it.world.tab().head("pilot").await.unwrap().unwrap().id;
        let node = seq(leaf.clone()).await;
        it.kernel.compact().await.unwrap();
        // Every trace is in one of the files once, in its order, and nothing marks what went.
        assert_eq!(ids(&it.files().await), before);
        let active = lines(&it.files().await, "raw_traces.jsonl");
        assert!(active.iter().all(|line| line["turn_id"].as_str().unwrap() > "turn_0003"));
        assert_eq!(seq(leaf).await, node);
    });
}

/// A store that notes the keys of each of its commits.
#[derive(Clone, Default)]
struct Noted(MemoryStore, Rc<RefCell<Vec<Vec<String>>>>);

impl Store for Noted {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.get(key).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Vec<Record>, StoreError> {
        self.0.scan(scan).await
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.1.borrow_mut().push(commit.puts.iter().map(|(key, _)| key.clone()).collect());
        self.0.commit(commit).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.0.close().await
    }
}

#[test]
fn a_compaction_with_its_episode_and_facts_is_one_atomic_commit() {
    let world = World::default();
    let it = agent(&world, "pilot");
    run(async {
        it.turns(1..=7).await;
        let store = Noted(world.store.clone(), Rc::default());
        let keep = Keep::open(store.clone(), world.host.clone(), Options::default()).await.unwrap();
        let remember_from = RememberFrom::all();
        let options = CompactOptions { encoding: Counting::Estimate, remember_from, ..CompactOptions::default() };
        store.1.borrow_mut().clear();
        let done = keep.compact("pilot", &options, &Scribe::default()).await.unwrap();
        assert!(done.checkpoint.is_some() && done.episodes.len() == 1 && done.facts.len() == 1);
        let commits = store.1.borrow().clone();
        let [keys] = &commits[..] else { panic!("one commit: {commits:?}") };
        // The log's page with the checkpoint, the episode, the fact, and that the request was carried out.
        for kind in ["p/", "e/", "f/", "c//"] {
            assert!(keys.iter().any(|key| key.starts_with(kind)), "{kind}: {keys:?}");
        }
    });
}

#[test]
fn the_providers_count_decides_and_no_estimate() {
    let world = World::default();
    let (short, long) = (agent(&world, "short"), agent(&world, "long"));
    run(async {
        // By its estimate far below the budget, by the provider's count above it.
        short.answer("Hi.", Some(801)).await;
        assert!(short.kernel.compaction_required().await.unwrap().is_some());
        // And the other way round.
        long.turns(1..=30).await;
        long.answer("Hi.", Some(640)).await;
        assert_eq!(long.kernel.compaction_required().await.unwrap(), None);
    });
}
