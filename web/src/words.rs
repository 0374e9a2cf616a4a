//! Failures in words: what happened and what to do about it. An [`ErrorReply`] in, a heading and a sentence out.

use threadkeep::Format;
use threadkeep::protocol::ErrorReply;

use crate::format::capital;

/// A failure as the page says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// What happened.
    pub title: String,
    /// What to do.
    pub advice: String,
    /// Whether starting the engine again may help.
    pub restart: bool,
    /// Whether going on without storage is a way out.
    pub memory: bool,
}

impl Words {
    /// What happened and what to do, in a line.
    pub fn line(&self) -> String {
        [&self.title, ". ", &self.advice].concat()
    }
}

/// The code of a failure of the page's own making: the engine's thread stopped.
pub const CRASHED: &str = "engine-stopped";

/// Says `error`.
pub fn words(error: &ErrorReply) -> Words {
    let readable = Format::readable();
    let (title, advice, restart, memory) = match error.code.as_str() {
        CRASHED => (
            "The engine stopped",
            "What was saved is safe. Restart it to go on; if it stops again, reload the page.",
            true,
            false,
        ),
        "blocked" => (
            "Another tab is in the way",
            "A tab with an older version of this page holds the database. Close the other tabs of this page, then try again.",
            true,
            false,
        ),
        "quota" => (
            "The storage is full",
            "Nothing of the last change was written. Free space on this device, or export and delete threads, then try again.",
            false,
            false,
        ),
        "unavailable" => (
            "The browser gives this page no storage",
            "This happens in private windows and where storage is switched off. You can go on in memory: all is gone when the tab closes, so export first.",
            true,
            true,
        ),
        "storage-gone" => (
            "The database was closed or deleted from outside",
            "Reload to open it again. If your threads are gone after that, import your last export.",
            true,
            false,
        ),
        "newer-version" => (
            "Your threads were written by a newer version",
            "Nothing was changed. Reload to get the newest page; if that does not help, empty the browser's cache for this site.",
            true,
            false,
        ),
        "corrupt" => (
            "A stored record is damaged",
            "The other threads are not touched. Export what you can, then import your last good export.",
            false,
            false,
        ),
        "transient" => ("The storage did not answer", "This often passes: try again in a moment.", true, false),
        "conflict" => {
            ("Another tab was faster", "Your view was refreshed. Look again, then repeat the change.", false, false)
        }
        "missing-node" | "missing-transcript" => (
            "That message is not here",
            "It may have been deleted, or the address belongs to another browser.",
            false,
            false,
        ),
        "closed" => ("The store is closed", "Reload the page to open it again.", true, false),
        "bad-connection" => ("The connection is not complete", "Open Connections and edit it.", false, false),
        "model-failed" => ("The model could not be asked", "", false, false),
        "bad-import" => ("These files could not be read", readable.as_str(), false, false),
        "part-missing" => (
            "A part of the page could not be loaded",
            "Nothing was changed. Look whether you are online and try again; if the page was updated meanwhile, reload it.",
            false,
            false,
        ),
        "vocabulary-unreachable" => (
            "The token vocabulary could not be fetched",
            "Nothing was changed. Tokens are counted with a file that comes with this page: look whether you are online, then try again.",
            false,
            false,
        ),
        "summary-refused" => (
            "There is nothing to gain",
            "A summary would take as many tokens as what it stands in for. The thread stays as it is.",
            false,
            false,
        ),
        "missing-memory" => ("That record is gone", "It was deleted, perhaps in another tab.", false, false),
        _ => ("That did not work", "", false, false),
    };
    let mut advice = advice.to_owned();
    if matches!(
        title,
        "That did not work"
            | "The model could not be asked"
            | "The connection is not complete"
            | "These files could not be read"
            | "A stored record is damaged"
    ) && !error.message.is_empty()
    {
        let mut said = capital(&error.message);
        if !said.ends_with(['.', '!', '?']) {
            said.push('.');
        }
        advice = if advice.is_empty() { said } else { format!("{said} {advice}") };
    }
    Words { title: title.to_owned(), advice, restart, memory }
}

/// Why an answer ended early, as a heading; the reason stands below it. The code is the one that is stored with the answer.
pub fn ending(code: &str) -> &'static str {
    match code {
        "limit" => "The turn reached a limit",
        "over-budget" | "too-long" => "The conversation is too long for the model",
        "rate-limited" => "The provider takes no more requests for now",
        "unauthorized" => "The provider does not accept the key",
        "refused" => "The provider refused the request",
        "not-found" => "The provider does not have this model",
        "overloaded" => "The provider has too much to do",
        "unreachable" => "The provider cannot be reached",
        "blocked" => "The browser may not read the provider's answer",
        "cut-off" => "The connection broke during the answer",
        "stalled" => "The answer did not go on",
        "bad-answer" => "The model gave no usable answer",
        _ => "The model failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_store::StoreError;

    fn reply(code: &str, message: &str) -> ErrorReply {
        ErrorReply { code: code.into(), message: message.into(), details: serde_json::Value::Null }
    }

    #[test]
    fn every_failure_of_the_store_has_its_own_words() {
        let all = [
            StoreError::Conflict { key: "k".into() },
            StoreError::blocked(),
            StoreError::Quota("q".into()),
            StoreError::Unavailable("u".into()),
            StoreError::gone(),
            StoreError::NewerVersion { found: 2, supported: 1 },
            StoreError::Corrupt { key: "k".into(), why: "w".into() },
            StoreError::Transient("t".into()),
            StoreError::Closed,
        ];
        for error in all {
            let words = words(&reply(error.code(), &error.to_string()));
            assert_ne!(words.title, "That did not work", "{error}");
            assert!(!words.advice.is_empty());
        }
    }

    #[test]
    fn every_reason_why_a_model_gives_no_answer_has_its_own_heading() {
        let codes = [
            "limit",
            "over-budget",
            "rate-limited",
            "unauthorized",
            "refused",
            "not-found",
            "overloaded",
            "unreachable",
            "blocked",
            "cut-off",
            "stalled",
            "bad-answer",
            "failed",
        ];
        let headings: std::collections::HashSet<_> = codes.iter().map(|code| ending(code)).collect();
        assert_eq!(headings.len(), codes.len());
        assert_eq!(ending("too-long"), ending("over-budget"));
        assert_eq!(ending("LLM_ERROR"), ending("failed"));
    }

    #[test]
    fn an_unknown_failure_says_its_own_message() {
        assert_eq!(words(&reply("odd", "the disk sighed")).advice, "The disk sighed.");
        assert!(
            words(&reply("bad-import", "it is empty")).advice.starts_with("It is empty. Threadkeep reads exports of")
        );
        assert!(words(&reply("unavailable", "")).memory);
        assert!(words(&reply(CRASHED, "")).restart);
    }
}
