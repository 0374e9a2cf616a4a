//! Everything that goes wrong on the way.

use std::cell::RefCell;

use serde_json::json;
use threadkeep_provider::Delta;

use crate::script::{Asked, END, Event, Piece, Script, ask, ask_with, bytes, ok, said, status};

fn body(pieces: Vec<Piece>) -> Event {
    Event { status: 200, body: pieces, ..Event::default() }
}

fn partial(asked: &Asked) -> String {
    asked.failure().partial.as_ref().map(|message| message.text().into_owned()).unwrap_or_default()
}

#[test]
fn a_stream_cut_in_the_middle_keeps_what_was_said() {
    let event = said("two ");
    for last in [vec![], vec![Piece::Lost]] {
        let mut pieces = vec![bytes(&said("One ")), bytes(&event[..event.len() / 2])];
        pieces.extend(last);
        let asked = ask(vec![body(pieces)]);
        assert_eq!((asked.failure().code.as_str(), partial(&asked).as_str()), ("cut-off", "One "));
        assert!(asked.retries().is_empty(), "what was heard is not asked for again");
    }
}

#[test]
fn a_stream_cut_before_anything_was_said_is_asked_for_again() {
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n";
    let asked =
        ask(vec![body(vec![bytes(role), Piece::Lost]), body(vec![Piece::Lost]), ok(""), ok(&(said("Yes.") + END))]);
    assert_eq!(asked.text(), "Yes.");
    assert_eq!(asked.retries(), [(2, 500), (3, 1000), (4, 2000)]);
}

#[test]
fn silence_ends() {
    let script = |event: Event| Script { events: RefCell::new(vec![event].into()), ..Script::default() };
    for event in
        [Event { silent: true, ..Event::default() }, body(vec![Piece::Silence]), body(vec![Piece::After(5000)])]
    {
        let asked = ask_with(script(event), json!({"timeoutMs": 2000}));
        assert_eq!(asked.failure().code, "stalled");
        assert!(asked.failure().message.contains("within 2 s"), "{}", asked.failure());
        assert!((2000..2100).contains(&asked.script.time.get()), "{}", asked.script.time.get());
    }
    let asked = ask_with(script(body(vec![bytes(&said("One")), Piece::Silence])), json!({"timeoutMs": 2000}));
    assert_eq!((asked.failure().code.as_str(), partial(&asked).as_str()), ("stalled", "One"));
    // A minute, where nobody says.
    let asked = ask(vec![Event { silent: true, ..Event::default() }]);
    assert!((60_000..60_100).contains(&asked.script.time.get()));
}

#[test]
fn too_many_requests_and_failures_of_the_provider_pass() {
    let asked = ask(vec![
        status(429, &[("retry-after", "2")], "{\"error\":{\"message\":\"slow\"}}"),
        status(529, &[("retry-after-ms", "700")], ""),
        status(503, &[("Retry-After", "Thu, 01 Jan 1970 00:16:45 GMT")], "<html>"),
        ok(&(said("Yes.") + END)),
    ]);
    assert_eq!(asked.text(), "Yes.");
    // The date is five seconds after the script's beginning, of which 2.7 have passed.
    let retries = asked.retries();
    assert_eq!(retries[..2], [(2, 2000), (3, 700)]);
    assert!((2200..=2300).contains(&retries[2].1), "{retries:?}");
    let Delta::Retry { reason, .. } = &asked.heard[0] else { panic!("{:?}", asked.heard) };
    assert!(reason.contains("slow"), "{reason}");
}

#[test]
fn the_waits_are_really_waited() {
    let asked = ask(vec![status(500, &[], ""), ok(&(said("Yes.") + END))]);
    assert_eq!(asked.retries(), [(2, 500)]);
    assert!((500..600).contains(&asked.script.time.get()));
}

#[test]
fn four_tries_and_no_more() {
    let asked = ask((0..4).map(|_| status(500, &[], "{\"error\":\"it broke\"}")).collect());
    assert_eq!(asked.retries(), [(2, 500), (3, 1000), (4, 2000)]);
    let words = &asked.failure().message;
    assert!(words.contains("it broke") && words.contains("Tried 4 times"), "{words}");
    assert_eq!(asked.script.requests.borrow().len(), 4);
}

#[test]
fn an_hour_is_too_long_to_wait() {
    let asked = ask(vec![status(429, &[("retry-after", "3600")], "")]);
    assert!(asked.retries().is_empty());
    assert!(
        asked.failure().code == "rate-limited" && asked.failure().message.contains("60 min"),
        "{}",
        asked.failure()
    );
}

