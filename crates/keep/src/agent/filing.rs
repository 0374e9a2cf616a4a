//! Files the messages of an agent's mailbox: each gets a node in a chain. Filing a message again, in any program, finds the same node.

use threadkeep_core::{Message, MessageId, Role};
use threadkeep_store::{Store, StoreError};

use super::{Agent, Heard, Held, built_in};
use crate::mailbox::{Mail, node_of};
use crate::origin::sender_line;
use crate::protocol::{Inbound, NodeInfo};
use crate::route::Arrival;
use crate::{KeepError, keys};

/// Where a message of the mailbox is.
pub(super) enum Filed {
    /// In a new node, which has no answer yet.
    New(NodeInfo),
    /// In a node whose turn was begun before and has not ended.
    Begun(NodeInfo),
    /// In a node whose turn is over, or nowhere: it wants no answer.
    Done(Option<NodeInfo>),
    /// Nowhere: it was deleted meanwhile, with all that was said or with its scope.
    Gone,
}

impl<S: Store> Agent<S> {
    /// Claims the turn of a message and gives it its place in a chain, below a turn that is over. Gives the claim, if there is a turn.
    pub(super) async fn claim_and_file(
        &self,
        mail: Mail,
        heard: Heard<'_>,
    ) -> Result<(Option<Held>, Filed), KeepError> {
        if !self.wants_turn(&mail) {
            return Ok((None, self.pass(&mail).await?));
        }
        let (own, _) = self.inbound_id(&mail).await?;
        let held = self.claims.hold(&own).await?;
        // Another program may have filed it meanwhile. Then it is at the end of its conversation itself: there is nothing above to wait for.
        let filed = match self.keep.node(&own).await? {
            Some(node) => self.filed_before(node).await?,
            None => self.file_below(&mail, own, Some(heard)).await?,
        };
        Ok((Some(held), filed))
    }

    /// Gives a message its place without a claim on its turn. An interrupted turn above it stays as it is.
    pub(super) async fn file_now(&self, mail: &Mail) -> Result<Filed, KeepError> {
        if !self.wants_turn(mail) {
            return self.pass(mail).await;
        }
        match self.inbound_id(mail).await? {
            (_, Some(node)) => self.filed_before(node).await,
            (own, None) => self.file_below(mail, own, None).await,
        }
    }

    /// Waits until the turn of a node is over, or interrupted. With somebody to hear of it, an interrupted turn is carried to its end if
    /// the agent resumes turns. Gives the claim on the turn, if it can be interrupted.
    async fn settled(&self, node: &NodeInfo, heard: Option<Heard<'_>>) -> Result<Option<Held>, KeepError> {
        if node.sealed {
            return Ok(None);
        }
        let held = self.claims.hold(&node.id).await?;
        if self.options.resume
            && let Some(heard) = heard
            && let Some(open) = self.keep.interrupted_turn(&self.options.name, &node.id).await?
        {
            self.carry_out(&open, true, heard).await?;
        }
        Ok(Some(held))
    }

    /// Whether a message is to be answered. Failures of others are not, or two agents would tell each other of theirs for ever.
    fn wants_turn(&self, mail: &Mail) -> bool {
        mail.from != self.options.name && !mail.is_error
    }

    /// The node below which a message comes: that of the message that it answers, else the end of its conversation.
    pub(super) async fn place_of(
        &self,
        reply_to: Option<&MessageId>,
        conversation: Option<&str>,
    ) -> Result<Option<NodeInfo>, KeepError> {
        if let Some(about) = reply_to
            && let Some(node) = self.keep.node(about).await?
        {
            return Ok(Some(node));
        }
        match conversation {
            Some(name) => self.keep.head(name).await,
            None => Ok(None),
        }
    }

    /// Takes note of a message that gets no answer.
    async fn pass(&self, mail: &Mail) -> Result<Filed, KeepError> {
        if mail.from == self.options.name {
            self.observe(mail).await?;
        }
        Ok(Filed::Done(None))
    }

    /// A message that has its place in a node.
    async fn filed_before(&self, node: NodeInfo) -> Result<Filed, KeepError> {
        if node.sealed {
            return Ok(Filed::Done(Some(node)));
        }
        self.note(None, Some(&node.id), None).await?;
        Ok(Filed::Begun(node))
    }

    /// Gives a message its place: a new node below a turn that is over.
    async fn file_below(&self, mail: &Mail, id: MessageId, heard: Option<Heard<'_>>) -> Result<Filed, KeepError> {
        if mail.dismissed.is_some() {
            return Ok(Filed::Done(None));
        }
        loop {
            let above = self.place_of(mail.reply_to.as_ref(), mail.conversation.as_deref()).await?;
            // The claim on the turn above is held until this message stands below it: nobody carries that turn on meanwhile.
            let _above = match &above {
                Some(above) => self.settled(above, heard).await?,
                None => None,
            };
            let mut extra = self.opening(&id);
            let stored = keys::mail(&self.options.name, mail.number);
            if above.is_none() {
                // A transcript that begins with a deleted message would bring that back.
                extra.present.push(stored.clone());
            }
            let (head, above) = (mail.conversation.clone(), above.map(|above| above.id));
            let arrival = Arrival { role: Role::User, extra, head, above };
            match self.keep.receive_as(self.inbound(mail, id.clone()), arrival).await {
                // Another program has moved the conversation on.
                Err(KeepError::HeadMoved(_)) => continue,
                Err(KeepError::Store(StoreError::Conflict { key })) if key == stored => return Ok(Filed::Gone),
                node => return Ok(Filed::New(node?)),
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

    /// The id of the node in which a message is answered, and that node if the message was filed. It is the message's own id, unless the
    /// agent that sent the message uses that id for a node of its own.
    async fn inbound_id(&self, mail: &Mail) -> Result<(MessageId, Option<NodeInfo>), KeepError> {
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
        loop {
            match self.keep.node(&id).await? {
                Some(known) if !mine(&known, &id) => id = node_of(&id, &self.options.name)?,
                found => return Ok((id, found)),
            }
        }
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
    pub(super) fn system_prompt(&self) -> Option<String> {
        let mail = self.options.built_in.iter().any(|name| name == "reply").then_some(built_in::ABOUT_MAIL);
        let own = Some(self.options.system_prompt.as_str()).filter(|own| !own.trim().is_empty());
        let parts: Vec<&str> = own.into_iter().chain(mail).collect();
        if parts.is_empty() { None } else { Some(parts.join("\n\n")) }
    }
}
