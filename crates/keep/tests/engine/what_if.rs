//! What-ifs: a thread replayed with other options.

use serde_json::{Value, json};
use threadkeep::protocol::{MemoryFilter, WhatIfRequest};
use threadkeep::{Keep, KeepError};
use threadkeep_core::Message;
use threadkeep_store::MemoryStore;

use crate::{World, run};

/// Forty turns of about 130 tokens, at the head `a`.
async fn long_thread() -> Keep<MemoryStore> {
    let keep = World::default().tab();
    for at in 0..40 {
        let question = Message::user(format!("{at} {}", "The keel is green. ".repeat(12)));
        let answer = Message::assistant(format!("{at} {}", "The oars are blue. ".repeat(12)));
        keep.append("a", vec![question, answer]).await.unwrap();
    }
    keep
}

async fn ask(keep: &Keep<MemoryStore>, method: &str, params: Value) -> Value {
    keep.what_if(WhatIfRequest::read(method, &params.to_string()).unwrap()).await.unwrap()
}

fn estimate() -> Value {
    json!({"encoding": "estimate"})
}

fn close(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() < 1e-9)
}

#[test]
fn a_thread_is_replayed_in_every_combination() {
    run(async {
        let keep = long_thread().await;
        let options = json!({"context": estimate(), "each": true, "policies": ["stable", "newest"],
            "budgets": [{"maxTokens": 3000}], "models": [
                {"provider": "anthropic", "model": "claude-sonnet-4-6"}, {"provider": "openai-chat", "model": "gpt-4o-mini"}]});
        let answer = ask(&keep, "simulate", json!({"at": "a", "options": options})).await;
        let variants = answer["variants"].as_array().unwrap();
        let names: Vec<_> = variants.iter().map(|it| (it["policy"].as_str(), it["model"].as_str())).collect();
        let (claude, gpt) = (Some("claude-sonnet-4-6"), Some("gpt-4o-mini"));
        let (stable, newest) = (Some("stable"), Some("newest"));
        assert_eq!(names, [(stable, claude), (stable, gpt), (newest, claude), (newest, gpt)]);
        for variant in variants {
            let each = variant["each"].as_array().unwrap();
            assert_eq!((variant["cost"]["requests"].as_u64(), each.len()), (Some(40), 40));
            for (figure, name) in [("promptTokens", "prompt"), ("cachedTokens", "cached")] {
                let sum: u64 = each.iter().map(|it| it["usage"][figure].as_u64().unwrap()).sum();
                assert_eq!(variant["cost"]["usage"][figure], sum, "{name}");
            }
            let dollars: f64 = each.iter().map(|it| it["cost"].as_f64().unwrap()).sum();
            assert!(dollars > 0.0 && close(&variant["cost"]["dollars"], dollars));
            assert!(each.iter().all(|it| it["usage"]["completionTokens"].as_u64() > Some(40)));
        }
        // The price of a cut: a prefix that moves with every request is not found in the cache.
        let (first, sliding) = (&variants[0], &variants[2]);
        assert_eq!((&first["beyondFirst"]["cachedTokens"], &first["beyondFirst"]["dollars"]), (&json!(0), &json!(0.0)));
        let read = |it: &Value| it["cost"]["usage"]["cachedTokens"].as_i64().unwrap();
        assert_eq!(sliding["beyondFirst"]["cachedTokens"], read(sliding) - read(first));
        assert!(read(sliding) < read(first));
        let dollars = |it: &Value| it["cost"]["dollars"].as_f64().unwrap();
        assert!(close(&sliding["beyondFirst"]["dollars"], dollars(sliding) - dollars(first)));
        assert!(dollars(sliding) > 1.3 * dollars(first), "{} and {}", dollars(sliding), dollars(first));
    });
}

