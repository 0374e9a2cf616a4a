//! What can be asked of mailboxes.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use threadkeep_core::MessageId;
use threadkeep_core::read::{self, BadRequest, or_default};
use threadkeep_json::own_value;

/// A message in a mailbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub struct Mail {
    /// Its number in this mailbox, from 1; never given twice, also after messages, or all, were deleted.
    pub number: u64,
    /// Its id, the same in both mailboxes.
    pub message_id: MessageId,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// Who sent it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// What it says, with the names between them.
    #[serde(flatten)]
    pub body: Body,
    /// When it was sent, in milliseconds since 1970 (UTC).
    #[serde(default)]
    pub date: i64,
    /// When it was dismissed, in milliseconds since 1970 (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dismissed: Option<i64>,
    /// The node in whose turn an agent sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<MessageId>,
    /// Whether it says that no answer came about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(as = "Option<bool>"))]
    pub is_error: bool,
    /// Set where `replyTo` names a message that nobody knew when it was sent: neither one of the two mailboxes, nor a node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(type = "true"))]
    pub unknown_reply: bool,
    /// The conversation that it continues: the name of a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
}

/// What a message says: texts, and between each two of them a name for something that goes along. `edge_names` are what the
/// texts call these things, `pet_names` what the sender calls them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Body {
    /// What it says; `mailText` joins it.
    pub strings: Vec<String>,
    /// What the texts call what stands between them.
    pub edge_names: Vec<String>,
    /// What the sender calls that.
    pub pet_names: Vec<String>,
}

impl Body {
    /// A single text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { strings: vec![text.into()], ..Self::default() }
    }

    /// The whole as one text, names as `@name`.
    ///
    /// ```
    /// use threadkeep_protocol::Body;
    /// let body = Body {
    ///     strings: vec!["See ".into(), " for more.".into()],
    ///     edge_names: vec!["report".into()],
    ///     pet_names: vec!["report-3".into()],
    /// };
    /// assert_eq!(body.joined(), "See @report for more.");
    /// ```
    pub fn joined(&self) -> String {
        let mut joined = String::new();
        for at in 0..self.strings.len().max(self.edge_names.len()) {
            joined.push_str(self.strings.get(at).map_or("", String::as_str));
            if let Some(name) = self.edge_names.get(at) {
                joined.extend(["@", name]);
            }
        }
        joined
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outgoing {
    /// Who sends it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// What it says.
    pub body: Body,
    /// The message that it answers.
    pub reply_to: Option<MessageId>,
    /// Its id; without one, an id is minted. One that was sent before is not sent again.
    pub message_id: Option<MessageId>,
    /// See [`Mail::node`].
    pub node: Option<MessageId>,
    /// See [`Mail::is_error`].
    pub is_error: bool,
    /// See [`Mail::conversation`].
    pub conversation: Option<String>,
}

/// Which messages of a mailbox are listed. By default those that are not dismissed, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MailFilter {
    /// Only numbers above this one.
    pub after: u64,
    /// The newest so many; `None` for all.
    pub limit: Option<usize>,
    /// Whether dismissed ones come too.
    pub dismissed: bool,
}

/// Which messages of a mailbox are listed, oldest first. What is left out does not limit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename = "MailFilter", optional_fields))]
#[serde(deny_unknown_fields)]
pub struct ListMessages {
    /// Whose mailbox.
    #[cfg_attr(feature = "ts", ts(skip))]
    pub party: String,
    /// Only numbers above this one.
    pub after: Option<u32>,
    /// The newest so many; 0 gives none.
    pub limit: Option<u32>,
    /// Whether dismissed ones come too.
    pub dismissed: Option<bool>,
}

impl Mail {
    /// It as JSON: `number, messageId, replyTo?, from, to, strings, edgeNames, petNames, date, dismissed?, node?, isError?,
    /// unknownReply?, conversation?`.
    pub fn to_json(&self) -> Value {
        own_value(self)
    }
}

