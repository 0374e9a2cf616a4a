//! The address of what is open: `#/t/<transcript>` or `#/t/<transcript>/<leaf>`, with `?at=<node>` for a place in it.
//! Text in, a [`Route`] out, and back. Ids are any text, so they are percent-encoded.

use threadkeep_core::{MessageId, TranscriptId};

/// What is open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Route {
    /// The transcript; none while only the list is shown.
    pub transcript: Option<TranscriptId>,
    /// The end of the branch; the chosen one without it.
    pub leaf: Option<MessageId>,
    /// The message to show; the first one without it.
    pub at: Option<MessageId>,
    /// Whether a new conversation is to begin; only without a transcript.
    pub fresh: bool,
}

impl Route {
    /// A transcript at its chosen branch.
    pub fn thread(transcript: TranscriptId) -> Self {
        Self { transcript: Some(transcript), ..Self::default() }
    }

    /// Reads the fragment of an address, with or without its `#`. What cannot be read is the list.
    pub fn parse(fragment: &str) -> Self {
        let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
        let (path, query) = fragment.split_once('?').unwrap_or((fragment, ""));
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let (Some("t"), Some(transcript)) = (parts.next(), parts.next()) else {
            return Self { fresh: path.trim_matches('/') == "new", ..Self::default() };
        };
        let Ok(transcript) = TranscriptId::new(decode(transcript)) else { return Self::default() };
        let message = |text: &str| MessageId::new(decode(text)).ok();
        let at = query.split('&').find_map(|pair| pair.strip_prefix("at="));
        let (leaf, at) = (parts.next().and_then(message), at.and_then(message));
        Self { transcript: Some(transcript), leaf, at, fresh: false }
    }

    /// The fragment, with its `#`.
    pub fn fragment(&self) -> String {
        let Some(transcript) = &self.transcript else {
            return if self.fresh { "#/new" } else { "#/" }.to_owned();
        };
        let mut text = format!("#/t/{}", encode(transcript.as_str()));
        if let Some(leaf) = &self.leaf {
            text.push('/');
            text.push_str(&encode(leaf.as_str()));
        }
        if let Some(at) = &self.at {
            text.push_str("?at=");
            text.push_str(&encode(at.as_str()));
        }
        text
    }
}

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => out.push(char::from(byte)),
            _ => {
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    out
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = |i: usize| bytes.get(i).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[at], pair(at + 1), pair(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back() {
        for (transcript, leaf, at) in [
            ("a-b_c", None, None),
            ("chatgpt:6f/1 ?#%", Some("ü/ é"), None),
            ("t", Some("x&at=y"), Some("日本")),
            ("t", None, Some("100%")),
        ] {
            let route = Route {
                transcript: Some(TranscriptId::new(transcript).unwrap()),
                leaf: leaf.map(|id| MessageId::new(id).unwrap()),
                at: at.map(|id| MessageId::new(id).unwrap()),
                fresh: false,
            };
            assert_eq!(Route::parse(&route.fragment()), route);
        }
    }

    #[test]
    fn a_new_conversation_has_an_address() {
        let fresh = Route { fresh: true, ..Route::default() };
        assert_eq!(Route::parse(&fresh.fragment()), fresh);
        assert_eq!(fresh.fragment(), "#/new");
    }

    #[test]
    fn what_is_no_address_is_the_list() {
        for text in ["", "#", "#/", "#/x/y", "#/t", "#/t/", "garbage", "#?at=x"] {
            assert_eq!(Route::parse(text), Route::default(), "{text}");
        }
        assert_eq!(Route::default().fragment(), "#/");
        assert_eq!(Route::parse("#/t/%zz%4").transcript.unwrap().as_str(), "%zz%4");
    }
}
