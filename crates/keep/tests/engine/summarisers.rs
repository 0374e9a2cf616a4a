//! Models as summarisers: what they are asked, what becomes of what they answer, and of what they fail at. And cancelling.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use serde_json::json;
use threadkeep::Keep;
use threadkeep::compact::{Cancel, CompactOptions, Model, ModelRequest, ModelSummariser, Reply};
use threadkeep::protocol::Counting;
use threadkeep_compaction::Reason;
use threadkeep_compaction::memory::FactKind;
use threadkeep_context::tokens::{Counter, Estimate};
use threadkeep_core::checkpoint::Strategy;
use threadkeep_core::{Message, MessageId};
use threadkeep_store::{MemoryStore, Scan, Store};

use crate::{World, code, run};

/// What a model answers; nothing for one that never does.
type Script = dyn Fn(&ModelRequest) -> Option<Result<Message, String>>;

/// A model that answers as the test says, and remembers what it was asked.
struct Scripted {
    limit: u32,
    answer: Box<Script>,
    asked: RefCell<Vec<ModelRequest>>,
    /// Whether its time is over at once.
    late: Cell<bool>,
}

impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn input_tokens(&self) -> u32 {
        self.limit
    }

    fn ask(&self, request: ModelRequest) -> Reply<'_> {
        let answer = (self.answer)(&request);
        self.asked.borrow_mut().push(request);
        match answer {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }

    fn time_out(&self) -> Option<Pin<Box<dyn Future<Output = ()> + '_>>> {
        if self.late.get() { Some(Box::pin(std::future::ready(()))) } else { None }
    }
}

fn model(answer: impl Fn(&ModelRequest) -> Option<Result<Message, String>> + 'static) -> Rc<Scripted> {
    Rc::new(Scripted { limit: 24_000, answer: Box::new(answer), asked: RefCell::default(), late: Cell::new(false) })
}

fn says(text: &str) -> Rc<Scripted> {
    let text = text.to_owned();
    model(move |_| Some(Ok(Message::assistant(text.clone()))))
}

fn estimated() -> CompactOptions {
    CompactOptions { encoding: Counting::Estimate, ..CompactOptions::default() }
}

/// Eight turns, with something to be remembered in the first.
async fn talked(keep: &Keep<MemoryStore>) {
    let filler = "and so that it is worth a summary there are quite some more words to it than that alone would take";
    for at in 1..=8 {
        let said = if at == 1 { "Always answer in French." } else { "Go on with the next part of the work." };
        let question = Message::user(format!("{said} Step {at}, {filler}."));
        keep.append("chat", vec![question, Message::assistant(format!("Part {at} is done, {filler}."))]).await.unwrap();
    }
}

async fn stored(world: &World) -> Vec<(String, Vec<u8>)> {
    world.store.scan(&Scan::prefix("")).await.unwrap()
}

const ANSWER: &str = r#"{"episodic_summary": "Four parts were done.", "tags": ["parts"], "salience": 0.6,
    "statements": [{"text": "Parts 1 to 4 are done.", "sources": [2, 4, 6, 8]}],
    "semantic_facts": [{"fact": "Answers are in French.", "kind": "preference", "confidence": 0.9, "sources": [1]}]}"#;

#[test]
fn a_models_json_becomes_the_summary_bare_fenced_and_among_words() {
    for answer in [ANSWER.to_owned(), format!("```json\n{ANSWER}\n```"), format!("Here it is: {ANSWER} Anything else?")]
    {
        let world = World::default();
        let keep = world.tab();
        run(async {
            talked(&keep).await;
            let asked = says(&answer);
            let done = keep.compact("chat", &estimated(), &ModelSummariser::new(asked.clone())).await.unwrap();
            let checkpoint = done.checkpoint.clone().unwrap();
            assert_eq!(checkpoint.summariser, "scripted");
            assert_eq!(checkpoint.statements.len(), 1);
            assert_eq!(checkpoint.statements[0].text, "Parts 1 to 4 are done.");
            assert_eq!(checkpoint.statements[0].sources.len(), 4);
            assert_eq!(done.episodes[0].summary, "Four parts were done.");
            assert_eq!(
                (done.facts[0].fact.as_str(), done.facts[0].kind),
                ("Answers are in French.", FactKind::Preference)
            );
            assert_eq!(done.warnings, Vec::<String>::new());
            // The cost is that of the requests themselves.
            let asked = asked.asked.borrow();
            let count = |message: &Message| u64::from(Estimate.count(&message.text()));
            assert_eq!(done.cost.calls, 1);
            assert_eq!(done.cost.input_tokens, asked[0].messages.iter().map(count).sum::<u64>());
            assert_eq!(done.cost.output_tokens, count(&Message::assistant(answer)));
            assert!(done.tokens_saved() > 0);
            assert!(asked[0].messages[1].text().contains("[1] user: Always answer in French."));
            assert!(asked[0].text.starts_with("[1] user: ") && !asked[0].text.contains("<conversation>"));
        });
    }
}

