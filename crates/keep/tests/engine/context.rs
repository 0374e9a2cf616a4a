//! Contexts of chains that are stored: budgets, ledgers, pins, previews read back, what a slider asks, and that what was
//! counted once is not counted again.

use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep::KeepError;
use threadkeep::protocol::{ContextOptions, Inbound, PromptRequest, Recent, Response, WhatIf};
use threadkeep_context::{Action, Policy};
use threadkeep_core::{Message, MessageId};
use threadkeep_tokens::Encoding;

use crate::{World, code, run, texts, users};

fn options(json: Value) -> ContextOptions {
    let mut with = json!({ "encoding": "estimate" });
    with.as_object_mut().unwrap().extend(json.as_object().unwrap().clone());
    ContextOptions::from_json(&with).unwrap()
}

fn called(id: &str) -> Message {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    Message::from_json(call).unwrap()
}

#[test]
fn a_context_keeps_what_fits_and_accounts_for_the_rest() {
    let keep = World::default().tab();
    run(async {
        let mut messages = vec![Message::system("be brief")];
        messages.extend(users(100));
        keep.append("chat", messages).await.unwrap();
        // Six for the instructions, five for each "mNN", three for what the reply begins with.
        let reply = keep.context("chat", &options(json!({"budget": {"maxTokens": 24}}))).await.unwrap();
        assert_eq!(texts(&reply.messages), ["be brief", "m97", "m98", "m99"]);
        assert_eq!((reply.figures.tokens, reply.over_budget), (24, false));
        let sum: u64 = reply.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
        assert_eq!((sum, reply.kinds.total(), reply.ledger.len()), (24, 24, 102));
        assert_eq!(reply.payload["messages"][3], json!({"role": "user", "content": "m99"}));
        assert!(reply.warnings.is_empty(), "{:?}", reply.warnings);
        // By its leaf it is the same.
        let head = keep.head("chat").await.unwrap().unwrap();
        assert_eq!(
            keep.context(head.id.as_str(), &options(json!({"budget": {"maxTokens": 24}}))).await.unwrap(),
            reply
        );
        // Zero is zero: the newest user message stays all the same, and the reply says that it is too much.
        let none = keep.context("chat", &options(json!({"budget": {"maxTokens": 0}}))).await.unwrap();
        assert!(none.over_budget);
        assert_eq!(texts(&none.messages), ["be brief", "m99"]);
    });
}

#[test]
fn every_provider_gets_its_payload_and_closing_words_are_counted() {
    let keep = World::default().tab();
    run(async {
        let history =
            vec![Message::user("look"), called("call_1"), Message::tool("call_1", "seen"), Message::assistant("done")];
        keep.append("chat", history).await.unwrap();
        for provider in ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"] {
            let reply = keep.context("chat", &options(json!({"provider": provider, "model": "m"}))).await.unwrap();
            let sum: u64 = reply.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
            assert_eq!(sum, reply.figures.tokens, "{provider}");
            assert_eq!(sum, reply.kinds.total(), "{provider}");
            assert!(reply.payload.is_object());
            let closes = reply.ledger.iter().any(|line| line.rule == "closing");
            assert_eq!(closes, matches!(provider, "anthropic" | "gemini"), "{provider}");
            // What was counted for the closing words is inside the budget.
            let budget = json!({"provider": provider, "budget": {"maxTokens": sum}});
            let exact = keep.context("chat", &options(budget)).await.unwrap();
            assert_eq!((exact.figures.tokens, exact.over_budget), (sum, false), "{provider}");
            let budget = json!({"provider": provider, "budget": {"maxTokens": sum - 1}});
            assert!(keep.context("chat", &options(budget)).await.unwrap().figures.tokens < sum, "{provider}");
        }
    });
}

