//! The estimate that needs no vocabulary: four characters a token.

use threadkeep_core::Message;

use super::Counter;

/// The [estimate](estimate()) as a [`Counter`], for models whose vocabulary nobody publishes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate;

impl Counter for Estimate {
    fn count(&self, text: &str) -> u32 {
        estimate(text)
    }
}

/// About how many tokens `text` takes: its UTF-16 length divided by four, rounded up.
///
/// ```
/// use threadkeep_context::tokens::estimate;
/// assert_eq!(estimate(""), 0);
/// assert_eq!(estimate("four"), 1);
/// assert_eq!(estimate("fives"), 2);
/// ```
pub fn estimate(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count().div_ceil(4)).unwrap_or(u32::MAX)
}

/// About how many tokens a message takes: its content and its tool calls (as JSON), and four for the frame around it.
pub fn estimate_message(message: &Message) -> u32 {
    let calls = message.tool_calls.iter().map(|call| threadkeep_json::to_text(call).map_or(0, |json| estimate(&json)));
    calls.fold(estimate(&message.text()).saturating_add(4), u32::saturating_add)
}
