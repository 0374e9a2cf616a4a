//! What the names of a browser's storage errors mean to a caller.
//!
//! In go a `DOMException`'s name and message; out comes the [`StoreError`] that says what can be done about it. Kept apart
//! from everything that needs a browser, so that it can be tested without one.

use crate::StoreError;

/// The moment at which an error came: the same name means different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum During {
    /// While a database was being opened or deleted.
    Open,
    /// While records were read or written.
    Use,
}

/// The typed error for the exception `name`, with the browser's `message`.
pub(crate) fn classify(name: &str, message: &str, during: During) -> StoreError {
    let said = if message.is_empty() { name.to_owned() } else { format!("{name}: {message}") };
    match (name, during) {
        ("QuotaExceededError", _) => StoreError::Quota(said),
        ("SecurityError" | "NotSupportedError" | "NotAllowedError", _) => StoreError::Unavailable(said),
        // Firefox in private browsing, and browsers whose storage is switched off, refuse the opening this way.
        ("InvalidStateError", During::Open) => StoreError::Unavailable(said),
        // A connection that was closed or dropped, a transaction that was ended from outside, a disk that did not answer
        // (Safari and Chromium call the latter UnknownError).
        (
            "InvalidStateError"
            | "AbortError"
            | "TimeoutError"
            | "UnknownError"
            | "TransactionInactiveError"
            | "NetworkError",
            _,
        ) if !is_too_large(message) => StoreError::Transient(said),
        _ => StoreError::Other(said),
    }
}

/// Chromium refuses a value beyond its message size, for good, under the name that else means a passing failure.
fn is_too_large(message: &str) -> bool {
    message.contains("too large")
}

#[cfg(test)]
mod tests {
    use super::{During, classify};

    #[track_caller]
    fn check(name: &str, message: &str, during: During, code: &str) {
        assert_eq!(classify(name, message, during).code(), code, "{name} ({message}) {during:?}");
    }

    #[test]
    fn names_map_to_what_the_caller_can_do() {
        check("QuotaExceededError", "", During::Use, "quota");
        check("QuotaExceededError", "Encountered full disk while opening", During::Open, "quota");
        check("SecurityError", "access to IndexedDB is denied in this context", During::Open, "unavailable");
        check("InvalidStateError", "did not allow mutations", During::Open, "unavailable");
        check("InvalidStateError", "The database connection is closing.", During::Use, "transient");
        check("UnknownError", "Connection to Indexed Database server lost.", During::Use, "transient");
        check("UnknownError", "Internal error opening backing store", During::Open, "transient");
        check("UnknownError", "The serialized value is too large", During::Use, "storage");
        check("AbortError", "", During::Use, "transient");
        check("DataError", "Failed to read large IndexedDB value", During::Use, "storage");
        check("SomethingNewError", "", During::Use, "storage");
    }

    #[test]
    fn the_browsers_words_are_kept() {
        let error = classify("QuotaExceededError", "the disk is full", During::Use);
        assert!(error.to_string().contains("QuotaExceededError: the disk is full"), "{error}");
    }
}
