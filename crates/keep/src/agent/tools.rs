//! What the built-in tools do: with the mailbox, the memory, and what prompts had no room for.

use std::rc::Rc;

use serde_json::{Map, Value, json};
use threadkeep_store::Store;

use super::arguments::{number, text, texts};
use super::built_in::READ;
use super::turn::Turn;
use super::{MemoryQuery, Pending};
use crate::KeepError;
use crate::mailbox::{Body, Mail, MailFilter};

/// How many messages `listMessages` shows without being told.
const LISTED: usize = 50;
/// How many hits `searchMemory` shows without being told.
const HITS: u64 = 10;

impl<S: Store> Turn<'_, S> {
    /// Whether a name is that of a built-in tool which the agent has.
    pub(super) fn has_built_in(&self, name: &str) -> bool {
        self.agent.has_built_in(name, &self.needed.borrow())
    }

    /// Offers a built-in tool for the rest of the turn. Gives whether that is new: a tool of the host keeps its name.
    pub(super) fn need(&self, name: &'static str) -> bool {
        let new = self.agent.lacks(name, &self.needed.borrow());
        if new {
            self.needed.borrow_mut().push(name);
        }
        new
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
                let agent = self.agent.options.name.clone();
                self.agent.memory.search(MemoryQuery { agent, query: text(&map, &["query"])?, limit }).await
            }
            READ => {
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
            "remember" => self.remember(text(&map, &["fact", "text", "content"])?).await,
            other => Err(["there is no tool ", other].concat()),
        }
    }
}

pub(super) fn words(error: KeepError) -> String {
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
