//! The scripted model, and models as summarisers.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;
use threadkeep::compact::{Model as _, ModelRequest};
use threadkeep::model::{Call, Failure, Model, Scripted, Summarising};
use threadkeep_core::Message;
use threadkeep_provider::{Completion, Delta};

fn ask(model: &Scripted) -> (Result<Completion, Failure>, Vec<Delta>) {
    let heard = RefCell::new(Vec::new());
    let call = Call { messages: &[Message::user("How many words?")], payload: &Value::Null, tools: &[] };
    let result = pollster::block_on(model.call(call, &|delta| heard.borrow_mut().push(delta)));
    (result, heard.into_inner())
}

#[test]
fn it_says_what_was_written_and_then_that_it_is_over() {
    let answers =
        [Scripted::calls("I add.", &[("c1", "add", "{}")]), Scripted::with_usage(Scripted::says("Three."), 9, 1)];
    let model = Scripted::of("scripted", answers);
    let (first, heard) = ask(&model);
    assert_eq!(first.unwrap().message.tool_calls[0].id(), "c1");
    let call = Delta::ToolCall { index: 0, name: "add".to_owned(), arguments: "{}".to_owned() };
    assert_eq!(heard, [Delta::Text("I ".to_owned()), Delta::Text("add.".to_owned()), call]);
    assert_eq!(ask(&model).0.unwrap().usage.unwrap().prompt_tokens, 9);
    let over = ask(&model).0.unwrap_err();
    assert!(over.message.contains("nothing more to say"));
}

#[test]
fn it_can_answer_what_was_asked_and_take_its_time() {
    let clock = Rc::new(crate::script::Script::default());
    let model = Scripted::new("scripted", |call: &Call<'_>| {
        let words = call.messages[0].text().split(' ').count();
        Scripted::says(&format!("{words} of them"))
    });
    let (result, heard) = ask(&model.paced(clock.clone(), 10));
    assert_eq!((result.unwrap().message.text().as_ref(), heard.len()), ("3 of them", 3));
    assert_eq!(clock.time.get(), 30);
}

#[test]
fn any_model_serves_a_summariser() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let payloads = seen.clone();
    let model = Scripted::new("scripted", move |call: &Call<'_>| {
        payloads.borrow_mut().push(call.payload.clone());
        if payloads.borrow().len() == 1 {
            return Scripted::says("{\"statements\": []}");
        }
        let message = "There is nothing more.".to_owned();
        Err(Failure { code: "failed".to_owned(), message, partial: None })
    });
    let summarising = Summarising(Rc::new(model));
    assert_eq!(summarising.name(), "scripted");
    let request =
        || ModelRequest { messages: vec![Message::user("Sum up.")], text: String::new(), words: 5, part: 0, parts: 1 };
    let answer = pollster::block_on(summarising.ask(request())).unwrap();
    assert_eq!(answer.text(), "{\"statements\": []}");
    assert_eq!(seen.borrow()[0]["messages"][0]["content"], "Sum up.");
    assert!(pollster::block_on(summarising.ask(request())).unwrap_err().contains("nothing more"));
}
