//! Transcripts of every shape that agents leave behind, made from bytes: the same bytes, the same transcript. Property
//! tests and the fuzz target share it, so that what one finds the other can replay.

use serde_json::{Map, Value, json};
use threadkeep_core::{Content, Kind, Message, Part, Role, ToolCall};

/// Reads choices from bytes; zeros after their end.
pub struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n
    }

    fn done(&self) -> bool {
        self.0.len() == 0
    }
}

const WORDS: [&str; 12] = [
    "plan",
    "the file",
    "naïve",
    "東京",
    "🙂",
    "ok",
    "<|endoftext|>",
    "\n\n",
    "x = 1;",
    "a longer piece of text to say",
    "\u{301}",
    "",
];

fn words(from: &mut Choices) -> String {
    let count = from.below(6);
    (0..count).map(|_| WORDS[from.below(WORDS.len())]).collect::<Vec<_>>().join(" ")
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// A transcript in the making.
#[derive(Default)]
struct Maker {
    messages: Vec<Message>,
    /// Calls as messages have them, newest last: id, and whether it is a content part.
    calls: Vec<(String, bool)>,
    made: usize,
}

impl Maker {
    fn id(&mut self, from: &mut Choices) -> String {
        self.made += 1;
        match from.below(8) {
            // Ids that are used again, by agents that count from zero in each turn.
            0 => "call_0".to_owned(),
            1 if !self.calls.is_empty() => self.calls[from.below(self.calls.len())].0.clone(),
            _ => format!("call/{}", self.made),
        }
    }

    fn say(&mut self, message: Message) {
        self.messages.push(message);
    }

    fn calls(&mut self, from: &mut Choices) {
        let mut message =
            Message::new(Role::Assistant, [Content::Null, Content::Absent, words(from).into()][from.below(3)].clone());
        for _ in 0..=from.below(4) {
            let id = self.id(from);
            self.calls.push((id.clone(), false));
            message.tool_calls.push(ToolCall::function(id, "look", "{\"at\":1}"));
        }
        if from.below(4) == 0 {
            message.reasoning = Some(words(from));
        }
        self.say(message);
    }

    /// An answer to one of the last calls, whichever.
    fn result(&mut self, from: &mut Choices) {
        if self.calls.is_empty() {
            return;
        }
        let back = from.below(self.calls.len().min(5));
        let id = self.calls[self.calls.len() - 1 - back].0.clone();
        let text = if from.below(8) == 0 { "long output ".repeat(400) } else { words(from) };
        let mut message = Message::tool(id, text);
        message.is_error = from.below(6) == 0;
        self.say(message);
    }

    fn parts(&mut self, role: Role, parts: Vec<Value>) {
        self.say(Message::new(role, Content::Parts(parts.into_iter().map(|part| Part(object(part))).collect())));
    }

    fn part_calls(&mut self, from: &mut Choices) {
        let mut parts = vec![json!({"type": "text", "text": words(from)})];
        for _ in 0..=from.below(2) {
            let id = self.id(from);
            self.calls.push((id.clone(), true));
            parts.push(json!({"type": "tool_use", "id": id, "name": "look", "input": {}}));
        }
        self.parts(Role::Assistant, parts);
    }

    fn part_results(&mut self, from: &mut Choices) {
        let ids: Vec<String> = self.calls.iter().rev().take(1 + from.below(3)).map(|(id, _)| id.clone()).collect();
        let mut parts: Vec<Value> = ids
            .into_iter()
            .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": words(from)}]}))
            .collect();
        if from.below(3) == 0 {
            parts.push(json!({"type": "text", "text": "and go on"}));
        }
        self.parts(Role::User, parts);
    }

    fn server_tool(&mut self, from: &mut Choices) {
        let id = format!("srvtoolu_{}", self.made);
        self.made += 1;
        let call = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}});
        let result = json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []});
        let text = json!({"type": "text", "text": "found"});
        match from.below(4) {
            0 | 1 => self.parts(Role::Assistant, vec![call, result, text]),
            2 => {
                self.parts(Role::Assistant, vec![call]);
                self.parts(Role::Assistant, vec![result, text]);
            }
            _ => self.parts(Role::Assistant, vec![text, call]),
        }
    }

    fn odd(&mut self, from: &mut Choices) {
        match from.below(10) {
            0 => self.say(Message::tool(format!("nobody_{}", self.made), "an orphan")),
            1 => self.say(Message::new(Role::Tool, "a result without an id")),
            2 => {
                let mut message = Message::assistant("");
                message.tool_calls.push(ToolCall::function("", "look", "{}"));
                message.tool_calls.push(ToolCall::function("", "look", "{}"));
                self.say(message);
            }
            3 => {
                let mut message = Message::assistant(Content::Null);
                message.tool_calls.push(ToolCall::function("twice", "look", "{}"));
                message.tool_calls.push(ToolCall::function("twice", "look", "{}"));
                self.calls.push(("twice".into(), false));
                self.say(message);
            }
            4 => self.say(Message::assistant("")),
            5 => {
                let mut thought = Message::assistant(Content::Null);
                thought.reasoning = Some("let me see".into());
                self.say(thought);
            }
            6 => {
                let mut failed = Message::assistant(words(from));
                failed.kind = Kind::Error { code: "LLM_ERROR".into(), reason: "timeout".into() };
                if from.below(2) == 0 {
                    let id = self.id(from);
                    failed.tool_calls.push(ToolCall::function(id, "look", "{\"at\":"));
                }
                self.say(failed);
            }
            7 => {
                let mut search = Message::assistant("found it");
                search
                    .extra
                    .insert("output".into(), json!([{"type": "web_search_call", "id": "ws_1", "status": "completed"}]));
                self.say(search);
            }
            8 => self.say(Message::new(Role::Other("critic".into()), words(from))),
            _ => self.part_results(from),
        }
    }

    fn step(&mut self, from: &mut Choices) {
        match from.below(16) {
            0 | 1 => {
                let text = words(from);
                self.say(Message::user(text));
            }
            2 | 3 => {
                let text = words(from);
                self.say(Message::assistant(text));
            }
            4..=6 => self.calls(from),
            7..=10 => self.result(from),
            11 => self.part_calls(from),
            12 => self.part_results(from),
            13 => self.server_tool(from),
            14 => {
                let text = words(from);
                self.say(Message::system(text));
            }
            _ => self.odd(from),
        }
        let last = self.messages.last_mut();
        match (from.below(24), last) {
            (0, Some(last)) => last.pinned = true,
            (1, Some(last)) => last.include_in_context = false,
            _ => {}
        }
    }
}

