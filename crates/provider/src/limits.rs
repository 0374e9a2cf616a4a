//! Limits of one answer: how large it may become, and how long it may take. A server that never ends must not fill memory.

use serde_json::Value;

use threadkeep_core::json::{Object, Wrong, wrong};

/// How large an answer may become, and how long it may take. All from 1 on.
///
/// ```
/// use threadkeep_provider::AnswerLimits;
/// let limits = AnswerLimits::from_json(serde_json::json!({"calls": 8}))?;
/// assert_eq!(limits, AnswerLimits { calls: 8, ..AnswerLimits::default() });
/// # Ok::<(), threadkeep_core::json::Wrong>(())
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

impl AnswerLimits {
    /// Reads `{bytes?, argumentBytes?, calls?, millis?}`. `null` is an object without fields.
    ///
    /// # Errors
    /// A field is 0, of another type, or not known.
    pub fn from_json(value: Value) -> Result<Self, Wrong> {
        let mut limits = Self::default();
        if value.is_null() {
            return Ok(limits);
        }
        let mut fields = Object::of(value, "limits")?;
        let named = [
            ("bytes", &mut limits.bytes),
            ("argumentBytes", &mut limits.argument_bytes),
            ("calls", &mut limits.calls),
            ("millis", &mut limits.millis),
        ];
        for (name, limit) in named {
            match fields.maybe_count(name).map_err(|wrong| Wrong { field: ["limits.", name].concat(), ..wrong })? {
                None => {}
                Some(0) => return Err(wrong(&["limits.", name].concat(), "a whole number from 1 on")),
                Some(count) => *limit = count,
            }
        }
        match fields.rest(&["bytes", "argumentBytes", "calls", "millis"]).into_iter().next() {
            None => Ok(limits),
            Some((name, _)) => {
                let known = "left out: limits has bytes, argumentBytes, calls and millis";
                Err(wrong(&["limits.", &name].concat(), known))
            }
        }
    }
}
