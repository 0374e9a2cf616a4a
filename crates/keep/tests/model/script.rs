//! A network that follows a script.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use serde_json::{Value, json};
use threadkeep::model::{Body, Call, Connected, Failure, Http, Model, Response, Unsent, Wait};
use threadkeep_core::Message;
use threadkeep_provider::{Completion, Connection, Delta, HttpRequest, Provider, RenderOptions, ToolSchema, render};

/// What happens to one request.
#[derive(Debug, Clone, Default)]
pub struct Event {
    pub status: u16,
    pub headers: Vec<(&'static str, &'static str)>,
    /// What is done one after the other; then the body ends.
    pub body: Vec<Piece>,
    /// The request cannot be sent.
    pub unsent: bool,
    /// Nothing ever comes.
    pub silent: bool,
}

#[derive(Debug, Clone)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// The connection is lost.
    Lost,
    /// Nothing more comes, ever.
    Silence,
    /// Nothing comes for so many milliseconds.
    After(u32),
}

#[derive(Default)]
pub struct Script {
    pub events: RefCell<VecDeque<Event>>,
    pub requests: RefCell<Vec<HttpRequest>>,
    /// Milliseconds that have passed.
    pub time: Rc<Cell<u64>>,
    /// What was waited for between tries.
    pub page: Option<String>,
    pub reached: Option<bool>,
    /// Requests and bodies that are open.
    pub open: Rc<Cell<i32>>,
}

impl Http for Script {
    fn send<'a>(&'a self, request: &'a HttpRequest) -> Wait<'a, Result<Response, Unsent>> {
        Box::pin(async move {
            self.requests.borrow_mut().push(request.clone());
            let event = self.events.borrow_mut().pop_front().expect("a request that the script knows");
            let open = Open::new(&self.open);
            if event.silent {
                std::future::pending::<()>().await;
            }
            if event.unsent {
                return Err(Unsent { reason: "ECONNREFUSED".to_owned() });
            }
            let headers = event.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let body = Pieces { left: event.body.into(), time: self.time.clone(), _open: open };
            Ok(Response { status: event.status, headers, body: Box::new(body) })
        })
    }

    fn sleep(&self, ms: u32) -> Wait<'_, ()> {
        Box::pin(Sleep { time: self.time.clone(), until: self.time.get() + u64::from(ms), polled: false })
    }

    fn random(&self) -> f64 {
        1.0
    }

    fn now(&self) -> i64 {
        1_000_000 + i64::try_from(self.time.get()).unwrap()
    }

    fn page(&self) -> Option<String> {
        self.page.clone()
    }

    fn reaches<'a>(&'a self, _: &'a str) -> Wait<'a, Option<bool>> {
        Box::pin(async { self.reached })
    }
}

/// Counts what is open.
struct Open(Rc<Cell<i32>>);

impl Open {
    fn new(count: &Rc<Cell<i32>>) -> Self {
        count.set(count.get() + 1);
        Self(count.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

struct Pieces {
    left: VecDeque<Piece>,
    time: Rc<Cell<u64>>,
    _open: Open,
}

impl Body for Pieces {
    fn chunk(&mut self) -> Wait<'_, Option<Result<Vec<u8>, Unsent>>> {
        Box::pin(async move {
            loop {
                match self.left.pop_front() {
                    None => return None,
                    Some(Piece::Bytes(bytes)) => return Some(Ok(bytes)),
                    Some(Piece::Lost) => return Some(Err(Unsent { reason: "terminated".to_owned() })),
                    Some(Piece::Silence) => std::future::pending().await,
                    Some(Piece::After(ms)) => {
                        let until = self.time.get() + u64::from(ms);
                        Sleep { time: self.time.clone(), until, polled: false }.await;
                    }
                }
            }
        })
    }
}

/// Time passes when nobody has anything better to do: a sleep that is asked a second time lets its own moment come, unless another
/// came first. Whoever waits for two things asks both in turn, so the earlier one wins.
struct Sleep {
    time: Rc<Cell<u64>>,
    until: u64,
    polled: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        if self.time.get() >= self.until {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        if self.polled {
            // In steps, so that of two sleeps the shorter is over first.
            self.time.set(self.time.get() + 1);
        }
        self.polled = true;
        std::task::Poll::Pending
    }
}

/// A body in one piece.
pub fn ok(body: &str) -> Event {
    Event { status: 200, body: vec![bytes(body)], ..Event::default() }
}

pub fn bytes(text: &str) -> Piece {
    Piece::Bytes(text.as_bytes().to_vec())
}

pub fn status(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Event {
    Event { status, headers: headers.to_vec(), body: vec![bytes(body)], ..Event::default() }
}

/// A delta of OpenAI chat with text.
pub fn said(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}))
}

pub const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub struct Asked {
    pub result: Result<Completion, Failure>,
    pub heard: Vec<Delta>,
    pub script: Rc<Script>,
}

impl Asked {
    pub fn failure(&self) -> &Failure {
        self.result.as_ref().unwrap_err()
    }

    pub fn text(&self) -> String {
        self.result.as_ref().unwrap().message.text().into_owned()
    }

    /// The number and the wait of each try after the first.
    pub fn retries(&self) -> Vec<(u32, u32)> {
        let retry =
            |delta: &Delta| if let Delta::Retry { attempt, wait, .. } = delta { Some((*attempt, *wait)) } else { None };
        self.heard.iter().filter_map(retry).collect()
    }
}

pub fn connection(more: Value) -> Connection {
    let mut value = json!({"provider": "openai-chat", "baseUrl": "https://api.example/v1", "model": "m-1", "apiKey": "sk-secret-5"});
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Connection::from_json(&value).unwrap()
}

/// Asks a model whose requests go as `events` say.
pub fn ask(events: Vec<Event>) -> Asked {
    ask_with(Script { events: RefCell::new(events.into()), ..Script::default() }, json!({}))
}

pub fn ask_with(script: Script, more: Value) -> Asked {
    let script = Rc::new(script);
    let model = Connected::new(connection(more), script.clone());
    let heard = RefCell::new(Vec::new());
    let result = pollster::block_on(async {
        let payload = payload(&model);
        let tools = tools();
        let call = Call { messages: &[], payload: &payload, tools: &tools };
        model.call(call, &|delta| heard.borrow_mut().push(delta)).await
    });
    assert_eq!(script.open.get(), 0, "nothing stays open");
    if let Err(failure) = &result {
        assert!(!failure.message.contains("sk-secret-5"), "{failure}");
    }
    Asked { result, heard: heard.into_inner(), script }
}

pub fn tools() -> Vec<ToolSchema> {
    vec![ToolSchema { name: "add".to_owned(), description: None, parameters: Value::Null, strict: None }]
}

pub fn payload(model: &Connected) -> Value {
    let options = RenderOptions { model: Some(model.name().to_owned()), tools: tools(), ..RenderOptions::default() };
    let provider: Provider = model.provider();
    render(&[&Message::user("Hello?")], provider, &options).payload
}