#[test]
fn what_does_not_pass_is_not_tried_again() {
    for (number, code) in
        [(400, "refused"), (401, "unauthorized"), (403, "unauthorized"), (404, "not-found"), (413, "too-long")]
    {
        let asked = ask(vec![status(number, &[], "{\"error\":{\"message\":\"Bad key sk-secret-5\"}}")]);
        assert_eq!((asked.failure().code.as_str(), asked.script.requests.borrow().len()), (code, 1));
    }
}

#[test]
fn errors_inside_a_stream() {
    let error = "data: {\"error\":{\"message\":\"Overloaded\",\"code\":529}}\n\n";
    let asked = ask(vec![ok(error), ok(&(said("Yes.") + END))]);
    assert_eq!(
        (asked.text().as_str(), asked.retries().len()),
        ("Yes.", 1),
        "before anything was heard it is tried again"
    );
    let asked = ask(vec![ok(&(said("One") + error))]);
    assert_eq!(
        (asked.failure().code.as_str(), partial(&asked).as_str(), asked.retries().len()),
        ("overloaded", "One", 0)
    );
}

#[test]
fn garbage_and_pages() {
    for (text, words) in [
        ("<html><title>Sign in</title></html>", "Sign in"),
        ("data: {oops\n\n", "oops"),
        ("hello", "hello"),
        ("data: {}\n\n", "{}"),
    ] {
        let asked = ask(vec![ok(text)]);
        assert_eq!(asked.failure().code, "bad-answer", "{text}");
        assert!(asked.failure().message.contains(words), "{}", asked.failure());
    }
    let asked = ask(vec![ok(&(said("One") + "data: oops\n\n" + END))]);
    assert_eq!((asked.failure().code.as_str(), partial(&asked).as_str()), ("bad-answer", "One"));
}

#[test]
fn wrong_usage_and_malformed_arguments_are_no_failures() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":\"x\"}}\n\n";
    let asked = ask(vec![ok(&(said("Yes.") + &END.replace("data: [DONE]", &(usage.to_owned() + "data: [DONE]"))))]);
    assert_eq!(asked.result.as_ref().unwrap().usage, None);
    assert!(asked.heard.iter().any(|delta| matches!(delta, Delta::Warning(words) if words.contains("usage"))));
    let call = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"add\",\"arguments\":\"{a: \"}}]}}]}\n\n";
    let asked = ask(vec![ok(&(call.to_owned() + END))]);
    assert_eq!(asked.result.unwrap().message.tool_calls[0].arguments(), "{a: ");
}

#[test]
fn nobody_there_is_said_at_once_on_this_machine_and_tried_again_elsewhere() {
    let gone = || Event { unsent: true, ..Event::default() };
    let script = Script { events: RefCell::new(vec![gone()].into()), ..Script::default() };
    let asked = ask_with(script, json!({"baseUrl": "http://localhost:1234/v1"}));
    assert_eq!((asked.failure().code.as_str(), asked.retries().len()), ("unreachable", 0));
    assert!(
        asked.failure().message.contains("LM Studio") && asked.failure().message.contains("ECONNREFUSED"),
        "{}",
        asked.failure()
    );
    let asked = ask(vec![gone(), ok(&(said("Yes.") + END))]);
    assert_eq!((asked.text().as_str(), asked.retries().len()), ("Yes.", 1));
}

#[test]
fn a_browser_that_does_not_let_the_page_ask() {
    let ask_from = |page: &str, base: &str, reached: bool| {
        let events = RefCell::new(vec![Event { unsent: true, ..Event::default() }].into());
        let script = Script { events, page: Some(page.to_owned()), reached: Some(reached), ..Script::default() };
        ask_with(script, json!({"baseUrl": base}))
    };
    let cors = ask_from("https://page.example", "http://localhost:11434/v1", true);
    assert_eq!((cors.failure().code.as_str(), cors.retries().len()), ("blocked", 0));
    assert!(cors.failure().message.contains("OLLAMA_ORIGINS=https://page.example"), "{}", cors.failure());
    let gone = ask_from("https://page.example", "http://localhost:11434/v1", false);
    assert_eq!(gone.failure().code, "unreachable");
    let mixed = ask_from("https://page.example", "http://192.168.0.9/v1", false);
    assert!(mixed.failure().code == "blocked" && mixed.failure().message.contains("https"), "{}", mixed.failure());
}

