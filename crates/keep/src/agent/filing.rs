//! Files the messages of an agent's mailbox: each gets a node in a chain. Filing a message again, in any program, finds the same node.

use threadkeep_core::{Message, MessageId, Role, TranscriptId};
use threadkeep_store::Store;

use super::{Agent, Heard, Held, built_in};
use crate::log::Log;
use crate::mailbox::{Mail, MailFilter, node_of};
use crate::origin::sender_line;
use crate::protocol::{Inbound, NodeInfo};
use crate::route::Arrival;
use crate::{Keep, KeepError};

/// Where a message of the mailbox is.
pub(super) enum Filed {
    /// In a new node, which has no answer yet.
    New(NodeInfo),
    /// In a node whose turn was begun before and has not ended.
    Begun(NodeInfo),
    /// In a node whose turn is over, or nowhere: it wants no answer.
    Done(Option<NodeInfo>),
}

impl<S: Store> Agent<S> {
    /// Claims the turn of a message and gives it its place in a chain, below a turn that is over. Gives the claim, if there is a turn.
    pub(super) async fn claim_and_file(
        &self,
        mail: Mail,
        heard: Heard<'_>,
    ) -> Result<(Option<Held>, Filed), KeepError> {
        if !self.wants_turn(&mail) {
            return Ok((None, self.file(mail, None).await?));
        }
        let own = self.inbound_id(&mail).await?;
        let held = self.claims.hold(&own).await?;
        loop {
            // A message that has its place is at the end of its conversation itself: there is nothing above to wait for.
            let place = match self.keep.node(&own).await? {
                Some(_) => None,
                None => self.place_of(&mail).await?,
            };
            // The claim on the turn above is held until this message stands below it: nobody carries that on meanwhile.
            let _above = match &place {
                Some(above) => self.settled(above, heard).await?,
                None => None,
            };
            match self.file(mail.clone(), place.as_ref()).await {
                // Another program has moved the conversation on.
                Err(KeepError::HeadMoved(_)) => continue,
                filed => return Ok((Some(held), filed?)),
            }
        }
    }

    /// Gives a message its place without waiting for the turn above: what a person says is stored at once.
    pub(super) async fn file_now(&self, mail: Mail) -> Result<Filed, KeepError> {
        loop {
            let above = self.place_of(&mail).await?;
            match self.file(mail.clone(), above.as_ref()).await {
                Err(KeepError::HeadMoved(_)) => continue,
                filed => return filed,
            }
        }
    }

    /// Waits until the turn of a node is over, or interrupted. Gives the claim on it, if it can be interrupted.
    pub(super) async fn settled(&self, node: &NodeInfo, heard: Heard<'_>) -> Result<Option<Held>, KeepError> {
        if node.sealed {
            return Ok(None);
        }
        let held = self.claims.hold(&node.id).await?;
        if self.options.resume
            && let Some(open) = self.interrupted().await?.iter().find(|open| open.id == node.id)
        {
            self.carry_out(open, true, heard).await?;
        }
        Ok(Some(held))
    }

    /// Whether a message is to be answered. Failures of others are not, or two agents would tell each other of theirs for ever.
    fn wants_turn(&self, mail: &Mail) -> bool {
        mail.from != self.options.name && !mail.is_error
    }

    /// The node below which a message comes: that of the message that it answers, else the end of its conversation.
    async fn place_of(&self, mail: &Mail) -> Result<Option<NodeInfo>, KeepError> {
        if let Some(about) = &mail.reply_to
            && let Some(node) = self.keep.node(about).await?
        {
            return Ok(Some(node));
        }
        match &mail.conversation {
            Some(name) => self.keep.head(name).await,
            None => Ok(None),
        }
    }

    /// Gives a message of the mailbox its place in a chain. `above` is where it was found to belong.
    pub(super) async fn file(&self, mail: Mail, above: Option<&NodeInfo>) -> Result<Filed, KeepError> {
        if mail.from == self.options.name {
            self.observe(&mail).await?;
            return Ok(Filed::Done(None));
        }
        if !self.wants_turn(&mail) {
            return Ok(Filed::Done(None));
        }
        let id = self.inbound_id(&mail).await?;
        match self.keep.node(&id).await? {
            Some(node) if node.sealed => Ok(Filed::Done(Some(node))),
            Some(node) => {
                self.note(None, Some(&node.id), None).await?;
                Ok(Filed::Begun(node))
            }
            None if mail.dismissed.is_some() => Ok(Filed::Done(None)),
            None => {
                let arrival = Arrival {
                    role: Role::User,
                    extra: self.opening(&id),
                    head: mail.conversation.clone(),
                    above: above.map(|above| above.id.clone()),
                };
                Ok(Filed::New(self.keep.receive_as(self.inbound(&mail, id), arrival).await?))
            }
        }
    }

