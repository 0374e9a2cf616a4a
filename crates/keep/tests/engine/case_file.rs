//! Case files: a request goes to another machine as one file, and is made again there.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep::compact::{CompactOptions, Extractive};
use threadkeep::protocol::{CaseReplay, ContextParams, RedactedTexts, Redaction, context_params};
use threadkeep::{Keep, NewFact, replay_case};
use threadkeep_core::{Message, MessageId};
use threadkeep_store::MemoryStore;
use threadkeep_tokens::{Bpe, Encoding};

use crate::{World, code, run};

const KEY: &str = "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2";

fn params(json: Value) -> ContextParams {
    context_params(json).unwrap()
}

fn vocabulary() -> Rc<Bpe> {
    Rc::new(Bpe::embedded(Encoding::O200k))
}

fn replay(file: &str) -> CaseReplay {
    replay_case(file, &[vocabulary()]).unwrap()
}

/// The messages of turn `at`: a question, a call, its result and an answer.
fn turn(at: usize) -> Vec<Message> {
    let id = format!("call-{at}");
    let arguments = json!({"room": format!("cellar {at}"), "deep": at.is_multiple_of(2)}).to_string();
    let list = json!([
        {"role": "user", "content": format!("What of the boiler in house {at}? Größe, 温度, 🙂 and so on.")},
        {"role": "assistant", "content": null, "tool_calls":
            [{"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": id, "content": format!("House {at}: {}", "sixty degrees, key in the box. ".repeat(at % 40))},
        {"role": "assistant", "content": format!("House {at} is warm. The key is {KEY}.")},
    ]);
    serde_json::from_value::<Vec<Value>>(list).unwrap().into_iter().map(|it| Message::from_json(it).unwrap()).collect()
}

/// A thread of 2,000 messages with tools, pins, a checkpoint and memory, and one request of it.
async fn thread(world: &World) -> (Keep<MemoryStore>, String) {
    let keep = world.tab();
    keep.add_vocabulary(vocabulary());
    keep.append("c", vec![Message::system("You look after boilers.")]).await.unwrap();
    let mut nodes: Vec<MessageId> = Vec::new();
    for at in 0..500 {
        keep.append("c", turn(at)).await.unwrap();
        nodes.push(keep.head("c").await.unwrap().unwrap().id);
        if at == 250 {
            keep.compact("c", &CompactOptions::default(), &Extractive).await.unwrap().checkpoint.unwrap();
        }
    }
    for at in [3, 120, 300] {
        keep.pin_node(&nodes[at], true).await.unwrap();
    }
    for fact in ["The boiler of house 7 was sold.", "Ann prefers sixty degrees."] {
        keep.remember(NewFact::new(fact)).await.unwrap();
    }
    keep.append("c", vec![Message::user("And the boiler of house 7?")]).await.unwrap();
    let asked = json!({
        "budget": {"maxTokens": 12000}, "memory": {"facts": 4, "episodes": 2}, "record": true, "systemPrompt": "Say little.",
        "model": "gpt-5-mini", "toolPreview": {"over": 400, "keep": 2},
        "tools": [{"name": "look", "description": "Looks at a room.", "parameters": {"type": "object"}}],
    });
    let reply = keep.context_of("c", params(asked)).await.unwrap();
    let figures = (reply.figures.tokens, reply.over_budget, reply.recalled.len());
    assert!(reply.checkpoint.is_some() && figures.2 > 0 && !figures.1, "{figures:?} {:?}", reply.checkpoint);
    (keep, reply.request.unwrap())
}

#[test]
fn a_request_of_a_long_thread_replays_equal_and_every_change_is_named() {
    run(async {
        let world = World::default();
        let (keep, id) = thread(&world).await;
        let sent = keep.request(&id).await.unwrap();
        assert_eq!(sent.differs, None);
        // What comes later is not in it.
        keep.append("c", turn(900)).await.unwrap();
        let file = keep.case_file(&id, Redaction::default()).await.unwrap();
        assert_eq!(replay(&file).difference, None);
        let case: Value = serde_json::from_str(&file).unwrap();
        assert_eq!((&case["threadkeepCase"], &case["record"]["id"]), (&json!(1), &json!(id)));
        let actions: HashSet<&str> =
            case["context"]["ledger"].as_array().unwrap().iter().filter_map(|line| line["action"].as_str()).collect();
        for action in ["pinned", "previewed", "summarised", "dropped", "injected"] {
            assert!(actions.contains(action), "{action} of {actions:?}");
        }
        assert!(!file.contains("a1B2c3D4") && case["secrets"].as_u64().unwrap() > 100);
        assert!(!file.contains("house 900"));

        // One byte of the prompt, of the ledger, of the history.
        let last = case["context"]["payload"]["messages"].as_array().unwrap().len() - 1;
        let question = file.rfind("And the boiler of house 7?").unwrap();
        let changed = [&file[..question], "Bnd", &file[question + 3..]].concat();
        let difference = replay(&changed).difference.unwrap();
        assert_eq!(difference.path, format!("context.payload.messages[{last}].content"));
        assert_eq!(difference.recorded, json!("Bnd the boiler of house 7?"));
        assert_eq!(difference.rebuilt, json!("And the boiler of house 7?"));
        assert_eq!(difference.ledger_line, None);

        let place = file.find("\"ledger\":").unwrap();
        let place = place + file[place..].find("\"tokensAfter\":").unwrap() + "\"tokensAfter\":".len();
        let digit = if file.as_bytes()[place] == b'9' { "8" } else { "9" };
        let changed = [&file[..place], digit, &file[place + 1..]].concat();
        let difference = replay(&changed).difference.unwrap();
        assert_eq!((difference.path.as_str(), difference.ledger_line), ("context.ledger[0].tokensAfter", Some(0)));
        assert_eq!(replay(&changed).rebuilt.unwrap(), file, "the file as its prompt is made now");

        let early = file.find("What of the boiler in house 9?").unwrap();
        let changed = [&file[..early], "whaT", &file[early + 4..]].concat();
        let difference = replay(&changed).difference.unwrap();
        // A summary stands for it: no prompt shows the change, but the file does.
        assert_eq!(replay(&replay(&changed).rebuilt.unwrap()).difference, None);
        assert!(["hash", "context.ledger"].iter().any(|path| difference.path.starts_with(path)), "{difference:?}");
    });
}

#[test]
fn any_one_byte_that_changes_is_an_error_or_a_difference() {
    run(async {
        let keep = World::default().tab();
        keep.append("c", turn(1)).await.unwrap();
        let own = params(json!({"encoding": "estimate", "budget": {"maxTokens": 500}}));
        let file = keep.case_of("c", own, Redaction::default()).await.unwrap();
        assert_eq!(replay_case(&file, &[]).unwrap().difference, None);
        let vocabularies = [vocabulary(), Rc::new(Bpe::embedded(Encoding::Cl100k))];
        for at in (0..file.len()).step_by(3) {
            let mut bytes = file.clone().into_bytes();
            if !bytes[at].is_ascii_alphanumeric() {
                continue;
            }
            bytes[at] = if bytes[at] == b'5' { b'6' } else { b'5' };
            let changed = String::from_utf8(bytes).unwrap();
            if let Ok(replay) = replay_case(&changed, &vocabularies) {
                assert!(!replay.equal && replay.difference.is_some(), "{at}: {}", &file[at.saturating_sub(20)..at + 1]);
            }
        }
    });
}

#[test]
fn replaced_texts_have_the_same_lengths_and_nearly_the_same_tokens() {
    run(async {
        let (keep, id) = thread(&World::default()).await;
        let plain = keep.case_file(&id, Redaction::default()).await.unwrap();
        let hidden = keep.case_file(&id, Redaction { texts: Some(RedactedTexts::Replaced) }).await.unwrap();
        assert_eq!(replay(&hidden).difference, None);
        for word in ["boiler", "cellar", "degrees", "house", "Größe", "温度", "sold", "little", "Looks"] {
            assert!(plain.contains(word) && !hidden.contains(word), "{word}");
        }
        let [plain, hidden]: [Value; 2] = [plain, hidden].map(|file| serde_json::from_str(&file).unwrap());
        let texts = |case: &Value| -> Vec<String> {
            let lines = case["log"].as_array().unwrap().iter();
            let messages = lines.flat_map(|line| line["node"]["messages"].as_array().cloned().unwrap_or_default());
            messages.filter_map(|it| it["content"].as_str().map(str::to_owned)).collect()
        };
        let (plain_texts, hidden_texts) = (texts(&plain), texts(&hidden));
        assert!(plain_texts.len() >= 1500 && plain_texts.len() == hidden_texts.len());
        let bpe = vocabulary();
        let (mut all, mut off, mut same) = (0, 0, 0);
        for (ours, theirs) in plain_texts.iter().zip(&hidden_texts) {
            assert_eq!(ours.encode_utf16().count(), theirs.encode_utf16().count());
            let (before, after) = (bpe.count(ours) as u64, bpe.count(theirs) as u64);
            all += before;
            off += before.abs_diff(after);
            same += usize::from(before == after);
        }
        eprintln!("{all} tokens, {off} off; {same} of {} texts have as many", plain_texts.len());
        assert!(off * 50 < all, "{off} of {all}");
    });
}

#[test]
fn what_is_no_case_is_refused_by_name() {
    run(async {
        let keep = World::default().tab();
        keep.append("c", turn(1)).await.unwrap();
        let file = keep.case_of("c", ContextParams::default(), Redaction::default()).await;
        assert_eq!(code(file), "vocabulary-missing");
        keep.add_vocabulary(vocabulary());
        let file = keep.case_of("c", ContextParams::default(), Redaction::default()).await.unwrap();
        assert_eq!(code(replay_case(&file, &[])), "vocabulary-missing");
        assert_eq!(code(keep.case_file("none:1", Redaction::default()).await), "bad-request");
        let newer = file.replacen("\"threadkeepCase\":1", "\"threadkeepCase\":2", 1);
        let newer = replay_case(&newer, &[vocabulary()]).unwrap_err().to_string();
        assert!(newer.contains("threadkeepCase") && newer.contains("version 2"), "{newer}");
        for file in ["", "{}", "[]", "{\"threadkeepCase\":1}"] {
            assert_eq!(code(replay_case(file, &[])), "bad-request");
        }
        let broken = file.replacen("{\"seq\":0,\"node\"", "{\"seq\":0,\"knot\"", 1);
        assert!(replay_case(&broken, &[vocabulary()]).unwrap_err().to_string().contains("log[0]"));
    });
}
