//! Mailboxes: numbered messages between parties, durable before anybody is told of them.
//!
//! A party is a name: a user, an agent, anyone. Each has one mailbox, in which what it received and what it sent stand
//! together under numbers that count up from 1 and are never used twice. Sending puts the message into both mailboxes in one commit.
//! Goes in: texts and to whom. Comes out: [`Mail`]. Who answers, and what a reply chain is, is left to [`agent`](crate::agent).

mod numbers;

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Poll, Waker};

use threadkeep_core::MessageId;
use threadkeep_store::{Commit, Scan, Store, StoreError, around};

use crate::json::{from_json, to_json};
use crate::name::check_name;
use crate::protocol::Event;
use crate::{Keep, KeepError, keys};

pub use crate::protocol::{Body, Mail, MailFilter, Outgoing};

/// How often a number that somebody else took first is looked for anew.
const TRIES: u32 = 1000;

impl<S: Store> Keep<S> {
    /// Sends a message: it is in both mailboxes, or in none. Gives it as the sender has it.
    ///
    /// # Errors
    /// `bad-request` for a party without a name, and a conversation that no thread can be named; the store's.
    pub async fn send(&self, mail: Outgoing) -> Result<Mail, KeepError> {
        for (party, what) in [(&mail.from, "from"), (&mail.to, "to")] {
            if party.is_empty() {
                return Err(KeepError::BadRequest(["\"", what, "\" must name a party"].concat()));
            }
        }
        if let Some(name) = &mail.conversation {
            check_name(name)?;
        }
        let _writing = self.writing().await;
        let id = match &mail.message_id {
            Some(id) => id.clone(),
            None => MessageId::mint(&self.mint_root(), self.random()),
        };
        let unknown_reply = match &mail.reply_to {
            Some(about) => !self.knows_message(about, [&mail.from, &mail.to]).await?,
            None => false,
        };
        for _ in 0..TRIES {
            if let Some(sent) = self.mail_of(&mail.from, &id).await? {
                return Ok(sent);
            }
            let to_self = mail.from == mail.to;
            let next = self.next_number(&mail.from).await?;
            let own = next.number;
            let mut commit = Commit::default();
            next.give(&mail.from, &mut commit);
            let mut theirs = own;
            if !to_self {
                let next = self.next_number(&mail.to).await?;
                theirs = next.number;
                next.give(&mail.to, &mut commit);
            }
            let sent = Mail {
                number: own,
                message_id: id.clone(),
                reply_to: mail.reply_to.clone(),
                from: mail.from.clone(),
                to: mail.to.clone(),
                body: mail.body.clone(),
                date: self.now(),
                dismissed: None,
                node: mail.node.clone(),
                is_error: mail.is_error,
                unknown_reply,
                conversation: mail.conversation.clone(),
            };
            let mut put = |party: &str, mail: &Mail| -> Result<(), KeepError> {
                let (record, by_id) = (keys::mail(party, mail.number), keys::mail_id(party, &id));
                commit.absent.extend([record.clone(), by_id.clone()]);
                commit.puts.push((record, to_json(&mail)?));
                commit.puts.push((by_id, mail.number.to_string().into_bytes()));
                Ok(())
            };
            put(&mail.from, &sent)?;
            if !to_self {
                put(&mail.to, &Mail { number: theirs, ..sent.clone() })?;
            }
            match self.inner.store.commit(commit).await {
                // Somebody took one of the numbers, or sent the same message.
                Err(StoreError::Conflict { .. }) => continue,
                done => done?,
            }
            self.emit(&Event::Mail { party: mail.from.clone(), number: own });
            if !to_self {
                self.emit(&Event::Mail { party: mail.to.clone(), number: theirs });
            }
            return Ok(sent);
        }
        Err(StoreError::Transient("other writers were always first".to_owned()).into())
    }