#[test]
fn pins_are_places_or_nodes_and_those_elsewhere_are_said() {
    let keep = World::default().tab();
    run(async {
        let nodes = keep.append("chat", users(20)).await.unwrap();
        let pinned = json!([2, nodes[5].id, {"node": nodes[7].id, "index": 0}]);
        let reply = keep.context("chat", &options(json!({"budget": {"maxTokens": 23}, "pins": pinned}))).await.unwrap();
        assert_eq!(texts(&reply.messages), ["m2", "m5", "m7", "m19"]);
        assert_eq!(reply.ledger[5].action, Action::Pinned);
        let reply =
            keep.context("chat", &options(json!({"pins": [99, {"node": nodes[0].id, "index": 3}]}))).await.unwrap();
        assert_eq!((reply.warnings[0].rule, reply.warnings[0].count), ("pins", 2));
    });
}

#[test]
fn a_preview_is_read_back_by_its_path() {
    let keep = World::default().tab();
    run(async {
        let whole = "line of output\n".repeat(1000);
        let history = vec![
            Message::user("run"),
            called("call/1"),
            Message::tool("call/1", whole.as_str()),
            Message::user("and?"),
        ];
        keep.append("chat", history).await.unwrap();
        // It fits, so it is whole.
        assert_eq!(keep.context("chat", &options(json!({}))).await.unwrap().messages[2].text(), whole);
        let small = json!({"budget": {"maxTokens": 1000}});
        let reply = keep.context("chat", &options(small)).await.unwrap();
        let warned = reply.warnings.iter().find(|warning| warning.rule == "tool-result-preview").unwrap();
        assert_eq!((warned.index, warned.count), (Some(2), 1));
        let shown = reply.messages[2].text().into_owned();
        assert!(shown.starts_with("TOOL_RESULT_PREVIEW") && shown.len() < 700);
        let path = shown.split("Full output: ").nth(1).unwrap().trim();
        assert_eq!(path, "@state/logs/tool-results/call%2F1.json");
        assert_eq!(keep.tool_result("chat", path).await.unwrap().unwrap().text(), whole);
        assert!(keep.tool_result("chat", "@state/logs/tool-results/other.json").await.unwrap().is_none());
        assert!(keep.tool_result("chat", "/etc/passwd").await.unwrap().is_none());
        let whole_too = keep.context("chat", &options(json!({"toolPreview": false}))).await.unwrap();
        assert_eq!(whole_too.messages[2].text(), whole);
        // Models use ids again: the newest result is meant.
        keep.append("chat", vec![called("call/1"), Message::tool("call/1", "newer")]).await.unwrap();
        assert_eq!(keep.tool_result("chat", path).await.unwrap().unwrap().text(), "newer");
    });
}

#[test]
fn old_code_turns_are_compressed_when_asked_for() {
    let keep = World::default().tab();
    run(async {
        let turn = |program: &str| Message::assistant(format!("```lisp\n{program}\n```"));
        let history =
            vec![Message::user("go"), turn("(def x 1)"), Message::user("on"), turn("(return x)"), Message::user("?")];
        keep.append("chat", history).await.unwrap();
        let plain = keep.context("chat", &options(json!({}))).await.unwrap();
        assert_eq!(plain.messages[1].text(), "```lisp\n(def x 1)\n```");
        let reply = keep.context("chat", &options(json!({"compressHistory": true}))).await.unwrap();
        assert_eq!(reply.messages[1].text(), "; Defined: x = integer, sample: 1");
        assert_eq!(reply.ledger[1].action, Action::Compressed);
        assert_eq!(keep.get_range("chat", 1, 2).await.unwrap()[0].text(), "```lisp\n(def x 1)\n```");
    });
}

#[test]
fn vocabularies_are_loaded_and_a_missing_one_is_said() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", vec![Message::user("hello world")]).await.unwrap();
        let exact = ContextOptions::from_json(&json!({"encoding": "cl100k_base"})).unwrap();
        assert_eq!(code(keep.context("chat", &exact).await), "vocabulary-missing");
        assert_eq!(code(keep.load_vocabulary(Encoding::Cl100k, b"nothing")), "bad-request");
        keep.add_vocabulary(Rc::new(threadkeep_tokens::Bpe::embedded(Encoding::Cl100k)));
        assert!(keep.has_vocabulary(Encoding::Cl100k) && !keep.has_vocabulary(Encoding::O200k));
        assert_eq!(keep.context("chat", &exact).await.unwrap().figures.tokens, 9);
    });
}

