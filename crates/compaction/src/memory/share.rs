//! A share of one, in thousandths: what salience and confidence are.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};
use threadkeep_core::read::raw;

/// A share from 0 to 1 in thousandths. In JSON it is a decimal such as `0.7`. Whole numbers inside, so that the same input
/// ranks the same everywhere.
///
/// ```
/// use threadkeep_compaction::memory::Share;
/// assert_eq!(serde_json::to_string(&Share::of(700))?, "0.7");
/// assert_eq!(Share::read(&serde_json::json!(0.25)), Some(Share::of(250)));
/// assert_eq!(Share::read(&serde_json::json!(1.5)), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Share(u16);

threadkeep_core::in_typescript!(Share, "number");

impl Share {
    /// So many thousandths; more than 1000 count as 1000.
    pub const fn of(thousandths: u16) -> Self {
        Self(if thousandths > 1000 { 1000 } else { thousandths })
    }

    /// The thousandths, from 0 to 1000.
    pub const fn thousandths(self) -> u16 {
        self.0
    }

    /// Reads a JSON number from 0 to 1; digits beyond the third are cut off. `None` for anything else.
    pub fn read(value: &Value) -> Option<Self> {
        Self::of_text(value.as_number()?.as_str())
    }

    fn of_text(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digit = |at: usize| fraction.as_bytes().get(at).map_or(0, |digit| u16::from(digit.wrapping_sub(b'0')));
        if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match whole {
            "0" => Some(Self(digit(0) * 100 + digit(1) * 10 + digit(2))),
            "1" if fraction.bytes().all(|byte| byte == b'0') => Some(Self(1000)),
            _ => None,
        }
    }

    /// As JSON writes it.
    pub fn to_json(self) -> Value {
        let text = match self.0 {
            0 => "0".to_owned(),
            1000 => "1".to_owned(),
            some => ["0.", format!("{some:03}").trim_end_matches('0')].concat(),
        };
        Value::Number(Number::from_string_unchecked(text))
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As text, since a share is no double.
        Self::of_text(raw(deserializer)?)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Other("value"), &"a number from 0 to 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_writes() {
        for thousandths in 0..=1000 {
            assert_eq!(Share::read(&Share::of(thousandths).to_json()), Some(Share::of(thousandths)));
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["-0.1", "1.001", "2", "1e-1", "\"0.5\"", "null"] {
            assert_eq!(Share::read(&serde_json::from_str(text).unwrap()), None, "{text}");
        }
        assert_eq!(Share::read(&serde_json::from_str("0.12999").unwrap()), Some(Share::of(129)));
    }
}