    /// Whether an id names a message of one of these mailboxes, or a node.
    async fn knows_message(&self, id: &MessageId, parties: [&String; 2]) -> Result<bool, KeepError> {
        for party in parties {
            if self.inner.store.get(&keys::mail_id(party, id)).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(self.find(id).await?.is_some())
    }

    /// Answers the message `number` of `party`'s mailbox: to whoever sent it, with `replyTo` set to it. To one's own message,
    /// the reply goes to whom that went.
    ///
    /// # Errors
    /// `missing-mail`; the store's.
    pub async fn reply(&self, party: &str, number: u64, body: Body) -> Result<Mail, KeepError> {
        let mail = self.mail_or_fail(party, number).await?;
        let to = if mail.from == party { mail.to } else { mail.from };
        let reply_to = Some(mail.message_id);
        self.send(Outgoing { from: party.to_owned(), to, body, reply_to, ..Outgoing::default() }).await
    }

    /// The messages of a mailbox, in the order of their numbers.
    ///
    /// # Errors
    /// `corrupt`; the store's.
    pub async fn list_messages(&self, party: &str, filter: &MailFilter) -> Result<Vec<Mail>, KeepError> {
        let mut listed = Vec::new();
        let most = filter.limit.unwrap_or(usize::MAX);
        let mut scan = keys::mails(party, filter.after).reversed();
        // Dismissed ones may be many; they are read a hundred at a time and left out.
        scan.limit = filter.limit.map(|limit| limit.clamp(100, 10_000));
        while listed.len() < most {
            let records = around::scan(&self.inner.store, &scan).await?;
            let more = scan.limit == Some(records.len());
            let least = records.last().map(|(key, _)| key.clone());
            for (key, bytes) in records {
                let bytes = self.sound(&key, bytes);
                let Some(mail) = bytes.and_then(|bytes| self.sound(&key, parse(&bytes))) else { continue };
                if (filter.dismissed || mail.dismissed.is_none()) && listed.len() < most {
                    listed.push(mail);
                }
            }
            match least {
                Some(least) if more => scan.end = least,
                _ => break,
            }
        }
        listed.reverse();
        Ok(listed)
    }

    /// One message of a mailbox.
    ///
    /// # Errors
    /// `corrupt`; the store's.
    pub async fn mail(&self, party: &str, number: u64) -> Result<Option<Mail>, KeepError> {
        let key = keys::mail(party, number);
        self.inner.store.get(&key).await?.map(|bytes| read(&key, &bytes)).transpose()
    }

    /// The message of that id in a mailbox.
    ///
    /// # Errors
    /// `corrupt`; the store's.
    pub async fn mail_of(&self, party: &str, id: &MessageId) -> Result<Option<Mail>, KeepError> {
        let key = keys::mail_id(party, id);
        let Some(bytes) = self.inner.store.get(&key).await? else { return Ok(None) };
        let number = String::from_utf8(bytes).ok().and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| StoreError::Corrupt { key, why: "it is no number".to_owned() })?;
        self.mail(party, number).await
    }

    pub(crate) async fn mail_or_fail(&self, party: &str, number: u64) -> Result<Mail, KeepError> {
        let missing = || KeepError::MissingMail { party: party.to_owned(), number };
        self.mail(party, number).await?.ok_or_else(missing)
    }

    /// Marks a message as done with. It stays, and [`MailFilter::dismissed`] shows it.
    ///
    /// # Errors
    /// `missing-mail`; the store's.
    pub async fn dismiss(&self, party: &str, number: u64) -> Result<Mail, KeepError> {
        let _writing = self.writing().await;
        let mail = self.mail_or_fail(party, number).await?;
        if mail.dismissed.is_some() {
            return Ok(mail);
        }
        let mail = Mail { dismissed: Some(self.now()), ..mail };
        let key = keys::mail(party, number);
        let puts = vec![(key.clone(), to_json(&mail)?)];
        self.inner.store.commit(Commit { present: vec![key], puts, ..Commit::default() }).await?;
        self.emit(&Event::Mail { party: party.to_owned(), number });
        Ok(mail)
    }

    /// The messages of a mailbox from the one after `after` on, one's own as well: those that are there, then each as it comes,
    /// also those that other tabs or processes sent, once [`Followed::look`] is called.
    pub fn follow_messages(&self, party: &str, after: u64) -> Followed<S> {
        let bell = Rc::new(Bell::default());
        let (ringing, whose) = (Rc::clone(&bell), party.to_owned());
        let number = self.on_event(move |event| {
            if matches!(event, Event::Mail { party, .. } if *party == whose) {
                ringing.ring();
            }
        });
        Followed { keep: self.clone(), party: party.to_owned(), after, bell, number }
    }

