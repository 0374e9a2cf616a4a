//! Simulation of a thread's requests, held against what real sessions report.

use serde_json::json;
use threadkeep::protocol::{ContextOptions, context_params};
use threadkeep::{Keep, Simulated, Simulation};
use threadkeep_provider::{CacheRule, Price, Provider, Usage};
use threadkeep_store::MemoryStore;

use crate::folder::data;
use crate::{World, run};

fn options(options: serde_json::Value) -> ContextOptions {
    ContextOptions::from(context_params(options).unwrap())
}

/// The branch of a session that is shown, as its program asked: all that was said, behind a system prompt and tools that the session does
/// not have. The first request tells how much they are.
async fn as_it_was(keep: &Keep<MemoryStore>, id: &str, cache: Option<CacheRule>) -> Vec<Simulated> {
    let leaf = keep.outline(&threadkeep_core::TranscriptId::new(id).unwrap(), None).await.unwrap().leaf;
    let options = options(json!({"provider": "anthropic", "encoding": "estimate"}));
    let mut simulation = Simulation { options, cache, ..Simulation::default() };
    let alone = keep.simulate(leaf.as_str(), &simulation).await.unwrap();
    let Some(first) = alone.iter().find(|it| it.reported.is_some()) else { return Vec::new() };
    let said = first.reported.map_or(0, |usage| usage.prompt_tokens);
    simulation.beside = said.saturating_sub(first.usage.prompt_tokens);
    keep.simulate(leaf.as_str(), &simulation).await.unwrap()
}

/// The line through these points that leaves the least squares: where it begins, and how it rises.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
    let over: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let under: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let rise = if under > 0.0 { over / under } else { 1.0 };
    (y - rise * x, rise)
}

#[test]
fn cache_reads_of_real_sessions_are_predicted() {
    let Some(data) = data() else { return };
    run(async {
        let mut errors = Vec::new();
        for entry in std::fs::read_dir(data.join("claude-code-sessions")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|it| it != "jsonl") {
                continue;
            }
            let keep = World::default().tab();
            let file = vec![(path.display().to_string(), std::fs::read(&path).unwrap())];
            keep.import(file, None, |_| {}).await.unwrap();
            for thread in keep.transcripts().await.unwrap() {
                let hour = keep.requests(thread.id.as_str(), None).await.unwrap();
                let hour = hour.iter().any(|it| it.usage.is_some_and(|usage| usage.cache_hour_tokens.is_some()));
                let cache = CacheRule::of(Provider::Anthropic, "claude-opus-4-6", hour);
                let all = as_it_was(&keep, thread.id.as_str(), cache).await;
                let counts = |it: &Simulated| Some((it.usage.prompt_tokens as f64, it.reported?.prompt_tokens as f64));
                // Two numbers a session are fitted: what stands before the thread, and how its model's tokens relate to the estimate.
                let (apart, rise) = line(&all.iter().filter_map(counts).collect::<Vec<_>>());
                let mut of_file = Vec::new();
                for it in all.iter().skip(1) {
                    let (Some(reported), Some(cached)) = (it.reported, it.usage.cached_tokens) else { continue };
                    let real = reported.cached_tokens.unwrap_or(0) as f64;
                    let predicted = if cached > 0 { apart + rise * cached as f64 } else { 0.0 };
                    if real > 0.0 {
                        of_file.push((predicted - real).abs() / real);
                    }
                }
                if of_file.is_empty() {
                    continue;
                }
                of_file.sort_by(f64::total_cmp);
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let (count, middle) = (of_file.len(), of_file[of_file.len() / 2] * 100.0);
                eprintln!(
                    "{name}: {count} requests, {rise:.2} tokens for an estimated one, median error {middle:.1} %"
                );
                errors.extend(of_file);
            }
        }
        errors.sort_by(f64::total_cmp);
        let median = errors[errors.len() / 2];
        eprintln!("all: {} requests, median error {:.2} %", errors.len(), median * 100.0);
        assert!(errors.len() > 80 && median < 0.1, "{median}");
    });
}