#[test]
fn a_long_history_is_asked_in_parts_that_fit_the_model() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        talked(&keep).await;
        let mut small = model(|request| {
            let text = format!(r#"{{"statements": ["Part {} of {}."]}}"#, request.part + 1, request.parts);
            Some(Ok(Message::assistant(text)))
        });
        Rc::get_mut(&mut small).unwrap().limit = 650;
        let done = keep.compact("chat", &estimated(), &ModelSummariser::new(small.clone())).await.unwrap();
        let asked = small.asked.borrow();
        assert!(asked.len() > 1);
        for request in asked.iter() {
            let tokens: u32 = request.messages.iter().map(|message| Estimate.count(&message.text())).sum();
            assert!(tokens <= 650, "{tokens}");
        }
        let all: String = asked.iter().map(|request| request.text.as_str()).collect();
        assert!((1..=4).all(|at| all.contains(&format!("Step {at},")) && all.contains(&format!("Part {at} is"))));
        assert_eq!(done.cost.calls as usize, asked.len());
        assert_eq!(done.checkpoint.unwrap().statements.len(), asked.len());
    });
}

#[test]
fn what_a_model_fails_at_is_made_by_the_extractive_summariser_with_a_warning() {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    let call = Message::from_json(call).unwrap();
    let long = format!(r#"{{"statements": ["{}"]}}"#, "so many words that nothing is gained ".repeat(60));
    let as_text = r#"{"statements": ["<tool_call>look</tool_call>"]}"#;
    let late = model(|_| None);
    late.late.set(true);
    let cases = [
        (model(|_| Some(Err("no connection".to_owned()))), "no connection"),
        (late, "took too long"),
        (says("  "), "is empty"),
        (says("I cannot do that."), "no JSON object"),
        (model(move |_| Some(Ok(call.clone()))), "called a tool"),
        (says(as_text), "calls tools"),
        (says(&long), "what it would replace"),
    ];
    for (asked, why) in cases {
        let world = World::default();
        let keep = world.tab();
        run(async {
            talked(&keep).await;
            let before = stored(&world).await;
            // Strictly, it is an error, and nothing is stored.
            let strict = ModelSummariser::new(asked.clone()).strict();
            let failed = keep.compact("chat", &estimated(), &strict).await;
            assert!(failed.as_ref().unwrap_err().to_string().contains(why), "{why}: {failed:?}");
            assert_eq!(code(failed), "summariser-failed");
            assert_eq!(stored(&world).await, before);
            let done = keep.compact("chat", &estimated(), &ModelSummariser::new(asked)).await.unwrap();
            assert!(done.warnings.len() == 1 && done.warnings[0].contains(why), "{why}: {:?}", done.warnings);
            let checkpoint = done.checkpoint.unwrap();
            assert_eq!(checkpoint.summariser, "extractive");
            assert!(checkpoint.message().unwrap().text().contains("Always answer in French."));
            assert_eq!(done.cost.calls, 1);
            assert_eq!(keep.checkpoints("chat").await.unwrap(), [checkpoint]);
        });
    }
}

#[test]
fn a_models_summary_that_is_too_long_is_cut_with_a_warning() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        talked(&keep).await;
        let lines: Vec<String> = (0..12).map(|at| format!("Statement {at} says a thing or two.")).collect();
        let asked = says(&json!({ "statements": lines }).to_string());
        let how = CompactOptions { summary_tokens: Some(100), ..estimated() };
        let done = keep.compact("chat", &how, &ModelSummariser::new(asked)).await.unwrap();
        let checkpoint = done.checkpoint.unwrap();
        assert!(checkpoint.statements.len() < 12 && checkpoint.tokens_after <= 100, "{checkpoint:?}");
        assert_eq!(checkpoint.summariser, "scripted");
        assert!(done.warnings[0].contains("were asked for"), "{:?}", done.warnings);
    });
}

