//! Answers about mailboxes.

use serde_json::Value;
use threadkeep_store::Store;

use crate::protocol::{Body, ListMessages, Mail, MailFilter, MailRequest, Outgoing};
use crate::{Keep, KeepError};

impl<S: Store> Keep<S> {
    /// Answers one request about mailboxes. A response to a change means that the change is durable.
    ///
    /// # Errors
    /// [`KeepError`]; nothing was stored then.
    pub async fn mailing(&self, request: MailRequest) -> Result<Value, KeepError> {
        Ok(match request {
            MailRequest::Send { from, to, strings, edge_names, pet_names, reply_to, message_id, conversation } => {
                let body = Body { strings, edge_names, pet_names };
                let mail = Outgoing { from, to, body, reply_to, message_id, conversation, ..Outgoing::default() };
                self.send(mail).await?.to_json()
            }
            MailRequest::Reply { party, number, strings, edge_names, pet_names } => {
                self.reply(&party, number.into(), Body { strings, edge_names, pet_names }).await?.to_json()
            }
            MailRequest::ListMessages(ListMessages { party, after, limit, dismissed }) => {
                let filter = MailFilter {
                    after: after.unwrap_or_default().into(),
                    limit: limit.map(|limit| limit as usize),
                    dismissed: dismissed.unwrap_or_default(),
                };
                self.list_messages(&party, &filter).await?.iter().map(Mail::to_json).collect()
            }
            MailRequest::Mail { party, number } => {
                self.mail(&party, number.into()).await?.as_ref().map(Mail::to_json).into()
            }
            MailRequest::Dismiss { party, number } => self.dismiss(&party, number.into()).await?.to_json(),
            MailRequest::Parties => self.parties().await?.into(),
            MailRequest::CollectDismissed { party } => self.collect_dismissed(&party, None).await?.into(),
        })
    }
}
