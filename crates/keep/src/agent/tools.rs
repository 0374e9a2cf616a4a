//! The tools that every agent has: of its mailbox, its memory, and what its prompts had no room for.

use std::rc::Rc;

use serde_json::{Map, Value, json};
use threadkeep_core::memory::Source;
use threadkeep_core::provider::ToolSchema;
use threadkeep_store::Store;

use super::Pending;
use super::arguments::{number, text, texts};
use super::turn::Turn;
use crate::KeepError;
use crate::mailbox::{Body, Mail, MailFilter};
use crate::memory::NewFact;

/// The names of the built-in tools.
pub const BUILT_IN: [&str; 7] =
    ["reply", "send", "listMessages", "dismiss", "searchMemory", "readToolResult", "remember"];

/// What an agent with a mailbox is told of it, below its own system prompt.
pub(super) const ABOUT_MAIL: &str = "You have a mailbox. Each message in it has a number. What you say at the end of a turn is \
sent as the reply to the message that you are answering. To respond to a received message yourself, or to say something before \
you are done, use reply() with the message's number (listMessages() shows them; without a number it is the message that you are \
answering), not send(). Use send() only to begin a new conversation. Other agents get only what you reply() or send() to them. Do not \
repeat at the end what you have replied already.";

/// How many messages `listMessages` shows without being told.
const LISTED: usize = 50;
/// How many hits `searchMemory` shows without being told.
const HITS: u64 = 10;