/// One request about mailboxes. `party` is a name: a user's, an agent's.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(optional_fields))]
pub enum MailRequest {
    /// Sends a message. → the message
    Send {
        /// Who sends it.
        from: String,
        /// To whom.
        to: String,
        /// See [`Body::strings`].
        #[serde(default, deserialize_with = "or_default")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        strings: Vec<String>,
        /// See [`Body::edge_names`].
        #[serde(default, deserialize_with = "or_default")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        edge_names: Vec<String>,
        /// See [`Body::pet_names`].
        #[serde(default, deserialize_with = "or_default")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        pet_names: Vec<String>,
        /// The message that it answers.
        reply_to: Option<MessageId>,
        /// See [`Outgoing::message_id`].
        message_id: Option<MessageId>,
        /// See [`Mail::conversation`].
        conversation: Option<String>,
    },
    /// Answers one. → the message that was sent
    Reply {
        /// Whose mailbox.
        party: String,
        /// The message's number in it.
        number: u32,
        /// See [`Body::strings`].
        #[serde(default, deserialize_with = "or_default")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        strings: Vec<String>,
        /// See [`Body::edge_names`].
        #[serde(default, deserialize_with = "or_default")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        edge_names: Vec<String>,
        /// See [`Body::pet_names`].
        #[serde(default, deserialize_with = "or_default")]
        #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
        pet_names: Vec<String>,
    },
    /// Lists them. → messages
    ListMessages(#[cfg_attr(feature = "ts", ts(type = "{ party: string } & MailFilter"))] ListMessages),
    /// One of them. → the message, or null
    Mail {
        /// Whose mailbox.
        party: String,
        /// The message's number in it.
        number: u32,
    },
    /// Marks one as done with. → the message
    Dismiss {
        /// Whose mailbox.
        party: String,
        /// The message's number in it.
        number: u32,
    },
    /// Everybody who has a mailbox. → names
    Parties,
    /// Deletes branches and transcripts of which all messages are dismissed. → how many
    CollectDismissed {
        /// Whose mailbox.
        party: String,
    },
}

impl MailRequest {
    /// The methods that are read here.
    pub fn methods() -> &'static [&'static str] {
        read::methods::<Self>()
    }

    /// Reads a request: the method's name, and the JSON text of its parameters.
    ///
    /// ```
    /// use threadkeep_protocol::MailRequest;
    /// assert!(MailRequest::read("send", r#"{"from": "ann", "to": "lal", "strings": ["hi"]}"#).is_ok());
    /// assert_eq!(MailRequest::read("dismiss", r#"{"party": "ann"}"#).unwrap_err().argument, "number");
    /// ```
    ///
    /// # Errors
    /// [`BadRequest`] for an unknown method, an unknown or missing parameter, or one of the wrong type.
    pub fn read(method: &str, params: &str) -> Result<Self, BadRequest> {
        read::request(method, params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_what_it_writes() {
        let mail = Mail {
            number: 7,
            message_id: MessageId::new("m").unwrap(),
            reply_to: Some(MessageId::new("r").unwrap()),
            from: "ann".to_owned(),
            to: "lal".to_owned(),
            body: Body {
                strings: vec!["a".into(), "b".into()],
                edge_names: vec!["e".into()],
                pet_names: vec!["p".into()],
            },
            date: 1_738_100_500_000,
            dismissed: Some(1_738_100_600_000),
            node: None,
            is_error: true,
            unknown_reply: false,
            conversation: Some("c".to_owned()),
        };
        let text = serde_json::to_string(&mail).unwrap();
        assert_eq!(
            text,
            r#"{"number":7,"messageId":"m","replyTo":"r","from":"ann","to":"lal","strings":["a","b"],"edgeNames":["e"],"petNames":["p"],"date":1738100500000,"dismissed":1738100600000,"isError":true,"conversation":"c"}"#
        );
        assert_eq!(serde_json::from_str::<Mail>(&text).unwrap(), mail);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (method, params, argument) in [
            ("post", "{}", "method"),
            ("send", r#"{"from": "a", "to": "b", "strings": "hi"}"#, "strings"),
            ("send", r#"{"from": "a", "to": "b", "strings": ["hi", 3]}"#, "strings[1]"),
            ("reply", r#"{"party": "a", "number": -1}"#, "number"),
            ("listMessages", r#"{"party": "a", "limit": 4294967296}"#, "limit"),
            ("listMessages", r#"{"party": "a", "dismissed": 1}"#, "dismissed"),
            ("parties", r#"{"party": "a"}"#, "party"),
        ] {
            assert_eq!(MailRequest::read(method, params).unwrap_err().argument, argument, "{method} {params}");
        }
    }
}