#[test]
fn a_stable_cut_is_cheaper_than_a_sliding_one() {
    run(async {
        let keep = World::default().tab();
        let texts: Vec<_> = (0..160)
            .map(|at| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": format!("{at} {}", "The keel is green. ".repeat(12))}))
            .collect();
        let thread = json!(texts).to_string();
        keep.import(vec![("chat.json".to_owned(), thread.into_bytes())], None, |_| {}).await.unwrap();
        let id = keep.transcripts().await.unwrap().remove(0).id;
        let leaf = keep.outline(&id, None).await.unwrap().leaf;
        let cache = CacheRule::of(Provider::Anthropic, "claude-sonnet-4-6", false);
        let price = Price::of("claude-sonnet-4-6").unwrap();
        let replay = async |policy: &str, cache| {
            let options = options(json!({"provider": "anthropic", "encoding": "estimate",
                "budget": {"maxTokens": 3000}, "policy": policy}));
            keep.simulate(leaf.as_str(), &Simulation { options, cache, ..Simulation::default() }).await.unwrap()
        };
        let dollars = |all: &[Simulated]| all.iter().map(|it| price.cost(&it.usage)).sum::<f64>();
        let read = |all: &[Simulated]| all.iter().filter_map(|it| it.usage.cached_tokens).sum::<u64>();
        let (stable, sliding) = (replay("stable", cache).await, replay("newest", cache).await);
        assert_eq!((stable.len(), sliding.len()), (80, 80));
        assert!(stable.iter().all(|it| it.usage.prompt_tokens <= 3000 && it.reported.is_none()));
        assert!(read(&stable) > 3 * read(&sliding), "{} and {}", read(&stable), read(&sliding));
        assert!(dollars(&stable) < 0.6 * dollars(&sliding), "{} and {}", dollars(&stable), dollars(&sliding));
        // The first request finds nothing; what is read and what is written are all of a prompt.
        assert_eq!(stable[0].usage.cached_tokens, Some(0));
        for it in &stable {
            let Usage { prompt_tokens, cached_tokens, cache_write_tokens, .. } = it.usage;
            assert_eq!(
                cached_tokens.zip(cache_write_tokens).map(|(read, written)| read + written),
                Some(prompt_tokens)
            );
        }
        assert!(replay("stable", None).await.iter().all(|it| it.usage.cached_tokens.is_none()));
        // No prefix is as long as that.
        let long = cache.map(|rule| CacheRule { least: 5000, ..rule });
        assert_eq!(read(&replay("stable", long).await), 0);
    });
}

#[test]
fn a_long_pause_costs_the_cache() {
    run(async {
        let keep = World::default().tab();
        let line = |at: usize, minute: u32| {
            let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
            let message = json!({"role": role, "content": "The keel is green and the oars are blue. ".repeat(200)});
            let up = (at > 0).then(|| format!("n{}", at - 1));
            json!({"type": role, "uuid": format!("n{at}"), "parentUuid": up, "sessionId": "s", "message": message,
                "timestamp": format!("2026-01-01T00:{minute:02}:00Z")})
        };
        let minutes = [0, 1, 1, 2, 11, 12, 12, 13];
        let file: String = minutes.iter().enumerate().map(|(at, minute)| format!("{}\n", line(at, *minute))).collect();
        keep.import(vec![("session.jsonl".to_owned(), file.into_bytes())], None, |_| {}).await.unwrap();
        let id = keep.transcripts().await.unwrap().remove(0).id;
        let leaf = keep.outline(&id, None).await.unwrap().leaf;
        let options = options(json!({"provider": "anthropic", "encoding": "estimate"}));
        let found = async |hour| {
            let cache = CacheRule::of(Provider::Anthropic, "claude-sonnet-4-6", hour);
            let simulation = Simulation { options: options.clone(), cache, ..Simulation::default() };
            let all = keep.simulate(leaf.as_str(), &simulation).await;
            all.unwrap().iter().map(|it| it.usage.cached_tokens.unwrap() > 0).collect::<Vec<_>>()
        };
        assert_eq!(found(false).await, [false, true, false, true]);
        assert_eq!(found(true).await, [false, true, true, true]);
    });
}
