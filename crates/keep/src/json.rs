//! What is stored as JSON, read and written.

use serde::Serialize;
use serde::de::DeserializeOwned;
use threadkeep_store::StoreError;

use crate::KeepError;

/// Reads stored JSON. By way of text, as archives are read, so that the parser is compiled for one kind of input only.
pub fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let text = std::str::from_utf8(bytes).map_err(serde::de::Error::custom)?;
    serde_json::from_str(text)
}

/// The bytes of a value of ours.
pub fn to_json(value: &impl Serialize) -> Result<Vec<u8>, KeepError> {
    let json = threadkeep_json::to_text(value).map_err(|error| StoreError::Other(error.to_string()))?;
    Ok(json.into_bytes())
}
