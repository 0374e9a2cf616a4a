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

#[test]
fn the_smallest_budget_of_a_node_brings_it_in() {
    run(async {
        let keep = long_thread().await;
        let chain = keep.chain(&keep.head("a").await.unwrap().unwrap().id).await.unwrap();
        let node = chain[chain.len() / 2].id.clone();
        let least = ask(&keep, "smallestBudget", json!({"at": "a", "node": node, "options": estimate()})).await;
        let least = least.as_u64().unwrap();
        let has = async |tokens: u64| {
            let options = json!({"encoding": "estimate", "budget": {"maxTokens": tokens}});
            let options = threadkeep::protocol::context_params(options).unwrap();
            let reply = keep.context_of("a", options).await.unwrap();
            reply.ledger.iter().any(|line| line.node.as_ref() == Some(&node) && line.tokens_after > 0)
        };
        assert!(has(least).await && !has(least - 1).await, "{least}");
        // A limit that is not in tokens keeps it out at any budget.
        let options = json!({"encoding": "estimate", "budget": {"maxMessages": 2}});
        assert_eq!(
            ask(&keep, "smallestBudget", json!({"at": "a", "node": node, "options": options})).await,
            Value::Null
        );
        keep.append("b", vec![Message::user("elsewhere")]).await.unwrap();
        let other = keep.head("b").await.unwrap().unwrap().id;
        let request = json!({"at": "a", "node": other, "options": estimate()}).to_string();
        let failed = keep.what_if(WhatIfRequest::read("smallestBudget", &request).unwrap()).await;
        assert_eq!(failed, Err(KeepError::MissingNode(other)));
    });
}

#[test]
fn a_forecast_comes_true() {
    run(async {
        let keep = long_thread().await;
        let options = json!({"encoding": "estimate", "policy": "newest", "budget": {"maxTokens": 7000}});
        let forecast = async |options: &Value| ask(&keep, "forecast", json!({"at": "a", "options": options})).await;
        let fits = async || {
            let params = threadkeep::protocol::context_params(options.clone()).unwrap();
            !keep.context_of("a", params).await.unwrap().ledger.is_cut()
        };
        let first = forecast(&options).await;
        let pace = first["tokensPerTurn"].as_u64().unwrap();
        assert!((100..200).contains(&pace), "{first}");
        let turns = first["turnsThatFit"].as_u64().unwrap();
        assert!(turns > 2 && fits().await && first["nextOut"] == json!([]), "{first}");
        for at in 40..40 + turns {
            let question = Message::user(format!("{at} {}", "The keel is green. ".repeat(12)));
            let answer = Message::assistant(format!("{at} {}", "The oars are blue. ".repeat(12)));
            keep.append("a", vec![question, answer]).await.unwrap();
        }
        let last = forecast(&options).await;
        assert!(fits().await && last["turnsThatFit"] == 0, "{last}");
        let question = Message::user(format!("99 {}", "The keel is green. ".repeat(12)));
        let answer = Message::assistant(format!("99 {}", "The oars are blue. ".repeat(12)));
        keep.fork("a", "longer", None).await.unwrap();
        keep.append("longer", vec![question, answer]).await.unwrap();
        let params = threadkeep::protocol::context_params(options.clone()).unwrap();
        let prompt = keep.context_of("longer", params).await.unwrap();
        let gone = prompt.ledger.iter().filter(|line| line.node.is_some() && line.tokens_after == 0);
        let gone: Vec<_> = gone.filter_map(|line| line.node.clone()).collect();
        assert!(!gone.is_empty());
        assert_eq!(last["nextOut"], json!(gone));
        // A compaction: 0.8 of what the model's context leaves, and never if the settings say so.
        let due = forecast(&json!({"encoding": "estimate", "model": "gpt-4o"})).await["turnsUntilCompaction"].clone();
        let early = (128_000 - 16_384 - 1_000) * 4 / 5;
        let used = last["tokens"].as_u64().unwrap();
        assert_eq!(due.as_u64(), Some((early - used) / pace + 1));
        let never = threadkeep::protocol::ContextSettings::read(r#"{"compaction": false}"#).unwrap();
        keep.set_context_options(Some("a"), &never).await.unwrap();
        assert!(forecast(&options).await.get("turnsUntilCompaction").is_none());
        assert!(forecast(&estimate()).await.get("turnsThatFit").is_none());
    });
}

#[test]
fn both_policies_stand_side_by_side() {
    run(async {
        let keep = long_thread().await;
        let options = json!({"encoding": "estimate", "budget": {"maxTokens": 3000}});
        let sides = ask(&keep, "comparePolicies", json!({"at": "a", "options": options})).await;
        for (side, policy) in sides.as_array().unwrap().iter().zip(["stable", "newest"]) {
            let own = json!({"encoding": "estimate", "budget": {"maxTokens": 3000}, "policy": policy});
            let params = threadkeep::protocol::context_params(own).unwrap();
            let prompt = keep.context_of("a", params).await.unwrap();
            assert_eq!((&side["policy"], &side["tokens"]), (&json!(policy), &json!(prompt.figures.tokens)));
            assert_eq!(side["kept"], prompt.messages.len());
            assert_eq!(side["dropped"], 80 - prompt.messages.len());
        }
        let [stable, newest] = sides.as_array().unwrap().as_slice() else { panic!("{sides}") };
        assert!(stable["sharedTokens"].as_u64() > newest["sharedTokens"].as_u64(), "{sides}");
        let more = newest["kept"].as_u64().unwrap() - stable["kept"].as_u64().unwrap();
        assert!(more > 0 && !newest["onlyHere"].as_array().unwrap().is_empty() && stable["onlyHere"] == json!([]));
    });
}

#[test]
fn branches_of_any_transcripts_are_compared() {
    run(async {
        let keep = World::default().tab();
        let said = |texts: &[&str]| -> Vec<Message> { texts.iter().map(|text| Message::user(*text)).collect() };
        keep.append("a", said(&["one", "two", "three"])).await.unwrap();
        keep.fork("a", "b", Some(1)).await.unwrap();
        keep.append("b", said(&["other", "three"])).await.unwrap();
        keep.append("c", said(&["zero", "two", "two"])).await.unwrap();
        let compare = async |at: &str, other: &str| {
            ask(&keep, "compareBranches", json!({"at": at, "other": other, "options": estimate()})).await
        };
        let texts = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|it| it["content"].as_str().unwrap().to_owned()).collect()
        };
        let (branch, back) = (compare("a", "b").await, compare("b", "a").await);
        for both in ["messages", "prompts"] {
            let (found, back) = (&branch[both], &back[both]);
            assert_eq!(found["onlyHere"], back["onlyThere"]);
            assert_eq!(found["shared"], back["shared"]);
            // What both say is no difference, wherever it stands.
            assert!(!texts(&found["onlyHere"]).contains(&"three".to_owned()), "{branch}");
            assert_eq!(texts(&found["onlyThere"]), ["other"]);
        }
        let elsewhere = &compare("a", "c").await["messages"];
        assert_eq!((&elsewhere["beginAlike"], &elsewhere["shared"]), (&json!(0), &json!(1)));
        assert_eq!(texts(&elsewhere["onlyHere"]), ["one", "three"]);
        assert_eq!(texts(&elsewhere["onlyThere"]), ["zero", "two"]);
        let same = compare("a", "a").await;
        assert_eq!((&same["prompts"]["onlyHere"], &same["prompts"]["onlyThere"]), (&json!([]), &json!([])));
        assert_eq!(same["tokensHere"], same["tokensThere"]);
    });
}
