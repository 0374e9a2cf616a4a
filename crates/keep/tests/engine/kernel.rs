//! The memory kernel: its operations over an engine, one test each.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep::compact::{Answer, Answered, CompactOptions, Summariser, policy};
use threadkeep::kernel::{Extension, INGEST_ORDER, Kernel, KernelOptions, Processor, Usage};
use threadkeep::protocol::{ContextParams, Counting};
use threadkeep_compaction::PolicyOptions;
use threadkeep_compaction::extract::extract;
use threadkeep_compaction::memory::{BundleLimits, Share, ToolStatus};
use threadkeep_compaction::summary::Material;
use threadkeep_context::tokens::{Counter, Estimate};
use threadkeep_core::message::ToolCall;
use threadkeep_core::{Message, Role};
use threadkeep_store::MemoryStore;

use crate::{World, code, run};

/// The summariser that needs no model.
struct Extractive;

impl Summariser for Extractive {
    fn name(&self) -> &str {
        "extractive"
    }

    fn summarise<'a>(&'a self, material: &'a Material<'a>, counter: &'a dyn Counter) -> Answer<'a> {
        let summary = extract(material, counter);
        Box::pin(std::future::ready(Ok(Answered::from(summary))))
    }
}

fn options() -> KernelOptions {
    let limits = PolicyOptions {
        max_context_tokens: Some(1000),
        max_output_tokens: Some(100),
        safety_margin: Some(100),
        compaction_ratio: Some(Share::of(800)),
        compaction_threshold: None,
    };
    KernelOptions {
        context: ContextParams { encoding: Some(Counting::Estimate), ..ContextParams::default() },
        policy: policy(&limits, &PolicyOptions::default(), None),
        compact: CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() },
        limits: BundleLimits::default(),
        continuation: None,
    }
}

fn kernel(world: &World) -> Kernel<MemoryStore> {
    Kernel::new(world.tab(), "agent", options(), Rc::new(Extractive))
}

