//! The next request of an agent, before anybody sends a message: what a message would make it send to its model.

use serde_json::{Value, json};
use threadkeep_core::Message;
use threadkeep_provider::ToolSchema;
use threadkeep_store::Store;

use super::how::How;
use super::turn::{body_of, shows_previews};
use super::{Agent, built_in};
use crate::compact::Cancel;
use crate::mailbox::Outgoing;
use crate::protocol::ContextReply;
use crate::{Coming, KeepError};

/// A request that a message would bring about.
#[derive(Debug, Clone, PartialEq)]
pub struct NextRequest {
    /// Its prompt, with the ledger.
    pub context: ContextReply,
    /// Its body, as the endpoint would get it.
    pub body: Value,
    /// Whether the history would be compacted first. The body is then another one, since a summary takes the place of old messages.
    pub compacts: bool,
}

impl NextRequest {
    /// It as JSON: `{context, body, compacts}`.
    pub fn to_json(&self) -> Value {
        json!({ "context": self.context.to_json(), "body": self.body, "compacts": self.compacts })
    }
}

impl<S: Store> Agent<S> {
    /// The first request that a message of the agent's user would bring about, if it came now. Nothing is stored, and the model is not
    /// asked. Of the message only the text, [`Outgoing::reply_to`] and [`Outgoing::conversation`] count.
    ///
    /// # Errors
    /// `vocabulary-missing`; the store's.
    pub async fn next_request(&self, mail: &Outgoing) -> Result<NextRequest, KeepError> {
        let conversation = mail.conversation.as_deref();
        let above = self.place_of(mail.reply_to.as_ref(), conversation).await?;
        let transcript = above.as_ref().map(|above| &above.transcript);
        let settings = self.memory.settings(transcript, conversation).await?;
        let text = mail.body.joined();
        let recalled = self.recall(conversation, &text).await;
        let coming =
            Coming { above: above.map(|above| above.id), system: self.system_prompt(), message: Message::user(text) };
        let cancel = Cancel::default();
        let mut needed = Vec::new();
        let (how, context) = loop {
            let how = How::of(self, &settings, self.schemas(&needed), recalled.as_deref(), &cancel);
            let context = self.memory.context_after(&coming, &how.options).await?;
            if !shows_previews(&context) || !self.lacks(built_in::READ, &needed) {
                break (how, context);
            }
            needed.push(built_in::READ);
        };
        let due = match &coming.above {
            Some(above) => self.memory.compaction_required(above).await?.is_some(),
            None => false,
        };
        let compacts = how.compact.is_some() && (due || context.over_budget);
        let body = body_of(self.model.dialect().as_ref(), &context);
        Ok(NextRequest { context, body, compacts })
    }

    /// The tools of a request, with the built-in ones that a turn needs beside its own.
    pub(super) fn schemas(&self, needed: &[&'static str]) -> Vec<ToolSchema> {
        let mut schemas = built_in::schemas(&|name| self.has_built_in(name, needed));
        schemas.extend(self.tools.schemas());
        schemas
    }

    /// Whether a name is that of a built-in tool which a request has.
    pub(super) fn has_built_in(&self, name: &str, needed: &[&'static str]) -> bool {
        self.options.built_in.iter().any(|own| own == name) || needed.contains(&name)
    }

    /// Whether a request has no tool of this name.
    pub(super) fn lacks(&self, name: &str, needed: &[&'static str]) -> bool {
        !self.has_built_in(name, needed) && !self.tools.schemas().iter().any(|tool| tool.name == name)
    }

    /// What the memory service remembers that answers a message, if there is a service.
    pub(super) async fn recall(&self, conversation: Option<&str>, query: &str) -> Option<String> {
        self.service.as_ref()?.recall(conversation?, query).await
    }
}
