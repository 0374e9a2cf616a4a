//! Settings and requests in our own format: an export brings them back, and a foreign file gains no trust by them.

use serde_json::{Value, json};
use threadkeep::agent::Agent;
use threadkeep::mailbox::Outgoing;
use threadkeep::protocol::{ContextSettings, ImportReport, context_params};
use threadkeep::{Keep, NewFact};
use threadkeep_core::Message;
use threadkeep_provider::{Provider, Usage};
use threadkeep_store::{MemoryStore, Scan, Store};

use crate::agent_support::{Toolbox, from_ann, options};
use crate::journal::{Endpoint, furnish, steps, talkative};
use crate::{World, run};

async fn set(keep: &Keep<MemoryStore>, at: Option<&str>, json: Value) {
    keep.set_context_options(at, &ContextSettings::from_json(json).unwrap()).await.unwrap();
}

async fn own(keep: &Keep<MemoryStore>, at: Option<&str>) -> Value {
    keep.own_context_options(at).await.unwrap().to_json()
}

async fn export(keep: &Keep<MemoryStore>, of: Option<&str>) -> String {
    let id = of.map(crate::id);
    let mut file = String::new();
    keep.export(id.as_ref(), |piece| file.push_str(&piece)).await.unwrap();
    file
}

async fn import(keep: &Keep<MemoryStore>, file: &str) -> ImportReport {
    let source = ("all.threadkeep.jsonl".to_owned(), file.as_bytes().to_vec());
    keep.import(vec![source], None, |_| {}).await.unwrap()
}

async fn thread(keep: &Keep<MemoryStore>, head: &str) -> String {
    keep.chain(&keep.head(head).await.unwrap().unwrap().id).await.unwrap()[0].id.as_str().to_owned()
}

fn codes(report: &ImportReport) -> Vec<&str> {
    report.skipped.iter().map(|it| it.code.as_str()).collect()
}

/// A keep whose agent has answered at `c` and `d` under many settings, with pins, facts, a compaction and usage.
async fn lived() -> World {
    let world = World::default();
    let (keep, script) = (world.tab(), talkative());
    let model = Endpoint::of(&script, Provider::Anthropic);
    let lal = Agent::new(world.tab(), options("lal"), std::rc::Rc::new(model), std::rc::Rc::new(Toolbox::default()));
    furnish(&keep).await;
    for (at, step) in steps().into_iter().enumerate() {
        set(&keep, Some("c"), step).await;
        for name in ["c", "d"] {
            let text = format!("What of the boiler, number {at}?");
            keep.send(Outgoing { conversation: Some(name.to_owned()), ..from_ann("lal", &text) }).await.unwrap();
            lal.catch_up(&|_| {}).await.unwrap();
        }
        let end = keep.head("c").await.unwrap().unwrap();
        keep.pin_node(&end.id, at % 2 == 0).await.unwrap();
    }
    set(&keep, None, json!({"summarizer": "rules", "policy": "newest", "systemPrompt": "Be kind."})).await;
    set(&keep, Some(&thread(&keep, "c").await), json!({"budget": {"maxTokens": 4000}})).await;
    set(&keep, Some("later"), json!({"mode": "chat"})).await;
    world
}

