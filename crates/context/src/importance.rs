//! How important a message says that it is. [`weigh`](super::weigh) says what budgets make of it.

use threadkeep_core::Message;

/// The importance of what does not say, in hundredths.
pub(super) const USUAL: u8 = 50;
/// It does not say.
pub(super) const UNSAID: u8 = u8::MAX;

/// How important a message says that it is, in hundredths; [`UNSAID`] without a number from 0 to 1.
pub(super) fn importance(message: &Message) -> u8 {
    let said = message.extra.get("importance").and_then(serde_json::Value::as_f64);
    said.filter(|said| (0.0..=1.0).contains(said)).map_or(UNSAID, |said| (said * 100.0).round() as u8)
}

/// Of two messages of a group the one that says more.
pub(super) fn more(one: u8, other: u8) -> u8 {
    if one == UNSAID || other != UNSAID && other > one { other } else { one }
}