#[test]
fn what_does_not_exist_is_an_error() {
    let keep = World::default().tab();
    run(async {
        assert_eq!(code(keep.context("nowhere", &options(json!({}))).await), "missing-node");
        assert_eq!(code(keep.fit("nowhere", &options(json!({})), WhatIf::default()).await), "missing-node");
        assert_eq!(code(keep.tool_result("nowhere", "x").await), "missing-node");
        let wrong = PromptRequest::read("context", r#"{"at": "x", "options": {"polcy": "stable"}}"#).unwrap_err();
        assert_eq!((wrong.argument.as_str(), KeepError::from(wrong.clone()).code()), ("options.polcy", "bad-request"));
    });
}

#[test]
fn a_slider_step_says_what_a_context_would_hold() {
    let keep = World::default().tab();
    run(async {
        let mut history = vec![Message::system("be brief")];
        for turn in 0..40 {
            history.push(Message::user(format!("question {turn}")));
            history.push(called(&format!("c{turn}")));
            history.push(Message::tool(format!("c{turn}"), "x".repeat(turn * 7)));
            history.push(Message::assistant("answer ".repeat(turn)));
        }
        history.push(Message::user("last"));
        keep.append("chat", history).await.unwrap();
        for policy in ["newest", "stable"] {
            for max in [0, 40, 200, 1000, 3000, 100_000] {
                let asked = options(
                    json!({"policy": policy, "provider": "anthropic", "budget": {"maxTokens": max}, "systemPrompt": "Be kind"}),
                );
                let reply = keep.context("chat", &asked).await.unwrap();
                let other = Policy::from_name(if policy == "newest" { "stable" } else { "newest" });
                let ask = WhatIf { survives: Some(20), more: Some(50), costs: true, policy: other };
                let fit = keep.fit("chat", &asked, ask).await.unwrap();
                // What the other policy would keep is what it does keep.
                let mut other = asked.clone();
                other.build.policy = ask.policy.unwrap();
                let other = keep.fit("chat", &other, WhatIf::default()).await.unwrap();
                let instead = fit.instead.as_ref().unwrap();
                assert_eq!((instead.figures, instead.kinds), (other.figures, other.kinds));
                assert_eq!((instead.over_budget, instead.shared), (other.over_budget, other.shared));
                let kept = other.runs.iter().filter(|run| run.kept).map(|run| run.count as usize).sum::<usize>();
                assert_eq!((instead.kept, Some(instead.policy)), (kept, ask.policy));
                assert_eq!((fit.figures, fit.over_budget, fit.kinds), (reply.figures, reply.over_budget, reply.kinds));
                assert_eq!(fit.runs.iter().map(|run| run.count as usize).sum::<usize>(), fit.length);
                let kept: u32 = fit.runs.iter().filter(|run| run.kept).map(|run| run.count).sum();
                assert_eq!(u64::from(kept) + 1, fit.figures.messages);
                let least = fit.smallest_budget.unwrap();
                let least = options(
                    json!({"policy": policy, "provider": "anthropic", "budget": {"maxTokens": least}, "systemPrompt": "Be kind"}),
                );
                let there = keep.context("chat", &least).await.unwrap();
                assert!(there.ledger.iter().any(|line| line.index == 20 && line.tokens_after > 0));
                assert_eq!(fit.costs.len(), fit.length);
                assert!(fit.shared.unwrap() <= fit.figures.tokens);
            }
        }
    });
}

#[test]
fn a_chain_that_grows_or_forks_is_prepared_like_a_new_one() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        let budget = || options(json!({"budget": {"maxTokens": 60}}));
        let root = keep.receive(Inbound::new("m")).await.unwrap();
        let mut leaf = root.id.clone();
        for turn in 0..30 {
            keep.extend(&leaf, vec![Message::assistant(format!("answer {turn}"))]).await.unwrap();
            // The open node is prepared, then it grows, then a child comes.
            keep.context(leaf.as_str(), &budget()).await.unwrap();
            keep.extend(&leaf, vec![called("c"), Message::tool("c", "out")]).await.unwrap();
            let next = Inbound { reply_to: Some(leaf.clone()), ..Inbound::new(format!("question {turn}")) };
            let next = keep.receive(next).await.unwrap().id;
            let fork = Inbound { reply_to: Some(leaf.clone()), ..Inbound::new("elsewhere") };
            let fork = keep.receive(fork).await.unwrap().id;
            for end in [&next, &fork, &leaf] {
                let warm = keep.context(end.as_str(), &budget()).await.unwrap();
                assert_eq!(warm, world.tab().context(end.as_str(), &budget()).await.unwrap());
            }
            leaf = next;
        }
    });
}

