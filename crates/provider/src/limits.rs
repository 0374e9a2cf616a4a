//! Limits of one answer: how large it may become, and how long it may take. A server that never ends must not fill memory.

use serde::{Deserialize, Deserializer};
use threadkeep_core::read::maybe_above_0;

/// How large an answer may become, and how long it may take. All from 1 on.
///
/// ```
/// use threadkeep_provider::AnswerLimits;
/// let limits: AnswerLimits = threadkeep_core::read::options(r#"{"calls": 8}"#, "limits")?;
/// assert_eq!(limits, AnswerLimits { calls: 8, ..AnswerLimits::default() });
/// # Ok::<(), threadkeep_core::read::BadRequest>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    /// The most bytes of an answer, as the server sends it; 32 MiB by default.
    pub bytes: u64,
    /// The most bytes of the arguments of all its calls together; 4 MiB by default.
    pub argument_bytes: u64,
    /// The most tool calls; 256 by default.
    pub calls: u64,
    /// The longest time from the request to the end of the answer, in milliseconds; 30 minutes by default.
    pub millis: u64,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self { bytes: 32 << 20, argument_bytes: 4 << 20, calls: 256, millis: 30 * 60_000 }
    }
}

impl<'de> Deserialize<'de> for AnswerLimits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        struct Limits {
            #[serde(deserialize_with = "maybe_above_0")]
            bytes: Option<u64>,
            #[serde(deserialize_with = "maybe_above_0")]
            argument_bytes: Option<u64>,
            #[serde(deserialize_with = "maybe_above_0")]
            calls: Option<u64>,
            #[serde(deserialize_with = "maybe_above_0")]
            millis: Option<u64>,
        }
        let Limits { bytes, argument_bytes, calls, millis } = Limits::deserialize(deserializer)?;
        let other = Self::default();
        Ok(Self {
            bytes: bytes.unwrap_or(other.bytes),
            argument_bytes: argument_bytes.unwrap_or(other.argument_bytes),
            calls: calls.unwrap_or(other.calls),
            millis: millis.unwrap_or(other.millis),
        })
    }
}
