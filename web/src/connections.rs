//! Model connections as the page keeps them: a list without keys in localStorage, and what a request carries. Text in, a
//! [`Book`] out, and back. Keys come in from the side and are never part of what is written here, unless sealed by the
//! [vault](../public/vault.js).

use serde_json::{Map, Value};
use threadkeep_provider::Preset;

/// The preset of the browser's own model.
pub const CHROME: &str = "chrome";
/// The preset of the scripted demonstration.
pub const DEMO: &str = "demo";

/// The provider and the model's name of the demonstration.
pub const DEMO_MODEL: &str = "scripted";

/// Which tools a model is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tools {
    /// Those of the memory: searching, remembering, reading long results.
    #[default]
    Memory,
    /// The mailbox too: reply, send, list, dismiss.
    Mailbox,
    /// None: some models fail when they are offered any.
    None,
}

impl Tools {
    /// All of them, with their names and words for them.
    pub const ALL: [(Self, &str, &str); 3] = [
        (Self::Memory, "memory", "Memory: search, remember"),
        (Self::Mailbox, "mailbox", "Memory and mailbox"),
        (Self::None, "none", "None"),
    ];

    /// The one of this name; those of the memory for any other.
    pub fn named(name: &str) -> Self {
        Self::ALL.iter().find(|(_, own, _)| *own == name).map_or(Self::Memory, |(tools, ..)| *tools)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Which of all built-in tools these are.
    pub fn of(self, all: &[&str]) -> Vec<String> {
        let memory = |name: &&&str| matches!(**name, "searchMemory" | "readToolResult" | "remember");
        match self {
            Self::Memory => all.iter().filter(memory).map(|name| (*name).to_owned()).collect(),
            Self::Mailbox => all.iter().map(|name| (*name).to_owned()).collect(),
            Self::None => Vec::new(),
        }
    }
}

/// How to reach a model, without its key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Connection {
    /// Its own name among the connections; never shown.
    pub id: String,
    /// What it was made from: the id of a preset, [`CHROME`] or [`DEMO`].
    pub preset: String,
    /// What the reader calls it.
    pub name: String,
    /// The wire form, such as `openai-chat`.
    pub provider: String,
    /// Where it is.
    pub base_url: String,
    /// The model's name.
    pub model: String,
    /// How many tokens the model's context holds, where the reader says so.
    pub max_context_tokens: Option<u32>,
    /// How many tokens an answer may take, where the reader says so.
    pub max_output_tokens: Option<u32>,
    /// Which tools it is given.
    pub tools: Tools,
    /// Its key, encrypted; none where the key is not kept.
    pub sealed: Option<String>,
}

/// The fields that are texts, by their names on the disk. `sealed` is a text of JSON in JSON.
const TEXTS: [&str; 6] = ["id", "preset", "name", "provider", "baseUrl", "model"];

impl Connection {
    fn texts(&mut self) -> [&mut String; 6] {
        [&mut self.id, &mut self.preset, &mut self.name, &mut self.provider, &mut self.base_url, &mut self.model]
    }

    fn read(value: &Value) -> Option<Self> {
        let mut read = Self::default();
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        for (name, into) in TEXTS.into_iter().zip(read.texts()) {
            *into = text(name)?;
        }
        let count = |name: &str| value.get(name)?.as_u64()?.try_into().ok().filter(|count| *count > 0);
        read.max_context_tokens = count("maxContextTokens");
        read.max_output_tokens = count("maxOutputTokens");
        read.tools = Tools::named(&text("tools").unwrap_or_default());
        read.sealed = text("sealed");
        (!read.id.is_empty()).then_some(read)
    }

    fn fields(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for (name, value) in TEXTS.into_iter().zip(self.clone().texts()) {
            map.insert(name.to_owned(), std::mem::take(value).into());
        }
        map.insert("tools".to_owned(), self.tools.name().into());
        let counts = [("maxContextTokens", self.max_context_tokens), ("maxOutputTokens", self.max_output_tokens)];
        for (name, count) in counts {
            if let Some(count) = count {
                map.insert(name.to_owned(), count.into());
            }
        }
        map
    }

