//! How important a message says that it is. [`weigh`](super::weigh) says what budgets make of it.

use threadkeep_core::Message;

/// The importance of what does not say, in hundredths.
pub(super) const USUAL: u8 = 50;
/// It does not say.
pub(super) const UNSAID: u8 = u8::MAX;

/// How important a message says that it is, from 0 to 1; `None` where it says no such number.
pub fn importance(message: &Message) -> Option<f64> {
    let said = message.extra.get("importance").and_then(serde_json::Value::as_f64);
    said.filter(|said| (0.0..=1.0).contains(said))
}

/// [`importance`] in hundredths; [`UNSAID`] where it is not said.
pub(super) fn hundredths(message: &Message) -> u8 {
    importance(message).map_or(UNSAID, |said| (said * 100.0).round() as u8)
}

/// Of two messages of a group the one that says more.
pub(super) fn more(one: u8, other: u8) -> u8 {
    if one == UNSAID || other != UNSAID && other > one { other } else { one }
}