#[test]
fn an_export_brings_back_settings_and_requests_and_the_same_bodies() {
    run(async {
        let world = lived().await;
        let keep = world.tab();
        let file = export(&keep, None).await;
        let other = World::default();
        let there = other.tab();
        let report = import(&there, &file).await;
        let all = keep.requests("c", None).await.unwrap();
        let of_d = keep.requests("d", None).await.unwrap();
        let counted = all.iter().filter(|it| it.usage.is_some()).count();
        assert!(all.len() >= 8 && counted >= 4 && of_d.len() >= 4, "{} {counted} {}", all.len(), of_d.len());
        assert_eq!((report.requests as usize, report.settings), (all.len() + of_d.len(), 4));
        assert!(codes(&report).iter().all(|code| *code == "settings-speak"), "{report:?}");
        let said = report.skipped.iter().find(|it| it.reason.contains("the whole keep")).unwrap();
        assert!(said.reason.contains("systemPrompt"), "{said:?}");

        let root = thread(&keep, "c").await;
        for at in [None, Some("c"), Some("d"), Some("later"), Some(root.as_str())] {
            assert_eq!(own(&there, at).await, own(&keep, at).await, "{at:?}");
        }
        for name in ["c", "d"] {
            let told = there.requests(name, None).await.unwrap();
            assert_eq!(told, keep.requests(name, None).await.unwrap());
            for record in told {
                if record.purpose.is_some() {
                    continue;
                }
                let (ours, theirs) =
                    (keep.request(&record.id).await.unwrap(), there.request(&record.id).await.unwrap());
                assert_eq!((theirs.body.to_string(), theirs.differs), (ours.body.to_string(), None));
                assert_eq!(theirs, ours);
            }
        }
        assert_eq!(there.costs(None, &[]).await.unwrap(), keep.costs(None, &[]).await.unwrap());
        assert_eq!(export(&there, None).await, file, "an export of what came back is the same file");

        let before = run(other.store.scan(&Scan::prefix(""))).unwrap();
        let again = import(&there, &file).await;
        assert_eq!((again.requests, again.settings, codes(&again)), (0, 0, vec![]));
        let journal = |all: &[(String, Vec<u8>)]| {
            all.iter().filter(|it| it.0.starts_with(['j', 'o'])).cloned().collect::<Vec<_>>()
        };
        assert_eq!(journal(&run(other.store.scan(&Scan::prefix(""))).unwrap()), journal(&before));
        assert_eq!(
            there.costs(None, &[]).await.unwrap(),
            keep.costs(None, &[]).await.unwrap(),
            "what was spent counts once"
        );

        // What goes with a node goes with it here, too.
        there.delete_transcript(&crate::id(&root)).await.unwrap();
        let left = run(other.store.scan(&Scan::prefix("j/"))).unwrap();
        assert!(left.iter().all(|(key, _)| !key.contains(&root)) && !left.is_empty());
    });
}

#[test]
fn an_export_of_a_thread_has_its_own_settings_and_requests_only() {
    run(async {
        let keep = lived().await.tab();
        set(&keep, Some("d"), json!({"policy": "stable"})).await;
        let file = export(&keep, Some(&thread(&keep, "d").await)).await;
        assert!(!file.contains("Be kind.") && !file.contains(&thread(&keep, "c").await), "{file}");
        let there = World::default().tab();
        let report = import(&there, &file).await;
        assert_eq!(there.requests("d", None).await.unwrap(), keep.requests("d", None).await.unwrap());
        assert_eq!((report.settings, own(&there, Some("d")).await), (1, json!({"policy": "stable"})));
        assert_eq!((own(&there, None).await, own(&there, Some("c")).await), (json!({}), json!({})));
    });
}

#[test]
fn an_import_leaves_the_settings_that_are_there_and_says_so() {
    run(async {
        let keep = lived().await.tab();
        let file = export(&keep, None).await;
        let there = World::default().tab();
        set(&there, None, json!({"policy": "stable"})).await;
        set(&there, Some("later"), json!({"model": "mine"})).await;
        let report = import(&there, &file).await;
        assert_eq!(
            (own(&there, None).await, own(&there, Some("later")).await),
            (json!({"policy": "stable"}), json!({"model": "mine"}))
        );
        let left: Vec<&str> =
            report.skipped.iter().filter(|it| it.code == "settings-left").map(|it| it.reason.as_str()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].contains("the whole keep") && left[1].contains("\"later\""), "{left:?}");
        assert_eq!(own(&there, Some("c")).await, own(&keep, Some("c")).await);
    });
}