    /// The connection with its key, for the worker: the engine's own form of it.
    pub fn request(&self, key: Option<&str>) -> String {
        let mut map = self.fields();
        map.remove("preset");
        if let Some(key) = key {
            map.insert("apiKey".to_owned(), key.into());
        }
        Value::Object(map).to_string()
    }

    /// Whether it is something of this browser's, which has no address and no key.
    pub fn is_inside(&self) -> bool {
        matches!(self.preset.as_str(), CHROME | DEMO)
    }

    /// The host and port of its address, for showing.
    pub fn host(&self) -> &str {
        let rest = self.base_url.split_once("://").map_or(self.base_url.as_str(), |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    }

    /// A new connection of a preset.
    pub fn of_preset(preset: &Preset, id: String) -> Self {
        Self {
            id,
            preset: preset.id.to_owned(),
            name: if preset.is_custom() { String::new() } else { preset.name.to_owned() },
            provider: preset.provider.name().to_owned(),
            base_url: preset.base_url.to_owned(),
            ..Self::default()
        }
    }

    /// The browser's own model.
    pub fn chrome() -> Self {
        let (id, name) = (CHROME.to_owned(), "Chrome's built-in model".to_owned());
        Self { preset: id.clone(), provider: id.clone(), model: "built-in".to_owned(), id, name, ..Self::default() }
    }

    /// The scripted model.
    pub fn demo() -> Self {
        let (id, model) = (DEMO.to_owned(), DEMO_MODEL.to_owned());
        let name = "Offline demo (scripted)".to_owned();
        Self { preset: id.clone(), provider: model.clone(), model, id, name, ..Self::default() }
    }

    /// Which model it is, and where.
    pub fn place(&self) -> String {
        match self.preset.as_str() {
            DEMO => "no model: it answers from a script".to_owned(),
            CHROME => "in this browser".to_owned(),
            _ => {
                let model = if self.model.is_empty() { "no model chosen" } else { &self.model };
                [model, " at ", self.host()].concat()
            }
        }
    }

    /// What it still lacks.
    pub fn missing(&self) -> Option<&'static str> {
        let url = &self.base_url;
        if !(url.starts_with("https://") || url.starts_with("http://")) || self.host().is_empty() {
            return Some("The address must begin with https:// or http://.");
        }
        if self.host().contains('@') {
            return Some("The address must not hold a name or password.");
        }
        self.model.is_empty().then_some("Choose a model, or write down its name.")
    }
}

/// All connections, and which is in use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Book {
    /// The id of the one in use; empty for none.
    pub chosen: String,
    /// All of them, in the order of making.
    pub list: Vec<Connection>,
}

impl Book {
    /// Reads what [`Self::write`] wrote. What cannot be read is left out.
    pub fn read(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let chosen = value.get("chosen").and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = value.get("list").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Self { chosen, list: list.iter().filter_map(Connection::read).collect() }
    }

    /// As text for localStorage. Keys are in it only where they are sealed.
    pub fn write(&self) -> String {
        let one = |connection: &Connection| {
            let mut map = connection.fields();
            if let Some(sealed) = &connection.sealed {
                map.insert("sealed".to_owned(), sealed.clone().into());
            }
            Value::Object(map)
        };
        let mut map = Map::new();
        map.insert("chosen".to_owned(), self.chosen.clone().into());
        map.insert("list".to_owned(), Value::Array(self.list.iter().map(one).collect()));
        Value::Object(map).to_string()
    }

    /// The one in use.
    pub fn in_use(&self) -> Option<&Connection> {
        self.find(&self.chosen)
    }

    /// The connection of this id.
    pub fn find(&self, id: &str) -> Option<&Connection> {
        self.list.iter().find(|one| one.id == id)
    }

    /// Puts a connection in, in the place of the one with its id. The first one is in use at once.
    pub fn put(&mut self, connection: Connection) {
        if self.in_use().is_none() {
            self.chosen.clone_from(&connection.id);
        }
        match self.list.iter_mut().find(|one| one.id == connection.id) {
            Some(old) => *old = connection,
            None => self.list.push(connection),
        }
    }