#[test]
fn an_imagined_compaction_shortens_prompts_and_stores_nothing() {
    run(async {
        let keep = long_thread().await;
        let known = async || (keep.stats().await.unwrap(), keep.episodes(&MemoryFilter::default()).await.unwrap());
        let before = known().await;
        let options = json!({"context": estimate(), "each": true, "compaction": [false, {"aboveTokens": 2000}],
            "models": [{"provider": "anthropic", "model": "claude-sonnet-4-6"}]});
        let answer = ask(&keep, "simulate", json!({"at": "a", "options": options.clone()})).await;
        let [never, often] = answer["variants"].as_array().unwrap().as_slice() else { panic!("{answer}") };
        assert_eq!((&never["compactAbove"], &often["compactAbove"]), (&json!(0), &json!(2000)));
        assert_eq!(never["compactions"], 0);
        let times = often["compactions"].as_u64().unwrap();
        assert!((2..10).contains(&times), "{times}");
        let each = often["each"].as_array().unwrap();
        let tokens = |it: &Value| it["usage"]["promptTokens"].as_u64().unwrap();
        assert!(each.iter().all(|it| tokens(it) <= 2000), "{each:?}");
        for pair in each.windows(2).filter(|pair| pair[1]["compacted"] == true) {
            assert!(tokens(&pair[1]) < tokens(&pair[0]));
        }
        assert!(often["beyondFirst"]["promptTokens"].as_i64() < Some(0));
        assert_eq!(known().await, before);
        assert!(keep.checkpoints("a").await.unwrap().is_empty());
        // The same question has the same answer.
        assert_eq!(ask(&keep, "simulate", json!({"at": "a", "options": options})).await, answer);
    });
}

#[test]
fn the_cache_rule_is_the_providers_unless_an_option_says_otherwise() {
    run(async {
        let keep = long_thread().await;
        let read = async |model: Value, cache: Value| {
            let options = json!({"context": estimate(), "models": [model], "cache": cache,
                "prices": [{"model": "mine", "input": 1.0, "output": 2.0}]});
            let answer = ask(&keep, "simulate", json!({"at": "a", "options": options})).await;
            answer["variants"][0]["cost"].clone()
        };
        let claude = json!({"provider": "anthropic", "model": "claude-sonnet-4-6"});
        let usual = read(claude.clone(), Value::Null).await;
        let longer = read(claude.clone(), json!({"leastTokens": 4000})).await;
        let cached = |it: &Value| it["usage"]["cachedTokens"].as_u64();
        assert!(cached(&usual) > cached(&longer) && cached(&longer) > Some(0));
        assert_eq!(cached(&read(claude.clone(), json!(false)).await), None);
        let hour = read(claude, json!({"hour": true})).await;
        assert_eq!(hour["usage"]["cacheHourTokens"], usual["usage"]["cacheWriteTokens"]);
        assert!(hour["dollars"].as_f64() > usual["dollars"].as_f64());
        // An opus of these versions needs a longer prefix than a sonnet.
        let opus = read(json!({"provider": "anthropic", "model": "claude-opus-4-6"}), Value::Null).await;
        assert!(cached(&opus) < cached(&usual));
        let mine = read(json!({"provider": "ollama", "model": "mine"}), Value::Null).await;
        let tokens = |figure: &str| mine["usage"][figure].as_f64().unwrap();
        assert!(close(&mine["dollars"], (tokens("promptTokens") + 2.0 * tokens("completionTokens")) / 1e6));
        let other = read(json!({"provider": "ollama", "model": "other"}), Value::Null).await;
        assert_eq!((other["unpriced"].as_u64(), other["dollars"].as_f64()), (Some(40), Some(0.0)));
    });
}

#[test]
fn a_simulation_says_which_option_is_wrong() {
    run(async {
        let keep = long_thread().await;
        let failed = async |options: Value| {
            let params = json!({"at": "a", "options": options}).to_string();
            match WhatIfRequest::read("simulate", &params) {
                Err(error) => error.argument,
                Ok(request) => match keep.what_if(request).await {
                    Err(KeepError::Argument(bad)) => bad.argument,
                    other => panic!("{other:?}"),
                },
            }
        };
        assert_eq!(failed(json!({"policies": []})).await, "options.policies");
        assert_eq!(failed(json!({"budgets": vec![json!({}); 65]})).await, "options");
        assert_eq!(failed(json!({"policy": "stable"})).await, "options.policy");
        assert_eq!(failed(json!({"compaction": [{"tokens": 3}]})).await, "options.compaction[0].tokens");
    });
}