/// The transcript that some bytes make.
pub fn transcript(from: &mut Choices) -> Vec<Message> {
    let mut maker = Maker::default();
    if from.below(2) == 0 {
        maker.say(Message::system("be brief"));
    }
    while !from.done() && maker.messages.len() < 400 {
        maker.step(from);
    }
    maker.messages
}

/// What is wrong with the pairs of calls and results in a prompt; nothing where every call is answered directly behind
/// the message that makes it, and every answer has its call.
pub fn unpaired<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Option<String> {
    let mut pending: Vec<String> = Vec::new();
    // Calls that the model's own server answers, in the same message or the next of the model.
    let mut server: Vec<String> = Vec::new();
    let mut paused = false;
    for (at, message) in messages.into_iter().enumerate() {
        let parts = if let Content::Parts(parts) = &message.content { parts.as_slice() } else { &[] };
        let field = |part: &Part, name: &str| part.0.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut answers: Vec<String> = Vec::new();
        if message.role == Role::Tool {
            answers.push(message.tool_call_id.clone().unwrap_or_default());
        }
        let assistant = message.role == Role::Assistant;
        // Only the model calls; what another role has in these fields is passed over by every provider's form.
        let own = if assistant { message.tool_calls.as_slice() } else { &[] };
        let mut calls: Vec<String> = own.iter().map(|call| call.id().to_owned()).collect();
        if message.role != Role::Tool {
            for part in parts {
                let kind = part.kind();
                if kind == "server_tool_use" && assistant {
                    server.push(field(part, "id"));
                } else if kind == "tool_use" && assistant {
                    calls.push(field(part, "id"));
                } else if kind == "tool_result" || kind.ends_with("_tool_result") {
                    let id = field(part, "tool_use_id");
                    match server.iter().position(|call| *call == id).filter(|_| assistant) {
                        Some(at) => drop(server.remove(at)),
                        None => answers.push(id),
                    }
                }
            }
        }
        // The server's code can wait for a tool of the client's: its result comes first, then the server goes on.
        paused = !server.is_empty() && (assistant || paused && message.role == Role::Tool);
        if answers.is_empty() && !pending.is_empty() {
            return Some(format!("message {at} stands between calls {pending:?} and their results"));
        }
        for id in answers {
            let open = pending.iter().position(|call| *call == id);
            let open_server = server.iter().position(|call| *call == id);
            match (open, open_server) {
                (Some(at), _) => drop(pending.remove(at)),
                // A server's call that was aborted gets its result as a tool message.
                (None, Some(at)) => drop(server.remove(at)),
                (None, None) => return Some(format!("message {at} answers {id:?}, which nothing calls")),
            }
        }
        if calls.iter().any(String::is_empty) {
            return Some(format!("message {at} has a call without an id"));
        }
        pending.extend(calls);
    }
    // At the very end the turn was paused, and the server goes on with it.
    if !paused {
        pending.extend(server);
    }
    (!pending.is_empty()).then(|| format!("nothing answers {pending:?}"))
}
