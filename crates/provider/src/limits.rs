//! Limits of one answer: how large it may become, and how long it may take. A server that never ends must not fill memory.

use serde::{Deserialize, Deserializer};
use threadkeep_core::read::maybe_above_0;

/// How large a model's answer may become, and how long it may take. Each is a whole number from 1 on.
///
/// ```
/// use threadkeep_provider::AnswerLimits;
/// let limits: AnswerLimits = threadkeep_core::read::options(r#"{"calls": 8}"#, "limits")?;
/// assert_eq!(limits, AnswerLimits { calls: 8, ..AnswerLimits::default() });
/// # Ok::<(), threadkeep_core::read::BadRequest>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(rename_all = "camelCase", optional_fields))]
pub struct AnswerLimits {
    /// The most bytes of an answer; 33,554,432 (32 MiB) without it.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub bytes: u64,
    /// The most bytes of the arguments of all its tool calls together; 4,194,304 (4 MiB) without it.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub argument_bytes: u64,
    /// The most tool calls; 256 without it.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
    pub calls: u64,
    /// The longest time from the request to the end of the answer, in milliseconds, at most 2^31 - 1; 1,800,000 (30 minutes) without it.
    #[cfg_attr(feature = "ts", ts(as = "Option<_>"))]
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
