//! Tools that run side by side: no two of them, nor what else goes on in the engine, wait for each other for ever.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use serde_json::{Value, json};
use threadkeep::agent::{Agent, AgentEvent, BUILT_IN};
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{Counting, SearchOptions};
use threadkeep::{Keep, Options};
use threadkeep_core::Message;

use crate::agent_support::{Breathing, Script, Toolbox, box_of, calls, options, says, write};
use crate::{World, run};

/// Notes that something can go on.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// What all of these come to, each a task of its own, as calls of a program are. `None` when they wait for each other for ever: none is
/// done, and none can go on.
pub(crate) fn together<'a>(mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + 'a>>>) -> Option<()> {
    let woken: Vec<Arc<Woken>> = tasks.iter().map(|_| Arc::new(Woken(AtomicBool::new(true)))).collect();
    let mut done = vec![false; tasks.len()];
    while done.contains(&false) {
        let mut moved = false;
        for (at, task) in tasks.iter_mut().enumerate() {
            if done[at] || !woken[at].0.swap(false, Ordering::SeqCst) {
                continue;
            }
            moved = true;
            let waker = Waker::from(Arc::clone(&woken[at]));
            done[at] = task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
        }
        if !moved {
            return None;
        }
    }
    Some(())
}

/// Arguments with which a built-in tool does something.
fn arguments(tool: &str) -> Value {
    match tool {
        "reply" => json!({ "messageNumber": "1", "strings": ["a reply"] }),
        "send" => json!({ "recipientName": "bob", "strings": ["hello"] }),
        "dismiss" => json!({ "messageNumber": "1" }),
        "searchMemory" => json!({ "query": "paint" }),
        "readToolResult" => json!({ "path": "@state/logs/tool-results/x.json" }),
        "remember" => json!({ "fact": "Ann paints on Mondays." }),
        _ => json!({}),
    }
}

fn open(world: &World) -> Keep<Breathing> {
    run(Keep::open(Breathing(world.store.clone(), true), world.host.clone(), Options::default())).unwrap()
}

fn an_agent(keep: &Keep<Breathing>, script: &Rc<Script>) -> Agent<Breathing> {
    Agent::new(keep.clone(), options("lal"), script.clone(), Rc::new(Toolbox::default()))
}

#[test]
fn a_search_and_a_fact_in_one_answer_come_to_an_end() {
    let world = World::default();
    let keep = open(&world);
    let script = Script::of([
        calls(&[("s", "searchMemory", arguments("searchMemory")), ("r", "remember", arguments("remember"))]),
        says("done"),
    ]);
    let lal = an_agent(&keep, &script);
    run(async {
        keep.append("notes", vec![Message::user("the paint is blue")]).await.unwrap();
        keep.search("paint", &SearchOptions::default()).await.unwrap();
        write(&keep, "go", None).await;
    });
    let done = together(vec![Box::pin(async { assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1) })]);
    assert_eq!(done, Some(()), "the turn waits for itself");
    assert_eq!(run(box_of(&keep, "ann")).len(), 2);
}

#[test]
fn any_two_built_in_tools_run_side_by_side_while_an_import_and_a_compaction_run() {
    let archive = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../archive/fixtures/chatgpt.json")).unwrap();
    let long = "We decided to use the blue paint for the north wall because it dries faster. ".repeat(8);
    for first in BUILT_IN {
        for second in BUILT_IN {
            let world = World::default();
            let keep = open(&world);
            let both = [("x", first, arguments(first)), ("y", second, arguments(second))];
            let script = Script::of([calls(&both), says("done")]);
            let lal = an_agent(&keep, &script);
            run(async {
                let turns = (0..12).flat_map(|at| {
                    [Message::user(format!("{at} {long}")), Message::assistant(format!("Yes, {at}. {long}"))]
                });
                keep.append("notes", turns.collect()).await.unwrap();
                keep.search("paint", &SearchOptions::default()).await.unwrap();
                write(&keep, "go", None).await;
            });
            let compacted = Cell::new(false);
            let compact = CompactOptions { encoding: Counting::Estimate, tail_turns: Some(2), ..Default::default() };
            let done = together(vec![
                Box::pin(async { assert_eq!(lal.catch_up(&|_| {}).await.unwrap(), 1) }),
                Box::pin(async {
                    let sources = vec![("chatgpt.json".to_owned(), archive.as_slice())];
                    let report = keep.import(sources, None, |_| ControlFlow::Continue(())).await.unwrap();
                    assert!(report.added > 0, "{report:?}");
                }),
                Box::pin(async {
                    let made = keep.compact("notes", &compact, &Extractive).await.unwrap();
                    compacted.set(made.checkpoint.is_some());
                }),
                Box::pin(async { drop(keep.search("blue", &SearchOptions::default()).await.unwrap()) }),
            ]);
            assert_eq!(done, Some(()), "{first} and {second} wait for each other");
            assert!(compacted.get());
            let node = run(keep.node(&run(box_of(&keep, "lal"))[0].message_id)).unwrap().unwrap();
            assert!(node.sealed);
            let results: Vec<_> = node.messages.iter().filter_map(|message| message.tool_call_id.as_deref()).collect();
            assert_eq!(results.len(), 2, "{first} and {second}: {results:?}");
        }
    }
}

#[test]
fn a_stop_at_any_moment_of_a_turn_frees_everything() {
    let both = [("x", "searchMemory"), ("y", "remember"), ("z", "wait")];
    for moment in 1..400 {
        let world = World::default();
        let keep = open(&world);
        let all: Vec<_> = both.iter().map(|(id, name)| (*id, *name, arguments(name))).collect();
        let script = Script::of([calls(&all), says("done"), says("next")]);
        let lal = an_agent(&keep, &script);
        run(async {
            keep.append("notes", vec![Message::user("the paint is blue")]).await.unwrap();
            keep.search("paint", &SearchOptions::default()).await.unwrap();
            write(&keep, "go", None).await;
        });
        let (polls, began, ended) = (Cell::new(0), Cell::new(false), RefCell::new(Vec::new()));
        let turn = async {
            let heard = |event: AgentEvent| match event {
                AgentEvent::Began { .. } => began.set(true),
                AgentEvent::Ended { outcome, .. } => ended.borrow_mut().push(outcome),
                _ => {}
            };
            let mut work = std::pin::pin!(lal.catch_up(&heard));
            let done = std::future::poll_fn(|context| {
                polls.set(polls.get() + usize::from(began.get()));
                if polls.get() == moment {
                    lal.stop();
                }
                let polled = work.as_mut().poll(context);
                if polled.is_pending() && polls.get() < moment {
                    // Until the stop, it is looked at over and over, also when it only waits.
                    context.waker().wake_by_ref();
                }
                polled
            });
            done.await.unwrap();
        };
        assert_eq!(together(vec![Box::pin(turn)]), Some(()), "stopped at {moment}");
        // Others work, and so does the agent.
        let after = together(vec![
            Box::pin(async { drop(keep.search("paint", &SearchOptions::default()).await.unwrap()) }),
            Box::pin(async { drop(write(&keep, "and now?", None).await) }),
        ]);
        assert_eq!(after, Some(()), "after a stop at {moment}");
        assert_eq!(ended.borrow().len(), 1);
    }
}
