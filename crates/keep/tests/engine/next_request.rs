//! The next request: what a message would make an agent send is what it then sends, byte for byte.

#![allow(clippy::result_large_err, reason = "answers of scripts are few")]

use std::rc::Rc;

use serde_json::Value;
use threadkeep::Keep;
use threadkeep::agent::{Agent, NextRequest};
use threadkeep::mailbox::{Body, Outgoing};
use threadkeep::protocol::ContextSettings;
use threadkeep_core::MessageId;
use threadkeep_provider::Provider;
use threadkeep_store::{MemoryStore, Scan, Store};

use crate::agent_support::{Script, Toolbox, options, says};
use crate::journal::{Endpoint, furnish, steps, talkative};
use crate::{World, run};

fn lal(keep: Keep<MemoryStore>, script: &Rc<Script>, provider: Provider) -> Agent<MemoryStore> {
    let model = Endpoint::of(script, provider);
    let mut options = options("lal");
    options.system_prompt = "You are Lal.".to_owned();
    Agent::new(keep, options, Rc::new(model), Rc::new(Toolbox::default()))
}

fn to_lal(lal: &Agent<MemoryStore>, text: &str) -> Outgoing {
    let from = lal.options().user.clone();
    Outgoing { from, to: "lal".to_owned(), body: Body::text(text), ..Outgoing::default() }
}

/// Asks what would be sent, sends it, and gives both: the request that was foreseen and the first body that was sent, if any was.
async fn foreseen(
    world: &World,
    lal: &Agent<MemoryStore>,
    script: &Script,
    mail: Outgoing,
) -> (NextRequest, Option<Value>, MessageId) {
    let before = world.store.scan(&Scan::prefix("")).await.unwrap();
    let next = lal.next_request(&mail).await.unwrap();
    assert_eq!(world.store.scan(&Scan::prefix("")).await.unwrap(), before, "nothing is stored");
    let sent = script.payloads.borrow().len();
    let node = lal.post(mail).await.unwrap().id;
    lal.resume(&node, &|_| {}).await.unwrap();
    let body = script.payloads.borrow().get(sent).cloned();
    (next, body, node)
}

#[test]
fn the_request_that_is_foreseen_is_the_one_that_is_sent_under_every_setting() {
    for provider in Provider::ALL {
        let world = World::default();
        let script = talkative();
        let (keep, lal) = (world.tab(), lal(world.tab(), &script, provider));
        run(async {
            furnish(&keep).await;
            let (mut compactions, mut quoted) = (0, 0);
            for (at, step) in steps().iter().enumerate() {
                for text in [format!("What of the boiler, number {at}?"), "And Ann?".to_owned()] {
                    if keep.head("c").await.unwrap().is_some() {
                        let settings = ContextSettings::from_json(step.clone()).unwrap();
                        keep.set_context_options(Some("c"), &settings).await.unwrap();
                    }
                    let mail = Outgoing { conversation: Some("c".to_owned()), ..to_lal(&lal, &text) };
                    let (next, body, node) = foreseen(&world, &lal, &script, mail).await;
                    quoted += usize::from(!next.context.recalled.is_empty());
                    match body {
                        _ if next.compacts => compactions += 1,
                        Some(body) => {
                            assert_eq!(next.body.to_string(), body.to_string(), "{provider:?}, step {at}, {text}")
                        }
                        None => panic!("{provider:?}, step {at}, {text}: nothing was sent"),
                    }
                    keep.pin_node(&node, at % 2 == 0).await.unwrap();
                }
            }
            assert!(compactions > 0 && compactions < 12 && quoted > 4, "{compactions} {quoted}");
        });
    }
}

#[test]
fn a_request_below_another_message_is_foreseen_too() {
    let world = World::default();
    let script = Script::of((0..6).map(|at| says(&format!("answer {at}"))));
    let lal = lal(world.tab(), &script, Provider::Anthropic);
    run(async {
        let (_, _, first) = foreseen(&world, &lal, &script, to_lal(&lal, "one")).await;
        let below = |text| Outgoing { reply_to: Some(first.clone()), ..to_lal(&lal, text) };
        for mail in [below("two"), below("another two"), to_lal(&lal, "elsewhere")] {
            let (next, body, _) = foreseen(&world, &lal, &script, mail).await;
            assert_eq!((Some(next.body), next.compacts), (body, false));
        }
    });
}
