//! The tool calls of an answer: carried out side by side, each result stored as it comes.

use std::collections::HashMap;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{Map, Value};
use threadkeep_core::Message;
use threadkeep_core::message::{DURATION, ToolCall};
use threadkeep_store::Store;

use super::built_in::READ;
use super::turn::Turn;
use super::{AgentEvent, Pending, arguments, schema};
use crate::KeepError;
use crate::compact::unless;

impl<S: Store> Turn<'_, S> {
    /// Calls tools, all at once, and stores each result as it comes.
    pub(super) async fn use_tools(&self, open: Vec<Pending>, resumed: bool) -> Result<(), KeepError> {
        for Pending { call, .. } in &open {
            // It was offered in this turn, before an interruption.
            if resumed && call.name() == READ {
                self.need(READ);
            }
            self.tell(AgentEvent::Calling {
                node: self.node.clone(),
                call: call.id().to_owned(),
                name: call.name().to_owned(),
                arguments: call.arguments().to_owned(),
            });
        }
        // Each call stores its own result. If the loop stored it, another call could hold a lock of the engine meanwhile, and nobody would
        // let it go on.
        let schemas = self.agent.tools.schemas();
        let by_name: HashMap<&str, &Value> =
            schemas.iter().map(|tool| (tool.name.as_str(), &tool.parameters)).collect();
        let use_tool = |pending| self.use_tool(pending, &by_name, resumed);
        let mut working: FuturesUnordered<_> = open.iter().map(use_tool).collect();
        while let Some(stored) = working.next().await {
            stored?;
        }
        Ok(())
    }

    /// Calls a tool and stores its result. A stop ends the call, and is its result.
    async fn use_tool(
        &self,
        pending: &Pending,
        schemas: &HashMap<&str, &Value>,
        resumed: bool,
    ) -> Result<(), KeepError> {
        let (call, name) = (&pending.call, pending.call.name());
        // Calling a built-in tool twice comes to the same: replies and messages have an id of their turn's own.
        let again = self.has_built_in(name) || self.agent.tools.repeatable(name);
        let arguments: Result<Map<String, Value>, String> = if resumed && !again {
            Err("interrupted: the program ended before a result was kept; the call may or may not have been carried out".into())
        } else {
            let read = arguments::object(call.arguments());
            // Built-in tools read theirs as tolerantly as models write them.
            match schemas.get(name).filter(|_| !self.has_built_in(name)) {
                Some(schema) => read.and_then(|arguments| schema::fit(arguments, schema)),
                None => read,
            }
        };
        let began = self.agent.keep.now();
        let mut took = None;
        let result = match arguments {
            Ok(arguments) => {
                let done = unless(Some(&self.cancel), Box::pin(self.call(pending, arguments))).await;
                took = u64::try_from(self.agent.keep.now() - began).ok();
                done.unwrap_or_else(|_| Err("cancelled".to_owned()))
            }
            Err(wrong) => Err(wrong),
        };
        self.called(call, result, took).await
    }

    async fn called(&self, call: &ToolCall, result: Result<Value, String>, took: Option<u64>) -> Result<(), KeepError> {
        let (text, is_error) = match result {
            Ok(Value::String(text)) => (text, false),
            Ok(value) => (value.to_string(), false),
            Err(error) => (error, true),
        };
        let name = Some(call.name().to_owned()).filter(|name| !name.is_empty());
        let mut message = Message { is_error, name, ..Message::tool(call.id(), text.clone()) };
        message.extra.extend(took.map(|took| (DURATION.to_owned(), took.into())));
        self.add(message).await?;
        self.tell(AgentEvent::Called {
            node: self.node.clone(),
            call: call.id().to_owned(),
            name: call.name().to_owned(),
            result: text,
            is_error,
            duration: took,
        });
        Ok(())
    }
}