#[test]
fn a_compaction_is_cancelled_while_its_model_is_waited_for_and_the_request_stays() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        talked(&keep).await;
        keep.request_compaction("chat").await.unwrap();
        let before = stored(&world).await;
        let (cancel, waiting) = (Cancel::default(), model(|_| None));
        let how = CompactOptions { cancel: Some(cancel.clone()), ..estimated() };
        let summariser = ModelSummariser::new(waiting.clone());
        let mut going = Box::pin(keep.compact("chat", &how, &summariser));
        let mut context = Context::from_waker(Waker::noop());
        assert!(going.as_mut().poll(&mut context).is_pending());
        assert_eq!(waiting.asked.borrow().len(), 1);
        cancel.cancel();
        // It ends, although the model never answers.
        let Poll::Ready(ended) = going.as_mut().poll(&mut context) else { panic!("it still waits") };
        assert_eq!(code(ended), "cancelled");
        assert_eq!(stored(&world).await, before);
        assert_eq!(keep.compaction_required("chat").await.unwrap(), Some(Reason::Manual));
        // A handle that was used ends the next one before it begins.
        assert_eq!(code(keep.compact("chat", &how, &summariser).await), "cancelled");
        assert_eq!(waiting.asked.borrow().len(), 1);
        drop(going);
    });
}

#[test]
fn the_strategy_of_a_head_is_stored_with_the_head() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        talked(&keep).await;
        assert_eq!(code(keep.set_strategy("nobody", Some(Strategy::Hierarchical)).await), "missing-thread");
        assert_eq!(keep.strategy("chat").await.unwrap(), None);
        keep.set_strategy("chat", Some(Strategy::SlidingWindow)).await.unwrap();
        // After a restart.
        let again = world.tab();
        assert_eq!(again.strategy("chat").await.unwrap(), Some(Strategy::SlidingWindow));
        let asked = says(ANSWER);
        let done = again.compact("chat", &estimated(), &ModelSummariser::new(asked.clone())).await.unwrap();
        assert_eq!(done.checkpoint.unwrap().strategy, Strategy::SlidingWindow);
        assert_eq!(asked.asked.borrow().len(), 0);
        // What a call says comes first, and changes nothing of the head's.
        talked(&again).await;
        let how = CompactOptions { strategy: Some(Strategy::Summarize), ..estimated() };
        let done = again.compact("chat", &how, &ModelSummariser::new(asked)).await.unwrap();
        assert_eq!(done.checkpoint.unwrap().strategy, Strategy::Summarize);
        assert_eq!(again.strategy("chat").await.unwrap(), Some(Strategy::SlidingWindow));
        // It comes along into another transcript, and into an export.
        let other = again.append("other", vec![Message::user("hi")]).await.unwrap();
        again.set_head("chat", &other[0].id).await.unwrap();
        assert_eq!(again.strategy("chat").await.unwrap(), Some(Strategy::SlidingWindow));
        let mut archive = String::new();
        again.export(None, |piece| archive.push_str(&piece)).await.unwrap();
        let restored = World::default().tab();
        restored.import(vec![("a.jsonl".to_owned(), archive.into_bytes())], None, |_| {}).await.unwrap();
        assert_eq!(restored.strategy("chat").await.unwrap(), Some(Strategy::SlidingWindow));
        // It is taken back, and goes with the head.
        again.set_strategy("other", Some(Strategy::Hierarchical)).await.unwrap();
        again.set_strategy("other", None).await.unwrap();
        assert_eq!(again.strategy("other").await.unwrap(), None);
        again.fork("chat", "fork", None).await.unwrap();
        again.clear("chat").await.unwrap();
        again.set_head("chat", &other[0].id).await.unwrap();
        assert_eq!(world.tab().strategy("chat").await.unwrap(), None);
    });
}

#[test]
fn a_pending_request_survives_a_restart_and_does_not_fire_twice() {
    use threadkeep_compaction::{Policy, PolicyOptions};
    let world = World::default();
    let policy = Policy::resolve(&PolicyOptions::default(), &PolicyOptions::default(), None);
    let much = Some(policy.input_budget() + 1);
    run(async {
        let keep = world.tab();
        talked(&keep).await;
        assert_eq!(keep.after_response("chat", much, &policy).await.unwrap(), Some(Reason::OverBudget));
        let before = stored(&world).await;
        // The same again writes nothing.
        assert_eq!(keep.after_response("chat", much, &policy).await.unwrap(), Some(Reason::OverBudget));
        assert_eq!(stored(&world).await, before);
        let again = world.tab();
        assert_eq!(again.compaction_required("chat").await.unwrap(), Some(Reason::OverBudget));
        again.compact("chat", &estimated(), &ModelSummariser::new(says(ANSWER))).await.unwrap().checkpoint.unwrap();
        let third = world.tab();
        assert_eq!(third.compaction_required("chat").await.unwrap(), None);
        assert_eq!(third.after_response("chat", much, &policy).await.unwrap(), None);
        third.append("chat", vec![Message::user("more")]).await.unwrap();
        assert_eq!(third.after_response("chat", much, &policy).await.unwrap(), Some(Reason::OverBudget));
    });
}