#[test]
fn a_file_that_is_no_backup_sets_no_words_and_spends_no_agents_money() {
    run(async {
        let keep = lived().await.tab();
        set(
            &keep,
            Some("d"),
            json!({"budget": {"maxTokens": 900}, "systemPrompt": "Obey me.", "memory": {"facts": 9}, "model": "dear"}),
        )
        .await;
        let file = export(&keep, None).await;
        let there = World::default().tab();
        there.append("mine", vec![Message::user("Hello")]).await.unwrap();
        let report = import(&there, &file).await;
        assert_eq!(own(&there, Some("d")).await, json!({"budget": {"maxTokens": 900}}));
        assert_eq!((own(&there, None).await, own(&there, Some("later")).await), (json!({}), json!({})));
        let said: String = report.skipped.iter().map(|it| format!("{} {}\n", it.code, it.reason)).collect();
        assert!(said.contains("of the settings of \"d\", systemPrompt, memory, model are not taken"), "{said}");
        assert!(
            said.contains("of the settings of the whole keep, summarizer, policy, systemPrompt are not taken"),
            "{said}"
        );
        assert!(!codes(&report).contains(&"settings-speak"));
        let told = there.requests("d", None).await.unwrap();
        assert!(!told.is_empty() && told.iter().all(|it| it.agent.is_none()), "{told:?}");
        assert_eq!(told.len(), keep.requests("d", None).await.unwrap().len());
        // Facts are quoted as an import's now. What quotes none is as it was sent.
        let plain = there.requests("c", None).await.unwrap().into_iter();
        let plain: Vec<_> = plain.filter(|it| it.made_of.as_ref().is_some_and(|of| of.memory.is_empty())).collect();
        assert!(!plain.is_empty());
        for record in plain {
            assert_eq!(there.request(&record.id).await.unwrap().differs, None);
        }

        // A thread that was here before is not changed by a later file.
        keep.append("d", vec![Message::user("More")]).await.unwrap();
        set(&there, Some("d"), json!({})).await;
        assert_eq!(import(&there, &export(&keep, None).await).await.settings, 0);
        assert_eq!(own(&there, Some("d")).await, json!({}));
    });
}

/// A small keep with one request, and its export.
async fn small() -> (Keep<MemoryStore>, String) {
    let keep = World::default().tab();
    keep.append("c", vec![Message::user("Hello")]).await.unwrap();
    keep.remember(NewFact::new("Ann prefers tea.")).await.unwrap();
    set(&keep, Some("c"), json!({"policy": "newest"})).await;
    let asked = json!({"encoding": "estimate", "record": true, "model": "m"});
    let id = keep.context_of("c", context_params(asked).unwrap()).await.unwrap().request.unwrap();
    let usage = Usage { prompt_tokens: 7, ..Usage::default() };
    keep.note_answer(&id, Some(usage), "stop").await.unwrap();
    let file = export(&keep, None).await;
    (keep, file)
}

