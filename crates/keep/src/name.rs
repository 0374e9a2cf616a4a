//! What a head may be called.

use crate::KeepError;

/// Refuses a name that no head can have.
pub(crate) fn check_name(name: &str) -> Result<(), KeepError> {
    match name.len() {
        0 => Err(KeepError::BadRequest("the name of a thread must not be empty".to_owned())),
        n if n > threadkeep_core::id::MAX_ID_BYTES => {
            Err(KeepError::BadRequest(format!("the name of a thread must be at most 512 bytes long, this one has {n}")))
        }
        _ => Ok(()),
    }
}