/// A kill between any two commits of a compaction: the request is there, or the checkpoint is, and never both.
#[test]
fn a_request_is_settled_in_the_commit_that_stores_its_checkpoint() {
    let world = World::default();
    let keep = world.tab();
    run(async {
        talked(&keep).await;
        keep.request_compaction("chat").await.unwrap();
        let before = stored(&world).await;
        keep.compact("chat", &estimated(), &ModelSummariser::new(says(ANSWER))).await.unwrap().checkpoint.unwrap();
        let after = stored(&world).await;
        let asked = |all: &[(String, Vec<u8>)]| {
            let record = all.iter().find(|(key, _)| key == "c//chat").unwrap();
            String::from_utf8(record.1.clone()).unwrap()
        };
        assert_eq!(asked(&before), r#"{"pending":"manual"}"#);
        assert!(asked(&after).starts_with(r#"{"settled":""#), "{}", asked(&after));
        // A preview settles nothing.
        keep.request_compaction("chat").await.unwrap();
        let preview = CompactOptions { preview: true, ..estimated() };
        let nothing = keep.compact("chat", &preview, &ModelSummariser::new(says(ANSWER))).await.unwrap();
        assert_eq!(nothing.checkpoint, None);
        assert_eq!(keep.compaction_required("chat").await.unwrap(), Some(Reason::Manual));
    });
}

#[test]
fn requests_go_with_what_they_were_for() {
    let world = World::default();
    let keep = world.tab();
    let asked = || async {
        let all = stored(&world).await;
        all.into_iter().map(|(key, _)| key).filter(|key| key.starts_with("c/")).collect::<Vec<_>>()
    };
    run(async {
        talked(&keep).await;
        let leaf = keep.head("chat").await.unwrap().unwrap();
        let up = MessageId::new(leaf.parent.unwrap().as_str()).unwrap();
        for at in ["chat", up.as_str()] {
            keep.request_compaction(at).await.unwrap();
            assert_eq!(keep.compaction_required(at).await.unwrap(), Some(Reason::Manual), "{at}");
        }
        assert_eq!(asked().await.len(), 2);
        // A node that is a head's by its id, too, is another request.
        assert_eq!(keep.compaction_required(leaf.id.as_str()).await.unwrap(), None);
        keep.delete_branch(&up).await.unwrap();
        assert_eq!(asked().await, ["c//chat"]);
        assert_eq!(code(keep.compaction_required(up.as_str()).await), "missing-node");
        keep.clear("chat").await.unwrap();
        assert_eq!(asked().await, Vec::<String>::new());
        talked(&keep).await;
        let leaf = keep.head("chat").await.unwrap().unwrap();
        keep.request_compaction("chat").await.unwrap();
        keep.request_compaction(leaf.parent.unwrap().as_str()).await.unwrap();
        keep.delete_transcript(&leaf.transcript).await.unwrap();
        assert_eq!(asked().await, Vec::<String>::new());
    });
}

#[test]
fn a_preview_with_a_model_says_what_it_would_send_and_sends_nothing() {
    let keep = World::default().tab();
    run(async {
        talked(&keep).await;
        for strategy in Strategy::ALL {
            let asked = says(ANSWER);
            let options = CompactOptions { strategy: Some(strategy), preview: true, ..estimated() };
            let preview = keep.compact("chat", &options, &ModelSummariser::new(Rc::clone(&asked) as _)).await.unwrap();
            assert!(asked.asked.borrow().is_empty(), "{strategy:?} asked the model");
            assert_eq!(keep.checkpoints("chat").await.unwrap(), []);
            // A window that slides has nothing summarised.
            let Some(sending) = preview.would_send else {
                assert_eq!(strategy, Strategy::SlidingWindow);
                assert!(preview.checkpoint.is_some());
                continue;
            };
            assert_eq!((sending.to.as_str(), sending.requests, sending.messages), ("scripted", 1, 8));
            assert_eq!((preview.checkpoint, preview.compacted_range), (None, 0..8));
            assert!(preview.tokens_after < preview.tokens_before);
            // It says of its only request what that then is.
            let other = World::default().tab();
            talked(&other).await;
            let options = CompactOptions { preview: false, ..options };
            let done = other.compact("chat", &options, &ModelSummariser::new(Rc::clone(&asked) as _)).await.unwrap();
            assert_eq!(done.cost.input_tokens, sending.tokens, "{strategy:?}");
            assert_eq!(done.would_send, None);
        }
        // Our own rules send nothing, so a preview shows what they make.
        let options = CompactOptions { preview: true, ..estimated() };
        let own = keep.compact("chat", &options, &threadkeep::compact::Extractive).await.unwrap();
        assert!(own.would_send.is_none() && own.checkpoint.is_some());
    });
}
