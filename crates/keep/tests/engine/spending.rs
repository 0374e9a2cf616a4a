//! The limit on what an agent spends.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::rc::Rc;

use serde_json::json;
use threadkeep::Keep;
use threadkeep::agent::{Agent, AgentEvent, AgentOptions, Outcome};
use threadkeep::compact::CompactOptions;
use threadkeep::mailbox::Outgoing;
use threadkeep::model::Model;
use threadkeep::protocol::SpendingLimit;
use threadkeep_core::read::Off;
use threadkeep_store::MemoryStore;

use crate::agent_support::{Script, Toolbox, calls, counted, from_ann, options, says};
use crate::{World, run};

/// A dollar a token.
fn limit(dollars: f64, per: &str) -> SpendingLimit {
    let prices = json!([{"model": "script", "input": 1_000_000.0, "output": 1_000_000.0}]);
    serde_json::from_value(json!({"dollars": dollars, "per": per, "prices": prices})).unwrap()
}

fn agent(keep: &Keep<MemoryStore>, script: &Rc<Script>, limit: SpendingLimit) -> Agent<MemoryStore> {
    let mut options = options("lal");
    options.spending = Some(limit);
    Agent::new(keep.clone(), options, Rc::clone(script) as Rc<dyn Model>, Rc::new(Toolbox::default()))
}

/// Sends a message and has it answered; gives the code, the outcome and the reason with which the turn ended.
async fn ended(agent: &Agent<MemoryStore>, text: &str) -> (String, Outcome, String) {
    let told = std::cell::RefCell::new(None);
    let conversation = Some("c".to_owned());
    agent.keep().send(Outgoing { conversation, ..from_ann("lal", text) }).await.unwrap();
    let heard = |event: AgentEvent| {
        if let AgentEvent::Ended { code, outcome, reason, .. } = event {
            *told.borrow_mut() = Some((code, outcome, reason.unwrap_or_default()));
        }
    };
    agent.catch_up(&heard).await.unwrap();
    told.take().unwrap()
}

#[test]
fn a_turn_ends_before_the_request_that_exceeds_its_limit() {
    run(async {
        let keep = World::default().tab();
        let add = || counted(calls(&[("c", "add", json!({"a": 1, "b": 2}))]), 3000, 1000);
        let script = Script::of([add(), add(), add(), counted(says("done"), 1, 1)]);
        // Two requests cost 8,000 dollars; a third one would be more than 9,000 only with its prompt.
        let agent = agent(&keep, &script, limit(8_100.0, "turn"));
        let (code, outcome, reason) = ended(&agent, "go on").await;
        assert_eq!((code.as_str(), outcome, script.asked()), ("spending-limit", Outcome::Limited, 2));
        for part in
            ["8000.0000 were spent", "limit of 8100.0000 dollars per turn", "Nothing was sent", "spendingLimit.dollars"]
        {
            assert!(reason.contains(part), "{reason}");
        }
        // The next turn has a limit of its own.
        let (code, ..) = ended(&agent, "once more").await;
        assert_eq!((code.as_str(), script.asked()), ("stop", 4));
    });
}

#[test]
fn a_days_limit_counts_all_turns_and_forgets_nothing() {
    run(async {
        let keep = World::default().tab();
        let script = Script::of([counted(says("one"), 5000, 0), counted(says("two"), 5000, 0)]);
        let first = agent(&keep, &script, limit(5_010.0, "day"));
        assert_eq!(ended(&first, "hello").await.0, "stop");
        // Another agent object, as after a restart.
        let again = agent(&keep, &script, limit(5_010.0, "day"));
        let (code, _, reason) = ended(&again, "hello again").await;
        assert_eq!((code.as_str(), script.asked()), ("spending-limit", 1), "{reason}");
        assert!(reason.contains("5000.0000 were spent") && reason.contains("per day"), "{reason}");
        let richer = agent(&keep, &script, limit(60_000.0, "day"));
        assert_eq!(ended(&richer, "and now").await.0, "stop");
    });
}

#[test]
fn without_a_price_or_a_journal_nothing_is_sent() {
    run(async {
        let keep = World::default().tab();
        let script = Script::of([says("one")]);
        let unknown = agent(&keep, &script, serde_json::from_value(json!({"dollars": 5, "per": "turn"})).unwrap());
        let error = unknown.options().check_spending("script").unwrap_err();
        assert_eq!(error.argument, "spendingLimit.prices");
        assert!(unknown.options().check_spending("gpt-4o").is_ok());
        let (code, _, reason) = ended(&unknown, "hello").await;
        assert!(code == "spending-limit" && reason.contains("price of script is not known"), "{reason}");
        let off = threadkeep::protocol::ContextSettings::read(r#"{"journal": false}"#).unwrap();
        keep.set_context_options(None, &off).await.unwrap();
        let priced = agent(&keep, &script, limit(1e9, "turn"));
        let (code, _, reason) = ended(&priced, "hello").await;
        assert!(code == "spending-limit" && reason.contains("the journal is off"), "{reason}");
        assert_eq!(script.asked(), 0);
    });
}

#[test]
fn a_summary_beyond_the_limit_is_made_by_the_rules() {
    for (dollars, by) in [(4_000.0, "extractive"), (1e9, "script")] {
        run(async {
            let keep = World::default().tab();
            let long = "The keel is green and the oars are blue. ".repeat(50);
            let free = || counted(says(&long), 0, 0);
            let summary =
                says(r#"{"statements": [{"text": "The keel is green.", "sources": [1]}], "episode": "Colours."}"#);
            let mut said: Vec<_> = (0..6).map(|_| free()).collect();
            said.extend(if by == "script" { vec![summary, free()] } else { vec![free()] });
            let (script, mut options) = (Script::of(said), options("lal"));
            options.compact = Some(Off::On(CompactOptions { tail_turns: Some(1), ..CompactOptions::default() }));
            options.spending = Some(limit(1e9, "turn"));
            let of = |options: &AgentOptions| {
                let model = Rc::clone(&script) as Rc<dyn Model>;
                Agent::new(keep.clone(), options.clone(), model, Rc::new(Toolbox::default()))
            };
            for _ in 0..6 {
                assert_eq!(ended(&of(&options), &long).await.0, "stop");
            }
            let leaf = keep.head("c").await.unwrap().unwrap().id;
            keep.request_compaction(leaf.as_str()).await.unwrap();
            options.spending = Some(limit(dollars, "turn"));
            let (code, _, reason) = ended(&of(&options), "and now?").await;
            let made = keep.checkpoints("c").await.unwrap();
            let names: Vec<_> = made.iter().map(|it| it.summariser.as_str()).collect();
            assert_eq!((code.as_str(), names), ("stop", vec![by]), "{reason}");
            assert_eq!(script.asked(), if by == "script" { 8 } else { 7 });
        });
    }
}