fn call(id: &str) -> ToolCall {
    ToolCall::function(id, "list_directory", r#"{"path":"src"}"#)
}

fn texts(messages: &[Message]) -> String {
    messages.iter().map(|message| message.text().into_owned()).collect::<Vec<_>>().join("\n")
}

/// So many turns of some length.
async fn talk(kernel: &Kernel<MemoryStore>, turns: std::ops::Range<u32>) {
    for turn in turns {
        let text = format!(
            "Question {turn}: we decided to deploy service number {turn} on port {}. The tests must pass before that. \
             Please check the file src/part_{turn}.rs and tell me what you think of its structure and its names.",
            8000 + turn
        );
        kernel.ingest_user_message(Message::user(text)).await.unwrap();
        let text = format!("I looked at src/part_{turn}.rs; it is well structured. Service {turn} can be deployed.");
        kernel.ingest_assistant_response(Message::assistant(text)).await.unwrap();
    }
}

#[test]
fn what_is_ingested_is_stored_and_appended_to_the_working_context() {
    let world = World::default();
    let kernel = kernel(&world);
    run(async {
        assert_eq!(kernel.get_working_context_messages().await.unwrap(), []);
        assert_eq!(kernel.start_turn().await.unwrap(), "turn_0001");
        assert_eq!(kernel.ingest_user_message(Message::user("List src.")).await.unwrap(), "turn_0001");
        assert_eq!(kernel.ingest_tool_intent(vec![call("c1"), call("c2")]).await.unwrap(), "turn_0001");
        assert_eq!(kernel.ingest_tool_intent(vec![call("c1")]).await.unwrap(), "turn_0001");
        assert_eq!(kernel.start_turn().await.unwrap(), "turn_0002");
        let result = kernel.ingest_tool_result("c1", "list_directory", Ok(json!(["app.ts"]))).await.unwrap();
        assert_eq!(result, "turn_0001");
        kernel.ingest_tool_result("c2", "list_directory", Err("no such folder".into())).await.unwrap();
        kernel.ingest_assistant_response(Message::assistant("One file.")).await.unwrap();
        let roles: Vec<_> = kernel.get_working_context_messages().await.unwrap();
        let roles: Vec<_> = roles.iter().map(|message| message.role.as_str().to_owned()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant"]);
        assert_eq!(code(kernel.ingest_user_message(Message::assistant("x")).await), "bad-request");
        assert_eq!(code(kernel.ingest_assistant_response(Message::user("x")).await), "bad-request");
        // Another process goes on where this one was.
        let again = self::kernel(&world);
        assert_eq!(again.start_turn().await.unwrap(), "turn_0002");
        let all = again.get_tool_interactions(Some("turn_0001")).await.unwrap();
        assert_eq!(all.iter().map(|it| it.status).collect::<Vec<_>>(), [ToolStatus::Success, ToolStatus::Error]);
        assert_eq!(again.get_tool_interactions(None).await.unwrap(), all);
        assert_eq!(again.get_tool_interactions(Some("turn_0002")).await.unwrap(), []);
        assert_eq!(code(again.get_tool_interactions(Some("1")).await), "bad-request");
    });
}

#[test]
fn a_late_tool_result_keeps_the_turn_of_its_call() {
    let kernel = kernel(&World::default());
    run(async {
        kernel.ingest_user_message(Message::user("Begin.")).await.unwrap();
        kernel.ingest_tool_intent(vec![call("c1")]).await.unwrap();
        assert_eq!(kernel.ingest_user_message(Message::user("And this?")).await.unwrap(), "turn_0002");
        let late = kernel.ingest_tool_result("c1", "list_directory", Ok("app.ts".into())).await.unwrap();
        assert_eq!(late, "turn_0001");
        let traces = kernel.get_traces_for_turns(&["turn_0001".to_owned()]).await.unwrap();
        let kinds: Vec<_> = traces.iter().map(|trace| trace.trace_type.name()).collect();
        assert_eq!(kinds, ["user", "tool_call", "tool_result"]);
    });
}

#[test]
fn the_raw_tail_is_the_last_turns_without_the_current_one() {
    let kernel = kernel(&World::default());
    run(async {
        assert_eq!(kernel.get_raw_tail(4, None).await.unwrap(), []);
        talk(&kernel, 1..7).await;
        let turns = |traces: Vec<threadkeep_compaction::memory::jsonl::RawTrace>| {
            let mut turns: Vec<String> = traces.into_iter().map(|trace| trace.turn_id).collect();
            turns.dedup();
            turns
        };
        let tail = turns(kernel.get_raw_tail(4, Some("turn_0006")).await.unwrap());
        assert_eq!(tail, ["turn_0002", "turn_0003", "turn_0004", "turn_0005"]);
        assert_eq!(turns(kernel.get_raw_tail(1, None).await.unwrap()), ["turn_0006"]);
        assert_eq!(kernel.get_raw_tail(0, None).await.unwrap(), []);
    });
}

#[test]
fn the_window_is_whole_turns_beyond_the_tail_and_never_the_live_one() {
    let kernel = kernel(&World::default());
    run(async {
        assert_eq!(kernel.select_compaction_window().await.unwrap(), Vec::<String>::new());
        talk(&kernel, 1..5).await;
        assert_eq!(kernel.select_compaction_window().await.unwrap(), Vec::<String>::new());
        // A turn that is not answered yet stays beside the four.
        kernel.ingest_user_message(Message::user("Live?")).await.unwrap();
        assert_eq!(kernel.select_compaction_window().await.unwrap(), Vec::<String>::new());
        kernel.ingest_assistant_response(Message::assistant("No more.")).await.unwrap();
        assert_eq!(kernel.select_compaction_window().await.unwrap(), ["turn_0001"]);
        talk(&kernel, 6..9).await;
        kernel.ingest_user_message(Message::user("Live?")).await.unwrap();
        let window = kernel.select_compaction_window().await.unwrap();
        assert_eq!(window, ["turn_0001", "turn_0002", "turn_0003", "turn_0004"]);
        // It is what a compaction covers.
        let done = kernel.compact().await.unwrap();
        let covers = done.checkpoint.unwrap().covers;
        assert_eq!((covers.first_turn, covers.last_turn), (1, 4));
        assert_eq!(kernel.select_compaction_window().await.unwrap(), Vec::<String>::new());
        // The originals are there still.
        assert_eq!(kernel.get_traces_for_turns(&window).await.unwrap().len(), 8);
    });
}

#[test]
fn a_compaction_is_requested_after_a_response_and_runs_before_the_next_request() {
    let kernel = kernel(&World::default());
    run(async {
        talk(&kernel, 1..8).await;
        let package = kernel.prepare_request(Some(Message::user("And now?")), Some("Be brief.")).await.unwrap();
        assert!(!package.did_compact && package.turn_id.as_deref() == Some("turn_0008"));
        assert_eq!(package.messages[0], Message::system("Be brief."));
        // 0.8 of (1000 - 100 - 100) is 640: at that, nothing yet.
        let usage = Usage { prompt_tokens: 640, completion_tokens: 9 };
        let reason = kernel.after_invoke(&package, Message::assistant("Fine."), Some(&usage)).await.unwrap();
        assert_eq!((reason, kernel.compaction_required().await.unwrap()), (None, None));
        let package = kernel.prepare_request(Some(Message::user("Go on.")), None).await.unwrap();
        let usage = Usage { prompt_tokens: 641, completion_tokens: 9 };
        kernel.after_invoke(&package, Message::assistant("Done."), Some(&usage)).await.unwrap();
        assert!(kernel.compaction_required().await.unwrap().is_some());
        let before = package.messages.len();
        let package = kernel.prepare_request(Some(Message::user("Which port has service 2?")), None).await.unwrap();
        assert!(package.did_compact && package.messages.len() < before);
        assert_eq!(kernel.compaction_required().await.unwrap(), None);
        // The new input is last, the raw tail before it, what is remembered at the front.
        assert_eq!(package.messages.last().unwrap().text(), "Which port has service 2?");
        let said = texts(&package.messages);
        assert!(said.contains("[Quoted from memory."), "{said}");
        assert!(said.contains("Question 7:") && !package.over_budget);
    });
}

#[test]
fn a_compaction_can_be_requested_by_hand_and_the_request_taken_back() {
    let kernel = kernel(&World::default());
    run(async {
        talk(&kernel, 1..8).await;
        kernel.request_compaction().await.unwrap();
        assert!(kernel.compaction_required().await.unwrap().is_some());
        kernel.clear_compaction_request().await.unwrap();
        assert_eq!(kernel.compaction_required().await.unwrap(), None);
        assert!(!kernel.prepare_request(None, None).await.unwrap().did_compact);
        talk(&kernel, 8..9).await;
        kernel.request_compaction().await.unwrap();
        assert!(kernel.prepare_request(None, None).await.unwrap().did_compact);
    });
}

#[test]
fn reset_goes_on_from_the_snapshot_and_the_history_stays() {
    let world = World::default();
    let kernel = kernel(&world);
    run(async {
        talk(&kernel, 1..3).await;
        let old = world.tab().head("agent").await.unwrap().unwrap().id;
        kernel
            .reset_working_context_snapshot(vec![Message::system("Be brief."), Message::user("So far: two.")])
            .await
            .unwrap();
        let messages = kernel.get_working_context_messages().await.unwrap();
        assert_eq!(texts(&messages), "Be brief.\nSo far: two.");
        kernel.ingest_assistant_response(Message::assistant("Understood.")).await.unwrap();
        assert_eq!(kernel.get_working_context_messages().await.unwrap().len(), 3);
        assert_eq!(world.tab().chain(&old).await.unwrap().len(), 5);
    });
}

#[test]
fn retrieve_gives_at_most_so_many_episodes_and_facts() {
    let world = World::default();
    let kernel = kernel(&world);
    run(async {
        let keep = world.tab();
        for round in 0..3 {
            talk(&kernel, round * 6..round * 6 + 6).await;
            kernel.compact().await.unwrap().checkpoint.unwrap();
        }
        for fact in keep.facts(&Default::default()).await.unwrap() {
            keep.forget_memory(&fact.id).await.unwrap();
        }
        for most in 0..5 {
            let bundle = kernel.retrieve(most, 0, None).await.unwrap();
            assert_eq!((bundle.episodes.len(), bundle.facts.len()), (most.min(3), 0));
        }
        for fact in ["Use pnpm", "Use vitest", "Be brief"] {
            keep.remember(threadkeep::NewFact::new(fact)).await.unwrap();
        }
        let bundle = kernel.retrieve(3, 2, Some("which vitest?")).await.unwrap();
        assert_eq!((bundle.facts.len(), bundle.facts[0].fact.as_str()), (2, "Use vitest"));
        assert_eq!(bundle.episodes.len(), 3);
        assert!(kernel.retrieve(0, 0, None).await.unwrap().is_empty());
    });
}

#[test]
fn extensions_see_messages_payload_and_usage() {
    #[derive(Default)]
    struct Tracker(RefCell<Vec<String>>);
    impl Extension for Tracker {
        fn before_invoke(&self, messages: &[Message], payload: &Value) {
            let sent = payload["messages"].as_array().unwrap().len();
            self.0.borrow_mut().push(format!("before {} {sent}", messages.len()));
        }
        fn after_invoke(&self, messages: &[Message], response: &Message, usage: Option<&Usage>) {
            let tokens = usage.map_or(0, |usage| usage.prompt_tokens);
            self.0.borrow_mut().push(format!("after {} {} {tokens}", messages.len(), response.text()));
        }
    }
    let kernel = kernel(&World::default());
    let tracker = Rc::new(Tracker::default());
    kernel.add_extension(Rc::clone(&tracker) as Rc<dyn Extension>);
    run(async {
        let package = kernel.prepare_request(Some(Message::user("hi")), None).await.unwrap();
        kernel.before_invoke(&package);
        let usage = Usage { prompt_tokens: 7, completion_tokens: 1 };
        kernel.after_invoke(&package, Message::assistant("hello"), Some(&usage)).await.unwrap();
        assert_eq!(*tracker.0.borrow(), ["before 1 1", "after 1 hello 7"]);
        assert_eq!(kernel.render_payload(&package.messages), package.payload);
    });
}

#[test]
fn compact_takes_the_turns_that_it_covers_by_name() {
    for answered in [true, false] {
        let kernel = kernel(&World::default());
        run(async {
            talk(&kernel, 1..8).await;
            if !answered {
                kernel.ingest_user_message(Message::user("Live?")).await.unwrap();
            }
            let turns = |numbers: &[u32]| numbers.iter().map(|it| format!("turn_{it:04}")).collect::<Vec<_>>();
            // Not in the middle, not with a gap, not the newest, not none.
            for wrong in [&[2][..], &[1, 3], &[2, 1], &[1, 2, 3, 4, 5, 6, 7, 8], &[]] {
                assert_eq!(code(kernel.compact_turns(&turns(wrong)).await), "bad-request", "{wrong:?}");
            }
            let done = kernel.compact_turns(&turns(&[1, 2])).await.unwrap().checkpoint.unwrap();
            assert_eq!((done.covers.first_turn, done.covers.last_turn), (1, 2));
            // Covered once, they are no more to be covered; the next ones are.
            assert_eq!(code(kernel.compact_turns(&turns(&[1, 2, 3])).await), "bad-request");
            let done = kernel.compact_turns(&turns(&[3, 4, 5, 6])).await.unwrap().checkpoint.unwrap();
            assert_eq!((done.covers.first_turn, done.covers.last_turn), (1, 6), "{answered}");
        });
    }
}

#[test]
fn build_snapshot_gives_what_a_reset_goes_on_from() {
    let kernel = kernel(&World::default());
    run(async {
        talk(&kernel, 1..8).await;
        kernel.compact_turns(&["turn_0001".to_owned(), "turn_0002".to_owned()]).await.unwrap();
        let bundle = kernel.retrieve(3, 20, None).await.unwrap();
        let built = kernel.build_snapshot(Some("Be brief."), &bundle, 2, Some("turn_0007"), None).await.unwrap();
        assert_eq!(built[0], Message::system("Be brief."));
        let text = built[1].text().into_owned();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("[MEMORY:EPISODIC]") < at("[MEMORY:SEMANTIC]") && at("[MEMORY:SEMANTIC]") < at("[RECENT TURNS]"));
        assert!(at("Turn 5:") < at("Turn 6:") && !text.contains("Turn 4:") && !text.contains("Turn 7:"), "{text}");
        assert_eq!((built.len(), &built[1].role), (2, &Role::User));
        // Without all of that there is nothing to say; a budget is kept.
        assert_eq!(kernel.build_snapshot(None, &Default::default(), 0, None, None).await.unwrap(), []);
        let small = kernel.build_snapshot(None, &bundle, 4, None, Some(150)).await.unwrap();
        assert!(Estimate.count(&small[0].text()) <= 150 && small[0].text().contains("Turn 7:"));
        assert_eq!(code(kernel.build_snapshot(None, &bundle, 4, Some("7"), None).await), "bad-request");
        // Nothing of that is stored before it is made the working context.
        kernel.reset_working_context_snapshot(built.clone()).await.unwrap();
        assert_eq!(kernel.get_working_context_messages().await.unwrap(), built);
    });
}

/// Notes its name at the end of what passes.
struct Stamp(u32, &'static str);

impl Processor for Stamp {
    fn order(&self) -> u32 {
        self.0
    }

    fn process_input(&self, message: Message) -> Message {
        Message::user(format!("{} {}", message.text(), self.1))
    }

    fn process_tool_result(&self, message: Message) -> Message {
        let said = format!("{} <{}>", message.text(), self.1);
        Message { content: said.into(), ..message }
    }
}

#[test]
fn memory_ingests_at_order_900_what_all_processors_have_left() {
    assert_eq!(INGEST_ORDER, 900);
    let kernel = kernel(&World::default());
    run(async {
        for (order, name) in [(899, "last"), (0, "first"), (500, "middle"), (500, "and-after")] {
            kernel.add_processor(Rc::new(Stamp(order, name))).unwrap();
        }
        for order in [900, 901, u32::MAX] {
            assert_eq!(code(kernel.add_processor(Rc::new(Stamp(order, "lost")))), "bad-request");
        }
        // By the input pipeline, both ways.
        kernel.ingest_user_message(Message::user("One")).await.unwrap();
        kernel.ingest_tool_intent(vec![call("c1"), call("c2")]).await.unwrap();
        // By that of tool results.
        kernel.ingest_tool_result("c1", "list_directory", Ok("app.ts".into())).await.unwrap();
        kernel.ingest_tool_result("c2", "list_directory", Err("gone".into())).await.unwrap();
        let sent = kernel.prepare_request(Some(Message::user("Two")), None).await.unwrap().messages;
        let said: Vec<_> = sent.iter().map(|message| message.text().into_owned()).collect();
        let stamps = "first middle and-after last";
        assert_eq!((said[0].as_str(), said[4].as_str()), (&*format!("One {stamps}"), &*format!("Two {stamps}")));
        assert_eq!(said[2], "app.ts <first> <middle> <and-after> <last>");
        assert!(said[3].starts_with("gone <first>") && sent[3].is_error);
        // What memory records is what the model sees.
        let traces = kernel.get_raw_tail(4, None).await.unwrap();
        assert_eq!(traces.iter().filter(|it| it.content.ends_with(stamps)).count(), 2);
    });
}

#[test]
fn a_processor_may_not_make_another_message_of_it() {
    struct Turncoat;
    impl Processor for Turncoat {
        fn order(&self) -> u32 {
            1
        }
        fn process_input(&self, message: Message) -> Message {
            Message::system(message.text().into_owned())
        }
        fn process_tool_result(&self, message: Message) -> Message {
            Message { tool_call_id: Some("other".to_owned()), ..message }
        }
    }
    let world = World::default();
    let kernel = kernel(&world);
    run(async {
        kernel.ingest_user_message(Message::user("Begin.")).await.unwrap();
        kernel.ingest_tool_intent(vec![call("c1")]).await.unwrap();
        kernel.add_processor(Rc::new(Turncoat)).unwrap();
        assert_eq!(code(kernel.ingest_user_message(Message::user("More.")).await), "bad-request");
        assert_eq!(code(kernel.ingest_tool_result("c1", "list", Ok("x".into())).await), "bad-request");
        assert_eq!(world.tab().get_count("agent").await.unwrap(), 2);
    });
}

#[test]
fn each_of_the_four_events_is_ingested_as_its_kind_of_trace() {
    let kernel = kernel(&World::default());
    run(async {
        kernel.ingest_user_message(Message::user("List src.")).await.unwrap();
        kernel.ingest_tool_intent(vec![call("c1")]).await.unwrap();
        kernel.ingest_tool_result("c1", "list_directory", Ok(json!(["app.ts"]))).await.unwrap();
        kernel.ingest_assistant_response(Message::assistant("One file.")).await.unwrap();
        let traces = kernel.get_raw_tail(4, None).await.unwrap();
        let events: Vec<_> = traces.iter().map(|it| (it.source_event.as_str(), it.trace_type.name())).collect();
        assert_eq!(
            events,
            [
                ("LLMUserMessageReadyEvent", "user"),
                ("PendingToolInvocationEvent", "tool_call"),
                ("ToolResultEvent", "tool_result"),
                ("LLMCompleteResponseReceivedEvent", "assistant")
            ]
        );
        assert!(traces.iter().all(|trace| trace.turn_id == "turn_0001"));
    });
}

#[test]
fn a_requested_compaction_runs_before_the_input_is_stored() {
    struct Failing;
    impl Summariser for Failing {
        fn name(&self) -> &str {
            "failing"
        }
        fn summarise<'a>(&'a self, _: &'a Material<'a>, _: &'a dyn Counter) -> Answer<'a> {
            Box::pin(std::future::ready(Err("no connection".to_owned())))
        }
    }
    let world = World::default();
    let kernel = kernel(&world);
    run(async {
        talk(&kernel, 1..8).await;
        let options = KernelOptions {
            context: ContextParams { encoding: Some(Counting::Estimate), ..ContextParams::default() },
            policy: policy(&PolicyOptions::default(), &PolicyOptions::default(), None),
            compact: CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() },
            limits: BundleLimits::default(),
            continuation: None,
        };
        let failing = Kernel::new(world.tab(), "agent", options, Rc::new(Failing));
        failing.request_compaction().await.unwrap();
        let failed = failing.prepare_request(Some(Message::user("And now?")), None).await;
        assert_eq!(code(failed), "summariser-failed");
        assert_eq!(world.tab().get_count("agent").await.unwrap(), 14);
        // The request waits, and the same input goes through with a summariser that works.
        let package = kernel.prepare_request(Some(Message::user("And now?")), None).await.unwrap();
        assert_eq!((package.did_compact, world.tab().get_count("agent").await.unwrap()), (true, 15));
    });
}

#[test]
fn get_traces_for_turns_gives_those_and_no_others() {
    let kernel = kernel(&World::default());
    run(async {
        talk(&kernel, 1..6).await;
        let wanted = ["turn_0002".to_owned(), "turn_0004".to_owned()];
        let traces = kernel.get_traces_for_turns(&wanted).await.unwrap();
        let turns: Vec<&str> = traces.iter().map(|trace| trace.turn_id.as_str()).collect();
        assert_eq!(turns, ["turn_0002", "turn_0002", "turn_0004", "turn_0004"]);
        assert_eq!(kernel.get_traces_for_turns(&[]).await.unwrap(), []);
        assert_eq!(code(kernel.get_traces_for_turns(&["2".to_owned()]).await), "bad-request");
    });
}

#[test]
fn prepare_request_and_render_payload_make_what_a_provider_is_sent() {
    let kernel = kernel(&World::default());
    run(async {
        talk(&kernel, 1..2).await;
        let package = kernel.prepare_request(Some(Message::user("And?")), Some("Be brief.")).await.unwrap();
        let roles: Vec<&str> = package.messages.iter().map(|message| message.role.as_str()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user"]);
        assert_eq!((package.turn_id.as_deref(), package.over_budget), (Some("turn_0002"), false));
        assert_eq!(package.payload, kernel.render_payload(&package.messages));
        assert_eq!(package.payload["messages"][3], json!({"role": "user", "content": "And?"}));
        // Without an input it is what stands there already, and stores nothing.
        let again = kernel.prepare_request(None, Some("Be brief.")).await.unwrap();
        assert_eq!((again.messages, again.turn_id), (package.messages, package.turn_id));
    });
}

#[test]
fn a_continuation_is_stored_once_all_tools_have_finished_if_the_kernel_has_one() {
    let world = World::default();
    let mut options = options();
    options.continuation = Some("All tools finished. Continue.".to_owned());
    let kernel = Kernel::new(world.tab(), "agent", options, Rc::new(Extractive));
    run(async {
        // A turn that was given up: its call is never answered.
        kernel.ingest_user_message(Message::user("List all.")).await.unwrap();
        kernel.ingest_tool_intent(vec![call("lost")]).await.unwrap();
        kernel.ingest_user_message(Message::user("List src.")).await.unwrap();
        kernel.ingest_tool_intent(vec![call("a"), call("b")]).await.unwrap();
        let result = async |id: &str| kernel.ingest_tool_result(id, "list_directory", Ok(json!("x"))).await.unwrap();
        assert_eq!(result("a").await, "turn_0002");
        assert_eq!(kernel.current_turn().await.unwrap().as_deref(), Some("turn_0002"), "b is pending");
        assert_eq!(result("b").await, "turn_0002");
        assert_eq!(kernel.current_turn().await.unwrap().as_deref(), Some("turn_0003"));
        let said = world.tab().get_range("agent", 0, 99).await.unwrap();
        let last = said.last().unwrap();
        assert_eq!((&last.role, &*last.text()), (&Role::User, "All tools finished. Continue."));
        // One that is told of again ends nothing.
        result("b").await;
        let again = world.tab().get_range("agent", 0, 99).await.unwrap();
        assert_eq!(again.iter().filter(|message| message.role == Role::User).count(), 3);
    });
}
