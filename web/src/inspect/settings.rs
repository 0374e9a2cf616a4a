//! What the reader has set in the inspector, and how it is kept as a short text beside the database.

use serde::{Deserialize, Serialize};
use threadkeep_core::MessageId;

/// The providers: the name in options, and in words; in the order of [`Provider::ALL`](threadkeep_provider::Provider::ALL).
pub const PROVIDERS: [(&str, &str); 5] = [
    ("openai-chat", "OpenAI Chat"),
    ("openai-responses", "OpenAI Responses"),
    ("anthropic", "Anthropic"),
    ("gemini", "Gemini"),
    ("ollama", "Ollama"),
];

/// The ways to count: the name in options, and in words.
pub const ENCODINGS: [(&str, &str); 3] =
    [("o200k_base", "o200k_base"), ("cl100k_base", "cl100k_base"), ("estimate", "Estimate, 4 characters each")];

/// What the reader has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The place in [`PROVIDERS`].
    pub provider: u32,
    /// The place in [`ENCODINGS`].
    pub encoding: u32,
    /// Whether the policy is `stable`; else it is `newest`.
    pub stable: bool,
    /// Whether large tool results become previews.
    pub preview: bool,
    /// Whether code turns are compressed.
    pub compress: bool,
    /// The most tokens; none for no limit, here and below.
    pub tokens: Option<u64>,
    /// The most messages.
    pub messages: Option<u64>,
    /// The most characters.
    pub chars: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            provider: 0,
            encoding: 0,
            stable: false,
            preview: true,
            compress: false,
            tokens: None,
            messages: None,
            chars: None,
        }
    }
}

fn place(list: &[(&str, &str)], name: &str) -> Option<u32> {
    list.iter().position(|(here, _)| *here == name).map(|at| at as u32)
}

fn name(list: &[(&'static str, &str)], at: u32) -> &'static str {
    list.get(at as usize).map_or("", |(name, _)| name)
}

/// A limit as it is typed: a whole number, or nothing for none. Signs between the digits are passed over.
pub fn read_limit(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    // More than a browser's whole numbers hold is as good as none.
    digits.parse().ok().filter(|number| *number < 1 << 53)
}

impl Settings {
    /// As a short text: `openai-chat o200k_base newest preview - 8000 - -`.
    pub fn write(&self) -> String {
        let flag = |on: bool, name: &'static str| if on { name.to_owned() } else { "-".to_owned() };
        let limit = |limit: Option<u64>| limit.map_or("-".to_owned(), |limit| limit.to_string());
        [
            name(&PROVIDERS, self.provider).to_owned(),
            name(&ENCODINGS, self.encoding).to_owned(),
            if self.stable { "stable".to_owned() } else { "newest".to_owned() },
            flag(self.preview, "preview"),
            flag(self.compress, "compress"),
            limit(self.tokens),
            limit(self.messages),
            limit(self.chars),
        ]
        .join(" ")
    }

    /// Reads [what was written](Self::write); whatever is not understood is as at the beginning.
    pub fn read(text: &str) -> Self {
        let usual = Self::default();
        let words: Vec<&str> = text.split(' ').collect();
        let [provider, encoding, policy, preview, compress, tokens, messages, chars] = words[..] else { return usual };
        Self {
            provider: place(&PROVIDERS, provider).unwrap_or(usual.provider),
            encoding: place(&ENCODINGS, encoding).unwrap_or(usual.encoding),
            stable: policy == "stable",
            preview: preview == "preview",
            compress: compress == "compress",
            tokens: read_limit(tokens),
            messages: read_limit(messages),
            chars: read_limit(chars),
        }
    }
}

/// Pins as a text: the ids, one JSON string a line, since an id may hold anything.
pub fn write_pins(pins: &[MessageId]) -> String {
    pins.iter().map(|pin| serde_json::Value::from(pin.as_str()).to_string()).collect::<Vec<_>>().join("\n")
}

/// Reads [what was written](write_pins); lines that are no ids are passed over.
pub fn read_pins(text: &str) -> Vec<MessageId> {
    let read = |line: &str| match serde_json::from_str(line) {
        Ok(serde_json::Value::String(id)) => MessageId::new(id).ok(),
        _ => None,
    };
    text.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back() {
        let set = Settings {
            provider: 2,
            encoding: 1,
            stable: true,
            preview: false,
            compress: true,
            tokens: Some(8000),
            messages: Some(0),
            chars: None,
        };
        assert_eq!(set.write(), "anthropic cl100k_base stable - compress 8000 0 -");
        assert_eq!(Settings::read(&set.write()), set);
        assert_eq!(Settings::read(&Settings::default().write()), Settings::default());
        assert_eq!(Settings::read(""), Settings::default());
        assert_eq!(Settings::read("x y z a b c d e").tokens, None);
    }

    #[test]
    fn names_are_the_engines() {
        for (provider, (name, _)) in threadkeep_provider::Provider::ALL.iter().zip(PROVIDERS) {
            assert_eq!(provider.name(), name);
        }
    }

    #[test]
    fn limits_as_people_type_them() {
        assert_eq!(read_limit("12,000"), Some(12_000));
        assert_eq!(read_limit("0"), Some(0));
        assert_eq!(read_limit(""), None);
        assert_eq!(read_limit("99999999999999999999999"), None);
    }

    #[test]
    fn pins_come_back_whatever_their_ids() {
        let pins: Vec<MessageId> = ["a", "two\nlines", "\"quoted\""].map(|id| MessageId::new(id).unwrap()).into();
        assert_eq!(read_pins(&write_pins(&pins)), pins);
        assert_eq!(read_pins("nonsense\n\"b\"").len(), 1);
    }
}