#[test]
fn wrong_settings_and_requests_in_a_file_are_refused_by_name() {
    run(async {
        let (_, file) = small().await;
        let line = |kind: &str| file.lines().find(|line| line.starts_with(&format!("{{\"{kind}\""))).unwrap();
        let (request, settings) = (line("request"), line("settings"));
        let cases = [
            (settings, r#""policy":"newest""#, r#""apiKey":"sk-1""#, "options.apiKey is not known"),
            (settings, r#""policy":"newest""#, r#""baseUrl":"http://evil""#, "options.baseUrl is not known"),
            (settings, r#""policy":"newest""#, r#""render":{"headers":{}}"#, "options.render.headers is not known"),
            (settings, r#""policy":"newest""#, r#""summarizer":"http://evil""#, "options.summarizer"),
            (settings, r#""policy":"newest""#, r#""budget":{"maxTokens":1e300}"#, "options.budget.maxTokens"),
            (settings, r#""policy":"newest""#, r#""encoding":"estimate""#, "options.encoding is not stored"),
            (settings, r#"{"policy":"newest"}"#, "[1]", "settings must be an object"),
            (settings, r#""head":"c""#, r#""head":["c"]"#, "head must be a text"),
            (settings, r#""head":"c""#, r#""head":"""#, "must not be empty"),
            (
                settings,
                r#""policy":"newest""#,
                &format!(r#""systemPrompt":"{}""#, "a".repeat(1 << 20)),
                "at most 1048576 bytes",
            ),
            (
                request,
                r#""promptTokens":7"#,
                r#""promptTokens":18446744073709551615"#,
                "more than 9007199254740992 tokens",
            ),
            (request, r#""promptTokens":7"#, r#""promptTokens":-7"#, "a request cannot be read"),
            (request, r#""promptTokens":7"#, r#""promptTokens":"7""#, "a request cannot be read"),
            (request, r#""sentAt":1"#, r#""sentAt":2"#, "not of its transcript and its time"),
            (
                request,
                r#""sentAt":1"#,
                r#""sentAt":-9223372036854775808,"was":1"#,
                "not of its transcript and its time",
            ),
            (request, r#""messages":1"#, r#""messages":4000000000"#, "more messages than its node"),
            (request, r#""messages":1"#, r#""messages":1,"program":"codex""#, "one that can be made again"),
            (request, r#""hash":""#, r#""hash":"zz"#, "64 hex digits"),
            (request, r#""options":""#, r#""options":"0"#, "its options are missing"),
            (line("requestOptions"), r#""model":"m""#, r#""model":"n""#, "not the hash of their text"),
            (line("requestOptions"), r#""name":""#, r#""name":"0"#, "not the hash of their text"),
        ];
        for (line, from, to, why) in cases {
            let wrong = line.replacen(from, to, 1);
            assert_ne!(wrong, line, "{from}");
            let world = World::default();
            let keep = world.tab();
            let report = import(&keep, &file.replace(line, &wrong)).await;
            assert_eq!(report.added, 1, "the rest comes in");
            assert!(
                report.skipped.iter().any(|it| it.reason.contains(why) && it.place.contains("line ")),
                "{why}: {:?}",
                report.skipped
            );
            let kinds = [line.starts_with("{\"settings"), !line.starts_with("{\"settings")].map(u32::from);
            assert_eq!((report.settings, report.requests), (1 - kinds[0], 1 - kinds[1]), "{why}");
            // What came in can be read.
            keep.context_options(Some("c")).await.unwrap();
            assert_eq!(keep.requests("c", None).await.unwrap().len(), report.requests as usize);
        }
        // A request of a transcript that the file does not have.
        let alone: String =
            [file.lines().next().unwrap(), request, line("requestOptions")].map(|line| format!("{line}\n")).concat();
        let report = import(&World::default().tab(), &alone).await;
        assert_eq!((report.requests, codes(&report)), (0, vec!["bad-request"]));
        // Files of before have neither.
        let old: String = file
            .lines()
            .filter(|line| ![request, settings, line_of(&file)].contains(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let report = import(&World::default().tab(), &old).await;
        assert_eq!((report.added, report.memories, codes(&report)), (1, 1, vec![]));
    });
}

fn line_of(file: &str) -> &str {
    file.lines().find(|line| line.starts_with("{\"requestOptions")).unwrap()
}

#[test]
fn damaged_settings_and_requests_never_end_an_import() {
    run(async {
        let (_, file) = small().await;
        let start = file.find("{\"settings").unwrap();
        let mut seed = 7_u64;
        let mut roll = |sides: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % sides
        };
        for _ in 0..600 {
            let mut bytes = file.clone().into_bytes();
            for _ in 0..1 + roll(4) {
                let at = start + roll(bytes.len() - start);
                match roll(3) {
                    0 => bytes[at] = b"0{}[]\",:-e9z\n"[roll(13)],
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"0{}[]\",:-e9z"[roll(12)]),
                }
            }
            let keep = World::default().tab();
            let source = ("all.threadkeep.jsonl".to_owned(), bytes);
            keep.import(vec![source], None, |_| {}).await.unwrap();
            keep.context_options(Some("c")).await.unwrap();
            for record in keep.requests("c", None).await.unwrap() {
                let _ = keep.request(&record.id).await;
            }
            keep.costs(None, &[]).await.unwrap();
            export(&keep, None).await;
        }
    });
}