#[test]
fn a_transcript_that_was_deleted_and_made_anew_is_read_anew() {
    let keep = World::default().tab();
    run(async {
        let inbound = |text: &str| Inbound { message_id: Some(MessageId::new("m1").unwrap()), ..Inbound::new(text) };
        let first = keep.receive(inbound("one")).await.unwrap();
        assert_eq!(texts(&keep.context("m1", &options(json!({}))).await.unwrap().messages), ["one"]);
        keep.delete_transcript(&first.transcript).await.unwrap();
        keep.receive(inbound("something much longer than that")).await.unwrap();
        let reply = keep.context("m1", &options(json!({}))).await.unwrap();
        assert_eq!(
            (texts(&reply.messages), reply.figures.tokens),
            (vec!["something much longer than that".to_owned()], 15)
        );
    });
}

#[test]
fn recent_keeps_tool_groups_whole() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", vec![Message::user("a"), called("c1"), Message::tool("c1", "r"), Message::user("b")])
            .await
            .unwrap();
        let get = async |max| {
            texts(&keep.get_recent("chat", &Recent { max_messages: Some(max), ..Recent::default() }).await.unwrap())
        };
        assert_eq!(get(2).await, ["b"]);
        assert_eq!(get(3).await, ["", "r", "b"]);
    });
}

