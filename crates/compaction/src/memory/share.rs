//! A share of one, in thousandths: what salience and confidence are.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

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
        Self::of_double(value.as_f64()?)
    }

    fn of_double(share: f64) -> Option<Self> {
        // A little more, since the double 0.29 is a little less than 290 thousandths.
        (0.0..=1.0).contains(&share).then(|| Self::of((share * 1000.0 + 1e-9) as u16))
    }

    /// As JSON writes it.
    pub fn to_json(self) -> Value {
        match self.0 {
            0 => 0.into(),
            1000 => 1.into(),
            some => (f64::from(some) / 1000.0).into(),
        }
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        Self::of_double(share).ok_or_else(|| D::Error::invalid_value(Unexpected::Float(share), &"a number from 0 to 1"))
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
        for text in ["-0.1", "1.001", "2", "1e1", "\"0.5\"", "null"] {
            assert_eq!(Share::read(&serde_json::from_str(text).unwrap()), None, "{text}");
        }
        assert_eq!(Share::read(&serde_json::from_str("0.12999").unwrap()), Some(Share::of(129)));
    }
}