/// The schemas of those built-in tools that are wanted.
pub(super) fn schemas(wanted: &[String]) -> Vec<ToolSchema> {
    let strings = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let message_number = json!({
        "type": "string",
        "description": "The message number (BigInt). SmallCaps: \"+5\".",
    });
    let parts = [
        ("strings", strings("The texts of the message. Mostly there is just one.")),
        (
            "edgeNames",
            strings("What the texts call the things that go along: one stands between each two texts. Mostly empty."),
        ),
        ("petNames", strings("What you call these things; as many as edgeNames.")),
    ];
    let said = |first: &str, schema: Value| {
        let mut properties = Map::new();
        properties.insert(first.to_owned(), schema);
        properties.extend(parts.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
        let required: Vec<&String> = properties.keys().collect();
        json!({ "type": "object", "required": required, "properties": properties })
    };
    let all = [
        (
            "reply",
            "Reply to a message in your inbox, threading the response to the original message. Use this instead of send() \
             when responding to a received message.",
            said("messageNumber", message_number.clone()),
        ),
        (
            "send",
            "Send a message that begins a new conversation. To respond to a message, use reply().",
            said("recipientName", json!({ "type": "string", "description": "To whom." })),
        ),
        (
            "listMessages",
            "List the messages of your mailbox, your own as well, with number, messageId, replyTo, from, to and text.",
            json!({ "type": "object", "properties": {
                "limit": { "type": "integer", "description": "The newest so many; 50 without it." },
                "dismissed": { "type": "boolean", "description": "Whether dismissed messages are listed too." },
            } }),
        ),
        (
            "dismiss",
            "Mark a message as done with.",
            json!({ "type": "object", "required": ["messageNumber"], "properties": { "messageNumber": message_number } }),
        ),
        (
            "searchMemory",
            "Search everything that was ever said or remembered, in all conversations.",
            json!({ "type": "object", "required": ["query"], "properties": {
                "query": { "type": "string", "description": "Words to look for; \"quotes\" for phrases." },
                "limit": { "type": "integer", "description": "How many hits at most; 10 without it." },
            } }),
        ),
        (
            "readToolResult",
            "Read the whole of a tool's result of which your prompt shows only the beginning.",
            json!({ "type": "object", "required": ["path"], "properties": {
                "path": { "type": "string", "description": "The path that stands where the result was cut." },
                "offset": { "type": "integer", "description": "The first character; 0 without it." },
                "length": { "type": "integer", "description": "How many characters; 20000 without it." },
            } }),
        ),
        (
            "remember",
            "Remember a fact for later conversations: a preference, a decision, a constraint.",
            json!({ "type": "object", "required": ["fact"], "properties": {
                "fact": { "type": "string", "description": "The fact, in one sentence that can be understood by itself." },
            } }),
        ),
    ];
    let wanted = all.into_iter().filter(|(name, ..)| wanted.iter().any(|wanted| wanted == name));
    let schema = |(name, description, parameters): (&str, &str, Value)| ToolSchema {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        parameters,
        strict: None,
    };
    wanted.map(schema).collect()
}

impl<S: Store> Turn<'_, S> {
    /// Whether a name is that of a built-in tool which the agent has.
    pub(super) fn has_built_in(&self, name: &str) -> bool {
        self.agent.options.built_in.iter().any(|own| own == name)
    }

    /// Calls a tool. What comes back is for the model, failures as well.
    pub(super) async fn call(&self, pending: &Pending, map: Map<String, Value>) -> Result<Value, String> {
        let name = pending.call.name();
        if !self.has_built_in(name) {
            let call = super::ToolUse {
                id: pending.call.id().to_owned(),
                name: name.to_owned(),
                arguments: map,
                node: self.node.clone(),
            };
            let tools = Rc::clone(&self.agent.tools);
            return tools.call(call).await;
        }
        match name {
            "reply" => {
                let about = match number(&map, "messageNumber")? {
                    Some(number) => {
                        self.agent.keep.mail_or_fail(&self.agent.options.name, number).await.map_err(words)?
                    }
                    None => self.mail.clone().ok_or("name the message to reply to: \"messageNumber\" is missing")?,
                };
                let sent = self.deliver(&format!("call {}", pending.ordinal), body(&map)?, Some(&about), None).await;
                sent.map(|mail| shown(&mail)).map_err(words)
            }
            "send" => {
                let to = text(&map, &["recipientName", "recipient", "to"])?;
                let sent = self.deliver(&format!("call {}", pending.ordinal), body(&map)?, None, Some(to)).await;
                sent.map(|mail| shown(&mail)).map_err(words)
            }
            "listMessages" => {
                let limit = number(&map, "limit")?.map_or(LISTED, |limit| limit.min(1000) as usize);
                let dismissed = map.get("dismissed").and_then(Value::as_bool).unwrap_or_default();
                let filter = MailFilter { limit: Some(limit), dismissed, after: 0 };
                let list = self.agent.keep.list_messages(&self.agent.options.name, &filter).await.map_err(words)?;
                Ok(list.iter().map(shown).collect())
            }
            "dismiss" => {
                let number = number(&map, "messageNumber")?.ok_or("\"messageNumber\" is missing")?;
                let mail = self.agent.keep.dismiss(&self.agent.options.name, number).await.map_err(words)?;
                Ok(shown(&mail))
            }
            "searchMemory" => {
                let limit = number(&map, "limit")?.unwrap_or(HITS).min(100) as usize;
                self.agent.memory.search(text(&map, &["query"])?, limit).await
            }
            "readToolResult" => {
                let path = text(&map, &["path"])?;
                let found = self.agent.memory.tool_result(&self.node, &path).await.map_err(words)?;
                let whole = found.ok_or_else(|| ["there is no tool result at ", path.trim()].concat())?;
                let (from, length) = (number(&map, "offset")?.unwrap_or(0), number(&map, "length")?.unwrap_or(20_000));
                let text = whole.text();
                let most = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
                let part: String = text.chars().skip(most(from)).take(most(length)).collect();
                let all = text.chars().count();
                let end = most(from).saturating_add(part.chars().count()).min(all);
                Ok(json!({ "text": part, "next": (end < all).then_some(end), "characters": all }))
            }
            "remember" => {
                let fact = text(&map, &["fact", "text", "content"])?;
                let transcript = Some(self.transcript.clone());
                let sources = vec![Source { node: self.node.clone(), index: 0 }];
                let new = NewFact { transcript, sources, ..NewFact::new(fact) };
                Ok(json!({ "id": self.agent.memory.remember(new).await.map_err(words)? }))
            }
            other => Err(["there is no tool ", other].concat()),
        }
    }
}

/// Whether calling it twice comes to the same: replies and messages have an id of their turn's own.
pub(super) fn repeatable(name: &str) -> bool {
    BUILT_IN.contains(&name)
}

fn words(error: KeepError) -> String {
    error.to_string()
}

fn body(map: &Map<String, Value>) -> Result<Body, String> {
    let mut strings = texts(map, "strings")?;
    if strings.is_empty() {
        strings
            .extend(["text", "message", "content"].iter().find_map(|name| map.get(*name)?.as_str()).map(str::to_owned));
    }
    // An empty list is a message without words, as the mail tools allow it.
    if strings.is_empty() && map.get("strings").is_none_or(Value::is_null) {
        return Err("the argument \"strings\" is missing: it holds the texts of the message".to_owned());
    }
    Ok(Body { strings, edge_names: texts(map, "edgeNames")?, pet_names: texts(map, "petNames")? })
}

/// A message, as the model sees it.
fn shown(mail: &Mail) -> Value {
    let mut value = mail.to_json();
    if let Some(map) = value.as_object_mut() {
        map.insert("text".to_owned(), mail.body.joined().into());
    }
    value
}
