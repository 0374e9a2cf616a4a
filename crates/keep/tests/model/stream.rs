//! Answers that come as they should.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Poll;

use serde_json::{Value, json};
use threadkeep::model::{Call, Connected, Model};
use threadkeep_provider::{Delta, Finish};

use crate::script::{END, Event, Piece, Script, ask, ask_with, bytes, connection, ok, payload, said};

#[test]
fn an_answer_is_heard_as_it_comes() {
    let answer = said("Good ") + &said("dåy.") + END;
    // A byte at a time, each a while after the other.
    let body = answer.bytes().flat_map(|byte| [Piece::After(2), Piece::Bytes(vec![byte])]).collect();
    let asked = ask(vec![Event { status: 200, body, ..Event::default() }]);
    assert_eq!(asked.text(), "Good dåy.");
    assert_eq!(asked.heard, [Delta::Text("Good ".to_owned()), Delta::Text("dåy.".to_owned())]);
    let request = &asked.script.requests.borrow()[0];
    let sent: Value = serde_json::from_str(request.body.as_ref().unwrap()).unwrap();
    assert_eq!(
        (request.url.as_str(), &sent["stream"], &sent["model"]),
        ("https://api.example/v1/chat/completions", &json!(true), &json!("m-1"))
    );
    assert!(request.headers.contains(&("authorization".to_owned(), "Bearer sk-secret-5".to_owned())));
}

#[test]
fn a_connection_that_stays_open_or_breaks_behind_the_end_does_no_harm() {
    let end = said("Yes.") + END;
    for last in [Piece::Silence, Piece::Lost] {
        let asked = ask(vec![Event { status: 200, body: vec![bytes(&end), last.clone()], ..Event::default() }]);
        assert_eq!(asked.text(), "Yes.");
        // Also where `[DONE]` is missing.
        let end = end.replace("data: [DONE]\n\n", "");
        let asked = ask(vec![Event { status: 200, body: vec![bytes(&end), last], ..Event::default() }]);
        assert_eq!(asked.text(), "Yes.");
    }
}

#[test]
fn calls_written_into_the_text_are_calls_of_offered_tools() {
    let asked = ask(vec![ok(&(said("<tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>") + END))]);
    let completion = asked.result.unwrap();
    assert_eq!((completion.message.tool_calls[0].name(), completion.finish), ("add", Finish::ToolCalls));
    assert!(completion.message.tool_calls[0].id().starts_with("call_"));
}

#[test]
fn a_small_pause_is_no_stall() {
    let body =
        vec![Piece::After(900), bytes(&said("a")), Piece::After(900), bytes(&said("b")), Piece::After(900), bytes(END)];
    let script = Script {
        events: RefCell::new(vec![Event { status: 200, body, ..Event::default() }].into()),
        ..Script::default()
    };
    assert_eq!(ask_with(script, json!({"timeoutMs": 1000})).text(), "ab");
}

#[test]
fn dropping_the_answer_closes_everything() {
    let body = vec![bytes(&said("One")), Piece::Silence];
    let script = Rc::new(Script {
        events: RefCell::new(vec![Event { status: 200, body, ..Event::default() }].into()),
        ..Script::default()
    });
    let model = Connected::new(connection(json!({})), script.clone());
    let payload = payload(&model);
    let heard = Cell::new(0);
    let count = |_| heard.set(heard.get() + 1);
    let mut answer = model.call(Call { messages: &[], payload: &payload, tools: &[] }, &count);
    pollster::block_on(std::future::poll_fn(|context| {
        assert!(answer.as_mut().poll(context).is_pending());
        if heard.get() > 0 { Poll::Ready(()) } else { Poll::Pending }
    }));
    assert_eq!(script.open.get(), 1);
    drop(answer);
    assert_eq!(script.open.get(), 0);
}

#[test]
fn models_are_listed() {
    let list = |events: Vec<Event>| {
        let script = Rc::new(Script { events: RefCell::new(events.into()), ..Script::default() });
        pollster::block_on(Connected::new(connection(json!({"model": ""})), script).models())
    };
    let listed = list(vec![ok("{\"data\": [{\"id\": \"a\", \"context_length\": 5}, {\"id\": \"b\"}]}")]).unwrap();
    assert_eq!((listed.len(), listed[0].max_context_tokens), (2, Some(5)));
    assert_eq!(list(vec![ok("<html>")]).unwrap_err().code, "bad-answer");
    assert_eq!(list(vec![Event { status: 401, ..Event::default() }]).unwrap_err().code, "unauthorized");
    assert_eq!(list(vec![Event { unsent: true, ..Event::default() }]).unwrap_err().code, "unreachable");
}

#[test]
fn without_a_model_nothing_is_sent() {
    let asked = ask_with(Script::default(), json!({"model": ""}));
    assert_eq!(asked.failure().code, "not-found");
    assert!(asked.failure().message.contains("choose one"));
}

#[test]
fn an_answer_that_says_nothing_is_remarked_upon() {
    let script = Script { events: RefCell::new(vec![ok(END)].into()), ..Script::default() };
    let asked = ask_with(script, json!({"baseUrl": "http://localhost:1234/v1"}));
    assert_eq!(asked.text(), "");
    assert!(
        matches!(&asked.heard[..], [Delta::Warning(words)] if words.contains("longer than the context")),
        "{:?}",
        asked.heard
    );
}
