//! What stays of something that was deleted: how long it is in the bin, and in which words. Plain data in, text out.

use threadkeep::Binned;

use crate::format;

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// How long something stays in the bin, in milliseconds.
pub const STAY: i64 = 7 * DAY;

/// What a line of the bin says of it: `12 messages, 3.4 kB`, or `part of a thread, 12 messages, 3.4 kB`.
pub fn about(binned: &Binned) -> String {
    let part = if binned.node.is_some() { "part of a thread, " } else { "" };
    format!("{part}{}, {}", format::plural(binned.messages, "message"), format::bytes(binned.bytes))
}

/// How long it stays, seen from `now`: `gone in 7 days`, `gone in 1 day`.
pub fn left(binned: &Binned, now: i64) -> String {
    // A day that has begun counts.
    match (binned.at + STAY - now + DAY - 1) / DAY {
        ..1 => "gone soon".to_owned(),
        days => format!("gone in {}", format::plural(days as u64, "day")),
    }
}

/// What a notice says of something that went into the bin.
pub fn notice(binned: &Binned) -> String {
    let of = if binned.node.is_some() { " of" } else { " in" };
    format!(
        "{}{of} “{}”. The bin has them for seven days.",
        format::plural(binned.messages, "message"),
        format::line(&binned.title, 60)
    )
}

#[cfg(test)]
mod tests {
    use threadkeep_core::{MessageId, TranscriptId};

    use super::*;

    fn binned(node: bool) -> Binned {
        Binned {
            id: "1".to_owned(),
            transcript: TranscriptId::new("t").unwrap(),
            node: node.then(|| MessageId::new("n").unwrap()),
            title: "Planning".to_owned(),
            messages: 12,
            at: 1_000 * DAY,
            bytes: 3_400,
        }
    }

    #[test]
    fn it_says_what_it_is_and_how_long_it_stays() {
        assert_eq!(about(&binned(true)), "part of a thread, 12 messages, 3.4 kB");
        assert_eq!(about(&binned(false)), "12 messages, 3.4 kB");
        assert_eq!(notice(&binned(true)), "12 messages of “Planning”. The bin has them for seven days.");
        for (days, words) in [(0, "gone in 7 days"), (5, "gone in 2 days"), (6, "gone in 1 day"), (8, "gone soon")] {
            assert_eq!(left(&binned(true), (1_000 + days) * DAY), words);
        }
    }
}