    /// Takes a connection out. Where it was in use, none is then: nobody chose another.
    pub fn remove(&mut self, id: &str) {
        self.list.retain(|one| one.id != id);
        if self.chosen == id {
            self.chosen.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(id: &str) -> Connection {
        Connection {
            id: id.into(),
            preset: "ollama".into(),
            name: "My \"own\"".into(),
            provider: "ollama".into(),
            base_url: "http://localhost:11434/v1?x".into(),
            model: "m".into(),
            max_context_tokens: Some(8192),
            max_output_tokens: None,
            tools: Tools::Mailbox,
            sealed: Some("{\"rounds\":600000}".into()),
        }
    }

    #[test]
    fn what_a_connection_lacks() {
        let with = |base_url: &str, model: &str| Connection {
            base_url: base_url.into(),
            model: model.into(),
            ..Connection::default()
        };
        assert_eq!(with("https://api.example/v1", "m").missing(), None);
        assert_eq!(with("api.example", "m").missing(), Some("The address must begin with https:// or http://."));
        assert!(with("https://me:word@api.example", "m").missing().is_some());
        assert_eq!(with("http://localhost", "").missing(), Some("Choose a model, or write down its name."));
    }

    #[test]
    fn where_a_connection_leads() {
        assert_eq!(Connection::demo().place(), "no model: it answers from a script");
        assert_eq!(Connection::chrome().place(), "in this browser");
        assert_eq!(connection("a").place(), "m at localhost:11434");
        assert!(Connection { model: String::new(), ..connection("a") }.place().starts_with("no model chosen at "));
    }

    #[test]
    fn presets_become_connections() {
        for preset in threadkeep_provider::PRESETS {
            let made = Connection::of_preset(&preset, "1".to_owned());
            assert_eq!((made.id.as_str(), made.preset.as_str()), ("1", preset.id));
            assert_eq!(made.name.is_empty(), preset.is_custom());
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut book = Book::default();
        book.put(connection("a"));
        book.put(connection("b"));
        book.put(Connection { name: "other".into(), sealed: None, ..connection("a") });
        assert_eq!((book.chosen.as_str(), book.list.len()), ("a", 2));
        assert_eq!(Book::read(&book.write()), book);
        book.remove("a");
        assert_eq!((book.in_use(), book.list.len()), (None, 1));
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        assert_eq!(Book::read(""), Book::default());
        assert_eq!(Book::read("[1]"), Book::default());
        let odd = r#"{"chosen":3,"list":[7,{"id":""},{"id":"x","preset":"","name":"","provider":"","baseUrl":"","model":"","maxContextTokens":-1}]}"#;
        assert_eq!(Book::read(odd).list, [Connection { id: "x".into(), ..Default::default() }]);
    }

    #[test]
    fn a_request_has_the_key_and_nothing_else_has() {
        let mut book = Book::default();
        book.put(connection("a"));
        let asked: Value = serde_json::from_str(&connection("a").request(Some("sk-1"))).unwrap();
        assert_eq!((&asked["apiKey"], &asked["maxContextTokens"]), (&"sk-1".into(), &8192.into()));
        assert!(asked.get("sealed").is_none() && asked.get("preset").is_none());
        assert!(!connection("a").request(None).contains("apiKey"));
        assert!(!book.write().contains("sk-1"));
    }

    #[test]
    fn tools_have_names() {
        for (at, (tools, name, _)) in Tools::ALL.into_iter().enumerate() {
            assert_eq!((tools as usize, tools.name(), Tools::named(name)), (at, name, tools));
        }
        assert_eq!(Tools::named("?"), Tools::Memory);
        assert_eq!(Tools::Memory.of(&["reply", "remember"]), ["remember"]);
        assert!(Tools::None.of(&["remember"]).is_empty());
    }

    #[test]
    fn a_host_is_shown_with_its_port() {
        assert_eq!(connection("a").host(), "localhost:11434");
        assert_eq!(Connection { base_url: "https://x.example".into(), ..connection("a") }.host(), "x.example");
        assert_eq!(Connection::default().host(), "");
    }
}
