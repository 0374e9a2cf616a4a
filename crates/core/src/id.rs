//! Identifiers. A [`MessageId`] names a node (and, as an alias, an outbound message); a [`TranscriptId`] names a tree
//! and equals the id of its root node. Ids from outside are any non-empty string of at most 512 bytes. Our own are 64
//! lowercase hex digits, all random: 48 for the transcript, the same in all its ids, and 16 for the node (zeros for the
//! root), so that the transcript of an id we minted can be read from the id and needs no index record.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

use threadkeep_json::Name;

/// The longest id that is accepted, in bytes of UTF-8.
pub const MAX_ID_BYTES: usize = 512;

/// What the root's id ends in, where we made it.
const ROOT_END: &str = "0000000000000000";

/// Why a string is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The string is empty.
    #[error("an id must not be empty")]
    Empty,
    /// The string is longer than [`MAX_ID_BYTES`].
    #[error("an id must be at most {MAX_ID_BYTES} bytes long, this one has {0}")]
    TooLong(usize),
}

/// The id of a node, of a message that a node answers to (an alias), or of a transcript's root.
///
/// Cheap to clone: clones share the text.
///
/// ```
/// use threadkeep_core::MessageId;
/// assert_eq!(MessageId::new("m1")?.as_str(), "m1");
/// assert!(MessageId::new("").is_err());
/// # Ok::<(), threadkeep_core::IdError>(())
/// ```
#[derive(Eq, PartialOrd, Ord)]
pub struct MessageId(Arc<str>);

crate::in_typescript!(MessageId, "string");

/// The id of a transcript: the id of its root node.
pub type TranscriptId = MessageId;

impl MessageId {
    /// Takes an id from outside.
    ///
    /// # Errors
    /// [`IdError::Empty`] for `""`, [`IdError::TooLong`] above 512 bytes.
    pub fn new(id: impl AsRef<str>) -> Result<Self, IdError> {
        let id = id.as_ref();
        match id.len() {
            0 => Err(IdError::Empty),
            n if n > MAX_ID_BYTES => Err(IdError::TooLong(n)),
            _ => Ok(Self(id.into())),
        }
    }

    /// Mints the root id of a new transcript from 24 random bytes (192 bits from the platform's generator).
    ///
    /// ```
    /// let root = threadkeep_core::MessageId::mint_root([7; 24]);
    /// assert_eq!(root.as_str().len(), 64);
    /// assert!(root.as_str().ends_with("0000000000000000"));
    /// ```
    pub fn mint_root(random: [u8; 24]) -> Self {
        let mut id = String::with_capacity(64);
        push_hex(&mut id, &random);
        id.push_str(ROOT_END);
        Self(id.into())
    }

    /// Mints the id of a new node of `transcript` from 64 random bits: 64 hex digits where the root was minted, else
    /// `<transcript>/#<16 hex digits>`.
    pub fn mint(transcript: &TranscriptId, random: u64) -> Self {
        match transcript.minted_prefix() {
            Some(prefix) => {
                let mut id = String::with_capacity(64);
                id.push_str(prefix);
                push_hex(&mut id, &random.to_be_bytes());
                Self(id.into())
            }
            None => {
                let mut local = "#".to_owned();
                push_hex(&mut local, &random.to_be_bytes());
                Self::within(transcript, &local)
            }
        }
    }

    /// The id of an imported message: `<transcript>/<local>`, so that the transcript can be read from the id. Where that
    /// would pass 512 bytes, `local` is replaced by a 128-bit hash of it (and the transcript is never longer than 400
    /// bytes, see [`MessageId::archive_root`]).
    pub fn scoped(transcript: &TranscriptId, local: &str) -> Self {
        if local.contains(['/', '#']) {
            return Self::within(transcript, &local.replace('/', "%2F").replace('#', "%23"));
        }
        Self::within(transcript, local)
    }

    fn within(transcript: &TranscriptId, local: &str) -> Self {
        if transcript.as_str().len() + 1 + local.len() <= MAX_ID_BYTES {
            Self([transcript.as_str(), "/", local].concat().into())
        } else {
            Self(format!("{transcript}/~{:032x}", fnv128(local.as_bytes())).into())
        }
    }

    /// The root id of a conversation that comes from an archive: `<source>/<conversation>`, the same at every import.
    pub fn archive_root(source: &str, conversation: &str) -> Self {
        let conversation = conversation.replace('/', "%2F");
        if source.len() + conversation.len() < 400 {
            Self(format!("{source}/{conversation}").into())
        } else {
            let source: String = source.chars().take(64).collect();
            Self(format!("{source}/~{:032x}", fnv128(conversation.as_bytes())).into())
        }
    }

