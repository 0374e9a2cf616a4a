//! Models that a host adds to the built-in table, or knows otherwise: for contexts, agents and compactions.

use serde_json::{Value, json};
use threadkeep::Keep;
use threadkeep::agent::{Agent, AgentOptions, NoTools};
use threadkeep::mailbox::Outgoing;
use threadkeep::protocol::{CompactionRequest, ContextParams, ContextSettings, PromptRequest};
use threadkeep_core::Message;
use threadkeep_store::MemoryStore;

use crate::agent_support::{Script, counted, options, says, words, write};
use crate::{World, run};

async fn set(keep: &Keep<MemoryStore>, models: Value) {
    let settings = ContextSettings::read(&json!({ "models": models }).to_string()).unwrap();
    keep.set_context_options(None, &settings).await.unwrap();
}

fn params(model: &str, budget: &Value) -> ContextParams {
    let options = json!({ "encoding": "estimate", "model": model, "budget": budget });
    let request = PromptRequest::read("context", &json!({ "at": "a", "options": options }).to_string()).unwrap();
    let PromptRequest::Context { options, .. } = request else { panic!("a prompt") };
    *options
}

/// The limit of a context, in tokens as they are counted here.
async fn limit(keep: &Keep<MemoryStore>, model: &str, budget: Value) -> Option<u64> {
    keep.context_of("a", params(model, &budget)).await.unwrap().limits.tokens
}

/// The input budget that decides on compactions, in tokens of the model, and the longest answer.
async fn policy(keep: &Keep<MemoryStore>, model: &str) -> (u64, u64) {
    let asked = json!({ "at": "a", "policy": { "model": model } }).to_string();
    let Ok(CompactionRequest::AfterResponse { policy, .. }) = CompactionRequest::read("afterResponse", &asked) else {
        panic!("it is not read");
    };
    let policy = keep.policy_at("a", &policy).await.unwrap().unwrap();
    (policy.input_budget(), policy.max_output_tokens)
}

#[test]
fn a_model_that_a_host_adds_has_its_window_margin_and_ratio_in_contexts_and_compactions() {
    let keep = World::default().tab();
    run(async {
        keep.append("a", vec![Message::user("hi")]).await.unwrap();
        assert_eq!(limit(&keep, "acme-small", json!(null)).await, None);
        set(
            &keep,
            json!([
                { "name": "acme", "maxContextTokens": 1000, "maxOutputTokens": 100, "safetyMargin": 50, "tokenRatio": 1.25 },
                { "name": "acme-large", "maxContextTokens": 5000 },
                { "name": "gpt-4o", "maxContextTokens": 64_000 }
            ]),
        )
        .await;
        // 1,000 less 100 less 50 of the model's tokens are 680 of ours.
        assert_eq!(limit(&keep, "gateway/acme-small", json!(null)).await, Some(680));
        assert_eq!(limit(&keep, "acme-small", json!({ "maxTokens": 100 })).await, Some(80));
        assert_eq!(limit(&keep, "acme-small", json!({ "safetyMargin": 0 })).await, Some(720));
        assert_eq!(limit(&keep, "acme-large", json!(null)).await, Some(5000), "the longest beginning counts");
        assert_eq!(limit(&keep, "other", json!(null)).await, None);
        assert_eq!(policy(&keep, "acme-small").await, (850, 100));
        // Over the built-in table, figure by figure; the call and the settings of compactions come first.
        assert_eq!(policy(&keep, "gpt-4o").await, (64_000 - 16_384 - 1_000, 16_384));
        let settings =
            json!({ "models": [{ "name": "acme", "safetyMargin": 50 }], "compaction": { "safetyMargin": 7 } });
        keep.set_context_options(None, &ContextSettings::read(&settings.to_string()).unwrap()).await.unwrap();
        assert_eq!(policy(&keep, "acme").await, (200_000 - 8_000 - 7, 8_000));
    });
}

#[test]
fn the_smallest_budget_of_a_node_is_in_tokens_of_the_model() {
    let keep = World::default().tab();
    run(async {
        let long = || Message::user("a message of some length ".repeat(10));
        let made = keep.append("a", vec![long(), long(), long()]).await.unwrap();
        let least = || keep.smallest_budget("a", &made[1].id, params("acme", &json!(null)));
        let ours = least().await.unwrap().unwrap();
        set(&keep, json!([{ "name": "acme", "tokenRatio": 1.3 }])).await;
        let theirs = least().await.unwrap().unwrap();
        assert_eq!(theirs, (ours * 13).div_ceil(10));
        let kept = async |tokens: u64| {
            let reply = keep.context_of("a", params("acme", &json!({ "maxTokens": tokens }))).await.unwrap();
            reply.messages.len()
        };
        assert_eq!((kept(theirs).await, kept(theirs - 1).await), (2, 1));
    });
}

#[test]
fn an_agent_goes_by_the_models_that_a_host_adds() {
    let keep = World::default().tab();
    run(async {
        set(
            &keep,
            json!([{ "name": "script", "maxContextTokens": 1000, "maxOutputTokens": 100, "safetyMargin": 50, "tokenRatio": 1.25 }]),
        )
        .await;
        // About 580 tokens of ours, which nobody reports: 725 of the model, and 680 are due for a compaction.
        let long = "a question of many words ".repeat(92);
        let script = Script::of([says("a"), counted(says("b"), 679, 5), says("c")]);
        let own = AgentOptions { built_in: Vec::new(), ..options("lal") };
        let lal = Agent::new(keep.clone(), own, script.clone(), std::rc::Rc::new(NoTools));
        let next = lal.next_request(&Outgoing { body: "hi".into(), ..Outgoing::default() }).await.unwrap();
        assert_eq!((next.context.limits.tokens, &next.body["max_completion_tokens"]), (Some(680), &json!(100)));
        let mut seen = Vec::new();
        let mut above = None;
        for text in [long.as_str(), "two", "three"] {
            let events = std::cell::RefCell::new(Vec::new());
            let asked = write(&keep, text, above.as_ref()).await;
            lal.catch_up(&|event| events.borrow_mut().push(event)).await.unwrap();
            seen.push(words(&events.into_inner()).contains(&"compacting".to_owned()));
            above = Some(asked);
        }
        assert_eq!(seen, [false, true, false]);
    });
}