#[test]
fn after_each_fault_the_next_turn_works() {
    let faults = [
        body(vec![bytes(&said("One ")), Piece::Lost]),
        ok("data: {oops\n\n"),
        status(400, &[], ""),
        Event { silent: true, ..Event::default() },
        ok(&(said("One") + "data: {\"error\":\"no\"}\n\n")),
    ];
    for fault in faults {
        let script = std::rc::Rc::new(Script::default());
        script.events.borrow_mut().extend([fault, ok(&(said("Yes.") + END))]);
        let model =
            threadkeep::model::Connected::new(crate::script::connection(json!({"timeoutMs": 50})), script.clone());
        let payload = crate::script::payload(&model);
        let ask = || {
            let call = threadkeep::model::Call { messages: &[], payload: &payload, tools: &[] };
            pollster::block_on(threadkeep::model::Model::call(&model, call, &|_| {}))
        };
        assert!(ask().is_err());
        assert_eq!(ask().unwrap().message.text(), "Yes.");
        assert_eq!(script.open.get(), 0);
    }
}

#[test]
fn a_redirect_is_not_followed_and_says_where_it_points() {
    let cases = [
        ("https://evil.example/v1/chat?key=sk-secret-5#x", "https://evil.example/v1/chat (307)"),
        ("https://user:word@evil.example", "https://evil.example (307)"),
        ("//evil.example/sk-secret-5", "//evil.example/… (307)"),
        ("/v2/chat", "https://api.example/v2/chat (307)"),
    ];
    for (location, shown) in cases {
        let asked = ask(vec![status(307, &[("location", location)], "")]);
        let failure = asked.failure();
        assert_eq!(failure.code, "refused", "{failure}");
        assert!(failure.message.contains(shown), "{failure}");
        assert!(!failure.message.contains("secret") && !failure.message.contains("word@"), "{failure}");
        assert!(asked.retries().is_empty());
    }
    // Browsers tell nothing of a redirect.
    let asked = ask(vec![status(0, &[], "")]);
    assert!(asked.failure().message.contains("redirects to another address."), "{}", asked.failure());
}

#[test]
fn an_answer_that_never_ends_ends_at_a_limit() {
    let script = |body: Vec<Piece>| Script {
        events: RefCell::new(vec![Event { status: 200, body, ..Event::default() }].into()),
        ..Script::default()
    };
    // In bytes.
    let endless = vec![bytes(&said("More. ")); 200];
    let asked = ask_with(script(endless.clone()), json!({"limits": {"bytes": 1000}}));
    assert_eq!(asked.failure().code, "bad-answer");
    assert!(asked.failure().message.contains("1000 bytes (`limits.bytes`)"), "{}", asked.failure());
    assert!(partial(&asked).starts_with("More. More. "), "what was said stays");
    // In calls, and in their arguments.
    let call = |at: u64, arguments: &str| {
        let call = json!({"index": at, "id": format!("c{at}"), "function": {"name": "add", "arguments": arguments}});
        bytes(&format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [call]}}]})))
    };
    let calls: Vec<Piece> = (0..5).map(|at| call(at, "{}")).chain([bytes(END)]).collect();
    let asked = ask_with(script(calls.clone()), json!({"limits": {"calls": 4}}));
    assert!(asked.failure().message.contains("4 tool calls (`limits.calls`)"), "{}", asked.failure());
    assert!(ask_with(script(calls), json!({"limits": {"calls": 5}})).result.is_ok());
    let arguments: Vec<Piece> = (0..50).map(|_| call(0, "1234567890")).collect();
    let asked = ask_with(script(arguments), json!({"limits": {"argumentBytes": 100}}));
    assert!(asked.failure().message.contains("100 bytes of arguments (`limits.argumentBytes`)"), "{}", asked.failure());
    // In time, though something always comes.
    let slow: Vec<Piece> = endless.into_iter().flat_map(|piece| [Piece::After(100), piece]).collect();
    let asked = ask_with(script(slow), json!({"timeoutMs": 1000, "limits": {"millis": 3000}}));
    assert_eq!(asked.failure().code, "stalled");
    assert!(asked.failure().message.contains("within 3 s (`limits.millis`)"), "{}", asked.failure());
    assert!((3000..3200).contains(&asked.script.time.get()), "{}", asked.script.time.get());
}

#[test]
fn comments_that_keep_the_connection_open_are_no_answer() {
    let comments = || (0..100).flat_map(|_| [Piece::After(300), bytes(": keep-alive\n\n")]);
    let script = |body: Vec<Piece>| Script {
        events: RefCell::new(vec![Event { status: 200, body, ..Event::default() }].into()),
        ..Script::default()
    };
    let asked = ask_with(script(comments().collect()), json!({"timeoutMs": 2000}));
    assert_eq!(asked.failure().code, "stalled");
    assert!(asked.failure().message.contains("within 2 s"), "{}", asked.failure());
    assert!((2000..2400).contains(&asked.script.time.get()), "{}", asked.script.time.get());
    // Between two pieces, they do no harm.
    let answer = comments().take(8).chain([bytes(&(said("Yes.") + END))]).collect();
    assert_eq!(ask_with(script(answer), json!({"timeoutMs": 2000})).text(), "Yes.");
}