    /// The transcript that this id names by its own form: minted and imported ids carry it. `None` for an id from
    /// outside, which only the store's index can place. The answer is a candidate: the transcript need not exist.
    pub fn home(&self) -> Option<TranscriptId> {
        self.home_parts().map(|(begin, end)| Self([begin, end].concat().into()))
    }

    /// Whether [`MessageId::home`] is `transcript`.
    pub fn is_at_home_in(&self, transcript: &TranscriptId) -> bool {
        self.home_parts().is_some_and(|(begin, end)| transcript.as_str().strip_prefix(begin) == Some(end))
    }

    /// The beginning of the transcript that this id names, which is the beginning of this id too, and its end.
    fn home_parts(&self) -> Option<(&str, &str)> {
        if let Some(prefix) = self.minted_prefix() {
            return Some((prefix, ROOT_END));
        }
        let slashes = self.0.bytes().filter(|b| *b == b'/').count();
        match slashes {
            1 => Some((&self.0, "")),
            2 => self.0.rfind('/').map(|at| (&self.0[..at], "")),
            _ => None,
        }
    }

    fn minted_prefix(&self) -> Option<&str> {
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (self.0.len() == 64 && self.0.bytes().all(is_hex)).then(|| &self.0[..48])
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Writes bytes in hex. By hand: the formatting of the standard library takes several times as long, and each message has an id.
fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
}

/// FNV-1a with 128 bits: names too long to be ids, not security.
fn fnv128(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62272e07bb014262b821756295c58d, |hash: u128, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000000001000000000000000000013b)
    })
}

impl Clone for MessageId {
    // A call in hundreds of places, for a smaller module.
    #[inline(never)]
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl PartialEq for MessageId {
    /// Clones are the same without a look at their text, as the ids of a node and of its children's parent mostly are.
    #[inline(never)]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Hash for MessageId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl Serialize for MessageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Name(id) = Name::deserialize(deserializer)?;
        Self::new(id).map_err(|error| D::Error::custom(format_args!("is no id: {error}")))
    }
}

impl Borrow<str> for MessageId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for MessageId {
    type Error = IdError;
    fn try_from(id: String) -> Result<Self, IdError> {
        Self::new(id)
    }
}

impl TryFrom<&str> for MessageId {
    type Error = IdError;
    fn try_from(id: &str) -> Result<Self, IdError> {
        Self::new(id)
    }
}

impl From<MessageId> for String {
    fn from(id: MessageId) -> Self {
        id.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_exact() {
        assert_eq!(MessageId::new(""), Err(IdError::Empty));
        assert!(MessageId::new("x".repeat(512)).is_ok());
        assert_eq!(MessageId::new("x".repeat(513)), Err(IdError::TooLong(513)));
    }

    #[test]
    fn home_of_minted_imported_and_foreign_ids() {
        let root = MessageId::mint_root([0xab; 24]);
        assert_eq!(MessageId::mint(&root, 0), root);
        assert_eq!(MessageId::mint(&root, 77).home(), Some(root.clone()));
        assert_eq!(root.home(), Some(root));

        let chat = MessageId::archive_root("chatgpt", "a/b");
        assert_eq!(chat.as_str(), "chatgpt/a%2Fb");
        assert_eq!(MessageId::scoped(&chat, "x/y").home(), Some(chat.clone()));
        assert_eq!(MessageId::mint(&chat, 5).home(), Some(chat.clone()));
        assert_eq!(chat.home(), Some(chat.clone()));

        assert_eq!(MessageId::new("plain").unwrap().home(), None);

        let minted = MessageId::mint_root([0xab; 24]);
        let ids = ["plain", "a/b/c/d", "chatgpt/a%2Fb"].map(|id| MessageId::new(id).unwrap());
        let ids = ids.into_iter().chain([MessageId::mint(&minted, 77), MessageId::scoped(&chat, "x"), minted, chat]);
        let ids: Vec<MessageId> = ids.collect();
        for (id, transcript) in ids.iter().flat_map(|id| ids.iter().map(move |transcript| (id, transcript))) {
            assert_eq!(id.is_at_home_in(transcript), id.home().as_ref() == Some(transcript), "{id} in {transcript}");
        }
    }

    #[test]
    fn long_parts_are_hashed_and_stay_within_the_bound() {
        let chat = MessageId::archive_root("chatgpt", &"c".repeat(600));
        let node = MessageId::scoped(&chat, &"n".repeat(600));
        assert!(node.as_str().len() <= MAX_ID_BYTES);
        assert_eq!(node.home(), Some(chat.clone()));
        assert_ne!(node, MessageId::scoped(&chat, &"n".repeat(601)));
    }
}