    /// Adds to a commit the deletion of the messages with these ids, from the mailboxes of both parties.
    pub(crate) async fn unmail<'a>(
        &self,
        ids: impl Iterator<Item = &'a MessageId>,
        commit: &mut Commit,
    ) -> Result<(), KeepError> {
        let parties = self.parties().await?;
        if parties.is_empty() {
            return Ok(());
        }
        for id in ids.flat_map(|id| [Some(id.clone()), message_of(id)]).flatten() {
            for party in &parties {
                let key = keys::mail_id(party, &id);
                let bytes = match self.inner.store.get(&key).await {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => continue,
                    // The number is found among the messages then.
                    Err(StoreError::Corrupt { .. }) => Vec::new(),
                    Err(error) => return Err(error.into()),
                };
                let mut number = String::from_utf8(bytes).ok().and_then(|digits| digits.parse().ok());
                if number.is_none() {
                    let all = MailFilter { dismissed: true, ..MailFilter::default() };
                    let mails = self.list_messages(party, &all).await?;
                    number = mails.iter().find(|mail| mail.message_id == id).map(|mail| mail.number);
                }
                commit.deletes.extend(number.map(|number| keys::mail(party, number)));
                commit.deletes.push(key);
            }
        }
        Ok(())
    }

    /// Everybody who has a mailbox.
    ///
    /// # Errors
    /// The store's.
    pub async fn parties(&self) -> Result<Vec<String>, KeepError> {
        let mut parties = Vec::new();
        let mut scan = Scan::prefix(keys::MAIL).limit(1);
        while let Some((key, _)) = around::scan(&self.inner.store, &scan).await?.first() {
            let Some(party) = keys::mail_party(key) else { break };
            scan.start = keys::mails_end(&party);
            parties.push(party);
        }
        Ok(parties)
    }
}

/// Messages of a mailbox, one after the other; see [`Keep::follow_messages`].
pub struct Followed<S: Store> {
    keep: Keep<S>,
    party: String,
    after: u64,
    bell: Rc<Bell>,
    number: u64,
}

impl<S: Store> Followed<S> {
    /// The next message, as soon as there is one.
    ///
    /// # Errors
    /// `corrupt`; the store's.
    pub async fn next(&mut self) -> Result<Mail, KeepError> {
        loop {
            let heard = self.bell.rung.get();
            let next = keys::mails(&self.party, self.after).limit(1);
            if let Some((key, bytes)) = around::scan(&self.keep.inner.store, &next).await?.pop() {
                self.after = keys::mail_number(&key).unwrap_or(self.after);
                let bytes = self.keep.sound(&key, bytes);
                // One that cannot be read does not keep those after it back.
                match bytes.and_then(|bytes| self.keep.sound(&key, parse(&bytes))) {
                    Some(mail) => return Ok(mail),
                    None => continue,
                }
            }
            self.bell.wait(heard).await;
        }
    }

    /// Looks into the store: for messages of other tabs and processes, of which this engine was not told.
    pub fn look(&self) {
        self.bell.ring();
    }
}

impl<S: Store> Drop for Followed<S> {
    fn drop(&mut self) {
        self.keep.off_event(self.number);
    }
}

/// The node in which an agent answers a message of another one, whose own node has the message's id: `<message>@<agent>`.
pub(crate) fn node_of(message: &MessageId, agent: &str) -> Result<MessageId, KeepError> {
    Ok(MessageId::new([message.as_str(), "@", agent].concat())?)
}

/// The message that such a node answers; `None` for any other node.
fn message_of(node: &MessageId) -> Option<MessageId> {
    MessageId::new(node.as_str().rsplit_once('@')?.0).ok()
}

/// Wakes who waits for a message.
#[derive(Default)]
struct Bell {
    rung: std::cell::Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

impl Bell {
    fn ring(&self) {
        self.rung.set(self.rung.get() + 1);
        // Taken out first: whoever is woken may look here.
        let waiting = self.waiting.take();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Until it rings, or at once where it has rung since `heard`.
    async fn wait(&self, heard: u64) {
        std::future::poll_fn(|context| {
            if self.rung.get() != heard {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

fn read(key: &str, bytes: &[u8]) -> Result<Mail, KeepError> {
    Ok(parse(bytes).map_err(|why| StoreError::Corrupt { key: key.to_owned(), why })?)
}

fn parse(bytes: &[u8]) -> Result<Mail, String> {
    from_json(bytes).map_err(|error| error.to_string())
}
