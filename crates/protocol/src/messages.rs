//! Messages among the parameters of a request.

use serde::de::{Deserialize, Deserializer, Error};
use threadkeep_core::Message;
use threadkeep_core::read::raw;

struct Said(Message);

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // They come by the thousand, so each goes to its own quick reader, without a path to its fields.
        let read = serde_json::from_str(raw(deserializer)?);
        read.map(Said).map_err(|error| D::Error::custom(format_args!("is no message: {error}")))
    }
}

/// For `deserialize_with`: a list of messages.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Message>, D::Error> {
    // The list stays where it is in memory.
    Ok(Vec::<Said>::deserialize(deserializer)?.into_iter().map(|Said(message)| message).collect())
}