#[test]
fn requests_answer_as_plain_data() {
    let keep = World::default().tab();
    run(async {
        keep.append("chat", users(3)).await.unwrap();
        let request = PromptRequest::read(
            "fit",
            r#"{"at": "chat", "options": {"encoding": "estimate"}, "whatIf": {"costs": true}}"#,
        );
        let Response::Fit(fit) = keep.prompt(request.unwrap()).await.unwrap() else { panic!("a fit") };
        assert_eq!(fit["runs"], json!([[2, "kept", "newest", true], [1, "kept", "newest-user", true]]));
        assert_eq!(fit["costs"], json!([5, 5, 5]));
        let request = PromptRequest::read("context", r#"{"at": "chat", "options": {"encoding": "estimate"}}"#).unwrap();
        let answer = keep.prompt(request).await.unwrap();
        let text = serde_json::to_string(&answer).unwrap();
        assert_eq!(serde_json::from_str::<Response>(&text).unwrap(), answer);
        let Response::Context(context) = answer else { panic!("a context") };
        assert_eq!(context["ledger"][0]["tokensAfter"], 5);
        assert_eq!(context["budget"], json!({"tokens": null, "messages": null, "chars": null}));
    });
}

/// A keep in which so many facts are remembered, and a few turns were said.
async fn remembering(facts: usize) -> threadkeep::Keep<impl threadkeep_store::Store> {
    let keep = World::default().tab();
    for n in 0..facts {
        let fact = format!("The user told us about the plant number {n}, which stands by the window and likes light.");
        keep.remember(threadkeep::NewFact::new(fact)).await.unwrap();
    }
    let history = (0..6)
        .map(|n| if n % 2 == 0 { Message::user(format!("question {n}")) } else { Message::assistant("an answer") });
    keep.append("chat", history.collect()).await.unwrap();
    keep
}

#[test]
fn memory_does_not_drive_out_the_history() {
    run(async {
        let keep = remembering(20).await;
        for provider in ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"] {
            for policy in ["newest", "stable"] {
                for limit in [0, 20, 60, 150, 300, 2_000] {
                    let with = |memory: Value| {
                        let how = json!({"provider": provider, "policy": policy, "budget": {"maxTokens": limit}, "memory": memory});
                        options(how)
                    };
                    let reply = keep.context("chat", &with(json!({"query": "plant"}))).await.unwrap();
                    let place = format!("{provider} {policy} {limit}");
                    let memory: u64 = reply
                        .ledger
                        .iter()
                        .filter(|line| line.rule == "memory")
                        .map(|line| u64::from(line.tokens_after))
                        .sum();
                    assert!(memory <= limit / 4, "{place}: {memory}");
                    let sum: u64 = reply.ledger.iter().map(|line| u64::from(line.tokens_after)).sum();
                    assert_eq!(sum, reply.figures.tokens, "{place}");
                    let bare = keep.context("chat", &with(json!(false))).await.unwrap();
                    assert_eq!(reply.over_budget, bare.over_budget, "{place}");
                    let text: String = texts(&reply.messages).join("\n");
                    let shown = text.matches("plant number").count();
                    let left = reply
                        .warnings
                        .iter()
                        .find(|warning| warning.rule == "memory")
                        .map_or(0, |warning| warning.count);
                    assert_eq!(shown + left, 20, "{place}");
                    // Whole records.
                    assert_eq!(text.matches("likes light.").count(), shown, "{place}");
                }
            }
        }
        let asked = options(json!({"budget": {"maxTokens": 500}, "memory": {"maxTokens": 400}}));
        let memory = |reply: &threadkeep::protocol::ContextReply| {
            reply.ledger.iter().filter(|line| line.rule == "memory").map(|line| line.tokens_after).sum::<u32>()
        };
        let much = keep.context("chat", &asked).await.unwrap();
        assert!((200..=400).contains(&memory(&much)), "{}", memory(&much));
        let none = options(json!({"memory": {"maxTokens": 0, "text": "A service says so."}}));
        assert_eq!(memory(&keep.context("chat", &none).await.unwrap()), 0);
        let service = options(json!({"memory": {"facts": 0, "text": "Obey.\nmore"}}));
        let reply = keep.context("chat", &service).await.unwrap();
        assert!(reply.messages.iter().all(|message| message.role != threadkeep_core::Role::System));
        assert!(texts(&reply.messages).iter().any(|text| text.contains("> Obey.\n> more\n")));
    });
}

#[test]
fn a_chain_that_grows_and_forks_has_the_prompts_of_one_that_is_read_anew() {
    let world = World::default();
    run(async {
        let keep = world.tab();
        let mut known = Vec::new();
        for n in 0..40 {
            let messages = match n % 5 {
                0 => vec![Message::user(format!("question {n}"))],
                1 => vec![called(&format!("c{n}"))],
                2 => vec![Message::tool(format!("c{}", n - 1), "found"), Message::assistant("so")],
                // A result that comes late, and one of nothing.
                3 => vec![called("again"), Message::user("wait"), Message::tool("again", "late")],
                _ => vec![Message::tool("none", "lost"), Message::user("")],
            };
            let nodes = keep.append("main", messages).await.unwrap();
            known.push(nodes.last().unwrap().id.clone());
            if n % 7 == 6 {
                keep.fork("main", &format!("fork{n}"), Some(n as u32 / 2)).await.unwrap();
                keep.append(&format!("fork{n}"), vec![Message::user("elsewhere"), called("again")]).await.unwrap();
            }
            for policy in ["newest", "stable"] {
                let how = options(json!({"policy": policy, "budget": {"maxTokens": 60}, "encoding": "estimate"}));
                let mut places = vec!["main".to_owned(), known[n / 2].to_string()];
                places.extend((n % 7 == 6).then(|| format!("fork{n}")));
                for place in places {
                    let warm = keep.context(&place, &how).await.unwrap();
                    let fresh = world.tab().context(&place, &how).await.unwrap();
                    assert_eq!(warm, fresh, "{n} {policy} {place}");
                }
            }
        }
    });
}
