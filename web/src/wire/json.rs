//! A field as JSON text, with `#[serde(with = "json")]`: for messages, whose serde must see names. The format of the wire has none.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};

/// Writes the value's JSON.
pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&serde_json::to_string(value).map_err(S::Error::custom)?)
}

/// Reads the value from its JSON.
pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    serde_json::from_str(<&str>::deserialize(deserializer)?).map_err(D::Error::custom)
}