    /// Notes a message that this agent sent, so that a reply to it continues the same chain. A message that answers nothing begins a
    /// transcript of its own.
    pub(super) async fn observe(&self, mail: &Mail) -> Result<(), KeepError> {
        let id = &mail.message_id;
        if self.keep.node(id).await?.is_some() {
            return Ok(());
        }
        let Some(reply_to) = &mail.reply_to else {
            let said = Inbound {
                message_id: Some(id.clone()),
                from: Some(mail.from.clone()),
                system_prompt: self.system_prompt(),
                ..Inbound::new(mail.body.joined())
            };
            let node = self.keep.receive_as(said, Arrival::of(Role::Assistant)).await?;
            return self.keep.seal(&node.id).await.map(drop);
        };
        let node = mail.node.as_ref().unwrap_or(reply_to);
        if self.keep.node(node).await?.is_some() {
            self.keep.alias(id, node).await?;
        }
        Ok(())
    }

    /// The id of the node in which a message is answered. It is the message's own id, unless the agent that sent the message uses that id
    /// for a node of its own.
    async fn inbound_id(&self, mail: &Mail) -> Result<MessageId, KeepError> {
        // What an imported file holds under the id of a message is not that message.
        let mine = |node: &NodeInfo, id: &MessageId| {
            let said = node.messages.first().map(Message::text).unwrap_or_default();
            let origin = (node.origin.number, node.origin.from.as_ref());
            node.id == *id && origin == (Some(mail.number), Some(&mail.from)) && said.ends_with(&mail.body.joined())
        };
        let mut id = mail.message_id.clone();
        if mail.node.is_some() {
            id = node_of(&id, &self.options.name)?;
        }
        while self.keep.node(&id).await?.is_some_and(|known| !mine(&known, &id)) {
            id = node_of(&id, &self.options.name)?;
        }
        Ok(id)
    }

    fn inbound(&self, mail: &Mail, id: MessageId) -> Inbound {
        let mut text = mail.body.joined();
        if mail.from != self.options.user {
            text.insert_str(0, &sender_line(mail.number, &mail.from));
        }
        Inbound {
            message_id: Some(id),
            reply_to: mail.reply_to.clone(),
            from: Some(mail.from.clone()),
            number: Some(mail.number),
            system_prompt: self.system_prompt(),
            ..Inbound::new(text)
        }
    }

    /// The agent's own instructions, and those of its mailbox; `None` where there are neither.
    fn system_prompt(&self) -> Option<String> {
        let mail = self.options.built_in.iter().any(|name| name == "reply").then_some(built_in::ABOUT_MAIL);
        let own = Some(self.options.system_prompt.as_str()).filter(|own| !own.trim().is_empty());
        let parts: Vec<&str> = own.into_iter().chain(mail).collect();
        if parts.is_empty() { None } else { Some(parts.join("\n\n")) }
    }
}

impl<S: Store> Keep<S> {
    /// Deletes, for good, the transcripts that came about through the mailbox of `party` and of which all its messages are dismissed.
    /// A transcript in which anything else lies (an import, say) stays. Gives how many were deleted.
    ///
    /// # Errors
    /// The store's. What was deleted until then is.
    pub async fn collect_dismissed(&self, party: &str) -> Result<usize, KeepError> {
        let all = MailFilter { dismissed: true, ..MailFilter::default() };
        let (mut done, mut open): (Vec<TranscriptId>, Vec<TranscriptId>) = (Vec::new(), Vec::new());
        for mail in self.list_messages(party, &all).await? {
            let own = node_of(&mail.message_id, party).ok();
            let mut found = None;
            for id in own.iter().chain([&mail.message_id]) {
                if found.is_none() {
                    found = self.node(id).await?;
                }
            }
            let Some(node) = found else { continue };
            let list = if mail.dismissed.is_some() { &mut done } else { &mut open };
            if !list.contains(&node.transcript) {
                list.push(node.transcript);
            }
        }
        done.retain(|transcript| !open.contains(transcript));
        let mut deleted = 0;
        for transcript in done {
            let from_mail = |log: &Log| {
                let mut nodes = log.tree.nodes().map(|placed| &placed.node);
                Ok(nodes.all(|node| node.parent.is_none() || node.origin.from.is_some()))
            };
            if self.read(&transcript, from_mail).await? == Some(true) {
                self.delete_transcript(&transcript).await?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }
}
